/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * grace: read sections and grace periods for the lockref tests, from
 * liburcu's memb flavour. With PATHCACHE_URCU_ANNOTATE the thread sanitizer is
 * told by hand that a grace period comes after the sections it waited for, as
 * it has to be when liburcu itself was not built for it.
 */
#ifndef LOCKREF_GRACE_H
#define LOCKREF_GRACE_H

#include <urcu/urcu-memb.h>

#if defined(PATHCACHE_URCU_ANNOTATE) && PATHCACHE_URCU_ANNOTATE
#include <sanitizer/tsan_interface.h>

static char grace_domain;

static inline void grace_section_ends_(void)
{
	__tsan_release(&grace_domain);
}

static inline void grace_period_ended_(void)
{
	__tsan_acquire(&grace_domain);
}
#else
static inline void grace_section_ends_(void)
{
}

static inline void grace_period_ended_(void)
{
}
#endif

static inline void grace_thread_begin(void)
{
	urcu_memb_register_thread();
}

static inline void grace_thread_end(void)
{
	urcu_memb_unregister_thread();
}

static inline void grace_section_begin(void)
{
	urcu_memb_read_lock();
}

static inline void grace_section_end(void)
{
	grace_section_ends_();
	urcu_memb_read_unlock();
}

/* Context: not in a read section; blocks. */
static inline void grace_period(void)
{
	urcu_memb_synchronize_rcu();
	grace_period_ended_();
}

#endif /* LOCKREF_GRACE_H */
