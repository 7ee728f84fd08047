/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What bench_evict found: tables of hit rates with a column for each policy, the
 * CSV file, and means over traces. One thread.
 */
#ifndef BENCH_EVICT_REPORT_H
#define BENCH_EVICT_REPORT_H

#include "evict_cache.h"
#include "harness.h"
#include "policies.h"

#include <stdio.h>

enum {
	EVICT_MODES = 13, /* columns that a table has room for */
	EVICT_GROUPS = 8,
};

/* Sums over the rows of one group; differences are in percent points. */
struct evict_sums {
	unsigned int rows;
	double hit, steps;
	double lru, lru_worst;
	double opt, opt_worst;
	char lru_name[64], opt_name[64];
};

/* Rows that a mean is made of: one part of the objects' number, one kind of object. */
struct evict_group {
	char name[64];
	struct evict_sums sums[EVICT_MODES];
};

/* Column 0 is the optimum and column 1 LRU. The last is the library, if it takes part. */
struct evict_report {
	FILE *csv; /* or NULL */
	struct bench_table table;
	const struct policy_kind *kinds[EVICT_MODES];
	size_t nkinds, nmodes;
	struct evict_group groups[EVICT_GROUPS];
	size_t ngroups;
};

/*
 * One line of a table.
 * label: what it is called there; NULL: as its requests.
 * size: what the capacity is called. keys: what an object is.
 * group: the mean that it goes into, or NULL.
 */
struct evict_row {
	const struct requests *requests;
	const char *label;
	const char *size;
	const char *keys;
	const char *group;
	uint32_t capacity;
	bool known[EVICT_MODES];
	double hit[EVICT_MODES]; /* percent */
	double steps[EVICT_MODES];
};

/* policies: names with commas; NULL: a choice. Return: 0; -EINVAL: too many or none of them. */
int evict_report_init(struct evict_report *report, const char *policies, bool library);
void evict_report_fini(struct evict_report *report);

const char *evict_report_mode(const struct evict_report *report, size_t mode);

/* Place a result in the row and write it to the CSV file. */
void evict_report_policy(struct evict_report *report, struct evict_row *row, size_t mode,
                         const struct policy_result *result);
void evict_report_library(struct evict_report *report, struct evict_row *row,
                          const struct evict_cache_result *result);

/* Add a finished row to the table and its group. Return: 0; -ENOSPC: too many groups. */
int evict_report_row(struct evict_report *report, const struct evict_row *row);

/* One line under a hot set's two rows: what the one-shots took from it. */
void evict_report_lost(struct evict_report *report, const struct evict_row *beside,
                       const struct evict_row *alone);

/* Print what rows there are, if any, and begin the next table. Return: 0; -ENOMEM. */
int evict_report_table(struct evict_report *report, const char *title);

/* Print the means of all groups. */
int evict_report_means(struct evict_report *report);

#endif
