/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lookup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cred.h"
#include "evict.h"
#include "fork.h"
#include "hit.h"
#include "list.h"
#include "reclaim.h"

/* Walks that may be raced before changes are held off. */
#define LOOKUP_TRIES 4u

/* And before a backend that keeps contradicting itself is given up. */
#define LOOKUP_TRIES_MAX 64u

static_assert(PATHCACHE_NOFOLLOW == RP_W_NOFOLLOW && PATHCACHE_DIRECTORY == RP_W_DIRECTORY &&
                      PATHCACHE_BENEATH == RP_W_BENEATH && PATHCACHE_IN_ROOT == RP_W_IN_ROOT &&
                      PATHCACHE_NO_SYMLINKS == RP_W_NO_SYMLINKS &&
                      PATHCACHE_NO_XDEV == RP_W_NO_XDEV,
              "the walk takes the public flags as they are");

/* ---- setting out -------------------------------------------------------- */

static int how_take(struct pc_query *q, const struct pathcache_how *how)
{
	if (how->flags & ~PC_FLAGS_KNOWN)
		return -EINVAL;
	/* openat2(2): they contradict each other. */
	if ((how->flags & PATHCACHE_BENEATH) && (how->flags & PATHCACHE_IN_ROOT))
		return -EINVAL;
	q->flags = (uint32_t)(how->flags & ~PATHCACHE_CACHED);
	q->cached = how->flags & PATHCACHE_CACHED;
	if (how->start)
		q->start = pc_node(how->start);
	if (how->flags & PC_CONFINED)
		q->root = q->start;
	if (!how->cred)
		return 0;
	q->cred = &q->theirs;
	return pc_cred_take(how->cred, &q->theirs);
}

int pc_query_init(struct pc_query *q, struct pathcache *c, const char *path,
                  const struct pathcache_how *how)
{
	struct pathcache_how mine = {.flags = 0};
	int rc = 0;

	if (!c || !path)
		return -EINVAL;
	pc_query_clear(q, c, path);
	if (how)
		rc = pc_versioned_copy(&mine, sizeof(mine), how);
	if (!rc)
		rc = how_take(q, &mine);
	if (rc)
		return rc;
	q->len = strnlen(path, RP_PATH_MAX);
	if (q->len == RP_PATH_MAX)
		return -ENAMETOOLONG;
	return q->len ? 0 : -ENOENT;
}

void pc_query_init_node(struct pc_query *q, struct pathcache *c, struct rp_node *node)
{
	pc_query_clear(q, c, ".");
	q->start = node;
	q->len = 1;
	q->by_node = true;
}

uint32_t pc_query_walk_flags(const struct pc_query *q)
{
	return q->flags | (pc_budget(q->c) ? 0 : RP_W_DISTRUST);
}

/* The steps and frames are written before they are read. */
static void lookup_init(struct pc_lookup *lk, struct pc_query *q)
{
	q->lk = lk;
	q->memo = NULL;
	q->result = -EIO;
	lk->q = q;
	lk->c = q->c;
	lk->base = NULL;
	lk->answer = NULL;
	lk->parent = NULL;
	lk->final = NULL;
	lk->fresh = NULL;
	lk->wanted = NULL;
	lk->trusted = NULL;
	lk->lists = NULL;
	lk->allowed = NULL;
	lk->rest = NULL;
	lk->more = NULL;
	lk->missed = NULL;
	lk->tries = 0;
	lk->locked = false;
	lk->asked = false;
	lk->stale = 0;
	lk->w.stale = 0;
	lk->w.tree = &q->c->tree;
	lk->w.root = q->root;
	lk->w.cred = q->cred;
	lk->w.flags = pc_query_walk_flags(q);
	lk->w.mode = q->c->mode;
	lk->w.fresh = UINT64_MAX;
	lk->w.steps = lk->steps;
	lk->w.max_steps = RP_STEPS_MIN;
}

/* ---- what hits and last steps seldom need --------------------------------- */

uint64_t pc_leased_gen(struct pathcache *c, const struct pc_lookup *lk, const struct rp_node *n,
                       uint64_t gen, bool locked)
{
	uint64_t floor = UINT64_MAX;

	if (lk && lk->stale && lk->stale == n->id)
		return gen;
	if (pc_expiry_refresh(c, lk ? lk->locked : locked))
		floor = rp_lease_floor(&c->tree.lease, RP_LEASE_ATTR);
	/* What this very call has asked for is the answer, however long that took. */
	if (lk && lk->w.fresh < floor)
		floor = lk->w.fresh;
	if (floor == UINT64_MAX)
		return UINT64_MAX;
	return floor < gen ? gen : floor + 1;
}

bool pc_memo_lasts(struct pathcache *c, const struct rp_memo *m, bool locked)
{
	return pc_expiry_refresh(c, locked) && rp_memo_lasts(&c->tree, m);
}

uint64_t pc_loose_gen(const struct pathcache *c, const struct rp_node *n, uint64_t gen)
{
	uint64_t loose = atomic_load_explicit(&c->tree.loose_stamp, memory_order_relaxed);
	const struct rp_dentry *d = rp_node_name(n);

	return n != c->tree.root && (!d || !rp_tree_anchored(&c->tree, d)) && loose > gen ? loose
	                                                                                  : gen;
}

bool pc_links_current(const struct pathcache *c, const struct rp_node *n, uint64_t gen)
{
	uint64_t loose = atomic_load_explicit(&c->tree.loose_stamp, memory_order_relaxed);
	uint64_t subtree = atomic_load_explicit(&c->tree.subtree_stamp, memory_order_relaxed);
	uint64_t any = loose > subtree ? loose : subtree;

	return any <= gen || rp_node_attr_valid(n, any);
}

bool pc_told_attr(const struct pc_lookup *lk, const struct rp_node *n, struct rp_attr *attr,
                  uint32_t *flags)
{
	if (n != lk->fresh)
		return false;
	*attr = lk->attr;
	*flags = lk->attr_flags;
	return true;
}

bool pc_keeps_attr(const struct pc_lookup *lk, const struct rp_node *n)
{
	/* What is in no table is good only if this very call brought it. */
	return !(rp_node_flags(n) & (RP_N_NO_ATTR | RP_N_PRIVATE)) || n == lk->answer;
}

bool pc_memo_may_search(const struct pathcache *c, const struct rp_cred *cred,
                        const struct rp_memo *m)
{
	if (m->bits & RP_M_CRED && cred != &c->self)
		return false;
	return !(m->bits & RP_M_CAPS) ||
	       cred->caps & (RP_CAP_DAC_OVERRIDE | RP_CAP_DAC_READ_SEARCH);
}

/* ---- the walk and what it holds ----------------------------------------- */

/*
 * Give back what the counted modes took. Context: read section; what a put has
 * killed is left for steps_bury(). Return: whether there is any.
 */
static bool steps_put(struct pc_lookup *lk)
{
	bool locked = lk->w.mode == RP_MODE_LOCKED, any = false;

	for (uint32_t i = 0; i < lk->w.nsteps; i++) {
		struct rp_step *s = &lk->w.steps[i];

		if (s->node && rp_node_put_rcu(s->node, locked))
			any = true;
		else
			s->node = NULL;
	}
	return any;
}

/* Context: no lock, no read section: the backend may be told. */
static void steps_bury(struct pc_lookup *lk)
{
	for (uint32_t i = 0; i < lk->w.nsteps; i++)
		if (lk->w.steps[i].node)
			pc_node_killed(lk->c, lk->w.steps[i].node);
}

/* Forget all steps. Context: no lock, no read section. */
static void steps_drop(struct pc_lookup *lk)
{
	bool any = false;

	if (lk->w.mode != RP_MODE_RCU) {
		pc_read_begin();
		any = steps_put(lk);
		pc_read_end();
	}
	if (any)
		steps_bury(lk);
	lk->w.nsteps = 0;
}

static void stretch_begin(struct pc_lookup *lk)
{
	if (lk->locked)
		pthread_mutex_lock(&lk->c->lock);
	pc_read_begin();
}

static void stretch_end(struct pc_lookup *lk)
{
	pc_read_end();
	if (lk->locked)
		pthread_mutex_unlock(&lk->c->lock);
}

static void swap_held(struct pathcache *c, struct rp_node **held, struct rp_node *n)
{
	struct rp_node *old = *held;

	*held = n;
	if (old)
		pc_node_put(c, old);
}

/* What the last step took. Context: as lookup_drop(). */
static void got_drop(struct pc_lookup *lk)
{
	swap_held(lk->c, &lk->q->got, NULL);
	swap_held(lk->c, &lk->q->got_dir, NULL);
}

/* Context: no lock, no read section. */
static void lookup_drop(struct pc_lookup *lk)
{
	steps_drop(lk);
	got_drop(lk);
	swap_held(lk->c, &lk->base, NULL);
	swap_held(lk->c, &lk->answer, NULL);
	swap_held(lk->c, &lk->parent, NULL);
	if (!lk->q->by_node)
		swap_held(lk->c, &lk->final, NULL);
	swap_held(lk->c, &lk->fresh, NULL);
	swap_held(lk->c, &lk->wanted, NULL);
	swap_held(lk->c, &lk->trusted, NULL);
	swap_held(lk->c, &lk->lists, NULL);
	free(lk->rest);
	free(lk->more);
}

static void lookup_cancelled(void *arg)
{
	lookup_drop(arg);
}

/* More room for steps. Return: false without memory. */
static bool steps_grow(struct pc_lookup *lk)
{
	uint32_t max = lk->w.max_steps * 4;
	struct rp_step *more = realloc(lk->more, max * sizeof(*more));

	if (!more)
		return false;
	if (!lk->more)
		memcpy(more, lk->steps, sizeof(lk->steps));
	lk->more = more;
	lk->w.steps = more;
	lk->w.max_steps = max;
	return true;
}

/* The walk lacks what is not a backend's to tell. Return: false where that is not to be had. */
static __attribute__((cold)) bool go_on(struct pc_lookup *lk, enum rp_status st)
{
	if (st == RP_FULL)
		return steps_grow(lk);
	return pc_expiry_refresh(lk->c, lk->locked);
}

/* To the end of the walk and through the last step, or to what neither can answer. */
static enum rp_status run_once(struct pc_lookup *lk)
{
	struct pc_query *q = lk->q;
	enum rp_status st;

	do {
		st = RP_OK;
		if (lk->final) {
			lk->w.node = lk->final;
			if (lk->q->by_node)
				lk->w.gen = lk->w.flags & RP_W_DISTRUST
				                    ? UINT64_MAX
				                    : rp_tree_attr_gen(&lk->c->tree, lk->final);
		} else {
			st = rp_walk_run(&lk->w);
		}
		lk->ended = st == RP_OK;
		lk->walk_steps = lk->w.nsteps;
		if (lk->ended) {
			q->node = lk->w.node;
			q->gen = lk->w.gen;
			q->named = lk->w.len != 0 && !lk->q->by_node;
			st = q->last(q);
		} else if (st == RP_ERR) {
			q->result = lk->w.err;
		}
	} while (__builtin_expect(st == RP_FULL || st == RP_TICK, 0) && go_on(lk, st));
	return st;
}

static void walk_begin(struct pc_lookup *lk)
{
	rp_walk_begin(&lk->w, lk->q->start, lk->q->path, lk->q->len);
}

/* ---- answering statuses; these leave the stretch ------------------------- */

/* Bring the rest of the path out of link texts into memory of our own, NUL-terminated. */
static int rest_own(struct pc_lookup *lk)
{
	size_t len;
	char *buf;

	if (!lk->w.in_text && lk->w.nframes == 0)
		return 0;
	len = rp_walk_rest(&lk->w, NULL, 0);
	buf = malloc(len + 1);
	if (!buf)
		return -ENOMEM;
	rp_walk_rest(&lk->w, buf, len);
	buf[len] = '\0';
	free(lk->rest);
	lk->rest = buf;
	rp_walk_set_rest(&lk->w, buf, len);
	return 0;
}

/* Hold what is needed of the walk, and wanted, and leave. Return: 0; -EAGAIN: it died; -ENOMEM. */
static int leave_with(struct pc_lookup *lk, struct rp_node *wanted)
{
	struct rp_node *base = lk->final ? NULL : lk->w.cur;
	int rc = lk->final ? 0 : rest_own(lk);

	if (!rc && base && !lockref_get(&base->ref)) {
		base = NULL;
		rc = -EAGAIN;
	}
	if (!rc && wanted && !lockref_get(&wanted->ref))
		rc = -EAGAIN;
	stretch_end(lk);
	swap_held(lk->c, &lk->base, rc ? NULL : base);
	if (rc && base)
		pc_node_put(lk->c, base);
	swap_held(lk->c, &lk->wanted, rc ? NULL : wanted);
	return rc;
}

/* Begin again from the start, and after some tries with changes held off. */
static int retry(struct pc_lookup *lk)
{
	pc_count(lk->c, PC_RETRIES);
	if (++lk->tries > LOOKUP_TRIES_MAX)
		return lk->q->flags & PC_CONFINED ? -EAGAIN : -ESTALE;
	if (lk->tries == LOOKUP_TRIES) {
		lk->locked = true;
		pc_count(lk->c, PC_LOCKED_WALKS);
	}
	steps_drop(lk);
	got_drop(lk);
	lk->allowed = NULL;
	lk->missed = NULL;
	if (!lk->q->by_node)
		swap_held(lk->c, &lk->final, NULL);
	walk_begin(lk);
	return 0;
}

/* The backend does not find node by its names: evidence that one of them is gone. */
static int gone(struct pc_lookup *lk, struct rp_node *node)
{
	if (node == lk->q->start || node == lk->c->tree.root)
		return -ESTALE;
	pc_kill_way(lk->c, node);
	return retry(lk);
}

/* An errno that the backend gave below base: good unless the way there has changed. */
static int believe(struct pc_lookup *lk, int err)
{
	if (!rp_walk_valid(&lk->w) && lk->tries < LOOKUP_TRIES)
		return retry(lk);
	return err;
}

static int take_found(struct pc_lookup *lk, struct pc_found *f)
{
	swap_held(lk->c, &lk->answer, f->node);
	lk->w.inject = f->node;
	lk->w.inject_slot = f->slot;
	lk->w.inject_id = f->id;
	return 0;
}

static int on_miss(struct pc_lookup *lk)
{
	struct pc_found f;
	bool again = lk->missed == lk->w.p;
	int rc = pc_fill_name(lk->c, lk->base, lk->w.p, lk->w.len, lk->w.cred, &f);

	if (rc == -ESTALE)
		return gone(lk, lk->base);
	if (rc == -ENOENT)
		return believe(lk, rc);
	if (rc)
		return rc;
	if (f.list) {
		pc_node_hold(lk->base);
		swap_held(lk->c, &lk->lists, lk->base);
	}
	lk->missed = lk->w.p;
	if (f.kept && !again) {
		/* The table has it: so the walk knows the very name it went through. */
		swap_held(lk->c, &lk->answer, f.node);
		return 0;
	}
	return f.node ? take_found(lk, &f) : believe(lk, -ENOENT);
}

static int on_start(struct pc_lookup *lk)
{
	struct rp_perm perm;
	uint32_t flags;
	bool distrust = lk->w.flags & RP_W_DISTRUST;
	int rc;

	if (!lk->locked && !distrust && pc_start_known(lk->c, lk->base))
		return atomic_load_explicit(&lk->c->tree.subtree_stamp, memory_order_relaxed) ==
		                       lk->w.subtree
		               ? 0
		               : retry(lk);
	if (lk->q->cached)
		return -EAGAIN;
	lk->asked = true;
	pc_count(lk->c, PC_ASKED_START);
	rc = pc_fill_start(lk->c, lk->base, lk->w.cred, &perm, &flags);
	if (rc == -ESTALE)
		return gone(lk, lk->base);
	if (rc == -EAGAIN && !lk->locked && !distrust)
		return retry(lk);
	if (rc && rc != -EAGAIN)
		return rc;
	if (lk->locked || distrust) {
		/* Changes come faster than answers: this one must do, for this call. */
		pc_node_hold(lk->base);
		swap_held(lk->c, &lk->trusted, lk->base);
		lk->w.trusted.dir = lk->base;
		lk->w.trusted.perm = perm;
		lk->w.trusted.flags = flags;
	}
	return 0;
}

static int on_parent(struct pc_lookup *lk)
{
	struct pc_found f;
	int rc = pc_fill_parent(lk->c, lk->base, lk->w.cred, &f);

	if (rc == -ESTALE)
		return gone(lk, lk->base);
	if (rc)
		return rc;
	pc_node_hold(f.node);
	swap_held(lk->c, &lk->parent, f.node);
	return take_found(lk, &f);
}

static int on_perm(struct pc_lookup *lk)
{
	int rc = pc_fill_access(lk->c, lk->base, 1 /* X_OK */, lk->w.cred);

	if (rc == -ESTALE)
		return gone(lk, lk->base);
	if (rc)
		return believe(lk, rc);
	lk->w.perm_ok = true;
	return 0;
}

static int on_kernel(struct pc_lookup *lk)
{
	uint64_t flags = lk->q->flags | (lk->w.must_dir ? PATHCACHE_DIRECTORY : 0);
	struct pc_found f;
	int rc = pc_fill_kernel(lk->c, lk->base, lk->w.p, flags, lk->w.cred, &f);

	if (rc == -ESTALE)
		return gone(lk, lk->base);
	if (rc)
		return believe(lk, rc);
	swap_held(lk->c, &lk->answer, f.node);
	pc_node_hold(f.node);
	swap_held(lk->c, &lk->final, f.node);
	return 0;
}

static int on_attr(struct pc_lookup *lk, struct rp_node *node)
{
	int rc = pc_fill_attr(lk->c, node, lk->w.cred, &lk->attr, &lk->attr_flags);

	/* Whatever attr holds after an error, it is nobody's. */
	swap_held(lk->c, &lk->fresh, rc ? NULL : node);
	if (!rc)
		pc_node_hold(node);
	return rc;
}

static int on_access(struct pc_lookup *lk, struct rp_node *node)
{
	int rc;

	if (rp_node_flags(node) & RP_N_ACL_UNKNOWN) {
		rc = pc_fill_acl(lk->c, node);
	} else {
		rc = pc_fill_access(lk->c, node, lk->q->amode, lk->w.cred);
		if (rc == 0) {
			lk->allowed = node;
		} else if (rc != -ESTALE) {
			rc = believe(lk, rc);
		}
	}
	return rc;
}

static int on_path(struct pc_lookup *lk, struct rp_node *node)
{
	ssize_t n = lk->c->backend->path
	                    ? lk->c->backend->path(lk->c, node, lk->q->out, lk->q->size)
	                    : -ENOENT;

	if (n < 0)
		return (int)n;
	lk->q->result = n;
	return 1;
}

/* The result of a path query: head, then what the last step has put at result. */
static int path_join(struct pc_lookup *lk, const char *head, size_t len)
{
	char *buf = lk->q->out;
	size_t at = (size_t)lk->q->result, tail = lk->q->size - 1 - at;

	if (len == 1 && tail)
		len = 0; /* "/" */
	if (len + tail >= lk->q->size)
		return -ERANGE;
	memmove(buf + len, buf + at, tail);
	memcpy(buf, head, len);
	buf[len + tail] = '\0';
	lk->q->result = (ssize_t)(len + tail);
	return 1;
}

/*
 * Learn the names that lead to a directory: the backend tells its path, and
 * walking that fills them in.
 */
static int on_name(struct pc_lookup *lk, struct rp_node *node)
{
	char path[RP_PATH_MAX];
	struct rp_node *there;
	ssize_t n = lk->c->backend->path ? lk->c->backend->path(lk->c, node, path, sizeof(path))
	                                 : -ENOENT;
	int rc;

	if (n < 0)
		return n == -ESTALE ? gone(lk, node) : (int)n;
	rc = pc_lookup_dir(lk->c, path, &there);
	if (!rc) {
		bool learned = there == node;

		pc_node_put(lk->c, there);
		if (learned && lk->tries < LOOKUP_TRIES)
			return retry(lk);
	}
	/* It cannot be kept, or it moves all the time: true when asked must do. */
	return path_join(lk, path, (size_t)n);
}

/*
 * Did what is missing only expire, a short while ago, and does another thread ask for
 * it? Then the old will do for this call. Context: what leave_with() leaves.
 */
static bool on_stale(struct pc_lookup *lk, enum rp_status st)
{
	const struct rp_node *wanted = lk->wanted;
	uint64_t id = 0;

	if (!lk->c->expiry.stale_ms || lk->q->cached || lk->w.flags & RP_W_DISTRUST)
		return false;
	if (st == RP_NEED_ATTR && lk->stale != wanted->id && pc_fill_stale_attr(lk->c, wanted)) {
		lk->stale = wanted->id;
		return true;
	}
	if (st == RP_MISS)
		id = pc_fill_stale(lk->c, lk->base, lk->w.p, lk->w.len, &lk->stale);
	else if (st == RP_STALE_START)
		id = pc_fill_stale(lk->c, lk->base, NULL, 0, &lk->stale);
	if (!id || id == lk->w.stale)
		return false;
	lk->w.stale = id;
	return true;
}

static enum pc_counter node_counter(enum rp_status st)
{
	if (st == RP_NEED_TEXT)
		return PC_ASKED_TEXT;
	if (st == RP_NEED_ATTR)
		return PC_ASKED_ATTR;
	return st == RP_NEED_ACCESS ? PC_ASKED_LAST : PC_ASKED_PATH;
}

/* The walk or the last step needs something of lk->wanted. */
static int on_node(struct pc_lookup *lk, enum rp_status st)
{
	struct rp_node *node = lk->wanted;
	bool ended = lk->ended;
	int rc;

	pc_count(lk->c, node_counter(st));
	if (st == RP_NEED_NAME)
		return on_name(lk, node);
	if (st == RP_NEED_TEXT)
		rc = pc_fill_text(lk->c, node);
	else if (st == RP_NEED_ATTR)
		rc = on_attr(lk, node);
	else if (st == RP_NEED_ACCESS)
		rc = on_access(lk, node);
	else
		rc = on_path(lk, node);
	if (rc == -ESTALE)
		rc = gone(lk, node);
	else if (rc == 0 && ended && !lk->q->by_node) {
		/* What is in no table would be asked for again by walking again. */
		pc_node_hold(node);
		swap_held(lk->c, &lk->final, node);
	} else if (rc == 0 && !ended && rp_node_flags(node) & RP_N_PRIVATE) {
		/* A link in the way, likewise. */
		pc_node_hold(node);
		swap_held(lk->c, &lk->answer, node);
		lk->w.inject = node;
		lk->w.inject_slot = RP_SLOT_NONE;
	}
	return rc;
}

/*
 * In the stretch, with a status that is no end. Leaves it and answers the
 * status. Return: 0 to go on; 1: lk->q->result is the result; -errno: the answer.
 */
static int answer(struct pc_lookup *lk, enum rp_status st)
{
	bool of_node = st == RP_NEED_TEXT || st == RP_NEED_ATTR || st == RP_NEED_ACCESS ||
	               st == RP_NEED_PATH || st == RP_NEED_NAME;
	int rc;

	if (st == RP_RETRY || st == RP_OK || st == RP_ERR) {
		stretch_end(lk);
		return retry(lk);
	}
	if (st == RP_FULL) {
		stretch_end(lk);
		return -ENOMEM;
	}
	if (lk->q->cached && st != RP_STALE_START) {
		bool valid = rp_walk_valid(&lk->w);

		stretch_end(lk);
		return valid || lk->tries >= LOOKUP_TRIES ? -EAGAIN : retry(lk);
	}
	rc = leave_with(lk, of_node ? lk->w.node : NULL);
	if (rc)
		return rc == -EAGAIN ? retry(lk) : rc;
	if (on_stale(lk, st)) {
		pc_count(lk->c, PC_STALE_SERVED);
		return 0;
	}
	if (st == RP_STALE_START)
		return on_start(lk);
	if (!rp_walk_valid(&lk->w) && lk->tries < LOOKUP_TRIES) {
		/* The way here has changed: not worth a question. */
		return retry(lk);
	}
	lk->asked = true;
	switch (st) {
	case RP_MISS:
		pc_count(lk->c, PC_MISSES);
		return on_miss(lk);
	case RP_NEED_PARENT:
		pc_count(lk->c, PC_ASKED_PARENT);
		return on_parent(lk);
	case RP_NEED_PERM:
		pc_count(lk->c, PC_ASKED_SEARCH);
		return on_perm(lk);
	case RP_KERNEL:
		return on_kernel(lk);
	case RP_NEED_TEXT:
	case RP_NEED_ATTR:
	case RP_NEED_ACCESS:
	case RP_NEED_PATH:
	case RP_NEED_NAME:
		return on_node(lk, st);
	case RP_OK:
	case RP_ERR:
	case RP_STALE_START:
	case RP_FULL:
	case RP_RETRY:
	case RP_TICK:
		break;
	}
	__builtin_unreachable();
}

/* ---- the loop ------------------------------------------------------------ */

/* With changes held off what was walked before a stretch need not hold in it any more. */
static bool rebases(const struct pc_lookup *lk)
{
	return lk->locked && !(lk->q->flags & PC_CONFINED);
}

/* Begin the next stretch. */
static void stretch_next(struct pc_lookup *lk)
{
	if (rebases(lk))
		steps_drop(lk);
	stretch_begin(lk);
	lk->w.leased = false;
	if (!rebases(lk))
		return;
	lk->w.loose = UINT64_MAX;
	lk->w.epoch = atomic_load_explicit(&lk->c->tree.epoch, memory_order_relaxed);
	lk->w.changes = atomic_load_explicit(&lk->c->tree.changes, memory_order_relaxed);
	lk->w.subtree = atomic_load_explicit(&lk->c->tree.subtree_stamp, memory_order_relaxed);
}

static ssize_t run_slow(struct pc_lookup *lk, enum rp_status st)
{
	int rc;

	for (;;) {
		rc = answer(lk, st);
		if (rc)
			return rc < 0 ? rc : lk->q->result;
		stretch_next(lk);
		st = run_once(lk);
		if ((st != RP_OK && st != RP_ERR) || !rp_walk_valid(&lk->w))
			continue;
		stretch_end(lk);
		if (st == RP_OK)
			lk->q->got = lk->q->got_dir = NULL;
		else if (lk->w.listed)
			pc_count(lk->c, PC_LISTED_HITS);
		return lk->q->result;
	}
}

static __attribute__((noinline, cold)) ssize_t lookup_slow(struct pc_lookup *lk, enum rp_status st)
{
	struct rp_node *lists;
	ssize_t rc;
	int cancel;

	if (pc_is_child()) {
		stretch_end(lk);
		lookup_drop(lk);
		return -ECHILD;
	}
	/* Only the application's own code, and waiting for another's, may be cancelled. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pc_thread.cancel = cancel;
	/* What is made from here on, this call has made or might have. */
	lk->w.fresh = rp_tree_now(&lk->c->tree);
	pthread_cleanup_push(lookup_cancelled, lk);
	rc = run_slow(lk, st);
	lists = lk->lists;
	lk->lists = NULL;
	pthread_cleanup_pop(1);
	if (lists)
		pc_list_learn(lk->c, lists);
	if (lk->asked) {
		pc_learn_missed(lk->c);
		pc_upkeep(lk->c);
	} else if (rc == -EAGAIN && lk->q->cached) {
		pc_count(lk->c, PC_DECLINED);
	} else {
		pc_count_hit(pc_counts(lk->c->tally), PC_HITS, rc);
	}
	pthread_setcancelstate(cancel, NULL);
	return rc;
}

/* ---- all of it ------------------------------------------------------------ */

static __attribute__((noinline)) ssize_t lookup_run(struct pc_lookup *lk)
{
	struct pc_query *q = lk->q;
	struct pc_counts *counts = pc_counts(q->c->tally);
	enum rp_status st;
	bool killed, learns;

	pc_count_in(counts, PC_LOOKUPS);
	if (__builtin_expect(q->c->strict, 0))
		pathcache_sync(q->c);
	pc_read_begin();
	walk_begin(lk);
	st = run_once(lk);
	if ((st != RP_OK && st != RP_ERR) || !rp_walk_valid(&lk->w))
		return lookup_slow(lk, st);
	learns = q->hash && pc_learn_wants(lk, st);
	killed = lk->w.mode != RP_MODE_RCU && steps_put(lk);
	pc_read_end();
	if (__builtin_expect(killed, 0))
		steps_bury(lk);
	if (learns)
		pc_learn(lk, st);
	if (__builtin_expect(lk->more != NULL, 0))
		free(lk->more);
	if (__builtin_expect(lk->w.listed, 0))
		pc_count_in(counts, PC_LISTED_HITS);
	pc_count_hit(counts, PC_HITS, q->result);
	return q->result;
}

ssize_t pc_query_walk(struct pc_query *q)
{
	struct pc_lookup lk;

	if (q->c->mode == RP_MODE_LOCKED && pc_is_child())
		return -ECHILD; /* as in pc_node_put() */
	lookup_init(&lk, q);
	if (q->by_node)
		lk.final = q->start;
	return lookup_run(&lk);
}

ssize_t pc_query_run(struct pc_query *q)
{
	struct rp_memo_key k = pc_query_key(q);

	if (!q->by_node && pc_learns(q->c) && pc_memo_run(q, &k, q->last))
		return q->result;
	q->got = q->got_dir = NULL;
	return pc_query_walk(q);
}
