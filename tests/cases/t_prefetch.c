/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A tree brought into memory ahead of the questions. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scene.h"

/* a, a/b, a/b/c each with three files and a link. */
static const char *const dirs[] = {"a", "a/b", "a/b/c", "a/b/c/d"};

static void tree_make(const struct scene *s)
{
	char path[64];

	for (size_t i = 0; i < 4; i++) {
		ts_dir(&s->tree, dirs[i], 0755);
		for (int f = 0; f < 3; f++) {
			snprintf(path, sizeof(path), "%s/file%d", dirs[i], f);
			ts_file(&s->tree, path, 0644, "");
		}
		snprintf(path, sizeof(path), "%s/link", dirs[i]);
		ts_symlink(&s->tree, path, "../..");
	}
}

struct seen {
	uint64_t objects, directories, calls;
	uint64_t stop_at;
	int stop;
	struct pathcache *cache;
};

static int see(void *arg, const struct pathcache_progress *p)
{
	struct seen *s = arg;

	CHECK(p->objects > s->objects || s->calls == 0);
	CHECK(p->directories >= s->directories);
	CHECK(p->name && *p->name && !strchr(p->name, '/'));
	s->objects = p->objects;
	s->directories = p->directories;
	s->calls++;
	if (s->cache)
		CHECK_EQ(ts_stat_err(s->cache, "a"), 0);
	return s->stop_at && s->objects == s->stop_at ? s->stop : 0;
}

static void a_tree_is_in_memory_down_to_the_depth(void)
{
	for (uint64_t complete_max = 0; complete_max <= 100; complete_max += 100) {
		for (unsigned depth = 0; depth < 5; depth++) {
			struct pathcache_options opt;
			struct seen seen = {.calls = 0};
			char path[64];
			struct scene s;

			pathcache_options_init(&opt);
			opt.complete_max = complete_max;
			scene_begin_with(&s, &opt);
			tree_make(&s);
			CHECK_EQ(pathcache_prefetch(s.cache, NULL, depth, see, &seen), 0);
			CHECK_EQ(seen.objects, depth < 4 ? 1 + 5 * depth : 1 + 5 * 4 - 1);
			CHECK_EQ(seen.calls, seen.objects);
			CHECK_EQ(ts_stats(s.cache).listings, complete_max ? depth + 1 : 0);
			for (unsigned i = 0; i < 4; i++) {
				snprintf(path, sizeof(path), "%s/file1", dirs[i]);
				CHECK_EQ(ts_stat_flags(s.cache, path, PATHCACHE_CACHED),
				         i < depth ? 0 : -EAGAIN);
				snprintf(path, sizeof(path), "%s/absent", dirs[i]);
				CHECK_EQ(ts_stat_flags(s.cache, path, PATHCACHE_CACHED),
				         i < depth && complete_max ? -ENOENT : -EAGAIN);
			}
			scene_end(&s);
		}
	}
}

static void it_stops_when_it_is_told_to(void)
{
	struct seen seen = {.stop_at = 7, .stop = 42};
	struct scene s;

	scene_begin(&s);
	tree_make(&s);
	seen.cache = s.cache;
	CHECK_EQ(pathcache_prefetch(s.cache, NULL, UINT_MAX, see, &seen), 42);
	CHECK_EQ(seen.objects, 7);
	scene_end(&s);
}

/* Or each name is looked for among all others in the end. */
static void tables_grow_with_what_is_in_one_directory(void)
{
	uint64_t bytes[2];
	struct scene s;
	char path[32];

	scene_begin(&s);
	for (int i = 0; i < 5000; i++) {
		snprintf(path, sizeof(path), "%d", i);
		ts_file(&s.tree, path, 0644, "");
	}
	for (int i = 0; i < 2; i++) {
		struct pathcache *cache;

		REQUIRE(pathcache_open(&cache, s.tree.path, NULL) == 0);
		if (i == 0)
			CHECK_EQ(pathcache_prefetch(cache, NULL, 0, NULL, NULL), 0);
		for (int n = 0; n < 5000 && i == 1; n++) {
			snprintf(path, sizeof(path), "%d", n);
			CHECK_EQ(ts_stat_err(cache, path), 0);
		}
		CHECK(pathcache_maintain(cache, 1) >= 0);
		CHECK_EQ(ts_stats(cache).nodes, 5001);
		bytes[i] = ts_stats(cache).table_bytes;
		CHECK_EQ(pathcache_close(cache), 0);
	}
	CHECK_EQ(bytes[0], bytes[1]);
	scene_end(&s);
}

static void it_makes_no_room_in_a_full_budget(void)
{
	struct pathcache_options opt;
	struct pathcache_stats stats;
	struct app app;
	char path[32];

	pathcache_options_init(&opt);
	opt.budget = 512 << 10;
	app_begin_with(&app, &opt);
	ts_ns_add(&app.ns, "warm", S_IFREG | 0644, NULL);
	CHECK_EQ(ts_stat_err(app.cache, "warm"), 0);
	ts_ns_add(&app.ns, "d", S_IFDIR | 0755, NULL);
	for (int i = 0; i < 4000; i++) {
		snprintf(path, sizeof(path), "d/file%d", i);
		ts_ns_add(&app.ns, path, S_IFREG | 0644, NULL);
	}
	CHECK_EQ(pathcache_prefetch(app.cache, NULL, 9, NULL, NULL), -ENOSPC);
	stats = ts_stats(app.cache);
	CHECK(stats.bytes <= opt.budget);
	CHECK(stats.nodes > 100);
	CHECK_EQ(stats.uncached, 0);
	CHECK_EQ(ts_stat_flags(app.cache, "warm", PATHCACHE_CACHED), 0);
	app_end(&app);
}

static void what_is_known_is_not_asked_for(void)
{
	struct app app;
	uint64_t calls;

	app_begin(&app);
	ts_ns_add(&app.ns, "d", S_IFDIR | 0755, NULL);
	ts_ns_add(&app.ns, "d/f", S_IFREG | 0644, NULL);
	CHECK_EQ(pathcache_prefetch(app.cache, NULL, 3, NULL, NULL), 0);
	calls = ts_ns_calls(&app.ns, TS_LOOKUP);
	CHECK_EQ(calls, 2);
	CHECK_EQ(pathcache_prefetch(app.cache, NULL, 3, NULL, NULL), 0);
	CHECK_EQ(ts_ns_calls(&app.ns, TS_LOOKUP), calls);
	/* What was announced is. */
	changed(app.cache, "d/f");
	CHECK_EQ(pathcache_prefetch(app.cache, NULL, 3, NULL, NULL), 0);
	CHECK_EQ(ts_ns_calls(&app.ns, TS_LOOKUP), calls + 1);
	app_end(&app);
}

/* The next listing fails. */
static int forbid(void *arg, const struct pathcache_progress *p)
{
	struct app *app = arg;

	if (strcmp(p->name, "d") == 0)
		ts_gate_fail(&app->ns, TS_LIST, NULL, EACCES, 1);
	return 0;
}

static void a_directory_that_cannot_be_listed_is_left_out(void)
{
	struct pathcache_entry *entry;
	struct app app;

	app_begin(&app);
	ts_ns_add(&app.ns, "d", S_IFDIR | 0755, NULL);
	ts_ns_add(&app.ns, "d/f", S_IFREG | 0644, NULL);
	ts_ns_add(&app.ns, "e", S_IFDIR | 0755, NULL);
	ts_ns_add(&app.ns, "e/f", S_IFREG | 0644, NULL);
	CHECK_EQ(pathcache_prefetch(app.cache, NULL, 3, forbid, &app), 0);
	CHECK_EQ(ts_stat_flags(app.cache, "d/f", PATHCACHE_CACHED), -EAGAIN);
	CHECK_EQ(ts_stat_flags(app.cache, "e/f", PATHCACHE_CACHED), 0);
	ts_gate_fail(&app.ns, TS_LIST, NULL, EACCES, 1);
	CHECK_EQ(pathcache_prefetch(app.cache, NULL, 3, NULL, NULL), -EACCES);
	entry = ts_get(app.cache, "d/f");
	CHECK_EQ(pathcache_prefetch(app.cache, entry, 0, NULL, NULL), -ENOTDIR);
	pathcache_put(app.cache, entry);
	CHECK_EQ(pathcache_prefetch(NULL, NULL, 0, NULL, NULL), -EINVAL);
	app_end(&app);
}

static void other_mounts_are_not_entered(void)
{
	struct seen seen = {.calls = 0};
	char path[PATH_MAX + 8];
	struct scene s;

	if (!ts_isolated()) {
		ts_skip("needs a mount namespace of its own");
		return;
	}
	scene_begin(&s);
	tree_make(&s);
	snprintf(path, sizeof(path), "%s/a/b", s.tree.path);
	REQUIRE(mount("none", path, "tmpfs", 0, NULL) == 0);
	ts_file(&s.tree, "a/b/inside", 0644, "");
	CHECK_EQ(pathcache_prefetch(s.cache, NULL, 9, see, &seen), 0);
	CHECK_EQ(seen.directories, 2);
	CHECK_EQ(ts_stat_flags(s.cache, "a/b", PATHCACHE_CACHED), 0);
	CHECK_EQ(ts_stat_flags(s.cache, "a/b/inside", PATHCACHE_CACHED), -EAGAIN);
	REQUIRE(umount2(path, MNT_DETACH) == 0);
	scene_end(&s);
}

static const struct ts_case cases[] = {
	TS_CASE(a_tree_is_in_memory_down_to_the_depth),
	TS_CASE(it_stops_when_it_is_told_to),
	TS_CASE(tables_grow_with_what_is_in_one_directory),
	TS_CASE(it_makes_no_room_in_a_full_budget),
	TS_CASE(what_is_known_is_not_asked_for),
	TS_CASE(a_directory_that_cannot_be_listed_is_left_out),
	TS_CASE(other_mounts_are_not_entered),
};

int main(int argc, char **argv)
{
	ts_isolate();
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
