/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * posix: what dirfd.c and backend_posix.c share about real objects.
 */
#ifndef PC_POSIX_H
#define PC_POSIX_H

#include <errno.h>

#include "backend.h"
#include "cache.h"

/* A cache's real tree. */
struct pc_posix {
	int root_fd;     /* O_PATH */
	bool is_slash;   /* the root is the process's "/" */
	bool can_switch; /* may take on other credentials */
};

/*
 * statx(2) of name below fd, of fd itself when name is "". Fills identity and
 * attributes of a; never follows a link. Return: 0; -errno.
 */
int pc_posix_statx(int fd, const char *name, struct pc_answer *a);

/* Is a the object that node stands for? */
static inline bool pc_posix_same(const struct rp_node *node, const struct pc_answer *a)
{
	return node->object_id == a->object_id && node->object_gen == a->object_gen &&
	       node->domain == a->domain && node->type == (a->attr.mode & S_IFMT);
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
