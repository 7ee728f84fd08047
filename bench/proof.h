/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The proof that a hit stores nothing in the cache's memory: all of that
 * memory is made read-only and the queries go on. One store would be a fault.
 */
#ifndef BENCH_PROOF_H
#define BENCH_PROOF_H

#include "paths.h"

#include <stdint.h>

struct pathcache;

struct proof_result {
	unsigned int threads;
	uint64_t queries;       /* done while the memory was read-only */
	uint64_t negatives;     /* ... of them for names that do not exist */
	uint64_t memo_hits;     /* ... of them answered by a memo */
	uint64_t wrong;         /* answers that were another than before */
	uint64_t backend_calls; /* questions asked while it was read-only */
	size_t paths;           /* that were asked for */
};

/*
 * Ask for up to a few hundred paths of set in all ways there are, from several
 * threads, while cache is read-only. A store ends the process with a message
 * and exit status 3. cache: opened in rcu mode on "/", with memos or without.
 * Return: 0 and result; -ENODATA when no path stayed in memory; -EOPNOTSUPP
 *   when this build's allocator cannot be protected; -ENOMEM and other
 *   errors of pc_test_protect(); -EBUSY when hits did not cease to be learned.
 */
int proof_zero_stores(struct pathcache *cache, const struct bench_paths *set,
                      struct proof_result *result);

/*
 * The counter-proof, run as a process of its own: one warm lookup of path in a
 * read-only cache of the named mode. Writes "armed" to stdout just before.
 * Return: the process's exit status, unless the lookup died of SIGSEGV.
 */
int proof_child_main(const char *mode, const char *path);

/*
 * Run this program again as proof_child_main().
 * Return: 1 the lookup died of SIGSEGV, 0 it answered; a negative errno when
 *   neither can be said.
 */
int proof_run_child(const char *mode, const char *path);

struct pathcache_options;

/* Set what a mode of the demo stands for: rcu with memos, others without. Return: 0; -EINVAL. */
int proof_set_mode(struct pathcache_options *options, const char *mode);

#endif
