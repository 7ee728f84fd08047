/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Flipping a tree under threads that ask shows a memo that relies on too
 * little: the run that finds nothing wrong with the library finds wrong answers
 * once a kind of dependency is left out. Both objects are held, so that a memo
 * made wrong on purpose still points at good memory.
 */
#include <stdio.h>
#include <string.h>

#include "flip.h"
#include "memo.h"
#include "oracle.h"
#include "run.h"
#include "../support/tree.h" /* rcu_path has one too */

struct scene {
	struct ts_tree tree;
	struct ts_view view;
	const char *one, *two;
	unsigned now;
};

static void exchange(void *arg, unsigned state)
{
	struct scene *scene = arg;

	if (scene->now == state)
		return;
	scene->now = state;
	ts_exchange(&scene->tree, scene->one, scene->two);
	CHECK_EQ(pathcache_invalidate_path(scene->view.cache, scene->one), 0);
	CHECK_EQ(pathcache_invalidate_path(scene->view.cache, scene->two), 0);
}

/* Return: how many answers were wrong while one and two changed places. */
static uint64_t violations(const char *one, const char *two, uint32_t omit)
{
	struct scene scene = {.one = one, .two = two};
	struct ts_flip flip = {.name = omit ? "something left out" : "all in place",
	                       .view = &scene.view,
	                       .arg = &scene,
	                       .to_state = exchange,
	                       .probes = {{.path = "directory/one"},
	                                  {.path = "directory/two"},
	                                  {.path = "directory/f-one/x"},
	                                  {.path = "directory/f-two/x"}},
	                       .memos = true,
	                       .control = omit != 0};
	struct pathcache_entry *held[2];
	uint64_t n;

	ts_tree_make(&scene.tree);
	ts_dir(&scene.tree, "directory", 0755);
	ts_file(&scene.tree, "directory/one", 0600, "");
	ts_file(&scene.tree, "directory/two", 0644, "");
	ts_dir(&scene.tree, "directory/f-one", 0755);
	ts_dir(&scene.tree, "directory/f-two", 0755);
	ts_file(&scene.tree, "directory/f-one/x", 0600, "");
	ts_file(&scene.tree, "directory/f-two/x", 0644, "");
	ts_view_open_mode(&scene.view, scene.tree.path, PATHCACHE_MODE_RCU);
	held[0] = ts_get(scene.view.cache, one);
	held[1] = ts_get(scene.view.cache, two);
	atomic_store(&rp_memo_test_omit, omit);
	n = ts_flip_run(&flip, ts_seconds(0.4));
	atomic_store(&rp_memo_test_omit, 0);
	pathcache_put(scene.view.cache, held[0]);
	pathcache_put(scene.view.cache, held[1]);
	ts_view_close(&scene.view);
	ts_tree_remove(&scene.tree);
	return n;
}

static void files_change_places(void)
{
	CHECK_EQ(violations("directory/one", "directory/two", 0), 0);
	CHECK(violations("directory/one", "directory/two", RP_DEP_LEAF) > 0);
}

static void directories_change_places(void)
{
	CHECK_EQ(violations("directory/f-one", "directory/f-two", 0), 0);
	CHECK(violations("directory/f-one", "directory/f-two", RP_DEP_DIR) > 0);
}

static const struct ts_case cases[] = {
	TS_CASE(files_change_places),
	TS_CASE(directories_change_places),
};

int main(int argc, char **argv)
{
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
