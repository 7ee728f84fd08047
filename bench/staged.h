/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A tree of empty files in a temporary directory, for questions that no tree
 * of the machine would do for. One thread.
 */
#ifndef BENCH_STAGED_H
#define BENCH_STAGED_H

#include <stdbool.h>

struct staged {
	char dir[4096]; /* "" when there is none */
	int fd;
};

/* Below TMPDIR or /tmp. Return: 0; -errno. */
int staged_init(struct staged *staged);

/* Make the directories that lead to path, which is absolute from the staged root. */
int staged_add_parents(const struct staged *staged, const char *path);

/* Make path, a file or a directory, where nothing of that name is yet. */
int staged_add(const struct staged *staged, const char *path, bool directory);

/* Remove all of it. */
void staged_fini(struct staged *staged);

#endif
