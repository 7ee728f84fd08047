/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "events.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "coherence.h"
#include "listen.h"
#include "posix.h"
#include "store.h"

#define READ_MIN 1024u /* bytes; a longest event fits */
#define READ_MAX 8192u
#define EVENT_USUAL 64u /* bytes */
#define REST_MIN_MS 10u
#define REST_MAX_MS 4000u
#define QUIET 16u        /* times the last rest without failing: the next one is short */
#define ORPHANS_MANY 64u /* to be disarmed by who arms */
#define ORPHANS_STEP 16u
#define CLEAR_STEP 256u /* watches that go at a time */

static_assert(READ_MIN >= PC_EVENT_MAX, "read(2) gives whole events");

/* ---- rests; context: arm lock ---------------------------------------------- */

static bool is_resting(const struct pc_rest *r)
{
	uint64_t until = atomic_load_explicit(&r->until, memory_order_relaxed);

	return until && until > pc_now_ms();
}

static void rest_begin(struct pc_rest *r)
{
	uint64_t now = pc_now_ms(), last = atomic_load_explicit(&r->until, memory_order_relaxed);

	r->ms = r->ms && now < last + QUIET * r->ms ? 2 * r->ms : REST_MIN_MS;
	if (r->ms > REST_MAX_MS)
		r->ms = REST_MAX_MS;
	atomic_store_explicit(&r->until, now + r->ms, memory_order_relaxed);
}

/* ---- the source -------------------------------------------------------------- */

static bool is_up(const struct pathcache *c)
{
	return atomic_load_explicit(&c->events.up, memory_order_relaxed);
}

/* Context: drain and arm, or open. Return: 0; -errno. */
static int source_open(struct pathcache *c)
{
	struct pc_events *e = &c->events;
	int rc = e->source.ops->open(&e->source);

	if (!rc)
		rc = pc_loop_add(&c->loop, e->source.fd, EPOLLIN);
	if (rc) {
		if (e->source.fd >= 0)
			close(e->source.fd);
		e->source.fd = -1;
		pc_count(c, rc == -EMFILE || rc == -ENFILE ? PC_WATCH_LIMITS : PC_WATCH_FAILURES);
		rest_begin(&e->closed);
		/* Its events do not come: it is not trusted again. */
		if (rc == -ENOSYS)
			atomic_store_explicit(&e->closed.until, UINT64_MAX, memory_order_relaxed);
		return rc;
	}
	atomic_store_explicit(&e->up, true, memory_order_relaxed);
	return 0;
}

/* After a rest. Return: is it open now? */
static bool source_reopen(struct pathcache *c)
{
	struct pc_events *e = &c->events;

	if (!e->source.ops || is_resting(&e->closed))
		return false;
	pthread_mutex_lock(&e->drain);
	pthread_mutex_lock(&e->arm);
	if (!is_up(c) && !is_resting(&e->closed))
		source_open(c);
	pthread_mutex_unlock(&e->arm);
	pthread_mutex_unlock(&e->drain);
	return is_up(c);
}

/*
 * Context: drain. All that is known is stale before the first directory loses its
 * mark, and what was stored in those that still had theirs once the last one has.
 */
static void source_lost(struct pathcache *c)
{
	struct pc_events *e = &c->events;
	bool more = true;
	int fd;

	pthread_mutex_lock(&e->arm);
	atomic_store_explicit(&e->up, false, memory_order_relaxed);
	fd = e->source.fd;
	e->source.fd = -1;
	pc_loop_remove(&c->loop, fd);
	rest_begin(&e->closed);
	pc_seen_all(c);
	while (more) {
		pthread_mutex_lock(&c->lock);
		more = pc_watches_clear(c, CLEAR_STEP);
		pthread_mutex_unlock(&c->lock);
	}
	pc_seen_all(c);
	pc_told_all(c);
	pthread_mutex_unlock(&e->arm);
	close(fd);
}

/* ---- arming -------------------------------------------------------------------- */

static void arm_failed(struct pathcache *c, int rc)
{
	bool limit = rc == -ENOSPC || rc == -ENOMEM || rc == -EMFILE || rc == -ENFILE;

	pc_count(c, limit ? PC_WATCH_LIMITS : PC_WATCH_FAILURES);
	if (limit)
		rest_begin(&c->events.full);
}

/* Context: arm. The kernel is told of some whose nodes have died. */
static void orphans_disarm(struct pathcache *c, uint32_t n)
{
	struct pc_events *e = &c->events;
	struct pc_key key;
	bool any = true;

	while (n-- && any && is_up(c)) {
		pthread_mutex_lock(&c->lock);
		any = pc_watch_take_orphan(c, &key);
		pthread_mutex_unlock(&c->lock);
		if (any)
			e->source.ops->disarm(&e->source, &key);
	}
}

static uint64_t orphans(const struct pathcache *c)
{
	return atomic_load_explicit(&c->events.watches.norphans, memory_order_relaxed);
}

static bool is_full(const struct pathcache *c)
{
	return atomic_load_explicit(&c->events.watches.n, memory_order_relaxed) >=
	       c->events.watches.max;
}

/* Context: arm, and at is a descriptor of dir. */
static int arm_locked(struct pathcache *c, struct rp_node *dir, const struct pc_dirfd *at)
{
	struct pc_events *e = &c->events;
	const struct pc_armed armed = {.fd = at->fd, .domain = dir->domain};
	struct pc_key key;
	int rc;

	if (orphans(c) >= ORPHANS_MANY || is_full(c))
		orphans_disarm(c, ORPHANS_STEP);
	if (is_full(c)) {
		pc_count(c, PC_WATCH_LIMITS);
		return 0;
	}
	rc = e->source.ops->arm(&e->source, &armed, &key);
	if (rc)
		return rc;
	pthread_mutex_lock(&c->lock);
	rc = pc_watch_add(c, dir, &key);
	if (rc)
		pc_watch_unused(c, &key);
	pthread_mutex_unlock(&c->lock);
	if (!rc)
		e->full.ms = 0;
	return rc == -ESTALE ? 0 : rc;
}

void pc_events_arm(struct pathcache *c, struct rp_node *dir)
{
	struct pc_events *e = &c->events;
	struct pc_dirfd at;
	int rc;

	if (is_resting(&e->full) || (!is_up(c) && !source_reopen(c)))
		return;
	/* One that is not found has nothing to be told of. */
	if (pc_dirfd_get(c, dir, &at))
		return;
	pthread_mutex_lock(&e->arm);
	rc = at.prefix ? -EMFILE : is_up(c) ? arm_locked(c, dir, &at) : 0;
	if (rc)
		arm_failed(c, rc);
	pthread_mutex_unlock(&e->arm);
	pc_dirfd_put(c, &at);
}

void pc_events_forget(struct pathcache *c, const struct rp_node *node)
{
	if (rp_node_flags(node) & RP_N_WATCHED)
		pc_watch_forget(c, node);
}

/* ---- applying; context: drain ---------------------------------------------------- */

/* node, a directory that an event is about. Context: change lock, read section. */
static void apply_to(struct pathcache *c, struct pc_watch *w, const struct pc_event *ev)
{
	struct rp_node *dir = w->node;

	if (ev->what & (PC_EV_GONE | PC_EV_LOST))
		pc_watch_drop(c, w, true);
	if (ev->what & PC_EV_LOST)
		pc_seen_below(c, dir);
	if (ev->what & PC_EV_NAME)
		pc_seen_name(c, dir, ev->name, ev->len);
	else if (ev->len && ev->what & PC_EV_ATTR)
		pc_seen_attr(c, dir, ev->name, ev->len);
	if (ev->what & PC_EV_MOVED)
		pc_seen_moved(c, dir);
	if (ev->what & PC_EV_GONE || (!ev->len && ev->what & PC_EV_ATTR))
		pc_seen_object(c, dir);
}

/* The same to the listener; it waits. Context: likewise. */
static void tell_of(struct pathcache *c, struct rp_node *dir, const struct pc_event *ev)
{
	if (ev->what & PC_EV_LOST)
		pc_told_subtree(c, dir);
	else if (ev->len)
		pc_told_name(c, dir, ev->name, ev->len);
	else if (ev->what & (PC_EV_GONE | PC_EV_ATTR))
		pc_told_object(c, dir);
}

/* What nobody can say which file it is about: any. Context: no change lock. */
static void apply_to_all(struct pathcache *c)
{
	pc_seen_all(c);
	pc_told_all(c);
}

/* Links of the object a have changed. Context: change lock. */
static void apply_link(struct pathcache *c, const struct pc_answer *a)
{
	struct rp_node *n = pc_seen_linked(c, a);

	if (n)
		pc_told_object(c, n);
}

/*
 * name is new in dir: has its object other names, by which it is in memory? Where it
 * is gone already, that is not found out.
 */
static void look_for_links(struct pathcache *c, struct rp_node *dir, const struct pc_event *ev)
{
	char name[RP_NAME_MAX + 1];
	struct pc_answer a;
	int rc;

	memcpy(name, ev->name, ev->len);
	name[ev->len] = '\0';
	a.handle = NULL;
	rc = c->backend->lookup(c, dir, name, ev->len, &c->self, &a);
	if (rc && rc != -ENOENT)
		apply_to_all(c);
	if (rc || a.attr.nlink <= 1)
		return;
	pthread_mutex_lock(&c->lock);
	apply_link(c, &a);
	pthread_mutex_unlock(&c->lock);
}

/* The next directory that ev is about; *held: a reference to it where that is needed. */
static bool apply_next(struct pathcache *c, const struct pc_event *ev, uint64_t round,
                       struct rp_node **held)
{
	struct pc_watch *w;

	*held = NULL;
	pc_read_begin(); /* keeps the memory of what dies */
	pthread_mutex_lock(&c->lock);
	w = pc_watch_next(&c->events.watches, &ev->key, round);
	if (w) {
		if (ev->what & PC_EV_MADE && lockref_get(&w->node->ref))
			*held = w->node;
		pc_count(c, PC_EVENTS_APPLIED);
		tell_of(c, w->node, ev);
		apply_to(c, w, ev);
	}
	pthread_mutex_unlock(&c->lock);
	pc_read_end();
	return w != NULL;
}

static void apply_to_dirs(struct pathcache *c, const struct pc_event *ev)
{
	struct rp_node *held;
	uint64_t round;

	pthread_mutex_lock(&c->lock);
	round = pc_watch_round(&c->events.watches);
	pthread_mutex_unlock(&c->lock);
	while (apply_next(c, ev, round, &held)) {
		if (!held)
			continue;
		look_for_links(c, held, ev);
		pc_node_put(c, held);
	}
}

/* A descriptor of the object of key, of whatever file system. Return: -errno. */
static int object_open(struct pathcache *c, const struct pc_key *key)
{
	const struct pc_posix *p = c->backend_data;
	const struct pc_source_ops *ops = c->events.source.ops;
	struct rp_node *dir = NULL;
	int fd = ops->object(p->root_fd, key);
	struct pc_watch *w;
	struct pc_dirfd at;

	if (fd != -EXDEV)
		return fd;
	pc_read_begin();
	pthread_mutex_lock(&c->lock);
	w = pc_watch_like(&c->events.watches, key->bytes, PC_KEY_FSID);
	if (w && lockref_get(&w->node->ref))
		dir = w->node;
	pthread_mutex_unlock(&c->lock);
	pc_read_end();
	if (!dir)
		return -ENOENT; /* of a file system that nothing is known of */
	fd = pc_dirfd_get(c, dir, &at);
	if (!fd) {
		fd = at.prefix ? -EMFILE : ops->object(at.fd, key);
		pc_dirfd_put(c, &at);
	}
	pc_node_put(c, dir);
	return fd;
}

/* Links of object a have changed, which may be in memory on each mount of its file system. */
static void seen_on_mounts(struct pathcache *c, const struct pc_key *key, struct pc_answer *a)
{
	const struct pc_source *s = &c->events.source;

	pthread_mutex_lock(&c->events.arm);
	pthread_mutex_lock(&c->lock);
	for (uint32_t i = 0; i < s->nmarks; i++) {
		if (memcmp(s->marks[i].fsid, key->bytes, PC_KEY_FSID) != 0)
			continue;
		a->domain = s->marks[i].domain;
		apply_link(c, a);
	}
	pthread_mutex_unlock(&c->lock);
	pthread_mutex_unlock(&c->events.arm);
}

static void apply_to_object(struct pathcache *c, const struct pc_key *key)
{
	int fd = object_open(c, key), rc = fd < 0 ? fd : 0;
	struct pc_answer a;

	if (!rc) {
		rc = pc_posix_statx(fd, "", &a);
		close(fd);
	}
	if (!rc)
		seen_on_mounts(c, key, &a);
	else if (rc != -ESTALE && rc != -ENOENT)
		apply_to_all(c);
}

static void apply(struct pathcache *c, struct pc_event *ev)
{
	bool expected;

	pc_count(c, PC_EVENTS);
	if (ev->what & PC_EV_OBJECT) {
		apply_to_object(c, &ev->key);
		return;
	}
	if (ev->what & PC_EV_ENDED) {
		pthread_mutex_lock(&c->lock);
		expected = pc_watch_ended(c, &ev->key);
		pthread_mutex_unlock(&c->lock);
		if (expected)
			return;
		ev->what = PC_EV_LOST | PC_EV_ENDED;
	}
	if (ev->what)
		apply_to_dirs(c, ev);
}

/* ---- draining -------------------------------------------------------------------- */

/* Context: drain. Return: whether the source is still to be read. */
static bool apply_all(struct pathcache *c, const char *buf, size_t bytes, uint64_t *units)
{
	struct pc_event ev;

	for (size_t at = 0; at < bytes;) {
		at += c->events.source.ops->next(buf + at, bytes - at, &ev);
		*units += ev.units;
		if (ev.what & PC_EV_OVERFLOW) {
			pc_count(c, PC_EVENTS_OVERFLOWS);
			source_lost(c);
			return false;
		}
		apply(c, &ev);
	}
	return true;
}

/* Context: drain. Return: what was read, in units; 0: nothing was there. */
static uint64_t drain_locked(struct pathcache *c, size_t room)
{
	char buf[READ_MAX];
	uint64_t units = 0;
	ssize_t n;

	if (!is_up(c))
		return 0;
	do
		n = read(c->events.source.fd, buf, room);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno != EAGAIN) {
		pc_count(c, PC_WATCH_FAILURES);
		source_lost(c);
	}
	if (n <= 0)
		return 0;
	apply_all(c, buf, (size_t)n, &units);
	return units;
}

/* The same, and then the listener is told. Context: no lock. */
static uint64_t drain_once(struct pathcache *c, size_t room)
{
	uint64_t units;

	pc_tell_hold();
	pthread_mutex_lock(&c->events.drain);
	units = drain_locked(c, room);
	pthread_mutex_unlock(&c->events.drain);
	pc_tell_release(c);
	return units;
}

static uint64_t queued(struct pathcache *c)
{
	return is_up(c) ? c->events.source.ops->queued(&c->events.source) : 0;
}

bool pc_events_drain(struct pathcache *c, uint32_t most)
{
	struct pc_events *e = &c->events;
	size_t room = (size_t)most * EVENT_USUAL;
	bool more;

	if (!e->source.ops)
		return false;
	room = room < READ_MIN ? READ_MIN : room > READ_MAX ? READ_MAX : room;
	for (uint64_t done = 0, n; done < most && (n = drain_once(c, room)) != 0;)
		done += room / EVENT_USUAL;
	pthread_mutex_lock(&e->drain);
	more = queued(c) != 0;
	pthread_mutex_lock(&e->arm);
	orphans_disarm(c, most);
	pthread_mutex_unlock(&e->arm);
	pthread_mutex_unlock(&e->drain);
	return more || orphans(c);
}

void pc_events_sync(struct pathcache *c)
{
	struct pc_events *e = &c->events;
	uint64_t left, n;

	if (!e->source.ops)
		return;
	/* What another thread has read by now is in the cache when this has the lock. */
	pthread_mutex_lock(&e->drain);
	left = queued(c);
	pthread_mutex_unlock(&e->drain);
	while (left && (n = drain_once(c, READ_MAX)) != 0)
		left -= n < left ? n : left;
}

uint32_t pc_events_source(const struct pathcache *c)
{
	if (!is_up(c))
		return 0;
	return c->events.source.ops == &pc_source_inotify ? PATHCACHE_SOURCE_INOTIFY
	                                                  : PATHCACHE_SOURCE_FANOTIFY;
}

/* ---- open and close ---------------------------------------------------------------- */

void pc_events_init(struct pathcache *c)
{
	struct pc_events *e = &c->events;

	e->source.fd = -1;
	pthread_mutex_init(&e->drain, NULL);
	pthread_mutex_init(&e->arm, NULL);
}

void pc_events_fini(struct pathcache *c)
{
	struct pc_events *e = &c->events;

	if (e->source.fd >= 0)
		close(e->source.fd);
	pc_watches_fini(c);
	pthread_mutex_destroy(&e->drain);
	pthread_mutex_destroy(&e->arm);
}

static bool may_arm_root(const struct pathcache *c)
{
	return pc_may_arm(c->tree.root);
}

/* What was asked of the root before it was armed. */
static void root_forget(struct pathcache *c)
{
	pc_read_begin();
	pthread_mutex_lock(&c->lock);
	pc_seen_object(c, c->tree.root);
	pthread_mutex_unlock(&c->lock);
	pc_read_end();
}

/* Can ops be used here? Its root is armed then, or it has no room for that now. */
static int source_try(struct pathcache *c, const struct pc_source_ops *ops)
{
	const struct pc_posix *p = c->backend_data;
	const struct pc_dirfd at = {.fd = p->root_fd};
	struct pc_events *e = &c->events;
	int rc;

	e->source.ops = ops;
	rc = source_open(c);
	if (!rc && may_arm_root(c))
		rc = arm_locked(c, c->tree.root, &at);
	/* A directory that may be searched but not read cannot have a watch; others may. */
	if (rc == -ENOSPC || rc == -ENOMEM || (rc == -EACCES && ops->disarm)) {
		arm_failed(c, rc);
		rc = 0;
	}
	if (!rc)
		root_forget(c);
	return rc;
}

static void source_give_up(struct pathcache *c)
{
	struct pc_events *e = &c->events;

	if (e->source.fd >= 0) {
		pc_loop_remove(&c->loop, e->source.fd);
		close(e->source.fd);
	}
	e->source.fd = -1;
	e->source.ops = NULL;
	atomic_store_explicit(&e->up, false, memory_order_relaxed);
	atomic_store_explicit(&e->closed.until, 0, memory_order_relaxed);
}

int pc_events_open(struct pathcache *c, const struct pathcache_options *o)
{
	int rc = pc_watches_init(c, o->max_watches);

	if (!rc)
		rc = pc_loop_open(&c->loop);
	if (rc)
		return rc;
	if (o->source != PATHCACHE_SOURCE_INOTIFY) {
		rc = source_try(c, &pc_source_fanotify);
		if (!rc || o->source == PATHCACHE_SOURCE_FANOTIFY)
			return rc;
		source_give_up(c);
	}
	rc = source_try(c, &pc_source_inotify);
	/* Instances may be had later. */
	return o->source == PATHCACHE_SOURCE_INOTIFY ? rc : 0;
}
