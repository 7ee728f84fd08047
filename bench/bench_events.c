/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Question: what does it cost to be told of changes, and how soon is one told?
 *
 * rate: another process creates and removes files as fast as it can in a cached
 *   directory, while one thread of this one does what pathcache_fd() calls for.
 *   Where the queue overflows the other process is slowed down until it does not.
 *   Shown: changes a second without overflow, and what part of a CPU that thread
 *   took.
 * delay: another process changes one file a millisecond. Shown: how long after the
 *   begin of the system call the listener was told, by when every lookup sees it.
 * hits: lookups of files in memory, by memo and by walking, in a cache that is
 *   told of changes by events, in one whose answers expire, and in one to which
 *   changes are announced. The target is the last one's cost.
 * sync: pathcache_sync() when nothing has changed, and a hit under the option
 *   strict, beside the system call that a hit saves.
 *
 * Not shown: events of other processes' changes beside the cached tree (fanotify is
 * told of all on the file system), and more than one thread that drains.
 */
#include "events.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum {
	DEFAULT_MS = 1000,
	DEFAULT_FILES = 2000,
	QUICK_MS = 60,
	QUICK_FILES = 100,
};

const struct events_source events_sources[EVENTS_SOURCES] = {
	{"inotify", PATHCACHE_SOURCE_INOTIFY},
	{"fanotify", PATHCACHE_SOURCE_FANOTIFY},
};

static const struct {
	const char *name;
	int (*run)(struct events *ev);
} scenarios[] = {
	{"rate", events_rate},
	{"delay", events_delay},
	{"hits", events_hits},
	{"sync", events_sync},
};

static const size_t nscenarios = sizeof(scenarios) / sizeof(scenarios[0]);

struct pathcache_options events_cache_options(const struct events_source *source)
{
	struct pathcache_options opt;

	pathcache_options_init(&opt);
	opt.coherence = PATHCACHE_COHERENCE_EVENTS;
	opt.source = source->source;
	return opt;
}

/* ---- options ---- */

static const char usage[] =
	"usage: bench_events [OPTION...]\n"
	"What being told of changes costs, and how soon that is. Times are nanoseconds.\n"
	"  --scenario LIST  only these, separated by commas: rate, delay, hits, sync\n"
	"  --tmp DIR        make the trees that change in DIR (default: TMPDIR, or /dev/shm)\n"
	"  --files N        that hits ask about, from /usr (default 2000)\n"
	"  --round-ms MS    length of a round in milliseconds (default 1000)\n"
	"  --rounds N       rounds, at least 5 (default 5)\n"
	"  --csv FILE       write the figures to FILE too\n"
	"  --quick          short rounds: does it work, not how fast is it\n"
	"fanotify needs privileges; without them its rows are left out.\n";

static int parse_number(const char *what, uint64_t min, uint64_t max, uint64_t *out)
{
	return bench_parse_u64(optarg, min, max, out) ? bench_bad_usage(usage, what, optarg) : 0;
}

static int parse_option(struct events_options *opt, int c)
{
	switch (c) {
	case 'q':
		opt->round_ms = QUICK_MS;
		opt->files = QUICK_FILES;
		opt->rounds = 2;
		return 0;
	case 's':
		opt->scenarios = optarg;
		return 0;
	case 't':
		opt->tmp = optarg;
		return 0;
	case 'c':
		opt->csv = optarg;
		return 0;
	case 'f':
		return parse_number("not a number of files: ", 1, 1000000, &opt->files);
	case 'm':
		return parse_number("not a length in ms: ", 10, 60000, &opt->round_ms);
	case 'r':
		return parse_number("not a number of rounds: ", 5, 1000, &opt->rounds);
	case 'h':
		fputs(usage, stdout);
		return 1;
	default:
		return bench_bad_usage(usage, "", "");
	}
}

static bool is_scenario(const char *name)
{
	for (size_t i = 0; i < nscenarios; i++)
		if (strcmp(scenarios[i].name, name) == 0)
			return true;
	return false;
}

/* Return: 0; 1 when there is nothing to do; -errno, told. */
static int parse(struct events_options *opt, int argc, char **argv)
{
	static const struct option longs[] = {
		{"scenario", required_argument, NULL, 's'},
		{"tmp", required_argument, NULL, 't'},
		{"files", required_argument, NULL, 'f'},
		{"round-ms", required_argument, NULL, 'm'},
		{"rounds", required_argument, NULL, 'r'},
		{"csv", required_argument, NULL, 'c'},
		{"quick", no_argument, NULL, 'q'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	const char *unknown;
	char buf[64];
	int c, rc;

	*opt = (struct events_options){.rounds = 5, .round_ms = DEFAULT_MS, .files = DEFAULT_FILES};
	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		rc = parse_option(opt, c);
		if (rc)
			return rc;
	}
	if (optind < argc)
		return bench_bad_usage(usage, "what is this: ", argv[optind]);
	unknown = bench_find_unknown(opt->scenarios, is_scenario, buf, sizeof(buf));
	return unknown ? bench_bad_usage(usage, "no such scenario: ", unknown) : 0;
}

/* ---- results ---- */

void events_row(struct events *ev, const struct bench_cell *cell, const char *mode,
                const struct bench_result *result, const char *extra, const char *note)
{
	bench_table_row(&ev->table, "%s\t%s\t%.0f\t%.0f\t%.0f\t%s", cell->scenario, mode,
	                result->ns_per_op, result->min, result->max, note);
	if (ev->csv)
		bench_csv_row(ev->csv, cell, mode, result, extra);
}

static int show_table(struct events *ev)
{
	int error = ev->table.failed ? bench_complain("the table", -ENOMEM) : 0;

	putchar('\n');
	bench_table_print(&ev->table, stdout);
	bench_table_fini(&ev->table);
	return error;
}

static int run(struct events *ev)
{
	int error = 0, shown;

	bench_table_init(&ev->table, 2);
	bench_table_row(&ev->table, "scenario\tmode\tns/op\tbest\tworst\tnote");
	for (size_t i = 0; i < nscenarios && !error; i++)
		if (bench_is_listed(ev->opt.scenarios, scenarios[i].name))
			error = scenarios[i].run(ev);
	shown = show_table(ev);
	return error ? error : shown;
}

int main(int argc, char **argv)
{
	struct events ev = {.csv = NULL};
	int error = parse(&ev.opt, argc, argv), closed;

	if (error)
		return error < 0 ? 2 : 0;
	if (ev.opt.csv) {
		ev.csv = bench_csv_create(ev.opt.csv);
		if (!ev.csv) {
			bench_complain(ev.opt.csv, -errno);
			return 1;
		}
	}
	error = run(&ev);
	closed = ev.csv ? bench_csv_close(ev.csv) : 0;
	if (closed)
		bench_complain(ev.opt.csv, closed);
	return error || closed;
}
