/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * evict-p99: one thread looks up a hot set, and each lookup is timed; another
 * does what the variant says. Variants take turns, as in the harness.
 */
#include "histogram.h"
#include "miss.h"
#include "passes.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum {
	WARM_PASSES = 3, /* over the hot set before each turn: asked twice, it has memos */
	BATCH = 64,      /* lookups between two looks at the clock of the turn */
	NVARIANTS = 3,
	ROUNDS_MAX = 1000,
};

enum load { LOAD_NONE, LOAD_KERNEL, LOAD_MISSES };

static const char *const modes[NVARIANTS] = {"reader-alone", "beside-syscalls", "beside-misses"};

/* Of one turn. */
struct turn {
	double mean, p50, p99, p999;
	double max;
};

struct evict {
	const struct bench_paths *all;
	struct bench_paths hot; /* in random order, texts of its own */
	struct pathcache *cache;
	uint64_t seed;
	atomic_int load; /* enum load; what the other thread does */
	atomic_bool quit;
	atomic_uint_fast64_t asked; /* the other thread's questions */
	struct histogram histogram;
	uint64_t evicted[NVARIANTS]; /* reader's lookups that found nothing in memory */
	uint64_t lookups[NVARIANTS];
	uint64_t others[NVARIANTS]; /* questions of the other thread, */
	uint64_t other_ns[NVARIANTS];
	struct turn turns[NVARIANTS][ROUNDS_MAX];
};

static int complain(const char *what, int error)
{
	fprintf(stderr, "bench_miss: evict-p99: %s: %s\n", what, strerror(-error));
	return error;
}

/* ---- the other thread ---- */

static void ask(struct evict *evict, int load, const char *path)
{
	struct pathcache_attr attr;
	struct stat st;

	if (load == LOAD_MISSES)
		pathcache_stat(evict->cache, path, NULL, &attr);
	else
		(void)!fstatat(AT_FDCWD, path, &st, 0);
	atomic_fetch_add_explicit(&evict->asked, 1, memory_order_relaxed);
}

static void *other_main(void *arg)
{
	const struct timespec pause = {.tv_nsec = 1000 * 1000};
	struct evict *evict = arg;
	uint64_t state = evict->seed;

	while (!atomic_load_explicit(&evict->quit, memory_order_relaxed)) {
		int load = atomic_load_explicit(&evict->load, memory_order_relaxed);

		if (load == LOAD_NONE)
			nanosleep(&pause, NULL);
		else
			ask(evict, load,
			    evict->all->path[bench_random(&state) % evict->all->count]);
	}
	return NULL;
}

/* ---- the reader ---- */

/* Return: whether it was in memory. */
static bool look_up(struct evict *evict, const char *path)
{
	static const struct pathcache_how cached = {
		.size = sizeof(cached),
		.flags = PATHCACHE_CACHED,
	};
	struct pathcache_attr attr;

	if (pathcache_stat(evict->cache, path, &cached, &attr) != -EAGAIN)
		return true;
	pathcache_stat(evict->cache, path, NULL, &attr);
	return false;
}

static void warm(struct evict *evict)
{
	for (int i = 0; i < WARM_PASSES; i++) {
		for (size_t j = 0; j < evict->hot.count; j++)
			look_up(evict, evict->hot.path[j]);
	}
}

static void read_until(struct evict *evict, size_t variant, uint64_t end)
{
	struct histogram *h = &evict->histogram;
	size_t next = 0;
	uint64_t now;

	do {
		for (int i = 0; i < BATCH; i++) {
			uint64_t start = bench_now_ns();
			bool hit = look_up(evict, evict->hot.path[next]);

			now = bench_now_ns();
			histogram_add(h, now - start);
			evict->evicted[variant] += !hit;
			next = next + 1 < evict->hot.count ? next + 1 : 0;
		}
	} while (now < end);
}

static void take_turn(struct evict *evict, size_t variant, unsigned int ms, struct turn *turn)
{
	struct histogram *h = &evict->histogram;
	uint64_t start, asked;

	atomic_store(&evict->load, (int)variant);
	warm(evict);
	histogram_clear(h);
	asked = atomic_load(&evict->asked);
	start = bench_now_ns();
	read_until(evict, variant, start + ms * UINT64_C(1000000));
	evict->other_ns[variant] += bench_now_ns() - start;
	evict->others[variant] += atomic_load(&evict->asked) - asked;
	atomic_store(&evict->load, LOAD_NONE);
	evict->lookups[variant] += h->count;
	*turn = (struct turn){
		.mean = histogram_mean(h),
		.p50 = (double)histogram_at(h, 0.5),
		.p99 = (double)histogram_at(h, 0.99),
		.p999 = (double)histogram_at(h, 0.999),
		.max = (double)h->max,
	};
}

static void take_turns(struct evict *evict, const struct miss_options *opt)
{
	struct turn warm_up;

	for (size_t v = 0; v < NVARIANTS; v++)
		take_turn(evict, v, (unsigned int)opt->round_ms, &warm_up);
	memset(evict->evicted, 0, sizeof(evict->evicted));
	memset(evict->lookups, 0, sizeof(evict->lookups));
	memset(evict->others, 0, sizeof(evict->others));
	memset(evict->other_ns, 0, sizeof(evict->other_ns));
	for (size_t round = 0; round < opt->rounds; round++) {
		for (size_t i = 0; i < NVARIANTS && !temptree_interrupted(); i++) {
			size_t v = (round + i) % NVARIANTS;

			take_turn(evict, v, (unsigned int)opt->round_ms, &evict->turns[v][round]);
		}
	}
}

/* ---- results ---- */

/* The median over the rounds of the figure at offset. */
static double median_of(const struct turn *turns, size_t rounds, size_t offset)
{
	double figures[ROUNDS_MAX];

	for (size_t i = 0; i < rounds; i++)
		memcpy(&figures[i], (const char *)&turns[i] + offset, sizeof(figures[i]));
	return bench_median(figures, rounds);
}

#define MEDIAN(turns, rounds, field) median_of(turns, rounds, offsetof(struct turn, field))

static void show(const struct evict *evict, struct miss *miss, size_t v)
{
	const struct turn *turns = evict->turns[v];
	size_t rounds = miss->opt.rounds;
	double p99 = MEDIAN(turns, rounds, p99), max = 0;
	double alone = MEDIAN(evict->turns[LOAD_NONE], rounds, p99);
	double share = (double)evict->evicted[v] / (double)evict->lookups[v];
	double rate = (double)evict->others[v] * 1e9 / (double)evict->other_ns[v];
	struct bench_cell cell = {
		.bench = "miss", .scenario = "evict-p99", .threads = 2, .paths = evict->all->count};
	struct bench_result result = {.ns_per_op = MEDIAN(turns, rounds, mean), .min = INFINITY};
	char extra[256];

	for (size_t i = 0; i < rounds; i++) {
		max = turns[i].max > max ? turns[i].max : max;
		result.min = turns[i].mean < result.min ? turns[i].mean : result.min;
		result.max = turns[i].mean > result.max ? turns[i].mean : result.max;
	}
	result.mops = 1000.0 / result.ns_per_op;
	bench_table_row(&miss->table, "%s\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.2f\t%.3f%%\t%.0f",
	                modes[v], result.ns_per_op, MEDIAN(turns, rounds, p50), p99,
	                MEDIAN(turns, rounds, p999), max, p99 / alone, share * 100, rate / 1000);
	snprintf(extra, sizeof(extra),
	         "p50=%.0f;p99=%.0f;p999=%.0f;latency_max=%.0f;hot=%zu;evicted_share=%.6f;"
	         "others_per_s=%.0f",
	         MEDIAN(turns, rounds, p50), p99, MEDIAN(turns, rounds, p999), max,
	         evict->hot.count, share, rate);
	if (miss->csv)
		bench_csv_row(miss->csv, &cell, modes[v], &result, extra);
}

static void show_all(const struct evict *evict, struct miss *miss)
{
	/* Its columns are its own. */
	bench_table_fini(&miss->table);
	bench_table_init(&miss->table, 1);
	bench_table_row(&miss->table, "evict-p99\tmean ns\tp50\tp99\tp99.9\tmax\tp99 x alone"
	                              "\tnot in memory\tother thread, 1000/s");
	for (size_t v = 0; v < NVARIANTS; v++)
		show(evict, miss, v);
}

/* ---- all of it ---- */

/* Spread over the whole set. */
static int choose_hot(struct evict *evict, const struct miss_options *opt)
{
	size_t n = evict->all->count, hot = opt->hot < n ? opt->hot : n;
	int error = 0;

	for (size_t i = 0; i < hot && !error; i++)
		error = bench_paths_add(&evict->hot, evict->all->path[i * n / hot]);
	return error ? error : bench_paths_shuffle(&evict->hot, evict->seed);
}

static int run_threads(struct evict *evict, struct miss *miss)
{
	pthread_t other;
	int error = -pthread_create(&other, NULL, other_main, evict);

	if (error)
		return complain("a thread", error);
	take_turns(evict, &miss->opt);
	atomic_store(&evict->quit, true);
	pthread_join(other, NULL);
	if (temptree_interrupted())
		return -EINTR;
	show_all(evict, miss);
	return 0;
}

int miss_evict(struct miss *miss)
{
	struct evict *evict = calloc(1, sizeof(*evict));
	int closed, error = evict ? miss_learn_need(miss) : -ENOMEM;

	if (error) {
		free(evict);
		return error;
	}
	evict->all = &miss->paths;
	evict->seed = bench_seed();
	printf("seed: %ju\n", (uintmax_t)evict->seed);
	error = choose_hot(evict, &miss->opt);
	if (!error)
		error = miss_open(&evict->cache, miss->need / 4);
	if (!error) {
		error = run_threads(evict, miss);
		closed = pathcache_close(evict->cache);
		error = error ? error : closed;
	}
	bench_paths_fini(&evict->hot);
	free(evict);
	return error;
}
