/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "miss.h"
#include "passes.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	SCAN_TURN = 2000,
	CHURN_TURN = 500,
	CHURN_CALLS = 4, /* open, close, stat, unlink */
	NAME_BYTES = 32,
};

#define SCAN_TARGET 1.4
#define CHURN_TARGET 1.25

/* calls: into the kernel in an operation of the first rival. */
static int run_passes(struct miss *miss, const struct bench_passes *plan, struct bench_cell *cell,
                      const double *targets, unsigned int calls)
{
	static const struct bench_plan floor = {.rounds = 5, .round_ms = 5, .warmup_ms = 1};
	struct bench_result results[4];
	int error = bench_passes_run(plan, results);

	if (error)
		return bench_complain(cell->scenario, error);
	miss->floor_ns = calls * bench_floor_ns(&floor);
	cell->bench = "miss";
	cell->threads = 1;
	cell->paths = plan->ops;
	for (size_t i = 0; i < plan->npasses; i++)
		miss_row(miss, cell, plan->passes[i].mode, results, i, targets[i]);
	return 0;
}

/* ---- cold-scan ---- */

struct scan {
	const struct bench_paths *paths;
	struct pathcache *cache; /* of this round */
	uint64_t budget;
	uint64_t absent; /* so that answers are looked at */
};

static int scan_begin(void *arg)
{
	struct scan *scan = arg;

	return miss_open(&scan->cache, scan->budget);
}

static int scan_end(void *arg)
{
	struct scan *scan = arg;

	return pathcache_close(scan->cache);
}

static int scan_cache(void *arg, size_t first, size_t count)
{
	struct scan *scan = arg;
	struct pathcache_attr attr;

	for (size_t i = first; i < first + count; i++)
		scan->absent += pathcache_stat(scan->cache, scan->paths->path[i], NULL, &attr) != 0;
	return temptree_interrupted() ? -EINTR : 0;
}

static int scan_kernel(void *arg, size_t first, size_t count)
{
	struct scan *scan = arg;
	struct stat st;

	for (size_t i = first; i < first + count; i++)
		scan->absent += fstatat(AT_FDCWD, scan->paths->path[i], &st, 0) != 0;
	return 0;
}

int miss_cold_scan(struct miss *miss)
{
	struct scan kernel = {.paths = &miss->paths};
	struct scan all = {.paths = &miss->paths, .budget = UINT64_MAX / 2};
	struct scan quarter = {.paths = &miss->paths};
	const struct bench_pass passes[] = {
		{"fstatat", &kernel, NULL, scan_kernel, NULL},
		{"cache", &all, scan_begin, scan_cache, scan_end},
		{"cache-quarter", &quarter, scan_begin, scan_cache, scan_end},
	};
	const struct bench_passes plan = {
		.passes = passes,
		.npasses = 3,
		.ops = miss->paths.count,
		.turn = SCAN_TURN,
		.rounds = (unsigned int)miss->opt.rounds,
	};
	struct bench_cell cell = {.scenario = "cold-scan", .depth = miss->paths.mean_depth};
	static const double targets[] = {0, SCAN_TARGET, SCAN_TARGET};
	int error = miss_learn_need(miss);

	quarter.budget = miss->need / 4;
	return error ? error : run_passes(miss, &plan, &cell, targets, 1);
}

/* ---- churn ---- */

struct churn {
	const char *dir;
	int fd;
	struct pathcache *cache; /* of this round; NULL: system calls alone */
	struct pathcache_entry *entry;
	uint64_t names; /* made so far */
};

static int churn_begin(void *arg)
{
	struct churn *churn = arg;
	int error = miss_open(&churn->cache, UINT64_C(256) << 20);

	if (error)
		return error;
	error = pathcache_get(churn->cache, churn->dir, NULL, &churn->entry);
	if (error)
		pathcache_close(churn->cache);
	return error;
}

static int churn_end(void *arg)
{
	struct churn *churn = arg;

	pathcache_put(churn->cache, churn->entry);
	return pathcache_close(churn->cache);
}

static int make_file(const struct churn *churn, const char *name)
{
	int fd = openat(churn->fd, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);

	return fd < 0 || close(fd) ? -errno : 0;
}

static int churn_kernel(void *arg, size_t first, size_t count)
{
	struct churn *churn = arg;
	char name[NAME_BYTES];
	struct stat st;

	(void)first;
	while (count--) {
		snprintf(name, sizeof(name), "kernel%010ju", (uintmax_t)churn->names++);
		if (make_file(churn, name) || fstatat(churn->fd, name, &st, 0) ||
		    unlinkat(churn->fd, name, 0))
			return -errno;
	}
	return temptree_interrupted() ? -EINTR : 0;
}

static int churn_cache(void *arg, size_t first, size_t count)
{
	struct churn *churn = arg;
	const struct pathcache_how how = {.size = sizeof(how), .start = churn->entry};
	struct pathcache_attr attr;
	char name[NAME_BYTES];

	(void)first;
	while (count--) {
		int error;

		snprintf(name, sizeof(name), "cached%010ju", (uintmax_t)churn->names++);
		error = make_file(churn, name);
		if (!error)
			error = pathcache_invalidate_name(churn->cache, churn->entry, name);
		if (!error)
			error = pathcache_stat(churn->cache, name, &how, &attr);
		if (!error && unlinkat(churn->fd, name, 0))
			error = -errno;
		if (!error)
			error = pathcache_invalidate_name(churn->cache, churn->entry, name);
		if (error)
			return error;
	}
	return 0;
}

static int churn_in(struct miss *miss, const char *dir, int fd)
{
	struct churn kernel = {.dir = dir, .fd = fd};
	struct churn cached = {.dir = dir, .fd = fd};
	const struct bench_pass passes[] = {
		{"system-calls", &kernel, NULL, churn_kernel, NULL},
		{"cache", &cached, churn_begin, churn_cache, churn_end},
	};
	const struct bench_passes plan = {
		.passes = passes,
		.npasses = 2,
		.ops = miss->opt.loops,
		.turn = CHURN_TURN,
		.rounds = (unsigned int)miss->opt.rounds,
	};
	struct bench_cell cell = {.scenario = "churn", .depth = 1};
	static const double targets[] = {0, CHURN_TARGET};

	return run_passes(miss, &plan, &cell, targets, CHURN_CALLS);
}

int miss_churn(struct miss *miss)
{
	struct temptree tree;
	int fd, removed, error = temptree_make(&tree, miss->opt.tmp, 0, NULL);

	if (error)
		return bench_complain("a temporary directory", error);
	fd = open(tree.dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	error = fd < 0 ? -errno : churn_in(miss, tree.dir, fd);
	if (fd >= 0)
		close(fd);
	removed = temptree_remove(&tree);
	return error ? error : removed;
}
