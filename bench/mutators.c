/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "mutators.h"

#include "harness.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
	POLL_NS = 50 * 1000,
	CYCLE_1K_NS = 2 * 1000 * 1000, /* two renames */
	PATH_BYTES = 4096,
};

static void sleep_ns(long ns)
{
	const struct timespec pause = {.tv_nsec = ns};

	nanosleep(&pause, NULL);
}

static int rekey_all(const struct peer *peer, const struct peer_move *move, bool back)
{
	const char *from = back ? move->to : move->from;
	const char *to = back ? move->from : move->to;
	size_t skip = strlen(move->dir) + 1 + strlen(move->from);
	size_t n = move->below ? move->below->count : 1;
	int error = 0;

	for (size_t i = 0; i < n && !error; i++) {
		const char *rest = move->below ? move->below->path[i] + skip : "";
		char old[PATH_BYTES], new[PATH_BYTES];

		snprintf(old, sizeof(old), "%s/%s%s", move->dir, from, rest);
		snprintf(new, sizeof(new), "%s/%s%s", move->dir, to, rest);
		error = peer->ops->rekey(peer->self, old, new);
	}
	return error;
}

static int rename_once(const struct peer *peer, const struct peer_move *move, bool back)
{
	if (peer->ops->move)
		return peer->ops->move(peer->self, move, back);
	return peer->ops->rekey ? rekey_all(peer, move, back) : -EOPNOTSUPP;
}

/* Return: whether to go on. */
static bool there_and_back(struct mutator *mutator, size_t i)
{
	const struct peer *peer = &mutator->peers[i];
	int error = rename_once(peer, &mutator->move, false);

	if (!error)
		error = rename_once(peer, &mutator->move, true);
	if (!error)
		mutator->renames[i] += 2;
	else if (error != -EOPNOTSUPP && !mutator->error)
		mutator->error = error;
	return !error;
}

/* Whether the rival is to wait for its next rename. */
static bool must_wait(const struct mutator *mutator, size_t i, bool first, uint64_t due)
{
	if (i == MUTATOR_IDLE)
		return true;
	if (mutator->pace == MUTATOR_ONCE)
		return !first;
	return mutator->pace == MUTATOR_1K && bench_now_ns() < due;
}

static void *mutator_main(void *arg)
{
	struct mutator *mutator = arg;
	size_t last = MUTATOR_IDLE;
	uint64_t due = 0, then = bench_now_ns();

	pathcache_thread_register();
	while (!atomic_load(&mutator->stop)) {
		size_t i = atomic_load_explicit(&mutator->current, memory_order_relaxed);
		uint64_t now = bench_now_ns();
		bool first = i != last;

		if (last != MUTATOR_IDLE)
			mutator->turn_ns[last] += now - then;
		last = i;
		then = now;
		if (must_wait(mutator, i, first, due)) {
			sleep_ns(POLL_NS);
			continue;
		}
		due = (first ? now : due) + CYCLE_1K_NS;
		if (!there_and_back(mutator, i))
			sleep_ns(POLL_NS);
	}
	pathcache_thread_unregister();
	return NULL;
}

int mutator_start(struct mutator *mutator)
{
	atomic_init(&mutator->current, MUTATOR_IDLE);
	atomic_init(&mutator->stop, false);
	/* What a rival notes of the move it notes now, while nobody reads. */
	for (size_t i = 0; i < mutator->npeers; i++) {
		const struct peer *peer = &mutator->peers[i];
		int error = 0;

		if (peer->ops->move)
			error = peer->ops->move(peer->self, &mutator->move, true);
		if (error)
			return error;
	}
	return -pthread_create(&mutator->thread, NULL, mutator_main, mutator);
}

int mutator_stop(struct mutator *mutator)
{
	atomic_store(&mutator->stop, true);
	pthread_join(mutator->thread, NULL);
	return mutator->error;
}
