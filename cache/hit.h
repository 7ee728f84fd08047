/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * hit: answering from a memo; compiled into each query.
 *
 * Budget of a hit: the lines named in memo.h, two loads of the epoch, no store
 * but to the caller's own memory and the thread's counters. A query lives in
 * registers as long as it is neither copied whole nor its address given away.
 */
#ifndef PC_HIT_H
#define PC_HIT_H

#include "learn.h"

#define PC_ALWAYS_INLINE static inline __attribute__((always_inline))

/* A last step: see struct pc_query. */
typedef enum rp_status (*pc_last_fn)(struct pc_query *q);

/* The stamp that attributes must not be older than which a name, maybe, did not lead to. */
uint64_t pc_loose_gen(const struct pathcache *c, const struct rp_node *n, uint64_t gen);

/* Are the attributes of n, known at gen, newer than all that was announced by other names? */
bool pc_links_current(const struct pathcache *c, const struct rp_node *n, uint64_t gen);

/* What the call itself was told of n. Return: false: that is in memory, or nowhere. */
bool pc_told_attr(const struct pc_lookup *lk, const struct rp_node *n, struct rp_attr *attr,
                  uint32_t *flags);

/*
 * The stamp that attributes of n, which expire, must not be older than: gen, or a later
 * one. lk: the walk, or NULL; locked: without one, whether the change lock is held.
 */
uint64_t pc_leased_gen(struct pathcache *c, const struct pc_lookup *lk, const struct rp_node *n,
                       uint64_t gen, bool locked);

/* Is m, which expires, still believed, as far as time goes? locked: the change lock is held. */
bool pc_memo_lasts(struct pathcache *c, const struct rp_memo *m, bool locked);

/* May the attributes of n be read from memory? */
bool pc_keeps_attr(const struct pc_lookup *lk, const struct rp_node *n);

/* Attributes of q->node and its RP_N_*, for last steps. False: RP_NEED_ATTR. */
PC_ALWAYS_INLINE bool pc_query_attr(const struct pc_query *q, struct rp_attr *attr, uint32_t *flags)
{
	const struct rp_node *n = q->node;
	uint64_t gen = q->gen;

	if (q->lk && pc_told_attr(q->lk, n, attr, flags))
		return true;
	if (q->lk && !pc_keeps_attr(q->lk, n))
		return false;
	if (__builtin_expect(!q->named, 0))
		gen = pc_loose_gen(q->c, n, gen);
	if (__builtin_expect(!rp_node_attr_read(n, gen, attr, flags), 0)) {
		int64_t leased;

		if (!(rp_node_flags(n) & RP_N_TTL))
			return false;
		gen = pc_leased_gen(q->c, q->lk, n, gen, q->change_lock);
		leased = rp_node_attr_read_leased(n, gen, attr);
		if (leased < 0)
			return false;
		*flags = (uint32_t)leased;
	}
	return attr->nlink <= 1 || S_ISDIR(attr->mode) || pc_links_current(q->c, n, gen);
}

/* May cred search the way of m, where not everybody may? */
bool pc_memo_may_search(const struct pathcache *c, const struct rp_cred *cred,
                        const struct rp_memo *m);

/* The last step on what m remembers. Return: whether it came to an end. */
PC_ALWAYS_INLINE bool pc_memo_last(struct pc_query *q, const struct rp_memo *m, uint64_t epoch,
                                   pc_last_fn last)
{
	enum rp_status st;

	if (!rp_memo_safe(&q->c->tree, m, epoch))
		return false;
	q->named = true;
	q->gen = 0;
	if (__builtin_expect(!RP_M_PLAIN(m->bits), 0)) {
		if (m->bits & (RP_M_CRED | RP_M_CAPS) && !pc_memo_may_search(q->c, q->cred, m))
			return false;
		if (m->bits & (RP_M_TTL | RP_M_TTL_LAST) && !pc_memo_lasts(q->c, m, false))
			return false;
		if (m->bits & RP_M_ERR) {
			rp_dentry_touch(m->dentry);
			q->result = m->err;
			return true;
		}
		q->named = m->bits & RP_M_NAMED;
		q->gen = m->bits & RP_M_GEN ? m->way->gen : 0;
	}
	rp_node_touch(m->node);
	q->memo = m;
	q->node = m->node;
	st = last(q);
	return st == RP_OK || st == RP_ERR;
}

/* Answer from a memo, in a read section. Return: false, with nothing told, when none can. */
PC_ALWAYS_INLINE bool pc_memo_answer(struct pc_query *q, const struct rp_memo_key *k,
                                     pc_last_fn last)
{
	const struct rp_tree *tree = &q->c->tree;
	enum rp_memo_state state = RP_MEMO_DEAD;
	struct rp_memo *m;
	uint64_t epoch;

	/* acquire [E1]: as rp_walk_begin(). Pairs with epoch_advance(). */
	epoch = atomic_load_explicit(&tree->epoch, memory_order_acquire);
	m = rp_memo_find(rp_memos_array(&q->c->learn.memos), k);
	if (!m)
		return false;
	if (pc_memo_last(q, m, epoch, last))
		state = rp_memo_valid(tree, m);
	if (__builtin_expect(state == RP_MEMO_CHECKED, 0))
		pc_learn_checked(q->c, m, epoch);
	return state != RP_MEMO_DEAD;
}

/* May q have a memo? Then its hash is set. */
PC_ALWAYS_INLINE bool pc_query_hash(struct pc_query *q, struct rp_memo_key *k)
{
	if (q->len - RP_MEMO_PATH_MIN > RP_MEMO_PATH_MAX - RP_MEMO_PATH_MIN)
		return false;
	k->hash = rp_memo_hash(&q->c->tree.secret, k->path, k->len, k->start, k->flags);
	q->hash = k->hash;
	return true;
}

/* Return: whether q->result is the answer. k: q's key but for the hash. */
PC_ALWAYS_INLINE bool pc_memo_run(struct pc_query *q, struct rp_memo_key *k, pc_last_fn last)
{
	bool done;

	if (!pc_query_hash(q, k))
		return false;
	pc_read_begin();
	done = pc_memo_answer(q, k, last);
	pc_read_end();
	if (done) {
		pc_count_hit(pc_counts(q->c->tally), PC_MEMO_HITS, q->result);
		return true;
	}
	if (q->got)
		pc_node_put(q->c, q->got);
	if (q->got_dir)
		pc_node_put(q->c, q->got_dir);
	return false;
}

/* By memo, or else by walking; q->last is set. Return: q->result, or -errno. */
ssize_t pc_query_run(struct pc_query *q);

/* Is how but flags, and none that confine? Then the query begins at the root and is the cache's own. */
PC_ALWAYS_INLINE bool pc_how_plain(const struct pathcache_how *how)
{
	return how->size == sizeof(*how) && !how->start && !how->cred &&
	       !(how->flags & ~(PC_FLAGS_KNOWN & ~PC_CONFINED));
}

/*
 * Any query of a path, its last step a constant. out, size, amode: that one's
 * arguments; more: RP_W_*. The query stays in registers where a memo answers,
 * since only copies are handed on.
 */
PC_ALWAYS_INLINE ssize_t pc_query_path(struct pathcache *c, const char *path,
                                       const struct pathcache_how *how, uint32_t more,
                                       pc_last_fn last, void *out, size_t size, int amode)
{
	struct pc_query slow;
	uint64_t hash = 0;
	int rc;

	if (c && path && pc_learns(c) && (!how || pc_how_plain(how))) {
		uint64_t flags = (how ? how->flags : 0) | more;
		struct rp_memo_key k = {.path = path};
		struct pc_query q;

		k.flags = (uint32_t)(flags & ~PATHCACHE_CACHED);
		pc_query_clear(&q, c, path);
		q.len = k.len = strnlen(path, RP_PATH_MAX);
		q.out = out;
		q.size = size;
		q.amode = amode;
		if (pc_memo_run(&q, &k, last))
			return q.result;
		hash = q.hash;
	}
	rc = pc_query_init(&slow, c, path, how);
	if (rc)
		return rc;
	slow.flags |= more;
	slow.last = last;
	slow.out = out;
	slow.size = size;
	slow.amode = amode;
	slow.hash = hash;
	return hash ? pc_query_walk(&slow) : pc_query_run(&slow);
}

#endif
