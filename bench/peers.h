/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The rivals of bench_lookup: the cache in each of its modes, tables keyed by full
 * path, as a program would use in the cache's place, and the kernel's own calls.
 * Each answers runs of paths; the way in which it is asked while it is timed is
 * the one in which it was verified.
 *
 * Life: create, learn of each path (tables) or first answer of it (caches),
 * attach each further thread (rivals of which each thread has its own), answer
 * from any thread, detach, destroy. Threads register with the library before
 * they ask; tables share its flavour of liburcu.
 */
#ifndef BENCH_PEERS_H
#define BENCH_PEERS_H

#include "paths.h"

#include <pathcache.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct recorded;

/*
 * flags: of the question, PATHCACHE_NOFOLLOW or 0.
 * expected: how many paths it will be asked for.
 * access: PEER_ACCESS is asked, else PEER_STAT.
 */
struct peer_setup {
	const struct recorded *tree;
	uint64_t flags;
	uint64_t budget; /* bytes a cache may use */
	size_t expected;
	bool access;
};

/* A rename of `from` to `to`, both in dir, that moves the paths below with it. */
struct peer_move {
	const char *dir; /* "" for the root */
	const char *from;
	const char *to;
	const struct bench_paths *below; /* NULL: the moved name is a file */
};

/* What a rival can be asked. */
enum {
	PEER_STAT = 1,
	PEER_ACCESS = 2, /* R_OK */
};

/*
 * questions: which it answers, PEER_*; 0: PEER_STAT alone.
 * probe: whether it works on this machine, 0 or a negative errno. NULL: it does.
 * bind: the run of paths of which parts will be asked for, so that the rival can
 *   hold what belongs to each. The run stays until the next one, or destroy. Called
 *   by one thread while nobody asks. NULL: any paths may be asked for.
 * answer: results[i] is 0 or a negative errno, attrs[i] valid where 0 and attributes
 *   were asked for.
 * learn: keep an answer; attr NULL for a name that is absent. NULL for rivals
 *   that ask by themselves.
 * rekey: one path has another name now. NULL for rivals without keys.
 * move: rename in the rival's own namespace, and back, telling the cache. NULL
 *   for rivals without one. Called by one thread at a time, as rekey is.
 * attach: what the calling thread asks instead of self, which is then its
 *   creator's; it knows all that was learned. NULL: threads share self.
 * bytes: memory that self takes, of an attached one as well. NULL: not told.
 * tell: what else is to be known of its figures: key=value, with semicolons.
 * Return: 0 or a negative errno.
 */
struct peer_ops {
	const char *mode;
	unsigned int questions;
	int (*probe)(void);
	int (*create)(const struct peer_ops *ops, const struct peer_setup *setup, void **self);
	int (*bind)(void *self, const char *const *run, size_t n);
	void (*answer)(void *self, const char *const *paths, size_t n, struct pathcache_attr *attrs,
	               int *results);
	int (*learn)(void *self, const char *path, const struct pathcache_attr *attr);
	int (*rekey)(void *self, const char *from, const char *to);
	int (*move)(void *self, const struct peer_move *move, bool back);
	int (*attach)(void *self, void **own);
	void (*detach)(void *own); /* NULL as attach is */
	size_t (*bytes)(void *self);
	void (*tell)(void *self, char *text, size_t size);
	struct pathcache *(*cache)(void *self); /* NULL for rivals without one */
	int (*destroy)(void *self);
};

struct peer {
	const struct peer_ops *ops;
	void *self;
};

extern const struct peer_ops peer_rcu;
extern const struct peer_ops peer_rcu_walk;
extern const struct peer_ops peer_rcu_many;
extern const struct peer_ops peer_lockref;
extern const struct peer_ops peer_refwalk;
extern const struct peer_ops peer_locked;
extern const struct peer_ops peer_lfht;
extern const struct peer_ops peer_ck;
extern const struct peer_ops peer_glib;
extern const struct peer_ops peer_tbb;
extern const struct peer_ops peer_private;
extern const struct peer_ops peer_syscall;
extern const struct peer_ops peer_statx_fd;
extern const struct peer_ops peer_uring;
extern const struct peer_ops peer_access;

enum { PEERS_MAX = 16 };

static inline bool peer_can(const struct peer_ops *ops, bool access)
{
	unsigned int questions = ops->questions ? ops->questions : (unsigned int)PEER_STAT;

	return questions & (unsigned int)(access ? PEER_ACCESS : PEER_STAT);
}

/* A rival that asks the kernel, so only for files that are there. */
static inline bool peer_is_kernel(const struct peer_ops *ops)
{
	return !ops->learn && !ops->cache;
}

/*
 * All rivals of this build, the kernel's calls last.
 * Return: how many, at most PEERS_MAX.
 */
size_t peers_all(const struct peer_ops **out);

/* Whether mode is a rival's name, and why it is not in this build, if so. */
bool peers_known(const char *mode, const char **missing);

/* Free memory after a grace period, as a table does with what readers may see. */
void peers_retire(void *memory);

/* Wait until all that was retired is freed. */
void peers_retire_barrier(void);

#ifdef __cplusplus
}
#endif

#endif
