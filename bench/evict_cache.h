/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The library itself, asked what the simulated policies are asked: lstat of one
 * path after the other, over a namespace where all that was found is there.
 * One thread, registered with liburcu.
 */
#ifndef BENCH_EVICT_CACHE_H
#define BENCH_EVICT_CACHE_H

#include "recorded.h"
#include "requests.h"

struct evict_cache {
	const struct requests *requests;
	struct recorded tree;      /* of a trace's paths; else empty */
	struct recorded_view view; /* of it */
	uint64_t empty;            /* bytes of a cache that was asked nothing, once measured */
};

/*
 * queries, hits: those that the requests say are to be counted.
 * bytes: at the end. uncached: answers that were not kept.
 */
struct evict_cache_result {
	uint64_t queries, hits;
	uint64_t budget, bytes;
	uint64_t dentries, memos;
	uint64_t uncached;
};

/* The namespace of the requests, which outlive it. Return: 0; -errno. */
int evict_cache_init(struct evict_cache *space, const struct requests *requests);
void evict_cache_fini(struct evict_cache *space);

/*
 * What a cache takes that has kept all answers, with memos of paths asked twice;
 * beyond what it takes when it is empty. It is asked what the trace asks, or
 * where there is none for the first count objects, twice each.
 * Return: 0; -errno.
 */
int evict_cache_footprint(struct evict_cache *space, uint32_t count, uint64_t *bytes);

/*
 * Play all requests on a cache that begins empty; after evict_cache_footprint().
 * bytes: its budget, beyond what it takes when it is empty.
 * Return: 0; -errno.
 */
int evict_cache_play(struct evict_cache *space, uint64_t bytes, struct evict_cache_result *result);

#endif
