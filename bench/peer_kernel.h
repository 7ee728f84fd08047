/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the rivals share that ask the kernel: which files, and how. */
#ifndef BENCH_PEER_KERNEL_H
#define BENCH_PEER_KERNEL_H

#include "peers.h"
#include "recorded.h"

#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>

struct kernel {
	const struct recorded *tree;
	uint64_t flags;
};

static inline struct kernel kernel_of(const struct peer_setup *setup)
{
	return (struct kernel){.tree = setup->tree, .flags = setup->flags};
}

/* stat(2) mounts nothing either. */
static inline int kernel_statx_flags(const struct kernel *kernel)
{
	return AT_NO_AUTOMOUNT | (kernel->flags & PATHCACHE_NOFOLLOW ? AT_SYMLINK_NOFOLLOW : 0);
}

/* What answers are compared by. */
static inline void kernel_keep(const struct statx *st, struct pathcache_attr *attr)
{
	attr->mode = st->stx_mode;
	attr->ino = st->stx_ino;
	attr->size = st->stx_size;
}

#endif
