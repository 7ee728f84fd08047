/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "age.h"

#include <string.h>

#include "lease.h"

uint64_t pc_now_ms(void)
{
	return rp_clock_ms();
}

/* Drop the pair between whose neighbours lies the smallest part of their age. */
static void thin(struct pc_ages *a, uint64_t now)
{
	uint32_t least = 1;

	for (uint32_t i = 2; i + 1 < a->n; i++) {
		double gap = (double)(a->at[i + 1].ms - a->at[i - 1].ms);
		double least_gap = (double)(a->at[least + 1].ms - a->at[least - 1].ms);
		double age = (double)(now - a->at[i + 1].ms + PC_AGE_STEP_MS);
		double least_age = (double)(now - a->at[least + 1].ms + PC_AGE_STEP_MS);

		if (gap * least_age < least_gap * age)
			least = i;
	}
	a->n--;
	memmove(&a->at[least], &a->at[least + 1], (a->n - least) * sizeof(a->at[0]));
}

void pc_ages_note(struct pc_ages *a, uint64_t stamp, uint64_t now)
{
	if (a->n && now - a->at[a->n - 1].ms < PC_AGE_STEP_MS)
		return;
	if (a->n == PC_AGES)
		thin(a, now);
	a->at[a->n].stamp = stamp;
	a->at[a->n].ms = now;
	a->n++;
}

uint64_t pc_ages_of(const struct pc_ages *a, uint64_t id, uint64_t now)
{
	uint32_t i = a->n;

	while (i > 1 && a->at[i - 1].stamp >= id)
		i--;
	return i ? now - a->at[i - 1].ms : 0;
}
