/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One scenario of bench_bound: a load that goes through a cache, with what is
 * watched meanwhile. Each has a process of its own, so that what one has left in
 * the allocator is not seen by the next.
 */
#ifndef BENCH_BOUND_H
#define BENCH_BOUND_H

#include "numbers.h"

#include <pathcache.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A path for operation i, NUL-terminated, within BOUND_PATH_BYTES. */
typedef void (*bound_path_fn)(char *out, uint64_t i);

enum { BOUND_PATH_BYTES = 64 };

/* What came out; plain data, as it goes through a pipe. */
struct bound_result {
	uint64_t budget;
	uint64_t ops;
	uint64_t ns;       /* of all of them */
	uint64_t bytes;    /* peak of the cache's own */
	uint64_t deferred; /* peak of what waits for a grace period */
	uint64_t resident; /* peak of the process's memory, over its start */
	uint64_t held;     /* bytes that held entries keep; may come on top of the budget */
	uint64_t dentries; /* at the end */
	uint64_t backend_calls;
	uint64_t uncached;
	uint64_t hits;
	bool stalled; /* nothing went on until the reader left its read section */
	bool lost;    /* what was held does not answer any more */
};

struct bound {
	/* The scenario's, before bound_begin(). */
	uint64_t budget;
	unsigned int threads;
	unsigned int stall_ms; /* without progress: the parked reader is told to leave */
	struct numbers names;
	/* bound_begin()'s. */
	struct pathcache *cache;
	uint64_t start_resident;
	struct bound_result result;
	/* Of the load under way. */
	bound_path_fn path;
	struct pathcache_entry **keep; /* [operation]; NULL: nothing is held */
	atomic_uint_fast64_t done;
	atomic_uint running;
	atomic_int error; /* the first one */
	atomic_uint_fast64_t bytes, deferred;
	/* The reader that is parked. */
	pthread_t reader;
	bool parked;
	atomic_bool leave;
};

/* Measure the start and open the cache. Return: 0; -errno. */
int bound_begin(struct bound *bound);

/*
 * Put operations 0 to ops - 1 through the cache by all threads and watch. keep:
 * room for an entry for each operation, which then gets it instead of asking for
 * its attributes; NULL for none.
 * Return: 0; -errno of the first that gave something else than an answer.
 */
int bound_load(struct bound *bound, bound_path_fn path, uint64_t ops,
               struct pathcache_entry **keep);

/* Look at the sizes now, as a load does now and then. */
void bound_watch(struct bound *bound);

/* A thread enters a read section of the host's own and stays there. Return: 0; -errno. */
int bound_park(struct bound *bound);
void bound_unpark(struct bound *bound);

/* Close the cache; bound->result is complete. Return: 0; -errno. */
int bound_end(struct bound *bound);

#endif
