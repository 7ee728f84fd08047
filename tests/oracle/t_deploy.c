/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An atomic deploy, as many sites do it: a tree of 10,000 files beside the old
 * one, then the symlink "current" swapped by rename. After one pathcache_sync()
 * every file is that of the new release; meanwhile nobody who has seen a file of
 * the new one sees one of the old one again (A1).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "oracle.h"
#include "run.h"
#include "tree.h"

#define DIRS 100u
#define FILES 100u /* in each */
#define READERS 2
#define DEPLOYS 3u

struct deploy {
	struct ts_tree tree;
	struct pathcache *cache;
	struct ts_thread readers[READERS];
	_Atomic(unsigned) release; /* at least this one is to be seen */
	_Atomic(bool) stop;
	_Atomic(uint64_t) seen, mixed;
};

/* The release number is the size of each of its files. */
static void build(const struct ts_tree *tree, unsigned release)
{
	char path[64], text[DEPLOYS + 2];

	memset(text, 'x', release);
	text[release] = '\0';
	snprintf(path, sizeof(path), "r%u", release);
	ts_dir(tree, path, 0755);
	for (unsigned d = 0; d < DIRS; d++) {
		snprintf(path, sizeof(path), "r%u/dir%u", release, d);
		ts_dir(tree, path, 0755);
		for (unsigned f = 0; f < FILES; f++) {
			snprintf(path, sizeof(path), "r%u/dir%u/file-%u.html", release, d, f);
			ts_file(tree, path, 0644, text);
		}
	}
}

/* Of which release the file is; 0: of none. */
static unsigned ask(struct pathcache *cache, unsigned i)
{
	struct pathcache_attr attr;
	char path[64];

	snprintf(path, sizeof(path), "current/dir%u/file-%u.html", i / FILES, i % FILES);
	return pathcache_stat(cache, path, NULL, &attr) ? 0 : (unsigned)attr.size;
}

/* Requests of two files each, that must be of one release where one was announced. */
static void reader(void *arg)
{
	struct deploy *d = arg;
	struct ts_rng rng = ts_rng((uint64_t)(uintptr_t)&rng);
	unsigned last = 0;

	while (!atomic_load_explicit(&d->stop, memory_order_relaxed)) {
		unsigned least = atomic_load(&d->release);
		unsigned got = ask(d->cache, ts_below(&rng, DIRS * FILES));

		if (got < last || got < least || got > DEPLOYS + 1)
			atomic_fetch_add(&d->mixed, 1);
		last = got;
		atomic_fetch_add_explicit(&d->seen, 1, memory_order_relaxed);
		ts_quiescent();
	}
}

static void check_all(struct deploy *d, unsigned release)
{
	unsigned wrong = 0;

	for (unsigned i = 0; i < DIRS * FILES; i++)
		wrong += ask(d->cache, i) != release;
	CHECK_EQ(wrong, 0);
}

static void deploy(uint32_t source)
{
	struct deploy d = {.release = 1};
	struct pathcache_options opt;
	char text[16];
	int rc;

	ts_tree_make(&d.tree);
	build(&d.tree, 1);
	ts_symlink(&d.tree, "current", "r1");
	pathcache_options_init(&opt);
	opt.coherence = PATHCACHE_COHERENCE_EVENTS;
	opt.source = source;
	rc = pathcache_open(&d.cache, d.tree.path, &opt);
	if (rc) {
		printf("      %s\n", strerror(-rc));
		ts_skip("this source of events may not be had");
		ts_tree_remove(&d.tree);
		return;
	}
	check_all(&d, 1);
	for (int i = 0; i < READERS; i++)
		ts_thread_start(&d.readers[i], reader, &d);
	for (unsigned release = 2; release < 2 + ts_scale(DEPLOYS); release++) {
		build(&d.tree, release);
		snprintf(text, sizeof(text), "r%u", release);
		ts_swap_link(&d.tree, "current", text);
		CHECK_EQ(pathcache_sync(d.cache), 0);
		atomic_store(&d.release, release);
		check_all(&d, release);
	}
	atomic_store(&d.stop, true);
	ts_offline();
	for (int i = 0; i < READERS; i++)
		ts_thread_join(&d.readers[i]);
	ts_online();
	CHECK_EQ(d.mixed, 0);
	CHECK(d.seen > 1000);
	printf("      %llu lookups beside the deploys\n", (unsigned long long)d.seen);
	CHECK_EQ(pathcache_close(d.cache), 0);
	ts_tree_remove(&d.tree);
}

static void by_inotify(void)
{
	deploy(PATHCACHE_SOURCE_INOTIFY);
}

static void by_fanotify(void)
{
	deploy(PATHCACHE_SOURCE_FANOTIFY);
}

static const struct ts_case cases[] = {
	TS_CASE(by_inotify),
	TS_CASE(by_fanotify),
};

int main(int argc, char **argv)
{
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
