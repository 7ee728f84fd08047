/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Restartable sequences over the area that glibc registers: a plain add to the
 * counter of the CPU that the thread runs on. A thread that is moved, preempted
 * or signalled before the add begins anew; membarrier(2) with
 * PRIVATE_EXPEDITED_RSEQ does the same to all running ones, so that after it no
 * add is under way that looked at `blocked` before.
 */
#ifndef BENCH_LOCKREF_RSEQ_H
#define BENCH_LOCKREF_RSEQ_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* The counter of one CPU. */
struct rseq_slot {
	_Alignas(128) _Atomic uint64_t count;
};

enum rseq_done {
	RSEQ_ADDED,
	RSEQ_BLOCKED, /* nothing added: *blocked is not 0 */
	RSEQ_MOVED,   /* nothing added: begin anew */
};

#if defined(__SANITIZE_THREAD__)
#define RSEQ_SEEN 0
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RSEQ_SEEN 0
#endif
#endif
#ifndef RSEQ_SEEN
#define RSEQ_SEEN 1
#endif

#if RSEQ_SEEN && defined(__x86_64__) && defined(__linux__) && defined(__GLIBC__) && \
	__GLIBC_PREREQ(2, 35)

#include <sys/rseq.h>

/* The calling thread's area; NULL: not registered. */
static inline void *rseq_area(void)
{
	/* At least the fields that every kernel with restartable sequences writes. */
	if (__rseq_size < 20)
		return NULL;
	return (char *)__builtin_thread_pointer() + __rseq_offset;
}

/* The CPU that the thread runs on, or ran on just now. */
static inline uint32_t rseq_cpu(void *area)
{
	struct rseq *rseq = area;

	return *(volatile uint32_t *)&rseq->cpu_id_start;
}

/* blocked: looked at before the add; a word that stays 0 adds in any case. */
static inline enum rseq_done rseq_add(void *area, struct rseq_slot *slots, uint64_t delta,
                                      const atomic_uint *blocked)
{
	struct rseq *rseq = area;
	uint32_t cpu = rseq_cpu(area);
	struct rseq_slot *slot = &slots[cpu];

	__asm__ goto volatile(
		/* The descriptor: version, flags, start, length, where to go. */
		".pushsection __rseq_cs, \"aw\"\n\t"
		".balign 32\n"
		"3:\n\t"
		".long 0, 0\n\t"
		".quad 1f, 2f - 1f, 4f\n\t"
		".popsection\n\t"
		"leaq 3b(%%rip), %%rax\n\t"
		"movq %%rax, %[cs]\n"
		"1:\n\t"
		"cmpl %[cpu], %[now]\n\t"
		"jnz 4f\n\t"
		"cmpl $0, %[blocked]\n\t"
		"jnz %l[is_blocked]\n\t"
		"addq %[delta], %[count]\n"
		"2:\n\t"
		/* The signature stands before the place to go, in an instruction that traps. */
		".pushsection __rseq_failure, \"ax\"\n\t"
		".byte 0x0f, 0xb9, 0x3d\n\t"
		".long 0x53053053\n"
		"4:\n\t"
		"jmp %l[is_moved]\n\t"
		".popsection"
		:
		: [cs] "m"(rseq->rseq_cs), [now] "m"(rseq->cpu_id), [cpu] "r"(cpu),
		  [blocked] "m"(*blocked), [delta] "er"(delta), [count] "m"(slot->count)
		: "memory", "cc", "rax"
		: is_blocked, is_moved);
	return RSEQ_ADDED;
is_blocked:
	return RSEQ_BLOCKED;
is_moved:
	return RSEQ_MOVED;
}

#else

static inline void *rseq_area(void)
{
	return NULL;
}

static inline uint32_t rseq_cpu(void *area)
{
	(void)area;
	return 0;
}

static inline enum rseq_done rseq_add(void *area, struct rseq_slot *slots, uint64_t delta,
                                      const atomic_uint *blocked)
{
	(void)area, (void)slots, (void)delta, (void)blocked;
	return RSEQ_MOVED;
}

#endif

#endif
