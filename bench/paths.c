/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "paths.h"

#include "harness.h"

#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

unsigned int bench_path_depth(const char *path)
{
	unsigned int depth = 0;

	for (; *path; path++)
		depth += path[0] == '/' && path[1] != '/' && path[1];
	return depth;
}

void bench_paths_measure(struct bench_paths *set)
{
	double depth = 0, bytes = 0;

	for (size_t i = 0; i < set->count; i++) {
		depth += bench_path_depth(set->path[i]);
		bytes += (double)strlen(set->path[i]);
	}
	set->mean_depth = set->count ? depth / (double)set->count : 0;
	set->mean_bytes = set->count ? bytes / (double)set->count : 0;
}

int bench_paths_add(struct bench_paths *set, const char *path)
{
	char *copy;

	if (set->count == set->capacity) {
		size_t capacity = set->capacity ? set->capacity * 2 : 1024;
		const char **grown = realloc(set->path, capacity * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		set->path = grown;
		set->capacity = capacity;
	}
	copy = strdup(path);
	if (!copy)
		return -ENOMEM;
	set->path[set->count++] = copy;
	return 0;
}

static int add_entry(struct bench_paths *set, const FTSENT *entry)
{
	switch (entry->fts_info) {
	case FTS_DP:
		return 0;
	case FTS_DNR:
	case FTS_ERR:
	case FTS_NS:
		/* The directory itself was added before listing it failed. */
		set->unreadable++;
		return 0;
	default:
		return bench_paths_add(set, entry->fts_path);
	}
}

static int collect_tree(struct bench_paths *set, FTS *tree, size_t max,
                        struct bench_progress *progress)
{
	FTSENT *entry;
	int error = 0;

	errno = 0;
	while (!error && (entry = fts_read(tree))) {
		if (set->count == max) {
			set->truncated = 1;
			return 0;
		}
		/* fts trees may be deeper than a path that one call may name. */
		if (entry->fts_pathlen < 4096)
			error = add_entry(set, entry);
		if (progress)
			bench_progress_step(progress, set->count);
		errno = 0;
	}
	return error ? error : -errno;
}

static int check_dir(const char *dir)
{
	struct stat st;

	if (stat(dir, &st))
		return -errno;
	return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
}

int bench_paths_collect(struct bench_paths *set, const char *dir, size_t max, const char *label)
{
	struct bench_progress progress;
	char *roots[2] = {NULL, NULL};
	FTS *tree;
	int error;

	*set = (struct bench_paths){0};
	error = check_dir(dir);
	if (error)
		return error;
	roots[0] = realpath(dir, NULL);
	if (!roots[0])
		return -errno;
	tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
	error = tree ? 0 : -errno;
	if (label)
		bench_progress_begin(&progress, label, 0);
	if (!error) {
		error = collect_tree(set, tree, max, label ? &progress : NULL);
		fts_close(tree);
	}
	if (label)
		bench_progress_end(&progress, set->count);
	free(roots[0]);
	if (error)
		bench_paths_fini(set);
	bench_paths_measure(set);
	return error;
}

int bench_paths_shuffle(struct bench_paths *set, uint64_t seed)
{
	size_t bytes = 1;
	char *text, *end;

	for (size_t i = 0; i < set->count; i++)
		bytes += strlen(set->path[i]) + 1;
	text = malloc(bytes);
	if (!text)
		return -ENOMEM;
	for (size_t i = set->count; i > 1; i--) {
		size_t j = bench_random(&seed) % i;
		const char *swap = set->path[i - 1];

		set->path[i - 1] = set->path[j];
		set->path[j] = swap;
	}
	end = text;
	for (size_t i = 0; i < set->count; i++) {
		char *start = end;

		end = stpcpy(end, set->path[i]) + 1;
		if (!set->text)
			free((char *)(uintptr_t)set->path[i]);
		set->path[i] = start;
	}
	free(set->text);
	set->text = text;
	return 0;
}

void bench_paths_filter(struct bench_paths *set, const unsigned char *keep)
{
	size_t kept = 0;

	for (size_t i = 0; i < set->count; i++) {
		if (keep[i])
			set->path[kept++] = set->path[i];
		else if (!set->text)
			free((char *)(uintptr_t)set->path[i]);
	}
	set->count = kept;
	bench_paths_measure(set);
}

struct bench_paths bench_paths_head(const struct bench_paths *set, size_t count)
{
	struct bench_paths head = {
		.path = set->path,
		.count = count < set->count ? count : set->count,
	};

	bench_paths_measure(&head);
	return head;
}

void bench_paths_fini(struct bench_paths *set)
{
	if (!set->text) {
		for (size_t i = 0; i < set->count; i++)
			free((char *)(uintptr_t)set->path[i]);
	}
	free(set->text);
	free(set->path);
	*set = (struct bench_paths){0};
}
