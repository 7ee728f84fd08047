/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The rivals of bench_replay: the cache in each of its modes, tables keyed by
 * full path that ask the system call for what they do not know, and the system
 * call alone. Each begins empty, answers queries and is told of each change after
 * it was made. One thread, which is registered with the library.
 */
#ifndef BENCH_RIVALS_H
#define BENCH_RIVALS_H

#include "operations.h"

#include <limits.h>
#include <pathcache.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/*
 * result: 0 or a negative errno. Where 0: attr of a stat or lstat (st from the
 * system call), length bytes of text of a readlink, a descriptor of what opens.
 */
struct answer {
	int result;
	int fd;
	ssize_t length;
	struct pathcache_attr attr;
	struct stat st;
	char text[PATH_MAX];
};

/*
 * A change that was made. to: the new path of a rename, else NULL. directory: what
 * was renamed is one, or a link, which may lead to one.
 */
struct change {
	enum operation_kind kind;
	const char *path;
	const char *to;
	bool directory;
};

enum { REASONS_MAX = 12 };

/*
 * Since create. restarts: walks of a cache that began again since a change raced them.
 * reasons: why the system call was asked, or what a change cost.
 */
struct rival_counts {
	uint64_t queries;
	uint64_t hits;
	uint64_t restarts;
	struct {
		const char *name;
		uint64_t n;
	} reasons[REASONS_MAX];
	size_t nreasons;
};

/*
 * dir, fd: the root of the tree. expected: paths that will be asked for.
 * complete_max: option of the cache.
 */
struct rival_setup {
	const char *dir;
	int fd;
	size_t expected;
	uint64_t complete_max;
};

/*
 * ask: path has its key one byte before it. told: NULL for who need not know.
 * Return of create and destroy: 0 or a negative errno.
 */
struct rival_ops {
	const char *mode;
	const void *arg; /* the rival's own */
	int (*create)(const struct rival_ops *ops, const struct rival_setup *setup, void **self);
	void (*ask)(void *self, enum operation_kind kind, const char *path, struct answer *answer);
	void (*told)(void *self, const struct change *change);
	void (*count)(void *self, struct rival_counts *counts);
	int (*destroy)(void *self);
};

extern const struct rival_ops rival_rcu;
extern const struct rival_ops rival_rcu_walk;
extern const struct rival_ops rival_lockref;
extern const struct rival_ops rival_refwalk;
extern const struct rival_ops rival_locked;
extern const struct rival_ops rival_lfht;
extern const struct rival_ops rival_ck;
extern const struct rival_ops rival_glib;
extern const struct rival_ops rival_syscall;

enum { RIVALS_MAX = 9 };

/* All of this build, the system call last. Return: how many. */
size_t rivals_all(const struct rival_ops **out);

/* Whether mode is a rival's name, and why it is not in this build, if so. */
bool rivals_known(const char *mode, const char **missing);

/* Is it a cache, whose every answer has to be right? */
bool rival_is_exact(const struct rival_ops *ops);

/* ---- the system call ---- */

/* path, relative to the root's descriptor. */
const char *kernel_path(const char *path);

/* open(2) flags of the kind. */
int kernel_open_flags(enum operation_kind kind);

/* The question to the kernel, as the program asked it; see docs/benchmarks.md. */
void kernel_ask(int root, enum operation_kind kind, const char *path, struct answer *answer);

#endif
