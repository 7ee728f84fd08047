/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is asked in a cell: a set of paths of a recorded tree and how they are
 * asked. Sets are built in the order of the tree, which is the order in which
 * rivals learn them. One thread.
 */
#ifndef BENCH_WORKLOAD_H
#define BENCH_WORKLOAD_H

#include "paths.h"
#include "recorded.h"
#include "staged.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	WORKLOAD_HOT = 500,
	WORKLOAD_DEPTH_BYTES = 127,
};

/*
 * extra: key=value pairs for the CSV file, or "".
 * allowed: the error that is an answer here, or 0.
 * per_thread: each thread has so many paths for itself; 0: all have all.
 * ordered: asked in the order of paths, not at random.
 * made: how many of the paths have no file on this machine.
 * access: R_OK is asked, not attributes.
 */
struct workload {
	const char *scenario;
	const char *extra;
	const struct recorded *tree;
	struct bench_paths paths;
	uint64_t flags;
	int allowed;
	size_t per_thread;
	size_t made;
	bool ordered;
	bool access;
};

void workload_fini(struct workload *load);

/* Made names in each tree for a file that is renamed elsewhere. */
#define WORKLOAD_ELSEWHERE "/elsewhere"
#define WORKLOAD_ELSEWHERE_FILE "a"
int workload_make_elsewhere(struct recorded *tree);

/*
 * n paths of the tree at random; more than it has are made by its copies.
 * Return (all of these): 0; -ENOMEM; -ENODATA when the tree has nothing fit.
 */
int workload_plain(struct workload *load, struct recorded *tree, size_t n, uint64_t *seed);

/* The same with a last component that is absent, or a detour by "..". */
int workload_negative(struct workload *load, struct recorded *tree, size_t n, uint64_t *seed);
int workload_dotdot(struct workload *load, struct recorded *tree, size_t n, uint64_t *seed);

/* At most n paths of the tree that are no links, and that this process may read. */
int workload_access(struct workload *load, struct recorded *tree, size_t n, uint64_t *seed);

/* Paths with a followed link in the middle, or at the end. */
int workload_symlink(struct workload *load, struct recorded *tree, size_t n, bool middle);

/* A regular file about as deep as the mean, and files of the largest directory. */
int workload_same_file(struct workload *load, struct recorded *tree);
int workload_same_dir(struct workload *load, struct recorded *tree, size_t n);

/* n paths of depth components and WORKLOAD_DEPTH_BYTES bytes each. */
int workload_stage_depth(const struct staged *staged, unsigned int depth, size_t n);
int workload_depth(struct workload *load, struct recorded *tree, unsigned int depth, size_t n);

/* n files in directories of 100, three components of 20 bytes each; fills tree. */
int workload_names20(struct workload *load, struct recorded *tree, size_t n);

#endif
