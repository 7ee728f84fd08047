/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Statistics: threads' counters summed, and sizes as they stand.
 */
#include <errno.h>
#include <string.h>

#include "cache.h"

static uint64_t load(const _Atomic(uint64_t) *n)
{
	return atomic_load_explicit(n, memory_order_relaxed);
}

int pathcache_get_stats(struct pathcache *cache, struct pathcache_stats *stats)
{
	struct pathcache_stats s = {.size = sizeof(s)};
	uint64_t n[PC_COUNTERS];
	size_t size;

	if (!cache || !stats || stats->size < sizeof(size_t))
		return -EINVAL;
	pc_tally_sum(cache->tally, n);
	s.lookups = n[PC_LOOKUPS] + n[PC_MEMO_HITS];
	s.hits = n[PC_HITS] + n[PC_MEMO_HITS];
	s.retries = n[PC_RETRIES];
	s.locked_walks = n[PC_LOCKED_WALKS];
	s.misses = n[PC_MISSES];
	s.fills = n[PC_FILLS];
	s.coalesced = n[PC_COALESCED];
	s.gave_up = n[PC_GAVE_UP];
	s.stale_fills = n[PC_STALE_FILLS];
	s.uncached = n[PC_UNCACHED];
	s.backend_calls = n[PC_BACKEND_CALLS];
	s.backend_errors = n[PC_BACKEND_ERRORS];
	s.passthrough = n[PC_PASSTHROUGH];
	s.asked_access = n[PC_ASKED_ACCESS];
	s.invalidations = n[PC_INVALIDATIONS];
	s.grace_periods = n[PC_GRACE_PERIODS];
	s.memo_hits = n[PC_MEMO_HITS];
	s.memo_stamps = n[PC_MEMO_STAMPS];
	s.memos = load(&cache->learn.memos.count);
	s.memo_bytes = pc_mem_bytes_of(cache->mem, PC_MEM_MEMO);
	s.dentries = load(&cache->ndentries);
	s.negatives = load(&cache->nnegatives);
	s.nodes = load(&cache->nnodes);
	s.bytes = pc_mem_bytes(cache->mem);
	s.deferred_bytes = load(&cache->deferred);
	s.dirfds = pc_dirfds_count(cache);
	size = stats->size;
	memset(stats, 0, size);
	memcpy(stats, &s, size < sizeof(s) ? size : sizeof(s));
	stats->size = size;
	return 0;
}
