/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "table.h"

#include <string.h>

/* Buckets moved with each insertion: a growth from n ends before 2n entries. */
#define TABLE_STEP 8u

void rp_table_init(struct rp_table *t, struct rp_buckets *array, uint32_t n, uint32_t load,
                   uint32_t (*hash)(const struct rp_hlink *link))
{
	memset(t, 0, sizeof(*t));
	array->mask = n - 1;
	array->set = 0;
	t->settled = true;
	t->load = load;
	t->hash = hash;
	atomic_store_explicit(&t->cur, array, memory_order_relaxed);
}

static struct rp_buckets *table_cur(const struct rp_table *t)
{
	return atomic_load_explicit(&t->cur, memory_order_relaxed);
}

static bool is_full(const struct rp_table *t)
{
	return t->count >= ((size_t)table_cur(t)->mask + 1) * t->load;
}

static void chain_add(struct rp_buckets *b, struct rp_hlink *link, uint32_t hash)
{
	_Atomic(struct rp_hlink *) *head = &b->head[hash & b->mask];

	atomic_store_explicit(&link->next[b->set], atomic_load_explicit(head, memory_order_relaxed),
	                      memory_order_relaxed);
	/* release [T1]: publishes the entry. Pairs with rp_table_first(), rp_table_next(). */
	atomic_store_explicit(head, link, memory_order_release);
}

static void chain_del(struct rp_buckets *b, struct rp_hlink *link, uint32_t hash)
{
	_Atomic(struct rp_hlink *) *at = &b->head[hash & b->mask];
	struct rp_hlink *l;

	while ((l = atomic_load_explicit(at, memory_order_relaxed)) != link)
		at = &l->next[b->set];
	/*
	 * release [T1]: the successor was published to this thread's past under
	 * the lock, but a reader that gets it from here must see it whole.
	 */
	atomic_store_explicit(at, atomic_load_explicit(&link->next[b->set], memory_order_relaxed),
	                      memory_order_release);
}

static bool in_next(const struct rp_table *t, uint32_t hash)
{
	return t->next && (hash & table_cur(t)->mask) < t->cursor;
}

static void table_switch(struct rp_table *t)
{
	t->old = table_cur(t);
	t->settled = false;
	/* release [T2]: publishes all chains of the new array. Pairs with rp_table_buckets(). */
	atomic_store_explicit(&t->cur, t->next, memory_order_release);
	t->next = NULL;
}

static void table_migrate(struct rp_table *t)
{
	struct rp_buckets *cur = table_cur(t);

	for (unsigned i = 0; i < TABLE_STEP && t->cursor <= cur->mask; i++, t->cursor++) {
		struct rp_hlink *l =
			atomic_load_explicit(&cur->head[t->cursor], memory_order_relaxed);

		for (; l; l = atomic_load_explicit(&l->next[cur->set], memory_order_relaxed))
			chain_add(t->next, l, t->hash(l));
	}
	if (t->cursor > cur->mask)
		table_switch(t);
}

void rp_table_insert(struct rp_table *t, struct rp_hlink *link, uint32_t hash)
{
	if (in_next(t, hash))
		chain_add(t->next, link, hash);
	chain_add(table_cur(t), link, hash);
	t->count++;
	if (t->next)
		table_migrate(t);
}

void rp_table_remove(struct rp_table *t, struct rp_hlink *link, uint32_t hash)
{
	if (in_next(t, hash))
		chain_del(t->next, link, hash);
	chain_del(table_cur(t), link, hash);
	t->count--;
}

bool rp_table_crowded(const struct rp_table *t)
{
	return !t->settled && !t->next && is_full(t);
}

uint32_t rp_table_want(const struct rp_table *t)
{
	uint32_t n = table_cur(t)->mask + 1;

	if (t->next || t->old || !t->settled || !is_full(t) || n > UINT32_MAX / 4)
		return 0;
	return n * 2;
}

void rp_table_grow(struct rp_table *t, struct rp_buckets *array, uint32_t n)
{
	array->mask = n - 1;
	array->set = !table_cur(t)->set;
	t->next = array;
	t->cursor = 0;
}

struct rp_buckets *rp_table_old(struct rp_table *t)
{
	struct rp_buckets *old = t->old;

	t->old = NULL;
	return old;
}

void rp_table_settled(struct rp_table *t)
{
	t->settled = true;
}
