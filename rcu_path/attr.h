/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * attr: attributes of an object, and the twelve words a node keeps them in.
 *
 *   word   63 .............. 32  31 .... 16  15 ..... 0
 *   0      attributes            mode        mask
 *   1      uid and gid, as they lie in struct rp_attr
 *   2      mnt_id
 *   3      nlink and blksize, as word 1
 *   4..7   ino, dev, size, blocks
 *   8..11  atime, mtime, ctime, btime: seconds since 1901 in the upper 34
 *          bits (up to 2446), nanoseconds in the lower 30
 *
 * rdev is in none of them: only device nodes have one, and a node has room for
 * it where a link has its text. What does not fit is not kept: packing says so.
 */
#ifndef RP_ATTR_H
#define RP_ATTR_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

/* Attributes; the fields of statx(2). mask tells which are known. */
struct rp_attr {
	uint32_t mask;
	uint32_t mode;
	uint32_t uid;
	uint32_t gid;
	uint32_t nlink;
	uint32_t blksize;
	uint64_t ino;
	uint64_t dev;
	uint64_t rdev;
	uint64_t size;
	uint64_t blocks;
	uint64_t attributes;
	uint64_t mnt_id;
	int64_t atime_sec;
	int64_t mtime_sec;
	int64_t ctime_sec;
	int64_t btime_sec;
	uint32_t atime_nsec;
	uint32_t mtime_nsec;
	uint32_t ctime_nsec;
	uint32_t btime_nsec;
};

static_assert(sizeof(struct rp_attr) == 128, "no padding");
static_assert(
	offsetof(struct rp_attr, ino) == offsetof(struct rp_attr, nlink) + 8 &&
		offsetof(struct rp_attr, blocks) == offsetof(struct rp_attr, size) + 8 &&
		offsetof(struct rp_attr, mtime_sec) == offsetof(struct rp_attr, atime_sec) + 8 &&
		offsetof(struct rp_attr, btime_sec) == offsetof(struct rp_attr, ctime_sec) + 8 &&
		offsetof(struct rp_attr, btime_nsec) == offsetof(struct rp_attr, atime_nsec) + 12,
	"what is loaded together is stored together");
static_assert(offsetof(struct rp_attr, gid) == offsetof(struct rp_attr, uid) + 4 &&
                      offsetof(struct rp_attr, blksize) == offsetof(struct rp_attr, nlink) + 4,
              "two fields, one word");

/* What permission is judged by. */
struct rp_perm {
	uint32_t mode;
	uint32_t uid;
	uint32_t gid;
};

static_assert(offsetof(struct rp_perm, gid) == offsetof(struct rp_perm, uid) + 4, "as above");

#define RP_ATTR_WORDS 12u
#define RP_ATTR_WORD_MODE 0u
#define RP_ATTR_WORD_OWNER 1u
#define RP_ATTR_WORD_MNT 4u

#define RP_TIME_NSEC_BITS 30u
#define RP_TIME_SEC_BITS 34u
#define RP_TIME_SEC_MIN (-(INT64_C(1) << 31)) /* in 1901 */

/* Has an object of this type (S_IFMT bits) an rdev? */
static inline bool rp_type_is_device(uint32_t type)
{
	return S_ISCHR(type) || S_ISBLK(type);
}

/* ---- one word ------------------------------------------------------------ */

static inline bool rp_time_fits(int64_t sec, uint32_t nsec)
{
	return ((uint64_t)sec - (uint64_t)RP_TIME_SEC_MIN) >> RP_TIME_SEC_BITS == 0 &&
	       nsec >> RP_TIME_NSEC_BITS == 0;
}

static inline uint64_t rp_time_pack(int64_t sec, uint32_t nsec)
{
	return ((uint64_t)sec - (uint64_t)RP_TIME_SEC_MIN) << RP_TIME_NSEC_BITS | nsec;
}

static inline void rp_time_unpack(uint64_t word, int64_t *sec, uint32_t *nsec)
{
	*sec = (int64_t)(word >> RP_TIME_NSEC_BITS) + RP_TIME_SEC_MIN;
	*nsec = (uint32_t)word & ((1u << RP_TIME_NSEC_BITS) - 1);
}

static inline uint32_t rp_word_mode(uint64_t word)
{
	return (uint16_t)(word >> 16);
}

/* ---- all of them --------------------------------------------------------- */

/* Does nothing of a get lost in the words (and the rdev beside them)? */
static inline bool rp_attr_fits(const struct rp_attr *a)
{
	return a->mask <= UINT16_MAX && a->mode <= UINT16_MAX && a->attributes <= UINT32_MAX &&
	       (a->rdev == 0 || rp_type_is_device(a->mode)) &&
	       rp_time_fits(a->atime_sec, a->atime_nsec) &&
	       rp_time_fits(a->mtime_sec, a->mtime_nsec) &&
	       rp_time_fits(a->ctime_sec, a->ctime_nsec) &&
	       rp_time_fits(a->btime_sec, a->btime_nsec);
}

/*
 * Return: whether the words, with a->rdev kept beside them, are all of a. When
 * not, they still tell mode (its lower 16 bits), owner and mount.
 */
static inline bool rp_attr_pack(const struct rp_attr *a, uint64_t words[RP_ATTR_WORDS])
{
	words[0] = a->attributes << 32 | (uint32_t)(uint16_t)a->mode << 16 | (uint16_t)a->mask;
	memcpy(&words[1], (const char *)a + offsetof(struct rp_attr, uid), sizeof(words[1]));
	memcpy(&words[2], (const char *)a + offsetof(struct rp_attr, nlink), sizeof(words[2]));
	words[3] = a->ino;
	words[4] = a->mnt_id;
	words[5] = a->dev;
	words[6] = a->size;
	words[7] = a->blocks;
	words[8] = rp_time_pack(a->atime_sec, a->atime_nsec);
	words[9] = rp_time_pack(a->mtime_sec, a->mtime_nsec);
	words[10] = rp_time_pack(a->ctime_sec, a->ctime_nsec);
	words[11] = rp_time_pack(a->btime_sec, a->btime_nsec);
	return rp_attr_fits(a);
}

/* One relaxed load; what orders it is its caller's (A1, A2, E2). */
static inline uint64_t rp_word_load(const _Atomic(uint64_t) *word)
{
	return atomic_load_explicit(word, memory_order_relaxed);
}

typedef uint64_t rp_pair __attribute__((vector_size(16)));
typedef uint32_t rp_quad __attribute__((vector_size(16)));

/* Which half of a word in a quad is the lower one. */
#define RP_LOW (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 1 : 0)

/* The thread sanitizer must see the loads; each compiler says in its own way that it is there. */
#if defined(__has_feature)
#define RP_TSAN __has_feature(thread_sanitizer)
#elif defined(__SANITIZE_THREAD__)
#define RP_TSAN 1
#else
#define RP_TSAN 0
#endif

/*
 * Two relaxed loads, words at a multiple of 16 bytes. One instruction where
 * its halves are known to be read whole: each of them is all that A1 and A2 need.
 */
static inline rp_pair rp_pair_load(const _Atomic(uint64_t) *words)
{
#if defined(__x86_64__) && !RP_TSAN
	rp_pair pair;

	__asm__ __volatile__("movdqa %1, %0"
	                     : "=x"(pair)
	                     : "m"(*(const rp_pair *)(uintptr_t)words));
	return pair;
#else
	return (rp_pair){rp_word_load(&words[0]), rp_word_load(&words[1])};
#endif
}

static inline void rp_put(struct rp_attr *out, size_t offset, const void *from, size_t size)
{
	memcpy((char *)out + offset, from, size);
}

/*
 * Into all fields of out but rdev: a hit's hot path, so in as few loads and
 * stores as the layouts allow.
 */
static inline __attribute__((always_inline)) void rp_attr_unpack(const _Atomic(uint64_t) *words,
                                                                 struct rp_attr *out)
{
	const rp_pair links = rp_pair_load(&words[2]), size = rp_pair_load(&words[6]);
	const rp_pair t0 = rp_pair_load(&words[8]), t1 = rp_pair_load(&words[10]);
	const rp_pair sec0 = (t0 >> RP_TIME_NSEC_BITS) + (uint64_t)RP_TIME_SEC_MIN;
	const rp_pair sec1 = (t1 >> RP_TIME_NSEC_BITS) + (uint64_t)RP_TIME_SEC_MIN;
	const rp_quad nsec = __builtin_shufflevector((rp_quad)t0, (rp_quad)t1, RP_LOW, 2 + RP_LOW,
	                                             4 + RP_LOW, 6 + RP_LOW) &
	                     ((1u << RP_TIME_NSEC_BITS) - 1);
	uint64_t word = rp_word_load(&words[0]);

	out->mask = (uint16_t)word;
	out->mode = rp_word_mode(word);
	out->attributes = word >> 32;
	word = rp_word_load(&words[1]);
	rp_put(out, offsetof(struct rp_attr, uid), &word, sizeof(word));
	rp_put(out, offsetof(struct rp_attr, nlink), &links, sizeof(links));
	out->mnt_id = rp_word_load(&words[4]);
	out->dev = rp_word_load(&words[5]);
	rp_put(out, offsetof(struct rp_attr, size), &size, sizeof(size));
	rp_put(out, offsetof(struct rp_attr, atime_sec), &sec0, sizeof(sec0));
	rp_put(out, offsetof(struct rp_attr, ctime_sec), &sec1, sizeof(sec1));
	rp_put(out, offsetof(struct rp_attr, atime_nsec), &nsec, sizeof(nsec));
}

/* Mode and owner alone. */
static inline struct rp_perm rp_attr_unpack_perm(const _Atomic(uint64_t) *words)
{
	uint64_t word = rp_word_load(&words[RP_ATTR_WORD_OWNER]);
	struct rp_perm perm;

	perm.mode = rp_word_mode(rp_word_load(&words[RP_ATTR_WORD_MODE]));
	memcpy((char *)&perm + offsetof(struct rp_perm, uid), &word, sizeof(word));
	return perm;
}

#endif
