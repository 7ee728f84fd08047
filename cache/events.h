/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * events: what the kernel tells of a real tree, brought into the cache
 * (PATHCACHE_COHERENCE_EVENTS).
 *
 * A directory is armed before anything is asked about it, so that whatever
 * changes after the question has an event. That event is an invalidation, which
 * overtakes the answer should it not be there yet (names_stamp, attr_state):
 *
 *   arm -> asked = now -> the backend answers -> kept if nothing came since asked
 *             change -> event queued -> read -> dropped, stamp above asked
 *
 * Arming and its end move names_stamp as well. So an answer that is kept was
 * asked for, and stored, while the directory was one and the same, watched or not;
 * the flag RP_N_WATCHED at the time of storing tells which (coherence.h).
 *
 *            arm           drain           overflow        node dies
 *  arm       arm lock      at once         arm lock        change lock
 *  drain                   drain lock      (part of it)    change lock
 *
 * drain is held from before read(2) until what was read is in the cache: who gets
 * it next, and finds the queue empty, knows that all of it is.
 *
 * After an overflow anything may have changed: all is stale, no directory is
 * watched, the instance is closed, and a new one is opened only after a time that
 * doubles while that goes on. Until then directories expire, as they do where the
 * kernel has no room for one more watch.
 */
#ifndef PC_EVENTS_H
#define PC_EVENTS_H

#include <pthread.h>

#include "watch.h"

struct pathcache_options;

/* A time to leave something alone, longer each time it fails again. */
struct pc_rest {
	_Atomic(uint64_t) until; /* atomic; ms, 0: none. arm to write */
	uint64_t ms;             /* arm; how long the last one was */
};

struct pc_events {
	struct pc_watches watches; /* change lock */
	struct pc_source source;
	pthread_mutex_t drain; /* see above; taken before arm */
	pthread_mutex_t arm;   /* taken before the change lock */
	_Atomic(bool) up;      /* atomic; the source is open */
	struct pc_rest closed; /* after an overflow */
	struct pc_rest full;   /* after a limit of the kernel's */
	uint64_t opened_ms;    /* drain */
};

/* Context: open, close. pc_events_init() before anything of it is used, whatever the mode. */
void pc_events_init(struct pathcache *c);
void pc_events_fini(struct pathcache *c);

/*
 * Choose a source, open it, arm the root. Return: 0, also where no source is to be
 * had now, or none can be trusted, but for one that was asked for by name: -errno.
 * Context: open.
 */
int pc_events_open(struct pathcache *c, const struct pathcache_options *o);

/* See pc_asked(); dir is held. Context: no lock, no read section; may block. */
void pc_events_arm(struct pathcache *c, struct rp_node *dir);

/*
 * Read and apply events, some most of them. Return: whether more are left.
 * Context: no lock; may block.
 */
bool pc_events_drain(struct pathcache *c, uint32_t most);

/* All that was queued before the call. Context: as pc_events_drain(). */
void pc_events_sync(struct pathcache *c);

/* enum pathcache_source; 0: closed, or none. Context: any. */
uint32_t pc_events_source(const struct pathcache *c);

/* node died. Context: change lock. */
void pc_events_forget(struct pathcache *c, const struct rp_node *node);

#endif
