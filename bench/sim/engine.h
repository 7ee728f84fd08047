/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A discrete-event model of who owns a cache line and when it moves. Processors
 * run small programs (program.h); what one may do at once and what it has to
 * wait for follows from the lines it touches.
 *
 *   A line is modified in one core, or shared by some, or on its way.
 *   Requests of one line wait in one queue and are granted one after the other,
 *   a transfer each: T = near within a socket, far across. While the request
 *   travels to the owner, the owner goes on using the line (its hold); then the
 *   line is in flight for what is left of T. Hold is anything between nothing
 *   and T with equal chance, for nobody knows how the phases meet.
 *   Reads of a line that nobody has modified do not wait for each other.
 *   SMT siblings share a core's cache, and its pipeline: n running siblings take
 *   n times as long for what they do inside the core. A processor that waits for
 *   a line, pauses or spins does not run in this sense.
 *
 * Which request comes next is a choice that matters, and is an option: FIFO, or
 * nearest first: those of the owner's socket, but nobody is overtaken more often
 * than a socket has cores.
 *
 * Times are picoseconds. Everything follows from the seed.
 */
#ifndef BENCH_SIM_ENGINE_H
#define BENCH_SIM_ENGINE_H

#include "program.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SIM_MAX_PROCS = 520,
	SIM_SHARED_LINES = 32,
	SIM_OWN_LINES = 2, /* of each processor */
	SIM_MAX_LINES = SIM_SHARED_LINES + SIM_OWN_LINES * SIM_MAX_PROCS,
	SIM_CORE_WORDS = 5, /* 320 cores */
};

/* Placement: cores of the first socket, of the next, ..., then the siblings. */
struct sim_machine {
	const char *name;
	unsigned int sockets;
	unsigned int cores; /* of one socket */
	unsigned int smt;   /* threads of one core */
};

enum sim_order { SIM_NEAREST, SIM_FIFO };
enum sim_hold {
	SIM_HOLD_RANDOM, /* 0 .. T */
	SIM_HOLD_HALF,   /* T / 2, and all work takes its exact time: for tests */
	SIM_HOLD_NONE,   /* a line goes as soon as the operation on it is done */
};

/* Picoseconds; the first five are for a line in the core's own cache. */
struct sim_cost {
	uint32_t load;
	uint32_t store;
	uint32_t rmw;
	uint32_t cas;
	uint32_t pause;
	uint32_t near;
	uint32_t far;
	uint32_t futex; /* sleeping or waking somebody */
	enum sim_order order;
	enum sim_hold hold;
};

enum sim_wish { SIM_READ, SIM_WRITE };

struct sim_proc {
	const struct sim_program *program;
	uint64_t value; /* of the last memory operation */
	uint64_t saved; /* a ticket, or the previous waiter's number */
	uint64_t tries;
	uint64_t ops;      /* finished, since the last sim_reset_counts() */
	uint64_t repeats;  /* compare-and-exchanges that failed */
	uint64_t locked;   /* time spent waiting for locks */
	uint64_t since;    /* when this instruction began */
	uint64_t deadline; /* of its wait; UINT64_MAX for none */
	uint32_t pc;
	uint32_t line; /* that is waited for */
	uint32_t overtaken;
	int32_t next; /* in the queue of a line, or among sleepers; -1 ends */
	uint16_t core;
	uint8_t socket;
	enum sim_wish wish;
	bool ok;
	bool running; /* uses the core's pipeline */
	bool queued;  /* waits for its turn on the line */
	bool watching;
	bool timed; /* an event for a deadline is on its way */
	bool stopped;
};

struct sim_line {
	uint64_t words[SIM_LINE_WORDS];
	uint64_t sharers[SIM_CORE_WORDS];
	uint64_t locked_until; /* end of the write under way in the owner's cache */
	int32_t owner;         /* core that has it modified; -1 for none */
	int32_t from;          /* core that had it last */
	int32_t first, last;   /* who waits */
	int32_t active;        /* whose transfer is under way; -1 for none */
	uint32_t watchers;
	uint32_t flight; /* what is left of the transfer once the owner let go */
	bool taken;      /* in flight */
};

struct sim_event {
	uint64_t time;
	uint64_t order; /* breaks ties: first come, first served */
	uint32_t kind;
	uint32_t id;
};

struct sim {
	struct sim_machine machine;
	struct sim_cost cost;
	uint8_t running[64 * SIM_CORE_WORDS]; /* by core */
	size_t nevents;
	uint64_t counter;
	uint64_t handled; /* events */
	uint64_t now;
	uint64_t since; /* of the counts */
	uint64_t ops;
	uint64_t transfers;
	uint64_t random;
	unsigned int nprocs;
	int32_t sleepers; /* first that sleeps, oldest first */
	/* Large, and only as far as there are processors. */
	struct sim_event events[4 * SIM_MAX_PROCS];
	struct sim_proc procs[SIM_MAX_PROCS];
	struct sim_line lines[SIM_MAX_LINES];
};

/* All lines unused, no processor yet. */
void sim_init(struct sim *sim, const struct sim_machine *machine, const struct sim_cost *cost,
              uint64_t seed);

/* One more processor, on the next place of the machine; it starts at once. */
void sim_add(struct sim *sim, const struct sim_program *program);

/* Processors the machine has. */
unsigned int sim_cpus(const struct sim_machine *machine);

/*
 * Go on until so many operations are finished since the last reset, or so many
 * events handled from here on, or all processors stopped.
 */
void sim_run(struct sim *sim, uint64_t ops, uint64_t events);

/* Forget what was counted, not where everything is. */
void sim_reset_counts(struct sim *sim);

/* Operations a second since the last reset. */
double sim_rate(const struct sim *sim);

/* Failed compare-and-exchanges an operation since then. */
double sim_repeats(const struct sim *sim);

/* Share of all processors' time that was spent waiting for locks. */
double sim_lock_share(const struct sim *sim);

#endif
