/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Functions whose accesses are known by reading them, to test the counting with. */
#ifndef EVIDENCE_KNOWN_H
#define EVIDENCE_KNOWN_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct known_wide {
	uint64_t words[24];
};

extern uint64_t known_plain;
extern _Atomic uint64_t known_atomic;

uint64_t known_nothing(uint64_t x);        /* no access */
uint64_t known_load(const uint64_t *at);   /* 1 load */
void known_store(uint64_t *at);            /* 1 store */
void known_add(uint64_t *at);              /* 1 load, 1 store */
void known_global_store(void);             /* 1 store, shared */
void known_fetch_add(void);                /* 1 rmw */
void known_swaps(void);                    /* 1 load, 2 rmw of which the second fails */
void known_load_store(_Atomic uint64_t *); /* 1 load, 1 store */
void known_copy(struct known_wide *to, const struct known_wide *from); /* 24 and 24 */
size_t known_length(const char *text);
void known_lines(const unsigned char *at, size_t n); /* n loads, one a line */
void known_allocate(void);                           /* 2 calls that are not looked into */

#endif
