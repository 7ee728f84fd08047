/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Faults of others: replacement, rename, symlink swap. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scene.h"

/* A1 */
static void both_files_come_from_the_release_the_link_names_now(void)
{
	struct scene s;
	char path[64];

	scene_begin(&s);
	ts_dir(&s.tree, "r1", 0755);
	ts_dir(&s.tree, "r2", 0755);
	ts_file(&s.tree, "r1/a", 0644, "1");
	ts_file(&s.tree, "r1/b", 0644, "1");
	ts_file(&s.tree, "r2/a", 0644, "22");
	ts_file(&s.tree, "r2/b", 0644, "22");
	ts_symlink(&s.tree, "cur", "r1");
	for (int round = 0; round < 2; round++) {
		CHECK_EQ(ts_cache_ino(s.cache, "cur/a"), ts_ino(&s.tree, "r1/a"));
		CHECK_EQ(ts_cache_ino(s.cache, "cur/b"), ts_ino(&s.tree, "r1/b"));
		CHECK(pathcache_realpath(s.cache, "cur/a", NULL, path, sizeof(path)) > 0);
	}
	ts_swap_link(&s.tree, "cur", "r2");
	changed(s.cache, "cur");
	for (int round = 0; round < 2; round++) {
		CHECK_EQ(ts_cache_ino(s.cache, "cur/a"), ts_ino(&s.tree, "r2/a"));
		CHECK_EQ(ts_cache_ino(s.cache, "cur/b"), ts_ino(&s.tree, "r2/b"));
		CHECK_EQ(pathcache_realpath(s.cache, "cur/a", NULL, path, sizeof(path)), 5);
		CHECK(strcmp(path, "/r2/a") == 0);
		CHECK_EQ(pathcache_readlink(s.cache, "cur", NULL, path, sizeof(path)), 2);
		CHECK(memcmp(path, "r2", 2) == 0);
	}
	scene_end(&s);
}

/* A2 */
static void an_answer_depends_on_every_link_walked(void)
{
	struct scene s;

	scene_begin(&s);
	ts_dir(&s.tree, "v1", 0755);
	ts_dir(&s.tree, "v2", 0755);
	ts_file(&s.tree, "v1/x", 0644, "1");
	ts_file(&s.tree, "v2/x", 0644, "22");
	ts_symlink(&s.tree, "..data", "v1");
	ts_symlink(&s.tree, "x", "..data/x");
	for (int round = 0; round < 2; round++)
		CHECK_EQ(attr_of(s.cache, "x").size, 1);
	ts_swap_link(&s.tree, "..data", "v2");
	CHECK_EQ(pathcache_invalidate_name(s.cache, NULL, "..data"), 0);
	for (int round = 0; round < 2; round++) {
		CHECK_EQ(attr_of(s.cache, "x").size, 2);
		AGREE(&s.view, .path = "x");
		AGREE(&s.view, .op = TS_REALPATH, .path = "x");
	}
	scene_end(&s);
}

/* A4 */
static void children_follow_a_renamed_parent(void)
{
	struct scene s;
	struct pathcache_entry *dir, *file;
	struct ts_start start;
	char path[64];
	struct pathcache_attr attr;

	scene_begin(&s);
	ts_dir(&s.tree, "d", 0755);
	ts_file(&s.tree, "d/f", 0644, "text");
	dir = ts_get(s.cache, "d");
	file = ts_get(s.cache, "d/f");
	start = (struct ts_start){dir, openat(s.tree.fd, "d", O_PATH | O_CLOEXEC)};
	ts_rename(&s.tree, "d", "e");
	changed(s.cache, "d");
	changed(s.cache, "e");
	CHECK_EQ(ts_stat_err(s.cache, "d/f"), -ENOENT);
	for (int round = 0; round < 2; round++) {
		AGREE(&s.view, .path = "e/f");
		AGREE(&s.view, .path = "f", .start = &start, .flags = PATHCACHE_BENEATH);
		CHECK_EQ(pathcache_entry_path(s.cache, file, path, sizeof(path)), 4);
		CHECK(strcmp(path, "/e/f") == 0);
		CHECK_EQ(pathcache_entry_path(s.cache, dir, path, sizeof(path)), 2);
		CHECK(strcmp(path, "/e") == 0);
	}
	CHECK_EQ(pathcache_entry_stat(s.cache, file, &attr), 0);
	CHECK_EQ(attr.ino, ts_ino(&s.tree, "e/f"));
	pathcache_put(s.cache, dir);
	pathcache_put(s.cache, file);
	close(start.fd);
	scene_end(&s);
}

struct race {
	struct scene s;
	struct pathcache_entry *dir;
	_Atomic bool stop;
	_Atomic unsigned lists;
};

static int stat_each(void *arg, const char *name, size_t len, uint64_t ino, uint32_t type,
                     uint64_t cookie)
{
	struct race *race = arg;
	struct pathcache_how how = {.size = sizeof(how), .start = race->dir};
	struct pathcache_attr attr;
	int rc = pathcache_stat(race->s.cache, name, &how, &attr);

	(void)len;
	(void)ino;
	(void)type;
	(void)cookie;
	CHECK(rc == 0 || rc == -ENOENT);
	if (strcmp(name, "stays") == 0)
		CHECK_EQ(rc, 0);
	return 0;
}

static void list_and_stat(void *arg)
{
	struct race *race = arg;

	while (!atomic_load(&race->stop)) {
		CHECK_EQ(pathcache_readdir(race->s.cache, race->dir, 0, stat_each, race), 0);
		atomic_fetch_add(&race->lists, 1);
		ts_quiescent();
	}
}

/* A6, L4 */
static void a_rename_beside_a_listing_is_no_error(void)
{
	static struct race race;
	struct ts_thread thread;
	uint64_t end;

	memset(&race, 0, sizeof(race));
	scene_begin(&race.s);
	ts_dir(&race.s.tree, "d", 0755);
	ts_file(&race.s.tree, "d/a", 0644, "");
	ts_file(&race.s.tree, "d/stays", 0644, "");
	race.dir = ts_get(race.s.cache, "d");
	ts_thread_start(&thread, list_and_stat, &race);
	end = ts_now_ns() + (uint64_t)(ts_seconds(0.4) * 1e9);
	for (unsigned i = 0; ts_now_ns() < end || i % 2; i++) {
		ts_rename(&race.s.tree, i % 2 ? "d/b" : "d/a", i % 2 ? "d/a" : "d/b");
		changed(race.s.cache, "d/a");
		changed(race.s.cache, "d/b");
		CHECK_EQ(ts_stat_err(race.s.cache, i % 2 ? "d/a" : "d/b"), 0);
		CHECK_EQ(ts_stat_err(race.s.cache, i % 2 ? "d/b" : "d/a"), -ENOENT);
	}
	atomic_store(&race.stop, true);
	ts_thread_join(&thread);
	CHECK(atomic_load(&race.lists) > 0);
	pathcache_put(race.s.cache, race.dir);
	scene_end(&race.s);
}

/* A7 */
static void rename_over_an_open_name_gives_the_new_object(void)
{
	struct scene s;
	char text[8] = "";
	uint64_t moved;
	int fd;

	scene_begin(&s);
	ts_dir(&s.tree, "d1", 0755);
	ts_dir(&s.tree, "d2", 0755);
	ts_file(&s.tree, "d1/t", 0644, "old");
	ts_file(&s.tree, "d2/t", 0600, "newer");
	CHECK_EQ(ts_stat_err(s.cache, "d1/t"), 0);
	CHECK_EQ(ts_stat_err(s.cache, "d2/t"), 0);
	moved = ts_ino(&s.tree, "d2/t");
	ts_rename(&s.tree, "d2/t", "d1/t");
	changed(s.cache, "d2/t");
	changed(s.cache, "d1/t");
	for (int round = 0; round < 2; round++) {
		CHECK_EQ(ts_cache_ino(s.cache, "d1/t"), moved);
		AGREE(&s.view, .path = "d1/t");
		AGREE(&s.view, .path = "d2/t");
		AGREE(&s.view, .path = "d1");
		AGREE(&s.view, .path = "d2");
	}
	fd = pathcache_open_fd(s.cache, "d1/t", O_RDONLY, NULL);
	CHECK(fd >= 0 && read(fd, text, 8) == 5 && memcmp(text, "newer", 5) == 0);
	close(fd);
	scene_end(&s);
}

/* A7, unannounced: a descriptor is of the file that has the name now. */
static void open_after_an_unannounced_replacement_is_no_stale_error(void)
{
	struct scene s;
	struct stat st;
	int fd;

	scene_begin(&s);
	ts_file(&s.tree, "t", 0644, "old");
	ts_file(&s.tree, "u", 0644, "newer");
	CHECK_EQ(ts_stat_err(s.cache, "t"), 0);
	ts_rename(&s.tree, "u", "t");
	fd = pathcache_open_fd(s.cache, "t", O_RDONLY, NULL);
	CHECK(fd >= 0);
	if (fd >= 0) {
		CHECK(fstat(fd, &st) == 0 && st.st_ino == ts_ino(&s.tree, "t"));
		close(fd);
	}
	scene_end(&s);
}

/* A9 */
static void an_id_that_follows_the_name_is_a_new_object(void)
{
	struct app app;
	struct ts_object *object;
	struct pathcache_entry *old, *new;

	app_begin(&app);
	object = ts_ns_add(&app.ns, "f", S_IFREG | 0644, NULL);
	old = ts_get(app.cache, "f");
	ts_ns_remove(&app.ns, "f");
	object = ts_ns_add(&app.ns, "g", S_IFREG | 0600, NULL);
	CHECK_EQ(pathcache_invalidate_name(app.cache, NULL, "f"), 0);
	CHECK_EQ(pathcache_invalidate_name(app.cache, NULL, "g"), 0);
	CHECK_EQ(ts_stat_err(app.cache, "f"), -ENOENT);
	new = ts_get(app.cache, "g");
	CHECK_EQ(attr_of(app.cache, "g").ino, object->id);
	CHECK(pathcache_entry_id(old) != pathcache_entry_id(new));
	pathcache_put(app.cache, old);
	pathcache_put(app.cache, new);
	app_end(&app);
}

/* A11 */
static void a_name_may_become_a_directory(void)
{
	struct scene s;
	struct pathcache_entry *dir;

	scene_begin(&s);
	ts_dir(&s.tree, "d", 0755);
	ts_file(&s.tree, "d/x.js", 0644, "");
	CHECK_EQ(ts_stat_err(s.cache, "d/x/index.js"), -ENOENT);
	CHECK_EQ(ts_stat_err(s.cache, "d/x.js"), 0);
	CHECK_EQ(ts_stat_err(s.cache, "d/x.js/index.js"), -ENOTDIR);
	ts_unlink(&s.tree, "d/x.js");
	ts_dir(&s.tree, "d/x", 0755);
	ts_file(&s.tree, "d/x/index.js", 0644, "");
	ts_dir(&s.tree, "d/x.js", 0755);
	ts_file(&s.tree, "d/x.js/index.js", 0644, "");
	dir = ts_get(s.cache, "d");
	CHECK_EQ(pathcache_invalidate_subtree(s.cache, dir), 0);
	pathcache_put(s.cache, dir);
	for (int round = 0; round < 2; round++) {
		CHECK_EQ(ts_stat_err(s.cache, "d/x/index.js"), 0);
		CHECK_EQ(ts_stat_err(s.cache, "d/x.js/index.js"), 0);
		AGREE(&s.view, .path = "d/x.js");
		AGREE(&s.view, .path = "d");
	}
	scene_end(&s);
}

/* A11, announced by the name alone. */
static void a_name_may_change_its_type_again_and_again(void)
{
	struct scene s;

	scene_begin(&s);
	ts_file(&s.tree, "to", 0644, "");
	for (int round = 0; round < 12; round++) {
		switch (round % 4) {
		case 0:
			ts_file(&s.tree, "n", 0644, "");
			break;
		case 1:
			ts_unlink(&s.tree, "n");
			ts_dir(&s.tree, "n", 0755);
			ts_file(&s.tree, "n/y", 0644, "");
			break;
		case 2:
			ts_unlink(&s.tree, "n/y");
			ts_rmdir(&s.tree, "n");
			ts_symlink(&s.tree, "n", "to");
			break;
		case 3:
			ts_unlink(&s.tree, "n");
			break;
		}
		changed(s.cache, round % 2 ? "n" : "/n");
		for (int hot = 0; hot < 2; hot++) {
			AGREE(&s.view, .path = "n");
			AGREE(&s.view, .path = "n/y");
			AGREE(&s.view, .path = "n/");
			AGREE(&s.view, .op = TS_LSTAT, .path = "n");
			AGREE(&s.view, .op = TS_READLINK, .path = "n");
		}
	}
	scene_end(&s);
}

static const struct ts_case cases[] = {
	TS_CASE(both_files_come_from_the_release_the_link_names_now),
	TS_CASE(an_answer_depends_on_every_link_walked),
	TS_CASE(children_follow_a_renamed_parent),
	TS_CASE(a_rename_beside_a_listing_is_no_error),
	TS_CASE(rename_over_an_open_name_gives_the_new_object),
	TS_CASE(open_after_an_unannounced_replacement_is_no_stale_error),
	TS_CASE(an_id_that_follows_the_name_is_a_new_object),
	TS_CASE(a_name_may_become_a_directory),
	TS_CASE(a_name_may_change_its_type_again_and_again),
};

int main(int argc, char **argv)
{
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
