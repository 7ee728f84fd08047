/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "watch.h"

#include <errno.h>
#include <string.h>

#include "evict.h"
#include "reclaim.h"
#include "store.h"

#define BUCKETS_MIN 64u
#define BUCKETS_MAX 16384u
#define BUDGET_SHARE 64u /* of the budget, for the two arrays of buckets */

int pc_watches_init(struct pathcache *c, uint32_t max)
{
	struct pc_watches *w = &c->events.watches;
	uint32_t n = BUCKETS_MIN;

	while (n < BUCKETS_MAX && n * 4 < max &&
	       n * 4 * sizeof(*w->by_key) <= pc_budget(c) / BUDGET_SHARE)
		n *= 2;
	w->by_key = pc_alloc(c->mem, PC_MEM_OTHER, n * sizeof(*w->by_key));
	w->by_node = pc_alloc(c->mem, PC_MEM_OTHER, n * sizeof(*w->by_node));
	w->mask = n - 1;
	w->max = max;
	return w->by_key && w->by_node ? 0 : -ENOMEM;
}

void pc_watches_fini(struct pathcache *c)
{
	struct pc_watches *w = &c->events.watches;
	size_t size = ((size_t)w->mask + 1) * sizeof(*w->by_key);

	if (w->by_key && w->by_node)
		while (pc_watches_clear(c, UINT32_MAX))
			;
	pc_free(c->mem, PC_MEM_OTHER, w->by_key, size);
	pc_free(c->mem, PC_MEM_OTHER, w->by_node, size);
}

static uint32_t key_hash(const struct pc_key *key)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (uint32_t i = 0; i < key->len; i++)
		h = (h ^ key->bytes[i]) * UINT64_C(0x100000001b3);
	return (uint32_t)(h ^ h >> 32);
}

static struct pc_watch **node_bucket(const struct pc_watches *w, const struct rp_node *node)
{
	return &w->by_node[(uint32_t)(node->id * UINT64_C(0x9e3779b97f4a7c15) >> 32) & w->mask];
}

static bool has_key(const struct pc_watch *w, const struct pc_key *key, uint32_t hash)
{
	return w->hash == hash && w->len == key->len && memcmp(w->key, key->bytes, w->len) == 0;
}

/* One of key and state; NULL. */
static struct pc_watch *key_find(const struct pc_watches *w, const struct pc_key *key,
                                 uint32_t hash, enum pc_watch_state state)
{
	struct pc_watch *i = w->by_key[hash & w->mask];

	while (i && !(i->state == state && has_key(i, key, hash)))
		i = i->by_key;
	return i;
}

static void chain_remove(struct pc_watch **at, struct pc_watch *w, size_t link)
{
	while (*at != w)
		at = (struct pc_watch **)(void *)((char *)*at + link);
	*at = *(struct pc_watch **)(void *)((char *)w + link);
}

static void node_unlink(struct pc_watches *t, struct pc_watch *w)
{
	chain_remove(node_bucket(t, w->node), w, offsetof(struct pc_watch, by_node));
	w->node = NULL;
}

static void orphan_unlink(struct pc_watches *t, struct pc_watch *w)
{
	chain_remove(&t->orphans, w, offsetof(struct pc_watch, by_node));
	pc_count_down(&t->norphans);
}

static void watch_free(struct pathcache *c, struct pc_watch *w)
{
	struct pc_watches *t = &c->events.watches;

	chain_remove(&t->by_key[w->hash & t->mask], w, offsetof(struct pc_watch, by_key));
	pc_free(c->mem, PC_MEM_OTHER, w, sizeof(*w) + w->len);
}

static struct pc_watch *watch_make(struct pathcache *c, const struct pc_key *key, uint32_t hash)
{
	struct pc_watches *t = &c->events.watches;
	struct pc_watch *w = pc_alloc(c->mem, PC_MEM_OTHER, sizeof(*w) + key->len);

	if (!w)
		return NULL;
	w->hash = hash;
	w->len = key->len;
	memcpy(w->key, key->bytes, key->len);
	w->by_key = t->by_key[hash & t->mask];
	t->by_key[hash & t->mask] = w;
	return w;
}

/* Answers asked for before now are not those of a watched directory, or of one that is not. */
static void told_changes(struct pathcache *c, struct rp_node *node)
{
	rp_dirnode(node)->names_stamp = rp_tree_stamp(&c->tree);
}

int pc_watch_add(struct pathcache *c, struct rp_node *node, const struct pc_key *key)
{
	struct pc_watches *t = &c->events.watches;
	uint32_t hash = key_hash(key);
	struct pc_watch *w, **bucket = node_bucket(t, node);

	if (rp_node_flags(node) & RP_N_WATCHED)
		return 0;
	if (rp_node_flags(node) & RP_N_PRIVATE)
		return -ESTALE;
	w = key_find(t, key, hash, PC_WATCH_ORPHAN);
	if (w) {
		orphan_unlink(t, w);
	} else {
		if (atomic_load_explicit(&t->n, memory_order_relaxed) >= t->max ||
		    !pc_evict_room(c, pc_mem_cost(c->mem, sizeof(*w) + key->len)))
			return -ENOSPC;
		w = watch_make(c, key, hash);
		if (!w)
			return -ENOMEM;
		pc_count_up(&t->n);
	}
	w->state = PC_WATCH_LIVE;
	w->node = node;
	w->by_node = *bucket;
	*bucket = w;
	atomic_fetch_or_explicit(&node->flags, RP_N_WATCHED, memory_order_relaxed);
	told_changes(c, node);
	return 0;
}

static void orphan_make(struct pathcache *c, struct pc_watch *w)
{
	struct pc_watches *t = &c->events.watches;

	w->state = PC_WATCH_ORPHAN;
	w->node = NULL;
	w->by_node = t->orphans;
	t->orphans = w;
	pc_count_up(&t->norphans);
}

void pc_watch_unused(struct pathcache *c, const struct pc_key *key)
{
	struct pc_watches *t = &c->events.watches;
	uint32_t hash = key_hash(key);
	struct pc_watch *w;

	if (!c->events.source.ops->disarm || key_find(t, key, hash, PC_WATCH_LIVE) ||
	    key_find(t, key, hash, PC_WATCH_ORPHAN))
		return;
	/* Without memory the kernel tells of it for nothing until the source is closed. */
	w = watch_make(c, key, hash);
	if (!w)
		return;
	pc_count_up(&t->n);
	orphan_make(c, w);
}

struct pc_watch *pc_watch_next(struct pc_watches *t, const struct pc_key *key, uint64_t round)
{
	uint32_t hash = key_hash(key);
	struct pc_watch *w = t->by_key[hash & t->mask];

	while (w && !(w->state == PC_WATCH_LIVE && w->round != round && has_key(w, key, hash)))
		w = w->by_key;
	if (w)
		w->round = round;
	return w;
}

struct pc_watch *pc_watch_like(const struct pc_watches *t, const void *prefix, uint32_t len)
{
	for (uint32_t i = 0; i <= t->mask; i++)
		for (struct pc_watch *w = t->by_node[i]; w; w = w->by_node)
			if (w->len > len && memcmp(w->key, prefix, len) == 0)
				return w;
	return NULL;
}

static struct pc_key key_of(const struct pc_watch *w)
{
	struct pc_key key = {.len = w->len};

	memcpy(key.bytes, w->key, w->len);
	return key;
}

void pc_watch_drop(struct pathcache *c, struct pc_watch *w, bool closing)
{
	struct pc_watches *t = &c->events.watches;
	const struct pc_key key = key_of(w);
	struct rp_node *node = w->node;

	node_unlink(t, w);
	atomic_fetch_and_explicit(&node->flags, ~RP_N_WATCHED, memory_order_relaxed);
	told_changes(c, node);
	pc_count_down(&t->n);
	/* One end is to come for all that share the key. */
	if (closing && c->events.source.ops->disarm &&
	    !key_find(t, &key, w->hash, PC_WATCH_CLOSING))
		w->state = PC_WATCH_CLOSING;
	else
		watch_free(c, w);
}

bool pc_watch_ended(struct pathcache *c, const struct pc_key *key)
{
	struct pc_watches *t = &c->events.watches;
	uint32_t hash = key_hash(key);
	struct pc_watch *w = key_find(t, key, hash, PC_WATCH_CLOSING);
	bool expected = w != NULL;

	if (!w) {
		w = key_find(t, key, hash, PC_WATCH_ORPHAN);
		if (!w)
			return false;
		orphan_unlink(t, w);
		pc_count_down(&t->n);
	}
	watch_free(c, w);
	return expected;
}

void pc_watch_forget(struct pathcache *c, const struct rp_node *node)
{
	struct pc_watches *t = &c->events.watches;
	struct pc_watch *w = *node_bucket(t, node);
	struct pc_key key;

	while (w && w->node != node)
		w = w->by_node;
	if (!w)
		return;
	node_unlink(t, w);
	key = key_of(w);
	w->state = PC_WATCH_ORPHAN;
	if (!c->events.source.ops->disarm || key_find(t, &key, w->hash, PC_WATCH_LIVE)) {
		pc_count_down(&t->n);
		watch_free(c, w);
		return;
	}
	orphan_make(c, w);
}

bool pc_watch_take_orphan(struct pathcache *c, struct pc_key *key)
{
	struct pc_watches *t = &c->events.watches;
	struct pc_watch *w = t->orphans;

	if (!w)
		return false;
	orphan_unlink(t, w);
	pc_count_down(&t->n);
	*key = key_of(w);
	w->state = PC_WATCH_CLOSING;
	return true;
}

static void watch_clear(struct pathcache *c, struct pc_watch *w)
{
	struct pc_watches *t = &c->events.watches;

	if (w->state == PC_WATCH_LIVE) {
		pc_watch_drop(c, w, false);
		return;
	}
	if (w->state == PC_WATCH_ORPHAN) {
		orphan_unlink(t, w);
		pc_count_down(&t->n);
	}
	watch_free(c, w);
}

bool pc_watches_clear(struct pathcache *c, uint32_t n)
{
	struct pc_watches *t = &c->events.watches;

	for (uint32_t i = 0; i <= t->mask; i++)
		while (t->by_key[i]) {
			if (!n--)
				return true;
			watch_clear(c, t->by_key[i]);
		}
	return false;
}
