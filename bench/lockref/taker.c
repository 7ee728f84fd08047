/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "taker.h"

#include <errno.h>
#include <sys/prctl.h>
#include <time.h>

enum {
	IDLE_NS = 50 * 1000,
	LOOK_NS = 1000 * 1000, /* between looks whose turn it is, at most */
};

void taker_precise(void)
{
	prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
}

bool taker_may_spin(unsigned int threads)
{
	return threads < bench_cpu_count();
}

void taker_wait_until(uint64_t ns, bool spin)
{
	const struct timespec until = {
		.tv_sec = (time_t)(ns / 1000000000),
		.tv_nsec = (long)(ns % 1000000000),
	};

	while (spin && bench_now_ns() < ns)
		;
	while (!spin && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

void taker_section(const struct rival *rival, struct ref_thread *thread, uint64_t hold_ns)
{
	const struct ref_calls *calls = rival->variant->calls;
	const struct ref_site *site = &rival->set.site[0];
	uint64_t start;

	calls->lock(site, thread, calls->how);
	start = bench_now_ns();
	++*site->guarded;
	while (bench_now_ns() - start < hold_ns)
		;
	calls->unlock(site, thread, calls->how);
}

static void take(struct taker *taker)
{
	uint64_t period = 1000000000 / taker->rate, then = bench_now_ns(), due = then;
	size_t last = TAKER_IDLE;

	while (!atomic_load_explicit(&taker->stop, memory_order_relaxed)) {
		size_t i = atomic_load_explicit(&taker->turn, memory_order_relaxed);
		uint64_t now = bench_now_ns();

		if (last != TAKER_IDLE)
			taker->turn_ns[last] += now - then;
		last = i;
		then = now;
		if (i == TAKER_IDLE) {
			taker_wait_until(now + IDLE_NS, false);
			continue;
		}
		if (now >= due) {
			taker_section(&taker->rivals[i], taker->thread[i], taker->hold_ns);
			taker->sections[i]++;
			due = now + period;
		}
		taker_wait_until(due < now + LOOK_NS ? due : now + LOOK_NS, taker->spin);
	}
}

static void destroy_threads(struct taker *taker)
{
	for (size_t i = 0; i < taker->nrivals; i++) {
		if (taker->thread[i])
			ref_thread_destroy(taker->rivals[i].variant, taker->thread[i]);
		taker->thread[i] = NULL;
	}
}

static void *taker_main(void *arg)
{
	struct taker *taker = arg;

	taker_precise();
	for (size_t i = 0; i < taker->nrivals && !taker->error; i++) {
		const struct rival *rival = &taker->rivals[i];

		taker->thread[i] = ref_thread_create(rival->variant, rival->threads);
		if (!taker->thread[i])
			taker->error = -ENOMEM;
	}
	if (!taker->error)
		take(taker);
	destroy_threads(taker);
	return NULL;
}

int taker_start(struct taker *taker)
{
	atomic_init(&taker->turn, TAKER_IDLE);
	atomic_init(&taker->stop, false);
	for (size_t i = 0; i < taker->nrivals; i++) {
		taker->rivals[i].turn = &taker->turn;
		taker->rivals[i].number = i;
	}
	return -pthread_create(&taker->id, NULL, taker_main, taker);
}

int taker_stop(struct taker *taker)
{
	atomic_store_explicit(&taker->stop, true, memory_order_relaxed);
	pthread_join(taker->id, NULL);
	return taker->error;
}

double taker_rate(const struct taker *taker, size_t rival)
{
	uint64_t ns = taker->turn_ns[rival];

	return ns ? (double)taker->sections[rival] * 1e9 / (double)ns : 0;
}
