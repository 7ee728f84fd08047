/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A plain count under a lock, which each get and each put takes: what lockref
 * degrades to. One kind of lock each.
 */
#define _GNU_SOURCE
#include "loop.h"
#include "variant_list.h"

#include <errno.h>
#include <pthread.h>

struct ticket {
	atomic_uint next;
	atomic_uint serving;
};

struct locked {
	uint32_t count; /* the lock */
	uint32_t dead;  /* the lock */
	union {
		atomic_uint tas;
		struct ticket ticket;
		pthread_spinlock_t spin;
		pthread_mutex_t mutex;
	};
};

struct locking {
	int (*init)(struct locked *locked);
	void (*take)(struct locked *locked);
	void (*drop)(struct locked *locked);
};

/* ---- locks ---- */

static int tas_init(struct locked *locked)
{
	atomic_init(&locked->tas, 0);
	return 0;
}

REF_FOLD void tas_take(struct locked *locked)
{
	unsigned int spins = 0;

	while (atomic_exchange_explicit(&locked->tas, 1, memory_order_acquire)) {
		while (atomic_load_explicit(&locked->tas, memory_order_relaxed))
			ref_wait(spins++);
	}
}

REF_FOLD void tas_drop(struct locked *locked)
{
	atomic_store_explicit(&locked->tas, 0, memory_order_release);
}

static int ticket_init(struct locked *locked)
{
	atomic_init(&locked->ticket.next, 0);
	atomic_init(&locked->ticket.serving, 0);
	return 0;
}

REF_FOLD void ticket_take(struct locked *locked)
{
	struct ticket *ticket = &locked->ticket;
	unsigned int mine = atomic_fetch_add_explicit(&ticket->next, 1, memory_order_relaxed);
	unsigned int spins = 0;

	while (atomic_load_explicit(&ticket->serving, memory_order_acquire) != mine)
		ref_wait(spins++);
}

REF_FOLD void ticket_drop(struct locked *locked)
{
	struct ticket *ticket = &locked->ticket;
	unsigned int mine = atomic_load_explicit(&ticket->serving, memory_order_relaxed);

	atomic_store_explicit(&ticket->serving, mine + 1, memory_order_release);
}

static int spin_init(struct locked *locked)
{
	return -pthread_spin_init(&locked->spin, PTHREAD_PROCESS_PRIVATE);
}

REF_FOLD void spin_take(struct locked *locked)
{
	pthread_spin_lock(&locked->spin);
}

REF_FOLD void spin_drop(struct locked *locked)
{
	pthread_spin_unlock(&locked->spin);
}

static int mutex_init(struct locked *locked)
{
	return -pthread_mutex_init(&locked->mutex, NULL);
}

REF_FOLD void mutex_take(struct locked *locked)
{
	pthread_mutex_lock(&locked->mutex);
}

REF_FOLD void mutex_drop(struct locked *locked)
{
	pthread_mutex_unlock(&locked->mutex);
}

static void mutex_fini(void *ref)
{
	struct locked *locked = ref;

	pthread_mutex_destroy(&locked->mutex);
}

/* ---- the count ---- */

static int locked_init(void *ref, const struct locking *locking)
{
	struct locked *locked = ref;

	locked->count = 1;
	locked->dead = 0;
	return locking->init(locked);
}

static uint64_t locked_count(const void *ref)
{
	const struct locked *locked = ref;

	return locked->count;
}

static inline void locked_lock(const struct ref_site *site, struct ref_thread *thread,
                               const void *how)
{
	const struct locking *locking = how;

	(void)thread;
	locking->take(site->ref);
}

static inline void locked_unlock(const struct ref_site *site, struct ref_thread *thread,
                                 const void *how)
{
	const struct locking *locking = how;

	(void)thread;
	locking->drop(site->ref);
}

REF_FOLD bool locked_get(const struct ref_site *site, struct ref_thread *thread, const void *how)
{
	struct locked *locked = site->ref;
	bool alive;

	locked_lock(site, thread, how);
	alive = !locked->dead;
	locked->count += alive;
	locked_unlock(site, thread, how);
	return alive;
}

REF_FOLD void locked_put(const struct ref_site *site, struct ref_thread *thread, const void *how)
{
	struct locked *locked = site->ref;

	locked_lock(site, thread, how);
	locked->count--;
	locked_unlock(site, thread, how);
}

static inline void locked_kill(const struct ref_site *site, struct ref_thread *thread,
                               const struct locking *locking)
{
	struct locked *locked = site->ref;

	locked_lock(site, thread, locking);
	locked->dead = 1;
	locked->count--;
	locked_unlock(site, thread, locking);
}

/* One variant: its lock, its loops, its entry. */
#define LOCKED(name, text, ...) \
	static const struct locking name##_locking = {name##_init, name##_take, name##_drop}; \
	REF_LOOPS(name, locked_get, locked_put, locked_lock, locked_unlock, &name##_locking); \
	static int locked_##name##_init(void *ref, unsigned int threads) \
	{ \
		(void)threads; \
		return locked_init(ref, &name##_locking); \
	} \
	static void name##_kill(const struct ref_site *site, struct ref_thread *thread) \
	{ \
		locked_kill(site, thread, &name##_locking); \
	} \
	const struct ref_variant ref_locked_##name = {.mode = "locked_" #name, \
	                                              .about = text, \
	                                              .traits = REF_COUNTS | REF_DIES | \
	                                                        REF_LOCKED | REF_STILL, \
	                                              .bytes = sizeof(struct locked), \
	                                              .init = locked_##name##_init, \
	                                              .count = locked_count, \
	                                              .kill = name##_kill, \
	                                              .run = name##_run, \
	                                              .calls = &name##_calls, \
	                                              __VA_ARGS__}

LOCKED(tas, "a count under a test-and-set lock", .fini = NULL);
LOCKED(ticket, "... a ticket lock", .fini = NULL);
LOCKED(spin, "... pthread_spin_lock()", .fini = NULL);
LOCKED(mutex, "... pthread_mutex_lock()", .fini = mutex_fini);
