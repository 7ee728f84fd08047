/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "node.h"

#include <unistd.h>

bool rp_node_set_text(struct rp_node *n, struct rp_text *text)
{
	assert(S_ISLNK(n->type));
	if (atomic_load_explicit(&n->text, memory_order_relaxed))
		return false;
	/* release [X1]: publishes the bytes. Pairs with rp_node_text(). */
	atomic_store_explicit(&n->text, text, memory_order_release);
	return true;
}

int64_t rp_node_attr_read_leased(const struct rp_node *n, uint64_t gen, struct rp_attr *out)
{
	/* acquire [A1]: as rp_node_attr_read(). */
	uint64_t s = atomic_load_explicit(&n->attr_state, memory_order_acquire);
	uint32_t flags;

	if (!(s & RP_ATTR_ALL) || s >> RP_ATTR_STAMP_SHIFT < gen)
		return -1;
	rp_attr_unpack(n->attr, out);
	out->rdev = rp_type_is_device(n->type) ? rp_word_load(&n->rdev) : 0;
	flags = rp_node_flags(n);
	/* acquire [A2]: as rp_node_attr_read(). */
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&n->attr_state, memory_order_relaxed) == s ? (int64_t)flags
	                                                                       : -1;
}

/* RP_N_HAS_FD of the node's own may change meanwhile, without the lock. */
static void flags_put(struct rp_node *n, uint32_t flags)
{
	uint32_t old = atomic_load_explicit(&n->flags, memory_order_relaxed);

	while (!atomic_compare_exchange_weak_explicit(&n->flags, &old, (old & RP_N_OWN) | flags,
	                                              memory_order_relaxed, memory_order_relaxed))
		;
}

void rp_node_attr_write(struct rp_node *n, const struct rp_attr *attr, uint32_t flags,
                        uint64_t stamp)
{
	uint64_t w[RP_ATTR_WORDS];
	uint64_t holds = rp_attr_pack(attr, w) ? RP_ATTR_PERM | RP_ATTR_ALL : RP_ATTR_PERM;

	if (flags & RP_N_TTL)
		holds |= RP_ATTR_TTL;

	assert((attr->mode & S_IFMT) == n->type);
	rp_node_attr_drop(n, stamp);
	/* release [A2]: who sees a word below sees the state above. Pairs with rp_node_attr_read(). */
	atomic_thread_fence(memory_order_release);
	for (size_t i = 0; i < RP_ATTR_WORDS; i++)
		atomic_store_explicit(&n->attr[i], w[i], memory_order_relaxed);
	if (rp_type_is_device(n->type))
		atomic_store_explicit(&n->rdev, attr->rdev, memory_order_relaxed);
	flags_put(n, flags);
	/* release [A1]: publishes the words. Pairs with rp_node_attr_read(). */
	atomic_store_explicit(&n->attr_state, stamp << RP_ATTR_STAMP_SHIFT | holds,
	                      memory_order_release);
}

void rp_node_attr_drop(struct rp_node *n, uint64_t stamp)
{
	atomic_store_explicit(&n->attr_state, stamp << RP_ATTR_STAMP_SHIFT, memory_order_relaxed);
}

static bool in_group(const struct rp_cred *cred, uint32_t gid)
{
	if (cred->gid == gid)
		return true;
	for (size_t i = 0; i < cred->ngroups; i++)
		if (cred->groups[i] == gid)
			return true;
	return false;
}

bool rp_perm_allows(const struct rp_perm *perm, const struct rp_cred *cred, int mask)
{
	uint32_t bits = perm->mode;
	uint32_t want = (uint32_t)mask & 7u;

	if (cred->uid == perm->uid)
		bits >>= 6;
	else if (in_group(cred, perm->gid))
		bits >>= 3;
	if ((want & ~bits) == 0)
		return true;
	if (S_ISDIR(perm->mode)) {
		if (!(want & W_OK) && (cred->caps & RP_CAP_DAC_READ_SEARCH))
			return true;
		return (cred->caps & RP_CAP_DAC_OVERRIDE) != 0;
	}
	if (want == R_OK && (cred->caps & RP_CAP_DAC_READ_SEARCH))
		return true;
	/* Nobody executes a file that has no execute bit at all. */
	if ((want & X_OK) && !(perm->mode & 0111))
		return false;
	return (cred->caps & RP_CAP_DAC_OVERRIDE) != 0;
}
