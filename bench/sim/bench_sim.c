/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Question: what do the ways to count references do on machines that are not at
 * hand, and does one simple cause, a cache line that only one core can have,
 * explain what others have published?
 *
 * Workload: a discrete-event model (engine.h) of the modes and scenarios of
 * bench_lockref, and of the system calls in the published tables. Its few
 * constants are solved once from published figures of one and two workers;
 * everything else is predicted and printed beside what was published.
 *
 * Counted: operations of all processors by the model's clock. Nothing here is
 * measured, and no row of it is in one file with rows that are.
 *
 * Not shown: caches that are too small, bandwidth, frequency, interrupts, the
 * scheduler, memory that is far; a store buffer; prefetching. An instruction
 * costs the same on all machines.
 */
#include "grid.h"
#include "report.h"

#include "harness.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

struct options {
	const char *published;
	const char *csv;
	const char *scenarios;
	const char *modes;
	enum sim_order order;
	enum sim_hold hold;
	uint64_t seed;
	bool quick;
};

static const struct sim_effort full = {.ops = 4000, .ops_each = 60, .events = 400000};
static const struct sim_effort quick = {.ops = 400, .ops_each = 4, .events = 16000};
/* There are thousands of these. */
static const struct sim_effort quick_grid = {.ops = 100, .ops_each = 4, .events = 3000};
static const struct sim_effort full_grid = {.ops = 300, .ops_each = 14, .events = 20000};

static int complain(const char *what, const char *why)
{
	fprintf(stderr, "bench_sim: %s: %s\n", what, why);
	return 1;
}

/* ---- options ---- */

static const char usage[] =
	"usage: bench_sim [OPTION...]\n"
	"Predict what ways to count references do at 1 to 224 workers, from a model of\n"
	"who owns a cache line, and compare with published figures.\n"
	"  --published FILE  the published figures (default: bench/published.csv of the\n"
	"                    source tree)\n"
	"  --csv FILE        write rows for all machines, scenarios, modes and workers,\n"
	"                    and (scenario published) for the published figures\n"
	"  --scenario LIST   only these rows, separated by commas\n"
	"  --mode LIST       only these rows, and none of published figures\n"
	"  --order ORDER     whose request of a line comes next: nearest (default), fifo\n"
	"  --hold HOLD       how long an owner keeps a line that somebody wants: random\n"
	"                    (default: any part of a transfer), half (of it), none\n"
	"  --seed N          of all that is random (default 1)\n"
	"  --quick           short runs, few machines: does it work\n"
	"The same options give the same figures.\n";

static int print_usage(void)
{
	fputs(usage, stdout);
	fputs("scenarios:", stdout);
	for (size_t i = 0; i < SIM_SCENARIOS; i++)
		printf(" %s", sim_scenario_names[i]);
	fputs(" published\nmodes:", stdout);
	for (size_t i = 0; i < sim_nmodes; i++)
		printf(" %s", sim_modes[i].name);
	putchar('\n');
	return 1;
}

static int parse_order(struct options *opt)
{
	if (!strcmp(optarg, "nearest"))
		opt->order = SIM_NEAREST;
	else if (!strcmp(optarg, "fifo"))
		opt->order = SIM_FIFO;
	else
		return bench_bad_usage(usage, "no such order: ", optarg);
	return 0;
}

static int parse_hold(struct options *opt)
{
	if (!strcmp(optarg, "random"))
		opt->hold = SIM_HOLD_RANDOM;
	else if (!strcmp(optarg, "half"))
		opt->hold = SIM_HOLD_HALF;
	else if (!strcmp(optarg, "none"))
		opt->hold = SIM_HOLD_NONE;
	else
		return bench_bad_usage(usage, "no such hold: ", optarg);
	return 0;
}

static int parse_option(struct options *opt, int c)
{
	switch (c) {
	case 'p':
		opt->published = optarg;
		return 0;
	case 'c':
		opt->csv = optarg;
		return 0;
	case 's':
		opt->scenarios = optarg;
		return 0;
	case 'm':
		opt->modes = optarg;
		return 0;
	case 'o':
		return parse_order(opt);
	case 'H':
		return parse_hold(opt);
	case 'S':
		return bench_parse_u64(optarg, 0, UINT64_MAX, &opt->seed)
		               ? bench_bad_usage(usage, "not a seed: ", optarg)
		               : 0;
	case 'q':
		opt->quick = true;
		return 0;
	case 'h':
		return print_usage();
	default:
		fputs(usage, stderr);
		return -EINVAL;
	}
}

/* The other rows of the CSV file: a scenario of its own, since its operations are others. */
static const char published_name[] = "published";

static bool is_scenario(const char *name)
{
	return sim_scenario_is_known(name) || !strcmp(name, published_name);
}

static int check_names(const struct options *opt)
{
	const char *unknown;
	char name[64];

	unknown = bench_find_unknown(opt->scenarios, is_scenario, name, sizeof(name));
	if (unknown)
		return bench_bad_usage(usage, "no such scenario: ", unknown);
	unknown = bench_find_unknown(opt->modes, sim_mode_is_known, name, sizeof(name));
	if (unknown)
		return bench_bad_usage(usage, "no such mode: ", unknown);
	return 0;
}

/* Return: 0; 1 when all is done already; -EINVAL. */
static int parse(struct options *opt, int argc, char **argv)
{
	static const struct option longs[] = {
		{"published", required_argument, NULL, 'p'},
		{"csv", required_argument, NULL, 'c'},
		{"scenario", required_argument, NULL, 's'},
		{"mode", required_argument, NULL, 'm'},
		{"order", required_argument, NULL, 'o'},
		{"hold", required_argument, NULL, 'H'},
		{"seed", required_argument, NULL, 'S'},
		{"quick", no_argument, NULL, 'q'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int c, result = 0;

	while (!result && (c = getopt_long(argc, argv, "h", longs, NULL)) != -1)
		result = parse_option(opt, c);
	if (result)
		return result;
	if (optind < argc)
		return bench_bad_usage(usage, "not an option: ", argv[optind]);
	return check_names(opt);
}

/* ---- the run ---- */

/* The other choices of structure, each with constants of its own. */
static void print_choices(const struct sim_model *model, FILE *out)
{
	static const char *const orders[] = {[SIM_NEAREST] = "nearest", [SIM_FIFO] = "fifo"};
	static const char *const holds[] = {
		[SIM_HOLD_RANDOM] = "random", [SIM_HOLD_HALF] = "half", [SIM_HOLD_NONE] = "none"};
	struct sim_predictions *predictions = malloc(sizeof(*predictions));
	struct bench_table table;

	if (!predictions)
		return;
	fputs("What other choices of order and hold would give, shorter runs\n", out);
	bench_table_init(&table, 2);
	bench_table_row(&table, "order\thold\ttransfer ns\tshapes");
	for (int i = 0; i < 6; i++) {
		struct sim_model other = *model;

		other.order = (enum sim_order)(i / 3);
		other.hold = (enum sim_hold)(i % 3);
		other.effort.ops /= 4;
		other.effort.ops_each /= 4;
		other.effort.events /= 4;
		if (sim_calibrate(&other))
			continue;
		sim_predict_all(&other, predictions);
		bench_table_row(&table, "%s\t%s\t%.1f\t%zu", orders[other.order], holds[other.hold],
		                other.constants.cost.near / 1e3,
		                sim_count_shapes(other.published, predictions));
	}
	bench_table_print_bare(&table, out);
	bench_table_fini(&table);
	free(predictions);
	fputc('\n', out);
}

static int run_grid(const struct sim_model *model, const struct options *opt,
                    const struct sim_predictions *predictions)
{
	struct sim_model grid = *model;
	struct sim_grid_options options = {
		.scenarios = opt->scenarios, .modes = opt->modes, .quick = opt->quick};
	int error;

	grid.effort = opt->quick ? quick_grid : full_grid;
	grid.effort.seed = opt->seed;
	if (opt->csv && !(options.csv = bench_csv_create(opt->csv)))
		return complain(opt->csv, strerror(errno));
	if (options.csv && !opt->modes && bench_is_listed(opt->scenarios, published_name))
		sim_write_predictions(model->published, predictions, options.csv);
	error = sim_grid_run(&grid, &options, stdout);
	if (error)
		complain("the grid", strerror(-error));
	if (options.csv) {
		int closed = bench_csv_close(options.csv);

		if (closed)
			return complain(opt->csv, strerror(-closed));
	}
	return error != 0;
}

static int run(struct sim_model *model, const struct options *opt,
               struct sim_predictions *predictions)
{
	model->effort = opt->quick ? quick : full;
	model->effort.seed = opt->seed;
	model->order = opt->order;
	model->hold = opt->hold;
	if (sim_calibrate(model))
		return complain(opt->published, "lacks a figure that constants are solved from");
	fputs("A model: nothing of this is measured.\n\n", stdout);
	sim_print_constants(model, stdout);
	sim_predict_all(model, predictions);
	sim_print_tables(model->published, predictions, stdout);
	sim_print_shapes(model->published, predictions, stdout);
	if (!opt->quick)
		print_choices(model, stdout);
	return run_grid(model, opt, predictions);
}

int main(int argc, char **argv)
{
	static struct sim_published published;
	static struct sim_predictions predictions;
	struct options opt = {.published = SIM_PUBLISHED, .seed = 1};
	struct sim_model model = {.published = &published};
	int result = parse(&opt, argc, argv);

	if (result)
		return result < 0 ? 2 : 0;
	result = sim_published_read(&published, opt.published);
	if (result)
		return complain(opt.published,
		                result == -EINVAL ? "not a table of figures" : strerror(-result));
	model.lab = sim_lab_create();
	if (!model.lab)
		return complain("the model", strerror(ENOMEM));
	result = run(&model, &opt, &predictions);
	sim_lab_destroy(model.lab);
	return result;
}
