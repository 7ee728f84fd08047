/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * listing: all names of a directory, as the backend listed them.
 *
 * Hangs on the binding (directory, "") -> nothing, a dentry like any other but
 * for what stands behind it, and lives as long as that does: what ends the claim
 * that no other name is there kills the dentry, and walks and memos check it by
 * (slot, id). Immutable; published with its dentry (T1).
 *
 *   rp_dentry, no name | rp_listing | index | entries in the backend's order
 *
 * The index has the entries' places by the hash of their names, with as many
 * bits of the hash as the places leave: a name that is not there costs the one
 * line of the index, mostly, and no entry.
 *
 * Any thread, any context; nothing here allocates or blocks.
 */
#ifndef RP_LISTING_H
#define RP_LISTING_H

#include "dentry.h"
#include "name.h"

/* An entry; the next one begins rp_listed_size() bytes behind it. */
struct rp_listed {
	uint64_t ino;
	uint64_t cookie; /* the backend goes on behind it */
	uint8_t len;
	uint8_t type; /* S_IFMT bits >> 12; 0: not known */
	char name[];  /* no NUL */
};

#define RP_LISTED_UNIT 8u  /* bytes; entries begin at multiples */
#define RP_LISTED_MAX 280u /* bytes of the longest */

struct rp_listing {
	uint32_t n;     /* entries */
	uint32_t mask;  /* places of the index, less one */
	uint32_t units; /* of the entries */
	uint32_t
		place; /* bits of an index word that are a place, counted from 1; the rest is hash */
	uint32_t index[]; /* 0: free; an even number, and the entries behind them */
};

static inline size_t rp_listed_size(size_t len)
{
	size_t size = offsetof(struct rp_listed, name) + len;

	return (size + RP_LISTED_UNIT - 1) & ~(size_t)(RP_LISTED_UNIT - 1);
}

static inline struct rp_listing *rp_listing_of(const struct rp_dentry *d)
{
	return (struct rp_listing *)(uintptr_t)(d + 1);
}

static inline const char *rp_listing_entries(const struct rp_listing *l)
{
	return (const char *)(l->index + l->mask + 1);
}

/* The entry at so many bytes from the first. */
static inline const struct rp_listed *rp_listing_at(const struct rp_listing *l, size_t at)
{
	return (const struct rp_listed *)(const void *)(rp_listing_entries(l) + at);
}

static inline size_t rp_listing_bytes(const struct rp_listing *l)
{
	return (size_t)l->units * RP_LISTED_UNIT;
}

/*
 * Bytes of a listing of n entries that take bytes in all, its dentry included; 0:
 * more than it can hold.
 */
size_t rp_listing_size(uint32_t n, size_t bytes);

/* The same of d, whether or not it is a listing. */
static inline size_t rp_dentry_bytes(const struct rp_dentry *d)
{
	const struct rp_listing *l;

	if (!rp_dentry_is_listing(d))
		return rp_dentry_size(d->len);
	l = rp_listing_of(d);
	return rp_listing_size(l->n, rp_listing_bytes(l));
}

/*
 * Make d, zeroed, rp_listing_size(n, bytes) of memory, the listing of dir; entries
 * are copied. Return: false when a name is there twice.
 */
bool rp_listing_init(struct rp_dentry *d, const struct rp_secret *secret, struct rp_node *dir,
                     const void *entries, size_t bytes, uint32_t n);

/* The entry of name, NULL: not there. hash: rp_name_hash() of the directory and name. */
const struct rp_listed *rp_listing_find(const struct rp_listing *l, uint32_t hash, const char *name,
                                        size_t len);

/*
 * Where the entry behind the one with this cookie begins, 0 for the first: bytes
 * from the first entry. SIZE_MAX: no entry has it. Linear.
 */
size_t rp_listing_seek(const struct rp_listing *l, uint64_t cookie);

#endif
