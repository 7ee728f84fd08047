/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Opening and closing a cache.
 */
#include "cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "cred.h"
#include "evict.h"
#include "fork.h"
#include "learn.h"
#include "reclaim.h"
#include "store.h"

#define OBJECTS_LOAD 2u   /* only misses look there */
#define SHRINK_STEP 256u  /* memos that go between two looks at the rest */
#define BUCKETS_MIN 1024u /* first arrays of both tables; they double as they fill */

static const struct pathcache_options defaults = {
	.size = sizeof(struct pathcache_options),
	.mode = PATHCACHE_MODE_RCU,
	.max_dirfds = 256,
	.budget = UINT64_C(256) << 20,
	.backlog = UINT64_C(4) << 20,
	.huge_pages = 1,
	.memo_share = 25,
	.memo_ways = 16,
	.negative_share = 25,
	.negatives_per_dir = 16384,
	.max_watches = 65536,
	.name_ttl_ms = 1000,
	.attr_ttl_ms = 1000,
	.negative_ttl_ms = 1000,
};

void pathcache_options_init(struct pathcache_options *opt)
{
	if (opt)
		*opt = defaults;
}

static_assert((int)PATHCACHE_MODE_RCU == RP_MODE_RCU &&
                      (int)PATHCACHE_MODE_LOCKREF == RP_MODE_LOCKREF &&
                      (int)PATHCACHE_MODE_REFWALK == RP_MODE_REFWALK &&
                      (int)PATHCACHE_MODE_LOCKED == RP_MODE_LOCKED,
              "public and internal modes are the same numbers");

static bool all_zero(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i])
			return false;
	return true;
}

int pc_versioned_copy(void *to, size_t to_size, const void *from)
{
	size_t size = *(const size_t *)from;

	if (size < sizeof(size_t))
		return -EINVAL;
	if (size > to_size && !all_zero((const char *)from + to_size, size - to_size))
		return -E2BIG;
	memcpy(to, from, size < to_size ? size : to_size);
	return 0;
}

static bool coherence_is_good(const struct pathcache_options *o)
{
	return o->coherence <= PATHCACHE_COHERENCE_NONE && o->source <= PATHCACHE_SOURCE_FANOTIFY &&
	       o->strict <= 1 && o->thread <= 1 && o->name_ttl_ms <= INT32_MAX &&
	       o->attr_ttl_ms <= INT32_MAX && o->negative_ttl_ms <= INT32_MAX &&
	       o->stale_ms <= INT32_MAX;
}

static int options_take(struct pathcache_options *o, const struct pathcache_options *opt)
{
	int rc;

	*o = defaults;
	if (!opt)
		return 0;
	rc = pc_versioned_copy(o, sizeof(*o), opt);
	if (rc)
		return rc;
	if (o->mode > PATHCACHE_MODE_LOCKED || o->huge_pages > 1 || o->max_dirfds == 0)
		return -EINVAL;
	if (o->memo_share > 90 || (o->memo_ways != 4 && o->memo_ways != 8 && o->memo_ways != 16))
		return -EINVAL;
	if (o->negative_share > 100 || o->negatives_per_dir > UINT16_MAX)
		return -EINVAL;
	if (!coherence_is_good(o))
		return -EINVAL;
	if (o->coherence == PATHCACHE_COHERENCE_NONE)
		o->budget = 0;
	if (o->strict)
		/* A memo's hit asks nothing, and so costs others nothing either. */
		o->memo_share = 0;
	if (o->allocator && (!o->allocator->alloc || !o->allocator->free))
		return -EINVAL;
	return 0;
}

static int open_begin(struct pathcache_options *o, const struct pathcache_options *opt)
{
	int rc = options_take(o, opt);

	return rc ? rc : pc_fork_watch();
}

static bool sysctl_protected_symlinks(void)
{
	int fd = open("/proc/sys/fs/protected_symlinks", O_RDONLY | O_CLOEXEC);
	char c = '0';

	if (fd < 0)
		return false;
	if (read(fd, &c, 1) != 1)
		c = '0';
	close(fd);
	return c == '1';
}

/* ---- parts, freed by cache_free() however far creation came --------------- */

static void tables_free(struct pathcache *c)
{
	struct rp_table *tables[2] = {&c->tree.dentries, &c->objects};

	for (int i = 0; i < 2; i++) {
		struct rp_buckets *b = rp_table_buckets(tables[i]);

		if (b)
			pc_free(c->mem, PC_MEM_TABLE, b, rp_buckets_size(b->mask + 1));
		b = tables[i]->next;
		if (b)
			pc_free(c->mem, PC_MEM_TABLE, b, rp_buckets_size(b->mask + 1));
	}
}

static void slots_free(struct pathcache *c)
{
	size_t size;
	void *p;

	for (unsigned k = 0; (p = rp_slots_chunk(&c->tree.slots, k, &size)) != NULL; k++)
		pc_free(c->mem, PC_MEM_TABLE, p, size);
}

static void cache_free(struct pathcache *c)
{
	struct pc_mem *mem = c->mem;

	pc_worker_stop(c);
	c->backend->fini(c->backend_data);
	pc_dirfds_fini(c);
	pc_events_fini(c);
	pc_loop_fini(&c->loop);
	pc_mounts_fini(&c->mounts);
	pc_flights_fini(&c->flights);
	pc_learn_fini(c);
	pc_evict_fini(c);
	tables_free(c);
	slots_free(c);
	pthread_mutex_destroy(&c->lock);
	pthread_mutex_destroy(&c->worker.lock);
	if (c->tally) {
		pc_tally_fini(c->tally);
		free(c->tally);
	}
	free(c->self_groups);
	pc_free(mem, PC_MEM_OTHER, c->unaligned, sizeof(*c) + alignof(struct pathcache));
	pc_mem_destroy(mem);
}

static struct pathcache *cache_alloc(const struct pathcache_options *o)
{
	struct pathcache *c;
	struct pc_mem *mem;
	char *p;

	if (pc_mem_create(&mem, o->allocator, o->budget, o->huge_pages))
		return NULL;
	p = pc_alloc(mem, PC_MEM_OTHER, sizeof(*c) + alignof(struct pathcache));
	if (!p) {
		pc_mem_destroy(mem);
		return NULL;
	}
	c = (struct pathcache *)(((uintptr_t)p + alignof(struct pathcache) - 1) &
	                         ~(uintptr_t)(alignof(struct pathcache) - 1));
	c->unaligned = p;
	c->mem = mem;
	c->mode = (enum rp_mode)o->mode;
	pc_evict_init(c, o);
	c->wait_ms = o->wait_ms;
	c->complete_max = o->complete_max;
	c->coherence = (enum pathcache_coherence)o->coherence;
	c->strict = o->strict;
	c->listener = o->listener;
	c->listener_arg = o->listener_arg;
	pthread_mutex_init(&c->lock, NULL);
	pc_loop_init(&c->loop);
	pc_mounts_init(&c->mounts);
	pc_worker_init(&c->worker);
	pc_events_init(c);
	pc_flights_init(&c->flights);
	pc_learn_init(c, o);
	pc_expiry_init(c, o);
	return c;
}

static int parts_create(struct pathcache *c, const struct pathcache_options *o)
{
	struct rp_buckets *a[2];
	int rc = pc_cred_current(&c->self, &c->self_groups);

	if (rc)
		return rc;
	c->tally = malloc(sizeof(*c->tally));
	if (!c->tally)
		return -ENOMEM;
	pc_tally_init(c->tally, c);
	for (int i = 0; i < 2; i++) {
		a[i] = pc_alloc(c->mem, PC_MEM_TABLE, rp_buckets_size(BUCKETS_MIN));
		if (!a[i])
			return -ENOMEM;
		if (i == 0)
			rp_tree_init(&c->tree, a[0], BUCKETS_MIN, NULL);
		else
			rp_table_init(&c->objects, a[1], BUCKETS_MIN, OBJECTS_LOAD, pc_node_hash);
	}
	if (getrandom(c->tree.secret.bytes, sizeof(c->tree.secret.bytes), 0) !=
	    (ssize_t)sizeof(c->tree.secret.bytes))
		return -EIO;
	c->tree.protected_symlinks = sysctl_protected_symlinks();
	return pc_dirfds_init(c, c->backend->open ? o->max_dirfds : 0);
}

static int root_create(struct pathcache *c, struct pc_answer *root)
{
	if (!S_ISDIR(root->attr.mode))
		return -ENOTDIR;
	c->tree.root = pc_store_root(c, root);
	return c->tree.root ? 0 : -ENOMEM;
}

static bool watches_mounts(const struct pathcache *c)
{
	return c->backend == &pc_backend_posix && (c->coherence == PATHCACHE_COHERENCE_EVENTS ||
	                                           c->coherence == PATHCACHE_COHERENCE_TTL);
}

/* The backend's data is the cache's from here on, whatever comes out. */
static int cache_open(struct pathcache **out, const struct pc_backend *backend, void *data,
                      struct pc_answer *root, const struct pathcache_options *o)
{
	struct pathcache *c = cache_alloc(o);
	int rc;

	if (!c) {
		backend->fini(data);
		return -ENOMEM;
	}
	c->backend = backend;
	c->backend_data = data;
	rc = parts_create(c, o);
	if (!rc && watches_mounts(c))
		rc = pc_mounts_open(c);
	if (!rc && o->thread)
		rc = pc_worker_start(c);
	if (!rc)
		rc = root_create(c, root);
	if (!rc && c->coherence == PATHCACHE_COHERENCE_EVENTS)
		rc = pc_events_open(c, o);
	if (rc) {
		if (c->tree.root)
			pc_store_fini(c);
		cache_free(c);
		return rc;
	}
	pc_evict_settle(c);
	pc_worker_release(c);
	*out = c;
	return 0;
}

int pathcache_open(struct pathcache **out, const char *dir, const struct pathcache_options *opt)
{
	struct pathcache_options o;
	struct pc_answer root;
	void *data;
	int rc;

	if (!out || !dir)
		return -EINVAL;
	rc = open_begin(&o, opt);
	if (!rc)
		rc = pc_posix_create(dir, &data, &root);
	return rc ? rc : cache_open(out, &pc_backend_posix, data, &root, &o);
}

int pathcache_open_ops(struct pathcache **out, const struct pathcache_ops *ops, void *ctx,
                       const struct pathcache_reply *root, const struct pathcache_options *opt)
{
	struct pathcache_options o;
	struct pc_answer answer;
	void *data;
	int rc;

	if (!out || !ops || !root)
		return -EINVAL;
	rc = open_begin(&o, opt);
	if (!rc && o.coherence == PATHCACHE_COHERENCE_EVENTS)
		rc = -EINVAL;
	if (!rc)
		rc = pc_app_create(ops, ctx, root, &data, &answer);
	return rc ? rc : cache_open(out, &pc_backend_app, data, &answer, &o);
}

/* ---- closing -------------------------------------------------------------- */

/* Does anybody hold a node, or lead a flight? */
static bool is_busy(struct pathcache *c)
{
	const struct rp_buckets *b = rp_table_buckets(&c->objects);
	bool busy;

	pthread_mutex_lock(&c->flights.lock);
	busy = c->flights.n != 0;
	pthread_mutex_unlock(&c->flights.lock);
	pthread_mutex_lock(&c->lock);
	busy |= atomic_load_explicit(&c->nprivate, memory_order_relaxed) != 0;
	for (uint32_t i = 0; i <= b->mask && !busy; i++)
		for (struct rp_hlink *l = rp_table_first(b, i); l; l = rp_table_next(b, l))
			if (pc_node_is_held(c, l))
				busy = true;
	pthread_mutex_unlock(&c->lock);
	return busy;
}

int pathcache_close(struct pathcache *cache)
{
	if (!cache)
		return 0;
	if (pc_is_child())
		return -ECHILD;
	if (!pc_rcu_may_wait_quiescent())
		return -EDEADLK;
	pc_worker_hold(cache); /* what it holds for a moment is not the application's */
	if (is_busy(cache)) {
		pc_worker_release(cache);
		return -EBUSY;
	}
	pc_worker_stop(cache);
	pc_store_fini(cache);
	cache_free(cache);
	return 0;
}

/* ---- upkeep ---------------------------------------------------------------- */

bool pc_upkeep_step(struct pathcache *c, uint32_t n)
{
	bool more = pc_events_drain(c, n);

	pc_mounts_check(c);
	pthread_mutex_lock(&c->lock);
	pc_sweep(c, n);
	more |= c->sweep.running || c->sweep.needed;
	more |= pc_evict_step(c);
	pthread_mutex_unlock(&c->lock);
	more |= pc_learn_trim(c, n);
	pc_reclaim(c);
	return more;
}

int pathcache_maintain(struct pathcache *cache, uint32_t budget)
{
	bool more;
	int cancel;

	if (!cache || !budget)
		return -EINVAL;
	if (pc_is_child())
		return -ECHILD;
	if (!pc_rcu_may_wait_quiescent())
		return -EDEADLK;
	/* The application's allocator, or its release, may be a cancellation point. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	more = pc_upkeep_step(cache, budget) ||
	       atomic_load_explicit(&cache->deferred, memory_order_relaxed) != 0;
	pthread_setcancelstate(cancel, NULL);
	return more;
}

int pathcache_sync(struct pathcache *cache)
{
	int cancel;

	if (!cache)
		return -EINVAL;
	if (pc_is_child())
		return -ECHILD;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pc_mounts_check(cache);
	pc_events_sync(cache);
	/* What nobody tells of may have changed as well. */
	pc_expiry_end(cache);
	pthread_setcancelstate(cancel, NULL);
	return 0;
}

static void shrink(struct pathcache *c, bool all)
{
	bool more;

	if (all)
		pc_learn_clear(c);
	do {
		more = pc_learn_trim(c, SHRINK_STEP);
		pthread_mutex_lock(&c->lock);
		more |= pc_evict_shrink(c, all);
		pthread_mutex_unlock(&c->lock);
		/* Not for each step: the next ones' memory may wait beside this one's. */
		if (!more || atomic_load_explicit(&c->deferred, memory_order_relaxed) >
		                     atomic_load_explicit(&c->clock.backlog, memory_order_relaxed))
			pc_reclaim(c);
	} while (more);
}

int pathcache_fd(struct pathcache *cache)
{
	if (!cache)
		return -EINVAL;
	if (pc_is_child())
		return -ECHILD;
	return cache->loop.fd < 0 ? -EOPNOTSUPP : cache->loop.fd;
}

int pathcache_set_budget(struct pathcache *cache, uint64_t budget)
{
	int cancel;
	bool all;

	if (!cache)
		return -EINVAL;
	if (pc_is_child())
		return -ECHILD;
	if (!pc_rcu_may_wait_quiescent())
		return -EDEADLK;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&cache->lock);
	pc_evict_limit(cache, cache->coherence == PATHCACHE_COHERENCE_NONE ? 0 : budget);
	pc_learn_limit(cache);
	pc_mem_limit(cache->mem, budget);
	all = pc_evict_far_over(cache);
	pthread_mutex_unlock(&cache->lock);
	shrink(cache, all);
	pc_mem_trim(cache->mem);
	pthread_setcancelstate(cancel, NULL);
	return 0;
}

struct pc_tally *pc_cache_tally(struct pathcache *c)
{
	return c->tally;
}

#if PC_TESTING
#include "testing.h"

int pc_test_protect(struct pathcache *cache, int readonly)
{
	return pc_mem_protect(cache->mem, readonly != 0);
}

uint64_t pc_test_resident(struct pathcache *cache)
{
	return pc_mem_resident(cache->mem);
}

void pc_test_locks(struct pathcache *cache, int taken)
{
	pthread_mutex_t *locks[] = {&cache->flights.lock, &cache->lock, &cache->dirfds.lock,
	                            pc_thread_registry()};
	int (*move)(pthread_mutex_t *) = taken ? pthread_mutex_lock : pthread_mutex_unlock;

	for (size_t i = 0; i < sizeof(locks) / sizeof(locks[0]); i++)
		move(locks[i]);
}

void pc_test_collapse(struct pathcache *cache)
{
	pc_mem_collapse(cache->mem);
}
#endif
