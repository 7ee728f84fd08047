/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the parts of bench_replay share: its options, and the figures of one recording. */
#ifndef BENCH_REPLAY_H
#define BENCH_REPLAY_H

#include "harness.h"
#include "play.h"
#include "rivals.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
	REPLAY_TRACES_MAX = 64,
	REPLAY_ROUNDS_MAX = 1000,
};

struct replay_options {
	const char *csv;
	const char *scenarios; /* NULL: all */
	const char *modes;     /* NULL: all */
	const char *traces[REPLAY_TRACES_MAX];
	size_t ntraces;
	uint64_t rounds, round_ms, complete_max;
	int quick;
	int lookups; /* opens are taken for lookups */
};

/* The first pass through an empty rival, and later ones. */
enum replay_pass { REPLAY_COLD, REPLAY_HOT, REPLAY_PASSES };

/* Medians over the rounds; change_ns: of one change, with telling the rival. */
struct replay_figures {
	struct bench_result result;
	double change_ns;
	struct play_check check;
};

struct replay {
	struct replay_options opt;
	const struct rival_ops *rivals[RIVALS_MAX];
	size_t nrivals;
	double floor_ns;
	FILE *csv;
	struct bench_table summary;
};

/* All figures of one recording. */
struct replay_run {
	char name[256];
	struct recording recording;
	struct play play;
	struct play_agreement agreement;
	struct replay_figures figures[REPLAY_PASSES][RIVALS_MAX];
	double *ns[REPLAY_PASSES]; /* of a query: rivals x rounds */
	double *change_ns[REPLAY_PASSES];
};

/* From here on a signal that ends the process ends the measuring instead, at its next step. */
void replay_catch_signals(void);

/*
 * Check, then time all rivals by turns. The play is open.
 * Return: 0; -errno; -EINTR after a signal; -EIO when a cache gave an answer that was not the kernel's.
 */
int replay_measure(const struct replay *replay, struct replay_run *run);

/* The table of one recording, its CSV rows, and a row of the summary. Return: 0; -ENOMEM. */
int replay_report(struct replay *replay, const struct replay_run *run);

void replay_summary_begin(struct replay *replay);
int replay_summary_print(struct replay *replay);

#endif
