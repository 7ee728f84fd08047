/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the parts of bench_lockref share: scenarios, rivals in a cell, figures. */
#ifndef BENCH_LOCKREF_RIVALS_H
#define BENCH_LOCKREF_RIVALS_H

#include "harness.h"
#include "variants.h"

#include <pthread.h>

enum {
	RIVALS_MAX = 32,
	FIGURES_MAX = 4096,
	ROUNDS_MAX = 100,
	SELF_ROUNDS = 21, /* at least: two rivals are soon through */
	PLACES = 16,
	FAST_RATE = 100000 /* lock sections a second that recover takes */
};

struct options {
	const char *scenarios; /* NULL: all */
	const char *modes;     /* NULL: all */
	const char *csv;
	uint64_t threads; /* 0: 1, 2, 4, ... and all CPUs */
	uint64_t rounds;
	uint64_t round_ms;
	uint64_t hold_ns; /* how long the lock taker holds the lock */
	bool check;
};

/*
 * each_own: an object for each thread; else one for all.
 * next: a thread reads the neighbour of the next thread's object.
 * dying: the object is dead from the start.
 * not_alone: means nothing with one thread.
 * places: so many objects, one a turn, go round, since a line costs by where it is.
 * rate: lock sections a second by one thread more; 0: no such thread.
 * wants, bars: traits that a variant must have, must not have.
 */
struct scenario {
	const char *name;
	const char *about;
	enum ref_work work;
	enum ref_layout layout;
	bool each_own;
	bool next;
	bool dying;
	bool not_alone;
	unsigned int places;
	unsigned int rate;
	unsigned int wants;
	unsigned int bars;
};

extern const struct scenario scenarios[];
extern const size_t nscenarios;

const struct scenario *scenario_find(const char *name);
bool scenario_admits(const struct scenario *scenario, const struct ref_variant *variant);

/* What a thread has done so far, for others to read while it goes on. */
struct progress {
	alignas(REF_LINE) _Atomic uint64_t ops;
};

/* A variant in a cell. */
struct rival {
	const struct ref_variant *variant;
	const struct scenario *scenario;
	struct ref_set set;
	struct progress *progress; /* one a thread */
	unsigned int threads;
	unsigned int place;  /* which object has its turn; set while nobody runs */
	atomic_size_t *turn; /* NULL, or where it says that it is this rival's turn */
	size_t number;
	pthread_mutex_t lock;
	uint64_t retries; /* lock: of threads that are through */
	uint64_t refused; /* lock */
};

/* Return: 0; -ENOMEM; -EOPNOTSUPP: not on this system. */
int rival_init(struct rival *rival, const struct ref_variant *variant,
               const struct scenario *scenario, unsigned int threads);
void rival_fini(struct rival *rival);

/* How the harness calls it. */
struct bench_variant rival_variant(struct rival *rival);

/* Operations so far. */
uint64_t rival_ops(const struct rival *rival);

/* Return: 0; -EIO, told, when counts or refusals are not what was done. */
int rival_verify(const struct rival *rival);

/* ---- what was measured ---- */

struct figure {
	const char *scenario;
	const char *mode;
	unsigned int threads;
	unsigned int traits;
	double mops;
	double rel; /* how many times dearer than the cell's first */
};

struct bench {
	struct options opt;
	FILE *csv; /* NULL: none */
	struct bench_table table;
	struct figure figure[FIGURES_MAX];
	size_t nfigures;
};

/* A row of table, file and figures. retries, sections: below 0 for none. */
struct row {
	const struct scenario *scenario;
	const struct ref_variant *variant;
	unsigned int threads;
	const struct bench_result *result;
	double retries;
	double sections;   /* a second */
	const char *note;  /* of the table */
	const char *extra; /* of the file */
};

void add_row(struct bench *bench, const struct row *row);

/* The variants of a scenario that are asked for. Return: how many. */
size_t choose_variants(const struct bench *bench, const struct scenario *scenario,
                       const struct ref_variant **chosen);

/* One scenario with one number of threads. Return: 0; -errno, told. */
int run_cell(struct bench *bench, const struct scenario *scenario, unsigned int threads);
int run_self(struct bench *bench, const struct scenario *scenario, unsigned int threads);
int run_recover(struct bench *bench, const struct scenario *scenario, unsigned int threads);

/* Ratios that are asked about. */
void print_verdicts(const struct bench *bench, FILE *out);

/* ---- checks of the variants ---- */

/*
 * Whether counts are exact and sections exclude each other, with so many
 * threads. Return: 0; -EIO with why; -errno.
 */
int check_variant(const struct ref_variant *variant, unsigned int threads, const char **why);

/* All variants, and that the broken one is caught. Return: 0; -EIO, told. */
int check_all(void);

#endif
