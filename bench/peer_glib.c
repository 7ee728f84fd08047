/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * GLib's GHashTable keyed by full path, under a readers-writer lock: what a
 * program gets that looks no further.
 */
#include "peer_hash.h"
#include "peers.h"

#include <errno.h>
#include <glib.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct table {
	pthread_rwlock_t lock;
	GHashTable *entries;
};

struct entry {
	struct pathcache_attr attr; /* mask 0: the name is absent */
	char path[];
};

static guint hash(gconstpointer path)
{
	return (guint)peer_hash(path);
}

static int create(const struct peer_ops *ops, const struct peer_setup *setup, void **self)
{
	struct table *table = malloc(sizeof(*table));

	(void)ops;
	(void)setup;
	if (!table)
		return -ENOMEM;
	pthread_rwlock_init(&table->lock, NULL);
	/* The key is inside the value and goes with it. */
	table->entries = g_hash_table_new_full(hash, g_str_equal, NULL, free);
	*self = table;
	return 0;
}

static int get(struct table *table, const char *path, struct pathcache_attr *attr)
{
	const struct entry *entry;
	int result = -ENOENT;

	pthread_rwlock_rdlock(&table->lock);
	entry = g_hash_table_lookup(table->entries, path);
	if (entry && entry->attr.mask) {
		*attr = entry->attr;
		result = 0;
	}
	pthread_rwlock_unlock(&table->lock);
	return result;
}

static void answer(void *self, const char *const *paths, size_t n, struct pathcache_attr *attrs,
                   int *results)
{
	for (size_t i = 0; i < n; i++)
		results[i] = get(self, paths[i], &attrs[i]);
}

static int learn_locked(struct table *table, const char *path, const struct pathcache_attr *attr)
{
	struct entry *entry = malloc(sizeof(*entry) + strlen(path) + 1);

	if (!entry)
		return -ENOMEM;
	entry->attr = attr ? *attr : (struct pathcache_attr){0};
	strcpy(entry->path, path);
	g_hash_table_replace(table->entries, entry->path, entry);
	return 0;
}

static int learn(void *self, const char *path, const struct pathcache_attr *attr)
{
	struct table *table = self;
	int error;

	pthread_rwlock_wrlock(&table->lock);
	error = learn_locked(table, path, attr);
	pthread_rwlock_unlock(&table->lock);
	return error;
}

static int rekey(void *self, const char *from, const char *to)
{
	struct table *table = self;
	const struct entry *old;
	int error = -ENOENT;

	pthread_rwlock_wrlock(&table->lock);
	old = g_hash_table_lookup(table->entries, from);
	if (old)
		error = learn_locked(table, to, &old->attr);
	if (!error)
		g_hash_table_remove(table->entries, from);
	pthread_rwlock_unlock(&table->lock);
	return error;
}

static int destroy(void *self)
{
	struct table *table = self;

	g_hash_table_destroy(table->entries);
	pthread_rwlock_destroy(&table->lock);
	free(table);
	return 0;
}

const struct peer_ops peer_glib = {
	.mode = "glib",
	.create = create,
	.answer = answer,
	.learn = learn,
	.rekey = rekey,
	.destroy = destroy,
};
