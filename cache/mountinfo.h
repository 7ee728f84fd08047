/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * mountinfo: the table of mounts as /proc/self/mountinfo tells it; see proc(5).
 */
#ifndef PC_MOUNTINFO_H
#define PC_MOUNTINFO_H

#include <stdbool.h>
#include <stdint.h>

#include "posix.h"

#define PC_MOUNT_RO 0x1u     /* of the mount, or of its file system */
#define PC_MOUNT_NOEXEC 0x2u /* likewise */

/* Whether the directory that a mount point is a name in is known, and how well. */
enum pc_mount_place {
	PC_MOUNT_UNKNOWN, /* it could not be found: covered by another mount, or moved just now */
	PC_MOUNT_NONE,    /* it is "/", no name */
	PC_MOUNT_NAME,    /* dir and name are exact */
	PC_MOUNT_BELOW,   /* somewhere below dir, where this process may not search */
};

struct pc_mount {
	uint32_t id, parent;
	uint32_t flags;    /* PC_MOUNT_* */
	const char *dev;   /* as written: "8:1" */
	const char *root;  /* what of the file system is mounted */
	const char *point; /* from the root of the process that opened the file */
	const char *type;
	const char *source;
	/* Not in the file; mounts.c fills it in. */
	enum pc_mount_place place;
	struct pc_ident dir;
	const char *name; /* the end of point */
	uint64_t seen;    /* what is mounted at point now: a number never used again */
};

struct pc_mount_table {
	char *text;             /* what the strings are in */
	struct pc_mount *mount; /* by id */
	uint32_t n;
};

/*
 * Read it from its beginning. Changes that race show as the file's POLLPRI.
 * Return: 0; -EBADMSG: not understood; -ENOMEM; -errno.
 */
int pc_mount_table_read(struct pc_mount_table *t, int fd);
void pc_mount_table_free(struct pc_mount_table *t);

/* NULL: there is none. */
struct pc_mount *pc_mount_by_id(const struct pc_mount_table *t, uint32_t id);

#endif
