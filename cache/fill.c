/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fill.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "coherence.h"

/* An errno that is an answer to the one who asked, not to everybody. */
static bool is_refusal(int err)
{
	return err == -EACCES || err == -EPERM;
}

static void asked_count(struct pathcache *c, int rc)
{
	pc_count(c, PC_BACKEND_CALLS);
	if (rc < 0 && rc != -ENOENT && !is_refusal(rc))
		pc_count(c, PC_BACKEND_ERRORS);
}

void pc_answer_drop(struct pathcache *c, struct pc_answer *a)
{
	if (a->handle && c->backend->release)
		c->backend->release(c, a->object_id, a->object_gen, a->handle);
	a->handle = NULL;
}

/* Has another thread's answer come in since the walk missed? */
static bool fill_known(struct pathcache *c, struct rp_node *dir, const char *name, size_t len,
                       struct pc_found *out)
{
	const struct rp_dentry *d;
	bool known = false;

	memset(out, 0, sizeof(*out));
	pthread_mutex_lock(&c->lock);
	d = rp_tree_find(&c->tree, dir, name, len);
	if (d && d->id > atomic_load_explicit(&c->tree.subtree_stamp, memory_order_relaxed)) {
		known = !d->node || lockref_get(&d->node->ref);
		out->node = d->node;
		out->id = d->id;
		out->slot = d->slot;
		out->kept = known;
	}
	pthread_mutex_unlock(&c->lock);
	return known;
}

struct lead {
	struct pathcache *c;
	struct pc_flight *flight;
};

static void lead_cancelled(void *arg)
{
	struct lead *l = arg;

	pc_flight_abandon(l->c, l->flight);
}

/* Ask as the leader of flight, which may be NULL. */
static int fill_lead(struct pathcache *c, struct pc_flight *flight, struct rp_node *dir,
                     const char *name, size_t len, const struct rp_cred *cred, struct pc_found *out)
{
	uint64_t asked = pc_asked(c, dir);
	struct lead lead = {c, flight};
	struct pc_answer a;
	bool shared;
	int rc;

	a.handle = NULL;
	a.flags = 0;
	a.link_len = 0;
	pthread_cleanup_push(lead_cancelled, &lead);
	rc = c->backend->lookup(c, dir, name, len, cred, &a);
	pthread_cleanup_pop(0);
	asked_count(c, rc);
	shared = !(a.flags & PC_A_PRIVATE) && !is_refusal(rc);
	if (rc == 0 || rc == -ENOENT)
		rc = pc_store_name(c, dir, name, len, rc ? NULL : &a, a.flags, asked, out);
	pc_flight_land(c, flight, rc, shared, rc ? NULL : out->node);
	pc_answer_drop(c, &a);
	return rc;
}

int pc_fill_name(struct pathcache *c, struct rp_node *dir, const char *path, size_t len,
                 const struct rp_cred *cred, struct pc_found *out)
{
	char name[RP_NAME_MAX + 1];
	struct pc_flight *flight;
	int err = 0;

	memcpy(name, path, len);
	name[len] = '\0';
	memset(out, 0, sizeof(*out));
	if (!pc_budget(c))
		/* Neither memory nor an answer that was asked for earlier. */
		return fill_lead(c, NULL, dir, name, len, cred, out);
	if (pc_flight_board(c, dir, name, len, &flight, &err, &out->node) == PC_SHARED) {
		out->kept = true;
		return err;
	}
	if (fill_known(c, dir, name, len, out)) {
		pc_flight_land(c, flight, 0, true, out->node);
		return 0;
	}
	return fill_lead(c, flight, dir, name, len, cred, out);
}

int pc_fill_parent(struct pathcache *c, struct rp_node *dir, const struct rp_cred *cred,
                   struct pc_found *out)
{
	uint64_t asked = pc_asked(c, dir);
	struct pc_answer a;
	int fd = -1, rc;

	a.handle = NULL;
	a.link_len = 0;
	rc = c->backend->parent(c, dir, cred, &a, &fd);
	asked_count(c, rc);
	if (!rc)
		rc = pc_store_object(c, dir, &a, asked, out);
	/* It may have no name that leads there. */
	if (fd >= 0 && !rc)
		pc_dirfd_adopt(c, out->node, fd);
	else if (fd >= 0)
		close(fd);
	pc_answer_drop(c, &a);
	return rc;
}

int pc_fill_start(struct pathcache *c, struct rp_node *dir, const struct rp_cred *cred,
                  struct rp_perm *perm, uint32_t *flags)
{
	uint64_t asked = pc_asked(c, dir);
	struct pc_answer a;
	int rc = c->backend->getattr(c, dir, cred, &a);

	asked_count(c, rc);
	if (rc)
		return rc;
	*perm = (struct rp_perm){a.attr.mode, a.attr.uid, a.attr.gid};
	*flags = a.flags;
	return pc_budget(c) ? pc_store_start(c, dir, &a, asked) : 0;
}

/* As pc_asked(), of what tells when node's attributes change: a directory itself, else where its name is. */
static uint64_t node_asked(struct pathcache *c, struct rp_node *node)
{
	const struct rp_dentry *d;
	struct rp_node *dir = NULL;
	uint64_t asked;

	if (c->coherence != PATHCACHE_COHERENCE_EVENTS || rp_node_is_dir(node))
		return pc_asked(c, node);
	pc_read_begin();
	d = rp_node_name(node);
	if (d && d->dir && lockref_get(&d->dir->ref))
		dir = d->dir;
	pc_read_end();
	asked = pc_asked(c, dir);
	if (dir)
		pc_node_put(c, dir);
	return asked;
}

int pc_fill_attr(struct pathcache *c, struct rp_node *node, const struct rp_cred *cred,
                 struct rp_attr *attr, uint32_t *flags)
{
	uint64_t asked = node_asked(c, node);
	struct pc_answer a;
	int rc = c->backend->getattr(c, node, cred, &a);

	asked_count(c, rc);
	if (rc)
		return rc;
	*attr = a.attr;
	*flags = a.flags;
	if (!(a.flags & (PC_A_PRIVATE | PC_A_NO_CACHE)))
		pc_store_attr(c, node, &a, asked);
	return 0;
}

int pc_fill_text(struct pathcache *c, struct rp_node *node)
{
	char text[RP_PATH_MAX];
	ssize_t n = c->backend->readlink(c, node, text);

	asked_count(c, (int)(n < 0 ? n : 0));
	return n < 0 ? (int)n : pc_store_text(c, node, text, (size_t)n);
}

int pc_fill_acl(struct pathcache *c, struct rp_node *node)
{
	uint64_t asked = rp_tree_now(&c->tree);
	int acl = c->backend->acl(c, node);

	asked_count(c, acl);
	if (acl < 0)
		return acl;
	pc_store_acl(c, node, acl != 0, asked);
	return 0;
}

int pc_fill_access(struct pathcache *c, struct rp_node *node, int mask, const struct rp_cred *cred)
{
	int rc = c->backend->access(c, node, mask, cred);

	pc_count(c, PC_ASKED_ACCESS);
	asked_count(c, rc);
	return rc;
}

int pc_fill_kernel(struct pathcache *c, struct rp_node *dir, const char *rest, uint64_t flags,
                   const struct rp_cred *cred, struct pc_found *out)
{
	uint64_t asked = rp_tree_now(&c->tree);
	struct pc_answer a;
	int rc;

	a.handle = NULL;
	a.link_len = 0;
	rc = c->backend->resolve(c, dir, rest, flags, cred, &a);
	pc_count(c, PC_PASSTHROUGH);
	asked_count(c, rc);
	if (!rc)
		rc = pc_store_object(c, NULL, &a, asked, out);
	pc_answer_drop(c, &a);
	return rc;
}
