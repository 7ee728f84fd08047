/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Faults of others: attributes and identity. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scene.h"

/* C1 */
static void the_size_of_a_descriptor_is_its_own(void)
{
	struct scene s;
	struct stat st;
	int fd;

	scene_begin(&s);
	ts_file(&s.tree, "f", 0644, "text");
	CHECK_EQ(attr_of(s.cache, "f").size, 4);
	ts_append(&s.tree, "f", "more");
	fd = pathcache_open_fd(s.cache, "f", O_RDONLY, NULL);
	REQUIRE(fd >= 0 && fstat(fd, &st) == 0);
	CHECK_EQ(st.st_size, 8);
	CHECK_EQ(st.st_ino, attr_of(s.cache, "f").ino);
	close(fd);
	scene_end(&s);
}

/* C2 */
static void a_refresh_brings_every_field(void)
{
	struct timespec times[2] = {{.tv_sec = 5, .tv_nsec = 6}, {.tv_sec = 7, .tv_nsec = 8}};
	struct scene s;
	struct pathcache_entry *held;

	scene_begin(&s);
	ts_file(&s.tree, "f", 0644, "text");
	held = ts_get(s.cache, "f");
	for (int way = 0; way < 3; way++) {
		AGREE(&s.view, .path = "f");
		ts_append(&s.tree, "f", "more");
		ts_chmod(&s.tree, "f", way ? 0640 : 0751);
		if (ts_can_switch())
			ts_chown(&s.tree, "f", 3 + (uid_t)way, 4);
		times[1].tv_nsec++;
		REQUIRE(utimensat(s.tree.fd, "f", times, 0) == 0);
		if (way == 0)
			CHECK_EQ(pathcache_invalidate_entry(s.cache, held), 0);
		else if (way == 1)
			changed(s.cache, "f");
		else
			CHECK_EQ(pathcache_invalidate_subtree(s.cache, NULL), 0);
		for (int hot = 0; hot < 2; hot++) {
			struct pathcache_attr attr = attr_of(s.cache, "f");

			AGREE(&s.view, .path = "f");
			CHECK_EQ(attr.atime_sec, 5);
			CHECK_EQ(attr.atime_nsec, 6);
			CHECK_EQ(pathcache_entry_stat(s.cache, held, &attr), 0);
			CHECK_EQ(attr.mtime_nsec, times[1].tv_nsec);
		}
	}
	pathcache_put(s.cache, held);
	scene_end(&s);
}

/* C2: once its name is forgotten a held object is still told of changes by that name. */
static void a_held_object_hears_of_every_change(void)
{
	struct pathcache_entry *held;
	struct pathcache_attr attr;
	struct scene s;

	scene_begin(&s);
	ts_dir(&s.tree, "d", 0755);
	ts_dir(&s.tree, "d/e", 0755);
	held = ts_get(s.cache, "d/e");
	for (int round = 0; round < 8; round++) {
		mode_t mode = round % 2 ? 0755 : 0711;

		if (round == 4)
			changed(s.cache, "d");
		if (round == 6)
			CHECK_EQ(pathcache_invalidate_all(s.cache), 0);
		ts_chmod(&s.tree, "d/e", mode);
		changed(s.cache, "d/e");
		for (int hot = 0; hot < 2; hot++) {
			CHECK_EQ(pathcache_entry_stat(s.cache, held, &attr), 0);
			CHECK_EQ(attr.mode, S_IFDIR | mode);
		}
	}
	pathcache_put(s.cache, held);
	scene_end(&s);
}

/* C3 */
static void stat_and_lstat_are_two_questions(void)
{
	struct scene s;

	scene_begin(&s);
	ts_file(&s.tree, "f", 0644, "text");
	ts_symlink(&s.tree, "l", "f");
	for (int round = 0; round < 3; round++) {
		AGREE(&s.view, .op = round ? TS_STAT : TS_LSTAT, .path = "l");
		AGREE(&s.view, .op = round ? TS_LSTAT : TS_STAT, .path = "l");
		CHECK(attr_of(s.cache, "l").ino != ts_ino(&s.tree, "l"));
	}
	scene_end(&s);
}

/* C6 */
static void two_names_of_a_file_agree_on_its_links(void)
{
	struct scene s;
	struct pathcache_entry *a, *b;

	scene_begin(&s);
	ts_file(&s.tree, "a", 0644, "");
	CHECK_EQ(attr_of(s.cache, "a").nlink, 1);
	ts_hardlink(&s.tree, "a", "b");
	changed(s.cache, "b");
	changed(s.cache, "a");
	CHECK_EQ(attr_of(s.cache, "a").nlink, 2);
	CHECK_EQ(attr_of(s.cache, "b").nlink, 2);
	a = ts_get(s.cache, "a");
	b = ts_get(s.cache, "b");
	CHECK_EQ(pathcache_entry_id(a), pathcache_entry_id(b));
	ts_unlink(&s.tree, "a");
	changed(s.cache, "a");
	CHECK_EQ(attr_of(s.cache, "b").nlink, 1);
	AGREE(&s.view, .path = "b");
	pathcache_put(s.cache, a);
	pathcache_put(s.cache, b);
	scene_end(&s);
}

/* C7 */
static void a_change_through_one_name_shows_through_the_other(void)
{
	struct scene s;

	scene_begin(&s);
	ts_file(&s.tree, "a", 0644, "");
	ts_dir(&s.tree, "d", 0755);
	ts_hardlink(&s.tree, "a", "d/b");
	for (int round = 0; round < 4; round++) {
		AGREE(&s.view, .path = "a");
		AGREE(&s.view, .path = "d/b");
		ts_append(&s.tree, round % 2 ? "a" : "d/b", "more");
		if (round < 2)
			changed(s.cache, round % 2 ? "a" : "d/b");
		else
			changed_object(s.cache, round % 2 ? "a" : "d/b");
		AGREE(&s.view, .path = round % 2 ? "d/b" : "a");
		AGREE(&s.view, .path = round % 2 ? "a" : "d/b");
	}
	scene_end(&s);
}

/* C10, C11 */
static void a_reused_inode_number_is_a_new_object(void)
{
	unsigned n = ts_scale(200), reused = 0;
	struct scene s;

	scene_begin(&s);
	for (unsigned i = 0; i < n; i++) {
		struct pathcache_entry *old, *new;
		struct pathcache_attr before, after;
		int rc;

		ts_file(&s.tree, "f", i % 2 ? 0755 : 0644, "old");
		changed(s.cache, "f");
		before = attr_of(s.cache, "f");
		old = ts_get(s.cache, "f");
		ts_unlink(&s.tree, "f");
		ts_file(&s.tree, "f", i % 2 ? 0644 : 0755, "newer");
		changed(s.cache, "f");
		after = attr_of(s.cache, "f");
		AGREE(&s.view, .path = "f");
		new = ts_get(s.cache, "f");
		reused += before.ino == after.ino;
		/* Without a birth time or a tick between them nothing tells them apart. */
		if (before.mask & PATHCACHE_ATTR_BTIME && after.mask & PATHCACHE_ATTR_BTIME &&
		    (before.btime_sec != after.btime_sec || before.btime_nsec != after.btime_nsec ||
		     before.ino != after.ino)) {
			CHECK(pathcache_entry_id(old) != pathcache_entry_id(new));
			rc = pathcache_entry_stat(s.cache, old, &before);
			CHECK(rc == -ESTALE || (rc == 0 && before.size == 3));
		}
		pathcache_put(s.cache, old);
		pathcache_put(s.cache, new);
		ts_unlink(&s.tree, "f");
	}
	printf("      %u of %u inode numbers were reused at once\n", reused, n);
	scene_end(&s);
}

/* C10: the backend says so itself. */
static void a_generation_makes_a_reused_id_a_new_object(void)
{
	struct pathcache_entry *old, *new;
	struct ts_object *first, *second;
	struct app app;

	app_begin(&app);
	first = ts_ns_add(&app.ns, "f", S_IFREG | 0755, NULL);
	old = ts_get(app.cache, "f");
	ts_ns_remove(&app.ns, "f");
	second = ts_ns_add(&app.ns, "f", S_IFREG | 0644, NULL);
	second->id = first->id;
	second->generation = first->generation + 1;
	CHECK_EQ(pathcache_invalidate_name(app.cache, NULL, "f"), 0);
	new = ts_get(app.cache, "f");
	CHECK(pathcache_entry_id(old) != pathcache_entry_id(new));
	CHECK_EQ(attr_of(app.cache, "f").mode, S_IFREG | 0644);
	pathcache_put(app.cache, old);
	pathcache_put(app.cache, new);
	app_end(&app);
}

/* C13: within one tick of the file system's clock. */
static void an_announced_change_in_the_same_tick_is_seen(void)
{
	unsigned n = ts_scale(200);
	struct scene s;

	scene_begin(&s);
	ts_file(&s.tree, "f", 0644, "0000");
	for (unsigned i = 0; i < n; i++) {
		int fd = openat(s.tree.fd, "f", O_WRONLY | O_CLOEXEC);

		REQUIRE(fd >= 0 && pwrite(fd, i % 2 ? "aaaa" : "bbbb", 4, 0) == 4);
		changed_object(s.cache, "f");
		AGREE(&s.view, .path = "f");
		REQUIRE(ftruncate(fd, (off_t)(i % 7)) == 0);
		changed_object(s.cache, "f");
		AGREE(&s.view, .path = "f");
		close(fd);
	}
	scene_end(&s);
}

/* C16: the cache keeps times and does not order by them. */
static void times_far_off_are_kept_exactly(void)
{
	static const struct timespec times[] = {{.tv_sec = -1000000000, .tv_nsec = 1},
	                                        {.tv_sec = 0, .tv_nsec = 0},
	                                        {.tv_sec = 4102444800, .tv_nsec = 999999999},
	                                        {.tv_sec = 1, .tv_nsec = 1}};
	struct scene s;

	scene_begin(&s);
	ts_file(&s.tree, "f", 0644, "");
	for (size_t i = 0; i < 4; i++) {
		struct timespec both[2] = {times[i], times[i]};

		REQUIRE(utimensat(s.tree.fd, "f", both, 0) == 0);
		changed_object(s.cache, "f");
		for (int hot = 0; hot < 2; hot++) {
			AGREE(&s.view, .path = "f");
			CHECK_EQ(attr_of(s.cache, "f").atime_sec, times[i].tv_sec);
		}
	}
	scene_end(&s);
}

/* C17 */
static void a_refresh_overtaken_by_a_change_is_not_kept(void)
{
	struct ts_gate *gate;
	struct asker asker = {0};
	struct app app;

	app_begin(&app);
	ts_ns_add(&app.ns, "f", S_IFREG | 0644, NULL);
	CHECK_EQ(ts_stat_err(app.cache, "f"), 0);
	changed_object(app.cache, "f");
	gate = ts_gate_close(&app.ns, TS_GATE_AFTER, TS_GETATTR, NULL);
	asker_start(&asker, app.cache, "f");
	if (!ts_gate_wait(&app.ns, gate, 1)) {
		ts_fail(__FILE__, __LINE__, "the attributes are not asked for again");
	} else {
		ts_ns_set(&app.ns, "f", 0600, 77);
		changed(app.cache, "f");
	}
	ts_gate_open(&app.ns, gate);
	CHECK_EQ(asker_finish(&asker), 0);
	for (int hot = 0; hot < 2; hot++) {
		CHECK_EQ(attr_of(app.cache, "f").size, 77);
		CHECK_EQ(attr_of(app.cache, "f").mode, S_IFREG | 0600);
	}
	app_end(&app);
}

/* C18 */
static void a_field_the_backend_left_out_is_unknown(void)
{
	struct ts_object *object;
	struct pathcache_attr attr;
	struct app app;

	app_begin(&app);
	object = ts_ns_add(&app.ns, "f", S_IFREG | 0644, NULL);
	object->size = 5;
	object->mask = PATHCACHE_ATTR_MODE | PATHCACHE_ATTR_UID | PATHCACHE_ATTR_GID;
	for (int hot = 0; hot < 2; hot++) {
		attr = attr_of(app.cache, "f");
		CHECK_EQ(attr.mask, object->mask);
		CHECK_EQ(attr.size, 0);
		CHECK_EQ(attr.mode, S_IFREG | 0644);
	}
	object->mask = PATHCACHE_ATTR_BASIC;
	changed_object(app.cache, "f");
	attr = attr_of(app.cache, "f");
	CHECK_EQ(attr.mask, PATHCACHE_ATTR_BASIC);
	CHECK_EQ(attr.size, 5);
	app_end(&app);
}

/* C20 */
static void a_copy_up_keeps_the_name_right(void)
{
	char options[3 * PATH_MAX + 64], mnt[PATH_MAX];
	struct ts_view view = {.label = "overlay"};
	struct ts_tree tree, over;

	ts_tree_make(&tree);
	ts_dir(&tree, "low", 0755);
	ts_dir(&tree, "up", 0755);
	ts_dir(&tree, "work", 0755);
	ts_dir(&tree, "mnt", 0755);
	ts_file(&tree, "low/a", 0644, "text");
	snprintf(mnt, sizeof(mnt), "%.4000s/mnt", tree.path);
	snprintf(options, sizeof(options), "lowerdir=%s/low,upperdir=%s/up,workdir=%s/work",
	         tree.path, tree.path, tree.path);
	if (!ts_isolated() || mount("overlay", mnt, "overlay", 0, options) != 0) {
		ts_skip("cannot mount an overlay");
		ts_tree_remove(&tree);
		return;
	}
	snprintf(over.path, sizeof(over.path), "%s", mnt);
	over.fd = open(mnt, O_PATH | O_CLOEXEC);
	ts_view_open(&view, mnt, NULL);
	AGREE(&view, .path = "a");
	ts_hardlink(&over, "a", "b");
	changed(view.cache, "a");
	changed(view.cache, "b");
	for (int hot = 0; hot < 2; hot++) {
		AGREE(&view, .path = "a");
		AGREE(&view, .path = "b");
	}
	ts_append(&over, "a", "more");
	changed_object(view.cache, "b");
	AGREE(&view, .path = "a");
	ts_view_close(&view);
	close(over.fd);
	umount2(mnt, MNT_DETACH);
	ts_tree_remove(&tree);
}

/* H6: without a device the library gives one, and numbers that another uses mean nothing. */
static void objects_without_a_device_are_told_apart(void)
{
	struct pathcache_entry *held[2][2];
	struct app app[2];

	for (unsigned i = 0; i < 2; i++) {
		app_begin(&app[i]);
		for (unsigned k = 0; k < 2; k++) {
			struct ts_object *file =
				ts_ns_add(&app[i].ns, k ? "g" : "f", S_IFREG | 0644, NULL);

			file->size = 10 + 10 * k + i;
			file->dev = 0;
		}
		held[i][0] = ts_get(app[i].cache, "f");
		held[i][1] = ts_get(app[i].cache, "g");
	}
	for (unsigned i = 0; i < 2; i++) {
		CHECK(attr_of(app[i].cache, "f").dev != 0);
		CHECK(attr_of(app[i].cache, "f").dev != attr_of(app[1 - i].cache, "f").dev);
		CHECK_EQ(attr_of(app[i].cache, "f").dev, attr_of(app[i].cache, "g").dev);
		CHECK_EQ(attr_of(app[i].cache, "f").ino, attr_of(app[1 - i].cache, "f").ino);
		CHECK_EQ(attr_of(app[i].cache, "f").size, 10 + i);
		CHECK_EQ(attr_of(app[i].cache, "g").size, 20 + i);
		CHECK(pathcache_entry_id(held[i][0]) != 0);
		CHECK(pathcache_entry_id(held[i][0]) != pathcache_entry_id(held[i][1]));
		for (unsigned k = 0; k < 2; k++)
			pathcache_put(app[i].cache, held[i][k]);
	}
	app_end(&app[0]);
	app_end(&app[1]);
}

static const struct ts_case cases[] = {
	TS_CASE(the_size_of_a_descriptor_is_its_own),
	TS_CASE(a_refresh_brings_every_field),
	TS_CASE(a_held_object_hears_of_every_change),
	TS_CASE(stat_and_lstat_are_two_questions),
	TS_CASE(two_names_of_a_file_agree_on_its_links),
	TS_CASE(a_change_through_one_name_shows_through_the_other),
	TS_CASE(a_reused_inode_number_is_a_new_object),
	TS_CASE(a_generation_makes_a_reused_id_a_new_object),
	TS_CASE(an_announced_change_in_the_same_tick_is_seen),
	TS_CASE(times_far_off_are_kept_exactly),
	TS_CASE(a_refresh_overtaken_by_a_change_is_not_kept),
	TS_CASE(a_field_the_backend_left_out_is_unknown),
	TS_CASE(a_copy_up_keeps_the_name_right),
	TS_CASE(objects_without_a_device_are_told_apart),
};

int main(int argc, char **argv)
{
	ts_isolate();
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
