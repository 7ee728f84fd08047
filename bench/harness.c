/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "harness.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
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
};

static struct bench_thread *slot_of(const struct run *run, unsigned int thread, size_t variant)
{
	return &run->slots[thread * run->cell->nvariants + variant];
}

static void pin_to(unsigned int index)
{
	int cpu = nth_cpu(index);
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

static void take_turn(struct worker *worker, size_t v)
{
	struct run *run = worker->run;
	const struct bench_variant *variant = &run->cell->variants[v];
	struct bench_thread *slot = slot_of(run, worker->index, v);
	uint64_t ops = 0, start;

	atomic_fetch_add(&run->arrived, 1);
	while (atomic_load(&run->arrived) < run->cell->threads && !atomic_load(&run->stop))
		sched_yield();
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

		while (run->turn == turn && !run->quit)
			pthread_cond_wait(&run->turn_begins, &run->lock);
		if (run->quit)
			break;
		turn = run->turn;
		variant = run->variant;
		pthread_mutex_unlock(&run->lock);
		take_turn(worker, variant);
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

static double turn_mops(const struct run *run, const struct worker *workers)
{
	double mops = 0;

	for (unsigned int i = 0; i < run->cell->threads; i++)
		mops += (double)workers[i].ops * 1000.0 / (double)workers[i].ns;
	return mops;
}

/* mops: [variant][round] */
static void run_rounds(struct run *run, const struct worker *workers, double *mops)
{
	const struct bench_plan *plan = run->plan;
	size_t n = run->cell->nvariants;

	for (size_t v = 0; v < n; v++)
		run_turn(run, v, plan->warmup_ms);
	for (unsigned int round = 0; round < plan->rounds; round++) {
		for (size_t i = 0; i < n; i++) {
			size_t v = (round + i) % n;

			run_turn(run, v, plan->round_ms);
			mops[v * plan->rounds + round] = turn_mops(run, workers);
		}
	}
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void summarise(const struct run *run, double *mops, struct bench_result *results)
{
	unsigned int rounds = run->plan->rounds, threads = run->cell->threads;

	for (size_t v = 0; v < run->cell->nvariants; v++, mops += rounds) {
		struct bench_result *result = &results[v];

		qsort(mops, rounds, sizeof(*mops), compare_doubles);
		result->mops = rounds % 2 ? mops[rounds / 2]
		                          : (mops[rounds / 2 - 1] + mops[rounds / 2]) / 2;
		result->ns_per_op = threads * 1000.0 / result->mops;
		result->min = threads * 1000.0 / mops[rounds - 1];
		result->max = threads * 1000.0 / mops[0];
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

static int run_cell(struct run *run, struct worker *workers, double *mops)
{
	int error = 0;
	unsigned int started = start_workers(run, workers, &error);

	if (!error) {
		wait_done(run);
		error = run->error;
	}
	if (!error)
		run_rounds(run, workers, mops);
	stop_workers(run, workers, started);
	return error;
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
	struct worker *workers;
	double *mops;
	int error = -ENOMEM;

	if (!plan->rounds || !cell->threads || !cell->nvariants)
		return -EINVAL;
	workers = calloc(cell->threads, sizeof(*workers));
	mops = calloc(cell->nvariants * plan->rounds, sizeof(*mops));
	run.slots = create_slots(cell);
	if (workers && mops && run.slots)
		error = run_cell(&run, workers, mops);
	if (!error)
		summarise(&run, mops, results);
	free(run.slots);
	free(mops);
	free(workers);
	return error;
}

/* ---- progress ---- */

static void progress_show(struct bench_progress *progress, uint64_t done)
{
	double seconds = (double)(bench_now_ns() - progress->start_ns) / 1e9;
	double rate = seconds > 0 ? (double)done / seconds : 0;

	fprintf(stderr, "%s%s: %ju", progress->terminal ? "\r\033[K" : "", progress->label,
	        (uintmax_t)done);
	if (progress->total)
		fprintf(stderr, " of %ju", (uintmax_t)progress->total);
	fprintf(stderr, ", %.0f/s", rate);
}

void bench_progress_begin(struct bench_progress *progress, const char *label, uint64_t total)
{
	progress->label = label;
	progress->total = total;
	progress->start_ns = bench_now_ns();
	progress->shown_ns = progress->start_ns;
	progress->terminal = isatty(STDERR_FILENO);
}

void bench_progress_step(struct bench_progress *progress, uint64_t done)
{
	uint64_t now;

	/* The clock is asked once in 256 steps: some steps take a microsecond. */
	if (!progress->terminal || done % 256)
		return;
	now = bench_now_ns();
	if (now - progress->shown_ns < UINT64_C(100000000))
		return;
	progress->shown_ns = now;
	progress_show(progress, done);
	fflush(stderr);
}

void bench_progress_end(struct bench_progress *progress, uint64_t done)
{
	progress_show(progress, done);
	fprintf(stderr, " (%.1f s)\n", (double)(bench_now_ns() - progress->start_ns) / 1e9);
}

/* ---- output ---- */

FILE *bench_csv_create(const char *path)
{
	FILE *csv = fopen(path, "we");

	if (csv)
		fprintf(csv, "%s\n", BENCH_CSV_HEADER);
	return csv;
}

void bench_csv_row(FILE *csv, const struct bench_cell *cell, const char *mode,
                   const struct bench_result *result, const char *extra)
{
	fprintf(csv, "%s,%s,%s,%u,%.2f,%zu,%.2f,%.4f,%.2f,%.2f,%s\n", cell->bench, cell->scenario,
	        mode, cell->threads, cell->depth, cell->paths, result->ns_per_op, result->mops,
	        result->min, result->max, extra);
}

int bench_csv_close(FILE *csv)
{
	bool bad = ferror(csv);

	errno = 0;
	if (fclose(csv) || bad)
		return errno ? -errno : -EIO;
	return 0;
}

void bench_table_init(struct bench_table *table, size_t left)
{
	*table = (struct bench_table){.left = left};
}

static int table_reserve(struct bench_table *table)
{
	size_t capacity = table->capacity ? table->capacity * 2 : 32;
	char **rows;

	if (table->nrows < table->capacity)
		return 0;
	rows = realloc(table->rows, capacity * sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	table->rows = rows;
	table->capacity = capacity;
	return 0;
}

void bench_table_row(struct bench_table *table, const char *format, ...)
{
	va_list args;
	char *row;
	int length;

	va_start(args, format);
	length = vasprintf(&row, format, args);
	va_end(args);
	if (length < 0) {
		table->failed = 1;
		return;
	}
	if (table_reserve(table)) {
		table->failed = 1;
		free(row);
		return;
	}
	table->rows[table->nrows++] = row;
}

enum { MAX_COLUMNS = 16 };

static void measure_row(const char *row, size_t widths[MAX_COLUMNS])
{
	for (size_t column = 0; column < MAX_COLUMNS; column++) {
		size_t width = strcspn(row, "\t");

		if (width > widths[column])
			widths[column] = width;
		row += width;
		if (!*row++)
			return;
	}
}

static void print_row(const char *row, const size_t widths[MAX_COLUMNS], size_t left, FILE *out)
{
	for (size_t column = 0; column < MAX_COLUMNS; column++) {
		int width = (int)strcspn(row, "\t");
		int pad = (int)widths[column] - width;
		int last = !row[width];

		if (column)
			fputs("  ", out);
		if (column < left)
			fprintf(out, "%.*s%*s", width, row, last ? 0 : pad, "");
		else
			fprintf(out, "%*s%.*s", pad, "", width, row);
		if (last)
			break;
		row += width + 1;
	}
	fputc('\n', out);
}

void bench_table_print(const struct bench_table *table, FILE *out)
{
	size_t widths[MAX_COLUMNS] = {0};

	for (size_t i = 0; i < table->nrows; i++)
		measure_row(table->rows[i], widths);
	for (size_t i = 0; i < table->nrows; i++) {
		if (table->rows[i][0])
			print_row(table->rows[i], widths, table->left, out);
		else
			fputc('\n', out);
	}
}

void bench_table_fini(struct bench_table *table)
{
	for (size_t i = 0; i < table->nrows; i++)
		free(table->rows[i]);
	free(table->rows);
}
