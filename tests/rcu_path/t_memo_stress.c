/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Readers of the table of memos while memos come, go and are replaced, the
 * table grows, and what they rely on is killed and bound again (M1, M2, E1,
 * E2), with no backend in between.
 *
 * Checked: a memo that is found is of its key, and memory, as is its node while
 * safe; a valid one relies on nothing that had been killed before the reader
 * began. Freed memory is written over; the sanitizers see more.
 */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <urcu/urcu-memb.h>

#include "memo_scene.h"

#define READERS 2
#define KEYS 600u
#define DIRS 8u
#define RETIRED 512u
#define CHANGES 6000u

struct retired {
	void *p;
	size_t size;
};

struct directory {
	struct rp_node *node;
	struct rp_dentry *dentry;
	struct rp_way *way;
	_Atomic uint64_t killed; /* id of the last binding that is dead */
};

struct file {
	char path[24];
	struct rp_dentry *dentry;
	_Atomic uint64_t killed;
};

struct scene {
	struct ms_scene *s;
	struct directory dir[DIRS];
	struct file file[KEYS];
	struct retired retired[RETIRED];
	unsigned nretired;
	unsigned grown;
	_Atomic bool stop;
	_Atomic uint64_t found, current, checked, wrong, late;
};

/* ---- readers ------------------------------------------------------------- */

static void count_one(_Atomic uint64_t *n)
{
	atomic_fetch_add_explicit(n, 1, memory_order_relaxed);
}

/* What a memo of key must be, dead or not. */
static bool is_sound(const struct rp_memo *m, unsigned key)
{
	return m->slot != RP_SLOT_NONE && m->bits == RP_M_NAMED && m->err == 0 && m->way->n == 1 &&
	       m->way->gen == key % DIRS && rp_way_slots(m->way)[0] != RP_SLOT_NONE;
}

/* As a hit does it. */
static void look(struct scene *sc, unsigned key, struct ts_rng *rng)
{
	uint64_t dir_killed = atomic_load(&sc->dir[key % DIRS].killed);
	uint64_t file_killed = atomic_load(&sc->file[key].killed);
	struct rp_memo_key k = ms_key(sc->s, sc->file[key].path);
	enum rp_memo_state state;
	struct rp_memo *m;
	uint64_t epoch;

	epoch = atomic_load_explicit(&sc->s->tree.epoch, memory_order_acquire);
	m = rp_memo_find(rp_memos_array(&sc->s->memos), &k);
	if (!m)
		return;
	count_one(&sc->found);
	if (!is_sound(m, key))
		count_one(&sc->wrong);
	for (unsigned wait = ts_below(rng, 64); wait > 32; wait--)
		rp_relax();
	if (rp_memo_safe(&sc->s->tree, m, epoch) && m->node->object_id != key)
		count_one(&sc->wrong);
	state = rp_memo_valid(&sc->s->tree, m);
	if (state == RP_MEMO_DEAD)
		return;
	count_one(state == RP_MEMO_CURRENT ? &sc->current : &sc->checked);
	if (atomic_load(&m->id) <= file_killed || m->way->id[0] <= dir_killed)
		count_one(&sc->late);
	if (state == RP_MEMO_CHECKED && ts_below(rng, 2))
		rp_way_stamp(m->way, epoch);
	if (state == RP_MEMO_CHECKED && ts_below(rng, 2))
		rp_memo_stamp(m, epoch);
}

static void reader(void *arg)
{
	static _Atomic uint64_t stream = 1000;
	struct ts_rng rng = ts_rng(atomic_fetch_add(&stream, 1));
	struct scene *sc = arg;

	while (!atomic_load_explicit(&sc->stop, memory_order_relaxed)) {
		ts_read_lock();
		for (unsigned i = 0; i < 4; i++)
			look(sc, ts_below(&rng, KEYS), &rng);
		ts_read_unlock();
	}
}

/* ---- the writer ---------------------------------------------------------- */

static void retired_free(struct scene *sc)
{
	urcu_memb_synchronize_rcu();
	while (sc->nretired) {
		struct retired *r = &sc->retired[--sc->nretired];

		ms_give(r->p, r->size);
	}
}

static void retire(struct scene *sc, void *p, size_t size)
{
	sc->retired[sc->nretired++] = (struct retired){p, size};
	if (sc->nretired == RETIRED)
		retired_free(sc);
}

static void way_put(struct scene *sc, struct rp_way *way)
{
	if (--way->refs == 0)
		retire(sc, way, rp_way_size(way->n));
}

static void memo_retire(struct scene *sc, struct rp_memo *m)
{
	struct rp_way *way = m->way;

	retire(sc, m, rp_memo_size(m->len, 0));
	way_put(sc, way);
}

static void dir_bind(struct scene *sc, unsigned i)
{
	struct directory *d = &sc->dir[i];
	char name[8];

	snprintf(name, sizeof(name), "d%u", i);
	d->dentry = ms_bind(sc->s, sc->s->tree.root, name, d->node);
	d->way = ms_way(sc->s, &d->dentry, 1);
	d->way->gen = i;
	d->way->refs = 1;
}

static void dir_kill(struct scene *sc, unsigned i)
{
	struct rp_dentry *dentry = sc->dir[i].dentry;

	ms_kill(sc->s, dentry);
	atomic_store(&sc->dir[i].killed, dentry->id);
	retire(sc, dentry, rp_dentry_size(dentry->len));
	way_put(sc, sc->dir[i].way);
}

static void file_bind(struct scene *sc, unsigned key)
{
	struct rp_node *n = ms_node(sc->s, S_IFREG);
	char name[8];

	n->object_id = key;
	snprintf(name, sizeof(name), "%u", key);
	sc->file[key].dentry = ms_bind(sc->s, sc->dir[key % DIRS].node, name, n);
}

static void file_kill(struct scene *sc, unsigned key)
{
	struct rp_dentry *dentry = sc->file[key].dentry;

	ms_kill(sc->s, dentry);
	atomic_store(&sc->file[key].killed, dentry->id);
	retire(sc, dentry->node, rp_node_size(S_IFREG));
	retire(sc, dentry, rp_dentry_size(dentry->len));
}

static void learn(struct scene *sc, unsigned key, bool force)
{
	struct file *f = &sc->file[key];
	struct rp_way *way = sc->dir[key % DIRS].way;
	struct rp_memo_key k = ms_key(sc->s, f->path);
	struct rp_memo *m = ms_memo(sc->s, f->path, way, f->dentry), *out;

	if (!rp_memos_put(&sc->s->memos, &sc->s->tree, m, &k, force, &out)) {
		ms_memo_free(m);
		return;
	}
	way->refs++;
	if (out)
		memo_retire(sc, out);
}

static void feed(struct scene *sc)
{
	struct rp_memos *t = &sc->s->memos;
	uint32_t sets = rp_memos_want(t);
	struct rp_memo_array *old;

	if (sets)
		rp_memos_grow(t, ms_array(sets, rp_memos_array(t)->lines));
	old = rp_memos_migrate(t, &sc->s->tree);
	if (!old)
		return;
	sc->grown++;
	retire(sc, old->line, rp_memo_lines_size(rp_memo_sets(old), old->lines));
	retire(sc, old, sizeof(*old));
}

static void change(struct scene *sc, struct ts_rng *rng)
{
	unsigned key = ts_below(rng, KEYS), kind = ts_below(rng, 16);

	if (kind == 0) {
		struct rp_memo *m = rp_memos_evict(&sc->s->memos, &sc->s->tree);

		if (m)
			memo_retire(sc, m);
	} else if (kind == 1) {
		file_kill(sc, key);
		file_bind(sc, key);
	} else if (kind == 2 && ts_below(rng, 32) == 0) {
		dir_kill(sc, key % DIRS);
		dir_bind(sc, key % DIRS);
	} else {
		learn(sc, key, kind == 3);
		feed(sc);
	}
}

/* ---- all of it ----------------------------------------------------------- */

static struct scene *scene_make(uint32_t lines)
{
	struct scene *sc = ms_take(sizeof(*sc));

	sc->s = ms_make(1, lines, lines);
	for (unsigned i = 0; i < DIRS; i++) {
		sc->dir[i].node = ms_node(sc->s, S_IFDIR);
		dir_bind(sc, i);
	}
	for (unsigned key = 0; key < KEYS; key++) {
		snprintf(sc->file[key].path, sizeof(sc->file[key].path), "/d%u/with/%u", key % DIRS,
		         key);
		file_bind(sc, key);
	}
	return sc;
}

static void scene_free(struct scene *sc)
{
	struct rp_memo *m;

	while ((m = rp_memos_evict(&sc->s->memos, &sc->s->tree)) != NULL)
		memo_retire(sc, m);
	for (unsigned key = 0; key < KEYS; key++)
		file_kill(sc, key);
	for (unsigned i = 0; i < DIRS; i++)
		dir_kill(sc, i);
	retired_free(sc);
	for (unsigned i = 0; i < DIRS; i++)
		ms_node_free(sc->dir[i].node);
	ms_free(sc->s);
	ms_give(sc, sizeof(*sc));
}

struct totals {
	uint64_t found, current, checked, grown;
};

static void run(uint32_t lines, struct ts_rng *rng, struct totals *totals)
{
	struct scene *sc = scene_make(lines);
	struct ts_thread threads[READERS];

	for (unsigned i = 0; i < READERS; i++)
		ts_thread_start(&threads[i], reader, sc);
	for (unsigned i = 0; i < CHANGES; i++)
		change(sc, rng);
	atomic_store(&sc->stop, true);
	for (unsigned i = 0; i < READERS; i++)
		ts_thread_join(&threads[i]);
	CHECK_EQ(atomic_load(&sc->wrong), 0);
	CHECK_EQ(atomic_load(&sc->late), 0);
	totals->found += atomic_load(&sc->found);
	totals->current += atomic_load(&sc->current);
	totals->checked += atomic_load(&sc->checked);
	totals->grown += sc->grown;
	scene_free(sc);
}

static void memos_are_sound_amid_all_changes(void)
{
	static const uint32_t lines[] = {1, 2, 4};
	uint64_t end = ts_now_ns() + (uint64_t)(ts_seconds(2.0) * 1e9);
	struct ts_rng rng = ts_rng(77);
	struct totals totals = {0};
	unsigned rounds = 0;

	do
		run(lines[rounds++ % 3], &rng, &totals);
	while (ts_now_ns() < end || rounds < 3);
	CHECK(totals.found > 0);
	CHECK(totals.current > 0);
	CHECK(totals.checked > 0);
	CHECK(totals.grown >= 3 * rounds);
}

static const struct ts_case cases[] = {
	TS_CASE(memos_are_sound_amid_all_changes),
};

int main(int argc, char **argv)
{
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
