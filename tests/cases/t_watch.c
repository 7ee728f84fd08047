/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A living file system: watches, their numbers, their limits, and who may have them. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cache.h"
#include "living.h"
#include "store.h"

/* ---- numbers that are used again: G5 ------------------------------------------ */

struct numbers {
	struct scene s;
	int write_end;
	struct pathcache_entry *one, *two;
};

static void numbers_begin(struct numbers *n)
{
	struct pathcache_options opt = events_options(PATHCACHE_SOURCE_INOTIFY);
	int ends[2];

	scene_begin_with(&n->s, &opt);
	ts_dir(&n->s.tree, "one", 0755);
	ts_dir(&n->s.tree, "two", 0755);
	keep(&n->s, "one/f");
	keep(&n->s, "two/f");
	n->one = ts_get(n->s.cache, "one");
	n->two = ts_get(n->s.cache, "two");
	/* From here on the test is the kernel: the number of the descriptor stays. */
	REQUIRE(pipe2(ends, O_NONBLOCK | O_CLOEXEC) == 0);
	REQUIRE(dup2(ends[0], n->s.cache->events.source.fd) >= 0);
	close(ends[0]);
	n->write_end = ends[1];
}

static void numbers_end(struct numbers *n)
{
	close(n->write_end);
	pathcache_put(n->s.cache, n->one);
	pathcache_put(n->s.cache, n->two);
	scene_end(&n->s);
}

static bool is_watched(struct pathcache_entry *e)
{
	return rp_node_flags(pc_node(e)) & RP_N_WATCHED;
}

/* The watch of an entry's directory; its key. */
static struct pc_watch *watch_of(struct numbers *n, struct pathcache_entry *e, struct pc_key *key)
{
	const struct pc_watches *w = &n->s.cache->events.watches;

	for (uint32_t i = 0; i <= w->mask; i++)
		for (struct pc_watch *k = w->by_node[i]; k; k = k->by_node)
			if (k->node == pc_node(e)) {
				key->len = k->len;
				memcpy(key->bytes, k->key, k->len);
				return k;
			}
	ts_die(__FILE__, __LINE__, "no watch");
}

static void tell(struct numbers *n, const struct pc_key *key, uint32_t mask, const char *name)
{
	char buf[sizeof(struct inotify_event) + 16] = {0};
	struct inotify_event in = {.mask = mask, .len = name ? 16 : 0};

	memcpy(&in.wd, key->bytes, sizeof(in.wd));
	memcpy(buf, &in, sizeof(in));
	if (name)
		memcpy(buf + sizeof(in), name, strlen(name));
	REQUIRE(write(n->write_end, buf, sizeof(in) + in.len) == (ssize_t)(sizeof(in) + in.len));
}

/* two gets the number that one had, while the last event of one is still queued. */
static void number_used_again(struct numbers *n, struct pc_key *key)
{
	struct pathcache *c = n->s.cache;
	struct pc_key old;

	pthread_mutex_lock(&c->lock);
	pc_watch_drop(c, watch_of(n, n->two, &old), false);
	pc_watch_drop(c, watch_of(n, n->one, key), true);
	CHECK_EQ(pc_watch_add(c, pc_node(n->two), key), 0);
	pthread_mutex_unlock(&c->lock);
	CHECK(!is_watched(n->one) && is_watched(n->two));
}

static void a_late_end_is_not_that_of_the_next_with_its_number(void)
{
	struct numbers n;
	struct pc_key key;

	numbers_begin(&n);
	number_used_again(&n, &key);
	tell(&n, &key, IN_IGNORED, NULL);
	CHECK_EQ(pathcache_sync(n.s.cache), 0);
	CHECK(is_watched(n.two));
	/* This one is its own. */
	tell(&n, &key, IN_IGNORED, NULL);
	CHECK_EQ(pathcache_sync(n.s.cache), 0);
	CHECK(!is_watched(n.two));
	numbers_end(&n);
}

static void an_end_nobody_asked_for_makes_the_directory_expire(void)
{
	struct numbers n;
	struct pc_key key;

	numbers_begin(&n);
	watch_of(&n, n.one, &key);
	CHECK(is_kept(n.s.cache, "one/f"));
	tell(&n, &key, IN_IGNORED, NULL);
	CHECK_EQ(pathcache_sync(n.s.cache), 0);
	CHECK(!is_watched(n.one));
	CHECK(!is_kept(n.s.cache, "one/f"));
	watch_of(&n, n.two, &key);
	tell(&n, &key, IN_UNMOUNT, NULL);
	tell(&n, &key, IN_IGNORED, NULL);
	CHECK_EQ(pathcache_sync(n.s.cache), 0);
	CHECK(!is_watched(n.two));
	numbers_end(&n);
}

/* What is not understood, or cut short, harms nobody. */
static void events_of_nobody_are_passed_over(void)
{
	struct pc_key key, none = {.len = 4};
	struct numbers n;

	numbers_begin(&n);
	watch_of(&n, n.one, &key);
	memset(none.bytes, 0x7f, 4);
	tell(&n, &none, IN_CREATE, "f");
	tell(&n, &none, IN_IGNORED, NULL);
	tell(&n, &key, IN_CREATE, NULL);
	tell(&n, &key, 0, "f");
	CHECK_EQ(pathcache_sync(n.s.cache), 0);
	CHECK(is_watched(n.one) && is_watched(n.two));
	tell(&n, &key, IN_CREATE, "f");
	CHECK_EQ(pathcache_sync(n.s.cache), 0);
	CHECK(!is_kept(n.s.cache, "one/f"));
	numbers_end(&n);
}

/* A read that fails is as good as an overflow. */
static void a_source_that_fails_is_left(void)
{
	struct numbers n;
	int fd;

	numbers_begin(&n);
	fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	REQUIRE(fd >= 0 && dup2(fd, n.s.cache->events.source.fd) >= 0);
	close(fd);
	while (pathcache_maintain(n.s.cache, 1000) == 1)
		;
	CHECK(!is_watched(n.one));
	CHECK(!is_kept(n.s.cache, "one/f"));
	CHECK(ts_stats(n.s.cache).watch_failures > 0);
	CHECK_EQ(ts_stats(n.s.cache).event_source, 0);
	AGREE(&n.s.view, .path = "one/f");
	numbers_end(&n);
}

/* ---- a change right behind the answer ---------------------------------------------- */

static struct late {
	struct pc_backend backend;
	const struct scene *s;
	const char *path; /* changed; NULL: nothing is */
	bool is_new;      /* ... by making it */
	const char *name; /* behind the question for this one; NULL: for attributes */
} late;

static void change_now(void)
{
	if (late.path && late.is_new)
		ts_file(&late.s->tree, late.path, 0644, "");
	else if (late.path)
		ts_append(&late.s->tree, late.path, "more");
	late.path = NULL;
}

static int late_lookup(struct pathcache *c, struct rp_node *dir, const char *name, size_t len,
                       const struct rp_cred *cred, struct pc_answer *a)
{
	int rc = pc_backend_posix.lookup(c, dir, name, len, cred, a);

	if (late.name && strcmp(name, late.name) == 0)
		change_now();
	return rc;
}

static int late_getattr(struct pathcache *c, struct rp_node *node, const struct rp_cred *cred,
                        struct pc_answer *a)
{
	int rc = pc_backend_posix.getattr(c, node, cred, a);

	if (!late.name)
		change_now();
	return rc;
}

/* path, in memory or not, is asked about, and changes at once. */
static void ask_late(struct scene *s, const char *path, const char *change)
{
	late.path = change;
	ts_stat_err(s->cache, path);
	CHECK(!late.path);
	agree(s, path);
}

/* What the first question in a directory brings is old by the time it is kept. */
EVERY(a_directory_is_watched_before_it_is_asked_about)
{
	late.s = s;
	late.backend = pc_backend_posix;
	late.backend.lookup = late_lookup;
	late.backend.getattr = late_getattr;
	s->cache->backend = &late.backend;
	ts_dir(&s->tree, "a", 0755);
	ts_dir(&s->tree, "b", 0755);
	ts_dir(&s->tree, "c", 0755);
	ts_file(&s->tree, "a/f", 0644, "text");
	late.name = "f";
	ask_late(s, "a/f", "a/f");
	late.is_new = true;
	late.name = "new";
	ask_late(s, "c/new", "c/new");
	/* Its own attributes change with the names in it; they expire while it has no watch. */
	late.name = NULL;
	ts_stat_err(s->cache, "b");
	CHECK_EQ(pathcache_sync(s->cache), 0);
	ask_late(s, "b", "b/new");
	late.is_new = false;
	s->cache->backend = &pc_backend_posix;
}

/* ---- one directory on two mounts ------------------------------------------------ */

EVERY(a_directory_on_two_mounts_is_told_of_on_both)
{
	char from[PATH_MAX], to[PATH_MAX];

	if (!ts_isolated())
		return;
	ts_dir(&s->tree, "a", 0755);
	ts_dir(&s->tree, "b", 0755);
	ts_file(&s->tree, "a/f", 0644, "text");
	snprintf(from, sizeof(from), "%s/a", s->tree.path);
	snprintf(to, sizeof(to), "%s/b", s->tree.path);
	REQUIRE(mount(from, to, NULL, MS_BIND, NULL) == 0);
	keep(s, "a/f");
	keep(s, "b/f");
	keep(s, "a/new");
	keep(s, "b/new");
	ts_append(&s->tree, "a/f", "more");
	ts_file(&s->tree, "b/new", 0644, "text");
	agree(s, "a/f");
	agree(s, "b/f");
	agree(s, "a/new");
	agree(s, "b/new");
	ts_hardlink(&s->tree, "a/f", "a/g");
	agree(s, "a/f");
	agree(s, "b/f");
	REQUIRE(umount2(to, MNT_DETACH) == 0);
}

/* ---- limits, privileges ----------------------------------------------------------- */

static const char *program;

/* Run the case again in a process that prepare() has made different. False: it could not. */
static bool elsewhere(const char *name, bool (*prepare)(void))
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	REQUIRE(pid >= 0);
	if (pid == 0) {
		if (!prepare())
			_exit(77);
		setenv("PATHCACHE_ELSEWHERE", "1", 1);
		execl(program, program, name, (char *)NULL);
		_exit(1);
	}
	REQUIRE(waitpid(pid, &status, 0) == pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		return false;
	CHECK_EQ(status, 0);
	return true;
}

static bool is_elsewhere(void)
{
	return getenv("PATHCACHE_ELSEWHERE") != NULL;
}

static bool put_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return ok;
}

static bool own_users(void)
{
	char map[64];

	snprintf(map, sizeof(map), "0 %u 1", geteuid());
	return unshare(CLONE_NEWUSER) == 0 && put_text("/proc/self/uid_map", map);
}

static bool with_ten_watches(void)
{
	return own_users() && put_text("/proc/sys/user/max_inotify_watches", "10");
}

static bool with_no_instance(void)
{
	return own_users() && put_text("/proc/sys/user/max_inotify_instances", "0");
}

/* G6 */
static void the_users_limit_of_watches_is_no_error(void)
{
	struct pathcache_options opt = events_options(PATHCACHE_SOURCE_INOTIFY);
	char path[32];
	struct scene s;

	if (!is_elsewhere()) {
		if (!elsewhere("the_users_limit_of_watches_is_no_error", with_ten_watches))
			ts_skip("no user namespaces");
		return;
	}
	scene_begin_with(&s, &opt);
	for (unsigned round = 0; round < 3; round++)
		for (unsigned i = 0; i < 20; i++) {
			snprintf(path, sizeof(path), "%u", i);
			if (!round)
				ts_dir(&s.tree, path, 0755);
			snprintf(path, sizeof(path), "%u/%u", i, round);
			CHECK_EQ(ts_stat_err(s.cache, path), -ENOENT);
			ts_file(&s.tree, path, 0644, "");
			agree(&s, path);
		}
	CHECK(ts_stats(s.cache).watch_limits > 0);
	CHECK_EQ(ts_stats(s.cache).watch_failures, 0);
	CHECK(ts_stats(s.cache).watches <= 10 && ts_stats(s.cache).watches > 2);
	scene_end(&s);
}

/* G6 */
static void the_users_limit_of_instances_is_told_or_counted(void)
{
	struct pathcache_options opt = events_options(PATHCACHE_SOURCE_INOTIFY);
	struct pathcache *cache;
	struct scene s;

	if (!is_elsewhere()) {
		if (!elsewhere("the_users_limit_of_instances_is_told_or_counted", with_no_instance))
			ts_skip("no user namespaces");
		return;
	}
	CHECK_EQ(pathcache_open(&cache, "/", &opt), -EMFILE);
	opt.source = PATHCACHE_SOURCE_AUTO;
	scene_begin_with(&s, &opt);
	CHECK_EQ(ts_stats(s.cache).event_source, 0);
	CHECK(pathcache_fd(s.cache) >= 0);
	for (int i = 0; i < 3; i++) {
		agree(&s, "f");
		ts_file(&s.tree, "f", 0644, "text");
		agree(&s, "f");
		ts_unlink(&s.tree, "f");
		ts_sleep_us(20000);
	}
	CHECK(ts_stats(s.cache).watch_limits > 0);
	scene_end(&s);
}

static bool unprivileged(void)
{
	/* The directory for temporary files, which nobody else sees. */
	if (ts_isolated() && chmod(getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp", 0777))
		return false;
	return geteuid() == 0 && setgid(65534) == 0 && setuid(65534) == 0;
}

/* G12 */
static void who_may_not_use_fanotify_uses_inotify(void)
{
	struct pathcache_options opt = events_options(PATHCACHE_SOURCE_FANOTIFY);
	struct pathcache *cache;
	struct scene s;

	if (geteuid() == 0) {
		if (!elsewhere("who_may_not_use_fanotify_uses_inotify", unprivileged))
			ts_skip("no other user");
		return;
	}
	CHECK_EQ(pathcache_open(&cache, "/", &opt), -EPERM);
	opt.source = PATHCACHE_SOURCE_AUTO;
	scene_begin_with(&s, &opt);
	CHECK_EQ(ts_stats(s.cache).event_source, PATHCACHE_SOURCE_INOTIFY);
	keep(&s, "f");
	ts_file(&s.tree, "f", 0644, "text");
	agree(&s, "f");
	/* One that may be searched but not read cannot be watched. */
	ts_dir(&s.tree, "d", 0755);
	ts_chmod(&s.tree, "d", 0311);
	agree(&s, "d/f");
	ts_file(&s.tree, "d/f", 0644, "");
	agree(&s, "d/f");
	CHECK(ts_stats(s.cache).watch_failures > 0);
	scene_end(&s);
}

int main(int argc, char **argv)
{
	static const struct ts_case cases[] = {
		TS_CASE(a_late_end_is_not_that_of_the_next_with_its_number),
		TS_CASE(an_end_nobody_asked_for_makes_the_directory_expire),
		TS_CASE(events_of_nobody_are_passed_over),
		TS_CASE(a_source_that_fails_is_left),
		TS_CASE(a_directory_is_watched_before_it_is_asked_about),
		TS_CASE(a_directory_on_two_mounts_is_told_of_on_both),
		TS_CASE(the_users_limit_of_watches_is_no_error),
		TS_CASE(the_users_limit_of_instances_is_told_or_counted),
		TS_CASE(who_may_not_use_fanotify_uses_inotify),
	};

	program = "/proc/self/exe";
	if (!is_elsewhere() && !ts_isolate())
		printf("mounts cannot be made here\n");
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
