/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Does a variant get its speed back when the one who took the lock stops? The
 * same threads go on all the while, since what keeps them at the lock may be
 * themselves. Each variant runs alone, several times in turn with the others.
 */
#include "rivals.h"
#include "taker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BEFORE, DURING, AFTER, PHASES };

enum { SETTLE_MS = 3 };

#define NS_PER_MS UINT64_C(1000000)

/* What the taker of one run sees. */
struct watch {
	struct rival *rival;
	uint64_t phase_ns;
	uint64_t hold_ns;
	bool spin;
	atomic_size_t turn;
	atomic_bool quit;
	double mops[PHASES];
	uint64_t sections;
	int error;
};

/* Of one variant over all its runs. */
struct story {
	double mops[PHASES][ROUNDS_MAX];
	double sections;
	double retries;
};

static void take_until(struct watch *watch, struct ref_thread *thread, uint64_t end)
{
	uint64_t now;

	while ((now = bench_now_ns()) < end) {
		taker_section(watch->rival, thread, watch->hold_ns);
		watch->sections++;
		taker_wait_until(now + 1000000000 / FAST_RATE, watch->spin);
	}
}

static void run_phase(struct watch *watch, int phase, struct ref_thread *thread)
{
	uint64_t start = bench_now_ns(), ops = rival_ops(watch->rival), ns;

	if (phase == DURING)
		take_until(watch, thread, start + watch->phase_ns);
	else
		taker_wait_until(start + watch->phase_ns, false);
	ns = bench_now_ns() - start;
	ops = rival_ops(watch->rival) - ops;
	/* Where nothing was finished, one is what it can have been at most. */
	watch->mops[phase] = (double)(ops ? ops : 1) * 1000.0 / (double)ns;
}

static void *watch_main(void *arg)
{
	struct watch *watch = arg;
	struct ref_thread *thread = ref_thread_create(watch->rival->variant, watch->rival->threads);

	taker_precise();
	if (!thread) {
		watch->error = -ENOMEM;
		return NULL;
	}
	while (atomic_load_explicit(&watch->turn, memory_order_relaxed) == TAKER_IDLE &&
	       !atomic_load_explicit(&watch->quit, memory_order_relaxed))
		taker_wait_until(bench_now_ns() + NS_PER_MS / 4, false);
	taker_wait_until(bench_now_ns() + SETTLE_MS * NS_PER_MS, false);
	for (int phase = 0; phase < PHASES; phase++)
		run_phase(watch, phase, thread);
	ref_thread_destroy(watch->rival->variant, thread);
	return NULL;
}

/* The harness brings the threads: one round as long as the three phases. */
static int run_watched(struct bench *bench, struct watch *watch, unsigned int threads)
{
	const struct bench_variant variant = rival_variant(watch->rival);
	const struct bench_plan plan = {
		.rounds = 1,
		.round_ms = (unsigned int)(PHASES * bench->opt.round_ms + 4 * SETTLE_MS),
		.pin = 1,
	};
	const struct bench_cell cell = {
		.bench = "lockref",
		.scenario = "recover",
		.variants = &variant,
		.nvariants = 1,
		.threads = threads,
	};
	struct bench_result result;
	pthread_t id;
	int error;

	atomic_init(&watch->turn, TAKER_IDLE);
	watch->rival->turn = &watch->turn;
	error = -pthread_create(&id, NULL, watch_main, watch);
	if (error)
		return error;
	error = bench_run(&plan, &cell, &result);
	atomic_store_explicit(&watch->quit, true, memory_order_relaxed);
	pthread_join(id, NULL);
	return error ? error : watch->error;
}

static int run_once(struct bench *bench, const struct scenario *scenario,
                    const struct ref_variant *variant, unsigned int threads, struct story *story,
                    unsigned int round)
{
	struct rival rival;
	struct watch watch = {
		.rival = &rival,
		.phase_ns = bench->opt.round_ms * NS_PER_MS,
		.hold_ns = bench->opt.hold_ns,
		.spin = taker_may_spin(threads),
	};
	uint64_t ops;
	int error = rival_init(&rival, variant, scenario, threads);

	if (error)
		return error;
	error = run_watched(bench, &watch, threads);
	if (!error)
		error = rival_verify(&rival);
	for (int phase = 0; phase < PHASES; phase++)
		story->mops[phase][round] = watch.mops[phase];
	ops = rival_ops(&rival);
	story->retries = ops ? (double)rival.retries / (double)ops : 0;
	story->sections = (double)watch.sections * 1e9 / (double)watch.phase_ns;
	rival_fini(&rival);
	return error;
}

/* ---- report ---- */

static void report(struct bench *bench, const struct scenario *scenario,
                   const struct ref_variant *variant, unsigned int threads, struct story *story)
{
	size_t n = bench->opt.rounds;
	double ratio[ROUNDS_MAX], mops[PHASES], back;
	struct bench_result result = {0};
	char note[128], extra[256];

	for (size_t i = 0; i < n; i++)
		ratio[i] = story->mops[AFTER][i] / story->mops[BEFORE][i];
	back = bench_median(ratio, n);
	for (int phase = 0; phase < PHASES; phase++)
		mops[phase] = bench_median(story->mops[phase], n);
	result.mops = mops[AFTER];
	result.ns_per_op = threads * 1000.0 / mops[AFTER];
	result.min = threads * 1000.0 / story->mops[AFTER][n - 1];
	result.max = threads * 1000.0 / story->mops[AFTER][0];
	snprintf(note, sizeof(note), "%.1f, %.1f, %.1f Mop/s: %s", mops[BEFORE], mops[DURING],
	         mops[AFTER], back >= 0.95 ? "recovers" : "DOES NOT RECOVER");
	snprintf(extra, sizeof(extra), "before=%.3f;during=%.3f;after=%.3f;back=%.3f;recovers=%d",
	         mops[BEFORE], mops[DURING], mops[AFTER], back, back >= 0.95);
	add_row(bench, &(struct row){
			       .scenario = scenario,
			       .variant = variant,
			       .threads = threads,
			       .result = &result,
			       .retries = variant->traits & REF_SWAPS ? story->retries : -1,
			       .sections = story->sections,
			       .note = note,
			       .extra = extra,
		       });
}

int run_recover(struct bench *bench, const struct scenario *scenario, unsigned int threads)
{
	const struct ref_variant *chosen[RIVALS_MAX];
	size_t n = choose_variants(bench, scenario, chosen);
	static struct story story[RIVALS_MAX];
	bool absent[RIVALS_MAX] = {false};
	int error = 0;

	for (unsigned int round = 0; round < bench->opt.rounds && !error; round++) {
		for (size_t i = 0; i < n && !error; i++) {
			size_t v = (round + i) % n;

			error = run_once(bench, scenario, chosen[v], threads, &story[v], round);
			absent[v] = error == -EOPNOTSUPP;
			error = absent[v] ? 0 : error;
		}
	}
	if (error)
		return bench_complain(scenario->name, error);
	for (size_t i = 0; i < n; i++)
		if (!absent[i])
			report(bench, scenario, chosen[i], threads, &story[i]);
	return 0;
}
