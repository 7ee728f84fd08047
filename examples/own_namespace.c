/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An application's own namespace behind a cache: a small tree of keys and
 * values in memory, where a real one would sit behind a network.
 *
 * Shows: the callbacks of struct pathcache_ops, a hit, a link, a name known to
 * be absent, permission by credentials, changes that are announced, an answer
 * that is one caller's own, and handles that are given back. Each line of
 * output tells how often the store was asked.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pathcache.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the store ---- */

/* value: the text of a file or link; a directory has children instead. */
struct item {
	char name[32];
	char value[64];
	uint64_t id;
	uint32_t mode;
	uint32_t uid;
	struct item *children;
	struct item *next; /* in the same directory */
	int handles;       /* how many the cache holds; an item lives that long */
};

struct store {
	pthread_mutex_t lock; /* several threads may miss at once */
	struct item root;
	uint64_t last_id;
	unsigned int questions;
	int handles; /* of all items */
};

static struct item *find(struct item *dir, const char *name)
{
	struct item *item = dir->children;

	while (item && strcmp(item->name, name))
		item = item->next;
	return item;
}

static struct item *add(struct store *store, struct item *dir, const char *name, uint32_t mode,
                        uint32_t uid, const char *value)
{
	struct item *item = calloc(1, sizeof(*item));

	if (!item)
		abort();
	snprintf(item->name, sizeof(item->name), "%s", name);
	snprintf(item->value, sizeof(item->value), "%s", value);
	item->mode = mode;
	item->uid = uid;
	pthread_mutex_lock(&store->lock);
	item->id = ++store->last_id;
	item->next = dir->children;
	dir->children = item;
	pthread_mutex_unlock(&store->lock);
	return item;
}

/* Take an item out. The cache may still hold a handle, so release() frees it. */
static void take_out(struct store *store, struct item *dir, const char *name)
{
	struct item **link = &dir->children;
	struct item *item;

	pthread_mutex_lock(&store->lock);
	while (*link && strcmp((*link)->name, name))
		link = &(*link)->next;
	item = *link;
	if (item) {
		*link = item->next;
		item->next = NULL;
		item->mode = 0; /* not in the tree any more */
		if (!item->handles)
			free(item);
	}
	pthread_mutex_unlock(&store->lock);
}

static void free_children(struct item *dir)
{
	while (dir->children) {
		struct item *item = dir->children;

		dir->children = item->next;
		free_children(item);
		free(item);
	}
}

/* ---- the callbacks ---- */

static void fill_attr(const struct item *item, struct pathcache_attr *attr)
{
	attr->mask = PATHCACHE_ATTR_MODE | PATHCACHE_ATTR_UID | PATHCACHE_ATTR_GID |
	             PATHCACHE_ATTR_SIZE | PATHCACHE_ATTR_INO;
	attr->mode = item->mode;
	attr->uid = item->uid;
	attr->gid = item->uid;
	attr->ino = item->id;
	attr->size = strlen(item->value);
}

/* Each reply hands out one handle, which release() gives back. */
static void fill_reply(struct store *store, struct item *item, struct pathcache_reply *reply)
{
	fill_attr(item, &reply->attr);
	reply->object.id = item->id;
	reply->object.handle = item;
	if (S_ISLNK(item->mode)) {
		reply->link = item->value;
		reply->link_len = (uint32_t)strlen(item->value);
	}
	item->handles++;
	store->handles++;
}

/* "me" is a link to the caller's own home: another one for each uid. */
static struct item *own_home(struct item *homes, const struct pathcache_cred *cred)
{
	char name[32];

	snprintf(name, sizeof(name), "me-%u", cred->uid);
	return find(homes, name);
}

static int store_lookup(void *ctx, const struct pathcache_object *dir, const char *name, size_t len,
                        const struct pathcache_cred *cred, struct pathcache_reply *reply)
{
	struct store *store = ctx;
	struct item *item;

	(void)len;
	pthread_mutex_lock(&store->lock);
	store->questions++;
	if (!strcmp(name, "me")) {
		item = own_home(dir->handle, cred);
		reply->flags = PATHCACHE_REPLY_PRIVATE;
	} else {
		item = find(dir->handle, name);
	}
	if (item)
		fill_reply(store, item, reply);
	pthread_mutex_unlock(&store->lock);
	return item ? 0 : -ENOENT;
}

static int store_getattr(void *ctx, const struct pathcache_object *obj,
                         const struct pathcache_cred *cred, struct pathcache_reply *reply)
{
	struct store *store = ctx;
	struct item *item = obj->handle;
	int error = -ESTALE;

	(void)cred;
	pthread_mutex_lock(&store->lock);
	store->questions++;
	if (item->mode) {
		fill_attr(item, &reply->attr);
		error = 0;
	}
	pthread_mutex_unlock(&store->lock);
	return error;
}

static void store_release(void *ctx, const struct pathcache_object *obj)
{
	struct store *store = ctx;
	struct item *item = obj->handle;

	pthread_mutex_lock(&store->lock);
	store->handles--;
	if (!--item->handles && !item->mode)
		free(item);
	pthread_mutex_unlock(&store->lock);
}

static const struct pathcache_ops store_ops = {
	.size = sizeof(store_ops),
	.lookup = store_lookup,
	.getattr = store_getattr,
	.release = store_release,
};

/* ---- the tour ---- */

static void show(struct store *store, struct pathcache *cache, uint32_t uid, const char *path)
{
	const struct pathcache_cred cred = {.size = sizeof(cred), .uid = uid, .gid = uid};
	const struct pathcache_how how = {.size = sizeof(how), .cred = &cred};
	unsigned int before = store->questions;
	struct pathcache_attr attr;
	char canonical[256];
	int error = pathcache_stat(cache, path, &how, &attr);
	ssize_t length = error;

	if (!error)
		length = pathcache_realpath(cache, path, &how, canonical, sizeof(canonical));
	if (length < 0)
		printf("uid %u: %s: %s", uid, path, strerror((int)-length));
	else
		printf("uid %u: %s is %s, %llu bytes", uid, path, canonical,
		       (unsigned long long)attr.size);
	printf(" (asked the store %u times)\n", store->questions - before);
}

static void plant(struct store *store)
{
	struct item *root = &store->root;
	struct item *home = add(store, root, "home", S_IFDIR | 0755, 0, "");
	struct item *alice = add(store, home, "alice", S_IFDIR | 0700, 1000, "");
	struct item *bob = add(store, home, "bob", S_IFDIR | 0700, 1001, "");

	add(store, alice, "note", S_IFREG | 0600, 1000, "buy milk");
	add(store, bob, "note", S_IFREG | 0600, 1001, "feed the cat");
	add(store, home, "me-1000", S_IFLNK | 0777, 0, "alice");
	add(store, home, "me-1001", S_IFLNK | 0777, 0, "bob");
	add(store, root, "motd", S_IFREG | 0644, 0, "hello");
	add(store, root, "today", S_IFLNK | 0777, 0, "motd");
}

static void tour(struct store *store, struct pathcache *cache)
{
	struct pathcache_reply what = {.size = sizeof(what)};

	puts("- a miss, then a hit");
	show(store, cache, 1000, "/home/alice/note");
	show(store, cache, 1000, "/home/alice/note");
	puts("- a link");
	show(store, cache, 1000, "/today");
	show(store, cache, 1000, "/today");
	puts("- permission is judged from memory, for each caller");
	show(store, cache, 1001, "/home/alice/note");
	puts("- a name known to be absent");
	show(store, cache, 1000, "/news");
	show(store, cache, 1000, "/news");
	puts("- it is made: unknown to the cache until announced, and then without a question");
	add(store, &store->root, "news", S_IFREG | 0644, 0, "it works");
	show(store, cache, 1000, "/news");
	pthread_mutex_lock(&store->lock);
	fill_reply(store, find(&store->root, "news"), &what);
	pthread_mutex_unlock(&store->lock); /* release() takes it */
	pathcache_created(cache, NULL, "news", &what);
	show(store, cache, 1000, "/news");
	puts("- it is removed, and that is announced");
	take_out(store, &store->root, "news");
	pathcache_removed(cache, NULL, "news");
	show(store, cache, 1000, "/news");
	puts("- a directory is renamed: what is below it goes with it");
	pthread_mutex_lock(&store->lock);
	strcpy(find(&store->root, "home")->name, "people");
	pathcache_renamed(cache, NULL, "home", NULL, "people", 0);
	pthread_mutex_unlock(&store->lock);
	show(store, cache, 1000, "/home/alice/note");
	show(store, cache, 1000, "/people/alice/note");
	puts("- an answer that is one caller's own is never given to another");
	show(store, cache, 1000, "/people/me/note");
	show(store, cache, 1001, "/people/me/note");
}

int main(void)
{
	struct store store = {.lock = PTHREAD_MUTEX_INITIALIZER, .last_id = 1};
	struct pathcache_reply root = {.size = sizeof(root)};
	struct pathcache *cache;
	int error;

	store.root = (struct item){.id = 1, .mode = S_IFDIR | 0755};
	plant(&store);
	fill_reply(&store, &store.root, &root);
	error = pathcache_open_ops(&cache, &store_ops, &store, &root, NULL);
	if (error) {
		fprintf(stderr, "pathcache_open_ops: %s\n", strerror(-error));
		return 1;
	}
	tour(&store, cache);
	error = pathcache_close(cache);
	if (error)
		fprintf(stderr, "pathcache_close: %s\n", strerror(-error));
	printf("handles the cache still holds: %d\n", store.handles);
	free_children(&store.root);
	return error || store.handles || fflush(stdout) ? 1 : 0;
}
