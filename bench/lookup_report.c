/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lookup_report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static void begin_table(struct report *report)
{
	bench_table_init(&report->table, 2);
	bench_table_row(&report->table,
	                "scenario\tmode\tthreads\tdepth\tpaths\tns/lookup\tbest\tworst"
	                "\tmillion/s\tx syscall\tabove floor\tx lfht\tp50/99/99.9\tfair\tnote");
}

void report_init(struct report *report, FILE *csv)
{
	*report = (struct report){.csv = csv};
	begin_table(report);
}

void report_fini(struct report *report)
{
	bench_table_fini(&report->table);
	free(report->rows);
}

int report_table(struct report *report, const char *scenario)
{
	int error = report->table.failed ? -ENOMEM : 0;

	printf("\n%s; floor of a system call here: getppid %.1f ns\n", scenario, report->floor_ns);
	bench_table_print(&report->table, stdout);
	bench_table_fini(&report->table);
	begin_table(report);
	return error;
}

/* ---- rows ---- */

static int keep_row(struct report *report, const struct report_row *row)
{
	if (report->nrows == report->capacity) {
		size_t capacity = report->capacity ? report->capacity * 2 : 64;
		struct report_row *rows = realloc(report->rows, capacity * sizeof(*rows));

		if (!rows)
			return -ENOMEM;
		report->rows = rows;
		report->capacity = capacity;
	}
	report->rows[report->nrows++] = *row;
	return 0;
}

/* What the rows of a cell share. */
struct context {
	const struct report *report;
	const struct world *world;
	const struct bench_cell *cell;
	double call_ns, table_ns; /* of the plain system call and of lfht; 0: not there */
	const char *note;
	const struct mutator *mutator;
};

static double ns_of(const struct world *world, const char *mode, const size_t *peers,
                    const struct bench_result *results, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(world->peers[peers[i]].ops->mode, mode))
			return results[i].ns_per_op;
	}
	return 0;
}

/* What the call does besides entering and leaving the kernel; 0: not known. */
static double above_floor(const struct context *context)
{
	double ns = context->call_ns - context->report->floor_ns;

	return ns > 0 ? ns : 0;
}

/* How much dearer the rival is; "-" without one. */
static void times_dearer(char *out, size_t size, double rival_ns, double ns)
{
	if (rival_ns > 0)
		snprintf(out, size, "%.2f", rival_ns / ns);
	else
		snprintf(out, size, "-");
}

static double renames_per_second(const struct mutator *mutator, size_t peer)
{
	if (!mutator || !mutator->turn_ns[peer])
		return 0;
	return (double)mutator->renames[peer] * 1e9 / (double)mutator->turn_ns[peer];
}

/* Where each thread has its own, that of all threads. */
static double bytes_of(const struct world *world, size_t peer, unsigned int threads)
{
	return world->bytes_per_file[peer] * (world->peers[peer].ops->attach ? threads : 1);
}

/* While a name is away its paths are absent, which is right. */
static const char *unanswered(const struct context *context)
{
	return context->mutator ? "absent" : "failed";
}

/* Pairs for the CSV file, with semicolons between them. */
struct extra {
	char text[512];
	size_t length;
};

__attribute__((format(printf, 2, 3))) static void add(struct extra *extra, const char *format, ...)
{
	size_t left = sizeof(extra->text) - extra->length;
	va_list args;
	int n;

	if (extra->length && left > 1) {
		extra->text[extra->length++] = ';';
		left--;
	}
	va_start(args, format);
	n = vsnprintf(extra->text + extra->length, left, format, args);
	va_end(args);
	extra->length += (size_t)n < left ? (size_t)n : left - 1;
}

static void write_csv(const struct context *context, size_t peer, const struct bench_result *result)
{
	const struct world *world = context->world;
	const struct peer *asked = &world->peers[peer];
	double renames = renames_per_second(context->mutator, peer);
	struct extra extra = {.length = 0};

	add(&extra, "mean_path_bytes=%.1f;floor_ns=%.1f;made=%zu", world->paths->mean_bytes,
	    context->report->floor_ns, world->load->made);
	if (context->call_ns > 0)
		add(&extra, "x_call=%.3f;x_above_floor=%.3f", context->call_ns / result->ns_per_op,
		    above_floor(context) / result->ns_per_op);
	if (*context->note)
		add(&extra, "%s", context->note);
	if (world->bytes_per_file[peer] > 0)
		add(&extra, "bytes_per_file=%.1f", bytes_of(world, peer, context->cell->threads));
	if (asked->ops->tell) {
		char text[128];

		asked->ops->tell(asked->self, text, sizeof(text));
		add(&extra, "%s", text);
	}
	if (asked->ops->cache)
		add(&extra,
		    "memos=%ju;stamps_per_lookup=%.6f;restarts_per_lookup=%.2e;"
		    "misses_per_lookup=%.2e",
		    (uintmax_t)world->memos[peer], world->rates[peer].stamps,
		    world->rates[peer].restarts, world->rates[peer].misses);
	if (renames > 0)
		add(&extra, "renames_per_s=%.0f", renames);
	if (result->failed)
		add(&extra, "%s=%ju", unanswered(context), (uintmax_t)result->failed);
	bench_csv_row(context->report->csv, context->cell, asked->ops->mode, result, extra.text);
}

static void show_row(struct bench_table *table, const struct context *context, size_t peer,
                     const struct bench_result *result)
{
	const struct bench_cell *cell = context->cell;
	double ns = result->ns_per_op, renames = renames_per_second(context->mutator, peer);
	char kernel[16], floor[16], lfht[16], pace[48] = "", failed[48] = "";

	times_dearer(kernel, sizeof(kernel), context->call_ns, ns);
	times_dearer(floor, sizeof(floor), above_floor(context), ns);
	times_dearer(lfht, sizeof(lfht), context->table_ns, ns);
	if (renames > 0)
		snprintf(pace, sizeof(pace), " %.0f renames/s", renames);
	if (result->failed)
		snprintf(failed, sizeof(failed), " %ju %s", (uintmax_t)result->failed,
		         unanswered(context));
	bench_table_row(
		table,
		"%s\t%s\t%u\t%.1f\t%zu\t%.1f\t%.1f\t%.1f\t%.3f\t%s\t%s\t%s\t%ju/%ju/%ju\t%.2f"
		"\t%s%s%s",
		cell->scenario, context->world->peers[peer].ops->mode, cell->threads, cell->depth,
		cell->paths, ns, result->min, result->max, result->mops, kernel, floor, lfht,
		(uintmax_t)result->p50, (uintmax_t)result->p99, (uintmax_t)result->p999,
		result->fairness, context->note, pace, failed);
}

int report_cell(struct report *report, const struct world *world, const struct bench_cell *cell,
                const size_t *peers, const struct bench_result *results, size_t n, const char *note,
                const struct mutator *mutator)
{
	const struct context context = {
		.report = report,
		.world = world,
		.cell = cell,
		.call_ns = ns_of(world, world_call(world), peers, results, n),
		.table_ns = ns_of(world, "lfht", peers, results, n),
		.note = note,
		.mutator = mutator,
	};
	int error = 0;

	for (size_t i = 0; i < n && !error; i++) {
		struct report_row row = {
			.scenario = cell->scenario,
			.mode = world->peers[peers[i]].ops->mode,
			.threads = cell->threads,
			.ns = results[i].ns_per_op,
			.mops = results[i].mops,
			.bytes_per_file = bytes_of(world, peers[i], cell->threads),
		};

		snprintf(row.note, sizeof(row.note), "%s", note);
		show_row(&report->table, &context, peers[i], &results[i]);
		if (report->csv)
			write_csv(&context, peers[i], &results[i]);
		error = keep_row(report, &row);
	}
	bench_table_row(&report->table, "%s", "");
	return error;
}

/* ---- the summary ---- */

static const struct report_row *find(const struct report *report, const char *scenario,
                                     const char *mode, unsigned int threads, const char *note)
{
	for (size_t i = 0; i < report->nrows; i++) {
		const struct report_row *row = &report->rows[i];

		if (!strcmp(row->scenario, scenario) && !strcmp(row->mode, mode) &&
		    row->threads == threads && (!note || !strcmp(row->note, note)))
			return row;
	}
	return NULL;
}

static void ratio(const char *what, const struct report_row *a, const struct report_row *b)
{
	if (a && b)
		printf("  %-46s %8.2f   (%.1f ns / %.1f ns)\n", what, a->ns / b->ns, a->ns, b->ns);
}

/* The same row of a scenario, mode by mode. */
static void ratio_of_modes(const struct report *report, const char *what, const char *scenario,
                           const char *a, const char *b)
{
	ratio(what, find(report, scenario, a, 1, NULL), find(report, scenario, b, 1, NULL));
}

/* Beside the ratio to the whole call: of it, what is not the way into the kernel and back. */
static void ratio_above_floor(const struct report *report, const char *what, const char *scenario,
                              const char *a, const char *b)
{
	const struct report_row *row = find(report, scenario, a, 1, NULL);
	const struct report_row *call = find(report, scenario, b, 1, NULL);

	if (row && call && call->ns > report->floor_ns)
		printf("  %-46s %8.2f   (%.1f ns / (%.1f - %.1f) ns)\n", what,
		       row->ns / (call->ns - report->floor_ns), row->ns, call->ns,
		       report->floor_ns);
}

static void ratio_of_renames(const struct report *report, const char *what, const char *mode,
                             const char *note)
{
	ratio(what, find(report, "rename_1k", mode, 1, note),
	      find(report, "rename_none", mode, 1, NULL));
}

static void ratio_of_depths(const struct report *report, const char *what, const char *mode)
{
	ratio(what, find(report, "depth", mode, 1, "components=16"),
	      find(report, "depth", mode, 1, "components=1"));
}

static void worst_memo(const struct report *report)
{
	const struct report_row *worst = NULL, *its_walk = NULL;

	for (size_t i = 0; i < report->nrows; i++) {
		const struct report_row *row = &report->rows[i], *walk;

		if (strcmp(row->mode, "rcu") != 0)
			continue;
		walk = find(report, row->scenario, "rcu-walk", row->threads, row->note);
		if (walk && (!worst || row->ns / walk->ns > worst->ns / its_walk->ns)) {
			worst = row;
			its_walk = walk;
		}
	}
	if (!worst)
		return;
	ratio("worst row, memo / walk", worst, its_walk);
	printf("  %-46s   %s, %u threads%s%s\n", "  which is", worst->scenario, worst->threads,
	       *worst->note ? ", " : "", worst->note);
}

static void speedup(const struct report *report, const char *mode)
{
	const struct report_row *one = find(report, "same_file", mode, 1, NULL);
	const struct report_row *two = find(report, "same_file", mode, 2, NULL);
	char what[64];

	if (!one || !two)
		return;
	snprintf(what, sizeof(what), "same_file, %s, 2 threads / 1 thread", mode);
	printf("  %-46s %8.2f   (%.2f M/s / %.2f M/s)\n", what, two->mops / one->mops, two->mops,
	       one->mops);
}

/* One cache that all threads share, or a table for each of two of them. */
static void bytes_of_private(const struct report *report)
{
	const struct report_row *ours = find(report, "paths100k", "rcu", 2, NULL);
	const struct report_row *theirs = find(report, "paths100k", "private", 2, NULL);

	if (ours && theirs)
		printf("  %-46s %8.2f   (%.0f / %.0f)\n",
		       "bytes per file, 2 threads, cache / private",
		       ours->bytes_per_file / theirs->bytes_per_file, ours->bytes_per_file,
		       theirs->bytes_per_file);
}

static void bytes(const struct report *report, const char *scenario)
{
	const struct report_row *with = find(report, scenario, "rcu", 1, NULL);
	const struct report_row *without = find(report, scenario, "rcu-walk", 1, NULL);
	char what[64];

	if (!with || !without)
		return;
	snprintf(what, sizeof(what), "bytes per file, %s, memos / none", scenario);
	printf("  %-46s %8.2f   (%.0f / %.0f)\n", what,
	       with->bytes_per_file / without->bytes_per_file, with->bytes_per_file,
	       without->bytes_per_file);
}

void report_summary(const struct report *report)
{
	printf("\nratios, one thread unless it is said; times: less than 1 is faster\n");
	ratio_of_modes(report, "hot500, memo / lfht", "hot500", "rcu", "lfht");
	ratio_of_modes(report, "hot500, memo / walk", "hot500", "rcu", "rcu-walk");
	ratio_of_modes(report, "hot500, memo / private table", "hot500", "rcu", "private");
	ratio_of_modes(report, "hot500, memo / tbb", "hot500", "rcu", "tbb");
	ratio_of_modes(report, "hot500, memo / system call", "hot500", "rcu", "syscall");
	ratio_above_floor(report, "hot500, memo / (system call - floor)", "hot500", "rcu",
	                  "syscall");
	ratio_of_modes(report, "hot500, memo / statx below held dirs", "hot500", "rcu", "statx_fd");
	ratio_above_floor(report, "hot500, memo / (statx below held dirs - floor)", "hot500", "rcu",
	                  "statx_fd");
	ratio_of_modes(report, "hot500, many / io_uring batches", "hot500", "rcu-many", "uring");
	ratio_of_modes(report, "access, memo / access(2)", "access", "rcu", "access");
	ratio_above_floor(report, "access, memo / (access(2) - floor)", "access", "rcu", "access");
	ratio_of_modes(report, "paths400k, memo / lfht", "paths400k", "rcu", "lfht");
	ratio_of_modes(report, "paths400k, many / memo", "paths400k", "rcu-many", "rcu");
	ratio_of_depths(report, "depth 16 / depth 1, memo", "rcu");
	ratio_of_depths(report, "depth 16 / depth 1, walk", "rcu-walk");
	ratio_of_renames(report, "1000 renames/s elsewhere / none, memo", "rcu", "on_path=0");
	ratio_of_renames(report, "1000 renames/s on the path / none, memo", "rcu", "on_path=1");
	ratio_of_renames(report, "1000 renames/s elsewhere / none, walk", "rcu-walk", "on_path=0");
	worst_memo(report);
	speedup(report, "rcu");
	speedup(report, "lockref");
	bytes(report, "paths100k");
	bytes(report, "names20");
	bytes_of_private(report);
}
