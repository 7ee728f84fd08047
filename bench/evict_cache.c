/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "evict_cache.h"

#include "evict_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* ---- a namespace for numbers: /dD/fF is object D * FANOUT + F ---- */

enum { FANOUT = 256 };

#define ID_ROOT UINT64_C(1)
#define ID_DIR (UINT64_C(1) << 32)
#define ID_FILE (UINT64_C(1) << 33)

static void numbers_reply(struct pathcache_reply *reply, uint64_t id)
{
	bool file = id >= ID_FILE;

	reply->object.id = id;
	reply->attr = (struct pathcache_attr){
		.mask = PATHCACHE_ATTR_BASIC,
		.mode = file ? S_IFREG | 0644 : S_IFDIR | 0755,
		.nlink = file ? 1 : 2,
		.ino = id,
	};
}

static int numbers_lookup(void *ctx, const struct pathcache_object *dir, const char *name,
                          size_t len, const struct pathcache_cred *cred,
                          struct pathcache_reply *reply)
{
	uint64_t number = strtoul(name + 1, NULL, 10);

	(void)ctx;
	(void)len;
	(void)cred;
	if (dir->id == ID_ROOT)
		numbers_reply(reply, ID_DIR + number);
	else
		numbers_reply(reply, ID_FILE + (dir->id - ID_DIR) * FANOUT + number);
	return 0;
}

static int numbers_getattr(void *ctx, const struct pathcache_object *obj,
                           const struct pathcache_cred *cred, struct pathcache_reply *reply)
{
	(void)ctx;
	(void)cred;
	numbers_reply(reply, obj->id);
	return 0;
}

static int open_numbers(struct pathcache **out, const struct pathcache_options *options)
{
	static const struct pathcache_ops ops = {
		.size = sizeof(ops),
		.lookup = numbers_lookup,
		.getattr = numbers_getattr,
	};
	struct pathcache_reply root = {.size = sizeof(root)};

	numbers_reply(&root, ID_ROOT);
	return pathcache_open_ops(out, &ops, NULL, &root, options);
}

/* ---- both ---- */

static bool is_recorded(const struct evict_cache *space)
{
	return space->requests->traces.count != 0;
}

static uint64_t bytes_of(struct pathcache *cache)
{
	struct pathcache_stats stats = {.size = sizeof(stats)};

	pathcache_get_stats(cache, &stats);
	return stats.bytes;
}

static int open_cache(struct evict_cache *space, uint64_t budget, struct pathcache **out)
{
	struct pathcache_options options;

	pathcache_options_init(&options);
	options.budget = budget;
	return is_recorded(space) ? recorded_open(out, &space->view, &options)
	                          : open_numbers(out, &options);
}

static const char *path_of(const struct evict_cache *space, uint32_t object, char buf[64])
{
	if (is_recorded(space))
		return space->requests->traces.paths[object].path;
	snprintf(buf, 64, "/d%u/f%u", object / FANOUT, object % FANOUT);
	return buf;
}

static void ask(const struct evict_cache *space, struct pathcache *cache, uint32_t object)
{
	const struct pathcache_how how = {.size = sizeof(how), .flags = PATHCACHE_NOFOLLOW};
	struct pathcache_attr attr;
	char buf[64];

	/* Errors are answers too. */
	pathcache_stat(cache, path_of(space, object, buf), &how, &attr);
}

int evict_cache_init(struct evict_cache *space, const struct requests *requests)
{
	*space = (struct evict_cache){.requests = requests, .tree = {.base_fd = -1}};
	space->view.tree = &space->tree;
	return is_recorded(space) ? evict_names_make(&space->tree, &requests->traces) : 0;
}

void evict_cache_fini(struct evict_cache *space)
{
	recorded_fini(&space->tree);
}

int evict_cache_footprint(struct evict_cache *space, uint32_t count, uint64_t *bytes)
{
	const struct requests *requests = space->requests;
	struct pathcache *cache;
	int error = open_cache(space, UINT64_C(1) << 40, &cache);

	if (error)
		return error;
	space->empty = bytes_of(cache);
	for (size_t i = 0; is_recorded(space) && i < requests->count; i++)
		ask(space, cache, requests->object[i]);
	for (uint32_t i = 0; !is_recorded(space) && i < 2 * count; i++)
		ask(space, cache, i % count);
	while (pathcache_maintain(cache, UINT32_MAX) > 0)
		;
	*bytes = bytes_of(cache) - space->empty;
	return pathcache_close(cache);
}

/*
 * The library counts hits of all queries alike. That is what is wanted: objects
 * that are not watched are asked once, and are no hits.
 */
int evict_cache_play(struct evict_cache *space, uint64_t bytes, struct evict_cache_result *result)
{
	const struct requests *requests = space->requests;
	struct pathcache_stats before = {.size = sizeof(before)}, after = before;
	struct pathcache *cache;
	int error;

	*result = (struct evict_cache_result){.budget = space->empty + bytes};
	error = open_cache(space, result->budget, &cache);
	if (error)
		return error;
	for (size_t i = 0; i < requests->count; i++) {
		if (i == requests->from)
			pathcache_get_stats(cache, &before);
		ask(space, cache, requests->object[i]);
		result->queries += i >= requests->from && requests->object[i] < requests->watched;
	}
	pathcache_get_stats(cache, &after);
	result->hits = after.hits - before.hits;
	result->bytes = after.bytes;
	result->dentries = after.dentries;
	result->memos = after.memos;
	result->uncached = after.uncached;
	return pathcache_close(cache);
}
