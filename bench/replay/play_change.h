/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The changes of a recording; shared by the files of play.h alone. */
#ifndef BENCH_PLAY_CHANGE_H
#define BENCH_PLAY_CHANGE_H

#include "play.h"

/*
 * Make the change as the program did. What is not recorded is chosen: see
 * docs/benchmarks.md.
 * change: what was made; path NULL where nothing was, as in opening for O_CREAT
 *   what is there already.
 * Return: 0; -errno.
 */
int play_change(struct play *play, const struct operation *op, struct change *change);

#endif
