/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One get and put on an object that nobody else uses just then, by each variant. */
#include "subjects.h"
#include "variants.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct ref {
	const struct ref_variant *variant;
	struct ref_set set;
	struct ref_thread *thread;
	enum ref_work work;
};

static void ref_run(void *self, uint64_t n)
{
	struct ref *ref = self;

	ref->variant->run(ref->work, &ref->set.site[0], ref->thread, n);
}

static void ref_own(void *self, void (*tell)(const void *, size_t, enum count_owner))
{
	struct ref *ref = self;

	/* What the loop has in registers from its second operation on. */
	tell(ref, sizeof(*ref), COUNT_STACK);
	tell(ref->set.site, sizeof(*ref->set.site), COUNT_STACK);
	tell(ref->thread, sizeof(*ref->thread), COUNT_OWN);
}

static void ref_destroy(void *self)
{
	struct ref *ref = self;

	if (ref->thread)
		ref_thread_destroy(ref->variant, ref->thread);
	ref_set_destroy(&ref->set);
	free(ref);
}

static int ref_create(const struct subject *subject, void **self)
{
	struct ref *ref = calloc(1, sizeof(*ref));
	int error;

	if (!ref)
		return -ENOMEM;
	ref->variant = subject->arg;
	ref->work = strcmp(subject->scenario, "ref_stat2") ? REF_PAIRS : REF_STAT;
	error = ref_set_create(&ref->set, ref->variant, 1, 1, REF_APART);
	if (!error)
		ref->thread = ref_thread_create(ref->variant, 0);
	if (!error && !ref->thread)
		error = -ENOMEM;
	if (error) {
		ref_destroy(ref);
		return error;
	}
	ref_run(ref, 100);
	*self = ref;
	return 0;
}

size_t subjects_ref(struct subject *out)
{
	static const char *const scenarios[] = {"ref", "ref_stat2"};
	size_t n = 0;

	for (size_t s = 0; s < sizeof(scenarios) / sizeof(*scenarios); s++) {
		for (size_t v = 0; v < nref_variants; v++)
			out[n++] = (struct subject){
				.scenario = scenarios[s],
				.mode = ref_variants[v]->mode,
				.unseen = ref_variants[v]->traits & REF_UNSEEN ? "asm" : NULL,
				.arg = ref_variants[v],
				.create = ref_create,
				.run = ref_run,
				.destroy = ref_destroy,
				.own = ref_own,
			};
	}
	return n;
}
