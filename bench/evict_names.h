/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A trace as a cache of names sees it, which keeps a name in a directory as one
 * entry, whichever paths lead over it. One thread.
 */
#ifndef BENCH_EVICT_NAMES_H
#define BENCH_EVICT_NAMES_H

#include "recorded.h"
#include "requests.h"

/* A record of all that a trace found, as if nothing had changed. Return: 0; -errno. */
int evict_names_make(struct recorded *tree, const struct traces *traces);

/*
 * The names that walks of a trace's paths look up, up to the first that is
 * absent. A query is a hit when all of its names are.
 * tree: made of the same trace. Return: 0; -ENOMEM.
 */
int evict_names_requests(struct requests *names, const struct requests *trace,
                         const struct recorded *tree);

#endif
