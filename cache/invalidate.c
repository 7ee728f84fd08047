/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Invalidation: what was announced is out of reach when the call returns, and
 * a fill that began before publishes nothing (names_stamp, attr_state,
 * subtree_stamp) and is joined by nobody (inval_stamp).
 */
#include <errno.h>
#include <string.h>

#include "change.h"
#include "fork.h"
#include "list.h"
#include "listen.h"
#include "lookup.h"
#include "reclaim.h"

uint64_t pc_change_begin(struct pathcache *c, enum pc_counter counter)
{
	uint64_t stamp = rp_tree_stamp(&c->tree);

	atomic_store_explicit(&c->inval_stamp, stamp, memory_order_relaxed);
	pc_count(c, counter);
	return stamp;
}

void pc_drop_object(struct pathcache *c, struct rp_node *n, uint64_t stamp)
{
	rp_node_attr_drop(n, stamp);
	if (S_ISLNK(n->type))
		pc_kill_link(c, n);
	else if (rp_node_is_dir(n))
		/* It is searched by what its binding says. */
		pc_loosen(c, n);
}

struct rp_node *pc_dir_twin(struct pathcache *c, struct rp_node *dir)
{
	struct rp_node *twin = pc_node_twin(c, dir);

	return rp_node_is_dir(twin) ? twin : dir;
}

/* The name of dir may lead to something else: dir may be gone, and its descriptor with it. */
static void name_loosen(struct pathcache *c, struct rp_node *dir)
{
	if (!lockref_count(&dir->ref))
		pc_dirfds_forget(&c->dirfds, dir);
	pc_loosen(c, dir);
	c->sweep.needed = true;
}

/* n is another object where its name is another: so are all below it. */
static void renamed_kill(struct pathcache *c, struct rp_node *n)
{
	if (rp_node_is_dir(n))
		rp_tree_raise_gen(&c->tree, n);
	pc_kill_link(c, n);
}

void pc_drop_names(struct pathcache *c, struct rp_node *dir, uint64_t stamp)
{
	rp_dirnode(dir)->names_stamp = stamp;
	rp_node_attr_drop(dir, stamp);
	if (!PC_LIST_OMITTED(PC_LIST_OMIT_NAME))
		pc_list_end(c, dir);
}

/* What name means has changed. Return: what it meant, to be killed; NULL: that is not in memory. */
static struct rp_dentry *name_begin(struct pathcache *c, struct rp_node *dir, const char *name,
                                    size_t len, uint64_t stamp)
{
	struct rp_dentry *d = rp_tree_find(&c->tree, dir, name, len);

	pc_drop_names(c, dir, stamp);
	/* A stale one, or one from after the change, does not say what the name led to until now. */
	if (!d || !d->node || d->id < rp_tree_gen(&c->tree, dir))
		rp_tree_loose_changed(&c->tree, stamp);
	if (d && d->node)
		rp_node_attr_drop(d->node, stamp);
	return d;
}

void pc_drop_gone(struct pathcache *c, struct rp_node *dir, const char *name, size_t len,
                  uint64_t stamp)
{
	struct rp_dentry *d = name_begin(c, dir, name, len, stamp);

	if (d && d->node && rp_node_flags(d->node) & RP_N_ID_BY_NAME)
		renamed_kill(c, d->node);
	else if (d)
		pc_kill(c, d);
}

void pc_drop_name(struct pathcache *c, struct rp_node *dir, const char *name, size_t len,
                  uint64_t stamp)
{
	struct rp_dentry *d = name_begin(c, dir, name, len, stamp);
	struct rp_node *n = d ? d->node : NULL;

	if (n && rp_node_flags(n) & RP_N_ID_BY_NAME)
		renamed_kill(c, n);
	else if (n && S_ISLNK(n->type))
		pc_kill_link(c, n);
	else if (n && rp_node_is_dir(n))
		name_loosen(c, n);
	else if (d)
		pc_kill(c, d);
}

int pc_name_check(const char *name, size_t len)
{
	if (len > RP_NAME_MAX)
		return -ENAMETOOLONG;
	if (len == 0 || memchr(name, '/', len) || (name[0] == '.' && len == 1) ||
	    (name[0] == '.' && name[1] == '.' && len == 2))
		return -EINVAL;
	return 0;
}

int pathcache_invalidate_name(struct pathcache *cache, struct pathcache_entry *dir,
                              const char *name)
{
	struct rp_node *n;
	int rc;

	if (!cache || !name)
		return -EINVAL;
	rc = pc_name_check(name, strlen(name));
	if (rc)
		return rc;
	n = dir ? pc_node(dir) : cache->tree.root;
	if (!rp_node_is_dir(n))
		return -ENOTDIR;
	if (pc_is_child())
		return -ECHILD;
	pc_read_begin(); /* keeps the memory of what dies */
	pthread_mutex_lock(&cache->lock);
	pc_drop_name(cache, pc_dir_twin(cache, n), name, strlen(name),
	             pc_change_begin(cache, PC_INVALIDATIONS));
	pthread_mutex_unlock(&cache->lock);
	pc_read_end();
	pc_upkeep_wake(cache);
	pc_told_name(cache, n, name, strlen(name));
	return 0;
}

int pathcache_invalidate_entry(struct pathcache *cache, struct pathcache_entry *entry)
{
	if (!cache || !entry)
		return -EINVAL;
	if (pc_is_child())
		return -ECHILD;
	pc_read_begin(); /* keeps the memory of what dies */
	pthread_mutex_lock(&cache->lock);
	pc_drop_object(cache, pc_node_twin(cache, pc_node(entry)),
	               pc_change_begin(cache, PC_INVALIDATIONS));
	pthread_mutex_unlock(&cache->lock);
	pc_read_end();
	pc_upkeep_wake(cache);
	pc_told_object(cache, pc_node(entry));
	return 0;
}

/* Caller holds the lock. */
static void drop_below(struct pathcache *c, struct rp_node *dir)
{
	struct rp_dentry *d;

	pc_change_begin(c, PC_INVALIDATIONS);
	rp_tree_raise_gen(&c->tree, dir);
	d = rp_node_name(dir);
	if (d && d->slot != RP_SLOT_NONE)
		pc_kill(c, d);
	rp_node_attr_drop(dir, rp_tree_stamp(&c->tree));
	c->sweep.needed = true;
}

static void drop_subtree(struct pathcache *c, struct rp_node *dir)
{
	pc_read_begin();
	pthread_mutex_lock(&c->lock);
	drop_below(c, pc_dir_twin(c, dir));
	pthread_mutex_unlock(&c->lock);
	pc_read_end();
	pc_worker_wake(&c->worker);
}

int pathcache_invalidate_subtree(struct pathcache *cache, struct pathcache_entry *dir)
{
	struct rp_node *n;

	if (!cache)
		return -EINVAL;
	n = dir ? pc_node(dir) : cache->tree.root;
	if (!rp_node_is_dir(n))
		return -ENOTDIR;
	if (pc_is_child())
		return -ECHILD;
	drop_subtree(cache, n);
	pc_told_subtree(cache, n);
	return 0;
}

int pathcache_invalidate_all(struct pathcache *cache)
{
	return pathcache_invalidate_subtree(cache, NULL);
}

/* ---- what events say -------------------------------------------------------- */

void pc_seen_name(struct pathcache *c, struct rp_node *dir, const char *name, size_t len)
{
	pc_drop_name(c, dir, name, len, pc_change_begin(c, PC_INVALIDATIONS));
}

void pc_seen_attr(struct pathcache *c, struct rp_node *dir, const char *name, size_t len)
{
	uint64_t stamp = pc_change_begin(c, PC_INVALIDATIONS);
	const struct rp_dentry *d = rp_tree_find(&c->tree, dir, name, len);

	rp_dirnode(dir)->names_stamp = stamp;
	if (!d || d->id < rp_tree_gen(&c->tree, dir))
		/* It may be in memory by another name, or by none. Nobody's way has changed. */
		atomic_store_explicit(&c->tree.loose_stamp, stamp, memory_order_relaxed);
	/* A directory with a watch of its own is told of by that as well. */
	if (d && d->node && !(rp_node_flags(d->node) & RP_N_WATCHED))
		pc_drop_object(c, d->node, stamp);
}

void pc_seen_object(struct pathcache *c, struct rp_node *n)
{
	pc_drop_object(c, n, pc_change_begin(c, PC_INVALIDATIONS));
}

struct rp_node *pc_seen_linked(struct pathcache *c, const struct pc_answer *a)
{
	uint64_t stamp = pc_change_begin(c, PC_INVALIDATIONS);
	struct rp_node *n = pc_node_known(c, a);

	if (n)
		rp_node_attr_drop(n, stamp);
	return n;
}

void pc_seen_moved(struct pathcache *c, struct rp_node *dir)
{
	uint64_t stamp = pc_change_begin(c, PC_INVALIDATIONS);
	struct rp_dentry *d = rp_node_name(dir);

	rp_tree_loose_changed(&c->tree, stamp);
	/* Where its directory is watched that has told, and maybe the new name is here already. */
	if (d && d->slot != RP_SLOT_NONE && d->dir && !(rp_node_flags(d->dir) & RP_N_WATCHED))
		pc_kill(c, d);
}

void pc_seen_below(struct pathcache *c, struct rp_node *dir)
{
	drop_below(c, dir);
}

void pc_seen_all(struct pathcache *c)
{
	drop_subtree(c, c->tree.root);
}

/* The last component of path; *parent: what stands before it. Trailing slashes do not count. */
static size_t last_component(const char *path, size_t *parent)
{
	size_t end = strlen(path), at;

	while (end && path[end - 1] == '/')
		end--;
	at = end;
	while (at && path[at - 1] != '/')
		at--;
	*parent = at;
	return end - at;
}

int pathcache_invalidate_path(struct pathcache *cache, const char *path)
{
	char parent[RP_PATH_MAX], name[RP_NAME_MAX + 1];
	struct rp_node *dir;
	size_t at, len;
	int rc;

	if (!cache || !path)
		return -EINVAL;
	if (strnlen(path, RP_PATH_MAX) == RP_PATH_MAX)
		return -ENAMETOOLONG;
	if (pc_is_child())
		return -ECHILD;
	len = last_component(path, &at);
	if (len == 0 && at == 0 && path[0] == '/')
		return pathcache_invalidate_entry(cache, pc_entry(cache->tree.root));
	rc = pc_name_check(path + at, len);
	if (rc)
		return rc;
	memcpy(name, path + at, len);
	name[len] = '\0';
	memcpy(parent, path, at);
	memcpy(parent + at, at ? "" : ".", at ? 1 : 2);
	rc = pc_lookup_dir(cache, parent, &dir);
	if (rc)
		/* Which directory was meant cannot be told, so it may be any. */
		return pathcache_invalidate_all(cache);
	rc = pathcache_invalidate_name(cache, pc_entry(dir), name);
	pc_node_put(cache, dir);
	return rc;
}
