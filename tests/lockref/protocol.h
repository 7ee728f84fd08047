/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * protocol: the lockref protocol as a machine that takes one atomic step at a
 * time, for lockref.model to search. An actor is a short program of lockref
 * operations; every atomic of lockref.h is one step, and what it decides is
 * decided by lockref.h's own predicates.
 *
 * Memory is modelled too: a retired object may be freed, at any moment, once
 * no read section that was open when it was retired is open any more.
 */
#ifndef LOCKREF_PROTOCOL_H
#define LOCKREF_PROTOCOL_H

#include <stdbool.h>
#include <stdint.h>

#include "lockref.h"

#define MAX_ACTORS 5
#define MAX_OPS 16

enum op {
	END,
	ENTER, /* begin a read section */
	LEAVE, /* end it */
	FIND,  /* find the object by its identity; else: not there */
	GET,   /* else: dead */
	GET_HELD,
	USE,      /* read the object by right of a reference */
	PUT,      /* next: this actor killed it; else: not */
	PUT_MANY, /* state.many puts; next: one of them killed it; else: none */
	LOCK,     /* of the identity entry, which guards the names */
	UNLOCK,
	IF_IDLE,   /* else: no name, or the count is not 0 */
	TAKE_NAME, /* next: that was the last; else: it was not, or there was none */
	ADD_NAME,
	DOOM, /* next: this actor killed it; else: not */
	UNDOOM,
	TRY_KILL, /* next: this actor killed it; else: not */
	RETIRE,   /* unhash, hand the memory to the grace period; goes on at else */
	SET_FLAG,
};

/* A program has at most MAX_OPS of these, and ends with END. */
struct instr {
	enum op op;
	uint8_t otherwise; /* where to go on when the outcome is "else" */
};

/* Rules of lockref.h broken. Those of its callers are broken by programs. */
enum mutation {
	NONE,
	DEAD_BY_STORE,      /* DEAD is stored, not swapped in */
	DOOM_IGNORES_COUNT, /* the doomer leaves the kill to others, always */
	KILL_WITHOUT_DOOM,  /* a count of 0 is enough for a kill */
	GET_IGNORES_DEAD,   /* a get succeeds on a dead object */
	SATURATE_BY_OR,     /* set SAT and take the own add back; the count is not parked */
};

enum violation {
	USE_AFTER_FREE,
	DEAD_WHILE_HELD,
	DEAD_WHILE_NAMED,
	TWO_KILLERS,
	WRONG_COUNT, /* the count is not the number of references */
	WRONG_FLAGS, /* the flags are not those that were set */
	LEAK,
	STUCK,
	VIOLATIONS,
	FINE = VIOLATIONS,
};

struct actor {
	uint16_t reg; /* the word this actor goes by, folded */
	uint8_t pc;
	uint8_t phase; /* within an operation: which of its atomics is next */
};

/* Compared and hashed as bytes: no padding that is not named. */
struct state {
	uint16_t word;  /* folded */
	uint16_t flags; /* what the word's flags ought to be, folded */
	struct actor actors[MAX_ACTORS];
	uint8_t refs; /* references owned by actors */
	uint8_t many; /* of these, the ones that PUT_MANY gives back */
	uint8_t names;
	uint8_t lock;   /* 0, or its owner + 1 */
	uint8_t hashed; /* reachable by identity */
	uint8_t retired;
	uint8_t freed;
	uint8_t killers;
	uint8_t sections; /* bit a: actor a is in a read section */
	uint8_t grace;    /* bit a: ... and was when the object was retired */
	uint8_t pad[6];
};

_Static_assert(sizeof(struct state) == 40, "padding is named, and whole 64-bit words");
_Static_assert(LOCKREF_COUNT_BITS == 8, "folding keeps 8 bits of count");

/*
 * Millions of states are kept, so a word is folded into 16 bits: the same
 * layout with 5 user flags. A borrow or carry shows in those as in all.
 */
static inline uint16_t fold(uint64_t word)
{
	return (uint16_t)((word >> 61) << 13 | (word & 0x1fff));
}

static inline uint64_t unfold(uint16_t word)
{
	return (uint64_t)(word >> 13) << 61 | (word & 0x1fff);
}

struct scenario {
	const char *name;
	unsigned int actors;
	uint8_t names;
	uint8_t many;
	const struct instr *programs[MAX_ACTORS];
};

struct move {
	struct state *s;
	unsigned int actor;
	enum mutation mutation;
};

/* What became of a step. */
enum outcome {
	AGAIN,   /* the operation goes on */
	NEXT,    /* it is done: to the next one in the program */
	ELSE,    /* it is done: to the one that `otherwise` names */
	BLOCKED, /* the actor cannot move, or is at its end */
	FREED,   /* it would have touched freed memory */
};

/* The state before anybody has moved. */
void protocol_start(struct state *s, const struct scenario *sc);

/* Let one actor take its next step, on *move->s. */
enum outcome protocol_step(struct move *move, const struct scenario *sc);

/* Return: what is wrong with a state; with one in which nobody can move. */
enum violation protocol_judge(const struct state *s);
enum violation protocol_judge_end(const struct scenario *sc, const struct state *s);

#endif /* LOCKREF_PROTOCOL_H */
