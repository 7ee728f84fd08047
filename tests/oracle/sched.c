/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sched.h"

#include <semaphore.h>
#include <stdio.h>

#include "run.h"

enum state { IDLE, READY, WAITING };

struct worker {
	struct ts_thread thread;
	sem_t go;
	/* The token guards what follows. */
	enum state state;
	const pthread_cond_t *cond; /* WAITING */
};

static struct {
	struct worker worker[SCHED_THREADS];
	sem_t ended;
	struct sched_order *order;
	void (*fn)(void *arg, unsigned who);
	void *arg;
	const pthread_mutex_t *mutex;
	unsigned taken_away;
	bool stop;
} s;

/* Who this thread is; -1: none that is scheduled. */
static _Thread_local int self = -1;

int __real_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);
int __real_pthread_cond_broadcast(pthread_cond_t *cond);
int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);
int __wrap_pthread_cond_broadcast(pthread_cond_t *cond);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);

/* ---- choices ------------------------------------------------------------- */

static unsigned choose(unsigned n)
{
	struct sched_order *o = s.order;
	unsigned taken;

	if (n == 1)
		return 0;
	REQUIRE(o->depth < SCHED_DEPTH);
	taken = o->depth < o->prefix ? o->taken[o->depth] : 0;
	/* Else the same choices did not lead here again. */
	REQUIRE(taken < n);
	o->taken[o->depth] = (uint8_t)taken;
	o->options[o->depth++] = (uint8_t)n;
	return taken;
}

/* Who goes on; who has the token (-1: nobody) comes first. Return: SCHED_THREADS: all have ended. */
static unsigned choose_worker(int now)
{
	bool may_stay = now >= 0 && s.worker[now].state == READY;
	unsigned options[SCHED_THREADS], n = 0, waiting = 0, taken;

	if (may_stay)
		options[n++] = (unsigned)now;
	for (int i = 0; i < (int)SCHED_THREADS; i++) {
		waiting += s.worker[i].state == WAITING;
		if (i != now && s.worker[i].state == READY)
			options[n++] = (unsigned)i;
	}
	/* Everybody waits for somebody else. */
	REQUIRE(n || !waiting);
	if (!n)
		return SCHED_THREADS;
	if (may_stay && s.taken_away >= s.order->bound)
		n = 1;
	taken = choose(n);
	s.taken_away += may_stay && taken;
	return options[taken];
}

bool sched_next(struct sched_order *o)
{
	while (o->depth && o->taken[o->depth - 1] + 1u >= o->options[o->depth - 1])
		o->depth--;
	o->prefix = o->depth;
	if (!o->depth)
		return false;
	o->taken[o->depth - 1]++;
	return true;
}

/* ---- the token ------------------------------------------------------------ */

static void wait_for(sem_t *sem)
{
	ts_offline();
	while (sem_wait(sem))
		;
	ts_online();
}

static void pass_on(unsigned who)
{
	if (sem_post(who == SCHED_THREADS ? &s.ended : &s.worker[who].go))
		ts_die(__FILE__, __LINE__, "sem_post");
}

static void give(void)
{
	unsigned who = choose_worker(self);

	if ((int)who == self)
		return;
	pass_on(who);
	wait_for(&s.worker[self].go);
}

void sched_point(void)
{
	if (self >= 0)
		give();
}

int sched_self(void)
{
	return self;
}

void sched_point_at(const pthread_mutex_t *mutex)
{
	s.mutex = mutex;
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
	/* Whoever holds it is at no point, so it is free when this goes on. */
	if (self >= 0 && mutex == s.mutex)
		give();
	return __real_pthread_mutex_lock(mutex);
}

int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	if (self < 0)
		return __real_pthread_cond_wait(cond, mutex);
	s.worker[self].state = WAITING;
	s.worker[self].cond = cond;
	pthread_mutex_unlock(mutex);
	give();
	return __real_pthread_mutex_lock(mutex);
}

int __wrap_pthread_cond_broadcast(pthread_cond_t *cond)
{
	for (unsigned i = 0; self >= 0 && i < SCHED_THREADS; i++)
		if (s.worker[i].state == WAITING && s.worker[i].cond == cond)
			s.worker[i].state = READY;
	return __real_pthread_cond_broadcast(cond);
}

/* ---- runs ----------------------------------------------------------------- */

static void worker_main(void *arg)
{
	struct worker *w = arg;

	for (wait_for(&w->go); !s.stop; wait_for(&w->go)) {
		self = (int)(w - s.worker);
		s.fn(s.arg, (unsigned)self);
		w->state = IDLE;
		self = -1;
		pass_on(choose_worker(-1));
	}
}

void sched_start(void)
{
	s.stop = false;
	sem_init(&s.ended, 0, 0);
	for (unsigned i = 0; i < SCHED_THREADS; i++) {
		s.worker[i].state = IDLE;
		sem_init(&s.worker[i].go, 0, 0);
		ts_thread_start(&s.worker[i].thread, worker_main, &s.worker[i]);
	}
}

void sched_stop(void)
{
	s.stop = true;
	for (unsigned i = 0; i < SCHED_THREADS; i++) {
		sem_post(&s.worker[i].go);
		ts_thread_join(&s.worker[i].thread);
		sem_destroy(&s.worker[i].go);
	}
	sem_destroy(&s.ended);
}

void sched_run(struct sched_order *order, unsigned threads, void (*fn)(void *arg, unsigned who),
               void *arg)
{
	REQUIRE(threads && threads < 1u << SCHED_THREADS);
	order->depth = 0;
	s.order = order;
	s.fn = fn;
	s.arg = arg;
	s.taken_away = 0;
	for (unsigned i = 0; i < SCHED_THREADS; i++)
		s.worker[i].state = threads >> i & 1 ? READY : IDLE;
	pass_on(choose_worker(-1));
	wait_for(&s.ended);
}
