/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What nobody tells changes of is believed for a time, from when it was asked for.
 *
 * The clock of the caches is stopped, and moved on by the test; so nothing here
 * waits, the machine sleeps when the test says so, and what anybody does to the wall
 * clock cannot matter (L26).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "scene.h"
#include "testing.h"

#define TTL 16000u    /* milliseconds */
#define YOUNG 13900u  /* still believed: seven eighths, less two ticks of the kernel */
#define OLD 16001u    /* not any more */
#define LONG 1600000u /* as good as for ever */

#define DEEP "/directory/in/a/tree/file" /* long enough for a memo */

static uint64_t clock_ms = 1000000, slept_ms;

static void pass(uint64_t ms)
{
	clock_ms += ms;
	pc_test_clock(clock_ms, slept_ms);
}

static void machine_sleeps(uint64_t ms)
{
	slept_ms += ms;
	pc_test_clock(clock_ms, slept_ms);
}

static struct pathcache_options ttl_options(uint32_t name, uint32_t attr, uint32_t absent)
{
	struct pathcache_options opt;

	pass(LONG);
	pathcache_options_init(&opt);
	opt.coherence = PATHCACHE_COHERENCE_TTL;
	opt.name_ttl_ms = name;
	opt.attr_ttl_ms = attr;
	opt.negative_ttl_ms = absent;
	return opt;
}

static void ttl_app(struct app *app, uint32_t name, uint32_t attr, uint32_t absent)
{
	struct pathcache_options opt = ttl_options(name, attr, absent);

	app_begin_with(app, &opt);
}

/* The deep tree, in which every directory is searched by its own mode. */
static void deep_tree(struct app *app)
{
	ts_ns_add(&app->ns, "/directory", S_IFDIR | 0755, NULL);
	ts_ns_add(&app->ns, "/directory/in", S_IFDIR | 0755, NULL);
	ts_ns_add(&app->ns, "/directory/in/a", S_IFDIR | 0755, NULL);
	ts_ns_add(&app->ns, "/directory/in/a/tree", S_IFDIR | 0755, NULL);
	ts_ns_add(&app->ns, DEEP, S_IFREG | 0644, NULL);
}

static uint64_t calls_of(struct app *app)
{
	return ts_stats(app->cache).backend_calls;
}

static int stat_cached(struct pathcache *cache, const char *path)
{
	return ts_stat_flags(cache, path, PATHCACHE_CACHED);
}

static int may_find(struct pathcache *cache, const char *path)
{
	return pathcache_access(cache, path, F_OK, NULL);
}

/* ---- each kind ------------------------------------------------------------ */

/* What a cache may be made of: by walking, by memo, in each mode. */
static const struct kind {
	uint32_t mode, memo_share;
} kinds[] = {
	{PATHCACHE_MODE_RCU, 0},     {PATHCACHE_MODE_RCU, 25},   {PATHCACHE_MODE_LOCKREF, 0},
	{PATHCACHE_MODE_REFWALK, 0}, {PATHCACHE_MODE_LOCKED, 0},
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static void kind_app(struct app *app, const struct kind *kind, struct pathcache_options opt)
{
	opt.mode = kind->mode;
	opt.memo_share = kind->memo_share;
	app_begin_with(app, &opt);
	deep_tree(app);
}

/* Ask often enough that it is answered by what the cache has for it. */
static void warm(int (*ask)(struct pathcache *cache, const char *path), struct app *app,
                 const char *path, int want)
{
	uint64_t calls;

	for (int i = 0; i < 3; i++)
		CHECK_EQ(ask(app->cache, path), want);
	calls = calls_of(app);
	CHECK_EQ(ask(app->cache, path), want);
	CHECK_EQ(calls_of(app), calls);
}

static void a_name_expires(void)
{
	for (size_t i = 0; i < KINDS; i++) {
		struct app app;
		uint64_t calls;

		kind_app(&app, &kinds[i], ttl_options(TTL, LONG, LONG));
		warm(may_find, &app, DEEP, 0);
		calls = calls_of(&app);
		ts_ns_remove(&app.ns, DEEP);
		pass(YOUNG);
		CHECK_EQ(may_find(app.cache, DEEP), 0);
		CHECK_EQ(calls_of(&app), calls);
		pass(OLD - YOUNG);
		CHECK_EQ(may_find(app.cache, DEEP), -ENOENT);
		app_end(&app);
	}
}

/* B2: what was created by others is seen when the time is over. */
static void an_absent_name_expires(void)
{
	static const char *const none = "/directory/in/a/tree/none";

	for (size_t i = 0; i < KINDS; i++) {
		struct app app;
		uint64_t calls;

		kind_app(&app, &kinds[i], ttl_options(LONG, LONG, TTL));
		warm(ts_stat_err, &app, none, -ENOENT);
		calls = calls_of(&app);
		ts_ns_add(&app.ns, none, S_IFREG | 0644, NULL);
		pass(YOUNG);
		CHECK_EQ(ts_stat_err(app.cache, none), -ENOENT);
		CHECK_EQ(calls_of(&app), calls);
		pass(OLD - YOUNG);
		CHECK_EQ(ts_stat_err(app.cache, none), 0);
		/* One question: the ways there are believed longer. */
		CHECK_EQ(calls_of(&app), calls + 1);
		app_end(&app);
	}
}

/* C2: every field is new, and nobody looks at times of the server to tell (C13, C16). */
static void attributes_expire(void)
{
	for (size_t i = 0; i < KINDS; i++) {
		struct ts_object *file;
		struct pathcache_attr attr;
		struct app app;

		kind_app(&app, &kinds[i], ttl_options(LONG, TTL, LONG));
		warm(ts_stat_err, &app, DEEP, 0);
		file = ts_ns_find(&app.ns, DEEP);
		file->size = 77;
		file->uid = 7;
		file->gid = 8;
		file->mode = S_IFREG | 0600;
		pass(YOUNG);
		CHECK_EQ(attr_of(app.cache, DEEP).size, 0);
		pass(OLD - YOUNG);
		for (int again = 0; again < 4; again++) {
			attr = attr_of(app.cache, DEEP);
			CHECK_EQ(attr.size, 77);
			CHECK_EQ(attr.uid, 7);
			CHECK_EQ(attr.gid, 8);
			CHECK_EQ(attr.mode, S_IFREG | 0600);
		}
		app_end(&app);
	}
}

static void only_what_expired_is_asked(void)
{
	struct app app;
	uint64_t calls;

	ttl_app(&app, LONG, TTL, LONG);
	ts_ns_add(&app.ns, "/f", S_IFREG | 0644, NULL);
	warm(ts_stat_err, &app, "/f", 0);
	calls = calls_of(&app);
	pass(OLD);
	/* The root's, who may search it, and those of the file; not its name. */
	CHECK_EQ(ts_stat_err(app.cache, "/f"), 0);
	CHECK_EQ(ts_ns_calls(&app.ns, TS_LOOKUP), 1);
	CHECK_EQ(calls_of(&app), calls + 2);
	app_end(&app);
}

/* ---- when time begins ------------------------------------------------------ */

static void hits_prolong_nothing(void)
{
	for (size_t i = 0; i < KINDS; i++) {
		struct app app;

		kind_app(&app, &kinds[i], ttl_options(TTL, TTL, TTL));
		warm(ts_stat_err, &app, DEEP, 0);
		ts_ns_set(&app.ns, DEEP, S_IFREG | 0600, 9);
		for (unsigned ms = 0; ms < OLD; ms += 997) {
			attr_of(app.cache, DEEP);
			pass(997);
		}
		CHECK_EQ(attr_of(app.cache, DEEP).size, 9);
		app_end(&app);
	}
}

/* C17: an answer is as old as its question, not as young as its coming. */
static void time_begins_with_the_question(void)
{
	for (int of_attr = 0; of_attr < 2; of_attr++) {
		struct asker asker = {0};
		struct ts_gate *gate;
		struct app app;

		ttl_app(&app, of_attr ? LONG : TTL, of_attr ? TTL : LONG, TTL);
		ts_ns_add(&app.ns, "/f", S_IFREG | 0644, NULL);
		if (of_attr) {
			CHECK_EQ(ts_stat_err(app.cache, "/f"), 0);
			pass(OLD);
			CHECK_EQ(may_find(app.cache, "/f"), 0); /* the root's are new */
			gate = ts_gate_close_for(&app.ns, TS_GATE_AFTER, TS_GETATTR, NULL, 1);
		} else {
			gate = ts_gate_close_for(&app.ns, TS_GATE_AFTER, TS_LOOKUP, "f", 1);
		}
		asker_start(&asker, app.cache, "/f");
		REQUIRE(ts_gate_wait(&app.ns, gate, 1));
		ts_ns_set(&app.ns, "/f", S_IFREG | 0600, 5);
		pass(YOUNG - 100);
		/* A younger question is noted before the answer to the older one comes. */
		CHECK_EQ(ts_stat_err(app.cache, "/none"), -ENOENT);
		ts_gate_open(&app.ns, gate);
		CHECK_EQ(asker_finish(&asker), 0);
		CHECK_EQ(asker.attr.size, 0);
		pass(50);
		CHECK_EQ(attr_of(app.cache, "/f").size, 0);
		pass(OLD - YOUNG + 50);
		CHECK_EQ(attr_of(app.cache, "/f").size, 5);
		app_end(&app);
	}
}

static void an_answer_that_came_too_late_is_not_kept(void)
{
	struct asker asker = {0};
	struct ts_gate *gate;
	struct app app;

	ttl_app(&app, TTL, TTL, TTL);
	ts_ns_add(&app.ns, "/f", S_IFREG | 0644, NULL);
	gate = ts_gate_close_for(&app.ns, TS_GATE_AFTER, TS_LOOKUP, "f", 1);
	asker_start(&asker, app.cache, "/f");
	REQUIRE(ts_gate_wait(&app.ns, gate, 1));
	ts_ns_set(&app.ns, "/f", S_IFREG | 0600, 5);
	pass(OLD);
	/* Who comes now does not wait for what would be too old. */
	CHECK_EQ(attr_of(app.cache, "/f").size, 5);
	ts_gate_open(&app.ns, gate);
	CHECK_EQ(asker_finish(&asker), 0);
	CHECK_EQ(asker.attr.size, 0); /* true when it was asked, during that call */
	for (int i = 0; i < 3; i++)
		CHECK_EQ(attr_of(app.cache, "/f").size, 5);
	CHECK(ts_stats(app.cache).uncached >= 1);
	app_end(&app);
}

static void nothing_is_believed_for_no_time(void)
{
	for (size_t i = 0; i < KINDS; i++) {
		struct app app;

		kind_app(&app, &kinds[i], ttl_options(0, 0, 0));
		for (uint64_t round = 1; round < 6; round++) {
			ts_ns_set(&app.ns, DEEP, S_IFREG | 0644, round);
			CHECK_EQ(attr_of(app.cache, DEEP).size, round);
			CHECK_EQ(ts_stat_err(app.cache, "/directory/none"), -ENOENT);
		}
		ts_ns_remove(&app.ns, DEEP);
		CHECK_EQ(ts_stat_err(app.cache, DEEP), -ENOENT);
		CHECK_EQ(ts_stats(app.cache).negatives, 0);
		CHECK_EQ(ts_stats(app.cache).hits, 0);
		app_end(&app);
	}
}

/* L26: what counts is how long it has been, the time that the machine slept included. */
static void time_goes_on_while_the_machine_sleeps(void)
{
	for (size_t i = 0; i < 2; i++) {
		struct app app;

		kind_app(&app, &kinds[i], ttl_options(TTL, TTL, TTL));
		warm(ts_stat_err, &app, DEEP, 0);
		ts_ns_set(&app.ns, DEEP, S_IFREG | 0600, 9);
		machine_sleeps(OLD);
		pass(1000); /* until it is noticed */
		CHECK_EQ(attr_of(app.cache, DEEP).size, 9);
		app_end(&app);
	}
}

static void by_the_real_clock_too(void)
{
	struct pathcache_options opt = ttl_options(300, 300, 300);
	struct scene s;

	pc_test_clock(0, 0);
	scene_begin_with(&s, &opt);
	AGREE(&s.view, .path = "none");
	ts_file(&s.tree, "f", 0644, "text");
	AGREE(&s.view, .path = "f");
	ts_append(&s.tree, "f", "more");
	ts_chmod(&s.tree, "f", 0600);
	ts_file(&s.tree, "none", 0644, "");
	ts_sleep_us(301000);
	for (int hot = 0; hot < 3; hot++) {
		AGREE(&s.view, .path = "f");
		AGREE(&s.view, .path = "none");
	}
	CHECK(ts_stats(s.cache).hits >= 2);
	scene_end(&s);
	pass(0);
}

/* C13: written again within one tick of the file system, in the same size. */
static void equal_times_are_not_taken_for_no_change(void)
{
	struct pathcache_options opt = ttl_options(TTL, TTL, TTL);
	struct scene s;

	scene_begin_with(&s, &opt);
	for (unsigned i = 0; i < ts_scale(200); i++) {
		ts_file(&s.tree, "f", 0644, "text");
		pass(OLD);
		AGREE(&s.view, .path = "f");
		/* Perhaps the same inode number, in the same tick. */
		ts_unlink(&s.tree, "f");
		ts_file(&s.tree, "f", i % 2 ? 0600 : 0640, "else");
		pass(OLD);
		AGREE(&s.view, .path = "f");
		ts_unlink(&s.tree, "f");
		pass(OLD);
		AGREE(&s.view, .path = "f");
	}
	scene_end(&s);
}

/* ---- what a question costs -------------------------------------------------- */

static void what_has_not_changed_costs_one_question_each(void)
{
	struct pathcache_entry *dir, *file;
	struct pathcache_stats before, s;
	struct app app;

	ttl_app(&app, TTL, TTL, TTL);
	deep_tree(&app);
	CHECK_EQ(ts_stat_err(app.cache, DEEP), 0);
	dir = ts_get(app.cache, "/directory/in/a/tree");
	file = ts_get(app.cache, DEEP);
	for (int round = 0; round < 3; round++) {
		before = ts_stats(app.cache);
		pass(OLD);
		CHECK_EQ(ts_stat_err(app.cache, DEEP), 0);
		s = ts_stats(app.cache);
		/* The root's attributes, and five names. */
		CHECK_EQ(s.backend_calls - before.backend_calls, 6);
		CHECK_EQ(s.expired - before.expired, 6);
		CHECK_EQ(s.revalidated - before.revalidated, 6);
		CHECK_EQ(s.dentries, before.dentries);
		CHECK_EQ(s.nodes, before.nodes);
		CHECK_EQ(ts_stat_err(app.cache, DEEP), 0);
		CHECK_EQ(calls_of(&app), s.backend_calls);
	}
	pathcache_put(app.cache, file);
	pathcache_put(app.cache, dir);
	app_end(&app);
}

/* A directory's name that is asked anew, with the same answer, loses nothing below. */
static void a_subtree_stays_while_its_directory_is_asked_anew(void)
{
	struct pathcache_options opt = ttl_options(TTL, TTL, TTL);
	struct ts_object *far;
	uint64_t calls;
	struct app app;

	app_begin_with(&app, &opt);
	deep_tree(&app);
	CHECK_EQ(ts_stat_err(app.cache, "/directory/in"), 0);
	pass(YOUNG - 1000);
	warm(ts_stat_err, &app, DEEP, 0); /* remembered: a memo ends with the first that expires */
	pass(OLD - YOUNG + 1000);
	calls = calls_of(&app);
	far = ts_ns_find(&app.ns, DEEP);
	far->size = 3;
	/* The root, and two names; what is in them is younger. */
	CHECK_EQ(attr_of(app.cache, DEEP).size, 0);
	CHECK_EQ(calls_of(&app), calls + 3);
	app_end(&app);
}

static void another_object_of_the_name_is_noticed(void)
{
	struct pathcache_stats s;
	struct app app;
	uint64_t ino;

	ttl_app(&app, TTL, TTL, TTL);
	deep_tree(&app);
	ino = ts_cache_ino(app.cache, DEEP);
	ts_ns_remove(&app.ns, DEEP);
	ts_ns_add(&app.ns, DEEP, S_IFREG | 0644, NULL);
	pass(OLD);
	CHECK(ts_cache_ino(app.cache, DEEP) != ino);
	s = ts_stats(app.cache);
	CHECK_EQ(s.expired, 6);
	CHECK_EQ(s.revalidated, 5);
	app_end(&app);
}

/* ---- ways ------------------------------------------------------------------- */

static void who_may_search_expires(void)
{
	for (size_t i = 0; i < KINDS; i++) {
		struct pathcache_options opt = ttl_options(LONG, TTL, LONG);
		struct app app;

		kind_app(&app, &kinds[i], opt);
		for (int hot = 0; hot < 4; hot++)
			CHECK_EQ(ts_stat_as(app.cache, DEEP, &ts_nobody), 0);
		ts_ns_set(&app.ns, "/directory/in", S_IFDIR | 0700, 0);
		pass(YOUNG);
		CHECK_EQ(ts_stat_as(app.cache, DEEP, &ts_nobody), 0);
		pass(OLD - YOUNG);
		for (int hot = 0; hot < 4; hot++)
			CHECK_EQ(ts_stat_as(app.cache, DEEP, &ts_nobody), -EACCES);
		ts_ns_set(&app.ns, "/directory/in", S_IFDIR | 0711, 0);
		pass(OLD);
		CHECK_EQ(ts_stat_as(app.cache, DEEP, &ts_nobody), 0);
		app_end(&app);
	}
}

static void where_a_link_leads_expires(void)
{
	for (int late = 0; late < 2; late++) {
		struct ts_object *link;
		struct app app;

		ttl_app(&app, TTL, TTL, TTL);
		ts_ns_add(&app.ns, "/one", S_IFREG | 0644, NULL);
		ts_ns_add(&app.ns, "/two", S_IFREG | 0600, NULL);
		link = ts_ns_add(&app.ns, "/the-link-to-it", S_IFLNK | 0777, "one");
		link->late_link = late;
		for (int hot = 0; hot < 4; hot++)
			CHECK_EQ(attr_of(app.cache, "/the-link-to-it").mode, S_IFREG | 0644);
		memcpy(link->link, "two", 3);
		pass(OLD);
		for (int hot = 0; hot < 4; hot++)
			CHECK_EQ(attr_of(app.cache, "/the-link-to-it").mode, S_IFREG | 0600);
		app_end(&app);
	}
}

static int stat_from(struct pathcache *cache, struct pathcache_entry *start, const char *path,
                     const struct ts_cred *who, struct pathcache_attr *attr)
{
	struct pathcache_cred cred = ts_to_cred(who ? who : &ts_nobody);
	struct pathcache_how how = {.size = sizeof(how), .start = start};

	if (who)
		how.cred = &cred;
	return pathcache_stat(cache, path, &how, attr);
}

static void a_held_start_expires_like_others(void)
{
	struct pathcache_entry *dir;
	struct pathcache_attr attr;
	struct app app;
	uint64_t calls;

	ttl_app(&app, TTL, TTL, TTL);
	deep_tree(&app);
	dir = ts_get(app.cache, "/directory/in/a/tree");
	CHECK_EQ(stat_from(app.cache, dir, "file", &ts_nobody, &attr), 0);
	calls = calls_of(&app);
	for (int hot = 0; hot < 4; hot++)
		CHECK_EQ(stat_from(app.cache, dir, "file", &ts_nobody, &attr), 0);
	CHECK_EQ(calls_of(&app), calls);
	ts_ns_set(&app.ns, "/directory/in/a/tree", S_IFDIR | 0700, 0);
	pass(OLD);
	CHECK_EQ(stat_from(app.cache, dir, "file", &ts_nobody, &attr), -EACCES);
	calls = calls_of(&app);
	CHECK_EQ(stat_from(app.cache, dir, "file", &ts_nobody, &attr), -EACCES);
	CHECK_EQ(calls_of(&app), calls);
	ts_ns_set(&app.ns, "/directory/in/a/tree", S_IFDIR | 0755, 0);
	pass(OLD);
	CHECK_EQ(stat_from(app.cache, dir, "file", &ts_nobody, &attr), 0);
	CHECK_EQ(pathcache_entry_stat(app.cache, dir, &attr), 0);
	CHECK_EQ(attr.mode, S_IFDIR | 0755);
	pathcache_put(app.cache, dir);
	app_end(&app);
}

static void the_directory_above_expires(void)
{
	struct pathcache_options opt = ttl_options(TTL, TTL, TTL);
	struct pathcache_entry *dir;
	struct ts_start start;
	struct scene s;

	ts_offline(); /* or no descriptor of the start is kept */
	scene_begin_with(&s, &opt);
	ts_dir(&s.tree, "one", 0755);
	ts_dir(&s.tree, "two", 0755);
	ts_dir(&s.tree, "one/dir", 0755);
	ts_file(&s.tree, "one/f", 0644, "1");
	ts_file(&s.tree, "two/f", 0644, "two");
	dir = ts_get(s.cache, "one/dir");
	start.entry = dir;
	start.fd = openat(s.tree.fd, "one/dir", O_PATH);
	for (int hot = 0; hot < 4; hot++)
		AGREE(&s.view, .path = "../f", .start = &start);
	ts_rename(&s.tree, "one/dir", "two/dir");
	pass(OLD);
	for (int hot = 0; hot < 4; hot++) {
		AGREE(&s.view, .path = "../f", .start = &start);
		AGREE(&s.view, .path = "../../two/dir/../f", .start = &start);
		AGREE(&s.view, .path = "..", .start = &start);
	}
	close(start.fd);
	pathcache_put(s.cache, dir);
	scene_end(&s);
}

static void what_expired_is_not_in_memory(void)
{
	char buf[64];
	struct pathcache_entry *dir;
	struct app app;
	int rc[2] = {0, 0};
	struct pathcache_attr attrs[2];
	const char *const paths[] = {DEEP, "/directory/in/a/tree/none"};

	ttl_app(&app, TTL, TTL, TTL);
	deep_tree(&app);
	for (int hot = 0; hot < 4; hot++)
		CHECK_EQ(pathcache_stat_many(app.cache, paths, 2, NULL, attrs, rc), 0);
	dir = ts_get(app.cache, "/directory/in");
	CHECK_EQ(pathcache_entry_path(app.cache, dir, buf, sizeof(buf)), 13);
	CHECK_EQ(stat_cached(app.cache, DEEP), 0);
	pass(OLD);
	CHECK_EQ(stat_cached(app.cache, DEEP), -EAGAIN);
	CHECK_EQ(stat_cached(app.cache, paths[1]), -EAGAIN);
	CHECK_EQ(pathcache_entry_path(app.cache, dir, buf, sizeof(buf)), -ENOENT);
	ts_ns_add(&app.ns, paths[1], S_IFREG | 0644, NULL);
	ts_ns_remove(&app.ns, DEEP);
	CHECK_EQ(pathcache_stat_many(app.cache, paths, 2, NULL, attrs, rc), 0);
	CHECK_EQ(rc[0], -ENOENT);
	CHECK_EQ(rc[1], 0);
	CHECK_EQ(pathcache_realpath(app.cache, paths[1], NULL, buf, sizeof(buf)), 25);
	pathcache_put(app.cache, dir);
	app_end(&app);
}

static void what_is_announced_is_not_believed_to_its_end(void)
{
	struct app app;

	ttl_app(&app, LONG, LONG, LONG);
	deep_tree(&app);
	warm(ts_stat_err, &app, DEEP, 0);
	ts_ns_remove(&app.ns, DEEP);
	changed(app.cache, DEEP);
	CHECK_EQ(ts_stat_err(app.cache, DEEP), -ENOENT);
	ts_ns_add(&app.ns, DEEP, S_IFREG | 0644, NULL);
	CHECK_EQ(pathcache_invalidate_all(app.cache), 0);
	CHECK_EQ(ts_stat_err(app.cache, DEEP), 0);
	app_end(&app);
}

/* ---- the old while another asks --------------------------------------------- */

static void stale_app(struct app *app, uint32_t name, uint32_t attr)
{
	struct pathcache_options opt = ttl_options(name, attr, TTL);

	opt.stale_ms = TTL;
	app_begin_with(app, &opt);
	ts_ns_add(&app->ns, "/f", S_IFREG | 0644, NULL);
	CHECK_EQ(ts_stat_err(app->cache, "/f"), 0);
	CHECK_EQ(ts_stat_err(app->cache, "/none"), -ENOENT);
	ts_ns_set(&app->ns, "/f", S_IFREG | 0600, 9);
	ts_ns_add(&app->ns, "/none", S_IFREG | 0600, NULL);
}

static void the_old_name_is_given_while_another_asks(void)
{
	struct asker asker = {0}, late = {0};
	struct ts_gate *gate;
	struct app app;
	uint64_t calls;

	stale_app(&app, TTL, TTL);
	pass(OLD);
	gate = ts_gate_close_for(&app.ns, TS_GATE_BEFORE, TS_LOOKUP, "f", 1);
	asker_start(&asker, app.cache, "/f");
	REQUIRE(ts_gate_wait(&app.ns, gate, 1));
	calls = calls_of(&app);
	CHECK_EQ(attr_of(app.cache, "/f").size, 0);
	CHECK_EQ(attr_of(app.cache, "/f").size, 0);
	CHECK_EQ(calls_of(&app), calls);
	CHECK_EQ(ts_stats(app.cache).stale_served, 2);
	pass(TTL);
	/* Older than stale_ms on top: this one waits. */
	asker_start(&late, app.cache, "/f");
	CHECK(!ts_thread_ends(&late.thread, 50) || late.attr.size == 9);
	ts_gate_open(&app.ns, gate);
	CHECK_EQ(asker_finish(&asker), 0);
	CHECK_EQ(asker.attr.size, 9);
	CHECK_EQ(asker_finish(&late), 0);
	CHECK_EQ(late.attr.size, 9);
	CHECK_EQ(ts_stats(app.cache).stale_served, 2);
	app_end(&app);
}

static void the_old_absence_is_told_while_another_asks(void)
{
	struct asker asker = {0};
	struct ts_gate *gate;
	struct app app;

	stale_app(&app, TTL, TTL);
	pass(OLD);
	gate = ts_gate_close_for(&app.ns, TS_GATE_BEFORE, TS_LOOKUP, "none", 1);
	asker_start(&asker, app.cache, "/none");
	REQUIRE(ts_gate_wait(&app.ns, gate, 1));
	CHECK_EQ(ts_stat_err(app.cache, "/none"), -ENOENT);
	/* Nobody asks for this one. */
	CHECK_EQ(attr_of(app.cache, "/f").size, 9);
	ts_gate_open(&app.ns, gate);
	CHECK_EQ(asker_finish(&asker), 0);
	CHECK_EQ(ts_stat_err(app.cache, "/none"), 0);
	CHECK_EQ(ts_stats(app.cache).stale_served, 1);
	app_end(&app);
}

static void old_attributes_are_given_while_another_asks(void)
{
	struct asker asker = {0};
	struct ts_gate *gate;
	struct app app;

	stale_app(&app, LONG, TTL);
	pass(OLD);
	CHECK_EQ(may_find(app.cache, "/f"), 0); /* the root's are new */
	gate = ts_gate_close_for(&app.ns, TS_GATE_BEFORE, TS_GETATTR, NULL, 1);
	asker_start(&asker, app.cache, "/f");
	REQUIRE(ts_gate_wait(&app.ns, gate, 1));
	CHECK_EQ(attr_of(app.cache, "/f").size, 0);
	ts_gate_open(&app.ns, gate);
	CHECK_EQ(asker_finish(&asker), 0);
	CHECK_EQ(asker.attr.size, 9);
	CHECK_EQ(attr_of(app.cache, "/f").size, 9);
	CHECK_EQ(ts_stats(app.cache).stale_served, 1);
	app_end(&app);
}

static void an_old_start_will_do_while_another_asks(void)
{
	struct asker asker = {0};
	struct ts_gate *gate;
	struct app app;

	stale_app(&app, TTL, TTL);
	pass(OLD);
	gate = ts_gate_close_for(&app.ns, TS_GATE_BEFORE, TS_GETATTR, NULL, 1);
	asker_start(&asker, app.cache, "/f");
	REQUIRE(ts_gate_wait(&app.ns, gate, 1));
	CHECK_EQ(attr_of(app.cache, "/f").size, 9);
	CHECK_EQ(ts_stats(app.cache).stale_served, 1);
	ts_gate_open(&app.ns, gate);
	CHECK_EQ(asker_finish(&asker), 0);
	app_end(&app);
}

/* ---- where ------------------------------------------------------------------ */

/* All changes are announced but in what the backend says nobody can promise that for. */
static void a_backend_may_say_what_expires(void)
{
	struct pathcache_options opt = ttl_options(TTL, TTL, TTL);
	struct ts_object *theirs;
	struct app app;

	opt.coherence = PATHCACHE_COHERENCE_EXCLUSIVE;
	app_begin_with(&app, &opt);
	ts_ns_add(&app.ns, "/ours", S_IFDIR | 0755, NULL);
	ts_ns_add(&app.ns, "/ours/f", S_IFREG | 0644, NULL);
	theirs = ts_ns_add(&app.ns, "/theirs", S_IFDIR | 0755, NULL);
	theirs->reply_flags = PATHCACHE_REPLY_EXPIRES;
	ts_ns_add(&app.ns, "/theirs/f", S_IFREG | 0644, NULL);
	for (int hot = 0; hot < 4; hot++) {
		CHECK_EQ(ts_stat_as(app.cache, "/ours/f", &ts_nobody), 0);
		CHECK_EQ(ts_stat_as(app.cache, "/theirs/f", &ts_nobody), 0);
	}
	ts_ns_remove(&app.ns, "/ours/f");
	ts_ns_set(&app.ns, "/theirs/f", S_IFREG | 0644, 8);
	pass(YOUNG);
	CHECK_EQ(attr_of(app.cache, "/theirs/f").size, 0);
	pass(OLD - YOUNG);
	CHECK_EQ(attr_of(app.cache, "/theirs/f").size, 8);
	CHECK_EQ(ts_stat_err(app.cache, "/ours/f"), 0);
	ts_ns_set(&app.ns, "/theirs", S_IFDIR | 0700, 0);
	pass(OLD);
	CHECK_EQ(ts_stat_as(app.cache, "/theirs/f", &ts_nobody), -EACCES);
	CHECK_EQ(ts_stat_err(app.cache, "/ours/f"), 0);
	app_end(&app);
}

static long pretended_type;

/* Instead of the C library's: what the library is told of a file system's type. */
int fstatfs(int fd, struct statfs *fs)
{
	long rc = syscall(SYS_fstatfs, fd, fs);

	if (rc == 0 && pretended_type)
		fs->f_type = (__typeof__(fs->f_type))pretended_type;
	return (int)rc;
}

/* G7: whose changes no kernel tells expires even where all others are announced. */
static void network_file_systems_expire(void)
{
	static const long types[] = {NFS_SUPER_MAGIC,  SMB_SUPER_MAGIC,  0xfe534d42,
	                             V9FS_MAGIC,       FUSE_SUPER_MAGIC, AFS_SUPER_MAGIC,
	                             CEPH_SUPER_MAGIC, 0x786f4256,       EXT4_SUPER_MAGIC};
	size_t n = sizeof(types) / sizeof(types[0]);

	for (size_t i = 0; i < n; i++) {
		struct pathcache_options opt = ttl_options(TTL, TTL, TTL);
		bool expires = i < n - 1;
		struct scene s;

		opt.coherence = PATHCACHE_COHERENCE_EXCLUSIVE;
		pretended_type = types[i];
		scene_begin_with(&s, &opt);
		ts_dir(&s.tree, "d", 0755);
		ts_file(&s.tree, "d/f", 0644, "text");
		for (int hot = 0; hot < 4; hot++) {
			CHECK_EQ(ts_stat_err(s.cache, "d/f"), 0);
			CHECK_EQ(ts_stat_err(s.cache, "d/none"), -ENOENT);
		}
		ts_unlink(&s.tree, "d/f");
		ts_file(&s.tree, "d/none", 0644, "text");
		pass(OLD);
		CHECK_EQ(ts_stat_err(s.cache, "d/f"), expires ? -ENOENT : 0);
		CHECK_EQ(ts_stat_err(s.cache, "d/none"), expires ? 0 : -ENOENT);
		scene_end(&s);
	}
	pretended_type = 0;
}

static void nothing_is_taken_for_complete_that_expires(void)
{
	struct pathcache_options opt = ttl_options(TTL, TTL, TTL);
	struct app app;
	char name[16];

	opt.complete_max = 1000;
	app_begin_with(&app, &opt);
	ts_ns_add(&app.ns, "/f", S_IFREG | 0644, NULL);
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "/no%d", i);
		CHECK_EQ(ts_stat_err(app.cache, name), -ENOENT);
	}
	CHECK_EQ(ts_stats(app.cache).listings, 0);
	CHECK_EQ(ts_ns_calls(&app.ns, TS_LIST), 0);
	app_end(&app);
}

/* ---- looking inside ---------------------------------------------------------- */

struct seen {
	unsigned n;
	uint32_t trust, left_min, left_max, memo;
};

static int see(void *arg, const struct pathcache_binding *b)
{
	struct seen *seen = arg;

	seen->trust = b->trust;
	if (!seen->n || b->left_ms < seen->left_min)
		seen->left_min = b->left_ms;
	if (b->left_ms > seen->left_max)
		seen->left_max = b->left_ms;
	seen->memo = b->memo;
	seen->n++;
	return 0;
}

static void how_long_it_is_believed_is_told(void)
{
	struct seen seen = {0};
	struct app app;

	ttl_app(&app, TTL, TTL, TTL);
	deep_tree(&app);
	for (int hot = 0; hot < 4; hot++)
		CHECK_EQ(ts_stat_err(app.cache, DEEP), 0);
	pass(6000);
	CHECK_EQ(pathcache_explain(app.cache, DEEP, NULL, see, &seen), 0);
	CHECK_EQ(seen.n, 6);
	CHECK_EQ(seen.trust, PATHCACHE_TRUST_TTL);
	CHECK_EQ(seen.memo, 1);
	CHECK(seen.left_min >= 9000 && seen.left_max <= 10000);
	pass(OLD - 6000);
	memset(&seen, 0, sizeof(seen));
	CHECK_EQ(pathcache_explain(app.cache, DEEP, NULL, see, &seen), -EAGAIN);
	CHECK_EQ(seen.n, 1);
	CHECK_EQ(seen.trust, PATHCACHE_TRUST_NONE);
	app_end(&app);
}

static const struct ts_case cases[] = {
	TS_CASE(a_name_expires),
	TS_CASE(an_absent_name_expires),
	TS_CASE(attributes_expire),
	TS_CASE(only_what_expired_is_asked),
	TS_CASE(hits_prolong_nothing),
	TS_CASE(time_begins_with_the_question),
	TS_CASE(an_answer_that_came_too_late_is_not_kept),
	TS_CASE(nothing_is_believed_for_no_time),
	TS_CASE(time_goes_on_while_the_machine_sleeps),
	TS_CASE(by_the_real_clock_too),
	TS_CASE(equal_times_are_not_taken_for_no_change),
	TS_CASE(what_has_not_changed_costs_one_question_each),
	TS_CASE(a_subtree_stays_while_its_directory_is_asked_anew),
	TS_CASE(another_object_of_the_name_is_noticed),
	TS_CASE(who_may_search_expires),
	TS_CASE(where_a_link_leads_expires),
	TS_CASE(a_held_start_expires_like_others),
	TS_CASE(the_directory_above_expires),
	TS_CASE(what_expired_is_not_in_memory),
	TS_CASE(what_is_announced_is_not_believed_to_its_end),
	TS_CASE(the_old_name_is_given_while_another_asks),
	TS_CASE(the_old_absence_is_told_while_another_asks),
	TS_CASE(old_attributes_are_given_while_another_asks),
	TS_CASE(an_old_start_will_do_while_another_asks),
	TS_CASE(a_backend_may_say_what_expires),
	TS_CASE(network_file_systems_expire),
	TS_CASE(nothing_is_taken_for_complete_that_expires),
	TS_CASE(how_long_it_is_believed_is_told),
};

int main(int argc, char **argv)
{
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
