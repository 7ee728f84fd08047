/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Counts that are spread out: a slot for each CPU or for each thread, whose sum
 * is the number of references. Getting one looks whether the object is closed;
 * who closes it makes sure, with membarrier(2), that each later look is seen to
 * and each earlier add is in the slots, and then the sum can only fall.
 *
 * percpu: a restartable sequence looks and adds at once; where there is none,
 *   as percpu_atomic.
 * percpu_atomic: adds atomically, looks, and takes the add back from the same
 *   slot when the object is closed. What an interrupt-safe add is in a kernel.
 * perthread: the same with a plain add to a slot of the thread's own.
 *
 * rwsem_*: a lock whose readers count like that. A writer closes, waits for the
 * sum to be 0, and opens again; closed means wait, not dead.
 */
#define _GNU_SOURCE
#include "loop.h"
#include "rseq.h"
#include "variant_list.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct slots {
	atomic_uint closed;
	unsigned int count;
	struct rseq_slot *slot;
};

/* Where a thread counts. */
enum place { PLACE_CPU, PLACE_CPU_ATOMIC, PLACE_THREAD };

static const enum place cpu_place = PLACE_CPU;
static const enum place atomic_place = PLACE_CPU_ATOMIC;
static const enum place thread_place = PLACE_THREAD;

/* For adds that nothing may hold up. */
static const atomic_uint never;

/* ---- membarrier ---- */

static int membarrier(int command)
{
	return (int)syscall(SYS_membarrier, command, 0, 0);
}

static int barrier_register(void)
{
	if (membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED))
		return -EOPNOTSUPP;
	if (rseq_area() && membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ))
		return -EOPNOTSUPP;
	return 0;
}

/* All threads' sequences begin anew, and all threads have a full barrier. */
static void barrier_everywhere(void)
{
	membarrier(rseq_area() ? MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ
	                       : MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

/* ---- counting ---- */

static void slots_enter(struct ref_thread *thread)
{
	thread->rseq = rseq_area();
}

static inline struct rseq_slot *own_slot(const struct slots *slots, struct ref_thread *thread,
                                         enum place place)
{
	if (place == PLACE_THREAD)
		return &slots->slot[thread->index];
	if (thread->rseq)
		return &slots->slot[rseq_cpu(thread->rseq)];
	return &slots->slot[(unsigned int)sched_getcpu()];
}

/* A thread's own slot has one writer, so an add need not be atomic. */
static inline void slot_add(struct rseq_slot *slot, uint64_t delta, enum place place,
                            memory_order order)
{
	uint64_t count;

	if (place != PLACE_THREAD) {
		atomic_fetch_add_explicit(&slot->count, delta, order);
		return;
	}
	count = atomic_load_explicit(&slot->count, memory_order_relaxed);
	atomic_store_explicit(&slot->count, count + delta, memory_order_release);
}

/* Return: whether a reference was taken. */
REF_FOLD bool slots_try(struct slots *slots, struct ref_thread *thread, enum place place)
{
	struct rseq_slot *slot;

	while (place == PLACE_CPU && thread->rseq) {
		enum rseq_done done = rseq_add(thread->rseq, slots->slot, 1, &slots->closed);

		if (done != RSEQ_MOVED)
			return done == RSEQ_ADDED;
	}
	slot = own_slot(slots, thread, place);
	slot_add(slot, 1, place, memory_order_acquire);
	/* The closer's membarrier is the other half of the fence between the two. */
	atomic_signal_fence(memory_order_seq_cst);
	if (__builtin_expect(atomic_load_explicit(&slots->closed, memory_order_acquire) == 0, 1))
		return true;
	slot_add(slot, UINT64_MAX, place, memory_order_release);
	return false;
}

REF_FOLD void slots_give(struct slots *slots, struct ref_thread *thread, enum place place)
{
	while (place == PLACE_CPU && thread->rseq) {
		if (rseq_add(thread->rseq, slots->slot, UINT64_MAX, &never) == RSEQ_ADDED)
			return;
	}
	slot_add(own_slot(slots, thread, place), UINT64_MAX, place, memory_order_release);
}

static uint64_t slots_count(const void *ref)
{
	const struct slots *slots = ref;
	uint64_t sum = 0;

	for (unsigned int i = 0; i < slots->count; i++)
		sum += atomic_load_explicit(&slots->slot[i].count, memory_order_acquire);
	return sum;
}

/* ---- life cycle ---- */

/* first: references from the start. */
static int slots_create(struct slots *slots, unsigned int threads, uint64_t first)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	size_t bytes;
	int error = barrier_register();

	if (error)
		return error;
	slots->count = cpus > (long)threads ? (unsigned int)cpus : threads;
	bytes = slots->count * sizeof(*slots->slot);
	slots->slot = aligned_alloc(_Alignof(struct rseq_slot), bytes);
	if (!slots->slot)
		return -ENOMEM;
	memset(slots->slot, 0, bytes);
	atomic_init(&slots->closed, 0);
	atomic_init(&slots->slot[0].count, first);
	return 0;
}

static int slots_init(void *ref, unsigned int threads)
{
	return slots_create(ref, threads, 1);
}

static int rwsem_init(void *ref, unsigned int threads)
{
	return slots_create(ref, threads, 0);
}

static void slots_fini(void *ref)
{
	struct slots *slots = ref;

	free(slots->slot);
}

static void slots_kill(struct slots *slots, struct ref_thread *thread, enum place place)
{
	atomic_store_explicit(&slots->closed, 1, memory_order_release);
	barrier_everywhere();
	slots_give(slots, thread, place);
}

static void percpu_kill(const struct ref_site *site, struct ref_thread *thread)
{
	slots_kill(site->ref, thread, PLACE_CPU);
}

static void percpu_atomic_kill(const struct ref_site *site, struct ref_thread *thread)
{
	slots_kill(site->ref, thread, PLACE_CPU_ATOMIC);
}

static void perthread_kill(const struct ref_site *site, struct ref_thread *thread)
{
	slots_kill(site->ref, thread, PLACE_THREAD);
}

/* ---- references ---- */

REF_FOLD bool slots_get(const struct ref_site *site, struct ref_thread *thread, const void *how)
{
	return slots_try(site->ref, thread, *(const enum place *)how);
}

REF_FOLD void slots_put(const struct ref_site *site, struct ref_thread *thread, const void *how)
{
	slots_give(site->ref, thread, *(const enum place *)how);
}

/* ---- a lock's readers ---- */

REF_FOLD bool rwsem_get(const struct ref_site *site, struct ref_thread *thread, const void *how)
{
	struct slots *slots = site->ref;
	unsigned int spins = 0;

	while (!slots_try(slots, thread, *(const enum place *)how)) {
		while (atomic_load_explicit(&slots->closed, memory_order_relaxed))
			ref_wait(spins++);
	}
	return true;
}

static void rwsem_lock(const struct ref_site *site, struct ref_thread *thread, const void *how)
{
	struct slots *slots = site->ref;
	unsigned int spins = 0;

	ref_site_lock(site, thread, how);
	atomic_store_explicit(&slots->closed, 1, memory_order_relaxed);
	barrier_everywhere();
	while (slots_count(slots))
		ref_wait(spins++);
}

static void rwsem_unlock(const struct ref_site *site, struct ref_thread *thread, const void *how)
{
	struct slots *slots = site->ref;

	atomic_store_explicit(&slots->closed, 0, memory_order_release);
	ref_site_unlock(site, thread, how);
}

/* ---- entries ---- */

REF_LOOPS(percpu, slots_get, slots_put, ref_site_lock, ref_site_unlock, &cpu_place);
REF_LOOPS(percpu_atomic, slots_get, slots_put, ref_site_lock, ref_site_unlock, &atomic_place);
REF_LOOPS(perthread, slots_get, slots_put, ref_site_lock, ref_site_unlock, &thread_place);
REF_LOOPS(rwsem_percpu, rwsem_get, slots_put, rwsem_lock, rwsem_unlock, &cpu_place);
REF_LOOPS(rwsem_percpu_atomic, rwsem_get, slots_put, rwsem_lock, rwsem_unlock, &atomic_place);
REF_LOOPS(rwsem_perthread, rwsem_get, slots_put, rwsem_lock, rwsem_unlock, &thread_place);

#define SLOTS(name, text, ...) \
	const struct ref_variant ref_##name = {.mode = #name, \
	                                       .about = text, \
	                                       .bytes = sizeof(struct slots), \
	                                       .fini = slots_fini, \
	                                       .enter = slots_enter, \
	                                       .count = slots_count, \
	                                       .run = name##_run, \
	                                       .calls = &name##_calls, \
	                                       __VA_ARGS__}

SLOTS(percpu, "a count a CPU, by restartable sequences", .init = slots_init, .kill = percpu_kill,
      .traits = REF_COUNTS | REF_DIES | REF_UNSEEN);
SLOTS(percpu_atomic, "... by atomic adds", .init = slots_init, .kill = percpu_atomic_kill,
      .traits = REF_COUNTS | REF_DIES);
SLOTS(perthread, "a count a thread", .init = slots_init, .kill = perthread_kill,
      .traits = REF_COUNTS | REF_DIES);
SLOTS(rwsem_percpu, "readers of a lock, a count a CPU by restartable sequences", .init = rwsem_init,
      .traits = REF_COUNTS | REF_RWSEM | REF_UNSEEN);
SLOTS(rwsem_percpu_atomic, "... by atomic adds", .init = rwsem_init,
      .traits = REF_COUNTS | REF_RWSEM);
SLOTS(rwsem_perthread, "... a count a thread", .init = rwsem_init,
      .traits = REF_COUNTS | REF_RWSEM);
