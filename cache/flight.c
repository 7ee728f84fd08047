/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flight.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "coherence.h"
#include "store.h"

/* Return: f, where its memory is to be freed; else NULL. */
static struct pc_flight *place_give(struct pc_flights *flights, struct pc_flight *f)
{
	if (f < flights->own || f >= flights->own + PC_FLIGHT_OWN)
		return f;
	f->next = flights->spare;
	flights->spare = f;
	return NULL;
}

int pc_flights_init(struct pc_flights *f)
{
	pthread_condattr_t attr;
	int rc;

	memset(f, 0, sizeof(*f));
	pthread_mutex_init(&f->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	rc = pthread_cond_init(&f->done, &attr);
	pthread_condattr_destroy(&attr);
	for (uint32_t i = 0; i < PC_FLIGHT_OWN; i++)
		place_give(f, &f->own[i]);
	return -rc;
}

void pc_flights_fini(struct pc_flights *f)
{
	pthread_cond_destroy(&f->done);
	pthread_mutex_destroy(&f->lock);
}

/* A place for a flight. NULL without memory. */
static struct pc_flight *place_take(struct pathcache *c)
{
	struct pc_flight *f = c->flights.spare;

	if (!f)
		return pc_alloc(c->mem, PC_MEM_OTHER, sizeof(*f));
	c->flights.spare = f->next;
	return f;
}

static uint8_t lane_of(struct pathcache *c, const struct rp_node *dir, const char *name, size_t len)
{
	return (uint8_t)(rp_name_hash(&c->tree.secret, dir, name, len) % PC_FLIGHT_LANES);
}

/* One under way that a lookup beginning now may join. */
static struct pc_flight *flight_find(struct pathcache *c, struct pc_flight *lane,
                                     const struct rp_node *dir, const char *name, size_t len)
{
	uint64_t inval = atomic_load_explicit(&c->inval_stamp, memory_order_relaxed);

	for (; lane; lane = lane->next)
		if (lane->dir == dir && lane->len == len && memcmp(lane->name, name, len) == 0 &&
		    lane->stamp >= inval && lane->state != PC_FLIGHT_DONE)
			return lane;
	return NULL;
}

/* Where answers expire: would one that was asked for when f began be believed now? */
static bool is_young(struct pathcache *c, const struct pc_flight *f)
{
	if (!pc_is_leased(c, f->dir))
		return true;
	pc_expiry_refresh(c, false);
	return f->stamp > rp_lease_floor(&c->tree.lease, RP_LEASE_WAY) &&
	       f->stamp > rp_lease_floor(&c->tree.lease, RP_LEASE_ABSENT);
}

bool pc_flight_is_led(struct pathcache *c, const struct rp_node *dir, const char *name, size_t len)
{
	uint8_t lane = lane_of(c, dir, name, len);
	bool led;

	pthread_mutex_lock(&c->flights.lock);
	led = flight_find(c, c->flights.lane[lane], dir, name, len) != NULL;
	pthread_mutex_unlock(&c->flights.lock);
	return led;
}

static void flight_unlink(struct pathcache *c, struct pc_flight *f)
{
	struct pc_flight **at = &c->flights.lane[f->lane];

	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
	c->flights.n--;
}

/* Leave; flights.lock is held, and let go. */
static void flight_leave(struct pathcache *c, struct pc_flight *f)
{
	struct rp_node *node = NULL;

	if (--f->aboard == 0) {
		flight_unlink(c, f);
		node = f->node;
		f = place_give(&c->flights, f);
	} else {
		f = NULL;
	}
	pthread_mutex_unlock(&c->flights.lock);
	if (node)
		pc_node_put(c, node);
	pc_free(c->mem, PC_MEM_OTHER, f, sizeof(*f));
}

static void deadline_in(struct timespec *at, uint32_t ms)
{
	clock_gettime(CLOCK_MONOTONIC, at);
	at->tv_sec += ms / 1000;
	at->tv_nsec += (long)(ms % 1000) * 1000000;
	if (at->tv_nsec >= 1000000000) {
		at->tv_sec++;
		at->tv_nsec -= 1000000000;
	}
}

struct wait {
	struct pathcache *c;
	struct pc_flight *f;
};

/* A waiter was cancelled; pthread_cond_wait() has taken the lock again. */
static void wait_cancelled(void *arg)
{
	struct wait *w = arg;

	flight_leave(w->c, w->f);
}

/* Wait for f to end or to lose its leader. Return: false when patience ended. */
static bool flight_wait(struct pathcache *c, struct pc_flight *f)
{
	struct wait w = {c, f};
	struct timespec at;
	int rc = 0;

	if (c->wait_ms)
		deadline_in(&at, c->wait_ms);
	pthread_cleanup_push(wait_cancelled, &w);
	pthread_setcancelstate(pc_thread.cancel, NULL);
	while (f->state == PC_FLIGHT_LEADING && rc != ETIMEDOUT) {
		if (c->wait_ms)
			rc = pthread_cond_timedwait(&c->flights.done, &c->flights.lock, &at);
		else
			pthread_cond_wait(&c->flights.done, &c->flights.lock);
	}
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	pthread_cleanup_pop(0);
	return f->state != PC_FLIGHT_LEADING;
}

static struct pc_flight *flight_begin(struct pathcache *c, uint8_t lane, const struct rp_node *dir,
                                      const char *name, size_t len)
{
	struct pc_flight *f = place_take(c);

	if (!f)
		return NULL;
	f->dir = dir;
	f->stamp = rp_tree_now(&c->tree);
	f->state = PC_FLIGHT_LEADING;
	f->aboard = 1;
	f->lane = lane;
	f->len = (uint8_t)len;
	f->node = NULL;
	memcpy(f->name, name, len);
	f->next = c->flights.lane[lane];
	c->flights.lane[lane] = f;
	c->flights.n++;
	return f;
}

enum pc_boarding pc_flight_board(struct pathcache *c, const struct rp_node *dir, const char *name,
                                 size_t len, struct pc_flight **flight, int *err,
                                 struct rp_node **node)
{
	uint8_t lane = lane_of(c, dir, name, len);
	struct pc_flight *f;
	bool ended;

	*flight = NULL;
	pthread_mutex_lock(&c->flights.lock);
	f = flight_find(c, c->flights.lane[lane], dir, name, len);
	if (!f || !is_young(c, f)) {
		*flight = flight_begin(c, lane, dir, name, len);
		pthread_mutex_unlock(&c->flights.lock);
		return PC_LEAD;
	}
	f->aboard++;
	ended = flight_wait(c, f);
	if (ended && f->state == PC_FLIGHT_ORPHAN) {
		f->state = PC_FLIGHT_LEADING;
		f->stamp = rp_tree_now(&c->tree);
		pthread_mutex_unlock(&c->flights.lock);
		*flight = f;
		return PC_LEAD;
	}
	if (!ended || !f->shared) {
		pc_count(c, ended ? PC_COALESCED : PC_GAVE_UP);
		flight_leave(c, f);
		return PC_LEAD;
	}
	*err = f->err;
	*node = f->node;
	if (f->node)
		pc_node_hold(f->node);
	pc_count(c, PC_COALESCED);
	flight_leave(c, f);
	return PC_SHARED;
}

void pc_flight_land(struct pathcache *c, struct pc_flight *f, int err, bool shared,
                    struct rp_node *node)
{
	if (!f)
		return;
	pthread_mutex_lock(&c->flights.lock);
	f->state = PC_FLIGHT_DONE;
	f->err = err;
	f->shared = shared;
	if (f->aboard > 1) {
		/* Nobody can join any more. */
		if (node)
			pc_node_hold(node);
		f->node = node;
		pthread_cond_broadcast(&c->flights.done);
	}
	flight_leave(c, f);
}

void pc_flight_abandon(struct pathcache *c, struct pc_flight *f)
{
	if (!f)
		return;
	pthread_mutex_lock(&c->flights.lock);
	f->state = PC_FLIGHT_ORPHAN;
	pthread_cond_broadcast(&c->flights.done);
	flight_leave(c, f);
}
