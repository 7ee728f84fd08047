/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "flip.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

struct run {
	const struct ts_flip *flip;
	unsigned nprobes;
	struct ts_answer *want[2];
	/* Twice the number of flips, odd while one is under way. */
	_Atomic uint64_t phase;
	_Atomic bool stop;
	_Atomic uint64_t asked, hits, stable, violations;
};

/*
 * Times and link counts move with every flip and are not of the state; what
 * the path leads to is.
 */
static bool is_answer(const struct ts_flip *flip, const struct ts_query *query,
                      const struct ts_answer *got, const struct ts_answer *want)
{
	if (got->err != want->err)
		return false;
	if (got->err || query->op == TS_ACCESS)
		return true;
	if (query->op == TS_READLINK || query->op == TS_REALPATH)
		return got->len == want->len && memcmp(got->text, want->text, got->len) == 0;
	return got->attr.mode == want->attr.mode && got->attr.uid == want->attr.uid &&
	       (flip->new_inodes || got->attr.ino == want->attr.ino);
}

static void violated(struct run *run, const struct ts_query *query, const struct ts_answer *got,
                     const struct ts_answer *zero, const struct ts_answer *one)
{
	if (atomic_fetch_add(&run->violations, 1) >= 5 || run->flip->control)
		return;
	ts_fail(__FILE__, __LINE__, "%s: an answer that was true at no instant of the call",
	        run->flip->name);
	ts_print_query(stderr, run->flip->view, query);
	ts_print_answer(stderr, query, "got", got);
	if (zero)
		ts_print_answer(stderr, query, "state 0", zero);
	if (one)
		ts_print_answer(stderr, query, "state 1", one);
}

/* Was got the answer to probe i, asked as query, at some instant since phase before? */
static void judge(struct run *run, unsigned i, const struct ts_query *query, uint64_t before,
                  const struct ts_answer *got)
{
	const struct ts_answer *zero = &run->want[0][i], *one = &run->want[1][i];
	bool cached = query->flags & PATHCACHE_CACHED;
	uint64_t after = atomic_load(&run->phase);

	if (cached && got->err == EAGAIN)
		return;
	atomic_fetch_add_explicit(&run->asked, 1, memory_order_relaxed);
	if (cached)
		atomic_fetch_add_explicit(&run->hits, 1, memory_order_relaxed);
	if (before == after && !(before & 1)) {
		atomic_fetch_add_explicit(&run->stable, 1, memory_order_relaxed);
		zero = before & 2 ? NULL : zero;
		one = before & 2 ? one : NULL;
	} else if (!cached && run->flip->passes_twice & 1u << i) {
		return;
	}
	if (zero && is_answer(run->flip, query, got, zero))
		return;
	if (one && is_answer(run->flip, query, got, one))
		return;
	violated(run, query, got, zero, one);
}

static void ask(struct run *run, unsigned i, bool cached, struct ts_answer *got)
{
	struct ts_query query = run->flip->probes[i];
	uint64_t before = atomic_load(&run->phase);

	query.flags |= cached ? PATHCACHE_CACHED : 0;
	ts_ask_cache(run->flip->view, &query, got);
	judge(run, i, &query, before, got);
}

static bool is_plain(const struct ts_query *query)
{
	return query->op == TS_STAT && !query->flags && !query->cred && !query->start;
}

/* All plain probes at once, each twice. */
static void ask_batch(struct run *run, bool cached, struct ts_answer *got)
{
	struct pathcache_how how = {.size = sizeof(how), .flags = cached ? PATHCACHE_CACHED : 0};
	struct pathcache_attr attrs[2 * TS_PROBES];
	const char *paths[2 * TS_PROBES] = {NULL};
	int results[2 * TS_PROBES];
	unsigned which[2 * TS_PROBES], n = 0;
	uint64_t before;

	for (unsigned i = 0; i < 2 * run->nprobes; i++) {
		which[n] = i % run->nprobes;
		paths[n] = run->flip->probes[which[n]].path;
		n += is_plain(&run->flip->probes[which[n]]);
	}
	before = atomic_load(&run->phase);
	REQUIRE(pathcache_stat_many(run->flip->view->cache, paths, n, &how, attrs, results) == 0);
	for (unsigned i = 0; i < n; i++) {
		struct ts_query query = run->flip->probes[which[i]];

		query.flags = how.flags;
		got->err = -results[i];
		got->attr = attrs[i];
		judge(run, which[i], &query, before, got);
	}
}

static void reader(void *arg)
{
	static _Atomic uint64_t stream = 100;
	struct run *run = arg;
	struct ts_rng rng = ts_rng(atomic_fetch_add(&stream, 1));
	struct ts_answer *got = malloc(sizeof(*got));

	REQUIRE(got);
	while (!atomic_load_explicit(&run->stop, memory_order_relaxed)) {
		unsigned i = ts_below(&rng, run->nprobes);

		for (unsigned times = 1 + ts_below(&rng, 4); times-- > 0;)
			ask(run, i, ts_below(&rng, 2), got);
		if (ts_below(&rng, 8) == 0)
			ask_batch(run, ts_below(&rng, 2), got);
		ts_quiescent();
	}
	free(got);
}

static void noise(void *arg)
{
	struct run *run = arg;

	while (!atomic_load_explicit(&run->stop, memory_order_relaxed)) {
		run->flip->noise(run->flip->arg);
		ts_quiescent();
	}
}

static void expect(struct run *run)
{
	for (unsigned state = 0; state < 2; state++) {
		run->want[state] = calloc(run->nprobes, sizeof(struct ts_answer));
		REQUIRE(run->want[state]);
		run->flip->to_state(run->flip->arg, state);
		for (unsigned i = 0; i < run->nprobes; i++)
			ts_ask_kernel(run->flip->view, &run->flip->probes[i], &run->want[state][i]);
	}
	run->flip->to_state(run->flip->arg, 0);
}

static void pause_between(const struct ts_flip *flip, struct ts_rng *rng)
{
	uint64_t end = ts_now_ns() + ts_below(rng, 30000);

	if (ts_below(rng, 4) == 0)
		return;
	if (!flip->tight)
		ts_sleep_us(ts_below(rng, 300));
	else
		while (ts_now_ns() < end)
			;
}

static void mutate(struct run *run, double seconds)
{
	uint64_t begin = ts_now_ns(), end = begin + (uint64_t)(seconds * 1e9);
	/* Tight flips on a busy machine: until an answer has come between two. */
	uint64_t last = begin + (uint64_t)(seconds * 20e9);
	struct ts_rng rng = ts_rng(99);

	for (unsigned state = 1;
	     ts_now_ns() < end || state == 0 || (!atomic_load(&run->stable) && ts_now_ns() < last);
	     state ^= 1) {
		atomic_fetch_add(&run->phase, 1);
		run->flip->to_state(run->flip->arg, state);
		atomic_fetch_add(&run->phase, 1);
		ts_quiescent();
		pause_between(run->flip, &rng);
	}
}

uint64_t ts_flip_run(const struct ts_flip *flip, double seconds)
{
	struct ts_thread readers[TS_READERS], noisy;
	struct run *run = calloc(1, sizeof(*run));
	uint64_t violations, memo_hits;

	REQUIRE(run);
	run->flip = flip;
	while (run->nprobes < TS_PROBES && flip->probes[run->nprobes].path)
		run->nprobes++;
	expect(run);
	for (int i = 0; i < TS_READERS; i++)
		ts_thread_start(&readers[i], reader, run);
	if (flip->noise)
		ts_thread_start(&noisy, noise, run);
	mutate(run, seconds);
	atomic_store(&run->stop, true);
	for (int i = 0; i < TS_READERS; i++)
		ts_thread_join(&readers[i]);
	if (flip->noise)
		ts_thread_join(&noisy);
	violations = atomic_load(&run->violations);
	memo_hits = ts_stats(flip->view->cache).memo_hits;
	printf("      %-44s %6llu flips %8llu answers (%8llu hits for sure, %8llu by memos) %8llu "
	       "between flips, %llu violations\n",
	       flip->name, (unsigned long long)atomic_load(&run->phase) / 2,
	       (unsigned long long)atomic_load(&run->asked),
	       (unsigned long long)atomic_load(&run->hits), (unsigned long long)memo_hits,
	       (unsigned long long)atomic_load(&run->stable), (unsigned long long)violations);
	CHECK(atomic_load(&run->stable) > 0);
	if (flip->memos)
		CHECK(memo_hits > 0);
	free(run->want[0]);
	free(run->want[1]);
	free(run);
	return violations;
}
