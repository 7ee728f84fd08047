/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Question: what does the cache do for a real program: how many of its questions
 * are answered from memory, why not the others, and what does it save?
 *
 * Workload: all that a program asked of paths, and all names that it changed, as it
 * was recorded, in its order, in a tree that is made to be what the program found.
 * Each change is made, and the rival is told of it after. cold: once through, the
 * rival empty at first. hot: again and again, the tree being put back, and the
 * rival told of that too, in between.
 *
 * Counted: wall time of the queries divided by their number, and of the changes,
 * which all rivals have to make, with telling the rival, by theirs. Rivals take
 * turns. Before that each answer in passes of the same kind is compared with the
 * kernel's: a cache may give no wrong one, tables keyed by path do, and it is told
 * how many. What opens is opened and closed by all; that is more than a lookup,
 * which --opens lookup shows alone.
 *
 * Not shown: what programs do besides; several threads or processes; a kernel that
 * has to go to the disk: its caches are warm. Files are empty, who may search what
 * is not recorded, and links lead to where their trees are made, not to each other.
 */
#include "replay.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	ROUND_MS = 50,
	ROUNDS_MIN = 5, /* for figures that are to be told */
	QUICK_ROUNDS = 2,
	FLOOR_MS = 20,
};

/* ---- options ---- */

static const char usage[] =
	"usage: bench_replay [OPTION...] [TRACE...]\n"
	"Replay recorded path operations of programs with the cache, tables keyed by full\n"
	"path and the system call. Times are nanoseconds a query. Without TRACE (a file of\n"
	"the format that bench/replay/record.sh writes, or that compressed by xz) the one\n"
	"that ships with the project.\n"
	"  --scenario LIST  only these traces, by their names without .trace, separated by\n"
	"                   commas\n"
	"  --mode LIST      only these rivals, separated by commas\n"
	"  --opens HOW      fd: what opens is opened and closed by all rivals (default);\n"
	"                   lookup: it is taken for a stat or lstat of the same path\n"
	"  --complete N     option complete_max of the caches (default 0)\n"
	"  --csv FILE       write the figures to FILE too\n"
	"  --rounds N       turns of each rival, at least 5 (default 5)\n"
	"  --round-ms MS    length of a hot turn in milliseconds (default 50)\n"
	"  --quick          short turns: does it work, not how fast is it\n"
	"TMPDIR in the environment: where the trees are made (default: in memory, /dev/shm).\n"
	"Columns: x syscall, how many times faster than the system call; x (call - floor),\n"
	"the same without what entering and leaving the kernel costs; ns/change, the change\n"
	"itself and telling the rival; hits %, queries answered without a system call (but\n"
	"that which opens); wrong, answers that were not the kernel's; asked for, why the\n"
	"kernel was asked: docs/benchmarks.md.\n";

/* The name of a trace: of its file, without folders and endings. */
static const char *trace_name(const char *file)
{
	static char name[256];
	const char *slash = strrchr(file, '/');
	char *end;

	snprintf(name, sizeof(name), "%s", slash ? slash + 1 : file);
	end = strstr(name, ".trace");
	if (end)
		*end = '\0';
	for (char *at = name; *at; at++)
		*at = strchr(",;\"", *at) ? '_' : *at;
	return name;
}

static const struct replay_options *asked;

static void print_usage(const struct replay_options *opt)
{
	const struct rival_ops *all[RIVALS_MAX];
	size_t n = rivals_all(all);

	fputs(usage, stdout);
	fputs("scenarios:", stdout);
	for (size_t i = 0; i < opt->ntraces; i++)
		printf(" %s", trace_name(opt->traces[i]));
	fputs("\nrivals in this build:", stdout);
	for (size_t i = 0; i < n; i++)
		printf(" %s", all[i]->mode);
	putchar('\n');
}

static int add_trace(struct replay_options *opt, const char *file)
{
	if (opt->ntraces == REPLAY_TRACES_MAX)
		return bench_bad_usage(usage, "too many traces: ", file);
	opt->traces[opt->ntraces++] = file;
	return 0;
}

static int parse_opens(struct replay_options *opt, const char *how)
{
	opt->lookups = !strcmp(how, "lookup");
	return opt->lookups || !strcmp(how, "fd")
	               ? 0
	               : bench_bad_usage(usage, "not fd or lookup: ", how);
}

static int parse_number(const char *what, uint64_t min, uint64_t max, uint64_t *out)
{
	return bench_parse_u64(optarg, min, max, out) ? bench_bad_usage(usage, what, optarg) : 0;
}

static int parse_option(struct replay_options *opt, int c, int *help)
{
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
	case 'o':
		return parse_opens(opt, optarg);
	case 'C':
		return parse_number("not a number of names: ", 0, UINT32_MAX, &opt->complete_max);
	case 'r':
		return parse_number("not a number of rounds: ", ROUNDS_MIN, REPLAY_ROUNDS_MAX,
		                    &opt->rounds);
	case 'l':
		return parse_number("not a number of milliseconds: ", 1, 60000, &opt->round_ms);
	case 'q':
		opt->quick = 1;
		return 0;
	case 'h':
		*help = 1;
		return 0;
	default:
		fputs(usage, stderr);
		return -EINVAL;
	}
}

/* Return: 0 go on, 1 all done (help), -EINVAL. */
static int parse_options(struct replay_options *opt, int argc, char **argv)
{
	static const struct option longs[] = {
		{"scenario", required_argument, NULL, 's'},
		{"mode", required_argument, NULL, 'M'},
		{"opens", required_argument, NULL, 'o'},
		{"complete", required_argument, NULL, 'C'},
		{"csv", required_argument, NULL, 'c'},
		{"rounds", required_argument, NULL, 'r'},
		{"round-ms", required_argument, NULL, 'l'},
		{"quick", no_argument, NULL, 'q'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int c, error = 0, help = 0;

	*opt = (struct replay_options){.rounds = ROUNDS_MIN, .round_ms = ROUND_MS};
	while (!error && (c = getopt_long(argc, argv, "h", longs, NULL)) != -1)
		error = parse_option(opt, c, &help);
	while (!error && optind < argc)
		error = add_trace(opt, argv[optind++]);
	if (!error && !opt->ntraces)
		error = add_trace(opt, BENCH_REPLAY_TRACE);
	if (!error && help)
		print_usage(opt);
	if (opt->quick) {
		opt->rounds = QUICK_ROUNDS;
		opt->round_ms = 1;
	}
	return error ? error : help;
}

static bool is_trace(const char *name)
{
	for (size_t i = 0; i < asked->ntraces; i++) {
		if (!strcmp(trace_name(asked->traces[i]), name))
			return true;
	}
	return false;
}

static bool is_rival(const char *name)
{
	const char *missing;

	return rivals_known(name, &missing);
}

static bool is_rival_here(const char *name)
{
	const char *missing;

	return !rivals_known(name, &missing) || !missing;
}

static int check_lists(const struct replay_options *opt)
{
	char buf[256];
	const char *name;

	asked = opt;
	name = bench_find_unknown(opt->scenarios, is_trace, buf, sizeof(buf));
	if (name)
		return bench_bad_usage(usage, "no such trace: ", name);
	name = bench_find_unknown(opt->modes, is_rival, buf, sizeof(buf));
	if (name)
		return bench_bad_usage(usage, "no such rival: ", name);
	name = bench_find_unknown(opt->modes, is_rival_here, buf, sizeof(buf));
	if (name)
		return bench_bad_usage(
			usage, "its package was missing, or unfit, when this was built: ", name);
	return 0;
}

static void choose_rivals(struct replay *replay)
{
	const struct rival_ops *all[RIVALS_MAX];
	size_t n = rivals_all(all);

	for (size_t i = 0; i < n; i++) {
		if (bench_is_listed(replay->opt.modes, all[i]->mode))
			replay->rivals[replay->nrivals++] = all[i];
	}
}

/* ---- all of it ---- */

/* Changes in memory cost the same each time. */
static void choose_place(void)
{
	if (!access("/dev/shm", W_OK | X_OK))
		setenv("TMPDIR", "/dev/shm", 0);
}

static int run_play(struct replay *replay, struct replay_run *run)
{
	int error = play_open(&run->play, &run->recording, replay->opt.complete_max);

	if (error)
		return error;
	error = replay_measure(replay, run);
	if (!error)
		error = replay_report(replay, run);
	play_close(&run->play);
	return error;
}

static int run_trace(struct replay *replay, const char *file)
{
	struct replay_run *run = calloc(1, sizeof(*run));
	int error = run ? 0 : -ENOMEM;

	if (!error)
		error = recording_read(&run->recording, file, replay->opt.lookups);
	if (error) {
		free(run);
		return bench_complain(file, error);
	}
	snprintf(run->name, sizeof(run->name), "%s", trace_name(file));
	error = run_play(replay, run);
	if (error)
		bench_complain(run->name, error);
	recording_fini(&run->recording);
	free(run);
	return error;
}

static int run_traces(struct replay *replay)
{
	const struct bench_plan plan = {.rounds = 5, .round_ms = FLOOR_MS, .warmup_ms = 1};
	int error = 0;

	replay->floor_ns = bench_floor_ns(&plan);
	replay_summary_begin(replay);
	for (size_t i = 0; i < replay->opt.ntraces && !error; i++) {
		const char *file = replay->opt.traces[i];

		if (bench_is_listed(replay->opt.scenarios, trace_name(file)))
			error = run_trace(replay, file);
	}
	if (error)
		bench_table_fini(&replay->summary);
	return error ? error : replay_summary_print(replay);
}

static int finish(struct replay *replay, int error)
{
	int rc = replay->csv ? bench_csv_close(replay->csv) : 0;

	return rc ? bench_complain(replay->opt.csv, rc) : error;
}

int main(int argc, char **argv)
{
	static struct replay replay;
	uint64_t start_ns = bench_now_ns();
	int error = parse_options(&replay.opt, argc, argv);

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!error)
		error = check_lists(&replay.opt);
	if (error)
		return error > 0 ? 0 : 2;
	choose_place();
	replay_catch_signals();
	choose_rivals(&replay);
	if (replay.opt.csv) {
		replay.csv = bench_csv_create(replay.opt.csv);
		error = replay.csv ? 0 : bench_complain(replay.opt.csv, -errno);
	}
	if (!error)
		error = pathcache_thread_register();
	if (!error) {
		error = run_traces(&replay);
		pathcache_thread_unregister();
	}
	error = finish(&replay, error);
	if (!error)
		printf("done in %.1f s\n", (double)(bench_now_ns() - start_ns) / 1e9);
	return error ? 1 : 0;
}
