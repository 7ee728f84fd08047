/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * list: directories whose names are all known.
 *
 * A listing says that no other name is there, so it is kept only where the
 * application has promised to announce every change (complete_max), and ends
 * with the first word of any: a name announced, an answer that contradicts it, a
 * directory of which absent names may not be kept any more. That its children
 * are evicted means nothing to it.
 *
 *   read by the backend, stamp before -> kept under the change lock if nothing
 *   was announced since -> found by walks where a name has no binding -> killed
 *
 * Read when the application lists the directory to its end, or when so many
 * absent names were asked for in it that listing it has cost little against
 * that: first after a few, then in proportion to its names.
 */
#ifndef PC_LIST_H
#define PC_LIST_H

#include "coherence.h"
#include "store.h"

#define PC_LIST_FIRST 8u  /* absent names that have a directory listed */
#define PC_LIST_AGAIN 32u /* and once more, at least */

#if PC_TESTING
/* Negative controls: what does not end a listing, or keep one from being kept. */
#define PC_LIST_OMIT_NAME 1u  /* a name announced */
#define PC_LIST_OMIT_STAMP 2u /* a change announced while it was read */
extern _Atomic(uint32_t) pc_list_test_omit;
#define PC_LIST_OMITTED(what) \
	(atomic_load_explicit(&pc_list_test_omit, memory_order_relaxed) & (what))
#else
#define PC_LIST_OMITTED(what) false
#endif

/* list_in of a new directory. */
static inline uint16_t pc_list_first(const struct pathcache *c)
{
	return c->complete_max ? PC_LIST_FIRST : 0;
}

/* May all names of dir be kept? Not where nobody tells that there is another. */
static inline bool pc_list_allowed(const struct pathcache *c, const struct rp_node *dir)
{
	return !pc_is_leased(c, dir) && !(rp_node_flags(dir) & (RP_N_PRIVATE | RP_N_NO_CHILDREN |
	                                                        RP_N_NO_NEGATIVE | RP_N_KERNEL));
}

/* All below: context: change lock. */

/* One more name was absent in dir. Return: is it time to list dir? To one caller at a time. */
static inline bool pc_list_due(struct rp_node *dir)
{
	struct rp_dirnode *d = rp_dirnode(dir);

	if (!d->list_in || --d->list_in)
		return false;
	d->list_in = PC_LIST_AGAIN;
	return true;
}

/* Not all names of dir are known any more. */
void pc_list_end(struct pathcache *c, struct rp_node *dir);

/* name is there, or absent, the backend says: it must be so in the listing of dir too. */
void pc_list_refute(struct pathcache *c, struct rp_node *dir, const char *name, size_t len,
                    bool there);

/* All below: context: no lock, no read section; dir is held; may block. */

/* See pathcache_readdir(). */
int pc_list(struct pathcache *c, struct rp_node *dir, uint64_t cookie, pathcache_dirent_fn fn,
            void *arg);

/* Have all names of dir kept. Takes over the reference to it. */
void pc_list_learn(struct pathcache *c, struct rp_node *dir);

#endif
