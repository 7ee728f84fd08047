/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "protocol.h"

static void set_flags(struct state *s, uint64_t flags)
{
	s->word = fold(unfold(s->word) | flags);
	s->flags = fold(unfold(s->flags) | flags);
}

static enum outcome to_phase(struct actor *a, uint8_t phase, uint64_t reg)
{
	a->phase = phase;
	a->reg = fold(reg);
	return AGAIN;
}

static bool killable(enum mutation m, uint64_t word)
{
	if (m == KILL_WITHOUT_DOOM)
		word |= LOCKREF_DOOM;
	return lockref_killable_(word);
}

/* lockref_kill_from_(): the word believed in is in reg. */
static enum outcome step_kill(struct move *mv, struct actor *a)
{
	struct state *s = mv->s;

	if (!killable(mv->mutation, unfold(a->reg)))
		return ELSE;
	if (s->word != a->reg && mv->mutation != DEAD_BY_STORE)
		return to_phase(a, a->phase, unfold(s->word));
	s->word = a->reg;
	set_flags(s, LOCKREF_DEAD);
	s->killers++;
	return NEXT;
}

enum { SATURATE_UNDO = 1, SATURATE_LOAD, SATURATE_SWAP };

/* lockref_saturate_slow_() */
static enum outcome step_saturate(struct move *mv, struct actor *a)
{
	struct state *s = mv->s;
	uint64_t word = unfold(s->word);

	switch (a->phase) {
	case SATURATE_UNDO:
		s->word--;
		return NEXT;
	case SATURATE_LOAD:
		if (mv->mutation == SATURATE_BY_OR) {
			set_flags(s, LOCKREF_SAT);
			return to_phase(a, SATURATE_UNDO, 0);
		}
		return (word & LOCKREF_SAT) ? NEXT : to_phase(a, SATURATE_SWAP, word);
	default:
		if (s->word != a->reg)
			return (word & LOCKREF_SAT) ? NEXT : to_phase(a, SATURATE_SWAP, word);
		s->word = fold(lockref_saturated_(word));
		set_flags(s, LOCKREF_SAT);
		return NEXT;
	}
}

/* lockref_get(), lockref_get_held() */
static enum outcome step_get(struct move *mv, struct actor *a, bool held)
{
	struct state *s = mv->s;
	uint64_t old = unfold(s->word);

	if (a->phase)
		return step_saturate(mv, a);

	s->word++;
	if (!held && !lockref_gettable_(old) && mv->mutation != GET_IGNORES_DEAD)
		return ELSE;
	s->refs++;
	if (!lockref_saturates_(old))
		return NEXT;
	return to_phase(a, (old & LOCKREF_SAT) ? SATURATE_UNDO : SATURATE_LOAD, 0);
}

enum { PUT_KILL = 1, PUT_UNDO };

/* lockref_put() */
static enum outcome step_put(struct move *mv, struct actor *a)
{
	struct state *s = mv->s;
	uint64_t old = unfold(s->word);

	switch (a->phase) {
	case 0:
		s->word--;
		s->refs--;
		if (lockref_put_kills_(old))
			return to_phase(a, PUT_KILL, old - 1);
		return (old & LOCKREF_SAT) ? to_phase(a, PUT_UNDO, 0) : ELSE;
	case PUT_KILL:
		return step_kill(mv, a);
	default:
		s->word++;
		return ELSE;
	}
}

static enum outcome step_put_many(struct move *mv, struct actor *a)
{
	enum outcome outcome;

	if (a->phase == 0) {
		if (mv->s->many == 0)
			return ELSE;
		mv->s->many--;
	}
	outcome = step_put(mv, a);
	return outcome == ELSE ? to_phase(a, 0, 0) : outcome;
}

/* lockref_doom() */
static enum outcome step_doom(struct move *mv, struct actor *a)
{
	uint64_t old = unfold(mv->s->word);

	if (a->phase)
		return step_kill(mv, a);
	set_flags(mv->s, LOCKREF_DOOM);
	if (!lockref_doom_kills_(old) || mv->mutation == DOOM_IGNORES_COUNT)
		return ELSE;
	return to_phase(a, 1, old | LOCKREF_DOOM);
}

/* lockref_undoom() */
static enum outcome step_undoom(struct state *s)
{
	s->word = fold(unfold(s->word) & ~LOCKREF_DOOM);
	s->flags = fold(unfold(s->flags) & ~LOCKREF_DOOM);
	return NEXT;
}

static enum outcome step_retire(struct state *s, struct actor *a)
{
	if (a->phase == 0) {
		s->hashed = 0;
		return to_phase(a, 1, 0);
	}
	s->retired = 1;
	s->grace = s->sections;
	return ELSE;
}

/* Steps that touch the object's memory. */
static enum outcome step_object(struct move *mv, struct actor *a, enum op op)
{
	switch (op) {
	case GET:
		return step_get(mv, a, false);
	case GET_HELD:
		return step_get(mv, a, true);
	case PUT:
		return step_put(mv, a);
	case PUT_MANY:
		return step_put_many(mv, a);
	case DOOM:
		return step_doom(mv, a);
	case UNDOOM:
		return step_undoom(mv->s);
	case TRY_KILL:
		return a->phase ? step_kill(mv, a) : to_phase(a, 1, unfold(mv->s->word));
	case RETIRE:
		return step_retire(mv->s, a);
	case SET_FLAG:
		set_flags(mv->s, LOCKREF_USER(0));
		return NEXT;
	default:
		return NEXT; /* USE */
	}
}

static enum outcome step_lock(struct state *s, unsigned int actor)
{
	if (s->lock)
		return BLOCKED;
	s->lock = (uint8_t)(actor + 1);
	return NEXT;
}

static enum outcome step_section(struct state *s, unsigned int actor, bool enter)
{
	uint8_t bit = (uint8_t)(1u << actor);

	if (enter) {
		s->sections |= bit;
	} else {
		s->sections &= (uint8_t)~bit;
		s->grace &= (uint8_t)~bit;
	}
	return NEXT;
}

static enum outcome step_op(struct move *mv, struct actor *a, enum op op)
{
	struct state *s = mv->s;

	switch (op) {
	case ENTER:
	case LEAVE:
		return step_section(s, mv->actor, op == ENTER);
	case LOCK:
		return step_lock(s, mv->actor);
	case UNLOCK:
		s->lock = 0;
		return NEXT;
	case FIND:
		return s->hashed ? NEXT : ELSE;
	case IF_IDLE:
		return s->names > 0 && lockref_word_count_(unfold(s->word)) == 0 ? NEXT : ELSE;
	case TAKE_NAME:
		return s->names > 0 && --s->names == 0 ? NEXT : ELSE;
	case ADD_NAME:
		s->names++;
		return NEXT;
	default:
		return s->freed ? FREED : step_object(mv, a, op);
	}
}

enum outcome protocol_step(struct move *mv, const struct scenario *sc)
{
	struct actor *a = &mv->s->actors[mv->actor];
	const struct instr *in = &sc->programs[mv->actor][a->pc];
	enum outcome outcome = in->op == END ? BLOCKED : step_op(mv, a, in->op);

	if (outcome == NEXT || outcome == ELSE) {
		a->pc = outcome == NEXT ? (uint8_t)(a->pc + 1) : in->otherwise;
		a->phase = 0;
		a->reg = 0;
	}
	return outcome;
}

enum violation protocol_judge(const struct state *s)
{
	uint64_t word = unfold(s->word), flags = unfold(s->flags);
	bool dead = (flags & LOCKREF_DEAD) != 0;

	if (s->killers > 1)
		return TWO_KILLERS;
	if (dead && s->refs > 0)
		return DEAD_WHILE_HELD;
	if (dead && s->names > 0)
		return DEAD_WHILE_NAMED;
	if ((word & LOCKREF_FLAGS_MASK) != flags)
		return WRONG_FLAGS;
	if (!dead && !(flags & LOCKREF_SAT) && lockref_word_count_(word) != s->refs)
		return WRONG_COUNT;
	return FINE;
}

enum violation protocol_judge_end(const struct scenario *sc, const struct state *s)
{
	unsigned int i;

	for (i = 0; i < sc->actors; i++) {
		if (sc->programs[i][s->actors[i].pc].op != END)
			return STUCK;
	}
	if (s->refs > 0)
		return LEAK;
	if (s->names == 0 && !s->freed && !(unfold(s->flags) & LOCKREF_SAT))
		return LEAK;
	return FINE;
}

void protocol_start(struct state *s, const struct scenario *sc)
{
	memset(s, 0, sizeof(*s));
	s->word = fold(sc->many);
	s->refs = sc->many;
	s->many = sc->many;
	s->names = sc->names;
	s->hashed = 1;
}
