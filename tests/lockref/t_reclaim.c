/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * lockref.reclaim: a pool of objects that are found, held, named again,
 * evicted, killed and freed by all threads at once (K7: a get on an object
 * that is being reclaimed; F3, F5, F7: references taken on what is gone).
 *
 * Violations are counted, not only crashed on. A slot stands for an identity
 * entry: its lock guards the one name an object has or has not, and the object
 * stays reachable through the slot until its killer takes it out.
 *
 * The sound run frees for real, so that the address and thread sanitizers
 * judge as well. The broken ones, the negative controls, recycle their memory:
 * a use after free then shows as a changed generation. They are left out under
 * the thread sanitizer, as their races are no news.
 */
#include <pthread.h>

#include "check.h"
#include "grace.h"
#include "lockref.h"

#define THREADS 4
#define SLOTS 8
#define BATCH 64 /* retired objects a thread lets pile up */
#define STAMP UINT64_C(0x6c6f636b72656631)
#define CONTROL_LIMIT_NS UINT64_C(20000000000)

enum violation {
	FREED_WHILE_USED,
	DEAD_WHILE_HELD,
	DEAD_WHILE_NAMED,
	TWO_KILLERS,
	LEAK,
	VIOLATIONS
};

static const char *const violation_names[] = {
	"freed_while_used", "dead_while_held", "dead_while_named", "two_killers", "leak",
};

struct object {
	struct lockref ref;
	_Atomic uint64_t generation; /* odd while it is free */
	_Atomic bool retired;
	uint64_t stamp;      /* const after publish */
	struct object *next; /* its killer's, then the pool's */
};

struct slot {
	pthread_mutex_t lock;
	_Atomic(struct object *) object; /* slot lock; read under RCU */
	bool named;                      /* slot lock */
};

struct variant {
	const char *name;
	bool (*get)(struct lockref *ref, uint64_t *random);
	bool (*put)(struct lockref *ref, uint64_t *random);
	bool section; /* the put is in a read section */
	bool sound;
	enum violation expected;
};

struct pool {
	const struct variant *variant;
	struct slot slots[SLOTS];
	pthread_mutex_t free_lock;
	struct object *free; /* free_lock */
	_Atomic uint64_t made;
	_Atomic uint64_t freed;
	_Atomic uint64_t found[VIOLATIONS];
	_Atomic bool stop;
};

struct worker {
	struct pool *pool;
	uint64_t random;
	uint64_t operations;
	unsigned int index;
	unsigned int retired;
	struct object *retired_list;
};

/* ---- variants ----------------------------------------------------------- */

static bool put_sound(struct lockref *ref, uint64_t *random)
{
	(void)random;
	return lockref_put(ref);
}

/* lockref_put() without its assertion, which broken words would trip. */
static bool put_widened(struct lockref *ref, uint64_t *random)
{
	uint64_t old = atomic_fetch_sub_explicit(&ref->word, 1, memory_order_release);

	check_window(random);
	return lockref_put_kills_(old) && lockref_kill_from_(ref, old - 1);
}

/* The swap's exact snapshot is what this does without. */
static bool put_stores_dead(struct lockref *ref, uint64_t *random)
{
	uint64_t old = atomic_fetch_sub_explicit(&ref->word, 1, memory_order_acq_rel);

	if (!lockref_put_kills_(old))
		return false;
	check_window(random);
	atomic_store_explicit(&ref->word, LOCKREF_DEAD | LOCKREF_DOOM, memory_order_release);
	return true;
}

static bool get_sound(struct lockref *ref, uint64_t *random)
{
	(void)random;
	return lockref_get(ref);
}

static bool get_ignores_dead(struct lockref *ref, uint64_t *random)
{
	check_window(random);
	atomic_fetch_add_explicit(&ref->word, 1, memory_order_acquire);
	return true;
}

static const struct variant sound = {
	"sound", get_sound, put_sound, true, true, VIOLATIONS,
};

static const struct variant broken[] = {
	{"put_outside_section", get_sound, put_widened, false, false, FREED_WHILE_USED},
	{"dead_by_store", get_sound, put_stores_dead, true, false, DEAD_WHILE_HELD},
	{"get_ignores_dead", get_ignores_dead, put_widened, true, false, DEAD_WHILE_HELD},
};

/* ---- memory ------------------------------------------------------------- */

static void violated(struct pool *pool, enum violation kind)
{
	atomic_fetch_add_explicit(&pool->found[kind], 1, memory_order_relaxed);
}

static uint64_t generation_of(struct object *o)
{
	return atomic_load_explicit(&o->generation, memory_order_relaxed);
}

static struct object *recycled(struct pool *pool)
{
	struct object *o;

	pthread_mutex_lock(&pool->free_lock);
	o = pool->free;
	if (o)
		pool->free = o->next;
	pthread_mutex_unlock(&pool->free_lock);
	return o;
}

static struct object *object_create(struct pool *pool)
{
	struct object *o = recycled(pool);

	if (!o)
		o = calloc(1, sizeof(*o));
	if (!o)
		exit(1);
	lockref_init(&o->ref, 0);
	if (generation_of(o) & 1)
		atomic_fetch_add_explicit(&o->generation, 1, memory_order_relaxed);
	atomic_store_explicit(&o->retired, false, memory_order_relaxed);
	o->stamp = STAMP;
	atomic_fetch_add_explicit(&pool->made, 1, memory_order_relaxed);
	return o;
}

static void object_free(struct pool *pool, struct object *o)
{
	atomic_fetch_add_explicit(&pool->freed, 1, memory_order_relaxed);
	o->stamp = 0;
	if (pool->variant->sound) {
		free(o);
		return;
	}
	atomic_fetch_add_explicit(&o->generation, 1, memory_order_relaxed);
	pthread_mutex_lock(&pool->free_lock);
	o->next = pool->free;
	pool->free = o;
	pthread_mutex_unlock(&pool->free_lock);
}

/* Context: not in a read section. */
static void flush_retired(struct worker *w)
{
	struct object *o = w->retired_list, *next;

	if (!o)
		return;
	grace_period();
	for (; o; o = next) {
		next = o->next;
		object_free(w->pool, o);
	}
	w->retired_list = NULL;
	w->retired = 0;
}

static void retire(struct worker *w, struct object *o)
{
	if (atomic_exchange_explicit(&o->retired, true, memory_order_relaxed)) {
		violated(w->pool, TWO_KILLERS);
		return;
	}
	o->next = w->retired_list;
	w->retired_list = o;
	w->retired++;
}

/* ---- operations --------------------------------------------------------- */

/* A put killed it: the caller alone takes it out of its slot. */
static void bury(struct worker *w, struct slot *slot, struct object *o)
{
	bool ours;

	pthread_mutex_lock(&slot->lock);
	ours = atomic_load_explicit(&slot->object, memory_order_relaxed) == o;
	if (ours && slot->named)
		violated(w->pool, DEAD_WHILE_NAMED);
	if (ours)
		atomic_store_explicit(&slot->object, NULL, memory_order_relaxed);
	else
		violated(w->pool, TWO_KILLERS);
	pthread_mutex_unlock(&slot->lock);
	if (ours)
		retire(w, o);
}

static struct object *find_and_get(struct worker *w, struct slot *slot)
{
	struct object *o;

	grace_section_begin();
	o = atomic_load_explicit(&slot->object, memory_order_acquire);
	if (o && !w->pool->variant->get(&o->ref, &w->random))
		o = NULL;
	grace_section_end();
	return o;
}

static void give_back(struct worker *w, struct slot *slot, struct object *o)
{
	const struct variant *v = w->pool->variant;
	uint64_t generation = generation_of(o);

	if (v->section)
		grace_section_begin();
	if (v->put(&o->ref, &w->random))
		bury(w, slot, o);
	else if (generation_of(o) != generation)
		violated(w->pool, FREED_WHILE_USED);
	if (v->section)
		grace_section_end();
}

static void check_held(struct worker *w, struct object *o)
{
	if (lockref_is_dead(&o->ref))
		violated(w->pool, DEAD_WHILE_HELD);
	if (w->pool->variant->sound && o->stamp != STAMP)
		violated(w->pool, FREED_WHILE_USED);
}

static void visit(struct worker *w, struct slot *slot)
{
	struct object *o = find_and_get(w, slot);

	if (!o)
		return;
	check_held(w, o);
	if (w->pool->variant->sound && check_random(&w->random) % 4 == 0) {
		lockref_get_held(&o->ref);
		give_back(w, slot, o);
	}
	check_window(&w->random);
	check_held(w, o);
	give_back(w, slot, o);
}

/* Broken words would trip lockref_undoom()'s assertion, not the counters. */
static void name_again(struct worker *w, struct slot *slot)
{
	struct object *o;

	if (!w->pool->variant->sound)
		return;
	o = find_and_get(w, slot);
	if (!o)
		return;
	pthread_mutex_lock(&slot->lock);
	if (atomic_load_explicit(&slot->object, memory_order_relaxed) != o)
		violated(w->pool, DEAD_WHILE_HELD);
	lockref_undoom(&o->ref);
	slot->named = true;
	pthread_mutex_unlock(&slot->lock);
	check_held(w, o);
	give_back(w, slot, o);
}

/* The slot's lock keeps the memory: whoever kills must take it before it retires. */
static void evict(struct worker *w, struct slot *slot)
{
	struct object *o;
	bool killed = false;

	pthread_mutex_lock(&slot->lock);
	o = atomic_load_explicit(&slot->object, memory_order_relaxed);
	if (o && slot->named) {
		slot->named = false;
		killed = lockref_doom(&o->ref);
		if (!killed && check_random(&w->random) % 2)
			killed = lockref_try_kill(&o->ref);
		if (killed)
			atomic_store_explicit(&slot->object, NULL, memory_order_relaxed);
	}
	pthread_mutex_unlock(&slot->lock);
	if (killed)
		retire(w, o);
}

static void create(struct worker *w, struct slot *slot)
{
	struct object *o;

	pthread_mutex_lock(&slot->lock);
	if (!atomic_load_explicit(&slot->object, memory_order_relaxed)) {
		o = object_create(w->pool);
		slot->named = true;
		atomic_store_explicit(&slot->object, o, memory_order_release);
	}
	pthread_mutex_unlock(&slot->lock);
}

/* As a hit marks what it found as recently used: no reference, only a section. */
static void mark_used(struct worker *w, struct slot *slot)
{
	struct object *o;

	grace_section_begin();
	o = atomic_load_explicit(&slot->object, memory_order_acquire);
	if (o && !(lockref_flags(&o->ref) & LOCKREF_USER(w->index)))
		lockref_set_flags(&o->ref, LOCKREF_USER(w->index));
	else if (o)
		lockref_clear_flags(&o->ref, LOCKREF_USER(w->index));
	grace_section_end();
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;
	struct pool *pool = w->pool;
	unsigned int batch = pool->variant->sound ? BATCH : 1;
	uint64_t random;
	struct slot *slot;

	grace_thread_begin();
	while (!atomic_load_explicit(&pool->stop, memory_order_relaxed)) {
		random = check_random(&w->random);
		slot = &pool->slots[random % SLOTS];
		switch ((random >> 32) % 8) {
		case 0:
			create(w, slot);
			break;
		case 1:
			evict(w, slot);
			break;
		case 2:
			name_again(w, slot);
			break;
		case 3:
			mark_used(w, slot);
			break;
		default:
			visit(w, slot);
			break;
		}
		if (w->retired >= batch)
			flush_retired(w);
		w->operations++;
	}
	flush_retired(w);
	grace_thread_end();
	return NULL;
}

/* ---- a run -------------------------------------------------------------- */

static void pool_init(struct pool *pool, const struct variant *v)
{
	unsigned int i;

	*pool = (struct pool){.variant = v};
	pthread_mutex_init(&pool->free_lock, NULL);
	for (i = 0; i < SLOTS; i++)
		pthread_mutex_init(&pool->slots[i].lock, NULL);
}

/* Nobody is left: what has no name must be gone, what has one is not held. */
static void pool_fini(struct pool *pool)
{
	uint64_t left = 0;
	unsigned int i;
	struct object *o;

	for (i = 0; i < SLOTS; i++) {
		o = pool->slots[i].object;
		pthread_mutex_destroy(&pool->slots[i].lock);
		if (!o)
			continue;
		left++;
		if (!pool->slots[i].named || lockref_count(&o->ref) != 0)
			violated(pool, LEAK);
		free(o);
	}
	if (pool->made != pool->freed + left)
		violated(pool, LEAK);
	while (pool->free) {
		o = pool->free;
		pool->free = o->next;
		free(o);
	}
	pthread_mutex_destroy(&pool->free_lock);
}

static void wait_for_end(struct pool *pool, uint64_t ns)
{
	const struct variant *v = pool->variant;
	const struct timespec nap = {.tv_nsec = 5000000};
	uint64_t end = check_now_ns() + ns;

	while (check_now_ns() < end) {
		nanosleep(&nap, NULL);
		if (!v->sound && pool->found[v->expected] > 0)
			break;
	}
	atomic_store_explicit(&pool->stop, true, memory_order_relaxed);
}

static void report(const struct pool *pool, uint64_t operations)
{
	unsigned int i;

	printf("%-20s %8" PRIu64 " operations, %7" PRIu64 " objects made, %7" PRIu64 " freed:",
	       pool->variant->name, operations, pool->made, pool->freed);
	for (i = 0; i < VIOLATIONS; i++) {
		if (pool->found[i])
			printf(" %s %" PRIu64, violation_names[i], pool->found[i]);
	}
	printf("\n");
}

static void run(const struct variant *v, uint64_t ns, uint64_t seed)
{
	static struct pool pool;
	struct worker workers[THREADS];
	pthread_t threads[THREADS];
	uint64_t operations = 0;
	unsigned int i;

	pool_init(&pool, v);
	for (i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){.pool = &pool, .random = seed + i, .index = i};
		if (pthread_create(&threads[i], NULL, worker_main, &workers[i]))
			exit(1);
	}
	wait_for_end(&pool, ns);
	for (i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		operations += workers[i].operations;
	}
	pool_fini(&pool);
	report(&pool, operations);

	for (i = 0; i < VIOLATIONS && v->sound; i++)
		CHECK(pool.found[i] == 0);
	CHECK(v->sound || pool.found[v->expected] > 0);
	CHECK(!v->sound || pool.freed > 0);
}

int main(void)
{
	uint64_t seed = check_seed();
	size_t i;

	run(&sound, check_duration_ns(1.0), seed);
	for (i = 0; i < sizeof(broken) / sizeof(broken[0]) && !CHECK_TSAN; i++)
		run(&broken[i], CONTROL_LIMIT_NS, seed + i);
	return check_result("lockref.reclaim");
}
