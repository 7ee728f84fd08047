/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	WARM_PASSES = 2, /* after the one that fills */
	CHUNK = 64,
	UPKEEP_STEP = 1 << 20,
	WRONG_MAX = 10,
};

static const char elsewhere[] = WORKLOAD_ELSEWHERE "/" WORKLOAD_ELSEWHERE_FILE;

static int complain(const char *what, int error)
{
	fprintf(stderr, "bench_lookup: %s: %s\n", what, strerror(-error));
	return error;
}

/* ---- filling ---- */

const char *world_call(const struct world *world)
{
	return world->load->access ? peer_access.mode : peer_syscall.mode;
}

/* What the answer should be, from the record where the kernel has no such file. */
static int truth_of(const struct workload *load, const char *path, struct pathcache_attr *attr)
{
	struct stat st;
	int error;

	if (!recorded_is_real(load->tree, path))
		return recorded_stat(load->tree, path, attr);
	if (load->access)
		return recorded_ask_access(load->tree, path);
	error = recorded_ask_kernel(load->tree, path, load->flags, &st);
	if (!error)
		*attr = recorded_attr(&st);
	return error;
}

static int teach(const struct world *world, const struct peer *peer)
{
	const struct workload *load = world->load;
	struct pathcache_attr attr;
	int error = 0;

	for (size_t i = 0; i < load->paths.count && !error; i++) {
		int answer = truth_of(load, load->paths.path[i], &attr);

		/* Gone since it was recorded: verifying leaves it out. */
		if (answer && answer != -ENOENT)
			continue;
		error = peer->ops->learn(peer->self, load->paths.path[i], answer ? NULL : &attr);
	}
	if (!error && !recorded_stat(load->tree, elsewhere, &attr))
		error = peer->ops->learn(peer->self, elsewhere, &attr);
	return error;
}

static void ask_all(const struct world *world, const struct peer *peer)
{
	struct pathcache_attr attrs[CHUNK];
	int results[CHUNK];

	for (size_t i = 0; i < world->paths->count; i += CHUNK) {
		size_t n = world->paths->count - i < CHUNK ? world->paths->count - i : CHUNK;

		peer->ops->answer(peer->self, &world->paths->path[i], n, attrs, results);
	}
}

/* The kernel is as warm as its own cache is; it was asked for each file already. */
static void ask_caches(const struct world *world)
{
	for (size_t i = 0; i < world->npeers; i++) {
		if (world->peers[i].ops->cache)
			ask_all(world, &world->peers[i]);
	}
}

static int shuffle(struct world *world, uint64_t seed)
{
	return world->load->ordered ? 0 : bench_paths_shuffle(world->paths, seed);
}

/* Free what was replaced while they were warmed, the smaller tables above all. */
static void maintain_caches(const struct world *world)
{
	for (size_t i = 0; i < world->npeers; i++) {
		const struct peer *peer = &world->peers[i];

		while (peer->ops->cache &&
		       pathcache_maintain(peer->ops->cache(peer->self), UPKEEP_STEP) > 0)
			;
	}
}

int world_warm(struct world *world)
{
	for (int pass = 0; pass < WARM_PASSES; pass++)
		ask_caches(world);
	maintain_caches(world);
	return 0;
}

/* Where only some paths have a memo, the figures are of a mixture. */
static void tell_of_memos(const struct world *world, const struct peer *peer, uint64_t memos)
{
	bool learns = peer->ops == &peer_rcu || peer->ops == &peer_rcu_many;

	if (learns && memos < world->paths->count)
		fprintf(stderr, "note: %s, %s: %ju of %zu paths have a memo\n",
		        world->load->scenario, peer->ops->mode, (uintmax_t)memos,
		        world->paths->count);
}

static void read_sizes(struct world *world)
{
	for (size_t i = 0; i < world->npeers; i++) {
		const struct peer *peer = &world->peers[i];
		struct pathcache_stats stats = {.size = sizeof(stats)};

		if (peer->ops->bytes)
			world->bytes_per_file[i] =
				(double)peer->ops->bytes(peer->self) / (double)world->paths->count;
		if (!peer->ops->cache)
			continue;
		pathcache_get_stats(peer->ops->cache(peer->self), &stats);
		world->bytes_per_file[i] = (double)stats.bytes / (double)world->paths->count;
		world->memos[i] = stats.memos;
		tell_of_memos(world, peer, stats.memos);
		if (stats.uncached)
			fprintf(stderr,
			        "note: %s: %ju answers were not kept; --budget gives more memory\n",
			        peer->ops->mode, (uintmax_t)stats.uncached);
	}
}

static int create_peers(struct world *world)
{
	const struct peer_setup setup = {
		.tree = world->load->tree,
		.flags = world->load->flags,
		.budget = world->opt->budget,
		.expected = world->paths->count,
		.access = world->load->access,
	};
	int error = 0;

	for (size_t i = 0; i < world->opt->nmodes && !error; i++) {
		struct peer *peer = &world->peers[world->npeers];

		peer->ops = world->opt->modes[i];
		if (!peer_can(peer->ops, setup.access))
			continue;
		error = peer->ops->create(peer->ops, &setup, &peer->self);
		if (error)
			return complain(peer->ops->mode, error);
		world->npeers++;
		if (peer->ops->learn)
			error = teach(world, peer);
		else if (peer->ops->cache)
			ask_all(world, peer);
	}
	return error ? complain("teaching", error) : 0;
}

/* ---- runs ---- */

/* The paths of which the kernel knows too, or all, until they fill a batch. */
static int make_run(const struct world *world, bool real, const char ***run, size_t *count)
{
	size_t n = 0, times, kept;

	free(*run);
	*run = malloc((world->paths->count + world->opt->batch) * sizeof(**run));
	if (!*run)
		return -ENOMEM;
	for (size_t i = 0; i < world->paths->count; i++) {
		const char *path = world->paths->path[i];

		if (!real || !world->load->made || recorded_is_real(world->load->tree, path))
			(*run)[n++] = path;
	}
	kept = n;
	times = n ? world->opt->batch / n : 0;
	for (size_t i = kept; i < kept * times; i++)
		(*run)[n++] = (*run)[i % kept];
	*count = n;
	return 0;
}

static int make_runs(struct world *world)
{
	int error = make_run(world, false, &world->all, &world->nall);

	if (!error)
		error = make_run(world, true, &world->real, &world->nreal);
	for (size_t i = 0; i < world->npeers && !error; i++) {
		const struct peer *peer = &world->peers[i];

		if (peer->ops->bind)
			error = peer->ops->bind(peer->self, world->real, world->nreal);
	}
	return error;
}

int world_open(struct world *world, struct workload *load, const struct world_options *opt)
{
	int error;

	*world = (struct world){.opt = opt, .load = load, .paths = &load->paths};
	error = create_peers(world);
	/* Memos are learned in another order than files, and used in a third one. */
	if (!error)
		error = shuffle(world, opt->seed);
	if (!error)
		error = world_warm(world);
	if (!error)
		error = shuffle(world, opt->seed + 1);
	if (!error)
		error = make_runs(world);
	if (!error)
		read_sizes(world);
	return error;
}

int world_close(struct world *world)
{
	int error = 0;

	for (size_t i = 0; i < world->npeers; i++) {
		int closed = world->peers[i].ops->destroy(world->peers[i].self);

		if (closed)
			error = complain(world->peers[i].ops->mode, closed);
	}
	free(world->all);
	free(world->real);
	*world = (struct world){0};
	return error;
}

/* ---- verifying ---- */

struct answers {
	struct pathcache_attr attrs[CHUNK];
	int results[CHUNK];
};

static bool same(const struct workload *load, int error, const struct pathcache_attr *attr,
                 int truth, const struct pathcache_attr *true_attr)
{
	if (error || truth || load->access)
		return error == truth;
	return attr->mode == true_attr->mode && attr->ino == true_attr->ino &&
	       attr->size == true_attr->size;
}

/* Those that know the kernel's answers, or those that ask for them in a way of their own. */
static bool is_judged(const struct peer *peer, bool kernel)
{
	return peer_is_kernel(peer->ops) == kernel && peer->ops != &peer_syscall &&
	       peer->ops != &peer_access;
}

static void tell_of_wrong(const char *mode, const char *path, int error,
                          const struct pathcache_attr *got, int truth,
                          const struct pathcache_attr *attr)
{
	fprintf(stderr,
	        "bench_lookup: wrong answer of %s for %s\n"
	        "  its:   error %d, mode %o, inode %ju, size %ju\n"
	        "  right: error %d, mode %o, inode %ju, size %ju\n",
	        mode, path, -error, got->mode, (uintmax_t)got->ino, (uintmax_t)got->size, -truth,
	        attr->mode, (uintmax_t)attr->ino, (uintmax_t)attr->size);
}

/* Return: 1 all rivals are right, 0 the file is on the move, -EIO one is wrong. */
static int judge(const struct world *world, const struct answers *answers, const char *path,
                 size_t at, bool kernel)
{
	const struct workload *load = world->load;
	struct pathcache_attr attr = {0};
	int truth = truth_of(load, path, &attr);

	for (size_t p = 0; p < world->npeers; p++) {
		int error = answers[p].results[at];
		const struct pathcache_attr *got = &answers[p].attrs[at];

		if (!is_judged(&world->peers[p], kernel) || same(load, error, got, truth, &attr))
			continue;
		/* Gone, or touched since the start: nobody told of either. */
		if (recorded_is_real(load->tree, path) &&
		    (truth != load->allowed || attr.ctime_sec + 1 >= world->opt->start_sec))
			return 0;
		tell_of_wrong(world->peers[p].ops->mode, path, error, got, truth, &attr);
		return -EIO;
	}
	return !truth || truth == load->allowed;
}

/* keep: set to which of the paths are the same for all; NULL: not asked. */
static int verify_chunk(const struct world *world, struct answers *answers,
                        const char *const *paths, size_t n, unsigned char *keep)
{
	bool kernel = !keep;
	int wrong = 0;

	for (size_t p = 0; p < world->npeers; p++) {
		const struct peer *peer = &world->peers[p];

		if (is_judged(peer, kernel))
			peer->ops->answer(peer->self, paths, n, answers[p].attrs,
			                  answers[p].results);
	}
	for (size_t i = 0; i < n && wrong < WRONG_MAX; i++) {
		int verdict = judge(world, answers, paths[i], i, kernel);

		if (keep)
			keep[i] = verdict > 0;
		wrong += verdict < 0;
	}
	return wrong;
}

/* Leave out those that changed meanwhile. */
static int keep_steady(struct world *world, const unsigned char *keep)
{
	size_t before = world->paths->count;

	bench_paths_filter(world->paths, keep);
	world->dropped += before - world->paths->count;
	if (world->paths->count == before)
		return 0;
	if (world->load->per_thread)
		world->load->per_thread = world->load->per_thread * world->paths->count / before;
	return world->paths->count ? make_runs(world) : complain("verifying", -ENODATA);
}

/* keep: as above. Return: how many answers are wrong, or are known to be. */
static int verify_run(const struct world *world, struct answers *answers, const char *const *paths,
                      size_t count, unsigned char *keep)
{
	int wrong = 0;

	for (size_t i = 0; i < count && wrong < WRONG_MAX; i += CHUNK)
		wrong +=
			verify_chunk(world, answers, &paths[i],
		                     count - i < CHUNK ? count - i : CHUNK, keep ? &keep[i] : NULL);
	return wrong;
}

static bool any_judged(const struct world *world, bool kernel)
{
	for (size_t p = 0; p < world->npeers; p++) {
		if (is_judged(&world->peers[p], kernel))
			return true;
	}
	return false;
}

int world_verify(struct world *world)
{
	unsigned char *keep = calloc(world->paths->count, 1);
	struct answers *answers = calloc(PEERS_MAX, sizeof(*answers));
	int error = keep && answers ? 0 : -ENOMEM;

	if (!error && verify_run(world, answers, world->paths->path, world->paths->count, keep))
		error = -EIO;
	if (!error)
		error = keep_steady(world, keep);
	/* After that, since it makes the run anew of which they are asked. */
	if (!error && any_judged(world, true) &&
	    verify_run(world, answers, world->real, world->nreal, NULL))
		error = -EIO;
	free(keep);
	free(answers);
	return error;
}
