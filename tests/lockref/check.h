/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * check: what the lockref tests share. Expectations that print and count,
 * the seed and the duration from the environment, a random sequence, and a
 * barrier for rounds that are too short for a sleeping one.
 */
#ifndef LOCKREF_CHECK_H
#define LOCKREF_CHECK_H

#include <inttypes.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Broken variants race by design: the thread sanitizer must not see them. */
#if defined(__SANITIZE_THREAD__)
#define CHECK_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CHECK_TSAN 1
#endif
#endif
#ifndef CHECK_TSAN
#define CHECK_TSAN 0
#endif

static _Atomic int check_failures;

/* A macro for the sake of the expression's text and line. */
#define CHECK(cond) check_that_((cond), #cond, __FILE__, __LINE__)

static inline bool check_that_(bool ok, const char *text, const char *file, int line)
{
	if (!ok) {
		fprintf(stderr, "%s:%d: not so: %s\n", file, line, text);
		atomic_fetch_add_explicit(&check_failures, 1, memory_order_relaxed);
	}
	return ok;
}

/* Return: the exit code of the test. */
static inline int check_result(const char *name)
{
	int failures = atomic_load_explicit(&check_failures, memory_order_relaxed);

	printf("%s: %s, %d failed\n", name, failures ? "FAIL" : "ok", failures);
	return failures ? 1 : 0;
}

static inline uint64_t check_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* PATHCACHE_SEED, else the clock; printed, so that a failure can be run again. */
static inline uint64_t check_seed(void)
{
	const char *env = getenv("PATHCACHE_SEED");
	uint64_t seed = env ? strtoull(env, NULL, 0) : check_now_ns();

	printf("PATHCACHE_SEED=%" PRIu64 "\n", seed);
	return seed;
}

/* PATHCACHE_SECONDS for the whole program, in nanoseconds. */
static inline uint64_t check_duration_ns(double fallback)
{
	const char *env = getenv("PATHCACHE_SECONDS");
	double seconds = env ? strtod(env, NULL) : fallback;

	return (uint64_t)((seconds > 0 ? seconds : fallback) * 1e9);
}

/* splitmix64 */
static inline uint64_t check_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* In a broken variant: let the others into the gap that it leaves open. */
static inline void check_window(uint64_t *random)
{
	uint64_t yields = check_random(random) % 4;

	while (yields--)
		sched_yield();
}

/* Yields while it waits: tests run with more threads than processors. */
struct check_barrier {
	unsigned int threads;
	_Atomic unsigned int arrived;
	_Atomic unsigned int round;
};

static inline void check_barrier_wait(struct check_barrier *b)
{
	unsigned int round = atomic_load_explicit(&b->round, memory_order_acquire);

	if (atomic_fetch_add_explicit(&b->arrived, 1, memory_order_acq_rel) + 1 == b->threads) {
		atomic_store_explicit(&b->arrived, 0, memory_order_relaxed);
		atomic_store_explicit(&b->round, round + 1, memory_order_release);
		return;
	}
	while (atomic_load_explicit(&b->round, memory_order_acquire) == round)
		sched_yield();
}

#endif /* LOCKREF_CHECK_H */
