/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "grid.h"

#include "harness.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const unsigned int counts[] = {1,  2,  4,  8,  16,  24,  28,  36,
                                      48, 56, 72, 96, 104, 112, 192, 224};
static const unsigned int few_counts[] = {1, 2, 8};

enum {
	COUNTS = sizeof(counts) / sizeof(counts[0]),
	FEW_COUNTS = sizeof(few_counts) / sizeof(few_counts[0]),
	MODES_MAX = 32,
	QUICK_MACHINES = 2,
	FROM = 8, /* the claims are about so many workers and more */
};

/* By machine, count and mode; 0: not run. */
struct grid {
	const struct sim_model *model;
	const struct sim_grid_options *options;
	double one_object[SIM_GRID_MACHINES][COUNTS][MODES_MAX];
	double recovered[SIM_GRID_MACHINES][COUNTS][MODES_MAX]; /* after / before */
	double attacked[SIM_GRID_MACHINES][COUNTS][MODES_MAX];  /* during / before */
};

bool sim_scenario_is_known(const char *name)
{
	for (size_t i = 0; i < SIM_SCENARIOS; i++)
		if (!strcmp(sim_scenario_names[i], name))
			return true;
	return false;
}

bool sim_mode_is_known(const char *name)
{
	return sim_mode_find(name) != NULL;
}

static const unsigned int *counts_of(const struct sim_grid_options *options, size_t *n)
{
	*n = options->quick ? FEW_COUNTS : COUNTS;
	return options->quick ? few_counts : counts;
}

/* ---- the cells ---- */

static void write_row(const struct grid *grid, enum sim_scenario scenario,
                      const struct sim_setup *setup, const struct sim_outcome *outcome)
{
	struct bench_cell cell = {.bench = "sim",
	                          .scenario = sim_scenario_names[scenario],
	                          .threads = setup->threads};
	double ns = outcome->rate > 0 ? setup->threads * 1e9 / outcome->rate : 0;
	struct bench_result result = {
		.ns_per_op = ns, .min = ns, .max = ns, .mops = outcome->rate / 1e6};
	char extra[160];
	int n = snprintf(extra, sizeof(extra), "machine=%s;retries=%.3f", setup->machine->name,
	                 outcome->repeats);

	if (outcome->before > 0)
		snprintf(extra + n, sizeof(extra) - (size_t)n,
		         ";before=%.4f;during=%.4f;after=%.4f", outcome->before / 1e6,
		         outcome->during / 1e6, outcome->after / 1e6);
	bench_csv_row(grid->options->csv, &cell, setup->mode->name, &result, extra);
}

static bool is_listed(const struct grid *grid, enum sim_scenario scenario,
                      const struct sim_mode *mode)
{
	const struct sim_grid_options *options = grid->options;

	return options->csv && bench_is_listed(options->scenarios, sim_scenario_names[scenario]) &&
	       bench_is_listed(options->modes, mode->name);
}

/* Sections every tenth of a second and every millisecond leave the same time to settle: one run. */
static void write_recovery_rows(const struct grid *grid, const struct sim_setup *setup,
                                const struct sim_outcome *outcome)
{
	static const enum sim_scenario same[] = {SIM_RECOVER, SIM_SPORADIC_10, SIM_SPORADIC_1K};

	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		if (is_listed(grid, same[i], setup->mode))
			write_row(grid, same[i], setup, outcome);
}

static void run_cell(struct grid *grid, enum sim_scenario scenario, struct sim_setup *setup,
                     size_t count)
{
	size_t machine = (size_t)(setup->machine - sim_machines);
	size_t mode = (size_t)(setup->mode - sim_modes);
	struct sim_outcome outcome;

	/* A ratio close to 1 takes a longer run than a rate; so long, where it is cheap. */
	if (scenario == SIM_RECOVER && setup->mode->kind == SIM_KIND_WORD)
		setup->ops *= 20;
	outcome = sim_measure_scenario(grid->model->lab, setup, scenario);
	if (scenario == SIM_OPEN3)
		grid->one_object[machine][count][mode] = outcome.rate;
	if (scenario == SIM_RECOVER && outcome.before > 0) {
		grid->recovered[machine][count][mode] = outcome.after / outcome.before;
		grid->attacked[machine][count][mode] = outcome.during / outcome.before;
	}
	if (scenario == SIM_RECOVER)
		write_recovery_rows(grid, setup, &outcome);
	else if (is_listed(grid, scenario, setup->mode))
		write_row(grid, scenario, setup, &outcome);
}

static bool is_needed(const struct grid *grid, enum sim_scenario scenario,
                      const struct sim_mode *mode)
{
	if (!sim_applies(scenario, mode) || scenario == SIM_SPORADIC_10 ||
	    scenario == SIM_SPORADIC_1K)
		return false;
	if (scenario == SIM_OPEN3 || is_listed(grid, scenario, mode))
		return true;
	return scenario == SIM_RECOVER &&
	       (mode->kind == SIM_KIND_WORD || is_listed(grid, SIM_SPORADIC_10, mode) ||
	        is_listed(grid, SIM_SPORADIC_1K, mode));
}

static void run_machine(struct grid *grid, enum sim_machine_id machine)
{
	size_t n;
	const unsigned int *workers = counts_of(grid->options, &n);

	for (size_t i = 0; i < n && workers[i] <= sim_cpus(&sim_machines[machine]); i++)
		for (size_t mode = 0; mode < sim_nmodes; mode++)
			for (unsigned int s = 0; s < SIM_SCENARIOS; s++) {
				struct sim_cost cost;
				struct sim_setup setup =
					sim_setup_on(grid->model, machine, sim_modes[mode].name,
				                     workers[i], &cost);

				if (is_needed(grid, (enum sim_scenario)s, setup.mode))
					run_cell(grid, (enum sim_scenario)s, &setup, i);
			}
}

/* ---- the claims ---- */

/* The smallest ratio there was, and where. */
struct worst {
	double ratio;
	size_t machine, count, mode;
};

struct claim {
	const char *text;
	double at_least;
	/* NAN where it says nothing of that mode. */
	double (*ratio)(const struct grid *grid, const struct worst *at);
};

static double against_word(const struct grid *grid, const struct worst *at)
{
	const double *rates = grid->one_object[at->machine][at->count];

	return rates[at->mode] > 0 ? rates[0] / rates[at->mode] : NAN;
}

static double word_to_lockref(const struct grid *grid, const struct worst *at)
{
	return sim_modes[at->mode].kind == SIM_KIND_LOCKREF ? against_word(grid, at) : NAN;
}

static double word_to_locked(const struct grid *grid, const struct worst *at)
{
	return sim_modes[at->mode].kind == SIM_KIND_LOCKED ? against_word(grid, at) : NAN;
}

static double word_after_taker(const struct grid *grid, const struct worst *at)
{
	return at->mode == 0 ? grid->recovered[at->machine][at->count][0] : NAN;
}

static double word_beside_taker(const struct grid *grid, const struct worst *at)
{
	return at->mode == 0 ? grid->attacked[at->machine][at->count][0] : NAN;
}

static double rcu_to_counted(const struct grid *grid, const struct worst *at)
{
	const double *rates = grid->one_object[at->machine][at->count];
	double rcu = rates[sim_mode_find("rcu") - sim_modes];

	return sim_modes[at->mode].kind <= SIM_KIND_LOCKED && rates[at->mode] > 0
	               ? rcu / rates[at->mode]
	               : NAN;
}

static const struct claim claims[] = {
	{"the word does 1.1 times what each lockref does", 1.1, word_to_lockref},
	{"and 3.5 times what each locked-only count does", 3.5, word_to_locked},
	{"it is as fast after a sporadic lock taker", 0.95, word_after_taker},
	{"and beside it", 0.95, word_beside_taker},
	{"no reference at all: 10 times each count of the object", 10, rcu_to_counted},
};

static struct worst find_worst(const struct grid *grid, const struct claim *claim)
{
	struct worst worst = {.ratio = INFINITY}, at = {0};
	size_t n;
	const unsigned int *workers = counts_of(grid->options, &n);

	for (at.machine = 0; at.machine < SIM_GRID_MACHINES; at.machine++)
		for (at.count = 0; at.count < n; at.count++)
			for (at.mode = 0; at.mode < sim_nmodes; at.mode++) {
				if (workers[at.count] < FROM ||
				    !(grid->one_object[at.machine][at.count][0] > 0))
					continue;
				at.ratio = claim->ratio(grid, &at);
				if (at.ratio < worst.ratio)
					worst = at;
			}
	return worst;
}

static void print_claims(const struct grid *grid, FILE *out)
{
	struct bench_table table;
	size_t n;
	const unsigned int *workers = counts_of(grid->options, &n);

	fprintf(out, "The order of two workers, at %d and more (a get and a put, nothing else)\n",
	        FROM);
	bench_table_init(&table, 1);
	bench_table_row(&table, "claim\tat least\tsmallest\t\twhere");
	for (size_t i = 0; i < sizeof(claims) / sizeof(claims[0]); i++) {
		struct worst worst = find_worst(grid, &claims[i]);

		bench_table_row(&table, "%s\t%.2f\t%.2f\t%s\t%s, %u workers, %s", claims[i].text,
		                claims[i].at_least, worst.ratio,
		                worst.ratio >= claims[i].at_least ? "holds" : "DOES NOT HOLD",
		                sim_modes[worst.mode].name, workers[worst.count],
		                sim_machines[worst.machine].name);
	}
	bench_table_print_bare(&table, out);
	bench_table_fini(&table);
	fputc('\n', out);
}

int sim_grid_run(const struct sim_model *model, const struct sim_grid_options *options, FILE *out)
{
	size_t machines = options->quick ? QUICK_MACHINES : SIM_GRID_MACHINES;
	struct grid *grid = calloc(1, sizeof(*grid));

	if (!grid)
		return -ENOMEM;
	grid->model = model;
	grid->options = options;
	for (size_t i = 0; i < machines; i++)
		run_machine(grid, (enum sim_machine_id)i);
	print_claims(grid, out);
	free(grid);
	return 0;
}
