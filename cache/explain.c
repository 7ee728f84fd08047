/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a query would answer from memory, and by which bindings.
 *
 * The walk is a query's own, run once with changes held off, so that each step's
 * slot tells its dentry; these are copied out and told without the lock.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fork.h"
#include "last.h"
#include "listing.h"
#include "store.h"

#define STEPS_FIRST 64u

struct told {
	struct pathcache_binding b;
	char name[RP_NAME_MAX + 1];
};

struct explain {
	struct pc_query q;
	struct rp_walk w;
	struct told *told; /* room for one more than steps */
	uint32_t n;
	bool memo;
};

/* ---- the walk; context: change lock, read section ------------------------ */

/* A start that is one caller's own: no walk but that of the call that made it believes it. */
static bool start_is_private(const struct rp_walk *w)
{
	const struct rp_dentry *d = rp_node_is_dir(w->cur) ? rp_node_name(w->cur) : NULL;

	return d && d->slot == RP_SLOT_NONE && !(w->absolute && w->flags & RP_W_BENEATH);
}

static enum rp_status walk_all(struct explain *e)
{
	struct rp_node *stale = NULL;
	enum rp_status st;

	rp_walk_begin(&e->w, e->q.start, e->q.path, e->q.len);
	if (start_is_private(&e->w))
		return RP_STALE_START;
	pc_expiry_refresh(e->q.c, true);
	while ((st = rp_walk_run(&e->w)) == RP_TICK ||
	       (st == RP_STALE_START && e->w.cur != stale)) {
		if (st == RP_TICK) {
			pc_expiry_refresh(e->q.c, true);
			continue;
		}
		/* As a query: it may only lack what is above it. */
		stale = e->w.cur;
		rp_tree_gen(&e->q.c->tree, stale);
	}
	return st;
}

/* The last step of a stat, after a walk that came to an end. */
static enum rp_status look(struct explain *e)
{
	struct rp_node *n = e->w.node;

	e->q.node = n;
	e->q.gen = e->w.gen;
	e->q.named = e->w.len != 0;
	if (rp_node_flags(n) & (RP_N_NO_ATTR | RP_N_PRIVATE))
		return RP_NEED_ATTR;
	return pc_last_stat(&e->q);
}

static bool memo_answers(const struct explain *e)
{
	struct pathcache *c = e->q.c;
	struct rp_memo_key k = pc_query_key(&e->q);
	struct pc_query q = e->q;
	const struct rp_memo *m;

	if (!pc_learns(c) || !pc_query_hash(&q, &k))
		return false;
	m = rp_memo_find(rp_memos_array(&c->learn.memos), &k);
	if (!m || rp_memo_valid(&c->tree, m) == RP_MEMO_DEAD)
		return false;
	if (m->bits & (RP_M_TTL | RP_M_TTL_LAST) && !pc_memo_lasts(c, m, true))
		return false;
	return !(m->bits & (RP_M_CRED | RP_M_CAPS)) || pc_memo_may_search(c, q.cred, m);
}

/* ---- copying out; context: as above --------------------------------------- */

static enum pathcache_kind kind_of(const struct explain *e, const struct rp_dentry *d)
{
	if (rp_dentry_is_listing(d))
		return PATHCACHE_KIND_LISTING;
	if (!d->node)
		return PATHCACHE_KIND_NEGATIVE;
	if (d->flags & RP_D_LOOSE || d->node == e->q.root)
		return PATHCACHE_KIND_START;
	/* Before the binding of a start may come that of the directory it is in. */
	if (d->node == e->q.start && e->n < 2 && e->q.path[0] != '/')
		return PATHCACHE_KIND_START;
	if (d->flags & RP_D_DIR)
		return PATHCACHE_KIND_DIRECTORY;
	return d->flags & RP_D_LINK ? PATHCACHE_KIND_LINK : PATHCACHE_KIND_LEAF;
}

static enum pathcache_trust trust_of(const struct pathcache *c, const struct rp_dentry *d)
{
	if (d->flags & RP_D_TTL)
		return PATHCACHE_TRUST_TTL;
	return c->coherence == PATHCACHE_COHERENCE_EVENTS ? PATHCACHE_TRUST_EVENTS
	                                                  : PATHCACHE_TRUST_ANNOUNCED;
}

static void name_copy(struct told *t, const char *name, size_t len)
{
	t->b.len = len < sizeof(t->name) ? len : sizeof(t->name) - 1;
	memcpy(t->name, name, t->b.len);
	t->name[t->b.len] = '\0';
}

static void tell_step(struct explain *e, const struct rp_step *step, uint64_t now)
{
	const struct pathcache *c = e->q.c;
	struct told *t = &e->told[e->n];
	struct rp_dentry *d;

	if (step->slot == RP_SLOT_NONE || (e->n && t[-1].b.id == step->id))
		return;
	d = rp_owner_dentry(*rp_slot_owner(&c->tree.slots, step->slot));
	memset(t, 0, sizeof(*t));
	name_copy(t, d->name, d->flags & RP_D_LOOSE ? 0 : d->len);
	t->b.size = sizeof(t->b);
	t->b.id = d->id;
	t->b.age_ms = pc_ages_of(&c->ages, d->id, now);
	t->b.kind = kind_of(e, d);
	t->b.trust = trust_of(c, d);
	t->b.left_ms = d->flags & RP_D_TTL ? (uint32_t)pc_expiry_left(e->q.c, d) : 0;
	t->b.memo = e->memo;
	if (d->node) {
		t->b.object = d->node->id;
		t->b.held = pc_node_is_held(c, &d->node->ident);
	}
	e->n++;
}

static enum pathcache_needs needs_of(enum rp_status st)
{
	switch (st) {
	case RP_MISS:
		return PATHCACHE_NEEDS_NAME;
	case RP_STALE_START:
		return PATHCACHE_NEEDS_START;
	case RP_NEED_PARENT:
		return PATHCACHE_NEEDS_PARENT;
	case RP_NEED_TEXT:
		return PATHCACHE_NEEDS_TEXT;
	case RP_NEED_ATTR:
		return PATHCACHE_NEEDS_ATTR;
	case RP_NEED_PERM:
		return PATHCACHE_NEEDS_SEARCH;
	case RP_KERNEL:
		return PATHCACHE_NEEDS_KERNEL;
	case RP_OK:
	case RP_ERR:
	case RP_NEED_ACCESS:
	case RP_NEED_PATH:
	case RP_NEED_NAME:
	case RP_FULL:
	case RP_RETRY:
	case RP_TICK:
		break;
	}
	return PATHCACHE_NEEDS_NOTHING;
}

static void tell_missing(struct explain *e, enum rp_status st)
{
	bool of_node = st == RP_NEED_TEXT || st == RP_NEED_ATTR;
	const struct rp_dentry *d = rp_node_name(of_node ? e->w.node : e->w.cur);
	struct told *t = &e->told[e->n++];

	memset(t, 0, sizeof(*t));
	if (st == RP_MISS)
		name_copy(t, e->w.p, e->w.len);
	else if (st == RP_NEED_PARENT)
		name_copy(t, "..", 2);
	else if (d && !(d->flags & RP_D_LOOSE))
		name_copy(t, d->name, d->len);
	t->b.size = sizeof(t->b);
	t->b.kind = PATHCACHE_KIND_MISSING;
	t->b.needs = needs_of(st);
}

/* Return: what a query would; 1: no room for so many steps. */
static int look_all(struct explain *e)
{
	uint64_t now = pc_now_ms();
	enum rp_status st = walk_all(e);

	if (st == RP_FULL)
		return 1;
	if (st == RP_OK)
		st = look(e);
	e->memo = (st == RP_OK || st == RP_ERR) && memo_answers(e);
	for (uint32_t i = 0; i < e->w.nsteps; i++)
		tell_step(e, &e->w.steps[i], now);
	if (st == RP_OK)
		return 0;
	if (st == RP_ERR)
		return e->w.err;
	tell_missing(e, st);
	return -EAGAIN;
}

/* ---- the call ------------------------------------------------------------- */

static bool room_for(struct explain *e, uint32_t max)
{
	free(e->w.steps);
	free(e->told);
	e->w.max_steps = max;
	e->w.steps = malloc(max * sizeof(*e->w.steps));
	e->told = malloc((max + 1) * sizeof(*e->told));
	return e->w.steps && e->told;
}

static void explain_fini(void *arg)
{
	struct explain *e = arg;

	free(e->w.steps);
	free(e->told);
}

static int look_with_room(struct explain *e)
{
	struct pathcache *c = e->q.c;
	int rc = 1;

	for (uint32_t max = STEPS_FIRST; rc > 0; max *= 4) {
		if (!room_for(e, max))
			return -ENOMEM;
		pthread_mutex_lock(&c->lock);
		pc_read_begin();
		rc = look_all(e);
		pc_read_end();
		pthread_mutex_unlock(&c->lock);
	}
	return rc;
}

int pathcache_explain(struct pathcache *cache, const char *path, const struct pathcache_how *how,
                      pathcache_explain_fn fn, void *arg)
{
	struct explain e = {.told = NULL};
	struct rp_attr attr;
	int rc = fn ? pc_query_init(&e.q, cache, path, how) : -EINVAL;

	if (rc)
		return rc;
	if (pc_is_child())
		return -ECHILD;
	e.q.out = &attr;
	e.w.tree = &cache->tree;
	e.w.root = e.q.root;
	e.w.cred = e.q.cred;
	e.q.change_lock = true;
	e.w.stale = 0;
	e.w.flags = pc_query_walk_flags(&e.q) | RP_W_LOOK;
	e.w.mode = RP_MODE_RCU; /* holding nothing; what it finds is the same */
	e.w.fresh = 0;          /* so that no dentry is marked as used */
	rc = look_with_room(&e);
	pthread_cleanup_push(explain_fini, &e);
	for (uint32_t i = 0; i < e.n; i++) {
		e.told[i].b.name = e.told[i].name;
		if (fn(arg, &e.told[i].b))
			break;
	}
	pthread_cleanup_pop(1);
	return rc;
}
