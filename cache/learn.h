/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * learn: which walks are remembered, and in what memory.
 *
 * A walk is remembered after a lookup that was a pure hit: so what is asked
 * once only never is, and what the backend was asked has been asked again since.
 * Memos take their share of the budget and no more; when it is used up, or a
 * set is full of living ones, a newcomer takes another's place for a token, of
 * which its thread gets one with each miss. Nobody waits for the memo lock: who
 * does not get it goes without.
 *
 * Hits by memos store nothing shared but an epoch, in what was checked by its
 * slots, and that only once the thread has checked so many within one epoch
 * that changes must be rare. While changes storm nobody stores anything, and
 * while nothing changes neither, once all is learned and stamped.
 */
#ifndef PC_LEARN_H
#define PC_LEARN_H

#include "lookup.h"

#define PC_STAMP_WAY 256u    /* checks within one epoch before ways are stamped */
#define PC_STAMP_MEMO 16384u /* ... and before memos are */

/* Are memos kept? */
static inline bool pc_learns(const struct pathcache *c)
{
	return atomic_load_explicit(&c->learn.share, memory_order_relaxed) != 0;
}

/* Memos in their share of o's budget. */
void pc_learn_init(struct pathcache *c, const struct pathcache_options *o);

/* Their share of the budget, which has changed. What is over it goes by pc_learn_trim(). */
void pc_learn_limit(struct pathcache *c);

/*
 * Retire what is over the share, and dead memos; at most about n are looked at.
 * Return: whether there is more. Context: no lock.
 */
bool pc_learn_trim(struct pathcache *c, uint32_t n);

/* Retire all memos. Context: no lock. */
void pc_learn_clear(struct pathcache *c);

/* Free the tables, all memos being gone. */
void pc_learn_fini(struct pathcache *c);

/*
 * Is the walk of lk, a hit that has just been found valid, to be remembered?
 * st: what ended it. Context: the read section of the walk, as its node is looked at.
 */
bool pc_learn_wants(const struct pc_lookup *lk, enum rp_status st);

/* Remember it. Context: no lock, no read section; does not block. */
void pc_learn(struct pc_lookup *lk, enum rp_status st);

/* The calling thread's lookup asked the backend: a token. */
void pc_learn_missed(struct pathcache *c);

/* Does so much of the share wait for a grace period that no room is made any more? */
bool pc_learn_waits(const struct pathcache *c);

/* m was found valid by its slots after epoch was loaded. Context: the same read section. */
void pc_learn_checked(struct pathcache *c, struct rp_memo *m, uint64_t epoch);

/* Free what pc_retired has of memos. */
void pc_learn_free(struct pathcache *c, struct pc_retired *r);

#endif
