/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A set of absolute paths of a real tree, with what the benches want to know
 * of it. After shuffling, the texts lie in memory in the order in which they
 * are used, so that reading a path costs what reading a request would.
 * Not for several threads while it changes.
 */
#ifndef BENCH_PATHS_H
#define BENCH_PATHS_H

#include <stddef.h>
#include <stdint.h>

struct bench_paths {
	const char **path;
	size_t count;
	size_t capacity;
	char *text;        /* owns the texts once shuffled, else each path its own */
	double mean_depth; /* components */
	double mean_bytes;
	size_t unreadable; /* directories that could not be listed */
	int truncated;     /* max was reached */
};

/*
 * All paths at and below dir, links not followed, one file system only.
 * dir is made canonical first. progress: a label, or NULL for a silent run.
 * Return: 0; -ENOENT, -ENOTDIR, -EACCES and others for dir; -ENOMEM.
 */
int bench_paths_collect(struct bench_paths *set, const char *dir, size_t max, const char *progress);

/* Put a copy of path at the end of a set that was not shuffled. Return: 0; -ENOMEM. */
int bench_paths_add(struct bench_paths *set, const char *path);

/* Bring the means up to date after additions. */
void bench_paths_measure(struct bench_paths *set);

/* Put them in random order. Return: 0; -ENOMEM. */
int bench_paths_shuffle(struct bench_paths *set, uint64_t seed);

/* Leave out those for which keep[i] is 0, and measure again. */
void bench_paths_filter(struct bench_paths *set, const unsigned char *keep);

/* The first count paths (or all) as a set that borrows them. No fini. */
struct bench_paths bench_paths_head(const struct bench_paths *set, size_t count);

/* How many components path has. */
unsigned int bench_path_depth(const char *path);

void bench_paths_fini(struct bench_paths *set);

#endif
