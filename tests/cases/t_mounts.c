/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Mounts that come, go, move and change under a cache: after a look at the table of
 * mounts the answers are the kernel's. In a mount namespace of the program's own;
 * the kernel's answer is asked for each time.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scene.h"

#define PROMPT_MS 10000

static bool may_mount;

/* Nothing expires here: what is dropped was dropped for a mount. */
static struct pathcache_options watching(void)
{
	struct pathcache_options opt;

	pathcache_options_init(&opt);
	opt.coherence = PATHCACHE_COHERENCE_TTL;
	opt.name_ttl_ms = opt.attr_ttl_ms = opt.negative_ttl_ms = INT32_MAX;
	return opt;
}

static bool begin(struct scene *scene)
{
	struct pathcache_options opt = watching();

	if (!may_mount) {
		ts_skip("may not mount");
		return false;
	}
	scene_begin_with(scene, &opt);
	return true;
}

/* ---- mounting ------------------------------------------------------------------- */

static const char *full(const struct scene *s, const char *path, char *buf)
{
	snprintf(buf, PATH_MAX, "%.2000s/%.2000s", s->tree.path, path);
	return buf;
}

static void mount_new(const struct scene *s, const char *at)
{
	char path[PATH_MAX];

	REQUIRE(mount("none", full(s, at, path), "tmpfs", 0, "size=1m") == 0);
}

static void mount_bind(const struct scene *s, const char *what, const char *at)
{
	char from[PATH_MAX], to[PATH_MAX];

	REQUIRE(mount(full(s, what, from), full(s, at, to), NULL, MS_BIND, NULL) == 0);
}

static void mount_move(const struct scene *s, const char *from, const char *to)
{
	char was[PATH_MAX], is[PATH_MAX];

	REQUIRE(mount(full(s, from, was), full(s, to, is), NULL, MS_MOVE, NULL) == 0);
}

static void mount_flags(const struct scene *s, const char *at, unsigned long flags)
{
	char path[PATH_MAX];

	REQUIRE(mount(NULL, full(s, at, path), NULL, MS_REMOUNT | MS_BIND | flags, NULL) == 0);
}

/* Descriptors of the cache's keep it from ending at once. */
static void unmount(const struct scene *s, const char *at)
{
	char path[PATH_MAX];

	REQUIRE(umount2(full(s, at, path), MNT_DETACH) == 0);
}

static void look(const struct scene *s)
{
	CHECK(pathcache_maintain(s->cache, 64) >= 0);
}

static bool same(const struct scene *s, const char *path)
{
	return AGREE(&s->view, .op = TS_STAT, .path = path);
}

static uint64_t asked(const struct scene *s)
{
	return ts_stats(s->cache).backend_calls;
}

/* What has nothing to do with a change stays known: the directory "other". */
static void kept_begin(const struct scene *s)
{
	CHECK_EQ(ts_stat_err(s->cache, "other"), 0);
}

static void kept_end(const struct scene *s)
{
	CHECK_EQ(ts_stat_flags(s->cache, "other", PATHCACHE_CACHED), 0);
}

/* ---- a directory and what is mounted on it ------------------------------------------ */

/* H5 */
static void a_mount_over_a_cached_directory_is_seen(void)
{
	struct scene s;

	if (!begin(&s))
		return;
	ts_dir(&s.tree, "d", 0755);
	ts_file(&s.tree, "d/x", 0644, "below");
	for (int i = 0; i < 3; i++) {
		same(&s, "d/x");
		CHECK_EQ(ts_stat_err(s.cache, "d/y"), -ENOENT);
		mount_new(&s, "d");
		ts_file(&s.tree, "d/y", 0644, "on top");
		look(&s);
		CHECK_EQ(ts_stat_err(s.cache, "d/x"), -ENOENT);
		same(&s, "d/y");
		same(&s, "d");
		unmount(&s, "d");
		look(&s);
		same(&s, "d/x");
		CHECK_EQ(ts_stat_err(s.cache, "d/y"), -ENOENT);
		same(&s, "d");
	}
	CHECK_EQ(ts_stats(s.cache).mount_changes, 6);
	scene_end(&s);
}

static void a_mount_over_a_file_is_seen(void)
{
	struct scene s;

	if (!begin(&s))
		return;
	ts_file(&s.tree, "f", 0644, "");
	ts_file(&s.tree, "g", 0644, "other");
	same(&s, "f");
	mount_bind(&s, "g", "f");
	look(&s);
	CHECK_EQ(attr_of(s.cache, "f").size, 5);
	same(&s, "f");
	unmount(&s, "f");
	look(&s);
	same(&s, "f");
	scene_end(&s);
}

/* Its number in the table is given out again at once. */
static void a_mount_in_the_place_of_another_is_seen(void)
{
	struct scene s;

	if (!begin(&s))
		return;
	ts_dir(&s.tree, "d", 0755);
	mount_new(&s, "d");
	ts_file(&s.tree, "d/x", 0644, "old");
	look(&s);
	for (int i = 0; i < 20; i++) {
		same(&s, "d/x");
		same(&s, "d/new");
		unmount(&s, "d");
		mount_new(&s, "d");
		ts_file(&s.tree, i % 2 ? "d/x" : "d/new", 0644, "another");
		look(&s);
		same(&s, "d/x");
		same(&s, "d/new");
	}
	unmount(&s, "d");
	scene_end(&s);
}

/* The same with its very number, which is free once no descriptor is left on it. */
static void a_mount_under_the_number_of_another_is_seen(void)
{
	struct pathcache_attr old, now;
	unsigned again = 0;
	char path[PATH_MAX];
	struct scene s;

	if (!begin(&s))
		return;
	ts_dir(&s.tree, "d", 0755);
	for (int i = 0; i < 10; i++) {
		mount_new(&s, "d");
		look(&s);
		same(&s, "d");
		old = attr_of(s.cache, "d");
		REQUIRE(umount(full(&s, "d", path)) == 0);
		mount_new(&s, "d");
		look(&s);
		same(&s, "d");
		now = attr_of(s.cache, "d");
		again += now.mnt_id == old.mnt_id;
		REQUIRE(umount(path) == 0);
		look(&s);
	}
	if (!again)
		ts_skip("the number was never the same");
	scene_end(&s);
}

/* Nobody has looked between: the walk itself meets a mount it does not know. */
static void a_mount_that_came_and_went_unseen_leaves_nothing(void)
{
	struct scene s;

	if (!begin(&s))
		return;
	ts_dir(&s.tree, "d", 0755);
	ts_file(&s.tree, "d/x", 0644, "below");
	for (int i = 0; i < 5; i++) {
		CHECK_EQ(pathcache_invalidate_all(s.cache), 0);
		mount_new(&s, "d");
		ts_file(&s.tree, "d/y", 0644, "on top");
		for (int k = 0; k < 3; k++) {
			same(&s, "d/y");
			CHECK_EQ(ts_stat_err(s.cache, "d/x"), -ENOENT);
		}
		unmount(&s, "d");
		look(&s);
		same(&s, "d/x");
		CHECK_EQ(ts_stat_err(s.cache, "d/y"), -ENOENT);
	}
	scene_end(&s);
}

static void what_is_on_a_mount_is_kept(void)
{
	struct scene s;
	uint64_t calls;

	if (!begin(&s))
		return;
	ts_dir(&s.tree, "d", 0755);
	mount_new(&s, "d");
	ts_file(&s.tree, "d/x", 0644, "on top");
	for (int i = 0; i < 3; i++)
		same(&s, "d/x");
	calls = asked(&s);
	for (int i = 0; i < 10; i++)
		same(&s, "d/x");
	CHECK_EQ(asked(&s), calls);
	unmount(&s, "d");
	scene_end(&s);
}

/* ---- elsewhere ------------------------------------------------------------------------ */

static void mounts_elsewhere_leave_the_cache_as_it_is(void)
{
	struct scene s;
	uint64_t calls;

	if (!begin(&s))
		return;
	ts_dir(&s.tree, "d", 0755);
	ts_file(&s.tree, "d/x", 0644, "");
	ts_dir(&s.tree, "other", 0755);
	ts_dir(&s.tree, "other/m", 0755);
	ts_dir(&s.tree, "unasked", 0755);
	ts_dir(&s.tree, "unasked/m", 0755);
	same(&s, "d/x");
	same(&s, "other/m");
	calls = asked(&s);
	for (int i = 0; i < 10; i++) {
		mount_new(&s, "unasked/m");
		look(&s);
		mount_new(&s, "other/m");
		if (i % 2)
			look(&s);
		unmount(&s, "unasked/m");
		unmount(&s, "other/m");
		look(&s);
		same(&s, "d/x");
		CHECK_EQ(asked(&s), calls);
	}
	scene_end(&s);
}

/* ---- several at once --------------------------------------------------------------------- */

static void nested_mounts_come_and_go_at_once(void)
{
	static const char *const paths[] = {"a", "a/b", "a/b/x", "a/b/y", "a/b/z"};
	struct scene s;

	if (!begin(&s))
		return;
	ts_dir(&s.tree, "a", 0755);
	ts_dir(&s.tree, "a/b", 0755);
	ts_file(&s.tree, "a/b/x", 0644, "1");
	for (int round = 0; round < 4; round++) {
		for (size_t i = 0; i < 5; i++)
			same(&s, paths[i]);
		mount_new(&s, "a");
		ts_dir(&s.tree, "a/b", 0755);
		ts_file(&s.tree, "a/b/y", 0644, "12");
		if (round % 2)
			look(&s);
		mount_new(&s, "a/b");
		ts_file(&s.tree, "a/b/z", 0644, "123");
		look(&s);
		for (size_t i = 0; i < 5; i++)
			same(&s, paths[i]);
		unmount(&s, "a");
		look(&s);
		for (size_t i = 0; i < 5; i++)
			same(&s, paths[i]);
	}
	scene_end(&s);
}

static void a_mount_is_covered_and_comes_back(void)
{
	static const char *const paths[] = {"a", "a/b", "a/b/x", "a/y"};
	struct pathcache_how how = {.size = sizeof(how)};
	struct pathcache_attr attr;
	struct scene s;

	if (!begin(&s))
		return;
	ts_dir(&s.tree, "other", 0755);
	ts_dir(&s.tree, "a", 0755);
	ts_dir(&s.tree, "a/b", 0755);
	mount_new(&s, "a/b");
	ts_file(&s.tree, "a/b/x", 0644, "1");
	look(&s);
	how.start = ts_get(s.cache, "a");
	for (int round = 0; round < 4; round++) {
		for (size_t i = 0; i < 4; i++)
			same(&s, paths[i]);
		kept_begin(&s);
		mount_new(&s, "a");
		ts_file(&s.tree, "a/y", 0644, "1");
		look(&s);
		for (size_t i = 0; i < 4; i++)
			same(&s, paths[i]);
		/* Below the cover nothing has changed. */
		CHECK_EQ(pathcache_stat(s.cache, "b/x", &how, &attr), 0);
		kept_end(&s);
		unmount(&s, "a");
		if (round % 2)
			unmount(&s, "a/b");
		look(&s);
		for (size_t i = 0; i < 4; i++)
			same(&s, paths[i]);
		if (round % 2)
			mount_new(&s, "a/b");
		if (round % 2)
			ts_file(&s.tree, "a/b/x", 0644, "1");
		look(&s);
	}
	unmount(&s, "a/b");
	pathcache_put(s.cache, how.start);
	scene_end(&s);
}

/* Which directory the lower one is in cannot be told any more. */
static void a_mount_comes_below_another(void)
{
	struct pathcache_how how = {.size = sizeof(how)};
	struct pathcache_attr attr;
	struct scene s;

	if (!begin(&s))
		return;
	ts_dir(&s.tree, "a", 0755);
	ts_dir(&s.tree, "a/b", 0755);
	how.start = ts_get(s.cache, "a");
	CHECK_EQ(pathcache_stat(s.cache, "b/x", &how, &attr), -ENOENT);
	mount_new(&s, "a/b");
	ts_file(&s.tree, "a/b/x", 0644, "1");
	mount_new(&s, "a");
	look(&s);
	CHECK_EQ(pathcache_stat(s.cache, "b/x", &how, &attr), 0);
	same(&s, "a/b/x");
	unmount(&s, "a");
	look(&s);
	same(&s, "a/b/x");
	unmount(&s, "a/b");
	look(&s);
	CHECK_EQ(pathcache_stat(s.cache, "b/x", &how, &attr), -ENOENT);
	pathcache_put(s.cache, how.start);
	scene_end(&s);
}

static void mounts_stand_on_top_of_each_other(void)
{
	struct scene s;

	if (!begin(&s))
		return;
	ts_dir(&s.tree, "d", 0755);
	ts_file(&s.tree, "d/x", 0644, "1");
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 3; i++) {
			same(&s, "d/x");
			mount_new(&s, "d");
			ts_file(&s.tree, "d/x", 0644, i ? "123" : "12");
			look(&s);
		}
		for (int i = 0; i < 3; i++) {
			unmount(&s, "d");
			if (i == round)
				continue;
			look(&s);
			same(&s, "d/x");
		}
		look(&s);
		same(&s, "d/x");
	}
	scene_end(&s);
}

/* K3: ".." of what is mounted. */
static void a_mount_is_moved(void)
{
	static const char *const paths[] = {"a/m/x", "b/m/x", "a/m/../n", "b/m/../n", "a/m", "b/m"};
	struct scene s;

	if (!begin(&s))
		return;
	ts_dir(&s.tree, "a", 0755);
	ts_dir(&s.tree, "a/m", 0755);
	ts_file(&s.tree, "a/n", 0644, "a");
	ts_dir(&s.tree, "b", 0755);
	ts_dir(&s.tree, "b/m", 0755);
	ts_file(&s.tree, "b/n", 0644, "of b");
	mount_new(&s, "a/m");
	ts_file(&s.tree, "a/m/x", 0644, "on top");
	look(&s);
	for (int round = 0; round < 6; round++) {
		for (size_t i = 0; i < 12; i++)
			same(&s, paths[i % 6]);
		mount_move(&s, round % 2 ? "b/m" : "a/m", round % 2 ? "a/m" : "b/m");
		look(&s);
	}
	unmount(&s, "a/m");
	scene_end(&s);
}

/* The table tells where a mount was, not where it is once what is above was renamed. */
static void a_directory_above_is_renamed_before_the_end(void)
{
	struct scene s;

	if (!begin(&s))
		return;
	ts_dir(&s.tree, "a", 0755);
	ts_dir(&s.tree, "a/m", 0755);
	mount_new(&s, "a/m");
	ts_file(&s.tree, "a/m/x", 0644, "on top");
	look(&s);
	same(&s, "a/m/x");
	ts_rename(&s.tree, "a", "b");
	changed(s.cache, "a");
	changed(s.cache, "b");
	ts_dir(&s.tree, "a", 0755);
	ts_dir(&s.tree, "a/m", 0755);
	same(&s, "b/m/x");
	same(&s, "b/m/x");
	unmount(&s, "b/m");
	look(&s);
	same(&s, "b/m/x");
	same(&s, "b/m");
	same(&s, "a/m");
	scene_end(&s);
}

static void names_with_blanks_are_found(void)
{
	static const char name[] = "a b\tc\nd\\e#";
	char inner[64];
	struct scene s;

	if (!begin(&s))
		return;
	ts_dir(&s.tree, "other", 0755);
	ts_dir(&s.tree, name, 0755);
	snprintf(inner, sizeof(inner), "%s/\\040", name);
	ts_dir(&s.tree, inner, 0755);
	same(&s, inner);
	kept_begin(&s);
	mount_new(&s, inner);
	look(&s);
	kept_end(&s);
	same(&s, inner);
	same(&s, name);
	unmount(&s, inner);
	look(&s);
	same(&s, inner);
	scene_end(&s);
}

/* Where the process may not search, the directory above stands for what is below it. */
static void a_mount_where_the_process_may_not_search_is_seen(void)
{
	struct scene s;

	if (!begin(&s))
		return;
	ts_dir(&s.tree, "other", 0755);
	ts_dir(&s.tree, "p", 0755);
	ts_dir(&s.tree, "p/d", 0755);
	ts_dir(&s.tree, "p/d/m", 0755);
	ts_file(&s.tree, "p/d/m/x", 0644, "");
	same(&s, "p/d/m/x");
	ts_chmod(&s.tree, "p", 0700);
	mount_new(&s, "p/d/m");
	kept_begin(&s);
	ts_switch_to(&ts_nobody);
	look(&s);
	ts_switch_back();
	kept_end(&s);
	ts_chmod(&s.tree, "p", 0755);
	changed_object(s.cache, "p");
	same(&s, "p/d/m/x");
	unmount(&s, "p/d/m");
	look(&s);
	same(&s, "p/d/m/x");
	scene_end(&s);
}

/* ---- identity ---------------------------------------------------------------------------- */

/* H1: equal inode numbers. H3: the mount's number is the kernel's own. */
static void objects_of_two_file_systems_are_two(void)
{
	struct pathcache_attr one, two;
	struct pathcache_entry *e1, *e2;
	struct scene s;

	if (!begin(&s))
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

	if (!begin(&s))
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

	if (!begin(&s))
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

	if (!begin(&s))
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

	if (!begin(&s))
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

	if (!may_mount) {
		ts_skip("may not mount");
		return;
	}
	opt.thread = 1;
	scene_begin_with(&s, &opt);
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

	if (!begin(&s))
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
		TS_CASE(a_mount_over_a_cached_directory_is_seen),
		TS_CASE(a_mount_over_a_file_is_seen),
		TS_CASE(a_mount_in_the_place_of_another_is_seen),
		TS_CASE(a_mount_under_the_number_of_another_is_seen),
		TS_CASE(a_mount_that_came_and_went_unseen_leaves_nothing),
		TS_CASE(what_is_on_a_mount_is_kept),
		TS_CASE(mounts_elsewhere_leave_the_cache_as_it_is),
		TS_CASE(nested_mounts_come_and_go_at_once),
		TS_CASE(a_mount_is_covered_and_comes_back),
		TS_CASE(a_mount_comes_below_another),
		TS_CASE(mounts_stand_on_top_of_each_other),
		TS_CASE(a_mount_is_moved),
		TS_CASE(a_directory_above_is_renamed_before_the_end),
		TS_CASE(names_with_blanks_are_found),
		TS_CASE(a_mount_where_the_process_may_not_search_is_seen),
		TS_CASE(objects_of_two_file_systems_are_two),
		TS_CASE(a_directory_bound_twice_has_two_parents),
		TS_CASE(a_walk_that_may_not_cross_is_told),
		TS_CASE(a_mount_becomes_read_only),
		TS_CASE(the_descriptor_tells_of_a_mount),
		TS_CASE(the_thread_sees_mounts),
		TS_CASE(a_path_that_is_always_there_is_always_found),
	};

	may_mount = ts_isolate();
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
