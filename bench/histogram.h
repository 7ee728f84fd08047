/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A histogram of latencies: a bucket for each power of two, and 32 in each of
 * those, so that a percentile is right to about 3 percent from 1 ns to a minute.
 * One thread at a time.
 */
#ifndef BENCH_HISTOGRAM_H
#define BENCH_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HISTOGRAM_SUB_BITS 5u
#define HISTOGRAM_BUCKETS ((36u - HISTOGRAM_SUB_BITS + 1u) << HISTOGRAM_SUB_BITS)

struct histogram {
	uint64_t count;
	uint64_t max;
	uint64_t sum;
	uint64_t bucket[HISTOGRAM_BUCKETS];
};

static inline size_t histogram_bucket(uint64_t ns)
{
	unsigned int shift;
	size_t i;

	if (ns < (1u << HISTOGRAM_SUB_BITS))
		return ns;
	shift = 63u - (unsigned int)__builtin_clzll(ns) - HISTOGRAM_SUB_BITS;
	i = ((size_t)(shift + 1) << HISTOGRAM_SUB_BITS) +
	    (size_t)((ns >> shift) & ((1u << HISTOGRAM_SUB_BITS) - 1));
	return i < HISTOGRAM_BUCKETS ? i : HISTOGRAM_BUCKETS - 1;
}

/* The least latency of bucket i. */
static inline uint64_t histogram_floor(size_t i)
{
	uint64_t sub = i & ((1u << HISTOGRAM_SUB_BITS) - 1);
	size_t power = i >> HISTOGRAM_SUB_BITS;

	return power ? (sub | 1u << HISTOGRAM_SUB_BITS) << (power - 1) : sub;
}

static inline void histogram_clear(struct histogram *h)
{
	memset(h, 0, sizeof(*h));
}

static inline void histogram_add(struct histogram *h, uint64_t ns)
{
	h->bucket[histogram_bucket(ns)]++;
	h->count++;
	h->sum += ns;
	if (ns > h->max)
		h->max = ns;
}

/* Take in what another one counted. */
static inline void histogram_merge(struct histogram *h, const struct histogram *other)
{
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		h->bucket[i] += other->bucket[i];
	h->count += other->count;
	h->sum += other->sum;
	if (other->max > h->max)
		h->max = other->max;
}

static inline double histogram_mean(const struct histogram *h)
{
	return h->count ? (double)h->sum / (double)h->count : 0;
}

/* The latency that a share of all, 0 to 1, does not exceed. 0 when there are none. */
static inline uint64_t histogram_at(const struct histogram *h, double share)
{
	uint64_t want = (uint64_t)(share * (double)h->count), seen = 0;

	for (size_t i = 0; i + 1 < HISTOGRAM_BUCKETS; i++) {
		seen += h->bucket[i];
		if (seen > want)
			return histogram_floor(i + 1) - 1 < h->max ? histogram_floor(i + 1) - 1
			                                           : h->max;
	}
	return h->max;
}

#endif
