/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * source: where events come from: inotify(7) (source_inotify.c) or fanotify(7)
 * (source_fanotify.c).
 *
 * Each names the object an event is about by a key of its own, never by a path:
 * inotify by the number of its watch, fanotify by file system and file handle.
 * One key may stand for several nodes, where a directory is mounted twice.
 *
 *   open -> arm a directory, get its key -> read, next ... -> disarm -> close
 *
 * Context of all: events.arm or events.drain is held as each says; system calls
 * on the instance itself, which wait for nobody.
 */
#ifndef PC_SOURCE_H
#define PC_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PC_KEY_MAX 144u    /* a file system's number, and a handle of 128 bytes with its type */
#define PC_KEY_FSID 8u     /* of these, the file system's (fanotify) */
#define PC_MARKS_MAX 64u   /* mounts of marked file systems */
#define PC_EVENT_MAX 1024u /* bytes of the longest event */

/* What an event says; bits, since one may stand for several changes. */
#define PC_EV_NAME 0x01u   /* what name leads to has changed */
#define PC_EV_MADE 0x02u   /* it leads to something new that may have other names */
#define PC_EV_ATTR 0x04u   /* attributes of what it leads to, or without a name the object's own */
#define PC_EV_MOVED 0x08u  /* the object itself has another place */
#define PC_EV_GONE 0x10u   /* it is no more */
#define PC_EV_LOST 0x20u   /* it may be there, but nobody will tell of it */
#define PC_EV_ENDED 0x40u  /* the last event of the key, which may be given out again */
#define PC_EV_OBJECT 0x80u /* attributes of the object of the key, by whatever name; see object */
#define PC_EV_OVERFLOW 0x100u /* any number of events of any key is missing here */

struct pc_key {
	uint32_t len;
	unsigned char bytes[PC_KEY_MAX];
};

struct pc_event {
	uint32_t what;    /* PC_EV_*; 0: nothing that matters */
	uint32_t units;   /* as queued() counts */
	const char *name; /* in the buffer, not terminated */
	size_t len;
	struct pc_key key; /* len 0: none */
};

/* A mount of a file system that fanotify was told to watch. */
struct pc_mark {
	int32_t fsid[2];
	uint64_t domain; /* of its nodes */
};

struct pc_source {
	const struct pc_source_ops *ops;    /* const after open of the cache; NULL: none */
	int fd;                             /* arm and drain to write; -1: closed */
	uint32_t nmarks;                    /* arm */
	struct pc_mark marks[PC_MARKS_MAX]; /* arm */
};

/* A directory to be armed. */
struct pc_armed {
	int fd; /* O_PATH */
	uint64_t domain;
};

struct pc_source_ops {
	/*
	 * Open, and see that an event that must come does come. Return: 0;
	 * -ENOSYS where it does not; -errno. fd is the caller's to close unless it is -1. Context: arm.
	 */
	int (*open)(struct pc_source *s);
	/* Return: 0 and key; -errno. Context: arm. */
	int (*arm)(struct pc_source *s, const struct pc_armed *dir, struct pc_key *key);
	/* No more events of key; PC_EV_ENDED follows. NULL: they cost nothing. Context: arm. */
	void (*disarm)(struct pc_source *s, const struct pc_key *key);
	/* What is queued now, in units of its own. Context: drain. */
	uint64_t (*queued)(struct pc_source *s);
	/* The event at buf, of at most len bytes. Return: its bytes. Context: any. */
	size_t (*next)(const char *buf, size_t len, struct pc_event *e);
	/*
	 * A descriptor of the object of a PC_EV_OBJECT, below root, a directory of its
	 * file system. Return: it, the caller's; -errno. NULL: there are no such events.
	 */
	int (*object)(int root, const struct pc_key *key);
};

extern const struct pc_source_ops pc_source_inotify;
extern const struct pc_source_ops pc_source_fanotify;

/* ---- for sources: a probe that touches no file of anybody's --------------- */

/*
 * A file without a name, and "/proc/self/fd/N", by which it can be watched.
 * Return: a descriptor; -errno.
 */
int pc_probe_make(char *path, size_t size);

/* Change it. Return: 0 where s->fd has an event to read then; -ENOSYS; -errno. Closes probe. */
int pc_probe_changed(struct pc_source *s, int probe);

#endif
