/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "topology.h"

#include "machine.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

/* ---- files of one line ---- */

__attribute__((format(printf, 3, 4))) static int read_line(char *out, size_t size,
                                                           const char *format, ...)
{
	char path[PATH_MAX];
	va_list args;
	FILE *file;

	va_start(args, format);
	vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	*out = '\0';
	file = fopen(path, "re");
	if (!file)
		return -errno;
	if (!fgets(out, (int)size, file))
		*out = '\0';
	fclose(file);
	out[strcspn(out, "\n")] = '\0';
	return *out ? 0 : -ENODATA;
}

/* Return: -1 when the file is not there. */
static int read_id(const char *sys, int cpu, const char *name)
{
	char text[32];

	if (read_line(text, sizeof(text), "%s/cpu/cpu%d/topology/%s", sys, cpu, name))
		return -1;
	return atoi(text);
}

/* Is n in a list like 0-3,8? */
static int is_in_list(const char *list, int n)
{
	for (const char *at = list; *at >= '0' && *at <= '9';) {
		char *end;
		long from = strtol(at, &end, 10), to = from;

		if (*end == '-')
			to = strtol(end + 1, &end, 10);
		if (n >= from && n <= to)
			return 1;
		at = *end == ',' ? end + 1 : end;
	}
	return 0;
}

static int node_of(const char *sys, int cpu)
{
	char online[256], list[1024];

	if (read_line(online, sizeof(online), "%s/node/online", sys))
		return 0;
	for (int node = 0; node < TOPOLOGY_CPUS; node++) {
		if (is_in_list(online, node) &&
		    !read_line(list, sizeof(list), "%s/node/node%d/cpulist", sys, node) &&
		    is_in_list(list, cpu))
			return node;
	}
	return 0;
}

/* ---- CPUs ---- */

static void read_cpu(struct topology *topology, const char *sys, int cpu)
{
	struct topology_cpu *it = &topology->cpu[topology->ncpus++];
	int package = read_id(sys, cpu, "physical_package_id"), core = read_id(sys, cpu, "core_id");

	*it = (struct topology_cpu){.cpu = cpu, .core = cpu, .node = node_of(sys, cpu)};
	if (core < 0)
		return;
	topology->known = 1;
	it->core = core;
	/* -1 is the kernel's word for one that it does not know. */
	it->package = package < 0 ? 0 : package;
}

static int same_core(const struct topology_cpu *a, const struct topology_cpu *b)
{
	return a->package == b->package && a->node == b->node && a->core == b->core;
}

static void count_parts(struct topology *topology)
{
	for (size_t i = 0; i < topology->ncpus; i++) {
		struct topology_cpu *it = &topology->cpu[i];
		int new_package = 1, new_node = 1;

		it->rank = 0;
		for (size_t j = 0; j < i; j++) {
			it->rank += same_core(it, &topology->cpu[j]);
			new_package &= it->package != topology->cpu[j].package;
			new_node &= it->node != topology->cpu[j].node;
		}
		topology->packages += (size_t)new_package;
		topology->nodes += (size_t)new_node;
		topology->cores += it->rank == 0;
	}
}

static int compare_cpus(const void *a, const void *b)
{
	const struct topology_cpu *x = a, *y = b;
	const int keys[][2] = {
		{x->rank, y->rank}, {x->package, y->package}, {x->node, y->node},
		{x->core, y->core}, {x->cpu, y->cpu},
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		if (keys[i][0] != keys[i][1])
			return keys[i][0] < keys[i][1] ? -1 : 1;
	}
	return 0;
}

static void read_caches(struct topology *topology, const char *sys)
{
	int cpu = topology->cpu[0].cpu;

	for (int i = 0; i < TOPOLOGY_CACHES; i++) {
		struct topology_cache *cache = &topology->cache[topology->ncaches];
		char level[16];

		if (read_line(level, sizeof(level), "%s/cpu/cpu%d/cache/index%d/level", sys, cpu,
		              i))
			break;
		cache->level = atoi(level);
		read_line(cache->type, sizeof(cache->type), "%s/cpu/cpu%d/cache/index%d/type", sys,
		          cpu, i);
		read_line(cache->size, sizeof(cache->size), "%s/cpu/cpu%d/cache/index%d/size", sys,
		          cpu, i);
		read_line(cache->shared, sizeof(cache->shared),
		          "%s/cpu/cpu%d/cache/index%d/shared_cpu_list", sys, cpu, i);
		topology->ncaches++;
	}
}

int topology_read(struct topology *topology, const char *sys, const char *cpus)
{
	cpu_set_t set;

	*topology = (struct topology){.ncpus = 0};
	if (!cpus && sched_getaffinity(0, sizeof(set), &set))
		return -errno;
	for (int cpu = 0; cpu < TOPOLOGY_CPUS; cpu++) {
		if (cpus ? is_in_list(cpus, cpu) : CPU_ISSET((size_t)cpu, &set))
			read_cpu(topology, sys, cpu);
	}
	if (!topology->ncpus)
		return -ENODATA;
	count_parts(topology);
	qsort(topology->cpu, topology->ncpus, sizeof(topology->cpu[0]), compare_cpus);
	for (size_t i = 0; i < topology->ncpus; i++)
		topology->order[i] = topology->cpu[i].cpu;
	read_caches(topology, sys);
	return 0;
}

/* ---- numbers of threads ---- */

static int compare_counts(const void *a, const void *b)
{
	unsigned int x = *(const unsigned int *)a, y = *(const unsigned int *)b;

	return (x > y) - (x < y);
}

size_t topology_counts(const struct topology *topology, unsigned int *counts, size_t max)
{
	unsigned int cpus = (unsigned int)topology->ncpus, cores = (unsigned int)topology->cores;
	const unsigned int marks[] = {cores / (unsigned int)topology->packages, cores, cpus,
	                              cpus + (cpus + 1) / 2, cpus * 2};
	size_t n = 0, kept = 0;

	for (unsigned int two = 1; two < cpus && n + 8 < max; two *= 2) {
		counts[n++] = two;
		if (two >= 2 && two + two / 2 < cpus)
			counts[n++] = two + two / 2;
	}
	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks) && n < max; i++)
		counts[n++] = marks[i];
	qsort(counts, n, sizeof(*counts), compare_counts);
	for (size_t i = 0; i < n; i++) {
		if (counts[i] && (!kept || counts[i] != counts[kept - 1]))
			counts[kept++] = counts[i];
	}
	return kept;
}

/* ---- JSON ---- */

/* A text of the system's; what could end it or begin an escape goes. */
static void write_text(FILE *out, const char *key, const char *text)
{
	fprintf(out, "  \"%s\": \"", key);
	for (; *text; text++) {
		if (*text != '"' && *text != '\\' && (unsigned char)*text >= ' ')
			fputc(*text, out);
	}
	fputs("\",\n", out);
}

static void write_caches(const struct topology *topology, FILE *out)
{
	fputs("  \"caches\": [", out);
	for (size_t i = 0; i < topology->ncaches; i++) {
		const struct topology_cache *cache = &topology->cache[i];

		fprintf(out,
		        "%s\n    {\"level\": %d, \"type\": \"%s\", \"size\": \"%s\", "
		        "\"cpus\": \"%s\"}",
		        i ? "," : "", cache->level, cache->type, cache->size, cache->shared);
	}
	fputs(topology->ncaches ? "\n  ],\n" : "],\n", out);
}

static void write_cpus(const struct topology *topology, FILE *out)
{
	fputs("  \"threads_go_to\": [", out);
	for (size_t i = 0; i < topology->ncpus; i++) {
		const struct topology_cpu *it = &topology->cpu[i];

		fprintf(out,
		        "%s\n    {\"cpu\": %d, \"package\": %d, \"node\": %d, \"core\": %d, "
		        "\"of_core\": %d}",
		        i ? "," : "", it->cpu, it->package, it->node, it->core, it->rank);
	}
	fputs("\n  ]\n", out);
}

static void write_machine(FILE *out)
{
	char text[128], date[32] = "";
	time_t now = time(NULL);
	struct utsname uts;
	struct tm tm;

	if (gmtime_r(&now, &tm))
		strftime(date, sizeof(date), "%Y-%m-%dT%H:%MZ", &tm);
	uname(&uts);
	write_text(out, "date", date);
	write_text(out, "line", machine_line());
	write_text(out, "kernel", uts.release);
	write_text(out, "architecture", uts.machine);
	read_line(text, sizeof(text), "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
	write_text(out, "governor", *text ? text : "unknown");
	read_line(text, sizeof(text), "/sys/kernel/mm/transparent_hugepage/enabled");
	write_text(out, "huge_pages", *text ? text : "unknown");
}

int topology_write(const struct topology *topology, double floor_ns, const char *path)
{
	FILE *out = fopen(path, "we");
	int bad;

	if (!out)
		return -errno;
	fputs("{\n", out);
	write_machine(out);
	fprintf(out,
	        "  \"getppid_ns\": %.1f,\n  \"told_by_sys\": %s,\n  \"cpus\": %zu,\n  \"cores\": %zu,\n"
	        "  \"packages\": %zu,\n  \"nodes\": %zu,\n",
	        floor_ns, topology->known ? "true" : "false", topology->ncpus, topology->cores,
	        topology->packages, topology->nodes);
	write_caches(topology, out);
	write_cpus(topology, out);
	fputs("}\n", out);
	bad = ferror(out);
	return fclose(out) || bad ? -EIO : 0;
}
