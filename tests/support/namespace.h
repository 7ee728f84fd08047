/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An application's namespace in memory, served to a cache through struct
 * pathcache_ops, that a test can hold still: a gate on a callback blocks it
 * before or after it has read its answer, or makes it fail. Every callback is
 * counted.
 *
 * The namespace never announces anything: the test does, or leaves it.
 */
#ifndef TS_NAMESPACE_H
#define TS_NAMESPACE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pathcache.h"

enum ts_call { TS_LOOKUP, TS_GETATTR, TS_GETLINK, TS_MAY, TS_LIST, TS_CALLS };

#define TS_ANYONE UINT32_MAX

struct ts_object {
	struct ts_object *parent;
	struct ts_child *children;
	char *link;
	uint64_t id, generation;
	uint64_t size, mtime, dev;
	uint32_t mode, uid, gid, nlink;
	uint32_t mask;        /* what a reply fills in */
	uint32_t reply_flags; /* PATHCACHE_REPLY_* of every answer about it */
	bool late_link;       /* link text by readlink only */
	/* Accepted replies not released yet; counts handed out and given back. */
	uint64_t handed_out, released;
	struct ts_object *next_all;
};

struct ts_child {
	struct ts_child *next;
	struct ts_object *object;
	uint32_t only_uid; /* others are told ENOENT, all answers are private */
	char name[];
};

enum ts_gate_kind { TS_GATE_UNUSED, TS_GATE_BEFORE, TS_GATE_AFTER, TS_GATE_FAIL };

struct ts_gate {
	enum ts_gate_kind kind;
	enum ts_call call;
	char name[256];   /* of a lookup; of others, "" = any */
	int err;          /* TS_GATE_FAIL */
	unsigned times;   /* calls left to hold or to fail */
	unsigned waiting; /* callers held now */
	bool open;
};

#define TS_GATES 8

struct ts_namespace {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct ts_object *root, *all;
	struct ts_gate gates[TS_GATES];
	uint64_t last_id;
	uint64_t calls[TS_CALLS];
	uint64_t fail_after; /* every call but the first so many fails with EIO; 0 = off */
	uint64_t total;
	uint32_t delay_us; /* of every lookup */
	/* Called without the lock at the start of each callback. */
	void (*on_call)(void *arg, enum ts_call call, const char *name);
	/* The same when its answer is made, so that the answer is from before. */
	void (*on_return)(void *arg, enum ts_call call, const char *name);
	void *on_call_arg;
};

void ts_ns_init(struct ts_namespace *ns);
void ts_ns_fini(struct ts_namespace *ns);
void ts_ns_open(struct ts_namespace *ns, struct pathcache **out,
                const struct pathcache_options *opt);

/* Paths are walked without links. mode has the type; link only for S_IFLNK. */
struct ts_object *ts_ns_add(struct ts_namespace *ns, const char *path, uint32_t mode,
                            const char *link);
struct ts_object *ts_ns_find(struct ts_namespace *ns, const char *path);
void ts_ns_remove(struct ts_namespace *ns, const char *path);
void ts_ns_link(struct ts_namespace *ns, const char *from, const char *to);
/* Over whatever is at to. */
void ts_ns_rename(struct ts_namespace *ns, const char *from, const char *to);
/* Both are there. */
void ts_ns_exchange(struct ts_namespace *ns, const char *one, const char *two);
/* What a lookup would answer about path, its handle counted as handed out. */
struct pathcache_reply ts_ns_reply(struct ts_namespace *ns, const char *path);
void ts_ns_only_for(struct ts_namespace *ns, const char *path, uint32_t uid);
/* Change attributes under the lock. */
void ts_ns_set(struct ts_namespace *ns, const char *path, uint32_t mode, uint64_t size);

/* kind BEFORE or AFTER: hold matching calls until ts_gate_open(). name NULL = any. */
struct ts_gate *ts_gate_close(struct ts_namespace *ns, enum ts_gate_kind kind, enum ts_call call,
                              const char *name);
/* The same for the next so many matching calls only. */
struct ts_gate *ts_gate_close_for(struct ts_namespace *ns, enum ts_gate_kind kind,
                                  enum ts_call call, const char *name, unsigned times);
/* The next so many matching calls fail with err. */
struct ts_gate *ts_gate_fail(struct ts_namespace *ns, enum ts_call call, const char *name, int err,
                             unsigned times);
/* Return: whether n callers are held within 10 s. */
bool ts_gate_wait(struct ts_namespace *ns, struct ts_gate *gate, unsigned n);
void ts_gate_open(struct ts_namespace *ns, struct ts_gate *gate);

uint64_t ts_ns_calls(struct ts_namespace *ns, enum ts_call call);
/* Handles given out by lookups and by opening, less those released. */
int64_t ts_ns_unreleased(struct ts_namespace *ns);

#endif
