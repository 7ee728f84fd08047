/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "numbers.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { ROOT_ID = 1, LIST_ID = 2 };

#define DIR_ID (UINT64_C(1) << 32)  /* + n */
#define FILE_ID (UINT64_C(1) << 48) /* + (directory's id << 32) + m */

/* The number behind the letter of a name, or -1. */
static int64_t number_of(const char *name, size_t len)
{
	int64_t n = 0;

	if (len < 2 || len > 9)
		return -1;
	for (size_t i = 1; i < len; i++) {
		if (name[i] < '0' || name[i] > '9')
			return -1;
		n = n * 10 + (name[i] - '0');
	}
	return n;
}

/* The object that name means in dir, or 0. */
static uint64_t object_of(uint64_t dir, const char *name, size_t len)
{
	int64_t n = number_of(name, len);

	if (dir == ROOT_ID && len == 4 && !memcmp(name, "list", 4))
		return LIST_ID;
	if (n < 0)
		return 0;
	if (dir == ROOT_ID)
		return name[0] == 'd' ? DIR_ID + (uint64_t)n : 0;
	return name[0] == 'f' ? FILE_ID + ((dir & UINT32_MAX) << 28) + (uint64_t)n : 0;
}

static void describe(uint64_t id, struct pathcache_reply *reply)
{
	reply->object.id = id;
	reply->attr = (struct pathcache_attr){
		.mask = PATHCACHE_ATTR_BASIC,
		.mode = id < FILE_ID ? S_IFDIR | 0755 : S_IFREG | 0644,
		.nlink = 1,
		.blksize = 4096,
		.ino = id,
		.size = id & 0xffff,
		.mtime_sec = 1700000000,
		.ctime_sec = 1700000000,
		.atime_sec = 1700000000,
	};
}

static int numbers_lookup(void *ctx, const struct pathcache_object *dir, const char *name,
                          size_t len, const struct pathcache_cred *cred,
                          struct pathcache_reply *reply)
{
	uint64_t id = object_of(dir->id, name, len);

	(void)ctx, (void)cred;
	if (!id)
		return -ENOENT;
	describe(id, reply);
	return 0;
}

static int numbers_getattr(void *ctx, const struct pathcache_object *obj,
                           const struct pathcache_cred *cred, struct pathcache_reply *reply)
{
	(void)ctx, (void)cred;
	describe(obj->id, reply);
	return 0;
}

static int numbers_readdir(void *ctx, const struct pathcache_object *dir, uint64_t cookie,
                           pathcache_dirent_fn emit, void *arg)
{
	const struct numbers *names = ctx;
	char name[24];

	if (dir->id != LIST_ID)
		return 0;
	for (uint64_t i = cookie; i < names->listed; i++) {
		int len = snprintf(name, sizeof(name), "f%ju", (uintmax_t)i);

		if (emit(arg, name, (size_t)len, object_of(LIST_ID, name, (size_t)len), S_IFREG,
		         i + 1))
			break;
	}
	return 0;
}

int numbers_open(struct pathcache **out, struct numbers *names,
                 const struct pathcache_options *options)
{
	static const struct pathcache_ops ops = {
		.size = sizeof(ops),
		.lookup = numbers_lookup,
		.getattr = numbers_getattr,
		.readdir = numbers_readdir,
	};
	struct pathcache_reply root = {.size = sizeof(root)};

	describe(ROOT_ID, &root);
	return pathcache_open_ops(out, &ops, names, &root, options);
}
