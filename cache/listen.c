/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "listen.h"

#include <stdlib.h>
#include <string.h>

#include "store.h"

/* Changes that a listener makes, of which it is told, in which it makes changes, ... */
#define TELL_DEPTH 8u

/* Changes that wait to be told; more are told of as one, of everything. */
#define HELD_MAX 1024u

struct pc_told {
	struct pc_told *next;
	struct rp_node *node; /* held; NULL: ALL */
	uint32_t kind;
	size_t len;
	char name[];
};

/* Of this thread. */
static __thread struct {
	struct pc_told *first, **last;
	unsigned n, depth;
	bool all; /* instead of some that there was no room for */
} held __attribute__((tls_model("initial-exec")));

static void hold(const struct pathcache_change *change)
{
	struct rp_node *n = change->entry ? pc_node(change->entry) : NULL;
	size_t len = change->name ? change->len : 0;
	struct pc_told *t = held.n < HELD_MAX ? malloc(sizeof(*t) + len + 1) : NULL;

	/* Of what dies this very moment nobody can be told by an entry. */
	if (!t || (n && !lockref_get(&n->ref))) {
		free(t);
		held.all = true;
		return;
	}
	*t = (struct pc_told){.node = n, .kind = change->kind, .len = len};
	if (len)
		memcpy(t->name, change->name, len);
	t->name[len] = '\0';
	*held.last = t;
	held.last = &t->next;
	held.n++;
}

void pc_tell(struct pathcache *c, struct pathcache_change *change)
{
	if (held.depth) {
		hold(change);
		return;
	}
	if (pc_thread.telling == TELL_DEPTH)
		return;
	change->size = sizeof(*change);
	change->cache = c;
	pc_thread.telling++;
	c->listener(c->listener_arg, change);
	pc_thread.telling--;
}

void pc_tell_hold(void)
{
	if (held.depth++ == 0) {
		held.first = NULL;
		held.last = &held.first;
		held.n = 0;
		held.all = false;
	}
}

static void held_tell(struct pathcache *c, struct pc_told *t)
{
	struct pathcache_change change = {.kind = t->kind, .len = t->len};

	if (t->node)
		change.entry = pc_entry(t->node);
	if (t->kind == PATHCACHE_CHANGE_NAME)
		change.name = t->name;
	pc_tell(c, &change);
	if (t->node)
		pc_node_put(c, t->node);
	free(t);
}

void pc_tell_release(struct pathcache *c)
{
	struct pc_told *t = held.first;
	bool all = held.all;

	if (--held.depth)
		return;
	/* A listener may come here again. */
	held.first = NULL;
	while (t) {
		struct pc_told *next = t->next;

		held_tell(c, t);
		t = next;
	}
	if (all)
		pc_told_all(c);
}
