/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The loops that are timed. Each variant calls ref_loop() with constant calls
 * from a run() of its own, so that the compiler folds them in: get and put are
 * then as close together as in a program that uses them.
 */
#ifndef BENCH_LOCKREF_LOOP_H
#define BENCH_LOCKREF_LOOP_H

#include "variants.h"

#include <sched.h>

#define REF_FOLD static inline __attribute__((always_inline))

enum {
	REF_SPINS = 128 /* on a taken lock before the processor is given away */
};

REF_FOLD void ref_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* The spins-th wait for another thread. */
static inline void ref_wait(unsigned int spins)
{
	if (spins % REF_SPINS == REF_SPINS - 1)
		sched_yield();
	else
		ref_pause();
}

/* ---- the lock beside objects whose variant has none ---- */

static inline void ref_lock_take(struct ref_lock *lock)
{
	unsigned int spins = 0;

	while (atomic_exchange_explicit(&lock->taken, 1, memory_order_acquire)) {
		while (atomic_load_explicit(&lock->taken, memory_order_relaxed))
			ref_wait(spins++);
	}
}

static inline void ref_lock_drop(struct ref_lock *lock)
{
	atomic_store_explicit(&lock->taken, 0, memory_order_release);
}

static inline void ref_site_lock(const struct ref_site *site, struct ref_thread *thread,
                                 const void *how)
{
	(void)thread, (void)how;
	ref_lock_take(site->lock);
}

static inline void ref_site_unlock(const struct ref_site *site, struct ref_thread *thread,
                                   const void *how)
{
	(void)thread, (void)how;
	ref_lock_drop(site->lock);
}

/* ---- loops ---- */

REF_FOLD void ref_pair(const struct ref_calls *calls, const struct ref_site *site,
                       struct ref_thread *thread)
{
	if (__builtin_expect(!calls->get(site, thread, calls->how), 0)) {
		thread->refused++;
		return;
	}
	calls->put(site, thread, calls->how);
}

REF_FOLD uint64_t ref_attrs_sum(const struct ref_site *site)
{
	uint64_t sum = 0;

	for (int i = 0; i < REF_ATTR_WORDS; i++)
		sum += site->attrs[i];
	return sum;
}

REF_FOLD void ref_stat(const struct ref_calls *calls, const struct ref_site *site,
                       struct ref_thread *thread)
{
	uint64_t sum;

	if (__builtin_expect(!calls->get(site, thread, calls->how), 0)) {
		thread->refused++;
		return;
	}
	/* Read anew each time: the other attributes could have come meanwhile. */
	__asm__ volatile("" ::: "memory");
	sum = ref_attrs_sum(site);
	__asm__ volatile("" ::"r"(sum) : "memory");
	calls->put(site, thread, calls->how);
}

REF_FOLD void ref_section(const struct ref_calls *calls, const struct ref_site *site,
                          struct ref_thread *thread)
{
	calls->lock(site, thread, calls->how);
	++*site->guarded;
	calls->unlock(site, thread, calls->how);
}

REF_FOLD void ref_near(const struct ref_calls *calls, const struct ref_site *site,
                       struct ref_thread *thread)
{
	ref_pair(calls, site, thread);
	__asm__ volatile("" ::"r"(*site->neighbour) : "memory");
}

REF_FOLD void ref_mix(const struct ref_calls *calls, const struct ref_site *site,
                      struct ref_thread *thread, uint64_t i)
{
	if (i % 3 == 0)
		ref_pair(calls, site, thread);
	else
		ref_section(calls, site, thread);
}

REF_FOLD uint64_t ref_loop(const struct ref_calls *calls, enum ref_work work,
                           const struct ref_site *where, struct ref_thread *thread, uint64_t n)
{
	/* A copy, so that its pointers stay in registers. */
	const struct ref_site site = *where;

	switch (work) {
	case REF_PAIRS:
		for (uint64_t i = 0; i < n; i++)
			ref_pair(calls, &site, thread);
		break;
	case REF_STAT:
		for (uint64_t i = 0; i < n; i++)
			ref_stat(calls, &site, thread);
		break;
	case REF_MIX:
		for (uint64_t i = 0; i < n; i++)
			ref_mix(calls, &site, thread, i);
		break;
	case REF_NEAR:
		for (uint64_t i = 0; i < n; i++)
			ref_near(calls, &site, thread);
		break;
	}
	return n;
}

/*
 * name_calls, and name_run(): the loops compiled for them. A macro since the
 * loops fold only what is constant where they are compiled.
 */
#define REF_LOOPS(name, ...) \
	static const struct ref_calls name##_calls = {__VA_ARGS__}; \
	static uint64_t name##_run(enum ref_work work, const struct ref_site *site, \
	                           struct ref_thread *thread, uint64_t n) \
	{ \
		return ref_loop(&name##_calls, work, site, thread, n); \
	} \
	_Static_assert(sizeof(name##_calls), "used")

#endif
