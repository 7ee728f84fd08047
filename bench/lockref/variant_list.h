/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What variants.c gathers into its table. */
#ifndef BENCH_LOCKREF_VARIANT_LIST_H
#define BENCH_LOCKREF_VARIANT_LIST_H

#include "variants.h"

extern const struct ref_variant ref_word, ref_word_cas;
extern const struct ref_variant ref_lockref, ref_lockref_pause, ref_lockref_pause8;
extern const struct ref_variant ref_lockref_unbounded, ref_lockref_break;
extern const struct ref_variant ref_lockref_wait1, ref_lockref_wait100;
extern const struct ref_variant ref_lockref_wait700, ref_lockref_wait1000;
extern const struct ref_variant ref_locked_tas, ref_locked_ticket, ref_locked_mcs;
extern const struct ref_variant ref_locked_spin, ref_locked_mutex;
extern const struct ref_variant ref_rcuref, ref_saturating, ref_urcu_ref;
extern const struct ref_variant ref_percpu, ref_percpu_atomic, ref_perthread;
extern const struct ref_variant ref_rwsem_percpu, ref_rwsem_percpu_atomic, ref_rwsem_perthread;
extern const struct ref_variant ref_rcu;

#endif
