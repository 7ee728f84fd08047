/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What cases of mounts share: a cache of a tree that this program may mount in, as
 * it likes, and mounts in it. Paths are relative to the tree.
 */
#ifndef TS_MOUNTING_H
#define TS_MOUNTING_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "scene.h"

/* Nothing expires here: what is dropped was dropped for a mount. */
struct pathcache_options watching(void);
/* Return: false: the case is skipped, since this program may not mount. */
bool mounting_begin(struct scene *scene);
bool mounting_begin_with(struct scene *scene, const struct pathcache_options *opt);

/* path in the whole. buf: PATH_MAX. */
const char *full(const struct scene *s, const char *path, char *buf);
/* An empty file system, in memory. */
void mount_new(const struct scene *s, const char *at);
void mount_bind(const struct scene *s, const char *what, const char *at);
void mount_move(const struct scene *s, const char *from, const char *to);
/* Change MS_RDONLY, MS_NOEXEC of a mount. */
void mount_flags(const struct scene *s, const char *at, unsigned long flags);
/* At once, whoever has a descriptor there, as the cache may. */
void unmount(const struct scene *s, const char *at);

/* Let the cache look whether mounts have changed. */
void look(const struct scene *s);
/* stat says what the kernel's does. */
bool same(const struct scene *s, const char *path);

#endif
