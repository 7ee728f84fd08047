/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Question: what becomes of each way to count references, and of each way to
 * look up a name, as more and more processors do it at once?
 *
 * Workload: scenarios of bench_lockref on one object, and lookups of names
 * that no file stands for, by 1, 2, 3, 4, 6, 8, 12, ... threads, up to twice as
 * many as there are CPUs. A thread stays on its CPU: first one on each core,
 * package by package, then the cores' further CPUs, then round once more.
 *
 * Counted: as bench_lockref and bench_lookup do. What the machine is goes into
 * a JSON file beside the CSV file.
 *
 * It needs no file, no library and no rights, so that it can be carried to a
 * machine that has nothing of this project. Broken off, it leaves all rows that
 * were finished.
 *
 * Not shown: locked_mcs by more threads than CPUs, whose waiters do not give
 * their processor away, so that a turn would take minutes; memory of other nodes,
 * which the object's and the names' is for threads there; other work on the
 * machine, unless there is some.
 */
#include "rivals.h"
#include "scale.h"
#include "topology.h"

#include <errno.h>
#include <getopt.h>
#include <pathcache.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	ROUND_MS = 50,
	QUICK_MS = 1,
	QUICK_ROUNDS = 2,
	HOLD_NS = 1000,
	COUNTS_MAX = 64,
	THREADS_MAX = 2 * TOPOLOGY_CPUS,
};

/* Of bench_lockref's, those that are about numbers of threads. */
static const char *const references[] = {
	"self",        "open1",         "open3", "stat2",  "sporadic_10",
	"sporadic_1k", "sporadic_100k", "mix",   "percpu", NULL,
};

struct scale {
	struct bench bench; /* for the parts of bench_lockref */
	struct topology topology;
	unsigned int counts[COUNTS_MAX];
	size_t ncounts;
	const char *counts_wanted;
	int quick;
	double done, total; /* milliseconds of turns */
	uint64_t start_ns;
};

/* ---- options ---- */

static const char usage[] =
	"usage: bench_scale [OPTION...]\n"
	"The same operations by more and more threads, pinned: first one on each core,\n"
	"package by package, then the cores' further CPUs, then more threads than CPUs.\n"
	"One static program: it may be copied to another machine and run there.\n"
	"  --csv FILE       write the figures to FILE, each row when it is known, and what\n"
	"                   the machine is to FILE with .json for .csv\n"
	"  --scenario LIST  only these, separated by commas; see below\n"
	"  --mode LIST      only these, of references and of lookups alike; see below\n"
	"  --threads LIST   only these numbers of threads\n"
	"  --rounds N       turns of each mode in a cell, at least 5 (default 5)\n"
	"  --round-ms MS    length of a turn in milliseconds (default 50)\n"
	"  --quick          short turns: does it work, not how fast is it\n"
	"  --topology       print what the machine is and in what order threads fill it\n"
	"Break it off when you like: what was written stays.\n";

static void print_names(const char *title, const char *const *names)
{
	fputs(title, stdout);
	for (; *names; names++)
		printf(" %s", *names);
}

static void print_usage(void)
{
	fputs(usage, stdout);
	print_names("scenarios:", references);
	print_names("", scale_lookups);
	fputs("\nmodes of references:", stdout);
	for (size_t i = 0; i < nref_variants; i++)
		printf(" %s", ref_variants[i]->mode);
	print_names("\nmodes of lookups:", scale_lookup_modes);
	putchar('\n');
}

static bool is_among(const char *const *names, const char *name)
{
	for (; *names; names++) {
		if (!strcmp(*names, name))
			return true;
	}
	return false;
}

static bool is_scenario(const char *name)
{
	return is_among(references, name) || is_among(scale_lookups, name);
}

static bool is_mode(const char *name)
{
	return ref_variant_find(name) || is_among(scale_lookup_modes, name);
}

static bool is_count(const char *name)
{
	uint64_t n;

	return !bench_parse_u64(name, 1, THREADS_MAX, &n);
}

static int check_lists(const struct scale *scale)
{
	const struct options *opt = &scale->bench.opt;
	char name[64];

	if (bench_find_unknown(opt->scenarios, is_scenario, name, sizeof(name)))
		return bench_bad_usage(usage, "no such scenario: ", name);
	if (bench_find_unknown(opt->modes, is_mode, name, sizeof(name)))
		return bench_bad_usage(usage, "no such mode in this build: ", name);
	if (bench_find_unknown(scale->counts_wanted, is_count, name, sizeof(name)))
		return bench_bad_usage(usage, "not a number of threads: ", name);
	return 0;
}

/* Measured first, also so that it is known that threads are pinned. */
static int write_machine(const struct scale *scale, const char *path)
{
	const struct bench_plan plan = {
		.rounds = 5,
		.round_ms = QUICK_MS,
		.warmup_ms = QUICK_MS,
		.pin = 1,
	};

	return topology_write(&scale->topology, bench_floor_ns(&plan), path);
}

static int print_topology(const struct scale *scale)
{
	int error = write_machine(scale, "/dev/stdout");

	return error ? bench_complain("the topology", error) : 1;
}

static int parse_option(struct scale *scale, int c)
{
	struct options *opt = &scale->bench.opt;

	switch (c) {
	case 's':
		opt->scenarios = optarg;
		return 0;
	case 'M':
		opt->modes = optarg;
		return 0;
	case 'c':
		opt->csv = optarg;
		return 0;
	case 't':
		scale->counts_wanted = optarg;
		return 0;
	case 'r':
		return bench_parse_u64(optarg, 5, 1000, &opt->rounds)
		               ? bench_bad_usage(usage, "not a number of rounds: ", optarg)
		               : 0;
	case 'l':
		return bench_parse_u64(optarg, 1, 60000, &opt->round_ms)
		               ? bench_bad_usage(usage, "not a number of milliseconds: ", optarg)
		               : 0;
	case 'q':
		scale->quick = 1;
		opt->rounds = QUICK_ROUNDS;
		opt->round_ms = QUICK_MS;
		return 0;
	case 'T':
		return print_topology(scale);
	case 'h':
		print_usage();
		return 1;
	default:
		fputs(usage, stderr);
		return -EINVAL;
	}
}

/* Return: 0 go on, 1 all done (help), -EINVAL. */
static int parse_options(struct scale *scale, int argc, char **argv)
{
	static const struct option longs[] = {
		{"scenario", required_argument, NULL, 's'},
		{"mode", required_argument, NULL, 'M'},
		{"csv", required_argument, NULL, 'c'},
		{"threads", required_argument, NULL, 't'},
		{"rounds", required_argument, NULL, 'r'},
		{"round-ms", required_argument, NULL, 'l'},
		{"quick", no_argument, NULL, 'q'},
		{"topology", no_argument, NULL, 'T'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int c, error = 0;

	scale->bench.opt = (struct options){
		.rounds = 5,
		.round_ms = ROUND_MS,
		.hold_ns = HOLD_NS,
	};
	while (!error && (c = getopt_long(argc, argv, "h", longs, NULL)) != -1)
		error = parse_option(scale, c);
	if (!error && optind < argc)
		error = bench_bad_usage(usage, "not an option: ", argv[optind]);
	return error ? error : check_lists(scale);
}

static size_t wanted_counts(const char *list, unsigned int *counts, size_t max)
{
	size_t n = 0;

	for (const char *at = list; *at && n < max; at += strspn(at, ","))
		counts[n++] = (unsigned int)strtoul(at, (char **)(uintptr_t)&at, 10);
	return n;
}

/* ---- rows ---- */

/* FILE.json for FILE.csv. */
static void json_name(const char *csv, char *out, size_t size)
{
	size_t len = strlen(csv);

	if (len > 4 && !strcmp(csv + len - 4, ".csv"))
		len -= 4;
	snprintf(out, size, "%.*s.json", (int)len, csv);
}

static void emit(struct bench *bench, const struct bench_cell *cell, const char *mode,
                 const struct bench_result *result, const char *extra)
{
	bench_table_row(&bench->table,
	                "%s\t%s\t%u\t%.1f\t%.1f\t%.1f\t%.2f\t%.2f\t%.2f\t%ju\t%ju\t%ju",
	                cell->scenario, mode, cell->threads, result->ns_per_op, result->min,
	                result->max, result->mops, result->rel, result->fairness,
	                (uintmax_t)result->p50, (uintmax_t)result->p99, (uintmax_t)result->p999);
	if (!bench->csv)
		return;
	bench_csv_row(bench->csv, cell, mode, result, extra);
	fflush(bench->csv);
}

void add_row(struct bench *bench, const struct row *row)
{
	const struct bench_cell cell = {
		.bench = "scale",
		.scenario = row->scenario->name,
		.threads = row->threads,
		.paths = 1,
	};
	char extra[256];
	size_t at = (size_t)snprintf(extra, sizeof(extra), "%s", row->extra);

	if (row->retries >= 0)
		at += (size_t)snprintf(extra + at, sizeof(extra) - at, "%sretries=%.4f",
		                       at ? ";" : "", row->retries);
	if (row->sections >= 0)
		snprintf(extra + at, sizeof(extra) - at, "%ssections_per_s=%.0f", at ? ";" : "",
		         row->sections);
	emit(bench, &cell, row->variant->mode, row->result, extra);
}

static void begin_table(struct bench *bench)
{
	bench_table_init(&bench->table, 2);
	bench_table_row(&bench->table, "scenario\tmode\tthreads\tns/op\tmin\tmax\tMop/s\tto first\t"
	                               "fair\tp50\tp99\tp99.9");
}

static void end_table(struct bench *bench)
{
	bench_table_print(&bench->table, stdout);
	putchar('\n');
	bench_table_fini(&bench->table);
}

/* ---- time ---- */

/* Of the turns of one cell, the warm-up and the one for latencies among them. */
static double cell_ms(const struct scale *scale, size_t variants)
{
	const struct options *opt = &scale->bench.opt;

	return (double)variants * (double)((opt->rounds + 2) * opt->round_ms);
}

static size_t count_variants(const struct scale *scale, const char *name)
{
	const struct ref_variant *chosen[RIVALS_MAX];
	size_t n = 0;

	if (!strcmp(name, "self"))
		return 2;
	if (is_among(references, name))
		return choose_variants(&scale->bench, scenario_find(name), chosen);
	for (const char *const *mode = scale_lookup_modes; *mode; mode++)
		n += (size_t)bench_is_listed(scale->bench.opt.modes, *mode);
	return n;
}

static void plan_time(struct scale *scale, const char *const *names)
{
	for (; *names; names++) {
		if (bench_is_listed(scale->bench.opt.scenarios, *names))
			scale->total += cell_ms(scale, count_variants(scale, *names)) *
			                (double)scale->ncounts;
	}
}

/* What is left takes as much longer than planned as what is done has taken. */
static void tell_time(struct scale *scale, const char *name, unsigned int threads)
{
	double spent = (double)(bench_now_ns() - scale->start_ns) / 1e9, left;

	scale->done += cell_ms(scale, count_variants(scale, name));
	left = spent * (scale->total - scale->done) / scale->done;
	fprintf(stderr, "%s, %u threads; %.0f s done, about %.0f s left\n", name, threads, spent,
	        left > 0 ? left : 0);
}

/* ---- cells ---- */

static int run_lookup(struct scale *scale, struct scale_lookup *lookup, unsigned int threads)
{
	const struct options *opt = &scale->bench.opt;
	const struct bench_plan plan = {
		.rounds = (unsigned int)opt->rounds,
		.round_ms = (unsigned int)opt->round_ms,
		.warmup_ms = (unsigned int)opt->round_ms,
		.latency_ms = (unsigned int)opt->round_ms,
		.pin = 1,
	};
	struct bench_result results[SCALE_MODES];
	struct bench_cell cell;
	int error = scale_lookup_run(lookup, &plan, threads, &cell, results);

	if (error)
		return bench_complain("a lookup", error);
	for (size_t i = 0; i < scale_lookup_count(lookup); i++)
		emit(&scale->bench, &cell, scale_lookup_mode(lookup, i), &results[i], "");
	return 0;
}

static int run_lookups(struct scale *scale, const char *name)
{
	unsigned int most = 1;
	struct scale_lookup *lookup;
	int error;

	if (!bench_is_listed(scale->bench.opt.scenarios, name))
		return 0;
	for (size_t i = 0; i < scale->ncounts; i++)
		most = scale->counts[i] > most ? scale->counts[i] : most;
	error = scale_lookup_create(&lookup, name, scale->bench.opt.modes, most, scale->quick);
	if (error == -ENODATA)
		return 0;
	if (error)
		return bench_complain(name, error);
	begin_table(&scale->bench);
	for (size_t i = 0; i < scale->ncounts && !error; i++) {
		error = run_lookup(scale, lookup, scale->counts[i]);
		tell_time(scale, name, scale->counts[i]);
	}
	end_table(&scale->bench);
	scale_lookup_destroy(lookup);
	return error;
}

/*
 * The modes of a cell. A queue of waiters that do not give their processor
 * away stands still for a time slice whenever the next one has none: such a
 * turn would take minutes, so it is left out.
 */
static const char *modes_of_cell(const struct scale *scale, const struct scenario *scenario,
                                 unsigned int threads, char *buf, size_t size)
{
	const char *asked = scale->bench.opt.modes;
	size_t at = 0;

	if (threads + (scenario->rate > 0) <= scale->topology.ncpus)
		return asked;
	*buf = '\0';
	for (size_t i = 0; i < nref_variants; i++) {
		const char *mode = ref_variants[i]->mode;

		if (bench_is_listed(asked, mode) && strcmp(mode, "locked_mcs"))
			at += (size_t)snprintf(buf + at, size - at, "%s,", mode);
	}
	return buf;
}

static int run_reference(struct scale *scale, const struct scenario *scenario, unsigned int threads)
{
	struct bench *bench = &scale->bench;
	const char *asked = bench->opt.modes;
	char modes[1024];
	int error;

	bench->opt.modes = modes_of_cell(scale, scenario, threads, modes, sizeof(modes));
	error = strcmp(scenario->name, "self") ? run_cell(bench, scenario, threads)
	                                       : run_self(bench, scenario, threads);
	bench->opt.modes = asked;
	return error;
}

static int run_references(struct scale *scale, const char *name)
{
	const struct scenario *scenario = scenario_find(name);
	int error = 0;

	if (!bench_is_listed(scale->bench.opt.scenarios, name) || !count_variants(scale, name))
		return 0;
	begin_table(&scale->bench);
	for (size_t i = 0; i < scale->ncounts && !error; i++) {
		error = run_reference(scale, scenario, scale->counts[i]);
		tell_time(scale, name, scale->counts[i]);
	}
	end_table(&scale->bench);
	return error;
}

static int run_all(struct scale *scale)
{
	int error = 0;

	plan_time(scale, references);
	plan_time(scale, scale_lookups);
	scale->start_ns = bench_now_ns();
	fprintf(stderr, "at least %.0f s\n", scale->total / 1e3);
	for (const char *const *name = references; *name && !error; name++)
		error = run_references(scale, *name);
	for (const char *const *name = scale_lookups; *name && !error; name++)
		error = run_lookups(scale, *name);
	return error;
}

static int open_files(struct scale *scale)
{
	const char *csv = scale->bench.opt.csv;
	char json[4096];
	int error;

	if (!csv)
		return 0;
	scale->bench.csv = bench_csv_create(csv);
	if (!scale->bench.csv)
		return bench_complain(csv, -errno);
	fflush(scale->bench.csv);
	json_name(csv, json, sizeof(json));
	error = write_machine(scale, json);
	return error ? bench_complain(json, error) : 0;
}

static void tell_machine(const struct topology *topology)
{
	printf("%zu CPUs, %zu cores, %zu packages, %zu nodes%s\n", topology->ncpus, topology->cores,
	       topology->packages, topology->nodes,
	       topology->known ? "" : "; /sys does not tell which share a core");
}

int main(int argc, char **argv)
{
	static struct scale scale;
	int error = topology_read(&scale.topology, "/sys/devices/system", NULL);

	if (error)
		return bench_complain("the CPUs", error), 1;
	setvbuf(stdout, NULL, _IOLBF, 0);
	error = parse_options(&scale, argc, argv);
	if (error)
		return error > 0 ? 0 : 2;
	scale.ncounts = scale.counts_wanted
	                        ? wanted_counts(scale.counts_wanted, scale.counts, COUNTS_MAX)
	                        : topology_counts(&scale.topology, scale.counts, COUNTS_MAX);
	bench_pin_order(scale.topology.order, scale.topology.ncpus);
	tell_machine(&scale.topology);
	/* Tables need it on the thread that fills them. */
	error = pathcache_thread_register();
	if (!error)
		error = open_files(&scale);
	if (!error)
		error = run_all(&scale);
	pathcache_thread_unregister();
	if (scale.bench.csv) {
		int closed = bench_csv_close(scale.bench.csv);

		error = closed ? bench_complain(scale.bench.opt.csv, closed) : error;
	}
	return error ? 1 : 0;
}
