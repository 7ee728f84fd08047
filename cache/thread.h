/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * thread: what the library knows of a thread: its registration with liburcu
 * and its counters of each cache, so that counting stores nothing shared.
 *
 * Registered on first use, cleaned up by a key's destructor at thread exit.
 * The key outlives the last cache (the library is linked -z nodelete), since
 * threads that once looked something up may still be running.
 */
#ifndef PC_THREAD_H
#define PC_THREAD_H

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#include "rcu.h"

struct pathcache;

enum pc_counter {
	PC_LOOKUPS,
	PC_HITS,
	PC_HITS_NEGATIVE, /* of PC_HITS, and behind it: pc_count_hit() */
	PC_RETRIES,
	PC_LOCKED_WALKS,
	PC_MISSES,
	PC_FILLS,
	PC_COALESCED,
	PC_GAVE_UP,
	PC_STALE_FILLS,
	PC_UNCACHED,
	PC_BACKEND_CALLS,
	PC_BACKEND_ERRORS,
	PC_PASSTHROUGH,
	PC_ASKED_ACCESS,
	PC_INVALIDATIONS,
	PC_GRACE_PERIODS,
	PC_MEMO_HITS,
	PC_MEMO_HITS_NEGATIVE, /* likewise */
	PC_MEMO_STAMPS,
	PC_DECLINED,
	PC_ASKED_START,
	PC_ASKED_PARENT,
	PC_ASKED_TEXT,
	PC_ASKED_ATTR,
	PC_ASKED_SEARCH,
	PC_ASKED_LAST,
	PC_ASKED_PATH,
	PC_EVICTED,
	PC_EVICTED_NEGATIVE,
	PC_EVICT_EFFORT,
	PC_EVICT_HELD,
	PC_OVER_BUDGET,
	PC_GETS,
	PC_PUTS,
	PC_LISTINGS,
	PC_LISTINGS_ENDED,
	PC_LISTED_HITS,
	PC_EVENTS,
	PC_EVENTS_APPLIED,
	PC_EVENTS_OVERFLOWS,
	PC_WATCH_LIMITS,
	PC_WATCH_FAILURES,
	PC_ANNOUNCED,
	PC_EXPIRED,
	PC_REVALIDATED,
	PC_STALE_SERVED,
	PC_COUNTERS
};

/* One thread's counters of one cache. Written by the thread, summed by any. */
struct pc_counts {
	struct pathcache *cache;          /* registry lock; NULL: closed */
	uint64_t serial;                  /* const; the cache's */
	struct pc_counts *next_cache;     /* registry lock */
	struct pc_counts *next_thread;    /* owning thread */
	_Atomic(uint64_t) n[PC_COUNTERS]; /* atomic, one writer */
	_Atomic(uint64_t) checks_epoch;   /* atomic, one writer; see pc_learn_checked() */
	_Atomic(uint32_t) checks;         /* atomic, one writer */
	_Atomic(uint32_t) tokens;         /* atomic, one writer; see pc_learn_missed() */
};

struct pc_thread {
	uint64_t serial;          /* of the cache that counts belongs to */
	struct pc_counts *counts; /* or a shared one when memory ran out */
	struct pc_counts *all;
	bool ours;        /* registered by this library */
	bool was_offline; /* before the outermost section, QSBR */
	int cancel;       /* the caller's cancel state, while the library's is off */
	unsigned depth;   /* of sections, QSBR */
	unsigned pins;    /* pathcache_thread_register() calls */
	unsigned telling; /* listeners it is in; see listen.c */
};

extern __thread struct pc_thread pc_thread __attribute__((tls_model("initial-exec")));

/* What a cache keeps for its threads. Its memory is never the cache's arena. */
struct pc_tally {
	uint64_t serial;        /* const; never reused */
	struct pc_counts *list; /* registry lock */
	struct pc_counts gone;  /* registry lock; of threads that ended, and without memory */
};

void pc_tally_init(struct pc_tally *t, struct pathcache *c);
void pc_tally_fini(struct pc_tally *t);
void pc_tally_sum(struct pc_tally *t, uint64_t sum[PC_COUNTERS]);

/* c's tally; cache.c knows where it is. */
struct pc_tally *pc_cache_tally(struct pathcache *c);

void pc_thread_register_slow(void);
struct pc_counts *pc_thread_counts_slow(struct pc_tally *t);
/* The registry lock, for a test's door. */
pthread_mutex_t *pc_thread_registry(void);

static inline struct pc_counts *pc_counts(struct pc_tally *t)
{
	if (__builtin_expect(pc_thread.serial == t->serial, 1))
		return pc_thread.counts;
	return pc_thread_counts_slow(t);
}

static inline void pc_count_add(struct pc_counts *counts, enum pc_counter i, uint64_t more)
{
	/* One writer, so no atomic addition: a load and a store. */
	uint64_t n = atomic_load_explicit(&counts->n[i], memory_order_relaxed);

	atomic_store_explicit(&counts->n[i], n + more, memory_order_relaxed);
}

static inline void pc_count_in(struct pc_counts *counts, enum pc_counter i)
{
	pc_count_add(counts, i, 1);
}

/* An answer from memory; kind: PC_HITS or PC_MEMO_HITS. */
static inline void pc_count_hit(struct pc_counts *counts, enum pc_counter kind, ssize_t result)
{
	pc_count_in(counts, kind);
	if (__builtin_expect(result == -ENOENT, 0))
		pc_count_in(counts, (enum pc_counter)(kind + 1));
}

#if PC_FLAVOUR_QSBR
/* Online from the outermost section's begin to its end; who was offline is so again. */
static inline void pc_section_enter(void)
{
	if (pc_thread.depth++ == 0) {
		pc_thread.was_offline = pc_rcu_may_wait();
		if (pc_thread.was_offline)
			pc_rcu_online();
	}
}

static inline void pc_section_leave(void)
{
	if (--pc_thread.depth == 0 && pc_thread.was_offline)
		pc_rcu_offline();
}
#else
static inline void pc_section_enter(void)
{
}

static inline void pc_section_leave(void)
{
}
#endif

/* Begin and end a read section of the library; they nest. */
static inline void pc_read_begin(void)
{
	if (__builtin_expect(!pc_rcu_registered(), 0))
		pc_thread_register_slow();
	pc_section_enter();
	pc_rcu_read_lock();
}

static inline void pc_read_end(void)
{
	pc_rcu_read_unlock();
	pc_section_leave();
}

#endif
