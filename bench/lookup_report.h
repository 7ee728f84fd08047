/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What bench_lookup found: a table for each scenario, the CSV file, and the
 * ratios at the end that tell whether the cache is worth its place. One thread.
 */
#ifndef BENCH_LOOKUP_REPORT_H
#define BENCH_LOOKUP_REPORT_H

#include "harness.h"
#include "world.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct report_row {
	const char *scenario;
	const char *mode;
	char note[64];
	unsigned int threads;
	double ns, mops;
	double bytes_per_file; /* 0: not known */
};

struct report {
	struct bench_table table; /* of the scenario under way */
	FILE *csv;                /* or NULL */
	double floor_ns;
	struct report_row *rows;
	size_t nrows, capacity;
};

void report_init(struct report *report, FILE *csv);
void report_fini(struct report *report);

/*
 * Take in one cell. peers: which rivals the n results are of. note: what the
 * scenario's name does not say. mutator: that ran, or NULL.
 * Return: 0; -ENOMEM.
 */
int report_cell(struct report *report, const struct world *world, const struct bench_cell *cell,
                const size_t *peers, const struct bench_result *results, size_t n, const char *note,
                const struct mutator *mutator);

/* Print the table of a scenario and begin the next one. Return: 0; -ENOMEM. */
int report_table(struct report *report, const char *scenario);

void report_summary(const struct report *report);

#endif
