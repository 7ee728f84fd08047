/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Directories whose names are all known. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scene.h"

static struct pathcache_options options(uint64_t complete_max)
{
	struct pathcache_options opt;

	pathcache_options_init(&opt);
	opt.complete_max = complete_max;
	return opt;
}

/* What a listing told. */
struct told {
	unsigned n, stop_at; /* 0: never */
	uint64_t cookie;
	char names[64][32];
	uint64_t ino[64];
	uint32_t type[64];
	void (*each)(struct told *t, unsigned nth);
	void *arg;
};

static int tell(void *arg, const char *name, size_t len, uint64_t ino, uint32_t type,
                uint64_t cookie)
{
	struct told *t = arg;

	REQUIRE(t->n < 64 && len < 32);
	CHECK_EQ(strlen(name), len);
	memcpy(t->names[t->n], name, len + 1);
	t->ino[t->n] = ino;
	t->type[t->n] = type;
	t->cookie = cookie;
	t->n++;
	if (t->each)
		t->each(t, t->n);
	return t->stop_at && t->n == t->stop_at;
}

static int count(void *arg, const char *name, size_t len, uint64_t ino, uint32_t type,
                 uint64_t cookie)
{
	(void)name, (void)len, (void)ino, (void)type, (void)cookie;
	++*(unsigned *)arg;
	return 0;
}

static void list_from(struct pathcache *cache, const char *path, uint64_t cookie, struct told *t)
{
	struct pathcache_entry *dir = ts_get(cache, path);

	CHECK_EQ(pathcache_readdir(cache, dir, cookie, tell, t), 0);
	pathcache_put(cache, dir);
}

static struct told list(struct pathcache *cache, const char *path)
{
	struct told t;

	memset(&t, 0, sizeof(t));
	list_from(cache, path, 0, &t);
	return t;
}

static bool has(const struct told *t, const char *name)
{
	unsigned n = 0;

	for (unsigned i = 0; i < t->n; i++)
		n += strcmp(t->names[i], name) == 0;
	CHECK(n <= 1);
	return n;
}

static void check_same(const struct told *a, const struct told *b)
{
	CHECK_EQ(a->n, b->n);
	for (unsigned i = 0; i < a->n && i < b->n; i++) {
		CHECK(strcmp(a->names[i], b->names[i]) == 0);
		CHECK_EQ(a->ino[i], b->ino[i]);
		CHECK_EQ(a->type[i], b->type[i]);
	}
	CHECK_EQ(a->cookie, b->cookie);
}

/* d with the files f0... */
static void fill_dir(struct app *app, unsigned n)
{
	char path[32];

	ts_ns_add(&app->ns, "d", S_IFDIR | 0755, NULL);
	for (unsigned i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "d/f%u", i);
		ts_ns_add(&app->ns, path, S_IFREG | 0644, NULL);
	}
}

static void begin(struct app *app, uint64_t complete_max, unsigned n)
{
	struct pathcache_options opt = options(complete_max);

	app_begin_with(app, &opt);
	fill_dir(app, n);
}

static void absent_names_of_a_listed_directory_ask_nobody(void)
{
	struct pathcache_stats stats;
	struct app app;
	uint64_t calls;
	char path[32];

	begin(&app, 100, 3);
	CHECK_EQ(list(app.cache, "d").n, 3);
	calls = ts_ns_calls(&app.ns, TS_LOOKUP);
	for (int i = 0; i < 50; i++) {
		snprintf(path, sizeof(path), "d/absent%d", i % 25);
		CHECK_EQ(ts_stat_err(app.cache, path), -ENOENT);
		snprintf(path, sizeof(path), "d/absent%d/below", i % 25);
		CHECK_EQ(ts_stat_flags(app.cache, path, PATHCACHE_CACHED), -ENOENT);
	}
	CHECK_EQ(ts_ns_calls(&app.ns, TS_LOOKUP), calls);
	stats = ts_stats(app.cache);
	CHECK_EQ(stats.negatives, 0);
	CHECK_EQ(stats.listings, 1);
	CHECK_EQ(stats.listings_made, 1);
	CHECK(stats.listed_hits >= 25);
	CHECK(stats.listing_bytes > 0);
	CHECK_EQ(ts_stat_err(app.cache, "d/f1"), 0);
	CHECK_EQ(ts_ns_calls(&app.ns, TS_LOOKUP), calls + 1);
	app_end(&app);
}

static void nothing_is_complete_unless_it_is_asked_for(void)
{
	struct app app;
	char path[32];

	begin(&app, 0, 3);
	list(app.cache, "d");
	for (int i = 0; i < 100; i++) {
		snprintf(path, sizeof(path), "d/absent%d", i);
		CHECK_EQ(ts_stat_err(app.cache, path), -ENOENT);
	}
	ts_ns_add(&app.ns, "d/new", S_IFREG | 0644, NULL);
	CHECK_EQ(ts_stat_err(app.cache, "d/new"), 0);
	CHECK_EQ(ts_ns_calls(&app.ns, TS_LIST), 1);
	CHECK_EQ(ts_stats(app.cache).listings_made, 0);
	app_end(&app);
}

static void repeated_misses_have_a_directory_listed_once(void)
{
	struct app app;
	uint64_t calls = 0;
	char path[32];

	begin(&app, 100, 20);
	for (int i = 0; i < 200; i++) {
		snprintf(path, sizeof(path), "d/absent%d", i);
		CHECK_EQ(ts_stat_err(app.cache, path), -ENOENT);
		if (i == 20)
			calls = ts_ns_calls(&app.ns, TS_LOOKUP);
	}
	CHECK_EQ(ts_ns_calls(&app.ns, TS_LOOKUP), calls);
	CHECK_EQ(ts_ns_calls(&app.ns, TS_LIST), 1);
	CHECK(ts_stats(app.cache).negatives <= 10);
	app_end(&app);
}

/* A directory that changes between is listed again only in proportion to its misses. */
static void changes_do_not_have_a_directory_listed_all_the_time(void)
{
	struct app app;
	char path[32];

	begin(&app, 1000, 100);
	for (int i = 0; i < 1000; i++) {
		snprintf(path, sizeof(path), "d/absent%d", i);
		CHECK_EQ(ts_stat_err(app.cache, path), -ENOENT);
		CHECK_EQ(pathcache_invalidate_path(app.cache, "d/f1"), 0);
	}
	CHECK(ts_ns_calls(&app.ns, TS_LIST) >= 2);
	CHECK(ts_ns_calls(&app.ns, TS_LIST) <= 1000 / 50 + 1);
	app_end(&app);
}

static void a_name_announced_is_asked_for(void)
{
	struct app app;

	for (int before = 0; before < 2; before++) {
		begin(&app, 100, 3);
		list(app.cache, "d");
		if (before)
			CHECK_EQ(ts_stat_err(app.cache, "d/new"), -ENOENT);
		ts_ns_add(&app.ns, "d/new", S_IFREG | 0644, NULL);
		changed(app.cache, "d/new");
		CHECK_EQ(ts_stats(app.cache).listings, 0);
		CHECK_EQ(ts_stats(app.cache).listings_ended, 1);
		CHECK_EQ(ts_stat_err(app.cache, "d/new"), 0);
		CHECK_EQ(list(app.cache, "d").n, 4);
		ts_ns_remove(&app.ns, "d/new");
		changed(app.cache, "d/new");
		CHECK_EQ(ts_stat_err(app.cache, "d/new"), -ENOENT);
		app_end(&app);
	}
}

static void a_subtree_announced_ends_the_listings_in_it(void)
{
	struct app app;

	for (int all = 0; all < 2; all++) {
		struct pathcache_entry *dir;

		begin(&app, 100, 3);
		ts_ns_add(&app.ns, "d/sub", S_IFDIR | 0755, NULL);
		list(app.cache, "d/sub");
		CHECK_EQ(ts_stat_err(app.cache, "d/sub/new"), -ENOENT);
		ts_ns_add(&app.ns, "d/sub/new", S_IFREG | 0644, NULL);
		dir = all ? NULL : ts_get(app.cache, "d");
		CHECK_EQ(pathcache_invalidate_subtree(app.cache, dir), 0);
		if (all)
			CHECK_EQ(ts_stat_err(app.cache, "d/sub/new"), 0);
		else
			CHECK_EQ(ts_stat_err(app.cache, "d/sub"), 0);
		CHECK_EQ(list(app.cache, "d/sub").n, 1);
		CHECK_EQ(ts_stat_err(app.cache, "d/sub/new"), 0);
		pathcache_put(app.cache, dir);
		app_end(&app);
	}
}

/* The directory moves, and its listing with it. */
static void a_directory_renamed_stays_complete(void)
{
	struct pathcache_entry *dir;
	struct app app;
	uint64_t calls;

	begin(&app, 100, 3);
	list(app.cache, "d");
	dir = ts_get(app.cache, "d");
	ts_ns_rename(&app.ns, "d", "e");
	changed(app.cache, "d");
	changed(app.cache, "e");
	CHECK_EQ(ts_stat_err(app.cache, "d/absent"), -ENOENT);
	CHECK_EQ(ts_stat_err(app.cache, "e"), 0);
	calls = ts_ns_calls(&app.ns, TS_LOOKUP);
	CHECK_EQ(ts_stat_err(app.cache, "e/absent"), -ENOENT);
	CHECK_EQ(ts_ns_calls(&app.ns, TS_LOOKUP), calls);
	pathcache_put(app.cache, dir);
	app_end(&app);
}

/* A thread that lists d. */
struct lister {
	struct ts_thread thread;
	struct pathcache *cache;
	struct told told;
};

static void lister_run(void *arg)
{
	struct lister *l = arg;

	list_from(l->cache, "d", 0, &l->told);
}

static void a_name_made_while_the_directory_is_listed_is_not_lost(void)
{
	for (int after = 0; after < 2; after++) {
		struct lister l = {.told = {.n = 0}};
		struct ts_gate *gate;
		struct app app;

		begin(&app, 100, 3);
		CHECK_EQ(ts_stat_err(app.cache, "d"), 0);
		gate = ts_gate_close(&app.ns, after ? TS_GATE_AFTER : TS_GATE_BEFORE, TS_LIST,
		                     NULL);
		l.cache = app.cache;
		ts_thread_start(&l.thread, lister_run, &l);
		REQUIRE(ts_gate_wait(&app.ns, gate, 1));
		ts_ns_add(&app.ns, "d/new", S_IFREG | 0644, NULL);
		changed(app.cache, "d/new");
		ts_gate_open(&app.ns, gate);
		ts_thread_join(&l.thread);
		CHECK_EQ(ts_stats(app.cache).listings, 0);
		CHECK_EQ(ts_stat_err(app.cache, "d/new"), 0);
		app_end(&app);
	}
}

/* What a lookup says of a name that the listing does not have, unannounced. */
static void an_answer_that_contradicts_ends_the_listing(void)
{
	struct ts_gate *gate;
	struct asker asker = {.cred = NULL};
	struct app app;

	begin(&app, 100, 3);
	CHECK_EQ(ts_stat_err(app.cache, "d/f0"), 0);
	ts_ns_add(&app.ns, "d/new", S_IFREG | 0644, NULL);
	gate = ts_gate_close(&app.ns, TS_GATE_AFTER, TS_LOOKUP, "new");
	asker_start(&asker, app.cache, "d/new");
	REQUIRE(ts_gate_wait(&app.ns, gate, 1));
	ts_ns_remove(&app.ns, "d/new");
	CHECK_EQ(list(app.cache, "d").n, 3);
	CHECK_EQ(ts_stats(app.cache).listings, 1);
	ts_gate_open(&app.ns, gate);
	asker_finish(&asker);
	CHECK_EQ(ts_stats(app.cache).listings, 0);

	changed(app.cache, "d/new");
	CHECK_EQ(list(app.cache, "d").n, 3);
	ts_ns_remove(&app.ns, "d/f2");
	CHECK_EQ(ts_stat_err(app.cache, "d/f2"), -ENOENT);
	CHECK_EQ(ts_stats(app.cache).listings, 0);
	app_end(&app);
}

static void a_large_directory_is_given_up(void)
{
	struct app app;
	char path[32];

	begin(&app, 10, 11);
	CHECK_EQ(list(app.cache, "d").n, 11);
	CHECK_EQ(ts_stats(app.cache).listings, 0);
	for (int i = 0; i < 200; i++) {
		snprintf(path, sizeof(path), "d/absent%d", i);
		CHECK_EQ(ts_stat_err(app.cache, path), -ENOENT);
	}
	CHECK_EQ(ts_stats(app.cache).listings, 0);
	CHECK(ts_ns_calls(&app.ns, TS_LIST) <= 1 + 200 / 32 + 1);
	ts_ns_remove(&app.ns, "d/f0");
	changed(app.cache, "d/f0");
	CHECK_EQ(list(app.cache, "d").n, 10);
	CHECK_EQ(ts_stats(app.cache).listings, 1);
	app_end(&app);
}

static void a_listing_is_within_its_share_of_the_budget(void)
{
	struct pathcache_options opt = options(100000);
	struct app app;
	struct pathcache_entry *dir;
	char path[32];

	opt.budget = 1 << 20;
	app_begin_with(&app, &opt);
	fill_dir(&app, 3000);
	dir = ts_get(app.cache, "d");
	for (int i = 0; i < 100; i++) {
		snprintf(path, sizeof(path), "d/absent%d", i);
		CHECK_EQ(ts_stat_err(app.cache, path), -ENOENT);
	}
	CHECK_EQ(ts_stats(app.cache).listings, 0);
	CHECK(ts_stats(app.cache).bytes <= opt.budget);
	pathcache_put(app.cache, dir);
	app_end(&app);
}

/* Nor where the directory forbids negatives from some time on. */
static void a_directory_without_negatives_is_never_complete(void)
{
	struct pathcache_entry *entry;
	struct ts_object *dir;
	struct app app;

	begin(&app, 100, 3);
	dir = ts_ns_add(&app.ns, "dyn", S_IFDIR | 0755, NULL);
	dir->reply_flags = PATHCACHE_REPLY_NO_NEGATIVE;
	list(app.cache, "dyn");
	CHECK_EQ(ts_stats(app.cache).listings, 0);
	ts_ns_add(&app.ns, "dyn/new", S_IFREG | 0644, NULL);
	CHECK_EQ(ts_stat_err(app.cache, "dyn/new"), 0);

	list(app.cache, "d");
	CHECK_EQ(ts_stat_err(app.cache, "d/absent"), -ENOENT);
	ts_ns_find(&app.ns, "d")->reply_flags = PATHCACHE_REPLY_NO_NEGATIVE;
	entry = ts_get(app.cache, "d");
	CHECK_EQ(pathcache_invalidate_entry(app.cache, entry), 0);
	CHECK_EQ(ts_stats(app.cache).listings, 1);
	CHECK_EQ(ts_stat_err(app.cache, "d"), 0);
	CHECK_EQ(ts_stats(app.cache).listings, 0);
	pathcache_put(app.cache, entry);
	ts_ns_add(&app.ns, "d/absent", S_IFREG | 0644, NULL);
	CHECK_EQ(ts_stat_err(app.cache, "d/absent"), 0);
	app_end(&app);
}

/* A file has the identity that the directory had. */
static void an_identity_used_again_ends_the_listing(void)
{
	struct pathcache_entry *dir;
	struct app app;

	begin(&app, 100, 3);
	list(app.cache, "d");
	dir = ts_get(app.cache, "d");
	ts_ns_find(&app.ns, "d")->mode = S_IFREG | 0644;
	ts_ns_link(&app.ns, "d", "e");
	CHECK_EQ(ts_stat_err(app.cache, "e"), 0);
	CHECK_EQ(ts_stats(app.cache).listings, 0);
	pathcache_put(app.cache, dir);
	app_end(&app);
}

static void an_object_announced_leaves_its_names_complete(void)
{
	struct pathcache_entry *dir;
	struct app app;
	uint64_t calls;

	begin(&app, 100, 3);
	list(app.cache, "d");
	dir = ts_get(app.cache, "d");
	CHECK_EQ(pathcache_invalidate_entry(app.cache, dir), 0);
	CHECK_EQ(ts_stat_err(app.cache, "d"), 0);
	calls = ts_ns_calls(&app.ns, TS_LOOKUP);
	CHECK_EQ(ts_stat_err(app.cache, "d/absent"), -ENOENT);
	CHECK_EQ(ts_ns_calls(&app.ns, TS_LOOKUP), calls);
	pathcache_put(app.cache, dir);
	app_end(&app);
}

static void a_listing_that_fails_midway_is_not_kept(void)
{
	struct pathcache_entry *dir;
	struct told t;
	struct app app;

	begin(&app, 100, 3);
	dir = ts_get(app.cache, "d");
	memset(&t, 0, sizeof(t));
	ts_gate_fail(&app.ns, TS_LIST, NULL, EIO, 1);
	CHECK(pathcache_readdir(app.cache, dir, 0, tell, &t) < 0);
	CHECK_EQ(ts_stats(app.cache).listings, 0);
	t.stop_at = 2;
	CHECK_EQ(pathcache_readdir(app.cache, dir, 0, tell, &t), 0);
	CHECK_EQ(ts_stats(app.cache).listings, 0);
	t.stop_at = 0;
	CHECK_EQ(pathcache_readdir(app.cache, dir, 2, tell, &t), 0);
	CHECK_EQ(ts_stats(app.cache).listings, 0);
	CHECK_EQ(pathcache_readdir(app.cache, dir, 0, tell, &t), 0);
	CHECK_EQ(ts_stats(app.cache).listings, 1);
	pathcache_put(app.cache, dir);
	app_end(&app);
}

static void a_directory_listed_and_removed_leaves_nothing(void)
{
	struct app app;

	begin(&app, 100, 0);
	list(app.cache, "d");
	CHECK_EQ(ts_stats(app.cache).listings, 1);
	ts_ns_remove(&app.ns, "d");
	changed(app.cache, "d");
	CHECK_EQ(ts_stat_err(app.cache, "d/x"), -ENOENT);
	for (int i = 0; i < 100 && pathcache_maintain(app.cache, 10000) == 1; i++)
		;
	CHECK_EQ(ts_stats(app.cache).listings, 0);
	CHECK_EQ(ts_stats(app.cache).listing_bytes, 0);
	app_end(&app);
}

/* ---- readdir ------------------------------------------------------------ */

static void a_listing_from_memory_is_the_backends(void)
{
	struct pathcache_options opt = options(1000);
	struct scene s;
	struct told first, again, part, rest;
	struct pathcache_stats before;
	char path[32];

	scene_begin_with(&s, &opt);
	ts_dir(&s.tree, "d", 0755);
	for (int i = 0; i < 40; i++) {
		snprintf(path, sizeof(path), "d/name-%d", i * 7);
		if (i % 3)
			ts_file(&s.tree, path, 0644, "");
		else if (i % 2)
			ts_symlink(&s.tree, path, "x");
		else
			ts_dir(&s.tree, path, 0755);
	}
	first = list(s.cache, "d");
	CHECK_EQ(ts_stats(s.cache).listings, 1);
	CHECK_EQ(ts_stat_err(s.cache, "d"), 0);
	before = ts_stats(s.cache);
	again = list(s.cache, "d");
	check_same(&first, &again);
	for (unsigned at = 1; at < first.n; at++) {
		memset(&part, 0, sizeof(part));
		memset(&rest, 0, sizeof(rest));
		part.stop_at = at;
		list_from(s.cache, "d", 0, &part);
		CHECK_EQ(part.n, at);
		list_from(s.cache, "d", part.cookie, &rest);
		CHECK_EQ(rest.n, first.n - at);
		for (unsigned i = 0; i < rest.n; i++)
			CHECK(strcmp(rest.names[i], first.names[at + i]) == 0);
	}
	CHECK_EQ(ts_stats(s.cache).backend_calls, before.backend_calls);
	scene_end(&s);
}

struct meddling {
	struct pathcache *cache;
	struct ts_tree *tree;
	struct pathcache_entry *dir;
};

static void meddle(struct told *t, unsigned nth)
{
	struct meddling *m = t->arg;
	char path[64];

	CHECK_EQ(ts_stat_err(m->cache, "d/none"), -ENOENT);
	if (nth == 3) {
		ts_file(m->tree, "d/new", 0644, "");
		changed(m->cache, "d/new");
	} else if (nth == 5) {
		CHECK_EQ(pathcache_invalidate_all(m->cache), 0);
	} else if (nth == 7) {
		/* The one just told. */
		snprintf(path, sizeof(path), "d/%s", t->names[nth - 1]);
		ts_unlink(m->tree, path);
		changed(m->cache, path);
	}
}

/* F8, A6: every name that is there all the time once, whatever fn does. */
static void a_listing_goes_on_when_its_directory_changes(void)
{
	struct pathcache_options opt = options(1000);
	struct meddling m;
	struct scene s;
	struct told t;
	char path[32];

	for (int memory = 0; memory < 2; memory++) {
		scene_begin_with(&s, &opt);
		ts_dir(&s.tree, "d", 0755);
		for (int i = 0; i < 30; i++) {
			snprintf(path, sizeof(path), "d/f%d", i);
			ts_file(&s.tree, path, 0644, "");
		}
		if (memory)
			list(s.cache, "d");
		CHECK_EQ(ts_stats(s.cache).listings, memory);
		m = (struct meddling){s.cache, &s.tree, ts_get(s.cache, "d")};
		memset(&t, 0, sizeof(t));
		t.each = meddle;
		t.arg = &m;
		CHECK_EQ(pathcache_readdir(s.cache, m.dir, 0, tell, &t), 0);
		CHECK(t.n == 30 || t.n == 31);
		for (int i = 0; i < 30; i++) {
			snprintf(path, sizeof(path), "f%d", i);
			CHECK(has(&t, path));
		}
		pathcache_put(s.cache, m.dir);
		t = list(s.cache, "d");
		CHECK_EQ(t.n, 30);
		CHECK(has(&t, "new"));
		scene_end(&s);
	}
}

#define MANY 400u

struct replacing {
	struct app app;
	unsigned told[MANY], n;
};

/* Once the first are told, the listing is replaced by another, in which all lies elsewhere. */
static int replace(void *arg, const char *name, size_t len, uint64_t ino, uint32_t type,
                   uint64_t cookie)
{
	struct replacing *r = arg;
	unsigned nth = 0, n = 0;

	(void)len, (void)ino, (void)type, (void)cookie;
	REQUIRE(sscanf(name, "f%u", &nth) == 1 && nth < MANY);
	r->told[nth]++;
	if (++r->n == 2) {
		struct pathcache_entry *dir = ts_get(r->app.cache, "d");

		/* The last one made is the first that is listed, as its successor will be. */
		ts_ns_remove(&r->app.ns, "d/f399");
		changed(r->app.cache, "d/f399");
		ts_ns_add(&r->app.ns, "d/a-name-that-is-much-longer", S_IFREG | 0644, NULL);
		changed(r->app.cache, "d/a-name-that-is-much-longer");
		CHECK_EQ(pathcache_readdir(r->app.cache, dir, 0, count, &n), 0);
		CHECK_EQ(n, MANY);
		CHECK_EQ(ts_stats(r->app.cache).listings, 1);
		pathcache_put(r->app.cache, dir);
	}
	return 0;
}

/* The place in a listing means nothing in the next one of the same directory. */
static void a_listing_goes_on_by_cookie_when_another_took_its_place(void)
{
	static struct replacing r;
	struct pathcache_entry *dir;
	unsigned n = 0;

	memset(&r, 0, sizeof(r));
	begin(&r.app, 1000, MANY);
	dir = ts_get(r.app.cache, "d");
	CHECK_EQ(pathcache_readdir(r.app.cache, dir, 0, count, &n), 0);
	CHECK_EQ(n, MANY);
	CHECK_EQ(pathcache_readdir(r.app.cache, dir, 0, replace, &r), 0);
	for (unsigned i = 0; i < MANY - 1; i++)
		CHECK_EQ(r.told[i], 1);
	pathcache_put(r.app.cache, dir);
	app_end(&r.app);
}

/* L28: what is known is told while the backend is slow about something else. */
static void a_known_directory_waits_for_nobody(void)
{
	struct ts_gate *gate;
	struct asker asker = {.cred = NULL};
	struct app app;

	begin(&app, 100, 3);
	list(app.cache, "d");
	gate = ts_gate_close(&app.ns, TS_GATE_BEFORE, TS_LOOKUP, "f1");
	asker_start(&asker, app.cache, "d/f1");
	REQUIRE(ts_gate_wait(&app.ns, gate, 1));
	CHECK_EQ(list(app.cache, "d").n, 3);
	CHECK_EQ(ts_stat_err(app.cache, "d/absent"), -ENOENT);
	ts_gate_open(&app.ns, gate);
	CHECK_EQ(asker_finish(&asker), 0);
	CHECK_EQ(ts_ns_calls(&app.ns, TS_LIST), 1);
	app_end(&app);
}

/* Who may list a directory is asked again when its attributes are not known any more. */
static void a_changed_directory_is_listed_again_once(void)
{
	uint64_t lists, attrs;
	struct app app;

	begin(&app, 100, 3);
	list(app.cache, "d");
	ts_ns_add(&app.ns, "d/new", S_IFREG | 0644, NULL);
	changed(app.cache, "d/new");
	CHECK_EQ(list(app.cache, "d").n, 4);
	lists = ts_ns_calls(&app.ns, TS_LIST);
	attrs = ts_ns_calls(&app.ns, TS_GETATTR);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(list(app.cache, "d").n, 4);
	CHECK_EQ(ts_ns_calls(&app.ns, TS_LIST), lists);
	CHECK(ts_ns_calls(&app.ns, TS_GETATTR) <= attrs + 1);
	app_end(&app);
}

static void who_may_not_list_is_not_told_from_memory(void)
{
	struct pathcache_entry *dir;
	struct ts_object *object;
	struct told t;
	struct app app;
	uint32_t uid = geteuid();
	bool can = ts_can_switch();

	/* Whoever opens the cache is the process, as far as that goes. */
	if (can) {
		ts_switch_to(&ts_nobody);
		uid = ts_nobody.uid;
	}
	begin(&app, 100, 3);
	if (can)
		ts_switch_back();
	object = ts_ns_find(&app.ns, "d");
	list(app.cache, "d");
	list(app.cache, "d");
	CHECK_EQ(ts_ns_calls(&app.ns, TS_LIST), 1);
	dir = ts_get(app.cache, "d");
	/* Another's, that only that one may list, and root. */
	pthread_mutex_lock(&app.ns.lock);
	object->uid = uid + 1;
	object->mode = S_IFDIR | 0711;
	pthread_mutex_unlock(&app.ns.lock);
	CHECK_EQ(pathcache_invalidate_entry(app.cache, dir), 0);
	CHECK_EQ(ts_stat_err(app.cache, "d"), 0);
	memset(&t, 0, sizeof(t));
	CHECK_EQ(pathcache_readdir(app.cache, dir, 0, tell, &t), 0);
	CHECK_EQ(ts_ns_calls(&app.ns, TS_LIST), uid ? 2 : 1);
	/* Whose permission only the backend knows. */
	object->reply_flags = PATHCACHE_REPLY_ASK_ACCESS;
	CHECK_EQ(pathcache_invalidate_entry(app.cache, dir), 0);
	CHECK_EQ(ts_stat_err(app.cache, "d"), 0);
	CHECK_EQ(pathcache_readdir(app.cache, dir, 0, tell, &t), 0);
	CHECK_EQ(ts_ns_calls(&app.ns, TS_LIST), uid ? 3 : 2);
	pathcache_put(app.cache, dir);
	app_end(&app);
}

/* ---- many threads ---------------------------------------------------------- */

#define STORM_NAMES 1000u

struct storm {
	struct scene s;
	struct pathcache_entry *dir;
	_Atomic unsigned announced; /* names f0 to below this are there */
	_Atomic unsigned lost, extra;
};

static void storm_ask(void *arg)
{
	struct storm *storm = arg;
	struct ts_rng rng = ts_rng(7);
	unsigned there, told, rounds = 0;
	char path[32];

	while ((there = atomic_load(&storm->announced)) < STORM_NAMES) {
		snprintf(path, sizeof(path), "d/f%u",
		         there - 1 - ts_below(&rng, there < 4 ? there : 4));
		storm->lost += ts_stat_err(storm->s.cache, path) != 0;
		snprintf(path, sizeof(path), "d/none%u", ts_below(&rng, 50));
		storm->extra += ts_stat_err(storm->s.cache, path) != -ENOENT;
		if (rounds++ % 64 == 0) {
			told = 0;
			CHECK_EQ(pathcache_readdir(storm->s.cache, storm->dir, 0, count, &told), 0);
			storm->lost += told < there;
		}
		ts_quiescent();
	}
}

/* Three threads ask and list while a fourth makes names, and announces each. */
static void a_name_announced_is_there_for_all_threads(void)
{
	struct pathcache_options opt = options(10000);
	static struct storm storm;
	struct ts_thread threads[3];
	char path[32];

	memset(&storm, 0, sizeof(storm));
	scene_begin_with(&storm.s, &opt);
	ts_dir(&storm.s.tree, "d", 0755);
	ts_file(&storm.s.tree, "d/f0", 0644, "");
	storm.dir = ts_get(storm.s.cache, "d");
	storm.announced = 1;
	for (int i = 0; i < 3; i++)
		ts_thread_start(&threads[i], storm_ask, &storm);
	for (unsigned n = 1; n < STORM_NAMES; n++) {
		snprintf(path, sizeof(path), "d/f%u", n);
		ts_file(&storm.s.tree, path, 0644, "");
		CHECK_EQ(pathcache_invalidate_name(storm.s.cache, storm.dir, path + 2), 0);
		atomic_store(&storm.announced, n + 1);
		if (n % 8 == 0) {
			ts_offline();
			ts_sleep_us(200);
			ts_online();
		}
		if (n % 64 == 0)
			pathcache_maintain(storm.s.cache, 100);
	}
	for (int i = 0; i < 3; i++)
		ts_thread_join(&threads[i]);
	CHECK_EQ(storm.lost, 0);
	CHECK_EQ(storm.extra, 0);
	printf("      %llu listings, %llu hits by them\n",
	       (unsigned long long)ts_stats(storm.s.cache).listings_made,
	       (unsigned long long)ts_stats(storm.s.cache).listed_hits);
	CHECK(ts_stats(storm.s.cache).listings_made > 10);
	pathcache_put(storm.s.cache, storm.dir);
	scene_end(&storm.s);
}

/* ---- memos --------------------------------------------------------------- */

static void a_memo_of_an_absent_name_dies_with_the_listing(void)
{
	struct pathcache_stats stats;
	struct app app;

	begin(&app, 100, 3);
	list(app.cache, "d");
	for (int i = 0; i < 5; i++)
		CHECK_EQ(ts_stat_err(app.cache, "/d/a-long-absent-name"), -ENOENT);
	stats = ts_stats(app.cache);
	CHECK(stats.memo_hits > 0);
	CHECK_EQ(stats.negatives, 0);
	ts_ns_add(&app.ns, "d/a-long-absent-name", S_IFREG | 0644, NULL);
	changed(app.cache, "d/a-long-absent-name");
	CHECK_EQ(ts_stat_err(app.cache, "/d/a-long-absent-name"), 0);
	app_end(&app);
}

static const struct ts_case cases[] = {
	TS_CASE(absent_names_of_a_listed_directory_ask_nobody),
	TS_CASE(nothing_is_complete_unless_it_is_asked_for),
	TS_CASE(repeated_misses_have_a_directory_listed_once),
	TS_CASE(changes_do_not_have_a_directory_listed_all_the_time),
	TS_CASE(a_name_announced_is_asked_for),
	TS_CASE(a_subtree_announced_ends_the_listings_in_it),
	TS_CASE(a_directory_renamed_stays_complete),
	TS_CASE(a_name_made_while_the_directory_is_listed_is_not_lost),
	TS_CASE(an_answer_that_contradicts_ends_the_listing),
	TS_CASE(a_large_directory_is_given_up),
	TS_CASE(a_listing_is_within_its_share_of_the_budget),
	TS_CASE(a_directory_without_negatives_is_never_complete),
	TS_CASE(an_identity_used_again_ends_the_listing),
	TS_CASE(an_object_announced_leaves_its_names_complete),
	TS_CASE(a_listing_that_fails_midway_is_not_kept),
	TS_CASE(a_directory_listed_and_removed_leaves_nothing),
	TS_CASE(a_listing_from_memory_is_the_backends),
	TS_CASE(a_listing_goes_on_when_its_directory_changes),
	TS_CASE(a_listing_goes_on_by_cookie_when_another_took_its_place),
	TS_CASE(a_known_directory_waits_for_nobody),
	TS_CASE(a_changed_directory_is_listed_again_once),
	TS_CASE(who_may_not_list_is_not_told_from_memory),
	TS_CASE(a_name_announced_is_there_for_all_threads),
	TS_CASE(a_memo_of_an_absent_name_dies_with_the_listing),
};

int main(int argc, char **argv)
{
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
