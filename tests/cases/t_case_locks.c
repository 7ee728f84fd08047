/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Faults of others: locks in each other's way, and what is left at the end. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scene.h"

#define PROMPT_MS 20000

/* ---- changes above and below (L4, L5) ---------------------------------- */

struct strife {
	struct scene s;
	struct pathcache_entry *dir;
	unsigned upward;
	_Atomic bool stop;
	_Atomic uint64_t rounds;
};

static void until_stopped(struct strife *strife, void (*once)(struct strife *strife))
{
	while (!atomic_load(&strife->stop)) {
		once(strife);
		atomic_fetch_add(&strife->rounds, 1);
		ts_quiescent();
	}
}

static void move_there_and_back(struct strife *strife)
{
	ts_rename(&strife->s.tree, "p/d", "q/d");
	changed(strife->s.cache, "p/d");
	changed(strife->s.cache, "q/d");
	ts_rename(&strife->s.tree, "q/d", "p/d");
	changed(strife->s.cache, "q/d");
	changed(strife->s.cache, "p/d");
}

static void mover(void *arg)
{
	until_stopped(arg, move_there_and_back);
}

static int look_up_from_below(void *arg, const char *name, size_t len, uint64_t ino, uint32_t type,
                              uint64_t cookie)
{
	struct strife *strife = arg;
	struct pathcache_how how = {.size = sizeof(how), .start = strife->dir};
	struct pathcache_attr attr;
	int rc = pathcache_stat(strife->s.cache, "..", &how, &attr);

	(void)name, (void)len, (void)ino, (void)type, (void)cookie;
	CHECK_EQ(rc, 0);
	CHECK(attr.ino == ts_ino(&strife->s.tree, "p") || attr.ino == ts_ino(&strife->s.tree, "q"));
	CHECK_EQ(pathcache_invalidate_entry(strife->s.cache, strife->dir), 0);
	strife->upward++;
	return 0;
}

/* L4: ".." inside a listing, while the directory moves. */
static void the_way_up_is_free_inside_a_listing(void)
{
	static struct strife strife;
	struct ts_thread thread;
	uint64_t end;

	memset(&strife, 0, sizeof(strife));
	scene_begin(&strife.s);
	ts_dir(&strife.s.tree, "p", 0755);
	ts_dir(&strife.s.tree, "q", 0755);
	ts_dir(&strife.s.tree, "p/d", 0755);
	ts_file(&strife.s.tree, "p/d/one", 0644, "");
	ts_file(&strife.s.tree, "p/d/two", 0644, "");
	strife.dir = ts_get(strife.s.cache, "p/d");
	ts_thread_start(&thread, mover, &strife);
	end = ts_now_ns() + (uint64_t)(ts_seconds(0.3) * 1e9);
	while (ts_now_ns() < end || !strife.upward) {
		CHECK_EQ(pathcache_readdir(strife.s.cache, strife.dir, 0, look_up_from_below,
		                           &strife),
		         0);
		ts_quiescent();
	}
	atomic_store(&strife.stop, true);
	CHECK(ts_thread_ends(&thread, PROMPT_MS));
	ts_thread_join(&thread);
	pathcache_put(strife.s.cache, strife.dir);
	scene_end(&strife.s);
}

/* The other thread may have it elsewhere just now; what happened is announced in any case. */
static void move_deep(struct strife *strife)
{
	int fd = strife->s.tree.fd;

	renameat(fd, "a/b/c", fd, "x/c");
	changed(strife->s.cache, "a/b/c");
	changed(strife->s.cache, "x/c");
	renameat(fd, "x/c", fd, "a/b/c");
	changed(strife->s.cache, "x/c");
	changed(strife->s.cache, "a/b/c");
}

static void deep_mover(void *arg)
{
	until_stopped(arg, move_deep);
}

static void remove_above(struct strife *strife)
{
	int fd = strife->s.tree.fd;

	unlinkat(fd, "a/b", AT_REMOVEDIR);
	changed(strife->s.cache, "a/b");
	unlinkat(fd, "a", AT_REMOVEDIR);
	CHECK_EQ(pathcache_invalidate_all(strife->s.cache), 0);
	mkdirat(fd, "a", 0755);
	changed(strife->s.cache, "a");
	mkdirat(fd, "a/b", 0755);
	changed(strife->s.cache, "a/b");
}

static void remover(void *arg)
{
	until_stopped(arg, remove_above);
}

static void look_deep(struct strife *strife)
{
	char buf[64];
	ssize_t n = pathcache_realpath(strife->s.cache, "a/b/c/f", NULL, buf, sizeof(buf));
	int rc = ts_stat_err(strife->s.cache, "x/c/../c/f");

	/* Where it moves all the time, that is the path it had when it was asked for last. */
	CHECK(n == 8 || n == -ENOENT || (n == 6 && strcmp(buf, "/x/c/f") == 0));
	CHECK(rc == 0 || rc == -ENOENT);
}

static void deep_looker(void *arg)
{
	until_stopped(arg, look_deep);
}

/* L5 */
static void a_deep_rename_and_a_removal_above_it_both_end(void)
{
	static void (*const role[])(void *arg) = {deep_mover, remover, deep_looker};
	static struct strife strife[3];
	struct ts_thread thread[3];

	memset(strife, 0, sizeof(strife));
	scene_begin(&strife[0].s);
	ts_dir(&strife[0].s.tree, "a", 0755);
	ts_dir(&strife[0].s.tree, "a/b", 0755);
	ts_dir(&strife[0].s.tree, "x", 0755);
	ts_dir(&strife[0].s.tree, "a/b/c", 0755);
	ts_file(&strife[0].s.tree, "a/b/c/f", 0644, "");
	for (unsigned i = 0; i < 3; i++) {
		strife[i].s = strife[0].s;
		ts_thread_start(&thread[i], role[i], &strife[i]);
	}
	ts_sleep_us((unsigned)(ts_seconds(0.4) * 1e6));
	for (unsigned i = 0; i < 3; i++) {
		/* On a machine that is busy otherwise it takes as long as it takes. */
		for (unsigned n = 0; n < PROMPT_MS && !atomic_load(&strife[i].rounds); n++)
			ts_sleep_us(1000);
		atomic_store(&strife[i].stop, true);
	}
	for (unsigned i = 0; i < 3; i++) {
		CHECK(ts_thread_ends(&thread[i], PROMPT_MS));
		ts_thread_join(&thread[i]);
		CHECK(atomic_load(&strife[i].rounds) > 0);
	}
	for (int hot = 0; hot < 3; hot++) {
		AGREE(&strife[0].s.view, .path = "a/b/c/f");
		AGREE(&strife[0].s.view, .path = "x/c/f");
		AGREE(&strife[0].s.view, .op = TS_REALPATH, .path = "x/../a/b");
	}
	scene_end(&strife[0].s);
}

/* ---- confinement (E5) ---------------------------------------------------- */

static void swap_for_a_link(struct strife *strife)
{
	ts_exchange(&strife->s.tree, "in/d", "in/link");
	changed(strife->s.cache, "in/d");
	changed(strife->s.cache, "in/link");
}

static void swapper(void *arg)
{
	until_stopped(arg, swap_for_a_link);
}

/*
 * E5: with the swap at any moment, and whoever opens gets the file inside or an
 * error. With one descriptor the directory is opened anew each time.
 */
static void a_component_swapped_meanwhile_leads_nobody_outside(void)
{
	static struct strife strife;
	struct pathcache_how how = {.size = sizeof(how), .flags = PATHCACHE_BENEATH};
	uint64_t end, secret, opened = 0, refused = 0;
	struct pathcache_options opt;
	struct ts_thread thread;
	struct stat st;

	memset(&strife, 0, sizeof(strife));
	pathcache_options_init(&opt);
	opt.max_dirfds = 1;
	scene_begin_with(&strife.s, &opt);
	ts_dir(&strife.s.tree, "in", 0755);
	ts_dir(&strife.s.tree, "in/d", 0755);
	ts_file(&strife.s.tree, "in/d/f", 0644, "inside");
	ts_dir(&strife.s.tree, "out", 0755);
	ts_file(&strife.s.tree, "out/f", 0644, "secret");
	ts_symlink(&strife.s.tree, "in/link", "../out");
	secret = ts_ino(&strife.s.tree, "out/f");
	how.start = ts_get(strife.s.cache, "in");
	ts_thread_start(&thread, swapper, &strife);
	end = ts_now_ns() + (uint64_t)(ts_seconds(0.4) * 1e9);
	while (ts_now_ns() < end || !opened || !refused) {
		int fd = pathcache_open_fd(strife.s.cache, "d/f", O_RDONLY, &how);

		CHECK(fd >= 0 || fd == -EXDEV || fd == -EAGAIN);
		opened += fd >= 0;
		refused += fd == -EXDEV;
		CHECK(fd < 0 || (fstat(fd, &st) == 0 && st.st_ino != secret));
		if (fd >= 0)
			close(fd);
		ts_quiescent();
	}
	atomic_store(&strife.stop, true);
	CHECK(ts_thread_ends(&thread, PROMPT_MS));
	ts_thread_join(&thread);
	printf("      %llu opened, %llu refused\n", (unsigned long long)opened,
	       (unsigned long long)refused);
	pathcache_put(strife.s.cache, how.start);
	scene_end(&strife.s);
}

/* ---- ends (L14, L15) ------------------------------------------------------ */

static void fill(struct app *app, unsigned names)
{
	char name[32];

	ts_ns_add(&app->ns, "d", S_IFDIR | 0755, NULL);
	for (unsigned i = 0; i < names; i++) {
		snprintf(name, sizeof(name), "d/%u", i);
		if (i % 8 == 0)
			ts_ns_add(&app->ns, name, S_IFREG | 0644, NULL);
		CHECK_EQ(ts_stat_err(app->cache, name), i % 8 ? -ENOENT : 0);
	}
}

struct closer {
	struct ts_thread thread;
	struct pathcache *cache;
	pthread_barrier_t *together;
	int rc;
};

static void close_inside(void *arg)
{
	struct closer *closer = arg;

	ts_read_lock();
	closer->rc = pathcache_close(closer->cache);
	ts_read_unlock();
}

/* L14: a close in a read section while tables grow and all names have just gone. */
static void a_close_inside_a_read_section_does_not_hang(void)
{
	struct closer closer = {.rc = 1};
	struct pathcache_options opt;
	struct app app;

	pathcache_options_init(&opt);
	opt.negatives_per_dir = 65535;
	app_begin_with(&app, &opt);
	fill(&app, ts_scale(30000));
	CHECK_EQ(pathcache_invalidate_all(app.cache), 0);
	closer.cache = app.cache;
	ts_thread_start(&closer.thread, close_inside, &closer);
	CHECK(ts_thread_ends(&closer.thread, PROMPT_MS));
	ts_thread_join(&closer.thread);
	CHECK(closer.rc == 0 || closer.rc == -EDEADLK);
	if (closer.rc)
		CHECK_EQ(pathcache_close(app.cache), 0);
	CHECK_EQ(ts_ns_unreleased(&app.ns), 0);
	ts_ns_fini(&app.ns);
}

static void open_and_close(void *arg)
{
	struct closer *closer = arg;
	unsigned rounds = ts_scale(40);

	for (unsigned i = 0; i < rounds; i++) {
		struct app app;

		ts_offline();
		pthread_barrier_wait(closer->together);
		ts_online();
		app_begin(&app);
		fill(&app, 64);
		CHECK_EQ(pathcache_invalidate_all(app.cache), 0);
		if (i % 2)
			CHECK(pathcache_maintain(app.cache, 10) >= 0);
		/* Checks that the application was told of every object's end. */
		app_end(&app);
	}
}

/* L15 */
static void caches_closed_at_once_lose_no_callback(void)
{
	struct closer closer[4] = {0};
	pthread_barrier_t together;

	REQUIRE(pthread_barrier_init(&together, NULL, 4) == 0);
	for (unsigned i = 0; i < 4; i++) {
		closer[i].together = &together;
		ts_thread_start(&closer[i].thread, open_and_close, &closer[i]);
	}
	for (unsigned i = 0; i < 4; i++) {
		CHECK(ts_thread_ends(&closer[i].thread, PROMPT_MS));
		ts_thread_join(&closer[i].thread);
	}
	pthread_barrier_destroy(&together);
}

/* ---- numbers and memory (L24, F17, F18, F19) ------------------------------- */

/* L24 */
static void an_option_is_taken_in_all_its_width(void)
{
	uint64_t large = (UINT64_C(1) << 32) + (8u << 20);
	struct pathcache_options opt;
	struct app app;

	pathcache_options_init(&opt);
	opt.budget = large;
	app_begin_with(&app, &opt);
	CHECK(ts_stats(app.cache).budget == large);
	CHECK_EQ(pathcache_set_budget(app.cache, large << 1), 0);
	CHECK(ts_stats(app.cache).budget == large << 1);
	app_end(&app);
}

/* Return: how many descriptors of the process are of files that have no name any more. */
static unsigned deleted_fds(const char *below)
{
	DIR *dir = opendir("/proc/self/fd");
	char text[PATH_MAX];
	struct dirent *entry;
	unsigned found = 0;

	REQUIRE(dir);
	while ((entry = readdir(dir)) != NULL) {
		ssize_t n = readlinkat(dirfd(dir), entry->d_name, text, sizeof(text) - 1);

		text[n > 0 ? n : 0] = '\0';
		found += strstr(text, below) == text && strstr(text, " (deleted)");
	}
	closedir(dir);
	return found;
}

/* F17: of a file no descriptor is kept, of a directory none once it is known to have gone. */
static void what_was_removed_is_not_kept_open(void)
{
	struct scene s;

	scene_begin(&s);
	ts_dir(&s.tree, "d", 0755);
	ts_dir(&s.tree, "d/e", 0755);
	ts_file(&s.tree, "d/e/f", 0644, "text");
	CHECK_EQ(ts_stat_err(s.cache, "d/e/f"), 0);
	CHECK_EQ(ts_stat_err(s.cache, "d/e/absent"), -ENOENT);
	ts_unlink(&s.tree, "d/e/f");
	CHECK_EQ(deleted_fds(s.tree.path), 0);
	ts_rmdir(&s.tree, "d/e");
	ts_rmdir(&s.tree, "d");
	changed(s.cache, "d/e");
	changed(s.cache, "d");
	while (pathcache_maintain(s.cache, 1000) == 1)
		;
	CHECK_EQ(deleted_fds(s.tree.path), 0);
	scene_end(&s);
}

static void *dirty_alloc(void *ctx, size_t size)
{
	void *p = malloc(size);

	(void)ctx;
	return p ? memset(p, 0xa5, size) : NULL;
}

static void dirty_free(void *ctx, void *ptr, size_t size)
{
	(void)ctx;
	memset(ptr, 0x5a, size);
	free(ptr);
}

/* F18: memory is not clean, neither before nor after its use. */
static void memory_need_not_be_zero(void)
{
	static const struct pathcache_allocator dirty = {dirty_alloc, dirty_free, NULL};
	struct pathcache_options opt;
	struct scene s;
	char path[32];

	pathcache_options_init(&opt);
	opt.allocator = &dirty;
	opt.complete_max = 100;
	scene_begin_with(&s, &opt);
	ts_dir(&s.tree, "directory", 0755);
	ts_symlink(&s.tree, "long-named-link", "directory/0");
	for (unsigned i = 0; i < 60; i += 2) {
		snprintf(path, sizeof(path), "directory/%u", i);
		ts_file(&s.tree, path, 0644, "text");
	}
	for (unsigned round = 0; round < 8; round++) {
		for (unsigned i = 0; i < 60; i++) {
			snprintf(path, sizeof(path), "directory/%u", i);
			AGREE(&s.view, .path = path);
		}
		AGREE(&s.view, .path = "long-named-link");
		AGREE(&s.view, .op = TS_REALPATH, .path = "long-named-link");
		if (round % 3 == 2)
			CHECK_EQ(pathcache_invalidate_all(s.cache), 0);
		CHECK(pathcache_maintain(s.cache, 50) >= 0);
	}
	CHECK(ts_stats(s.cache).memo_hits > 0);
	CHECK(ts_stats(s.cache).listings_made > 0);
	scene_end(&s);
}

/* F19: a thousand names that come and go are a thousand, however often. */
static void tables_do_not_grow_by_turnover(void)
{
	uint64_t bytes = 0;
	char name[32];
	struct app app;

	app_begin(&app);
	for (unsigned round = 0; round < ts_scale(100) + 2; round++) {
		for (unsigned i = 0; i < 1000; i++) {
			snprintf(name, sizeof(name), "%u.%u", round, i);
			CHECK_EQ(ts_stat_err(app.cache, name), -ENOENT);
		}
		for (unsigned i = 0; i < 1000; i++) {
			snprintf(name, sizeof(name), "%u.%u", round, i);
			CHECK_EQ(pathcache_invalidate_name(app.cache, NULL, name), 0);
		}
		while (pathcache_maintain(app.cache, 10000) == 1)
			;
		if (round == 1)
			bytes = ts_stats(app.cache).table_bytes;
	}
	CHECK_EQ(ts_stats(app.cache).table_bytes, bytes);
	app_end(&app);
}

static const struct ts_case cases[] = {
	TS_CASE(the_way_up_is_free_inside_a_listing),
	TS_CASE(a_deep_rename_and_a_removal_above_it_both_end),
	TS_CASE(a_component_swapped_meanwhile_leads_nobody_outside),
	TS_CASE(a_close_inside_a_read_section_does_not_hang),
	TS_CASE(caches_closed_at_once_lose_no_callback),
	TS_CASE(an_option_is_taken_in_all_its_width),
	TS_CASE(what_was_removed_is_not_kept_open),
	TS_CASE(memory_need_not_be_zero),
	TS_CASE(tables_do_not_grow_by_turnover),
};

int main(int argc, char **argv)
{
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
