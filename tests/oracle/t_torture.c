/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Torture: processes change a real tree at full speed while threads look up;
 * again and again they stop, and after one pathcache_sync() every answer of the
 * cache must equal the kernel's. By each source of events, with a lease instead,
 * with the queue overflowing, with fewer watches than directories.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mutator.h"
#include "oracle.h"
#include "run.h"
#include "tree.h"

#define LOOKERS 2
#define COMPARED 1500u     /* a round */
#define SECONDS 2.5        /* a setting, at least */
#define WANTED 30000u      /* comparisons in each */
#define OVERFLOWING 16000u /* changes of mostly two events; a queue holds 16,384 */

struct setting {
	const char *name;
	uint32_t coherence, source;
	uint32_t max_watches; /* 0: the default */
	bool tmpfs, thread, whole;
	bool overflow; /* nothing is drained but by pathcache_sync() */
	bool asks;     /* who may search is the kernel's to say, everywhere */
};

struct torture {
	const struct setting *setting;
	struct ts_tree tree;
	struct ts_view view;
	struct ts_mutators mutators;
	struct ts_thread lookers[LOOKERS];
	_Atomic(bool) stop;
	_Atomic(unsigned) streams;
	uint64_t compared, found, rounds;
};

/* ---- questions ---------------------------------------------------------------- */

static void any_query(const struct torture *t, struct ts_rng *rng, struct ts_query *q,
                      char path[2 * PATH_MAX])
{
	static const int amodes[] = {F_OK, R_OK, W_OK, X_OK};
	char rel[TS_MUTATOR_PATH];

	ts_mutator_path(rng, rel);
	snprintf(path, 2 * PATH_MAX, "%s/%s%s", t->view.whole ? t->tree.path : "", rel,
	         ts_below(rng, 10)  ? ""
	         : ts_below(rng, 2) ? "/"
	                            : "/..");
	memset(q, 0, sizeof(*q));
	q->op = (enum ts_op)ts_below(rng, TS_REALPATH + 1);
	q->amode = amodes[ts_below(rng, 4)];
	q->path = path;
	if (ts_below(rng, 8) == 0)
		q->flags = PATHCACHE_NO_XDEV;
}

static void look(void *arg)
{
	struct torture *t = arg;
	struct ts_rng rng = ts_rng(10 + atomic_fetch_add(&t->streams, 1));
	struct ts_answer answer;
	char path[2 * PATH_MAX];
	struct ts_query q;

	while (!atomic_load_explicit(&t->stop, memory_order_relaxed)) {
		any_query(t, &rng, &q, path);
		ts_ask_cache(&t->view, &q, &answer);
		ts_quiescent();
	}
}

/* Mutators stand still, and all they did has been drained. */
static bool compare(struct torture *t, struct ts_rng *rng)
{
	char path[2 * PATH_MAX];
	struct ts_query q;
	struct stat st;

	for (unsigned i = 0; i < (t->setting->overflow ? 10 : 1) * COMPARED; i++) {
		any_query(t, rng, &q, path);
		if (!ts_agree(__FILE__, __LINE__, &t->view, &q)) {
			fprintf(stderr, "  in %s, round %llu\n", t->setting->name,
			        (unsigned long long)t->rounds);
			return false;
		}
		t->compared++;
		t->found += fstatat(t->view.fd, path + 1, &st, 0) == 0;
	}
	return true;
}

/* ---- a run -------------------------------------------------------------------- */

static bool tmpfs_over(struct ts_tree *tree)
{
	if (!ts_isolated() || mount("torture", tree->path, "tmpfs", 0, "mode=0755"))
		return false;
	close(tree->fd);
	tree->fd = open(tree->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return tree->fd >= 0;
}

/* What was mounted in the tree, wherever it has moved, and over it. */
static void unmount_all(const struct torture *t)
{
	char line[2 * PATH_MAX], at[PATH_MAX], last[PATH_MAX] = "";
	FILE *f;

	do {
		last[0] = '\0';
		f = fopen("/proc/self/mountinfo", "re");
		REQUIRE(f);
		while (fgets(line, sizeof(line), f))
			if (sscanf(line, "%*u %*u %*s %*s %4095s", at) == 1 &&
			    strncmp(at, t->tree.path, strlen(t->tree.path)) == 0)
				strcpy(last, at);
		fclose(f);
	} while (last[0] && umount2(last, MNT_DETACH) == 0);
}

static int cache_open(struct torture *t)
{
	const struct setting *s = t->setting;
	struct pathcache_options opt;

	pathcache_options_init(&opt);
	opt.coherence = s->coherence;
	opt.source = s->source;
	opt.thread = s->thread;
	if (s->max_watches)
		opt.max_watches = s->max_watches;
	/* So long that nothing expires by itself. */
	opt.name_ttl_ms = opt.attr_ttl_ms = opt.negative_ttl_ms = 3600000;
	t->view.whole = s->whole;
	snprintf(t->view.label, sizeof(t->view.label), "%s", s->name);
	t->view.fd = open(s->whole ? "/" : t->tree.path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return pathcache_open(&t->view.cache, s->whole ? "/" : t->tree.path, &opt);
}

/* Let the mutators go on for some time, or for more changes than a queue has room for. */
static void mutate(struct torture *t, struct ts_rng *rng)
{
	uint64_t changes = ts_mutators_changes(&t->mutators) + OVERFLOWING;
	uint64_t end = ts_now_ns() + UINT64_C(20000000000);

	ts_mutators_go_on(&t->mutators);
	ts_offline();
	if (!t->setting->overflow)
		ts_sleep_us(2000 + ts_below(rng, 20000));
	while (t->setting->overflow && ts_mutators_changes(&t->mutators) < changes &&
	       ts_now_ns() < end)
		ts_sleep_us(1000);
	ts_mutators_pause(&t->mutators);
	ts_online();
}

static void run_rounds(struct torture *t)
{
	struct ts_rng rng = ts_rng(1);
	uint64_t end = ts_now_ns() + (uint64_t)(ts_seconds(SECONDS) * 1e9);
	unsigned wanted = ts_scale(WANTED);
	bool good = true;

	while (good && (ts_now_ns() < end || t->compared < wanted)) {
		mutate(t, &rng);
		CHECK_EQ(pathcache_sync(t->view.cache), 0);
		t->rounds++;
		good = compare(t, &rng);
	}
}

static void report(struct torture *t)
{
	struct pathcache_stats s = ts_stats(t->view.cache);

	printf("      %-28s %6llu rounds, %7llu changes, %7llu compared (%2.0f %% found), "
	       "%7llu events, %llu overflows, %2.0f %% hits\n",
	       t->setting->name, (unsigned long long)t->rounds,
	       (unsigned long long)ts_mutators_changes(&t->mutators),
	       (unsigned long long)t->compared, 100.0 * (double)t->found / (double)t->compared,
	       (unsigned long long)s.events, (unsigned long long)s.events_overflows,
	       100.0 * (double)s.hits / (double)s.lookups);
	/* A cache that asks for everything would agree as well. */
	if (!t->setting->asks)
		CHECK(s.hits > s.lookups / 4);
	CHECK(t->found > t->compared / 50);
	if (t->setting->overflow)
		CHECK(s.events_overflows > 0);
	if (t->setting->coherence == PATHCACHE_COHERENCE_EVENTS)
		CHECK(s.events > 0);
}

static void torture(const struct setting *setting)
{
	struct torture t = {.setting = setting};
	unsigned flags = ts_isolated() ? 0 : TS_NO_MOUNTS;
	int rc;

	ts_tree_make(&t.tree);
	if (setting->tmpfs && !tmpfs_over(&t.tree)) {
		ts_skip("may not mount a tmpfs");
		ts_tree_remove(&t.tree);
		return;
	}
	/* See the caveats of PATHCACHE_COHERENCE_EVENTS: no event tells of others. */
	if (setting->source != PATHCACHE_SOURCE_FANOTIFY)
		flags |= TS_NEAR_LINKS;
	ts_mutators_start(&t.mutators, &t.tree, flags);
	rc = cache_open(&t);
	if (rc) {
		printf("      %s: %s\n", setting->name, strerror(-rc));
		ts_skip("this source of events may not be had");
	} else {
		for (int i = 0; i < LOOKERS; i++)
			ts_thread_start(&t.lookers[i], look, &t);
		run_rounds(&t);
		atomic_store(&t.stop, true);
		ts_offline();
		for (int i = 0; i < LOOKERS; i++)
			ts_thread_join(&t.lookers[i]);
		ts_online();
		report(&t);
		CHECK_EQ(pathcache_close(t.view.cache), 0);
	}
	ts_mutators_stop(&t.mutators);
	close(t.view.fd);
	unmount_all(&t);
	if (setting->tmpfs) {
		close(t.tree.fd);
		t.tree.fd = open(t.tree.path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	ts_tree_remove(&t.tree);
}

#define INOTIFY .coherence = PATHCACHE_COHERENCE_EVENTS, .source = PATHCACHE_SOURCE_INOTIFY
#define FANOTIFY .coherence = PATHCACHE_COHERENCE_EVENTS, .source = PATHCACHE_SOURCE_FANOTIFY
#define SETTING(fn, ...) \
	static void fn(void) \
	{ \
		torture(&(const struct setting){.name = #fn, __VA_ARGS__}); \
	}

SETTING(inotify, INOTIFY)
SETTING(inotify_tmpfs, INOTIFY, .tmpfs = true)
SETTING(inotify_thread_whole, INOTIFY, .thread = true, .whole = true)
SETTING(inotify_overflow, INOTIFY, .overflow = true)
SETTING(inotify_few_watches, INOTIFY, .max_watches = 6)
SETTING(fanotify, FANOTIFY)
SETTING(fanotify_tmpfs, FANOTIFY, .tmpfs = true)
SETTING(fanotify_thread_whole, FANOTIFY, .thread = true, .whole = true)
SETTING(fanotify_overflow, FANOTIFY, .overflow = true)
SETTING(ttl, .coherence = PATHCACHE_COHERENCE_TTL)

/* ---- the system's own limit, in a user namespace -------------------------------- */

static bool put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return done;
}

/* Without groups: those of all files are none of the namespace's. */
static bool limit_watches(bool groups)
{
	char uid_map[64], gid_map[64];

	snprintf(uid_map, sizeof(uid_map), "0 %d 1", (int)geteuid());
	snprintf(gid_map, sizeof(gid_map), "0 %d 1", (int)getegid());
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 || !put("/proc/self/uid_map", uid_map))
		return false;
	if (groups && !(put("/proc/self/setgroups", "deny") && put("/proc/self/gid_map", gid_map)))
		return false;
	return put("/proc/sys/user/max_inotify_watches", "6");
}

static const struct setting namespaces[] = {
	{.name = "inotify_limited", INOTIFY},
	{.name = "inotify_foreign_groups", INOTIFY, .asks = true},
};
static int namespace_status[2];

/* In a process of its own, as the namespace cannot be left again; before any thread. */
static void run_in_namespace(int i)
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	REQUIRE(pid >= 0);
	if (pid == 0) {
		status = 77;
		if (limit_watches(i == 0)) {
			torture(&namespaces[i]);
			status = ts_failures() != 0;
		}
		fflush(NULL);
		_exit(status);
	}
	REQUIRE(waitpid(pid, &status, 0) == pid);
	namespace_status[i] = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static void check_namespace(int i)
{
	if (namespace_status[i] == 77)
		ts_skip("no user namespace whose watches can be limited");
	else
		CHECK_EQ(namespace_status[i], 0);
}

static void inotify_limited(void)
{
	check_namespace(0);
}

static void inotify_foreign_groups(void)
{
	check_namespace(1);
}

static const struct ts_case cases[] = {
	TS_CASE(inotify),
	TS_CASE(inotify_tmpfs),
	TS_CASE(inotify_thread_whole),
	TS_CASE(inotify_overflow),
	TS_CASE(inotify_few_watches),
	TS_CASE(inotify_limited),
	TS_CASE(inotify_foreign_groups),
	TS_CASE(fanotify),
	TS_CASE(fanotify_tmpfs),
	TS_CASE(fanotify_thread_whole),
	TS_CASE(fanotify_overflow),
	TS_CASE(ttl),
};

int main(int argc, char **argv)
{
	run_in_namespace(0);
	run_in_namespace(1);
	ts_isolate();
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
