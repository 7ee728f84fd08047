/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Queries of many paths: hits of a group go through each stage together, so that
 * the cache lines of all are on their way before the first one is needed.
 *
 *   hash, fetch the table's line - fetch memo and attributes - answer
 *
 * What no memo answers is walked one by one, after the group's read section.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "last.h"

/* Enough for all lines that a core can have under way; docs/decisions.md has the figures. */
#ifndef PC_MANY_GROUP
#define PC_MANY_GROUP 32u
#endif

/* What all paths have in common, and the answers. */
struct many {
	struct pc_query alike;
	const char *const *paths;
	struct pathcache_attr *attrs; /* NULL: none are wanted */
	int *results;
};

struct group {
	size_t n;
	struct rp_memo_key key[PC_MANY_GROUP];
	bool left[PC_MANY_GROUP]; /* to be walked */
};

static void group_fetch(struct group *g, struct pc_query *q, const char *const *paths)
{
	struct rp_memo_array *a = rp_memos_array(&q->c->learn.memos);

	for (size_t i = 0; i < g->n; i++) {
		struct rp_memo_key *k = &g->key[i];

		q->path = paths[i] ? paths[i] : "";
		q->len = strnlen(q->path, RP_PATH_MAX);
		*k = pc_query_key(q);
		k->hash = 0;
		if (pc_learns(q->c) && pc_query_hash(q, k))
			rp_memo_prefetch_line(a, k->hash);
	}
	for (size_t i = 0; i < g->n; i++)
		if (g->key[i].hash)
			rp_memo_prefetch(a, g->key[i].hash, g->key[i].len);
}

/* Answer what memos can. */
PC_ALWAYS_INLINE void group_answer(struct group *g, const struct many *many, size_t first,
                                   pc_last_fn last)
{
	uint64_t hits = 0, negative = 0;
	struct pc_counts *counts;

	for (size_t i = 0; i < g->n; i++) {
		struct pc_query q;

		pc_query_clear(&q, many->alike.c, NULL);
		q.cred = many->alike.cred;
		q.amode = many->alike.amode;
		q.out = many->attrs ? many->attrs + first + i : NULL;
		g->left[i] = !g->key[i].hash || !pc_memo_answer(&q, &g->key[i], last);
		if (g->left[i])
			continue;
		many->results[first + i] = (int)q.result;
		hits++;
		negative += q.result == -ENOENT;
	}
	counts = pc_counts(many->alike.c->tally);
	pc_count_add(counts, PC_MEMO_HITS, hits);
	pc_count_add(counts, PC_MEMO_HITS_NEGATIVE, negative);
}

static int walk_one(const struct many *many, const struct rp_memo_key *k, size_t i)
{
	struct pc_query q = many->alike;

	if (!many->paths[i])
		return -EINVAL;
	if (k->len == 0 || k->len == RP_PATH_MAX)
		return k->len ? -ENAMETOOLONG : -ENOENT;
	q.path = k->path;
	q.len = k->len;
	q.hash = k->hash;
	q.out = many->attrs ? many->attrs + i : NULL;
	return (int)pc_query_walk(&q);
}

PC_ALWAYS_INLINE int ask_many(struct many *many, size_t n, const struct pathcache_how *how,
                              struct pathcache *c, int amode, pc_last_fn last)
{
	struct group g;
	int rc;

	if (!c || (n && (!many->paths || !many->results)))
		return -EINVAL;
	rc = pc_query_init(&many->alike, c, "/", how);
	if (rc)
		return rc;
	many->alike.last = last;
	many->alike.amode = amode;
	for (size_t first = 0; first < n; first += g.n) {
		struct pc_query q = many->alike;

		g.n = n - first < PC_MANY_GROUP ? n - first : PC_MANY_GROUP;
		pc_read_begin();
		group_fetch(&g, &q, many->paths + first);
		group_answer(&g, many, first, last);
		pc_read_end();
		for (size_t i = 0; i < g.n; i++)
			if (g.left[i])
				many->results[first + i] = walk_one(many, &g.key[i], first + i);
	}
	return 0;
}

int pathcache_stat_many(struct pathcache *cache, const char *const *paths, size_t n,
                        const struct pathcache_how *how, struct pathcache_attr *attrs, int *results)
{
	struct many many = {.paths = paths, .attrs = attrs, .results = results};

	return n && !attrs ? -EINVAL : ask_many(&many, n, how, cache, 0, pc_last_stat);
}

int pathcache_access_many(struct pathcache *cache, const char *const *paths, size_t n, int amode,
                          const struct pathcache_how *how, int *results)
{
	struct many many = {.paths = paths, .results = results};

	if (amode & ~(R_OK | W_OK | X_OK))
		return -EINVAL;
	return ask_many(&many, n, how, cache, amode, pc_last_access);
}
