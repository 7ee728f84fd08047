/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A thread that renames while others look up. It changes only the rival whose
 * turn it is, and always there and back again, so that each turn begins and
 * ends with the same names: tables are re-keyed path by path, caches are told
 * of both names.
 */
#ifndef BENCH_MUTATORS_H
#define BENCH_MUTATORS_H

#include "peers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum mutator_pace {
	MUTATOR_NONE,
	MUTATOR_ONCE,  /* there and back once in a turn */
	MUTATOR_1K,    /* 1000 renames a second */
	MUTATOR_STORM, /* as fast as it goes */
};

/* No rival has its turn. */
#define MUTATOR_IDLE SIZE_MAX

struct mutator {
	const struct peer *peers;
	size_t npeers;
	enum mutator_pace pace;
	struct peer_move move; /* its names live as long as the rivals */
	pthread_t thread;
	atomic_size_t current; /* whose turn it is; set by the readers */
	atomic_bool stop;
	uint64_t renames[PEERS_MAX]; /* the thread's, until it is stopped */
	uint64_t turn_ns[PEERS_MAX]; /* the same: how long it was whose turn */
	int error;                   /* the same; the first one */
};

/* peers, npeers, pace and move are set. Return: 0; -errno. */
int mutator_start(struct mutator *mutator);

/* Return: 0; the first error of a rival, which then may hold a wrong name. */
int mutator_stop(struct mutator *mutator);

/* Called by readers before each batch. */
static inline void mutator_turn(struct mutator *mutator, size_t peer)
{
	if (atomic_load_explicit(&mutator->current, memory_order_relaxed) != peer)
		atomic_store_explicit(&mutator->current, peer, memory_order_relaxed);
}

#endif
