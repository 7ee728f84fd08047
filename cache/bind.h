/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * bind: dentries, made, published and killed together with their memory.
 *
 * Context: the change lock is held, unless it says otherwise. own, where there is
 * one: the number of the question that the binding is the answer to, or 0.
 */
#ifndef PC_BIND_H
#define PC_BIND_H

#include "cache.h"

/* Room for one more slot. must: whatever the budget says; a root without a binding is of no use. */
bool pc_slots_feed(struct pathcache *c, enum rp_slot_class cls, bool must);

/* A dentry that nobody sees yet. Return: NULL without memory. */
struct rp_dentry *pc_dentry_make(struct pathcache *c, struct rp_node *dir, const char *name,
                                 size_t len, struct rp_node *node, unsigned flags);

/* One that nobody has seen goes. */
void pc_dentry_unmake(struct pathcache *c, struct rp_dentry *d);

/* Publish d, made and not yet seen; the node may be held and nameless. */
void pc_dentry_publish(struct pathcache *c, struct rp_dentry *d, uint64_t own);

/* May one more name of node be kept in dir? Makes room. */
bool pc_may_bind(struct pathcache *c, const struct rp_node *dir, size_t len,
                 const struct rp_node *node);

/* Bind (dir, name) to node, held, or to nothing. Return: the dentry, NULL without memory. */
struct rp_dentry *pc_bind_name(struct pathcache *c, struct rp_node *dir, const char *name,
                               size_t len, struct rp_node *node, uint64_t own);

/*
 * Bind a directory whose place is not known, the old one's kept as a hint, or
 * else seen; a private one, which has a name of its own, under a new id.
 * Return: 0; -ENOMEM.
 */
int pc_bind_loose(struct pathcache *c, struct rp_node *dir, const struct rp_dentry *seen,
                  uint64_t own);

/*
 * dir's binding is not to be believed any more, its attributes being dropped. It
 * becomes a loose one, so that the directory is found by its identity when its name
 * is asked for, with all that is below, and goes as others do when it is not. Killed
 * where its identity may be another's by then.
 */
void pc_loosen(struct pathcache *c, struct rp_node *dir);

/*
 * The binding of a directory goes and leaves a place for pc_place_take() to bind it
 * in again, before the lock is let go: meanwhile its node has no name and is not
 * doomed. *loose: to be bound loosely, as its name may not be true. Return: the
 * hint that tells the place; NULL: there is none, the binding has been killed.
 */
struct rp_dentry *pc_place_leave(struct pathcache *c, struct rp_node *n, bool *loose);

/* Without memory the node goes, and what is below with it. */
void pc_place_take(struct pathcache *c, struct rp_node *n, const struct rp_dentry *place,
                   bool loose, uint64_t own);

/* Kill a dentry and retire what goes with it. */
void pc_kill(struct pathcache *c, struct rp_dentry *d);

/* The same of what is still true; see rp_tree_forget(). */
void pc_forget(struct pathcache *c, struct rp_dentry *d);

/* Kill all names of node. */
void pc_kill_names(struct pathcache *c, struct rp_node *node);

/*
 * The backend did not find node by its names: kill them, and those of the
 * directories above it up to one whose descriptor is open, which was found.
 * Context: takes the lock.
 */
void pc_kill_way(struct pathcache *c, struct rp_node *node);

#endif
