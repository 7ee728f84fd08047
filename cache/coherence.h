/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * coherence: until when what is known of a directory is believed.
 *
 *   mode of the cache  a directory's names and what they lead to
 *   EXCLUSIVE          until announced; expire where the backend says so (UNTOLD)
 *   EVENTS             until an event tells (WATCHED), else expire
 *   TTL                expire
 *   NONE               the budget is 0: nothing is kept
 */
#ifndef PC_COHERENCE_H
#define PC_COHERENCE_H

#include "cache.h"

/* Is what is learned of dir now to expire? */
static inline bool pc_is_leased(const struct pathcache *c, const struct rp_node *dir)
{
	uint32_t flags = rp_node_flags(dir);

	if (c->coherence == PATHCACHE_COHERENCE_TTL || flags & RP_N_UNTOLD)
		return true;
	return c->coherence == PATHCACHE_COHERENCE_EVENTS && !(flags & RP_N_WATCHED);
}

#endif
