/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * All dentries, by their slots: a dentry keeps its slot for as long as it lives,
 * so a position in the slots outlasts all changes between two batches.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fork.h"
#include "listing.h"
#include "store.h"

/* How much is done at once with changes held off. */
#define BATCH_DENTRIES 64u
#define BATCH_SLOTS 1024u

struct told {
	struct pathcache_dentry d;
	char name[RP_NAME_MAX + 1];
};

struct batch {
	uint32_t slot; /* the next to look at */
	uint32_t n;
	struct told told[BATCH_DENTRIES];
};

/* Has what is above d made it stale? */
static bool is_stale(struct pathcache *c, const struct rp_dentry *d)
{
	if (d->flags & RP_D_LOOSE)
		return d->node != c->tree.root && !rp_tree_loose_good(&c->tree, d->node, d);
	return lockref_is_dead(&d->dir->ref) || d->id < rp_tree_gen(&c->tree, d->dir);
}

static void tell_object(struct pathcache *c, struct pathcache_dentry *t, struct rp_node *n)
{
	const struct rp_text *text = rp_node_text(n);

	t->object = n->id;
	t->ino = n->object_id;
	t->type = n->type;
	if (pc_node_is_held(c, &n->ident))
		t->references = lockref_count(&n->ref) - (n == c->tree.root);
	t->object_bytes = pc_mem_cost(c->mem, rp_node_size(n->type));
	if (text)
		t->object_bytes += pc_mem_cost(c->mem, sizeof(*text) + text->len);
	if (t->references)
		t->flags |= PATHCACHE_DENTRY_HELD;
	if (rp_node_flags(n) & RP_N_USED)
		t->flags |= PATHCACHE_DENTRY_USED;
}

static void tell(struct pathcache *c, struct told *t, const struct rp_dentry *d, uint64_t now)
{
	memset(&t->d, 0, sizeof(t->d));
	memcpy(t->name, d->name, d->len);
	t->name[d->len] = '\0';
	t->d.size = sizeof(t->d);
	t->d.name = t->name;
	t->d.len = d->len;
	t->d.id = d->id;
	t->d.dir = d->dir ? d->dir->id : 0;
	t->d.age_ms = pc_ages_of(&c->ages, d->id, now);
	t->d.bytes = pc_mem_cost(c->mem, rp_dentry_bytes(d));
	if (rp_dentry_is_listing(d))
		t->d.flags |= PATHCACHE_DENTRY_LISTING;
	else if (d->node)
		tell_object(c, &t->d, d->node);
	else
		t->d.flags |= PATHCACHE_DENTRY_NEGATIVE;
	if (atomic_load_explicit(&d->used, memory_order_relaxed))
		t->d.flags |= PATHCACHE_DENTRY_USED;
	if (d->flags & RP_D_LOOSE)
		t->d.flags |= PATHCACHE_DENTRY_LOOSE;
	if (is_stale(c, d))
		t->d.flags |= PATHCACHE_DENTRY_STALE;
}

/* Return: whether there are slots left. */
static bool batch_take(struct pathcache *c, struct batch *b)
{
	const struct rp_slots *slots = &c->tree.slots;
	uint32_t end;
	uint64_t now;
	bool more;

	b->n = 0;
	pthread_mutex_lock(&c->lock);
	/* No earlier: ids noted meanwhile would be of a time to come. */
	now = pc_now_ms();
	end = rp_slots_end(slots);
	more = end - b->slot > BATCH_SLOTS;
	if (more)
		end = b->slot + BATCH_SLOTS;
	for (; b->slot < end && b->n < BATCH_DENTRIES; b->slot++) {
		const struct rp_dentry *d = rp_owner_dentry(*rp_slot_owner(slots, b->slot));

		if (d)
			tell(c, &b->told[b->n++], d, now);
	}
	pthread_mutex_unlock(&c->lock);
	return more || b->slot < end;
}

static void dump_all(struct pathcache *c, struct batch *b, pathcache_dump_fn fn, void *arg)
{
	bool more = true;

	for (b->slot = 1; more;) {
		more = batch_take(c, b);
		for (uint32_t i = 0; i < b->n; i++)
			if (fn(arg, &b->told[i].d))
				return;
	}
}

int pathcache_dump(struct pathcache *cache, pathcache_dump_fn fn, void *arg)
{
	struct batch *b;

	if (!cache || !fn)
		return -EINVAL;
	if (pc_is_child())
		return -ECHILD;
	b = malloc(sizeof(*b));
	if (!b)
		return -ENOMEM;
	pthread_cleanup_push(free, b);
	dump_all(cache, b, fn, arg);
	pthread_cleanup_pop(1);
	return 0;
}
