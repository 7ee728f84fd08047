/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Memory of tables that readers may still see. */
#include "peers.h"

#include <stdlib.h>
#include <urcu/urcu-memb.h>

/* Apart from what it frees, so that an entry is no larger for being removable. */
struct retired {
	struct rcu_head head;
	void *memory;
};

static void free_retired(struct rcu_head *head)
{
	struct retired *retired = (struct retired *)((char *)head - offsetof(struct retired, head));

	free(retired->memory);
	free(retired);
}

void peers_retire(void *memory)
{
	struct retired *retired = malloc(sizeof(*retired));

	if (!retired) {
		urcu_memb_synchronize_rcu();
		free(memory);
		return;
	}
	retired->memory = memory;
	urcu_memb_call_rcu(&retired->head, free_retired);
}

void peers_retire_barrier(void)
{
	urcu_memb_barrier();
}
