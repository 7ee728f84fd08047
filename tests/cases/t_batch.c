/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Many paths in one call: each answer is the one that asking for it alone
 * gives, misses, errors and all.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scene.h"

#define MANY 100 /* more than any group that is looked at together */

/* ---- both ways --------------------------------------------------------- */

/* Ask for n paths at once and one by one, results[i] must be want[i]; want NULL: any. */
static void both_ways(struct pathcache *cache, const char *const *paths, size_t n,
                      const struct pathcache_how *how, const int *want)
{
	struct pathcache_attr *attrs = calloc(n, sizeof(*attrs));
	int *results = malloc(n * sizeof(*results));

	REQUIRE(attrs && results);
	memset(results, 0x55, n * sizeof(*results));
	CHECK_EQ(pathcache_stat_many(cache, paths, n, how, attrs, results), 0);
	for (size_t i = 0; i < n; i++) {
		struct pathcache_attr attr = {0};
		int rc = pathcache_stat(cache, paths[i], how, &attr);

		if (results[i] != rc || (want && rc != want[i]))
			ts_fail(__FILE__, __LINE__, "%s: %d, alone %d",
			        paths[i] ? paths[i] : "NULL", results[i], rc);
		if (rc == 0)
			CHECK(memcmp(&attr, &attrs[i], sizeof(attr)) == 0);
	}
	for (int amode = 0; amode < 8; amode++) {
		memset(results, 0x55, n * sizeof(*results));
		CHECK_EQ(pathcache_access_many(cache, paths, n, amode, how, results), 0);
		for (size_t i = 0; i < n; i++)
			CHECK_EQ(results[i], pathcache_access(cache, paths[i], amode, how));
	}
	free(attrs);
	free(results);
}

static char long_component[300], long_path[4200];

static const char *const mixed[] = {
	"/a-directory/file",
	"/a-directory/file",
	"/a-directory/absent",
	"/a-directory/file/below",
	"/a-directory/file/",
	"/",
	"",
	NULL,
	long_component,
	long_path,
	"/loop-of-a-link/x",
	"/link-to-file",
	"/link-to-dir/file",
	"/link-to-dir/../a-directory/file",
	"/dangling-link",
	"a-directory/./file",
	"//a-directory//file",
	"/a-directory/file",
};

static const int mixed_want[] = {
	0,      0, -ENOENT, -ENOTDIR, -ENOTDIR, 0, -ENOENT, -EINVAL, -ENAMETOOLONG, -ENAMETOOLONG,
	-ELOOP, 0, 0,       0,        -ENOENT,  0, 0,       0,
};

#define MIXED (sizeof(mixed) / sizeof(mixed[0]))

static void mixed_begin(struct scene *s)
{
	scene_begin(s);
	memset(long_component, 'n', sizeof(long_component) - 1);
	memset(long_path, '/', sizeof(long_path) - 1);
	ts_dir(&s->tree, "a-directory", 0755);
	ts_file(&s->tree, "a-directory/file", 0640, "text");
	ts_symlink(&s->tree, "loop-of-a-link", "loop-of-a-link");
	ts_symlink(&s->tree, "link-to-file", "a-directory/file");
	ts_symlink(&s->tree, "link-to-dir", "/a-directory");
	ts_symlink(&s->tree, "dangling-link", "nowhere");
}

static void each_element_has_its_own_answer(void)
{
	struct scene s;

	mixed_begin(&s);
	for (int round = 0; round < 5; round++)
		both_ways(s.cache, mixed, MIXED, NULL, mixed_want);
	CHECK(ts_stats(s.cache).memo_hits > 0);
	scene_end(&s);
}

static void how_is_for_all_of_them(void)
{
	static const uint64_t flags[] = {PATHCACHE_NOFOLLOW, PATHCACHE_DIRECTORY, PATHCACHE_IN_ROOT,
	                                 PATHCACHE_BENEATH, PATHCACHE_NO_SYMLINKS};
	struct scene s;

	mixed_begin(&s);
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		struct pathcache_how how = {.size = sizeof(how), .flags = flags[i]};

		for (int round = 0; round < 4; round++)
			both_ways(s.cache, mixed, MIXED, &how, NULL);
	}
	scene_end(&s);
}

static void a_start_and_credentials_are_for_all_of_them(void)
{
	static const char *const paths[] = {"file",
	                                    "./././././././file",
	                                    "../a-directory/file",
	                                    "closed-directory/x",
	                                    "closed-directory/absent",
	                                    "closed-directory"};
	static const int want[] = {0, 0, 0, -EACCES, -EACCES, 0};
	struct pathcache_cred nobody = ts_to_cred(&ts_nobody);
	struct pathcache_how how = {.size = sizeof(how), .cred = &nobody};
	struct scene s;

	mixed_begin(&s);
	ts_dir(&s.tree, "a-directory/closed-directory", 0700);
	ts_file(&s.tree, "a-directory/closed-directory/x", 0644, "");
	how.start = ts_get(s.cache, "/a-directory");
	for (int round = 0; round < 4; round++)
		both_ways(s.cache, paths, 6, &how, want);
	/* The process may; the callers still may not. */
	for (int round = 0; round < 4; round++) {
		how.cred = round & 1 ? &nobody : NULL;
		both_ways(s.cache, paths, 6, &how, round & 1 ? want : NULL);
	}
	pathcache_put(s.cache, how.start);
	scene_end(&s);
}

/* ---- groups ------------------------------------------------------------ */

static char names[MANY][40];
static const char *list[MANY];

/* Some absent. */
static void many_begin(struct scene *s)
{
	scene_begin(s);
	ts_dir(&s->tree, "d-of-many-files", 0755);
	for (int i = 0; i < MANY; i++) {
		snprintf(names[i], sizeof(names[i]), "/d-of-many-files/%d", i);
		list[i] = names[i];
		if (i % 7)
			ts_file(&s->tree, names[i] + 1, 0644, "");
	}
}

static void more_than_one_group(void)
{
	struct scene s;

	many_begin(&s);
	for (size_t n = 1; n <= MANY; n += n < 40 ? 1 : 13)
		both_ways(s.cache, list, n, NULL, NULL);
	for (int i = 0; i < MANY; i++)
		list[i] = names[i / 10];
	both_ways(s.cache, list, MANY, NULL, NULL);
	scene_end(&s);
}

/* What is known is told, what is not is -EAGAIN, and nothing is asked. */
static void of_the_cached_ones_only(void)
{
	struct pathcache_how how = {.size = sizeof(how), .flags = PATHCACHE_CACHED};
	struct pathcache_attr attrs[MANY];
	uint64_t calls;
	int results[MANY];
	struct scene s;

	many_begin(&s);
	for (int round = 0; round < 4; round++) {
		CHECK_EQ(pathcache_stat_many(s.cache, list, MANY, &how, attrs, results), 0);
		for (int i = 0; i < MANY; i++)
			CHECK_EQ(results[i], round && i % 3 == 0 ? i % 7 ? 0 : -ENOENT : -EAGAIN);
		if (round == 0)
			for (int i = 0; i < MANY; i += 3)
				ts_stat_err(s.cache, list[i]);
		else
			CHECK_EQ(ts_stats(s.cache).backend_calls, calls);
		calls = ts_stats(s.cache).backend_calls;
	}
	CHECK_EQ(pathcache_access_many(s.cache, list, MANY, F_OK, &how, results), 0);
	for (int i = 0; i < MANY; i++)
		CHECK_EQ(results[i], i % 3 == 0 ? i % 7 ? 0 : -ENOENT : -EAGAIN);
	scene_end(&s);
}

/* A batch of misses leaves as much in memory as asking one by one. */
static void misses_are_filled(void)
{
	struct pathcache_attr attrs[MANY];
	int results[MANY];
	struct scene s;
	struct pathcache_stats stats;
	uint64_t calls;

	many_begin(&s);
	CHECK_EQ(pathcache_stat_many(s.cache, list, MANY, NULL, attrs, results), 0);
	stats = ts_stats(s.cache);
	CHECK_EQ(stats.lookups, MANY);
	CHECK_EQ(stats.hits, 0);
	calls = stats.backend_calls;
	for (int round = 0; round < 3; round++)
		CHECK_EQ(pathcache_stat_many(s.cache, list, MANY, NULL, attrs, results), 0);
	stats = ts_stats(s.cache);
	CHECK_EQ(stats.backend_calls, calls);
	CHECK_EQ(stats.lookups, 4 * MANY);
	CHECK_EQ(stats.hits, 3 * MANY);
	/* The second time is a walk, the third is not. */
	CHECK(stats.memo_hits >= MANY);
	for (int i = 0; i < MANY; i++)
		CHECK_EQ(results[i], i % 7 ? 0 : -ENOENT);
	ts_unlink(&s.tree, names[1] + 1);
	changed(s.cache, names[1]);
	ts_file(&s.tree, names[7] + 1, 0644, "");
	changed(s.cache, names[7]);
	CHECK_EQ(pathcache_stat_many(s.cache, list, MANY, NULL, attrs, results), 0);
	CHECK_EQ(results[1], -ENOENT);
	CHECK_EQ(results[7], 0);
	scene_end(&s);
}

/* In every mode, and without memos. */
static void with_and_without_memos(void)
{
	for (uint32_t mode = 0; mode <= PATHCACHE_MODE_LOCKED; mode++) {
		for (uint32_t share = 0; share <= 25; share += 25) {
			struct pathcache_options opt;
			struct scene s;

			pathcache_options_init(&opt);
			opt.mode = mode;
			opt.memo_share = share;
			scene_begin_with(&s, &opt);
			ts_dir(&s.tree, "a-directory", 0755);
			ts_file(&s.tree, "a-directory/file", 0640, "text");
			for (int round = 0; round < 4; round++)
				both_ways(s.cache, mixed, 6, NULL, mixed_want);
			CHECK_EQ(ts_stats(s.cache).memo_hits > 0,
			         mode == PATHCACHE_MODE_RCU && share);
			scene_end(&s);
		}
	}
}

/* A backend's trouble is that of the one element. */
static void trouble_of_one_is_of_no_other(void)
{
	static const char *const paths[] = {"/directory/one", "/directory/two", "/directory/three"};
	static const int want[] = {0, -EIO, 0};
	struct pathcache_attr attrs[3];
	int results[3];
	struct app app;

	app_begin(&app);
	ts_ns_add(&app.ns, "directory", S_IFDIR | 0755, NULL);
	for (int i = 0; i < 3; i++)
		ts_ns_add(&app.ns, paths[i] + 1, S_IFREG | 0644, NULL);
	ts_gate_fail(&app.ns, TS_LOOKUP, "two", EIO, 2);
	for (int round = 0; round < 2; round++) {
		CHECK_EQ(pathcache_stat_many(app.cache, paths, 3, NULL, attrs, results), 0);
		for (int i = 0; i < 3; i++)
			CHECK_EQ(results[i], want[i]);
	}
	for (int round = 0; round < 3; round++)
		both_ways(app.cache, paths, 3, NULL, (const int[]){0, 0, 0});
	app_end(&app);
}

/* ---- arguments --------------------------------------------------------- */

static void bad_arguments_are_refused_as_a_whole(void)
{
	struct pathcache_how how = {.size = sizeof(how), .flags = 1u << 20}, *none = NULL;
	struct pathcache_attr attrs[2];
	int results[2] = {77, 77};
	struct scene s;
	struct {
		struct pathcache_how how;
		char tail[8];
	} longer = {.how = {.size = sizeof(longer)}, .tail = {1}};

	mixed_begin(&s);
	CHECK_EQ(pathcache_stat_many(NULL, mixed, 2, none, attrs, results), -EINVAL);
	CHECK_EQ(pathcache_stat_many(s.cache, NULL, 2, none, attrs, results), -EINVAL);
	CHECK_EQ(pathcache_stat_many(s.cache, mixed, 2, none, NULL, results), -EINVAL);
	CHECK_EQ(pathcache_stat_many(s.cache, mixed, 2, none, attrs, NULL), -EINVAL);
	CHECK_EQ(pathcache_stat_many(s.cache, mixed, 2, &how, attrs, results), -EINVAL);
	CHECK_EQ(pathcache_access_many(NULL, mixed, 2, F_OK, none, results), -EINVAL);
	CHECK_EQ(pathcache_access_many(s.cache, NULL, 2, F_OK, none, results), -EINVAL);
	CHECK_EQ(pathcache_access_many(s.cache, mixed, 2, F_OK, none, NULL), -EINVAL);
	CHECK_EQ(pathcache_access_many(s.cache, mixed, 2, F_OK, &how, results), -EINVAL);
	CHECK_EQ(pathcache_access_many(s.cache, mixed, 2, 8, none, results), -EINVAL);
	how.flags = PATHCACHE_BENEATH | PATHCACHE_IN_ROOT;
	CHECK_EQ(pathcache_stat_many(s.cache, mixed, 2, &how, attrs, results), -EINVAL);
	CHECK_EQ(pathcache_stat_many(s.cache, mixed, 2, &longer.how, attrs, results), -E2BIG);
	CHECK_EQ(pathcache_access_many(s.cache, mixed, 2, F_OK, &longer.how, results), -E2BIG);
	CHECK_EQ(results[0], 77);
	CHECK_EQ(results[1], 77);
	CHECK_EQ(ts_stats(s.cache).lookups, 0);
	scene_end(&s);
}

static void none_at_all_is_no_mistake(void)
{
	struct pathcache_attr attr;
	int result = 77;
	struct scene s;

	mixed_begin(&s);
	CHECK_EQ(pathcache_stat_many(s.cache, mixed, 0, NULL, &attr, &result), 0);
	CHECK_EQ(pathcache_access_many(s.cache, mixed, 0, R_OK, NULL, &result), 0);
	CHECK_EQ(result, 77);
	CHECK_EQ(ts_stats(s.cache).lookups, 0);
	scene_end(&s);
}

static const struct ts_case cases[] = {
	TS_CASE(each_element_has_its_own_answer),
	TS_CASE(how_is_for_all_of_them),
	TS_CASE(a_start_and_credentials_are_for_all_of_them),
	TS_CASE(more_than_one_group),
	TS_CASE(of_the_cached_ones_only),
	TS_CASE(misses_are_filled),
	TS_CASE(with_and_without_memos),
	TS_CASE(trouble_of_one_is_of_no_other),
	TS_CASE(bad_arguments_are_refused_as_a_whole),
	TS_CASE(none_at_all_is_no_mistake),
};

int main(int argc, char **argv)
{
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
