/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "run.h"

#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "pathcache.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TS_SANITIZED 1
#endif
#endif
#ifndef TS_SANITIZED
#define TS_SANITIZED 0
#endif

#define CASE_LIMIT_S (TS_SANITIZED ? 240 : 90)

static _Atomic unsigned long failures;
static _Atomic unsigned skips;
static const char *running = "start";

/* ---- cases ------------------------------------------------------------- */

void ts_fail(const char *file, int line, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (atomic_fetch_add(&failures, 1) < 100)
		fprintf(stderr, "%s:%d: %s: FAILED: %s\n", file, line, running, text);
}

unsigned long ts_failures(void)
{
	return atomic_load(&failures);
}

void ts_die(const char *file, int line, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fprintf(stderr, "%s:%d: %s: cannot go on: %s\n", file, line, running, text);
	exit(1);
}

void ts_skip(const char *reason)
{
	printf("      skipped: %s\n", reason);
	atomic_fetch_add(&skips, 1);
}

static void took_too_long(int sig)
{
	static const char text[] = ": hangs\n";
	ssize_t ignored;

	(void)sig;
	ignored = write(STDERR_FILENO, running, strlen(running));
	ignored = write(STDERR_FILENO, text, sizeof(text) - 1);
	(void)ignored;
	_exit(1);
}

static bool wanted(const char *name, int argc, char **argv)
{
	if (argc < 2)
		return true;
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], name) == 0)
			return true;
	return false;
}

int ts_run_cases(const struct ts_case *cases, size_t n, int argc, char **argv)
{
	unsigned ran = 0, skipped = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGALRM, took_too_long);
	REQUIRE(pathcache_thread_register() == 0);
	for (size_t i = 0; i < n; i++) {
		unsigned long failed = ts_failures();
		unsigned skip = atomic_load(&skips);
		uint64_t start = ts_now_ns();

		if (!wanted(cases[i].name, argc, argv))
			continue;
		running = cases[i].name;
		alarm(CASE_LIMIT_S);
		cases[i].run();
		alarm(0);
		ran++;
		skipped += atomic_load(&skips) != skip;
		printf("%-6s%s (%.0f ms)\n", ts_failures() != failed ? "FAIL" : "ok", running,
		       (double)(ts_now_ns() - start) / 1e6);
	}
	pathcache_thread_unregister();
	printf("%u cases, %u skipped, %lu failed checks\n", ran, skipped, ts_failures());
	if (ts_failures() || !ran)
		return 1;
	return skipped == ran ? 77 : 0;
}

/* ---- seeds ------------------------------------------------------------- */

static uint64_t seed_value;

static void seed_choose(void)
{
	const char *text = getenv("PATHCACHE_SEED");
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	seed_value = (uint64_t)ts.tv_nsec ^ ((uint64_t)ts.tv_sec << 20);
	if (text && *text)
		seed_value = strtoull(text, NULL, 0);
	printf("PATHCACHE_SEED=%llu\n", (unsigned long long)seed_value);
}

uint64_t ts_seed(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, seed_choose);
	return seed_value;
}

struct ts_rng ts_rng(uint64_t stream)
{
	return (struct ts_rng){.state = ts_seed() + stream * UINT64_C(0x9e3779b97f4a7c15)};
}

/* splitmix64 */
uint64_t ts_rand(struct ts_rng *rng)
{
	uint64_t z = rng->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

unsigned ts_below(struct ts_rng *rng, unsigned n)
{
	return (unsigned)(ts_rand(rng) % n);
}

/* ---- time -------------------------------------------------------------- */

uint64_t ts_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void ts_sleep_us(unsigned us)
{
	struct timespec ts = {.tv_sec = us / 1000000, .tv_nsec = (long)(us % 1000000) * 1000};

	ts_offline();
	nanosleep(&ts, NULL);
	ts_online();
}

double ts_seconds(double usual)
{
	const char *text = getenv("PATHCACHE_SECONDS");

	if (text && *text)
		return strtod(text, NULL);
	return TS_SANITIZED ? usual / 2 : usual;
}

unsigned ts_scale(unsigned n)
{
	const char *text = getenv("PATHCACHE_SCALE");
	double scaled = n;

	if (text && *text)
		scaled = scaled * strtod(text, NULL) / 100;
	else if (TS_SANITIZED)
		scaled /= 8;
	return scaled < 1 ? 1 : (unsigned)scaled;
}

/* ---- threads ----------------------------------------------------------- */

static void *thread_main(void *arg)
{
	struct ts_thread *thread = arg;

	REQUIRE(pathcache_thread_register() == 0);
	thread->fn(thread->arg);
	pathcache_thread_unregister();
	atomic_store(&thread->done, true);
	return NULL;
}

void ts_thread_start(struct ts_thread *thread, void (*fn)(void *arg), void *arg)
{
	thread->fn = fn;
	thread->arg = arg;
	atomic_store(&thread->done, false);
	REQUIRE(pthread_create(&thread->id, NULL, thread_main, thread) == 0);
}

bool ts_thread_ends(struct ts_thread *thread, unsigned ms)
{
	uint64_t limit = ts_now_ns() + (uint64_t)ms * 1000000u;

	while (!atomic_load(&thread->done)) {
		if (ts_now_ns() > limit)
			return false;
		ts_sleep_us(500);
	}
	return true;
}

void ts_thread_join(struct ts_thread *thread)
{
	ts_offline();
	REQUIRE(pthread_join(thread->id, NULL) == 0);
	ts_online();
}
