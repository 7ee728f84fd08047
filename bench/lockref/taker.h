/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A thread that takes the lock of an object now and then, of the rival whose
 * turn it is. Where a processor is left for it, it spins between sections, else
 * it sleeps; it makes up for none that it missed, so it may take the lock less
 * often than asked. What it did is told.
 */
#ifndef BENCH_LOCKREF_TAKER_H
#define BENCH_LOCKREF_TAKER_H

#include "rivals.h"

#define TAKER_IDLE SIZE_MAX

struct taker {
	struct rival *rivals;
	size_t nrivals;
	unsigned int rate; /* sections a second */
	uint64_t hold_ns;
	bool spin;
	pthread_t id;
	atomic_size_t turn; /* whose; set by the rivals' threads */
	atomic_bool stop;
	struct ref_thread *thread[RIVALS_MAX];
	uint64_t sections[RIVALS_MAX]; /* the thread's, until it is stopped */
	uint64_t turn_ns[RIVALS_MAX];  /* the same */
	int error;                     /* the same */
};

/* rivals, nrivals, rate, hold_ns and spin are set. Return: 0; -errno. */
int taker_start(struct taker *taker);
int taker_stop(struct taker *taker);

/* Sections a second of a rival's turns. */
double taker_rate(const struct taker *taker, size_t rival);

/* ---- for a thread that takes the lock in its own time ---- */

/* Sleep little more than was asked. */
void taker_precise(void);

/* Is there a processor for it beside so many threads? */
bool taker_may_spin(unsigned int threads);
void taker_wait_until(uint64_t ns, bool spin);

/* One section of hold_ns. */
void taker_section(const struct rival *rival, struct ref_thread *thread, uint64_t hold_ns);

#endif
