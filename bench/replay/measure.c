/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "passes.h"
#include "replay.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	SETTLING = 1,   /* passes before the hot ones: memos are made of what is asked again */
	WALL_LIMIT = 6, /* a hot turn lasts so many times its query time at most */
};

static volatile sig_atomic_t stopped;

static void stop(int number)
{
	(void)number;
	stopped = 1;
}

void replay_catch_signals(void)
{
	const struct sigaction action = {.sa_handler = stop,
	                                 .sa_flags = SA_RESTART | (int)SA_RESETHAND};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

/* ---- are they right? ---- */

static int check_rival(struct replay_run *run, const struct rival_ops *ops, size_t at)
{
	struct play_check *cold = &run->figures[REPLAY_COLD][at].check;
	struct play_check *hot = &run->figures[REPLAY_HOT][at].check;
	struct contestant rival;
	size_t wrong = 0;
	int error = play_begin(&run->play, ops, &rival), ended;

	if (error)
		return error;
	play_checked(&run->play, &rival, cold);
	for (int i = 0; i <= SETTLING && !error; i++) {
		error = play_again(&run->play, &rival);
		if (!error)
			play_checked(&run->play, &rival, hot);
		wrong += hot->wrong;
		error = stopped && !error ? -EINTR : error;
	}
	ended = play_end(&rival);
	if (!error && rival_is_exact(ops) && (cold->wrong || wrong)) {
		fprintf(stderr, "bench_replay: %s, %s: %zu wrong answers\n", run->name, ops->mode,
		        cold->wrong + wrong);
		error = -EIO;
	}
	return error ? error : ended;
}

static int check(const struct replay *replay, struct replay_run *run)
{
	int error = play_agreement(&run->play, &run->agreement);

	for (size_t i = 0; i < replay->nrivals && !error; i++)
		error = replay->rivals[i] == &rival_syscall
		                ? 0
		                : check_rival(run, replay->rivals[i], i);
	return error;
}

/* ---- how long do they take? ---- */

static double per_query(const struct replay_run *run, const struct play_time *time, unsigned passes)
{
	return (double)time->query_ns / (double)run->recording.queries / passes;
}

static double per_change(const struct replay_run *run, const struct play_time *time,
                         unsigned passes)
{
	if (!run->recording.changes)
		return 0;
	return (double)time->change_ns / (double)run->recording.changes / passes;
}

static void keep(struct replay_run *run, enum replay_pass pass, size_t at,
                 const struct play_time *time, unsigned passes)
{
	run->ns[pass][at] = per_query(run, time, passes);
	run->change_ns[pass][at] = per_change(run, time, passes);
}

static int hot_turn(const struct replay *replay, struct replay_run *run, struct contestant *rival,
                    size_t at)
{
	uint64_t wanted = replay->opt.round_ms * 1000000, begun = bench_now_ns();
	struct play_time time = {0};
	unsigned int passes = 0;
	int error = 0;

	while (!error && (!passes || (time.query_ns < wanted &&
	                              bench_now_ns() - begun < wanted * WALL_LIMIT))) {
		error = play_again(&run->play, rival);
		if (!error)
			play_timed(&run->play, rival, &time);
		passes++;
	}
	keep(run, REPLAY_HOT, at, &time, passes);
	return error;
}

static int time_rival(const struct replay *replay, struct replay_run *run,
                      const struct rival_ops *ops, size_t at)
{
	struct play_time time = {0}, settling = {0};
	struct contestant rival;
	int error = play_begin(&run->play, ops, &rival), ended;

	if (error)
		return error;
	play_timed(&run->play, &rival, &time);
	keep(run, REPLAY_COLD, at, &time, 1);
	for (int i = 0; i < SETTLING && !error; i++) {
		error = play_again(&run->play, &rival);
		if (!error)
			play_timed(&run->play, &rival, &settling);
	}
	if (!error)
		error = hot_turn(replay, run, &rival, at);
	ended = play_end(&rival);
	return error ? error : ended;
}

/* ---- figures ---- */

static double median_ratio(const double *ns, const double *first, size_t rounds)
{
	double ratios[REPLAY_ROUNDS_MAX];

	for (size_t r = 0; r < rounds; r++)
		ratios[r] = ns[r] / first[r];
	return bench_median(ratios, rounds);
}

static void summarise(const struct replay *replay, struct replay_run *run, enum replay_pass pass)
{
	size_t rounds = replay->opt.rounds;

	for (size_t i = replay->nrivals; i--;) {
		struct replay_figures *figures = &run->figures[pass][i];
		double *ns = &run->ns[pass][i * rounds];
		double rel = median_ratio(ns, run->ns[pass], rounds);
		double median = bench_median(ns, rounds);

		figures->result = (struct bench_result){
			.ns_per_op = median,
			.min = ns[0],
			.max = ns[rounds - 1],
			.mops = 1000.0 / median,
			.rel = rel,
			.fairness = 1,
		};
		figures->change_ns = bench_median(&run->change_ns[pass][i * rounds], rounds);
	}
}

static int measure_rounds(const struct replay *replay, struct replay_run *run)
{
	size_t rounds = replay->opt.rounds, n = replay->nrivals;
	int error = 0;

	for (size_t r = 0; r < rounds && !error; r++) {
		for (size_t i = 0; i < n && !error; i++) {
			size_t v = (r + i) % n;

			error = time_rival(replay, run, replay->rivals[v], v * rounds + r);
			error = stopped && !error ? -EINTR : error;
		}
	}
	for (int pass = 0; pass < REPLAY_PASSES && !error; pass++)
		summarise(replay, run, (enum replay_pass)pass);
	return error;
}

int replay_measure(const struct replay *replay, struct replay_run *run)
{
	size_t n = replay->nrivals * replay->opt.rounds;
	double *figures = calloc(2 * REPLAY_PASSES * n, sizeof(*figures));
	int error = figures ? check(replay, run) : -ENOMEM;

	for (size_t pass = 0; pass < REPLAY_PASSES && figures; pass++) {
		run->ns[pass] = figures + 2 * pass * n;
		run->change_ns[pass] = figures + (2 * pass + 1) * n;
	}
	if (!error)
		error = measure_rounds(replay, run);
	free(figures);
	return error;
}
