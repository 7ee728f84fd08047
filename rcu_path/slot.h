/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * slot: the liveness of dentries, apart from the dentries.
 *
 * Each live dentry owns a slot that holds its id. Ids are never reused, so a
 * remembered (slot, id) can be checked at any later time without touching the
 * dentry, which may be freed: equal means it still lives.
 *
 * A free slot holds a value below RP_ID_FIRST (a link of the free list), which
 * equals no id; a slot may be given out again at once, without a grace period.
 * Slots of directories and of leaves come from different cache lines, so that
 * the death of a file does not evict the line that walks validate.
 *
 * Apart from the ids, and for writers only, each slot says whose it is: the
 * slots in turn are all dentries there are, in an order that no change disturbs.
 *
 *              rp_slot_live   alloc/free/add/owner
 *  rp_slot_live     -         lock-free, see E2 in docs/memory-model.md
 *  alloc/free/...             the tree's change lock
 *
 * Memory comes from above: rp_slots_want() says how much, rp_slots_add() takes it.
 */
#ifndef RP_SLOT_H
#define RP_SLOT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RP_ID_FIRST (UINT64_C(1) << 32)
#define RP_SLOT_NONE 0u
#define RP_SLOT_CHUNK0 10u /* log2 of the slots in the first chunk */
#define RP_SLOT_CHUNKS 22u
#define RP_SLOT_LINE 8u /* slots in a cache line */

struct rp_dentry;

enum rp_slot_class { RP_SLOT_LEAF, RP_SLOT_DIR, RP_SLOT_CLASSES };

/* Beside an owner's address: its class, of which slots keep the counts. */
#define RP_OWNER_PROTECTED ((uintptr_t)1) /* was hit, or forgotten too soon before */
#define RP_OWNER_NEGATIVE ((uintptr_t)2)  /* absent */
#define RP_OWNER_CLASSES 4u
#define RP_OWNER_BITS ((uintptr_t)3)

struct rp_slots {
	_Atomic(_Atomic(uint64_t) *) chunk[RP_SLOT_CHUNKS]; /* atomic, set once; ids, then owners */
	uint32_t nchunks;                                   /* change lock */
	uint32_t next_line;                                 /* change lock; first slot never used */
	uint32_t line[RP_SLOT_CLASSES];                     /* change lock; rest of a begun line */
	uint32_t free[RP_SLOT_CLASSES];                     /* change lock; list heads */
	uint32_t owners[RP_OWNER_CLASSES]; /* change lock; how many of each class */
};

/* Chunk k holds size = 2^(k + CHUNK0) slots, so both come from one bit scan. */
struct rp_slot_place {
	uint32_t chunk;
	uint32_t size;
	uint32_t at;
};

static inline struct rp_slot_place rp_slot_place(uint32_t slot)
{
	uint32_t n = slot + (1u << RP_SLOT_CHUNK0);
	uint32_t k = 31u - (uint32_t)__builtin_clz(n);

	return (struct rp_slot_place){k - RP_SLOT_CHUNK0, 1u << k, n - (1u << k)};
}

static inline _Atomic(uint64_t) *rp_slot_ref(const struct rp_slots *s, uint32_t slot)
{
	struct rp_slot_place p = rp_slot_place(slot);

	/* acquire [S1]: the chunk's zeroed slots. Pairs with rp_slots_add(). */
	return &atomic_load_explicit(&s->chunk[p.chunk], memory_order_acquire)[p.at];
}

/* Does the dentry that was given (slot, id) live? Order: the caller's, see E2. */
static inline bool rp_slot_live(const struct rp_slots *s, uint32_t slot, uint64_t id)
{
	return atomic_load_explicit(rp_slot_ref(s, slot), memory_order_relaxed) == id;
}

/* The word of slot, one given out before: its owner's address and class; 0: free. Context: change lock. */
static inline uintptr_t *rp_slot_owner(const struct rp_slots *s, uint32_t slot)
{
	struct rp_slot_place p = rp_slot_place(slot);
	_Atomic(uint64_t) *ids = atomic_load_explicit(&s->chunk[p.chunk], memory_order_relaxed);

	return (uintptr_t *)(uintptr_t)(ids + p.size) + p.at;
}

/* How many slots from slot on lie side by side, their words too. Context: change lock. */
static inline uint32_t rp_slots_run(const struct rp_slots *s, uint32_t slot)
{
	struct rp_slot_place p = rp_slot_place(slot);
	uint32_t left = p.size - p.at, end = s->next_line - slot;

	return left < end ? left : end;
}

static inline uint32_t rp_owner_class(uintptr_t owner)
{
	return (uint32_t)(owner & RP_OWNER_BITS);
}

static inline struct rp_dentry *rp_owner_dentry(uintptr_t owner)
{
	return (struct rp_dentry *)(owner & ~RP_OWNER_BITS);
}

/* Slots from 1 to below this may have an owner. Context: change lock. */
static inline uint32_t rp_slots_end(const struct rp_slots *s)
{
	return s->next_line;
}

void rp_slots_init(struct rp_slots *s);

/* Bytes of the chunk that rp_slot_alloc() needs before it can go on, or 0. */
size_t rp_slots_want(const struct rp_slots *s, enum rp_slot_class cls);

/* Add a zeroed chunk of the size that rp_slots_want() asked for. */
void rp_slots_add(struct rp_slots *s, void *chunk);

/* The memory of chunk k, for freeing at the end; NULL past the last. */
void *rp_slots_chunk(const struct rp_slots *s, unsigned k, size_t *size);

/*
 * Give out a slot for id. owner: a dentry's address and class. Return: the slot,
 * RP_SLOT_NONE when a chunk is wanted. Context: change lock.
 */
uint32_t rp_slot_alloc(struct rp_slots *s, enum rp_slot_class cls, uint64_t id, uintptr_t owner);

/* Is the owner of slot protected from now on, or on probation? Context: change lock. */
void rp_slot_protect(struct rp_slots *s, uint32_t slot, bool protect);

/* Kill: the slot's dentry no longer lives. Context: change lock. */
void rp_slot_free(struct rp_slots *s, enum rp_slot_class cls, uint32_t slot);

#endif
