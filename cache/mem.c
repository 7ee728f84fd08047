/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "mem.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "pathcache.h"

#define COSTS 512u /* sizes whose cost is remembered: all but those of arrays and long texts */

struct pc_mem {
	struct pathcache_allocator alloc;
	_Atomic(uint64_t) bytes[PC_MEM_CLASSES];
	uint16_t cost[COSTS]; /* const */
#if PC_JEMALLOC
	struct extents *extents; /* NULL with the application's allocator */
	unsigned arena;
#endif
};

#if PC_JEMALLOC
#include <jemalloc/jemalloc.h>

#define EXTENT_ALIGN ((size_t)2 << 20) /* a huge page */
#define PAGE ((size_t)4096)

/* idle: for each page, whether the allocator has no use for it. */
struct range {
	char *base;
	size_t size;
	bool *idle;
};

/* The ranges mapped for an arena. hooks must come first: jemalloc hands it back. */
struct extents {
	extent_hooks_t hooks;
	pthread_mutex_t lock;
	struct range *ranges;
	size_t n, max;
	uint64_t budget; /* the largest since less than it was mapped */
	bool huge_option, huge;
};

static bool range_add(struct extents *e, void *base, size_t size, bool idle)
{
	bool *pages = malloc(size / PAGE);

	if (!pages)
		return false;
	memset(pages, idle, size / PAGE);
	if (e->n == e->max) {
		size_t max = e->max ? e->max * 2 : 16;
		struct range *r = realloc(e->ranges, max * sizeof(*r));

		if (!r) {
			free(pages);
			return false;
		}
		e->ranges = r;
		e->max = max;
	}
	e->ranges[e->n++] = (struct range){.base = base, .size = size, .idle = pages};
	return true;
}

/* mmap size bytes at a multiple of align, which is at least a huge page. */
static void *map_aligned(size_t size, size_t align)
{
	char *p = mmap(NULL, size + align, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
	               0);
	char *base;

	if (p == MAP_FAILED)
		return NULL;
	base = (char *)(((uintptr_t)p + align - 1) & ~(uintptr_t)(align - 1));
	if (base > p)
		munmap(p, (size_t)(base - p));
	munmap(base + size, align - (size_t)(base - p));
	return base;
}

static void *extent_alloc(extent_hooks_t *hooks, void *at, size_t size, size_t align, bool *zero,
                          bool *commit, unsigned arena)
{
	struct extents *e = (struct extents *)hooks;
	void *p;

	(void)arena;
	if (at)
		return NULL;
	p = map_aligned(size, align > EXTENT_ALIGN ? align : EXTENT_ALIGN);
	if (!p)
		return NULL;
	pthread_mutex_lock(&e->lock);
	if (range_add(e, p, size, !*commit)) {
		madvise(p, size, e->huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	} else {
		munmap(p, size);
		p = NULL;
	}
	pthread_mutex_unlock(&e->lock);
	*zero = true;
	return p;
}

/* Ranges are kept until the arena goes: jemalloc keeps them for reuse. */
static bool extent_keep(extent_hooks_t *hooks, void *p, size_t size, bool committed, unsigned arena)
{
	(void)hooks, (void)p, (void)size, (void)committed, (void)arena;
	return true;
}

/* What two ranges were may be one to jemalloc. */
static void mark_locked(struct extents *e, const char *p, size_t len, bool idle)
{
	for (size_t i = 0; i < e->n; i++) {
		const struct range *r = &e->ranges[i];
		const char *from = p > r->base ? p : r->base;
		const char *to = p + len < r->base + r->size ? p + len : r->base + r->size;

		if (from < to)
			memset(r->idle + (size_t)(from - r->base) / PAGE, idle,
			       (size_t)(to - from) / PAGE);
	}
}

static bool extent_commit(extent_hooks_t *hooks, void *p, size_t size, size_t offset, size_t len,
                          unsigned arena)
{
	struct extents *e = (struct extents *)hooks;

	(void)size, (void)arena;
	pthread_mutex_lock(&e->lock);
	mark_locked(e, (char *)p + offset, len, false);
	pthread_mutex_unlock(&e->lock);
	return false;
}

static bool extent_decommit(extent_hooks_t *hooks, void *p, size_t size, size_t offset, size_t len,
                            unsigned arena)
{
	struct extents *e = (struct extents *)hooks;

	(void)size, (void)arena;
	if (madvise((char *)p + offset, len, MADV_DONTNEED))
		return true;
	pthread_mutex_lock(&e->lock);
	mark_locked(e, (char *)p + offset, len, true);
	pthread_mutex_unlock(&e->lock);
	return false;
}

static bool extent_split(extent_hooks_t *hooks, void *p, size_t size, size_t a, size_t b,
                         bool committed, unsigned arena)
{
	(void)hooks, (void)p, (void)size, (void)a, (void)b, (void)committed, (void)arena;
	return false;
}

static bool extent_merge(extent_hooks_t *hooks, void *a, size_t an, void *b, size_t bn,
                         bool committed, unsigned arena)
{
	(void)hooks, (void)a, (void)an, (void)b, (void)bn, (void)committed, (void)arena;
	/* Address space is contiguous by the caller's check; separate mmaps merge harmlessly. */
	return false;
}

static int arena_create(struct pc_mem *m, uint64_t budget, bool huge_pages)
{
	struct extents *e = calloc(1, sizeof(*e));
	extent_hooks_t *hooks;
	size_t len = sizeof(m->arena);

	if (!e)
		return -ENOMEM;
	e->hooks.alloc = extent_alloc;
	e->hooks.dalloc = extent_keep;
	e->hooks.commit = extent_commit;
	e->hooks.decommit = extent_decommit;
	e->hooks.split = extent_split;
	e->hooks.merge = extent_merge;
	e->budget = budget;
	e->huge_option = huge_pages;
	e->huge = huge_pages;
	pthread_mutex_init(&e->lock, NULL);
	hooks = &e->hooks;
	if (mallctl("arenas.create", &m->arena, &len, &hooks, sizeof(hooks)) != 0) {
		free(e);
		return -ENOMEM;
	}
	m->extents = e;
	return 0;
}

/* name: of arena 0's. */
static void arena_control(const struct pc_mem *m, const char *name)
{
	size_t mib[3], n = 3;

	if (mallctlnametomib(name, mib, &n) == 0) {
		mib[1] = m->arena;
		mallctlbymib(mib, n, NULL, NULL, NULL, 0);
	}
}

static void arena_destroy(struct pc_mem *m)
{
	struct extents *e = m->extents;

	arena_control(m, "arena.0.destroy");
	for (size_t i = 0; i < e->n; i++) {
		munmap(e->ranges[i].base, e->ranges[i].size);
		free(e->ranges[i].idle);
	}
	pthread_mutex_destroy(&e->lock);
	free(e->ranges);
	free(e);
}

static void advise_locked(struct extents *e, bool huge)
{
	if (huge == e->huge)
		return;
	e->huge = huge;
	for (size_t i = 0; i < e->n; i++)
		madvise(e->ranges[i].base, e->ranges[i].size,
		        huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

static void extents_limit(struct extents *e, uint64_t budget)
{
	uint64_t mapped = 0;

	pthread_mutex_lock(&e->lock);
	for (size_t i = 0; i < e->n; i++)
		mapped += e->ranges[i].size;
	if (budget > e->budget || budget >= mapped)
		e->budget = budget;
	advise_locked(e, e->huge_option && budget >= e->budget);
	pthread_mutex_unlock(&e->lock);
}

/* Where a huge page was made of a few pages in use, those beside them came back. */
static void range_drop_idle(const struct range *r)
{
	size_t n = r->size / PAGE;

	for (size_t i = 0, to; i < n; i = to) {
		for (to = i + 1; to < n && r->idle[to] == r->idle[i];)
			to++;
		if (r->idle[i])
			madvise(r->base + i * PAGE, (to - i) * PAGE, MADV_DONTNEED);
	}
}

static void arena_trim(const struct pc_mem *m)
{
	struct extents *e = m->extents;

	arena_control(m, "arena.0.purge");
	pthread_mutex_lock(&e->lock);
	for (size_t i = 0; i < e->n; i++)
		range_drop_idle(&e->ranges[i]);
	pthread_mutex_unlock(&e->lock);
}

static int arena_flags(const struct pc_mem *m, size_t size)
{
	int flags = (int)(MALLOCX_ARENA(m->arena) | MALLOCX_TCACHE_NONE);

	if (size % 64 == 0)
		return flags | MALLOCX_ALIGN(64);
	/* Larger ones are aligned so without asking, which is quicker. */
	return size < 16 ? flags | MALLOCX_ALIGN(16) : flags;
}

static void *builtin_alloc(struct pc_mem *m, size_t size)
{
	return mallocx(size, arena_flags(m, size) | MALLOCX_ZERO);
}

static void builtin_free(struct pc_mem *m, void *ptr, size_t size)
{
	sdallocx(ptr, size, arena_flags(m, size));
}

static size_t builtin_cost(const struct pc_mem *m, size_t size)
{
	return nallocx(size, arena_flags(m, size));
}
#else
static int arena_create(struct pc_mem *m, uint64_t budget, bool huge_pages)
{
	(void)m, (void)budget, (void)huge_pages;
	return 0;
}

static void *builtin_alloc(struct pc_mem *m, size_t size)
{
	void *p = aligned_alloc(size % 64 == 0 ? 64 : 16, (size + 15) & ~(size_t)15);

	(void)m;
	if (p)
		memset(p, 0, size);
	return p;
}

static void builtin_free(struct pc_mem *m, void *ptr, size_t size)
{
	(void)m, (void)size;
	free(ptr);
}

static size_t builtin_cost(const struct pc_mem *m, size_t size)
{
	(void)m;
	return (size + 15) & ~(size_t)15;
}
#endif

int pc_mem_create(struct pc_mem **out, const struct pathcache_allocator *alloc, uint64_t budget,
                  bool huge_pages)
{
	struct pc_mem *m = calloc(1, sizeof(*m));
	int rc = 0;

	if (!m)
		return -ENOMEM;
	if (alloc)
		m->alloc = *alloc;
	else
		rc = arena_create(m, budget, huge_pages);
	if (rc) {
		free(m);
		return rc;
	}
	for (size_t size = 1; size < COSTS; size++)
		m->cost[size] = (uint16_t)(alloc ? size : builtin_cost(m, size));
	*out = m;
	return 0;
}

void pc_mem_destroy(struct pc_mem *m)
{
#if PC_JEMALLOC
	if (m->extents)
		arena_destroy(m);
#endif
	free(m);
}

size_t pc_mem_cost(const struct pc_mem *m, size_t size)
{
	if (size < COSTS)
		return m->cost[size];
	return m->alloc.alloc ? size : builtin_cost(m, size);
}

void pc_mem_count(struct pc_mem *m, enum pc_mem_class cls, size_t size)
{
	atomic_fetch_add_explicit(&m->bytes[cls], pc_mem_cost(m, size), memory_order_relaxed);
}

void *pc_alloc_counted(struct pc_mem *m, enum pc_mem_class cls, size_t size)
{
	void *p;

	if (m->alloc.alloc) {
		p = m->alloc.alloc(m->alloc.ctx, size);
		if (p)
			memset(p, 0, size);
	} else {
		p = builtin_alloc(m, size);
	}
	if (!p)
		atomic_fetch_sub_explicit(&m->bytes[cls], pc_mem_cost(m, size),
		                          memory_order_relaxed);
	return p;
}

void *pc_alloc(struct pc_mem *m, enum pc_mem_class cls, size_t size)
{
	pc_mem_count(m, cls, size);
	return pc_alloc_counted(m, cls, size);
}

void pc_free(struct pc_mem *m, enum pc_mem_class cls, void *ptr, size_t size)
{
	if (!ptr)
		return;
	atomic_fetch_sub_explicit(&m->bytes[cls], pc_mem_cost(m, size), memory_order_relaxed);
	if (m->alloc.free)
		m->alloc.free(m->alloc.ctx, ptr, size);
	else
		builtin_free(m, ptr, size);
}

uint64_t pc_mem_bytes_of(const struct pc_mem *m, enum pc_mem_class cls)
{
	return atomic_load_explicit(&m->bytes[cls], memory_order_relaxed);
}

uint64_t pc_mem_bytes(const struct pc_mem *m)
{
	uint64_t sum = 0;

	for (int cls = 0; cls < PC_MEM_CLASSES; cls++)
		sum += pc_mem_bytes_of(m, (enum pc_mem_class)cls);
	return sum;
}

void pc_mem_limit(struct pc_mem *m, uint64_t budget)
{
#if PC_JEMALLOC
	if (m->extents)
		extents_limit(m->extents, budget);
#else
	(void)m, (void)budget;
#endif
}

void pc_mem_trim(struct pc_mem *m)
{
#if PC_JEMALLOC
	if (m->extents)
		arena_trim(m);
#else
	(void)m;
#endif
}

int pc_mem_protect(struct pc_mem *m, bool readonly)
{
#if PC_JEMALLOC
	struct extents *e = m->extents;

	if (!e)
		return -ENOTSUP;
	for (size_t i = 0; i < e->n; i++)
		if (mprotect(e->ranges[i].base, e->ranges[i].size,
		             readonly ? PROT_READ : PROT_READ | PROT_WRITE))
			return -errno;
	return 0;
#else
	(void)m, (void)readonly;
	return -ENOTSUP;
#endif
}

#if PC_TESTING
#if PC_JEMALLOC
static uint64_t range_resident(const struct range *r)
{
	size_t pages = r->size / PAGE;
	unsigned char *in = malloc(pages);
	uint64_t n = 0;

	if (in && mincore(r->base, r->size, in) == 0)
		for (size_t i = 0; i < pages; i++)
			n += in[i] & 1;
	free(in);
	return n * PAGE;
}

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

void pc_mem_collapse(struct pc_mem *m)
{
	struct extents *e = m->extents;

	if (!e)
		return;
	pthread_mutex_lock(&e->lock);
	for (size_t i = 0; i < e->n; i++)
		for (size_t at = 0; at < e->ranges[i].size; at += EXTENT_ALIGN)
			madvise(e->ranges[i].base + at, EXTENT_ALIGN, MADV_COLLAPSE);
	pthread_mutex_unlock(&e->lock);
}

uint64_t pc_mem_resident(struct pc_mem *m)
{
	struct extents *e = m->extents;
	uint64_t sum = 0;

	if (!e)
		return 0;
	pthread_mutex_lock(&e->lock);
	for (size_t i = 0; i < e->n; i++)
		sum += range_resident(&e->ranges[i]);
	pthread_mutex_unlock(&e->lock);
	return sum;
}
#else
void pc_mem_collapse(struct pc_mem *m)
{
	(void)m;
}

uint64_t pc_mem_resident(struct pc_mem *m)
{
	(void)m;
	return 0;
}
#endif
#endif
