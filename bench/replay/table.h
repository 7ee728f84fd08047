/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a table keyed by full path has to offer for a replay. Keys are a byte that
 * tells what is asked, and the path (see operations.h). One thread changes and asks;
 * a lookup is done as readers of the table have to do it.
 */
#ifndef BENCH_TABLE_H
#define BENCH_TABLE_H

#include "rivals.h"

#include <stddef.h>
#include <string.h>

/* text: of a link, behind the key in the same block; NULL for none. */
struct table_entry {
	struct pathcache_attr attr;
	int result;
	ssize_t length;
	char *text;
	char key[];
};

/*
 * find: copies the answer. Return: whether there is one.
 * put: the entry is the table's then, and there is none of that key. Return: 0; -ENOMEM.
 * drop: the entry of a key, if there is one.
 * scan: drop all entries whose path begins with prefix and a slash. Return: how many
 *   were looked at.
 */
struct table_ops {
	int (*create)(size_t expected, void **self);
	bool (*find)(void *self, const char *key, struct answer *answer);
	int (*put)(void *self, struct table_entry *entry);
	void (*drop)(void *self, const char *key);
	size_t (*scan)(void *self, const char *prefix);
	int (*destroy)(void *self);
};

extern const struct table_ops table_lfht;
extern const struct table_ops table_ck;
extern const struct table_ops table_glib;

static inline void table_answer(const struct table_entry *entry, struct answer *answer)
{
	answer->result = entry->result;
	if (entry->text) {
		memcpy(answer->text, entry->text, (size_t)entry->length);
		answer->length = entry->length;
	} else if (!entry->result) {
		answer->attr = entry->attr;
	}
}

static inline bool table_is_below(const struct table_entry *entry, const char *prefix, size_t len)
{
	return !strncmp(entry->key + 1, prefix, len) && entry->key[1 + len] == '/';
}

#endif
