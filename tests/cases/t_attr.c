/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Attributes that a node has no room for are asked each time; those of a held
 * file are as old as its place allows.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "scene.h"

#define YEAR_9999 INT64_C(253402300799)
#define YEAR_2446 INT64_C(15032385536) /* the first second that does not fit */

/* ---- the real tree ----------------------------------------------------- */

/* Return: whether the file system keeps such a time. */
static bool set_time(const struct ts_tree *tree, const char *path, int64_t sec)
{
	struct timespec times[2] = {{.tv_sec = sec, .tv_nsec = 999999999}, {.tv_sec = sec}};
	struct stat st;

	REQUIRE(utimensat(tree->fd, path, times, AT_SYMLINK_NOFOLLOW) == 0);
	REQUIRE(fstatat(tree->fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0);
	return st.st_mtim.tv_sec == sec && st.st_atim.tv_sec == sec;
}

static void ask_all(const struct scene *s)
{
	static const char *const paths[] = {"f", "d", "d/x", "l", "l/x", "d/up/f"};

	for (int hot = 0; hot < 3; hot++) {
		for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
			AGREE(&s->view, .op = TS_STAT, .path = paths[i]);
			AGREE(&s->view, .op = TS_LSTAT, .path = paths[i]);
			AGREE(&s->view, .op = TS_ACCESS, .amode = R_OK, .path = paths[i]);
			if (ts_can_switch())
				AGREE(&s->view, .op = TS_STAT, .path = paths[i],
				      .cred = &ts_nobody);
		}
	}
}

static void a_time_of_any_year_is_the_kernels(void)
{
	static const int64_t times[] = {YEAR_9999, YEAR_2446, YEAR_2446 - 1, INT64_C(-2147483648),
	                                INT64_C(-2147483649)};
	static const char *const names[] = {"f", "d", "l"};
	struct pathcache_entry *held;
	struct pathcache_attr attr;
	struct scene s;
	unsigned kept = 0;

	scene_begin(&s);
	ts_file(&s.tree, "f", 0640, "text");
	ts_dir(&s.tree, "d", 0755);
	ts_file(&s.tree, "d/x", 0644, "");
	ts_symlink(&s.tree, "d/up", "..");
	ts_symlink(&s.tree, "l", "d");
	held = ts_get(s.cache, "f");
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
			kept += set_time(&s.tree, names[k], times[i]);
			changed(s.cache, names[k]);
		}
		ask_all(&s);
		CHECK_EQ(pathcache_entry_stat(s.cache, held, &attr), 0);
		CHECK_EQ(attr.mtime_sec, attr_of(s.cache, "f").mtime_sec);
		if (ts_can_switch()) {
			ts_chmod(&s.tree, "d", i % 2 ? 0755 : 0700);
			changed(s.cache, "d");
			ask_all(&s);
		}
	}
	pathcache_put(s.cache, held);
	scene_end(&s);
	if (!kept)
		ts_skip("this file system keeps no such time");
}

static void a_device_has_its_number(void)
{
	struct ts_answer answer;
	struct scene s;

	scene_begin(&s);
	if (mknodat(s.tree.fd, "c", S_IFCHR | 0600, makedev(1, 3)) ||
	    mknodat(s.tree.fd, "b", S_IFBLK | 0600, makedev(7, 300))) {
		scene_end(&s);
		ts_skip("no devices can be made here");
		return;
	}
	for (int hot = 0; hot < 3; hot++) {
		AGREE(&s.view, .path = "c");
		AGREE(&s.view, .path = "b");
	}
	ts_ask_cache(&s.view, &(struct ts_query){.path = "b"}, &answer);
	CHECK_EQ(answer.attr.rdev, makedev(7, 300));
	scene_end(&s);
}

/* ---- an own namespace -------------------------------------------------- */

static void set_mtime(struct app *app, const char *path, uint64_t mtime)
{
	struct ts_object *object = ts_ns_find(&app->ns, path);

	pthread_mutex_lock(&app->ns.lock);
	object->mtime = mtime;
	pthread_mutex_unlock(&app->ns.lock);
}

static uint64_t asked(struct app *app)
{
	return ts_ns_calls(&app->ns, TS_GETATTR) + ts_ns_calls(&app->ns, TS_LOOKUP);
}

/* Not announced, and seen all the same. */
static void what_does_not_fit_is_asked_each_time(void)
{
	struct pathcache_entry *held;
	struct pathcache_attr attr;
	struct app app;
	uint64_t calls;

	app_begin(&app);
	ts_ns_add(&app.ns, "/f", S_IFREG | 0644, NULL);
	set_mtime(&app, "/f", YEAR_9999);
	held = ts_get(app.cache, "/f");
	for (unsigned i = 0; i < 3; i++) {
		set_mtime(&app, "/f", YEAR_9999 + i);
		calls = asked(&app);
		CHECK_EQ(attr_of(app.cache, "/f").mtime_sec, YEAR_9999 + i);
		CHECK_EQ(pathcache_entry_stat(app.cache, held, &attr), 0);
		CHECK_EQ(attr.mtime_sec, YEAR_9999 + i);
		CHECK_EQ(asked(&app), calls + 2);
		CHECK_EQ(ts_stat_flags(app.cache, "/f", PATHCACHE_CACHED), -EAGAIN);
	}
	/* What fits again is kept again. */
	set_mtime(&app, "/f", 5);
	CHECK_EQ(attr_of(app.cache, "/f").mtime_sec, 5);
	calls = asked(&app);
	CHECK_EQ(attr_of(app.cache, "/f").mtime_sec, 5);
	CHECK_EQ(pathcache_entry_stat(app.cache, held, &attr), 0);
	CHECK_EQ(asked(&app), calls);
	pathcache_put(app.cache, held);
	app_end(&app);
}

static int nobody(struct app *app, const char *path)
{
	return ts_stat_as(app->cache, path, &ts_nobody);
}

/* What is searched by fits always, so what is below is a hit. */
static void a_directory_is_searched_by_what_fits(void)
{
	static const uint64_t times[] = {YEAR_9999, UINT64_C(1) << 40};
	struct app app;
	uint64_t calls;

	app_begin(&app);
	ts_ns_add(&app.ns, "/d", S_IFDIR | 0755, NULL);
	ts_ns_add(&app.ns, "/d/x", S_IFREG | 0644, NULL);
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		set_mtime(&app, "/d", times[i]);
		ts_ns_set(&app.ns, "/d", 0755, 0);
		changed(app.cache, "/d");
		CHECK_EQ(nobody(&app, "/d/x"), 0);
		calls = asked(&app);
		CHECK_EQ(nobody(&app, "/d/x"), 0);
		CHECK_EQ(asked(&app), calls);
		ts_ns_set(&app.ns, "/d", 0700, 0);
		changed(app.cache, "/d");
		CHECK_EQ(nobody(&app, "/d/x"), -EACCES);
		CHECK_EQ(attr_of(app.cache, "/d").mode, S_IFDIR | 0700);
		calls = asked(&app);
		CHECK_EQ(nobody(&app, "/d/x"), -EACCES);
		CHECK_EQ(asked(&app), calls);
	}
	app_end(&app);
}

/* Bits of a mode that mean nothing are given back, and judged by are those that do. */
static void a_mode_that_does_not_fit_is_told_as_it_is(void)
{
	const uint32_t odd = 1u << 20;
	struct ts_object *d, *x;
	struct app app;
	uint64_t calls;

	app_begin(&app);
	d = ts_ns_add(&app.ns, "/d", S_IFDIR | 0711, NULL);
	x = ts_ns_add(&app.ns, "/d/x", S_IFREG | 0644, NULL);
	d->mode |= odd;
	x->mode |= odd;
	for (int hot = 0; hot < 3; hot++) {
		CHECK_EQ(attr_of(app.cache, "/d").mode, S_IFDIR | 0711 | odd);
		CHECK_EQ(attr_of(app.cache, "/d/x").mode, S_IFREG | 0644 | odd);
		CHECK_EQ(nobody(&app, "/d/x"), 0);
	}
	x->mode &= ~odd;
	CHECK_EQ(attr_of(app.cache, "/d/x").mode, S_IFREG | 0644);
	/* The directory, asked each time, has not changed: its binding stays. */
	calls = asked(&app);
	CHECK_EQ(attr_of(app.cache, "/d").mode, S_IFDIR | 0711 | odd);
	CHECK_EQ(nobody(&app, "/d/x"), 0);
	CHECK_EQ(asked(&app), calls + 1);
	app_end(&app);
}

/* ---- held files -------------------------------------------------------- */

struct held {
	struct app app;
	struct pathcache_entry *file;
	uint64_t size;
};

/* A held file two directories below /a, beside another. */
static void held_begin(struct held *h)
{
	app_begin(&h->app);
	ts_ns_add(&h->app.ns, "/a", S_IFDIR | 0755, NULL);
	ts_ns_add(&h->app.ns, "/a/b", S_IFDIR | 0755, NULL);
	ts_ns_add(&h->app.ns, "/a/b/f", S_IFREG | 0644, NULL);
	ts_ns_add(&h->app.ns, "/a/b/g", S_IFREG | 0644, NULL);
	ts_ns_add(&h->app.ns, "/other", S_IFDIR | 0755, NULL);
	h->size = 0;
	h->file = ts_get(h->app.cache, "/a/b/f");
	CHECK_EQ(attr_of(h->app.cache, "/a/b/g").size, 0);
}

static void held_end(struct held *h)
{
	pathcache_put(h->app.cache, h->file);
	app_end(&h->app);
}

/* It changes and nobody says so. */
static void grow(struct held *h)
{
	ts_ns_set(&h->app.ns, "/a/b/f", 0644, ++h->size);
}

static uint64_t held_size(struct held *h)
{
	struct pathcache_attr attr = {0};

	CHECK_EQ(pathcache_entry_stat(h->app.cache, h->file, &attr), 0);
	return attr.size;
}

static void forget_below(struct held *h, const char *path)
{
	struct pathcache_entry *dir = ts_get(h->app.cache, path);

	CHECK_EQ(pathcache_invalidate_subtree(h->app.cache, dir), 0);
	pathcache_put(h->app.cache, dir);
}

/* want: NULL where none may be told. */
static void expect_path(struct held *h, const char *want)
{
	char buf[64];
	ssize_t n = pathcache_entry_path(h->app.cache, h->file, buf, sizeof(buf));

	CHECK_EQ(n, want ? (ssize_t)strlen(want) : -ENOENT);
	CHECK(n < 0 || !want || memcmp(buf, want, (size_t)n) == 0);
}

static void a_held_file_is_as_old_as_its_subtree(void)
{
	static const char *const above[] = {"/", "/a", "/a/b"};
	struct held h;

	for (size_t i = 0; i < sizeof(above) / sizeof(above[0]); i++) {
		held_begin(&h);
		grow(&h);
		CHECK_EQ(held_size(&h), 0);
		forget_below(&h, above[i]);
		CHECK_EQ(held_size(&h), h.size);
		expect_path(&h, NULL);
		CHECK_EQ(attr_of(h.app.cache, "/a/b/f").size, h.size);
		expect_path(&h, "/a/b/f");
		/* Learned again, and not believed for ever. */
		grow(&h);
		CHECK_EQ(held_size(&h), h.size - 1);
		forget_below(&h, above[i]);
		CHECK_EQ(held_size(&h), h.size);
		held_end(&h);
	}
}

/* Another file, or the directory itself, has brought the directory up to date before. */
static void a_held_file_is_stale_whoever_asked_first(void)
{
	struct pathcache_entry *g, *b;
	struct pathcache_attr attr;
	struct held h;

	held_begin(&h);
	g = ts_get(h.app.cache, "/a/b/g");
	b = ts_get(h.app.cache, "/a/b");
	for (int round = 0; round < 3; round++) {
		grow(&h);
		forget_below(&h, "/a");
		CHECK_EQ(pathcache_entry_stat(h.app.cache, round == 1 ? b : g, &attr), 0);
		forget_below(&h, "/other");
		CHECK_EQ(pathcache_entry_stat(h.app.cache, round == 2 ? b : g, &attr), 0);
		CHECK_EQ(held_size(&h), h.size);
	}
	pathcache_put(h.app.cache, g);
	pathcache_put(h.app.cache, b);
	held_end(&h);
}

/* Its dentry is swept, its directory dies: no place tells any more. */
static void a_held_file_without_a_place_is_stale(void)
{
	struct held h;

	held_begin(&h);
	grow(&h);
	forget_below(&h, "/a");
	while (pathcache_maintain(h.app.cache, 1000) == 1)
		;
	expect_path(&h, NULL);
	CHECK_EQ(held_size(&h), h.size);
	grow(&h);
	forget_below(&h, "/other");
	CHECK_EQ(held_size(&h), h.size);
	held_end(&h);
}

/* It is moved out of the subtree that is forgotten, or into it. */
static void a_held_file_that_moved_is_as_old_as_where_it_is(void)
{
	struct held h;

	held_begin(&h);
	ts_ns_rename(&h.app.ns, "/a/b/f", "/other/f");
	changed(h.app.cache, "/a/b/f");
	changed(h.app.cache, "/other/f");
	CHECK_EQ(attr_of(h.app.cache, "/other/f").size, 0);
	forget_below(&h, "/other");
	ts_ns_set(&h.app.ns, "/other/f", 0644, 7);
	CHECK_EQ(attr_of(h.app.cache, "/a/b/g").size, 0);
	CHECK_EQ(held_size(&h), 7);
	ts_ns_rename(&h.app.ns, "/other/f", "/a/b/f");
	changed(h.app.cache, "/other/f");
	changed(h.app.cache, "/a/b/f");
	CHECK_EQ(attr_of(h.app.cache, "/a/b/f").size, 7);
	ts_ns_set(&h.app.ns, "/a/b/f", 0644, 8);
	forget_below(&h, "/a");
	CHECK_EQ(held_size(&h), 8);
	expect_path(&h, NULL);
	held_end(&h);
}

/* What is forgotten elsewhere costs no question. */
static void a_held_file_outlives_other_subtrees(void)
{
	struct held h;
	uint64_t calls;

	held_begin(&h);
	for (int round = 0; round < 3; round++) {
		forget_below(&h, "/other");
		calls = asked(&h.app);
		CHECK_EQ(held_size(&h), 0);
		CHECK_EQ(held_size(&h), 0);
		CHECK_EQ(asked(&h.app), calls);
	}
	held_end(&h);
}

/* A directory's identity is used again for a file, while the directory is held. */
static void a_held_directory_that_became_a_file_takes_no_change(void)
{
	struct pathcache_entry *dir;
	struct ts_object *object;
	struct app app;

	app_begin(&app);
	object = ts_ns_add(&app.ns, "/d", S_IFDIR | 0755, NULL);
	dir = ts_get(app.cache, "/d");
	object->mode = S_IFREG | 0644;
	changed(app.cache, "/d");
	CHECK_EQ(attr_of(app.cache, "/d").mode, S_IFREG | 0644);
	CHECK_EQ(pathcache_invalidate_name(app.cache, dir, "x"), 0);
	CHECK_EQ(pathcache_invalidate_subtree(app.cache, dir), 0);
	CHECK_EQ(attr_of(app.cache, "/d").mode, S_IFREG | 0644);
	pathcache_put(app.cache, dir);
	app_end(&app);
}

static const struct ts_case cases[] = {
	TS_CASE(a_time_of_any_year_is_the_kernels),
	TS_CASE(a_device_has_its_number),
	TS_CASE(what_does_not_fit_is_asked_each_time),
	TS_CASE(a_directory_is_searched_by_what_fits),
	TS_CASE(a_mode_that_does_not_fit_is_told_as_it_is),
	TS_CASE(a_held_file_is_as_old_as_its_subtree),
	TS_CASE(a_held_file_is_stale_whoever_asked_first),
	TS_CASE(a_held_file_without_a_place_is_stale),
	TS_CASE(a_held_file_that_moved_is_as_old_as_where_it_is),
	TS_CASE(a_held_file_outlives_other_subtrees),
	TS_CASE(a_held_directory_that_became_a_file_takes_no_change),
};

int main(int argc, char **argv)
{
	ts_isolate();
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
