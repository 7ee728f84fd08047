/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * inotify(7) as source. A watch is armed through /proc/self/fd, so it is that of
 * the very object; its key is its number.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "source.h"

/*
 * CLOSE_WRITE beside MODIFY: some file systems give blocks back at close, and
 * what was stored through a mapping is known then, too.
 */
#define CHANGES \
	(IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB | IN_MODIFY | \
	 IN_CLOSE_WRITE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR | IN_EXCL_UNLINK)

static int inotify_arm_path(int fd, const char *path, uint32_t mask, struct pc_key *key)
{
	int wd = inotify_add_watch(fd, path, mask);

	if (wd < 0)
		return -errno;
	key->len = sizeof(wd);
	memcpy(key->bytes, &wd, sizeof(wd));
	return 0;
}

static int source_probe(struct pc_source *s)
{
	struct pc_key key;
	char path[64];
	int rc, probe = pc_probe_make(path, sizeof(path));

	if (probe < 0)
		return probe;
	rc = inotify_arm_path(s->fd, path, IN_ATTRIB, &key);
	if (rc) {
		close(probe);
		return rc;
	}
	return pc_probe_changed(s, probe);
}

static int source_open(struct pc_source *s)
{
	s->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (s->fd < 0)
		return -errno;
	return source_probe(s);
}

static int source_arm(struct pc_source *s, const struct pc_armed *dir, struct pc_key *key)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", dir->fd);
	return inotify_arm_path(s->fd, path, CHANGES, key);
}

static void source_disarm(struct pc_source *s, const struct pc_key *key)
{
	int wd;

	memcpy(&wd, key->bytes, sizeof(wd));
	/* Fails for one the kernel has ended itself: its IN_IGNORED is under way. */
	inotify_rm_watch(s->fd, wd);
}

static uint64_t source_queued(struct pc_source *s)
{
	int n = 0;

	return ioctl(s->fd, FIONREAD, &n) || n < 0 ? 0 : (uint64_t)n;
}

static uint32_t what_of(uint32_t mask, bool named)
{
	uint32_t what = 0;

	if (mask & IN_Q_OVERFLOW)
		return PC_EV_OVERFLOW;
	if (mask & IN_IGNORED)
		return PC_EV_ENDED;
	if (mask & IN_UNMOUNT)
		return PC_EV_LOST;
	if (named && mask & (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO))
		what |= PC_EV_NAME;
	if (named && mask & IN_CREATE && !(mask & IN_ISDIR))
		what |= PC_EV_MADE;
	if (mask & (IN_ATTRIB | IN_MODIFY | IN_CLOSE_WRITE))
		what |= PC_EV_ATTR;
	if (mask & IN_MOVE_SELF)
		what |= PC_EV_MOVED;
	if (mask & IN_DELETE_SELF)
		what |= PC_EV_GONE;
	return what;
}

static size_t source_next(const char *buf, size_t len, struct pc_event *e)
{
	struct inotify_event in;

	memcpy(&in, buf, sizeof(in));
	e->units = (uint32_t)sizeof(in) + in.len;
	e->name = buf + sizeof(in);
	e->len = in.len ? strnlen(e->name, in.len) : 0;
	e->key.len = sizeof(in.wd);
	memcpy(e->key.bytes, &in.wd, sizeof(in.wd));
	e->what = what_of(in.mask, e->len != 0);
	return e->units < len ? e->units : len;
}

const struct pc_source_ops pc_source_inotify = {
	.open = source_open,
	.arm = source_arm,
	.disarm = source_disarm,
	.queued = source_queued,
	.next = source_next,
};
