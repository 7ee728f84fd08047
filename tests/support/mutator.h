/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Processes that change a real tree all the time: create, remove, rename,
 * exchange, link, swap symlinks, chmod, write, truncate, mount over and unmount.
 * They stop between two changes when told, so that what the cache says can be
 * compared with what the kernel says of a tree that stands still.
 *
 * All names come from one small set, at any depth, so that names change their
 * type, paths come and go with directories above them, and most lookups have
 * something to find.
 */
#ifndef TS_MUTATOR_H
#define TS_MUTATOR_H

#include "run.h"
#include "tree.h"

#define TS_MUTATORS 2u
#define TS_MUTATOR_DEPTH 4u
#define TS_MUTATOR_PATH 64u

struct ts_mutators {
	struct ts_mutators_shared *shared;
	pid_t pid[TS_MUTATORS];
};

/* What a run leaves out; a set of bits. */
#define TS_NO_MOUNTS 0x1u
/*
 * Hard links only beside the first name, under names of their own that stay at
 * least until the next pause: what no watch of a directory tells is left out.
 */
#define TS_NEAR_LINKS 0x2u

/* Fork; before any thread. They start paused. */
void ts_mutators_start(struct ts_mutators *m, const struct ts_tree *tree, unsigned flags);
void ts_mutators_stop(struct ts_mutators *m);

/* Return when each stands still, its last change made. */
void ts_mutators_pause(struct ts_mutators *m);
void ts_mutators_go_on(struct ts_mutators *m);

/* Changes made so far that the kernel did not refuse. */
uint64_t ts_mutators_changes(const struct ts_mutators *m);

/* A path of 1 to TS_MUTATOR_DEPTH such names, maybe of nothing. */
void ts_mutator_path(struct ts_rng *rng, char path[TS_MUTATOR_PATH]);

#endif
