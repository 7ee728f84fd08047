/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The one harness of all benches: it owns the threads, their pinning, warm-up,
 * rounds, the time base, the CSV file and the table. A bench brings variants
 * (rivals), which are small structs of callbacks.
 *
 * Life of a cell, one row of the experiment for all its variants:
 *
 *   setup of each variant on each thread
 *   round 0 (warm-up, thrown away), rounds 1..n: each variant has one turn per
 *     round; the first one rotates, so that drift of the machine and what the
 *     previous turn left in the CPU's caches are shared out evenly
 *   teardown of each variant on each thread
 *
 * In a turn every thread calls op() until time is up and divides its own time
 * by its own operations, so late starters do not count as slow ones. After the
 * rounds come, if wanted, turns in which single operations are timed.
 */
#ifndef BENCH_HARNESS_H
#define BENCH_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* What one thread keeps for one variant. On cache lines of its own. */
struct bench_thread {
	_Alignas(128) uint64_t cursor; /* the variant's own, 0 before setup */
	uint64_t failed;               /* operations that did not give an answer */
	uint64_t sink;                 /* results go here, so that they are computed */
	void *state;                   /* the variant's own, NULL before setup */
	unsigned int index;            /* const: number of this thread, from 0 */
	unsigned int count;            /* const: threads in the cell */
};

/*
 * mode: the name in the table and the CSV file.
 * setup: called on each thread before its first turn; NULL for none.
 *   Return: 0 or a negative errno, which ends the run.
 * op: one batch of operations, long against a function call and short against
 *   a round. Return: how many operations it did.
 * begin: called before each turn while all threads wait; NULL for none.
 * one: a single operation, for its latency; NULL: none is told.
 * teardown: called on each thread whose setup succeeded; NULL for none.
 */
struct bench_variant {
	const char *mode;
	void *arg;
	int (*setup)(void *arg, struct bench_thread *thread);
	void (*begin)(void *arg);
	uint64_t (*op)(void *arg, struct bench_thread *thread);
	void (*one)(void *arg, struct bench_thread *thread);
	void (*teardown)(void *arg, struct bench_thread *thread);
};

struct bench_cell {
	const char *bench;
	const char *scenario;
	const struct bench_variant *variants;
	size_t nvariants;
	unsigned int threads;
	double depth; /* mean number of components */
	size_t paths;
};

/* rounds: at least 5 for figures that are to be told. */
struct bench_plan {
	unsigned int rounds;
	unsigned int round_ms;
	unsigned int warmup_ms;
	unsigned int latency_ms; /* a turn that times single operations; 0: no such */
	int pin;                 /* thread i stays on the i-th CPU, see bench_pin_order() */
};

/*
 * Over the rounds of one variant. ns_per_op is what one thread waits for one
 * operation; mops is millions a second, all threads together.
 */
struct bench_result {
	double ns_per_op; /* median */
	double min;       /* ns_per_op of the best round */
	double max;       /* ... and of the worst */
	double mops;      /* of the median */
	double rel;       /* median over the rounds of ns_per_op to the first variant's */
	double fairness;  /* the slowest thread's speed to the fastest one's, median */
	uint64_t failed;  /* all rounds */
	uint64_t p50;     /* ns of a single operation, the clock's own cost taken off; */
	uint64_t p99;     /* all 0 where none was timed */
	uint64_t p999;
};

/*
 * Run one cell. results: one per variant.
 * Return: 0; -EINVAL for a plan or cell that measures nothing; -ENOMEM,
 *   -EAGAIN when threads cannot be had; the error of a setup.
 */
int bench_run(const struct bench_plan *plan, const struct bench_cell *cell,
              struct bench_result *results);

/*
 * Where pinned threads go from now on: thread i to cpus[i % n], which stay the
 * caller's. n 0: to the i-th CPU of the process's set.
 */
void bench_pin_order(const int *cpus, size_t n);

/* The middle one of n figures, which are sorted by it; n is at least 1. */
double bench_median(double *figures, size_t n);

/* Whether the threads of the last cell were pinned. */
bool bench_is_pinned(void);

/*
 * What entering and leaving the kernel costs here, whatever is done there:
 * getppid(2), in ns. 0 when it cannot be measured.
 */
double bench_floor_ns(const struct bench_plan *plan);

/* ---- machine and time ---- */

uint64_t bench_now_ns(void);        /* CLOCK_MONOTONIC */
unsigned int bench_cpu_count(void); /* CPUs this process may run on */

/*
 * 1, 2, 4, ... and the number of CPUs itself.
 * Return: how many were placed in counts, at most max.
 */
size_t bench_thread_counts(unsigned int *counts, size_t max);

/*
 * A decimal number with nothing before or after it.
 * Return: 0; -EINVAL; -ERANGE when not within min and max.
 */
int bench_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *out);

/* Whether name is in a list with commas; NULL lists all. */
int bench_is_listed(const char *list, const char *name);

/*
 * The first name in a list with commas that is_known() does not know, copied into
 * buf; NULL when there is none.
 */
const char *bench_find_unknown(const char *list, bool (*is_known)(const char *name), char *buf,
                               size_t size);

/* A repeatable generator (splitmix64); state is any number. */
uint64_t bench_random(uint64_t *state);

/* The seed from PATHCACHE_SEED, or one from the clock. */
uint64_t bench_seed(void);

/* ---- progress ---- */

/* One line that rewrites itself on a terminal, and only its end elsewhere. */
struct bench_progress {
	const char *label;
	uint64_t total; /* 0: not known */
	uint64_t start_ns;
	uint64_t shown_ns;
	int terminal;
};

void bench_progress_begin(struct bench_progress *progress, const char *label, uint64_t total);
void bench_progress_step(struct bench_progress *progress, uint64_t done);
void bench_progress_end(struct bench_progress *progress, uint64_t done);

/* ---- output ---- */

/* Tell on stderr what failed, with the program's name. Return: error, a negative errno. */
int bench_complain(const char *what, int error);

/* Tell what was wrong with the arguments, and the usage. Return: -EINVAL. */
int bench_bad_usage(const char *usage, const char *problem, const char *argument);

#define BENCH_CSV_HEADER "bench,scenario,mode,threads,depth,paths,ns_per_op,mops,min,max,extra"

/* A CSV file with its header written. NULL and errno when it cannot be made. */
FILE *bench_csv_create(const char *path);

/*
 * extra: key=value pairs with semicolons between them; no comma, no quote. The
 * row adds rel, fairness and percentiles of what bench_run() measured.
 */
void bench_csv_row(FILE *csv, const struct bench_cell *cell, const char *mode,
                   const struct bench_result *result, const char *extra);

/* Return: 0, or the negative errno of any write since the file was made. */
int bench_csv_close(FILE *csv);

/* Rows of text with aligned columns: the first `left` ones flush left. */
struct bench_table {
	char **rows;
	size_t nrows;
	size_t capacity;
	size_t left;
	int failed; /* out of memory: some rows are missing */
};

void bench_table_init(struct bench_table *table, size_t left);

/* Columns are separated by tabs in the formatted text; "" makes a blank line. */
__attribute__((format(printf, 2, 3))) void bench_table_row(struct bench_table *table,
                                                           const char *format, ...);

/* For figures that nobody has measured. */
void bench_table_print_bare(const struct bench_table *table, FILE *out);

/* With a line below it that says on what it was measured. */
void bench_table_print(const struct bench_table *table, FILE *out);
void bench_table_fini(struct bench_table *table);

#endif
