/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * posix: what dirfd.c and backend_posix.c share about real objects.
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
