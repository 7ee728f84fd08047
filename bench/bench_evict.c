/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Question: which entry should go when the cache is full, and how far is the
 * library from LRU and from what could be known only afterwards?
 *
 * Workload: a hot set among requests that never come again; cyclic scans a little
 * larger than the cache; working sets that shift; Zipf distributions; and the
 * queries of recorded traces, repeats included, at 1/16, 1/4 and all of their
 * distinct objects. What a trace changes is left out: names are there for the
 * whole run, or absent for the whole run, as they were at first.
 *
 * Counted: hits, in percent of the queries; of a hot set, those for the set. A
 * trace is played twice: with a path as one object, and with each name in each
 * directory as one, where a query is a hit when all names on its way are. The
 * library (memb, one thread) is asked the second one's paths by lstat, with a
 * budget of the same part of what it takes to keep all of them, memos included.
 *
 * Not shown: time; objects of different size; changes; several threads. The
 * optimum is that of single objects: with names it is a good bound, not an exact
 * one, and a library that keeps "absent" for a directory can beat that of paths. Of
 * a dozen variants the best one on two dozen traces is best by luck, too.
 */
#include "evict_cache.h"
#include "evict_names.h"
#include "evict_report.h"

#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
	HOT_SET = 5000,
	HOT_CAPACITY = 20000,
	HOT_WARM = 100000,
	CAPACITY = 10000,
	SHIFT_SET = 20000,
	SHIFT_PERIOD = 100000,
	ZIPF_OBJECTS = 100000,
	COUNT = 1000000,
	QUICK_PART = 50, /* all of these are divided by it */
	TRACES_MAX = 256,
};

struct options {
	const char *scenarios; /* NULL: all */
	const char *policies;  /* NULL: a choice */
	const char *csv;
	uint64_t one_shots;
	bool no_library, quick;
};

struct bench {
	struct options opt;
	struct evict_report report;
	char *traces[TRACES_MAX];
	size_t ntraces;
	uint64_t seed;
	uint32_t part; /* sizes are divided by it */
};

/* ---- playing ---- */

static int play_policies(struct bench *bench, struct evict_row *row)
{
	struct evict_report *report = &bench->report;
	int error = 0;

	for (size_t m = 0; m < report->nkinds && !error; m++) {
		struct policy_result result;

		error = policy_play(report->kinds[m], row->requests, row->capacity, bench->seed,
		                    &result);
		if (!error)
			evict_report_policy(report, row, m, &result);
	}
	return error;
}

static int play_library(struct bench *bench, struct evict_row *row, struct evict_cache *space,
                        uint64_t bytes)
{
	struct evict_cache_result result;
	int error = evict_cache_play(space, bytes, &result);

	if (!error)
		evict_report_library(&bench->report, row, &result);
	return error;
}

/* The library at a budget that holds capacity objects. */
static int play_numbers(struct bench *bench, struct evict_row *row)
{
	struct evict_cache space;
	uint64_t bytes;
	int error;

	if (bench->opt.no_library)
		return 0;
	error = evict_cache_init(&space, row->requests);
	if (!error)
		error = evict_cache_footprint(&space, row->capacity, &bytes);
	if (!error)
		error = play_library(bench, row, &space, bytes);
	evict_cache_fini(&space);
	return error;
}

/*
 * Fill in one row of made-up requests, which it takes over. made: what making
 * them returned. row: empty but for its label.
 */
static int play_made(struct bench *bench, int made, struct requests *requests, uint32_t capacity,
                     struct evict_row *row)
{
	char size[16];
	int error = made;

	snprintf(size, sizeof(size), "%u", capacity);
	row->requests = requests;
	row->size = size;
	row->keys = "number";
	row->capacity = capacity;
	if (!error)
		error = play_policies(bench, row);
	if (!error)
		error = play_numbers(bench, row);
	if (!error)
		error = evict_report_row(&bench->report, row);
	row->requests = NULL;
	row->size = NULL;
	requests_fini(requests);
	return error;
}

/* ---- scenarios ---- */

static int play_hot(struct bench *bench, struct requests_hot hot)
{
	uint32_t capacity = HOT_CAPACITY / bench->part;
	struct evict_row beside = {0}, alone = {.label = "  the set alone"};
	struct requests requests;
	int error = requests_hot(&requests, &hot, bench->seed);

	error = play_made(bench, error, &requests, capacity, &beside);
	if (error)
		return error;
	hot.alone = true;
	error = requests_hot(&requests, &hot, bench->seed);
	error = play_made(bench, error, &requests, capacity, &alone);
	if (!error)
		evict_report_lost(&bench->report, &beside, &alone);
	return error;
}

static int run_hot(struct bench *bench)
{
	static const uint32_t ratios[] = {1, 10, 100};
	int error = 0;

	for (unsigned int i = 0; i < 12 && !error; i++) {
		const struct requests_hot hot = {
			.set = HOT_SET / bench->part,
			.exponent = i < 6 ? 0 : 1,
			.ratio = ratios[i / 2 % 3],
			.warm = i % 2 ? HOT_WARM / bench->part : 0,
			.one_shots = (uint32_t)bench->opt.one_shots / bench->part,
		};

		error = play_hot(bench, hot);
	}
	return error;
}

static int run_scan(struct bench *bench)
{
	static const uint32_t percent[] = {105, 110, 125, 150};
	uint32_t capacity = CAPACITY / bench->part;
	struct requests requests;
	int error = 0;

	for (size_t i = 0; i < sizeof(percent) / sizeof(*percent) && !error; i++) {
		struct evict_row row = {0};

		error = requests_scan(&requests, capacity * percent[i] / 100, COUNT / bench->part);
		snprintf(requests.name, sizeof(requests.name), "scan_%u%%", percent[i]);
		error = play_made(bench, error, &requests, capacity, &row);
	}
	return error;
}

static int run_shift(struct bench *bench)
{
	struct requests requests;
	int error = 0;

	for (unsigned int i = 0; i < 8 && !error; i++) {
		const struct requests_shift shift = {
			.set = SHIFT_SET / bench->part,
			.step = (i & 1 ? SHIFT_SET : SHIFT_SET / 2) / bench->part,
			.period = SHIFT_PERIOD / bench->part,
			.exponent = i & 2 ? 1.0 : 0.8,
		};
		uint32_t capacity = (i & 4 ? CAPACITY : CAPACITY / 2) / bench->part;
		struct evict_row row = {0};

		error = requests_shift(&requests, &shift, COUNT / bench->part, bench->seed);
		error = play_made(bench, error, &requests, capacity, &row);
	}
	return error;
}

static int run_zipf(struct bench *bench)
{
	uint32_t objects = ZIPF_OBJECTS / bench->part;
	struct requests requests;
	int error = 0;

	for (unsigned int i = 0; i < 4 && !error; i++) {
		struct evict_row row = {0};

		error = requests_zipf(&requests, objects, i & 1 ? 1.0 : 0.8, COUNT / bench->part,
		                      bench->seed);
		error = play_made(bench, error, &requests, objects / (i & 2 ? 4 : 16), &row);
	}
	return error;
}

/* ---- traces ---- */

static const struct part {
	const char *name;
	uint32_t divisor;
} parts[] = {{"1/16", 16}, {"1/4", 4}, {"1/1", 1}};

/* space: of the library, or NULL where an object is not what it keeps. */
static int play_parts(struct bench *bench, const struct requests *requests, const char *keys,
                      struct evict_cache *space)
{
	uint64_t bytes = 0;
	int error = space ? evict_cache_footprint(space, 0, &bytes) : 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts) && !error; i++) {
		uint32_t capacity = requests->objects / parts[i].divisor;
		char group[64];
		struct evict_row row = {
			.requests = requests,
			.size = parts[i].name,
			.keys = keys,
			.group = group,
			.capacity = capacity ? capacity : 1,
		};

		snprintf(group, sizeof(group), "objects: %ss, capacity %s of them", keys,
		         parts[i].name);
		error = play_policies(bench, &row);
		if (!error && space)
			error = play_library(bench, &row, space, bytes / parts[i].divisor);
		if (!error)
			error = evict_report_row(&bench->report, &row);
	}
	return error;
}

static int play_names(struct bench *bench, const struct requests *trace)
{
	struct requests names = {0};
	struct evict_cache space;
	int error = evict_cache_init(&space, trace);

	if (!error)
		error = evict_names_requests(&names, trace, &space.tree);
	if (!error)
		error = play_parts(bench, &names, "name", bench->opt.no_library ? NULL : &space);
	requests_fini(&names);
	evict_cache_fini(&space);
	return error;
}

static int run_traces(struct bench *bench, bool names)
{
	int error = 0;

	for (size_t i = 0; i < bench->ntraces && !error; i++) {
		struct requests trace = {0};

		error = requests_trace(&trace, bench->traces[i]);
		if (!error)
			error = names ? play_names(bench, &trace)
			              : play_parts(bench, &trace, "path", NULL);
		requests_fini(&trace);
		if (error)
			bench_complain(bench->traces[i], error);
	}
	return error;
}

static int run_paths(struct bench *bench)
{
	return run_traces(bench, false);
}

static int run_names(struct bench *bench)
{
	return run_traces(bench, true);
}

static const struct scenario {
	const char *name;
	const char *title;
	int (*run)(struct bench *bench);
} scenarios[] = {
	{"hot", "hot set among one-shots: hits of the set", run_hot},
	{"scan", "cyclic scans, in percent of the capacity", run_scan},
	{"shift", "working sets that shift", run_shift},
	{"zipf", "Zipf distributions", run_zipf},
	{"paths", "traces, an object is a path", run_paths},
	{"names", "traces, an object is a name in a directory", run_names},
};

enum { NSCENARIOS = sizeof(scenarios) / sizeof(*scenarios) };

/* ---- options ---- */

static const char usage[] =
	"usage: bench_evict [OPTION...] [TRACE...]\n"
	"Compare eviction policies by hit rate, simulated, and the library with them.\n"
	"  --trace FILE|DIR  replay a recorded trace, or all *.trace and *.trace.xz of\n"
	"                    DIR; may be given again, and TRACE is the same. Without any,\n"
	"                    PATHCACHE_TRACES in the environment names one\n"
	"  --scenario LIST   only these, separated by commas\n"
	"  --policy LIST     these, the optimum and LRU, separated by commas\n"
	"  --one-shots N     one-shots in the scenario hot (default 1000000)\n"
	"  --no-library      leave the library out: the policies alone\n"
	"  --csv FILE        write the figures to FILE too\n"
	"  --quick           small sets: does it work, not how good is it\n"
	"PATHCACHE_SEED in the environment repeats a choice of requests. In the means: to\n"
	"lru, to opt: percent points between the hit rates, mean and worst trace; steps:\n"
	"entries a hand looked at for each eviction.\n";

static void print_usage(void)
{
	fputs(usage, stdout);
	fputs("scenarios:", stdout);
	for (size_t i = 0; i < NSCENARIOS; i++)
		printf(" %s", scenarios[i].name);
	fputs("\npolicies:\n", stdout);
	for (size_t i = 0; i < policy_nkinds; i++)
		printf("  %-13s %s\n", policy_kinds[i].name, policy_kinds[i].what);
}

static int add_trace(struct bench *bench, const char *file)
{
	if (bench->ntraces == TRACES_MAX)
		return bench_bad_usage(usage, "too many traces: ", file);
	bench->traces[bench->ntraces] = strdup(file);
	return bench->traces[bench->ntraces] ? (bench->ntraces++, 0) : -ENOMEM;
}

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), n = strlen(end);

	return len > n && !strcmp(text + len - n, end);
}

static int is_trace(const struct dirent *entry)
{
	return ends_with(entry->d_name, ".trace") || ends_with(entry->d_name, ".trace.xz");
}

static int add_traces(struct bench *bench, const char *path)
{
	struct dirent **entries;
	struct stat st;
	char file[4096];
	int n, error = 0;

	if (stat(path, &st))
		return bench_complain(path, -errno);
	if (!S_ISDIR(st.st_mode))
		return add_trace(bench, path);
	n = scandir(path, &entries, is_trace, alphasort);
	if (n < 0)
		return bench_complain(path, -errno);
	for (int i = 0; i < n; i++) {
		snprintf(file, sizeof(file), "%s/%s", path, entries[i]->d_name);
		if (!error)
			error = add_trace(bench, file);
		free(entries[i]);
	}
	free(entries);
	return error;
}

static int parse_option(struct bench *bench, int c)
{
	switch (c) {
	case 't':
		return add_traces(bench, optarg);
	case 's':
		bench->opt.scenarios = optarg;
		return 0;
	case 'p':
		bench->opt.policies = optarg;
		return 0;
	case 'o':
		return bench_parse_u64(optarg, 100, 100000000, &bench->opt.one_shots)
		               ? bench_bad_usage(usage, "not a number of one-shots: ", optarg)
		               : 0;
	case 'n':
		bench->opt.no_library = true;
		return 0;
	case 'c':
		bench->opt.csv = optarg;
		return 0;
	case 'q':
		bench->opt.quick = true;
		return 0;
	case 'h':
		print_usage();
		return 1;
	default:
		fputs(usage, stderr);
		return -EINVAL;
	}
}

static bool is_scenario(const char *name)
{
	for (size_t i = 0; i < NSCENARIOS; i++)
		if (!strcmp(scenarios[i].name, name))
			return true;
	return false;
}

static int check_scenarios(const char *list)
{
	char buf[64];
	const char *name = bench_find_unknown(list, is_scenario, buf, sizeof(buf));

	return name ? bench_bad_usage(usage, "no such scenario: ", name) : 0;
}

/* Return: 0 go on, 1 all done (help), -errno. */
static int parse_options(struct bench *bench, int argc, char **argv)
{
	static const struct option longs[] = {
		{"trace", required_argument, NULL, 't'},
		{"scenario", required_argument, NULL, 's'},
		{"policy", required_argument, NULL, 'p'},
		{"one-shots", required_argument, NULL, 'o'},
		{"no-library", no_argument, NULL, 'n'},
		{"csv", required_argument, NULL, 'c'},
		{"quick", no_argument, NULL, 'q'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	const char *traces = getenv("PATHCACHE_TRACES");
	int c, error = 0;

	bench->opt.one_shots = COUNT;
	while (!error && (c = getopt_long(argc, argv, "h", longs, NULL)) != -1)
		error = parse_option(bench, c);
	while (!error && optind < argc)
		error = add_traces(bench, argv[optind++]);
	if (!error && !bench->ntraces && traces)
		error = add_traces(bench, traces);
	if (!error)
		error = check_scenarios(bench->opt.scenarios);
	bench->part = bench->opt.quick ? QUICK_PART : 1;
	return error;
}

/* ---- all of it ---- */

static int run_bench(struct bench *bench)
{
	int error = 0;

	printf("seed: %ju\n", (uintmax_t)bench->seed);
	if (!bench->ntraces)
		puts("left out: paths, names: no --trace");
	for (size_t i = 0; i < NSCENARIOS && !error; i++) {
		if (!bench_is_listed(bench->opt.scenarios, scenarios[i].name))
			continue;
		error = scenarios[i].run(bench);
		if (!error)
			error = evict_report_table(&bench->report, scenarios[i].title);
		if (error)
			bench_complain(scenarios[i].name, error);
	}
	return error ? error : evict_report_means(&bench->report);
}

static int run_with_csv(struct bench *bench)
{
	FILE **csv = &bench->report.csv;
	int error, closed;

	if (bench->opt.csv) {
		*csv = bench_csv_create(bench->opt.csv);
		if (!*csv)
			return bench_complain(bench->opt.csv, -errno);
	}
	error = run_bench(bench);
	closed = *csv ? bench_csv_close(*csv) : 0;
	if (closed)
		bench_complain(bench->opt.csv, closed);
	return error ? error : closed;
}

int main(int argc, char **argv)
{
	struct bench bench = {.seed = bench_seed()};
	uint64_t start_ns = bench_now_ns();
	int error = parse_options(&bench, argc, argv), status = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!error && evict_report_init(&bench.report, bench.opt.policies, !bench.opt.no_library))
		error = bench_bad_usage(usage, "not a list of policies: ", bench.opt.policies);
	if (error) {
		status = error > 0 ? 0 : error == -EINVAL ? 2 : 1;
	} else {
		status = pathcache_thread_register() || run_with_csv(&bench);
		pathcache_thread_unregister();
		evict_report_fini(&bench.report);
	}
	for (size_t i = 0; i < bench.ntraces; i++)
		free(bench.traces[i]);
	if (!error && !status)
		printf("done in %.1f s\n", (double)(bench_now_ns() - start_ns) / 1e9);
	return status;
}
