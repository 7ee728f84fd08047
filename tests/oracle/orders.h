/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Lookups beside changes of a small namespace, in every order of their steps.
 *
 * Steps of a lookup: it begins; each call of the backend begins, and has made its
 * answer; it ends. Steps of a change: it is made; it is announced, once for each
 * name. An answer is right when it is that of the namespace with a set of the
 * changes made: all of those that had been announced when the lookup began, none
 * that was made after it had ended. When all is quiet there is one right answer
 * left. What is right in each state is asked of a cache that has seen nothing of
 * the order; that such a cache is right is shown elsewhere.
 */
#ifndef TS_ORDERS_H
#define TS_ORDERS_H

#include <stdbool.h>
#include <stdint.h>

#include "namespace.h"

enum op { NONE, STAT, ACCESS, READLINK, REALPATH, GET };

struct query {
	enum op op;
	const char *path;
	uint64_t flags;
	uint32_t uid;
	bool from_start; /* it begins at the directory that is held */
	bool twice;      /* it passes what is changed more than once */
};

/* How a change is announced; by hooks in the same step as it is made, as they demand. */
enum style { BY_NAME, BY_PATH, BY_OBJECT, BY_SUBTREE, BY_ALL, BY_HOOK, BY_HOOK_TOLD, STYLES };

/* A name that a change touches, or, where that is NULL, the object dir. */
struct touched {
	const char *dir; /* "": the root */
	const char *name;
};

struct stage;

struct change {
	const char *name;
	void (*make)(struct stage *stage);
	int (*hook)(struct stage *stage); /* NULL: no hook tells of it. Return: what they did */
	struct touched touched[2];
	const char *object;  /* whose attributes or text change, and no name; NULL: none */
	struct query ask[8]; /* who may see it; the last is NONE */
};

enum warmth { COLD, WARM, HOT, WARMTHS };

#define ASKERS_MAX 2u
#define ASKS_MAX 2u
#define CHANGERS_MAX 2u
#define CHANGES_MAX 2u

/* Who does what at once. Askers come first among the threads. */
struct play {
	const struct query *ask[ASKERS_MAX][ASKS_MAX];
	const struct change *change[CHANGERS_MAX][CHANGES_MAX];
	enum style style;
	enum warmth warmth;
};

struct tally {
	uint32_t mode;  /* PATHCACHE_MODE_* */
	bool fine;      /* the change lock is a step too */
	bool quiet;     /* wrong answers are wanted, and no failures */
	uint64_t until; /* ts_now_ns() */
	/* Of all plays one in so many, from the nth on; 0: all. */
	unsigned every, nth;
	/* What came of it. */
	uint64_t seen, plays, orders, answers, wrong;
	bool cut; /* time was up */
};

/* All orders that take the token away from a thread at most bound times. */
void orders_play(const struct play *play, unsigned bound, struct tally *tally);

/* Plays; each ends when time is up, or a wrong answer was wanted and found. */
void orders_lookup_beside_change(unsigned bound, struct tally *tally);
void orders_lookups_beside_change(unsigned bound, struct tally *tally);
void orders_lookup_beside_changes(unsigned bound, struct tally *tally);
void orders_lookup_beside_changes_in_turn(unsigned bound, struct tally *tally);

/* Is this announced so? */
bool orders_suits(const struct change *change, enum style style);

enum which {
	CREATE,
	REMOVE,
	MOVE_FILE,
	MOVE_DIRECTORY,
	MOVE_PARENT,
	EXCHANGE_DIRECTORIES,
	EXCHANGE_FILES,
	REPLACE,
	RECREATE,
	RECREATE_DIRECTORY,
	CHANGE_KIND,
	SWAP_LINK,
	TURN_LINK,
	SHUT,
	RESIZE,
	LINK,
	CHANGES_KNOWN
};

extern const struct change orders_changes[CHANGES_KNOWN];

/* What hooks are told about; the names are those at the begin. */
enum place {
	PARENT,
	PARENT_DIRECTORY,
	OTHER,
	OTHER_DIRECTORY,
	PARENT_FILE,
	DEEP_FILE,
	LONG_LINK,
	PLACES
};

/* What a change changes. */
struct stage {
	struct ts_namespace ns;
	struct pathcache *cache;
	struct pathcache_entry *start;
	struct pathcache_entry *at[PLACES]; /* by hook */
	bool told;                          /* hooks say all that is known */
	char *text;                         /* of a link, before or after it is turned */
};

void orders_stage_open(struct stage *stage, uint32_t mode);
/* Checks that every handle was given back. */
void orders_stage_close(struct stage *stage);

#endif
