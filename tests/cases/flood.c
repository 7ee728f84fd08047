/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flood.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "oracle.h"

/* What one name costs with its object, at least. */
#define NAME_COST 250u

void flood_options(struct pathcache_options *opt, uint64_t budget)
{
	pathcache_options_init(opt);
	opt->budget = budget;
	opt->memo_share = 0;
	opt->negative_share = 10;
}

void flood_begin(struct flood *flood, const struct pathcache_options *opt)
{
	memset(flood, 0, sizeof(*flood));
	flood->budget = opt->budget;
	ts_endless_open(&flood->ns, &flood->cache, opt);
}

void flood_end(struct flood *flood)
{
	ts_endless_close(&flood->ns, flood->cache);
}

uint64_t flood_ask(struct flood *flood, const char *fmt, ...)
{
	char path[1024];
	uint64_t calls = flood->ns.calls;
	const char *name;
	va_list args;
	int rc;

	va_start(args, fmt);
	vsnprintf(path, sizeof(path), fmt, args);
	va_end(args);
	name = strrchr(path, '/');
	name = name ? name + 1 : path;
	if (!flood->reads)
		ts_offline();
	rc = ts_stat_err(flood->cache, path);
	if (!flood->reads)
		ts_online();
	if (rc != (strchr("dfhl", name[0]) ? 0 : -ENOENT))
		ts_fail(__FILE__, __LINE__, "%s: %d", path, rc);
	return flood->ns.calls - calls;
}

void flood_check_bound(struct flood *flood)
{
	uint64_t bytes = ts_stats(flood->cache).bytes;

	if (bytes > flood->budget)
		ts_fail(__FILE__, __LINE__, "%llu bytes, not at most %llu",
		        (unsigned long long)bytes, (unsigned long long)flood->budget);
}

void flood_pass(struct flood *flood, unsigned n)
{
	for (unsigned i = 0; i < n; i++, flood->next++) {
		flood_ask(flood, "dflood%u/flood%u", flood->next / FLOOD_PER_DIR, flood->next);
		if (i % 16 == 0)
			flood_check_bound(flood);
	}
}

void flood_budgets(struct flood *flood, unsigned times)
{
	flood_pass(flood, (unsigned)(times * flood->budget / NAME_COST));
}

void flood_absent(struct flood *flood, const char *dir, unsigned n)
{
	for (unsigned i = 0; i < n; i++, flood->next++) {
		flood_ask(flood, "%s/no-such-%u", dir, flood->next);
		if (i % 16 == 0)
			flood_check_bound(flood);
	}
}

struct search {
	const char *prefix;
	size_t len;
	bool whole;
	unsigned n;
};

static int count(void *arg, const struct pathcache_dentry *dentry)
{
	struct search *s = arg;

	s->n += dentry->len >= s->len && (!s->whole || dentry->len == s->len) &&
	        memcmp(dentry->name, s->prefix, s->len) == 0;
	return 0;
}

bool flood_knows(struct flood *flood, const char *name)
{
	struct search s = {.prefix = name, .len = strlen(name), .whole = true};

	CHECK_EQ(pathcache_dump(flood->cache, count, &s), 0);
	return s.n != 0;
}

unsigned flood_known(struct flood *flood, const char *prefix)
{
	struct search s = {.prefix = prefix, .len = strlen(prefix)};

	CHECK_EQ(pathcache_dump(flood->cache, count, &s), 0);
	return s.n;
}
