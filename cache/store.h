/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * store: which answers of the backend are kept, and as what.
 *
 * pc_store_*() take the change lock themselves; their asked is rp_tree_now() from
 * before the backend was. All others want it held unless they say otherwise.
 */
#ifndef PC_STORE_H
#define PC_STORE_H

#include "bind.h"
#include "cache.h"
#include "object.h"

/* Negative controls: what does not keep an answer that a change overtook from being kept. */
#define PC_STALE_OMIT_NAME 1u    /* a name announced in the directory */
#define PC_STALE_OMIT_SUBTREE 2u /* a subtree announced */
#define PC_STALE_OMIT_LOOSE 4u   /* a name announced that was not in memory */
#define PC_STALE_OMIT_ATTR 8u    /* an object announced, whose node is there */
#define PC_STALE_OMIT_OBJECT 16u /* ... and whose node has died since */
#if PC_TESTING
extern _Atomic(uint32_t) pc_stale_test_omit;
#define PC_STALE_OMITTED(what) \
	(atomic_load_explicit(&pc_stale_test_omit, memory_order_relaxed) & (what))
#else
#define PC_STALE_OMITTED(what) (0u & (what))
#endif

/* What a fill gives back: a held node and the binding that was published. */
struct pc_found {
	struct rp_node *node; /* a reference, the receiver's; NULL: absent */
	uint64_t id;
	uint32_t slot; /* RP_SLOT_NONE: no binding to check */
	bool kept;     /* a walk may find it in the table */
	bool renamed;  /* the name meant something else in memory, to be told when all is done */
	bool changed;  /* the same of attributes of node */
	bool list;     /* so many names were absent that all should be known: pc_list_learn() */
};

/*
 * Publish the backend's answer about (dir, name). a: NULL for an absent name,
 * of which absent_flags (PC_A_*) tell more. Where a->handle is not NULL
 * afterwards it was not taken over and is the caller's to release.
 * Return: 0 and *out, whether or not it could be kept; -ENOMEM.
 */
int pc_store_name(struct pathcache *c, struct rp_node *dir, const char *name, size_t len,
                  struct pc_answer *a, uint32_t absent_flags, uint64_t asked, struct pc_found *out);

/*
 * The same for an object whose name is not known: what the kernel resolved, or
 * the directory above below, which is held.
 */
int pc_store_object(struct pathcache *c, struct rp_node *below, struct pc_answer *a, uint64_t asked,
                    struct pc_found *out);

/*
 * Attributes of node as asked. Return: whether they are in memory now; when
 * not, a change overtook them.
 */
bool pc_store_attr(struct pathcache *c, struct rp_node *node, const struct pc_answer *a,
                   uint64_t asked);

/* Text of a symlink that had none: a node's text never changes. Return: 0; -ENOMEM. */
int pc_store_text(struct pathcache *c, struct rp_node *node, const char *text, size_t len);

/* Whether node has an ACL, as asked. */
void pc_store_acl(struct pathcache *c, struct rp_node *node, bool acl, uint64_t asked);

/*
 * Attributes of a directory without a believable binding, and a loose binding.
 * Return: 0; -EAGAIN: a change overtook the answer; -ENOMEM.
 */
int pc_store_start(struct pathcache *c, struct rp_node *dir, const struct pc_answer *a,
                   uint64_t asked);

/*
 * All names of dir, held: n entries (struct rp_listed) of bytes in all, as asked.
 * Kept where nothing overtook them and the budget allows it.
 */
void pc_store_listing(struct pathcache *c, struct rp_node *dir, const void *entries, size_t bytes,
                      uint32_t n, uint64_t asked);

/*
 * Bring up to date what n's attributes are judged by; locks only where it is not. n is held.
 * Return: 0; -ECHILD.
 */
int pc_gen_update(struct pathcache *c, struct rp_node *n);

/* Is dir's binding to be believed, once what lies above it is taken into account? */
bool pc_start_known(struct pathcache *c, struct rp_node *dir);

/*
 * Keep what (dir, name) means, which is certain and not an answer that a change may
 * have overtaken. a: as of pc_store_name(). Return: the node, a reference, whether
 * or not it is kept; NULL: absent, or not kept.
 */
struct rp_node *pc_keep_name(struct pathcache *c, struct rp_node *dir, const char *name, size_t len,
                             struct pc_answer *a);

/* The root, with the cache's own reference; NULL without memory. Context: open. */
struct rp_node *pc_store_root(struct pathcache *c, struct pc_answer *a);

/* ---- what events say; invalidate.c; context: change lock, read section ----- */

/* What name means in dir has changed. */
void pc_seen_name(struct pathcache *c, struct rp_node *dir, const char *name, size_t len);

/* Attributes of what name means in dir have. */
void pc_seen_attr(struct pathcache *c, struct rp_node *dir, const char *name, size_t len);

/* Those of n have, by which name it may be. */
void pc_seen_object(struct pathcache *c, struct rp_node *n);

/* Those of the object a have, which has names of its own elsewhere. Return: its node; NULL. */
struct rp_node *pc_seen_linked(struct pathcache *c, const struct pc_answer *a);

/* dir has another name, or is in another directory. */
void pc_seen_moved(struct pathcache *c, struct rp_node *dir);

/* Anything below dir may have changed. */
void pc_seen_below(struct pathcache *c, struct rp_node *dir);

/* Anything has, maybe. Context: takes the lock. */
void pc_seen_all(struct pathcache *c);

#endif
