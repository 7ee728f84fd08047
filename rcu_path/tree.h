/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * tree: what walks read and changes write, with the order between them.
 *
 * A change runs under the owner's change lock and kills before it publishes:
 *
 *   rp_tree_kill()     unhash; leave the node's names; slot to free; epoch + 1
 *   rp_tree_publish()  id; slot; hash; join the node's names
 *
 * A walk remembers the epoch, then (slot, id) of all it goes through. At its end
 * an unmoved epoch, or else a vector of slots that all still hold their ids,
 * proves that all of it was true at one instant (E1, E2 in docs/memory-model.md).
 * What is only forgotten, to make room, moves the epoch and leaves changes: who
 * relies on it for the length of one walk may.
 *
 * Stamps: one counter gives ids to dentries and nodes and numbers to changes.
 * "Known since" and "changed at" compare as numbers: a directory whose gen is
 * above a child's id has a stale child; a fill that began at a stamp below its
 * directory's names_stamp was overtaken by a change.
 */
#ifndef RP_TREE_H
#define RP_TREE_H

#include "dentry.h"
#include "lease.h"
#include "name.h"
#include "node.h"
#include "slot.h"
#include "table.h"

struct rp_tree {
	/* Read by every walk. */
	struct rp_table dentries;            /* see table.h */
	struct rp_slots slots;               /* see slot.h */
	struct rp_node *root;                /* const */
	struct rp_secret secret;             /* const */
	bool protected_symlinks;             /* const; sysctl fs.protected_symlinks */
	alignas(64) _Atomic(uint64_t) epoch; /* atomic; kills so far */
	_Atomic(uint64_t) changes;           /* atomic; of these, those of what is untrue now */
	_Atomic(uint64_t) subtree_stamp;     /* atomic; last time a node's gen was raised */
	_Atomic(uint64_t) loose_stamp;       /* atomic; last change of a name no dentry had */
	_Atomic(uint64_t) nlistings;         /* atomic; directories whose names are all known */
	struct rp_lease lease;               /* see lease.h */
	/* Written by every change. */
	alignas(64) _Atomic(uint64_t) stamp; /* atomic; last number given out */
};

/* secret is to be filled by the caller. root: a directory, not yet bound. */
void rp_tree_init(struct rp_tree *t, struct rp_buckets *array, uint32_t n, struct rp_node *root);

/* The current stamp: what is learned after this call is newer. Context: any. */
static inline uint64_t rp_tree_now(const struct rp_tree *t)
{
	/*
	 * acquire [F1]: the backend is asked after this load, so a change
	 * announced before the stamp it returns is seen. Pairs with rp_tree_stamp().
	 */
	return atomic_load_explicit(&t->stamp, memory_order_acquire);
}

/*
 * The dentry of (dir, name), or NULL: live under the change lock; for a walk
 * under RCU, to be validated.
 */
static inline __attribute__((always_inline)) struct rp_dentry *
rp_tree_find_in(const struct rp_tree *t, const struct rp_buckets *b, const struct rp_node *dir,
                const char *name, size_t len)
{
	uint32_t hash = rp_name_hash(&t->secret, dir, name, len);

	for (struct rp_hlink *l = rp_table_first(b, hash); l; l = rp_table_next(b, l)) {
		struct rp_dentry *d = rp_dentry_of(l);

		if (d->hash == hash && d->dir == dir && d->len == len &&
		    rp_name_equal(d->name, name, len))
			return d;
	}
	return NULL;
}

static inline struct rp_dentry *rp_tree_find(const struct rp_tree *t, const struct rp_node *dir,
                                             const char *name, size_t len)
{
	return rp_tree_find_in(t, rp_table_buckets(&t->dentries), dir, name, len);
}

/* All below: context: change lock. */

uint64_t rp_tree_stamp(struct rp_tree *t);

/*
 * Publish d: dir, node, flags, len and name are set, and a slot is to be had
 * (rp_slots_want() is 0). Return: the node's hint, now the caller's, or NULL.
 */
struct rp_dentry *rp_tree_publish(struct rp_tree *t, struct rp_dentry *d);

/*
 * The same under id, a stamp that is nobody else's, and above that of the last
 * change d is not to be believed after.
 */
struct rp_dentry *rp_tree_publish_as(struct rp_tree *t, struct rp_dentry *d, uint64_t id);

/*
 * Kill d. Return: true when its node has no name any more: d then stays as the
 * node's hint. In any other case d is the caller's to retire.
 */
bool rp_tree_kill(struct rp_tree *t, struct rp_dentry *d);

/*
 * The same of some that are still true, to be followed by one rp_tree_forgot()
 * before the lock is let go or anything is published: a slot given out again
 * while the epoch stands still would make a memo of its last owner good.
 */
bool rp_tree_forget(struct rp_tree *t, struct rp_dentry *d);
void rp_tree_forgot(struct rp_tree *t);

/* Make d, loose, the one name of a private node. Never killed, so never checked. */
void rp_tree_set_private(struct rp_tree *t, struct rp_dentry *d);

/* Take the hint away from a node. Return: it, or NULL when it has none. */
struct rp_dentry *rp_tree_take_hint(struct rp_node *n);

/* A name changed that is in no table: it may be that of a node without one here. */
void rp_tree_loose_changed(struct rp_tree *t, uint64_t stamp);

/* All that was learned below dir before now is stale. */
void rp_tree_raise_gen(struct rp_tree *t, struct rp_node *dir);

/*
 * The stamp that what is known of n must not be older than: gen of n, or of the
 * directory the name of a file hangs in, brought up to date with the directories
 * above. What n's place cannot tell is taken as stale.
 */
uint64_t rp_tree_gen(struct rp_tree *t, struct rp_node *n);

/*
 * Would a change announced by name find d? Not a loose one, nor one in a
 * directory that died since: the same object is another node now.
 */
static inline bool rp_tree_anchored(const struct rp_tree *t, const struct rp_dentry *d)
{
	return !(d->flags & RP_D_LOOSE) && (d->dir == t->root || rp_node_name(d->dir));
}

/*
 * May a binding of dir that is not anchored be believed? Not while its attributes
 * are unknown: it may only keep the place of what is below. Context: any.
 */
static inline bool rp_tree_loose_good(const struct rp_tree *t, const struct rp_node *dir,
                                      const struct rp_dentry *d)
{
	return rp_node_attr_valid(dir, 0) &&
	       d->id > atomic_load_explicit(&t->loose_stamp, memory_order_relaxed);
}

/* Does gen of dir account for all that is above it? Context: any, dir is held. */
static inline bool rp_tree_gen_known(const struct rp_tree *t, const struct rp_node *dir)
{
	const struct rp_dirnode *d = rp_dirnode_const(dir);

	/* acquire [G1]: gen beside it. Pairs with rp_tree_gen(). */
	return dir == t->root ||
	       atomic_load_explicit(&d->gen_checked, memory_order_acquire) >=
	               atomic_load_explicit(&t->subtree_stamp, memory_order_relaxed);
}

/*
 * The directory whose gen counts for n: n itself, or where the name of a file
 * hangs; NULL where none may be believed. Context: read section or change lock,
 * unless n is a directory.
 */
static inline struct rp_node *rp_tree_gen_dir(struct rp_node *n)
{
	const struct rp_dentry *d;

	if (rp_node_is_dir(n))
		return n;
	d = rp_node_name(n);
	return d && !(d->flags & RP_D_LOOSE) ? d->dir : NULL;
}

/* Are n's attributes younger than any such change? Then its place does not matter. */
static inline bool rp_tree_attr_young(const struct rp_tree *t, const struct rp_node *n)
{
	return rp_node_attr_valid(n, atomic_load_explicit(&t->subtree_stamp, memory_order_relaxed));
}

/*
 * The stamp that attributes of n must not be older than, as rp_tree_gen() would
 * say. A directory that is not up to date counts as stale. Context: read section.
 */
static inline uint64_t rp_tree_attr_gen(const struct rp_tree *t, struct rp_node *n)
{
	const struct rp_node *dir = rp_tree_attr_young(t, n) ? NULL : rp_tree_gen_dir(n);

	if (!dir || !rp_tree_gen_known(t, dir))
		return atomic_load_explicit(&t->subtree_stamp, memory_order_relaxed);
	return rp_dirnode_gen(dir);
}

/* Flags a dentry of node in dir gets now. dir: NULL where unknown. */
uint16_t rp_dentry_flags_of(const struct rp_node *node, const struct rp_node *dir);

#endif
