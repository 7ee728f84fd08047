/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "evict.h"

#include "learn.h"
#include "reclaim.h"
#include "store.h"

#define BACKLOG_LEAST 2048u /* bytes: less is not worth a grace period, if it is to be had */

#define EVICT_EFFORT 8192u /* slots passed in one call; one that is looked at counts for many */
#define EVICT_LOOK 32u     /* for so many */
#define EVICT_SLACK 4096u  /* bytes made free beyond what is wanted, so that not each fill evicts */
#define EVICT_SLACK_PART 1024u /* but no more than this part of the budget */
#define EVICT_PROBATION 5u     /* probation is one part in so many */
#define EVICT_FLIPPED 64u      /* calls */
#define EVICT_REST_MAX 64u     /* calls that do nothing, after some that found nothing */

#define GHOST_MIN 1024u

#if PC_TESTING
_Atomic(uint32_t) pc_evict_test_omit;
#endif

/* ---- limits --------------------------------------------------------------- */

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t load(const _Atomic(uint64_t) *n)
{
	return atomic_load_explicit(n, memory_order_relaxed);
}

void pc_evict_limit(struct pathcache *c, uint64_t budget)
{
	struct pc_clock *k = &c->clock;
	uint64_t own, backlog;

	atomic_store_explicit(&k->budget, budget, memory_order_relaxed);
	own = pc_budget_own(c);
	backlog = max_u64(own / 64, min_u64(own / 16, BACKLOG_LEAST));
	backlog = min_u64(backlog, k->backlog_wanted);
	atomic_store_explicit(&k->backlog, backlog, memory_order_relaxed);
	/* One backlog is freed while the next one fills. */
	atomic_store_explicit(&k->limit, budget - 2 * backlog, memory_order_relaxed);
	k->slack = min_u64(EVICT_SLACK, budget / EVICT_SLACK_PART);
	atomic_store_explicit(&k->negative_limit, own / 100 * k->negative_share,
	                      memory_order_relaxed);
}

void pc_evict_init(struct pathcache *c, const struct pathcache_options *o)
{
	c->clock.backlog_wanted = o->backlog;
	c->clock.negative_share = o->negative_share;
	c->clock.negatives_per_dir = o->negatives_per_dir;
	pc_evict_limit(c, o->budget);
}

void pc_evict_settle(struct pathcache *c)
{
	c->clock.base = pc_mem_bytes(c->mem);
	pc_evict_limit(c, pc_budget(c));
	pc_learn_limit(c);
}

/* ---- fingerprints of what has gone ---------------------------------------- */

/* Of what the name is, not of where it is kept: its directory may go and come back. */
static uint32_t ghost_hash(const struct pathcache *c, const struct rp_dentry *d)
{
	uintptr_t dir = (uintptr_t)(d->dir->object_id ^ d->dir->object_gen ^ d->dir->domain);

	return rp_name_hash(&c->tree.secret, (const struct rp_node *)dir, d->name, d->len);
}

static uint16_t *ghost_at(const struct pc_clock *k, uint32_t hash)
{
	return &k->ghosts[hash & (k->nghosts - 1)];
}

/* Never 0: that is nobody's. */
static uint16_t ghost_print(uint32_t hash)
{
	return (uint16_t)(hash >> 16 | 1);
}

/* As many as there are dentries, while memory allows. */
static void ghosts_feed(struct pathcache *c)
{
	struct pc_clock *k = &c->clock;
	uint32_t n = k->nghosts ? k->nghosts * 2 : GHOST_MIN;
	uint16_t *more;

	if (load(&c->ndentries) <= k->nghosts ||
	    pc_mem_bytes(c->mem) + n * sizeof(*more) > load(&k->budget))
		return;
	more = pc_alloc(c->mem, PC_MEM_TABLE, n * sizeof(*more));
	if (!more)
		return;
	pc_free(c->mem, PC_MEM_TABLE, k->ghosts, k->nghosts * sizeof(*more));
	k->ghosts = more;
	k->nghosts = n;
}

static void ghost_leave(struct pathcache *c, const struct rp_dentry *d)
{
	uint32_t hash = ghost_hash(c, d);

	ghosts_feed(c);
	if (c->clock.nghosts)
		*ghost_at(&c->clock, hash) = ghost_print(hash);
}

void pc_evict_recall(struct pathcache *c, const struct rp_dentry *d)
{
	uint32_t hash;
	uint16_t *at;

	if (!c->clock.nghosts)
		return;
	hash = ghost_hash(c, d);
	at = ghost_at(&c->clock, hash);
	if (*at != ghost_print(hash))
		return;
	*at = 0;
	rp_slot_protect(&c->tree.slots, d->slot, true);
}

void pc_evict_emptied(struct pathcache *c, const struct rp_node *dir)
{
	const struct rp_dentry *d = rp_node_name(dir);

	if (d && !(d->flags & RP_D_LOOSE))
		rp_slot_protect(&c->tree.slots, d->slot, false);
}

void pc_evict_fini(struct pathcache *c)
{
	pc_free(c->mem, PC_MEM_TABLE, c->clock.ghosts, c->clock.nghosts * sizeof(uint16_t));
}

/* ---- the hands ------------------------------------------------------------ */

/* Must d stay, whether or not it was hit? */
static bool is_needed(struct pathcache *c, const struct rp_dentry *d)
{
	struct rp_node *n = d->node;

	if (d->flags & RP_D_LOOSE)
		/* Not for what is below, which no name leads to while nobody asks for its own. */
		return n == c->tree.root || lockref_count(&n->ref);
	if (!n)
		return false;
	if (lockref_count(&n->ref)) {
		pc_count(c, PC_EVICT_HELD);
		return true;
	}
	return rp_node_is_dir(n) && rp_dirnode(n)->nchild;
}

/* Was d hit since this was asked last? */
static bool was_used(struct rp_dentry *d)
{
	bool used = atomic_load_explicit(&d->used, memory_order_relaxed);

	if (used)
		atomic_store_explicit(&d->used, 0, memory_order_relaxed);
	if (d->node && rp_node_flags(d->node) & RP_N_USED) {
		atomic_fetch_and_explicit(&d->node->flags, ~RP_N_USED, memory_order_relaxed);
		used = true;
	}
	return used;
}

/* A hand is at d. Return: whether it is to go. */
static bool judge(struct pathcache *c, struct rp_dentry *d, uint32_t class)
{
	if (pc_unreachable(d))
		return true;
	if (!is_needed(c, d)) {
		if (!was_used(d) || c->clock.forced)
			return true;
		c->clock.moved = true;
	}
	if (!(class & RP_OWNER_PROTECTED))
		rp_slot_protect(&c->tree.slots, d->slot, true);
	return false;
}

static void evict(struct pathcache *c, struct rp_dentry *d, uint32_t class)
{
	if (!(class & RP_OWNER_PROTECTED))
		ghost_leave(c, d);
	pc_count(c, class & RP_OWNER_NEGATIVE ? PC_EVICTED_NEGATIVE : PC_EVICTED);
	pc_forget(c, d);
}

/* Whom a hand goes round for. */
struct round {
	uintptr_t mask;            /* of the class, what counts */
	const struct rp_node *dir; /* only names in it; NULL: all */
};

static const struct round everybody = {.mask = RP_OWNER_PROTECTED};

static bool is_meant(const struct round *r, uintptr_t owner, uint32_t class)
{
	const struct rp_dentry *d = rp_owner_dentry(owner);

	return d && !((rp_owner_class(owner) ^ class) & r->mask) && (!r->dir || d->dir == r->dir);
}

/* Names went, all in one go: before the lock is let go, and anything published. */
static void went(struct pathcache *c)
{
	if (!PC_EVICT_OMITTED(PC_EVICT_OMIT_EPOCH))
		rp_tree_forgot(&c->tree);
}

/*
 * Pass slots from the hand on, up to the first that is meant for r, or the end of
 * those side by side. Return: its owner; 0: none yet.
 */
static uintptr_t hand_pass(struct pathcache *c, const struct round *r, uint32_t class,
                           uint32_t *effort)
{
	const struct rp_slots *s = &c->tree.slots;
	uint32_t *hand = &c->clock.hand[class];
	const uintptr_t *owner;
	uintptr_t found = 0;
	uint32_t n;

	if (*hand == 0 || *hand >= rp_slots_end(s))
		*hand = 1;
	owner = rp_slot_owner(s, *hand);
	n = rp_slots_run(s, *hand);
	if (n > *effort)
		n = *effort;
	for (uint32_t i = 0; i < n; i++)
		if (is_meant(r, owner[i], class)) {
			found = owner[i];
			n = i + 1;
		}
	*hand += n;
	*effort -= n;
	c->clock.passed += n;
	return found;
}

/*
 * Move the hand of class until something goes. Return: whether anything went.
 * *effort: what is left of it.
 */
static bool hand_move(struct pathcache *c, const struct round *r, uint32_t class, uint32_t *effort)
{
	while (*effort) {
		uintptr_t owner = hand_pass(c, r, class, effort);

		if (!owner)
			continue;
		*effort -= *effort < EVICT_LOOK ? *effort : EVICT_LOOK;
		c->clock.looked = true;
		pc_count(c, PC_EVICT_EFFORT);
		if (!judge(c, rp_owner_dentry(owner), rp_owner_class(owner)))
			continue;
		evict(c, rp_owner_dentry(owner), rp_owner_class(owner));
		return true;
	}
	return false;
}

static uint32_t owners(const struct pathcache *c, const struct round *r, uint32_t class)
{
	const uint32_t *n = c->tree.slots.owners;

	return r->mask & RP_OWNER_NEGATIVE ? n[class] : n[class] + n[class ^ RP_OWNER_NEGATIVE];
}

/* One goes, of those on probation or of the protected, whose turn it is, or else of the others. */
static bool evict_one(struct pathcache *c, const struct round *r, uint32_t *effort)
{
	uint32_t class = r->mask & RP_OWNER_NEGATIVE;
	uint32_t probation = owners(c, r, class), protected = owners(c, r, class | 1);

	if (protected && probation * EVICT_PROBATION <= probation + protected)
		class |= RP_OWNER_PROTECTED;
	class ^= c->clock.flip & RP_OWNER_PROTECTED;
	if (owners(c, r, class) && hand_move(c, r, class, effort))
		return true;
	class ^= RP_OWNER_PROTECTED;
	return owners(c, r, class) && hand_move(c, r, class, effort);
}

/*
 * Was nothing found to go the last times? Then the next ones are left out, so
 * that what cannot be kept costs little while all is held.
 */
static bool is_resting(struct pc_clock *k)
{
	if (!k->rest_left)
		return false;
	k->rest_left--;
	return true;
}

/* All of a class may be held: after a failure the others have their turn, for a while. */
static void rest_set(struct pc_clock *k, bool gone)
{
	if (gone) {
		k->rest = 0;
		if (k->flip && ++k->flipped == EVICT_FLIPPED)
			k->flip = 0;
		return;
	}
	k->rest = k->rest ? k->rest * 2 : 1;
	if (k->rest > EVICT_REST_MAX)
		k->rest = EVICT_REST_MAX;
	k->rest_left = k->rest;
	k->flip++;
	k->flipped = 0;
}

static uint64_t alive_bytes(const struct pathcache *c)
{
	uint64_t all = pc_mem_bytes(c->mem), deferred = load(&c->deferred);

	return all > deferred ? all - deferred : 0;
}

/* Would more that goes now come free in time? Else the grace period is awaited first. */
static bool may_defer(const struct pathcache *c)
{
	return load(&c->deferred) <= load(&c->clock.budget) - load(&c->clock.limit);
}

/* Evict until at most target bytes are alive, or effort ends. Return: whether anything went. */
static bool evict_to(struct pathcache *c, uint64_t target)
{
	uint32_t effort = EVICT_EFFORT;
	bool any = false;

	c->clock.looked = c->clock.moved = false;
	while (effort && alive_bytes(c) > target && may_defer(c)) {
		if (!evict_one(c, &everybody, &effort))
			break;
		any = true;
	}
	if (any)
		went(c);
	/* Not where the hands met nobody. */
	if (c->clock.looked)
		rest_set(&c->clock, any || c->clock.moved);
	return any;
}

/* ---- what may be taken ---------------------------------------------------- */

bool pc_evict_fits(const struct pathcache *c, size_t size)
{
	return alive_bytes(c) + size <= load(&c->clock.limit) &&
	       pc_mem_bytes(c->mem) + size <= load(&c->clock.budget);
}

bool pc_evict_room(struct pathcache *c, size_t size)
{
	uint64_t limit = load(&c->clock.limit), want = size + c->clock.slack;

	/* Who only waits for a grace period has not failed to find anything. */
	if (alive_bytes(c) + size > limit && may_defer(c) && !is_resting(&c->clock))
		evict_to(c, limit > want ? limit - want : 0);
	if (pc_mem_bytes(c->mem) + size <= load(&c->clock.budget))
		return true;
	pc_count(c, PC_OVER_BUDGET);
	return false;
}

static const struct round absent_only = {.mask = RP_OWNER_BITS};

static bool is_over_share(const struct pathcache *c, size_t more)
{
	return load(&c->negative_bytes) + more > load(&c->clock.negative_limit);
}

bool pc_evict_room_negative(struct pathcache *c, const struct rp_node *dir, size_t size)
{
	const struct rp_dirnode *d = rp_dirnode_const(dir);
	const struct round here = {.mask = RP_OWNER_BITS, .dir = dir};
	uint32_t effort = EVICT_EFFORT;
	bool gone = false, full;

	while ((full = d->nnegative >= c->clock.negatives_per_dir) || is_over_share(c, size)) {
		if (!evict_one(c, full ? &here : &absent_only, &effort)) {
			pc_count(c, PC_OVER_BUDGET);
			break;
		}
		gone = true;
	}
	if (gone)
		went(c);
	return !full && !is_over_share(c, size) && pc_evict_room(c, size);
}

/* Towards the share of absent names. */
static bool share_step(struct pathcache *c)
{
	uint32_t effort = EVICT_EFFORT;
	bool any = false;

	while (effort && is_over_share(c, 0) && evict_one(c, &absent_only, &effort))
		any = true;
	if (any)
		went(c);
	return any && is_over_share(c, 0);
}

bool pc_evict_step(struct pathcache *c)
{
	uint64_t limit = load(&c->clock.limit);

	return alive_bytes(c) > limit ? evict_to(c, limit) && alive_bytes(c) > limit
	                              : share_step(c);
}

/* By the policy; or, all, whoever comes next. */
static bool shrink_one(struct pathcache *c, bool all, uint32_t *effort)
{
	static const struct round anyone = {.mask = 0};

	return all ? hand_move(c, &anyone, 0, effort) : evict_one(c, &everybody, effort);
}

bool pc_evict_shrink(struct pathcache *c, bool all)
{
	uint64_t round = (uint64_t)rp_slots_end(&c->tree.slots) * RP_OWNER_CLASSES + EVICT_EFFORT;
	uint64_t target = all ? 0 : load(&c->clock.limit), passed = c->clock.passed;
	struct pc_clock *k = &c->clock;
	uint32_t effort = EVICT_EFFORT;
	bool any = false;

	if (alive_bytes(c) <= target) {
		k->vain = 0;
		return share_step(c);
	}
	/* After a round without any, marks that hits leave all the time count no more. */
	k->forced = all || k->vain > round;
	while (alive_bytes(c) > target && shrink_one(c, all, &effort))
		any = true;
	if (any)
		went(c);
	if (any)
		k->vain = !all && k->forced ? round + 1 : 0;
	else
		/* Where there is nobody no slot is passed. */
		k->vain += k->passed > passed ? k->passed - passed : 2 * round + 1;
	k->forced = false;
	k->flip += !any;
	if (k->vain <= 2 * round)
		return true;
	k->vain = 0;
	return false;
}

bool pc_evict_far_over(const struct pathcache *c)
{
	return alive_bytes(c) / 2 > load(&c->clock.limit);
}
