/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "events.h"
#include "histogram.h"
#include "passes.h"
#include "temptree.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	NAMES = 64,           /* of rate, in turn */
	EVERY_NS = 1000000,   /* of delay */
	BATCH = 1024,         /* of one pathcache_maintain() */
	DELAYS_MAX = 1 << 20, /* changes of one run */
	FIRST_PACE_NS = 2000,
	ATTEMPTS = 12,
};

/* What the process that changes files shares with this one. */
struct shared {
	_Atomic(uint64_t) changes;
	_Atomic(uint64_t) begun[DELAYS_MAX]; /* delay: when change i began */
};

/* A run: one process changes, one thread drains, another one looks up. */
struct flow {
	struct temptree tree;
	int fd;
	struct shared *shared;
	struct pathcache *cache;
	uint64_t pace_ns; /* rate: between two changes */
	_Atomic(bool) stop;
	struct histogram *delays; /* NULL: rate */
};

/* ---- the process that changes ---------------------------------------------- */

static void wait_until(uint64_t ns)
{
	while (bench_now_ns() < ns)
		;
}

static void change_fast(struct flow *flow)
{
	char name[32];

	for (unsigned int i = 0;; i++) {
		uint64_t next = bench_now_ns() + flow->pace_ns;
		int fd;

		snprintf(name, sizeof(name), "f%u", i % NAMES);
		fd = openat(flow->fd, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
		if (fd < 0 || close(fd) || unlinkat(flow->fd, name, 0))
			_exit(1);
		atomic_fetch_add_explicit(&flow->shared->changes, 2, memory_order_relaxed);
		wait_until(next);
	}
}

static void change_slowly(struct flow *flow)
{
	struct timespec pause = {.tv_nsec = EVERY_NS};
	char name[32];

	for (unsigned int i = 0; i < DELAYS_MAX; i++) {
		int fd;

		clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
		snprintf(name, sizeof(name), "n%u", i);
		atomic_store(&flow->shared->begun[i], bench_now_ns());
		fd = mkdirat(flow->fd, name, 0755);
		if (fd)
			_exit(1);
		atomic_fetch_add_explicit(&flow->shared->changes, 1, memory_order_relaxed);
	}
	pause.tv_sec = 3600;
	clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

static pid_t changer_start(struct flow *flow)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (flow->delays)
		change_slowly(flow);
	else
		change_fast(flow);
	_exit(0);
}

/* Return: 0; -EIO: it had ended by itself. */
static int changer_stop(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) ? 0 : -EIO;
}

/* ---- this process ------------------------------------------------------------- */

static void told(void *arg, const struct pathcache_change *change)
{
	struct flow *flow = arg;
	uint64_t now = bench_now_ns(), begun;
	unsigned int i;

	if (change->kind != PATHCACHE_CHANGE_NAME || sscanf(change->name, "n%u", &i) != 1 ||
	    i >= DELAYS_MAX)
		return;
	/* The first time counts: a directory that is made may be told of again. */
	begun = atomic_exchange(&flow->shared->begun[i], 0);
	if (begun)
		histogram_add(flow->delays, now - begun);
}

static void *look(void *arg)
{
	struct flow *flow = arg;
	struct pathcache_attr attr;
	char name[32];

	for (unsigned int i = 0; !atomic_load_explicit(&flow->stop, memory_order_relaxed); i++) {
		struct timespec pause = {.tv_nsec = 20000};

		snprintf(name, sizeof(name), "f%u", i % NAMES);
		pathcache_stat(flow->cache, name, NULL, &attr);
		clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
	}
	return NULL;
}

static uint64_t thread_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Do what pathcache_fd() calls for. Return: what part of a CPU that took. */
static double drain(struct flow *flow, uint64_t ms)
{
	struct pollfd p = {.fd = pathcache_fd(flow->cache), .events = POLLIN};
	uint64_t begun = bench_now_ns(), end = begun + ms * 1000000, cpu = thread_cpu_ns();

	while (bench_now_ns() < end)
		if (poll(&p, 1, 10) > 0)
			while (pathcache_maintain(flow->cache, BATCH) == 1 && bench_now_ns() < end)
				;
	return (double)(thread_cpu_ns() - cpu) / (double)(bench_now_ns() - begun);
}

static int flow_open(struct flow *flow, const struct events_source *src)
{
	struct pathcache_options opt = events_cache_options(src);
	struct pathcache_attr attr;
	int error;

	if (flow->delays) {
		opt.listener = told;
		opt.listener_arg = flow;
	}
	error = pathcache_open(&flow->cache, flow->tree.dir, &opt);
	if (error)
		return error;
	/* From here on the directory is watched. */
	pathcache_stat(flow->cache, "f0", NULL, &attr);
	return 0;
}

struct outcome {
	double cpu;
	uint64_t changes, overflows, ns;
};

/* One round. Return: 0; -errno. */
static int flow_run(struct flow *flow, const struct events *ev, const struct events_source *src,
                    struct outcome *out)
{
	struct pathcache_stats stats = {.size = sizeof(stats)};
	uint64_t begun;
	pthread_t looker;
	pid_t changer;
	int error = flow_open(flow, src);

	if (error)
		return error;
	atomic_store(&flow->shared->changes, 0);
	atomic_store(&flow->stop, false);
	changer = changer_start(flow);
	error = changer < 0 ? -errno : -pthread_create(&looker, NULL, look, flow);
	begun = bench_now_ns();
	if (!error)
		out->cpu = drain(flow, ev->opt.round_ms);
	out->ns = bench_now_ns() - begun;
	out->changes = atomic_load(&flow->shared->changes);
	atomic_store(&flow->stop, true);
	if (changer > 0) {
		if (!error)
			pthread_join(looker, NULL);
		error = error ? error : changer_stop(changer);
	}
	pathcache_get_stats(flow->cache, &stats);
	out->overflows = stats.events_overflows;
	pathcache_close(flow->cache);
	return error;
}

static int flow_init(struct flow *flow, const struct events *ev)
{
	int error = temptree_make(&flow->tree, ev->opt.tmp, 0, NULL);

	if (error)
		return error;
	flow->fd = open(flow->tree.dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	flow->shared = mmap(NULL, sizeof(*flow->shared), PROT_READ | PROT_WRITE,
	                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return flow->fd < 0 || flow->shared == MAP_FAILED ? -errno : 0;
}

static void flow_fini(struct flow *flow)
{
	if (flow->shared && flow->shared != MAP_FAILED)
		munmap(flow->shared, sizeof(*flow->shared));
	if (flow->fd > 0)
		close(flow->fd);
	temptree_remove(&flow->tree);
}

/* ---- rate ------------------------------------------------------------------------ */

/* The fastest pace at which nothing overflows. Return: 0; -errno. */
static int find_pace(struct flow *flow, const struct events *ev, const struct events_source *src)
{
	struct outcome out;
	int error;

	for (int i = 0; i < ATTEMPTS; i++) {
		error = flow_run(flow, ev, src, &out);
		if (error || !out.overflows)
			return error;
		flow->pace_ns = flow->pace_ns ? flow->pace_ns * 3 / 2 : FIRST_PACE_NS;
	}
	return -EBUSY;
}

static int rate_measure(struct events *ev, struct flow *flow, const struct events_source *src)
{
	struct bench_cell cell = {
		.bench = "events", .scenario = "rate", .threads = 1, .paths = NAMES};
	struct bench_result result = {.min = 1e300};
	double ns[64], cpu[64];
	char extra[96], note[96];
	size_t rounds = ev->opt.rounds < 64 ? ev->opt.rounds : 64;
	uint64_t overflows = 0;
	int error = find_pace(flow, ev, src);

	for (size_t i = 0; i < rounds && !error; i++) {
		struct outcome out;

		error = flow_run(flow, ev, src, &out);
		ns[i] = (double)out.ns / (double)(out.changes ? out.changes : 1);
		cpu[i] = out.cpu;
		overflows += out.overflows;
		result.min = ns[i] < result.min ? ns[i] : result.min;
		result.max = ns[i] > result.max ? ns[i] : result.max;
	}
	if (error)
		return error;
	result.ns_per_op = bench_median(ns, rounds);
	result.mops = 1e3 / result.ns_per_op;
	snprintf(extra, sizeof(extra), "cpu=%.3f;overflows=%ju;pace_ns=%ju",
	         bench_median(cpu, rounds), (uintmax_t)overflows, (uintmax_t)flow->pace_ns);
	snprintf(note, sizeof(note), "%.0f changes/s, %.0f %% of a CPU drains, %ju overflows%s",
	         1e9 / result.ns_per_op, 100 * bench_median(cpu, rounds), (uintmax_t)overflows,
	         flow->pace_ns ? ", slowed down" : "");
	events_row(ev, &cell, src->mode, &result, extra, note);
	return 0;
}

/* ---- delay ------------------------------------------------------------------------ */

static int delay_measure(struct events *ev, struct flow *flow, const struct events_source *src)
{
	struct bench_cell cell = {.bench = "events", .scenario = "delay", .threads = 1, .paths = 1};
	struct bench_result result = {.min = 0};
	struct outcome out;
	char extra[96], note[96];
	int error = 0;

	for (size_t i = 0; i < ev->opt.rounds && !error; i++) {
		struct temptree next = {NULL};

		error = flow_run(flow, ev, src, &out);
		if (error || i + 1 == ev->opt.rounds)
			break;
		/* Names are used once. */
		temptree_remove(&flow->tree);
		close(flow->fd);
		error = temptree_make(&next, ev->opt.tmp, 0, NULL);
		flow->tree = next;
		flow->fd = open(flow->tree.dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	if (error)
		return error;
	if (!flow->delays->count)
		return -ENODATA;
	result.ns_per_op = (double)histogram_at(flow->delays, 0.5);
	result.min = (double)histogram_at(flow->delays, 0);
	result.max = (double)flow->delays->max;
	result.mops = 1e3 / result.ns_per_op;
	snprintf(extra, sizeof(extra), "p50=%.0f;p99=%ju;count=%ju", result.ns_per_op,
	         (uintmax_t)histogram_at(flow->delays, 0.99), (uintmax_t)flow->delays->count);
	snprintf(note, sizeof(note), "p50 %.0f us, p99 %.0f us of %ju", result.ns_per_op / 1e3,
	         (double)histogram_at(flow->delays, 0.99) / 1e3, (uintmax_t)flow->delays->count);
	events_row(ev, &cell, src->mode, &result, extra, note);
	return 0;
}

/* ---- both ------------------------------------------------------------------------- */

typedef int (*measure_fn)(struct events *ev, struct flow *flow, const struct events_source *src);

static int by_each_source(struct events *ev, const char *what, bool delays, measure_fn measure)
{
	int error = 0;

	for (size_t i = 0; i < EVENTS_SOURCES && !error; i++) {
		struct flow flow = {.fd = -1};

		flow.delays = delays ? calloc(1, sizeof(*flow.delays)) : NULL;
		error = delays && !flow.delays ? -ENOMEM : flow_init(&flow, ev);
		if (!error)
			error = measure(ev, &flow, &events_sources[i]);
		flow_fini(&flow);
		free(flow.delays);
		if (error == -EPERM && i > 0) {
			printf("%s: %s left out: not permitted\n", what, events_sources[i].mode);
			error = 0;
		}
	}
	return error ? bench_complain(what, error) : 0;
}

int events_rate(struct events *ev)
{
	return by_each_source(ev, "rate", false, rate_measure);
}

int events_delay(struct events *ev)
{
	return by_each_source(ev, "delay", true, delay_measure);
}
