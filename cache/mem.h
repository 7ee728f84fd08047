/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * mem: the cache's memory and its byte count.
 *
 * One jemalloc arena per cache, whose extents this file maps itself: so it can
 * ask for huge pages, give all of it back at close, and, for the test of zero
 * stores, make all of it read-only. Built with PC_JEMALLOC=0, or given an
 * allocator by the application, memory comes from there instead.
 *
 * Context: any thread; may be called with the change lock held. Sizes in bytes.
 */
#ifndef PC_MEM_H
#define PC_MEM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pathcache_allocator;

/* What memory is for; each is counted apart. */
enum pc_mem_class {
	PC_MEM_DENTRY,   /* names that lead to something */
	PC_MEM_NEGATIVE, /* names known to be absent */
	PC_MEM_NODE,     /* objects and texts of links */
	PC_MEM_LISTING,  /* whole directories' names */
	PC_MEM_MEMO,     /* walks remembered, and their table */
	PC_MEM_TABLE,    /* tables of names and objects, slots */
	PC_MEM_OTHER,    /* questions under way, descriptors, the cache itself */
	PC_MEM_CLASSES
};

/* Lives outside the memory it hands out. */
struct pc_mem;

/* Return: 0; -ENOMEM. alloc: NULL for the built-in allocator. */
int pc_mem_create(struct pc_mem **out, const struct pathcache_allocator *alloc, uint64_t budget,
                  bool huge_pages);

/* Everything still allocated goes with it. */
void pc_mem_destroy(struct pc_mem *m);

/* Zeroed, aligned to 16 bytes, to 64 when size is a multiple of 64. NULL when there is none. */
void *pc_alloc(struct pc_mem *m, enum pc_mem_class cls, size_t size);

/*
 * The same in two steps, for who may take memory only within limits and does not
 * hold the change lock while it is made: count it, then take what was counted.
 */
void pc_mem_count(struct pc_mem *m, enum pc_mem_class cls, size_t size);
void *pc_alloc_counted(struct pc_mem *m, enum pc_mem_class cls, size_t size);

/* cls, size: as asked for. ptr may be NULL. */
void pc_free(struct pc_mem *m, enum pc_mem_class cls, void *ptr, size_t size);

/* What an object of size takes, as counted by pc_mem_bytes(). */
size_t pc_mem_cost(const struct pc_mem *m, size_t size);

/* Bytes allocated now, or counted. */
uint64_t pc_mem_bytes(const struct pc_mem *m);
uint64_t pc_mem_bytes_of(const struct pc_mem *m, enum pc_mem_class cls);

/*
 * The budget, which has changed. While it is smaller than one under which more than
 * it was mapped, huge pages are advised against: the kernel may make a whole one at any
 * time where one page of it is in use, and what was given back would be in memory again.
 */
void pc_mem_limit(struct pc_mem *m, uint64_t budget);

/* Give free pages back to the system now; the built-in allocator does so by itself after seconds. */
void pc_mem_trim(struct pc_mem *m);

/* Make all of it read-only, or writable again. Return: 0; -ENOTSUP without own extents; -errno. */
int pc_mem_protect(struct pc_mem *m, bool readonly);

#if PC_TESTING
/* Bytes of own extents that are in memory; 0 without own extents. */
uint64_t pc_mem_resident(struct pc_mem *m);

/* Do now what khugepaged would in the end, where it may: make huge pages of those in part in use. */
void pc_mem_collapse(struct pc_mem *m);
#endif

#endif
