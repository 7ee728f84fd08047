/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Question: does the budget hold, whatever goes by?
 *
 * negatives: names that do not exist, all different, in one directory.
 * listing: a directory of many names is listed, and each of them looked up.
 * coldest-held: the first file asked for is held, and never asked for again,
 *   while files of ten times the budget go by.
 * parked-reader: a thread stays in a read section of the host's own meanwhile, so
 *   that nothing retired can be freed.
 * all-held: files of one and a half times the budget are held, and then files of
 *   ten times the budget go by.
 *
 * Counted: at short intervals the cache's own bytes, the bytes of these that wait
 * for a grace period, and the process's resident memory over its start; the peaks
 * are shown. The verdict is over the cache's own bytes: budget, bytes that held
 * entries keep, and a margin for the working memory of calls under way. What held
 * entries keep is measured with a cache that has room for them.
 *
 * Not shown: a peak between two looks; what the program's own memory takes.
 */
#include "bound.h"
#include "harness.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB ((uint64_t)1 << 20)

enum {
	GOES_BY = 10,       /* times the budget */
	HELD_HALVES = 3,    /* of the budget that are held */
	PER_DIR = 1000,     /* files of a directory */
	SAMPLE = 50000,     /* files that what a file takes is measured with */
	MARGIN = 64 << 10,  /* bytes */
	MARGIN_CALL = 8192, /* bytes for a call under way */
};

struct options {
	const char *scenarios; /* NULL: all */
	const char *csv;
	uint64_t budget;
	uint64_t negatives;
	uint64_t names;
	uint64_t threads;
	uint64_t stall_ms;
};

/* What a scenario is given. */
struct setting {
	const struct options *opt;
	double per_file; /* bytes, tables included */
};

/* ---- scenarios ---- */

static void path_absent(char *out, uint64_t i)
{
	snprintf(out, BOUND_PATH_BYTES, "/x%08ju", (uintmax_t)i);
}

static void path_listed(char *out, uint64_t i)
{
	snprintf(out, BOUND_PATH_BYTES, "/list/f%ju", (uintmax_t)i);
}

/* Not the file that coldest-held holds. */
static void path_file(char *out, uint64_t i)
{
	snprintf(out, BOUND_PATH_BYTES, "/d%06ju/f%06ju", (uintmax_t)(i / PER_DIR) + 1,
	         (uintmax_t)(i % PER_DIR));
}

static uint64_t files_of(const struct setting *s, uint64_t bytes)
{
	return (uint64_t)((double)bytes / s->per_file);
}

static int run_negatives(struct bound *bound, const struct setting *s)
{
	return bound_load(bound, path_absent, s->opt->negatives, NULL);
}

static int count_name(void *arg, const char *name, size_t len, uint64_t ino, uint32_t type,
                      uint64_t cookie)
{
	struct bound *bound = arg;

	(void)name, (void)len, (void)ino, (void)type;
	if (cookie % 1024 == 0)
		bound_watch(bound);
	return 0;
}

static int look_up_name(void *arg, const char *name, size_t len, uint64_t ino, uint32_t type,
                        uint64_t cookie)
{
	struct bound *bound = arg;
	struct pathcache_attr attr;
	char path[BOUND_PATH_BYTES];

	(void)len, (void)ino, (void)type;
	if (cookie % 1024 == 0)
		bound_watch(bound);
	snprintf(path, sizeof(path), "/list/%s", name);
	return pathcache_stat(bound->cache, path, NULL, &attr);
}

/* Listed, listed with each name looked up at once, and looked up by all threads. */
static int run_listing(struct bound *bound, const struct setting *s)
{
	struct pathcache_entry *dir;
	int error = pathcache_get(bound->cache, "/list", NULL, &dir);

	if (error)
		return error;
	error = pathcache_readdir(bound->cache, dir, 0, count_name, bound);
	if (!error)
		error = pathcache_readdir(bound->cache, dir, 0, look_up_name, bound);
	if (!error)
		error = bound_load(bound, path_listed, s->opt->names, NULL);
	pathcache_put(bound->cache, dir);
	return error;
}

/* Does what was held all the time still answer, as the same object? */
static bool is_there(struct bound *bound, struct pathcache_entry *held, uint64_t id)
{
	struct pathcache_attr attr;
	char path[BOUND_PATH_BYTES];

	return pathcache_entry_id(held) == id && !pathcache_entry_stat(bound->cache, held, &attr) &&
	       attr.ino && pathcache_entry_path(bound->cache, held, path, sizeof(path)) > 0;
}

static int run_coldest(struct bound *bound, const struct setting *s)
{
	struct pathcache_entry *held;
	int error = pathcache_get(bound->cache, "/d0/f0", NULL, &held);
	uint64_t id;

	if (error)
		return error;
	id = pathcache_entry_id(held);
	error = bound_load(bound, path_file, GOES_BY * files_of(s, bound->budget), NULL);
	bound->result.lost = !is_there(bound, held, id);
	bound->result.held = (uint64_t)(2 * s->per_file);
	pathcache_put(bound->cache, held);
	return error;
}

static int run_parked(struct bound *bound, const struct setting *s)
{
	/* So that the reader has something to keep from being freed. */
	int error = bound_load(bound, path_file, files_of(s, bound->budget), NULL);

	if (!error)
		error = bound_park(bound);
	if (!error)
		error = bound_load(bound, path_file, GOES_BY * files_of(s, bound->budget), NULL);
	return error;
}

static int run_held(struct bound *bound, const struct setting *s)
{
	uint64_t n = files_of(s, bound->budget / 2 * HELD_HALVES);
	struct pathcache_entry **held = malloc(n * sizeof(struct pathcache_entry *));
	int error;

	if (!held)
		return -ENOMEM;
	/* It is the program's, and not to be seen in what the cache takes. */
	memset(held, 0, n * sizeof(struct pathcache_entry *));
	bound->start_resident += n * sizeof(struct pathcache_entry *);
	bound->result.held = (uint64_t)((double)n * s->per_file);
	error = bound_load(bound, path_file, n, held);
	if (!error)
		error = bound_load(bound, path_file, GOES_BY * files_of(s, bound->budget), NULL);
	for (uint64_t i = 0; i < n; i++)
		pathcache_put(bound->cache, held[i]);
	free(held);
	return error;
}

/* Not one of the scenarios: what a file takes. */
static int run_sample(struct bound *bound, const struct setting *s)
{
	(void)s;
	return bound_load(bound, path_file, SAMPLE, NULL);
}

struct scenario {
	const char *name;
	int (*run)(struct bound *bound, const struct setting *s);
};

static const struct scenario scenarios[] = {
	{"negatives", run_negatives},  {"listing", run_listing}, {"coldest-held", run_coldest},
	{"parked-reader", run_parked}, {"all-held", run_held},
};

static const struct scenario sample = {"sample", run_sample};
static const size_t nscenarios = sizeof(scenarios) / sizeof(scenarios[0]);

/* ---- a process for each ---- */

static int run_here(const struct scenario *scenario, const struct setting *s, uint64_t budget,
                    struct bound_result *result)
{
	static struct bound bound;
	int error, closed;

	bound.budget = budget;
	bound.threads = (unsigned int)s->opt->threads;
	bound.stall_ms = (unsigned int)s->opt->stall_ms;
	bound.names.listed = s->opt->names;
	error = bound_begin(&bound);
	if (error)
		return bench_complain("opening a cache", error);
	error = scenario->run(&bound, s);
	if (error)
		bench_complain(scenario->name, error);
	closed = bound_end(&bound);
	if (closed)
		error = bench_complain("closing the cache", closed);
	*result = bound.result;
	return error;
}

static _Noreturn void child(const struct scenario *scenario, const struct setting *s,
                            uint64_t budget, int out)
{
	struct bound_result result = {0};
	int error = run_here(scenario, s, budget, &result);

	if (!error && write(out, &result, sizeof(result)) != (ssize_t)sizeof(result))
		error = bench_complain("the pipe", -errno);
	_exit(error ? 1 : 0);
}

static int run_apart(const struct scenario *scenario, const struct setting *s, uint64_t budget,
                     struct bound_result *result)
{
	int fds[2], status;
	ssize_t n;
	pid_t pid;

	if (pipe(fds))
		return bench_complain("a pipe", -errno);
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		child(scenario, s, budget, fds[1]);
	close(fds[1]);
	n = pid < 0 ? -1 : read(fds[0], result, sizeof(*result));
	close(fds[0]);
	if (pid < 0)
		return bench_complain("a process", -EAGAIN);
	waitpid(pid, &status, 0);
	return n == (ssize_t)sizeof(*result) && status == 0 ? 0 : -EIO;
}

/* ---- results ---- */

static uint64_t margin_of(const struct options *opt)
{
	return MARGIN + MARGIN_CALL * opt->threads;
}

static double in_mib(uint64_t bytes)
{
	return (double)bytes / (double)MIB;
}

static const char *verdict_of(const struct options *opt, const struct bound_result *r)
{
	if (r->lost)
		return "LOST what was held";
	if (r->bytes > r->budget + r->held + margin_of(opt))
		return "OVER";
	return r->stalled ? "holds, but STALLED" : "holds";
}

static void show(struct bench_table *table, FILE *csv, const struct options *opt,
                 const struct scenario *scenario, const struct bound_result *r)
{
	struct bench_cell cell = {
		.bench = "bound",
		.scenario = scenario->name,
		.threads = (unsigned int)opt->threads,
		.paths = r->ops,
	};
	double ns = r->ops ? (double)r->ns * (double)opt->threads / (double)r->ops : 0;
	struct bench_result result = {.ns_per_op = ns,
	                              .min = ns,
	                              .max = ns,
	                              .mops = (double)r->ops * 1e3 / (double)r->ns};
	char extra[512];

	bench_table_row(table, "%s\t%ju\t%.0f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%ju\t%.1f%%\t%s",
	                scenario->name, (uintmax_t)r->ops, ns, in_mib(r->budget), in_mib(r->held),
	                in_mib(r->bytes), in_mib(r->deferred), in_mib(r->resident),
	                (uintmax_t)r->dentries,
	                r->ops ? (double)r->uncached * 100 / (double)r->ops : 0,
	                verdict_of(opt, r));
	snprintf(
		extra, sizeof(extra),
		"budget=%ju;held=%ju;bytes_peak=%ju;deferred_peak=%ju;resident_peak=%ju;margin=%ju;"
		"dentries=%ju;hits=%ju;backend_calls=%ju;uncached=%ju;stalled=%d;lost=%d;verdict=%s",
		(uintmax_t)r->budget, (uintmax_t)r->held, (uintmax_t)r->bytes,
		(uintmax_t)r->deferred, (uintmax_t)r->resident, (uintmax_t)margin_of(opt),
		(uintmax_t)r->dentries, (uintmax_t)r->hits, (uintmax_t)r->backend_calls,
		(uintmax_t)r->uncached, r->stalled, r->lost,
		r->bytes > r->budget + r->held + margin_of(opt) ? "over" : "holds");
	if (csv)
		bench_csv_row(csv, &cell, "cache", &result, extra);
}

/* ---- options ---- */

static const char usage[] =
	"usage: bench_bound [OPTION...]\n"
	"Does the memory bound hold? Names and files of many times the budget go through\n"
	"a cache of an application's namespace, and the peaks are shown in MiB.\n"
	"  --full            full size: ten million absent names, a million listed ones\n"
	"  --scenario LIST   only these, separated by commas\n"
	"  --budget MIB      of each cache (default 8, full 64)\n"
	"  --negatives N     absent names (default 1000000)\n"
	"  --names N         names of the listed directory (default 100000)\n"
	"  --threads N       threads that ask (default: one a CPU)\n"
	"  --stall-ms MS     without progress while a reader stays in its read section it\n"
	"                    is told to leave, and that is shown (default 2000)\n"
	"  --csv FILE        write the figures to FILE too\n"
	"  --quick           smaller still: does it work\n"
	"The exit status is 1 where the bound did not hold.\n";

static int parse_number(const char *what, uint64_t min, uint64_t max, uint64_t *out)
{
	return bench_parse_u64(optarg, min, max, out) ? bench_bad_usage(usage, what, optarg) : 0;
}

static void take_size(struct options *opt, uint64_t budget, uint64_t negatives, uint64_t names)
{
	opt->budget = budget;
	opt->negatives = negatives;
	opt->names = names;
}

static int print_usage(void)
{
	fputs(usage, stdout);
	fputs("scenarios:", stdout);
	for (size_t i = 0; i < nscenarios; i++)
		printf(" %s", scenarios[i].name);
	putchar('\n');
	return 1;
}

static int parse_option(struct options *opt, int c)
{
	int error;

	switch (c) {
	case 'F':
		take_size(opt, 64 * MIB, 10000000, 1000000);
		opt->stall_ms = 5000;
		return 0;
	case 'q':
		take_size(opt, MIB, 50000, 20000);
		opt->stall_ms = 300;
		return 0;
	case 's':
		opt->scenarios = optarg;
		return 0;
	case 'c':
		opt->csv = optarg;
		return 0;
	case 'b':
		error = parse_number("not a number of MiB: ", 1, 1 << 20, &opt->budget);
		opt->budget *= MIB;
		return error;
	case 'N':
		return parse_number("not a number of names: ", 1, 99999999, &opt->negatives);
	case 'n':
		return parse_number("not a number of names: ", 1, 99999999, &opt->names);
	case 't':
		return parse_number("not a number of threads: ", 1, 1024, &opt->threads);
	case 'S':
		return parse_number("not a number of milliseconds: ", 1, 600000, &opt->stall_ms);
	case 'h':
		return print_usage();
	default:
		fputs(usage, stderr);
		return -EINVAL;
	}
}

static bool is_scenario(const char *name)
{
	for (size_t i = 0; i < nscenarios; i++) {
		if (!strcmp(scenarios[i].name, name))
			return true;
	}
	return false;
}

static int check_scenarios(const char *list)
{
	char buf[64];
	const char *name = bench_find_unknown(list, is_scenario, buf, sizeof(buf));

	return name ? bench_bad_usage(usage, "no such scenario: ", name) : 0;
}

/* Return: 0 go on, 1 all done (help), -EINVAL. */
static int parse_options(struct options *opt, int argc, char **argv)
{
	static const struct option longs[] = {
		{"full", no_argument, NULL, 'F'},
		{"quick", no_argument, NULL, 'q'},
		{"scenario", required_argument, NULL, 's'},
		{"csv", required_argument, NULL, 'c'},
		{"budget", required_argument, NULL, 'b'},
		{"negatives", required_argument, NULL, 'N'},
		{"names", required_argument, NULL, 'n'},
		{"threads", required_argument, NULL, 't'},
		{"stall-ms", required_argument, NULL, 'S'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int c, error = 0;

	*opt = (struct options){.threads = bench_cpu_count(), .stall_ms = 2000};
	take_size(opt, 8 * MIB, 1000000, 100000);
	while (!error && (c = getopt_long(argc, argv, "h", longs, NULL)) != -1)
		error = parse_option(opt, c);
	if (!error && optind < argc)
		error = bench_bad_usage(usage, "what is ", argv[optind]);
	return error ? error : check_scenarios(opt->scenarios);
}

/* ---- all of it ---- */

static int measure_file(struct setting *s)
{
	struct bound_result result;
	int error = run_apart(&sample, s, UINT64_MAX / 2, &result);

	if (!error) {
		s->per_file = (double)result.bytes / SAMPLE;
		printf("a file takes %.0f bytes; %ju threads; margin %.2f MiB\n", s->per_file,
		       (uintmax_t)s->opt->threads, in_mib(margin_of(s->opt)));
	}
	return error;
}

/* Return: 0; 1: the bound did not hold; -errno. */
static int run_all(const struct setting *s, struct bench_table *table, FILE *csv)
{
	int bad = 0;

	for (size_t i = 0; i < nscenarios; i++) {
		struct bound_result result;
		int error;

		if (!bench_is_listed(s->opt->scenarios, scenarios[i].name))
			continue;
		error = run_apart(&scenarios[i], s, s->opt->budget, &result);
		if (error)
			return error;
		show(table, csv, s->opt, &scenarios[i], &result);
		if (result.lost || result.bytes > result.budget + result.held + margin_of(s->opt))
			bad = 1;
	}
	return bad;
}

static int run_bench(const struct options *opt, FILE *csv)
{
	struct setting s = {.opt = opt};
	struct bench_table table;
	int rc = measure_file(&s);

	if (rc)
		return rc;
	bench_table_init(&table, 1);
	bench_table_row(&table, "scenario\toperations\tns/op\tbudget\theld\tbytes\tdeferred"
	                        "\tresident\tnames\tnot kept\tverdict");
	rc = run_all(&s, &table, csv);
	bench_table_print(&table, stdout);
	if (table.failed)
		rc = bench_complain("the table", -ENOMEM);
	bench_table_fini(&table);
	return rc;
}

int main(int argc, char **argv)
{
	uint64_t start_ns = bench_now_ns();
	struct options opt;
	FILE *csv = NULL;
	int rc = parse_options(&opt, argc, argv);

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (rc)
		return rc > 0 ? 0 : 2;
	if (opt.csv && !(csv = bench_csv_create(opt.csv)))
		return bench_complain(opt.csv, -errno), 1;
	rc = run_bench(&opt, csv);
	if (csv) {
		int closed = bench_csv_close(csv);

		if (closed)
			rc = bench_complain(opt.csv, closed);
	}
	if (!rc)
		printf("done in %.1f s\n", (double)(bench_now_ns() - start_ns) / 1e9);
	return rc ? 1 : 0;
}
