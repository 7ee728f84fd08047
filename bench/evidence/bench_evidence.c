/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Question: what does an operation do, whatever the machine: how many
 * instructions, loads, stores to memory that others use, atomic
 * read-modify-writes, and how many cache lines does it touch?
 *
 * Workload: lookups of one path from memory in each mode of the cache and in
 * the tables that bench_lookup compares with, and one get and put by each
 * variant of bench_lockref; repeated until nothing changes any more.
 *
 * Counted: accesses by evidence_count, where the library and the variants are
 * compiled once more with each access counted; instructions by callgrind, as
 * the difference of 2 n and n operations of the code as it is shipped. Neither
 * is sampled, so small differences are differences.
 *
 * Not shown: time. A lookup's loop adds some instructions to each, the same
 * for all rivals. Where code cannot be seen into it says so, instead of a count.
 */
#include "evidence.h"
#include "harness.h"
#include "subjects.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	LOOP = 1024,
	QUICK_LOOP = 64,
};

static struct subject subjects[SUBJECTS_MAX];
static struct evidence rows[SUBJECTS_MAX];
static size_t nsubjects;

/* ---- options ---- */

struct options {
	const char *csv;
	const char *scenarios; /* NULL: all */
	const char *modes;     /* NULL: all */
	uint64_t loop;         /* 0: report */
	int quick;
};

static const char usage[] =
	"usage: bench_evidence [OPTION...]\n"
	"Count what one operation does: instructions, loads, stores, atomic\n"
	"read-modify-writes, cache lines. These figures are of no machine.\n"
	"  --scenario LIST  only these, separated by commas\n"
	"  --mode LIST      only these modes, separated by commas\n"
	"  --csv FILE       write the figures to FILE too\n"
	"  --quick          fewer operations, once: does it work\n"
	"  --loop N         no report: N and then 2 N operations of each that is chosen,\n"
	"                   each in one call of evidence_loop(), to be run under a tool\n"
	"Columns: instr instructions; loads, stores in words of 8 bytes, locals aside;\n"
	"shared stores to memory that other threads use too; told to what only this thread\n"
	"writes and others read, its mark of a read section and its counters; rmw atomic\n"
	"read-modify-writes; lines of 64 bytes touched, and how many of them are shared.\n";

static bool is_scenario(const char *name)
{
	for (size_t i = 0; i < nsubjects; i++) {
		if (!strcmp(subjects[i].scenario, name))
			return true;
	}
	return false;
}

static bool is_mode(const char *name)
{
	for (size_t i = 0; i < nsubjects; i++) {
		if (!strcmp(subjects[i].mode, name))
			return true;
	}
	return false;
}

static bool seen_before(size_t i, bool mode)
{
	for (size_t j = 0; j < i; j++) {
		if (!strcmp(mode ? subjects[i].mode : subjects[i].scenario,
		            mode ? subjects[j].mode : subjects[j].scenario))
			return true;
	}
	return false;
}

static void print_usage(void)
{
	fputs(usage, stdout);
	for (int mode = 0; mode < 2; mode++) {
		fputs(mode ? "\nmodes in this build:" : "scenarios:", stdout);
		for (size_t i = 0; i < nsubjects; i++) {
			if (!seen_before(i, mode))
				printf(" %s", mode ? subjects[i].mode : subjects[i].scenario);
		}
	}
	putchar('\n');
}

static int check_lists(const struct options *opt)
{
	char name[64];

	if (bench_find_unknown(opt->scenarios, is_scenario, name, sizeof(name)))
		return bench_bad_usage(usage, "no such scenario: ", name);
	if (bench_find_unknown(opt->modes, is_mode, name, sizeof(name)))
		return bench_bad_usage(usage, "no such mode in this build: ", name);
	return 0;
}

static int parse_option(struct options *opt, int c)
{
	switch (c) {
	case 's':
		opt->scenarios = optarg;
		return 0;
	case 'M':
		opt->modes = optarg;
		return 0;
	case 'c':
		opt->csv = optarg;
		return 0;
	case 'q':
		opt->quick = 1;
		return 0;
	case 'l':
		return bench_parse_u64(optarg, 1, UINT32_MAX, &opt->loop)
		               ? bench_bad_usage(usage, "not a number of operations: ", optarg)
		               : 0;
	case 'h':
		print_usage();
		return 1;
	default:
		fputs(usage, stderr);
		return -EINVAL;
	}
}

static size_t tries_of(const struct options *opt)
{
	return opt->quick ? 1 : SUBJECTS_TRIES;
}

/* Return: 0 go on, 1 all done (help), -EINVAL. */
static int parse_options(struct options *opt, int argc, char **argv)
{
	static const struct option longs[] = {
		{"scenario", required_argument, NULL, 's'},
		{"mode", required_argument, NULL, 'M'},
		{"csv", required_argument, NULL, 'c'},
		{"quick", no_argument, NULL, 'q'},
		{"loop", required_argument, NULL, 'l'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int c, error = 0;

	*opt = (struct options){0};
	while (!error && (c = getopt_long(argc, argv, "h", longs, NULL)) != -1)
		error = parse_option(opt, c);
	if (!error && optind < argc)
		error = bench_bad_usage(usage, "not an option: ", argv[optind]);
	return error ? error : check_lists(opt);
}

/* ---- loops under a tool ---- */

/* By this name the tool knows what to count. */
__attribute__((noinline)) void evidence_loop(const struct subject *subject, void *self, uint64_t n);
void evidence_loop(const struct subject *subject, void *self, uint64_t n)
{
	if (self)
		subject->run(self, n);
}

static int loop_subjects(uint64_t n, size_t tries)
{
	for (size_t i = 0; i < nsubjects * tries; i++) {
		const struct subject *subject = &subjects[i / tries];
		void *self = NULL;
		int error = subject->create(subject, &self);

		if (error && error != -EOPNOTSUPP)
			return bench_complain(subject->mode, error);
		/* Twice in any case: it is by their order that counts are known. */
		evidence_loop(subject, self, n);
		evidence_loop(subject, self, 2 * n);
		if (self)
			subject->destroy(self);
	}
	return 0;
}

/* ---- report ---- */

/* One figure of what was counted, or why there is none. */
static const char *figure(const struct subject *subject, const struct evidence *row,
                          const char *name, char *buf, size_t size)
{
	double value = evidence_value(row, name);

	if (value < 0)
		return subject->unseen && strcmp(name, "instructions") ? subject->unseen : "-";
	snprintf(buf, size, value == (double)(uint64_t)value ? "%.0f" : "%.1f", value);
	return buf;
}

static void add_row(struct bench_table *table, const struct subject *subject,
                    const struct evidence *row)
{
	static const char *const names[] = {
		"instructions", "loads", "stores", "shared_stores",
		"own_stores",   "rmw",   "lines",  "shared_lines",
	};
	char text[256], buf[32];
	size_t at = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "\t%s",
		                       figure(subject, row, names[i], buf, sizeof(buf)));
	bench_table_row(table, "%s\t%s%s", subject->scenario, subject->mode, text);
}

static void print_report(void)
{
	struct bench_table table;

	bench_table_init(&table, 2);
	bench_table_row(&table, "scenario\tmode\tinstr\tloads\tstores\tshared\ttold\trmw\tlines\t"
	                        "of them shared");
	for (size_t i = 0; i < nsubjects; i++) {
		if (i && strcmp(subjects[i].scenario, subjects[i - 1].scenario))
			bench_table_row(&table, "%s", "");
		add_row(&table, &subjects[i], &rows[i]);
	}
	bench_table_print(&table, stdout);
	bench_table_fini(&table);
	puts("not counted: asm: accesses by assembly; lib: by another library; -: not in this build");
}

static void write_rows(FILE *csv)
{
	for (size_t i = 0; i < nsubjects; i++) {
		const struct bench_cell cell = {
			.bench = "evidence",
			.scenario = subjects[i].scenario,
			.threads = 1,
			.depth = subjects[i].depth,
			.paths = subjects[i].depth > 0,
		};
		const struct bench_result none = {0};
		char extra[EVIDENCE_TEXT + 64];

		evidence_text(&rows[i], extra, sizeof(extra));
		if (subjects[i].unseen)
			snprintf(extra + strlen(extra), sizeof(extra) - strlen(extra),
			         "%sshared_stores=%s;rmw=%s;lines=%s", *extra ? ";" : "",
			         subjects[i].unseen, subjects[i].unseen, subjects[i].unseen);
		bench_csv_row(csv, &cell, subjects[i].mode, &none, extra);
	}
}

static int report(const struct options *opt)
{
	const struct evidence_options what = {
		.scenarios = opt->scenarios,
		.modes = opt->modes,
		.loop = opt->quick ? QUICK_LOOP : LOOP,
		.tries = tries_of(opt),
	};
	FILE *csv = NULL;
	int error = 0, closed;

	if (opt->csv && !(csv = bench_csv_create(opt->csv)))
		return bench_complain(opt->csv, -errno);
	error = evidence_count(&what, subjects, rows, nsubjects);
	if (!error)
		error = evidence_instructions(&what, rows, nsubjects);
	if (!error) {
		print_report();
		if (csv)
			write_rows(csv);
	}
	closed = csv ? bench_csv_close(csv) : 0;
	return closed ? bench_complain(opt->csv, closed) : error;
}

static void choose(const struct options *opt)
{
	size_t n = 0;

	for (size_t i = 0; i < nsubjects; i++) {
		if (bench_is_listed(opt->scenarios, subjects[i].scenario) &&
		    bench_is_listed(opt->modes, subjects[i].mode))
			subjects[n++] = subjects[i];
	}
	nsubjects = n;
}

int main(int argc, char **argv)
{
	struct options opt;
	int error;

	setvbuf(stdout, NULL, _IOLBF, 0);
	nsubjects = subjects_all(subjects);
	error = parse_options(&opt, argc, argv);
	if (error)
		return error > 0 ? 0 : 2;
	choose(&opt);
	if (!nsubjects)
		return bench_bad_usage(usage, "that leaves nothing to count", ""), 2;
	error = opt.loop ? loop_subjects(opt.loop, tries_of(&opt)) : report(&opt);
	return error ? 1 : 0;
}
