/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the policies are made of: slots for objects, queues of slots, marks, two
 * kinds of ghost. Memory comes zeroed from policy_alloc() and goes with the policy.
 */
#ifndef BENCH_POLICY_H
#define BENCH_POLICY_H

#include "policies.h"

enum {
	POLICY_NONE = UINT32_MAX,
	POLICY_ARRAYS = 16,
};

enum { POLICY_SMALL, POLICY_MAIN };

struct policy_queue {
	uint32_t newest, oldest, count;
};

struct policy {
	const struct policy_kind *kind;
	const struct requests *requests;
	size_t at; /* index of the request under way */
	uint64_t seed;
	uint64_t steps, evictions;
	uint32_t capacity, used;

	uint32_t *slot_of; /* object -> slot + 1, or 0 */
	uint32_t *object;  /* slot -> object */
	uint8_t *mark;     /* slot: hits, as far as they are counted */
	uint8_t *state;    /* slot: the policy's own */

	struct policy_queue queues[2];
	uint32_t *newer, *older; /* slot -> slot */

	uint32_t hands[2];
	uint32_t probation; /* entries that are on it */
	uint16_t *prints;
	uint32_t nprints;

	uint32_t *stamp_of; /* object -> when it was evicted, or 0 */
	uint32_t stamp;

	uint32_t *next_use; /* request -> the next one for its object */
	uint32_t *heap;     /* slots; the one that is used last comes first */
	uint32_t *place;    /* slot -> where in the heap */
	uint32_t *use;      /* slot -> its object's next use */

	void *arrays[POLICY_ARRAYS];
	size_t narrays;
};

void *policy_alloc(struct policy *policy, size_t n, size_t size);

static inline uint32_t policy_find(const struct policy *p, uint32_t object)
{
	return p->slot_of[object] - 1;
}

static inline bool policy_full(const struct policy *p)
{
	return p->used == p->capacity;
}

static inline void policy_empty(struct policy *p, uint32_t slot)
{
	p->slot_of[p->object[slot]] = 0;
	p->evictions++;
}

static inline void policy_place(struct policy *p, uint32_t slot, uint32_t object)
{
	p->object[slot] = object;
	p->slot_of[object] = slot + 1;
	p->mark[slot] = 0;
}

static inline void policy_touch(struct policy *p, uint32_t slot)
{
	if (p->mark[slot] < p->kind->tuning.mark_max)
		p->mark[slot]++;
}

bool policy_optimum_init(struct policy *p);
bool policy_optimum_request(struct policy *p, uint32_t object);

bool policy_list_init(struct policy *p);
bool policy_lru_request(struct policy *p, uint32_t object);
bool policy_sieve_init(struct policy *p);
bool policy_sieve_request(struct policy *p, uint32_t object);
bool policy_stamps_init(struct policy *p);
bool policy_twoq_request(struct policy *p, uint32_t object);
bool policy_s3_request(struct policy *p, uint32_t object);

bool policy_clock_init(struct policy *p);
bool policy_clock_request(struct policy *p, uint32_t object);
bool policy_hands_init(struct policy *p);
bool policy_hands_request(struct policy *p, uint32_t object);

#endif
