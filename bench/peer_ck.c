/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Concurrency Kit's ck_ht keyed by full path: open addressing, readers without
 * locks, one writer at a time. It keeps pointers to key and entry only; what
 * was removed is freed after a grace period, so a lookup is a read section.
 */
#include "peer_ck.h"
#include "peers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <urcu/urcu-memb.h>

struct entry {
	struct pathcache_attr attr; /* mask 0: the name is absent */
	char path[];
};

static int create(const struct peer_ops *ops, const struct peer_setup *setup, void **self)
{
	ck_ht_t *table = peer_ck_create(setup->expected);

	(void)ops;
	if (!table)
		return -ENOMEM;
	*self = table;
	return 0;
}

/* The slot that path has in the table. Return: whether it has one. */
static bool find(ck_ht_t *table, const char *path, ck_ht_hash_t *h, ck_ht_entry_t *slot)
{
	uint16_t length = (uint16_t)strlen(path);

	ck_ht_hash(h, table, path, length);
	ck_ht_entry_key_set(slot, path, length);
	return ck_ht_get_spmc(table, *h, slot);
}

static int get(ck_ht_t *table, const char *path, struct pathcache_attr *attr)
{
	ck_ht_entry_t slot;
	ck_ht_hash_t h;
	int result = -ENOENT;

	urcu_memb_read_lock();
	if (find(table, path, &h, &slot)) {
		const struct entry *entry = ck_ht_entry_value(&slot);

		if (entry->attr.mask) {
			*attr = entry->attr;
			result = 0;
		}
	}
	urcu_memb_read_unlock();
	return result;
}

static void answer(void *self, const char *const *paths, size_t n, struct pathcache_attr *attrs,
                   int *results)
{
	for (size_t i = 0; i < n; i++)
		results[i] = get(self, paths[i], &attrs[i]);
}

static int learn(void *self, const char *path, const struct pathcache_attr *attr)
{
	uint16_t length = (uint16_t)strlen(path);
	struct entry *entry = malloc(sizeof(*entry) + length + 1);
	ck_ht_entry_t slot;
	ck_ht_hash_t h;

	if (!entry)
		return -ENOMEM;
	entry->attr = attr ? *attr : (struct pathcache_attr){0};
	strcpy(entry->path, path);
	ck_ht_hash(&h, self, entry->path, length);
	ck_ht_entry_set(&slot, h, entry->path, length, entry);
	if (!ck_ht_put_spmc(self, h, &slot)) {
		free(entry);
		return -EEXIST;
	}
	return 0;
}

static int rekey(void *self, const char *from, const char *to)
{
	struct entry *old;
	ck_ht_entry_t slot;
	ck_ht_hash_t h;
	int error;

	if (!find(self, from, &h, &slot))
		return -ENOENT;
	old = ck_ht_entry_value(&slot);
	error = learn(self, to, &old->attr);
	if (error)
		return error;
	if (!ck_ht_remove_spmc(self, h, &slot))
		return -ENOENT;
	peers_retire(old);
	return 0;
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

const struct peer_ops peer_ck = {
	.mode = "ck",
	.create = create,
	.answer = answer,
	.learn = learn,
	.rekey = rekey,
	.destroy = destroy,
};
