/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * lockref.states: every operation on every kind of word, one row each: the
 * word before, the operation, the word after and what it returned.
 */
#include "check.h"
#include "lockref.h"

#define DEAD LOCKREF_DEAD
#define SAT LOCKREF_SAT
#define DOOM LOCKREF_DOOM
#define U0 LOCKREF_USER(0)
#define UTOP LOCKREF_USER(LOCKREF_USER_BITS - 1)
#define UALL LOCKREF_USER_MASK
#define LIMIT LOCKREF_COUNT_LIMIT
#define PARKED LOCKREF_COUNT_PARKED
#define COUNT LOCKREF_COUNT_MASK

enum op { GET, GET_HELD, PUT, DOOMED, UNDOOM, TRY_KILL, SET_U0, CLEAR_U0, IS_DEAD, COUNTED, FLAGS };

struct row {
	const char *name;
	enum op op;
	uint64_t before;
	uint64_t after;
	uint64_t returned;
};

static const struct row rows[] = {
	/* get: from idle on, whatever the flags, unless dead */
	{"get_of_idle", GET, 0, 1, true},
	{"get_of_held", GET, 7, 8, true},
	{"get_keeps_user_flags", GET, UALL | 1, UALL | 2, true},
	{"get_of_doomed_succeeds", GET, DOOM | 1, DOOM | 2, true},
	{"get_of_doomed_before_its_kill_succeeds", GET, DOOM, DOOM | 1, true},
	{"get_of_dead_fails_and_is_not_undone", GET, DEAD | DOOM, DEAD | DOOM | 1, false},
	{"get_of_dead_may_spoil_user_flags", GET, DEAD | DOOM | COUNT, DEAD | DOOM | U0, false},
	{"get_of_dead_never_reaches_dead", GET, DEAD | DOOM | UALL | COUNT, DEAD | SAT, false},
	{"get_of_dead_ignores_the_limit", GET, DEAD | DOOM | LIMIT, DEAD | DOOM | (LIMIT + 1),
         false},
	{"get_below_the_limit_counts", GET, LIMIT - 1, LIMIT, true},
	{"get_at_the_limit_saturates", GET, LIMIT, SAT | PARKED, true},
	{"get_above_the_limit_saturates", GET, U0 | (LIMIT + 3), U0 | SAT | PARKED, true},
	{"get_at_the_limit_keeps_doom", GET, DOOM | UALL | LIMIT, DOOM | UALL | SAT | PARKED, true},
	{"get_of_saturated_adds_nothing", GET, SAT | PARKED, SAT | PARKED, true},
	{"get_of_saturated_off_by_others", GET, SAT | (PARKED - 9), SAT | (PARKED - 9), true},

	{"get_held", GET_HELD, 1, 2, 0},
	{"get_held_of_doomed", GET_HELD, DOOM | UTOP | 1, DOOM | UTOP | 2, 0},
	{"get_held_at_the_limit_saturates", GET_HELD, LIMIT, SAT | PARKED, 0},
	{"get_held_of_saturated", GET_HELD, SAT | PARKED, SAT | PARKED, 0},

	{"put_of_several", PUT, 2, 1, false},
	{"put_of_last_leaves_it_cached", PUT, 1, 0, false},
	{"put_of_last_with_user_flags", PUT, UALL | 1, UALL, false},
	{"put_of_doomed_not_last", PUT, DOOM | 2, DOOM | 1, false},
	{"put_of_doomed_last_kills", PUT, DOOM | 1, DEAD | DOOM, true},
	{"put_of_doomed_last_ignores_user_flags", PUT, DOOM | UALL | 1, DEAD | DOOM | UALL, true},
	{"put_of_saturated_takes_nothing", PUT, SAT | PARKED, SAT | PARKED, false},
	{"put_of_saturated_doomed_never_kills", PUT, SAT | DOOM | PARKED, SAT | DOOM | PARKED,
         false},
	{"put_of_saturated_count_1_never_kills", PUT, SAT | DOOM | 1, SAT | DOOM | 1, false},
	{"put_from_the_limit", PUT, LIMIT, LIMIT - 1, false},

	{"doom_of_idle_kills", DOOMED, 0, DEAD | DOOM, true},
	{"doom_of_idle_with_user_flags_kills", DOOMED, UALL, DEAD | DOOM | UALL, true},
	{"doom_of_held_waits", DOOMED, 3, DOOM | 3, false},
	{"doom_of_held_with_user_flags", DOOMED, UALL | 1, DOOM | UALL | 1, false},
	{"doom_twice_of_idle_kills", DOOMED, DOOM, DEAD | DOOM, true},
	{"doom_of_dead_does_nothing", DOOMED, DEAD | DOOM, DEAD | DOOM, false},
	{"doom_of_saturated_never_kills", DOOMED, SAT | PARKED, SAT | DOOM | PARKED, false},
	{"doom_of_saturated_count_0_never_kills", DOOMED, SAT, SAT | DOOM, false},

	{"undoom", UNDOOM, DOOM | 1, 1, 0},
	{"undoom_keeps_the_rest", UNDOOM, DOOM | UALL | 5, UALL | 5, 0},
	{"undoom_of_not_doomed", UNDOOM, U0 | 1, U0 | 1, 0},
	{"undoom_of_saturated", UNDOOM, SAT | DOOM | PARKED, SAT | PARKED, 0},

	{"try_kill_of_doomed_idle", TRY_KILL, DOOM, DEAD | DOOM, true},
	{"try_kill_ignores_user_flags", TRY_KILL, DOOM | UALL, DEAD | DOOM | UALL, true},
	{"try_kill_demands_doom", TRY_KILL, 0, 0, false},
	{"try_kill_demands_doom_with_user_flags", TRY_KILL, UALL, UALL, false},
	{"try_kill_of_held", TRY_KILL, DOOM | 1, DOOM | 1, false},
	{"try_kill_of_dead", TRY_KILL, DEAD | DOOM, DEAD | DOOM, false},
	{"try_kill_of_saturated", TRY_KILL, SAT | DOOM, SAT | DOOM, false},

	{"set_flag", SET_U0, 4, U0 | 4, 0},
	{"set_flag_again", SET_U0, U0 | DOOM | 4, U0 | DOOM | 4, U0 | DOOM},
	{"clear_flag", CLEAR_U0, U0 | UTOP | 4, UTOP | 4, U0 | UTOP},
	{"clear_flag_again", CLEAR_U0, SAT | PARKED, SAT | PARKED, SAT},

	{"is_dead", IS_DEAD, DEAD | DOOM, DEAD | DOOM, true},
	{"is_dead_of_doomed", IS_DEAD, SAT | DOOM | UALL | COUNT, SAT | DOOM | UALL | COUNT, false},
	{"count", COUNTED, SAT | DOOM | UALL | 9, SAT | DOOM | UALL | 9, 9},
	{"flags", FLAGS, SAT | U0 | 9, SAT | U0 | 9, SAT | U0},
};

static uint64_t apply(enum op op, struct lockref *ref)
{
	switch (op) {
	case GET:
		return lockref_get(ref);
	case GET_HELD:
		lockref_get_held(ref);
		return 0;
	case PUT:
		return lockref_put(ref);
	case DOOMED:
		return lockref_doom(ref);
	case UNDOOM:
		lockref_undoom(ref);
		return 0;
	case TRY_KILL:
		return lockref_try_kill(ref);
	case SET_U0:
		return lockref_set_flags(ref, U0);
	case CLEAR_U0:
		return lockref_clear_flags(ref, U0);
	case IS_DEAD:
		return lockref_is_dead(ref);
	case COUNTED:
		return lockref_count(ref);
	case FLAGS:
		return lockref_flags(ref);
	}
	abort();
}

static void check_row(const struct row *row)
{
	struct lockref ref;
	uint64_t returned, after;

	lockref_init(&ref, row->before);
	returned = apply(row->op, &ref);
	after = atomic_load_explicit(&ref.word, memory_order_relaxed);

	if (!CHECK(after == row->after && returned == row->returned))
		fprintf(stderr,
		        "%s: word %016" PRIx64 " -> %016" PRIx64 ", not %016" PRIx64
		        ", returned %" PRIx64 ", not %" PRIx64 "\n",
		        row->name, row->before, after, row->after, returned, row->returned);
}

/* The bit layout is part of the contract: nothing overlaps, nothing is left over. */
static void layout_covers_the_word_once(void)
{
	CHECK((DEAD ^ SAT ^ DOOM ^ UALL ^ COUNT) == UINT64_MAX);
	CHECK((DEAD | SAT | DOOM | UALL | COUNT) == UINT64_MAX);
	CHECK(U0 == COUNT + 1 && UTOP == DOOM >> 1);
	CHECK(PARKED > LIMIT && PARKED < COUNT);
}

int main(void)
{
	size_t i;

	layout_covers_the_word_once();
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check_row(&rows[i]);
	printf("%zu rows, %d count bits\n", i, LOCKREF_COUNT_BITS);
	return check_result("lockref.states");
}
