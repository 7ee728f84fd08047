/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The cache in each of its modes. */
#include "peers.h"
#include "recorded.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct cache {
	struct pathcache *cache;
	struct pathcache_how how;
	struct recorded_view view;
	bool access; /* R_OK is asked */
};

static int create(const struct peer_setup *setup, enum pathcache_mode mode, bool memos, void **self)
{
	struct pathcache_options options;
	struct cache *cache = calloc(1, sizeof(*cache));
	int error;

	if (!cache)
		return -ENOMEM;
	pathcache_options_init(&options);
	options.budget = setup->budget;
	options.mode = mode;
	if (!memos)
		options.memo_share = 0;
	cache->how = (struct pathcache_how){.size = sizeof(cache->how), .flags = setup->flags};
	cache->view.tree = setup->tree;
	cache->access = setup->access;
	error = recorded_open(&cache->cache, &cache->view, &options);
	if (error) {
		free(cache);
		return error;
	}
	*self = cache;
	return 0;
}

static int create_rcu(const struct peer_ops *ops, const struct peer_setup *setup, void **self)
{
	(void)ops;
	return create(setup, PATHCACHE_MODE_RCU, true, self);
}

/* Every lookup walks. */
static int create_walk(const struct peer_ops *ops, const struct peer_setup *setup, void **self)
{
	enum pathcache_mode mode = PATHCACHE_MODE_RCU;

	if (ops == &peer_lockref)
		mode = PATHCACHE_MODE_LOCKREF;
	else if (ops == &peer_refwalk)
		mode = PATHCACHE_MODE_REFWALK;
	else if (ops == &peer_locked)
		mode = PATHCACHE_MODE_LOCKED;
	return create(setup, mode, false, self);
}

static void answer(void *self, const char *const *paths, size_t n, struct pathcache_attr *attrs,
                   int *results)
{
	struct cache *cache = self;

	if (cache->access) {
		for (size_t i = 0; i < n; i++)
			results[i] = pathcache_access(cache->cache, paths[i], R_OK, &cache->how);
		return;
	}
	for (size_t i = 0; i < n; i++)
		results[i] = pathcache_stat(cache->cache, paths[i], &cache->how, &attrs[i]);
}

static void answer_many(void *self, const char *const *paths, size_t n,
                        struct pathcache_attr *attrs, int *results)
{
	struct cache *cache = self;
	int error;

	if (cache->access)
		error = pathcache_access_many(cache->cache, paths, n, R_OK, &cache->how, results);
	else
		error = pathcache_stat_many(cache->cache, paths, n, &cache->how, attrs, results);
	for (size_t i = 0; i < n && error; i++)
		results[i] = error;
}

/* Announce both names and ask for the one that is there now, as its user would. */
static int announce(struct cache *cache, const struct peer_move *move, bool back)
{
	const struct pathcache_how how = {.size = sizeof(how), .flags = PATHCACHE_NOFOLLOW};
	struct pathcache_entry *dir = NULL;
	struct pathcache_attr attr;
	char path[512];
	int error = 0;

	if (*move->dir)
		error = pathcache_get(cache->cache, move->dir, NULL, &dir);
	if (!error)
		error = pathcache_invalidate_name(cache->cache, dir, move->from);
	if (!error)
		error = pathcache_invalidate_name(cache->cache, dir, move->to);
	if (dir)
		pathcache_put(cache->cache, dir);
	snprintf(path, sizeof(path), "%s/%s", move->dir, back ? move->from : move->to);
	return error ? error : pathcache_stat(cache->cache, path, &how, &attr);
}

static int move(void *self, const struct peer_move *move, bool back)
{
	struct cache *cache = self;

	if (cache->view.from != move->from) {
		cache->view.dir = recorded_find(cache->view.tree, move->dir);
		cache->view.to = move->to;
		cache->view.from = move->from;
	}
	atomic_store(&cache->view.moved, !back);
	return announce(cache, move, back);
}

static struct pathcache *cache_of(void *self)
{
	struct cache *cache = self;

	return cache->cache;
}

static int destroy(void *self)
{
	struct cache *cache = self;
	int error = pathcache_close(cache->cache);

	if (!error)
		free(cache);
	return error;
}

#define CACHE_PEER(name, text, how_created, how_asked) \
	const struct peer_ops name = { \
		.mode = text, \
		.questions = PEER_STAT | PEER_ACCESS, \
		.create = how_created, \
		.answer = how_asked, \
		.move = move, \
		.cache = cache_of, \
		.destroy = destroy, \
	}

CACHE_PEER(peer_rcu, "rcu", create_rcu, answer);
CACHE_PEER(peer_rcu_walk, "rcu-walk", create_walk, answer);
CACHE_PEER(peer_rcu_many, "rcu-many", create_rcu, answer_many);
CACHE_PEER(peer_lockref, "lockref", create_walk, answer);
CACHE_PEER(peer_refwalk, "refwalk", create_walk, answer);
CACHE_PEER(peer_locked, "locked", create_walk, answer);
