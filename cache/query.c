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
#include "lookup.h"

static_assert(sizeof(struct pathcache_attr) == sizeof(struct rp_attr) &&
                      offsetof(struct pathcache_attr, mnt_id) == offsetof(struct rp_attr, mnt_id) &&
                      offsetof(struct pathcache_attr, btime_nsec) ==
                              offsetof(struct rp_attr, btime_nsec),
              "public and internal attributes are one layout");

/* Opens whose name leads elsewhere before what they say is the answer. */
#define OPEN_TRIES 8

#define STATX_IMMUTABLE 0x10u /* statx(2): STATX_ATTR_IMMUTABLE */

static enum rp_status last_err(struct pc_lookup *lk, int err)
{
	lk->w.err = err;
	return RP_ERR;
}

/* ---- stat --------------------------------------------------------------- */

static enum rp_status last_stat(struct pc_lookup *lk)
{
	uint32_t flags;

	lk->result = 0;
	return pc_lookup_attr(lk, lk->out, &flags) ? RP_OK : RP_NEED_ATTR;
}

int pathcache_stat(struct pathcache *cache, const char *path, const struct pathcache_how *how,
                   struct pathcache_attr *attr)
{
	struct pc_lookup lk;
	int rc = attr ? pc_lookup_init(&lk, cache, path, how) : -EINVAL;

	if (rc)
		return rc;
	lk.last = last_stat;
	lk.out = attr;
	return (int)pc_lookup_run(&lk);
}

int pathcache_entry_stat(struct pathcache *cache, struct pathcache_entry *entry,
                         struct pathcache_attr *attr)
{
	struct pc_lookup lk;

	if (!cache || !entry || !attr)
		return -EINVAL;
	/* What lies above it may have gone stale, and its attributes with it. */
	pc_gen_update(cache, pc_node(entry));
	pc_lookup_init_node(&lk, cache, pc_node(entry));
	lk.last = last_stat;
	lk.out = attr;
	return (int)pc_lookup_run(&lk);
}

/* ---- access ------------------------------------------------------------- */

static enum rp_status last_access(struct pc_lookup *lk)
{
	struct rp_perm perm;
	struct rp_attr attr;
	uint32_t nf;

	lk->result = 0;
	if (lk->amode == F_OK || lk->w.node == lk->allowed)
		return RP_OK;
	if (!pc_lookup_attr(lk, &attr, &nf))
		return RP_NEED_ATTR;
	/* Its own may have been told since the attributes were. */
	nf |= rp_node_flags(lk->w.node) & RP_N_ACL;
	if (rp_node_flags(lk->w.node) & RP_N_ACL_UNKNOWN)
		nf |= RP_N_ACL_UNKNOWN;
	if (nf & RP_N_ASK || (nf & RP_N_ASK_WX && lk->amode & (W_OK | X_OK)))
		return RP_NEED_ACCESS;
	perm = (struct rp_perm){attr.mode, attr.uid, attr.gid};
	if (lk->amode & W_OK && attr.attributes & STATX_IMMUTABLE)
		return last_err(lk, -EPERM);
	if (nf & (RP_N_ACL | RP_N_ACL_UNKNOWN)) {
		/* An ACL cannot take away what a capability gives. */
		struct rp_cred caps = {UINT32_MAX, UINT32_MAX, NULL, 0, lk->cred.caps};

		/* As the owner's, whom the caller is not; x for anybody is what a capability needs. */
		perm.mode = (perm.mode & S_IFMT) | (perm.mode & 0111 ? 0100 : 0);
		if (lk->cred.caps && rp_perm_allows(&perm, &caps, lk->amode))
			return RP_OK;
		return RP_NEED_ACCESS;
	}
	return rp_perm_allows(&perm, &lk->cred, lk->amode) ? RP_OK : last_err(lk, -EACCES);
}

int pathcache_access(struct pathcache *cache, const char *path, int amode,
                     const struct pathcache_how *how)
{
	struct pc_lookup lk;
	int rc = amode & ~(R_OK | W_OK | X_OK) ? -EINVAL : pc_lookup_init(&lk, cache, path, how);

	if (rc)
		return rc;
	lk.last = last_access;
	lk.amode = amode;
	return (int)pc_lookup_run(&lk);
}

/* ---- readlink, realpath -------------------------------------------------- */

static enum rp_status last_readlink(struct pc_lookup *lk)
{
	const struct rp_text *text;

	if (!S_ISLNK(lk->w.node->type))
		return last_err(lk, -EINVAL);
	text = rp_node_text(lk->w.node);
	if (!text)
		return RP_NEED_TEXT;
	lk->result = (ssize_t)(text->len < lk->size ? text->len : lk->size);
	memcpy(lk->out, text->bytes, (size_t)lk->result);
	return RP_OK;
}

ssize_t pathcache_readlink(struct pathcache *cache, const char *path,
                           const struct pathcache_how *how, char *buf, size_t size)
{
	struct pc_lookup lk;
	int rc = buf && size ? pc_lookup_init(&lk, cache, path, how) : -EINVAL;

	if (rc)
		return rc;
	/* readlink(2): a trailing slash still follows. */
	lk.w.flags |= RP_W_NOFOLLOW;
	lk.last = last_readlink;
	lk.out = buf;
	lk.size = size;
	return pc_lookup_run(&lk);
}

/* Any name of a held node, then up from there. */
static enum rp_status path_of_node(struct pc_lookup *lk, char *buf, size_t *at)
{
	const struct rp_dentry *d;

	if (rp_node_is_dir(lk->final))
		return rp_walk_path(&lk->w, lk->final, NULL, 0, UINT64_MAX, buf, lk->size - 1, at);
	d = rp_node_name(lk->final);
	if (!d || !d->dir || rp_dentry_is_hint(d, lk->w.fresh))
		return last_err(lk, -ENOENT);
	if (lk->w.nsteps == lk->w.max_steps)
		return RP_FULL;
	lk->w.steps[lk->w.nsteps++] = (struct rp_step){d->id, NULL, d->slot};
	return rp_walk_path(&lk->w, d->dir, d->name, d->len, d->id, buf, lk->size - 1, at);
}

static enum rp_status last_realpath(struct pc_lookup *lk)
{
	enum rp_status st;
	char *buf = lk->out;
	size_t at = 0;

	if (lk->c->backend->path && lk->w.node->handle && lk->w.node == lk->final)
		return RP_NEED_PATH;
	if (lk->by_node)
		st = path_of_node(lk, buf, &at);
	else
		st = rp_walk_path(&lk->w, lk->w.cur, lk->w.name, lk->w.len, UINT64_MAX, buf,
		                  lk->size - 1, &at);
	if (st != RP_OK) {
		lk->result = (ssize_t)at; /* for RP_NEED_NAME: the tail that is there */
		return st;
	}
	lk->result = (ssize_t)(lk->size - 1 - at);
	memmove(buf, buf + at, (size_t)lk->result);
	buf[lk->result] = '\0';
	return RP_OK;
}

ssize_t pathcache_realpath(struct pathcache *cache, const char *path,
                           const struct pathcache_how *how, char *buf, size_t size)
{
	struct pc_lookup lk;
	int rc = buf && size ? pc_lookup_init(&lk, cache, path, how) : -EINVAL;

	if (rc)
		return rc;
	lk.last = last_realpath;
	lk.out = buf;
	lk.size = size;
	return pc_lookup_run(&lk);
}

ssize_t pathcache_entry_path(struct pathcache *cache, struct pathcache_entry *entry, char *buf,
                             size_t size)
{
	struct pc_lookup lk;
	ssize_t rc;

	if (!cache || !entry || !buf || !size)
		return -EINVAL;
	pc_gen_update(cache, pc_node(entry));
	pc_lookup_init_node(&lk, cache, pc_node(entry));
	lk.last = last_realpath;
	lk.out = buf;
	lk.size = size;
	lk.flags = PATHCACHE_CACHED;
	rc = pc_lookup_run(&lk);
	return rc == -EAGAIN ? -ENOENT : rc;
}

/* ---- get ----------------------------------------------------------------- */

static enum rp_status last_get(struct pc_lookup *lk)
{
	struct rp_node *n = lk->w.node;

	if (!rp_node_get_rcu(n, lk->w.mode == RP_MODE_LOCKED))
		return RP_RETRY;
	lk->got = n;
	*(struct rp_node **)lk->out = n;
	lk->result = 0;
	return RP_OK;
}

int pathcache_get(struct pathcache *cache, const char *path, const struct pathcache_how *how,
                  struct pathcache_entry **out)
{
	struct pc_lookup lk;
	struct rp_node *n;
	int rc = out ? pc_lookup_init(&lk, cache, path, how) : -EINVAL;

	if (rc)
		return rc;
	lk.last = last_get;
	lk.out = &n;
	rc = (int)pc_lookup_run(&lk);
	if (rc)
		return rc;
	if (cache->dirfds.max && !(lk.flags & PATHCACHE_CACHED))
		pc_dirfd_keep(cache, n);
	*out = pc_entry(n);
	return 0;
}

int pc_lookup_dir(struct pathcache *c, const char *path, struct rp_node **out)
{
	struct pc_lookup lk;
	int rc = pc_lookup_init(&lk, c, path, NULL);

	if (rc)
		return rc;
	lk.w.flags = RP_W_DIRECTORY | RP_W_TRUSTED;
	lk.last = last_get;
	lk.out = out;
	return (int)pc_lookup_run(&lk);
}

/* ---- open ---------------------------------------------------------------- */

/* open(2) gave this: does the name lead to something else than the cache knows? */
static bool name_changed(int err)
{
	return err == -ENOENT || err == -ELOOP || err == -ENOTDIR || err == -ESTALE ||
	       err == -ENXIO;
}

/*
 * Open n for cred, or for the process (NULL). What opening does to the file it
 * may do only once the descriptor's own object was judged for cred.
 */
static int open_node(struct pathcache *c, struct rp_node *n, int oflags, const struct rp_cred *cred)
{
	int acc = oflags & O_ACCMODE;
	int mask = acc == O_RDONLY ? R_OK : acc == O_WRONLY ? W_OK : R_OK | W_OK;
	int rc, fd;

	pc_count(c, PC_BACKEND_CALLS);
	if (!cred || oflags & O_PATH)
		return c->backend->open(c, n, oflags);
	fd = c->backend->open(c, n, oflags & ~O_TRUNC);
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
}

static int open_once(struct pathcache *c, const char *path, int oflags,
                     const struct pathcache_how *how, const struct rp_cred *cred)
{
	struct pathcache_entry *e;
	int fd = pathcache_get(c, path, how, &e);

	if (fd)
		return fd;
	if (S_ISLNK(pc_node(e)->type) && !(oflags & O_PATH)) {
		pathcache_put(c, e);
		return -ELOOP;
	}
	fd = open_node(c, pc_node(e), oflags, cred);
	if (fd >= 0 && oflags & O_TRUNC)
		pathcache_invalidate_entry(c, e);
	if (fd < 0 && name_changed(fd))
		open_refuted(c, pc_node(e));
	pathcache_put(c, e);
	return fd;
}

int pathcache_open_fd(struct pathcache *cache, const char *path, int oflags,
                      const struct pathcache_how *how)
{
	struct pathcache_how h = {.flags = 0};
	struct rp_cred cred;
	int fd, rc = 0;

	if (!cache || oflags & O_CREAT || (oflags & O_TMPFILE) == O_TMPFILE)
		return -EINVAL;
	if (!cache->backend->open)
		return -EOPNOTSUPP;
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
	for (int tries = 0; tries < OPEN_TRIES; tries++) {
		fd = open_once(cache, path, oflags, &h, h.cred ? &cred : NULL);
		/* What resolving says is the answer; what opening says may be about another object. */
		if (fd >= 0 || !name_changed(fd))
			return fd;
	}
	return fd;
}
