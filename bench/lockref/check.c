/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Are the variants what they say? Counts are exact while references are held
 * and after all are given back; lock sections exclude each other, and a
 * reader-writer lock's sections its readers too; a dead object refuses.
 */
#include "loop.h"
#include "rivals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	ROUNDS = 25,        /* begun by all threads at once, so that they meet */
	PAIRS = 2000,       /* in a round */
	PAIRS_LOCKED = 100, /* a queue waits for each whose processor is taken away */
	MIXED = 24,         /* a third of it references */
	WRITES = 12,
	YIELDS = 6, /* each such section gives the processor away in its middle */
	HELD = 3    /* references of each thread that are held at once */
};

/* What a writer changes together. */
struct twins {
	uint64_t a, b;
};

struct check {
	const struct ref_variant *variant;
	struct ref_set set;
	pthread_barrier_t barrier;
	struct twins twins;  /* the object's lock */
	atomic_uint arrived; /* threads that began a round, of all rounds */
	atomic_uint torn;    /* readers that saw them differ */
	atomic_uint moved;   /* lock sections in which the count did not stand still */
	atomic_uint failed;  /* gets of a living object that were refused */
	atomic_uint risen;   /* gets of a dead one that were not */
};

struct checker {
	struct check *check;
	pthread_t id;
	unsigned int index;
	unsigned int count; /* of threads */
};

/* As pthread_barrier_wait(), but all are awake and go on together. */
static void begin_round(struct check *check, unsigned int round, unsigned int threads)
{
	unsigned int all = (round + 1) * threads, spins = 0;

	atomic_fetch_add_explicit(&check->arrived, 1, memory_order_relaxed);
	while (atomic_load_explicit(&check->arrived, memory_order_relaxed) < all)
		ref_wait(spins++);
}

static void linger(unsigned int i)
{
	if (i % YIELDS == 0)
		sched_yield();
	atomic_signal_fence(memory_order_seq_cst);
}

static void hold_some(struct check *check, struct ref_thread *thread)
{
	const struct ref_calls *calls = check->variant->calls;
	const struct ref_site *site = check->set.site;

	/* Nobody is to wait for the lock any more: a writer waits for what is held. */
	pthread_barrier_wait(&check->barrier);
	for (int i = 0; i < HELD; i++)
		if (!calls->get(site, thread, calls->how))
			atomic_fetch_add_explicit(&check->failed, 1, memory_order_relaxed);
	pthread_barrier_wait(&check->barrier);
	/* The count is looked at. */
	pthread_barrier_wait(&check->barrier);
	for (int i = 0; i < HELD; i++)
		calls->put(site, thread, calls->how);
}

static void write_twins(struct check *check, struct ref_thread *thread, unsigned int i)
{
	const struct ref_variant *variant = check->variant;
	const struct ref_calls *calls = variant->calls;
	const bool still = (variant->traits & REF_STILL) != 0;
	uint64_t count;

	calls->lock(check->set.site, thread, calls->how);
	count = still ? variant->count(check->set.site->ref) : 0;
	check->twins.a++;
	linger(i);
	check->twins.b++;
	if (still && variant->count(check->set.site->ref) != count)
		atomic_fetch_add_explicit(&check->moved, 1, memory_order_relaxed);
	calls->unlock(check->set.site, thread, calls->how);
}

static void read_twins(struct check *check, struct ref_thread *thread, unsigned int i)
{
	const struct ref_calls *calls = check->variant->calls;
	uint64_t a;

	if (!calls->get(check->set.site, thread, calls->how))
		return;
	a = check->twins.a;
	linger(i);
	if (a != check->twins.b)
		atomic_fetch_add_explicit(&check->torn, 1, memory_order_relaxed);
	calls->put(check->set.site, thread, calls->how);
}

static void meet_death(struct check *check, struct ref_thread *thread)
{
	const struct ref_calls *calls = check->variant->calls;

	pthread_barrier_wait(&check->barrier);
	/* The object is killed. */
	pthread_barrier_wait(&check->barrier);
	if (calls->get(check->set.site, thread, calls->how))
		atomic_fetch_add_explicit(&check->risen, 1, memory_order_relaxed);
}

static void run_round(struct check *check, struct ref_thread *thread)
{
	const struct ref_variant *variant = check->variant;
	const struct ref_site *site = check->set.site;
	const uint64_t pairs = variant->traits & REF_LOCKED ? PAIRS_LOCKED : PAIRS;

	variant->run(REF_STAT, site, thread, pairs);
	variant->run(REF_MIX, site, thread, MIXED);
	for (unsigned int i = 0; i < WRITES; i++) {
		variant->run(REF_PAIRS, site, thread, pairs / WRITES);
		write_twins(check, thread, i);
		if (variant->traits & REF_RWSEM)
			read_twins(check, thread, i);
	}
}

static void *checker_main(void *arg)
{
	struct checker *checker = arg;
	struct check *check = checker->check;
	const struct ref_variant *variant = check->variant;
	struct ref_thread *thread = ref_thread_create(variant, checker->index);

	/* All wait for each other, so none may be missing. */
	if (!thread)
		abort();
	for (unsigned int round = 0; round < ROUNDS; round++) {
		begin_round(check, round, checker->count);
		run_round(check, thread);
	}
	atomic_fetch_add_explicit(&check->failed, (unsigned int)thread->refused,
	                          memory_order_relaxed);
	if (!(variant->traits & REF_UNCOUNTED))
		hold_some(check, thread);
	if (variant->traits & REF_DIES)
		meet_death(check, thread);
	ref_thread_destroy(variant, thread);
	return NULL;
}

static bool count_is(const struct check *check, uint64_t more)
{
	uint64_t first = check->variant->traits & REF_RWSEM ? 0 : 1;

	return !(check->variant->traits & REF_COUNTS) ||
	       check->variant->count(check->set.site[0].ref) == first + more;
}

/* The main thread's part of what the others do. Return: what is wrong; NULL. */
static const char *watch(struct check *check, unsigned int threads, struct ref_thread *self)
{
	const struct ref_variant *variant = check->variant;
	const char *why = NULL;

	if (!(variant->traits & REF_UNCOUNTED)) {
		pthread_barrier_wait(&check->barrier);
		pthread_barrier_wait(&check->barrier);
		if (!count_is(check, (uint64_t)threads * HELD))
			why = "the count of held references is wrong";
		pthread_barrier_wait(&check->barrier);
	}
	if (variant->traits & REF_DIES) {
		pthread_barrier_wait(&check->barrier);
		if (!count_is(check, 0) && !why)
			why = "the count is wrong after all were given back";
		variant->kill(check->set.site, self);
		pthread_barrier_wait(&check->barrier);
	}
	return why;
}

static const char *judge(const struct check *check, unsigned int threads)
{
	const uint64_t sections = (uint64_t)threads * ROUNDS * (MIXED - MIXED / 3);
	const uint64_t written = (uint64_t)threads * ROUNDS * WRITES;

	if (!(check->variant->traits & REF_DIES) && !count_is(check, 0))
		return "the count is wrong after all were given back";
	if (*check->set.site[0].guarded != sections || check->twins.a != written ||
	    check->twins.b != written)
		return "lock sections overlapped";
	if (atomic_load_explicit(&check->torn, memory_order_relaxed))
		return "a reader was inside a writer's section";
	if (atomic_load_explicit(&check->moved, memory_order_relaxed))
		return "the count moved in a lock section";
	if (atomic_load_explicit(&check->failed, memory_order_relaxed))
		return "a living object refused";
	if (atomic_load_explicit(&check->risen, memory_order_relaxed))
		return "a dead object did not refuse";
	return NULL;
}

static int run_checkers(struct check *check, unsigned int threads, const char **why)
{
	struct checker *checker = calloc(threads, sizeof(*checker));
	struct ref_thread *self = ref_thread_create(check->variant, threads);
	const char *later;

	if (!checker || !self)
		abort();
	for (unsigned int i = 0; i < threads; i++) {
		checker[i] = (struct checker){.check = check, .index = i, .count = threads};
		if (pthread_create(&checker[i].id, NULL, checker_main, &checker[i]))
			abort();
	}
	*why = watch(check, threads, self);
	for (unsigned int i = 0; i < threads; i++)
		pthread_join(checker[i].id, NULL);
	later = judge(check, threads);
	if (!*why)
		*why = later;
	ref_thread_destroy(check->variant, self);
	free(checker);
	return *why ? -EIO : 0;
}

int check_variant(const struct ref_variant *variant, unsigned int threads, const char **why)
{
	struct check check = {.variant = variant};
	int error;

	*why = NULL;
	error = ref_set_create(&check.set, variant, 1, threads + 1, REF_APART);
	if (error)
		return error;
	error = -pthread_barrier_init(&check.barrier, NULL, threads + 1);
	if (!error) {
		error = run_checkers(&check, threads, why);
		pthread_barrier_destroy(&check.barrier);
	}
	ref_set_destroy(&check.set);
	return error;
}

static int check_one(const struct ref_variant *variant, unsigned int threads)
{
	const char *why;
	int error = check_variant(variant, threads, &why);

	if (error == -EOPNOTSUPP) {
		printf("%s: not on this system\n", variant->mode);
		return 0;
	}
	if (error) {
		printf("%s: %s\n", variant->mode, why ? why : strerror(-error));
		return error;
	}
	printf("%s: exact\n", variant->mode);
	return 0;
}

int check_all(void)
{
	unsigned int cpus = bench_cpu_count(), threads = cpus < 2 ? 2 : cpus > 4 ? 4 : cpus;
	const char *why;
	int error = 0;

	for (size_t i = 0; i < nref_variants; i++)
		if (check_one(ref_variants[i], threads))
			error = -EIO;
	if (check_variant(&ref_broken, threads, &why) != -EIO) {
		printf("broken: NOT CAUGHT, so the checks say nothing\n");
		return -EIO;
	}
	printf("broken: caught, %s\n", why);
	return error;
}
