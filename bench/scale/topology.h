/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The CPUs that this process may run on: which share a core and a package, and
 * in what order threads are to fill them. Read from /sys/devices/system; where
 * that is not to be seen, each CPU is taken for a core of one package.
 */
#ifndef SCALE_TOPOLOGY_H
#define SCALE_TOPOLOGY_H

#include <stddef.h>

enum {
	TOPOLOGY_CPUS = 1024, /* as many as a cpu_set_t holds */
	TOPOLOGY_CACHES = 8,
};

struct topology_cpu {
	int cpu;
	int package;
	int node;
	int core;
	int rank; /* among the CPUs of its core that are ours, from 0 */
};

struct topology_cache {
	int level;
	char type[16]; /* Data, Instruction, Unified */
	char size[16]; /* as the kernel writes it: 32K */
	char shared[128];
};

/*
 * cpu: in the order in which threads fill them: one of each core, package by
 *   package; then the second of each core, and so on.
 */
struct topology {
	struct topology_cpu cpu[TOPOLOGY_CPUS];
	int order[TOPOLOGY_CPUS]; /* numbers of the above */
	size_t ncpus;
	size_t packages, nodes, cores;
	struct topology_cache cache[TOPOLOGY_CACHES]; /* of the first CPU */
	size_t ncaches;
	int known; /* whether /sys told */
};

/*
 * sys: "/sys/devices/system", or a folder like it.
 * cpus: a list like 0-3,8, or NULL for those that this process may run on.
 * Return: 0; -errno; -ENODATA: no CPU.
 */
int topology_read(struct topology *topology, const char *sys, const char *cpus);

/*
 * Numbers of threads for a sweep: 1, 2, 3, 4, 6, 8, 12, ... and those where
 * something begins: all cores of a package, all cores, all CPUs, half as many
 * more and twice as many. Ascending. Return: how many, at most max.
 */
size_t topology_counts(const struct topology *topology, unsigned int *counts, size_t max);

/* What the machine is, as JSON. floor_ns: of a system call. Return: 0; -errno. */
int topology_write(const struct topology *topology, double floor_ns, const char *path);

#endif
