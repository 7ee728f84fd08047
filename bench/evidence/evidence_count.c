/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The half of bench_evidence that counts accesses to memory: its subjects and
 * the library's code in it are compiled for count.c.
 *
 * usage: evidence_count [SCENARIOS [MODES]]   lists with commas; "" for all
 * Prints a line for each subject: scenario, mode, key=value pairs an operation.
 */
#include "count.h"
#include "harness.h"
#include "subjects.h"

#include "thread.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/personality.h>
#include <unistd.h>

enum { REPEATS = 64 };

/* Their sum over all repeats; equal ones give whole numbers. */
static void add(struct count *sum, const struct count *one)
{
	sum->loads += one->loads;
	sum->stores += one->stores;
	sum->shared_stores += one->shared_stores;
	sum->own_stores += one->own_stores;
	sum->rmw += one->rmw;
	sum->fences += one->fences;
	sum->unseen += one->unseen;
	sum->lines += one->lines;
	sum->shared_lines += one->shared_lines;
}

static void print_counts(const struct subject *subject, const struct count *sum)
{
	const struct {
		const char *name;
		uint64_t n;
	} all[] = {
		{"loads", sum->loads},
		{"stores", sum->stores},
		{"shared_stores", sum->shared_stores},
		{"own_stores", sum->own_stores},
		{"rmw", sum->rmw},
		{"fences", sum->fences},
		{"lines", sum->lines},
		{"shared_lines", sum->shared_lines},
		{"unseen_calls", sum->unseen},
	};

	printf("%s %s ", subject->scenario, subject->mode);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		printf("%s%s=%g", i ? ";" : "", all[i].name, (double)all[i].n / REPEATS);
	putchar('\n');
}

/*
 * What the library keeps for this thread: its place in liburcu's list, which a
 * grace period reads, and its counters, which statistics read.
 */
static void own_library(void)
{
	const void *caller;
	size_t size;

	count_own(&PC_RCU_READER, sizeof(PC_RCU_READER), COUNT_TOLD);
	if (pc_thread.counts)
		count_own(pc_thread.counts, sizeof(*pc_thread.counts), COUNT_TOLD);
	subjects_caller(&caller, &size);
	count_own(caller, size, COUNT_OWN);
}

/* All repeats of one that was created. */
static void count_repeats(const struct subject *subject, void *self, struct count *sum)
{
	size_t ranges = count_own_reset(SIZE_MAX);
	struct count one;

	*sum = (struct count){0};
	own_library();
	if (subject->own)
		subject->own(self, count_own);
	for (int i = 0; i < REPEATS; i++) {
		count_begin();
		subject->run(self, 1);
		count_end(&one);
		add(sum, &one);
	}
	count_own_reset(ranges);
}

static int count_subject(const struct subject *subject)
{
	struct count sum, least = {.loads = UINT64_MAX};

	for (int i = 0; i < SUBJECTS_TRIES; i++) {
		void *self;
		int error = subject->create(subject, &self);

		if (error == -EOPNOTSUPP)
			return 0;
		if (error) {
			fprintf(stderr, "evidence_count: %s, %s: %s\n", subject->scenario,
			        subject->mode, strerror(-error));
			return error;
		}
		count_repeats(subject, self, &sum);
		subject->destroy(self);
		if (sum.loads < least.loads ||
		    (sum.loads == least.loads && sum.lines < least.lines))
			least = sum;
	}
	print_counts(subject, &least);
	return 0;
}

/* Places in hash tables may depend on addresses. Where that is forbidden, lines vary by some. */
static void fix_addresses(char **argv)
{
	int now = personality(0xffffffff);

	if (now >= 0 && !(now & ADDR_NO_RANDOMIZE) &&
	    personality((unsigned long)now | ADDR_NO_RANDOMIZE) >= 0)
		execv("/proc/self/exe", argv);
}

int main(int argc, char **argv)
{
	const char *scenarios = argc > 1 && *argv[1] ? argv[1] : NULL;
	const char *modes = argc > 2 && *argv[2] ? argv[2] : NULL;
	static struct subject subjects[SUBJECTS_MAX];
	size_t n = subjects_all(subjects);
	int error = 0;

	fix_addresses(argv);
	count_own_thread();
	for (size_t i = 0; i < n && !error; i++) {
		if (!subjects[i].unseen && bench_is_listed(scenarios, subjects[i].scenario) &&
		    bench_is_listed(modes, subjects[i].mode))
			error = count_subject(&subjects[i]);
	}
	return error ? 1 : 0;
}
