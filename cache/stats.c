/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Statistics: threads' counters summed, and sizes as they stand.
 */
#include <errno.h>
#include <string.h>

#include "evict.h"

static uint64_t load(const _Atomic(uint64_t) *n)
{
	return atomic_load_explicit(n, memory_order_relaxed);
}

static void take_counters(struct pathcache_stats *s, const uint64_t n[PC_COUNTERS])
{
	s->memo_hits = n[PC_MEMO_HITS];
	s->walk_hits = n[PC_HITS];
	s->negative_hits = n[PC_MEMO_HITS_NEGATIVE] + n[PC_HITS_NEGATIVE];
	s->lookups = n[PC_LOOKUPS] + s->memo_hits;
	s->hits = s->walk_hits + s->memo_hits;
	s->retries = n[PC_RETRIES];
	s->locked_walks = n[PC_LOCKED_WALKS];
	s->misses = n[PC_MISSES];
	s->fills = n[PC_FILLS];
	s->coalesced = n[PC_COALESCED];
	s->gave_up = n[PC_GAVE_UP];
	s->stale_fills = n[PC_STALE_FILLS];
	s->uncached = n[PC_UNCACHED];
	s->backend_calls = n[PC_BACKEND_CALLS];
	s->backend_errors = n[PC_BACKEND_ERRORS];
	s->passthrough = n[PC_PASSTHROUGH];
	s->asked_access = n[PC_ASKED_ACCESS];
	s->invalidations = n[PC_INVALIDATIONS];
	s->grace_periods = n[PC_GRACE_PERIODS];
	s->memo_stamps = n[PC_MEMO_STAMPS];
	s->declined = n[PC_DECLINED];
	s->asked_start = n[PC_ASKED_START];
	s->asked_parent = n[PC_ASKED_PARENT];
	s->asked_text = n[PC_ASKED_TEXT];
	s->asked_attr = n[PC_ASKED_ATTR];
	s->asked_search = n[PC_ASKED_SEARCH];
	s->asked_last = n[PC_ASKED_LAST];
	s->asked_path = n[PC_ASKED_PATH];
	s->evicted = n[PC_EVICTED];
	s->evicted_negative = n[PC_EVICTED_NEGATIVE];
	s->evict_effort = n[PC_EVICT_EFFORT];
	s->evict_held = n[PC_EVICT_HELD];
	s->over_budget = n[PC_OVER_BUDGET];
	/* A put may have been summed whose get, in another thread, was not yet. */
	s->held = n[PC_GETS] > n[PC_PUTS] ? n[PC_GETS] - n[PC_PUTS] : 0;
}

static void take_bytes(struct pathcache_stats *s, const struct pc_mem *mem)
{
	s->dentry_bytes = pc_mem_bytes_of(mem, PC_MEM_DENTRY);
	s->negative_bytes = pc_mem_bytes_of(mem, PC_MEM_NEGATIVE);
	s->node_bytes = pc_mem_bytes_of(mem, PC_MEM_NODE);
	s->listing_bytes = pc_mem_bytes_of(mem, PC_MEM_LISTING);
	s->memo_bytes = pc_mem_bytes_of(mem, PC_MEM_MEMO);
	s->table_bytes = pc_mem_bytes_of(mem, PC_MEM_TABLE);
	s->other_bytes = pc_mem_bytes_of(mem, PC_MEM_OTHER);
	/* Not counted apart, so that the parts make up the whole. */
	s->bytes = s->dentry_bytes + s->negative_bytes + s->node_bytes + s->listing_bytes +
	           s->memo_bytes + s->table_bytes + s->other_bytes;
}

static void take_all(struct pathcache_stats *s, struct pathcache *c)
{
	uint64_t n[PC_COUNTERS];

	memset(s, 0, sizeof(*s));
	pc_tally_sum(c->tally, n);
	take_counters(s, n);
	take_bytes(s, c->mem);
	s->budget = pc_budget(c);
	s->memos = load(&c->learn.memos.count);
	s->dentries = load(&c->ndentries);
	s->negatives = load(&c->nnegatives);
	s->nodes = load(&c->nnodes);
	s->deferred_bytes = load(&c->deferred);
	s->dirfds = pc_dirfds_count(c);
}

int pathcache_get_stats(struct pathcache *cache, struct pathcache_stats *stats)
{
	struct pathcache_stats s;
	size_t size;

	if (!cache || !stats || stats->size < sizeof(size_t))
		return -EINVAL;
	take_all(&s, cache);
	size = stats->size;
	memset(stats, 0, size);
	memcpy(stats, &s, size < sizeof(s) ? size : sizeof(s));
	stats->size = size;
	return 0;
}
