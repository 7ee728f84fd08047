/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "mountinfo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_MIN ((size_t)32 << 10)
#define TEXT_MAX ((size_t)256 << 20)

/* ---- text ----------------------------------------------------------------- */

/* All of fd, NUL-terminated. */
static int text_read(int fd, char **out, size_t *len)
{
	size_t size = TEXT_MIN, n = 0;
	char *text = malloc(size), *more;
	ssize_t got = -1;

	if (text && lseek(fd, 0, SEEK_SET) == 0)
		while ((got = read(fd, text + n, size - 1 - n)) > 0) {
			n += (size_t)got;
			if (n < size - 1)
				continue;
			size *= 2;
			more = size <= TEXT_MAX ? realloc(text, size) : NULL;
			if (!more) {
				free(text);
				return -ENOMEM;
			}
			text = more;
		}
	if (got < 0) {
		int err = text ? -errno : -ENOMEM;

		free(text);
		return err;
	}
	text[n] = '\0';
	*out = text;
	*len = n;
	return 0;
}

static bool is_octal(const char *s)
{
	return s[0] >= '0' && s[0] <= '3' && s[1] >= '0' && s[1] <= '7' && s[2] >= '0' &&
	       s[2] <= '7';
}

/* "\040" is a space, and so on; in place. */
static void unescape(char *s)
{
	char *to = s;

	while (*s) {
		if (*s == '\\' && is_octal(s + 1)) {
			*to++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			s += 4;
		} else {
			*to++ = *s++;
		}
	}
	*to = '\0';
}

/* The next word of the line at *at, cut off and unescaped. NULL: no more. */
static char *word(char **at)
{
	char *s = *at, *end;

	if (!s || !*s)
		return NULL;
	end = strchr(s, ' ');
	*at = end ? end + 1 : NULL;
	if (end)
		*end = '\0';
	unescape(s);
	return s;
}

/* ---- a line --------------------------------------------------------------- */

static bool number(const char *s, uint32_t *out)
{
	unsigned long n;
	char *end;

	if (!s || *s < '0' || *s > '9')
		return false;
	errno = 0;
	n = strtoul(s, &end, 10);
	*out = (uint32_t)n;
	return !errno && !*end && n <= UINT32_MAX;
}

static uint32_t option_flags(char *options)
{
	uint32_t flags = 0;
	char *save, *o;

	for (o = strtok_r(options, ",", &save); o; o = strtok_r(NULL, ",", &save)) {
		if (strcmp(o, "ro") == 0)
			flags |= PC_MOUNT_RO;
		else if (strcmp(o, "noexec") == 0)
			flags |= PC_MOUNT_NOEXEC;
	}
	return flags;
}

/* 36 35 98:0 /root /point rw,noatime master:1 - ext3 /dev/root rw,errors=continue */
static bool line_parse(char *line, struct pc_mount *m)
{
	char *options, *w;

	memset(m, 0, sizeof(*m));
	if (!number(word(&line), &m->id) || !number(word(&line), &m->parent))
		return false;
	m->dev = word(&line);
	m->root = word(&line);
	m->point = word(&line);
	options = word(&line);
	if (!options || m->point[0] != '/')
		return false;
	m->flags = option_flags(options);
	do {
		w = word(&line);
	} while (w && strcmp(w, "-") != 0);
	m->type = word(&line);
	/* The source may be the empty word. */
	if (!w || !m->type || !line)
		return false;
	if (*line == ' ') {
		m->source = "";
		line++;
	} else {
		m->source = word(&line);
	}
	options = word(&line);
	m->flags |= options ? option_flags(options) : 0;
	m->name = strrchr(m->point, '/') + 1;
	return true;
}

/* ---- the table -------------------------------------------------------------- */

static int by_id(const void *a, const void *b)
{
	const struct pc_mount *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static uint32_t lines(const char *text)
{
	uint32_t n = 0;

	for (; (text = strchr(text, '\n')) != NULL; text++)
		n++;
	return n;
}

static int table_parse(struct pc_mount_table *t)
{
	char *line = t->text, *end;

	for (; (end = strchr(line, '\n')) != NULL; line = end + 1) {
		*end = '\0';
		if (!line_parse(line, &t->mount[t->n]))
			return -EBADMSG;
		t->n++;
	}
	if (*line)
		return -EBADMSG;
	qsort(t->mount, t->n, sizeof(*t->mount), by_id);
	for (uint32_t i = 1; i < t->n; i++)
		if (t->mount[i].id == t->mount[i - 1].id)
			return -EBADMSG; /* the table has changed while it was read */
	return 0;
}

int pc_mount_table_read(struct pc_mount_table *t, int fd)
{
	size_t len = 0;
	int rc;

	memset(t, 0, sizeof(*t));
	rc = text_read(fd, &t->text, &len);
	if (rc)
		return rc;
	if (strlen(t->text) != len) {
		pc_mount_table_free(t);
		return -EBADMSG;
	}
	t->mount = calloc(lines(t->text) + (size_t)1, sizeof(*t->mount));
	rc = t->mount ? table_parse(t) : -ENOMEM;
	if (rc)
		pc_mount_table_free(t);
	return rc;
}

void pc_mount_table_free(struct pc_mount_table *t)
{
	free(t->mount);
	free(t->text);
	memset(t, 0, sizeof(*t));
}

struct pc_mount *pc_mount_by_id(const struct pc_mount_table *t, uint32_t id)
{
	const struct pc_mount key = {.id = id};

	return t->n ? bsearch(&key, t->mount, t->n, sizeof(key), by_id) : NULL;
}
