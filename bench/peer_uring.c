/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * statx(2) by io_uring(7): a batch is submitted with one system call and waited
 * for, as pathcache_stat_many() answers one. A ring for each thread. The kernel
 * gives each statx to a worker thread of its own (it may block), so a batch runs
 * on other CPUs too, where they are idle.
 */
#define _GNU_SOURCE
#include "peer_kernel.h"

#include <errno.h>
#include <liburing.h>
#include <stdlib.h>

enum { DEPTH = 1024 }; /* paths at once; larger batches go in parts */

struct ring {
	struct io_uring uring;
	struct kernel kernel;
	bool broken; /* it answers no more */
	struct statx st[DEPTH];
};

static int open_ring(const struct kernel *kernel, void **self)
{
	struct ring *ring = malloc(sizeof(*ring));
	int error;

	if (!ring)
		return -ENOMEM;
	ring->kernel = *kernel;
	ring->broken = false;
	error = io_uring_queue_init(DEPTH, &ring->uring, 0);
	if (error) {
		free(ring);
		return error;
	}
	*self = ring;
	return 0;
}

static void close_ring(void *self)
{
	struct ring *ring = self;

	io_uring_queue_exit(&ring->uring);
	free(ring);
}

static int create(const struct peer_ops *ops, const struct peer_setup *setup, void **self)
{
	const struct kernel kernel = kernel_of(setup);

	(void)ops;
	return open_ring(&kernel, self);
}

static int attach(void *self, void **own)
{
	const struct ring *ring = self;

	return open_ring(&ring->kernel, own);
}

/* Take one answer, waiting for it. Return: 0; the error of waiting. */
static int reap(struct ring *ring, struct pathcache_attr *attrs, int *results)
{
	struct io_uring_cqe *cqe;
	uint64_t i;
	int error;

	do
		error = io_uring_wait_cqe(&ring->uring, &cqe);
	while (error == -EINTR);
	if (error)
		return error;
	i = io_uring_cqe_get_data64(cqe);
	results[i] = cqe->res;
	if (!cqe->res)
		kernel_keep(&ring->st[i], &attrs[i]);
	io_uring_cqe_seen(&ring->uring, cqe);
	return 0;
}

/* Hand over n questions with as few calls as it takes, one. Return: how many went. */
static size_t submit(struct ring *ring, size_t n)
{
	size_t gone = 0;

	while (gone < n) {
		int more = io_uring_submit_and_wait(&ring->uring, (unsigned int)(n - gone));

		if (more == -EINTR)
			continue;
		if (more <= 0)
			break;
		gone += (size_t)more;
	}
	return gone;
}

/* n: at most DEPTH, which all have a place. */
static void answer_part(struct ring *ring, const char *const *paths, size_t n,
                        struct pathcache_attr *attrs, int *results)
{
	int flags = kernel_statx_flags(&ring->kernel), error = 0;
	size_t gone;

	for (size_t i = 0; i < n; i++)
		results[i] = -EIO;
	if (ring->broken)
		return;
	for (size_t i = 0; i < n; i++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(&ring->uring);
		const char *path = paths[i];
		int at = recorded_at(ring->kernel.tree, &path);

		io_uring_prep_statx(sqe, at, path, flags, STATX_BASIC_STATS, &ring->st[i]);
		io_uring_sqe_set_data64(sqe, i);
	}
	gone = submit(ring, n);
	for (size_t i = 0; i < gone && !error; i++)
		error = reap(ring, attrs, results);
	/* What is left in the ring would be taken for answers to the next questions. */
	ring->broken = error || gone < n;
}

static void answer(void *self, const char *const *paths, size_t n, struct pathcache_attr *attrs,
                   int *results)
{
	for (size_t i = 0; i < n; i += DEPTH)
		answer_part(self, &paths[i], n - i < DEPTH ? n - i : DEPTH, &attrs[i], &results[i]);
}

static int destroy(void *self)
{
	close_ring(self);
	return 0;
}

/* It may be switched off (kernel.io_uring_disabled), filtered, or too old for statx. */
static int probe(void)
{
	const char *const root = "/";
	const struct recorded here = {.base_fd = -1};
	const struct kernel kernel = {.tree = &here};
	struct pathcache_attr attr;
	void *self;
	int error = open_ring(&kernel, &self), result;

	if (error)
		return error;
	answer(self, &root, 1, &attr, &result);
	close_ring(self);
	return result;
}

const struct peer_ops peer_uring = {
	.mode = "uring",
	.probe = probe,
	.create = create,
	.answer = answer,
	.attach = attach,
	.detach = close_ring,
	.destroy = destroy,
};
