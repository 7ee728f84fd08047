/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "temptree.h"

#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	FILES = 1000, /* in a directory */
	DIRS = 16,    /* of these in another */
};

static volatile sig_atomic_t interrupted;

static void on_signal(int signal)
{
	(void)signal;
	interrupted = 1;
}

/* The second one ends the process as ever. */
static void watch_signals(void)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

bool temptree_interrupted(void)
{
	return interrupted;
}

static const char *default_base(void)
{
	const char *dir = getenv("TMPDIR");

	if (dir && *dir)
		return dir;
	return access("/dev/shm", W_OK | X_OK) ? "/tmp" : "/dev/shm";
}

static int make_root(struct temptree *tree, const char *base)
{
	char *real = realpath(base ? base : default_base(), NULL);

	if (!real)
		return -errno;
	if (asprintf(&tree->dir, "%s/pathcache-bench-XXXXXX", real) < 0)
		tree->dir = NULL;
	free(real);
	if (!tree->dir)
		return -ENOMEM;
	if (mkdtemp(tree->dir))
		return 0;
	free(tree->dir);
	tree->dir = NULL;
	return -errno;
}

static int make_dir(const struct temptree *tree, size_t dir)
{
	char path[PATH_MAX];

	if (dir % DIRS == 0) {
		snprintf(path, sizeof(path), "%s/group%03zu", tree->dir, dir / DIRS);
		if (mkdir(path, 0755))
			return -errno;
	}
	snprintf(path, sizeof(path), "%s/group%03zu/dir%02zu", tree->dir, dir / DIRS, dir % DIRS);
	return mkdir(path, 0755) ? -errno : 0;
}

static int make_file(const struct temptree *tree, size_t file)
{
	size_t dir = file / FILES;
	char path[PATH_MAX];
	int fd, error = file % FILES ? 0 : make_dir(tree, dir);

	if (error)
		return error;
	snprintf(path, sizeof(path), "%s/group%03zu/dir%02zu/file%03zu_of_many.txt", tree->dir,
	         dir / DIRS, dir % DIRS, file % FILES);
	fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	close(fd);
	return temptree_interrupted() ? -EINTR : 0;
}

int temptree_make(struct temptree *tree, const char *base, size_t files, const char *label)
{
	struct bench_progress progress;
	int error;

	tree->dir = NULL;
	watch_signals();
	error = make_root(tree, base);
	if (files)
		bench_progress_begin(&progress, label, files);
	for (size_t i = 0; i < files && !error; i++) {
		error = make_file(tree, i);
		bench_progress_step(&progress, i);
	}
	if (files)
		bench_progress_end(&progress, error ? 0 : files);
	if (error)
		temptree_remove(tree);
	return error;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type, (void)at;
	return remove(path);
}

int temptree_remove(struct temptree *tree)
{
	int error = 0;

	if (!tree->dir)
		return 0;
	if (nftw(tree->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS))
		error = errno ? -errno : -EIO;
	free(tree->dir);
	tree->dir = NULL;
	return error;
}
