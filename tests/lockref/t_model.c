/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * lockref.model: an exhaustive search of the protocol: a handful of actors in
 * every interleaving of their atomic steps. protocol.h says what a step is.
 *
 * The search assumes sequential consistency. That is no loss for the word
 * itself, all of whose changes are read-modify-writes in one order; the orders
 * between the word and the rest are argued in docs/memory-model.md.
 *
 * Negative controls: each breaks one rule, of lockref.h by a mutation or of
 * its callers by a program, and the first violation the search finds has to be
 * of the kind that the rule prevents. With the name of a control as argument
 * the shortest way to it is printed.
 *
 * Built with LOCKREF_COUNT_BITS=8, so that saturation is in reach.
 */
#include <string.h>

#include "check.h"
#include "protocol.h"

static const char *const op_names[] = {
	"end",  "enter",    "leave",    "find",   "get",      "get_held",  "use",
	"put",  "put_many", "lock",     "unlock", "if_idle",  "take_name", "add_name",
	"doom", "undoom",   "try_kill", "retire", "set_flag",
};

static const char *const violation_names[] = {
	"use_after_free", "dead_while_held", "dead_while_named",
	"two_killers",    "wrong_count",     "wrong_flags",
	"leak",           "stuck",
};

/* ---- the actors --------------------------------------------------------- */

/* clang-format off */
static const struct instr reader[MAX_OPS] = {
	{ENTER, 0}, {FIND, 8}, {GET, 8}, {LEAVE, 0},
	{USE, 0},
	{ENTER, 0}, {PUT, 8}, {RETIRE, 8},
	[8] = {LEAVE, 0}, {END, 0},
};

/* Broken: no read section around the put. */
static const struct instr reader_puts_outside[MAX_OPS] = {
	{ENTER, 0}, {FIND, 8}, {GET, 8}, {LEAVE, 0},
	{USE, 0},
	{PUT, 7}, {RETIRE, 7},
	[7] = {END, 0},
	[8] = {LEAVE, 0}, {END, 0},
};

/* Takes a second reference by right of the first. */
static const struct instr sharer[MAX_OPS] = {
	{ENTER, 0}, {FIND, 11}, {GET, 11}, {LEAVE, 0},
	{GET_HELD, 0}, {USE, 0},
	{ENTER, 0}, {PUT, 9}, {RETIRE, 9},
	[9] = {PUT, 11}, {RETIRE, 11},
	[11] = {LEAVE, 0}, {END, 0},
};

static const struct instr unlinker[MAX_OPS] = {
	{ENTER, 0}, {LOCK, 0}, {TAKE_NAME, 5}, {DOOM, 5}, {RETIRE, 5},
	[5] = {UNLOCK, 0}, {LEAVE, 0}, {END, 0},
};

/* Leaves the names of held objects alone; tries once more after its doom. */
static const struct instr evictor[MAX_OPS] = {
	{ENTER, 0}, {LOCK, 0}, {IF_IDLE, 8}, {TAKE_NAME, 8}, {DOOM, 6}, {RETIRE, 8},
	[6] = {TRY_KILL, 8}, {RETIRE, 8},
	[8] = {UNLOCK, 0}, {LEAVE, 0}, {END, 0},
};

/* Its put kills when an unlinker has been there since. */
static const struct instr renamer[MAX_OPS] = {
	{ENTER, 0}, {FIND, 11}, {GET, 11}, {LEAVE, 0},
	{LOCK, 0}, {UNDOOM, 0}, {ADD_NAME, 0}, {UNLOCK, 0},
	{ENTER, 0}, {PUT, 11}, {RETIRE, 11},
	[11] = {LEAVE, 0}, {END, 0},
};

/* Broken: holds no reference, only a read section, while it clears DOOM. */
static const struct instr renamer_without_count[MAX_OPS] = {
	{ENTER, 0}, {FIND, 6}, {LOCK, 0}, {UNDOOM, 0}, {ADD_NAME, 0}, {UNLOCK, 0},
	[6] = {LEAVE, 0}, {END, 0},
};

/* Broken: the names' lock is not taken. */
static const struct instr renamer_without_lock[MAX_OPS] = {
	{ENTER, 0}, {FIND, 9}, {GET, 9}, {LEAVE, 0},
	{UNDOOM, 0}, {ADD_NAME, 0},
	{ENTER, 0}, {PUT, 9}, {RETIRE, 9},
	[9] = {LEAVE, 0}, {END, 0},
};

static const struct instr flagger[MAX_OPS] = {
	{ENTER, 0}, {FIND, 3}, {SET_FLAG, 0},
	[3] = {LEAVE, 0}, {END, 0},
};

/* Owns nearly half the count's range and gives all of it back. */
static const struct instr hoarder[MAX_OPS] = {
	{ENTER, 0}, {PUT_MANY, 3}, {RETIRE, 3},
	[3] = {LEAVE, 0}, {END, 0},
};
/* clang-format on */

#define HOARD (LOCKREF_COUNT_LIMIT - 1)

static const struct scenario scenarios[] = {
	{"3 readers, unlinker, evictor, 1 name",
         5,
         1,
         0,
         {reader, reader, reader, unlinker, evictor}},
	{"2 readers, 2 unlinkers, evictor, 2 names",
         5,
         2,
         0,
         {reader, reader, unlinker, unlinker, evictor}},
	{"reader, re-namer, 2 unlinkers, 1 name", 4, 1, 0, {reader, renamer, unlinker, unlinker}},
	{"re-namer, 2 readers, unlinker, evictor, 1 name",
         5,
         1,
         0,
         {renamer, reader, reader, unlinker, evictor}},
	{"2 readers, unlinker, 2 setters of a flag, 1 name",
         5,
         1,
         0,
         {reader, reader, unlinker, flagger, flagger}},
	{"sharer, reader, unlinker, evictor, 1 name", 4, 1, 0, {sharer, reader, unlinker, evictor}},
	{"hoarder, 2 readers, unlinker, 1 name", 4, 1, HOARD, {hoarder, reader, reader, unlinker}},
};

struct control {
	struct scenario scenario;
	enum mutation mutation;
	enum violation expected;
};

static const struct control controls[] = {
	{{"put_outside_section",
          5,
          1,
          0,
          {reader_puts_outside, reader_puts_outside, reader_puts_outside, unlinker, evictor}},
         NONE,
         USE_AFTER_FREE},
	{{"dead_by_store", 5, 1, 0, {reader, reader, reader, unlinker, evictor}},
         DEAD_BY_STORE,
         DEAD_WHILE_HELD},
	{{"doom_ignores_count", 4, 1, 0, {reader, reader, reader, unlinker}},
         DOOM_IGNORES_COUNT,
         LEAK},
	{{"kill_without_doom", 4, 1, 0, {reader, renamer, unlinker, unlinker}},
         KILL_WITHOUT_DOOM,
         DEAD_WHILE_NAMED},
	{{"get_ignores_dead", 4, 1, 0, {reader, reader, unlinker, evictor}},
         GET_IGNORES_DEAD,
         DEAD_WHILE_HELD},
	{{"saturate_by_or", 3, 1, LOCKREF_COUNT_LIMIT, {hoarder, reader, unlinker}},
         SATURATE_BY_OR,
         WRONG_FLAGS},
	{{"renamer_without_count", 4, 1, 0, {reader, renamer_without_count, unlinker, unlinker}},
         NONE,
         DEAD_WHILE_NAMED},
	{{"renamer_without_lock", 4, 1, 0, {reader, renamer_without_lock, unlinker, unlinker}},
         NONE,
         DEAD_WHILE_NAMED},
};

/* ---- the search: breadth first, so that the first way found is shortest -- */

#define FREE_STEP MAX_ACTORS
#define NO_PARENT UINT32_MAX
#define ENOUGH 20u /* violations of one kind, then a search may stop */

struct seen {
	struct state *states;
	uint32_t *parents;
	uint8_t *movers;
	uint32_t count;
	uint32_t room;
	uint32_t *slots; /* index + 1 of a state; 0 is empty */
	uint32_t slot_mask;
};

struct verdict {
	uint32_t states;
	uint32_t ends;
	uint32_t found[VIOLATIONS + 1];
	enum violation first;
	uint32_t first_state;
};

static void *grown(void *p, size_t size)
{
	p = realloc(p, size);
	if (!p) {
		fprintf(stderr, "out of memory\n");
		exit(1);
	}
	return p;
}

static uint64_t hash_state(const struct state *s)
{
	uint64_t words[sizeof(*s) / 8], h = 0;
	size_t i;

	memcpy(words, s, sizeof(words));
	for (i = 0; i < sizeof(words) / 8; i++) {
		h = (h ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
		h ^= h >> 29;
	}
	return h;
}

static void seen_place(struct seen *seen, uint32_t index)
{
	uint32_t at = (uint32_t)hash_state(&seen->states[index]) & seen->slot_mask;

	while (seen->slots[at])
		at = (at + 1) & seen->slot_mask;
	seen->slots[at] = index + 1;
}

static void seen_grow(struct seen *seen)
{
	uint32_t i;

	seen->room = seen->room ? seen->room * 2 : 1u << 14;
	seen->states = grown(seen->states, seen->room * sizeof(*seen->states));
	seen->parents = grown(seen->parents, seen->room * sizeof(*seen->parents));
	seen->movers = grown(seen->movers, seen->room);
	seen->slot_mask = seen->room * 2 - 1;
	seen->slots = grown(seen->slots, (size_t)seen->room * 2 * sizeof(*seen->slots));
	memset(seen->slots, 0, (size_t)seen->room * 2 * sizeof(*seen->slots));
	for (i = 0; i < seen->count; i++)
		seen_place(seen, i);
}

/* Return: whether the state is new. */
static bool seen_add(struct seen *seen, const struct state *s, uint32_t parent, uint8_t mover)
{
	uint32_t at = (uint32_t)hash_state(s) & seen->slot_mask;

	for (; seen->slots[at]; at = (at + 1) & seen->slot_mask) {
		if (memcmp(&seen->states[seen->slots[at] - 1], s, sizeof(*s)) == 0)
			return false;
	}
	if (seen->count == seen->room)
		seen_grow(seen);
	seen->states[seen->count] = *s;
	seen->parents[seen->count] = parent;
	seen->movers[seen->count] = mover;
	seen_place(seen, seen->count++);
	return true;
}

static void seen_fini(struct seen *seen)
{
	free(seen->states);
	free(seen->parents);
	free(seen->movers);
	free(seen->slots);
}

static void note(struct verdict *v, enum violation kind, uint32_t state)
{
	if (v->first == FINE) {
		v->first = kind;
		v->first_state = state;
	}
	v->found[kind]++;
}

/* Record a successor of the state at parent; a violation is not followed. */
static void visit(struct seen *seen, struct verdict *v, const struct move *mv, uint32_t parent,
                  enum outcome outcome)
{
	if (outcome == FREED)
		note(v, USE_AFTER_FREE, parent);
	else if (seen_add(seen, mv->s, parent, (uint8_t)mv->actor) && protocol_judge(mv->s) != FINE)
		note(v, protocol_judge(mv->s), seen->count - 1);
}

/* Return: how many moves the state has. */
static unsigned int expand(const struct scenario *sc, enum mutation m, struct seen *seen,
                           struct verdict *v, uint32_t index)
{
	struct state from = seen->states[index], to;
	struct move mv = {.s = &to, .mutation = m};
	enum outcome outcome;
	unsigned int moves = 0;

	for (mv.actor = 0; mv.actor < sc->actors; mv.actor++) {
		to = from;
		outcome = protocol_step(&mv, sc);
		if (outcome == BLOCKED)
			continue;
		moves++;
		visit(seen, v, &mv, index, outcome);
	}
	if (from.retired && !from.freed && from.grace == 0) {
		to = from;
		to.freed = 1;
		mv.actor = FREE_STEP;
		moves++;
		visit(seen, v, &mv, index, NEXT);
	}
	return moves;
}

static void search(const struct scenario *sc, enum mutation m, struct seen *seen, struct verdict *v)
{
	struct state start;
	uint32_t i;

	protocol_start(&start, sc);
	memset(v, 0, sizeof(*v));
	v->first = FINE;
	memset(seen, 0, sizeof(*seen));
	seen_grow(seen);
	seen_add(seen, &start, NO_PARENT, 0);
	for (i = 0; i < seen->count && v->found[v->first] < ENOUGH; i++) {
		if (protocol_judge(&seen->states[i]) != FINE || expand(sc, m, seen, v, i) > 0)
			continue;
		v->ends++;
		if (protocol_judge_end(sc, &seen->states[i]) != FINE)
			note(v, protocol_judge_end(sc, &seen->states[i]), i);
	}
	v->states = seen->count;
}

/* ---- reports ------------------------------------------------------------ */

static void print_way(const struct scenario *sc, const struct seen *seen, uint32_t index)
{
	uint32_t parent = seen->parents[index];
	const struct state *s = &seen->states[index];
	unsigned int mover = seen->movers[index];
	const struct actor *a;

	if (parent == NO_PARENT)
		return;
	print_way(sc, seen, parent);
	if (mover == FREE_STEP) {
		printf("  grace period over, freed\n");
		return;
	}
	a = &seen->states[parent].actors[mover];
	printf("  actor %u %-9s step %u: word %04x refs %u names %u\n", mover,
	       op_names[sc->programs[mover][a->pc].op], a->phase, s->word, s->refs, s->names);
}

static void print_found(const struct verdict *v)
{
	unsigned int i;

	for (i = 0; i < VIOLATIONS; i++) {
		if (v->found[i])
			printf(" %s %u", violation_names[i], v->found[i]);
	}
	printf("\n");
}

static void run_clean(const struct scenario *sc)
{
	struct verdict v;
	struct seen seen;

	search(sc, NONE, &seen, &v);
	printf("%-50s %7u states, %u ends:", sc->name, v.states, v.ends);
	print_found(&v);
	if (!CHECK(v.first == FINE))
		print_way(sc, &seen, v.first_state);
	CHECK(v.ends > 0);
	seen_fini(&seen);
}

static void run_control(const struct control *c, bool show)
{
	struct verdict v;
	struct seen seen;

	search(&c->scenario, c->mutation, &seen, &v);
	printf("broken: %-42s %7u states:", c->scenario.name, v.states);
	print_found(&v);
	if (!CHECK(v.first == c->expected) || show)
		print_way(&c->scenario, &seen, v.first_state);
	seen_fini(&seen);
}

int main(int argc, char **argv)
{
	const char *show = argc > 1 ? argv[1] : "";
	size_t i;

	for (i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
		run_clean(&scenarios[i]);
	for (i = 0; i < sizeof(controls) / sizeof(controls[0]); i++)
		run_control(&controls[i], strcmp(show, controls[i].scenario.name) == 0);
	return check_result("lockref.model");
}
