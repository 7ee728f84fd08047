/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A ck_ht of texts, as all benches make one. Its readers are in a read section. */
#ifndef BENCH_PEER_CK_H
#define BENCH_PEER_CK_H

#include "peer_hash.h"
#include "peers.h"

#include <ck_ht.h>
#include <stdlib.h>

static inline void peer_ck_hash(ck_ht_hash_t *out, const void *key, size_t length, uint64_t seed)
{
	(void)seed;
	out->value = XXH3_64bits(key, length);
}

static inline void *peer_ck_alloc(size_t size)
{
	return malloc(size);
}

/* Of a map: readers may still be in one that growth left behind. */
static inline void peer_ck_free(void *memory, size_t size, bool defer)
{
	(void)size;
	if (defer)
		peers_retire(memory);
	else
		free(memory);
}

/* expected: so many texts it has room for from the start. Return: NULL without memory. */
static inline ck_ht_t *peer_ck_create(size_t expected)
{
	static struct ck_malloc memory = {.malloc = peer_ck_alloc, .free = peer_ck_free};
	ck_ht_t *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	if (ck_ht_init(table, CK_HT_MODE_BYTESTRING | CK_HT_WORKLOAD_DELETE, peer_ck_hash, &memory,
	               2 * expected + 16, 0))
		return table;
	free(table);
	return NULL;
}

#endif
