/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What benches print: progress, the CSV file, tables. */
#define _GNU_SOURCE
#include "harness.h"
#include "machine.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- progress ---- */

static void progress_show(struct bench_progress *progress, uint64_t done)
{
	double seconds = (double)(bench_now_ns() - progress->start_ns) / 1e9;
	double rate = seconds > 0 ? (double)done / seconds : 0;

	fprintf(stderr, "%s%s: %ju", progress->terminal ? "\r\033[K" : "", progress->label,
	        (uintmax_t)done);
	if (progress->total)
		fprintf(stderr, " of %ju", (uintmax_t)progress->total);
	fprintf(stderr, ", %.0f/s", rate);
}

void bench_progress_begin(struct bench_progress *progress, const char *label, uint64_t total)
{
	progress->label = label;
	progress->total = total;
	progress->start_ns = bench_now_ns();
	progress->shown_ns = progress->start_ns;
	progress->terminal = isatty(STDERR_FILENO);
}

void bench_progress_step(struct bench_progress *progress, uint64_t done)
{
	uint64_t now;

	/* The clock is asked once in 256 steps: some steps take a microsecond. */
	if (!progress->terminal || done % 256)
		return;
	now = bench_now_ns();
	if (now - progress->shown_ns < UINT64_C(100000000))
		return;
	progress->shown_ns = now;
	progress_show(progress, done);
	fflush(stderr);
}

void bench_progress_end(struct bench_progress *progress, uint64_t done)
{
	progress_show(progress, done);
	fprintf(stderr, " (%.1f s)\n", (double)(bench_now_ns() - progress->start_ns) / 1e9);
}

/* ---- output ---- */

int bench_complain(const char *what, int error)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(-error));
	return error;
}

int bench_bad_usage(const char *usage, const char *problem, const char *argument)
{
	fprintf(stderr, "%s: %s%s\n%s", program_invocation_short_name, problem, argument, usage);
	return -EINVAL;
}

FILE *bench_csv_create(const char *path)
{
	FILE *csv = fopen(path, "we");

	if (csv)
		fprintf(csv, "%s\n", BENCH_CSV_HEADER);
	return csv;
}

void bench_csv_row(FILE *csv, const struct bench_cell *cell, const char *mode,
                   const struct bench_result *result, const char *extra)
{
	fprintf(csv, "%s,%s,%s,%u,%.2f,%zu,%.2f,%.4f,%.2f,%.2f,%s", cell->bench, cell->scenario,
	        mode, cell->threads, cell->depth, cell->paths, result->ns_per_op, result->mops,
	        result->min, result->max, extra);
	if (result->rel > 0)
		fprintf(csv, "%srel=%.4f;fairness=%.3f", *extra ? ";" : "", result->rel,
		        result->fairness);
	if (result->p999)
		fprintf(csv, ";p50=%ju;p99=%ju;p999=%ju", (uintmax_t)result->p50,
		        (uintmax_t)result->p99, (uintmax_t)result->p999);
	fputc('\n', csv);
}

int bench_csv_close(FILE *csv)
{
	bool bad = ferror(csv);

	errno = 0;
	if (fclose(csv) || bad)
		return errno ? -errno : -EIO;
	return 0;
}

void bench_table_init(struct bench_table *table, size_t left)
{
	*table = (struct bench_table){.left = left};
}

static int table_reserve(struct bench_table *table)
{
	size_t capacity = table->capacity ? table->capacity * 2 : 32;
	char **rows;

	if (table->nrows < table->capacity)
		return 0;
	rows = realloc(table->rows, capacity * sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	table->rows = rows;
	table->capacity = capacity;
	return 0;
}

void bench_table_row(struct bench_table *table, const char *format, ...)
{
	va_list args;
	char *row;
	int length;

	va_start(args, format);
	length = vasprintf(&row, format, args);
	va_end(args);
	if (length < 0) {
		table->failed = 1;
		return;
	}
	if (table_reserve(table)) {
		table->failed = 1;
		free(row);
		return;
	}
	table->rows[table->nrows++] = row;
}

enum { MAX_COLUMNS = 16 };

static void measure_row(const char *row, size_t widths[MAX_COLUMNS])
{
	for (size_t column = 0; column < MAX_COLUMNS; column++) {
		size_t width = strcspn(row, "\t");

		if (width > widths[column])
			widths[column] = width;
		row += width;
		if (!*row++)
			return;
	}
}

static void print_row(const char *row, const size_t widths[MAX_COLUMNS], size_t left, FILE *out)
{
	for (size_t column = 0; column < MAX_COLUMNS; column++) {
		int width = (int)strcspn(row, "\t");
		int pad = (int)widths[column] - width;
		int last = !row[width];

		if (column)
			fputs("  ", out);
		if (column < left)
			fprintf(out, "%.*s%*s", width, row, last ? 0 : pad, "");
		else
			fprintf(out, "%*s%.*s", pad, "", width, row);
		if (last)
			break;
		row += width + 1;
	}
	fputc('\n', out);
}

void bench_table_print_bare(const struct bench_table *table, FILE *out)
{
	size_t widths[MAX_COLUMNS] = {0};

	for (size_t i = 0; i < table->nrows; i++)
		measure_row(table->rows[i], widths);
	for (size_t i = 0; i < table->nrows; i++) {
		if (table->rows[i][0])
			print_row(table->rows[i], widths, table->left, out);
		else
			fputc('\n', out);
	}
}

void bench_table_print(const struct bench_table *table, FILE *out)
{
	bench_table_print_bare(table, out);
	fprintf(out, "on: %s\n", machine_line());
}

void bench_table_fini(struct bench_table *table)
{
	for (size_t i = 0; i < table->nrows; i++)
		free(table->rows[i]);
	free(table->rows);
}
