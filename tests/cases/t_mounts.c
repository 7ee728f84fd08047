/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Mounts that come, go and move under a cache: after a look at the table of mounts
 * the answers are the kernel's, which is asked each time.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "mounting.h"

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

	if (!mounting_begin(&s))
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

	if (!mounting_begin(&s))
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

	if (!mounting_begin(&s))
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

	if (!mounting_begin(&s))
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

	if (!mounting_begin(&s))
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

	if (!mounting_begin(&s))
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

	if (!mounting_begin(&s))
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

	if (!mounting_begin(&s))
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

	if (!mounting_begin(&s))
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

	if (!mounting_begin(&s))
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

	if (!mounting_begin(&s))
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

	if (!mounting_begin(&s))
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

	if (!mounting_begin(&s))
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

	if (!mounting_begin(&s))
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
	bool reached;

	if (!mounting_begin(&s))
		return;
	reached = ts_nobody_reaches(s.tree.path);
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
	if (reached)
		kept_end(&s);
	ts_chmod(&s.tree, "p", 0755);
	changed_object(s.cache, "p");
	same(&s, "p/d/m/x");
	unmount(&s, "p/d/m");
	look(&s);
	same(&s, "p/d/m/x");
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
	};

	ts_isolate();
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
