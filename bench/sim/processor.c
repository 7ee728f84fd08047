/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the instructions of a program do, and how long they take. */
#include "processor.h"

#include "harness.h"

static const struct sim_instruction *current(const struct sim_proc *proc)
{
	return &proc->program->code[proc->pc];
}

static size_t id_of(const struct sim *sim, const struct sim_proc *proc)
{
	return (size_t)(proc - sim->procs);
}

/* ---- the core's pipeline ---- */

static void set_running(struct sim *sim, struct sim_proc *proc, bool running)
{
	if (proc->running == running)
		return;
	proc->running = running;
	if (running)
		sim->running[proc->core]++;
	else
		sim->running[proc->core]--;
}

static uint64_t inside_core(const struct sim *sim, const struct sim_proc *proc, uint64_t time)
{
	return time * sim->running[proc->core];
}

/* An atomic operation waits for the cache, whoever else uses the pipeline. */
static bool is_atomic(enum sim_op op)
{
	return op == SIM_ADD || op == SIM_FIELD || op == SIM_TRYLOCK || op == SIM_CAS ||
	       op == SIM_CLAIM;
}

static uint64_t work_time(struct sim *sim, uint64_t mean)
{
	if (sim->cost.hold == SIM_HOLD_HALF)
		return mean;
	return mean / 2 + bench_random(&sim->random) % (mean + 1);
}

/* ---- memory ---- */

static uint64_t cost_of(const struct sim *sim, enum sim_op op)
{
	switch (op) {
	case SIM_STORE:
	case SIM_FIELD_PLAIN:
		return sim->cost.store;
	case SIM_BUMP:
		return sim->cost.load + sim->cost.store;
	case SIM_ADD:
	case SIM_FIELD:
	case SIM_TRYLOCK:
		return sim->cost.rmw;
	case SIM_CAS:
	case SIM_CLAIM:
		return sim->cost.cas;
	default:
		return sim->cost.load;
	}
}

static enum sim_wish wish_of(enum sim_op op)
{
	switch (op) {
	case SIM_LOAD:
	case SIM_WAIT:
	case SIM_WAIT_SET:
	case SIM_WAIT_TICKET:
		return SIM_READ;
	default:
		return SIM_WRITE;
	}
}

static uint32_t line_of(const struct sim *sim, const struct sim_proc *proc,
                        const struct sim_instruction *in)
{
	size_t id = in->base == SIM_SAVED ? proc->saved - 1 : id_of(sim, proc);

	if (in->base == SIM_SHARED)
		return in->line;
	return (uint32_t)(SIM_SHARED_LINES + SIM_OWN_LINES * id + in->line);
}

void sim_touch(struct sim *sim, struct sim_line *line, struct sim_proc *proc)
{
	enum sim_op op = (enum sim_op)current(proc)->op;
	uint64_t start = sim->now, end;

	set_running(sim, proc, true);
	if (proc->wish == SIM_WRITE && line->locked_until > start)
		start = line->locked_until;
	end = cost_of(sim, op);
	end = start + (is_atomic(op) ? end : inside_core(sim, proc, end));
	if (proc->wish == SIM_WRITE)
		line->locked_until = end;
	sim_push(sim, end, SIM_EVENT_DONE, id_of(sim, proc));
}

static void access_memory(struct sim *sim, struct sim_proc *proc)
{
	struct sim_line *line = &sim->lines[proc->line];

	if (sim_has_line(line, proc)) {
		sim_touch(sim, line, proc);
		return;
	}
	set_running(sim, proc, false);
	sim_request(sim, line, proc);
}

void sim_wake_watchers(struct sim *sim, struct sim_line *line)
{
	uint32_t id = (uint32_t)(line - sim->lines);

	for (unsigned int i = 0; line->watchers && i < sim->nprocs; i++) {
		struct sim_proc *proc = &sim->procs[i];

		if (!proc->watching || proc->line != id)
			continue;
		proc->watching = false;
		line->watchers--;
		access_memory(sim, proc);
	}
}

/* ---- effects ---- */

static uint64_t shift_of(uint64_t mask)
{
	return (uint64_t)__builtin_ctzll(mask);
}

static uint64_t with_field(uint64_t word, uint64_t mask, uint64_t bits, uint64_t me)
{
	return (word & ~mask) | (bits == SIM_ME ? me << shift_of(mask) : bits);
}

static void compare_and_exchange(struct sim_proc *proc, uint64_t *word, uint64_t add)
{
	proc->ok = *word == proc->value;
	if (proc->ok)
		*word += add;
	else
		proc->repeats++;
}

static void claim(struct sim_proc *proc, uint64_t *word, const struct sim_instruction *in,
                  uint64_t me)
{
	proc->ok = (*word & in->b) == me << shift_of(in->b);
	*word |= in->a;
	if (proc->ok)
		*word &= ~in->b;
}

/* The value that was read; the word has the new one afterwards. */
static void change_word(struct sim_proc *proc, uint64_t *word, const struct sim_instruction *in,
                        uint64_t me)
{
	uint64_t old = *word;

	switch (in->op) {
	case SIM_STORE:
		*word = in->a == SIM_ME ? me : in->a;
		break;
	case SIM_ADD:
	case SIM_BUMP:
		*word += in->a;
		break;
	case SIM_FIELD:
	case SIM_FIELD_PLAIN:
		*word = with_field(old, in->a, in->b, me);
		break;
	case SIM_TRYLOCK:
		proc->ok = (old & in->a) == 0;
		*word |= proc->ok ? in->b : 0;
		break;
	case SIM_CAS:
		compare_and_exchange(proc, word, in->a);
		break;
	case SIM_CLAIM:
		claim(proc, word, in, me);
		break;
	default:
		break;
	}
	proc->value = old;
}

static bool is_wait(enum sim_op op)
{
	return op == SIM_WAIT || op == SIM_WAIT_SET || op == SIM_WAIT_TICKET;
}

static bool wait_is_over(const struct sim_proc *proc, const struct sim_instruction *in)
{
	if (in->op == SIM_WAIT_TICKET)
		return proc->value == proc->saved;
	return ((proc->value & in->a) != 0) == (in->op == SIM_WAIT_SET);
}

/* ---- going on ---- */

/* Decisions, until there is an instruction that takes time. */
static void decide(struct sim *sim, struct sim_proc *proc)
{
	for (;;) {
		const struct sim_instruction *in = current(proc);
		bool jump = false;

		switch (in->op) {
		case SIM_JUMP:
			jump = true;
			break;
		case SIM_IF_OK:
			jump = proc->ok;
			break;
		case SIM_IF_FAILED:
			jump = !proc->ok;
			break;
		case SIM_IF_SET:
			jump = (proc->value & in->a) != 0;
			break;
		case SIM_IF_CLEAR:
			jump = (proc->value & in->a) == 0;
			break;
		case SIM_IF_TRIES:
			jump = ++proc->tries >= in->a;
			break;
		case SIM_IF_NTH:
			jump = proc->tries % in->a != 0;
			break;
		case SIM_SAVE:
			proc->saved = (proc->value & in->a) >> shift_of(in->a);
			break;
		case SIM_RETRY:
			proc->tries = 0;
			break;
		case SIM_END:
			proc->ops++;
			sim->ops++;
			break;
		default:
			return;
		}
		proc->pc = jump ? in->jump : proc->pc + 1;
		if (proc->pc >= proc->program->n)
			proc->pc = 0;
	}
}

static void set_deadline(struct sim *sim, struct sim_proc *proc, uint64_t limit)
{
	proc->deadline = limit ? sim->now + limit : UINT64_MAX;
	if (!limit || proc->timed)
		return;
	proc->timed = true;
	sim_push(sim, proc->deadline, SIM_EVENT_DEADLINE, id_of(sim, proc));
}

static void issue(struct sim *sim, struct sim_proc *proc)
{
	const struct sim_instruction *in;
	uint64_t time;

	decide(sim, proc);
	in = current(proc);
	proc->since = sim->now;
	switch (in->op) {
	case SIM_STOP:
		set_running(sim, proc, false);
		return;
	case SIM_WORK:
		set_running(sim, proc, true);
		time = inside_core(sim, proc, work_time(sim, in->a));
		break;
	case SIM_PAUSE:
		set_running(sim, proc, false);
		time = sim->cost.pause;
		break;
	case SIM_SLEEP:
	case SIM_WAKE:
		set_running(sim, proc, true);
		time = inside_core(sim, proc, sim->cost.futex);
		break;
	default:
		proc->line = line_of(sim, proc, in);
		proc->wish = wish_of((enum sim_op)in->op);
		if (is_wait((enum sim_op)in->op))
			set_deadline(sim, proc, in->op == SIM_WAIT ? in->b : 0);
		access_memory(sim, proc);
		return;
	}
	sim_push(sim, sim->now + time, SIM_EVENT_DONE, id_of(sim, proc));
}

static void go_on(struct sim *sim, struct sim_proc *proc)
{
	proc->pc = proc->pc + 1 < proc->program->n ? proc->pc + 1 : 0;
	issue(sim, proc);
}

void sim_start(struct sim *sim, struct sim_proc *proc)
{
	issue(sim, proc);
}

/* ---- sleepers ---- */

static void fall_asleep(struct sim *sim, struct sim_proc *proc)
{
	int32_t *link = &sim->sleepers;

	while (*link >= 0)
		link = &sim->procs[*link].next;
	*link = (int32_t)id_of(sim, proc);
	proc->next = -1;
	set_running(sim, proc, false);
}

static void wake_one(struct sim *sim)
{
	int32_t id = sim->sleepers;

	if (id < 0)
		return;
	sim->sleepers = sim->procs[id].next;
	sim->procs[id].pc++;
	sim->procs[id].since = sim->now;
	issue(sim, &sim->procs[id]);
}

/* ---- the end of an instruction ---- */

static void finish_wait(struct sim *sim, struct sim_proc *proc, const struct sim_instruction *in)
{
	struct sim_line *line = &sim->lines[proc->line];

	proc->ok = wait_is_over(proc, in);
	if (proc->ok || sim->now >= proc->deadline) {
		proc->locked += sim->now - proc->since;
		proc->deadline = UINT64_MAX;
		go_on(sim, proc);
	} else if (sim_has_line(line, proc)) {
		proc->watching = true;
		line->watchers++;
		set_running(sim, proc, false);
	} else {
		access_memory(sim, proc);
	}
}

static void finish_memory(struct sim *sim, struct sim_proc *proc, const struct sim_instruction *in)
{
	struct sim_line *line = &sim->lines[proc->line];

	change_word(proc, &line->words[in->slot], in, id_of(sim, proc) + 1);
	if (is_wait((enum sim_op)in->op)) {
		finish_wait(sim, proc, in);
		return;
	}
	if (proc->wish == SIM_WRITE && line->watchers)
		sim_wake_watchers(sim, line);
	go_on(sim, proc);
}

void sim_finish(struct sim *sim, struct sim_proc *proc)
{
	const struct sim_instruction *in = current(proc);

	switch (in->op) {
	case SIM_SLEEP:
		if (sim->lines[line_of(sim, proc, in)].words[in->slot] == in->a)
			fall_asleep(sim, proc);
		else
			go_on(sim, proc);
		break;
	case SIM_WAKE:
		wake_one(sim);
		go_on(sim, proc);
		break;
	case SIM_WORK:
	case SIM_PAUSE:
		go_on(sim, proc);
		break;
	default:
		finish_memory(sim, proc, in);
	}
}

/* A wait that began later has another deadline; one that looks just now decides itself. */
void sim_expire(struct sim *sim, struct sim_proc *proc)
{
	proc->timed = false;
	if (proc->deadline == UINT64_MAX)
		return;
	if (proc->deadline > sim->now) {
		proc->timed = true;
		sim_push(sim, proc->deadline, SIM_EVENT_DEADLINE, id_of(sim, proc));
	} else if (proc->watching) {
		proc->watching = false;
		sim->lines[proc->line].watchers--;
		proc->ok = false;
		proc->locked += sim->now - proc->since;
		proc->deadline = UINT64_MAX;
		go_on(sim, proc);
	}
}
