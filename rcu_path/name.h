/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * name: the components of a path, and their keyed hash.
 *
 * Names are bytes: everything but '/' and NUL. They come from strangers, so
 * the hash is keyed by a random secret of the cache (rp_secret_init()).
 * Any thread, any context; nothing here allocates or blocks.
 */
#ifndef RP_NAME_H
#define RP_NAME_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define RP_NAME_MAX 255u  /* bytes of a component, limits.h NAME_MAX */
#define RP_PATH_MAX 4096u /* bytes of a path with its NUL, limits.h PATH_MAX */
#define RP_LINKS_MAX 40u  /* links followed in one walk, path_resolution(7) */

/* XXH3 takes at least 136 bytes of secret; this is its default size. */
struct rp_secret {
	union {
		uint8_t bytes[192];
		uint64_t words[24];
	};
};

static inline uint64_t rp_load64(const char *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
	return le64toh(v);
}

static inline uint32_t rp_load32(const char *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return v;
}

/* Index of the first '/' in the 8 bytes of v, 8 when there is none. */
static inline size_t rp_slash_in(uint64_t v)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
	uint64_t x = v ^ (ones * '/');

	/* The lowest byte marked is exact; higher ones may not be. */
	x = (x - ones) & ~x & (ones << 7);
	return x ? (size_t)__builtin_ctzll(x) >> 3 : 8;
}

/*
 * Length of the component at p: up to the next '/' or end. Reads [lo, end),
 * which holds p; eight bytes at a time where it is that long.
 */
static inline size_t rp_component_len(const char *p, const char *end, const char *lo)
{
	const char *q = p;
	size_t n, left;

	while (end - q >= 8) {
		n = rp_slash_in(rp_load64(q));
		if (n < 8)
			return (size_t)(q - p) + n;
		q += 8;
	}
	left = (size_t)(end - q);
	if (left && end - lo >= 8) {
		/* The last eight bytes, those before q shifted out. */
		n = rp_slash_in(rp_load64(end - 8) >> (64 - 8 * left));
		return (size_t)(q - p) + (n < left ? n : left);
	}
	while (q < end && *q != '/')
		q++;
	return (size_t)(q - p);
}

static inline const char *rp_skip_slashes(const char *p, const char *end)
{
	while (p < end && *p == '/')
		p++;
	return p;
}

/*
 * Hash of (directory, name). dir: the address of the directory's node, which is
 * nobody else's while it has children; so the node itself is not read.
 */
static inline uint32_t rp_name_hash(const struct rp_secret *secret, const void *dir,
                                    const char *name, size_t len)
{
	uint64_t h = XXH3_64bits_withSecret(name, len, secret->bytes, sizeof(secret->bytes));

	h = (h ^ (uintptr_t)dir) * UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)(h >> 32);
}

/* Equality of byte strings, short ones without a call. */
static inline bool rp_name_equal(const char *a, const char *b, size_t len)
{
	if (len > 16)
		return memcmp(a, b, len) == 0;
	if (len >= 8)
		return ((rp_load64(a) ^ rp_load64(b)) |
		        (rp_load64(a + len - 8) ^ rp_load64(b + len - 8))) == 0;
	if (len >= 4)
		return ((rp_load32(a) ^ rp_load32(b)) |
		        (rp_load32(a + len - 4) ^ rp_load32(b + len - 4))) == 0;
	/* One to three: first, middle and last are all of them. */
	return len == 0 || (a[0] == b[0] && a[len / 2] == b[len / 2] && a[len - 1] == b[len - 1]);
}

#endif
