/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * lockref.stress: races on words whose memory stays, in rounds: all threads
 * meet at a barrier, run over one batch of objects, meet again, and the first
 * thread looks at what is left.
 *
 *  last_put  (K17) two gets with their puts against the put of the last
 *            reference: exactly one kill, and no put may think itself one too
 *            many because others went on after its subtraction
 *  hand_over (K18) each thread stores a plain field, then puts, or dooms;
 *            whoever kills must see every field
 *  next_holder  a holder stores a plain field and puts; who gets afterwards
 *            must see it
 *  flag_publishes  a plain field, then a user flag set or cleared; who sees the
 *            change sees the field
 *  flags     (K25) each thread owns a user flag of one word and finds it as it
 *            left it, beside gets, puts, dooms and undooms
 *  kill_beside_flags  a doom of an idle object kills it, however often user
 *            flags change under the swap
 *
 * The middle three need the release and acquire orders of lockref.h. An x86
 * processor has both in any locked instruction, so no broken order can show
 * there. What can: under the thread sanitizer a put with its order relaxed is
 * reported. Without it the control moves the store behind the put, where a
 * processor that reorders may put it, and proves that the check can fail.
 *
 * The controls race by design and are left out under the thread sanitizer,
 * but for the relaxed put, which runs in a process of its own.
 */
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "lockref.h"

#define THREADS 3
#define BATCH 128
#define CONTROL_LIMIT_NS UINT64_C(20000000000)
#define TSAN_EXIT 66

enum violation { KILLS_NOT_ONE, FALSE_IMBALANCE, WRONG_WORD, FIELD_LOST, FLAG_LOST, VIOLATIONS };

static const char *const violation_names[] = {
	"kills_not_one", "false_imbalance", "wrong_word", "field_lost", "flag_lost",
};

struct object {
	struct lockref ref;
	_Atomic unsigned int kills;
	_Atomic unsigned int failed_gets;
	uint64_t fields[THREADS]; /* plain: one thread's each, then the killer's */
};

struct race;

struct runner {
	struct race *race;
	unsigned int index;
	uint64_t random;
	uint64_t stamp;
};

struct variant {
	const char *name;
	uint64_t start; /* the word a round begins with */
	void (*work)(struct runner *r, struct object *o);
	void (*inspect)(struct race *race, struct object *o);
	enum violation expected; /* VIOLATIONS for the sound one */
};

struct race {
	const struct variant *variant;
	struct object objects[BATCH];
	struct check_barrier barrier;
	uint64_t rounds; /* runner 0 */
	uint64_t end_ns;
	_Atomic bool stop;
	_Atomic uint64_t handed; /* kills by a runner other than 0: the race took place */
	_Atomic uint64_t found[VIOLATIONS];
};

static void violated(struct race *race, enum violation kind)
{
	atomic_fetch_add_explicit(&race->found[kind], 1, memory_order_relaxed);
}

static void count_kill(struct runner *r, struct object *o)
{
	atomic_fetch_add_explicit(&o->kills, 1, memory_order_relaxed);
	if (r->index != 0)
		atomic_fetch_add_explicit(&r->race->handed, 1, memory_order_relaxed);
}

static uint64_t word_of(struct object *o)
{
	return atomic_load_explicit(&o->ref.word, memory_order_relaxed);
}

/* ---- last_put ----------------------------------------------------------- */

/* Runner 0 owns the only reference and gives it back; the others come by. */
static void last_put(struct runner *r, struct object *o)
{
	if (r->index != 0 && !lockref_get(&o->ref)) {
		atomic_fetch_add_explicit(&o->failed_gets, 1, memory_order_relaxed);
		return;
	}
	if (lockref_put(&o->ref))
		count_kill(r, o);
}

/* Reads the word again after its own subtraction and judges by what it finds. */
static void last_put_rereads(struct runner *r, struct object *o)
{
	uint64_t word;

	if (r->index != 0 && !lockref_get(&o->ref)) {
		atomic_fetch_add_explicit(&o->failed_gets, 1, memory_order_relaxed);
		return;
	}
	atomic_fetch_sub_explicit(&o->ref.word, 1, memory_order_release);
	check_window(&r->random);
	word = word_of(o);
	if (word & LOCKREF_DEAD)
		violated(r->race, FALSE_IMBALANCE);
	else if (lockref_kill_from_(&o->ref, word))
		count_kill(r, o);
}

static void inspect_kill(struct race *race, struct object *o)
{
	if (o->kills != 1)
		violated(race, KILLS_NOT_ONE);
	if (word_of(o) != (LOCKREF_DEAD | LOCKREF_DOOM | o->failed_gets))
		violated(race, WRONG_WORD);
}

/* ---- hand_over ---------------------------------------------------------- */

/* The killer reads what everybody wrote, and overwrites it as a free would. */
static void take_over(struct runner *r, struct object *o)
{
	unsigned int i;

	count_kill(r, o);
	for (i = 0; i < THREADS; i++) {
		if (o->fields[i] != r->stamp)
			violated(r->race, FIELD_LOST);
		o->fields[i] = 0;
	}
}

/* Runner 0 takes the last name away, the others own a reference each. */
static void hand_over(struct runner *r, struct object *o)
{
	o->fields[r->index] = r->stamp;
	if (r->index == 0 ? lockref_doom(&o->ref) : lockref_put(&o->ref))
		take_over(r, o);
}

static void hand_over_late(struct runner *r, struct object *o)
{
	bool killed = r->index == 0 ? lockref_doom(&o->ref) : lockref_put(&o->ref);

	check_window(&r->random);
	o->fields[r->index] = r->stamp;
	if (killed)
		take_over(r, o);
}

static void hand_over_relaxed(struct runner *r, struct object *o)
{
	uint64_t old;

	o->fields[r->index] = r->stamp;
	if (r->index == 0) {
		if (lockref_doom(&o->ref))
			take_over(r, o);
		return;
	}
	old = atomic_fetch_sub_explicit(&o->ref.word, 1, memory_order_relaxed);
	if (lockref_put_kills_(old) && lockref_kill_from_(&o->ref, old - 1))
		take_over(r, o);
}

/* ---- next_holder, flag_publishes ---------------------------------------- */

static void inspect_idle(struct race *race, struct object *o)
{
	if (word_of(o) != 0)
		violated(race, WRONG_WORD);
}

/*
 * The relaxed look at the count only tells that the first holder has put: by
 * coherence the get comes later on the word, and it alone orders the fields.
 */
static void next_holder(struct runner *r, struct object *o)
{
	if (r->index == 0) {
		o->fields[0] = r->stamp;
		lockref_put(&o->ref);
		return;
	}
	while (lockref_count(&o->ref) != 0)
		sched_yield();
	if (!lockref_get(&o->ref))
		violated(r->race, WRONG_WORD);
	if (o->fields[0] != r->stamp)
		violated(r->race, FIELD_LOST);
	lockref_put(&o->ref);
}

static void wait_for_flag(struct object *o, uint64_t flag, bool set)
{
	while (((lockref_flags(&o->ref) & flag) != 0) != set)
		sched_yield();
}

static void check_field(struct runner *r, uint64_t field, uint64_t stamp)
{
	if (field != stamp)
		violated(r->race, FIELD_LOST);
}

/* Each sets its flag when it sees the one before; the first then clears its own. */
static void flag_publishes(struct runner *r, struct object *o)
{
	uint64_t first = LOCKREF_USER(0), own = LOCKREF_USER(r->index);

	if (r->index != 0) {
		wait_for_flag(o, own >> 1, true);
		check_field(r, o->fields[r->index - 1], r->stamp);
	}
	o->fields[r->index] = r->stamp;
	lockref_set_flags(&o->ref, own);
	if (r->index != 0) {
		wait_for_flag(o, first, false);
		check_field(r, o->fields[0], ~r->stamp);
		return;
	}
	wait_for_flag(o, LOCKREF_USER(THREADS - 1), true);
	check_field(r, o->fields[THREADS - 1], r->stamp);
	o->fields[0] = ~r->stamp;
	lockref_clear_flags(&o->ref, first);
}

static void inspect_published(struct race *race, struct object *o)
{
	if (word_of(o) != LOCKREF_USER(THREADS) - LOCKREF_USER(1))
		violated(race, WRONG_WORD);
}

/* ---- flags -------------------------------------------------------------- */

static void check_flag(struct runner *r, uint64_t flags, bool set)
{
	uint64_t own = LOCKREF_USER(r->index);

	if ((flags & own) != (set ? own : 0))
		violated(r->race, FLAG_LOST);
}

static void flags_beside_counts(struct runner *r, struct object *o)
{
	uint64_t own = LOCKREF_USER(r->index);
	bool dooms = r->index == 0;

	check_flag(r, lockref_set_flags(&o->ref, own), false);
	lockref_get_held(&o->ref);
	if (dooms && lockref_doom(&o->ref))
		violated(r->race, KILLS_NOT_ONE);
	if (dooms && !(lockref_flags(&o->ref) & LOCKREF_DOOM))
		violated(r->race, FLAG_LOST);
	check_flag(r, lockref_flags(&o->ref), true);
	if (lockref_put(&o->ref))
		violated(r->race, KILLS_NOT_ONE);
	if (dooms)
		lockref_undoom(&o->ref);
	check_flag(r, lockref_clear_flags(&o->ref, own), true);
	check_flag(r, lockref_flags(&o->ref), false);
}

/* A load and a store where one atomic belongs. */
static uint64_t plain_change(struct runner *r, struct object *o, uint64_t set, uint64_t clear)
{
	uint64_t old = word_of(o);

	check_window(&r->random);
	atomic_store_explicit(&o->ref.word, (old | set) & ~clear, memory_order_relaxed);
	return old;
}

static void flags_by_load_and_store(struct runner *r, struct object *o)
{
	uint64_t own = LOCKREF_USER(r->index);

	plain_change(r, o, own, 0);
	check_window(&r->random);
	check_flag(r, plain_change(r, o, 0, own), true);
}

/* More changes than a kill can take to get through, but an end if it does not. */
#define CHANGES 4000

static void kill_beside_flags(struct runner *r, struct object *o)
{
	uint64_t own = LOCKREF_USER(r->index);
	unsigned int i;

	if (r->index == 0) {
		if (lockref_doom(&o->ref))
			count_kill(r, o);
		return;
	}
	for (i = 0; i < CHANGES && !lockref_is_dead(&o->ref); i++) {
		lockref_set_flags(&o->ref, own);
		lockref_clear_flags(&o->ref, own);
		if (i % 32 == 31)
			sched_yield();
	}
}

static void inspect_flags(struct race *race, struct object *o)
{
	if (word_of(o) != race->variant->start)
		violated(race, WRONG_WORD);
}

/* ---- variants ----------------------------------------------------------- */

static const struct variant sound[] = {
	{"last_put", LOCKREF_DOOM | 1, last_put, inspect_kill, VIOLATIONS},
	{"hand_over", THREADS - 1, hand_over, inspect_kill, VIOLATIONS},
	{"next_holder", 1, next_holder, inspect_idle, VIOLATIONS},
	{"flag_publishes", 0, flag_publishes, inspect_published, VIOLATIONS},
	{"flags", 1, flags_beside_counts, inspect_flags, VIOLATIONS},
	{"kill_beside_flags", 0, kill_beside_flags, inspect_kill, VIOLATIONS},
};

static const struct variant broken[] = {
	{"last_put_rereads", LOCKREF_DOOM | 1, last_put_rereads, inspect_kill, FALSE_IMBALANCE},
	{"hand_over_late", THREADS - 1, hand_over_late, inspect_kill, FIELD_LOST},
	{"flags_by_load_and_store", 1, flags_by_load_and_store, inspect_flags, FLAG_LOST},
};

static const struct variant relaxed = {
	"hand_over_relaxed", THREADS - 1, hand_over_relaxed, inspect_kill, VIOLATIONS,
};

/* ---- a run -------------------------------------------------------------- */

static void begin_round(struct race *race)
{
	const struct variant *v = race->variant;
	unsigned int i;

	if (check_now_ns() >= race->end_ns ||
	    (v->expected != VIOLATIONS && race->found[v->expected] > 0))
		atomic_store_explicit(&race->stop, true, memory_order_relaxed);
	for (i = 0; i < BATCH; i++) {
		memset(race->objects[i].fields, 0, sizeof(race->objects[i].fields));
		race->objects[i].kills = 0;
		race->objects[i].failed_gets = 0;
		lockref_init(&race->objects[i].ref, v->start);
	}
	race->rounds++;
}

static void *runner_main(void *arg)
{
	struct runner *r = arg;
	struct race *race = r->race;
	unsigned int i;

	for (;;) {
		if (r->index == 0)
			begin_round(race);
		check_barrier_wait(&race->barrier);
		if (atomic_load_explicit(&race->stop, memory_order_relaxed))
			return NULL;
		r->stamp++;
		for (i = 0; i < BATCH; i++)
			race->variant->work(r, &race->objects[i]);
		check_barrier_wait(&race->barrier);
		for (i = 0; i < BATCH && r->index == 0; i++)
			race->variant->inspect(race, &race->objects[i]);
	}
}

static void report(const struct race *race)
{
	const struct variant *v = race->variant;
	unsigned int i;

	printf("%-24s %7" PRIu64 " rounds of %d, %" PRIu64 " killed by others:", v->name,
	       race->rounds, BATCH, race->handed);
	for (i = 0; i < VIOLATIONS; i++) {
		if (race->found[i])
			printf(" %s %" PRIu64, violation_names[i], race->found[i]);
		CHECK(race->found[i] == 0 || v->expected != VIOLATIONS);
	}
	printf("\n");
	CHECK(v->expected == VIOLATIONS || race->found[v->expected] > 0);
	CHECK(race->rounds > 1);
}

static void run(const struct variant *v, uint64_t ns, uint64_t seed)
{
	static struct race race;
	struct runner runners[THREADS];
	pthread_t threads[THREADS];
	unsigned int i;

	memset(&race, 0, sizeof(race));
	race.variant = v;
	race.barrier.threads = THREADS;
	race.end_ns = check_now_ns() + ns;
	for (i = 0; i < THREADS; i++) {
		runners[i] = (struct runner){.race = &race, .index = i, .random = seed + i};
		if (pthread_create(&threads[i], NULL, runner_main, &runners[i]))
			exit(1);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	report(&race);
}

/* The relaxed put in a process of its own, whose exit code is the sanitizer's. */
static void sanitizer_sees_relaxed_put(void)
{
	char options[] = "TSAN_OPTIONS=exitcode=66:log_path=/dev/null";
	char *const argv[] = {(char[]){"t_stress"}, (char[]){"relaxed"}, NULL};
	char *const envp[] = {options, NULL};
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
			_exit(2);
		execve("/proc/self/exe", argv, envp);
		_exit(2);
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == TSAN_EXIT);
	printf("hand_over_relaxed: exit %d under the thread sanitizer\n", WEXITSTATUS(status));
}

int main(int argc, char **argv)
{
	const size_t sounds = sizeof(sound) / sizeof(sound[0]);
	const size_t controls = sizeof(broken) / sizeof(broken[0]);
	uint64_t seed = check_seed();
	size_t i;

	if (argc > 1 && strcmp(argv[1], "relaxed") == 0) {
		run(&relaxed, 300000000, seed);
		return check_result("lockref.stress, relaxed put");
	}

	if (CHECK_TSAN)
		sanitizer_sees_relaxed_put();
	for (i = 0; i < sounds; i++)
		run(&sound[i], check_duration_ns(1.0) / sounds, seed + i);
	for (i = 0; i < controls && !CHECK_TSAN; i++)
		run(&broken[i], CONTROL_LIMIT_NS, seed + i);
	return check_result("lockref.stress");
}
