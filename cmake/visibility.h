/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Included by the compiler before each source of cache/. The library is built
 * with hidden visibility, which a symbol map cannot undo, so the declarations
 * of the public header, and no others, are made visible here: the header then
 * needs no macro on each function.
 */
#ifndef PATHCACHE_VISIBILITY_H
#define PATHCACHE_VISIBILITY_H

#pragma GCC visibility push(default)
#include "pathcache.h"
#pragma GCC visibility pop

#endif
