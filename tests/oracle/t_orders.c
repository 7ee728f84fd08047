/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Lookups beside changes in every order of their steps, up to a number of times
 * that one of them is interrupted: each answer was right at an instant of its
 * call, and when all is quiet all answers are those of a cache that was not there.
 */
#include <stdio.h>

#include "orders.h"
#include "pathcache.h"
#include "run.h"
#include "sched.h"

typedef void (*plays_fn)(unsigned bound, struct tally *tally);

/* When time is up all plays should have had their turn, so they are gone through by samples. */
#define SAMPLES 17u
#define BOUND 4u

static void explore(const char *what, plays_fn plays, struct tally tally, double seconds)
{
	uint64_t begun = ts_now_ns();
	struct ts_rng rng = ts_rng(1);
	unsigned first = ts_below(&rng, SAMPLES), done = 0;

	tally.until = begun + (uint64_t)(ts_seconds(seconds) * 1e9);
	tally.every = SAMPLES;
	sched_start();
	for (; done < BOUND * SAMPLES && !tally.cut && !tally.wrong; done++) {
		tally.seen = 0;
		tally.nth = (first + done) % SAMPLES;
		plays(1 + done / SAMPLES, &tally);
	}
	sched_stop();
	printf("      %s: %llu orders of %llu plays, %llu answers; up to %u breaks %s\n", what,
	       (unsigned long long)tally.orders, (unsigned long long)tally.plays,
	       (unsigned long long)tally.answers, 1 + (done - 1) / SAMPLES,
	       tally.cut ? "in part" : "in full");
	CHECK_EQ(tally.wrong, 0);
}

static void a_lookup_beside_a_change(void)
{
	explore("steps of the backend", orders_lookup_beside_change, (struct tally){.mode = 0}, 3);
	explore("and of the lock", orders_lookup_beside_change, (struct tally){.fine = true}, 2);
}

static void two_lookups_beside_a_change(void)
{
	explore("steps of the backend", orders_lookups_beside_change, (struct tally){.mode = 0}, 3);
	explore("and of the lock", orders_lookups_beside_change, (struct tally){.fine = true}, 2);
}

static void a_lookup_beside_two_changes(void)
{
	explore("beside each other", orders_lookup_beside_changes, (struct tally){.mode = 0}, 2);
	explore("one after the other", orders_lookup_beside_changes_in_turn,
	        (struct tally){.mode = 0}, 2);
}

static void counted_walks_beside_a_change(void)
{
	for (uint32_t mode = PATHCACHE_MODE_LOCKREF; mode <= PATHCACHE_MODE_LOCKED; mode++)
		explore("one lookup", orders_lookup_beside_change, (struct tally){.mode = mode}, 1);
}

static const struct ts_case cases[] = {
	TS_CASE(a_lookup_beside_a_change),
	TS_CASE(two_lookups_beside_a_change),
	TS_CASE(a_lookup_beside_two_changes),
	TS_CASE(counted_walks_beside_a_change),
};

int main(int argc, char **argv)
{
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
