/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How much memory the system gives for what the cache counts. What the
 * allocator loses to size classes is counted, so what is left are pages that are
 * not full, and those freed and not yet given back: when names of all lengths
 * have gone through for long, and when the budget was made smaller.
 */
#include <stdio.h>
#include <string.h>

#include "endless.h"
#include "oracle.h"
#include "run.h"
#include "testing.h"

#define BUDGET ((uint64_t)16 << 20)
#define FULL 135u /* percent */

/* A page is given back when all of it is free, and what is left is spread over many. */
#define SHRUNK 250u

struct margin {
	struct ts_endless ns;
	struct pathcache *cache;
	struct ts_rng rng;
	unsigned next;
	bool huge_pages;
};

static void margin_begin(struct margin *m, bool huge_pages)
{
	struct pathcache_options opt;

	memset(m, 0, sizeof(*m));
	m->rng = ts_rng(1);
	m->huge_pages = huge_pages;
	pathcache_options_init(&opt);
	opt.budget = BUDGET;
	opt.huge_pages = huge_pages;
	ts_endless_open(&m->ns, &m->cache, &opt);
}

/* One more name, of a length that may be any; now and then absent, or asked until a memo is made. */
static void ask_next(struct margin *m)
{
	static const char filler[] = "-a-filler-that-is-longer-than-most-names-are-so-that-what-"
				     "goes-leaves-holes-of-all-sizes-and-what-comes-may-not-fit";
	unsigned len = ts_below(&m->rng, 4) ? ts_below(&m->rng, 24) : ts_below(&m->rng, 110);
	unsigned times = ts_below(&m->rng, 8) ? 1 : 4;
	char path[256];

	snprintf(path, sizeof(path), "d%u/%s%u%.*s", m->next / 64,
	         ts_below(&m->rng, 10) ? "f" : "absent", m->next, (int)len, filler);
	ts_offline();
	while (times-- > 0)
		ts_stat_err(m->cache, path);
	ts_online();
	m->next++;
}

static void fill(struct margin *m)
{
	while (!ts_stats(m->cache).evicted)
		ask_next(m);
}

/*
 * Once the kernel has made what huge pages it may, as it does in the background.
 * limit: percent of what is counted, beside what stands for itself: two huge pages.
 */
static void check_margin(struct margin *m, const char *when, unsigned limit)
{
	uint64_t resident, bytes = ts_stats(m->cache).bytes;

	if (m->huge_pages)
		pc_test_collapse(m->cache);
	resident = pc_test_resident(m->cache);
	printf("      %-28s%s %6llu KiB counted, %6llu resident: %.3f\n", when,
	       m->huge_pages ? " huge" : "     ", (unsigned long long)bytes >> 10,
	       (unsigned long long)resident >> 10, (double)resident / (double)bytes);
	CHECK(resident <= bytes / 100 * limit + ((uint64_t)4 << 20));
}

/* Pages that were given back and that huge pages brought back since. */
static void check_emptied(struct margin *m)
{
	CHECK_EQ(pathcache_set_budget(m->cache, 0), 0);
	CHECK_EQ(pathcache_set_budget(m->cache, BUDGET), 0);
	if (m->huge_pages)
		pc_test_collapse(m->cache);
	CHECK_EQ(pathcache_set_budget(m->cache, BUDGET / 2), 0);
	check_margin(m, "emptied and half of it", SHRUNK);
}

static void scenario(bool huge_pages)
{
	struct margin m;
	unsigned once;

	margin_begin(&m, huge_pages);
	if (!pc_test_resident(m.cache)) {
		ts_skip("this build's allocator does not tell");
		ts_endless_close(&m.ns, m.cache);
		return;
	}
	fill(&m);
	check_margin(&m, "filled", FULL);
	once = m.next;
	for (unsigned i = 0; i < 10; i++) {
		while (m.next < once * (i + 2))
			ask_next(&m);
		if (i % 5 == 4)
			check_margin(&m, "gone through", FULL);
	}
	CHECK_EQ(pathcache_set_budget(m.cache, BUDGET / 4), 0);
	check_margin(&m, "a quarter of the budget", SHRUNK);
	for (unsigned i = 0; i < once; i++)
		ask_next(&m);
	check_margin(&m, "and used again", SHRUNK);
	CHECK_EQ(pathcache_set_budget(m.cache, 0), 0);
	check_margin(&m, "nothing", SHRUNK);
	CHECK_EQ(pathcache_set_budget(m.cache, BUDGET), 0);
	for (unsigned i = 0; i < once; i++)
		ask_next(&m);
	check_margin(&m, "all of it again", FULL);
	check_emptied(&m);
	ts_endless_close(&m.ns, m.cache);
}

static void small_pages(void)
{
	scenario(false);
}

static void huge_pages(void)
{
	scenario(true);
}

static const struct ts_case cases[] = {
	TS_CASE(small_pages),
	TS_CASE(huge_pages),
};

int main(int argc, char **argv)
{
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
