/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * liburcu's cds_lfht keyed by full path: a wait-free lookup that writes
 * nothing. Entries are attributes and key in one block. Buckets are in one
 * piece and as many as paths from the start, which is its fastest set-up.
 */
#include "peer_hash.h"
#include "peers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <urcu/urcu-memb.h>
#include <urcu/rculfhash.h>

enum {
	BUCKETS_MAX = 1 << 24 /* a bound makes the table one mapping */
};

struct entry {
	struct cds_lfht_node node;
	struct pathcache_attr attr; /* mask 0: the name is absent */
	char path[];
};

static struct entry *entry_of(struct cds_lfht_node *node)
{
	return (struct entry *)((char *)node - offsetof(struct entry, node));
}

static int match(struct cds_lfht_node *node, const void *key)
{
	return !strcmp(entry_of(node)->path, key);
}

static int create(const struct peer_ops *ops, const struct peer_setup *setup, void **self)
{
	unsigned long buckets = 1;
	struct cds_lfht *table;

	(void)ops;
	while (buckets < setup->expected && buckets < BUCKETS_MAX)
		buckets *= 2;
	table = cds_lfht_new_flavor(buckets, 1, BUCKETS_MAX,
	                            CDS_LFHT_AUTO_RESIZE | CDS_LFHT_ACCOUNTING, &urcu_memb_flavor,
	                            NULL);
	if (!table)
		return -ENOMEM;
	*self = table;
	return 0;
}

static struct entry *find(struct cds_lfht *table, const char *path)
{
	struct cds_lfht_iter iter;
	struct cds_lfht_node *node;

	cds_lfht_lookup(table, peer_hash(path), match, path, &iter);
	node = cds_lfht_iter_get_node(&iter);
	return node ? entry_of(node) : NULL;
}

static int get(struct cds_lfht *table, const char *path, struct pathcache_attr *attr)
{
	const struct entry *entry;
	int result = -ENOENT;

	urcu_memb_read_lock();
	entry = find(table, path);
	if (entry && entry->attr.mask) {
		*attr = entry->attr;
		result = 0;
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
	struct entry *entry = malloc(sizeof(*entry) + strlen(path) + 1);

	if (!entry)
		return -ENOMEM;
	cds_lfht_node_init(&entry->node);
	entry->attr = attr ? *attr : (struct pathcache_attr){0};
	strcpy(entry->path, path);
	urcu_memb_read_lock();
	cds_lfht_add(self, peer_hash(path), &entry->node);
	urcu_memb_read_unlock();
	return 0;
}

static int rekey(void *self, const char *from, const char *to)
{
	struct entry *old;
	int error = -ENOENT;

	urcu_memb_read_lock();
	old = find(self, from);
	if (old)
		error = learn(self, to, &old->attr);
	if (!error)
		error = cds_lfht_del(self, &old->node);
	urcu_memb_read_unlock();
	if (!error)
		peers_retire(old);
	return error;
}

static int destroy(void *self)
{
	struct cds_lfht_iter iter;
	struct cds_lfht_node *node;

	urcu_memb_read_lock();
	cds_lfht_for_each(self, &iter, node)
	{
		cds_lfht_del(self, node);
		peers_retire(entry_of(node));
	}
	urcu_memb_read_unlock();
	peers_retire_barrier();
	return cds_lfht_destroy(self, NULL);
}

const struct peer_ops peer_lfht = {
	.mode = "lfht",
	.create = create,
	.answer = answer,
	.learn = learn,
	.rekey = rekey,
	.destroy = destroy,
};
