/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * When memos are stored, and from when on what they say counts: hits displace
 * nobody, stamps come late and come to an end, and what changed while a memo
 * was being made is not believed.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "scene.h"

#define ALIGNED 16u /* as all of it is, and none of it better */
#define FILE_PATH "/directory/./././file"

/* ---- memory that is counted, refused and held up -------------------------- */

struct memory {
	struct pathcache_allocator allocator;
	_Atomic uint64_t asked;
	_Atomic int64_t live;
	_Atomic size_t refuse; /* so many bytes and more; 0 = none */
	_Atomic size_t hold;   /* the next of so many bytes and more; 0 = none */
	sem_t held, go;
};

static void wait_for(sem_t *sem)
{
	ts_offline();
	while (sem_wait(sem) != 0)
		;
	ts_online();
}

static void *memory_alloc(void *ctx, size_t size)
{
	struct memory *memory = ctx;
	size_t refuse = atomic_load(&memory->refuse), hold = atomic_load(&memory->hold);
	void *p = NULL;

	atomic_fetch_add(&memory->asked, 1);
	if (hold && size >= hold) {
		atomic_store(&memory->hold, 0);
		sem_post(&memory->held);
		wait_for(&memory->go);
	}
	if ((refuse && size >= refuse) || posix_memalign(&p, 64, ALIGNED + size) != 0)
		return NULL;
	atomic_fetch_add(&memory->live, 1);
	return (char *)p + ALIGNED;
}

static void memory_free(void *ctx, void *p, size_t size)
{
	struct memory *memory = ctx;

	(void)size;
	atomic_fetch_sub(&memory->live, 1);
	free((char *)p - ALIGNED);
}

struct play {
	struct app app;
	struct memory memory;
	char path[1024];
	unsigned npaths;
};

/* A directory with a file in it. share, ways: 0 = the default. */
static void play_begin(struct play *play, uint64_t budget, uint32_t share, uint32_t ways)
{
	struct pathcache_options opt;

	memset(play, 0, sizeof(*play));
	REQUIRE(sem_init(&play->memory.held, 0, 0) == 0 && sem_init(&play->memory.go, 0, 0) == 0);
	play->memory.allocator = (struct pathcache_allocator){
		.alloc = memory_alloc, .free = memory_free, .ctx = &play->memory};
	pathcache_options_init(&opt);
	opt.allocator = &play->memory.allocator;
	opt.budget = budget;
	opt.memo_share = share ? share : opt.memo_share;
	opt.memo_ways = ways ? ways : opt.memo_ways;
	app_begin_with(&play->app, &opt);
	ts_ns_add(&play->app.ns, "directory", S_IFDIR | 0755, NULL);
	ts_ns_add(&play->app.ns, "directory/file", S_IFREG | 0644, NULL);
}

static void play_end(struct play *play)
{
	app_end(&play->app);
	CHECK_EQ(atomic_load(&play->memory.live), 0);
	sem_destroy(&play->memory.held);
	sem_destroy(&play->memory.go);
}

/* n times one path, which is there. Return: how often a memo answered. */
static uint64_t ask(struct play *play, const char *path, unsigned n)
{
	uint64_t hits = ts_stats(play->app.cache).memo_hits;
	struct pathcache_attr attr;

	for (unsigned i = 0; i < n; i++)
		CHECK_EQ(pathcache_stat(play->app.cache, path, NULL, &attr), 0);
	return ts_stats(play->app.cache).memo_hits - hits;
}

/* ---- hits that no place is left for --------------------------------------- */

#define DISPLACE_HITS 10000u
#define DISPLACE_LENGTH 700u

/* The i-th of 1024 paths to the file. */
static const char *detour(struct play *play, unsigned i)
{
	size_t at = 0;

	for (unsigned bit = 0; bit < 10; bit++)
		at += (size_t)sprintf(play->path + at, "/directory%s",
		                      i >> bit & 1 ? "/.." : "/../.");
	while (at < DISPLACE_LENGTH)
		at += (size_t)sprintf(play->path + at, "/.");
	sprintf(play->path + at, "/directory/file");
	return play->path;
}

static void ask_all(struct play *play)
{
	for (unsigned i = 0; i < play->npaths; i++)
		ask(play, detour(play, i), 1);
}

/* A thread that has never missed. */
static void newcomer(void *arg)
{
	struct play *play = arg;
	struct pathcache_stats before = ts_stats(play->app.cache), now;
	uint64_t asked = atomic_load(&play->memory.asked), hits = 0;

	for (unsigned i = 0; i < DISPLACE_HITS; i++)
		hits += ask(play, detour(play, i % play->npaths), 1);
	now = ts_stats(play->app.cache);
	/* What has a place keeps it, what has none gets none. */
	CHECK_EQ(hits, before.memos * (DISPLACE_HITS / play->npaths));
	CHECK_EQ(now.memos, before.memos);
	CHECK_EQ(now.memo_bytes, before.memo_bytes);
	CHECK_EQ(now.deferred_bytes, before.deferred_bytes);
	CHECK_EQ(now.backend_calls, before.backend_calls);
	CHECK_EQ(now.hits, before.hits + DISPLACE_HITS);
	CHECK_EQ(atomic_load(&play->memory.asked), asked);
}

static void newcomer_comes(struct play *play, unsigned npaths)
{
	struct ts_thread thread;

	play->npaths = npaths;
	/* Until this thread may displace nobody either, and nothing waits to be freed. */
	for (int round = 0; round < 6; round++) {
		ask_all(play);
		CHECK(pathcache_maintain(play->app.cache, 1000) >= 0);
	}
	CHECK_EQ(ts_stats(play->app.cache).deferred_bytes, 0);
	CHECK(ts_stats(play->app.cache).memos < play->npaths / 2);
	ts_thread_start(&thread, newcomer, play);
	ts_thread_join(&thread);
}

static void hits_displace_nobody_in_a_full_share(void)
{
	struct play play;

	play_begin(&play, UINT64_C(2) << 20, 5, 16);
	newcomer_comes(&play, 500);
	play_end(&play);
}

/* There is memory, but no larger table to be had. */
static void hits_displace_nobody_in_a_full_set(void)
{
	struct play play;

	play_begin(&play, UINT64_C(64) << 20, 0, 4);
	atomic_store(&play.memory.refuse, 1024);
	newcomer_comes(&play, 500);
	play_end(&play);
}

/* ---- stamps ---------------------------------------------------------------- */

#define NO_STAMP 255u      /* checks within one epoch that store nothing */
#define ALL_STAMPED 20000u /* after so many there is nothing left to store */

static void change_elsewhere(struct play *play)
{
	CHECK_EQ(pathcache_invalidate_name(play->app.cache, NULL, "elsewhere"), 0);
}

static uint64_t stamps(struct play *play)
{
	return ts_stats(play->app.cache).memo_stamps;
}

/* First what many memos share, then the memo, and that is all. */
static void stamps_come_late_and_come_to_an_end(void)
{
	struct play play;
	uint64_t before;

	play_begin(&play, UINT64_C(64) << 20, 0, 0);
	ask(&play, FILE_PATH, 3);
	CHECK_EQ(ask(&play, FILE_PATH, ALL_STAMPED), ALL_STAMPED);
	CHECK_EQ(stamps(&play), 0);
	for (int round = 0; round < 3; round++) {
		before = stamps(&play);
		change_elsewhere(&play);
		CHECK_EQ(ask(&play, FILE_PATH, NO_STAMP), NO_STAMP);
		CHECK_EQ(stamps(&play), before);
		ask(&play, FILE_PATH, 45);
		CHECK_EQ(stamps(&play), before + 1);
		ask(&play, FILE_PATH, ALL_STAMPED / 2);
		CHECK_EQ(stamps(&play), before + 1);
		ask(&play, FILE_PATH, ALL_STAMPED / 2);
		CHECK_EQ(stamps(&play), before + 2);
		CHECK_EQ(ask(&play, FILE_PATH, ALL_STAMPED), ALL_STAMPED);
		CHECK_EQ(stamps(&play), before + 2);
	}
	play_end(&play);
}

/* However often it is asked in all. */
static void changes_that_storm_leave_no_stamps(void)
{
	struct play play;

	play_begin(&play, UINT64_C(64) << 20, 0, 0);
	ask(&play, FILE_PATH, 3);
	for (int round = 0; round < 100; round++) {
		change_elsewhere(&play);
		CHECK_EQ(ask(&play, FILE_PATH, NO_STAMP), NO_STAMP);
	}
	CHECK_EQ(stamps(&play), 0);
	play_end(&play);
}

/* ---- a change while a memo is made ----------------------------------------- */

static void learner(void *arg)
{
	struct play *play = arg;

	ask(play, detour(play, 0), 1);
}

/*
 * The memo is of a walk that was true when it ended. size: what is held up, the
 * memo or what it shares with others. The directory is another afterwards.
 */
static void change_while_learning(size_t size)
{
	struct pathcache_entry *held;
	struct pathcache_attr attr;
	struct ts_thread thread;
	struct play play;

	play_begin(&play, UINT64_C(64) << 20, 0, 0);
	held = ts_get(play.app.cache, "/directory/file");
	atomic_store(&play.memory.hold, size);
	ts_thread_start(&thread, learner, &play);
	wait_for(&play.memory.held);
	ts_ns_rename(&play.app.ns, "directory", "gone");
	ts_ns_add(&play.app.ns, "directory", S_IFDIR | 0755, NULL);
	changed(play.app.cache, "/directory");
	changed(play.app.cache, "/gone");
	sem_post(&play.memory.go);
	ts_thread_join(&thread);
	CHECK_EQ(ts_stats(play.app.cache).memos, 1);
	CHECK_EQ(pathcache_access(play.app.cache, detour(&play, 0), F_OK, NULL), -ENOENT);
	CHECK_EQ(pathcache_stat(play.app.cache, detour(&play, 0), NULL, &attr), -ENOENT);
	pathcache_put(play.app.cache, held);
	play_end(&play);
}

static void a_change_before_a_way_is_stored_is_seen(void)
{
	change_while_learning(1);
}

static void a_change_before_a_memo_is_stored_is_seen(void)
{
	change_while_learning(DISPLACE_LENGTH);
}

/* ---- a memo that has died ---------------------------------------------------- */

/* Its place is for the next one of its path. */
static void what_has_changed_is_learned_again(void)
{
	struct play play;

	play_begin(&play, UINT64_C(64) << 20, 0, 0);
	for (int round = 0; round < 5; round++) {
		ask(&play, FILE_PATH, 2);
		CHECK_EQ(ask(&play, FILE_PATH, 10), 10);
		CHECK_EQ(ts_stats(play.app.cache).memos, 1);
		changed(play.app.cache, round & 1 ? "/directory" : "/directory/file");
	}
	play_end(&play);
}

/* What an answer has taken before it turned out to be of a dead memo is given back. */
static void a_dead_memo_holds_nothing(void)
{
	static const char path[] = "/directory/below/file";
	struct scene s;

	scene_begin(&s);
	ts_dir(&s.tree, "directory", 0755);
	ts_dir(&s.tree, "directory/below", 0755);
	ts_file(&s.tree, path + 1, 0644, "");
	for (int round = 0; round < 5; round++) {
		for (int i = 0; i < 4; i++) {
			int fd = pathcache_open_fd(s.cache, path, O_RDONLY, NULL);

			CHECK(fd >= 0);
			close(fd);
		}
		/* The way dies, the last binding lives. */
		changed(s.cache, "/directory");
	}
	CHECK(ts_stats(s.cache).memo_hits >= 10);
	ts_unlink(&s.tree, path + 1);
	changed(s.cache, path);
	CHECK_EQ(pathcache_invalidate_all(s.cache), 0);
	while (pathcache_maintain(s.cache, 1000) > 0)
		;
	/* The root is left, and no other. */
	CHECK_EQ(ts_stats(s.cache).nodes, 1);
	scene_end(&s);
}

/* ---- what is remembered ------------------------------------------------------ */

#define SOMEBODY 4712u

/* Return: how many of ten answers, all of them want, were a memo's. */
static uint64_t ask_for_error(struct pathcache *cache, const char *path, uint64_t flags, int want)
{
	struct pathcache_how how = {.size = sizeof(how), .flags = flags};
	struct pathcache_attr attr;
	uint64_t hits;

	for (int i = 0; i < 3; i++)
		CHECK_EQ(pathcache_stat(cache, path, &how, &attr), want);
	hits = ts_stats(cache).memo_hits;
	for (int i = 0; i < 10; i++)
		CHECK_EQ(pathcache_stat(cache, path, &how, &attr), want);
	return ts_stats(cache).memo_hits - hits;
}

/* A refusal is not: it is about the one who asks, and nobody asks often in vain. */
static void errors_of_names_are_remembered(void)
{
	uid_t uid = geteuid();
	struct app app;

	/* The process has no capabilities when it opens the cache. */
	REQUIRE(uid || seteuid(SOMEBODY) == 0);
	app_begin(&app);
	REQUIRE(uid || seteuid(uid) == 0);
	ts_ns_add(&app.ns, "directory", S_IFDIR | 0755, NULL);
	ts_ns_add(&app.ns, "directory/file", S_IFREG | 0644, NULL);
	ts_ns_add(&app.ns, "way-to-directory", S_IFLNK | 0777, "directory");
	ts_ns_add(&app.ns, "closed-directory", S_IFDIR | 0700, NULL)->uid = SOMEBODY + 1;
	CHECK_EQ(ask_for_error(app.cache, "/directory/absent", 0, -ENOENT), 10);
	CHECK_EQ(ask_for_error(app.cache, "/directory/file/x", 0, -ENOTDIR), 10);
	CHECK_EQ(ask_for_error(app.cache, "/way-to-directory/file", PATHCACHE_NO_SYMLINKS, -ELOOP),
	         10);
	CHECK_EQ(ask_for_error(app.cache, "/closed-directory/file", 0, -EACCES), 0);
	app_end(&app);
}

/* Attributes that are never kept are asked for each time, however the name is known. */
static void a_mount_of_made_up_files_is_asked_about(void)
{
	static const char pts[] = "/./././././pts";
	struct pathcache_attr attr;
	struct pathcache *cache;
	struct statfs fs;
	uint64_t calls;

	if (statfs("/dev/pts", &fs) != 0 || fs.f_type != DEVPTS_SUPER_MAGIC) {
		ts_skip("no devpts on /dev/pts");
		return;
	}
	REQUIRE(pathcache_open(&cache, "/dev", NULL) == 0);
	for (int i = 0; i < 5; i++)
		CHECK_EQ(pathcache_access(cache, pts, F_OK, NULL), 0);
	calls = ts_stats(cache).backend_calls;
	for (int i = 0; i < 10; i++)
		CHECK_EQ(pathcache_stat(cache, pts, NULL, &attr), 0);
	CHECK_EQ(ts_stats(cache).backend_calls, calls + 10);
	CHECK_EQ(ts_stats(cache).memo_hits, 0);
	CHECK_EQ(pathcache_close(cache), 0);
}

/* Whether the backend may be asked is nothing that a memo is for. */
static void what_must_not_ask_finds_the_same_memo(void)
{
	struct play play;

	play_begin(&play, UINT64_C(64) << 20, 0, 0);
	ask(&play, FILE_PATH, 3);
	CHECK_EQ(ts_stats(play.app.cache).memos, 1);
	CHECK_EQ(ask_for_error(play.app.cache, FILE_PATH, PATHCACHE_CACHED, 0), 10);
	CHECK_EQ(ts_stats(play.app.cache).memos, 1);
	play_end(&play);
}

/* ---- canonical texts --------------------------------------------------------- */

/* Asked for until a memo says it. */
static void check_text(struct pathcache *cache, const char *path, const struct pathcache_how *how,
                       const char *want)
{
	uint64_t hits = ts_stats(cache).memo_hits;
	char text[128];

	for (int i = 0; i < 6; i++) {
		ssize_t n = pathcache_realpath(cache, path, how, text, sizeof(text));

		if (n != (ssize_t)strlen(want) || strcmp(text, want) != 0)
			ts_fail(__FILE__, __LINE__, "%s, time %d: %s", path, i, n < 0 ? "-" : text);
	}
	CHECK(ts_stats(cache).memo_hits >= hits + 4);
}

/* A path is its own only when nothing in it is left out, doubled or followed. */
static void texts_are_canonical_in_memos_too(void)
{
	static const struct {
		const char *path, *want;
	} texts[] = {
		{"/directory/..x/.y", "/directory/..x/.y"},
		{"/directory/.y/xy", "/directory/.y/xy"},
		{"/directory//.y/xy", "/directory/.y/xy"},
		{"//directory/.y/xy", "/directory/.y/xy"},
		{"/directory/.y/xy/", "/directory/.y/xy"},
		{"/directory/./.y/xy", "/directory/.y/xy"},
		{"/directory/../directory/.y", "/directory/.y"},
		{"/directory/.y/xy/.", "/directory/.y/xy"},
		{"/directory/.y/xy/..", "/directory/.y"},
		{"/link-to-there/xy", "/directory/.y/xy"},
		{"directory/.y/xy", "/directory/.y/xy"},
	};
	struct pathcache_how how = {.size = sizeof(how)};
	struct play play;

	play_begin(&play, UINT64_C(64) << 20, 0, 0);
	ts_ns_add(&play.app.ns, "directory/..x", S_IFDIR | 0755, NULL);
	ts_ns_add(&play.app.ns, "directory/..x/.y", S_IFREG | 0644, NULL);
	ts_ns_add(&play.app.ns, "directory/.y", S_IFDIR | 0755, NULL);
	ts_ns_add(&play.app.ns, "directory/.y/xy", S_IFDIR | 0755, NULL);
	ts_ns_add(&play.app.ns, "directory/.y/xy/a-long-name", S_IFREG | 0644, NULL);
	ts_ns_add(&play.app.ns, "link-to-there", S_IFLNK | 0777, "directory/.y");
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		check_text(play.app.cache, texts[i].path, &how, texts[i].want);
	how.start = ts_get(play.app.cache, "/directory");
	check_text(play.app.cache, ".y/xy/a-long-name", &how, "/directory/.y/xy/a-long-name");
	how.flags = PATHCACHE_IN_ROOT;
	check_text(play.app.cache, "/.y/xy/a-long-name", &how, "/directory/.y/xy/a-long-name");
	pathcache_put(play.app.cache, how.start);
	play_end(&play);
}

static const struct ts_case cases[] = {
	TS_CASE(hits_displace_nobody_in_a_full_share),
	TS_CASE(hits_displace_nobody_in_a_full_set),
	TS_CASE(stamps_come_late_and_come_to_an_end),
	TS_CASE(changes_that_storm_leave_no_stamps),
	TS_CASE(a_change_before_a_way_is_stored_is_seen),
	TS_CASE(a_change_before_a_memo_is_stored_is_seen),
	TS_CASE(what_has_changed_is_learned_again),
	TS_CASE(a_dead_memo_holds_nothing),
	TS_CASE(errors_of_names_are_remembered),
	TS_CASE(a_mount_of_made_up_files_is_asked_about),
	TS_CASE(what_must_not_ask_finds_the_same_memo),
	TS_CASE(texts_are_canonical_in_memos_too),
};

int main(int argc, char **argv)
{
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
