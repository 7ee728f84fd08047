/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A small cache of the endless namespace, and ever new names that go through it. */
#ifndef TS_FLOOD_H
#define TS_FLOOD_H

#include "endless.h"
#include "run.h"

#define FLOOD_PER_DIR 50u /* files of one directory */

struct flood {
	struct ts_endless ns;
	struct pathcache *cache;
	uint64_t budget;
	unsigned next; /* name */
	bool reads;    /* who asks is in a read section, and waits for no grace period */
};

/* Options of a cache without memos, so that all of it is names. */
void flood_options(struct pathcache_options *opt, uint64_t budget);
void flood_begin(struct flood *flood, const struct pathcache_options *opt);
void flood_end(struct flood *flood);

/* stat of path, which must be what the namespace says. Return: calls of the backend for it. */
__attribute__((format(printf, 2, 3))) uint64_t flood_ask(struct flood *flood, const char *fmt, ...);
/* Ask for the next n files, each once; checks the bound now and then. */
void flood_pass(struct flood *flood, unsigned n);
/* The same for so many times the budget of names, or a part of it where tests are scaled down. */
void flood_budgets(struct flood *flood, unsigned times);
/* Absent names of dir. */
void flood_absent(struct flood *flood, const char *dir, unsigned n);
void flood_check_bound(struct flood *flood);

/* Is there a name in memory that ends path? Leaves no mark. */
bool flood_knows(struct flood *flood, const char *name);
/* How many begin with prefix? */
unsigned flood_known(struct flood *flood, const char *prefix);

#endif
