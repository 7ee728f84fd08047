/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "listen.h"

/* Changes that a listener makes, of which it is told, in which it makes changes, ... */
#define TELL_DEPTH 8u

void pc_tell(struct pathcache *c, struct pathcache_change *change)
{
	if (pc_thread.telling == TELL_DEPTH)
		return;
	change->size = sizeof(*change);
	change->cache = c;
	pc_thread.telling++;
	c->listener(c->listener_arg, change);
	pc_thread.telling--;
}
