/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * lockref.saturate: what happens when the count runs out, in a build with
 * LOCKREF_COUNT_BITS=8, where 128 references are half the range. A directory
 * with 2^31 children that pin it stands here as one with 2^7 and more.
 */
#include <pthread.h>

#include "check.h"
#include "lockref.h"

_Static_assert(LOCKREF_COUNT_BITS == 8, "the numbers below are for 8 bits");

#define LIMIT LOCKREF_COUNT_LIMIT
#define ALL_BUT_DEAD (LOCKREF_USER_MASK | LOCKREF_DOOM)

static uint64_t word_of(const struct lockref *ref)
{
	return atomic_load_explicit(&ref->word, memory_order_relaxed);
}

static void get_times(struct lockref *ref, uint64_t times)
{
	while (times--)
		CHECK(lockref_get(ref));
}

static void put_times(struct lockref *ref, uint64_t times)
{
	while (times--)
		CHECK(!lockref_put(ref));
}

static void counts_exactly_up_to_the_limit(void)
{
	struct lockref ref;

	lockref_init(&ref, LOCKREF_USER_MASK);
	get_times(&ref, LIMIT);
	CHECK(word_of(&ref) == (LOCKREF_USER_MASK | LIMIT));
	put_times(&ref, LIMIT);
	CHECK(word_of(&ref) == LOCKREF_USER_MASK);
	CHECK(lockref_doom(&ref));
}

static void one_more_saturates_for_ever(void)
{
	struct lockref ref;

	lockref_init(&ref, LOCKREF_USER(3));
	get_times(&ref, LIMIT + 1);
	CHECK(lockref_flags(&ref) == (LOCKREF_SAT | LOCKREF_USER(3)));
	put_times(&ref, LIMIT + 1);
	CHECK(lockref_flags(&ref) == (LOCKREF_SAT | LOCKREF_USER(3)));
	CHECK(!lockref_doom(&ref) && !lockref_try_kill(&ref));
	CHECK(lockref_get(&ref) && !lockref_is_dead(&ref));
	put_times(&ref, 1);
}

/* K25: far more children than the count has room for, taken and given back. */
static void children_beyond_the_whole_range(void)
{
	const uint64_t children = 5 * (LOCKREF_COUNT_MASK + 1) + 7;
	struct lockref parent;
	uint64_t i;

	lockref_init(&parent, 1);
	CHECK(!lockref_doom(&parent));
	lockref_set_flags(&parent, LOCKREF_USER_MASK);
	for (i = 0; i < children; i++) {
		lockref_get_held(&parent);
		CHECK((lockref_flags(&parent) & ~LOCKREF_SAT) == ALL_BUT_DEAD);
	}
	for (i = 0; i < children + 1; i++) {
		CHECK(!lockref_put(&parent));
		CHECK(lockref_flags(&parent) == (ALL_BUT_DEAD | LOCKREF_SAT));
	}
	CHECK(!lockref_try_kill(&parent));
}

/* A put too many would have hit 0 long ago; here it is one of many that weigh nothing. */
static void unbalanced_puts_after_saturation_change_nothing(void)
{
	struct lockref ref;
	uint64_t parked;

	lockref_init(&ref, 0);
	get_times(&ref, LIMIT + 1);
	parked = word_of(&ref);
	put_times(&ref, 4 * LOCKREF_COUNT_MASK);
	CHECK(word_of(&ref) == parked);
	get_times(&ref, 4 * LOCKREF_COUNT_MASK);
	CHECK(word_of(&ref) == parked);
}

/* Failed gets carry into the user flags of a dead word, and no further. */
static void failed_gets_never_revive(void)
{
	struct lockref ref;
	uint64_t i;

	lockref_init(&ref, LOCKREF_USER_MASK);
	CHECK(lockref_doom(&ref));
	for (i = 0; i < 64 * (LOCKREF_COUNT_MASK + 1); i++)
		CHECK(!lockref_get(&ref));
	CHECK(lockref_is_dead(&ref));
	CHECK(!lockref_try_kill(&ref) && !lockref_doom(&ref));
	CHECK(!lockref_get(&ref));
}

/*
 * Why parking and not "set SAT, take the own add back": by hand, the schedule
 * in which that goes wrong. A getter over the limit is held up, everybody else
 * puts, and the getter's own reference is then counted nowhere.
 */
static void parking_survives_what_undoing_does_not(void)
{
	struct lockref naive, parked;
	uint64_t old;

	lockref_init(&naive, LIMIT);
	atomic_fetch_add_explicit(&naive.word, 1, memory_order_relaxed);
	put_times(&naive, LIMIT);
	atomic_fetch_or_explicit(&naive.word, LOCKREF_SAT, memory_order_relaxed);
	atomic_fetch_sub_explicit(&naive.word, 1, memory_order_relaxed);
	atomic_fetch_sub_explicit(&naive.word, 1, memory_order_relaxed);
	CHECK(lockref_flags(&naive) != LOCKREF_SAT);

	lockref_init(&parked, LIMIT);
	old = atomic_fetch_add_explicit(&parked.word, 1, memory_order_relaxed);
	put_times(&parked, LIMIT);
	lockref_saturate_slow_(&parked, old);
	atomic_fetch_sub_explicit(&parked.word, 1, memory_order_relaxed);
	CHECK(lockref_flags(&parked) == LOCKREF_SAT);
}

/* ---- many threads over the limit at once -------------------------------- */

#define THREADS 4
#define HOLD 20    /* references a thread holds at most */
#define STEPS 3000 /* a round: long enough that the threads overlap */

struct crowd {
	struct lockref ref;
	struct check_barrier barrier;
	uint64_t rounds;
	uint64_t saturated; /* member 0: rounds in which it came to that */
};

struct member {
	struct crowd *crowd;
	uint64_t seed;
	unsigned int index;
};

/* The thread's own flag must be as it was left, and nobody kills a held object. */
static void flags_are_undisturbed(struct member *m, bool mine)
{
	uint64_t flags = lockref_flags(&m->crowd->ref);
	uint64_t own = LOCKREF_USER(m->index);
	uint64_t others = LOCKREF_USER_MASK & ~(LOCKREF_USER(THREADS) - 1);

	CHECK((flags & own) == (mine ? own : 0));
	CHECK((flags & others) == 0);
	CHECK((flags & (LOCKREF_DEAD | LOCKREF_DOOM)) == LOCKREF_DOOM);
}

static void hold_and_give_back(struct member *m)
{
	struct lockref *ref = &m->crowd->ref;
	uint64_t own = LOCKREF_USER(m->index), held = 0, i;
	bool mine = false;

	for (i = 0; i < STEPS; i++) {
		if (held < HOLD && check_random(&m->seed) % 4) {
			CHECK(lockref_get(ref));
			held++;
		} else if (held > 0) {
			CHECK(!lockref_put(ref));
			held--;
		}
		mine = !mine;
		if (mine)
			CHECK((lockref_set_flags(ref, own) & own) == 0);
		else
			CHECK((lockref_clear_flags(ref, own) & own) == own);
		flags_are_undisturbed(m, mine);
	}
	if (mine)
		lockref_clear_flags(ref, own);
	put_times(ref, held);
}

/* One of the crowd's own references, base in number, is left until last. */
static void end_round(struct crowd *c, uint64_t base)
{
	put_times(&c->ref, base - 1);
	if (lockref_flags(&c->ref) & LOCKREF_SAT) {
		c->saturated++;
		CHECK(word_of(&c->ref) == (LOCKREF_DOOM | LOCKREF_SAT | LOCKREF_COUNT_PARKED));
		CHECK(!lockref_put(&c->ref));
	} else {
		CHECK(word_of(&c->ref) == (LOCKREF_DOOM | 1));
		CHECK(lockref_put(&c->ref));
	}
}

static void *member_main(void *arg)
{
	struct member *m = arg;
	struct crowd *c = m->crowd;
	uint64_t round, base;

	for (round = 0; round < c->rounds; round++) {
		base = LIMIT - round % LIMIT;
		if (m->index == 0)
			lockref_init(&c->ref, LOCKREF_DOOM | base);
		check_barrier_wait(&c->barrier);
		hold_and_give_back(m);
		check_barrier_wait(&c->barrier);
		if (m->index == 0)
			end_round(c, base);
	}
	return NULL;
}

static void crowd_saturates_cleanly(uint64_t seed)
{
	static struct crowd crowd;
	struct member members[THREADS];
	pthread_t threads[THREADS];
	unsigned int i;

	crowd.barrier.threads = THREADS;
	crowd.rounds = LIMIT;
	for (i = 0; i < THREADS; i++) {
		members[i] = (struct member){&crowd, seed + i, i};
		if (pthread_create(&threads[i], NULL, member_main, &members[i])) {
			fprintf(stderr, "no thread\n");
			exit(1);
		}
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%" PRIu64 " of %" PRIu64 " crowds saturated\n", crowd.saturated, crowd.rounds);
	CHECK(crowd.saturated > 0 && crowd.saturated < crowd.rounds);
}

int main(void)
{
	uint64_t seed = check_seed();

	counts_exactly_up_to_the_limit();
	one_more_saturates_for_ever();
	children_beyond_the_whole_range();
	unbalanced_puts_after_saturation_change_nothing();
	failed_gets_never_revive();
	parking_survives_what_undoing_does_not();
	crowd_saturates_cleanly(seed);
	return check_result("lockref.saturate");
}
