/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Question: what does a reference to one object cost, and what becomes of it
 * under contention and under a lock that is taken now and then?
 *
 * One object for all threads, as in open3 of will-it-scale: an operation is a
 * get and a put. The rivals are the library's word; lockref as the kernel has
 * it, with what was proposed for it; a count under a lock; counts with zones;
 * liburcu's; counts a CPU and a thread; and no reference at all. See
 * --scenario and --mode for all of them.
 *
 * Counted: nanoseconds that a thread waits for an operation, millions a second
 * of all threads, swaps that failed per operation, how even threads fare, and
 * percentiles of single operations. After each turn the count must be exact.
 *
 * Not shown: what comes with more processors than there are here: with two, a
 * swap has one other to lose against.
 */
#include "rivals.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_MS = 50, DEFAULT_HOLD_NS = 1000, QUICK_MS = 2, MAX_COUNTS = 16 };

/* ---- options ---- */

static const char usage[] =
	"usage: bench_lockref [OPTION...]\n"
	"What a reference to one object costs. Times are nanoseconds per get and put.\n"
	"  --scenario LIST  only these, separated by commas; see below\n"
	"  --mode LIST      only these ways to count; see below\n"
	"  --threads N      only with N threads (default: 1, 2, 4, ... and all CPUs)\n"
	"  --rounds N       rounds, at least 5 (default 5)\n"
	"  --round-ms MS    length of a round, and of a phase of recover (default 50)\n"
	"  --hold-ns NS     how long the lock taker holds the lock (default 1000)\n"
	"  --csv FILE       write the figures to FILE too\n"
	"  --quick          short rounds: does it work, not how fast is it\n"
	"  --check          are the counts exact and the locks locks? measures nothing\n"
	"The lock taker is a thread more than --threads says.\n";

static void print_help(void)
{
	fputs(usage, stdout);
	printf("Scenarios:\n");
	for (size_t i = 0; i < nscenarios; i++)
		printf("  %-24s %s\n", scenarios[i].name, scenarios[i].about);
	printf("Ways to count:\n");
	for (size_t i = 0; i < nref_variants; i++)
		printf("  %-24s %s\n", ref_variants[i]->mode, ref_variants[i]->about);
}

static int parse_number(const char *what, uint64_t min, uint64_t max, uint64_t *out)
{
	return bench_parse_u64(optarg, min, max, out) ? bench_bad_usage(usage, what, optarg) : 0;
}

static int parse_option(struct options *opt, int c)
{
	switch (c) {
	case 'q':
		opt->round_ms = QUICK_MS;
		opt->rounds = 2;
		return 0;
	case 's':
		opt->scenarios = optarg;
		return 0;
	case 'm':
		opt->modes = optarg;
		return 0;
	case 'c':
		opt->csv = optarg;
		return 0;
	case 'k':
		opt->check = true;
		return 0;
	case 't':
		return parse_number("not a number of threads: ", 1, 1024, &opt->threads);
	case 'r':
		return parse_number("not a number of rounds: ", 5, ROUNDS_MAX, &opt->rounds);
	case 'l':
		return parse_number("not a length in ms: ", 1, 60000, &opt->round_ms);
	case 'n':
		return parse_number("not a length in ns: ", 0, 1000000000, &opt->hold_ns);
	case 'h':
		print_help();
		return 1;
	default:
		return bench_bad_usage(usage, "", "");
	}
}

static bool is_scenario(const char *name)
{
	return scenario_find(name) != NULL;
}

static bool is_mode(const char *name)
{
	return ref_variant_find(name) != NULL;
}

static int check_names(const struct options *opt)
{
	char buf[64], why[160];
	const char *unknown = bench_find_unknown(opt->scenarios, is_scenario, buf, sizeof(buf));

	if (unknown)
		return bench_bad_usage(usage, "no such scenario: ", unknown);
	unknown = bench_find_unknown(opt->modes, is_mode, buf, sizeof(buf));
	if (!unknown)
		return 0;
	snprintf(why, sizeof(why), "%s: ", ref_variant_missing(unknown));
	return bench_bad_usage(usage, why, unknown);
}

/* Return: 0; 1 when there is nothing to do; -errno, told. */
static int parse(struct options *opt, int argc, char **argv)
{
	static const struct option longs[] = {
		{"scenario", required_argument, NULL, 's'},
		{"mode", required_argument, NULL, 'm'},
		{"threads", required_argument, NULL, 't'},
		{"rounds", required_argument, NULL, 'r'},
		{"round-ms", required_argument, NULL, 'l'},
		{"hold-ns", required_argument, NULL, 'n'},
		{"csv", required_argument, NULL, 'c'},
		{"quick", no_argument, NULL, 'q'},
		{"check", no_argument, NULL, 'k'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int c, rc;

	*opt = (struct options){.rounds = 5, .round_ms = DEFAULT_MS, .hold_ns = DEFAULT_HOLD_NS};
	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		rc = parse_option(opt, c);
		if (rc)
			return rc;
	}
	if (optind < argc)
		return bench_bad_usage(usage, "what is this: ", argv[optind]);
	return check_names(opt);
}

/* ---- results ---- */

static void append(char *text, size_t size, const char *key, double value)
{
	size_t len = strlen(text);

	if (value >= 0)
		snprintf(text + len, size - len, "%s%s=%.4f", len ? ";" : "", key, value);
}

static void add_figure(struct bench *bench, const struct row *row)
{
	if (bench->nfigures == FIGURES_MAX)
		return;
	bench->figure[bench->nfigures++] = (struct figure){
		.scenario = row->scenario->name,
		.mode = row->variant->mode,
		.threads = row->threads,
		.traits = row->variant->traits,
		.mops = row->result->mops,
		.rel = row->result->rel,
	};
}

/* A column that may have nothing to say. */
static const char *show(char *buf, size_t size, int decimals, double value, bool known)
{
	if (!known)
		return "-";
	snprintf(buf, size, "%.*f", decimals, value);
	return buf;
}

static void add_to_table(struct bench *bench, const struct row *row)
{
	const struct bench_result *result = row->result;
	char rel[32], retries[32], fairness[32], p50[32], p99[32], sections[32];
	bool timed = result->rel > 0;

	bench_table_row(&bench->table,
	                "%s\t%s\t%u\t%.1f\t%.1f\t%.1f\t%.2f\t%s\t%s\t%s\t%s\t%s\t%s\t%s",
	                row->scenario->name, row->variant->mode, row->threads, result->ns_per_op,
	                result->min, result->max, result->mops,
	                show(rel, sizeof(rel), 2, result->rel, timed),
	                show(retries, sizeof(retries), 3, row->retries, row->retries >= 0),
	                show(fairness, sizeof(fairness), 2, result->fairness, timed),
	                show(p50, sizeof(p50), 0, (double)result->p50, timed),
	                show(p99, sizeof(p99), 0, (double)result->p99, timed),
	                show(sections, sizeof(sections), 0, row->sections, row->sections >= 0),
	                row->note);
}

void add_row(struct bench *bench, const struct row *row)
{
	const struct bench_cell cell = {
		.bench = "lockref",
		.scenario = row->scenario->name,
		.threads = row->threads,
		.paths = 1,
	};
	char extra[512];

	add_figure(bench, row);
	add_to_table(bench, row);
	if (!bench->csv)
		return;
	snprintf(extra, sizeof(extra), "%s", row->extra);
	append(extra, sizeof(extra), "retries", row->retries);
	append(extra, sizeof(extra), "sections_per_s", row->sections);
	bench_csv_row(bench->csv, &cell, row->variant->mode, row->result, extra);
	/* A long run that is broken off keeps what it has. */
	fflush(bench->csv);
}

/* ---- all of it ---- */

static int run_scenario(struct bench *bench, const struct scenario *scenario)
{
	unsigned int counts[MAX_COUNTS];
	size_t n = bench_thread_counts(counts, MAX_COUNTS);
	int error = 0;

	if (bench->opt.threads) {
		counts[0] = (unsigned int)bench->opt.threads;
		n = 1;
	}
	for (size_t i = 0; i < n && !error; i++) {
		if (scenario->not_alone && counts[i] == 1)
			continue;
		fprintf(stderr, "%s, %u thread%s\n", scenario->name, counts[i],
		        counts[i] == 1 ? "" : "s");
		if (strcmp(scenario->name, "self") == 0)
			error = run_self(bench, scenario, counts[i]);
		else if (strcmp(scenario->name, "recover") == 0)
			error = run_recover(bench, scenario, counts[i]);
		else
			error = run_cell(bench, scenario, counts[i]);
	}
	return error;
}

static int show_results(struct bench *bench)
{
	int error = bench->table.failed ? bench_complain("the table", -ENOMEM) : 0;

	putchar('\n');
	bench_table_print(&bench->table, stdout);
	bench_table_fini(&bench->table);
	putchar('\n');
	print_verdicts(bench, stdout);
	return error;
}

static int run(struct bench *bench)
{
	int error = 0, shown;

	bench_table_init(&bench->table, 2);
	bench_table_row(&bench->table,
	                "scenario\tmode\tthreads\tns/op\tbest\tworst\tMop/s\tx first\t"
	                "retries/op\tfairness\tp50 ns\tp99 ns\tlocked/s\tnote");
	for (size_t i = 0; i < nscenarios && !error; i++)
		if (bench_is_listed(bench->opt.scenarios, scenarios[i].name))
			error = run_scenario(bench, &scenarios[i]);
	shown = show_results(bench);
	return error ? error : shown;
}

int main(int argc, char **argv)
{
	static struct bench bench;
	int error = parse(&bench.opt, argc, argv), closed;

	if (error)
		return error < 0 ? 2 : 0;
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (bench.opt.check)
		return check_all() ? 1 : 0;
	if (bench.opt.csv) {
		bench.csv = bench_csv_create(bench.opt.csv);
		if (!bench.csv) {
			bench_complain(bench.opt.csv, -errno);
			return 1;
		}
	}
	error = run(&bench);
	closed = bench.csv ? bench_csv_close(bench.csv) : 0;
	if (closed)
		bench_complain(bench.opt.csv, closed);
	return error || closed;
}
