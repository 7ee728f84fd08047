/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lookup_report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void begin_table(struct report *report)
{
	bench_table_init(&report->table, 2);
	bench_table_row(&report->table, "scenario\tmode\tthreads\tdepth\tpaths\tns/lookup\tbest"
	                                "\tworst\tmillion/s\tx syscall\tx lfht\tnote");
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

/* How much dearer the named rival is in this cell; "-" without it. */
static void times_dearer(char *out, size_t size, const struct world *world, const char *mode,
                         const size_t *peers, const struct bench_result *results, size_t n,
                         double ns)
{
	snprintf(out, size, "-");
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(world->peers[peers[i]].ops->mode, mode))
			snprintf(out, size, "%.2f", results[i].ns_per_op / ns);
	}
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

static void write_csv(const struct report *report, const struct world *world,
                      const struct bench_cell *cell, size_t peer, const struct bench_result *result,
                      const char *note, double renames, const char *unanswered)
{
	const struct peer *asked = &world->peers[peer];
	char extra[512];
	int at = snprintf(extra, sizeof(extra), "mean_path_bytes=%.1f;floor_ns=%.1f;made=%zu",
	                  world->paths->mean_bytes, report->floor_ns, world->load->made);

	if (*note)
		at += snprintf(extra + at, sizeof(extra) - (size_t)at, ";%s", note);
	if (world->bytes_per_file[peer] > 0)
		at += snprintf(extra + at, sizeof(extra) - (size_t)at, ";bytes_per_file=%.1f",
		               bytes_of(world, peer, cell->threads));
	if (asked->ops->tell) {
		char text[128];

		asked->ops->tell(asked->self, text, sizeof(text));
		at += snprintf(extra + at, sizeof(extra) - (size_t)at, ";%s", text);
	}
	if (asked->ops->cache)
		at += snprintf(extra + at, sizeof(extra) - (size_t)at,
		               ";memos=%ju;stamps_per_lookup=%.6f", (uintmax_t)world->memos[peer],
		               world->stamps[peer]);
	if (renames > 0)
		at += snprintf(extra + at, sizeof(extra) - (size_t)at, ";renames_per_s=%.0f",
		               renames);
	if (result->failed)
		snprintf(extra + at, sizeof(extra) - (size_t)at, ";%s=%ju", unanswered,
		         (uintmax_t)result->failed);
	bench_csv_row(report->csv, cell, asked->ops->mode, result, extra);
}

int report_cell(struct report *report, const struct world *world, const struct bench_cell *cell,
                const size_t *peers, const struct bench_result *results, size_t n, const char *note,
                const struct mutator *mutator)
{
	int error = 0;

	for (size_t i = 0; i < n && !error; i++) {
		const struct bench_result *result = &results[i];
		double ns = result->ns_per_op;
		double renames = renames_per_second(mutator, peers[i]);
		struct report_row row = {
			.scenario = cell->scenario,
			.mode = world->peers[peers[i]].ops->mode,
			.threads = cell->threads,
			.ns = ns,
			.mops = result->mops,
			.bytes_per_file = bytes_of(world, peers[i], cell->threads),
		};
		/* While a name is away its paths are absent, which is right. */
		const char *unanswered = mutator ? "absent" : "failed";
		char kernel[16], table[16], pace[48] = "", failed[48] = "";

		times_dearer(kernel, sizeof(kernel), world, "syscall", peers, results, n, ns);
		times_dearer(table, sizeof(table), world, "lfht", peers, results, n, ns);
		snprintf(row.note, sizeof(row.note), "%s", note);
		if (renames > 0)
			snprintf(pace, sizeof(pace), " %.0f renames/s", renames);
		if (result->failed)
			snprintf(failed, sizeof(failed), " %ju %s", (uintmax_t)result->failed,
			         unanswered);
		bench_table_row(&report->table,
		                "%s\t%s\t%u\t%.1f\t%zu\t%.1f\t%.1f\t%.1f\t%.3f\t%s\t%s\t%s%s%s",
		                cell->scenario, row.mode, cell->threads, cell->depth, cell->paths,
		                ns, result->min, result->max, result->mops, kernel, table, note,
		                pace, failed);
		if (report->csv)
			write_csv(report, world, cell, peers[i], result, note, renames, unanswered);
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
	ratio_of_modes(report, "hot500, memo / system call", "hot500", "rcu", "syscall");
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
}
