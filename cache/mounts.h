/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * mounts: names whose meaning a mount or an umount changes. No directory's events
 * tell of these; /proc/self/mountinfo does.
 *
 * A mount point is a name in a directory, fixed for as long as something is
 * mounted there: in its own namespace it can neither be renamed nor removed. Which
 * directory is asked of the kernel when the mount is first seen, and kept as an
 * identity, so that neither what the cache believes of the way there nor a rename
 * of what is above plays a part. That name is dropped when the mount comes, goes or
 * moves; what is below it goes with it, or is another mount's and stays true. A
 * directory that cannot be told means that everything is dropped.
 *
 *   seen before, gone now      its name
 *   seen now for the first time    its name; a question about it that is under
 *                              way is overtaken
 *   same number, another mount     both names; told apart by a number never used again
 *   read-only or noexec switched   its names and all below, whose flags say so
 *   came and went unseen       a name that led into it is not kept: see
 *                              pc_mounts_cover()
 *   hidden below another       as before, until it can be seen again
 *
 * Not seen: a mount that was moved away and back between two looks.
 *
 * Locks: mounts.lock is taken before all but worker.lock; system calls, but no
 * backend call, under it.
 */
#ifndef PC_MOUNTS_H
#define PC_MOUNTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "mountinfo.h"

struct pathcache;
struct rp_node;

struct pc_mounts {
	pthread_mutex_t lock;
	int fd;       /* const after open; -1: mounts are not watched */
	int wait_fd;  /* const after open; in the loop: polling takes its news away */
	int slash_fd; /* const after open; what mount points begin at */
	bool lost;    /* lock; the table was not read since a change */
	struct pc_mount_table table; /* lock */
	_Atomic(uint64_t) changes;   /* atomic; mounts that came, went or changed */
};

void pc_mounts_init(struct pc_mounts *m);
void pc_mounts_fini(struct pc_mounts *m);

/* Begin to watch, where there is a /proc. Return: 0; -errno. Context: open. */
int pc_mounts_open(struct pathcache *c);

/*
 * Apply what has changed since the last look: one system call when nothing has.
 * Context: no lock but worker.lock, any thread, also in a backend call; may block.
 */
void pc_mounts_check(struct pathcache *c);

/*
 * May an answer be kept that name in dir leads into mount mnt? Only if that mount is
 * known there, so that its end will be noticed. Context: as pc_mounts_check(); after asking.
 */
bool pc_mounts_cover(struct pathcache *c, uint64_t mnt, const struct rp_node *dir,
                     const char *name);

#endif
