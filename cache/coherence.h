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

#include "evict.h"

/* Is what is learned of dir now to expire? */
static inline bool pc_is_leased(const struct pathcache *c, const struct rp_node *dir)
{
	uint32_t flags = rp_node_flags(dir);

	if (c->coherence == PATHCACHE_COHERENCE_TTL || flags & RP_N_UNTOLD)
		return true;
	return c->coherence == PATHCACHE_COHERENCE_EVENTS && !(flags & RP_N_WATCHED);
}

/*
 * Is what was asked of dir at asked, and is stored now, to expire? Also where it
 * became watched, or was changed, in between. Context: change lock.
 */
static inline bool pc_is_leased_since(const struct pathcache *c, const struct rp_node *dir,
                                      uint64_t asked)
{
	return pc_is_leased(c, dir) || (c->coherence == PATHCACHE_COHERENCE_EVENTS &&
	                                rp_dirnode_const(dir)->names_stamp > asked);
}

/* May the kernel be asked to tell of changes in dir? */
static inline bool pc_may_arm(const struct rp_node *dir)
{
	return !(rp_node_flags(dir) &
	         (RP_N_WATCHED | RP_N_UNTOLD | RP_N_PRIVATE | RP_N_KERNEL | RP_N_NO_CHILDREN));
}

/*
 * The backend is going to be asked about dir, held, or about names in it: arm it
 * before the number is taken that the answer will be judged by. dir: NULL where it
 * has no place. Context: no lock, no read section; may block.
 */
static inline void pc_arm(struct pathcache *c, struct rp_node *dir)
{
	if (c->coherence == PATHCACHE_COHERENCE_EVENTS && dir && pc_may_arm(dir) && pc_budget(c))
		pc_events_arm(c, dir);
}

/* The same, and that number, of what does not expire. */
static inline uint64_t pc_asked(struct pathcache *c, struct rp_node *dir)
{
	pc_arm(c, dir);
	return rp_tree_now(&c->tree);
}

#endif
