/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "world.h"

#include "stat_attr.h"

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
		*attr = stat_attr(&st);
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
			return bench_complain(peer->ops->mode, error);
		world->npeers++;
		if (peer->ops->learn)
			error = teach(world, peer);
		else if (peer->ops->cache)
			ask_all(world, peer);
	}
	return error ? bench_complain("teaching", error) : 0;
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
			error = bench_complain(world->peers[i].ops->mode, closed);
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

/* Gone, or touched since the start: nobody told of either. */
static bool may_have_changed(const struct world *world, const char *path, int truth,
                             const struct pathcache_attr *attr)
{
	return recorded_is_real(world->load->tree, path) &&
	       (truth != world->load->allowed || attr->ctime_sec + 1 >= world->opt->start_sec);
}

/* Return: 1 all rivals are right, 0 the file is on the move, -EIO one is wrong. */
static int judge(const struct world *world, const struct answers *answers, const char *path,
                 size_t at)
{
	const struct workload *load = world->load;
	struct pathcache_attr attr = {0};
	int truth = truth_of(load, path, &attr);

	for (size_t p = 0; p < world->npeers; p++) {
		const struct peer *peer = &world->peers[p];
		int error = answers[p].results[at];
		const struct pathcache_attr *got = &answers[p].attrs[at];

		if (peer_is_kernel(peer->ops) || same(load, error, got, truth, &attr))
			continue;
		if (may_have_changed(world, path, truth, &attr))
			return 0;
		tell_of_wrong(peer->ops->mode, path, error, got, truth, &attr);
		return -EIO;
	}
	return !truth || truth == load->allowed;
}

/* Return: how many answers are wrong. keep: set to which of the paths are the same for all. */
static int verify_chunk(const struct world *world, struct answers *answers, size_t from, size_t n,
                        unsigned char *keep)
{
	int wrong = 0;

	for (size_t p = 0; p < world->npeers; p++) {
		const struct peer *peer = &world->peers[p];

		if (!peer_is_kernel(peer->ops))
			peer->ops->answer(peer->self, &world->paths->path[from], n,
			                  answers[p].attrs, answers[p].results);
	}
	for (size_t i = 0; i < n && wrong < WRONG_MAX; i++) {
		int verdict = judge(world, answers, world->paths->path[from + i], i);

		keep[from + i] = verdict > 0;
		wrong += verdict < 0;
	}
	return wrong;
}

/* A way of asking the kernel is wrong when the kernel says the same before and after. */
static bool is_wrong(const struct world *world, const struct peer *peer, const char *const *path)
{
	const struct workload *load = world->load;
	struct pathcache_attr before = {0}, got = {0}, after = {0};
	int truth = truth_of(load, *path, &before), error, later;

	peer->ops->answer(peer->self, path, 1, &got, &error);
	later = truth_of(load, *path, &after);
	if (same(load, error, &got, truth, &before) || !same(load, later, &after, truth, &before))
		return false;
	tell_of_wrong(peer->ops->mode, *path, error, &got, truth, &before);
	return true;
}

/* In batches, as they are asked while they are timed; what differs then is asked once more. */
static int verify_kernel_chunk(const struct world *world, const struct peer *peer,
                               struct answers *answers, size_t from, size_t n)
{
	const char *const *paths = &world->real[from];
	int wrong = 0;

	peer->ops->answer(peer->self, paths, n, answers->attrs, answers->results);
	for (size_t i = 0; i < n && wrong < WRONG_MAX; i++) {
		struct pathcache_attr attr = {0};
		int truth = truth_of(world->load, paths[i], &attr);

		if (!same(world->load, answers->results[i], &answers->attrs[i], truth, &attr))
			wrong += is_wrong(world, peer, &paths[i]);
	}
	return wrong;
}

/* Rivals that ask the kernel in another way than the truth is asked for. */
static int verify_kernel(const struct world *world, struct answers *answers)
{
	int wrong = 0;

	for (size_t p = 0; p < world->npeers; p++) {
		const struct peer *peer = &world->peers[p];

		if (!peer_is_kernel(peer->ops) || peer->ops == &peer_syscall ||
		    peer->ops == &peer_access)
			continue;
		for (size_t i = 0; i < world->nreal && wrong < WRONG_MAX; i += CHUNK)
			wrong += verify_kernel_chunk(world, peer, answers, i,
			                             world->nreal - i < CHUNK ? world->nreal - i
			                                                      : CHUNK);
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
	return world->paths->count ? make_runs(world) : bench_complain("verifying", -ENODATA);
}

int world_verify(struct world *world)
{
	size_t count = world->paths->count;
	unsigned char *keep = calloc(count, 1);
	struct answers *answers = calloc(PEERS_MAX, sizeof(*answers));
	int wrong = 0, error = keep && answers ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && !error && wrong < WRONG_MAX; i += CHUNK)
		wrong += verify_chunk(world, answers, i, count - i < CHUNK ? count - i : CHUNK,
		                      keep);
	if (!error)
		error = wrong ? -EIO : keep_steady(world, keep);
	/* After that, since it makes the run anew of which they are asked. */
	if (!error && verify_kernel(world, answers))
		error = -EIO;
	free(keep);
	free(answers);
	return error;
}
