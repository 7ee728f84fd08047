/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Statistics: what each number counts, and that the text says the same.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "scene.h"

#define FILE_PATH "/directory/././file" /* long enough for a memo */
#define NONE_PATH "/directory/././none"

static struct pathcache_stats stats_of(struct pathcache *cache)
{
	struct pathcache_stats s = {.size = sizeof(s)};

	REQUIRE(pathcache_get_stats(cache, &s) == 0);
	return s;
}

static void stat_times(struct pathcache *cache, const char *path, int want, unsigned n)
{
	struct pathcache_attr attr;

	while (n--)
		CHECK_EQ(pathcache_stat(cache, path, NULL, &attr), want);
}

static int stat_cached(struct pathcache *cache, const char *path)
{
	struct pathcache_how how = {.size = sizeof(how), .flags = PATHCACHE_CACHED};
	struct pathcache_attr attr;

	return pathcache_stat(cache, path, &how, &attr);
}

/* ---- counters ----------------------------------------------------------- */

static void a_hit_is_by_memo_or_by_walking_and_negative_or_not(void)
{
	const char *paths[] = {FILE_PATH, NONE_PATH, NONE_PATH};
	struct pathcache_attr attrs[3];
	struct pathcache_stats s;
	struct app app;
	int results[3];

	app_begin(&app);
	ts_ns_add(&app.ns, "/directory", S_IFDIR | 0755, NULL);
	ts_ns_add(&app.ns, "/directory/file", S_IFREG | 0644, NULL);
	stat_times(app.cache, FILE_PATH, 0, 4);
	stat_times(app.cache, NONE_PATH, -ENOENT, 5);
	s = stats_of(app.cache);
	CHECK_EQ(s.lookups, 9);
	CHECK_EQ(s.hits, 7);
	CHECK_EQ(s.walk_hits, 2); /* the second of each, which is remembered */
	CHECK_EQ(s.memo_hits, 5);
	CHECK_EQ(s.negative_hits, 4);
	CHECK_EQ(pathcache_stat_many(app.cache, paths, 3, NULL, attrs, results), 0);
	s = stats_of(app.cache);
	CHECK_EQ(s.memo_hits, 8);
	CHECK_EQ(s.negative_hits, 6);
	CHECK_EQ(s.hits, s.memo_hits + s.walk_hits);
	app_end(&app);
}

static void a_query_that_may_not_ask_is_declined_and_no_hit(void)
{
	struct pathcache_stats s;
	struct app app;

	app_begin(&app);
	ts_ns_add(&app.ns, "/file", S_IFREG | 0644, NULL);
	CHECK_EQ(stat_cached(app.cache, "/file"), -EAGAIN);
	s = stats_of(app.cache);
	CHECK_EQ(s.lookups, 1);
	CHECK_EQ(s.declined, 1);
	CHECK_EQ(s.hits, 0);
	stat_times(app.cache, "/file", 0, 1);
	CHECK_EQ(stat_cached(app.cache, "/file"), 0);
	s = stats_of(app.cache);
	CHECK_EQ(s.declined, 1);
	CHECK_EQ(s.hits, 1);
	app_end(&app);
}

static void each_question_is_counted_by_what_was_missing(void)
{
	struct pathcache_entry *entry;
	struct pathcache_stats s;
	struct ts_object *asks;
	struct app app;

	app_begin(&app);
	ts_ns_add(&app.ns, "/file", S_IFREG | 0644, NULL);
	ts_ns_add(&app.ns, "/link", S_IFLNK | 0777, "file")->late_link = true;
	asks = ts_ns_add(&app.ns, "/asks", S_IFDIR | 0755, NULL);
	asks->reply_flags = PATHCACHE_REPLY_ASK_ACCESS;
	ts_ns_add(&app.ns, "/asks/file", S_IFREG | 0644, NULL);
	stat_times(app.cache, "/file", 0, 1);
	s = stats_of(app.cache);
	CHECK_EQ(s.misses, 1);
	CHECK_EQ(s.asked_attr + s.asked_text + s.asked_search + s.asked_last + s.asked_start, 0);
	entry = ts_get(app.cache, "/file");
	CHECK_EQ(pathcache_invalidate_entry(app.cache, entry), 0);
	pathcache_put(app.cache, entry);
	stat_times(app.cache, "/file", 0, 2);
	CHECK_EQ(stats_of(app.cache).asked_attr, 1);
	stat_times(app.cache, "/link", 0, 2);
	CHECK_EQ(stats_of(app.cache).asked_text, 1);
	stat_times(app.cache, "/asks/file", 0, 2);
	CHECK_EQ(stats_of(app.cache).asked_search, 2);
	CHECK_EQ(pathcache_access(app.cache, "/asks", 4, NULL), 0);
	s = stats_of(app.cache);
	CHECK_EQ(s.asked_last, 1);
	CHECK_EQ(s.asked_access, 3);
	CHECK_EQ(s.misses, 4);
	CHECK_EQ(pathcache_invalidate_all(app.cache), 0);
	stat_times(app.cache, "/file", 0, 1);
	s = stats_of(app.cache);
	CHECK_EQ(s.misses, 5);
	app_end(&app);
}

static void a_start_that_may_have_moved_is_counted(void)
{
	struct pathcache_how how = {.size = sizeof(how)};
	struct pathcache_attr attr;
	struct app app;

	app_begin(&app);
	ts_ns_add(&app.ns, "/directory", S_IFDIR | 0755, NULL);
	ts_ns_add(&app.ns, "/directory/file", S_IFREG | 0644, NULL);
	how.start = ts_get(app.cache, "/directory");
	changed(app.cache, "/directory");
	CHECK_EQ(pathcache_stat(app.cache, "file", &how, &attr), 0);
	CHECK_EQ(stats_of(app.cache).asked_start, 1);
	CHECK_EQ(pathcache_stat(app.cache, "../directory", &how, &attr), 0);
	CHECK_EQ(stats_of(app.cache).asked_parent, 1);
	pathcache_put(app.cache, how.start);
	app_end(&app);
}

struct taker {
	struct pathcache *cache;
	struct pathcache_entry *entry;
};

static void take_and_give(void *arg)
{
	struct taker *t = arg;

	pathcache_ref(t->cache, t->entry);
	pathcache_put(t->cache, t->entry);
	pathcache_put(t->cache, t->entry);
}

static void references_are_counted_whoever_gives_them_back(void)
{
	struct ts_thread thread;
	struct taker taker;
	struct app app;

	app_begin(&app);
	ts_ns_add(&app.ns, "/file", S_IFREG | 0644, NULL);
	CHECK_EQ(stats_of(app.cache).held, 0);
	taker.cache = app.cache;
	taker.entry = ts_get(app.cache, "/file");
	pathcache_ref(app.cache, taker.entry);
	CHECK_EQ(stats_of(app.cache).held, 2);
	changed(app.cache, "/file");
	CHECK_EQ(stats_of(app.cache).held, 2);
	ts_thread_start(&thread, take_and_give, &taker);
	ts_thread_join(&thread);
	CHECK_EQ(stats_of(app.cache).held, 1);
	pathcache_put(app.cache, taker.entry);
	CHECK_EQ(stats_of(app.cache).held, 0);
	app_end(&app);
}

static void bytes_are_told_by_what_they_are_for(void)
{
	struct pathcache_options opt;
	struct pathcache_stats s, then;
	struct app app;

	pathcache_options_init(&opt);
	opt.budget = 12345678;
	app_begin_with(&app, &opt);
	ts_ns_add(&app.ns, "/directory", S_IFDIR | 0755, NULL);
	ts_ns_add(&app.ns, "/directory/file", S_IFREG | 0644, NULL);
	then = stats_of(app.cache);
	stat_times(app.cache, NONE_PATH, -ENOENT, 1);
	s = stats_of(app.cache);
	CHECK(s.negative_bytes > then.negative_bytes && s.dentry_bytes > then.dentry_bytes);
	CHECK(s.node_bytes > then.node_bytes && s.table_bytes > 0 && s.other_bytes > 0);
	then = s;
	stat_times(app.cache, FILE_PATH, 0, 2);
	s = stats_of(app.cache);
	CHECK(s.negative_bytes == then.negative_bytes && s.dentry_bytes > then.dentry_bytes);
	CHECK(s.memo_bytes > then.memo_bytes);
	CHECK_EQ(s.bytes, s.dentry_bytes + s.negative_bytes + s.node_bytes + s.listing_bytes +
	                          s.memo_bytes + s.table_bytes + s.other_bytes);
	CHECK_EQ(s.budget, 12345678);
	app_end(&app);
}

static void a_struct_of_another_version_is_filled_as_far_as_it_goes(void)
{
	struct {
		struct pathcache_stats s;
		uint64_t beyond;
	} larger = {.s.size = sizeof(larger), .beyond = 7};
	struct pathcache_stats s;
	struct app app;

	app_begin(&app);
	stat_times(app.cache, "/none", -ENOENT, 2);
	memset(&s, 0xff, sizeof(s));
	s.size = offsetof(struct pathcache_stats, hits);
	CHECK_EQ(pathcache_get_stats(app.cache, &s), 0);
	CHECK_EQ(s.lookups, 2);
	CHECK(s.hits == UINT64_MAX);
	CHECK_EQ(pathcache_get_stats(app.cache, &larger.s), 0);
	CHECK_EQ(larger.s.hits, 1);
	CHECK_EQ(larger.beyond, 0);
	s.size = 0;
	CHECK_EQ(pathcache_get_stats(app.cache, &s), -EINVAL);
	app_end(&app);
}

/* ---- the text ----------------------------------------------------------- */

#define SAMPLES_MAX 128

/* What a strict reader of the format, version 0.0.4, makes of a text. */
struct reader {
	const char *p;
	char family[96]; /* of the last # TYPE */
	char type[16];
	char helped[96]; /* of the last # HELP */
	unsigned nfamilies, nsamples;
	char families[SAMPLES_MAX][96];
	char names[SAMPLES_MAX][160]; /* with labels */
	uint64_t values[SAMPLES_MAX];
};

static size_t name_len(const char *p)
{
	size_t n = 0;

	if (isdigit((unsigned char)p[0]))
		return 0;
	while (isalnum((unsigned char)p[n]) || p[n] == '_' || p[n] == ':')
		n++;
	return n;
}

/* Read a name into out, which has room for 96. */
static void read_name(struct reader *r, char *out)
{
	size_t n = name_len(r->p);

	REQUIRE(n > 0 && n < 96);
	memcpy(out, r->p, n);
	out[n] = '\0';
	r->p += n;
}

static void read_text(struct reader *r, const char *text)
{
	REQUIRE(strncmp(r->p, text, strlen(text)) == 0);
	r->p += strlen(text);
}

static void read_line_end(struct reader *r)
{
	REQUIRE(*r->p == '\n');
	r->p++;
}

static void read_help(struct reader *r)
{
	read_text(r, "# HELP ");
	read_name(r, r->helped);
	read_text(r, " ");
	REQUIRE(*r->p != '\n');
	while (*r->p != '\n') {
		REQUIRE(*r->p && *r->p != '\\');
		r->p++;
	}
	read_line_end(r);
}

static bool ends_in(const char *text, const char *tail)
{
	size_t len = strlen(text), n = strlen(tail);

	return len > n && strcmp(text + len - n, tail) == 0;
}

/* At most one TYPE a name, and its samples in one group behind it. */
static void read_type(struct reader *r)
{
	read_text(r, "# TYPE ");
	read_name(r, r->family);
	REQUIRE(strcmp(r->family, r->helped) == 0);
	for (unsigned i = 0; i < r->nfamilies; i++)
		REQUIRE(strcmp(r->families[i], r->family) != 0);
	REQUIRE(r->nfamilies < SAMPLES_MAX);
	strcpy(r->families[r->nfamilies++], r->family);
	read_text(r, " ");
	read_name(r, r->type);
	REQUIRE(strcmp(r->type, "counter") == 0 || strcmp(r->type, "gauge") == 0);
	/* By the convention, not by the format. */
	CHECK_EQ(ends_in(r->family, "_total"), *r->type == 'c');
	CHECK(strncmp(r->family, "pathcache_", sizeof("pathcache_") - 1) == 0);
	read_line_end(r);
}

static void read_label(struct reader *r)
{
	char label[96];

	read_text(r, "{");
	read_name(r, label);
	read_text(r, "=\"");
	while (*r->p != '"') {
		REQUIRE(*r->p && *r->p != '\n' && *r->p != '\\');
		r->p++;
	}
	read_text(r, "\"}");
}

static void read_sample(struct reader *r)
{
	const char *begin = r->p;
	char name[96], *end;

	read_name(r, name);
	REQUIRE(strcmp(name, r->family) == 0);
	if (*r->p == '{')
		read_label(r);
	REQUIRE(r->nsamples < SAMPLES_MAX);
	REQUIRE((size_t)(r->p - begin) < sizeof(r->names[0]));
	memcpy(r->names[r->nsamples], begin, (size_t)(r->p - begin));
	for (unsigned i = 0; i < r->nsamples; i++)
		REQUIRE(strcmp(r->names[i], r->names[r->nsamples]) != 0);
	read_text(r, " ");
	REQUIRE(isdigit((unsigned char)*r->p));
	r->values[r->nsamples++] = strtoull(r->p, &end, 10);
	r->p = end;
	read_line_end(r);
}

static void read_all(struct reader *r, const char *text)
{
	memset(r, 0, sizeof(*r));
	r->p = text;
	while (*r->p) {
		if (strncmp(r->p, "# HELP ", 7) == 0) {
			read_help(r);
			read_type(r);
		}
		read_sample(r);
	}
}

static uint64_t value_of(const struct reader *r, const char *name)
{
	for (unsigned i = 0; i < r->nsamples; i++)
		if (strcmp(r->names[i], name) == 0)
			return r->values[i];
	ts_fail(__FILE__, __LINE__, "no %s", name);
	return UINT64_MAX;
}

#define FIELD(name, field) \
	{ \
		name, offsetof(struct pathcache_stats, field) \
	}

/* Spelt out again, so that a row of the library's table that is wrong shows. */
static const struct {
	const char *name;
	size_t at;
} fields[] = {
	FIELD("pathcache_lookups_total", lookups),
	FIELD("pathcache_hits_total{by=\"memo\"}", memo_hits),
	FIELD("pathcache_hits_total{by=\"walk\"}", walk_hits),
	FIELD("pathcache_negative_hits_total", negative_hits),
	FIELD("pathcache_declined_total", declined),
	FIELD("pathcache_retries_total", retries),
	FIELD("pathcache_locked_walks_total", locked_walks),
	FIELD("pathcache_fallbacks_total{reason=\"name\"}", misses),
	FIELD("pathcache_fallbacks_total{reason=\"start\"}", asked_start),
	FIELD("pathcache_fallbacks_total{reason=\"parent\"}", asked_parent),
	FIELD("pathcache_fallbacks_total{reason=\"text\"}", asked_text),
	FIELD("pathcache_fallbacks_total{reason=\"attr\"}", asked_attr),
	FIELD("pathcache_fallbacks_total{reason=\"search\"}", asked_search),
	FIELD("pathcache_fallbacks_total{reason=\"access\"}", asked_last),
	FIELD("pathcache_fallbacks_total{reason=\"path\"}", asked_path),
	FIELD("pathcache_fallbacks_total{reason=\"kernel\"}", passthrough),
	FIELD("pathcache_coalesced_total", coalesced),
	FIELD("pathcache_gave_up_total", gave_up),
	FIELD("pathcache_backend_calls_total", backend_calls),
	FIELD("pathcache_backend_errors_total", backend_errors),
	FIELD("pathcache_asked_access_total", asked_access),
	FIELD("pathcache_fills_total", fills),
	FIELD("pathcache_stale_fills_total", stale_fills),
	FIELD("pathcache_uncached_total", uncached),
	FIELD("pathcache_over_budget_total", over_budget),
	FIELD("pathcache_listings_total", listings_made),
	FIELD("pathcache_listings_ended_total", listings_ended),
	FIELD("pathcache_listed_hits_total", listed_hits),
	FIELD("pathcache_listings", listings),
	FIELD("pathcache_evictions_total{kind=\"positive\"}", evicted),
	FIELD("pathcache_evictions_total{kind=\"negative\"}", evicted_negative),
	FIELD("pathcache_eviction_looks_total", evict_effort),
	FIELD("pathcache_eviction_held_total", evict_held),
	FIELD("pathcache_invalidations_total", invalidations),
	FIELD("pathcache_announced_total", announced),
	FIELD("pathcache_grace_periods_total", grace_periods),
	FIELD("pathcache_memo_stamps_total", memo_stamps),
	FIELD("pathcache_dentries", dentries),
	FIELD("pathcache_negatives", negatives),
	FIELD("pathcache_nodes", nodes),
	FIELD("pathcache_memos", memos),
	FIELD("pathcache_dirfds", dirfds),
	FIELD("pathcache_held_references", held),
	FIELD("pathcache_bytes{class=\"dentry\"}", dentry_bytes),
	FIELD("pathcache_bytes{class=\"negative\"}", negative_bytes),
	FIELD("pathcache_bytes{class=\"node\"}", node_bytes),
	FIELD("pathcache_bytes{class=\"listing\"}", listing_bytes),
	FIELD("pathcache_bytes{class=\"memo\"}", memo_bytes),
	FIELD("pathcache_bytes{class=\"table\"}", table_bytes),
	FIELD("pathcache_bytes{class=\"other\"}", other_bytes),
	FIELD("pathcache_deferred_bytes", deferred_bytes),
	FIELD("pathcache_budget_bytes", budget),
	FIELD("pathcache_events_total", events),
	FIELD("pathcache_events_applied_total", events_applied),
	FIELD("pathcache_event_overflows_total", events_overflows),
	FIELD("pathcache_watch_failures_total{reason=\"limit\"}", watch_limits),
	FIELD("pathcache_watch_failures_total{reason=\"other\"}", watch_failures),
	FIELD("pathcache_watches", watches),
	FIELD("pathcache_event_source", event_source),
	FIELD("pathcache_mount_changes_total", mount_changes),
	FIELD("pathcache_expired_total", expired),
	FIELD("pathcache_revalidated_total", revalidated),
	FIELD("pathcache_stale_served_total", stale_served),
};

#define FIELDS (sizeof(fields) / sizeof(fields[0]))

/* A cache with something to tell of in many of its numbers. */
static struct pathcache_entry *lived_in(struct scene *scene)
{
	struct pathcache_entry *entry;

	ts_dir(&scene->tree, "directory", 0755);
	ts_file(&scene->tree, "directory/file", 0644, "text");
	stat_times(scene->cache, FILE_PATH, 0, 5);
	stat_times(scene->cache, NONE_PATH, -ENOENT, 4);
	CHECK_EQ(stat_cached(scene->cache, "/other"), -EAGAIN);
	changed(scene->cache, "/directory/file");
	entry = ts_get(scene->cache, FILE_PATH);
	CHECK_EQ(pathcache_maintain(scene->cache, 1000), 0);
	return entry;
}

static void the_text_tells_every_number_once(void)
{
	static struct reader r;
	struct pathcache_entry *entry;
	struct pathcache_stats s;
	struct scene scene;
	char text[8192];
	ssize_t len;

	scene_begin(&scene);
	entry = lived_in(&scene);
	s = stats_of(scene.cache);
	len = pathcache_stats_text(scene.cache, text, sizeof(text));
	REQUIRE(len > 0 && (size_t)len < sizeof(text));
	CHECK_EQ(strlen(text), len);
	read_all(&r, text);
	CHECK_EQ(r.nsamples, FIELDS);
	for (unsigned i = 0; i < FIELDS; i++) {
		uint64_t want;

		memcpy(&want, (const char *)&s + fields[i].at, sizeof(want));
		if (value_of(&r, fields[i].name) != want)
			ts_fail(__FILE__, __LINE__, "%s", fields[i].name);
	}
	CHECK(s.memo_hits && s.walk_hits && s.negative_hits && s.held && s.declined);
	pathcache_put(scene.cache, entry);
	scene_end(&scene);
}

static void text_that_does_not_fit_is_cut_off_and_its_length_told(void)
{
	struct app app;
	char whole[8192], text[8192];
	ssize_t len;

	app_begin(&app);
	len = pathcache_stats_text(app.cache, whole, sizeof(whole));
	REQUIRE(len > 0);
	CHECK_EQ(pathcache_stats_text(app.cache, NULL, 0), len);
	for (size_t size = 1; size <= (size_t)len + 1; size += size < 300 ? 1 : 97) {
		memset(text, 'x', sizeof(text));
		CHECK_EQ(pathcache_stats_text(app.cache, text, size), len);
		CHECK(memcmp(text, whole, size - 1) == 0);
		CHECK_EQ(text[size - 1], '\0');
		CHECK_EQ(text[size], 'x');
	}
	CHECK_EQ(pathcache_stats_text(app.cache, NULL, 1), -EINVAL);
	CHECK_EQ(pathcache_stats_text(NULL, text, sizeof(text)), -EINVAL);
	app_end(&app);
}

static const struct ts_case cases[] = {
	TS_CASE(a_hit_is_by_memo_or_by_walking_and_negative_or_not),
	TS_CASE(a_query_that_may_not_ask_is_declined_and_no_hit),
	TS_CASE(each_question_is_counted_by_what_was_missing),
	TS_CASE(a_start_that_may_have_moved_is_counted),
	TS_CASE(references_are_counted_whoever_gives_them_back),
	TS_CASE(bytes_are_told_by_what_they_are_for),
	TS_CASE(a_struct_of_another_version_is_filled_as_far_as_it_goes),
	TS_CASE(the_text_tells_every_number_once),
	TS_CASE(text_that_does_not_fit_is_cut_off_and_its_length_told),
};

int main(int argc, char **argv)
{
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
