/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * pathcache: a path-lookup cache in userspace.
 *
 * Answers stat, lstat, access, readlink, realpath and openat2-style lookups
 * from memory, for a real directory tree or for an application's own
 * namespace. A hit runs inside one RCU read section and stores nothing in
 * shared memory. A reference is taken only by pathcache_get().
 *
 * Caveats, first
 *  - By default the cache knows of changes only by being told: pathcache_invalidate_*(),
 *    pathcache_created() and its siblings. A change nobody announces is answered from
 *    memory until then. See enum pathcache_coherence.
 *  - Events of the kernel are taken in by pathcache_maintain(), pathcache_sync() and
 *    the cache's own thread only: until one of them runs, old answers are given.
 *  - Only liburcu's domain of the flavour is shared with the host; all other
 *    state hangs off the cache handle. Several caches may be open at once.
 *  - A miss, and every call marked "may block", must not run inside a read
 *    section whose grace period the backend itself waits for.
 *
 * Errors
 *  Every call that returns int or ssize_t returns 0 (or a length, or a
 *  descriptor) on success and a negative errno otherwise. For a path query the
 *  errno is the answer, exactly as the kernel would give it. Trouble of the
 *  cache itself (memory, descriptors, a lost race) falls through to the
 *  backend and shows in struct pathcache_stats; it is never told as an errno.
 *  Errors any path query may return:
 *    -EACCES  search permission denied on a component for the credentials
 *    -ELOOP   more than 40 links, or a link met under PATHCACHE_NO_SYMLINKS
 *    -ENAMETOOLONG  a component over 255 bytes, or a path of 4096 or more
 *    -ENOENT, -ENOTDIR  as path_resolution(7)
 *    -EXDEV   the walk would leave BENEATH, or cross a mount under NO_XDEV
 *    -EAGAIN  PATHCACHE_CACHED and the answer is not in memory; or a walk
 *             confined by BENEATH or IN_ROOT raced with renames (openat2(2))
 *    -EINVAL  an option or flag this version does not know; a NULL argument
 *    -ESTALE  the start directory, or the entry, can no longer be reached
 *    -ENOMEM  no memory even for the answer at hand
 *    -ECHILD  see Fork
 *    and whatever the backend failed with (-EIO, ...), which is not cached.
 *
 * Threads
 *  Every call is safe from any thread unless it says otherwise. A thread is
 *  registered with liburcu on first use and unregistered when it exits; one
 *  that uses liburcu itself registers before its first call here. No call is
 *  async-signal-safe. A thread may be cancelled (pthread_cancel(3)) in a
 *  backend callback or while it waits for another's answer, nowhere else in a
 *  query. Calls nest inside the host's own read sections
 *  as long as they hit; see each call's Context.
 *
 * Fork
 *  In a child of fork(2) what its parent had in memory answers as before: hits go
 *  on, also of held entries. Every other call returns -ECHILD, at once, or does
 *  nothing where it returns nothing: a miss, also under PATHCACHE_CACHED, an
 *  invalidation, opening and closing a cache, pathcache_thread_register(). So
 *  does every query in PATHCACHE_MODE_LOCKED. Nothing is announced to the child,
 *  so its answers are as old as itself. It must leave liburcu's grace periods alone,
 *  and in the bp flavour threads that did not use liburcu before the fork must
 *  not use it for themselves. A server that forks workers opens its caches in
 *  these, and calls nothing of the library before. exec(2) ends all this.
 *
 * Options and result structs that may grow start with their size, which the
 * caller sets to sizeof; fields beyond a smaller size take their defaults,
 * and unknown non-zero tail bytes give -E2BIG, as openat2(2) does.
 */
#ifndef PATHCACHE_H
#define PATHCACHE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PATHCACHE_VERSION_MAJOR 0
#define PATHCACHE_VERSION_MINOR 1
#define PATHCACHE_VERSION_PATCH 0

struct stat;

/* An open cache. Owned by the caller of pathcache_open(). */
struct pathcache;

/*
 * A held object (inode): what pathcache_get() returns. Lives until the last
 * pathcache_put(), also when its names are renamed, removed or invalidated.
 */
struct pathcache_entry;

struct pathcache_reply;

/* ---- flags of a query (names as openat2(2)) ---------------------------- */

#define PATHCACHE_NOFOLLOW UINT64_C(0x01)    /* last component: the link itself */
#define PATHCACHE_DIRECTORY UINT64_C(0x02)   /* -ENOTDIR unless a directory */
#define PATHCACHE_BENEATH UINT64_C(0x04)     /* never above the start: -EXDEV */
#define PATHCACHE_IN_ROOT UINT64_C(0x08)     /* the start is "/" */
#define PATHCACHE_NO_SYMLINKS UINT64_C(0x10) /* any followed link: -ELOOP */
#define PATHCACHE_NO_XDEV UINT64_C(0x20)     /* no crossing of mounts: -EXDEV */
#define PATHCACHE_CACHED UINT64_C(0x40)      /* never ask the backend: -EAGAIN */

/* ---- attributes -------------------------------------------------------- */

/* Bits of pathcache_attr.mask: which fields the backend filled in. */
#define PATHCACHE_ATTR_MODE 0x0001u /* type and permission bits */
#define PATHCACHE_ATTR_NLINK 0x0002u
#define PATHCACHE_ATTR_UID 0x0004u
#define PATHCACHE_ATTR_GID 0x0008u
#define PATHCACHE_ATTR_ATIME 0x0010u
#define PATHCACHE_ATTR_MTIME 0x0020u
#define PATHCACHE_ATTR_CTIME 0x0040u
#define PATHCACHE_ATTR_INO 0x0080u
#define PATHCACHE_ATTR_SIZE 0x0100u
#define PATHCACHE_ATTR_BLOCKS 0x0200u
#define PATHCACHE_ATTR_BTIME 0x0400u
#define PATHCACHE_ATTR_MNT_ID 0x0800u
#define PATHCACHE_ATTR_BASIC 0x03ffu /* all that stat(2) fills */

/*
 * One consistent snapshot of an object's attributes. Fields as statx(2):
 * times in seconds and nanoseconds since the epoch, size in bytes, blocks in
 * units of 512 bytes, dev and rdev as dev_t, attributes as stx_attributes.
 * A field whose mask bit is clear is 0 and means "unknown".
 */
struct pathcache_attr {
	uint32_t mask;
	uint32_t mode;
	uint32_t uid;
	uint32_t gid;
	uint32_t nlink;
	uint32_t blksize;
	uint64_t ino;
	uint64_t dev;
	uint64_t rdev;
	uint64_t size;
	uint64_t blocks;
	uint64_t attributes;
	uint64_t mnt_id;
	int64_t atime_sec;
	int64_t mtime_sec;
	int64_t ctime_sec;
	int64_t btime_sec;
	uint32_t atime_nsec;
	uint32_t mtime_nsec;
	uint32_t ctime_nsec;
	uint32_t btime_nsec;
};

/*
 * Convert to struct stat.
 * Return: 0, or -EOVERFLOW when a value does not fit the platform's struct.
 * Context: any; touches only its arguments.
 */
int pathcache_attr_to_stat(const struct pathcache_attr *attr, struct stat *st);

/* ---- credentials ------------------------------------------------------- */

#define PATHCACHE_CAP_DAC_OVERRIDE 0x1u    /* capabilities(7) */
#define PATHCACHE_CAP_DAC_READ_SEARCH 0x2u /* capabilities(7) */

/*
 * Who asks. uid and gid are the file-system ids that permission is judged by;
 * groups are the supplementary ones, borrowed for the call. Root is judged as
 * any other uid unless caps says otherwise: set both caps for a caller with
 * the powers of a plain root.
 */
struct pathcache_cred {
	size_t size;
	uint32_t uid;
	uint32_t gid;
	const uint32_t *groups;
	size_t ngroups;
	uint32_t caps;
};

/*
 * Fill cred with the effective ids, groups and capabilities of the calling
 * thread. groups: storage for up to max supplementary groups, which cred then
 * points to.
 * Return: 0; -ERANGE when the thread is in more than max groups; -EINVAL.
 * Context: any. Source: credentials(7), capget(2).
 */
int pathcache_cred_self(struct pathcache_cred *cred, uint32_t *groups, size_t max);

/* ---- how to resolve ---------------------------------------------------- */

/*
 * How a path is resolved; NULL stands for all defaults.
 * start: held directory that relative paths begin at; NULL = the cache's root.
 *   Borrowed: the caller keeps its reference until the call returns.
 * cred: who asks; NULL = the process as it was at pathcache_open().
 * flags: PATHCACHE_NOFOLLOW...
 */
struct pathcache_how {
	size_t size;
	struct pathcache_entry *start;
	const struct pathcache_cred *cred;
	uint64_t flags;
};

/* ---- opening ----------------------------------------------------------- */

enum pathcache_mode {
	PATHCACHE_MODE_RCU,     /* a hit stores nothing in shared memory */
	PATHCACHE_MODE_LOCKREF, /* RCU walk, reference on the last component */
	PATHCACHE_MODE_REFWALK, /* a reference on every component */
	PATHCACHE_MODE_LOCKED,  /* as REFWALK, each count under a spinlock */
};

/* How the cache learns that a directory has changed; the strongest first. */
enum pathcache_coherence {
	PATHCACHE_COHERENCE_EXCLUSIVE, /* every change is announced to it by the application */
	PATHCACHE_COHERENCE_EVENTS,    /* the kernel tells; where it cannot, as TTL */
	PATHCACHE_COHERENCE_TTL,       /* it does not: what is known is believed for a time */
	PATHCACHE_COHERENCE_NONE,      /* it does not, and nothing is kept: every query asks */
};

/* Where events come from (PATHCACHE_COHERENCE_EVENTS). */
enum pathcache_source {
	PATHCACHE_SOURCE_AUTO,     /* fanotify where the process may, else inotify */
	PATHCACHE_SOURCE_INOTIFY,  /* inotify(7): a watch for each directory in memory */
	PATHCACHE_SOURCE_FANOTIFY, /* fanotify(7): a mark for each file system; privileged */
};

/*
 * Memory for the cache's objects instead of its jemalloc arena. alloc returns
 * memory aligned to 16 bytes, or NULL; free gets the size that was asked for.
 * Called from any thread, with the cache's locks held, a hit's included, which
 * may be in a read section of the host: they must not call back into the cache,
 * nor wait for a grace period.
 */
struct pathcache_allocator {
	void *(*alloc)(void *ctx, size_t size);
	void (*free)(void *ctx, void *ptr, size_t size);
	void *ctx;
};

enum pathcache_change_kind {
	PATHCACHE_CHANGE_NAME, /* what name means in the directory entry, and attributes of both */
	PATHCACHE_CHANGE_OBJECT,  /* attributes of entry, or the text of a link */
	PATHCACHE_CHANGE_SUBTREE, /* anything at or below the directory entry */
	PATHCACHE_CHANGE_ALL,     /* anything */
};

/*
 * What has changed, or may have. The library sets size.
 * entry: of NAME, OBJECT and SUBTREE; borrowed for the call, pathcache_ref() keeps it;
 *   pathcache_entry_path() tells its path where that is known.
 * name: of NAME; len bytes and a NUL, valid during the call; NULL for others.
 */
struct pathcache_change {
	size_t size;
	struct pathcache *cache;
	struct pathcache_entry *entry;
	const char *name;
	size_t len;
	uint32_t kind; /* enum pathcache_change_kind */
};

/*
 * Told of a change, after the fact: a lookup that begins from then on is not
 * answered by what was. Each change is told, whether or not the cache knew anything
 * of it, but what is only forgotten to make room; a rename is two. Changes are told
 * in no order where several threads bring them.
 * Context: the thread that has announced the change, read it from the kernel, or
 * noticed it, before its call returns; no lock of the cache is held, and no other
 * call waits for it. It may call the cache but close it. Of changes that it makes
 * itself it is told too, while it is in no more than seven others, so that one that
 * answers a change by a change comes to an end.
 */
typedef void (*pathcache_change_fn)(void *arg, const struct pathcache_change *change);

/*
 * mode: see enum pathcache_mode. Default PATHCACHE_MODE_RCU.
 * budget: bytes the cache may use, all of it: names, objects, link texts, memos,
 *   tables, questions under way, and memory that waits for a grace period. Where
 *   it is used up, what was not asked for lately goes; held objects stay, and the
 *   directories they are in. Where nothing can go, answers are given as ever, but
 *   not kept. 0 keeps nothing: every query asks the backend. See
 *   pathcache_set_budget(). Default 256 MiB.
 * backlog: bytes of retired memory at which a thread that changes the cache
 *   waits for a grace period itself; at most a 64th of the budget, or 2 KiB where a
 *   16th of it allows that. Twice as much of the budget is set aside for it. Default
 *   4 MiB.
 * wait_ms: how long a lookup waits for another thread that already asks the
 *   backend the same question, before it asks for itself. Milliseconds;
 *   0 = as long as it takes. Default 0.
 * max_dirfds: O_PATH descriptors of directories kept open for misses (real
 *   trees only), at least 1. Default 256.
 * huge_pages: 1 advises the kernel to back the arena with huge pages, 0 advises
 *   against it. The kernel may make a whole one where one page of it is in use, so all
 *   memory that was ever used under this budget may be resident, also when little of
 *   it is needed; see pathcache_set_budget(). Default 1.
 * allocator: NULL for the built-in one. Copied.
 * memo_share: percent of the budget, less what an empty cache takes, that memos of
 *   finished walks may take, the table included; at most 90, 0 = none are kept. A
 *   path that is asked again is then answered without walking, whatever its depth.
 *   PATHCACHE_MODE_RCU only. Default 25.
 * memo_ways: places a path's memo may take in their table: 4, 8 or 16. With more
 *   of them fewer paths go without, and the last ones cost a line more each four.
 *   Default 16.
 * negative_share: percent of the same that absent names may take; at most 100,
 *   0 = none are kept. Default 25.
 * negatives_per_dir: absent names kept of one directory, at most 65535. Default
 *   16384.
 * complete_max: names a directory may have to be listed as a whole and taken as
 *   complete: a name that is not in its listing is absent, and nobody is asked.
 *   A directory is listed by pathcache_readdir(), or after some absent names were
 *   asked for in it; what the backend lists then must be all that it would find.
 *   Only for trees whose every change is announced, or told by the kernel (EVENTS),
 *   creations above all, which no lookup notices any more; never done where answers
 *   expire. In a real tree done on file systems known to list all their names (ext4,
 *   XFS, Btrfs, F2FS, tmpfs, overlay, SquashFS, EROFS), and not where case is folded;
 *   an XFS made with "version=ci" does not tell and must not be used with it. A
 *   listing takes at most a sixteenth of the budget. 0 = never, the default.
 * coherence: see enum pathcache_coherence. Default PATHCACHE_COHERENCE_EXCLUSIVE. An
 *   application's own namespace has no EVENTS.
 * source: see enum pathcache_source. One that is asked for by name and cannot be had
 *   makes pathcache_open() fail; without any AUTO opens, and all is as TTL until one can.
 *   Default PATHCACHE_SOURCE_AUTO.
 * max_watches: directories that events are asked for, at most; each holds some
 *   kernel memory and counts against fs.inotify.max_user_watches. Beyond them
 *   directories are as TTL. Default 65536.
 * name_ttl_ms, attr_ttl_ms, negative_ttl_ms: how long, in milliseconds since the
 *   backend was asked, a name, attributes, an absent name are believed where nobody
 *   tells of changes (TTL, and EVENTS where it is as TTL). Never longer, but for the
 *   call that asked; after a sleep of the machine by up to a second. Shorter by up to
 *   an eighth and some 10 ms. A directory or link is believed for the shorter of
 *   the first two, since paths are searched by what it is. 0: not at all. At most
 *   2^31 - 1. Default 1000 each.
 * stale_ms: for so much longer the old answer is given while another thread asks
 *   for the new one, but under PATHCACHE_CACHED. At most 2^31 - 1. Default 0.
 * strict: 1 = every query begins with a pathcache_sync(), one with PATHCACHE_CACHED and
 *   a hit as well: they may block, and there are no memos. Default 0.
 * thread: 1 = a thread of the cache's own, named "pathcache", all signals blocked,
 *   does what pathcache_maintain() does, until pathcache_close(). Queries then
 *   never wait for a grace period. The backend's release and an allocator's
 *   functions are called in it as well. It sleeps until there is something to do.
 *   Default 0.
 * listener, listener_arg: called for each change that the cache is told of or
 *   notices; see struct pathcache_change. NULL: nobody is. Default NULL.
 */
struct pathcache_options {
	size_t size;
	uint32_t mode;
	uint32_t max_dirfds;
	uint64_t budget;
	uint64_t backlog;
	uint32_t wait_ms;
	uint32_t huge_pages;
	const struct pathcache_allocator *allocator;
	uint32_t memo_share;
	uint32_t memo_ways;
	uint32_t negative_share;
	uint32_t negatives_per_dir;
	uint64_t complete_max;
	uint32_t coherence;
	uint32_t source;
	uint32_t max_watches;
	uint32_t name_ttl_ms;
	uint32_t attr_ttl_ms;
	uint32_t negative_ttl_ms;
	uint32_t stale_ms;
	uint32_t strict;
	uint32_t thread;
	pathcache_change_fn listener;
	void *listener_arg;
};

/* Set every option to its default. Context: any. */
void pathcache_options_init(struct pathcache_options *opt);

/*
 * Open a cache of the real directory tree below dir.
 * dir: resolved by the kernel, once. "/" is the process's root; below any
 *   other directory paths resolve as openat2(2) with RESOLVE_IN_ROOT does.
 * opt: NULL for the defaults.
 * Return: 0 and *out, owned by the caller; -ENOENT, -ENOTDIR, -EACCES and
 *   other errors of open(2) on dir; -ENOMEM; -EMFILE; -EINVAL, -E2BIG; -EAGAIN:
 *   no thread could be started (option thread).
 * Context: may block; not inside a read section.
 */
int pathcache_open(struct pathcache **out, const char *dir, const struct pathcache_options *opt);

/*
 * Close the cache, end its thread and free its memory. Waits for a grace period.
 * Return: 0; -EBUSY while entries are held or a call is known to be under way
 *   (nothing is closed then, and the cache stays usable); -EDEADLK inside a
 *   read section of the calling thread.
 * Context: no other thread may use the cache any more; may block; not from a
 *   backend callback. In the QSBR flavour a quiescent state of the calling thread.
 */
int pathcache_close(struct pathcache *cache);

/* ---- queries ----------------------------------------------------------- */
/*
 * Context of all queries: any thread. A hit does not block and may run inside
 * the host's read section; it allocates only to remember a path that it has
 * walked (options memo_share), which it leaves where another thread does so,
 * and for one of more than some 45 components. A miss asks the backend with no
 * lock and no read section of the cache held; it may block and allocate.
 * With PATHCACHE_CACHED a query never blocks.
 * path: NUL-terminated bytes, at most 4095; borrowed.
 */

/*
 * Attributes of what path leads to, the link's own with PATHCACHE_NOFOLLOW.
 * On a hit all of path's bindings and all of attr were true at one instant
 * during the call. Attributes that the cache's packed form cannot hold, times
 * outside the years 1901 to 2446 above all, are asked each time.
 * Source: stat(2), path_resolution(7).
 */
int pathcache_stat(struct pathcache *cache, const char *path, const struct pathcache_how *how,
                   struct pathcache_attr *attr);

/*
 * May the caller do amode (R_OK | W_OK | X_OK, or F_OK) to path?
 * Judged for how->cred as faccessat(2) with AT_EACCESS judges the process.
 * Return: 0; -EACCES; -EROFS for W_OK on a read-only file system; -EPERM for
 *   W_OK on an immutable file; errors of resolution.
 */
int pathcache_access(struct pathcache *cache, const char *path, int amode,
                     const struct pathcache_how *how);

/*
 * pathcache_stat() and pathcache_access() of n paths, each alike; how is that of
 * all of them. Faster than one by one where the cache's memory is not in the
 * processor's caches, since the lines of several paths are fetched at once.
 * results: n; 0 or the negative errno of that path's own query, which says
 *   nothing of the others; -EINVAL for a NULL path. attrs: n; attrs[i] holds
 *   attributes where results[i] is 0. The paths are not one snapshot: each
 *   answer was true at an instant of its own during the call.
 * Return: 0; -EINVAL, -E2BIG for other arguments: nothing is written then.
 */
int pathcache_stat_many(struct pathcache *cache, const char *const *paths, size_t n,
                        const struct pathcache_how *how, struct pathcache_attr *attrs,
                        int *results);
int pathcache_access_many(struct pathcache *cache, const char *const *paths, size_t n, int amode,
                          const struct pathcache_how *how, int *results);

/*
 * The text of the symlink path, not NUL-terminated, truncated to size bytes.
 * Return: the number of bytes placed in buf; -EINVAL when path is not a
 *   symlink; errors of resolution. Source: readlink(2).
 */
ssize_t pathcache_readlink(struct pathcache *cache, const char *path,
                           const struct pathcache_how *how, char *buf, size_t size);

/*
 * The canonical path of what path leads to: absolute from the cache's root,
 * no link, no "." or "..". NUL-terminated.
 * Return: its length without the NUL; -ERANGE when it does not fit size bytes;
 *   -ENOENT when the result has been removed meanwhile; errors of resolution.
 * Source: realpath(3).
 */
ssize_t pathcache_realpath(struct pathcache *cache, const char *path,
                           const struct pathcache_how *how, char *buf, size_t size);

/* ---- held entries ------------------------------------------------------ */

/*
 * Resolve path and hold the object. Of a directory in a real tree a descriptor
 * is kept as well while there is room among max_dirfds, so that it can serve as a
 * start whatever becomes of its names; that one call then blocks even on a hit,
 * unless PATHCACHE_CACHED is given.
 * Return: 0 and *out, a strong reference that the caller gives back with
 *   pathcache_put(); errors of resolution.
 */
int pathcache_get(struct pathcache *cache, const char *path, const struct pathcache_how *how,
                  struct pathcache_entry **out);

/*
 * One more reference to an entry the caller already holds. Never fails (a
 * count past 2^31 saturates: the object then stays until close).
 * Context: any; wait-free but for a thread's first call.
 */
void pathcache_ref(struct pathcache *cache, struct pathcache_entry *entry);

/* Give a reference back. Context: any; does not block. */
void pathcache_put(struct pathcache *cache, struct pathcache_entry *entry);

/*
 * Attributes of a held object.
 * Return: 0; -ESTALE when they are not in memory and the object cannot be
 *   reached by any of its last known names; errors of the backend.
 * Context: as a query.
 */
int pathcache_entry_stat(struct pathcache *cache, struct pathcache_entry *entry,
                         struct pathcache_attr *attr);

/*
 * A current path of a held object, absolute from the cache's root and
 * NUL-terminated.
 * Return: its length; -ERANGE when it does not fit; -ENOENT when the object
 *   has no name the cache knows of (removed, invalidated, or expired since).
 * Context: any; does not block.
 */
ssize_t pathcache_entry_path(struct pathcache *cache, struct pathcache_entry *entry, char *buf,
                             size_t size);

/* A number that no other object of this cache ever had or will have. */
uint64_t pathcache_entry_id(const struct pathcache_entry *entry);

/*
 * Open what path leads to and return a descriptor, close-on-exec. The last
 * component is opened relative to its verified parent and never through a
 * link put there meanwhile. The descriptor, not the cache, tells the size.
 * oflags: as open(2), without O_CREAT, O_TMPFILE. O_NOFOLLOW as NOFOLLOW.
 * Permission to read and write is judged by the kernel for the process, and
 * by the cache for how->cred when that is given.
 * Return: the descriptor, owned by the caller; -EINVAL for flags above;
 *   -EOPNOTSUPP when the backend has no descriptors; errors of open(2).
 */
int pathcache_open_fd(struct pathcache *cache, const char *path, int oflags,
                      const struct pathcache_how *how);

/*
 * One entry of a listing.
 * name: len bytes and a NUL; valid during the callback only.
 * type: S_IFMT bits, 0 when unknown. cookie: continue after this entry.
 * Return: 0 to go on, anything else to stop.
 */
typedef int (*pathcache_dirent_fn)(void *arg, const char *name, size_t len, uint64_t ino,
                                   uint32_t type, uint64_t cookie);

/*
 * List a held directory, "." and ".." left out: from memory where all its names
 * are known (option complete_max) and the process may read and search it, else
 * from the backend. A name that is there all the time is told once, whatever
 * changes meanwhile; one that comes or goes, perhaps.
 * cookie: 0, or where an earlier listing stopped.
 * Return: 0 at the end or when fn stopped it; -ENOTDIR; -EACCES; -ESTALE;
 *   -EOPNOTSUPP when the backend cannot list.
 * Context: may block. fn runs without locks of the cache and may call it.
 * Source: readdir(3).
 */
int pathcache_readdir(struct pathcache *cache, struct pathcache_entry *dir, uint64_t cookie,
                      pathcache_dirent_fn fn, void *arg);

/*
 * How far pathcache_prefetch() has come.
 * objects: names looked up so far that lead to something. directories: listed so
 * far. name: of the last object; valid during the callback only.
 * Return: 0 to go on, anything else to stop.
 */
struct pathcache_progress {
	uint64_t objects;
	uint64_t directories;
	const char *name;
};

typedef int (*pathcache_progress_fn)(void *arg, const struct pathcache_progress *progress);

/*
 * Bring a tree into memory ahead of the questions: one listing a directory and
 * one question a name, for those that are not there yet. Links are not followed,
 * other mounts not entered, directories that may not be listed are left out.
 * What is in memory is not made room of: it ends when the budget is used up.
 * dir: held directory to begin at, NULL = the root. depth: 0 for the names in
 *   dir, 1 for those in its subdirectories as well, and so on.
 * fn: called after each object; may be NULL. It runs without locks of the cache
 *   and may call it.
 * Return: 0 when all is done; what fn returned to stop it; -ENOSPC when the
 *   budget was used up; -ENOMEM; -ENOTDIR; -EACCES, -ESTALE and -EOPNOTSUPP as
 *   pathcache_readdir() of dir itself.
 * Context: may block; not inside a read section. Takes memory for the names of
 *   one directory on each level. A thread may be cancelled in it where it may be
 *   in a query.
 */
int pathcache_prefetch(struct pathcache *cache, struct pathcache_entry *dir, unsigned depth,
                       pathcache_progress_fn fn, void *arg);

/* ---- invalidation ------------------------------------------------------ */
/*
 * Tell the cache that something changed. Effective at return for every later
 * lookup of every thread; an answer whose backend call began earlier is never
 * kept. Never waits for a backend call or for a reader.
 * Context: any thread, also from a backend callback; see invalidate_path.
 */

/*
 * What name means in dir (NULL = the root) may have changed: created, removed,
 * replaced, renamed. Also drops the attributes of dir and of the object. Where name
 * then leads to the same directory, or another does, what is below it is known
 * still: what has changed there while it was elsewhere, out of the tree or under a
 * mount, is announced too, or pathcache_invalidate_subtree().
 * Return: 0; -EINVAL for an empty name, "." or "..", or one with a slash;
 *   -ENAMETOOLONG; -ENOTDIR.
 */
int pathcache_invalidate_name(struct pathcache *cache, struct pathcache_entry *dir,
                              const char *name);

/*
 * The same for the last component of path. The directory it is in is looked up
 * first, links followed, and the backend asked for what is not in memory; where
 * that fails it may be any directory, and all is invalidated. A last component
 * that is a link is not followed; "/" means the root's attributes.
 * Return: 0; -ENAMETOOLONG; -EINVAL.
 * Context: unlike the others may block; not from a backend callback.
 */
int pathcache_invalidate_path(struct pathcache *cache, const char *path);

/*
 * Attributes, link text and, for a directory, search permission of the object
 * may have changed, under whatever name it is reached. Names stay, and what is
 * below a directory.
 * Return: 0; -EINVAL.
 */
int pathcache_invalidate_entry(struct pathcache *cache, struct pathcache_entry *entry);

/*
 * Anything at or below dir (NULL = the root) may have changed. O(1).
 * Return: 0; -ENOTDIR.
 */
int pathcache_invalidate_subtree(struct pathcache *cache, struct pathcache_entry *dir);

/* Anything may have changed. O(1). Return: 0. */
int pathcache_invalidate_all(struct pathcache *cache);

/* ---- announcing what was done --------------------------------------------- */
/*
 * For an application that makes the changes itself and knows what they were. Called
 * after the change, each says more than pathcache_invalidate_name() of the names
 * would: what is new is known without a question, and what is below a directory that
 * is renamed stays. As invalidation each is effective at return for every later
 * lookup of every thread, overtakes answers that are on their way, and waits for
 * nothing; readers find what was before or what is after, or ask the backend.
 *
 * What is said is believed, so it must be the last word. Between a change and its
 * announcement nobody makes another change of the same name, or of attributes of the
 * same object: do both under one lock. In an application's own namespace no callback
 * answers from what is between either: let it be the lock that they read under, which
 * may be held, since but for release() in pathcache_created() these call nobody. (In
 * a real tree lookups may come in between.) Where that cannot be had use
 * pathcache_invalidate_name(), which is right in any order. In a cache that learns of
 * changes otherwise too (other than PATHCACHE_COHERENCE_EXCLUSIVE) these say no more
 * than it does. A listener is called by all, so it must not need that lock.
 *
 * dir: NULL = the root. name: as pathcache_invalidate_name().
 * Return of all: 0; -EINVAL for NULL or what is said below, and for an empty name,
 *   "." or "..", or one with a slash; -ENAMETOOLONG; -ENOTDIR. Nothing is changed by
 *   an error but where it says so.
 * Context of all: any thread, also from a backend callback; does not block.
 */

/*
 * name was made in dir, or was found to be there (EEXIST is proof of that).
 * what: the object, as a lookup would answer it; its handle is the cache's from
 *   then on, and released; at an error it stays the caller's. NULL: not known, a
 *   lookup asks.
 * Return: -EINVAL also for what in a cache of a real tree, and for one that a
 *   lookup may not answer; -E2BIG as for all structs that start with their size.
 */
int pathcache_created(struct pathcache *cache, struct pathcache_entry *dir, const char *name,
                      const struct pathcache_reply *what);

/* name was removed from dir, a file's or that of an empty directory. It is known to be absent. */
int pathcache_removed(struct pathcache *cache, struct pathcache_entry *dir, const char *name);

#define PATHCACHE_RENAME_NOREPLACE UINT64_C(0x1) /* there was nothing at the new name */
#define PATHCACHE_RENAME_EXCHANGE UINT64_C(0x2)  /* both names have changed places */

/*
 * name in dir was renamed to to_name in to_dir, over whatever was there. Of two names
 * of one object nothing has changed: so rename(2) says. A directory is found under its
 * new name with all that is known below it, held entries by their new paths. Where the
 * cache does not know what both names meant, both are forgotten, and asked for; so are
 * those of an exchange in a real tree.
 * flags: PATHCACHE_RENAME_NOREPLACE or PATHCACHE_RENAME_EXCHANGE, as renameat2(2).
 * Return: -EINVAL also for flags, and for a directory renamed below itself: both
 *   names are forgotten then.
 * Source: rename(2).
 */
int pathcache_renamed(struct pathcache *cache, struct pathcache_entry *dir, const char *name,
                      struct pathcache_entry *to_dir, const char *to_name, uint64_t flags);

/*
 * entry was given the further name name in dir. Its attributes, the number of links
 * above all, are not known any more. Return: -EINVAL also for a directory.
 */
int pathcache_linked(struct pathcache *cache, struct pathcache_entry *entry,
                     struct pathcache_entry *dir, const char *name);

/*
 * Attributes of entry were changed, its names were not.
 * attr: what they are now; the text of a link and permissions that are not in its
 *   mode are what they were. It must say at least MODE, UID and GID; in a real tree
 *   all that statx(2) fills, the time of birth too, of this very object, which is no
 *   directory. NULL, or anything else: not known, a query asks.
 */
int pathcache_changed(struct pathcache *cache, struct pathcache_entry *entry,
                      const struct pathcache_attr *attr);

/* ---- upkeep ------------------------------------------------------------ */

/*
 * Bounded upkeep: free retired memory, drop entries nothing leads to any more and
 * memos of what has changed, evict what is over the budget.
 * budget: how many objects to look at or free, at least 1. May wait for one
 * grace period.
 * Return: 1 when work is left, 0 when not; -EDEADLK inside a read section.
 * Context: may block; not from a backend callback. In the QSBR flavour the
 *   call is a quiescent state of the calling thread.
 */
int pathcache_maintain(struct pathcache *cache, uint32_t budget);

/*
 * See to it that each change which anybody on this machine had finished before the
 * call is seen by every query after it: take in what events the kernel has queued,
 * wait for what another thread is taking in, and let all expire that may. Not seen
 * by it where events are relied on: a store through a shared mapping (mmap(2)) until
 * its file is closed, access times, and by inotify(7) the first further hard link of
 * a file that is made in a directory not in memory, or gone before it is looked at.
 * Return: 0, also where nobody has to be asked: every change is announced
 *   (EXCLUSIVE), or nothing is kept (NONE); -EINVAL; -ECHILD.
 * Context: any thread, also a callback of the cache, without locks that those take;
 *   may block, but waits for no grace period and no reader.
 */
int pathcache_sync(struct pathcache *cache);

/*
 * A descriptor that polls readable when pathcache_maintain() has something to do
 * that will not wait: events of the kernel. For poll(2), epoll(7) and what is built
 * on them (libuv's uv_poll_t, libevent's EV_READ); neither read nor closed by the
 * caller. The same until close. Itself an epoll instance; level-triggered for events
 * of directories, but a change of mounts makes one wait readable, not the next: so
 * call pathcache_maintain() whenever it was, and once after adding it to a loop.
 * Return: the descriptor, the cache's; -EOPNOTSUPP: this cache has nothing to wait
 *   for; -EINVAL. Context: any.
 */
int pathcache_fd(struct pathcache *cache);

/*
 * Change the budget (see struct pathcache_options), and with it all shares of it.
 * What is over a smaller one goes before the call returns, in steps between which
 * other threads go on; held objects stay. Where less than half of what is there may
 * stay, all goes: what was left would keep nearly every page of memory in use.
 * With 0 nothing is believed any more: every query asks the backend, held objects
 * included. Memory goes back to the system but for tables of the largest size so
 * far, about 24 bytes a name, and but for pages that what is left has a part of:
 * with a quarter of the budget up to three times what is counted. So that it stays
 * away, huge pages are advised against until the budget is as large as before.
 * Return: 0, also under PATHCACHE_COHERENCE_NONE, where nothing changes; -EINVAL;
 *   -EDEADLK inside a read section, nothing is changed then.
 * Context: as pathcache_maintain().
 */
int pathcache_set_budget(struct pathcache *cache, uint64_t budget);

/*
 * Register the calling thread now instead of on its first lookup, and
 * unregister it before it exits. Optional. Pairs nest.
 * Return: 0; -ENOMEM.
 */
int pathcache_thread_register(void);
void pathcache_thread_unregister(void);

/*
 * Counters since open, and sizes now. Set size before the call.
 * Counters of queries are per thread and summed here: exact for calls that
 * have returned.
 */
struct pathcache_stats {
	size_t size;
	uint64_t lookups;        /* queries */
	uint64_t hits;           /* ... answered without asking the backend */
	uint64_t retries;        /* walks begun again since a change raced them */
	uint64_t locked_walks;   /* walks done with changes held off */
	uint64_t misses;         /* components that were not in memory */
	uint64_t fills;          /* backend answers that were kept */
	uint64_t coalesced;      /* misses that waited for another's answer */
	uint64_t gave_up;        /* waiters that asked for themselves after wait_ms */
	uint64_t stale_fills;    /* answers not kept: invalidated meanwhile */
	uint64_t uncached;       /* answers not kept: over budget, memory, or by backend */
	uint64_t backend_calls;  /* questions put to the backend */
	uint64_t backend_errors; /* ... that ended in something other than an answer */
	uint64_t passthrough;    /* lookups handed to the kernel whole (proc, sys) */
	uint64_t asked_access;   /* permissions the backend was asked for */
	uint64_t invalidations;  /* calls of pathcache_invalidate_*() */
	uint64_t grace_periods;  /* waited for */
	uint64_t dentries;       /* now: names in memory, negative ones included */
	uint64_t negatives;      /* now: names known to be absent */
	uint64_t nodes;          /* now: objects in memory */
	uint64_t bytes;          /* now: all of it, deferred included */
	uint64_t deferred_bytes; /* now: waiting for a grace period */
	uint64_t dirfds;         /* now: descriptors of directories */
	uint64_t memo_hits;      /* hits answered by a memo */
	uint64_t memo_stamps;    /* stores to shared memory that memo hits made */
	uint64_t memos;          /* now: walks remembered */
	uint64_t memo_bytes;     /* now: of bytes, those of memos and their table */
	/* hits = memo_hits + walk_hits */
	uint64_t walk_hits;     /* hits answered by walking */
	uint64_t negative_hits; /* of hits, those whose answer was -ENOENT */
	uint64_t declined;      /* queries that got -EAGAIN for PATHCACHE_CACHED */
	/* Why a query had to ask, beside misses and passthrough: */
	uint64_t asked_start;  /* a directory to start at was not up to date */
	uint64_t asked_parent; /* ".." of a directory was not in memory */
	uint64_t asked_text;   /* ... the text of a link */
	uint64_t asked_attr;   /* ... attributes */
	uint64_t asked_search; /* permission to search, by an ACL or the backend's own rule */
	uint64_t asked_last;   /* likewise, to do what pathcache_access() asks about */
	uint64_t asked_path;   /* the names that lead to an object */
	/* Making room: */
	uint64_t evicted;          /* names dropped that led to something */
	uint64_t evicted_negative; /* names dropped that were known to be absent */
	uint64_t evict_effort;     /* names looked at for that */
	uint64_t evict_held;       /* ... and left since they were held */
	uint64_t over_budget;      /* answers not kept since no room could be made */
	/* Directories whose names are all known: */
	uint64_t listings_made;  /* times that all names of one were kept */
	uint64_t listings_ended; /* ... and that one of them changed */
	uint64_t listed_hits;    /* absent names that one answered, not by memo */
	/* Now: */
	uint64_t listings;       /* directories whose names are all known */
	uint64_t held;           /* references not yet given back by pathcache_put() */
	uint64_t budget;         /* bytes, as the options said */
	uint64_t dentry_bytes;   /* of bytes: names that lead to something */
	uint64_t negative_bytes; /* ... names known to be absent */
	uint64_t node_bytes;     /* ... objects, and texts of links */
	uint64_t listing_bytes;  /* ... whole directories' names */
	uint64_t table_bytes;    /* ... tables of names and objects */
	uint64_t other_bytes; /* ... questions under way, descriptors, watches, the cache itself */
	/* Events of the kernel (PATHCACHE_COHERENCE_EVENTS): */
	uint64_t events;           /* read */
	uint64_t events_applied;   /* ... and about a directory in memory */
	uint64_t events_overflows; /* times that some were lost, so that all was forgotten */
	uint64_t watch_limits;     /* directories left to expire since the kernel had no room,
	                              or max_watches were there: see inotify(7), /proc */
	uint64_t watch_failures;   /* ... for any other reason, and sources that failed */
	uint64_t watches;          /* now: directories that the kernel tells of */
	uint64_t event_source;     /* now: enum pathcache_source; 0: there is none, all expires */
	uint64_t mount_changes;    /* mounts that came, went or changed, where that is watched */
	uint64_t announced;        /* calls of pathcache_created() and its siblings */
	/* What expires: */
	uint64_t expired;      /* answers to questions about what was in memory and had expired */
	uint64_t revalidated;  /* ... that it was the same object, or still absent */
	uint64_t stale_served; /* what had expired and was given while another thread asked */
};

/* Return: 0; -EINVAL when stats->size is 0. Context: any; does not block long. */
int pathcache_get_stats(struct pathcache *cache, struct pathcache_stats *stats);

/*
 * The same as text for Prometheus and what reads its format: a line for each
 * number, names begin with pathcache_. Served as "text/plain; version=0.0.4".
 * buf: gets at most size bytes, the NUL included; may be NULL where size is 0.
 *   8192 bytes hold all of it.
 * Return: the length of the whole text without the NUL, as snprintf(3); from
 *   size on it was cut off; -EINVAL for NULL arguments.
 * Context: any; does not block long, allocates nothing.
 * Source: prometheus.io, "Exposition formats".
 */
ssize_t pathcache_stats_text(struct pathcache *cache, char *buf, size_t size);

/* ---- looking inside ---------------------------------------------------- */

/* What a binding that an answer relies on is. */
enum pathcache_kind {
	PATHCACHE_KIND_START,     /* of the directory the walk begins at, or the root */
	PATHCACHE_KIND_DIRECTORY, /* a name that leads to a directory */
	PATHCACHE_KIND_LINK,      /* ... to a symlink */
	PATHCACHE_KIND_LEAF,      /* ... to anything else */
	PATHCACHE_KIND_NEGATIVE,  /* a name known to be absent */
	PATHCACHE_KIND_LISTING,   /* all names of a directory, among which the name is not */
	PATHCACHE_KIND_MISSING,   /* none: the backend would be asked, see needs */
};

/* Until when a binding is believed. Later versions know more of these. */
enum pathcache_trust {
	PATHCACHE_TRUST_NONE,      /* it is not in memory */
	PATHCACHE_TRUST_ANNOUNCED, /* until a change of it is announced */
	PATHCACHE_TRUST_EVENTS, /* until the kernel tells of a change of it, or that is announced */
	PATHCACHE_TRUST_TTL,    /* for a time, see left_ms; or until a change of it is announced */
};

/* What a query would have to ask the backend for. */
enum pathcache_needs {
	PATHCACHE_NEEDS_NOTHING,
	PATHCACHE_NEEDS_NAME,   /* what name leads to */
	PATHCACHE_NEEDS_START,  /* whether the directory is still what it was */
	PATHCACHE_NEEDS_PARENT, /* which directory is above */
	PATHCACHE_NEEDS_TEXT,   /* the text of the link */
	PATHCACHE_NEEDS_ATTR,   /* attributes */
	PATHCACHE_NEEDS_SEARCH, /* whether the caller may search the directory */
	PATHCACHE_NEEDS_KERNEL, /* all of it: the rest of the path is never kept */
};

/*
 * One binding of a name that an answer relies on. The library sets size.
 * name: len bytes and a NUL, valid during the callback; "" for a start. Of a
 *   link or directory above a start it is the name it has there.
 * id: of this binding; another of the same name has another. 0: MISSING.
 * object: what pathcache_entry_id() of it would be; 0: absent or MISSING.
 * age_ms: milliseconds since it was learned. Never too small; too great by up
 *   to a second, or up to two fifths of what it is.
 * held: does the application, or a call under way, hold a reference to the object?
 * memo: was the whole answer remembered, so that this is not walked?
 * left_ms: TRUST_TTL: milliseconds until it expires. Attributes at the end of the path
 *   may expire sooner.
 */
struct pathcache_binding {
	size_t size;
	const char *name;
	size_t len;
	uint64_t id;
	uint64_t object;
	uint64_t age_ms;
	uint32_t kind;  /* enum pathcache_kind */
	uint32_t trust; /* enum pathcache_trust */
	uint32_t needs; /* enum pathcache_needs; NOTHING unless MISSING */
	uint32_t held;
	uint32_t memo;
	uint32_t left_ms;
};

/* Return: 0 to go on, anything else to be told no more. */
typedef int (*pathcache_explain_fn)(void *arg, const struct pathcache_binding *binding);

/*
 * What pathcache_stat() of path would answer from memory now, and why: fn is
 * told each binding that the answer relies on, in the order they are walked; last,
 * where the backend would have to be asked, one that is MISSING. Never asks the
 * backend, counts as no query and leaves no trace of use.
 * how: as of a query; PATHCACHE_CACHED makes no difference.
 * Return: what the query would under PATHCACHE_CACHED: 0; -EAGAIN when the
 *   backend would be asked; errors of resolution; besides -EINVAL and -ENOMEM.
 *   It stays the same where fn stops.
 * Context: any; does not block long, and holds changes off for the length of a
 *   walk. fn runs without locks and may call the cache: it sees what was, and not
 *   what has become of it meanwhile.
 */
int pathcache_explain(struct pathcache *cache, const char *path, const struct pathcache_how *how,
                      pathcache_explain_fn fn, void *arg);

#define PATHCACHE_DENTRY_NEGATIVE 0x01u /* the name is known to be absent */
#define PATHCACHE_DENTRY_LISTING 0x02u  /* no name: all names of the directory */
#define PATHCACHE_DENTRY_USED 0x04u     /* a hit came here since last looked at to make room */
#define PATHCACHE_DENTRY_HELD 0x08u     /* the object is held */
#define PATHCACHE_DENTRY_STALE 0x10u    /* invalidated with what is above: never an answer */
#define PATHCACHE_DENTRY_LOOSE 0x20u    /* name and dir are where it was last seen */

/*
 * One name in memory. The library sets size.
 * name: len bytes and a NUL, valid during the callback; "" for the root.
 * id, age_ms: as of struct pathcache_binding.
 * dir, object: as pathcache_entry_id(); 0: none.
 * ino: the object as the backend calls it (inode number, pathcache_object.id).
 * references: to the object, by the application and calls under way.
 * bytes: of the name; object_bytes: of its object, text of a link included,
 *   which all names of it share. type: S_IFMT bits; 0 where absent.
 */
struct pathcache_dentry {
	size_t size;
	const char *name;
	size_t len;
	uint64_t id;
	uint64_t dir;
	uint64_t object;
	uint64_t ino;
	uint64_t age_ms;
	uint64_t references;
	uint64_t bytes;
	uint64_t object_bytes;
	uint32_t type;
	uint32_t flags; /* PATHCACHE_DENTRY_* */
};

/* Return: 0 to go on, anything else to stop. */
typedef int (*pathcache_dump_fn)(void *arg, const struct pathcache_dentry *dentry);

/*
 * All names in memory, in no order. One that is there from the begin to the end
 * is told once; one that comes or goes meanwhile, once or not. Answers that are
 * one caller's own are not told.
 * Return: 0 at the end or when fn stopped it; -EINVAL; -ENOMEM.
 * Context: any; does not block long: changes are held off for some names at a
 *   time, hits never. fn runs without locks and may call the cache.
 */
int pathcache_dump(struct pathcache *cache, pathcache_dump_fn fn, void *arg);

/* ---- an application's own namespace ------------------------------------ */

/*
 * An object as the backend knows it. id and generation together are its
 * identity: equal for two names of one object, never reused for another.
 * handle: for the backend alone; handed back in every call, and to release()
 * once the cache has forgotten the object.
 */
struct pathcache_object {
	uint64_t id;
	uint64_t generation;
	void *handle;
};

#define PATHCACHE_REPLY_PRIVATE 0x1u     /* this answer is for this caller only */
#define PATHCACHE_REPLY_NO_CACHE 0x2u    /* do not keep this answer */
#define PATHCACHE_REPLY_NO_NEGATIVE 0x4u /* (a directory) keep no ENOENT in it */
#define PATHCACHE_REPLY_ASK_ACCESS 0x8u  /* permission is judged by ops->access */
/*
 * Attributes, and in a directory names, are believed for a time only, whatever the
 * cache's coherence: name_ttl_ms and the other two. What is below says so for itself.
 */
#define PATHCACHE_REPLY_EXPIRES 0x10u
#define PATHCACHE_REPLY_ID_BY_NAME \
	0x20u /* its id, and those below it, are another's once it is renamed */

/*
 * A backend's answer. The library zeroes it and sets size before the call.
 * attr.mask must have MODE, UID and GID; the type never changes for an object.
 * link, link_len: text of a symlink, without NUL, if it is at hand; copied
 *   before the callback's thread calls the backend again. At most 4095 bytes.
 */
struct pathcache_reply {
	size_t size;
	struct pathcache_object object;
	struct pathcache_attr attr;
	uint32_t flags;
	uint32_t link_len;
	const char *link;
};

/*
 * The backend. Context of every callback: the thread of the lookup that
 * missed, no lock and no read section of the cache held; it may block, and may
 * call pathcache_invalidate_*(), but must not query the same cache for the
 * name it is asked for. Several threads call at once. Each returns 0 or a
 * negative errno. cred is who asks, never NULL, borrowed.
 *
 * lookup: what name (len bytes, NUL-terminated, no slash) means in dir.
 *   0 and the reply; -ENOENT: absent, which is kept as a negative unless the
 *   directory said NO_NEGATIVE; any other error goes to the caller and is not
 *   kept. name is ".." only when the cache has lost a held directory's parent;
 *   a backend that cannot tell returns -ESTALE.
 *   reply->flags may be set with -ENOENT too (PRIVATE, NO_CACHE).
 * getattr: the object's attributes now, and all its flags, which take the place
 *   of those that lookup gave; its object is not looked at and nothing is released
 *   for it. -ESTALE: it no longer exists.
 * readlink: the text of a symlink whose lookup gave none: up to size bytes
 *   into buf; returns the length. NULL when lookup always gives it.
 * access: may cred do amode to obj? 0 or -EACCES. Called for objects marked
 *   ASK_ACCESS only; NULL judges them by mode bits.
 * readdir: call emit for each entry after cookie until it returns non-zero.
 *   NULL: pathcache_readdir() gives -EOPNOTSUPP. With the option complete_max it
 *   must list every name that lookup would find for anybody, but in directories
 *   that say NO_NEGATIVE, no name twice, and no cookie may be 0; it is then also
 *   called by the thread of a lookup, after that one's answer.
 * release: the cache has forgotten the object; the last call for this handle,
 *   once per reply that was accepted or dropped. NULL: nothing to release.
 */
struct pathcache_ops {
	size_t size;
	int (*lookup)(void *ctx, const struct pathcache_object *dir, const char *name, size_t len,
	              const struct pathcache_cred *cred, struct pathcache_reply *reply);
	int (*getattr)(void *ctx, const struct pathcache_object *obj,
	               const struct pathcache_cred *cred, struct pathcache_reply *reply);
	ssize_t (*readlink)(void *ctx, const struct pathcache_object *obj, char *buf, size_t size);
	int (*access)(void *ctx, const struct pathcache_object *obj, int amode,
	              const struct pathcache_cred *cred);
	int (*readdir)(void *ctx, const struct pathcache_object *dir, uint64_t cookie,
	               pathcache_dirent_fn emit, void *arg);
	void (*release)(void *ctx, const struct pathcache_object *obj);
};

/*
 * Open a cache of an application's own namespace.
 * ops: lookup and getattr are required; copied. ctx: passed to each callback.
 * root: the root directory, as a lookup would have answered it. Its handle is
 *   released at close; when opening fails it stays the caller's.
 * Return: 0 and *out; -EINVAL, -E2BIG; -ENOTDIR when root is no directory;
 *   -ENOMEM; -EMFILE and -EAGAIN as pathcache_open().
 * Context: may block; not inside a read section.
 */
int pathcache_open_ops(struct pathcache **out, const struct pathcache_ops *ops, void *ctx,
                       const struct pathcache_reply *root, const struct pathcache_options *opt);

#ifdef __cplusplus
}
#endif

#endif
