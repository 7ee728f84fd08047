/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "walk.h"

#include <errno.h>
#include <unistd.h>

#include "listing.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

void rp_walk_begin(struct rp_walk *w, struct rp_node *start, const char *path, size_t len)
{
	/* acquire [E1]: the same of changes; before the epoch, never after it. Pairs with epoch_advance(). */
	w->changes = atomic_load_explicit(&w->tree->changes, memory_order_acquire);
	/* acquire [E1]: all that was killed before this epoch is out of reach. Pairs with epoch_advance(). */
	w->epoch = atomic_load_explicit(&w->tree->epoch, memory_order_acquire);
	w->subtree = atomic_load_explicit(&w->tree->subtree_stamp, memory_order_relaxed);
	w->absolute = path[0] == '/';
	w->cur = w->absolute ? w->root : start;
	w->end = path + len;
	w->p = rp_skip_slashes(path, w->end);
	w->lo = path;
	w->gen = 0;
	w->loose = UINT64_MAX;
	w->nsteps = 0;
	w->nframes = 0;
	w->links = 0;
	w->entered = false;
	w->must_dir = false;
	w->in_text = false;
	w->perm_ok = false;
	w->below = false;
	w->listed = false;
	w->leased = false;
	w->judged = 0;
	w->inject = NULL;
	w->trusted.dir = NULL;
}

bool rp_walk_valid_slow(const struct rp_walk *w)
{
	/* Then all that has died since was forgotten, and true when it was. */
	if (atomic_load_explicit(&w->tree->changes, memory_order_relaxed) == w->changes)
		return true;
	if (atomic_load_explicit(&w->tree->subtree_stamp, memory_order_relaxed) != w->subtree)
		return false;
	if (w->loose <= atomic_load_explicit(&w->tree->loose_stamp, memory_order_relaxed))
		return false;
	for (uint32_t i = 0; i < w->nsteps; i++)
		if (w->steps[i].slot != RP_SLOT_NONE &&
		    !rp_slot_live(&w->tree->slots, w->steps[i].slot, w->steps[i].id))
			return false;
	return true;
}

size_t rp_walk_rest(const struct rp_walk *w, char *buf, size_t size)
{
	size_t need = (size_t)(w->end - w->p), at = need;

	for (uint32_t i = w->nframes; i-- > 0;)
		need += 1 + (size_t)(w->frames[i].end - w->frames[i].p);
	if (!buf || need > size)
		return need;
	memcpy(buf, w->p, at);
	for (uint32_t i = w->nframes; i-- > 0;) {
		size_t n = (size_t)(w->frames[i].end - w->frames[i].p);

		buf[at] = '/';
		memcpy(buf + at + 1, w->frames[i].p, n);
		at += 1 + n;
	}
	return need;
}

void rp_walk_set_rest(struct rp_walk *w, const char *rest, size_t len)
{
	w->end = rest + len;
	w->p = rp_skip_slashes(rest, w->end);
	w->lo = rest;
	w->nframes = 0;
	w->in_text = false;
}

/* ---- steps ------------------------------------------------------------- */

#define step_add(w, slot, id, kind) \
	((void)((w)->steps[(w)->nsteps++] = RP_STEP(id, NULL, slot, kind)))

/* Count the node of the step just added. Return: false when it is dead. */
ALWAYS_INLINE bool step_get(struct rp_walk *w, struct rp_node *node, enum rp_mode mode)
{
	if (!rp_node_get_rcu(node, mode == RP_MODE_LOCKED))
		return false;
	w->steps[w->nsteps - 1].node = node;
	return true;
}

ALWAYS_INLINE bool counts_all(enum rp_mode mode)
{
	return mode == RP_MODE_REFWALK || mode == RP_MODE_LOCKED;
}

ALWAYS_INLINE enum rp_status fail(struct rp_walk *w, int err)
{
	w->err = err;
	return RP_ERR;
}

/* ---- what expires ------------------------------------------------------- */

/* Is d, RP_D_TTL, still believed? RP_OK; RP_MISS; RP_TICK. Out of the way of walks that meet none. */
static __attribute__((noinline)) enum rp_status leased(struct rp_walk *w, const struct rp_dentry *d)
{
	const struct rp_lease *l = &w->tree->lease;

	if (!w->leased) {
		if (!rp_lease_holds(l))
			return RP_TICK;
		for (int i = 0; i < RP_LEASE_KINDS; i++)
			w->floor[i] = rp_lease_floor(l, (enum rp_lease_kind)i);
		w->leased = true;
	}
	if (d->id > w->floor[rp_dentry_lease(d)] || d->id == w->stale)
		return RP_OK;
	/* What this very call has asked for is the answer, however long that took. */
	return d->id > w->fresh && !(w->flags & RP_W_LOOK) ? RP_OK : RP_MISS;
}

/* The same of any dentry. */
ALWAYS_INLINE enum rp_status lasts(struct rp_walk *w, const struct rp_dentry *d)
{
	return __builtin_expect(d->flags & RP_D_TTL, 0) ? leased(w, d) : RP_OK;
}

/* ---- directories ------------------------------------------------------- */

ALWAYS_INLINE void raise_gen(struct rp_walk *w, const struct rp_node *dir)
{
	uint64_t gen = rp_dirnode_gen(dir);

	if (gen > w->gen)
		w->gen = gen;
}

/* rp_tree_anchored(), and what that relies on. */
ALWAYS_INLINE bool anchored(struct rp_walk *w, const struct rp_dentry *d)
{
	const struct rp_dentry *up;

	if (d->flags & RP_D_LOOSE)
		return false;
	if (d->dir == w->tree->root)
		return true;
	up = rp_node_name(d->dir);
	if (up)
		step_add(w, up->slot, up->id, RP_DEP_ANCHOR);
	return up;
}

/*
 * A binding that is not anchored may have missed a change that was announced
 * by a name the table does not have; a private one, any.
 */
ALWAYS_INLINE bool start_fresh(struct rp_walk *w, const struct rp_node *dir,
                               const struct rp_dentry *d)
{
	if (dir == w->tree->root || anchored(w, d))
		return true;
	if (d->slot == RP_SLOT_NONE)
		return d->id > w->fresh;
	if (d->id < w->loose)
		w->loose = d->id;
	return rp_tree_loose_good(w->tree, dir, d);
}

static enum rp_status enter_trusted(struct rp_walk *w, enum rp_mode mode)
{
	w->gen = w->flags & RP_W_DISTRUST
	                 ? w->fresh + 1
	                 : atomic_load_explicit(&w->tree->stamp, memory_order_relaxed);
	w->cur_flags = RP_D_DIR | (w->trusted.flags & RP_N_KERNEL ? RP_D_KERNEL : 0);
	step_add(w, RP_SLOT_NONE, 0, RP_DEP_START);
	if (counts_all(mode) && !step_get(w, w->trusted.dir, mode))
		return RP_RETRY;
	w->entered = true;
	return RP_OK;
}

/* cur becomes a directory not reached by its name: a start, a root, a parent. */
ALWAYS_INLINE enum rp_status enter(struct rp_walk *w, struct rp_node *dir, enum rp_mode mode)
{
	const struct rp_dentry *d;
	enum rp_status st;

	w->cur = dir;
	w->entered = false;
	w->perm_ok = false;
	if (!rp_node_is_dir(dir))
		return fail(w, -ENOTDIR);
	if (dir == w->trusted.dir)
		return enter_trusted(w, mode);
	if (w->flags & RP_W_DISTRUST)
		return RP_STALE_START;
	w->below |= dir != w->tree->root;
	d = rp_node_name(dir);
	if (!d)
		return RP_STALE_START;
	/* acquire [G1]: gen beside it. Pairs with rp_tree_gen(). */
	if (dir != w->tree->root &&
	    atomic_load_explicit(&rp_dirnode(dir)->gen_checked, memory_order_acquire) < w->subtree)
		return RP_STALE_START;
	/* Its own accounts for all above it; that of where the walk came from is not its. */
	w->gen = rp_dirnode_gen(dir);
	st = lasts(w, d);
	if (st != RP_OK)
		return st == RP_TICK ? st : RP_STALE_START;
	if (d->id < w->gen || !start_fresh(w, dir, d))
		return RP_STALE_START;
	w->cur_flags = d->flags;
	step_add(w, d->slot, d->id, RP_DEP_START);
	if (counts_all(mode) && !step_get(w, dir, mode))
		return RP_RETRY;
	w->entered = true;
	return RP_OK;
}

ALWAYS_INLINE enum rp_status may_search(struct rp_walk *w)
{
	struct rp_perm perm;
	uint32_t nf;
	bool trusted;

	if (w->cur_flags & RP_D_SEARCH_ALL)
		return RP_OK;
	if (w->cur_flags & RP_D_KERNEL)
		return RP_KERNEL;
	if (w->perm_ok || (w->flags & RP_W_TRUSTED))
		return RP_OK;
	trusted = w->cur == w->trusted.dir;
	nf = trusted ? w->trusted.flags : rp_node_flags(w->cur);
	if (nf & RP_N_ASK)
		return RP_NEED_PERM;
	if (w->cred->caps & (RP_CAP_DAC_OVERRIDE | RP_CAP_DAC_READ_SEARCH)) {
		w->judged |= RP_J_CAPS;
		return RP_OK;
	}
	if (nf & RP_N_ACL)
		return RP_NEED_PERM;
	w->judged |= RP_J_CRED;
	perm = trusted ? w->trusted.perm : rp_node_perm(w->cur);
	return rp_perm_allows(&perm, w->cred, X_OK) ? RP_OK : fail(w, -EACCES);
}

ALWAYS_INLINE enum rp_status go_up(struct rp_walk *w, enum rp_mode mode)
{
	const struct rp_dentry *self, *up;
	struct rp_node *child = w->cur;
	enum rp_status st;

	if (child == w->root)
		return w->flags & RP_W_BENEATH ? fail(w, -EXDEV) : RP_OK;
	if (w->inject) {
		struct rp_node *parent = w->inject;

		w->inject = NULL;
		w->p = rp_skip_slashes(w->p + 2, w->end);
		if ((w->flags & RP_W_NO_XDEV) && rp_node_mnt(parent) != rp_node_mnt(child))
			return fail(w, -EXDEV);
		return enter(w, parent, mode);
	}
	self = rp_node_name(child);
	if (!self || !self->dir || rp_dentry_is_hint(self, w->fresh) || self->id < w->gen)
		return RP_NEED_PARENT;
	st = lasts(w, self);
	if (st != RP_OK)
		return st == RP_TICK ? st : RP_NEED_PARENT;
	up = rp_node_name(self->dir);
	st = up ? lasts(w, up) : RP_OK;
	if (st == RP_TICK)
		return st;
	step_add(w, self->slot, self->id, RP_DEP_UP);
	if ((w->flags & RP_W_NO_XDEV) && (self->flags & RP_D_XDEV))
		return fail(w, -EXDEV);
	if (!(w->flags & RP_W_DISTRUST) && (!up || up->id < w->gen))
		return RP_NEED_PARENT;
	if (w->flags & RP_W_DISTRUST || st != RP_OK || !start_fresh(w, self->dir, up)) {
		w->p = rp_skip_slashes(w->p + 2, w->end);
		return enter(w, self->dir, mode);
	}
	w->cur = self->dir;
	w->cur_flags = up->flags;
	w->perm_ok = false;
	if (up->flags & RP_D_GEN)
		raise_gen(w, self->dir);
	step_add(w, up->slot, up->id, RP_DEP_PARENT);
	if (counts_all(mode) && !step_get(w, self->dir, mode))
		return RP_RETRY;
	return RP_OK;
}

/* ---- links ------------------------------------------------------------- */

/*
 * The sysctl protected_symlinks: a last link in a sticky directory that all may
 * write is followed only by its owner, or when the directory's owner made it.
 * Source: proc(5).
 */
static enum rp_status may_follow(struct rp_walk *w, struct rp_node *link)
{
	struct rp_perm dir = rp_node_perm(w->cur);
	struct rp_perm l;

	if ((dir.mode & (S_ISVTX | S_IWOTH)) != (S_ISVTX | S_IWOTH))
		return RP_OK;
	w->judged |= RP_J_CRED;
	if (!rp_node_attr_valid(link, w->gen)) {
		w->node = link;
		return RP_NEED_ATTR;
	}
	l = rp_node_perm(link);
	if (l.uid == w->cred->uid || l.uid == dir.uid)
		return RP_OK;
	return fail(w, -EACCES);
}

/* Follow link; rest is what comes behind it in the path it was met in. */
ALWAYS_INLINE enum rp_status follow(struct rp_walk *w, struct rp_node *link, const char *rest,
                                    bool last, enum rp_mode mode)
{
	const struct rp_text *text;
	const char *behind;
	enum rp_status st;

	if (w->links >= RP_LINKS_MAX)
		return fail(w, -ELOOP);
	if (last && w->tree->protected_symlinks) {
		st = may_follow(w, link);
		if (st != RP_OK)
			return st;
	}
	if (w->flags & RP_W_NO_SYMLINKS)
		return fail(w, -ELOOP);
	text = rp_node_text(link);
	if (!text) {
		w->node = link;
		return RP_NEED_TEXT;
	}
	w->links++;
	behind = rp_skip_slashes(rest, w->end);
	if (behind != w->end) {
		w->frames[w->nframes].p = behind;
		w->frames[w->nframes].end = w->end;
		w->nframes++;
	} else if (last && behind != rest) {
		w->must_dir = true;
	}
	w->end = text->bytes + text->len;
	w->p = rp_skip_slashes(text->bytes, w->end);
	w->lo = text->bytes;
	w->in_text = true;
	if (text->len == 0)
		return fail(w, -ENOENT);
	if (text->bytes[0] != '/')
		return RP_OK;
	if (w->flags & RP_W_BENEATH)
		return fail(w, -EXDEV);
	if ((w->flags & RP_W_NO_XDEV) && rp_node_mnt(w->cur) != rp_node_mnt(w->root))
		return fail(w, -EXDEV);
	return enter(w, w->root, mode);
}

/* ---- the walk ---------------------------------------------------------- */

ALWAYS_INLINE const struct rp_dentry *find(const struct rp_walk *w, const char *name, size_t len)
{
	return rp_tree_find(w->tree, w->cur, name, len);
}

ALWAYS_INLINE enum rp_status finish(struct rp_walk *w, struct rp_node *node, uint16_t dflags,
                                    size_t len, enum rp_mode mode)
{
	if ((w->must_dir || (w->flags & RP_W_DIRECTORY)) && !(dflags & RP_D_DIR))
		return fail(w, -ENOTDIR);
	w->node = node;
	w->name = w->p;
	w->len = len;
	if (mode == RP_MODE_LOCKREF) {
		step_add(w, RP_SLOT_NONE, 0, 0);
		if (!step_get(w, node, mode))
			return RP_RETRY;
	}
	return RP_OK;
}

/* name has no binding in cur that may be believed. Is it known that cur has no such name? */
static __attribute__((noinline)) bool listed_absent(struct rp_walk *w, const char *name, size_t len)
{
	const struct rp_dentry *d = NULL;
	uint32_t hash;

	if (atomic_load_explicit(&w->tree->nlistings, memory_order_relaxed))
		d = find(w, "", 0);
	if (!d || d->id < w->gen)
		return false;
	hash = rp_name_hash(&w->tree->secret, w->cur, name, len);
	if (rp_listing_find(rp_listing_of(d), hash, name, len))
		return false;
	step_add(w, d->slot, d->id, RP_DEP_NEGATIVE);
	if (d->id <= w->fresh)
		rp_dentry_touch(d);
	w->listed = true;
	return true;
}

/* The node that name leads to, by the table or by the caller's answer. */
ALWAYS_INLINE enum rp_status child(struct rp_walk *w, const char *name, size_t len,
                                   struct rp_node **node, uint16_t *dflags, enum rp_mode mode)
{
	const struct rp_dentry *d;
	enum rp_status st;

	if (w->inject) {
		*node = w->inject;
		*dflags = rp_dentry_flags_of(w->inject, w->cur);
		step_add(w, w->inject_slot, w->inject_id, 0);
		w->inject = NULL;
	} else {
		d = find(w, name, len);
		if (!d || d->id < w->gen) {
			w->len = len;
			return listed_absent(w, name, len) ? fail(w, -ENOENT) : RP_MISS;
		}
		st = lasts(w, d);
		if (st != RP_OK) {
			w->len = len;
			return st;
		}
		step_add(w, d->slot, d->id,
		         !d->node               ? RP_DEP_NEGATIVE
		         : d->flags & RP_D_DIR  ? RP_DEP_DIR
		         : d->flags & RP_D_LINK ? RP_DEP_LINK
		                                : RP_DEP_LEAF);
		/* What this very call has filled was not hit by it. */
		if (d->id <= w->fresh)
			rp_dentry_touch(d);
		if (!d->node)
			return fail(w, -ENOENT);
		*node = d->node;
		*dflags = d->flags;
	}
	if (counts_all(mode) && !step_get(w, *node, mode))
		return RP_RETRY;
	if ((*dflags & RP_D_XDEV) && (w->flags & RP_W_NO_XDEV))
		return fail(w, -EXDEV);
	return RP_OK;
}

ALWAYS_INLINE bool is_dot(const char *p, size_t len)
{
	return len == 1 && p[0] == '.';
}

ALWAYS_INLINE bool is_dotdot(const char *p, size_t len)
{
	return len == 2 && p[0] == '.' && p[1] == '.';
}

/*
 * One component. Return: RP_OK with *done set at the end of the path.
 */
ALWAYS_INLINE enum rp_status component(struct rp_walk *w, bool *done, enum rp_mode mode)
{
	const char *p = w->p, *end = w->end;
	size_t len = rp_component_len(p, end, w->lo);
	const char *rest = p + len;
	const char *next = rp_skip_slashes(rest, end);
	bool last = next == end && w->nframes == 0;
	struct rp_node *node;
	uint16_t dflags;
	enum rp_status st = may_search(w);

	if (st != RP_OK)
		return st;
	if (*p == '.' && (is_dot(p, len) || is_dotdot(p, len))) {
		if (len == 2 && (st = go_up(w, mode)) != RP_OK)
			return st;
		w->p = next;
		*done = last;
		return last ? finish(w, w->cur, RP_D_DIR, 0, mode) : RP_OK;
	}
	if (len > RP_NAME_MAX)
		return fail(w, -ENAMETOOLONG);
	st = child(w, p, len, &node, &dflags, mode);
	if (st != RP_OK)
		return st;
	if ((dflags & RP_D_LINK) &&
	    (!last || next != rest || w->must_dir || !(w->flags & RP_W_NOFOLLOW)))
		return follow(w, node, rest, last, mode);
	if (last) {
		w->must_dir |= next != rest;
		*done = true;
		return finish(w, node, dflags, len, mode);
	}
	if (!(dflags & RP_D_DIR))
		return fail(w, -ENOTDIR);
	w->cur = node;
	w->cur_flags = dflags;
	w->perm_ok = false;
	w->p = next;
	if (dflags & RP_D_GEN)
		raise_gen(w, node);
	return RP_OK;
}

/*
 * Go through as many plain directories as there are: not the last component, no
 * dots, searchable by all, no link, nothing stale. Whatever is not plain is left
 * to component(). In the RCU modes most of a path is walked here, in registers.
 */
ALWAYS_INLINE void stride(struct rp_walk *w)
{
	const uint16_t mask = RP_D_DIR | RP_D_SEARCH_ALL | RP_D_GEN | RP_D_TTL |
	                      (w->flags & RP_W_NO_XDEV ? RP_D_XDEV : 0);
	const uint16_t want = RP_D_DIR | RP_D_SEARCH_ALL;
	const struct rp_tree *tree = w->tree;
	const struct rp_buckets *b = rp_table_buckets(&tree->dentries);
	struct rp_step *step = w->steps + w->nsteps;
	struct rp_step *const step_end = w->steps + w->max_steps;
	const char *p = w->p, *const end = w->end, *const lo = w->lo;
	struct rp_node *cur = w->cur;
	bool plain = (w->cur_flags & RP_D_SEARCH_ALL) && !w->inject;

	while (plain && p < end && *p != '.' && step < step_end) {
		size_t len = rp_component_len(p, end, lo);
		const struct rp_dentry *d;

		if (len > RP_NAME_MAX || (size_t)(end - p) < len + 2 || p[len + 1] == '/')
			break;
		d = rp_tree_find_in(tree, b, cur, p, len);
		if (!d || d->id < w->gen)
			break;
		if ((d->flags & mask) != want &&
		    ((d->flags & mask) != (want | RP_D_TTL) || leased(w, d) != RP_OK))
			break;
		*step++ = RP_STEP(d->id, NULL, d->slot, RP_DEP_DIR);
		cur = d->node;
		p += len + 1;
	}
	if (p == w->p)
		return;
	w->p = p;
	w->cur = cur;
	w->cur_flags = RP_D_DIR | RP_D_SEARCH_ALL;
	w->perm_ok = false;
	w->nsteps = (uint32_t)(step - w->steps);
}

ALWAYS_INLINE enum rp_status run(struct rp_walk *w, enum rp_mode mode)
{
	bool done = false;
	enum rp_status st;

	if (!w->entered) {
		if (w->absolute && (w->flags & RP_W_BENEATH))
			return fail(w, -EXDEV);
		st = enter(w, w->cur, mode);
		if (st != RP_OK)
			return st;
	}
	while (!done) {
		if (w->p == w->end) {
			if (w->nframes == 0)
				return finish(w, w->cur, RP_D_DIR, 0, mode);
			w->nframes--;
			w->p = w->frames[w->nframes].p;
			w->end = w->frames[w->nframes].end;
			w->lo = w->p;
			continue;
		}
		if (!counts_all(mode))
			stride(w);
		/* A component adds at most five steps. */
		if (w->max_steps - w->nsteps < 5)
			return RP_FULL;
		st = component(w, &done, mode);
		if (st != RP_OK)
			return st;
	}
	return RP_OK;
}

static enum rp_status run_rcu(struct rp_walk *w)
{
	return run(w, RP_MODE_RCU);
}

static enum rp_status run_lockref(struct rp_walk *w)
{
	return run(w, RP_MODE_LOCKREF);
}

static enum rp_status run_refwalk(struct rp_walk *w)
{
	return run(w, RP_MODE_REFWALK);
}

static enum rp_status run_locked(struct rp_walk *w)
{
	return run(w, RP_MODE_LOCKED);
}

enum rp_status rp_walk_run(struct rp_walk *w)
{
	switch (w->mode) {
	case RP_MODE_RCU:
		return run_rcu(w);
	case RP_MODE_LOCKREF:
		return run_lockref(w);
	case RP_MODE_REFWALK:
		return run_refwalk(w);
	case RP_MODE_LOCKED:
		return run_locked(w);
	}
	__builtin_unreachable();
}

enum rp_status rp_walk_lasts(struct rp_walk *w, const struct rp_dentry *d)
{
	return lasts(w, d);
}

/* Put "/" and name before at. Return: false when they do not fit. */
static bool path_prepend(char *buf, size_t *at, const char *name, size_t len)
{
	if (*at < len + 1)
		return false;
	*at -= len;
	memcpy(buf + *at, name, len);
	buf[--*at] = '/';
	return true;
}

enum rp_status rp_walk_path(struct rp_walk *w, struct rp_node *dir, const char *name, size_t len,
                            uint64_t id, char *buf, size_t size, size_t *at)
{
	struct rp_node *const bottom = dir;
	enum rp_status st;
	size_t tail;

	*at = size;
	if (len && !path_prepend(buf, at, name, len))
		return fail(w, -ERANGE);
	tail = *at;
	while (dir != w->tree->root) {
		const struct rp_dentry *d = rp_node_name(dir);

		st = d ? lasts(w, d) : RP_MISS;
		if (st == RP_TICK)
			return st;
		/* Where nothing says so any more, the one at the bottom is asked for: it is held. */
		if (st != RP_OK || rp_dirnode_gen(dir) > id || !d->dir ||
		    rp_dentry_is_hint(d, w->fresh)) {
			w->node = bottom;
			*at = tail;
			return RP_NEED_NAME;
		}
		if (w->nsteps == w->max_steps)
			return RP_FULL;
		step_add(w, d->slot, d->id, RP_DEP_PATH);
		if (!path_prepend(buf, at, d->name, d->len))
			return fail(w, -ERANGE);
		id = d->id < id ? d->id : id;
		dir = d->dir;
	}
	if (rp_dirnode_gen(dir) > id) {
		w->node = bottom;
		*at = tail;
		return RP_NEED_NAME;
	}
	if (*at == size && !path_prepend(buf, at, "", 0))
		return fail(w, -ERANGE);
	return RP_OK;
}
