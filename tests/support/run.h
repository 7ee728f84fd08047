/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What every test program shares: cases and checks, seeds, time limits and
 * threads. A failed CHECK is counted and the case goes on; a failed REQUIRE
 * ends the program.
 */
#ifndef TS_RUN_H
#define TS_RUN_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ts_case {
	const char *name;
	void (*run)(void);
};

#define TS_CASE(fn) \
	{ \
		.name = #fn, .run = fn \
	}

/*
 * Run the cases named in argv, all when there are none.
 * Return: an exit status; 77 when every case was skipped.
 */
int ts_run_cases(const struct ts_case *cases, size_t n, int argc, char **argv);
void ts_skip(const char *reason);

__attribute__((format(printf, 3, 4))) void ts_fail(const char *file, int line, const char *fmt,
                                                   ...);
unsigned long ts_failures(void);
__attribute__((format(printf, 3, 4), noreturn)) void ts_die(const char *file, int line,
                                                            const char *fmt, ...);

#define CHECK(cond) \
	do { \
		if (!(cond)) \
			ts_fail(__FILE__, __LINE__, "%s", #cond); \
	} while (0)

#define CHECK_EQ(got, want) \
	do { \
		long long got_ = (long long)(got), want_ = (long long)(want); \
		if (got_ != want_) \
			ts_fail(__FILE__, __LINE__, "%s is %lld, not %s (%lld)", #got, got_, \
			        #want, want_); \
	} while (0)

#define REQUIRE(cond) \
	do { \
		if (!(cond)) \
			ts_die(__FILE__, __LINE__, "%s", #cond); \
	} while (0)

/* ---- seeds ------------------------------------------------------------- */

struct ts_rng {
	uint64_t state;
};

/* PATHCACHE_SEED, or one from the clock; printed once. */
uint64_t ts_seed(void);
struct ts_rng ts_rng(uint64_t stream);
uint64_t ts_rand(struct ts_rng *rng);
unsigned ts_below(struct ts_rng *rng, unsigned n);

/* ---- time -------------------------------------------------------------- */

uint64_t ts_now_ns(void);
void ts_sleep_us(unsigned us);
/* PATHCACHE_SECONDS, or usual; a quarter of it under a sanitizer. */
double ts_seconds(double usual);
/* n times PATHCACHE_SCALE percent; less under a sanitizer; at least 1. */
unsigned ts_scale(unsigned n);

/* ---- threads ----------------------------------------------------------- */
/*
 * Threads are registered for their lifetime. In the QSBR flavour a registered
 * thread that waits must be offline, or it holds up every grace period:
 * ts_offline() and ts_online() bracket each wait, ts_quiescent() goes into
 * every long loop. In the other flavours they do nothing.
 */
struct ts_thread {
	pthread_t id;
	void (*fn)(void *arg);
	void *arg;
	_Atomic bool done;
};

void ts_thread_start(struct ts_thread *thread, void (*fn)(void *arg), void *arg);
/* Return: whether the thread ended within ms. */
bool ts_thread_ends(struct ts_thread *thread, unsigned ms);
void ts_thread_join(struct ts_thread *thread);

void ts_offline(void);
void ts_online(void);
void ts_quiescent(void);
void ts_read_lock(void);
void ts_read_unlock(void);

/*
 * The address sanitizer does not see that cancellation left the callback's
 * frames, the thread sanitizer not the locks taken while it unwinds.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TS_CAN_CANCEL 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TS_CAN_CANCEL 0
#endif
#endif
#ifndef TS_CAN_CANCEL
#define TS_CAN_CANCEL 1
#endif

#endif
