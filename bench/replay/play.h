/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A recording played in a staged tree: queries go to a rival, changes are made and
 * the rival is told of them. One thread.
 *
 * Life: open, then for each rival begin, any number of passes (timed or checked),
 * with play_again() between two of them, end; close.
 */
#ifndef BENCH_PLAY_H
#define BENCH_PLAY_H

#include "operations.h"
#include "origin.h"
#include "rivals.h"
#include "staged.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct play {
	const struct recording *recording;
	struct origin origin;
	struct staged staged;
	struct rival_setup setup;
	struct answer answer;
	unsigned int modes; /* so that each chmod is another */
	bool restored;      /* the tree was made */
	uint64_t clock_ns;  /* what reading the clock costs */
};

struct contestant {
	const struct rival_ops *ops;
	void *self;
};

/* Sums; changes: the system call and telling the rival. */
struct play_time {
	uint64_t query_ns;
	uint64_t change_ns;
};

/*
 * Of one pass. wrong: answers that were not the kernel's. counts: of the queries, what
 * the rival asked to follow changes left out.
 */
struct play_check {
	size_t wrong;
	struct rival_counts counts;
};

/* How the staged tree answers beside what was recorded; calls: made by the queries. */
struct play_agreement {
	size_t agree;
	size_t calls;
};

/* Return: 0; -errno; nothing is left then. */
int play_open(struct play *play, const struct recording *recording, uint64_t complete_max);
void play_close(struct play *play);

/* The tree as it was at first, and an empty rival. Return: 0; -errno. */
int play_begin(struct play *play, const struct rival_ops *ops, struct contestant *rival);

/* The tree as it was at first, of which the rival is told name by name. Return: 0; -errno. */
int play_again(struct play *play, struct contestant *rival);

int play_end(struct contestant *rival);

void play_timed(struct play *play, struct contestant *rival, struct play_time *time);
void play_checked(struct play *play, struct contestant *rival, struct play_check *check);

/* One pass of the kernel alone. Return: 0; -errno. */
int play_agreement(struct play *play, struct play_agreement *agreement);

#endif
