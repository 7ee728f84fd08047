/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "reclaim.h"

#include <string.h>

#include "evict.h"
#include "learn.h"
#include "store.h"

static uint64_t dentry_cost(const struct pathcache *c, const struct rp_dentry *d)
{
	return pc_mem_cost(c->mem, rp_dentry_bytes(d));
}

void pc_dentry_count(struct pathcache *c, const struct rp_dentry *d)
{
	if (rp_dentry_is_listing(d)) {
		pc_count_up(&c->tree.nlistings);
		return;
	}
	pc_count_up(&c->ndentries);
	if (d->node)
		return;
	pc_count_up(&c->nnegatives);
	atomic_fetch_add_explicit(&c->negative_bytes, dentry_cost(c, d), memory_order_relaxed);
}

void pc_dentry_uncount(struct pathcache *c, const struct rp_dentry *d)
{
	if (rp_dentry_is_listing(d)) {
		pc_count_down(&c->tree.nlistings);
		return;
	}
	pc_count_down(&c->ndentries);
	if (d->node)
		return;
	pc_count_down(&c->nnegatives);
	atomic_fetch_sub_explicit(&c->negative_bytes, dentry_cost(c, d), memory_order_relaxed);
}

/* ---- retiring ----------------------------------------------------------- */

void pc_retire_bytes(struct pathcache *c, size_t size)
{
	size_t cost = pc_mem_cost(c->mem, size);

	c->retired.bytes += cost;
	atomic_fetch_add_explicit(&c->deferred, cost, memory_order_relaxed);
}

void pc_retire_node(struct pathcache *c, struct rp_node *n)
{
	const struct rp_text *text = rp_node_text(n);

	atomic_store_explicit(&n->ident.next[0], (struct rp_hlink *)c->retired.nodes,
	                      memory_order_relaxed);
	c->retired.nodes = n;
	pc_retire_bytes(c, rp_node_size(n->type));
	if (text)
		pc_retire_bytes(c, sizeof(*text) + text->len);
	pc_count_down(&c->nnodes);
}

void pc_retire_dentry(struct pathcache *c, struct rp_dentry *d)
{
	while (d) {
		struct rp_node *dir = d->slot == RP_SLOT_NONE ? NULL : d->dir;

		d->next = c->retired.dentries;
		c->retired.dentries = d;
		pc_retire_bytes(c, rp_dentry_bytes(d));
		pc_dentry_uncount(c, d);
		d = NULL;
		if (!dir || --rp_dirnode(dir)->nchild)
			continue;
		/*
		 * Not merely dead: whoever killed it may not have come to bury it
		 * yet, and will find no child then.
		 */
		if (rp_node_flags(dir) & RP_N_BURIED) {
			d = rp_tree_take_hint(dir);
			pc_retire_node(c, dir);
		} else {
			pc_evict_emptied(c, dir);
		}
	}
}

void pc_node_free(struct pathcache *c, struct rp_node *n)
{
	struct rp_text *text = rp_node_text(n);

	if (n->handle && c->backend->release)
		c->backend->release(c, n->object_id, n->object_gen, n->handle);
	if (text)
		pc_free(c->mem, PC_MEM_NODE, text, sizeof(*text) + text->len);
	pc_free(c->mem, PC_MEM_NODE, n, rp_node_size(n->type));
}

/* ---- the sweep ---------------------------------------------------------- */

/* Is another binding known where d, loose, was last seen? Then it will hardly be found there. */
static bool is_replaced(const struct pathcache *c, const struct rp_dentry *d)
{
	return d->flags & RP_D_LOOSE && d->len && !lockref_count(&d->node->ref) &&
	       rp_tree_find(&c->tree, d->dir, d->name, d->len);
}

uint32_t pc_sweep(struct pathcache *c, uint32_t n)
{
	const struct rp_slots *slots = &c->tree.slots;
	struct pc_sweep *s = &c->sweep;
	uint32_t seen = 0;
	bool any = false;

	if (!s->running) {
		if (!s->needed)
			return 0;
		s->needed = false;
		s->running = true;
		s->slot = 1;
	}
	for (; seen < n && s->slot < rp_slots_end(slots); seen++, s->slot++) {
		struct rp_dentry *d = rp_owner_dentry(*rp_slot_owner(slots, s->slot));

		if (!d || !(pc_unreachable(d) || is_replaced(c, d)))
			continue;
		pc_forget(c, d);
		any = true;
	}
	if (any)
		rp_tree_forgot(&c->tree);
	s->running = s->slot < rp_slots_end(slots);
	return seen;
}

/* ---- grace periods ------------------------------------------------------ */

static void retired_free(struct pathcache *c, struct pc_retired *r)
{
	while (r->dentries) {
		struct rp_dentry *d = r->dentries;

		r->dentries = d->next;
		pc_free(c->mem, pc_dentry_class(d), d, rp_dentry_bytes(d));
	}
	while (r->nodes) {
		struct rp_node *n = r->nodes;

		r->nodes = (struct rp_node *)atomic_load_explicit(&n->ident.next[0],
		                                                  memory_order_relaxed);
		pc_node_free(c, n);
	}
	for (int i = 0; i < 2; i++)
		if (r->buckets[i])
			pc_free(c->mem, PC_MEM_TABLE, r->buckets[i],
			        rp_buckets_size(r->buckets[i]->mask + 1));
	pc_learn_free(c, r);
	atomic_fetch_sub_explicit(&c->deferred, r->bytes, memory_order_relaxed);
}

void pc_reclaim(struct pathcache *c)
{
	struct pc_retired r;
	int cancel;

	pthread_mutex_lock(&c->lock);
	r = c->retired;
	memset(&c->retired, 0, sizeof(c->retired));
	pthread_mutex_unlock(&c->lock);
	if (!r.bytes)
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pc_rcu_synchronize();
	pthread_setcancelstate(cancel, NULL);
	pc_count(c, PC_GRACE_PERIODS);
	pthread_mutex_lock(&c->lock);
	if (r.buckets[0])
		rp_table_settled(&c->tree.dentries);
	if (r.buckets[1])
		rp_table_settled(&c->objects);
	atomic_store_explicit(&c->crowded, false, memory_order_relaxed);
	pthread_mutex_unlock(&c->lock);
	retired_free(c, &r);
}

/* Does more than backlog bytes wait, or something for a grace period? */
static bool reclaim_is_due(const struct pathcache *c, uint64_t backlog)
{
	return atomic_load_explicit(&c->deferred, memory_order_relaxed) > backlog ||
	       atomic_load_explicit(&c->crowded, memory_order_relaxed) || pc_learn_waits(c);
}

void pc_upkeep_wake(struct pathcache *c)
{
	/* So early that the backlog is not filled before it is done. */
	if (c->worker.running &&
	    reclaim_is_due(c, atomic_load_explicit(&c->clock.backlog, memory_order_relaxed) / 2))
		pc_worker_wake(&c->worker);
}

void pc_upkeep(struct pathcache *c)
{
	uint64_t backlog = atomic_load_explicit(&c->clock.backlog, memory_order_relaxed);

	if (c->worker.running) {
		pc_upkeep_wake(c);
		return;
	}
	if (!reclaim_is_due(c, backlog) || !pc_rcu_may_wait())
		return;
	if (atomic_exchange_explicit(&c->reclaiming, 1, memory_order_relaxed))
		return;
	pc_reclaim(c);
	atomic_store_explicit(&c->reclaiming, 0, memory_order_relaxed);
}

void pc_store_fini(struct pathcache *c)
{
	const struct rp_buckets *b = rp_table_buckets(&c->tree.dentries);
	struct rp_dentry *d;

	pthread_mutex_lock(&c->lock);
	for (uint32_t i = 0; i <= b->mask; i++)
		for (struct rp_hlink *l; (l = rp_table_first(b, i)) != NULL;)
			pc_kill(c, rp_dentry_of(l));
	/* Loose ones are in no table. */
	for (uint32_t slot = 1; slot < rp_slots_end(&c->tree.slots); slot++) {
		d = rp_owner_dentry(*rp_slot_owner(&c->tree.slots, slot));
		if (d)
			pc_kill(c, d);
	}
	pthread_mutex_unlock(&c->lock);
	pc_node_put(c, c->tree.root);
	pc_learn_clear(c);
	pc_reclaim(c);
}
