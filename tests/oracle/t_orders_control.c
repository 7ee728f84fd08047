/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Every stamp that keeps an overtaken answer from being kept is needed: with one of
 * them left out some order of the same plays ends with a wrong answer.
 */
#include <stdio.h>

#include "orders.h"
#include "pathcache.h"
#include "run.h"
#include "sched.h"
#include "store.h"

typedef void (*plays_fn)(unsigned bound, struct tally *tally);

static void finds(plays_fn plays, unsigned bound, uint32_t omit)
{
	struct tally tally = {.quiet = true, .until = ts_now_ns() + UINT64_C(100000000000)};

	atomic_store(&pc_stale_test_omit, omit);
	sched_start();
	plays(bound, &tally);
	sched_stop();
	atomic_store(&pc_stale_test_omit, 0);
	printf("      found in order %llu\n", (unsigned long long)tally.orders);
	CHECK(tally.wrong > 0);
}

static void a_name_announced_is_needed(void)
{
	finds(orders_lookup_beside_change, 1, PC_STALE_OMIT_NAME);
}

static void a_subtree_announced_is_needed(void)
{
	finds(orders_lookup_beside_change, 1, PC_STALE_OMIT_SUBTREE);
}

static void a_name_announced_that_nobody_knew_is_needed(void)
{
	finds(orders_lookup_beside_changes_in_turn, 2, PC_STALE_OMIT_LOOSE);
}

static void an_object_announced_is_needed(void)
{
	finds(orders_lookup_beside_change, 1, PC_STALE_OMIT_ATTR);
}

static void an_object_announced_that_died_is_needed(void)
{
	finds(orders_lookup_beside_change, 1, PC_STALE_OMIT_OBJECT);
}

static const struct ts_case cases[] = {
	TS_CASE(a_name_announced_is_needed),
	TS_CASE(a_subtree_announced_is_needed),
	TS_CASE(a_name_announced_that_nobody_knew_is_needed),
	TS_CASE(an_object_announced_is_needed),
	TS_CASE(an_object_announced_that_died_is_needed),
};

int main(int argc, char **argv)
{
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
