/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A real directory tree as backend.
 *
 * Names are asked relative to a verified descriptor of their directory and
 * never through a link. An object is (inode, birth time, device and mount);
 * where a file system has no birth time a symlink's change time stands in, so
 * that a reused inode number does not bring an old text back.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cred.h"
#include "posix.h"
#include "store.h"

/* ---- asking ------------------------------------------------------------- */

/* name below at, with at's prefix. buf: room for both. */
static const char *at_path(const struct pc_dirfd *at, const char *name, char *buf, size_t size)
{
	if (!at->prefix)
		return name;
	snprintf(buf, size, "%s%s%s", at->prefix, *name ? "/" : "", name);
	return buf;
}

static int link_read(int fd, const char *name, struct pc_answer *a)
{
	ssize_t n = readlinkat(fd, name, a->link, sizeof(a->link));

	if (n < 0)
		return -errno;
	if ((size_t)n >= sizeof(a->link))
		return -ENAMETOOLONG;
	a->link_len = (uint32_t)n;
	return 0;
}

/* Without a descriptor: by its name, which must lead to the same object before and after. */
static int ask_link_twice(int fd, const char *name, struct pc_answer *a)
{
	struct rp_attr before;
	int rc = 0;

	for (int tries = 0; tries < 8; tries++) {
		rc = pc_posix_statx(fd, name, a);
		if (rc || !S_ISLNK(a->attr.mode))
			return rc;
		before = a->attr;
		rc = link_read(fd, name, a);
		if (!rc) {
			uint32_t len = a->link_len;

			rc = pc_posix_statx(fd, name, a);
			a->link_len = len;
		}
		if (!rc && a->attr.ino == before.ino && a->attr.ctime_sec == before.ctime_sec &&
		    a->attr.ctime_nsec == before.ctime_nsec)
			return 0;
	}
	return rc ? rc : -EMFILE;
}

/* A link: its text and attributes must be of one object, so by a descriptor. */
static int ask_link(int fd, const char *name, struct pc_answer *a)
{
	int link = openat(fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	int rc;

	if (link < 0 && (errno == EMFILE || errno == ENFILE))
		return ask_link_twice(fd, name, a);
	if (link < 0)
		return -errno;
	rc = pc_posix_statx(link, "", a);
	if (!rc && S_ISLNK(a->attr.mode))
		rc = link_read(link, "", a);
	close(link);
	return rc;
}

/* Flags for an object on another mount than the directory it was found in. */
static uint32_t ask_mount(const struct pc_posix *p, int fd, const char *name)
{
	int here = openat(fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	uint32_t flags = RP_N_ASK | RP_N_ASK_WX | RP_N_UNTOLD;

	if (here >= 0) {
		flags = pc_posix_mount_flags(p, here);
		close(here);
	}
	return flags;
}

static int ask_name(struct pathcache *c, struct rp_node *dir, int fd, const char *name,
                    struct pc_answer *a)
{
	const struct pc_posix *p = c->backend_data;
	int rc = pc_posix_statx(fd, name, a);

	if (!rc && S_ISLNK(a->attr.mode))
		rc = ask_link(fd, name, a);
	if (rc)
		return rc;
	if (a->attr.mnt_id == rp_node_mnt(dir))
		a->flags |= rp_node_flags(dir) & PC_POSIX_MOUNT_FLAGS;
	else
		a->flags |= ask_mount(p, fd, name);
	a->flags |= pc_posix_owner_flags(p, a);
	if (S_ISDIR(a->attr.mode))
		a->flags = pc_posix_dir_flags(a->flags, fd, name);
	else if (!S_ISLNK(a->attr.mode))
		a->flags |= RP_N_ACL_UNKNOWN;
	return 0;
}

static int posix_lookup(struct pathcache *c, struct rp_node *dir, const char *name, size_t len,
                        const struct rp_cred *cred, struct pc_answer *a)
{
	struct pc_dirfd at;
	char path[PATH_MAX];
	int rc = pc_dirfd_get(c, dir, &at);

	(void)len, (void)cred;
	a->flags = 0;
	if (rc)
		return rc;
	rc = ask_name(c, dir, at.fd, at_path(&at, name, path, sizeof(path)), a);
	pc_dirfd_put(c, &at);
	if (!rc && a->attr.mnt_id != rp_node_mnt(dir) &&
	    !pc_mounts_cover(c, a->attr.mnt_id, dir, name))
		a->flags |= PC_A_NO_CACHE;
	/* Not a directory any more: somebody put another object in its place. */
	return rc == -ENOTDIR ? -ESTALE : rc;
}

/* ".." of a directory below a root other than "/" must not lead out of it. */
static int below_root(const struct pathcache *c, int fd)
{
	int up, at = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	struct pc_answer *a = calloc(1, sizeof(*a));
	uint64_t last_ino = 0, last_dev = 0;
	int rc = !a ? -ENOMEM : at < 0 ? -errno : 0;

	while (!rc) {
		rc = pc_posix_statx(at, "", a);
		if (rc || pc_posix_same(c->tree.root, a))
			break;
		if (a->attr.ino == last_ino && a->attr.dev == last_dev) {
			rc = -ESTALE; /* the real root: the directory was moved out */
			break;
		}
		last_ino = a->attr.ino;
		last_dev = a->attr.dev;
		up = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		close(at);
		at = up;
		rc = up < 0 ? -errno : 0;
	}
	if (at >= 0)
		close(at);
	free(a);
	return rc;
}

static int posix_parent(struct pathcache *c, struct rp_node *dir, const struct rp_cred *cred,
                        struct pc_answer *a, int *parent)
{
	const struct pc_posix *p = c->backend_data;
	struct pc_dirfd at;
	char path[PATH_MAX];
	int fd, rc = pc_dirfd_get(c, dir, &at);

	(void)cred;
	a->flags = 0;
	if (rc)
		return rc;
	fd = openat(at.fd, at_path(&at, "..", path, sizeof(path)),
	            O_PATH | O_DIRECTORY | O_CLOEXEC);
	rc = fd < 0 ? -errno : 0;
	if (!rc && !p->is_slash)
		rc = below_root(c, fd);
	if (!rc)
		rc = pc_posix_statx(fd, "", a);
	if (!rc) {
		a->flags = pc_posix_dir_flags(
			pc_posix_mount_flags(p, fd) | pc_posix_owner_flags(p, a), fd, "");
		*parent = fd;
	} else if (fd >= 0) {
		close(fd);
	}
	pc_dirfd_put(c, &at);
	return rc;
}

/* ---- asking about a node, by one of its names after another ------------- */

/* Where a node is found: name below at, or at itself when name is "". */
struct place {
	struct pc_dirfd at;
	uint64_t id; /* of the name; 0: no other is left to try */
	char name[RP_NAME_MAX + 1];
	char buf[PATH_MAX];
	const char *path; /* name with at's prefix */
};

/* The next place, older than p->id. Return: 0, and p->at to be given back; -ESTALE. */
static int place_next(struct pathcache *c, struct rp_node *node, struct place *p)
{
	int rc = 0;

	p->name[0] = '\0';
	if (rp_node_is_dir(node) || pc_posix_handle_fd(node) >= 0) {
		p->id = 0;
		if (rp_node_is_dir(node))
			rc = pc_dirfd_get(c, node, &p->at);
		else
			p->at = (struct pc_dirfd){.fd = pc_posix_handle_fd(node)};
	} else {
		rc = pc_dirfd_get_place(c, node, &p->id, &p->at, p->name);
	}
	if (!rc)
		p->path = at_path(&p->at, p->name, p->buf, sizeof(p->buf));
	return rc;
}

/* Ask about node at p, which may be another object's by now. out: the question's own. */
typedef int (*ask_fn)(struct pathcache *c, struct rp_node *node, const struct place *p, void *out);

/* The answer of the first place where node is found, or else -ESTALE. */
static int ask_node(struct pathcache *c, struct rp_node *node, ask_fn ask, void *out)
{
	struct place p = {.id = UINT64_MAX};
	int rc;

	do {
		rc = place_next(c, node, &p);
		if (!rc) {
			rc = pc_posix_stale(ask(c, node, &p, out));
			pc_dirfd_put(c, &p.at);
		}
	} while (rc == -ESTALE && p.id);
	return rc;
}

static int getattr_at(struct pathcache *c, struct rp_node *node, const struct place *p, void *out)
{
	const struct pc_posix *posix = c->backend_data;
	struct pc_answer *a = out;
	int rc = pc_posix_statx(p->at.fd, p->path, a);

	if (!rc && !pc_posix_same(node, a))
		rc = -ESTALE;
	if (rc)
		return rc;
	a->flags = rp_node_flags(node) & (PC_POSIX_MOUNT_FLAGS | RP_N_ACL_UNKNOWN);
	a->flags |= pc_posix_owner_flags(posix, a);
	if (rp_node_is_dir(node) && !(a->flags & RP_N_KERNEL))
		a->flags = pc_posix_dir_flags(pc_posix_mount_flags(posix, p->at.fd) |
		                                      pc_posix_owner_flags(posix, a),
		                              p->at.fd, p->path);
	else if (!S_ISLNK(node->type))
		a->flags |= RP_N_ACL_UNKNOWN;
	return 0;
}

static int posix_getattr(struct pathcache *c, struct rp_node *node, const struct rp_cred *cred,
                         struct pc_answer *a)
{
	(void)cred;
	return ask_node(c, node, getattr_at, a);
}

static int readlink_at(struct pathcache *c, struct rp_node *node, const struct place *p, void *out)
{
	struct pc_answer *a = calloc(1, sizeof(*a));
	int rc = -ENOMEM;

	(void)c;
	if (!a)
		return rc;
	if (p->name[0])
		rc = ask_link(p->at.fd, p->path, a);
	else if ((rc = pc_posix_statx(p->at.fd, "", a)) == 0)
		rc = link_read(p->at.fd, "", a);
	if (!rc && !pc_posix_same(node, a))
		rc = -ESTALE;
	if (!rc) {
		memcpy(out, a->link, a->link_len);
		rc = (int)a->link_len;
	}
	free(a);
	return rc;
}

static ssize_t posix_readlink(struct pathcache *c, struct rp_node *node, char *buf)
{
	return ask_node(c, node, readlink_at, buf);
}

static int acl_at(struct pathcache *c, struct rp_node *node, const struct place *p, void *out)
{
	struct pc_answer *a = calloc(1, sizeof(*a));
	int acl, rc;

	(void)c, (void)out;
	if (!a)
		return -ENOMEM;
	acl = pc_posix_has_acl(p->at.fd, p->path);
	/* Asked by name: was it this object's? */
	rc = pc_posix_statx(p->at.fd, p->path, a);
	if (!rc && !pc_posix_same(node, a))
		rc = -ESTALE;
	free(a);
	return rc ? rc : acl;
}

static int posix_acl(struct pathcache *c, struct rp_node *node)
{
	return ask_node(c, node, acl_at, NULL);
}

static int access_here(int fd, const char *name, int mask)
{
	int flags = AT_EACCESS | AT_SYMLINK_NOFOLLOW | (*name ? 0 : AT_EMPTY_PATH);

	/* The system call: glibc's faccessat() emulates the flags from mode bits. */
	return syscall(SYS_faccessat2, fd, name, mask, flags) ? -errno : 0;
}

/* As cred, which must be the process's own where no other can be taken on. */
static int access_as(struct pathcache *c, int fd, int mask, const struct rp_cred *cred)
{
	const struct pc_posix *p = c->backend_data;
	struct pc_cred_saved saved;
	int rc;

	if (pc_cred_equal(cred, &c->self))
		return access_here(fd, "", mask);
	rc = p->can_switch ? pc_cred_assume(cred, &saved) : -EACCES;
	if (!rc) {
		rc = access_here(fd, "", mask);
		pc_cred_restore(&saved);
	}
	return rc;
}

static int posix_judge(struct pathcache *c, int fd, int mask, const struct rp_cred *cred)
{
	const struct pc_posix *p = c->backend_data;
	struct rp_perm perm;
	struct stat st;

	if (p->can_switch || pc_cred_equal(cred, &c->self))
		return access_as(c, fd, mask, cred);
	if (fstat(fd, &st))
		return -errno;
	perm = (struct rp_perm){st.st_mode, st.st_uid, st.st_gid};
	return rp_perm_allows(&perm, cred, mask) && !pc_posix_has_acl(fd, "") ? 0 : -EACCES;
}

struct who {
	const struct rp_cred *cred;
	int mask;
};

static int access_at(struct pathcache *c, struct rp_node *node, const struct place *p, void *out)
{
	struct pc_answer *a = calloc(1, sizeof(*a));
	const struct who *who = out;
	int fd, rc = -ENOMEM;

	if (!a)
		return rc;
	/* By the object itself, so that the way to it is not judged again. */
	if (*p->path)
		fd = openat(p->at.fd, p->path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	else
		fd = fcntl(p->at.fd, F_DUPFD_CLOEXEC, 0);
	rc = fd < 0 ? -errno : pc_posix_statx(fd, "", a);
	if (!rc && !pc_posix_same(node, a))
		rc = -ESTALE;
	if (!rc)
		rc = access_as(c, fd, who->mask, who->cred);
	if (fd >= 0)
		close(fd);
	free(a);
	return rc;
}

static int posix_access(struct pathcache *c, struct rp_node *node, int mask,
                        const struct rp_cred *cred)
{
	struct who who = {cred, mask};

	return ask_node(c, node, access_at, &who);
}

/* ---- descriptors and listings ------------------------------------------- */

static int posix_open(struct pathcache *c, struct rp_node *node, struct rp_node *dir,
                      const char *name, int oflags)
{
	char path[PATH_MAX];
	struct pc_dirfd at = {.fd = dir ? -1 : pc_posix_handle_fd(node)};
	int fd, rc = at.fd < 0 ? pc_dirfd_get(c, dir ? dir : node, &at) : 0;

	if (rc)
		return rc;
	if (dir || at.prefix) {
		fd = openat(at.fd, at_path(&at, dir ? name : "", path, sizeof(path)),
		            oflags | O_NOFOLLOW | O_CLOEXEC);
	} else if (rp_node_is_dir(node)) {
		fd = openat(at.fd, ".", oflags | O_CLOEXEC);
	} else {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", at.fd);
		fd = open(path, (oflags & ~O_NOFOLLOW) | O_CLOEXEC);
	}
	rc = fd < 0 ? -errno : fd;
	pc_dirfd_put(c, &at);
	return rc;
}

static bool dot_name(const char *n)
{
	return n[0] == '.' && (!n[1] || (n[1] == '.' && !n[2]));
}

/* Does a directory of such a file system list whatever is found in it, but for its casefold flag? */
static bool lists_by_type(unsigned long type)
{
	static const unsigned long all[] = {
		EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC,       BTRFS_SUPER_MAGIC,
		F2FS_SUPER_MAGIC, TMPFS_MAGIC,           RAMFS_MAGIC,
		SQUASHFS_MAGIC,   OVERLAYFS_SUPER_MAGIC, EROFS_SUPER_MAGIC_V1,
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (type == all[i])
			return true;
	return false;
}

/* Where case is folded more is found than is listed. */
static bool lists_all(int fd)
{
	struct statfs fs;
	int flags = 0;

	if (fstatfs(fd, &fs) || !lists_by_type((unsigned long)fs.f_type))
		return false;
	return ioctl(fd, FS_IOC_GETFLAGS, &flags) ? errno == ENOTTY || errno == EOPNOTSUPP
	                                          : !(flags & FS_CASEFOLD_FL);
}

static int posix_readdir(struct pathcache *c, struct rp_node *dir, uint64_t cookie,
                         pathcache_dirent_fn fn, void *arg)
{
	int fd = posix_open(c, dir, NULL, NULL, O_RDONLY | O_DIRECTORY);
	struct dirent *e;
	DIR *d;
	int rc = 0;

	if (fd < 0)
		return fd;
	d = fdopendir(fd);
	if (!d) {
		rc = -errno;
		close(fd);
		return rc;
	}
	if (cookie)
		seekdir(d, (long)cookie);
	for (errno = 0; (e = readdir(d)) != NULL; errno = 0)
		if (!dot_name(e->d_name) && fn(arg, e->d_name, strlen(e->d_name), e->d_ino,
		                               (uint32_t)DTTOIF(e->d_type), (uint64_t)e->d_off))
			break;
	if (!e)
		rc = -errno;
	if (!e && !rc && c->complete_max)
		rc = lists_all(dirfd(d));
	closedir(d);
	return rc;
}

/* ---- the rest of a path, by the kernel ---------------------------------- */

static int openat2_path(int dirfd, const char *path, uint64_t flags)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC};
	long fd;

	if (flags & PATHCACHE_NOFOLLOW)
		how.flags |= O_NOFOLLOW;
	if (flags & PATHCACHE_DIRECTORY)
		how.flags |= O_DIRECTORY;
	if (flags & (PATHCACHE_BENEATH | PATHCACHE_IN_ROOT))
		how.resolve |= RESOLVE_BENEATH;
	if (flags & PATHCACHE_NO_SYMLINKS)
		how.resolve |= RESOLVE_NO_SYMLINKS;
	if (flags & PATHCACHE_NO_XDEV)
		how.resolve |= RESOLVE_NO_XDEV;
	if (how.resolve)
		fd = syscall(SYS_openat2, dirfd, path, &how, sizeof(how));
	else
		fd = openat(dirfd, path, (int)how.flags);
	return fd < 0 ? -errno : (int)fd;
}

static int resolve_here(struct pathcache *c, int dirfd, const char *rest, uint64_t flags,
                        struct pc_answer *a)
{
	int rc, fd = openat2_path(dirfd, rest, flags);

	if (fd < 0)
		return fd;
	rc = pc_posix_statx(fd, "", a);
	if (rc) {
		close(fd);
		return rc;
	}
	a->flags = pc_posix_mount_flags(c->backend_data, fd) | PC_A_NO_CACHE | RP_N_ASK;
	a->handle = (void *)(intptr_t)(fd + 1);
	if (S_ISLNK(a->attr.mode))
		rc = link_read(fd, "", a);
	return rc;
}

static int posix_resolve(struct pathcache *c, struct rp_node *dir, const char *rest, uint64_t flags,
                         const struct rp_cred *cred, struct pc_answer *a)
{
	const struct pc_posix *p = c->backend_data;
	struct pc_cred_saved saved;
	struct pc_dirfd at;
	int rc = pc_dirfd_get(c, dir, &at);

	a->flags = 0;
	a->handle = NULL;
	if (rc)
		return rc;
	if (at.prefix) {
		rc = -EMFILE;
	} else if (pc_cred_equal(cred, &c->self)) {
		rc = resolve_here(c, at.fd, rest, flags, a);
	} else {
		rc = p->can_switch ? pc_cred_assume(cred, &saved) : -EACCES;
		if (!rc) {
			rc = resolve_here(c, at.fd, rest, flags, a);
			pc_cred_restore(&saved);
		}
	}
	pc_dirfd_put(c, &at);
	return rc;
}

/* The kernel's path of fd. */
static ssize_t fd_path(int fd, char *buf, size_t size)
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, buf, size);
	if (n < 0)
		return -errno;
	if ((size_t)n >= size)
		return -ERANGE;
	buf[n] = '\0';
	return n;
}

static ssize_t posix_path(struct pathcache *c, struct rp_node *node, char *buf, size_t size)
{
	const struct pc_posix *p = c->backend_data;
	char path[PATH_MAX], root[PATH_MAX];
	struct pc_dirfd at = {.fd = pc_posix_handle_fd(node)};
	ssize_t n = at.fd < 0 ? pc_dirfd_get(c, node, &at) : 0, cut = 0;
	struct stat st;

	if (n)
		return n;
	n = at.prefix ? -EMFILE : fd_path(at.fd, path, sizeof(path));
	/* The kernel marks a removed one by a suffix that could be a name. */
	if (n >= 0 && (fstat(at.fd, &st) || st.st_nlink == 0))
		n = -ENOENT;
	pc_dirfd_put(c, &at);
	if (n < 0)
		return n;
	if (!p->is_slash) {
		cut = fd_path(p->root_fd, root, sizeof(root));
		if (cut < 0)
			return cut;
		if (strncmp(path, root, (size_t)cut) != 0 || (path[cut] && path[cut] != '/'))
			return -ENOENT;
	}
	if (n == cut)
		path[--cut] = '/'; /* the root itself */
	if ((size_t)(n - cut) >= size)
		return -ERANGE;
	memcpy(buf, path + cut, (size_t)(n - cut) + 1);
	return n - cut;
}

/*
 * Attributes by statx(2), all that it was asked for. A directory's tell too little:
 * nothing says whether it has an ACL, by which it is searched.
 */
static bool posix_attr(struct pathcache *c, const struct rp_node *node,
                       const struct pathcache_attr *attr, struct pc_answer *a)
{
	const uint32_t wanted = PATHCACHE_ATTR_BASIC | PATHCACHE_ATTR_BTIME;

	(void)c;
	memcpy(&a->attr, attr, sizeof(a->attr));
	if (!(attr->mask & PATHCACHE_ATTR_MNT_ID))
		a->attr.mnt_id = rp_node_mnt(node);
	a->object_id = attr->ino;
	a->object_gen = pc_posix_ns(attr->btime_sec, attr->btime_nsec);
	a->domain = pc_posix_domain(&a->attr);
	a->flags = rp_node_flags(node) & PC_POSIX_MOUNT_FLAGS;
	if (!S_ISLNK(node->type))
		a->flags |= RP_N_ACL_UNKNOWN;
	return (attr->mask & wanted) == wanted && !rp_node_is_dir(node) && pc_posix_same(node, a);
}

static void posix_release(struct pathcache *c, uint64_t id, uint64_t gen, void *handle)
{
	(void)c, (void)id, (void)gen;
	close((int)(intptr_t)handle - 1);
}

const struct pc_backend pc_backend_posix = {
	.lookup = posix_lookup,
	.parent = posix_parent,
	.getattr = posix_getattr,
	.readlink = posix_readlink,
	.acl = posix_acl,
	.access = posix_access,
	.judge = posix_judge,
	.readdir = posix_readdir,
	.open = posix_open,
	.resolve = posix_resolve,
	.path = posix_path,
	.attr = posix_attr,
	.release = posix_release,
	.fini = pc_posix_fini,
};
