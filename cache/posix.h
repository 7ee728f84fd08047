/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * posix: a real tree, its objects and the file systems they are on, as far as
 * dirfd.c, events and backend_posix.c share it.
 */
#ifndef PC_POSIX_H
#define PC_POSIX_H

#include <errno.h>

#include "backend.h"

/* A cache's real tree. */
struct pc_posix {
	int root_fd;     /* O_PATH */
	bool is_slash;   /* the root is the process's "/" */
	bool can_switch; /* may take on other credentials */
	bool all_ids;    /* every id is one in the process's user namespace */
	uint32_t no_uid; /* unless all_ids: stands for those that are none */
	uint32_t no_gid; /* likewise */
};

/*
 * statx(2) of name below fd, of fd itself when name is "". Fills identity and
 * attributes of a; never follows a link. Return: 0; -errno.
 */
int pc_posix_statx(int fd, const char *name, struct pc_answer *a);

/* Nanoseconds; the generation of an object is a time. */
uint64_t pc_posix_ns(int64_t sec, uint32_t nsec);

/* Numbers of objects are one's own there. */
uint64_t pc_posix_domain(const struct rp_attr *a);

/* Flags that hold for a whole mount and pass from a directory to what is in it. */
#define PC_POSIX_MOUNT_FLAGS \
	(RP_N_ASK | RP_N_NO_CHILDREN | RP_N_KERNEL | RP_N_NO_ATTR | RP_N_ASK_WX | RP_N_UNTOLD)

/* Those of the mount that fd is on. */
uint32_t pc_posix_mount_flags(const struct pc_posix *p, int fd);

/*
 * Has the directory an ACL? Its mode then tells only part of the truth. An
 * O_PATH descriptor takes no xattr calls, so by its name in /proc; without
 * /proc the kernel is asked every time.
 */
bool pc_posix_has_acl(int fd, const char *name);

/*
 * Capabilities mean nothing where the owner or the group is none of the process's
 * user namespace; and an id that stands for such may be a real one. Source:
 * user_namespaces(7).
 */
uint32_t pc_posix_owner_flags(const struct pc_posix *p, const struct pc_answer *a);

/* Flags of a directory: those of its mount, and whether an ACL says more than its mode. */
uint32_t pc_posix_dir_flags(uint32_t mount, int fd, const char *name);

/* See pc_posix_create() in backend.h. */
void pc_posix_fini(void *data);

/* Which object a node stands for. */
struct pc_ident {
	uint64_t id, gen, domain;
	uint32_t type;
};

static inline struct pc_ident pc_ident_of(const struct rp_node *node)
{
	return (struct pc_ident){node->object_id, node->object_gen, node->domain, node->type};
}

static inline bool pc_ident_is(const struct pc_ident *i, const struct pc_answer *a)
{
	return i->id == a->object_id && i->gen == a->object_gen && i->domain == a->domain &&
	       i->type == (a->attr.mode & S_IFMT);
}

/* Is a the object that node stands for? */
static inline bool pc_posix_same(const struct rp_node *node, const struct pc_answer *a)
{
	struct pc_ident i = pc_ident_of(node);

	return pc_ident_is(&i, a);
}

/* What an errno of asking for an object by its last known name means. */
static inline int pc_posix_stale(int err)
{
	return err == -ENOENT || err == -ENOTDIR || err == -ELOOP ? -ESTALE : err;
}

/* A node the kernel resolved carries its own descriptor. -1: it has none. */
static inline int pc_posix_handle_fd(const struct rp_node *node)
{
	return (int)(intptr_t)node->handle - 1;
}

#endif
