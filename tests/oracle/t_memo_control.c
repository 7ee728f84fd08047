/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Each thing that a memo relies on is needed: with that kind left out of the
 * vectors, a change that nothing else in the vector sees gives a wrong answer;
 * with all kinds in place it does not.
 *
 * An application's own namespace is what is true. In each scene the answers
 * follow from the few lines above them, so they are written down, not computed.
 * What a memo leads to is held, so that a memo made wrong on purpose still
 * points at good memory.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memo.h"
#include "namespace.h"
#include "oracle.h"
#include "pathcache.h"
#include "run.h"

#define DIR_ALL (S_IFDIR | 0755u)
#define FILE_ALL (S_IFREG | 0644u)
#define LINK_ALL (S_IFLNK | 0777u)
#define LONG "a-file-of-a-long-name" /* what is short is not remembered */
#define ABSENT "an-absent-long-name"
#define WARM 4
#define HELD_MAX 4

struct question {
	const char *path;
	struct pathcache_entry *start;
	uint32_t uid, caps;
	bool own; /* asked by the process */
};

struct scene {
	struct ts_namespace ns;
	uint32_t uid; /* of the process, which has no capabilities */
	struct pathcache *cache;
	struct pathcache_entry *held[HELD_MAX];
	unsigned nheld, wrong;
};

/* One kind of dependency and a change that shows it. */
struct control {
	const char *name;
	void (*play)(struct scene *scene);
	uint32_t omit; /* 0: nothing that can be left out shows it */
	/* Left out both times: kinds that see the same change by the same binding. */
	uint32_t also;
};

/* ---- questions --------------------------------------------------------- */

static struct pathcache_entry *hold(struct scene *scene, const char *path)
{
	struct pathcache_entry *entry;

	REQUIRE(scene->nheld < HELD_MAX);
	REQUIRE(pathcache_get(scene->cache, path, NULL, &entry) == 0);
	scene->held[scene->nheld++] = entry;
	return entry;
}

/* The number of the object that path leads to, or a negative errno; three ways. */
static int64_t by_get(struct scene *scene, const char *path, const struct pathcache_how *how)
{
	struct pathcache_entry *entry;
	struct pathcache_attr attr;
	int rc = pathcache_get(scene->cache, path, how, &entry);

	if (rc)
		return rc;
	rc = pathcache_entry_stat(scene->cache, entry, &attr);
	pathcache_put(scene->cache, entry);
	return rc ? rc : (int64_t)attr.ino;
}

static int64_t by_stat(struct scene *scene, const char *path, const struct pathcache_how *how)
{
	struct pathcache_attr attr;
	int rc = pathcache_stat(scene->cache, path, how, &attr);

	return rc ? rc : (int64_t)attr.ino;
}

static void expect(struct scene *scene, const struct question *q, int64_t want)
{
	struct pathcache_cred cred = {
		.size = sizeof(cred), .uid = q->uid, .gid = q->uid, .caps = q->caps};
	struct pathcache_how how = {
		.size = sizeof(how), .start = q->start, .cred = q->own ? NULL : &cred};

	/* In this order: the first two need no attributes, which a change drops. */
	if (by_get(scene, q->path, &how) != want)
		scene->wrong++;
	if (pathcache_access(scene->cache, q->path, F_OK, &how) != (want < 0 ? want : 0))
		scene->wrong++;
	if (by_stat(scene, q->path, &how) != want)
		scene->wrong++;
}

/*
 * Before the change: asked often enough to be answered by a memo in the end,
 * also when something else has changed since.
 */
static void warm(struct scene *scene, const struct question *q, int64_t want)
{
	for (int i = 0; i < WARM; i++)
		expect(scene, q, want);
	for (int i = 0; i < 2; i++) {
		uint64_t hits = ts_stats(scene->cache).memo_hits;

		expect(scene, q, want);
		CHECK_EQ(ts_stats(scene->cache).memo_hits - hits, 3);
		CHECK_EQ(pathcache_invalidate_name(scene->cache, NULL, "elsewhere"), 0);
	}
	CHECK_EQ(scene->wrong, 0);
}

static struct ts_object *add(struct scene *scene, const char *path, uint32_t mode)
{
	return ts_ns_add(&scene->ns, path, mode, NULL);
}

static int64_t ino(const struct ts_object *object)
{
	return (int64_t)object->id;
}

static void changed_name(struct scene *scene, struct pathcache_entry *dir, const char *name)
{
	CHECK_EQ(pathcache_invalidate_name(scene->cache, dir, name), 0);
}

/* ---- the start --------------------------------------------------------- */

/* The start is closed to others. */
static void start_is_closed(struct scene *scene)
{
	struct question q = {.path = LONG, .uid = 1000};
	struct ts_object *f;

	add(scene, "d", DIR_ALL);
	f = add(scene, "d/" LONG, FILE_ALL);
	q.start = hold(scene, "d");
	warm(scene, &q, ino(f));
	ts_ns_set(&scene->ns, "d", 0700, 0);
	CHECK_EQ(pathcache_invalidate_entry(scene->cache, q.start), 0);
	expect(scene, &q, -EACCES);
}

static void close_root(struct scene *scene)
{
	pthread_mutex_lock(&scene->ns.lock);
	scene->ns.root->mode = S_IFDIR | 0700;
	pthread_mutex_unlock(&scene->ns.lock);
	CHECK_EQ(pathcache_invalidate_path(scene->cache, "/"), 0);
}

static void root_is_closed(struct scene *scene)
{
	struct question q = {.path = "d/" LONG, .uid = 1000};
	struct ts_object *f;

	add(scene, "d", DIR_ALL);
	f = add(scene, "d/" LONG, FILE_ALL);
	warm(scene, &q, ino(f));
	close_root(scene);
	expect(scene, &q, -EACCES);
}

/*
 * The start's directory is forgotten, and found again it is another node: what
 * is announced of the start by its name in there does not find its binding.
 */
static void anchor_is_lost(struct scene *scene)
{
	struct question q = {.path = LONG, .uid = 1000};
	struct ts_object *f;

	add(scene, "p", DIR_ALL);
	add(scene, "p/s", DIR_ALL);
	f = add(scene, "p/s/" LONG, FILE_ALL);
	q.start = hold(scene, "p/s");
	warm(scene, &q, ino(f));
	/* Another node from here on, of the same object: what is said by it is not heard of by p/s. */
	CHECK_EQ(pathcache_removed(scene->cache, NULL, "p"), 0);
	changed_name(scene, NULL, "p");
	ts_ns_set(&scene->ns, "p/s", 0700, 0);
	CHECK_EQ(pathcache_invalidate_path(scene->cache, "p/s"), 0);
	expect(scene, &q, -EACCES);
}

/*
 * The same, but the start is asked about in between, and believed again. Then no
 * binding tells of the change, so no memo may be made of it: nothing is warm here.
 */
static void start_without_anchor_is_closed(struct scene *scene)
{
	struct question q = {.path = LONG, .uid = 1000};
	struct ts_object *f;

	add(scene, "p", DIR_ALL);
	add(scene, "p/s", DIR_ALL);
	f = add(scene, "p/s/" LONG, FILE_ALL);
	q.start = hold(scene, "p/s");
	changed_name(scene, NULL, "p");
	for (int i = 0; i < WARM; i++)
		expect(scene, &q, ino(f));
	ts_ns_set(&scene->ns, "p/s", 0700, 0);
	CHECK_EQ(pathcache_invalidate_path(scene->cache, "p/s"), 0);
	expect(scene, &q, -EACCES);
}

/* What is announced of a directory two levels above the start touches no name on the way. */
static void subtree_above_start(struct scene *scene)
{
	struct question q = {.path = LONG, .uid = 1000};
	struct ts_object *f, *g;

	add(scene, "q", DIR_ALL);
	add(scene, "q/p", DIR_ALL);
	add(scene, "q/p/s", DIR_ALL);
	f = add(scene, "q/p/s/" LONG, FILE_ALL);
	g = add(scene, "q/p/s/g", FILE_ALL);
	q.start = hold(scene, "q/p/s");
	hold(scene, "q/p/s/" LONG);
	warm(scene, &q, ino(f));
	ts_ns_rename(&scene->ns, "q/p/s/g", "q/p/s/" LONG);
	CHECK_EQ(pathcache_invalidate_subtree(scene->cache, hold(scene, "q")), 0);
	expect(scene, &q, ino(g));
}

/* ---- the way down ------------------------------------------------------ */

/* A directory on the way is renamed; what is in it stays where it is. */
static void directory_is_renamed(struct scene *scene)
{
	struct question q = {.path = "a/b/" LONG};
	struct pathcache_entry *a;
	struct ts_object *f;

	add(scene, "a", DIR_ALL);
	add(scene, "a/b", DIR_ALL);
	f = add(scene, "a/b/" LONG, FILE_ALL);
	a = hold(scene, "a");
	hold(scene, "a/b");
	warm(scene, &q, ino(f));
	ts_ns_rename(&scene->ns, "a/b", "a/c");
	changed_name(scene, a, "b");
	changed_name(scene, a, "c");
	expect(scene, &q, -ENOENT);
}

static void directory_is_closed(struct scene *scene)
{
	struct question q = {.path = "a/b/" ABSENT, .uid = 1000};
	struct pathcache_entry *b;

	add(scene, "a", DIR_ALL);
	add(scene, "a/b", DIR_ALL);
	b = hold(scene, "a/b");
	warm(scene, &q, -ENOENT);
	ts_ns_set(&scene->ns, "a/b", 0710, 0);
	CHECK_EQ(pathcache_invalidate_entry(scene->cache, b), 0);
	expect(scene, &q, -EACCES);
}

/* A link in the middle, or at the end, leads elsewhere. */
static void link_is_swapped(struct scene *scene)
{
	struct question middle = {.path = "l/" LONG}, end = {.path = "m-link-of-a-long-name"};
	struct ts_object *f1, *f2;

	add(scene, "r1", DIR_ALL);
	add(scene, "r2", DIR_ALL);
	f1 = add(scene, "r1/" LONG, FILE_ALL);
	f2 = add(scene, "r2/" LONG, FILE_ALL);
	ts_ns_add(&scene->ns, "l", LINK_ALL, "r1");
	ts_ns_add(&scene->ns, "m-link-of-a-long-name", LINK_ALL, "r1/" LONG);
	warm(scene, &middle, ino(f1));
	warm(scene, &end, ino(f1));
	ts_ns_remove(&scene->ns, "l");
	ts_ns_remove(&scene->ns, "m-link-of-a-long-name");
	ts_ns_add(&scene->ns, "l", LINK_ALL, "r2");
	ts_ns_add(&scene->ns, "m-link-of-a-long-name", LINK_ALL, "r2/" LONG);
	changed_name(scene, NULL, "l");
	expect(scene, &middle, ino(f2));
	changed_name(scene, NULL, "m-link-of-a-long-name");
	expect(scene, &end, ino(f2));
}

static void last_name_is_taken(struct scene *scene)
{
	struct question q = {.path = "d/" LONG};
	struct pathcache_entry *d;
	struct ts_object *f, *g;

	add(scene, "d", DIR_ALL);
	f = add(scene, "d/" LONG, FILE_ALL);
	g = add(scene, "d/g", FILE_ALL);
	d = hold(scene, "d");
	hold(scene, "d/" LONG);
	warm(scene, &q, ino(f));
	ts_ns_rename(&scene->ns, "d/g", "d/" LONG);
	changed_name(scene, d, "g");
	changed_name(scene, d, LONG);
	expect(scene, &q, ino(g));
}

static void last_name_is_removed(struct scene *scene)
{
	struct question q = {.path = LONG};
	struct ts_object *f = add(scene, LONG, FILE_ALL);

	hold(scene, LONG);
	warm(scene, &q, ino(f));
	ts_ns_remove(&scene->ns, LONG);
	changed_name(scene, NULL, LONG);
	expect(scene, &q, -ENOENT);
}

/* A path through what is no directory relies on that name to the last as well. */
static void file_becomes_directory(struct scene *scene)
{
	struct question q = {.path = LONG "/x"};
	struct ts_object *x;

	add(scene, LONG, FILE_ALL);
	add(scene, "d", DIR_ALL);
	x = add(scene, "d/x", FILE_ALL);
	hold(scene, LONG);
	warm(scene, &q, -ENOTDIR);
	ts_ns_rename(&scene->ns, "d", LONG);
	changed_name(scene, NULL, "d");
	changed_name(scene, NULL, LONG);
	expect(scene, &q, ino(x));
}

static void absent_name_is_made(struct scene *scene)
{
	struct question last = {.path = "d/" ABSENT}, middle = {.path = "e/" ABSENT};
	struct pathcache_entry *d;
	struct ts_object *n;

	add(scene, "d", DIR_ALL);
	d = hold(scene, "d");
	warm(scene, &last, -ENOENT);
	warm(scene, &middle, -ENOENT);
	n = add(scene, "d/" ABSENT, FILE_ALL);
	changed_name(scene, d, ABSENT);
	expect(scene, &last, ino(n));
	add(scene, "e", DIR_ALL);
	n = add(scene, "e/" ABSENT, FILE_ALL);
	changed_name(scene, NULL, "e");
	expect(scene, &middle, ino(n));
}

/* ---- the way up -------------------------------------------------------- */

/* The path goes into a directory and leaves it again; it is moved away. */
static void left_directory_is_moved(struct scene *scene)
{
	struct question q = {.path = "d/sub/../" LONG};
	struct pathcache_entry *d;
	struct ts_object *f;

	add(scene, "d", DIR_ALL);
	add(scene, "e", DIR_ALL);
	add(scene, "d/sub", DIR_ALL);
	f = add(scene, "d/" LONG, FILE_ALL);
	d = hold(scene, "d");
	warm(scene, &q, ino(f));
	ts_ns_rename(&scene->ns, "d/sub", "e/sub");
	changed_name(scene, d, "sub");
	changed_name(scene, hold(scene, "e"), "sub");
	expect(scene, &q, -ENOENT);
}

/* The start itself is moved: what is above it is another directory. */
static void left_start_is_moved(struct scene *scene)
{
	struct question q = {.path = "../" LONG};
	struct pathcache_entry *p, *r;
	struct ts_object *f, *g;

	add(scene, "p", DIR_ALL);
	add(scene, "r", DIR_ALL);
	add(scene, "p/s", DIR_ALL);
	f = add(scene, "p/" LONG, FILE_ALL);
	g = add(scene, "r/" LONG, FILE_ALL);
	q.start = hold(scene, "p/s");
	p = hold(scene, "p");
	r = hold(scene, "r");
	warm(scene, &q, ino(f));
	ts_ns_rename(&scene->ns, "p/s", "r/s");
	changed_name(scene, p, "s");
	changed_name(scene, r, "s");
	expect(scene, &q, ino(g));
}

/* What the path goes up to may not be searched any more: the root, or another. */
static void root_above_start_is_closed(struct scene *scene)
{
	struct question q = {.path = "../" LONG, .uid = 1000};
	struct ts_object *f = add(scene, LONG, FILE_ALL);

	add(scene, "s", DIR_ALL);
	q.start = hold(scene, "s");
	warm(scene, &q, ino(f));
	close_root(scene);
	expect(scene, &q, -EACCES);
}

static void directory_above_start_is_closed(struct scene *scene)
{
	struct question q = {.path = "../../" LONG, .uid = 1000};
	struct ts_object *f;

	add(scene, "q", DIR_ALL);
	add(scene, "q/p", DIR_ALL);
	add(scene, "q/p/s", DIR_ALL);
	f = add(scene, "q/" LONG, FILE_ALL);
	q.start = hold(scene, "q/p/s");
	warm(scene, &q, ino(f));
	ts_ns_set(&scene->ns, "q", 0700, 0);
	changed_name(scene, NULL, "q");
	expect(scene, &q, -EACCES);
}

/* What a path is called depends on names that the path itself does not go through. */
static void directory_above_start_is_renamed(struct scene *scene)
{
	static const char before[] = "/q/p/s/" LONG, after[] = "/z/p/s/" LONG;
	struct pathcache_how how = {.size = sizeof(how)};
	uint64_t hits;
	char buf[256];

	add(scene, "q", DIR_ALL);
	add(scene, "q/p", DIR_ALL);
	add(scene, "q/p/s", DIR_ALL);
	add(scene, "q/p/s/" LONG, FILE_ALL);
	hold(scene, "q");
	how.start = hold(scene, "q/p/s");
	for (int i = 0; i <= WARM; i++)
		CHECK_EQ(pathcache_realpath(scene->cache, LONG, &how, buf, sizeof(buf)),
		         sizeof(before) - 1);
	hits = ts_stats(scene->cache).memo_hits;
	pathcache_realpath(scene->cache, LONG, &how, buf, sizeof(buf));
	CHECK(strcmp(buf, before) == 0);
	CHECK_EQ(ts_stats(scene->cache).memo_hits - hits, 1);
	ts_ns_rename(&scene->ns, "q", "z");
	changed_name(scene, NULL, "q");
	changed_name(scene, NULL, "z");
	hold(scene, "z"); /* now its new name is known */
	if (pathcache_realpath(scene->cache, LONG, &how, buf, sizeof(buf)) != sizeof(after) - 1 ||
	    strcmp(buf, after) != 0)
		scene->wrong++;
}

/* ---- who asks ---------------------------------------------------------- */

/*
 * A memo learned by one who may search, being the owner or by capability, is
 * no answer for one who may not.
 */
static void others_may_not_search(struct scene *scene)
{
	struct question file = {.path = "d/" LONG, .own = true};
	struct question absent = {.path = "d/" ABSENT, .caps = PATHCACHE_CAP_DAC_READ_SEARCH};
	struct ts_object *d = add(scene, "d", S_IFDIR | 0700);
	struct ts_object *f = add(scene, "d/" LONG, FILE_ALL);

	d->uid = scene->uid;
	warm(scene, &file, ino(f));
	warm(scene, &absent, -ENOENT);
	file.own = false;
	file.uid = absent.uid = d->uid + 1;
	absent.caps = 0;
	expect(scene, &file, -EACCES);
	expect(scene, &absent, -EACCES);
}

/* Nor is one learned by a caller who may an answer for the process that may not. */
static void process_may_not_search(struct scene *scene)
{
	struct question q = {.path = "d/" LONG, .uid = scene->uid + 1};
	struct ts_object *d = add(scene, "d", S_IFDIR | 0700);
	struct ts_object *f = add(scene, "d/" LONG, FILE_ALL);

	d->uid = q.uid;
	for (int i = 0; i < WARM; i++)
		expect(scene, &q, ino(f));
	q.own = true;
	expect(scene, &q, -EACCES);
}

/* ---- running ----------------------------------------------------------- */

static void open_as_nobody(struct scene *scene)
{
	bool can = ts_can_switch();

	if (can)
		ts_switch_to(&ts_nobody);
	scene->uid = geteuid();
	ts_ns_open(&scene->ns, &scene->cache, NULL);
	if (can)
		ts_switch_back();
}

static unsigned play(const struct control *control, uint32_t omit)
{
	struct scene scene = {.nheld = 0};

	atomic_store(&rp_memo_test_omit, omit);
	ts_ns_init(&scene.ns);
	open_as_nobody(&scene);
	control->play(&scene);
	while (scene.nheld)
		pathcache_put(scene.cache, scene.held[--scene.nheld]);
	CHECK_EQ(pathcache_close(scene.cache), 0);
	CHECK_EQ(ts_ns_unreleased(&scene.ns), 0);
	ts_ns_fini(&scene.ns);
	atomic_store(&rp_memo_test_omit, 0);
	return scene.wrong;
}

static void run(const struct control *controls, size_t n)
{
	for (const struct control *control = controls; control < controls + n; control++) {
		unsigned whole = play(control, control->also), less = 0;

		if (control->omit)
			less = play(control, control->also | control->omit);
		printf("      %-32s %u wrong answers, without it %u\n", control->name, whole, less);
		if (whole)
			ts_fail(__FILE__, __LINE__, "%s: a wrong answer", control->name);
		if (control->omit && !less)
			ts_fail(__FILE__, __LINE__, "%s: not needed, or not seen", control->name);
	}
}

#define CONTROL(fn, ...) \
	{ \
		.name = #fn, .play = fn, __VA_ARGS__ \
	}
#define RUN(...) \
	do { \
		static const struct control controls[] = {__VA_ARGS__}; \
		run(controls, sizeof(controls) / sizeof(controls[0])); \
	} while (0)

static void start(void)
{
	RUN(CONTROL(start_is_closed, .omit = RP_DEP_START),
	    CONTROL(root_is_closed, .omit = RP_DEP_START));
}

static void anchor(void)
{
	RUN(CONTROL(anchor_is_lost, .omit = RP_DEP_ANCHOR),
	    CONTROL(start_without_anchor_is_closed, .omit = 0));
}

static void dir(void)
{
	RUN(CONTROL(directory_is_renamed, .omit = RP_DEP_DIR),
	    CONTROL(directory_is_closed, .omit = RP_DEP_DIR));
}

static void link_followed(void)
{
	RUN(CONTROL(link_is_swapped, .omit = RP_DEP_LINK));
}

static void leaf(void)
{
	RUN(CONTROL(last_name_is_taken, .omit = RP_DEP_LEAF),
	    CONTROL(last_name_is_removed, .omit = RP_DEP_LEAF),
	    CONTROL(file_becomes_directory, .omit = RP_DEP_LEAF));
}

static void negative(void)
{
	RUN(CONTROL(absent_name_is_made, .omit = RP_DEP_NEGATIVE));
}

/* A directory has one name, so the walk came in by the one it goes out by. */
static void up(void)
{
	RUN(CONTROL(left_directory_is_moved, .omit = RP_DEP_UP, .also = RP_DEP_DIR),
	    CONTROL(left_start_is_moved, .omit = RP_DEP_UP, .also = RP_DEP_START));
}

static void parent(void)
{
	RUN(CONTROL(root_above_start_is_closed, .omit = RP_DEP_PARENT),
	    CONTROL(directory_above_start_is_closed, .omit = RP_DEP_PARENT, .also = RP_DEP_ANCHOR));
}

static void subtree(void)
{
	RUN(CONTROL(subtree_above_start, .omit = RP_DEP_SUBTREE));
}

static void path(void)
{
	RUN(CONTROL(directory_above_start_is_renamed, .omit = RP_DEP_PATH));
}

static void perm(void)
{
	RUN(CONTROL(others_may_not_search, .omit = RP_DEP_PERM),
	    CONTROL(process_may_not_search, .omit = 0));
}

static const struct ts_case cases[] = {
	TS_CASE(start),   TS_CASE(anchor),   TS_CASE(dir),  TS_CASE(link_followed),
	TS_CASE(leaf),    TS_CASE(negative), TS_CASE(up),   TS_CASE(parent),
	TS_CASE(subtree), TS_CASE(perm),     TS_CASE(path),
};

int main(int argc, char **argv)
{
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
