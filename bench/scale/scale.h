/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the parts of bench_scale share. */
#ifndef SCALE_SCALE_H
#define SCALE_SCALE_H

#include "harness.h"

#include <stddef.h>
#include <stdint.h>

enum { SCALE_MODES = 16 };

/* Lookups of one scenario: the rivals, filled and warm. */
struct scale_lookup;

/* The names there are. NULL behind the last. */
extern const char *const scale_lookups[];
extern const char *const scale_lookup_modes[];

/*
 * modes: a list, or NULL for all. most: threads that will ask, at most.
 * small: fewer paths.
 * Return: 0; -ENOMEM; -ENODATA: no mode of the list is one; -EIO: an answer
 *   was wrong, told.
 */
int scale_lookup_create(struct scale_lookup **out, const char *scenario, const char *modes,
                        unsigned int most, int small);
void scale_lookup_destroy(struct scale_lookup *lookup);

/* How many rivals there are. */
size_t scale_lookup_count(const struct scale_lookup *lookup);

/*
 * One cell with threads; cell and results are filled, variants as many as rivals.
 * Return: 0; -errno; -EIO: an operation failed.
 */
int scale_lookup_run(struct scale_lookup *lookup, const struct bench_plan *plan,
                     unsigned int threads, struct bench_cell *cell, struct bench_result *results);
const char *scale_lookup_mode(const struct scale_lookup *lookup, size_t i);

#endif
