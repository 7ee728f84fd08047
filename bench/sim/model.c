/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model.h"

#include <errno.h>
#include <math.h>
#include <string.h>

const struct sim_machine sim_machines[SIM_MACHINES] = {
	[SIM_X86_48] = {"x86-64 2x24x2", 2, 24, 2},
	[SIM_X86_96] = {"x86-64 2x48x2", 2, 48, 2},
	[SIM_X86_36] = {"x86-64 2x18x2", 2, 18, 2},
	[SIM_ARM_112] = {"arm64 2x28x4", 2, 28, 4},
	[SIM_ARM_96] = {"arm64 4x24", 4, 24, 1},
	[SIM_VM] = {"x86-64 VM 2 cores", 1, 2, 1},
	/* How these are divided into sockets is not published: two, as was usual. */
	[SIM_X86_80] = {"x86-64 80 cores", 2, 40, 1},
	[SIM_X86_52] = {"x86-64 104 CPUs", 2, 26, 2},
	[SIM_X86_20] = {"x86-64 20 CPUs", 1, 20, 1},
	[SIM_X86_128] = {"x86-64 256 CPUs", 2, 64, 2},
	[SIM_X86_56] = {"x86-64 112 CPUs", 2, 28, 2},
	[SIM_X86_HOT] = {"x86-64", 2, 24, 1},
};

/*
 * From literature, for all tables alike.
 * Far: across sockets an operation on a line takes 2 to 7.5 times as long as
 * within one (David, Guerraoui, Trigonakis: Everything You Always Wanted to Know
 * About Synchronization but Were Afraid to Ask, SOSP 2013; two to eight sockets).
 * Pause: up to 140 cycles since Skylake (Intel's optimization manual), here of
 * 3 GHz. Arm's yield is a hint that costs an instruction.
 */
#define FAR_FACTOR 2.5
enum { X86_PAUSE_PS = 47000 };

/* Its own figures; the rest is taken to cost the same everywhere. */
static const char *const fitted[] = {
	"prototype/faa/1", "prototype/cas/1", "prototype/spinlock/1", "prototype/getppid/1",
	"stat2/nopause/1", "stat2/nopause/2", "open3/nopause/1",      "open3/nopause/2",
	"percpu/plain/18", "percpu/plain/24", "percpu/safe/24",       "hyperclock/gain/1",
};

bool sim_is_fitted(const char *id)
{
	for (size_t i = 0; i < sizeof(fitted) / sizeof(fitted[0]); i++)
		if (!strcmp(fitted[i], id))
			return true;
	return false;
}

struct sim_cost sim_cost_on(const struct sim_model *model, enum sim_machine_id machine)
{
	struct sim_cost cost = model->constants.cost;

	cost.order = model->order;
	cost.hold = model->hold;
	if (machine == SIM_ARM_112 || machine == SIM_ARM_96)
		cost.pause = cost.load;
	cost.far = (uint32_t)(cost.near * FAR_FACTOR);
	return cost;
}

struct sim_setup sim_setup_on(const struct sim_model *model, enum sim_machine_id machine,
                              const char *mode, unsigned int threads, struct sim_cost *cost)
{
	*cost = sim_cost_on(model, machine);
	return (struct sim_setup){
		.machine = &sim_machines[machine],
		.cost = cost,
		.mode = sim_mode_find(mode),
		.threads = threads,
		.ops = model->effort.ops + model->effort.ops_each * threads,
		.events = model->effort.events,
		.seed = model->effort.seed,
	};
}

struct sim_outcome sim_call_on(const struct sim_model *model, enum sim_machine_id machine,
                               const char *mode, unsigned int threads, const struct sim_call *call)
{
	struct sim_cost cost;
	struct sim_setup setup = sim_setup_on(model, machine, mode, threads, &cost);

	return sim_measure_call(model->lab, &setup, call);
}

/* ---- solving ---- */

static double value_of(const struct sim_model *model, const char *id)
{
	return sim_published_find(model->published, id)->value;
}

static bool has_all(const struct sim_model *model)
{
	for (size_t i = 0; i < sizeof(fitted) / sizeof(fitted[0]); i++)
		if (!sim_published_find(model->published, fitted[i]))
			return false;
	return true;
}

/*
 * One thread, line in its cache: a pair of additions, a pair of swaps with the
 * loads before them, a pair of lock sections (exchange, load and two stores).
 * A load and a store are taken to cost the same.
 */
static void solve_local(struct sim_model *model)
{
	struct sim_cost *cost = &model->constants.cost;
	double add = 1e12 / value_of(model, "prototype/faa/1") / 2;
	double swap = 1e12 / value_of(model, "prototype/cas/1") / 2;
	double section = 1e12 / value_of(model, "prototype/spinlock/1") / 2;
	double touch = (section - add) / 3;

	cost->rmw = (uint32_t)lround(add);
	cost->load = cost->store = (uint32_t)lround(touch);
	cost->cas = (uint32_t)lround(swap - touch);
	cost->pause = X86_PAUSE_PS;
	cost->futex = (uint32_t)lround(value_of(model, "prototype/getppid/1") * 1000);
}

/* The work that makes one worker as fast as it was, all the rest being there. */
static void solve_work(const struct sim_model *model, struct sim_call *call, double rate)
{
	call->work = 0;
	call->work = (uint64_t)lround(
		1e12 / rate - 1e12 / sim_call_on(model, SIM_X86_48, "lockref", 1, call).rate);
}

/* A longer transfer means fewer operations: halve the interval until it fits. */
static void solve_transfer(struct sim_model *model)
{
	double wanted = value_of(model, "stat2/nopause/2");
	uint32_t low = 1000, high = 400000;

	while (high - low > 100) {
		uint32_t middle = low + (high - low) / 2;

		model->constants.cost.near = middle;
		if (sim_call_on(model, SIM_X86_48, "lockref", 2, &model->constants.stat).rate >
		    wanted)
			low = middle;
		else
			high = middle;
	}
}

/*
 * An open and close takes and gives two references (the walk's and the file's).
 * What two workers lose beyond that are counts of other objects.
 */
static void solve_open(struct sim_model *model)
{
	double wanted = value_of(model, "open3/nopause/2"), best = INFINITY;
	struct sim_call call = {.pairs = 2, .times = 1, .name_beside = true};

	for (call.rest = 0; call.rest <= SIM_REST_MAX; call.rest++) {
		double distance;

		solve_work(model, &call, value_of(model, "open3/nopause/1"));
		distance = fabs(sim_call_on(model, SIM_X86_48, "lockref", 2, &call).rate - wanted);
		if (distance < best) {
			best = distance;
			model->constants.open = call;
		}
	}
}

/* What a reader's loop takes besides the counts. */
static uint64_t reader_work(const struct sim_model *model, const char *id, const char *mode)
{
	struct sim_call none = {.pairs = 1};
	double each = 1e12 / value_of(model, id);
	double counts = 1e12 / sim_call_on(model, SIM_ARM_96, mode, 1, &none).rate;

	return each > counts ? (uint64_t)lround(each - counts) : 0;
}

/* One thread is that much faster with a count than with a mutex: (w + m) / (w + c) = gain. */
static uint64_t hot_work(const struct sim_model *model)
{
	struct sim_call none = {.pairs = 1};
	double gain = value_of(model, "hyperclock/gain/1");
	double mutex = 1e12 / sim_call_on(model, SIM_X86_48, "locked_mutex", 1, &none).rate;
	double count = 1e12 / sim_call_on(model, SIM_X86_48, "word", 1, &none).rate;

	return (uint64_t)lround((mutex - gain * count) / (gain - 1));
}

int sim_calibrate(struct sim_model *model)
{
	struct sim_constants *constants = &model->constants;

	if (!has_all(model))
		return -ENOENT;
	*constants = (struct sim_constants){.stat = {.pairs = 1, .name_beside = true}};
	solve_local(model);
	solve_work(model, &constants->stat, value_of(model, "stat2/nopause/1"));
	solve_transfer(model);
	solve_open(model);
	constants->reader_x86 = reader_work(model, "percpu/plain/18", "rwsem_percpu");
	constants->reader_arm = reader_work(model, "percpu/plain/24", "rwsem_percpu");
	constants->reader_arm_safe = reader_work(model, "percpu/safe/24", "rwsem_percpu_atomic");
	constants->hot_work = hot_work(model);
	return 0;
}
