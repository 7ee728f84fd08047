/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * object: nodes, and the table that finds them by identity; how they come to be,
 * what is known of them, and how they end. What ends goes to reclaim.c.
 *
 * Context: the change lock is held, unless it says otherwise; asked is rp_tree_now()
 * from before the backend was.
 */
#ifndef PC_OBJECT_H
#define PC_OBJECT_H

#include "cache.h"

/* ---- references; context: no lock, no read section needed --------------- */

static inline void pc_node_hold(struct rp_node *n)
{
	lockref_get_held(&n->ref);
}

void pc_node_put(struct pathcache *c, struct rp_node *n);

/* The caller's put, in its read section, killed n. */
void pc_node_killed(struct pathcache *c, struct rp_node *n);

/* ---- found by identity -------------------------------------------------- */

/* Does a tell of n's object? */
static inline bool pc_is_object(const struct rp_node *n, const struct pc_answer *a)
{
	return n->object_id == a->object_id && n->object_gen == a->object_gen &&
	       n->domain == a->domain;
}

/* Hash of the table of objects. */
uint32_t pc_node_hash(const struct rp_hlink *link);

/* Does anybody but the cache hold the node of this link of the objects' table? */
bool pc_node_is_held(const struct pathcache *c, struct rp_hlink *link);

/* The node in the tables that stands for the object a; NULL. Not held, dying maybe. */
struct rp_node *pc_node_known(struct pathcache *c, const struct pc_answer *a);

struct pc_ident;

/* The directory of that identity, held; NULL: none is in memory. Context: no lock. */
struct rp_node *pc_node_find(struct pathcache *c, const struct pc_ident *ident);

/*
 * The node in the tables that stands for the same object as n, a private one;
 * n itself where there is none, or n is in the tables. Not held.
 */
struct rp_node *pc_node_twin(struct pathcache *c, struct rp_node *n);

/* ---- made --------------------------------------------------------------- */

/* Let t grow where it wants to, and retire what it has grown out of; which: 0 dentries, 1 objects. */
void pc_table_grow(struct pathcache *c, struct rp_table *t, int which);

/* Return: NULL without memory. */
struct rp_text *pc_text_make(struct pathcache *c, const char *text, size_t len);

/* A node for a, with one reference and no name yet; takes a's handle. */
struct rp_node *pc_node_make(struct pathcache *c, struct pc_answer *a, uint32_t flags);

/* n, in no table yet and seen by nobody, gives its handle back. */
void pc_node_unmake(struct pathcache *c, struct rp_node *n, struct pc_answer *a);

/* A node for a, in the table, with attributes as of asked. dir: where it was found, or NULL. */
struct rp_node *pc_object_make(struct pathcache *c, const struct rp_node *dir, struct pc_answer *a,
                               uint64_t asked);

/*
 * The node of a, held, known or new, with attributes as of asked. *good: they
 * are to be believed; when not, a change overtook them. *made: it took a's handle;
 * NULL: a new one is not wanted. dir: where it was found, or NULL.
 */
struct rp_node *pc_object_get(struct pathcache *c, const struct rp_node *dir, struct pc_answer *a,
                              uint64_t asked, bool *good, bool *made);

/* n, just made from a, is not kept: it gives the handle back and is found by nobody. */
void pc_object_disown(struct pathcache *c, struct rp_node *n, struct pc_answer *a);

/* ---- attributes --------------------------------------------------------- */

/* The number of the question with this answer, where no other has it; else 0. */
static inline uint64_t pc_own_number(uint32_t answer_flags, uint64_t asked)
{
	return answer_flags & PC_A_OWN ? asked : 0;
}

/*
 * Attributes of n, held, as asked. Return: as pc_store_attr(). c->noticed is set where
 * one listens and they were believed to be others.
 */
bool pc_attr_put(struct pathcache *c, struct rp_node *n, const struct pc_answer *a, uint64_t asked);

/* ---- ended -------------------------------------------------------------- */

/*
 * n is not what it was: a link that may have another text, which a node never
 * has, or an identity used again. Kill its names, and let the object be another
 * node when it is found again. n's memory is kept by
 * a reference or a read section.
 */
void pc_kill_link(struct pathcache *c, struct rp_node *n);

/* The caller killed node, which was in the tables. Its loose binding and its hint go with it. */
void pc_node_dead(struct pathcache *c, struct rp_node *n);

#endif
