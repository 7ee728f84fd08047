/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fork.h"
#include "pathcache.h"

__thread struct pc_thread pc_thread;

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool key_good;

/* Guards the lists of counts of all caches; taken at thread start and end only. */
static pthread_mutex_t registry = PTHREAD_MUTEX_INITIALIZER;
static uint64_t last_serial;

static void counts_fold(struct pc_counts *into, const struct pc_counts *from)
{
	for (int i = 0; i < PC_COUNTERS; i++) {
		uint64_t n = atomic_load_explicit(&from->n[i], memory_order_relaxed);

		atomic_fetch_add_explicit(&into->n[i], n, memory_order_relaxed);
	}
}

/* A thread gives up the counts of cache t; t is not closed. */
static void counts_leave(struct pc_tally *t, struct pc_counts *counts)
{
	struct pc_counts **at = &t->list;

	while (*at != counts)
		at = &(*at)->next_cache;
	*at = counts->next_cache;
	counts_fold(&t->gone, counts);
}

static void thread_exit(void *self)
{
	struct pc_thread *t = self;

	if (pc_is_child())
		return;
	pthread_mutex_lock(&registry);
	while (t->all) {
		struct pc_counts *counts = t->all;

		t->all = counts->next_thread;
		if (counts->cache)
			counts_leave(pc_cache_tally(counts->cache), counts);
		free(counts);
	}
	pthread_mutex_unlock(&registry);
	t->serial = 0;
	t->counts = NULL;
	if (t->ours) {
		t->ours = false;
		pc_rcu_unregister();
	}
}

static void key_make(void)
{
	key_good = pthread_key_create(&key, thread_exit) == 0;
}

/* Have thread_exit() called for this thread. */
static bool thread_watch(void)
{
	pthread_once(&key_once, key_make);
	return key_good && pthread_setspecific(key, &pc_thread) == 0;
}

void pc_thread_register_slow(void)
{
	if (pc_is_child()) {
		/* Nobody waits for readers here; liburcu's own lock may be held for ever. */
		pc_rcu_stand_in();
		return;
	}
	/*
	 * Without the destructor an exiting thread would stay in liburcu's list;
	 * keys run out at 1024 a process, long after this one was made.
	 */
	thread_watch();
	pc_rcu_register();
	pc_rcu_offline();
	pc_thread.ours = true;
}

static void counts_free_closed(struct pc_thread *t)
{
	struct pc_counts **at = &t->all;

	while (*at) {
		struct pc_counts *counts = *at;

		if (counts->cache) {
			at = &counts->next_thread;
		} else {
			*at = counts->next_thread;
			free(counts);
		}
	}
}

struct pc_counts *pc_thread_counts_slow(struct pc_tally *t)
{
	struct pc_thread *self = &pc_thread;
	struct pc_counts *counts;

	if (pc_is_child())
		return &t->gone;
	pthread_mutex_lock(&registry);
	counts_free_closed(self);
	for (counts = self->all; counts; counts = counts->next_thread)
		if (counts->serial == t->serial)
			break;
	if (!counts && thread_watch())
		counts = calloc(1, sizeof(*counts));
	if (counts && !counts->cache) {
		counts->cache = t->gone.cache;
		counts->serial = t->serial;
		counts->next_cache = t->list;
		t->list = counts;
		counts->next_thread = self->all;
		self->all = counts;
	}
	pthread_mutex_unlock(&registry);
	if (!counts)
		return &t->gone; /* shared: may lose a count, never memory */
	self->counts = counts;
	self->serial = t->serial;
	return counts;
}

void pc_tally_init(struct pc_tally *t, struct pathcache *c)
{
	memset(t, 0, sizeof(*t));
	t->gone.cache = c;
	pthread_mutex_lock(&registry);
	t->serial = ++last_serial;
	pthread_mutex_unlock(&registry);
}

void pc_tally_fini(struct pc_tally *t)
{
	pthread_mutex_lock(&registry);
	for (struct pc_counts *p = t->list; p; p = p->next_cache)
		p->cache = NULL;
	t->list = NULL;
	pthread_mutex_unlock(&registry);
}

void pc_tally_sum(struct pc_tally *t, uint64_t sum[PC_COUNTERS])
{
	struct pc_counts all = {.cache = NULL};

	pthread_mutex_lock(&registry);
	counts_fold(&all, &t->gone);
	for (struct pc_counts *p = t->list; p; p = p->next_cache)
		counts_fold(&all, p);
	pthread_mutex_unlock(&registry);
	for (int i = 0; i < PC_COUNTERS; i++)
		sum[i] = atomic_load_explicit(&all.n[i], memory_order_relaxed);
}

int pathcache_thread_register(void)
{
	int rc = pc_fork_watch();

	if (rc)
		return rc;
	if (!thread_watch())
		return -ENOMEM;
	if (!pc_rcu_registered())
		pc_thread_register_slow();
	pc_thread.pins++;
	return 0;
}

void pathcache_thread_unregister(void)
{
	if (pc_thread.pins == 0 || --pc_thread.pins > 0)
		return;
	thread_exit(&pc_thread);
}

#if PC_TESTING
pthread_mutex_t *pc_thread_registry(void)
{
	return &registry;
}
#endif
