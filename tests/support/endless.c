/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "endless.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "run.h"

#define ROOT 1u

/* An object's type is the lowest bits of its id. */
enum kind { DIRECTORY = 1, PLAIN, LINK };

static uint32_t mode_of(uint64_t id)
{
	switch ((enum kind)(id & 3)) {
	case DIRECTORY:
		return S_IFDIR | 0755;
	case LINK:
		return S_IFLNK | 0777;
	case PLAIN:
		break;
	}
	return S_IFREG | 0644;
}

static uint64_t mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static uint64_t id_of(uint64_t dir, const char *name, size_t len, enum kind kind)
{
	uint64_t id = mix(dir + 77);

	for (size_t i = 0; i < len; i++)
		id = mix(id + (unsigned char)name[i] + 1);
	return (id & ~UINT64_C(3)) | kind;
}

static void reply_fill(struct ts_endless *ns, uint64_t id, struct pathcache_reply *reply)
{
	reply->object = (struct pathcache_object){.id = id, .generation = 1, .handle = ns};
	reply->attr = (struct pathcache_attr){.mask = PATHCACHE_ATTR_BASIC,
	                                      .mode = mode_of(id),
	                                      .nlink = 1,
	                                      .ino = id,
	                                      .dev = 1,
	                                      .size = ns->size};
}

static int endless_lookup(void *ctx, const struct pathcache_object *dir, const char *name,
                          size_t len, const struct pathcache_cred *cred,
                          struct pathcache_reply *reply)
{
	static _Thread_local char text[256];
	struct ts_endless *ns = ctx;

	(void)cred;
	ns->calls++;
	switch (name[0]) {
	case 'd':
		reply_fill(ns, id_of(dir->id, name, len, DIRECTORY), reply);
		break;
	case 'f':
		reply_fill(ns, id_of(dir->id, name, len, PLAIN), reply);
		break;
	case 'h':
		reply_fill(ns, id_of(0, name, len, PLAIN), reply);
		break;
	case 'l':
		reply_fill(ns, id_of(dir->id, name, len, LINK), reply);
		for (size_t i = 1; i < len; i++)
			text[i - 1] = name[i] == ':' ? '/' : name[i];
		reply->link = text;
		reply->link_len = (uint32_t)len - 1;
		break;
	default:
		return -ENOENT;
	}
	ns->handles++;
	return 0;
}

static int endless_getattr(void *ctx, const struct pathcache_object *obj,
                           const struct pathcache_cred *cred, struct pathcache_reply *reply)
{
	struct ts_endless *ns = ctx;

	(void)cred;
	ns->calls++;
	reply_fill(ns, obj->id, reply);
	return 0;
}

static void endless_release(void *ctx, const struct pathcache_object *obj)
{
	struct ts_endless *ns = ctx;

	(void)obj;
	ns->handles--;
}

static const struct pathcache_ops endless_ops = {
	.size = sizeof(endless_ops),
	.lookup = endless_lookup,
	.getattr = endless_getattr,
	.release = endless_release,
};

void ts_endless_open(struct ts_endless *ns, struct pathcache **out,
                     const struct pathcache_options *opt)
{
	struct pathcache_reply root = {.size = sizeof(root)};

	memset(ns, 0, sizeof(*ns));
	reply_fill(ns, ROOT, &root);
	ns->handles++;
	REQUIRE(pathcache_open_ops(out, &endless_ops, ns, &root, opt) == 0);
}

void ts_endless_close(struct ts_endless *ns, struct pathcache *cache)
{
	CHECK_EQ(pathcache_close(cache), 0);
	CHECK_EQ(ns->handles, 0);
}
