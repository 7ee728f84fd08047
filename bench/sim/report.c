/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report.h"
#include "shapes.h"

#include "harness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void sim_predict_all(const struct sim_model *model, struct sim_predictions *predictions)
{
	for (size_t i = 0; i < model->published->n; i++)
		predictions->of[i] = sim_predict(model, &model->published->rows[i]);
}

static const char *order_name(enum sim_order order)
{
	return order == SIM_FIFO
	               ? "first come, first served"
	               : "nearest first, nobody overtaken more often than a socket has cores";
}

static const char *hold_name(enum sim_hold hold)
{
	switch (hold) {
	case SIM_HOLD_RANDOM:
		return "the owner keeps a line for any part of a transfer";
	case SIM_HOLD_HALF:
		return "the owner keeps a line for half a transfer";
	case SIM_HOLD_NONE:
		return "a line goes on as soon as the operation on it is done";
	}
	return "";
}

void sim_print_constants(const struct sim_model *model, FILE *out)
{
	const struct sim_constants *is = &model->constants;
	struct sim_cost x86 = sim_cost_on(model, SIM_X86_48);

	fprintf(out,
	        "Constants, ns. Solved from figures of 1 worker:\n"
	        "  load, store %.2f  atomic addition %.2f  compare-and-exchange %.2f\n"
	        "  work of a stat %.0f, of an open and close %.0f, of a hot lookup %.0f\n"
	        "  work of a reader's loop %.2f (x86-64), %.2f (arm64), %.2f (arm64, safe)\n"
	        "of 2 workers:\n"
	        "  transfer within a socket %.1f; an open and close counts %u other shared objects\n"
	        "From literature:\n"
	        "  transfer across sockets %.1f  pause %.0f\n"
	        "Assumed: siblings share a core's pipeline; %s;\n"
	        "  %s; sleeping or waking takes %.0f.\n\n",
	        x86.load / 1e3, x86.rmw / 1e3, x86.cas / 1e3, (double)is->stat.work / 1e3,
	        (double)is->open.work / 1e3, (double)is->hot_work / 1e3,
	        (double)is->reader_x86 / 1e3, (double)is->reader_arm / 1e3,
	        (double)is->reader_arm_safe / 1e3, x86.near / 1e3, is->open.rest, x86.far / 1e3,
	        x86.pause / 1e3, hold_name(model->hold), order_name(model->order), x86.futex / 1e3);
}

/* ---- tables ---- */

static void format_value(char *out, size_t size, double value)
{
	snprintf(out, size, "%.*f", value < 10 ? 2 : value < 1000 ? 1 : 0, value);
}

static double error_of(const struct sim_row *row, const struct sim_prediction *prediction)
{
	return (prediction->value / row->value - 1) * 100;
}

static void add_row(struct bench_table *table, const struct sim_row *row,
                    const struct sim_prediction *prediction)
{
	char published[32], predicted[32];

	format_value(published, sizeof(published), row->value);
	format_value(predicted, sizeof(predicted), prediction->value);
	if (prediction->standing == SIM_OUTSIDE)
		bench_table_row(table, "%s\t%s\t%u\t%s\t%s\t-\t-\toutside the model: %s",
		                row->machine, row->variant, row->workers, row->unit, published,
		                prediction->reason);
	else
		bench_table_row(table, "%s\t%s\t%u\t%s\t%s\t%s\t%+.0f %%\t%s%s", row->machine,
		                row->variant, row->workers, row->unit, published, predicted,
		                error_of(row, prediction),
		                prediction->standing == SIM_FITTED ? "solved from this; " : "",
		                prediction->reason ? prediction->reason : "");
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median and the largest error of what was predicted, as a factor either way. */
static void print_error(const double *factors, size_t n, FILE *out)
{
	if (n)
		fprintf(out,
		        "predicted: %zu; wrong by a factor of %.2f in the median, %.2f at most\n",
		        n, factors[n / 2], factors[n - 1]);
	fputc('\n', out);
}

/* Rows first to end are one table. */
static void print_table(const struct sim_published *published,
                        const struct sim_predictions *predictions, size_t first, size_t end,
                        FILE *out)
{
	double factors[SIM_ROWS_MAX];
	struct bench_table table;
	size_t n = 0;

	fprintf(out, "Table %s\n", published->rows[first].table);
	bench_table_init(&table, 2);
	bench_table_row(&table, "machine\tmode\tworkers\tunit\tpublished\tmodel\terror\t");
	for (size_t i = first; i < end; i++) {
		const struct sim_prediction *prediction = &predictions->of[i];

		add_row(&table, &published->rows[i], prediction);
		if (prediction->standing == SIM_PREDICTED && prediction->value > 0)
			factors[n++] = exp(fabs(log(prediction->value / published->rows[i].value)));
	}
	bench_table_print_bare(&table, out);
	bench_table_fini(&table);
	qsort(factors, n, sizeof(factors[0]), compare);
	print_error(factors, n, out);
}

void sim_print_tables(const struct sim_published *published,
                      const struct sim_predictions *predictions, FILE *out)
{
	size_t first = 0;

	for (size_t i = 1; i <= published->n; i++) {
		if (i < published->n &&
		    !strcmp(published->rows[i].table, published->rows[first].table))
			continue;
		print_table(published, predictions, first, i, out);
		first = i;
	}
}

/* The time of one operation is not told: of per-CPU counts the rate is each reader's. */
static void write_prediction(const struct sim_row *row, const struct sim_prediction *prediction,
                             FILE *csv)
{
	struct bench_cell cell = {.bench = "sim", .scenario = "published", .threads = row->workers};
	bool is_rate = !strcmp(row->unit, "op/s");
	struct bench_result result = {.mops = is_rate ? prediction->value / 1e6 : 0};
	char extra[256];

	snprintf(extra, sizeof(extra), "machine=%s;published=%s;value=%.8g;standing=%s",
	         row->machine, row->id, prediction->value,
	         prediction->standing == SIM_FITTED ? "solved" : "predicted");
	bench_csv_row(csv, &cell, row->variant, &result, extra);
}

void sim_write_predictions(const struct sim_published *published,
                           const struct sim_predictions *predictions, FILE *csv)
{
	for (size_t i = 0; i < published->n; i++)
		if (predictions->of[i].standing != SIM_OUTSIDE)
			write_prediction(&published->rows[i], &predictions->of[i], csv);
}

/* ---- shapes ---- */

/* The ratio in the published figures or in the model's; NAN when one is missing. */
static double ratio_of(const struct sim_published *published,
                       const struct sim_predictions *predictions, const struct sim_shape *shape)
{
	const struct sim_row *row = sim_published_find(published, shape->id);
	const struct sim_row *other =
		shape->other ? sim_published_find(published, shape->other) : NULL;
	double value, base = 1;

	if (!row || (shape->other && !other))
		return NAN;
	value = predictions ? predictions->of[row - published->rows].value : row->value;
	if (other)
		base = predictions ? predictions->of[other - published->rows].value : other->value;
	return base > 0 ? value / base : NAN;
}

size_t sim_count_shapes(const struct sim_published *published,
                        const struct sim_predictions *predictions)
{
	size_t n = 0;

	for (size_t i = 0; i < sim_nshapes; i++)
		n += sim_shape_holds(&sim_shapes[i],
		                     ratio_of(published, predictions, &sim_shapes[i]));
	return n;
}

static void format_bounds(char *out, size_t size, const struct sim_shape *shape)
{
	if (shape->high <= 0)
		snprintf(out, size, ">= %.2f", shape->low);
	else if (shape->low <= 0)
		snprintf(out, size, "<= %.2f", shape->high);
	else
		snprintf(out, size, "%.2f .. %.2f", shape->low, shape->high);
}

void sim_print_shapes(const struct sim_published *published,
                      const struct sim_predictions *predictions, FILE *out)
{
	struct bench_table table;

	fprintf(out, "Shapes: %zu of %zu are the model's too\n",
	        sim_count_shapes(published, predictions), sim_nshapes);
	bench_table_init(&table, 2);
	bench_table_row(&table, "table\tshape\tratio is to be\tpublished\tmodel\t");
	for (size_t i = 0; i < sim_nshapes; i++) {
		const struct sim_shape *shape = &sim_shapes[i];
		double ratio = ratio_of(published, predictions, shape);
		char bounds[32];

		format_bounds(bounds, sizeof(bounds), shape);
		bench_table_row(&table, "%s\t%s\t%s\t%.2f\t%.2f\t%s", shape->table, shape->text,
		                bounds, ratio_of(published, NULL, shape), ratio,
		                sim_shape_holds(shape, ratio) ? "holds" : "DOES NOT HOLD");
	}
	bench_table_print_bare(&table, out);
	bench_table_fini(&table);
	fputc('\n', out);
}
