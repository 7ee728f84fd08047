/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A namespace as large as numbers go, for which nothing is kept in memory:
 *
 *   /d<n>/f<m>   a file, for any n and m
 *   /x<n>        absent, as is any other name
 *   /list        a directory that lists f0, f1, ... as many as it is told
 *
 * Any thread.
 */
#ifndef BENCH_NUMBERS_H
#define BENCH_NUMBERS_H

#include <pathcache.h>
#include <stdint.h>

struct numbers {
	uint64_t listed; /* names that /list has */
};

/* Return: as pathcache_open_ops(). names outlives the cache. */
int numbers_open(struct pathcache **out, struct numbers *names,
                 const struct pathcache_options *options);

#endif
