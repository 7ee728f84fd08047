/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A tree that flips between two states while threads ask about it.
 *
 * The kernel is asked once in each state. After that every answer of the cache
 * must be that of a state that held at some instant of the call: of the state
 * between two flips when no flip touched the call, of either when one did. A
 * change and its announcement together are one flip. Never allowed: an answer
 * that belongs to neither.
 *
 * Half of the questions are asked with PATHCACHE_CACHED, so that their answers
 * are hits. A miss walks as the kernel walks, step by step: where a path passes
 * what is flipped more than once ("m/../n") it may find one state first and
 * then the other, so such a probe is held to the rule by its hits alone and by
 * what it answers between flips.
 *
 * A question is asked some times in a row, now and then together with others in
 * one batch.
 */
#ifndef TS_FLIP_H
#define TS_FLIP_H

#include <stdbool.h>

#include "oracle.h"

#define TS_PROBES 12
#define TS_READERS 3

struct ts_flip {
	const char *name;
	const struct ts_view *view;
	/* Make the tree so and announce what changed. Starts in state 0. */
	void (*to_state)(void *arg, unsigned state);
	void *arg;
	/* Run over and over by one more thread; NULL = none. */
	void (*noise)(void *arg);
	struct ts_query probes[TS_PROBES]; /* ends with path NULL */
	uint32_t passes_twice;             /* bit i: probe i does */
	bool new_inodes;                   /* the objects are made anew at each flip */
	bool tight;                        /* no more than some microseconds between flips */
	bool memos;                        /* some answers must come from memos */
	bool control;                      /* violations are wanted, and no failures */
};

/*
 * Run for about so many seconds; failures are counted and printed.
 * Return: how many answers were true at no instant of their call.
 */
uint64_t ts_flip_run(const struct ts_flip *flip, double seconds);

#endif
