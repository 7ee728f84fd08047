/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "count.h"

#include <link.h>
#include <pthread.h>
#include <string.h>

enum {
	RANGES_MAX = 64,
	LINES_MAX = 4096, /* a power of two, far more than an operation touches */
	TCB_BYTES = 4096, /* the thread's descriptor, behind its storage on x86-64 */
};

struct range {
	uintptr_t begin, end;
	enum count_owner owner;
};

static struct range ranges[RANGES_MAX];
static size_t nranges;

static struct count counts;
static uintptr_t lines[LINES_MAX]; /* line number + 1; 0: free */

/* Of the thread that counts. */
static __thread bool counting;

/* ---- whose memory it is ---- */

void count_own(const void *begin, size_t size, enum count_owner owner)
{
	uintptr_t at = (uintptr_t)begin;

	if (nranges < RANGES_MAX)
		ranges[nranges++] = (struct range){at, at + size, owner};
}

size_t count_own_reset(size_t n)
{
	size_t before = nranges;

	if (n < nranges)
		nranges = n;
	return before;
}

static int own_storage(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type == PT_TLS && info->dlpi_tls_data)
			count_own(info->dlpi_tls_data, info->dlpi_phdr[i].p_memsz, COUNT_OWN);
	}
	return 0;
}

void count_own_thread(void)
{
	pthread_attr_t attr;
	void *stack;
	size_t size;

	if (!pthread_getattr_np(pthread_self(), &attr)) {
		if (!pthread_attr_getstack(&attr, &stack, &size))
			count_own(stack, size, COUNT_STACK);
		pthread_attr_destroy(&attr);
	}
	dl_iterate_phdr(own_storage, NULL);
	count_own((const void *)pthread_self(), TCB_BYTES, COUNT_OWN);
}

static enum count_owner owner_of(uintptr_t at)
{
	for (size_t i = nranges; i-- > 0;) {
		if (at >= ranges[i].begin && at < ranges[i].end)
			return ranges[i].owner;
	}
	return COUNT_SHARED;
}

/* ---- counting ---- */

static void touch_line(uintptr_t line, enum count_owner owner)
{
	size_t i = (line * UINT64_C(0x9e3779b97f4a7c15)) >> 52;

	while (lines[i] && lines[i] != line + 1)
		i = (i + 1) % LINES_MAX;
	if (lines[i])
		return;
	lines[i] = line + 1;
	counts.lines++;
	counts.shared_lines += owner == COUNT_SHARED;
}

static void touch(uintptr_t at, size_t size, enum count_owner owner)
{
	uintptr_t last = (at + (size ? size - 1 : 0)) / COUNT_LINE;

	for (uintptr_t line = at / COUNT_LINE; line <= last; line++)
		touch_line(line, owner);
}

static uint64_t words(size_t size)
{
	return (size + 7) / 8;
}

void count_load(const volatile void *at, size_t size)
{
	enum count_owner owner;

	if (!counting)
		return;
	owner = owner_of((uintptr_t)at);
	if (owner == COUNT_STACK)
		return;
	counts.loads += words(size);
	touch((uintptr_t)at, size, owner);
}

void count_store(const volatile void *at, size_t size)
{
	enum count_owner owner;

	if (!counting)
		return;
	owner = owner_of((uintptr_t)at);
	if (owner == COUNT_STACK)
		return;
	counts.stores += words(size);
	if (owner == COUNT_SHARED)
		counts.shared_stores += words(size);
	if (owner == COUNT_TOLD)
		counts.own_stores += words(size);
	touch((uintptr_t)at, size, owner);
}

void count_rmw(const volatile void *at)
{
	if (!counting)
		return;
	counts.rmw++;
	touch((uintptr_t)at, 1, owner_of((uintptr_t)at));
}

void count_fence(void)
{
	counts.fences += counting;
}

void count_unseen(void)
{
	counts.unseen += counting;
}

void count_begin(void)
{
	memset(lines, 0, sizeof(lines));
	counts = (struct count){0};
	counting = true;
}

void count_end(struct count *out)
{
	counting = false;
	*out = counts;
}

/* ---- what the compiler calls ---- */

void __tsan_init(void);
void __tsan_init(void)
{
}

void __tsan_func_entry(void *pc);
void __tsan_func_entry(void *pc)
{
	(void)pc;
}

void __tsan_func_exit(void);
void __tsan_func_exit(void)
{
}

void __tsan_read_range(void *at, size_t size);
void __tsan_read_range(void *at, size_t size)
{
	count_load(at, size);
}

void __tsan_write_range(void *at, size_t size);
void __tsan_write_range(void *at, size_t size)
{
	count_store(at, size);
}

/* The compiler's own naming: one function for each kind and size. */
#define ACCESS(name, size, count) \
	void __tsan_##name##size(void *at); \
	void __tsan_##name##size(void *at) \
	{ \
		count(at, size); \
	}

#define ACCESSES(kind, count) \
	ACCESS(kind, 1, count) \
	ACCESS(kind, 2, count) \
	ACCESS(kind, 4, count) \
	ACCESS(kind, 8, count) \
	ACCESS(kind, 16, count)

ACCESSES(read, count_load)
ACCESSES(write, count_store)
ACCESSES(unaligned_read, count_load)
ACCESSES(unaligned_write, count_store)
ACCESSES(volatile_read, count_load)
ACCESSES(volatile_write, count_store)
