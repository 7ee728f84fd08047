/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "evict_report.h"

#include <errno.h>
#include <string.h>

enum { OPT, LRU };

/* ---- columns ---- */

/* The choice: rivals, and what was tried of the library's own. */
static const char choice[] = "opt,lru,fifo,clock,sieve,2q,s3fifo,s3fifo-1bit,"
			     "pc10,pc20,pc20-level,pc20-noghost";

static int check_policies(const char *policies)
{
	char one[64];

	for (const char *at = policies; *at; at += strspn(at, ",")) {
		size_t n = strcspn(at, ","), i = 0;

		snprintf(one, sizeof(one), "%.*s", (int)n, at);
		while (i < policy_nkinds && strcmp(policy_kinds[i].name, one) != 0)
			i++;
		if (i == policy_nkinds)
			return -EINVAL;
		at += n;
	}
	return 0;
}

int evict_report_init(struct evict_report *report, const char *policies, bool library)
{
	*report = (struct evict_report){0};
	if (!policies)
		policies = choice;
	if (check_policies(policies))
		return -EINVAL;
	/* The first two kinds are what all are compared with. */
	for (size_t i = 0; i < policy_nkinds; i++) {
		if (i > LRU && !bench_is_listed(policies, policy_kinds[i].name))
			continue;
		if (report->nkinds + library == EVICT_MODES)
			return -EINVAL;
		report->kinds[report->nkinds++] = &policy_kinds[i];
	}
	report->nmodes = report->nkinds + library;
	bench_table_init(&report->table, 2);
	return 0;
}

void evict_report_fini(struct evict_report *report)
{
	bench_table_fini(&report->table);
}

const char *evict_report_mode(const struct evict_report *report, size_t mode)
{
	return mode < report->nkinds ? report->kinds[mode]->name : "library";
}

/* ---- results ---- */

static double percent(uint64_t part, uint64_t all)
{
	return all ? 100.0 * (double)part / (double)all : 0;
}

static void write_csv(struct evict_report *report, const struct evict_row *row, size_t mode,
                      const char *extra)
{
	const struct bench_cell cell = {
		.bench = "evict",
		.scenario = row->requests->name,
		.threads = 1,
		.depth = row->requests->depth,
		.paths = row->requests->objects,
	};
	char all[256];

	snprintf(all, sizeof(all), "keys=%s;size=%s;capacity=%u;hit_percent=%.3f;%s", row->keys,
	         row->size, row->capacity, row->hit[mode], extra);
	if (report->csv)
		bench_csv_row(report->csv, &cell, evict_report_mode(report, mode),
		              &(struct bench_result){0}, all);
}

void evict_report_policy(struct evict_report *report, struct evict_row *row, size_t mode,
                         const struct policy_result *result)
{
	char extra[96];

	row->known[mode] = true;
	row->hit[mode] = percent(result->hits, result->queries);
	row->steps[mode] = result->steps;
	snprintf(extra, sizeof(extra), "queries=%ju;steps_per_eviction=%.2f",
	         (uintmax_t)result->queries, result->steps);
	write_csv(report, row, mode, extra);
}

void evict_report_library(struct evict_report *report, struct evict_row *row,
                          const struct evict_cache_result *result)
{
	size_t mode = report->nkinds;
	char extra[160];

	row->known[mode] = true;
	row->hit[mode] = percent(result->hits, result->queries);
	snprintf(extra, sizeof(extra),
	         "queries=%ju;budget=%ju;bytes=%ju;dentries=%ju;memos=%ju;uncached=%ju",
	         (uintmax_t)result->queries, (uintmax_t)result->budget, (uintmax_t)result->bytes,
	         (uintmax_t)result->dentries, (uintmax_t)result->memos,
	         (uintmax_t)result->uncached);
	write_csv(report, row, mode, extra);
}

/* ---- means ---- */

static struct evict_group *group_of(struct evict_report *report, const char *name)
{
	for (size_t i = 0; i < report->ngroups; i++) {
		if (!strcmp(report->groups[i].name, name))
			return &report->groups[i];
	}
	if (report->ngroups == EVICT_GROUPS)
		return NULL;
	snprintf(report->groups[report->ngroups].name, sizeof(report->groups[0].name), "%s", name);
	return &report->groups[report->ngroups++];
}

static void add(double difference, const char *name, double *sum, double *worst,
                char worst_name[64])
{
	*sum += difference;
	if (worst_name[0] && difference >= *worst)
		return;
	*worst = difference;
	snprintf(worst_name, 64, "%s", name);
}

static int add_to_group(struct evict_report *report, const struct evict_row *row)
{
	struct evict_group *group = group_of(report, row->group);
	const char *name = row->requests->name;

	if (!group)
		return -ENOSPC;
	for (size_t m = 0; m < report->nmodes; m++) {
		struct evict_sums *sums = &group->sums[m];

		if (!row->known[m])
			continue;
		sums->rows++;
		sums->hit += row->hit[m];
		sums->steps += row->steps[m];
		add(row->hit[m] - row->hit[LRU], name, &sums->lru, &sums->lru_worst,
		    sums->lru_name);
		add(row->hit[m] - row->hit[OPT], name, &sums->opt, &sums->opt_worst,
		    sums->opt_name);
	}
	return 0;
}

int evict_report_means(struct evict_report *report)
{
	int error = 0;

	for (size_t i = 0; i < report->ngroups && !error; i++) {
		const struct evict_group *group = &report->groups[i];
		char title[128];

		bench_table_row(
			&report->table,
			"policy\thit %%\tto lru\tworst\twhere\tto opt\tworst\twhere\tsteps");
		for (size_t m = 0; m < report->nmodes; m++) {
			const struct evict_sums *s = &group->sums[m];
			double n = s->rows;

			if (!s->rows)
				continue;
			bench_table_row(&report->table,
			                "%s\t%.2f\t%+.2f\t%+.2f\t%s\t%+.2f\t%+.2f\t%s\t%.1f",
			                evict_report_mode(report, m), s->hit / n, s->lru / n,
			                s->lru_worst, s->lru_name, s->opt / n, s->opt_worst,
			                s->opt_name, s->steps / n);
		}
		snprintf(title, sizeof(title), "mean of %u traces, %s", group->sums[OPT].rows,
		         group->name);
		error = evict_report_table(report, title);
	}
	return error;
}

/* ---- tables ---- */

/* sign: what a positive cell begins with. */
static void add_cells(struct evict_report *report, const char *name, const char *size,
                      const char *sign, const double cells[], const bool known[])
{
	char text[512];
	size_t at = 0;

	for (size_t m = 0; m < report->nmodes && at < sizeof(text); m++) {
		int n;

		if (known[m])
			n = snprintf(text + at, sizeof(text) - at, "\t%s%.2f",
			             cells[m] > 0 ? sign : "", cells[m]);
		else
			n = snprintf(text + at, sizeof(text) - at, "\t-");
		at += n > 0 ? (size_t)n : 0;
	}
	bench_table_row(&report->table, "%s\t%s%s", name, size, text);
}

static void add_heads(struct evict_report *report)
{
	char text[512];
	size_t at = 0;

	for (size_t m = 0; m < report->nmodes && at < sizeof(text); m++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "\t%s",
		                       evict_report_mode(report, m));
	bench_table_row(&report->table, "hit %%\tcapacity%s", text);
}

int evict_report_row(struct evict_report *report, const struct evict_row *row)
{
	if (!report->table.nrows)
		add_heads(report);
	add_cells(report, row->label ? row->label : row->requests->name, row->size, "", row->hit,
	          row->known);
	return row->group ? add_to_group(report, row) : 0;
}

void evict_report_lost(struct evict_report *report, const struct evict_row *beside,
                       const struct evict_row *alone)
{
	double lost[EVICT_MODES];

	for (size_t m = 0; m < report->nmodes; m++)
		lost[m] = beside->hit[m] - alone->hit[m];
	add_cells(report, "  to the set alone", "", "+", lost, beside->known);
}

int evict_report_table(struct evict_report *report, const char *title)
{
	int failed = report->table.failed;

	if (report->table.nrows) {
		printf("\n%s\n", title);
		bench_table_print(&report->table, stdout);
	}
	bench_table_fini(&report->table);
	bench_table_init(&report->table, 2);
	return failed ? -ENOMEM : 0;
}
