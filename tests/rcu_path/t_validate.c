/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Validation and attributes with no backend in between, so that kill and
 * publish follow each other within nanoseconds: what a valid vector shows was
 * true at one instant (E1, E2), and a snapshot is not torn (A1, A2).
 */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <urcu/urcu-memb.h>

#include "run.h"
#include "walk.h"

#define READERS 2
#define RETIRED 2048u

/* Two names that change places; they never lead to the same node. */
struct scene {
	struct rp_tree tree;
	struct rp_node *root;
	struct rp_dentry *p, *q;
	struct rp_dentry *retired[RETIRED];
	unsigned nretired;
	_Atomic bool stop;
	_Atomic uint64_t valid, mixed, snapshots, torn;
};

static struct rp_node *node_make(struct scene *s)
{
	size_t size = (rp_node_size(S_IFDIR) + 63) & ~(size_t)63;
	struct rp_node *n = aligned_alloc(64, size);

	REQUIRE(n);
	memset(n, 0, size);
	n->type = S_IFDIR;
	n->id = rp_tree_stamp(&s->tree);
	return n;
}

static struct rp_dentry *bind(struct scene *s, char name, struct rp_node *node)
{
	struct rp_dentry *d = calloc(1, sizeof(*d) + 1);
	size_t want = rp_slots_want(&s->tree.slots, RP_SLOT_DIR);

	REQUIRE(d);
	if (want)
		rp_slots_add(&s->tree.slots, calloc(1, want));
	d->dir = s->root;
	d->node = node;
	d->len = 1;
	d->name[0] = name;
	d->flags = RP_D_DIR;
	rp_tree_publish(&s->tree, d);
	return d;
}

static void retired_free(struct scene *s)
{
	urcu_memb_synchronize_rcu();
	while (s->nretired)
		free(s->retired[--s->nretired]);
}

static void unbind(struct scene *s, struct rp_dentry *d)
{
	CHECK(rp_tree_kill(&s->tree, d));
	CHECK(rp_tree_take_hint(d->node) == d);
	s->retired[s->nretired++] = d;
}

static void exchange(struct scene *s)
{
	struct rp_node *was_p = s->p->node, *was_q = s->q->node;

	unbind(s, s->p);
	unbind(s, s->q);
	s->p = bind(s, 'p', was_q);
	s->q = bind(s, 'q', was_p);
	if (s->nretired == RETIRED)
		retired_free(s);
}

static void pause_for(unsigned n)
{
	while (n--)
		rp_relax();
}

/* Both names by hand, with a pause of random length in between. */
static void look(struct scene *s, struct rp_walk *w, struct ts_rng *rng)
{
	const struct rp_dentry *p, *q;

	rp_walk_begin(w, s->root, "q", 1);
	q = rp_tree_find(&s->tree, s->root, "q", 1);
	if (ts_below(rng, 2))
		pause_for(ts_below(rng, 32));
	p = rp_tree_find(&s->tree, s->root, "p", 1);
	if (!p || !q)
		return;
	w->steps[0] = (struct rp_step){q->id, NULL, q->slot};
	w->steps[1] = (struct rp_step){p->id, NULL, p->slot};
	w->nsteps = 2;
	if (!rp_walk_valid(w))
		return;
	atomic_fetch_add_explicit(&s->valid, 1, memory_order_relaxed);
	if (p->node == q->node)
		atomic_fetch_add_explicit(&s->mixed, 1, memory_order_relaxed);
}

static void names_reader(void *arg)
{
	static _Atomic uint64_t stream = 1;
	struct ts_rng rng = ts_rng(atomic_fetch_add(&stream, 1));
	struct rp_step steps[2];
	struct scene *s = arg;
	struct rp_walk w = {.tree = &s->tree, .root = s->root, .steps = steps, .max_steps = 2};

	while (!atomic_load_explicit(&s->stop, memory_order_relaxed)) {
		ts_read_lock();
		look(s, &w, &rng);
		ts_read_unlock();
	}
}

/* Every word of a snapshot is of the same write. */
static void attr_reader(void *arg)
{
	struct scene *s = arg;
	struct rp_attr a;
	uint32_t flags;

	while (!atomic_load_explicit(&s->stop, memory_order_relaxed)) {
		if (!rp_node_attr_read(s->root, 0, &a, &flags))
			continue;
		atomic_fetch_add_explicit(&s->snapshots, 1, memory_order_relaxed);
		if (a.uid != a.nlink || a.uid != a.size || a.uid != a.btime_sec)
			atomic_fetch_add_explicit(&s->torn, 1, memory_order_relaxed);
	}
}

static void attr_change(struct scene *s)
{
	static uint32_t n;
	struct rp_attr a = {.mode = S_IFDIR, .uid = ++n, .nlink = n, .size = n, .btime_sec = n};

	rp_node_attr_write(s->root, &a, 0, rp_tree_stamp(&s->tree));
	pause_for(8);
}

static struct scene *run(void (*reader)(void *arg), void (*change)(struct scene *s))
{
	struct scene *s = aligned_alloc(64, (sizeof(*s) + 63) & ~(size_t)63);
	struct rp_buckets *array = calloc(1, rp_buckets_size(64));
	struct ts_thread threads[READERS];
	uint64_t end = ts_now_ns() + (uint64_t)(ts_seconds(2.0) * 1e9);

	REQUIRE(s && array);
	memset(s, 0, sizeof(*s));
	rp_tree_init(&s->tree, array, 64, NULL);
	s->root = s->tree.root = node_make(s);
	s->p = bind(s, 'p', node_make(s));
	s->q = bind(s, 'q', node_make(s));
	for (int i = 0; i < READERS; i++)
		ts_thread_start(&threads[i], reader, s);
	for (unsigned i = 0; i % 64 || ts_now_ns() < end; i++)
		change(s);
	atomic_store(&s->stop, true);
	for (int i = 0; i < READERS; i++)
		ts_thread_join(&threads[i]);
	return s;
}

static void scene_free(struct scene *s)
{
	size_t size;

	retired_free(s);
	free(s->p->node);
	free(s->q->node);
	free(s->p);
	free(s->q);
	free(s->root);
	for (unsigned k = 0; k < s->tree.slots.nchunks; k++)
		free(rp_slots_chunk(&s->tree.slots, k, &size));
	free(rp_table_buckets(&s->tree.dentries));
	free(s);
}

static void a_valid_vector_was_true_at_one_instant(void)
{
	struct scene *s = run(names_reader, exchange);

	CHECK(atomic_load(&s->valid) > 0);
	CHECK_EQ(atomic_load(&s->mixed), 0);
	scene_free(s);
}

static void a_snapshot_is_of_one_write(void)
{
	struct scene *s = run(attr_reader, attr_change);

	CHECK(atomic_load(&s->snapshots) > 0);
	CHECK_EQ(atomic_load(&s->torn), 0);
	scene_free(s);
}

static const struct ts_case cases[] = {
	TS_CASE(a_valid_vector_was_true_at_one_instant),
	TS_CASE(a_snapshot_is_of_one_write),
};

int main(int argc, char **argv)
{
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
