/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Budgets that change, and such as hold next to nothing. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "scene.h"

/* count names "name0" and so on in the directory d. */
static void names_make(struct app *app, const char *dir, int count)
{
	char path[300];

	ts_ns_add(&app->ns, dir, S_IFDIR | 0755, NULL);
	for (int i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "%s/name%d", dir, i);
		ts_ns_add(&app->ns, path, S_IFREG | 0644, NULL);
	}
}

struct setter {
	struct ts_thread thread;
	struct pathcache *cache;
	uint64_t budget;
};

static void set(void *arg)
{
	struct setter *s = arg;

	CHECK_EQ(pathcache_set_budget(s->cache, s->budget), 0);
}

/* In a thread, so that a call that does not return ends the program. */
static void budget_set(struct pathcache *cache, uint64_t budget)
{
	struct setter s = {.cache = cache, .budget = budget};

	ts_thread_start(&s.thread, set, &s);
	REQUIRE(ts_thread_ends(&s.thread, 20000));
	ts_thread_join(&s.thread);
}

static void nothing_is_left_at_budget_0(void)
{
	struct app app;
	char path[64];

	app_begin(&app);
	names_make(&app, "d", 300);
	for (int i = 0; i < 300; i++) {
		snprintf(path, sizeof(path), "d/name%d", i);
		CHECK_EQ(ts_stat_err(app.cache, path), 0);
		CHECK_EQ(ts_stat_err(app.cache, path), 0);
	}
	budget_set(app.cache, 0);
	CHECK_EQ(ts_stats(app.cache).dentries, 1);
	CHECK_EQ(ts_stats(app.cache).memos, 0);
	CHECK_EQ(ts_stat_err(app.cache, "d/name7"), 0);
	CHECK_EQ(ts_stats(app.cache).dentries, 1);
	app_end(&app);
}

/* Where most slots are free, the few names in them are still found. */
static void what_is_over_a_smaller_budget_goes_however_few_are_left(void)
{
	struct app app;
	char path[64];
	uint64_t fixed;

	app_begin(&app);
	for (int dir = 0; dir < 100; dir++) {
		snprintf(path, sizeof(path), "d%d", dir);
		names_make(&app, path, 200);
		for (int i = 0; i < 200; i++) {
			snprintf(path, sizeof(path), "d%d/name%d", dir, i);
			CHECK_EQ(ts_stat_err(app.cache, path), 0);
		}
	}
	fixed = ts_stats(app.cache).table_bytes + ts_stats(app.cache).other_bytes;
	for (uint64_t room = 1 << 20; room >= 1 << 14; room /= 2) {
		budget_set(app.cache, fixed + room);
		CHECK(ts_stats(app.cache).bytes <= fixed + room);
	}
	budget_set(app.cache, 1);
	CHECK_EQ(ts_stats(app.cache).dentries, 1);
	app_end(&app);
}

struct hitter {
	struct ts_thread thread;
	struct pathcache *cache;
	atomic_bool stop;
};

static void hit(void *arg)
{
	struct hitter *h = arg;
	char path[64];

	while (!atomic_load(&h->stop)) {
		for (int i = 0; i < 200; i++) {
			snprintf(path, sizeof(path), "d/name%d", i);
			ts_stat_flags(h->cache, path, PATHCACHE_CACHED);
		}
	}
}

/* Marks are set again faster than the hands go round. */
static void a_smaller_budget_is_kept_while_all_is_hit(void)
{
	struct hitter h = {.stop = false};
	struct app app;
	char path[64];

	app_begin(&app);
	names_make(&app, "d", 200);
	for (int i = 0; i < 200; i++) {
		snprintf(path, sizeof(path), "d/name%d", i);
		CHECK_EQ(ts_stat_err(app.cache, path), 0);
	}
	h.cache = app.cache;
	ts_thread_start(&h.thread, hit, &h);
	budget_set(app.cache, 1);
	CHECK_EQ(ts_stats(app.cache).dentries, 1);
	atomic_store(&h.stop, true);
	ts_thread_join(&h.thread);
	app_end(&app);
}

static void maintain(void *arg)
{
	struct hitter *h = arg;

	while (!atomic_load(&h->stop))
		CHECK(pathcache_maintain(h->cache, 64) >= 0);
}

/*
 * Its own misses evict the links it went over, while another thread pays for it:
 * no rename raced it.
 */
static void a_confined_walk_ends_in_whatever_budget(void)
{
	static const char tail[] =
		"-and-a-long-tail-so-that-few-of-them-fit-in-what-there-is-to-be-had";
	const int links = 30;

	for (uint64_t budget = 48 << 10; budget <= 64 << 10; budget += 4 << 10) {
		struct pathcache_how how = {.size = sizeof(how), .flags = PATHCACHE_IN_ROOT};
		struct pathcache_options opt;
		struct pathcache_attr attr;
		struct hitter h = {.stop = false};
		char path[4096] = "";
		struct app app;

		pathcache_options_init(&opt);
		opt.budget = budget;
		opt.memo_share = 0;
		app_begin_with(&app, &opt);
		for (int i = 0; i < links; i++) {
			char name[100];

			snprintf(name, sizeof(name), "link%d%s", i, tail);
			ts_ns_add(&app.ns, name, S_IFLNK | 0777, ".");
			strcat(strcat(path, "/"), name);
		}
		h.cache = app.cache;
		app.ns.delay_us = 300;
		ts_thread_start(&h.thread, maintain, &h);
		for (int round = 0; round < 3; round++) {
			int rc = pathcache_stat(app.cache, path, &how, &attr);

			if (rc)
				ts_fail(__FILE__, __LINE__, "budget %ju: %d", (uintmax_t)budget,
				        rc);
		}
		atomic_store(&h.stop, true);
		ts_thread_join(&h.thread);
		app_end(&app);
	}
}

/* Long ones take the places of short ones, and a smaller budget makes the share smaller. */
static void absent_names_keep_to_their_share(void)
{
	struct pathcache_options opt;
	struct app app;
	char path[256];

	pathcache_options_init(&opt);
	opt.budget = 1 << 20;
	opt.negative_share = 10;
	app_begin_with(&app, &opt);
	for (int len = 1; len <= 240; len += 239) {
		for (int i = 0; i < 3000; i++) {
			snprintf(path, sizeof(path), "%0*d", len, i);
			CHECK_EQ(ts_stat_err(app.cache, path), -ENOENT);
		}
		CHECK(pathcache_maintain(app.cache, 1000) >= 0);
		CHECK(ts_stats(app.cache).negatives > 100);
		CHECK(ts_stats(app.cache).negative_bytes <= opt.budget / 10);
	}
	budget_set(app.cache, opt.budget / 2);
	CHECK(ts_stats(app.cache).negative_bytes <= opt.budget / 20);
	app_end(&app);
}

/* What waits for a grace period already is not asked to go once more. */
static void no_more_memos_go_than_must(void)
{
	const int dirs = 100, names = 100;
	struct pathcache_stats before, after;
	struct pathcache_options opt;
	struct app app;
	char path[64];

	pathcache_options_init(&opt);
	opt.memo_share = 10;
	app_begin_with(&app, &opt);
	for (int n = 0; n < dirs * names; n++) {
		snprintf(path, sizeof(path), "directory%d", n / names);
		if (n % names == 0)
			names_make(&app, path, names);
		snprintf(path, sizeof(path), "directory%d/name%d", n / names, n % names);
		for (int i = 0; i < 3; i++)
			CHECK_EQ(ts_stat_err(app.cache, path), 0);
	}
	before = ts_stats(app.cache);
	REQUIRE(before.memos > 9000);
	budget_set(app.cache, before.memo_bytes * 10 / 100 * 95);
	after = ts_stats(app.cache);
	CHECK(after.memo_bytes <= before.memo_bytes / 100 * 96);
	CHECK(after.memos > before.memos / 100 * 80);
	app_end(&app);
}

#if TS_CAN_CANCEL
static void *alloc_cancelled(void *ctx, size_t size)
{
	void *p = aligned_alloc(64, (size + 63) & ~(size_t)63);

	pthread_testcancel();
	atomic_fetch_add((atomic_size_t *)ctx, size);
	return p;
}

static void free_cancelled(void *ctx, void *ptr, size_t size)
{
	pthread_testcancel();
	free(ptr);
	atomic_fetch_sub((atomic_size_t *)ctx, size);
}

struct upkeep {
	struct pathcache *cache;
	bool sets;
};

static void *keep_up(void *arg)
{
	struct upkeep *u = arg;

	pthread_cancel(pthread_self());
	if (u->sets)
		CHECK_EQ(pathcache_set_budget(u->cache, 65536), 0);
	else
		CHECK(pathcache_maintain(u->cache, 100) >= 0);
	return NULL;
}

/* What it evicts would else be counted as memory to come for ever. */
static void a_thread_that_is_cancelled_ends_its_upkeep(void)
{
	for (int sets = 0; sets < 2; sets++) {
		atomic_size_t bytes = 0;
		struct pathcache_allocator allocator = {alloc_cancelled, free_cancelled, &bytes};
		struct pathcache_options opt;
		struct upkeep u = {.sets = sets};
		struct app app;
		char path[64];
		pthread_t thread;

		pathcache_options_init(&opt);
		opt.allocator = &allocator;
		app_begin_with(&app, &opt);
		names_make(&app, "directory", 300);
		for (int i = 0; i < 900; i++) {
			snprintf(path, sizeof(path), "directory/name%d", i % 300);
			CHECK_EQ(ts_stat_err(app.cache, path), 0);
		}
		CHECK_EQ(pathcache_invalidate_all(app.cache), 0);
		u.cache = app.cache;
		REQUIRE(pthread_create(&thread, NULL, keep_up, &u) == 0);
		ts_offline();
		pthread_join(thread, NULL);
		ts_online();
		while (pathcache_maintain(app.cache, 100) > 0)
			;
		CHECK_EQ(ts_stats(app.cache).deferred_bytes, 0);
		app_end(&app);
		CHECK_EQ(bytes, 0);
	}
}
#endif

static int tell_none(void *arg, const struct pathcache_binding *b)
{
	(void)arg, (void)b;
	return 0;
}

static void at_budget_0_it_is_told_that_all_is_asked(void)
{
	struct pathcache_entry *held;
	struct app app;

	app_begin(&app);
	names_make(&app, "d", 1);
	held = ts_get(app.cache, "d/name0");
	CHECK_EQ(pathcache_explain(app.cache, "d/name0", NULL, tell_none, NULL), 0);
	budget_set(app.cache, 0);
	CHECK_EQ(ts_stat_flags(app.cache, "d/name0", PATHCACHE_CACHED), -EAGAIN);
	CHECK_EQ(pathcache_explain(app.cache, "d/name0", NULL, tell_none, NULL), -EAGAIN);
	pathcache_put(app.cache, held);
	app_end(&app);
}

/* An allocator that has the budget taken away while a listing is being made. */
struct late {
	struct pathcache *cache; /* NULL: not yet */
	bool done;
};

static void *alloc_late(void *ctx, size_t size)
{
	struct late *l = ctx;

	if (l->cache && size > 3000 && !l->done) {
		l->done = true;
		budget_set(l->cache, 0);
	}
	return aligned_alloc(64, (size + 63) & ~(size_t)63);
}

static void free_late(void *ctx, void *ptr, size_t size)
{
	(void)ctx, (void)size;
	free(ptr);
}

static int see(void *arg, const char *name, size_t len, uint64_t ino, uint32_t type,
               uint64_t cookie)
{
	(void)name, (void)len, (void)ino, (void)type, (void)cookie;
	++*(unsigned *)arg;
	return 0;
}

static void at_budget_0_directories_are_listed_by_the_backend(void)
{
	struct late late = {.cache = NULL};
	struct pathcache_allocator allocator = {alloc_late, free_late, &late};
	struct pathcache_entry *held;
	struct pathcache_options opt;
	unsigned seen = 0;
	struct app app;

	pathcache_options_init(&opt);
	opt.allocator = &allocator;
	opt.complete_max = 1000;
	app_begin_with(&app, &opt);
	names_make(&app, "d", 100);
	held = ts_get(app.cache, "d");
	late.cache = app.cache;
	for (int i = 0; i < 3; i++)
		CHECK_EQ(pathcache_readdir(app.cache, held, 0, see, &seen), 0);
	CHECK(late.done);
	CHECK_EQ(seen, 300);
	CHECK_EQ(ts_ns_calls(&app.ns, TS_LIST), 3);
	pathcache_put(app.cache, held);
	app_end(&app);
}

static const struct ts_case cases[] = {
	TS_CASE(a_confined_walk_ends_in_whatever_budget),
	TS_CASE(absent_names_keep_to_their_share),
	TS_CASE(no_more_memos_go_than_must),
#if TS_CAN_CANCEL
	TS_CASE(a_thread_that_is_cancelled_ends_its_upkeep),
#endif
	TS_CASE(at_budget_0_it_is_told_that_all_is_asked),
	TS_CASE(at_budget_0_directories_are_listed_by_the_backend),
	TS_CASE(nothing_is_left_at_budget_0),
	TS_CASE(what_is_over_a_smaller_budget_goes_however_few_are_left),
	TS_CASE(a_smaller_budget_is_kept_while_all_is_hit),
};

int main(int argc, char **argv)
{
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
