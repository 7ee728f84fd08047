/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The one file of the test support that knows which liburcu flavour it is. */
#include "run.h"

#if defined(TS_FLAVOUR_qsbr)
#include <urcu/urcu-qsbr.h>

void ts_offline(void)
{
	urcu_qsbr_thread_offline();
}

void ts_online(void)
{
	urcu_qsbr_thread_online();
}

void ts_quiescent(void)
{
	urcu_qsbr_quiescent_state();
}

void ts_read_lock(void)
{
	urcu_qsbr_read_lock();
}

void ts_read_unlock(void)
{
	urcu_qsbr_read_unlock();
}

#else

#if defined(TS_FLAVOUR_bp)
#include <urcu/urcu-bp.h>
#define READ_LOCK urcu_bp_read_lock
#define READ_UNLOCK urcu_bp_read_unlock
#else
#include <urcu/urcu-memb.h>
#define READ_LOCK urcu_memb_read_lock
#define READ_UNLOCK urcu_memb_read_unlock
#endif

void ts_offline(void)
{
}

void ts_online(void)
{
}

void ts_quiescent(void)
{
}

void ts_read_lock(void)
{
	READ_LOCK();
}

void ts_read_unlock(void)
{
	READ_UNLOCK();
}

#endif
