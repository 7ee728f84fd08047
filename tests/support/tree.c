/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "run.h"

#define MUST(call) \
	do { \
		if ((call) < 0) \
			ts_die(__FILE__, __LINE__, "%s: %s (%s)", #call, strerror(errno), path); \
	} while (0)

static const char *temporary(void)
{
	const char *base = getenv("TMPDIR");

	return base && *base ? base : "/tmp";
}

/* ---- isolation --------------------------------------------------------- */

static char outer[PATH_MAX];
static int outer_parent = -1;

static void remove_outer(void)
{
	if (unlinkat(outer_parent, strrchr(outer, '/') + 1, AT_REMOVEDIR) != 0)
		fprintf(stderr, "left behind: %s: %s\n", outer, strerror(errno));
}

bool ts_isolate(void)
{
	char raw[PATH_MAX];

	if (outer_parent >= 0)
		return true;
	snprintf(raw, sizeof(raw), "%s/pathcache-XXXXXX", temporary());
	if (geteuid() != 0 || !mkdtemp(raw) || !realpath(raw, outer))
		return false;
	outer_parent = open(temporary(), O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (outer_parent < 0 || chmod(outer, 0755) != 0 || unshare(CLONE_NEWNS) != 0 ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount(outer, temporary(), NULL, MS_BIND, NULL) != 0) {
		rmdir(outer);
		close(outer_parent);
		outer_parent = -1;
		return false;
	}
	atexit(remove_outer);
	return true;
}

bool ts_isolated(void)
{
	return outer_parent >= 0;
}

/* ---- trees ------------------------------------------------------------- */

void ts_tree_make(struct ts_tree *tree)
{
	const char *path = tree->path;
	char raw[PATH_MAX];

	umask(0);
	snprintf(raw, sizeof(raw), "%s/pathcache-XXXXXX", temporary());
	if (!mkdtemp(raw) || !realpath(raw, tree->path))
		ts_die(__FILE__, __LINE__, "%s: %s", raw, strerror(errno));
	MUST(chmod(tree->path, 0755));
	MUST(tree->fd = open(tree->path, O_PATH | O_DIRECTORY | O_CLOEXEC));
}

/* By descriptors: a tree may be deeper than a path can say. */
static void remove_below(int dirfd, const char *path)
{
	int fd = openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct dirent *entry;
	DIR *dir;

	if (fd < 0)
		return;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return;
	}
	while ((entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (unlinkat(fd, entry->d_name, 0) == 0)
			continue;
		if (fchmodat(fd, entry->d_name, 0700, 0) == 0)
			remove_below(fd, entry->d_name);
		unlinkat(fd, entry->d_name, AT_REMOVEDIR);
	}
	closedir(dir);
}

void ts_tree_remove(struct ts_tree *tree)
{
	remove_below(tree->fd, ".");
	close(tree->fd);
	if (rmdir(tree->path) != 0)
		fprintf(stderr, "left behind: %s: %s\n", tree->path, strerror(errno));
}

void ts_dir(const struct ts_tree *tree, const char *path, mode_t mode)
{
	MUST(mkdirat(tree->fd, path, mode));
}

void ts_file(const struct ts_tree *tree, const char *path, mode_t mode, const char *text)
{
	int fd;

	MUST(fd = openat(tree->fd, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
	MUST(write(fd, text, strlen(text)));
	close(fd);
}

void ts_append(const struct ts_tree *tree, const char *path, const char *text)
{
	int fd;

	MUST(fd = openat(tree->fd, path, O_WRONLY | O_APPEND | O_CLOEXEC));
	MUST(write(fd, text, strlen(text)));
	close(fd);
}

void ts_symlink(const struct ts_tree *tree, const char *path, const char *text)
{
	MUST(symlinkat(text, tree->fd, path));
}

void ts_hardlink(const struct ts_tree *tree, const char *from, const char *path)
{
	MUST(linkat(tree->fd, from, tree->fd, path, 0));
}

void ts_rename(const struct ts_tree *tree, const char *from, const char *path)
{
	MUST(renameat(tree->fd, from, tree->fd, path));
}

void ts_exchange(const struct ts_tree *tree, const char *one, const char *path)
{
	MUST(syscall(SYS_renameat2, tree->fd, one, tree->fd, path, 2 /* RENAME_EXCHANGE */));
}

void ts_unlink(const struct ts_tree *tree, const char *path)
{
	MUST(unlinkat(tree->fd, path, 0));
}

void ts_rmdir(const struct ts_tree *tree, const char *path)
{
	MUST(unlinkat(tree->fd, path, AT_REMOVEDIR));
}

void ts_chmod(const struct ts_tree *tree, const char *path, mode_t mode)
{
	MUST(fchmodat(tree->fd, path, mode, 0));
}

void ts_chown(const struct ts_tree *tree, const char *path, uid_t uid, gid_t gid)
{
	MUST(fchownat(tree->fd, path, uid, gid, AT_SYMLINK_NOFOLLOW));
}

void ts_swap_link(const struct ts_tree *tree, const char *path, const char *text)
{
	MUST(symlinkat(text, tree->fd, "swap.tmp"));
	MUST(renameat(tree->fd, "swap.tmp", tree->fd, path));
}

uint64_t ts_ino(const struct ts_tree *tree, const char *path)
{
	struct stat st;

	MUST(fstatat(tree->fd, path, &st, AT_SYMLINK_NOFOLLOW));
	return st.st_ino;
}
