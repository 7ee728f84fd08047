/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What others have published: bench/published.csv. */
#ifndef BENCH_SIM_PUBLISHED_H
#define BENCH_SIM_PUBLISHED_H

#include <stddef.h>

enum { SIM_ROWS_MAX = 256 };

struct sim_row {
	char id[48];
	char table[32];
	char scenario[32];
	char variant[48];
	char unit[48];
	char machine[48];
	unsigned int workers;
	double value;
};

struct sim_published {
	struct sim_row rows[SIM_ROWS_MAX];
	size_t n;
};

/*
 * Read the file.
 * Return: 0; the negative errno of opening it; -EINVAL for what is not such a
 *	file; -E2BIG for too many rows.
 */
int sim_published_read(struct sim_published *published, const char *path);

/* NULL when there is no such row. */
const struct sim_row *sim_published_find(const struct sim_published *published, const char *id);

#endif
