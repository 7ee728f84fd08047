/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store.h"

#include <errno.h>
#include <string.h>

#include "coherence.h"
#include "evict.h"
#include "fork.h"
#include "list.h"
#include "listen.h"
#include "reclaim.h"

#if PC_TESTING
_Atomic(uint32_t) pc_stale_test_omit;
#endif

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

/* placed: dir and name are true, not only where it was last seen. */
static int store_private(struct pathcache *c, struct rp_node *dir, const char *name, size_t len,
                         bool placed, struct pc_answer *a, struct pc_found *out)
{
	struct rp_node *n = pc_node_make(c, a, RP_N_PRIVATE);
	struct rp_dentry *d;

	if (!n)
		return -ENOMEM;
	d = pc_dentry_make(c, dir, name, len, n, RP_D_LOOSE | (placed ? RP_D_PLACED : 0));
	if (!d) {
		pc_node_unmake(c, n, a);
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

/* own: see pc_dentry_publish(). */
static bool store_kept(struct pathcache *c, struct rp_node *dir, const char *name, size_t len,
                       struct pc_answer *a, uint64_t asked, uint64_t own, struct pc_found *out)
{
	const struct rp_dentry *old = c->listener ? rp_tree_find(&c->tree, dir, name, len) : NULL;
	struct rp_node *node = NULL;
	struct rp_dentry *d;
	bool good = true, made = false;

	c->noticed = false;
	if (a) {
		node = pc_object_get(c, dir, a, asked, &good, &made);
		out->node = node;
	}
	out->renamed = old && old->node != node;
	out->changed = c->noticed;
	/* A directory is searched, and a link followed, by what is stored, so that must be good. */
	if (a && (!node || (!good && (rp_node_is_dir(node) || S_ISLNK(node->type)))))
		d = NULL;
	else
		d = pc_bind_name(c, dir, name, len, node, own);
	if (!d && node && made)
		pc_object_disown(c, node, a);
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
	uint64_t own = pc_own_number(a ? a->flags : absent_flags, asked);
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
	pc_dentry_publish(c, d, 0);
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
	       pc_list_allowed(c, dir) && pc_slots_feed(c, rp_dentry_class(d), false);
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

	if (!d || !d->dir || !pc_is_object(d->dir, a))
		return NULL;
	d = rp_node_name_or_hint(d->dir);
	/* A private one does not keep its directory for others. */
	return d && d->slot != RP_SLOT_NONE ? d : NULL;
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
	uint64_t own = pc_own_number(a->flags, asked);
	bool good = true, made = false;
	int rc = 0;

	memset(out, 0, sizeof(*out));
	pthread_mutex_lock(&c->lock);
	if (still_good(c, NULL, asked) && !(a->flags & (PC_A_NO_CACHE | PC_A_PRIVATE)) &&
	    pc_budget(c)) {
		bool make = may_keep(c, NULL, 0, a, a->flags);

		/* One that is there takes no room. */
		n = pc_object_get(c, NULL, a, asked, &good, make ? &made : NULL);
		if (n && good && rp_node_is_dir(n) &&
		    (!rp_node_name(n) || pc_expired(c, rp_node_name(n))))
			good = pc_bind_loose(c, n, parent_seen(below, a), own) == 0;
	}
	if (n && !good) {
		if (made)
			pc_object_disown(c, n, a);
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
	valid = still_good(c, NULL, asked) && pc_attr_put(c, node, a, asked);
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
	t = pc_text_make(c, text, len);
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
	if (!still_good(c, NULL, asked) || !pc_attr_put(c, dir, a, asked))
		rc = -EAGAIN;
	else if (!start_known(c, dir))
		rc = pc_bind_loose(c, dir, NULL, pc_own_number(a->flags, asked));
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
	n = pc_object_make(c, NULL, a, 0);
	if (n && pc_bind_loose(c, n, NULL, 0)) {
		rp_table_remove(&c->objects, &n->ident, pc_node_hash(&n->ident));
		pc_node_unmake(c, n, a);
		n = NULL;
	}
	pthread_mutex_unlock(&c->lock);
	return n;
}
