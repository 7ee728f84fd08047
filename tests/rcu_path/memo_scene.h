/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A tree and a table of memos over it, made by hand, with nothing above. What
 * is taken out of either stays readable until the owner frees it: at the end,
 * or after a grace period of its own.
 */
#ifndef MEMO_SCENE_H
#define MEMO_SCENE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memo.h"
#include "run.h"

#define MS_FREED 0x6b /* what freed memory is made of until it is given out again */

struct ms_scene {
	struct rp_tree tree;
	struct rp_memos memos;
	struct rp_way *way; /* of those that want none of their own: empty, current */
};

/* sets, lines: of the first array. stream: of the hash's secret. */
struct ms_scene *ms_make(uint32_t sets, uint32_t lines, uint64_t stream);

/* All memos have been taken out and all names killed. */
void ms_free(struct ms_scene *s);

/* Zeroed, at the begin of a cache line; freed by ms_give() with its size. */
void *ms_take(size_t size);
void ms_give(void *p, size_t size);

struct rp_node *ms_node(struct ms_scene *s, uint32_t type);
void ms_node_free(struct rp_node *n);

/* Bind name in dir. node: NULL for an absent name. */
struct rp_dentry *ms_bind(struct ms_scene *s, struct rp_node *dir, const char *name,
                          struct rp_node *node);
/* Kill d; its memory is the caller's. */
void ms_kill(struct ms_scene *s, struct rp_dentry *d);
/* Kill and free at once: for one thread. */
void ms_unbind(struct ms_scene *s, struct rp_dentry *d);

uint64_t ms_epoch(const struct ms_scene *s);

struct rp_memo_key ms_key(const struct ms_scene *s, const char *path);

/* A way of n bindings, good as of now; in no table. */
struct rp_way *ms_way(const struct ms_scene *s, struct rp_dentry *const *deps, uint32_t n);
void ms_way_free(struct rp_way *way);

/* A memo of path, good as of now: way, then last, and last's node. In no table. */
struct rp_memo *ms_memo(const struct ms_scene *s, const char *path, struct rp_way *way,
                        const struct rp_dentry *last);
void ms_memo_free(struct rp_memo *m);

struct rp_memo_array *ms_array(uint32_t sets, uint32_t lines);
void ms_array_free(struct rp_memo_array *a);

/* As a hit does it. */
struct rp_memo *ms_find(const struct ms_scene *s, const char *path);

/* Places of a that hold m. */
unsigned ms_places_of(const struct rp_memo_array *a, const struct rp_memo *m);

#endif
