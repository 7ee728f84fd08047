/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "learn.h"

#include <errno.h>
#include <string.h>

#include "evict.h"
#include "fork.h"
#include "hit.h"
#include "reclaim.h"

#define LEARN_TOKENS 64u  /* a thread may save */
#define LEARN_SETS_MIN 8u /* of the first table; it doubles as it fills */
#define LEARN_WAYS_MIN 64u
#define LEARN_BACKLOG \
	(16u << 10) /* bytes, and an eighth of the share, may wait for a grace period */

/* A list through rp_memo.id: no id has the highest bit, so readers see a dead memo. */
#define RETIRED (UINT64_C(1) << 63)

/* ---- memory ------------------------------------------------------------- */

static uint64_t learn_bytes(const struct pathcache *c)
{
	return pc_mem_bytes_of(c->mem, PC_MEM_MEMO);
}

/* May size more bytes be taken? */
static bool within_share(const struct pathcache *c, size_t size)
{
	return learn_bytes(c) + size <= atomic_load_explicit(&c->learn.share, memory_order_relaxed);
}

/* Is there a table, whether or not there is a share just now? */
static bool has_table(const struct pathcache *c)
{
	return rp_memos_array(&c->learn.memos);
}

static void *learn_alloc(struct pathcache *c, size_t size)
{
	size_t cost = pc_mem_cost(c->mem, size);
	bool granted;

	/* The change lock: who keeps names looks at the budget and takes of it under it. */
	pthread_mutex_lock(&c->lock);
	granted = !has_table(c) || (within_share(c, cost) && pc_evict_room(c, cost));
	if (granted)
		pc_mem_count(c->mem, PC_MEM_MEMO, size);
	pthread_mutex_unlock(&c->lock);
	return granted ? pc_alloc_counted(c->mem, PC_MEM_MEMO, size) : NULL;
}

static void learn_free(struct pathcache *c, void *p, size_t size)
{
	pc_free(c->mem, PC_MEM_MEMO, p, size);
}

static struct rp_memo_array *array_make(struct pathcache *c, uint32_t sets, uint32_t lines)
{
	struct rp_memo_array *a = learn_alloc(c, sizeof(*a));

	if (!a)
		return NULL;
	a->line = learn_alloc(c, rp_memo_lines_size(sets, lines));
	if (!a->line) {
		learn_free(c, a, sizeof(*a));
		return NULL;
	}
	a->mask = sets * lines - 1;
	a->lines = lines;
	return a;
}

static size_t array_lines_size(const struct rp_memo_array *a)
{
	return rp_memo_lines_size(rp_memo_sets(a), a->lines);
}

static void array_free(struct pathcache *c, struct rp_memo_array *a)
{
	if (!a)
		return;
	learn_free(c, a->line, array_lines_size(a));
	learn_free(c, a, sizeof(*a));
}

static size_t heads_size(uint32_t n)
{
	return n * sizeof(struct rp_way *);
}

static size_t memo_size(const struct rp_memo *m)
{
	return rp_memo_size(m->len, m->real_len);
}

void pc_learn_init(struct pathcache *c, const struct pathcache_options *o)
{
	struct pc_learn *l = &c->learn;
	uint32_t lines = o->memo_ways / RP_MEMO_LINE;
	struct rp_memo_array *array;
	struct rp_way **heads;

	pthread_mutex_init(&l->lock, NULL);
	if (o->mode != PATHCACHE_MODE_RCU || !o->memo_share)
		return;
	array = array_make(c, LEARN_SETS_MIN, lines);
	heads = array ? learn_alloc(c, heads_size(LEARN_WAYS_MIN)) : NULL;
	if (!heads) {
		array_free(c, array);
		return;
	}
	rp_memos_init(&l->memos, array, heads, LEARN_WAYS_MIN);
	l->percent = o->memo_share;
}

void pc_learn_limit(struct pathcache *c)
{
	atomic_store_explicit(&c->learn.share, pc_budget_own(c) / 100 * c->learn.percent,
	                      memory_order_relaxed);
}

void pc_learn_fini(struct pathcache *c)
{
	struct pc_learn *l = &c->learn;

	if (has_table(c)) {
		array_free(c, rp_memos_array(&l->memos));
		array_free(c, l->memos.next);
		learn_free(c, l->memos.ways, heads_size(l->memos.ways_mask + 1));
	}
	pthread_mutex_destroy(&l->lock);
}

/* ---- retiring; context: memo lock ---------------------------------------- */

static void retire_bytes(struct pathcache *c, size_t size)
{
	pc_retire_bytes(c, size);
	atomic_fetch_add_explicit(&c->learn.retired, pc_mem_cost(c->mem, size),
	                          memory_order_relaxed);
}

static void retire_memo(struct pathcache *c, struct rp_memo *m)
{
	struct rp_way *way = m->way;

	pthread_mutex_lock(&c->lock);
	if (--way->refs == 0) {
		rp_way_remove(&c->learn.memos, way);
		way->next = c->retired.ways;
		c->retired.ways = way;
		retire_bytes(c, rp_way_size(way->n));
	}
	atomic_store_explicit(&m->id, (uintptr_t)c->retired.memos | RETIRED, memory_order_relaxed);
	c->retired.memos = m;
	retire_bytes(c, memo_size(m));
	pthread_mutex_unlock(&c->lock);
}

void pc_learn_free(struct pathcache *c, struct pc_retired *r)
{
	uint64_t bytes = 0;

	while (r->memos) {
		struct rp_memo *m = r->memos;

		r->memos = (struct rp_memo *)(uintptr_t)(atomic_load_explicit(
								 &m->id, memory_order_relaxed) &
		                                         ~RETIRED);
		bytes += pc_mem_cost(c->mem, memo_size(m));
		learn_free(c, m, memo_size(m));
	}
	while (r->ways) {
		struct rp_way *way = r->ways;

		r->ways = way->next;
		bytes += pc_mem_cost(c->mem, rp_way_size(way->n));
		learn_free(c, way, rp_way_size(way->n));
	}
	while (r->memo_arrays) {
		struct rp_memo_array *a = r->memo_arrays;

		r->memo_arrays = a->next;
		bytes += pc_mem_cost(c->mem, array_lines_size(a)) + pc_mem_cost(c->mem, sizeof(*a));
		array_free(c, a);
	}
	atomic_fetch_sub_explicit(&c->learn.retired, bytes, memory_order_relaxed);
}

void pc_learn_clear(struct pathcache *c)
{
	struct rp_memo *m;

	if (!has_table(c))
		return;
	pthread_mutex_lock(&c->learn.lock);
	pc_read_begin();
	while ((m = rp_memos_evict(&c->learn.memos, &c->tree)) != NULL)
		retire_memo(c, m);
	pc_read_end();
	pthread_mutex_unlock(&c->learn.lock);
}

/* What a change made useless, sets in turn. Context: memo lock. */
static void sweep(struct pathcache *c, uint32_t n)
{
	struct pc_learn *l = &c->learn;
	uint64_t epoch = atomic_load_explicit(&c->tree.epoch, memory_order_relaxed);

	if (!l->sweeping && l->swept == epoch)
		return;
	if (!l->sweeping) {
		l->sweeping = true;
		l->swept = epoch;
		l->sweep_set = 0;
	}
	for (; n && l->sweep_set < rp_memo_sets(rp_memos_array(&l->memos)); n--) {
		struct rp_memo *m = rp_memos_take_dead(&l->memos, &c->tree, &l->sweep_set);

		if (m)
			retire_memo(c, m);
	}
	l->sweeping = l->sweep_set < rp_memo_sets(rp_memos_array(&l->memos));
}

/* Is the share exceeded even when all that was retired is freed? Context: memo lock. */
static bool is_over_share(const struct pathcache *c)
{
	return learn_bytes(c) >
	       atomic_load_explicit(&c->learn.share, memory_order_relaxed) +
	               atomic_load_explicit(&c->learn.retired, memory_order_relaxed);
}

bool pc_learn_trim(struct pathcache *c, uint32_t n)
{
	struct rp_memo *m = NULL;
	bool more;

	if (!has_table(c))
		return false;
	pthread_mutex_lock(&c->learn.lock);
	pc_read_begin();
	for (; n && is_over_share(c); n--) {
		m = rp_memos_evict(&c->learn.memos, &c->tree);
		if (!m)
			break;
		retire_memo(c, m);
	}
	sweep(c, n);
	more = (m && is_over_share(c)) || c->learn.sweeping;
	pc_read_end();
	pthread_mutex_unlock(&c->learn.lock);
	return more;
}

/* Is this step, or what this bit stands for, left out? A negative control. */
#if PC_TESTING
#define IS_OMITTED(kind) (atomic_load_explicit(&rp_memo_test_omit, memory_order_relaxed) & (kind))
#define STEP_OMITTED(step) IS_OMITTED((step)->kind)
#else
#define IS_OMITTED(kind) false
#define STEP_OMITTED(step) false
#endif

/* ---- what is worth it ---------------------------------------------------- */

/* Is path as realpath(3) would give it, if no link was followed? */
static bool is_clean(const char *path, size_t len)
{
	if (path[0] != '/' || path[len - 1] == '/')
		return false;
	for (size_t i = 0; i < len; i++) {
		size_t n;

		if (path[i] != '/')
			continue;
		n = rp_component_len(path + i + 1, path + len, path);
		if (n == 0 || (path[i + 1] == '.' && (n == 1 || (n == 2 && path[i + 2] == '.'))))
			return false;
		i += n;
	}
	return true;
}

/* The canonical text that is to stand in a memo; 0: none. */
static size_t real_len_of(const struct pc_query *q)
{
	return q->real && q->result <= (ssize_t)RP_MEMO_PATH_MAX ? (size_t)q->result : 0;
}

/*
 * Is there a memo that lives, and serves as well as one of lk would? What is
 * hit for want of a better one would else be learned again each time.
 */
static bool is_known(const struct pc_lookup *lk)
{
	const struct rp_memo_key k = pc_query_key(lk->q);
	const struct rp_walk *w = &lk->w;
	const struct rp_memo *m = rp_memo_find(rp_memos_array(&lk->c->learn.memos), &k);

	if (!m || !rp_memo_lives(w->tree, m, w->epoch))
		return false;
	if (pc_memo_may_search(lk->c, w->cred, m))
		return m->bits & RP_M_CANON || m->real_len || !real_len_of(lk->q);
	/* The process goes before others. */
	return !(m->bits & RP_M_CAPS) || w->judged & RP_J_CAPS;
}

static bool is_worth(const struct pc_lookup *lk, enum rp_status st)
{
	const struct rp_walk *w = &lk->w;

	if (w->nsteps < 2 || w->nsteps > RP_MEMO_DEPS_MAX || w->loose != UINT64_MAX)
		return false;
	/* Somebody else's permission is not the process's. */
	if (w->judged & RP_J_CRED && w->cred != &lk->c->self && !IS_OMITTED(RP_DEP_PERM))
		return false;
	/* What a start or a root that is private led to cannot be checked later. */
	for (uint32_t i = 0; i < w->nsteps; i++)
		if (w->steps[i].slot == RP_SLOT_NONE)
			return false;
	if (st == RP_ERR && !lk->ended)
		return w->err == -ENOENT || w->err == -ENOTDIR || w->err == -ELOOP;
	return !(rp_node_flags(lk->q->node) & RP_N_NO_ATTR);
}

/* ---- remembering ---------------------------------------------------------- */

/* A way on the stack, to look for its equal by. */
union way_room {
	struct rp_way way;
	char bytes[sizeof(struct rp_way) + RP_MEMO_DEPS_MAX * 12];
};

/*
 * What expires of lk's walk: the lowest id of all steps but that numbered last, 0
 * where none does; and does that one? Return: false when one has died since.
 */
static bool leases_of(struct pc_lookup *lk, uint32_t last, uint64_t *lowest)
{
	struct pathcache *c = lk->c;
	const struct rp_walk *w = &lk->w;
	bool alive = true;

	*lowest = 0;
	lk->last_expires = false;
	if (!w->leased)
		return true;
	pthread_mutex_lock(&c->lock);
	for (uint32_t i = 0; i < w->nsteps && alive; i++) {
		const struct rp_step *s = &w->steps[i];
		const struct rp_dentry *d;

		alive = rp_slot_live(&c->tree.slots, s->slot, s->id);
		d = alive ? rp_owner_dentry(*rp_slot_owner(&c->tree.slots, s->slot)) : NULL;
		if (!d || !(d->flags & RP_D_TTL))
			continue;
		if (i == last)
			lk->last_expires = true;
		else if (!*lowest || s->id < *lowest)
			*lowest = s->id;
	}
	pthread_mutex_unlock(&c->lock);
	return alive;
}

/* All steps of the walk but the one numbered last. */
static void way_draw(const struct rp_walk *w, uint32_t last, const struct rp_node *start,
                     uint64_t lease, struct rp_way *way)
{
	uint32_t slot[RP_MEMO_DEPS_MAX];

	way->n = 0;
	way->start = start;
	way->gen = w->gen;
	way->lease = lease;
	way->subtree = w->below && !IS_OMITTED(RP_DEP_SUBTREE) ? w->subtree + 1 : 0;
	for (uint32_t i = 0; i < w->nsteps; i++) {
		if (i == last || STEP_OMITTED(&w->steps[i]))
			continue;
		way->id[way->n] = w->steps[i].id;
		slot[way->n++] = w->steps[i].slot;
	}
	memcpy(rp_way_slots(way), slot, way->n * sizeof(*slot));
}

static struct rp_way *way_get(struct pathcache *c, const struct rp_way *want, uint64_t epoch)
{
	struct rp_memos *t = &c->learn.memos;
	struct rp_way *way = rp_way_find(t, want);
	uint32_t n = t->ways_mask + 1;
	struct rp_way **heads;

	if (way)
		return way;
	if (t->nways > n && (heads = learn_alloc(c, heads_size(n * 2))) != NULL)
		learn_free(c, rp_ways_grow(t, heads, n * 2), heads_size(n));
	way = learn_alloc(c, rp_way_size(want->n));
	if (!way)
		return NULL;
	memcpy(way, want, rp_way_size(want->n));
	way->refs = 0;
	atomic_init(&way->epoch, epoch);
	rp_way_insert(t, way);
	return way;
}

static void way_drop_unused(struct pathcache *c, struct rp_way *way)
{
	if (way->refs)
		return;
	rp_way_remove(&c->learn.memos, way);
	learn_free(c, way, rp_way_size(way->n));
}

/* The dentry of a step, while it lives; NULL. */
static struct rp_dentry *dentry_of(struct pathcache *c, const struct rp_step *s)
{
	struct rp_dentry *d = NULL;

	pthread_mutex_lock(&c->lock);
	if (rp_slot_live(&c->tree.slots, s->slot, s->id))
		d = rp_owner_dentry(*rp_slot_owner(&c->tree.slots, s->slot));
	pthread_mutex_unlock(&c->lock);
	return d;
}

static struct rp_memo *memo_make(struct pathcache *c, const struct pc_lookup *lk,
                                 const struct rp_memo_key *k, uint32_t last, bool err)
{
	const struct rp_walk *w = &lk->w;
	const struct pc_query *q = lk->q;
	bool omitted = err ? STEP_OMITTED(&w->steps[last]) : IS_OMITTED(RP_DEP_LEAF);
	const struct rp_step *step = &w->steps[omitted ? 0 : last];
	struct rp_dentry *d = err ? dentry_of(c, step) : NULL;
	size_t real_len = real_len_of(q);
	bool canon = !err && !k->start && !w->links && w->root == w->tree->root &&
	             is_clean(k->path, k->len);
	struct rp_memo *m;

	if (err && !d)
		return NULL;
	if (canon)
		real_len = 0;
	m = learn_alloc(c, rp_memo_size(k->len, real_len));
	if (!m || (uintptr_t)m >> 48) {
		/* No room beside it for the tag. */
		learn_free(c, m, rp_memo_size(k->len, real_len));
		return NULL;
	}
	atomic_init(&m->epoch, w->epoch);
	atomic_init(&m->id, step->id);
	m->slot = step->slot;
	if (err)
		m->dentry = d;
	else
		m->node = q->node;
	m->flags = k->flags;
	m->len = (uint16_t)k->len;
	m->err = (int16_t)(err ? w->err : 0);
	m->real_len = (uint16_t)real_len;
	m->bits = (uint8_t)((err        ? RP_M_ERR
	                     : q->named ? RP_M_NAMED
	                                : 0) |
	                    (canon ? RP_M_CANON : 0) | (w->gen ? RP_M_GEN : 0));
	if (!IS_OMITTED(RP_DEP_PERM))
		m->bits |= (uint8_t)((w->judged & RP_J_CRED ? RP_M_CRED : 0) |
		                     (w->judged & RP_J_CAPS ? RP_M_CAPS : 0));
	memcpy(m->path, k->path, k->len);
	if (real_len)
		memcpy(m->path + k->len, q->real, real_len);
	return m;
}

/* Room for more in the table. */
static void feed(struct pathcache *c)
{
	struct rp_memos *t = &c->learn.memos;
	uint32_t sets = rp_memos_want(t);
	struct rp_memo_array *a;

	if (sets) {
		a = array_make(c, sets, rp_memos_array(t)->lines);
		if (a)
			rp_memos_grow(t, a);
	}
	a = rp_memos_migrate(t, &c->tree);
	if (!a)
		return;
	pthread_mutex_lock(&c->lock);
	a->next = c->retired.memo_arrays;
	c->retired.memo_arrays = a;
	retire_bytes(c, array_lines_size(a));
	retire_bytes(c, sizeof(*a));
	pthread_mutex_unlock(&c->lock);
}

static void learn_locked(struct pathcache *c, const struct pc_lookup *lk,
                         const struct rp_memo_key *k, const struct rp_way *want, uint32_t last,
                         bool err, bool force)
{
	struct rp_memo *m, *out = NULL;
	struct rp_way *way = way_get(c, want, lk->w.epoch);

	if (!way)
		return;
	m = memo_make(c, lk, k, last, err);
	if (m) {
		m->way = way;
		m->bits |= (uint8_t)((way->lease ? RP_M_TTL : 0) |
		                     (lk->last_expires ? RP_M_TTL_LAST : 0));
		way->refs++;
		if (!rp_memos_put(&c->learn.memos, &c->tree, m, k, force, &out)) {
			way->refs--;
			learn_free(c, m, memo_size(m));
		}
	}
	way_drop_unused(c, way);
	if (out)
		retire_memo(c, out);
	feed(c);
}

bool pc_learn_waits(const struct pathcache *c)
{
	return atomic_load_explicit(&c->learn.retired, memory_order_relaxed) >
	       atomic_load_explicit(&c->learn.share, memory_order_relaxed) / 8 + LEARN_BACKLOG;
}

/* Make room for later: memory comes back a grace period after one was taken out. */
static void make_room(struct pathcache *c)
{
	struct rp_memo *m;

	if (pc_learn_waits(c))
		return;
	pc_read_begin();
	m = rp_memos_evict(&c->learn.memos, &c->tree);
	if (m)
		retire_memo(c, m);
	pc_read_end();
}

/* Bytes that remembering takes, should its way not be there yet. */
static size_t need_of(const struct pc_lookup *lk)
{
	const struct pc_mem *mem = lk->c->mem;

	return pc_mem_cost(mem, rp_memo_size(lk->q->len, real_len_of(lk->q))) +
	       pc_mem_cost(mem, rp_way_size(lk->w.nsteps));
}

/*
 * May one more be tried? Where that takes what another has, only for a token,
 * and tokens come with misses: where nothing changes hits store nothing.
 */
static bool is_admitted(struct pathcache *c, const struct rp_memo_key *k, size_t need, bool *force)
{
	struct pc_counts *n = pc_counts(c->tally);
	uint32_t tokens = atomic_load_explicit(&n->tokens, memory_order_relaxed);
	bool room;

	pc_read_begin();
	room = rp_memos_room(&c->learn.memos, k) && within_share(c, need) && pc_evict_fits(c, need);
	pc_read_end();
	*force = !room && tokens;
	if (*force)
		atomic_store_explicit(&n->tokens, tokens - 1, memory_order_relaxed);
	return room || *force;
}

void pc_learn_missed(struct pathcache *c)
{
	struct pc_counts *n = pc_counts(c->tally);
	uint32_t tokens = atomic_load_explicit(&n->tokens, memory_order_relaxed);

	if (tokens < LEARN_TOKENS)
		atomic_store_explicit(&n->tokens, tokens + 1, memory_order_relaxed);
}

bool pc_learn_wants(const struct pc_lookup *lk, enum rp_status st)
{
	return is_worth(lk, st) && !is_known(lk) && !pc_is_child();
}

void pc_learn(struct pc_lookup *lk, enum rp_status st)
{
	struct pathcache *c = lk->c;
	bool err = st == RP_ERR && !lk->ended;
	uint32_t last = (err ? lk->w.nsteps : lk->walk_steps) - 1;
	union way_room room;
	struct rp_memo_key k;
	uint64_t lease;
	size_t need;
	int cancel;
	bool force;

	k = pc_query_key(lk->q);
	need = need_of(lk);
	if (!leases_of(lk, last, &lease) || !is_admitted(c, &k, need, &force))
		return;
	way_draw(&lk->w, last, k.start, lease, &room.way);
	if (pthread_mutex_trylock(&c->learn.lock))
		return;
	/* The application's allocator may be a cancellation point. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (within_share(c, need))
		learn_locked(c, lk, &k, &room.way, last, err, force);
	else if (force)
		make_room(c);
	pthread_mutex_unlock(&c->learn.lock);
	pthread_setcancelstate(cancel, NULL);
	if (c->worker.running && pc_learn_waits(c))
		pc_worker_wake(&c->worker);
}

void pc_learn_checked(struct pathcache *c, struct rp_memo *m, uint64_t epoch)
{
	struct pc_counts *n = pc_counts(c->tally);
	uint32_t checks = atomic_load_explicit(&n->checks, memory_order_relaxed) + 1;

	if (atomic_load_explicit(&n->checks_epoch, memory_order_relaxed) != epoch) {
		atomic_store_explicit(&n->checks_epoch, epoch, memory_order_relaxed);
		checks = 0;
	}
	atomic_store_explicit(&n->checks, checks, memory_order_relaxed);
	if (checks >= PC_STAMP_MEMO) {
		rp_memo_stamp(m, epoch);
		pc_count_in(n, PC_MEMO_STAMPS);
	}
	if (checks >= PC_STAMP_WAY &&
	    atomic_load_explicit(&m->way->epoch, memory_order_relaxed) != epoch) {
		rp_way_stamp(m->way, epoch);
		pc_count_in(n, PC_MEMO_STAMPS);
	}
}
