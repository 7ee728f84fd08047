/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * lockref_classic: the usual way to count references without the lock that
 * guards the object: a spinlock and a count share one 64-bit word, and while
 * the lock is free a compare-and-swap of both halves changes the count. It is
 * the rival that lockref.h is measured against; the library does not use it.
 *
 *	63 .. 32 count (DEAD = its top bit)   31 .. 0 lock (0 free, 1 taken)
 *
 * What excludes what
 *
 *	               get/put, lock free   get/put, lock taken   lock section
 *	get/put        swap decides         the lock decides      the lock decides
 *	lock section   the lock decides     the lock decides      the lock decides
 *
 * Progress: lock-free while nobody takes the lock; blocking as soon as anyone
 * does, or when a swap has failed `retries` times: the whole point of the
 * comparison. One holder of the lock sends everybody who comes meanwhile to
 * the lock, and everybody there keeps the next ones from the swap.
 *
 * Caveat: a plain test-and-set lock that yields; not fair.
 *
 * Tags [L..] are explained in docs/memory-model.md.
 */
#ifndef LOCKREF_CLASSIC_H
#define LOCKREF_CLASSIC_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define LOCKREF_CLASSIC_LOCKED UINT64_C(1)
#define LOCKREF_CLASSIC_LOCK_MASK UINT64_C(0xffffffff)
#define LOCKREF_CLASSIC_ONE (UINT64_C(1) << 32)
#define LOCKREF_CLASSIC_DEAD (UINT64_C(1) << 63)

/* Swaps tried before the lock is taken; what the kernel settled on. */
#define LOCKREF_CLASSIC_RETRIES 100u

/* Spins on a taken lock before the processor is given away. */
#define LOCKREF_CLASSIC_SPINS 128u

struct lockref_classic {
	_Atomic uint64_t word; /* atomic; the count also under the lock */
};

static inline void lockref_classic_init(struct lockref_classic *ref, uint32_t count)
{
	atomic_init(&ref->word, (uint64_t)count * LOCKREF_CLASSIC_ONE);
}

static inline bool lockref_classic_word_dead_(uint64_t word)
{
	return (word & LOCKREF_CLASSIC_DEAD) != 0;
}

static inline uint32_t lockref_classic_word_count_(uint64_t word)
{
	return (uint32_t)((word & ~LOCKREF_CLASSIC_DEAD) >> 32);
}

/*
 * Return: the number of references; exact under the lock, else a snapshot.
 * Context: any in which the memory stays. Order: relaxed.
 */
static inline uint32_t lockref_classic_count(const struct lockref_classic *ref)
{
	return lockref_classic_word_count_(atomic_load_explicit(&ref->word, memory_order_relaxed));
}

static inline void lockref_classic_relax_(unsigned int spins)
{
	if (spins % LOCKREF_CLASSIC_SPINS == LOCKREF_CLASSIC_SPINS - 1)
		sched_yield();
#if defined(__x86_64__) || defined(__i386__)
	else
		__builtin_ia32_pause();
#endif
}

/*
 * Take the lock.
 * Context: the lock is not held by the caller; spins.
 * Order: acquire.
 */
static inline void lockref_classic_lock(struct lockref_classic *ref)
{
	unsigned int spins = 0;
	uint64_t old;

	for (;;) {
		/*
		 * acquire [L5]: the sections before this one are seen. Pairs
		 * with lockref_classic_unlock().
		 * acquire [L6]: so is what was written before a put that knew
		 * no lock. Pairs with lockref_classic_swap_().
		 */
		old = atomic_fetch_or_explicit(&ref->word, LOCKREF_CLASSIC_LOCKED,
		                               memory_order_acquire);
		if ((old & LOCKREF_CLASSIC_LOCKED) == 0)
			return;
		while (atomic_load_explicit(&ref->word, memory_order_relaxed) &
		       LOCKREF_CLASSIC_LOCKED)
			lockref_classic_relax_(spins++);
	}
}

/*
 * Drop the lock.
 * Context: the caller holds it. Order: release.
 */
static inline void lockref_classic_unlock(struct lockref_classic *ref)
{
	/*
	 * release [L5]: the section is seen by the next. Pairs with
	 * lockref_classic_lock().
	 * release [L6]: and by a get or put that finds the lock free. Pairs
	 * with lockref_classic_swap_().
	 */
	atomic_fetch_and_explicit(&ref->word, ~LOCKREF_CLASSIC_LOCKED, memory_order_release);
}

enum lockref_classic_swap {
	LOCKREF_CLASSIC_SWAPPED, /* count changed */
	LOCKREF_CLASSIC_REFUSED, /* the word forbids it: dead, or the last reference */
	LOCKREF_CLASSIC_BUSY,    /* lock taken or retries used up: go to the lock */
};

/*
 * Add delta (plus or minus one count) by swaps, unless the object is dead
 * and need_alive, or the count is below floor.
 */
static inline enum lockref_classic_swap lockref_classic_swap_(struct lockref_classic *ref,
                                                              uint64_t delta, bool need_alive,
                                                              uint32_t floor, unsigned int retries)
{
	uint64_t word = atomic_load_explicit(&ref->word, memory_order_relaxed);

	while ((word & LOCKREF_CLASSIC_LOCK_MASK) == 0) {
		if (need_alive && lockref_classic_word_dead_(word))
			return LOCKREF_CLASSIC_REFUSED;
		if (lockref_classic_word_count_(word) < floor)
			return LOCKREF_CLASSIC_REFUSED;
		/*
		 * acq_rel [L6]: a put's writes go before the end of the object,
		 * which is decided under the lock; a get sees the last section.
		 * Pairs with lockref_classic_lock(), lockref_classic_unlock().
		 */
		if (atomic_compare_exchange_weak_explicit(&ref->word, &word, word + delta,
		                                          memory_order_acq_rel,
		                                          memory_order_relaxed))
			return LOCKREF_CLASSIC_SWAPPED;
		if (retries-- == 0)
			break;
	}
	return LOCKREF_CLASSIC_BUSY;
}

/* Change the count under the lock; relaxed, since the lock orders. */
static inline uint64_t lockref_classic_add_locked_(struct lockref_classic *ref, uint64_t delta)
{
	return atomic_fetch_add_explicit(&ref->word, delta, memory_order_relaxed);
}

/*
 * Take a reference; the caller knows that the object is alive.
 * Context: any; may spin. Order: acquire.
 */
static inline void lockref_classic_get(struct lockref_classic *ref, unsigned int retries)
{
	if (lockref_classic_swap_(ref, LOCKREF_CLASSIC_ONE, false, 0, retries) ==
	    LOCKREF_CLASSIC_SWAPPED)
		return;
	lockref_classic_lock(ref);
	lockref_classic_add_locked_(ref, LOCKREF_CLASSIC_ONE);
	lockref_classic_unlock(ref);
}

/*
 * Take a reference unless the object is dead.
 * Return: false when it is. Context: read section; may spin. Order: acquire.
 */
static inline bool lockref_classic_get_not_dead(struct lockref_classic *ref, unsigned int retries)
{
	bool got;

	switch (lockref_classic_swap_(ref, LOCKREF_CLASSIC_ONE, true, 0, retries)) {
	case LOCKREF_CLASSIC_SWAPPED:
		return true;
	case LOCKREF_CLASSIC_REFUSED:
		return false;
	case LOCKREF_CLASSIC_BUSY:
		break;
	}

	lockref_classic_lock(ref);
	got = !lockref_classic_word_dead_(atomic_load_explicit(&ref->word, memory_order_relaxed));
	if (got)
		lockref_classic_add_locked_(ref, LOCKREF_CLASSIC_ONE);
	lockref_classic_unlock(ref);
	return got;
}

/*
 * Give a reference back; nobody is to be told when it was the last.
 * Context: any; may spin. Order: release.
 */
static inline void lockref_classic_put(struct lockref_classic *ref, unsigned int retries)
{
	if (lockref_classic_swap_(ref, -LOCKREF_CLASSIC_ONE, false, 1, retries) ==
	    LOCKREF_CLASSIC_SWAPPED)
		return;
	lockref_classic_lock(ref);
	lockref_classic_add_locked_(ref, -LOCKREF_CLASSIC_ONE);
	lockref_classic_unlock(ref);
}

/*
 * Give a reference back unless it is the last.
 * Return: true when it was given back; false with the lock held and the
 *	reference still the caller's, who decides what becomes of the object.
 * Context: any; may spin. Order: release, and acquire when false.
 */
static inline bool lockref_classic_put_or_lock(struct lockref_classic *ref, unsigned int retries)
{
	if (lockref_classic_swap_(ref, -LOCKREF_CLASSIC_ONE, false, 2, retries) ==
	    LOCKREF_CLASSIC_SWAPPED)
		return true;

	lockref_classic_lock(ref);
	if (lockref_classic_count(ref) <= 1)
		return false;
	lockref_classic_add_locked_(ref, -LOCKREF_CLASSIC_ONE);
	lockref_classic_unlock(ref);
	return true;
}

/*
 * From here on lockref_classic_get_not_dead() fails.
 * Context: the caller holds the lock. Order: none, the unlock's.
 */
static inline void lockref_classic_mark_dead(struct lockref_classic *ref)
{
	atomic_fetch_or_explicit(&ref->word, LOCKREF_CLASSIC_DEAD, memory_order_relaxed);
}

#endif /* LOCKREF_CLASSIC_H */
