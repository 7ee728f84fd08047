/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cache.h"
#include "listen.h"
#include "store.h"

#ifndef STATX_MNT_ID_UNIQUE
#define STATX_MNT_ID_UNIQUE 0x4000u /* Linux 6.8 */
#endif

#define LOAD_TRIES 8

/* ---- where a mount point is -------------------------------------------------- */

/*
 * What is mounted at path now, the same number as long as it is the same mount.
 * Before Linux 6.8 the root directory's identity, which a file system made anew in
 * the place of another does not share. Servers are not asked: they may be dead.
 */
static uint64_t seen_at(int slash, const char *path)
{
	const int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC;
	struct statx sx;
	uint64_t id;

	if (statx(slash, path, flags, STATX_MNT_ID_UNIQUE | STATX_INO | STATX_BTIME, &sx))
		return (uint64_t)errno;
	if (sx.stx_mask & STATX_MNT_ID_UNIQUE)
		return sx.stx_mnt_id;
	id = sx.stx_ino * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)sx.stx_btime.tv_sec << 30 ^
	     sx.stx_btime.tv_nsec;
	return id ^ (uint64_t)sx.stx_dev_major << 52 ^ (uint64_t)sx.stx_dev_minor << 32;
}

/* The number in the table of the mount that name in fd is on. Return: 0; -errno. */
static int mount_at(int fd, const char *name, uint32_t *id)
{
	const int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC;
	struct statx sx;

	if (statx(fd, name, flags, STATX_MNT_ID, &sx))
		return -errno;
	*id = (uint32_t)sx.stx_mnt_id;
	return sx.stx_mask & STATX_MNT_ID ? 0 : -ENOSYS;
}

static int open_dir(int slash, const char *path)
{
	struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
	                       .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
	long fd;

	/* slash itself, whether or not it may be searched. */
	if (!*path)
		fd = fcntl(slash, F_DUPFD_CLOEXEC, 0);
	else
		fd = syscall(SYS_openat2, slash, path, &how, sizeof(how));
	return fd < 0 ? -errno : (int)fd;
}

static struct pc_ident ident_of(const struct pc_answer *a)
{
	return (struct pc_ident){a->object_id, a->object_gen, a->domain, a->attr.mode & S_IFMT};
}

static bool ident_equal(const struct pc_ident *a, const struct pc_ident *b)
{
	return a->id == b->id && a->gen == b->gen && a->domain == b->domain;
}

/* The directory of m's point, relative to slash; "" is slash itself. Return: false: too long. */
static bool dir_path(const struct pc_mount *m, char *buf, size_t size)
{
	size_t len = (size_t)(m->name - m->point);

	/* Without the slashes before and after. */
	len = len < 2 ? 0 : len - 2;
	if (len >= size)
		return false;
	memcpy(buf, m->point + 1, len);
	buf[len] = '\0';
	return true;
}

/* The lowest of the mounts that stand at m's point one on top of another. */
static const struct pc_mount *stack_base(const struct pc_mount_table *t, const struct pc_mount *m)
{
	const struct pc_mount *below = m;

	for (uint32_t i = 0; below && i <= t->n; i++) {
		m = below;
		below = pc_mount_by_id(t, m->parent);
		if (below && (below == m || strcmp(below->point, m->point) != 0))
			below = NULL;
	}
	return m;
}

/* path may not be searched: the nearest directory above it that can be told. */
static void place_below(int slash, char *path, struct pc_mount *m)
{
	struct pc_answer a;
	char *cut;
	int fd = -EACCES, rc;

	while (fd == -EACCES && *path) {
		cut = strrchr(path, '/');
		*(cut ? cut : path) = '\0';
		fd = open_dir(slash, path);
	}
	if (fd < 0)
		return;
	rc = pc_posix_statx(fd, "", &a);
	close(fd);
	if (rc)
		return;
	m->dir = ident_of(&a);
	m->place = PC_MOUNT_BELOW;
}

/*
 * fd is what the path of m's directory leads to now. It is m's directory if it is on
 * the mount that m is mounted on, and what is mounted on the name is of m's stack.
 */
static int place_judge(const struct pc_mount_table *t, struct pc_mount *m, int fd)
{
	const struct pc_mount *top;
	struct pc_answer a;
	uint32_t id = 0;
	int rc = pc_posix_statx(fd, "", &a);

	if (!rc)
		rc = mount_at(fd, m->name, &id);
	if (rc)
		return rc;
	top = pc_mount_by_id(t, id);
	if (a.attr.mnt_id != stack_base(t, m)->parent || !top || strcmp(top->point, m->point) != 0)
		return -ESTALE;
	m->dir = ident_of(&a);
	m->place = PC_MOUNT_NAME;
	return 0;
}

static void place_find(int slash, const struct pc_mount_table *t, struct pc_mount *m)
{
	char path[PATH_MAX];
	int fd, rc;

	m->place = PC_MOUNT_UNKNOWN;
	if (!*m->name) {
		m->place = PC_MOUNT_NONE;
		return;
	}
	if (!dir_path(m, path, sizeof(path)))
		return;
	rc = fd = open_dir(slash, path);
	if (fd >= 0) {
		rc = place_judge(t, m, fd);
		close(fd);
	}
	if (rc == -EACCES)
		place_below(slash, path, m);
}

/* ---- the table ------------------------------------------------------------------ */

static bool same_text(const struct pc_mount *a, const struct pc_mount *b)
{
	return a->parent == b->parent && strcmp(a->dev, b->dev) == 0 &&
	       strcmp(a->root, b->root) == 0 && strcmp(a->point, b->point) == 0 &&
	       strcmp(a->type, b->type) == 0 && strcmp(a->source, b->source) == 0;
}

static void place_copy(struct pc_mount *m, const struct pc_mount *from)
{
	m->place = from->place;
	m->dir = from->dir;
	m->seen = from->seen;
}

/* Is m what old says, so that it need not be looked for? */
static bool place_holds(int slash, const struct pc_mount *m, const struct pc_mount *old)
{
	struct pc_answer a;
	struct pc_ident dir;
	char path[PATH_MAX];

	if (old->place != PC_MOUNT_NAME || old->seen != m->seen || !same_text(m, old) ||
	    !dir_path(m, path, sizeof(path)))
		return false;
	if (pc_posix_statx(slash, path, &a))
		return false;
	dir = ident_of(&a);
	return ident_equal(&dir, &old->dir);
}

static void table_resolve(int slash, struct pc_mount_table *t, const struct pc_mount_table *old)
{
	for (uint32_t i = 0; i < t->n; i++) {
		struct pc_mount *m = &t->mount[i];
		const struct pc_mount *o = pc_mount_by_id(old, m->id);

		m->seen = *m->name ? seen_at(slash, m->point + 1) : 0;
		if (o && place_holds(slash, m, o)) {
			place_copy(m, o);
			continue;
		}
		place_find(slash, t, m);
		/* Hidden: only what can be seen can be told from what it was. */
		if (m->place == PC_MOUNT_UNKNOWN && o && same_text(m, o))
			place_copy(m, o);
	}
}

/* Has the table changed since this was last asked of fd? */
static bool has_news(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLPRI};

	return poll(&p, 1, 0) > 0 && p.revents & (POLLPRI | POLLERR);
}

/* A table that did not change while it was read and its places were looked for. */
static int table_load(struct pc_mounts *m, struct pc_mount_table *t)
{
	int rc = -EAGAIN;

	for (int tries = 0; tries < LOAD_TRIES; tries++) {
		rc = pc_mount_table_read(t, m->fd);
		if (!rc)
			table_resolve(m->slash_fd, t, &m->table);
		if (!has_news(m->fd))
			return rc;
		if (!rc)
			pc_mount_table_free(t);
		rc = -EAGAIN;
	}
	return rc;
}

/* ---- what a change means ----------------------------------------------------------- */

/* Is m's point below the cache's root, as paths are now? */
static bool is_inside(const struct pathcache *c, const struct pc_mount *m)
{
	const struct pc_posix *p = c->backend_data;
	char link[64], root[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", p->root_fd);
	n = readlink(link, root, sizeof(root));
	return n <= 1 || n == sizeof(root) ||
	       (strncmp(root, m->point, (size_t)n) == 0 && m->point[n] == '/');
}

/*
 * Names below dir, which is not in memory. From "/" all names are reached through
 * those above them; a root elsewhere may be below dir.
 */
static bool below_is_told(const struct pathcache *c, const struct pc_mount *m)
{
	const struct pc_posix *p = c->backend_data;

	return p->is_slash || !is_inside(c, m);
}

/* Drop the name that m is mounted on. Return: false: which it is cannot be told. */
static bool name_drop(struct pathcache *c, const struct pc_mount *m)
{
	struct rp_node *dir;

	if (m->place != PC_MOUNT_NAME && m->place != PC_MOUNT_BELOW)
		return false;
	dir = pc_node_find(c, &m->dir);
	if (!dir && m->place == PC_MOUNT_BELOW)
		return below_is_told(c, m);
	if (!dir)
		return true; /* no name in it is in memory, and nobody is asking for one */
	if (m->place == PC_MOUNT_NAME)
		pathcache_invalidate_name(c, pc_entry(dir), m->name);
	else
		pathcache_invalidate_subtree(c, pc_entry(dir));
	pc_node_put(c, dir);
	return true;
}

/* All that is on m says of itself whether it may be written and executed. */
static bool flags_drop(struct pathcache *c, const struct pc_mount *m)
{
	struct pc_answer a;
	struct rp_node *root = NULL;

	if (m->place == PC_MOUNT_NAME && !pc_posix_statx(c->mounts.slash_fd, m->point + 1, &a)) {
		struct pc_ident ident = ident_of(&a);

		root = pc_node_find(c, &ident);
	}
	if (!root)
		return false;
	pathcache_invalidate_subtree(c, pc_entry(root));
	pc_node_put(c, root);
	return name_drop(c, m);
}

static bool same_mount(const struct pc_mount *a, const struct pc_mount *b)
{
	return a->parent == b->parent && a->seen == b->seen && a->place == b->place &&
	       strcmp(a->name, b->name) == 0 && strcmp(a->dev, b->dev) == 0 &&
	       strcmp(a->root, b->root) == 0 && strcmp(a->type, b->type) == 0 &&
	       (a->place == PC_MOUNT_NONE || a->place == PC_MOUNT_UNKNOWN ||
	        ident_equal(&a->dir, &b->dir));
}

/* A mount that was old and is now m; one of them may be NULL. Return: as name_drop(). */
static bool change_apply(struct pathcache *c, const struct pc_mount *old, const struct pc_mount *m)
{
	bool told = true;

	if (old && m && same_mount(old, m)) {
		if (old->flags == m->flags)
			return true;
		told = flags_drop(c, m);
	} else {
		if (old)
			told &= name_drop(c, old);
		if (m)
			told &= name_drop(c, m);
	}
	atomic_fetch_add_explicit(&c->mounts.changes, 1, memory_order_relaxed);
	return told;
}

static void table_take(struct pathcache *c, struct pc_mount_table *t)
{
	struct pc_mount_table *old = &c->mounts.table;
	bool told = true;

	for (uint32_t i = 0; i < old->n; i++)
		told &= change_apply(c, &old->mount[i], pc_mount_by_id(t, old->mount[i].id));
	for (uint32_t i = 0; i < t->n; i++)
		if (!pc_mount_by_id(old, t->mount[i].id))
			told &= change_apply(c, NULL, &t->mount[i]);
	if (!told)
		pathcache_invalidate_all(c);
	pc_mount_table_free(old);
	*old = *t;
}

void pc_mounts_check(struct pathcache *c)
{
	struct pc_mounts *m = &c->mounts;
	struct pc_mount_table t;

	if (m->fd < 0)
		return;
	pc_tell_hold();
	pthread_mutex_lock(&m->lock);
	if (has_news(m->fd) || m->lost) {
		m->lost = table_load(m, &t) != 0;
		if (m->lost)
			pathcache_invalidate_all(c);
		else
			table_take(c, &t);
	}
	pthread_mutex_unlock(&m->lock);
	pc_tell_release(c);
}

static bool is_known(struct pc_mounts *m, uint64_t mnt, const struct rp_node *dir, const char *name)
{
	struct pc_ident ident = pc_ident_of(dir);
	const struct pc_mount *found;
	bool known;

	pthread_mutex_lock(&m->lock);
	found = mnt <= UINT32_MAX ? pc_mount_by_id(&m->table, (uint32_t)mnt) : NULL;
	known = found && found->place == PC_MOUNT_NAME && ident_equal(&found->dir, &ident) &&
	        strcmp(found->name, name) == 0;
	pthread_mutex_unlock(&m->lock);
	return known;
}

bool pc_mounts_cover(struct pathcache *c, uint64_t mnt, const struct rp_node *dir, const char *name)
{
	struct pc_mounts *m = &c->mounts;

	if (m->fd < 0 || is_known(m, mnt, dir, name))
		return true;
	/* It came since the last look: which overtakes this very question. */
	pc_mounts_check(c);
	return is_known(m, mnt, dir, name);
}

/* ---- life ------------------------------------------------------------------------------ */

void pc_mounts_init(struct pc_mounts *m)
{
	memset(m, 0, sizeof(*m));
	pthread_mutex_init(&m->lock, NULL);
	m->fd = m->wait_fd = m->slash_fd = -1;
}

void pc_mounts_fini(struct pc_mounts *m)
{
	const int fds[] = {m->fd, m->wait_fd, m->slash_fd};

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	pc_mount_table_free(&m->table);
	pthread_mutex_destroy(&m->lock);
}

int pc_mounts_open(struct pathcache *c)
{
	static const char path[] = "/proc/self/mountinfo";
	struct pc_mounts *m = &c->mounts;
	int rc;

	m->wait_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (m->wait_fd < 0)
		return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? -errno : 0;
	m->slash_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	m->fd = m->slash_fd < 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	if (m->fd < 0)
		return -errno;
	rc = pc_loop_add(&c->loop, m->wait_fd, EPOLLPRI);
	if (!rc)
		m->lost = table_load(m, &m->table) != 0;
	return rc;
}
