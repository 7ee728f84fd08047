/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Question: what does a miss cost beside the system call it stands for?
 *
 * cold-scan: stat of many files, each once, in the order of a walk over their
 *   tree, through a cache that was empty before; once with room for all of them
 *   and once with room for a quarter, so that what is not asked again has to go
 *   all the time. Rival: fstatat(2) of the same paths.
 * churn: a file with a new name is made, looked at and removed, in one directory
 *   that is held; the program announces both changes. Rival: the same system
 *   calls alone.
 * evict-p99: how long the lookups of a small hot set take while another thread
 *   asks for files of a set of four times the budget, so that three of four miss
 *   and evict. Rivals: the same lookups with the other thread asleep, and with it
 *   making as many system calls without a cache, which is what the machine alone
 *   does to latency.
 *
 * Counted: wall time of all operations of a round divided by their number; rivals
 * take turns of some milliseconds. The latency of one lookup includes reading the
 * clock twice.
 *
 * Not shown: a kernel that has to go to the disk (its caches are warm), several
 * threads missing at once, opening and closing of the cache.
 */
#include "miss.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	FULL_FILES = 400000,
	FULL_LOOPS = 50000,
	DEFAULT_FILES = 100000,
	DEFAULT_LOOPS = 20000,
	QUICK_FILES = 3000,
	QUICK_LOOPS = 300,
};

static const struct {
	const char *name;
	int (*run)(struct miss *miss);
} scenarios[] = {
	{"cold-scan", miss_cold_scan},
	{"churn", miss_churn},
	{"evict-p99", miss_evict},
};

static const size_t nscenarios = sizeof(scenarios) / sizeof(scenarios[0]);

/* ---- options ---- */

static const char usage[] =
	"usage: bench_miss [OPTION...]\n"
	"Compare stat through a cache that does not have the answer yet with the system\n"
	"call. Times are nanoseconds an operation.\n"
	"  --full           the size that figures are told of: 400000 files; the same as\n"
	"                   --files 400000 --loops 50000 --round-ms 1000\n"
	"  --scenario LIST  only these, separated by commas\n"
	"  --files N        how many files (default 100000)\n"
	"  --dir DIR        files below DIR, as many as it has (default: /usr where it has\n"
	"                   so many, else a temporary tree is made)\n"
	"  --tmp DIR        make temporary files in DIR (default: TMPDIR, or /dev/shm)\n"
	"  --loops N        of churn, in a round (default 20000)\n"
	"  --round-ms MS    length of a round of evict-p99 in milliseconds (default 300)\n"
	"  --hot N          files of the reader of evict-p99 (default 5000)\n"
	"  --rounds N       rounds, at least 5 (default 5)\n"
	"  --csv FILE       write the figures to FILE too\n"
	"  --quick          few files, short rounds: does it work, not how fast is it\n"
	"PATHCACHE_SEED in the environment repeats the order of evict-p99.\n"
	"Columns: x rival, how many times dearer than the first row of the scenario; less\n"
	"floor, the same without what entering the kernel costs the rival (getppid), taken\n"
	"off both, since a miss enters it too; target, what x rival is to be at most.\n";

static int parse_number(const char *what, uint64_t min, uint64_t max, uint64_t *out)
{
	return bench_parse_u64(optarg, min, max, out) ? bench_bad_usage(usage, what, optarg) : 0;
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

static void take_full(struct miss_options *opt)
{
	opt->files = FULL_FILES;
	opt->loops = FULL_LOOPS;
	opt->round_ms = 1000;
}

static void take_quick(struct miss_options *opt)
{
	opt->files = QUICK_FILES;
	opt->loops = QUICK_LOOPS;
	opt->round_ms = 10;
	opt->rounds = 2;
	opt->hot = 100;
}

static int parse_option(struct miss_options *opt, int c)
{
	switch (c) {
	case 'F':
		take_full(opt);
		return 0;
	case 'q':
		take_quick(opt);
		return 0;
	case 's':
		opt->scenarios = optarg;
		return 0;
	case 'd':
		opt->dir = optarg;
		return 0;
	case 't':
		opt->tmp = optarg;
		return 0;
	case 'c':
		opt->csv = optarg;
		return 0;
	case 'n':
		return parse_number("not a number of files: ", 100, 1 << 26, &opt->files);
	case 'L':
		return parse_number("not a number of loops: ", 1, 1 << 30, &opt->loops);
	case 'l':
		return parse_number("not a number of milliseconds: ", 1, 60000, &opt->round_ms);
	case 'H':
		return parse_number("not a number of hot files: ", 1, 1 << 26, &opt->hot);
	case 'r':
		return parse_number("not a number of rounds: ", 5, 1000, &opt->rounds);
	case 'h':
		return print_usage();
	default:
		fputs(usage, stderr);
		return -EINVAL;
	}
}

/* Return: 0 go on, 1 all done (help), -EINVAL. */
static int parse_options(struct miss_options *opt, int argc, char **argv)
{
	static const struct option longs[] = {
		{"full", no_argument, NULL, 'F'},
		{"quick", no_argument, NULL, 'q'},
		{"scenario", required_argument, NULL, 's'},
		{"dir", required_argument, NULL, 'd'},
		{"tmp", required_argument, NULL, 't'},
		{"csv", required_argument, NULL, 'c'},
		{"files", required_argument, NULL, 'n'},
		{"loops", required_argument, NULL, 'L'},
		{"round-ms", required_argument, NULL, 'l'},
		{"hot", required_argument, NULL, 'H'},
		{"rounds", required_argument, NULL, 'r'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int c, error = 0;

	*opt = (struct miss_options){
		.files = DEFAULT_FILES,
		.loops = DEFAULT_LOOPS,
		.round_ms = 300,
		.rounds = 5,
		.hot = 5000,
	};
	while (!error && (c = getopt_long(argc, argv, "h", longs, NULL)) != -1)
		error = parse_option(opt, c);
	if (!error && optind < argc)
		error = bench_bad_usage(usage, "what is ", argv[optind]);
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

static int check_scenarios(const char *list)
{
	char buf[64];
	const char *name = bench_find_unknown(list, is_scenario, buf, sizeof(buf));

	return name ? bench_bad_usage(usage, "no such scenario: ", name) : 0;
}

/* ---- the files ---- */

int miss_open(struct pathcache **cache, uint64_t budget)
{
	struct pathcache_options opt;

	pathcache_options_init(&opt);
	opt.budget = budget;
	return pathcache_open(cache, "/", &opt);
}

/* Is there a tree to use as it is? */
static bool find_files(struct miss *miss, int *error)
{
	const char *dir = miss->opt.dir ? miss->opt.dir : "/usr";

	*error = bench_paths_collect(&miss->paths, dir, miss->opt.files, "listing");
	if (miss->opt.dir || (!*error && miss->paths.truncated))
		return true;
	bench_paths_fini(&miss->paths);
	*error = 0;
	return false;
}

static int choose_files(struct miss *miss)
{
	int error;

	if (find_files(miss, &error))
		return error ? bench_complain(miss->opt.dir, error) : 0;
	error = temptree_make(&miss->tree, miss->opt.tmp, miss->opt.files, "making files");
	if (error)
		return bench_complain("making files", error);
	error = bench_paths_collect(&miss->paths, miss->tree.dir, SIZE_MAX, NULL);
	return error ? bench_complain(miss->tree.dir, error) : 0;
}

/* Is what the cache says of path what the kernel says? */
static bool is_right(struct pathcache *cache, const char *path)
{
	struct pathcache_attr attr;
	struct stat st;
	int rc = pathcache_stat(cache, path, NULL, &attr);
	int want = fstatat(AT_FDCWD, path, &st, 0) ? -errno : 0;

	return rc == want && (rc || (attr.ino == st.st_ino && attr.mode == st.st_mode &&
	                             attr.size == (uint64_t)st.st_size));
}

static int verify(struct miss *miss, struct pathcache *cache)
{
	struct pathcache_stats stats = {.size = sizeof(stats)};

	for (size_t i = 0; i < miss->paths.count; i++) {
		if (!is_right(cache, miss->paths.path[i])) {
			fprintf(stderr, "bench_miss: %s: wrong answer\n", miss->paths.path[i]);
			return -EIO;
		}
	}
	pathcache_get_stats(cache, &stats);
	miss->need = stats.bytes;
	printf("%zu files, mean depth %.1f: %.1f MiB, %.0f bytes a file\n", miss->paths.count,
	       miss->paths.mean_depth, (double)stats.bytes / 1048576.0,
	       (double)stats.bytes / (double)miss->paths.count);
	return 0;
}

int miss_learn_need(struct miss *miss)
{
	struct pathcache *cache;
	int error, closed;

	if (miss->need)
		return 0;
	error = miss_open(&cache, UINT64_MAX / 2);
	if (error)
		return bench_complain("opening a cache", error);
	error = verify(miss, cache);
	closed = pathcache_close(cache);
	return error ? error : closed;
}

/* ---- results ---- */

static void begin_table(struct miss *miss)
{
	miss->floor_ns = 0;
	bench_table_init(&miss->table, 2);
	bench_table_row(&miss->table, "scenario\tmode\tthreads\tpaths\tns/op\tbest\tworst"
	                              "\tx rival\tless floor\ttarget");
}

void miss_row(struct miss *miss, const struct bench_cell *cell, const char *mode,
              const struct bench_result *results, size_t i, double target)
{
	double ns = results[i].ns_per_op, rival = results[0].ns_per_op, floor = miss->floor_ns;
	char wanted[32] = "-", above[16] = "-", extra[128];
	double ratio = ns / rival;
	int at;

	if (target > 0)
		snprintf(wanted, sizeof(wanted), "%.2f %s", target,
		         ratio <= target ? "met" : "missed");
	at = snprintf(extra, sizeof(extra), "ratio=%.3f;target=%.2f", ratio, target);
	if (floor > 0)
		at += snprintf(extra + at, sizeof(extra) - (size_t)at, ";floor_ns=%.1f", floor);
	/* A machine that is busy elsewhere may have the floor higher. */
	if (floor > 0 && floor < rival) {
		double less = (ns - floor) / (rival - floor);

		snprintf(above, sizeof(above), "%.2f", less);
		snprintf(extra + at, sizeof(extra) - (size_t)at, ";ratio_less_floor=%.3f", less);
	}
	bench_table_row(&miss->table, "%s\t%s\t%u\t%zu\t%.0f\t%.0f\t%.0f\t%.2f\t%s\t%s",
	                cell->scenario, mode, cell->threads, cell->paths, ns, results[i].min,
	                results[i].max, ratio, above, wanted);
	if (miss->csv)
		bench_csv_row(miss->csv, cell, mode, &results[i], extra);
}

static int show_table(struct miss *miss)
{
	int error = miss->table.failed ? bench_complain("the table", -ENOMEM) : 0;

	putchar('\n');
	bench_table_print(&miss->table, stdout);
	bench_table_fini(&miss->table);
	return error;
}

/* ---- all of it ---- */

static int run_scenarios(struct miss *miss)
{
	int error = 0;

	for (size_t i = 0; i < nscenarios && !error; i++) {
		if (!bench_is_listed(miss->opt.scenarios, scenarios[i].name))
			continue;
		begin_table(miss);
		error = scenarios[i].run(miss);
		if (error)
			bench_table_fini(&miss->table);
		else
			error = show_table(miss);
	}
	return error;
}

static int finish(struct miss *miss, int error)
{
	int rc = miss->csv ? bench_csv_close(miss->csv) : 0;

	if (rc)
		error = bench_complain(miss->opt.csv, rc);
	bench_paths_fini(&miss->paths);
	rc = temptree_remove(&miss->tree);
	if (rc)
		error = bench_complain("removing files", rc);
	return error;
}

int main(int argc, char **argv)
{
	struct miss miss = {.need = 0};
	uint64_t start_ns = bench_now_ns();
	int error = parse_options(&miss.opt, argc, argv);

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!error)
		error = check_scenarios(miss.opt.scenarios);
	if (error)
		return error > 0 ? 0 : 2;
	if (miss.opt.csv) {
		miss.csv = bench_csv_create(miss.opt.csv);
		error = miss.csv ? 0 : bench_complain(miss.opt.csv, -errno);
	}
	if (!error)
		error = choose_files(&miss);
	if (!error)
		error = run_scenarios(&miss);
	error = finish(&miss, error);
	if (!error)
		printf("done in %.1f s\n", (double)(bench_now_ns() - start_ns) / 1e9);
	return error ? 1 : 0;
}
