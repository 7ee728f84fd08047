/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A variant in a cell: its objects, its threads, and what they did. */
#include "rivals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	BATCH = 96 /* a multiple of 3, for the mix */
};

/* What a thread keeps of a rival. */
struct worker {
	struct ref_thread *thread;
	struct ref_site site;
	unsigned int place; /* of site */
	uint64_t ops;
};

static struct progress *create_progress(unsigned int threads)
{
	struct progress *progress = aligned_alloc(REF_LINE, threads * sizeof(*progress));

	for (unsigned int i = 0; i < threads && progress; i++)
		atomic_init(&progress[i].ops, 0);
	return progress;
}

static int kill_objects(struct rival *rival)
{
	struct ref_thread *thread = ref_thread_create(rival->variant, 0);

	if (!thread)
		return -ENOMEM;
	for (unsigned int i = 0; i < rival->set.count; i++)
		rival->variant->kill(&rival->set.site[i], thread);
	ref_thread_destroy(rival->variant, thread);
	return 0;
}

/* How many objects a scenario takes. */
static unsigned int count_objects(const struct scenario *scenario, unsigned int threads)
{
	if (scenario->each_own)
		return threads;
	return scenario->places ? scenario->places : 1;
}

int rival_init(struct rival *rival, const struct ref_variant *variant,
               const struct scenario *scenario, unsigned int threads)
{
	int error;

	*rival = (struct rival){
		.variant = variant,
		.scenario = scenario,
		.threads = threads,
		.lock = PTHREAD_MUTEX_INITIALIZER,
	};
	error = ref_set_create(&rival->set, variant, count_objects(scenario, threads), threads + 1,
	                       scenario->layout);
	if (error)
		return error;
	rival->progress = create_progress(threads);
	if (!rival->progress)
		error = -ENOMEM;
	if (!error && scenario->dying)
		error = kill_objects(rival);
	if (error)
		rival_fini(rival);
	return error;
}

void rival_fini(struct rival *rival)
{
	free(rival->progress);
	ref_set_destroy(&rival->set);
	rival->progress = NULL;
}

uint64_t rival_ops(const struct rival *rival)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < rival->threads; i++)
		sum += atomic_load_explicit(&rival->progress[i].ops, memory_order_relaxed);
	return sum;
}

/* ---- as the harness calls it ---- */

static void begin_turn(void *arg)
{
	struct rival *rival = arg;

	if (rival->scenario->places)
		rival->place = (rival->place + 1) % rival->scenario->places;
}

static void choose_site(struct worker *worker, const struct rival *rival, unsigned int index)
{
	const struct ref_set *set = &rival->set;

	if (rival->scenario->places)
		index = rival->place;
	worker->place = rival->place;
	worker->site = set->site[index % set->count];
	if (rival->scenario->next)
		worker->site.neighbour = set->site[(index + 1) % set->count].neighbour;
}

static int set_up(void *arg, struct bench_thread *slot)
{
	struct rival *rival = arg;
	struct worker *worker = calloc(1, sizeof(*worker));

	if (!worker)
		return -ENOMEM;
	worker->thread = ref_thread_create(rival->variant, slot->index);
	if (!worker->thread) {
		free(worker);
		return -ENOMEM;
	}
	choose_site(worker, rival, slot->index);
	slot->state = worker;
	return 0;
}

static uint64_t run_batch(void *arg, struct bench_thread *slot)
{
	struct rival *rival = arg;
	struct worker *worker = slot->state;
	_Atomic uint64_t *ops = &rival->progress[slot->index].ops;

	if (rival->turn && atomic_load_explicit(rival->turn, memory_order_relaxed) != rival->number)
		atomic_store_explicit(rival->turn, rival->number, memory_order_relaxed);
	if (worker->place != rival->place)
		choose_site(worker, rival, slot->index);
	worker->ops +=
		rival->variant->run(rival->scenario->work, &worker->site, worker->thread, BATCH);
	atomic_store_explicit(ops, worker->ops, memory_order_relaxed);
	return BATCH;
}

static void run_one(void *arg, struct bench_thread *slot)
{
	struct rival *rival = arg;
	struct worker *worker = slot->state;

	worker->ops += rival->variant->run(rival->scenario->work, &worker->site, worker->thread, 1);
}

static void tear_down(void *arg, struct bench_thread *slot)
{
	struct rival *rival = arg;
	struct worker *worker = slot->state;

	atomic_store_explicit(&rival->progress[slot->index].ops, worker->ops, memory_order_relaxed);
	pthread_mutex_lock(&rival->lock);
	rival->retries += worker->thread->retries;
	rival->refused += worker->thread->refused;
	pthread_mutex_unlock(&rival->lock);
	ref_thread_destroy(rival->variant, worker->thread);
	free(worker);
}

struct bench_variant rival_variant(struct rival *rival)
{
	return (struct bench_variant){
		.mode = rival->variant->mode,
		.arg = rival,
		.setup = set_up,
		.begin = begin_turn,
		.op = run_batch,
		.one = run_one,
		.teardown = tear_down,
	};
}

int rival_verify(const struct rival *rival)
{
	const struct ref_variant *variant = rival->variant;
	uint64_t first = variant->traits & REF_RWSEM ? 0 : 1;

	if (rival->refused != (rival->scenario->dying ? rival_ops(rival) : 0)) {
		fprintf(stderr, "bench_lockref: %s, %s: %ju of %ju gets refused\n",
		        rival->scenario->name, variant->mode, (uintmax_t)rival->refused,
		        (uintmax_t)rival_ops(rival));
		return -EIO;
	}
	if (rival->scenario->dying || !(variant->traits & REF_COUNTS))
		return 0;
	for (unsigned int i = 0; i < rival->set.count; i++) {
		uint64_t count = variant->count(rival->set.site[i].ref);

		if (count == first)
			continue;
		fprintf(stderr, "bench_lockref: %s, %s: %ju references are left, not %ju\n",
		        rival->scenario->name, variant->mode, (uintmax_t)count, (uintmax_t)first);
		return -EIO;
	}
	return 0;
}
