/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * L. A. Belady, A study of replacement algorithms for a virtual-storage
 * computer, IBM Systems Journal 5(2), 1966.
 */
#include "policy.h"

bool policy_optimum_init(struct policy *p)
{
	const struct requests *requests = p->requests;
	uint32_t *soonest = policy_alloc(p, requests->objects, sizeof(*soonest));

	p->next_use = policy_alloc(p, requests->count, sizeof(*p->next_use));
	p->heap = policy_alloc(p, p->capacity, sizeof(*p->heap));
	p->place = policy_alloc(p, p->capacity, sizeof(*p->place));
	p->use = policy_alloc(p, p->capacity, sizeof(*p->use));
	if (!soonest || !p->next_use || !p->heap || !p->place || !p->use)
		return false;
	for (uint32_t i = 0; i < requests->objects; i++)
		soonest[i] = UINT32_MAX;
	for (size_t i = requests->count; i-- > 0;) {
		p->next_use[i] = soonest[requests->object[i]];
		soonest[requests->object[i]] = (uint32_t)i;
	}
	return true;
}

static void heap_set(struct policy *p, uint32_t place, uint32_t slot)
{
	p->heap[place] = slot;
	p->place[slot] = place;
}

static void heap_rise(struct policy *p, uint32_t slot)
{
	uint32_t place = p->place[slot];

	while (place && p->use[p->heap[(place - 1) / 2]] < p->use[slot]) {
		heap_set(p, place, p->heap[(place - 1) / 2]);
		place = (place - 1) / 2;
	}
	heap_set(p, place, slot);
}

static void heap_sink(struct policy *p, uint32_t slot)
{
	uint32_t place = p->place[slot], child;

	while ((child = 2 * place + 1) < p->used) {
		if (child + 1 < p->used && p->use[p->heap[child + 1]] > p->use[p->heap[child]])
			child++;
		if (p->use[p->heap[child]] <= p->use[slot])
			break;
		heap_set(p, place, p->heap[child]);
		place = child;
	}
	heap_set(p, place, slot);
}

static void replace_first(struct policy *p, uint32_t object)
{
	uint32_t slot = p->heap[0];

	policy_empty(p, slot);
	policy_place(p, slot, object);
	p->use[slot] = p->next_use[p->at];
	heap_sink(p, slot);
}

bool policy_optimum_request(struct policy *p, uint32_t object)
{
	uint32_t slot = policy_find(p, object);
	bool hit = slot != POLICY_NONE;

	if (!hit && policy_full(p)) {
		replace_first(p, object);
		return false;
	}
	if (!hit) {
		slot = p->used++;
		policy_place(p, slot, object);
		heap_set(p, slot, slot);
	}
	/* Later than it was, so it cannot sink. */
	p->use[slot] = p->next_use[p->at];
	heap_rise(p, slot);
	return hit;
}
