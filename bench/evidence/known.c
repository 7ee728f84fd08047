/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "known.h"

#include "count.h"

#include <stdlib.h>
#include <string.h>

uint64_t known_plain;
_Atomic uint64_t known_atomic;

/* Values go where the compiler must assume that they are looked at. */
static void consume(uint64_t value)
{
	__asm__ __volatile__("" : : "r"(value) : "memory");
}

uint64_t known_nothing(uint64_t x)
{
	return x * 3 + 1;
}

uint64_t known_load(const uint64_t *at)
{
	return *at;
}

void known_store(uint64_t *at)
{
	*at = 7;
}

void known_add(uint64_t *at)
{
	*at += 7;
}

void known_global_store(void)
{
	known_plain = 7;
}

void known_fetch_add(void)
{
	atomic_fetch_add_explicit(&known_atomic, 1, memory_order_relaxed);
}

void known_swaps(void)
{
	uint64_t old = atomic_load_explicit(&known_atomic, memory_order_relaxed);
	uint64_t wrong = old + 2;

	atomic_compare_exchange_strong(&known_atomic, &old, old + 1);
	atomic_compare_exchange_strong(&known_atomic, &wrong, 0);
}

void known_load_store(_Atomic uint64_t *at)
{
	uint64_t n = atomic_load_explicit(at, memory_order_acquire);

	atomic_store_explicit(at, n + 1, memory_order_release);
}

void known_copy(struct known_wide *to, const struct known_wide *from)
{
	*to = *from;
}

size_t known_length(const char *text)
{
	return strlen(text);
}

void known_lines(const unsigned char *at, size_t n)
{
	for (size_t i = 0; i < n; i++)
		consume(at[i * COUNT_LINE]);
}

void known_allocate(void)
{
	void *memory = malloc(16);

	consume((uintptr_t)memory);
	free(memory);
}
