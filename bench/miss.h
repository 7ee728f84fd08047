/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the files of bench_miss share: the options, the files that are asked
 * about, and what came out. One thread, but for the threads of evict-p99.
 */
#ifndef BENCH_MISS_H
#define BENCH_MISS_H

#include "harness.h"
#include "paths.h"
#include "temptree.h"

#include <pathcache.h>
#include <stdint.h>
#include <stdio.h>

struct miss_options {
	const char *scenarios; /* NULL: all */
	const char *dir;       /* NULL: /usr where it is large enough, or a temporary tree */
	const char *tmp;       /* where temporary files go; NULL: in memory */
	const char *csv;
	uint64_t files;
	uint64_t rounds;
	uint64_t round_ms; /* of evict-p99 */
	uint64_t loops;    /* of churn, in a round */
	uint64_t hot;      /* files of the reader of evict-p99 */
};

struct miss {
	struct miss_options opt;
	struct bench_paths paths; /* in the order of a walk over the tree */
	struct temptree tree;     /* they are in, or none */
	double floor_ns;          /* what its rival pays for its ways into the kernel; 0: none */
	uint64_t need;            /* bytes that a cache of all of them takes; 0: not known yet */
	struct bench_table table;
	FILE *csv;
};

/* An empty cache of "/". Return: as pathcache_open(). */
int miss_open(struct pathcache **cache, uint64_t budget);

/*
 * Set miss->need, and compare each answer of a cache with the kernel's meanwhile.
 * Return: 0; -EIO when one differs, told on stderr; errors of opening.
 */
int miss_learn_need(struct miss *miss);

/* target: how much dearer than result 0 the result may be; 0: none is set. */
void miss_row(struct miss *miss, const struct bench_cell *cell, const char *mode,
              const struct bench_result *results, size_t i, double target);

int miss_cold_scan(struct miss *miss);
int miss_churn(struct miss *miss);
int miss_evict(struct miss *miss);

#endif
