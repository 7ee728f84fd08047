/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "origin.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "origin_place.h"

/* ---- places by path ---- */

static uint32_t *bucket_of(const struct origin *origin, const char *path, size_t len)
{
	size_t at = (size_t)XXH3_64bits(path, len) & (origin->nbuckets - 1);

	while (origin->buckets[at]) {
		const char *known = origin->places[origin->buckets[at] - 1].path;

		if (!strncmp(known, path, len) && !known[len])
			break;
		at = (at + 1) & (origin->nbuckets - 1);
	}
	return &origin->buckets[at];
}

static int grow(struct origin *origin)
{
	size_t room = origin->room ? origin->room * 2 : 1024;
	struct origin_place *places = realloc(origin->places, room * sizeof(*places));
	uint32_t *buckets = calloc(room * 2, sizeof(*buckets));

	if (places)
		origin->places = places;
	if (!places || !buckets) {
		free(buckets);
		return -ENOMEM;
	}
	free(origin->buckets);
	origin->buckets = buckets;
	origin->room = room;
	origin->nbuckets = room * 2;
	for (size_t i = 0; i < origin->count; i++)
		*bucket_of(origin, places[i].path, strlen(places[i].path)) = (uint32_t)i + 1;
	return 0;
}

/* The flags of a place, which is made; NULL without memory. */
static uint32_t *place(struct origin *origin, const char *path, size_t len)
{
	uint32_t *bucket;

	if (origin->count == origin->room && grow(origin)) {
		origin->failed = 1;
		return NULL;
	}
	bucket = bucket_of(origin, path, len);
	if (!*bucket) {
		char *copy = strndup(path, len);

		if (!copy) {
			origin->failed = 1;
			return NULL;
		}
		origin->places[origin->count++] = (struct origin_place){.path = copy};
		*bucket = (uint32_t)origin->count;
	}
	return &origin->places[*bucket - 1].flags;
}

/* ---- what an operation tells ---- */

/* what: kinds that it is known to be now. */
static void see_present(uint32_t *flags, uint32_t what, bool follows, bool under_changed)
{
	if (*flags & PLACE_CHANGED) {
		if (*flags & PLACE_LINKED && follows)
			*flags |= PLACE_TARGET |
			          (what & PLACE_DIRECTORY ? PLACE_TARGET_DIRECTORY : 0);
		return;
	}
	if (!(*flags & PLACE_KNOWN)) {
		*flags |= PLACE_KNOWN | (under_changed ? 0 : PLACE_EXISTS);
	} else if (!(*flags & PLACE_EXISTS) && *flags & PLACE_LED_NOWHERE && !follows) {
		what |= PLACE_LINK;
		*flags |= PLACE_EXISTS;
	}
	if (*flags & PLACE_EXISTS)
		*flags |= what;
}

static void see_absent(uint32_t *flags, bool follows)
{
	if (*flags & PLACE_CHANGED)
		return;
	*flags |= PLACE_KNOWN;
	/* A link may be there. */
	if (follows)
		*flags |= PLACE_LED_NOWHERE;
}

/* Behind the one that at is; the root's path is "". */
static const char *next_slash(const char *at)
{
	return *at ? strchr(at + 1, '/') : NULL;
}

/* Directories above path were there. Return: whether one of them has been changed. */
static bool see_above(struct origin *origin, const char *path)
{
	bool changed = false;

	for (const char *at = path; (at = next_slash(at));) {
		uint32_t *flags = place(origin, path, (size_t)(at - path));

		if (!flags)
			return true;
		see_present(flags, PLACE_DIRECTORY, true, changed);
		changed |= (*flags & PLACE_CHANGED) != 0;
	}
	return changed;
}

/* ENOENT below a file would have been ENOTDIR: what is there above path is a directory. */
static void see_searched(struct origin *origin, const char *path)
{
	for (const char *at = path; (at = next_slash(at));) {
		uint32_t *flags = place(origin, path, (size_t)(at - path));

		if (flags && !(*flags & PLACE_CHANGED))
			*flags |= PLACE_DIRECTORY;
	}
}

static void see(struct origin *origin, const char *path, bool present, uint32_t what, bool follows)
{
	bool changed = present && see_above(origin, path);
	uint32_t *flags = *path ? place(origin, path, strlen(path)) : NULL;

	if (flags && present)
		see_present(flags, what, follows, changed);
	else if (flags)
		see_absent(flags, follows);
}

static void see_directory(void *arg, const char *prefix)
{
	see(arg, prefix, true, PLACE_DIRECTORY, true);
}

static uint32_t queried(const struct operation *op, const char *path)
{
	size_t len = strlen(path);

	if ((op->kind == OPERATION_READLINK && !op->result) ||
	    (op->kind == OPERATION_OPENNF && op->result == -ELOOP))
		return PLACE_LINK;
	if (op->result)
		return 0;
	/* "/", or "/." */
	if (path[len - 1] == '/' || (path[len - 1] == '.' && path[len - 2] == '/'))
		return PLACE_DIRECTORY;
	return op->kind == OPERATION_OPENDIR ? PLACE_DIRECTORY : 0;
}

static void see_query(struct origin *origin, const struct operation *op, const char *path,
                      const char *normal)
{
	bool absent =
		op->result == -ENOENT || (op->result == -ENOTDIR && op->kind != OPERATION_OPENDIR);

	see(origin, normal, !absent, queried(op, path), operation_follows(op->kind));
	if (op->result == -ENOENT)
		see_searched(origin, normal);
}

/* The name itself has come or gone. */
static void changed(struct origin *origin, const char *normal, bool was_there, uint32_t what)
{
	uint32_t *flags;

	if (was_there)
		see(origin, normal, true, what, false);
	else
		see_above(origin, normal);
	flags = *normal ? place(origin, normal, strlen(normal)) : NULL;
	if (flags)
		*flags |= PLACE_KNOWN | PLACE_CHANGED;
}

static void see_change(struct origin *origin, const struct operation *op, const char *normal)
{
	switch (op->kind) {
	case OPERATION_CREATE:
	case OPERATION_MKDIR:
		changed(origin, normal, false, 0);
		break;
	case OPERATION_SYMLINK: {
		uint32_t *flags;

		changed(origin, normal, false, 0);
		flags = *normal ? place(origin, normal, strlen(normal)) : NULL;
		if (flags)
			*flags |= PLACE_LINKED;
		break;
	}
	case OPERATION_UNLINK:
	case OPERATION_RENAME:
		changed(origin, normal, true, 0);
		break;
	case OPERATION_RMDIR:
		changed(origin, normal, true, PLACE_DIRECTORY);
		break;
	default: /* chmod, chown, utime */
		see(origin, normal, true, 0, false);
		break;
	}
}

/* A change that failed says what a query would have. */
static void see_failure(struct origin *origin, const struct operation *op, const char *normal)
{
	if (op->result == -EEXIST)
		see(origin, normal, true, op->kind == OPERATION_MKDIR ? PLACE_DIRECTORY : 0, false);
	else if (op->result == -ENOTEMPTY)
		see(origin, normal, true, PLACE_DIRECTORY, false);
	else if (op->result == -ENOENT && op->kind == OPERATION_UNLINK)
		see(origin, normal, false, 0, false);
}

static void see_operation(struct origin *origin, const struct recording *recording,
                          const struct operation *op)
{
	const char *path = operation_path(recording, op);
	char normal[PATH_MAX], to[PATH_MAX] = "";

	operation_normal(path, normal, sizeof(normal), op->result ? NULL : see_directory, origin);
	if (op->to)
		operation_normal(recording->texts + op->to, to, sizeof(to), NULL, NULL);
	if (!operation_is_change(op))
		see_query(origin, op, path, normal);
	else if (!op->result)
		see_change(origin, op, normal);
	else
		see_failure(origin, op, op->kind == OPERATION_RENAME ? to : normal);
	if (op->to && !op->result)
		changed(origin, to, false, 0);
}

static int by_path(const void *a, const void *b)
{
	const struct origin_place *x = a, *y = b;

	return strcmp(x->path, y->path);
}

int origin_infer(struct origin *origin, const struct recording *recording)
{
	*origin = (struct origin){0};
	for (size_t i = 0; i < recording->count && !origin->failed; i++)
		see_operation(origin, recording, &recording->ops[i]);
	if (origin->failed) {
		origin_fini(origin);
		return -ENOMEM;
	}
	/* Directories before what is in them; the buckets are of no use any more. */
	qsort(origin->places, origin->count, sizeof(*origin->places), by_path);
	free(origin->buckets);
	origin->buckets = NULL;
	return 0;
}

void origin_fini(struct origin *origin)
{
	for (size_t i = 0; i < origin->count; i++)
		free(origin->places[i].path);
	free(origin->places);
	free(origin->buckets);
	*origin = (struct origin){0};
}
