/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The kernel as judge: one question, asked of a cache and of the kernel, and
 * the comparison of both answers.
 *
 * A cache rooted at a directory is judged by openat2(2) with RESOLVE_IN_ROOT
 * from that directory, a cache of "/" by plain resolution. A foreign caller's
 * question is asked of the kernel by the calling thread alone, which takes on
 * the caller's ids with per-thread system calls and gives them up again.
 */
#ifndef TS_ORACLE_H
#define TS_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "pathcache.h"

enum ts_op { TS_STAT, TS_LSTAT, TS_ACCESS, TS_READLINK, TS_REALPATH };

struct ts_cred {
	uint32_t uid;
	uint32_t gid;
	uint32_t caps; /* PATHCACHE_CAP_* */
	uint32_t ngroups;
	uint32_t groups[8];
};

/* A cache and what the kernel calls its root. */
struct ts_view {
	struct pathcache *cache;
	int fd;     /* O_PATH descriptor of the root */
	bool whole; /* the root is "/" */
	char label[48];
};

/* A held directory, on both sides. */
struct ts_start {
	struct pathcache_entry *entry;
	int fd;
};

struct ts_query {
	enum ts_op op;
	int amode;      /* TS_ACCESS */
	uint64_t flags; /* PATHCACHE_NOFOLLOW... */
	const char *path;
	const struct ts_cred *cred;   /* NULL: the process */
	const struct ts_start *start; /* NULL: the root */
};

#define TS_TEXT 4200

struct ts_answer {
	int err; /* errno, 0 = success */
	struct pathcache_attr attr;
	size_t len;
	char text[TS_TEXT];
};

extern const struct ts_cred ts_nobody; /* uid and gid 65534, no groups */

/* May this process ask as another user? */
bool ts_can_switch(void);
void ts_switch_to(const struct ts_cred *cred);
void ts_switch_back(void);
/* ts_nobody can reach dir; without this no foreign caller's answer means anything. */
bool ts_nobody_reaches(const char *dir);

void ts_view_open(struct ts_view *view, const char *dir, const struct pathcache_options *opt);
/* Open for mode, everything else at its default. */
void ts_view_open_mode(struct ts_view *view, const char *dir, uint32_t mode);
void ts_view_close(struct ts_view *view);

struct pathcache_cred ts_to_cred(const struct ts_cred *cred);
void ts_ask_cache(const struct ts_view *view, const struct ts_query *query,
                  struct ts_answer *answer);
void ts_ask_kernel(const struct ts_view *view, const struct ts_query *query,
                   struct ts_answer *answer);
/* Return: NULL when equal, else the name of the first field that differs. */
const char *ts_difference(const struct ts_query *query, const struct ts_answer *a,
                          const struct ts_answer *b);

void ts_print_bytes(FILE *out, const char *text, size_t len);
void ts_print_query(FILE *out, const struct ts_view *view, const struct ts_query *query);
void ts_print_answer(FILE *out, const struct ts_query *query, const char *who,
                     const struct ts_answer *answer);

/*
 * Ask both and compare; print what differs and count it as a failed check.
 * Return: whether they agree.
 */
bool ts_agree(const char *file, int line, const struct ts_view *view, const struct ts_query *query);
#define AGREE(view, ...) ts_agree(__FILE__, __LINE__, view, &(struct ts_query){__VA_ARGS__})

/* ---- short forms ------------------------------------------------------- */

/* The inode number path leads to, 0 on an error. */
uint64_t ts_cache_ino(struct pathcache *cache, const char *path);
/* Return: 0 or a negative errno. */
int ts_stat_err(struct pathcache *cache, const char *path);
int ts_stat_as(struct pathcache *cache, const char *path, const struct ts_cred *cred);
int ts_stat_flags(struct pathcache *cache, const char *path, uint64_t flags);
struct pathcache_entry *ts_get(struct pathcache *cache, const char *path);
struct pathcache_stats ts_stats(struct pathcache *cache);

struct open_how;

/*
 * openat2(2), asked again where its errno may not be the path's: EAGAIN tells of
 * a rename or a mount anywhere on the system meanwhile; and a walk that another
 * program's change makes the kernel begin again does not begin to count its
 * links again, so ELOOP has to be told every time.
 */
int ts_openat2(int dirfd, const char *path, const struct open_how *how);

#endif
