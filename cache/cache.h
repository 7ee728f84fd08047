/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * cache: what an open cache is made of, and the locks over it.
 *
 * Locks, in the order they are taken; none is held over a backend call, and
 * none while waiting for a grace period:
 *
 *   1. worker.lock   a step of upkeep; taken at close         worker.c
 *   2. mounts.lock   the table of mounts                      mounts.c
 *   3. events.drain  reading events until they are applied    events.c
 *   4. events.arm    watches of the kernel                    events.c
 *   5. flights.lock  who asks the backend for what            flight.c
 *   6. learn.lock    memos; never waited for by a query       learn.c
 *   7. lock          the change lock: tree, objects,          store.c
 *                    retired memory
 *   8. dirfds.lock   descriptors of directories               dirfd.c
 *   9. registry      threads' counters                        thread.c
 *
 * One change lock for all: a rename, an exchange, a move seen behind our back
 * are one critical section of well under a microsecond, next to a backend call
 * of more than one; docs/decisions.md has the figures.
 */
#ifndef PC_CACHE_H
#define PC_CACHE_H

#include <pthread.h>

#include "age.h"
#include "backend.h"
#include "dirfd.h"
#include "events.h"
#include "expiry.h"
#include "flight.h"
#include "loop.h"
#include "mem.h"
#include "memo.h"
#include "mounts.h"
#include "pathcache.h"
#include "thread.h"
#include "walk.h"
#include "worker.h"

/* What waits for a grace period. */
struct pc_retired {
	struct rp_dentry *dentries;        /* by next */
	struct rp_node *nodes;             /* by ident.next[0] */
	struct rp_buckets *buckets[2];     /* replaced arrays of the two tables */
	struct rp_memo *memos;             /* by id */
	struct rp_way *ways;               /* by next */
	struct rp_memo_array *memo_arrays; /* by next */
	uint64_t bytes;
};

/* Where the sweep for entries nothing leads to stands. */
struct pc_sweep {
	uint32_t slot;
	bool needed; /* something to find since the last full pass began */
	bool running;
};

/* The bound of the memory; see evict.h. */
struct pc_clock {
	_Atomic(uint64_t) budget;         /* atomic; bytes in all */
	_Atomic(uint64_t) limit;          /* atomic; bytes alive */
	_Atomic(uint64_t) backlog;        /* atomic; bytes that may wait for a grace period */
	_Atomic(uint64_t) negative_limit; /* atomic; bytes of absent names */
	uint64_t base;                    /* const after open; bytes of an empty cache */
	uint64_t backlog_wanted;          /* const */
	uint32_t negative_share;          /* const; percent of the budget */
	uint32_t negatives_per_dir;       /* const */
	uint64_t slack;                   /* change lock; bytes to evict at once */
	uint32_t hand[RP_OWNER_CLASSES];  /* change lock; slots */
	uint32_t rest, rest_left;         /* change lock; see is_resting() */
	uint32_t flip, flipped;           /* change lock; see rest_set() */
	bool looked, moved; /* change lock; by this call: at any, a mark was taken off */
	bool forced;        /* change lock; marks count for nothing in this call */
	uint64_t passed;    /* change lock; slots the hands have passed */
	uint64_t vain;      /* change lock; of them, without any; see pc_evict_shrink() */
	uint16_t *ghosts;   /* change lock; fingerprints of what has gone */
	uint32_t nghosts;   /* change lock; a power of two, or 0 */
};

/* Memos and their memory. */
struct pc_learn {
	_Atomic(uint64_t) share; /* atomic; bytes, 0: no memos */
	uint32_t percent;        /* const; the share of the budget */
	struct rp_memos memos;
	pthread_mutex_t lock;
	uint64_t swept;            /* lock; epoch when the last search for dead ones began */
	uint32_t sweep_set;        /* lock; where it is */
	bool sweeping;             /* lock */
	_Atomic(uint64_t) retired; /* atomic; bytes of theirs that wait for a grace period */
};

struct pathcache {
	struct rp_tree tree;
	struct pc_learn learn;
	/* const after open */
	enum rp_mode mode;
	enum pathcache_coherence coherence;
	bool strict;
	pathcache_change_fn listener; /* NULL: nobody listens */
	void *listener_arg;
	struct pc_tally *tally;
	struct rp_cred self;
	uint32_t *self_groups; /* what self borrows */
	uint32_t wait_ms;
	uint64_t complete_max;
	struct pc_mem *mem;
	void *unaligned; /* what pc_alloc() returned for this struct */
	const struct pc_backend *backend;
	void *backend_data;
	/* written by changes */
	alignas(64) pthread_mutex_t lock;
	struct rp_table objects;   /* change lock; nodes by identity */
	struct pc_retired retired; /* change lock */
	struct pc_sweep sweep;     /* change lock */
	struct pc_clock clock;
	struct pc_ages ages;              /* change lock */
	struct pc_expiry expiry;          /* change lock */
	bool noticed;                     /* change lock; see pc_attr_put() */
	_Atomic(uint64_t) inval_stamp;    /* atomic; last invalidation of any kind */
	_Atomic(uint64_t) deferred;       /* atomic; bytes retired and not yet freed */
	_Atomic(uint64_t) ndentries;      /* atomic */
	_Atomic(uint64_t) nnegatives;     /* atomic */
	_Atomic(uint64_t) negative_bytes; /* atomic; theirs */
	_Atomic(uint64_t) nnodes;         /* atomic */
	_Atomic(uint64_t) nprivate;       /* atomic; nodes that live in no table */
	_Atomic(uint32_t) reclaiming;     /* atomic; a thread pays the grace period */
	_Atomic(bool) crowded;            /* atomic; a table waits for one to grow */
	struct pc_flights flights;
	struct pc_dirfds dirfds;
	struct pc_loop loop;
	struct pc_mounts mounts;
	struct pc_worker worker;
	struct pc_events events;
};

/*
 * Copy a struct that starts with its size, from a caller of another version: what
 * it lacks stays as it is in to, what is beyond must be zero. Return: 0; -EINVAL; -E2BIG.
 */
int pc_versioned_copy(void *to, size_t to_size, const void *from);

/*
 * A round of upkeep, n objects to look at; may wait for a grace period. Return:
 * whether there is more. Context: as pathcache_maintain().
 */
bool pc_upkeep_step(struct pathcache *c, uint32_t n);

static inline void pc_count(struct pathcache *c, enum pc_counter i)
{
	pc_count_in(pc_counts(c->tally), i);
}

static inline struct rp_node *pc_node(struct pathcache_entry *e)
{
	return (struct rp_node *)(void *)e;
}

static inline struct pathcache_entry *pc_entry(struct rp_node *n)
{
	return (struct pathcache_entry *)(void *)n;
}

#endif
