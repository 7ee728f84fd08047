/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A living file system: events that are lost, or read by several threads; strict caches; few watches. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "living.h"

/* ---- the queue ------------------------------------------------------------------- */

static void flood(struct scene *s, const char *dir, unsigned n)
{
	char path[64];

	for (unsigned i = 0; i < n; i++) {
		/* No two alike: the kernel would make one of them. */
		snprintf(path, sizeof(path), "%s/%u", dir, i);
		ts_file(&s->tree, path, 0644, "");
		ts_unlink(&s->tree, path);
	}
}

static bool rests(struct scene *s)
{
	return ts_stats(s->cache).event_source == 0;
}

/* Meanwhile directories have leases; who asks anew finds out that the rest is over. */
static void ask_anew(struct scene *s, const char *path)
{
	CHECK_EQ(pathcache_sync(s->cache), 0);
	ts_stat_err(s->cache, path);
}

/* G1 */
EVERY(after_an_overflow_nothing_is_believed)
{
	ts_dir(&s->tree, "d", 0755);
	ts_dir(&s->tree, "e", 0755);
	ts_file(&s->tree, "e/f", 0644, "text");
	keep(s, "e/f");
	keep(s, "e/new");
	keep(s, "d/new");
	flood(s, "d", 9000);
	ts_append(&s->tree, "e/f", "more");
	ts_file(&s->tree, "e/new", 0644, "");
	ts_file(&s->tree, "d/new", 0644, "");
	CHECK_EQ(pathcache_sync(s->cache), 0);
	CHECK(ts_stats(s->cache).events_overflows >= 1);
	CHECK(!is_kept(s->cache, "e/f"));
	CHECK_EQ(ts_stats(s->cache).watches, 0);
	AGREE(&s->view, .path = "e/f");
	AGREE(&s->view, .path = "e/new");
	AGREE(&s->view, .path = "d/new");
	/* Not believed while nobody tells, and told again after the rest. */
	ts_unlink(&s->tree, "e/new");
	agree(s, "e/new");
	for (int i = 0; i < 400 && rests(s); i++) {
		ts_sleep_us(10000);
		ask_anew(s, "e/f");
	}
	CHECK(!rests(s));
	for (int i = 0; i < 3; i++)
		ts_stat_err(s->cache, "e/f");
	ts_append(&s->tree, "e/f", "yet more");
	agree(s, "e/f");
}

/* G9 */
EVERY(while_that_goes_on_the_kernel_is_left_alone_for_longer)
{
	const unsigned rounds = 2;
	uint64_t last = 0;

	ts_dir(&s->tree, "d", 0755);
	for (unsigned i = 0; i < rounds; i++) {
		uint64_t begin;

		for (int k = 0; k < 1000 && rests(s); k++) {
			ts_sleep_us(1000);
			ask_anew(s, "d/f");
		}
		for (int k = 0; k < 3; k++)
			ts_stat_err(s->cache, "d/f");
		flood(s, "d", 9000);
		CHECK_EQ(pathcache_sync(s->cache), 0);
		begin = ts_now_ns();
		CHECK(rests(s));
		while (rests(s) && ts_now_ns() - begin < UINT64_C(10000000000)) {
			ask_anew(s, "d/f");
			ts_sleep_us(500);
		}
		last = ts_now_ns() - begin;
	}
	CHECK(ts_stats(s->cache).events_overflows >= rounds);
	CHECK(last < UINT64_C(8000000000));
}

EVERY(the_descriptor_says_when_there_is_something_to_do)
{
	struct pollfd poller = {.fd = pathcache_fd(s->cache), .events = POLLIN};

	REQUIRE(poller.fd >= 0);
	keep(s, "f");
	while (pathcache_maintain(s->cache, 1000) == 1)
		;
	ts_file(&s->tree, "f", 0644, "");
	CHECK_EQ(poll(&poller, 1, 5000), 1);
	while (pathcache_maintain(s->cache, 1000) == 1)
		;
	AGREE(&s->view, .path = "f");
}

/* ---- sync, strict ---------------------------------------------------------------- */

struct syncer {
	struct ts_thread thread;
	struct scene *s;
	unsigned id;
	unsigned wrong;
	unsigned rounds;
};

static void syncer_run(void *arg)
{
	struct syncer *y = arg;
	char path[32];
	uint64_t size = 0;
	int fd;

	snprintf(path, sizeof(path), "d/%u", y->id);
	fd = openat(y->s->tree.fd, path, O_WRONLY | O_APPEND);
	REQUIRE(fd >= 0);
	for (unsigned i = 0; i < y->rounds; i++) {
		struct pathcache_attr attr = {0};

		REQUIRE(write(fd, "text", 4) == 4);
		size += 4;
		CHECK_EQ(pathcache_sync(y->s->cache), 0);
		if (pathcache_stat(y->s->cache, path, NULL, &attr) || attr.size != size)
			y->wrong++;
		ts_quiescent();
	}
	close(fd);
}

EVERY(each_thread_sees_its_change_once_it_has_synced)
{
	struct syncer y[4];
	char path[32];

	ts_dir(&s->tree, "d", 0755);
	for (unsigned i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "d/%u", i);
		ts_file(&s->tree, path, 0644, "");
		keep(s, path);
		y[i] = (struct syncer){.s = s, .id = i, .rounds = ts_scale(4000)};
	}
	for (unsigned i = 0; i < 4; i++)
		ts_thread_start(&y[i].thread, syncer_run, &y[i]);
	for (unsigned i = 0; i < 4; i++) {
		REQUIRE(ts_thread_ends(&y[i].thread, 60000));
		ts_thread_join(&y[i].thread);
		CHECK_EQ(y[i].wrong, 0);
	}
}

static void strict_in(struct scene *s)
{
	struct pathcache_entry *held;
	struct pathcache_attr attr;

	ts_dir(&s->tree, "d", 0755);
	ts_file(&s->tree, "d/f", 0644, "");
	keep(s, "d/f");
	held = ts_get(s->cache, "d/f");
	for (unsigned i = 1; i <= 20; i++) {
		const char *path = "d/f";
		int rc = 0;

		ts_append(&s->tree, "d/f", "text");
		CHECK_EQ(pathcache_entry_stat(s->cache, held, &attr), 0);
		CHECK_EQ(attr.size, 4 * i);
		ts_chmod(&s->tree, "d/f", i % 2 ? 0600 : 0644);
		CHECK_EQ(attr_of(s->cache, "d/f").mode & 0777, i % 2 ? 0600 : 0644);
		ts_chmod(&s->tree, "d/f", 0611);
		CHECK_EQ(pathcache_stat_many(s->cache, &path, 1, NULL, &attr, &rc), 0);
		CHECK_EQ(attr.mode & 0777, 0611);
	}
	pathcache_put(s->cache, held);
}

static void a_strict_cache_needs_not_be_told_to_sync(void)
{
	struct pathcache_options opt = events_options(0);

	opt.strict = 1;
	every_with(&opt, strict_in);
}

/* ---- listeners ------------------------------------------------------------------- */

struct ear {
	struct scene *s;
	unsigned names, objects, all, old;
	bool syncs;
};

static void hear(void *arg, const struct pathcache_change *change)
{
	struct ear *ear = arg;

	ear->names += change->kind == PATHCACHE_CHANGE_NAME && strcmp(change->name, "f") == 0;
	ear->objects += change->kind == PATHCACHE_CHANGE_OBJECT;
	ear->all += change->kind == PATHCACHE_CHANGE_ALL;
	if (!ear->s)
		return;
	/* K23: by now the old answer is out of reach. */
	ear->old += ts_stat_err(change->cache, "d/f") != 0;
	if (ear->syncs)
		CHECK_EQ(pathcache_sync(change->cache), 0);
}

static struct ear ear;

static void heard_in(struct scene *s)
{
	ear = (struct ear){.syncs = true};
	ts_dir(&s->tree, "d", 0755);
	keep(s, "d/f");
	ear.s = s;
	ts_file(&s->tree, "d/f", 0644, "");
	CHECK_EQ(pathcache_sync(s->cache), 0);
	CHECK(ear.names > 0);
	CHECK_EQ(ear.old, 0);
	keep(s, "d");
	ts_chmod(&s->tree, "d", 0711);
	CHECK_EQ(pathcache_sync(s->cache), 0);
	CHECK(ear.objects > 0);
	ear.s = NULL;
	flood(s, "d", 9000);
	while (pathcache_maintain(s->cache, 1000) == 1)
		;
	CHECK(ear.all > 0);
}

static void a_listener_hears_what_the_kernel_tells(void)
{
	struct pathcache_options opt = events_options(0);

	opt.listener = hear;
	opt.listener_arg = &ear;
	every_with(&opt, heard_in);
}

/* ---- limits and privileges ------------------------------------------------------------ */

static void few_in(struct scene *s)
{
	char path[32];

	for (unsigned round = 0; round < 3; round++)
		for (unsigned i = 0; i < 10; i++) {
			snprintf(path, sizeof(path), "%u", i);
			if (!round)
				ts_dir(&s->tree, path, 0755);
			snprintf(path, sizeof(path), "%u/%u", i, round);
			CHECK_EQ(ts_stat_err(s->cache, path), -ENOENT);
			ts_file(&s->tree, path, 0644, "");
			agree(s, path);
		}
	CHECK(ts_stats(s->cache).watch_limits > 0);
	CHECK(ts_stats(s->cache).watches <= 4);
	CHECK_EQ(ts_stats(s->cache).watch_failures, 0);
}

/* G6 */
static void beyond_max_watches_directories_expire(void)
{
	struct pathcache_options opt = events_options(0);

	opt.max_watches = 4;
	every_with(&opt, few_in);
}

EVERY(watches_of_what_is_forgotten_go)
{
	char path[32];

	for (unsigned i = 0; i < 300; i++) {
		snprintf(path, sizeof(path), "%u", i);
		ts_dir(&s->tree, path, 0755);
		snprintf(path, sizeof(path), "%u/f", i);
		ts_stat_err(s->cache, path);
	}
	CHECK(ts_stats(s->cache).watches >= 300 || ts_stats(s->cache).events_overflows);
	CHECK_EQ(pathcache_set_budget(s->cache, 0), 0);
	while (pathcache_maintain(s->cache, 1000) == 1)
		;
	CHECK(ts_stats(s->cache).watches <= 1);
	CHECK_EQ(pathcache_set_budget(s->cache, 1 << 24), 0);
	for (unsigned i = 0; i < 300; i += 7) {
		snprintf(path, sizeof(path), "%u/f", i);
		keep(s, path);
		ts_file(&s->tree, path, 0644, "");
		agree(s, path);
	}
}

int main(int argc, char **argv)
{
	static const struct ts_case cases[] = {
		TS_CASE(after_an_overflow_nothing_is_believed),
		TS_CASE(while_that_goes_on_the_kernel_is_left_alone_for_longer),
		TS_CASE(the_descriptor_says_when_there_is_something_to_do),
		TS_CASE(each_thread_sees_its_change_once_it_has_synced),
		TS_CASE(a_strict_cache_needs_not_be_told_to_sync),
		TS_CASE(a_listener_hears_what_the_kernel_tells),
		TS_CASE(beyond_max_watches_directories_expire),
		TS_CASE(watches_of_what_is_forgotten_go),
	};

	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
