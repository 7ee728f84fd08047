/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An application that says what it has done: afterwards what is new is known
 * without a question, and nothing that was is answered. Questions are counted.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scene.h"

#define BELOW 20u

static uint64_t asked(struct app *app)
{
	return ts_ns_calls(&app->ns, TS_LOOKUP);
}

/* path is known: to lead to the object of this id, 0: to nothing. */
static void known(struct app *app, const char *path, uint64_t id)
{
	uint64_t before = asked(app);

	for (int hot = 0; hot < 3; hot++) {
		if (id)
			CHECK_EQ(attr_of(app->cache, path).ino, id);
		else
			CHECK_EQ(ts_stat_err(app->cache, path), -ENOENT);
	}
	if (asked(app) != before)
		ts_fail(__FILE__, __LINE__, "%s was asked for", path);
}

/* Whatever is known, it is true. */
static void right(struct app *app, const char *path)
{
	const struct ts_object *object = ts_ns_find(&app->ns, path);

	for (int hot = 0; hot < 3; hot++) {
		if (object) {
			struct pathcache_attr attr = attr_of(app->cache, path);

			CHECK_EQ(attr.ino, object->id);
			CHECK_EQ(attr.nlink, object->nlink);
			CHECK_EQ(attr.mode, object->mode);
		} else {
			CHECK_EQ(ts_stat_err(app->cache, path), -ENOENT);
		}
	}
}

static uint64_t add(struct app *app, const char *path, uint32_t mode)
{
	return ts_ns_add(&app->ns, path, mode, NULL)->id;
}

/* A directory with names below, all of it known. Return: its id. */
static uint64_t plant(struct app *app, const char *dir)
{
	uint64_t id = add(app, dir, S_IFDIR | 0755);
	char path[64];

	snprintf(path, sizeof(path), "%s/e", dir);
	add(app, path, S_IFDIR | 0755);
	for (unsigned i = 0; i < BELOW; i++) {
		snprintf(path, sizeof(path), "%s/e/f%u", dir, i);
		add(app, path, S_IFREG | 0644);
		right(app, path);
	}
	return id;
}

/* All that plant() has put below dir is known there. */
static void below_known(struct app *app, const char *dir)
{
	uint64_t before = asked(app);
	char path[64];

	for (unsigned i = 0; i < BELOW; i++) {
		snprintf(path, sizeof(path), "%s/e/f%u", dir, i);
		right(app, path);
	}
	CHECK_EQ(asked(app), before);
}

/* Rename in the namespace, and say so. */
static int renamed(struct app *app, const char *from, const char *to, uint64_t flags)
{
	struct pathcache_entry *dirs[2] = {NULL, NULL};
	const char *paths[2] = {from, to}, *names[2];
	char dir[64];
	int rc;

	for (int i = 0; i < 2; i++) {
		const char *slash = strrchr(paths[i], '/');

		names[i] = slash ? slash + 1 : paths[i];
		if (!slash)
			continue;
		snprintf(dir, sizeof(dir), "%.*s", (int)(slash - paths[i]), paths[i]);
		dirs[i] = ts_get(app->cache, dir);
	}
	if (flags & PATHCACHE_RENAME_EXCHANGE)
		ts_ns_exchange(&app->ns, from, to);
	else
		ts_ns_rename(&app->ns, from, to);
	rc = pathcache_renamed(app->cache, dirs[0], names[0], dirs[1], names[1], flags);
	for (int i = 0; i < 2; i++)
		pathcache_put(app->cache, dirs[i]);
	return rc;
}

/* ---- renamed -------------------------------------------------------------- */

/* A7 */
static void a_file_renamed_over_another_is_known_by_the_new_name(void)
{
	struct app app;
	uint64_t x;

	app_begin(&app);
	x = add(&app, "x", S_IFREG | 0644);
	add(&app, "y", S_IFREG | 0600);
	right(&app, "x");
	right(&app, "y");
	CHECK_EQ(renamed(&app, "x", "y", 0), 0);
	known(&app, "y", x);
	known(&app, "x", 0);
	right(&app, "y");
	/* And back, where it is known that nothing is there. */
	CHECK_EQ(renamed(&app, "y", "x", 0), 0);
	known(&app, "x", x);
	known(&app, "y", 0);
	app_end(&app);
}

/* A4 */
static void a_directory_renamed_keeps_all_that_is_below(void)
{
	struct pathcache_entry *dir, *file;
	struct app app;
	char path[64];
	uint64_t id;

	app_begin(&app);
	id = plant(&app, "d");
	add(&app, "o", S_IFDIR | 0755);
	dir = ts_get(app.cache, "d/e");
	file = ts_get(app.cache, "d/e/f1");
	CHECK_EQ(renamed(&app, "d", "o/n", 0), 0);
	known(&app, "d", 0);
	known(&app, "o/n", id);
	below_known(&app, "o/n");
	CHECK_EQ(pathcache_entry_path(app.cache, dir, path, sizeof(path)), 6);
	CHECK(strcmp(path, "/o/n/e") == 0);
	CHECK_EQ(pathcache_entry_path(app.cache, file, path, sizeof(path)), 9);
	CHECK(strcmp(path, "/o/n/e/f1") == 0);
	CHECK_EQ(ts_stat_err(app.cache, "o/n/e/../../n/e/f2"), 0);
	pathcache_put(app.cache, dir);
	pathcache_put(app.cache, file);
	/* Over another one, and nobody holds anything. */
	add(&app, "p", S_IFDIR | 0755);
	right(&app, "p");
	CHECK_EQ(ts_stat_err(app.cache, "p/absent"), -ENOENT);
	CHECK_EQ(renamed(&app, "o/n", "p", 0), 0);
	known(&app, "o/n", 0);
	known(&app, "p", id);
	below_known(&app, "p");
	app_end(&app);
}

static void an_exchange_exchanges_what_is_below(void)
{
	struct app app;
	uint64_t a, b, f;

	app_begin(&app);
	add(&app, "q", S_IFDIR | 0755);
	a = plant(&app, "a");
	b = plant(&app, "q/b");
	f = add(&app, "f", S_IFREG | 0644);
	right(&app, "f");
	CHECK_EQ(renamed(&app, "a", "q/b", PATHCACHE_RENAME_EXCHANGE), 0);
	known(&app, "a", b);
	known(&app, "q/b", a);
	below_known(&app, "a");
	below_known(&app, "q/b");
	CHECK_EQ(renamed(&app, "f", "a", PATHCACHE_RENAME_EXCHANGE), 0);
	known(&app, "a", f);
	known(&app, "f", b);
	below_known(&app, "f");
	CHECK_EQ(ts_stat_err(app.cache, "a/e"), -ENOTDIR);
	app_end(&app);
}

/* rename(2): two names of one object stay what they are. */
static void names_of_one_object_stay_when_renamed(void)
{
	for (unsigned way = 0; way < 12; way++) {
		uint64_t flags = way % 2 ? PATHCACHE_RENAME_EXCHANGE : 0;
		struct app app;

		app_begin(&app);
		add(&app, "d", S_IFDIR | 0755);
		add(&app, "a", S_IFREG | 0644);
		if (way / 2 == 4) {
			/* Known with one link, and the other announced by name. */
			right(&app, "a");
			ts_ns_link(&app.ns, "a", "d/b");
			changed(app.cache, "d/b");
		} else {
			ts_ns_link(&app.ns, "a", "d/b");
		}
		/* Neither, one, the other, both, or both and stale are known. */
		if (way / 2 & 1)
			right(&app, "a");
		if (way / 2 & 2)
			right(&app, "d/b");
		if (way / 2 == 5)
			CHECK_EQ(pathcache_invalidate_all(app.cache), 0);
		for (int round = 0; round < 2; round++) {
			struct pathcache_entry *dir = ts_get(app.cache, "d");

			CHECK_EQ(pathcache_renamed(app.cache, NULL, "a", dir, "b", flags), 0);
			pathcache_put(app.cache, dir);
			right(&app, "a");
			right(&app, "d/b");
		}
		app_end(&app);
	}
}

/* Whatever of the two names is in memory, or stale, or nothing. */
static void what_is_not_known_of_a_rename_is_asked_for(void)
{
	for (unsigned way = 0; way < 128; way++) {
		bool over = way & 1, dirs = way & 16, exchange = way & 32 && over;
		uint64_t flags = exchange            ? PATHCACHE_RENAME_EXCHANGE
		                 : way & 64 && !over ? PATHCACHE_RENAME_NOREPLACE
		                                     : 0;
		struct app app;

		app_begin(&app);
		add(&app, "d", S_IFDIR | 0755);
		add(&app, "x", dirs ? S_IFDIR | 0755 : S_IFREG | 0644);
		if (over)
			add(&app, "d/y", dirs ? S_IFDIR | 0711 : S_IFREG | 0600);
		if (dirs)
			add(&app, "x/f", S_IFREG | 0644);
		if (dirs && way & 2)
			right(&app, "x/f");
		if (way & 2)
			right(&app, "x");
		if (way & 4)
			right(&app, "d/y");
		if (way & 8)
			CHECK_EQ(pathcache_invalidate_all(app.cache), 0);
		CHECK_EQ(renamed(&app, "x", "d/y", flags), 0);
		right(&app, "x");
		right(&app, "d/y");
		right(&app, "d");
		if (dirs)
			right(&app, "d/y/f");
		app_end(&app);
	}
}

/* What was forgotten with all else says nothing of what was renamed. */
static void a_stale_name_is_not_what_was_renamed(void)
{
	struct app app;

	for (unsigned way = 0; way < 4; way++) {
		app_begin(&app);
		add(&app, "x", way & 1 ? S_IFDIR | 0755 : S_IFREG | 0644);
		add(&app, "y", S_IFREG | 0600);
		right(&app, "x");
		right(&app, "y");
		ts_ns_remove(&app.ns, way & 2 ? "y" : "x");
		if (way & 2)
			ts_ns_link(&app.ns, "x", "y");
		else
			add(&app, "x", S_IFREG | 0755);
		CHECK_EQ(pathcache_invalidate_all(app.cache), 0);
		if (!(way & 2))
			CHECK_EQ(renamed(&app, "x", "y", 0), 0);
		else
			CHECK_EQ(pathcache_renamed(app.cache, NULL, "x", NULL, "y", 0), 0);
		right(&app, "x");
		right(&app, "y");
		app_end(&app);
	}
}

/* A lookup may see it before it is announced. */
static void a_rename_that_was_seen_before_is_no_other(void)
{
	static const char *const seen[] = {"y", "x", "x/f", "y/f"};

	for (unsigned way = 0; way < 16; way++) {
		uint32_t mode = way & 1 ? S_IFDIR | 0755 : S_IFREG | 0644;
		struct app app;

		app_begin(&app);
		add(&app, "x", mode);
		if (way & 1)
			add(&app, "x/f", S_IFREG | 0644);
		if (way & 2)
			add(&app, "y", mode);
		right(&app, "x");
		ts_ns_rename(&app.ns, "x", "y");
		ts_stat_err(app.cache, seen[way / 4]);
		CHECK_EQ(pathcache_renamed(app.cache, NULL, "x", NULL, "y", 0), 0);
		right(&app, "x");
		right(&app, "y");
		app_end(&app);
	}
}

/* The file that had the new name has another, and a link less. */
static void who_is_renamed_over_has_a_link_less(void)
{
	for (unsigned way = 0; way < 4; way++) {
		struct app app;

		app_begin(&app);
		add(&app, "x", S_IFREG | 0644);
		add(&app, "y", S_IFREG | 0644);
		ts_ns_link(&app.ns, "y", "z");
		right(&app, "x");
		right(&app, "z");
		if (way & 1)
			right(&app, "y");
		if (way & 2)
			ts_ns_remove(&app.ns, "y"), changed(app.cache, "y");
		CHECK_EQ(renamed(&app, "x", "y", way & 2 ? PATHCACHE_RENAME_NOREPLACE : 0), 0);
		known(&app, "y", ts_ns_find(&app.ns, "y")->id);
		right(&app, "z");
		right(&app, "y");
		app_end(&app);
	}
}

/* Another subtree that was forgotten takes nothing away. */
static void a_rename_keeps_what_is_below_after_another_was_forgotten(void)
{
	struct pathcache_entry *other;
	struct app app;

	app_begin(&app);
	plant(&app, "d");
	add(&app, "o", S_IFDIR | 0755);
	other = ts_get(app.cache, "o");
	CHECK_EQ(pathcache_invalidate_subtree(app.cache, other), 0);
	right(&app, "n");
	CHECK_EQ(renamed(&app, "d", "n", 0), 0);
	below_known(&app, "n");
	pathcache_put(app.cache, other);
	app_end(&app);
}

static void a_directory_renamed_below_itself_is_no_rename(void)
{
	struct pathcache_entry *dir;
	struct app app;

	app_begin(&app);
	plant(&app, "d");
	dir = ts_get(app.cache, "d/e");
	CHECK_EQ(pathcache_renamed(app.cache, NULL, "d", dir, "d", 0), -EINVAL);
	right(&app, "d/e/f1");
	CHECK_EQ(pathcache_renamed(app.cache, dir, "f1", NULL, "d", PATHCACHE_RENAME_EXCHANGE),
	         -EINVAL);
	pathcache_put(app.cache, dir);
	right(&app, "d");
	right(&app, "d/e/f1");
	right(&app, "d/e");
	app_end(&app);
}

/* A9: what is told of it is that both names mean something else. */
static void an_object_whose_id_is_its_name_is_another_when_renamed(void)
{
	struct pathcache_how how = {.size = sizeof(how)};
	struct pathcache_entry *held;
	struct pathcache_attr attr;
	struct ts_object *d, *f;
	struct app app;

	app_begin(&app);
	d = ts_ns_add(&app.ns, "d", S_IFDIR | 0755, NULL);
	f = ts_ns_add(&app.ns, "d/f", S_IFREG | 0644, NULL);
	d->reply_flags = f->reply_flags = PATHCACHE_REPLY_ID_BY_NAME;
	right(&app, "d/f");
	held = ts_get(app.cache, "d");
	ts_ns_rename(&app.ns, "d", "e");
	/* The ids go with the names: d's is that of the next d. */
	d->id += 100;
	f->id += 100;
	ts_ns_add(&app.ns, "d", S_IFDIR | 0700, NULL)->id = d->id - 100;
	ts_ns_add(&app.ns, "d/f", S_IFREG | 0600, NULL)->id = f->id - 100;
	CHECK_EQ(pathcache_renamed(app.cache, NULL, "d", NULL, "e", 0), 0);
	right(&app, "d/f");
	right(&app, "e/f");
	right(&app, "d");
	right(&app, "e");
	CHECK_EQ(pathcache_entry_stat(app.cache, held, &attr), 0);
	CHECK_EQ(attr.mode, S_IFDIR | 0755);
	how.start = held;
	CHECK_EQ(pathcache_stat(app.cache, "f", &how, &attr), 0);
	CHECK_EQ(attr.ino, f->id);
	pathcache_put(app.cache, held);
	app_end(&app);
}

/* ---- created, removed, linked, changed ------------------------------------ */

static void created(struct app *app, struct pathcache_entry *dir, const char *name,
                    const char *path)
{
	struct pathcache_reply what = ts_ns_reply(&app->ns, path);

	CHECK_EQ(pathcache_created(app->cache, dir, name, &what), 0);
}

/* A11, B1, C10 */
static void what_was_created_and_removed_is_known(void)
{
	static const uint32_t modes[] = {S_IFREG | 0644, S_IFDIR | 0755, S_IFREG | 0600,
	                                 S_IFLNK | 0777};
	struct pathcache_entry *dir;
	struct app app;

	app_begin(&app);
	add(&app, "d", S_IFDIR | 0755);
	dir = ts_get(app.cache, "d");
	for (unsigned round = 0; round < 12; round++) {
		struct ts_object *object =
			ts_ns_add(&app.ns, "d/n", modes[round % 4], round % 4 == 3 ? "/d" : NULL);

		/* The number is used again. */
		object->id = 1000;
		object->generation = round;
		object->size = round;
		if (round % 3)
			created(&app, dir, "n", "d/n");
		else
			CHECK_EQ(pathcache_created(app.cache, dir, "n", NULL), 0);
		if (round % 4 == 3) {
			CHECK_EQ(ts_stat_err(app.cache, "d/n/x"), -ENOENT);
		} else {
			CHECK_EQ(attr_of(app.cache, "d/n").size, round);
			right(&app, "d/n");
		}
		if (round % 4 == 1) {
			add(&app, "d/n/x", S_IFREG | 0644);
			right(&app, "d/n/x");
			ts_ns_remove(&app.ns, "d/n/x");
		}
		ts_ns_remove(&app.ns, "d/n");
		CHECK_EQ(pathcache_removed(app.cache, dir, "n"), 0);
		known(&app, "d/n", 0);
		known(&app, "d/n/x", 0);
	}
	pathcache_put(app.cache, dir);
	app_end(&app);
}

static void what_is_created_needs_no_question(void)
{
	struct app app;
	uint64_t id;

	app_begin(&app);
	id = add(&app, "d", S_IFDIR | 0755);
	created(&app, NULL, "d", "d");
	known(&app, "d", id);
	id = add(&app, "n", S_IFREG | 0644);
	created(&app, NULL, "n", "n");
	known(&app, "n", id);
	CHECK_EQ(ts_ns_calls(&app.ns, TS_GETATTR), 0);
	CHECK_EQ(asked(&app), 0);
	app_end(&app);
}

/* B10: what may not be kept is not kept, whoever tells it. */
static void what_may_not_be_kept_is_asked_for(void)
{
	struct ts_object *dir, *object;
	struct pathcache_entry *held;
	struct app app;

	app_begin(&app);
	dir = ts_ns_add(&app.ns, "dyn", S_IFDIR | 0755, NULL);
	dir->reply_flags = PATHCACHE_REPLY_NO_NEGATIVE;
	held = ts_get(app.cache, "dyn");
	CHECK_EQ(pathcache_removed(app.cache, held, "n"), 0);
	CHECK_EQ(ts_stats(app.cache).negatives, 0);
	object = ts_ns_add(&app.ns, "dyn/n", S_IFREG | 0644, NULL);
	object->reply_flags = PATHCACHE_REPLY_NO_CACHE;
	created(&app, held, "n", "dyn/n");
	ts_ns_set(&app.ns, "dyn/n", 0600, 1);
	CHECK_EQ(attr_of(app.cache, "dyn/n").size, 1);
	object->reply_flags = PATHCACHE_REPLY_PRIVATE;
	created(&app, held, "n", "dyn/n");
	ts_ns_set(&app.ns, "dyn/n", 0600, 2);
	CHECK_EQ(attr_of(app.cache, "dyn/n").size, 2);
	pathcache_put(app.cache, held);
	app_end(&app);
}

/* C6 */
static void a_further_name_is_known_and_the_links_are_counted(void)
{
	struct pathcache_entry *held, *dir;
	struct app app;
	uint64_t id;

	app_begin(&app);
	add(&app, "d", S_IFDIR | 0755);
	id = add(&app, "a", S_IFREG | 0644);
	held = ts_get(app.cache, "a");
	dir = ts_get(app.cache, "d");
	CHECK_EQ(ts_stat_err(app.cache, "d/b"), -ENOENT);
	ts_ns_link(&app.ns, "a", "d/b");
	CHECK_EQ(pathcache_linked(app.cache, held, dir, "b"), 0);
	known(&app, "d/b", id);
	right(&app, "a");
	right(&app, "d/b");
	ts_ns_remove(&app.ns, "a");
	CHECK_EQ(pathcache_removed(app.cache, NULL, "a"), 0);
	known(&app, "a", 0);
	known(&app, "d/b", id);
	right(&app, "d/b");
	CHECK_EQ(pathcache_linked(app.cache, dir, NULL, "x"), -EINVAL);
	pathcache_put(app.cache, held);
	pathcache_put(app.cache, dir);
	app_end(&app);
}

/* C7: by whatever name, and nobody is asked. */
static void attributes_that_are_told_are_answered(void)
{
	struct pathcache_entry *held;
	struct pathcache_reply now;
	struct app app;
	uint64_t before;

	app_begin(&app);
	add(&app, "a", S_IFREG | 0644);
	ts_ns_link(&app.ns, "a", "b");
	right(&app, "b");
	held = ts_get(app.cache, "a");
	for (unsigned round = 1; round < 4; round++) {
		ts_ns_set(&app.ns, "a", 0640, round);
		now = ts_ns_reply(&app.ns, "a");
		ts_ns_find(&app.ns, "a")->handed_out--;
		before = ts_ns_calls(&app.ns, TS_GETATTR);
		CHECK_EQ(pathcache_changed(app.cache, held, &now.attr), 0);
		CHECK_EQ(attr_of(app.cache, "b").size, round);
		CHECK_EQ(attr_of(app.cache, "a").size, round);
		CHECK_EQ(ts_ns_calls(&app.ns, TS_GETATTR), before);
		/* Less than what must be said. */
		ts_ns_set(&app.ns, "a", 0600, round + 10);
		now.attr.mask = round % 2 ? PATHCACHE_ATTR_SIZE : PATHCACHE_ATTR_BASIC;
		now.attr.mode = S_IFDIR | 0600;
		CHECK_EQ(pathcache_changed(app.cache, held, round < 3 ? &now.attr : NULL), 0);
		right(&app, "b");
		CHECK_EQ(attr_of(app.cache, "a").size, round + 10);
	}
	pathcache_put(app.cache, held);
	app_end(&app);
}

/* E1 */
static void a_mode_that_is_told_is_judged_by_at_once(void)
{
	struct pathcache_entry *held;
	struct pathcache_reply now;
	struct app app;

	app_begin(&app);
	plant(&app, "d");
	held = ts_get(app.cache, "d");
	for (unsigned round = 0; round < 6; round++) {
		uint64_t before = asked(&app), attrs;

		ts_ns_set(&app.ns, "d", round % 2 ? 0755 : 0700, round);
		now = ts_ns_reply(&app.ns, "d");
		ts_ns_find(&app.ns, "d")->handed_out--;
		attrs = ts_ns_calls(&app.ns, TS_GETATTR);
		CHECK_EQ(pathcache_changed(app.cache, held, &now.attr), 0);
		for (int hot = 0; hot < 3; hot++) {
			CHECK_EQ(ts_stat_as(app.cache, "d/e/f1", &ts_nobody),
			         round % 2 ? 0 : -EACCES);
			CHECK_EQ(attr_of(app.cache, "d").size, round);
		}
		below_known(&app, "d");
		CHECK_EQ(asked(&app), before);
		CHECK_EQ(ts_ns_calls(&app.ns, TS_GETATTR), attrs);
	}
	pathcache_put(app.cache, held);
	app_end(&app);
}

/* ---- answers on their way --------------------------------------------------- */

/* L6: each name's answer of before the rename comes after it was announced. */
static void a_rename_overtakes_answers_on_their_way(void)
{
	static const char *const names[] = {"d/x", "d/y"};

	for (unsigned way = 0; way < 8; way++) {
		struct asker asker = {0};
		struct ts_gate *gate;
		struct app app;

		app_begin(&app);
		add(&app, "d", S_IFDIR | 0755);
		add(&app, "d/x", way & 4 ? S_IFDIR | 0755 : S_IFREG | 0644);
		add(&app, "d/y", way & 4 ? S_IFDIR | 0711 : S_IFREG | 0600);
		if (way & 2)
			right(&app, names[!(way & 1)]);
		else
			right(&app, "d");
		gate = ts_gate_close(&app.ns, TS_GATE_AFTER, TS_LOOKUP, names[way & 1] + 2);
		asker_start(&asker, app.cache, names[way & 1]);
		REQUIRE(ts_gate_wait(&app.ns, gate, 1));
		CHECK_EQ(renamed(&app, "d/x", "d/y", 0), 0);
		ts_gate_open(&app.ns, gate);
		CHECK_EQ(asker_finish(&asker), 0);
		right(&app, "d/x");
		right(&app, "d/y");
		app_end(&app);
	}
}

static void what_is_told_overtakes_answers_on_their_way(void)
{
	for (unsigned way = 0; way < 4; way++) {
		struct pathcache_entry *held;
		struct asker asker = {0};
		struct ts_gate *gate;
		struct app app;

		app_begin(&app);
		add(&app, "a", S_IFREG | 0644);
		held = ts_get(app.cache, "a");
		if (way == 0)
			add(&app, "n", S_IFREG | 0644);
		changed_object(app.cache, "a");
		gate = ts_gate_close(&app.ns, TS_GATE_AFTER, way == 3 ? TS_GETATTR : TS_LOOKUP,
		                     way == 3 ? NULL : "n");
		asker_start(&asker, app.cache, way == 3 ? "a" : "n");
		REQUIRE(ts_gate_wait(&app.ns, gate, 1));
		if (way == 0) {
			ts_ns_remove(&app.ns, "n");
			CHECK_EQ(pathcache_removed(app.cache, NULL, "n"), 0);
		} else if (way == 1) {
			add(&app, "n", S_IFREG | 0644);
			created(&app, NULL, "n", "n");
		} else if (way == 2) {
			ts_ns_link(&app.ns, "a", "n");
			CHECK_EQ(pathcache_linked(app.cache, held, NULL, "n"), 0);
		} else {
			struct pathcache_reply now;

			ts_ns_set(&app.ns, "a", 0600, 9);
			now = ts_ns_reply(&app.ns, "a");
			ts_ns_find(&app.ns, "a")->handed_out--;
			CHECK_EQ(pathcache_changed(app.cache, held, &now.attr), 0);
		}
		ts_gate_open(&app.ns, gate);
		CHECK_EQ(asker_finish(&asker), way == 1 || way == 2 ? -ENOENT : 0);
		right(&app, "n");
		right(&app, "a");
		pathcache_put(app.cache, held);
		app_end(&app);
	}
}

struct inside {
	struct app app;
	struct pathcache_entry *dir, *file;
	unsigned calls;
};

/* L1: from the backend's own callback, about the very names that are asked for. */
static void announce_inside(void *arg, enum ts_call call, const char *name)
{
	struct inside *in = arg;
	struct pathcache *c = in->app.cache;

	(void)call;
	if (strcmp(name, "n") != 0 && strcmp(name, "f") != 0)
		return;
	in->calls++;
	CHECK_EQ(pathcache_removed(c, in->dir, name), 0);
	CHECK_EQ(pathcache_created(c, in->dir, name, NULL), 0);
	CHECK_EQ(pathcache_renamed(c, in->dir, name, NULL, name, 0), 0);
	CHECK_EQ(pathcache_renamed(c, NULL, name, in->dir, name, PATHCACHE_RENAME_EXCHANGE), 0);
	CHECK_EQ(pathcache_linked(c, in->file, in->dir, name), 0);
	CHECK_EQ(pathcache_changed(c, in->file, NULL), 0);
	CHECK_EQ(pathcache_changed(c, in->dir, NULL), 0);
	CHECK_EQ(pathcache_created(c, in->dir, name, NULL), 0);
}

static void hooks_wait_for_no_question(void)
{
	static struct inside in;

	memset(&in, 0, sizeof(in));
	app_begin(&in.app);
	add(&in.app, "d", S_IFDIR | 0755);
	add(&in.app, "g", S_IFREG | 0644);
	add(&in.app, "d/f", S_IFREG | 0644);
	in.dir = ts_get(in.app.cache, "d");
	in.file = ts_get(in.app.cache, "g");
	in.app.ns.on_call_arg = &in;
	in.app.ns.on_call = announce_inside;
	in.app.ns.on_return = announce_inside;
	right(&in.app, "d/n");
	right(&in.app, "d/f");
	in.app.ns.on_call = in.app.ns.on_return = NULL;
	CHECK(in.calls >= 4);
	right(&in.app, "d/n");
	right(&in.app, "d/f");
	right(&in.app, "g");
	pathcache_put(in.app.cache, in.dir);
	pathcache_put(in.app.cache, in.file);
	app_end(&in.app);
}

/* ---- other caches ------------------------------------------------------------ */

/* Where little or nothing can be kept it is all the same. */
static void hooks_are_right_without_memory(void)
{
	static const uint64_t budgets[] = {0, 1, 32768, 49152, 65536};

	for (size_t i = 0; i < 5; i++) {
		struct pathcache_options opt;
		char from[16], to[16];
		struct app app;

		pathcache_options_init(&opt);
		opt.budget = budgets[i];
		opt.complete_max = 50;
		app_begin_with(&app, &opt);
		add(&app, "d", S_IFDIR | 0755);
		for (unsigned n = 0; n < 200; n++) {
			snprintf(from, sizeof(from), "n%u", n);
			snprintf(to, sizeof(to), "d/n%u", n);
			add(&app, from, n % 3 ? S_IFREG | 0644 : S_IFDIR | 0755);
			created(&app, NULL, from, from);
			right(&app, from);
			CHECK_EQ(renamed(&app, from, to, n % 2), 0);
			right(&app, to);
			right(&app, from);
		}
		app_end(&app);
	}
}

static int tell(void *arg, const char *name, size_t len, uint64_t ino, uint32_t type,
                uint64_t cookie)
{
	char *names = arg;

	(void)ino;
	(void)type;
	(void)cookie;
	strncat(names, name, len);
	return 0;
}

static void listings_are_told_as_they_are(void)
{
	struct pathcache_options opt;
	struct pathcache_entry *dir;
	char names[64];
	struct app app;

	pathcache_options_init(&opt);
	opt.complete_max = 100;
	app_begin_with(&app, &opt);
	add(&app, "d", S_IFDIR | 0755);
	add(&app, "d/a", S_IFREG | 0644);
	dir = ts_get(app.cache, "d");
	for (unsigned round = 0; round < 6; round++) {
		names[0] = '\0';
		for (int hot = 0; hot < 2; hot++)
			CHECK_EQ(pathcache_readdir(app.cache, dir, 0, tell, names), 0);
		CHECK(strcmp(names, round % 2 ? "bb" : "aa") == 0);
		CHECK_EQ(renamed(&app, round % 2 ? "d/b" : "d/a", round % 2 ? "d/a" : "d/b", 0), 0);
		right(&app, "d/a");
		right(&app, "d/b");
	}
	ts_ns_remove(&app.ns, "d/a");
	CHECK_EQ(pathcache_removed(app.cache, dir, "a"), 0);
	names[0] = '\0';
	CHECK_EQ(pathcache_readdir(app.cache, dir, 0, tell, names), 0);
	CHECK_EQ(names[0], '\0');
	pathcache_put(app.cache, dir);
	app_end(&app);
}

static struct pathcache_attr statx_of(const struct ts_tree *tree, const char *path)
{
	struct pathcache_options opt;
	struct pathcache_attr attr;
	struct pathcache *other;

	pathcache_options_init(&opt);
	opt.budget = 0;
	REQUIRE(pathcache_open(&other, tree->path, &opt) == 0);
	REQUIRE(pathcache_stat(other, path, NULL, &attr) == 0);
	CHECK_EQ(pathcache_close(other), 0);
	return attr;
}

/* A real tree: what is told is as the kernel has it. */
static void a_real_tree_takes_hooks_as_well(void)
{
	struct pathcache_reply what = {.size = sizeof(what)};
	struct pathcache_entry *d, *f;
	struct pathcache_attr attr;
	struct scene s;

	scene_begin(&s);
	ts_dir(&s.tree, "d", 0755);
	ts_dir(&s.tree, "d/e", 0755);
	ts_file(&s.tree, "d/e/f", 0644, "text");
	AGREE(&s.view, .path = "d/e/f");
	AGREE(&s.view, .path = "n");
	d = ts_get(s.cache, "d");
	CHECK_EQ(pathcache_created(s.cache, NULL, "n", &what), -EINVAL);
	ts_rename(&s.tree, "d/e", "n");
	CHECK_EQ(pathcache_renamed(s.cache, d, "e", NULL, "n", PATHCACHE_RENAME_NOREPLACE), 0);
	for (int hot = 0; hot < 2; hot++) {
		AGREE(&s.view, .path = "d/e/f");
		AGREE(&s.view, .path = "n/f");
		AGREE(&s.view, .op = TS_REALPATH, .path = "n/f");
		AGREE(&s.view, .path = "n");
		AGREE(&s.view, .path = "d");
	}
	f = ts_get(s.cache, "n/f");
	for (int way = 0; way < 4; way++) {
		ts_append(&s.tree, "n/f", "more");
		attr = statx_of(&s.tree, way == 1 ? "d" : "n/f");
		if (way == 2)
			attr.mask &= ~PATHCACHE_ATTR_BTIME;
		CHECK_EQ(pathcache_changed(s.cache, f, way == 3 ? NULL : &attr), 0);
		AGREE(&s.view, .path = "n/f");
	}
	ts_unlink(&s.tree, "n/f");
	changed_object(s.cache, "n");
	CHECK_EQ(ts_stat_err(s.cache, "n"), 0);
	pathcache_put(s.cache, d);
	d = ts_get(s.cache, "n");
	CHECK_EQ(pathcache_removed(s.cache, d, "f"), 0);
	AGREE(&s.view, .path = "n/f");
	pathcache_put(s.cache, d);
	pathcache_put(s.cache, f);
	scene_end(&s);
}

static void arguments_are_checked(void)
{
	struct pathcache_reply what = {.size = sizeof(what)};
	struct pathcache_entry *file;
	char name[300];
	struct app app;

	memset(name, 'n', 256);
	name[256] = '\0';
	app_begin(&app);
	add(&app, "f", S_IFREG | 0644);
	file = ts_get(app.cache, "f");
	CHECK_EQ(pathcache_removed(NULL, NULL, "f"), -EINVAL);
	CHECK_EQ(pathcache_removed(app.cache, NULL, NULL), -EINVAL);
	CHECK_EQ(pathcache_removed(app.cache, NULL, ""), -EINVAL);
	CHECK_EQ(pathcache_removed(app.cache, NULL, ".."), -EINVAL);
	CHECK_EQ(pathcache_removed(app.cache, NULL, "a/b"), -EINVAL);
	CHECK_EQ(pathcache_removed(app.cache, NULL, name), -ENAMETOOLONG);
	CHECK_EQ(pathcache_removed(app.cache, file, "n"), -ENOTDIR);
	CHECK_EQ(pathcache_renamed(app.cache, NULL, "f", file, "n", 0), -ENOTDIR);
	CHECK_EQ(pathcache_renamed(app.cache, NULL, "f", NULL, "n", 3), -EINVAL);
	CHECK_EQ(pathcache_renamed(app.cache, NULL, "f", NULL, "n", 4), -EINVAL);
	CHECK_EQ(pathcache_renamed(app.cache, NULL, "f", NULL, "f", 0), 0);
	CHECK_EQ(pathcache_linked(app.cache, NULL, NULL, "n"), -EINVAL);
	CHECK_EQ(pathcache_changed(app.cache, NULL, NULL), -EINVAL);
	CHECK_EQ(pathcache_created(app.cache, NULL, "n", &what), -EINVAL);
	what.size = 0;
	CHECK_EQ(pathcache_created(app.cache, NULL, "n", &what), -EINVAL);
	known(&app, "f", ts_ns_find(&app.ns, "f")->id);
	CHECK_EQ(ts_stats(app.cache).announced, 1);
	pathcache_put(app.cache, file);
	app_end(&app);
}

static const struct ts_case cases[] = {
	TS_CASE(a_file_renamed_over_another_is_known_by_the_new_name),
	TS_CASE(a_directory_renamed_keeps_all_that_is_below),
	TS_CASE(an_exchange_exchanges_what_is_below),
	TS_CASE(names_of_one_object_stay_when_renamed),
	TS_CASE(what_is_not_known_of_a_rename_is_asked_for),
	TS_CASE(a_stale_name_is_not_what_was_renamed),
	TS_CASE(a_rename_that_was_seen_before_is_no_other),
	TS_CASE(who_is_renamed_over_has_a_link_less),
	TS_CASE(a_rename_keeps_what_is_below_after_another_was_forgotten),
	TS_CASE(a_directory_renamed_below_itself_is_no_rename),
	TS_CASE(an_object_whose_id_is_its_name_is_another_when_renamed),
	TS_CASE(what_was_created_and_removed_is_known),
	TS_CASE(what_is_created_needs_no_question),
	TS_CASE(what_may_not_be_kept_is_asked_for),
	TS_CASE(a_further_name_is_known_and_the_links_are_counted),
	TS_CASE(attributes_that_are_told_are_answered),
	TS_CASE(a_mode_that_is_told_is_judged_by_at_once),
	TS_CASE(a_rename_overtakes_answers_on_their_way),
	TS_CASE(what_is_told_overtakes_answers_on_their_way),
	TS_CASE(hooks_wait_for_no_question),
	TS_CASE(hooks_are_right_without_memory),
	TS_CASE(listings_are_told_as_they_are),
	TS_CASE(a_real_tree_takes_hooks_as_well),
	TS_CASE(arguments_are_checked),
};

int main(int argc, char **argv)
{
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
