/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who listens is told of changes once they are effective. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scene.h"

#define TOLD_MAX 32u

struct told {
	uint32_t kind;
	char path[64]; /* of the entry, and the name */
};

struct ear {
	struct told told[TOLD_MAX];
	unsigned n;
	/* Asked in the callback. */
	const char *ask;
	int answers[TOLD_MAX];
	/* Announced in the callback. */
	const char *announce;
};

static void hear(void *arg, const struct pathcache_change *change)
{
	struct ear *ear = arg;
	/* What is asked for below may be told as well. */
	unsigned at = ear->n++;
	struct told *t = &ear->told[at];
	ssize_t len = 0;

	CHECK_EQ(change->size, sizeof(*change));
	REQUIRE(at < TOLD_MAX);
	memset(t, 0, sizeof(*t));
	t->kind = change->kind;
	CHECK_EQ(change->entry == NULL, change->kind == PATHCACHE_CHANGE_ALL);
	CHECK_EQ(change->name != NULL, change->kind == PATHCACHE_CHANGE_NAME);
	if (change->entry)
		len = pathcache_entry_path(change->cache, change->entry, t->path, sizeof(t->path));
	if (len < 0)
		len = snprintf(t->path, sizeof(t->path), "?");
	if (change->name) {
		CHECK_EQ(strlen(change->name), change->len);
		snprintf(t->path + len, sizeof(t->path) - (size_t)len, ":%s", change->name);
	}
	if (ear->ask)
		ear->answers[at] = ts_stat_err(change->cache, ear->ask);
	if (ear->announce)
		CHECK_EQ(pathcache_invalidate_name(change->cache, NULL, ear->announce), 0);
}

static void begin(struct app *app, struct ear *ear)
{
	struct pathcache_options opt;

	memset(ear, 0, sizeof(*ear));
	pathcache_options_init(&opt);
	opt.listener = hear;
	opt.listener_arg = ear;
	app_begin_with(app, &opt);
	ts_ns_add(&app->ns, "d", S_IFDIR | 0755, NULL);
	ts_ns_add(&app->ns, "d/f", S_IFREG | 0644, NULL);
	CHECK_EQ(ts_stat_err(app->cache, "d/f"), 0);
	CHECK_EQ(ear->n, 0);
}

static void heard(struct ear *ear, uint32_t kind, const char *path)
{
	static const struct told none;
	struct told t = ear->n ? ear->told[0] : none;

	CHECK(ear->n > 0);
	CHECK_EQ(t.kind, kind);
	if (strcmp(t.path, path) != 0)
		ts_fail(__FILE__, __LINE__, "told of %s, not %s", t.path, path);
	if (ear->n)
		memmove(ear->told, ear->told + 1, --ear->n * sizeof(t));
}

static void every_change_is_told(void)
{
	struct pathcache_entry *d, *f;
	struct app app;
	struct ear ear;

	begin(&app, &ear);
	d = ts_get(app.cache, "d");
	f = ts_get(app.cache, "d/f");
	CHECK_EQ(pathcache_invalidate_name(app.cache, NULL, "n"), 0);
	heard(&ear, PATHCACHE_CHANGE_NAME, "/:n");
	CHECK_EQ(pathcache_invalidate_path(app.cache, "d/n"), 0);
	heard(&ear, PATHCACHE_CHANGE_NAME, "/d:n");
	CHECK_EQ(pathcache_invalidate_path(app.cache, "none/n"), 0);
	heard(&ear, PATHCACHE_CHANGE_ALL, "");
	CHECK_EQ(ts_stat_err(app.cache, "d/f"), 0);
	CHECK_EQ(pathcache_invalidate_entry(app.cache, f), 0);
	heard(&ear, PATHCACHE_CHANGE_OBJECT, "/d/f");
	CHECK_EQ(pathcache_changed(app.cache, f, NULL), 0);
	heard(&ear, PATHCACHE_CHANGE_OBJECT, "/d/f");
	CHECK_EQ(pathcache_created(app.cache, d, "n", NULL), 0);
	heard(&ear, PATHCACHE_CHANGE_NAME, "/d:n");
	CHECK_EQ(pathcache_removed(app.cache, d, "n"), 0);
	heard(&ear, PATHCACHE_CHANGE_NAME, "/d:n");
	ts_ns_link(&app.ns, "d/f", "d/g");
	CHECK_EQ(pathcache_linked(app.cache, f, d, "g"), 0);
	heard(&ear, PATHCACHE_CHANGE_NAME, "/d:g");
	heard(&ear, PATHCACHE_CHANGE_OBJECT, "/d/g");
	ts_ns_rename(&app.ns, "d/g", "h");
	CHECK_EQ(pathcache_renamed(app.cache, d, "g", NULL, "h", 0), 0);
	heard(&ear, PATHCACHE_CHANGE_NAME, "/d:g");
	heard(&ear, PATHCACHE_CHANGE_NAME, "/:h");
	CHECK_EQ(pathcache_invalidate_subtree(app.cache, d), 0);
	CHECK_EQ(ear.told[0].kind, PATHCACHE_CHANGE_SUBTREE);
	ear.n = 0;
	CHECK_EQ(pathcache_invalidate_all(app.cache), 0);
	heard(&ear, PATHCACHE_CHANGE_ALL, "");
	CHECK_EQ(pathcache_removed(app.cache, d, ".."), -EINVAL);
	CHECK_EQ(ear.n, 0);
	pathcache_put(app.cache, d);
	pathcache_put(app.cache, f);
	app_end(&app);
}

/* K23 */
static void who_is_told_is_not_answered_by_what_was(void)
{
	struct pathcache_entry *d;
	struct app app;
	struct ear ear;

	for (unsigned way = 0; way < 5; way++) {
		begin(&app, &ear);
		d = ts_get(app.cache, "d");
		ear.ask = "./././././././d/f";
		for (int hot = 0; hot < 3; hot++)
			CHECK_EQ(ts_stat_err(app.cache, ear.ask), 0);
		ts_ns_remove(&app.ns, "d/f");
		if (way == 0)
			CHECK_EQ(pathcache_removed(app.cache, d, "f"), 0);
		else if (way == 1)
			CHECK_EQ(pathcache_invalidate_name(app.cache, d, "f"), 0);
		else if (way == 2)
			CHECK_EQ(pathcache_invalidate_subtree(app.cache, d), 0);
		else if (way == 3)
			CHECK_EQ(pathcache_invalidate_all(app.cache), 0);
		else
			CHECK_EQ(pathcache_renamed(app.cache, d, "f", NULL, "f", 0), 0);
		CHECK(ear.n > 0);
		for (unsigned i = 0; i < ear.n; i++)
			CHECK_EQ(ear.answers[i], -ENOENT);
		pathcache_put(app.cache, d);
		app_end(&app);
	}
}

static void who_changes_what_he_hears_of_comes_to_an_end(void)
{
	struct app app;
	struct ear ear;

	begin(&app, &ear);
	ear.announce = "other";
	CHECK_EQ(pathcache_invalidate_name(app.cache, NULL, "n"), 0);
	CHECK_EQ(ear.n, 8);
	heard(&ear, PATHCACHE_CHANGE_NAME, "/:n");
	for (int i = 0; i < 7; i++)
		heard(&ear, PATHCACHE_CHANGE_NAME, "/:other");
	app_end(&app);
}

/* What nobody has announced, and an answer of the backend tells. */
static void what_the_cache_notices_itself_is_told(void)
{
	struct app app;
	struct ear ear;

	begin(&app, &ear);
	CHECK_EQ(pathcache_invalidate_all(app.cache), 0);
	ear.n = 0;
	ts_ns_set(&app.ns, "d/f", 0600, 3);
	CHECK_EQ(ts_stat_err(app.cache, "d/f"), 0);
	heard(&ear, PATHCACHE_CHANGE_OBJECT, "/d/f");
	CHECK_EQ(ear.n, 0);
	CHECK_EQ(pathcache_invalidate_all(app.cache), 0);
	ear.n = 0;
	ear.ask = "d/f";
	ts_ns_remove(&app.ns, "d/f");
	CHECK_EQ(ts_stat_err(app.cache, "d/f"), -ENOENT);
	heard(&ear, PATHCACHE_CHANGE_NAME, "/d:f");
	CHECK_EQ(ear.answers[0], -ENOENT);
	CHECK_EQ(ear.n, 0);
	/* The same answer is no news. */
	CHECK_EQ(pathcache_invalidate_all(app.cache), 0);
	ear.n = 0;
	CHECK_EQ(ts_stat_err(app.cache, "d/f"), -ENOENT);
	CHECK_EQ(ear.n, 0);
	app_end(&app);
}

static const struct ts_case cases[] = {
	TS_CASE(every_change_is_told),
	TS_CASE(who_is_told_is_not_answered_by_what_was),
	TS_CASE(what_the_cache_notices_itself_is_told),
	TS_CASE(who_changes_what_he_hears_of_comes_to_an_end),
};

int main(int argc, char **argv)
{
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
