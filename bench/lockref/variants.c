/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "variants.h"

#include "variant_list.h"

#include <string.h>

const struct ref_variant *const ref_variants[] = {
	&ref_word,
	&ref_word_cas,
	&ref_lockref,
	&ref_lockref_pause,
	&ref_lockref_pause8,
	&ref_lockref_unbounded,
	&ref_lockref_wait1,
	&ref_lockref_wait100,
	&ref_lockref_wait700,
	&ref_lockref_wait1000,
	&ref_lockref_break,
	&ref_locked_tas,
	&ref_locked_ticket,
#if BENCH_HAVE_MCS
	&ref_locked_mcs,
#endif
	&ref_locked_spin,
	&ref_locked_mutex,
	&ref_rcuref,
	&ref_saturating,
#if BENCH_HAVE_URCU_REF
	&ref_urcu_ref,
#endif
	&ref_percpu,
	&ref_percpu_atomic,
	&ref_perthread,
	&ref_rwsem_percpu,
	&ref_rwsem_percpu_atomic,
	&ref_rwsem_perthread,
	&ref_rcu,
};

const size_t nref_variants = sizeof(ref_variants) / sizeof(ref_variants[0]);

const struct ref_variant *ref_variant_find(const char *mode)
{
	for (size_t i = 0; i < nref_variants; i++)
		if (strcmp(ref_variants[i]->mode, mode) == 0)
			return ref_variants[i];
	return NULL;
}

const char *ref_variant_missing(const char *mode)
{
	if (ref_variant_find(mode))
		return NULL;
	if (strcmp(mode, "locked_mcs") == 0)
		return "built without Concurrency Kit, or with a sanitizer that cannot see into it";
	if (strcmp(mode, "urcu_ref") == 0)
		return "built with a sanitizer that cannot see into liburcu's atomics";
	return "no such mode";
}
