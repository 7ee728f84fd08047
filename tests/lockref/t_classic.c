/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * lockref.classic: the comparison's own reference count is right too, or the
 * comparison says nothing. Units, then a short race of gets, puts and lock
 * sections. The control, a get that does not look at the lock, must be seen to
 * move the count inside a lock section; it is left out under the thread
 * sanitizer, as all stress controls are.
 */
#include <pthread.h>

#include "check.h"
#include "classic.h"

#define THREADS 4
#define RETRIES LOCKREF_CLASSIC_RETRIES
#define CONTROL_LIMIT_NS UINT64_C(20000000000)

static uint64_t word_of(struct lockref_classic *ref)
{
	return atomic_load_explicit(&ref->word, memory_order_relaxed);
}

static void counts_by_swap_and_by_lock(void)
{
	const unsigned int retries[] = {0, 1, RETRIES};
	struct lockref_classic ref;
	size_t i;

	for (i = 0; i < sizeof(retries) / sizeof(retries[0]); i++) {
		lockref_classic_init(&ref, 0);
		lockref_classic_get(&ref, retries[i]);
		CHECK(lockref_classic_get_not_dead(&ref, retries[i]));
		CHECK(word_of(&ref) == 2 * LOCKREF_CLASSIC_ONE);
		lockref_classic_put(&ref, retries[i]);
		lockref_classic_put(&ref, retries[i]);
		CHECK(word_of(&ref) == 0);
	}
}

static void last_put_comes_back_locked(void)
{
	struct lockref_classic ref;

	lockref_classic_init(&ref, 2);
	CHECK(lockref_classic_put_or_lock(&ref, RETRIES));
	CHECK(word_of(&ref) == LOCKREF_CLASSIC_ONE);
	CHECK(!lockref_classic_put_or_lock(&ref, RETRIES));
	CHECK(word_of(&ref) == (LOCKREF_CLASSIC_ONE | LOCKREF_CLASSIC_LOCKED));
	lockref_classic_unlock(&ref);
	CHECK(lockref_classic_count(&ref) == 1);
}

static void get_not_dead_after_mark_dead_fails(void)
{
	struct lockref_classic ref;

	lockref_classic_init(&ref, 2);
	lockref_classic_lock(&ref);
	lockref_classic_mark_dead(&ref);
	lockref_classic_unlock(&ref);
	CHECK(!lockref_classic_get_not_dead(&ref, RETRIES));
	CHECK(!lockref_classic_get_not_dead(&ref, 0));
	CHECK(lockref_classic_count(&ref) == 2);
	CHECK(lockref_classic_put_or_lock(&ref, RETRIES));
	CHECK(!lockref_classic_put_or_lock(&ref, RETRIES));
	lockref_classic_unlock(&ref);
}

static void swap_is_refused_or_busy_as_told(void)
{
	struct lockref_classic ref;
	const uint64_t one = LOCKREF_CLASSIC_ONE;

	lockref_classic_init(&ref, 1);
	CHECK(lockref_classic_swap_(&ref, -one, false, 2, 9) == LOCKREF_CLASSIC_REFUSED);
	CHECK(lockref_classic_swap_(&ref, one, true, 0, 9) == LOCKREF_CLASSIC_SWAPPED);
	lockref_classic_lock(&ref);
	CHECK(lockref_classic_swap_(&ref, one, true, 0, 9) == LOCKREF_CLASSIC_BUSY);
	lockref_classic_mark_dead(&ref);
	lockref_classic_unlock(&ref);
	CHECK(lockref_classic_swap_(&ref, one, true, 0, 9) == LOCKREF_CLASSIC_REFUSED);
	CHECK(word_of(&ref) == (LOCKREF_CLASSIC_DEAD | 2 * one));
}

/* ---- gets, puts and lock sections at once ------------------------------- */

struct race {
	struct lockref_classic ref;
	void (*get)(struct lockref_classic *ref);
	uint64_t sections; /* plain, under the lock */
	_Atomic uint64_t entered;
	_Atomic uint64_t moved; /* count changes seen inside a section */
	_Atomic uint64_t died;  /* times the count came down to the last */
	_Atomic bool stop;
};

struct runner {
	struct race *race;
	uint64_t random;
};

static void get_sound(struct lockref_classic *ref)
{
	lockref_classic_get(ref, RETRIES);
}

static void get_by_lock(struct lockref_classic *ref)
{
	lockref_classic_get(ref, 0);
}

static void get_ignores_lock(struct lockref_classic *ref)
{
	atomic_fetch_add_explicit(&ref->word, LOCKREF_CLASSIC_ONE, memory_order_acquire);
}

static void lock_section(struct runner *r)
{
	struct race *race = r->race;
	uint32_t count;

	lockref_classic_lock(&race->ref);
	count = lockref_classic_count(&race->ref);
	race->sections++;
	check_window(&r->random);
	if (lockref_classic_count(&race->ref) != count)
		atomic_fetch_add_explicit(&race->moved, 1, memory_order_relaxed);
	lockref_classic_unlock(&race->ref);
	atomic_fetch_add_explicit(&race->entered, 1, memory_order_relaxed);
}

/* Nobody kills: a last put, found in the lock, gives up its reference there. */
static void put_last_in_lock(struct race *race)
{
	if (lockref_classic_put_or_lock(&race->ref, RETRIES))
		return;
	lockref_classic_add_locked_(&race->ref, -LOCKREF_CLASSIC_ONE);
	lockref_classic_unlock(&race->ref);
	atomic_fetch_add_explicit(&race->died, 1, memory_order_relaxed);
}

static void *runner_main(void *arg)
{
	struct runner *r = arg;
	struct race *race = r->race;
	uint64_t random;

	while (!atomic_load_explicit(&race->stop, memory_order_relaxed)) {
		random = check_random(&r->random);
		if (random % 16 == 0) {
			lock_section(r);
			continue;
		}
		race->get(&race->ref);
		if (random & 256)
			put_last_in_lock(race);
		else
			lockref_classic_put(&race->ref, RETRIES);
	}
	return NULL;
}

/* ---- what a swap and a lock section publish ----------------------------- */

#define ROUNDS 300
#define BATCH 64

struct shared {
	struct lockref_classic ref;
	uint64_t fields[2]; /* plain */
};

struct pair {
	struct check_barrier barrier;
	struct shared last[BATCH];    /* both hold one: who is last sees both fields */
	struct shared section[BATCH]; /* written in a section, read by right of a get */
	_Atomic unsigned int kills;
	_Atomic unsigned int lost;
};

struct half {
	struct pair *pair;
	unsigned int index;
};

static void check_field(struct pair *pair, bool ok)
{
	if (!ok)
		atomic_fetch_add_explicit(&pair->lost, 1, memory_order_relaxed);
}

static void put_last_sees_fields(struct half *h, struct shared *o, uint64_t stamp)
{
	o->fields[h->index] = stamp;
	if (lockref_classic_put_or_lock(&o->ref, RETRIES))
		return;
	check_field(h->pair, o->fields[0] == stamp && o->fields[1] == stamp);
	lockref_classic_mark_dead(&o->ref);
	lockref_classic_unlock(&o->ref);
	atomic_fetch_add_explicit(&h->pair->kills, 1, memory_order_relaxed);
}

static void get_sees_section(struct half *h, struct shared *o, uint64_t stamp)
{
	if (h->index == 0) {
		lockref_classic_lock(&o->ref);
		o->fields[0] = stamp;
		lockref_classic_add_locked_(&o->ref, LOCKREF_CLASSIC_ONE);
		lockref_classic_unlock(&o->ref);
		return;
	}
	while (lockref_classic_count(&o->ref) == 0)
		sched_yield();
	check_field(h->pair, lockref_classic_get_not_dead(&o->ref, RETRIES));
	check_field(h->pair, o->fields[0] == stamp);
}

static void *half_main(void *arg)
{
	struct half *h = arg;
	struct pair *pair = h->pair;
	uint64_t round;
	unsigned int i;

	for (round = 1; round <= ROUNDS; round++) {
		for (i = 0; i < BATCH && h->index == 0; i++) {
			lockref_classic_init(&pair->last[i].ref, 2);
			lockref_classic_init(&pair->section[i].ref, 0);
		}
		check_barrier_wait(&pair->barrier);
		for (i = 0; i < BATCH; i++) {
			put_last_sees_fields(h, &pair->last[i], round);
			get_sees_section(h, &pair->section[i], round);
		}
		check_barrier_wait(&pair->barrier);
	}
	return NULL;
}

static void fields_are_published(void)
{
	static struct pair pair = {.barrier = {.threads = 2}};
	struct half halves[2] = {{&pair, 0}, {&pair, 1}};
	pthread_t other;

	if (pthread_create(&other, NULL, half_main, &halves[1]))
		exit(1);
	half_main(&halves[0]);
	pthread_join(other, NULL);
	CHECK(pair.lost == 0);
	CHECK(pair.kills == ROUNDS * BATCH);
}

static void run(const char *name, void (*get)(struct lockref_classic *ref), uint64_t ns, bool sound,
                uint64_t seed)
{
	static struct race race;
	const struct timespec nap = {.tv_nsec = 5000000};
	uint64_t end = check_now_ns() + ns;
	struct runner runners[THREADS];
	pthread_t threads[THREADS];
	unsigned int i;

	race = (struct race){.get = get};
	for (i = 0; i < THREADS; i++) {
		runners[i] = (struct runner){&race, seed + i};
		if (pthread_create(&threads[i], NULL, runner_main, &runners[i]))
			exit(1);
	}
	while (check_now_ns() < end && (sound || race.moved == 0))
		nanosleep(&nap, NULL);
	race.stop = true;
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);

	printf("%-17s %8" PRIu64 " lock sections, %" PRIu64 " last puts, count moved in %" PRIu64
	       "\n",
	       name, race.sections, race.died, race.moved);
	CHECK((race.moved == 0) == sound);
	CHECK(race.sections == race.entered && race.sections > 0);
	CHECK(word_of(&race.ref) == 0);
}

int main(void)
{
	uint64_t seed = check_seed();
	uint64_t ns = check_duration_ns(0.5) / 2;

	counts_by_swap_and_by_lock();
	last_put_comes_back_locked();
	get_not_dead_after_mark_dead_fails();
	swap_is_refused_or_busy_as_told();
	fields_are_published();
	run("sound", get_sound, ns, true, seed);
	run("always by lock", get_by_lock, ns, true, seed + THREADS);
	if (!CHECK_TSAN)
		run("get_ignores_lock", get_ignores_lock, CONTROL_LIMIT_NS, false, seed);
	return check_result("lockref.classic");
}
