/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * cred: credentials of callers, and a thread's taking them on.
 *
 * pc_cred_assume() changes the calling thread alone, by the system calls
 * themselves (glibc's wrappers change every thread), for the length of one
 * question to the kernel. Signals stay as they are: a handler that runs
 * meanwhile has the other credentials.
 */
#ifndef PC_CRED_H
#define PC_CRED_H

#include <sys/types.h>

#include "node.h"

struct pathcache_cred;

/* Public to internal; out borrows the groups. Return: 0; -EINVAL, -E2BIG. */
int pc_cred_take(const struct pathcache_cred *cred, struct rp_cred *out);

/* The calling thread's; *groups, from malloc(), is lent to out. Return: 0; -errno. */
int pc_cred_current(struct rp_cred *out, gid_t **groups);

/* Are two sets of credentials the same? */
bool pc_cred_equal(const struct rp_cred *a, const struct rp_cred *b);

/* May this process take on any credentials? */
bool pc_cred_can_assume(void);

struct pc_cred_saved {
	uint32_t uid, gid;
	uint32_t caps[2]; /* effective, both words */
	int ngroups;
	gid_t *groups;
};

/* Return: 0, and saved for pc_cred_restore(); -errno, nothing changed. */
int pc_cred_assume(const struct rp_cred *cred, struct pc_cred_saved *saved);

/* Aborts when the kernel refuses: going on with another's credentials is worse. */
void pc_cred_restore(struct pc_cred_saved *saved);

#endif
