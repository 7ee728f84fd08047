/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The object's line: slot 0 is its word, slots 1 and 2 belong to its lock.
 * The word, where a lock is inside it: a queued lock as in the kernel, a bit and
 * the number of the last one in the queue.
 *
 * rcuref and saturating counts add once, like the library's word, and are the same to the model.
 */
#include "modes.h"

#include <string.h>

#define LOCKED (UINT64_C(1) << 32)
#define TAIL (UINT64_C(0xffff) << 40)
#define DEAD (UINT64_C(1) << 63)
#define ALL UINT64_MAX
#define ONE_LESS (~UINT64_C(0))

/* Slots of a processor's own first line: a node of a queue. */
enum { NODE_LINE = 0, NODE_GO = 0, NODE_NEXT = 1, COUNT_LINE = 1 };
enum { LOCK_SLOT = 1, TURN_SLOT = 2 };

const struct sim_mode sim_modes[] = {
	{.name = "word", .kind = SIM_KIND_WORD},
	{.name = "word_cas", .kind = SIM_KIND_SWAP},
	{.name = "lockref", .kind = SIM_KIND_LOCKREF, .limit = 100},
	{.name = "lockref_pause", .kind = SIM_KIND_LOCKREF, .limit = 100, .pause_every = 1},
	{.name = "lockref_pause8", .kind = SIM_KIND_LOCKREF, .limit = 100, .pause_every = 8},
	{.name = "lockref_unbounded", .kind = SIM_KIND_LOCKREF},
	{.name = "lockref_wait1", .kind = SIM_KIND_LOCKREF, .limit = 100, .wait = 1},
	{.name = "lockref_wait100", .kind = SIM_KIND_LOCKREF, .limit = 100, .wait = 100},
	{.name = "lockref_wait700", .kind = SIM_KIND_LOCKREF, .limit = 100, .wait = 700},
	{.name = "lockref_wait1000", .kind = SIM_KIND_LOCKREF, .limit = 100, .wait = 1000},
	{.name = "lockref_break", .kind = SIM_KIND_LOCKREF, .limit = 100, .gives_up = true},
	{.name = "locked_tas", .kind = SIM_KIND_LOCKED, .lock = SIM_TAS},
	{.name = "locked_ticket", .kind = SIM_KIND_LOCKED, .lock = SIM_TICKET},
	{.name = "locked_mcs", .kind = SIM_KIND_LOCKED, .lock = SIM_MCS},
	{.name = "locked_spin", .kind = SIM_KIND_LOCKED, .lock = SIM_SPIN},
	{.name = "locked_mutex", .kind = SIM_KIND_LOCKED, .lock = SIM_MUTEX},
	{.name = "rcuref", .kind = SIM_KIND_WORD},
	{.name = "saturating", .kind = SIM_KIND_WORD},
	{.name = "urcu_ref", .kind = SIM_KIND_SWAP},
	{.name = "percpu", .kind = SIM_KIND_OWN},
	{.name = "percpu_atomic", .kind = SIM_KIND_OWN, .atomic = true},
	{.name = "perthread", .kind = SIM_KIND_OWN},
	{.name = "rwsem_percpu", .kind = SIM_KIND_RWSEM},
	{.name = "rwsem_percpu_atomic", .kind = SIM_KIND_RWSEM, .atomic = true},
	{.name = "rwsem_perthread", .kind = SIM_KIND_RWSEM},
	{.name = "rcu", .kind = SIM_KIND_RCU},
};

const size_t sim_nmodes = sizeof(sim_modes) / sizeof(sim_modes[0]);

const struct sim_mode *sim_mode_find(const char *name)
{
	for (size_t i = 0; i < sim_nmodes; i++)
		if (!strcmp(sim_modes[i].name, name))
			return &sim_modes[i];
	return NULL;
}

/* ---- writing ---- */

size_t sim_write(struct sim_writer *writer, struct sim_instruction in)
{
	writer->program->code[writer->program->n] = in;
	return writer->program->n++;
}

void sim_land(struct sim_writer *writer, size_t at)
{
	writer->program->code[at].jump = (uint16_t)writer->program->n;
}

static size_t plain(struct sim_writer *writer, enum sim_op op, uint64_t a)
{
	return sim_write(writer, (struct sim_instruction){.op = (uint8_t)op, .a = a});
}

static void jump_to(struct sim_writer *writer, enum sim_op op, uint64_t a, size_t target)
{
	sim_write(writer,
	          (struct sim_instruction){.op = (uint8_t)op, .a = a, .jump = (uint16_t)target});
}

/* On the object's line. */
static size_t on_object(struct sim_writer *writer, enum sim_op op, unsigned int slot, uint64_t a,
                        uint64_t b)
{
	bool own = writer->place == SIM_EACH;

	return sim_write(writer, (struct sim_instruction){.op = (uint8_t)op,
	                                                  .base = own ? SIM_OWN : SIM_SHARED,
	                                                  .line = own ? COUNT_LINE : SIM_OBJECT,
	                                                  .slot = (uint8_t)slot,
	                                                  .a = a,
	                                                  .b = b});
}

/* On the processor's own node, or on that of the one in `saved`. */
static void on_node(struct sim_writer *writer, enum sim_base base, enum sim_op op,
                    unsigned int slot, uint64_t a)
{
	sim_write(writer, (struct sim_instruction){.op = (uint8_t)op,
	                                           .base = (uint8_t)base,
	                                           .line = NODE_LINE,
	                                           .slot = (uint8_t)slot,
	                                           .a = a});
}

void sim_write_work(struct sim_writer *writer, uint64_t ps)
{
	if (ps)
		plain(writer, SIM_WORK, ps);
}

void sim_write_end(struct sim_writer *writer)
{
	plain(writer, SIM_END, 0);
}

/* ---- queues ---- */

/* Join the queue whose last one is in the field of a slot; first in it when this is over. */
static void write_queue_up(struct sim_writer *writer, unsigned int slot, uint64_t field)
{
	size_t first;

	on_node(writer, SIM_OWN, SIM_STORE, NODE_GO, 0);
	on_node(writer, SIM_OWN, SIM_STORE, NODE_NEXT, 0);
	on_object(writer, SIM_FIELD, slot, field, SIM_ME);
	first = plain(writer, SIM_IF_CLEAR, field);
	plain(writer, SIM_SAVE, field);
	on_node(writer, SIM_SAVED, SIM_STORE, NODE_NEXT, SIM_ME);
	on_node(writer, SIM_OWN, SIM_WAIT_SET, NODE_GO, ALL);
	sim_land(writer, first);
}

static void write_hand_on(struct sim_writer *writer)
{
	on_node(writer, SIM_OWN, SIM_WAIT_SET, NODE_NEXT, ALL);
	plain(writer, SIM_SAVE, ALL);
	on_node(writer, SIM_SAVED, SIM_STORE, NODE_GO, 1);
}

/* The lock inside the word. */
static void write_word_lock(struct sim_writer *writer)
{
	size_t free, last;

	on_object(writer, SIM_TRYLOCK, 0, LOCKED | TAIL, LOCKED);
	free = plain(writer, SIM_IF_OK, 0);
	write_queue_up(writer, 0, TAIL);
	on_object(writer, SIM_WAIT, 0, LOCKED, 0);
	on_object(writer, SIM_CLAIM, 0, LOCKED, TAIL);
	last = plain(writer, SIM_IF_OK, 0);
	write_hand_on(writer);
	sim_land(writer, free);
	sim_land(writer, last);
}

static void write_word_unlock(struct sim_writer *writer)
{
	on_object(writer, SIM_FIELD_PLAIN, 0, LOCKED, 0);
}

/* ---- locks beside the word ---- */

static void write_tas_lock(struct sim_writer *writer, bool pause)
{
	size_t again = writer->program->n, got;

	on_object(writer, SIM_FIELD, LOCK_SLOT, 1, 1);
	got = plain(writer, SIM_IF_CLEAR, 1);
	on_object(writer, SIM_WAIT, LOCK_SLOT, 1, 0);
	if (pause)
		plain(writer, SIM_PAUSE, 0);
	jump_to(writer, SIM_JUMP, 0, again);
	sim_land(writer, got);
}

static void write_mutex_lock(struct sim_writer *writer)
{
	size_t free, again, got;

	on_object(writer, SIM_TRYLOCK, LOCK_SLOT, 3, 1);
	free = plain(writer, SIM_IF_OK, 0);
	again = writer->program->n;
	on_object(writer, SIM_FIELD, LOCK_SLOT, 3, 2);
	got = plain(writer, SIM_IF_CLEAR, 3);
	on_object(writer, SIM_SLEEP, LOCK_SLOT, 2, 0);
	jump_to(writer, SIM_JUMP, 0, again);
	sim_land(writer, free);
	sim_land(writer, got);
}

static void write_mutex_unlock(struct sim_writer *writer)
{
	size_t alone;

	on_object(writer, SIM_FIELD, LOCK_SLOT, 3, 0);
	alone = plain(writer, SIM_IF_CLEAR, 2);
	plain(writer, SIM_WAKE, 0);
	sim_land(writer, alone);
}

static void write_mcs_unlock(struct sim_writer *writer)
{
	size_t followed, last;

	on_node(writer, SIM_OWN, SIM_LOAD, NODE_NEXT, 0);
	followed = plain(writer, SIM_IF_SET, ALL);
	on_object(writer, SIM_CLAIM, LOCK_SLOT, 0, ALL);
	last = plain(writer, SIM_IF_OK, 0);
	sim_land(writer, followed);
	write_hand_on(writer);
	sim_land(writer, last);
}

static void write_lock(struct sim_writer *writer)
{
	switch (writer->mode->lock) {
	case SIM_TAS:
	case SIM_SPIN:
		write_tas_lock(writer, writer->mode->lock == SIM_SPIN);
		break;
	case SIM_TICKET:
		on_object(writer, SIM_ADD, LOCK_SLOT, 1, 0);
		plain(writer, SIM_SAVE, ALL);
		on_object(writer, SIM_WAIT_TICKET, TURN_SLOT, 0, 0);
		break;
	case SIM_MCS:
		write_queue_up(writer, LOCK_SLOT, ALL);
		break;
	case SIM_MUTEX:
		write_mutex_lock(writer);
		break;
	}
}

static void write_unlock(struct sim_writer *writer)
{
	switch (writer->mode->lock) {
	case SIM_TAS:
	case SIM_SPIN:
		on_object(writer, SIM_STORE, LOCK_SLOT, 0, 0);
		break;
	case SIM_TICKET:
		on_object(writer, SIM_BUMP, TURN_SLOT, 1, 0);
		break;
	case SIM_MCS:
		write_mcs_unlock(writer);
		break;
	case SIM_MUTEX:
		write_mutex_unlock(writer);
		break;
	}
}

/* ---- get and put ---- */

static void write_swap(struct sim_writer *writer, uint64_t add)
{
	size_t again, swapped;

	on_object(writer, SIM_LOAD, 0, 0, 0);
	again = writer->program->n;
	on_object(writer, SIM_CAS, 0, add, 0);
	swapped = plain(writer, SIM_IF_OK, 0);
	jump_to(writer, SIM_JUMP, 0, again);
	sim_land(writer, swapped);
}

/* After a failed swap. Return: the jump to the lock, if there is one. */
static size_t write_failed(struct sim_writer *writer, size_t again)
{
	const struct sim_mode *mode = writer->mode;
	size_t slow;

	if (mode->gives_up)
		return plain(writer, SIM_JUMP, 0);
	slow = plain(writer, SIM_IF_TRIES, mode->limit ? mode->limit : UINT64_MAX);
	if (mode->pause_every > 1)
		jump_to(writer, SIM_IF_NTH, mode->pause_every, again);
	if (mode->pause_every)
		plain(writer, SIM_PAUSE, 0);
	jump_to(writer, SIM_JUMP, 0, again);
	return slow;
}

static void write_wait(struct sim_writer *writer, size_t again)
{
	uint64_t look = writer->cost->pause + writer->cost->load;

	if (!writer->mode->wait)
		return;
	on_object(writer, SIM_WAIT, 0, LOCKED | TAIL, writer->mode->wait * look);
	jump_to(writer, SIM_IF_OK, 0, again);
}

static void write_lockref(struct sim_writer *writer, uint64_t add)
{
	size_t again, busy, swapped, slow;

	plain(writer, SIM_RETRY, 0);
	on_object(writer, SIM_LOAD, 0, 0, 0);
	again = writer->program->n;
	busy = plain(writer, SIM_IF_SET, LOCKED | TAIL);
	on_object(writer, SIM_CAS, 0, add, 0);
	swapped = plain(writer, SIM_IF_OK, 0);
	slow = write_failed(writer, again);
	sim_land(writer, busy);
	write_wait(writer, again);
	sim_land(writer, slow);
	write_word_lock(writer);
	on_object(writer, SIM_BUMP, 0, add, 0);
	write_word_unlock(writer);
	sim_land(writer, swapped);
}

static void write_locked(struct sim_writer *writer, uint64_t add)
{
	write_lock(writer);
	on_object(writer, SIM_BUMP, 0, add, 0);
	write_unlock(writer);
}

/* Each on a line of the processor's own. */
static void write_own(struct sim_writer *writer, enum sim_op op, uint64_t a)
{
	sim_write(writer, (struct sim_instruction){
				  .op = (uint8_t)op, .base = SIM_OWN, .line = COUNT_LINE, .a = a});
}

static void write_flag_load(struct sim_writer *writer)
{
	sim_write(writer, (struct sim_instruction){.op = SIM_LOAD, .line = SIM_FLAG});
}

static void write_change(struct sim_writer *writer, uint64_t add)
{
	const struct sim_mode *mode = writer->mode;

	switch (mode->kind) {
	case SIM_KIND_WORD:
		on_object(writer, SIM_ADD, 0, add, 0);
		break;
	case SIM_KIND_SWAP:
		if (add == 1)
			write_swap(writer, add);
		else
			on_object(writer, SIM_ADD, 0, add, 0);
		break;
	case SIM_KIND_LOCKREF:
		write_lockref(writer, add);
		break;
	case SIM_KIND_LOCKED:
		write_locked(writer, add);
		break;
	case SIM_KIND_RWSEM:
		write_flag_load(writer);
		write_own(writer, mode->atomic ? SIM_ADD : SIM_BUMP, add);
		break;
	case SIM_KIND_OWN:
		write_own(writer, mode->atomic ? SIM_ADD : SIM_BUMP, add);
		break;
	case SIM_KIND_RCU:
		write_own(writer, SIM_STORE, 0);
		break;
	}
}

void sim_write_get(struct sim_writer *writer)
{
	write_change(writer, 1);
}

void sim_write_put(struct sim_writer *writer)
{
	write_change(writer, ONE_LESS);
}

/* Those that add find out afterwards; those that look first change nothing. */
void sim_write_dying_get(struct sim_writer *writer)
{
	switch (writer->mode->kind) {
	case SIM_KIND_WORD:
		on_object(writer, SIM_ADD, 0, 1, 0);
		if (!strcmp(writer->mode->name, "rcuref"))
			on_object(writer, SIM_STORE, 0, DEAD, 0);
		break;
	case SIM_KIND_LOCKED:
		write_lock(writer);
		on_object(writer, SIM_LOAD, 0, 0, 0);
		write_unlock(writer);
		break;
	default:
		on_object(writer, SIM_LOAD, 0, 0, 0);
		break;
	}
}

/* A mode without a lock of its own has one beside the object, on another line. */
static size_t on_other_lock(struct sim_writer *writer, enum sim_op op, uint64_t a, uint64_t b)
{
	return sim_write(writer, (struct sim_instruction){
					 .op = (uint8_t)op, .line = SIM_LOCK, .a = a, .b = b});
}

static void write_other_lock(struct sim_writer *writer)
{
	size_t again = on_other_lock(writer, SIM_FIELD, 1, 1);
	size_t got = plain(writer, SIM_IF_CLEAR, 1);

	on_other_lock(writer, SIM_WAIT, 1, 0);
	jump_to(writer, SIM_JUMP, 0, again);
	sim_land(writer, got);
}

void sim_write_lock(struct sim_writer *writer)
{
	switch (writer->mode->kind) {
	case SIM_KIND_LOCKREF:
		write_word_lock(writer);
		break;
	case SIM_KIND_LOCKED:
		write_lock(writer);
		break;
	default:
		write_other_lock(writer);
		break;
	}
}

void sim_write_unlock(struct sim_writer *writer)
{
	switch (writer->mode->kind) {
	case SIM_KIND_LOCKREF:
		write_word_unlock(writer);
		break;
	case SIM_KIND_LOCKED:
		write_unlock(writer);
		break;
	default:
		on_other_lock(writer, SIM_FIELD_PLAIN, 1, 0);
		break;
	}
}
