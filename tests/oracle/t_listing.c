/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Directories whose names are all known, in a real tree under random changes
 * that are all announced, some of them while a directory is being listed. After
 * each the kernel is asked the same: about names that are there and names that
 * are not, and for whole listings.
 *
 * Controls: where a name announced does not end a listing, or one is kept that a
 * change overtook, the same run must find wrong answers.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "list.h"
#include "oracle.h"
#include "run.h"
#include "../support/tree.h" /* rcu_path has one too */

#define DIRS 4u
#define NAMES 40u
#define QUESTIONS 12u

struct random {
	struct ts_tree tree;
	struct ts_view view;
	struct pathcache *cache;
	struct pathcache_entry *dir[DIRS];
	struct ts_rng rng;
	uint64_t wrong;
	unsigned nth_file;
	bool print;
	/* While a directory is listed: when to change something, and what was told. */
	unsigned change_at, dir_of_listing;
	unsigned told[NAMES];
	unsigned ntold;
	unsigned stop_at;
	uint64_t cookie;
};

static const char *const dirs[DIRS] = {"a", "a/deep", "b", "b/deep"};

static unsigned below(struct random *r, unsigned n)
{
	return ts_below(&r->rng, n);
}

static void path_of(char *path, size_t size, unsigned dir, unsigned name)
{
	snprintf(path, size, "%s/n%u", dirs[dir], name);
}

static bool is_there(const struct random *r, unsigned dir, unsigned name)
{
	char path[64];
	struct stat st;

	path_of(path, sizeof(path), dir, name);
	return fstatat(r->tree.fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* ---- changes -------------------------------------------------------------- */

static void announce(struct random *r, unsigned dir, unsigned name)
{
	unsigned way = below(r, 40);
	char path[64];

	path_of(path, sizeof(path), dir, name);
	if (way == 0)
		pathcache_invalidate_all(r->cache);
	else if (way == 1)
		CHECK_EQ(pathcache_invalidate_subtree(r->cache, r->dir[dir]), 0);
	else if (way < 20)
		CHECK_EQ(pathcache_invalidate_path(r->cache, path), 0);
	else
		CHECK_EQ(pathcache_invalidate_name(r->cache, r->dir[dir], strrchr(path, '/') + 1),
		         0);
}

static void change_name(struct random *r, unsigned dir, unsigned name)
{
	char path[64];

	path_of(path, sizeof(path), dir, name);
	if (is_there(r, dir, name)) {
		if (unlinkat(r->tree.fd, path, 0))
			ts_rmdir(&r->tree, path);
	} else if (below(r, 3) == 0) {
		ts_dir(&r->tree, path, 0755);
	} else if (below(r, 3) == 0) {
		ts_symlink(&r->tree, path, "../b");
	} else {
		ts_file(&r->tree, path, 0644, "");
	}
	announce(r, dir, name);
}

static void move_name(struct random *r, unsigned from_dir, unsigned to_dir)
{
	unsigned from = below(r, NAMES), to = below(r, NAMES);
	char a[64], b[64];

	if (!is_there(r, from_dir, from) || is_there(r, to_dir, to))
		return;
	path_of(a, sizeof(a), from_dir, from);
	path_of(b, sizeof(b), to_dir, to);
	ts_rename(&r->tree, a, b);
	announce(r, from_dir, from);
	announce(r, to_dir, to);
}

static void change(struct random *r, unsigned dir)
{
	if (below(r, 4) == 0)
		move_name(r, dir, below(r, DIRS));
	else
		change_name(r, dir, below(r, NAMES));
}

/* ---- questions ------------------------------------------------------------- */

static void wrong(struct random *r, const char *what, const char *path)
{
	r->wrong++;
	if (r->print)
		ts_fail(__FILE__, __LINE__, "%s: %s", path, what);
}

static void ask(struct random *r)
{
	struct ts_answer ours, theirs;
	char path[80];
	struct ts_query q = {.op = below(r, 2) ? TS_STAT : TS_LSTAT, .path = path};
	const char *differs;

	path_of(path, 64, below(r, DIRS), below(r, NAMES));
	if (below(r, 8) == 0)
		strcat(path, "/below");
	ts_ask_cache(&r->view, &q, &ours);
	ts_ask_kernel(&r->view, &q, &theirs);
	differs = ts_difference(&q, &ours, &theirs);
	if (differs)
		wrong(r, differs, path);
}

static int tell(void *arg, const char *name, size_t len, uint64_t ino, uint32_t type,
                uint64_t cookie)
{
	struct random *r = arg;
	unsigned n = NAMES;

	(void)len, (void)ino, (void)type;
	if (sscanf(name, "n%u", &n) == 1 && n < NAMES)
		r->told[n]++;
	r->cookie = cookie;
	r->ntold++;
	if (r->change_at && r->ntold == r->change_at)
		change(r, r->dir_of_listing);
	return r->stop_at && r->ntold % r->stop_at == 0;
}

static void list(struct random *r)
{
	unsigned dir = below(r, DIRS), last;
	bool before[NAMES];

	for (unsigned n = 0; n < NAMES; n++)
		before[n] = is_there(r, dir, n);
	memset(r->told, 0, sizeof(r->told));
	r->ntold = 0;
	r->cookie = 0;
	r->dir_of_listing = dir;
	r->stop_at = below(r, 3) ? 0 : 1 + below(r, 9);
	r->change_at = below(r, 3) ? 0 : 1 + below(r, 12);
	do {
		last = r->ntold;
		CHECK_EQ(pathcache_readdir(r->cache, r->dir[dir], r->cookie, tell, r), 0);
	} while (r->stop_at && r->ntold != last);
	for (unsigned n = 0; n < NAMES; n++) {
		bool after = is_there(r, dir, n);

		if (before[n] && after && r->told[n] != 1)
			wrong(r, r->told[n] ? "told twice" : "left out", dirs[dir]);
		else if (!before[n] && !after && r->told[n])
			wrong(r, "told, and was never there", dirs[dir]);
	}
}

/* ---- runs ------------------------------------------------------------------ */

static void begin(struct random *r, uint64_t stream, uint32_t mode)
{
	struct pathcache_options opt;

	memset(r, 0, sizeof(*r));
	r->rng = ts_rng(stream);
	pathcache_options_init(&opt);
	opt.mode = mode;
	opt.complete_max = 1000;
	ts_tree_make(&r->tree);
	for (unsigned i = 0; i < DIRS; i++)
		ts_dir(&r->tree, dirs[i], 0755);
	ts_view_open(&r->view, r->tree.path, &opt);
	r->cache = r->view.cache;
	for (unsigned i = 0; i < DIRS; i++)
		r->dir[i] = ts_get(r->cache, dirs[i]);
}

static void end(struct random *r)
{
	for (unsigned i = 0; i < DIRS; i++)
		pathcache_put(r->cache, r->dir[i]);
	ts_view_close(&r->view);
	ts_tree_remove(&r->tree);
}

static void run(struct random *r, unsigned rounds)
{
	for (unsigned round = 0; round < rounds; round++) {
		if (below(r, 2))
			change(r, below(r, DIRS));
		if (below(r, 4) == 0)
			list(r);
		for (unsigned i = 0; i < QUESTIONS; i++)
			ask(r);
		if (round % 200 == 0)
			pathcache_maintain(r->cache, 1000);
	}
}

#define RUNS_MAX 40u

/* Were there enough listings for the answers to tell anything? */
static bool has_listed(const struct random *r)
{
	struct pathcache_stats stats = ts_stats(r->cache);

	return stats.listings_made > 10 && stats.listings_ended > 10 && stats.listed_hits > 20;
}

static void answers_are_the_kernels_while_all_is_announced(void)
{
	for (uint32_t mode = PATHCACHE_MODE_RCU; mode <= PATHCACHE_MODE_LOCKED; mode++) {
		struct pathcache_stats stats;
		struct random r;

		begin(&r, mode, mode);
		r.print = true;
		/* A shortened run may need more than one turn for as many. */
		for (unsigned i = 0; i < RUNS_MAX && (!i || !has_listed(&r)); i++)
			run(&r, ts_scale(600));
		CHECK_EQ(r.wrong, 0);
		stats = ts_stats(r.cache);
		CHECK(stats.listings_made > 10);
		CHECK(stats.listings_ended > 10);
		CHECK(stats.listed_hits > 20);
		printf("      %llu listings, %llu ended, %llu hits by them\n",
		       (unsigned long long)stats.listings_made,
		       (unsigned long long)stats.listings_ended,
		       (unsigned long long)stats.listed_hits);
		end(&r);
	}
}

static void control(uint32_t omit)
{
	struct random r;

	atomic_store(&pc_list_test_omit, omit);
	begin(&r, 100 + omit, PATHCACHE_MODE_RCU);
	for (int i = 0; i < 50 && !r.wrong; i++)
		run(&r, 200);
	atomic_store(&pc_list_test_omit, 0);
	CHECK(r.wrong != 0);
	end(&r);
}

static void a_listing_that_a_name_does_not_end_is_found_out(void)
{
	control(PC_LIST_OMIT_NAME);
}

static void a_listing_kept_though_overtaken_is_found_out(void)
{
	control(PC_LIST_OMIT_STAMP);
}

static const struct ts_case cases[] = {
	TS_CASE(answers_are_the_kernels_while_all_is_announced),
	TS_CASE(a_listing_that_a_name_does_not_end_is_found_out),
	TS_CASE(a_listing_kept_though_overtaken_is_found_out),
};

int main(int argc, char **argv)
{
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
