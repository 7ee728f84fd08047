/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What was announced is never answered again, however an older answer tries to
 * come back: by a private twin, by a fill that the change overtook, by a name
 * that was not in memory, by a call that somebody else had begun.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "scene.h"

/* ---- asking ------------------------------------------------------------ */

static uint64_t size_of(struct app *app, const char *path)
{
	return attr_of(app->cache, path).size;
}

static void set_size(struct app *app, const char *path, uint64_t size)
{
	ts_ns_set(&app->ns, path, 0644, size);
}

static void set_mode(struct app *app, const char *path, uint32_t mode)
{
	ts_ns_set(&app->ns, path, mode, 0);
}

static void announce(struct app *app, struct pathcache_entry *dir, const char *name)
{
	CHECK_EQ(pathcache_invalidate_name(app->cache, dir, name), 0);
}

static int nobody_from(struct app *app, struct pathcache_entry *start, const char *path)
{
	struct pathcache_cred cred = ts_to_cred(&ts_nobody);
	struct pathcache_how how = {.size = sizeof(how), .start = start, .cred = &cred};
	struct pathcache_attr attr;

	return pathcache_stat(app->cache, path, &how, &attr);
}

static int nobody(struct app *app, const char *path)
{
	return nobody_from(app, NULL, path);
}

static struct pathcache_entry *get_link(struct app *app, const char *path)
{
	struct pathcache_how how = {.size = sizeof(how), .flags = PATHCACHE_NOFOLLOW};
	struct pathcache_entry *entry;

	REQUIRE(pathcache_get(app->cache, path, &how, &entry) == 0);
	return entry;
}

static bool link_says(struct app *app, const char *path, const char *text)
{
	char buf[64];
	ssize_t n = pathcache_readlink(app->cache, path, NULL, buf, sizeof(buf));

	return n == (ssize_t)strlen(text) && memcmp(buf, text, (size_t)n) == 0;
}

static void set_link(struct app *app, const char *path, const char *text)
{
	struct ts_object *object = ts_ns_find(&app->ns, path);
	char *copy = strdup(text);

	REQUIRE(copy);
	pthread_mutex_lock(&app->ns.lock);
	free(object->link);
	object->link = copy;
	pthread_mutex_unlock(&app->ns.lock);
}

/* ---- one call that is held still in its backend ------------------------ */

struct flight {
	struct ts_thread thread;
	struct ts_gate *gate;
	struct app *app;
	void (*ask)(struct flight *flight);
	const char *path;
	struct pathcache_entry *entry; /* what it starts from, or what it got */
	int rc;
};

static void flight_main(void *arg)
{
	struct flight *flight = arg;

	flight->ask(flight);
}

/* Returns when the backend's answer is made and not given. */
static void flight_begin(struct flight *flight, enum ts_call call, const char *name)
{
	flight->gate = ts_gate_close_for(&flight->app->ns, TS_GATE_AFTER, call, name, 1);
	ts_thread_start(&flight->thread, flight_main, flight);
	REQUIRE(ts_gate_wait(&flight->app->ns, flight->gate, 1));
}

static void flight_end(struct flight *flight)
{
	ts_gate_open(&flight->app->ns, flight->gate);
	REQUIRE(ts_thread_ends(&flight->thread, 10000));
	ts_thread_join(&flight->thread);
}

static void ask_get(struct flight *flight)
{
	flight->rc = pathcache_get(flight->app->cache, flight->path, NULL, &flight->entry);
}

static void ask_stat(struct flight *flight)
{
	struct pathcache_attr attr;

	flight->rc = pathcache_stat(flight->app->cache, flight->path, NULL, &attr);
}

static void ask_entry(struct flight *flight)
{
	struct pathcache_attr attr;

	flight->rc = pathcache_entry_stat(flight->app->cache, flight->entry, &attr);
}

static void ask_nobody(struct flight *flight)
{
	flight->rc = nobody_from(flight->app, flight->entry, flight->path);
}

static void ask_link(struct flight *flight)
{
	char buf[64];

	flight->rc =
		(int)pathcache_readlink(flight->app->cache, flight->path, NULL, buf, sizeof(buf));
}

/* ---- twins ------------------------------------------------------------- */

/* Hold path by an answer that an unrelated change overtook; the cache then finds it anew. */
static struct pathcache_entry *get_overtaken(struct app *app, const char *path)
{
	const char *slash = strrchr(path, '/');
	struct flight flight = {.app = app, .ask = ask_get, .path = path};
	struct pathcache_entry *dir = NULL;

	if (slash && slash != path) {
		char parent[64] = {0};

		memcpy(parent, path, (size_t)(slash - path));
		dir = ts_get(app->cache, parent);
	}
	flight_begin(&flight, TS_LOOKUP, slash ? slash + 1 : path);
	announce(app, dir, "unrelated");
	flight_end(&flight);
	if (dir)
		pathcache_put(app->cache, dir);
	REQUIRE(flight.rc == 0);
	return flight.entry;
}

static void twin_begin(struct app *app, struct pathcache_entry **twin)
{
	app_begin(app);
	ts_ns_add(&app->ns, "/d", S_IFDIR | 0755, NULL);
	ts_ns_add(&app->ns, "/d/x", S_IFREG | 0644, NULL);
	set_size(app, "/d/x", 1);
	*twin = get_overtaken(app, "/d");
	CHECK_EQ(size_of(app, "/d/x"), 1);
}

static void a_name_announced_in_an_overtaken_directory_is_asked_again(void)
{
	struct pathcache_entry *twin;
	struct app app;

	twin_begin(&app, &twin);
	set_size(&app, "/d/x", 2);
	announce(&app, twin, "x");
	CHECK_EQ(size_of(&app, "/d/x"), 2);
	CHECK_EQ(ts_stat_err(app.cache, "/d/new"), -ENOENT);
	ts_ns_add(&app.ns, "/d/new", S_IFREG | 0644, NULL);
	announce(&app, twin, "new");
	CHECK_EQ(ts_stat_err(app.cache, "/d/new"), 0);
	pathcache_put(app.cache, twin);
	app_end(&app);
}

static void a_subtree_announced_at_an_overtaken_directory_is_asked_again(void)
{
	struct pathcache_entry *twin;
	struct app app;

	twin_begin(&app, &twin);
	set_size(&app, "/d/x", 2);
	CHECK_EQ(pathcache_invalidate_subtree(app.cache, twin), 0);
	CHECK_EQ(size_of(&app, "/d/x"), 2);
	pathcache_put(app.cache, twin);
	app_end(&app);
}

static void a_mode_announced_of_an_overtaken_directory_is_judged_anew(void)
{
	struct pathcache_entry *twin;
	struct app app;

	twin_begin(&app, &twin);
	CHECK_EQ(nobody(&app, "/d/x"), 0);
	set_mode(&app, "/d", 0700);
	CHECK_EQ(pathcache_invalidate_entry(app.cache, twin), 0);
	CHECK_EQ(nobody(&app, "/d/x"), -EACCES);
	pathcache_put(app.cache, twin);
	app_end(&app);
}

static void an_overtaken_file_announced_as_an_object_is_asked_again(void)
{
	struct pathcache_entry *twin;
	struct app app;

	app_begin(&app);
	ts_ns_add(&app.ns, "/d", S_IFDIR | 0755, NULL);
	ts_ns_add(&app.ns, "/d/x", S_IFREG | 0644, NULL);
	set_size(&app, "/d/x", 1);
	twin = get_overtaken(&app, "/d/x");
	CHECK_EQ(size_of(&app, "/d/x"), 1);
	set_size(&app, "/d/x", 2);
	CHECK_EQ(pathcache_invalidate_entry(app.cache, twin), 0);
	CHECK_EQ(size_of(&app, "/d/x"), 2);
	pathcache_put(app.cache, twin);
	app_end(&app);
}

/* ---- answers that a change overtook ------------------------------------ */

/* The node that knew of the change is gone when the older answer arrives. */
static void an_overtaken_answer_makes_no_directory_of_its_old_mode(void)
{
	struct flight flight = {.ask = ask_stat, .path = "/d"};
	struct pathcache_entry *entry;
	struct app app;

	app_begin(&app);
	flight.app = &app;
	ts_ns_add(&app.ns, "/d", S_IFDIR | 0755, NULL);
	ts_ns_add(&app.ns, "/d/x", S_IFREG | 0644, NULL);
	ts_ns_add(&app.ns, "/e", S_IFREG | 0644, NULL);
	flight_begin(&flight, TS_LOOKUP, "d");
	/* So that the next question is not answered by the one under way. */
	changed_object(app.cache, "/e");
	set_mode(&app, "/d", 0755);
	entry = ts_get(app.cache, "/d");
	set_mode(&app, "/d", 0700);
	CHECK_EQ(pathcache_invalidate_entry(app.cache, entry), 0);
	pathcache_put(app.cache, entry);
	flight_end(&flight);
	CHECK_EQ(flight.rc, 0);
	CHECK_EQ(nobody(&app, "/d/x"), -EACCES);
	app_end(&app);
}

static void an_overtaken_answer_makes_no_file_of_its_old_size(void)
{
	struct flight flight = {.ask = ask_stat, .path = "/f"};
	struct app app;

	app_begin(&app);
	flight.app = &app;
	ts_ns_add(&app.ns, "/f", S_IFREG | 0644, NULL);
	ts_ns_add(&app.ns, "/e", S_IFREG | 0644, NULL);
	set_size(&app, "/f", 1);
	flight_begin(&flight, TS_LOOKUP, "f");
	changed_object(app.cache, "/e");
	set_size(&app, "/f", 2);
	changed_object(app.cache, "/f");
	flight_end(&flight);
	CHECK_EQ(size_of(&app, "/f"), 2);
	app_end(&app);
}

/* Its name was announced before, so nothing leads from the name to what is held. */
static void a_nameless_file_keeps_no_overtaken_attributes(void)
{
	struct flight flight = {.ask = ask_entry};
	struct pathcache_attr attr = {0};
	struct app app;

	app_begin(&app);
	flight.app = &app;
	ts_ns_add(&app.ns, "/f", S_IFREG | 0644, NULL);
	set_size(&app, "/f", 1);
	flight.entry = ts_get(app.cache, "/f");
	announce(&app, NULL, "f");
	flight_begin(&flight, TS_GETATTR, NULL);
	set_size(&app, "/f", 2);
	announce(&app, NULL, "f");
	flight_end(&flight);
	CHECK_EQ(flight.rc, 0);
	CHECK_EQ(pathcache_entry_stat(app.cache, flight.entry, &attr), 0);
	CHECK_EQ(attr.size, 2);
	pathcache_put(app.cache, flight.entry);
	app_end(&app);
}

static void a_nameless_start_keeps_no_overtaken_mode(void)
{
	struct flight flight = {.ask = ask_nobody, .path = "x"};
	struct app app;

	app_begin(&app);
	flight.app = &app;
	ts_ns_add(&app.ns, "/d", S_IFDIR | 0755, NULL);
	ts_ns_add(&app.ns, "/d/x", S_IFREG | 0644, NULL);
	flight.entry = ts_get(app.cache, "/d");
	announce(&app, NULL, "d");
	flight_begin(&flight, TS_GETATTR, NULL);
	set_mode(&app, "/d", 0700);
	announce(&app, NULL, "d");
	flight_end(&flight);
	CHECK(flight.rc == 0 || flight.rc == -EACCES);
	CHECK_EQ(nobody_from(&app, flight.entry, "x"), -EACCES);
	pathcache_put(app.cache, flight.entry);
	app_end(&app);
}

static void a_link_keeps_no_overtaken_text(void)
{
	struct flight flight = {.ask = ask_link, .path = "/l"};
	struct app app;

	app_begin(&app);
	flight.app = &app;
	ts_ns_add(&app.ns, "/l", S_IFLNK | 0777, "one")->late_link = true;
	flight_begin(&flight, TS_GETLINK, NULL);
	set_link(&app, "/l", "three");
	announce(&app, NULL, "l");
	CHECK_EQ(ts_stat_flags(app.cache, "/l", PATHCACHE_NOFOLLOW), 0);
	flight_end(&flight);
	CHECK(link_says(&app, "/l", "three"));
	app_end(&app);
}

/* Announced as the object that was held before, whose text was announced once already. */
static void an_overtaken_answer_makes_no_link_of_its_old_text(void)
{
	struct flight flight = {.ask = ask_link, .path = "/l"};
	struct pathcache_entry *entry;
	struct ts_object *link;
	struct app app;
	char *told;

	app_begin(&app);
	flight.app = &app;
	link = ts_ns_add(&app.ns, "/l", S_IFLNK | 0777, "one");
	entry = get_link(&app, "/l");
	set_link(&app, "/l", "two");
	CHECK_EQ(pathcache_invalidate_entry(app.cache, entry), 0);
	flight_begin(&flight, TS_LOOKUP, "l");
	told = link->link; /* copied from when the flight goes on */
	link->link = strdup("three");
	CHECK_EQ(pathcache_invalidate_entry(app.cache, entry), 0);
	flight_end(&flight);
	CHECK_EQ(flight.rc, 3);
	CHECK(link_says(&app, "/l", "three"));
	pathcache_put(app.cache, entry);
	free(told);
	app_end(&app);
}

static void a_link_announced_as_an_object_gets_its_new_text(void)
{
	struct pathcache_entry *entry;
	struct app app;

	for (int late = 0; late < 2; late++) {
		app_begin(&app);
		ts_ns_add(&app.ns, "/l", S_IFLNK | 0777, "one")->late_link = late != 0;
		CHECK(link_says(&app, "/l", "one"));
		entry = get_link(&app, "/l");
		set_link(&app, "/l", "three");
		CHECK_EQ(pathcache_invalidate_entry(app.cache, entry), 0);
		CHECK(link_says(&app, "/l", "three"));
		pathcache_put(app.cache, entry);
		CHECK(link_says(&app, "/l", "three"));
		app_end(&app);
	}
}

/* ---- calls that others began ------------------------------------------- */

static void a_stale_flight_is_not_joined(void)
{
	struct flight leader = {.ask = ask_stat, .path = "/x"};
	struct asker second = {0};
	struct app app;

	app_begin(&app);
	leader.app = &app;
	flight_begin(&leader, TS_LOOKUP, "x");
	ts_ns_add(&app.ns, "/x", S_IFREG | 0644, NULL);
	announce(&app, NULL, "x");
	asker_start(&second, app.cache, "/x");
	CHECK_EQ(asker_finish(&second), 0);
	flight_end(&leader);
	CHECK(leader.rc == 0 || leader.rc == -ENOENT);
	CHECK_EQ(ts_stat_err(app.cache, "/x"), 0);
	app_end(&app);
}

/* The older leader's waiters do not become the newer one's. */
static void a_later_flight_does_not_land_an_older_answer(void)
{
	struct flight old = {.ask = ask_stat, .path = "/x"};
	struct flight later = {.ask = ask_stat, .path = "/x"};
	struct app app;

	app_begin(&app);
	old.app = &app;
	later.app = &app;
	flight_begin(&old, TS_LOOKUP, "x");
	ts_ns_add(&app.ns, "/x", S_IFREG | 0644, NULL);
	announce(&app, NULL, "x");
	flight_begin(&later, TS_LOOKUP, "x");
	flight_end(&old);
	CHECK_EQ(ts_stat_flags(app.cache, "/x", PATHCACHE_CACHED) == -ENOENT, 0);
	flight_end(&later);
	CHECK_EQ(later.rc, 0);
	CHECK_EQ(ts_stat_err(app.cache, "/x"), 0);
	app_end(&app);
}

/* ---- changes out of a callback ----------------------------------------- */

/* What the backend does between making an answer and giving it; once. */
struct inside {
	struct app app;
	enum ts_call call;
	const char *name;
	void (*act)(struct inside *inside);
	struct pathcache_entry *entry;
	bool armed;
};

static void inside_return(void *arg, enum ts_call call, const char *name)
{
	struct inside *inside = arg;

	if (!inside->armed || call != inside->call || strcmp(name, inside->name) != 0)
		return;
	inside->armed = false;
	inside->act(inside);
}

static void inside_begin(struct inside *inside)
{
	app_begin(&inside->app);
	ts_ns_add(&inside->app.ns, "/d", S_IFDIR | 0755, NULL);
	ts_ns_add(&inside->app.ns, "/d/x", S_IFREG | 0644, NULL);
	ts_ns_add(&inside->app.ns, "/d/y", S_IFREG | 0644, NULL);
	set_size(&inside->app, "/d/x", 1);
	inside->app.ns.on_return = inside_return;
	inside->app.ns.on_call_arg = inside;
}

static void inside_end(struct inside *inside)
{
	CHECK(!inside->armed);
	pathcache_put(inside->app.cache, inside->entry);
	app_end(&inside->app);
}

static void act_grow(struct inside *inside)
{
	set_size(&inside->app, "/d/x", 2);
	CHECK_EQ(pathcache_invalidate_entry(inside->app.cache, inside->entry), 0);
}

static void an_object_changed_inside_its_getattr_is_asked_again(void)
{
	struct inside in = {.call = TS_GETATTR, .name = "", .act = act_grow};
	struct pathcache_attr attr;

	for (int by_entry = 0; by_entry < 2; by_entry++) {
		inside_begin(&in);
		in.entry = ts_get(in.app.cache, "/d/x");
		CHECK_EQ(pathcache_invalidate_entry(in.app.cache, in.entry), 0);
		in.armed = true;
		if (by_entry)
			CHECK_EQ(pathcache_entry_stat(in.app.cache, in.entry, &attr), 0);
		else
			attr_of(in.app.cache, "/d/x");
		CHECK_EQ(size_of(&in.app, "/d/x"), 2);
		CHECK_EQ(pathcache_entry_stat(in.app.cache, in.entry, &attr), 0);
		CHECK_EQ(attr.size, 2);
		inside_end(&in);
	}
}

static void act_close(struct inside *inside)
{
	set_mode(&inside->app, "/d", 0700);
	CHECK_EQ(pathcache_invalidate_entry(inside->app.cache, inside->entry), 0);
}

static void a_directory_closed_inside_its_getattr_is_judged_anew(void)
{
	struct inside in = {.call = TS_GETATTR, .name = "", .act = act_close};

	for (int by_start = 0; by_start < 2; by_start++) {
		inside_begin(&in);
		in.entry = ts_get(in.app.cache, "/d");
		CHECK_EQ(nobody(&in.app, "/d/x"), 0);
		if (by_start)
			announce(&in.app, NULL, "d");
		CHECK_EQ(pathcache_invalidate_entry(in.app.cache, in.entry), 0);
		in.armed = true;
		if (by_start)
			nobody_from(&in.app, in.entry, "x");
		else
			attr_of(in.app.cache, "/d");
		/* Where the cache asked by another callback nothing has happened yet. */
		if (in.armed) {
			in.armed = false;
			act_close(&in);
		}
		CHECK_EQ(nobody(&in.app, "/d/x"), -EACCES);
		CHECK_EQ(nobody_from(&in.app, in.entry, "x"), -EACCES);
		inside_end(&in);
	}
}

static void act_create_below(struct inside *inside)
{
	ts_ns_add(&inside->app.ns, "/d/new", S_IFREG | 0644, NULL);
	CHECK_EQ(pathcache_invalidate_subtree(inside->app.cache, inside->entry), 0);
}

/* The directory's own name was announced: no binding leads to it while it is held. */
static void a_subtree_without_a_name_is_announced_inside_a_lookup(void)
{
	struct inside in = {.call = TS_LOOKUP, .name = "new", .act = act_create_below};
	struct pathcache_how how = {.size = sizeof(how)};
	struct pathcache_attr attr;
	int rc;

	for (int searched = 0; searched < 2; searched++) {
		inside_begin(&in);
		in.entry = ts_get(in.app.cache, "/d");
		announce(&in.app, NULL, "d");
		how.start = in.entry;
		if (searched)
			CHECK_EQ(pathcache_stat(in.app.cache, "y", &how, &attr), 0);
		in.armed = true;
		rc = pathcache_stat(in.app.cache, "new", &how, &attr);
		CHECK(rc == 0 || rc == -ENOENT);
		CHECK_EQ(pathcache_stat(in.app.cache, "new", &how, &attr), 0);
		CHECK_EQ(ts_stat_err(in.app.cache, "/d/new"), 0);
		inside_end(&in);
	}
}

static void act_grow_below(struct inside *inside)
{
	set_size(&inside->app, "/d/x", 2);
	CHECK_EQ(pathcache_invalidate_subtree(inside->app.cache, inside->entry), 0);
}

static void attributes_below_a_subtree_without_a_name_are_asked_again(void)
{
	struct inside in = {.call = TS_LOOKUP, .name = "x", .act = act_grow_below};
	struct pathcache_how how = {.size = sizeof(how)};
	struct pathcache_attr attr = {0};

	inside_begin(&in);
	in.entry = ts_get(in.app.cache, "/d");
	announce(&in.app, NULL, "d");
	how.start = in.entry;
	in.armed = true;
	CHECK_EQ(pathcache_stat(in.app.cache, "x", &how, &attr), 0);
	CHECK_EQ(pathcache_stat(in.app.cache, "x", &how, &attr), 0);
	CHECK_EQ(attr.size, 2);
	CHECK_EQ(size_of(&in.app, "/d/x"), 2);
	inside_end(&in);
}

static void act_close_and_create(struct inside *inside)
{
	set_mode(&inside->app, "/d", 0700);
	ts_ns_add(&inside->app.ns, "/d/new", S_IFREG | 0644, NULL);
	announce(&inside->app, NULL, "d");
}

/* It was open to all while "new" was absent, and never both open and with "new" in it. */
static void a_start_closed_while_a_name_is_looked_up_lets_nobody_in(void)
{
	struct inside in = {.call = TS_LOOKUP, .name = "new", .act = act_close_and_create};
	int rc;

	for (int nameless = 0; nameless < 2; nameless++) {
		inside_begin(&in);
		in.entry = ts_get(in.app.cache, "/d");
		if (nameless)
			announce(&in.app, NULL, "d");
		CHECK_EQ(nobody_from(&in.app, in.entry, "y"), 0);
		in.armed = true;
		rc = nobody_from(&in.app, in.entry, "new");
		CHECK(rc == -ENOENT || rc == -EACCES);
		CHECK_EQ(nobody_from(&in.app, in.entry, "new"), -EACCES);
		CHECK_EQ(nobody_from(&in.app, in.entry, "y"), -EACCES);
		inside_end(&in);
	}
}

static struct inside *closing;

/* The change comes first and is in the answer: what was found was never open. */
static void close_before_answering(void *arg, enum ts_call call, const char *name)
{
	struct inside *in = arg;

	if (!closing || call != TS_LOOKUP || strcmp(name, "new") != 0)
		return;
	closing = NULL;
	act_close_and_create(in);
}

static void a_start_closed_before_a_name_appears_in_it_lets_nobody_in(void)
{
	struct inside in = {.name = ""};
	int rc;

	for (int nameless = 0; nameless < 2; nameless++) {
		inside_begin(&in);
		in.app.ns.on_call = close_before_answering;
		in.entry = ts_get(in.app.cache, "/d");
		if (nameless)
			announce(&in.app, NULL, "d");
		CHECK_EQ(nobody_from(&in.app, in.entry, "y"), 0);
		closing = &in;
		rc = nobody_from(&in.app, in.entry, "new");
		CHECK(rc == -ENOENT || rc == -EACCES);
		CHECK_EQ(nobody_from(&in.app, in.entry, "new"), -EACCES);
		inside_end(&in);
	}
}

/* ---- modes that are learnt on the way ---------------------------------- */

static void a_nameless_parent_closed_by_name_is_judged_anew(void)
{
	struct pathcache_entry *dir, *child;
	struct app app;

	for (int nameless = 0; nameless < 2; nameless++) {
		app_begin(&app);
		ts_ns_add(&app.ns, "/d", S_IFDIR | 0755, NULL);
		ts_ns_add(&app.ns, "/d/e", S_IFDIR | 0755, NULL);
		ts_ns_add(&app.ns, "/d/y", S_IFREG | 0644, NULL);
		dir = ts_get(app.cache, "/d");
		child = ts_get(app.cache, "/d/e");
		if (nameless)
			announce(&app, NULL, "d");
		CHECK_EQ(nobody_from(&app, dir, "y"), 0);
		CHECK_EQ(nobody_from(&app, child, "../y"), 0);
		set_mode(&app, "/d", 0700);
		announce(&app, NULL, "d");
		CHECK_EQ(nobody_from(&app, child, "../y"), -EACCES);
		CHECK_EQ(nobody_from(&app, dir, "y"), -EACCES);
		CHECK_EQ(nobody_from(&app, child, "../y"), -EACCES);
		pathcache_put(app.cache, dir);
		pathcache_put(app.cache, child);
		app_end(&app);
	}
}

/* Nobody told of the chmod, but the cache has answered with the new mode since. */
static void a_mode_that_was_answered_is_a_mode_that_is_judged(void)
{
	struct pathcache_entry *dir;
	struct pathcache_attr attr;
	struct app app;

	enum { BY_PATH, BY_ENTRY, BY_NEW_NAME, WAYS };

	for (int way = 0; way < WAYS; way++) {
		app_begin(&app);
		ts_ns_add(&app.ns, "/d", S_IFDIR | 0755, NULL);
		ts_ns_add(&app.ns, "/d/x", S_IFREG | 0644, NULL);
		dir = ts_get(app.cache, "/d");
		CHECK_EQ(nobody(&app, "/d/x"), 0);
		CHECK_EQ(nobody_from(&app, dir, "x"), 0);
		set_mode(&app, "/d", 0700);
		if (way == BY_NEW_NAME)
			ts_ns_rename(&app.ns, "/d", "/e");
		else
			announce(&app, dir, "other"); /* drops the attributes, not the name */
		if (way == BY_PATH)
			attr = attr_of(app.cache, "/d");
		else if (way == BY_ENTRY)
			CHECK_EQ(pathcache_entry_stat(app.cache, dir, &attr), 0);
		else
			attr = attr_of(app.cache, "/e");
		CHECK_EQ(attr.mode & 07777, 0700);
		CHECK_EQ(nobody(&app, way == BY_NEW_NAME ? "/e/x" : "/d/x"), -EACCES);
		CHECK_EQ(nobody_from(&app, dir, "x"), -EACCES);
		pathcache_put(app.cache, dir);
		app_end(&app);
	}
}

/* ---- several names ----------------------------------------------------- */

static void hard_begin(struct app *app)
{
	app_begin(app);
	ts_ns_add(&app->ns, "/p", S_IFDIR | 0755, NULL);
	ts_ns_add(&app->ns, "/q", S_IFDIR | 0755, NULL);
	ts_ns_add(&app->ns, "/p/a", S_IFREG | 0644, NULL);
	ts_ns_link(&app->ns, "/p/a", "/q/b");
	set_size(app, "/p/a", 1);
}

static void a_hard_link_is_asked_again_when_a_name_not_in_memory_is_announced(void)
{
	struct pathcache_entry *dir;
	struct app app;

	hard_begin(&app);
	CHECK_EQ(size_of(&app, "/q/b"), 1);
	set_size(&app, "/p/a", 2);
	dir = ts_get(app.cache, "/p");
	announce(&app, dir, "a");
	CHECK_EQ(size_of(&app, "/q/b"), 2);
	pathcache_put(app.cache, dir);
	app_end(&app);
}

/* The name is found absent before that is announced: that it led to nothing is news. */
static void a_hard_link_is_asked_again_when_its_name_was_found_absent(void)
{
	struct pathcache_entry *dir;
	struct app app;

	hard_begin(&app);
	CHECK_EQ(attr_of(app.cache, "/q/b").nlink, 2);
	ts_ns_remove(&app.ns, "/p/a");
	CHECK_EQ(ts_stat_err(app.cache, "/p/a"), -ENOENT);
	dir = ts_get(app.cache, "/p");
	announce(&app, dir, "a");
	CHECK_EQ(attr_of(app.cache, "/q/b").nlink, 1);
	pathcache_put(app.cache, dir);
	app_end(&app);
}

static void a_hard_link_takes_no_answer_from_before_its_other_name_was_announced(void)
{
	struct flight flight = {.ask = ask_stat, .path = "/q/b"};
	struct pathcache_entry *dir;
	struct app app;

	hard_begin(&app);
	flight.app = &app;
	CHECK_EQ(size_of(&app, "/p/a"), 1);
	flight_begin(&flight, TS_LOOKUP, "b");
	set_size(&app, "/p/a", 2);
	dir = ts_get(app.cache, "/p");
	announce(&app, dir, "a");
	flight_end(&flight);
	CHECK_EQ(size_of(&app, "/q/b"), 2);
	pathcache_put(app.cache, dir);
	app_end(&app);
}

static void a_hard_link_in_memory_is_asked_again_by_each_of_its_names(void)
{
	struct pathcache_entry *dir;
	struct app app;

	hard_begin(&app);
	CHECK_EQ(size_of(&app, "/p/a"), 1);
	CHECK_EQ(size_of(&app, "/q/b"), 1);
	set_size(&app, "/p/a", 2);
	dir = ts_get(app.cache, "/p");
	announce(&app, dir, "a");
	CHECK_EQ(size_of(&app, "/q/b"), 2);
	CHECK_EQ(size_of(&app, "/p/a"), 2);
	pathcache_put(app.cache, dir);
	app_end(&app);
}

/* ---- paths of held entries --------------------------------------------- */

static void a_path_from_before_all_was_announced_is_not_told(void)
{
	struct pathcache_entry *entry;
	struct scene s;
	char buf[256];

	scene_begin(&s);
	ts_dir(&s.tree, "a", 0755);
	ts_dir(&s.tree, "a/b", 0755);
	ts_file(&s.tree, "a/b/f", 0644, "f");
	entry = ts_get(s.cache, "/a/b/f");
	CHECK_EQ(pathcache_entry_path(s.cache, entry, buf, sizeof(buf)), 6);
	ts_rename(&s.tree, "a", "z");
	CHECK_EQ(pathcache_invalidate_all(s.cache), 0);
	CHECK_EQ(pathcache_entry_path(s.cache, entry, buf, sizeof(buf)), -ENOENT);
	CHECK_EQ(ts_stat_err(s.cache, "/z/b/f"), 0);
	CHECK_EQ(pathcache_entry_path(s.cache, entry, buf, sizeof(buf)), 6);
	CHECK(strcmp(buf, "/z/b/f") == 0);
	pathcache_put(s.cache, entry);
	scene_end(&s);
}

static const struct ts_case cases[] = {
	TS_CASE(a_name_announced_in_an_overtaken_directory_is_asked_again),
	TS_CASE(a_subtree_announced_at_an_overtaken_directory_is_asked_again),
	TS_CASE(a_mode_announced_of_an_overtaken_directory_is_judged_anew),
	TS_CASE(an_overtaken_file_announced_as_an_object_is_asked_again),
	TS_CASE(an_overtaken_answer_makes_no_directory_of_its_old_mode),
	TS_CASE(an_overtaken_answer_makes_no_file_of_its_old_size),
	TS_CASE(a_nameless_file_keeps_no_overtaken_attributes),
	TS_CASE(a_nameless_start_keeps_no_overtaken_mode),
	TS_CASE(a_link_keeps_no_overtaken_text),
	TS_CASE(an_overtaken_answer_makes_no_link_of_its_old_text),
	TS_CASE(a_link_announced_as_an_object_gets_its_new_text),
	TS_CASE(a_stale_flight_is_not_joined),
	TS_CASE(a_later_flight_does_not_land_an_older_answer),
	TS_CASE(an_object_changed_inside_its_getattr_is_asked_again),
	TS_CASE(a_directory_closed_inside_its_getattr_is_judged_anew),
	TS_CASE(a_subtree_without_a_name_is_announced_inside_a_lookup),
	TS_CASE(attributes_below_a_subtree_without_a_name_are_asked_again),
	TS_CASE(a_start_closed_while_a_name_is_looked_up_lets_nobody_in),
	TS_CASE(a_start_closed_before_a_name_appears_in_it_lets_nobody_in),
	TS_CASE(a_nameless_parent_closed_by_name_is_judged_anew),
	TS_CASE(a_mode_that_was_answered_is_a_mode_that_is_judged),
	TS_CASE(a_hard_link_is_asked_again_when_a_name_not_in_memory_is_announced),
	TS_CASE(a_hard_link_is_asked_again_when_its_name_was_found_absent),
	TS_CASE(a_hard_link_takes_no_answer_from_before_its_other_name_was_announced),
	TS_CASE(a_hard_link_in_memory_is_asked_again_by_each_of_its_names),
	TS_CASE(a_path_from_before_all_was_announced_is_not_told),
};

int main(int argc, char **argv)
{
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
