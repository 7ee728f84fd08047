/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* liburcu's reference count, and a read section without any. */
#include "loop.h"
#include "variant_list.h"

#include <stdlib.h>
#include <string.h>
#include <urcu/urcu-memb.h>
#include <limits.h>
#include <urcu/ref.h>

/* ---- urcu_ref ---- */

static int counted_init(void *ref, unsigned int threads)
{
	(void)threads;
	urcu_ref_init(ref);
	return 0;
}

static uint64_t counted_count(const void *ref)
{
	const struct urcu_ref *counted = ref;

	return (uint64_t)uatomic_read(&counted->refcount);
}

REF_FOLD bool counted_get(const struct ref_site *site, struct ref_thread *thread, const void *how)
{
	(void)thread, (void)how;
	return urcu_ref_get_unless_zero(site->ref);
}

static void forget(struct urcu_ref *ref)
{
	(void)ref;
}

REF_FOLD void counted_put(const struct ref_site *site, struct ref_thread *thread, const void *how)
{
	(void)thread, (void)how;
	urcu_ref_put(site->ref, forget);
}

static void counted_kill(const struct ref_site *site, struct ref_thread *thread)
{
	counted_put(site, thread, NULL);
}

REF_LOOPS(counted, counted_get, counted_put, ref_site_lock, ref_site_unlock, NULL);

const struct ref_variant ref_urcu_ref = {
	.mode = "urcu_ref",
	.about = "liburcu's: swaps until one succeeds",
	.traits = REF_COUNTS | REF_DIES | REF_UNSEEN,
	.bytes = sizeof(struct urcu_ref),
	.init = counted_init,
	.count = counted_count,
	.kill = counted_kill,
	.run = counted_run,
	.calls = &counted_calls,
};

/* ---- rcu ---- */

/* A get finds the object's pointer, as a lookup does; a put ends the section. */
struct published {
	_Atomic(struct published *) self;
};

static int section_init(void *ref, unsigned int threads)
{
	struct published *published = ref;

	(void)threads;
	atomic_init(&published->self, published);
	return 0;
}

static void section_enter(struct ref_thread *thread)
{
	(void)thread;
	urcu_memb_register_thread();
}

static void section_leave(struct ref_thread *thread)
{
	(void)thread;
	urcu_memb_unregister_thread();
}

REF_FOLD bool section_get(const struct ref_site *site, struct ref_thread *thread, const void *how)
{
	struct published *published = site->ref;

	(void)thread, (void)how;
	urcu_memb_read_lock();
	if (__builtin_expect(atomic_load_explicit(&published->self, memory_order_acquire) != NULL,
	                     1))
		return true;
	urcu_memb_read_unlock();
	return false;
}

REF_FOLD void section_put(const struct ref_site *site, struct ref_thread *thread, const void *how)
{
	(void)site, (void)thread, (void)how;
	urcu_memb_read_unlock();
}

/* Unpublished: who looks now finds nothing. */
static void section_kill(const struct ref_site *site, struct ref_thread *thread)
{
	struct published *published = site->ref;

	(void)thread;
	atomic_store_explicit(&published->self, NULL, memory_order_release);
}

REF_LOOPS(section, section_get, section_put, ref_site_lock, ref_site_unlock, NULL);

const struct ref_variant ref_rcu = {
	.mode = "rcu",
	.about = "no reference: a read section",
	.traits = REF_DIES | REF_UNCOUNTED,
	.bytes = sizeof(struct published),
	.init = section_init,
	.enter = section_enter,
	.leave = section_leave,
	.kill = section_kill,
	.run = section_run,
	.calls = &section_calls,
};
