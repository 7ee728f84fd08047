/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Threads ask while another changes the tree back and forth and announces it:
 * no answer may be one that was true at no instant of the call. Each flip runs
 * in every mode, in a cache of the tree and in a cache of "/", with memos and
 * without.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "flip.h"
#include "oracle.h"
#include "run.h"
#include "tree.h"

struct scene {
	struct ts_tree tree;
	struct ts_view view;
	unsigned now;
};

typedef void (*to_state_fn)(void *arg, unsigned state);

static void changed(struct scene *scene, const char *name)
{
	char path[2 * PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", scene->view.whole ? scene->tree.path : "", name);
	CHECK_EQ(pathcache_invalidate_path(scene->view.cache, path), 0);
}

static void changed_object(struct scene *scene, const char *name)
{
	char path[2 * PATH_MAX];
	struct pathcache_entry *entry;

	snprintf(path, sizeof(path), "%s/%s", scene->view.whole ? scene->tree.path : "", name);
	entry = ts_get(scene->view.cache, path);
	CHECK_EQ(pathcache_invalidate_entry(scene->view.cache, entry), 0);
	pathcache_put(scene->view.cache, entry);
}

enum setting {
	RCU = PATHCACHE_MODE_RCU,
	LOCKREF = PATHCACHE_MODE_LOCKREF,
	REFWALK = PATHCACHE_MODE_REFWALK,
	LOCKED = PATHCACHE_MODE_LOCKED,
	RCU_WHOLE,
	RCU_NO_MEMOS,
	SETTINGS
};

static void open_view(struct scene *scene, enum setting setting)
{
	struct ts_view *view = &scene->view;
	struct pathcache_options opt;

	if (setting < RCU_WHOLE) {
		ts_view_open_mode(view, scene->tree.path, (uint32_t)setting);
	} else if (setting == RCU_WHOLE) {
		ts_view_open_mode(view, "/", PATHCACHE_MODE_RCU);
	} else {
		pathcache_options_init(&opt);
		opt.memo_share = 0;
		snprintf(view->label, sizeof(view->label), "rooted rcu, no memos");
		ts_view_open(view, scene->tree.path, &opt);
	}
}

/* What is common to all settings. */
struct subject {
	const char *name;
	void (*build)(struct scene *scene);
	to_state_fn to_state;
	void (*noise)(void *arg);
	const struct ts_query *probes; /* their paths are relative to the tree */
	bool new_inodes, tight;
};

static void run_in(const struct subject *subject, enum setting setting, double seconds)
{
	struct scene scene = {0};
	struct ts_flip flip = {.view = &scene.view,
	                       .arg = &scene,
	                       .to_state = subject->to_state,
	                       .noise = subject->noise,
	                       .new_inodes = subject->new_inodes,
	                       .tight = subject->tight,
	                       .memos = setting == RCU || setting == RCU_WHOLE};
	const struct ts_query *probes = subject->probes;
	char label[120], paths[TS_PROBES][2 * PATH_MAX];

	ts_tree_make(&scene.tree);
	subject->build(&scene);
	open_view(&scene, setting);
	for (unsigned i = 0; probes[i].path; i++) {
		flip.probes[i] = probes[i];
		/* What is short is not remembered. */
		snprintf(paths[i], sizeof(paths[i]), "%s/%s",
		         setting == RCU_WHOLE ? scene.tree.path : "////////////", probes[i].path);
		flip.probes[i].path = paths[i];
		if (strstr(paths[i], "/.") || probes[i].op == TS_REALPATH)
			flip.passes_twice |= 1u << i;
	}
	snprintf(label, sizeof(label), "%s, %s", subject->name, scene.view.label);
	flip.name = label;
	ts_flip_run(&flip, seconds);
	ts_view_close(&scene.view);
	ts_tree_remove(&scene.tree);
}

/* One flip in every setting. */
static void run_subject(const struct subject *subject)
{
	for (int setting = 0; setting < SETTINGS; setting++)
		run_in(subject, (enum setting)setting, ts_seconds(0.8) / SETTINGS);
}

static void run(const char *name, void (*build)(struct scene *scene), to_state_fn to_state,
                const struct ts_query *probes, bool new_inodes)
{
	run_subject(&(struct subject){.name = name,
	                              .build = build,
	                              .to_state = to_state,
	                              .probes = probes,
	                              .new_inodes = new_inodes});
}

/* ---- two directories change places ------------------------------------- */

static void build_dirs(struct scene *scene)
{
	const struct ts_tree *tree = &scene->tree;

	ts_dir(tree, "p", 0755);
	ts_dir(tree, "q", 0755);
	ts_dir(tree, "p/a", 0755);
	ts_dir(tree, "q/b", 0711);
	ts_file(tree, "p/a/x", 0644, "1");
	ts_file(tree, "q/b/x", 0600, "22");
	ts_file(tree, "p/a/one", 0644, "");
	ts_file(tree, "q/b/two", 0644, "");
	ts_dir(tree, "p/a/deep", 0755);
	ts_file(tree, "p/a/deep/y", 0644, "");
	ts_file(tree, "p/here", 0644, "");
	ts_file(tree, "q/here", 0600, "");
	ts_symlink(tree, "in", "p/a");
}

static void exchange_dirs(void *arg, unsigned state)
{
	struct scene *scene = arg;

	if (scene->now == state)
		return;
	scene->now = state;
	ts_exchange(&scene->tree, "p/a", "q/b");
	changed(scene, "p/a");
	changed(scene, "q/b");
}

static void exchanged_directories(void)
{
	static const struct ts_query probes[] = {
		{.path = "p/a/x"},
		{.path = "q/b/x"},
		{.path = "p/a/one"},
		{.path = "p/a/two"},
		{.path = "in/x"},
		{.path = "in/../here"},
		{.path = "q/b/deep/../../here"},
		{.path = "q/b/deep/y"},
		{.op = TS_REALPATH, .path = "q/b/deep/y"},
		{.op = TS_ACCESS, .amode = R_OK, .path = "p/a/x", .cred = &ts_nobody},
		{.path = NULL},
	};

	run("exchanged directories", build_dirs, exchange_dirs, probes, false);
}

/* ---- a directory is moved and comes back ------------------------------- */

static void move_dir(void *arg, unsigned state)
{
	struct scene *scene = arg;
	struct stat st;

	if ((fstatat(scene->tree.fd, "p/a", &st, AT_SYMLINK_NOFOLLOW) != 0) == (state == 1))
		return;
	ts_rename(&scene->tree, state ? "p/a" : "q/a", state ? "q/a" : "p/a");
	changed(scene, "p/a");
	changed(scene, "q/a");
}

static void moved_directory(void)
{
	static const struct ts_query probes[] = {
		{.path = "p/a/x"},
		{.path = "q/a/x"},
		{.path = "p/a/deep/../../here"},
		{.path = "q/a/deep/../../here"},
		{.path = "in/deep/y"},
		{.op = TS_REALPATH, .path = "in/deep"},
		{.path = "p/here"},
		{.path = "p/a/absent"},
		{.path = NULL},
	};

	run("moved directory", build_dirs, move_dir, probes, false);
}

/* ---- a link is swapped (A1, A2) ---------------------------------------- */

static void build_releases(struct scene *scene)
{
	const struct ts_tree *tree = &scene->tree;

	ts_dir(tree, "r1", 0755);
	ts_dir(tree, "r2", 0755);
	ts_file(tree, "r1/a", 0644, "");
	ts_file(tree, "r2/a", 0600, "");
	ts_file(tree, "r1/only1", 0644, "");
	ts_file(tree, "r2/only2", 0644, "");
	ts_symlink(tree, "cur", "r1");
	ts_symlink(tree, "via", "cur/a");
}

static void swap_link(void *arg, unsigned state)
{
	struct scene *scene = arg;

	ts_swap_link(&scene->tree, "cur", state ? "r2" : "r1");
	changed(scene, "cur");
}

static void swapped_link(void)
{
	static const struct ts_query probes[] = {
		{.path = "cur/a"},
		{.path = "via"},
		{.path = "cur/only1"},
		{.path = "cur/only2"},
		{.path = "cur/../cur/a"},
		{.path = "cur"},
		{.op = TS_READLINK, .path = "cur"},
		{.op = TS_REALPATH, .path = "via"},
		{.op = TS_LSTAT, .path = "via"},
		{.path = NULL},
	};

	run("swapped link", build_releases, swap_link, probes, false);
}

/* ---- a name comes and goes (K4) ---------------------------------------- */

static void build_name(struct scene *scene)
{
	const struct ts_tree *tree = &scene->tree;

	ts_dir(tree, "d", 0755);
	ts_file(tree, "keep", 0640, "kept");
	ts_symlink(tree, "to", "d/n");
	ts_dir(tree, "t", 0755);
	ts_file(tree, "t/in", 0644, "");
}

static void link_unlink(void *arg, unsigned state)
{
	struct scene *scene = arg;

	if (state)
		ts_hardlink(&scene->tree, "keep", "d/n");
	else if (faccessat(scene->tree.fd, "d/n", F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		ts_unlink(&scene->tree, "d/n");
	changed(scene, "d/n");
	changed(scene, "keep");
}

static void create_unlink(void *arg, unsigned state)
{
	struct scene *scene = arg;

	if (state)
		ts_file(&scene->tree, "d/n", 0640, "new");
	else if (faccessat(scene->tree.fd, "d/n", F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		ts_unlink(&scene->tree, "d/n");
	changed(scene, "d/n");
}

static const struct ts_query name_probes[] = {
	{.path = "d/n"},
	{.path = "to"},
	{.path = "d/n/x"},
	{.path = "d/n/"},
	{.op = TS_LSTAT, .path = "to"},
	{.op = TS_ACCESS, .amode = R_OK, .path = "d/n", .cred = &ts_nobody},
	{.path = "d/other"},
	{.op = TS_REALPATH, .path = "to"},
	{.path = "d/../keep"},
	{.path = NULL},
};

static void linked_and_unlinked_name(void)
{
	run("linked and unlinked name", build_name, link_unlink, name_probes, false);
}

static void created_and_removed_file(void)
{
	run("created and removed file", build_name, create_unlink, name_probes, true);
}

/* K8: a symlink takes the place of nothing. */
static void symlink_unlink(void *arg, unsigned state)
{
	struct scene *scene = arg;

	if (state)
		ts_symlink(&scene->tree, "d/n", "../t");
	else if (faccessat(scene->tree.fd, "d/n", F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		ts_unlink(&scene->tree, "d/n");
	changed(scene, "d/n");
}

static void created_and_removed_symlink(void)
{
	static const struct ts_query probes[] = {
		{.path = "d/n"},
		{.path = "d/n/in"},
		{.path = "d/n/../keep"},
		{.path = "to/in"},
		{.op = TS_LSTAT, .path = "d/n"},
		{.op = TS_READLINK, .path = "d/n"},
		{.op = TS_REALPATH, .path = "to"},
		{.path = "d/n/in", .flags = PATHCACHE_NO_SYMLINKS},
		{.path = NULL},
	};

	run("created and removed symlink", build_name, symlink_unlink, probes, true);
}

/* A11: the type of a name changes. */
static void file_or_directory(void *arg, unsigned state)
{
	struct scene *scene = arg;
	struct stat st;

	if (fstatat(scene->tree.fd, "d/n", &st, AT_SYMLINK_NOFOLLOW) != 0) {
		ts_file(&scene->tree, "d/n", 0644, "");
		ts_dir(&scene->tree, "d/m", 0755);
		ts_file(&scene->tree, "d/m/x", 0644, "");
	}
	if (fstatat(scene->tree.fd, "d/n", &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISDIR(st.st_mode) != (state == 1))
		ts_exchange(&scene->tree, "d/n", "d/m");
	changed(scene, "d/n");
	changed(scene, "d/m");
}

static void a_file_and_a_directory_change_places(void)
{
	static const struct ts_query probes[] = {
		{.path = "d/n"},
		{.path = "d/n/x"},
		{.path = "d/m/x"},
		{.path = "d/n/"},
		{.path = "to/x"},
		{.path = "d/m/../n"},
		{.path = "d/n", .flags = PATHCACHE_DIRECTORY},
		{.path = NULL},
	};

	run("file and directory change places", build_name, file_or_directory, probes, false);
}

/* ---- permissions ------------------------------------------------------- */

static void build_modes(struct scene *scene)
{
	const struct ts_tree *tree = &scene->tree;

	ts_dir(tree, "d", 0700);
	ts_dir(tree, "d/e", 0755);
	ts_file(tree, "d/e/f", 0600, "");
}

static void change_modes(void *arg, unsigned state)
{
	struct scene *scene = arg;

	ts_chmod(&scene->tree, "d", state ? 0711 : 0700);
	changed_object(scene, "d");
}

static void changed_permissions(void)
{
	static const struct ts_query probes[] = {
		{.path = "d", .cred = &ts_nobody},
		{.path = "d/e", .cred = &ts_nobody},
		{.path = "d/e/f", .cred = &ts_nobody},
		{.path = "d/e/absent", .cred = &ts_nobody},
		{.path = "d/.", .cred = &ts_nobody},
		{.op = TS_ACCESS, .amode = X_OK, .path = "d", .cred = &ts_nobody},
		{.op = TS_ACCESS, .amode = R_OK, .path = "d/e/f", .cred = &ts_nobody},
		{.path = "d/e/f"},
		{.path = NULL},
	};
	char here[PATH_MAX];
	struct ts_tree tree;

	ts_tree_make(&tree);
	snprintf(here, sizeof(here), "%s", tree.path);
	if (!ts_nobody_reaches(here))
		ts_skip("needs root, and a TMPDIR that uid 65534 can search");
	else
		run("changed permissions", build_modes, change_modes, probes, false);
	ts_tree_remove(&tree);
}

/* ---- long chains under a storm ----------------------------------------- */

static void build_deep(struct scene *scene)
{
	char path[200] = "d0";

	for (int i = 1; i <= 12; i++) {
		ts_dir(&scene->tree, path, 0755);
		snprintf(path + strlen(path), sizeof(path) - strlen(path), "/d%d", i);
	}
	ts_file(&scene->tree, path, 0644, "");
	ts_symlink(&scene->tree, "l", "d0/d1/d2/d3");
}

/* K6, K15: everything is forgotten all the time and nothing changes. */
static void forget(void *arg, unsigned state)
{
	struct scene *scene = arg;

	if (state)
		pathcache_invalidate_all(scene->view.cache);
	else
		pathcache_invalidate_subtree(scene->view.cache, NULL);
	pathcache_maintain(scene->view.cache, 32);
}

static void an_invalidation_storm_changes_no_answer(void)
{
	static const struct ts_query probes[] = {
		{.path = "d0/d1/d2/d3/d4/d5/d6/d7/d8/d9/d10/d11/d12"},
		{.path = "d0/d1/d2/d3/d4/d5/d6/d7/d8/d9/d10/d11/d12/x"},
		{.path = "l/d4/d5/d6/../../../d4/absent"},
		{.path = "l/../d3/d4"},
		{.op = TS_REALPATH, .path = "l/d4/d5/../d5/d6"},
		{.op = TS_LSTAT, .path = "l"},
		{.op = TS_READLINK, .path = "l"},
		{.path = NULL},
	};

	run("invalidation storm", build_deep, forget, probes, false);
}

/* ---- slots are handed out again at once --------------------------------- */

/* So few names that each one killed gives its slot to the next one found. */
static void build_few(struct scene *scene)
{
	const struct ts_tree *tree = &scene->tree;

	ts_dir(tree, "d", 0755);
	ts_file(tree, "d/a", 0600, "");
	ts_file(tree, "d/b", 0644, "");
	ts_file(tree, "d/z", 0622, "");
	ts_dir(tree, "x", 0755);
	ts_dir(tree, "y", 0755);
	ts_file(tree, "x/in", 0640, "");
	ts_file(tree, "y/in", 0604, "");
	ts_dir(tree, "e", 0755);
	ts_file(tree, "e/n", 0666, "");
	ts_symlink(tree, "l", "d");
}

static void exchange_few(void *arg, unsigned state)
{
	struct scene *scene = arg;

	if (scene->now == state)
		return;
	scene->now = state;
	ts_exchange(&scene->tree, "d/a", "d/b");
	changed(scene, "d/a");
	changed(scene, "d/b");
	ts_exchange(&scene->tree, "x", "y");
	changed(scene, "x");
	changed(scene, "y");
	ts_rename(&scene->tree, state ? "d/z" : "d/w", state ? "d/w" : "d/z");
	changed(scene, "d/z");
	changed(scene, "d/w");
}

/* A second thread changes names that nobody asks about, and finds them again. */
static void rename_others(void *arg)
{
	struct scene *scene = arg;
	char path[2 * PATH_MAX];

	for (int i = 0; i < 2; i++) {
		const char *from = i ? "e/m" : "e/n", *to = i ? "e/n" : "e/m";

		ts_rename(&scene->tree, from, to);
		changed(scene, from);
		changed(scene, to);
		snprintf(path, sizeof(path), "%s/%s", scene->view.whole ? scene->tree.path : "",
		         to);
		CHECK_EQ(ts_stat_err(scene->view.cache, path), 0);
	}
	CHECK(pathcache_maintain(scene->view.cache, 8) >= 0);
}

static void slots_handed_out_again_at_once(void)
{
	static const struct ts_query probes[] = {
		{.path = "d/a"},
		{.path = "d/b"},
		{.path = "x/in"},
		{.path = "y/in"},
		{.path = "l/a"},
		{.path = "d/z"},
		{.path = "d/w"},
		{.op = TS_ACCESS, .amode = F_OK, .path = "l/z"},
		{.op = TS_READLINK, .path = "l"},
		{.path = "e"},
		{.path = NULL},
	};

	static const struct subject subject = {.name = "slots reused",
	                                       .build = build_few,
	                                       .to_state = exchange_few,
	                                       .noise = rename_others,
	                                       .probes = probes,
	                                       .tight = true};

	run_in(&subject, RCU, ts_seconds(0.6));
	run_in(&subject, RCU_WHOLE, ts_seconds(0.4));
	run_in(&subject, RCU_NO_MEMOS, ts_seconds(0.2));
}

static const struct ts_case cases[] = {
	TS_CASE(exchanged_directories),
	TS_CASE(moved_directory),
	TS_CASE(swapped_link),
	TS_CASE(linked_and_unlinked_name),
	TS_CASE(created_and_removed_file),
	TS_CASE(created_and_removed_symlink),
	TS_CASE(a_file_and_a_directory_change_places),
	TS_CASE(changed_permissions),
	TS_CASE(an_invalidation_storm_changes_no_answer),
	TS_CASE(slots_handed_out_again_at_once),
};

int main(int argc, char **argv)
{
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
