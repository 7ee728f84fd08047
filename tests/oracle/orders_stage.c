/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A small namespace and a cache of it, many times a second. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "orders.h"
#include "pathcache.h"
#include "run.h"

static void *take(void *ctx, size_t size)
{
	(void)ctx;
	return malloc(size);
}

static void give_back(void *ctx, void *ptr, size_t size)
{
	(void)ctx;
	(void)size;
	free(ptr);
}

/* Of the C library: an arena for each of thousands of caches takes longer than the rest. */
static const struct pathcache_allocator allocator = {take, give_back, NULL};

void orders_stage_open(struct stage *stage, uint32_t mode)
{
	static const char *const dirs[] = {"parent", "parent/directory", "other",
	                                   "other/directory"};
	static const char *const files[] = {"parent/file", "parent/directory/file",
	                                    "other/directory/file"};
	struct pathcache_options opt;

	pathcache_options_init(&opt);
	opt.mode = mode;
	opt.budget = 4 << 20;
	opt.allocator = &allocator;
	ts_ns_init(&stage->ns);
	for (unsigned i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		ts_ns_add(&stage->ns, dirs[i], S_IFDIR | 0755, NULL);
	for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		ts_ns_add(&stage->ns, files[i], S_IFREG | 0644, NULL)->size = 10 + i;
	ts_ns_link(&stage->ns, "parent/file", "other/link-of-file");
	ts_ns_add(&stage->ns, "a-long-link", S_IFLNK | 0777, "parent/directory");
	ts_ns_add(&stage->ns, "spare-link", S_IFLNK | 0777, "other/directory");
	ts_ns_open(&stage->ns, &stage->cache, &opt);
	stage->start = NULL;
	memset(stage->at, 0, sizeof(stage->at));
	stage->text = strdup("other/directory");
}

void orders_stage_close(struct stage *stage)
{
	if (stage->start)
		pathcache_put(stage->cache, stage->start);
	for (unsigned i = 0; i < PLACES; i++)
		if (stage->at[i])
			pathcache_put(stage->cache, stage->at[i]);
	CHECK_EQ(pathcache_close(stage->cache), 0);
	CHECK_EQ(ts_ns_unreleased(&stage->ns), 0);
	ts_ns_fini(&stage->ns);
	free(stage->text);
}
