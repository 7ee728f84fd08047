/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The model's machines and constants. Constants come from three places only:
 * solved once from published figures of one and two workers (sim_calibrate()),
 * taken from literature and fixed, or structure that is stated in engine.h. What
 * they then say of more workers is a prediction, whatever it looks like.
 */
#ifndef BENCH_SIM_MODEL_H
#define BENCH_SIM_MODEL_H

#include "cells.h"
#include "published.h"

enum sim_machine_id {
	/* The first ones are those that the CSV file has rows of. */
	SIM_X86_48,
	SIM_X86_96,
	SIM_X86_36,
	SIM_ARM_112,
	SIM_ARM_96,
	SIM_VM,
	SIM_GRID_MACHINES,
	SIM_X86_80 = SIM_GRID_MACHINES,
	SIM_X86_52,
	SIM_X86_20,
	SIM_X86_128,
	SIM_X86_56,
	SIM_X86_HOT,
	SIM_MACHINES,
};

extern const struct sim_machine sim_machines[SIM_MACHINES];

struct sim_constants {
	struct sim_cost cost; /* of x86-64; near is solved */
	struct sim_call stat;
	struct sim_call open;
	uint64_t hot_work;   /* of a lookup in HyperClockCache's table, ps */
	uint64_t reader_x86; /* of a reader's loop around the counts, ps */
	uint64_t reader_arm;
	uint64_t reader_arm_safe;
};

/* How much is simulated for one figure. */
struct sim_effort {
	uint64_t ops;
	uint64_t ops_each; /* and so many more for each worker */
	uint64_t events;
	uint64_t seed;
};

struct sim_model {
	struct sim_lab *lab;
	const struct sim_published *published;
	struct sim_constants constants;
	struct sim_effort effort;
	enum sim_order order;
	enum sim_hold hold;
};

/*
 * Solve the constants.
 * Return: 0; -ENOENT when the published figures lack one that is needed.
 */
int sim_calibrate(struct sim_model *model);

/* Costs on one of the machines. */
struct sim_cost sim_cost_on(const struct sim_model *model, enum sim_machine_id machine);

/* A setup with the model's effort; cost is filled in and must live as long. */
struct sim_setup sim_setup_on(const struct sim_model *model, enum sim_machine_id machine,
                              const char *mode, unsigned int threads, struct sim_cost *cost);

/* Operations a second, or retries an operation, ... */
struct sim_outcome sim_call_on(const struct sim_model *model, enum sim_machine_id machine,
                               const char *mode, unsigned int threads, const struct sim_call *call);

/* Whether the constants were solved from that row. */
bool sim_is_fitted(const char *id);

#endif
