/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A program that knows the installed header alone. */
#include <pathcache.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
	struct pathcache *cache;
	struct pathcache_attr attr;
	int err = pathcache_open(&cache, "/", NULL);

	if (err) {
		fprintf(stderr, "pathcache_open: %s\n", strerror(-err));
		return 1;
	}
	err = pathcache_stat(cache, "/etc/passwd", NULL, &attr);
	if (err || !(attr.mask & PATHCACHE_ATTR_SIZE) || attr.size == 0) {
		fprintf(stderr, "pathcache_stat: %s, size %llu\n", strerror(-err),
		        err ? 0ULL : (unsigned long long)attr.size);
		return 1;
	}
	err = pathcache_close(cache);
	if (err) {
		fprintf(stderr, "pathcache_close: %s\n", strerror(-err));
		return 1;
	}
	return 0;
}
