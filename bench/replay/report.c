/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "replay.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

static const char *const pass_names[] = {
	[REPLAY_COLD] = "cold",
	[REPLAY_HOT] = "hot",
};

/* Text that grows to the right and is cut off at its end. */
struct text {
	char at[640];
	size_t used;
};

__attribute__((format(printf, 2, 3))) static void say(struct text *text, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text->at + text->used, sizeof(text->at) - text->used, format, args);
	va_end(args);
	if (n > 0)
		text->used += (size_t)n;
	if (text->used >= sizeof(text->at))
		text->used = sizeof(text->at) - 1;
}

/* ---- figures that follow from others ---- */

static double hit_rate(const struct rival_counts *counts)
{
	return counts->queries ? (double)counts->hits / (double)counts->queries : 0;
}

static const struct replay_figures *
kernel_figures(const struct replay *replay, const struct replay_run *run, enum replay_pass pass)
{
	for (size_t i = 0; i < replay->nrivals; i++) {
		if (replay->rivals[i] == &rival_syscall)
			return &run->figures[pass][i];
	}
	return NULL;
}

/* What the calls of one query would take if the kernel had nothing to do in them. */
static double floor_of_query(const struct replay *replay, const struct replay_run *run)
{
	return replay->floor_ns * (double)run->agreement.calls / (double)run->recording.queries;
}

/* "-" where the system call was not measured, or was no dearer than its floor. */
static void ratios(char *plain, char *above, size_t size, const struct replay_figures *kernel,
                   double floor_ns, double ns)
{
	snprintf(plain, size, "-");
	snprintf(above, size, "-");
	if (!kernel)
		return;
	snprintf(plain, size, "%.2f", kernel->result.ns_per_op / ns);
	if (kernel->result.ns_per_op > floor_ns)
		snprintf(above, size, "%.2f", (kernel->result.ns_per_op - floor_ns) / ns);
}

static double agreement(const struct replay_run *run)
{
	return (double)run->agreement.agree / (double)run->recording.count;
}

static size_t skipped(const struct replay_run *run)
{
	size_t n = 0;

	for (size_t i = 0; i < run->recording.nskips; i++)
		n += run->recording.skips[i].count;
	return n;
}

/* ---- a row ---- */

static void csv_row(const struct replay *replay, const struct replay_run *run,
                    enum replay_pass pass, size_t rival)
{
	const struct replay_figures *figures = &run->figures[pass][rival];
	const struct rival_counts *counts = &figures->check.counts;
	const struct recording *recording = &run->recording;
	const struct bench_cell cell = {
		.bench = "replay",
		.scenario = run->name,
		.threads = 1,
		.depth = recording->mean_depth,
		.paths = recording->distinct,
	};
	struct text extra = {.used = 0};

	say(&extra, "pass=%s;queries=%zu;changes=%zu;skipped=%zu;opens=%s;agree=%.4f",
	    pass_names[pass], recording->queries, recording->changes, skipped(run),
	    replay->opt.lookups ? "lookup" : "fd", agreement(run));
	say(&extra, ";floor_ns=%.1f;floor_per_query_ns=%.1f;change_ns=%.1f;hit_rate=%.4f;wrong=%zu",
	    replay->floor_ns, floor_of_query(replay, run), figures->change_ns, hit_rate(counts),
	    figures->check.wrong);
	if (rival_is_exact(replay->rivals[rival]))
		say(&extra, ";restarts_per_query=%.8f;asked_per_query=%.6f",
		    (double)counts->restarts / (double)recording->queries, 1 - hit_rate(counts));
	for (size_t i = 0; i < counts->nreasons; i++) {
		if (counts->reasons[i].n)
			say(&extra, ";fallback_%s=%ju", counts->reasons[i].name,
			    (uintmax_t)counts->reasons[i].n);
	}
	bench_csv_row(replay->csv, &cell, replay->rivals[rival]->mode, &figures->result, extra.at);
}

static void table_row(struct bench_table *table, const struct replay *replay,
                      const struct replay_run *run, enum replay_pass pass, size_t rival)
{
	const struct replay_figures *figures = &run->figures[pass][rival];
	const struct bench_result *result = &figures->result;
	const struct rival_counts *counts = &figures->check.counts;
	char plain[16], above[16], hits[16] = "-", change[16] = "-";
	struct text reasons = {.used = 0};

	ratios(plain, above, sizeof(plain), kernel_figures(replay, run, pass),
	       floor_of_query(replay, run), result->ns_per_op);
	if (replay->rivals[rival] != &rival_syscall)
		snprintf(hits, sizeof(hits), "%.1f", 100 * hit_rate(counts));
	if (run->recording.changes)
		snprintf(change, sizeof(change), "%.0f", figures->change_ns);
	for (size_t i = 0; i < counts->nreasons; i++) {
		if (counts->reasons[i].n)
			say(&reasons, "%s%s %ju", reasons.used ? ", " : "", counts->reasons[i].name,
			    (uintmax_t)counts->reasons[i].n);
	}
	bench_table_row(table, "%s\t%s\t%.1f\t%.1f\t%.1f\t%s\t%s\t%s\t%s\t%zu\t%s",
	                pass_names[pass], replay->rivals[rival]->mode, result->ns_per_op,
	                result->min, result->max, plain, above, change, hits, figures->check.wrong,
	                reasons.used ? reasons.at : "-");
}

/* ---- tables ---- */

static void print_head(const struct replay *replay, const struct replay_run *run)
{
	const struct recording *recording = &run->recording;
	int seen = 0;

	printf("\n%s: %zu queries of %zu paths, %zu changes", run->name, recording->queries,
	       recording->distinct, recording->changes);
	for (size_t i = 0; i < recording->nskips; i++)
		printf("%s %zu %s", i ? "," : "; left out:", recording->skips[i].count,
		       recording->skips[i].word);
	putchar('\n');
	for (int kind = 0; kind < OPERATION_KINDS; kind++) {
		if (recording->kinds[kind])
			printf("%s%s %zu", seen++ ? ", " : "of these: ",
			       operation_word((enum operation_kind)kind), recording->kinds[kind]);
	}
	printf("\nas recorded: %zu of %zu results (%.2f %%); %zu places could not be made\n",
	       run->agreement.agree, recording->count, 100 * agreement(run),
	       run->play.origin.left_out);
	printf("floor of a system call here: getppid %.1f ns, of a query %.1f ns (%.2f calls)\n",
	       replay->floor_ns, floor_of_query(replay, run),
	       (double)run->agreement.calls / (double)recording->queries);
}

static void summary_row(struct replay *replay, const struct replay_run *run)
{
	const struct replay_figures *cold = &run->figures[REPLAY_COLD][0];
	const struct replay_figures *hot = &run->figures[REPLAY_HOT][0];
	const double floor_ns = floor_of_query(replay, run);
	char plain[2][16], above[2][16];

	ratios(plain[0], above[0], sizeof(plain[0]), kernel_figures(replay, run, REPLAY_COLD),
	       floor_ns, cold->result.ns_per_op);
	ratios(plain[1], above[1], sizeof(plain[1]), kernel_figures(replay, run, REPLAY_HOT),
	       floor_ns, hot->result.ns_per_op);
	bench_table_row(&replay->summary,
	                "%s\t%s\t%zu\t%zu\t%.2f\t%.1f\t%.1f\t%s\t%s\t%.1f\t%.1f\t%s\t%s", run->name,
	                replay->rivals[0]->mode, run->recording.queries, run->recording.changes,
	                100 * agreement(run), 100 * hit_rate(&cold->check.counts),
	                cold->result.ns_per_op, plain[0], above[0],
	                100 * hit_rate(&hot->check.counts), hot->result.ns_per_op, plain[1],
	                above[1]);
}

int replay_report(struct replay *replay, const struct replay_run *run)
{
	struct bench_table table;
	int error;

	print_head(replay, run);
	bench_table_init(&table, 2);
	bench_table_row(&table, "pass\tmode\tns/query\tbest\tworst\tx syscall\tx (call - floor)"
	                        "\tns/change\thits %%\twrong\tasked for");
	for (int pass = 0; pass < REPLAY_PASSES; pass++) {
		for (size_t i = 0; i < replay->nrivals; i++) {
			table_row(&table, replay, run, (enum replay_pass)pass, i);
			if (replay->csv)
				csv_row(replay, run, (enum replay_pass)pass, i);
		}
	}
	bench_table_print(&table, stdout);
	error = table.failed ? -ENOMEM : 0;
	bench_table_fini(&table);
	summary_row(replay, run);
	return error;
}

void replay_summary_begin(struct replay *replay)
{
	bench_table_init(&replay->summary, 2);
	bench_table_row(&replay->summary,
	                "trace\tmode\tqueries\tchanges\tas recorded %%\tcold hits %%\tns/query"
	                "\tx syscall\tx (call - floor)\thot hits %%\tns/query\tx syscall"
	                "\tx (call - floor)");
}

int replay_summary_print(struct replay *replay)
{
	int error = replay->summary.failed ? -ENOMEM : 0;

	printf("\nall recordings; floor of a system call here: getppid %.1f ns\n",
	       replay->floor_ns);
	bench_table_print(&replay->summary, stdout);
	bench_table_fini(&replay->summary);
	return error;
}
