/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Faults of kernels' own lockless walks, where this library can have them too. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "flip.h"
#include "scene.h"

/* ---- mounts ------------------------------------------------------------ */

struct mounts {
	struct scene s;
	char base[PATH_MAX];
	bool mounted;
};

static bool mounts_begin(struct mounts *m)
{
	if (!ts_isolated()) {
		ts_skip("cannot mount");
		return false;
	}
	memset(m, 0, sizeof(*m));
	scene_begin(&m->s);
	snprintf(m->base, sizeof(m->base), "%s", m->s.tree.path);
	ts_dir(&m->s.tree, "d", 0755);
	ts_dir(&m->s.tree, "d/sub", 0755);
	ts_file(&m->s.tree, "d/x", 0644, "below");
	ts_dir(&m->s.tree, "q", 0755);
	ts_dir(&m->s.tree, "q/e", 0711);
	ts_dir(&m->s.tree, "q/e/sub", 0755);
	ts_file(&m->s.tree, "q/e/x", 0600, "on top");
	ts_file(&m->s.tree, "f", 0644, "root");
	ts_file(&m->s.tree, "q/f", 0600, "q");
	return true;
}

static void bind_mount(const char *base, const char *from, const char *to)
{
	char a[2 * PATH_MAX], b[2 * PATH_MAX];

	snprintf(a, sizeof(a), "%s/%s", base, from);
	snprintf(b, sizeof(b), "%s/%s", base, to);
	REQUIRE(mount(a, b, NULL, MS_BIND, NULL) == 0);
}

static void move_mount_to(const char *base, const char *from, const char *to)
{
	char a[2 * PATH_MAX], b[2 * PATH_MAX];

	snprintf(a, sizeof(a), "%s/%s", base, from);
	snprintf(b, sizeof(b), "%s/%s", base, to);
	REQUIRE(mount(a, b, NULL, MS_MOVE, NULL) == 0);
}

static void detach(const char *base, const char *path)
{
	char a[2 * PATH_MAX];

	snprintf(a, sizeof(a), "%s/%s", base, path);
	REQUIRE(umount2(a, MNT_DETACH) == 0);
}

static void mount_or_not(void *arg, unsigned state)
{
	struct mounts *m = arg;

	if (m->mounted == (state == 1))
		return;
	m->mounted = state == 1;
	if (state)
		bind_mount(m->base, "q/e", "d");
	else
		detach(m->base, "d");
	changed(m->s.cache, "d");
}

/* K1 */
static void what_is_there_mounted_or_not_is_never_absent(void)
{
	struct mounts m;
	struct ts_flip flip = {.name = "mount and unmount",
	                       .view = &m.s.view,
	                       .arg = &m,
	                       .to_state = mount_or_not,
	                       .passes_twice = 0x66,
	                       .probes = {{.path = "d/x"},
	                                  {.path = "d/sub/../x"},
	                                  {.path = "d/../f"},
	                                  {.path = "q/e/../f"},
	                                  {.path = "q/e/x"},
	                                  {.path = "d/sub/../../f"},
	                                  {.op = TS_REALPATH, .path = "d/sub"},
	                                  {.op = TS_REALPATH, .path = "q/e/sub"},
	                                  {.path = "d/x", .flags = PATHCACHE_NO_XDEV}}};

	if (!mounts_begin(&m))
		return;
	ts_flip_run(&flip, ts_seconds(0.5));
	scene_end(&m.s);
}

static void churn_elsewhere(void *arg)
{
	struct mounts *m = arg;

	bind_mount(m->base, "q", "other");
	detach(m->base, "other");
}

static void stay(void *arg, unsigned state)
{
	(void)arg;
	(void)state;
}

/* K2 */
static void mounts_elsewhere_do_not_uncover_a_directory(void)
{
	struct mounts m;
	struct ts_flip flip = {.name = "mounts elsewhere",
	                       .view = &m.s.view,
	                       .arg = &m,
	                       .to_state = stay,
	                       .noise = churn_elsewhere,
	                       .probes = {{.path = "d/x"},
	                                  {.path = "d/../f"},
	                                  {.path = "d/sub/.."},
	                                  {.path = "q/e/.."},
	                                  {.op = TS_REALPATH, .path = "d/sub"}}};

	if (!mounts_begin(&m))
		return;
	ts_dir(&m.s.tree, "other", 0755);
	bind_mount(m.base, "q/e", "d");
	ts_flip_run(&flip, ts_seconds(0.3));
	detach(m.base, "d");
	scene_end(&m.s);
}

static void mount_here_or_there(void *arg, unsigned state)
{
	struct mounts *m = arg;

	if (m->mounted == (state == 1))
		return;
	m->mounted = state == 1;
	move_mount_to(m->base, state ? "d/m" : "q/m", state ? "q/m" : "d/m");
	changed(m->s.cache, "d/m");
	changed(m->s.cache, "q/m");
}

/* K3 */
static void dotdot_of_a_moved_mount_is_where_the_walk_came_in(void)
{
	struct mounts m;
	struct ts_flip flip = {.name = "moved mount",
	                       .view = &m.s.view,
	                       .arg = &m,
	                       .to_state = mount_here_or_there,
	                       .passes_twice = 0x73,
	                       .probes = {{.path = "d/m/../x"},
	                                  {.path = "q/m/../f"},
	                                  {.path = "d/m/y"},
	                                  {.path = "q/m/y"},
	                                  {.path = "d/m/.."},
	                                  {.path = "q/m/.."},
	                                  {.op = TS_REALPATH, .path = "q/m"}}};

	if (!mounts_begin(&m))
		return;
	ts_dir(&m.s.tree, "d/m", 0755);
	ts_dir(&m.s.tree, "q/m", 0755);
	ts_dir(&m.s.tree, "tree", 0755);
	ts_file(&m.s.tree, "tree/y", 0644, "");
	bind_mount(m.base, "tree", "d/m");
	ts_flip_run(&flip, ts_seconds(0.5));
	detach(m.base, "d/m");
	scene_end(&m.s);
}

/* H1, K1 */
static void a_mounted_file_system_is_crossed_and_told_apart(void)
{
	struct mounts m;
	char at[2 * PATH_MAX];

	if (!mounts_begin(&m))
		return;
	snprintf(at, sizeof(at), "%s/d", m.base);
	AGREE(&m.s.view, .path = "d/x");
	REQUIRE(mount("tmpfs", at, "tmpfs", 0, "mode=0755") == 0);
	ts_file(&m.s.tree, "d/t", 0644, "");
	changed(m.s.cache, "d");
	for (int hot = 0; hot < 2; hot++) {
		AGREE(&m.s.view, .path = "d/x");
		AGREE(&m.s.view, .path = "d/t");
		AGREE(&m.s.view, .path = "d");
		AGREE(&m.s.view, .path = "d/..");
		AGREE(&m.s.view, .path = "d/../f");
		AGREE(&m.s.view, .path = "d/t", .flags = PATHCACHE_NO_XDEV);
		AGREE(&m.s.view, .path = "d", .flags = PATHCACHE_NO_XDEV);
		AGREE(&m.s.view, .path = "d/t/x", .flags = PATHCACHE_NO_XDEV);
	}
	detach(m.base, "d");
	changed(m.s.cache, "d");
	AGREE(&m.s.view, .path = "d/x");
	AGREE(&m.s.view, .path = "d/t");
	scene_end(&m.s);
}

/* ---- negatives and forgetting ------------------------------------------ */

/* K5 */
static void a_forgotten_negative_is_asked_for_again(void)
{
	struct app app;

	app_begin(&app);
	ts_ns_add(&app.ns, "d", S_IFDIR | 0755, NULL);
	CHECK_EQ(ts_stat_err(app.cache, "d/n"), -ENOENT);
	ts_ns_add(&app.ns, "d/n", S_IFREG | 0644, NULL);
	CHECK_EQ(ts_stat_flags(app.cache, "d/n", PATHCACHE_CACHED), -ENOENT);
	CHECK_EQ(pathcache_invalidate_subtree(app.cache, NULL), 0);
	CHECK_EQ(ts_stat_flags(app.cache, "d/n", PATHCACHE_CACHED), -EAGAIN);
	CHECK_EQ(ts_stat_err(app.cache, "d/n"), 0);
	app_end(&app);
}

static void forget_all(void *arg)
{
	struct scene *s = arg;

	pathcache_invalidate_all(s->cache);
	pathcache_maintain(s->cache, 100);
	CHECK_EQ(ts_stat_err(s->cache, "d0/d1/absent"), -ENOENT);
}

/* K6 */
static void a_deep_walk_under_a_forgetting_storm_finds_its_end(void)
{
	struct pathcache_options opt;
	struct scene s;
	struct ts_flip flip = {
		.name = "forgetting storm, small budget",
		.view = &s.view,
		.arg = &s,
		.to_state = stay,
		.noise = forget_all,
		.probes = {{.path = "d0/d1/d2/d3/d4/d5/d6/d7/d8/d9/end"},
	                   {.path = "d0/d1/d2/d3/d4/d5/d6/d7/d8/d9/absent"},
	                   {.path = "d0/d1/d2/../../d1/d2/d3/d4/../../d3/d4/d5"},
	                   {.op = TS_REALPATH, .path = "d0/d1/d2/d3/d4/d5/d6/d7/d8/d9/end"}}};
	char path[64] = "d0";

	pathcache_options_init(&opt);
	opt.budget = 16384;
	opt.backlog = 4096;
	opt.max_dirfds = 2;
	scene_begin_with(&s, &opt);
	for (int i = 1; i <= 10; i++) {
		ts_dir(&s.tree, path, 0755);
		snprintf(path + strlen(path), sizeof(path) - strlen(path), i < 10 ? "/d%d" : "/end",
		         i);
	}
	ts_file(&s.tree, path, 0644, "");
	ts_flip_run(&flip, ts_seconds(0.4));
	scene_end(&s);
}

/* K7 */
static void a_walk_from_a_removed_directory_finds_nothing_of_its_successor(void)
{
	struct scene s;
	struct pathcache_entry *dir;
	struct pathcache_attr attr;
	uint64_t old;

	scene_begin(&s);
	ts_dir(&s.tree, "d", 0755);
	ts_file(&s.tree, "d/f", 0644, "");
	dir = ts_get(s.cache, "d");
	CHECK_EQ(ts_stat_err(s.cache, "d/f"), 0);
	old = ts_ino(&s.tree, "d");
	ts_unlink(&s.tree, "d/f");
	changed(s.cache, "d/f");
	ts_rmdir(&s.tree, "d");
	changed(s.cache, "d");
	ts_dir(&s.tree, "new", 0755);
	ts_rename(&s.tree, "new", "d");
	ts_file(&s.tree, "d/f", 0644, "");
	changed(s.cache, "d");
	for (int hot = 0; hot < 3; hot++) {
		struct pathcache_how how = {.size = sizeof(how), .start = dir};
		int rc = pathcache_stat(s.cache, "f", &how, &attr);

		CHECK(rc == -ENOENT || rc == -ESTALE);
		rc = pathcache_stat(s.cache, ".", &how, &attr);
		CHECK(rc == -ESTALE || (rc == 0 && attr.ino == old));
		rc = pathcache_stat(s.cache, "..", &how, &attr);
		CHECK(rc == -ESTALE || rc == -ENOENT ||
		      (rc == 0 && attr.ino == ts_ino(&s.tree, ".")));
		CHECK(pathcache_maintain(s.cache, 1000) >= 0);
		CHECK_EQ(ts_stat_err(s.cache, "d/f"), 0);
	}
	pathcache_put(s.cache, dir);
	scene_end(&s);
}

static void forget_in_one_way(struct scene *s, int way)
{
	switch (way) {
	case 0:
		CHECK_EQ(pathcache_invalidate_all(s->cache), 0);
		break;
	case 1:
		changed_object(s->cache, "x/e");
		break;
	case 2:
		changed(s->cache, "x/e/d");
		break;
	case 3:
		changed(s->cache, "x/e");
		break;
	case 4:
		CHECK_EQ(pathcache_invalidate_subtree(s->cache, NULL), 0);
		break;
	case 5:
		CHECK(pathcache_maintain(s->cache, 1000) >= 0);
		break;
	}
}

/* K7: what is held and in its place is reached, whatever has been forgotten meanwhile. */
static void a_walk_up_from_a_held_directory_outlives_forgetting(void)
{
	static const char *const paths[] = {"../a", "../zz", "..", "../../e", "a", "."};
	struct ts_start start;
	struct scene s;

	for (int first = 0; first < 6; first++) {
		for (int second = 0; second < 6; second++) {
			scene_begin(&s);
			ts_dir(&s.tree, "x", 0755);
			ts_dir(&s.tree, "x/e", 0755);
			ts_file(&s.tree, "x/e/a", 0644, "");
			ts_dir(&s.tree, "x/e/d", 0755);
			ts_file(&s.tree, "x/e/d/a", 0644, "");
			start.entry = ts_get(s.cache, "x/e/d");
			start.fd = openat(s.tree.fd, "x/e/d", O_PATH | O_CLOEXEC);
			for (int i = 0; i < 12; i++) {
				forget_in_one_way(&s, i % 4 ? first : second);
				AGREE(&s.view, .path = paths[(i + first) % 6], .start = &start);
				AGREE(&s.view, .path = paths[i % 6], .start = &start);
			}
			pathcache_put(s.cache, start.entry);
			close(start.fd);
			scene_end(&s);
		}
	}
}

/* ---- failures ---------------------------------------------------------- */

static void ask_all(struct app *app)
{
	static const char *const paths[] = {"a/b/c/f",    "a/l/f",    "late/f",
	                                    "a/b/../b/c", "a/absent", "acc/f"};
	struct pathcache_entry *entry;
	char buf[256];
	int rc;

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		rc = ts_stat_err(app->cache, paths[i]);
		CHECK(rc == (i == 4 ? -ENOENT : 0) || rc == -EIO);
		rc = (int)pathcache_realpath(app->cache, paths[i], NULL, buf, sizeof(buf));
		CHECK(rc > 0 || rc == -EIO || (i == 4 && rc == -ENOENT));
		rc = pathcache_get(app->cache, paths[i], NULL, &entry);
		CHECK(rc == (i == 4 ? -ENOENT : 0) || rc == -EIO);
		if (rc != 0)
			continue;
		rc = pathcache_invalidate_entry(app->cache, entry);
		CHECK_EQ(rc, 0);
		rc = pathcache_entry_stat(app->cache, entry, &(struct pathcache_attr){0});
		CHECK(rc == 0 || rc == -EIO);
		pathcache_put(app->cache, entry);
	}
	rc = (int)pathcache_readlink(app->cache, "late", NULL, buf, sizeof(buf));
	CHECK(rc == 5 || rc == -EIO);
}

/* K10: the backend fails at each of its calls in turn. */
static void a_failure_at_any_call_leaves_nothing_behind(void)
{
	for (uint64_t good = 1; good < 60; good++) {
		struct ts_object *object;
		struct app app;

		app_begin(&app);
		ts_ns_add(&app.ns, "a", S_IFDIR | 0755, NULL);
		ts_ns_add(&app.ns, "a/b", S_IFDIR | 0755, NULL);
		ts_ns_add(&app.ns, "a/b/c", S_IFDIR | 0755, NULL);
		ts_ns_add(&app.ns, "a/b/c/f", S_IFREG | 0644, NULL);
		ts_ns_add(&app.ns, "a/l", S_IFLNK | 0777, "b/c");
		object = ts_ns_add(&app.ns, "late", S_IFLNK | 0777, "a/b/c");
		object->late_link = true;
		object = ts_ns_add(&app.ns, "acc", S_IFDIR | 0755, NULL);
		object->reply_flags = PATHCACHE_REPLY_ASK_ACCESS;
		object->uid = geteuid();
		ts_ns_add(&app.ns, "acc/f", S_IFREG | 0644, NULL);
		app.ns.fail_after = good;
		ask_all(&app);
		app.ns.fail_after = 0;
		CHECK_EQ(ts_stat_err(app.cache, "a/b/c/f"), 0);
		CHECK_EQ(ts_stat_err(app.cache, "a/l/f"), 0);
		CHECK_EQ(ts_stat_err(app.cache, "late/f"), 0);
		CHECK_EQ(ts_stat_err(app.cache, "acc/f"), 0);
		CHECK_EQ(ts_stat_err(app.cache, "a/absent"), -ENOENT);
		app_end(&app);
	}
}

/* ---- renames ----------------------------------------------------------- */

struct renames {
	struct scene s;
	struct ts_tree tree; /* K14: around the root */
	struct pathcache_entry *entry;
	_Atomic bool stop;
	_Atomic uint64_t done;
	char names[2][256];
};

static void read_paths(void *arg)
{
	struct renames *r = arg;

	while (!atomic_load(&r->stop)) {
		char large[300], small[64];
		ssize_t n = pathcache_entry_path(r->s.cache, r->entry, large, sizeof(large));

		if (n >= 0)
			CHECK((size_t)n == strlen(large) && (strcmp(large + 1, r->names[0]) == 0 ||
			                                     strcmp(large + 1, r->names[1]) == 0));
		else
			CHECK_EQ(n, -ENOENT);
		n = pathcache_entry_path(r->s.cache, r->entry, small, sizeof(small));
		CHECK(n == -ENOENT || n == -ERANGE || (n == 2 && strcmp(small, "/s") == 0));
		atomic_fetch_add(&r->done, 1);
		ts_quiescent();
	}
}

/* K13 */
static void a_path_is_never_a_mix_of_two_names(void)
{
	static struct renames r;
	struct ts_thread threads[2];
	uint64_t end;

	memset(&r, 0, sizeof(r));
	strcpy(r.names[0], "s");
	memset(r.names[1], 'L', 255);
	scene_begin(&r.s);
	ts_file(&r.s.tree, "s", 0644, "");
	r.entry = ts_get(r.s.cache, "s");
	for (int i = 0; i < 2; i++)
		ts_thread_start(&threads[i], read_paths, &r);
	end = ts_now_ns() + (uint64_t)(ts_seconds(0.3) * 1e9);
	for (unsigned i = 0; ts_now_ns() < end; i++) {
		ts_rename(&r.s.tree, r.names[i % 2], r.names[!(i % 2)]);
		changed(r.s.cache, r.names[i % 2]);
		changed(r.s.cache, r.names[!(i % 2)]);
		CHECK_EQ(ts_stat_err(r.s.cache, r.names[!(i % 2)]), 0);
	}
	atomic_store(&r.stop, true);
	for (int i = 0; i < 2; i++)
		ts_thread_join(&threads[i]);
	CHECK(atomic_load(&r.done) > 0);
	pathcache_put(r.s.cache, r.entry);
	scene_end(&r.s);
}

struct escape {
	struct ts_view view;
	struct ts_tree tree;
	struct pathcache_entry *start;
	uint64_t outside[4];
	_Atomic bool stop;
	_Atomic uint64_t asked, answered;
};

static void try_to_leave(void *arg)
{
	static const char *const paths[] = {"..",           "../..",           "../../..",
	                                    "../../secret", "../../../secret", "../../../../secret",
	                                    "up/secret"};
	static const uint64_t flags[] = {0, PATHCACHE_BENEATH, PATHCACHE_IN_ROOT};
	struct escape *e = arg;

	for (unsigned i = 0; !atomic_load(&e->stop); i++) {
		struct pathcache_how how = {
			.size = sizeof(how), .start = e->start, .flags = flags[i % 3]};
		struct pathcache_attr attr;
		int rc = pathcache_stat(e->view.cache, paths[i / 3 % 7], &how, &attr);

		for (int o = 0; rc == 0 && o < 4; o++)
			if (attr.ino == e->outside[o])
				ts_fail(__FILE__, __LINE__, "%s with flags %#llx leads outside",
				        paths[i / 3 % 7], (unsigned long long)how.flags);
		atomic_fetch_add(&e->asked, 1);
		if (rc == 0)
			atomic_fetch_add(&e->answered, 1);
		ts_quiescent();
	}
}

/* K14 */
static void a_walk_does_not_leave_by_an_ancestor_that_left(void)
{
	static struct escape e;
	struct ts_thread threads[2];
	char root[PATH_MAX + 8];
	uint64_t end;

	memset(&e, 0, sizeof(e));
	ts_tree_make(&e.tree);
	ts_dir(&e.tree, "in", 0755);
	ts_dir(&e.tree, "in/a", 0755);
	ts_dir(&e.tree, "in/a/b", 0755);
	ts_symlink(&e.tree, "in/a/b/up", "../../..");
	ts_dir(&e.tree, "out", 0755);
	ts_file(&e.tree, "secret", 0644, "");
	ts_file(&e.tree, "out/secret", 0644, "");
	e.outside[0] = ts_ino(&e.tree, ".");
	e.outside[1] = ts_ino(&e.tree, "secret");
	e.outside[2] = ts_ino(&e.tree, "out");
	e.outside[3] = ts_ino(&e.tree, "out/secret");
	snprintf(root, sizeof(root), "%s/in", e.tree.path);
	ts_view_open(&e.view, root, NULL);
	e.start = ts_get(e.view.cache, "a/b");
	for (int i = 0; i < 2; i++)
		ts_thread_start(&threads[i], try_to_leave, &e);
	end = ts_now_ns() + (uint64_t)(ts_seconds(0.5) * 1e9);
	for (unsigned i = 0; ts_now_ns() < end || i % 2; i++) {
		ts_rename(&e.tree, i % 2 ? "out/a" : "in/a", i % 2 ? "in/a" : "out/a");
		changed(e.view.cache, "a");
		if (i % 8 == 7)
			CHECK_EQ(ts_stat_err(e.view.cache, "a/b"), 0);
		ts_sleep_us(50);
	}
	atomic_store(&e.stop, true);
	for (int i = 0; i < 2; i++)
		ts_thread_join(&threads[i]);
	printf("      %llu walks, %llu with an answer\n", (unsigned long long)atomic_load(&e.asked),
	       (unsigned long long)atomic_load(&e.answered));
	pathcache_put(e.view.cache, e.start);
	ts_view_close(&e.view);
	ts_tree_remove(&e.tree);
}

static void invalidate_trees(void *arg)
{
	struct renames *r = arg;

	while (!atomic_load(&r->stop)) {
		CHECK_EQ(pathcache_invalidate_subtree(r->s.cache, r->entry), 0);
		CHECK_EQ(pathcache_invalidate_subtree(r->s.cache, NULL), 0);
		atomic_fetch_add(&r->done, 1);
		ts_quiescent();
	}
}

static void stat_renamed(void *arg)
{
	struct renames *r = arg;

	while (!atomic_load(&r->stop)) {
		int rc = ts_stat_err(r->s.cache, "d/a/f");

		CHECK(rc == 0 || rc == -ENOENT);
		CHECK_EQ(ts_stat_err(r->s.cache, "d/stays/f"), 0);
		atomic_fetch_add(&r->done, 1);
		ts_quiescent();
	}
}

/* K15 */
static void renames_and_subtree_invalidations_come_to_an_end(void)
{
	static struct renames r;
	struct ts_thread threads[3];
	uint64_t end;

	memset(&r, 0, sizeof(r));
	scene_begin(&r.s);
	ts_dir(&r.s.tree, "d", 0755);
	ts_dir(&r.s.tree, "d/a", 0755);
	ts_file(&r.s.tree, "d/a/f", 0644, "");
	ts_dir(&r.s.tree, "d/stays", 0755);
	ts_file(&r.s.tree, "d/stays/f", 0644, "");
	r.entry = ts_get(r.s.cache, "d");
	ts_thread_start(&threads[0], invalidate_trees, &r);
	ts_thread_start(&threads[1], stat_renamed, &r);
	ts_thread_start(&threads[2], stat_renamed, &r);
	end = ts_now_ns() + (uint64_t)(ts_seconds(0.3) * 1e9);
	for (unsigned i = 0; ts_now_ns() < end || i % 2; i++) {
		ts_rename(&r.s.tree, i % 2 ? "d/b" : "d/a", i % 2 ? "d/a" : "d/b");
		changed(r.s.cache, "d/a");
		changed(r.s.cache, "d/b");
	}
	atomic_store(&r.stop, true);
	for (int i = 0; i < 3; i++) {
		CHECK(ts_thread_ends(&threads[i], 10000));
		ts_thread_join(&threads[i]);
	}
	CHECK(atomic_load(&r.done) > 10);
	pathcache_put(r.s.cache, r.entry);
	scene_end(&r.s);
}

/* K15: what lies outside the subtree was not invalidated, and the way there is no retry. */
static void a_walk_out_of_an_invalidated_subtree_ends(void)
{
	static const char *const paths[] = {"d/abs", "d/e/abs2", "d/../f",   "d/e/../../f",
	                                    "d/up",  "out/../f", "d/e/../g", "abs3/g"};
	struct pathcache_entry *dir;
	struct scene s;

	scene_begin(&s);
	ts_file(&s.tree, "f", 0644, "");
	ts_dir(&s.tree, "d", 0755);
	ts_dir(&s.tree, "d/e", 0755);
	ts_file(&s.tree, "d/g", 0644, "");
	ts_symlink(&s.tree, "d/abs", "/f");
	ts_symlink(&s.tree, "d/e/abs2", "/d/abs");
	ts_symlink(&s.tree, "d/up", "../f");
	ts_symlink(&s.tree, "out", "d/e/..");
	ts_symlink(&s.tree, "abs3", "/d/e/..");
	dir = ts_get(s.cache, "d");
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
			AGREE(&s.view, .path = paths[i]);
			AGREE(&s.view, .op = TS_REALPATH, .path = paths[i]);
		}
		CHECK_EQ(pathcache_invalidate_subtree(s.cache, dir), 0);
	}
	pathcache_put(s.cache, dir);
	scene_end(&s);
}

/* ---- aliases ----------------------------------------------------------- */

/* K21: found at its new place before the old one was announced. */
static void a_moved_directory_has_one_parent(void)
{
	struct ts_object *a, *b;
	char path[64];
	struct app app;

	app_begin(&app);
	a = ts_ns_add(&app.ns, "a", S_IFDIR | 0755, NULL);
	b = ts_ns_add(&app.ns, "b", S_IFDIR | 0755, NULL);
	ts_ns_add(&app.ns, "a/D", S_IFDIR | 0755, NULL);
	ts_ns_add(&app.ns, "a/D/x", S_IFREG | 0644, NULL);
	CHECK_EQ(attr_of(app.cache, "a/D/..").ino, a->id);
	CHECK_EQ(ts_stat_err(app.cache, "a/D/x"), 0);
	ts_ns_rename(&app.ns, "a/D", "b/D");
	for (int hot = 0; hot < 2; hot++) {
		CHECK_EQ(attr_of(app.cache, "b/D/..").ino, b->id);
		CHECK_EQ(pathcache_realpath(app.cache, "b/D/x", NULL, path, sizeof(path)), 6);
		CHECK(strcmp(path, "/b/D/x") == 0);
	}
	CHECK_EQ(ts_stat_err(app.cache, "a/D"), -ENOENT);
	changed(app.cache, "a/D");
	CHECK_EQ(ts_stat_err(app.cache, "a/D"), -ENOENT);
	CHECK_EQ(attr_of(app.cache, "b/D/..").ino, b->id);
	app_end(&app);
}

/* K21: parent and child have changed places, and only half of it is known. */
static void a_cycle_of_parents_is_no_endless_walk(void)
{
	char path[64];
	struct app app;
	struct pathcache_entry *entry;
	ssize_t n;

	app_begin(&app);
	ts_ns_add(&app.ns, "x", S_IFDIR | 0755, NULL);
	ts_ns_add(&app.ns, "x/y", S_IFDIR | 0755, NULL);
	CHECK_EQ(ts_stat_err(app.cache, "x/y"), 0);
	entry = ts_get(app.cache, "x/y");
	ts_ns_rename(&app.ns, "x/y", "y");
	ts_ns_rename(&app.ns, "x", "y/x");
	changed(app.cache, "y");
	CHECK_EQ(ts_stat_err(app.cache, "y/x"), 0);
	n = pathcache_realpath(app.cache, "y/x", NULL, path, sizeof(path));
	CHECK(n == 4 && strcmp(path, "/y/x") == 0);
	n = pathcache_realpath(app.cache, "y/x/y", NULL, path, sizeof(path));
	CHECK(n > 0 || n == -ENOENT || n == -ERANGE);
	n = pathcache_entry_path(app.cache, entry, path, sizeof(path));
	CHECK(n > 0 || n == -ENOENT || n == -ERANGE);
	changed(app.cache, "x");
	changed(app.cache, "y/x");
	n = pathcache_realpath(app.cache, "y/x", NULL, path, sizeof(path));
	CHECK(n == 4 && strcmp(path, "/y/x") == 0);
	pathcache_put(app.cache, entry);
	app_end(&app);
}

/* K22 */
static void a_removed_directory_takes_no_new_names(void)
{
	struct pathcache_how how = {.size = sizeof(how)};
	struct pathcache_attr attr;
	struct scene s;
	int rc;

	scene_begin(&s);
	ts_dir(&s.tree, "d", 0755);
	how.start = ts_get(s.cache, "d");
	ts_rmdir(&s.tree, "d");
	changed(s.cache, "d");
	CHECK_EQ(pathcache_invalidate_name(s.cache, how.start, "n"), 0);
	rc = pathcache_stat(s.cache, "n", &how, &attr);
	CHECK(rc == -ENOENT || rc == -ESTALE);
	CHECK_EQ(pathcache_invalidate_subtree(s.cache, how.start), 0);
	CHECK_EQ(pathcache_invalidate_entry(s.cache, how.start), 0);
	CHECK_EQ(ts_stat_err(s.cache, "d"), -ENOENT);
	pathcache_put(s.cache, how.start);
	scene_end(&s);
}

static const struct ts_case cases[] = {
	TS_CASE(a_mounted_file_system_is_crossed_and_told_apart),
	TS_CASE(what_is_there_mounted_or_not_is_never_absent),
	TS_CASE(mounts_elsewhere_do_not_uncover_a_directory),
	TS_CASE(dotdot_of_a_moved_mount_is_where_the_walk_came_in),
	TS_CASE(a_forgotten_negative_is_asked_for_again),
	TS_CASE(a_deep_walk_under_a_forgetting_storm_finds_its_end),
	TS_CASE(a_walk_from_a_removed_directory_finds_nothing_of_its_successor),
	TS_CASE(a_walk_up_from_a_held_directory_outlives_forgetting),
	TS_CASE(a_failure_at_any_call_leaves_nothing_behind),
	TS_CASE(a_path_is_never_a_mix_of_two_names),
	TS_CASE(a_walk_does_not_leave_by_an_ancestor_that_left),
	TS_CASE(renames_and_subtree_invalidations_come_to_an_end),
	TS_CASE(a_walk_out_of_an_invalidated_subtree_ends),
	TS_CASE(a_moved_directory_has_one_parent),
	TS_CASE(a_cycle_of_parents_is_no_endless_walk),
	TS_CASE(a_removed_directory_takes_no_new_names),
};

int main(int argc, char **argv)
{
	ts_isolate();
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
