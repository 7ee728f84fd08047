/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "namespace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "run.h"

/* ---- objects ----------------------------------------------------------- */

static struct ts_object *object_create(struct ts_namespace *ns, uint32_t mode, const char *link)
{
	struct ts_object *object = calloc(1, sizeof(*object));

	REQUIRE(object);
	object->id = ++ns->last_id;
	object->generation = 7;
	object->mode = mode;
	object->nlink = 1;
	object->mtime = 1000 + object->id;
	object->size = link ? strlen(link) : 0;
	object->mask = PATHCACHE_ATTR_BASIC;
	object->dev = 1;
	object->link = link ? strdup(link) : NULL;
	object->next_all = ns->all;
	ns->all = object;
	return object;
}

static struct ts_child **child_find(struct ts_object *dir, const char *name, size_t len)
{
	struct ts_child **at = &dir->children;

	while (*at && !(strlen((*at)->name) == len && memcmp((*at)->name, name, len) == 0))
		at = &(*at)->next;
	return at;
}

/* The parent of path's last component, which *name is set to. */
static struct ts_object *walk_parent(struct ts_namespace *ns, const char *path, const char **name)
{
	struct ts_object *dir = ns->root;
	const char *slash;

	for (path += *path == '/'; (slash = strchr(path, '/')); path = slash + 1) {
		struct ts_child *child = *child_find(dir, path, (size_t)(slash - path));

		REQUIRE(child);
		dir = child->object;
	}
	*name = path;
	return dir;
}

static void child_add(struct ts_object *dir, const char *name, struct ts_object *object)
{
	struct ts_child *child = calloc(1, sizeof(*child) + strlen(name) + 1);

	REQUIRE(child);
	strcpy(child->name, name);
	child->object = object;
	child->only_uid = TS_ANYONE;
	child->next = dir->children;
	dir->children = child;
	object->parent = dir;
}

static struct ts_object *child_take(struct ts_object *dir, const char *name)
{
	struct ts_child **at = child_find(dir, name, strlen(name)), *child = *at;
	struct ts_object *object;

	if (!child)
		return NULL;
	object = child->object;
	*at = child->next;
	free(child);
	return object;
}

/* ---- gates ------------------------------------------------------------- */

static void gate_hold(struct ts_namespace *ns, enum ts_gate_kind kind, enum ts_call call,
                      const char *name)
{
	for (struct ts_gate *gate = ns->gates; gate < ns->gates + TS_GATES; gate++) {
		if (gate->kind != kind || gate->call != call || gate->open || !gate->times)
			continue;
		if (gate->name[0] && strcmp(gate->name, name) != 0)
			continue;
		gate->times--;
		gate->waiting++;
		pthread_cond_broadcast(&ns->changed);
		while (!gate->open)
			pthread_cond_wait(&ns->changed, &ns->lock);
		gate->waiting--;
		return;
	}
}

static int gate_error(struct ts_namespace *ns, enum ts_call call, const char *name)
{
	if (ns->fail_after && ++ns->total > ns->fail_after)
		return -EIO;
	for (struct ts_gate *gate = ns->gates; gate < ns->gates + TS_GATES; gate++) {
		if (gate->kind != TS_GATE_FAIL || gate->call != call || gate->open || !gate->times)
			continue;
		if (gate->name[0] && strcmp(gate->name, name) != 0)
			continue;
		gate->times--;
		return -gate->err;
	}
	return 0;
}

static int call_begin(struct ts_namespace *ns, enum ts_call call, const char *name)
{
	if (ns->on_call)
		ns->on_call(ns->on_call_arg, call, name);
	pthread_mutex_lock(&ns->lock);
	ns->calls[call]++;
	gate_hold(ns, TS_GATE_BEFORE, call, name);
	return gate_error(ns, call, name);
}

static void call_end(struct ts_namespace *ns, enum ts_call call, const char *name)
{
	gate_hold(ns, TS_GATE_AFTER, call, name);
	pthread_mutex_unlock(&ns->lock);
	if (ns->on_return)
		ns->on_return(ns->on_call_arg, call, name);
}

static struct ts_gate *gate_new(struct ts_namespace *ns, const struct ts_gate *want,
                                const char *name)
{
	struct ts_gate *gate = ns->gates;

	pthread_mutex_lock(&ns->lock);
	while (gate < ns->gates + TS_GATES && gate->kind != TS_GATE_UNUSED &&
	       (gate->waiting || (gate->times && !gate->open)))
		gate++;
	REQUIRE(gate < ns->gates + TS_GATES);
	*gate = *want;
	if (name)
		snprintf(gate->name, sizeof(gate->name), "%s", name);
	pthread_mutex_unlock(&ns->lock);
	return gate;
}

struct ts_gate *ts_gate_close_for(struct ts_namespace *ns, enum ts_gate_kind kind,
                                  enum ts_call call, const char *name, unsigned times)
{
	struct ts_gate want = {.kind = kind, .call = call, .times = times};

	return gate_new(ns, &want, name);
}

struct ts_gate *ts_gate_close(struct ts_namespace *ns, enum ts_gate_kind kind, enum ts_call call,
                              const char *name)
{
	return ts_gate_close_for(ns, kind, call, name, UINT32_MAX);
}

struct ts_gate *ts_gate_fail(struct ts_namespace *ns, enum ts_call call, const char *name, int err,
                             unsigned times)
{
	struct ts_gate want = {.kind = TS_GATE_FAIL, .call = call, .err = err, .times = times};

	return gate_new(ns, &want, name);
}

bool ts_gate_wait(struct ts_namespace *ns, struct ts_gate *gate, unsigned n)
{
	uint64_t limit = ts_now_ns() + UINT64_C(10000000000);
	bool held = false;

	while (!held && ts_now_ns() < limit) {
		pthread_mutex_lock(&ns->lock);
		held = gate->waiting >= n;
		pthread_mutex_unlock(&ns->lock);
		if (!held)
			ts_sleep_us(200);
	}
	return held;
}

void ts_gate_open(struct ts_namespace *ns, struct ts_gate *gate)
{
	pthread_mutex_lock(&ns->lock);
	gate->open = true;
	pthread_cond_broadcast(&ns->changed);
	pthread_mutex_unlock(&ns->lock);
}

/* ---- callbacks --------------------------------------------------------- */

static void fill_attr(const struct ts_object *object, struct pathcache_attr *attr)
{
	*attr = (struct pathcache_attr){
		.mask = object->mask,
		.mode = object->mode,
		.uid = object->uid,
		.gid = object->gid,
		.nlink = object->nlink,
		.ino = object->id,
		.dev = object->dev,
		.size = object->mask & PATHCACHE_ATTR_SIZE ? object->size : 0,
		.mtime_sec = object->mask & PATHCACHE_ATTR_MTIME ? (int64_t)object->mtime : 0,
	};
}

static void fill_reply(struct ts_object *object, struct pathcache_reply *reply)
{
	reply->object = (struct pathcache_object){
		.id = object->id, .generation = object->generation, .handle = object};
	fill_attr(object, &reply->attr);
	reply->flags |= object->reply_flags;
	if (object->link && !object->late_link) {
		reply->link = object->link;
		reply->link_len = (uint32_t)strlen(object->link);
	}
}

static int answer_lookup(struct ts_object *dir, const char *name, size_t len,
                         const struct pathcache_cred *cred, struct pathcache_reply *reply)
{
	struct ts_object *object = NULL;
	struct ts_child *child;

	if (len == 2 && memcmp(name, "..", 2) == 0) {
		object = dir->parent;
	} else {
		child = *child_find(dir, name, len);
		if (!child)
			return -ENOENT;
		if (child->only_uid != TS_ANYONE)
			reply->flags |= PATHCACHE_REPLY_PRIVATE;
		if (child->only_uid != TS_ANYONE && child->only_uid != cred->uid)
			return -ENOENT;
		object = child->object;
	}
	fill_reply(object, reply);
	object->handed_out++;
	return 0;
}

static int ns_lookup(void *ctx, const struct pathcache_object *dir, const char *name, size_t len,
                     const struct pathcache_cred *cred, struct pathcache_reply *reply)
{
	struct ts_namespace *ns = ctx;
	int rc;

	if (ns->delay_us) {
		struct timespec ts = {.tv_nsec = (long)ns->delay_us * 1000};

		nanosleep(&ts, NULL);
	}
	rc = call_begin(ns, TS_LOOKUP, name);
	if (rc == 0)
		rc = answer_lookup(dir->handle, name, len, cred, reply);
	call_end(ns, TS_LOOKUP, name);
	return rc;
}

static int ns_getattr(void *ctx, const struct pathcache_object *obj,
                      const struct pathcache_cred *cred, struct pathcache_reply *reply)
{
	struct ts_namespace *ns = ctx;
	struct ts_object *object = obj->handle;
	int rc = call_begin(ns, TS_GETATTR, "");

	(void)cred;
	if (rc == 0) {
		fill_attr(object, &reply->attr);
		reply->object = *obj;
		reply->flags = object->reply_flags;
	}
	call_end(ns, TS_GETATTR, "");
	return rc;
}

static ssize_t ns_readlink(void *ctx, const struct pathcache_object *obj, char *buf, size_t size)
{
	struct ts_namespace *ns = ctx;
	struct ts_object *object = obj->handle;
	ssize_t rc = call_begin(ns, TS_GETLINK, "");

	if (rc == 0 && !object->link)
		rc = -EINVAL;
	if (rc == 0) {
		rc = (ssize_t)strnlen(object->link, size);
		memcpy(buf, object->link, (size_t)rc);
	}
	call_end(ns, TS_GETLINK, "");
	return rc;
}

/* Its own rule, unlike mode bits: only the owner may do anything. */
static int ns_access(void *ctx, const struct pathcache_object *obj, int amode,
                     const struct pathcache_cred *cred)
{
	struct ts_namespace *ns = ctx;
	struct ts_object *object = obj->handle;
	int rc = call_begin(ns, TS_MAY, "");

	(void)amode;
	if (rc == 0 && cred->uid != object->uid)
		rc = -EACCES;
	call_end(ns, TS_MAY, "");
	return rc;
}

static int ns_readdir(void *ctx, const struct pathcache_object *dir, uint64_t cookie,
                      pathcache_dirent_fn emit, void *arg)
{
	struct ts_namespace *ns = ctx;
	struct ts_object *object = dir->handle;
	int rc = call_begin(ns, TS_LIST, "");
	uint64_t at = 0;

	for (struct ts_child *child = object->children; rc == 0 && child; child = child->next)
		if (at++ >= cookie && emit(arg, child->name, strlen(child->name), child->object->id,
		                           child->object->mode & S_IFMT, at))
			break;
	call_end(ns, TS_LIST, "");
	return rc;
}

static void ns_release(void *ctx, const struct pathcache_object *obj)
{
	struct ts_namespace *ns = ctx;
	struct ts_object *object = obj->handle;

	pthread_mutex_lock(&ns->lock);
	object->released++;
	if (object->released > object->handed_out)
		ts_fail(__FILE__, __LINE__, "object %llu released once too often",
		        (unsigned long long)object->id);
	pthread_mutex_unlock(&ns->lock);
}

static const struct pathcache_ops ns_ops = {
	.size = sizeof(ns_ops),
	.lookup = ns_lookup,
	.getattr = ns_getattr,
	.readlink = ns_readlink,
	.access = ns_access,
	.readdir = ns_readdir,
	.release = ns_release,
};

/* ---- life cycle -------------------------------------------------------- */

void ts_ns_init(struct ts_namespace *ns)
{
	pthread_mutexattr_t attr;

	memset(ns, 0, sizeof(*ns));
	/* A test may hold it around a change and what it says of that. */
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&ns->lock, &attr);
	pthread_mutexattr_destroy(&attr);
	pthread_cond_init(&ns->changed, NULL);
	ns->root = object_create(ns, S_IFDIR | 0755, NULL);
	ns->root->parent = ns->root;
}

void ts_ns_fini(struct ts_namespace *ns)
{
	struct ts_object *object;

	while ((object = ns->all)) {
		ns->all = object->next_all;
		while (object->children) {
			struct ts_child *child = object->children;

			object->children = child->next;
			free(child);
		}
		free(object->link);
		free(object);
	}
	pthread_cond_destroy(&ns->changed);
	pthread_mutex_destroy(&ns->lock);
}

void ts_ns_open(struct ts_namespace *ns, struct pathcache **out,
                const struct pathcache_options *opt)
{
	struct pathcache_reply root = {.size = sizeof(root)};
	int rc;

	fill_reply(ns->root, &root);
	ns->root->handed_out++;
	rc = pathcache_open_ops(out, &ns_ops, ns, &root, opt);
	if (rc != 0)
		ts_die(__FILE__, __LINE__, "pathcache_open_ops: %s", strerror(-rc));
}

/* ---- changes ----------------------------------------------------------- */

struct ts_object *ts_ns_add(struct ts_namespace *ns, const char *path, uint32_t mode,
                            const char *link)
{
	struct ts_object *object, *dir;
	const char *name;

	pthread_mutex_lock(&ns->lock);
	object = object_create(ns, mode, link);
	dir = walk_parent(ns, path, &name);
	child_add(dir, name, object);
	pthread_mutex_unlock(&ns->lock);
	return object;
}

struct ts_object *ts_ns_find(struct ts_namespace *ns, const char *path)
{
	struct ts_child *child;
	struct ts_object *dir;
	const char *name;

	pthread_mutex_lock(&ns->lock);
	dir = walk_parent(ns, path, &name);
	child = *child_find(dir, name, strlen(name));
	pthread_mutex_unlock(&ns->lock);
	return child ? child->object : NULL;
}

void ts_ns_remove(struct ts_namespace *ns, const char *path)
{
	struct ts_object *dir, *object;
	const char *name;

	pthread_mutex_lock(&ns->lock);
	dir = walk_parent(ns, path, &name);
	object = child_take(dir, name);
	REQUIRE(object);
	object->nlink--;
	pthread_mutex_unlock(&ns->lock);
}

void ts_ns_link(struct ts_namespace *ns, const char *from, const char *to)
{
	struct ts_child *child;
	struct ts_object *dir;
	const char *name;

	pthread_mutex_lock(&ns->lock);
	dir = walk_parent(ns, from, &name);
	child = *child_find(dir, name, strlen(name));
	REQUIRE(child);
	dir = walk_parent(ns, to, &name);
	child->object->nlink++;
	child_add(dir, name, child->object);
	pthread_mutex_unlock(&ns->lock);
}

void ts_ns_rename(struct ts_namespace *ns, const char *from, const char *to)
{
	struct ts_object *dir, *object, *old;
	const char *name;

	pthread_mutex_lock(&ns->lock);
	dir = walk_parent(ns, from, &name);
	object = child_take(dir, name);
	REQUIRE(object);
	dir = walk_parent(ns, to, &name);
	old = child_take(dir, name);
	if (old)
		old->nlink--;
	child_add(dir, name, object);
	pthread_mutex_unlock(&ns->lock);
}

void ts_ns_exchange(struct ts_namespace *ns, const char *one, const char *two)
{
	struct ts_object *dir[2], *object[2];
	const char *name[2];

	pthread_mutex_lock(&ns->lock);
	dir[0] = walk_parent(ns, one, &name[0]);
	dir[1] = walk_parent(ns, two, &name[1]);
	for (int i = 0; i < 2; i++) {
		object[i] = child_take(dir[i], name[i]);
		REQUIRE(object[i]);
	}
	for (int i = 0; i < 2; i++)
		child_add(dir[i], name[i], object[1 - i]);
	pthread_mutex_unlock(&ns->lock);
}

struct pathcache_reply ts_ns_reply(struct ts_namespace *ns, const char *path)
{
	struct pathcache_reply reply = {.size = sizeof(reply)};
	struct ts_child *child;
	struct ts_object *dir;
	const char *name;

	pthread_mutex_lock(&ns->lock);
	dir = walk_parent(ns, path, &name);
	child = *child_find(dir, name, strlen(name));
	REQUIRE(child);
	fill_reply(child->object, &reply);
	child->object->handed_out++;
	pthread_mutex_unlock(&ns->lock);
	return reply;
}

void ts_ns_only_for(struct ts_namespace *ns, const char *path, uint32_t uid)
{
	struct ts_child *child;
	struct ts_object *dir;
	const char *name;

	pthread_mutex_lock(&ns->lock);
	dir = walk_parent(ns, path, &name);
	child = *child_find(dir, name, strlen(name));
	REQUIRE(child);
	child->only_uid = uid;
	pthread_mutex_unlock(&ns->lock);
}

void ts_ns_set(struct ts_namespace *ns, const char *path, uint32_t mode, uint64_t size)
{
	struct ts_child *child;
	struct ts_object *dir;
	const char *name;

	pthread_mutex_lock(&ns->lock);
	dir = walk_parent(ns, path, &name);
	child = *child_find(dir, name, strlen(name));
	REQUIRE(child);
	child->object->mode = (child->object->mode & S_IFMT) | mode;
	child->object->size = size;
	child->object->mtime++;
	pthread_mutex_unlock(&ns->lock);
}

uint64_t ts_ns_calls(struct ts_namespace *ns, enum ts_call call)
{
	uint64_t calls;

	pthread_mutex_lock(&ns->lock);
	calls = ns->calls[call];
	pthread_mutex_unlock(&ns->lock);
	return calls;
}

int64_t ts_ns_unreleased(struct ts_namespace *ns)
{
	int64_t sum = 0;

	pthread_mutex_lock(&ns->lock);
	for (struct ts_object *object = ns->all; object; object = object->next_all)
		sum += (int64_t)(object->handed_out - object->released);
	pthread_mutex_unlock(&ns->lock);
	return sum;
}
