/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Lookups that are answered from memory, of names that no file stands for: so
 * any machine can ask, whatever is on its disks.
 */
#include "scale.h"

#include "peers.h"
#include "recorded.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	BATCH = 32,
	HOT = 500,
	EACH = 100, /* paths of a thread, where each has its own */
	WARM_PASSES = 3,
	PATH_BYTES = 128,
};

const char *const scale_lookups[] = {"same_file", "disjoint", "hot500", NULL};

const char *const scale_lookup_modes[] = {"rcu",    "rcu-walk", "rcu-many", "lockref", "refwalk",
                                          "locked", "lfht",     "ck",       NULL};

static const struct peer_ops *const rivals[] = {
	&peer_rcu,  &peer_rcu_walk, &peer_rcu_many, &peer_lockref, &peer_refwalk, &peer_locked,
#if BENCH_HAVE_LFHT
	&peer_lfht,
#endif
#if BENCH_HAVE_CK
	&peer_ck,
#endif
};

enum { RIVALS = sizeof(rivals) / sizeof(*rivals) };

struct scale_lookup {
	struct recorded tree;
	struct peer peers[RIVALS];
	struct bench_variant variants[RIVALS];
	size_t npeers;
	const char *scenario;
	char (*text)[PATH_BYTES];
	const char **paths; /* in the order in which they are asked for */
	size_t distinct;
	size_t count; /* of paths: distinct ones, repeated to fill a batch */
	size_t each;  /* paths of one thread; 0: all have all */
};

/* The peer of a variant, and where its paths are. */
struct buffers {
	struct pathcache_attr attrs[BATCH];
	int results[BATCH];
	size_t begin, end;
};

/* ---- names ---- */

static uint32_t find_or_make(struct recorded *tree, uint32_t dir, const char *path,
                             const char *name, const struct pathcache_attr *like)
{
	uint32_t item = recorded_find(tree, path);

	return item != RECORDED_NONE ? item : recorded_make(tree, dir, name, like);
}

/* All directories of a path, and the file. Return: 0; -ENOMEM. */
static int make_path(struct recorded *tree, const char *path)
{
	struct pathcache_attr dir = tree->items[0].attr, file = dir;
	uint32_t item = 0;

	file.mode = S_IFREG | 0644;
	file.nlink = 1;
	for (const char *at = path + 1, *end; item != RECORDED_NONE; at = end + 1) {
		char prefix[PATH_BYTES], name[PATH_BYTES];

		end = at + strcspn(at, "/");
		snprintf(prefix, sizeof(prefix), "%.*s", (int)(end - path), path);
		snprintf(name, sizeof(name), "%.*s", (int)(end - at), at);
		item = find_or_make(tree, item, prefix, name, *end ? &dir : &file);
		if (!*end)
			break;
	}
	return item == RECORDED_NONE ? -ENOMEM : 0;
}

/* Nine components and some 90 bytes, the mean of a /usr; a hundred files a directory. */
static int make_paths(struct scale_lookup *lookup, size_t count)
{
	int error = recorded_init(&lookup->tree, NULL);

	lookup->text = calloc(count, sizeof(*lookup->text));
	lookup->paths = calloc(count + BATCH, sizeof(*lookup->paths));
	if (!lookup->text || !lookup->paths)
		error = error ? error : -ENOMEM;
	for (size_t i = 0; i < count && !error; i++) {
		snprintf(lookup->text[i], sizeof(lookup->text[i]),
		         "/srv/content/projects/library/release-%06zu/share/doc/examples/"
		         "file-with-a-name-%06zu.html",
		         i / EACH, i);
		lookup->paths[i] = lookup->text[i];
		error = make_path(&lookup->tree, lookup->text[i]);
	}
	lookup->count = lookup->distinct = count;
	return error;
}

/* Each thread's own stay together; a run is at least one batch long. */
static void order_paths(struct scale_lookup *lookup)
{
	size_t span = lookup->each ? lookup->each : lookup->count;
	uint64_t seed = 1;

	for (size_t i = 0; i < lookup->count; i++) {
		size_t left = span - i % span;
		size_t j = i + bench_random(&seed) %
		                       (left < lookup->count - i ? left : lookup->count - i);
		const char *path = lookup->paths[i];

		lookup->paths[i] = lookup->paths[j];
		lookup->paths[j] = path;
	}
	for (; lookup->count < BATCH; lookup->count++)
		lookup->paths[lookup->count] = lookup->paths[0];
}

/* ---- rivals ---- */

static int teach(const struct scale_lookup *lookup, const struct peer *peer, size_t count)
{
	struct pathcache_attr attr;
	int error = 0;

	for (size_t i = 0; i < count && peer->ops->learn && !error; i++) {
		error = recorded_stat(&lookup->tree, lookup->text[i], &attr);
		if (!error)
			error = peer->ops->learn(peer->self, lookup->text[i], &attr);
	}
	return error;
}

/* All paths once. Return: 0; -EIO, told, when an answer is not the record's. */
static int ask_all(const struct scale_lookup *lookup, const struct peer *peer, int check)
{
	struct pathcache_attr attr, truth;
	int result;

	for (size_t i = 0; i < lookup->count; i++) {
		peer->ops->answer(peer->self, &lookup->paths[i], 1, &attr, &result);
		if (check && (result || recorded_stat(&lookup->tree, lookup->paths[i], &truth) ||
		              attr.ino != truth.ino || attr.mode != truth.mode)) {
			fprintf(stderr, "bench_scale: wrong answer of %s for %s\n", peer->ops->mode,
			        lookup->paths[i]);
			return -EIO;
		}
	}
	return 0;
}

static int warm(const struct scale_lookup *lookup, const struct peer *peer)
{
	int error = 0;

	for (int pass = 0; pass < WARM_PASSES && !error; pass++)
		error = ask_all(lookup, peer, pass + 1 == WARM_PASSES);
	while (peer->ops->cache && pathcache_maintain(peer->ops->cache(peer->self), 1 << 20) > 0)
		;
	return error;
}

static int create_peers(struct scale_lookup *lookup, const char *modes, size_t count)
{
	const struct peer_setup setup = {
		.tree = &lookup->tree,
		.flags = PATHCACHE_NOFOLLOW,
		.budget = UINT64_C(1) << 30,
		.expected = count,
	};
	int error = 0;

	for (size_t i = 0; i < RIVALS && !error; i++) {
		struct peer *peer = &lookup->peers[lookup->npeers];

		if (!bench_is_listed(modes, rivals[i]->mode))
			continue;
		peer->ops = rivals[i];
		error = peer->ops->create(peer->ops, &setup, &peer->self);
		if (error)
			break;
		lookup->npeers++;
		error = teach(lookup, peer, count);
		if (!error)
			error = warm(lookup, peer);
	}
	return error ? error : lookup->npeers ? 0 : -ENODATA;
}

int scale_lookup_create(struct scale_lookup **out, const char *scenario, const char *modes,
                        unsigned int most, int small)
{
	struct scale_lookup *lookup = calloc(1, sizeof(*lookup));
	size_t count = HOT;
	int error;

	if (!lookup)
		return -ENOMEM;
	lookup->tree.base_fd = -1;
	lookup->scenario = scenario;
	if (!strcmp(scenario, "same_file"))
		count = 1;
	if (!strcmp(scenario, "disjoint")) {
		lookup->each = small ? BATCH : EACH;
		count = lookup->each * most;
	}
	error = make_paths(lookup, count);
	if (!error) {
		order_paths(lookup);
		error = create_peers(lookup, modes, count);
	}
	if (error) {
		scale_lookup_destroy(lookup);
		return error;
	}
	*out = lookup;
	return 0;
}

void scale_lookup_destroy(struct scale_lookup *lookup)
{
	for (size_t i = 0; i < lookup->npeers; i++)
		lookup->peers[i].ops->destroy(lookup->peers[i].self);
	recorded_fini(&lookup->tree);
	free(lookup->paths);
	free(lookup->text);
	free(lookup);
}

size_t scale_lookup_count(const struct scale_lookup *lookup)
{
	return lookup->npeers;
}

const char *scale_lookup_mode(const struct scale_lookup *lookup, size_t i)
{
	return lookup->peers[i].ops->mode;
}

/* ---- as the harness calls it ---- */

struct contender {
	const struct scale_lookup *lookup;
	const struct peer *peer;
};

static int set_up(void *arg, struct bench_thread *thread)
{
	const struct contender *contender = arg;
	const struct scale_lookup *lookup = contender->lookup;
	struct buffers *buffers = calloc(1, sizeof(*buffers));
	int error = buffers ? pathcache_thread_register() : -ENOMEM;

	if (error) {
		free(buffers);
		return error;
	}
	buffers->begin = lookup->each * thread->index;
	buffers->end = lookup->each ? buffers->begin + lookup->each : lookup->count;
	/* Threads start at different places, so that none runs in another's wake. */
	thread->cursor =
		lookup->each ? buffers->begin : lookup->count * thread->index / thread->count;
	thread->state = buffers;
	return 0;
}

static void tear_down(void *arg, struct bench_thread *thread)
{
	(void)arg;
	free(thread->state);
	pathcache_thread_unregister();
}

static void ask(const struct contender *contender, struct bench_thread *thread, size_t n)
{
	struct buffers *buffers = thread->state;

	contender->peer->ops->answer(contender->peer->self,
	                             &contender->lookup->paths[thread->cursor], n, buffers->attrs,
	                             buffers->results);
	for (size_t i = 0; i < n; i++)
		thread->failed += buffers->results[i] != 0;
	thread->sink += buffers->attrs[0].ino;
	thread->cursor += n;
	if (thread->cursor == buffers->end)
		thread->cursor = buffers->begin;
}

static uint64_t ask_batch(void *arg, struct bench_thread *thread)
{
	const struct buffers *buffers = thread->state;
	size_t left = buffers->end - thread->cursor;
	size_t n = left < BATCH ? left : BATCH;

	ask(arg, thread, n);
	return n;
}

static void ask_one(void *arg, struct bench_thread *thread)
{
	ask(arg, thread, 1);
}

static double depth_of(const char *path)
{
	double depth = 0;

	for (; *path; path++)
		depth += *path == '/';
	return depth;
}

int scale_lookup_run(struct scale_lookup *lookup, const struct bench_plan *plan,
                     unsigned int threads, struct bench_cell *cell, struct bench_result *results)
{
	struct contender contenders[RIVALS];
	int error;

	for (size_t i = 0; i < lookup->npeers; i++) {
		contenders[i] = (struct contender){lookup, &lookup->peers[i]};
		lookup->variants[i] = (struct bench_variant){
			.mode = lookup->peers[i].ops->mode,
			.arg = &contenders[i],
			.setup = set_up,
			.op = ask_batch,
			.one = ask_one,
			.teardown = tear_down,
		};
	}
	*cell = (struct bench_cell){
		.bench = "scale",
		.scenario = lookup->scenario,
		.variants = lookup->variants,
		.nvariants = lookup->npeers,
		.threads = threads,
		.depth = depth_of(lookup->paths[0]),
		.paths = lookup->each ? lookup->each * threads : lookup->distinct,
	};
	error = bench_run(plan, cell, results);
	for (size_t i = 0; i < lookup->npeers && !error; i++)
		error = results[i].failed ? -EIO : 0;
	return error;
}
