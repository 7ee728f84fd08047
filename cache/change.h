/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * change: what an announced change does to the tree; parts of invalidate.c and
 * hooks.c, and of whoever else is told of changes.
 *
 * Context of all but pc_name_check(): change lock, and a read section, which keeps
 * the memory of what dies.
 */
#ifndef PC_CHANGE_H
#define PC_CHANGE_H

#include "store.h"

/*
 * Begin a change: later lookups join no backend call that is under way. Return:
 * its stamp. counter: PC_INVALIDATIONS, PC_ANNOUNCED.
 */
uint64_t pc_change_begin(struct pathcache *c, enum pc_counter counter);

/* Is name one that a directory can have? 0; -EINVAL; -ENAMETOOLONG. Context: any. */
int pc_name_check(const char *name, size_t len);

/* As pc_node_twin() of a directory, whose identity may be a file's by now. */
struct rp_node *pc_dir_twin(struct pathcache *c, struct rp_node *dir);

/* Some name in dir has changed: answers on their way are overtaken, its attributes unknown. */
void pc_drop_names(struct pathcache *c, struct rp_node *dir, uint64_t stamp);

/* What name means in dir is not known any more, and with it pc_drop_names(). */
void pc_drop_name(struct pathcache *c, struct rp_node *dir, const char *name, size_t len,
                  uint64_t stamp);

/* The same of a name that is gone: a directory is not found again by another. */
void pc_drop_gone(struct pathcache *c, struct rp_node *dir, const char *name, size_t len,
                  uint64_t stamp);

/* The object's attributes are not known any more, nor the text of a link. */
void pc_drop_object(struct pathcache *c, struct rp_node *n, uint64_t stamp);

#endif
