/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Counts whose ends are zones, so that an add needs no look beforehand.
 *
 * rcuref: as the kernel's rcuref and file_ref. One less than the references is
 * stored; a last put finds it negative and swaps it deep into a dead zone,
 * where gets leave their adds until a slow path puts the count back.
 *
 *	0 .. 0x7fffffff valid   .. 0xbfffffff saturated   .. 0xfffffffe dead
 *	0xffffffff no reference
 *
 * saturating: as the kernel's refcount_t. One add, and a store of the parked
 * value when the count was not positive. A get must know that the object is
 * alive: zero is an end that it cannot tell.
 */
#include "loop.h"
#include "variant_list.h"

#define ZONE_VALID UINT32_C(0x7fffffff)
#define ZONE_SATURATED UINT32_C(0xa0000000)
#define ZONE_RELEASED UINT32_C(0xc0000000)
#define ZONE_DEAD UINT32_C(0xe0000000)
#define ZONE_NOBODY UINT32_C(0xffffffff)
#define PARKED UINT32_C(0xc0000000)

struct counter {
	_Atomic uint32_t value;
	uint32_t unused;
};

/* ---- rcuref ---- */

static int zone_init(void *ref, unsigned int threads)
{
	struct counter *counter = ref;

	(void)threads;
	atomic_init(&counter->value, 0);
	return 0;
}

static uint64_t zone_count(const void *ref)
{
	const struct counter *counter = ref;
	uint32_t value = atomic_load_explicit(&counter->value, memory_order_relaxed);

	return value <= ZONE_VALID ? (uint64_t)value + 1 : 0;
}

static __attribute__((noinline, cold)) bool zone_get_slow(struct counter *counter)
{
	uint32_t value = atomic_load_explicit(&counter->value, memory_order_relaxed);

	if (value >= ZONE_RELEASED) {
		atomic_store_explicit(&counter->value, ZONE_DEAD, memory_order_relaxed);
		return false;
	}
	if (value > ZONE_VALID)
		atomic_store_explicit(&counter->value, ZONE_SATURATED, memory_order_relaxed);
	return true;
}

REF_FOLD bool zone_get(const struct ref_site *site, struct ref_thread *thread, const void *how)
{
	struct counter *counter = site->ref;
	uint32_t old = atomic_fetch_add_explicit(&counter->value, 1, memory_order_acquire);

	(void)thread, (void)how;
	if (__builtin_expect((old + 1) <= ZONE_VALID, 1))
		return true;
	return zone_get_slow(counter);
}

static __attribute__((noinline, cold)) void zone_put_slow(struct counter *counter)
{
	uint32_t value = atomic_load_explicit(&counter->value, memory_order_relaxed);

	if (value == ZONE_NOBODY)
		atomic_compare_exchange_strong_explicit(&counter->value, &value, ZONE_DEAD,
		                                        memory_order_acquire, memory_order_relaxed);
	else if (value >= ZONE_RELEASED)
		atomic_store_explicit(&counter->value, ZONE_DEAD, memory_order_relaxed);
	else if (value > ZONE_VALID)
		atomic_store_explicit(&counter->value, ZONE_SATURATED, memory_order_relaxed);
}

REF_FOLD void zone_put(const struct ref_site *site, struct ref_thread *thread, const void *how)
{
	struct counter *counter = site->ref;
	uint32_t old = atomic_fetch_sub_explicit(&counter->value, 1, memory_order_release);

	(void)thread, (void)how;
	if (__builtin_expect((old - 1) > ZONE_VALID, 0))
		zone_put_slow(counter);
}

static void zone_kill(const struct ref_site *site, struct ref_thread *thread)
{
	zone_put(site, thread, NULL);
}

REF_LOOPS(zone, zone_get, zone_put, ref_site_lock, ref_site_unlock, NULL);

const struct ref_variant ref_rcuref = {
	.mode = "rcuref",
	.about = "a count with a dead zone, as rcuref and file_ref",
	.traits = REF_COUNTS | REF_DIES,
	.bytes = sizeof(struct counter),
	.init = zone_init,
	.count = zone_count,
	.kill = zone_kill,
	.run = zone_run,
	.calls = &zone_calls,
};

/* ---- saturating ---- */

static int parking_init(void *ref, unsigned int threads)
{
	struct counter *counter = ref;

	(void)threads;
	atomic_init(&counter->value, 1);
	return 0;
}

static uint64_t parking_count(const void *ref)
{
	const struct counter *counter = ref;

	return atomic_load_explicit(&counter->value, memory_order_relaxed);
}

static __attribute__((noinline, cold)) void park(struct counter *counter)
{
	atomic_store_explicit(&counter->value, PARKED, memory_order_relaxed);
}

/* Positive before and after, seen as a signed number. */
REF_FOLD bool parking_get(const struct ref_site *site, struct ref_thread *thread, const void *how)
{
	struct counter *counter = site->ref;
	uint32_t old = atomic_fetch_add_explicit(&counter->value, 1, memory_order_acquire);

	(void)thread, (void)how;
	if (__builtin_expect(old - 1 >= ZONE_VALID - 1, 0))
		park(counter);
	return true;
}

REF_FOLD void parking_put(const struct ref_site *site, struct ref_thread *thread, const void *how)
{
	struct counter *counter = site->ref;
	uint32_t old = atomic_fetch_sub_explicit(&counter->value, 1, memory_order_release);

	(void)thread, (void)how;
	if (__builtin_expect(old - 1 >= ZONE_VALID, 0))
		park(counter);
}

REF_LOOPS(parking, parking_get, parking_put, ref_site_lock, ref_site_unlock, NULL);

const struct ref_variant ref_saturating = {
	.mode = "saturating",
	.about = "a count that is parked at its limit, as refcount_t",
	.traits = REF_COUNTS,
	.bytes = sizeof(struct counter),
	.init = parking_init,
	.count = parking_count,
	.run = parking_run,
	.calls = &parking_calls,
};
