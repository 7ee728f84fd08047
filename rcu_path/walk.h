/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * walk: resolve a path through the cached tree, inside one read section.
 *
 * The walk returns up, never calls up: what it cannot answer is a status, the
 * caller finds the answer and runs the walk again from where it stopped.
 *
 *   rp_walk_begin -> rp_walk_run --RP_OK / RP_ERR--> copy out --> rp_walk_valid
 *                     ^     | other statuses                       | false
 *                     +-----+ (caller resolves)                    begin again
 *
 * Every status, an errno above all, may be believed only after rp_walk_valid():
 * then all bindings the walk went through, all permissions it judged by and any
 * attributes copied since were true together at one instant.
 *
 * The counted modes run the same code and take a reference on each node they
 * pass; with changes held off such a walk is always valid.
 *
 * Budget of a hit per component: 1 load of a bucket head, the lines of the
 * dentries on its chain (one, mostly); no store but to the walk itself. At the
 * end one load of the epoch, or one of each slot.
 *
 * Context: run, valid: in one read section, or with every step's node held
 * since. Nothing allocates, nothing blocks.
 */
#ifndef RP_WALK_H
#define RP_WALK_H

#include "tree.h"

enum rp_status {
	RP_OK,          /* node: the end of the path */
	RP_ERR,         /* err: the answer is an errno */
	RP_MISS,        /* name in cur is not known */
	RP_STALE_START, /* cur is not bound, or what is known of it is stale */
	RP_NEED_PARENT, /* ".." of cur is not known */
	RP_NEED_TEXT,   /* node: a symlink whose text is not known */
	RP_NEED_ATTR,   /* node: a symlink whose owner must be known */
	RP_NEED_PERM,   /* may cred search cur? the backend judges */
	RP_KERNEL,      /* the rest of the path, from cur, is the kernel's */
	RP_NEED_ACCESS, /* (of the caller's own last step) the backend judges node */
	RP_NEED_PATH,   /* (of the caller's own last step) the backend names node */
	RP_NEED_NAME,   /* node: a directory, held, whose path is not known */
	RP_FULL,        /* no room for steps: give more, go on */
	RP_RETRY,       /* a change was met half way: begin again */
	RP_TICK,        /* floors of what expires are to be made anew; go on */
};

/* Values equal those of the public flags; see cache/pathcache.h. */
#define RP_W_NOFOLLOW 0x01u
#define RP_W_DIRECTORY 0x02u
#define RP_W_BENEATH 0x04u
#define RP_W_IN_ROOT 0x08u
#define RP_W_NO_SYMLINKS 0x10u
#define RP_W_NO_XDEV 0x20u
#define RP_W_TRUSTED 0x10000u  /* internal: every directory may be searched */
#define RP_W_DISTRUST 0x20000u /* internal: nothing from before this call is believed */
#define RP_W_LOOK 0x40000u     /* internal: nothing is of this call, whatever fresh says */

enum rp_mode { RP_MODE_RCU, RP_MODE_LOCKREF, RP_MODE_REFWALK, RP_MODE_LOCKED };

/* What the walk went through: a binding to check, a reference to put, or both. */
struct rp_step {
	uint64_t id;
	struct rp_node *node; /* counted modes: a reference was taken; else NULL */
	uint32_t slot;        /* RP_SLOT_NONE: nothing to check */
#if PC_TESTING
	uint32_t kind; /* RP_DEP_* */
#endif
};

#if PC_TESTING
/* Why a walk relies on a binding; for negative controls. */
#define RP_DEP_START 0x001u    /* of the start or the root */
#define RP_DEP_ANCHOR 0x002u   /* the name of a start's parent */
#define RP_DEP_DIR 0x004u      /* a directory on the way */
#define RP_DEP_LINK 0x008u     /* a symlink followed */
#define RP_DEP_LEAF 0x010u     /* the last component */
#define RP_DEP_NEGATIVE 0x020u /* an absent name */
#define RP_DEP_UP 0x040u       /* a child's own name, at ".." */
#define RP_DEP_PARENT 0x080u   /* its parent's, likewise */
#define RP_DEP_SUBTREE 0x100u  /* no binding: the subtree stamp */
#define RP_DEP_PERM 0x200u     /* no binding: who may search */
#define RP_DEP_PATH 0x400u     /* upwards, for the canonical text */
#define RP_STEP(id_, node_, slot_, kind_) \
	((struct rp_step){.id = (id_), .node = (node_), .slot = (slot_), .kind = (kind_)})
#else
#define RP_STEP(id_, node_, slot_, kind_) \
	((struct rp_step){.id = (id_), .node = (node_), .slot = (slot_)})
#endif

/* The rest of the path behind a link that is being followed. */
struct rp_frame {
	const char *p;
	const char *end;
};

#define RP_J_CRED 0x1u /* by mode bits and owner, to cred */
#define RP_J_CAPS 0x2u /* by capability */

/* Steps a walk has without asking for more; covers 98 % of recorded paths twice over. */
#define RP_STEPS_MIN 48u

struct rp_walk {
	/* Set by the caller. */
	const struct rp_tree *tree;
	struct rp_node *root; /* where absolute paths and links begin, and ".." stays */
	const struct rp_cred *cred;
	struct rp_step *steps;
	uint32_t max_steps;
	uint32_t flags; /* RP_W_* */
	enum rp_mode mode;
	/* Where it stands. */
	struct rp_node *cur;
	const char *p; /* begin of the component in hand, behind slashes */
	const char *end;
	const char *lo;   /* [lo, end) may be read */
	uint64_t gen;     /* ids below are stale here */
	uint64_t epoch;   /* at the begin */
	uint64_t changes; /* at the begin */
	uint64_t subtree; /* subtree_stamp at the begin */
	uint64_t loose;   /* lowest id of a loose binding it believed; UINT64_MAX: none */
	uint64_t fresh;   /* set by the caller: bindings with ids above are of this call */
	uint32_t nsteps;
	uint32_t nframes;
	uint32_t links;     /* followed so far */
	uint16_t cur_flags; /* RP_D_* of cur */
	bool absolute;      /* the path began with a slash */
	bool entered;       /* cur is part of the steps */
	bool must_dir;      /* a trailing slash was met */
	bool in_text;       /* p points into a link's text */
	bool perm_ok;       /* the backend allowed to search cur */
	bool listed;        /* RP_ERR: absent, as the directory's listing has it */
	bool below;         /* it stood at a directory not reached from the tree's root */
	bool leased;        /* it met what expires; floor is set */
	uint8_t judged;     /* RP_J_*; how search was allowed where not everybody may */
	/* What it found. */
	struct rp_node *node;
	const char *name; /* RP_OK: node is this name in cur; RP_MISS: of the name at p */
	size_t len;       /* of name; 0: node is cur itself */
	int err;          /* RP_ERR: negative errno */
	uint64_t floor[RP_LEASE_KINDS]; /* see lease.h */
	uint64_t stale; /* set by the caller: id of a binding to be believed though expired; or 0 */
	/*
	 * Answer of the caller to RP_STALE_START that a change overtook: dir is
	 * entered by these, good for this call, and all below it taken as stale.
	 */
	struct {
		struct rp_node *dir;
		struct rp_perm perm;
		uint32_t flags; /* RP_N_* */
	} trusted;
	/* Answer of the caller to RP_MISS or RP_NEED_PARENT, taken instead of looking. */
	struct rp_node *inject;
	uint64_t inject_id;
	uint32_t inject_slot;
	struct rp_frame frames[RP_LINKS_MAX];
};

/*
 * Set out from start along [path, path + len). tree, root, cred, steps,
 * max_steps, flags, mode and fresh are set already.
 */
void rp_walk_begin(struct rp_walk *w, struct rp_node *start, const char *path, size_t len);

enum rp_status rp_walk_run(struct rp_walk *w);

/* Is d still believed, as far as time goes? RP_OK; RP_MISS; RP_TICK. */
enum rp_status rp_walk_lasts(struct rp_walk *w, const struct rp_dentry *d);

/* Was all of it true at one instant? Slow: by the vector of slots. */
bool rp_walk_valid_slow(const struct rp_walk *w);

static inline bool rp_walk_valid(const struct rp_walk *w)
{
	/*
	 * acquire [E2]: anything new that the walk or the copy saw shows the kill
	 * that came before it. Pairs with epoch_advance().
	 */
	atomic_thread_fence(memory_order_acquire);
	if (atomic_load_explicit(&w->tree->epoch, memory_order_relaxed) == w->epoch)
		return true;
	return rp_walk_valid_slow(w);
}

/*
 * The rest of the path from p as one string, frames included, so that the walk
 * can leave the read section. Return: its length; written to buf (no NUL) when
 * it fits size.
 */
size_t rp_walk_rest(const struct rp_walk *w, char *buf, size_t size);

/* Go on along rest, which took the place of p and the frames. */
void rp_walk_set_rest(struct rp_walk *w, const char *rest, size_t len);

/*
 * The path from the tree's root to name in dir (len 0: to dir itself) by current
 * names, written backwards from the end of buf. id: of name's binding where it
 * has to be judged, else UINT64_MAX. Adds what it relies on to w's steps. Return: RP_OK and *at the begin in buf; RP_NEED_NAME and *at the
 * begin of what comes behind dir; RP_ERR with err -ERANGE; RP_FULL.
 */
enum rp_status rp_walk_path(struct rp_walk *w, struct rp_node *dir, const char *name, size_t len,
                            uint64_t id, char *buf, size_t size, size_t *at);

#endif
