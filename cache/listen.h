/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * listen: the application's listener is told of changes, after the fact.
 *
 * Whoever has changed what lookups are answered by calls one of these, once the
 * lock is gone: then no later lookup can be answered by what was. Nothing but a
 * test of a pointer where nobody listens.
 *
 * Who holds a lock meanwhile calls pc_tell_hold() before he takes it: what is told
 * from then on, under any lock, waits for pc_tell_release().
 *
 * Context of all: no lock and no read section of the cache, but for that; nodes are
 * held, or kept by the change lock.
 */
#ifndef PC_LISTEN_H
#define PC_LISTEN_H

#include "cache.h"

/* Tell; kind and what goes with it are set. name need not end in a NUL where it is held. */
void pc_tell(struct pathcache *c, struct pathcache_change *change);

/* Pairs nest; one cache at a time. */
void pc_tell_hold(void);
void pc_tell_release(struct pathcache *c);

/* What name (NUL-terminated, unless it is held) means in dir, and with it attributes of both. */
static inline void pc_told_name(struct pathcache *c, struct rp_node *dir, const char *name,
                                size_t len)
{
	struct pathcache_change change = {
		.kind = PATHCACHE_CHANGE_NAME, .entry = pc_entry(dir), .name = name, .len = len};

	if (c->listener)
		pc_tell(c, &change);
}

/* Attributes of n, or a link's text. */
static inline void pc_told_object(struct pathcache *c, struct rp_node *n)
{
	struct pathcache_change change = {.kind = PATHCACHE_CHANGE_OBJECT, .entry = pc_entry(n)};

	if (c->listener)
		pc_tell(c, &change);
}

static inline void pc_told_all(struct pathcache *c)
{
	struct pathcache_change change = {.kind = PATHCACHE_CHANGE_ALL};

	if (c->listener)
		pc_tell(c, &change);
}

/* All at and below dir. */
static inline void pc_told_subtree(struct pathcache *c, struct rp_node *dir)
{
	struct pathcache_change change = {.kind = PATHCACHE_CHANGE_SUBTREE, .entry = pc_entry(dir)};

	if (dir == c->tree.root)
		pc_told_all(c);
	else if (c->listener)
		pc_tell(c, &change);
}

#endif
