/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The cache of a real tree in each of its modes. Nobody tells it of changes but
 * the replaying program, by the hooks (PATHCACHE_COHERENCE_EXCLUSIVE).
 */
#include "rivals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int create(const struct rival_ops *ops, const struct rival_setup *setup, void **self)
{
	struct pathcache_options options;
	struct pathcache *cache;
	int error;

	pathcache_options_init(&options);
	options.complete_max = setup->complete_max;
	if (ops == &rival_lockref)
		options.mode = PATHCACHE_MODE_LOCKREF;
	else if (ops == &rival_refwalk)
		options.mode = PATHCACHE_MODE_REFWALK;
	else if (ops == &rival_locked)
		options.mode = PATHCACHE_MODE_LOCKED;
	if (ops != &rival_rcu)
		options.memo_share = 0;
	error = pathcache_open(&cache, setup->dir, &options);
	*self = cache;
	return error;
}

static void ask(void *self, enum operation_kind kind, const char *path, struct answer *answer)
{
	static const struct pathcache_how itself = {
		.size = sizeof(itself),
		.flags = PATHCACHE_NOFOLLOW,
	};

	switch (kind) {
	case OPERATION_STAT:
		answer->result = pathcache_stat(self, path, NULL, &answer->attr);
		break;
	case OPERATION_LSTAT:
		answer->result = pathcache_stat(self, path, &itself, &answer->attr);
		break;
	case OPERATION_READLINK:
		answer->length =
			pathcache_readlink(self, path, NULL, answer->text, sizeof(answer->text));
		answer->result = answer->length < 0 ? (int)answer->length : 0;
		break;
	case OPERATION_OPEN:
	case OPERATION_OPENDIR:
	case OPERATION_OPENNF:
		answer->fd = pathcache_open_fd(self, path, kernel_open_flags(kind), NULL);
		answer->result = answer->fd < 0 ? answer->fd : 0;
		break;
	default: /* access, exec */
		answer->result = pathcache_access(self, path, F_OK, NULL);
		break;
	}
}

/* ---- changes ---- */

/* A name in a directory that is held; dir NULL is the root. */
struct place {
	struct pathcache_entry *dir;
	char name[NAME_MAX + 1];
};

static int get_place(struct pathcache *cache, const char *path, struct place *place)
{
	char above[PATH_MAX];
	size_t len = strlen(path), name;

	place->dir = NULL;
	while (len > 1 && path[len - 1] == '/')
		len--;
	for (name = len; name && path[name - 1] != '/';)
		name--;
	if (len - name > NAME_MAX || name >= sizeof(above))
		return -ENAMETOOLONG;
	memcpy(place->name, path + name, len - name);
	place->name[len - name] = '\0';
	memcpy(above, path, name);
	above[name] = '\0';
	return name > 1 ? pathcache_get(cache, above, NULL, &place->dir) : 0;
}

static void put_place(struct pathcache *cache, struct place *place)
{
	if (place->dir)
		pathcache_put(cache, place->dir);
}

static int told_attributes(struct pathcache *cache, const struct change *change)
{
	const struct pathcache_how how = {
		.size = sizeof(how),
		.flags = change->kind == OPERATION_CHMOD ? 0 : PATHCACHE_NOFOLLOW,
	};
	struct pathcache_entry *entry;
	int error = pathcache_get(cache, change->path, &how, &entry);

	if (error)
		return error;
	error = pathcache_changed(cache, entry, NULL);
	pathcache_put(cache, entry);
	return error;
}

static int told_rename(struct pathcache *cache, const struct change *change,
                       const struct place *from)
{
	struct place to;
	int error = get_place(cache, change->to, &to);

	if (error)
		return error;
	error = pathcache_renamed(cache, from->dir, from->name, to.dir, to.name, 0);
	put_place(cache, &to);
	return error;
}

static int told_name(struct pathcache *cache, const struct change *change)
{
	struct place at;
	int error = get_place(cache, change->path, &at);

	if (error)
		return error;
	switch (change->kind) {
	case OPERATION_UNLINK:
	case OPERATION_RMDIR:
		error = pathcache_removed(cache, at.dir, at.name);
		break;
	case OPERATION_RENAME:
		error = told_rename(cache, change, &at);
		break;
	default:
		error = pathcache_created(cache, at.dir, at.name, NULL);
		break;
	}
	put_place(cache, &at);
	return error;
}

static void told(void *self, const struct change *change)
{
	int error;

	if (change->kind >= OPERATION_CHMOD)
		error = told_attributes(self, change);
	else
		error = told_name(self, change);
	/* Always right, where the place cannot be told more closely. */
	if (error)
		pathcache_invalidate_all(self);
}

/* ---- counters ---- */

static void count(void *self, struct rival_counts *counts)
{
	struct pathcache_stats stats = {.size = sizeof(stats)};

	pathcache_get_stats(self, &stats);
	*counts = (struct rival_counts){
		.queries = stats.lookups,
		.hits = stats.hits,
		.restarts = stats.retries,
		.reasons = {{"name", stats.misses},
	                    {"start", stats.asked_start},
	                    {"parent", stats.asked_parent},
	                    {"text", stats.asked_text},
	                    {"attr", stats.asked_attr},
	                    {"search", stats.asked_search},
	                    {"last", stats.asked_last},
	                    {"path", stats.asked_path},
	                    {"passthrough", stats.passthrough},
	                    {"over_budget", stats.over_budget}},
		.nreasons = 10,
	};
}

static int destroy(void *self)
{
	return pathcache_close(self);
}

#define CACHE_RIVAL(name, text) \
	const struct rival_ops name = { \
		.mode = text, \
		.create = create, \
		.ask = ask, \
		.told = told, \
		.count = count, \
		.destroy = destroy, \
	}

CACHE_RIVAL(rival_rcu, "rcu");
CACHE_RIVAL(rival_rcu_walk, "rcu-walk");
CACHE_RIVAL(rival_lockref, "lockref");
CACHE_RIVAL(rival_refwalk, "refwalk");
CACHE_RIVAL(rival_locked, "locked");

bool rival_is_exact(const struct rival_ops *ops)
{
	return ops->create == create;
}
