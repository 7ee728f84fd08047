/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* liburcu's cds_lfht; set up as in peer_lfht.c. */
#include "peer_hash.h"
#include "peers.h"
#include "table.h"

#include <errno.h>
#include <stdlib.h>
#include <urcu/urcu-memb.h>
#include <urcu/rculfhash.h>

enum {
	BUCKETS_MAX = 1 << 24 /* a bound makes the table one mapping */
};

/* Apart from the entry, so that all tables have the same. */
struct link {
	struct cds_lfht_node node;
	struct table_entry *entry;
};

static struct link *link_of(struct cds_lfht_node *node)
{
	return (struct link *)((char *)node - offsetof(struct link, node));
}

static int match(struct cds_lfht_node *node, const void *key)
{
	return !strcmp(link_of(node)->entry->key, key);
}

static int create(size_t expected, void **self)
{
	unsigned long buckets = 1;

	while (buckets < expected && buckets < BUCKETS_MAX)
		buckets *= 2;
	*self = cds_lfht_new_flavor(buckets, 1, BUCKETS_MAX,
	                            CDS_LFHT_AUTO_RESIZE | CDS_LFHT_ACCOUNTING, &urcu_memb_flavor,
	                            NULL);
	return *self ? 0 : -ENOMEM;
}

static struct link *lookup(void *self, const char *key)
{
	struct cds_lfht_iter iter;
	struct cds_lfht_node *node;

	cds_lfht_lookup(self, peer_hash(key), match, key, &iter);
	node = cds_lfht_iter_get_node(&iter);
	return node ? link_of(node) : NULL;
}

static bool find(void *self, const char *key, struct answer *answer)
{
	const struct link *link;

	urcu_memb_read_lock();
	link = lookup(self, key);
	if (link)
		table_answer(link->entry, answer);
	urcu_memb_read_unlock();
	return link != NULL;
}

static int put(void *self, struct table_entry *entry)
{
	struct link *link = malloc(sizeof(*link));

	if (!link)
		return -ENOMEM;
	cds_lfht_node_init(&link->node);
	link->entry = entry;
	urcu_memb_read_lock();
	cds_lfht_add(self, peer_hash(entry->key), &link->node);
	urcu_memb_read_unlock();
	return 0;
}

static void drop_link(void *self, struct link *link)
{
	if (cds_lfht_del(self, &link->node))
		return;
	peers_retire(link->entry);
	peers_retire(link);
}

static void drop(void *self, const char *key)
{
	struct link *link;

	urcu_memb_read_lock();
	link = lookup(self, key);
	if (link)
		drop_link(self, link);
	urcu_memb_read_unlock();
}

static size_t scan(void *self, const char *prefix)
{
	size_t len = strlen(prefix), looked = 0;
	struct cds_lfht_node *node;
	struct cds_lfht_iter iter;

	urcu_memb_read_lock();
	cds_lfht_for_each(self, &iter, node)
	{
		looked++;
		if (table_is_below(link_of(node)->entry, prefix, len))
			drop_link(self, link_of(node));
	}
	urcu_memb_read_unlock();
	return looked;
}

static int destroy(void *self)
{
	struct cds_lfht_node *node;
	struct cds_lfht_iter iter;

	urcu_memb_read_lock();
	cds_lfht_for_each(self, &iter, node)
	{
		drop_link(self, link_of(node));
	}
	urcu_memb_read_unlock();
	peers_retire_barrier();
	return cds_lfht_destroy(self, NULL);
}

const struct table_ops table_lfht = {
	.create = create,
	.find = find,
	.put = put,
	.drop = drop,
	.scan = scan,
	.destroy = destroy,
};
