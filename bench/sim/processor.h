/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Between engine.c (lines and events) and processor.c (programs). */
#ifndef BENCH_SIM_PROCESSOR_H
#define BENCH_SIM_PROCESSOR_H

#include "engine.h"

enum sim_event_kind {
	SIM_EVENT_DONE,     /* a processor's instruction */
	SIM_EVENT_READ,     /* a copy of an unmodified line is there */
	SIM_EVENT_DEADLINE, /* of a processor's wait */
	SIM_EVENT_TAKE,     /* the owner lets a line go */
	SIM_EVENT_ARRIVE,   /* a line is there */
};

void sim_push(struct sim *sim, uint64_t time, enum sim_event_kind kind, size_t id);

/* Whether what the processor wishes can be done in its core's cache. */
bool sim_has_line(const struct sim_line *line, const struct sim_proc *proc);

/* The processor waits for the line. */
void sim_request(struct sim *sim, struct sim_line *line, struct sim_proc *proc);

/* The line is there: the instruction takes its time. */
void sim_touch(struct sim *sim, struct sim_line *line, struct sim_proc *proc);

/* Those who spin on a line have to look again. */
void sim_wake_watchers(struct sim *sim, struct sim_line *line);

void sim_start(struct sim *sim, struct sim_proc *proc);
void sim_finish(struct sim *sim, struct sim_proc *proc);
void sim_expire(struct sim *sim, struct sim_proc *proc);

#endif
