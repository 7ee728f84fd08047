/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The kernel's lockref: lock and count share a 64-bit word, and the count is
 * swapped while the lock is free. The variants differ in what they do when a
 * swap fails or the lock is taken. The lock sets one bit and gives the
 * processor away after a while, where the kernel's queues.
 *
 *	63 DEAD   62 .. 32 count   31 .. 0 lock (0 free, 1 taken)
 */
#include "loop.h"
#include "variant_list.h"

#define TAKEN UINT64_C(1)
#define LOCK_MASK UINT64_C(0xffffffff)
#define ONE (UINT64_C(1) << 32)
#define DEAD (UINT64_C(1) << 63)

struct pair {
	_Atomic uint64_t word;
};

struct policy {
	unsigned int retries; /* failed swaps before the lock is taken; 0: no limit */
	unsigned int pause;   /* every so many failures; 0: never */
	unsigned int wait;    /* looks at a taken lock before it is taken too */
};

static int pair_init(void *ref, unsigned int threads)
{
	struct pair *pair = ref;

	(void)threads;
	atomic_init(&pair->word, ONE);
	return 0;
}

static uint64_t pair_count(const void *ref)
{
	const struct pair *pair = ref;

	return (atomic_load_explicit(&pair->word, memory_order_relaxed) & ~DEAD) / ONE;
}

static void pair_lock(const struct ref_site *site, struct ref_thread *thread, const void *how)
{
	struct pair *pair = site->ref;
	unsigned int spins = 0;

	(void)thread, (void)how;
	while (atomic_fetch_or_explicit(&pair->word, TAKEN, memory_order_acquire) & TAKEN) {
		while (atomic_load_explicit(&pair->word, memory_order_relaxed) & TAKEN)
			ref_wait(spins++);
	}
}

static void pair_unlock(const struct ref_site *site, struct ref_thread *thread, const void *how)
{
	struct pair *pair = site->ref;

	(void)thread, (void)how;
	atomic_fetch_and_explicit(&pair->word, ~TAKEN, memory_order_release);
}

enum swap { SWAPPED, REFUSED, BUSY };

/* Return: the word with a free lock, or the last one seen. */
REF_FOLD uint64_t await_free(struct pair *pair, uint64_t word, unsigned int *left)
{
	while ((word & LOCK_MASK) != 0 && *left) {
		--*left;
		ref_pause();
		word = atomic_load_explicit(&pair->word, memory_order_relaxed);
	}
	return word;
}

REF_FOLD enum swap swap(struct pair *pair, uint64_t delta, bool need_alive,
                        const struct policy *policy, struct ref_thread *thread)
{
	uint64_t word = atomic_load_explicit(&pair->word, memory_order_relaxed);
	unsigned int failures = 0, left = policy->wait;

	for (;;) {
		if (policy->wait)
			word = await_free(pair, word, &left);
		if ((word & LOCK_MASK) != 0)
			return BUSY;
		if (need_alive && (word & DEAD) != 0)
			return REFUSED;
		if (atomic_compare_exchange_weak_explicit(&pair->word, &word, word + delta,
		                                          memory_order_acq_rel,
		                                          memory_order_relaxed))
			return SWAPPED;
		failures++;
		thread->retries++;
		if (policy->pause && failures % policy->pause == 0)
			ref_pause();
		if (policy->retries && failures >= policy->retries)
			return BUSY;
	}
}

static inline bool add_locked(struct pair *pair, uint64_t delta, bool need_alive)
{
	if (need_alive && (atomic_load_explicit(&pair->word, memory_order_relaxed) & DEAD) != 0)
		return false;
	atomic_fetch_add_explicit(&pair->word, delta, memory_order_relaxed);
	return true;
}

static __attribute__((noinline)) bool add_slow(const struct ref_site *site, uint64_t delta,
                                               bool need_alive)
{
	bool done;

	pair_lock(site, NULL, NULL);
	done = add_locked(site->ref, delta, need_alive);
	pair_unlock(site, NULL, NULL);
	return done;
}

REF_FOLD bool pair_get(const struct ref_site *site, struct ref_thread *thread, const void *how)
{
	switch (swap(site->ref, ONE, true, how, thread)) {
	case SWAPPED:
		return true;
	case REFUSED:
		return false;
	case BUSY:
		break;
	}
	return add_slow(site, ONE, true);
}

REF_FOLD void pair_put(const struct ref_site *site, struct ref_thread *thread, const void *how)
{
	if (swap(site->ref, -ONE, false, how, thread) != SWAPPED)
		add_slow(site, -ONE, false);
}

static void pair_kill(const struct ref_site *site, struct ref_thread *thread)
{
	struct pair *pair = site->ref;

	pair_lock(site, thread, NULL);
	atomic_fetch_or_explicit(&pair->word, DEAD, memory_order_relaxed);
	add_locked(pair, -ONE, false);
	pair_unlock(site, thread, NULL);
}

/* One variant: its policy, its loops, its entry. */
#define PAIR(name, text, ...) \
	static const struct policy name##_policy = {__VA_ARGS__}; \
	REF_LOOPS(name, pair_get, pair_put, pair_lock, pair_unlock, &name##_policy); \
	const struct ref_variant ref_##name = { \
		.mode = #name, \
		.about = text, \
		.traits = REF_COUNTS | REF_DIES | REF_SWAPS | REF_STILL, \
		.bytes = sizeof(struct pair), \
		.init = pair_init, \
		.count = pair_count, \
		.kill = pair_kill, \
		.run = name##_run, \
		.calls = &name##_calls, \
	}

PAIR(lockref, "the kernel's: swaps while the lock is free, 100 at most", .retries = 100);
PAIR(lockref_pause, "... with a pause after each that fails", .retries = 100, .pause = 1);
PAIR(lockref_pause8, "... after every eighth", .retries = 100, .pause = 8);
PAIR(lockref_unbounded, "... without a limit", .retries = 0);
PAIR(lockref_wait1, "... looks once more at a taken lock", .retries = 100, .wait = 1);
PAIR(lockref_wait100, "... 100 times", .retries = 100, .wait = 100);
PAIR(lockref_wait700, "... 700 times", .retries = 100, .wait = 700);
PAIR(lockref_wait1000, "... 1000 times", .retries = 100, .wait = 1000);
PAIR(lockref_break, "... takes the lock as soon as a swap fails", .retries = 1);
