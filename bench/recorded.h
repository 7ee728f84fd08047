/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A directory tree as it was found, recorded with all attributes and link
 * texts, which then answers caches as an application's namespace. So every
 * rival has the same tree, however large, and a rename can be played without
 * touching a file.
 *
 * More files than the machine has are made by repetition: the tree is seen
 * again below /m1, /m2, ... as other objects with the same names.
 *
 * Changed by one thread while nobody asks; any thread may ask then.
 */
#ifndef BENCH_RECORDED_H
#define BENCH_RECORDED_H

#include <pathcache.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#define RECORDED_NONE UINT32_MAX

struct recorded_item {
	char *name;
	char *link; /* NULL for what is no symlink */
	uint32_t name_len;
	uint32_t parent;
	uint32_t next; /* in its hash bucket */
	bool made;     /* no file of this machine */
	struct pathcache_attr attr;
};

struct recorded {
	struct recorded_item *items; /* items[0] is the root */
	uint32_t *buckets;
	uint32_t count, capacity;
	uint32_t first; /* before it: the root and the directories that lead to the tree */
	uint32_t copies;
	int base_fd; /* the root, for trees that are not at "/"; else -1 */
};

/* The root alone: base, or "/" for NULL. Return: 0; -errno. */
int recorded_init(struct recorded *tree, const char *base);
void recorded_fini(struct recorded *tree);

/*
 * Add what is at and below dir, a path from the root, and what leads there.
 * Return: 0; -ENOMEM; an error of reading dir.
 */
int recorded_collect(struct recorded *tree, const char *dir, size_t max, const char *progress);

/*
 * Add one item that no file stands for. Its directory must be there.
 * like: its attributes but for the inode number, which is its own.
 * Return: its number, or RECORDED_NONE without memory.
 */
uint32_t recorded_make(struct recorded *tree, uint32_t dir, const char *name,
                       const struct pathcache_attr *like);

/* The item of a path without links or ".", or RECORDED_NONE. Not in a copy. */
uint32_t recorded_find(const struct recorded *tree, const char *path);

/* What a link leads to without leaving the record, or RECORDED_NONE. Not in a copy. */
uint32_t recorded_resolve(const struct recorded *tree, uint32_t link);

/* Write the path of an item in a copy (0: the tree itself). Return: its length. */
size_t recorded_path(const struct recorded *tree, uint32_t copy, uint32_t item, char *buf,
                     size_t size);

/* Whether the kernel knows path under the same name. */
bool recorded_is_real(const struct recorded *tree, const char *path);

/*
 * What the record says of a path without links.
 * Return: 0; -ENOENT.
 */
int recorded_stat(const struct recorded *tree, const char *path, struct pathcache_attr *attr);

/* The descriptor that *path is below for the kernel; *path becomes what is left of it. */
int recorded_at(const struct recorded *tree, const char **path);

/* The same question to the kernel, links followed as flags say. Return: 0; -errno. */
int recorded_ask_kernel(const struct recorded *tree, const char *path, uint64_t flags,
                        struct stat *st);

/* Whether the kernel lets this process read what path leads to. Return: 0; -errno. */
int recorded_ask_access(const struct recorded *tree, const char *path);

/*
 * What one cache is shown: the tree, or the tree with one name renamed. dir is
 * the directory's item; moved: 1 while `from` is called `to`.
 */
struct recorded_view {
	const struct recorded *tree;
	const char *from, *to;
	uint32_t dir;
	atomic_int moved;
};

/* Open a cache of a view, which outlives it. Return: as pathcache_open_ops(). */
int recorded_open(struct pathcache **out, struct recorded_view *view,
                  const struct pathcache_options *options);

#endif
