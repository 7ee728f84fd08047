/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is below a directory stays when something about the directory itself has
 * changed: asked for again is the directory alone. Lookups of the namespace are
 * counted, and the handles that are given back.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "scene.h"

#define BELOW 20u /* files in d/e, of five bytes and more */

static void plant(struct app *app)
{
	char path[32];

	ts_ns_add(&app->ns, "d", S_IFDIR | 0755, NULL);
	ts_ns_add(&app->ns, "d/e", S_IFDIR | 0755, NULL);
	for (unsigned i = 0; i < BELOW; i++) {
		snprintf(path, sizeof(path), "d/e/f%u", i);
		ts_ns_add(&app->ns, path, S_IFREG | 0644, NULL)->size = 5 + i;
	}
}

/* Ask for all that is below dir, which stands for d/e. Return: lookups that took. */
static uint64_t ask_below(struct app *app, const char *dir)
{
	uint64_t before = ts_ns_calls(&app->ns, TS_LOOKUP);
	char path[64];

	for (unsigned i = 0; i < BELOW; i++) {
		snprintf(path, sizeof(path), "%s/f%u", dir, i);
		CHECK_EQ(attr_of(app->cache, path).size, 5 + i);
	}
	snprintf(path, sizeof(path), "%s/absent", dir);
	CHECK_EQ(ts_stat_err(app->cache, path), -ENOENT);
	return ts_ns_calls(&app->ns, TS_LOOKUP) - before;
}

static void begin(struct app *app)
{
	app_begin(app);
	plant(app);
	CHECK_EQ(ask_below(app, "d/e"), BELOW + 3);
	CHECK_EQ(ask_below(app, "d/e"), 0);
}

static void a_changed_directory_is_asked_for_and_not_what_is_below(void)
{
	struct app app;

	begin(&app);
	for (unsigned round = 0; round < 6; round++) {
		ts_ns_set(&app.ns, "d", round % 2 ? 0755 : 0711, 0);
		changed_object(app.cache, "d");
		CHECK_EQ(ask_below(&app, "d/e"), 1);
		CHECK_EQ(attr_of(app.cache, "d").mode, S_IFDIR | (round % 2 ? 0755 : 0711));
		changed(app.cache, "d/e");
		CHECK_EQ(ask_below(&app, "d/e"), 1);
	}
	app_end(&app);
}

/* Its attributes alone were forgotten, and the answer is another mode. */
static void a_mode_that_is_noticed_keeps_the_name_and_what_is_below(void)
{
	struct ts_cred nobody = ts_nobody;
	struct app app;

	begin(&app);
	for (unsigned round = 0; round < 6; round++) {
		ts_ns_set(&app.ns, "d/e", round % 2 ? 0755 : 0700, 0);
		/* A name in it: so its attributes are asked for. */
		changed(app.cache, "d/e/other");
		CHECK_EQ(attr_of(app.cache, "d/e").mode, S_IFDIR | (round % 2 ? 0755 : 0700));
		CHECK_EQ(ask_below(&app, "d/e"), 0);
		CHECK_EQ(ts_stat_as(app.cache, "d/e/f1", &nobody), round % 2 ? 0 : -EACCES);
	}
	app_end(&app);
}

static void a_directory_moved_is_found_with_what_is_below(void)
{
	struct app app;

	begin(&app);
	ts_ns_rename(&app.ns, "d/e", "g");
	changed(app.cache, "d/e");
	changed(app.cache, "g");
	CHECK_EQ(ask_below(&app, "g"), 1);
	CHECK_EQ(ts_stat_err(app.cache, "d/e"), -ENOENT);
	/* And with what it is in. */
	ts_ns_rename(&app.ns, "g", "d/e");
	changed(app.cache, "g");
	changed(app.cache, "d/e");
	CHECK_EQ(ask_below(&app, "d/e"), 1);
	ts_ns_rename(&app.ns, "d", "h");
	changed(app.cache, "h");
	changed(app.cache, "d");
	CHECK_EQ(ts_stat_err(app.cache, "d/e"), -ENOENT);
	CHECK_EQ(ask_below(&app, "h/e"), 1);
	app_end(&app);
}

/* What was forgotten as a whole does not come back with it, whichever was said first. */
static void a_subtree_forgotten_stays_forgotten(void)
{
	for (unsigned way = 0; way < 6; way++) {
		struct pathcache_entry *dir;
		struct app app;

		begin(&app);
		dir = ts_get(app.cache, way % 3 ? "d" : "d/e");
		if (way / 3)
			changed(app.cache, "d/e");
		else if (way % 3 == 1)
			changed(app.cache, "d");
		CHECK_EQ(pathcache_invalidate_subtree(app.cache, way % 3 == 2 ? NULL : dir), 0);
		if (way / 3 == 0)
			changed_object(app.cache, "d/e");
		ts_ns_remove(&app.ns, "d/e/f3");
		ts_ns_add(&app.ns, "d/e/f3", S_IFREG | 0644, NULL)->size = 8;
		ts_ns_find(&app.ns, "d/e/f3")->mode = S_IFREG | 0600;
		CHECK(ask_below(&app, "d/e") >= BELOW + 1);
		CHECK_EQ(attr_of(app.cache, "d/e/f3").mode, S_IFREG | 0600);
		pathcache_put(app.cache, dir);
		app_end(&app);
	}
}

/* That another directory's subtree was forgotten means nothing here. */
static void another_subtree_forgotten_takes_nothing_away(void)
{
	struct pathcache_entry *other;
	struct app app;

	app_begin(&app);
	plant(&app);
	ts_ns_add(&app.ns, "o", S_IFDIR | 0755, NULL);
	other = ts_get(app.cache, "o");
	ask_below(&app, "d/e");
	for (unsigned round = 0; round < 3; round++) {
		CHECK_EQ(pathcache_invalidate_subtree(app.cache, other), 0);
		changed_object(app.cache, "d/e");
		CHECK_EQ(ask_below(&app, "d/e"), 1);
	}
	pathcache_put(app.cache, other);
	app_end(&app);
}

/* What is learned of a held directory says nothing of the name it was found by. */
static void a_stale_name_is_not_renewed_by_a_new_mode(void)
{
	struct pathcache_entry *held;
	struct pathcache_attr attr;
	struct app app;

	begin(&app);
	held = ts_get(app.cache, "d/e");
	CHECK_EQ(pathcache_invalidate_all(app.cache), 0);
	ts_ns_set(&app.ns, "d/e", 0711, 0);
	ts_ns_rename(&app.ns, "d/e", "moved");
	ts_ns_add(&app.ns, "d/e", S_IFDIR | 0755, NULL);
	CHECK_EQ(pathcache_entry_stat(app.cache, held, &attr), 0);
	CHECK_EQ(attr.mode, S_IFDIR | 0711);
	CHECK_EQ(attr_of(app.cache, "d/e").ino, ts_ns_find(&app.ns, "d/e")->id);
	CHECK_EQ(ts_stat_err(app.cache, "d/e/f1"), -ENOENT);
	pathcache_put(app.cache, held);
	app_end(&app);
}

/* E1: the old mode is believed by nobody, wherever he begins. */
static void a_held_directory_is_searched_by_its_new_mode(void)
{
	struct pathcache_cred cred = ts_to_cred(&ts_nobody);
	struct pathcache_how how = {.size = sizeof(how), .cred = &cred};
	struct pathcache_entry *dir;
	struct pathcache_attr attr;
	struct app app;

	begin(&app);
	dir = ts_get(app.cache, "d/e");
	how.start = dir;
	for (unsigned round = 0; round < 8; round++) {
		bool open = round % 2;

		ts_ns_set(&app.ns, "d/e", open ? 0755 : 0700, 0);
		if (round / 2 % 2)
			changed(app.cache, "d/e");
		else
			CHECK_EQ(pathcache_invalidate_entry(app.cache, dir), 0);
		if (round / 4)
			CHECK_EQ(pathcache_entry_stat(app.cache, dir, &attr), 0);
		for (unsigned hot = 0; hot < 3; hot++) {
			CHECK_EQ(pathcache_stat(app.cache, "f1", &how, &attr), open ? 0 : -EACCES);
			CHECK_EQ(pathcache_stat(app.cache, "./././././././f1", &how, &attr),
			         open ? 0 : -EACCES);
		}
	}
	pathcache_put(app.cache, dir);
	app_end(&app);
}

/* The root's is loose as well. */
static int count_loose(void *arg, const struct pathcache_dentry *d)
{
	*(unsigned *)arg += d->flags & PATHCACHE_DENTRY_LOOSE && d->len;
	return 0;
}

/* A directory that nobody asks for again is no burden: it makes room, with what is below. */
static void what_nobody_asks_for_again_makes_room(void)
{
	struct pathcache_options opt;
	unsigned n = ts_scale(3000), left = 0;
	char path[64];
	struct app app;

	pathcache_options_init(&opt);
	opt.budget = 256 << 10;
	opt.memo_share = 0;
	app_begin_with(&app, &opt);
	for (unsigned i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "d%u", i);
		ts_ns_add(&app.ns, path, S_IFDIR | 0755, NULL);
		snprintf(path, sizeof(path), "d%u/f", i);
		ts_ns_add(&app.ns, path, S_IFREG | 0644, NULL);
		CHECK_EQ(ts_stat_err(app.cache, path), 0);
		snprintf(path, sizeof(path), "d%u", i);
		changed(app.cache, path);
		CHECK(ts_stats(app.cache).bytes <= opt.budget);
	}
	CHECK_EQ(pathcache_dump(app.cache, count_loose, &left), 0);
	CHECK(left > 50);
	for (unsigned i = 0; i < 3000; i++) {
		snprintf(path, sizeof(path), "f%u", i);
		ts_ns_add(&app.ns, path, S_IFREG | 0644, NULL);
		CHECK_EQ(ts_stat_err(app.cache, path), 0);
	}
	left = 0;
	CHECK_EQ(pathcache_dump(app.cache, count_loose, &left), 0);
	CHECK_EQ(left, 0);
	app_end(&app);
}

/* One that is gone, as its name says by now, goes before. */
static void a_directory_removed_leaves_nothing_behind(void)
{
	struct app app;

	begin(&app);
	changed(app.cache, "d/e");
	ts_ns_remove(&app.ns, "d/e");
	CHECK_EQ(ts_stat_err(app.cache, "d/e/f1"), -ENOENT);
	for (int i = 0; i < 100 && pathcache_maintain(app.cache, 10000) == 1; i++)
		;
	/* The root, d, and the name that is not there. */
	CHECK_EQ(ts_stats(app.cache).nodes, 2);
	CHECK_EQ(ts_stats(app.cache).dentries, 3);
	app_end(&app);
}

static const struct ts_case cases[] = {
	TS_CASE(a_changed_directory_is_asked_for_and_not_what_is_below),
	TS_CASE(a_mode_that_is_noticed_keeps_the_name_and_what_is_below),
	TS_CASE(a_directory_moved_is_found_with_what_is_below),
	TS_CASE(a_subtree_forgotten_stays_forgotten),
	TS_CASE(another_subtree_forgotten_takes_nothing_away),
	TS_CASE(a_stale_name_is_not_renewed_by_a_new_mode),
	TS_CASE(a_held_directory_is_searched_by_its_new_mode),
	TS_CASE(what_nobody_asks_for_again_makes_room),
	TS_CASE(a_directory_removed_leaves_nothing_behind),
};

int main(int argc, char **argv)
{
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
