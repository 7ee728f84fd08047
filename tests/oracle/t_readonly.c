/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A hit stores nothing in shared memory: with all memory of a warm cache made
 * read-only, every kind of hit is answered, from several threads, as before: by
 * walks, by memos, one by one and in batches.
 *
 * Control: in each counted mode the first such hit must fault. Without the
 * cache's own arena (sanitizer builds) nothing can be protected: skipped.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pathcache.h"
#include "run.h"
#include "testing.h"
#include "../support/tree.h" /* rcu_path has one too */

#define THREADS 3
#define DEEP \
	30 /* components, each passed by a step and left again: more than a walk has at first */

enum op {
	OP_STAT,
	OP_ACCESS,
	OP_READLINK,
	OP_REALPATH,
	OP_STAT_MANY,
	OP_ACCESS_MANY,
	OP_ENTRY_STAT,
	OP_ENTRY_PATH,
	OPS
};

struct question {
	const char *path;
	uint64_t flags;
	bool from_start;
	bool foreign;
};

static char deep[DEEP * 16];

static const struct question short_questions[] = {
	{.path = "/"},
	{.path = "d"},
	{.path = "d/"},
	{.path = "d//./sub/../f"},
	{.path = "d/sub/f"},
	{.path = "lf"},
	{.path = "lf", .flags = PATHCACHE_NOFOLLOW},
	{.path = "ld/sub/f"},
	{.path = "labs/f"},
	{.path = "lsub/.."},
	{.path = "dang"},
	{.path = "loop/x"},
	{.path = "absent"},
	{.path = "d/absent/x"},
	{.path = "d/f/x"},
	{.path = "d/f/"},
	{.path = "d", .flags = PATHCACHE_DIRECTORY},
	{.path = "d/f", .flags = PATHCACHE_DIRECTORY},
	{.path = "ld/f", .flags = PATHCACHE_NO_SYMLINKS},
	{.path = "d/f", .flags = PATHCACHE_NO_XDEV | PATHCACHE_CACHED},
	{.path = "closed/f", .foreign = true},
	{.path = "d/f", .foreign = true},
	{.path = "f", .from_start = true},
	{.path = ".", .from_start = true},
	{.path = "../d/sub/../f", .from_start = true},
	{.path = "sub/../../d", .from_start = true, .flags = PATHCACHE_BENEATH},
	{.path = "../../d/f", .from_start = true, .flags = PATHCACHE_IN_ROOT},
	{.path = "/sub/f", .from_start = true, .flags = PATHCACHE_IN_ROOT},
	{.path = deep},
};

#define SHORT (sizeof(short_questions) / sizeof(short_questions[0]))
#define QUESTIONS (2 * SHORT)
#define ROUNDS 200
#define SETTLE 400 /* rounds */
#define OTHERS 1000u
#define SMALL_BUDGET ((uint64_t)320 << 10)

/* Each as it is, which a walk answers, and in a longer form, which a memo may. */
static struct question questions[QUESTIONS];

static struct pathcache *cache;
static struct pathcache_entry *start;
static long before[QUESTIONS][OPS];
#define HIT_PROTECTED "--hit-protected"

static struct ts_tree tree;

static void questions_make(void)
{
	static char text[SHORT][sizeof(deep) + 32];

	for (size_t i = 0; i < SHORT; i++) {
		const char *path = short_questions[i].path;

		snprintf(text[i], sizeof(text[i]), "%s%s",
		         path[0] == '/' ? "///////////////" : "././././././././", path);
		questions[i] = questions[SHORT + i] = short_questions[i];
		questions[SHORT + i].path = text[i];
	}
}

static bool asked_alike(const struct question *a, const struct question *b)
{
	return a->flags == b->flags && a->from_start == b->from_start && a->foreign == b->foreign;
}

/* One number for all answers to what is asked as q is, in an order of q's own. */
static long ask_many(const struct question *q, const struct pathcache_how *how, bool stats)
{
	struct pathcache_attr attrs[QUESTIONS] = {{.ino = 0}};
	const char *paths[QUESTIONS];
	int results[QUESTIONS], rc;
	unsigned long sum = 0;
	size_t n = 0;

	for (size_t i = 0; i < QUESTIONS; i++) {
		const struct question *other =
			&questions[((size_t)(q - questions) + i) % QUESTIONS];

		if (asked_alike(q, other))
			paths[n++] = other->path;
	}
	rc = stats ? pathcache_stat_many(cache, paths, n, how, attrs, results)
	           : pathcache_access_many(cache, paths, n, R_OK, how, results);
	for (size_t i = 0; !rc && i < n; i++)
		sum = sum * 31 + (unsigned long)results[i] + (results[i] ? 0 : attrs[i].ino);
	return rc ? rc : (long)(sum >> 1);
}

static long ask(const struct question *q, enum op op)
{
	struct pathcache_cred nobody = {.size = sizeof(nobody), .uid = 65534, .gid = 65534};
	struct pathcache_how how = {.size = sizeof(how),
	                            .start = q->from_start ? start : NULL,
	                            .cred = q->foreign ? &nobody : NULL,
	                            .flags = q->flags};
	struct pathcache_attr attr = {.ino = 0};
	char buf[4096];
	int rc;

	switch (op) {
	case OP_STAT:
		rc = pathcache_stat(cache, q->path, &how, &attr);
		return rc ? rc : (long)attr.ino;
	case OP_ACCESS:
		return pathcache_access(cache, q->path, R_OK, &how);
	case OP_READLINK:
		return pathcache_readlink(cache, q->path, &how, buf, sizeof(buf));
	case OP_REALPATH:
		return pathcache_realpath(cache, q->path, &how, buf, sizeof(buf));
	case OP_STAT_MANY:
	case OP_ACCESS_MANY:
		return ask_many(q, &how, op == OP_STAT_MANY);
	case OP_ENTRY_STAT:
		rc = pathcache_entry_stat(cache, start, &attr);
		return rc ? rc : (long)attr.ino;
	case OP_ENTRY_PATH:
		return pathcache_entry_path(cache, start, buf, sizeof(buf));
	case OPS:
		break;
	}
	return -EINVAL;
}

static void tree_make(void)
{
	char *at = deep;

	ts_tree_make(&tree);
	ts_dir(&tree, "d", 0755);
	ts_dir(&tree, "d/sub", 0755);
	ts_file(&tree, "d/f", 0644, "");
	ts_file(&tree, "d/sub/f", 0644, "");
	ts_dir(&tree, "closed", 0700);
	ts_file(&tree, "closed/f", 0644, "");
	ts_symlink(&tree, "lf", "d/f");
	ts_symlink(&tree, "ld", "d/");
	ts_symlink(&tree, "labs", "/d");
	ts_symlink(&tree, "lsub", "d/sub");
	ts_symlink(&tree, "dang", "nowhere");
	ts_symlink(&tree, "loop", "loop");
	for (int i = 0; i < DEEP; i++)
		at += sprintf(at, "d/sub/../../");
	sprintf(at, "lf");
	ts_dir(&tree, "others", 0755);
	for (unsigned i = 0; i < OTHERS; i++) {
		char path[32];

		snprintf(path, sizeof(path), "others/%u", i);
		ts_file(&tree, path, 0644, "");
	}
	questions_make();
}

static void warm(int rounds)
{
	for (int round = 0; round < rounds; round++)
		for (size_t i = 0; i < QUESTIONS; i++)
			for (enum op op = 0; op < OPS; op++)
				before[i][op] = ask(&questions[i], op);
}

static void cache_warm_options(struct pathcache_options *opt)
{
	opt->memo_ways = 16; /* so that no place is fought for */
	REQUIRE(pathcache_open(&cache, tree.path, opt) == 0);
	REQUIRE(pathcache_get(cache, "d", NULL, &start) == 0);
	warm(4);
}

static void cache_warm_with(uint32_t mode, uint64_t budget)
{
	struct pathcache_options opt;

	pathcache_options_init(&opt);
	opt.mode = mode;
	if (budget)
		opt.budget = budget;
	cache_warm_options(&opt);
}

static void cache_warm(uint32_t mode)
{
	cache_warm_with(mode, 0);
}

static void cache_drop(void)
{
	pathcache_put(cache, start);
	CHECK_EQ(pathcache_close(cache), 0);
}

static _Atomic bool protected;
static _Atomic unsigned ready;

static void prover(void *arg)
{
	(void)arg;
	/* This thread's first use registers it and makes its counters. */
	ask(&questions[0], OP_STAT);
	ready++;
	while (!protected) {
		ts_quiescent();
		ts_sleep_us(100);
	}
	for (int round = 0; round < ROUNDS; round++)
		for (size_t i = 0; i < QUESTIONS; i++)
			for (enum op op = 0; op < OPS; op++)
				CHECK_EQ(ask(&questions[i], op), before[i][op]);
	ready--;
}

static void prove(void)
{
	struct ts_thread threads[THREADS];
	struct pathcache_stats first = {.size = sizeof(first)};
	struct pathcache_stats done = {.size = sizeof(done)};
	int rc;

	protected = false;
	for (int i = 0; i < THREADS; i++)
		ts_thread_start(&threads[i], prover, NULL);
	while (ready != THREADS)
		ts_sleep_us(100);
	CHECK_EQ(pathcache_get_stats(cache, &first), 0);
	rc = pc_test_protect(cache, 1);
	protected = true;
	for (int i = 0; i < THREADS; i++)
		ts_thread_join(&threads[i]);
	if (rc == -EOPNOTSUPP)
		ts_skip("this build's allocator cannot be protected");
	else
		CHECK_EQ(rc, 0);
	pc_test_protect(cache, 0);
	CHECK_EQ(pathcache_get_stats(cache, &done), 0);
	/* All of them were hits, so the proof is about hits. */
	CHECK_EQ(done.backend_calls, first.backend_calls);
	CHECK(done.hits - first.hits >= (uint64_t)THREADS * ROUNDS * QUESTIONS);
	CHECK(done.memo_hits - first.memo_hits >= (uint64_t)THREADS * ROUNDS * SHORT);
}

static void a_hit_in_rcu_mode_stores_nothing(void)
{
	cache_warm(PATHCACHE_MODE_RCU);
	prove();
	cache_drop();
}

/*
 * After a change elsewhere memos are checked by what they rely on, and note
 * after a while that it was found good, which is a store. Then that is done.
 */
static void nor_some_time_after_a_change(void)
{
	cache_warm(PATHCACHE_MODE_RCU);
	CHECK_EQ(pathcache_invalidate_path(cache, "elsewhere"), 0);
	CHECK_EQ(pathcache_invalidate_path(cache, "lf"), 0);
	warm(SETTLE);
	prove();
	cache_drop();
}

static struct pathcache_stats stats(void)
{
	struct pathcache_stats s = {.size = sizeof(s)};

	CHECK_EQ(pathcache_get_stats(cache, &s), 0);
	return s;
}

/* As many other names as the cache has room for, each asked once. */
static void pass_by(unsigned round)
{
	struct pathcache_attr attr;
	char path[64];

	ts_offline(); /* or this thread does not wait for a grace period */
	for (unsigned i = 0; i < 100; i++) {
		snprintf(path, sizeof(path), "others/%u", (round * 100 + i) % OTHERS);
		CHECK_EQ(pathcache_stat(cache, path, NULL, &attr), 0);
		snprintf(path, sizeof(path), "others/absent-%u", round * 100 + i);
		CHECK_EQ(pathcache_stat(cache, path, NULL, &attr), -ENOENT);
	}
	CHECK(pathcache_maintain(cache, 100) >= 0);
	ts_online();
}

/*
 * In a cache that is full, and was for long, hands have taken off the marks that
 * hits leave. When each has left its own again, and nothing is missed any more,
 * that is done as well.
 */
static void nor_when_names_have_gone_to_make_room(void)
{
	cache_warm_with(PATHCACHE_MODE_RCU, SMALL_BUDGET);
	for (unsigned round = 0; round < 40; round++) {
		pass_by(round);
		warm(2);
	}
	CHECK(stats().evicted > OTHERS);
	CHECK(stats().evicted_negative > 100);
	CHECK(stats().bytes > SMALL_BUDGET / 10 * 7);
	warm(SETTLE);
	prove();
	cache_drop();
}

static void nor_where_the_kernel_tells_of_changes(void)
{
	struct pathcache_options opt;

	pathcache_options_init(&opt);
	opt.coherence = PATHCACHE_COHERENCE_EVENTS;
	opt.source = PATHCACHE_SOURCE_INOTIFY; /* no one else's events */
	cache_warm_options(&opt);
	/* What was learned of a directory before it had a watch of its own expires. */
	CHECK_EQ(pathcache_sync(cache), 0);
	warm(4 + SETTLE);
	CHECK(stats().watches > 2);
	prove();
	cache_drop();
}

/*
 * In a program of its own, which finds the tree at path: a hit with the cache
 * protected. Exit status 3: protection is not to be had.
 */
static void hit_protected(const char *path, uint32_t mode)
{
	struct rlimit no_core = {0, 0};

	setrlimit(RLIMIT_CORE, &no_core);
	snprintf(tree.path, sizeof(tree.path), "%s", path);
	questions_make();
	cache_warm(mode);
	if (pc_test_protect(cache, 1) == -EOPNOTSUPP)
		_exit(3);
	ask(&questions[4], OP_STAT);
	_exit(0);
}

static void faults_in(uint32_t mode)
{
	const char word[] = {(char)('0' + mode), '\0'};
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		/* A mere child may not open a cache. */
		execl("/proc/self/exe", "readonly", HIT_PROTECTED, tree.path, word, (char *)NULL);
		_exit(4);
	}
	REQUIRE(pid > 0 && waitpid(pid, &status, 0) == pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 3) {
		ts_skip("this build's allocator cannot be protected");
		return;
	}
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

static void a_hit_in_lockref_mode_faults(void)
{
	faults_in(PATHCACHE_MODE_LOCKREF);
}

static void a_hit_in_refwalk_mode_faults(void)
{
	faults_in(PATHCACHE_MODE_REFWALK);
}

static void a_hit_in_locked_mode_faults(void)
{
	faults_in(PATHCACHE_MODE_LOCKED);
}

static const struct ts_case cases[] = {
	TS_CASE(a_hit_in_lockref_mode_faults),
	TS_CASE(a_hit_in_refwalk_mode_faults),
	TS_CASE(a_hit_in_locked_mode_faults),
	TS_CASE(a_hit_in_rcu_mode_stores_nothing),
	TS_CASE(nor_some_time_after_a_change),
	TS_CASE(nor_when_names_have_gone_to_make_room),
	TS_CASE(nor_where_the_kernel_tells_of_changes),
};

int main(int argc, char **argv)
{
	int rc;

	if (argc == 4 && strcmp(argv[1], HIT_PROTECTED) == 0)
		hit_protected(argv[2], (uint32_t)(argv[3][0] - '0'));
	tree_make();
	rc = ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
	ts_tree_remove(&tree);
	return rc;
}
