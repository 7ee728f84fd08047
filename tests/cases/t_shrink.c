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

static const struct ts_case cases[] = {
	TS_CASE(nothing_is_left_at_budget_0),
	TS_CASE(what_is_over_a_smaller_budget_goes_however_few_are_left),
	TS_CASE(a_smaller_budget_is_kept_while_all_is_hit),
};

int main(int argc, char **argv)
{
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
