/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * watch: which directories in memory the kernel tells of, by node and by the
 * source's key. A watch belongs to an object: names and paths mean nothing to it.
 *
 *           arm                   the last node dies            disarm
 *   (none) ----> of a node (LIVE) -----------------> ORPHAN ----------------> CLOSING
 *                     ^                                 |                        |
 *                     +---- the same key is armed ------+      its last event ---+--> freed
 *
 * An orphan is told to the kernel later, since nodes die under the change lock. A
 * closing one still has events queued, and the number of its watch may be given
 * out again before they are read: the last event of the key then ends the old one
 * and not the new.
 *
 * Context of all: change lock.
 */
#ifndef PC_WATCH_H
#define PC_WATCH_H

#include <stdatomic.h>

#include "source.h"

struct pathcache;
struct rp_node;

enum pc_watch_state { PC_WATCH_LIVE, PC_WATCH_ORPHAN, PC_WATCH_CLOSING };

struct pc_watch {
	struct pc_watch *by_key;  /* chain */
	struct pc_watch *by_node; /* chain of LIVE ones; of orphans */
	struct rp_node *node;     /* LIVE: whose, alive */
	uint64_t round;           /* see pc_watch_next() */
	enum pc_watch_state state;
	uint32_t hash; /* of key */
	uint32_t len;
	unsigned char key[];
};

struct pc_watches {
	struct pc_watch **by_key;
	struct pc_watch **by_node;
	struct pc_watch *orphans;
	uint32_t mask;              /* const after open */
	uint32_t max;               /* const after open; of n */
	_Atomic(uint64_t) n;        /* atomic; LIVE and ORPHAN: what the kernel counts */
	_Atomic(uint64_t) norphans; /* atomic */
	uint64_t rounds;
};

/* Return: 0; -ENOMEM. Context of both: open, close. */
int pc_watches_init(struct pathcache *c, uint32_t max);
void pc_watches_fini(struct pathcache *c);

/*
 * node's directory is armed by key. Return: 0; -ENOSPC: max_watches or the memory's
 * bound; -ENOMEM; -ESTALE: it left the tables meanwhile.
 */
int pc_watch_add(struct pathcache *c, struct rp_node *node, const struct pc_key *key);

/* key was armed for nothing: to be disarmed unless others have it. */
void pc_watch_unused(struct pathcache *c, const struct pc_key *key);

/*
 * One after another the LIVE watches of key, whatever becomes of others between two
 * calls; round: pc_watch_round() before the first. Return: NULL at the end.
 */
static inline uint64_t pc_watch_round(struct pc_watches *w)
{
	return ++w->rounds;
}

struct pc_watch *pc_watch_next(struct pc_watches *w, const struct pc_key *key, uint64_t round);

/* Any LIVE one whose key begins with prefix; NULL. */
struct pc_watch *pc_watch_like(const struct pc_watches *w, const void *prefix, uint32_t len);

/* Nobody tells of w's node any more. closing: the last event of the key is still to come. */
void pc_watch_drop(struct pathcache *c, struct pc_watch *w, bool closing);

/*
 * The last event of key was read. Return: whether that was to be expected; if not,
 * the LIVE ones of it are lost.
 */
bool pc_watch_ended(struct pathcache *c, const struct pc_key *key);

/* node died: its watch is an orphan, or free. */
void pc_watch_forget(struct pathcache *c, const struct rp_node *node);

/* An orphan to be disarmed, CLOSING from here on. Return: false: there is none. */
bool pc_watch_take_orphan(struct pathcache *c, struct pc_key *key);

/* Free up to n of all. Return: whether there are more. */
bool pc_watches_clear(struct pathcache *c, uint32_t n);

#endif
