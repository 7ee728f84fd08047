/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * fanotify(7) as source: one mark a file system, no matter how many directories.
 * Events tell of all of it, by the handle of the directory and the name; those of
 * directories that are not in memory are for nobody. Privileged.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "source.h"

#ifndef AT_HANDLE_FID
#define AT_HANDLE_FID \
	0x200 /* Linux 6.5: a handle to compare, of file systems without export, too */
#endif

#define CHANGES \
	(FAN_CREATE | FAN_DELETE | FAN_MOVED_FROM | FAN_MOVED_TO | FAN_ATTRIB | FAN_MODIFY | \
	 FAN_CLOSE_WRITE | FAN_DELETE_SELF | FAN_MOVE_SELF | FAN_ONDIR)

#define ENTRY_CHANGES (FAN_CREATE | FAN_DELETE | FAN_MOVED_FROM | FAN_MOVED_TO)

/* A key: file system, type of the handle, handle. */
static void key_of(struct pc_key *key, const void *fsid, const struct file_handle *fh,
                   const void *bytes)
{
	uint32_t n = fh->handle_bytes;

	key->len = 0;
	if (n > PC_KEY_MAX - 12)
		return;
	memcpy(key->bytes, fsid, 8);
	memcpy(key->bytes + 8, &fh->handle_type, 4);
	memcpy(key->bytes + 12, bytes, n);
	key->len = 12 + n;
}

static int source_probe(struct pc_source *s)
{
	char path[64];
	int rc, probe = pc_probe_make(path, sizeof(path));

	if (probe < 0)
		return probe;
	if (fanotify_mark(s->fd, FAN_MARK_ADD, FAN_ATTRIB, AT_FDCWD, path)) {
		rc = -errno;
		close(probe);
		return rc;
	}
	return pc_probe_changed(s, probe);
}

static int source_open(struct pc_source *s)
{
	s->nmarks = 0;
	s->fd = fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_NONBLOCK | FAN_REPORT_DFID_NAME |
	                              FAN_REPORT_FID,
	                      0);
	if (s->fd < 0)
		return -errno;
	return source_probe(s);
}

static bool is_marked(const struct pc_source *s, const struct pc_mark *m)
{
	for (uint32_t i = 0; i < s->nmarks; i++)
		if (s->marks[i].domain == m->domain &&
		    memcmp(s->marks[i].fsid, m->fsid, sizeof(m->fsid)) == 0)
			return true;
	return false;
}

/*
 * Also where that was done before: the file system may have gone and come again
 * meanwhile, and its mark went with it.
 */
static int mark(struct pc_source *s, const struct pc_armed *dir, const struct pc_mark *m)
{
	bool known = is_marked(s, m);
	char path[64];

	if (!known && s->nmarks == PC_MARKS_MAX)
		return -ENOSPC;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", dir->fd);
	if (fanotify_mark(s->fd, FAN_MARK_ADD | FAN_MARK_FILESYSTEM, CHANGES, AT_FDCWD, path))
		return -errno;
	if (!known)
		s->marks[s->nmarks++] = *m;
	return 0;
}

static int handle_of(int fd, struct file_handle *fh)
{
	int mount;

	fh->handle_bytes = MAX_HANDLE_SZ;
	if (name_to_handle_at(fd, "", fh, &mount, AT_EMPTY_PATH | AT_HANDLE_FID) == 0)
		return 0;
	fh->handle_bytes = MAX_HANDLE_SZ;
	if (errno == EINVAL && name_to_handle_at(fd, "", fh, &mount, AT_EMPTY_PATH) == 0)
		return 0;
	return -errno;
}

static int source_arm(struct pc_source *s, const struct pc_armed *dir, struct pc_key *key)
{
	union {
		struct file_handle fh;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} h;
	struct pc_mark m = {.domain = dir->domain};
	struct statfs fs;
	int rc;

	if (fstatfs(dir->fd, &fs))
		return -errno;
	memcpy(m.fsid, &fs.f_fsid, sizeof(m.fsid));
	rc = mark(s, dir, &m);
	if (!rc)
		rc = handle_of(dir->fd, &h.fh);
	if (rc)
		return rc;
	key_of(key, m.fsid, &h.fh, h.room + offsetof(struct file_handle, f_handle));
	return key->len ? 0 : -EOVERFLOW;
}

/* FIONREAD counts each event's head, whatever else comes with it. */
static uint64_t source_queued(struct pc_source *s)
{
	int n = 0;

	if (ioctl(s->fd, FIONREAD, &n) || n < 0)
		return 0;
	return (uint64_t)n / FAN_EVENT_METADATA_LEN;
}

static uint32_t what_of(uint64_t mask, bool by_name, bool named)
{
	uint32_t what = 0;

	if (mask & FAN_Q_OVERFLOW)
		return PC_EV_OVERFLOW;
	/* Without a name ATTRIB is told of a file whose links have changed, and DELETE_SELF after the last. */
	if (!by_name)
		return (mask & (FAN_ATTRIB | FAN_DELETE_SELF | FAN_ONDIR)) == FAN_ATTRIB
		               ? PC_EV_OBJECT
		               : 0;
	if (named && mask & ENTRY_CHANGES)
		what |= PC_EV_NAME;
	if (mask & (FAN_ATTRIB | FAN_MODIFY | FAN_CLOSE_WRITE))
		what |= PC_EV_ATTR;
	if (!named && mask & FAN_MOVE_SELF)
		what |= PC_EV_MOVED;
	if (!named && mask & FAN_DELETE_SELF)
		what |= PC_EV_GONE;
	return what;
}

/* What one piece of information adds to e. Return: is it of a directory, and the name? */
static bool info_take(const char *at, size_t size, struct pc_event *e)
{
	struct fanotify_event_info_fid info;
	struct file_handle fh;
	const size_t head = offsetof(struct fanotify_event_info_fid, handle) + sizeof(fh);
	const char *name;
	bool is_dir;

	if (size < head)
		return false;
	memcpy(&info, at, offsetof(struct fanotify_event_info_fid, handle));
	memcpy(&fh, at + head - sizeof(fh), sizeof(fh));
	is_dir = info.hdr.info_type == FAN_EVENT_INFO_TYPE_DFID_NAME;
	if ((!is_dir && info.hdr.info_type != FAN_EVENT_INFO_TYPE_FID) ||
	    fh.handle_bytes > size - head)
		return false;
	key_of(&e->key, &info.fsid, &fh, at + head);
	if (!is_dir)
		return false;
	name = at + head + fh.handle_bytes;
	e->name = name;
	e->len = strnlen(name, size - head - fh.handle_bytes);
	/* The directory itself. */
	if (e->len == 1 && name[0] == '.')
		e->len = 0;
	return true;
}

static size_t source_next(const char *buf, size_t len, struct pc_event *e)
{
	struct fanotify_event_metadata meta;
	bool by_name = false;
	size_t at;

	memcpy(&meta, buf, sizeof(meta));
	e->units = 1;
	e->key.len = 0;
	e->len = 0;
	if (meta.event_len > len || meta.event_len < sizeof(meta)) {
		e->what = PC_EV_OVERFLOW; /* no kernel does this; nothing behind it can be read */
		return len;
	}
	for (at = meta.metadata_len;
	     !by_name && at + sizeof(struct fanotify_event_info_header) <= meta.event_len;) {
		struct fanotify_event_info_header head;

		memcpy(&head, buf + at, sizeof(head));
		if (head.len < sizeof(head) || at + head.len > meta.event_len)
			break;
		by_name = info_take(buf + at, head.len, e);
		at += head.len;
	}
	e->what = what_of(meta.mask, by_name, e->len != 0);
	return meta.event_len;
}

static int source_object(int root, const struct pc_key *key)
{
	union {
		struct file_handle fh;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} h;
	struct statfs fs;
	int fd, mount;

	if (fstatfs(root, &fs) || memcmp(key->bytes, &fs.f_fsid, 8) != 0)
		return -EXDEV;
	h.fh.handle_bytes = key->len - 12;
	memcpy(&h.fh.handle_type, key->bytes + 8, 4);
	memcpy(h.room + offsetof(struct file_handle, f_handle), key->bytes + 12, key->len - 12);
	/* It takes no O_PATH descriptor. */
	mount = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (mount < 0)
		return -errno;
	fd = open_by_handle_at(mount, &h.fh, O_PATH | O_CLOEXEC);
	fd = fd < 0 ? -errno : fd;
	close(mount);
	return fd;
}

const struct pc_source_ops pc_source_fanotify = {
	.open = source_open,
	.arm = source_arm,
	.queued = source_queued,
	.next = source_next,
	.object = source_object,
};
