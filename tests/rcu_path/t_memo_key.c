/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What looks alike in the table of memos: keys of one set and tag that differ
 * in a part that is in the hash as well.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memo.h"
#include "run.h"

#define SETS 8u
#define LINES 4u
#define PLACES (LINES * RP_MEMO_LINE)
#define HEADS 8u

struct scene {
	struct rp_tree tree;
	struct rp_memos memos;
	struct rp_memo_array *array;
	struct rp_way *heads[HEADS];
	struct rp_way *way, *way_of[2];
	struct rp_node start, other; /* addresses, never followed */
	_Atomic(uint64_t) *slots;
	unsigned nth;
};

static struct rp_memo_array *array_make(uint32_t sets)
{
	struct rp_memo_array *a = calloc(1, sizeof(*a));

	REQUIRE(a);
	a->line = calloc(1, rp_memo_lines_size(sets, LINES));
	REQUIRE(a->line);
	a->mask = sets * LINES - 1;
	a->lines = LINES;
	return a;
}

static void scene_begin(struct scene *s)
{
	memset(s, 0, sizeof(*s));
	for (size_t i = 0; i < sizeof(s->tree.secret.words) / sizeof(s->tree.secret.words[0]); i++)
		s->tree.secret.words[i] = UINT64_C(0x9e3779b97f4a7c15) * (i + 1);
	rp_slots_init(&s->tree.slots);
	s->slots = calloc(1, rp_slots_want(&s->tree.slots, RP_SLOT_LEAF));
	s->way = calloc(1, rp_way_size(0));
	s->way_of[0] = calloc(1, rp_way_size(0));
	s->way_of[1] = calloc(1, rp_way_size(0));
	s->array = array_make(SETS);
	REQUIRE(s->slots && s->way && s->way_of[0] && s->way_of[1]);
	s->way_of[0]->start = &s->start;
	s->way_of[1]->start = &s->other;
	rp_slots_add(&s->tree.slots, s->slots);
	rp_memos_init(&s->memos, s->array, s->heads, HEADS);
}

static void scene_end(struct scene *s)
{
	struct rp_memo *m;

	while ((m = rp_memos_evict(&s->memos, &s->tree)) != NULL)
		free(m);
	CHECK_EQ(s->memos.count, 0);
	free(s->array->line);
	free(s->array);
	free(s->way);
	free(s->way_of[0]);
	free(s->way_of[1]);
	free(s->slots);
}

static struct rp_memo_key key_of(const struct scene *s, const char *path)
{
	struct rp_memo_key k = {.path = path, .len = strlen(path)};

	k.hash = rp_memo_hash(&s->tree.secret, path, k.len, NULL, 0);
	return k;
}

static uint32_t set_of(const struct rp_memo_key *k)
{
	return ((uint32_t)k->hash & (SETS * LINES - 1)) / LINES;
}

static uint32_t line_of(const struct rp_memo_key *k)
{
	return (uint32_t)k->hash & (LINES - 1);
}

/* A path that none has had yet, of the set and line wanted. */
static struct rp_memo_key path_in(struct scene *s, uint32_t set, uint32_t line, char path[32])
{
	struct rp_memo_key k;

	do {
		snprintf(path, 32, "/a-path-of-number-%u", s->nth++);
		k = key_of(s, path);
	} while (set_of(&k) != set || line_of(&k) != line);
	return k;
}

/* Put a memo that lives. Return: it, NULL when there is no place. */
static struct rp_memo *put(struct scene *s, const struct rp_memo_key *k, bool force)
{
	struct rp_memo *m = calloc(1, rp_memo_size(k->len, 0)), *out;
	uint64_t id = RP_ID_FIRST + s->nth++;

	REQUIRE(m);
	m->id = id;
	m->way = k->start ? s->way_of[k->start == &s->other] : s->way;
	m->flags = k->flags;
	m->node = &s->start;
	m->slot = rp_slot_alloc(&s->tree.slots, RP_SLOT_LEAF, id, 16);
	REQUIRE(m->slot != RP_SLOT_NONE);
	m->len = (uint16_t)k->len;
	memcpy(m->path, k->path, k->len);
	if (!rp_memos_put(&s->memos, &s->tree, m, k, force, &out)) {
		free(m);
		return NULL;
	}
	free(out);
	return m;
}

static struct rp_memo *find(struct scene *s, const struct rp_memo_key *k)
{
	return rp_memo_find(rp_memos_array(&s->memos), k);
}

/* A full set has room for what is there already, not for what only looks like it. */
static void a_full_set_has_room_for_its_own_only(void)
{
	char path[PLACES][32], other[32];
	struct rp_memo_key k[PLACES], o;
	struct scene s;
	bool alike;

	scene_begin(&s);
	for (uint32_t i = 0; i < PLACES; i++) {
		k[i] = path_in(&s, 6, i % LINES, path[i]);
		CHECK(rp_memos_room(&s.memos, &k[i]));
		CHECK(put(&s, &k[i], false));
	}
	for (uint32_t i = 0; i < PLACES; i++)
		CHECK(rp_memos_room(&s.memos, &k[i]));
	do {
		o = path_in(&s, 6, 0, other);
		alike = false;
		for (uint32_t i = 0; i < PLACES; i++)
			alike |= rp_memo_tag(o.hash) == rp_memo_tag(k[i].hash);
	} while (!alike);
	CHECK(!rp_memos_room(&s.memos, &o));
	CHECK(!find(&s, &o));
	scene_end(&s);
}

/* Whether a and b are looked for in one set, by one tag. */
static bool look_alike(const struct rp_memo_key *a, const struct rp_memo_key *b)
{
	return set_of(a) == set_of(b) && rp_memo_tag(a->hash) == rp_memo_tag(b->hash);
}

/* Two keys that differ in one part, and that only the part itself tells apart. */
static void twins(struct scene *s, unsigned part, char path[32], struct rp_memo_key *a,
                  struct rp_memo_key *b)
{
	do {
		snprintf(path, 32, "/a-path-of-number-%u", s->nth++);
		*a = key_of(s, path);
		*b = *a;
		if (part == 0) {
			b->flags = RP_W_NOFOLLOW;
		} else if (part == 1) {
			b->len--;
		} else {
			a->flags = b->flags = RP_MEMO_REL;
			a->start = &s->start;
			b->start = &s->other;
			a->hash = rp_memo_hash(&s->tree.secret, path, a->len, a->start, a->flags);
		}
		b->hash = rp_memo_hash(&s->tree.secret, path, b->len, b->start, b->flags);
	} while (!look_alike(a, b));
}

static void a_key_is_all_of_it(void)
{
	for (unsigned part = 0; part < 3; part++) {
		struct rp_memo_key a, b;
		struct rp_memo *m, *n;
		struct scene s;
		char path[32];

		scene_begin(&s);
		twins(&s, part, path, &a, &b);
		m = put(&s, &a, false);
		CHECK(find(&s, &a) == m);
		CHECK(!find(&s, &b));
		n = put(&s, &b, false);
		CHECK(find(&s, &a) == m);
		CHECK(find(&s, &b) == n);
		/* Put again it takes its own place. */
		m = put(&s, &a, false);
		CHECK_EQ(s.memos.count, 2);
		CHECK(find(&s, &a) == m);
		CHECK(find(&s, &b) == n);
		scene_end(&s);
	}
}

static const struct ts_case cases[] = {
	TS_CASE(a_key_is_all_of_it),
	TS_CASE(a_full_set_has_room_for_its_own_only),
};

int main(int argc, char **argv)
{
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
