/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "rivals.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *kernel_path(const char *path)
{
	while (*path == '/')
		path++;
	return *path ? path : ".";
}

int kernel_open_flags(enum operation_kind kind)
{
	int flags = O_RDONLY | O_CLOEXEC;

	if (kind == OPERATION_OPENDIR)
		flags |= O_DIRECTORY;
	return kind == OPERATION_OPENNF ? flags | O_NOFOLLOW : flags;
}

void kernel_ask(int root, enum operation_kind kind, const char *path, struct answer *answer)
{
	ssize_t rc;

	path = kernel_path(path);
	switch (kind) {
	case OPERATION_STAT:
		rc = fstatat(root, path, &answer->st, 0);
		break;
	case OPERATION_LSTAT:
		rc = fstatat(root, path, &answer->st, AT_SYMLINK_NOFOLLOW);
		break;
	case OPERATION_READLINK:
		rc = readlinkat(root, path, answer->text, sizeof(answer->text));
		answer->length = rc;
		break;
	case OPERATION_OPEN:
	case OPERATION_OPENDIR:
	case OPERATION_OPENNF:
		rc = openat(root, path, kernel_open_flags(kind));
		answer->fd = (int)rc;
		break;
	default: /* access, exec */
		rc = faccessat(root, path, F_OK, 0);
		break;
	}
	answer->result = rc < 0 ? -errno : 0;
}

/* ---- as a rival ---- */

struct kernel {
	int root;
	uint64_t queries;
};

static int create(const struct rival_ops *ops, const struct rival_setup *setup, void **self)
{
	struct kernel *kernel = malloc(sizeof(*kernel));

	(void)ops;
	if (!kernel)
		return -ENOMEM;
	*kernel = (struct kernel){.root = setup->fd};
	*self = kernel;
	return 0;
}

static void ask(void *self, enum operation_kind kind, const char *path, struct answer *answer)
{
	struct kernel *kernel = self;

	kernel->queries++;
	kernel_ask(kernel->root, kind, path, answer);
}

static void count(void *self, struct rival_counts *counts)
{
	const struct kernel *kernel = self;

	*counts = (struct rival_counts){.queries = kernel->queries};
}

static int destroy(void *self)
{
	free(self);
	return 0;
}

const struct rival_ops rival_syscall = {
	.mode = "syscall",
	.create = create,
	.ask = ask,
	.count = count,
	.destroy = destroy,
};
