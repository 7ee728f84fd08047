/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Faults of others: permission and confinement. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scene.h"

static const struct ts_cred alice = {.uid = 1000, .gid = 1000},
			    bob = {.uid = 1001, .gid = 1001, .ngroups = 1, .groups = {5000}};

/* E1, on a backend, so that it needs no privilege. */
static void a_directory_closed_meanwhile_is_closed_for_all(void)
{
	struct ts_object *dir, *file;
	struct app app;

	app_begin(&app);
	dir = ts_ns_add(&app.ns, "d", S_IFDIR | 0755, NULL);
	file = ts_ns_add(&app.ns, "d/f", S_IFREG | 0644, NULL);
	dir->uid = file->uid = 1000;
	CHECK_EQ(ts_stat_as(app.cache, "d/f", &alice), 0);
	CHECK_EQ(ts_stat_as(app.cache, "d/f", &bob), 0);
	ts_ns_set(&app.ns, "d", 0700, 0);
	changed_object(app.cache, "d");
	for (int hot = 0; hot < 2; hot++) {
		CHECK_EQ(ts_stat_as(app.cache, "d/f", &alice), 0);
		CHECK_EQ(ts_stat_as(app.cache, "d/f", &bob), -EACCES);
		CHECK_EQ(ts_stat_as(app.cache, "d/absent", &bob), -EACCES);
		CHECK_EQ(ts_stat_as(app.cache, "d/absent", &alice), -ENOENT);
	}
	ts_ns_set(&app.ns, "d", 0711, 0);
	changed(app.cache, "d");
	CHECK_EQ(ts_stat_as(app.cache, "d/f", &bob), 0);
	app_end(&app);
}

/* E1 */
static void a_directory_closed_meanwhile_is_closed_on_a_real_tree(void)
{
	struct scene s;

	scene_begin(&s);
	if (!ts_nobody_reaches(s.tree.path)) {
		ts_skip("needs root, and a TMPDIR that uid 65534 can search");
		scene_end(&s);
		return;
	}
	ts_dir(&s.tree, "d", 0755);
	ts_file(&s.tree, "d/f", 0644, "");
	CHECK_EQ(ts_stat_err(s.cache, "d/f"), 0);
	CHECK_EQ(ts_stat_as(s.cache, "d/f", &ts_nobody), 0);
	for (int round = 0; round < 3; round++) {
		ts_chmod(&s.tree, "d", 0700);
		if (round == 0)
			changed(s.cache, "d");
		else if (round == 1)
			changed_object(s.cache, "d");
		else
			CHECK_EQ(pathcache_invalidate_all(s.cache), 0);
		for (int hot = 0; hot < 2; hot++) {
			CHECK_EQ(ts_stat_err(s.cache, "d/f"), 0);
			CHECK_EQ(ts_stat_as(s.cache, "d/f", &ts_nobody), -EACCES);
			AGREE(&s.view, .path = "d/f", .cred = &ts_nobody);
		}
		ts_chmod(&s.tree, "d", 0755);
		changed(s.cache, "d");
		CHECK_EQ(ts_stat_as(s.cache, "d/f", &ts_nobody), 0);
	}
	scene_end(&s);
}

/* E3 */
static void a_hit_checks_the_file_for_each_caller(void)
{
	struct pathcache_cred pa = ts_to_cred(&alice), pb = ts_to_cred(&bob);
	struct pathcache_how how_a = {.size = sizeof(how_a), .cred = &pa},
			     how_b = {.size = sizeof(how_b), .cred = &pb};
	struct ts_object *file;
	struct app app;

	app_begin(&app);
	file = ts_ns_add(&app.ns, "f", S_IFREG | 0600, NULL);
	file->uid = 1000;
	file->gid = 5000;
	for (int hot = 0; hot < 2; hot++) {
		CHECK_EQ(pathcache_access(app.cache, "f", R_OK | W_OK, &how_a), 0);
		CHECK_EQ(pathcache_access(app.cache, "f", X_OK, &how_a), -EACCES);
		CHECK_EQ(pathcache_access(app.cache, "f", R_OK, &how_b), -EACCES);
		CHECK_EQ(pathcache_access(app.cache, "f", F_OK, &how_b), 0);
	}
	ts_ns_set(&app.ns, "f", 0640, 0);
	changed_object(app.cache, "f");
	CHECK_EQ(pathcache_access(app.cache, "f", R_OK, &how_b), 0);
	CHECK_EQ(pathcache_access(app.cache, "f", W_OK, &how_b), -EACCES);
	/* The owner's bits rule the owner, also where the others' would give more. */
	ts_ns_set(&app.ns, "f", 0077, 0);
	changed_object(app.cache, "f");
	CHECK_EQ(pathcache_access(app.cache, "f", R_OK, &how_a), -EACCES);
	app_end(&app);
}

/* E3: whoever asks first, for whatever, after the attributes have been forgotten. */
static void a_cold_answer_is_judged_as_a_hot_one(void)
{
	static const mode_t modes[] = {0007, 0070, 0700, 0755, 0644, 0000, 0111};
	struct scene s;

	scene_begin(&s);
	if (!ts_nobody_reaches(s.tree.path)) {
		ts_skip("needs root, and a TMPDIR that uid 65534 can search");
		scene_end(&s);
		return;
	}
	ts_file(&s.tree, "f", 0644, "");
	ts_dir(&s.tree, "d", 0755);
	ts_chown(&s.tree, "f", 1000, 5000);
	ts_chown(&s.tree, "d", 1000, 5000);
	for (unsigned i = 0; i < 7 * 3 * 4 * 8 * 2; i++) {
		struct ts_cred cred = i / 7 % 3 == 0 ? alice : bob;
		const char *path = i / (7 * 3 * 4 * 8) ? "d" : "f";

		if (i / 7 % 3 == 2)
			cred.ngroups = 0;
		cred.caps = i / 21 % 4;
		ts_chmod(&s.tree, path, modes[i % 7]);
		changed(s.cache, path);
		for (int hot = 0; hot < 2; hot++)
			AGREE(&s.view, .op = TS_ACCESS, .amode = (int)(i / 84 % 8), .path = path,
			      .cred = &cred);
	}
	scene_end(&s);
}

/* E2 */
static void an_answer_for_one_caller_is_not_told_to_another(void)
{
	struct app app;

	for (int order = 0; order < 2; order++) {
		const struct ts_cred *first = order ? &bob : &alice,
				     *second = order ? &alice : &bob;

		app_begin(&app);
		ts_ns_add(&app.ns, "d", S_IFDIR | 0755, NULL);
		ts_ns_add(&app.ns, "d/f", S_IFREG | 0644, NULL);
		ts_ns_only_for(&app.ns, "d", 1000);
		for (int hot = 0; hot < 3; hot++) {
			CHECK_EQ(ts_stat_as(app.cache, "d/f", first), order ? -ENOENT : 0);
			CHECK_EQ(ts_stat_as(app.cache, "d/f", second), order ? 0 : -ENOENT);
			CHECK_EQ(ts_stat_as(app.cache, "d", &bob), -ENOENT);
			CHECK_EQ(ts_stat_as(app.cache, "d", &alice), 0);
		}
		app_end(&app);
	}
}

/* E2, while the first caller's question is still under way. */
static void a_private_answer_is_not_handed_to_those_who_waited(void)
{
	struct asker a = {.cred = &alice}, b = {.cred = &bob};
	struct ts_gate *gate;
	struct app app;

	app_begin(&app);
	ts_ns_add(&app.ns, "f", S_IFREG | 0644, NULL);
	ts_ns_only_for(&app.ns, "f", 1000);
	gate = ts_gate_close(&app.ns, TS_GATE_AFTER, TS_LOOKUP, "f");
	asker_start(&a, app.cache, "f");
	CHECK(ts_gate_wait(&app.ns, gate, 1));
	asker_start(&b, app.cache, "f");
	ts_sleep_us(20000);
	ts_gate_open(&app.ns, gate);
	CHECK_EQ(asker_finish(&a), 0);
	CHECK_EQ(asker_finish(&b), -ENOENT);
	app_end(&app);
}

/* E2: whose permission only the backend can judge. */
static void a_backend_that_judges_is_asked(void)
{
	struct ts_object *dir, *file;
	struct pathcache_cred pb = ts_to_cred(&bob);
	struct pathcache_how how = {.size = sizeof(how), .cred = &pb};
	struct app app;

	app_begin(&app);
	dir = ts_ns_add(&app.ns, "d", S_IFDIR | 0777, NULL);
	file = ts_ns_add(&app.ns, "d/f", S_IFREG | 0777, NULL);
	dir->uid = 1000;
	file->uid = 1001;
	dir->reply_flags = PATHCACHE_REPLY_ASK_ACCESS;
	for (int hot = 0; hot < 2; hot++) {
		CHECK_EQ(ts_stat_as(app.cache, "d/f", &alice), 0);
		CHECK_EQ(ts_stat_as(app.cache, "d/f", &bob), -EACCES);
		CHECK_EQ(ts_stat_as(app.cache, "d/absent", &bob), -EACCES);
		CHECK_EQ(pathcache_access(app.cache, "d", R_OK, &how), -EACCES);
	}
	CHECK(ts_stats(app.cache).asked_access > 0);
	app_end(&app);
}

static bool same_file(int fd, const struct ts_tree *tree, const char *path)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_ino == ts_ino(tree, path);
}

/*
 * E5: the tree is changed behind the cache's back, or announced. Root is a
 * directory beside which the secret lies.
 */
static void a_swapped_component_never_leads_outside(void)
{
	for (int announced = 0; announced < 2; announced++) {
		struct ts_view view = {0};
		struct ts_tree tree;
		char root[PATH_MAX + 8], outside[PATH_MAX + 8];
		int fd;

		ts_tree_make(&tree);
		ts_dir(&tree, "in", 0755);
		ts_dir(&tree, "in/d", 0755);
		ts_file(&tree, "in/d/f", 0644, "inside");
		ts_dir(&tree, "out", 0755);
		ts_file(&tree, "out/f", 0644, "secret");
		snprintf(root, sizeof(root), "%s/in", tree.path);
		snprintf(outside, sizeof(outside), "%s/out", tree.path);
		ts_view_open(&view, root, NULL);
		CHECK_EQ(ts_stat_err(view.cache, "d/f"), 0);
		ts_rename(&tree, "in/d", "in/old");
		ts_symlink(&tree, "in/d", announced ? outside : "../out");
		if (announced)
			changed(view.cache, "d");
		for (int hot = 0; hot < 2; hot++) {
			fd = pathcache_open_fd(view.cache, "d/f", O_RDONLY, NULL);
			CHECK(fd < 0 || !same_file(fd, &tree, "out/f"));
			if (fd >= 0)
				close(fd);
			if (announced)
				AGREE(&view, .path = "d/f");
			CHECK(ts_cache_ino(view.cache, "d/f") != ts_ino(&tree, "out/f"));
		}
		ts_unlink(&tree, "in/old/f");
		ts_symlink(&tree, "in/old/f", "../../out/f");
		fd = pathcache_open_fd(view.cache, "d/f", O_RDONLY, NULL);
		CHECK(fd < 0 || !same_file(fd, &tree, "out/f"));
		if (fd >= 0)
			close(fd);
		fd = pathcache_open_fd(view.cache, "old/f", O_RDONLY, NULL);
		CHECK(fd < 0 || !same_file(fd, &tree, "out/f"));
		if (fd >= 0)
			close(fd);
		ts_view_close(&view);
		ts_tree_remove(&tree);
	}
}

/* E5: the last component becomes a link to the outside after it was looked up as a file. */
static void a_file_swapped_for_a_link_is_not_opened_through_it(void)
{
	struct pathcache_how how = {.size = sizeof(how), .flags = PATHCACHE_BENEATH};
	struct ts_view view = {0};
	struct ts_tree tree;
	char outside[PATH_MAX + 8];
	int fd;

	ts_tree_make(&tree);
	ts_file(&tree, "f", 0644, "inside");
	ts_dir(&tree, "out", 0755);
	ts_file(&tree, "out/f", 0644, "secret");
	snprintf(outside, sizeof(outside), "%s/out/f", tree.path);
	ts_view_open(&view, "/", NULL);
	how.start = ts_get(view.cache, tree.path);
	CHECK_EQ(pathcache_stat(view.cache, "f", &how, &(struct pathcache_attr){0}), 0);
	ts_unlink(&tree, "f");
	ts_symlink(&tree, "f", outside);
	fd = pathcache_open_fd(view.cache, "f", O_RDONLY, &how);
	CHECK(fd < 0);
	if (fd >= 0)
		close(fd);
	CHECK_EQ(pathcache_invalidate_name(view.cache, how.start, "f"), 0);
	CHECK_EQ(pathcache_open_fd(view.cache, "f", O_RDONLY, &how), -EXDEV);
	pathcache_put(view.cache, how.start);
	ts_view_close(&view);
	ts_tree_remove(&tree);
}

/* E6 */
static void a_negative_reveals_nothing_to_those_who_may_not_search(void)
{
	struct ts_object *dir;
	struct app app;

	app_begin(&app);
	dir = ts_ns_add(&app.ns, "noexec", S_IFDIR | 0700, NULL);
	dir->uid = 1000;
	ts_ns_add(&app.ns, "noexec/there", S_IFREG | 0644, NULL);
	for (int hot = 0; hot < 3; hot++) {
		CHECK_EQ(ts_stat_as(app.cache, "noexec/absent", &bob), -EACCES);
		CHECK_EQ(ts_stat_as(app.cache, "noexec/there", &bob), -EACCES);
		CHECK_EQ(ts_stat_as(app.cache, "noexec/.", &bob), -EACCES);
		CHECK_EQ(ts_stat_as(app.cache, "noexec/", &bob), 0);
		if (hot == 0)
			continue;
		CHECK_EQ(ts_stat_as(app.cache, "noexec/absent", &alice), -ENOENT);
		CHECK_EQ(ts_stat_as(app.cache, "noexec/there", &alice), 0);
	}
	app_end(&app);
}

static const struct ts_case cases[] = {
	TS_CASE(a_directory_closed_meanwhile_is_closed_for_all),
	TS_CASE(a_directory_closed_meanwhile_is_closed_on_a_real_tree),
	TS_CASE(a_hit_checks_the_file_for_each_caller),
	TS_CASE(a_cold_answer_is_judged_as_a_hot_one),
	TS_CASE(an_answer_for_one_caller_is_not_told_to_another),
	TS_CASE(a_private_answer_is_not_handed_to_those_who_waited),
	TS_CASE(a_backend_that_judges_is_asked),
	TS_CASE(a_swapped_component_never_leads_outside),
	TS_CASE(a_file_swapped_for_a_link_is_not_opened_through_it),
	TS_CASE(a_negative_reveals_nothing_to_those_who_may_not_search),
};

int main(int argc, char **argv)
{
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
