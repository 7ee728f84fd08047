/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "operations.h"

#include "traces.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const words[] = {
	[OPERATION_STAT] = "stat",     [OPERATION_LSTAT] = "lstat",
	[OPERATION_ACCESS] = "access", [OPERATION_READLINK] = "readlink",
	[OPERATION_OPEN] = "open",     [OPERATION_OPENDIR] = "opendir",
	[OPERATION_OPENNF] = "opennf", [OPERATION_EXEC] = "exec",
	[OPERATION_CREATE] = "create", [OPERATION_UNLINK] = "unlink",
	[OPERATION_RENAME] = "rename", [OPERATION_MKDIR] = "mkdir",
	[OPERATION_RMDIR] = "rmdir",   [OPERATION_SYMLINK] = "symlink",
	[OPERATION_CHMOD] = "chmod",   [OPERATION_CHOWN] = "chown",
	[OPERATION_UTIME] = "utime",
};

const char *operation_word(enum operation_kind kind)
{
	return words[kind];
}

static int kind_of(const char *word)
{
	for (int i = 0; i < OPERATION_KINDS; i++) {
		if (!strcmp(words[i], word))
			return i;
	}
	return -1;
}

static enum operation_kind as_lookup(enum operation_kind kind)
{
	if (kind == OPERATION_OPENNF)
		return OPERATION_LSTAT;
	return operation_opens(kind) || kind == OPERATION_EXEC ? OPERATION_STAT : kind;
}

/* Return: 0 or a negative errno; 1 for what is neither. */
static int result_of(const char *text)
{
	if (!strcmp(text, "ok"))
		return 0;
	for (int number = 1; number < 134; number++) {
		const char *name = strerrorname_np(number);

		if (name && !strcmp(name, text))
			return -number;
	}
	return 1;
}

static char key_class(enum operation_kind kind)
{
	if (kind == OPERATION_READLINK)
		return OPERATION_TEXT;
	return operation_follows(kind) ? OPERATION_FOLLOWED : OPERATION_ITSELF;
}

/* ---- normal paths ---- */

int operation_normal(const char *path, char *out, size_t size,
                     void (*up)(void *arg, const char *prefix), void *arg)
{
	size_t used = 0;

	for (const char *at = path + strspn(path, "/"); *at; at += strspn(at, "/")) {
		size_t len = strcspn(at, "/");

		if (len == 2 && !strncmp(at, "..", 2)) {
			if (!used)
				return -EXDEV;
			out[used] = '\0';
			if (up)
				up(arg, out);
			used = (size_t)(strrchr(out, '/') - out);
		} else if (len != 1 || *at != '.') {
			if (used + len + 2 > size)
				return -ENAMETOOLONG;
			out[used++] = '/';
			memcpy(out + used, at, len);
			used += len;
		}
		out[used] = '\0';
		at += len;
	}
	out[used] = '\0';
	return 0;
}

static bool is_inside(const char *path)
{
	char normal[PATH_MAX];

	return path[0] == '/' && strlen(path) < sizeof(normal) &&
	       !operation_normal(path, normal, sizeof(normal), NULL, NULL);
}

/* ---- reading ---- */

static void skip(struct recording *recording, const char *word)
{
	struct operation_skip *at = recording->skips;
	size_t i = 0;

	while (i < recording->nskips && strncmp(at[i].word, word, sizeof(at->word) - 1) != 0)
		i++;
	if (i == OPERATION_SKIPS_MAX)
		return;
	if (i == recording->nskips)
		snprintf(at[recording->nskips++].word, sizeof(at->word), "%s", word);
	at[i].count++;
}

/* Return: where the text is, or 0 without memory. */
static uint32_t keep_text(struct recording *recording, char class, const char *text)
{
	size_t len = strlen(text) + 2;
	uint32_t at;

	if (recording->used + len > recording->capacity) {
		size_t capacity = recording->capacity ? recording->capacity * 2 : 1 << 16;
		char *texts = capacity < UINT32_MAX ? realloc(recording->texts, capacity) : NULL;

		if (!texts)
			return 0;
		recording->texts = texts;
		recording->capacity = capacity;
	}
	recording->texts[recording->used] = class;
	at = (uint32_t)recording->used + 1;
	memcpy(recording->texts + at, text, len - 1);
	recording->used += len;
	return at;
}

static int keep(struct recording *recording, const struct operation *op)
{
	if (recording->count == recording->room) {
		size_t room = recording->room ? recording->room * 2 : 1024;
		struct operation *ops = realloc(recording->ops, room * sizeof(*ops));

		if (!ops)
			return -ENOMEM;
		recording->ops = ops;
		recording->room = room;
	}
	recording->ops[recording->count++] = *op;
	recording->kinds[op->kind]++;
	if (operation_is_change(op))
		recording->changes++;
	else
		recording->queries++;
	return 0;
}

static int add(struct recording *recording, int kind, int result, char *path)
{
	struct operation op = {.kind = (enum operation_kind)kind, .result = result};
	char *to = kind == OPERATION_RENAME ? strstr(path, " /") : NULL;

	if (to)
		*to++ = '\0';
	if (!is_inside(path) || (to && !is_inside(to)))
		return skip(recording, "path"), 0;
	if (kind == OPERATION_RENAME && !to)
		return skip(recording, "rename"), 0;
	if (recording->opens_as_lookups)
		op.kind = as_lookup(op.kind);
	op.path = keep_text(recording, key_class(op.kind), path);
	if (to)
		op.to = keep_text(recording, OPERATION_FOLLOWED, to);
	return op.path && (!to || op.to) ? keep(recording, &op) : -ENOMEM;
}

static int add_line(void *arg, char *line)
{
	struct recording *recording = arg;
	char *path, *last;
	int kind, result;

	line[strcspn(line, "\n")] = '\0';
	path = strchr(line, ' ');
	last = strrchr(line, ' ');
	if (line[0] == '#' || !path || path == last)
		return 0;
	*path++ = '\0';
	*last++ = '\0';
	kind = kind_of(line);
	result = result_of(last);
	if (kind < 0 || result > 0)
		return skip(recording, kind < 0 ? line : "result"), 0;
	return add(recording, kind, result, path);
}

/* ---- figures ---- */

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static unsigned int depth_of(const char *path)
{
	unsigned int depth = 0;

	for (path += strspn(path, "/"); *path; path += strspn(path, "/")) {
		depth++;
		path += strcspn(path, "/");
	}
	return depth;
}

static int count_paths(struct recording *recording)
{
	const char **paths = malloc(recording->queries * sizeof(*paths));
	size_t n = 0, depth = 0;

	if (!paths)
		return -ENOMEM;
	for (size_t i = 0; i < recording->count; i++) {
		if (operation_is_change(&recording->ops[i]))
			continue;
		paths[n] = operation_path(recording, &recording->ops[i]);
		depth += depth_of(paths[n++]);
	}
	qsort(paths, n, sizeof(*paths), by_text);
	for (size_t i = 0; i < n; i++)
		recording->distinct += !i || strcmp(paths[i], paths[i - 1]) != 0;
	recording->mean_depth = (double)depth / (double)n;
	free(paths);
	return 0;
}

int recording_read(struct recording *recording, const char *file, bool opens_as_lookups)
{
	int error;

	*recording = (struct recording){.opens_as_lookups = opens_as_lookups};
	error = traces_lines(file, add_line, recording);
	if (!error && !recording->queries)
		error = -ENODATA;
	if (!error)
		error = count_paths(recording);
	if (error)
		recording_fini(recording);
	return error;
}

void recording_fini(struct recording *recording)
{
	free(recording->texts);
	free(recording->ops);
	*recording = (struct recording){0};
}
