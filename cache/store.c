/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store.h"

#include <errno.h>
#include <string.h>

#include "coherence.h"
#include "evict.h"
#include "fork.h"
#include "list.h"
#include "listen.h"
#include "posix.h"
#include "reclaim.h"

#define NODE_FLAGS 0xffffu /* of pc_answer.flags, those of a node */

#if PC_TESTING
_Atomic(uint32_t) pc_stale_test_omit;
#endif

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

/* The caller killed node, which was in the tables. Its loose binding and its hint go with it. */
static void node_dead(struct pathcache *c, struct rp_node *n)
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

static void dentry_unmake(struct pathcache *c, struct rp_dentry *d)
{
	pc_dentry_uncount(c, d);
	pc_free(c->mem, pc_dentry_class(d), d, rp_dentry_bytes(d));
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
	dentry_unmake(c, d);
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
	node_dead(c, n);
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

/* d was taken out of reach; nameless: it was its node's last name. */
static void dentry_dead(struct pathcache *c, struct rp_dentry *d, bool nameless)
{
	if (rp_dentry_is_negative(d))
		rp_dirnode(d->dir)->nnegative--;
	if (!nameless)
		pc_retire_dentry(c, d);
	else if (lockref_doom(&d->node->ref))
		node_dead(c, d->node);
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

void pc_kill_link(struct pathcache *c, struct rp_node *n)
{
	pc_kill_names(c, n);
	if (!lockref_is_dead(&n->ref))
		node_unhash(c, n);
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

/* ---- making ------------------------------------------------------------- */

/* Let both tables grow, and the slots, where they want to. */
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

/* must: whatever the budget says; a root without a binding is of no use. */
static bool slots_feed(struct pathcache *c, enum rp_slot_class cls, bool must)
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

static struct rp_text *text_make(struct pathcache *c, const char *text, size_t len)
{
	struct rp_text *t = pc_alloc(c->mem, PC_MEM_NODE, sizeof(*t) + len);

	if (t) {
		t->len = (uint32_t)len;
		memcpy(t->bytes, text, len);
	}
	return t;
}

/* A node for a, with one reference and no name yet; takes a's handle. */
static struct rp_node *node_make(struct pathcache *c, struct pc_answer *a, uint32_t flags)
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
		text = text_make(c, a->link, a->link_len);
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

/* n, in no table yet and seen by nobody, gives its handle back. */
static void node_unmake(struct pathcache *c, struct rp_node *n, struct pc_answer *a)
{
	a->handle = n->handle;
	n->handle = NULL;
	pc_count_down(&c->nnodes);
	pc_node_free(c, n);
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

static struct rp_dentry *dentry_make(struct pathcache *c, struct rp_node *dir, const char *name,
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

/*
 * Publish d, made and not yet seen; the node may be held and nameless. own: the
 * number of the question d is the answer to, if it has one, or 0.
 */
static void dentry_publish(struct pathcache *c, struct rp_dentry *d, uint64_t own)
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
	table_take_old(c, &c->tree.dentries, 0);
	table_feed(c, &c->tree.dentries);
}

/* ---- objects ------------------------------------------------------------ */

static bool same_object(const struct rp_node *n, const struct pc_answer *a)
{
	return n->object_id == a->object_id && n->object_gen == a->object_gen &&
	       n->domain == a->domain;
}

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

	while (l && !same_object(node_of(l), a))
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

		if (!same_object(n, a))
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

static struct rp_node *object_make(struct pathcache *c, struct pc_answer *a)
{
	struct rp_node *n = node_make(c, a, 0);

	if (!n)
		return NULL;
	rp_table_insert(&c->objects, &n->ident, pc_node_hash(&n->ident));
	table_take_old(c, &c->objects, 1);
	table_feed(c, &c->objects);
	return n;
}

static bool perm_differs(const struct rp_node *n, const struct pc_answer *a)
{
	struct rp_perm p = rp_node_perm(n);

	/* Of the mode no bits above these are kept, and none means anything. */
	return p.mode != (uint16_t)a->attr.mode || p.uid != a->attr.uid || p.gid != a->attr.gid ||
	       ((rp_node_flags(n) ^ a->flags) & NODE_FLAGS & ~ADDED_FLAGS) != 0;
}

/* The number of the question with this answer, where no other has it; else 0. */
static uint64_t own_number(uint32_t answer_flags, uint64_t asked)
{
	return answer_flags & PC_A_OWN ? asked : 0;
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
	uint64_t own = own_number(a->flags, asked);
	bool leased = attr_leased(c, n, dir, a, asked);

	if (leased && !own)
		pc_expiry_note(c);
	rp_node_attr_write(n, &a->attr, flags | (leased ? RP_N_TTL : 0),
	                   leased && own ? own : rp_tree_stamp(&c->tree));
}

/*
 * May what is below n stay when n's binding is to go? Not where n may be another
 * object by the time its name is asked for: one without a birth time or generation.
 */
static bool keeps_children(const struct pathcache *c, const struct rp_node *n)
{
	return n != c->tree.root && !(rp_node_flags(n) & (RP_N_PRIVATE | RP_N_ID_BY_NAME)) &&
	       (n->object_gen || c->backend == &pc_backend_app);
}

/*
 * The binding of a directory goes and leaves a place for place_take() to bind it
 * in again, before the lock is let go: meanwhile its node has no name and is not
 * doomed. *loose: to be bound loosely, as its name may not be true. Return: the
 * hint that tells the place; NULL: there is none, the binding has been killed.
 */
static struct rp_dentry *place_leave(struct pathcache *c, struct rp_node *n, bool *loose)
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

/* Without memory the node goes, and what is below with it. own: see dentry_publish(). */
static void place_take(struct pathcache *c, struct rp_node *n, const struct rp_dentry *place,
                       bool loose, uint64_t own)
{
	struct rp_dentry *d = NULL;

	/* Nothing is evicted for it: that might be the directory itself, or its place. */
	if (pc_evict_fits(c, pc_mem_cost(c->mem, rp_dentry_size(place->len))))
		d = dentry_make(c, place->dir, place->name, place->len, n, loose ? RP_D_LOOSE : 0);
	if (d) {
		/* There is a slot: that which its place has left. */
		dentry_publish(c, d, own);
		return;
	}
	if (lockref_doom(&n->ref))
		node_dead(c, n);
}

void pc_loosen(struct pathcache *c, struct rp_node *dir)
{
	bool loose;
	const struct rp_dentry *d, *place = place_leave(c, dir, &loose);

	if (!place)
		return;
	place_take(c, dir, place, true, 0);
	d = rp_node_name(dir);
	if (d && d->dir)
		rp_slot_protect(&c->tree.slots, d->slot, false);
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
	uint64_t own = own_number(a->flags, asked);
	struct rp_dentry *place = NULL;
	bool loose = true;

	if (rp_node_attr_stamp(n) > asked && !PC_STALE_OMITTED(PC_STALE_OMIT_ATTR))
		return rp_node_attr_valid(n, 0);
	c->noticed |= c->listener && attr_differs(n, a);
	if (rp_node_is_dir(n) && perm_differs(n, a)) {
		/* Walks judged by the old mode must find themselves invalid first. */
		place = place_leave(c, n, &loose);
	} else if (S_ISLNK(n->type) && rp_node_perm(n).uid != a->attr.uid) {
		/* And those that followed it as somebody else's. */
		pc_kill_names(c, n);
	}
	attr_write(c, n, dir, a, asked);
	if (place)
		place_take(c, n, place, loose, own ? own + 1 : 0);
	if (rp_node_is_dir(n) && !pc_list_allowed(c, n))
		pc_list_end(c, n);
	return true;
}

bool pc_attr_put(struct pathcache *c, struct rp_node *n, const struct pc_answer *a, uint64_t asked)
{
	return attr_put(c, n, NULL, a, asked);
}

/*
 * The node of a, held, known or new, with attributes as of asked. *good: they
 * are to be believed; when not, a change overtook them. *made: it took a's handle;
 * NULL: a new one is not wanted. dir: where it was found, or NULL.
 */
static struct rp_node *object_get(struct pathcache *c, const struct rp_node *dir,
                                  struct pc_answer *a, uint64_t asked, bool *good, bool *made)
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
	n = object_make(c, a);
	/* Not seen by anybody yet. */
	if (n && attr_leased(c, n, dir, a, asked))
		attr_write(c, n, dir, a, asked);
	/* A node that knew of the change may have died since, so any may have been its. */
	*good = inval <= asked || PC_STALE_OMITTED(PC_STALE_OMIT_OBJECT);
	if (n && !*good)
		rp_node_attr_drop(n, inval);
	return n;
}

/* n, just made from a, is not kept: it gives the handle back and is found by nobody. */
static void object_disown(struct pathcache *c, struct rp_node *n, struct pc_answer *a)
{
	node_unhash(c, n);
	a->handle = n->handle;
	n->handle = NULL;
}

/* ---- answers ------------------------------------------------------------ */

/* Was nothing announced since asked that the answer may be older than? */
static bool still_good(struct pathcache *c, const struct rp_node *dir, uint64_t asked)
{
	uint64_t loose = atomic_load_explicit(&c->tree.loose_stamp, memory_order_relaxed);
	uint64_t subtree = atomic_load_explicit(&c->tree.subtree_stamp, memory_order_relaxed);
	uint64_t names = dir ? rp_dirnode_const(dir)->names_stamp : loose;
	uint32_t names_omit = dir ? PC_STALE_OMIT_NAME : PC_STALE_OMIT_LOOSE;
	bool good = (subtree <= asked || PC_STALE_OMITTED(PC_STALE_OMIT_SUBTREE)) &&
	            (names <= asked || PC_STALE_OMITTED(names_omit));

	if (!good)
		pc_count(c, PC_STALE_FILLS);
	return good;
}

static bool may_keep(struct pathcache *c, const struct rp_node *dir, size_t len,
                     const struct pc_answer *a, uint32_t flags)
{
	size_t size = pc_mem_cost(c->mem, rp_dentry_size(len));

	if (a)
		size += pc_mem_cost(c->mem, rp_node_size(a->attr.mode & S_IFMT)) + a->link_len;
	if (flags & (PC_A_NO_CACHE | PC_A_PRIVATE))
		return false;
	if (dir && rp_node_flags(dir) & (RP_N_PRIVATE | RP_N_NO_CHILDREN))
		return false;
	if (!a && rp_node_flags(dir) & RP_N_NO_NEGATIVE)
		return false;
	return a ? pc_evict_room(c, size) : pc_evict_room_negative(c, dir, size);
}

bool pc_may_bind(struct pathcache *c, const struct rp_node *dir, size_t len,
                 const struct rp_node *node)
{
	return !(rp_node_flags(node) & (RP_N_PRIVATE | RP_N_ID_BY_NAME)) &&
	       !(rp_node_flags(dir) & (RP_N_PRIVATE | RP_N_NO_CHILDREN)) &&
	       pc_evict_room(c, pc_mem_cost(c->mem, rp_dentry_size(len)));
}

/* placed: dir and name are true, not only where it was last seen. */
static int store_private(struct pathcache *c, struct rp_node *dir, const char *name, size_t len,
                         bool placed, struct pc_answer *a, struct pc_found *out)
{
	struct rp_node *n = node_make(c, a, RP_N_PRIVATE);
	struct rp_dentry *d;

	if (!n)
		return -ENOMEM;
	d = dentry_make(c, dir, name, len, n, RP_D_LOOSE | (placed ? RP_D_PLACED : 0));
	if (!d) {
		node_unmake(c, n, a);
		return -ENOMEM;
	}
	if (dir)
		pc_node_hold(dir);
	rp_tree_set_private(&c->tree, d);
	pc_count_up(&c->nprivate);
	out->node = n;
	out->slot = RP_SLOT_NONE;
	out->id = 0;
	return 0;
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

/*
 * Bind (dir, name) to node, held, or to nothing; own: see dentry_publish(). Return:
 * the dentry, NULL without memory.
 */
static struct rp_dentry *bind_name(struct pathcache *c, struct rp_node *dir, const char *name,
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
	d = dentry_make(c, dir, name, len, node, 0);
	if (d && slots_feed(c, rp_dentry_class(d), false)) {
		dentry_publish(c, d, own);
		return d;
	}
	if (d)
		dentry_unmake(c, d);
	return NULL;
}

struct rp_dentry *pc_bind_name(struct pathcache *c, struct rp_node *dir, const char *name,
                               size_t len, struct rp_node *node)
{
	return bind_name(c, dir, name, len, node, 0);
}

/* own: see dentry_publish(). */
static bool store_kept(struct pathcache *c, struct rp_node *dir, const char *name, size_t len,
                       struct pc_answer *a, uint64_t asked, uint64_t own, struct pc_found *out)
{
	const struct rp_dentry *old = c->listener ? rp_tree_find(&c->tree, dir, name, len) : NULL;
	struct rp_node *node = NULL;
	struct rp_dentry *d;
	bool good = true, made = false;

	c->noticed = false;
	if (a) {
		node = object_get(c, dir, a, asked, &good, &made);
		out->node = node;
	}
	out->renamed = old && old->node != node;
	out->changed = c->noticed;
	/* A directory is searched, and a link followed, by what is stored, so that must be good. */
	if (a && (!node || (!good && (rp_node_is_dir(node) || S_ISLNK(node->type)))))
		d = NULL;
	else
		d = bind_name(c, dir, name, len, node, own);
	if (!d && node && made)
		object_disown(c, node, a);
	out->id = d ? d->id : 0;
	out->slot = d ? d->slot : RP_SLOT_NONE;
	out->kept = d != NULL;
	return out->kept;
}

struct rp_node *pc_keep_name(struct pathcache *c, struct rp_node *dir, const char *name, size_t len,
                             struct pc_answer *a)
{
	struct pc_found out = {.node = NULL};

	if (may_keep(c, dir, len, a, a ? a->flags : 0))
		store_kept(c, dir, name, len, a, rp_tree_now(&c->tree), 0, &out);
	return out.node;
}

/* Would what was asked then be believed after this call? */
static bool is_in_time(struct pathcache *c, const struct rp_node *dir, const struct pc_answer *a,
                       uint64_t asked)
{
	enum rp_lease_kind kind = RP_LEASE_ABSENT;

	if (a)
		kind = S_ISDIR(a->attr.mode) || S_ISLNK(a->attr.mode) ? RP_LEASE_WAY
		                                                      : RP_LEASE_NAME;
	if (!pc_is_leased(c, dir) && !(a && a->flags & RP_N_UNTOLD))
		return true;
	return asked > pc_expiry_floor(c, kind);
}

int pc_store_name(struct pathcache *c, struct rp_node *dir, const char *name, size_t len,
                  struct pc_answer *a, uint32_t absent_flags, uint64_t asked, struct pc_found *out)
{
	uint64_t own = own_number(a ? a->flags : absent_flags, asked);
	struct rp_node *drop = NULL;
	bool kept = false;
	int rc = 0;

	memset(out, 0, sizeof(*out));
	pthread_mutex_lock(&c->lock);
	if (still_good(c, dir, asked)) {
		kept = may_keep(c, dir, len, a, a ? a->flags : absent_flags) &&
		       is_in_time(c, dir, a, asked) &&
		       store_kept(c, dir, name, len, a, asked, own, out);
		pc_count(c, kept ? PC_FILLS : PC_UNCACHED);
	}
	out->list = kept && !a && pc_list_due(dir);
	if (!kept && a) {
		drop = out->node;
		rc = store_private(c, dir, name, len, true, a, out);
	}
	pthread_mutex_unlock(&c->lock);
	if (drop)
		pc_node_put(c, drop);
	return rc;
}

static void listing_publish(struct pathcache *c, struct rp_dentry *d)
{
	pc_list_end(c, d->dir);
	pc_dentry_count(c, d);
	pc_count(c, PC_LISTINGS);
	dentry_publish(c, d, 0);
}

void pc_store_listing(struct pathcache *c, struct rp_node *dir, const void *entries, size_t bytes,
                      uint32_t n, uint64_t asked)
{
	size_t size = rp_listing_size(n, bytes);
	struct rp_dentry *d = NULL;
	bool good;

	pthread_mutex_lock(&c->lock);
	good = size && pc_evict_room(c, pc_mem_cost(c->mem, size));
	if (good)
		pc_mem_count(c->mem, PC_MEM_LISTING, size);
	pthread_mutex_unlock(&c->lock);
	if (good)
		d = pc_alloc_counted(c->mem, PC_MEM_LISTING, size);
	if (!d)
		return;
	/* Nobody waits for this to be made. */
	good = rp_listing_init(d, &c->tree.secret, dir, entries, bytes, n);
	pthread_mutex_lock(&c->lock);
	good = good && (still_good(c, dir, asked) || PC_LIST_OMITTED(PC_LIST_OMIT_STAMP)) &&
	       pc_list_allowed(c, dir) && slots_feed(c, rp_dentry_class(d), false);
	if (good)
		listing_publish(c, d);
	pthread_mutex_unlock(&c->lock);
	if (!good)
		pc_free(c->mem, PC_MEM_LISTING, d, size);
}

/*
 * Where the directory a, which is above below, was last seen: a node of it that
 * died still says so. NULL: nobody knows.
 */
static const struct rp_dentry *parent_seen(const struct rp_node *below, const struct pc_answer *a)
{
	const struct rp_dentry *d = below ? rp_node_name_or_hint(below) : NULL;

	if (!d || !d->dir || !same_object(d->dir, a))
		return NULL;
	d = rp_node_name_or_hint(d->dir);
	/* A private one does not keep its directory for others. */
	return d && d->slot != RP_SLOT_NONE ? d : NULL;
}

/*
 * Bind a directory whose place is not known, the old one's kept as a hint, or
 * else seen; a private one, which has a name of its own, under a new id. own: see
 * dentry_publish().
 */
static int bind_loose(struct pathcache *c, struct rp_node *dir, const struct rp_dentry *seen,
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
	d = seen ? dentry_make(c, seen->dir, seen->name, seen->len, dir, flags)
	         : dentry_make(c, NULL, "", 0, dir, flags);
	if (!d)
		return -ENOMEM;
	if (old && old->slot == RP_SLOT_NONE) {
		rp_tree_set_private(&c->tree, d);
		pc_retire_dentry(c, old);
		return 0;
	}
	if (!slots_feed(c, rp_dentry_class(d), true)) {
		dentry_unmake(c, d);
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
	dentry_publish(c, d, own);
	return 0;
}

/*
 * A private one, that is found again where seen says, unless that is NULL or its
 * directory dead. *dir: a reference to that, the caller's to put without the lock.
 */
static int store_unplaced(struct pathcache *c, const struct rp_dentry *seen, struct pc_answer *a,
                          struct rp_node **dir, struct pc_found *out)
{
	if (!seen || !seen->dir || !lockref_get(&seen->dir->ref))
		return store_private(c, NULL, "", 0, false, a, out);
	*dir = seen->dir;
	return store_private(c, seen->dir, seen->name, seen->len, false, a, out);
}

int pc_store_object(struct pathcache *c, struct rp_node *below, struct pc_answer *a, uint64_t asked,
                    struct pc_found *out)
{
	struct rp_node *n = NULL, *drop = NULL, *dir = NULL;
	uint64_t own = own_number(a->flags, asked);
	bool good = true, made = false;
	int rc = 0;

	memset(out, 0, sizeof(*out));
	pthread_mutex_lock(&c->lock);
	if (still_good(c, NULL, asked) && !(a->flags & (PC_A_NO_CACHE | PC_A_PRIVATE)) &&
	    pc_budget(c)) {
		bool make = may_keep(c, NULL, 0, a, a->flags);

		/* One that is there takes no room. */
		n = object_get(c, NULL, a, asked, &good, make ? &made : NULL);
		if (n && good && rp_node_is_dir(n) &&
		    (!rp_node_name(n) || pc_expired(c, rp_node_name(n))))
			good = bind_loose(c, n, parent_seen(below, a), own) == 0;
	}
	if (n && !good) {
		if (made)
			object_disown(c, n, a);
		drop = n;
		n = NULL;
	}
	out->node = n;
	if (!n)
		rc = store_unplaced(c, parent_seen(below, a), a, &dir, out);
	pthread_mutex_unlock(&c->lock);
	if (drop)
		pc_node_put(c, drop);
	if (dir)
		pc_node_put(c, dir);
	return rc;
}

bool pc_store_attr(struct pathcache *c, struct rp_node *node, const struct pc_answer *a,
                   uint64_t asked)
{
	bool valid, noticed;

	pthread_mutex_lock(&c->lock);
	c->noticed = false;
	if (rp_node_flags(node) & RP_N_TTL &&
	    rp_node_attr_stamp(node) <= pc_expiry_floor(c, RP_LEASE_ATTR)) {
		pc_count(c, PC_EXPIRED);
		pc_count(c, PC_REVALIDATED);
	}
	valid = still_good(c, NULL, asked) && attr_put(c, node, NULL, a, asked);
	noticed = c->noticed;
	pthread_mutex_unlock(&c->lock);
	if (noticed)
		pc_told_object(c, node);
	return valid;
}

int pc_store_text(struct pathcache *c, struct rp_node *node, const char *text, size_t len)
{
	struct rp_text *t;

	pthread_mutex_lock(&c->lock);
	t = text_make(c, text, len);
	if (t && !rp_node_set_text(node, t))
		pc_free(c->mem, PC_MEM_NODE, t, sizeof(*t) + len);
	pthread_mutex_unlock(&c->lock);
	return t ? 0 : -ENOMEM;
}

/* Caller holds the lock. */
static bool start_known(struct pathcache *c, struct rp_node *dir)
{
	uint64_t gen = rp_tree_gen(&c->tree, dir);
	const struct rp_dentry *d = rp_node_name(dir);

	if (!d || d->id < gen || pc_expired(c, d))
		return false;
	if (dir == c->tree.root || rp_tree_anchored(&c->tree, d))
		return true;
	return d->slot != RP_SLOT_NONE && rp_tree_loose_good(&c->tree, dir, d);
}

int pc_gen_update(struct pathcache *c, struct rp_node *n)
{
	const struct rp_node *dir;
	bool known;

	if (rp_tree_attr_young(&c->tree, n))
		return 0;
	pc_read_begin(); /* keeps the name that tells dir */
	dir = rp_tree_gen_dir(n);
	known = !dir || rp_tree_gen_known(&c->tree, dir);
	pc_read_end();
	if (known)
		return 0;
	if (pc_is_child())
		return -ECHILD;
	pthread_mutex_lock(&c->lock);
	rp_tree_gen(&c->tree, n);
	pthread_mutex_unlock(&c->lock);
	return 0;
}

bool pc_start_known(struct pathcache *c, struct rp_node *dir)
{
	bool known;

	pthread_mutex_lock(&c->lock);
	known = start_known(c, dir);
	pthread_mutex_unlock(&c->lock);
	return known;
}

int pc_store_start(struct pathcache *c, struct rp_node *dir, const struct pc_answer *a,
                   uint64_t asked)
{
	bool noticed;
	int rc = 0;

	pthread_mutex_lock(&c->lock);
	c->noticed = false;
	if (!still_good(c, NULL, asked) || !attr_put(c, dir, NULL, a, asked))
		rc = -EAGAIN;
	else if (!start_known(c, dir))
		rc = bind_loose(c, dir, NULL, own_number(a->flags, asked));
	noticed = c->noticed;
	pthread_mutex_unlock(&c->lock);
	if (noticed)
		pc_told_object(c, dir);
	return rc;
}

void pc_store_acl(struct pathcache *c, struct rp_node *node, bool acl, uint64_t asked)
{
	pthread_mutex_lock(&c->lock);
	if (rp_node_attr_stamp(node) <= asked) {
		/* Set before clear: in between it is asked, never judged. */
		if (acl)
			atomic_fetch_or_explicit(&node->flags, RP_N_ACL, memory_order_relaxed);
		atomic_fetch_and_explicit(&node->flags, ~RP_N_ACL_UNKNOWN, memory_order_relaxed);
	}
	pthread_mutex_unlock(&c->lock);
}

struct rp_node *pc_store_root(struct pathcache *c, struct pc_answer *a)
{
	struct rp_node *n;

	pthread_mutex_lock(&c->lock);
	n = object_make(c, a);
	if (n && attr_leased(c, n, NULL, a, 0))
		attr_write(c, n, NULL, a, 0);
	if (n && bind_loose(c, n, NULL, 0)) {
		rp_table_remove(&c->objects, &n->ident, pc_node_hash(&n->ident));
		node_unmake(c, n, a);
		n = NULL;
	}
	pthread_mutex_unlock(&c->lock);
	return n;
}

bool pc_node_is_held(const struct pathcache *c, struct rp_hlink *link)
{
	struct rp_node *n = node_of(link);

	return lockref_count(&n->ref) > (n == c->tree.root) && !lockref_is_dead(&n->ref);
}
