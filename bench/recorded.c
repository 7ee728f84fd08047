/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "recorded.h"

#include "harness.h"
#include "paths.h"
#include "peer_hash.h"
#include "stat_attr.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	LINKS_MAX = 39, /* after the first one; path_resolution(7) */
};

/* ---- items ---- */

static uint32_t bucket_of(const struct recorded *tree, uint32_t dir, const char *name, size_t len)
{
	return (uint32_t)XXH3_64bits_withSeed(name, len, dir) & (tree->capacity - 1);
}

static uint32_t find_child(const struct recorded *tree, uint32_t dir, const char *name, size_t len)
{
	uint32_t i = tree->buckets[bucket_of(tree, dir, name, len)];

	for (; i != RECORDED_NONE; i = tree->items[i].next) {
		const struct recorded_item *item = &tree->items[i];

		if (item->parent == dir && item->name_len == len && !memcmp(item->name, name, len))
			return i;
	}
	return RECORDED_NONE;
}

static void hash_in(struct recorded *tree, uint32_t i)
{
	struct recorded_item *item = &tree->items[i];
	uint32_t b = bucket_of(tree, item->parent, item->name, item->name_len);

	item->next = tree->buckets[b];
	tree->buckets[b] = i;
}

/* As many buckets as places for items: a power of two. */
static int grow(struct recorded *tree)
{
	uint32_t capacity = tree->capacity ? tree->capacity * 2 : 1024;
	struct recorded_item *items = realloc(tree->items, capacity * sizeof(*items));
	uint32_t *buckets;

	if (!items)
		return -ENOMEM;
	tree->items = items;
	buckets = realloc(tree->buckets, capacity * sizeof(*buckets));
	if (!buckets)
		return -ENOMEM;
	tree->buckets = buckets;
	tree->capacity = capacity;
	memset(buckets, 0xff, capacity * sizeof(*buckets));
	for (uint32_t i = 1; i < tree->count; i++)
		hash_in(tree, i);
	return 0;
}

static uint32_t add_item(struct recorded *tree, uint32_t dir, const char *name, size_t len,
                         const struct pathcache_attr *attr, const char *link)
{
	struct recorded_item *item;

	if (tree->count == tree->capacity && grow(tree))
		return RECORDED_NONE;
	item = &tree->items[tree->count];
	*item = (struct recorded_item){
		.name = strndup(name, len),
		.link = link ? strdup(link) : NULL,
		.name_len = (uint32_t)len,
		.parent = dir,
		.attr = *attr,
	};
	if (!item->name || (link && !item->link)) {
		free(item->name);
		free(item->link);
		return RECORDED_NONE;
	}
	if (tree->count)
		hash_in(tree, tree->count);
	return tree->count++;
}

uint32_t recorded_make(struct recorded *tree, uint32_t dir, const char *name,
                       const struct pathcache_attr *like)
{
	struct pathcache_attr attr = *like;
	uint32_t item;

	attr.ino = (UINT64_C(1) << 48) + tree->count;
	item = add_item(tree, dir, name, strlen(name), &attr, NULL);
	if (item != RECORDED_NONE)
		tree->items[item].made = true;
	return item;
}

/* ---- paths ---- */

uint32_t recorded_find(const struct recorded *tree, const char *path)
{
	uint32_t item = 0;

	for (path += strspn(path, "/"); *path; path += strspn(path, "/")) {
		size_t len = strcspn(path, "/");

		if (len == 2 && !strncmp(path, "..", 2))
			item = tree->items[item].parent;
		else
			item = find_child(tree, item, path, len);
		if (item == RECORDED_NONE)
			break;
		path += len;
	}
	return item;
}

static uint32_t follow(const struct recorded *tree, uint32_t link, int links)
{
	const char *text = tree->items[link].link;
	uint32_t item = *text == '/' ? 0 : tree->items[link].parent;

	for (text += strspn(text, "/"); *text; text += strspn(text, "/")) {
		size_t len = strcspn(text, "/");

		if (len == 2 && !strncmp(text, "..", 2))
			item = tree->items[item].parent;
		else if (len != 1 || *text != '.')
			item = find_child(tree, item, text, len);
		if (item != RECORDED_NONE && tree->items[item].link)
			item = links ? follow(tree, item, links - 1) : RECORDED_NONE;
		if (item == RECORDED_NONE)
			break;
		text += len;
	}
	return item;
}

uint32_t recorded_resolve(const struct recorded *tree, uint32_t link)
{
	return follow(tree, link, LINKS_MAX);
}

size_t recorded_path(const struct recorded *tree, uint32_t copy, uint32_t item, char *buf,
                     size_t size)
{
	uint32_t chain[PATH_MAX / 2];
	size_t depth = 0, at = 0;

	buf[0] = '\0';
	for (; item; item = tree->items[item].parent)
		chain[depth++] = item;
	if (copy || !depth)
		at = (size_t)(copy ? snprintf(buf, size, "/m%u", copy) : snprintf(buf, size, "/"));
	while (depth && at < size) {
		int n = snprintf(buf + at, size - at, "/%s", tree->items[chain[--depth]].name);

		at += (size_t)n;
	}
	return at;
}

/* The number of the copy that name in the root leads to, or 0. */
static uint32_t copy_of(const struct recorded *tree, const char *name, size_t len)
{
	uint32_t copy = 0;

	if (len < 2 || len > 8 || name[0] != 'm')
		return 0;
	for (size_t i = 1; i < len; i++) {
		if (name[i] < '0' || name[i] > '9')
			return 0;
		copy = copy * 10 + (uint32_t)(name[i] - '0');
	}
	return copy <= tree->copies ? copy : 0;
}

bool recorded_is_real(const struct recorded *tree, const char *path)
{
	uint32_t item;

	if (copy_of(tree, path + 1, strcspn(path + 1, "/")))
		return false;
	item = recorded_find(tree, path);
	return item == RECORDED_NONE || !tree->items[item].made;
}

static uint64_t id_of(const struct recorded *tree, uint32_t copy, uint32_t item)
{
	return 1 + (uint64_t)copy * tree->count + item;
}

static struct pathcache_attr attr_of(const struct recorded *tree, uint64_t id)
{
	struct pathcache_attr attr = tree->items[(id - 1) % tree->count].attr;

	/* A number that no file of this machine has. */
	if (id > tree->count)
		attr.ino = (UINT64_C(1) << 49) + id;
	return attr;
}

int recorded_stat(const struct recorded *tree, const char *path, struct pathcache_attr *attr)
{
	size_t top = strcspn(path + 1, "/");
	uint32_t copy = copy_of(tree, path + 1, top);
	uint32_t item = recorded_find(tree, copy ? path + 1 + top : path);

	if (item == RECORDED_NONE)
		return -ENOENT;
	*attr = attr_of(tree, id_of(tree, copy, item));
	return 0;
}

int recorded_at(const struct recorded *tree, const char **path)
{
	if (tree->base_fd < 0)
		return AT_FDCWD;
	*path = (*path)[1] ? *path + 1 : ".";
	return tree->base_fd;
}

int recorded_ask_kernel(const struct recorded *tree, const char *path, uint64_t flags,
                        struct stat *st)
{
	int at_flags = flags & PATHCACHE_NOFOLLOW ? AT_SYMLINK_NOFOLLOW : 0;
	int fd = recorded_at(tree, &path);

	return fstatat(fd, path, st, at_flags) ? -errno : 0;
}

int recorded_ask_access(const struct recorded *tree, const char *path)
{
	int fd = recorded_at(tree, &path);

	return faccessat(fd, path, R_OK, 0) ? -errno : 0;
}

/* ---- recording ---- */

static ssize_t read_link(const struct recorded *tree, const char *path, char *buf, size_t size)
{
	bool based = tree->base_fd >= 0;
	ssize_t n = readlinkat(based ? tree->base_fd : AT_FDCWD, based ? path + 1 : path, buf,
	                       size - 1);

	buf[n > 0 ? n : 0] = '\0';
	return n;
}

/* Return: 0, also for a file that is gone by now; -ENOMEM. */
static int record(struct recorded *tree, const char *path)
{
	const char *slash = strrchr(path, '/');
	char parent[PATH_MAX], link[PATH_MAX];
	struct pathcache_attr attr;
	struct stat st;
	uint32_t dir;

	if (!slash[1] || recorded_find(tree, path) != RECORDED_NONE)
		return 0;
	snprintf(parent, sizeof(parent), "%.*s", (int)(slash - path), path);
	dir = recorded_find(tree, parent);
	if (dir == RECORDED_NONE || recorded_ask_kernel(tree, path, PATHCACHE_NOFOLLOW, &st))
		return 0;
	if (S_ISLNK(st.st_mode) && read_link(tree, path, link, sizeof(link)) <= 0)
		return 0;
	attr = stat_attr(&st);
	if (add_item(tree, dir, slash + 1, strlen(slash + 1), &attr,
	             S_ISLNK(st.st_mode) ? link : NULL) == RECORDED_NONE)
		return -ENOMEM;
	return 0;
}

/* The directories above path, each named by its physical path. */
static int record_above(struct recorded *tree, const char *path)
{
	char prefix[PATH_MAX];
	int error = 0;

	for (const char *at = path; !error && (at = strchr(at + 1, '/'));) {
		snprintf(prefix, sizeof(prefix), "%.*s", (int)(at - path), path);
		error = record(tree, prefix);
	}
	return error;
}

int recorded_init(struct recorded *tree, const char *base)
{
	struct pathcache_attr attr;
	struct stat st;

	*tree = (struct recorded){.base_fd = -1};
	if (base) {
		tree->base_fd = open(base, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (tree->base_fd < 0)
			return -errno;
	}
	if (recorded_ask_kernel(tree, "/", 0, &st))
		return -errno;
	attr = stat_attr(&st);
	if (add_item(tree, 0, "", 0, &attr, NULL) == RECORDED_NONE)
		return -ENOMEM;
	tree->first = 1;
	return 0;
}

int recorded_collect(struct recorded *tree, const char *dir, size_t max, const char *progress)
{
	char based[PATH_MAX];
	struct bench_paths set;
	size_t skip = 0;
	int error;

	if (tree->base_fd >= 0) {
		/* The listing names files from "/", the record from the base. */
		snprintf(based, sizeof(based), "/proc/self/fd/%d", tree->base_fd);
		char *base = realpath(based, NULL);

		if (!base)
			return -errno;
		skip = strlen(base);
		snprintf(based, sizeof(based), "%s%s", base, dir[1] ? dir : "");
		free(base);
		dir = based;
	}
	error = bench_paths_collect(&set, dir, max, progress);
	if (error)
		return error;
	if (set.count && set.path[0][skip])
		error = record_above(tree, set.path[0] + skip);
	tree->first = tree->count;
	for (size_t i = 0; i < set.count && !error; i++) {
		const char *path = set.path[i] + skip;

		error = *path ? record(tree, path) : 0;
	}
	bench_paths_fini(&set);
	return error;
}

void recorded_fini(struct recorded *tree)
{
	for (uint32_t i = 0; i < tree->count; i++) {
		free(tree->items[i].name);
		free(tree->items[i].link);
	}
	free(tree->items);
	free(tree->buckets);
	if (tree->base_fd >= 0)
		close(tree->base_fd);
	*tree = (struct recorded){.base_fd = -1};
}

/* ---- the namespace ---- */

static void fill_reply(const struct recorded *tree, uint64_t id, struct pathcache_reply *reply)
{
	const char *link = tree->items[(id - 1) % tree->count].link;

	reply->object.id = id;
	reply->attr = attr_of(tree, id);
	if (link) {
		reply->link = link;
		reply->link_len = (uint32_t)strlen(link);
	}
}

static int view_lookup(void *ctx, const struct pathcache_object *dir, const char *name, size_t len,
                       const struct pathcache_cred *cred, struct pathcache_reply *reply)
{
	const struct recorded_view *view = ctx;
	const struct recorded *tree = view->tree;
	uint32_t copy = (uint32_t)((dir->id - 1) / tree->count);
	uint32_t item = (uint32_t)((dir->id - 1) % tree->count);

	(void)cred;
	if (!copy && item == view->dir && view->from && atomic_load(&view->moved)) {
		if (!strcmp(name, view->from))
			return -ENOENT;
		if (!strcmp(name, view->to)) {
			name = view->from;
			len = strlen(name);
		}
	}
	if (!copy && !item && copy_of(tree, name, len)) {
		fill_reply(tree, id_of(tree, copy_of(tree, name, len), 0), reply);
		return 0;
	}
	item = find_child(tree, item, name, len);
	if (item == RECORDED_NONE)
		return -ENOENT;
	fill_reply(tree, id_of(tree, copy, item), reply);
	return 0;
}

static int view_getattr(void *ctx, const struct pathcache_object *obj,
                        const struct pathcache_cred *cred, struct pathcache_reply *reply)
{
	const struct recorded_view *view = ctx;

	(void)cred;
	fill_reply(view->tree, obj->id, reply);
	return 0;
}

int recorded_open(struct pathcache **out, struct recorded_view *view,
                  const struct pathcache_options *options)
{
	static const struct pathcache_ops ops = {
		.size = sizeof(ops),
		.lookup = view_lookup,
		.getattr = view_getattr,
	};
	struct pathcache_reply root = {.size = sizeof(root)};

	fill_reply(view->tree, 1, &root);
	return pathcache_open_ops(out, &ops, view, &root, options);
}
