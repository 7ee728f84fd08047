/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a memo relies on: its way, shared and found by all it holds; its life,
 * by epoch and by slots, after each kind of kill.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "memo_scene.h"

/* ---- ways ---------------------------------------------------------------- */

#define WAYS 300u

static struct rp_way *way_numbered(unsigned i)
{
	uint32_t n = 1 + i % 4;
	struct rp_way *way = ms_take(rp_way_size(n));

	way->n = n;
	for (uint32_t j = 0; j < n; j++) {
		way->id[j] = RP_ID_FIRST + i / 8 + j;
		rp_way_slots(way)[j] = 8 + i % 8 + j;
	}
	return way;
}

static void ways_are_found_by_all_they_hold(void)
{
	struct rp_way *want, *way;
	struct ms_scene *s = ms_make(1, 1, 1);

	way = way_numbered(22);
	want = way_numbered(22);
	REQUIRE(way->n == 3);
	CHECK(!rp_way_find(&s->memos, want));
	rp_way_insert(&s->memos, way);
	/* What one learned at another epoch is the same way. */
	atomic_store(&want->epoch, 99);
	CHECK(rp_way_find(&s->memos, want) == way);
	want->start = s->tree.root;
	CHECK(!rp_way_find(&s->memos, want));
	want->start = NULL;
	want->gen++;
	CHECK(!rp_way_find(&s->memos, want));
	want->gen--;
	want->subtree++;
	CHECK(!rp_way_find(&s->memos, want));
	want->subtree--;
	for (uint32_t i = 0; i < 3; i++) {
		want->id[i]++;
		CHECK(!rp_way_find(&s->memos, want));
		want->id[i]--;
		rp_way_slots(want)[i]++;
		CHECK(!rp_way_find(&s->memos, want));
		rp_way_slots(want)[i]--;
	}
	CHECK(rp_way_find(&s->memos, want) == way);
	rp_way_remove(&s->memos, way);
	CHECK(!rp_way_find(&s->memos, want));
	ms_way_free(way);
	ms_way_free(want);
	ms_free(s);
}

/* A beginning of another way is another way. */
static void a_shorter_way_is_another(void)
{
	struct rp_dentry d = {.id = RP_ID_FIRST + 1, .slot = 9};
	struct rp_dentry *deps[] = {&d, &d, &d};
	struct rp_way *way[4];
	struct ms_scene *s = ms_make(1, 1, 1);

	for (uint32_t n = 0; n < 4; n++) {
		way[n] = ms_way(s, deps, n);
		CHECK(!rp_way_find(&s->memos, way[n]));
		rp_way_insert(&s->memos, way[n]);
	}
	for (uint32_t n = 0; n < 4; n++) {
		CHECK(rp_way_find(&s->memos, way[n]) == way[n]);
		rp_way_remove(&s->memos, way[n]);
		ms_way_free(way[n]);
	}
	ms_free(s);
}

static void ways_survive_more_heads(void)
{
	struct rp_way *ways[WAYS] = {0};
	struct ts_rng rng = ts_rng(5);
	unsigned n = 0, heads = 4;
	struct ms_scene *s = ms_make(1, 1, 1);

	for (unsigned i = 0; i < ts_scale(4000); i++) {
		unsigned at = ts_below(&rng, WAYS);
		struct rp_way *want = way_numbered(at);

		CHECK(rp_way_find(&s->memos, want) == ways[at]);
		if (ways[at] && ts_below(&rng, 3) == 0) {
			rp_way_remove(&s->memos, ways[at]);
			CHECK(!rp_way_find(&s->memos, want));
			ms_way_free(ways[at]);
			ways[at] = NULL;
			n--;
		} else if (!ways[at]) {
			ways[at] = want;
			want = NULL;
			rp_way_insert(&s->memos, ways[at]);
			n++;
		}
		CHECK_EQ(s->memos.nways, n);
		if (want)
			ms_way_free(want);
		if (n > heads) {
			size_t size = heads * sizeof(struct rp_way *);
			struct rp_way **more = ms_take(size * 2), **old = s->memos.ways;

			heads *= 2;
			CHECK(rp_ways_grow(&s->memos, more, heads) == old);
			ms_give(old, size);
		}
	}
	CHECK(heads >= 64);
	for (unsigned i = 0; i < WAYS; i++) {
		if (!ways[i])
			continue;
		CHECK(rp_way_find(&s->memos, ways[i]) == ways[i]);
		rp_way_remove(&s->memos, ways[i]);
		ms_way_free(ways[i]);
	}
	ms_free(s);
}

/* ---- validity ------------------------------------------------------------- */

#define DEPTH 6u /* bindings of a walk, the last one of a file */

/* One walk, DEPTH names deep, and one name that it does not rely on. */
struct chain {
	struct ms_scene *s;
	struct rp_node *node[DEPTH];
	struct rp_dentry *dep[DEPTH];
	struct rp_dentry *elsewhere;
	struct rp_way *way;
	struct rp_memo *m;
};

static const char *const chain_path = "/0/1/2/3/4/5";

static void bind_at(struct chain *c, unsigned i)
{
	char name[2] = {(char)('0' + i), '\0'};

	c->dep[i] = ms_bind(c->s, i ? c->node[i - 1] : c->s->tree.root, name, c->node[i]);
}

static void learn(struct chain *c)
{
	c->way = ms_way(c->s, c->dep, DEPTH - 1);
	c->m = ms_memo(c->s, chain_path, c->way, c->dep[DEPTH - 1]);
}

static void forget(struct chain *c)
{
	ms_memo_free(c->m);
	ms_way_free(c->way);
}

static void chain_open(struct chain *c)
{
	memset(c, 0, sizeof(*c));
	c->s = ms_make(1, 1, 2);
	for (unsigned i = 0; i < DEPTH; i++) {
		c->node[i] = ms_node(c->s, i < DEPTH - 1 ? S_IFDIR : S_IFREG);
		bind_at(c, i);
	}
	c->elsewhere = ms_bind(c->s, c->s->tree.root, "elsewhere", NULL);
	learn(c);
}

static void chain_close(struct chain *c)
{
	forget(c);
	ms_unbind(c->s, c->elsewhere);
	for (unsigned i = DEPTH; i-- > 0;) {
		ms_unbind(c->s, c->dep[i]);
		ms_node_free(c->node[i]);
	}
	ms_free(c->s);
}

/* A kill that is none of the memo's business. */
static void kill_elsewhere(struct chain *c)
{
	ms_unbind(c->s, c->elsewhere);
	c->elsewhere = ms_bind(c->s, c->s->tree.root, "elsewhere", NULL);
}

static enum rp_memo_state state(const struct chain *c)
{
	return rp_memo_valid(&c->s->tree, c->m);
}

static bool safe(const struct chain *c)
{
	return rp_memo_safe(&c->s->tree, c->m, ms_epoch(c->s));
}

static void a_memo_lives_by_its_epoch_or_its_slots(void)
{
	struct chain c;

	chain_open(&c);
	CHECK_EQ(state(&c), RP_MEMO_CURRENT);
	CHECK(safe(&c));
	for (unsigned i = 0; i < 5; i++) {
		uint64_t before = ms_epoch(c.s);

		kill_elsewhere(&c);
		CHECK(ms_epoch(c.s) != before);
		CHECK_EQ(state(&c), RP_MEMO_CHECKED);
		CHECK(rp_memo_lives(&c.s->tree, c.m, ms_epoch(c.s)));
		CHECK(safe(&c));
		rp_way_stamp(c.way, ms_epoch(c.s));
		CHECK_EQ(state(&c), RP_MEMO_CHECKED);
		/* A late stamp, of before the kill, only costs a check. */
		rp_memo_stamp(c.m, before);
		rp_way_stamp(c.way, before);
		CHECK_EQ(state(&c), RP_MEMO_CHECKED);
		rp_memo_stamp(c.m, ms_epoch(c.s));
		CHECK_EQ(state(&c), RP_MEMO_CURRENT);
	}
	/* Changes of another kind, which no slot stands for. */
	rp_tree_loose_changed(&c.s->tree, rp_tree_stamp(&c.s->tree));
	CHECK_EQ(state(&c), RP_MEMO_CHECKED);
	chain_close(&c);
}

enum stamped { NOTHING, WAY, MEMO, BOTH };

static void stamp(struct chain *c, enum stamped what)
{
	/* Learned long ago, then seen alive again. */
	kill_elsewhere(c);
	if (what == WAY || what == BOTH)
		rp_way_stamp(c->way, ms_epoch(c->s));
	if (what == MEMO || what == BOTH)
		rp_memo_stamp(c->m, ms_epoch(c->s));
}

/* The binding numbered at goes, and its slot to its name again. */
static void kill_at(unsigned at, enum stamped what)
{
	bool last = at == DEPTH - 1;
	uint64_t before, id;
	struct chain c;
	uint32_t slot;

	chain_open(&c);
	stamp(&c, what);
	before = ms_epoch(c.s);
	slot = c.dep[at]->slot;
	id = c.dep[at]->id;
	ms_unbind(c.s, c.dep[at]);
	CHECK_EQ(state(&c), RP_MEMO_DEAD);
	CHECK(!rp_memo_lives(&c.s->tree, c.m, ms_epoch(c.s)));
	CHECK_EQ(safe(&c), !last);
	/* To who began before the kill a stamp still vouches for the memory. */
	CHECK_EQ(rp_memo_safe(&c.s->tree, c.m, before), !last || what == MEMO || what == BOTH);
	bind_at(&c, at);
	CHECK_EQ(c.dep[at]->slot, slot);
	CHECK(c.dep[at]->id != id);
	CHECK_EQ(state(&c), RP_MEMO_DEAD);
	CHECK_EQ(safe(&c), !last);
	/* Nor do later changes bring it back. */
	kill_elsewhere(&c);
	CHECK_EQ(state(&c), RP_MEMO_DEAD);
	/* Whereas the walk, learned again, holds. */
	forget(&c);
	learn(&c);
	CHECK_EQ(state(&c), RP_MEMO_CURRENT);
	kill_elsewhere(&c);
	CHECK_EQ(state(&c), RP_MEMO_CHECKED);
	chain_close(&c);
}

static void each_binding_kills(void)
{
	for (unsigned at = 0; at < DEPTH; at++)
		for (enum stamped what = NOTHING; what <= BOTH; what++)
			kill_at(at, what);
}

/* Slots change hands among the bindings of one walk; each still stands for one id only. */
static void slots_that_changed_places_kill(void)
{
	uint32_t slot[2];
	struct chain c;

	chain_open(&c);
	for (unsigned i = 0; i < 2; i++) {
		slot[i] = c.dep[1 + i]->slot;
		ms_unbind(c.s, c.dep[1 + i]);
	}
	bind_at(&c, 1);
	bind_at(&c, 2);
	CHECK_EQ(c.dep[1]->slot, slot[1]);
	CHECK_EQ(c.dep[2]->slot, slot[0]);
	CHECK_EQ(state(&c), RP_MEMO_DEAD);
	chain_close(&c);
}

static void a_forgotten_subtree_kills_who_asked_for_its_stamp(void)
{
	for (enum stamped what = NOTHING; what <= BOTH; what++) {
		for (unsigned asks = 0; asks < 2; asks++) {
			struct chain c;
			uint64_t now;

			chain_open(&c);
			rp_tree_raise_gen(&c.s->tree, c.node[0]);
			now = atomic_load(&c.s->tree.subtree_stamp);
			forget(&c);
			learn(&c);
			c.way->subtree = asks ? now + 1 : 0;
			stamp(&c, what);
			CHECK(state(&c) != RP_MEMO_DEAD);
			rp_tree_raise_gen(&c.s->tree, c.node[DEPTH - 2]);
			CHECK_EQ(state(&c), asks ? RP_MEMO_DEAD : RP_MEMO_CHECKED);
			CHECK(safe(&c));
			chain_close(&c);
		}
	}
}

/* That is what a stamp is for: the rest is not looked at. */
static void what_is_stamped_is_not_looked_at(void)
{
	struct chain c;

	chain_open(&c);
	kill_elsewhere(&c);
	c.way->id[2]++;
	CHECK_EQ(state(&c), RP_MEMO_DEAD);
	rp_way_stamp(c.way, ms_epoch(c.s));
	CHECK_EQ(state(&c), RP_MEMO_CHECKED);
	c.m->slot++;
	CHECK_EQ(state(&c), RP_MEMO_DEAD);
	CHECK(!safe(&c));
	rp_memo_stamp(c.m, ms_epoch(c.s));
	CHECK_EQ(state(&c), RP_MEMO_CURRENT);
	CHECK(safe(&c));
	chain_close(&c);
}

static const struct ts_case cases[] = {
	TS_CASE(ways_are_found_by_all_they_hold),
	TS_CASE(a_shorter_way_is_another),
	TS_CASE(ways_survive_more_heads),
	TS_CASE(a_memo_lives_by_its_epoch_or_its_slots),
	TS_CASE(each_binding_kills),
	TS_CASE(slots_that_changed_places_kill),
	TS_CASE(a_forgotten_subtree_kills_who_asked_for_its_stamp),
	TS_CASE(what_is_stamped_is_not_looked_at),
};

int main(int argc, char **argv)
{
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
