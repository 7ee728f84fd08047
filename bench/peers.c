/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "peers.h"

#include <string.h>

struct missing {
	const char *mode;
	const char *why;
};

size_t peers_all(const struct peer_ops **out)
{
	size_t n = 0;

	out[n++] = &peer_rcu;
	out[n++] = &peer_rcu_walk;
	out[n++] = &peer_rcu_many;
	out[n++] = &peer_lockref;
	out[n++] = &peer_refwalk;
	out[n++] = &peer_locked;
#if BENCH_HAVE_LFHT
	out[n++] = &peer_lfht;
#endif
#if BENCH_HAVE_CK
	out[n++] = &peer_ck;
#endif
#if BENCH_HAVE_GLIB
	out[n++] = &peer_glib;
#endif
#if BENCH_HAVE_TBB
	out[n++] = &peer_tbb;
#endif
	out[n++] = &peer_private;
	out[n++] = &peer_syscall;
	out[n++] = &peer_statx_fd;
#if BENCH_HAVE_URING
	out[n++] = &peer_uring;
#endif
	out[n++] = &peer_access;
	return n;
}

bool peers_known(const char *mode, const char **missing)
{
	static const struct missing absent[] = {
		{"lfht", "no liburcu-cds that could be used when this was built"},
		{"ck", "no Concurrency Kit that could be used when this was built"},
		{"glib", "no GLib that could be used when this was built"},
		{"uring", "no liburing when this was built"},
		{"tbb", "no oneTBB and C++ compiler that could be used when this was built"},
	};
	const struct peer_ops *all[PEERS_MAX];
	size_t n = peers_all(all);

	*missing = NULL;
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(all[i]->mode, mode))
			return true;
	}
	for (size_t i = 0; i < sizeof(absent) / sizeof(*absent); i++) {
		if (!strcmp(absent[i].mode, mode)) {
			*missing = absent[i].why;
			return true;
		}
	}
	return false;
}
