/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bind.h"

#include <errno.h>
#include <string.h>

#include "coherence.h"
#include "evict.h"
#include "list.h"
#include "listen.h"
#include "object.h"
#include "posix.h"
#include "reclaim.h"

/* ---- making ------------------------------------------------------------- */

bool pc_slots_feed(struct pathcache *c, enum rp_slot_class cls, bool must)
{
	size_t size = rp_slots_want(&c->tree.slots, cls);
	void *chunk;

	if (!size)
		return true;
	if (!must && !pc_evict_room(c, size))
		return false;
	chunk = pc_alloc(c->mem, PC_MEM_TABLE, size);
	if (chunk)
		rp_slots_add(&c->tree.slots, chunk);
	return chunk != NULL;
}

/* Does a binding of node, or of an absent name, in dir expire? dir: NULL where unknown. */
static bool name_leased(const struct pathcache *c, const struct rp_node *dir,
                        const struct rp_node *node)
{
	/* A walk judges a directory by its binding, so that expires with its attributes. */
	if (node && rp_node_is_dir(node) && rp_node_flags(node) & RP_N_UNTOLD)
		return true;
	return pc_is_leased(c, dir ? dir : node);
}

struct rp_dentry *pc_dentry_make(struct pathcache *c, struct rp_node *dir, const char *name,
                                 size_t len, struct rp_node *node, unsigned flags)
{
	struct rp_dentry *d =
		pc_alloc(c->mem, node ? PC_MEM_DENTRY : PC_MEM_NEGATIVE, rp_dentry_size(len));

	if (!d)
		return NULL;
	d->dir = dir;
	d->node = node;
	d->len = (uint8_t)len;
	memcpy(d->name, name, len);
	if (name_leased(c, flags & RP_D_LOOSE ? NULL : dir, node))
		flags |= RP_D_TTL;
	d->flags = (uint16_t)(flags | (node ? rp_dentry_flags_of(node, dir) : 0));
	pc_dentry_count(c, d);
	return d;
}

void pc_dentry_unmake(struct pathcache *c, struct rp_dentry *d)
{
	pc_dentry_uncount(c, d);
	pc_free(c->mem, pc_dentry_class(d), d, rp_dentry_bytes(d));
}

void pc_dentry_publish(struct pathcache *c, struct rp_dentry *d, uint64_t own)
{
	struct rp_dentry *hint;

	if (d->flags & RP_D_TTL && !own)
		pc_expiry_note(c);
	pc_ages_note(&c->ages, rp_tree_now(&c->tree), pc_now_ms());
	hint = rp_tree_publish_as(&c->tree, d,
	                          d->flags & RP_D_TTL && own ? own : rp_tree_stamp(&c->tree));
	if (d->dir)
		rp_dirnode(d->dir)->nchild++;
	if (rp_dentry_is_negative(d))
		rp_dirnode(d->dir)->nnegative++;
	if (!(d->flags & RP_D_LOOSE))
		pc_evict_recall(c, d);
	if (hint)
		pc_retire_dentry(c, hint);
	if (d->node && !(d->flags & RP_D_LOOSE))
		lockref_undoom(&d->node->ref);
	pc_table_grow(c, &c->tree.dentries, 0);
}

/* ---- killing ------------------------------------------------------------ */

/* d was taken out of reach; nameless: it was its node's last name. */
static void dentry_dead(struct pathcache *c, struct rp_dentry *d, bool nameless)
{
	if (rp_dentry_is_negative(d))
		rp_dirnode(d->dir)->nnegative--;
	if (!nameless)
		pc_retire_dentry(c, d);
	else if (lockref_doom(&d->node->ref))
		pc_node_dead(c, d->node);
}

void pc_kill(struct pathcache *c, struct rp_dentry *d)
{
	dentry_dead(c, d, rp_tree_kill(&c->tree, d));
}

void pc_forget(struct pathcache *c, struct rp_dentry *d)
{
	dentry_dead(c, d, rp_tree_forget(&c->tree, d));
}

void pc_kill_names(struct pathcache *c, struct rp_node *node)
{
	struct rp_dentry *d;
	bool more = true;

	/* The last kill may free the node's memory for retiring, so look before. */
	while (more && (d = rp_node_name(node)) != NULL && d->slot != RP_SLOT_NONE) {
		more = d->next != NULL;
		pc_kill(c, d);
	}
}

void pc_kill_way(struct pathcache *c, struct rp_node *node)
{
	struct rp_node *const lost = node;
	struct rp_dentry *d;

	pc_read_begin(); /* keeps the memory of what dies on the way up */
	pthread_mutex_lock(&c->lock);
	do {
		d = rp_node_name(node);
		pc_kill_names(c, node);
		node = d ? d->dir : NULL;
	} while (c->dirfds.max && node && node != c->tree.root && !pc_dirfds_has(&c->dirfds, node));
	pthread_mutex_unlock(&c->lock);
	pc_read_end();
	if (rp_node_is_dir(lost))
		pc_told_subtree(c, lost);
	else
		pc_told_object(c, lost);
}

/* ---- binding ------------------------------------------------------------ */

/*
 * May what is below n stay when n's binding is to go? Not where n may be another
 * object by the time its name is asked for: one without a birth time or generation.
 */
static bool keeps_children(const struct pathcache *c, const struct rp_node *n)
{
	return n != c->tree.root && !(rp_node_flags(n) & (RP_N_PRIVATE | RP_N_ID_BY_NAME)) &&
	       (n->object_gen || c->backend == &pc_backend_app);
}

struct rp_dentry *pc_place_leave(struct pathcache *c, struct rp_node *n, bool *loose)
{
	struct rp_dentry *d = rp_node_name(n);

	if (!d || d->slot == RP_SLOT_NONE)
		return NULL;
	if (!keeps_children(c, n) || (d->dir && lockref_is_dead(&d->dir->ref))) {
		pc_kill(c, d);
		return NULL;
	}
	/* A new id must not make of a stale name, or one that expires, a fresh one. */
	*loose = d->flags & RP_D_LOOSE || d->id < rp_tree_gen(&c->tree, d->dir) ||
	         pc_is_leased(c, d->dir);
	/* While its place still tells what is stale below. */
	rp_tree_gen(&c->tree, n);
	rp_tree_kill(&c->tree, d);
	return d;
}

void pc_place_take(struct pathcache *c, struct rp_node *n, const struct rp_dentry *place,
                   bool loose, uint64_t own)
{
	struct rp_dentry *d = NULL;

	/* Nothing is evicted for it: that might be the directory itself, or its place. */
	if (pc_evict_fits(c, pc_mem_cost(c->mem, rp_dentry_size(place->len))))
		d = pc_dentry_make(c, place->dir, place->name, place->len, n,
		                   loose ? RP_D_LOOSE : 0);
	if (d) {
		/* There is a slot: that which its place has left. */
		pc_dentry_publish(c, d, own);
		return;
	}
	if (lockref_doom(&n->ref))
		pc_node_dead(c, n);
}

void pc_loosen(struct pathcache *c, struct rp_node *dir)
{
	bool loose;
	const struct rp_dentry *d, *place = pc_place_leave(c, dir, &loose);

	if (!place)
		return;
	pc_place_take(c, dir, place, true, 0);
	d = rp_node_name(dir);
	if (d && d->dir)
		rp_slot_protect(&c->tree.slots, d->slot, false);
}

/*
 * d, which expires, is asked about anew and goes; same: what takes its place says the
 * same. It was true until then, so walks that have come through it may go on.
 */
static void renew_begin(struct pathcache *c, struct rp_dentry *d, bool same)
{
	if (pc_expired(c, d)) {
		pc_count(c, PC_EXPIRED);
		if (same)
			pc_count(c, PC_REVALIDATED);
	}
	if (!same) {
		pc_kill(c, d);
		return;
	}
	if (d->flags & RP_D_LOOSE)
		/* Not doomed, where it waits for its name unheld; it stays as the hint. */
		rp_tree_forget(&c->tree, d);
	else
		pc_forget(c, d);
	rp_tree_forgot(&c->tree);
}

/* Is d as good as a new binding of the same to the same? */
static bool still_serves(struct pathcache *c, const struct rp_dentry *d)
{
	return d->id > atomic_load_explicit(&c->tree.subtree_stamp, memory_order_relaxed) &&
	       !(d->flags & RP_D_TTL) == !name_leased(c, d->dir, d->node) && !pc_expired(c, d);
}

bool pc_may_bind(struct pathcache *c, const struct rp_node *dir, size_t len,
                 const struct rp_node *node)
{
	return !(rp_node_flags(node) & (RP_N_PRIVATE | RP_N_ID_BY_NAME)) &&
	       !(rp_node_flags(dir) & (RP_N_PRIVATE | RP_N_NO_CHILDREN)) &&
	       pc_evict_room(c, pc_mem_cost(c->mem, rp_dentry_size(len)));
}

struct rp_dentry *pc_bind_name(struct pathcache *c, struct rp_node *dir, const char *name,
                               size_t len, struct rp_node *node, uint64_t own)
{
	struct rp_dentry *old = rp_tree_find(&c->tree, dir, name, len);
	struct rp_dentry *d, *other;

	pc_list_refute(c, dir, name, len, node != NULL);
	if (old && old->node == node && still_serves(c, old))
		return old;
	if (node && rp_node_is_dir(node))
		/* While its place above still tells what is stale below. */
		rp_tree_gen(&c->tree, node);
	if (old && old->flags & RP_D_TTL)
		renew_begin(c, old, old->node == node);
	else if (old)
		pc_kill(c, old);
	other = node && rp_node_is_dir(node) ? rp_node_name(node) : NULL;
	if (other)
		pc_kill(c, other); /* a directory has one name: it was moved */
	d = pc_dentry_make(c, dir, name, len, node, 0);
	if (d && pc_slots_feed(c, rp_dentry_class(d), false)) {
		pc_dentry_publish(c, d, own);
		return d;
	}
	if (d)
		pc_dentry_unmake(c, d);
	return NULL;
}

int pc_bind_loose(struct pathcache *c, struct rp_node *dir, const struct rp_dentry *seen,
                  uint64_t own)
{
	struct rp_dentry *old = rp_node_name_or_hint(dir);
	unsigned flags = RP_D_LOOSE;
	struct rp_dentry *d;

	/* What was asked before events of it began to come expires. */
	if (own && pc_is_leased_since(c, dir, own))
		flags |= RP_D_TTL;
	if (old)
		seen = old;
	d = seen ? pc_dentry_make(c, seen->dir, seen->name, seen->len, dir, flags)
	         : pc_dentry_make(c, NULL, "", 0, dir, flags);
	if (!d)
		return -ENOMEM;
	if (old && old->slot == RP_SLOT_NONE) {
		rp_tree_set_private(&c->tree, d);
		pc_retire_dentry(c, old);
		return 0;
	}
	if (!pc_slots_feed(c, rp_dentry_class(d), true)) {
		pc_dentry_unmake(c, d);
		return -ENOMEM;
	}
	old = rp_node_name(dir);
	if (old && old->flags & RP_D_TTL)
		renew_begin(c, old, true);
	else if (old && old->flags & RP_D_LOOSE)
		/* Not doomed, where it waits for its name unheld. */
		rp_tree_kill(&c->tree, old);
	else if (old)
		pc_kill(c, old);
	pc_dentry_publish(c, d, own);
	return 0;
}
