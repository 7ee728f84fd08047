/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "object.h"

#include <string.h>

#include "bind.h"
#include "coherence.h"
#include "evict.h"
#include "fork.h"
#include "list.h"
#include "reclaim.h"
#include "store.h"

#define NODE_FLAGS 0xffffu /* of pc_answer.flags, those of a node */

/* What the cache adds to what the backend says of a node. */
#define ADDED_FLAGS (RP_N_OWN | RP_N_TTL)

static uint32_t ident_hash(uint64_t id, uint64_t gen, uint64_t domain)
{
	uint64_t h = (id ^ (gen * UINT64_C(0x9e3779b97f4a7c15)) ^ (domain << 17));

	h *= UINT64_C(0xff51afd7ed558ccd);
	return (uint32_t)(h >> 32);
}

static struct rp_node *node_of(struct rp_hlink *link)
{
	return (struct rp_node *)((char *)link - offsetof(struct rp_node, ident));
}

uint32_t pc_node_hash(const struct rp_hlink *link)
{
	const struct rp_node *n =
		(const struct rp_node *)((const char *)link - offsetof(struct rp_node, ident));

	return ident_hash(n->object_id, n->object_gen, n->domain);
}

bool pc_node_is_held(const struct pathcache *c, struct rp_hlink *link)
{
	struct rp_node *n = node_of(link);

	return lockref_count(&n->ref) > (n == c->tree.root) && !lockref_is_dead(&n->ref);
}

/* ---- making ------------------------------------------------------------- */

struct rp_text *pc_text_make(struct pathcache *c, const char *text, size_t len)
{
	struct rp_text *t = pc_alloc(c->mem, PC_MEM_NODE, sizeof(*t) + len);

	if (t) {
		t->len = (uint32_t)len;
		memcpy(t->bytes, text, len);
	}
	return t;
}

struct rp_node *pc_node_make(struct pathcache *c, struct pc_answer *a, uint32_t flags)
{
	uint32_t type = a->attr.mode & S_IFMT;
	struct rp_node *n = pc_alloc(c->mem, PC_MEM_NODE, rp_node_size(type));
	struct rp_text *text;

	if (!n)
		return NULL;
	lockref_init(&n->ref, LOCKREF_DOOM | 1);
	n->object_id = a->object_id;
	n->object_gen = a->object_gen;
	n->domain = a->domain;
	n->type = type;
	n->id = rp_tree_stamp(&c->tree);
	atomic_init(&n->flags, flags);
	if (rp_node_is_dir(n)) {
		rp_dirnode(n)->names_stamp = n->id;
		rp_dirnode(n)->list_in = pc_list_first(c);
		atomic_init(&rp_dirnode(n)->gen_checked,
		            atomic_load_explicit(&c->tree.subtree_stamp, memory_order_relaxed));
	}
	rp_node_attr_write(n, &a->attr, a->flags & NODE_FLAGS, n->id);
	if (S_ISLNK(n->type) && a->link_len) {
		text = pc_text_make(c, a->link, a->link_len);
		if (!text) {
			pc_free(c->mem, PC_MEM_NODE, n, rp_node_size(type));
			return NULL;
		}
		rp_node_set_text(n, text);
	}
	n->handle = a->handle;
	a->handle = NULL;
	pc_count_up(&c->nnodes);
	return n;
}

void pc_node_unmake(struct pathcache *c, struct rp_node *n, struct pc_answer *a)
{
	a->handle = n->handle;
	n->handle = NULL;
	pc_count_down(&c->nnodes);
	pc_node_free(c, n);
}

/* Let t grow where it wants to. */
static void table_feed(struct pathcache *c, struct rp_table *t)
{
	uint32_t n = rp_table_want(t);
	struct rp_buckets *array;

	if (rp_table_crowded(t))
		atomic_store_explicit(&c->crowded, true, memory_order_relaxed);
	if (!n || !pc_evict_room(c, rp_buckets_size(n)))
		return;
	array = pc_alloc(c->mem, PC_MEM_TABLE, rp_buckets_size(n));
	if (array)
		rp_table_grow(t, array, n);
}

static void table_take_old(struct pathcache *c, struct rp_table *t, int which)
{
	struct rp_buckets *old = rp_table_old(t);

	if (!old)
		return;
	c->retired.buckets[which] = old;
	pc_retire_bytes(c, rp_buckets_size(old->mask + 1));
}

void pc_table_grow(struct pathcache *c, struct rp_table *t, int which)
{
	table_take_old(c, t, which);
	table_feed(c, t);
}

/* ---- finding ------------------------------------------------------------ */

/* What an object never changes; a difference means that its identity was reused. */
static bool same_kind(const struct rp_node *n, const struct pc_answer *a)
{
	const struct rp_text *text = rp_node_text(n);

	if (n->type != (a->attr.mode & S_IFMT))
		return false;
	/* Where nobody tells of another text, and it does not come along, it is asked again. */
	if (text && !a->link_len && rp_node_flags(n) & RP_N_TTL)
		return false;
	return !text || !a->link_len ||
	       (text->len == a->link_len && memcmp(text->bytes, a->link, text->len) == 0);
}

struct rp_node *pc_node_known(struct pathcache *c, const struct pc_answer *a)
{
	const struct rp_buckets *b = rp_table_buckets(&c->objects);
	struct rp_hlink *l = rp_table_first(b, ident_hash(a->object_id, a->object_gen, a->domain));

	while (l && !pc_is_object(node_of(l), a))
		l = rp_table_next(b, l);
	return l ? node_of(l) : NULL;
}

/* The node of a, held; NULL when there is none. */
static struct rp_node *object_find(struct pathcache *c, const struct pc_answer *a)
{
	const struct rp_buckets *b = rp_table_buckets(&c->objects);
	uint32_t hash = ident_hash(a->object_id, a->object_gen, a->domain);

	for (struct rp_hlink *l = rp_table_first(b, hash); l; l = rp_table_next(b, l)) {
		struct rp_node *n = node_of(l);

		if (!pc_is_object(n, a))
			continue;
		if (!same_kind(n, a)) {
			pc_kill_link(c, n);
			return NULL;
		}
		/* Fails for one that its last put has killed and not yet unhashed. */
		if (lockref_get(&n->ref))
			return n;
	}
	return NULL;
}

struct rp_node *pc_node_find(struct pathcache *c, const struct pc_ident *ident)
{
	const struct rp_buckets *b;
	struct rp_node *found = NULL;
	struct rp_hlink *l;

	pthread_mutex_lock(&c->lock);
	b = rp_table_buckets(&c->objects);
	l = rp_table_first(b, ident_hash(ident->id, ident->gen, ident->domain));
	for (; l && !found; l = rp_table_next(b, l)) {
		struct rp_node *n = node_of(l);

		if (n->object_id == ident->id && n->object_gen == ident->gen &&
		    n->domain == ident->domain && rp_node_is_dir(n) && lockref_get(&n->ref))
			found = n;
	}
	pthread_mutex_unlock(&c->lock);
	return found;
}

struct rp_node *pc_node_twin(struct pathcache *c, struct rp_node *n)
{
	const struct rp_buckets *b = rp_table_buckets(&c->objects);
	struct rp_hlink *l;

	if (!(rp_node_flags(n) & RP_N_PRIVATE))
		return n;
	l = rp_table_first(b, ident_hash(n->object_id, n->object_gen, n->domain));
	for (; l; l = rp_table_next(b, l)) {
		struct rp_node *t = node_of(l);

		if (t->object_id == n->object_id && t->object_gen == n->object_gen &&
		    t->domain == n->domain && !lockref_is_dead(&t->ref))
			return t;
	}
	return n;
}

/* ---- attributes --------------------------------------------------------- */

static bool perm_differs(const struct rp_node *n, const struct pc_answer *a)
{
	struct rp_perm p = rp_node_perm(n);

	/* Of the mode no bits above these are kept, and none means anything. */
	return p.mode != (uint16_t)a->attr.mode || p.uid != a->attr.uid || p.gid != a->attr.gid ||
	       ((rp_node_flags(n) ^ a->flags) & NODE_FLAGS & ~ADDED_FLAGS) != 0;
}

/* Do attributes of n expire? dir: where it was found; NULL: by itself. */
static bool attr_leased(const struct pathcache *c, const struct rp_node *n,
                        const struct rp_node *dir, const struct pc_answer *a, uint64_t asked)
{
	const struct rp_dentry *d = dir ? NULL : rp_node_name(n);

	if (a->flags & RP_N_UNTOLD)
		return true;
	if (c->coherence == PATHCACHE_COHERENCE_EVENTS) {
		/* What changes in it changes its times, which only its own watch tells. */
		if (rp_node_is_dir(n))
			return pc_is_leased_since(c, n, asked);
		/* Events are told by name, and it has others. */
		if (a->attr.nlink > 1)
			return true;
	}
	if (d && d->dir)
		dir = d->dir;
	return dir ? pc_is_leased_since(c, dir, asked) : pc_is_leased(c, n);
}

/* Attributes of n as asked. */
static void attr_write(struct pathcache *c, struct rp_node *n, const struct rp_node *dir,
                       const struct pc_answer *a, uint64_t asked)
{
	uint32_t flags = a->flags & NODE_FLAGS;
	uint64_t own = pc_own_number(a->flags, asked);
	bool leased = attr_leased(c, n, dir, a, asked);

	if (leased && !own)
		pc_expiry_note(c);
	rp_node_attr_write(n, &a->attr, flags | (leased ? RP_N_TTL : 0),
	                   leased && own ? own : rp_tree_stamp(&c->tree));
}

struct rp_node *pc_object_make(struct pathcache *c, const struct rp_node *dir, struct pc_answer *a,
                               uint64_t asked)
{
	struct rp_node *n = pc_node_make(c, a, 0);

	if (!n)
		return NULL;
	rp_table_insert(&c->objects, &n->ident, pc_node_hash(&n->ident));
	pc_table_grow(c, &c->objects, 1);
	/* Not seen by anybody yet. */
	if (attr_leased(c, n, dir, a, asked))
		attr_write(c, n, dir, a, asked);
	return n;
}

static bool attr_differs(const struct rp_node *n, const struct pc_answer *a)
{
	struct rp_attr old;
	uint32_t flags;

	return rp_node_attr_read(n, 0, &old, &flags) && memcmp(&old, &a->attr, sizeof(old)) != 0;
}

/* Caller holds n. dir: where it was found; NULL: by itself. */
static bool attr_put(struct pathcache *c, struct rp_node *n, const struct rp_node *dir,
                     const struct pc_answer *a, uint64_t asked)
{
	uint64_t own = pc_own_number(a->flags, asked);
	struct rp_dentry *place = NULL;
	bool loose = true;

	if (rp_node_attr_stamp(n) > asked && !PC_STALE_OMITTED(PC_STALE_OMIT_ATTR))
		return rp_node_attr_valid(n, 0);
	c->noticed |= c->listener && attr_differs(n, a);
	if (rp_node_is_dir(n) && perm_differs(n, a)) {
		/* Walks judged by the old mode must find themselves invalid first. */
		place = pc_place_leave(c, n, &loose);
	} else if (S_ISLNK(n->type) && rp_node_perm(n).uid != a->attr.uid) {
		/* And those that followed it as somebody else's. */
		pc_kill_names(c, n);
	}
	attr_write(c, n, dir, a, asked);
	if (place)
		pc_place_take(c, n, place, loose, own ? own + 1 : 0);
	if (rp_node_is_dir(n) && !pc_list_allowed(c, n))
		pc_list_end(c, n);
	return true;
}

bool pc_attr_put(struct pathcache *c, struct rp_node *n, const struct pc_answer *a, uint64_t asked)
{
	return attr_put(c, n, NULL, a, asked);
}

struct rp_node *pc_object_get(struct pathcache *c, const struct rp_node *dir, struct pc_answer *a,
                              uint64_t asked, bool *good, bool *made)
{
	uint64_t inval = atomic_load_explicit(&c->inval_stamp, memory_order_relaxed);
	struct rp_node *n = object_find(c, a);

	if (made)
		*made = !n;
	if (n) {
		*good = attr_put(c, n, dir, a, asked);
		return n;
	}
	if (!made)
		return NULL;
	n = pc_object_make(c, dir, a, asked);
	/* A node that knew of the change may have died since, so any may have been its. */
	*good = inval <= asked || PC_STALE_OMITTED(PC_STALE_OMIT_OBJECT);
	if (n && !*good)
		rp_node_attr_drop(n, inval);
	return n;
}

/* ---- the end ------------------------------------------------------------ */

/* Take a living node out of the table of objects; it is found by identity no more. */
static void node_unhash(struct pathcache *c, struct rp_node *n)
{
	if (rp_node_flags(n) & RP_N_PRIVATE)
		return;
	if (rp_node_is_dir(n))
		pc_list_end(c, n);
	rp_table_remove(&c->objects, &n->ident, pc_node_hash(&n->ident));
	atomic_fetch_or_explicit(&n->flags, RP_N_PRIVATE, memory_order_relaxed);
	pc_count_up(&c->nprivate);
}

void pc_object_disown(struct pathcache *c, struct rp_node *n, struct pc_answer *a)
{
	node_unhash(c, n);
	a->handle = n->handle;
	n->handle = NULL;
}

static struct rp_node *hint_dir(const struct rp_node *n)
{
	const struct rp_dentry *d = rp_node_name_or_hint(n);

	return d ? d->dir : NULL;
}

/*
 * Do the hints of n lead back to it through nothing but buried directories? It
 * was moved below one that was below it; each would wait for the other's end.
 */
static bool hints_ring(const struct rp_node *n)
{
	const struct rp_node *up = hint_dir(n);

	while (up && up != n && rp_node_flags(up) & RP_N_BURIED)
		up = hint_dir(up);
	return up == n;
}

void pc_node_dead(struct pathcache *c, struct rp_node *n)
{
	struct rp_dentry *d = rp_node_name(n);

	pc_dirfds_forget(&c->dirfds, n);
	pc_events_forget(c, n);
	if (rp_node_flags(n) & RP_N_PRIVATE)
		pc_count_down(&c->nprivate);
	else
		rp_table_remove(&c->objects, &n->ident, pc_node_hash(&n->ident));
	if (d)
		rp_tree_kill(&c->tree, d);
	if (rp_node_is_dir(n) && rp_dirnode(n)->nchild) {
		/* Children still tell by its hint where they were last seen. */
		atomic_fetch_or_explicit(&n->flags, RP_N_BURIED | RP_N_PRIVATE,
		                         memory_order_relaxed);
		c->sweep.needed = true;
		d = hints_ring(n) ? rp_tree_take_hint(n) : NULL;
		if (d)
			pc_retire_dentry(c, d);
		return;
	}
	d = rp_tree_take_hint(n);
	if (d)
		pc_retire_dentry(c, d);
	pc_retire_node(c, n);
}

/*
 * The caller killed a private node: no reader can have found it, so it needs no
 * grace period. Return: its directory, whose reference is the caller's to put.
 */
static struct rp_node *private_free(struct pathcache *c, struct rp_node *n, struct rp_dentry *d)
{
	struct rp_node *dir = d->dir;

	pc_dirfds_forget(&c->dirfds, n);
	pc_count_down(&c->nprivate);
	pc_count_down(&c->nnodes);
	pc_dentry_unmake(c, d);
	pc_node_free(c, n);
	return dir;
}

/* Context: no lock. */
static struct rp_node *node_bury(struct pathcache *c, struct rp_node *n)
{
	struct rp_dentry *d = rp_node_name(n);

	if (pc_is_child())
		return NULL; /* its memory stays */
	if (d && d->slot == RP_SLOT_NONE)
		return private_free(c, n, d);
	pthread_mutex_lock(&c->lock);
	pc_node_dead(c, n);
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

void pc_node_put(struct pathcache *c, struct rp_node *n)
{
	/* Its locked counts spin: for ever, where the holder is not in this process. */
	if (c->mode == RP_MODE_LOCKED && pc_is_child())
		return;
	while (n) {
		bool killed;

		pc_read_begin();
		killed = rp_node_put_rcu(n, c->mode == RP_MODE_LOCKED);
		pc_read_end();
		if (!killed)
			return;
		n = node_bury(c, n);
	}
}

void pc_node_killed(struct pathcache *c, struct rp_node *n)
{
	n = node_bury(c, n);
	if (n)
		pc_node_put(c, n);
}

void pc_kill_link(struct pathcache *c, struct rp_node *n)
{
	pc_kill_names(c, n);
	if (!lockref_is_dead(&n->ref))
		node_unhash(c, n);
}
