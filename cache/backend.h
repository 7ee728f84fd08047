/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * backend: where answers come from; one table each for a real directory tree
 * (backend_posix.c) and for an application's namespace (backend_app.c).
 *
 * Context of all but release: no lock and no read section held, the
 * nodes passed in are held by the caller; may block.
 */
#ifndef PC_BACKEND_H
#define PC_BACKEND_H

#include "name.h"
#include "node.h"
#include "pathcache.h"

/* pc_answer.flags beside RP_N_*, which go to the node: */
#define PC_A_NO_CACHE 0x10000u /* give it to those who asked, keep nothing */
#define PC_A_PRIVATE 0x20000u  /* give it to this caller only */
#define PC_A_OWN 0x40000u      /* asked is a number that no other question has: pc_expiry_ask() */

/* A backend's answer about one object, or about one absent name. */
struct pc_answer {
	uint32_t flags;
	uint32_t link_len; /* 0: text not known */
	uint64_t object_id;
	uint64_t object_gen;
	uint64_t domain;
	void *handle;
	struct rp_attr attr;
	char link[RP_PATH_MAX];
};

struct pc_backend {
	/* What name (NUL-terminated) means in dir. 0; -ENOENT; -ESTALE: dir is not where it was; else trouble. */
	int (*lookup)(struct pathcache *c, struct rp_node *dir, const char *name, size_t len,
	              const struct rp_cred *cred, struct pc_answer *a);
	/* The directory above dir. *fd: a descriptor of it, the caller's, or left alone. */
	int (*parent)(struct pathcache *c, struct rp_node *dir, const struct rp_cred *cred,
	              struct pc_answer *a, int *fd);
	/* Attributes now. -ESTALE: found by none of its last known names. */
	int (*getattr)(struct pathcache *c, struct rp_node *node, const struct rp_cred *cred,
	               struct pc_answer *a);
	/* Text of a symlink, up to RP_PATH_MAX - 1 bytes. Returns its length. */
	ssize_t (*readlink)(struct pathcache *c, struct rp_node *node, char *buf);
	/* Has node an ACL? 0, 1, or an errno. NULL: nodes are never RP_N_ACL_UNKNOWN. */
	int (*acl)(struct pathcache *c, struct rp_node *node);
	/* May cred do mask to node? 0 or an errno. */
	int (*access)(struct pathcache *c, struct rp_node *node, int mask,
	              const struct rp_cred *cred);
	/*
	 * As pathcache_readdir(). Return: 1: fn did not stop it, and no other name
	 * would be found (asked for where complete_max is set only); 0; -errno.
	 */
	int (*readdir)(struct pathcache *c, struct rp_node *dir, uint64_t cookie,
	               pathcache_dirent_fn fn, void *arg);
	/*
	 * A descriptor of what name means in dir, which was node; of node itself when
	 * dir is NULL: it is a directory, or what resolve gave. NULL where there are none.
	 */
	int (*open)(struct pathcache *c, struct rp_node *node, struct rp_node *dir,
	            const char *name, int oflags);
	/* May cred do mask to what fd is a descriptor of? With open. */
	int (*judge)(struct pathcache *c, int fd, int mask, const struct rp_cred *cred);
	/* Resolve rest from dir by the kernel, into an object of its own. NULL: never asked. */
	int (*resolve)(struct pathcache *c, struct rp_node *dir, const char *rest, uint64_t flags,
	               const struct rp_cred *cred, struct pc_answer *a);
	/*
	 * The path, from the cache's root, of a directory or of what resolve gave.
	 * -ENOENT: it has none. NULL: paths are not known.
	 */
	ssize_t (*path)(struct pathcache *c, struct rp_node *node, char *buf, size_t size);
	/*
	 * What an application announces of itself. Context of both: any, and attr's
	 * may be the change lock's.
	 * reply: of a new object: 0; -EINVAL, -E2BIG. NULL: it says nothing of objects.
	 * attr: of node, which no backend is asked about then. Return: whether it says
	 * enough, and of this node, to be a.
	 */
	int (*reply)(struct pathcache *c, const struct pathcache_reply *r, struct pc_answer *a);
	bool (*attr)(struct pathcache *c, const struct rp_node *node,
	             const struct pathcache_attr *attr, struct pc_answer *a);
	/* The answer's or the node's handle is not used any more. Context: no locks. May be NULL. */
	void (*release)(struct pathcache *c, uint64_t id, uint64_t gen, void *handle);
	void (*fini)(void *data);
};

/* backend_posix.c. dir: as pathcache_open(). root: the answer for the root directory. */
int pc_posix_create(const char *dir, void **data, struct pc_answer *root);
extern const struct pc_backend pc_backend_posix;

/* backend_app.c */
int pc_app_create(const struct pathcache_ops *ops, void *ctx, const struct pathcache_reply *reply,
                  void **data, struct pc_answer *root);
extern const struct pc_backend pc_backend_app;

#endif
