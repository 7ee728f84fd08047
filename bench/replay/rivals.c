/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rivals.h"

#include <string.h>

size_t rivals_all(const struct rival_ops **out)
{
	size_t n = 0;

	out[n++] = &rival_rcu;
	out[n++] = &rival_rcu_walk;
	out[n++] = &rival_lockref;
	out[n++] = &rival_refwalk;
	out[n++] = &rival_locked;
#if BENCH_HAVE_LFHT
	out[n++] = &rival_lfht;
#endif
#if BENCH_HAVE_CK
	out[n++] = &rival_ck;
#endif
#if BENCH_HAVE_GLIB
	out[n++] = &rival_glib;
#endif
	out[n++] = &rival_syscall;
	return n;
}

bool rivals_known(const char *mode, const char **missing)
{
	static const char *const optional[] = {"lfht", "ck", "glib"};
	const struct rival_ops *all[RIVALS_MAX];
	size_t n = rivals_all(all);

	*missing = NULL;
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(all[i]->mode, mode))
			return true;
	}
	for (size_t i = 0; i < sizeof(optional) / sizeof(*optional); i++) {
		if (!strcmp(optional[i], mode)) {
			*missing = "its package was missing, or unfit, when this was built";
			return true;
		}
	}
	return false;
}
