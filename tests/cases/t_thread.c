/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The cache's own thread: what it does, when it sleeps, and how it ends. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scene.h"

#define PROMPT_MS 10000

static struct pathcache_options with_thread(void)
{
	struct pathcache_options opt;

	pathcache_options_init(&opt);
	opt.thread = 1;
	return opt;
}

/* ---- looking for it ------------------------------------------------------------- */

static bool task_read(const char *task, const char *file, char *buf, size_t size)
{
	char path[300];
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "/proc/self/task/%s/%s", task, file);
	f = fopen(path, "r");
	if (!f)
		return false;
	n = fread(buf, 1, size - 1, f);
	buf[n] = '\0';
	fclose(f);
	return true;
}

/* How many threads are named so; task: that of the last one. */
static unsigned workers(char *task, size_t size)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;
	unsigned n = 0;
	char comm[64];

	REQUIRE(d != NULL);
	while ((e = readdir(d)) != NULL)
		if (task_read(e->d_name, "comm", comm, sizeof(comm)) &&
		    strcmp(comm, "pathcache\n") == 0) {
			n++;
			REQUIRE(strlen(e->d_name) < size);
			memcpy(task, e->d_name, strlen(e->d_name) + 1);
		}
	closedir(d);
	return n;
}

/* The number after label in the task's status. */
static unsigned long long task_status(const char *task, const char *label, int base)
{
	char text[4096], *at;

	REQUIRE(task_read(task, "status", text, sizeof(text)));
	at = strstr(text, label);
	REQUIRE(at != NULL);
	return strtoull(at + strlen(label), NULL, base);
}

/* A thread that has not run yet has the signals that its maker blocked for it. */
static void task_sleeps(const char *task)
{
	char text[4096];

	do {
		ts_sleep_us(1000);
		REQUIRE(task_read(task, "status", text, sizeof(text)));
	} while (!strstr(text, "\nState:\tS"));
}

static void it_is_named_blocks_signals_and_ends(void)
{
	static const unsigned unblockable = 1u << 8 | 1u << 18; /* KILL, STOP */
	struct pathcache_options opt = with_thread();
	unsigned long long blocked;
	struct scene scene;
	char task[64];

	CHECK_EQ(workers(task, sizeof(task)), 0);
	scene_begin_with(&scene, &opt);
	CHECK_EQ(workers(task, sizeof(task)), 1);
	task_sleeps(task);
	blocked = task_status(task, "SigBlk:", 16);
	/* The C library keeps two for itself: 32, 33. */
	CHECK_EQ((blocked | unblockable | 3ull << 31) & 0xffffffffull, 0xffffffffull);
	scene_end(&scene);
	CHECK_EQ(workers(task, sizeof(task)), 0);
}

/* ---- what it does ----------------------------------------------------------------- */

/* Until what waits is at most bytes. */
static bool waits_at_most(struct pathcache *cache, uint64_t bytes)
{
	uint64_t limit = ts_now_ns() + PROMPT_MS * UINT64_C(1000000);

	while (ts_stats(cache).deferred_bytes > bytes) {
		if (ts_now_ns() > limit)
			return false;
		ts_sleep_us(500);
	}
	return true;
}

struct still {
	struct ts_thread thread;
	_Atomic bool in;
	_Atomic bool over;
};

static void stand_still(void *arg)
{
	struct still *s = arg;

	ts_online();
	ts_read_lock();
	atomic_store(&s->in, true);
	while (!atomic_load(&s->over))
		usleep(200);
	ts_read_unlock();
	ts_offline();
}

static void churn(struct app *app, unsigned rounds)
{
	for (unsigned i = 0; i < rounds; i++) {
		CHECK_EQ(ts_stat_err(app->cache, "d/f"), 0);
		CHECK_EQ(ts_stat_err(app->cache, "d/absent"), -ENOENT);
		CHECK_EQ(pathcache_invalidate_name(app->cache, NULL, "d"), 0);
	}
}

/* With a reader that stands still, whoever pays a grace period waits for it. */
static void queries_pay_no_grace_period(void)
{
	struct pathcache_options opt = with_thread();
	struct still still = {.in = false};
	struct app app;

	opt.backlog = 4096;
	app_begin_with(&app, &opt);
	ts_ns_add(&app.ns, "d", S_IFDIR | 0755, NULL);
	ts_ns_add(&app.ns, "d/f", S_IFREG | 0644, NULL);
	ts_thread_start(&still.thread, stand_still, &still);
	while (!atomic_load(&still.in))
		ts_sleep_us(200);
	churn(&app, 2000);
	CHECK(ts_stats(app.cache).deferred_bytes > opt.backlog);
	atomic_store(&still.over, true);
	ts_thread_join(&still.thread);
	CHECK(waits_at_most(app.cache, opt.backlog));
	CHECK(ts_stats(app.cache).grace_periods > 0);
	app_end(&app);
}

static void what_waits_is_freed_without_a_call(void)
{
	struct pathcache_options opt = with_thread();
	struct app app;

	opt.backlog = 4096;
	app_begin_with(&app, &opt);
	ts_ns_add(&app.ns, "d", S_IFDIR | 0755, NULL);
	ts_ns_add(&app.ns, "d/f", S_IFREG | 0644, NULL);
	for (int i = 0; i < 20; i++) {
		churn(&app, 50);
		ts_offline();
		CHECK(waits_at_most(app.cache, opt.backlog / 2));
		ts_online();
	}
	app_end(&app);
}

static void fill_names(struct pathcache *cache, unsigned n)
{
	char path[32];

	for (unsigned i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "d/%u", i);
		CHECK_EQ(ts_stat_err(cache, path), -ENOENT);
	}
}

/* Names left in memory fall to at most n. */
static bool names_fall_to(struct pathcache *cache, uint64_t n)
{
	uint64_t limit = ts_now_ns() + PROMPT_MS * UINT64_C(1000000);

	while (ts_stats(cache).dentries > n) {
		if (ts_now_ns() > limit)
			return false;
		ts_sleep_us(500);
	}
	return true;
}

static void what_nothing_leads_to_goes(void)
{
	struct pathcache_options opt = with_thread();
	struct scene scene;

	scene_begin_with(&scene, &opt);
	ts_dir(&scene.tree, "d", 0755);
	fill_names(scene.cache, 5000);
	CHECK(ts_stats(scene.cache).dentries > 5000);
	CHECK_EQ(pathcache_invalidate_all(scene.cache), 0);
	CHECK(names_fall_to(scene.cache, 10));
	scene_end(&scene);
}

/* ---- how it sleeps and ends ---------------------------------------------------------- */

static void it_sleeps_while_there_is_nothing(void)
{
	struct pathcache_options opt = with_thread();
	unsigned long long before;
	struct scene scene;
	char task[64];

	scene_begin_with(&scene, &opt);
	ts_dir(&scene.tree, "d", 0755);
	fill_names(scene.cache, 100);
	ts_sleep_us(100000);
	REQUIRE(workers(task, sizeof(task)) == 1);
	before = task_status(task, "\nvoluntary_ctxt_switches:", 10);
	for (int i = 0; i < 20; i++) {
		CHECK_EQ(ts_stat_err(scene.cache, "d/1"), -ENOENT);
		ts_sleep_us(10000);
	}
	CHECK_EQ(task_status(task, "\nvoluntary_ctxt_switches:", 10), before);
	scene_end(&scene);
}

static void a_refused_close_leaves_it_working(void)
{
	struct pathcache_options opt = with_thread();
	struct pathcache_entry *entry;
	struct scene scene;

	scene_begin_with(&scene, &opt);
	ts_dir(&scene.tree, "d", 0755);
	entry = ts_get(scene.cache, "d");
	for (int i = 0; i < 3; i++) {
		fill_names(scene.cache, 3000);
		CHECK_EQ(pathcache_invalidate_subtree(scene.cache, entry), 0);
		CHECK_EQ(pathcache_close(scene.cache), -EBUSY);
		CHECK(names_fall_to(scene.cache, 10));
	}
	pathcache_put(scene.cache, entry);
	scene_end(&scene);
}

static void a_close_finds_it_at_work(void)
{
	struct pathcache_options opt = with_thread();
	struct app app;

	opt.backlog = 4096;
	for (unsigned i = 0; i < ts_scale(200); i++) {
		app_begin_with(&app, &opt);
		ts_ns_add(&app.ns, "d", S_IFDIR | 0755, NULL);
		ts_ns_add(&app.ns, "d/f", S_IFREG | 0644, NULL);
		churn(&app, i % 40);
		if (i % 3 == 0)
			CHECK_EQ(pathcache_invalidate_all(app.cache), 0);
		app_end(&app); /* each handle comes back, whoever frees its object */
	}
}

static void each_way_to_learn_of_changes_has_one(void)
{
	struct pathcache_options opt = with_thread();
	struct scene scene;
	char task[64];

	for (uint32_t i = PATHCACHE_COHERENCE_EXCLUSIVE; i <= PATHCACHE_COHERENCE_NONE; i++) {
		opt.coherence = i;
		scene_begin_with(&scene, &opt);
		ts_file(&scene.tree, "f", 0644, "");
		CHECK_EQ(workers(task, sizeof(task)), 1);
		CHECK_EQ(ts_stat_err(scene.cache, "f"), 0);
		CHECK_EQ(ts_stat_err(scene.cache, "f"), 0);
		scene_end(&scene);
	}
}

/* No stack of that size can be had. */
static void opening_fails_where_it_cannot_be_started(void)
{
	struct pathcache_options opt = with_thread();
	struct pathcache *cache = NULL;
	pthread_attr_t usual, huge;

	REQUIRE(pthread_getattr_default_np(&usual) == 0);
	REQUIRE(pthread_attr_init(&huge) == 0);
	REQUIRE(pthread_attr_setstacksize(&huge, (size_t)1 << 46) == 0);
	REQUIRE(pthread_setattr_default_np(&huge) == 0);
	CHECK_EQ(pathcache_open(&cache, "/", &opt), -EAGAIN);
	CHECK(cache == NULL);
	REQUIRE(pthread_setattr_default_np(&usual) == 0);
	CHECK_EQ(pathcache_open(&cache, "/", &opt), 0);
	CHECK_EQ(pathcache_close(cache), 0);
	pthread_attr_destroy(&huge);
	pthread_attr_destroy(&usual);
}

int main(int argc, char **argv)
{
	static const struct ts_case cases[] = {
		TS_CASE(it_is_named_blocks_signals_and_ends),
		TS_CASE(queries_pay_no_grace_period),
		TS_CASE(what_waits_is_freed_without_a_call),
		TS_CASE(what_nothing_leads_to_goes),
		TS_CASE(it_sleeps_while_there_is_nothing),
		TS_CASE(a_refused_close_leaves_it_working),
		TS_CASE(a_close_finds_it_at_work),
		TS_CASE(each_way_to_learn_of_changes_has_one),
		TS_CASE(opening_fails_where_it_cannot_be_started),
	};

	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
