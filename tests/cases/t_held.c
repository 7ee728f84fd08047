/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How what is held is found again, in a real tree: by any of its names, through
 * directories that the cache has forgotten; and how a path is opened that leads to
 * a file with several names.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scene.h"

/* The cache forgets the directory, as something about it has changed. */
static void forget(const struct scene *s, const char *dir)
{
	ts_chmod(&s->tree, dir, 0711);
	changed_object(s->cache, dir);
}

/* Somebody writes to the file path, which is held, and says so. */
static void grow(const struct scene *s, const char *path, struct pathcache_entry *held)
{
	ts_append(&s->tree, path, "more");
	CHECK_EQ(pathcache_invalidate_entry(s->cache, held), 0);
}

static int held_size(const struct scene *s, struct pathcache_entry *held)
{
	struct pathcache_attr attr;
	int rc = pathcache_entry_stat(s->cache, held, &attr);

	return rc ? rc : (int)attr.size;
}

/* Opening path from start gives the file whose inode number is want. */
static void opens(const struct scene *s, struct pathcache_entry *start, const char *path,
                  uint64_t want)
{
	struct pathcache_how how = {.size = sizeof(how), .start = start};

	for (int hot = 0; hot < 4; hot++) {
		int fd = pathcache_open_fd(s->cache, path, hot % 2 ? O_RDONLY : O_PATH,
		                           start ? &how : NULL);
		struct stat st;

		CHECK(fd >= 0 && fstat(fd, &st) == 0 && st.st_ino == want);
		if (fd >= 0)
			close(fd);
	}
}

static void a_held_file_is_found_below_forgotten_directories(void)
{
	struct pathcache_entry *held;
	struct scene s;

	scene_begin(&s);
	ts_dir(&s.tree, "d", 0755);
	ts_dir(&s.tree, "d/e", 0755);
	ts_file(&s.tree, "d/e/f", 0644, "");
	held = ts_get(s.cache, "d/e/f");
	forget(&s, "d/e");
	grow(&s, "d/e/f", held);
	CHECK_EQ(held_size(&s, held), 4);
	forget(&s, "d");
	grow(&s, "d/e/f", held);
	CHECK_EQ(held_size(&s, held), 8);
	/* By its name only: another file in its place is not it. */
	ts_rename(&s.tree, "d/e/f", "d/e/g");
	ts_file(&s.tree, "d/e/f", 0644, "");
	CHECK_EQ(pathcache_invalidate_entry(s.cache, held), 0);
	CHECK_EQ(held_size(&s, held), -ESTALE);
	ts_rename(&s.tree, "d/e/g", "d/e/f");
	CHECK_EQ(held_size(&s, held), 8);
	/* In its own directory, not in another of that name. */
	ts_rename(&s.tree, "d/e", "d/old");
	ts_dir(&s.tree, "d/e", 0755);
	ts_hardlink(&s.tree, "d/old/f", "d/e/f");
	grow(&s, "d/old/f", held);
	CHECK_EQ(held_size(&s, held), 12);
	ts_unlink(&s.tree, "d/old/f");
	CHECK_EQ(pathcache_invalidate_entry(s.cache, held), 0);
	CHECK_EQ(held_size(&s, held), -ESTALE);
	pathcache_put(s.cache, held);
	scene_end(&s);
}

static void a_held_file_is_found_by_any_of_its_names(void)
{
	static const char *const names[] = {"a", "d/b", "e/c"};

	for (unsigned newest = 0; newest < 3; newest++) {
		struct pathcache_entry *held;
		struct scene s;

		scene_begin(&s);
		ts_dir(&s.tree, "d", 0755);
		ts_dir(&s.tree, "e", 0755);
		ts_file(&s.tree, "a", 0644, "");
		ts_hardlink(&s.tree, "a", "d/b");
		ts_hardlink(&s.tree, "a", "e/c");
		for (unsigned i = 1; i <= 3; i++)
			attr_of(s.cache, names[(newest + i) % 3]);
		held = ts_get(s.cache, "a");
		/* Moved where nobody has looked yet; announced, by name. */
		ts_rename(&s.tree, "d", "d2");
		changed(s.cache, "d");
		changed(s.cache, "d2");
		grow(&s, "a", held);
		CHECK_EQ(held_size(&s, held), 4);
		ts_rename(&s.tree, "a", "z");
		changed(s.cache, "a");
		changed(s.cache, "z");
		grow(&s, "z", held);
		CHECK_EQ(held_size(&s, held), 8);
		ts_rename(&s.tree, "e", "e2");
		changed(s.cache, "e");
		changed(s.cache, "e2");
		grow(&s, "z", held);
		CHECK_EQ(held_size(&s, held), -ESTALE);
		/* Seen again by one of them. */
		AGREE(&s.view, .path = "e2/c");
		CHECK_EQ(held_size(&s, held), 12);
		pathcache_put(s.cache, held);
		scene_end(&s);
	}
}

static void a_path_opens_what_it_leads_to_and_not_what_another_name_does(void)
{
	uint64_t old;

	for (unsigned round = 0; round < 2; round++) {
		struct scene s;

		scene_begin(&s);
		ts_dir(&s.tree, "d", 0755);
		ts_file(&s.tree, "d/a", 0644, "old");
		ts_hardlink(&s.tree, "d/a", "d/b");
		ts_file(&s.tree, "d/new", 0644, "new");
		old = ts_ino(&s.tree, "d/a");
		opens(&s, NULL, round ? "d/a" : "d/b", old);
		opens(&s, NULL, round ? "d/b" : "d/a", old);
		/* Nobody has said so yet. */
		ts_rename(&s.tree, "d/new", "d/b");
		opens(&s, NULL, "d/a", old);
		opens(&s, NULL, "d/b", ts_ino(&s.tree, "d/b"));
		scene_end(&s);
	}
}

static void what_is_beside_a_start_below_a_forgotten_directory_is_found(void)
{
	struct pathcache_entry *start, *held;
	struct pathcache_how how = {.size = sizeof(how)};
	struct scene s;

	scene_begin(&s);
	ts_dir(&s.tree, "d", 0755);
	ts_dir(&s.tree, "d/s", 0755);
	ts_file(&s.tree, "d/f", 0644, "");
	ts_dir(&s.tree, "d/g", 0755);
	start = ts_get(s.cache, "d/s");
	how.start = start;
	forget(&s, "d");
	opens(&s, start, "../f", ts_ino(&s.tree, "d/f"));
	opens(&s, start, "../g", ts_ino(&s.tree, "d/g"));
	REQUIRE(pathcache_get(s.cache, "../f", &how, &held) == 0);
	grow(&s, "d/f", held);
	CHECK_EQ(held_size(&s, held), 4);
	/* Moved: the start is found by its descriptor, and what is beside it from there. */
	ts_rename(&s.tree, "d", "e");
	changed(s.cache, "d");
	changed(s.cache, "e");
	opens(&s, start, "../g", ts_ino(&s.tree, "e/g"));
	opens(&s, start, "../f", ts_ino(&s.tree, "e/f"));
	grow(&s, "e/f", held);
	CHECK_EQ(held_size(&s, held), 8);
	pathcache_put(s.cache, held);
	pathcache_put(s.cache, start);
	scene_end(&s);
}

static void a_start_that_is_lost_has_no_path_until_it_is_seen_again(void)
{
	struct pathcache_options opt;
	struct pathcache_how how = {.size = sizeof(how)};
	struct pathcache_attr attr;
	char path[64];
	struct scene s;

	pathcache_options_init(&opt);
	opt.max_dirfds = 1;
	scene_begin_with(&s, &opt);
	ts_dir(&s.tree, "a", 0755);
	ts_dir(&s.tree, "a/p", 0755);
	ts_dir(&s.tree, "a/p/s", 0755);
	ts_dir(&s.tree, "b", 0755);
	ts_file(&s.tree, "b/f", 0644, "");
	how.start = ts_get(s.cache, "a/p/s");
	CHECK_EQ(pathcache_realpath(s.cache, ".", &how, path, sizeof(path)), 6);
	/* Takes the only descriptor. */
	AGREE(&s.view, .path = "b/f");
	ts_rename(&s.tree, "a", "z");
	changed(s.cache, "a");
	changed(s.cache, "z");
	CHECK_EQ(pathcache_realpath(s.cache, ".", &how, path, sizeof(path)), -ESTALE);
	CHECK_EQ(pathcache_stat(s.cache, "x", &how, &attr), -ESTALE);
	AGREE(&s.view, .path = "z/p/s");
	CHECK_EQ(pathcache_realpath(s.cache, ".", &how, path, sizeof(path)), 6);
	CHECK(strcmp(path, "/z/p/s") == 0);
	CHECK_EQ(pathcache_stat(s.cache, "x", &how, &attr), -ENOENT);
	pathcache_put(s.cache, how.start);
	scene_end(&s);
}

/*
 * What stands in memory of the start's place is from before all was forgotten, and
 * says that nothing is there: that the name was announced concerns the start.
 */
static void a_start_is_announced_by_a_name_that_memory_knows_otherwise(void)
{
	struct pathcache_entry *start;
	struct pathcache_how how = {.size = sizeof(how)};
	struct pathcache_attr attr;
	struct stat st;
	struct scene s;

	scene_begin(&s);
	ts_dir(&s.tree, "a", 0755);
	ts_dir(&s.tree, "a/n", 0755);
	ts_dir(&s.tree, "d", 0755);
	ts_dir(&s.tree, "d/z", 0755);
	start = ts_get(s.cache, "a/n");
	how.start = start;
	CHECK_EQ(ts_stat_err(s.cache, "d/x"), -ENOENT);
	ts_rename(&s.tree, "a/n", "d/x");
	changed(s.cache, "a/n");
	CHECK_EQ(pathcache_invalidate_all(s.cache), 0);
	CHECK_EQ(pathcache_stat(s.cache, ".", &how, &attr), 0);
	CHECK_EQ(ts_stat_err(s.cache, "d/z"), 0);
	ts_sleep_us(20000); /* a tick of the file system's clock */
	ts_exchange(&s.tree, "d/x", "d/z");
	changed(s.cache, "d/z");
	changed(s.cache, "d/x");
	REQUIRE(fstatat(s.tree.fd, "d/z", &st, 0) == 0);
	CHECK_EQ(pathcache_entry_stat(s.cache, start, &attr), 0);
	CHECK_EQ(attr.ino, st.st_ino);
	CHECK_EQ(attr.ctime_sec, st.st_ctim.tv_sec);
	CHECK_EQ(attr.ctime_nsec, st.st_ctim.tv_nsec);
	pathcache_put(s.cache, start);
	scene_end(&s);
}

/* ---- while names come and go -------------------------------------------- */

struct commotion {
	struct scene s;
	struct pathcache_entry *held;
	uint64_t ino;
	_Atomic bool stop;
	_Atomic uint64_t rounds, asked, opened, wrong;
};

static bool goes_on(struct commotion *m)
{
	ts_quiescent();
	return !atomic_load(&m->stop);
}

/* Another name, in a directory that is then moved or forgotten. */
static void other_names(void *arg)
{
	struct commotion *m = arg;
	const struct scene *s = &m->s;
	struct pathcache_attr attr;

	for (unsigned i = 0; goes_on(m); i++) {
		ts_hardlink(&s->tree, "d/a", "d/e/b");
		changed(s->cache, "d/e/b");
		CHECK_EQ(pathcache_stat(s->cache, "d/e/b", NULL, &attr), 0);
		if (i % 3 == 0)
			changed_object(s->cache, "d/e");
		if (i % 3 == 1)
			changed_object(s->cache, "d");
		ts_rename(&s->tree, "d/e", "d/e2");
		changed(s->cache, "d/e");
		changed(s->cache, "d/e2");
		CHECK_EQ(pathcache_invalidate_entry(s->cache, m->held), 0);
		ts_unlink(&s->tree, "d/e2/b");
		changed(s->cache, "d/e2/b");
		ts_rename(&s->tree, "d/e2", "d/e");
		changed(s->cache, "d/e2");
		changed(s->cache, "d/e");
		atomic_fetch_add(&m->rounds, 1);
	}
}

static void ask_held(void *arg)
{
	struct commotion *m = arg;
	struct pathcache_attr attr;

	while (goes_on(m)) {
		if (pathcache_entry_stat(m->s.cache, m->held, &attr) || attr.ino != m->ino)
			atomic_fetch_add(&m->wrong, 1);
		atomic_fetch_add(&m->asked, 1);
	}
}

static void open_path(void *arg)
{
	struct commotion *m = arg;
	struct stat st;

	while (goes_on(m)) {
		int fd = pathcache_open_fd(m->s.cache, "d/a", O_RDONLY, NULL);

		if (fd < 0 || fstat(fd, &st) || st.st_ino != m->ino)
			atomic_fetch_add(&m->wrong, 1);
		if (fd >= 0)
			close(fd);
		atomic_fetch_add(&m->opened, 1);
	}
}

static void a_held_file_is_found_while_its_other_names_come_and_go(void)
{
	void (*const fns[])(void *) = {other_names, ask_held, open_path};
	struct commotion m = {.stop = false};
	struct pathcache_options opt;
	struct ts_thread threads[3];

	pathcache_options_init(&opt);
	opt.backlog = 4096; /* memory is freed often; a sweep would forget the old names */
	scene_begin_with(&m.s, &opt);
	ts_dir(&m.s.tree, "d", 0755);
	ts_dir(&m.s.tree, "d/e", 0755);
	ts_file(&m.s.tree, "d/a", 0644, "");
	m.ino = ts_ino(&m.s.tree, "d/a");
	m.held = ts_get(m.s.cache, "d/a");
	for (int i = 0; i < 3; i++)
		ts_thread_start(&threads[i], fns[i], &m);
	ts_sleep_us((unsigned)(ts_seconds(1) * 1e6));
	atomic_store(&m.stop, true);
	for (int i = 0; i < 3; i++)
		ts_thread_join(&threads[i]);
	CHECK(m.rounds && m.asked && m.opened);
	CHECK_EQ(m.wrong, 0);
	printf("      %llu times moved, %llu times asked, %llu opened\n",
	       (unsigned long long)m.rounds, (unsigned long long)m.asked,
	       (unsigned long long)m.opened);
	pathcache_put(m.s.cache, m.held);
	scene_end(&m.s);
}

static const struct ts_case cases[] = {
	TS_CASE(a_held_file_is_found_below_forgotten_directories),
	TS_CASE(a_held_file_is_found_by_any_of_its_names),
	TS_CASE(a_path_opens_what_it_leads_to_and_not_what_another_name_does),
	TS_CASE(what_is_beside_a_start_below_a_forgotten_directory_is_found),
	TS_CASE(a_start_that_is_lost_has_no_path_until_it_is_seen_again),
	TS_CASE(a_start_is_announced_by_a_name_that_memory_knows_otherwise),
	TS_CASE(a_held_file_is_found_while_its_other_names_come_and_go),
};

int main(int argc, char **argv)
{
	ts_isolate();
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
