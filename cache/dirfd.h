/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * dirfd: descriptors of directories, so that a miss is asked relative to the
 * very object and not to a path.
 *
 * A bounded set of O_PATH descriptors by node id. Each was verified to be its
 * node's object when opened, and stays so whatever happens to names. One in
 * use is not closed, those of held nodes are closed last; a node's death closes
 * its own.
 *
 * Locks: dirfds.lock, taken below the change lock, not held over system calls
 * but close(2) of an O_PATH descriptor.
 */
#ifndef PC_DIRFD_H
#define PC_DIRFD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct pathcache;
struct rp_node;

struct pc_dirfd_slot {
	uint64_t id;          /* of the node; 0: free */
	struct rp_node *node; /* alive unless dead is set */
	int fd;
	uint32_t users;
	uint32_t next; /* in the bucket's chain, index + 1 */
	uint8_t used;  /* looked up since the hand passed */
	uint8_t dead;  /* close when the last user goes */
};

struct pc_dirfds {
	pthread_mutex_t lock;
	struct pc_dirfd_slot *slots;
	uint32_t *buckets; /* index + 1 */
	uint32_t max, n, hand;
};

/* Where to ask: relative to fd, below prefix where that is not empty. */
struct pc_dirfd {
	int fd;
	uint32_t slot; /* index + 1; 0: not from the set */
	char *prefix;  /* NULL, or "a/b": descriptors ran out */
	size_t prefix_size;
};

/* Return: 0; -ENOMEM. */
int pc_dirfds_init(struct pathcache *c, uint32_t max);
void pc_dirfds_fini(struct pathcache *c);

/*
 * A descriptor of directory node, opened by its last known names if need be.
 * Return: 0 and *at, to be given back; -ESTALE when the object is not found
 * there; -errno.
 * Context: no locks; may block.
 */
int pc_dirfd_get(struct pathcache *c, struct rp_node *node, struct pc_dirfd *at);

/*
 * The same for the directory of node's newest name whose id is below *id, or of
 * where node was last seen; the directory may be dead. name: room for
 * RP_NAME_MAX + 1. *id: then the name's, or 0 when there is none.
 */
int pc_dirfd_get_place(struct pathcache *c, const struct rp_node *node, uint64_t *id,
                       struct pc_dirfd *at, char *name);
void pc_dirfd_put(struct pathcache *c, struct pc_dirfd *at);

/*
 * fd, the caller's, is a descriptor of directory node: keep it, or close it.
 * Context: no locks.
 */
void pc_dirfd_adopt(struct pathcache *c, struct rp_node *node, int fd);

/*
 * Somebody holds node: while there is room, see that a directory can be asked
 * whatever becomes of its names. Context: no locks; may block.
 */
void pc_dirfd_keep(struct pathcache *c, struct rp_node *node);

/* Is node's descriptor open? Context: any lock above dirfds.lock. */
bool pc_dirfds_has(struct pc_dirfds *d, const struct rp_node *node);

/* node died. Context: any lock above dirfds.lock. */
void pc_dirfds_forget(struct pc_dirfds *d, const struct rp_node *node);

/* Descriptors open now. */
uint32_t pc_dirfds_count(struct pathcache *c);

#endif
