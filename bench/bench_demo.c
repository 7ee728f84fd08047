/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Question: what does a lookup from memory cost against the system call, on
 * the paths of this machine, with memos of finished walks and without, and does
 * a hit store nothing in shared memory?
 *
 * Workload: lstat of every path below a directory in random order (scenario
 * all), of 500 of them (hot500), and of one file by one thread and by two
 * (same_file), in each mode of the cache, interleaved with fstatat(2) of the
 * same absolute paths. In mode rcu nearly all is answered by memos; rcu-walk is
 * the same with memos off. Path texts lie in memory in the order of use, for
 * both sides. Each path was asked for four times before: to fill, to learn and
 * to compare.
 *
 * Counted: wall time of a thread divided by its lookups. Every answer is
 * compared with the kernel's once before; that of rcu is then a memo's.
 *
 * Not shown: misses, changes, invalidation, several processes. The kernel's
 * own cache is as warm as ours. Each mode has a cache of its own, and their
 * turns push each other out of the CPU's caches as other work would.
 */
#include "harness.h"
#include "paths.h"
#include "proof.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pathcache.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	MODES = 5, /* of the cache */
	VARIANTS = MODES + 1,
	SYSCALL = MODES, /* index of the system call among the variants */
	HOT_PATHS = 500,
	BATCH = 32,
	MAX_COUNTS = 16,
	SECONDS_TOTAL = 52,
	SECONDS_PROOF = 8,
	LEARN_PASSES = 2, /* a path that finds its set full is learned once the table has grown */
	UPKEEP_STEP = 1 << 20,
	MEMO_PATH_MIN = 12, /* shorter paths are always walked */
	MIN_ROUND_MS = 10,
	MAX_ROUND_MS = 150,
};

struct demo_options {
	const char *dir;
	const char *csv;
	uint64_t budget_mb;
	uint64_t max_paths;
	int quick;
};

/* One variant of a cell: a cache, or none for the system call, and its paths. */
struct contender {
	struct pathcache *cache;
	const struct bench_paths *paths;
	struct pathcache_how how;
};

struct demo {
	struct demo_options opt;
	struct bench_paths paths;
	struct bench_paths hot;
	struct bench_paths one;
	struct pathcache *cache[MODES];
	double bytes_per_file[MODES];
	struct bench_plan plan;
	unsigned int counts[MAX_COUNTS];
	size_t ncounts;
	double floor_ns;
	struct bench_table table;
	FILE *csv;
	uint64_t seed;
	uint64_t start_ns;
	struct timespec start_time; /* files changed since then may differ */
};

static const char *const mode_names[VARIANTS] = {
	"rcu", "rcu-walk", "lockref", "refwalk", "locked", "syscall",
};

static double seconds_since(uint64_t start_ns)
{
	return (double)(bench_now_ns() - start_ns) / 1e9;
}

static struct pathcache_stats stats_of(struct pathcache *cache)
{
	struct pathcache_stats stats = {.size = sizeof(stats)};

	pathcache_get_stats(cache, &stats);
	return stats;
}

/* ---- options ---- */

static const char usage[] =
	"usage: bench_demo [--csv FILE] [--quick] [--budget MIB] [--max-paths N] [DIR]\n"
	"Compare lookups from memory with the system call, for all paths below DIR\n"
	"(default /usr, links not followed, one file system).\n"
	"  --csv FILE     write the figures to FILE too\n"
	"  --quick        short rounds: does it work, not how fast is it\n"
	"  --budget MIB   memory each of the five caches may use (default 2048)\n"
	"  --max-paths N  stop collecting after N paths (default 500000)\n"
	"PATHCACHE_SEED in the environment repeats an order of paths.\n";

/* Return: 0 go on, 1 all done (help), -EINVAL. */
static int parse_options(struct demo_options *opt, int argc, char **argv)
{
	static const struct option longs[] = {
		{"csv", required_argument, NULL, 'c'},
		{"quick", no_argument, NULL, 'q'},
		{"budget", required_argument, NULL, 'b'},
		{"max-paths", required_argument, NULL, 'm'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int c;

	*opt = (struct demo_options){.dir = "/usr", .budget_mb = 2048, .max_paths = 500000};
	while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		switch (c) {
		case 'c':
			opt->csv = optarg;
			break;
		case 'q':
			opt->quick = 1;
			break;
		case 'b':
			if (bench_parse_u64(optarg, 1, 1 << 20, &opt->budget_mb))
				return bench_bad_usage(usage, "not a number of MiB: ", optarg);
			break;
		case 'm':
			if (bench_parse_u64(optarg, 1, UINT32_MAX, &opt->max_paths))
				return bench_bad_usage(usage, "not a number of paths: ", optarg);
			break;
		case 'h':
			fputs(usage, stdout);
			return 1;
		default:
			fputs(usage, stderr);
			return -EINVAL;
		}
	}
	if (argc - optind > 1)
		return bench_bad_usage(usage, "more than one directory: ", argv[optind + 1]);
	if (optind < argc)
		opt->dir = argv[optind];
	return 0;
}

/* ---- warming and verifying ---- */

static int open_caches(struct demo *demo)
{
	struct pathcache_options options;

	pathcache_options_init(&options);
	options.budget = demo->opt.budget_mb << 20;
	for (size_t i = 0; i < MODES; i++) {
		int error;

		error = proof_set_mode(&options, mode_names[i]);
		if (!error)
			error = pathcache_open(&demo->cache[i], "/", &options);
		if (error)
			return bench_complain("cannot open a cache of /", error);
	}
	return 0;
}

static void warm_cache(struct demo *demo, size_t mode)
{
	const struct pathcache_how how = {.size = sizeof(how), .flags = PATHCACHE_NOFOLLOW};
	struct bench_progress progress;
	struct pathcache_attr attr;
	char label[64];

	snprintf(label, sizeof(label), "warming the %s cache", mode_names[mode]);
	bench_progress_begin(&progress, label, demo->paths.count);
	for (size_t i = 0; i < demo->paths.count; i++) {
		pathcache_stat(demo->cache[mode], demo->paths.path[i], &how, &attr);
		bench_progress_step(&progress, i + 1);
	}
	bench_progress_end(&progress, demo->paths.count);
}

/* Let hits be learned, in another order; then free what was replaced meanwhile. */
static void settle_cache(struct demo *demo, size_t mode)
{
	const struct pathcache_how how = {.size = sizeof(how), .flags = PATHCACHE_NOFOLLOW};
	struct pathcache *cache = demo->cache[mode];
	struct pathcache_stats stats;
	struct pathcache_attr attr;

	for (int pass = 0; pass < LEARN_PASSES; pass++)
		for (size_t i = 0; i < demo->paths.count; i++)
			pathcache_stat(cache, demo->paths.path[i], &how, &attr);
	while (pathcache_maintain(cache, UPKEEP_STEP) > 0)
		;
	stats = stats_of(cache);
	demo->bytes_per_file[mode] = (double)stats.bytes / (double)demo->paths.count;
	if (stats.uncached)
		fprintf(stderr, "note: %ju answers were not kept; --budget gives more memory\n",
		        (uintmax_t)stats.uncached);
}

/* Where only some paths have a memo, the figures of rcu are of a mixture. */
static void tell_of_memos(const struct demo *demo)
{
	struct pathcache_stats stats = stats_of(demo->cache[0]);
	size_t can = 0;

	for (size_t i = 0; i < demo->paths.count; i++)
		can += strlen(demo->paths.path[i]) >= MEMO_PATH_MIN;
	printf("memos: %ju of %zu paths, %.0f bytes each\n", (uintmax_t)stats.memos,
	       demo->paths.count,
	       stats.memos ? (double)stats.memo_bytes / (double)stats.memos : 0.0);
	if (stats.memos < can)
		fprintf(stderr,
		        "note: %ju paths are walked: others have their places, or all memory for "
		        "memos is used\n",
		        (uintmax_t)(can - stats.memos));
}

static int same_answer(int error, const struct pathcache_attr *attr, int kernel_error,
                       const struct stat *st)
{
	if (error || kernel_error)
		return error == kernel_error;
	return attr->mode == st->st_mode && attr->ino == st->st_ino &&
	       attr->size == (uint64_t)st->st_size;
}

/* Gone, or touched since the start: the caches were told of neither. */
static int may_have_changed(const struct demo *demo, int kernel_error, const struct stat *st)
{
	return kernel_error || st->st_ctim.tv_sec + 1 >= demo->start_time.tv_sec;
}

/* Return: 1 all caches answer as the kernel, 0 the file is on the move, -EIO an answer is wrong. */
static int verify_path(const struct demo *demo, const char *path)
{
	const struct pathcache_how how = {.size = sizeof(how), .flags = PATHCACHE_NOFOLLOW};
	struct stat st = {0};
	int kernel_error = fstatat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) ? -errno : 0;

	for (size_t i = 0; i < MODES; i++) {
		struct pathcache_attr attr = {0};
		int error = pathcache_stat(demo->cache[i], path, &how, &attr);

		if (same_answer(error, &attr, kernel_error, &st))
			continue;
		if (may_have_changed(demo, kernel_error, &st))
			return 0;
		fprintf(stderr,
		        "bench_demo: wrong answer in mode %s for %s\n"
		        "  cache:  error %d, mode %o, inode %ju, size %ju\n"
		        "  kernel: error %d, mode %o, inode %ju, size %jd\n",
		        mode_names[i], path, -error, attr.mode, (uintmax_t)attr.ino,
		        (uintmax_t)attr.size, -kernel_error, st.st_mode, (uintmax_t)st.st_ino,
		        (intmax_t)st.st_size);
		return -EIO;
	}
	/* A file that is gone for all would time how errors are made. */
	return !kernel_error;
}

static uint64_t total_backend_calls(const struct demo *demo)
{
	uint64_t calls = 0;

	for (size_t i = 0; i < MODES; i++) {
		struct pathcache_stats stats = stats_of(demo->cache[i]);

		calls += stats.backend_calls + stats.passthrough;
	}
	return calls;
}

static int verify_all(struct demo *demo)
{
	size_t total = demo->paths.count;
	unsigned char *keep = calloc(total, 1);
	uint64_t calls = total_backend_calls(demo), wrong = 0;

	if (!keep)
		return bench_complain("verifying", -ENOMEM);
	for (size_t i = 0; i < total; i++) {
		int verdict = verify_path(demo, demo->paths.path[i]);

		keep[i] = verdict > 0;
		wrong += verdict < 0;
		if (wrong >= 10)
			break;
	}
	if (!wrong)
		bench_paths_filter(&demo->paths, keep);
	free(keep);
	if (wrong)
		return -EIO;
	printf("verified: %zu answers equal the kernel's in all %d modes (mode, inode, size)\n",
	       demo->paths.count, MODES);
	if (demo->paths.count < total)
		printf("left out: %zu paths that changed meanwhile\n", total - demo->paths.count);
	calls = total_backend_calls(demo) - calls;
	if (calls)
		printf("note: %ju of the lookups had to ask the kernel again\n", (uintmax_t)calls);
	return demo->paths.count ? 0 : bench_complain(demo->opt.dir, -ENODATA);
}

/* ---- measuring ---- */

static int contender_setup(void *arg, struct bench_thread *thread)
{
	const struct contender *contender = arg;

	/* Threads start at different places, so that none runs in another's wake. */
	thread->cursor = contender->paths->count * thread->index / thread->count;
	return contender->cache ? pathcache_thread_register() : 0;
}

static void contender_teardown(void *arg, struct bench_thread *thread)
{
	const struct contender *contender = arg;

	(void)thread;
	if (contender->cache)
		pathcache_thread_unregister();
}

static const char *next_path(const struct contender *contender, struct bench_thread *thread)
{
	const char *path = contender->paths->path[thread->cursor];

	if (++thread->cursor == contender->paths->count)
		thread->cursor = 0;
	return path;
}

static uint64_t cache_op(void *arg, struct bench_thread *thread)
{
	const struct contender *contender = arg;
	struct pathcache_attr attr;

	for (int i = 0; i < BATCH; i++) {
		const char *path = next_path(contender, thread);

		if (pathcache_stat(contender->cache, path, &contender->how, &attr))
			thread->failed++;
		else
			thread->sink += attr.ino;
	}
	return BATCH;
}

static uint64_t syscall_op(void *arg, struct bench_thread *thread)
{
	struct stat st;

	for (int i = 0; i < BATCH; i++) {
		const char *path = next_path(arg, thread);

		if (fstatat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW))
			thread->failed++;
		else
			thread->sink += st.st_ino;
	}
	return BATCH;
}

static void report_variant(struct demo *demo, const struct bench_cell *cell, size_t v,
                           const struct bench_result *results)
{
	const struct bench_result *result = &results[v];
	double call = results[SYSCALL].ns_per_op / result->ns_per_op;
	double above = call - demo->floor_ns / result->ns_per_op;
	char bytes[32] = "-", extra[192];

	if (v < MODES)
		snprintf(bytes, sizeof(bytes), "%.0f", demo->bytes_per_file[v]);
	bench_table_row(&demo->table, "%s\t%s\t%u\t%.1f\t%.1f\t%.1f\t%.3f\t%.2f\t%.2f\t%s",
	                cell->scenario, mode_names[v], cell->threads, result->ns_per_op,
	                result->min, result->max, result->mops, call, above, bytes);
	if (result->failed)
		fprintf(stderr, "note: %s, %s: %ju lookups failed while measuring\n",
		        cell->scenario, mode_names[v], (uintmax_t)result->failed);
	if (!demo->csv)
		return;
	snprintf(extra, sizeof(extra),
	         "mean_path_bytes=%.1f;floor_ns=%.1f;x_call=%.3f;x_above_floor=%.3f;"
	         "bytes_per_file=%s",
	         demo->paths.mean_bytes, demo->floor_ns, call, above, bytes);
	bench_csv_row(demo->csv, cell, mode_names[v], result, extra);
}

static int measure_cell(struct demo *demo, const char *scenario, const struct bench_paths *paths,
                        unsigned int threads)
{
	struct contender contenders[VARIANTS];
	struct bench_variant variants[VARIANTS];
	struct bench_result results[VARIANTS];
	const struct bench_cell cell = {
		.bench = "demo",
		.scenario = scenario,
		.variants = variants,
		.nvariants = VARIANTS,
		.threads = threads,
		.depth = paths->mean_depth,
		.paths = paths->count,
	};
	int error;

	for (size_t v = 0; v < VARIANTS; v++) {
		contenders[v] = (struct contender){
			.cache = v < MODES ? demo->cache[v] : NULL,
			.paths = paths,
			.how = {.size = sizeof(contenders[v].how), .flags = PATHCACHE_NOFOLLOW},
		};
		variants[v] = (struct bench_variant){
			.mode = mode_names[v],
			.arg = &contenders[v],
			.setup = contender_setup,
			.op = v < MODES ? cache_op : syscall_op,
			.teardown = contender_teardown,
		};
	}
	error = bench_run(&demo->plan, &cell, results);
	if (error)
		return bench_complain("measuring", error);
	for (size_t v = 0; v < VARIANTS; v++)
		report_variant(demo, &cell, v, results);
	bench_table_row(&demo->table, "%s", "");
	return 0;
}

/* Rounds as long as the time that is left allows. */
static void make_plan(struct demo *demo)
{
	size_t cells = 2 * demo->ncounts + 2;
	double left = SECONDS_TOTAL - SECONDS_PROOF - seconds_since(demo->start_ns);
	double ms;

	if (demo->opt.quick) {
		demo->plan = (struct bench_plan){.rounds = 5, .round_ms = 1, .warmup_ms = 1};
		return;
	}
	demo->plan = (struct bench_plan){.rounds = 7, .pin = 1};
	/* The warm-up of a cell counts as one round more. */
	ms = left * 1000 / (double)(cells * VARIANTS * (demo->plan.rounds + 1));
	if (ms < MIN_ROUND_MS)
		ms = MIN_ROUND_MS;
	if (ms > MAX_ROUND_MS)
		ms = MAX_ROUND_MS;
	demo->plan.round_ms = (unsigned int)ms;
	demo->plan.warmup_ms = demo->plan.round_ms;
}

/* A regular file about as deep as the mean, for all threads at once. */
static void choose_one(struct demo *demo)
{
	double best = 1e9;

	for (size_t i = 0; i < demo->paths.count; i++) {
		double off = (double)bench_path_depth(demo->paths.path[i]) - demo->paths.mean_depth;
		struct stat st;

		off = off < 0 ? -off : off;
		if (off >= best || lstat(demo->paths.path[i], &st) || !S_ISREG(st.st_mode))
			continue;
		best = off;
		demo->one = (struct bench_paths){
			.path = &demo->paths.path[i],
			.count = 1,
			.mean_depth = bench_path_depth(demo->paths.path[i]),
		};
	}
	if (!demo->one.count)
		demo->one = bench_paths_head(&demo->paths, 1);
}

static int measure_all(struct demo *demo)
{
	int error = 0;

	demo->floor_ns = bench_floor_ns(&demo->plan);
	for (size_t i = 0; i < demo->ncounts && !error; i++)
		error = measure_cell(demo, "all", &demo->paths, demo->counts[i]);
	for (size_t i = 0; i < demo->ncounts && !error; i++)
		error = measure_cell(demo, "hot500", &demo->hot, demo->counts[i]);
	for (unsigned threads = 1; threads <= 2 && !error; threads++)
		error = measure_cell(demo, "same_file", &demo->one, threads);
	return error;
}

static int report(struct demo *demo)
{
	printf("paths below %s: %zu, mean depth %.1f components, mean length %.1f bytes\n",
	       demo->opt.dir, demo->paths.count, demo->paths.mean_depth, demo->paths.mean_bytes);
	printf("same_file: %s\n", demo->one.path[0]);
	printf("floor of a system call here: getppid %.1f ns\n", demo->floor_ns);
	puts("x syscall: how many times faster than the system call; above floor: than what it does "
	     "above that");
	printf("%u rounds of %u ms a mode, interleaved; medians, with the best and worst round\n\n",
	       demo->plan.rounds, demo->plan.round_ms);
	bench_table_print(&demo->table, stdout);
	return demo->table.failed ? bench_complain("the table", -ENOMEM) : 0;
}

/* ---- the proof ---- */

static int report_counter_proof(const char *path)
{
	static const int faults_expected[MODES] = {0, 0, 1, 1, 1};
	int result = 0;

	for (size_t i = 0; i < MODES; i++) {
		int verdict = proof_run_child(mode_names[i], path);

		if (verdict < 0)
			return bench_complain("the read-only lookup in a process of its own",
			                      verdict);
		printf("read-only, %s: %s\n", mode_names[i],
		       verdict ? "one lookup died of SIGSEGV: it stores" : "one lookup answered");
		if (verdict != faults_expected[i]) {
			fprintf(stderr, "bench_demo: in mode %s a hit %s store\n", mode_names[i],
			        verdict ? "must not" : "was expected to");
			result = -EPROTO;
		}
	}
	return result;
}

/* Return: 0 proved, 1 not possible in this build, a negative errno. */
static int prove_mode(struct demo *demo, size_t mode)
{
	struct proof_result proof;
	int error = proof_zero_stores(demo->cache[mode], &demo->paths, &proof);

	if (error == -EOPNOTSUPP) {
		puts("zero stores: not proved; this build's allocator cannot be made read-only");
		return 1;
	}
	if (error)
		return bench_complain("the proof of zero stores", error);
	printf("memory of the %s cache read-only: %ju queries (stat, lstat, access, readlink, "
	       "realpath; %ju of absent names; %ju answered by memos) of %zu paths by %u threads: "
	       "0 stores, %ju wrong answers, %ju questions to the kernel\n",
	       mode_names[mode], (uintmax_t)proof.queries, (uintmax_t)proof.negatives,
	       (uintmax_t)proof.memo_hits, proof.paths, proof.threads, (uintmax_t)proof.wrong,
	       (uintmax_t)proof.backend_calls);
	if (proof.wrong || proof.backend_calls)
		return bench_complain("the proof of zero stores", -EIO);
	return 0;
}

static int prove_zero_stores(struct demo *demo)
{
	int verdict = 0;

	/* A store ends the process at once; the figures are not to go with it. */
	if (demo->csv)
		fflush(demo->csv);
	/* With memos and without. */
	for (size_t mode = 0; mode < 2 && !verdict; mode++)
		verdict = prove_mode(demo, mode);
	if (verdict)
		return verdict > 0 ? 0 : verdict;
	return report_counter_proof(demo->one.path[0]);
}

/* ---- all of it ---- */

static int prepare(struct demo *demo)
{
	int error = bench_paths_collect(&demo->paths, demo->opt.dir, demo->opt.max_paths,
	                                "collecting paths");

	if (error)
		return bench_complain(demo->opt.dir, error);
	if (demo->paths.unreadable)
		fprintf(stderr, "note: %zu directories could not be listed\n",
		        demo->paths.unreadable);
	if (demo->paths.truncated)
		fprintf(stderr, "note: only the first %zu paths are used; see --max-paths\n",
		        demo->paths.count);
	error = open_caches(demo);
	if (error)
		return error;
	/* In the order of the tree: a directory is in memory before its children. */
	for (size_t i = 0; i < MODES; i++)
		warm_cache(demo, i);
	printf("seed: %ju\n", (uintmax_t)demo->seed);
	error = bench_paths_shuffle(&demo->paths, demo->seed);
	if (error)
		return bench_complain("shuffling", error);
	for (size_t i = 0; i < MODES; i++)
		settle_cache(demo, i);
	tell_of_memos(demo);
	error = verify_all(demo);
	if (error)
		return error;
	demo->hot = bench_paths_head(&demo->paths, HOT_PATHS);
	choose_one(demo);
	return 0;
}

static int run_demo(struct demo *demo)
{
	uint64_t calls;
	int error = prepare(demo);

	if (error)
		return error;
	make_plan(demo);
	fprintf(stderr, "measuring...\n");
	calls = total_backend_calls(demo);
	error = measure_all(demo);
	if (error)
		return error;
	calls = total_backend_calls(demo) - calls;
	error = report(demo);
	if (error)
		return error;
	printf("questions to the kernel while measuring, all caches: %ju\n", (uintmax_t)calls);
	error = prove_zero_stores(demo);
	printf("done in %.1f s\n", seconds_since(demo->start_ns));
	return error;
}

static int close_all(struct demo *demo, int error)
{
	for (size_t i = 0; i < MODES; i++) {
		int closed = demo->cache[i] ? pathcache_close(demo->cache[i]) : 0;

		if (closed)
			error = bench_complain("closing a cache", closed);
	}
	if (demo->csv) {
		int closed = bench_csv_close(demo->csv);

		if (closed)
			error = bench_complain(demo->opt.csv, closed);
	}
	bench_table_fini(&demo->table);
	bench_paths_fini(&demo->paths);
	return error;
}

int main(int argc, char **argv)
{
	struct demo demo = {0};
	int error;

	if (argc == 4 && !strcmp(argv[1], "--prove-fault"))
		return proof_child_main(argv[2], argv[3]);
	error = parse_options(&demo.opt, argc, argv);
	if (error)
		return error > 0 ? 0 : 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	demo.start_ns = bench_now_ns();
	clock_gettime(CLOCK_REALTIME, &demo.start_time);
	demo.seed = bench_seed();
	demo.ncounts = bench_thread_counts(demo.counts, MAX_COUNTS);
	bench_table_init(&demo.table, 2);
	bench_table_row(&demo.table, "scenario\tmode\tthreads\tns/lookup\tbest\tworst\tmillion/s"
	                             "\tx syscall\tabove floor\tbytes/file");
	if (demo.opt.csv) {
		demo.csv = bench_csv_create(demo.opt.csv);
		error = demo.csv ? 0 : bench_complain(demo.opt.csv, -errno);
	}
	if (!error)
		error = run_demo(&demo);
	return close_all(&demo, error) ? 1 : 0;
}
