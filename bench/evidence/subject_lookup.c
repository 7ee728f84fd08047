/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lookups that are answered from memory, of one path each, by each rival. */
#include "peers.h"
#include "recorded.h"
#include "subjects.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	WARM = 200,        /* operations: to learn what is asked again */
	WARM_MEMO = 17000, /* ... until checks of memos are over, see learn.h */
	STEP = 32,
	BUDGET = 64 << 20,
};

/* scenario: of the table. absent: there is no such name. */
struct question {
	const char *scenario;
	const char *path;
	bool absent;
};

/* The second path is as the mean of a /usr: 9 components, 92 bytes. */
static const struct question questions[] = {
	{"hit_short", "/usr/bin/env", false},
	{"hit",
         "/usr/share/doc/library-reference/programming/containers/examples/advanced/concurrent.txt",
         false},
	{"hit_absent",
         "/usr/share/doc/library-reference/programming/containers/examples/advanced/no-such.txt",
         true},
};

/* One more path than questions, so that tables and directories are not empty. */
static const char beside[] =
	"/usr/share/doc/library-reference/programming/containers/examples/advanced/simple.txt";

/* The caller's side: what is asked and where the answer goes. */
static struct {
	const char *paths[STEP];
	char text[256];
	struct pathcache_attr attrs[STEP];
	int results[STEP];
} caller;

struct lookup {
	struct recorded tree;
	struct peer peer;
	const struct question *question;
};

void subjects_caller(const void **begin, size_t *size)
{
	*begin = &caller;
	*size = sizeof(caller);
}

static void lookup_run(void *self, uint64_t n)
{
	struct lookup *lookup = self;

	while (n) {
		uint64_t step = n < STEP ? n : STEP;

		lookup->peer.ops->answer(lookup->peer.self, caller.paths, step, caller.attrs,
		                         caller.results);
		n -= step;
	}
}

static void lookup_destroy(void *self)
{
	struct lookup *lookup = self;

	if (lookup->peer.self)
		lookup->peer.ops->destroy(lookup->peer.self);
	recorded_fini(&lookup->tree);
	pathcache_thread_unregister();
	free(lookup);
}

/* Directories where there are none yet, then the file. */
static int make_file(struct recorded *tree, const char *path)
{
	struct pathcache_attr dir = tree->items[0].attr, file = dir;
	char text[256];
	uint32_t item = 0;

	file.mode = S_IFREG | 0644;
	file.nlink = 1;
	strcpy(text, path);
	for (char *name = strtok(text + 1, "/"), *next; name; name = next) {
		size_t end = (size_t)(name - text) + strlen(name);
		char prefix[256];
		uint32_t found;

		next = strtok(NULL, "/");
		memcpy(prefix, path, end);
		prefix[end] = '\0';
		found = recorded_find(tree, prefix);
		item = found != RECORDED_NONE
		               ? found
		               : recorded_make(tree, item, name, next ? &dir : &file);
		if (item == RECORDED_NONE)
			return -ENOMEM;
	}
	return 0;
}

static int make_tree(struct recorded *tree)
{
	int error = recorded_init(tree, NULL);

	for (size_t i = 0; i < sizeof(questions) / sizeof(*questions) && !error; i++) {
		if (!questions[i].absent)
			error = make_file(tree, questions[i].path);
	}
	return error ? error : make_file(tree, beside);
}

static int teach(const struct lookup *lookup)
{
	const struct peer_ops *ops = lookup->peer.ops;
	struct pathcache_attr attr;
	int error = 0;

	if (!ops->learn)
		return 0;
	for (size_t i = 0; i < sizeof(questions) / sizeof(*questions) && !error; i++) {
		int absent = recorded_stat(&lookup->tree, questions[i].path, &attr);

		error = ops->learn(lookup->peer.self, questions[i].path, absent ? NULL : &attr);
	}
	if (!error && !recorded_stat(&lookup->tree, beside, &attr))
		error = ops->learn(lookup->peer.self, beside, &attr);
	return error;
}

static void ask_beside(const struct lookup *lookup)
{
	const char *path = beside;
	struct pathcache_attr attr;
	int result;

	lookup->peer.ops->answer(lookup->peer.self, &path, 1, &attr, &result);
}

static int settle(struct lookup *lookup)
{
	const struct peer_ops *ops = lookup->peer.ops;
	int wanted = lookup->question->absent ? -ENOENT : 0;

	strcpy(caller.text, lookup->question->path);
	for (size_t i = 0; i < STEP; i++)
		caller.paths[i] = caller.text;
	ask_beside(lookup);
	lookup_run(lookup, WARM);
	while (ops->cache && pathcache_maintain(ops->cache(lookup->peer.self), 1 << 20) > 0)
		;
	lookup_run(lookup, ops == &peer_rcu ? WARM_MEMO : WARM);
	for (size_t i = 0; i < STEP; i++) {
		if (caller.results[i] != wanted)
			return -EIO;
	}
	return 0;
}

static int lookup_create(const struct subject *subject, void **self)
{
	const struct peer_ops *ops = subject->arg;
	struct lookup *lookup = calloc(1, sizeof(*lookup));
	struct peer_setup setup = {
		.flags = PATHCACHE_NOFOLLOW,
		.budget = BUDGET,
		.expected = sizeof(questions) / sizeof(*questions) + 1,
	};
	int error;

	if (!lookup)
		return -ENOMEM;
	error = pathcache_thread_register();
	if (error) {
		free(lookup);
		return error;
	}
	lookup->peer.ops = ops;
	for (const struct question *q = questions; !lookup->question; q++) {
		if (!strcmp(q->scenario, subject->scenario))
			lookup->question = q;
	}
	error = make_tree(&lookup->tree);
	setup.tree = &lookup->tree;
	if (!error)
		error = ops->create(ops, &setup, &lookup->peer.self);
	if (!error)
		error = teach(lookup);
	if (!error)
		error = settle(lookup);
	if (error) {
		lookup_destroy(lookup);
		return error;
	}
	*self = lookup;
	return 0;
}

static const struct {
	const struct peer_ops *ops;
	const char *unseen;
} rivals[] = {
	{&peer_rcu, NULL},     {&peer_rcu_walk, NULL}, {&peer_lockref, NULL},
	{&peer_refwalk, NULL}, {&peer_locked, NULL},   {&peer_private, NULL},
#if BENCH_HAVE_LFHT
	{&peer_lfht, "lib"},
#endif
#if BENCH_HAVE_CK
	{&peer_ck, "lib"},
#endif
#if BENCH_HAVE_GLIB
	{&peer_glib, "lib"},
#endif
#if BENCH_HAVE_TBB
	{&peer_tbb, "lib"},
#endif
};

static double depth_of(const char *path)
{
	double depth = 0;

	for (; *path; path++)
		depth += *path == '/';
	return depth;
}

size_t subjects_lookup(struct subject *out)
{
	size_t n = 0;

	for (size_t q = 0; q < sizeof(questions) / sizeof(*questions); q++) {
		for (size_t r = 0; r < sizeof(rivals) / sizeof(*rivals); r++)
			out[n++] = (struct subject){
				.scenario = questions[q].scenario,
				.mode = rivals[r].ops->mode,
				.unseen = rivals[r].unseen,
				.depth = depth_of(questions[q].path),
				.arg = rivals[r].ops,
				.create = lookup_create,
				.run = lookup_run,
				.destroy = lookup_destroy,
			};
	}
	return n;
}
