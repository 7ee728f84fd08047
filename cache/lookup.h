/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * lookup: the one loop that runs walks, answers their statuses and ends them.
 *
 * A query brings a last step, which runs in the read section on the node the
 * walk found (copy attributes, take a reference, ...). Its outcome is believed
 * only when the walk is valid after it.
 *
 *   hit:   begin - run - last - valid - end          one read section, no store
 *   else:  hold what is needed, leave the section, ask, go on from there
 *
 * After LOOKUP_TRIES walks that changes raced, the rest is done with changes
 * held off: the change lock is taken for each stretch between backend calls,
 * and what lies before the last of them is believed as a kernel's reference
 * walk believes it. A confined walk (BENEATH, IN_ROOT) gives -EAGAIN instead,
 * as openat2(2) does.
 */
#ifndef PC_LOOKUP_H
#define PC_LOOKUP_H

#include <errno.h>
#include <string.h>

#include "fill.h"

/*
 * A query: the question, and its last step. This is all that a hit by a memo
 * needs; a struct pc_lookup is set up for walks only.
 */
struct pc_query {
	struct pathcache *c;
	/* The question. */
	const char *path;
	size_t len;
	struct rp_node *start;
	struct rp_node *root;       /* where "/" leads, and ".." stays */
	const struct rp_cred *cred; /* the cache's own, or &theirs */
	uint32_t flags;             /* RP_W_* */
	bool cached;                /* PATHCACHE_CACHED */
	bool by_node;               /* no walk: the question is about start itself */
	bool change_lock;           /* without lk: the change lock is held */
	uint64_t hash;              /* of the key among memos; 0: has none */
	/*
	 * The last step, and its arguments. RP_OK: result is set; RP_ERR: result
	 * is an errno; or what it needs (RP_NEED_ATTR, RP_NEED_TEXT, RP_NEED_ACCESS,
	 * RP_NEED_PATH, RP_FULL, RP_RETRY).
	 */
	enum rp_status (*last)(struct pc_query *q);
	void *out;
	size_t size;
	int amode;
	/* What it is to look at. */
	struct pc_lookup *lk; /* the walk; NULL: memo */
	const struct rp_memo *memo;
	struct rp_node *node;
	uint64_t gen; /* attributes must not be older */
	bool named;   /* node was reached by a name */
	/* What it leaves. */
	ssize_t result;
	struct rp_node *got;     /* a reference it took; dropped unless all ends well */
	struct rp_node *got_dir; /* another, to the directory got was found in */
	const char *real;        /* the canonical text, result bytes; NULL: none */
	struct rp_cred theirs;
};

struct pc_lookup {
	struct rp_walk w;
	struct pc_query *q;
	struct pathcache *c;
	struct rp_node *base;   /* held; w.cur across a backend call */
	struct rp_node *answer; /* held; what the backend led to */
	struct rp_node *
		parent; /* held; the last directory reached by an asked ".."; all below may hang on it */
	struct rp_node *final;   /* held; the walk's end is reached, only the last step is left */
	struct rp_node *fresh;   /* held; attr is of it, asked during this call */
	struct rp_node *wanted;  /* held; what the backend is just asked about */
	struct rp_node *trusted; /* held; w.trusted.dir */
	struct rp_node *lists;   /* held; a directory whose names should all be known */
	const struct rp_node *allowed; /* what the backend has allowed amode for, in this try */
	struct rp_attr attr;
	uint32_t attr_flags; /* RP_N_* that go with attr */
	uint64_t stale; /* id of a node whose old attributes will do, since another asks; or 0 */
	uint32_t walk_steps; /* of the walk; the last step's come behind */
	char *rest;
	struct rp_step *more; /* when steps were too few */
	const char *missed;   /* the component that missed last */
	uint32_t tries;
	bool ended;        /* the last status came from the last step */
	bool locked;       /* changes are held off in each stretch */
	bool asked;        /* the backend was asked */
	bool last_expires; /* set by pc_learn(): the last binding of the walk expires */
	struct rp_step steps[RP_STEPS_MIN];
};

#define PC_CONFINED (PATHCACHE_BENEATH | PATHCACHE_IN_ROOT)
#define PC_FLAGS_KNOWN \
	(PATHCACHE_NOFOLLOW | PATHCACHE_DIRECTORY | PC_CONFINED | PATHCACHE_NO_SYMLINKS | \
	 PATHCACHE_NO_XDEV | PATHCACHE_CACHED)

static inline void pc_query_clear(struct pc_query *q, struct pathcache *c, const char *path)
{
	q->c = c;
	q->path = path;
	q->start = c->tree.root;
	q->root = c->tree.root;
	q->cred = &c->self;
	q->flags = 0;
	q->cached = false;
	q->by_node = false;
	q->change_lock = false;
	q->hash = 0;
	q->lk = NULL;
	q->got = NULL;
	q->got_dir = NULL;
	q->real = NULL;
}

/* Check the arguments of a query and set q up; the last step is left. Return: 0; -errno. */
int pc_query_init(struct pc_query *q, struct pathcache *c, const char *path,
                  const struct pathcache_how *how);

/* As if a walk had ended at node, which the caller holds. For held entries. */
void pc_query_init_node(struct pc_query *q, struct pathcache *c, struct rp_node *node);

/* Flags of q's walk, RP_W_*. */
uint32_t pc_query_walk_flags(const struct pc_query *q);

/* Without memos. Return: q->result, or -errno. */
ssize_t pc_query_walk(struct pc_query *q);

/* The key of q among memos. */
static inline struct rp_memo_key pc_query_key(const struct pc_query *q)
{
	const struct rp_node *tree_root = q->c->tree.root;
	bool rel = q->root != tree_root || (q->start != tree_root && q->path[0] != '/');

	return (struct rp_memo_key){q->path, q->len, rel ? q->start : NULL,
	                            q->flags | (rel ? RP_MEMO_REL : 0), q->hash};
}

/*
 * Hold the directory path leads to, whoever may search the way there.
 * Return: 0 and *out; errors of resolution. Context: may block.
 */
int pc_lookup_dir(struct pathcache *c, const char *path, struct rp_node **out);

#endif
