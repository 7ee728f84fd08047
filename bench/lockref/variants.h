/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Ways to count references to one object, all under the same loops. A variant
 * brings the object's state and four operations on it; loop.h compiles the
 * loops once for each variant, so that nothing in a timed loop is called
 * through a pointer.
 *
 * What excludes what: run() and the operations of `calls` may be called by any
 * number of threads on one site; init, fini and count only when no thread is
 * in any of them; kill once, at any time.
 */
#ifndef BENCH_LOCKREF_VARIANTS_H
#define BENCH_LOCKREF_VARIANTS_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	REF_LINE = 128,     /* two cache lines: they are fetched in pairs */
	REF_ATTR_WORDS = 16 /* what stat2 reads, as much as a struct stat holds */
};

/* What guards an object whose variant has no lock of its own: on its own line. */
struct ref_lock {
	alignas(REF_LINE) atomic_uint taken;
};

/* An object as a thread sees it. */
struct ref_site {
	void *ref;                 /* the variant's state */
	struct ref_lock *lock;     /* for variants that have none */
	uint64_t *guarded;         /* the object's lock: sections so far */
	const uint64_t *attrs;     /* const: REF_ATTR_WORDS */
	const uint64_t *neighbour; /* const: what REF_NEAR reads */
};

/* What one thread keeps. On cache lines of its own. */
struct ref_thread {
	alignas(REF_LINE) uint64_t retries; /* swaps that failed */
	uint64_t refused;                   /* gets that found the object dead */
	uint64_t sink;                      /* what was read, so that it is read */
	unsigned int index;                 /* below what init was told */
	void *rseq;                         /* NULL: not to be used */
	alignas(64) unsigned char own[64];  /* the variant's: a queue node */
};

/* One batch of n operations. */
enum ref_work {
	REF_PAIRS, /* get, put */
	REF_STAT,  /* get, read the attributes, put */
	REF_MIX,   /* one in three get and put, the others a lock section */
	REF_NEAR,  /* get, put, read the neighbour */
};

/*
 * how: the variant's constant parameters; the compiler folds them.
 * get: false when the object is dead, and then there is nothing to put.
 * lock, unlock: a section of the lock that guards the object. Not inside a
 *   reference of the same thread.
 */
struct ref_calls {
	bool (*get)(const struct ref_site *site, struct ref_thread *thread, const void *how);
	void (*put)(const struct ref_site *site, struct ref_thread *thread, const void *how);
	void (*lock)(const struct ref_site *site, struct ref_thread *thread, const void *how);
	void (*unlock)(const struct ref_site *site, struct ref_thread *thread, const void *how);
	const void *how;
};

enum ref_trait {
	REF_COUNTS = 1,     /* count() tells */
	REF_DIES = 2,       /* kill() is there, and get() notices */
	REF_RWSEM = 4,      /* readers of a lock: a section waits for all references */
	REF_SWAPS = 8,      /* retries are counted */
	REF_LOCKED = 16,    /* each get and put takes the lock */
	REF_UNSEEN = 32,    /* assembly: instrumentation does not see it */
	REF_UNCOUNTED = 64, /* takes no reference at all */
	REF_STILL = 128     /* the count stands still in a lock section */
};

/*
 * bytes: size of the state, a multiple of 8 and at most 56.
 * init: state with one reference, for threads of index 0 .. threads - 1.
 *   Return: 0; -ENOMEM; -EOPNOTSUPP: not on this system.
 * fini: NULL for nothing to do.
 * enter, leave: on each thread before its first and after its last operation;
 *   NULL for nothing to do.
 * count: references now, the first one included.
 * kill: give the first reference back; at the latest when the others are given
 *   back too, no get succeeds any more.
 * run: n operations. Return: n.
 */
struct ref_variant {
	const char *mode;
	const char *about;
	unsigned int traits;
	size_t bytes;
	int (*init)(void *ref, unsigned int threads);
	void (*fini)(void *ref);
	void (*enter)(struct ref_thread *thread);
	void (*leave)(struct ref_thread *thread);
	uint64_t (*count)(const void *ref);
	void (*kill)(const struct ref_site *site, struct ref_thread *thread);
	uint64_t (*run)(enum ref_work work, const struct ref_site *site, struct ref_thread *thread,
	                uint64_t n);
	const struct ref_calls *calls;
};

/* In the order in which tables show them; the first is the library's own word. */
extern const struct ref_variant *const ref_variants[];
extern const size_t nref_variants;

const struct ref_variant *ref_variant_find(const char *mode); /* NULL: none */

/* Why a mode of the full list is not among them here; NULL when it is. */
const char *ref_variant_missing(const char *mode);

/* Loses counts on purpose: what tests of the others must catch. Not in the table. */
extern const struct ref_variant ref_broken;

/* ---- objects ---- */

enum ref_layout {
	REF_APART,  /* states, and all that is read, on lines of their own */
	REF_BESIDE, /* the neighbour is on the line of its object's state */
	REF_PACKED, /* states of different objects follow each other */
};

/* n objects of one variant. */
struct ref_set {
	const struct ref_variant *variant;
	unsigned int count;
	struct ref_site *site; /* [count] */
	void *bodies;
	void *states;
};

/*
 * threads: how many will use them, taker included.
 * Return: 0; -ENOMEM; the error of init.
 */
int ref_set_create(struct ref_set *set, const struct ref_variant *variant, unsigned int count,
                   unsigned int threads, enum ref_layout layout);
void ref_set_destroy(struct ref_set *set);

/* Return: a thread that entered; NULL: no memory. */
struct ref_thread *ref_thread_create(const struct ref_variant *variant, unsigned int index);
void ref_thread_destroy(const struct ref_variant *variant, struct ref_thread *thread);

#endif
