/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "play_change.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static int make_file(int root, const char *path, bool exclusive, struct change *change)
{
	int fd = openat(root, path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0644);

	if (fd < 0 && errno == EEXIST && !exclusive) {
		change->path = NULL;
		fd = openat(root, path, O_RDWR | O_CLOEXEC);
	}
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static int make_link(int root, const char *path, const char *whole)
{
	char normal[PATH_MAX], text[NAME_MAX + 1];
	int error = operation_normal(whole, normal, sizeof(normal), NULL, NULL);

	if (!error && !*normal)
		error = -EEXIST;
	if (!error)
		error = origin_link_text(normal, text, sizeof(text));
	if (error)
		return error;
	return symlinkat(text, root, path) ? -errno : 0;
}

/* Who renames knows what; it is asked for here, in the time of all rivals. */
static int rename_path(int root, const char *path, const struct operation *op,
                       struct change *change)
{
	const char *to = kernel_path(change->to);
	struct stat st;

	if (renameat2(root, path, root, to, op->result == -EEXIST ? RENAME_NOREPLACE : 0))
		return -errno;
	change->directory = !fstatat(root, to, &st, AT_SYMLINK_NOFOLLOW) &&
	                    (S_ISDIR(st.st_mode) || S_ISLNK(st.st_mode));
	return 0;
}

static int change_attributes(struct play *play, enum operation_kind kind, const char *path)
{
	int root = play->staged.fd, rc;

	if (kind == OPERATION_CHMOD)
		rc = fchmodat(root, path, play->modes++ % 2 ? 0755 : 0711, 0);
	else if (kind == OPERATION_CHOWN)
		rc = fchownat(root, path, geteuid(), (gid_t)-1, AT_SYMLINK_NOFOLLOW);
	else
		rc = utimensat(root, path, NULL, AT_SYMLINK_NOFOLLOW);
	return rc ? -errno : 0;
}

int play_change(struct play *play, const struct operation *op, struct change *change)
{
	const char *path = operation_path(play->recording, op), *at = kernel_path(path);
	int root = play->staged.fd;

	*change = (struct change){.kind = op->kind, .path = path};
	switch (op->kind) {
	case OPERATION_CREATE:
		return make_file(root, at, op->result == -EEXIST, change);
	case OPERATION_UNLINK:
		return unlinkat(root, at, 0) ? -errno : 0;
	case OPERATION_RMDIR:
		return unlinkat(root, at, AT_REMOVEDIR) ? -errno : 0;
	case OPERATION_MKDIR:
		return mkdirat(root, at, 0755) ? -errno : 0;
	case OPERATION_SYMLINK:
		return make_link(root, at, path);
	case OPERATION_RENAME:
		change->to = play->recording->texts + op->to;
		return rename_path(root, at, op, change);
	default:
		return change_attributes(play, op->kind, at);
	}
}
