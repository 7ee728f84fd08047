/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Why an answer comes, and all names there are: both told from memory, without
 * a question, a trace of use or a lock over the callback.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "scene.h"

#define TOLD_MAX 1024

/* ---- explaining --------------------------------------------------------- */

struct told {
	int rc;
	unsigned n, stop_after;
	struct pathcache_binding b[TOLD_MAX];
	char name[TOLD_MAX][256];
};

static int take_binding(void *arg, const struct pathcache_binding *b)
{
	struct told *t = arg;

	REQUIRE(t->n < TOLD_MAX && b->len < 256);
	CHECK_EQ(b->size, sizeof(*b));
	CHECK_EQ(strlen(b->name), b->len);
	t->b[t->n] = *b;
	memcpy(t->name[t->n++], b->name, b->len + 1);
	return t->n == t->stop_after;
}

static struct told told;

static int explain_how(struct pathcache *cache, const char *path, const struct pathcache_how *how)
{
	memset(&told, 0, sizeof(told));
	told.rc = pathcache_explain(cache, path, how, take_binding, &told);
	return told.rc;
}

static int explain(struct pathcache *cache, const char *path)
{
	return explain_how(cache, path, NULL);
}

static void is(unsigned i, enum pathcache_kind kind, const char *name)
{
	if (i >= told.n || told.b[i].kind != kind || strcmp(told.name[i], name))
		ts_fail(__FILE__, __LINE__, "%u of %u is %u %s, not %u %s", i, told.n,
		        told.b[i].kind, told.name[i], kind, name);
}

static void is_missing(unsigned i, enum pathcache_needs needs, const char *name)
{
	is(i, PATHCACHE_KIND_MISSING, name);
	CHECK_EQ(told.n, i + 1);
	CHECK_EQ(told.rc, -EAGAIN);
	CHECK_EQ(told.b[i].needs, needs);
	CHECK_EQ(told.b[i].id, 0);
	CHECK_EQ(told.b[i].trust, PATHCACHE_TRUST_NONE);
}

static void stat_times(struct pathcache *cache, const char *path, int want, unsigned n)
{
	struct pathcache_attr attr;

	while (n--)
		CHECK_EQ(pathcache_stat(cache, path, NULL, &attr), want);
}

static uint64_t object_of(struct pathcache *cache, const char *path)
{
	struct pathcache_entry *entry = ts_get(cache, path);
	uint64_t id = pathcache_entry_id(entry);

	pathcache_put(cache, entry);
	return id;
}

static void tree_of(struct app *app)
{
	app_begin(app);
	ts_ns_add(&app->ns, "/directory", S_IFDIR | 0755, NULL);
	ts_ns_add(&app->ns, "/directory/file", S_IFREG | 0644, NULL);
	ts_ns_add(&app->ns, "/directory/link", S_IFLNK | 0777, "file");
}

static void each_binding_is_told_as_it_is_walked(void)
{
	struct app app;

	tree_of(&app);
	stat_times(app.cache, "/directory/link", 0, 1);
	CHECK_EQ(explain(app.cache, "/directory/link"), 0);
	CHECK_EQ(told.n, 4);
	is(0, PATHCACHE_KIND_START, "");
	is(1, PATHCACHE_KIND_DIRECTORY, "directory");
	is(2, PATHCACHE_KIND_LINK, "link");
	is(3, PATHCACHE_KIND_LEAF, "file");
	for (unsigned i = 0; i < told.n; i++) {
		CHECK_EQ(told.b[i].trust, PATHCACHE_TRUST_ANNOUNCED);
		CHECK_EQ(told.b[i].needs, PATHCACHE_NEEDS_NOTHING);
		CHECK(told.b[i].id && (i == 0 || told.b[i].id > told.b[i - 1].id));
	}
	CHECK_EQ(told.b[3].object, object_of(app.cache, "/directory/file"));
	CHECK_EQ(explain(app.cache, "/directory/../directory/."), 0);
	is(told.n - 1, PATHCACHE_KIND_DIRECTORY, "directory");
	app_end(&app);
}

static void an_absent_name_is_told_as_such(void)
{
	struct app app;

	tree_of(&app);
	stat_times(app.cache, "/directory/none", -ENOENT, 1);
	CHECK_EQ(explain(app.cache, "/directory/none/below"), -ENOENT);
	CHECK_EQ(told.n, 3);
	is(2, PATHCACHE_KIND_NEGATIVE, "none");
	CHECK_EQ(told.b[2].object, 0);
	CHECK(told.b[2].id != 0);
	app_end(&app);
}

static uint64_t questions(struct app *app)
{
	uint64_t n = 0;

	for (int call = 0; call < TS_CALLS; call++)
		n += ts_ns_calls(&app->ns, (enum ts_call)call);
	return n;
}

static void nothing_is_asked_nor_counted(void)
{
	struct pathcache_stats before = {.size = sizeof(before)}, after = before;
	uint64_t asked;
	struct app app;

	tree_of(&app);
	stat_times(app.cache, "/directory/file", 0, 2);
	asked = questions(&app);
	pathcache_get_stats(app.cache, &before);
	CHECK_EQ(explain(app.cache, "/none"), -EAGAIN);
	CHECK_EQ(explain(app.cache, "/directory/file"), 0);
	CHECK_EQ(explain(app.cache, "/directory/link"), -EAGAIN);
	pathcache_get_stats(app.cache, &after);
	CHECK(memcmp(&before, &after, sizeof(before)) == 0);
	CHECK_EQ(questions(&app), asked);
	app_end(&app);
}

static void what_would_be_asked_is_told_last(void)
{
	struct pathcache_how how = {.size = sizeof(how)};
	struct ts_object *asks;
	struct app app;

	tree_of(&app);
	ts_ns_find(&app.ns, "/directory/link")->late_link = true;
	asks = ts_ns_add(&app.ns, "/asks", S_IFDIR | 0755, NULL);
	asks->reply_flags = PATHCACHE_REPLY_ASK_ACCESS;
	explain(app.cache, "/directory/file");
	is_missing(1, PATHCACHE_NEEDS_NAME, "directory");
	how.start = ts_get(app.cache, "/directory");
	explain(app.cache, "/directory//file");
	is_missing(2, PATHCACHE_NEEDS_NAME, "file");
	stat_times(app.cache, "/directory/file", 0, 1);
	changed_object(app.cache, "/directory/file");
	explain(app.cache, "/directory/file");
	is_missing(3, PATHCACHE_NEEDS_ATTR, "file");
	how.flags = PATHCACHE_NOFOLLOW;
	CHECK_EQ(pathcache_stat(app.cache, "/directory/link", &how, &(struct pathcache_attr){0}),
	         0);
	CHECK_EQ(explain_how(app.cache, "/directory/link", &how), 0);
	is(2, PATHCACHE_KIND_LINK, "link");
	explain(app.cache, "/directory/link");
	is_missing(3, PATHCACHE_NEEDS_TEXT, "link");
	stat_times(app.cache, "/asks", 0, 1);
	explain(app.cache, "/asks/file");
	is_missing(2, PATHCACHE_NEEDS_SEARCH, "asks");
	changed(app.cache, "/directory");
	explain_how(app.cache, "file", &how);
	is_missing(0, PATHCACHE_NEEDS_START, "");
	CHECK_EQ(pathcache_stat(app.cache, "file", &how, &(struct pathcache_attr){0}), 0);
	explain_how(app.cache, "..", &how);
	is_missing(1, PATHCACHE_NEEDS_PARENT, "..");
	pathcache_put(app.cache, how.start);
	app_end(&app);
}

static void a_start_is_told_with_the_directory_it_is_in(void)
{
	struct pathcache_how how = {.size = sizeof(how)};
	struct app app;

	tree_of(&app);
	ts_ns_add(&app.ns, "/directory/inner", S_IFDIR | 0755, NULL);
	how.start = ts_get(app.cache, "/directory/inner");
	CHECK_EQ(explain_how(app.cache, ".", &how), 0);
	CHECK_EQ(told.n, 2);
	is(0, PATHCACHE_KIND_DIRECTORY, "directory");
	is(1, PATHCACHE_KIND_START, "inner");
	CHECK(told.b[1].held && !told.b[0].held);
	pathcache_put(app.cache, how.start);
	CHECK_EQ(explain(app.cache, "/directory/inner"), 0);
	is(2, PATHCACHE_KIND_DIRECTORY, "inner");
	CHECK(!told.b[2].held);
	app_end(&app);
}

static void a_private_start_is_asked_about(void)
{
	struct pathcache_how how = {.size = sizeof(how)}, cached;
	struct pathcache_attr attr;
	struct app app;

	tree_of(&app);
	ts_ns_find(&app.ns, "/directory")->reply_flags = PATHCACHE_REPLY_PRIVATE;
	how.start = ts_get(app.cache, "/directory");
	cached = how;
	cached.flags = PATHCACHE_CACHED;
	CHECK_EQ(pathcache_stat(app.cache, ".", &cached, &attr), -EAGAIN);
	explain_how(app.cache, ".", &how);
	is_missing(0, PATHCACHE_NEEDS_START, "");
	pathcache_put(app.cache, how.start);
	app_end(&app);
}

static void it_is_told_whether_a_memo_answers(void)
{
	const char *path = "/directory/././file";
	struct app app;

	tree_of(&app);
	stat_times(app.cache, path, 0, 1);
	CHECK_EQ(explain(app.cache, path), 0);
	CHECK(!told.b[0].memo && !told.b[2].memo);
	stat_times(app.cache, path, 0, 2);
	CHECK_EQ(explain(app.cache, path), 0);
	CHECK(told.b[0].memo && told.b[2].memo);
	changed(app.cache, "/directory/file");
	CHECK_EQ(explain(app.cache, path), -EAGAIN);
	CHECK(!told.b[0].memo);
	stat_times(app.cache, path, 0, 1);
	CHECK_EQ(explain(app.cache, path), 0);
	CHECK(!told.b[0].memo);
	app_end(&app);
}

static void a_question_that_is_none_is_refused(void)
{
	struct pathcache_how how = {.size = sizeof(how), .flags = UINT64_C(1) << 40};
	struct app app;

	tree_of(&app);
	CHECK_EQ(pathcache_explain(NULL, "/", NULL, take_binding, &told), -EINVAL);
	CHECK_EQ(pathcache_explain(app.cache, NULL, NULL, take_binding, &told), -EINVAL);
	CHECK_EQ(pathcache_explain(app.cache, "/", NULL, NULL, NULL), -EINVAL);
	CHECK_EQ(explain_how(app.cache, "/", &how), -EINVAL);
	CHECK_EQ(explain(app.cache, ""), -ENOENT);
	CHECK_EQ(told.n, 0);
	stat_times(app.cache, "/directory/file", 0, 1);
	CHECK_EQ(explain(app.cache, "/directory/file/"), -ENOTDIR);
	is(2, PATHCACHE_KIND_LEAF, "file");
	how.flags = PATHCACHE_BENEATH;
	CHECK_EQ(explain_how(app.cache, "/directory", &how), -EXDEV);
	app_end(&app);
}

static void a_long_way_is_told_whole(void)
{
	char path[4096] = "/directory";
	struct app app;
	unsigned files = 0;

	tree_of(&app);
	for (unsigned i = 0; i < 150; i++)
		strcat(path, "/../directory");
	strcat(path, "/file");
	stat_times(app.cache, path, 0, 1);
	CHECK_EQ(explain(app.cache, path), 0);
	CHECK(told.n > 300);
	is(told.n - 1, PATHCACHE_KIND_LEAF, "file");
	for (unsigned i = 0; i < told.n; i++)
		files += told.b[i].kind == PATHCACHE_KIND_LEAF;
	CHECK_EQ(files, 1);
	app_end(&app);
}

static int forget_all(void *arg, const struct pathcache_binding *b)
{
	(void)b;
	CHECK_EQ(pathcache_invalidate_all(arg), 0);
	stat_times(arg, "/directory/file", 0, 1);
	return 0;
}

static void the_callback_may_stop_it_and_use_the_cache(void)
{
	struct app app;

	tree_of(&app);
	stat_times(app.cache, "/directory/file", 0, 1);
	memset(&told, 0, sizeof(told));
	told.stop_after = 2;
	CHECK_EQ(pathcache_explain(app.cache, "/directory/file", NULL, take_binding, &told), 0);
	CHECK_EQ(told.n, 2);
	CHECK_EQ(pathcache_explain(app.cache, "/directory/file", NULL, forget_all, app.cache), 0);
	app_end(&app);
}

/* ---- as a query would --------------------------------------------------- */

static const char *const parts[] = {"a", "b", "link", "none", "..", ".", "up", "root"};

static void random_path(struct ts_rng *rng, char *path)
{
	unsigned n = 1 + ts_below(rng, 5);

	*path = '\0';
	if (ts_below(rng, 2))
		strcat(path, "/");
	for (unsigned i = 0; i < n; i++) {
		strcat(path, parts[ts_below(rng, 8)]);
		if (i + 1 < n || ts_below(rng, 6) == 0)
			strcat(path, "/");
	}
}

static void random_tree(struct app *app)
{
	static const char *const dirs[] = {"", "/a", "/b", "/a/a", "/a/b", "/b/a"};

	app_begin(app);
	for (unsigned i = 0; i < 6; i++) {
		char path[64];

		if (i)
			ts_ns_add(&app->ns, dirs[i], S_IFDIR | 0755, NULL);
		snprintf(path, sizeof(path), "%s/link", dirs[i]);
		ts_ns_add(&app->ns, path, S_IFLNK | 0777, i % 2 ? "a" : "b");
		snprintf(path, sizeof(path), "%s/up", dirs[i]);
		ts_ns_add(&app->ns, path, S_IFLNK | 0777, "../b");
		snprintf(path, sizeof(path), "%s/root", dirs[i]);
		ts_ns_add(&app->ns, path, S_IFLNK | 0777, "/a");
	}
	ts_ns_add(&app->ns, "/b/b", S_IFREG | 0644, NULL);
}

static void random_change(struct ts_rng *rng, struct app *app, struct pathcache_entry *start,
                          struct pathcache_entry *aside)
{
	char path[64];

	random_path(rng, path);
	switch (ts_below(rng, 24)) {
	case 0:
		pathcache_invalidate_all(app->cache);
		break;
	case 1:
		pathcache_invalidate_subtree(app->cache, start);
		break;
	case 2:
		pathcache_invalidate_name(app->cache, start, parts[ts_below(rng, 4)]);
		break;
	case 3:
		pathcache_invalidate_name(app->cache, NULL, parts[ts_below(rng, 4)]);
		break;
	case 4:
		pathcache_invalidate_entry(app->cache, start);
		break;
	case 5:
		pathcache_maintain(app->cache, 100);
		break;
	case 6:
	case 7:
		pathcache_invalidate_subtree(app->cache, aside);
		break;
	default:
		pathcache_stat(app->cache, path, NULL, &(struct pathcache_attr){0});
	}
}

static void it_returns_what_a_query_from_memory_returns(void)
{
	static const uint64_t flags[] = {0, PATHCACHE_NOFOLLOW, PATHCACHE_BENEATH,
	                                 PATHCACHE_IN_ROOT, PATHCACHE_DIRECTORY};
	struct ts_rng rng = ts_rng(1);
	unsigned n = ts_scale(200000), from_memory = 0;
	struct pathcache_entry *start, *aside;
	struct app app;

	random_tree(&app);
	start = ts_get(app.cache, "/a/a");
	aside = ts_get(app.cache, "/b");
	for (unsigned i = 0; i < n; i++) {
		struct pathcache_how how = {.size = sizeof(how)};
		struct pathcache_attr attr;
		char path[64];
		int rc;

		random_change(&rng, &app, start, aside);
		random_path(&rng, path);
		how.flags = flags[ts_below(&rng, 5)];
		if (ts_below(&rng, 2))
			how.start = start;
		explain_how(app.cache, path, &how);
		how.flags |= PATHCACHE_CACHED;
		rc = pathcache_stat(app.cache, path, &how, &attr);
		from_memory += rc != -EAGAIN;
		if (rc != told.rc)
			ts_fail(__FILE__, __LINE__, "%s %s: %d, the query %d",
			        how.start ? "/a/a" : "", path, told.rc, rc);
		CHECK_EQ(rc == -EAGAIN,
		         told.n && told.b[told.n - 1].kind == PATHCACHE_KIND_MISSING);
	}
	CHECK(from_memory > n / 4 && from_memory < n - n / 8);
	pathcache_put(app.cache, start);
	pathcache_put(app.cache, aside);
	app_end(&app);
}

static void what_the_kernel_makes_up_is_asked_each_time(void)
{
	struct pathcache_how how = {.size = sizeof(how), .flags = PATHCACHE_CACHED};
	struct pathcache_attr attr;
	struct pathcache *cache;

	REQUIRE(pathcache_open(&cache, "/", NULL) == 0);
	stat_times(cache, "/proc", 0, 1);
	stat_times(cache, "/proc/self", 0, 1);
	CHECK_EQ(pathcache_stat(cache, "/proc", &how, &attr), -EAGAIN);
	explain(cache, "/proc");
	is_missing(2, PATHCACHE_NEEDS_ATTR, "proc");
	explain(cache, "/proc/self");
	is_missing(2, PATHCACHE_NEEDS_KERNEL, "proc");
	CHECK_EQ(pathcache_close(cache), 0);
}

/* ---- ages --------------------------------------------------------------- */

static void an_age_is_that_of_the_binding(void)
{
	uint64_t begin;
	struct app app;

	tree_of(&app);
	begin = ts_now_ns();
	stat_times(app.cache, "/directory/file", 0, 1);
	ts_sleep_us(60000);
	CHECK_EQ(explain(app.cache, "/directory/file"), 0);
	CHECK(told.b[2].age_ms >= 40);
	CHECK(told.b[2].age_ms <= (ts_now_ns() - begin) / 1000000 + 1100);
	app_end(&app);
}

/* ---- all names ---------------------------------------------------------- */

struct dump {
	unsigned n, stop_after;
	struct pathcache_dentry d[TOLD_MAX];
	char name[TOLD_MAX][256];
};

static struct dump dump;

static int take_dentry(void *arg, const struct pathcache_dentry *d)
{
	struct dump *out = arg;

	REQUIRE(out->n < TOLD_MAX && d->len < 256);
	CHECK_EQ(d->size, sizeof(*d));
	CHECK_EQ(strlen(d->name), d->len);
	out->d[out->n] = *d;
	memcpy(out->name[out->n++], d->name, d->len + 1);
	return out->n == out->stop_after;
}

static const struct pathcache_dentry *dumped(const char *name)
{
	static const struct pathcache_dentry none;
	const struct pathcache_dentry *found = NULL;

	for (unsigned i = 0; i < dump.n; i++)
		if (strcmp(dump.name[i], name) == 0) {
			CHECK(!found);
			found = &dump.d[i];
		}
	if (!found)
		ts_fail(__FILE__, __LINE__, "no %s", name);
	return found ? found : &none;
}

static void dump_all(struct pathcache *cache)
{
	memset(&dump, 0, sizeof(dump));
	CHECK_EQ(pathcache_dump(cache, take_dentry, &dump), 0);
}

static void all_names_are_dumped_with_what_they_lead_to(void)
{
	struct pathcache_stats s = {.size = sizeof(s)};
	const struct pathcache_dentry *d, *file, *none;
	struct app app;

	tree_of(&app);
	stat_times(app.cache, "/directory/link", 0, 1);
	stat_times(app.cache, "/directory/none", -ENOENT, 1);
	dump_all(app.cache);
	CHECK_EQ(dump.n, 5);
	d = dumped("directory");
	file = dumped("file");
	none = dumped("none");
	CHECK_EQ(d->dir, dumped("")->object);
	CHECK_EQ(d->type, S_IFDIR);
	CHECK_EQ(d->flags, 0);
	CHECK_EQ(file->dir, d->object);
	CHECK_EQ(file->type, S_IFREG);
	CHECK_EQ(file->ino, ts_ns_find(&app.ns, "/directory/file")->id);
	CHECK_EQ(file->object, object_of(app.cache, "/directory/file"));
	CHECK_EQ(none->flags, PATHCACHE_DENTRY_NEGATIVE);
	CHECK(none->object == 0 && none->dir == d->object && none->object_bytes == 0);
	CHECK_EQ(dumped("link")->type, S_IFLNK);
	CHECK_EQ(dumped("")->flags, PATHCACHE_DENTRY_LOOSE);
	pathcache_get_stats(app.cache, &s);
	CHECK_EQ(none->bytes, s.negative_bytes);
	CHECK_EQ(file->bytes + d->bytes + dumped("link")->bytes + dumped("")->bytes,
	         s.dentry_bytes);
	CHECK_EQ(file->object_bytes + d->object_bytes + dumped("link")->object_bytes +
	                 dumped("")->object_bytes,
	         s.node_bytes);
	app_end(&app);
}

static void marks_of_a_dumped_name_follow_its_life(void)
{
	struct pathcache_entry *entry;
	struct app app;

	tree_of(&app);
	stat_times(app.cache, "/directory/file", 0, 1);
	CHECK_EQ(explain(app.cache, "/directory/file"), 0);
	dump_all(app.cache);
	CHECK_EQ(dumped("file")->flags, 0);
	stat_times(app.cache, "/directory/file", 0, 1);
	dump_all(app.cache);
	CHECK_EQ(dumped("file")->flags, PATHCACHE_DENTRY_USED);
	entry = ts_get(app.cache, "/directory/file");
	pathcache_ref(app.cache, entry);
	dump_all(app.cache);
	CHECK(dumped("file")->flags & PATHCACHE_DENTRY_HELD);
	CHECK_EQ(dumped("file")->references, 2);
	CHECK_EQ(dumped("directory")->references, 0);
	pathcache_put(app.cache, entry);
	pathcache_put(app.cache, entry);
	CHECK_EQ(pathcache_invalidate_all(app.cache), 0);
	dump_all(app.cache);
	CHECK_EQ(dumped("file")->flags, PATHCACHE_DENTRY_USED | PATHCACHE_DENTRY_STALE);
	app_end(&app);
}

static int churn_name(void *arg, const struct pathcache_dentry *d)
{
	CHECK_EQ(pathcache_invalidate_name(arg, NULL, "directory"), 0);
	return d->len == 0;
}

static void a_dump_stops_and_its_callback_may_use_the_cache(void)
{
	struct app app;

	tree_of(&app);
	stat_times(app.cache, "/directory/file", 0, 1);
	memset(&dump, 0, sizeof(dump));
	dump.stop_after = 2;
	CHECK_EQ(pathcache_dump(app.cache, take_dentry, &dump), 0);
	CHECK_EQ(dump.n, 2);
	CHECK_EQ(pathcache_dump(app.cache, churn_name, app.cache), 0);
	CHECK_EQ(pathcache_dump(app.cache, NULL, NULL), -EINVAL);
	CHECK_EQ(pathcache_dump(NULL, take_dentry, &dump), -EINVAL);
	app_end(&app);
}

#define STEADY 300u
#define PASSING 2000u

struct churn {
	struct pathcache *cache;
	_Atomic bool stop;
};

/* Names come and go, so that slots are given out again and their table grows. */
static void churn(void *arg)
{
	struct churn *c = arg;
	struct ts_rng rng = ts_rng(2);
	struct pathcache_attr attr;
	char path[32];

	while (!atomic_load(&c->stop)) {
		ts_quiescent();
		snprintf(path, sizeof(path), "/passing-%u", ts_below(&rng, PASSING));
		CHECK_EQ(pathcache_stat(c->cache, path, NULL, &attr), -ENOENT);
		if (ts_below(&rng, 2))
			CHECK_EQ(pathcache_invalidate_name(c->cache, NULL, path + 1), 0);
		if (ts_below(&rng, 64) == 0)
			pathcache_maintain(c->cache, 100);
	}
}

static int count_steady(void *arg, const struct pathcache_dentry *d)
{
	unsigned *seen = arg, i;

	if (sscanf(d->name, "steady-%u", &i) == 1) {
		REQUIRE(i < STEADY);
		seen[i]++;
	} else {
		CHECK(d->len == 0 || strncmp(d->name, "passing-", 8) == 0);
	}
	return 0;
}

static void a_name_that_stays_is_dumped_once_whatever_comes_and_goes(void)
{
	uint64_t end = ts_now_ns() + (uint64_t)(ts_seconds(1.0) * 1e9);
	struct ts_thread thread;
	struct churn c;
	struct app app;
	char path[32];

	app_begin(&app);
	for (unsigned i = 0; i < STEADY; i++) {
		snprintf(path, sizeof(path), "/steady-%u", i);
		stat_times(app.cache, path, -ENOENT, 1);
	}
	c.cache = app.cache;
	atomic_init(&c.stop, false);
	ts_thread_start(&thread, churn, &c);
	while (ts_now_ns() < end) {
		unsigned seen[STEADY] = {0};

		ts_quiescent();
		CHECK_EQ(pathcache_dump(app.cache, count_steady, seen), 0);
		for (unsigned i = 0; i < STEADY; i++)
			CHECK_EQ(seen[i], 1);
	}
	atomic_store(&c.stop, true);
	ts_thread_join(&thread);
	app_end(&app);
}

/* An allocator that takes its time, with the change lock held, once it is told to. */
struct slow {
	atomic_bool sleep, asleep;
};

static void *alloc_slow(void *ctx, size_t size)
{
	struct slow *slow = ctx;

	if (atomic_exchange(&slow->sleep, false)) {
		atomic_store(&slow->asleep, true);
		ts_sleep_us(100000);
	}
	return aligned_alloc(64, (size + 63) & ~(size_t)63);
}

static void free_slow(void *ctx, void *ptr, size_t size)
{
	(void)ctx, (void)size;
	free(ptr);
}

static int age_is_small(void *arg, const struct pathcache_dentry *d)
{
	(void)arg;
	CHECK(d->age_ms < 600000);
	return 0;
}

static void a_name_learned_while_a_dump_waits_is_not_older_than_time(void)
{
	struct slow slow = {.sleep = false};
	struct pathcache_allocator allocator = {alloc_slow, free_slow, &slow};
	struct pathcache_options opt;
	struct ts_gate *gate;
	struct asker asker = {0};
	struct app app;

	pathcache_options_init(&opt);
	opt.allocator = &allocator;
	app_begin_with(&app, &opt);
	ts_ns_add(&app.ns, "name", S_IFREG | 0644, NULL);
	ts_sleep_us(1100000); /* so that a time is noted with the name */
	gate = ts_gate_close(&app.ns, TS_GATE_AFTER, TS_LOOKUP, "name");
	asker_start(&asker, app.cache, "name");
	REQUIRE(ts_gate_wait(&app.ns, gate, 1));
	atomic_store(&slow.sleep, true);
	ts_gate_open(&app.ns, gate);
	while (!atomic_load(&slow.asleep))
		ts_sleep_us(100);
	CHECK_EQ(pathcache_dump(app.cache, age_is_small, NULL), 0);
	CHECK_EQ(asker_finish(&asker), 0);
	app_end(&app);
}

static const struct ts_case cases[] = {
	TS_CASE(each_binding_is_told_as_it_is_walked),
	TS_CASE(an_absent_name_is_told_as_such),
	TS_CASE(nothing_is_asked_nor_counted),
	TS_CASE(what_would_be_asked_is_told_last),
	TS_CASE(a_start_is_told_with_the_directory_it_is_in),
	TS_CASE(a_private_start_is_asked_about),
	TS_CASE(it_is_told_whether_a_memo_answers),
	TS_CASE(a_question_that_is_none_is_refused),
	TS_CASE(a_long_way_is_told_whole),
	TS_CASE(the_callback_may_stop_it_and_use_the_cache),
	TS_CASE(it_returns_what_a_query_from_memory_returns),
	TS_CASE(what_the_kernel_makes_up_is_asked_each_time),
	TS_CASE(an_age_is_that_of_the_binding),
	TS_CASE(a_name_learned_while_a_dump_waits_is_not_older_than_time),
	TS_CASE(all_names_are_dumped_with_what_they_lead_to),
	TS_CASE(marks_of_a_dumped_name_follow_its_life),
	TS_CASE(a_dump_stops_and_its_callback_may_use_the_cache),
	TS_CASE(a_name_that_stays_is_dumped_once_whatever_comes_and_goes),
};

int main(int argc, char **argv)
{
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
