/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Hooks: an application that makes all changes itself tells what it has done, so
 * that more than "ask again" may be known afterwards.
 *
 * Each is one critical section: first the stamps, by which answers on their way
 * are overtaken, then all that dies, then what is published. A reader finds the
 * old binding, the new one, or none and asks. What is told is believed only where
 * nobody else tells of changes: events may have told of a later one already.
 */
#include <errno.h>
#include <string.h>

#include "change.h"
#include "fill.h"
#include "fork.h"
#include "listen.h"
#include "list.h"
#include "reclaim.h"

#if PC_TESTING
#include "testing.h"

void (*pc_test_rename_step)(void);

static void step(void)
{
	if (pc_test_rename_step)
		pc_test_rename_step();
}
#else
static void step(void)
{
}
#endif

/* A name in a directory, held once the hook has begun. */
struct place {
	struct rp_node *dir;
	const char *name;
	size_t len;
};

static int place_init(struct place *p, struct pathcache *c, struct pathcache_entry *dir,
                      const char *name)
{
	if (!c || !name)
		return -EINVAL;
	p->dir = dir ? pc_node(dir) : c->tree.root;
	p->name = name;
	p->len = strnlen(name, RP_NAME_MAX + 1);
	if (!rp_node_is_dir(p->dir))
		return -ENOTDIR;
	if (pc_is_child())
		return -ECHILD;
	return pc_name_check(name, p->len);
}

/* The node that stands for n in the tables, n itself where there is none: a reference. */
static struct rp_node *twin_hold(struct pathcache *c, struct rp_node *n)
{
	struct rp_node *twin = pc_node_twin(c, n);

	if (twin != n && twin->type == n->type && lockref_get(&twin->ref))
		return twin;
	pc_node_hold(n);
	return n;
}

static uint64_t hook_begin(struct pathcache *c, struct rp_node **n)
{
	pc_read_begin(); /* keeps the memory of what dies */
	pthread_mutex_lock(&c->lock);
	*n = twin_hold(c, *n);
	return pc_change_begin(c, PC_ANNOUNCED);
}

static void hook_end(struct pathcache *c)
{
	pthread_mutex_unlock(&c->lock);
	pc_read_end();
	pc_upkeep_wake(c);
}

/* Is what the application says the last word? */
static bool is_believed(const struct pathcache *c)
{
	return c->coherence == PATHCACHE_COHERENCE_EXCLUSIVE;
}

static struct rp_dentry *known(struct pathcache *c, const struct place *p)
{
	struct rp_dentry *d = rp_tree_find(&c->tree, p->dir, p->name, p->len);

	return d && d->id >= rp_tree_gen(&c->tree, p->dir) && !pc_expired(c, d) ? d : NULL;
}

static void drop(struct pathcache *c, const struct place *p, uint64_t stamp)
{
	pc_drop_name(c, p->dir, p->name, p->len, stamp);
}

/* ---- created, removed, linked, changed ------------------------------------ */

int pathcache_created(struct pathcache *cache, struct pathcache_entry *dir, const char *name,
                      const struct pathcache_reply *what)
{
	struct rp_node *node = NULL;
	struct pc_answer a;
	struct place p;
	uint64_t stamp;
	int rc = place_init(&p, cache, dir, name);

	a.handle = NULL;
	if (!rc && what)
		rc = cache->backend->reply ? cache->backend->reply(cache, what, &a) : -EINVAL;
	if (rc)
		return rc;
	stamp = hook_begin(cache, &p.dir);
	drop(cache, &p, stamp);
	if (what && is_believed(cache))
		node = pc_keep_name(cache, p.dir, p.name, p.len, &a);
	hook_end(cache);
	if (node)
		pc_node_put(cache, node);
	pc_answer_drop(cache, &a);
	pc_told_name(cache, p.dir, p.name, p.len);
	pc_node_put(cache, p.dir);
	return 0;
}

int pathcache_removed(struct pathcache *cache, struct pathcache_entry *dir, const char *name)
{
	struct place p;
	uint64_t stamp;
	int rc = place_init(&p, cache, dir, name);

	if (rc)
		return rc;
	stamp = hook_begin(cache, &p.dir);
	if (is_believed(cache)) {
		pc_drop_gone(cache, p.dir, p.name, p.len, stamp);
		pc_keep_name(cache, p.dir, p.name, p.len, NULL);
	} else {
		drop(cache, &p, stamp);
	}
	hook_end(cache);
	pc_told_name(cache, p.dir, p.name, p.len);
	pc_node_put(cache, p.dir);
	return 0;
}

int pathcache_linked(struct pathcache *cache, struct pathcache_entry *entry,
                     struct pathcache_entry *dir, const char *name)
{
	struct rp_node *n;
	struct place p;
	uint64_t stamp;
	int rc = entry ? place_init(&p, cache, dir, name) : -EINVAL;

	if (!rc && rp_node_is_dir(pc_node(entry)))
		rc = -EINVAL;
	if (rc)
		return rc;
	stamp = hook_begin(cache, &p.dir);
	n = twin_hold(cache, pc_node(entry));
	drop(cache, &p, stamp);
	rp_node_attr_drop(n, stamp);
	if (is_believed(cache) && pc_may_bind(cache, p.dir, p.len, n))
		pc_bind_name(cache, p.dir, p.name, p.len, n, 0);
	hook_end(cache);
	pc_told_name(cache, p.dir, p.name, p.len);
	pc_told_object(cache, n);
	pc_node_put(cache, n);
	pc_node_put(cache, p.dir);
	return 0;
}

int pathcache_changed(struct pathcache *cache, struct pathcache_entry *entry,
                      const struct pathcache_attr *attr)
{
	struct rp_node *n;
	struct pc_answer a;
	uint64_t stamp;

	if (!cache || !entry)
		return -EINVAL;
	if (pc_is_child())
		return -ECHILD;
	n = pc_node(entry);
	stamp = hook_begin(cache, &n);
	if (attr && is_believed(cache) && cache->backend->attr(cache, n, attr, &a))
		pc_attr_put(cache, n, &a, stamp);
	else
		pc_drop_object(cache, n, stamp);
	hook_end(cache);
	pc_told_object(cache, n);
	pc_node_put(cache, n);
	return 0;
}

/* ---- renamed -------------------------------------------------------------- */

/* (from) -> x becomes (to) -> x, in place of y, or in exchange for it. */
struct renaming {
	struct place from, to;
	struct rp_node *x, *y; /* NULL: absent, or not known */
	bool exchange;
	bool fresh; /* there was nothing at to, */
	bool known; /* or it is known what was */
	uint64_t stamp;
};

enum verdict {
	RENAME_KNOWN,
	RENAME_UNSURE, /* of what became of one of the names */
	RENAME_LOOP,   /* a directory below itself */
};

/* Is dir n, or below it? RENAME_KNOWN: no; RENAME_UNSURE: nobody knows. */
static enum verdict below(struct pathcache *c, const struct rp_node *dir, const struct rp_node *n)
{
	bool sure = true;

	/* Every step up is by a binding; a ring of them can only be one of hints. */
	for (unsigned steps = 0; dir != c->tree.root; steps++) {
		const struct rp_dentry *d = rp_node_name_or_hint(dir);

		if (dir == n)
			return sure ? RENAME_LOOP : RENAME_UNSURE;
		if (!d || !d->dir || steps == RP_PATH_MAX)
			return RENAME_UNSURE;
		sure = sure && rp_node_name(dir) && !(d->flags & RP_D_LOOSE);
		dir = d->dir;
	}
	return sure && dir != n ? RENAME_KNOWN : RENAME_UNSURE;
}

/* Has n no other name that may be the one it is renamed to, for all that is known? */
static bool has_one_name(struct pathcache *c, const struct place *p, struct rp_node *n)
{
	uint64_t gen = rp_tree_gen(&c->tree, p->dir);
	uint64_t loose = atomic_load_explicit(&c->tree.loose_stamp, memory_order_relaxed);
	struct rp_attr attr;
	uint32_t flags;

	if (rp_node_is_dir(n))
		return true;
	/* After a name was announced that nobody knew, it may be a link to n. */
	return rp_node_attr_read(n, gen > loose ? gen : loose, &attr, &flags) &&
	       !(flags & RP_N_TTL) && attr.mask & PATHCACHE_ATTR_NLINK && attr.nlink == 1;
}

/* What both names meant, and whether that tells what they mean now. */
static enum verdict judge(struct pathcache *c, struct renaming *r)
{
	const struct rp_dentry *dx = known(c, &r->from), *dy = known(c, &r->to);
	enum verdict v = RENAME_KNOWN;

	r->x = dx ? dx->node : NULL;
	r->y = dy ? dy->node : NULL;
	r->known = dy;
	if (!is_believed(c) || !r->x || (r->exchange && !r->y))
		return RENAME_UNSURE;
	/*
	 * Two names of one object, which both stay; or one, which a lookup has found
	 * under its new name before this was announced.
	 */
	if (r->x == r->y)
		return RENAME_UNSURE;
	/* In a real tree lookups may have found both where they are now. */
	if (r->exchange && c->backend != &pc_backend_app)
		return RENAME_UNSURE;
	if (!dy && !r->fresh && !has_one_name(c, &r->from, r->x))
		return RENAME_UNSURE;
	if (rp_node_is_dir(r->x))
		v = below(c, r->to.dir, r->x);
	if (v == RENAME_KNOWN && r->exchange && rp_node_is_dir(r->y))
		v = below(c, r->from.dir, r->y);
	return v;
}

/* What is held of x and y; false: not all of it was to be had. */
static bool hold_both(struct renaming *r)
{
	struct rp_node *x = r->x, *y = r->y;

	r->x = x && lockref_get(&x->ref) ? x : NULL;
	r->y = r->x && y && lockref_get(&y->ref) ? y : NULL;
	return r->x && r->y == y;
}

/* What p led to leaves it: its attributes are not known any more. */
static void leave(struct pathcache *c, const struct place *p, uint64_t stamp)
{
	struct rp_dentry *d = rp_tree_find(&c->tree, p->dir, p->name, p->len);

	if (d && d->node && rp_node_is_dir(d->node))
		/* While its place still tells what is stale below. */
		rp_tree_gen(&c->tree, d->node);
	if (d && d->node)
		rp_node_attr_drop(d->node, stamp);
	if (d)
		pc_kill(c, d);
}

/* x and y are held. */
static void move(struct pathcache *c, struct renaming *r)
{
	pc_drop_names(c, r->from.dir, r->stamp);
	pc_drop_names(c, r->to.dir, r->stamp);
	if (!r->known && !r->fresh)
		/* Whoever had that name may be held, and has a link less. */
		rp_tree_loose_changed(&c->tree, r->stamp);
	step();
	leave(c, &r->from, r->stamp);
	step();
	leave(c, &r->to, r->stamp);
	step();
	pc_bind_name(c, r->to.dir, r->to.name, r->to.len, r->x, 0);
	step();
	if (r->exchange)
		pc_bind_name(c, r->from.dir, r->from.name, r->from.len, r->y, 0);
	else
		pc_keep_name(c, r->from.dir, r->from.name, r->from.len, NULL);
	step();
}

static bool may_move(struct pathcache *c, const struct renaming *r)
{
	return pc_may_bind(c, r->to.dir, r->to.len, r->x) &&
	       (!r->exchange || pc_may_bind(c, r->from.dir, r->from.len, r->y));
}

/* Return: 0; -EINVAL. x and y are held, or NULL, afterwards. */
static int rename_locked(struct pathcache *c, struct renaming *r)
{
	enum verdict v = judge(c, r);

	if (!hold_both(r))
		v = RENAME_UNSURE;
	if (v == RENAME_KNOWN && may_move(c, r)) {
		move(c, r);
		return 0;
	}
	drop(c, &r->from, r->stamp);
	drop(c, &r->to, r->stamp);
	return v == RENAME_LOOP ? -EINVAL : 0;
}

int pathcache_renamed(struct pathcache *cache, struct pathcache_entry *dir, const char *name,
                      struct pathcache_entry *to_dir, const char *to_name, uint64_t flags)
{
	struct renaming r = {.exchange = flags & PATHCACHE_RENAME_EXCHANGE,
	                     .fresh = flags & PATHCACHE_RENAME_NOREPLACE};
	int rc = place_init(&r.from, cache, dir, name);

	if (!rc)
		rc = place_init(&r.to, cache, to_dir, to_name);
	if (rc || (r.exchange && r.fresh) ||
	    flags & ~(PATHCACHE_RENAME_EXCHANGE | PATHCACHE_RENAME_NOREPLACE))
		return rc ? rc : -EINVAL;
	r.stamp = hook_begin(cache, &r.from.dir);
	r.to.dir = twin_hold(cache, r.to.dir);
	if (r.from.dir != r.to.dir || r.from.len != r.to.len ||
	    memcmp(name, to_name, r.to.len) != 0)
		rc = rename_locked(cache, &r);
	hook_end(cache);
	pc_node_put(cache, r.x);
	pc_node_put(cache, r.y);
	pc_told_name(cache, r.from.dir, name, r.from.len);
	pc_told_name(cache, r.to.dir, to_name, r.to.len);
	pc_node_put(cache, r.from.dir);
	pc_node_put(cache, r.to.dir);
	return rc;
}
