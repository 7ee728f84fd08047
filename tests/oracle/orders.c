/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "orders.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cache.h"
#include "oracle.h"
#include "run.h"
#include "sched.h"

#define CHANGES (CHANGERS_MAX * CHANGES_MAX)
#define STATES (1u << CHANGES)
#define QUERIES (ASKERS_MAX * ASKS_MAX)
#define RECORDS (2 * QUERIES)
#define IDS 128u

struct answer {
	int64_t rc;
	uint64_t ino, size;
	uint32_t mode, nlink;
	char text[64];
};

/* What is right in a state. */
struct truth {
	bool known;
	struct answer answer[QUERIES];
	struct answer object[IDS]; /* attributes, whatever its names */
};

/* A lookup that has ended. */
struct record {
	unsigned query;
	bool of_object; /* attributes of the entry that query got */
	bool cached;
	unsigned from;     /* changes announced when it began */
	unsigned to, told; /* changes made, announced when it ended */
	struct answer answer;
};

struct run {
	const struct play *play;
	struct tally *tally;
	struct stage stage;
	const struct query *query[QUERIES];
	const struct change *change[CHANGES];
	unsigned threads; /* who has something to do, by bit */
	struct pathcache_entry *held[CHANGES][2];
	unsigned made, announced; /* changes, by bit */
	struct record record[RECORDS];
	unsigned nrecords;
	struct truth truth[STATES];
	char story[1 << 14];
	size_t told;
};

__attribute__((format(printf, 2, 3))) static void tell(struct run *run, const char *fmt, ...)
{
	size_t room = sizeof(run->story) - run->told;
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(run->story + run->told, room, fmt, args);
	va_end(args);
	if (n > 0)
		run->told += (size_t)n < room ? (size_t)n : room - 1;
}

/* ---- the stage ------------------------------------------------------------ */

static void hold_start(struct run *run)
{
	for (unsigned i = 0; i < QUERIES && !run->stage.start; i++)
		if (run->query[i] && run->query[i]->from_start)
			run->stage.start = ts_get(run->stage.cache, "parent/directory");
}

/* ---- questions ------------------------------------------------------------- */

static void answer_attr(struct answer *a, const struct pathcache_attr *attr)
{
	a->ino = attr->ino;
	a->size = attr->size;
	a->mode = attr->mode;
	a->nlink = attr->nlink;
}

/* What a GET gets is the caller's. */
static struct pathcache_entry *ask(struct stage *stage, const struct query *q, uint64_t flags,
                                   struct answer *a)
{
	struct pathcache_cred cred = {.size = sizeof(cred), .uid = q->uid, .gid = q->uid};
	struct pathcache_how how = {.size = sizeof(how), .flags = q->flags | flags};
	struct pathcache_entry *entry = NULL;
	struct pathcache_attr attr = {0};
	size_t n;

	memset(a, 0, sizeof(*a));
	how.cred = q->uid ? &cred : NULL;
	how.start = q->from_start ? stage->start : NULL;
	if (q->op == STAT)
		a->rc = pathcache_stat(stage->cache, q->path, &how, &attr);
	else if (q->op == ACCESS)
		a->rc = pathcache_access(stage->cache, q->path, R_OK, &how);
	else if (q->op == READLINK)
		a->rc = pathcache_readlink(stage->cache, q->path, &how, a->text, sizeof(a->text));
	else if (q->op == REALPATH)
		a->rc = pathcache_realpath(stage->cache, q->path, &how, a->text, sizeof(a->text));
	else
		a->rc = pathcache_get(stage->cache, q->path, &how, &entry);
	if (q->op == STAT && a->rc == 0)
		answer_attr(a, &attr);
	/* What lies behind the text means nothing. */
	n = a->rc > 0 ? (size_t)a->rc : 0;
	memset(a->text + n, 0, sizeof(a->text) - n);
	if (entry)
		a->ino = pc_node(entry)->object_id;
	return entry;
}

/* ---- what is right --------------------------------------------------------- */

static void truth_of_objects(struct truth *truth, const struct ts_namespace *ns)
{
	for (const struct ts_object *o = ns->all; o; o = o->next_all) {
		REQUIRE(o->id < IDS);
		truth->object[o->id] = (struct answer){
			.ino = o->id, .size = o->size, .mode = o->mode, .nlink = o->nlink};
	}
}

/* Where it is now, so that its path can be told. */
static void find_start(const struct run *run)
{
	static const char *const places[] = {"parent/directory", "other/directory", "other/moved",
	                                     "other/parent/directory"};

	for (unsigned i = 0; run->stage.start && i < sizeof(places) / sizeof(places[0]); i++)
		ts_stat_err(run->stage.cache, places[i]);
}

static const struct truth *truth_in(struct run *run, unsigned state)
{
	struct truth *truth = &run->truth[state];
	struct stage mine = run->stage;

	if (truth->known)
		return truth;
	orders_stage_open(&run->stage, PATHCACHE_MODE_RCU);
	hold_start(run);
	for (unsigned i = 0; i < CHANGES; i++)
		if (state >> i & 1)
			run->change[i]->make(&run->stage);
	pathcache_invalidate_all(run->stage.cache);
	find_start(run);
	for (unsigned i = 0; i < QUERIES; i++) {
		struct pathcache_entry *entry;

		if (!run->query[i])
			continue;
		entry = ask(&run->stage, run->query[i], 0, &truth->answer[i]);
		if (entry)
			pathcache_put(run->stage.cache, entry);
	}
	truth_of_objects(truth, &run->stage.ns);
	orders_stage_close(&run->stage);
	run->stage = mine;
	truth->known = true;
	return truth;
}

static bool same_attr(const struct answer *a, const struct answer *b)
{
	return a->ino == b->ino && a->size == b->size && a->mode == b->mode && a->nlink == b->nlink;
}

static bool same(const struct answer *a, const struct answer *b)
{
	return a->rc == b->rc && same_attr(a, b) && memcmp(a->text, b->text, sizeof(a->text)) == 0;
}

/* Who changes more than once goes from one to the next when the first is announced. */
static bool may_be(const struct record *r, unsigned state)
{
	for (unsigned i = 1; i < CHANGES; i++)
		if (i % CHANGES_MAX && state >> i & 1 && !(state >> (i - 1) & 1))
			return false;
	return (state & r->from) == r->from && !(state & ~r->to);
}

/* The attributes of what r was told of, in state or one that differs from it by parts. */
static bool are_right_attr(struct run *run, const struct record *r, unsigned state, unsigned parts)
{
	for (unsigned other = 0; other < STATES; other++)
		if (may_be(r, other) && !((other ^ state) & ~parts) &&
		    same_attr(&r->answer, &truth_in(run, other)->object[r->answer.ino % IDS]))
			return true;
	return false;
}

/* A change that is not announced yet may be seen in part: by its names, and not by attributes. */
static bool is_right_in(struct run *run, const struct record *r, unsigned state)
{
	const struct truth *truth = truth_in(run, state);
	const struct answer *right = &truth->answer[r->query];

	if (r->of_object)
		return r->answer.rc == 0 &&
		       same_attr(&r->answer, &truth->object[r->answer.ino % IDS]);
	if (same(&r->answer, right))
		return true;
	return run->query[r->query]->op == STAT && r->answer.rc == 0 && right->rc == 0 &&
	       r->answer.ino == right->ino && are_right_attr(run, r, state, r->to & ~r->told);
}

static bool is_right(struct run *run, const struct record *r)
{
	const struct query *q = run->query[r->query];

	if (r->cached && r->answer.rc == -EAGAIN)
		return true;
	/* A backend without paths cannot tell where a directory is whose name was forgotten. */
	if (q->op == REALPATH && q->from_start && r->answer.rc == -ENOENT)
		return true;
	if (q->twice && r->from != r->to)
		return true;
	for (unsigned state = 0; state < STATES; state++)
		if (may_be(r, state) && is_right_in(run, r, state))
			return true;
	return false;
}

static void print_answer(const char *who, const struct answer *a)
{
	printf("      %s: %lld ino %llu mode %o nlink %u size %llu \"%s\"\n", who, (long long)a->rc,
	       (unsigned long long)a->ino, a->mode, a->nlink, (unsigned long long)a->size, a->text);
}

static void judge(struct run *run, const struct record *r)
{
	run->tally->answers++;
	if (is_right(run, r))
		return;
	if (run->tally->wrong++ || run->tally->quiet)
		return;
	ts_fail(__FILE__, __LINE__, "%s: style %d, warmth %d, mode %u, changes %x to %x",
	        run->query[r->query]->path, run->play->style, run->play->warmth, run->tally->mode,
	        r->from, r->to);
	print_answer("told", &r->answer);
	print_answer("before", &run->truth[r->from].answer[r->query]);
	print_answer("after", &run->truth[r->to].answer[r->query]);
	printf("%s", run->story);
}

/* ---- steps ----------------------------------------------------------------- */

static void on_call(void *arg, enum ts_call call, const char *name)
{
	struct run *run = arg;

	sched_point();
	if (sched_self() >= 0)
		tell(run, "      %d   call %d \"%s\"\n", sched_self(), call, name);
}

static void on_return(void *arg, enum ts_call call, const char *name)
{
	struct run *run = arg;

	(void)call;
	(void)name;
	sched_point();
	if (sched_self() >= 0)
		tell(run, "      %d   ... is answered\n", sched_self());
}

static struct record *record(struct run *run, unsigned query)
{
	struct record *r = &run->record[run->nrecords++];

	*r = (struct record){.query = query, .from = run->announced};
	return r;
}

static void record_end(const struct run *run, struct record *r)
{
	r->to = run->made;
	r->told = run->announced;
}

static void entry_asked(struct run *run, unsigned query, struct pathcache_entry *entry)
{
	struct pathcache_attr attr = {0};
	struct record *r;

	sched_point();
	tell(run, "      %d attributes of it\n", sched_self());
	r = record(run, query);
	r->of_object = true;
	r->answer.rc = pathcache_entry_stat(run->stage.cache, entry, &attr);
	answer_attr(&r->answer, &attr);
	record_end(run, r);
	pathcache_put(run->stage.cache, entry);
}

static void asker(struct run *run, unsigned who)
{
	for (unsigned i = 0; i < ASKS_MAX && run->play->ask[who][i]; i++) {
		unsigned query = who * ASKS_MAX + i;
		struct pathcache_entry *entry;
		struct record *r;

		sched_point();
		tell(run, "      %d asks %s\n", who, run->query[query]->path);
		r = record(run, query);
		entry = ask(&run->stage, run->query[query], 0, &r->answer);
		record_end(run, r);
		tell(run, "      %d is told %lld\n", who, (long long)r->answer.rc);
		if (entry)
			entry_asked(run, query, entry);
	}
}

static void announce(struct run *run, unsigned change, unsigned nth)
{
	const struct touched *t = &run->change[change]->touched[nth];
	struct pathcache_entry *held = run->held[change][nth];
	struct pathcache *cache = run->stage.cache;
	char path[128];

	switch (run->play->style) {
	case BY_NAME:
		CHECK_EQ(t->name ? pathcache_invalidate_name(cache, held, t->name)
		                 : pathcache_invalidate_entry(cache, held),
		         0);
		break;
	case BY_PATH:
		snprintf(path, sizeof(path), "%s/%s", t->dir, t->name ? t->name : "");
		CHECK_EQ(pathcache_invalidate_path(cache, path), 0);
		break;
	case BY_OBJECT:
		CHECK_EQ(pathcache_invalidate_entry(cache, held), 0);
		break;
	case BY_SUBTREE:
		CHECK_EQ(t->name ? pathcache_invalidate_subtree(cache, held)
		                 : pathcache_invalidate_entry(cache, held),
		         0);
		break;
	case BY_ALL:
		CHECK_EQ(pathcache_invalidate_all(cache), 0);
		break;
	case BY_HOOK:
	case BY_HOOK_TOLD:
	case STYLES:
		break;
	}
}

static bool is_hook(enum style style)
{
	return style == BY_HOOK || style == BY_HOOK_TOLD;
}

static unsigned announcements(const struct play *play, const struct change *change)
{
	if (is_hook(play->style))
		return 0;
	return change->touched[1].dir && play->style != BY_ALL && play->style != BY_OBJECT ? 2 : 1;
}

static void changer(struct run *run, unsigned who)
{
	for (unsigned i = 0; i < CHANGES_MAX; i++) {
		unsigned change = who * CHANGES_MAX + i;
		const struct change *c = run->change[change];

		if (!c)
			return;
		sched_point();
		tell(run, "      %u makes change: %s\n", who + ASKERS_MAX, c->name);
		c->make(&run->stage);
		run->made |= 1u << change;
		if (is_hook(run->play->style))
			CHECK_EQ(c->hook(&run->stage), 0);
		for (unsigned n = 0; n < announcements(run->play, c); n++) {
			sched_point();
			tell(run, "      %u announces it\n", who + ASKERS_MAX);
			announce(run, change, n);
		}
		run->announced |= 1u << change;
	}
}

static void worker(void *arg, unsigned who)
{
	struct run *run = arg;

	if (who < ASKERS_MAX)
		asker(run, who);
	else
		changer(run, who - ASKERS_MAX);
}

/* ---- one order ------------------------------------------------------------- */

static void hold_touched(struct run *run)
{
	struct pathcache_how how = {.size = sizeof(how), .flags = PATHCACHE_NOFOLLOW};
	enum style style = run->play->style;

	for (unsigned i = 0; i < CHANGES; i++) {
		const struct change *c = run->change[i];

		for (unsigned n = 0;
		     c && n < 2 && style != BY_PATH && style != BY_ALL && !is_hook(style); n++) {
			const char *path = style == BY_OBJECT ? c->object : c->touched[n].dir;

			if (path && *path && (style != BY_OBJECT || !n))
				REQUIRE(pathcache_get(run->stage.cache, path, &how,
				                      &run->held[i][n]) == 0);
		}
	}
}

static void hold_places(struct run *run)
{
	static const char *const places[PLACES] = {"parent",      "parent/directory",
	                                           "other",       "other/directory",
	                                           "parent/file", "parent/directory/file",
	                                           "a-long-link"};
	struct pathcache_how how = {.size = sizeof(how), .flags = PATHCACHE_NOFOLLOW};

	run->stage.told = run->play->style == BY_HOOK_TOLD;
	for (unsigned i = 0; i < PLACES && is_hook(run->play->style); i++)
		REQUIRE(pathcache_get(run->stage.cache, places[i], &how, &run->stage.at[i]) == 0);
}

static void let_go(struct run *run)
{
	for (unsigned i = 0; i < CHANGES; i++)
		for (unsigned n = 0; n < 2; n++) {
			if (run->held[i][n])
				pathcache_put(run->stage.cache, run->held[i][n]);
			run->held[i][n] = NULL;
		}
}

static void ask_alone(struct run *run, unsigned query, uint64_t flags)
{
	struct record r = {.query = query, .from = run->announced};
	struct pathcache_entry *entry = ask(&run->stage, run->query[query], flags, &r.answer);

	record_end(run, &r);
	r.cached = flags & PATHCACHE_CACHED;
	if (entry)
		pathcache_put(run->stage.cache, entry);
	judge(run, &r);
}

static void warm(struct run *run)
{
	for (unsigned times = 0; times < (run->play->warmth == HOT ? 3 : 1); times++)
		for (unsigned i = 0; i < QUERIES; i++)
			if (run->query[i])
				ask_alone(run, i, 0);
}

/* All has been announced, so there is one right answer. */
static void when_quiet(struct run *run)
{
	tell(run, "      all is quiet\n");
	for (unsigned i = 0; i < QUERIES; i++) {
		if (!run->query[i])
			continue;
		ask_alone(run, i, PATHCACHE_CACHED);
		for (unsigned times = 0; times < 3; times++)
			ask_alone(run, i, 0);
		ask_alone(run, i, PATHCACHE_CACHED);
	}
}

static void run_order(struct run *run, struct sched_order *order)
{
	run->made = run->announced = 0;
	run->nrecords = 0;
	run->told = 0;
	orders_stage_open(&run->stage, run->tally->mode);
	hold_start(run);
	hold_touched(run);
	hold_places(run);
	if (run->play->warmth != COLD)
		warm(run);
	run->stage.ns.on_call = on_call;
	run->stage.ns.on_return = on_return;
	run->stage.ns.on_call_arg = run;
	sched_point_at(run->tally->fine && !is_hook(run->play->style) ? &run->stage.cache->lock
	                                                              : NULL);
	sched_run(order, run->threads, worker, run);
	sched_point_at(NULL);
	for (unsigned i = 0; i < run->nrecords; i++)
		judge(run, &run->record[i]);
	when_quiet(run);
	let_go(run);
	orders_stage_close(&run->stage);
}

/* ---- all orders ------------------------------------------------------------ */

bool orders_suits(const struct change *change, enum style style)
{
	if (is_hook(style))
		return change->hook;
	return style != BY_OBJECT || change->object;
}

void orders_play(const struct play *play, unsigned bound, struct tally *tally)
{
	static struct run run;
	static struct sched_order order;

	if (tally->every && tally->seen++ % tally->every != tally->nth)
		return;
	memset(&run, 0, sizeof(run));
	run.play = play;
	run.tally = tally;
	for (unsigned i = 0; i < QUERIES; i++) {
		run.query[i] = play->ask[i / ASKS_MAX][i % ASKS_MAX];
		run.threads |= (run.query[i] ? 1u : 0) << i / ASKS_MAX;
	}
	for (unsigned i = 0; i < CHANGES; i++) {
		run.change[i] = play->change[i / CHANGES_MAX][i % CHANGES_MAX];
		run.threads |= (run.change[i] ? 1u : 0) << (ASKERS_MAX + i / CHANGES_MAX);
	}
	order = (struct sched_order){.bound = bound};
	tally->plays++;
	do {
		tally->cut = ts_now_ns() > tally->until;
		if (tally->cut)
			return;
		run_order(&run, &order);
		tally->orders++;
	} while (!tally->wrong && sched_next(&order));
}
