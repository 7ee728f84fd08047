/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The ratios that are asked about, out of the figures. */
#include "rivals.h"

#include <math.h>
#include <string.h>

/* The error of the harness that is aimed at, on an idle machine. */
static const double aim = 0.03;

static bool is_lockref(const char *mode)
{
	return strncmp(mode, "lockref", 7) == 0;
}

static bool is_locked(const char *mode)
{
	return strncmp(mode, "locked_", 7) == 0;
}

/* Counts that all threads share. */
static bool is_shared(const char *mode)
{
	return strncmp(mode, "per", 3) != 0 && strncmp(mode, "rwsem", 5) != 0 &&
	       strcmp(mode, "rcu") != 0;
}

static bool is_spread(const char *mode)
{
	return strncmp(mode, "per", 3) == 0;
}

static bool is_in(const struct figure *figure, const char *scenario, unsigned int threads)
{
	return figure->threads == threads && strcmp(figure->scenario, scenario) == 0;
}

static const struct figure *find(const struct bench *bench, const char *scenario,
                                 unsigned int threads, const char *mode)
{
	for (size_t i = 0; i < bench->nfigures; i++) {
		const struct figure *figure = &bench->figure[i];

		if (is_in(figure, scenario, threads) && strcmp(figure->mode, mode) == 0)
			return figure;
	}
	return NULL;
}

static const struct figure *fastest(const struct bench *bench, const char *scenario,
                                    unsigned int threads, bool (*is_one)(const char *mode))
{
	const struct figure *best = NULL;

	for (size_t i = 0; i < bench->nfigures; i++) {
		const struct figure *figure = &bench->figure[i];

		if (is_in(figure, scenario, threads) && is_one(figure->mode) &&
		    (!best || figure->mops > best->mops))
			best = figure;
	}
	return best;
}

/* The second of the pair is compared with the first in each round. */
static void print_self(const struct bench *bench, FILE *out)
{
	for (size_t i = 0; i + 1 < bench->nfigures; i++) {
		const struct figure *b = &bench->figure[i + 1];

		if (strcmp(bench->figure[i].scenario, "self") != 0 ||
		    !is_in(b, "self", bench->figure[i].threads))
			continue;
		fprintf(out, "A against A, %u thread%s: %.1f %% apart (median of pairs), %s 3 %%\n",
		        b->threads, b->threads == 1 ? "" : "s", fabs(b->rel - 1) * 100,
		        fabs(b->rel - 1) <= aim ? "within" : "NOT within");
	}
}

/* how many times as fast as figure the first one is */
static void print_ratio(const struct figure *first, const struct figure *figure, FILE *out)
{
	if (first && figure && figure->mops > 0)
		fprintf(out, "%s, %u thread%s: %s %.2f x %s\n", first->scenario, first->threads,
		        first->threads == 1 ? "" : "s", first->mode, first->mops / figure->mops,
		        figure->mode);
}

static void print_each(const struct bench *bench, unsigned int threads,
                       bool (*is_one)(const char *mode), FILE *out)
{
	const struct figure *word = find(bench, "open3", threads, "word");

	for (size_t i = 0; i < bench->nfigures && word; i++) {
		const struct figure *figure = &bench->figure[i];

		if (is_in(figure, "open3", threads) && is_one(figure->mode))
			print_ratio(word, figure, out);
	}
}

static unsigned int most_threads(const struct bench *bench)
{
	unsigned int most = 0;

	for (size_t i = 0; i < bench->nfigures; i++)
		if (bench->figure[i].threads > most)
			most = bench->figure[i].threads;
	return most;
}

static void print_open(const struct bench *bench, unsigned int threads, FILE *out)
{
	print_ratio(find(bench, "open3", 1, "word"), fastest(bench, "open3", 1, is_lockref), out);
	if (threads > 1) {
		print_each(bench, threads, is_lockref, out);
		print_each(bench, threads, is_locked, out);
	}
}

static void print_rcu(const struct bench *bench, const char *scenario, unsigned int threads,
                      FILE *out)
{
	const struct figure *rcu = find(bench, scenario, threads, "rcu");

	print_ratio(rcu, fastest(bench, scenario, threads, is_shared), out);
	print_ratio(rcu, fastest(bench, scenario, threads, is_spread), out);
}

void print_verdicts(const struct bench *bench, FILE *out)
{
	unsigned int threads = most_threads(bench);

	print_self(bench, out);
	print_open(bench, threads, out);
	print_rcu(bench, "open3", threads, out);
	print_rcu(bench, "stat2", threads, out);
}
