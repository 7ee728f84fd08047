/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "traces.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- reading ---- */

static bool is_query(const char *op)
{
	static const char *const ops[] = {
		"stat", "lstat", "access", "readlink", "open", "opendir", "opennf", "exec",
	};

	for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++) {
		if (!strcmp(op, ops[i]))
			return true;
	}
	return false;
}

static bool is_plain(const char *path)
{
	size_t len = strlen(path);

	return path[0] == '/' && path[1] && len < 4096 && path[len - 1] != '/' &&
	       !strstr(path, "//") && !strstr(path, "/../") &&
	       (len < 3 || strcmp(path + len - 3, "/..") != 0);
}

static int add(struct traces *traces, const char *path, bool exists, bool directory)
{
	struct trace_path *grown;

	if (traces->count == traces->capacity) {
		size_t capacity = traces->capacity ? traces->capacity * 2 : 4096;

		grown = realloc(traces->paths, capacity * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		traces->paths = grown;
		traces->capacity = capacity;
	}
	traces->paths[traces->count] = (struct trace_path){
		.path = strdup(path),
		.at = traces->count,
		.exists = exists,
		.directory = exists && directory,
	};
	return traces->paths[traces->count].path ? (traces->count++, 0) : -ENOMEM;
}

static int add_line(void *arg, char *line)
{
	struct traces *traces = arg;
	char *path = strchr(line, ' '), *result = strrchr(line, ' ');
	bool exists;

	if (!path || result == path)
		return 0;
	*path++ = '\0';
	*result++ = '\0';
	result[strcspn(result, "\n")] = '\0';
	if (!is_query(line) || !is_plain(path))
		return 0;
	/* Any other error was met at an object that is there. */
	exists = strcmp(result, "ENOENT") != 0 && strcmp(result, "ENOTDIR") != 0;
	return add(traces, path, exists, !strcmp(line, "opendir"));
}

static bool is_compressed(const char *file)
{
	size_t len = strlen(file);

	return len > 3 && !strcmp(file + len - 3, ".xz");
}

/* A stream of what xz writes. Return: its process; -errno. */
static pid_t open_compressed(const char *file, FILE **stream)
{
	int ends[2];
	pid_t pid;

	if (access(file, R_OK) || pipe2(ends, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (pid == 0) {
		dup2(ends[1], STDOUT_FILENO);
		execlp("xz", "xz", "-dc", "--", file, (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	*stream = pid > 0 ? fdopen(ends[0], "r") : NULL;
	return *stream ? pid : -ENOMEM;
}

int traces_lines(const char *file, int (*fn)(void *arg, char *line), void *arg)
{
	FILE *stream = NULL;
	pid_t pid = 0;
	char *line = NULL;
	size_t size = 0;
	int error = 0, status = 0;

	if (is_compressed(file))
		pid = open_compressed(file, &stream);
	else
		stream = fopen(file, "re");
	if (!stream)
		return pid < 0 ? (int)pid : -errno;
	while (!error && getline(&line, &size, stream) > 0)
		error = fn(arg, line);
	free(line);
	fclose(stream);
	if (pid > 0 && (waitpid(pid, &status, 0) != pid || status) && !error)
		error = -EIO;
	return error;
}

int traces_read(struct traces *traces, const char *file)
{
	return traces_lines(file, add_line, traces);
}

/* ---- each path once ---- */

static int by_path(const void *a, const void *b)
{
	const struct trace_path *x = a, *y = b;
	int order = strcmp(x->path, y->path);

	return order ? order : (x->at > y->at) - (x->at < y->at);
}

static int by_use(const void *a, const void *b)
{
	const struct trace_path *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

/*
 * order: where each query's path was used first, in the order of queries. That
 * is a query itself, whose number is known by then.
 */
static void number(uint32_t *order, size_t count)
{
	uint32_t next = 0;

	for (size_t at = 0; at < count; at++)
		order[at] = order[at] == at ? next++ : order[order[at]];
}

void traces_distinct(struct traces *traces, uint32_t *order)
{
	size_t count = traces->count, kept = 0;
	struct trace_path *paths = traces->paths;

	if (!count)
		return;
	qsort(paths, count, sizeof(*paths), by_path);
	for (size_t i = 0; i < count; i++) {
		bool again = i && !strcmp(paths[i].path, paths[kept].path);

		if (again) {
			paths[kept].directory |= paths[i].directory;
			free(paths[i].path);
		} else if (i) {
			paths[++kept] = paths[i];
		}
		if (order)
			order[paths[i].at] = (uint32_t)paths[kept].at;
	}
	traces->count = kept + 1;
	qsort(paths, traces->count, sizeof(*paths), by_use);
	if (order)
		number(order, count);
}

int traces_stage(const struct traces *traces, const struct staged *staged)
{
	int error = 0;

	for (size_t i = 0; i < traces->count && !error; i++) {
		if (traces->paths[i].exists)
			error = staged_add_parents(staged, traces->paths[i].path);
	}
	for (size_t i = 0; i < traces->count && !error; i++) {
		const struct trace_path *path = &traces->paths[i];

		if (path->exists)
			error = staged_add(staged, path->path, path->directory);
	}
	return error;
}

void traces_fini(struct traces *traces)
{
	for (size_t i = 0; i < traces->count; i++)
		free(traces->paths[i].path);
	free(traces->paths);
	*traces = (struct traces){0};
}
