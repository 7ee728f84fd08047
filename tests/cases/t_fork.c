/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * L17: a child of fork(2) goes on with hits, is told -ECHILD otherwise, and never
 * hangs, whatever locks another thread of its parent held.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scene.h"
#include "testing.h"

#define CHILD_LIMIT_S 30

/* ---- another thread that holds every lock ------------------------------------ */

struct holder {
	struct ts_thread thread;
	struct pathcache *cache;
	_Atomic bool taken;
	_Atomic bool over;
};

static void hold_locks(void *arg)
{
	struct holder *h = arg;

	ts_online();
	ts_read_lock();
	pc_test_locks(h->cache, 1);
	atomic_store(&h->taken, true);
	while (!atomic_load(&h->over))
		usleep(200);
	pc_test_locks(h->cache, 0);
	ts_read_unlock();
	ts_offline();
}

static void holder_start(struct holder *h, struct pathcache *cache)
{
	memset(h, 0, sizeof(*h));
	h->cache = cache;
	ts_thread_start(&h->thread, hold_locks, h);
	while (!atomic_load(&h->taken))
		ts_sleep_us(200);
}

static void holder_end(struct holder *h)
{
	atomic_store(&h->over, true);
	ts_thread_join(&h->thread);
}

/* Its checks count for the parent; past the limit a signal ends it. */
static void in_child(void (*fn)(void *arg), void *arg)
{
	unsigned long before = ts_failures();
	int status = 0;
	pid_t pid = fork();

	REQUIRE(pid >= 0);
	if (pid == 0) {
		signal(SIGALRM, SIG_DFL);
		alarm(CHILD_LIMIT_S);
		fn(arg);
		_exit(ts_failures() != before);
	}
	REQUIRE(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status));
	if (WIFEXITED(status))
		CHECK_EQ(WEXITSTATUS(status), 0);
}

/* ---- a cache with something in it ---------------------------------------------- */

struct home {
	struct scene scene;
	struct pathcache *cache;
	struct pathcache_entry *dir;
	struct pathcache_entry *file;
	uint32_t mode;
};

static void home_begin(struct home *home, uint32_t mode)
{
	struct pathcache_options opt;

	pathcache_options_init(&opt);
	opt.mode = mode;
	home->mode = mode;
	scene_begin_with(&home->scene, &opt);
	home->cache = home->scene.cache;
	ts_dir(&home->scene.tree, "d", 0755);
	ts_file(&home->scene.tree, "d/f", 0644, "text");
	ts_file(&home->scene.tree, "d/cold", 0644, "text");
	ts_symlink(&home->scene.tree, "l", "d/f");
	home->dir = ts_get(home->cache, "d");
	home->file = ts_get(home->cache, "d/f");
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(ts_stat_err(home->cache, "d/f"), 0);
		CHECK_EQ(ts_stat_err(home->cache, "l"), 0);
		CHECK_EQ(ts_stat_err(home->cache, "d/absent"), -ENOENT);
	}
	CHECK_EQ(ts_stat_err(home->cache, "/d/./f"), 0); /* walked once: no memo of it */
}

static void home_end(struct home *home)
{
	pathcache_put(home->cache, home->dir);
	pathcache_put(home->cache, home->file);
	scene_end(&home->scene);
}

/* ---- what the child does --------------------------------------------------------- */

static void hits_go_on(void *arg)
{
	struct home *home = arg;
	struct pathcache *c = home->cache;
	struct pathcache_how from = {.size = sizeof(from), .start = home->dir};
	struct pathcache_entry *entry = NULL;
	struct pathcache_attr attr;
	char buf[256];

	for (int i = 0; i < 1000; i++) {
		CHECK_EQ(ts_stat_err(c, "d/f"), 0);
		CHECK_EQ(ts_stat_err(c, "l"), 0);
		CHECK_EQ(ts_stat_err(c, "d/absent"), -ENOENT);
		CHECK_EQ(ts_stat_err(c, "/d/./f"), 0);
		CHECK_EQ(pathcache_access(c, "d//f", R_OK, NULL), 0);
		CHECK_EQ(pathcache_stat(c, "f", &from, &attr), 0);
	}
	CHECK_EQ(pathcache_readlink(c, "l", NULL, buf, sizeof(buf)), 3);
	CHECK_EQ(pathcache_realpath(c, "l", NULL, buf, sizeof(buf)), 4);
	CHECK_EQ(pathcache_entry_stat(c, home->file, &attr), 0);
	CHECK_EQ(pathcache_entry_path(c, home->file, buf, sizeof(buf)), 4);
	CHECK_EQ(pathcache_get(c, "d", NULL, &entry), 0);
	CHECK(entry == home->dir);
	pathcache_ref(c, home->dir);
	pathcache_put(c, home->dir);
	pathcache_put(c, entry);
}

static int no_name(void *arg, const char *name, size_t len, uint64_t ino, uint32_t type,
                   uint64_t cookie)
{
	(void)arg, (void)name, (void)len, (void)ino, (void)type, (void)cookie;
	return 0;
}

static int no_binding(void *arg, const struct pathcache_binding *binding)
{
	(void)arg, (void)binding;
	return 0;
}

static int no_dentry(void *arg, const struct pathcache_dentry *dentry)
{
	(void)arg, (void)dentry;
	return 0;
}

static void all_else_is_refused(void *arg)
{
	struct home *home = arg;
	struct pathcache *c = home->cache, *other = NULL;
	struct pathcache_stats stats = {.size = sizeof(stats)};
	char buf[8192];

	CHECK_EQ(ts_stat_err(c, "d/cold"), -ECHILD);
	CHECK_EQ(ts_stat_flags(c, "d/cold", PATHCACHE_CACHED), -ECHILD);
	CHECK_EQ(pathcache_open_fd(c, "d/f", 0, NULL), -ECHILD);
	CHECK_EQ(pathcache_readdir(c, home->dir, 0, no_name, NULL), -ECHILD);
	CHECK_EQ(pathcache_prefetch(c, NULL, 1, NULL, NULL), -ECHILD);
	CHECK_EQ(pathcache_invalidate_name(c, NULL, "d"), -ECHILD);
	CHECK_EQ(pathcache_invalidate_path(c, "d/f"), -ECHILD);
	CHECK_EQ(pathcache_invalidate_entry(c, home->file), -ECHILD);
	CHECK_EQ(pathcache_invalidate_subtree(c, home->dir), -ECHILD);
	CHECK_EQ(pathcache_invalidate_all(c), -ECHILD);
	CHECK_EQ(pathcache_maintain(c, 100), -ECHILD);
	CHECK_EQ(pathcache_fd(c), -ECHILD);
	CHECK_EQ(pathcache_sync(c), -ECHILD);
	CHECK_EQ(pathcache_created(c, home->dir, "new", NULL), -ECHILD);
	CHECK_EQ(pathcache_removed(c, home->dir, "f"), -ECHILD);
	CHECK_EQ(pathcache_renamed(c, home->dir, "f", NULL, "g", 0), -ECHILD);
	CHECK_EQ(pathcache_linked(c, home->file, NULL, "g"), -ECHILD);
	CHECK_EQ(pathcache_changed(c, home->file, NULL), -ECHILD);
	CHECK_EQ(pathcache_set_budget(c, 0), -ECHILD);
	CHECK_EQ(pathcache_get_stats(c, &stats), -ECHILD);
	CHECK_EQ(pathcache_stats_text(c, buf, sizeof(buf)), -ECHILD);
	CHECK_EQ(pathcache_explain(c, "d/f", NULL, no_binding, NULL), -ECHILD);
	CHECK_EQ(pathcache_dump(c, no_dentry, NULL), -ECHILD);
	CHECK_EQ(pathcache_open(&other, "/", NULL), -ECHILD);
	CHECK_EQ(pathcache_close(c), -ECHILD);
	CHECK_EQ(pathcache_thread_register(), -ECHILD);
	pathcache_thread_unregister();
	hits_go_on(home);
}

static void a_last_put_ends(void *arg)
{
	struct home *home = arg;

	pathcache_put(home->cache, home->file);
	pathcache_put(home->cache, home->dir);
}

/* ---- cases ------------------------------------------------------------------------ */

static void in_each_counting_mode(void (*fn)(void *arg))
{
	static const uint32_t modes[] = {PATHCACHE_MODE_RCU, PATHCACHE_MODE_LOCKREF,
	                                 PATHCACHE_MODE_REFWALK};
	struct holder holder;
	struct home home;

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		home_begin(&home, modes[i]);
		holder_start(&holder, home.cache);
		in_child(fn, &home);
		holder_end(&holder);
		home_end(&home);
	}
}

static void a_child_goes_on_with_hits(void)
{
	in_each_counting_mode(hits_go_on);
}

static void a_child_is_refused_all_else_at_once(void)
{
	in_each_counting_mode(all_else_is_refused);
}

/* The object has no name any more: the last reference would free it. */
static void a_child_gives_back_the_last_reference(void)
{
	struct holder holder;
	struct home home;

	home_begin(&home, PATHCACHE_MODE_RCU);
	CHECK_EQ(pathcache_invalidate_name(home.cache, home.dir, "f"), 0);
	CHECK_EQ(pathcache_invalidate_name(home.cache, NULL, "d"), 0);
	holder_start(&holder, home.cache);
	in_child(a_last_put_ends, &home);
	holder_end(&holder);
	home_end(&home);
}

static void locked_queries_are_refused(void *arg)
{
	struct home *home = arg;

	CHECK_EQ(ts_stat_err(home->cache, "d/f"), -ECHILD);
	pathcache_put(home->cache, home->file);
}

static void a_child_spins_on_no_count(void)
{
	struct holder holder;
	struct home home;

	home_begin(&home, PATHCACHE_MODE_LOCKED);
	holder_start(&holder, home.cache);
	in_child(locked_queries_are_refused, &home);
	holder_end(&holder);
	home_end(&home);
}

static void *fork_unregistered(void *arg)
{
	in_child(hits_go_on, arg);
	return NULL;
}

/* Its first call would register it with liburcu, and its counters with the library. */
static void a_thread_new_to_the_library_forks(void)
{
	struct holder holder;
	struct home home;
	pthread_t thread;

	home_begin(&home, PATHCACHE_MODE_RCU);
	holder_start(&holder, home.cache);
	REQUIRE(pthread_create(&thread, NULL, fork_unregistered, &home) == 0);
	ts_offline();
	REQUIRE(pthread_join(thread, NULL) == 0);
	ts_online();
	holder_end(&holder);
	home_end(&home);
}

static void fork_again(void *arg)
{
	in_child(all_else_is_refused, arg);
}

static void a_grandchild_is_a_child(void)
{
	struct home home;

	home_begin(&home, PATHCACHE_MODE_RCU);
	in_child(fork_again, &home);
	home_end(&home);
}

/* What the child does to its copy is not seen here. */
static void the_parent_goes_on(void)
{
	struct home home;

	home_begin(&home, PATHCACHE_MODE_RCU);
	in_child(all_else_is_refused, &home);
	CHECK_EQ(ts_stat_err(home.cache, "d/cold"), 0);
	ts_rename(&home.scene.tree, "d/f", "d/g");
	CHECK_EQ(pathcache_invalidate_name(home.cache, home.dir, "f"), 0);
	CHECK_EQ(ts_stat_err(home.cache, "d/f"), -ENOENT);
	CHECK(pathcache_maintain(home.cache, 100) >= 0);
	home_end(&home);
}

int main(int argc, char **argv)
{
	static const struct ts_case cases[] = {
		TS_CASE(a_child_goes_on_with_hits),
		TS_CASE(a_child_is_refused_all_else_at_once),
		TS_CASE(a_child_gives_back_the_last_reference),
		TS_CASE(a_child_spins_on_no_count),
		TS_CASE(a_thread_new_to_the_library_forks),
		TS_CASE(a_grandchild_is_a_child),
		TS_CASE(the_parent_goes_on),
	};

	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
