/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An application's own namespace as backend: struct pathcache_ops.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "cache.h"
#include "cred.h"

#define REPLY_FLAGS \
	(PATHCACHE_REPLY_PRIVATE | PATHCACHE_REPLY_NO_CACHE | PATHCACHE_REPLY_NO_NEGATIVE | \
	 PATHCACHE_REPLY_ASK_ACCESS | PATHCACHE_REPLY_EXPIRES | PATHCACHE_REPLY_ID_BY_NAME)
#define ATTR_NEEDED (PATHCACHE_ATTR_MODE | PATHCACHE_ATTR_UID | PATHCACHE_ATTR_GID)

struct app {
	struct pathcache_ops ops;
	void *ctx;
	uint64_t dev; /* for objects whose backend gives none */
};

static struct app *app_of(const struct pathcache *c)
{
	return c->backend_data;
}

static struct pathcache_object object_of(const struct rp_node *n)
{
	return (struct pathcache_object){n->object_id, n->object_gen, n->handle};
}

static struct pathcache_cred cred_of(const struct rp_cred *cred)
{
	return (struct pathcache_cred){.size = sizeof(struct pathcache_cred),
	                               .uid = cred->uid,
	                               .gid = cred->gid,
	                               .groups = cred->groups,
	                               .ngroups = cred->ngroups,
	                               .caps = cred->caps};
}

static uint32_t flags_of(uint32_t reply)
{
	return (reply & PATHCACHE_REPLY_PRIVATE ? PC_A_PRIVATE : 0) |
	       (reply & PATHCACHE_REPLY_NO_CACHE ? PC_A_NO_CACHE : 0) |
	       (reply & PATHCACHE_REPLY_NO_NEGATIVE ? RP_N_NO_NEGATIVE : 0) |
	       (reply & PATHCACHE_REPLY_ASK_ACCESS ? RP_N_ASK : 0) |
	       (reply & PATHCACHE_REPLY_EXPIRES ? RP_N_UNTOLD : 0) |
	       (reply & PATHCACHE_REPLY_ID_BY_NAME ? RP_N_ID_BY_NAME : 0);
}

/* id: of the object, which is its number where it has no other. */
static void attr_take(const struct app *app, const struct pathcache_attr *attr, uint64_t id,
                      struct pc_answer *a)
{
	memcpy(&a->attr, attr, sizeof(a->attr));
	if (!a->attr.dev)
		a->attr.dev = app->dev;
	if (!(attr->mask & PATHCACHE_ATTR_INO))
		a->attr.ino = id;
	if (!(attr->mask & PATHCACHE_ATTR_MNT_ID))
		a->attr.mnt_id = a->attr.dev;
}

/* A backend that lies about its own types is trouble, not an answer. */
static int reply_take(const struct app *app, const struct pathcache_reply *r, struct pc_answer *a)
{
	if (r->flags & ~REPLY_FLAGS || (r->attr.mask & ATTR_NEEDED) != ATTR_NEEDED ||
	    !(r->attr.mode & S_IFMT) || r->link_len >= RP_PATH_MAX || (r->link_len && !r->link))
		return -EIO;
	a->flags = flags_of(r->flags);
	a->object_id = r->object.id;
	a->object_gen = r->object.generation;
	a->domain = 0;
	a->handle = r->object.handle;
	attr_take(app, &r->attr, r->object.id, a);
	a->link_len = r->link_len;
	if (r->link_len)
		memcpy(a->link, r->link, r->link_len);
	return 0;
}

static void app_release(struct pathcache *c, uint64_t id, uint64_t gen, void *handle)
{
	struct app *app = app_of(c);
	struct pathcache_object o = {id, gen, handle};

	if (app->ops.release)
		app->ops.release(app->ctx, &o);
}

/* The application's code may be cancelled where its caller allows it. */
static void cancel_on(void)
{
	pthread_setcancelstate(pc_thread.cancel, NULL);
}

static void cancel_off(void)
{
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
}

static int app_lookup(struct pathcache *c, struct rp_node *dir, const char *name, size_t len,
                      const struct rp_cred *cred, struct pc_answer *a)
{
	struct app *app = app_of(c);
	struct pathcache_reply r = {.size = sizeof(r)};
	struct pathcache_object o = object_of(dir);
	struct pathcache_cred who = cred_of(cred);
	int rc;

	cancel_on();
	rc = app->ops.lookup(app->ctx, &o, name, len, &who, &r);
	cancel_off();
	if (rc == 0) {
		rc = reply_take(app, &r, a);
		if (rc && r.object.handle)
			app_release(c, r.object.id, r.object.generation, r.object.handle);
	} else {
		a->flags = flags_of(r.flags & REPLY_FLAGS);
	}
	/* A positive code would be taken for an answer. */
	return rc > 0 ? -EIO : rc;
}

static int app_parent(struct pathcache *c, struct rp_node *dir, const struct rp_cred *cred,
                      struct pc_answer *a, int *fd)
{
	int rc = app_lookup(c, dir, "..", 2, cred, a);

	(void)fd;
	return rc == -ENOENT ? -ESTALE : rc;
}

static int app_getattr(struct pathcache *c, struct rp_node *node, const struct rp_cred *cred,
                       struct pc_answer *a)
{
	struct app *app = app_of(c);
	struct pathcache_reply r = {.size = sizeof(r)};
	struct pathcache_object o = object_of(node);
	struct pathcache_cred who = cred_of(cred);
	int rc;

	cancel_on();
	rc = app->ops.getattr(app->ctx, &o, &who, &r);
	cancel_off();

	if (rc)
		return rc > 0 ? -EIO : rc == -ENOENT ? -ESTALE : rc;
	/* About an object already known: its identity and handle stay. */
	r.object = o;
	rc = reply_take(app, &r, a);
	a->handle = NULL;
	return !rc && (a->attr.mode & S_IFMT) != node->type ? -ESTALE : rc;
}

static ssize_t app_readlink(struct pathcache *c, struct rp_node *node, char *buf)
{
	struct app *app = app_of(c);
	struct pathcache_object o = object_of(node);
	ssize_t n;

	if (!app->ops.readlink)
		return -EIO;
	cancel_on();
	n = app->ops.readlink(app->ctx, &o, buf, RP_PATH_MAX - 1);
	cancel_off();
	return n >= (ssize_t)RP_PATH_MAX ? -EIO : n == -ENOENT ? -ESTALE : n;
}

static int app_access(struct pathcache *c, struct rp_node *node, int mask,
                      const struct rp_cred *cred)
{
	struct app *app = app_of(c);
	struct pathcache_object o = object_of(node);
	struct pathcache_cred who = cred_of(cred);
	struct rp_perm perm = rp_node_perm(node);
	int rc;

	if (app->ops.access) {
		cancel_on();
		rc = app->ops.access(app->ctx, &o, mask, &who);
		cancel_off();
		return rc > 0 ? -EIO : rc;
	}
	return rp_perm_allows(&perm, cred, mask) ? 0 : -EACCES;
}

static int app_readdir(struct pathcache *c, struct rp_node *dir, uint64_t cookie,
                       pathcache_dirent_fn fn, void *arg)
{
	struct app *app = app_of(c);
	struct pathcache_object o = object_of(dir);
	int rc;

	if (!app->ops.readdir)
		return -EOPNOTSUPP;
	rc = app->ops.readdir(app->ctx, &o, cookie, fn, arg);
	return rc > 0 ? -EIO : rc ? rc : 1;
}

static int app_reply(struct pathcache *c, const struct pathcache_reply *reply, struct pc_answer *a)
{
	struct pathcache_reply r = {.flags = 0};
	int rc = pc_versioned_copy(&r, sizeof(r), reply);

	if (!rc && reply_take(app_of(c), &r, a))
		rc = -EINVAL;
	return rc;
}

static bool app_attr(struct pathcache *c, const struct rp_node *node,
                     const struct pathcache_attr *attr, struct pc_answer *a)
{
	if ((attr->mask & ATTR_NEEDED) != ATTR_NEEDED || (attr->mode & S_IFMT) != node->type)
		return false;
	attr_take(app_of(c), attr, node->object_id, a);
	a->flags = rp_node_flags(node) & ~RP_N_OWN;
	return true;
}

static void app_fini(void *data)
{
	free(data);
}

int pc_app_create(const struct pathcache_ops *ops, void *ctx, const struct pathcache_reply *reply,
                  void **data, struct pc_answer *root)
{
	static _Atomic(uint32_t) last_minor;
	struct app *app;
	int rc;

	app = calloc(1, sizeof(*app));
	if (!app)
		return -ENOMEM;
	rc = pc_versioned_copy(&app->ops, sizeof(app->ops), ops);
	if (!rc && (!app->ops.lookup || !app->ops.getattr))
		rc = -EINVAL;
	if (rc) {
		free(app);
		return rc;
	}
	app->ctx = ctx;
	/* Major 0 is the kernel's for file systems without a device. */
	app->dev = makedev(0, (1u << 19) + atomic_fetch_add_explicit(&last_minor, 1,
	                                                             memory_order_relaxed));
	rc = reply_take(app, reply, root);
	if (rc) {
		free(app);
		return rc == -EIO ? -EINVAL : rc;
	}
	*data = app;
	return 0;
}

const struct pc_backend pc_backend_app = {
	.lookup = app_lookup,
	.parent = app_parent,
	.getattr = app_getattr,
	.readlink = app_readlink,
	.access = app_access,
	.readdir = app_readdir,
	.reply = app_reply,
	.attr = app_attr,
	.release = app_release,
	.fini = app_fini,
};
