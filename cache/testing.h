/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * testing: doors for tests and for the demo's proof; not in the library.
 */
#ifndef PC_TESTING_H
#define PC_TESTING_H

#include "pathcache.h"

/*
 * Make all memory of the cache read-only, or writable again: a store by
 * anybody then faults. Return: 0; -EOPNOTSUPP without memory of its own; -errno.
 */
int pc_test_protect(struct pathcache *cache, int readonly);

/* Bytes of the cache's own mappings that are in memory. Return: 0 without any of its own. */
uint64_t pc_test_resident(struct pathcache *cache);

/* Take all locks that a call may wait for, or let them go. */
void pc_test_locks(struct pathcache *cache, int taken);

/*
 * Do what khugepaged does in seconds to minutes, and may do at any time: make huge
 * pages where a part of one is in memory. Nothing where the kernel cannot, or may not.
 */
void pc_test_collapse(struct pathcache *cache);

/*
 * Stop the clock of all caches at ms of CLOCK_MONOTONIC, the machine having slept for
 * slept_ms so far. It must not go back. ms 0: the real one again.
 */
void pc_test_clock(uint64_t ms, uint64_t slept_ms);

/* Called between the steps of a rename, change lock held; NULL: not. */
extern void (*pc_test_rename_step)(void);

#endif
