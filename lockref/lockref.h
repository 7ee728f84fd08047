/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * lockref: a reference count and the object's state flags in one 64-bit word.
 *
 * Each operation changes the word by atomic read-modify-write only, and
 * decides from the value its own atomic returned. It allocates nothing, knows
 * no lock and no RCU; the caller brings the read sections and grace periods.
 *
 *	63     62    61     60 .. LOCKREF_USER_SHIFT   .. 0
 *	DEAD   SAT   DOOM   user flags                 count
 *
 * States (names are what the caller's table knows; the word never counts them)
 *
 *	            get              doom, count > 0
 *	   idle <---------> held <-------------------> doomed
 *	  count 0   put    count n       undoom       count n
 *	     |                                           |
 *	     | doom, count was 0           last put, or  |
 *	     +------------> DEAD <------------ try_kill -+
 *	                      |
 *	                      | unhash, grace period
 *	                      v
 *	                    freed             SAT: held for ever
 *
 * idle is cached and alive: reaching 0 frees nothing unless DOOM is set.
 *
 * What the caller must arrange between two operations on one word
 *
 *	            get   get_held  put   doom  undoom  try_kill  flags
 *	get          -       -       -     -      -       RS       -
 *	get_held             -       -     -      -       -        -
 *	put                          -     -      -       RS       -
 *	doom                               L      L       RS       -
 *	undoom                                    L       -        -
 *	try_kill                                          RS       RS
 *	flags                                                      -
 *
 *	-   nothing
 *	RS  both run in a read section (or under a lock that keeps the memory):
 *	    the winner of a kill retires the object, so a loser may look at the
 *	    word only while a grace period cannot end
 *	L   the lock that guards the object's set of names
 *
 * Progress: get, get_held, put, doom, undoom, flags: wait-free, one atomic
 * each. A kill is a compare-and-swap that is repeated only when user flags
 * changed under it or the count went up and down again meanwhile: lock-free.
 * Saturating, once in an object's life, is lock-free.
 *
 * Caveats
 *  - A failed get is not undone: the count of a DEAD word is garbage, and so
 *    may be its user flags: 2^LOCKREF_COUNT_BITS failed gets carry into them.
 *    Take no decision from a dead word but "dead". DEAD itself holds: at the
 *    kill the low 63 bits are at most DOOM plus all user flags, below 2^62, so
 *    2^62 failed gets would have to hit one word between its kill and the end
 *    of the grace period: over a century at one a nanosecond. SAT and DOOM may
 *    be carried into no earlier than the user flags, and are not looked at
 *    once DEAD is seen.
 *  - A get that fails means "not there". A caller that repeats it in the same
 *    read section can spin for as long as that section lasts.
 *  - Saturation leaks the object on purpose. From half the count's range on,
 *    SAT is set and the count parked at three quarters; later gets and puts
 *    add nothing in sum. Until SAT is set each thread can overshoot by one,
 *    afterwards each can be off by one for a moment: a quarter of the range
 *    (2^30 threads) stands between that and a carry or borrow into the flags.
 *  - One put too many is the caller's fault. It asserts; without assertions
 *    it is undone, but others may see wrong flags for a moment.
 *
 * Tags [L..] are explained in docs/memory-model.md.
 */
#ifndef LOCKREF_H
#define LOCKREF_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#ifndef LOCKREF_COUNT_BITS
#define LOCKREF_COUNT_BITS 32
#endif

#define LOCKREF_DEAD (UINT64_C(1) << 63)
#define LOCKREF_SAT (UINT64_C(1) << 62)
#define LOCKREF_DOOM (UINT64_C(1) << 61)

#define LOCKREF_USER_SHIFT LOCKREF_COUNT_BITS
#define LOCKREF_COUNT_MASK ((UINT64_C(1) << LOCKREF_COUNT_BITS) - 1)
#define LOCKREF_USER_MASK ((LOCKREF_DOOM - 1) & ~LOCKREF_COUNT_MASK)
#define LOCKREF_FLAGS_MASK (~LOCKREF_COUNT_MASK)

/* User flag n, 0 <= n < LOCKREF_USER_BITS; a macro as enums need constants. */
#define LOCKREF_USER(n) (UINT64_C(1) << (LOCKREF_USER_SHIFT + (n)))
#define LOCKREF_USER_BITS (61 - LOCKREF_USER_SHIFT)

/* A get that finds this much or more saturates. */
#define LOCKREF_COUNT_LIMIT (UINT64_C(1) << (LOCKREF_COUNT_BITS - 1))
/* Where the count of a saturated word is parked: far from both ends. */
#define LOCKREF_COUNT_PARKED (UINT64_C(3) << (LOCKREF_COUNT_BITS - 2))

_Static_assert(LOCKREF_COUNT_BITS >= 8, "parked count needs room for every thread");
_Static_assert(LOCKREF_USER_BITS >= 8, "at least 8 user flags");

struct lockref {
	_Atomic uint64_t word; /* atomic */
};

_Static_assert(sizeof(struct lockref) == 8, "one word");

/* ---- decisions: pure functions of a word, shared with the model test ---- */

static inline uint64_t lockref_word_count_(uint64_t word)
{
	return word & LOCKREF_COUNT_MASK;
}

/* A get that found this word owns a reference (once saturation is seen to). */
static inline bool lockref_gettable_(uint64_t old)
{
	return (old & LOCKREF_DEAD) == 0;
}

/* A get that found this living word may not leave its add in place. */
static inline bool lockref_saturates_(uint64_t old)
{
	return (old & LOCKREF_SAT) != 0 || lockref_word_count_(old) >= LOCKREF_COUNT_LIMIT;
}

/* A put that found this word gave back the last reference of a doomed object. */
static inline bool lockref_put_kills_(uint64_t old)
{
	return (old & (LOCKREF_DOOM | LOCKREF_SAT)) == LOCKREF_DOOM &&
	       lockref_word_count_(old) == 1;
}

/* A doom that found this word has nobody left who would put the last count. */
static inline bool lockref_doom_kills_(uint64_t old)
{
	return (old & (LOCKREF_DEAD | LOCKREF_SAT)) == 0 && lockref_word_count_(old) == 0;
}

/* The only words that may become DEAD. User flags do not matter. */
static inline bool lockref_killable_(uint64_t word)
{
	return (word & ~LOCKREF_USER_MASK) == LOCKREF_DOOM;
}

/* The word that saturation puts in place of a living, unsaturated one. */
static inline uint64_t lockref_saturated_(uint64_t word)
{
	return (word & LOCKREF_FLAGS_MASK) | LOCKREF_SAT | LOCKREF_COUNT_PARKED;
}

/* ---- slow paths --------------------------------------------------------- */

/*
 * The caller's add found a living word, old, that lockref_saturates_().
 * An add that found SAT came after the count was parked and is taken back. One
 * that did not came before, and parking swallows it, whoever parks: taking it
 * back as well would unpark the count.
 * Order: relaxed; a saturated object is never reclaimed, so nothing is
 * published to a killer, and the caller's get has ordered the rest.
 */
static __attribute__((cold, noinline, unused)) void lockref_saturate_slow_(struct lockref *ref,
                                                                           uint64_t old)
{
	uint64_t word;

	if (old & LOCKREF_SAT) {
		atomic_fetch_sub_explicit(&ref->word, 1, memory_order_relaxed);
		return;
	}

	word = atomic_load_explicit(&ref->word, memory_order_relaxed);
	while ((word & LOCKREF_SAT) == 0) {
		if (atomic_compare_exchange_weak_explicit(
			    &ref->word, &word, lockref_saturated_(word), memory_order_relaxed,
			    memory_order_relaxed))
			return;
	}
}

/*
 * From word, which is what the caller believes stands there, to DEAD. The
 * strong form fails only on a real change, so a repeat means that flags, or a
 * get with its put, came in between, each some other thread's progress.
 */
static inline bool lockref_kill_from_(struct lockref *ref, uint64_t word)
{
	while (lockref_killable_(word)) {
		/*
		 * acquire [L1]: all that holders wrote before their puts is
		 * seen before the object is torn down. Pairs with lockref_put().
		 * acquire [L2]: likewise what the doomer wrote while it took the
		 * last name away. Pairs with lockref_doom().
		 * No release: a reader that meets DEAD reads nothing more of the
		 * object. On failure relaxed: the loser walks away.
		 */
		if (atomic_compare_exchange_strong_explicit(&ref->word, &word, word | LOCKREF_DEAD,
		                                            memory_order_acquire,
		                                            memory_order_relaxed))
			return true;
	}
	return false;
}

/* A put found SAT, DOOM or a count of 0. */
static __attribute__((cold, noinline, unused)) bool lockref_put_slow_(struct lockref *ref,
                                                                      uint64_t old)
{
	if (lockref_put_kills_(old))
		return lockref_kill_from_(ref, old - 1);

	if ((old & LOCKREF_SAT) != 0 || lockref_word_count_(old) == 0) {
		/* Fails for a put without a reference. */
		assert((old & LOCKREF_SAT) != 0);
		atomic_fetch_add_explicit(&ref->word, 1, memory_order_relaxed);
	}
	return false;
}

/* ---- life cycle --------------------------------------------------------- */

/*
 * Give the word its first value: a count below LOCKREF_COUNT_LIMIT, user
 * flags, and DOOM for an object that starts without a name.
 * Context: nobody else can reach the object yet.
 * Order: none; whoever publishes the object publishes the word with it.
 */
static inline void lockref_init(struct lockref *ref, uint64_t count_and_flags)
{
	atomic_init(&ref->word, count_and_flags);
}

/*
 * Take a reference on an object whose pointer was found under RCU.
 * Return: true, and the caller owns a strong reference until lockref_put();
 *	false, and the object is dead: treat its name as a miss.
 * Context: inside the read section in which the pointer was found.
 * Order: acquire on success; a failure orders nothing that may be relied on.
 */
static inline bool lockref_get(struct lockref *ref)
{
	/*
	 * acquire [L3]: what earlier holders wrote before their puts is seen
	 * by this one. Pairs with lockref_put(). The fields from before the
	 * object was published come with the pointer, not from here.
	 */
	uint64_t old = atomic_fetch_add_explicit(&ref->word, 1, memory_order_acquire);

	if (__builtin_expect(!lockref_gettable_(old), 0))
		return false;
	if (__builtin_expect(lockref_saturates_(old), 0))
		lockref_saturate_slow_(ref, old);
	return true;
}

/*
 * Take one more reference; the caller owns one already.
 * Context: any; needs no read section.
 * Order: relaxed. The caller's own reference keeps the count above 0, so no
 * kill can be decided meanwhile; it has seen what its own get saw; and the
 * hand-over to whoever will own the new reference orders the two threads.
 * Being a read-modify-write, it keeps the release sequences of earlier puts
 * whole.
 */
static inline void lockref_get_held(struct lockref *ref)
{
	uint64_t old = atomic_fetch_add_explicit(&ref->word, 1, memory_order_relaxed);

	assert(lockref_word_count_(old) != 0 && lockref_gettable_(old));
	if (__builtin_expect(lockref_saturates_(old), 0))
		lockref_saturate_slow_(ref, old);
}

/*
 * Give a reference back.
 * Return: true when this very call killed the object: the caller must unhash
 *	it and retire its memory, and nobody else will. Else false, and the
 *	caller has no more business with the object.
 * Context: in a read section that lasts until this returns. Between the
 *	subtraction and the kill the object may be got, put, killed and retired
 *	by others; without the section it could be freed as well.
 * Order: release; acquire when it returns true.
 */
static inline bool lockref_put(struct lockref *ref)
{
	/*
	 * release [L1]: the holder's writes go before the kill, also when
	 * another thread gives the last reference back: every change of the
	 * word is a read-modify-write, so the killer's swap reads from a release
	 * sequence that this heads. Pairs with lockref_kill_from_().
	 * release [L3]: and before a later holder's reads. Pairs with
	 * lockref_get().
	 */
	uint64_t old = atomic_fetch_sub_explicit(&ref->word, 1, memory_order_release);

	if (__builtin_expect(
		    (old & (LOCKREF_SAT | LOCKREF_DOOM)) == 0 && lockref_word_count_(old) != 0, 1))
		return false;
	return lockref_put_slow_(ref, old);
}

/*
 * The last name went: from now on the object dies with its last reference.
 * Return: as lockref_put(). False when somebody holds it: the last put kills.
 * Context: under the lock that guards the object's names (they are gone, and
 *	none can come meanwhile), and in a read section unless that lock or a
 *	reference keeps the memory.
 * Order: release; acquire when it returns true. A doomer that does not kill
 * has no use for an acquire, and one that does gets it from the swap.
 */
static inline bool lockref_doom(struct lockref *ref)
{
	/*
	 * release [L2]: the removal of the names goes before the kill by a
	 * later last put. Pairs with lockref_kill_from_().
	 */
	uint64_t old = atomic_fetch_or_explicit(&ref->word, LOCKREF_DOOM, memory_order_release);

	if (!lockref_doom_kills_(old))
		return false;
	return lockref_kill_from_(ref, old | LOCKREF_DOOM);
}

/*
 * The object is about to get a name again.
 * Context: the caller owns a reference and holds the lock that guards the
 *	object's names; the name is published after this returns.
 * Order: relaxed. The caller's reference rules out a kill until its own put,
 * which comes later in the word's modification order, so no put that could be
 * the last one can still read the old DOOM; against other dooms and undooms
 * the lock orders.
 */
static inline void lockref_undoom(struct lockref *ref)
{
	uint64_t old = atomic_fetch_and_explicit(&ref->word, ~LOCKREF_DOOM, memory_order_relaxed);

	assert(lockref_word_count_(old) != 0 && lockref_gettable_(old));
	(void)old;
}

/*
 * Kill a doomed object that nobody holds; anything else is left as it is.
 * Return: as lockref_put(). Of any number of callers at most one gets true.
 * Context: as lockref_put().
 * Order: acquire on success, none on failure.
 */
static inline bool lockref_try_kill(struct lockref *ref)
{
	return lockref_kill_from_(ref, atomic_load_explicit(&ref->word, memory_order_relaxed));
}

/* ---- snapshots: true at one instant during the call --------------------- */

/*
 * Return: whether the object is dead. True stays true.
 * Context: the caller keeps the memory (read section or reference).
 * Order: relaxed; see the kill for why nothing is read after it.
 */
static inline bool lockref_is_dead(const struct lockref *ref)
{
	return (atomic_load_explicit(&ref->word, memory_order_relaxed) & LOCKREF_DEAD) != 0;
}

/*
 * Return: the number of references; garbage once DEAD, parked once SAT.
 * Context: as lockref_is_dead(). Good for counters and as an evictor's hint;
 *	a decision needs an operation that returns one.
 * Order: relaxed.
 */
static inline uint64_t lockref_count(const struct lockref *ref)
{
	return lockref_word_count_(atomic_load_explicit(&ref->word, memory_order_relaxed));
}

/*
 * Return: all flags, user's and own, in place; without the count.
 * Context: as lockref_is_dead().
 * Order: acquire.
 */
static inline uint64_t lockref_flags(const struct lockref *ref)
{
	/*
	 * acquire [L4]: who sees a user flag changed sees what was written
	 * before. Pairs with lockref_set_flags(), lockref_clear_flags().
	 */
	return atomic_load_explicit(&ref->word, memory_order_acquire) & LOCKREF_FLAGS_MASK;
}

/*
 * Set, clear user flags. To keep a hot line clean, test with lockref_flags()
 * first.
 * Return: the flags from before, as lockref_flags(): of several threads that
 *	set one flag, exactly one is told that it was clear.
 * Context: as lockref_is_dead(). On a dead word harmless and without meaning.
 * Order: acquire and release.
 */
static inline uint64_t lockref_set_flags(struct lockref *ref, uint64_t flags)
{
	assert((flags & ~LOCKREF_USER_MASK) == 0);
	/*
	 * acq_rel [L4]: publishes what the flag stands for, and sees what the
	 * one who last changed it published. Pairs with lockref_flags() and
	 * lockref_clear_flags().
	 */
	return atomic_fetch_or_explicit(&ref->word, flags, memory_order_acq_rel) &
	       LOCKREF_FLAGS_MASK;
}

static inline uint64_t lockref_clear_flags(struct lockref *ref, uint64_t flags)
{
	assert((flags & ~LOCKREF_USER_MASK) == 0);
	/* acq_rel [L4]: as setting. Pairs with lockref_flags() and lockref_set_flags(). */
	return atomic_fetch_and_explicit(&ref->word, ~flags, memory_order_acq_rel) &
	       LOCKREF_FLAGS_MASK;
}

#endif /* LOCKREF_H */
