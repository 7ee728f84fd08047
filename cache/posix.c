/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "posix.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cred.h"

#ifndef STATX_MNT_ID
#define STATX_MNT_ID 0x1000u
#endif

#define STATX_WANTED (STATX_BASIC_STATS | STATX_BTIME | STATX_MNT_ID)

/* ---- attributes --------------------------------------------------------- */

uint64_t pc_posix_ns(int64_t sec, uint32_t nsec)
{
	return (uint64_t)sec * 1000000000u + nsec;
}

static uint32_t mask_of(const struct statx *sx)
{
	static const struct {
		uint32_t from, to;
	} map[] = {
		{STATX_TYPE, PATHCACHE_ATTR_MODE},   {STATX_NLINK, PATHCACHE_ATTR_NLINK},
		{STATX_UID, PATHCACHE_ATTR_UID},     {STATX_GID, PATHCACHE_ATTR_GID},
		{STATX_ATIME, PATHCACHE_ATTR_ATIME}, {STATX_MTIME, PATHCACHE_ATTR_MTIME},
		{STATX_CTIME, PATHCACHE_ATTR_CTIME}, {STATX_INO, PATHCACHE_ATTR_INO},
		{STATX_SIZE, PATHCACHE_ATTR_SIZE},   {STATX_BLOCKS, PATHCACHE_ATTR_BLOCKS},
		{STATX_BTIME, PATHCACHE_ATTR_BTIME}, {STATX_MNT_ID, PATHCACHE_ATTR_MNT_ID},
	};
	uint32_t mask = 0;

	for (size_t i = 0; i < sizeof(map) / sizeof(map[0]); i++)
		if (sx->stx_mask & map[i].from)
			mask |= map[i].to;
	return mask;
}

static void attr_from(const struct statx *sx, struct rp_attr *a)
{
	a->mask = mask_of(sx);
	a->mode = sx->stx_mode;
	a->uid = sx->stx_uid;
	a->gid = sx->stx_gid;
	a->nlink = sx->stx_nlink;
	a->blksize = sx->stx_blksize;
	a->ino = sx->stx_ino;
	a->dev = makedev(sx->stx_dev_major, sx->stx_dev_minor);
	a->rdev = makedev(sx->stx_rdev_major, sx->stx_rdev_minor);
	a->size = sx->stx_size;
	a->blocks = sx->stx_blocks;
	a->attributes = sx->stx_attributes;
	a->mnt_id = sx->stx_mask & STATX_MNT_ID ? sx->stx_mnt_id : a->dev;
	a->atime_sec = sx->stx_atime.tv_sec;
	a->mtime_sec = sx->stx_mtime.tv_sec;
	a->ctime_sec = sx->stx_ctime.tv_sec;
	a->btime_sec = sx->stx_btime.tv_sec;
	a->atime_nsec = sx->stx_atime.tv_nsec;
	a->mtime_nsec = sx->stx_mtime.tv_nsec;
	a->ctime_nsec = sx->stx_ctime.tv_nsec;
	a->btime_nsec = sx->stx_btime.tv_nsec;
}

uint64_t pc_posix_domain(const struct rp_attr *a)
{
	return (a->dev << 32) ^ a->dev >> 32 ^ a->mnt_id;
}

int pc_posix_statx(int fd, const char *name, struct pc_answer *a)
{
	struct statx sx;
	int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | (*name ? 0 : AT_EMPTY_PATH);

	if (statx(fd, name, flags, STATX_WANTED, &sx))
		return -errno;
	a->flags = 0;
	a->link_len = 0;
	a->handle = NULL;
	attr_from(&sx, &a->attr);
	a->object_id = sx.stx_ino;
	a->object_gen = 0;
	if (sx.stx_mask & STATX_BTIME)
		a->object_gen = pc_posix_ns(a->attr.btime_sec, a->attr.btime_nsec);
	else if (S_ISLNK(a->attr.mode))
		a->object_gen = pc_posix_ns(a->attr.ctime_sec, a->attr.ctime_nsec);
	a->domain = pc_posix_domain(&a->attr);
	return 0;
}

/* ---- file systems ------------------------------------------------------- */

/* Of file systems that no header of the kernel has a name for. */
#define GPFS_MAGIC 0x47504653u
#define LUSTRE_MAGIC 0x0bd00bd0u
#define PRL_FS_MAGIC 0x7c7c6673u
#define VMHGFS_MAGIC 0xbacbacbcu
#define KAFS_MAGIC 0x6b414653u
#define OCFS2_MAGIC 0x7461636fu
#define GFS2_MAGIC 0x01161970u
#define ORANGEFS_MAGIC 0x20030528u
#define VBOXSF_MAGIC 0x786f4256u
#define ACFS_MAGIC 0x61636673u
#define BEEGFS_MAGIC 0x19830326u
#define IBRIX_MAGIC 0x013111a8u
#define PANFS_MAGIC 0xaad7aaeau
#define SNFS_MAGIC 0xbeefdeadu

/*
 * A server, not the mode, decides who may; and others of its clients change what is
 * in it without this kernel being told.
 */
static bool server_decides(unsigned long type)
{
	static const unsigned long remote[] = {
		NFS_SUPER_MAGIC,  SMB_SUPER_MAGIC,  CIFS_SUPER_MAGIC, SMB2_SUPER_MAGIC,
		V9FS_MAGIC,       FUSE_SUPER_MAGIC, AFS_SUPER_MAGIC,  KAFS_MAGIC,
		CODA_SUPER_MAGIC, CEPH_SUPER_MAGIC, NCP_SUPER_MAGIC,  GPFS_MAGIC,
		LUSTRE_MAGIC,     PRL_FS_MAGIC,     VMHGFS_MAGIC,     VBOXSF_MAGIC,
		OCFS2_MAGIC,      GFS2_MAGIC,       ORANGEFS_MAGIC,   ACFS_MAGIC,
		BEEGFS_MAGIC,     IBRIX_MAGIC,      PANFS_MAGIC,      SNFS_MAGIC,
	};

	for (size_t i = 0; i < sizeof(remote) / sizeof(remote[0]); i++)
		if (remote[i] == type)
			return true;
	return false;
}

/* What the kernel makes up on each look, for the asking process maybe. */
static bool never_cached(unsigned long type)
{
	return type == PROC_SUPER_MAGIC || type == SYSFS_MAGIC || type == DEBUGFS_MAGIC ||
	       type == TRACEFS_MAGIC || type == CGROUP_SUPER_MAGIC || type == CGROUP2_SUPER_MAGIC ||
	       type == DEVPTS_SUPER_MAGIC || type == AUTOFS_SUPER_MAGIC;
}

uint32_t pc_posix_mount_flags(const struct pc_posix *p, int fd)
{
	struct statfs fs;
	uint32_t flags = 0;

	if (fstatfs(fd, &fs))
		return RP_N_ASK | RP_N_ASK_WX | RP_N_UNTOLD;
	if (server_decides((unsigned long)fs.f_type))
		flags |= RP_N_ASK | RP_N_UNTOLD;
	if (never_cached((unsigned long)fs.f_type))
		flags |= RP_N_NO_CHILDREN | RP_N_NO_ATTR | (p->is_slash ? RP_N_KERNEL : 0);
	if (fs.f_flags & (ST_RDONLY | ST_NOEXEC))
		flags |= RP_N_ASK_WX;
	return flags;
}

bool pc_posix_has_acl(int fd, const char *name)
{
	char path[64 + PATH_MAX];

	snprintf(path, sizeof(path), "/proc/self/fd/%d%s%s", fd, *name ? "/" : "", name);
	if (*name ? lgetxattr(path, "system.posix_acl_access", NULL, 0) >= 0
	          : getxattr(path, "system.posix_acl_access", NULL, 0) >= 0)
		return true;
	return errno != ENODATA && errno != EOPNOTSUPP;
}

uint32_t pc_posix_owner_flags(const struct pc_posix *p, const struct pc_answer *a)
{
	return p->all_ids || (a->attr.uid != p->no_uid && a->attr.gid != p->no_gid) ? 0 : RP_N_ASK;
}

uint32_t pc_posix_dir_flags(uint32_t mount, int fd, const char *name)
{
	/* Where everything is asked anyway it makes no difference. */
	if (!(mount & (RP_N_ASK | RP_N_KERNEL)) && pc_posix_has_acl(fd, name))
		return mount | RP_N_ACL;
	return mount;
}

/* ---- opening the tree --------------------------------------------------- */

static bool same_file(int a, int b)
{
	struct stat sa, sb;

	return fstat(a, &sa) == 0 && fstat(b, &sb) == 0 && sa.st_dev == sb.st_dev &&
	       sa.st_ino == sb.st_ino;
}

/* The process's "/", not merely another mount of the same directory. */
static bool fd_is_slash(int fd)
{
	int slash = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int up = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	bool is = slash >= 0 && up >= 0 && same_file(fd, slash) && same_file(fd, up);

	if (slash >= 0)
		close(slash);
	if (up >= 0)
		close(up);
	return is;
}

/* The numbers that path begins with, at most n. Return: how many there are; -1: no such file. */
static int numbers_read(const char *path, uint32_t *numbers, int n)
{
	FILE *f = fopen(path, "re");
	int got = 0;

	if (!f)
		return -1;
	while (got < n && fscanf(f, "%" SCNu32, &numbers[got]) == 1)
		got++;
	fclose(f);
	return got;
}

/* Does the map of ids at path have all there are? So it is without user namespaces. */
static bool maps_all(const char *path)
{
	uint32_t line[3] = {0, 0, 0};
	int n = numbers_read(path, line, 3);

	/* The last number is no id. */
	return n < 0 || (n == 3 && line[2] == UINT32_MAX);
}

static void ids_init(struct pc_posix *p)
{
	p->all_ids = maps_all("/proc/self/uid_map") && maps_all("/proc/self/gid_map");
	p->no_uid = p->no_gid = 65534;
	numbers_read("/proc/sys/kernel/overflowuid", &p->no_uid, 1);
	numbers_read("/proc/sys/kernel/overflowgid", &p->no_gid, 1);
}

int pc_posix_create(const char *dir, void **data, struct pc_answer *root)
{
	struct pc_posix *p = calloc(1, sizeof(*p));
	int rc;

	if (!p)
		return -ENOMEM;
	p->root_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (p->root_fd < 0) {
		rc = -errno;
		free(p);
		return rc;
	}
	p->is_slash = fd_is_slash(p->root_fd);
	p->can_switch = pc_cred_can_assume();
	ids_init(p);
	rc = pc_posix_statx(p->root_fd, "", root);
	if (rc) {
		close(p->root_fd);
		free(p);
		return rc;
	}
	root->flags = pc_posix_dir_flags(pc_posix_mount_flags(p, p->root_fd) |
	                                         pc_posix_owner_flags(p, root),
	                                 p->root_fd, "");
	*data = p;
	return 0;
}

void pc_posix_fini(void *data)
{
	struct pc_posix *p = data;

	close(p->root_fd);
	free(p);
}
