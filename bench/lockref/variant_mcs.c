/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A plain count under Concurrency Kit's MCS lock: each waits on a line of its
 * own, in the order of arrival. It does not give the processor away, so it is
 * for no more threads than processors.
 */
#include "loop.h"
#include "variant_list.h"

#include <ck_spinlock.h>

struct queued {
	ck_spinlock_mcs_t tail;
	uint32_t count; /* the lock */
	uint32_t dead;  /* the lock */
};

static ck_spinlock_mcs_context_t *node_of(struct ref_thread *thread)
{
	_Static_assert(sizeof(ck_spinlock_mcs_context_t) <= sizeof(thread->own), "it fits");
	return (void *)thread->own;
}

static int mcs_init(void *ref, unsigned int threads)
{
	struct queued *queued = ref;

	(void)threads;
	ck_spinlock_mcs_init(&queued->tail);
	queued->count = 1;
	queued->dead = 0;
	return 0;
}

static uint64_t mcs_count(const void *ref)
{
	const struct queued *queued = ref;

	return queued->count;
}

static inline void mcs_lock(const struct ref_site *site, struct ref_thread *thread, const void *how)
{
	struct queued *queued = site->ref;

	(void)how;
	ck_spinlock_mcs_lock(&queued->tail, node_of(thread));
}

static inline void mcs_unlock(const struct ref_site *site, struct ref_thread *thread,
                              const void *how)
{
	struct queued *queued = site->ref;

	(void)how;
	ck_spinlock_mcs_unlock(&queued->tail, node_of(thread));
}

REF_FOLD bool mcs_get(const struct ref_site *site, struct ref_thread *thread, const void *how)
{
	struct queued *queued = site->ref;
	bool alive;

	mcs_lock(site, thread, how);
	alive = !queued->dead;
	queued->count += alive;
	mcs_unlock(site, thread, how);
	return alive;
}

REF_FOLD void mcs_put(const struct ref_site *site, struct ref_thread *thread, const void *how)
{
	struct queued *queued = site->ref;

	mcs_lock(site, thread, how);
	queued->count--;
	mcs_unlock(site, thread, how);
}

static void mcs_kill(const struct ref_site *site, struct ref_thread *thread)
{
	struct queued *queued = site->ref;

	mcs_lock(site, thread, NULL);
	queued->dead = 1;
	queued->count--;
	mcs_unlock(site, thread, NULL);
}

REF_LOOPS(mcs, mcs_get, mcs_put, mcs_lock, mcs_unlock, NULL);

const struct ref_variant ref_locked_mcs = {
	.mode = "locked_mcs",
	.about = "... Concurrency Kit's MCS lock",
	.traits = REF_COUNTS | REF_DIES | REF_LOCKED | REF_STILL | REF_UNSEEN,
	.bytes = sizeof(struct queued),
	.init = mcs_init,
	.count = mcs_count,
	.kill = mcs_kill,
	.run = mcs_run,
	.calls = &mcs_calls,
};
