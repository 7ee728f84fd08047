/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fill.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "coherence.h"
#include "listen.h"

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

/* The number of a question about dir, held, or names in it; NULL: it has no place. */
static uint64_t ask(struct pathcache *c, struct rp_node *dir, uint32_t *own)
{
	pc_arm(c, dir);
	return pc_expiry_ask(c, own);
}

/* The same about node's attributes: a directory tells when they change, else that its name is in. */
static uint64_t ask_of_node(struct pathcache *c, struct rp_node *node, uint32_t *own)
{
	const struct rp_dentry *d;
	struct rp_node *dir = NULL;
	uint64_t asked;

	if (c->coherence != PATHCACHE_COHERENCE_EVENTS || rp_node_is_dir(node))
		return ask(c, node, own);
	pc_read_begin();
	d = rp_node_name(node);
	if (d && d->dir && lockref_get(&d->dir->ref))
		dir = d->dir;
	pc_read_end();
	asked = ask(c, dir, own);
	if (dir)
		pc_node_put(c, dir);
	return asked;
}

/* An answer to the question of pc_expiry_ask(); own: what that said. */
static void answer_owned(struct pathcache *c, struct pc_answer *a, uint32_t own)
{
	a->flags |= own;
	if (own || !(a->flags & RP_N_UNTOLD))
		return;
	/* The first of what nobody tells changes of: from now on it is noted when was asked. */
	a->flags |= PC_A_NO_CACHE;
	atomic_store_explicit(&c->expiry.on, true, memory_order_relaxed);
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
	if (d && d->id > atomic_load_explicit(&c->tree.subtree_stamp, memory_order_relaxed) &&
	    !pc_expired(c, d)) {
		known = !d->node || lockref_get(&d->node->ref);
		out->node = d->node;
		out->id = d->id;
		out->slot = d->slot;
		out->kept = known;
	}
	pthread_mutex_unlock(&c->lock);
	return known;
}

/* ---- while another thread asks --------------------------------------------- */

static bool is_asked(const struct rp_node *n)
{
	return rp_node_flags(n) & RP_N_ASKED;
}

/* Context: change lock. */
static const struct rp_dentry *stale_find(struct pathcache *c, struct rp_node *dir,
                                          const char *name, size_t len)
{
	const struct rp_dentry *d =
		len ? rp_tree_find(&c->tree, dir, name, len) : rp_node_name(dir);

	if (!d || !(d->flags & RP_D_TTL) ||
	    d->id <= atomic_load_explicit(&c->tree.subtree_stamp, memory_order_relaxed) ||
	    d->id <= pc_expiry_stale_floor(c, rp_dentry_lease(d)))
		return NULL;
	return d;
}

uint64_t pc_fill_stale(struct pathcache *c, struct rp_node *dir, const char *name, size_t len,
                       uint64_t *object)
{
	const struct rp_dentry *d;
	uint64_t id = 0;

	if (len ? !pc_flight_is_led(c, dir, name, len) : !is_asked(dir))
		return 0;
	pthread_mutex_lock(&c->lock);
	d = stale_find(c, dir, name, len);
	if (d) {
		id = d->id;
		if (d->node)
			*object = d->node->id;
	}
	pthread_mutex_unlock(&c->lock);
	return id;
}

bool pc_fill_stale_attr(struct pathcache *c, const struct rp_node *node)
{
	bool will_do;

	if (!(rp_node_flags(node) & RP_N_TTL) || !is_asked(node))
		return false;
	pthread_mutex_lock(&c->lock);
	will_do = rp_node_attr_stamp(node) > pc_expiry_stale_floor(c, RP_LEASE_ATTR);
	pthread_mutex_unlock(&c->lock);
	return will_do;
}

static void asked_end(void *arg)
{
	struct rp_node *n = arg;

	atomic_fetch_and_explicit(&n->flags, ~RP_N_ASKED, memory_order_relaxed);
}

/* Ask for attributes. *marked: asked_end() is to follow, once the answer is in memory. */
static int ask_attr(struct pathcache *c, struct rp_node *node, const struct rp_cred *cred,
                    struct pc_answer *a, bool *marked)
{
	int rc;

	*marked = c->expiry.stale_ms && !is_asked(node) &&
	          !(atomic_fetch_or_explicit(&node->flags, RP_N_ASKED, memory_order_relaxed) &
	            RP_N_ASKED);
	if (!*marked) {
		rc = c->backend->getattr(c, node, cred, a);
	} else {
		pthread_cleanup_push(asked_end, node);
		rc = c->backend->getattr(c, node, cred, a);
		pthread_cleanup_pop(0);
	}
	asked_count(c, rc);
	return rc;
}

/* ---- names ----------------------------------------------------------------- */

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
	uint32_t own;
	uint64_t asked = ask(c, dir, &own);
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
	answer_owned(c, &a, own);
	shared = !(a.flags & PC_A_PRIVATE) && !is_refusal(rc);
	if (rc == 0 || rc == -ENOENT)
		rc = pc_store_name(c, dir, name, len, rc ? NULL : &a, a.flags, asked, out);
	pc_flight_land(c, flight, rc, shared, rc ? NULL : out->node);
	pc_answer_drop(c, &a);
	if (!rc && out->renamed)
		pc_told_name(c, dir, name, len);
	if (!rc && out->changed)
		pc_told_object(c, out->node);
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
	uint32_t own;
	uint64_t asked = ask(c, dir, &own);
	struct pc_answer a;
	int fd = -1, rc;

	a.handle = NULL;
	a.link_len = 0;
	rc = c->backend->parent(c, dir, cred, &a, &fd);
	asked_count(c, rc);
	answer_owned(c, &a, own);
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
	uint32_t own;
	uint64_t asked = ask(c, dir, &own);
	struct pc_answer a;
	bool marked;
	int rc = ask_attr(c, dir, cred, &a, &marked);

	if (!rc) {
		answer_owned(c, &a, own);
		*perm = (struct rp_perm){a.attr.mode, a.attr.uid, a.attr.gid};
		*flags = a.flags;
		rc = pc_budget(c) ? pc_store_start(c, dir, &a, asked) : 0;
	}
	if (marked)
		asked_end(dir);
	return rc;
}

int pc_fill_attr(struct pathcache *c, struct rp_node *node, const struct rp_cred *cred,
                 struct rp_attr *attr, uint32_t *flags)
{
	uint32_t own;
	uint64_t asked = ask_of_node(c, node, &own);
	struct pc_answer a;
	bool marked;
	int rc = ask_attr(c, node, cred, &a, &marked);

	if (!rc) {
		answer_owned(c, &a, own);
		*attr = a.attr;
		*flags = a.flags;
		if (!(a.flags & (PC_A_PRIVATE | PC_A_NO_CACHE)))
			pc_store_attr(c, node, &a, asked);
	}
	if (marked)
		asked_end(node);
	return rc;
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
	uint32_t own;
	uint64_t asked = pc_expiry_ask(c, &own);
	struct pc_answer a;
	int rc;

	a.handle = NULL;
	a.link_len = 0;
	rc = c->backend->resolve(c, dir, rest, flags, cred, &a);
	pc_count(c, PC_PASSTHROUGH);
	asked_count(c, rc);
	answer_owned(c, &a, own);
	if (!rc)
		rc = pc_store_object(c, NULL, &a, asked, out);
	pc_answer_drop(c, &a);
	return rc;
}
