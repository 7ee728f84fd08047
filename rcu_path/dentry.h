/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * dentry: an immutable binding (directory node, name) -> node, or -> nothing.
 *
 * Whatever changes what a name means kills the dentry and publishes a new one:
 * the directory node keys the children, so a directory is renamed in O(1) and
 * its subtree stays. What a walk needs of a directory (who may search it, is
 * there a stale subtree) is copied into the dentry, so that a component costs
 * one line and the node is not touched.
 *
 * A loose dentry is in no table: it binds a directory whose parent may not be
 * believed (the root, a held directory read again), or a private node to the
 * directory it was found in (RP_D_PLACED). A private node's has RP_SLOT_NONE:
 * it cannot be checked, so only the call that made it may believe it.
 */
#ifndef RP_DENTRY_H
#define RP_DENTRY_H

#include "node.h"
#include "slot.h"
#include "table.h"

#define RP_D_DIR 0x01u        /* node is a directory */
#define RP_D_LINK 0x02u       /* node is a symlink */
#define RP_D_SEARCH_ALL 0x04u /* directory: everybody may search it */
#define RP_D_GEN 0x08u        /* directory: node->gen is not 0 */
#define RP_D_XDEV 0x10u       /* node is on another mount than dir */
#define RP_D_KERNEL 0x20u     /* directory: RP_N_KERNEL */
#define RP_D_LOOSE 0x40u      /* in no table: dir and name, if any, are a hint */
#define RP_D_PLACED 0x80u     /* loose, but dir and name were true when it was made */
#define RP_D_TTL 0x100u       /* expires; see lease.h */

struct rp_dentry {
	struct rp_hlink link;   /* RCU; change lock to write */
	struct rp_node *dir;    /* const after publish */
	uint32_t hash;          /* const after publish */
	uint32_t slot;          /* const after publish */
	uint64_t id;            /* const after publish */
	struct rp_node *node;   /* const after publish; NULL: negative */
	struct rp_dentry *next; /* change lock; next name of node, or retired list */
	uint16_t flags;         /* const after publish; RP_D_* */
	uint8_t len;            /* const after publish */
	_Atomic(uint8_t) used;  /* atomic; a walk ended here since the clock's hand passed */
	char name[];            /* const after publish; no NUL */
};

static inline size_t rp_dentry_size(size_t len)
{
	return offsetof(struct rp_dentry, name) + len;
}

static inline struct rp_dentry *rp_dentry_of(struct rp_hlink *link)
{
	return (struct rp_dentry *)((char *)link - offsetof(struct rp_dentry, link));
}

/* A walk came to d. Stores only the first time, so that a hot one stores nothing. */
static inline void rp_dentry_touch(const struct rp_dentry *d)
{
	if (!atomic_load_explicit(&d->used, memory_order_relaxed))
		atomic_store_explicit(&((struct rp_dentry *)(uintptr_t)d)->used, 1,
		                      memory_order_relaxed);
}

/* Do dir and name say only where node was last seen? fresh: ids above are of this very call. */
static inline bool rp_dentry_is_hint(const struct rp_dentry *d, uint64_t fresh)
{
	return (d->flags & RP_D_LOOSE) && !((d->flags & RP_D_PLACED) && d->id > fresh);
}

/* Does d hold all names of its directory? See listing.h. */
static inline bool rp_dentry_is_listing(const struct rp_dentry *d)
{
	return d->len == 0 && !(d->flags & RP_D_LOOSE);
}

static inline bool rp_dentry_is_negative(const struct rp_dentry *d)
{
	return !d->node && !rp_dentry_is_listing(d);
}

/* The class of d's slot at first. Loose ones are not the clock's. */
static inline uintptr_t rp_dentry_owner_class(const struct rp_dentry *d)
{
	if (d->flags & RP_D_LOOSE)
		return RP_OWNER_PROTECTED;
	return rp_dentry_is_negative(d) ? RP_OWNER_NEGATIVE : 0;
}

static inline enum rp_slot_class rp_dentry_class(const struct rp_dentry *d)
{
	return d->flags & RP_D_DIR ? RP_SLOT_DIR : RP_SLOT_LEAF;
}

#endif
