/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Faults of others: negative entries. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scene.h"

/* B1: the host hands on the proof that its own failed mkdir is. */
static void proof_of_existence_drops_the_negative(void)
{
	struct scene s;

	scene_begin(&s);
	CHECK_EQ(ts_stat_err(s.cache, "n"), -ENOENT);
	ts_dir(&s.tree, "n", 0755);
	CHECK_EQ(mkdirat(s.tree.fd, "n", 0755), -1);
	CHECK_EQ(errno, EEXIST);
	changed(s.cache, "n");
	for (int round = 0; round < 2; round++)
		AGREE(&s.view, .path = "n");
	scene_end(&s);
}

/* B3 */
static void a_negative_belongs_to_the_directory_and_not_to_a_spelling(void)
{
	static const char *const spellings[] = {"foo/x", "foo2/x", "foo2/../foo/x", "./foo//x",
	                                        "foo3/x"};

	for (size_t asked = 0; asked < 5; asked++) {
		for (size_t told = 0; told < 5; told++) {
			struct scene s;

			scene_begin(&s);
			ts_dir(&s.tree, "foo", 0755);
			ts_symlink(&s.tree, "foo2", "foo");
			ts_symlink(&s.tree, "foo3", "foo2");
			for (size_t i = 0; i < 5; i++)
				CHECK_EQ(ts_stat_err(s.cache, spellings[i]), -ENOENT);
			ts_dir(&s.tree, "foo/x", 0755);
			changed(s.cache, spellings[told]);
			AGREE(&s.view, .path = spellings[asked]);
			CHECK_EQ(ts_stat_err(s.cache, spellings[asked]), 0);
			scene_end(&s);
		}
	}
}

/* B5, B9 */
static void negatives_stay_within_the_budget(void)
{
	struct pathcache_options opt;
	struct pathcache_stats stats;
	unsigned n = ts_scale(100000), over = 0;
	char name[32];
	struct app app;

	pathcache_options_init(&opt);
	opt.budget = 2 << 20;
	app_begin_with(&app, &opt);
	ts_ns_add(&app.ns, "there", S_IFREG | 0644, NULL);
	for (unsigned i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "absent-%u", i);
		if (ts_stat_err(app.cache, name) != -ENOENT)
			ts_fail(__FILE__, __LINE__, "%s is not absent", name);
		if (i % 1000 == 0)
			over += ts_stats(app.cache).bytes > opt.budget;
	}
	stats = ts_stats(app.cache);
	CHECK_EQ(over, 0);
	CHECK(stats.bytes <= opt.budget);
	CHECK_EQ(ts_stat_err(app.cache, "there"), 0);
	CHECK_EQ(ts_stat_err(app.cache, "absent-1"), -ENOENT);
	app_end(&app);
}

/* B9 */
static void a_negative_takes_little_memory(void)
{
	unsigned n = ts_scale(50000);
	struct pathcache_stats before, after;
	struct pathcache_options opt;
	uint64_t each;
	char name[32];
	struct app app;

	pathcache_options_init(&opt);
	opt.negatives_per_dir = n + 1;
	app_begin_with(&app, &opt);
	CHECK_EQ(ts_stat_err(app.cache, "first"), -ENOENT);
	before = ts_stats(app.cache);
	for (unsigned i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "no%06u", i);
		CHECK_EQ(ts_stat_err(app.cache, name), -ENOENT);
	}
	after = ts_stats(app.cache);
	CHECK_EQ(after.negatives - before.negatives, n);
	each = (after.bytes - before.bytes) / n;
	printf("      %llu bytes a negative of 8 bytes\n", (unsigned long long)each);
	CHECK(each > 0 && each <= 200);
	app_end(&app);
}

/* B5: names that are created and removed leave nothing behind for ever. */
static void removed_names_do_not_pile_up(void)
{
	struct pathcache_options opt;
	unsigned n = ts_scale(5000);
	struct scene s;
	char name[32];

	pathcache_options_init(&opt);
	opt.budget = 1 << 20;
	scene_begin_with(&s, &opt);
	for (unsigned i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "t%u", i);
		ts_file(&s.tree, name, 0644, "");
		changed(s.cache, name);
		CHECK_EQ(ts_stat_err(s.cache, name), 0);
		ts_unlink(&s.tree, name);
		changed(s.cache, name);
		CHECK_EQ(ts_stat_err(s.cache, name), -ENOENT);
		if (i % 256 == 0)
			CHECK(ts_stats(s.cache).bytes <= opt.budget);
	}
	CHECK(ts_stats(s.cache).bytes <= opt.budget);
	scene_end(&s);
}

/* B5: a cache that may keep nothing still answers, and permission too. */
static void a_budget_of_nothing_still_answers(void)
{
	struct pathcache_cred cred = ts_to_cred(&ts_nobody);
	struct pathcache_how how = {.size = sizeof(how), .cred = &cred};
	struct pathcache_options opt;
	struct scene s;

	pathcache_options_init(&opt);
	opt.budget = 0;
	scene_begin_with(&s, &opt);
	ts_dir(&s.tree, "d", 0755);
	ts_file(&s.tree, "d/f", 0640, "");
	ts_symlink(&s.tree, "l", "d/../d/f");
	for (int round = 0; round < 3; round++) {
		AGREE(&s.view, .path = "d/f");
		AGREE(&s.view, .path = "l");
		AGREE(&s.view, .op = TS_REALPATH, .path = "l");
		AGREE(&s.view, .path = "d/absent");
		CHECK_EQ(pathcache_access(s.cache, "d/f", R_OK, NULL), 0);
		CHECK_EQ(pathcache_access(s.cache, "d/f", R_OK, &how), -EACCES);
		CHECK_EQ(pathcache_access(s.cache, "d", R_OK | X_OK, &how), 0);
		CHECK_EQ(ts_stat_as(s.cache, "d/f", &ts_nobody), 0);
	}
	scene_end(&s);
}

/* B6 */
static void all_negatives_go_at_once(void)
{
	struct app app;
	char name[32];

	for (int way = 0; way < 2; way++) {
		app_begin(&app);
		ts_ns_add(&app.ns, "d", S_IFDIR | 0755, NULL);
		for (int i = 0; i < 1000; i++) {
			snprintf(name, sizeof(name), "d/n%d", i);
			CHECK_EQ(ts_stat_err(app.cache, name), -ENOENT);
		}
		for (int i = 0; i < 1000; i++) {
			snprintf(name, sizeof(name), "d/n%d", i);
			ts_ns_add(&app.ns, name, S_IFREG | 0644, NULL);
		}
		if (way == 0)
			CHECK_EQ(pathcache_invalidate_all(app.cache), 0);
		else
			CHECK_EQ(pathcache_invalidate_subtree(app.cache, NULL), 0);
		for (int i = 0; i < 1000; i++) {
			snprintf(name, sizeof(name), "d/n%d", i);
			CHECK_EQ(ts_stat_err(app.cache, name), 0);
		}
		app_end(&app);
	}
}

static int count_names(void *arg, const char *name, size_t len, uint64_t ino, uint32_t type,
                       uint64_t cookie)
{
	(void)name;
	(void)len;
	(void)ino;
	(void)type;
	(void)cookie;
	++*(unsigned *)arg;
	return 0;
}

/* B7: a listing is no claim that nothing else is there. */
static void a_listed_directory_is_not_taken_for_complete(void)
{
	struct scene s;
	struct pathcache_entry *dir;
	unsigned n = 0;

	scene_begin(&s);
	ts_dir(&s.tree, "d", 0755);
	ts_file(&s.tree, "d/a", 0644, "");
	dir = ts_get(s.cache, "d");
	CHECK_EQ(pathcache_readdir(s.cache, dir, 0, count_names, &n), 0);
	CHECK_EQ(n, 1);
	ts_file(&s.tree, "d/b", 0644, "");
	CHECK_EQ(ts_stat_err(s.cache, "d/b"), 0);
	n = 0;
	CHECK_EQ(pathcache_readdir(s.cache, dir, 0, count_names, &n), 0);
	CHECK_EQ(n, 2);
	pathcache_put(s.cache, dir);
	scene_end(&s);
}

/* B10 */
static void a_directory_may_forbid_negatives(void)
{
	struct ts_object *dir;
	struct app app;
	uint64_t calls;

	app_begin(&app);
	dir = ts_ns_add(&app.ns, "dyn", S_IFDIR | 0755, NULL);
	dir->reply_flags = PATHCACHE_REPLY_NO_NEGATIVE;
	ts_ns_add(&app.ns, "dyn/here", S_IFREG | 0644, NULL);
	CHECK_EQ(ts_stat_err(app.cache, "dyn/n"), -ENOENT);
	ts_ns_add(&app.ns, "dyn/n", S_IFREG | 0644, NULL);
	CHECK_EQ(ts_stat_err(app.cache, "dyn/n"), 0);
	CHECK_EQ(ts_stat_err(app.cache, "dyn/here"), 0);
	calls = ts_ns_calls(&app.ns, TS_LOOKUP);
	CHECK_EQ(ts_stat_err(app.cache, "dyn/here"), 0);
	CHECK_EQ(ts_stat_err(app.cache, "dyn/n"), 0);
	CHECK_EQ(ts_ns_calls(&app.ns, TS_LOOKUP), calls);
	CHECK_EQ(ts_stats(app.cache).negatives, 0);
	app_end(&app);
}

/* B10: of one answer. */
static void an_answer_may_forbid_its_keeping(void)
{
	struct ts_object *object;
	struct app app;

	app_begin(&app);
	object = ts_ns_add(&app.ns, "f", S_IFREG | 0644, NULL);
	object->reply_flags = PATHCACHE_REPLY_NO_CACHE;
	object->size = 1;
	CHECK_EQ(attr_of(app.cache, "f").size, 1);
	ts_ns_set(&app.ns, "f", 0600, 2);
	CHECK_EQ(attr_of(app.cache, "f").size, 2);
	ts_ns_remove(&app.ns, "f");
	CHECK_EQ(ts_stat_err(app.cache, "f"), -ENOENT);
	app_end(&app);
}

static const struct ts_case cases[] = {
	TS_CASE(proof_of_existence_drops_the_negative),
	TS_CASE(a_negative_belongs_to_the_directory_and_not_to_a_spelling),
	TS_CASE(negatives_stay_within_the_budget),
	TS_CASE(a_negative_takes_little_memory),
	TS_CASE(removed_names_do_not_pile_up),
	TS_CASE(a_budget_of_nothing_still_answers),
	TS_CASE(all_negatives_go_at_once),
	TS_CASE(a_listed_directory_is_not_taken_for_complete),
	TS_CASE(a_directory_may_forbid_negatives),
	TS_CASE(an_answer_may_forbid_its_keeping),
};

int main(int argc, char **argv)
{
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
