/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Atomic operations as the compiler hands them to its thread sanitizer. They
 * are done in full order, whatever was asked for: only one thread counts, and
 * no order is judged here.
 */
#include "count.h"

#include <stdbool.h>
#include <stdint.h>

#define ATOMIC_FETCH(bits, op) \
	uint##bits##_t __tsan_atomic##bits##_fetch_##op(volatile uint##bits##_t *at, \
	                                                uint##bits##_t value, int order); \
	uint##bits##_t __tsan_atomic##bits##_fetch_##op(volatile uint##bits##_t *at, \
	                                                uint##bits##_t value, int order) \
	{ \
		(void)order; \
		count_rmw(at); \
		return __atomic_fetch_##op(at, value, __ATOMIC_SEQ_CST); \
	}

#define ATOMIC_SWAP(bits, kind, weak) \
	bool __tsan_atomic##bits##_compare_exchange_##kind(volatile uint##bits##_t *at, \
	                                                   uint##bits##_t *old, \
	                                                   uint##bits##_t value, int order, \
	                                                   int failed); \
	bool __tsan_atomic##bits##_compare_exchange_##kind(volatile uint##bits##_t *at, \
	                                                   uint##bits##_t *old, \
	                                                   uint##bits##_t value, int order, \
	                                                   int failed) \
	{ \
		(void)order; \
		(void)failed; \
		count_rmw(at); \
		return __atomic_compare_exchange_n(at, old, value, weak, __ATOMIC_SEQ_CST, \
		                                   __ATOMIC_SEQ_CST); \
	}

#define ATOMICS(bits) \
	uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t *at, int order); \
	uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t *at, int order) \
	{ \
		(void)order; \
		count_load(at, sizeof(*at)); \
		return __atomic_load_n(at, __ATOMIC_SEQ_CST); \
	} \
	void __tsan_atomic##bits##_store(volatile uint##bits##_t *at, uint##bits##_t value, \
	                                 int order); \
	void __tsan_atomic##bits##_store(volatile uint##bits##_t *at, uint##bits##_t value, \
	                                 int order) \
	{ \
		/* On x86-64 this one is an exchange. */ \
		if (order == __ATOMIC_SEQ_CST) \
			count_rmw(at); \
		else \
			count_store(at, sizeof(*at)); \
		__atomic_store_n(at, value, __ATOMIC_SEQ_CST); \
	} \
	uint##bits##_t __tsan_atomic##bits##_exchange(volatile uint##bits##_t *at, \
	                                              uint##bits##_t value, int order); \
	uint##bits##_t __tsan_atomic##bits##_exchange(volatile uint##bits##_t *at, \
	                                              uint##bits##_t value, int order) \
	{ \
		(void)order; \
		count_rmw(at); \
		return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST); \
	} \
	ATOMIC_FETCH(bits, add) \
	ATOMIC_FETCH(bits, sub) \
	ATOMIC_FETCH(bits, and) \
	ATOMIC_FETCH(bits, or) \
	ATOMIC_FETCH(bits, xor) \
	ATOMIC_SWAP(bits, strong, false) \
	ATOMIC_SWAP(bits, weak, true)

ATOMICS(8)
ATOMICS(16)
ATOMICS(32)
ATOMICS(64)

void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_thread_fence(int order)
{
	/* Weaker ones are no instruction on x86-64. */
	if (order == __ATOMIC_SEQ_CST)
		count_fence();
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void __tsan_atomic_signal_fence(int order);
void __tsan_atomic_signal_fence(int order)
{
	(void)order;
}
