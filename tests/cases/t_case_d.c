/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Faults of others: wrong errno, slashes, dots, loops, lengths. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "scene.h"

/* D1 */
static void a_name_below_a_file_is_enotdir(void)
{
	struct scene s;

	scene_begin(&s);
	ts_file(&s.tree, "f", 0644, "");
	ts_symlink(&s.tree, "lf", "f");
	CHECK_EQ(ts_stat_err(s.cache, "f/x"), -ENOTDIR);
	CHECK_EQ(ts_stat_err(s.cache, "f"), 0);
	for (int hot = 0; hot < 2; hot++) {
		CHECK_EQ(ts_stat_err(s.cache, "f/x"), -ENOTDIR);
		CHECK_EQ(ts_stat_err(s.cache, "f/x/y"), -ENOTDIR);
		CHECK_EQ(ts_stat_err(s.cache, "lf/x"), -ENOTDIR);
	}
	changed(s.cache, "f/x");
	CHECK_EQ(ts_stat_err(s.cache, "f/x"), -ENOTDIR);
	ts_unlink(&s.tree, "f");
	ts_dir(&s.tree, "f", 0755);
	changed(s.cache, "f");
	CHECK_EQ(ts_stat_err(s.cache, "f/x"), -ENOENT);
	ts_rmdir(&s.tree, "f");
	ts_file(&s.tree, "f", 0644, "");
	changed(s.cache, "f");
	for (int hot = 0; hot < 2; hot++)
		CHECK_EQ(ts_stat_err(s.cache, "f/x"), -ENOTDIR);
	scene_end(&s);
}

/* D2 */
static void a_file_with_a_trailing_slash_is_enotdir(void)
{
	static const char *const paths[] = {"f/", "f//", "f/.", "f/./", "lf/", "lf/.", "f/.."};
	struct scene s;

	scene_begin(&s);
	ts_file(&s.tree, "f", 0644, "");
	ts_symlink(&s.tree, "lf", "f");
	for (int hot = 0; hot < 2; hot++) {
		for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
			CHECK_EQ(ts_stat_err(s.cache, paths[i]), -ENOTDIR);
			CHECK_EQ(ts_stat_flags(s.cache, paths[i], PATHCACHE_NOFOLLOW), -ENOTDIR);
		}
		CHECK_EQ(ts_stat_err(s.cache, "f"), 0);
	}
	scene_end(&s);
}

/* D3 */
static void a_file_is_not_written_through_a_trailing_slash(void)
{
	static const int flags[] = {O_WRONLY, O_RDWR, O_WRONLY | O_TRUNC, O_RDONLY, O_PATH};
	struct scene s;

	scene_begin(&s);
	ts_file(&s.tree, "f", 0644, "text");
	for (int hot = 0; hot < 2; hot++) {
		for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
			CHECK_EQ(pathcache_open_fd(s.cache, "f/", flags[i], NULL), -ENOTDIR);
			CHECK_EQ(pathcache_open_fd(s.cache, "f/x", flags[i], NULL), -ENOTDIR);
		}
		CHECK_EQ(ts_stat_err(s.cache, "f"), 0);
	}
	changed_object(s.cache, "f");
	CHECK_EQ(attr_of(s.cache, "f").size, 4);
	scene_end(&s);
}

/* D6, D7 */
static void dots_are_walked_and_never_folded(void)
{
	static const char *const paths[] = {"link/../n",  "link/..",      "b/..c/..",
	                                    "b/..c/../x", "./b//c/x",     "b/./c/x",
	                                    "b/c/./../x", "link/../../n", "missing/../n",
	                                    "n/../n",     "b/..c",        "link/./..//d/../n",
	                                    ".//./b/c"};
	struct scene s;

	scene_begin(&s);
	ts_dir(&s.tree, "c", 0755);
	ts_dir(&s.tree, "c/d", 0755);
	ts_file(&s.tree, "c/n", 0644, "right");
	ts_file(&s.tree, "n", 0644, "wrong");
	ts_symlink(&s.tree, "link", "c/d");
	ts_dir(&s.tree, "b", 0755);
	ts_dir(&s.tree, "b/..c", 0755);
	ts_dir(&s.tree, "b/c", 0755);
	ts_file(&s.tree, "b/c/x", 0644, "");
	ts_file(&s.tree, "b/x", 0644, "");
	for (int hot = 0; hot < 2; hot++) {
		CHECK_EQ(ts_cache_ino(s.cache, "link/../n"), ts_ino(&s.tree, "c/n"));
		CHECK_EQ(ts_cache_ino(s.cache, "b/..c/.."), ts_ino(&s.tree, "b"));
		for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
			AGREE(&s.view, .path = paths[i]);
			AGREE(&s.view, .op = TS_REALPATH, .path = paths[i]);
		}
	}
	scene_end(&s);
}

/* D8 */
static void realpath_through_a_link_to_its_own_side_ends(void)
{
	struct scene s;
	char path[64];

	scene_begin(&s);
	ts_dir(&s.tree, "a", 0755);
	ts_dir(&s.tree, "a/b", 0755);
	ts_dir(&s.tree, "a/b/c", 0755);
	ts_dir(&s.tree, "a/b/d", 0755);
	ts_symlink(&s.tree, "c", "a/b/c");
	ts_symlink(&s.tree, "d", "c/../d");
	for (int hot = 0; hot < 2; hot++) {
		CHECK_EQ(pathcache_realpath(s.cache, "d", NULL, path, sizeof(path)), 6);
		CHECK(strcmp(path, "/a/b/d") == 0);
	}
	scene_end(&s);
}

/* D9 */
static void links_from_memory_count_as_any_other(void)
{
	struct scene s;
	char path[512];

	scene_begin(&s);
	ts_file(&s.tree, "f", 0644, "");
	ts_symlink(&s.tree, "s", ".");
	for (int round = 0; round < 3; round++) {
		for (int n = 38; n <= 43; n++) {
			path[0] = '\0';
			for (int i = 0; i < n; i++)
				strcat(path, "s/");
			CHECK_EQ(ts_stat_err(s.cache, path), n > 40 ? -ELOOP : 0);
			strcat(path, "f");
			CHECK_EQ(ts_stat_err(s.cache, path), n > 40 ? -ELOOP : 0);
		}
	}
	scene_end(&s);
}

/* D16 */
static void names_are_bytes(void)
{
	static const char *const names[] = {"\xff", "\xfe", "\xc3\xa9", "e\xcc\x81", "\x01",
	                                    "\x7f", " ",    "A",        "a",         "\xff\xff",
	                                    "*",    "\\",   "a\\b"};
	enum { N = sizeof(names) / sizeof(names[0]) };
	struct scene s;

	scene_begin(&s);
	for (size_t there = 0; there < N; there++) {
		ts_file(&s.tree, names[there], 0644, "");
		changed(s.cache, names[there]);
		for (size_t i = 0; i < N; i++)
			CHECK_EQ(ts_stat_err(s.cache, names[i]), i > there ? -ENOENT : 0);
	}
	for (size_t i = 0; i < N; i++) {
		CHECK_EQ(ts_cache_ino(s.cache, names[i]), ts_ino(&s.tree, names[i]));
		AGREE(&s.view, .op = TS_REALPATH, .path = names[i]);
	}
	scene_end(&s);
}

/* D18 */
static void what_is_written_through_a_link_is_read_through_the_directory(void)
{
	struct scene s;

	scene_begin(&s);
	ts_dir(&s.tree, "mnt", 0755);
	ts_dir(&s.tree, "mnt/data", 0755);
	ts_symlink(&s.tree, "data", "mnt/data");
	CHECK_EQ(ts_stat_err(s.cache, "mnt/data/n"), -ENOENT);
	CHECK_EQ(ts_stat_err(s.cache, "data/n"), -ENOENT);
	ts_file(&s.tree, "data/n", 0644, "text");
	changed(s.cache, "data/n");
	CHECK_EQ(attr_of(s.cache, "mnt/data/n").size, 4);
	ts_append(&s.tree, "mnt/data/n", "more");
	changed(s.cache, "mnt/data/n");
	CHECK_EQ(attr_of(s.cache, "data/n").size, 8);
	scene_end(&s);
}

/* D18: a link that was never looked up leads to a directory that was. */
static void an_announcement_through_a_link_not_in_memory_reaches_the_directory(void)
{
	struct scene s;

	scene_begin(&s);
	ts_dir(&s.tree, "mnt", 0755);
	ts_dir(&s.tree, "mnt/data", 0755);
	ts_symlink(&s.tree, "data", "mnt/data");
	CHECK_EQ(ts_stat_err(s.cache, "mnt/data/n"), -ENOENT);
	ts_file(&s.tree, "data/n", 0644, "text");
	changed(s.cache, "data/n");
	CHECK_EQ(ts_stat_err(s.cache, "mnt/data/n"), 0);
	scene_end(&s);
}

/* D18: nor does it matter that the directory's own name has been forgotten meanwhile. */
static void an_announcement_below_a_forgotten_name_reaches_the_directory(void)
{
	struct scene s;
	struct pathcache_entry *held;

	scene_begin(&s);
	ts_dir(&s.tree, "d", 0755);
	held = ts_get(s.cache, "d");
	CHECK_EQ(ts_stat_err(s.cache, "d/n"), -ENOENT);
	changed(s.cache, "d");
	ts_file(&s.tree, "d/n", 0644, "text");
	changed(s.cache, "d/n");
	CHECK_EQ(ts_stat_err(s.cache, "d/n"), 0);
	pathcache_put(s.cache, held);
	scene_end(&s);
}

/* D19 */
static void spellings_cost_nothing_each(void)
{
	struct pathcache_stats before, after;
	struct scene s;
	char path[3000];

	scene_begin(&s);
	ts_dir(&s.tree, "d", 0755);
	ts_file(&s.tree, "d/f", 0644, "");
	CHECK_EQ(ts_stat_err(s.cache, "d/f"), 0);
	CHECK_EQ(ts_stat_err(s.cache, "d/f/"), -ENOTDIR);
	before = ts_stats(s.cache);
	for (int n = 1; n < 1000; n++) {
		memset(path, '/', sizeof(path));
		path[0] = 'd';
		path[n + 1] = 'f';
		path[n + 2] = '\0';
		CHECK_EQ(ts_stat_err(s.cache, path), 0);
		memcpy(path, "d/f", 3);
		memset(path + 3, '/', 1000);
		path[n + 3] = '\0';
		CHECK_EQ(ts_stat_err(s.cache, path), -ENOTDIR);
		path[0] = '\0';
		for (int i = 0; i < n; i++)
			memcpy(path + 2 * i, "./", 3);
		strcat(path, "d/f");
		CHECK_EQ(ts_stat_err(s.cache, path), 0);
	}
	after = ts_stats(s.cache);
	CHECK_EQ(after.dentries, before.dentries);
	CHECK_EQ(after.nodes, before.nodes);
	/* Memos are kept of spellings, in their share of the budget; nothing else is. */
	CHECK(after.bytes - after.memo_bytes <= before.bytes - before.memo_bytes + 65536);
	scene_end(&s);
}

static const struct ts_case cases[] = {
	TS_CASE(a_name_below_a_file_is_enotdir),
	TS_CASE(a_file_with_a_trailing_slash_is_enotdir),
	TS_CASE(a_file_is_not_written_through_a_trailing_slash),
	TS_CASE(dots_are_walked_and_never_folded),
	TS_CASE(realpath_through_a_link_to_its_own_side_ends),
	TS_CASE(links_from_memory_count_as_any_other),
	TS_CASE(names_are_bytes),
	TS_CASE(what_is_written_through_a_link_is_read_through_the_directory),
	TS_CASE(an_announcement_through_a_link_not_in_memory_reaches_the_directory),
	TS_CASE(an_announcement_below_a_forgotten_name_reaches_the_directory),
	TS_CASE(spellings_cost_nothing_each),
};

int main(int argc, char **argv)
{
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
