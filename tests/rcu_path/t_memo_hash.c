/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The hash of memo keys: all of the key counts, nothing beside the path is
 * read, and sets and tags fill no worse than by chance.
 *
 * By chance: the squared deviations from the mean, over the mean, of keys in k
 * sets follow the chi-squared distribution of k - 1 degrees; its cube root is as
 * good as normal (Wilson and Hilferty, 1931). More than MARGIN deviations above
 * come up by chance once in a thousand million times.
 */
#define _GNU_SOURCE
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memo_scene.h"

#define LEN_MIN 8u
#define MARGIN 6.0
#define MANY 100000u

static struct rp_secret secret;

static void secret_make(uint64_t stream)
{
	struct ts_rng rng = ts_rng(stream);

	for (size_t i = 0; i < sizeof(secret.words) / sizeof(secret.words[0]); i++)
		secret.words[i] = ts_rand(&rng);
}

static uint64_t hash(const char *path, size_t len)
{
	return rp_memo_hash(&secret, path, len, NULL, 0);
}

static void fill(struct ts_rng *rng, char *path, size_t len)
{
	for (size_t i = 0; i < len; i++)
		path[i] = (char)(1 + ts_below(rng, 255));
}

/* ---- what counts --------------------------------------------------------- */

static void each_byte_counts(void)
{
	struct ts_rng rng = ts_rng(1);
	unsigned step = ts_scale(8) < 8 ? 7 : 1;

	secret_make(2);
	for (size_t len = LEN_MIN; len <= RP_MEMO_PATH_MAX; len += len < 80 ? 1 : step) {
		/* Of its very size, for the sanitizer to see what is read beyond. */
		char *path = malloc(len);
		uint64_t h;

		REQUIRE(path);
		fill(&rng, path, len);
		h = hash(path, len);
		CHECK(hash(path, len) == h);
		for (size_t i = 0; i < len; i++) {
			char bit = (char)(1 << ts_below(&rng, 8));

			path[i] ^= bit;
			if (hash(path, len) == h)
				ts_fail(__FILE__, __LINE__, "byte %zu of %zu does not count", i,
				        len);
			path[i] ^= bit;
		}
		free(path);
	}
}

static void start_flags_and_length_count(void)
{
	static const uint32_t flags[] = {RP_W_NOFOLLOW, RP_W_DIRECTORY,   RP_W_BENEATH,
	                                 RP_W_IN_ROOT,  RP_W_NO_SYMLINKS, RP_W_NO_XDEV,
	                                 RP_MEMO_REL,   RP_W_TRUSTED};
	struct ts_rng rng = ts_rng(3);
	char path[RP_MEMO_PATH_MAX + 1];
	struct rp_node node[2];

	secret_make(4);
	fill(&rng, path, sizeof(path));
	for (size_t len = LEN_MIN; len <= RP_MEMO_PATH_MAX; len++) {
		uint64_t h = hash(path, len), other[2];

		CHECK(hash(path, len + 1) != h);
		for (size_t i = 0; i < 2; i++)
			other[i] = rp_memo_hash(&secret, path, len, &node[i], RP_MEMO_REL);
		CHECK(other[0] != other[1] && other[0] != h && other[1] != h);
		for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
			CHECK(rp_memo_hash(&secret, path, len, NULL, flags[i]) != h);
	}
	/* Of equal bytes only their number can count. */
	memset(path, 'a', sizeof(path));
	for (size_t len = LEN_MIN; len <= RP_MEMO_PATH_MAX; len++)
		CHECK(hash(path, len + 1) != hash(path, len));
}

static void another_secret_gives_another_hash(void)
{
	static const char path[] = "/usr/share/doc/some/changelog.Debian.gz";
	uint64_t h;

	secret_make(5);
	h = hash(path, sizeof(path) - 1);
	for (size_t i = 0; i < 6; i++) {
		secret.words[i]++;
		CHECK(hash(path, sizeof(path) - 1) != h);
		secret.words[i]--;
	}
	CHECK(hash(path, sizeof(path) - 1) == h);
}

static void no_tag_is_that_of_a_free_place(void)
{
	struct ts_rng rng = ts_rng(6);

	CHECK(rp_memo_tag(0) != 0);
	for (unsigned i = 0; i < 64; i++)
		CHECK(rp_memo_tag(UINT64_C(1) << i) != 0);
	for (unsigned i = 0; i < MANY; i++)
		CHECK(rp_memo_tag(ts_rand(&rng)) != 0);
}

/* ---- how they fill ------------------------------------------------------- */

struct key {
	char path[RP_MEMO_PATH_MAX + 1];
	size_t len;
	const struct rp_node *start;
	uint32_t flags;
};

/* Make key number i of a listing; all of them differ. */
typedef void (*listing_fn)(struct key *k, unsigned i);

struct listing {
	const char *name;
	unsigned n;
	listing_fn make;
};

static const char long_dir[] =
	"/srv/build/area/packages/some-long-project-name-1.2.3/obj-x86_64-linux-gnu/src/modules/"
	"subsystem/include/generated/platform/architecture/default/configuration/of/everything/and/"
	"more/of/the/same/kind/here/";
static_assert(sizeof(long_dir) > 201, "equal in the first 200 bytes");
static const char long_name[] = "/usr/share/some-package/data/entry.json";

static void like_real_ones(struct key *k, unsigned i)
{
	static const char *const top[] = {"/usr/share/doc", "/usr/lib/python3/dist-packages",
	                                  "/usr/include", "/home/user/src"};
	static const char *const end[] = {"changelog.gz", "__init__.py", "config.h", "README"};

	k->len = (size_t)snprintf(k->path, sizeof(k->path), "%s/lib%u-dev/sub%u/%u/%s", top[i % 4],
	                          i / 400, i / 4 % 10, i / 40 % 10, end[i / 4 % 4]);
}

static void by_number(struct key *k, unsigned i)
{
	k->len = (size_t)snprintf(k->path, sizeof(k->path), "/var/log/%05u", i);
}

/* Any one byte of a path, to any other value. */
static void in_one_byte(struct key *k, unsigned i)
{
	size_t at = i / 255;

	k->len = sizeof(long_dir) - 1;
	memcpy(k->path, long_dir, k->len);
	k->path[at] = (char)((unsigned char)k->path[at] ^ (1 + i % 255));
}

/* Equal but for the begin: more than the last 32 bytes, which are hashed on their own. */
static void equal_at_the_end(struct key *k, unsigned i)
{
	k->len = (size_t)snprintf(k->path, sizeof(k->path), "/m/%05u%s%s", i, long_name, long_name);
}

static void equal_at_the_begin(struct key *k, unsigned i)
{
	k->len = (size_t)snprintf(k->path, sizeof(k->path), "%s%u", long_dir, i);
}

/* Equal on both sides of some digits, at all offsets from blocks of 16 and 32. */
static void equal_around(struct key *k, unsigned i)
{
	k->len = (size_t)snprintf(k->path, sizeof(k->path), "%.*s%04u%s", (int)(40 + i % 32),
	                          long_dir, i / 32, long_dir);
}

/* Blocks of 16 bytes in any order: those of eight, that is 40320. */
static void blocks_in_another_order(struct key *k, unsigned i)
{
	unsigned block[8] = {0, 1, 2, 3, 4, 5, 6, 7};

	k->len = 8 * 16;
	for (unsigned left = 8; left > 0; left--) {
		unsigned take = i % left;

		i /= left;
		memcpy(k->path + 16 * (left - 1), long_dir + 16 * block[take], 16);
		block[take] = block[left - 1];
	}
}

/* One byte over and over: 26 letters of all lengths. */
static void of_one_letter(struct key *k, unsigned i)
{
	k->len = LEN_MIN + i / 26;
	memset(k->path, (int)('a' + i % 26), k->len);
}

/* One path from many directories. */
static void by_start(struct key *k, unsigned i)
{
	k->len = (size_t)snprintf(k->path, sizeof(k->path), "src/main.c");
	k->start = (const struct rp_node *)(uintptr_t)(UINT64_C(0x7f0000000000) + (uint64_t)i * 64);
	k->flags = RP_MEMO_REL;
}

static const struct listing listings[] = {
	{"like real ones", MANY, like_real_ones},
	{"by number", MANY, by_number},
	{"in one byte", 50000, in_one_byte},
	{"equal at the end", MANY, equal_at_the_end},
	{"equal at the begin", MANY, equal_at_the_begin},
	{"equal around", MANY, equal_around},
	{"blocks in another order", 40320, blocks_in_another_order},
	{"of one letter", 26000, of_one_letter},
	{"by start", MANY, by_start},
};

/* How many deviations the counts are above what chance gives. */
static double above_chance(const uint32_t *counts, size_t k, unsigned n)
{
	double mean = (double)n / (double)k, sum = 0, spread = 2 / (9 * (double)(k - 1));

	for (size_t i = 0; i < k; i++)
		sum += ((double)counts[i] - mean) * ((double)counts[i] - mean) / mean;
	return (cbrt(sum / (double)(k - 1)) - (1 - spread)) / sqrt(spread);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Pairs that are equal in the bits of mask. */
static unsigned pairs(const uint64_t *hashes, unsigned n, uint64_t mask)
{
	uint64_t *masked = malloc(n * sizeof(*masked));
	unsigned found = 0;

	REQUIRE(masked);
	for (unsigned i = 0; i < n; i++)
		masked[i] = hashes[i] & mask;
	qsort(masked, n, sizeof(*masked), compare);
	for (unsigned i = 1, run = 0; i < n; i++) {
		run = masked[i] == masked[i - 1] ? run + 1 : 0;
		found += run;
	}
	free(masked);
	return found;
}

/* bits of the hash, from shift on: as uniform as by chance? */
static void check_bits(const struct listing *l, const uint64_t *hashes, unsigned shift,
                       unsigned bits)
{
	uint32_t *counts = calloc((size_t)1 << bits, sizeof(*counts));
	double above;

	REQUIRE(counts);
	for (unsigned i = 0; i < l->n; i++)
		counts[hashes[i] >> shift & ((UINT64_C(1) << bits) - 1)]++;
	above = above_chance(counts, (size_t)1 << bits, l->n);
	if (above > MARGIN)
		ts_fail(__FILE__, __LINE__,
		        "%s: %u bits from %u on are %.1f deviations above chance", l->name, bits,
		        shift, above);
	free(counts);
}

/* As check_bits(), for what is rare. */
static void check_pairs(const struct listing *l, const uint64_t *hashes, uint64_t mask)
{
	double cells = ldexp(1, __builtin_popcountll(mask));
	double expected = (double)l->n * (l->n - 1) / 2 / cells;
	unsigned found = pairs(hashes, l->n, mask);

	if (found > expected + MARGIN * sqrt(expected) + MARGIN)
		ts_fail(__FILE__, __LINE__, "%s: %u pairs equal in %#jx, %.1f by chance", l->name,
		        found, (uintmax_t)mask, expected);
}

static void check_listing(const struct listing *l)
{
	uint64_t *hashes = malloc(l->n * sizeof(*hashes));

	REQUIRE(hashes);
	for (unsigned i = 0; i < l->n; i++) {
		struct key k = {.start = NULL};

		l->make(&k, i);
		REQUIRE(k.len >= LEN_MIN && k.len <= RP_MEMO_PATH_MAX);
		hashes[i] = rp_memo_hash(&secret, k.path, k.len, k.start, k.flags);
	}
	CHECK_EQ(pairs(hashes, l->n, UINT64_MAX), 0);
	/* Lines and sets, of tables of several sizes. */
	for (unsigned bits = 6; bits <= 15; bits += 3)
		check_bits(l, hashes, 0, bits);
	/* The tag, less its lowest bit. */
	check_bits(l, hashes, 49, 15);
	/* Paths that a reader must compare: equal in tag and in the line of a table. */
	check_pairs(l, hashes, UINT64_C(0xfffe000000000000) | 0x3fff);
	/* Whatever the size of the table. */
	check_pairs(l, hashes, UINT32_MAX);
	free(hashes);
}

static void keys_spread_as_by_chance(void)
{
	unsigned secrets = ts_scale(4);

	for (unsigned s = 0; s < (secrets < 4 ? secrets : 4); s++) {
		secret_make(100 + s);
		for (size_t i = 0; i < sizeof(listings) / sizeof(listings[0]); i++)
			check_listing(&listings[i]);
	}
}

static int compare_keys(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct key));
}

/* Or the listings would prove less than they say. */
static void the_keys_of_a_listing_differ(void)
{
	for (size_t l = 0; l < sizeof(listings) / sizeof(listings[0]); l++) {
		struct key *keys = calloc(listings[l].n, sizeof(*keys));
		unsigned equal = 0;

		REQUIRE(keys);
		for (unsigned i = 0; i < listings[l].n; i++) {
			listings[l].make(&keys[i], i);
			memset(keys[i].path + keys[i].len, 0, sizeof(keys[i].path) - keys[i].len);
		}
		qsort(keys, listings[l].n, sizeof(*keys), compare_keys);
		for (unsigned i = 1; i < listings[l].n; i++)
			equal += compare_keys(&keys[i - 1], &keys[i]) == 0;
		CHECK_EQ(equal, 0);
		free(keys);
	}
}

/* The measure itself: a hash that is worse by a little is told from chance. */
static void a_worse_hash_is_noticed(void)
{
	struct ts_rng rng = ts_rng(9);
	uint32_t counts[1 << 12] = {0};

	for (unsigned i = 0; i < MANY; i++)
		counts[ts_rand(&rng) % (1 << 12)]++;
	CHECK(above_chance(counts, 1 << 12, MANY) < MARGIN);
	memset(counts, 0, sizeof(counts));
	/* One key of five goes to one half of the sets only. */
	for (unsigned i = 0; i < MANY; i++)
		counts[ts_rand(&rng) % (1 << 12) & (i % 5 ? ~0u : ~1u)]++;
	CHECK(above_chance(counts, 1 << 12, MANY) > MARGIN);
}

static const struct ts_case cases[] = {
	TS_CASE(each_byte_counts),
	TS_CASE(start_flags_and_length_count),
	TS_CASE(another_secret_gives_another_hash),
	TS_CASE(no_tag_is_that_of_a_free_place),
	TS_CASE(the_keys_of_a_listing_differ),
	TS_CASE(a_worse_hash_is_noticed),
	TS_CASE(keys_spread_as_by_chance),
};

int main(int argc, char **argv)
{
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
