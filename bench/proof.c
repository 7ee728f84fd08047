/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "proof.h"

#include "harness.h"
#include "testing.h"

#include <errno.h>
#include <pathcache.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	MAX_PROBES = 300,
	PASSES = 200,
	MAX_THREADS = 4,
	ABSENT_EVERY = 4,
	UPKEEP_STEP = 1 << 20,
	/*
	 * A thread stamps the memos it has to check once it has checked very many
	 * without a change in between: fewer than these, see cache/learn.h.
	 */
	SETTLE_QUERIES = 40000,
	SETTLE_ROUNDS = 20,
};

enum kind { ASK_STAT, ASK_LSTAT, ASK_ACCESS, ASK_READLINK, ASK_REALPATH, KINDS };

/* One path, and what each kind of query answered while all was writable. */
struct probe {
	char *path;
	int negative;
	long answer[KINDS];
};

struct proof {
	struct pathcache *cache;
	struct probe *probes;
	size_t count;
	pthread_barrier_t ready;     /* all threads are known to liburcu */
	pthread_barrier_t read_only; /* the memory is protected */
	pthread_barrier_t finished;  /* no more queries */
};

struct prover {
	struct proof *proof;
	pthread_t id;
	uint64_t queries;
	uint64_t negatives;
	uint64_t wrong;
};

/* The errno, the length, or something of the attributes that would show a mix-up. */
static long ask(struct pathcache *cache, enum kind kind, const char *path, uint64_t flags)
{
	struct pathcache_how how = {.size = sizeof(how), .flags = flags};
	struct pathcache_attr attr;
	char text[4096];
	int error;

	if (kind == ASK_LSTAT)
		how.flags |= PATHCACHE_NOFOLLOW;
	switch (kind) {
	case ASK_STAT:
	case ASK_LSTAT:
		error = pathcache_stat(cache, path, &how, &attr);
		return error ? error : (long)(attr.ino & 0x7fffffff);
	case ASK_ACCESS:
		return pathcache_access(cache, path, R_OK, &how);
	case ASK_READLINK:
		return pathcache_readlink(cache, path, &how, text, sizeof(text));
	case ASK_REALPATH:
		return pathcache_realpath(cache, path, &how, text, sizeof(text));
	case KINDS:
		break;
	}
	return -EINVAL;
}

/* Return: 1 when every kind of query for the path is now answered from memory. */
static int warm_probe(struct pathcache *cache, struct probe *probe)
{
	for (unsigned int k = 0; k < KINDS; k++) {
		ask(cache, k, probe->path, 0);
		ask(cache, k, probe->path, 0);
	}
	for (unsigned int k = 0; k < KINDS; k++) {
		probe->answer[k] = ask(cache, k, probe->path, PATHCACHE_CACHED);
		if (probe->answer[k] == -EAGAIN)
			return 0;
	}
	return 1;
}

static int add_probe(struct proof *proof, const char *path, int negative)
{
	struct probe *probe = &proof->probes[proof->count];
	const char *suffix = negative ? ".pathcache-absent" : "";

	if (asprintf(&probe->path, "%s%s", path, suffix) < 0)
		return -ENOMEM;
	probe->negative = negative;
	if (warm_probe(proof->cache, probe))
		proof->count++;
	else
		free(probe->path);
	return 0;
}

static int add_probes(struct proof *proof, const struct bench_paths *set)
{
	int error = 0;

	for (size_t i = 0; i < set->count && proof->count + 2 <= MAX_PROBES && !error; i++) {
		error = add_probe(proof, set->path[i], 0);
		if (!error && i % ABSENT_EVERY == 0)
			error = add_probe(proof, set->path[i], 1);
	}
	if (error)
		return error;
	return proof->count ? 0 : -ENODATA;
}

static void prove(struct prover *prover)
{
	struct proof *proof = prover->proof;

	for (unsigned int pass = 0; pass < PASSES; pass++) {
		for (size_t i = 0; i < proof->count; i++) {
			const struct probe *probe = &proof->probes[i];

			for (unsigned int k = 0; k < KINDS; k++) {
				long answer = ask(proof->cache, k, probe->path, PATHCACHE_CACHED);

				prover->wrong += answer != probe->answer[k];
			}
			prover->queries += KINDS;
			prover->negatives += probe->negative ? KINDS : 0;
		}
	}
}

static struct pathcache_stats stats_of(struct pathcache *cache)
{
	struct pathcache_stats stats = {.size = sizeof(stats)};

	pathcache_get_stats(cache, &stats);
	return stats;
}

static void ask_everything(struct proof *proof)
{
	for (size_t i = 0; i < proof->count; i++)
		for (unsigned int k = 0; k < KINDS; k++)
			ask(proof->cache, k, proof->probes[i].path, PATHCACHE_CACHED);
}

/*
 * Learning and stamping are stores that some hits make, once. Ask until neither
 * is left, and nothing that was replaced waits to be freed. No query misses
 * here, so no thread has a token to take another memo's place with.
 * Return: 0; -EBUSY.
 */
static int settle(struct proof *proof)
{
	for (unsigned int round = 0; round < SETTLE_ROUNDS; round++) {
		struct pathcache_stats before, now;

		while (pathcache_maintain(proof->cache, UPKEEP_STEP) > 0)
			;
		before = stats_of(proof->cache);
		for (size_t n = 0; n < SETTLE_QUERIES; n += proof->count * KINDS)
			ask_everything(proof);
		now = stats_of(proof->cache);
		if (now.memos == before.memos && now.memo_bytes == before.memo_bytes &&
		    now.memo_stamps == before.memo_stamps &&
		    now.backend_calls == before.backend_calls)
			return 0;
	}
	return -EBUSY;
}

static void *prover_main(void *arg)
{
	struct prover *prover = arg;
	struct proof *proof = prover->proof;

	/*
	 * Per-thread counters are made by a thread's first query. They are the
	 * thread's own, but may be allocated, which read-only memory forbids.
	 */
	ask(proof->cache, ASK_STAT, proof->probes[0].path, PATHCACHE_CACHED);
	pthread_barrier_wait(&proof->ready);
	pthread_barrier_wait(&proof->read_only);
	prove(prover);
	pthread_barrier_wait(&proof->finished);
	return NULL;
}

static void store_seen(int signal)
{
	static const char text[] = "bench_demo: a hit stored to the cache's memory\n";
	ssize_t written = write(STDERR_FILENO, text, sizeof(text) - 1);

	(void)signal;
	(void)written;
	_exit(3);
}

/* Protect between the barriers. All provers run, so each barrier is met even on failure. */
static int hold_read_only(struct proof *proof)
{
	const struct sigaction catch = {.sa_handler = store_seen};
	struct sigaction before;
	int error, writable;

	sigaction(SIGSEGV, &catch, &before);
	pthread_barrier_wait(&proof->ready);
	error = pc_test_protect(proof->cache, 1);
	pthread_barrier_wait(&proof->read_only);
	pthread_barrier_wait(&proof->finished);
	writable = pc_test_protect(proof->cache, 0);
	sigaction(SIGSEGV, &before, NULL);
	return error ? error : writable;
}

static void start_provers(struct proof *proof, struct prover *provers, unsigned int threads)
{
	for (unsigned int i = 0; i < threads; i++) {
		provers[i].proof = proof;
		if (pthread_create(&provers[i].id, NULL, prover_main, &provers[i])) {
			/* Those already started wait at a barrier for good. */
			fprintf(stderr, "bench_demo: cannot start %u threads\n", threads);
			exit(2);
		}
	}
}

static int run_provers(struct proof *proof, struct proof_result *result)
{
	struct prover provers[MAX_THREADS] = {0};
	unsigned int cpus = bench_cpu_count();
	unsigned int threads = cpus < 2 ? 2 : cpus > MAX_THREADS ? MAX_THREADS : cpus;
	struct pathcache_stats before = stats_of(proof->cache), now;
	int error;

	pthread_barrier_init(&proof->ready, NULL, threads + 1);
	pthread_barrier_init(&proof->read_only, NULL, threads + 1);
	pthread_barrier_init(&proof->finished, NULL, threads + 1);
	start_provers(proof, provers, threads);
	error = hold_read_only(proof);
	for (unsigned int i = 0; i < threads; i++) {
		pthread_join(provers[i].id, NULL);
		result->queries += provers[i].queries;
		result->negatives += provers[i].negatives;
		result->wrong += provers[i].wrong;
	}
	result->threads = threads;
	result->paths = proof->count;
	now = stats_of(proof->cache);
	result->backend_calls = now.backend_calls - before.backend_calls;
	result->memo_hits = now.memo_hits - before.memo_hits;
	pthread_barrier_destroy(&proof->ready);
	pthread_barrier_destroy(&proof->read_only);
	pthread_barrier_destroy(&proof->finished);
	return error;
}

int proof_zero_stores(struct pathcache *cache, const struct bench_paths *set,
                      struct proof_result *result)
{
	struct proof proof = {.cache = cache};
	int error;

	*result = (struct proof_result){0};
	proof.probes = calloc(MAX_PROBES, sizeof(*proof.probes));
	if (!proof.probes)
		return -ENOMEM;
	error = add_probes(&proof, set);
	if (!error)
		error = settle(&proof);
	if (!error)
		error = run_provers(&proof, result);
	for (size_t i = 0; i < proof.count; i++)
		free(proof.probes[i].path);
	free(proof.probes);
	return error;
}

/* ---- the counter-proof ---- */

int proof_set_mode(struct pathcache_options *options, const char *mode)
{
	static const struct {
		const char *name;
		enum pathcache_mode mode;
		int memos;
	} modes[] = {
		{"rcu", PATHCACHE_MODE_RCU, 1},         {"rcu-walk", PATHCACHE_MODE_RCU, 0},
		{"lockref", PATHCACHE_MODE_LOCKREF, 0}, {"refwalk", PATHCACHE_MODE_REFWALK, 0},
		{"locked", PATHCACHE_MODE_LOCKED, 0},
	};

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(modes[i].name, mode))
			continue;
		options->mode = modes[i].mode;
		if (!modes[i].memos)
			options->memo_share = 0;
		return 0;
	}
	return -EINVAL;
}

int proof_child_main(const char *mode, const char *path)
{
	static const char armed[] = "armed";
	const struct rlimit no_core = {0, 0};
	struct pathcache_options options;
	struct pathcache *cache;

	pathcache_options_init(&options);
	if (proof_set_mode(&options, mode))
		return 2;
	/* Sanitizers and core dumps would only be in the way of the expected end. */
	setrlimit(RLIMIT_CORE, &no_core);
	signal(SIGSEGV, SIG_DFL);
	if (pathcache_open(&cache, "/", &options))
		return 2;
	/* To fill, to learn, and to be sure. */
	for (int i = 0; i < 3; i++)
		ask(cache, ASK_LSTAT, path, 0);
	if (ask(cache, ASK_LSTAT, path, PATHCACHE_CACHED) < 0 || pc_test_protect(cache, 1))
		return 2;
	if (write(STDOUT_FILENO, armed, sizeof(armed)) != sizeof(armed))
		return 2;
	ask(cache, ASK_LSTAT, path, PATHCACHE_CACHED);
	if (pc_test_protect(cache, 0))
		return 2;
	return pathcache_close(cache) ? 2 : 0;
}

/* Return: 1 armed and died of SIGSEGV, 0 armed and ended well, -EPROTO otherwise. */
static int judge_child(pid_t child, int output)
{
	char text[16];
	ssize_t length = read(output, text, sizeof(text));
	int status;

	while (waitpid(child, &status, 0) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	if (length < 5 || memcmp(text, "armed", 5))
		return -EPROTO;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV)
		return 1;
	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -EPROTO;
}

int proof_run_child(const char *mode, const char *path)
{
	int output[2], verdict;
	pid_t child;

	if (pipe(output))
		return -errno;
	fflush(NULL);
	child = fork();
	if (child < 0) {
		verdict = -errno;
		close(output[0]);
		close(output[1]);
		return verdict;
	}
	if (!child) {
		dup2(output[1], STDOUT_FILENO);
		close(output[0]);
		close(output[1]);
		execl("/proc/self/exe", "bench_demo", "--prove-fault", mode, path, (char *)NULL);
		_exit(2);
	}
	close(output[1]);
	verdict = judge_child(child, output[0]);
	close(output[0]);
	return verdict;
}
