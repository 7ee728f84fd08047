/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* GLib's GHashTable under a readers-writer lock, as in peer_glib.c. */
#include "peer_hash.h"
#include "table.h"

#include <errno.h>
#include <glib.h>
#include <pthread.h>
#include <stdlib.h>

struct table {
	pthread_rwlock_t lock;
	GHashTable *entries;
};

static guint hash(gconstpointer key)
{
	return (guint)peer_hash(key);
}

static int create(size_t expected, void **self)
{
	struct table *table = malloc(sizeof(*table));

	(void)expected;
	if (!table)
		return -ENOMEM;
	pthread_rwlock_init(&table->lock, NULL);
	/* The key is inside the value and goes with it. */
	table->entries = g_hash_table_new_full(hash, g_str_equal, NULL, free);
	*self = table;
	return 0;
}

static bool find(void *self, const char *key, struct answer *answer)
{
	struct table *table = self;
	const struct table_entry *entry;

	pthread_rwlock_rdlock(&table->lock);
	entry = g_hash_table_lookup(table->entries, key);
	if (entry)
		table_answer(entry, answer);
	pthread_rwlock_unlock(&table->lock);
	return entry != NULL;
}

static int put(void *self, struct table_entry *entry)
{
	struct table *table = self;

	pthread_rwlock_wrlock(&table->lock);
	g_hash_table_replace(table->entries, entry->key, entry);
	pthread_rwlock_unlock(&table->lock);
	return 0;
}

static void drop(void *self, const char *key)
{
	struct table *table = self;

	pthread_rwlock_wrlock(&table->lock);
	g_hash_table_remove(table->entries, key);
	pthread_rwlock_unlock(&table->lock);
}

static size_t scan(void *self, const char *prefix)
{
	struct table *table = self;
	size_t len = strlen(prefix), looked = 0;
	GHashTableIter iter;
	gpointer value;

	pthread_rwlock_wrlock(&table->lock);
	g_hash_table_iter_init(&iter, table->entries);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		looked++;
		if (table_is_below(value, prefix, len))
			g_hash_table_iter_remove(&iter);
	}
	pthread_rwlock_unlock(&table->lock);
	return looked;
}

static int destroy(void *self)
{
	struct table *table = self;

	g_hash_table_destroy(table->entries);
	pthread_rwlock_destroy(&table->lock);
	free(table);
	return 0;
}

const struct table_ops table_glib = {
	.create = create,
	.find = find,
	.put = put,
	.drop = drop,
	.scan = scan,
	.destroy = destroy,
};
