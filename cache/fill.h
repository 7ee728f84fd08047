/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * fill: put questions to the backend and keep the answers.
 *
 * The stamp is sampled before the backend is asked and compared under the
 * change lock before publishing: what a change overtook goes to the caller
 * only. No lock and no read section is held while the backend answers.
 *
 * Context of all: no lock, no read section; nodes passed in are held.
 */
#ifndef PC_FILL_H
#define PC_FILL_H

#include "store.h"

/* a was kept or not: what nobody has taken over of it is given back to the backend. */
void pc_answer_drop(struct pathcache *c, struct pc_answer *a);

/*
 * What name means in dir: by this thread's own question, or by another's that
 * is under way. Return: 0 and *out (node NULL: absent); -errno of the backend.
 */
int pc_fill_name(struct pathcache *c, struct rp_node *dir, const char *name, size_t len,
                 const struct rp_cred *cred, struct pc_found *out);

/*
 * The id of name's binding in dir, or where len is 0 of dir's own, when it expired no
 * longer than stale_ms ago and another thread asks for it; 0 else. *object: the id
 * of the node it leads to; left alone where there is none.
 */
uint64_t pc_fill_stale(struct pathcache *c, struct rp_node *dir, const char *name, size_t len,
                       uint64_t *object);

/* Have attributes of node expired no longer than that ago, and another thread asks for them? */
bool pc_fill_stale_attr(struct pathcache *c, const struct rp_node *node);

/* The directory above dir. Return: as pc_fill_name(). */
int pc_fill_parent(struct pathcache *c, struct rp_node *dir, const struct rp_cred *cred,
                   struct pc_found *out);

/*
 * A directory's attributes, and a binding to start from. Return: 0; -EAGAIN: a
 * change overtook them, *perm and *flags are what was answered.
 */
int pc_fill_start(struct pathcache *c, struct rp_node *dir, const struct rp_cred *cred,
                  struct rp_perm *perm, uint32_t *flags);

/* Attributes and RP_N_* into *attr and *flags; kept as well where nothing overtook them. */
int pc_fill_attr(struct pathcache *c, struct rp_node *node, const struct rp_cred *cred,
                 struct rp_attr *attr, uint32_t *flags);

int pc_fill_text(struct pathcache *c, struct rp_node *node);

/* Whether node has an ACL. */
int pc_fill_acl(struct pathcache *c, struct rp_node *node);

int pc_fill_access(struct pathcache *c, struct rp_node *node, int mask, const struct rp_cred *cred);

/* The rest of a path, by the kernel. */
int pc_fill_kernel(struct pathcache *c, struct rp_node *dir, const char *rest, uint64_t flags,
                   const struct rp_cred *cred, struct pc_found *out);

#endif
