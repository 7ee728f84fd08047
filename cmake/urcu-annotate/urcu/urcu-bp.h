/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Stands before liburcu's header of this name in thread-sanitizer builds over
 * a liburcu that the sanitizer cannot see into. liburcu's own accesses then
 * stay out of sight altogether (its functions are called, not inlined), and
 * the one order that matters to its users is told: what readers did before
 * they left comes before what follows a grace period. call_rcu() is not
 * covered.
 */
#ifndef PATHCACHE_URCU_ANNOTATE_BP_H
#define PATHCACHE_URCU_ANNOTATE_BP_H

#include_next <urcu/urcu-bp.h>

#include <sanitizer/tsan_interface.h>

#undef urcu_bp_read_lock
#undef urcu_bp_read_unlock
void urcu_bp_read_lock(void);
void urcu_bp_read_unlock(void);

static inline void annotated_bp_read_unlock(void)
{
	__tsan_release((void *)&urcu_bp_flavor);
	urcu_bp_read_unlock();
}

static inline void annotated_bp_synchronize_rcu(void)
{
	__tsan_release((void *)&urcu_bp_flavor);
	urcu_bp_synchronize_rcu();
	__tsan_acquire((void *)&urcu_bp_flavor);
}

#define urcu_bp_read_unlock annotated_bp_read_unlock
#define urcu_bp_synchronize_rcu annotated_bp_synchronize_rcu

#endif
