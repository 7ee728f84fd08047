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
#include <sys/stat.h>

#include "attr.h"
#include "lockref.h"
#include "table.h"

struct rp_dentry;

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

#define RP_N_ASK 0x01u          /* permission is the backend's to judge, for everybody */
#define RP_N_NO_NEGATIVE 0x02u  /* directory: keep no absent names */
#define RP_N_PRIVATE 0x04u      /* one caller's: in no table, dies with its last reference */
#define RP_N_NO_CHILDREN 0x08u  /* directory: nothing below is kept */
#define RP_N_KERNEL 0x10u       /* directory: what is below is the kernel's to resolve */
#define RP_N_ACL 0x100u         /* an ACL: the backend judges those without capabilities */
#define RP_N_ACL_UNKNOWN 0x20u  /* whether it has an ACL was not asked yet */
#define RP_N_NO_ATTR 0x40u      /* attributes are never kept (proc, sys) */
#define RP_N_BURIED 0x200u      /* dead and out of all tables; waits for its last child to go */
#define RP_N_HAS_FD 0x400u      /* directory: a descriptor is kept */
#define RP_N_USED 0x800u        /* a memo led here since the clock's hand passed */
#define RP_N_TTL 0x1000u        /* attributes expire; see lease.h */
#define RP_N_UNTOLD 0x2000u     /* directory: nobody tells of changes in it */
#define RP_N_WATCHED 0x4000u    /* directory: events tell of changes in it */
#define RP_N_ID_BY_NAME 0x8000u /* its identity is its name's: a rename makes it another object */
#define RP_N_ASKED 0x10000u     /* a thread is asking for attributes */
#define RP_N_OWN \
	(RP_N_PRIVATE | RP_N_BURIED | RP_N_HAS_FD | RP_N_USED | RP_N_WATCHED | \
	 RP_N_ASKED)      /* the cache's own, in no answer */
#define RP_N_ASK_WX 0x80u /* its mount may be read-only or noexec: W_OK, X_OK are asked */

#define RP_NAMES_HINT ((uintptr_t)1)

/* Beside the stamp in attr_state: what the words hold as of it; none: nothing that is known. */
#define RP_ATTR_PERM ((uint64_t)1) /* mode, owner, mount */
#define RP_ATTR_ALL ((uint64_t)2)  /* the rest as well: everything fitted */
#define RP_ATTR_TTL ((uint64_t)4)  /* beside one of these: RP_N_TTL */
#define RP_ATTR_STAMP_SHIFT 3u

/*
 * Of the reference word: the lock of the locked mode. The highest user flag, as
 * failed gets of a dead word carry into the lowest.
 */
#define RP_REF_LOCKED LOCKREF_USER(LOCKREF_USER_BITS - 1)

struct rp_node {
	/* The reference word, and what writers and holders need. */
	struct lockref ref;    /* atomic */
	struct rp_hlink ident; /* change lock */
	uint64_t object_id;    /* const after publish */
	uint64_t object_gen;   /* const after publish */
	uint64_t domain;       /* const after publish */
	void *handle;          /* const after publish */
	uint64_t id;           /* const after publish */
	/* What hits read: two lines. */
	_Atomic(uint64_t) attr_state; /* atomic; stamp << 3 | RP_ATTR_* */
	uint32_t type;                /* const after publish; S_IFMT bits */
	_Atomic(uint32_t) flags;      /* atomic; RP_N_* */
	_Atomic(uintptr_t) names;     /* atomic; change lock to write */
	union {
		_Atomic(struct rp_text *) text; /* symlink: atomic, set once */
		_Atomic(uint64_t) rdev;         /* device: seq: attr_state */
	};
	_Atomic(uint64_t) attr[RP_ATTR_WORDS]; /* seq: attr_state; see attr.h */
};

static_assert(offsetof(struct rp_node, attr_state) == 64,
              "the reference word's line is not a walk's");
static_assert(offsetof(struct rp_node, attr) % 16 == 0, "pairs of words are loaded at once");
static_assert(sizeof(struct rp_node) == 192, "whole lines");

/*
 * A directory. Its tail is what changes below it leave behind; walks read of it
 * where they start, and where a subtree was forgotten. So it may share a line
 * with the next object's reference word.
 */
struct rp_dirnode {
	struct rp_node node;
	_Atomic(uint64_t) gen;         /* atomic; ids below are stale in this subtree */
	_Atomic(uint64_t) gen_checked; /* atomic; subtree_stamp that gen accounts for */
	uint64_t names_stamp;          /* change lock; last time a name in it changed */
	uint32_t nchild;               /* change lock; dentries whose dir this is */
	uint16_t nnegative;            /* change lock; of the living ones, those of absent names */
	uint16_t list_in;              /* change lock; absent names until it is listed; 0: never */
};

static_assert(sizeof(struct rp_dirnode) == 192 + 32, "a node and a short tail");

/* Bytes of a node of this type (S_IFMT bits), from its making to its end. */
static inline size_t rp_node_size(uint32_t type)
{
	return S_ISDIR(type) ? sizeof(struct rp_dirnode) : sizeof(struct rp_node);
}

static inline uint32_t rp_node_flags(const struct rp_node *n)
{
	return atomic_load_explicit(&n->flags, memory_order_relaxed);
}

/* A memo led to n. As rp_dentry_touch(). */
static inline void rp_node_touch(struct rp_node *n)
{
	if (__builtin_expect(!(rp_node_flags(n) & RP_N_USED), 0))
		atomic_fetch_or_explicit(&n->flags, RP_N_USED, memory_order_relaxed);
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

/* n, which is a directory. */
static inline struct rp_dirnode *rp_dirnode(struct rp_node *n)
{
	assert(rp_node_is_dir(n));
	return (struct rp_dirnode *)n;
}

static inline const struct rp_dirnode *rp_dirnode_const(const struct rp_node *n)
{
	assert(rp_node_is_dir(n));
	return (const struct rp_dirnode *)n;
}

/* gen of n, which is a directory, as it stands. */
static inline uint64_t rp_dirnode_gen(const struct rp_node *n)
{
	return atomic_load_explicit(&rp_dirnode_const(n)->gen, memory_order_relaxed);
}

/* NULL: no symlink, or its text is not known. */
static inline struct rp_text *rp_node_text(const struct rp_node *n)
{
	if (!S_ISLNK(n->type))
		return NULL;
	/* acquire [X1]: the text's bytes. Pairs with rp_node_set_text(). */
	return atomic_load_explicit(&n->text, memory_order_acquire);
}

/* Publish the text of a symlink. Return: false when it had one already. Context: change lock. */
bool rp_node_set_text(struct rp_node *n, struct rp_text *text);

/*
 * A directory's or link's mode and owner, not necessarily of one moment: good
 * only if the walk that read them is found valid afterwards (E2).
 */
static inline struct rp_perm rp_node_perm(const struct rp_node *n)
{
	return rp_attr_unpack_perm(n->attr);
}

static inline uint64_t rp_node_mnt(const struct rp_node *n)
{
	return rp_word_load(&n->attr[RP_ATTR_WORD_MNT]);
}

/* Since when the attributes are what they are, or unknown. */
static inline uint64_t rp_node_attr_stamp(const struct rp_node *n)
{
	return atomic_load_explicit(&n->attr_state, memory_order_relaxed) >> RP_ATTR_STAMP_SHIFT;
}

/* Are mode, owner and mount known, no earlier than stamp gen? */
static inline bool rp_node_attr_valid(const struct rp_node *n, uint64_t gen)
{
	uint64_t s = atomic_load_explicit(&n->attr_state, memory_order_relaxed);

	return (s & RP_ATTR_PERM) && s >> RP_ATTR_STAMP_SHIFT >= gen;
}

/*
 * Copy a consistent snapshot, known no earlier than stamp gen, and the flags
 * that belong to it.
 * Return: false when there is none (unknown, more than the words can hold, one that
 * expires, or just being written); out then holds nothing of use.
 */
static inline __attribute__((always_inline)) bool
rp_node_attr_read(const struct rp_node *n, uint64_t gen, struct rp_attr *out, uint32_t *flags)
{
	/* acquire [A1]: the words. Pairs with rp_node_attr_write(). */
	uint64_t s = atomic_load_explicit(&n->attr_state, memory_order_acquire);

	if ((s & (RP_ATTR_ALL | RP_ATTR_TTL)) != RP_ATTR_ALL || s >> RP_ATTR_STAMP_SHIFT < gen)
		return false;
	rp_attr_unpack(n->attr, out);
	out->rdev = rp_type_is_device(n->type) ? rp_word_load(&n->rdev) : 0;
	*flags = rp_node_flags(n);
	/* acquire [A2]: a word of a later write shows its state. Pairs with rp_node_attr_write(). */
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&n->attr_state, memory_order_relaxed) == s;
}

/*
 * The same where they expire; gen: above the floor. Return: the flags; -1 for false.
 * Apart, and with nobody's address taken, so that a hit that expires not has nothing of it.
 */
int64_t rp_node_attr_read_leased(const struct rp_node *n, uint64_t gen, struct rp_attr *out);

/*
 * Context (both): change lock. stamp: when this became known, or untrue. attr is
 * of n's type; what it has that the words cannot hold is asked again each time.
 * flags take the place of all but RP_N_OWN.
 */
void rp_node_attr_write(struct rp_node *n, const struct rp_attr *attr, uint32_t flags,
                        uint64_t stamp);
void rp_node_attr_drop(struct rp_node *n, uint64_t stamp);

/* ---- counts ------------------------------------------------------------ */

/* The lock that every count change takes in the locked mode; for comparison only. */
static inline void rp_node_spin_lock(struct rp_node *n)
{
	/* Set and clear acquire and release, as a lock must: L4. */
	while (lockref_set_flags(&n->ref, RP_REF_LOCKED) & RP_REF_LOCKED) {
		while (lockref_flags(&n->ref) & RP_REF_LOCKED)
			rp_relax();
	}
}

static inline void rp_node_spin_unlock(struct rp_node *n)
{
	lockref_clear_flags(&n->ref, RP_REF_LOCKED);
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
