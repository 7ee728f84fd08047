/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * worker: the cache's own thread (option thread), which does what
 * pathcache_maintain() does.
 *
 *   open ---> waits for the loop's descriptor, or to be woken
 *               |  ^
 *               v  '-- nothing left, for now
 *             works, a step of pc_upkeep_step() after another, under its lock
 *               |
 *   close ----> told to stop between two steps, joined
 *
 * It sleeps without a timeout: who leaves work behind wakes it, once until it has
 * seen that. All signals are blocked in it, and it is offline in the QSBR flavour
 * while it waits.
 *
 * Locks: worker.lock comes before all others; close takes it, and no query.
 */
#ifndef PC_WORKER_H
#define PC_WORKER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct pathcache;

struct pc_worker {
	pthread_t thread;      /* const after open */
	pthread_mutex_t lock;  /* held while it works, and by open */
	int fd;                /* const after open; an eventfd */
	bool running;          /* const after open; there is such a thread */
	bool stop;             /* lock */
	_Atomic(bool) wanted;  /* atomic; somebody waits for the lock */
	_Atomic(uint32_t) due; /* atomic; it was woken and has not seen it */
};

void pc_worker_init(struct pc_worker *w);

/* Start it; it does nothing before pc_worker_release(). Return: 0; -errno. Context: open. */
int pc_worker_start(struct pathcache *c);

/*
 * Keep it from working, from its next step on. Whoever did that stops it or lets
 * it go on. Context: no lock, no read section; in the QSBR flavour a quiescent state.
 */
void pc_worker_hold(struct pathcache *c);
void pc_worker_release(struct pathcache *c);

/* End it, where it was started. Context: held; in the QSBR flavour a quiescent state. */
void pc_worker_stop(struct pathcache *c);

void pc_worker_wake_slow(struct pc_worker *w);

/*
 * There is work. Context: any, but not the change lock: after it was left, so that a
 * worker that has cleared due before that finds the work, or due is found clear.
 */
static inline void pc_worker_wake(struct pc_worker *w)
{
	if (w->running && !atomic_load_explicit(&w->due, memory_order_relaxed))
		pc_worker_wake_slow(w);
}

#endif
