/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Memos keep to their share of the budget whatever is looked up, and memory
 * that fails anywhere while they are learned harms no answer.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scene.h"

#define TABLE_MIN 8192u /* bytes of a table of memos that is there from the start */

/* ---- options ----------------------------------------------------------- */

static int open_with(uint32_t share, uint32_t ways)
{
	struct pathcache_options opt;
	struct pathcache *cache;
	int rc;

	pathcache_options_init(&opt);
	CHECK_EQ(opt.memo_share, 25);
	CHECK(opt.memo_ways == 4 || opt.memo_ways == 8 || opt.memo_ways == 16);
	opt.memo_share = share;
	opt.memo_ways = ways;
	rc = pathcache_open(&cache, "/", &opt);
	if (rc == 0)
		CHECK_EQ(pathcache_close(cache), 0);
	return rc;
}

static void options_out_of_range_are_refused(void)
{
	CHECK_EQ(open_with(25, 4), 0);
	CHECK_EQ(open_with(25, 8), 0);
	CHECK_EQ(open_with(90, 16), 0);
	CHECK_EQ(open_with(0, 8), 0);
	CHECK_EQ(open_with(91, 8), -EINVAL);
	CHECK_EQ(open_with(UINT32_MAX, 8), -EINVAL);
	CHECK_EQ(open_with(25, 0), -EINVAL);
	CHECK_EQ(open_with(25, 3), -EINVAL);
	CHECK_EQ(open_with(25, 12), -EINVAL);
	CHECK_EQ(open_with(25, 32), -EINVAL);
}

/* A program built before there were memos gets the defaults. */
static void a_smaller_struct_means_the_defaults(void)
{
	struct pathcache_options opt;
	struct scene s;

	pathcache_options_init(&opt);
	opt.size = offsetof(struct pathcache_options, memo_share);
	opt.memo_share = 91;
	opt.memo_ways = 3;
	scene_begin_with(&s, &opt);
	ts_file(&s.tree, "a-file-that-is-there", 0644, "");
	for (int i = 0; i < 5; i++)
		CHECK_EQ(ts_stat_err(s.cache, "/a-file-that-is-there"), 0);
	CHECK(ts_stats(s.cache).memo_hits > 0);
	scene_end(&s);
}

static void no_share_means_no_memos(void)
{
	struct pathcache_options opt;
	struct pathcache_stats stats;
	struct scene s;

	pathcache_options_init(&opt);
	opt.memo_share = 0;
	scene_begin_with(&s, &opt);
	ts_file(&s.tree, "a-file-that-is-there", 0644, "");
	for (int i = 0; i < 10; i++)
		CHECK_EQ(ts_stat_err(s.cache, "/a-file-that-is-there"), 0);
	stats = ts_stats(s.cache);
	CHECK_EQ(stats.memo_hits, 0);
	CHECK_EQ(stats.memos, 0);
	CHECK_EQ(stats.memo_bytes, 0);
	CHECK_EQ(stats.hits, 9);
	scene_end(&s);
}

/* ---- texts that no memo has ---------------------------------------------- */

/* realpath() of path, as often as a memo would need, and then for nothing more to be stored. */
static void ask_for_text(const struct scene *s, const char *path, size_t size, ssize_t want)
{
	struct pathcache_stats before, now;
	char text[4096];

	for (int i = 0; i < 4; i++)
		CHECK_EQ(pathcache_realpath(s->cache, path, NULL, text, size), want);
	before = ts_stats(s->cache);
	for (int i = 0; i < 50; i++)
		CHECK_EQ(pathcache_realpath(s->cache, path, NULL, text, size), want);
	now = ts_stats(s->cache);
	CHECK_EQ(now.hits, before.hits + 50);
	CHECK_EQ(now.bytes, before.bytes);
	CHECK_EQ(now.memo_bytes, before.memo_bytes);
}

/* Hits store nothing, whether or not a memo could tell them all. */
static void a_text_that_no_memo_has_is_not_learned_for_ever(void)
{
	char path[1400] = "";
	struct scene s;
	size_t len = 0;

	scene_begin(&s);
	for (char c = 'a'; c <= 'f'; c++) {
		path[len] = '/';
		memset(path + len + 1, c, 200);
		len += 201;
		path[len] = '\0';
		ts_dir(&s.tree, path + 1, 0755);
	}
	ts_symlink(&s.tree, "a-link-to-the-end", path + 1);
	ask_for_text(&s, path, sizeof(path), (ssize_t)len);
	ask_for_text(&s, "/a-link-to-the-end", sizeof(path), (ssize_t)len);
	ts_dir(&s.tree, "directory", 0755);
	ask_for_text(&s, "/directory/../directory", 5, -ERANGE);
	ask_for_text(&s, "/directory/.", 5, -ERANGE);
	ask_for_text(&s, "/directory/../directory", 64, (ssize_t)strlen("/directory"));
	ask_for_text(&s, "/directory/../directory", 5, -ERANGE);
	scene_end(&s);
}

/* ---- the share --------------------------------------------------------- */

struct scan {
	struct app app;
	uint64_t limit, budget, base; /* base: of a cache with nothing in it */
	unsigned nfiles;
};

/* Directories of 100 files each, so that paths share what they rely on. */
static void scan_begin_on(struct scan *scan, uint64_t budget, uint32_t share, uint32_t ways,
                          const struct pathcache_allocator *allocator)
{
	struct pathcache_options opt;
	char path[64];

	pathcache_options_init(&opt);
	opt.budget = scan->budget = budget;
	opt.memo_share = share;
	opt.memo_ways = ways;
	opt.allocator = allocator;
	scan->limit = budget / 100 * share + TABLE_MIN;
	scan->nfiles = 400;
	app_begin_with(&scan->app, &opt);
	scan->base = ts_stats(scan->app.cache).bytes;
	for (unsigned i = 0; i < scan->nfiles; i++) {
		snprintf(path, sizeof(path), "directory-%u", i / 100);
		if (i % 100 == 0)
			ts_ns_add(&scan->app.ns, path, S_IFDIR | 0755, NULL);
		snprintf(path, sizeof(path), "directory-%u/%u", i / 100, i);
		ts_ns_add(&scan->app.ns, path, S_IFREG | 0644, NULL);
	}
}

static void scan_begin(struct scan *scan, uint64_t budget, uint32_t share, uint32_t ways)
{
	scan_begin_on(scan, budget, share, ways, NULL);
}

static void check_bounds(struct scan *scan, unsigned i)
{
	struct pathcache_stats stats = ts_stats(scan->app.cache);

	if (stats.memo_bytes > scan->limit || stats.bytes > scan->budget + scan->base)
		ts_fail(__FILE__, __LINE__,
		        "after %u paths: %llu bytes of memos, may be %llu; %llu "
		        "in all, may be %llu",
		        i, (unsigned long long)stats.memo_bytes, (unsigned long long)scan->limit,
		        (unsigned long long)stats.bytes,
		        (unsigned long long)(scan->budget + scan->base));
	CHECK(stats.memo_bytes <= stats.bytes);
}

/*
 * The i-th of as many paths to the few files as are wanted, by detours; some are
 * absent. Return: what stat says.
 */
static int some_path(const struct scan *scan, unsigned i, char *path, size_t size)
{
	unsigned f = i % scan->nfiles, detour = i / scan->nfiles;
	bool absent = i % 11 == 0;
	int at = snprintf(path, size, "/");

	for (; detour; detour /= 4)
		at += snprintf(path + at, size - (size_t)at, "directory-%u/../", detour % 4);
	snprintf(path + at, size - (size_t)at, "directory-%u/%u%s", f / 100, f,
	         absent ? "-absent" : "");
	return absent ? -ENOENT : 0;
}

/* Each of n different paths three times. */
static void look_up_many(struct scan *scan, unsigned n)
{
	struct pathcache_attr attr;
	char path[256];

	for (unsigned i = 0; i < n; i++) {
		int want = some_path(scan, i, path, sizeof(path));

		for (int times = 0; times < 3; times++)
			CHECK_EQ(pathcache_stat(scan->app.cache, path, NULL, &attr), want);
		if (i % 64 == 0)
			check_bounds(scan, i);
		if (i % 5000 == 0)
			CHECK(pathcache_maintain(scan->app.cache, 64) >= 0);
		ts_quiescent();
	}
	check_bounds(scan, n);
}

/* Few paths again and again. Return: percent that memos answered. */
static unsigned look_up_again(struct scan *scan)
{
	uint64_t hits = ts_stats(scan->app.cache).memo_hits;
	struct pathcache_attr attr;
	char path[256];

	for (unsigned i = 0; i < 40 * 250; i++) {
		int want = some_path(scan, i % 40, path, sizeof(path));

		CHECK_EQ(pathcache_stat(scan->app.cache, path, NULL, &attr), want);
		if (i % 5000 == 0)
			CHECK(pathcache_maintain(scan->app.cache, 64) >= 0);
	}
	check_bounds(scan, 0);
	return (unsigned)((ts_stats(scan->app.cache).memo_hits - hits) / 100);
}

static void memos_keep_to_their_share(void)
{
	static const struct {
		uint64_t budget;
		uint32_t share, ways;
		unsigned n;
	} runs[] = {
		{UINT64_C(512) << 10, 25, 8, 200000}, {UINT64_C(512) << 10, 1, 4, 20000},
		{UINT64_C(2) << 20, 90, 16, 50000},   {UINT64_C(1) << 20, 50, 4, 50000},
		{UINT64_C(64) << 10, 90, 8, 20000},   {0, 25, 8, 2000},
	};

	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		struct pathcache_stats stats;
		struct scan scan;
		unsigned again;

		scan_begin(&scan, runs[i].budget, runs[i].share, runs[i].ways);
		look_up_many(&scan, ts_scale(runs[i].n));
		stats = ts_stats(scan.app.cache);
		again = look_up_again(&scan);
		printf("      %5llu KiB, %u %%, %2u ways: %llu memos in %llu bytes, %llu of %llu "
		       "lookups, afterwards %u %%\n",
		       (unsigned long long)runs[i].budget >> 10, runs[i].share, runs[i].ways,
		       (unsigned long long)stats.memos, (unsigned long long)stats.memo_bytes,
		       (unsigned long long)stats.memo_hits, (unsigned long long)stats.lookups,
		       again);
		/* A scan does not keep what is asked often out for good. */
		if (runs[i].budget >= UINT64_C(512) << 10 && runs[i].share > 1)
			CHECK(again >= 5);
		app_end(&scan.app);
	}
}

/* Memos leave room for names: what they do not get, names do. */
static void names_have_the_rest(void)
{
	struct scan scan;
	struct pathcache_stats stats;

	scan_begin(&scan, UINT64_C(1) << 20, 25, 8);
	look_up_many(&scan, ts_scale(40000));
	stats = ts_stats(scan.app.cache);
	CHECK(stats.nodes >= scan.nfiles);
	CHECK_EQ(stats.uncached, 0);
	app_end(&scan.app);
}

/* ---- memory that fails ------------------------------------------------- */

#define ALIGNED 16u /* as all of it is, and none of it better */

struct failing {
	struct pathcache_allocator allocator;
	_Atomic uint64_t asked;
	_Atomic int64_t live;
	uint64_t every; /* so many questions are one failure; 0 = none */
	bool cancels;   /* each is a cancellation point */
	/* One of so many bytes is held up; 0 = none. */
	_Atomic size_t hold;
	sem_t held, go;
};

static void wait_for(sem_t *sem)
{
	ts_offline();
	while (sem_wait(sem) != 0)
		;
	ts_online();
}

static void *failing_alloc(void *ctx, size_t size)
{
	struct failing *failing = ctx;
	uint64_t n = atomic_fetch_add(&failing->asked, 1) + 1;
	void *p = NULL;

	if (failing->cancels)
		pthread_testcancel();
	if (atomic_load(&failing->hold) && size >= atomic_load(&failing->hold)) {
		atomic_store(&failing->hold, 0);
		sem_post(&failing->held);
		wait_for(&failing->go);
	}
	if (failing->every && n % failing->every == 0)
		return NULL;
	if (posix_memalign(&p, 64, ALIGNED + size) != 0)
		return NULL;
	atomic_fetch_add(&failing->live, 1);
	return (char *)p + ALIGNED;
}

static void failing_free(void *ctx, void *p, size_t size)
{
	struct failing *failing = ctx;

	(void)size;
	atomic_fetch_sub(&failing->live, 1);
	free((char *)p - ALIGNED);
}

/* Names that come and go between questions, so that memos are learned all the time. */
static void ask_while_it_fails(struct app *app, unsigned rounds)
{
	struct pathcache_attr attr;
	char path[64], name[16];

	for (unsigned i = 0; i < rounds; i++) {
		unsigned f = i * 7 % 50;
		int rc;

		snprintf(name, sizeof(name), "%u", f);
		snprintf(path, sizeof(path), "/directory/./././%s", name);
		for (int times = 0; times < 4; times++) {
			rc = pathcache_stat(app->cache, path, NULL, &attr);
			if (rc != (f % 5 ? 0 : -ENOENT) && rc != -ENOMEM)
				ts_fail(__FILE__, __LINE__, "%s: %d", path, rc);
		}
		if (i % 3 == 0) {
			snprintf(path, sizeof(path), "/directory/%u", (f + 1) % 50);
			rc = pathcache_invalidate_path(app->cache, path);
			CHECK(rc == 0 || rc == -ENOMEM);
		}
		if (i % 500 == 0)
			CHECK(pathcache_maintain(app->cache, 64) >= 0);
		ts_quiescent();
	}
}

/* A directory of files, every fifth absent, below an allocator that does not fail yet. budget 0: the default. */
static void failing_begin(struct failing *failing, struct app *app, uint64_t budget)
{
	struct pathcache_options opt;
	char path[64];

	*failing = (struct failing){.every = 0};
	failing->allocator = (struct pathcache_allocator){
		.alloc = failing_alloc, .free = failing_free, .ctx = failing};
	pathcache_options_init(&opt);
	opt.allocator = &failing->allocator;
	if (budget)
		opt.budget = budget;
	app_begin_with(app, &opt);
	ts_ns_add(&app->ns, "directory", S_IFDIR | 0755, NULL);
	for (int f = 0; f < 50; f++) {
		snprintf(path, sizeof(path), "directory/%d", f);
		if (f % 5)
			ts_ns_add(&app->ns, path, S_IFREG | 0644, NULL);
	}
}

static void memory_that_fails_now_and_then_harms_no_answer(void)
{
	for (unsigned every = 2; every < 14; every++) {
		struct failing failing;
		struct app app;

		failing_begin(&failing, &app, UINT64_C(1) << 20);
		failing.every = every;
		ask_while_it_fails(&app, ts_scale(3000));
		failing.every = 0;
		ask_while_it_fails(&app, 100);
		CHECK(ts_stats(app.cache).memo_hits > 0);
		app_end(&app);
		CHECK_EQ(atomic_load(&failing.live), 0);
	}
}

/* Memory that runs out for good: what was learned is still right, and given back. */
static void memory_that_is_gone_harms_no_answer(void)
{
	for (unsigned from = 1; from < 60; from++) {
		struct failing failing;
		struct app app;

		failing_begin(&failing, &app, 0);
		ask_while_it_fails(&app, from);
		failing.every = 1;
		ask_while_it_fails(&app, 60);
		app_end(&app);
		CHECK_EQ(atomic_load(&failing.live), 0);
	}
}

/* ---- what is asked again and again -------------------------------------- */

#define AGAIN 50
#define WARM 8
#define SOMEBODY 4712u

struct again {
	struct failing failing; /* counts, and does not fail */
	struct app app;
	uid_t uid; /* of the process, in the cache's eyes */
	struct pathcache_cred cred;
};

/* Files with canonical paths too long to be remembered, and one that its owner may search the way to. */
static void again_begin(struct again *again)
{
	struct pathcache_options opt;
	uid_t uid = geteuid();
	char path[1600];
	int at = 0;

	memset(again, 0, sizeof(*again));
	again->failing.allocator = (struct pathcache_allocator){
		.alloc = failing_alloc, .free = failing_free, .ctx = &again->failing};
	again->cred = (struct pathcache_cred){.size = sizeof(again->cred),
	                                      .uid = 4711,
	                                      .gid = 4711,
	                                      .caps = PATHCACHE_CAP_DAC_READ_SEARCH};
	pathcache_options_init(&opt);
	opt.allocator = &again->failing.allocator;
	/* The process has no capabilities when it opens the cache. */
	REQUIRE(uid || seteuid(SOMEBODY) == 0);
	again->uid = geteuid();
	app_begin_with(&again->app, &opt);
	REQUIRE(uid || seteuid(uid) == 0);
	for (int i = 0; i < 6; i++) {
		at += snprintf(path + at, sizeof(path) - (size_t)at, "%s%0200d", i ? "/" : "", i);
		ts_ns_add(&again->app.ns, path, S_IFDIR | 0755, NULL);
	}
	ts_ns_add(&again->app.ns, "way-to-the-deep", S_IFLNK | 0777, path);
	snprintf(path + at, sizeof(path) - (size_t)at, "/file");
	ts_ns_add(&again->app.ns, path, S_IFREG | 0644, NULL);
	ts_ns_add(&again->app.ns, "directory", S_IFDIR | 0755, NULL);
	ts_ns_add(&again->app.ns, "directory/file", S_IFREG | 0644, NULL);
	ts_ns_add(&again->app.ns, "closed", S_IFDIR | 0700, NULL)->uid = again->uid;
	ts_ns_add(&again->app.ns, "closed/file", S_IFREG | 0644, NULL);
}

static void again_end(struct again *again)
{
	app_end(&again->app);
	CHECK_EQ(atomic_load(&again->failing.live), 0);
}

/* Hits that no memo can answer, whoever has learned one: no memory is asked for. */
static void ask_again(struct again *again, void (*ask)(struct again *again))
{
	uint64_t asked = 0;

	for (int i = 0; i < WARM + AGAIN; i++) {
		if (i == WARM)
			asked = atomic_load(&again->failing.asked);
		ask(again);
	}
	CHECK_EQ(atomic_load(&again->failing.asked), asked);
}

static void ask_with_a_small_buffer(struct again *again)
{
	char buf[4];

	CHECK_EQ(pathcache_realpath(again->app.cache, "/directory/../directory/./file", NULL, buf,
	                            sizeof(buf)),
	         -ERANGE);
}

static void ask_for_a_long_text(struct again *again)
{
	char buf[4096];

	CHECK_EQ(pathcache_realpath(again->app.cache, "/way-to-the-deep/file", NULL, buf,
	                            sizeof(buf)),
	         6 * 201 + 5);
}

/* Each may, by what the other has not. */
static void ask_by_turns(struct again *again)
{
	struct pathcache_how how = {.size = sizeof(how), .cred = &again->cred};
	struct pathcache_attr attr;
	char buf[64];

	CHECK_EQ(pathcache_stat(again->app.cache, "/closed/././file", &how, &attr), 0);
	CHECK_EQ(pathcache_stat(again->app.cache, "/closed/././file", NULL, &attr), 0);
	CHECK_EQ(pathcache_realpath(again->app.cache, "/closed/././file", &how, buf, sizeof(buf)),
	         12);
	CHECK_EQ(pathcache_realpath(again->app.cache, "/closed/././file", NULL, buf, sizeof(buf)),
	         12);
}

static void what_memos_cannot_answer_is_learned_once(void)
{
	void (*const asks[])(struct again *) = {ask_with_a_small_buffer, ask_for_a_long_text,
	                                        ask_by_turns};

	for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++) {
		struct again again;

		again_begin(&again);
		ask_again(&again, asks[i]);
		again_end(&again);
	}
}

/* The process has the last word, and then the memo. */
static void the_process_goes_before_others(void)
{
	struct again again;
	uint64_t hits;

	again_begin(&again);
	for (int i = 0; i < WARM; i++)
		ask_by_turns(&again);
	hits = ts_stats(again.app.cache).memo_hits;
	ask_by_turns(&again);
	CHECK(ts_stats(again.app.cache).memo_hits - hits >= 2);
	again_end(&again);
}

/* ---- a share that is full ------------------------------------------------- */

#define FULL_PATHS 400u
#define FULL_LENGTH 700u

/* The i-th of many long paths to few files, each by a way of its own. */
static void long_path(unsigned i, char *path)
{
	size_t at = 0;

	for (unsigned detour = 0; detour < 5; detour++)
		at += (size_t)sprintf(path + at, "/directory-%u/..", i >> (2 * detour) & 3);
	while (at < FULL_LENGTH)
		at += (size_t)sprintf(path + at, "/.");
	sprintf(path + at, "/directory-%u/%u", i % 4, i % 4 * 100);
}

static void full_begin(struct scan *scan, struct failing *failing, uint64_t budget)
{
	memset(failing, 0, sizeof(*failing));
	failing->allocator = (struct pathcache_allocator){
		.alloc = failing_alloc, .free = failing_free, .ctx = failing};
	scan_begin_on(scan, budget, 5, 16, &failing->allocator);
}

static uint64_t ask_long(struct scan *scan, unsigned first, unsigned end)
{
	uint64_t hits = ts_stats(scan->app.cache).memo_hits;
	char path[FULL_LENGTH + 64];
	struct pathcache_attr attr;

	for (unsigned i = first; i < end; i++) {
		long_path(i, path);
		CHECK_EQ(pathcache_stat(scan->app.cache, path, NULL, &attr), 0);
	}
	return ts_stats(scan->app.cache).memo_hits - hits;
}

/* Once it is full nothing is tried that does not fit, however little is missing. */
static void a_full_share_is_left_alone(void)
{
	struct failing failing;
	struct scan scan;
	uint64_t asked;

	/* Each has some 200 bytes more. */
	for (unsigned i = 0; i < 5; i++) {
		full_begin(&scan, &failing, (UINT64_C(2) << 20) + i * 4096);
		for (int round = 0; round < 4; round++)
			ask_long(&scan, 0, FULL_PATHS);
		CHECK(ts_stats(scan.app.cache).memos < FULL_PATHS / 2);
		asked = atomic_load(&failing.asked);
		for (int round = 0; round < 4; round++)
			ask_long(&scan, 0, FULL_PATHS);
		CHECK_EQ(atomic_load(&failing.asked), asked);
		app_end(&scan.app);
	}
}

/* Misses bring in others, and nobody has to call for that. */
static void a_full_share_gives_way(void)
{
	struct failing failing;
	struct pathcache_attr attr;
	char path[FULL_LENGTH + 64];
	struct scan scan;
	uint64_t hits = 0;

	full_begin(&scan, &failing, UINT64_C(2) << 20);
	for (int round = 0; round < 4; round++)
		ask_long(&scan, 0, FULL_PATHS);
	ts_offline(); /* or this thread does not wait for a grace period */
	for (int round = 0; round < 40; round++)
		for (unsigned i = FULL_PATHS; i < FULL_PATHS + 20; i++) {
			snprintf(path, sizeof(path), "/directory-%u/absent-%d-%u", i % 4, round, i);
			CHECK_EQ(pathcache_stat(scan.app.cache, path, NULL, &attr), -ENOENT);
			hits = ask_long(&scan, i, i + 1);
		}
	ts_online();
	hits = ask_long(&scan, FULL_PATHS, FULL_PATHS + 20);
	CHECK(hits >= 15);
	app_end(&scan.app);
}

/* ---- two who take memory at once ------------------------------------------ */

#define TABLE_HELD 16384u /* bytes; the table that is held up has more */

struct race {
	struct failing failing;
	struct scan scan;
};

/* Learns until its table has grown. */
static void race_learn(void *arg)
{
	struct race *race = arg;
	struct pathcache_attr attr;
	char path[256];

	for (unsigned i = 0; i < 4000; i++) {
		int want = some_path(&race->scan, i, path, sizeof(path));

		CHECK_EQ(pathcache_stat(race->scan.app.cache, path, NULL, &attr), want);
		if (i == 20)
			atomic_store(&race->failing.hold, TABLE_HELD);
		CHECK_EQ(pathcache_stat(race->scan.app.cache, path, NULL, &attr), want);
		ts_quiescent();
	}
}

/* What a memo was granted and names have taken meanwhile is not taken twice. */
static void the_budget_is_not_spent_twice(void)
{
	struct race race;
	struct pathcache_attr attr;
	struct ts_thread thread;
	char path[64];

	memset(&race, 0, sizeof(race));
	REQUIRE(sem_init(&race.failing.held, 0, 0) == 0 && sem_init(&race.failing.go, 0, 0) == 0);
	race.failing.allocator = (struct pathcache_allocator){
		.alloc = failing_alloc, .free = failing_free, .ctx = &race.failing};
	scan_begin_on(&race.scan, UINT64_C(512) << 10, 50, 16, &race.failing.allocator);
	for (unsigned i = 0; i < race.scan.nfiles; i++) {
		some_path(&race.scan, i, path, sizeof(path));
		pathcache_stat(race.scan.app.cache, path, NULL, &attr);
	}
	ts_thread_start(&thread, race_learn, &race);
	wait_for(&race.failing.held);
	/* Names take all there is; what goes for them waits for a grace period that nobody pays. */
	for (unsigned i = 0; i < 4000; i++) {
		snprintf(path, sizeof(path), "/directory-%u/another-%u", i % 4, i);
		CHECK_EQ(pathcache_stat(race.scan.app.cache, path, NULL, &attr), -ENOENT);
		CHECK(ts_stats(race.scan.app.cache).bytes <= race.scan.budget);
	}
	sem_post(&race.failing.go);
	ts_thread_join(&thread);
	CHECK(ts_stats(race.scan.app.cache).bytes <= race.scan.budget);
	app_end(&race.scan.app);
	CHECK_EQ(atomic_load(&race.failing.live), 0);
}

/* ---- cancelled threads -------------------------------------------------- */

static _Atomic bool came_back;

static void *cancelled_main(void *arg)
{
	struct again *again = arg;
	struct pathcache_attr attr;

	pthread_cancel(pthread_self());
	CHECK_EQ(pathcache_stat(again->app.cache, "/directory/./file", NULL, &attr), 0);
	atomic_store(&came_back, true);
	pthread_testcancel();
	return NULL;
}

/* An allocator may be a cancellation point; learning, which it is called in, is none. */
static void a_cancelled_thread_learns_to_the_end(void)
{
	struct again again;
	struct pathcache_attr attr;
	pthread_t thread;
	void *result;

	if (!TS_CAN_CANCEL) {
		ts_skip("not under the address sanitizer");
		return;
	}
	again_begin(&again);
	CHECK_EQ(pathcache_stat(again.app.cache, "/directory/./file", NULL, &attr), 0);
	again.failing.cancels = true;
	REQUIRE(pthread_create(&thread, NULL, cancelled_main, &again) == 0);
	ts_offline();
	REQUIRE(pthread_join(thread, &result) == 0);
	ts_online();
	again.failing.cancels = false;
	CHECK(result == PTHREAD_CANCELED);
	CHECK(atomic_load(&came_back));
	CHECK_EQ(ts_stats(again.app.cache).memos, 1);
	again_end(&again);
}

static const struct ts_case cases[] = {
	TS_CASE(options_out_of_range_are_refused),
	TS_CASE(a_smaller_struct_means_the_defaults),
	TS_CASE(no_share_means_no_memos),
	TS_CASE(a_text_that_no_memo_has_is_not_learned_for_ever),
	TS_CASE(memos_keep_to_their_share),
	TS_CASE(names_have_the_rest),
	TS_CASE(memory_that_fails_now_and_then_harms_no_answer),
	TS_CASE(memory_that_is_gone_harms_no_answer),
	TS_CASE(what_memos_cannot_answer_is_learned_once),
	TS_CASE(the_process_goes_before_others),
	TS_CASE(a_cancelled_thread_learns_to_the_end),
	TS_CASE(the_budget_is_not_spent_twice),
	TS_CASE(a_full_share_is_left_alone),
	TS_CASE(a_full_share_gives_way),
};

int main(int argc, char **argv)
{
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
