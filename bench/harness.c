/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "harness.h"

#include "histogram.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- machine and time ---- */

uint64_t bench_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static void sleep_ms(unsigned int ms)
{
	struct timespec left = {
		.tv_sec = ms / 1000,
		.tv_nsec = (long)(ms % 1000) * 1000000,
	};

	while (nanosleep(&left, &left) && errno == EINTR)
		;
}

unsigned int bench_cpu_count(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		return 1;
	return (unsigned int)CPU_COUNT(&set);
}

/* The n-th CPU of the process's set, round and round. */
static int nth_cpu(unsigned int n)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		return -1;
	n %= (unsigned int)CPU_COUNT(&set);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET((size_t)cpu, &set) && n-- == 0)
			return cpu;
	}
	return -1;
}

size_t bench_thread_counts(unsigned int *counts, size_t max)
{
	unsigned int cpus = bench_cpu_count();
	size_t n = 0;

	for (unsigned int count = 1; count < cpus && n + 1 < max; count *= 2)
		counts[n++] = count;
	if (n < max)
		counts[n++] = cpus;
	return n;
}

int bench_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	unsigned long long value;
	char *end;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (*end)
		return -EINVAL;
	if (errno || value < min || value > max)
		return -ERANGE;
	*out = value;
	return 0;
}

int bench_is_listed(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = list; at && *at; at += strspn(at, ",")) {
		size_t n = strcspn(at, ",");

		if (n == len && !strncmp(at, name, n))
			return 1;
		at += n;
	}
	return !list;
}

const char *bench_find_unknown(const char *list, bool (*is_known)(const char *name), char *buf,
                               size_t size)
{
	for (const char *at = list; at && *at; at += strspn(at, ",")) {
		size_t n = strcspn(at, ",");

		snprintf(buf, size, "%.*s", (int)n, at);
		if (!is_known(buf))
			return buf;
		at += n;
	}
	return NULL;
}

uint64_t bench_random(uint64_t *state)
{
	uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

uint64_t bench_seed(void)
{
	const char *text = getenv("PATHCACHE_SEED");
	uint64_t seed;

	if (text && !bench_parse_u64(text, 0, UINT64_MAX, &seed))
		return seed;
	return bench_now_ns();
}

/* ---- threads and turns ---- */

struct run {
	const struct bench_plan *plan;
	const struct bench_cell *cell;
	struct bench_thread *slots; /* [thread][variant] */

	pthread_mutex_t lock;
	pthread_cond_t turn_begins;
	pthread_cond_t all_done;
	unsigned int turn;   /* lock: number of the current turn, 0 = set-up */
	unsigned int done;   /* lock: threads that are through with it */
	size_t variant;      /* lock: whose turn it is */
	bool latency;        /* lock: the turn times single operations */
	bool quit;           /* lock */
	int error;           /* lock: first failed setup */
	atomic_uint arrived; /* threads that wait for the others to start */
	atomic_bool stop;    /* time is up */
};

struct worker {
	struct run *run;
	pthread_t id;
	unsigned int index;
	uint64_t ops; /* of the last turn; read after all_done */
	uint64_t ns;
	struct histogram *latency; /* of the last turn that times; NULL: none does */
};

/* For the line below a table. */
static bool pinned;

bool bench_is_pinned(void)
{
	return pinned;
}

static struct bench_thread *slot_of(const struct run *run, unsigned int thread, size_t variant)
{
	return &run->slots[thread * run->cell->nvariants + variant];
}

/* What bench_pin_order() was told. */
static const int *pin_order;
static size_t pin_count;

void bench_pin_order(const int *cpus, size_t n)
{
	pin_order = cpus;
	pin_count = n;
}

static void pin_to(unsigned int index)
{
	int cpu = pin_count ? pin_order[index % pin_count] : nth_cpu(index);
	cpu_set_t set;

	if (cpu < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

/* Return: how many variants are set up; fewer than all when one failed. */
static size_t set_up(struct worker *worker, int *error)
{
	const struct bench_cell *cell = worker->run->cell;
	size_t v;

	for (v = 0; v < cell->nvariants; v++) {
		const struct bench_variant *variant = &cell->variants[v];

		if (!variant->setup)
			continue;
		*error = variant->setup(variant->arg, slot_of(worker->run, worker->index, v));
		if (*error)
			break;
	}
	return v;
}

static void tear_down(struct worker *worker, size_t nvariants)
{
	const struct bench_cell *cell = worker->run->cell;

	for (size_t v = 0; v < nvariants; v++) {
		const struct bench_variant *variant = &cell->variants[v];

		if (variant->teardown)
			variant->teardown(variant->arg, slot_of(worker->run, worker->index, v));
	}
}

/* What two looks at the clock are apart by themselves. */
static uint64_t clock_cost(void)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 1000; i++) {
		uint64_t start = bench_now_ns(), end = bench_now_ns();

		if (end - start < least)
			least = end - start;
	}
	return least;
}

/* Single operations are timed amid the load that batches of them make. */
static void time_operations(struct worker *worker, const struct bench_variant *variant,
                            struct bench_thread *slot)
{
	uint64_t clock = clock_cost();

	histogram_clear(worker->latency);
	do {
		uint64_t start, ns;

		variant->op(variant->arg, slot);
		start = bench_now_ns();
		variant->one(variant->arg, slot);
		ns = bench_now_ns() - start;
		histogram_add(worker->latency, ns > clock ? ns - clock : 0);
	} while (!atomic_load_explicit(&worker->run->stop, memory_order_relaxed));
}

static void take_turn(struct worker *worker, size_t v, bool latency)
{
	struct run *run = worker->run;
	const struct bench_variant *variant = &run->cell->variants[v];
	struct bench_thread *slot = slot_of(run, worker->index, v);
	uint64_t ops = 0, start;

	atomic_fetch_add(&run->arrived, 1);
	while (atomic_load(&run->arrived) < run->cell->threads && !atomic_load(&run->stop))
		sched_yield();
	if (latency) {
		time_operations(worker, variant, slot);
		return;
	}
	start = bench_now_ns();
	do {
		ops += variant->op(variant->arg, slot);
	} while (!atomic_load_explicit(&run->stop, memory_order_relaxed));
	worker->ns = bench_now_ns() - start;
	worker->ops = ops;
}

/* Report that this thread is through. Caller holds the lock. */
static void finish_turn_locked(struct run *run)
{
	if (++run->done == run->cell->threads)
		pthread_cond_signal(&run->all_done);
}

static void *worker_main(void *arg)
{
	struct worker *worker = arg;
	struct run *run = worker->run;
	unsigned int turn = 0;
	int error = 0;
	size_t ready;

	if (run->plan->pin)
		pin_to(worker->index);
	ready = set_up(worker, &error);
	pthread_mutex_lock(&run->lock);
	if (error && !run->error)
		run->error = error;
	finish_turn_locked(run);
	for (;;) {
		size_t variant;
		bool latency;

		while (run->turn == turn && !run->quit)
			pthread_cond_wait(&run->turn_begins, &run->lock);
		if (run->quit)
			break;
		turn = run->turn;
		variant = run->variant;
		latency = run->latency;
		pthread_mutex_unlock(&run->lock);
		take_turn(worker, variant, latency);
		pthread_mutex_lock(&run->lock);
		finish_turn_locked(run);
	}
	pthread_mutex_unlock(&run->lock);
	tear_down(worker, ready);
	return NULL;
}

static void wait_done(struct run *run)
{
	pthread_mutex_lock(&run->lock);
	while (run->done < run->cell->threads)
		pthread_cond_wait(&run->all_done, &run->lock);
	pthread_mutex_unlock(&run->lock);
}

static void run_turn(struct run *run, size_t variant, unsigned int ms)
{
	const struct bench_variant *next = &run->cell->variants[variant];

	if (next->begin)
		next->begin(next->arg);
	pthread_mutex_lock(&run->lock);
	atomic_store(&run->arrived, 0);
	atomic_store(&run->stop, false);
	run->done = 0;
	run->variant = variant;
	run->turn++;
	pthread_cond_broadcast(&run->turn_begins);
	pthread_mutex_unlock(&run->lock);
	sleep_ms(ms);
	atomic_store(&run->stop, true);
	wait_done(run);
}

/* What the rounds of a cell gave. Each array: [variant][round]. */
struct rounds {
	double *mops;
	double *fairness;
	struct histogram *latency; /* one a thread, then one for their sum */
};

static void take_figures(const struct run *run, const struct worker *workers, double *mops,
                         double *fairness)
{
	double least = 0, most = 0, sum = 0;

	for (unsigned int i = 0; i < run->cell->threads; i++) {
		double rate = (double)workers[i].ops * 1000.0 / (double)workers[i].ns;

		sum += rate;
		least = !i || rate < least ? rate : least;
		most = rate > most ? rate : most;
	}
	*mops = sum;
	*fairness = most > 0 ? least / most : 0;
}

static void run_rounds(struct run *run, const struct worker *workers, struct rounds *rounds)
{
	const struct bench_plan *plan = run->plan;
	size_t n = run->cell->nvariants;

	for (size_t v = 0; v < n; v++)
		run_turn(run, v, plan->warmup_ms);
	for (unsigned int round = 0; round < plan->rounds; round++) {
		for (size_t i = 0; i < n; i++) {
			size_t v = (round + i) % n;
			size_t at = v * plan->rounds + round;

			run_turn(run, v, plan->round_ms);
			take_figures(run, workers, &rounds->mops[at], &rounds->fairness[at]);
		}
	}
}

static void run_latency(struct run *run, const struct rounds *rounds, struct bench_result *results)
{
	unsigned int threads = run->cell->threads;
	struct histogram *all = &rounds->latency[threads];

	for (size_t v = 0; v < run->cell->nvariants; v++) {
		if (!run->cell->variants[v].one)
			continue;
		run->latency = true;
		run_turn(run, v, run->plan->latency_ms);
		run->latency = false;
		histogram_clear(all);
		for (unsigned int i = 0; i < threads; i++)
			histogram_merge(all, &rounds->latency[i]);
		results[v].p50 = histogram_at(all, 0.5);
		results[v].p99 = histogram_at(all, 0.99);
		results[v].p999 = histogram_at(all, 0.999);
	}
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double bench_median(double *figures, size_t n)
{
	qsort(figures, n, sizeof(*figures), compare_doubles);
	return n % 2 ? figures[n / 2] : (figures[n / 2 - 1] + figures[n / 2]) / 2;
}

/* Of each round how much dearer it was than the first variant. Before anything is sorted. */
static void compare_pairs(const struct run *run, const struct rounds *rounds, double *scratch,
                          struct bench_result *results)
{
	unsigned int n = run->plan->rounds;

	for (size_t v = 0; v < run->cell->nvariants; v++) {
		const double *mops = &rounds->mops[v * n];

		for (unsigned int i = 0; i < n; i++)
			scratch[i] = mops[i] > 0 ? rounds->mops[i] / mops[i] : 0;
		results[v].rel = bench_median(scratch, n);
	}
}

static void summarise(const struct run *run, struct rounds *rounds, struct bench_result *results)
{
	unsigned int n = run->plan->rounds, threads = run->cell->threads;

	for (size_t v = 0; v < run->cell->nvariants; v++) {
		struct bench_result *result = &results[v];
		double *mops = &rounds->mops[v * n];

		result->mops = bench_median(mops, n);
		result->ns_per_op = threads * 1000.0 / result->mops;
		result->min = threads * 1000.0 / mops[n - 1];
		result->max = threads * 1000.0 / mops[0];
		result->fairness = bench_median(&rounds->fairness[v * n], n);
		result->failed = 0;
		for (unsigned int i = 0; i < threads; i++)
			result->failed += slot_of(run, i, v)->failed;
	}
}

static struct bench_thread *create_slots(const struct bench_cell *cell)
{
	size_t count = cell->threads * cell->nvariants;
	struct bench_thread *slots =
		aligned_alloc(_Alignof(struct bench_thread), count * sizeof(*slots));

	if (!slots)
		return NULL;
	memset(slots, 0, count * sizeof(*slots));
	for (size_t i = 0; i < count; i++) {
		slots[i].index = (unsigned int)(i / cell->nvariants);
		slots[i].count = cell->threads;
	}
	return slots;
}

static unsigned int start_workers(struct run *run, struct worker *workers, int *error)
{
	unsigned int started;

	for (started = 0; started < run->cell->threads; started++) {
		struct worker *worker = &workers[started];

		worker->run = run;
		worker->index = started;
		*error = -pthread_create(&worker->id, NULL, worker_main, worker);
		if (*error)
			break;
	}
	return started;
}

static void stop_workers(struct run *run, struct worker *workers, unsigned int started)
{
	pthread_mutex_lock(&run->lock);
	run->quit = true;
	pthread_cond_broadcast(&run->turn_begins);
	pthread_mutex_unlock(&run->lock);
	for (unsigned int i = 0; i < started; i++)
		pthread_join(workers[i].id, NULL);
}

static int run_cell(struct run *run, struct worker *workers, struct rounds *rounds,
                    struct bench_result *results)
{
	int error = 0;
	unsigned int started = start_workers(run, workers, &error);

	if (!error) {
		wait_done(run);
		error = run->error;
	}
	if (!error)
		run_rounds(run, workers, rounds);
	if (!error && rounds->latency)
		run_latency(run, rounds, results);
	stop_workers(run, workers, started);
	return error;
}

static int create_rounds(const struct run *run, struct worker *workers, struct rounds *rounds)
{
	size_t n = run->cell->nvariants * run->plan->rounds;
	unsigned int threads = run->cell->threads;

	rounds->mops = calloc(n, sizeof(*rounds->mops));
	rounds->fairness = calloc(n, sizeof(*rounds->fairness));
	if (run->plan->latency_ms) {
		rounds->latency = calloc(threads + 1, sizeof(*rounds->latency));
		for (unsigned int i = 0; i < threads && rounds->latency; i++)
			workers[i].latency = &rounds->latency[i];
	}
	return rounds->mops && rounds->fairness && (rounds->latency || !run->plan->latency_ms)
	               ? 0
	               : -ENOMEM;
}

int bench_run(const struct bench_plan *plan, const struct bench_cell *cell,
              struct bench_result *results)
{
	struct run run = {
		.plan = plan,
		.cell = cell,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.turn_begins = PTHREAD_COND_INITIALIZER,
		.all_done = PTHREAD_COND_INITIALIZER,
	};
	struct rounds rounds = {0};
	struct worker *workers;
	double *scratch;
	int error = -ENOMEM;

	if (!plan->rounds || !cell->threads || !cell->nvariants)
		return -EINVAL;
	memset(results, 0, cell->nvariants * sizeof(*results));
	pinned = plan->pin;
	workers = calloc(cell->threads, sizeof(*workers));
	scratch = calloc(plan->rounds, sizeof(*scratch));
	run.slots = create_slots(cell);
	if (workers && scratch && run.slots && !create_rounds(&run, workers, &rounds))
		error = run_cell(&run, workers, &rounds, results);
	if (!error) {
		compare_pairs(&run, &rounds, scratch, results);
		summarise(&run, &rounds, results);
	}
	free(run.slots);
	free(rounds.latency);
	free(rounds.fairness);
	free(rounds.mops);
	free(scratch);
	free(workers);
	return error;
}
