/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is on mounts: whose it is, what may be done there, and how the cache hears of
 * their changes and goes on meanwhile.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mounting.h"

#define PROMPT_MS 10000

/* ---- identity ---------------------------------------------------------------------------- */

/* H1: equal inode numbers. H3: the mount's number is the kernel's own. */
static void objects_of_two_file_systems_are_two(void)
{
	struct pathcache_attr one, two;
	struct pathcache_entry *e1, *e2;
	struct scene s;

	if (!mounting_begin(&s))
		return;
	ts_dir(&s.tree, "a", 0755);
	ts_dir(&s.tree, "b", 0755);
	mount_new(&s, "a");
	mount_new(&s, "b");
	ts_file(&s.tree, "a/f", 0644, "1");
	ts_file(&s.tree, "b/f", 0644, "22");
	look(&s);
	one = attr_of(s.cache, "a/f");
	two = attr_of(s.cache, "b/f");
	CHECK_EQ(one.ino, two.ino);
	CHECK(one.dev != two.dev && one.mnt_id != two.mnt_id);
	CHECK(one.size == 1 && two.size == 2);
	e1 = ts_get(s.cache, "a/f");
	e2 = ts_get(s.cache, "b/f");
	CHECK(pathcache_entry_id(e1) != pathcache_entry_id(e2));
	same(&s, "a/f");
	same(&s, "b/f");
	pathcache_put(s.cache, e1);
	pathcache_put(s.cache, e2);
	unmount(&s, "a");
	unmount(&s, "b");
	scene_end(&s);
}

static void a_directory_bound_twice_has_two_parents(void)
{
	static const char *const paths[] = {"a/d/f",    "b/e/f",    "a/d/../n",
	                                    "b/e/../n", "a/d/k/..", "b/e/k/.."};
	struct scene s;

	if (!mounting_begin(&s))
		return;
	ts_dir(&s.tree, "a", 0755);
	ts_dir(&s.tree, "a/d", 0755);
	ts_dir(&s.tree, "a/d/k", 0755);
	ts_file(&s.tree, "a/d/f", 0644, "f");
	ts_file(&s.tree, "a/n", 0644, "of a");
	ts_dir(&s.tree, "b", 0755);
	ts_dir(&s.tree, "b/e", 0755);
	mount_bind(&s, "a/d", "b/e");
	look(&s);
	for (int i = 0; i < 12; i++) {
		same(&s, paths[i % 6]);
		AGREE(&s.view, .op = TS_REALPATH, .path = paths[i % 6]);
	}
	CHECK_EQ(attr_of(s.cache, "a/d").ino, attr_of(s.cache, "b/e").ino);
	CHECK(attr_of(s.cache, "a/d").mnt_id != attr_of(s.cache, "b/e").mnt_id);
	unmount(&s, "b/e");
	look(&s);
	for (int i = 0; i < 6; i++)
		same(&s, paths[i]);
	scene_end(&s);
}

static void a_walk_that_may_not_cross_is_told(void)
{
	struct scene s;

	if (!mounting_begin(&s))
		return;
	ts_dir(&s.tree, "d", 0755);
	ts_file(&s.tree, "d/x", 0644, "");
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(ts_stat_flags(s.cache, "d/x", PATHCACHE_NO_XDEV), 0);
		mount_bind(&s, "d", "d");
		look(&s);
		CHECK_EQ(ts_stat_flags(s.cache, "d/x", PATHCACHE_NO_XDEV), -EXDEV);
		CHECK_EQ(ts_stat_flags(s.cache, "d/x", PATHCACHE_NO_XDEV), -EXDEV);
		same(&s, "d/x");
		unmount(&s, "d");
		look(&s);
	}
	scene_end(&s);
}

/* ---- options ------------------------------------------------------------------------------ */

static void may(const struct scene *s, const char *path, int amode)
{
	AGREE(&s->view, .op = TS_ACCESS, .path = path, .amode = amode);
}

static void a_mount_becomes_read_only(void)
{
	static const unsigned long flags[] = {MS_RDONLY, 0, MS_NOEXEC, MS_RDONLY | MS_NOEXEC, 0};
	struct scene s;

	if (!mounting_begin(&s))
		return;
	ts_dir(&s.tree, "d", 0755);
	mount_new(&s, "d");
	ts_dir(&s.tree, "d/sub", 0755);
	ts_file(&s.tree, "d/sub/x", 0755, "");
	look(&s);
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		for (int k = 0; k < 2; k++) {
			may(&s, "d/sub/x", W_OK);
			may(&s, "d/sub/x", X_OK);
			may(&s, "d/sub", W_OK);
		}
		mount_flags(&s, "d", flags[i]);
		look(&s);
	}
	mount_flags(&s, "d", MS_RDONLY);
	look(&s);
	CHECK_EQ(pathcache_access(s.cache, "d/sub/x", W_OK, NULL), -EROFS);
	unmount(&s, "d");
	scene_end(&s);
}

/* ---- being told ------------------------------------------------------------------------------ */

static bool is_readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1 && p.revents & POLLIN;
}

static void the_descriptor_tells_of_a_mount(void)
{
	struct scene s;
	int fd;

	if (!mounting_begin(&s))
		return;
	fd = pathcache_fd(s.cache);
	REQUIRE(fd >= 0);
	ts_dir(&s.tree, "d", 0755);
	look(&s);
	CHECK(!is_readable(fd));
	for (int i = 0; i < 3; i++) {
		mount_new(&s, "d");
		CHECK(is_readable(fd));
		look(&s);
		CHECK(!is_readable(fd));
		unmount(&s, "d");
		CHECK(is_readable(fd));
		look(&s);
		CHECK(!is_readable(fd));
	}
	CHECK_EQ(ts_stats(s.cache).mount_changes, 6);
	scene_end(&s);
}

static bool becomes(struct pathcache *cache, const char *path, int err)
{
	uint64_t limit = ts_now_ns() + PROMPT_MS * UINT64_C(1000000);

	while (ts_stat_err(cache, path) != err) {
		if (ts_now_ns() > limit)
			return false;
		ts_sleep_us(500);
	}
	return true;
}

static void the_thread_sees_mounts(void)
{
	struct pathcache_options opt = watching();
	struct scene s;

	opt.thread = 1;
	if (!mounting_begin_with(&s, &opt))
		return;
	ts_dir(&s.tree, "d", 0755);
	ts_file(&s.tree, "d/x", 0644, "");
	for (int i = 0; i < 5; i++) {
		CHECK(becomes(s.cache, "d/x", 0));
		mount_new(&s, "d");
		CHECK(becomes(s.cache, "d/x", -ENOENT));
		unmount(&s, "d");
	}
	scene_end(&s);
}

struct ear {
	char told[8][64];
	unsigned n;
};

/* It may look itself. */
static void hear(void *arg, const struct pathcache_change *change)
{
	struct ear *ear = arg;

	REQUIRE(ear->n < 8);
	snprintf(ear->told[ear->n++], sizeof(ear->told[0]), "%.16s%s",
	         change->kind == PATHCACHE_CHANGE_NAME ? change->name : "?",
	         ts_stat_err(change->cache, "d/x") ? " without x" : "");
	CHECK_EQ(pathcache_sync(change->cache), 0);
}

static void a_listener_is_told_of_a_mount(void)
{
	struct pathcache_options opt = watching();
	struct ear ear = {.n = 0};
	struct scene s;

	opt.listener = hear;
	opt.listener_arg = &ear;
	if (!mounting_begin_with(&s, &opt))
		return;
	ts_dir(&s.tree, "d", 0755);
	ts_file(&s.tree, "d/x", 0644, "");
	same(&s, "d/x");
	mount_new(&s, "d");
	look(&s);
	CHECK_EQ(ear.n, 1);
	CHECK(strcmp(ear.told[0], "d without x") == 0);
	unmount(&s, "d");
	look(&s);
	CHECK_EQ(ear.n, 2);
	CHECK(strcmp(ear.told[1], "d") == 0);
	/* Met by a walk. */
	ear.n = 0;
	ts_dir(&s.tree, "e", 0755);
	mount_new(&s, "e");
	same(&s, "e");
	CHECK_EQ(ear.n, 1);
	CHECK(strcmp(ear.told[0], "e") == 0);
	unmount(&s, "e");
	scene_end(&s);
}

/* ---- churn -------------------------------------------------------------------------------------- */

struct watcher {
	struct ts_thread thread;
	struct scene *s;
	const char *path;
	uint64_t size; /* what it must be, whatever else goes on; 0: any */
	_Atomic bool over;
	uint64_t asked;
};

static void watch(void *arg)
{
	struct watcher *w = arg;
	struct pathcache_attr attr;

	while (!atomic_load(&w->over)) {
		int rc = pathcache_stat(w->s->cache, w->path, NULL, &attr);

		CHECK_EQ(rc, 0);
		if (!rc && w->size)
			CHECK_EQ(attr.size, w->size);
		w->asked++;
		ts_quiescent();
	}
	ts_offline();
}

static void watcher_start(struct watcher *w, struct scene *s, const char *path, uint64_t size)
{
	memset(w, 0, sizeof(*w));
	w->s = s;
	w->path = path;
	w->size = size;
	ts_thread_start(&w->thread, watch, w);
}

static void watcher_end(struct watcher *w)
{
	atomic_store(&w->over, true);
	ts_thread_join(&w->thread);
	CHECK(w->asked > 0);
}

/*
 * K1: a path that exists in every state, on a mount and below it, is never absent.
 * K2: what is on a mount is never what it covers, whatever is mounted elsewhere.
 */
static void a_path_that_is_always_there_is_always_found(void)
{
	double seconds = ts_seconds(2);
	uint64_t end = ts_now_ns() + (uint64_t)(seconds * 1e9);
	struct watcher always, under;
	struct scene s;

	if (!mounting_begin(&s))
		return;
	ts_dir(&s.tree, "d", 0755);
	ts_file(&s.tree, "d/x", 0644, "1");
	ts_dir(&s.tree, "up", 0755);
	ts_file(&s.tree, "up/x", 0644, "12");
	mount_new(&s, "up");
	ts_file(&s.tree, "up/x", 0644, "1234");
	look(&s);
	watcher_start(&always, &s, "d/x", 0);
	watcher_start(&under, &s, "up/x", 4);
	while (ts_now_ns() < end) {
		mount_bind(&s, "up", "d");
		look(&s);
		ts_sleep_us(100);
		unmount(&s, "d");
		look(&s);
		same(&s, "d/x");
	}
	watcher_end(&always);
	watcher_end(&under);
	unmount(&s, "up");
	scene_end(&s);
}

int main(int argc, char **argv)
{
	static const struct ts_case cases[] = {
		TS_CASE(objects_of_two_file_systems_are_two),
		TS_CASE(a_directory_bound_twice_has_two_parents),
		TS_CASE(a_walk_that_may_not_cross_is_told),
		TS_CASE(a_mount_becomes_read_only),
		TS_CASE(the_descriptor_tells_of_a_mount),
		TS_CASE(the_thread_sees_mounts),
		TS_CASE(a_listener_is_told_of_a_mount),
		TS_CASE(a_path_that_is_always_there_is_always_found),
	};

	ts_isolate();
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
