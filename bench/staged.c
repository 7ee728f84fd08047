/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "staged.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int staged_init(struct staged *staged)
{
	const char *tmp = getenv("TMPDIR");
	int error;

	*staged = (struct staged){.fd = -1};
	snprintf(staged->dir, sizeof(staged->dir), "%s/bench-lookup-XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(staged->dir)) {
		error = -errno;
		staged->dir[0] = '\0';
		return error;
	}
	staged->fd = open(staged->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (staged->fd >= 0)
		return 0;
	error = -errno;
	staged_fini(staged);
	return error;
}

int staged_add_parents(const struct staged *staged, const char *path)
{
	char prefix[PATH_MAX];

	for (const char *at = path; (at = strchr(at + 1, '/'));) {
		if (snprintf(prefix, sizeof(prefix), "%.*s", (int)(at - path), path) >=
		    (int)sizeof(prefix))
			return -ENAMETOOLONG;
		if (mkdirat(staged->fd, prefix + 1, 0755) && errno != EEXIST)
			return -errno;
	}
	return 0;
}

int staged_add(const struct staged *staged, const char *path, bool directory)
{
	int fd;

	if (directory)
		return mkdirat(staged->fd, path + 1, 0755) && errno != EEXIST ? -errno : 0;
	fd = openat(staged->fd, path + 1, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
	if (fd < 0)
		return errno == EEXIST ? 0 : -errno;
	return close(fd) ? -errno : 0;
}

void staged_fini(struct staged *staged)
{
	char *roots[2] = {staged->dir, NULL};
	FTSENT *entry;
	FTS *tree;

	if (staged->fd >= 0)
		close(staged->fd);
	staged->fd = -1;
	tree = staged->dir[0] ? fts_open(roots, FTS_PHYSICAL | FTS_XDEV, NULL) : NULL;
	while (tree && (entry = fts_read(tree))) {
		if (entry->fts_info != FTS_D && remove(entry->fts_accpath))
			fprintf(stderr, "note: cannot remove %s: %s\n", entry->fts_path,
			        strerror(errno));
	}
	if (tree)
		fts_close(tree);
	staged->dir[0] = '\0';
}
