/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Ages of ids by a clock that the test moves on: a few pairs of a number and a
 * time tell them well enough, whatever the pace.
 */
#include "age.h"

#include <string.h>

#include "run.h"

/* One id a step of so many milliseconds, the age of each looked at now and then. */
static void ages_of_a_life(uint64_t step, unsigned n)
{
	static struct pc_ages ages;
	unsigned look = 100;

	memset(&ages, 0, sizeof(ages));
	for (unsigned i = 0; i < n; i++) {
		uint64_t now = 7000 + step * i;

		pc_ages_note(&ages, 1000 + i, now);
		if (i != look && i != n - 1)
			continue;
		look *= 3;
		for (unsigned k = 0; k <= i; k++) {
			uint64_t is_old = step * (i - k), age = pc_ages_of(&ages, 1001 + k, now);

			if (age < is_old || age > is_old + is_old * 2 / 5 + 1000)
				ts_fail(__FILE__, __LINE__, "%ju ms old, told as %ju",
				        (uintmax_t)is_old, (uintmax_t)age);
		}
	}
	CHECK(ages.n <= PC_AGES);
}

static void an_age_is_told_within_its_bounds_for_a_year(void)
{
	ages_of_a_life(300, 100000);
	ages_of_a_life(1000, 600000);
	ages_of_a_life(100000, 315360);
}

static void one_pair_is_enough_for_what_came_within_a_second(void)
{
	struct pc_ages ages = {.n = 0};

	CHECK_EQ(pc_ages_of(&ages, 1, 5000), 0);
	pc_ages_note(&ages, 10, 5000);
	pc_ages_note(&ages, 20, 5000 + PC_AGE_STEP_MS - 1);
	CHECK_EQ(ages.n, 1);
	pc_ages_note(&ages, 30, 5000 + PC_AGE_STEP_MS);
	CHECK_EQ(ages.n, 2);
	CHECK_EQ(pc_ages_of(&ages, 30, 7000), 2000);
	CHECK_EQ(pc_ages_of(&ages, 31, 7000), 2000 - PC_AGE_STEP_MS);
}

static const struct ts_case cases[] = {
	TS_CASE(an_age_is_told_within_its_bounds_for_a_year),
	TS_CASE(one_pair_is_enough_for_what_came_within_a_second),
};

int main(int argc, char **argv)
{
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
