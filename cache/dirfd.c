/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "dirfd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fork.h"
#include "posix.h"
#include "store.h"

#define DIR_FLAGS (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* Not a point of cancellation: locks are held. */
static void fd_close(int fd)
{
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	close(fd);
	pthread_setcancelstate(cancel, NULL);
}

int pc_dirfds_init(struct pathcache *c, uint32_t max)
{
	struct pc_dirfds *d = &c->dirfds;

	memset(d, 0, sizeof(*d));
	pthread_mutex_init(&d->lock, NULL);
	if (!max)
		return 0;
	d->slots = pc_alloc(c->mem, PC_MEM_OTHER, max * sizeof(*d->slots));
	d->buckets = pc_alloc(c->mem, PC_MEM_OTHER, max * sizeof(*d->buckets));
	d->max = max;
	return d->slots && d->buckets ? 0 : -ENOMEM;
}

void pc_dirfds_fini(struct pathcache *c)
{
	struct pc_dirfds *d = &c->dirfds;

	if (d->slots && d->buckets)
		for (uint32_t i = 0; i < d->max; i++)
			if (d->slots[i].id)
				fd_close(d->slots[i].fd);
	pc_free(c->mem, PC_MEM_OTHER, d->slots, d->max * sizeof(*d->slots));
	pc_free(c->mem, PC_MEM_OTHER, d->buckets, d->max * sizeof(*d->buckets));
	pthread_mutex_destroy(&d->lock);
}

/* ---- the set; dirfds.lock held ------------------------------------------ */

static uint32_t *bucket_of(const struct pc_dirfds *d, uint64_t id)
{
	return &d->buckets[(id * UINT64_C(0x9e3779b97f4a7c15) >> 32) % d->max];
}

static struct pc_dirfd_slot *slot_find(const struct pc_dirfds *d, uint64_t id)
{
	for (uint32_t i = *bucket_of(d, id); i; i = d->slots[i - 1].next)
		if (d->slots[i - 1].id == id)
			return &d->slots[i - 1];
	return NULL;
}

/* Take s out of the set. Return: its descriptor. */
static int slot_clear(struct pc_dirfds *d, struct pc_dirfd_slot *s)
{
	uint32_t *at = bucket_of(d, s->id);
	uint32_t index = (uint32_t)(s - d->slots) + 1;

	while (*at != index)
		at = &d->slots[*at - 1].next;
	*at = s->next;
	if (!s->dead)
		atomic_fetch_and_explicit(&s->node->flags, ~RP_N_HAS_FD, memory_order_relaxed);
	s->id = 0;
	d->n--;
	return s->fd;
}

/* A free slot, by the clock if need be. *victim: a descriptor to close, or -1. */
static struct pc_dirfd_slot *slot_take(struct pc_dirfds *d, int *victim)
{
	*victim = -1;
	/* The first round may only clear the marks, the second spares held nodes. */
	for (uint32_t tries = 0; tries < 3 * d->max; tries++) {
		struct pc_dirfd_slot *s = &d->slots[d->hand];

		d->hand = (d->hand + 1) % d->max;
		if (!s->id)
			return s;
		if (s->users || (tries < 2 * d->max && lockref_count(&s->node->ref)))
			continue;
		if (!s->used) {
			*victim = slot_clear(d, s);
			return s;
		}
		s->used = 0;
	}
	return NULL;
}

static bool set_get(struct pathcache *c, const struct rp_node *node, struct pc_dirfd *at)
{
	struct pc_dirfds *d = &c->dirfds;
	struct pc_dirfd_slot *s;

	pthread_mutex_lock(&d->lock);
	s = slot_find(d, node->id);
	if (s && !s->dead) {
		s->users++;
		s->used = 1;
		at->fd = s->fd;
		at->slot = (uint32_t)(s - d->slots) + 1;
	} else {
		s = NULL;
	}
	pthread_mutex_unlock(&d->lock);
	return s != NULL;
}

/* Keep at's descriptor, of node, in the set; at then shares it. */
static void set_put(struct pathcache *c, struct rp_node *node, struct pc_dirfd *at)
{
	struct pc_dirfds *d = &c->dirfds;
	struct pc_dirfd_slot *s = NULL;
	int victim = -1;

	pthread_mutex_lock(&d->lock);
	if (!slot_find(d, node->id))
		s = slot_take(d, &victim);
	if (s) {
		uint32_t *bucket = bucket_of(d, node->id);

		s->id = node->id;
		s->node = node;
		s->fd = at->fd;
		s->users = 1;
		s->used = 0;
		s->dead = 0;
		s->next = *bucket;
		*bucket = at->slot = (uint32_t)(s - d->slots) + 1;
		d->n++;
		atomic_fetch_or_explicit(&node->flags, RP_N_HAS_FD, memory_order_relaxed);
	}
	pthread_mutex_unlock(&d->lock);
	if (victim >= 0)
		fd_close(victim);
}

/* Close what nobody uses. Return: whether any was closed. */
static bool set_shrink(struct pathcache *c)
{
	struct pc_dirfds *d = &c->dirfds;
	bool any = false;

	pthread_mutex_lock(&d->lock);
	for (uint32_t i = 0; i < d->max; i++)
		if (d->slots[i].id && !d->slots[i].users) {
			fd_close(slot_clear(d, &d->slots[i]));
			any = true;
		}
	pthread_mutex_unlock(&d->lock);
	return any;
}

bool pc_dirfds_has(struct pc_dirfds *d, const struct rp_node *node)
{
	bool has;

	pthread_mutex_lock(&d->lock);
	has = slot_find(d, node->id) != NULL;
	pthread_mutex_unlock(&d->lock);
	return has;
}

void pc_dirfds_forget(struct pc_dirfds *d, const struct rp_node *node)
{
	struct pc_dirfd_slot *s;

	if (!d->max || !rp_node_is_dir(node))
		return;
	pthread_mutex_lock(&d->lock);
	s = slot_find(d, node->id);
	if (s && s->users)
		s->dead = 1; /* and the node is touched no more */
	else if (s)
		fd_close(slot_clear(d, s));
	pthread_mutex_unlock(&d->lock);
}

uint32_t pc_dirfds_count(struct pathcache *c)
{
	uint32_t n;

	pthread_mutex_lock(&c->dirfds.lock);
	n = c->dirfds.n;
	pthread_mutex_unlock(&c->dirfds.lock);
	return n;
}

/* ---- opening ------------------------------------------------------------ */

/* Names from an open directory down to the one wanted, outermost last. */
struct trail {
	struct pc_ident ident; /* of that one */
	char *buf;             /* NUL-terminated names, innermost first */
	size_t len, size;
};

static int trail_add(struct trail *t, const struct rp_dentry *d)
{
	if (t->len + d->len + 1u > t->size) {
		size_t size = t->size ? t->size * 2 : 1024;
		char *buf = realloc(t->buf, size);

		if (!buf)
			return -ENOMEM;
		t->buf = buf;
		t->size = size;
	}
	memcpy(t->buf + t->len, d->name, d->len);
	t->len += d->len;
	t->buf[t->len++] = '\0';
	return 0;
}

/* Does at stand for node already, without opening anything? */
static bool known_fd(struct pathcache *c, const struct rp_node *node, struct pc_dirfd *at)
{
	const struct pc_posix *p = c->backend_data;

	at->slot = 0;
	at->prefix = NULL;
	if (node == c->tree.root) {
		at->fd = p->root_fd;
		return true;
	}
	at->fd = pc_posix_handle_fd(node);
	return at->fd >= 0 || set_get(c, node, at);
}

/*
 * Climb from node to the nearest open directory. Return: 0 and at, t; -ESTALE;
 * -ENOMEM. Context: read section.
 */
static int trail_climb(struct pathcache *c, const struct rp_node *node, struct pc_dirfd *at,
                       struct trail *t)
{
	int rc = 0;

	*t = (struct trail){.ident = pc_ident_of(node)};
	while (!known_fd(c, node, at)) {
		const struct rp_dentry *d = rp_node_name_or_hint(node);

		/* A ring of stale hints would have names without end. */
		if (!d || !d->dir || t->len > (1u << 24)) {
			rc = -ESTALE;
			break;
		}
		rc = trail_add(t, d);
		if (rc)
			break;
		node = d->dir;
	}
	if (rc)
		free(t->buf);
	return rc;
}

/* The last name of the trail, which is shortened by it. NULL at its end. */
static const char *trail_pop(struct trail *t)
{
	if (t->len == 0)
		return NULL;
	t->len--;
	while (t->len && t->buf[t->len - 1])
		t->len--;
	return t->buf + t->len;
}

static bool out_of_fds(int err)
{
	return err == EMFILE || err == ENFILE;
}

static int open_step(struct pathcache *c, int fd, const char *name)
{
	int next = openat(fd, name, DIR_FLAGS);

	if (next < 0 && out_of_fds(errno) && set_shrink(c))
		next = openat(fd, name, DIR_FLAGS);
	return next < 0 ? -errno : next;
}

/* Without a descriptor to spare: the rest of the trail as a path below at. */
static int trail_prefix(struct pathcache *c, struct trail *t, const char *name, struct pc_dirfd *at)
{
	size_t len = 0;

	/* Room for a name behind it. */
	if (t->len + strlen(name) + RP_NAME_MAX + 3 > RP_PATH_MAX)
		return -EMFILE;
	at->prefix_size = t->len + strlen(name) + 2;
	at->prefix = pc_alloc(c->mem, PC_MEM_OTHER, at->prefix_size);
	if (!at->prefix)
		return -ENOMEM;
	for (; name; name = trail_pop(t)) {
		size_t n = strlen(name);

		if (len)
			at->prefix[len++] = '/';
		memcpy(at->prefix + len, name, n);
		len += n;
	}
	return 0;
}

static int trail_open(struct pathcache *c, struct trail *t, struct pc_dirfd *at)
{
	const char *name;

	while ((name = trail_pop(t)) != NULL) {
		int fd = open_step(c, at->fd, name);

		if (fd < 0 && out_of_fds(-fd))
			return trail_prefix(c, t, name, at);
		if (fd < 0)
			return pc_posix_stale(fd);
		pc_dirfd_put(c, at);
		at->fd = fd;
		at->slot = UINT32_MAX; /* the caller's own */
	}
	return 0;
}

/*
 * Down the trail from at, to the directory it was climbed from. node: that one,
 * held; NULL: it is dead. Frees the trail. Return: as pc_dirfd_get().
 */
static int trail_follow(struct pathcache *c, struct trail *t, struct rp_node *node,
                        struct pc_dirfd *at)
{
	struct pc_answer *a;
	int rc;

	if (t->len == 0) {
		free(t->buf);
		return 0;
	}
	rc = trail_open(c, t, at);
	free(t->buf);
	a = rc ? NULL : calloc(1, sizeof(*a));
	if (!rc)
		rc = a ? pc_posix_statx(at->fd, at->prefix ? at->prefix : "", a) : -ENOMEM;
	if (!rc && !pc_ident_is(&t->ident, a))
		rc = -ESTALE;
	free(a);
	if (rc) {
		pc_dirfd_put(c, at);
		return pc_posix_stale(rc);
	}
	if (node && !at->prefix)
		set_put(c, node, at);
	return 0;
}

int pc_dirfd_get(struct pathcache *c, struct rp_node *node, struct pc_dirfd *at)
{
	struct trail t;
	int rc;

	pc_read_begin();
	rc = trail_climb(c, node, at, &t);
	pc_read_end();
	return rc ? rc : trail_follow(c, &t, node, at);
}

/* Context: read section. */
static const struct rp_dentry *name_below(struct pathcache *c, const struct rp_node *node,
                                          uint64_t id)
{
	const struct rp_dentry *d = rp_node_name_or_hint(node);

	if (!d || d->id < id)
		return d;
	pthread_mutex_lock(&c->lock);
	/* The newest is first. */
	for (d = rp_node_name_or_hint(node); d && d->id >= id;)
		d = d->next;
	pthread_mutex_unlock(&c->lock);
	return d;
}

int pc_dirfd_get_place(struct pathcache *c, const struct rp_node *node, uint64_t *id,
                       struct pc_dirfd *at, char *name)
{
	const struct rp_dentry *d;
	struct rp_node *dir;
	struct trail t;
	int rc = -ESTALE;

	pc_read_begin(); /* keeps the name and its directory, dead or not */
	d = name_below(c, node, *id);
	*id = d && d->dir ? d->id : 0;
	if (*id) {
		memcpy(name, d->name, d->len);
		name[d->len] = '\0';
		dir = d->dir;
		rc = trail_climb(c, dir, at, &t);
	}
	if (rc) {
		pc_read_end();
		return rc;
	}
	if (!lockref_get(&dir->ref))
		dir = NULL;
	pc_read_end();
	rc = trail_follow(c, &t, dir, at);
	if (dir)
		pc_node_put(c, dir);
	return rc;
}

void pc_dirfd_adopt(struct pathcache *c, struct rp_node *node, int fd)
{
	struct pc_dirfd at = {.fd = fd, .slot = UINT32_MAX};

	if (node != c->tree.root)
		set_put(c, node, &at);
	pc_dirfd_put(c, &at);
}

void pc_dirfd_keep(struct pathcache *c, struct rp_node *node)
{
	struct pc_dirfd at;

	if (!rp_node_is_dir(node) || rp_node_flags(node) & RP_N_HAS_FD || node == c->tree.root ||
	    pc_posix_handle_fd(node) >= 0 || pc_is_child() || pc_dirfds_count(c) >= c->dirfds.max ||
	    !pc_rcu_may_wait())
		return;
	if (pc_dirfd_get(c, node, &at) == 0)
		pc_dirfd_put(c, &at);
}

void pc_dirfd_put(struct pathcache *c, struct pc_dirfd *at)
{
	struct pc_dirfds *d = &c->dirfds;
	int fd = -1;

	pc_free(c->mem, PC_MEM_OTHER, at->prefix, at->prefix_size);
	at->prefix = NULL;
	if (at->slot == UINT32_MAX) {
		fd = at->fd;
	} else if (at->slot) {
		struct pc_dirfd_slot *s = &d->slots[at->slot - 1];

		pthread_mutex_lock(&d->lock);
		if (--s->users == 0 && s->dead)
			fd = slot_clear(d, s);
		pthread_mutex_unlock(&d->lock);
	}
	at->slot = 0;
	if (fd >= 0)
		fd_close(fd);
}
