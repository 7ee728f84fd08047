/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A namespace without end, served to a cache through struct pathcache_ops: what
 * a name means follows from its first letter, so a test can ask for as many
 * names as it likes and none of them takes memory.
 *
 *   d...  a directory     f...  a file     l...  a link: l:a:b leads to "/a/b"
 *   h<n>  a file, the n-th, the same in all directories     any other: absent
 *
 * Announces nothing. No readdir.
 */
#ifndef TS_ENDLESS_H
#define TS_ENDLESS_H

#include <stdint.h>

#include "pathcache.h"

struct ts_endless {
	_Atomic uint64_t calls;
	_Atomic uint64_t size;   /* of all files */
	_Atomic int64_t handles; /* given out and not yet released */
};

void ts_endless_open(struct ts_endless *ns, struct pathcache **out,
                     const struct pathcache_options *opt);
/* Checks that every handle was given back. */
void ts_endless_close(struct ts_endless *ns, struct pathcache *cache);

#endif
