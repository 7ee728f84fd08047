/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "evict_names.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Without "." components, which are no names. */
static void tidy(const char *path, char out[PATH_MAX])
{
	size_t at = 0;

	for (path += strspn(path, "/"); *path; path += strspn(path, "/")) {
		size_t len = strcspn(path, "/");

		if (len != 1 || *path != '.')
			at += (size_t)snprintf(out + at, PATH_MAX - at, "/%.*s", (int)len, path);
		path += len;
	}
	out[at] = '\0';
}

/* path: tidy. dir: what it is in. Return: its item, made where it is missing; RECORDED_NONE. */
static uint32_t make(struct recorded *tree, uint32_t dir, const char *path, uint32_t mode)
{
	struct pathcache_attr like = tree->items[0].attr;
	uint32_t item = recorded_find(tree, path);

	like.mode = mode;
	return item != RECORDED_NONE ? item
	                             : recorded_make(tree, dir, strrchr(path, '/') + 1, &like);
}

/* ---- what was found ---- */

/* Make path's directories, and itself if it is to be one. */
static int make_directories(struct recorded *tree, const char *path, bool itself)
{
	char prefix[PATH_MAX];
	uint32_t dir = 0;

	tidy(path, prefix);
	for (char *at = prefix; *at && dir != RECORDED_NONE;) {
		char *end = strchrnul(at + 1, '/');
		char was = *end;

		if (!was && !itself)
			break;
		*end = '\0';
		dir = make(tree, dir, prefix, S_IFDIR | 0755);
		*end = was;
		at = end;
	}
	return dir == RECORDED_NONE ? -ENOMEM : 0;
}

static int make_file(struct recorded *tree, const char *path)
{
	char file[PATH_MAX], *slash;
	uint32_t dir;

	tidy(path, file);
	slash = strrchr(file, '/');
	if (!slash)
		return 0;
	*slash = '\0';
	dir = recorded_find(tree, file);
	*slash = '/';
	return make(tree, dir, file, S_IFREG | 0644) == RECORDED_NONE ? -ENOMEM : 0;
}

/* Directories first: what leads somewhere is one, whatever else the trace says of it. */
int evict_names_make(struct recorded *tree, const struct traces *traces)
{
	int error = recorded_init(tree, NULL);

	for (size_t i = 0; i < traces->count && !error; i++) {
		if (traces->paths[i].exists)
			error = make_directories(tree, traces->paths[i].path,
			                         traces->paths[i].directory);
	}
	for (size_t i = 0; i < traces->count && !error; i++) {
		if (traces->paths[i].exists)
			error = make_file(tree, traces->paths[i].path);
	}
	return error;
}

/* ---- what is looked up ---- */

static int reserve(struct requests *names, size_t more, size_t *capacity)
{
	size_t grown = *capacity ? *capacity * 2 : 1 << 16;
	uint32_t *object;
	unsigned char *ends;

	if (names->count + more <= *capacity)
		return 0;
	object = realloc(names->object, grown * sizeof(*object));
	if (object)
		names->object = object;
	ends = realloc(names->ends, grown);
	if (ends)
		names->ends = ends;
	if (!object || !ends)
		return -ENOMEM;
	*capacity = grown;
	return 0;
}

/* all: a record of every name that was looked up, the absent ones too. */
static int look_up(struct requests *names, const char *path, const struct recorded *tree,
                   struct recorded *all)
{
	char prefix[PATH_MAX];
	uint32_t name = 0;
	bool last = false;

	tidy(path, prefix);
	for (char *at = prefix; *at && !last;) {
		char *end = strchrnul(at + 1, '/');
		char was = *end;
		uint32_t item;

		*end = '\0';
		name = make(all, name, prefix, S_IFDIR | 0755);
		item = recorded_find(tree, prefix);
		*end = was;
		at = end;
		if (name == RECORDED_NONE)
			return -ENOMEM;
		last = !*at || item == RECORDED_NONE || !S_ISDIR(tree->items[item].attr.mode);
		names->object[names->count] = name;
		names->ends[names->count++] = last;
	}
	return 0;
}

int evict_names_requests(struct requests *names, const struct requests *trace,
                         const struct recorded *tree)
{
	struct recorded all;
	size_t capacity = 0;
	int error = recorded_init(&all, NULL);

	*names = (struct requests){.depth = trace->depth};
	snprintf(names->name, sizeof(names->name), "%s", trace->name);
	for (size_t i = 0; i < trace->count && !error; i++) {
		error = reserve(names, PATH_MAX / 2, &capacity);
		if (!error)
			error = look_up(names, trace->traces.paths[trace->object[i]].path, tree,
			                &all);
	}
	names->objects = names->watched = all.count;
	recorded_fini(&all);
	return error;
}
