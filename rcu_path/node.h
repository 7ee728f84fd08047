/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * node: what a name leads to (an inode).
 *
 * Found by identity (object id, generation, domain) by writers, through a
 * dentry by readers. Memory is freed a grace period after the reference word
 * died; a directory's not before its last child dentry is gone, so a dentry's
 * dir pointer is always good.
 *
 *   created --name--> named --last name killed--> nameless (DOOM)
 *                       ^                            |  no reference: DEAD, retired
 *                       +------- named again --------+  else at the last put
 *
 * names is the list of the node's dentries, and a tagged pointer: with
 * RP_NAMES_HINT set it is the last killed dentry, kept only to say where the
 * object was last seen; such a node has no binding that may be believed.
 *
 *                    attr_read   perm read      attr write, names, gen
 *  attr_read             -          -           A1 + A2: torn copies are refused
 *  perm read (walk)      -          -           the directory's dentry is killed
 *                                               first: E2 refuses what was read
 *  attr write ...                               the tree's change lock
 */
#ifndef RP_NODE_H
#define RP_NODE_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "lockref.h"
#include "table.h"

struct rp_dentry;

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

#define RP_ATTR_WORDS (sizeof(struct rp_attr) / sizeof(uint64_t))
static_assert(sizeof(struct rp_attr) == 128, "whole words, no padding");

static inline void rp_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ __volatile__("yield");
#endif
}

/* Text of a symlink; immutable, freed with its node. */
struct rp_text {
	uint32_t len;
	char bytes[];
};

#define RP_N_ASK 0x01u         /* permission is the backend's to judge, for everybody */
#define RP_N_NO_NEGATIVE 0x02u /* directory: keep no absent names */
#define RP_N_PRIVATE 0x04u     /* one caller's: in no table, dies with its last reference */
#define RP_N_NO_CHILDREN 0x08u /* directory: nothing below is kept */
#define RP_N_KERNEL 0x10u      /* directory: what is below is the kernel's to resolve */
#define RP_N_ACL 0x100u        /* an ACL: the backend judges those without capabilities */
#define RP_N_ACL_UNKNOWN 0x20u /* whether it has an ACL was not asked yet */
#define RP_N_NO_ATTR 0x40u     /* attributes are never kept (proc, sys) */
#define RP_N_BURIED 0x200u     /* dead and out of all tables; waits for its last child to go */
#define RP_N_HAS_FD 0x400u     /* directory: a descriptor is kept */
#define RP_N_OWN (RP_N_PRIVATE | RP_N_BURIED | RP_N_HAS_FD) /* the cache's own, in no answer */
#define RP_N_ASK_WX 0x80u /* its mount may be read-only or noexec: W_OK, X_OK are asked */

#define RP_NAMES_HINT ((uintptr_t)1)

struct rp_node {
	/* The reference word and what only writers need. */
	struct lockref ref;     /* atomic */
	_Atomic(uint32_t) spin; /* atomic; count changes of the locked mode */
	uint32_t nchild;        /* change lock; dentries whose dir this is */
	struct rp_hlink ident;  /* change lock */
	uint64_t object_id;     /* const after publish */
	uint64_t object_gen;    /* const after publish */
	uint64_t domain;        /* const after publish */
	void *handle;           /* const after publish */
	/* What walks read. */
	uint64_t id;                           /* const after publish */
	uint32_t type;                         /* const after publish; S_IFMT bits */
	_Atomic(uint32_t) flags;               /* atomic; RP_N_* */
	_Atomic(uintptr_t) names;              /* atomic; change lock to write */
	_Atomic(uint64_t) gen;                 /* atomic; ids below are stale in this subtree */
	_Atomic(uint64_t) gen_checked;         /* atomic; subtree_stamp that gen accounts for */
	uint64_t names_stamp;                  /* change lock; last time a name in it changed */
	_Atomic(struct rp_text *) text;        /* atomic, set once */
	_Atomic(uint64_t) attr_state;          /* atomic; stamp << 1 | valid */
	_Atomic(uint64_t) attr[RP_ATTR_WORDS]; /* seq: attr_state */
};

static_assert(offsetof(struct rp_node, id) == 64, "the reference word's line is not a walk's");
static_assert(sizeof(struct rp_node) == 256, "whole lines");

static inline uint32_t rp_node_flags(const struct rp_node *n)
{
	return atomic_load_explicit(&n->flags, memory_order_relaxed);
}

static inline bool rp_node_is_dir(const struct rp_node *n)
{
	return S_ISDIR(n->type);
}

/* The newest binding, or NULL where none may be believed. */
static inline struct rp_dentry *rp_node_name(const struct rp_node *n)
{
	/* acquire [N1]: the dentry's fields. Pairs with names_set(). */
	uintptr_t p = atomic_load_explicit(&n->names, memory_order_acquire);

	return p & RP_NAMES_HINT ? NULL : (struct rp_dentry *)p;
}

/* As rp_node_name(), or else where the object was last seen. */
static inline struct rp_dentry *rp_node_name_or_hint(const struct rp_node *n)
{
	/* acquire [N1]: as rp_node_name(). */
	uintptr_t p = atomic_load_explicit(&n->names, memory_order_acquire);

	return (struct rp_dentry *)(p & ~RP_NAMES_HINT);
}

static inline struct rp_text *rp_node_text(const struct rp_node *n)
{
	/* acquire [X1]: the text's bytes. Pairs with rp_node_set_text(). */
	return atomic_load_explicit(&n->text, memory_order_acquire);
}

/* Publish the text of a symlink. Return: false when it had one already. Context: change lock. */
bool rp_node_set_text(struct rp_node *n, struct rp_text *text);

/* What permission is judged by. */
struct rp_perm {
	uint32_t mode;
	uint32_t uid;
	uint32_t gid;
};

/*
 * A directory's or link's mode and owner, not necessarily of one moment: good
 * only if the walk that read them is found valid afterwards (E2).
 */
static inline struct rp_perm rp_node_perm(const struct rp_node *n)
{
	uint64_t w[2];
	struct rp_attr a;

	w[0] = atomic_load_explicit(&n->attr[0], memory_order_relaxed);
	w[1] = atomic_load_explicit(&n->attr[1], memory_order_relaxed);
	memcpy(&a, w, sizeof(w));
	return (struct rp_perm){a.mode, a.uid, a.gid};
}

static inline uint64_t rp_node_mnt(const struct rp_node *n)
{
	return atomic_load_explicit(&n->attr[offsetof(struct rp_attr, mnt_id) / 8],
	                            memory_order_relaxed);
}

static inline bool rp_node_attr_valid(const struct rp_node *n, uint64_t gen)
{
	uint64_t s = atomic_load_explicit(&n->attr_state, memory_order_relaxed);

	return (s & 1) && (s >> 1) >= gen;
}

/*
 * Copy a consistent snapshot, known no earlier than stamp gen, and the flags
 * that belong to it.
 * Return: false when there is none (unknown, or just being written); out then
 * holds nothing of use.
 */
static inline bool rp_node_attr_read(const struct rp_node *n, uint64_t gen, struct rp_attr *out,
                                     uint32_t *flags)
{
	/* acquire [A1]: the words. Pairs with rp_node_attr_write(). */
	uint64_t s = atomic_load_explicit(&n->attr_state, memory_order_acquire);

	if (!(s & 1) || (s >> 1) < gen)
		return false;
	for (size_t i = 0; i < RP_ATTR_WORDS; i++) {
		uint64_t word = atomic_load_explicit(&n->attr[i], memory_order_relaxed);

		memcpy((char *)out + i * sizeof(word), &word, sizeof(word));
	}
	*flags = rp_node_flags(n);
	/* acquire [A2]: a word of a later write shows its state. Pairs with rp_node_attr_write(). */
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&n->attr_state, memory_order_relaxed) == s;
}

/*
 * Context (both): change lock. stamp: when this became known, or untrue. flags
 * take the place of all but RP_N_OWN.
 */
void rp_node_attr_write(struct rp_node *n, const struct rp_attr *attr, uint32_t flags,
                        uint64_t stamp);
void rp_node_attr_drop(struct rp_node *n, uint64_t stamp);

/* ---- counts ------------------------------------------------------------ */

/* The lock that every count change takes in the locked mode; for comparison only. */
static inline void rp_node_spin_lock(struct rp_node *n)
{
	/* acquire [K1]: the counts changed under it. Pairs with rp_node_spin_unlock(). */
	while (atomic_exchange_explicit(&n->spin, 1, memory_order_acquire)) {
		while (atomic_load_explicit(&n->spin, memory_order_relaxed))
			rp_relax();
	}
}

static inline void rp_node_spin_unlock(struct rp_node *n)
{
	/* release [K1]: pairs with rp_node_spin_lock(). */
	atomic_store_explicit(&n->spin, 0, memory_order_release);
}

/* A reference to a node found under RCU. Return: false when it is dead. */
static inline bool rp_node_get_rcu(struct rp_node *n, bool locked)
{
	bool alive;

	if (!locked)
		return lockref_get(&n->ref);
	rp_node_spin_lock(n);
	alive = lockref_get(&n->ref);
	rp_node_spin_unlock(n);
	return alive;
}

/* Give one back. Return: true when the caller killed it and must retire it. Context: read section. */
static inline bool rp_node_put_rcu(struct rp_node *n, bool locked)
{
	bool killed;

	if (!locked)
		return lockref_put(&n->ref);
	rp_node_spin_lock(n);
	killed = lockref_put(&n->ref);
	rp_node_spin_unlock(n);
	return killed;
}

/* ---- permission -------------------------------------------------------- */

#define RP_CAP_DAC_OVERRIDE 0x1u
#define RP_CAP_DAC_READ_SEARCH 0x2u

/* Who asks. */
struct rp_cred {
	uint32_t uid;
	uint32_t gid;
	const uint32_t *groups;
	size_t ngroups;
	uint32_t caps;
};

/*
 * Do mode bits and capabilities allow mask (R_OK | W_OK | X_OK)?
 * Source: path_resolution(7), capabilities(7).
 */
bool rp_perm_allows(const struct rp_perm *perm, const struct rp_cred *cred, int mask);

#endif
