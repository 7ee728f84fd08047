/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "workload.h"

#include "harness.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	NAMES20_FILES = 100, /* in a directory */
	NAMES20_DIRS = 100,  /* below a top directory */
	DEPTH_SIBLINGS = 50, /* files of a directory */
};

void workload_fini(struct workload *load)
{
	bench_paths_fini(&load->paths);
}

static int finish(struct workload *load, int error)
{
	bench_paths_measure(&load->paths);
	if (!error && !load->paths.count)
		error = -ENODATA;
	if (error)
		workload_fini(load);
	return error;
}

static int add_item(struct workload *load, uint32_t copy, uint32_t item)
{
	char path[PATH_MAX];

	if (recorded_path(load->tree, copy, item, path, sizeof(path)) >= sizeof(path))
		return 0;
	load->made += copy > 0;
	return bench_paths_add(&load->paths, path);
}

int workload_make_elsewhere(struct recorded *tree)
{
	struct pathcache_attr dir = tree->items[0].attr, file = dir;
	uint32_t item;

	file.mode = S_IFREG | 0644;
	item = recorded_make(tree, 0, WORKLOAD_ELSEWHERE + 1, &dir);
	if (item != RECORDED_NONE)
		item = recorded_make(tree, item, WORKLOAD_ELSEWHERE_FILE, &file);
	return item == RECORDED_NONE ? -ENOMEM : 0;
}

static bool fits(const struct recorded *tree, uint32_t item)
{
	return item >= tree->first && !tree->items[item].made;
}

static size_t count_fit(const struct recorded *tree)
{
	size_t n = 0;

	for (uint32_t i = 0; i < tree->count; i++)
		n += fits(tree, i);
	return n;
}

int workload_plain(struct workload *load, struct recorded *tree, size_t n, uint64_t *seed)
{
	size_t left = count_fit(tree), wanted = n;
	int error = 0;

	load->tree = tree;
	load->flags = PATHCACHE_NOFOLLOW;
	/* Each of those left is chosen with the chance that fills the set. */
	for (uint32_t i = 0; i < tree->count && wanted && !error; i++) {
		if (!fits(tree, i))
			continue;
		if (bench_random(seed) % left-- < wanted) {
			error = add_item(load, 0, i);
			wanted--;
		}
	}
	if (!load->paths.count)
		return finish(load, error);
	for (uint32_t copy = 1; load->paths.count < n && !error; copy++) {
		if (tree->copies < copy)
			tree->copies = copy;
		for (uint32_t i = 0; i < tree->count && load->paths.count < n && !error; i++) {
			if (fits(tree, i))
				error = add_item(load, copy, i);
		}
	}
	return finish(load, error);
}

/* Replace each path by what edit makes of it; those it makes nothing of go. */
static int edit_paths(struct workload *load, bool (*edit)(const char *, char *, size_t))
{
	struct bench_paths edited = {0};
	int error = 0;

	for (size_t i = 0; i < load->paths.count && !error; i++) {
		char path[PATH_MAX];

		if (edit(load->paths.path[i], path, sizeof(path)))
			error = bench_paths_add(&edited, path);
	}
	bench_paths_fini(&load->paths);
	load->paths = edited;
	return finish(load, error);
}

static bool edit_absent(const char *path, char *out, size_t size)
{
	const char *name = strrchr(path, '/') + 1;

	if (strlen(name) + strlen(".absent") > NAME_MAX)
		return false;
	return (size_t)snprintf(out, size, "%s.absent", path) < size;
}

int workload_negative(struct workload *load, struct recorded *tree, size_t n, uint64_t *seed)
{
	int error = workload_plain(load, tree, n, seed);

	load->allowed = -ENOENT;
	return error ? error : edit_paths(load, edit_absent);
}

/* /a/b/c becomes /a/b/../b/c. */
static bool edit_dotdot(const char *path, char *out, size_t size)
{
	const char *name = strrchr(path, '/');
	const char *dir = memrchr(path, '/', (size_t)(name - path));

	if (name == path || !dir)
		return false;
	return (size_t)snprintf(out, size, "%.*s/..%s", (int)(name - path), path, dir) < size;
}

int workload_dotdot(struct workload *load, struct recorded *tree, size_t n, uint64_t *seed)
{
	int error = workload_plain(load, tree, n, seed);

	return error ? error : edit_paths(load, edit_dotdot);
}

/* Links are followed, which may lead out of the record. */
static bool may_read(const struct recorded *tree, const char *path)
{
	uint32_t item = recorded_find(tree, path);

	return item != RECORDED_NONE && !tree->items[item].link && !recorded_ask_access(tree, path);
}

int workload_access(struct workload *load, struct recorded *tree, size_t n, uint64_t *seed)
{
	size_t fit = count_fit(tree);
	int error = workload_plain(load, tree, n < fit ? n : fit, seed);
	unsigned char *keep;

	if (error)
		return error;
	load->flags = 0;
	load->access = true;
	keep = calloc(load->paths.count, 1);
	for (size_t i = 0; keep && i < load->paths.count; i++)
		keep[i] = may_read(tree, load->paths.path[i]);
	if (keep)
		bench_paths_filter(&load->paths, keep);
	free(keep);
	return finish(load, keep ? 0 : -ENOMEM);
}

/* ---- links ---- */

/* Keep n of the paths, evenly spread. */
static int thin_out(struct bench_paths *paths, size_t n)
{
	unsigned char *keep;
	size_t step;

	if (paths->count <= n)
		return 0;
	keep = calloc(paths->count, 1);
	if (!keep)
		return -ENOMEM;
	step = paths->count / n;
	for (size_t i = 0; i < n; i++)
		keep[i * step] = 1;
	bench_paths_filter(paths, keep);
	free(keep);
	return 0;
}

/* For each directory some child of it. NULL without memory. */
static uint32_t *some_children(const struct recorded *tree)
{
	uint32_t *child = calloc(tree->count, sizeof(*child));

	for (uint32_t i = tree->first; child && i < tree->count; i++) {
		if (!tree->items[i].made)
			child[tree->items[i].parent] = i;
	}
	return child;
}

/* Add the link, or what is below it, when that leads to something recorded. */
static int add_link(struct workload *load, uint32_t item, const uint32_t *child, bool middle)
{
	const struct recorded *tree = load->tree;
	uint32_t to = recorded_resolve(tree, item);
	char path[PATH_MAX];
	size_t len = recorded_path(tree, 0, item, path, sizeof(path));

	if (len >= sizeof(path) || to == RECORDED_NONE || tree->items[to].made)
		return 0;
	if (middle) {
		const struct recorded_item *below = &tree->items[child[to]];
		const char *name = below->name;

		/* What is below may be a link as well, out of what is recorded. */
		if (below->link && recorded_resolve(tree, child[to]) == RECORDED_NONE)
			return 0;
		if (!child[to] || snprintf(path + len, sizeof(path) - len, "/%s", name) >=
		                          (int)(sizeof(path) - len))
			return 0;
	}
	return bench_paths_add(&load->paths, path);
}

int workload_symlink(struct workload *load, struct recorded *tree, size_t n, bool middle)
{
	uint32_t *child = some_children(tree);
	int error = child ? 0 : -ENOMEM;

	load->tree = tree;
	for (uint32_t i = tree->first; i < tree->count && !error; i++) {
		if (tree->items[i].link)
			error = add_link(load, i, child, middle);
	}
	free(child);
	if (!error)
		error = thin_out(&load->paths, n);
	return finish(load, error);
}

/* ---- one file, one directory ---- */

static double mean_depth(const struct recorded *tree)
{
	double depth = 0, n = 0;

	for (uint32_t i = tree->first; i < tree->count; i++) {
		for (uint32_t at = i; at; at = tree->items[at].parent)
			depth++;
		n++;
	}
	return n > 0 ? depth / n : 0;
}

int workload_same_file(struct workload *load, struct recorded *tree)
{
	double mean = mean_depth(tree), best = 1e9;
	uint32_t chosen = RECORDED_NONE;

	load->tree = tree;
	load->flags = PATHCACHE_NOFOLLOW;
	for (uint32_t i = tree->first; i < tree->count; i++) {
		double off = -mean;

		for (uint32_t at = i; at; at = tree->items[at].parent)
			off++;
		off = off < 0 ? -off : off;
		if (off < best && fits(tree, i) && S_ISREG(tree->items[i].attr.mode)) {
			best = off;
			chosen = i;
		}
	}
	return finish(load, chosen == RECORDED_NONE ? -ENODATA : add_item(load, 0, chosen));
}

int workload_same_dir(struct workload *load, struct recorded *tree, size_t n)
{
	uint32_t *children = calloc(tree->count, sizeof(*children));
	uint32_t largest = 0;
	int error = children ? 0 : -ENOMEM;

	load->tree = tree;
	load->flags = PATHCACHE_NOFOLLOW;
	for (uint32_t i = tree->first; i < tree->count && !error; i++) {
		uint32_t dir = tree->items[i].parent;

		if (fits(tree, i) && ++children[dir] > children[largest])
			largest = dir;
	}
	free(children);
	for (uint32_t i = tree->first; i < tree->count && !error; i++) {
		if (fits(tree, i) && tree->items[i].parent == largest)
			error = add_item(load, 0, i);
	}
	if (!error)
		error = thin_out(&load->paths, n);
	return finish(load, error);
}

/* ---- depth ---- */

/* Component j of path i: what tells it from others, filled up to its share of the length. */
static size_t depth_component(char *out, unsigned int depth, unsigned int j, size_t i)
{
	size_t text = WORKLOAD_DEPTH_BYTES - depth;
	size_t want = text / depth + (j < text % depth);
	char name[32];
	size_t len;

	if (j + 1 == depth)
		snprintf(name, sizeof(name), "f%05zu", i);
	else if (j + 2 == depth)
		snprintf(name, sizeof(name), "d%02u%02zu", depth, i / DEPTH_SIBLINGS);
	else
		snprintf(name, sizeof(name), "d%02us%x", depth, j);
	len = strlen(name);
	memcpy(out, name, len);
	while (len < want)
		out[len++] = 'x';
	return len;
}

static void depth_path(char *out, unsigned int depth, size_t i)
{
	for (unsigned int j = 0; j < depth; j++) {
		*out++ = '/';
		out += depth_component(out, depth, j, i);
	}
	*out = '\0';
}

int workload_stage_depth(const struct staged *staged, unsigned int depth, size_t n)
{
	int error = 0;

	for (size_t i = 0; i < n && !error; i++) {
		char path[PATH_MAX];

		depth_path(path, depth, i);
		error = staged_add_parents(staged, path);
		if (!error)
			error = staged_add(staged, path, false);
	}
	return error;
}

int workload_depth(struct workload *load, struct recorded *tree, unsigned int depth, size_t n)
{
	int error = 0;

	load->tree = tree;
	load->flags = PATHCACHE_NOFOLLOW;
	for (size_t i = 0; i < n && !error; i++) {
		char path[PATH_MAX];

		depth_path(path, depth, i);
		error = bench_paths_add(&load->paths, path);
	}
	return finish(load, error);
}

/* ---- names of 20 bytes ---- */

int workload_names20(struct workload *load, struct recorded *tree, size_t n)
{
	struct pathcache_attr dir = tree->items[0].attr, file = dir;
	uint32_t tops = 0, top = 0, sub = 0;
	int error = 0;

	load->tree = tree;
	load->flags = PATHCACHE_NOFOLLOW;
	file.mode = S_IFREG | 0644;
	for (size_t i = 0; i < n && !error; i++) {
		char name[32];
		uint32_t item;

		if (i % (NAMES20_FILES * NAMES20_DIRS) == 0) {
			snprintf(name, sizeof(name), "top-%016u", tops++);
			top = recorded_make(tree, 0, name, &dir);
		}
		if (i % NAMES20_FILES == 0 && top != RECORDED_NONE) {
			snprintf(name, sizeof(name), "sub-%016zu", i / NAMES20_FILES);
			sub = recorded_make(tree, top, name, &dir);
		}
		if (top == RECORDED_NONE || sub == RECORDED_NONE)
			return finish(load, -ENOMEM);
		snprintf(name, sizeof(name), "file-%015zu", i);
		item = recorded_make(tree, sub, name, &file);
		error = item == RECORDED_NONE ? -ENOMEM : add_item(load, 0, item);
		load->made++;
	}
	return finish(load, error);
}
