/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "worker.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cache.h"

#define STEP 1024u /* objects to look at between two looks at who waits */

void pc_worker_init(struct pc_worker *w)
{
	pthread_mutex_init(&w->lock, NULL);
	w->fd = -1;
	w->running = false;
	w->stop = false;
	atomic_init(&w->wanted, false);
	atomic_init(&w->due, 0);
}

void pc_worker_wake_slow(struct pc_worker *w)
{
	static const uint64_t one = 1;
	ssize_t ignored;

	if (atomic_exchange_explicit(&w->due, 1, memory_order_relaxed))
		return;
	ignored = write(w->fd, &one, sizeof(one));
	(void)ignored; /* a counter of ones neither blocks nor overflows */
}

/* Sleep until there is something. Context: its thread, no lock. */
static void wait_for_work(struct pathcache *c)
{
	struct pc_worker *w = &c->worker;
	struct pollfd fds[2] = {{.fd = w->fd, .events = POLLIN},
	                        {.fd = c->loop.fd, .events = POLLIN}};
	uint64_t n;

	if (poll(fds, 2, -1) <= 0 || !fds[0].revents)
		return;
	if (read(w->fd, &n, sizeof(n)) < 0)
		return;
	/* Before the work is looked at, under the change lock: see pc_worker_wake(). */
	atomic_store_explicit(&w->due, 0, memory_order_relaxed);
}

/* What was freed under others' feet since is no work: they say when it has become much. */
static void work(struct pathcache *c)
{
	while (pc_upkeep_step(c, STEP))
		if (atomic_load_explicit(&c->worker.wanted, memory_order_relaxed))
			return;
}

static void *worker_main(void *arg)
{
	struct pathcache *c = arg;
	struct pc_worker *w = &c->worker;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	pthread_mutex_lock(&w->lock);
	while (!w->stop) {
		work(c);
		pthread_mutex_unlock(&w->lock);
		wait_for_work(c);
		pthread_mutex_lock(&w->lock);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

/* With all signals blocked: they are the application's. */
static int thread_create(struct pathcache *c)
{
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	rc = pthread_sigmask(SIG_SETMASK, &all, &before);
	if (rc)
		return -rc;
	rc = pthread_create(&c->worker.thread, NULL, worker_main, c);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -rc;
}

int pc_worker_start(struct pathcache *c)
{
	struct pc_worker *w = &c->worker;
	int rc;

	w->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (w->fd < 0)
		return -errno;
	pthread_mutex_lock(&w->lock);
	w->running = true;
	rc = thread_create(c);
	if (rc) {
		w->running = false;
		pthread_mutex_unlock(&w->lock);
		return rc;
	}
	pthread_setname_np(w->thread, "pathcache");
	return 0;
}

/*
 * It may be waiting for a grace period, which an online thread would hold up.
 * Return: whether the caller was online.
 */
static bool go_offline(void)
{
	bool online = !pc_rcu_may_wait();

	if (online)
		pc_rcu_offline();
	return online;
}

static void go_back(bool online)
{
	if (online)
		pc_rcu_online();
}

void pc_worker_hold(struct pathcache *c)
{
	struct pc_worker *w = &c->worker;
	bool online;

	if (!w->running)
		return;
	online = go_offline();
	atomic_store_explicit(&w->wanted, true, memory_order_relaxed);
	pthread_mutex_lock(&w->lock);
	atomic_store_explicit(&w->wanted, false, memory_order_relaxed);
	go_back(online);
}

void pc_worker_release(struct pathcache *c)
{
	if (!c->worker.running)
		return;
	pthread_mutex_unlock(&c->worker.lock);
	pc_worker_wake(&c->worker); /* what it was kept from */
}

void pc_worker_stop(struct pathcache *c)
{
	struct pc_worker *w = &c->worker;
	bool online;

	if (w->running) {
		w->stop = true;
		pthread_mutex_unlock(&w->lock);
		pc_worker_wake(w);
		online = go_offline();
		pthread_join(w->thread, NULL);
		go_back(online);
		w->running = false;
	}
	if (w->fd >= 0)
		close(w->fd);
	w->fd = -1;
}
