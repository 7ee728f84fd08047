/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Policies that keep entries in queues. */
#include "policy.h"

/* ---- queues of slots ---- */

static void take(struct policy *p, struct policy_queue *q, uint32_t slot)
{
	uint32_t newer = p->newer[slot], older = p->older[slot];

	*(newer == POLICY_NONE ? &q->newest : &p->older[newer]) = older;
	*(older == POLICY_NONE ? &q->oldest : &p->newer[older]) = newer;
	q->count--;
}

static void append(struct policy *p, struct policy_queue *q, uint32_t slot)
{
	p->newer[slot] = POLICY_NONE;
	p->older[slot] = q->newest;
	*(q->newest == POLICY_NONE ? &q->oldest : &p->newer[q->newest]) = slot;
	q->newest = slot;
	q->count++;
}

static uint32_t take_oldest(struct policy *p, struct policy_queue *q)
{
	uint32_t slot = q->oldest;

	take(p, q, slot);
	p->steps++;
	return slot;
}

bool policy_list_init(struct policy *p)
{
	p->newer = policy_alloc(p, p->capacity, sizeof(*p->newer));
	p->older = policy_alloc(p, p->capacity, sizeof(*p->older));
	for (int i = 0; i < 2; i++)
		p->queues[i] = (struct policy_queue){POLICY_NONE, POLICY_NONE, 0};
	return p->newer && p->older;
}

/* ---- LRU ---- */

bool policy_lru_request(struct policy *p, uint32_t object)
{
	struct policy_queue *q = &p->queues[0];
	uint32_t slot = policy_find(p, object);
	bool hit = slot != POLICY_NONE;

	if (hit) {
		take(p, q, slot);
	} else {
		if (policy_full(p)) {
			slot = take_oldest(p, q);
			policy_empty(p, slot);
		} else {
			slot = p->used++;
		}
		policy_place(p, slot, object);
	}
	append(p, q, slot);
	return hit;
}

/* ---- SIEVE: Zhang and others, NSDI '24 ---- */

bool policy_sieve_init(struct policy *p)
{
	p->hands[0] = POLICY_NONE;
	return policy_list_init(p);
}

static uint32_t sieve_evict(struct policy *p)
{
	struct policy_queue *q = &p->queues[0];
	uint32_t slot = p->hands[0];

	for (;; slot = p->newer[slot]) {
		if (slot == POLICY_NONE)
			slot = q->oldest;
		p->steps++;
		if (!p->mark[slot])
			break;
		p->mark[slot] = 0;
	}
	p->hands[0] = p->newer[slot];
	take(p, q, slot);
	policy_empty(p, slot);
	return slot;
}

bool policy_sieve_request(struct policy *p, uint32_t object)
{
	uint32_t slot = policy_find(p, object);

	if (slot != POLICY_NONE) {
		policy_touch(p, slot);
		return true;
	}
	slot = policy_full(p) ? sieve_evict(p) : p->used++;
	policy_place(p, slot, object);
	append(p, &p->queues[0], slot);
	return false;
}

/* ---- a ghost that remembers objects exactly, the last n of them ---- */

bool policy_stamps_init(struct policy *p)
{
	p->stamp_of = policy_alloc(p, p->requests->objects, sizeof(*p->stamp_of));
	return p->stamp_of && policy_list_init(p);
}

static void remember(struct policy *p, uint32_t slot)
{
	p->stamp_of[p->object[slot]] = ++p->stamp;
}

static bool recall(struct policy *p, uint32_t object, uint32_t n)
{
	uint32_t stamp = p->stamp_of[object];

	p->stamp_of[object] = 0;
	return stamp && p->stamp - stamp < n;
}

static void enter(struct policy *p, uint32_t slot, uint32_t object, uint32_t ghost)
{
	policy_place(p, slot, object);
	p->state[slot] = recall(p, object, ghost) ? POLICY_MAIN : POLICY_SMALL;
	append(p, &p->queues[p->state[slot]], slot);
}

/* ---- 2Q: Johnson and Shasha, VLDB '94, the full version ---- */

static uint32_t twoq_evict(struct policy *p)
{
	struct policy_queue *in = &p->queues[POLICY_SMALL], *main = &p->queues[POLICY_MAIN];
	bool from_in = in->count > p->capacity / 4 || !main->count;
	uint32_t slot = take_oldest(p, from_in ? in : main);

	if (from_in)
		remember(p, slot);
	policy_empty(p, slot);
	return slot;
}

bool policy_twoq_request(struct policy *p, uint32_t object)
{
	struct policy_queue *main = &p->queues[POLICY_MAIN];
	uint32_t slot = policy_find(p, object);

	if (slot == POLICY_NONE) {
		slot = policy_full(p) ? twoq_evict(p) : p->used++;
		enter(p, slot, object, p->capacity / 2);
		return false;
	}
	if (p->state[slot] == POLICY_MAIN) {
		take(p, main, slot);
		append(p, main, slot);
	}
	return true;
}

/* ---- S3-FIFO: Yang and others, SOSP '23, algorithm 1 ---- */

static uint32_t s3_evict_main(struct policy *p)
{
	struct policy_queue *main = &p->queues[POLICY_MAIN];
	uint32_t slot;

	while (p->mark[slot = take_oldest(p, main)]) {
		p->mark[slot]--;
		append(p, main, slot);
	}
	return slot;
}

static uint32_t s3_evict_small(struct policy *p)
{
	struct policy_queue *small = &p->queues[POLICY_SMALL];

	while (small->count) {
		uint32_t slot = take_oldest(p, small);

		if (p->mark[slot] < p->kind->tuning.promote_at) {
			remember(p, slot);
			return slot;
		}
		p->mark[slot] = 0;
		p->state[slot] = POLICY_MAIN;
		append(p, &p->queues[POLICY_MAIN], slot);
	}
	return s3_evict_main(p);
}

static uint32_t s3_evict(struct policy *p)
{
	uint64_t share = (uint64_t)p->capacity * p->kind->tuning.share / 100;
	uint32_t slot;

	if (p->queues[POLICY_SMALL].count > share || !p->queues[POLICY_MAIN].count)
		slot = s3_evict_small(p);
	else
		slot = s3_evict_main(p);
	policy_empty(p, slot);
	return slot;
}

bool policy_s3_request(struct policy *p, uint32_t object)
{
	uint32_t slot = policy_find(p, object);

	if (slot != POLICY_NONE) {
		policy_touch(p, slot);
		return true;
	}
	slot = policy_full(p) ? s3_evict(p) : p->used++;
	enter(p, slot, object, p->capacity - p->capacity / 10);
	return false;
}
