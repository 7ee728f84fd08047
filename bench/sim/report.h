/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What bench_sim prints and writes. */
#ifndef BENCH_SIM_REPORT_H
#define BENCH_SIM_REPORT_H

#include "predict.h"

#include <stdio.h>

/* Predictions of all published rows, in their order. */
struct sim_predictions {
	struct sim_prediction of[SIM_ROWS_MAX];
};

void sim_predict_all(const struct sim_model *model, struct sim_predictions *predictions);

void sim_print_constants(const struct sim_model *model, FILE *out);

/* Published beside predicted, a table each. */
void sim_print_tables(const struct sim_published *published,
                      const struct sim_predictions *predictions, FILE *out);

/*
 * A row for each published one that the model covers: scenario "published", its
 * id, the model's value in its unit and how it came about in extra.
 */
void sim_write_predictions(const struct sim_published *published,
                           const struct sim_predictions *predictions, FILE *csv);

/* Which shapes the model has. Return: how many. */
size_t sim_count_shapes(const struct sim_published *published,
                        const struct sim_predictions *predictions);
void sim_print_shapes(const struct sim_published *published,
                      const struct sim_predictions *predictions, FILE *out);

#endif
