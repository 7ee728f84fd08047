/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Faults of others: locks, races, threads. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "scene.h"

#define PROMPT_MS 5000

enum kind { BY_NAME, BY_PATH, BY_SUBTREE, BY_ROOT_SUBTREE, BY_ALL, KINDS };

/* Announce that f in d may be another now. */
static void announce(struct app *app, enum kind kind, struct pathcache_entry *dir)
{
	switch (kind) {
	case BY_NAME:
		CHECK_EQ(pathcache_invalidate_name(app->cache, dir, "f"), 0);
		break;
	case BY_PATH:
		CHECK_EQ(pathcache_invalidate_path(app->cache, "d/f"), 0);
		break;
	case BY_SUBTREE:
		CHECK_EQ(pathcache_invalidate_subtree(app->cache, dir), 0);
		break;
	case BY_ROOT_SUBTREE:
		CHECK_EQ(pathcache_invalidate_subtree(app->cache, NULL), 0);
		break;
	case BY_ALL:
		CHECK_EQ(pathcache_invalidate_all(app->cache), 0);
		break;
	case KINDS:
		break;
	}
}

/* ---- a blocked backend ------------------------------------------------- */

struct worker {
	struct ts_thread thread;
	struct app *app;
	struct pathcache_entry *dir;
	bool in_callback; /* where a path may not be looked up */
	_Atomic bool stop;
	_Atomic uint64_t done;
};

static void every_invalidation(void *arg)
{
	struct worker *w = arg;

	for (enum kind kind = BY_NAME; kind < KINDS; kind++)
		if (kind != BY_PATH || !w->in_callback)
			announce(w->app, kind, w->dir);
	CHECK_EQ(pathcache_invalidate_entry(w->app->cache, w->dir), 0);
}

/* L1 */
static void an_invalidation_does_not_wait_for_a_fill(void)
{
	struct asker asker = {0};
	struct worker w = {0};
	struct ts_gate *gate;
	struct app app;

	for (int when = 0; when < 2; when++) {
		app_begin(&app);
		ts_ns_add(&app.ns, "d", S_IFDIR | 0755, NULL);
		ts_ns_add(&app.ns, "d/f", S_IFREG | 0644, NULL);
		w.app = &app;
		w.dir = ts_get(app.cache, "d");
		gate = ts_gate_close(&app.ns, when ? TS_GATE_AFTER : TS_GATE_BEFORE, TS_LOOKUP,
		                     "f");
		asker_start(&asker, app.cache, "d/f");
		CHECK(ts_gate_wait(&app.ns, gate, 1));
		ts_thread_start(&w.thread, every_invalidation, &w);
		CHECK(ts_thread_ends(&w.thread, PROMPT_MS));
		ts_gate_open(&app.ns, gate);
		ts_thread_join(&w.thread);
		CHECK_EQ(asker_finish(&asker), 0);
		pathcache_put(app.cache, w.dir);
		app_end(&app);
	}
}

static void invalidate_inside(void *arg, enum ts_call call, const char *name)
{
	struct worker *w = arg;

	(void)call;
	(void)name;
	every_invalidation(w);
	atomic_fetch_add(&w->done, 1);
}

/* L1, L3, L23: each answer is out of date before it is given, for ever. */
static void an_invalidation_inside_every_callback_ends(void)
{
	struct worker w = {.in_callback = true};
	struct app app;
	uint64_t calls;

	app_begin(&app);
	ts_ns_add(&app.ns, "d", S_IFDIR | 0755, NULL);
	ts_ns_add(&app.ns, "d/f", S_IFREG | 0644, NULL);
	ts_ns_add(&app.ns, "d/l", S_IFLNK | 0777, "f");
	w.app = &app;
	w.dir = ts_get(app.cache, "d");
	app.ns.on_call = invalidate_inside;
	app.ns.on_call_arg = &w;
	for (int i = 0; i < 20; i++) {
		calls = atomic_load(&w.done);
		CHECK_EQ(ts_stat_err(app.cache, "d/f"), 0);
		CHECK_EQ(ts_stat_err(app.cache, "d/absent"), -ENOENT);
		CHECK_EQ(ts_stat_err(app.cache, "d/l"), 0);
		CHECK(atomic_load(&w.done) - calls < 200);
	}
	app.ns.on_call = NULL;
	pathcache_put(app.cache, w.dir);
	app_end(&app);
}

static int list_one(void *arg, const char *name, size_t len, uint64_t ino, uint32_t type,
                    uint64_t cookie)
{
	(void)name;
	(void)len;
	(void)ino;
	(void)type;
	(void)cookie;
	++*(unsigned *)arg;
	return 0;
}

static void use_everything_else(void *arg)
{
	struct worker *w = arg;
	struct pathcache *cache = w->app->cache;
	struct pathcache_entry *entry;
	struct pathcache_attr attr;
	unsigned names = 0;
	char buf[64];

	CHECK_EQ(ts_stat_err(cache, "d/hot"), 0);
	CHECK_EQ(ts_stat_err(cache, "d/cold"), 0);
	CHECK_EQ(ts_stat_err(cache, "d/absent"), -ENOENT);
	CHECK_EQ(pathcache_realpath(cache, "d/hot", NULL, buf, sizeof(buf)), 6);
	CHECK_EQ(pathcache_get(cache, "d/other", NULL, &entry), 0);
	CHECK_EQ(pathcache_invalidate_entry(cache, entry), 0);
	CHECK_EQ(pathcache_entry_stat(cache, entry, &attr), 0);
	pathcache_put(cache, entry);
	CHECK_EQ(pathcache_invalidate_name(cache, w->dir, "hot"), 0);
	CHECK_EQ(ts_stat_err(cache, "d/hot"), 0);
	CHECK(pathcache_maintain(cache, 100) >= 0);
	CHECK_EQ(pathcache_readdir(cache, w->dir, 0, list_one, &names), 0);
	CHECK_EQ(names, 4);
	CHECK(ts_stats(cache).lookups > 0);
}

/* L2 */
static void a_blocked_callback_blocks_nobody_else(void)
{
	struct asker asker = {0};
	struct worker w = {0};
	struct ts_gate *gate;
	struct app app;

	app_begin(&app);
	ts_ns_add(&app.ns, "d", S_IFDIR | 0755, NULL);
	ts_ns_add(&app.ns, "d/slow", S_IFREG | 0644, NULL);
	ts_ns_add(&app.ns, "d/hot", S_IFREG | 0644, NULL);
	ts_ns_add(&app.ns, "d/cold", S_IFREG | 0644, NULL);
	ts_ns_add(&app.ns, "d/other", S_IFREG | 0644, NULL);
	CHECK_EQ(ts_stat_err(app.cache, "d/hot"), 0);
	w.app = &app;
	w.dir = ts_get(app.cache, "d");
	gate = ts_gate_close(&app.ns, TS_GATE_BEFORE, TS_LOOKUP, "slow");
	asker_start(&asker, app.cache, "d/slow");
	CHECK(ts_gate_wait(&app.ns, gate, 1));
	ts_thread_start(&w.thread, use_everything_else, &w);
	CHECK(ts_thread_ends(&w.thread, PROMPT_MS));
	CHECK_EQ(pathcache_close(app.cache), -EBUSY);
	ts_gate_open(&app.ns, gate);
	ts_thread_join(&w.thread);
	CHECK_EQ(asker_finish(&asker), 0);
	pathcache_put(app.cache, w.dir);
	app_end(&app);
}

static void storm(void *arg)
{
	struct worker *w = arg;

	while (!atomic_load(&w->stop)) {
		every_invalidation(w);
		ts_quiescent();
	}
}

static void look_up(void *arg)
{
	struct worker *w = arg;

	while (!atomic_load(&w->stop)) {
		CHECK_EQ(ts_stat_err(w->app->cache, "d/f"), 0);
		atomic_fetch_add(&w->done, 1);
		ts_quiescent();
	}
}

/* L3, L12, L23 */
static void lookups_and_invalidations_both_go_on(void)
{
	struct worker w[4];
	struct app app;
	uint64_t start;

	app_begin(&app);
	ts_ns_add(&app.ns, "d", S_IFDIR | 0755, NULL);
	ts_ns_add(&app.ns, "d/f", S_IFREG | 0644, NULL);
	memset(w, 0, sizeof(w));
	for (int i = 0; i < 4; i++) {
		w[i].app = &app;
		w[i].dir = ts_get(app.cache, "d");
		ts_thread_start(&w[i].thread, i == 3 ? storm : look_up, &w[i]);
	}
	ts_sleep_us((unsigned)(ts_seconds(0.4) * 1e6));
	atomic_store(&w[3].stop, true);
	CHECK(ts_thread_ends(&w[3].thread, PROMPT_MS));
	start = ts_now_ns();
	for (unsigned i = 0; i < ts_scale(2000); i++)
		announce(&app, i % KINDS, w[0].dir);
	CHECK(ts_now_ns() - start < UINT64_C(10000000000));
	for (int i = 0; i < 4; i++) {
		atomic_store(&w[i].stop, true);
		CHECK(ts_thread_ends(&w[i].thread, PROMPT_MS));
		ts_thread_join(&w[i].thread);
		CHECK(i == 3 || atomic_load(&w[i].done) > 0);
		pathcache_put(app.cache, w[i].dir);
	}
	app_end(&app);
}

/* ---- late fills (L6) --------------------------------------------------- */

enum change { APPEARS, GOES, REPLACED, CHANGES };

static void make_change(struct app *app, enum change change)
{
	switch (change) {
	case APPEARS:
		ts_ns_add(&app->ns, "d/f", S_IFREG | 0600, NULL);
		break;
	case GOES:
		ts_ns_remove(&app->ns, "d/f");
		break;
	case REPLACED:
		ts_ns_remove(&app->ns, "d/f");
		ts_ns_add(&app->ns, "d/f", S_IFREG | 0600, NULL);
		break;
	case CHANGES:
		ts_ns_set(&app->ns, "d/f", 0600, 9);
		break;
	}
}

static void late_fill(enum kind kind, enum change change)
{
	struct asker asker = {0};
	struct pathcache_entry *dir;
	struct ts_gate *gate;
	struct app app;

	app_begin(&app);
	ts_ns_add(&app.ns, "d", S_IFDIR | 0755, NULL);
	if (change != APPEARS)
		ts_ns_add(&app.ns, "d/f", S_IFREG | 0644, NULL);
	dir = ts_get(app.cache, "d");
	gate = ts_gate_close_for(&app.ns, TS_GATE_AFTER, TS_LOOKUP, "f", 1);
	asker_start(&asker, app.cache, "d/f");
	CHECK(ts_gate_wait(&app.ns, gate, 1));
	make_change(&app, change);
	announce(&app, kind, dir);
	/* Who asks now must not be made to wait for, or be given, the old answer. */
	for (int order = 0; order < 2; order++) {
		for (int hot = 0; hot < 2; hot++) {
			int rc = ts_stat_err(app.cache, "d/f");

			CHECK_EQ(rc, change == GOES ? -ENOENT : 0);
			if (change != GOES && rc == 0)
				CHECK_EQ(attr_of(app.cache, "d/f").mode, S_IFREG | 0600);
		}
		if (order == 0) {
			ts_gate_open(&app.ns, gate);
			asker_finish(&asker);
		}
	}
	pathcache_put(app.cache, dir);
	app_end(&app);
}

/* L6 */
static void a_fill_overtaken_by_an_invalidation_is_not_kept(void)
{
	for (enum kind kind = BY_NAME; kind < KINDS; kind++)
		for (enum change change = APPEARS; change <= CHANGES; change++)
			late_fill(kind, change);
}

/* L6: the fill was begun below a directory that has another name by now. */
static void a_late_fill_stays_with_its_directory(void)
{
	struct asker asker = {0};
	struct ts_object *old, *new;
	struct ts_gate *gate;
	struct app app;

	app_begin(&app);
	ts_ns_add(&app.ns, "d", S_IFDIR | 0755, NULL);
	old = ts_ns_add(&app.ns, "d/f", S_IFREG | 0644, NULL);
	CHECK_EQ(ts_stat_err(app.cache, "d"), 0);
	gate = ts_gate_close_for(&app.ns, TS_GATE_AFTER, TS_LOOKUP, "f", 1);
	asker_start(&asker, app.cache, "d/f");
	CHECK(ts_gate_wait(&app.ns, gate, 1));
	ts_ns_rename(&app.ns, "d", "e");
	ts_ns_add(&app.ns, "d", S_IFDIR | 0755, NULL);
	new = ts_ns_add(&app.ns, "d/f", S_IFREG | 0644, NULL);
	changed(app.cache, "d");
	changed(app.cache, "e");
	ts_gate_open(&app.ns, gate);
	asker_finish(&asker);
	for (int hot = 0; hot < 2; hot++) {
		CHECK_EQ(ts_cache_ino(app.cache, "d/f"), new->id);
		CHECK_EQ(ts_cache_ino(app.cache, "e/f"), old->id);
	}
	app_end(&app);
}

static void announce_link(struct app *app, bool by_entry)
{
	struct pathcache_how how = {.size = sizeof(how), .flags = PATHCACHE_NOFOLLOW};
	struct pathcache_entry *entry;

	if (!by_entry) {
		changed(app->cache, "l");
		return;
	}
	REQUIRE(pathcache_get(app->cache, "l", &how, &entry) == 0);
	CHECK_EQ(pathcache_invalidate_entry(app->cache, entry), 0);
	pathcache_put(app->cache, entry);
}

static void check_link(struct app *app, char text, uint64_t ino)
{
	char buf[16] = "";

	for (int hot = 0; hot < 2; hot++) {
		CHECK_EQ(pathcache_readlink(app->cache, "l", NULL, buf, sizeof(buf)), 1);
		CHECK_EQ(buf[0], text);
		CHECK_EQ(ts_cache_ino(app->cache, "l"), ino);
	}
}

/* L6: link text that is fetched apart, and changes without a new object. */
static void late_link_text_is_not_kept(void)
{
	for (int by_entry = 0; by_entry < 2; by_entry++) {
		struct asker asker = {0};
		struct ts_object *link, *a, *b;
		struct ts_gate *gate;
		struct app app;

		app_begin(&app);
		a = ts_ns_add(&app.ns, "a", S_IFREG | 0644, NULL);
		b = ts_ns_add(&app.ns, "b", S_IFREG | 0644, NULL);
		link = ts_ns_add(&app.ns, "l", S_IFLNK | 0777, "a");
		link->late_link = true;
		gate = ts_gate_close_for(&app.ns, TS_GATE_AFTER, TS_GETLINK, NULL, 1);
		asker_start(&asker, app.cache, "l");
		CHECK(ts_gate_wait(&app.ns, gate, 1));
		link->link[0] = 'b';
		announce_link(&app, by_entry);
		ts_gate_open(&app.ns, gate);
		CHECK_EQ(asker_finish(&asker), 0);
		check_link(&app, 'b', b->id);
		link->link[0] = 'a';
		announce_link(&app, by_entry);
		check_link(&app, 'a', a->id);
		app_end(&app);
	}
}

/* The same of text that comes with the lookup. */
static void changed_link_text_is_followed(void)
{
	for (int by_entry = 0; by_entry < 2; by_entry++) {
		struct ts_object *link, *a, *b;
		struct app app;

		app_begin(&app);
		a = ts_ns_add(&app.ns, "a", S_IFREG | 0644, NULL);
		b = ts_ns_add(&app.ns, "b", S_IFREG | 0644, NULL);
		link = ts_ns_add(&app.ns, "l", S_IFLNK | 0777, "a");
		check_link(&app, 'a', a->id);
		link->link[0] = 'b';
		announce_link(&app, by_entry);
		check_link(&app, 'b', b->id);
		app_end(&app);
	}
}

/* K23 */
static void a_lookup_after_an_invalidation_asks_again(void)
{
	struct pathcache_entry *dir;
	struct app app;
	uint64_t calls;

	app_begin(&app);
	ts_ns_add(&app.ns, "d", S_IFDIR | 0755, NULL);
	ts_ns_add(&app.ns, "d/f", S_IFREG | 0644, NULL);
	dir = ts_get(app.cache, "d");
	for (enum kind kind = BY_NAME; kind < KINDS; kind++) {
		CHECK_EQ(ts_stat_err(app.cache, "d/f"), 0);
		calls = ts_ns_calls(&app.ns, TS_LOOKUP);
		CHECK_EQ(ts_stat_err(app.cache, "d/f"), 0);
		CHECK_EQ(ts_ns_calls(&app.ns, TS_LOOKUP), calls);
		announce(&app, kind, dir);
		CHECK_EQ(ts_stat_err(app.cache, "d/f"), 0);
		CHECK(ts_ns_calls(&app.ns, TS_LOOKUP) > calls);
	}
	pathcache_put(app.cache, dir);
	app_end(&app);
}

/* ---- one question for many (L10, L11) ---------------------------------- */

#define CROWD 64

static void crowd_asks(struct app *app, struct asker *crowd, struct ts_gate *gate)
{
	for (int i = 0; i < CROWD; i++)
		asker_start(&crowd[i], app->cache, "f");
	CHECK(ts_gate_wait(&app->ns, gate, 1));
	ts_sleep_us(200000);
	ts_gate_open(&app->ns, gate);
	for (int i = 0; i < CROWD; i++)
		asker_finish(&crowd[i]);
}

/* L10 */
static void a_crowd_asks_the_backend_once(void)
{
	struct asker crowd[CROWD] = {0};
	struct app app;

	for (int present = 0; present < 2; present++) {
		app_begin(&app);
		if (present)
			ts_ns_add(&app.ns, "f", S_IFREG | 0644, NULL);
		crowd_asks(&app, crowd, ts_gate_close(&app.ns, TS_GATE_BEFORE, TS_LOOKUP, "f"));
		for (int i = 0; i < CROWD; i++)
			CHECK_EQ(crowd[i].rc, present ? 0 : -ENOENT);
		CHECK_EQ(ts_ns_calls(&app.ns, TS_LOOKUP), 1);
		CHECK(ts_stats(app.cache).coalesced > 0);
		app_end(&app);
	}
}

/* L10, L11 */
static void an_error_is_shared_and_not_kept(void)
{
	struct asker crowd[CROWD] = {0};
	struct app app;
	int failed = 0;

	app_begin(&app);
	ts_ns_add(&app.ns, "f", S_IFREG | 0644, NULL);
	ts_gate_fail(&app.ns, TS_LOOKUP, "f", EIO, 1);
	crowd_asks(&app, crowd, ts_gate_close(&app.ns, TS_GATE_BEFORE, TS_LOOKUP, "f"));
	for (int i = 0; i < CROWD; i++) {
		CHECK(crowd[i].rc == 0 || crowd[i].rc == -EIO);
		failed += crowd[i].rc == -EIO;
	}
	CHECK(failed >= 1);
	CHECK(ts_ns_calls(&app.ns, TS_LOOKUP) < CROWD / 2);
	CHECK_EQ(ts_stat_err(app.cache, "f"), 0);
	CHECK(ts_stats(app.cache).backend_errors > 0);
	for (int err = 1; err < 40; err++) {
		if (err == ENOENT)
			continue;
		CHECK_EQ(pathcache_invalidate_name(app.cache, NULL, "f"), 0);
		ts_gate_fail(&app.ns, TS_LOOKUP, "f", err, 1);
		if (err != EAGAIN && err != EINTR && err != ESTALE)
			CHECK_EQ(ts_stat_err(app.cache, "f"), -err);
		else
			ts_stat_err(app.cache, "f");
		CHECK_EQ(ts_stat_err(app.cache, "f"), 0);
	}
	app_end(&app);
}

/* L10 */
static void a_waiter_gives_up_and_asks_for_itself(void)
{
	struct pathcache_options opt;
	struct asker leader = {0}, waiter = {0};
	struct ts_gate *gate;
	struct app app;

	pathcache_options_init(&opt);
	opt.wait_ms = 30;
	app_begin_with(&app, &opt);
	ts_ns_add(&app.ns, "f", S_IFREG | 0644, NULL);
	gate = ts_gate_close_for(&app.ns, TS_GATE_BEFORE, TS_LOOKUP, "f", 1);
	asker_start(&leader, app.cache, "f");
	CHECK(ts_gate_wait(&app.ns, gate, 1));
	asker_start(&waiter, app.cache, "f");
	CHECK(ts_thread_ends(&waiter.thread, PROMPT_MS));
	CHECK(ts_stats(app.cache).gave_up > 0);
	ts_gate_open(&app.ns, gate);
	CHECK_EQ(asker_finish(&waiter), 0);
	CHECK_EQ(asker_finish(&leader), 0);
	CHECK_EQ(ts_stat_err(app.cache, "f"), 0);
	app_end(&app);
}

/* L11: what the leader got is good for nobody else. */
static void waiters_are_not_stuck_when_the_answer_may_not_be_kept(void)
{
	static const uint32_t flags[] = {PATHCACHE_REPLY_NO_CACHE, PATHCACHE_REPLY_PRIVATE};
	struct asker crowd[CROWD] = {0};
	struct ts_object *object;
	struct app app;

	for (int i = 0; i < 2; i++) {
		app_begin(&app);
		object = ts_ns_add(&app.ns, "f", S_IFREG | 0644, NULL);
		object->reply_flags = flags[i];
		crowd_asks(&app, crowd, ts_gate_close(&app.ns, TS_GATE_BEFORE, TS_LOOKUP, "f"));
		for (int n = 0; n < CROWD; n++)
			CHECK_EQ(crowd[n].rc, 0);
		app_end(&app);
	}
}

/* L11: invalidated while many wait; all get an answer, and the next one a new one. */
static void waiters_are_not_stuck_when_the_name_is_invalidated(void)
{
	struct asker crowd[CROWD] = {0};
	struct ts_gate *gate;
	struct app app;

	app_begin(&app);
	ts_ns_add(&app.ns, "f", S_IFREG | 0644, NULL);
	gate = ts_gate_close_for(&app.ns, TS_GATE_AFTER, TS_LOOKUP, "f", 1);
	for (int i = 0; i < CROWD; i++)
		asker_start(&crowd[i], app.cache, "f");
	CHECK(ts_gate_wait(&app.ns, gate, 1));
	ts_sleep_us(100000);
	ts_ns_set(&app.ns, "f", 0600, 1);
	changed(app.cache, "f");
	CHECK_EQ(attr_of(app.cache, "f").mode, S_IFREG | 0600);
	ts_gate_open(&app.ns, gate);
	for (int i = 0; i < CROWD; i++)
		CHECK_EQ(asker_finish(&crowd[i]), 0);
	CHECK_EQ(attr_of(app.cache, "f").mode, S_IFREG | 0600);
	app_end(&app);
}

/* ---- nesting, threads -------------------------------------------------- */

static void look_elsewhere(void *arg, enum ts_call call, const char *name)
{
	struct app *app = arg;
	static _Thread_local int depth;

	(void)call;
	if (strcmp(name, "f") != 0 || depth)
		return;
	depth++;
	CHECK_EQ(ts_stat_err(app->cache, "d/hot"), 0);
	CHECK_EQ(ts_stat_err(app->cache, "d/cold"), 0);
	CHECK_EQ(ts_stat_err(app->cache, "d/absent"), -ENOENT);
	depth--;
}

/* L19 */
static void a_callback_may_look_up_another_name(void)
{
	struct app app;

	app_begin(&app);
	ts_ns_add(&app.ns, "d", S_IFDIR | 0755, NULL);
	ts_ns_add(&app.ns, "d/f", S_IFREG | 0644, NULL);
	ts_ns_add(&app.ns, "d/hot", S_IFREG | 0644, NULL);
	ts_ns_add(&app.ns, "d/cold", S_IFREG | 0644, NULL);
	CHECK_EQ(ts_stat_err(app.cache, "d/hot"), 0);
	app.ns.on_call = look_elsewhere;
	app.ns.on_call_arg = &app;
	CHECK_EQ(ts_stat_err(app.cache, "d/f"), 0);
	CHECK_EQ(ts_stat_err(app.cache, "d/f"), 0);
	app.ns.on_call = NULL;
	app_end(&app);
}

/* L19 */
static void hits_nest_in_the_hosts_read_sections(void)
{
	struct pathcache_entry *entry;
	struct app app;
	char buf[16];

	app_begin(&app);
	ts_ns_add(&app.ns, "d", S_IFDIR | 0755, NULL);
	ts_ns_add(&app.ns, "d/f", S_IFREG | 0644, NULL);
	ts_ns_add(&app.ns, "l", S_IFLNK | 0777, "d/f");
	CHECK_EQ(ts_stat_err(app.cache, "l"), 0);
	CHECK_EQ(ts_stat_err(app.cache, "d/absent"), -ENOENT);
	ts_read_lock();
	ts_read_lock();
	CHECK_EQ(ts_stat_err(app.cache, "l"), 0);
	CHECK_EQ(ts_stat_err(app.cache, "d/absent"), -ENOENT);
	CHECK_EQ(pathcache_readlink(app.cache, "l", NULL, buf, sizeof(buf)), 3);
	CHECK_EQ(pathcache_realpath(app.cache, "l", NULL, buf, sizeof(buf)), 4);
	CHECK_EQ(pathcache_get(app.cache, "l", NULL, &entry), 0);
	pathcache_put(app.cache, entry);
	CHECK_EQ(ts_stat_flags(app.cache, "d/cold", PATHCACHE_CACHED), -EAGAIN);
	ts_read_unlock();
	CHECK_EQ(pathcache_invalidate_name(app.cache, NULL, "l"), 0);
	ts_read_unlock();
	CHECK_EQ(ts_stat_err(app.cache, "l"), 0);
	app_end(&app);
}

static void *stat_once(void *arg)
{
	struct app *app = arg;

	CHECK_EQ(ts_stat_err(app->cache, "f"), 0);
	return NULL;
}

/* L16 */
static void threads_come_and_go_unregistered(void)
{
	unsigned n = ts_scale(1000);
	struct app app;

	app_begin(&app);
	ts_ns_add(&app.ns, "f", S_IFREG | 0644, NULL);
	for (unsigned i = 0; i < n; i++) {
		pthread_t thread;

		REQUIRE(pthread_create(&thread, NULL, stat_once, &app) == 0);
		ts_offline();
		REQUIRE(pthread_join(thread, NULL) == 0);
		ts_online();
		if (i % 100 == 0) {
			CHECK_EQ(pathcache_invalidate_all(app.cache), 0);
			CHECK(pathcache_maintain(app.cache, 100) >= 0);
		}
	}
	CHECK_EQ(ts_stats(app.cache).lookups, n);
	app_end(&app);
}

/* ---- names and numbers ------------------------------------------------- */

/* L21 */
static void every_name_of_a_large_directory_is_found_again(void)
{
	unsigned n = ts_scale(20000);
	struct pathcache_options opt;
	struct scene s;
	char name[32];

	pathcache_options_init(&opt);
	opt.negatives_per_dir = n;
	scene_begin_with(&s, &opt);
	ts_dir(&s.tree, "d", 0755);
	for (unsigned i = 0; i < n; i += 10) {
		snprintf(name, sizeof(name), "d/%x", i);
		ts_file(&s.tree, name, 0644, "");
	}
	for (int hot = 0; hot < 2; hot++) {
		uint64_t calls = ts_stats(s.cache).backend_calls;

		for (unsigned i = 0; i < n; i++) {
			snprintf(name, sizeof(name), "d/%x", i);
			CHECK_EQ(ts_stat_err(s.cache, name), i % 10 ? -ENOENT : 0);
		}
		if (hot)
			CHECK_EQ(ts_stats(s.cache).backend_calls, calls);
	}
	scene_end(&s);
}

/* Of the processor: others may have it meanwhile. */
static uint64_t spent_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static uint64_t time_absent(struct app *app, char (*names)[32], unsigned n)
{
	uint64_t best = UINT64_MAX;

	for (int round = 0; round < 4; round++) {
		uint64_t start = spent_ns(), took;

		for (unsigned i = 0; i < n; i++)
			CHECK_EQ(ts_stat_err(app->cache, names[i]), -ENOENT);
		took = spent_ns() - start;
		if (round && took < best)
			best = took;
	}
	return best;
}

/* L22: names that are one bucket under a multiplier of 31 with no key. */
static void chosen_names_are_as_fast_as_others(void)
{
	unsigned n = ts_scale(16384) & ~1u;
	char(*chosen)[32] = calloc(n, 32), (*others)[32] = calloc(n, 32);
	struct ts_rng rng = ts_rng(5);
	struct app app;
	uint64_t slow, fast;

	REQUIRE(chosen && others);
	for (unsigned i = 0; i < n; i++) {
		for (unsigned bit = 0; bit < 14; bit++)
			memcpy(chosen[i] + 2 * bit, i >> bit & 1 ? "Aa" : "BB", 2);
		for (unsigned at = 0; at < 28; at++)
			others[i][at] = (char)('a' + ts_below(&rng, 26));
	}
	app_begin(&app);
	slow = time_absent(&app, chosen, n);
	fast = time_absent(&app, others, n);
	printf("      chosen names %llu ns, random names %llu ns each\n",
	       (unsigned long long)(slow / n), (unsigned long long)(fast / n));
	CHECK(slow < 10 * fast + 1000000);
	app_end(&app);
	free(chosen);
	free(others);
}

struct comes_and_goes {
	struct scene s;
	_Atomic bool stop;
};

static void make_and_remove(void *arg)
{
	struct comes_and_goes *c = arg;

	while (!atomic_load(&c->stop)) {
		ts_file(&c->s.tree, "n", 0644, "");
		changed(c->s.cache, "n");
		ts_unlink(&c->s.tree, "n");
		changed(c->s.cache, "n");
		ts_quiescent();
	}
}

/* L23 */
static void a_name_that_comes_and_goes_holds_no_lookup_up(void)
{
	static struct comes_and_goes c;
	struct ts_thread thread;
	uint64_t end, longest = 0, n = 0;

	memset(&c, 0, sizeof(c));
	scene_begin(&c.s);
	ts_thread_start(&thread, make_and_remove, &c);
	end = ts_now_ns() + (uint64_t)(ts_seconds(0.3) * 1e9);
	while (ts_now_ns() < end) {
		uint64_t start = ts_now_ns(), took;
		int rc = ts_stat_err(c.s.cache, "n");

		CHECK(rc == 0 || rc == -ENOENT);
		took = ts_now_ns() - start;
		longest = took > longest ? took : longest;
		n++;
		ts_quiescent();
	}
	atomic_store(&c.stop, true);
	ts_thread_join(&thread);
	printf("      %llu lookups, the longest %.1f ms\n", (unsigned long long)n,
	       (double)longest / 1e6);
	CHECK(n > 10 && longest < UINT64_C(5000000000));
	scene_end(&c.s);
}

/* L29 */
static void large_numbers_are_not_cut(void)
{
	struct ts_object *object;
	struct pathcache_attr attr;
	struct stat st;
	struct app app;

	app_begin(&app);
	object = ts_ns_add(&app.ns, "f", S_IFREG | 0644, NULL);
	object->id = UINT64_C(0xfedcba9876543210);
	object->size = UINT64_C(1) << 52;
	for (int hot = 0; hot < 2; hot++) {
		attr = attr_of(app.cache, "f");
		CHECK(attr.ino == object->id);
		CHECK(attr.size == object->size);
		CHECK_EQ(pathcache_attr_to_stat(&attr, &st), 0);
		CHECK(st.st_ino == object->id);
	}
	object->size = UINT64_MAX;
	changed_object(app.cache, "f");
	attr = attr_of(app.cache, "f");
	CHECK_EQ(pathcache_attr_to_stat(&attr, &st), -EOVERFLOW);
	app_end(&app);
}

static const struct ts_case cases[] = {
	TS_CASE(an_invalidation_does_not_wait_for_a_fill),
	TS_CASE(an_invalidation_inside_every_callback_ends),
	TS_CASE(a_blocked_callback_blocks_nobody_else),
	TS_CASE(lookups_and_invalidations_both_go_on),
	TS_CASE(a_fill_overtaken_by_an_invalidation_is_not_kept),
	TS_CASE(a_late_fill_stays_with_its_directory),
	TS_CASE(late_link_text_is_not_kept),
	TS_CASE(changed_link_text_is_followed),
	TS_CASE(a_lookup_after_an_invalidation_asks_again),
	TS_CASE(a_crowd_asks_the_backend_once),
	TS_CASE(an_error_is_shared_and_not_kept),
	TS_CASE(a_waiter_gives_up_and_asks_for_itself),
	TS_CASE(waiters_are_not_stuck_when_the_answer_may_not_be_kept),
	TS_CASE(waiters_are_not_stuck_when_the_name_is_invalidated),
	TS_CASE(a_callback_may_look_up_another_name),
	TS_CASE(hits_nest_in_the_hosts_read_sections),
	TS_CASE(threads_come_and_go_unregistered),
	TS_CASE(every_name_of_a_large_directory_is_found_again),
	TS_CASE(chosen_names_are_as_fast_as_others),
	TS_CASE(a_name_that_comes_and_goes_holds_no_lookup_up),
	TS_CASE(large_numbers_are_not_cut),
};

int main(int argc, char **argv)
{
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
