/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The cache in each of its modes, and the system call that it stands for. */
#include "peers.h"
#include "recorded.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- caches ---- */

struct cache {
	struct pathcache *cache;
	struct pathcache_how how;
	struct recorded_view view;
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

	for (size_t i = 0; i < n; i++)
		results[i] = pathcache_stat(cache->cache, paths[i], &cache->how, &attrs[i]);
}

static void answer_many(void *self, const char *const *paths, size_t n,
                        struct pathcache_attr *attrs, int *results)
{
	struct cache *cache = self;
	int error = pathcache_stat_many(cache->cache, paths, n, &cache->how, attrs, results);

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

/* ---- the system call ---- */

struct kernel {
	const struct recorded *tree;
	uint64_t flags;
};

static int kernel_create(const struct peer_ops *ops, const struct peer_setup *setup, void **self)
{
	struct kernel *kernel = malloc(sizeof(*kernel));

	(void)ops;
	if (!kernel)
		return -ENOMEM;
	*kernel = (struct kernel){.tree = setup->tree, .flags = setup->flags};
	*self = kernel;
	return 0;
}

static void kernel_answer(void *self, const char *const *paths, size_t n,
                          struct pathcache_attr *attrs, int *results)
{
	const struct kernel *kernel = self;
	struct stat st = {0};

	for (size_t i = 0; i < n; i++) {
		results[i] = recorded_ask_kernel(kernel->tree, paths[i], kernel->flags, &st);
		attrs[i].mode = st.st_mode;
		attrs[i].ino = st.st_ino;
		attrs[i].size = (uint64_t)st.st_size;
	}
}

static int kernel_destroy(void *self)
{
	free(self);
	return 0;
}

const struct peer_ops peer_syscall = {
	.mode = "syscall",
	.create = kernel_create,
	.answer = kernel_answer,
	.destroy = kernel_destroy,
};
