/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * expiry: how long is believed what nobody tells changes of, and since when.
 *
 * A question whose answer may expire takes a number of its own before the backend
 * is asked (pc_expiry_ask()); what is kept of the answer has it as its id, or its
 * stamp. When numbers were taken is noted now and then, for each kind of belief
 * apart: (number, time) says that greater numbers were taken later. The floor of a
 * kind (rcu_path/lease.h) is the number of its oldest note that is young enough.
 *
 *   asked --ttl--> expired --stale_ms--> never an answer
 *   (believed)     (an answer while another thread asks for the new one)
 *
 * Never believed too long: time is CLOCK_BOOTTIME, which goes on while the machine
 * sleeps and is set by nobody. After a sleep hits may take a sixteenth of the
 * shortest time, a second at most, to notice it. Believed too short by up to an
 * eighth: a sixteenth since notes are so far apart, one since floors are made for
 * the end of the time they hold; and by two ticks of the kernel, since hits read
 * the clock that moves with these.
 *
 * Context: change lock, unless they say otherwise.
 */
#ifndef PC_EXPIRY_H
#define PC_EXPIRY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lease.h"
#include "pathcache.h"

#define PC_NOTES_PART 16u /* notes are this part of ttl_ms apart */
#define PC_NOTES_MAX (PC_NOTES_PART + 2u)

/* When numbers were taken, as far back as anything is believed. */
struct pc_notes {
	uint64_t ttl_ms;  /* const */
	uint64_t step_ms; /* const */
	uint32_t n;
	struct {
		uint64_t stamp; /* greater ones were taken later */
		uint64_t ms;    /* pc_boot_ms() */
	} at[PC_NOTES_MAX];
};

struct pc_expiry {
	_Atomic(bool) on;  /* atomic; numbers are taken and noted; never off again */
	uint32_t stale_ms; /* const */
	uint64_t tick_ms;  /* const; so long floors hold */
	uint64_t late_ms;  /* const; so late the clock of hits may be */
	uint64_t ended;    /* numbers at or below are expired, however young */
	struct pc_notes notes[RP_LEASE_KINDS];
	struct pc_notes stale[RP_LEASE_KINDS]; /* of ttl_ms and stale_ms; empty without */
};

struct pathcache;

/* Context: open. */
void pc_expiry_init(struct pathcache *c, const struct pathcache_options *o);

/* CLOCK_BOOTTIME in milliseconds. Context: any. */
uint64_t pc_boot_ms(void);

/*
 * rp_tree_now(), for a question to be put to the backend; where anything expires, a
 * number that nobody else has, as nobody has the next, and *own is PC_A_OWN, else 0.
 * Context: no lock.
 */
uint64_t pc_expiry_ask(struct pathcache *c, uint32_t *own);

/* Something is kept that expires, which no pc_expiry_ask() was put for. */
void pc_expiry_note(struct pathcache *c);

/* Make floors anew that hold now. */
void pc_expiry_tick(struct pathcache *c);

/*
 * The same where they do not. Return: whether they hold now: not in a child process,
 * where nothing can be done. Context: locked: change lock, else not that.
 */
bool pc_expiry_refresh(struct pathcache *c, bool locked);

/* The floor of kind as of now. */
uint64_t pc_expiry_floor(struct pathcache *c, enum rp_lease_kind kind);

/* And as of stale_ms ago; UINT64_MAX without stale_ms. */
uint64_t pc_expiry_stale_floor(struct pathcache *c, enum rp_lease_kind kind);

/*
 * All that expires is expired now, also what is still being asked for and what
 * stale_ms would let pass. Context: no lock.
 */
void pc_expiry_end(struct pathcache *c);

/* Is d expired? False also of what does not expire. */
bool pc_expired(struct pathcache *c, const struct rp_dentry *d);

/* For how many more milliseconds d, RP_D_TTL, is believed. */
uint64_t pc_expiry_left(struct pathcache *c, const struct rp_dentry *d);

#endif
