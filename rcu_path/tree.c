/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tree.h"

/* Deeper than any real tree; bindings gone stale may even form a ring. */
#define TREE_CLIMB_MAX 65536u

#if PC_TESTING
_Atomic(uint64_t) rp_test_clock_ms;
#endif

static uint32_t dentry_hash(const struct rp_hlink *link)
{
	return ((const struct rp_dentry *)((const char *)link - offsetof(struct rp_dentry, link)))
	        ->hash;
}

void rp_tree_init(struct rp_tree *t, struct rp_buckets *array, uint32_t n, struct rp_node *root)
{
	rp_table_init(&t->dentries, array, n, 1, dentry_hash);
	rp_slots_init(&t->slots);
	t->root = root;
	atomic_init(&t->epoch, 1);
	atomic_init(&t->changes, 0);
	atomic_init(&t->subtree_stamp, 0);
	atomic_init(&t->loose_stamp, 0);
	atomic_init(&t->nlistings, 0);
	atomic_init(&t->lease.until, 0);
	for (int i = 0; i < RP_LEASE_KINDS; i++)
		atomic_init(&t->lease.floor[i], 0);
	atomic_init(&t->stamp, RP_ID_FIRST);
}

uint64_t rp_tree_stamp(struct rp_tree *t)
{
	/* release [F1]: who samples this number sees the change it stands for. Pairs with rp_tree_now(). */
	return atomic_fetch_add_explicit(&t->stamp, 1, memory_order_release) + 1;
}

static void names_set(struct rp_node *n, uintptr_t names)
{
	/* release [N1]: publishes the dentry. Pairs with rp_node_name(). */
	atomic_store_explicit(&n->names, names, memory_order_release);
}

static uintptr_t names_get(const struct rp_node *n)
{
	return atomic_load_explicit(&n->names, memory_order_relaxed);
}

struct rp_dentry *rp_tree_take_hint(struct rp_node *n)
{
	uintptr_t names = names_get(n);

	if (!(names & RP_NAMES_HINT))
		return NULL;
	names_set(n, 0);
	return (struct rp_dentry *)(names & ~RP_NAMES_HINT);
}

struct rp_dentry *rp_tree_publish_as(struct rp_tree *t, struct rp_dentry *d, uint64_t id)
{
	struct rp_dentry *hint = NULL;

	d->id = id;
	d->slot = rp_slot_alloc(&t->slots, rp_dentry_class(d), d->id,
	                        (uintptr_t)d | rp_dentry_owner_class(d));
	d->next = NULL;
	if (d->node) {
		hint = rp_tree_take_hint(d->node);
		d->next = (struct rp_dentry *)names_get(d->node);
		names_set(d->node, (uintptr_t)d);
	}
	if (!(d->flags & RP_D_LOOSE)) {
		d->hash = rp_name_hash(&t->secret, d->dir, d->name, d->len);
		rp_table_insert(&t->dentries, &d->link, d->hash);
	}
	return hint;
}

struct rp_dentry *rp_tree_publish(struct rp_tree *t, struct rp_dentry *d)
{
	return rp_tree_publish_as(t, d, rp_tree_stamp(t));
}

static bool names_leave(struct rp_dentry *d)
{
	struct rp_dentry *head = (struct rp_dentry *)names_get(d->node);

	if (head == d && !d->next) {
		names_set(d->node, (uintptr_t)d | RP_NAMES_HINT);
		return true;
	}
	if (head == d) {
		names_set(d->node, (uintptr_t)d->next);
		return false;
	}
	while (head->next != d)
		head = head->next;
	head->next = d->next;
	return false;
}

/* changes: 1 where something is untrue now, 0 where it was only forgotten. */
static void epoch_advance(struct rp_tree *t, uint64_t changes)
{
	uint64_t e = atomic_load_explicit(&t->epoch, memory_order_relaxed);

	changes += atomic_load_explicit(&t->changes, memory_order_relaxed);
	/* release [E1]: the same of changes. Pairs with rp_walk_begin(). */
	atomic_store_explicit(&t->changes, changes, memory_order_release);
	/*
	 * release [E1]: a walk that begins at this epoch finds no dentry killed
	 * before it. Pairs with rp_walk_begin().
	 */
	atomic_store_explicit(&t->epoch, e + 1, memory_order_release);
	/*
	 * release [E2]: whoever sees what is stored from here on (a new binding,
	 * new attributes of the killed one's directory) sees the slot and the epoch.
	 * Pairs with rp_walk_valid().
	 */
	atomic_thread_fence(memory_order_release);
}

void rp_tree_set_private(struct rp_tree *t, struct rp_dentry *d)
{
	d->id = rp_tree_stamp(t);
	d->slot = RP_SLOT_NONE;
	names_set(d->node, (uintptr_t)d);
}

bool rp_tree_forget(struct rp_tree *t, struct rp_dentry *d)
{
	bool nameless = false;

	if (!(d->flags & RP_D_LOOSE))
		rp_table_remove(&t->dentries, &d->link, d->hash);
	if (d->node)
		nameless = names_leave(d);
	rp_slot_free(&t->slots, rp_dentry_class(d), d->slot);
	return nameless;
}

void rp_tree_forgot(struct rp_tree *t)
{
	epoch_advance(t, 0);
}

bool rp_tree_kill(struct rp_tree *t, struct rp_dentry *d)
{
	bool nameless = rp_tree_forget(t, d);

	epoch_advance(t, 1);
	return nameless;
}

void rp_tree_loose_changed(struct rp_tree *t, uint64_t stamp)
{
	atomic_store_explicit(&t->loose_stamp, stamp, memory_order_relaxed);
	epoch_advance(t, 1);
}

void rp_tree_raise_gen(struct rp_tree *t, struct rp_node *dir)
{
	uint64_t now = rp_tree_stamp(t);

	atomic_store_explicit(&rp_dirnode(dir)->gen, now, memory_order_relaxed);
	atomic_store_explicit(&t->subtree_stamp, now, memory_order_relaxed);
	epoch_advance(t, 1);
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

uint64_t rp_tree_gen(struct rp_tree *t, struct rp_node *node)
{
	uint64_t stamp = atomic_load_explicit(&t->subtree_stamp, memory_order_relaxed);
	struct rp_node *dir = rp_tree_gen_dir(node);
	unsigned steps = 0;
	uint64_t gen;

	if (!dir)
		return stamp;
	gen = rp_dirnode_gen(dir);
	for (struct rp_node *n = dir; !rp_tree_gen_known(t, n); steps++) {
		const struct rp_dentry *d = rp_node_name(n);

		if (!d || !d->dir || (d->flags & RP_D_LOOSE) || steps == TREE_CLIMB_MAX) {
			gen = stamp;
			break;
		}
		n = d->dir;
		gen = max_u64(gen, rp_dirnode_gen(n));
	}
	if (dir != t->root) {
		atomic_store_explicit(&rp_dirnode(dir)->gen, gen, memory_order_relaxed);
		/* release [G1]: gen is as new as the stamp beside it. Pairs with rp_tree_gen_known(). */
		atomic_store_explicit(&rp_dirnode(dir)->gen_checked, stamp, memory_order_release);
	}
	return gen;
}

uint16_t rp_dentry_flags_of(const struct rp_node *node, const struct rp_node *dir)
{
	uint32_t nf = rp_node_flags(node);
	unsigned f = 0;

	if (S_ISLNK(node->type))
		f |= RP_D_LINK;
	if (dir && rp_node_mnt(node) != rp_node_mnt(dir))
		f |= RP_D_XDEV;
	if (!rp_node_is_dir(node))
		return (uint16_t)f;
	f |= RP_D_DIR;
	if ((rp_node_perm(node).mode & 0111) == 0111 && !(nf & (RP_N_ASK | RP_N_ACL | RP_N_KERNEL)))
		f |= RP_D_SEARCH_ALL;
	if (rp_dirnode_gen(node))
		f |= RP_D_GEN;
	if (nf & RP_N_KERNEL)
		f |= RP_D_KERNEL;
	return (uint16_t)f;
}
