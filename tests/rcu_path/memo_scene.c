/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "memo_scene.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 1024u
#define HEADS 4u

void *ms_take(size_t size)
{
	void *p;

	REQUIRE(posix_memalign(&p, 64, size) == 0);
	return memset(p, 0, size);
}

void ms_give(void *p, size_t size)
{
	memset(p, MS_FREED, size);
	free(p);
}

/* ---- the tree ------------------------------------------------------------ */

struct ms_scene *ms_make(uint32_t sets, uint32_t lines, uint64_t stream)
{
	struct ms_scene *s = ms_take(sizeof(*s));
	struct rp_buckets *buckets = ms_take(rp_buckets_size(BUCKETS));
	struct ts_rng rng = ts_rng(stream);

	rp_tree_init(&s->tree, buckets, BUCKETS, NULL);
	for (size_t i = 0; i < sizeof(s->tree.secret.words) / sizeof(s->tree.secret.words[0]); i++)
		s->tree.secret.words[i] = ts_rand(&rng);
	s->tree.root = ms_node(s, S_IFDIR);
	rp_memos_init(&s->memos, ms_array(sets, lines), ms_take(HEADS * sizeof(struct rp_way *)),
	              HEADS);
	s->way = ms_way(s, NULL, 0);
	return s;
}

void ms_free(struct ms_scene *s)
{
	size_t size;
	void *chunk;

	CHECK_EQ(atomic_load(&s->memos.count), 0);
	CHECK_EQ(s->tree.dentries.count, 0);
	CHECK_EQ(s->memos.nways, 0);
	for (unsigned k = 0; (chunk = rp_slots_chunk(&s->tree.slots, k, &size)) != NULL; k++)
		ms_give(chunk, size);
	ms_give(rp_table_buckets(&s->tree.dentries), rp_buckets_size(BUCKETS));
	ms_node_free(s->tree.root);
	ms_array_free(rp_memos_array(&s->memos));
	if (s->memos.next)
		ms_array_free(s->memos.next);
	ms_give(s->memos.ways, (s->memos.ways_mask + 1) * sizeof(struct rp_way *));
	ms_way_free(s->way);
	ms_give(s, sizeof(*s));
}

struct rp_node *ms_node(struct ms_scene *s, uint32_t type)
{
	struct rp_node *n = ms_take(rp_node_size(type));

	n->type = type;
	n->id = rp_tree_stamp(&s->tree);
	return n;
}

void ms_node_free(struct rp_node *n)
{
	ms_give(n, rp_node_size(n->type));
}

struct rp_dentry *ms_bind(struct ms_scene *s, struct rp_node *dir, const char *name,
                          struct rp_node *node)
{
	size_t len = strlen(name);
	struct rp_dentry *d = ms_take(rp_dentry_size(len));
	size_t want;

	d->dir = dir;
	d->node = node;
	d->len = (uint8_t)len;
	memcpy(d->name, name, len);
	d->flags = node && rp_node_is_dir(node) ? RP_D_DIR : 0;
	want = rp_slots_want(&s->tree.slots, rp_dentry_class(d));
	if (want)
		rp_slots_add(&s->tree.slots, ms_take(want));
	REQUIRE(rp_tree_publish(&s->tree, d) == NULL);
	return d;
}

void ms_kill(struct ms_scene *s, struct rp_dentry *d)
{
	if (rp_tree_kill(&s->tree, d))
		REQUIRE(rp_tree_take_hint(d->node) == d);
}

void ms_unbind(struct ms_scene *s, struct rp_dentry *d)
{
	ms_kill(s, d);
	ms_give(d, rp_dentry_size(d->len));
}

uint64_t ms_epoch(const struct ms_scene *s)
{
	return atomic_load_explicit(&s->tree.epoch, memory_order_relaxed);
}

/* ---- memos --------------------------------------------------------------- */

struct rp_memo_key ms_key(const struct ms_scene *s, const char *path)
{
	struct rp_memo_key k = {.path = path, .len = strlen(path)};

	k.hash = rp_memo_hash(&s->tree.secret, k.path, k.len, NULL, 0);
	return k;
}

struct rp_way *ms_way(const struct ms_scene *s, struct rp_dentry *const *deps, uint32_t n)
{
	struct rp_way *way = ms_take(rp_way_size(n));

	way->n = n;
	atomic_init(&way->epoch, ms_epoch(s));
	for (uint32_t i = 0; i < n; i++) {
		way->id[i] = deps[i]->id;
		rp_way_slots(way)[i] = deps[i]->slot;
	}
	return way;
}

void ms_way_free(struct rp_way *way)
{
	ms_give(way, rp_way_size(way->n));
}

struct rp_memo *ms_memo(const struct ms_scene *s, const char *path, struct rp_way *way,
                        const struct rp_dentry *last)
{
	size_t len = strlen(path);
	struct rp_memo *m = ms_take(rp_memo_size(len, 0));

	atomic_init(&m->epoch, ms_epoch(s));
	atomic_init(&m->id, last->id);
	m->slot = last->slot;
	m->way = way;
	m->len = (uint16_t)len;
	if (last->node) {
		m->node = last->node;
		m->bits = RP_M_NAMED;
	} else {
		m->dentry = (struct rp_dentry *)(uintptr_t)last;
		m->err = -ENOENT;
		m->bits = RP_M_ERR;
	}
	memcpy(m->path, path, len);
	return m;
}

void ms_memo_free(struct rp_memo *m)
{
	ms_give(m, rp_memo_size(m->len, 0));
}

struct rp_memo_array *ms_array(uint32_t sets, uint32_t lines)
{
	struct rp_memo_array *a = ms_take(sizeof(*a));

	a->line = ms_take(rp_memo_lines_size(sets, lines));
	a->mask = sets * lines - 1;
	a->lines = lines;
	return a;
}

void ms_array_free(struct rp_memo_array *a)
{
	ms_give(a->line, rp_memo_lines_size(rp_memo_sets(a), a->lines));
	ms_give(a, sizeof(*a));
}

struct rp_memo *ms_find(const struct ms_scene *s, const char *path)
{
	struct rp_memo_key k = ms_key(s, path);

	return rp_memo_find(rp_memos_array(&s->memos), &k);
}

unsigned ms_places_of(const struct rp_memo_array *a, const struct rp_memo *m)
{
	unsigned n = 0;

	for (uint32_t i = 0; i <= a->mask; i++)
		for (unsigned j = 0; j < RP_MEMO_LINE; j++)
			n += rp_memo_of(atomic_load_explicit(&a->line[i].memo[j],
			                                     memory_order_relaxed)) == m;
	return n;
}
