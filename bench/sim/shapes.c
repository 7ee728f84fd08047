/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "shapes.h"

const struct sim_shape sim_shapes[] = {
	{"open3", "a second worker adds little", "open3/nopause/2", "open3/nopause/1", 1.1, 1.5},
	{"open3", "without pause it rises to a whole socket", "open3/nopause/24", "open3/nopause/8",
         1.05, 0},
	{"open3", "the second socket costs", "open3/nopause/48", "open3/nopause/24", 0, 0.85},
	{"open3", "siblings change nothing", "open3/nopause/96", "open3/nopause/48", 0.85, 1.15},
	{"open3", "pause: no difference at 2", "open3/pause/2", "open3/nopause/2", 0.95, 1.05},
	{"open3", "pause: the peak is before 24", "open3/pause/24", "open3/pause/8", 0, 0.9},
	{"open3", "pause: at 96 less than one worker", "open3/pause/96", "open3/pause/1", 0, 1},
	{"open3", "curves part at 8", "open3/nopause/8", "open3/pause/8", 1.1, 0},
	{"open3", "far apart at 24", "open3/nopause/24", "open3/pause/24", 1.5, 0},
	{"open3", "and at 96", "open3/nopause/96", "open3/pause/96", 1.5, 0},

	{"stat2", "a second worker adds", "stat2/nopause/2", "stat2/nopause/1", 1.2, 1.7},
	{"stat2", "without pause 8 do more than 2", "stat2/nopause/8", "stat2/nopause/2", 1.1, 0},
	{"stat2", "then flat to a whole socket", "stat2/nopause/24", "stat2/nopause/8", 0.85, 1.15},
	{"stat2", "and over the second one", "stat2/nopause/48", "stat2/nopause/24", 0.85, 1.15},
	{"stat2", "siblings add", "stat2/nopause/96", "stat2/nopause/48", 1.1, 0},
	{"stat2", "pause: no difference at 2", "stat2/pause/2", "stat2/nopause/2", 0.95, 1.05},
	{"stat2", "pause: collapses from 2 to 8", "stat2/pause/8", "stat2/pause/2", 0, 0.85},
	{"stat2", "pause: further to 24", "stat2/pause/24", "stat2/pause/8", 0, 0.85},
	{"stat2", "pause: further to 96", "stat2/pause/96", "stat2/pause/24", 0, 0.85},
	{"stat2", "pause: at 24 less than one worker", "stat2/pause/24", "stat2/pause/1", 0, 1},
	{"stat2", "curves are apart at 8", "stat2/nopause/8", "stat2/pause/8", 1.5, 0},
	{"stat2", "and further at 96", "stat2/nopause/96", "stat2/pause/96", 3, 0},

	{"relax", "pause gains a little in a mixed load", "relax/gain/80", NULL, 1.01, 1.15},
	{"relax", "and lowers the share of the lock", "relax/share/80", NULL, 0, 0.6},
	{"limit", "a limit of retries helps on Arm", "limit/thunderx2/224", NULL, 1.3, 2.5},
	{"arm", "a queued lock beats unbounded swaps", "arm/queued/224", NULL, 1.5, 4},

	{"spin", "waiting for the lock helps 24", "spin/wait/24", "spin/stock/24", 2, 0},
	{"spin", "and harms 192", "spin/wait/192", "spin/stock/192", 0, 0.6},
	{"spin", "one look changes little at 192", "spin/one/192", "spin/stock/192", 0.8, 1.1},
	{"degrade", "without waiting it stays degraded", "degrade/after/60", "degrade/before/60", 0,
         0.7},
	{"degrade", "so it does with 100 looks", "degrade/100/60", "degrade/before/60", 0, 0.7},
	{"degrade", "700 looks are too few", "degrade/700/60", "degrade/before/60", 0, 0.7},
	{"degrade", "with 1000 it recovers", "degrade/1000/60", "degrade/before/60", 0.95, 0},

	{"percpu", "as fast for each of 36 as of 18", "percpu/plain/36", "percpu/plain/18", 0.95,
         1.05},
	{"percpu", "siblings share a core", "percpu/plain/72", "percpu/plain/36", 0.4, 0.6},
	{"percpu", "one instruction is safe for free", "percpu/safe/72", "percpu/plain/72", 0.95,
         1.05},
	{"percpu_arm", "as fast for each of 96 as of 24", "percpu/plain/96", "percpu/plain/24",
         0.95, 1.05},
	{"percpu_arm", "atomics cost the same at any count", "percpu/safe/96", "percpu/safe/24",
         0.95, 1.05},

	{"neighbours", "no lock in lookups: 30 times and more", "freebsd/after/104",
         "freebsd/before/104", 30, 0},
	{"neighbours", "the word away from the name helps", "reorder/after/20", "reorder/before/20",
         1.2, 2},
	{"neighbours", "adding beats swapping by little", "file_ref/gain/256", NULL, 1.01, 1.15},
	{"neighbours", "several swaps fail for one", "inc_not_zero/retries/112", NULL, 3, 20},
	{"neighbours", "a count beats a mutex at 24", "hyperclock/gain/24", NULL, 2, 8},
	{"neighbours", "and more at 48", "hyperclock/gain/48", "hyperclock/gain/24", 1.1, 2},

	{"prototype_refs", "adding beats swapping at 2", "prototype/faa/2", "prototype/cas/2", 1.1,
         0},
	{"prototype_refs", "pausing costs a little at 2", "prototype/pause/2", "prototype/cas/2",
         0.85, 1},
	{"prototype_refs", "a spinlock costs more", "prototype/faa/2", "prototype/spinlock/2", 3,
         0},
	{"prototype_refs", "a mutex less than that at 2", "prototype/mutex/2",
         "prototype/spinlock/2", 1.1, 0},
};

const size_t sim_nshapes = sizeof(sim_shapes) / sizeof(sim_shapes[0]);

bool sim_shape_holds(const struct sim_shape *shape, double ratio)
{
	return ratio >= shape->low && (shape->high <= 0 || ratio <= shape->high);
}
