/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Stands before liburcu's header of this name in thread-sanitizer builds over
 * a liburcu that the sanitizer cannot see into. liburcu's own accesses then
 * stay out of sight altogether (its functions are called, not inlined), and
 * the one order that matters to its users is told: what readers did before
 * they left comes before what follows a grace period. call_rcu() is not
 * covered.
 */
#ifndef PATHCACHE_URCU_ANNOTATE_QSBR_H
#define PATHCACHE_URCU_ANNOTATE_QSBR_H

#include_next <urcu/urcu-qsbr.h>

#include <sanitizer/tsan_interface.h>

#undef urcu_qsbr_thread_online
#undef urcu_qsbr_quiescent_state
#undef urcu_qsbr_thread_offline
void urcu_qsbr_thread_online(void);
void urcu_qsbr_quiescent_state(void);
void urcu_qsbr_thread_offline(void);

static inline void annotated_qsbr_quiescent_state(void)
{
	__tsan_release((void *)&urcu_qsbr_flavor);
	urcu_qsbr_quiescent_state();
}

static inline void annotated_qsbr_thread_offline(void)
{
	__tsan_release((void *)&urcu_qsbr_flavor);
	urcu_qsbr_thread_offline();
}

static inline void annotated_qsbr_synchronize_rcu(void)
{
	__tsan_release((void *)&urcu_qsbr_flavor);
	urcu_qsbr_synchronize_rcu();
	__tsan_acquire((void *)&urcu_qsbr_flavor);
}

#define urcu_qsbr_quiescent_state annotated_qsbr_quiescent_state
#define urcu_qsbr_thread_offline annotated_qsbr_thread_offline
#define urcu_qsbr_synchronize_rcu annotated_qsbr_synchronize_rcu

#endif
