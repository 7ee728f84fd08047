/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Threads ask while another renames, exchanges, links and makes what they ask for, in
 * a namespace under whose lock each change is announced by its hook. Each answer must
 * be that of a state since the call began, and of none before one that the thread has
 * already seen: what is at a new name is not at the old one any more.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "namespace.h"
#include "oracle.h"
#include "run.h"

#define STATES 256u /* kept of the last ones */
#define READERS 3

static const char *const probes[] = {
	"p/a/x", "q/b/x", "p/a/deep/y", "q/b/deep/y", "q/c/deep/y", "p/f", "q/g",
	"p/h",   "q/h",   "l/x",        "q/c/x",      "p/n",        "q/b", "p/a",
};
#define PROBES (sizeof(probes) / sizeof(probes[0]))

struct race {
	struct ts_namespace ns;
	struct pathcache *cache;
	struct pathcache_entry *p, *q;
	_Atomic uint64_t want[STATES][PROBES]; /* ids; 0: absent */
	_Atomic uint64_t begun, done;          /* states */
	_Atomic bool stop;
	_Atomic uint64_t asked, hits, between, wrong;
};

/* ---- what is so ------------------------------------------------------------ */

static struct ts_object *child_of(const struct ts_object *dir, const char *name, size_t len)
{
	for (struct ts_child *c = dir->children; c; c = c->next)
		if (strlen(c->name) == len && memcmp(c->name, name, len) == 0)
			return c->object;
	return NULL;
}

static uint64_t id_of(const struct race *r, const char *path)
{
	const struct ts_object *at = r->ns.root;

	while (at && *path) {
		size_t len = strcspn(path, "/");

		/* The one link there is leads to p/a. */
		at = strncmp(path, "l/", 2) == 0 ? child_of(child_of(at, "p", 1), "a", 1)
		                                 : child_of(at, path, len);
		path += len + (path[len] == '/');
	}
	return at ? at->id : 0;
}

static void note_state(struct race *r, uint64_t state)
{
	for (size_t i = 0; i < PROBES; i++)
		atomic_store_explicit(&r->want[state % STATES][i], id_of(r, probes[i]),
		                      memory_order_relaxed);
}

/* ---- readers ---------------------------------------------------------------- */

static bool was_so(const struct race *r, size_t probe, uint64_t id, uint64_t state)
{
	/* Written before the state was done; what has been overwritten is found out later. */
	return atomic_load_explicit(&r->want[state % STATES][probe], memory_order_relaxed) == id;
}

/* *seen: the oldest state that the last answer may have been of. */
static void judge(struct race *r, size_t probe, uint64_t id, uint64_t before, uint64_t *seen)
{
	uint64_t after = atomic_load(&r->begun);
	uint64_t from = before > *seen ? before : *seen;

	while (atomic_load(&r->done) < after)
		ts_sleep_us(1);
	if (atomic_load(&r->begun) - from >= STATES - 1)
		return;
	atomic_fetch_add_explicit(&r->asked, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&r->between, before != after, memory_order_relaxed);
	for (*seen = from; *seen <= after; ++*seen)
		if (was_so(r, probe, id, *seen))
			return;
	/* It may have been overwritten by now. */
	if (atomic_load(&r->begun) - from < STATES - 1 && atomic_fetch_add(&r->wrong, 1) < 5)
		ts_fail(__FILE__, __LINE__, "%s was %llu in no state from %llu to %llu",
		        probes[probe], (unsigned long long)id, (unsigned long long)from,
		        (unsigned long long)after);
	*seen = from;
}

static void read_all(void *arg)
{
	static _Atomic uint64_t stream = 200;
	struct ts_rng rng = ts_rng(atomic_fetch_add(&stream, 1));
	struct pathcache_how how = {.size = sizeof(how)};
	struct pathcache_attr attr;
	struct race *r = arg;
	uint64_t seen = 0;

	while (!atomic_load_explicit(&r->stop, memory_order_relaxed)) {
		size_t probe = ts_below(&rng, PROBES);
		uint64_t before = atomic_load(&r->done);
		char path[64];
		int rc;

		/* The longer ones are remembered. */
		snprintf(path, sizeof(path), "%s%s", ts_below(&rng, 2) ? "/" : "/////////////////",
		         probes[probe]);
		how.flags = ts_below(&rng, 2) ? PATHCACHE_CACHED : 0;
		rc = pathcache_stat(r->cache, path, &how, &attr);
		if (rc == -EAGAIN && how.flags)
			continue;
		CHECK(rc == 0 || rc == -ENOENT);
		if (how.flags)
			atomic_fetch_add_explicit(&r->hits, 1, memory_order_relaxed);
		judge(r, probe, rc ? 0 : attr.ino, before, &seen);
		ts_quiescent();
	}
}

/* ---- changes; each under the namespace's lock --------------------------------- */

static void move(struct race *r, const char *from, const char *to, bool exchange)
{
	struct pathcache_entry *dirs[2] = {*from == 'p' ? r->p : r->q, *to == 'p' ? r->p : r->q};

	if (exchange)
		ts_ns_exchange(&r->ns, from, to);
	else
		ts_ns_rename(&r->ns, from, to);
	CHECK_EQ(pathcache_renamed(r->cache, dirs[0], from + 2, dirs[1], to + 2,
	                           exchange ? PATHCACHE_RENAME_EXCHANGE : 0),
	         0);
}

static void exchange_dirs(struct race *r)
{
	if (id_of(r, "p/a") && id_of(r, "q/b"))
		move(r, "p/a", "q/b", true);
}

static void move_dir(struct race *r)
{
	if (id_of(r, "q/b"))
		move(r, "q/b", "q/c", false);
	else
		move(r, "q/c", "q/b", false);
}

/* Three names for two files: one is renamed over the other, which is made again. */
static void move_file(struct race *r)
{
	struct pathcache_reply what;

	move(r, id_of(r, "p/f") ? "p/f" : "q/g", id_of(r, "p/f") ? "q/g" : "p/f", false);
	if (id_of(r, "p/n")) {
		ts_ns_remove(&r->ns, "p/n");
		CHECK_EQ(pathcache_removed(r->cache, r->p, "n"), 0);
		return;
	}
	ts_ns_add(&r->ns, "p/n", S_IFREG | 0644, NULL);
	what = ts_ns_reply(&r->ns, "p/n");
	CHECK_EQ(pathcache_created(r->cache, r->p, "n", &what), 0);
}

static void link_file(struct race *r)
{
	struct pathcache_how how = {.size = sizeof(how), .flags = PATHCACHE_CACHED};
	struct pathcache_entry *held;

	if (id_of(r, "q/h")) {
		ts_ns_remove(&r->ns, "q/h");
		CHECK_EQ(pathcache_removed(r->cache, r->q, "h"), 0);
		return;
	}
	ts_ns_link(&r->ns, "p/h", "q/h");
	if (pathcache_get(r->cache, "p/h", &how, &held)) {
		CHECK_EQ(pathcache_created(r->cache, r->q, "h", NULL), 0);
		return;
	}
	CHECK_EQ(pathcache_linked(r->cache, held, r->q, "h"), 0);
	pathcache_put(r->cache, held);
}

/* Two names of one file, or of two: the one is renamed to the other. */
static void move_link(struct race *r)
{
	if (!id_of(r, "q/h"))
		return;
	/* As rename(2) has it; the namespace would take one of them away. */
	CHECK_EQ(pathcache_renamed(r->cache, r->p, "h", r->q, "h", 0), 0);
}

static void change(struct race *r, struct ts_rng *rng)
{
	static void (*const changes[])(struct race * r) = {
		exchange_dirs, exchange_dirs, move_dir, move_file, link_file, move_link,
	};
	uint64_t state = atomic_load(&r->begun) + 1;

	atomic_store(&r->begun, state);
	pthread_mutex_lock(&r->ns.lock);
	changes[ts_below(rng, 6)](r);
	note_state(r, state);
	pthread_mutex_unlock(&r->ns.lock);
	atomic_store(&r->done, state);
}

/* ---- the run ------------------------------------------------------------------ */

static void build(struct race *r)
{
	static const char *const dirs[] = {"p", "q", "p/a", "q/b", "p/a/deep", "q/b/deep"};
	static const char *const files[] = {"p/a/x",      "q/b/x", "p/a/deep/y",
	                                    "q/b/deep/y", "p/f",   "p/h"};

	for (size_t i = 0; i < 6; i++)
		ts_ns_add(&r->ns, dirs[i], S_IFDIR | 0755, NULL);
	for (size_t i = 0; i < 6; i++)
		ts_ns_add(&r->ns, files[i], S_IFREG | 0644, NULL);
	ts_ns_add(&r->ns, "l", S_IFLNK | 0777, "p/a");
	note_state(r, 0);
}

static void run(const char *label, const struct pathcache_options *opt, double seconds)
{
	struct race *r = calloc(1, sizeof(*r));
	struct ts_thread readers[READERS];
	struct ts_rng rng = ts_rng(3);
	uint64_t end, limit;

	REQUIRE(r);
	ts_ns_init(&r->ns);
	build(r);
	ts_ns_open(&r->ns, &r->cache, opt);
	r->p = ts_get(r->cache, "p");
	r->q = ts_get(r->cache, "q");
	for (int i = 0; i < READERS; i++)
		ts_thread_start(&readers[i], read_all, r);
	end = ts_now_ns() + (uint64_t)(seconds * 1e9);
	limit = end + UINT64_C(20000000000);
	while (ts_now_ns() < end || (atomic_load(&r->hits) < 100 && ts_now_ns() < limit)) {
		change(r, &rng);
		ts_quiescent();
		if (ts_below(&rng, 2))
			ts_sleep_us(ts_below(&rng, 100));
		else if (ts_below(&rng, 64) == 0)
			CHECK(pathcache_maintain(r->cache, 64) >= 0);
	}
	atomic_store(&r->stop, true);
	for (int i = 0; i < READERS; i++)
		ts_thread_join(&readers[i]);
	printf("      %-20s %7llu changes, %9llu answers, %9llu hits for sure, %8llu while one "
	       "was made, %llu wrong\n",
	       label, (unsigned long long)atomic_load(&r->done),
	       (unsigned long long)atomic_load(&r->asked),
	       (unsigned long long)atomic_load(&r->hits),
	       (unsigned long long)atomic_load(&r->between),
	       (unsigned long long)atomic_load(&r->wrong));
	CHECK(atomic_load(&r->hits) >= 100);
	pathcache_put(r->cache, r->p);
	pathcache_put(r->cache, r->q);
	CHECK_EQ(pathcache_close(r->cache), 0);
	CHECK_EQ(ts_ns_unreleased(&r->ns), 0);
	ts_ns_fini(&r->ns);
	free(r);
}

static void answers_are_of_a_state_that_was(void)
{
	static const char *const modes[] = {"rcu", "lockref", "refwalk", "locked"};
	struct pathcache_options opt;

	for (uint32_t mode = 0; mode < 4; mode++) {
		pathcache_options_init(&opt);
		opt.mode = mode;
		run(modes[mode], &opt, ts_seconds(mode ? 0.3 : 1.0));
	}
	pathcache_options_init(&opt);
	opt.complete_max = 100;
	run("rcu, complete", &opt, ts_seconds(0.6));
	opt.budget = 65536;
	run("rcu, little memory", &opt, ts_seconds(0.4));
}

static const struct ts_case cases[] = {
	TS_CASE(answers_are_of_a_state_that_was),
};

int main(int argc, char **argv)
{
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
