/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The hash that all tables keyed by path use: XXH3 of the text up to its NUL. */
#ifndef BENCH_PEER_HASH_H
#define BENCH_PEER_HASH_H

#include <stdint.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static inline uint64_t peer_hash(const char *path)
{
	return XXH3_64bits(path, strlen(path));
}

#endif
