/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * table: hash chains that readers walk under RCU while one writer changes them.
 *
 * An entry embeds a struct rp_hlink with two sets of links. The current bucket
 * array uses one set; a larger array is filled through the other, a few buckets
 * with each insertion, and then replaces the current one. Readers never see a
 * chain under construction, nobody stops, and no entry is copied.
 *
 *            find            insert, remove, grow
 *  find       -              RCU: memory of entries and of arrays is freed after
 *                            a grace period; T1, T2 in docs/memory-model.md
 *  insert...                 one at a time: the tree's change lock
 *
 * Progress: find is wait-free in the length of the chain. The next growth may
 * not begin before readers of the last array are gone: rp_table_settled().
 * Arrays come from above: rp_table_want(), rp_table_grow(), rp_table_old().
 */
#ifndef RP_TABLE_H
#define RP_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_hlink {
	_Atomic(struct rp_hlink *) next[2]; /* atomic; [set of the array] */
};

struct rp_buckets {
	uint32_t mask; /* const after publish */
	uint32_t set;  /* const after publish */
	_Atomic(struct rp_hlink *) head[];
};

struct rp_table {
	_Atomic(struct rp_buckets *) cur; /* atomic */
	struct rp_buckets *next;          /* change lock; array being filled, or NULL */
	struct rp_buckets *old;           /* change lock; replaced array, to be retired */
	uint32_t cursor;                  /* change lock; buckets below are in next too */
	bool settled;                     /* change lock; no reader is left in a replaced array */
	size_t count;                     /* change lock; entries */
	uint32_t load;                    /* const; entries a bucket before it grows */
	uint32_t (*hash)(const struct rp_hlink *link); /* const */
};

static inline size_t rp_buckets_size(uint32_t n)
{
	return sizeof(struct rp_buckets) + (size_t)n * sizeof(_Atomic(struct rp_hlink *));
}

static inline struct rp_buckets *rp_table_buckets(const struct rp_table *t)
{
	/* acquire [T2]: the array's heads. Pairs with table_switch(). */
	return atomic_load_explicit(&t->cur, memory_order_acquire);
}

static inline struct rp_hlink *rp_table_first(const struct rp_buckets *b, uint32_t hash)
{
	/* acquire [T1]: the entry's fields. Pairs with chain_add(). */
	return atomic_load_explicit(&b->head[hash & b->mask], memory_order_acquire);
}

static inline struct rp_hlink *rp_table_next(const struct rp_buckets *b, const struct rp_hlink *l)
{
	/* acquire [T1]: as rp_table_first(). */
	return atomic_load_explicit(&l->next[b->set], memory_order_acquire);
}

/* array: zeroed, rp_buckets_size(n) bytes, n a power of two. load: entries a bucket, at least 1. */
void rp_table_init(struct rp_table *t, struct rp_buckets *array, uint32_t n, uint32_t load,
                   uint32_t (*hash)(const struct rp_hlink *link));

void rp_table_insert(struct rp_table *t, struct rp_hlink *link, uint32_t hash);
void rp_table_remove(struct rp_table *t, struct rp_hlink *link, uint32_t hash);

/* Is it full, and only readers of a replaced array hold growth up? */
bool rp_table_crowded(const struct rp_table *t);

/* Buckets of the array that rp_table_grow() should get now, or 0. */
uint32_t rp_table_want(const struct rp_table *t);

/* Begin to grow into array, zeroed, of n buckets. */
void rp_table_grow(struct rp_table *t, struct rp_buckets *array, uint32_t n);

/* The replaced array, once: to be freed after a grace period; then call settled. */
struct rp_buckets *rp_table_old(struct rp_table *t);
void rp_table_settled(struct rp_table *t);

#endif
