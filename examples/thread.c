/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A cache that tends itself: a thread of its own takes in what others change, and
 * the program only asks.
 *
 * usage: example-thread DIRECTORY
 * Paths below DIRECTORY, one a line, from standard input; the answers go to standard
 * output. A change is known a moment after it was made. "sync" on a line of its own
 * waits for that moment: whatever was finished before it is known after it.
 */
#define _GNU_SOURCE
#include <pathcache.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void answer(struct pathcache *cache, const char *path)
{
	struct pathcache_attr attr;
	int error = pathcache_stat(cache, path, NULL, &attr);

	if (error)
		printf("%s: %s\n", path, strerror(-error));
	else
		printf("%s: %llu bytes\n", path, (unsigned long long)attr.size);
}

static void serve(struct pathcache *cache)
{
	size_t capacity = 0;
	char *line = NULL;
	ssize_t length;

	while ((length = getline(&line, &capacity, stdin)) > 0) {
		if (line[length - 1] == '\n')
			line[length - 1] = '\0';
		if (strcmp(line, "sync") == 0)
			pathcache_sync(cache);
		else
			answer(cache, line);
		fflush(stdout);
	}
	free(line);
}

int main(int argc, char **argv)
{
	struct pathcache_options options;
	struct pathcache *cache;
	int error;

	if (argc != 2)
		return fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]), 2;
	pathcache_options_init(&options);
	options.coherence = PATHCACHE_COHERENCE_EVENTS;
	options.thread = 1;
	error = pathcache_open(&cache, argv[1], &options);
	if (error)
		return fprintf(stderr, "%s: %s\n", argv[1], strerror(-error)), 2;
	serve(cache);
	/* Ends the thread. */
	pathcache_close(cache);
	return 0;
}
