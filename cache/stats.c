/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Statistics: threads' counters summed, and sizes as they stand.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "evict.h"
#include "fork.h"

static uint64_t load(const _Atomic(uint64_t) *n)
{
	return atomic_load_explicit(n, memory_order_relaxed);
}

static void take_counters(struct pathcache_stats *s, const uint64_t n[PC_COUNTERS])
{
	s->memo_hits = n[PC_MEMO_HITS];
	s->walk_hits = n[PC_HITS];
	s->negative_hits = n[PC_MEMO_HITS_NEGATIVE] + n[PC_HITS_NEGATIVE];
	s->lookups = n[PC_LOOKUPS] + s->memo_hits;
	s->hits = s->walk_hits + s->memo_hits;
	s->retries = n[PC_RETRIES];
	s->locked_walks = n[PC_LOCKED_WALKS];
	s->misses = n[PC_MISSES];
	s->fills = n[PC_FILLS];
	s->coalesced = n[PC_COALESCED];
	s->gave_up = n[PC_GAVE_UP];
	s->stale_fills = n[PC_STALE_FILLS];
	s->uncached = n[PC_UNCACHED];
	s->backend_calls = n[PC_BACKEND_CALLS];
	s->backend_errors = n[PC_BACKEND_ERRORS];
	s->passthrough = n[PC_PASSTHROUGH];
	s->asked_access = n[PC_ASKED_ACCESS];
	s->invalidations = n[PC_INVALIDATIONS];
	s->announced = n[PC_ANNOUNCED];
	s->grace_periods = n[PC_GRACE_PERIODS];
	s->memo_stamps = n[PC_MEMO_STAMPS];
	s->declined = n[PC_DECLINED];
	s->asked_start = n[PC_ASKED_START];
	s->asked_parent = n[PC_ASKED_PARENT];
	s->asked_text = n[PC_ASKED_TEXT];
	s->asked_attr = n[PC_ASKED_ATTR];
	s->asked_search = n[PC_ASKED_SEARCH];
	s->asked_last = n[PC_ASKED_LAST];
	s->asked_path = n[PC_ASKED_PATH];
	s->evicted = n[PC_EVICTED];
	s->evicted_negative = n[PC_EVICTED_NEGATIVE];
	s->evict_effort = n[PC_EVICT_EFFORT];
	s->evict_held = n[PC_EVICT_HELD];
	s->over_budget = n[PC_OVER_BUDGET];
	s->listings_made = n[PC_LISTINGS];
	s->listings_ended = n[PC_LISTINGS_ENDED];
	s->listed_hits = n[PC_LISTED_HITS];
	s->events = n[PC_EVENTS];
	s->events_applied = n[PC_EVENTS_APPLIED];
	s->events_overflows = n[PC_EVENTS_OVERFLOWS];
	s->watch_limits = n[PC_WATCH_LIMITS];
	s->watch_failures = n[PC_WATCH_FAILURES];
	s->expired = n[PC_EXPIRED];
	s->revalidated = n[PC_REVALIDATED];
	s->stale_served = n[PC_STALE_SERVED];
	/* A put may have been summed whose get, in another thread, was not yet. */
	s->held = n[PC_GETS] > n[PC_PUTS] ? n[PC_GETS] - n[PC_PUTS] : 0;
}

static void take_bytes(struct pathcache_stats *s, const struct pc_mem *mem)
{
	s->dentry_bytes = pc_mem_bytes_of(mem, PC_MEM_DENTRY);
	s->negative_bytes = pc_mem_bytes_of(mem, PC_MEM_NEGATIVE);
	s->node_bytes = pc_mem_bytes_of(mem, PC_MEM_NODE);
	s->listing_bytes = pc_mem_bytes_of(mem, PC_MEM_LISTING);
	s->memo_bytes = pc_mem_bytes_of(mem, PC_MEM_MEMO);
	s->table_bytes = pc_mem_bytes_of(mem, PC_MEM_TABLE);
	s->other_bytes = pc_mem_bytes_of(mem, PC_MEM_OTHER);
	/* Not counted apart, so that the parts make up the whole. */
	s->bytes = s->dentry_bytes + s->negative_bytes + s->node_bytes + s->listing_bytes +
	           s->memo_bytes + s->table_bytes + s->other_bytes;
}

static void take_all(struct pathcache_stats *s, struct pathcache *c)
{
	uint64_t n[PC_COUNTERS];

	memset(s, 0, sizeof(*s));
	pc_tally_sum(c->tally, n);
	take_counters(s, n);
	take_bytes(s, c->mem);
	s->budget = pc_budget(c);
	s->memos = load(&c->learn.memos.count);
	s->listings = load(&c->tree.nlistings);
	s->dentries = load(&c->ndentries);
	s->negatives = load(&c->nnegatives);
	s->nodes = load(&c->nnodes);
	s->deferred_bytes = load(&c->deferred);
	s->dirfds = pc_dirfds_count(c);
	s->watches = load(&c->events.watches.n);
	s->event_source = pc_events_source(c);
	s->mount_changes = load(&c->mounts.changes);
}

int pathcache_get_stats(struct pathcache *cache, struct pathcache_stats *stats)
{
	struct pathcache_stats s;
	size_t size;

	if (!cache || !stats || stats->size < sizeof(size_t))
		return -EINVAL;
	if (pc_is_child())
		return -ECHILD;
	take_all(&s, cache);
	size = stats->size;
	memset(stats, 0, size);
	memcpy(stats, &s, size < sizeof(s) ? size : sizeof(s));
	stats->size = size;
	return 0;
}

/* ---- as text -------------------------------------------------------------- */

/* One sample. Those of one name follow each other; help: of the first. */
struct metric {
	const char *name;
	const char *help;
	const char *label;
	size_t at; /* in struct pathcache_stats */
};

#define AT(field) offsetof(struct pathcache_stats, field)

/* A name that ends in _total is a counter's, any other a gauge's. */
static const struct metric metrics[] = {
	{"lookups_total", "Queries.", NULL, AT(lookups)},
	{"hits_total", "Queries answered without asking the backend.", "by=\"memo\"",
         AT(memo_hits)},
	{"hits_total", NULL, "by=\"walk\"", AT(walk_hits)},
	{"negative_hits_total", "Hits whose answer was that there is no such name.", NULL,
         AT(negative_hits)},
	{"declined_total", "Queries that were not to ask and would have had to.", NULL,
         AT(declined)},
	{"retries_total", "Walks begun again since a change raced them.", NULL, AT(retries)},
	{"locked_walks_total", "Walks done with changes held off.", NULL, AT(locked_walks)},
	{"fallbacks_total", "What queries had to ask, by what was not in memory.",
         "reason=\"name\"", AT(misses)},
	{"fallbacks_total", NULL, "reason=\"start\"", AT(asked_start)},
	{"fallbacks_total", NULL, "reason=\"parent\"", AT(asked_parent)},
	{"fallbacks_total", NULL, "reason=\"text\"", AT(asked_text)},
	{"fallbacks_total", NULL, "reason=\"attr\"", AT(asked_attr)},
	{"fallbacks_total", NULL, "reason=\"search\"", AT(asked_search)},
	{"fallbacks_total", NULL, "reason=\"access\"", AT(asked_last)},
	{"fallbacks_total", NULL, "reason=\"path\"", AT(asked_path)},
	{"fallbacks_total", NULL, "reason=\"kernel\"", AT(passthrough)},
	{"coalesced_total", "Misses that waited for another's answer.", NULL, AT(coalesced)},
	{"gave_up_total", "Waiters that asked for themselves in the end.", NULL, AT(gave_up)},
	{"backend_calls_total", "Questions put to the backend.", NULL, AT(backend_calls)},
	{"backend_errors_total", "Questions that ended in something other than an answer.", NULL,
         AT(backend_errors)},
	{"asked_access_total", "Permissions the backend was asked for.", NULL, AT(asked_access)},
	{"fills_total", "Backend answers that were kept.", NULL, AT(fills)},
	{"stale_fills_total", "Answers not kept: invalidated meanwhile.", NULL, AT(stale_fills)},
	{"uncached_total", "Answers not kept: over budget, memory, or by backend.", NULL,
         AT(uncached)},
	{"over_budget_total", "Answers not kept since no room could be made.", NULL,
         AT(over_budget)},
	{"evictions_total", "Names dropped to make room.", "kind=\"positive\"", AT(evicted)},
	{"evictions_total", NULL, "kind=\"negative\"", AT(evicted_negative)},
	{"eviction_looks_total", "Names looked at to make room.", NULL, AT(evict_effort)},
	{"eviction_held_total", "Names left then since they were held.", NULL, AT(evict_held)},
	{"listings_total", "Times that all names of a directory were kept.", NULL,
         AT(listings_made)},
	{"listings_ended_total", "Times that this was true no more.", NULL, AT(listings_ended)},
	{"listed_hits_total", "Absent names that a listing answered, not by memo.", NULL,
         AT(listed_hits)},
	{"invalidations_total", "Changes announced.", NULL, AT(invalidations)},
	{"announced_total", "Changes announced with what they were.", NULL, AT(announced)},
	{"grace_periods_total", "Grace periods waited for.", NULL, AT(grace_periods)},
	{"memo_stamps_total", "Stores to shared memory that memo hits made.", NULL,
         AT(memo_stamps)},
	{"events_total", "Events of the kernel that were read.", NULL, AT(events)},
	{"events_applied_total", "Of these, those about a directory in memory.", NULL,
         AT(events_applied)},
	{"event_overflows_total", "Times that events were lost and all was forgotten.", NULL,
         AT(events_overflows)},
	{"watch_failures_total", "Directories left to expire, by why the kernel does not tell.",
         "reason=\"limit\"", AT(watch_limits)},
	{"watch_failures_total", NULL, "reason=\"other\"", AT(watch_failures)},
	{"watches", "Directories that the kernel tells of.", NULL, AT(watches)},
	{"event_source", "Where events come from: 1 inotify, 2 fanotify, 0 nowhere.", NULL,
         AT(event_source)},
	{"dentries", "Names in memory, those known to be absent included.", NULL, AT(dentries)},
	{"negatives", "Names known to be absent.", NULL, AT(negatives)},
	{"nodes", "Objects in memory.", NULL, AT(nodes)},
	{"listings", "Directories whose names are all known.", NULL, AT(listings)},
	{"memos", "Walks remembered.", NULL, AT(memos)},
	{"dirfds", "Descriptors of directories.", NULL, AT(dirfds)},
	{"held_references", "References that the application holds.", NULL, AT(held)},
	{"bytes", "Memory in use, by what it is for.", "class=\"dentry\"", AT(dentry_bytes)},
	{"bytes", NULL, "class=\"negative\"", AT(negative_bytes)},
	{"bytes", NULL, "class=\"node\"", AT(node_bytes)},
	{"bytes", NULL, "class=\"listing\"", AT(listing_bytes)},
	{"bytes", NULL, "class=\"memo\"", AT(memo_bytes)},
	{"bytes", NULL, "class=\"table\"", AT(table_bytes)},
	{"bytes", NULL, "class=\"other\"", AT(other_bytes)},
	{"deferred_bytes", "Of all bytes, those that wait for a grace period.", NULL,
         AT(deferred_bytes)},
	{"budget_bytes", "What bytes may come to.", NULL, AT(budget)},
	{"mount_changes_total", "Mounts that came, went or changed.", NULL, AT(mount_changes)},
	{"expired_total", "Answers about what had been in memory and expired.", NULL, AT(expired)},
	{"revalidated_total", "Of these, that it had not changed.", NULL, AT(revalidated)},
	{"stale_served_total", "What had expired and was given while another thread asked.", NULL,
         AT(stale_served)},
};

#define METRICS (sizeof(metrics) / sizeof(metrics[0]))

static_assert(AT(lookups) == sizeof(uint64_t) &&
                      METRICS + 3 == sizeof(struct pathcache_stats) / sizeof(uint64_t),
              "each field is told, but for size, and for hits and bytes, which are sums");

/* As snprintf(3): counts what does not fit. */
struct text {
	char *buf;
	size_t size;
	size_t len;
};

static __attribute__((format(printf, 2, 3))) void text_add(struct text *t, const char *format, ...)
{
	size_t left = t->len < t->size ? t->size - t->len : 0;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(left ? t->buf + t->len : NULL, left, format, args);
	va_end(args);
	t->len += n > 0 ? (size_t)n : 0;
}

static bool is_counter(const char *name)
{
	size_t len = strlen(name), tail = sizeof("_total") - 1;

	return len > tail && strcmp(name + len - tail, "_total") == 0;
}

ssize_t pathcache_stats_text(struct pathcache *cache, char *buf, size_t size)
{
	struct text t = {.buf = buf, .size = size};
	struct pathcache_stats s;

	if (!cache || (!buf && size))
		return -EINVAL;
	if (pc_is_child())
		return -ECHILD;
	take_all(&s, cache);
	for (const struct metric *m = metrics; m < metrics + METRICS; m++) {
		uint64_t n;

		memcpy(&n, (const char *)&s + m->at, sizeof(n));
		if (m->help)
			text_add(&t, "# HELP pathcache_%s %s\n# TYPE pathcache_%s %s\n", m->name,
			         m->help, m->name, is_counter(m->name) ? "counter" : "gauge");
		if (m->label)
			text_add(&t, "pathcache_%s{%s} %" PRIu64 "\n", m->name, m->label, n);
		else
			text_add(&t, "pathcache_%s %" PRIu64 "\n", m->name, n);
	}
	return (ssize_t)t.len;
}
