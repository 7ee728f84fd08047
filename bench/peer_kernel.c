/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The kernel's own calls, which a cache stands for: stat(2) and access(2) by path,
 * and statx(2) of a last component below a directory that is held open, as a
 * program does it that keeps its directories.
 */
#define _GNU_SOURCE
#include "peer_hash.h"
#include "peer_kernel.h"
#include "peers.h"

#include "recorded.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- stat ---- */

static int kernel_create(const struct peer_ops *ops, const struct peer_setup *setup, void **self)
{
	struct kernel *kernel = malloc(sizeof(*kernel));

	(void)ops;
	if (!kernel)
		return -ENOMEM;
	*kernel = kernel_of(setup);
	*self = kernel;
	return 0;
}

static void stat_answer(void *self, const char *const *paths, size_t n,
                        struct pathcache_attr *attrs, int *results)
{
	const struct kernel *kernel = self;
	struct stat st = {0};

	for (size_t i = 0; i < n; i++) {
		results[i] = recorded_ask_kernel(kernel->tree, paths[i], kernel->flags, &st);
		attrs[i].mode = st.st_mode;
		attrs[i].ino = st.st_ino;
		attrs[i].size = (uint64_t)st.st_size;
	}
}

static int kernel_destroy(void *self)
{
	free(self);
	return 0;
}

const struct peer_ops peer_syscall = {
	.mode = "syscall",
	.create = kernel_create,
	.answer = stat_answer,
	.destroy = kernel_destroy,
};

/* ---- access ---- */

static void access_answer(void *self, const char *const *paths, size_t n,
                          struct pathcache_attr *attrs, int *results)
{
	const struct kernel *kernel = self;

	(void)attrs;
	for (size_t i = 0; i < n; i++)
		results[i] = recorded_ask_access(kernel->tree, paths[i]);
}

const struct peer_ops peer_access = {
	.mode = "access",
	.questions = PEER_ACCESS,
	.create = kernel_create,
	.answer = access_answer,
	.destroy = kernel_destroy,
};

/* ---- statx below held directories ---- */

enum {
	SPARE_DESCRIPTORS = 256, /* for all else that the process opens */
};

/* The held directory of a path and its last component, or where all of it begins. */
struct question {
	int fd;
	const char *name;
};

struct dir {
	const char *path; /* NULL: free; up to len */
	size_t len;
	int fd; /* -1: could not be opened */
};

struct holder {
	struct kernel kernel;
	const char *const *run;     /* that the questions are of */
	struct question *questions; /* one for each path of the run */
	size_t nquestions, nheld;
	struct dir *dirs; /* open addressing */
	size_t mask;      /* slots of dirs less 1 */
	size_t nopen, max;
};

static int holder_create(const struct peer_ops *ops, const struct peer_setup *setup, void **self)
{
	struct holder *holder = calloc(1, sizeof(*holder));
	struct rlimit limit = {0};

	(void)ops;
	if (!holder)
		return -ENOMEM;
	holder->kernel = kernel_of(setup);
	getrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur < limit.rlim_max) {
		struct rlimit raised = {limit.rlim_max, limit.rlim_max};

		if (!setrlimit(RLIMIT_NOFILE, &raised))
			limit = raised;
	}
	holder->max = limit.rlim_cur > SPARE_DESCRIPTORS ? limit.rlim_cur - SPARE_DESCRIPTORS : 0;
	*self = holder;
	return 0;
}

static void release(struct holder *holder)
{
	for (size_t i = 0; holder->dirs && i <= holder->mask; i++) {
		if (holder->dirs[i].path && holder->dirs[i].fd >= 0)
			close(holder->dirs[i].fd);
	}
	free(holder->dirs);
	free(holder->questions);
	holder->dirs = NULL;
	holder->questions = NULL;
	holder->nquestions = holder->nheld = holder->nopen = 0;
}

static int open_dir(struct holder *holder, const char *path, size_t len)
{
	char text[PATH_MAX];
	const char *at = text;
	int base, fd;

	if (holder->nopen == holder->max || len >= sizeof(text))
		return -1;
	/* Without a base the root is "/". */
	snprintf(text, sizeof(text), "%.*s", len ? (int)len : 1, len ? path : "/");
	base = recorded_at(holder->kernel.tree, &at);
	fd = openat(base, at, O_PATH | O_DIRECTORY | O_CLOEXEC);
	holder->nopen += fd >= 0;
	return fd;
}

/* The descriptor of the first len bytes of path, opened if need be; -1 without. */
static int hold(struct holder *holder, const char *path, size_t len)
{
	size_t i = XXH3_64bits(path, len) & holder->mask;

	while (holder->dirs[i].path &&
	       (holder->dirs[i].len != len || memcmp(holder->dirs[i].path, path, len) != 0))
		i = (i + 1) & holder->mask;
	if (!holder->dirs[i].path)
		holder->dirs[i] = (struct dir){path, len, open_dir(holder, path, len)};
	return holder->dirs[i].fd;
}

static struct question ask_below(struct holder *holder, const char *path)
{
	const char *slash = strrchr(path, '/');
	int fd = hold(holder, path, (size_t)(slash - path));

	if (fd < 0) {
		fd = recorded_at(holder->kernel.tree, &path);
		return (struct question){fd, path};
	}
	holder->nheld++;
	return (struct question){fd, slash[1] ? slash + 1 : "."};
}

static int holder_bind(void *self, const char *const *run, size_t n)
{
	struct holder *holder = self;
	size_t slots = 16;

	release(holder);
	while (slots < 2 * n)
		slots *= 2;
	holder->dirs = calloc(slots, sizeof(*holder->dirs));
	holder->questions = calloc(n + 1, sizeof(*holder->questions));
	if (!holder->dirs || !holder->questions) {
		release(holder);
		return -ENOMEM;
	}
	holder->mask = slots - 1;
	holder->run = run;
	holder->nquestions = n;
	for (size_t i = 0; i < n; i++)
		holder->questions[i] = ask_below(holder, run[i]);
	if (holder->nheld < n)
		fprintf(stderr,
		        "note: statx_fd: the directories of %zu of %zu paths are held, the limit is "
		        "%zu descriptors; the others are asked by path\n",
		        holder->nheld, n, holder->max);
	return 0;
}

static void holder_answer(void *self, const char *const *paths, size_t n,
                          struct pathcache_attr *attrs, int *results)
{
	const struct holder *holder = self;
	const struct question *questions = &holder->questions[paths - holder->run];
	int flags = kernel_statx_flags(&holder->kernel);
	struct statx st;

	for (size_t i = 0; i < n; i++) {
		int error =
			statx(questions[i].fd, questions[i].name, flags, STATX_BASIC_STATS, &st);

		results[i] = error ? -errno : 0;
		if (!error)
			kernel_keep(&st, &attrs[i]);
	}
}

static void holder_tell(void *self, char *text, size_t size)
{
	const struct holder *holder = self;

	snprintf(text, size, "held_dirs=%zu;held_paths=%.3f", holder->nopen,
	         (double)holder->nheld / (double)(holder->nquestions ? holder->nquestions : 1));
}

static int holder_destroy(void *self)
{
	release(self);
	free(self);
	return 0;
}

const struct peer_ops peer_statx_fd = {
	.mode = "statx_fd",
	.create = holder_create,
	.bind = holder_bind,
	.answer = holder_answer,
	.tell = holder_tell,
	.destroy = holder_destroy,
};
