/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The queries: last steps over pc_lookup_run().
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cred.h"
#include "fork.h"
#include "last.h"
#include "listen.h"

static_assert(sizeof(struct pathcache_attr) == sizeof(struct rp_attr) &&
                      offsetof(struct pathcache_attr, mnt_id) == offsetof(struct rp_attr, mnt_id) &&
                      offsetof(struct pathcache_attr, btime_nsec) ==
                              offsetof(struct rp_attr, btime_nsec),
              "public and internal attributes are one layout");

/* Opens whose name leads elsewhere before what they say is the answer. */
#define OPEN_TRIES 8

/* ---- stat --------------------------------------------------------------- */

int pathcache_stat(struct pathcache *cache, const char *path, const struct pathcache_how *how,
                   struct pathcache_attr *attr)
{
	return attr ? (int)pc_query_path(cache, path, how, 0, pc_last_stat, attr, 0, 0) : -EINVAL;
}

int pathcache_entry_stat(struct pathcache *cache, struct pathcache_entry *entry,
                         struct pathcache_attr *attr)
{
	struct pc_query q;
	int rc;

	if (!cache || !entry || !attr)
		return -EINVAL;
	/* What lies above it may have gone stale, and its attributes with it. */
	rc = pc_gen_update(cache, pc_node(entry));
	if (rc)
		return rc;
	pc_query_init_node(&q, cache, pc_node(entry));
	q.last = pc_last_stat;
	q.out = attr;
	return (int)pc_query_run(&q);
}

/* ---- access ------------------------------------------------------------- */

int pathcache_access(struct pathcache *cache, const char *path, int amode,
                     const struct pathcache_how *how)
{
	if (amode & ~(R_OK | W_OK | X_OK))
		return -EINVAL;
	return (int)pc_query_path(cache, path, how, 0, pc_last_access, NULL, 0, amode);
}

/* ---- readlink, realpath -------------------------------------------------- */

static enum rp_status last_readlink(struct pc_query *q)
{
	const struct rp_text *text;

	if (!S_ISLNK(q->node->type))
		return pc_last_err(q, -EINVAL);
	text = rp_node_text(q->node);
	if (!text)
		return RP_NEED_TEXT;
	q->result = (ssize_t)(text->len < q->size ? text->len : q->size);
	memcpy(q->out, text->bytes, (size_t)q->result);
	return RP_OK;
}

ssize_t pathcache_readlink(struct pathcache *cache, const char *path,
                           const struct pathcache_how *how, char *buf, size_t size)
{
	if (!buf || !size)
		return -EINVAL;
	/* readlink(2): a trailing slash still follows. */
	return pc_query_path(cache, path, how, RP_W_NOFOLLOW, last_readlink, buf, size, 0);
}

/* Any name of a held node, then up from there. */
static enum rp_status path_of_node(struct pc_query *q, char *buf, size_t *at)
{
	struct rp_walk *w = &q->lk->w;
	struct rp_node *n = q->lk->final;
	const struct rp_dentry *d;
	enum rp_status st;

	if (rp_node_is_dir(n))
		return rp_walk_path(w, n, NULL, 0, UINT64_MAX, buf, q->size - 1, at);
	d = rp_node_name(n);
	st = d ? rp_walk_lasts(w, d) : RP_MISS;
	if (st == RP_TICK)
		return st;
	if (st != RP_OK || !d->dir || rp_dentry_is_hint(d, w->fresh)) {
		w->err = -ENOENT;
		return RP_ERR;
	}
	if (w->nsteps == w->max_steps)
		return RP_FULL;
	w->steps[w->nsteps++] = RP_STEP(d->id, NULL, d->slot, RP_DEP_PATH);
	return rp_walk_path(w, d->dir, d->name, d->len, d->id, buf, q->size - 1, at);
}

/* The canonical text, where the memo has it. */
static enum rp_status memo_path(struct pc_query *q)
{
	const struct rp_memo *m = q->memo;
	size_t len = m->bits & RP_M_CANON ? m->len : m->real_len;

	if (!len)
		return RP_RETRY;
	if (len >= q->size)
		return pc_last_err(q, -ERANGE);
	memcpy(q->out, m->bits & RP_M_CANON ? m->path : m->path + m->len, len);
	((char *)q->out)[len] = '\0';
	q->result = (ssize_t)len;
	return RP_OK;
}

static enum rp_status last_realpath(struct pc_query *q)
{
	const struct pc_lookup *lk = q->lk;
	enum rp_status st;
	char *buf = q->out;
	size_t at = 0;

	if (q->memo)
		return memo_path(q);
	if (q->c->backend->path && q->node->handle && q->node == lk->final)
		return RP_NEED_PATH;
	if (q->by_node)
		st = path_of_node(q, buf, &at);
	else
		st = rp_walk_path(&q->lk->w, lk->w.cur, lk->w.name, lk->w.len, UINT64_MAX, buf,
		                  q->size - 1, &at);
	if (st == RP_ERR)
		return pc_last_err(q, lk->w.err);
	if (st != RP_OK) {
		q->result = (ssize_t)at; /* for RP_NEED_NAME: the tail that is there */
		return st;
	}
	q->result = (ssize_t)(q->size - 1 - at);
	memmove(buf, buf + at, (size_t)q->result);
	buf[q->result] = '\0';
	q->real = buf;
	return RP_OK;
}

ssize_t pathcache_realpath(struct pathcache *cache, const char *path,
                           const struct pathcache_how *how, char *buf, size_t size)
{
	if (!buf || !size)
		return -EINVAL;
	return pc_query_path(cache, path, how, 0, last_realpath, buf, size, 0);
}

ssize_t pathcache_entry_path(struct pathcache *cache, struct pathcache_entry *entry, char *buf,
                             size_t size)
{
	struct pc_query q;
	ssize_t rc;

	if (!cache || !entry || !buf || !size)
		return -EINVAL;
	rc = pc_gen_update(cache, pc_node(entry));
	if (rc)
		return rc;
	pc_query_init_node(&q, cache, pc_node(entry));
	q.last = last_realpath;
	q.out = buf;
	q.size = size;
	q.cached = true;
	rc = pc_query_run(&q);
	return rc == -EAGAIN ? -ENOENT : rc;
}

/* ---- get ----------------------------------------------------------------- */

static enum rp_status last_get(struct pc_query *q)
{
	struct rp_node *n = q->node;

	if (!rp_node_get_rcu(n, q->c->mode == RP_MODE_LOCKED))
		return RP_RETRY;
	q->got = n;
	*(struct rp_node **)q->out = n;
	q->result = 0;
	return RP_OK;
}

static uint64_t how_flags(const struct pathcache_how *how)
{
	return how->size >= offsetof(struct pathcache_how, flags) + sizeof(how->flags) ? how->flags
	                                                                               : 0;
}

int pathcache_get(struct pathcache *cache, const char *path, const struct pathcache_how *how,
                  struct pathcache_entry **out)
{
	struct rp_node *n;
	int rc = out ? (int)pc_query_path(cache, path, how, 0, last_get, &n, 0, 0) : -EINVAL;

	if (rc)
		return rc;
	if (cache->dirfds.max && !(how && how_flags(how) & PATHCACHE_CACHED))
		pc_dirfd_keep(cache, n);
	pc_count(cache, PC_GETS);
	*out = pc_entry(n);
	return 0;
}

int pc_lookup_dir(struct pathcache *c, const char *path, struct rp_node **out)
{
	return (int)pc_query_path(c, path, NULL, RP_W_DIRECTORY | RP_W_TRUSTED, last_get, out, 0,
	                          0);
}

/* ---- open ---------------------------------------------------------------- */

/* open(2) gave this: does the name lead to something else than the cache knows? */
static bool name_changed(int err)
{
	return err == -ENOENT || err == -ELOOP || err == -ENOTDIR || err == -ESTALE ||
	       err == -ENXIO;
}

/* What a path leads to, and as what; both held. */
struct found {
	struct rp_node *node;
	struct rp_node *dir; /* NULL: node has no name there, or was found by the kernel */
	char name[RP_NAME_MAX + 1];
};

/* The name in dir that q's path ends with. A file may have others, elsewhere. False: not told. */
static bool last_name(const struct pc_query *q, struct rp_node **dir, const char **name,
                      size_t *len)
{
	const struct rp_dentry *d;

	if (q->lk) {
		*dir = q->lk->w.cur;
		*name = q->lk->w.name;
		*len = q->lk->w.len;
		return true;
	}
	d = rp_node_name(q->node);
	if (!d || d->id != atomic_load_explicit(&q->memo->id, memory_order_relaxed))
		return false;
	*dir = d->dir;
	*name = d->name;
	*len = d->len;
	return true;
}

static enum rp_status last_found(struct pc_query *q)
{
	struct found *f = q->out;
	bool locked = q->c->mode == RP_MODE_LOCKED;
	const char *name;
	size_t len;

	f->dir = NULL;
	if (q->named && !(q->lk && q->lk->final)) {
		if (!last_name(q, &f->dir, &name, &len)) {
			q->hash = 0; /* it is remembered already, and by what it cannot tell */
			return RP_RETRY;
		}
		memcpy(f->name, name, len);
		f->name[len] = '\0';
		if (!rp_node_get_rcu(f->dir, locked))
			return RP_RETRY;
		q->got_dir = f->dir;
	}
	f->node = q->node;
	if (!rp_node_get_rcu(f->node, locked))
		return RP_RETRY;
	q->got = f->node;
	q->result = 0;
	return RP_OK;
}

/*
 * Open f for cred, or for the process (NULL). What opening does to the file it
 * may do only once the descriptor's own object was judged for cred.
 */
static int open_found(struct pathcache *c, const struct found *f, int oflags,
                      const struct rp_cred *cred)
{
	int acc = oflags & O_ACCMODE;
	int mask = acc == O_RDONLY ? R_OK : acc == O_WRONLY ? W_OK : R_OK | W_OK;
	int rc, fd;

	pc_count(c, PC_BACKEND_CALLS);
	if (!cred || oflags & O_PATH)
		return c->backend->open(c, f->node, f->dir, f->name, oflags);
	fd = c->backend->open(c, f->node, f->dir, f->name, oflags & ~O_TRUNC);
	if (fd < 0)
		return fd;
	rc = c->backend->judge(c, fd, oflags & O_TRUNC ? mask | W_OK : mask, cred);
	if (!rc && oflags & O_TRUNC && ftruncate(fd, 0))
		rc = errno == EINVAL ? 0 : -errno; /* no regular file: O_TRUNC means nothing */
	if (rc) {
		close(fd);
		return rc;
	}
	return fd;
}

/* Forget what name n was found by: the file system says otherwise. */
static void open_refuted(struct pathcache *c, struct rp_node *n)
{
	pthread_mutex_lock(&c->lock);
	pc_kill_names(c, n);
	rp_node_attr_drop(n, rp_tree_stamp(&c->tree));
	pthread_mutex_unlock(&c->lock);
	pc_told_object(c, n);
}

/* refuted: set to whether the file system does not bear out what the path was resolved to. */
static int open_once(struct pathcache *c, const char *path, int oflags,
                     const struct pathcache_how *how, const struct rp_cred *cred, bool *refuted)
{
	struct found f;
	int fd = (int)pc_query_path(c, path, how, 0, last_found, &f, 0, 0);

	*refuted = false;
	if (fd)
		return fd;
	if (S_ISLNK(f.node->type) && !(oflags & O_PATH)) {
		fd = -ELOOP;
	} else {
		fd = open_found(c, &f, oflags, cred);
		if (fd >= 0 && oflags & O_TRUNC)
			pathcache_invalidate_entry(c, pc_entry(f.node));
		*refuted = fd < 0 && name_changed(fd);
		if (*refuted)
			open_refuted(c, f.node);
	}
	pc_node_put(c, f.node);
	pc_node_put(c, f.dir);
	return fd;
}

int pathcache_open_fd(struct pathcache *cache, const char *path, int oflags,
                      const struct pathcache_how *how)
{
	struct pathcache_how h = {.flags = 0};
	struct rp_cred cred;
	bool refuted = true;
	int fd = -ESTALE, rc = 0;

	if (!cache || oflags & O_CREAT || (oflags & O_TMPFILE) == O_TMPFILE)
		return -EINVAL;
	if (!cache->backend->open)
		return -EOPNOTSUPP;
	if (pc_is_child())
		return -ECHILD;
	if (how)
		rc = pc_versioned_copy(&h, sizeof(h), how);
	if (!rc && h.cred)
		rc = pc_cred_take(h.cred, &cred);
	if (rc)
		return rc;
	h.size = sizeof(h);
	if (oflags & O_NOFOLLOW)
		h.flags |= PATHCACHE_NOFOLLOW;
	if (oflags & O_DIRECTORY)
		h.flags |= PATHCACHE_DIRECTORY;
	/* What resolving says is the answer; what opening says may be about another object. */
	for (int tries = 0; refuted && tries < OPEN_TRIES; tries++)
		fd = open_once(cache, path, oflags, &h, h.cred ? &cred : NULL, &refuted);
	/* Where it goes all the time is no errno of a confined open; openat2(2) says this. */
	return refuted && fd == -ESTALE && h.flags & PC_CONFINED ? -EAGAIN : fd;
}
