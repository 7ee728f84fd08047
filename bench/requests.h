/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a cache is asked for, in order: numbers of objects. Made up from a seed,
 * or the queries of a recorded trace with their repeats. One thread.
 */
#ifndef BENCH_REQUESTS_H
#define BENCH_REQUESTS_H

#include "traces.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct requests {
	char name[64];
	uint32_t *object;
	unsigned char *ends; /* of each: it ends a query; NULL: each is one */
	size_t count;
	uint32_t objects;     /* each number is below */
	uint32_t watched;     /* figures are of objects below it; all: objects */
	size_t from;          /* ... and of requests from here on */
	double depth;         /* mean number of components; 0: no paths */
	struct traces traces; /* the path of each object, or empty */
};

/*
 * A hot set among requests that never come again.
 * exponent: of the Zipf distribution within the set; 0: uniform.
 * ratio: one-shots after each request for the set.
 * warm: requests for the set that come first, which are not counted.
 */
struct requests_hot {
	uint32_t set;
	double exponent;
	uint32_t ratio;
	uint32_t warm;
	uint32_t one_shots;
	bool alone; /* the same without the one-shots */
};

/* All: Return: 0; -ENOMEM. */
int requests_hot(struct requests *requests, const struct requests_hot *hot, uint64_t seed);

/* Objects 0, 1, ... objects - 1, and again from the start. */
int requests_scan(struct requests *requests, uint32_t objects, size_t count);

/* A Zipf distribution over objects. */
int requests_zipf(struct requests *requests, uint32_t objects, double exponent, size_t count,
                  uint64_t seed);

/*
 * The same over a working set that changes: each `period` requests the first
 * `step` objects of it leave and as many new ones come, of any popularity.
 */
struct requests_shift {
	uint32_t set, step, period;
	double exponent;
};

int requests_shift(struct requests *requests, const struct requests_shift *shift, size_t count,
                   uint64_t seed);

/* Return: as traces_read(); -ENODATA without queries. */
int requests_trace(struct requests *requests, const char *file);

void requests_fini(struct requests *requests);

#endif
