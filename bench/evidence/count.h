/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Counts the accesses to memory of code that was compiled with gcc's calls for
 * its thread sanitizer: count.c, count_atomic.c and count_libc.c are what those
 * calls reach, in place of the sanitizer's library. Nothing is sampled and
 * nothing is scaled: the same code on the same data gives the same numbers on
 * every machine.
 *
 *	count_own(...)            whose memory is whose; the rest is shared
 *	count_begin()  ... count_end(&count)
 *
 * Not seen: what the compiler keeps in registers or spills, code compiled
 * without those calls (inline assembly, libraries). Of libraries the memory and
 * string functions and the locks of libc are counted, and calls of its allocator
 * as such: see unseen.
 *
 * One thread counts; what others do meanwhile is not counted.
 */
#ifndef EVIDENCE_COUNT_H
#define EVIDENCE_COUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum count_owner {
	COUNT_SHARED, /* what no range says: the heap, globals */
	COUNT_STACK,  /* not counted: locals, that may as well be in registers */
	COUNT_OWN,    /* the thread's alone: thread-local storage, the caller's buffers */
	COUNT_TOLD,   /* written by the thread alone and read by others, seldom */
};

/*
 * In words: an access of up to 8 bytes is one, a larger one is one for each 8
 * bytes. Atomic loads and stores are loads and stores. Stack aside.
 */
struct count {
	uint64_t loads;
	uint64_t stores;
	uint64_t shared_stores; /* of stores */
	uint64_t own_stores;    /* of stores: to COUNT_TOLD */
	uint64_t rmw;           /* atomic read-modify-writes, failed ones too */
	uint64_t fences;        /* full fences of their own */
	uint64_t unseen;        /* calls of the allocator, whose accesses are not counted */
	uint64_t lines;         /* distinct lines of 64 bytes */
	uint64_t shared_lines;  /* of lines */
};

enum { COUNT_LINE = 64 };

/* Say whose the bytes are. Later ranges go before earlier ones. At most 64. */
void count_own(const void *begin, size_t size, enum count_owner owner);

/* The calling thread's stack and thread-local storage. */
void count_own_thread(void);

/* Drop ranges but for the first n. Return: how many there were. */
size_t count_own_reset(size_t n);

void count_begin(void);
void count_end(struct count *out);

/* ---- for the parts of the runtime ---- */

void count_load(const volatile void *at, size_t size);
void count_store(const volatile void *at, size_t size);
void count_rmw(const volatile void *at);
void count_fence(void);
void count_unseen(void);

#endif
