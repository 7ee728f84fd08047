/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "slot.h"

#include <string.h>

void rp_slots_init(struct rp_slots *s)
{
	memset(s, 0, sizeof(*s));
	/* Slot 0 means none; its line is given to nobody. */
	s->next_line = RP_SLOT_LINE;
}

static uint32_t slots_total(const struct rp_slots *s)
{
	/* Chunks 0..n-1 together; chunk indices start at 1 << CHUNK0. */
	return (1u << (s->nchunks + RP_SLOT_CHUNK0)) - (1u << RP_SLOT_CHUNK0);
}

/* Ids and owners. */
static size_t chunk_size(unsigned k)
{
	return (sizeof(uint64_t) + sizeof(uintptr_t)) << (k + RP_SLOT_CHUNK0);
}

size_t rp_slots_want(const struct rp_slots *s, enum rp_slot_class cls)
{
	if (s->free[cls] || s->line[cls] % RP_SLOT_LINE || s->next_line < slots_total(s))
		return 0;
	return chunk_size(s->nchunks);
}

void rp_slots_add(struct rp_slots *s, void *chunk)
{
	/* release [S1]: publishes the zeroed slots. Pairs with rp_slot_ref(). */
	atomic_store_explicit(&s->chunk[s->nchunks], chunk, memory_order_release);
	s->nchunks++;
}

void *rp_slots_chunk(const struct rp_slots *s, unsigned k, size_t *size)
{
	if (k >= s->nchunks)
		return NULL;
	*size = chunk_size(k);
	return atomic_load_explicit(&s->chunk[k], memory_order_relaxed);
}

uint32_t rp_slot_alloc(struct rp_slots *s, enum rp_slot_class cls, uint64_t id, uintptr_t owner)
{
	uint32_t slot = s->free[cls];

	if (slot) {
		s->free[cls] =
			(uint32_t)atomic_load_explicit(rp_slot_ref(s, slot), memory_order_relaxed);
	} else {
		if (s->line[cls] % RP_SLOT_LINE == 0) {
			if (s->next_line >= slots_total(s) || s->nchunks == RP_SLOT_CHUNKS)
				return RP_SLOT_NONE;
			s->line[cls] = s->next_line;
			s->next_line += RP_SLOT_LINE;
		}
		slot = s->line[cls]++;
	}
	*rp_slot_owner(s, slot) = owner;
	s->owners[rp_owner_class(owner)]++;
	/* Relaxed: readers learn of (slot, id) from the dentry, whose publication [T1] orders it. */
	atomic_store_explicit(rp_slot_ref(s, slot), id, memory_order_relaxed);
	return slot;
}

void rp_slot_free(struct rp_slots *s, enum rp_slot_class cls, uint32_t slot)
{
	uintptr_t *owner = rp_slot_owner(s, slot);

	/* Relaxed: rp_tree_kill() orders it before the epoch [E1]. */
	atomic_store_explicit(rp_slot_ref(s, slot), s->free[cls], memory_order_relaxed);
	s->owners[rp_owner_class(*owner)]--;
	*owner = 0;
	s->free[cls] = slot;
}

void rp_slot_protect(struct rp_slots *s, uint32_t slot, bool protect)
{
	uintptr_t *owner = rp_slot_owner(s, slot);

	s->owners[rp_owner_class(*owner)]--;
	*owner &= ~RP_OWNER_PROTECTED;
	*owner |= protect ? RP_OWNER_PROTECTED : 0;
	s->owners[rp_owner_class(*owner)]++;
}
