/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Eviction policies, simulated for objects of one size. Which object goes is
 * all there is to them: no memory, no threads.
 */
#ifndef BENCH_POLICIES_H
#define BENCH_POLICIES_H

#include "requests.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct policy;

/*
 * What variants of one policy differ in; 0 where it has no such thing.
 * share: percent of the capacity that entries on probation may take.
 * mark_max: hits that an entry's mark counts up to; 1 for a bit.
 * promote_at: a mark of this height ends probation.
 * level_max: passes of the hand that an entry outlives without a hit, one for
 *   each that it was found used.
 * ghost: victims remembered, in percent of the capacity.
 */
struct policy_tuning {
	uint32_t share;
	uint32_t mark_max;
	uint32_t promote_at;
	uint32_t level_max;
	uint32_t ghost;
};

/*
 * init: Return: false without memory.
 * request: an object is asked for, and is there afterwards.
 *   Return: whether it was before.
 */
struct policy_kind {
	const char *name;
	const char *what;
	bool (*init)(struct policy *policy);
	bool (*request)(struct policy *policy, uint32_t object);
	struct policy_tuning tuning;
};

extern const struct policy_kind policy_kinds[];
extern const size_t policy_nkinds;

/* queries, hits: of those that the requests say are to be counted. */
struct policy_result {
	uint64_t queries;
	uint64_t hits;
	double steps; /* entries a hand looked at, for each eviction */
};

/*
 * Play all requests on a cache that begins empty.
 * capacity: objects, at least 1. seed: of the ghost's hash.
 * Return: 0; -ENOMEM.
 */
int policy_play(const struct policy_kind *kind, const struct requests *requests, uint32_t capacity,
                uint64_t seed, struct policy_result *result);

#endif
