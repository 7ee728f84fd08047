/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the files of bench_events share: the options, the sources of events that
 * can be had, and what came out.
 */
#ifndef BENCH_EVENTS_H
#define BENCH_EVENTS_H

#include "harness.h"

#include <pathcache.h>
#include <stdint.h>
#include <stdio.h>

struct events_options {
	const char *scenarios; /* NULL: all */
	const char *tmp;       /* where the trees that change are made; NULL: in memory */
	const char *csv;
	uint64_t rounds;
	uint64_t round_ms;
	uint64_t files; /* that hits ask about */
};

struct events {
	struct events_options opt;
	struct bench_table table;
	FILE *csv;
};

struct events_source {
	const char *mode;
	uint32_t source; /* PATHCACHE_SOURCE_* */
};

#define EVENTS_SOURCES 2u
extern const struct events_source events_sources[EVENTS_SOURCES];

/* The options of a cache that is told by source. */
struct pathcache_options events_cache_options(const struct events_source *source);

/* A row of the table and of the CSV file. extra: as bench_csv_row(); note: for people. */
void events_row(struct events *ev, const struct bench_cell *cell, const char *mode,
                const struct bench_result *result, const char *extra, const char *note);

/* Scenarios. Return: 0; -errno, told. */
int events_rate(struct events *ev);
int events_delay(struct events *ev);
int events_hits(struct events *ev);
int events_sync(struct events *ev);

#endif
