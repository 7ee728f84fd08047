/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "oracle.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "run.h"

const struct ts_cred ts_nobody = {.uid = 65534, .gid = 65534};

/* ---- callers ----------------------------------------------------------- */
/*
 * The wrappers of the C library change every thread of the process; the raw
 * calls change one. Only the effective ids change, so root's saved id leads
 * back.
 */

static __thread gid_t own_groups[256];
static __thread int own_ngroups;

static void set_effective_caps(uint64_t mask)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	REQUIRE(syscall(SYS_capget, &head, data) == 0);
	data[0].effective = data[0].permitted & (uint32_t)mask;
	data[1].effective = data[1].permitted & (uint32_t)(mask >> 32);
	REQUIRE(syscall(SYS_capset, &head, data) == 0);
}

bool ts_can_switch(void)
{
	return geteuid() == 0 && getuid() == 0;
}

void ts_switch_to(const struct ts_cred *cred)
{
	uint64_t caps = 0;

	if (cred->caps & PATHCACHE_CAP_DAC_OVERRIDE)
		caps |= UINT64_C(1) << CAP_DAC_OVERRIDE;
	if (cred->caps & PATHCACHE_CAP_DAC_READ_SEARCH)
		caps |= UINT64_C(1) << CAP_DAC_READ_SEARCH;
	own_ngroups = (int)syscall(SYS_getgroups, 256, own_groups);
	REQUIRE(own_ngroups >= 0);
	REQUIRE(syscall(SYS_setgroups, cred->ngroups, cred->groups) == 0);
	REQUIRE(syscall(SYS_setresgid, -1, cred->gid, -1) == 0);
	REQUIRE(syscall(SYS_setresuid, -1, cred->uid, -1) == 0);
	set_effective_caps(caps);
}

void ts_switch_back(void)
{
	set_effective_caps(UINT64_MAX);
	REQUIRE(syscall(SYS_setresuid, -1, 0, -1) == 0);
	set_effective_caps(UINT64_MAX);
	REQUIRE(syscall(SYS_setresgid, -1, 0, -1) == 0);
	REQUIRE(syscall(SYS_setgroups, own_ngroups, own_groups) == 0);
}

bool ts_nobody_reaches(const char *dir)
{
	bool ok;

	if (!ts_can_switch())
		return false;
	ts_switch_to(&ts_nobody);
	ok = faccessat(AT_FDCWD, dir, X_OK, AT_EACCESS) == 0;
	ts_switch_back();
	return ok;
}

/* ---- views ------------------------------------------------------------- */

void ts_view_open(struct ts_view *view, const char *dir, const struct pathcache_options *opt)
{
	int rc = pathcache_open(&view->cache, dir, opt);

	if (rc != 0)
		ts_die(__FILE__, __LINE__, "pathcache_open(%s): %s", dir, strerror(-rc));
	view->fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	REQUIRE(view->fd >= 0);
	view->whole = strcmp(dir, "/") == 0;
	if (!view->label[0])
		snprintf(view->label, sizeof(view->label), "%s", view->whole ? "/" : "rooted");
}

void ts_view_open_mode(struct ts_view *view, const char *dir, uint32_t mode)
{
	static const char *const names[] = {"rcu", "lockref", "refwalk", "locked"};
	struct pathcache_options opt;

	pathcache_options_init(&opt);
	opt.mode = mode;
	snprintf(view->label, sizeof(view->label), "%s %s", dir[1] ? "rooted" : "/", names[mode]);
	ts_view_open(view, dir, &opt);
}

void ts_view_close(struct ts_view *view)
{
	CHECK_EQ(pathcache_close(view->cache), 0);
	close(view->fd);
}

/* ---- the cache --------------------------------------------------------- */

struct pathcache_cred ts_to_cred(const struct ts_cred *cred)
{
	return (struct pathcache_cred){
		.size = sizeof(struct pathcache_cred),
		.uid = cred->uid,
		.gid = cred->gid,
		.groups = cred->ngroups ? cred->groups : NULL,
		.ngroups = cred->ngroups,
		.caps = cred->caps,
	};
}

static ssize_t ask_cache(const struct ts_view *view, const struct ts_query *query,
                         const struct pathcache_how *how, struct ts_answer *answer)
{
	switch (query->op) {
	case TS_STAT:
	case TS_LSTAT:
		return pathcache_stat(view->cache, query->path, how, &answer->attr);
	case TS_ACCESS:
		return pathcache_access(view->cache, query->path, query->amode, how);
	case TS_READLINK:
		return pathcache_readlink(view->cache, query->path, how, answer->text,
		                          sizeof(answer->text));
	case TS_REALPATH:
		return pathcache_realpath(view->cache, query->path, how, answer->text,
		                          sizeof(answer->text));
	}
	return -ENOSYS;
}

void ts_ask_cache(const struct ts_view *view, const struct ts_query *query,
                  struct ts_answer *answer)
{
	struct pathcache_how how = {.size = sizeof(how), .flags = query->flags};
	struct pathcache_cred cred;
	bool plain;
	ssize_t rc;

	if (query->op == TS_LSTAT)
		how.flags |= PATHCACHE_NOFOLLOW;
	if (query->start)
		how.start = query->start->entry;
	if (query->cred) {
		cred = ts_to_cred(query->cred);
		how.cred = &cred;
	}
	plain = !how.flags && !how.start && !how.cred;
	memset(&answer->attr, 0, sizeof(answer->attr));
	rc = ask_cache(view, query, plain ? NULL : &how, answer);
	answer->err = rc < 0 ? (int)-rc : 0;
	answer->len = rc > 0 ? (size_t)rc : 0;
}

/* ---- the kernel -------------------------------------------------------- */

static void from_statx(const struct statx *stx, struct pathcache_attr *attr)
{
	*attr = (struct pathcache_attr){
		.mask = PATHCACHE_ATTR_BASIC,
		.mode = stx->stx_mode,
		.uid = stx->stx_uid,
		.gid = stx->stx_gid,
		.nlink = stx->stx_nlink,
		.blksize = stx->stx_blksize,
		.ino = stx->stx_ino,
		.dev = makedev(stx->stx_dev_major, stx->stx_dev_minor),
		.rdev = makedev(stx->stx_rdev_major, stx->stx_rdev_minor),
		.size = stx->stx_size,
		.mtime_sec = stx->stx_mtime.tv_sec,
		.mtime_nsec = stx->stx_mtime.tv_nsec,
		.ctime_sec = stx->stx_ctime.tv_sec,
		.ctime_nsec = stx->stx_ctime.tv_nsec,
		.btime_sec = stx->stx_btime.tv_sec,
		.btime_nsec = stx->stx_btime.tv_nsec,
		.mnt_id = stx->stx_mnt_id,
	};
	if (stx->stx_mask & STATX_BTIME)
		attr->mask |= PATHCACHE_ATTR_BTIME;
	if (stx->stx_mask & STATX_MNT_ID)
		attr->mask |= PATHCACHE_ATTR_MNT_ID;
}

static uint64_t resolve_flags(const struct ts_view *view, const struct ts_query *query)
{
	uint64_t resolve = 0;

	if (query->flags & PATHCACHE_BENEATH)
		resolve |= RESOLVE_BENEATH;
	if (query->flags & PATHCACHE_IN_ROOT)
		resolve |= RESOLVE_IN_ROOT;
	if (query->flags & PATHCACHE_NO_SYMLINKS)
		resolve |= RESOLVE_NO_SYMLINKS;
	if (query->flags & PATHCACHE_NO_XDEV)
		resolve |= RESOLVE_NO_XDEV;
	if (!view->whole && !query->start && !(resolve & (RESOLVE_BENEATH | RESOLVE_IN_ROOT)))
		resolve |= RESOLVE_IN_ROOT;
	return resolve;
}

int ts_openat2(int dirfd, const char *path, const struct open_how *how)
{
	long fd;

	for (int tries = 0;; tries++) {
		fd = syscall(SYS_openat2, dirfd, path, how, sizeof(*how));
		if (fd >= 0 || tries >= (errno == EAGAIN ? 1000 : errno == ELOOP ? 6 : 0))
			return (int)fd;
	}
}

static int kernel_open(const struct ts_view *view, const struct ts_query *query)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = resolve_flags(view, query)};
	int base = query->start ? query->start->fd : view->fd;

	if (query->op == TS_LSTAT || query->op == TS_READLINK ||
	    (query->flags & PATHCACHE_NOFOLLOW))
		how.flags |= O_NOFOLLOW;
	if (query->flags & PATHCACHE_DIRECTORY)
		how.flags |= O_DIRECTORY;
	return ts_openat2(base, query->path, &how);
}

static int fd_path(int fd, char *text, size_t size)
{
	char proc[64];
	ssize_t n;

	snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
	n = readlink(proc, text, size - 1);
	if (n < 0)
		return -errno;
	text[n] = '\0';
	return (int)n;
}

static void name_of(const struct ts_view *view, int fd, struct ts_answer *answer)
{
	char root[PATH_MAX];
	int n = fd_path(fd, answer->text, sizeof(answer->text)), skip;

	if (n < 0) {
		answer->err = -n;
		return;
	}
	answer->len = (size_t)n;
	if (view->whole)
		return;
	skip = fd_path(view->fd, root, sizeof(root));
	REQUIRE(skip > 0 && strncmp(root, answer->text, (size_t)skip) == 0);
	memmove(answer->text, answer->text + skip, (size_t)(n - skip) + 1);
	answer->len = (size_t)(n - skip);
	if (!answer->len)
		answer->len = (size_t)snprintf(answer->text, sizeof(answer->text), "/");
}

static void link_text(int fd, const struct statx *stx, struct ts_answer *answer)
{
	ssize_t n;

	if (!S_ISLNK(stx->stx_mode)) {
		answer->err = EINVAL;
		return;
	}
	n = readlinkat(fd, "", answer->text, sizeof(answer->text));
	if (n < 0)
		answer->err = errno;
	else
		answer->len = (size_t)n;
}

void ts_ask_kernel(const struct ts_view *view, const struct ts_query *query,
                   struct ts_answer *answer)
{
	struct statx stx = {0};
	int fd;

	answer->err = 0;
	answer->len = 0;
	memset(&answer->attr, 0, sizeof(answer->attr));
	if (query->cred)
		ts_switch_to(query->cred);
	fd = kernel_open(view, query);
	if (fd < 0)
		answer->err = errno;
	else if (query->op == TS_ACCESS &&
	         syscall(SYS_faccessat2, fd, "", query->amode, AT_EMPTY_PATH | AT_EACCESS) != 0)
		answer->err = errno;
	if (query->cred)
		ts_switch_back();
	if (fd < 0)
		return;
	REQUIRE(statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME | STATX_MNT_ID,
	              &stx) == 0);
	if (query->op == TS_STAT || query->op == TS_LSTAT)
		from_statx(&stx, &answer->attr);
	else if (query->op == TS_READLINK)
		link_text(fd, &stx, answer);
	else if (query->op == TS_REALPATH)
		name_of(view, fd, answer);
	close(fd);
}

/* ---- comparison -------------------------------------------------------- */

static const char *attr_difference(const struct pathcache_attr *a, const struct pathcache_attr *b)
{
	uint32_t both = a->mask & b->mask;

	if ((both & PATHCACHE_ATTR_BASIC) != PATHCACHE_ATTR_BASIC)
		return "mask";
	if (a->mode != b->mode)
		return "mode";
	if (a->ino != b->ino || a->dev != b->dev || a->rdev != b->rdev)
		return "identity";
	if (a->nlink != b->nlink)
		return "nlink";
	if (a->uid != b->uid || a->gid != b->gid)
		return "owner";
	if (a->size != b->size)
		return "size";
	if (a->mtime_sec != b->mtime_sec || a->mtime_nsec != b->mtime_nsec)
		return "mtime";
	if (a->ctime_sec != b->ctime_sec || a->ctime_nsec != b->ctime_nsec)
		return "ctime";
	if (both & PATHCACHE_ATTR_BTIME &&
	    (a->btime_sec != b->btime_sec || a->btime_nsec != b->btime_nsec))
		return "btime";
	if (both & PATHCACHE_ATTR_MNT_ID && a->mnt_id != b->mnt_id)
		return "mnt_id";
	return NULL;
}

const char *ts_difference(const struct ts_query *query, const struct ts_answer *a,
                          const struct ts_answer *b)
{
	if (a->err != b->err)
		return "errno";
	if (a->err)
		return NULL;
	switch (query->op) {
	case TS_STAT:
	case TS_LSTAT:
		return attr_difference(&a->attr, &b->attr);
	case TS_ACCESS:
		return NULL;
	case TS_READLINK:
	case TS_REALPATH:
		return a->len == b->len && memcmp(a->text, b->text, a->len) == 0 ? NULL : "text";
	}
	return "op";
}

/* Runs of one byte are counted: a long name tells by its length. */
void ts_print_bytes(FILE *out, const char *text, size_t len)
{
	fputc('"', out);
	for (size_t i = 0, run; i < len; i += run) {
		unsigned char c = (unsigned char)text[i];

		for (run = 1; i + run < len && text[i + run] == text[i];)
			run++;
		if (run < 16)
			run = 1;
		if (isprint(c) && c != '"' && c != '\\')
			fputc(c, out);
		else
			fprintf(out, "\\x%02x", c);
		if (run > 1)
			fprintf(out, "{%zu times}", run);
	}
	fputc('"', out);
}

void ts_print_query(FILE *out, const struct ts_view *view, const struct ts_query *query)
{
	static const char *const names[] = {"stat", "lstat", "access", "readlink", "realpath"};

	fprintf(out, "  %s ", names[query->op]);
	ts_print_bytes(out, query->path, strlen(query->path));
	fprintf(out, " (%zu bytes)", strlen(query->path));
	if (query->op == TS_ACCESS)
		fprintf(out, " mode %d", query->amode);
	if (query->flags)
		fprintf(out, " flags %#llx", (unsigned long long)query->flags);
	if (query->cred) {
		fprintf(out, " as uid %u gid %u caps %u groups", query->cred->uid, query->cred->gid,
		        query->cred->caps);
		for (uint32_t i = 0; i < query->cred->ngroups; i++)
			fprintf(out, " %u", query->cred->groups[i]);
	}
	fprintf(out, "%s, cache: %s\n", query->start ? " from a held directory" : "", view->label);
}

void ts_print_answer(FILE *out, const struct ts_query *query, const char *who,
                     const struct ts_answer *answer)
{
	const struct pathcache_attr *attr = &answer->attr;

	fprintf(out, "  %-7s", who);
	if (answer->err) {
		fprintf(out, "%s\n", strerrorname_np(answer->err));
		return;
	}
	if (query->op == TS_READLINK || query->op == TS_REALPATH)
		ts_print_bytes(out, answer->text, answer->len);
	else if (query->op == TS_ACCESS)
		fprintf(out, "granted");
	else
		fprintf(out,
		        "mask %#x mode %o ino %llu dev %llx nlink %u owner %u:%u size %llu "
		        "mtime %lld.%09u ctime %lld.%09u btime %lld.%09u mnt_id %llu",
		        attr->mask, attr->mode, (unsigned long long)attr->ino,
		        (unsigned long long)attr->dev, attr->nlink, attr->uid, attr->gid,
		        (unsigned long long)attr->size, (long long)attr->mtime_sec,
		        attr->mtime_nsec, (long long)attr->ctime_sec, attr->ctime_nsec,
		        (long long)attr->btime_sec, attr->btime_nsec,
		        (unsigned long long)attr->mnt_id);
	fputc('\n', out);
}

bool ts_agree(const char *file, int line, const struct ts_view *view, const struct ts_query *query)
{
	static __thread struct ts_answer cache, kernel;
	const char *what;

	ts_ask_cache(view, query, &cache);
	ts_ask_kernel(view, query, &kernel);
	what = ts_difference(query, &cache, &kernel);
	if (!what)
		return true;
	ts_fail(file, line, "differs from the kernel in %s", what);
	ts_print_query(stderr, view, query);
	ts_print_answer(stderr, query, "cache", &cache);
	ts_print_answer(stderr, query, "kernel", &kernel);
	return false;
}

/* ---- short forms ------------------------------------------------------- */

uint64_t ts_cache_ino(struct pathcache *cache, const char *path)
{
	struct pathcache_attr attr;

	return pathcache_stat(cache, path, NULL, &attr) == 0 ? attr.ino : 0;
}

int ts_stat_err(struct pathcache *cache, const char *path)
{
	struct pathcache_attr attr;

	return pathcache_stat(cache, path, NULL, &attr);
}

int ts_stat_as(struct pathcache *cache, const char *path, const struct ts_cred *cred)
{
	struct pathcache_cred pc = ts_to_cred(cred);
	struct pathcache_how how = {.size = sizeof(how), .cred = &pc};
	struct pathcache_attr attr;

	return pathcache_stat(cache, path, &how, &attr);
}

int ts_stat_flags(struct pathcache *cache, const char *path, uint64_t flags)
{
	struct pathcache_how how = {.size = sizeof(how), .flags = flags};
	struct pathcache_attr attr;

	return pathcache_stat(cache, path, &how, &attr);
}

struct pathcache_entry *ts_get(struct pathcache *cache, const char *path)
{
	struct pathcache_entry *entry = NULL;
	int rc = pathcache_get(cache, path, NULL, &entry);

	if (rc != 0)
		ts_die(__FILE__, __LINE__, "pathcache_get(%s): %s", path, strerror(-rc));
	return entry;
}

struct pathcache_stats ts_stats(struct pathcache *cache)
{
	struct pathcache_stats stats = {.size = sizeof(stats)};

	REQUIRE(pathcache_get_stats(cache, &stats) == 0);
	return stats;
}
