/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The example of README.md, which shows the lines between the two marks. */
/* README begins */
#include <pathcache.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : "/usr/bin/env";
	struct pathcache_attr attr;
	struct pathcache *cache;
	int error = pathcache_open(&cache, "/", NULL);

	if (error)
		return fprintf(stderr, "/: %s\n", strerror(-error)), 2;
	for (int i = 0; i < 2 && !error; i++) /* from the kernel, then from memory */
		error = pathcache_stat(cache, path, NULL, &attr);
	if (error)
		fprintf(stderr, "%s: %s\n", path, strerror(-error));
	else
		printf("%s: %llu bytes\n", path, (unsigned long long)attr.size);
	pathcache_invalidate_path(cache, path); /* "I have changed it" */
	pathcache_close(cache);
	return error ? 1 : 0;
}
/* README ends */
