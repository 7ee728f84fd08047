/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The operations of a recording in the order in which a program did them; the
 * format is that of traces.h, with two paths for a rename: "rename FROM TO RESULT".
 * One thread.
 */
#ifndef BENCH_OPERATIONS_H
#define BENCH_OPERATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum operation_kind {
	/* queries */
	OPERATION_STAT,
	OPERATION_LSTAT,
	OPERATION_ACCESS,
	OPERATION_READLINK,
	OPERATION_OPEN,
	OPERATION_OPENDIR, /* open of a directory */
	OPERATION_OPENNF,  /* open that follows no link */
	OPERATION_EXEC,
	/* changes */
	OPERATION_CREATE,
	OPERATION_UNLINK,
	OPERATION_RENAME,
	OPERATION_MKDIR,
	OPERATION_RMDIR,
	OPERATION_SYMLINK,
	OPERATION_CHMOD,
	OPERATION_CHOWN,
	OPERATION_UTIME,
	OPERATION_KINDS
};

/*
 * path: what the program said, where in recording.texts; to: the second path of a
 * rename. result: 0 or a negative errno, as it was then.
 */
struct operation {
	uint32_t path;
	uint32_t to;
	int result;
	enum operation_kind kind;
};

/* Before each path stands one byte that tells what is asked of it: the key of a table. */
#define OPERATION_FOLLOWED 's'
#define OPERATION_ITSELF 'l'
#define OPERATION_TEXT 'r'

/* Operations that are not replayed, by the word that the file has for them. */
struct operation_skip {
	char word[24];
	size_t count;
};

enum { OPERATION_SKIPS_MAX = 24 };

struct recording {
	char *texts;
	size_t used, capacity;
	struct operation *ops;
	size_t count, room;
	size_t queries, changes;
	size_t kinds[OPERATION_KINDS]; /* how many of each */
	size_t distinct;               /* paths of queries, as they are spelled */
	double mean_depth;             /* of queries */
	struct operation_skip skips[OPERATION_SKIPS_MAX];
	size_t nskips;
	bool opens_as_lookups;
};

static inline const char *operation_path(const struct recording *recording,
                                         const struct operation *op)
{
	return recording->texts + op->path;
}

static inline const char *operation_key(const struct recording *recording,
                                        const struct operation *op)
{
	return recording->texts + op->path - 1;
}

static inline bool operation_is_change(const struct operation *op)
{
	return op->kind >= OPERATION_CREATE;
}

static inline bool operation_opens(enum operation_kind kind)
{
	return kind >= OPERATION_OPEN && kind <= OPERATION_OPENNF;
}

/* Does the question lead through a link at the end of the path? */
static inline bool operation_follows(enum operation_kind kind)
{
	return kind != OPERATION_LSTAT && kind != OPERATION_READLINK && kind != OPERATION_OPENNF;
}

/*
 * Read a file. Left out and counted in skips: what is no question about a path
 * (getxattr, statfs, chdir, ...) and paths that are not absolute or lead above "/".
 * opens_as_lookups: what opens is taken for the stat or lstat of the same path.
 * Return: 0; as traces_lines(); -ENODATA when nothing can be replayed; -ENOMEM.
 */
int recording_read(struct recording *recording, const char *file, bool opens_as_lookups);

void recording_fini(struct recording *recording);

/* The word of a kind in the file. */
const char *operation_word(enum operation_kind kind);

/*
 * path without "//", "/." and "..", to which size bytes suffice if they do for path.
 * up: called with what stands before each ".."; NULL for none.
 * Return: 0; -EXDEV when it leads above "/".
 */
int operation_normal(const char *path, char *out, size_t size,
                     void (*up)(void *arg, const char *prefix), void *arg);

#endif
