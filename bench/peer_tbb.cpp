/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * oneTBB's concurrent_hash_map keyed by full path: any number of readers and
 * writers, a readers-writer lock in each element. It gets its best form: keys are
 * pointers, so that a lookup makes no string, and buckets are there from the
 * start.
 */
#include "peer_hash.h"
#include "peers.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <tbb/concurrent_hash_map.h>

namespace
{

struct by_text {
	std::size_t hash(const char *path) const
	{
		return peer_hash(path);
	}
	bool equal(const char *a, const char *b) const
	{
		return !std::strcmp(a, b);
	}
};

/* mask 0: the name is absent. The map owns the texts of its keys. */
using table = tbb::concurrent_hash_map<char *, pathcache_attr, by_text>;

int create(const struct peer_ops *, const struct peer_setup *setup, void **self)
{
	try {
		*self = new table(setup->expected);
	} catch (const std::exception &) {
		return -ENOMEM;
	}
	return 0;
}

/* Keys of the map can be changed by nobody, though their type does not say so. */
char *as_key(const char *path)
{
	return const_cast<char *>(path);
}

int get(const table *map, const char *path, pathcache_attr *attr)
{
	table::const_accessor found;

	if (!map->find(found, as_key(path)) || !found->second.mask)
		return -ENOENT;
	*attr = found->second;
	return 0;
}

void answer(void *self, const char *const *paths, size_t n, pathcache_attr *attrs, int *results)
{
	const table *map = static_cast<const table *>(self);

	for (size_t i = 0; i < n; i++)
		results[i] = get(map, paths[i], &attrs[i]);
}

int learn(void *self, const char *path, const pathcache_attr *attr)
{
	char *key = strdup(path);
	int error = -ENOMEM;

	if (!key)
		return error;
	try {
		bool added =
			static_cast<table *>(self)->insert({key, attr ? *attr : pathcache_attr{}});

		error = added ? 0 : -EEXIST;
	} catch (const std::exception &) {
	}
	if (error)
		std::free(key);
	return error;
}

int rekey(void *self, const char *from, const char *to)
{
	table *map = static_cast<table *>(self);
	pathcache_attr attr;
	table::accessor old;
	char *key;
	int error;

	if (!map->find(old, as_key(from)))
		return -ENOENT;
	/* An insertion that waited for the element held here would never end. */
	attr = old->second;
	old.release();
	error = learn(self, to, &attr);
	if (error)
		return error;
	map->find(old, as_key(from));
	key = old->first;
	/* Whoever compares with the key holds its bucket, which erase() takes first. */
	map->erase(old);
	std::free(key);
	return 0;
}

int destroy(void *self)
{
	table *map = static_cast<table *>(self);

	for (auto &entry : *map)
		std::free(entry.first);
	delete map;
	return 0;
}

/* C++ warns of members that an initializer leaves out. */
constexpr peer_ops make_ops()
{
	peer_ops ops{};

	ops.mode = "tbb";
	ops.create = create;
	ops.answer = answer;
	ops.learn = learn;
	ops.rekey = rekey;
	ops.destroy = destroy;
	return ops;
}

} // namespace

constinit const struct peer_ops peer_tbb = make_ops();
