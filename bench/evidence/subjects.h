/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What bench_evidence looks at: one operation each, that can be repeated in a
 * state which it leaves as it was. Compiled twice: as it is for instructions,
 * and with all accesses counted.
 */
#ifndef EVIDENCE_SUBJECTS_H
#define EVIDENCE_SUBJECTS_H

#include "count.h"

#include <stddef.h>
#include <stdint.h>

/*
 * unseen: why its accesses cannot be counted: "asm", "lib" (another library's
 *   code); NULL: they can.
 * depth: components of its path; 0: none.
 * create: Return: 0; -EOPNOTSUPP: not on this system; -errno.
 * run: n operations, on the thread that created it.
 * own: tell whose memory the operations use; NULL: nobody's but the caller's below.
 */
struct subject {
	const char *scenario;
	const char *mode;
	const char *unseen;
	double depth;
	const void *arg;
	int (*create)(const struct subject *subject, void **self);
	void (*run)(void *self, uint64_t n);
	void (*destroy)(void *self);
	void (*own)(void *self, void (*tell)(const void *, size_t, enum count_owner));
};

enum {
	SUBJECTS_MAX = 128,
	/*
	 * Each is created so often, and the least count told: hashes are keyed at
	 * random, so a table can have a collision where another has none.
	 */
	SUBJECTS_TRIES = 5,
};

/* All of this build. Return: how many, at most SUBJECTS_MAX. */
size_t subjects_all(struct subject *out);

/* Of the ones above, references and lookups. Return: how many were placed in out. */
size_t subjects_ref(struct subject *out);
size_t subjects_lookup(struct subject *out);

/* What the operations read and write for their caller. */
void subjects_caller(const void **begin, size_t *size);

#endif
