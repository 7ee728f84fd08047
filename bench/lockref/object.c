/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Objects of a variant, laid out on cache lines as a scenario wants them. */
#include "variants.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	NEIGHBOUR_AT = 56 /* behind any state, on its cache line */
};

/* Each part on lines of its own. */
struct body {
	alignas(REF_LINE) unsigned char state[REF_LINE];
	alignas(REF_LINE) uint64_t neighbour;
	struct ref_lock lock;
	uint64_t guarded;
	alignas(REF_LINE) uint64_t attrs[REF_ATTR_WORDS];
};

static void *alloc_lines(size_t bytes)
{
	void *lines;

	bytes = (bytes + REF_LINE - 1) / REF_LINE * REF_LINE;
	lines = aligned_alloc(REF_LINE, bytes);
	if (lines)
		memset(lines, 0, bytes);
	return lines;
}

static void *state_of(const struct ref_set *set, unsigned int i, enum ref_layout layout)
{
	struct body *bodies = set->bodies;

	if (layout == REF_PACKED)
		return (char *)set->states + i * set->variant->bytes;
	return bodies[i].state;
}

static void place(const struct ref_set *set, unsigned int i, enum ref_layout layout)
{
	struct body *body = (struct body *)set->bodies + i;
	struct ref_site *site = &set->site[i];

	for (uint64_t word = 0; word < REF_ATTR_WORDS; word++)
		body->attrs[word] = i + word;
	site->ref = state_of(set, i, layout);
	site->lock = &body->lock;
	site->guarded = &body->guarded;
	site->attrs = body->attrs;
	site->neighbour =
		layout == REF_BESIDE ? (void *)(body->state + NEIGHBOUR_AT) : &body->neighbour;
}

static void fini_all(struct ref_set *set, unsigned int ready)
{
	for (unsigned int i = 0; i < ready && set->variant->fini; i++)
		set->variant->fini(set->site[i].ref);
	free(set->site);
	free(set->states);
	free(set->bodies);
	*set = (struct ref_set){.variant = NULL};
}

int ref_set_create(struct ref_set *set, const struct ref_variant *variant, unsigned int count,
                   unsigned int threads, enum ref_layout layout)
{
	unsigned int i = 0;
	int error = -ENOMEM;

	*set = (struct ref_set){.variant = variant, .count = count};
	set->site = calloc(count, sizeof(*set->site));
	set->bodies = alloc_lines(count * sizeof(struct body));
	set->states = alloc_lines(count * variant->bytes);
	if (!set->site || !set->bodies || !set->states)
		goto err_free;
	for (; i < count; i++) {
		place(set, i, layout);
		error = variant->init(set->site[i].ref, threads);
		if (error)
			goto err_free;
	}
	return 0;
err_free:
	fini_all(set, i);
	return error;
}

void ref_set_destroy(struct ref_set *set)
{
	if (set->variant)
		fini_all(set, set->count);
}

struct ref_thread *ref_thread_create(const struct ref_variant *variant, unsigned int index)
{
	struct ref_thread *thread = alloc_lines(sizeof(*thread));

	if (!thread)
		return NULL;
	thread->index = index;
	if (variant->enter)
		variant->enter(thread);
	return thread;
}

void ref_thread_destroy(const struct ref_variant *variant, struct ref_thread *thread)
{
	if (variant->leave)
		variant->leave(thread);
	free(thread);
}
