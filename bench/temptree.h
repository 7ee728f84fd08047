/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A tree of empty files of its own for a bench, removed at the end, also when the
 * bench is interrupted: who works in it asks temptree_interrupted() now and then.
 * One at a time; one thread.
 */
#ifndef BENCH_TEMPTREE_H
#define BENCH_TEMPTREE_H

#include <stdbool.h>
#include <stddef.h>

struct temptree {
	char *dir; /* absolute */
};

/*
 * Make a directory in base (NULL: one in memory where there is one, or TMPDIR),
 * with files in it: 1,000 a directory, 16 of these in another. progress: a label.
 * Return: 0; -errno, and nothing is left.
 */
int temptree_make(struct temptree *tree, const char *base, size_t files, const char *progress);

/* Nothing to do where nothing was made. Return: 0; -errno. */
int temptree_remove(struct temptree *tree);

/* Was the process told to end? */
bool temptree_interrupted(void);

#endif
