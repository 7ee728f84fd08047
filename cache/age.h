/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * age: when ids were given out, roughly.
 *
 * No dentry keeps a time. Ids are numbers of one counter, so a few pairs of a
 * number and a time tell of each id between which two times it was given out.
 * A pair is noted before an id is given out, when the last one is older than a
 * second; when there are too many, the one goes that tells least, measured by
 * how long ago it was.
 *
 * Context: the cache's change lock. Times are milliseconds of CLOCK_MONOTONIC.
 */
#ifndef PC_AGE_H
#define PC_AGE_H

#include <stdint.h>

#define PC_AGES 64u
#define PC_AGE_STEP_MS 1000u

struct pc_ages {
	uint32_t n;
	struct {
		uint64_t stamp; /* greater ids are younger */
		uint64_t ms;
	} at[PC_AGES];
};

uint64_t pc_now_ms(void);

/* Ids from here on are above stamp. */
void pc_ages_note(struct pc_ages *a, uint64_t stamp, uint64_t now);

/*
 * How long ago id was given out, in milliseconds. Never too small; too great by
 * at most a second and two fifths of what it is, as long as the cache is younger
 * than a year.
 */
uint64_t pc_ages_of(const struct pc_ages *a, uint64_t id, uint64_t now);

#endif
