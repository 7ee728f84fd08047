/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A workload with an end, such as a scan through a cold cache, gone through once
 * a round by each rival.
 *
 * A round begins every rival anew and then takes them through the workload by
 * turns of a few milliseconds, each from a place of its own and round from the
 * end to the start. So drift of the machine hits all alike, and none finds in
 * the CPU's caches what another has just brought there. One thread.
 *
 *   begin of each - turns of all until all are through - end of each
 */
#ifndef BENCH_PASSES_H
#define BENCH_PASSES_H

#include "harness.h"

#include <stddef.h>

/*
 * begin, end: not timed; NULL for none. step: operations first to first + count - 1.
 * Each returns 0 or a negative errno, which ends the run. end is called for every
 * rival whose begin succeeded.
 */
struct bench_pass {
	const char *mode;
	void *arg;
	int (*begin)(void *arg);
	int (*step)(void *arg, size_t first, size_t count);
	int (*end)(void *arg);
};

/* ops: of the whole workload. turn: operations in one go. A warm-up round comes before. */
struct bench_passes {
	const struct bench_pass *passes;
	size_t npasses;
	size_t ops;
	size_t turn;
	unsigned int rounds;
};

/* results: one a rival, in their order. Return: 0; -EINVAL; -ENOMEM; the error of a rival. */
int bench_passes_run(const struct bench_passes *plan, struct bench_result *results);

#endif
