/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lookup.h"

#include "staged.h"
#include "traces.h"
#include "workload.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	DEPTH_MAX = 16,
	NAMES20_PATHS = 100000,
	/* Paths in a millisecond: a turn that ends before most have been asked shows cold tables. */
	TURN_PATHS = 500,
	QUICK_MIN = 100, /* and more by a thousandth of the size, in a quick run */
	QUICK_MAX = 1000,
};

/* ---- cells ---- */

static int run_cell(struct lookup *bench, struct world *world, const char *scenario,
                    const char *note, unsigned int threads, struct mutator *mutator)
{
	struct bench_cell cell = {.bench = "lookup", .scenario = scenario, .threads = threads};
	struct bench_result results[PEERS_MAX];
	size_t peers[PEERS_MAX];
	int n = world_verify(world);

	if (!n)
		n = world_measure(world, &bench->plan, &cell, mutator, peers, results);
	if (!n)
		printf("left out: %s: the kernel has no such files\n", scenario);
	if (n <= 0)
		return n;
	return report_cell(&bench->report, world, &cell, peers, results, (size_t)n, note, mutator);
}

/* Return: 0; 1 when no rival answers what is asked; a negative errno. */
static int open_world(struct lookup *bench, struct world *world, struct workload *load)
{
	int error = world_open(world, load, &bench->world);

	if (!error && !world->npeers) {
		printf("left out: %s: no rival that was chosen answers it\n", load->scenario);
		return 1;
	}
	if (!error)
		error = world_verify(world);
	if (error)
		return error;
	printf("verified: %s: %zu answers are right in all modes (%s); %zu of them of made "
	       "paths\n",
	       load->scenario, world->paths->count,
	       load->access ? "may it be read" : "mode, inode, size", load->made);
	if (world->dropped)
		printf("left out: %ju paths that changed meanwhile\n", (uintmax_t)world->dropped);
	return 0;
}

/* All cells of a workload: one thread, and as many as CPUs. Takes the workload. */
static int run_workload(struct lookup *bench, struct workload *load, const char *note, bool spread)
{
	struct world world;
	int error = open_world(bench, &world, load), closed;

	for (size_t i = 0; i < bench->ncounts && !error; i++) {
		if (spread || i == 0 || i + 1 == bench->ncounts)
			error = run_cell(bench, &world, load->scenario, note, bench->counts[i],
			                 NULL);
	}
	closed = world_close(&world);
	workload_fini(load);
	return error ? error : closed;
}

/* A tree that has nothing of a kind is no fault. */
static int built(const struct lookup *bench, const struct scenario *scenario, int error)
{
	if (error == -ENODATA) {
		printf("left out: %s: nothing below %s is fit for it\n", scenario->name,
		       bench->opt.dir);
		return 1;
	}
	return error ? bench_complain(scenario->name, error) : 0;
}

static size_t scaled(const struct lookup *bench, size_t n)
{
	if (!bench->opt.quick || n < QUICK_MIN)
		return n;
	return n / 1000 + QUICK_MIN < QUICK_MAX ? n / 1000 + QUICK_MIN : QUICK_MAX;
}

/* ---- scenarios ---- */

static int run_plain(struct lookup *bench, const struct scenario *scenario)
{
	struct workload load = {.scenario = scenario->name};
	uint64_t seed = bench->seed;
	size_t n = scaled(bench, scenario->n);
	const struct bench_plan plan = bench->plan;
	unsigned int long_ms = (unsigned int)(n / TURN_PATHS);
	int error;

	if (n > bench->opt.max_paths) {
		printf("left out: %s: more than --max-paths\n", scenario->name);
		return 0;
	}
	error = built(bench, scenario, workload_plain(&load, &bench->tree, n, &seed));
	if (error)
		return error;
	if (!bench->opt.quick && long_ms > plan.round_ms)
		bench->plan.round_ms = bench->plan.warmup_ms = long_ms;
	error = run_workload(bench, &load, "", false);
	bench->plan = plan;
	return error;
}

static int run_negative(struct lookup *bench, const struct scenario *scenario)
{
	struct workload load = {.scenario = scenario->name};
	uint64_t seed = bench->seed;
	int error = workload_negative(&load, &bench->tree, scaled(bench, scenario->n), &seed);

	error = built(bench, scenario, error);
	return error ? error : run_workload(bench, &load, "", false);
}

static int run_dotdot(struct lookup *bench, const struct scenario *scenario)
{
	struct workload load = {.scenario = scenario->name};
	uint64_t seed = bench->seed;
	int error = workload_dotdot(&load, &bench->tree, scaled(bench, scenario->n), &seed);

	error = built(bench, scenario, error);
	return error ? error : run_workload(bench, &load, "", false);
}

static int run_access(struct lookup *bench, const struct scenario *scenario)
{
	struct workload load = {.scenario = scenario->name};
	uint64_t seed = bench->seed;
	int error = workload_access(&load, &bench->tree, scaled(bench, scenario->n), &seed);

	error = built(bench, scenario, error);
	return error ? error : run_workload(bench, &load, "", false);
}

static int run_symlink(struct lookup *bench, const struct scenario *scenario)
{
	static const char *const notes[2] = {"place=end", "place=middle"};
	int error = 0;

	for (int middle = 0; middle < 2 && error >= 0; middle++) {
		struct workload load = {.scenario = scenario->name};

		error = built(bench, scenario,
		              workload_symlink(&load, &bench->tree, scenario->n, middle));
		if (!error)
			error = run_workload(bench, &load, notes[middle], false);
	}
	return error;
}

static int run_same_file(struct lookup *bench, const struct scenario *scenario)
{
	struct workload load = {.scenario = scenario->name};
	int error = built(bench, scenario, workload_same_file(&load, &bench->tree));
	struct world world;

	if (error)
		return error;
	error = open_world(bench, &world, &load);
	for (size_t i = 0; i < bench->ncounts && !error; i++)
		error = run_cell(bench, &world, scenario->name, "", bench->counts[i], NULL);
	/* Two threads in any case: sharing is what this is about. */
	if (!error && bench->ncounts == 1)
		error = run_cell(bench, &world, scenario->name, "", 2, NULL);
	if (world_close(&world) && !error)
		error = -EBUSY;
	workload_fini(&load);
	return error;
}

static int run_same_dir(struct lookup *bench, const struct scenario *scenario)
{
	struct workload load = {.scenario = scenario->name};
	int error = workload_same_dir(&load, &bench->tree, scenario->n);

	error = built(bench, scenario, error);
	return error ? error : run_workload(bench, &load, "", false);
}

static int run_disjoint(struct lookup *bench, const struct scenario *scenario)
{
	unsigned int most = bench->counts[bench->ncounts - 1];
	struct workload load = {.scenario = scenario->name};
	uint64_t seed = bench->seed;
	int error = workload_plain(&load, &bench->tree, scaled(bench, scenario->n) * most, &seed);

	error = built(bench, scenario, error);
	load.per_thread = load.paths.count / most;
	return error ? error : run_workload(bench, &load, "", true);
}

static int run_depth(struct lookup *bench, const struct scenario *scenario)
{
	size_t n = scaled(bench, scenario->n);
	struct staged staged;
	struct recorded tree = {.base_fd = -1};
	int error = staged_init(&staged);

	for (unsigned int depth = 1; depth <= DEPTH_MAX && !error; depth *= 2)
		error = workload_stage_depth(&staged, depth, n);
	if (!error)
		error = recorded_init(&tree, staged.dir);
	if (!error)
		error = recorded_collect(&tree, "/", SIZE_MAX, NULL);
	if (error)
		bench_complain(scenario->name, error);
	for (unsigned int depth = 1; depth <= DEPTH_MAX && !error; depth *= 2) {
		struct workload load = {.scenario = scenario->name};
		char note[32];

		snprintf(note, sizeof(note), "components=%u", depth);
		error = workload_depth(&load, &tree, depth, n);
		if (!error)
			error = run_workload(bench, &load, note, false);
	}
	recorded_fini(&tree);
	staged_fini(&staged);
	return error;
}

static int run_names20(struct lookup *bench, const struct scenario *scenario)
{
	struct workload load = {.scenario = scenario->name};
	struct recorded tree;
	int error = recorded_init(&tree, NULL);

	if (!error)
		error = workload_names20(&load, &tree, scaled(bench, scenario->n));
	if (error)
		bench_complain(scenario->name, error);
	else
		error = run_workload(bench, &load, "", false);
	recorded_fini(&tree);
	return error;
}

/* ---- renames ---- */

/* Paths below the first component of the first one, and that component. */
static int choose_on_path(const struct bench_paths *paths, struct bench_paths *below, char *name,
                          size_t size)
{
	size_t len = strcspn(paths->path[0] + 1, "/");

	*below = (struct bench_paths){.path = malloc(paths->count * sizeof(*below->path))};
	if (!below->path)
		return -ENOMEM;
	snprintf(name, size, "%.*s", (int)len, paths->path[0] + 1);
	for (size_t i = 0; i < paths->count; i++) {
		const char *path = paths->path[i];

		if (!strncmp(path + 1, name, len) && (path[1 + len] == '/' || !path[1 + len]))
			below->path[below->count++] = path;
	}
	return 0;
}

/* Caches note them, so they live as long as the world. */
struct names {
	char from[256];
	char to[280];
};

static int run_mutated(struct lookup *bench, struct world *world, const struct scenario *scenario,
                       struct names *names)
{
	struct bench_paths below = {0};
	struct mutator mutator = {
		.peers = world->peers,
		.npeers = world->npeers,
		.pace = scenario->pace,
		.move = {WORKLOAD_ELSEWHERE, WORKLOAD_ELSEWHERE_FILE, "b", NULL},
	};
	int error = 0;

	if (names) {
		error = choose_on_path(world->paths, &below, names->from, sizeof(names->from));
		snprintf(names->to, sizeof(names->to), "%s.moved", names->from);
		mutator.move = (struct peer_move){"", names->from, names->to, &below};
	}
	for (size_t i = 0; i < bench->ncounts && !error; i++) {
		if (i && i + 1 < bench->ncounts)
			continue;
		memset(mutator.renames, 0, sizeof(mutator.renames));
		memset(mutator.turn_ns, 0, sizeof(mutator.turn_ns));
		error = world_warm(world);
		if (!error)
			error = run_cell(bench, world, scenario->name,
			                 names ? "on_path=1" : "on_path=0", bench->counts[i],
			                 &mutator);
	}
	free(below.path);
	return error;
}

static int run_rename(struct lookup *bench, const struct scenario *scenario)
{
	struct workload load = {.scenario = scenario->name};
	uint64_t seed = bench->seed;
	struct names names;
	struct world world;
	int error, closed;

	error = workload_plain(&load, &bench->tree, scaled(bench, scenario->n), &seed);
	error = built(bench, scenario, error);
	if (error)
		return error;
	if (scenario->pace == MUTATOR_NONE)
		return run_workload(bench, &load, "", false);
	error = open_world(bench, &world, &load);
	if (!error)
		error = run_mutated(bench, &world, scenario, NULL);
	if (!error)
		error = run_mutated(bench, &world, scenario, &names);
	/* The names are back where they were, and everybody knows. */
	if (!error)
		error = world_verify(&world);
	closed = world_close(&world);
	workload_fini(&load);
	return error ? error : closed;
}

/* ---- traces ---- */

/* In the order of first use; errors other than "absent" are not for tables to keep. */
static int load_trace(struct workload *load, struct recorded *tree, const struct traces *traces)
{
	int error = 0;

	load->tree = tree;
	load->flags = PATHCACHE_NOFOLLOW;
	load->allowed = -ENOENT;
	load->ordered = true;
	for (size_t i = 0; i < traces->count && !error; i++) {
		const char *path = traces->paths[i].path;
		struct stat st;
		int answer = recorded_ask_kernel(tree, path, load->flags, &st);

		if (!answer || answer == -ENOENT)
			error = bench_paths_add(&load->paths, path);
	}
	bench_paths_measure(&load->paths);
	return error ? error : load->paths.count ? 0 : -ENODATA;
}

static int run_trace_file(struct lookup *bench, const struct scenario *scenario, const char *file)
{
	const char *base = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
	struct workload load = {.scenario = scenario->name};
	struct recorded tree = {.base_fd = -1};
	struct traces traces = {0};
	struct staged staged = {.fd = -1};
	char note[48];
	int error = traces_read(&traces, file);

	snprintf(note, sizeof(note), "trace=%.*s", (int)strcspn(base, ".,;\""), base);
	traces_distinct(&traces, NULL);
	if (!error)
		error = staged_init(&staged);
	if (!error)
		error = traces_stage(&traces, &staged);
	if (!error)
		error = recorded_init(&tree, staged.dir);
	if (!error)
		error = recorded_collect(&tree, "/", SIZE_MAX, NULL);
	if (!error)
		error = load_trace(&load, &tree, &traces);
	if (error)
		bench_complain(file, error);
	else
		error = run_workload(bench, &load, note, false);
	workload_fini(&load);
	recorded_fini(&tree);
	staged_fini(&staged);
	traces_fini(&traces);
	return error;
}

static int run_trace(struct lookup *bench, const struct scenario *scenario)
{
	int error = 0;

	if (!bench->opt.ntraces)
		printf("left out: %s: no --traces\n", scenario->name);
	for (size_t i = 0; i < bench->opt.ntraces && !error; i++)
		error = run_trace_file(bench, scenario, bench->opt.traces[i]);
	return error;
}

const struct scenario scenarios[] = {
	{"hot500", run_plain, WORKLOAD_HOT, MUTATOR_NONE},
	{"paths5k", run_plain, 5000, MUTATOR_NONE},
	{"paths100k", run_plain, 100000, MUTATOR_NONE},
	{"paths400k", run_plain, 400000, MUTATOR_NONE},
	{"paths1m", run_plain, 1000000, MUTATOR_NONE},
	{"depth", run_depth, WORKLOAD_HOT, MUTATOR_NONE},
	{"same_file", run_same_file, 1, MUTATOR_NONE},
	{"same_dir", run_same_dir, WORKLOAD_HOT, MUTATOR_NONE},
	{"disjoint", run_disjoint, WORKLOAD_HOT, MUTATOR_NONE},
	{"negative", run_negative, WORKLOAD_HOT, MUTATOR_NONE},
	{"access", run_access, WORKLOAD_HOT, MUTATOR_NONE},
	{"symlink", run_symlink, WORKLOAD_HOT, MUTATOR_NONE},
	{"dotdot", run_dotdot, WORKLOAD_HOT, MUTATOR_NONE},
	{"rename_none", run_rename, WORKLOAD_HOT, MUTATOR_NONE},
	{"rename_1", run_rename, WORKLOAD_HOT, MUTATOR_ONCE},
	{"rename_1k", run_rename, WORKLOAD_HOT, MUTATOR_1K},
	{"rename_storm", run_rename, WORKLOAD_HOT, MUTATOR_STORM},
	{"names20", run_names20, NAMES20_PATHS, MUTATOR_NONE},
	{"trace", run_trace, 0, MUTATOR_NONE},
};

const size_t nscenarios = sizeof(scenarios) / sizeof(*scenarios);
