/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Do threads fill a machine of two packages, four cores each, two threads each as they should? */
#include "topology.h"

#include "staged.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int failures;

static void expect(const char *what, size_t got, size_t want)
{
	if (got == want)
		return;
	fprintf(stderr, "%s is %zu, not %zu\n", what, got, want);
	failures++;
}

static void write_file(const struct staged *staged, const char *path, const char *text)
{
	int fd;

	if (staged_add_parents(staged, path))
		return;
	fd = openat(staged->fd, path + 1, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		perror(path);
	if (fd >= 0)
		close(fd);
}

/* As Linux numbers them: all cores of both packages first, then their second threads. */
static void stage(const struct staged *staged)
{
	char path[128], text[32];

	for (int cpu = 0; cpu < 16; cpu++) {
		snprintf(path, sizeof(path), "/cpu/cpu%d/topology/physical_package_id", cpu);
		snprintf(text, sizeof(text), "%d\n", cpu % 8 / 4);
		write_file(staged, path, text);
		snprintf(path, sizeof(path), "/cpu/cpu%d/topology/core_id", cpu);
		snprintf(text, sizeof(text), "%d\n", cpu % 4);
		write_file(staged, path, text);
	}
	write_file(staged, "/node/online", "0-1\n");
	write_file(staged, "/node/node0/cpulist", "0-3,8-11\n");
	write_file(staged, "/node/node1/cpulist", "4-7,12-15\n");
	write_file(staged, "/cpu/cpu0/cache/index0/level", "1\n");
	write_file(staged, "/cpu/cpu0/cache/index0/type", "Data\n");
	write_file(staged, "/cpu/cpu0/cache/index0/size", "32K\n");
	write_file(staged, "/cpu/cpu0/cache/index0/shared_cpu_list", "0,8\n");
}

static void whole_machine(const char *sys)
{
	static const unsigned int counts_wanted[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32};
	struct topology topology;
	unsigned int counts[32];
	size_t n;

	expect("topology_read()", (size_t)topology_read(&topology, sys, "0-15"), 0);
	expect("CPUs", topology.ncpus, 16);
	expect("cores", topology.cores, 8);
	expect("packages", topology.packages, 2);
	expect("nodes", topology.nodes, 2);
	expect("caches", topology.ncaches, 1);
	/* Which is the order of their numbers. */
	for (int i = 0; i < 16; i++)
		expect("place in the order", (size_t)topology.order[i], (size_t)i);
	n = topology_counts(&topology, counts, 32);
	expect("numbers of threads", n, 10);
	for (size_t i = 0; i < n && i < 10; i++)
		expect("a number of threads", counts[i], counts_wanted[i]);
}

/* A process that may not run everywhere: cores 0 and 1, both threads, and core 4, the second. */
static void part_of_it(const char *sys)
{
	static const int wanted[] = {0, 1, 12, 8, 9};
	struct topology topology;

	expect("topology_read()", (size_t)topology_read(&topology, sys, "0-1,8-9,12"), 0);
	expect("CPUs", topology.ncpus, 5);
	expect("cores", topology.cores, 3);
	for (size_t i = 0; i < 5; i++)
		expect("place in the order", (size_t)topology.order[i], (size_t)wanted[i]);
}

static void nothing_told(void)
{
	struct topology topology;
	unsigned int counts[32];

	expect("topology_read()", (size_t)topology_read(&topology, "/nonexistent", "2-3"), 0);
	expect("cores", topology.cores, 2);
	expect("packages", topology.packages, 1);
	expect("known", (size_t)topology.known, 0);
	expect("numbers of threads", topology_counts(&topology, counts, 32), 4);
}

int main(void)
{
	struct staged staged;

	if (staged_init(&staged))
		return 1;
	stage(&staged);
	whole_machine(staged.dir);
	part_of_it(staged.dir);
	nothing_told();
	staged_fini(&staged);
	if (!failures)
		puts("threads go where they should");
	return failures ? 1 : 0;
}
