/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Question: what does a lookup from memory cost, with memos of finished walks
 * and without, against the tables keyed by full path that a program would use
 * instead, and against the kernel's own calls?
 *
 * Workload: stat of paths in random order, by sets of growing size, by depth,
 * by sharing between threads, for absent names, links and "..", and while a
 * thread renames; and access (R_OK) of files. The kernel is asked by stat(2), by
 * statx(2) below directories that are held open, by batches of statx through
 * io_uring(7), and by access(2). The tree is one of this machine's, recorded at
 * the start and then served to each cache as an application's namespace; where a
 * set is larger than the tree, the tree is repeated under other names, and of
 * those the kernel is asked for the real files only. Path texts lie in memory in
 * the order of use, for all rivals.
 *
 * Counted: wall time of a thread divided by its lookups, the copy of the
 * attributes included. All rivals of a cell take turns. Before a cell every
 * answer is compared with the kernel's.
 *
 * Not shown: misses, filling, memory that shared tables take, several processes.
 * Each rival has memory of its own, and their turns push each other out of the
 * CPU's caches as other work would. With as many readers as CPUs the renaming
 * thread takes time from them, from all rivals alike.
 */
#include "lookup.h"
#include "workload.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	ROUND_MS = 50,
	ROUNDS_MIN = 5, /* for figures that are to be told */
	QUICK_ROUNDS = 1,
};

/* ---- options ---- */

static const char usage[] =
	"usage: bench_lookup [OPTION...] [TRACE...]\n"
	"Compare lookups from memory, with and without memos, with tables keyed by full\n"
	"path and with the system call. Times are nanoseconds a lookup, as one thread\n"
	"waits for it; memory is bytes a path.\n"
	"  --scenario LIST  only these, separated by commas\n"
	"  --mode LIST      only these rivals, separated by commas\n"
	"  --dir DIR        record the tree below DIR, one file system (default /usr)\n"
	"  --traces FILE    replay the distinct paths of recorded operations, for the\n"
	"                   scenario trace; may be given again, and TRACE is the same\n"
	"  --csv FILE       write the figures to FILE too\n"
	"  --rounds N       turns of each rival in a cell, at least 5 (default 5)\n"
	"  --round-ms MS    length of a turn in milliseconds (default 50); of large sets\n"
	"                   2 us a path at least\n"
	"  --batch N        paths in one run, 1 to 1024, for all rivals (default 32)\n"
	"  --budget MIB     memory each cache may use (default 8192)\n"
	"  --max-paths N    leave out larger sets (default 1000000)\n"
	"  --quick          small sets, short turns: does it work, not how fast is it\n"
	"PATHCACHE_SEED in the environment repeats a choice and order of paths.\n"
	"Columns: x syscall, x lfht: how many times faster than that rival; above floor:\n"
	"than the system call less what entering the kernel costs (getppid); p50/99/99.9:\n"
	"ns of one lookup by itself, in a turn of its own; fair: the slowest thread's speed\n"
	"to the fastest one's. In the scenario access the system call is access(2).\n"
	"The scenarios rename_1, rename_1k and rename_storm rename there and back once a\n"
	"turn, 1000 times a second, and all the time; on_path=0 a file elsewhere, on_path=1\n"
	"the first directory of all paths. Nothing is renamed under the system calls, nor\n"
	"under private tables, one for each thread, which nobody tells.\n";

static void print_usage(void)
{
	const struct peer_ops *modes[PEERS_MAX];
	size_t n = peers_all(modes);

	fputs(usage, stdout);
	fputs("scenarios:", stdout);
	for (size_t i = 0; i < nscenarios; i++)
		printf(" %s", scenarios[i].name);
	fputs("\nrivals in this build:", stdout);
	for (size_t i = 0; i < n; i++)
		printf(" %s", modes[i]->mode);
	putchar('\n');
}

static int add_trace(struct lookup_options *opt, const char *file)
{
	if (opt->ntraces == TRACES_MAX)
		return bench_bad_usage(usage, "too many traces: ", file);
	opt->traces[opt->ntraces++] = file;
	return 0;
}

static int parse_option(struct lookup_options *opt, int c)
{
	switch (c) {
	case 's':
		opt->scenarios = optarg;
		return 0;
	case 'M':
		opt->modes = optarg;
		return 0;
	case 'd':
		opt->dir = optarg;
		return 0;
	case 't':
		return add_trace(opt, optarg);
	case 'c':
		opt->csv = optarg;
		return 0;
	case 'r':
		return bench_parse_u64(optarg, ROUNDS_MIN, 1000, &opt->rounds)
		               ? bench_bad_usage(usage, "not a number of rounds: ", optarg)
		               : 0;
	case 'l':
		return bench_parse_u64(optarg, 1, 60000, &opt->round_ms)
		               ? bench_bad_usage(usage, "not a number of milliseconds: ", optarg)
		               : 0;
	case 'n':
		return bench_parse_u64(optarg, 1, WORLD_BATCH_MAX, &opt->batch)
		               ? bench_bad_usage(usage, "not the size of a batch: ", optarg)
		               : 0;
	case 'b':
		return bench_parse_u64(optarg, 1, 1 << 20, &opt->budget_mb)
		               ? bench_bad_usage(usage, "not a number of MiB: ", optarg)
		               : 0;
	case 'm':
		return bench_parse_u64(optarg, 1, UINT32_MAX, &opt->max_paths)
		               ? bench_bad_usage(usage, "not a number of paths: ", optarg)
		               : 0;
	case 'q':
		opt->quick = 1;
		return 0;
	case 'h':
		print_usage();
		return 1;
	default:
		fputs(usage, stderr);
		return -EINVAL;
	}
}

/* Return: 0 go on, 1 all done (help), -EINVAL. */
static int parse_options(struct lookup_options *opt, int argc, char **argv)
{
	static const struct option longs[] = {
		{"scenario", required_argument, NULL, 's'},
		{"mode", required_argument, NULL, 'M'},
		{"dir", required_argument, NULL, 'd'},
		{"traces", required_argument, NULL, 't'},
		{"csv", required_argument, NULL, 'c'},
		{"rounds", required_argument, NULL, 'r'},
		{"round-ms", required_argument, NULL, 'l'},
		{"batch", required_argument, NULL, 'n'},
		{"budget", required_argument, NULL, 'b'},
		{"max-paths", required_argument, NULL, 'm'},
		{"quick", no_argument, NULL, 'q'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int c, error = 0;

	*opt = (struct lookup_options){
		.dir = "/usr",
		.rounds = ROUNDS_MIN,
		.round_ms = ROUND_MS,
		.batch = 32,
		.budget_mb = 8192,
		.max_paths = 1000000,
	};
	while (!error && (c = getopt_long(argc, argv, "h", longs, NULL)) != -1)
		error = parse_option(opt, c);
	while (!error && optind < argc)
		error = add_trace(opt, argv[optind++]);
	return error;
}

static bool is_scenario(const char *name)
{
	for (size_t i = 0; i < nscenarios; i++) {
		if (!strcmp(scenarios[i].name, name))
			return true;
	}
	return false;
}

/* Each name of a list is one. */
static int check_list(const char *list, bool modes)
{
	for (const char *at = list; at && *at; at += strspn(at, ",")) {
		size_t n = strcspn(at, ",");
		const char *missing = NULL;
		char name[64];
		bool known;

		snprintf(name, sizeof(name), "%.*s", (int)n, at);
		known = modes ? peers_known(name, &missing) : is_scenario(name);
		if (!known)
			return bench_bad_usage(
				usage, modes ? "no such rival: " : "no such scenario: ", name);
		if (missing)
			printf("left out: %s: %s\n", name, missing);
		at += n;
	}
	return 0;
}

/* Told why not. */
static bool works_here(const struct peer_ops *ops)
{
	int error = ops->probe ? ops->probe() : 0;

	if (error)
		printf("left out: %s: this kernel or container refuses it: %s\n", ops->mode,
		       strerror(-error));
	return !error;
}

static int choose_modes(struct lookup *bench)
{
	const struct peer_ops *all[PEERS_MAX];
	size_t n = peers_all(all), chosen = 0;

	for (size_t i = 0; i < n; i++) {
		if (bench_is_listed(bench->opt.modes, all[i]->mode) && works_here(all[i]))
			bench->modes[chosen++] = all[i];
	}
	if (!bench->opt.modes)
		check_list("lfht,ck,glib,tbb,uring", true);
	bench->world.modes = bench->modes;
	bench->world.nmodes = chosen;
	if (chosen)
		return 0;
	fprintf(stderr, "bench_lookup: no rival is left of: %s\n", bench->opt.modes);
	return -ENODATA;
}

/* ---- all of it ---- */

static int record_tree(struct lookup *bench)
{
	int error = recorded_init(&bench->tree, NULL);

	if (!error)
		error = recorded_collect(&bench->tree, bench->opt.dir, bench->opt.max_paths,
		                         "recording");
	if (error)
		return bench_complain(bench->opt.dir, error);
	printf("recorded below %s: %u files and directories\n", bench->opt.dir,
	       bench->tree.count - bench->tree.first);
	error = workload_make_elsewhere(&bench->tree);
	return error ? bench_complain("recording", error) : 0;
}

static int run_scenarios(struct lookup *bench)
{
	for (size_t i = 0; i < nscenarios; i++) {
		size_t rows = bench->report.nrows;
		int error;

		if (!bench_is_listed(bench->opt.scenarios, scenarios[i].name))
			continue;
		error = scenarios[i].run(bench, &scenarios[i]);
		if (error < 0)
			return error;
		if (bench->report.nrows > rows)
			error = report_table(&bench->report, scenarios[i].name);
		if (error < 0)
			return bench_complain("the table", error);
	}
	return 0;
}

static int run_bench(struct lookup *bench)
{
	int error;

	bench->report.floor_ns = bench_floor_ns(&bench->plan);
	printf("seed: %ju\n", (uintmax_t)bench->seed);
	printf("%u rounds of %u ms a rival, interleaved; medians, with the best and worst round\n",
	       bench->plan.rounds, bench->plan.round_ms);
	error = record_tree(bench);
	if (!error)
		error = run_scenarios(bench);
	if (!error)
		report_summary(&bench->report);
	return error;
}

static void prepare(struct lookup *bench)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	bench->seed = bench_seed();
	bench->ncounts = bench_thread_counts(bench->counts, COUNTS_MAX);
	bench->plan = (struct bench_plan){
		.rounds = bench->opt.quick ? QUICK_ROUNDS : (unsigned int)bench->opt.rounds,
		.round_ms = bench->opt.quick ? 1 : (unsigned int)bench->opt.round_ms,
		.pin = !bench->opt.quick,
	};
	bench->plan.warmup_ms = bench->opt.quick ? 0 : bench->plan.round_ms;
	bench->plan.latency_ms = bench->plan.round_ms;
	bench->world.batch = bench->opt.batch;
	bench->world.budget = bench->opt.budget_mb << 20;
	bench->world.seed = bench->seed;
	bench->world.start_sec = now.tv_sec;
}

static int finish(struct lookup *bench, int error)
{
	if (bench->report.csv) {
		int closed = bench_csv_close(bench->report.csv);

		if (closed)
			error = bench_complain(bench->opt.csv, closed);
	}
	report_fini(&bench->report);
	recorded_fini(&bench->tree);
	return error;
}

int main(int argc, char **argv)
{
	struct lookup bench = {.tree = {.base_fd = -1}};
	uint64_t start_ns = bench_now_ns();
	int error = parse_options(&bench.opt, argc, argv);

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!error)
		error = check_list(bench.opt.scenarios, false);
	if (!error)
		error = check_list(bench.opt.modes, true);
	if (!error)
		error = choose_modes(&bench);
	if (error)
		return error > 0 ? 0 : 2;
	prepare(&bench);
	/* Tables need it on the thread that fills them. */
	error = pathcache_thread_register();
	report_init(&bench.report, NULL);
	if (!error && bench.opt.csv) {
		bench.report.csv = bench_csv_create(bench.opt.csv);
		error = bench.report.csv ? 0 : bench_complain(bench.opt.csv, -errno);
	}
	if (!error)
		error = run_bench(&bench);
	error = finish(&bench, error);
	pathcache_thread_unregister();
	if (!error)
		printf("done in %.1f s\n", (double)(bench_now_ns() - start_ns) / 1e9);
	return error ? 1 : 0;
}
