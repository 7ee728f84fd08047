/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * usage: plugin LIBRARY
 * A program whose plug-in brings the library: loaded, used by a thread, unloaded; then
 * it forks, and threads that once used the library end (L18).
 */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pathcache.h"

static struct {
	int (*open)(struct pathcache **, const char *, const struct pathcache_options *);
	int (*stat)(struct pathcache *, const char *, const struct pathcache_how *,
	            struct pathcache_attr *);
	int (*close)(struct pathcache *);
} lib;

static sem_t used, may_end;

static void use(void)
{
	struct pathcache_attr attr;
	struct pathcache *cache;

	if (lib.open(&cache, "/", NULL) || lib.stat(cache, "usr", NULL, &attr) || lib.close(cache))
		exit(1);
}

static void *thread_main(void *arg)
{
	use();
	sem_post(&used);
	sem_wait(&may_end);
	return arg;
}

static void *need(void *handle, const char *name)
{
	void *p = handle ? dlsym(handle, name) : NULL;

	if (!p) {
		fprintf(stderr, "%s\n", dlerror());
		exit(2);
	}
	return p;
}

int main(int argc, char **argv)
{
	void *handle = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	pthread_t thread;
	int status;
	pid_t pid;

	*(void **)&lib.open = need(handle, "pathcache_open");
	*(void **)&lib.stat = need(handle, "pathcache_stat");
	*(void **)&lib.close = need(handle, "pathcache_close");
	sem_init(&used, 0, 0);
	sem_init(&may_end, 0, 0);
	if (pthread_create(&thread, NULL, thread_main, NULL))
		return 2;
	sem_wait(&used);
	use();
	if (dlclose(handle))
		return 3;
	pid = fork();
	if (pid == 0)
		exit(0); /* with all handlers */
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		return 4;
	sem_post(&may_end);
	pthread_join(thread, NULL);
	return 0;
}
