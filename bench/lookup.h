/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the parts of bench_lookup share: its options and its scenarios. */
#ifndef BENCH_LOOKUP_H
#define BENCH_LOOKUP_H

#include "harness.h"
#include "lookup_report.h"
#include "mutators.h"
#include "peers.h"
#include "recorded.h"
#include "world.h"

#include <stddef.h>
#include <stdint.h>

enum {
	COUNTS_MAX = 16,
	TRACES_MAX = 64,
};

struct lookup_options {
	const char *dir;
	const char *csv;
	const char *scenarios; /* NULL: all */
	const char *modes;     /* NULL: all */
	const char *traces[TRACES_MAX];
	size_t ntraces;
	uint64_t rounds, round_ms, batch, budget_mb, max_paths;
	int quick;
};

struct lookup {
	struct lookup_options opt;
	const struct peer_ops *modes[PEERS_MAX];
	struct world_options world;
	struct bench_plan plan;
	unsigned int counts[COUNTS_MAX];
	size_t ncounts;
	struct recorded tree;
	struct report report;
	uint64_t seed;
};

/* run: all cells of the scenario. n: paths, where the scenario is a size. */
struct scenario {
	const char *name;
	int (*run)(struct lookup *bench, const struct scenario *scenario);
	size_t n;
	enum mutator_pace pace;
};

/* In the order in which they run. */
extern const struct scenario scenarios[];
extern const size_t nscenarios;

#endif
