/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "machine.h"

#include "harness.h"

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { FLOOR_BATCH = 32 };

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

/* Some kernels tell no model. */
static void cpu_model(char *out, size_t size)
{
	FILE *info = fopen("/proc/cpuinfo", "re");
	char line[256];

	snprintf(out, size, "model unknown");
	if (!info)
		return;
	while (fgets(line, sizeof(line), info)) {
		char *colon = strchr(line, ':');

		if (colon && !strncmp(line, "model name", 10)) {
			snprintf(out, size, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
			break;
		}
	}
	fclose(info);
}

const char *machine_line(void)
{
	static char text[640];
	struct utsname uts;
	char model[96];

	cpu_model(model, sizeof(model));
	uname(&uts);
	snprintf(text, sizeof(text), "%u CPUs (%s), threads %s; %s, %s; liburcu %s; %s %s %s",
	         bench_cpu_count(), model, bench_is_pinned() ? "pinned" : "not pinned", COMPILER,
	         BENCH_FLAGS, BENCH_URCU_VERSION, uts.sysname, uts.release, uts.machine);
	return text;
}

static uint64_t floor_op(void *arg, struct bench_thread *thread)
{
	(void)arg;
	for (int i = 0; i < FLOOR_BATCH; i++)
		thread->sink += (uint64_t)syscall(SYS_getppid);
	return FLOOR_BATCH;
}

double bench_floor_ns(const struct bench_plan *plan)
{
	const struct bench_variant variant = {.mode = "getppid", .op = floor_op};
	const struct bench_cell cell = {
		.bench = "floor",
		.scenario = "floor",
		.variants = &variant,
		.nvariants = 1,
		.threads = 1,
	};
	struct bench_plan only = *plan;
	struct bench_result result;

	only.latency_ms = 0;
	return bench_run(&only, &cell, &result) ? 0 : result.ns_per_op;
}
