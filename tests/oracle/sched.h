/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Threads of which one runs at a time, in an order that is chosen.
 *
 * A thread that has the token keeps it up to the next point, to a wait on a
 * condition, or to its end; there the order says who goes on. Another run with
 * the same order goes the same way, and sched_next() makes of it the next one of
 * all that take the token away from a thread that could go on at most bound times.
 *
 *   ready --token--> running --point--> ready
 *     ^                 |
 *     +--broadcast-- waiting
 *
 * pthread_cond_wait(3), pthread_cond_broadcast(3) and pthread_mutex_lock(3) of the
 * whole program go through here (ld's --wrap), so that a thread which waits gives
 * the token away: the library needs no door for it.
 */
#ifndef TS_SCHED_H
#define TS_SCHED_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define SCHED_THREADS 4u
#define SCHED_DEPTH 512u

struct sched_order {
	unsigned bound;  /* times the token may be taken away */
	unsigned prefix; /* choices that are given; what follows is the first of each */
	unsigned depth;  /* choices made */
	uint8_t taken[SCHED_DEPTH];
	uint8_t options[SCHED_DEPTH];
};

void sched_start(void);
void sched_stop(void);

/* Run fn(arg, i) to its end for each bit i of threads. */
void sched_run(struct sched_order *order, unsigned threads, void (*fn)(void *arg, unsigned who),
               void *arg);

/* Another may go on here. Nothing in a thread of no run. */
void sched_point(void);

/* Who this thread is in the run; -1: nobody. */
int sched_self(void);

/* To lock this mutex is a point too; NULL: none. */
void sched_point_at(const pthread_mutex_t *mutex);

/* Return: false when order was the last one. */
bool sched_next(struct sched_order *order);

#endif
