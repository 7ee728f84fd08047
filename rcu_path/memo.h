/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * memo: finished walks, remembered.
 *
 * Key: where the walk began, its flags, the raw bytes of the path. Value: the
 * node, or the errno, and the (slot, id) of every binding the walk relied on.
 * A memo holds for as long as all these slots hold their ids, so whatever
 * changes a name, a link or a directory's permission has made all memos over
 * it invalid by killing one dentry, however many they are: nobody looks for
 * them. A dead memo stays until its place is wanted.
 *
 *   hit:  find -> rp_memo_safe() -> use the node -> rp_memo_valid()
 *
 * The vector of all bindings but the last is shared by the memos of a
 * directory (struct rp_way). A memo's epoch says up to which kill all of it was
 * seen alive: equal to the tree's, nothing else has to be looked at.
 *
 *               find, safe, valid      put, remove, grow, ways
 *  find...            -                RCU: memory is freed after a grace period
 *  put...                              one at a time: the owner's memo lock
 *  stamp        any thread, in a read section (see E1 in docs/memory-model.md)
 *
 * Lines touched by a hit: 1 or 2 of the set, the memo's (46 bytes and the
 * path), the node's two of attributes. The set keeps the node's address beside
 * the memo's, so that both can be fetched at once; it is used for nothing else.
 */
#ifndef RP_MEMO_H
#define RP_MEMO_H

#include "tree.h"
#include "walk.h"

#define RP_MEMO_PATH_MIN 12u   /* bytes; below that walking is as fast */
#define RP_MEMO_PATH_MAX 1023u /* bytes of the path, and of its canonical text */
#define RP_MEMO_DEPS_MAX 40u   /* bindings a walk may rely on to be remembered */

/* Bits of rp_memo.bits. */
#define RP_M_NAMED 0x01u    /* node was reached by a name, not as ".", ".." or the start */
#define RP_M_CANON 0x02u    /* the path is its own canonical text */
#define RP_M_TTL 0x04u      /* way->lease is not 0 */
#define RP_M_GEN 0x08u      /* way->gen is not 0 */
#define RP_M_CRED 0x10u     /* searched by what the cache's own credentials are allowed */
#define RP_M_CAPS 0x20u     /* searched by capability */
#define RP_M_ERR 0x40u      /* err, no node */
#define RP_M_TTL_LAST 0x80u /* the last binding expires */

/* How most are, but for the text: nothing else has to be looked at. */
#define RP_M_PLAIN(bits) (((bits) & ~RP_M_CANON) == RP_M_NAMED)

#define RP_MEMO_REL 0x80000000u /* in rp_memo.flags: start is part of the key */

/* Bindings walks relied on, all but the last. Immutable but for the epoch. */
struct rp_way {
	struct rp_way *next;         /* memo lock; chain of the table of ways, or retired */
	uint32_t refs;               /* memo lock; memos that use it */
	uint32_t n;                  /* const */
	const struct rp_node *start; /* const; compared, never followed; NULL: the tree's root */
	uint64_t gen;                /* const; attributes must not be older */
	uint64_t subtree;            /* const; subtree_stamp must be one less; 0: anything */
	uint64_t lease;              /* const; lowest id of those that expire; 0: none does */
	_Atomic(uint64_t) epoch;     /* atomic; all of it lived at this epoch */
	uint64_t id[];               /* const; n ids, then n slots of 32 bits */
};

struct rp_memo {
	_Atomic(uint64_t) epoch; /* atomic; all of it lived at this epoch */
	/* Where it led; the memory is good while the last binding lives. */
	union {
		struct rp_node *node;     /* const */
		struct rp_dentry *dentry; /* const; RP_M_ERR: the last binding */
	};
	struct rp_way *way;   /* const */
	_Atomic(uint64_t) id; /* atomic; of the last binding; or list of the retired */
	uint32_t slot;        /* const; of the last binding */
	uint32_t flags;       /* const; RP_W_* and RP_MEMO_REL */
	uint16_t len;         /* const; of the path */
	int16_t err;          /* const; negative errno, 0: node */
	uint16_t real_len;    /* const; of the canonical text behind the path, 0: none */
	uint8_t bits;         /* const; RP_M_* */
	char path[];          /* const; no NUL */
};

#define RP_MEMO_LINE 4u /* memos in a cache line of the table */

struct rp_memo_line {
	_Atomic(uint64_t) memo[RP_MEMO_LINE]; /* atomic; address << 16 | tag, 0: free */
	_Atomic(uint64_t) node[RP_MEMO_LINE]; /* atomic; to prefetch only */
};

/* Apart from its lines, whose size then is a power of two. */
struct rp_memo_array {
	struct rp_memo_line *line;  /* const */
	uint32_t mask;              /* const; lines in all, less one */
	uint32_t lines;             /* const; of a set; a power of two */
	struct rp_memo_array *next; /* the owner's; of the retired */
};

struct rp_memos {
	alignas(64) _Atomic(struct rp_memo_array *) cur; /* atomic; NULL: no memos are kept */
	alignas(64) struct rp_memo_array *next; /* memo lock; array being filled, or NULL */
	uint32_t cursor;                        /* memo lock; sets below are in next too */
	uint32_t hand;                          /* memo lock; set whose memos go next */
	_Atomic(uint64_t) count;                /* atomic; memo lock to write */
	struct rp_way **ways;                   /* memo lock; heads of chains */
	uint32_t ways_mask;                     /* memo lock */
	uint32_t nways;                         /* memo lock */
};

struct rp_memo_key {
	const char *path;
	size_t len;
	const struct rp_node *start; /* NULL: the tree's root */
	uint32_t flags;              /* as rp_memo.flags */
	uint64_t hash;               /* rp_memo_hash() */
};

static inline size_t rp_way_size(uint32_t n)
{
	return offsetof(struct rp_way, id) + n * (sizeof(uint64_t) + sizeof(uint32_t));
}

static inline uint32_t *rp_way_slots(const struct rp_way *way)
{
	return (uint32_t *)(uintptr_t)(way->id + way->n);
}

static inline size_t rp_memo_size(size_t len, size_t real_len)
{
	return offsetof(struct rp_memo, path) + len + real_len;
}

static inline uint32_t rp_memo_sets(const struct rp_memo_array *a)
{
	return (a->mask + 1) / a->lines;
}

static inline size_t rp_memo_lines_size(uint32_t sets, uint32_t lines)
{
	return (size_t)sets * lines * sizeof(struct rp_memo_line);
}

__extension__ typedef unsigned __int128 rp_u128;

static inline uint64_t rp_fold(uint64_t a, uint64_t b)
{
	rp_u128 p = (rp_u128)a * b;

	return (uint64_t)p ^ (uint64_t)(p >> 64);
}

/*
 * Folded multiplications of what is hashed with the secret, sixteen bytes each,
 * in two lanes: half the instructions of XXH3, see docs/decisions.md. Who could
 * make it collide would crowd one set, whose paths are then walked. len: at
 * least 8.
 */
static inline uint64_t rp_memo_hash(const struct rp_secret *secret, const char *path, size_t len,
                                    const struct rp_node *start, uint32_t flags)
{
	const uint64_t *const key = secret->words;
	const char *const end = path + len;
	uint64_t a = key[0] ^ len, b = key[1] ^ ((uintptr_t)start + flags);

	for (; end - path > 32; path += 32) {
		a = rp_fold(rp_load64(path) ^ key[2], rp_load64(path + 8) ^ a);
		b = rp_fold(rp_load64(path + 16) ^ key[3], rp_load64(path + 24) ^ b);
	}
	if (end - path > 16)
		a = rp_fold(rp_load64(path) ^ key[2], rp_load64(path + 8) ^ a);
	/* The last sixteen, some of them for the second time. */
	if (len >= 16)
		path = end - 16;
	b = rp_fold(rp_load64(path) ^ key[3], rp_load64(end - 8) ^ b);
	return rp_fold(a ^ key[4], b ^ key[5]);
}

/* Never 0, so that a free place matches nothing. */
static inline uint16_t rp_memo_tag(uint64_t hash)
{
	return (uint16_t)(hash >> 48 | 1);
}

static inline struct rp_memo *rp_memo_of(uint64_t word)
{
	return (struct rp_memo *)(uintptr_t)(word >> 16);
}

static inline struct rp_memo_array *rp_memos_array(const struct rp_memos *t)
{
	/* acquire [M2]: the array's words. Pairs with array_switch(). */
	return atomic_load_explicit(&t->cur, memory_order_acquire);
}

/* The i-th line to look at for hash. A memo stands in the first that had a place. */
static inline struct rp_memo_line *rp_memo_line(struct rp_memo_array *a, uint64_t hash, uint32_t i)
{
	return &a->line[((uint32_t)hash & a->mask) ^ i];
}

static inline bool rp_memo_matches(const struct rp_memo *m, const struct rp_memo_key *k)
{
	return m->len == k->len && m->flags == k->flags &&
	       (!(k->flags & RP_MEMO_REL) || m->way->start == k->start) &&
	       memcmp(m->path, k->path, k->len) == 0;
}

/* Begin to fetch the attributes of the node at place j of l. */
static inline void rp_memo_prefetch_node(const struct rp_memo_line *l, uint32_t j)
{
	const char *n =
		(const char *)(uintptr_t)atomic_load_explicit(&l->node[j], memory_order_relaxed);

	__builtin_prefetch(n + offsetof(struct rp_node, attr_state));
	__builtin_prefetch(n + offsetof(struct rp_node, attr_state) + 64);
}

/* As rp_memo_find(): all lines that k's memo may stand in. By value, or every hit would store k. */
struct rp_memo *rp_memo_find_all(struct rp_memo_array *a, struct rp_memo_key k);

/* Number of the first place in l with this tag, or RP_MEMO_LINE. */
static inline uint32_t rp_memo_place(const struct rp_memo_line *l, uint16_t tag)
{
	uint32_t j = 0;

#pragma GCC unroll 4
	for (; j < RP_MEMO_LINE; j++)
		if ((uint16_t)atomic_load_explicit(&l->memo[j], memory_order_relaxed) == tag)
			break;
	return j;
}

/* Context: read section. Return: the memo of k, NULL when there is none. */
static inline struct rp_memo *rp_memo_find(struct rp_memo_array *a, const struct rp_memo_key *k)
{
	const struct rp_memo_line *l = rp_memo_line(a, k->hash, 0);
	uint32_t j = rp_memo_place(l, rp_memo_tag(k->hash));
	struct rp_memo *m;

	if (__builtin_expect(j == RP_MEMO_LINE, 0))
		return rp_memo_find_all(a, *k);
	rp_memo_prefetch_node(l, j);
	/* acquire [M1]: the memo's fields. Pairs with place_set(). */
	m = rp_memo_of(atomic_load_explicit(&l->memo[j], memory_order_acquire));
	if (__builtin_expect(m && rp_memo_matches(m, k), 1))
		return m;
	return rp_memo_find_all(a, *k);
}

/* Begin to fetch the line of hash. Context: read section. */
static inline void rp_memo_prefetch_line(struct rp_memo_array *a, uint64_t hash)
{
	__builtin_prefetch(rp_memo_line(a, hash, 0));
}

/* Begin to fetch the memo, of a path of len bytes, and its node's attributes. */
static inline void rp_memo_prefetch(struct rp_memo_array *a, uint64_t hash, size_t len)
{
	const struct rp_memo_line *l = rp_memo_line(a, hash, 0);
	uint32_t j = rp_memo_place(l, rp_memo_tag(hash));
	const char *m;

	if (j == RP_MEMO_LINE)
		return;
	m = (const char *)rp_memo_of(atomic_load_explicit(&l->memo[j], memory_order_relaxed));
	for (size_t at = 0; at < rp_memo_size(len, 0); at += 64)
		__builtin_prefetch(m + at);
	__builtin_prefetch(m + rp_memo_size(len, 0) - 1);
	rp_memo_prefetch_node(l, j);
}

static inline bool rp_memo_last_lives(const struct rp_tree *t, const struct rp_memo *m)
{
	return rp_slot_live(&t->slots, m->slot, atomic_load_explicit(&m->id, memory_order_relaxed));
}

/*
 * May the memory of m's node be read until the section ends? epoch: the tree's,
 * loaded in this section before m was found.
 */
static inline bool rp_memo_safe(const struct rp_tree *t, const struct rp_memo *m, uint64_t epoch)
{
	return atomic_load_explicit(&m->epoch, memory_order_relaxed) == epoch ||
	       rp_memo_last_lives(t, m);
}

/*
 * Is m still believed, as far as time goes? Of its way the sooner of both times
 * counts, of a name and of attributes. To be looked at where m has one of the two
 * RP_M_TTL*. Context: rp_lease_holds() and rp_memo_safe() in this read section.
 */
bool rp_memo_lasts(const struct rp_tree *t, const struct rp_memo *m);

/* Do all bindings of m live? Order: the caller's. */
bool rp_memo_lives(const struct rp_tree *t, const struct rp_memo *m, uint64_t epoch);

enum rp_memo_state {
	RP_MEMO_DEAD,
	RP_MEMO_CURRENT, /* by its epoch */
	RP_MEMO_CHECKED, /* by its slots: rp_memo_stamp() would save that the next time */
};

/* Was all of m, and what was read through it, true at one instant of this read section? */
static inline enum rp_memo_state rp_memo_valid(const struct rp_tree *t, const struct rp_memo *m)
{
	uint64_t epoch;

	/*
	 * acquire [E2]: anything new that was read shows the kill that came
	 * before it. Pairs with epoch_advance().
	 */
	atomic_thread_fence(memory_order_acquire);
	epoch = atomic_load_explicit(&t->epoch, memory_order_relaxed);
	if (atomic_load_explicit(&m->epoch, memory_order_relaxed) == epoch)
		return RP_MEMO_CURRENT;
	return rp_memo_lives(t, m, epoch) ? RP_MEMO_CHECKED : RP_MEMO_DEAD;
}

/*
 * m was found RP_MEMO_CHECKED by this thread after it had loaded epoch (E1).
 * A store to shared memory: how often is the caller's to limit.
 */
static inline void rp_way_stamp(struct rp_way *way, uint64_t epoch)
{
	atomic_store_explicit(&way->epoch, epoch, memory_order_relaxed);
}

static inline void rp_memo_stamp(struct rp_memo *m, uint64_t epoch)
{
	atomic_store_explicit(&m->epoch, epoch, memory_order_relaxed);
}

/* ---- all below: context: memo lock ------------------------------------- */

/*
 * array: complete; its line zeroed, rp_memo_lines_size() bytes, a power of two of
 * sets. heads: zeroed, a power of two.
 */
void rp_memos_init(struct rp_memos *t, struct rp_memo_array *array, struct rp_way **heads,
                   uint32_t nheads);

/* The way equal to want, which need not be in the table; NULL when there is none. */
struct rp_way *rp_way_find(const struct rp_memos *t, const struct rp_way *want);
void rp_way_insert(struct rp_memos *t, struct rp_way *way);
void rp_way_remove(struct rp_memos *t, struct rp_way *way);

/* More heads for the ways, zeroed; a power of two. Return: the ones they replace. */
struct rp_way **rp_ways_grow(struct rp_memos *t, struct rp_way **heads, uint32_t nheads);

/* Is there a place that is free, or k's own? A hint. Context: read section. */
bool rp_memos_room(const struct rp_memos *t, const struct rp_memo_key *k);

/*
 * Put m, of key k, instead of an older one with this key, or of a dead one, or in
 * a free place; with force instead of any. Return: whether it has a place; it is
 * then found. *out: the memo that lost its own, the caller's to retire, or NULL.
 */
bool rp_memos_put(struct rp_memos *t, const struct rp_tree *tree, struct rp_memo *m,
                  const struct rp_memo_key *k, bool force, struct rp_memo **out);

/*
 * Take out some memo, sets in turn; of a set a dead one, or else one of what was
 * not hit since the clock passed. Return: it, the caller's to retire; NULL when
 * none is left. Context: also in a read section.
 */
struct rp_memo *rp_memos_evict(struct rp_memos *t, const struct rp_tree *tree);

/*
 * Take a dead memo out of set number *set. Return: it, the caller's to retire;
 * NULL, and *set is the next one, when there is none.
 */
struct rp_memo *rp_memos_take_dead(struct rp_memos *t, const struct rp_tree *tree, uint32_t *set);

/* Sets of the array that rp_memos_grow() should get now, or 0. */
uint32_t rp_memos_want(const struct rp_memos *t);

/* Begin to grow into array, of twice the sets. */
void rp_memos_grow(struct rp_memos *t, struct rp_memo_array *array);

/*
 * Take over some sets into the array that is being filled. Return: the replaced
 * array, the caller's to retire, when that was the last of it; else NULL.
 */
struct rp_memo_array *rp_memos_migrate(struct rp_memos *t, const struct rp_tree *tree);

#if PC_TESTING
/* Kinds of dependencies that are left out of what is learned from now on: negative controls. */
extern _Atomic(uint32_t) rp_memo_test_omit;
#endif

#endif
