/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The tree as it was when a recording began, as far as the operations tell: what
 * was found before it was changed was there; what was entered is a directory; of
 * what readlink(2) read it is a link, to where is not recorded: each leads to a
 * name beside it, ".NAME.to". All other things are empty files. One thread.
 */
#ifndef BENCH_ORIGIN_H
#define BENCH_ORIGIN_H

#include "operations.h"
#include "staged.h"

#include <stddef.h>
#include <stdint.h>

struct origin_place {
	char *path; /* a normal one */
	uint32_t flags;
};

struct origin {
	struct origin_place *places;
	uint32_t *buckets; /* numbers of places, from 1 */
	size_t count, room, nbuckets;
	size_t left_out; /* places that could not be made */
	int failed;      /* out of memory */
};

/* Return: 0; -ENOMEM. */
int origin_infer(struct origin *origin, const struct recording *recording);
void origin_fini(struct origin *origin);

/* A change that origin_restore() has made: kind is UNLINK, RMDIR, CREATE, MKDIR or SYMLINK. */
typedef void (*origin_change_fn)(void *arg, enum operation_kind kind, const char *path);

/*
 * Make the tree what it was, from whatever a replay has left, or from nothing. fn:
 * told of each name that was made or removed; NULL for none. Modes and times stay.
 * Return: 0; -errno.
 */
int origin_restore(struct origin *origin, const struct staged *staged, origin_change_fn fn,
                   void *arg);

/* Write where the link path leads, as its text. Return: 0; -ENAMETOOLONG. */
int origin_link_text(const char *path, char *out, size_t size);

#endif
