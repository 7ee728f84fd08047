/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The control of the checks: a put by a swap that is not repeated when it fails,
 * with time for others between its two halves. Not in the table.
 */
#include "loop.h"
#include "variants.h"

struct broken {
	_Atomic uint64_t count;
};

static int broken_init(void *ref, unsigned int threads)
{
	struct broken *broken = ref;

	(void)threads;
	atomic_init(&broken->count, 1);
	return 0;
}

static uint64_t broken_count(const void *ref)
{
	const struct broken *broken = ref;

	return atomic_load_explicit(&broken->count, memory_order_relaxed);
}

static bool broken_get(const struct ref_site *site, struct ref_thread *thread, const void *how)
{
	struct broken *broken = site->ref;

	(void)thread, (void)how;
	atomic_fetch_add_explicit(&broken->count, 1, memory_order_relaxed);
	return true;
}

static void broken_put(const struct ref_site *site, struct ref_thread *thread, const void *how)
{
	struct broken *broken = site->ref;
	uint64_t count = atomic_load_explicit(&broken->count, memory_order_relaxed);

	(void)how;
	if (thread->retries++ % 16 == 0)
		sched_yield();
	atomic_compare_exchange_strong_explicit(&broken->count, &count, count - 1,
	                                        memory_order_relaxed, memory_order_relaxed);
}

REF_LOOPS(broken, broken_get, broken_put, ref_site_lock, ref_site_unlock, NULL);

const struct ref_variant ref_broken = {
	.mode = "broken",
	.about = "loses counts, on purpose",
	.traits = REF_COUNTS,
	.bytes = sizeof(struct broken),
	.init = broken_init,
	.count = broken_count,
	.run = broken_run,
	.calls = &broken_calls,
};
