/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policies.h"

#include "policy.h"

#include <errno.h>
#include <stdlib.h>

const struct policy_kind policy_kinds[] = {
	{"opt",
         "the one used last of all goes; needs to know the future (Belady 1966)",
         policy_optimum_init,
         policy_optimum_request,
         {0}},
	{"lru", "least recently used", policy_list_init, policy_lru_request, {0}},
	{"fifo", "first in, first out", policy_clock_init, policy_clock_request, {0}},
	{"clock", "one hand, one bit", policy_clock_init, policy_clock_request, {.mark_max = 1}},
	{"sieve", "SIEVE (NSDI '24)", policy_sieve_init, policy_sieve_request, {.mark_max = 1}},
	{"2q", "2Q, Kin 25 %, Kout 50 % (VLDB '94)", policy_stamps_init, policy_twoq_request, {0}},
	{"s3fifo",
         "S3-FIFO as published (SOSP '23)",
         policy_stamps_init,
         policy_s3_request,
         {.share = 10, .mark_max = 3, .promote_at = 2}},
	{"s3fifo-1bit",
         "S3-FIFO with marks of one bit",
         policy_stamps_init,
         policy_s3_request,
         {.share = 10, .mark_max = 1, .promote_at = 1}},
	{"pc20",
         "two hands over one array of slots, probation 20 %, one bit, a ghost of 16-bit prints",
         policy_hands_init,
         policy_hands_request,
         {20, 1, 1, 0, 100}},
	{"pc5", "... probation 5 %", policy_hands_init, policy_hands_request, {5, 1, 1, 0, 100}},
	{"pc10", "... probation 10 %", policy_hands_init, policy_hands_request, {10, 1, 1, 0, 100}},
	{"pc30", "... probation 30 %", policy_hands_init, policy_hands_request, {30, 1, 1, 0, 100}},
	{"pc20-level",
         "... and a bit that the hand sets where it clears a mark",
         policy_hands_init,
         policy_hands_request,
         {20, 1, 1, 1, 100}},
	{"pc20-2bit",
         "... marks of two bits",
         policy_hands_init,
         policy_hands_request,
         {20, 3, 1, 0, 100}},
	{"pc20-noghost", "... no ghost", policy_hands_init, policy_hands_request, {20, 1, 1, 0, 0}},
	{"pc20-ghost2",
         "... a ghost of twice the capacity",
         policy_hands_init,
         policy_hands_request,
         {20, 1, 1, 0, 200}},
};

const size_t policy_nkinds = sizeof(policy_kinds) / sizeof(*policy_kinds);

void *policy_alloc(struct policy *p, size_t n, size_t size)
{
	void *array = p->narrays < POLICY_ARRAYS ? calloc(n ? n : 1, size) : NULL;

	if (array)
		p->arrays[p->narrays++] = array;
	return array;
}

static bool policy_init(struct policy *p)
{
	p->slot_of = policy_alloc(p, p->requests->objects, sizeof(*p->slot_of));
	p->object = policy_alloc(p, p->capacity, sizeof(*p->object));
	p->mark = policy_alloc(p, p->capacity, sizeof(*p->mark));
	p->state = policy_alloc(p, p->capacity, sizeof(*p->state));
	return p->slot_of && p->object && p->mark && p->state && p->kind->init(p);
}

static void policy_fini(struct policy *p)
{
	for (size_t i = 0; i < p->narrays; i++)
		free(p->arrays[i]);
}

int policy_play(const struct policy_kind *kind, const struct requests *requests, uint32_t capacity,
                uint64_t seed, struct policy_result *result)
{
	struct policy p = {
		.kind = kind,
		.requests = requests,
		.seed = seed,
		.capacity = capacity,
	};
	bool ready = policy_init(&p), query_hit = true;

	*result = (struct policy_result){0};
	for (; ready && p.at < requests->count; p.at++) {
		uint32_t object = requests->object[p.at];

		query_hit &= kind->request(&p, object);
		if (requests->ends && !requests->ends[p.at])
			continue;
		if (p.at >= requests->from && object < requests->watched) {
			result->queries++;
			result->hits += query_hit;
		}
		query_hit = true;
	}
	if (p.evictions)
		result->steps = (double)p.steps / (double)p.evictions;
	policy_fini(&p);
	return ready ? 0 : -ENOMEM;
}
