/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * evict: the hard bound of the memory, and what goes to keep it.
 *
 * Two hands go round the slots, one for dentries on probation and one for those
 * that are protected; two more for absent names alone, which have a share and a
 * limit for each directory. A newcomer is on probation. Where the hand finds that a hit has left
 * its mark, the dentry is protected; else it goes, and leaves a fingerprint: who
 * comes back before that is overwritten is protected at once. Protected ones go
 * when those on probation are few and no hit came since the hand passed last
 * (S3-FIFO, Yang et al., SOSP '23, on slots in place of queues, with one bit that
 * hits set only where it is clear). docs/decisions.md has it beside others.
 *
 * Directories go after their last child, held objects never. What is looked at in
 * one call is limited: where nothing can go, answers are not kept.
 *
 *   budget  >= all that is allocated
 *   limit   >= what is alive: the rest is for what waits for a grace period
 *
 * Context of all: change lock, unless they say otherwise.
 */
#ifndef PC_EVICT_H
#define PC_EVICT_H

#include "cache.h"

/* Take over options: budget, backlog, shares. Context: open. */
void pc_evict_init(struct pathcache *c, const struct pathcache_options *o);
void pc_evict_fini(struct pathcache *c);

/* What is allocated now is no name's: shares are of the rest. Context: open. */
void pc_evict_settle(struct pathcache *c);

/* Change the budget. Context: any; nothing is evicted yet. */
void pc_evict_limit(struct pathcache *c, uint64_t budget);

static inline uint64_t pc_budget(const struct pathcache *c)
{
	return atomic_load_explicit(&c->clock.budget, memory_order_relaxed);
}

/* What there is for names, memos and listings: the budget less what an empty cache takes. */
static inline uint64_t pc_budget_own(const struct pathcache *c)
{
	uint64_t budget = pc_budget(c);

	return budget > c->clock.base ? budget - c->clock.base : 0;
}

/* May size more bytes be taken? Makes room for them, or begins to. */
bool pc_evict_room(struct pathcache *c, size_t size);

/* The same for an absent name in dir, which has limits of its own. */
bool pc_evict_room_negative(struct pathcache *c, const struct rp_node *dir, size_t size);

/* Would pc_evict_room() grant size without anything going? Context: any. */
bool pc_evict_fits(const struct pathcache *c, size_t size);

/* Was d, just published, evicted not long ago? Then it is protected. */
void pc_evict_recall(struct pathcache *c, const struct rp_dentry *d);

/*
 * dir has lost its last child, for which alone it was protected maybe: it is on
 * probation again.
 */
void pc_evict_emptied(struct pathcache *c, const struct rp_node *dir);

/* Evict towards the limit, or begin to. Return: whether another call may do more. */
bool pc_evict_step(struct pathcache *c);

/*
 * The same where the budget has become smaller, by one who pays the grace period.
 * all: whatever is not needed, slots in turn, so that nothing is left that keeps a
 * page from going back to the system. Return: as pc_evict_step().
 */
bool pc_evict_shrink(struct pathcache *c, bool all);

/* Is more than twice the limit alive? */
bool pc_evict_far_over(const struct pathcache *c);

/* What a test may leave out; a negative control. */
#if PC_TESTING
#define PC_EVICT_OMIT_EPOCH 1u /* memos and walks are told that names have gone */
extern _Atomic(uint32_t) pc_evict_test_omit;
#define PC_EVICT_OMITTED(what) \
	(atomic_load_explicit(&pc_evict_test_omit, memory_order_relaxed) & (what))
#else
#define PC_EVICT_OMITTED(what) false
#endif

#endif
