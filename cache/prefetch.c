/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Warming a tree ahead of the questions: one listing a directory, one lookup a
 * name, by the same ways as a miss.
 *
 * Depth first, so that what is held at a time is the names of one directory on
 * each level of the way down.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "evict.h"
#include "fill.h"
#include "fork.h"
#include "list.h"
#include "reclaim.h"

#define ROOM 2048u /* bytes of the budget that must be left for one more name */

/* A directory whose names are being looked up. */
struct level {
	struct level *up;
	struct rp_node *dir; /* held */
	unsigned depth;      /* levels below it */
	char *names;         /* each behind a byte with its length */
	size_t at, bytes, room;
	bool failed; /* no memory for all names */
};

struct prefetch {
	struct pathcache *c;
	struct level *level;
	struct pathcache_progress progress;
	pathcache_progress_fn fn;
	void *arg;
	int cancel;
};

/* ---- levels ---------------------------------------------------------------- */

/* Takes over the reference to dir. */
static int level_push(struct prefetch *p, struct rp_node *dir, unsigned depth)
{
	struct level *l = calloc(1, sizeof(*l));

	if (!l) {
		pc_node_put(p->c, dir);
		return -ENOMEM;
	}
	l->dir = dir;
	l->depth = depth;
	l->up = p->level;
	p->level = l;
	return 0;
}

static void level_pop(struct prefetch *p)
{
	struct level *l = p->level;

	p->level = l->up;
	pc_node_put(p->c, l->dir);
	free(l->names);
	free(l);
}

static void prefetch_drop(void *arg)
{
	struct prefetch *p = arg;

	while (p->level)
		level_pop(p);
}

static int level_add(void *arg, const char *name, size_t len, uint64_t ino, uint32_t type,
                     uint64_t cookie)
{
	struct level *l = arg;
	size_t room = l->room ? l->room * 2 : 4096;

	(void)ino, (void)type, (void)cookie;
	if (!len || len > RP_NAME_MAX)
		return 0;
	if (l->bytes + 1 + len > l->room) {
		char *more = realloc(l->names, room);

		l->failed = !more;
		if (!more)
			return 1;
		l->names = more;
		l->room = room;
	}
	l->names[l->bytes] = (char)len;
	memcpy(l->names + l->bytes + 1, name, len);
	l->bytes += 1 + len;
	return 0;
}

/* ---- one name at a time ----------------------------------------------------- */

/* Not where nothing is kept, nor into another mount. */
static bool may_enter(const struct rp_node *dir, const struct rp_node *n)
{
	return rp_node_is_dir(n) && rp_node_mnt(dir) == rp_node_mnt(n) &&
	       !(rp_node_flags(n) & (RP_N_PRIVATE | RP_N_KERNEL | RP_N_NO_CHILDREN));
}

/* Return: what the caller's function says; it may call the cache. */
static int tell(struct prefetch *p, const char *path, size_t len)
{
	char name[RP_NAME_MAX + 1];
	int rc;

	if (!p->fn)
		return 0;
	memcpy(name, path, len);
	name[len] = '\0';
	p->progress.name = name;
	rc = p->fn(p->arg, &p->progress);
	pc_thread.cancel = p->cancel;
	return rc;
}

static int warm_name(struct prefetch *p, struct level *l, const char *name, size_t len)
{
	struct pathcache *c = p->c;
	struct pc_found f;
	int rc;

	if (!pc_evict_fits(c, ROOM))
		return -ENOSPC;
	rc = pc_fill_name(c, l->dir, name, len, &c->self, &f);
	/* A table that waits for a grace period does not grow. */
	pc_upkeep(c);
	if (rc == -ENOMEM)
		return rc;
	if (rc || !f.node)
		return 0; /* gone meanwhile, or not for us: whoever wants it will see */
	p->progress.objects++;
	rc = tell(p, name, len);
	if (!rc && l->depth && may_enter(l->dir, f.node))
		return level_push(p, f.node, l->depth - 1);
	pc_node_put(c, f.node);
	return rc;
}

/* The next name, or back to the level above. */
static int step(struct prefetch *p)
{
	struct level *l = p->level;
	const char *at;
	size_t len;

	if (l->at == l->bytes) {
		level_pop(p);
		return 0;
	}
	at = l->names + l->at;
	len = (unsigned char)*at;
	l->at += 1 + len;
	return warm_name(p, l, at + 1, len);
}

/* List the directory that was entered last. */
static int enter(struct prefetch *p)
{
	struct level *l = p->level;
	int rc = pc_list(p->c, l->dir, 0, level_add, l);

	p->progress.directories++;
	return l->failed ? -ENOMEM : rc;
}

static int run(struct prefetch *p)
{
	int rc = enter(p);

	while (!rc && p->level) {
		struct level *l = p->level;

		rc = step(p);
		/* One that may not be listed has nothing to be warmed. */
		if (!rc && p->level && p->level->up == l && enter(p) == -ENOMEM)
			rc = -ENOMEM;
	}
	return rc;
}

int pathcache_prefetch(struct pathcache *cache, struct pathcache_entry *dir, unsigned depth,
                       pathcache_progress_fn fn, void *arg)
{
	struct prefetch p = {.c = cache, .fn = fn, .arg = arg};
	struct rp_node *n;
	int rc;

	if (!cache)
		return -EINVAL;
	n = dir ? pc_node(dir) : cache->tree.root;
	if (!rp_node_is_dir(n))
		return -ENOTDIR;
	if (pc_is_child())
		return -ECHILD;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &p.cancel);
	pc_thread.cancel = p.cancel;
	pthread_cleanup_push(prefetch_drop, &p);
	pc_node_hold(n);
	rc = level_push(&p, n, depth);
	if (!rc)
		rc = run(&p);
	pthread_cleanup_pop(1);
	pthread_setcancelstate(p.cancel, NULL);
	return rc;
}
