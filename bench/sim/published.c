/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "published.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 8, LINE_MAX_ = 512 };

static const char header[] = "id,table,scenario,variant,workers,value,unit,machine";

static int split(char *line, char *columns[COLUMNS])
{
	size_t n = 0;

	line[strcspn(line, "\r\n")] = '\0';
	for (char *field = line; field; n++) {
		char *comma = strchr(field, ',');

		if (n == COLUMNS)
			return -EINVAL;
		columns[n] = field;
		if (comma)
			*comma++ = '\0';
		field = comma;
	}
	return n == COLUMNS ? 0 : -EINVAL;
}

static int copy(char *out, size_t size, const char *text)
{
	return (size_t)snprintf(out, size, "%s", text) < size ? 0 : -EINVAL;
}

static int parse_numbers(struct sim_row *row, const char *workers, const char *value)
{
	char *end;
	unsigned long count = strtoul(workers, &end, 10);

	if (*end || end == workers || !count || count > 1024)
		return -EINVAL;
	row->workers = (unsigned int)count;
	row->value = strtod(value, &end);
	return *end || end == value || !(row->value > 0) ? -EINVAL : 0;
}

static int parse(struct sim_row *row, char *line)
{
	char *columns[COLUMNS];

	if (split(line, columns) || copy(row->id, sizeof(row->id), columns[0]) ||
	    copy(row->table, sizeof(row->table), columns[1]) ||
	    copy(row->scenario, sizeof(row->scenario), columns[2]) ||
	    copy(row->variant, sizeof(row->variant), columns[3]) ||
	    copy(row->unit, sizeof(row->unit), columns[6]) ||
	    copy(row->machine, sizeof(row->machine), columns[7]))
		return -EINVAL;
	return parse_numbers(row, columns[4], columns[5]);
}

static int read_rows(struct sim_published *published, FILE *file)
{
	char line[LINE_MAX_];

	if (!fgets(line, sizeof(line), file) || strncmp(line, header, sizeof(header) - 1) != 0)
		return -EINVAL;
	while (fgets(line, sizeof(line), file)) {
		if (published->n == SIM_ROWS_MAX)
			return -E2BIG;
		if (parse(&published->rows[published->n], line))
			return -EINVAL;
		published->n++;
	}
	return 0;
}

int sim_published_read(struct sim_published *published, const char *path)
{
	FILE *file = fopen(path, "re");
	int error;

	if (!file)
		return -errno;
	published->n = 0;
	error = read_rows(published, file);
	fclose(file);
	return error;
}

const struct sim_row *sim_published_find(const struct sim_published *published, const char *id)
{
	for (size_t i = 0; i < published->n; i++)
		if (!strcmp(published->rows[i].id, id))
			return &published->rows[i];
	return NULL;
}
