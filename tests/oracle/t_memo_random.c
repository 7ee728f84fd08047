/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A small namespace of an application under random changes, announced in random
 * lawful ways; the same questions are asked after each. A cache that keeps
 * nothing says what is true.
 *
 * Controls: with a kind of dependency left out of what memos rely on, the same
 * run must find wrong answers. What memos could lead to is held, so that one made
 * wrong on purpose still points at good memory.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memo.h"
#include "namespace.h"
#include "oracle.h"
#include "pathcache.h"
#include "run.h"

#define ROUNDS 400
#define QUESTIONS 60
#define STARTS 6
#define NAMES 5
#define PATH_SIZE 256
#define DEEPEST 4

struct question {
	char path[PATH_SIZE];
	uint64_t flags;
	int start; /* -1: none */
	unsigned op;
	/* Another one asks each time. */
	uint32_t uid, caps;
	bool own; /* the process */
};

struct random {
	struct ts_namespace ns;
	struct pathcache *cache, *truth;
	struct pathcache_entry *start[STARTS], *start_of_truth[STARTS];
	struct question questions[QUESTIONS];
	struct ts_rng rng;
	uint64_t asked, wrong;
	bool print;
	char change[3 * PATH_SIZE];
};

static const char *const names[NAMES] = {"a-long-name", "b", "c", "link-name", "e"};

static unsigned below(struct random *r, unsigned n)
{
	return ts_below(&r->rng, n);
}

/* ---- the namespace ------------------------------------------------------ */

/* A directory that is there, "" for the root, and *object. Return: how deep it is. */
static unsigned some_dir(struct random *r, char *path, struct ts_object **object)
{
	struct ts_object *dir = r->ns.root;
	unsigned deep = 0, size = 0;

	path[0] = '\0';
	while (deep < DEEPEST && below(r, 4)) {
		const char *name = names[below(r, NAMES)];
		struct ts_child *child = dir->children;

		while (child && strcmp(child->name, name) != 0)
			child = child->next;
		if (!child || !S_ISDIR(child->object->mode))
			continue;
		size += (unsigned)snprintf(path + size, PATH_SIZE - size, "%s%s", deep ? "/" : "",
		                           name);
		dir = child->object;
		deep++;
	}
	*object = dir;
	return deep;
}

static struct ts_object *child_of(struct ts_object *dir, const char *name)
{
	struct ts_child *child = dir->children;

	while (child && strcmp(child->name, name) != 0)
		child = child->next;
	return child ? child->object : NULL;
}

static void join(char *out, const char *dir, const char *name)
{
	snprintf(out, PATH_SIZE, "%.200s%s%s", dir, dir[0] ? "/" : "", name);
}

/* ---- announcing ---------------------------------------------------------- */

static struct pathcache_entry *hold(struct random *r, const char *path)
{
	struct pathcache_cred all = {.size = sizeof(all), .caps = PATHCACHE_CAP_DAC_READ_SEARCH};
	struct pathcache_how how = {.size = sizeof(how), .cred = &all, .flags = PATHCACHE_NOFOLLOW};
	struct pathcache_entry *entry = NULL;

	if (pathcache_get(r->cache, path[0] ? path : "/", &how, &entry) != 0)
		ts_fail(__FILE__, __LINE__, "cannot hold %s", path);
	return entry;
}

static void announce_name(struct random *r, const char *dir, const char *name)
{
	char path[PATH_SIZE];
	struct pathcache_entry *entry;
	unsigned way = below(r, 16);

	if (way == 0) {
		pathcache_invalidate_all(r->cache);
	} else if (way < 4) {
		snprintf(path, sizeof(path), "%s", dir);
		while (path[0] && below(r, 2)) {
			char *slash = strrchr(path, '/');

			*(slash ? slash : path) = '\0';
		}
		entry = hold(r, path);
		CHECK_EQ(pathcache_invalidate_subtree(r->cache, entry), 0);
		pathcache_put(r->cache, entry);
	} else if (way < 10) {
		entry = hold(r, dir);
		CHECK_EQ(pathcache_invalidate_name(r->cache, entry, name), 0);
		pathcache_put(r->cache, entry);
	} else {
		join(path, dir, name);
		CHECK_EQ(pathcache_invalidate_path(r->cache, path), 0);
	}
}

static void announce_object(struct random *r, const char *dir, const char *name)
{
	char path[PATH_SIZE];
	struct pathcache_entry *entry;

	if (below(r, 2)) {
		announce_name(r, dir, name);
		return;
	}
	join(path, dir, name);
	entry = hold(r, path);
	CHECK_EQ(pathcache_invalidate_entry(r->cache, entry), 0);
	pathcache_put(r->cache, entry);
}

/* ---- changes ------------------------------------------------------------- */

static void create(struct random *r)
{
	static const char *const texts[] = {"b", "../b", "c/e", "/a-long-name/b", ".", "b/../c"};
	static const uint32_t modes[] = {S_IFDIR | 0755, S_IFDIR | 0755, S_IFDIR | 0711,
	                                 S_IFREG | 0644, S_IFREG | 0600, S_IFLNK | 0777};
	char dir[PATH_SIZE], path[PATH_SIZE];
	const char *name = names[below(r, NAMES)];
	uint32_t mode = modes[below(r, 6)];
	struct ts_object *object;

	if (some_dir(r, dir, &object) == DEEPEST || child_of(object, name))
		return;
	join(path, dir, name);
	snprintf(r->change, sizeof(r->change), "create %s %o", path, mode);
	ts_ns_add(&r->ns, path, mode, S_ISLNK(mode) ? texts[below(r, 6)] : NULL);
	announce_name(r, dir, name);
}

static bool is_start(const struct random *r, const struct ts_object *object)
{
	for (int i = 0; i < STARTS; i++) {
		struct pathcache_attr attr;

		if (r->start_of_truth[i] &&
		    pathcache_entry_stat(r->truth, r->start_of_truth[i], &attr) == 0 &&
		    attr.ino == object->id)
			return true;
	}
	return false;
}

static void remove_one(struct random *r)
{
	char dir[PATH_SIZE], path[PATH_SIZE];
	const char *name = names[below(r, NAMES)];
	struct ts_object *object, *child;

	some_dir(r, dir, &object);
	child = child_of(object, name);
	if (!child || child->children || is_start(r, child))
		return;
	join(path, dir, name);
	snprintf(r->change, sizeof(r->change), "remove %s", path);
	ts_ns_remove(&r->ns, path);
	announce_name(r, dir, name);
}

/* To a free name, or over a file; a directory not below itself, and not too deep. */
static void rename_one(struct random *r)
{
	char from_dir[PATH_SIZE], to_dir[PATH_SIZE], from[PATH_SIZE], to[PATH_SIZE];
	const char *name = names[below(r, NAMES)], *new_name = names[below(r, NAMES)];
	struct ts_object *from_object, *to_object, *child, *old;
	unsigned deep;

	some_dir(r, from_dir, &from_object);
	deep = some_dir(r, to_dir, &to_object);
	child = child_of(from_object, name);
	old = child_of(to_object, new_name);
	if (!child || child == old || deep > 2 || (old && (S_ISDIR(old->mode) || old->children)))
		return;
	if (old && S_ISDIR(child->mode))
		return;
	for (struct ts_object *up = to_object; up != r->ns.root; up = up->parent)
		if (up == child)
			return;
	join(from, from_dir, name);
	join(to, to_dir, new_name);
	snprintf(r->change, sizeof(r->change), "rename %s %s", from, to);
	ts_ns_rename(&r->ns, from, to);
	announce_name(r, from_dir, name);
	announce_name(r, to_dir, new_name);
}

static void change_mode(struct random *r)
{
	static const uint32_t dir_modes[] = {0755, 0700, 0711, 0750, 0755};
	char dir[PATH_SIZE], path[PATH_SIZE];
	const char *name = names[below(r, NAMES)];
	struct ts_object *object, *child;

	some_dir(r, dir, &object);
	child = child_of(object, name);
	if (!child || S_ISLNK(child->mode))
		return;
	join(path, dir, name);
	snprintf(r->change, sizeof(r->change), "chmod %s", path);
	ts_ns_set(&r->ns, path, S_ISDIR(child->mode) ? dir_modes[below(r, 5)] : 0600 + below(r, 64),
	          below(r, 1000));
	announce_object(r, dir, name);
}

static void change(struct random *r)
{
	unsigned kind = below(r, 10);

	if (kind < 4)
		create(r);
	else if (kind < 5)
		remove_one(r);
	else if (kind < 7)
		rename_one(r);
	else
		change_mode(r);
}

/* ---- questions ------------------------------------------------------------ */

static void make_question(struct random *r, struct question *q)
{
	static const uint64_t flags[] = {0,
	                                 0,
	                                 0,
	                                 0,
	                                 PATHCACHE_NOFOLLOW,
	                                 PATHCACHE_DIRECTORY,
	                                 PATHCACHE_NO_SYMLINKS,
	                                 PATHCACHE_IN_ROOT};
	size_t size = 0;

	q->flags = flags[below(r, 8)];
	q->start = below(r, 2) ? (int)below(r, STARTS) : -1;
	q->op = below(r, 4);
	size = (size_t)snprintf(q->path, sizeof(q->path), "./././././././");
	for (unsigned n = 1 + below(r, 5); n-- > 0;)
		size += (size_t)snprintf(q->path + size, sizeof(q->path) - size, "%s%s",
		                         below(r, 4) ? names[below(r, NAMES)] : "..", n ? "/" : "");
}

static int64_t text_number(const char *text)
{
	uint64_t sum = 1;

	while (*text)
		sum = sum * 31 + (unsigned char)*text++;
	return (int64_t)(sum >> 1);
}

/* Where the object is that stat found: a cache that keeps nothing cannot tell. */
static int64_t true_path(const struct random *r, int64_t found)
{
	char text[4096];
	size_t at = sizeof(text) - 1;
	struct ts_object *object = r->ns.all;

	if (found < 0)
		return found;
	while (object->id != (uint64_t)found >> 32)
		object = object->next_all;
	text[at] = '\0';
	for (; object != r->ns.root; object = object->parent) {
		struct ts_child *child = object->parent->children;
		size_t len;

		while (child->object != object)
			child = child->next;
		len = strlen(child->name);
		at -= len + 1;
		text[at] = '/';
		memcpy(text + at + 1, child->name, len);
	}
	return text_number(text[at] ? text + at : "/");
}

/* One number for the answer; the last way is by held entry. */
static int64_t answer(struct pathcache *cache, const struct question *q,
                      struct pathcache_entry *const *start)
{
	struct pathcache_cred cred = {
		.size = sizeof(cred), .uid = q->uid, .gid = q->uid, .caps = q->caps};
	struct pathcache_how how = {.size = sizeof(how),
	                            .start = q->start < 0 ? NULL : start[q->start],
	                            .cred = q->own ? NULL : &cred,
	                            .flags = q->flags};
	struct pathcache_attr attr;
	struct pathcache_entry *entry;
	char text[4096];
	ssize_t len;
	int rc;

	switch (q->op) {
	case 0:
		rc = pathcache_stat(cache, q->path, &how, &attr);
		break;
	case 1:
		return pathcache_access(cache, q->path, R_OK, &how);
	case 2:
		len = pathcache_realpath(cache, q->path, &how, text, sizeof(text));
		return len < 0 ? len : text_number(text);
	default:
		rc = pathcache_get(cache, q->path, &how, &entry);
		if (rc)
			break;
		rc = pathcache_entry_stat(cache, entry, &attr);
		pathcache_put(cache, entry);
		break;
	}
	return rc ? rc : (int64_t)(attr.ino << 32 | attr.mode << 12 | (uint32_t)attr.size);
}

static int64_t true_answer(struct random *r, const struct question *q)
{
	struct question stat = *q;

	if (q->op != 2)
		return answer(r->truth, q, r->start_of_truth);
	stat.op = 0;
	return true_path(r, answer(r->truth, &stat, r->start_of_truth));
}

static void ask_all(struct random *r)
{
	for (int i = 0; i < QUESTIONS; i++) {
		struct question *q = &r->questions[i];
		int64_t want;

		if (!q->path[0] || below(r, 200) == 0)
			make_question(r, q);
		q->uid = below(r, 3) ? 0 : 1000;
		q->caps = below(r, 4) ? 0 : PATHCACHE_CAP_DAC_READ_SEARCH;
		q->own = below(r, 4) == 0;
		want = true_answer(r, q);
		for (int times = 0; times < 2; times++) {
			int64_t got = answer(r->cache, q, r->start);

			r->asked++;
			/* From a start that was moved, with what is above it: a place not known. */
			if (got == want || (q->op == 2 && q->start >= 0 && got == -ENOENT))
				continue;
			if (r->wrong++ == 0 && r->print)
				ts_fail(__FILE__, __LINE__,
				        "%s from %d flags %llx uid %u caps %u op %u: %llx, not %llx; "
				        "after %s",
				        q->path, q->start, (unsigned long long)q->flags,
				        q->own ? UINT32_MAX : q->uid, q->caps, q->op,
				        (unsigned long long)got, (unsigned long long)want,
				        r->change);
		}
	}
}

/* ---- the run --------------------------------------------------------------- */

/* The process is one that may do less than others who ask. */
static void open_both(struct random *r)
{
	struct pathcache_options opt;
	bool can = ts_can_switch();

	pathcache_options_init(&opt);
	opt.complete_max = 100;
	if (can)
		ts_switch_to(&ts_nobody);
	ts_ns_open(&r->ns, &r->cache, &opt);
	opt.budget = 0;
	ts_ns_open(&r->ns, &r->truth, &opt);
	if (can)
		ts_switch_back();
}

static void take_starts(struct random *r)
{
	struct pathcache_cred all = {.size = sizeof(all), .caps = PATHCACHE_CAP_DAC_READ_SEARCH};
	struct pathcache_how how = {.size = sizeof(how), .cred = &all};
	struct ts_object *object;
	char path[PATH_SIZE];

	for (unsigned i = 0; i < STARTS; i++) {
		while (some_dir(r, path, &object) < 1 + i % 3)
			;
		r->start[i] = hold(r, path);
		REQUIRE(pathcache_get(r->truth, path, &how, &r->start_of_truth[i]) == 0);
	}
}

/* Return: how many answers were wrong. */
static uint64_t run_random(uint32_t omit, uint64_t stream, uint64_t *asked, uint64_t *memo_hits)
{
	struct random *r = calloc(1, sizeof(*r));
	uint64_t wrong;

	REQUIRE(r);
	r->rng = ts_rng(stream);
	r->print = !omit;
	ts_ns_init(&r->ns);
	open_both(r);
	atomic_store(&rp_memo_test_omit, omit);
	ts_ns_add(&r->ns, "a-long-name", S_IFDIR | 0755, NULL);
	ts_ns_add(&r->ns, "a-long-name/b", S_IFDIR | 0755, NULL);
	ts_ns_add(&r->ns, "a-long-name/b/c", S_IFDIR | 0755, NULL);
	pathcache_invalidate_all(r->cache);
	for (unsigned i = 0; i < 30; i++)
		create(r);
	take_starts(r);
	for (unsigned i = 0; i < ROUNDS; i++) {
		if (i)
			change(r);
		ask_all(r);
		if (i % 50 == 0)
			CHECK(pathcache_maintain(r->cache, 64) >= 0);
	}
	*asked += r->asked;
	*memo_hits += ts_stats(r->cache).memo_hits;
	wrong = r->wrong;
	for (unsigned i = 0; i < STARTS; i++) {
		pathcache_put(r->cache, r->start[i]);
		pathcache_put(r->truth, r->start_of_truth[i]);
	}
	CHECK_EQ(pathcache_close(r->cache), 0);
	CHECK_EQ(pathcache_close(r->truth), 0);
	ts_ns_fini(&r->ns);
	atomic_store(&rp_memo_test_omit, 0);
	free(r);
	return wrong;
}

static uint64_t run_many(uint32_t omit, const char *what, unsigned runs)
{
	uint64_t wrong = 0, asked = 0, memo_hits = 0;

	for (unsigned i = 0; i < runs; i++)
		wrong += run_random(omit, i, &asked, &memo_hits);
	printf("      %-24s %llu of %llu answers wrong, %llu by memos\n", what,
	       (unsigned long long)wrong, (unsigned long long)asked, (unsigned long long)memo_hits);
	CHECK(memo_hits > asked / 10);
	return wrong;
}

static void every_answer_is_true(void)
{
	CHECK_EQ(run_many(0, "all in place", ts_scale(25)), 0);
}

static void what_is_left_out_shows(void)
{
	static const struct {
		uint32_t omit;
		const char *what;
	} kinds[] = {
		{RP_DEP_START, "without the start"},     {RP_DEP_DIR, "without directories"},
		{RP_DEP_LINK, "without links"},          {RP_DEP_NEGATIVE, "without absent names"},
		{RP_DEP_PERM, "without who may search"},
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		CHECK(run_many(kinds[i].omit, kinds[i].what, 6) > 0);
}

static const struct ts_case cases[] = {
	TS_CASE(every_answer_is_true),
	TS_CASE(what_is_left_out_shows),
};

int main(int argc, char **argv)
{
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
