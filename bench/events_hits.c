/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "events.h"
#include "paths.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum { TURN = 256 };

#define HITS_TARGET 1.05

/* A cache, and how its rows are called. */
struct rival {
	const char *mode;
	uint32_t coherence, source;
	bool strict, optional;
	struct pathcache *cache; /* NULL: the kernel is asked */
	const struct bench_paths *paths;
};

static uint64_t ask_cache(void *arg, struct bench_thread *thread)
{
	struct rival *r = arg;
	struct pathcache_attr attr;

	for (int i = 0; i < TURN; i++) {
		const char *path = r->paths->path[thread->cursor++ % r->paths->count];

		thread->failed += pathcache_stat(r->cache, path, NULL, &attr) != 0;
		thread->sink += attr.size;
	}
	return TURN;
}

static uint64_t ask_kernel(void *arg, struct bench_thread *thread)
{
	struct rival *r = arg;
	struct stat st;

	for (int i = 0; i < TURN; i++) {
		const char *path = r->paths->path[thread->cursor++ % r->paths->count];

		thread->failed += fstatat(AT_FDCWD, path, &st, 0) != 0;
		thread->sink += (uint64_t)st.st_size;
	}
	return TURN;
}

static uint64_t sync_only(void *arg, struct bench_thread *thread)
{
	struct rival *r = arg;

	for (int i = 0; i < TURN; i++)
		thread->failed += pathcache_sync(r->cache) != 0;
	return TURN;
}

/* Every path once more than it takes until a memo is made. */
static void warm(const struct rival *r)
{
	struct pathcache_attr attr;

	for (int round = 0; round < 5; round++)
		for (size_t i = 0; i < r->paths->count; i++)
			pathcache_stat(r->cache, r->paths->path[i], NULL, &attr);
}

/* Return: 0; -errno, also when it is optional and may not be had. */
static int rival_open(struct rival *r, const struct bench_paths *paths, uint32_t memo_share)
{
	struct pathcache_options opt;
	int error;

	pathcache_options_init(&opt);
	opt.coherence = r->coherence;
	opt.source = r->source;
	opt.strict = r->strict;
	opt.memo_share = memo_share;
	/* Longer than the run: only what a hit costs is to be seen. */
	opt.name_ttl_ms = opt.attr_ttl_ms = opt.negative_ttl_ms = 3600000;
	error = pathcache_open(&r->cache, "/", &opt);
	r->paths = paths;
	if (!error)
		warm(r);
	return error;
}

/*
 * Paths that can be asked about. Return: 0; -errno.
 */
static int choose_paths(struct events *ev, struct bench_paths *paths)
{
	int error = bench_paths_collect(paths, "/usr", 20 * ev->opt.files, NULL);

	if (!error)
		error = bench_paths_shuffle(paths, 1);
	return error;
}

/*
 * How dear it is beside the first variant, and beside what that does above the floor, if known:
 * 0 where nothing is above it, as on a machine that was busy elsewhere.
 */
static void row(struct events *ev, const struct bench_cell *cell, size_t i,
                const struct bench_result *results, double floor_ns, const char *verdict)
{
	double ns = results[i].ns_per_op, first = results[0].ns_per_op;
	char extra[128], note[128];
	int at = snprintf(extra, sizeof(extra), "ratio=%.3f", ns / first);
	int on = snprintf(note, sizeof(note), "%.3f x %s%s", ns / first, cell->variants[0].mode,
	                  verdict);

	if (floor_ns > 0) {
		double above = first > floor_ns ? ns / (first - floor_ns) : 0;

		snprintf(extra + at, sizeof(extra) - (size_t)at,
		         ";floor_ns=%.1f;ratio_above_floor=%.3f", floor_ns, above);
		snprintf(note + on, sizeof(note) - (size_t)on,
		         ", %.3f x what it does above the floor of %.0f", above, floor_ns);
	}
	events_row(ev, cell, cell->variants[i].mode, &results[i], extra, note);
}

static int measure(struct events *ev, struct bench_cell *cell, const struct bench_variant *variants,
                   size_t n, double target)
{
	const struct bench_plan plan = {.rounds = (unsigned int)ev->opt.rounds,
	                                .round_ms = (unsigned int)(ev->opt.round_ms / 4 + 1),
	                                .warmup_ms = 20,
	                                .pin = 1};
	struct bench_result results[8];
	double floor_ns = variants[0].op == ask_kernel ? bench_floor_ns(&plan) : 0;
	int error;

	cell->bench = "events";
	cell->threads = 1;
	cell->variants = variants;
	cell->nvariants = n;
	error = bench_run(&plan, cell, results);
	for (size_t i = 0; i < n && !error; i++) {
		const char *verdict = "";

		if (i && target > 0)
			verdict = results[i].ns_per_op <= target * results[0].ns_per_op
			                  ? ", 1.05 met"
			                  : ", 1.05 missed";
		row(ev, cell, i, results, floor_ns, verdict);
		if (results[i].failed)
			error = -EIO;
	}
	return error;
}

/* Open those that can be, as variants. Return: how many; -errno. */
static int open_rivals(struct rival *rivals, size_t n, const struct bench_paths *paths,
                       uint32_t memo_share, struct bench_variant *variants)
{
	int opened = 0;

	for (size_t i = 0; i < n; i++) {
		int error = rival_open(&rivals[i], paths, memo_share);

		if (error && !rivals[i].optional)
			return error;
		if (error)
			printf("hits: %s left out: %s\n", rivals[i].mode, strerror(-error));
		else
			variants[opened++] = (struct bench_variant){
				.mode = rivals[i].mode, .arg = &rivals[i], .op = ask_cache};
	}
	return opened;
}

static void close_rivals(struct rival *rivals, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (rivals[i].cache)
			pathcache_close(rivals[i].cache);
}

static int hits_one(struct events *ev, const struct bench_paths *paths, const char *scenario,
                    uint32_t memo_share)
{
	struct rival rivals[] = {
		{.mode = "announced", .coherence = PATHCACHE_COHERENCE_EXCLUSIVE},
		{.mode = "inotify",
	         .coherence = PATHCACHE_COHERENCE_EVENTS,
	         .source = PATHCACHE_SOURCE_INOTIFY},
		{.mode = "fanotify",
	         .coherence = PATHCACHE_COHERENCE_EVENTS,
	         .source = PATHCACHE_SOURCE_FANOTIFY,
	         .optional = true},
		{.mode = "ttl", .coherence = PATHCACHE_COHERENCE_TTL},
	};
	struct bench_cell cell = {
		.scenario = scenario, .depth = paths->mean_depth, .paths = paths->count};
	struct bench_variant variants[4];
	int n = open_rivals(rivals, 4, paths, memo_share, variants);
	int error = n < 0 ? n : measure(ev, &cell, variants, (size_t)n, HITS_TARGET);

	close_rivals(rivals, 4);
	return error;
}

int events_hits(struct events *ev)
{
	struct bench_paths all, paths;
	int error = choose_paths(ev, &all);

	if (error)
		return bench_complain("/usr", error);
	paths = bench_paths_head(&all, ev->opt.files);
	error = hits_one(ev, &paths, "hit-memo", 25);
	if (!error)
		error = hits_one(ev, &paths, "hit-walk", 0);
	bench_paths_fini(&all);
	return error ? bench_complain("hits", error) : 0;
}

int events_sync(struct events *ev)
{
	struct rival plain = {.mode = "hit", .coherence = PATHCACHE_COHERENCE_EVENTS};
	struct rival strict = {
		.mode = "hit-strict", .coherence = PATHCACHE_COHERENCE_EVENTS, .strict = true};
	const struct bench_variant variants[] = {
		{.mode = "fstatat", .arg = &plain, .op = ask_kernel},
		{.mode = "hit", .arg = &plain, .op = ask_cache},
		{.mode = "hit-strict", .arg = &strict, .op = ask_cache},
		{.mode = "sync", .arg = &plain, .op = sync_only},
	};
	struct bench_cell cell = {.scenario = "sync"};
	struct bench_paths all, paths;
	int error = choose_paths(ev, &all);

	if (error)
		return bench_complain("/usr", error);
	paths = bench_paths_head(&all, ev->opt.files);
	cell.depth = paths.mean_depth;
	cell.paths = paths.count;
	error = rival_open(&plain, &paths, 25);
	if (!error)
		error = rival_open(&strict, &paths, 25);
	if (!error)
		error = measure(ev, &cell, variants, 4, 0);
	close_rivals(&plain, 1);
	close_rivals(&strict, 1);
	bench_paths_fini(&all);
	return error ? bench_complain("sync", error) : 0;
}
