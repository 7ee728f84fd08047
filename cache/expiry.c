/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "expiry.h"

#include <string.h>

#include "cache.h"
#include "fork.h"

#define TICK_MAX_MS 1000u /* so that a sleep of the machine is noticed */

#if PC_TESTING
#include "testing.h"

static _Atomic(uint64_t) test_boot_ms;

void pc_test_clock(uint64_t ms, uint64_t slept_ms)
{
	atomic_store_explicit(&test_boot_ms, ms ? ms + slept_ms : 0, memory_order_relaxed);
	atomic_store_explicit(&rp_test_clock_ms, ms, memory_order_relaxed);
}
#endif

uint64_t pc_boot_ms(void)
{
	struct timespec now;

#if PC_TESTING
	uint64_t test = atomic_load_explicit(&test_boot_ms, memory_order_relaxed);

	if (test)
		return test;
#endif
	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- notes ---------------------------------------------------------------- */

static void notes_init(struct pc_notes *n, uint64_t ttl_ms)
{
	n->ttl_ms = ttl_ms;
	n->step_ms = (ttl_ms + PC_NOTES_PART - 1) / PC_NOTES_PART;
	n->n = 0;
}

static void notes_add(struct pc_notes *n, uint64_t stamp, uint64_t now)
{
	if (!n->ttl_ms || (n->n && now - n->at[n->n - 1].ms < n->step_ms))
		return;
	/* The oldest is out of date by now: the others are more than ttl_ms apart. */
	if (n->n == PC_NOTES_MAX)
		memmove(&n->at[0], &n->at[1], --n->n * sizeof(n->at[0]));
	n->at[n->n].stamp = stamp;
	n->at[n->n].ms = now;
	n->n++;
}

/* Numbers at or below are expired at `now`; stamp: the last one that was taken. */
static uint64_t notes_floor(const struct pc_notes *n, uint64_t stamp, uint64_t now)
{
	if (!n->ttl_ms)
		return UINT64_MAX;
	for (uint32_t i = 0; i < n->n; i++)
		if (n->at[i].ms + n->ttl_ms >= now)
			return n->at[i].stamp;
	return stamp;
}

static void note(struct pathcache *c)
{
	struct pc_expiry *e = &c->expiry;
	/* The time first: numbers above the stamp are then younger than that. */
	uint64_t now = pc_boot_ms();
	uint64_t stamp = rp_tree_now(&c->tree);

	for (int i = 0; i < RP_LEASE_KINDS; i++) {
		notes_add(&e->notes[i], stamp, now);
		notes_add(&e->stale[i], stamp, now);
	}
	pc_ages_note(&c->ages, stamp, pc_now_ms());
}

/* ---- floors --------------------------------------------------------------- */

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

void pc_expiry_tick(struct pathcache *c)
{
	struct pc_expiry *e = &c->expiry;
	struct rp_lease *l = &c->tree.lease;
	uint64_t until = rp_clock_ms() + e->tick_ms;
	/* Whoever still uses them is not later than this. */
	uint64_t end = pc_boot_ms() + e->tick_ms + e->late_ms + 1;
	uint64_t stamp = rp_tree_now(&c->tree);

	for (int i = 0; i < RP_LEASE_KINDS; i++)
		atomic_store_explicit(&l->floor[i],
		                      later(e->ended, notes_floor(&e->notes[i], stamp, end)),
		                      memory_order_relaxed);
	/* release [D1]: publishes the floors. Pairs with rp_lease_holds(). */
	atomic_store_explicit(&l->until, until, memory_order_release);
}

bool pc_expiry_refresh(struct pathcache *c, bool locked)
{
	if (rp_lease_holds(&c->tree.lease))
		return true;
	if (pc_is_child())
		return false;
	if (!locked)
		pthread_mutex_lock(&c->lock);
	if (!rp_lease_holds(&c->tree.lease))
		pc_expiry_tick(c);
	if (!locked)
		pthread_mutex_unlock(&c->lock);
	return true;
}

uint64_t pc_expiry_floor(struct pathcache *c, enum rp_lease_kind kind)
{
	pc_expiry_refresh(c, true);
	return rp_lease_floor(&c->tree.lease, kind);
}

uint64_t pc_expiry_stale_floor(struct pathcache *c, enum rp_lease_kind kind)
{
	return later(c->expiry.ended,
	             notes_floor(&c->expiry.stale[kind], rp_tree_now(&c->tree), pc_boot_ms()));
}

void pc_expiry_end(struct pathcache *c)
{
	if (!atomic_load_explicit(&c->expiry.on, memory_order_relaxed))
		return;
	pthread_mutex_lock(&c->lock);
	c->expiry.ended = rp_tree_stamp(&c->tree);
	/* Nor is a question joined that was put before. */
	atomic_store_explicit(&c->inval_stamp, c->expiry.ended, memory_order_relaxed);
	pc_expiry_tick(c);
	pthread_mutex_unlock(&c->lock);
}

bool pc_expired(struct pathcache *c, const struct rp_dentry *d)
{
	return d->flags & RP_D_TTL && d->id <= pc_expiry_floor(c, rp_dentry_lease(d));
}

uint64_t pc_expiry_left(struct pathcache *c, const struct rp_dentry *d)
{
	const struct pc_notes *n = &c->expiry.notes[rp_dentry_lease(d)];
	uint64_t end, now = pc_boot_ms();
	uint32_t i = n->n;

	if (pc_expired(c, d))
		return 0;
	while (i && n->at[i - 1].stamp >= d->id)
		i--;
	end = i ? n->at[i - 1].ms + n->ttl_ms : 0;
	return end > now ? end - now : 0;
}

/* ---- questions ------------------------------------------------------------ */

uint64_t pc_expiry_ask(struct pathcache *c, uint32_t *own)
{
	uint64_t asked;

	*own = 0;
	if (!atomic_load_explicit(&c->expiry.on, memory_order_relaxed))
		return rp_tree_now(&c->tree);
	*own = PC_A_OWN;
	pthread_mutex_lock(&c->lock);
	note(c);
	asked = rp_tree_stamp(&c->tree);
	/* And one for the place of a directory whose permission turns out another. */
	rp_tree_stamp(&c->tree);
	pthread_mutex_unlock(&c->lock);
	return asked;
}

void pc_expiry_note(struct pathcache *c)
{
	atomic_store_explicit(&c->expiry.on, true, memory_order_relaxed);
	note(c);
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void pc_expiry_init(struct pathcache *c, const struct pathcache_options *o)
{
	const uint64_t ttl[RP_LEASE_KINDS] = {
		[RP_LEASE_NAME] = o->name_ttl_ms,
		[RP_LEASE_WAY] = sooner(o->name_ttl_ms, o->attr_ttl_ms),
		[RP_LEASE_ABSENT] = o->negative_ttl_ms,
		[RP_LEASE_ATTR] = o->attr_ttl_ms,
	};
	struct pc_expiry *e = &c->expiry;
	struct timespec res = {0, 0};

	e->stale_ms = o->stale_ms;
	e->tick_ms = TICK_MAX_MS;
	for (int i = 0; i < RP_LEASE_KINDS; i++) {
		notes_init(&e->notes[i], ttl[i]);
		notes_init(&e->stale[i], o->stale_ms && ttl[i] ? ttl[i] + o->stale_ms : 0);
		if (ttl[i])
			e->tick_ms = sooner(e->tick_ms, e->notes[i].step_ms);
	}
	clock_getres(CLOCK_MONOTONIC_COARSE, &res);
	e->late_ms = (uint64_t)(res.tv_nsec + 999999) / 1000000;
	atomic_init(&e->on, o->coherence == PATHCACHE_COHERENCE_TTL ||
	                            o->coherence == PATHCACHE_COHERENCE_EVENTS);
}
