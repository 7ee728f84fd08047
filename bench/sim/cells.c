/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cells.h"

#include <stdlib.h>
#include <string.h>

#define DEAD (UINT64_C(1) << 63)

enum {
	SECTION_PS = 1000 * 1000,     /* how long the sporadic taker holds the lock */
	RECOVER_PERIOD_PS = 10000000, /* how often it does, while it does */
	RECOVER_SECTIONS = 5,         /* ... and how many times */
	STAT_ATTRS = 3,               /* lines of attributes that stat2 reads */
};

struct sim_lab {
	struct sim sim;
	struct sim_program worker;
	struct sim_program taker;
};

const char *const sim_scenario_names[SIM_SCENARIOS] = {
	[SIM_OPEN1] = "open1",
	[SIM_OPEN3] = "open3",
	[SIM_STAT2] = "stat2",
	[SIM_SPORADIC_10] = "sporadic_10",
	[SIM_SPORADIC_1K] = "sporadic_1k",
	[SIM_SPORADIC_100K] = "sporadic_100k",
	[SIM_RECOVER] = "recover",
	[SIM_MIX] = "mix",
	[SIM_DYING] = "dying",
	[SIM_NEAR_READMOSTLY_SHARED] = "near_readmostly_shared",
	[SIM_NEAR_READMOSTLY_APART] = "near_readmostly_apart",
	[SIM_NEAR_WRITTEN_SHARED] = "near_written_shared",
	[SIM_NEAR_WRITTEN_APART] = "near_written_apart",
	[SIM_PERCPU] = "percpu",
};

bool sim_applies(enum sim_scenario scenario, const struct sim_mode *mode)
{
	bool on_object = mode->kind <= SIM_KIND_LOCKED;

	switch (scenario) {
	case SIM_OPEN1:
	case SIM_OPEN3:
	case SIM_STAT2:
		return true;
	case SIM_PERCPU:
		return mode->kind == SIM_KIND_RWSEM;
	case SIM_DYING:
	case SIM_NEAR_READMOSTLY_SHARED:
	case SIM_NEAR_READMOSTLY_APART:
	case SIM_NEAR_WRITTEN_SHARED:
	case SIM_NEAR_WRITTEN_APART:
		return on_object;
	default:
		return mode->kind != SIM_KIND_RWSEM;
	}
}

/* ---- programs ---- */

static struct sim_writer begin(struct sim_program *program, const struct sim_setup *setup)
{
	program->n = 0;
	return (struct sim_writer){.program = program, .mode = setup->mode, .cost = setup->cost};
}

static void on_line(struct sim_writer *writer, enum sim_op op, unsigned int line, unsigned int slot)
{
	sim_write(writer,
	          (struct sim_instruction){
			  .op = (uint8_t)op, .line = (uint8_t)line, .slot = (uint8_t)slot, .a = 1});
}

static void write_near(struct sim_writer *writer, bool shared, enum sim_op op)
{
	sim_write_get(writer);
	sim_write_put(writer);
	on_line(writer, op, shared ? SIM_OBJECT : SIM_NEIGHBOUR, SIM_NEIGHBOUR_SLOT);
}

static void write_stat(struct sim_writer *writer)
{
	sim_write_get(writer);
	for (unsigned int i = 0; i < STAT_ATTRS; i++)
		on_line(writer, SIM_LOAD, SIM_ATTRS, i);
	sim_write_put(writer);
}

/* A section of the lock: one count that needs no atomic operation there. */
static void write_section(struct sim_writer *writer)
{
	sim_write_lock(writer);
	on_line(writer, SIM_BUMP, SIM_GUARDED, 0);
	sim_write_unlock(writer);
}

static void write_mix(struct sim_writer *writer)
{
	sim_write_get(writer);
	sim_write_put(writer);
	sim_write_end(writer);
	write_section(writer);
	sim_write_end(writer);
	write_section(writer);
}

static void write_worker(struct sim_writer *writer, enum sim_scenario scenario)
{
	switch (scenario) {
	case SIM_STAT2:
		write_stat(writer);
		break;
	case SIM_MIX:
		write_mix(writer);
		break;
	case SIM_DYING:
		sim_write_dying_get(writer);
		break;
	case SIM_NEAR_READMOSTLY_SHARED:
	case SIM_NEAR_READMOSTLY_APART:
		write_near(writer, scenario == SIM_NEAR_READMOSTLY_SHARED, SIM_LOAD);
		break;
	case SIM_NEAR_WRITTEN_SHARED:
	case SIM_NEAR_WRITTEN_APART:
		write_near(writer, scenario == SIM_NEAR_WRITTEN_SHARED, SIM_STORE);
		break;
	default:
		writer->place = scenario == SIM_OPEN1 ? SIM_EACH : SIM_ONE;
		sim_write_get(writer);
		sim_write_put(writer);
		break;
	}
	sim_write_end(writer);
}

/* Work with the other counts spread over it: it takes as long from one to the next. */
static void write_spread(struct sim_writer *writer, uint64_t work, const struct sim_call *call)
{
	unsigned int counts = call->rest * call->times;

	for (unsigned int i = 0; i < counts; i++) {
		sim_write_work(writer, work / (counts + 1));
		on_line(writer, SIM_ADD, SIM_REST + i / call->times, 0);
	}
	sim_write_work(writer, work / (counts + 1));
}

static void write_call(struct sim_writer *writer, const struct sim_call *call)
{
	write_spread(writer, call->work / 2, call);
	if (call->name_beside)
		on_line(writer, SIM_LOAD, SIM_OBJECT, SIM_NEIGHBOUR_SLOT);
	for (unsigned int i = 0; i < call->pairs; i++)
		sim_write_get(writer);
	for (unsigned int i = 1; i < call->pairs; i++)
		sim_write_put(writer);
	sim_write_work(writer, call->work / 4);
	if (call->pairs)
		sim_write_put(writer);
	write_spread(writer, call->work / 4, call);
	sim_write_end(writer);
	for (unsigned int i = 0; call->mixed && i < 2; i++) {
		sim_write_work(writer, call->work);
		write_section(writer);
		sim_write_end(writer);
	}
}

static void write_taker(struct sim_writer *writer, uint64_t period, uint64_t sections)
{
	size_t again, over;

	sim_write(writer, (struct sim_instruction){.op = SIM_RETRY});
	again = writer->program->n;
	sim_write_work(writer, period);
	sim_write_lock(writer);
	sim_write_work(writer, SECTION_PS);
	sim_write_unlock(writer);
	over = sim_write(writer, (struct sim_instruction){.op = SIM_IF_TRIES, .a = sections});
	sim_write(writer, (struct sim_instruction){.op = SIM_JUMP, .jump = (uint16_t)again});
	sim_land(writer, over);
	sim_write(writer, (struct sim_instruction){.op = SIM_STOP});
}

/* ---- runs ---- */

struct sim_lab *sim_lab_create(void)
{
	return malloc(sizeof(struct sim_lab));
}

void sim_lab_destroy(struct sim_lab *lab)
{
	free(lab);
}

static void start(struct sim_lab *lab, const struct sim_setup *setup,
                  const struct sim_program *program, uint64_t word)
{
	sim_init(&lab->sim, setup->machine, setup->cost, setup->seed);
	lab->sim.lines[SIM_OBJECT].words[0] = word;
	for (unsigned int i = 0; i < setup->threads; i++)
		sim_add(&lab->sim, program);
}

/* One window of counting, after as much as makes it a steady state. */
static struct sim_outcome count(struct sim_lab *lab, const struct sim_setup *setup)
{
	struct sim_outcome outcome = {0};

	sim_reset_counts(&lab->sim);
	sim_run(&lab->sim, setup->ops / 3, setup->events / 3);
	sim_reset_counts(&lab->sim);
	sim_run(&lab->sim, setup->ops, setup->events);
	outcome.rate = sim_rate(&lab->sim);
	outcome.repeats = sim_repeats(&lab->sim);
	outcome.lock_share = sim_lock_share(&lab->sim);
	return outcome;
}

/* The taker is the last processor. */
static double count_during(struct sim_lab *lab, const struct sim_setup *setup)
{
	const struct sim_proc *taker;

	write_taker(&(struct sim_writer){&lab->taker, setup->mode, setup->cost, SIM_ONE},
	            RECOVER_PERIOD_PS, RECOVER_SECTIONS);
	sim_reset_counts(&lab->sim);
	sim_add(&lab->sim, &lab->taker);
	taker = &lab->sim.procs[setup->threads];
	for (unsigned int slice = 0; slice < 100; slice++) {
		if (lab->taker.code[taker->pc].op == SIM_STOP)
			break;
		sim_run(&lab->sim, UINT64_MAX, setup->events / 20);
	}
	return sim_rate(&lab->sim);
}

static struct sim_outcome count_recovery(struct sim_lab *lab, const struct sim_setup *setup)
{
	struct sim_outcome outcome = count(lab, setup), after;

	outcome.before = outcome.rate;
	lab->taker.n = 0;
	outcome.during = count_during(lab, setup);
	after = count(lab, setup);
	outcome.after = after.rate;
	return outcome;
}

static struct sim_outcome measure_100k(struct sim_lab *lab, const struct sim_setup *setup)
{
	struct sim_writer writer = begin(&lab->taker, setup);

	write_taker(&writer, RECOVER_PERIOD_PS, UINT64_MAX);
	sim_add(&lab->sim, &lab->taker);
	return count(lab, setup);
}

struct sim_outcome sim_measure_scenario(struct sim_lab *lab, const struct sim_setup *setup,
                                        enum sim_scenario scenario)
{
	struct sim_writer writer = begin(&lab->worker, setup);
	struct sim_outcome outcome;

	write_worker(&writer, scenario);
	start(lab, setup, &lab->worker, scenario == SIM_DYING ? DEAD : 1);
	switch (scenario) {
	case SIM_SPORADIC_10:
	case SIM_SPORADIC_1K:
	case SIM_RECOVER:
		outcome = count_recovery(lab, setup);
		/* Between two sections there is time enough to settle. */
		outcome.rate = outcome.after;
		return outcome;
	case SIM_SPORADIC_100K:
		return measure_100k(lab, setup);
	default:
		return count(lab, setup);
	}
}

struct sim_outcome sim_measure_call(struct sim_lab *lab, const struct sim_setup *setup,
                                    const struct sim_call *call)
{
	struct sim_writer writer = begin(&lab->worker, setup);

	write_call(&writer, call);
	start(lab, setup, &lab->worker, 1);
	return count(lab, setup);
}

struct sim_outcome sim_measure_call_recovery(struct sim_lab *lab, const struct sim_setup *setup,
                                             const struct sim_call *call)
{
	struct sim_writer writer = begin(&lab->worker, setup);

	write_call(&writer, call);
	start(lab, setup, &lab->worker, 1);
	return count_recovery(lab, setup);
}

struct sim_outcome sim_measure_program(struct sim_lab *lab, const struct sim_setup *setup,
                                       const struct sim_program *program)
{
	start(lab, setup, program, 1);
	return count(lab, setup);
}
