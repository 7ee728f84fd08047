/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Random trees, random changes, each announced in a random lawful way, by what was
 * done or by what is not known any more, random questions: every answer of every cache equals the kernel's, cold and hot.
 *
 * The caches differ in root ("/" or the tree), mode, budget and memos: none, a
 * table too small, one large enough. The budget of some changes between rounds, to
 * nothing and back. Each cache has a bag of questions that are
 * asked again and again over the rounds, three times at each visit, so that
 * memos are learned, used, overtaken by changes and learned again. Batches are
 * compared with single answers.
 *
 * Reproduce a difference with the seed it prints; PATHCACHE_ROUNDS sets the
 * number of rounds.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "oracle.h"
#include "run.h"
#include "tree.h"

#define VIEWS 23
#define MAX_NODES 160
#define MAX_DEPTH 7
#define REL_MAX 1400
#define HELD 3
#define HISTORY 12
#define BAG 48
#define VISITS 5 /* of the bag, in each view and round */
#define BATCH 20
#define MAX_DIFFERENCES 5

struct item {
	char path[REL_MAX]; /* relative to the tree */
	uint64_t ino;
	uint32_t mode, nlink;
};

/* A directory held in one view since it was at path. */
struct held {
	struct ts_start start;
	char path[PATH_MAX];
	bool moved; /* since, at least once: then it may be lost */
};

/* A question that is asked again and again; path[0] is 0: none yet. */
struct remembered {
	struct ts_query query; /* without what it points to */
	struct ts_cred cred;
	bool foreign;
	int held; /* index of the start, or -1 */
	char path[2 * PATH_MAX];
};

enum memos { MEMOS_NONE, MEMOS_ANY, MEMOS_FEW, MEMOS_USUAL };

struct fuzz {
	struct ts_tree tree;
	struct ts_view views[VIEWS];
	enum memos memos[VIEWS];
	bool changing[VIEWS]; /* the budget */
	unsigned asks;        /* the view that keeps nothing */
	int ttl_ms;           /* of the next views; -1: what they know does not expire */
	unsigned nviews;
	struct held held[VIEWS][HELD];
	struct remembered bag[VIEWS][BAG];
	struct item items[MAX_NODES];
	unsigned nitems;
	struct ts_rng rng;
	char history[HISTORY][3 * REL_MAX];
	unsigned changes, round;
	uint64_t compared, differences, stale_starts, errors_seen, outside, batched;
	bool foreign;
	bool alone; /* nobody else changes what is above the tree */
};

static char long_name[256], longer_name[257];

static const char *const names[] = {
	"a",   "b",   "c-directory", "d",    "e", "link-to-it", "file-name.txt",
	"..a", "...", "\xff\xfe",    "a\\b", " ", long_name,    "x",
};
#define NNAMES ((unsigned)(sizeof(names) / sizeof(names[0])))

static const uint32_t modes[] = {0755,  0755,  0755, 0755, 0777, 0777, 0711, 0711,
                                 0700,  0000,  0644, 0600, 0444, 0750, 0070, 0007,
                                 02755, 04711, 0311, 0755, 0751, 0775};
#define NMODES ((unsigned)(sizeof(modes) / sizeof(modes[0])))

static const uint32_t ids[] = {0, 0, 1000, 2000, 65534};

/* ---- what is there ----------------------------------------------------- */

static void scan_dir(struct fuzz *fz, int dirfd, const char *at, unsigned depth)
{
	int fd = openat(dirfd, at[0] ? at : ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct dirent *entry;
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

	REQUIRE(dir);
	while ((entry = readdir(dir)) && fz->nitems < MAX_NODES) {
		struct item *item = &fz->items[fz->nitems];
		struct stat st;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if ((size_t)snprintf(item->path, sizeof(item->path), "%s%s%s", at, at[0] ? "/" : "",
		                     entry->d_name) >= sizeof(item->path))
			continue;
		REQUIRE(fstatat(dirfd, item->path, &st, AT_SYMLINK_NOFOLLOW) == 0);
		item->ino = st.st_ino;
		item->mode = st.st_mode;
		item->nlink = (uint32_t)st.st_nlink;
		fz->nitems++;
		if (S_ISDIR(st.st_mode) && depth < MAX_DEPTH)
			scan_dir(fz, dirfd, fz->items[fz->nitems - 1].path, depth + 1);
	}
	closedir(dir);
}

static void scan(struct fuzz *fz)
{
	int fd = openat(fz->tree.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	fz->nitems = 0;
	scan_dir(fz, fd, "", 0);
	close(fd);
}

/* Return: NULL when there is nothing; valid until the next scan. */
static const struct item *some_item(struct fuzz *fz)
{
	return fz->nitems ? &fz->items[ts_below(&fz->rng, fz->nitems)] : NULL;
}

/* Return: "" for the tree itself. */
static const char *some_dir(struct fuzz *fz)
{
	for (int tries = 0; tries < 8; tries++) {
		const struct item *item = some_item(fz);

		if (item && S_ISDIR(item->mode) && strlen(item->path) < REL_MAX / 2)
			return item->path;
	}
	return "";
}

static const char *some_name(struct fuzz *fz)
{
	return names[ts_below(&fz->rng, NNAMES)];
}

static void join(char *out, size_t size, const char *dir, const char *name)
{
	if ((size_t)snprintf(out, size, "%s%s%s", dir, dir[0] ? "/" : "", name) >= size)
		out[0] = '\0';
}

/* ---- announcing -------------------------------------------------------- */

static void to_view_path(const struct fuzz *fz, const struct ts_view *view, const char *rel,
                         char *out, size_t size)
{
	snprintf(out, size, "%s%s%s", view->whole ? fz->tree.path : "",
	         rel[0] || !view->whole ? "/" : "", rel);
}

static struct pathcache_entry *hold(const struct ts_view *view, const char *path, uint64_t flags)
{
	struct pathcache_how how = {.size = sizeof(how), .flags = flags};
	struct pathcache_entry *entry;

	return pathcache_get(view->cache, path, &how, &entry) == 0 ? entry : NULL;
}

static void announce_by_name(struct fuzz *fz, const struct ts_view *view, const char *rel)
{
	char path[2 * PATH_MAX], dir[REL_MAX] = "";
	const char *slash = strrchr(rel, '/'), *name = slash ? slash + 1 : rel;
	struct pathcache_entry *entry;

	if (slash)
		snprintf(dir, sizeof(dir), "%.*s", (int)(slash - rel), rel);
	to_view_path(fz, view, dir, path, sizeof(path));
	entry = hold(view, path, PATHCACHE_NOFOLLOW);
	if (!entry) {
		ts_fail(__FILE__, __LINE__, "%s: cannot hold %s", view->label, path);
		pathcache_invalidate_all(view->cache);
		return;
	}
	CHECK_EQ(pathcache_invalidate_name(view->cache, entry, name), 0);
	pathcache_put(view->cache, entry);
}

/* By any directory that rel is in. */
static void announce_subtree(struct fuzz *fz, const struct ts_view *view, const char *rel)
{
	char path[2 * PATH_MAX], dir[REL_MAX];
	struct pathcache_entry *entry;
	char *slash;

	snprintf(dir, sizeof(dir), "%s", rel);
	while ((slash = strrchr(dir, '/'))) {
		*slash = '\0';
		if (ts_below(&fz->rng, 2))
			break;
	}
	to_view_path(fz, view, slash ? dir : "", path, sizeof(path));
	entry = hold(view, path, 0);
	REQUIRE(entry);
	CHECK_EQ(pathcache_invalidate_subtree(view->cache, entry), 0);
	pathcache_put(view->cache, entry);
}

/* What the name rel means has changed. */
static void announce_name_in(struct fuzz *fz, const struct ts_view *view, const char *rel)
{
	unsigned way = ts_below(&fz->rng, 20);
	char path[2 * PATH_MAX];

	to_view_path(fz, view, rel, path, sizeof(path));
	if (way == 0)
		CHECK_EQ(pathcache_invalidate_all(view->cache), 0);
	else if (way == 1)
		announce_subtree(fz, view, rel);
	else if (way < 11)
		announce_by_name(fz, view, rel);
	else
		CHECK_EQ(pathcache_invalidate_path(view->cache, path), 0);
}

static void announce_name(struct fuzz *fz, const char *rel)
{
	for (unsigned i = 0; i < fz->nviews; i++)
		announce_name_in(fz, &fz->views[i], rel);
}

/* Attributes of what rel is in view, as they are now, are told. Return: whether they were. */
static bool tell_attr(struct fuzz *fz, const struct ts_view *view, const char *rel,
                      struct pathcache_entry *entry)
{
	struct pathcache_how how = {.size = sizeof(how), .flags = PATHCACHE_NOFOLLOW};
	struct pathcache_attr attr;
	char path[2 * PATH_MAX];

	to_view_path(fz, &fz->views[fz->asks], rel, path, sizeof(path));
	if (ts_below(&fz->rng, 2) ||
	    pathcache_stat(fz->views[fz->asks].cache, path, &how, &attr) != 0)
		return false;
	CHECK_EQ(pathcache_changed(view->cache, entry, ts_below(&fz->rng, 4) ? &attr : NULL), 0);
	return true;
}

/* The attributes of the object rel names have changed; all its names are known. */
static void announce_object(struct fuzz *fz, const char *rel, uint64_t ino)
{
	char path[2 * PATH_MAX];

	for (unsigned i = 0; i < fz->nviews; i++) {
		const struct ts_view *view = &fz->views[i];
		struct pathcache_entry *entry = NULL;

		to_view_path(fz, view, rel, path, sizeof(path));
		if (ts_below(&fz->rng, 2))
			entry = hold(view, path, PATHCACHE_NOFOLLOW);
		if (entry) {
			if (!tell_attr(fz, view, rel, entry))
				CHECK_EQ(pathcache_invalidate_entry(view->cache, entry), 0);
			pathcache_put(view->cache, entry);
			continue;
		}
		for (unsigned n = 0; n < fz->nitems; n++) {
			if (fz->items[n].ino != ino)
				continue;
			to_view_path(fz, view, fz->items[n].path, path, sizeof(path));
			CHECK_EQ(pathcache_invalidate_path(view->cache, path), 0);
		}
	}
}

/* A change of one name changes what is said of the object under its others. */
static void announce_other_names(struct fuzz *fz, const struct item *item)
{
	if (S_ISDIR(item->mode) || item->nlink < 2)
		return;
	scan(fz);
	for (unsigned n = 0; n < fz->nitems; n++)
		if (fz->items[n].ino == item->ino)
			announce_name(fz, fz->items[n].path);
}

/* ---- announcing what was done -------------------------------------------- */

/* The directory rel is in, held, and its name there. */
static struct pathcache_entry *dir_of(const struct fuzz *fz, const struct ts_view *view,
                                      const char *rel, const char **name)
{
	char path[2 * PATH_MAX], dir[REL_MAX] = "";
	const char *slash = strrchr(rel, '/');
	struct pathcache_entry *entry;

	*name = slash ? slash + 1 : rel;
	if (slash)
		snprintf(dir, sizeof(dir), "%.*s", (int)(slash - rel), rel);
	to_view_path(fz, view, dir, path, sizeof(path));
	entry = hold(view, path, PATHCACHE_NOFOLLOW);
	if (!entry)
		ts_die(__FILE__, __LINE__, "%s: cannot hold %s", view->label, path);
	return entry;
}

/* What path means in view, held before it was changed; NULL: an error. */
static struct pathcache_entry *object_of(const struct fuzz *fz, const struct ts_view *view,
                                         const char *rel)
{
	char path[2 * PATH_MAX];

	to_view_path(fz, view, rel, path, sizeof(path));
	return hold(view, path, PATHCACHE_NOFOLLOW);
}

enum done { CREATED, REMOVED, RENAMED, EXCHANGED, LINKED };

struct deed {
	enum done done;
	const char *rel, *to; /* to: of the last three */
};

static int tell_deed(struct fuzz *fz, const struct ts_view *view, const struct deed *deed)
{
	const char *name, *to_name = NULL;
	struct pathcache_entry *dir = dir_of(fz, view, deed->rel, &name), *to = NULL,
			       *object = NULL;
	int rc = -EIO;

	if (deed->to)
		to = dir_of(fz, view, deed->to, &to_name);
	if (deed->done == LINKED)
		object = object_of(fz, view, deed->rel);
	switch (deed->done) {
	case CREATED:
		rc = pathcache_created(view->cache, dir, name, NULL);
		break;
	case REMOVED:
		rc = pathcache_removed(view->cache, dir, name);
		break;
	case RENAMED:
	case EXCHANGED:
		rc = pathcache_renamed(view->cache, dir, name, to, to_name,
		                       deed->done == EXCHANGED ? PATHCACHE_RENAME_EXCHANGE : 0);
		break;
	case LINKED:
		REQUIRE(object);
		rc = pathcache_linked(view->cache, object, to, to_name);
		pathcache_put(view->cache, object);
		break;
	}
	pathcache_put(view->cache, dir);
	pathcache_put(view->cache, to);
	return rc;
}

/* By the hook for it, or by the names. */
static void announce_deed(struct fuzz *fz, const struct deed *deed)
{
	for (unsigned i = 0; i < fz->nviews; i++) {
		const struct ts_view *view = &fz->views[i];

		if (ts_below(&fz->rng, 2)) {
			CHECK_EQ(tell_deed(fz, view, deed), 0);
			continue;
		}
		announce_name_in(fz, view, deed->done == LINKED ? deed->to : deed->rel);
		if (deed->done == RENAMED || deed->done == EXCHANGED)
			announce_name_in(fz, view, deed->to);
	}
}

/* ---- changes ----------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void note(struct fuzz *fz, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(fz->history[fz->changes++ % HISTORY], sizeof(fz->history[0]), fmt, ap);
	va_end(ap);
}

static void link_target(struct fuzz *fz, char *out, size_t size)
{
	const struct item *item = some_item(fz);
	unsigned kind = ts_below(&fz->rng, 10);

	if (kind < 3 || !item)
		snprintf(out, size, "%s", some_name(fz));
	else if (kind < 5)
		snprintf(out, size, "../%s", some_name(fz));
	else if (kind < 6)
		snprintf(out, size, "%s/%s%s", fz->tree.path, item->path,
		         ts_below(&fz->rng, 4) ? "" : "/");
	else if (kind < 7)
		snprintf(out, size, "/%s", item->path);
	else if (kind < 8)
		snprintf(out, size, "%s/../%s/", some_name(fz), some_name(fz));
	else if (kind < 9)
		snprintf(out, size, "./%s//%s", some_name(fz), some_name(fz));
	else
		snprintf(out, size, ".");
}

static void change_create(struct fuzz *fz)
{
	char path[REL_MAX], text[2 * PATH_MAX];
	unsigned kind = ts_below(&fz->rng, 3);
	int fd = -1, rc;

	if (fz->nitems >= MAX_NODES - 10)
		return;
	join(path, sizeof(path), some_dir(fz), some_name(fz));
	if (!path[0])
		return;
	if (kind == 0) {
		rc = fd = openat(fz->tree.fd, path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
	} else if (kind == 1) {
		rc = mkdirat(fz->tree.fd, path, 0755);
	} else {
		link_target(fz, text, sizeof(text));
		rc = symlinkat(text, fz->tree.fd, path);
	}
	if (fd >= 0)
		close(fd);
	note(fz, "%s %s%s%s: %d",
	     kind == 0   ? "create"
	     : kind == 1 ? "mkdir"
	                 : "symlink",
	     path, kind == 2 ? " -> " : "", kind == 2 ? text : "", rc < 0 ? errno : 0);
	if (rc >= 0)
		announce_deed(fz, &(struct deed){.done = CREATED, .rel = path});
}

static void change_remove(struct fuzz *fz)
{
	struct item item;
	int rc;

	if (!fz->nitems || (fz->nitems < 30 && ts_below(&fz->rng, 4)))
		return;
	item = *some_item(fz);
	rc = unlinkat(fz->tree.fd, item.path, S_ISDIR(item.mode) ? AT_REMOVEDIR : 0);
	note(fz, "remove %s: %d", item.path, rc < 0 ? errno : 0);
	if (rc != 0)
		return;
	announce_deed(fz, &(struct deed){.done = REMOVED, .rel = item.path});
	announce_other_names(fz, &item);
}

static const struct item *item_at(const struct fuzz *fz, const char *path)
{
	for (unsigned i = 0; i < fz->nitems; i++)
		if (strcmp(fz->items[i].path, path) == 0)
			return &fz->items[i];
	return NULL;
}

static void change_rename(struct fuzz *fz)
{
	unsigned flags = ts_below(&fz->rng, 4) ? 0 : 2 /* RENAME_EXCHANGE */;
	struct item item, target = {0};
	char to[REL_MAX];
	long rc;

	if (!fz->nitems)
		return;
	item = *some_item(fz);
	if (flags || ts_below(&fz->rng, 3) == 0)
		snprintf(to, sizeof(to), "%s", some_item(fz)->path);
	else
		join(to, sizeof(to), some_dir(fz), some_name(fz));
	if (!to[0])
		return;
	if (item_at(fz, to))
		target = *item_at(fz, to);
	rc = syscall(SYS_renameat2, fz->tree.fd, item.path, fz->tree.fd, to, flags);
	note(fz, "rename%s %s %s: %d", flags ? " exchange" : "", item.path, to, rc < 0 ? errno : 0);
	if (rc < 0)
		return;
	announce_deed(fz, &(struct deed){
				  .done = flags ? EXCHANGED : RENAMED, .rel = item.path, .to = to});
	announce_other_names(fz, &item);
	announce_other_names(fz, &target);
}

static void change_link(struct fuzz *fz)
{
	struct item item;
	char to[REL_MAX];
	int rc;

	if (!fz->nitems || fz->nitems >= MAX_NODES - 10)
		return;
	item = *some_item(fz);
	join(to, sizeof(to), some_dir(fz), some_name(fz));
	if (!to[0] || S_ISDIR(item.mode))
		return;
	rc = linkat(fz->tree.fd, item.path, fz->tree.fd, to, 0);
	note(fz, "link %s %s: %d", item.path, to, rc < 0 ? errno : 0);
	if (rc < 0)
		return;
	announce_deed(fz, &(struct deed){.done = LINKED, .rel = item.path, .to = to});
	item.nlink++;
	announce_other_names(fz, &item);
}

static void change_symlink_swap(struct fuzz *fz)
{
	const struct item *some = NULL;
	char text[2 * PATH_MAX];
	struct item item;
	int rc;

	for (int tries = 0; tries < 10 && !(some && S_ISLNK(some->mode)); tries++)
		some = some_item(fz);
	if (!some || !S_ISLNK(some->mode))
		return;
	item = *some;
	link_target(fz, text, sizeof(text));
	REQUIRE(symlinkat(text, fz->tree.fd, ".swap") == 0);
	rc = renameat(fz->tree.fd, ".swap", fz->tree.fd, item.path);
	note(fz, "swap %s -> %s: %d", item.path, text, rc < 0 ? errno : 0);
	unlinkat(fz->tree.fd, ".swap", 0);
	announce_deed(fz, &(struct deed){.done = RENAMED, .rel = ".swap", .to = item.path});
	announce_other_names(fz, &item);
}

static int change_attr(struct fuzz *fz, const struct item *item, unsigned kind)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
	                            {.tv_sec = (time_t)ts_below(&fz->rng, 2000000000),
	                             .tv_nsec = (long)ts_below(&fz->rng, 1000000000)}};
	int fd, rc = -1;

	switch (kind) {
	case 0:
		return S_ISLNK(item->mode) ? -1
		                           : fchmodat(fz->tree.fd, item->path,
		                                      modes[ts_below(&fz->rng, NMODES)], 0);
	case 1:
		return fchownat(fz->tree.fd, item->path, ids[ts_below(&fz->rng, 5)],
		                ids[ts_below(&fz->rng, 5)], AT_SYMLINK_NOFOLLOW);
	case 2:
		return utimensat(fz->tree.fd, item->path, times, AT_SYMLINK_NOFOLLOW);
	default:
		if (!S_ISREG(item->mode))
			return -1;
		fd = openat(fz->tree.fd, item->path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			return -1;
		if (kind == 3)
			rc = ftruncate(fd, (off_t)ts_below(&fz->rng, 10000));
		else
			rc = write(fd, "data", 4) == 4 ? 0 : -1;
		close(fd);
		return rc;
	}
}

static void change_attributes(struct fuzz *fz)
{
	static const char *const kinds[] = {"chmod", "chown", "utimes", "truncate", "write"};
	const struct item *item = some_item(fz);
	unsigned kind = ts_below(&fz->rng, 5);

	if (!item || change_attr(fz, item, kind) != 0)
		return;
	note(fz, "%s %s", kinds[kind], item->path);
	announce_object(fz, item->path, item->ino);
}

static void change(struct fuzz *fz)
{
	unsigned kind = ts_below(&fz->rng, 20);

	if (kind < 6)
		change_create(fz);
	else if (kind < 8)
		change_remove(fz);
	else if (kind < 12)
		change_rename(fz);
	else if (kind < 13)
		change_link(fz);
	else if (kind < 15)
		change_symlink_swap(fz);
	else
		change_attributes(fz);
	scan(fz);
}

/* ---- held directories -------------------------------------------------- */

static void held_drop(struct fuzz *fz, unsigned v, struct held *held)
{
	pathcache_put(fz->views[v].cache, held->start.entry);
	close(held->start.fd);
	held->start.entry = NULL;
}

static bool fd_where(int fd, char *out)
{
	char proc[64];
	ssize_t n;

	snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
	n = readlink(proc, out, PATH_MAX - 1);
	out[n < 0 ? 0 : n] = '\0';
	return n > 0;
}

/* Held when another name is looked up, so that both sides hold the same directory. */
static void held_take(struct fuzz *fz, unsigned v, struct held *held)
{
	char path[2 * PATH_MAX];
	const char *rel = some_dir(fz);

	to_view_path(fz, &fz->views[v], rel, path, sizeof(path));
	held->start.entry = hold(&fz->views[v], path, PATHCACHE_NOFOLLOW | PATHCACHE_DIRECTORY);
	if (!held->start.entry) {
		ts_fail(__FILE__, __LINE__, "%s: cannot hold %s", fz->views[v].label, path);
		return;
	}
	held->start.fd = openat(fz->tree.fd, rel[0] ? rel : ".",
	                        O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	REQUIRE(held->start.fd >= 0 && fd_where(held->start.fd, held->path));
	held->moved = false;
}

/* After each change: one that was moved back may be lost all the same. */
static void held_watch(struct fuzz *fz)
{
	char now[PATH_MAX];

	for (unsigned v = 0; v < fz->nviews; v++)
		for (struct held *held = fz->held[v]; held < fz->held[v] + HELD; held++)
			if (held->start.entry && !held->moved)
				held->moved = !fd_where(held->start.fd, now) ||
				              strcmp(now, held->path) != 0;
}

/* A start that was moved may be lost where descriptors are few. */
static bool held_lost(const struct ts_view *view, const struct held *held)
{
	return held && held->moved && strstr(view->label, "small");
}

/* A start that was removed is not asked any more. */
static void held_renew(struct fuzz *fz)
{
	for (unsigned v = 0; v < fz->nviews; v++) {
		for (struct held *held = fz->held[v]; held < fz->held[v] + HELD; held++) {
			struct stat st;

			if (held->start.entry && (ts_below(&fz->rng, 30) == 0 ||
			                          fstat(held->start.fd, &st) != 0 || !st.st_nlink))
				held_drop(fz, v, held);
			if (!held->start.entry)
				held_take(fz, v, held);
		}
	}
}

/* ---- questions --------------------------------------------------------- */

static void append(char *out, size_t size, const char *text)
{
	size_t len = strlen(out);

	snprintf(out + len, size - len, "%s", text);
}

/* A detour before the next component; mostly none. */
static void detour(struct fuzz *fz, char *out, size_t size, bool at_root)
{
	switch (ts_below(&fz->rng, 30)) {
	case 0:
		append(out, size, "./");
		break;
	case 1:
		append(out, size, "/");
		break;
	case 2:
		append(out, size, some_name(fz));
		append(out, size, "/../");
		break;
	case 3:
		append(out, size, "../");
		break;
	case 4:
	case 5:
		if (!at_root)
			break;
		append(out, size, some_dir(fz));
		append(out, size, "/../");
		break;
	default:
		break;
	}
}

/* Something below base, as a path from there. */
static const char *some_below(struct fuzz *fz, const char *base)
{
	size_t len = strlen(base);

	for (int tries = 0; tries < 20; tries++) {
		const struct item *item = some_item(fz);

		if (item &&
		    (!len || (strncmp(item->path, base, len) == 0 && item->path[len] == '/')))
			return item->path + len + (len != 0);
	}
	return "";
}

/* A walk from base that mostly follows what is there. */
static void question_path(struct fuzz *fz, const char *base, char *out, size_t size)
{
	char rel[REL_MAX] = "", *save, *part;

	out[0] = '\0';
	if (ts_below(&fz->rng, 12))
		snprintf(rel, sizeof(rel), "%s", some_below(fz, base));
	for (part = strtok_r(rel, "/", &save); part; part = strtok_r(NULL, "/", &save)) {
		detour(fz, out, size, !out[0]);
		append(out, size, ts_below(&fz->rng, 40) ? part : some_name(fz));
		append(out, size, "/");
	}
	detour(fz, out, size, false);
	for (unsigned extra = ts_below(&fz->rng, 3) ? 0 : ts_below(&fz->rng, 4); extra-- > 0;) {
		append(out, size, ts_below(&fz->rng, 60) ? some_name(fz) : longer_name);
		append(out, size, "/");
	}
	if (out[0] && ts_below(&fz->rng, 8))
		out[strlen(out) - 1] = '\0';
}

static void question_cred(struct fuzz *fz, struct ts_cred *cred)
{
	*cred = (struct ts_cred){.uid = ids[1 + ts_below(&fz->rng, 4)],
	                         .gid = ids[ts_below(&fz->rng, 5)],
	                         .ngroups = ts_below(&fz->rng, 4)};
	for (uint32_t i = 0; i < cred->ngroups; i++)
		cred->groups[i] = ids[ts_below(&fz->rng, 5)];
	if (ts_below(&fz->rng, 12) == 0)
		cred->caps = 1u + ts_below(&fz->rng, 3);
}

static void report(struct fuzz *fz, const struct ts_view *view, const struct ts_query *query,
                   const char *what, const struct ts_answer *cache, const struct ts_answer *kernel)
{
	ts_fail(__FILE__, __LINE__, "round %u: differs in %s; PATHCACHE_SEED=%llu reproduces",
	        fz->round, what, (unsigned long long)ts_seed());
	ts_print_query(stderr, view, query);
	ts_print_answer(stderr, query, "cache", cache);
	ts_print_answer(stderr, query, "kernel", kernel);
	fprintf(stderr, "  the last changes, newest first:\n");
	for (unsigned i = 0; i < HISTORY && i < fz->changes; i++) {
		const char *text = fz->history[(fz->changes - 1 - i) % HISTORY];

		fprintf(stderr, "    ");
		ts_print_bytes(stderr, text, strlen(text));
		fputc('\n', stderr);
	}
	if (++fz->differences >= MAX_DIFFERENCES)
		ts_die(__FILE__, __LINE__, "%u differences are enough", MAX_DIFFERENCES);
}

/* Above the tree others may change what they like, unless it is hidden from them. */
static bool leaves_tree(struct fuzz *fz, const struct ts_view *view, const struct ts_query *query)
{
	static const struct ts_view tree = {.whole = true};
	static struct ts_answer answer;
	struct ts_view below = tree;
	struct ts_query inside = *query;
	size_t prefix = strlen(fz->tree.path);

	if (fz->alone || !view->whole)
		return false;
	below.fd = fz->tree.fd;
	inside.flags |= PATHCACHE_BENEATH;
	if (!query->start && strncmp(query->path, fz->tree.path, prefix) == 0)
		inside.path += prefix + strspn(query->path + prefix, "/");
	ts_ask_kernel(&below, &inside, &answer);
	return answer.err == EXDEV;
}

static void compare(struct fuzz *fz, const struct ts_view *view, const struct ts_query *query,
                    const struct held *held, int times)
{
	static struct ts_answer cache, kernel;

	ts_ask_kernel(view, query, &kernel);
	for (int hot = 0; hot < times; hot++) {
		const char *what;

		ts_ask_cache(view, query, &cache);
		fz->compared++;
		fz->errors_seen += kernel.err != 0;
		what = ts_difference(query, &cache, &kernel);
		if (!what)
			continue;
		if (cache.err == ESTALE && held_lost(view, held)) {
			fz->stale_starts++;
			continue;
		}
		if (leaves_tree(fz, view, query)) {
			fz->outside++;
			continue;
		}
		report(fz, view, query, hot ? "a later answer" : what, &cache, &kernel);
	}
}

static uint64_t question_flags(struct fuzz *fz)
{
	uint64_t flags = 0;

	if (ts_below(&fz->rng, 3))
		return 0;
	flags |= ts_below(&fz->rng, 3) == 0 ? PATHCACHE_NOFOLLOW : 0;
	flags |= ts_below(&fz->rng, 6) == 0 ? PATHCACHE_DIRECTORY : 0;
	flags |= ts_below(&fz->rng, 6) == 0 ? PATHCACHE_NO_SYMLINKS : 0;
	flags |= ts_below(&fz->rng, 6) == 0 ? PATHCACHE_NO_XDEV : 0;
	if (ts_below(&fz->rng, 3) == 0)
		flags |= ts_below(&fz->rng, 2) ? PATHCACHE_BENEATH : PATHCACHE_IN_ROOT;
	return flags;
}

/*
 * A plain walk from a start inside a rooted cache has no equal in the kernel:
 * there it is confined.
 */
static const struct held *question_start(struct fuzz *fz, unsigned v, struct ts_query *query)
{
	struct held *held = &fz->held[v][ts_below(&fz->rng, HELD)];

	if (ts_below(&fz->rng, 4) || !held->start.entry)
		return NULL;
	if (!fz->views[v].whole && !(query->flags & (PATHCACHE_BENEATH | PATHCACHE_IN_ROOT)))
		query->flags |= ts_below(&fz->rng, 2) ? PATHCACHE_BENEATH : PATHCACHE_IN_ROOT;
	query->start = &held->start;
	return held;
}

static const char *below_tree(const struct fuzz *fz, const char *path)
{
	size_t len = strlen(fz->tree.path);

	if (strncmp(path, fz->tree.path, len) != 0 || !path[len])
		return "";
	return path + len + 1;
}

static struct ts_query some_query(struct fuzz *fz)
{
	static const enum ts_op ops[] = {TS_STAT,     TS_STAT,    TS_STAT,   TS_LSTAT,
	                                 TS_LSTAT,    TS_ACCESS,  TS_ACCESS, TS_REALPATH,
	                                 TS_REALPATH, TS_READLINK};

	return (struct ts_query){.op = ops[ts_below(&fz->rng, 10)],
	                         .amode = (int)ts_below(&fz->rng, 8),
	                         .flags = question_flags(fz)};
}

/*
 * What query asks of view v, with rel for its path unless it begins at a held
 * directory; path has room for two. Return: false when that makes no question.
 */
static bool question_in(struct fuzz *fz, unsigned v, const char *rel, struct ts_query *query,
                        char *path, const struct held **start)
{
	const struct held *held = question_start(fz, v, query);

	*start = held;
	if (held)
		question_path(fz, below_tree(fz, held->path), path, 2 * PATH_MAX);
	else if (ts_below(&fz->rng, 8) == 0)
		snprintf(path, 2 * PATH_MAX, "%s", rel);
	else
		to_view_path(fz, &fz->views[v], rel, path, 2 * PATH_MAX);
	/* An absolute path leaves whatever it is to stay beneath. */
	if (!held && query->flags & PATHCACHE_BENEATH && ts_below(&fz->rng, 8))
		query->flags ^= PATHCACHE_BENEATH | PATHCACHE_IN_ROOT;
	if (!held && fz->views[v].whole && ts_below(&fz->rng, 4))
		query->flags &= ~PATHCACHE_NO_XDEV;
	query->path = path;
	/* A relative path in a cache of "/" starts at the machine's own root. */
	return held || !fz->views[v].whole || path[0] == '/';
}

static void question(struct fuzz *fz)
{
	char rel[PATH_MAX], path[2 * PATH_MAX];
	struct ts_query query = some_query(fz);
	struct ts_cred cred;

	question_path(fz, "", rel, sizeof(rel));
	if (fz->foreign && ts_below(&fz->rng, 5) < 2) {
		question_cred(fz, &cred);
		query.cred = &cred;
	}
	for (unsigned v = 0; v < fz->nviews; v++) {
		struct ts_query here = query;
		const struct held *held;

		if (question_in(fz, v, rel, &here, path, &held))
			compare(fz, &fz->views[v], &here, held, 2);
	}
}

/* ---- questions asked again --------------------------------------------- */

/* Short paths are not remembered by the cache, so some are made longer. */
static void lengthen(struct fuzz *fz, char *path)
{
	static const char *const pads[] = {"./", "././././././", "./////////////"};
	const char *pad = pads[ts_below(&fz->rng, 3)];
	size_t slashes = strspn(path, "/"), len = strlen(pad);

	if (ts_below(&fz->rng, 3) == 0 || strlen(path) + len >= PATH_MAX)
		return;
	memmove(path + slashes + len, path + slashes, strlen(path + slashes) + 1);
	memcpy(path + slashes, pad, len);
}

static void remember(struct fuzz *fz, unsigned v, struct remembered *r)
{
	char rel[PATH_MAX];
	const struct held *held;

	r->query = some_query(fz);
	question_path(fz, "", rel, sizeof(rel));
	if (!question_in(fz, v, rel, &r->query, r->path, &held)) {
		r->path[0] = '\0';
		return;
	}
	if (strlen(r->path) < 64)
		lengthen(fz, r->path);
	r->held = held ? (int)(held - fz->held[v]) : -1;
	r->foreign = fz->foreign && ts_below(&fz->rng, 5) < 2;
	if (r->foreign)
		question_cred(fz, &r->cred);
}

/* Return: the query; its start is gone when *held has no entry. */
static struct ts_query recall(struct fuzz *fz, unsigned v, const struct remembered *r,
                              const struct held **held)
{
	struct ts_query query = r->query;

	*held = r->held < 0 ? NULL : &fz->held[v][r->held];
	query.path = r->path;
	query.start = *held ? &(*held)->start : NULL;
	query.cred = r->foreign ? &r->cred : NULL;
	return query;
}

/* What it holds, and what it opens, is what stat tells of. */
static void compare_held(struct fuzz *fz, const struct ts_view *view, const struct ts_query *query,
                         const struct held *held)
{
	static struct ts_answer got, opened, kernel;
	struct pathcache_cred cred =
		query->cred ? ts_to_cred(query->cred) : (struct pathcache_cred){0};
	struct pathcache_how how = {.size = sizeof(how),
	                            .start = held ? held->start.entry : NULL,
	                            .cred = query->cred ? &cred : NULL,
	                            .flags = query->flags};
	struct pathcache_entry *entry;
	struct stat st;
	int fd;

	if (query->op == TS_LSTAT)
		how.flags |= PATHCACHE_NOFOLLOW;
	ts_ask_kernel(view, query, &kernel);
	got.err = -pathcache_get(view->cache, query->path, &how, &entry);
	if (!got.err) {
		got.err = -pathcache_entry_stat(view->cache, entry, &got.attr);
		pathcache_put(view->cache, entry);
	}
	fd = pathcache_open_fd(view->cache, query->path, O_PATH, &how);
	opened.err = fd < 0 ? -fd : 0;
	fz->compared += 2;
	if ((got.err == ESTALE || opened.err == ESTALE) && held_lost(view, held))
		fz->stale_starts++;
	else if (ts_difference(query, &got, &kernel) && !leaves_tree(fz, view, query))
		report(fz, view, query, "the object that was got", &got, &kernel);
	else if (opened.err != kernel.err && !leaves_tree(fz, view, query))
		report(fz, view, query, "errno of opening", &opened, &kernel);
	else if (fd >= 0)
		CHECK(fstat(fd, &st) == 0 && st.st_ino == kernel.attr.ino);
	if (fd >= 0)
		close(fd);
}

/* The paths of some of the bag, asked the way r is asked: all at once, and one by one. */
static void compare_batch(struct fuzz *fz, unsigned v, const struct remembered *r)
{
	static struct ts_answer one;
	const struct ts_view *view = &fz->views[v];
	const char *paths[BATCH];
	struct pathcache_attr attrs[BATCH];
	int results[BATCH], rc;
	const struct held *held;
	struct ts_query query = recall(fz, v, r, &held);
	struct pathcache_cred cred = r->foreign ? ts_to_cred(&r->cred) : (struct pathcache_cred){0};
	struct pathcache_how how = {.size = sizeof(how),
	                            .start = held ? held->start.entry : NULL,
	                            .cred = r->foreign ? &cred : NULL,
	                            .flags = query.flags};
	unsigned n = 1 + ts_below(&fz->rng, BATCH);

	query.op = query.op == TS_ACCESS ? TS_ACCESS : TS_STAT;
	for (unsigned i = 0; i < n; i++)
		paths[i] = fz->bag[v][ts_below(&fz->rng, BAG)].path;
	if (query.op == TS_ACCESS)
		rc = pathcache_access_many(view->cache, paths, n, query.amode, &how, results);
	else
		rc = pathcache_stat_many(view->cache, paths, n, &how, attrs, results);
	CHECK_EQ(rc, 0);
	for (unsigned i = 0; i < n && rc == 0; i++) {
		struct ts_answer many = {.err = -results[i], .attr = attrs[i]};

		query.path = paths[i];
		ts_ask_cache(view, &query, &one);
		fz->batched++;
		if (ts_difference(&query, &many, &one) && !leaves_tree(fz, view, &query) &&
		    !held_lost(view, held))
			report(fz, view, &query, "what a batch says", &many, &one);
	}
}

static void revisit(struct fuzz *fz, unsigned v)
{
	unsigned i = ts_below(&fz->rng, BAG), j = ts_below(&fz->rng, BAG);
	/* Some are asked more often than others. */
	struct remembered *r = &fz->bag[v][i < j ? i : j];
	const struct held *held;
	struct ts_query query;

	if (!r->path[0] || ts_below(&fz->rng, 40) == 0)
		remember(fz, v, r);
	query = recall(fz, v, r, &held);
	if (!r->path[0] || (held && !held->start.entry))
		return;
	if (ts_below(&fz->rng, 6) == 0)
		compare_batch(fz, v, r);
	if ((query.op == TS_STAT || query.op == TS_LSTAT) && ts_below(&fz->rng, 6) == 0)
		compare_held(fz, &fz->views[v], &query, held);
	compare(fz, &fz->views[v], &query, held, 3);
}

/* Held entries answer as their descriptors do. */
static void question_held(struct fuzz *fz)
{
	static struct ts_answer cache, kernel;
	static const struct ts_query query = {.op = TS_STAT, .path = "."};

	for (unsigned v = 0; v < fz->nviews; v++) {
		struct held *held = &fz->held[v][ts_below(&fz->rng, HELD)];
		struct ts_query here = {
			.path = ".", .flags = PATHCACHE_BENEATH, .start = &held->start};
		int rc = pathcache_entry_stat(fz->views[v].cache, held->start.entry, &cache.attr);

		cache.err = -rc;
		ts_ask_kernel(&fz->views[v], &here, &kernel);
		fz->compared++;
		if (ts_difference(&query, &cache, &kernel) &&
		    !(rc == -ESTALE && held_lost(&fz->views[v], held)))
			report(fz, &fz->views[v], &here, "entry_stat", &cache, &kernel);
	}
}

/* ---- the run ----------------------------------------------------------- */

static void open_view(struct fuzz *fz, bool whole, uint32_t mode, uint64_t budget, enum memos memos)
{
	static const char *const mode_names[] = {"rcu", "lockref", "refwalk", "locked"};
	static const char *const memo_names[] = {", no memos", "", ", few memos", ""};
	struct ts_view *view = &fz->views[fz->nviews];
	struct pathcache_options opt;

	fz->memos[fz->nviews++] = memos;
	pathcache_options_init(&opt);
	opt.mode = mode;
	/* The tree's every change is announced. */
	opt.complete_max = whole ? 0 : 200;
	if (memos == MEMOS_NONE) {
		opt.memo_share = 0;
	} else if (memos == MEMOS_FEW) {
		opt.memo_share = 1;
		opt.memo_ways = 4;
	}
	if (fz->ttl_ms >= 0) {
		opt.coherence = PATHCACHE_COHERENCE_TTL;
		opt.name_ttl_ms = opt.attr_ttl_ms = opt.negative_ttl_ms = (uint32_t)fz->ttl_ms;
	}
	if (budget != UINT64_MAX) {
		opt.budget = budget;
		/* Of "/" more: a directory that was reached by ".." may be found by nothing else. */
		opt.max_dirfds = whole ? 16 : 2;
		opt.backlog = 4096;
	}
	snprintf(view->label, sizeof(view->label), "%s %s%s%s%s", whole ? "/" : "rooted",
	         mode_names[mode], budget != UINT64_MAX ? " small" : "", memo_names[memos],
	         fz->ttl_ms >= 0 ? ", ttl" : "");
	ts_view_open(view, whole ? "/" : fz->tree.path, &opt);
}

static void open_changing(struct fuzz *fz, bool whole, uint32_t mode)
{
	fz->changing[fz->nviews] = true;
	open_view(fz, whole, mode, 131072, MEMOS_ANY);
}

/* To nothing, to next to nothing, to what holds a part, and to what holds all. */
static void change_budgets(struct fuzz *fz)
{
	static const uint64_t budgets[] = {0,     1,     32768, 45056,  49152,
	                                   53248, 61440, 98304, 131072, UINT64_C(16) << 20};

	for (unsigned v = 0; v < fz->nviews; v++)
		if (fz->changing[v] && ts_below(&fz->rng, 6) == 0)
			CHECK_EQ(pathcache_set_budget(fz->views[v].cache,
			                              budgets[ts_below(&fz->rng, 10)]),
			         0);
}

static void start(struct fuzz *fz)
{
	memset(long_name, 'L', 255);
	memset(longer_name, 'M', 256);
	fz->rng = ts_rng(1);
	fz->ttl_ms = -1;
	fz->alone = ts_isolate();
	ts_tree_make(&fz->tree);
	fz->foreign = ts_nobody_reaches(fz->tree.path);
	for (uint32_t mode = 0; mode < 4; mode++) {
		open_view(fz, false, mode, UINT64_MAX, MEMOS_USUAL);
		open_view(fz, true, mode, UINT64_MAX, MEMOS_USUAL);
	}
	open_view(fz, false, PATHCACHE_MODE_RCU, UINT64_MAX, MEMOS_NONE);
	open_view(fz, true, PATHCACHE_MODE_RCU, UINT64_MAX, MEMOS_NONE);
	open_view(fz, false, PATHCACHE_MODE_RCU, UINT64_C(1) << 20, MEMOS_FEW);
	/* Enough for all there is, with a grace period for each few memos that go. */
	open_view(fz, false, PATHCACHE_MODE_RCU, UINT64_C(16) << 20, MEMOS_USUAL);
	open_view(fz, false, PATHCACHE_MODE_RCU, 98304, MEMOS_ANY);
	open_view(fz, false, PATHCACHE_MODE_RCU, 32768, MEMOS_ANY);
	fz->asks = fz->nviews;
	open_view(fz, false, PATHCACHE_MODE_RCU, 0, MEMOS_ANY);
	open_changing(fz, false, PATHCACHE_MODE_RCU);
	open_changing(fz, true, PATHCACHE_MODE_RCU);
	open_changing(fz, false, PATHCACHE_MODE_LOCKREF);
	open_changing(fz, false, PATHCACHE_MODE_LOCKED);
	/* Some rounds, so that in each some expires; all is announced as well. */
	fz->ttl_ms = 60;
	open_view(fz, false, PATHCACHE_MODE_RCU, UINT64_MAX, MEMOS_ANY);
	open_view(fz, true, PATHCACHE_MODE_RCU, UINT64_MAX, MEMOS_ANY);
	open_view(fz, false, PATHCACHE_MODE_LOCKED, UINT64_C(1) << 20, MEMOS_ANY);
	fz->ttl_ms = 0;
	open_view(fz, false, PATHCACHE_MODE_RCU, UINT64_MAX, MEMOS_ANY);
	scan(fz);
	for (int i = 0; i < 60; i++) {
		change_create(fz);
		scan(fz);
	}
}

/* A cache with memos is to have used them, one without has none. Return: how often it did. */
static uint64_t check_memos(const struct fuzz *fz, unsigned v, const struct pathcache_stats *stats)
{
	const char *label = fz->views[v].label;
	static const unsigned share[] = {0, 0, 1, 10};
	bool rcu = strstr(label, "rcu") != NULL;

	if (!rcu || fz->memos[v] == MEMOS_NONE) {
		CHECK_EQ(stats->memo_hits, 0);
		CHECK_EQ(stats->memos, 0);
		CHECK_EQ(stats->memo_bytes, 0);
	} else if (stats->memo_hits < share[fz->memos[v]] * stats->lookups / 100) {
		ts_fail(__FILE__, __LINE__, "%s: only %llu of %llu lookups were answered by memos",
		        label, (unsigned long long)stats->memo_hits,
		        (unsigned long long)stats->lookups);
	}
	return stats->memo_hits;
}

static void finish(struct fuzz *fz)
{
	uint64_t hits = 0, lookups = 0, memo_hits = 0;

	for (unsigned v = 0; v < fz->nviews; v++) {
		struct pathcache_stats stats = ts_stats(fz->views[v].cache);

		hits += stats.hits;
		lookups += stats.lookups;
		memo_hits += check_memos(fz, v, &stats);
		for (int h = 0; h < HELD; h++)
			if (fz->held[v][h].start.entry)
				held_drop(fz, v, &fz->held[v][h]);
		ts_view_close(&fz->views[v]);
	}
	ts_tree_remove(&fz->tree);
	printf("      %u rounds, %u changes, %llu answers compared (%llu of them errors), "
	       "%llu differences, %llu starts lost, %llu outside; %llu batched; %llu of %llu lookups "
	       "hit, %llu by memos\n",
	       fz->round, fz->changes, (unsigned long long)fz->compared,
	       (unsigned long long)fz->errors_seen, (unsigned long long)fz->differences,
	       (unsigned long long)fz->stale_starts, (unsigned long long)fz->outside,
	       (unsigned long long)fz->batched, (unsigned long long)hits,
	       (unsigned long long)lookups, (unsigned long long)memo_hits);
	CHECK(hits > lookups / 4);
	CHECK(fz->errors_seen > fz->compared / 20 && fz->errors_seen < fz->compared);
}

static void every_answer_equals_the_kernel(void)
{
	struct fuzz *fz = calloc(1, sizeof(*fz));
	const char *text = getenv("PATHCACHE_ROUNDS");
	unsigned rounds = text && *text ? (unsigned)strtoul(text, NULL, 0) : ts_scale(400);
	const char *seconds = getenv("PATHCACHE_SECONDS");
	uint64_t end = ts_now_ns() + (uint64_t)(ts_seconds(0) * 1e9);

	REQUIRE(fz);
	start(fz);
	while (fz->round < rounds || (seconds && ts_now_ns() < end)) {
		for (unsigned n = 1 + ts_below(&fz->rng, 3); n-- > 0;) {
			change(fz);
			held_watch(fz);
		}
		change_budgets(fz);
		held_renew(fz);
		for (int n = 0; n < 8; n++)
			question(fz);
		for (unsigned v = 0; v < fz->nviews; v++)
			for (int n = 0; n < VISITS; n++)
				revisit(fz, v);
		question_held(fz);
		if (ts_below(&fz->rng, 10) == 0)
			for (unsigned v = 0; v < fz->nviews; v++)
				CHECK(pathcache_maintain(fz->views[v].cache, 64) >= 0);
		fz->round++;
	}
	finish(fz);
	free(fz);
}

static const struct ts_case cases[] = {
	TS_CASE(every_answer_equals_the_kernel),
};

int main(int argc, char **argv)
{
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
