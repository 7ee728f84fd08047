/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Experiments of the model: who does what, and what is counted of it. */
#ifndef BENCH_SIM_CELLS_H
#define BENCH_SIM_CELLS_H

#include "modes.h"

/* The scenarios of bench_lockref, in its words and with its operation: a get and a put. */
enum sim_scenario {
	SIM_OPEN1,
	SIM_OPEN3,
	SIM_STAT2,
	SIM_SPORADIC_10,
	SIM_SPORADIC_1K,
	SIM_SPORADIC_100K,
	SIM_RECOVER,
	SIM_MIX,
	SIM_DYING,
	SIM_NEAR_READMOSTLY_SHARED,
	SIM_NEAR_READMOSTLY_APART,
	SIM_NEAR_WRITTEN_SHARED,
	SIM_NEAR_WRITTEN_APART,
	SIM_PERCPU,
	SIM_SCENARIOS,
};

extern const char *const sim_scenario_names[SIM_SCENARIOS];

/* Whether a mode can be asked this. */
bool sim_applies(enum sim_scenario scenario, const struct sim_mode *mode);

/*
 * A system call as the model sees it: work inside the core, half of it before
 * the object is got, a quarter while it is held; references to the object; and
 * counts of other objects that all calls share, each on a line of its own, taken
 * before and given back after.
 */
struct sim_call {
	uint64_t work; /* ps */
	unsigned int pairs;
	unsigned int rest;  /* how many, at most SIM_REST_MAX */
	unsigned int times; /* each is taken so often, and given back */
	bool name_beside;   /* the walk reads the name, which is on the object's line */
	bool mixed;         /* two of three calls are sections of the lock instead */
};

struct sim_setup {
	const struct sim_machine *machine;
	const struct sim_cost *cost;
	const struct sim_mode *mode;
	unsigned int threads;
	uint64_t ops;    /* to count; a third as many go before, uncounted */
	uint64_t events; /* at most */
	uint64_t seed;
};

struct sim_outcome {
	double rate; /* operations a second, all together */
	double repeats;
	double lock_share;
	double before, during, after; /* rates; only with somebody who takes the lock */
};

/* One for all experiments: large. NULL: no memory. */
struct sim_lab *sim_lab_create(void);
void sim_lab_destroy(struct sim_lab *lab);

struct sim_outcome sim_measure_scenario(struct sim_lab *lab, const struct sim_setup *setup,
                                        enum sim_scenario scenario);
struct sim_outcome sim_measure_call(struct sim_lab *lab, const struct sim_setup *setup,
                                    const struct sim_call *call);
/* The same while somebody takes the lock some times, and afterwards. */
struct sim_outcome sim_measure_call_recovery(struct sim_lab *lab, const struct sim_setup *setup,
                                             const struct sim_call *call);

/* For tests: any program, on all processors. */
struct sim_outcome sim_measure_program(struct sim_lab *lab, const struct sim_setup *setup,
                                       const struct sim_program *program);

#endif
