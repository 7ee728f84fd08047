/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The table while it grows (T1, T2): entries that stay are always found, and
 * whole; entries that went are found by nobody who began afterwards; a replaced
 * array leads to its entries until it is settled.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"
#include "table.h"

#define READERS 2
#define STAYING 200u
#define OTHERS 4000u
#define BUCKETS 16u

struct entry {
	struct rp_hlink link;
	uint32_t hash, key, check;
	struct entry *all; /* made before this one */
};

struct scene {
	struct rp_table table;
	struct entry *all;
	struct rp_buckets *arrays[32];
	unsigned narrays;
	struct entry *others[OTHERS];
	_Atomic bool stop;
	_Atomic uint64_t round, seen[READERS];
	_Atomic uint64_t looked, lost, broken;
};

static uint32_t hash_of(uint32_t key)
{
	return key * 2654435761u;
}

static uint32_t entry_hash(const struct rp_hlink *link)
{
	return ((const struct entry *)(const void *)link)->hash;
}

static struct entry *insert(struct scene *s, uint32_t key)
{
	struct entry *e = calloc(1, sizeof(*e));

	REQUIRE(e);
	*e = (struct entry){.hash = hash_of(key), .key = key, .check = ~key, .all = s->all};
	s->all = e;
	rp_table_insert(&s->table, &e->link, e->hash);
	return e;
}

static struct rp_buckets *array_make(struct scene *s, uint32_t n)
{
	struct rp_buckets *b = calloc(1, rp_buckets_size(n));

	REQUIRE(b && s->narrays < 32);
	s->arrays[s->narrays++] = b;
	return b;
}

static const struct entry *find_in(struct scene *s, const struct rp_buckets *b, uint32_t key)
{
	uint32_t hash = hash_of(key), steps = 0;

	for (struct rp_hlink *l = rp_table_first(b, hash); l; l = rp_table_next(b, l)) {
		const struct entry *e = (const struct entry *)(const void *)l;

		if (e->check != ~e->key || ++steps > STAYING + OTHERS) {
			atomic_fetch_add(&s->broken, 1);
			return NULL;
		}
		if (e->hash == hash && e->key == key)
			return e;
	}
	return NULL;
}

static const struct entry *find(struct scene *s, uint32_t key)
{
	return find_in(s, rp_table_buckets(&s->table), key);
}

struct reader {
	struct scene *scene;
	unsigned self;
};

static void reader(void *arg)
{
	struct reader *r = arg;
	struct scene *s = r->scene;
	struct ts_rng rng = ts_rng(r->self);

	while (!atomic_load_explicit(&s->stop, memory_order_relaxed)) {
		atomic_store(&s->seen[r->self], atomic_load(&s->round));
		for (int i = 0; i < 50; i++) {
			if (!find(s, ts_below(&rng, STAYING)))
				atomic_fetch_add_explicit(&s->lost, 1, memory_order_relaxed);
			find(s, STAYING + ts_below(&rng, OTHERS));
			atomic_fetch_add_explicit(&s->looked, 1, memory_order_relaxed);
		}
	}
	atomic_store(&s->seen[r->self], UINT64_MAX);
}

/* A grace period by hand: each reader has begun again. */
static void wait_for_readers(struct scene *s)
{
	uint64_t round = atomic_fetch_add(&s->round, 1) + 1;

	for (unsigned i = 0; i < READERS; i++)
		while (atomic_load(&s->seen[i]) < round)
			sched_yield();
}

static void feed(struct scene *s, bool settle)
{
	uint32_t want;

	rp_table_old(&s->table); /* freed with the scene */
	if (settle && !s->table.settled) {
		wait_for_readers(s);
		rp_table_settled(&s->table);
	}
	want = rp_table_want(&s->table);
	if (want)
		rp_table_grow(&s->table, array_make(s, want), want);
}

/* One of the others comes or goes. */
static void change(struct scene *s, struct ts_rng *rng)
{
	unsigned i = ts_below(rng, OTHERS);
	struct entry *e = s->others[i];

	if (!e) {
		s->others[i] = insert(s, STAYING + i);
	} else if (ts_below(rng, 3) == 0) {
		rp_table_remove(&s->table, &e->link, e->hash);
		s->others[i] = NULL;
		if (find(s, e->key))
			ts_fail(__FILE__, __LINE__, "key %u is found after its removal", e->key);
	}
}

static struct scene *scene_make(void)
{
	struct scene *s = calloc(1, sizeof(*s));

	REQUIRE(s);
	rp_table_init(&s->table, array_make(s, BUCKETS), BUCKETS, 1, entry_hash);
	for (uint32_t key = 0; key < STAYING; key++) {
		insert(s, key);
		feed(s, false);
	}
	return s;
}

static void scene_free(struct scene *s)
{
	while (s->all) {
		struct entry *e = s->all;

		s->all = e->all;
		free(e);
	}
	while (s->narrays)
		free(s->arrays[--s->narrays]);
	free(s);
}

static void growth_round(struct ts_rng *rng)
{
	struct scene *s = scene_make();
	struct ts_thread threads[READERS];
	struct reader readers[READERS];

	for (unsigned i = 0; i < READERS; i++) {
		readers[i] = (struct reader){s, i};
		ts_thread_start(&threads[i], reader, &readers[i]);
	}
	for (unsigned i = 0; i < 12000; i++) {
		change(s, rng);
		feed(s, i % 64 == 0);
	}
	atomic_store(&s->stop, true);
	for (unsigned i = 0; i < READERS; i++)
		ts_thread_join(&threads[i]);
	CHECK(s->narrays > 4);
	CHECK_EQ(atomic_load(&s->lost), 0);
	CHECK_EQ(atomic_load(&s->broken), 0);
	scene_free(s);
}

static void entries_are_found_while_the_table_grows(void)
{
	uint64_t end = ts_now_ns() + (uint64_t)(ts_seconds(1.0) * 1e9);
	struct ts_rng rng = ts_rng(77);

	do
		growth_round(&rng);
	while (ts_now_ns() < end);
}

/* A reader that stays in the first array, for as long as nobody says that it is gone. */
static void a_replaced_array_is_whole_until_settled(void)
{
	struct scene *s = calloc(1, sizeof(*s));
	const struct rp_buckets *first;
	uint32_t key, held = 0;

	REQUIRE(s);
	first = array_make(s, BUCKETS);
	rp_table_init(&s->table, s->arrays[0], BUCKETS, 1, entry_hash);
	for (key = 0; rp_table_buckets(&s->table) == first; key++) {
		insert(s, key);
		feed(s, false);
		held = key;
	}
	for (; key < 40 * BUCKETS; key++) {
		insert(s, key);
		feed(s, false);
	}
	for (key = 0; key < held; key++)
		if (!find_in(s, first, key))
			ts_fail(__FILE__, __LINE__, "key %u is lost to a reader of the old array",
			        key);
	CHECK_EQ(atomic_load(&s->broken), 0);
	scene_free(s);
}

static const struct ts_case cases[] = {
	TS_CASE(entries_are_found_while_the_table_grows),
	TS_CASE(a_replaced_array_is_whole_until_settled),
};

int main(int argc, char **argv)
{
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
