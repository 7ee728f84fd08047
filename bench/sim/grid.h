/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The scenarios and modes of bench_lockref at worker counts that nobody has at
 * hand, and whether the order of the ways to count is there what it is at two.
 */
#ifndef BENCH_SIM_GRID_H
#define BENCH_SIM_GRID_H

#include "model.h"

#include <stdio.h>

struct sim_grid_options {
	FILE *csv;             /* NULL: only what the claims need */
	const char *scenarios; /* lists with commas; NULL: all */
	const char *modes;
	bool quick; /* three worker counts, two machines */
};

/*
 * Run it, write rows, and print what holds of the claims.
 * Return: 0; -ENOMEM.
 */
int sim_grid_run(const struct sim_model *model, const struct sim_grid_options *options, FILE *out);

bool sim_scenario_is_known(const char *name);
bool sim_mode_is_known(const char *name);

#endif
