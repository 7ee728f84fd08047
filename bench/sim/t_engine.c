/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The model against what can be worked out by hand, and locks against what they promise. */
#include "cells.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned int failures;

#define CHECK(condition) check(condition, #condition, __LINE__)

static void check(bool holds, const char *text, int line)
{
	if (holds)
		return;
	fprintf(stderr, "t_engine.c:%d: %s\n", line, text);
	failures++;
}

static struct sim sim;
static struct sim_program program;

/* Round numbers, all exact times. */
static const struct sim_cost exact = {
	.load = 1000,
	.store = 2000,
	.rmw = 10000,
	.cas = 8000,
	.pause = 40000,
	.near = 100000,
	.far = 250000,
	.futex = 1000000,
	.order = SIM_FIFO,
	.hold = SIM_HOLD_HALF,
};

static const struct sim_machine small = {"2x2x2", 2, 2, 2};
static const struct sim_machine large = {"2x8x2", 2, 8, 2};

static struct sim_writer begin(const char *mode)
{
	program.n = 0;
	return (struct sim_writer){
		.program = &program, .mode = sim_mode_find(mode), .cost = &exact};
}

static void on_word(struct sim_writer *writer, enum sim_op op, unsigned int slot, uint64_t a)
{
	sim_write(writer,
	          (struct sim_instruction){.op = (uint8_t)op, .slot = (uint8_t)slot, .a = a});
}

static void run_on(const struct sim_machine *machine, const struct sim_cost *cost,
                   unsigned int procs)
{
	sim_init(&sim, machine, cost, 1);
	sim.lines[SIM_OBJECT].words[0] = 1;
	for (unsigned int i = 0; i < procs; i++)
		sim_add(&sim, &program);
}

/* ---- time ---- */

static void one_processor_pays_the_sum_of_its_costs(void)
{
	struct sim_writer writer = begin("word");

	on_word(&writer, SIM_LOAD, 0, 0);
	on_word(&writer, SIM_STORE, 1, 7);
	on_word(&writer, SIM_ADD, 0, 1);
	on_word(&writer, SIM_CAS, 0, 0);
	on_word(&writer, SIM_BUMP, 2, 1);
	sim_write_work(&writer, 5000);
	on_word(&writer, SIM_PAUSE, 0, 0);
	sim_write_end(&writer);
	run_on(&small, &exact, 1);
	sim_run(&sim, 1, UINT64_MAX);
	/* The line has to be fetched to be read, and to be had alone to be written. */
	CHECK(sim.now == 2 * 100000 + 1000 + 2000 + 10000 + 8000 + 3000 + 5000 + 40000);
	sim_reset_counts(&sim);
	sim_run(&sim, 1000, UINT64_MAX);
	CHECK(sim.now - sim.since == 1000 * (1000 + 2000 + 10000 + 8000 + 3000 + 5000 + 40000));
	CHECK(sim.transfers == 0);
	CHECK(sim.lines[SIM_OBJECT].words[0] == 1 + 1001);
	CHECK(sim.lines[SIM_OBJECT].words[1] == 7);
	CHECK(sim.lines[SIM_OBJECT].words[2] == 1001);
}

static void write_additions(void)
{
	struct sim_writer writer = begin("word");

	on_word(&writer, SIM_ADD, 0, 1);
	sim_write_end(&writer);
}

/*
 * Each has the line from its arrival until half a transfer later: 5 additions.
 * Then it is on its way for the other half.
 */
static void two_processors_pass_a_line_to_and_fro(void)
{
	write_additions();
	run_on(&small, &exact, 2);
	sim_run(&sim, 10000, UINT64_MAX);
	sim_reset_counts(&sim);
	sim_run(&sim, 10000, UINT64_MAX);
	CHECK(sim.transfers == 2000);
	CHECK(sim.now - sim.since == 2000 * 100000);
	CHECK(sim.procs[0].ops == 5000 && sim.procs[1].ops == 5000);
	CHECK(sim.lines[SIM_OBJECT].words[0] == 1 + 20000);
}

static void another_socket_is_farther(void)
{
	static const struct sim_machine apart = {"2x1x1", 2, 1, 1};

	write_additions();
	run_on(&apart, &exact, 2);
	sim_run(&sim, 13000, UINT64_MAX);
	sim_reset_counts(&sim);
	sim_run(&sim, 13000, UINT64_MAX);
	/* Half a transfer is 125 ns: the thirteenth addition is under way and is waited for. */
	CHECK(sim.transfers == 1000);
	CHECK(sim.now - sim.since == 1000 * (UINT64_C(130000) + 125000));
}

static void a_line_that_goes_at_once_is_used_once(void)
{
	struct sim_cost cost = exact;

	cost.hold = SIM_HOLD_NONE;
	write_additions();
	run_on(&small, &cost, 2);
	sim_run(&sim, 1000, UINT64_MAX);
	sim_reset_counts(&sim);
	sim_run(&sim, 1000, UINT64_MAX);
	CHECK(sim.transfers == 1000);
	CHECK(sim.now - sim.since == 1000 * UINT64_C(110000));
}

static void readers_do_not_wait_for_each_other(void)
{
	struct sim_writer writer = begin("word");

	on_word(&writer, SIM_LOAD, 0, 0);
	sim_write_end(&writer);
	run_on(&small, &exact, 4);
	sim_run(&sim, 4, UINT64_MAX);
	CHECK(sim.now == 250000 + 1000 || sim.now == 100000 + 1000);
	sim_reset_counts(&sim);
	sim_run(&sim, 4000, UINT64_MAX);
	CHECK(sim.transfers == 0);
	CHECK(sim.now - sim.since <= UINT64_C(1200000));
}

static double rate_of_work(unsigned int procs)
{
	struct sim_writer writer = begin("word");

	sim_write_work(&writer, 100000);
	sim_write_end(&writer);
	run_on(&small, &exact, procs);
	sim_run(&sim, 800, UINT64_MAX);
	return sim_rate(&sim);
}

static void siblings_share_a_pipeline(void)
{
	CHECK(rate_of_work(1) == 1e7);
	CHECK(rate_of_work(4) == 4e7);
	/* All started alone but ran beside a sibling afterwards. */
	CHECK(rate_of_work(8) < 4.1e7 && rate_of_work(8) >= 4e7);
}

static void a_wait_ends_at_its_deadline(void)
{
	struct sim_writer writer = begin("word");

	sim_write(&writer, (struct sim_instruction){.op = SIM_WAIT, .a = 1, .b = 777000});
	sim_write(&writer, (struct sim_instruction){.op = SIM_STOP});
	run_on(&small, &exact, 1);
	sim_run(&sim, 1, UINT64_MAX);
	CHECK(sim.now == 777000 && !sim.procs[0].ok);
	CHECK(sim.procs[0].locked == 777000);
}

/* The line comes after the deadline, and one look is had for that. */
static void a_wait_looks_once_at_least(void)
{
	struct sim_writer writer = begin("word");

	sim_write(&writer, (struct sim_instruction){.op = SIM_WAIT, .a = 1, .b = 50000});
	sim_write(&writer, (struct sim_instruction){.op = SIM_STOP});
	run_on(&small, &exact, 1);
	sim_run(&sim, 1, UINT64_MAX);
	CHECK(sim.now == 100000 + 1000 && !sim.procs[0].ok);
	CHECK(sim.procs[0].locked == sim.now);
}

static void a_wait_ends_when_the_word_changes(void)
{
	static struct sim_program setter;
	struct sim_writer writer = begin("word");
	struct sim_writer other = {.program = &setter, .cost = &exact};

	on_word(&writer, SIM_WAIT, 0, 1);
	sim_write(&writer, (struct sim_instruction){.op = SIM_STOP});
	setter.n = 0;
	sim_write_work(&other, 1000000);
	on_word(&other, SIM_STORE, 0, 0);
	sim_write(&other, (struct sim_instruction){.op = SIM_STOP});
	run_on(&small, &exact, 1);
	sim_add(&sim, &setter);
	sim_run(&sim, 1, UINT64_MAX);
	CHECK(sim.procs[0].ok);
	/* Work, the line comes to be written and is written, then goes to who waits. */
	CHECK(sim.now == 1000000 + 100000 + 100000 + 1000);
}

/* ---- turns ---- */

static void shares(const struct sim_cost *cost, uint64_t *least, uint64_t *most)
{
	write_additions();
	run_on(&large, cost, 16);
	sim_run(&sim, 64000, UINT64_MAX);
	*least = UINT64_MAX;
	*most = 0;
	for (unsigned int i = 0; i < 16; i++) {
		*least = sim.procs[i].ops < *least ? sim.procs[i].ops : *least;
		*most = sim.procs[i].ops > *most ? sim.procs[i].ops : *most;
	}
}

static void first_come_first_served_is_fair(void)
{
	uint64_t least, most, all;

	shares(&exact, &least, &most);
	all = 64000 / 16;
	CHECK(least > all / 4 && most < all * 3);
}

static void nearest_first_starves_nobody(void)
{
	struct sim_cost cost = exact;
	uint64_t least, most;

	cost.order = SIM_NEAREST;
	shares(&cost, &least, &most);
	CHECK(least > 64000 / 16 / 8);
}

/* Whom the far processor finds to have been there before: it asked first, the near one then. */
static uint64_t seen_by_far(enum sim_order order)
{
	static struct sim_program programs[4];
	static const uint64_t starts[4] = {0, 20000, 10000, 90000000};
	struct sim_cost cost = exact;

	cost.order = order;
	sim_init(&sim, &small, &cost, 1);
	for (unsigned int i = 0; i < 4; i++) {
		struct sim_writer writer = {.program = &programs[i], .cost = &cost};

		programs[i].n = 0;
		sim_write_work(&writer, starts[i]);
		on_word(&writer, SIM_ADD, 0, 1);
		sim_write(&writer, (struct sim_instruction){.op = SIM_STOP});
		sim_add(&sim, &programs[i]);
	}
	sim_run(&sim, 1, UINT64_MAX);
	return sim.procs[2].value;
}

static void whose_turn_it_is_follows_the_order(void)
{
	CHECK(seen_by_far(SIM_FIFO) == 1);
	CHECK(seen_by_far(SIM_NEAREST) == 2);
}

/* ---- promises of locks ---- */

/* Slot 0 of the last line counts who is inside, slot 1 who was not alone. */
static void on_inside(struct sim_writer *writer, enum sim_op op, unsigned int slot, uint64_t a)
{
	sim_write(writer, (struct sim_instruction){.op = (uint8_t)op,
	                                           .line = SIM_SHARED_LINES - 1,
	                                           .slot = (uint8_t)slot,
	                                           .a = a});
}

static uint64_t intruders(const char *mode, bool locked)
{
	struct sim_cost cost = exact;
	struct sim_writer writer = begin(mode);
	size_t alone;

	if (locked)
		sim_write_lock(&writer);
	on_inside(&writer, SIM_ADD, 0, 1);
	alone = sim_write(&writer, (struct sim_instruction){.op = SIM_IF_CLEAR, .a = UINT64_MAX});
	on_inside(&writer, SIM_ADD, 1, 1);
	sim_land(&writer, alone);
	sim_write_work(&writer, 50000);
	on_inside(&writer, SIM_ADD, 0, UINT64_MAX);
	if (locked)
		sim_write_unlock(&writer);
	sim_write_end(&writer);
	cost.hold = SIM_HOLD_RANDOM;
	cost.order = SIM_NEAREST;
	run_on(&large, &cost, 24);
	sim_run(&sim, 3000, 3000000);
	CHECK(sim.ops == 3000);
	return sim.lines[SIM_SHARED_LINES - 1].words[1];
}

static void locks_let_one_in(void)
{
	for (size_t i = 0; i < sim_nmodes; i++) {
		uint64_t n = intruders(sim_modes[i].name, true);

		if (n)
			fprintf(stderr, "%s: %ju were not alone\n", sim_modes[i].name,
			        (uintmax_t)n);
		CHECK(n == 0);
	}
	CHECK(intruders("word", false) > 0);
}

enum { PAIRS = 4, PROCS = 24 };

static void write_pairs_and_stop(const char *mode)
{
	struct sim_writer writer = begin(mode);

	for (unsigned int i = 0; i < PAIRS; i++) {
		sim_write_get(&writer);
		sim_write_put(&writer);
		sim_write_end(&writer);
	}
	sim_write(&writer, (struct sim_instruction){.op = SIM_STOP});
}

/* Lockrefs with few retries go to the lock as well, which must fit the swaps. */
static void counts_are_right_in_the_end(void)
{
	for (size_t i = 0; i < sim_nmodes; i++) {
		for (unsigned int hold = SIM_HOLD_RANDOM; hold <= SIM_HOLD_NONE; hold++) {
			struct sim_cost cost = exact;

			cost.hold = (enum sim_hold)hold;
			write_pairs_and_stop(sim_modes[i].name);
			run_on(&large, &cost, PROCS);
			sim_run(&sim, UINT64_MAX, 3000000);
			if (sim.ops != PAIRS * PROCS || sim.lines[SIM_OBJECT].words[0] != 1)
				fprintf(stderr, "%s: %ju pairs, word %jx\n", sim_modes[i].name,
				        (uintmax_t)sim.ops,
				        (uintmax_t)sim.lines[SIM_OBJECT].words[0]);
			CHECK(sim.ops == PAIRS * PROCS && sim.nevents == 0);
			CHECK(sim.lines[SIM_OBJECT].words[0] == 1);
		}
	}
}

static bool is_one_or_shared(const struct sim_line *line)
{
	bool shared = false;

	for (unsigned int i = 0; i < SIM_CORE_WORDS; i++)
		shared |= line->sharers[i] != 0;
	return line->owner < 0 || !shared;
}

static void a_line_is_modified_in_one_core_or_shared(void)
{
	for (size_t i = 0; i < sim_nmodes; i++) {
		struct sim_cost cost = exact;
		bool good = true;

		cost.hold = SIM_HOLD_RANDOM;
		cost.order = SIM_NEAREST;
		write_pairs_and_stop(sim_modes[i].name);
		run_on(&large, &cost, PROCS);
		for (unsigned int n = 0; sim.nevents && n < 20000; n++) {
			sim_run(&sim, UINT64_MAX, 1);
			good &= is_one_or_shared(&sim.lines[SIM_OBJECT]);
		}
		CHECK(good);
	}
}

/* ---- repeatable ---- */

static uint64_t end_of(uint64_t seed)
{
	struct sim_cost cost = exact;
	struct sim_writer writer = begin("lockref");

	sim_write_get(&writer);
	sim_write_put(&writer);
	sim_write_end(&writer);
	cost.hold = SIM_HOLD_RANDOM;
	sim_init(&sim, &large, &cost, seed);
	sim.lines[SIM_OBJECT].words[0] = 1;
	for (unsigned int i = 0; i < 8; i++)
		sim_add(&sim, &program);
	sim_run(&sim, 2000, UINT64_MAX);
	CHECK(sim_repeats(&sim) > 0.05);
	return sim.now;
}

static void a_seed_repeats_a_run(void)
{
	uint64_t once = end_of(5);

	CHECK(end_of(5) == once);
	CHECK(end_of(6) != once);
}

/* A lock that is held now and then leaves a lockref with its lock, and the word alone. */
static void only_the_lockref_stays_degraded(void)
{
	static const struct sim_call call = {.work = 300000, .pairs = 1};
	struct sim_lab *lab = sim_lab_create();
	struct sim_cost cost = exact;
	struct sim_setup setup = {.machine = &large,
	                          .cost = &cost,
	                          .threads = 16,
	                          .ops = 4000,
	                          .events = 200000,
	                          .seed = 1};
	struct sim_outcome outcome;

	cost.hold = SIM_HOLD_RANDOM;
	setup.mode = sim_mode_find("lockref");
	outcome = sim_measure_call_recovery(lab, &setup, &call);
	CHECK(outcome.after < outcome.before * 0.8);
	setup.mode = sim_mode_find("word");
	outcome = sim_measure_call_recovery(lab, &setup, &call);
	CHECK(outcome.after > outcome.before * 0.95);
	sim_lab_destroy(lab);
}

int main(void)
{
	one_processor_pays_the_sum_of_its_costs();
	two_processors_pass_a_line_to_and_fro();
	another_socket_is_farther();
	a_line_that_goes_at_once_is_used_once();
	readers_do_not_wait_for_each_other();
	siblings_share_a_pipeline();
	a_wait_ends_at_its_deadline();
	a_wait_looks_once_at_least();
	a_wait_ends_when_the_word_changes();
	first_come_first_served_is_fair();
	nearest_first_starves_nobody();
	whose_turn_it_is_follows_the_order();
	locks_let_one_in();
	counts_are_right_in_the_end();
	a_line_is_modified_in_one_core_or_shared();
	a_seed_repeats_a_run();
	only_the_lockref_stays_degraded();
	if (failures)
		fprintf(stderr, "t_engine: %u checks failed\n", failures);
	return failures != 0;
}
