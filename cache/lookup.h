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

#include "fill.h"

struct pc_lookup {
	struct rp_walk w;
	struct pathcache *c;
	/*
	 * The last step. RP_OK: result is set; RP_ERR: w.err is; or what it needs
	 * (RP_NEED_ATTR, RP_NEED_TEXT, RP_NEED_ACCESS, RP_NEED_PATH, RP_FULL, RP_RETRY).
	 */
	enum rp_status (*last)(struct pc_lookup *lk);
	ssize_t result;
	struct rp_node *got; /* a reference the last step took; dropped unless it ends well */
	/* Arguments of the last step. */
	void *out;
	size_t size;
	int amode;
	/* The question. */
	struct rp_node *start;
	const char *path;
	size_t len;
	uint64_t flags;
	struct rp_cred cred;
	/* Of the slow path. */
	struct rp_node *base;   /* held; w.cur across a backend call */
	struct rp_node *answer; /* held; what the backend led to */
	struct rp_node *
		parent; /* held; the last directory reached by an asked ".."; all below may hang on it */
	struct rp_node *final;   /* held; the walk's end is reached, only the last step is left */
	struct rp_node *fresh;   /* held; attr is of it, asked during this call */
	struct rp_node *wanted;  /* held; what the backend is just asked about */
	struct rp_node *trusted; /* held; w.trusted.dir */
	const struct rp_node *allowed; /* what the backend has allowed amode for, in this try */
	struct rp_attr attr;
	uint32_t attr_flags; /* RP_N_* that go with attr */
	char *rest;
	struct rp_step *more; /* when steps were too few */
	const char *missed;   /* the component that missed last */
	uint32_t tries;
	bool by_node; /* no walk: the question is about final */
	bool ended;   /* the last status came from the last step */
	bool locked;  /* changes are held off in each stretch */
	bool asked;   /* the backend was asked */
	struct rp_step steps[RP_STEPS_MIN];
};

/*
 * Check the arguments of a query and set lk up.
 * Return: 0; -errno.
 */
int pc_lookup_init(struct pc_lookup *lk, struct pathcache *c, const char *path,
                   const struct pathcache_how *how);

/* Return: lk->result, or -errno. */
ssize_t pc_lookup_run(struct pc_lookup *lk);

/*
 * Hold the directory path leads to, whoever may search the way there.
 * Return: 0 and *out; errors of resolution. Context: may block.
 */
int pc_lookup_dir(struct pathcache *c, const char *path, struct rp_node **out);

/* Attributes of the node the walk found, and its RP_N_*, for last steps. False: RP_NEED_ATTR. */
bool pc_lookup_attr(const struct pc_lookup *lk, struct rp_attr *attr, uint32_t *flags);

/* As if a walk had ended at node, which the caller holds. For held entries. */
void pc_lookup_init_node(struct pc_lookup *lk, struct pathcache *c, struct rp_node *node);

#endif
