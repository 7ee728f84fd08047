/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * lease: until when that is believed of whose changes nobody tells.
 *
 * Nothing keeps a time of its own. Ids and stamps are numbers of one counter, and
 * of what expires they were taken before the backend was asked; so expired is what
 * is not above a floor. Floors hold up to a moment of the clock; then whoever meets
 * one has it made anew, by cache/expiry.c, which knows when numbers were taken.
 *
 *                  read                       floors made anew
 *  read             -                         D1: who sees the later moment sees the
 *                                             floors that hold until then
 *  made anew                                  the tree's change lock
 *
 * Progress: reading is wait-free. Only what is leased is looked at in this way.
 */
#ifndef RP_LEASE_H
#define RP_LEASE_H

#include <stdalign.h>
#include <time.h>

#include "dentry.h"

enum rp_lease_kind {
	RP_LEASE_NAME,   /* a name that leads to a file */
	RP_LEASE_WAY,    /* ... to a directory or link: with its permission, or owner */
	RP_LEASE_ABSENT, /* a name that leads nowhere */
	RP_LEASE_ATTR,   /* attributes; by their stamp */
	RP_LEASE_KINDS
};

struct rp_lease {
	alignas(64) _Atomic(uint64_t) until;     /* atomic; milliseconds of rp_clock_ms() */
	_Atomic(uint64_t) floor[RP_LEASE_KINDS]; /* atomic; only grow */
};

#if PC_TESTING
extern _Atomic(uint64_t) rp_test_clock_ms; /* 0: the real one */
#endif

/* CLOCK_MONOTONIC as of the kernel's last tick, which no system call is needed for. */
static inline uint64_t rp_clock_ms(void)
{
	struct timespec now;

#if PC_TESTING
	uint64_t test = atomic_load_explicit(&rp_test_clock_ms, memory_order_relaxed);

	if (test)
		return test;
#endif
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* May floors that are loaded from here on be used? */
static inline bool rp_lease_holds(const struct rp_lease *l)
{
	/* acquire [D1]: floors that hold until then. Pairs with pc_expiry_tick(). */
	return rp_clock_ms() < atomic_load_explicit(&l->until, memory_order_acquire);
}

static inline uint64_t rp_lease_floor(const struct rp_lease *l, enum rp_lease_kind kind)
{
	return atomic_load_explicit(&l->floor[kind], memory_order_relaxed);
}

/* What sort of thing d, no listing, is believed as. */
static inline enum rp_lease_kind rp_dentry_lease(const struct rp_dentry *d)
{
	if (!d->node)
		return RP_LEASE_ABSENT;
	return d->flags & (RP_D_DIR | RP_D_LINK) ? RP_LEASE_WAY : RP_LEASE_NAME;
}

static inline enum rp_lease_kind rp_node_lease(const struct rp_node *n)
{
	return S_ISDIR(n->type) || S_ISLNK(n->type) ? RP_LEASE_WAY : RP_LEASE_NAME;
}

#endif
