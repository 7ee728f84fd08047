/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The library's own word; and the same with the get that it does not have. */
#include "loop.h"
#include "variant_list.h"

#include "lockref.h"

static int word_init(void *ref, unsigned int threads)
{
	(void)threads;
	lockref_init(ref, 1);
	return 0;
}

static uint64_t word_count(const void *ref)
{
	return lockref_count(ref);
}

REF_FOLD bool word_get(const struct ref_site *site, struct ref_thread *thread, const void *how)
{
	(void)thread, (void)how;
	return lockref_get(site->ref);
}

REF_FOLD void word_put(const struct ref_site *site, struct ref_thread *thread, const void *how)
{
	(void)thread, (void)how;
	lockref_put(site->ref);
}

static void word_kill(const struct ref_site *site, struct ref_thread *thread)
{
	(void)thread;
	lockref_doom(site->ref);
	lockref_put(site->ref);
}

REF_LOOPS(word, word_get, word_put, ref_site_lock, ref_site_unlock, NULL);

const struct ref_variant ref_word = {
	.mode = "word",
	.about = "the library's: count and flags in one word, an add each",
	.traits = REF_COUNTS | REF_DIES,
	.bytes = sizeof(struct lockref),
	.init = word_init,
	.count = word_count,
	.kill = word_kill,
	.run = word_run,
	.calls = &word_calls,
};

/* Reads first, so a dead word is left alone; but it can fail as often as others succeed. */
REF_FOLD bool swap_get(const struct ref_site *site, struct ref_thread *thread, const void *how)
{
	struct lockref *ref = site->ref;
	uint64_t word = atomic_load_explicit(&ref->word, memory_order_relaxed);

	(void)how;
	while (lockref_gettable_(word)) {
		if (atomic_compare_exchange_weak_explicit(&ref->word, &word, word + 1,
		                                          memory_order_acquire,
		                                          memory_order_relaxed)) {
			if (__builtin_expect(lockref_saturates_(word), 0))
				lockref_saturate_slow_(ref, word);
			return true;
		}
		thread->retries++;
	}
	return false;
}

REF_LOOPS(swap, swap_get, word_put, ref_site_lock, ref_site_unlock, NULL);

const struct ref_variant ref_word_cas = {
	.mode = "word_cas",
	.about = "the same word; get by compare-and-exchange",
	.traits = REF_COUNTS | REF_DIES | REF_SWAPS,
	.bytes = sizeof(struct lockref),
	.init = word_init,
	.count = word_count,
	.kill = word_kill,
	.run = swap_run,
	.calls = &swap_calls,
};
