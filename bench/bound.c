/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bound.h"

#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <urcu/urcu-memb.h>

enum {
	WATCH_OPS = 128,        /* a thread looks at the cache's sizes once in so many */
	WATCH_NS = 2000 * 1000, /* the process's size is looked at once in so long */
};

static void raise_to(atomic_uint_fast64_t *peak, uint64_t now)
{
	uint_fast64_t was = atomic_load_explicit(peak, memory_order_relaxed);

	while (was < now && !atomic_compare_exchange_weak(peak, &was, now))
		;
}

/* Bytes of the process that are in memory; 0 where the system does not tell. */
static uint64_t resident_now(void)
{
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	unsigned long long total = 0, resident = 0;
	char text[128];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	if (sscanf(text, "%llu %llu", &total, &resident) != 2)
		return 0;
	return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void watch_cache(struct bound *bound)
{
	struct pathcache_stats stats = {.size = sizeof(stats)};

	pathcache_get_stats(bound->cache, &stats);
	raise_to(&bound->bytes, stats.bytes);
	raise_to(&bound->deferred, stats.deferred_bytes);
}

static void watch_process(struct bound *bound)
{
	uint64_t now = resident_now();

	if (now > bound->start_resident + bound->result.resident)
		bound->result.resident = now - bound->start_resident;
}

void bound_watch(struct bound *bound)
{
	watch_cache(bound);
	watch_process(bound);
}

/* ---- the load ---- */

struct prober {
	struct bound *bound;
	pthread_t id;
	uint64_t first, end;
	bool started;
};

static int probe(struct bound *bound, uint64_t i)
{
	struct pathcache_attr attr;
	char path[BOUND_PATH_BYTES];
	int rc;

	bound->path(path, i);
	if (bound->keep)
		return pathcache_get(bound->cache, path, NULL, &bound->keep[i]);
	rc = pathcache_stat(bound->cache, path, NULL, &attr);
	return rc == -ENOENT ? 0 : rc;
}

static void *prober_main(void *arg)
{
	struct prober *prober = arg;
	struct bound *bound = prober->bound;

	for (uint64_t i = prober->first; i < prober->end && !atomic_load(&bound->error); i++) {
		int error = probe(bound, i), none = 0;

		if (error)
			atomic_compare_exchange_strong(&bound->error, &none, error);
		atomic_fetch_add_explicit(&bound->done, 1, memory_order_relaxed);
		if (i % WATCH_OPS == 0)
			watch_cache(bound);
	}
	watch_cache(bound);
	atomic_fetch_sub(&bound->running, 1);
	return NULL;
}

/* Until all are through, or one that nobody can help hangs. */
static void watch_probers(struct bound *bound)
{
	const struct timespec pause = {.tv_nsec = WATCH_NS};
	uint64_t last = 0, since = bench_now_ns();

	while (atomic_load(&bound->running)) {
		uint64_t done = atomic_load(&bound->done), now = bench_now_ns();

		if (done != last) {
			last = done;
			since = now;
		} else if (bound->parked && now - since > bound->stall_ms * UINT64_C(1000000)) {
			bound->result.stalled = true;
			bound_unpark(bound);
		}
		watch_process(bound);
		nanosleep(&pause, NULL);
	}
}

int bound_load(struct bound *bound, bound_path_fn path, uint64_t ops, struct pathcache_entry **keep)
{
	struct prober *probers = calloc(bound->threads, sizeof(*probers));
	uint64_t start = bench_now_ns();

	if (!probers)
		return -ENOMEM;
	bound->path = path;
	bound->keep = keep;
	atomic_store(&bound->running, bound->threads);
	for (unsigned int i = 0; i < bound->threads; i++) {
		struct prober *prober = &probers[i];

		*prober = (struct prober){
			.bound = bound,
			.first = ops * i / bound->threads,
			.end = ops * (i + 1) / bound->threads,
		};
		prober->started = !pthread_create(&prober->id, NULL, prober_main, prober);
		if (!prober->started) {
			atomic_store(&bound->error, -EAGAIN);
			atomic_fetch_sub(&bound->running, 1);
		}
	}
	watch_probers(bound);
	for (unsigned int i = 0; i < bound->threads; i++) {
		if (probers[i].started)
			pthread_join(probers[i].id, NULL);
	}
	free(probers);
	bound->result.ns += bench_now_ns() - start;
	bound->result.ops += ops;
	return atomic_load(&bound->error);
}

/* ---- a reader that stays ---- */

static void *reader_main(void *arg)
{
	const struct timespec pause = {.tv_nsec = WATCH_NS};
	struct bound *bound = arg;

	urcu_memb_register_thread();
	urcu_memb_read_lock();
	atomic_fetch_add(&bound->running, 1);
	while (!atomic_load(&bound->leave))
		nanosleep(&pause, NULL);
	urcu_memb_read_unlock();
	urcu_memb_unregister_thread();
	return NULL;
}

int bound_park(struct bound *bound)
{
	const struct timespec pause = {.tv_nsec = WATCH_NS};
	int error = -pthread_create(&bound->reader, NULL, reader_main, bound);

	if (error)
		return error;
	bound->parked = true;
	while (!atomic_load(&bound->running))
		nanosleep(&pause, NULL);
	return 0;
}

void bound_unpark(struct bound *bound)
{
	if (!bound->parked)
		return;
	atomic_store(&bound->leave, true);
	pthread_join(bound->reader, NULL);
	bound->parked = false;
}

/* ---- begin and end ---- */

int bound_begin(struct bound *bound)
{
	struct pathcache_options options;

	pathcache_options_init(&options);
	options.budget = bound->budget;
	bound->start_resident = resident_now();
	bound->result.budget = bound->budget;
	return numbers_open(&bound->cache, &bound->names, &options);
}

int bound_end(struct bound *bound)
{
	struct pathcache_stats stats = {.size = sizeof(stats)};
	struct bound_result *result = &bound->result;

	bound_watch(bound);
	bound_unpark(bound);
	pathcache_get_stats(bound->cache, &stats);
	result->bytes = atomic_load(&bound->bytes);
	result->deferred = atomic_load(&bound->deferred);
	result->dentries = stats.dentries;
	result->backend_calls = stats.backend_calls;
	result->uncached = stats.uncached;
	result->hits = stats.hits;
	return pathcache_close(bound->cache);
}
