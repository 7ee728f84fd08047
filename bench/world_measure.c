/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The rivals of a world as variants of a cell. */
#include "world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct contender {
	const struct world *world;
	struct peer peer;
	struct mutator *mutator;
	const char **run;
	size_t count;
	size_t index; /* of the peer */
	size_t per_thread;
};

struct buffers {
	void *self; /* what this thread asks */
	struct pathcache_attr attrs[WORLD_BATCH_MAX];
	int results[WORLD_BATCH_MAX];
	size_t begin, end; /* this thread's part of the run */
};

/* A failure leaves the thread as it was. */
static int attach(const struct peer *peer, struct buffers *buffers)
{
	int error;

	buffers->self = peer->self;
	if (!peer->ops->attach)
		return 0;
	error = peer->ops->attach(peer->self, &buffers->self);
	if (error)
		pathcache_thread_unregister();
	return error;
}

static int contender_setup(void *arg, struct bench_thread *thread)
{
	const struct contender *contender = arg;
	struct buffers *buffers = calloc(1, sizeof(*buffers));
	int error = buffers ? pathcache_thread_register() : -ENOMEM;

	if (!error)
		error = attach(&contender->peer, buffers);
	if (error) {
		free(buffers);
		return error;
	}
	buffers->end = contender->count;
	/* Threads start at different places, so that none runs in another's wake. */
	thread->cursor = contender->count * thread->index / thread->count;
	if (contender->per_thread) {
		buffers->begin = contender->per_thread * thread->index;
		buffers->end = buffers->begin + contender->per_thread;
		thread->cursor = buffers->begin;
	}
	thread->state = buffers;
	return 0;
}

static void contender_teardown(void *arg, struct bench_thread *thread)
{
	const struct contender *contender = arg;
	struct buffers *buffers = thread->state;

	if (contender->peer.ops->detach)
		contender->peer.ops->detach(buffers->self);
	free(buffers);
	pathcache_thread_unregister();
}

/* Ask for n paths, or up to the end of this thread's part of the run. */
static size_t ask(const struct contender *contender, struct bench_thread *thread, size_t n)
{
	const struct workload *load = contender->world->load;
	struct buffers *buffers = thread->state;

	if (contender->mutator)
		mutator_turn(contender->mutator, contender->index);
	if (n > buffers->end - thread->cursor)
		n = buffers->end - thread->cursor;
	contender->peer.ops->answer(buffers->self, &contender->run[thread->cursor], n,
	                            buffers->attrs, buffers->results);
	for (size_t i = 0; i < n; i++)
		thread->failed += buffers->results[i] && buffers->results[i] != load->allowed;
	thread->sink += buffers->attrs[0].ino;
	thread->cursor += n;
	if (thread->cursor == buffers->end)
		thread->cursor = buffers->begin;
	return n;
}

static uint64_t contender_op(void *arg, struct bench_thread *thread)
{
	const struct contender *contender = arg;

	return ask(contender, thread, contender->world->opt->batch);
}

static void contender_one(void *arg, struct bench_thread *thread)
{
	ask(arg, thread, 1);
}

static size_t make_contenders(const struct world *world, struct mutator *mutator,
                              struct contender *contenders, struct bench_variant *variants,
                              size_t *peers)
{
	size_t n = 0;

	for (size_t p = 0; p < world->npeers; p++) {
		bool kernel = peer_is_kernel(world->peers[p].ops);

		if (kernel && !world->nreal)
			continue;
		contenders[n] = (struct contender){
			.world = world,
			.peer = world->peers[p],
			.mutator = mutator,
			.run = kernel ? world->real : world->all,
			.count = kernel ? world->nreal : world->nall,
			.index = p,
			/* Made paths leave the kernel's parts uneven; it then has all. */
			.per_thread = kernel && world->load->made ? 0 : world->load->per_thread,
		};
		variants[n] = (struct bench_variant){
			.mode = world->peers[p].ops->mode,
			.arg = &contenders[n],
			.setup = contender_setup,
			.op = contender_op,
			.one = contender_one,
			.teardown = contender_teardown,
		};
		peers[n++] = p;
	}
	return n;
}

static void read_stats(const struct world *world, struct pathcache_stats *stats)
{
	for (size_t i = 0; i < world->npeers; i++) {
		const struct peer *peer = &world->peers[i];

		stats[i] = (struct pathcache_stats){.size = sizeof(stats[i])};
		if (peer->ops->cache)
			pathcache_get_stats(peer->ops->cache(peer->self), &stats[i]);
	}
}

static void count_rates(struct world *world, const struct pathcache_stats *before)
{
	struct pathcache_stats now[PEERS_MAX];

	read_stats(world, now);
	for (size_t i = 0; i < world->npeers; i++) {
		double lookups = (double)(now[i].lookups - before[i].lookups);

		world->rates[i] = (struct world_rates){0};
		if (lookups < 1)
			continue;
		world->rates[i] = (struct world_rates){
			.stamps = (double)(now[i].memo_stamps - before[i].memo_stamps) / lookups,
			.restarts = (double)(now[i].retries - before[i].retries) / lookups,
			.misses = (double)(now[i].misses - before[i].misses) / lookups,
		};
	}
}

int world_measure(struct world *world, const struct bench_plan *plan, struct bench_cell *cell,
                  struct mutator *mutator, size_t *peers, struct bench_result *results)
{
	struct contender contenders[PEERS_MAX];
	struct bench_variant variants[PEERS_MAX];
	struct pathcache_stats before[PEERS_MAX];
	size_t n = make_contenders(world, mutator, contenders, variants, peers);
	int error = 0;

	cell->variants = variants;
	cell->nvariants = n;
	cell->depth = world->paths->mean_depth;
	cell->paths = world->paths->count;
	if (!n)
		return 0;
	read_stats(world, before);
	if (mutator)
		error = mutator_start(mutator);
	if (!error) {
		error = bench_run(plan, cell, results);
		count_rates(world, before);
		if (mutator) {
			int stopped = mutator_stop(mutator);

			error = error ? error : stopped;
		}
	}
	cell->variants = NULL;
	return error ? bench_complain("measuring", error) : (int)n;
}
