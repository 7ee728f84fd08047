/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * flight: one backend call at a time for one question.
 *
 * The first thread to ask for (directory, name) leads; others wait for its
 * answer. A later lookup joins only a flight that began after the last
 * invalidation of any kind, so it never gets an answer older than its own call
 * allows. A leader that is cancelled hands over to a waiter; a waiter whose
 * patience ends asks for itself.
 *
 *   leading --answer--> done      (waiters copy it, the last one frees it)
 *      |
 *      +--cancelled--> orphan --a waiter--> leading
 *
 * Locks: flights.lock, never held over a backend call.
 */
#ifndef PC_FLIGHT_H
#define PC_FLIGHT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "name.h"

struct pathcache;
struct rp_node;

#define PC_FLIGHT_LANES 64u
#define PC_FLIGHT_OWN 4u /* places for flights that need no memory of their own */

enum pc_flight_state { PC_FLIGHT_LEADING, PC_FLIGHT_ORPHAN, PC_FLIGHT_DONE };

struct pc_flight {
	struct pc_flight *next;     /* flights.lock */
	const struct rp_node *dir;  /* const; held by everybody on board */
	uint64_t stamp;             /* flights.lock; from before the leader asked */
	enum pc_flight_state state; /* flights.lock */
	uint32_t aboard;            /* flights.lock; leader and waiters */
	/* the answer, once done */
	int err;
	bool shared;          /* waiters may have it */
	uint8_t lane;         /* const */
	uint8_t len;          /* const */
	struct rp_node *node; /* a reference of the flight's; NULL: absent or error */
	char name[RP_NAME_MAX];
};

struct pc_flights {
	pthread_mutex_t lock;
	pthread_cond_t done; /* any flight ended or lost its leader */
	struct pc_flight *lane[PC_FLIGHT_LANES];
	uint32_t n;              /* flights.lock; under way */
	struct pc_flight *spare; /* flights.lock; places of own that are free, by next */
	struct pc_flight own[PC_FLIGHT_OWN];
};

int pc_flights_init(struct pc_flights *f);
void pc_flights_fini(struct pc_flights *f);

enum pc_boarding {
	PC_LEAD,   /* *flight is the caller's to end, or NULL: lead alone */
	PC_SHARED, /* another's answer is in *err and *node (a reference, the caller's) */
};

/*
 * Lead, or wait for who leads.
 * Context: no locks; blocks; a cancellation point.
 */
enum pc_boarding pc_flight_board(struct pathcache *c, const struct rp_node *dir, const char *name,
                                 size_t len, struct pc_flight **flight, int *err,
                                 struct rp_node **node);

/* Does another thread ask for name in dir? Context: no locks. */
bool pc_flight_is_led(struct pathcache *c, const struct rp_node *dir, const char *name, size_t len);

/* The leader's answer. node: borrowed. flight may be NULL. */
void pc_flight_land(struct pathcache *c, struct pc_flight *flight, int err, bool shared,
                    struct rp_node *node);

/* The leader goes without an answer. */
void pc_flight_abandon(struct pathcache *c, struct pc_flight *flight);

#endif
