/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Recorded path operations of programs, one a line: "OP PATH RESULT", where
 * RESULT is "ok" or the name of an errno and PATH is absolute. One thread.
 */
#ifndef BENCH_TRACES_H
#define BENCH_TRACES_H

#include "paths.h"
#include "staged.h"

#include <stddef.h>
#include <stdint.h>

struct trace_path {
	char *path;
	size_t at;     /* of its first use */
	int exists;    /* it was found when first used */
	int directory; /* it was used as one */
};

struct traces {
	struct trace_path *paths;
	size_t count, capacity;
};

/*
 * Call fn for each line of a file, which it may change; what it returns ends all
 * unless it is 0. A file whose name ends in .xz is read through xz(1).
 * Return: 0; -errno of opening; -EIO when xz failed; what fn returned.
 */
int traces_lines(const char *file, int (*fn)(void *arg, char *line), void *arg);

/*
 * Add the queries of a file. Paths with ".." or an empty component are left out.
 * Return: as traces_lines(); -ENOMEM.
 */
int traces_read(struct traces *traces, const char *file);

/*
 * Keep each path once, in the order of first use.
 * order: NULL, or room for the number of each query's path, in the order of
 *   queries: as many as there were paths.
 */
void traces_distinct(struct traces *traces, uint32_t *order);

/* Make what existed. Return: 0; -errno. */
int traces_stage(const struct traces *traces, const struct staged *staged);

void traces_fini(struct traces *traces);

#endif
