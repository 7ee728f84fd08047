/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Shapes of the published curves, each as a bound on the ratio of two figures.
 * Asked of the published figures themselves and of the model's.
 */
#ifndef BENCH_SIM_SHAPES_H
#define BENCH_SIM_SHAPES_H

#include <stdbool.h>
#include <stddef.h>

struct sim_shape {
	const char *table;
	const char *text;
	const char *id;    /* of a published row */
	const char *other; /* what it is compared with; NULL: it is a ratio itself */
	double low, high;  /* bounds of id / other; high 0: none */
};

extern const struct sim_shape sim_shapes[];
extern const size_t sim_nshapes;

/* Whether a ratio of figures has the shape. */
bool sim_shape_holds(const struct sim_shape *shape, double ratio);

#endif
