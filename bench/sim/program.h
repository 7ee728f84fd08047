/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a processor of the model does: a list of instructions, in a circle.
 * Those on memory and those that pass time are events of the engine; decisions
 * cost nothing. Registers: value (what the last one on memory read), saved,
 * tries, and ok (whether the last compare-and-exchange or wait did it).
 */
#ifndef BENCH_SIM_PROGRAM_H
#define BENCH_SIM_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

enum { SIM_LINE_WORDS = 4, SIM_PROGRAM_MAX = 400 };

enum sim_op {
	/* on memory: word `slot` of a line */
	SIM_LOAD,
	SIM_STORE,       /* a */
	SIM_ADD,         /* a, by one atomic operation */
	SIM_BUMP,        /* a, by load and store: only under a lock, or on an own line */
	SIM_FIELD,       /* the bits in a become b, by one atomic operation */
	SIM_FIELD_PLAIN, /* the same by a store: for the holder of a lock */
	SIM_TRYLOCK,     /* the bits b come in if none in a is there; ok tells */
	SIM_CAS,         /* value becomes value + a; ok tells */
	SIM_CLAIM, /* bits a come in; the field b becomes 0 if it is this one's number, then ok */
	/* time */
	SIM_WAIT,        /* until the bits in a are 0; at most b ps, 0 is for ever; ok tells */
	SIM_WAIT_SET,    /* until one of the bits in a is there */
	SIM_WAIT_TICKET, /* until the word is `saved` */
	SIM_WORK,        /* a ps, half to one and a half of it */
	SIM_PAUSE,
	SIM_SLEEP, /* while the word is a */
	SIM_WAKE,  /* the oldest sleeper */
	/* decisions */
	SIM_JUMP,
	SIM_IF_OK,
	SIM_IF_FAILED,
	SIM_IF_SET,   /* one of the bits a in value */
	SIM_IF_CLEAR, /* none */
	SIM_IF_TRIES, /* one more try; jumps once there were a */
	SIM_IF_NTH,   /* jumps unless the number of tries is a multiple of a */
	SIM_SAVE,     /* saved = the field a of value */
	SIM_RETRY,    /* tries = 0 */
	SIM_END,      /* one operation done */
	SIM_STOP,     /* the processor does no more */
};

/* Whose line: a shared one, the processor's own, or that of the one in saved. */
enum sim_base { SIM_SHARED, SIM_OWN, SIM_SAVED };

/* As a of SIM_STORE or b of SIM_FIELD: the processor's number, from 1. */
#define SIM_ME UINT64_MAX

struct sim_instruction {
	uint64_t a;
	uint64_t b;
	uint16_t jump;
	uint8_t op;
	uint8_t base;
	uint8_t line; /* of the shared ones, or of the own ones */
	uint8_t slot;
};

struct sim_program {
	struct sim_instruction code[SIM_PROGRAM_MAX];
	size_t n;
};

#endif
