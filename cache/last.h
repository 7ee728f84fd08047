/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * last: the last steps that single queries and those of many paths share.
 */
#ifndef PC_LAST_H
#define PC_LAST_H

#include <errno.h>
#include <unistd.h>

#include "hit.h"

#define PC_STATX_IMMUTABLE 0x10u /* statx(2): STATX_ATTR_IMMUTABLE */

static inline enum rp_status pc_last_err(struct pc_query *q, int err)
{
	q->result = err;
	return RP_ERR;
}

PC_ALWAYS_INLINE enum rp_status pc_last_stat(struct pc_query *q)
{
	uint32_t flags;

	q->result = 0;
	return pc_query_attr(q, q->out, &flags) ? RP_OK : RP_NEED_ATTR;
}

PC_ALWAYS_INLINE enum rp_status pc_last_access(struct pc_query *q)
{
	struct rp_perm perm;
	struct rp_attr attr;
	uint32_t nf;

	q->result = 0;
	if (q->amode == F_OK || (q->lk && q->node == q->lk->allowed))
		return RP_OK;
	if (!pc_query_attr(q, &attr, &nf))
		return RP_NEED_ATTR;
	/* Its own may have been told since the attributes were. */
	nf |= rp_node_flags(q->node) & RP_N_ACL;
	if (rp_node_flags(q->node) & RP_N_ACL_UNKNOWN)
		nf |= RP_N_ACL_UNKNOWN;
	if (nf & RP_N_ASK || (nf & RP_N_ASK_WX && q->amode & (W_OK | X_OK)))
		return RP_NEED_ACCESS;
	perm = (struct rp_perm){attr.mode, attr.uid, attr.gid};
	if (q->amode & W_OK && attr.attributes & PC_STATX_IMMUTABLE)
		return pc_last_err(q, -EPERM);
	if (nf & (RP_N_ACL | RP_N_ACL_UNKNOWN)) {
		/* An ACL cannot take away what a capability gives. */
		struct rp_cred caps = {UINT32_MAX, UINT32_MAX, NULL, 0, q->cred->caps};

		/* As the owner's, whom the caller is not; x for anybody is what a capability needs. */
		perm.mode = (perm.mode & S_IFMT) | (perm.mode & 0111 ? 0100 : 0);
		if (q->cred->caps && rp_perm_allows(&perm, &caps, q->amode))
			return RP_OK;
		return RP_NEED_ACCESS;
	}
	return rp_perm_allows(&perm, q->cred, q->amode) ? RP_OK : pc_last_err(q, -EACCES);
}

#endif
