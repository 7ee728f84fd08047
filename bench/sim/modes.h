/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The ways to count references, as programs of the model: the modes of
 * bench_lockref, one instruction for each access of theirs to a shared line.
 */
#ifndef BENCH_SIM_MODES_H
#define BENCH_SIM_MODES_H

#include "engine.h"

/* What a get and a put are made of. */
enum sim_kind {
	SIM_KIND_WORD,    /* one addition each */
	SIM_KIND_SWAP,    /* get by compare-and-exchange, put by addition */
	SIM_KIND_LOCKREF, /* both by compare-and-exchange while the lock is free */
	SIM_KIND_LOCKED,  /* both under the lock */
	SIM_KIND_OWN,     /* on a line of the processor's own */
	SIM_KIND_RWSEM,   /* the same after a look at a shared flag */
	SIM_KIND_RCU,     /* no reference: a read section */
};

enum sim_lock { SIM_TAS, SIM_SPIN, SIM_TICKET, SIM_MCS, SIM_MUTEX };

struct sim_mode {
	const char *name;
	enum sim_kind kind;
	enum sim_lock lock;   /* of SIM_KIND_LOCKED */
	uint16_t pause_every; /* failed swaps; 0: never */
	uint16_t limit;       /* failed swaps before the lock is taken; 0: none */
	uint16_t wait;        /* looks at a taken lock before going there */
	bool gives_up;        /* goes to the lock as soon as a swap fails */
	bool atomic;          /* SIM_KIND_OWN, SIM_KIND_RWSEM: by atomic additions */
};

extern const struct sim_mode sim_modes[];
extern const size_t sim_nmodes;

const struct sim_mode *sim_mode_find(const char *name); /* NULL: none */

/* Shared lines; slot 3 of the object's is its neighbour. */
enum {
	SIM_OBJECT,
	SIM_ATTRS,
	SIM_LOCK,      /* that guards an object whose mode has no lock */
	SIM_NEIGHBOUR, /* that of the object, on a line of its own */
	SIM_FLAG,      /* of a reader-writer semaphore */
	SIM_GUARDED,   /* what sections of the lock change */
	SIM_REST,      /* and the following ones: other counts the kernel changes */
	SIM_REST_MAX = SIM_SHARED_LINES - SIM_REST,
	SIM_NEIGHBOUR_SLOT = 3,
};

/* Where the object is: shared, or one for each processor. */
enum sim_place { SIM_ONE, SIM_EACH };

/* A program in the making. */
struct sim_writer {
	struct sim_program *program;
	const struct sim_mode *mode;
	const struct sim_cost *cost;
	enum sim_place place;
};

/* Add one instruction. Return: its number. */
size_t sim_write(struct sim_writer *writer, struct sim_instruction in);
/* The jump of that instruction leads to what is written next. */
void sim_land(struct sim_writer *writer, size_t at);

void sim_write_get(struct sim_writer *writer);
void sim_write_put(struct sim_writer *writer);
void sim_write_dying_get(struct sim_writer *writer);
/* Take and drop the lock that guards the object. */
void sim_write_lock(struct sim_writer *writer);
void sim_write_unlock(struct sim_writer *writer);
void sim_write_work(struct sim_writer *writer, uint64_t ps);
void sim_write_end(struct sim_writer *writer);

#endif
