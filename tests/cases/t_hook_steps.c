/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A rename that stands still between any two of its steps: what is answered from
 * memory is what was before, or what is after, of both names together.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "namespace.h"
#include "oracle.h"
#include "run.h"
#include "testing.h"

static const char *const names[] = {"x", "d/y", "x/f", "d/y/f"};

#define NAMES 4u

static struct {
	struct ts_namespace ns;
	struct pathcache *cache;
	uint64_t before[NAMES], after[NAMES]; /* 0: absent; 1: below no directory */
	unsigned steps, answers;
} now;

static uint64_t answer_in_memory(const char *path)
{
	struct pathcache_how how = {.size = sizeof(how), .flags = PATHCACHE_CACHED};
	struct pathcache_attr attr;
	int rc = pathcache_access(now.cache, path, 0, &how);

	if (rc == -EAGAIN)
		return UINT64_MAX;
	if (rc == -ENOTDIR || rc == -ENOENT)
		return rc == -ENOTDIR;
	rc = pathcache_stat(now.cache, path, &how, &attr);
	/* It is there; which it is its attributes would tell, which are not known. */
	return rc == -EAGAIN ? UINT64_MAX - 1 : attr.ino;
}

static bool may_be(uint64_t answer, uint64_t want)
{
	return answer == want || answer == UINT64_MAX || (answer == UINT64_MAX - 1 && want > 1);
}

static void at_step(void)
{
	bool old = true, new = true;
	uint64_t got[NAMES];

	now.steps++;
	for (unsigned i = 0; i < NAMES; i++) {
		got[i] = answer_in_memory(names[i]);
		now.answers += got[i] != UINT64_MAX;
		old = old && may_be(got[i], now.before[i]);
		new = new &&may_be(got[i], now.after[i]);
	}
	if (!old && !new)
		ts_fail(__FILE__, __LINE__, "step %u: %lld, %lld, %lld, %lld", now.steps,
		        (long long)got[0], (long long)got[1], (long long)got[2], (long long)got[3]);
}

static uint64_t answer_of(const char *path)
{
	struct pathcache_attr attr;
	int rc = pathcache_stat(now.cache, path, NULL, &attr);

	return rc ? rc == -ENOTDIR : attr.ino;
}

/* kind: files or directories, over nothing, over another, exchanged. */
static void rename_by_steps(bool x_dir, bool y_dir, bool over, bool exchange, bool complete)
{
	struct pathcache_options opt;
	struct pathcache_entry *dir;

	memset(&now, 0, sizeof(now));
	pathcache_options_init(&opt);
	opt.memo_share = 0;
	opt.complete_max = complete ? 50 : 0;
	ts_ns_init(&now.ns);
	ts_ns_open(&now.ns, &now.cache, &opt);
	ts_ns_add(&now.ns, "d", S_IFDIR | 0755, NULL);
	ts_ns_add(&now.ns, "x", x_dir ? S_IFDIR | 0755 : S_IFREG | 0644, NULL);
	if (x_dir)
		ts_ns_add(&now.ns, "x/f", S_IFREG | 0644, NULL);
	if (over)
		ts_ns_add(&now.ns, "d/y", y_dir ? S_IFDIR | 0755 : S_IFREG | 0644, NULL);
	if (exchange && y_dir)
		ts_ns_add(&now.ns, "d/y/f", S_IFREG | 0644, NULL);
	for (unsigned i = 0; i < NAMES; i++)
		now.before[i] = answer_of(names[i]);
	if (exchange)
		ts_ns_exchange(&now.ns, "x", "d/y");
	else
		ts_ns_rename(&now.ns, "x", "d/y");
	CHECK_EQ(pathcache_invalidate_all(now.cache), 0);
	for (unsigned i = 0; i < NAMES; i++)
		now.after[i] = answer_of(names[i]);
	if (exchange)
		ts_ns_exchange(&now.ns, "x", "d/y");
	else
		ts_ns_rename(&now.ns, "d/y", "x");
	if (over && !exchange) {
		ts_ns_add(&now.ns, "d/y", y_dir ? S_IFDIR | 0755 : S_IFREG | 0644, NULL);
		now.before[1] = ts_ns_find(&now.ns, "d/y")->id;
	}
	CHECK_EQ(pathcache_invalidate_all(now.cache), 0);
	for (int hot = 0; hot < 3; hot++)
		for (unsigned i = 0; i < NAMES; i++)
			CHECK_EQ(answer_of(names[i]), now.before[i]);
	dir = ts_get(now.cache, "d");
	pc_test_rename_step = at_step;
	CHECK_EQ(pathcache_renamed(now.cache, NULL, "x", dir, "y",
	                           exchange ? PATHCACHE_RENAME_EXCHANGE : 0),
	         0);
	pc_test_rename_step = NULL;
	CHECK_EQ(now.steps, 5);
	CHECK(now.answers >= 6);
	at_step();
	if (exchange)
		ts_ns_exchange(&now.ns, "x", "d/y");
	else
		ts_ns_rename(&now.ns, "x", "d/y");
	for (unsigned i = 0; i < NAMES; i++)
		CHECK_EQ(answer_of(names[i]), now.after[i]);
	pathcache_put(now.cache, dir);
	CHECK_EQ(pathcache_close(now.cache), 0);
	CHECK_EQ(ts_ns_unreleased(&now.ns), 0);
	ts_ns_fini(&now.ns);
}

static void a_rename_is_seen_whole_at_each_step(void)
{
	for (unsigned way = 0; way < 32; way++) {
		bool over = way & 4, exchange = way & 8;

		if (exchange && !over)
			continue;
		/* Only a directory goes over a directory. */
		if (over && !exchange && !(way & 1) != !(way & 2))
			continue;
		rename_by_steps(way & 1, way & 2, over, exchange, way & 16);
	}
}

static const struct ts_case cases[] = {
	TS_CASE(a_rename_is_seen_whole_at_each_step),
};

int main(int argc, char **argv)
{
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
