/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * reclaim: what was taken out of reach waits here for a grace period.
 *
 * The list is the cache's own and lives under the change lock. Who pays is
 * pathcache_maintain(), or a thread that has just filled and finds more waiting
 * than the backlog allows, outside of any read section.
 */
#ifndef PC_RECLAIM_H
#define PC_RECLAIM_H

#include "cache.h"
#include "listing.h"

static inline void pc_count_up(_Atomic(uint64_t) *n)
{
	atomic_fetch_add_explicit(n, 1, memory_order_relaxed);
}

static inline void pc_count_down(_Atomic(uint64_t) *n)
{
	atomic_fetch_sub_explicit(n, 1, memory_order_relaxed);
}

/* d is in memory, or no more but for readers. */
void pc_dentry_count(struct pathcache *c, const struct rp_dentry *d);
void pc_dentry_uncount(struct pathcache *c, const struct rp_dentry *d);

/* What d's memory is counted as. */
static inline enum pc_mem_class pc_dentry_class(const struct rp_dentry *d)
{
	if (rp_dentry_is_listing(d))
		return PC_MEM_LISTING;
	return d->node ? PC_MEM_DENTRY : PC_MEM_NEGATIVE;
}

/* Retire; nothing leads to it any more but readers' own pointers. Context: change lock. */
void pc_retire_node(struct pathcache *c, struct rp_node *n);
void pc_retire_dentry(struct pathcache *c, struct rp_dentry *d);
/* Count size bytes as retired; for what has a list of its own. */
void pc_retire_bytes(struct pathcache *c, size_t size);

/* Free a node that no reader can see. Context: no lock; the backend is told. */
void pc_node_free(struct pathcache *c, struct rp_node *n);

/* Does nothing lead to d any more? Context: change lock. */
static inline bool pc_unreachable(const struct rp_dentry *d)
{
	if (d->flags & RP_D_LOOSE)
		return d->dir && lockref_is_dead(&d->dir->ref) && !lockref_count(&d->node->ref);
	return lockref_is_dead(&d->dir->ref) || d->id < rp_dirnode_gen(d->dir);
}

/* Look at about n dentries and kill those nothing leads to. Return: how many were looked at. */
uint32_t pc_sweep(struct pathcache *c, uint32_t n);

/* Pay a grace period and free what waited for it. Context: no lock, no read section. */
void pc_reclaim(struct pathcache *c);

/*
 * pc_reclaim() where the backlog is over its limit, nobody else pays, and this thread
 * may wait; with a worker that is woken instead. Context: no lock.
 */
void pc_upkeep(struct pathcache *c);

/* For one who has left memory to be freed and pays for nothing: wake the worker. Context: no lock. */
void pc_upkeep_wake(struct pathcache *c);

/* Free everything. Context: close; nobody else uses the cache. */
void pc_store_fini(struct pathcache *c);

#endif
