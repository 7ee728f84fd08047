/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Held entries: a node and one count of its reference word.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "fork.h"
#include "list.h"
#include "store.h"

void pathcache_ref(struct pathcache *cache, struct pathcache_entry *entry)
{
	pc_node_hold(pc_node(entry));
	pc_count(cache, PC_GETS);
}

void pathcache_put(struct pathcache *cache, struct pathcache_entry *entry)
{
	if (!entry)
		return;
	/* Before: the last reference may be what kept another from closing the cache. */
	pc_count(cache, PC_PUTS);
	pc_node_put(cache, pc_node(entry));
}

uint64_t pathcache_entry_id(const struct pathcache_entry *entry)
{
	return ((const struct rp_node *)(const void *)entry)->id;
}

int pathcache_readdir(struct pathcache *cache, struct pathcache_entry *dir, uint64_t cookie,
                      pathcache_dirent_fn fn, void *arg)
{
	if (!cache || !dir || !fn)
		return -EINVAL;
	if (!rp_node_is_dir(pc_node(dir)))
		return -ENOTDIR;
	if (pc_is_child())
		return -ECHILD;
	if (cache->strict)
		pathcache_sync(cache);
	return pc_list(cache, pc_node(dir), cookie, fn, arg);
}

int pathcache_attr_to_stat(const struct pathcache_attr *a, struct stat *st)
{
	memset(st, 0, sizeof(*st));
	st->st_mode = (mode_t)a->mode;
	st->st_uid = a->uid;
	st->st_gid = a->gid;
	st->st_nlink = a->nlink;
	st->st_ino = (ino_t)a->ino;
	st->st_dev = (dev_t)a->dev;
	st->st_rdev = (dev_t)a->rdev;
	st->st_size = (off_t)a->size;
	st->st_blocks = (blkcnt_t)a->blocks;
	st->st_blksize = (blksize_t)a->blksize;
	st->st_atim = (struct timespec){(time_t)a->atime_sec, (long)a->atime_nsec};
	st->st_mtim = (struct timespec){(time_t)a->mtime_sec, (long)a->mtime_nsec};
	st->st_ctim = (struct timespec){(time_t)a->ctime_sec, (long)a->ctime_nsec};
	if ((uint64_t)st->st_ino != a->ino || (uint64_t)st->st_dev != a->dev ||
	    (uint64_t)st->st_rdev != a->rdev || (uint64_t)st->st_nlink != a->nlink ||
	    st->st_size < 0 || (uint64_t)st->st_size != a->size ||
	    (uint64_t)st->st_blocks != a->blocks || (int64_t)st->st_atim.tv_sec != a->atime_sec ||
	    (int64_t)st->st_mtim.tv_sec != a->mtime_sec ||
	    (int64_t)st->st_ctim.tv_sec != a->ctime_sec)
		return -EOVERFLOW;
	return 0;
}
