/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "listing.h"

static_assert(sizeof(struct rp_dentry) % RP_LISTED_UNIT == 0 &&
                      sizeof(struct rp_listing) % RP_LISTED_UNIT == 0,
              "entries are aligned");
static_assert(offsetof(struct rp_listed, name) + RP_NAME_MAX <= RP_LISTED_MAX &&
                      RP_LISTED_MAX % RP_LISTED_UNIT == 0,
              "the longest entry");

/* A third to two thirds of them are taken. */
static uint32_t index_places(uint32_t n)
{
	uint32_t want = n + n / 2, places = 4;

	while (places < want)
		places *= 2;
	return places;
}

size_t rp_listing_size(uint32_t n, size_t bytes)
{
	if (n > UINT32_MAX / 4 || bytes / RP_LISTED_UNIT >= UINT32_MAX / 2)
		return 0;
	return sizeof(struct rp_dentry) + sizeof(struct rp_listing) +
	       index_places(n) * sizeof(uint32_t) + bytes;
}

/* The place of name, or the free one where it would be. */
static uint32_t index_probe(const struct rp_listing *l, uint32_t hash, const char *name, size_t len)
{
	uint32_t i = hash & l->mask;

	for (uint32_t word; (word = l->index[i]) != 0; i = (i + 1) & l->mask) {
		const struct rp_listed *e;

		if ((word ^ hash) & ~l->place)
			continue;
		e = rp_listing_at(l, (size_t)((word & l->place) - 1) * RP_LISTED_UNIT);
		if (e->len == len && rp_name_equal(e->name, name, len))
			return i;
	}
	return i;
}

const struct rp_listed *rp_listing_find(const struct rp_listing *l, uint32_t hash, const char *name,
                                        size_t len)
{
	uint32_t word = l->index[index_probe(l, hash, name, len)];

	return word ? rp_listing_at(l, (size_t)((word & l->place) - 1) * RP_LISTED_UNIT) : NULL;
}

bool rp_listing_init(struct rp_dentry *d, const struct rp_secret *secret, struct rp_node *dir,
                     const void *entries, size_t bytes, uint32_t n)
{
	struct rp_listing *l = rp_listing_of(d);
	const struct rp_listed *e;

	d->dir = dir;
	l->n = n;
	l->mask = index_places(n) - 1;
	l->units = (uint32_t)(bytes / RP_LISTED_UNIT);
	for (l->place = 1; l->place < l->units;)
		l->place = l->place * 2 + 1;
	if (bytes)
		memcpy((char *)(l->index + l->mask + 1), entries, bytes);
	for (size_t at = 0; at < bytes; at += rp_listed_size(e->len)) {
		uint32_t hash, i;

		e = rp_listing_at(l, at);
		hash = rp_name_hash(secret, dir, e->name, e->len);
		i = index_probe(l, hash, e->name, e->len);
		if (l->index[i])
			return false;
		l->index[i] = (hash & ~l->place) | (uint32_t)(at / RP_LISTED_UNIT + 1);
	}
	return true;
}

size_t rp_listing_seek(const struct rp_listing *l, uint64_t cookie)
{
	size_t bytes = rp_listing_bytes(l);

	if (!cookie)
		return 0;
	for (size_t at = 0; at < bytes;) {
		const struct rp_listed *e = rp_listing_at(l, at);

		at += rp_listed_size(e->len);
		if (e->cookie == cookie)
			return at;
	}
	return SIZE_MAX;
}
