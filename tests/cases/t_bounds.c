/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The bound of the memory when not everything may go: entries are held, readers
 * stand in read sections, a directory is big, the budget is changed while it is
 * used up. Answers are right throughout, and kept again when that is over.
 */
#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "flood.h"
#include "oracle.h"
#include "run.h"
#include "scene.h"

#define BUDGET ((uint64_t)512 << 10)

static void small_begin(struct flood *flood)
{
	struct pathcache_options opt;

	flood_options(&opt, BUDGET);
	flood_begin(flood, &opt);
}

/* Are new names kept, and the bound as well? */
static void check_kept_again(struct flood *flood)
{
	uint64_t over;

	flood_budgets(flood, 2);
	over = ts_stats(flood->cache).over_budget;
	flood_pass(flood, 200);
	CHECK_EQ(ts_stats(flood->cache).over_budget, over);
	CHECK_EQ(flood_ask(flood, "dflood%u/flood%u", (flood->next - 1) / FLOOD_PER_DIR,
	                   flood->next - 1),
	         0);
}

/* ---- held entries (F1, L13) ------------------------------------------------- */

/* F1: the coldest entry is held; ten budgets go by; the hands step over it. */
static void what_is_held_stays_and_so_do_its_directories(void)
{
	struct pathcache_entry *entry;
	struct flood flood;

	small_begin(&flood);
	entry = ts_get(flood.cache, "dfirst/dsecond/fheld");
	flood_ask(&flood, "dfirst/dsecond/fnot-held");
	flood_budgets(&flood, 10);
	CHECK(flood_knows(&flood, "fheld"));
	CHECK(flood_knows(&flood, "dsecond"));
	CHECK(flood_knows(&flood, "dfirst"));
	CHECK(!flood_knows(&flood, "fnot-held"));
	CHECK_EQ(flood_ask(&flood, "dfirst/dsecond/fheld"), 0);
	CHECK(ts_stats(flood.cache).evict_held > 0);
	pathcache_put(flood.cache, entry);
	flood_end(&flood);
}

/* The names in a held directory may go, and are found again in it. */
static void names_in_a_held_directory_come_and_go(void)
{
	struct pathcache_how how = {.size = sizeof(how)};
	struct pathcache_attr attr;
	struct flood flood;
	char name[32];

	small_begin(&flood);
	how.start = ts_get(flood.cache, "dheld");
	for (unsigned round = 0; round < 10; round++) {
		ts_offline(); /* or this thread does not wait for a grace period */
		for (unsigned i = 0; i < 100; i++) {
			snprintf(name, sizeof(name), "f-in-it-%u", i);
			CHECK_EQ(pathcache_stat(flood.cache, name, &how, &attr), 0);
			snprintf(name, sizeof(name), "absent-%u-%u", round, i);
			CHECK_EQ(pathcache_stat(flood.cache, name, &how, &attr), -ENOENT);
		}
		ts_online();
		CHECK(flood_known(&flood, "f-in-it-") > 50);
		flood_budgets(&flood, 6);
		flood_absent(&flood, "d", 2000);
		CHECK(flood_known(&flood, "f-in-it-") < 100);
		CHECK(flood_known(&flood, "absent-") < 50);
	}
	pathcache_put(flood.cache, how.start);
	flood_end(&flood);
}

#define HELD 4000u

/*
 * L13: more is held than the budget has room for. Nothing fails, what is not
 * kept is counted, a miss costs little; after the puts all is as before.
 */
static void where_all_is_held_nothing_fails(void)
{
	struct pathcache_entry **entries = calloc(HELD, sizeof(struct pathcache_entry *));
	struct pathcache_stats before, after;
	struct flood flood;
	char path[64];

	REQUIRE(entries);
	small_begin(&flood);
	for (unsigned i = 0; i < HELD; i++) {
		snprintf(path, sizeof(path), "dheld%u/f%u", i / FLOOD_PER_DIR, i);
		CHECK_EQ(pathcache_get(flood.cache, path, NULL, &entries[i]), 0);
	}
	before = ts_stats(flood.cache);
	CHECK(before.over_budget > 0);
	CHECK_EQ(before.held, HELD);
	for (unsigned i = 0; i < 2000; i++)
		CHECK(flood_ask(&flood, "dmore/f%u", i) > 0);
	after = ts_stats(flood.cache);
	CHECK(after.over_budget - before.over_budget >= 2000);
	CHECK(after.bytes <= before.bytes);
	printf("      %llu names looked at for 2000 misses\n",
	       (unsigned long long)(after.evict_effort - before.evict_effort));
	/* At most 256 for one of 64. */
	CHECK(after.evict_effort - before.evict_effort < 2000 * 8);
	for (unsigned i = 0; i < HELD; i++)
		pathcache_put(flood.cache, entries[i]);
	CHECK(pathcache_maintain(flood.cache, 100) >= 0);
	flood_check_bound(&flood);
	check_kept_again(&flood);
	flood_end(&flood);
	free(entries);
}

/* Most is held, by names of one class: the others still come and go. */
static void where_most_is_held_the_rest_comes_and_goes(void)
{
	struct pathcache_entry **entries = calloc(HELD, sizeof(struct pathcache_entry *));
	struct pathcache_stats before, after;
	struct flood flood;
	unsigned n = 0;
	char path[64];

	REQUIRE(entries);
	small_begin(&flood);
	while (n < HELD && ts_stats(flood.cache).bytes < BUDGET / 5 * 3) {
		snprintf(path, sizeof(path), "dheld%u/f%u", n / FLOOD_PER_DIR, n);
		CHECK_EQ(pathcache_get(flood.cache, path, NULL, &entries[n++]), 0);
	}
	flood_budgets(&flood, 2);
	before = ts_stats(flood.cache);
	flood_pass(&flood, 4000);
	after = ts_stats(flood.cache);
	printf("      %u held; of 4000, %llu were not kept, %llu looked at\n", n,
	       (unsigned long long)(after.over_budget - before.over_budget),
	       (unsigned long long)(after.evict_effort - before.evict_effort));
	CHECK(after.over_budget - before.over_budget < 4000 / 20);
	CHECK(after.evict_effort - before.evict_effort < 4000 * 40);
	while (n)
		pathcache_put(flood.cache, entries[--n]);
	flood_end(&flood);
	free(entries);
}

/* All names that are there are held: absent ones go for others, few as they are. */
static void where_what_is_there_is_held_absent_names_go(void)
{
	struct pathcache_entry **entries = calloc(HELD, sizeof(struct pathcache_entry *));
	struct flood flood;
	unsigned n = 0, kept = 0;
	char path[64];

	REQUIRE(entries);
	small_begin(&flood);
	flood_absent(&flood, "dabsent", 250); /* less than half of their share */
	while (n < HELD && ts_stats(flood.cache).bytes < BUDGET / 8 * 7 - 4096) {
		snprintf(path, sizeof(path), "dheld%u/f%u", n / FLOOD_PER_DIR, n);
		CHECK_EQ(pathcache_get(flood.cache, path, NULL, &entries[n++]), 0);
	}
	CHECK(flood_known(&flood, "no-such-") > 200);
	for (unsigned i = 0; i < 300; i++) {
		snprintf(path, sizeof(path), "dheld0/fmore%u", i);
		CHECK_EQ(pathcache_get(flood.cache, path, NULL, &entries[n++]), 0);
		snprintf(path, sizeof(path), "fmore%u", i);
		kept += flood_knows(&flood, path);
	}
	printf("      %u held, %u kept, %u absent ones left\n", n, kept,
	       flood_known(&flood, "no-such-"));
	CHECK(kept > 150);
	while (n)
		pathcache_put(flood.cache, entries[--n]);
	flood_end(&flood);
	free(entries);
}

/* ---- readers that stand still (F16) ----------------------------------------- */

static sem_t parked, go_on;

static void park(void *arg)
{
	(void)arg;
	ts_online();
	ts_read_lock();
	sem_post(&parked);
	/* Not offline, so no grace period ends meanwhile. */
	while (sem_wait(&go_on) != 0)
		;
	ts_read_unlock();
	ts_offline();
}

struct passer {
	struct ts_thread thread;
	struct flood *flood;
	unsigned first;
	_Atomic unsigned asked;
	_Atomic bool stop;
};

static void pass_by(void *arg)
{
	struct passer *p = arg;
	char path[64];

	ts_offline();
	while (!p->stop) {
		unsigned i = p->first + p->asked;

		snprintf(path, sizeof(path), "dpasser%u/f%u", i / FLOOD_PER_DIR, i);
		CHECK_EQ(ts_stat_err(p->flood->cache, path), 0);
		p->asked++;
	}
	ts_online();
}

/* One of the two may wait for the grace period; the other goes on. */
static unsigned asked_by(const struct passer p[2])
{
	unsigned a = p[0].asked, b = p[1].asked;

	return a > b ? a : b;
}

/*
 * F16: a reader does not leave its read section. Nothing is freed, so in the end
 * nothing is kept; the bound holds, and all is answered.
 */
static void a_reader_that_stands_still_costs_no_memory(void)
{
	struct passer passers[2];
	struct ts_thread reader;
	struct flood flood;
	uint64_t most = 0;

	sem_init(&parked, 0, 0);
	sem_init(&go_on, 0, 0);
	small_begin(&flood);
	flood_budgets(&flood, 2);
	ts_thread_start(&reader, park, NULL);
	ts_offline();
	while (sem_wait(&parked) != 0)
		;
	ts_online();
	for (unsigned i = 0; i < 2; i++) {
		passers[i] = (struct passer){.flood = &flood, .first = i * 10000000};
		ts_thread_start(&passers[i].thread, pass_by, &passers[i]);
	}
	while (asked_by(passers) < ts_scale(20000) + 3000) {
		uint64_t bytes = ts_stats(flood.cache).bytes;

		most = bytes > most ? bytes : most;
		ts_sleep_us(100);
	}
	printf("      %llu of %llu bytes at most\n", (unsigned long long)most,
	       (unsigned long long)BUDGET);
	CHECK(most <= BUDGET + 4096);
	CHECK(ts_stats(flood.cache).over_budget > 1000);
	sem_post(&go_on);
	for (unsigned i = 0; i < 2; i++) {
		passers[i].stop = true;
		ts_thread_join(&passers[i].thread);
	}
	ts_thread_join(&reader);
	check_kept_again(&flood);
	flood_end(&flood);
}

/* The same when it is the thread that asks, in a read section of its own. */
static void misses_in_a_read_section_keep_the_bound(void)
{
	struct flood flood;

	small_begin(&flood);
	ts_read_lock();
	flood.reads = true;
	flood_budgets(&flood, 10);
	CHECK(ts_stats(flood.cache).over_budget > 0);
	ts_read_unlock();
	flood.reads = false;
	check_kept_again(&flood);
	flood_end(&flood);
}

/* ---- a budget that changes --------------------------------------------------- */

/*
 * Is no more in memory than budget allows, but for tables and the cache itself?
 * What another thread was about to free when the budget was changed may be there
 * for a moment, and the numbers are not of one.
 */
static void check_under_load(struct pathcache *cache, uint64_t budget)
{
	struct pathcache_stats stats = {.size = 0};

	for (int i = 0; i < 50; i++) {
		stats = ts_stats(cache);
		if (stats.bytes <= budget + 4096 || stats.dentries <= 20)
			return;
		ts_sleep_us(200);
	}
	ts_fail(__FILE__, __LINE__, "%llu bytes of %llu", (unsigned long long)stats.bytes,
	        (unsigned long long)budget);
}

/* Three threads ask meanwhile. */
static void the_budget_is_changed_under_load(void)
{
	static const uint64_t budgets[] = {2 << 20, 256 << 10, 1 << 20, 96 << 10, 0, 600 << 10};
	struct passer passers[3];
	struct flood flood;
	struct pathcache_options opt;

	flood_options(&opt, BUDGET);
	opt.memo_share = 25;
	flood_begin(&flood, &opt);
	for (unsigned i = 0; i < 3; i++) {
		passers[i] = (struct passer){.flood = &flood, .first = i * 10000000};
		ts_thread_start(&passers[i].thread, pass_by, &passers[i]);
	}
	for (unsigned i = 0; i < ts_scale(60) + 6; i++) {
		uint64_t budget = budgets[i % 6];

		CHECK_EQ(pathcache_set_budget(flood.cache, budget), 0);
		CHECK_EQ(ts_stats(flood.cache).budget, budget);
		for (unsigned look = 0; look < 10; look++) {
			check_under_load(flood.cache, budget);
			ts_sleep_us(300);
		}
	}
	for (unsigned i = 0; i < 3; i++) {
		passers[i].stop = true;
		ts_thread_join(&passers[i].thread);
	}
	CHECK_EQ(pathcache_set_budget(flood.cache, BUDGET), 0);
	check_kept_again(&flood);
	flood_end(&flood);
}

/* What goes is what is over: a smaller budget is kept full, a larger one is used. */
static void a_smaller_budget_keeps_what_it_has_room_for(void)
{
	struct pathcache_stats stats;
	struct flood flood;
	unsigned most;

	small_begin(&flood);
	flood_budgets(&flood, 2);
	most = (unsigned)ts_stats(flood.cache).dentries;
	CHECK_EQ(pathcache_set_budget(flood.cache, BUDGET / 2), 0);
	stats = ts_stats(flood.cache);
	CHECK(stats.bytes <= BUDGET / 2);
	CHECK(stats.bytes > BUDGET / 2 / 10 * 7);
	CHECK_EQ(stats.deferred_bytes, 0);
	CHECK_EQ(pathcache_set_budget(flood.cache, 2 * BUDGET), 0);
	flood.budget = 2 * BUDGET;
	flood_budgets(&flood, 2);
	CHECK(ts_stats(flood.cache).dentries > most * 3 / 2);
	flood_end(&flood);
}

/* ---- no budget ---------------------------------------------------------------- */

#define LONG "f-a-name-long-enough-for-a-memo-to-be-made-of"

static uint64_t all_calls(struct app *app)
{
	uint64_t n = 0;

	for (int call = 0; call < TS_CALLS; call++)
		n += ts_ns_calls(&app->ns, (enum ts_call)call);
	return n;
}

static int tell_nothing(void *arg, const char *name, size_t len, uint64_t ino, uint32_t type,
                        uint64_t cookie)
{
	(void)arg, (void)name, (void)len, (void)ino, (void)type, (void)cookie;
	return 0;
}

enum question {
	STAT,
	LONG_STAT,
	ABSENT,
	UNLISTED,
	BELOW_HELD,
	HELD_STAT,
	READLINK,
	LIST,
	QUESTIONS
};

struct kinds {
	struct app app;
	struct pathcache_entry *dir, *file;
};

static int ask_kind(struct kinds *k, enum question question)
{
	struct pathcache_how how = {.size = sizeof(how), .start = k->dir};
	struct pathcache *cache = k->app.cache;
	struct pathcache_attr attr;
	char buf[64];

	switch (question) {
	case STAT:
		return ts_stat_err(cache, "d/f");
	case LONG_STAT:
		return ts_stat_err(cache, "/d/" LONG);
	case ABSENT:
		return ts_stat_err(cache, "absent") == -ENOENT ? 0 : -EINVAL;
	case UNLISTED:
		return ts_stat_err(cache, "d/absent") == -ENOENT ? 0 : -EINVAL;
	case BELOW_HELD:
		return pathcache_stat(cache, "f", &how, &attr);
	case HELD_STAT:
		return pathcache_entry_stat(cache, k->file, &attr);
	case READLINK:
		return pathcache_readlink(cache, "l", NULL, buf, sizeof(buf)) == 3 ? 0 : -EINVAL;
	case LIST:
		return pathcache_readdir(cache, k->dir, 0, tell_nothing, NULL);
	case QUESTIONS:
		break;
	}
	return -EINVAL;
}

static void kinds_begin(struct kinds *k)
{
	struct pathcache_options opt;

	pathcache_options_init(&opt);
	opt.complete_max = 100;
	app_begin_with(&k->app, &opt);
	ts_ns_add(&k->app.ns, "d", S_IFDIR | 0755, NULL);
	ts_ns_add(&k->app.ns, "d/f", S_IFREG | 0644, NULL);
	ts_ns_add(&k->app.ns, "d/" LONG, S_IFREG | 0644, NULL);
	ts_ns_add(&k->app.ns, "l", S_IFLNK | 0777, "d/f");
	k->dir = ts_get(k->app.cache, "d");
	k->file = ts_get(k->app.cache, "d/f");
}

static void kinds_warm(struct kinds *k)
{
	for (int round = 0; round < 4; round++)
		for (int question = 0; question < QUESTIONS; question++)
			CHECK_EQ(ask_kind(k, (enum question)question), 0);
}

static void without_a_budget_every_query_asks(void)
{
	struct kinds k;

	kinds_begin(&k);
	for (int round = 0; round < 3; round++) {
		kinds_warm(&k);
		for (int question = 0; question < QUESTIONS; question++) {
			uint64_t calls = all_calls(&k.app);

			CHECK_EQ(ask_kind(&k, (enum question)question), 0);
			CHECK_EQ(all_calls(&k.app), calls);
		}
		CHECK_EQ(pathcache_set_budget(k.app.cache, 0), 0);
		CHECK_EQ(ts_stats(k.app.cache).memos, 0);
		CHECK(ts_stats(k.app.cache).dentries <= 3);
		for (int question = 0; question < 3 * QUESTIONS; question++) {
			uint64_t calls = all_calls(&k.app);

			CHECK_EQ(ask_kind(&k, (enum question)(question % QUESTIONS)), 0);
			if (all_calls(&k.app) == calls)
				ts_fail(__FILE__, __LINE__, "question %d did not ask",
				        question % QUESTIONS);
		}
		CHECK_EQ(ts_stat_flags(k.app.cache, "d/f", PATHCACHE_CACHED), -EAGAIN);
		CHECK_EQ(pathcache_set_budget(k.app.cache, UINT64_C(1) << 20), 0);
	}
	pathcache_put(k.app.cache, k.dir);
	pathcache_put(k.app.cache, k.file);
	app_end(&k.app);
}

/* So what was changed in between, and not announced, is seen. */
static void without_a_budget_nothing_is_stale(void)
{
	struct pathcache_attr attr;
	struct kinds k;

	kinds_begin(&k);
	kinds_warm(&k);
	CHECK_EQ(pathcache_set_budget(k.app.cache, 0), 0);
	ts_ns_set(&k.app.ns, "d/f", 0600, 77);
	CHECK_EQ(pathcache_entry_stat(k.app.cache, k.file, &attr), 0);
	CHECK_EQ(attr.size, 77);
	CHECK_EQ(attr_of(k.app.cache, "d/f").size, 77);
	ts_ns_add(&k.app.ns, "absent", S_IFREG | 0644, NULL);
	ts_ns_add(&k.app.ns, "d/absent", S_IFREG | 0644, NULL);
	CHECK_EQ(ts_stat_err(k.app.cache, "absent"), 0);
	CHECK_EQ(ts_stat_err(k.app.cache, "d/absent"), 0);
	pathcache_put(k.app.cache, k.dir);
	pathcache_put(k.app.cache, k.file);
	app_end(&k.app);
}

/* ---- a big directory (F10, F11) ------------------------------------------------ */

static int count_names(void *arg, const char *name, size_t len, uint64_t ino, uint32_t type,
                       uint64_t cookie)
{
	(void)name, (void)len, (void)ino, (void)type, (void)cookie;
	++*(unsigned *)arg;
	return 0;
}

/* F10: to list it takes no name into memory, unless as one listing; looking all up keeps the bound. */
static void a_big_directory_is_listed_and_looked_up(void)
{
	unsigned n = ts_scale(4000) + 1000, told;
	struct pathcache_entry *dir;
	struct pathcache_options opt;
	struct pathcache_stats stats;
	struct app app;
	char path[64];

	for (int complete = 0; complete < 2; complete++) {
		flood_options(&opt, BUDGET);
		opt.complete_max = complete ? 1000000 : 0;
		if (complete)
			opt.budget = UINT64_C(64) * n * 16;
		app_begin_with(&app, &opt);
		ts_ns_add(&app.ns, "d", S_IFDIR | 0755, NULL);
		for (unsigned i = 0; i < n; i++) {
			snprintf(path, sizeof(path), "d/name-%06u", i);
			ts_ns_add(&app.ns, path, S_IFREG | 0644, NULL);
		}
		dir = ts_get(app.cache, "d");
		for (int round = 0; round < 3; round++) {
			told = 0;
			CHECK_EQ(pathcache_readdir(app.cache, dir, 0, count_names, &told), 0);
			CHECK_EQ(told, n);
		}
		stats = ts_stats(app.cache);
		CHECK_EQ(stats.dentries, 2);
		CHECK_EQ(stats.listings, (uint64_t)complete);
		CHECK(stats.listing_bytes <= (uint64_t)n * 48 * (unsigned)complete + 256);
		for (unsigned i = 0; i < n; i++) {
			snprintf(path, sizeof(path), "d/name-%06u", i);
			CHECK_EQ(ts_stat_err(app.cache, path), 0);
			if (i % 16 == 0)
				CHECK(ts_stats(app.cache).bytes <= opt.budget);
		}
		stats = ts_stats(app.cache);
		printf("      %u names: %llu bytes of listing, %llu in memory of them, %llu bytes each\n",
		       n, (unsigned long long)stats.listing_bytes,
		       (unsigned long long)stats.dentries,
		       (unsigned long long)((stats.dentry_bytes + stats.node_bytes) /
		                            stats.dentries));
		CHECK((stats.dentry_bytes + stats.node_bytes) / stats.dentries <= 320);
		pathcache_put(app.cache, dir);
		app_end(&app);
	}
}

static const struct ts_case cases[] = {
	TS_CASE(what_is_held_stays_and_so_do_its_directories),
	TS_CASE(names_in_a_held_directory_come_and_go),
	TS_CASE(where_all_is_held_nothing_fails),
	TS_CASE(where_most_is_held_the_rest_comes_and_goes),
	TS_CASE(where_what_is_there_is_held_absent_names_go),
	TS_CASE(a_reader_that_stands_still_costs_no_memory),
	TS_CASE(misses_in_a_read_section_keep_the_bound),
	TS_CASE(the_budget_is_changed_under_load),
	TS_CASE(a_smaller_budget_keeps_what_it_has_room_for),
	TS_CASE(without_a_budget_every_query_asks),
	TS_CASE(without_a_budget_nothing_is_stale),
	TS_CASE(a_big_directory_is_listed_and_looked_up),
};

int main(int argc, char **argv)
{
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
