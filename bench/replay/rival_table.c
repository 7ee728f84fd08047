/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tables keyed by full path, used as programs do: what is not known is asked and
 * kept, a change drops what stands under the path as it is spelled, and under its
 * directory's. The rename of a directory needs a scan for all paths that begin with
 * it, and that of a link, which may lead to one. Another spelling, by "..", "//" or a
 * link, is another path, and what a table then answers may be wrong: it is counted.
 */
#include "peers.h"
#include "stat_attr.h"
#include "table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct flat {
	const struct table_ops *ops;
	void *table;
	int root;
	uint64_t queries, hits, unknown, opens, scans, scanned;
};

static int create(const struct rival_ops *ops, const struct rival_setup *setup, void **self)
{
	struct flat *flat = calloc(1, sizeof(*flat));
	int error;

	if (!flat)
		return -ENOMEM;
	flat->ops = ops->arg;
	flat->root = setup->fd;
	error = flat->ops->create(setup->expected, &flat->table);
	if (error)
		free(flat);
	else
		*self = flat;
	return error;
}

/* ---- queries ---- */

static void keep(struct flat *flat, const char *key, const struct answer *answer)
{
	bool text = *key == OPERATION_TEXT && !answer->result;
	size_t len = strlen(key) + 1, more = text ? (size_t)answer->length : 0;
	struct table_entry *entry = malloc(sizeof(*entry) + len + more);

	if (!entry)
		return;
	entry->attr = answer->attr;
	entry->result = answer->result;
	entry->length = (ssize_t)more;
	entry->text = text ? entry->key + len : NULL;
	memcpy(entry->key, key, len);
	if (text)
		memcpy(entry->text, answer->text, more);
	if (flat->ops->put(flat->table, entry))
		free(entry);
}

/* What opens has to be done; that a name is absent can be known. */
static void ask_open(struct flat *flat, enum operation_kind kind, const char *path,
                     struct answer *answer)
{
	if (flat->ops->find(flat->table, path - 1, answer) && answer->result == -ENOENT) {
		flat->hits++;
		return;
	}
	flat->opens++;
	kernel_ask(flat->root, kind, path, answer);
	if (answer->result == -ENOENT) {
		flat->ops->drop(flat->table, path - 1);
		keep(flat, path - 1, answer);
	}
}

static void ask(void *self, enum operation_kind kind, const char *path, struct answer *answer)
{
	struct flat *flat = self;

	flat->queries++;
	if (operation_opens(kind)) {
		ask_open(flat, kind, path, answer);
		return;
	}
	if (flat->ops->find(flat->table, path - 1, answer)) {
		flat->hits++;
		return;
	}
	flat->unknown++;
	/* What answers stat and access alike, whoever of them comes first. */
	if (kind == OPERATION_ACCESS || kind == OPERATION_EXEC)
		kind = OPERATION_STAT;
	kernel_ask(flat->root, kind, path, answer);
	if (kind != OPERATION_READLINK && !answer->result)
		answer->attr = stat_attr(&answer->st);
	keep(flat, path - 1, answer);
}

/* ---- changes ---- */

static void drop_path(struct flat *flat, const char *path, size_t len)
{
	static const char classes[] = {OPERATION_FOLLOWED, OPERATION_ITSELF, OPERATION_TEXT};
	char key[PATH_MAX + 1];

	memcpy(key + 1, path, len);
	key[1 + len] = '\0';
	for (size_t i = 0; i < sizeof(classes); i++) {
		key[0] = classes[i];
		flat->ops->drop(flat->table, key);
	}
}

static void drop_name(struct flat *flat, const char *path)
{
	size_t len = strlen(path);

	drop_path(flat, path, len);
	while (len > 1 && path[len - 1] != '/')
		len--;
	drop_path(flat, path, len > 1 ? len - 1 : 1);
}

static void scan_below(struct flat *flat, const char *path)
{
	flat->scans++;
	flat->scanned += flat->ops->scan(flat->table, path);
}

static void told(void *self, const struct change *change)
{
	struct flat *flat = self;

	drop_name(flat, change->path);
	if (change->to)
		drop_name(flat, change->to);
	/* Below a directory that is made or removed nothing is known but absent names. */
	if (change->directory) {
		scan_below(flat, change->path);
		scan_below(flat, change->to);
	}
}

static void count(void *self, struct rival_counts *counts)
{
	const struct flat *flat = self;

	*counts = (struct rival_counts){
		.queries = flat->queries,
		.hits = flat->hits,
		.reasons = {{"unknown", flat->unknown},
	                    {"open", flat->opens},
	                    {"scans", flat->scans},
	                    {"scanned", flat->scanned}},
		.nreasons = 4,
	};
}

static int destroy(void *self)
{
	struct flat *flat = self;
	int error = flat->ops->destroy(flat->table);

	free(flat);
	return error;
}

#define FLAT_RIVAL(name, text, table) \
	const struct rival_ops name = { \
		.mode = text, \
		.arg = &(table), \
		.create = create, \
		.ask = ask, \
		.told = told, \
		.count = count, \
		.destroy = destroy, \
	}

#if BENCH_HAVE_LFHT
FLAT_RIVAL(rival_lfht, "lfht", table_lfht);
#endif
#if BENCH_HAVE_CK
FLAT_RIVAL(rival_ck, "ck", table_ck);
#endif
#if BENCH_HAVE_GLIB
FLAT_RIVAL(rival_glib, "glib", table_glib);
#endif
