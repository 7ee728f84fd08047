/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Policies that keep entries where they are and send hands round them. The slot
 * of a victim is the newcomer's, so a newcomer is just behind the hand.
 */
#include "policy.h"

static uint32_t step(struct policy *p, int hand)
{
	uint32_t slot = p->hands[hand];

	p->hands[hand] = slot + 1 == p->capacity ? 0 : slot + 1;
	p->steps++;
	return slot;
}

/* ---- FIFO, where hits are not marked, and CLOCK ---- */

bool policy_clock_init(struct policy *p)
{
	(void)p;
	return true;
}

static uint32_t clock_evict(struct policy *p)
{
	uint32_t slot;

	while (p->mark[slot = step(p, 0)])
		p->mark[slot]--;
	policy_empty(p, slot);
	return slot;
}

bool policy_clock_request(struct policy *p, uint32_t object)
{
	uint32_t slot = policy_find(p, object);

	if (slot != POLICY_NONE) {
		policy_touch(p, slot);
		return true;
	}
	slot = policy_full(p) ? clock_evict(p) : p->used++;
	policy_place(p, slot, object);
	return false;
}

/* ---- a ghost of fingerprints; a print takes the place of any other there ---- */

static uint64_t hash_of(const struct policy *p, uint32_t object)
{
	uint64_t x = (object ^ p->seed) + UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

static uint16_t *place_of(struct policy *p, uint64_t hash)
{
	return &p->prints[((hash >> 32) * p->nprints) >> 32];
}

/* Never 0, which is no print. */
static uint16_t print_of(uint64_t hash)
{
	return (uint16_t)hash ? (uint16_t)hash : 1;
}

static void leave_print(struct policy *p, uint32_t object)
{
	uint64_t hash = hash_of(p, object);

	if (p->nprints)
		*place_of(p, hash) = print_of(hash);
}

static bool take_print(struct policy *p, uint32_t object)
{
	uint64_t hash = hash_of(p, object);

	if (!p->nprints || *place_of(p, hash) != print_of(hash))
		return false;
	*place_of(p, hash) = 0;
	return true;
}

/* ---- S3-FIFO by two hands ---- */

enum {
	PROTECTED = 1, /* else on probation */
	LEVEL = 2,     /* one level of a protected entry */
};

bool policy_hands_init(struct policy *p)
{
	p->nprints = (uint32_t)((uint64_t)p->capacity * p->kind->tuning.ghost / 100);
	p->prints = policy_alloc(p, p->nprints, sizeof(*p->prints));
	return p->prints;
}

static bool fails_probation(struct policy *p, uint32_t slot)
{
	p->probation--;
	if (p->mark[slot] < p->kind->tuning.promote_at) {
		leave_print(p, p->object[slot]);
		return true;
	}
	p->mark[slot] = 0;
	p->state[slot] = PROTECTED;
	return false;
}

static bool loses_protection(struct policy *p, uint32_t slot)
{
	uint32_t level = p->state[slot] / LEVEL;

	if (p->mark[slot]) {
		p->mark[slot]--;
		if (level < p->kind->tuning.level_max)
			p->state[slot] += LEVEL;
		return false;
	}
	if (level)
		p->state[slot] -= LEVEL;
	return !level;
}

/* Which hand moves is asked anew at each step: a promotion may bring probation to its share. */
static uint32_t hands_evict(struct policy *p)
{
	uint64_t share = (uint64_t)p->capacity * p->kind->tuning.share / 100;

	for (;;) {
		bool probation = p->probation > share || p->probation == p->capacity;
		uint32_t slot = step(p, probation ? POLICY_SMALL : POLICY_MAIN);

		if (probation == (p->state[slot] & PROTECTED))
			continue;
		if (probation ? fails_probation(p, slot) : loses_protection(p, slot)) {
			policy_empty(p, slot);
			return slot;
		}
	}
}

bool policy_hands_request(struct policy *p, uint32_t object)
{
	uint32_t slot = policy_find(p, object);

	if (slot != POLICY_NONE) {
		policy_touch(p, slot);
		return true;
	}
	slot = policy_full(p) ? hands_evict(p) : p->used++;
	policy_place(p, slot, object);
	p->state[slot] = take_print(p, object) ? PROTECTED : 0;
	p->probation += !p->state[slot];
	return false;
}
