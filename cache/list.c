/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "list.h"

#include <errno.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coherence.h"
#include "fill.h"
#include "listing.h"

#define ROOM_MIN 4096u     /* bytes of entries, to begin with */
#define BATCH 4096u        /* bytes of entries told at once from memory */
#define ABSENT_A_NAME 2u   /* names in a directory for each absent one that pays listing it */
#define ABSENT_ERROR 1024u /* where it cannot be listed */

static_assert(BATCH >= RP_LISTED_MAX, "any entry fits");

#if PC_TESTING
_Atomic(uint32_t) pc_list_test_omit;
#endif

/* ---- ends; context: change lock ------------------------------------------ */

static struct rp_dentry *listing_of(struct pathcache *c, const struct rp_node *dir)
{
	if (!atomic_load_explicit(&c->tree.nlistings, memory_order_relaxed))
		return NULL;
	return rp_tree_find(&c->tree, dir, "", 0);
}

void pc_list_end(struct pathcache *c, struct rp_node *dir)
{
	struct rp_dentry *d = listing_of(c, dir);

	if (!d)
		return;
	pc_kill(c, d);
	pc_count(c, PC_LISTINGS_ENDED);
}

void pc_list_refute(struct pathcache *c, struct rp_node *dir, const char *name, size_t len,
                    bool there)
{
	struct rp_dentry *d = listing_of(c, dir);
	uint32_t hash;

	if (!d)
		return;
	hash = rp_name_hash(&c->tree.secret, dir, name, len);
	if (!rp_listing_find(rp_listing_of(d), hash, name, len) == there)
		pc_list_end(c, dir);
}

/* ---- from the backend ----------------------------------------------------- */

/* A directory while the backend lists it. */
struct reading {
	struct pathcache *c;
	struct rp_node *dir;
	pathcache_dirent_fn fn; /* NULL: nobody is told */
	void *arg;
	uint64_t asked;
	char *entries; /* NULL: none yet, or given up */
	size_t bytes, room;
	uint64_t most; /* bytes that may be kept */
	uint32_t n;
	bool keeps;   /* not given up */
	bool stopped; /* by fn */
};

static void reading_drop(void *arg)
{
	struct reading *r = arg;

	free(r->entries);
	r->entries = NULL;
	r->keeps = false;
}

static bool reading_room(struct reading *r, size_t size)
{
	size_t room = r->room ? r->room * 2 : ROOM_MIN;
	char *more;

	if (r->bytes + size <= r->room)
		return true;
	more = realloc(r->entries, room);
	if (!more)
		return false;
	r->entries = more;
	r->room = room;
	return true;
}

/* Return: false where the listing can be none that is kept. */
static bool reading_add(struct reading *r, const struct rp_listed *head, const char *name,
                        size_t len)
{
	size_t size = rp_listed_size(len);
	struct rp_listed *e;

	if (!len || len > RP_NAME_MAX || !head->cookie || memchr(name, '/', len))
		return false;
	if (r->n == r->c->complete_max || r->bytes + size > r->most || !reading_room(r, size))
		return false;
	e = (struct rp_listed *)(void *)(r->entries + r->bytes);
	memset((char *)e + size - RP_LISTED_UNIT, 0, RP_LISTED_UNIT);
	memcpy(e, head, offsetof(struct rp_listed, len));
	e->len = (uint8_t)len;
	e->type = head->type;
	memcpy(e->name, name, len);
	r->bytes += size;
	r->n++;
	return true;
}

static int reading_emit(void *arg, const char *name, size_t len, uint64_t ino, uint32_t type,
                        uint64_t cookie)
{
	const struct rp_listed head = {
		.ino = ino, .cookie = cookie, .type = (uint8_t)((type & S_IFMT) >> 12)};
	struct reading *r = arg;

	if (r->keeps && !reading_add(r, &head, name, len))
		reading_drop(r);
	if (!r->fn)
		return !r->keeps;
	r->stopped = r->fn(r->arg, name, len, ino, type, cookie) != 0;
	return r->stopped;
}

static void reading_init(struct reading *r, struct pathcache *c, struct rp_node *dir)
{
	memset(r, 0, sizeof(*r));
	r->c = c;
	r->dir = dir;
	r->most = pc_budget(c) / 16;
	r->keeps = c->complete_max && pc_list_allowed(c, dir);
	/* Before the backend is asked. */
	r->asked = pc_asked(c, dir);
}

/* rc: what the backend gave. The next listing is worth it only after absent names in proportion. */
static void reading_end(struct reading *r, int rc)
{
	struct pathcache *c = r->c;
	uint32_t again = rc < 0 ? ABSENT_ERROR : r->n / ABSENT_A_NAME;

	if (again < PC_LIST_AGAIN)
		again = PC_LIST_AGAIN;
	if (again > UINT16_MAX)
		again = UINT16_MAX;
	pthread_mutex_lock(&c->lock);
	if (c->complete_max)
		rp_dirnode(r->dir)->list_in = (uint16_t)again;
	pthread_mutex_unlock(&c->lock);
	if (r->keeps && !r->stopped && rc == 1)
		pc_store_listing(c, r->dir, r->entries, r->bytes, r->n, r->asked);
}

/* List dir from cookie on. Context: with fn, which may be cancelled, as its caller is. */
static int from_backend(struct pathcache *c, struct rp_node *dir, uint64_t cookie,
                        pathcache_dirent_fn fn, void *arg)
{
	struct reading r;
	int cancel, rc;

	pc_count(c, PC_BACKEND_CALLS);
	reading_init(&r, c, dir);
	r.fn = fn;
	r.arg = arg;
	if (cookie)
		r.keeps = false;
	if (!r.keeps) {
		rc = c->backend->readdir(c, dir, cookie, fn, arg);
		return rc < 0 ? rc : 0;
	}
	pthread_cleanup_push(reading_drop, &r);
	rc = c->backend->readdir(c, dir, 0, reading_emit, &r);
	/* The application's allocator may be a cancellation point. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	reading_end(&r, rc);
	pthread_setcancelstate(cancel, NULL);
	pthread_cleanup_pop(1);
	return rc < 0 ? rc : 0;
}

static void reading_cancelled(void *arg)
{
	struct reading *r = arg;

	reading_drop(r);
	pc_node_put(r->c, r->dir);
}

void pc_list_learn(struct pathcache *c, struct rp_node *dir)
{
	struct reading r;
	int rc;

	reading_init(&r, c, dir);
	pthread_cleanup_push(reading_cancelled, &r);
	if (r.keeps) {
		pc_count(c, PC_BACKEND_CALLS);
		rc = c->backend->readdir(c, dir, 0, reading_emit, &r);
		reading_end(&r, rc);
	}
	pthread_cleanup_pop(1);
}

/* ---- from memory ---------------------------------------------------------- */

/* Entries copied out of a listing, to be told with no lock held. */
struct batch {
	uint64_t id; /* of the listing; 0: none yet */
	size_t at;   /* where the next begins in it */
	size_t bytes;
	bool last;
	bool unknown; /* who may list it is to be asked first */
	alignas(struct rp_listed) char entries[BATCH];
};

/* May the process list dir? false, *unknown: that is not in memory. Context: change lock. */
static bool may_list(struct pathcache *c, const struct rp_node *dir, uint64_t gen, bool *unknown)
{
	struct rp_perm perm = rp_node_perm(dir);

	if (rp_node_flags(dir) & (RP_N_ASK | RP_N_ACL | RP_N_ACL_UNKNOWN | RP_N_NO_ATTR))
		return false;
	*unknown = !rp_node_attr_valid(dir, gen);
	return !*unknown && rp_perm_allows(&perm, &c->self, R_OK | X_OK);
}

static void batch_copy(struct batch *b, const struct rp_listing *l)
{
	size_t bytes = rp_listing_bytes(l), end = b->at;

	while (end < bytes) {
		size_t size = rp_listed_size(rp_listing_at(l, end)->len);

		if (end + size - b->at > BATCH)
			break;
		end += size;
	}
	b->bytes = end - b->at;
	memcpy(b->entries, rp_listing_at(l, b->at), b->bytes);
	b->at = end;
	b->last = end == bytes;
}

/* Context: change lock. */
static bool batch_fill(struct pathcache *c, struct rp_node *dir, struct batch *b, uint64_t cookie)
{
	const struct rp_dentry *d = listing_of(c, dir);
	uint64_t gen = d ? rp_tree_gen(&c->tree, dir) : 0;

	if (!d || d->id < gen || (b->id && b->id != d->id) || !may_list(c, dir, gen, &b->unknown))
		return false;
	if (!b->id)
		b->at = rp_listing_seek(rp_listing_of(d), cookie);
	if (b->at == SIZE_MAX)
		return false;
	b->id = d->id;
	rp_dentry_touch(d);
	batch_copy(b, rp_listing_of(d));
	return true;
}

/* The next entries from memory. Return: false: they are not all known there any more. */
static bool batch_take(struct pathcache *c, struct rp_node *dir, struct batch *b, uint64_t cookie)
{
	bool taken;

	b->unknown = false;
	if (!pc_start_known(c, dir))
		return false;
	pthread_mutex_lock(&c->lock);
	taken = batch_fill(c, dir, b, cookie);
	pthread_mutex_unlock(&c->lock);
	return taken;
}

/* Return: whether fn stopped it. *cookie: of the last entry told. */
static bool batch_tell(const struct batch *b, uint64_t *cookie, pathcache_dirent_fn fn, void *arg)
{
	char name[RP_NAME_MAX + 1];

	for (size_t at = 0; at < b->bytes;) {
		const struct rp_listed *e =
			(const struct rp_listed *)(const void *)(b->entries + at);

		memcpy(name, e->name, e->len);
		name[e->len] = '\0';
		*cookie = e->cookie;
		at += rp_listed_size(e->len);
		if (fn(arg, name, e->len, e->ino, (uint32_t)e->type << 12, e->cookie))
			return true;
	}
	return false;
}

/* Ask who may list dir. Return: whether it is in memory now. */
static bool perm_ask(struct pathcache *c, struct rp_node *dir)
{
	struct rp_attr attr;
	uint32_t flags;
	int cancel, rc;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pc_thread.cancel = cancel;
	rc = pc_fill_attr(c, dir, &c->self, &attr, &flags);
	pthread_setcancelstate(cancel, NULL);
	return rc == 0;
}

/* Tell from memory, as far as that goes. Return: whether that was to the end, or until fn stopped. */
static bool from_memory(struct pathcache *c, struct rp_node *dir, uint64_t *cookie,
                        pathcache_dirent_fn fn, void *arg)
{
	struct batch b = {.id = 0};

	while (!b.id || !b.last) {
		bool taken = batch_take(c, dir, &b, *cookie);

		if (!taken && b.unknown && perm_ask(c, dir))
			taken = batch_take(c, dir, &b, *cookie);
		if (!taken)
			return false;
		if (batch_tell(&b, cookie, fn, arg))
			return true;
	}
	return true;
}

int pc_list(struct pathcache *c, struct rp_node *dir, uint64_t cookie, pathcache_dirent_fn fn,
            void *arg)
{
	if (c->complete_max && pc_budget(c) && from_memory(c, dir, &cookie, fn, arg))
		return 0;
	return from_backend(c, dir, cookie, fn, arg);
}
