/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Concurrency Kit's ck_ht; readers in a read section, as in peer_ck.c. */
#include "peer_ck.h"
#include "peers.h"
#include "table.h"

#include <errno.h>
#include <stdlib.h>
#include <urcu/urcu-memb.h>

static int create(size_t expected, void **self)
{
	ck_ht_t *table = peer_ck_create(expected);

	if (!table)
		return -ENOMEM;
	*self = table;
	return 0;
}

/* The slot that key has in the table, or NULL. */
static struct table_entry *lookup(ck_ht_t *table, const char *key, ck_ht_hash_t *h,
                                  ck_ht_entry_t *slot)
{
	uint16_t length = (uint16_t)strlen(key);

	ck_ht_hash(h, table, key, length);
	ck_ht_entry_key_set(slot, key, length);
	return ck_ht_get_spmc(table, *h, slot) ? ck_ht_entry_value(slot) : NULL;
}

static bool find(void *self, const char *key, struct answer *answer)
{
	const struct table_entry *entry;
	ck_ht_entry_t slot;
	ck_ht_hash_t h;

	urcu_memb_read_lock();
	entry = lookup(self, key, &h, &slot);
	if (entry)
		table_answer(entry, answer);
	urcu_memb_read_unlock();
	return entry != NULL;
}

static int put(void *self, struct table_entry *entry)
{
	uint16_t length = (uint16_t)strlen(entry->key);
	ck_ht_entry_t slot;
	ck_ht_hash_t h;

	ck_ht_hash(&h, self, entry->key, length);
	ck_ht_entry_set(&slot, h, entry->key, length, entry);
	return ck_ht_put_spmc(self, h, &slot) ? 0 : -ENOMEM;
}

static void drop(void *self, const char *key)
{
	struct table_entry *entry;
	ck_ht_entry_t slot;
	ck_ht_hash_t h;

	entry = lookup(self, key, &h, &slot);
	if (entry && ck_ht_remove_spmc(self, h, &slot))
		peers_retire(entry);
}

/* Removal leaves the map as it is, so the iterator stays good. */
static size_t scan(void *self, const char *prefix)
{
	ck_ht_iterator_t iter = CK_HT_ITERATOR_INITIALIZER;
	size_t len = strlen(prefix), looked = 0;
	ck_ht_entry_t *slot;

	while (ck_ht_next(self, &iter, &slot)) {
		struct table_entry *entry = ck_ht_entry_value(slot);

		looked++;
		if (table_is_below(entry, prefix, len))
			drop(self, entry->key);
	}
	return looked;
}

static int destroy(void *self)
{
	ck_ht_iterator_t iter = CK_HT_ITERATOR_INITIALIZER;
	ck_ht_entry_t *slot;

	while (ck_ht_next(self, &iter, &slot))
		free(ck_ht_entry_value(slot));
	ck_ht_destroy(self);
	free(self);
	peers_retire_barrier();
	return 0;
}

const struct table_ops table_ck = {
	.create = create,
	.find = find,
	.put = put,
	.drop = drop,
	.scan = scan,
	.destroy = destroy,
};
