/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "mutator.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXCHANGE 2u
#define MOUNTS 3u /* at once */
#define LINKS 16u /* near ones, between two pauses */

enum order { PAUSE, GO, STOP };

struct ts_mutators_shared {
	_Atomic(uint32_t) order;
	_Atomic(uint32_t) still[TS_MUTATORS]; /* it has seen PAUSE and makes no change */
	_Atomic(uint64_t) changes[TS_MUTATORS];
};

struct mutator {
	struct ts_mutators_shared *shared;
	const struct ts_tree *tree;
	struct ts_rng rng;
	unsigned who, flags;
	struct {
		int dir;
		char name[16];
	} links[LINKS]; /* near ones since the last pause */
	unsigned nlinks;
	char mounted[MOUNTS][TS_MUTATOR_PATH];
	unsigned nmounted;
};

/* None that is likely to be anywhere else: a link may lead out of the tree. */
static const char *const names[] = {"pc-a", "pc-b", "pc-c", "pc-dir", "pc-longer", "pc-f"};
#define NNAMES ((unsigned)(sizeof(names) / sizeof(names[0])))

void ts_mutator_path(struct ts_rng *rng, char path[TS_MUTATOR_PATH])
{
	unsigned depth = 1 + ts_below(rng, TS_MUTATOR_DEPTH);
	size_t len = 0;

	while (depth-- > 0)
		len += (size_t)snprintf(path + len, TS_MUTATOR_PATH - len, "%s%s", len ? "/" : "",
		                        names[ts_below(rng, NNAMES)]);
}

/* ---- changes: each returns what its last system call does ------------------- */

static int write_some(struct mutator *m, const char *path, int oflags)
{
	int fd = openat(m->tree->fd, path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | oflags, 0644);
	int rc = -1;

	if (fd < 0)
		return -1;
	if (ts_below(&m->rng, 3) == 0)
		rc = ftruncate(fd, ts_below(&m->rng, 5000));
	else
		rc = write(fd, "some text", 1 + ts_below(&m->rng, 9)) < 0 ? -1 : 0;
	close(fd);
	return rc;
}

static int change_create(struct mutator *m, const char *path)
{
	return write_some(m, path, O_CREAT | O_EXCL);
}

static int change_write(struct mutator *m, const char *path)
{
	return write_some(m, path, ts_below(&m->rng, 2) ? O_APPEND : O_TRUNC);
}

static int change_mkdir(struct mutator *m, const char *path)
{
	return mkdirat(m->tree->fd, path, ts_below(&m->rng, 4) ? 0755 : 0700);
}

static int change_unlink(struct mutator *m, const char *path)
{
	return unlinkat(m->tree->fd, path, 0);
}

static int change_rmdir(struct mutator *m, const char *path)
{
	return unlinkat(m->tree->fd, path, AT_REMOVEDIR);
}

static int change_rename(struct mutator *m, const char *path)
{
	unsigned flags = ts_below(&m->rng, 3) ? 0 : EXCHANGE;
	char to[TS_MUTATOR_PATH];

	ts_mutator_path(&m->rng, to);
	return (int)syscall(SYS_renameat2, m->tree->fd, path, m->tree->fd, to, flags);
}

/* Beside path, in a directory that is held to find the name again. */
static int link_near(struct mutator *m, const char *path)
{
	const char *slash = strrchr(path, '/');
	char dir[TS_MUTATOR_PATH];
	int fd, rc;

	if (m->nlinks == LINKS)
		return -1;
	snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
	fd = openat(m->tree->fd, dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	m->links[m->nlinks].dir = fd;
	snprintf(m->links[m->nlinks].name, sizeof(m->links[0].name), "link-%u-%u", m->who,
	         m->nlinks);
	rc = linkat(fd, slash ? slash + 1 : path, fd, m->links[m->nlinks].name, 0);
	if (rc)
		close(fd);
	else
		m->nlinks++;
	return rc;
}

static void near_links_remove(struct mutator *m)
{
	while (m->nlinks) {
		m->nlinks--;
		unlinkat(m->links[m->nlinks].dir, m->links[m->nlinks].name, 0);
		close(m->links[m->nlinks].dir);
	}
}

static int change_link(struct mutator *m, const char *path)
{
	char to[TS_MUTATOR_PATH];

	if (m->flags & TS_NEAR_LINKS)
		return link_near(m, path);
	ts_mutator_path(&m->rng, to);
	return linkat(m->tree->fd, path, m->tree->fd, to, 0);
}

static void link_text(struct mutator *m, char text[TS_MUTATOR_PATH + 16])
{
	char path[TS_MUTATOR_PATH];

	ts_mutator_path(&m->rng, path);
	snprintf(text, TS_MUTATOR_PATH + 16, "%s%s",
	         (const char *const[]){"", "../", "/"}[ts_below(&m->rng, 3)], path);
}

static int change_symlink(struct mutator *m, const char *path)
{
	char text[TS_MUTATOR_PATH + 16];

	link_text(m, text);
	return symlinkat(text, m->tree->fd, path);
}

static int change_swap(struct mutator *m, const char *path)
{
	char text[TS_MUTATOR_PATH + 16], aside[32];
	int rc;

	link_text(m, text);
	snprintf(aside, sizeof(aside), "swap-%u", m->who);
	if (symlinkat(text, m->tree->fd, aside))
		return -1;
	rc = renameat(m->tree->fd, aside, m->tree->fd, path);
	if (rc)
		unlinkat(m->tree->fd, aside, 0);
	return rc;
}

static int change_chmod(struct mutator *m, const char *path)
{
	static const mode_t modes[] = {0755, 0711, 0700, 0644, 0600, 0750};

	return fchmodat(m->tree->fd, path, modes[ts_below(&m->rng, 6)], 0);
}

/* The whole path of something in the tree. */
static void absolute(const struct mutator *m, const char *path, char out[2 * PATH_MAX])
{
	snprintf(out, 2 * PATH_MAX, "%s/%s", m->tree->path, path);
}

static int change_mount(struct mutator *m, const char *path)
{
	char whole[2 * PATH_MAX];
	struct stat st;

	if (m->who || m->flags & TS_NO_MOUNTS || m->nmounted == MOUNTS ||
	    fstatat(m->tree->fd, path, &st, AT_SYMLINK_NOFOLLOW) || !S_ISDIR(st.st_mode))
		return -1;
	absolute(m, path, whole);
	if (mount("torture", whole, "tmpfs", 0, "size=1m,mode=0755"))
		return -1;
	snprintf(m->mounted[m->nmounted++], TS_MUTATOR_PATH, "%s", path);
	return 0;
}

/* It may have moved with a directory above it: then it is found at the end of the run. */
static int change_unmount(struct mutator *m, const char *path)
{
	char whole[2 * PATH_MAX];

	(void)path;
	if (!m->nmounted)
		return -1;
	absolute(m, m->mounted[--m->nmounted], whole);
	return umount2(whole, MNT_DETACH | UMOUNT_NOFOLLOW);
}

typedef int (*change_fn)(struct mutator *m, const char *path);

static const struct {
	change_fn fn;
	unsigned weight;
} changes[] = {
	{change_create, 12}, {change_mkdir, 14}, {change_symlink, 4}, {change_rename, 12},
	{change_link, 6},    {change_write, 10}, {change_chmod, 6},   {change_swap, 5},
	{change_unlink, 6},  {change_rmdir, 3},  {change_mount, 1},   {change_unmount, 1},
};
#define NCHANGES (sizeof(changes) / sizeof(changes[0]))

static int change_any(struct mutator *m)
{
	char path[TS_MUTATOR_PATH];
	unsigned total = 0, at;

	for (size_t i = 0; i < NCHANGES; i++)
		total += changes[i].weight;
	at = ts_below(&m->rng, total);
	ts_mutator_path(&m->rng, path);
	for (size_t i = 0;; i++) {
		if (at < changes[i].weight)
			return changes[i].fn(m, path);
		at -= changes[i].weight;
	}
}

/* ---- processes -------------------------------------------------------------- */

static void mutate(struct mutator *m)
{
	struct ts_mutators_shared *s = m->shared;
	bool paused = false;

	for (;;) {
		uint32_t order = atomic_load(&s->order);

		if (order == STOP)
			_exit(0);
		atomic_store(&s->still[m->who], order == PAUSE);
		if (order == PAUSE) {
			usleep(50);
			paused = true;
			continue;
		}
		/* The order may have come in between: a change then is not begun. */
		if (atomic_load(&s->order) != GO)
			continue;
		if (paused)
			near_links_remove(m);
		paused = false;
		if (change_any(m) == 0)
			atomic_fetch_add(&s->changes[m->who], 1);
	}
}

static _Noreturn void child_run(struct ts_mutators_shared *shared, const struct ts_tree *tree,
                                unsigned who, unsigned flags)
{
	struct mutator m = {.shared = shared, .tree = tree, .who = who, .flags = flags};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	umask(0);
	m.rng = ts_rng(1000 + who);
	mutate(&m);
	_exit(1);
}

void ts_mutators_start(struct ts_mutators *m, const struct ts_tree *tree, unsigned flags)
{
	m->shared = mmap(NULL, sizeof(*m->shared), PROT_READ | PROT_WRITE,
	                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	REQUIRE(m->shared != MAP_FAILED);
	fflush(NULL);
	for (unsigned i = 0; i < TS_MUTATORS; i++) {
		m->pid[i] = fork();
		REQUIRE(m->pid[i] >= 0);
		if (m->pid[i] == 0)
			child_run(m->shared, tree, i, flags);
	}
}

void ts_mutators_pause(struct ts_mutators *m)
{
	atomic_store(&m->shared->order, PAUSE);
	for (unsigned i = 0; i < TS_MUTATORS; i++)
		while (!atomic_load(&m->shared->still[i])) {
			REQUIRE(waitpid(m->pid[i], NULL, WNOHANG) == 0);
			usleep(50);
		}
}

void ts_mutators_go_on(struct ts_mutators *m)
{
	for (unsigned i = 0; i < TS_MUTATORS; i++)
		atomic_store(&m->shared->still[i], 0);
	atomic_store(&m->shared->order, GO);
}

void ts_mutators_stop(struct ts_mutators *m)
{
	int status;

	atomic_store(&m->shared->order, STOP);
	for (unsigned i = 0; i < TS_MUTATORS; i++) {
		REQUIRE(waitpid(m->pid[i], &status, 0) == m->pid[i]);
		CHECK_EQ(status, 0);
	}
}

uint64_t ts_mutators_changes(const struct ts_mutators *m)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < TS_MUTATORS; i++)
		sum += atomic_load(&m->shared->changes[i]);
	return sum;
}
