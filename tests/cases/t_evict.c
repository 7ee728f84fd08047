/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What goes where the budget is used up, and what stays: absent names before
 * others, what is asked for now and then never before what was asked for once,
 * leaves before their directories. What is in memory is looked at without a mark.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "flood.h"
#include "oracle.h"
#include "run.h"

#define BUDGET ((uint64_t)512 << 10)

static void small_begin(struct flood *flood)
{
	struct pathcache_options opt;

	flood_options(&opt, BUDGET);
	flood_begin(flood, &opt);
}

/* ---- absent names (B5, B9, F11) ------------------------------------------- */

/* B5: ever new absent names cost no name that is there; B9: and little each. */
static void absent_names_stay_in_their_share_and_take_no_other(void)
{
	struct pathcache_stats stats = {.size = 0};
	uint64_t asked = 0;
	struct flood flood;

	small_begin(&flood);
	for (unsigned round = 0; round < 2; round++)
		for (unsigned i = 0; i < 300; i++)
			flood_ask(&flood, "dhot/fhot%u", i);
	for (unsigned i = 0; i < ts_scale(40) + 10; i++) {
		flood_absent(&flood, "dhot", 1000);
		stats = ts_stats(flood.cache);
		/* But for those that wait for a grace period. */
		CHECK(stats.negative_bytes <= BUDGET / 100 * 10 + stats.deferred_bytes);
		CHECK(stats.negatives * 80 <= BUDGET / 100 * 10);
	}
	CHECK(stats.negatives * 96 > BUDGET / 100 * 9);
	CHECK(stats.evicted_negative > 1000);
	CHECK_EQ(stats.evicted, 0);
	for (unsigned i = 0; i < 300; i++)
		asked += flood_ask(&flood, "dhot/fhot%u", i);
	CHECK_EQ(asked, 0);
	flood_end(&flood);
}

/* B5: absent names that nobody asked for again go like any other, not last. */
static void absent_names_go_in_their_turn(void)
{
	struct flood flood;

	small_begin(&flood);
	flood_absent(&flood, "dabsent", 2000);
	CHECK(ts_stats(flood.cache).negative_bytes > BUDGET / 100 * 8);
	flood_budgets(&flood, 2);
	CHECK(ts_stats(flood.cache).negative_bytes < BUDGET / 100);
	CHECK(ts_stats(flood.cache).evicted > 0);
	flood_end(&flood);
}

/* F11: the cap of a directory holds, new names come in, those asked again stay. */
static void the_cap_of_a_directory_does_not_freeze_it(void)
{
	struct pathcache_options opt;
	unsigned known = 0;
	struct flood flood;
	uint64_t asked = 0;
	char name[32];

	flood_options(&opt, BUDGET);
	opt.negatives_per_dir = 100;
	flood_begin(&flood, &opt);
	for (unsigned i = 0; i < 50; i++)
		flood_ask(&flood, "dother/other-%u", i);
	for (unsigned round = 0; round < 200; round++) {
		for (unsigned i = 0; i < 20; i++)
			asked += flood_ask(&flood, "dfull/again-%u", i);
		for (unsigned i = 0; i < 10; i++)
			flood_ask(&flood, "dfull/once-%u-%u", round, i);
		CHECK(flood_known(&flood, "again-") + flood_known(&flood, "once-") <= 100);
		snprintf(name, sizeof(name), "once-%u-9", round);
		known += flood_knows(&flood, name);
	}
	CHECK_EQ(known, 200);
	CHECK(asked <= 20 + 20);
	CHECK_EQ(flood_known(&flood, "again-") + flood_known(&flood, "once-"), 100);
	CHECK_EQ(flood_known(&flood, "other-"), 50);
	flood_end(&flood);
}

static void no_share_keeps_no_absent_name(void)
{
	struct pathcache_options opt;
	struct flood flood;

	flood_options(&opt, BUDGET);
	opt.negative_share = 0;
	flood_begin(&flood, &opt);
	flood_ask(&flood, "d/f");
	for (unsigned i = 0; i < 3; i++)
		CHECK_EQ(flood_ask(&flood, "d/absent"), 1);
	CHECK_EQ(ts_stats(flood.cache).negatives, 0);
	CHECK_EQ(flood_ask(&flood, "d/f"), 0);
	flood_end(&flood);
	flood_options(&opt, BUDGET);
	opt.negatives_per_dir = 0;
	flood_begin(&flood, &opt);
	flood_ask(&flood, "d/absent");
	CHECK_EQ(flood_ask(&flood, "d/absent"), 1);
	flood_end(&flood);
}

/* ---- what is used stays ----------------------------------------------------- */

#define HOT 300u

static unsigned hot_misses(struct flood *flood, unsigned rounds, unsigned once)
{
	struct ts_rng rng = ts_rng(4);
	unsigned misses = 0;

	for (unsigned i = 0; i < rounds; i++) {
		misses += flood_ask(flood, "dhot/fhot%u", ts_below(&rng, HOT)) != 0;
		flood_pass(flood, once);
	}
	return misses;
}

/* F9: fifty times as many names asked for once take less than 2 points off the hits. */
static void what_is_hot_survives_what_is_asked_once(void)
{
	unsigned rounds = HOT * 50, without, with;
	struct flood flood;

	small_begin(&flood);
	for (unsigned i = 0; i < HOT * 10; i++)
		flood_ask(&flood, "dhot/fhot%u", i % HOT);
	without = hot_misses(&flood, rounds, 0);
	with = hot_misses(&flood, rounds, 1);
	printf("      misses of the hot: %u of %u without others, %u with\n", without, rounds,
	       with);
	CHECK_EQ(without, 0);
	CHECK(with < rounds / 50);
	flood_end(&flood);
}

/*
 * Return: how many of 20 that came back outlive the 20 that came with them. Where
 * one is left that may be for good: a new name in 32768 has the fingerprint of another.
 */
static unsigned outlive(struct flood *flood, unsigned round)
{
	char again[32], other[32];

	snprintf(again, sizeof(again), "f-again-%u-", round);
	snprintf(other, sizeof(other), "f-other-%u-", round);
	for (unsigned i = 0; i < 20; i++)
		flood_ask(flood, "dback/%s%u", again, i);
	while (flood_known(flood, again) > 1)
		flood_pass(flood, 20);
	for (unsigned i = 0; i < 20; i++) {
		flood_ask(flood, "dback/%s%u", again, i);
		flood_ask(flood, "dback/%s%u", other, i);
	}
	while (flood_known(flood, other) > 1)
		flood_pass(flood, 20);
	return flood_known(flood, again);
}

/*
 * Who was evicted and comes back is protected. One in fifty is not recognised, as
 * a later one's fingerprint took the place of its own.
 */
static void who_comes_back_is_protected(void)
{
	unsigned rounds = 10, again = 0;
	struct flood flood;

	small_begin(&flood);
	flood_budgets(&flood, 2);
	for (unsigned i = 0; i < rounds; i++)
		again += outlive(&flood, i);
	printf("      %u of %u\n", again, rounds * 20);
	CHECK(again >= rounds * 18);
	flood_end(&flood);
}

#define OTHERS 1300u /* nearly all there is room for */

/* Others become hot, so that what is not asked for meanwhile goes in the end. */
static void others_are_hot_once(struct flood *flood)
{
	for (unsigned twice = 0; twice < 2; twice++)
		for (unsigned i = 0; i < OTHERS; i++)
			flood_ask(flood, "dnew/fnew%u", i);
	flood_pass(flood, 300);
}

static void others_are_hot(struct flood *flood)
{
	for (unsigned round = 0; round < 12; round++)
		others_are_hot_once(flood);
}

/* And the protected ones that are not asked for any more go in the end. */
static void what_was_hot_goes_when_others_are(void)
{
	struct flood flood;

	small_begin(&flood);
	hot_misses(&flood, HOT * 20, 1);
	CHECK(flood_known(&flood, "fhot") > HOT / 10 * 9);
	others_are_hot(&flood);
	CHECK(flood_known(&flood, "fnew") > OTHERS / 10 * 8);
	CHECK(flood_known(&flood, "fhot") < HOT / 2);
	flood_end(&flood);
}

/* All is hot: newcomers have their part of the cache all the same. */
static void newcomers_have_room_beside_the_hot(void)
{
	struct flood flood;

	small_begin(&flood);
	others_are_hot(&flood);
	for (unsigned i = 0; i < 150; i++)
		flood_ask(&flood, "dnew/fyoung%u", i);
	CHECK(flood_known(&flood, "fyoung") > 120);
	CHECK(flood_known(&flood, "fnew") > OTHERS / 10 * 8);
	flood_end(&flood);
}

/* ---- leaves and directories ------------------------------------------------- */

#define KNOWN_MAX 8192u

struct orphans {
	uint64_t objects[KNOWN_MAX], dirs[KNOWN_MAX];
	unsigned nobjects, ndirs, names, directories;
};

static int gather(void *arg, const struct pathcache_dentry *dentry)
{
	struct orphans *o = arg;

	REQUIRE(o->nobjects < KNOWN_MAX && o->ndirs < KNOWN_MAX);
	o->names++;
	o->directories += S_ISDIR(dentry->type);
	if (S_ISDIR(dentry->type))
		o->objects[o->nobjects++] = dentry->object;
	if (dentry->dir && !(dentry->flags & PATHCACHE_DENTRY_LOOSE))
		o->dirs[o->ndirs++] = dentry->dir;
	return 0;
}

/* Names whose directory is not in memory. */
static unsigned orphans(struct flood *flood, struct orphans *o)
{
	unsigned n = 0;

	memset(o, 0, sizeof(*o));
	CHECK_EQ(pathcache_dump(flood->cache, gather, o), 0);
	for (unsigned i = 0; i < o->ndirs; i++) {
		unsigned k = 0;

		while (k < o->nobjects && o->objects[k] != o->dirs[i])
			k++;
		n += k == o->nobjects;
	}
	return n;
}

static void directories_go_after_their_last_child(void)
{
	static struct orphans o;
	struct flood flood;

	small_begin(&flood);
	for (unsigned i = 0; i < 6000; i++) {
		flood_ask(&flood, "d%u/d-in-it/f%u", i / 3, i);
		if (i % 500 == 499)
			CHECK_EQ(orphans(&flood, &o), 0);
	}
	CHECK_EQ(orphans(&flood, &o), 0);
	printf("      %u names, %u of directories\n", o.names, o.directories);
	/* They do go: none is left that has no child, but for a few. */
	CHECK(o.names > 500);
	CHECK(o.directories < o.names * 3 / 4);
	CHECK(!flood_knows(&flood, "d0"));
	CHECK(ts_stats(flood.cache).evicted > 6000);
	flood_end(&flood);
}

/* One name of a hard-linked file goes, the file stays by the other. */
static void a_file_stays_by_its_other_name(void)
{
	uint64_t asked = 0, ino;
	struct flood flood;

	small_begin(&flood);
	flood_ask(&flood, "dcold/h1-cold");
	flood_ask(&flood, "dhot/h1");
	flood_ask(&flood, "dcold/h1");
	ino = ts_cache_ino(flood.cache, "dhot/h1");
	for (unsigned i = 0; i < 200; i++) {
		flood_pass(&flood, 30);
		asked += flood_ask(&flood, "dhot/h1");
	}
	CHECK_EQ(asked, 0);
	CHECK(!flood_knows(&flood, "dcold"));
	CHECK_EQ(flood_known(&flood, "h1"), 1);
	CHECK(flood_ask(&flood, "dcold/h1") > 0);
	CHECK_EQ(ts_cache_ino(flood.cache, "dcold/h1"), ino);
	CHECK_EQ(flood_known(&flood, "h1"), 2);
	flood_end(&flood);
}

/* A link that is followed is used, what it leads through as well. */
static void a_link_in_use_stays(void)
{
	struct flood flood;
	uint64_t asked = 0;

	small_begin(&flood);
	flood_ask(&flood, "dlinks/l:dway:dto:ftarget");
	flood_ask(&flood, "dlinks/l:dway:dto:funused");
	flood_ask(&flood, "dlinks/l:dway:dto:ftarget");
	for (unsigned i = 0; i < 200; i++) {
		flood_pass(&flood, 30);
		asked += flood_ask(&flood, "dlinks/l:dway:dto:ftarget");
	}
	CHECK_EQ(asked, 0);
	CHECK(flood_knows(&flood, "ftarget"));
	CHECK(!flood_knows(&flood, "funused"));
	flood_end(&flood);
}

/* ---- memos ------------------------------------------------------------------ */

#define LONG "f-a-name-long-enough-for-a-memo-to-be-made-of"

static void memos_begin(struct flood *flood)
{
	struct pathcache_options opt;

	flood_options(&opt, BUDGET);
	opt.memo_share = 25;
	flood_begin(flood, &opt);
}

static uint64_t size_of(struct flood *flood, const char *path)
{
	struct pathcache_attr attr = {.size = 0};

	CHECK_EQ(pathcache_stat(flood->cache, path, NULL, &attr), 0);
	return attr.size;
}

/*
 * A path that has a memo loses its last name, which is then found again by
 * another spelling. What is announced of the file, as it is known now, is not
 * known to the memo; but that is none any more.
 */
static void a_memo_of_what_went_is_none(void)
{
	struct pathcache_entry *entry;
	struct flood flood;
	uint64_t hits;

	memos_begin(&flood);
	for (unsigned i = 0; i < 4; i++)
		CHECK_EQ(size_of(&flood, "/d/" LONG), 0);
	hits = ts_stats(flood.cache).memo_hits;
	size_of(&flood, "/d/" LONG);
	CHECK_EQ(ts_stats(flood.cache).memo_hits, hits + 1);
	others_are_hot(&flood);
	CHECK(!flood_knows(&flood, LONG));
	entry = ts_get(flood.cache, "d/././././././" LONG);
	flood.ns.size = 5;
	CHECK_EQ(pathcache_invalidate_entry(flood.cache, entry), 0);
	CHECK_EQ(size_of(&flood, "/d/" LONG), 5);
	CHECK_EQ(size_of(&flood, "d/" LONG), 5);
	pathcache_put(flood.cache, entry);
	flood_end(&flood);
}

/*
 * What memos answer is in use, though no walk comes by: every tenth name, wherever
 * the hands are, stays when the budget is made smaller step by step.
 */
static void what_memos_lead_to_stays(void)
{
	struct pathcache_options opt;
	unsigned before, hits = 0;
	struct flood flood;
	uint64_t memo_hits;

	flood_options(&opt, BUDGET);
	opt.memo_share = 60;
	flood_begin(&flood, &opt);
	for (unsigned i = 0; i < 400; i++)
		for (unsigned times = 0; times < 3; times++)
			flood_ask(&flood, "d/" LONG "-%u", i);
	before = flood_known(&flood, LONG);
	memo_hits = ts_stats(flood.cache).memo_hits;
	for (unsigned left = 30; left >= 7; left--) {
		for (unsigned i = 0; i < 400; i += 10)
			hits += !flood_ask(&flood, "d/" LONG "-%u", i);
		CHECK_EQ(pathcache_set_budget(flood.cache, BUDGET / 32 * left), 0);
	}
	printf("      %u of %u left, %u hits of %u\n", flood_known(&flood, LONG), before, hits,
	       24u * 40);
	CHECK(flood_known(&flood, LONG) < before / 2);
	CHECK(hits >= 24 * 40 / 10 * 9);
	CHECK(ts_stats(flood.cache).memo_hits - memo_hits > 24 * 40 / 2);
	flood_end(&flood);
}

static const struct ts_case cases[] = {
	TS_CASE(absent_names_stay_in_their_share_and_take_no_other),
	TS_CASE(absent_names_go_in_their_turn),
	TS_CASE(the_cap_of_a_directory_does_not_freeze_it),
	TS_CASE(no_share_keeps_no_absent_name),
	TS_CASE(what_is_hot_survives_what_is_asked_once),
	TS_CASE(who_comes_back_is_protected),
	TS_CASE(what_was_hot_goes_when_others_are),
	TS_CASE(newcomers_have_room_beside_the_hot),
	TS_CASE(directories_go_after_their_last_child),
	TS_CASE(a_file_stays_by_its_other_name),
	TS_CASE(a_link_in_use_stays),
	TS_CASE(a_memo_of_what_went_is_none),
	TS_CASE(what_memos_lead_to_stays),
};

int main(int argc, char **argv)
{
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
