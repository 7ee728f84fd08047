/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The table of memos by itself: which memo gets which place, what has gone is
 * found by nobody, and the two arrays while it grows.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memo_scene.h"

#define KEYS 700u
#define STEM "/some/where/"

struct fixture {
	struct ms_scene *s;
	struct rp_dentry *live, *dying; /* a memo relies on the one or the other */
	struct rp_memo *of[KEYS];       /* those in the table */
};

static const uint32_t all_lines[] = {1, 2, 4};

static void fixture_open(struct fixture *f, uint32_t sets, uint32_t lines)
{
	memset(f, 0, sizeof(*f));
	f->s = ms_make(sets, lines, sets * 8 + lines);
	f->live = ms_bind(f->s, f->s->tree.root, "live", NULL);
	f->dying = ms_bind(f->s, f->s->tree.root, "dying", NULL);
}

static void let_die(struct fixture *f)
{
	ms_unbind(f->s, f->dying);
	f->dying = NULL;
}

static struct rp_memo_array *array(const struct fixture *f)
{
	return rp_memos_array(&f->s->memos);
}

static uint64_t count(const struct fixture *f)
{
	return atomic_load_explicit(&f->s->memos.count, memory_order_relaxed);
}

static unsigned key_of(const struct rp_memo *m)
{
	return (unsigned)strtoul(m->path + strlen(STEM), NULL, 10);
}

static void path_of(unsigned key, char path[32])
{
	/* The end is for strtoul(): a memo's path has no NUL. */
	snprintf(path, 32, STEM "%05u/", key);
}

static struct rp_memo_key key_for(const struct fixture *f, unsigned key, char path[32])
{
	path_of(key, path);
	return ms_key(f->s, path);
}

static uint64_t hash_of(const struct fixture *f, unsigned key)
{
	char path[32];

	return key_for(f, key, path).hash;
}

static struct rp_memo *find(const struct fixture *f, unsigned key)
{
	char path[32];

	path_of(key, path);
	return ms_find(f->s, path);
}

/* m was given back by the table: nobody may find it any more. */
static void gone(struct fixture *f, struct rp_memo *m)
{
	unsigned key = key_of(m);

	REQUIRE(key < KEYS);
	CHECK(f->of[key] == m);
	CHECK_EQ(ms_places_of(array(f), m), 0);
	if (f->s->memos.next)
		CHECK_EQ(ms_places_of(f->s->memos.next, m), 0);
	f->of[key] = NULL;
	ms_memo_free(m);
}

/* Return: what rp_memos_put() did. *lost: the key of the memo that lost its place, or KEYS. */
static bool put_on(struct fixture *f, unsigned key, const struct rp_dentry *on, bool force,
                   unsigned *lost)
{
	uint64_t before = count(f);
	struct rp_memo *m, *out;
	struct rp_memo_key k;
	char path[32];

	k = key_for(f, key, path);
	m = ms_memo(f->s, path, f->s->way, on);
	*lost = KEYS;
	if (!rp_memos_put(&f->s->memos, &f->s->tree, m, &k, force, &out)) {
		CHECK(!out && !force);
		CHECK_EQ(ms_places_of(array(f), m), 0);
		ms_memo_free(m);
		return false;
	}
	CHECK_EQ(count(f), before + !out);
	if (out) {
		*lost = key_of(out);
		gone(f, out);
	}
	CHECK(!f->of[key]);
	f->of[key] = m;
	CHECK_EQ(ms_places_of(array(f), m), 1);
	CHECK(find(f, key) == m);
	return true;
}

static bool put(struct fixture *f, unsigned key)
{
	unsigned lost;

	return put_on(f, key, f->live, false, &lost);
}

static bool evict(struct fixture *f)
{
	uint64_t before = count(f);
	struct rp_memo *m = rp_memos_evict(&f->s->memos, &f->s->tree);

	if (!m) {
		CHECK_EQ(before, 0);
		return false;
	}
	CHECK_EQ(count(f), before - 1);
	gone(f, m);
	return true;
}

static void fixture_close(struct fixture *f)
{
	while (evict(f))
		;
	for (unsigned i = 0; i < KEYS; i++)
		CHECK(!f->of[i]);
	if (f->dying)
		ms_unbind(f->s, f->dying);
	ms_unbind(f->s, f->live);
	ms_free(f->s);
}

/* ---- places -------------------------------------------------------------- */

static void what_was_put_is_found(void)
{
	struct fixture f;

	fixture_open(&f, 8, 2);
	for (unsigned i = 0; i < 20; i++)
		REQUIRE(put(&f, i));
	for (unsigned i = 0; i < 40; i++)
		CHECK(find(&f, i) == f.of[i]);
	fixture_close(&f);
}

/* Each part of a key counts, even where hash and tag are the same. */
static void another_key_of_the_same_hash_is_not_found(void)
{
	struct fixture f;
	struct rp_memo_key k;
	struct rp_memo *m, *out;
	struct rp_way way = {.n = 0};
	char path[32], other[32];

	fixture_open(&f, 1, 1);
	k = key_for(&f, 7, path);
	way.start = f.s->tree.root;
	k.start = way.start;
	k.flags = RP_MEMO_REL | RP_W_NOFOLLOW;
	k.hash = rp_memo_hash(&f.s->tree.secret, path, k.len, k.start, k.flags);
	m = ms_memo(f.s, path, &way, f.live);
	m->flags = k.flags;
	REQUIRE(rp_memos_put(&f.s->memos, &f.s->tree, m, &k, false, &out) && !out);
	CHECK(rp_memo_find(array(&f), &k) == m);
	k.start = NULL;
	CHECK(!rp_memo_find(array(&f), &k));
	k.start = way.start;
	k.flags = RP_MEMO_REL;
	CHECK(!rp_memo_find(array(&f), &k));
	k.flags = m->flags;
	k.len--;
	CHECK(!rp_memo_find(array(&f), &k));
	k.len++;
	for (size_t i = 0; i < k.len; i++) {
		memcpy(other, path, sizeof(other));
		other[i] ^= 1;
		k.path = other;
		CHECK(!rp_memo_find(array(&f), &k));
	}
	k.path = path;
	CHECK(rp_memo_find(array(&f), &k) == m);
	f.of[7] = m;
	fixture_close(&f);
}

static unsigned fill_set(struct fixture *f, uint32_t lines)
{
	unsigned n = lines * RP_MEMO_LINE;

	fixture_open(f, 1, lines);
	for (unsigned i = 0; i < n; i++) {
		CHECK(find(f, i) == NULL);
		REQUIRE(put(f, i));
	}
	return n;
}

static void all_places_of_a_set_are_used(void)
{
	for (size_t l = 0; l < 3; l++) {
		struct fixture f;
		unsigned n = fill_set(&f, all_lines[l]);

		CHECK_EQ(count(&f), n);
		for (unsigned i = 0; i < n; i++)
			CHECK(f.of[i] && find(&f, i) == f.of[i]);
		fixture_close(&f);
	}
}

static void a_key_has_one_memo(void)
{
	for (size_t l = 0; l < 3; l++) {
		struct fixture f;
		unsigned lost, n;

		n = fill_set(&f, all_lines[l]);
		for (unsigned i = 0; i < n; i++) {
			CHECK(put_on(&f, i, f.live, i % 2, &lost));
			CHECK_EQ(lost, i);
		}
		CHECK_EQ(count(&f), n);
		fixture_close(&f);
	}
}

static bool room(const struct fixture *f, unsigned key)
{
	char path[32];
	struct rp_memo_key k = key_for(f, key, path);

	return rp_memos_room(&f->s->memos, &k);
}

static void a_full_set_takes_only_by_force(void)
{
	for (size_t l = 0; l < 3; l++) {
		struct fixture f;
		unsigned lost, n = all_lines[l] * RP_MEMO_LINE;

		fixture_open(&f, 1, all_lines[l]);
		for (unsigned i = 0; i < n; i++) {
			CHECK(room(&f, i));
			REQUIRE(put(&f, i));
		}
		for (unsigned i = 0; i < KEYS; i++)
			CHECK_EQ(room(&f, i), f.of[i] != NULL);
		CHECK(!put_on(&f, n, f.live, false, &lost));
		for (unsigned i = 0; i < n; i++)
			CHECK(f.of[i] && find(&f, i) == f.of[i]);
		for (unsigned i = n; i < 5 * n; i++) {
			CHECK(put_on(&f, i, f.live, true, &lost));
			CHECK(lost < i);
			CHECK_EQ(count(&f), n);
		}
		fixture_close(&f);
	}
}

static void dead_ones_go_first(void)
{
	for (size_t l = 0; l < 3; l++) {
		unsigned lost, dead, n = all_lines[l] * RP_MEMO_LINE;

		for (dead = 0; dead < n; dead++) {
			struct fixture f;

			fixture_open(&f, 1, all_lines[l]);
			for (unsigned i = 0; i < n; i++)
				REQUIRE(put_on(&f, i, i == dead ? f.dying : f.live, false, &lost));
			let_die(&f);
			/* A living one's own key before the dead. */
			CHECK(put_on(&f, (dead + 1) % n, f.live, true, &lost));
			CHECK_EQ(lost, (dead + 1) % n);
			CHECK(put_on(&f, n, f.live, dead % 2, &lost));
			CHECK_EQ(lost, dead);
			CHECK(!put(&f, n + 1));
			fixture_close(&f);
		}
	}
}

/*
 * A line with a free place hides the set's other lines, so one may not be found
 * for a while; but not after it was put again, or it would be learned for ever.
 */
static unsigned evict_and_put_again(uint32_t lines, unsigned first)
{
	struct fixture f;
	unsigned hidden = 0, n = lines * RP_MEMO_LINE;

	fixture_open(&f, 1, lines);
	for (unsigned i = first; i < first + n; i++)
		REQUIRE(put(&f, i));
	while (evict(&f)) {
		for (unsigned i = first; i < first + n; i++) {
			if (!f.of[i] || find(&f, i))
				continue;
			hidden++;
			CHECK(room(&f, i));
			CHECK(put(&f, i));
		}
	}
	fixture_close(&f);
	return hidden;
}

static void a_memo_put_again_is_found_again(void)
{
	for (size_t l = 0; l < 3; l++) {
		unsigned hidden = 0;

		for (unsigned i = 0; i < 40; i++)
			hidden += evict_and_put_again(all_lines[l], 16 * i);
		CHECK_EQ(hidden > 0, all_lines[l] > 1);
	}
}

static void evicting_comes_by_all(void)
{
	for (size_t l = 0; l < 3; l++) {
		struct fixture f;
		unsigned n = 0;

		fixture_open(&f, 16, all_lines[l]);
		for (unsigned i = 0; i < 100; i++)
			put(&f, i);
		CHECK(count(&f) > 16);
		while (evict(&f))
			n++;
		CHECK(n > 16);
		for (unsigned i = 0; i < KEYS; i++)
			CHECK(!f.of[i] && !find(&f, i));
		CHECK(!rp_memos_evict(&f.s->memos, &f.s->tree));
		/* In turns: no set is emptied while others are full. */
		for (unsigned i = 0; i < KEYS; i++)
			put(&f, i);
		REQUIRE(count(&f) == 64 * all_lines[l]);
		for (unsigned i = 0; i < 16; i++)
			evict(&f);
		for (uint32_t set = 0; set < 16; set++) {
			unsigned left = 0;

			for (unsigned i = 0; i < KEYS; i++)
				left += f.of[i] &&
				        (hash_of(&f, i) & array(&f)->mask) / all_lines[l] == set;
			CHECK_EQ(left, all_lines[l] * RP_MEMO_LINE - 1);
		}
		fixture_close(&f);
	}
}

/* ---- growth -------------------------------------------------------------- */

static uint32_t set_of(const struct rp_memo_array *a, uint64_t hash)
{
	return ((uint32_t)hash & a->mask) / a->lines;
}

static unsigned set_holds(struct rp_memo_array *a, uint64_t hash, const struct rp_memo *m)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < a->lines; i++) {
		const struct rp_memo_line *l = rp_memo_line(a, hash, i);

		for (unsigned j = 0; j < RP_MEMO_LINE; j++) {
			uint64_t word = atomic_load_explicit(&l->memo[j], memory_order_relaxed);
			uint64_t node = atomic_load_explicit(&l->node[j], memory_order_relaxed);

			if (!word || rp_memo_of(word) != m)
				continue;
			n++;
			CHECK_EQ((uint16_t)word, rp_memo_tag(hash));
			CHECK(node == (uintptr_t)m->node);
		}
	}
	return n;
}

/* Every memo once in the array, and once in the next where its set was taken over; no others. */
static void check_arrays(const struct fixture *f)
{
	const struct rp_memos *t = &f->s->memos;
	unsigned both = 0, all = 0;

	for (unsigned i = 0; i < KEYS; i++) {
		uint64_t hash = hash_of(f, i);
		bool over = t->next && set_of(array(f), hash) < t->cursor;

		if (!f->of[i])
			continue;
		all++;
		both += over;
		CHECK_EQ(set_holds(array(f), hash, f->of[i]), 1);
		if (t->next)
			CHECK_EQ(set_holds(t->next, hash, f->of[i]), over);
	}
	CHECK_EQ(count(f), all);
	CHECK_EQ(ms_places_of(array(f), NULL), (array(f)->mask + 1) * RP_MEMO_LINE - all);
	if (t->next)
		CHECK_EQ(ms_places_of(t->next, NULL), (t->next->mask + 1) * RP_MEMO_LINE - both);
}

/* One step of what an owner does after it has put one. Return: whether an array was replaced. */
static bool feed(struct fixture *f)
{
	struct rp_memos *t = &f->s->memos;
	struct rp_memo_array *cur = array(f), *next, *old;
	uint32_t sets = rp_memos_want(t);

	if (sets) {
		CHECK_EQ(sets, rp_memo_sets(cur) * 2);
		CHECK(!t->next);
		rp_memos_grow(t, ms_array(sets, cur->lines));
		CHECK_EQ(rp_memos_want(t), 0);
	}
	next = t->next;
	old = rp_memos_migrate(t, &f->s->tree);
	if (!old) {
		CHECK(array(f) == cur && t->next == next);
		return false;
	}
	CHECK(old == cur && array(f) == next && !t->next);
	ms_array_free(old);
	return true;
}

static void nothing_is_lost_while_it_grows(void)
{
	for (size_t l = 0; l < 3; l++) {
		struct fixture f;
		unsigned grown = 0, refused = 0;

		fixture_open(&f, 2, all_lines[l]);
		for (unsigned i = 0; i < KEYS; i++) {
			if (!put(&f, i))
				refused++;
			grown += feed(&f);
			check_arrays(&f);
			for (unsigned j = 0; j <= i; j++)
				CHECK(find(&f, j) == f.of[j]);
		}
		CHECK(grown >= 4);
		CHECK(refused < KEYS / 4);
		/* With nothing more to come it still ends. */
		for (unsigned i = 0; i < 200; i++)
			feed(&f);
		CHECK(!f.s->memos.next);
		CHECK_EQ(rp_memos_want(&f.s->memos), 0);
		check_arrays(&f);
		fixture_close(&f);
	}
}

/* One change of any kind. */
static void change(struct fixture *f, struct ts_rng *rng)
{
	unsigned key = ts_below(rng, KEYS), lost;

	switch (ts_below(rng, 8)) {
	case 0:
		evict(f);
		break;
	case 1:
		put_on(f, key, f->live, true, &lost);
		break;
	case 2:
		put_on(f, key, f->dying, false, &lost);
		break;
	case 3:
		if (ts_below(rng, 20))
			break;
		let_die(f);
		f->dying = ms_bind(f->s, f->s->tree.root, "dying", NULL);
		break;
	default:
		put(f, key);
	}
}

static void it_grows_amid_all_other_changes(void)
{
	struct ts_rng rng = ts_rng(3);

	for (size_t l = 0; l < 3; l++) {
		struct fixture f;
		unsigned grown = 0;

		fixture_open(&f, 1, all_lines[l]);
		for (unsigned i = 0; i < ts_scale(4000); i++) {
			unsigned key = ts_below(&rng, KEYS);
			struct rp_memo *m;

			change(&f, &rng);
			if (ts_below(&rng, 2))
				grown += feed(&f);
			check_arrays(&f);
			m = find(&f, key);
			CHECK(m == f.of[key] || (!m && all_lines[l] > 1));
			if (!m && f.of[key])
				CHECK(put(&f, key));
		}
		CHECK(grown >= 3);
		fixture_close(&f);
	}
}

/* Closed in the middle of it, as a cache may be. */
static void evicting_empties_both_arrays(void)
{
	struct fixture f;

	fixture_open(&f, 16, 2);
	for (unsigned i = 0; !rp_memos_want(&f.s->memos); i++) {
		REQUIRE(i < KEYS);
		put(&f, i);
	}
	CHECK(!feed(&f));
	CHECK(!feed(&f));
	REQUIRE(f.s->memos.next && f.s->memos.cursor > 0);
	while (evict(&f))
		check_arrays(&f);
	CHECK_EQ(ms_places_of(f.s->memos.next, NULL), (f.s->memos.next->mask + 1) * RP_MEMO_LINE);
	fixture_close(&f);
}

static const struct ts_case cases[] = {
	TS_CASE(what_was_put_is_found),
	TS_CASE(another_key_of_the_same_hash_is_not_found),
	TS_CASE(all_places_of_a_set_are_used),
	TS_CASE(a_key_has_one_memo),
	TS_CASE(a_full_set_takes_only_by_force),
	TS_CASE(dead_ones_go_first),
	TS_CASE(a_memo_put_again_is_found_again),
	TS_CASE(evicting_comes_by_all),
	TS_CASE(nothing_is_lost_while_it_grows),
	TS_CASE(it_grows_amid_all_other_changes),
	TS_CASE(evicting_empties_both_arrays),
};

int main(int argc, char **argv)
{
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
