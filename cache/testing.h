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

#endif
