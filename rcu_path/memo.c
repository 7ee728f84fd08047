/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "memo.h"

#define MIGRATE_SETS 4u /* taken over with each memo that is put */

#if PC_TESTING
_Atomic(uint32_t) rp_memo_test_omit;
#endif

bool rp_memo_lives(const struct rp_tree *t, const struct rp_memo *m, uint64_t epoch)
{
	const struct rp_way *way = m->way;
	const uint32_t *slot = rp_way_slots(way);

	if (!rp_memo_last_lives(t, m))
		return false;
	if (atomic_load_explicit(&way->epoch, memory_order_relaxed) == epoch)
		return true;
	if (way->subtree &&
	    atomic_load_explicit(&t->subtree_stamp, memory_order_relaxed) + 1 != way->subtree)
		return false;
	for (uint32_t i = 0; i < way->n; i++)
		if (!rp_slot_live(&t->slots, slot[i], way->id[i]))
			return false;
	return true;
}

bool rp_memo_lasts(const struct rp_tree *t, const struct rp_memo *m)
{
	enum rp_lease_kind last =
		m->bits & RP_M_ERR ? rp_dentry_lease(m->dentry) : rp_node_lease(m->node);

	uint64_t id;

	if (m->bits & RP_M_TTL && m->way->lease <= rp_lease_floor(&t->lease, RP_LEASE_WAY))
		return false;
	if (!(m->bits & RP_M_TTL_LAST))
		return true;
	id = atomic_load_explicit(&m->id, memory_order_relaxed);
	/* Retired meanwhile, it is a link of a list, with the highest bit set. */
	return id > rp_lease_floor(&t->lease, last) && !(id >> 63);
}

struct rp_memo *rp_memo_find_all(struct rp_memo_array *a, struct rp_memo_key k)
{
	for (uint32_t i = 0; i < a->lines; i++) {
		const struct rp_memo_line *l = rp_memo_line(a, k.hash, i);
		bool vacant = false;

		for (uint32_t j = 0; j < RP_MEMO_LINE; j++) {
			/* acquire [M1]: as rp_memo_find(). */
			uint64_t word = atomic_load_explicit(&l->memo[j], memory_order_acquire);

			if (!word)
				vacant = true;
			else if ((uint16_t)word == rp_memo_tag(k.hash) &&
			         rp_memo_matches(rp_memo_of(word), &k))
				return rp_memo_of(word);
		}
		/* It would stand here. One that found the line full is lost: a miss. */
		if (vacant)
			return NULL;
	}
	return NULL;
}

void rp_memos_init(struct rp_memos *t, struct rp_memo_array *array, struct rp_way **heads,
                   uint32_t nheads)
{
	atomic_init(&t->cur, array);
	t->next = NULL;
	t->cursor = 0;
	t->hand = 0;
	atomic_init(&t->count, 0);
	t->ways = heads;
	t->ways_mask = nheads - 1;
	t->nways = 0;
}

/* ---- ways --------------------------------------------------------------- */

static struct rp_way **way_head(const struct rp_memos *t, const struct rp_way *way)
{
	uint64_t h = way->gen ^ way->subtree ^ (uintptr_t)way->start;

	for (uint32_t i = 0; i < way->n; i++)
		h = (h ^ way->id[i]) * UINT64_C(0x9e3779b97f4a7c15);
	return &t->ways[(h >> 32) & t->ways_mask];
}

static bool way_equal(const struct rp_way *a, const struct rp_way *b)
{
	return a->n == b->n && a->start == b->start && a->gen == b->gen &&
	       a->subtree == b->subtree && a->lease == b->lease &&
	       memcmp(a->id, b->id, rp_way_size(a->n) - rp_way_size(0)) == 0;
}

struct rp_way *rp_way_find(const struct rp_memos *t, const struct rp_way *want)
{
	struct rp_way *way = *way_head(t, want);

	while (way && !way_equal(way, want))
		way = way->next;
	return way;
}

void rp_way_insert(struct rp_memos *t, struct rp_way *way)
{
	struct rp_way **head = way_head(t, way);

	way->next = *head;
	*head = way;
	t->nways++;
}

void rp_way_remove(struct rp_memos *t, struct rp_way *way)
{
	struct rp_way **at = way_head(t, way);

	while (*at != way)
		at = &(*at)->next;
	*at = way->next;
	t->nways--;
}

struct rp_way **rp_ways_grow(struct rp_memos *t, struct rp_way **heads, uint32_t nheads)
{
	struct rp_way **old = t->ways;
	uint32_t n = t->ways_mask + 1;

	t->ways = heads;
	t->ways_mask = nheads - 1;
	for (uint32_t i = 0; i < n; i++)
		while (old[i]) {
			struct rp_way *way = old[i];
			struct rp_way **head = way_head(t, way);

			old[i] = way->next;
			way->next = *head;
			*head = way;
		}
	return old;
}

/* ---- places ------------------------------------------------------------- */

/* One place of a set. */
struct place {
	_Atomic(uint64_t) *memo;
	_Atomic(uint64_t) *node;
};

/* Number i of those that a memo of hash may take, the best ones first. */
static struct place place_at(struct rp_memo_array *a, uint64_t hash, uint32_t i)
{
	struct rp_memo_line *l = rp_memo_line(a, hash, i / RP_MEMO_LINE);

	return (struct place){&l->memo[i % RP_MEMO_LINE], &l->node[i % RP_MEMO_LINE]};
}

static struct rp_memo *place_get(struct place p)
{
	return rp_memo_of(atomic_load_explicit(p.memo, memory_order_relaxed));
}

static void place_set(struct place p, uint64_t word, const struct rp_node *node)
{
	atomic_store_explicit(p.node, (uintptr_t)node, memory_order_relaxed);
	/* release [M1]: publishes the memo, its way and its path. Pairs with rp_memo_find(). */
	atomic_store_explicit(p.memo, word, memory_order_release);
}

static uint32_t set_places(const struct rp_memo_array *a)
{
	return a->lines * RP_MEMO_LINE;
}

/* Put word where old stands (NULL: in a free place). Return: false when there is none. */
static bool set_replace(struct rp_memo_array *a, uint64_t hash, const struct rp_memo *old,
                        uint64_t word)
{
	for (uint32_t i = 0; i < set_places(a); i++) {
		struct place p = place_at(a, hash, i);

		if (place_get(p) != old)
			continue;
		place_set(p, word, word ? rp_memo_of(word)->node : NULL);
		return true;
	}
	return false;
}

static uint64_t memo_hash(const struct rp_tree *tree, const struct rp_memo *m)
{
	return rp_memo_hash(&tree->secret, m->path, m->len, m->way->start, m->flags);
}

/* Sets taken over already are kept the same in both arrays. */
static bool in_next(const struct rp_memos *t, const struct rp_memo_array *cur, uint64_t hash)
{
	return t->next && ((uint32_t)hash & cur->mask) / cur->lines < t->cursor;
}

static uint64_t count_get(const struct rp_memos *t)
{
	return atomic_load_explicit(&t->count, memory_order_relaxed);
}

static void count_add(struct rp_memos *t, uint64_t n)
{
	atomic_store_explicit(&t->count, count_get(t) + n, memory_order_relaxed);
}

static void memo_remove(struct rp_memos *t, const struct rp_tree *tree, struct rp_memo *m)
{
	struct rp_memo_array *cur = rp_memos_array(t);
	uint64_t hash = memo_hash(tree, m);

	set_replace(cur, hash, m, 0);
	if (in_next(t, cur, hash))
		set_replace(t->next, hash, m, 0);
	count_add(t, UINT64_MAX);
}

bool rp_memos_room(const struct rp_memos *t, const struct rp_memo_key *k)
{
	struct rp_memo_array *a = rp_memos_array(t);

	for (uint32_t i = 0; i < set_places(a); i++) {
		/* acquire [M1]: as rp_memo_find(). */
		uint64_t word =
			atomic_load_explicit(place_at(a, k->hash, i).memo, memory_order_acquire);

		if (!word || ((uint16_t)word == rp_memo_tag(k->hash) &&
		              rp_memo_matches(rp_memo_of(word), k)))
			return true;
	}
	return false;
}

/* The place m should take: that of its key, a free one, or a dead one's. NULL: none. */
static bool choose(struct rp_memo_array *a, const struct rp_tree *tree, const struct rp_memo_key *k,
                   struct rp_memo **old)
{
	uint64_t epoch = atomic_load_explicit(&tree->epoch, memory_order_relaxed);
	struct rp_memo *dead = NULL;
	bool vacant = false;

	for (uint32_t i = 0; i < set_places(a); i++) {
		struct rp_memo *m = place_get(place_at(a, k->hash, i));

		if (!m) {
			vacant = true;
		} else if (rp_memo_matches(m, k)) {
			*old = m;
			return true;
		} else if (!dead && !rp_memo_lives(tree, m, epoch)) {
			dead = m;
		}
	}
	*old = dead;
	return vacant || dead;
}

bool rp_memos_put(struct rp_memos *t, const struct rp_tree *tree, struct rp_memo *m,
                  const struct rp_memo_key *k, bool force, struct rp_memo **out)
{
	struct rp_memo_array *cur = rp_memos_array(t);
	uint64_t word = (uint64_t)(uintptr_t)m << 16 | rp_memo_tag(k->hash);

	*out = NULL;
	if (!choose(cur, tree, k, out)) {
		if (!force)
			return false;
		*out = place_get(place_at(cur, k->hash, m->slot % set_places(cur)));
	}
	/*
	 * Not where *out stood: a line before may have got a free place since,
	 * and hide it.
	 */
	if (*out)
		memo_remove(t, tree, *out);
	set_replace(cur, k->hash, NULL, word);
	/* A set that was taken over holds the same memos, or a part of them. */
	if (in_next(t, cur, k->hash))
		set_replace(t->next, k->hash, NULL, word);
	count_add(t, 1);
	return true;
}

/* Was what m leads to hit by a memo, this one maybe? m lives, and its last binding with it. */
static bool memo_used(const struct rp_memo *m)
{
	return m->bits & RP_M_ERR ? atomic_load_explicit(&m->dentry->used, memory_order_relaxed)
	                          : rp_node_flags(m->node) & RP_N_USED;
}

/* Of a set, the dead go first, then what was not hit lately. */
static struct rp_memo *worst(struct rp_memo_array *a, const struct rp_tree *tree, uint64_t set)
{
	uint64_t epoch = atomic_load_explicit(&tree->epoch, memory_order_relaxed);
	struct rp_memo *out = NULL;
	bool used = true;

	for (uint32_t i = 0; i < set_places(a); i++) {
		struct rp_memo *m = place_get(place_at(a, set, i));

		if (m && !rp_memo_lives(tree, m, epoch))
			return m;
		if (m && (!out || (used && !memo_used(m)))) {
			out = m;
			used = memo_used(m);
		}
	}
	return out;
}

struct rp_memo *rp_memos_evict(struct rp_memos *t, const struct rp_tree *tree)
{
	struct rp_memo_array *cur = rp_memos_array(t);

	for (uint32_t n = 0; n < rp_memo_sets(cur); n++) {
		struct rp_memo *m = worst(cur, tree, (uint64_t)t->hand++ * cur->lines);

		if (!m)
			continue;
		memo_remove(t, tree, m);
		return m;
	}
	return NULL;
}

struct rp_memo *rp_memos_take_dead(struct rp_memos *t, const struct rp_tree *tree, uint32_t *set)
{
	struct rp_memo_array *cur = rp_memos_array(t);
	uint64_t epoch = atomic_load_explicit(&tree->epoch, memory_order_relaxed);

	for (uint32_t i = 0; i < set_places(cur); i++) {
		struct rp_memo *m = place_get(place_at(cur, (uint64_t)*set * cur->lines, i));

		if (!m || rp_memo_lives(tree, m, epoch))
			continue;
		memo_remove(t, tree, m);
		return m;
	}
	++*set;
	return NULL;
}

/* ---- growth ------------------------------------------------------------- */

uint32_t rp_memos_want(const struct rp_memos *t)
{
	const struct rp_memo_array *cur = rp_memos_array(t);
	size_t sets = rp_memo_sets(cur);

	if (t->next || count_get(t) <= sets * set_places(cur) / 8 * 5 ||
	    sets * cur->lines > UINT32_MAX / 4)
		return 0;
	return (uint32_t)sets * 2;
}

void rp_memos_grow(struct rp_memos *t, struct rp_memo_array *array)
{
	t->next = array;
	t->cursor = 0;
}

static struct rp_memo_array *array_switch(struct rp_memos *t)
{
	struct rp_memo_array *old = rp_memos_array(t);

	/* release [M2]: publishes the array and all it holds. Pairs with rp_memos_array(). */
	atomic_store_explicit(&t->cur, t->next, memory_order_release);
	t->next = NULL;
	return old;
}

struct rp_memo_array *rp_memos_migrate(struct rp_memos *t, const struct rp_tree *tree)
{
	struct rp_memo_array *cur = rp_memos_array(t);

	for (uint32_t n = 0; t->next && n < MIGRATE_SETS; n++) {
		uint64_t set = (uint64_t)t->cursor * cur->lines;

		for (uint32_t i = 0; i < set_places(cur); i++) {
			uint64_t word = atomic_load_explicit(place_at(cur, set, i).memo,
			                                     memory_order_relaxed);

			if (word)
				set_replace(t->next, memo_hash(tree, rp_memo_of(word)), NULL, word);
		}
		if (++t->cursor == rp_memo_sets(cur))
			return array_switch(t);
	}
	return NULL;
}
