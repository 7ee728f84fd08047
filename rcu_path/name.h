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
	uint8_t bytes[192];
};

/* Length of the component at p: up to the next '/' or end. Reads [p, end). */
static inline size_t rp_component_len(const char *p, const char *end)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
	const char *q = p;

	while (end - q >= 8) {
		uint64_t v;

		memcpy(&v, q, 8);
		v = le64toh(v) ^ (ones * '/');
		/* The lowest byte marked is exact; higher ones may not be. */
		v = (v - ones) & ~v & (ones << 7);
		if (v)
			return (size_t)(q - p) + ((size_t)__builtin_ctzll(v) >> 3);
		q += 8;
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

/* Hash of (directory, name). dir_id: the directory node's id. */
static inline uint32_t rp_name_hash(const struct rp_secret *secret, uint64_t dir_id,
                                    const char *name, size_t len)
{
	uint64_t h = XXH3_64bits_withSecret(name, len, secret->bytes, sizeof(secret->bytes));

	h = (h ^ dir_id) * UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)(h >> 32);
}

/* Equality of short byte strings without a call. */
static inline int rp_name_equal(const char *a, const char *b, size_t len)
{
	uint64_t x, y;

	if (len > 16)
		return memcmp(a, b, len) == 0;
	if (len >= 8) {
		uint64_t x2, y2;

		memcpy(&x, a, 8);
		memcpy(&y, b, 8);
		memcpy(&x2, a + len - 8, 8);
		memcpy(&y2, b + len - 8, 8);
		return ((x ^ y) | (x2 ^ y2)) == 0;
	}
	for (size_t i = 0; i < len; i++)
		if (a[i] != b[i])
			return 0;
	return 1;
}

#endif
