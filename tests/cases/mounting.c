/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "mounting.h"

#include <stdio.h>
#include <sys/mount.h>

struct pathcache_options watching(void)
{
	struct pathcache_options opt;

	pathcache_options_init(&opt);
	opt.coherence = PATHCACHE_COHERENCE_TTL;
	opt.name_ttl_ms = opt.attr_ttl_ms = opt.negative_ttl_ms = INT32_MAX;
	return opt;
}

bool mounting_begin_with(struct scene *scene, const struct pathcache_options *opt)
{
	if (!ts_isolated()) {
		ts_skip("may not mount");
		return false;
	}
	scene_begin_with(scene, opt);
	return true;
}

bool mounting_begin(struct scene *scene)
{
	struct pathcache_options opt = watching();

	return mounting_begin_with(scene, &opt);
}

/* ---- mounting ------------------------------------------------------------------- */

const char *full(const struct scene *s, const char *path, char *buf)
{
	snprintf(buf, PATH_MAX, "%.2000s/%.2000s", s->tree.path, path);
	return buf;
}

void mount_new(const struct scene *s, const char *at)
{
	char path[PATH_MAX];

	REQUIRE(mount("none", full(s, at, path), "tmpfs", 0, "size=1m") == 0);
}

void mount_bind(const struct scene *s, const char *what, const char *at)
{
	char from[PATH_MAX], to[PATH_MAX];

	REQUIRE(mount(full(s, what, from), full(s, at, to), NULL, MS_BIND, NULL) == 0);
}

void mount_move(const struct scene *s, const char *from, const char *to)
{
	char was[PATH_MAX], is[PATH_MAX];

	REQUIRE(mount(full(s, from, was), full(s, to, is), NULL, MS_MOVE, NULL) == 0);
}

void mount_flags(const struct scene *s, const char *at, unsigned long flags)
{
	char path[PATH_MAX];

	REQUIRE(mount(NULL, full(s, at, path), NULL, MS_REMOUNT | MS_BIND | flags, NULL) == 0);
}

void unmount(const struct scene *s, const char *at)
{
	char path[PATH_MAX];

	REQUIRE(umount2(full(s, at, path), MNT_DETACH) == 0);
}

void look(const struct scene *s)
{
	CHECK(pathcache_maintain(s->cache, 64) >= 0);
}

bool same(const struct scene *s, const char *path)
{
	return AGREE(&s->view, .op = TS_STAT, .path = path);
}
