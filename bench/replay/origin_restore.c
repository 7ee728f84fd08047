/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "origin.h"
#include "origin_place.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct restore {
	struct origin *origin;
	const struct staged *staged;
	origin_change_fn fn;
	void *arg;
};

static void tell(const struct restore *restore, enum operation_kind kind, const char *path)
{
	if (restore->fn)
		restore->fn(restore->arg, kind, path);
}

int origin_link_text(const char *path, char *out, size_t size)
{
	const char *name = strrchr(path, '/') + 1;

	return snprintf(out, size, ".%s.to", name) < (int)size ? 0 : -ENAMETOOLONG;
}

/* ---- what is not to be there ---- */

/* A directory that was moved to path brought with it what no operation names. */
static int remove_tree(const struct restore *restore, const char *path)
{
	char full[2 * PATH_MAX];
	char *roots[2] = {full, NULL};
	FTSENT *entry;
	FTS *tree;
	int error = 0;

	snprintf(full, sizeof(full), "%s%s", restore->staged->dir, path);
	tree = fts_open(roots, FTS_PHYSICAL | FTS_XDEV, NULL);
	if (!tree)
		return -errno;
	while (!error && (entry = fts_read(tree))) {
		if (entry->fts_info != FTS_D && remove(entry->fts_accpath))
			error = -errno;
	}
	fts_close(tree);
	return error;
}

static int take_away(const struct restore *restore, const char *path, bool directory)
{
	int error = 0;

	if (unlinkat(restore->staged->fd, path + 1, directory ? AT_REMOVEDIR : 0)) {
		error = errno == ENOTEMPTY || errno == EEXIST ? remove_tree(restore, path) : -errno;
		if (error)
			return error;
	}
	tell(restore, directory ? OPERATION_RMDIR : OPERATION_UNLINK, path);
	return 0;
}

static bool is_as_before(const struct origin_place *place, mode_t mode)
{
	if (!(place->flags & PLACE_EXISTS))
		return false;
	if (place->flags & PLACE_LINK)
		return S_ISLNK(mode);
	return place->flags & PLACE_DIRECTORY ? S_ISDIR(mode) : S_ISREG(mode);
}

static int remove_changed(const struct restore *restore, const struct origin_place *place)
{
	struct stat st;

	if (!(place->flags & PLACE_CHANGED) ||
	    fstatat(restore->staged->fd, place->path + 1, &st, AT_SYMLINK_NOFOLLOW))
		return 0;
	if (is_as_before(place, st.st_mode))
		return 0;
	return take_away(restore, place->path, S_ISDIR(st.st_mode));
}

/* ---- what is to be there ---- */

static int make_file(int at, const char *path)
{
	int fd = openat(at, path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static int make_directory(int at, const char *path)
{
	return mkdirat(at, path, 0755) ? -errno : 0;
}

static int make_target(const struct restore *restore, const char *path, bool directory)
{
	char text[NAME_MAX + 1], target[PATH_MAX];
	int dir = (int)(strrchr(path, '/') - path);

	if (origin_link_text(path, text, sizeof(text)))
		return -ENAMETOOLONG;
	if (snprintf(target, sizeof(target), "%.*s/%s", dir, path, text) >= (int)sizeof(target))
		return -ENAMETOOLONG;
	return directory ? make_directory(restore->staged->fd, target + 1)
	                 : make_file(restore->staged->fd, target + 1);
}

static int make_link(const struct restore *restore, const struct origin_place *place)
{
	bool directory = place->flags & PLACE_DIRECTORY;
	char text[NAME_MAX + 1];
	int error = 0;

	if (directory || !(place->flags & PLACE_LED_NOWHERE))
		error = make_target(restore, place->path, directory);
	if ((error && error != -EEXIST) || origin_link_text(place->path, text, sizeof(text)))
		return error ? error : -ENAMETOOLONG;
	return symlinkat(text, restore->staged->fd, place->path + 1) ? -errno : 0;
}

static void make(const struct restore *restore, const struct origin_place *place)
{
	enum operation_kind kind = OPERATION_CREATE;
	int error;

	if (place->flags & PLACE_LINK) {
		kind = OPERATION_SYMLINK;
		error = make_link(restore, place);
	} else if (place->flags & PLACE_DIRECTORY) {
		kind = OPERATION_MKDIR;
		error = make_directory(restore->staged->fd, place->path + 1);
	} else {
		error = make_file(restore->staged->fd, place->path + 1);
	}
	if (!error)
		tell(restore, kind, place->path);
	else if (error != -EEXIST)
		restore->origin->left_out++;
}

int origin_restore(struct origin *origin, const struct staged *staged, origin_change_fn fn,
                   void *arg)
{
	struct restore restore = {.origin = origin, .staged = staged, .fn = fn, .arg = arg};
	int error = 0;

	for (size_t i = origin->count; i-- && !error;)
		error = remove_changed(&restore, &origin->places[i]);
	origin->left_out = 0;
	for (size_t i = 0; i < origin->count && !error; i++) {
		const struct origin_place *place = &origin->places[i];

		if (place->flags & PLACE_EXISTS)
			make(&restore, place);
		else if (place->flags & PLACE_TARGET)
			make_target(&restore, place->path, place->flags & PLACE_TARGET_DIRECTORY);
	}
	return error;
}
