/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where the figures of bench_evidence come from: two runs of programs that know
 * the same subjects. One thread.
 */
#ifndef EVIDENCE_EVIDENCE_H
#define EVIDENCE_EVIDENCE_H

#include "subjects.h"

#include <stddef.h>
#include <stdint.h>

enum { EVIDENCE_TEXT = 320 };

/* What is known of one subject. */
struct evidence {
	char counts[EVIDENCE_TEXT]; /* key=value pairs; "": not counted */
	double instructions;        /* 0: not counted */
};

struct evidence_options {
	const char *scenarios; /* NULL: all */
	const char *modes;
	uint64_t loop; /* operations: n of the difference of 2 n and n */
	size_t tries;  /* how often each is created for that; 1 or SUBJECTS_TRIES */
};

/*
 * Have accesses counted. Where this build has no program for it that is said,
 * and rows stay as they are; so with instructions where valgrind is missing.
 * Return: 0; the error of running it, told on stderr.
 */
int evidence_count(const struct evidence_options *opt, const struct subject *subjects,
                   struct evidence *rows, size_t n);
int evidence_instructions(const struct evidence_options *opt, struct evidence *rows, size_t n);

/* One figure by its key. Return: -1 when there is none. */
double evidence_value(const struct evidence *row, const char *key);

/* All of them as key=value pairs. */
void evidence_text(const struct evidence *row, char *buf, size_t size);

#endif
