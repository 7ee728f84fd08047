/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Names go all the time, since the cache has no room for those that are asked
 * for, while threads ask and another changes the tree and announces it: no answer
 * may be one that was true at no instant of the call. In every mode; with memos,
 * and with directories taken as complete.
 *
 * Control: where what has gone is not told to memos, one answers from a node that
 * knows nothing of what is announced. (A name that is announced and in no table
 * is told to all of them; so it has to be an object.)
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "endless.h"
#include "evict.h"
#include "flip.h"
#include "oracle.h"
#include "run.h"
#include "../support/tree.h" /* rcu_path has one too */

#define OTHERS 400u

struct scene {
	struct ts_tree tree;
	struct ts_view view;
	unsigned now;
	unsigned next;
	uint64_t budget;
};

static void changed(struct scene *scene, const char *path)
{
	CHECK_EQ(pathcache_invalidate_path(scene->view.cache, path), 0);
}

static void chmod_announced(struct scene *scene, const char *path, mode_t mode)
{
	struct pathcache_entry *entry = ts_get(scene->view.cache, path);

	ts_chmod(&scene->tree, path, mode);
	CHECK_EQ(pathcache_invalidate_entry(scene->view.cache, entry), 0);
	pathcache_put(scene->view.cache, entry);
}

/* A link leads elsewhere, directories change places, a name comes and goes, modes change. */
static void to_state(void *arg, unsigned state)
{
	struct scene *scene = arg;

	if (scene->now == state)
		return;
	scene->now = state;
	ts_swap_link(&scene->tree, "link-that-is-swapped", state ? "r2" : "r1");
	changed(scene, "link-that-is-swapped");
	ts_exchange(&scene->tree, "p/directory", "q/directory");
	changed(scene, "p/directory");
	changed(scene, "q/directory");
	if (state)
		ts_hardlink(&scene->tree, "kept", "names/name-that-comes");
	else
		ts_unlink(&scene->tree, "names/name-that-comes");
	changed(scene, "names/name-that-comes");
	chmod_announced(scene, "names/file-of-two-modes", state ? 0600 : 0644);
	chmod_announced(scene, "modes", state ? 0711 : 0755);
}

/* Names that the cache has no room for beside the others; now and then all must go. */
static void crowd(void *arg)
{
	struct scene *scene = arg;
	char path[64];

	for (unsigned i = 0; i < 50; i++) {
		unsigned n = scene->next++;

		snprintf(path, sizeof(path), "others%u/%s%u", n % 4, n % 3 ? "" : "absent",
		         n % OTHERS);
		ts_stat_err(scene->view.cache, path);
	}
	CHECK(pathcache_maintain(scene->view.cache, 20) >= 0);
	if (scene->next % 200)
		return;
	CHECK_EQ(pathcache_set_budget(scene->view.cache, scene->budget / 4), 0);
	CHECK_EQ(pathcache_set_budget(scene->view.cache, scene->budget), 0);
}

static void build(struct scene *scene)
{
	const struct ts_tree *tree = &scene->tree;
	char path[64];

	ts_dir(tree, "r1", 0755);
	ts_dir(tree, "r2", 0755);
	ts_file(tree, "r1/a", 0644, "");
	ts_file(tree, "r2/a", 0600, "");
	ts_symlink(tree, "link-that-is-swapped", "r1");
	ts_dir(tree, "p", 0755);
	ts_dir(tree, "q", 0755);
	ts_dir(tree, "p/directory", 0755);
	ts_dir(tree, "q/directory", 0711);
	ts_file(tree, "p/directory/x", 0644, "");
	ts_file(tree, "q/directory/x", 0600, "");
	ts_file(tree, "p/directory/one", 0644, "");
	ts_dir(tree, "names", 0755);
	ts_file(tree, "kept", 0640, "");
	ts_file(tree, "names/file-of-two-modes", 0644, "");
	ts_dir(tree, "modes", 0755);
	ts_file(tree, "modes/f", 0644, "");
	for (unsigned i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "others%u", i);
		ts_dir(tree, path, 0755);
		for (unsigned n = i; n < OTHERS; n += 4) {
			snprintf(path, sizeof(path), "others%u/%u", i, n);
			ts_file(tree, path, 0644, "");
		}
	}
}

#define RUNS_MAX 40u

/* Has so much gone that readers met it? */
static bool has_burnt(const struct scene *scene, uint32_t mode)
{
	struct pathcache_stats stats = ts_stats(scene->view.cache);

	return stats.evicted > 50 && (mode % 2 || stats.evicted_negative > 10);
}

/* budget: too little for all names of the tree. */
static void under_fire(uint32_t mode, uint64_t budget, uint32_t memo_share)
{
	static const struct ts_query probes[] = {
		{.path = "////////link-that-is-swapped/a"},
		{.op = TS_READLINK, .path = "link-that-is-swapped"},
		{.path = "///////////p/directory/x"},
		{.path = "///////////q/directory/x"},
		{.path = "///////////p/directory/one"},
		{.path = "q/directory"},
		{.path = "names/name-that-comes"},
		{.path = "names/name-that-never-comes"},
		{.path = "names/file-of-two-modes"},
		{.path = "/////////////////modes"},
		{.op = TS_REALPATH, .path = "link-that-is-swapped/a"},
	};
	struct pathcache_options opt;
	struct scene scene = {.budget = budget};
	struct ts_flip flip = {.view = &scene.view,
	                       .arg = &scene,
	                       .to_state = to_state,
	                       .noise = crowd,
	                       .passes_twice = 1u << 10,
	                       .memos = mode == PATHCACHE_MODE_RCU && memo_share};
	char label[64];

	memcpy(flip.probes, probes, sizeof(probes));
	pathcache_options_init(&opt);
	opt.mode = mode;
	opt.budget = budget;
	opt.memo_share = memo_share;
	opt.complete_max = mode % 2 ? 200 : 0;
	ts_tree_make(&scene.tree);
	build(&scene);
	ts_view_open(&scene.view, scene.tree.path, &opt);
	snprintf(label, sizeof(label), "mode %u, %llu KiB, memos %u%%", mode,
	         (unsigned long long)budget >> 10, memo_share);
	flip.name = label;
	/* A slow build needs more than one turn for as much to go. */
	for (unsigned run = 0; run < RUNS_MAX && (!run || !has_burnt(&scene, mode)); run++)
		ts_flip_run(&flip, ts_seconds(0.5));
	CHECK(ts_stats(scene.view.cache).evicted > 50);
	CHECK(mode % 2 || ts_stats(scene.view.cache).evicted_negative > 10);
	ts_view_close(&scene.view);
	ts_tree_remove(&scene.tree);
}

static void no_answer_of_another_time_while_names_go(void)
{
	for (uint32_t mode = PATHCACHE_MODE_RCU; mode <= PATHCACHE_MODE_LOCKED; mode++)
		under_fire(mode, UINT64_C(128) << 10, 25);
	under_fire(PATHCACHE_MODE_RCU, UINT64_C(128) << 10, 0);
	under_fire(PATHCACHE_MODE_RCU, UINT64_C(160) << 10, 50);
}

/* ---- control ------------------------------------------------------------------ */

#define LONG "f-a-name-long-enough-for-a-memo-to-be-made-of"

static uint64_t size_of(struct pathcache *cache, const char *path)
{
	struct pathcache_attr attr = {.size = 0};

	CHECK_EQ(pathcache_stat(cache, path, NULL, &attr), 0);
	return attr.size;
}

/* All that may go goes, and no memory is freed. */
static void evict_all(struct pathcache *c)
{
	uint64_t budget = pc_budget(c);

	pthread_mutex_lock(&c->lock);
	pc_evict_limit(c, 1000);
	while (pc_evict_shrink(c, true))
		;
	pc_evict_limit(c, budget);
	pthread_mutex_unlock(&c->lock);
}

/* Return: the size that is told of a file of 5 bytes. */
static uint64_t size_after_eviction(uint32_t omit)
{
	struct pathcache_entry *entry;
	struct ts_endless ns;
	struct pathcache *cache;
	uint64_t hits, size;

	ts_endless_open(&ns, &cache, NULL);
	for (int i = 0; i < 5; i++)
		CHECK_EQ(size_of(cache, "/d/" LONG), 0);
	hits = ts_stats(cache).memo_hits;
	CHECK(hits > 0);
	ts_online();
	ts_read_lock(); /* so that a memo made wrong on purpose points at good memory */
	atomic_store(&pc_evict_test_omit, omit);
	evict_all(cache);
	atomic_store(&pc_evict_test_omit, 0);
	CHECK(ts_stats(cache).evicted >= 2);
	entry = ts_get(cache, "d/" LONG);
	ns.size = 5;
	CHECK_EQ(pathcache_invalidate_entry(cache, entry), 0);
	size = size_of(cache, "/d/" LONG);
	CHECK_EQ(pathcache_invalidate_all(cache), 0);
	ts_read_unlock();
	ts_offline();
	pathcache_put(cache, entry);
	ts_endless_close(&ns, cache);
	return size;
}

static void a_memo_not_told_of_what_went_is_found_out(void)
{
	CHECK_EQ(size_after_eviction(0), 5);
	CHECK_EQ(size_after_eviction(PC_EVICT_OMIT_EPOCH), 0);
}

static const struct ts_case cases[] = {
	TS_CASE(no_answer_of_another_time_while_names_go),
	TS_CASE(a_memo_not_told_of_what_went_is_found_out),
};

int main(int argc, char **argv)
{
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
