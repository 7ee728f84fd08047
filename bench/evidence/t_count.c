/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Does the counting count what is there, all of it, and call it by its name? */
#include "count.h"
#include "known.h"

#include <stdio.h>
#include <stdlib.h>

static int failures;

static void check(const char *what, const struct count *got, const struct count *want)
{
	const uint64_t *g = (const uint64_t *)got, *w = (const uint64_t *)want;
	static const char *const names[] = {
		"loads",  "stores", "shared_stores", "own_stores",   "rmw",
		"fences", "unseen", "lines",         "shared_lines",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (g[i] == w[i])
			continue;
		fprintf(stderr, "%s: %s is %ju, not %ju\n", what, names[i], (uintmax_t)g[i],
		        (uintmax_t)w[i]);
		failures++;
	}
}

#define EXPECT(call, ...) \
	do { \
		const struct count want_ = {__VA_ARGS__}; \
		struct count got_; \
		count_begin(); \
		call; \
		count_end(&got_); \
		check(#call, &got_, &want_); \
	} while (0)

static void kinds_of_access(uint64_t *heap)
{
	EXPECT(known_nothing(3), 0);
	EXPECT(known_load(heap), .loads = 1, .lines = 1, .shared_lines = 1);
	EXPECT(known_store(heap), .stores = 1, .shared_stores = 1, .lines = 1, .shared_lines = 1);
	EXPECT(known_add(heap), .loads = 1, .stores = 1, .shared_stores = 1, .lines = 1,
	       .shared_lines = 1);
	EXPECT(known_global_store(), .stores = 1, .shared_stores = 1, .lines = 1,
	       .shared_lines = 1);
	EXPECT(known_fetch_add(), .rmw = 1, .lines = 1, .shared_lines = 1);
	EXPECT(known_swaps(), .loads = 1, .rmw = 2, .lines = 1, .shared_lines = 1);
	EXPECT(known_load_store(&known_atomic), .loads = 1, .stores = 1, .shared_stores = 1,
	       .lines = 1, .shared_lines = 1);
	EXPECT(known_allocate(), .unseen = 2);
}

static void sizes(unsigned char *heap)
{
	struct known_wide *wide = (struct known_wide *)(void *)heap;

	EXPECT(known_copy(&wide[4], &wide[0]), .loads = 24, .stores = 24, .shared_stores = 24,
	       .lines = 6, .shared_lines = 6);
	EXPECT(known_length("0123456"), .loads = 1, .lines = 1, .shared_lines = 1);
	EXPECT(known_lines(heap, 20), .loads = 20, .lines = 20, .shared_lines = 20);
	/* Two lines are touched by a word that lies across their border. */
	EXPECT(known_load((const uint64_t *)(const void *)(heap + COUNT_LINE - 4)), .loads = 1,
	       .lines = 2, .shared_lines = 2);
}

static void owners(uint64_t *heap)
{
	static __thread uint64_t mine;
	uint64_t local = 0;
	size_t before;

	EXPECT(known_store(&local), 0);
	EXPECT(known_store(&mine), .stores = 1, .lines = 1);
	before = count_own_reset(SIZE_MAX);
	count_own(heap, sizeof(*heap), COUNT_OWN);
	EXPECT(known_store(heap), .stores = 1, .lines = 1);
	count_own(heap, sizeof(*heap), COUNT_TOLD);
	EXPECT(known_store(heap), .stores = 1, .own_stores = 1, .lines = 1);
	EXPECT(known_store(heap + 1), .stores = 1, .shared_stores = 1, .lines = 1,
	       .shared_lines = 1);
	count_own_reset(before);
	EXPECT(known_store(heap), .stores = 1, .shared_stores = 1, .lines = 1, .shared_lines = 1);
}

/* Of two runs that differ by one plain store to a global, the counts do so too. */
static void one_store_more(uint64_t *heap)
{
	struct count without, with;

	count_begin();
	known_add(heap);
	count_end(&without);
	count_begin();
	known_add(heap);
	known_global_store();
	count_end(&with);
	if (with.shared_stores != without.shared_stores + 1 || with.loads != without.loads) {
		fprintf(stderr, "one store more was not seen\n");
		failures++;
	}
	known_add(heap);
	count_begin();
	count_end(&with);
	if (with.loads || with.stores || with.lines) {
		fprintf(stderr, "what is not between begin and end was counted\n");
		failures++;
	}
}

int main(void)
{
	unsigned char *heap = aligned_alloc(COUNT_LINE, 32 * COUNT_LINE);

	if (!heap)
		return 1;
	for (size_t i = 0; i < 32 * COUNT_LINE; i++)
		heap[i] = (unsigned char)i;
	count_own_thread();
	kinds_of_access((uint64_t *)(void *)heap);
	sizes(heap);
	owners((uint64_t *)(void *)heap);
	one_store_more((uint64_t *)(void *)heap);
	free(heap);
	if (!failures)
		puts("all counts are right");
	return failures ? 1 : 0;
}
