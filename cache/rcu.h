/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * rcu: the liburcu flavour the library is built for, under one set of names.
 *
 * pc_rcu_registered() tells whether the calling thread is known to liburcu, by
 * whomever. In the QSBR flavour a thread that this library registered is kept
 * offline outside of its read sections, so that a server thread that sleeps
 * does not stall grace periods; one the host registered is left as it is.
 *
 * pc_rcu_stand_in() lets a thread that liburcu does not know, and which must
 * not wait for its locks, run read sections that nobody waits for.
 */
#ifndef PC_RCU_H
#define PC_RCU_H

#include <stdbool.h>
#include <stddef.h>

#if PC_FLAVOUR_MEMB
#include <urcu/urcu-memb.h>
#define PC_RCU(name) urcu_memb_##name
#define PC_RCU_READER URCU_TLS(urcu_memb_reader)
#elif PC_FLAVOUR_QSBR
#include <urcu/urcu-qsbr.h>
#define PC_RCU(name) urcu_qsbr_##name
#define PC_RCU_READER URCU_TLS(urcu_qsbr_reader)
#elif PC_FLAVOUR_BP
#include <urcu/urcu-bp.h>
#define PC_RCU(name) urcu_bp_##name
#else
#error "build for one of PC_FLAVOUR_MEMB, PC_FLAVOUR_QSBR, PC_FLAVOUR_BP"
#endif

#if PC_FLAVOUR_BP
/* bp registers in its own read lock and unregisters by its own key. */
static inline bool pc_rcu_registered(void)
{
	return URCU_TLS(urcu_bp_reader) != NULL;
}

static inline void pc_rcu_stand_in(void)
{
	/* Aligned as a line of its own it could not be a plug-in's: see dlopen(3) and static TLS. */
	static __thread _Alignas(long) unsigned char reader[sizeof(struct urcu_bp_reader)];

	URCU_TLS(urcu_bp_reader) = (struct urcu_bp_reader *)(void *)reader;
}
#else
static inline void pc_rcu_stand_in(void)
{
}

static inline bool pc_rcu_registered(void)
{
	return PC_RCU_READER.registered;
}
#endif

static inline void pc_rcu_read_lock(void)
{
	PC_RCU(read_lock)();
}

static inline void pc_rcu_read_unlock(void)
{
	PC_RCU(read_unlock)();
}

#if PC_FLAVOUR_QSBR
static inline void pc_rcu_online(void)
{
	urcu_qsbr_thread_online();
}

static inline void pc_rcu_offline(void)
{
	urcu_qsbr_thread_offline();
}

/*
 * A QSBR thread that the host keeps online is inside one long read section;
 * only a call documented as a quiescent state may wait.
 */
static inline bool pc_rcu_may_wait(void)
{
	return !urcu_qsbr_read_ongoing();
}

/* In a call that is documented as a quiescent state. */
static inline bool pc_rcu_may_wait_quiescent(void)
{
	return true;
}
#else
static inline void pc_rcu_online(void)
{
}

static inline void pc_rcu_offline(void)
{
}

static inline bool pc_rcu_may_wait(void)
{
	return !PC_RCU(read_ongoing)();
}

static inline bool pc_rcu_may_wait_quiescent(void)
{
	return pc_rcu_may_wait();
}
#endif

static inline void pc_rcu_register(void)
{
	PC_RCU(register_thread)();
}

static inline void pc_rcu_unregister(void)
{
	PC_RCU(unregister_thread)();
}

static inline void pc_rcu_synchronize(void)
{
	PC_RCU(synchronize_rcu)();
}

#endif
