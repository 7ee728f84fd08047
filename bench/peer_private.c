/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A table keyed by full path for each thread, with no lock, as each process of
 * nginx has its own (open_file_cache). A thread's table is a copy of all that was
 * learned, texts and attributes, so that threads share nothing. It gets a better
 * form than its model, which searches a tree and moves what it found to the front
 * of a list: open addressing, half full, and a hit that stores nothing.
 *
 * Nobody tells it of changes: a rename in one thread would have to reach the
 * tables of all others, and what its model does instead is to ask again after a
 * while. So it answers by the old names while others rename.
 */
#include "peer_hash.h"
#include "peers.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	struct pathcache_attr attr; /* mask 0: the name is absent */
	char path[];
};

struct slot {
	uint64_t hash;
	struct entry *entry; /* NULL: free */
};

struct table {
	struct slot *slots;
	size_t mask; /* slots less 1 */
	size_t count;
	size_t entry_bytes;
};

/* Where path is, or the free slot where it would be. */
static struct slot *find(const struct table *table, const char *path, uint64_t hash)
{
	size_t i = hash & table->mask;

	while (table->slots[i].entry &&
	       (table->slots[i].hash != hash || strcmp(table->slots[i].entry->path, path) != 0))
		i = (i + 1) & table->mask;
	return &table->slots[i];
}

static void drop(struct table *table)
{
	for (size_t i = 0; i <= table->mask; i++)
		free(table->slots[i].entry);
	free(table->slots);
	free(table);
}

static struct table *create_sized(size_t nslots)
{
	struct table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->mask = nslots - 1;
	table->slots = calloc(nslots, sizeof(*table->slots));
	if (!table->slots) {
		free(table);
		return NULL;
	}
	return table;
}

static int create(const struct peer_ops *ops, const struct peer_setup *setup, void **self)
{
	size_t nslots = 16;

	(void)ops;
	/* A few are learned besides. */
	while (nslots < 2 * (setup->expected + 8))
		nslots *= 2;
	*self = create_sized(nslots);
	return *self ? 0 : -ENOMEM;
}

static void answer(void *self, const char *const *paths, size_t n, struct pathcache_attr *attrs,
                   int *results)
{
	const struct table *table = self;

	for (size_t i = 0; i < n; i++) {
		const struct entry *entry = find(table, paths[i], peer_hash(paths[i]))->entry;

		results[i] = entry && entry->attr.mask ? 0 : -ENOENT;
		if (!results[i])
			attrs[i] = entry->attr;
	}
}

static int learn(void *self, const char *path, const struct pathcache_attr *attr)
{
	struct table *table = self;
	uint64_t hash = peer_hash(path);
	struct slot *slot = find(table, path, hash);
	struct entry *entry;

	if (slot->entry)
		return -EEXIST;
	entry = malloc(sizeof(*entry) + strlen(path) + 1);
	if (!entry || table->count == table->mask) {
		free(entry);
		return -ENOMEM;
	}
	entry->attr = attr ? *attr : (struct pathcache_attr){0};
	strcpy(entry->path, path);
	*slot = (struct slot){hash, entry};
	table->count++;
	table->entry_bytes += malloc_usable_size(entry);
	return 0;
}

static int attach(void *self, void **own)
{
	const struct table *all = self;
	struct table *table = create_sized(all->mask + 1);
	int error = table ? 0 : -ENOMEM;

	for (size_t i = 0; i <= all->mask && !error; i++) {
		const struct entry *entry = all->slots[i].entry;

		if (entry)
			error = learn(table, entry->path, &entry->attr);
	}
	if (error && table)
		drop(table);
	*own = table;
	return error;
}

static void detach(void *own)
{
	drop(own);
}

static size_t bytes(void *self)
{
	const struct table *table = self;

	return (table->mask + 1) * sizeof(*table->slots) + table->entry_bytes;
}

static int destroy(void *self)
{
	drop(self);
	return 0;
}

const struct peer_ops peer_private = {
	.mode = "private",
	.create = create,
	.answer = answer,
	.learn = learn,
	.attach = attach,
	.detach = detach,
	.bytes = bytes,
	.destroy = destroy,
};
