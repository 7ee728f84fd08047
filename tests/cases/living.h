/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Scenes whose cache is told of changes by the kernel. */
#ifndef TS_LIVING_H
#define TS_LIVING_H

#include "scene.h"

/* Events from source; leases so long that nothing is right for having expired. */
struct pathcache_options events_options(uint32_t source);

/*
 * Run a case on the disk and in memory (tmpfs), by inotify and by fanotify, where
 * that is possible here; it is skipped where none is.
 */
void every_with(struct pathcache_options *opt, void (*run)(struct scene *s));
void every(void (*run)(struct scene *s));

#define EVERY(name) \
	static void name##_in(struct scene *s); \
	static void name(void) \
	{ \
		every(name##_in); \
	} \
	static void name##_in(struct scene *s)

/* Is the answer in memory? */
bool is_kept(struct pathcache *cache, const char *path);
/* Asked until it is: attributes may need a question of their own. */
void keep(struct scene *s, const char *path);
/* Once synced, cache and kernel agree. */
void agree(struct scene *s, const char *path);

#endif
