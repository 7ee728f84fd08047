/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One workload and all rivals that know its paths: filled in the order of the
 * tree, asked again in another order until the answers come from memory as they
 * would in a program that has run for a while, compared, and then timed.
 */
#ifndef BENCH_WORLD_H
#define BENCH_WORLD_H

#include "harness.h"
#include "mutators.h"
#include "peers.h"
#include "workload.h"

#include <stddef.h>
#include <stdint.h>

enum { WORLD_BATCH_MAX = 1024 };

/*
 * batch: paths in one run, for all rivals alike.
 * start_sec: when the tree was recorded; files changed since then may differ.
 */
struct world_options {
	const struct peer_ops *const *modes;
	size_t nmodes;
	size_t batch;
	uint64_t budget;
	uint64_t seed;
	int64_t start_sec;
};

/* A lookup, of caches: 0 for other rivals. */
struct world_rates {
	double stamps;   /* stores to shared memory that memo hits made */
	double restarts; /* walks begun again since a change raced them */
	double misses;   /* answers that were not in memory */
};

struct world {
	const struct world_options *opt;
	struct workload *load;
	struct bench_paths *paths; /* of load; in the order of use once warm */
	const char **all, **real;  /* runs: at least one batch, by repetition */
	size_t nall, nreal;
	struct peer peers[PEERS_MAX];
	size_t npeers;
	double bytes_per_file[PEERS_MAX]; /* 0: not known; of one thread where each has its own */
	uint64_t memos[PEERS_MAX];
	struct world_rates rates[PEERS_MAX]; /* of the last cell */
	uint64_t dropped;                    /* paths that changed since they were recorded */
};

/* How the plain system call is called that answers what is asked. */
const char *world_call(const struct world *world);

/*
 * Create the rivals that answer what is asked, teach them and warm them.
 * Return: 0; -ENOMEM; an error of a rival, told on stderr.
 */
int world_open(struct world *world, struct workload *load, const struct world_options *opt);

/* Ask for each path a few times more, as after a change. */
int world_warm(struct world *world);

/*
 * Compare all answers with the kernel's, and the record's for made paths.
 * Return: 0; -EIO when one is wrong, told on stderr; -ENOMEM.
 */
int world_verify(struct world *world);

/*
 * One cell. mutator: runs meanwhile, or NULL.
 * variants: set to which rivals have a result, world->npeers at most.
 * Return: how many, 0 when none can be asked; a negative errno.
 */
int world_measure(struct world *world, const struct bench_plan *plan, struct bench_cell *cell,
                  struct mutator *mutator, size_t *variants, struct bench_result *results);

int world_close(struct world *world);

#endif
