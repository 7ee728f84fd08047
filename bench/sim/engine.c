/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Events, lines and their queues; what a program means is in processor.c. */
#include "engine.h"
#include "processor.h"

#include "harness.h"

#include <string.h>

/* ---- the event heap ---- */

static bool comes_before(const struct sim_event *a, const struct sim_event *b)
{
	return a->time != b->time ? a->time < b->time : a->order < b->order;
}

void sim_push(struct sim *sim, uint64_t time, enum sim_event_kind kind, size_t id)
{
	struct sim_event event = {time, sim->counter++, kind, (uint32_t)id};
	size_t i = sim->nevents++;

	while (i > 0 && comes_before(&event, &sim->events[(i - 1) / 2])) {
		sim->events[i] = sim->events[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	sim->events[i] = event;
}

static struct sim_event pop(struct sim *sim)
{
	struct sim_event top = sim->events[0];
	struct sim_event last = sim->events[--sim->nevents];
	size_t i = 0;

	for (size_t child = 1; child < sim->nevents; child = 2 * i + 1) {
		if (child + 1 < sim->nevents &&
		    comes_before(&sim->events[child + 1], &sim->events[child]))
			child++;
		if (!comes_before(&sim->events[child], &last))
			break;
		sim->events[i] = sim->events[child];
		i = child;
	}
	sim->events[i] = last;
	return top;
}

/* ---- who has a line ---- */

static bool is_sharer(const struct sim_line *line, unsigned int core)
{
	return line->sharers[core / 64] >> core % 64 & 1;
}

static void add_sharer(struct sim_line *line, unsigned int core)
{
	line->sharers[core / 64] |= UINT64_C(1) << core % 64;
}

bool sim_has_line(const struct sim_line *line, const struct sim_proc *proc)
{
	if (line->owner == proc->core)
		return true;
	return proc->wish == SIM_READ && is_sharer(line, proc->core);
}

/* Whether any core of a socket (or of the others) shares the line. */
static bool is_shared_in(const struct sim *sim, const struct sim_line *line, unsigned int socket,
                         bool others)
{
	unsigned int cores = sim->machine.sockets * sim->machine.cores;

	for (unsigned int core = 0; core < cores; core++)
		if (is_sharer(line, core) && (core / sim->machine.cores != socket) == others)
			return true;
	return false;
}

/*
 * A modified line comes from its owner. Of a shared one a reader gets the nearest
 * copy, and a writer waits for the farthest to be dropped.
 */
static uint32_t transfer_time(const struct sim *sim, const struct sim_line *line,
                              const struct sim_proc *proc)
{
	bool far;

	if (sim->machine.sockets == 1 || line->from < 0)
		far = false;
	else if (line->owner >= 0)
		far = (unsigned int)line->owner / sim->machine.cores != proc->socket;
	else if (proc->wish == SIM_WRITE)
		far = is_shared_in(sim, line, proc->socket, true);
	else
		far = !is_shared_in(sim, line, proc->socket, false);
	return far ? sim->cost.far : sim->cost.near;
}

/* ---- the queue of a line ---- */

static void append(struct sim *sim, struct sim_line *line, int32_t id)
{
	sim->procs[id].next = -1;
	sim->procs[id].overtaken = 0;
	sim->procs[id].queued = true;
	if (line->last < 0)
		line->first = id;
	else
		sim->procs[line->last].next = id;
	line->last = id;
}

/* previous is -1 for the first one. */
static void detach(struct sim *sim, struct sim_line *line, int32_t previous, int32_t id)
{
	int32_t next = sim->procs[id].next;

	sim->procs[id].queued = false;
	if (previous < 0)
		line->first = next;
	else
		sim->procs[previous].next = next;
	if (line->last == id)
		line->last = previous;
}

static int32_t take_near(struct sim *sim, struct sim_line *line, int32_t socket)
{
	int32_t previous = -1;

	for (int32_t id = line->first; id >= 0; previous = id, id = sim->procs[id].next) {
		if (sim->procs[id].socket != socket)
			continue;
		detach(sim, line, previous, id);
		for (int32_t i = previous < 0 ? -1 : line->first; i >= 0; i = sim->procs[i].next) {
			sim->procs[i].overtaken++;
			if (i == previous)
				break;
		}
		return id;
	}
	return -1;
}

static int32_t take_next(struct sim *sim, struct sim_line *line)
{
	int32_t id = line->first;

	if (sim->cost.order == SIM_NEAREST && line->from >= 0 &&
	    sim->procs[id].overtaken < sim->machine.cores) {
		int32_t near = take_near(sim, line, line->from / (int32_t)sim->machine.cores);

		if (near >= 0)
			return near;
	}
	detach(sim, line, -1, id);
	return id;
}

/* ---- transfers ---- */

static uint32_t draw_hold(struct sim *sim, uint32_t time)
{
	switch (sim->cost.hold) {
	case SIM_HOLD_NONE:
		return 0;
	case SIM_HOLD_HALF:
		return time / 2;
	case SIM_HOLD_RANDOM:
		break;
	}
	return (uint32_t)(bench_random(&sim->random) % ((uint64_t)time + 1));
}

static void begin_transfer(struct sim *sim, struct sim_line *line, int32_t id)
{
	uint32_t time = transfer_time(sim, line, &sim->procs[id]);
	uint32_t hold = draw_hold(sim, time);

	line->active = id;
	line->flight = time - hold;
	sim->transfers++;
	sim_push(sim, sim->now + hold, SIM_EVENT_TAKE, (size_t)(line - sim->lines));
}

static void serve(struct sim *sim, struct sim_line *line)
{
	while (line->first >= 0 && line->active < 0) {
		int32_t id = take_next(sim, line);
		struct sim_proc *proc = &sim->procs[id];

		if (proc->wish == SIM_READ && line->owner < 0)
			sim_push(sim, sim->now + transfer_time(sim, line, proc), SIM_EVENT_READ,
			         (size_t)id);
		else
			begin_transfer(sim, line, id);
	}
}

void sim_request(struct sim *sim, struct sim_line *line, struct sim_proc *proc)
{
	append(sim, line, (int32_t)(proc - sim->procs));
	serve(sim, line);
}

/* The owner lets go, but not in the middle of an atomic operation. */
static void handle_take(struct sim *sim, struct sim_line *line)
{
	uint64_t start = sim->now > line->locked_until ? sim->now : line->locked_until;

	if (sim->procs[line->active].wish == SIM_READ) {
		add_sharer(line, (unsigned int)line->owner);
		line->owner = -1;
	} else {
		line->owner = -1;
		memset(line->sharers, 0, sizeof(line->sharers));
		sim_wake_watchers(sim, line);
	}
	sim_push(sim, start + line->flight, SIM_EVENT_ARRIVE, (size_t)(line - sim->lines));
}

static bool sibling_waits(const struct sim *sim, const struct sim_line *line, unsigned int core)
{
	unsigned int cores = sim->machine.sockets * sim->machine.cores;

	for (unsigned int id = core; id < sim->nprocs; id += cores)
		if (sim->procs[id].queued && &sim->lines[sim->procs[id].line] == line)
			return true;
	return false;
}

/* The core's other threads asked for what is here now. */
static void serve_siblings(struct sim *sim, struct sim_line *line, unsigned int core)
{
	int32_t previous = -1, next;

	if (!sibling_waits(sim, line, core))
		return;
	for (int32_t id = line->first; id >= 0; id = next) {
		struct sim_proc *proc = &sim->procs[id];

		next = proc->next;
		if (proc->core == core && sim_has_line(line, proc)) {
			detach(sim, line, previous, id);
			sim_touch(sim, line, proc);
		} else {
			previous = id;
		}
	}
}

static void receive(struct sim *sim, struct sim_line *line, struct sim_proc *proc)
{
	line->from = proc->core;
	sim_touch(sim, line, proc);
	serve_siblings(sim, line, proc->core);
	serve(sim, line);
}

static void handle_arrive(struct sim *sim, struct sim_line *line)
{
	struct sim_proc *proc = &sim->procs[line->active];

	line->active = -1;
	if (proc->wish == SIM_READ)
		add_sharer(line, proc->core);
	else
		line->owner = proc->core;
	receive(sim, line, proc);
}

/* A copy that was on its way while the line was taken is good for one look. */
static void handle_read(struct sim *sim, struct sim_proc *proc)
{
	struct sim_line *line = &sim->lines[proc->line];
	bool kept = line->owner < 0 && line->active < 0;

	if (kept)
		add_sharer(line, proc->core);
	if (line->from < 0)
		line->from = proc->core;
	sim_touch(sim, line, proc);
	if (kept)
		serve_siblings(sim, line, proc->core);
}

/* ---- the run ---- */

static void handle(struct sim *sim, const struct sim_event *event)
{
	switch ((enum sim_event_kind)event->kind) {
	case SIM_EVENT_DONE:
		sim_finish(sim, &sim->procs[event->id]);
		break;
	case SIM_EVENT_READ:
		handle_read(sim, &sim->procs[event->id]);
		break;
	case SIM_EVENT_DEADLINE:
		sim_expire(sim, &sim->procs[event->id]);
		break;
	case SIM_EVENT_TAKE:
		handle_take(sim, &sim->lines[event->id]);
		break;
	case SIM_EVENT_ARRIVE:
		handle_arrive(sim, &sim->lines[event->id]);
		break;
	}
}

static void init_lines(struct sim *sim, size_t first, size_t n)
{
	memset(&sim->lines[first], 0, n * sizeof(sim->lines[0]));
	for (size_t i = first; i < first + n; i++) {
		struct sim_line *line = &sim->lines[i];

		line->owner = line->from = line->first = line->last = line->active = -1;
	}
}

void sim_init(struct sim *sim, const struct sim_machine *machine, const struct sim_cost *cost,
              uint64_t seed)
{
	memset(sim, 0, offsetof(struct sim, events));
	sim->machine = *machine;
	sim->cost = *cost;
	sim->random = seed;
	sim->sleepers = -1;
	init_lines(sim, 0, SIM_SHARED_LINES);
}

void sim_add(struct sim *sim, const struct sim_program *program)
{
	unsigned int cores = sim->machine.sockets * sim->machine.cores;
	struct sim_proc *proc = &sim->procs[sim->nprocs];

	memset(proc, 0, sizeof(*proc));
	init_lines(sim, SIM_SHARED_LINES + SIM_OWN_LINES * sim->nprocs, SIM_OWN_LINES);
	proc->program = program;
	proc->deadline = UINT64_MAX;
	proc->core = (uint16_t)(sim->nprocs % cores);
	proc->socket = (uint8_t)(proc->core / sim->machine.cores);
	sim->nprocs++;
	sim_start(sim, proc);
}

unsigned int sim_cpus(const struct sim_machine *machine)
{
	return machine->sockets * machine->cores * machine->smt;
}

void sim_run(struct sim *sim, uint64_t ops, uint64_t events)
{
	uint64_t before = sim->handled;

	while (sim->nevents && sim->ops < ops && sim->handled - before < events) {
		struct sim_event event = pop(sim);

		sim->now = event.time;
		sim->handled++;
		handle(sim, &event);
	}
}

void sim_reset_counts(struct sim *sim)
{
	sim->since = sim->now;
	sim->ops = 0;
	sim->transfers = 0;
	for (unsigned int i = 0; i < sim->nprocs; i++) {
		sim->procs[i].ops = 0;
		sim->procs[i].repeats = 0;
		sim->procs[i].locked = 0;
	}
}

double sim_rate(const struct sim *sim)
{
	return sim->now > sim->since ? (double)sim->ops * 1e12 / (double)(sim->now - sim->since)
	                             : 0;
}

double sim_repeats(const struct sim *sim)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < sim->nprocs; i++)
		sum += sim->procs[i].repeats;
	return sim->ops ? (double)sum / (double)sim->ops : 0;
}

double sim_lock_share(const struct sim *sim)
{
	double time = (double)(sim->now - sim->since) * sim->nprocs, sum = 0;

	for (unsigned int i = 0; i < sim->nprocs; i++)
		sum += (double)sim->procs[i].locked;
	return time > 0 ? sum / time : 0;
}
