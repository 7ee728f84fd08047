/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef BENCH_STAT_ATTR_H
#define BENCH_STAT_ATTR_H

#include <pathcache.h>
#include <sys/stat.h>

/* What a stat(2) said. */
static inline struct pathcache_attr stat_attr(const struct stat *st)
{
	return (struct pathcache_attr){
		.mask = PATHCACHE_ATTR_BASIC,
		.mode = st->st_mode,
		.uid = st->st_uid,
		.gid = st->st_gid,
		.nlink = (uint32_t)st->st_nlink,
		.blksize = (uint32_t)st->st_blksize,
		.ino = st->st_ino,
		.dev = st->st_dev,
		.rdev = st->st_rdev,
		.size = (uint64_t)st->st_size,
		.blocks = (uint64_t)st->st_blocks,
		.atime_sec = st->st_atim.tv_sec,
		.mtime_sec = st->st_mtim.tv_sec,
		.ctime_sec = st->st_ctim.tv_sec,
		.atime_nsec = (uint32_t)st->st_atim.tv_nsec,
		.mtime_nsec = (uint32_t)st->st_mtim.tv_nsec,
		.ctime_nsec = (uint32_t)st->st_ctim.tv_nsec,
	};
}

#endif
