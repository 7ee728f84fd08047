/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fork.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* All const once watching has begun, which is before there is a cache. */
static _Atomic(uint32_t) *mark; /* 1; 0 in a child */
static pid_t owner;             /* where the kernel cannot wipe pages */

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void watch_begin(void)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	owner = getpid();
	if (p == MAP_FAILED)
		return;
	if (madvise(p, size, MADV_WIPEONFORK)) {
		munmap(p, size);
		return;
	}
	mark = p;
	atomic_store_explicit(mark, 1, memory_order_relaxed);
}

bool pc_is_child(void)
{
	if (mark)
		return !atomic_load_explicit(mark, memory_order_relaxed);
	return owner && owner != getpid();
}

int pc_fork_watch(void)
{
	pthread_once(&once, watch_begin);
	return pc_is_child() ? -ECHILD : 0;
}
