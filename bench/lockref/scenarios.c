/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rivals.h"
#include "taker.h"

#include <errno.h>
#include <string.h>

#define NO_RWSEM .bars = REF_RWSEM

const struct scenario scenarios[] = {
	{.name = "self",
         .about = "the same twice: the error of the harness",
         .places = PLACES,
         NO_RWSEM},
	{.name = "open1", .about = "an object for each thread", .each_own = true, NO_RWSEM},
	{.name = "open3", .about = "one object for all threads", .places = PLACES, NO_RWSEM},
	{.name = "stat2",
         .about = "the same, its attributes read",
         .work = REF_STAT,
         .places = PLACES,
         NO_RWSEM},
	{.name = "sporadic_10", .about = "open3, its lock taken 10 times a second", .rate = 10},
	{.name = "sporadic_1k", .about = "... 1,000 times", .rate = 1000},
	{.name = "sporadic_100k", .about = "... 100,000 times", .rate = 100000},
	{.name = "recover", .about = "open3 before, while and after its lock is taken"},
	{.name = "mix",
         .about = "two in three take the lock instead",
         .work = REF_MIX,
         .places = PLACES},
	{.name = "dying", .about = "gets of a dead object", .dying = true, .wants = REF_DIES},
	{.name = "near_readmostly_shared",
         .about = "open1, and a field beside the next thread's count is read",
         .work = REF_NEAR,
         .layout = REF_BESIDE,
         .each_own = true,
         .next = true,
         .not_alone = true,
         NO_RWSEM},
	{.name = "near_readmostly_apart",
         .about = "... on a line of its own",
         .work = REF_NEAR,
         .each_own = true,
         .next = true,
         .not_alone = true,
         NO_RWSEM},
	{.name = "near_written_shared",
         .about = "open1, the counts beside each other",
         .layout = REF_PACKED,
         .each_own = true,
         .not_alone = true,
         NO_RWSEM},
	{.name = "near_written_apart",
         .about = "... on lines of their own",
         .each_own = true,
         .not_alone = true,
         NO_RWSEM},
	{.name = "percpu",
         .about = "readers of one lock, no writer",
         .places = PLACES,
         .wants = REF_RWSEM},
};

const size_t nscenarios = sizeof(scenarios) / sizeof(scenarios[0]);

const struct scenario *scenario_find(const char *name)
{
	for (size_t i = 0; i < nscenarios; i++)
		if (strcmp(scenarios[i].name, name) == 0)
			return &scenarios[i];
	return NULL;
}

bool scenario_admits(const struct scenario *scenario, const struct ref_variant *variant)
{
	return (variant->traits & scenario->wants) == scenario->wants &&
	       (variant->traits & scenario->bars) == 0;
}

size_t choose_variants(const struct bench *bench, const struct scenario *scenario,
                       const struct ref_variant **chosen)
{
	size_t n = 0;

	for (size_t i = 0; i < nref_variants && n < RIVALS_MAX; i++) {
		const struct ref_variant *variant = ref_variants[i];

		if (bench_is_listed(bench->opt.modes, variant->mode) &&
		    scenario_admits(scenario, variant))
			chosen[n++] = variant;
	}
	return n;
}

/* ---- a cell ---- */

struct cell {
	struct rival rival[RIVALS_MAX];
	struct bench_variant variant[RIVALS_MAX];
	struct bench_result result[RIVALS_MAX];
	size_t n;
	struct taker taker;
};

/* What the system cannot do is left out, and told once. */
static int fill_cell(struct cell *cell, const struct scenario *scenario,
                     const struct ref_variant *const *chosen, size_t n, unsigned int threads)
{
	static bool told;

	cell->n = 0;
	for (size_t i = 0; i < n; i++) {
		int error = rival_init(&cell->rival[cell->n], chosen[i], scenario, threads);

		if (error == -EOPNOTSUPP) {
			if (!told)
				fprintf(stderr, "note: no membarrier(2) here: without percpu, "
				                "percpu_atomic, perthread and rwsem_*\n");
			told = true;
			continue;
		}
		if (error)
			return error;
		cell->n++;
	}
	for (size_t i = 0; i < cell->n; i++)
		cell->variant[i] = rival_variant(&cell->rival[i]);
	return 0;
}

static void empty_cell(struct cell *cell)
{
	for (size_t i = 0; i < cell->n; i++)
		rival_fini(&cell->rival[i]);
	cell->n = 0;
}

static int measure_cell(struct bench *bench, struct cell *cell, const struct scenario *scenario,
                        unsigned int threads)
{
	bool self = !strcmp(scenario->name, "self");
	const struct bench_plan plan = {
		.rounds = self && bench->opt.rounds < SELF_ROUNDS ? SELF_ROUNDS
	                                                          : (unsigned int)bench->opt.rounds,
		.round_ms = (unsigned int)bench->opt.round_ms,
		.warmup_ms = (unsigned int)bench->opt.round_ms,
		.latency_ms = (unsigned int)bench->opt.round_ms,
		.pin = 1,
	};
	const struct bench_cell what = {
		.bench = "lockref",
		.scenario = scenario->name,
		.variants = cell->variant,
		.nvariants = cell->n,
		.threads = threads,
		.paths = 1,
	};
	int error, stopped;

	if (!scenario->rate)
		return bench_run(&plan, &what, cell->result);
	cell->taker = (struct taker){
		.rivals = cell->rival,
		.nrivals = cell->n,
		.rate = scenario->rate,
		.hold_ns = bench->opt.hold_ns,
		.spin = taker_may_spin(threads),
	};
	error = taker_start(&cell->taker);
	if (error)
		return error;
	error = bench_run(&plan, &what, cell->result);
	stopped = taker_stop(&cell->taker);
	return error ? error : stopped;
}

static double retries_of(const struct rival *rival)
{
	uint64_t ops = rival_ops(rival);

	if (!(rival->variant->traits & REF_SWAPS) || !ops)
		return -1;
	return (double)rival->retries / (double)ops;
}

static int report_cell(struct bench *bench, struct cell *cell, const struct scenario *scenario,
                       unsigned int threads)
{
	for (size_t i = 0; i < cell->n; i++) {
		const struct rival *rival = &cell->rival[i];
		const struct row row = {
			.scenario = scenario,
			.variant = rival->variant,
			.threads = threads,
			.result = &cell->result[i],
			.retries = retries_of(rival),
			.sections = scenario->rate ? taker_rate(&cell->taker, i) : -1,
			.note = "",
			.extra = "",
		};
		int error = rival_verify(rival);

		if (error)
			return error;
		add_row(bench, &row);
	}
	return 0;
}

int run_cell(struct bench *bench, const struct scenario *scenario, unsigned int threads)
{
	const struct ref_variant *chosen[RIVALS_MAX];
	size_t n = choose_variants(bench, scenario, chosen);
	static struct cell cell;
	int error;

	if (!n)
		return 0;
	error = fill_cell(&cell, scenario, chosen, n, threads);
	if (!error && cell.n)
		error = measure_cell(bench, &cell, scenario, threads);
	if (error)
		bench_complain(scenario->name, error);
	else
		error = report_cell(bench, &cell, scenario, threads);
	empty_cell(&cell);
	return error;
}

int run_self(struct bench *bench, const struct scenario *scenario, unsigned int threads)
{
	const struct ref_variant *chosen[2] = {ref_variants[0], ref_variants[0]};
	static struct cell cell;
	int error = fill_cell(&cell, scenario, chosen, 2, threads);

	if (!error)
		error = measure_cell(bench, &cell, scenario, threads);
	if (error)
		bench_complain(scenario->name, error);
	for (size_t i = 0; i < cell.n && !error; i++) {
		const struct row row = {
			.scenario = scenario,
			.variant = chosen[i],
			.threads = threads,
			.result = &cell.result[i],
			.retries = -1,
			.sections = -1,
			.note = i ? "b" : "a",
			.extra = i ? "pair=b" : "pair=a",
		};

		error = rival_verify(&cell.rival[i]);
		if (!error)
			add_row(bench, &row);
	}
	empty_cell(&cell);
	return error;
}
