/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "predict.h"

#include "modes.h"

#include <string.h>

/*
 * FreeBSD before its lockless lookup: of each of the two directories that all
 * paths share, a reference and a shared lock are taken and given back.
 */
enum { FREEBSD_DIRECTORIES = 2, FREEBSD_TIMES = 2 };

static double rate(const struct sim_model *model, enum sim_machine_id machine, const char *mode,
                   const struct sim_row *row)
{
	return sim_call_on(model, machine, mode, row->workers, &model->constants.open).rate;
}

static double predict_open(const struct sim_model *model, const struct sim_row *row)
{
	return rate(model, SIM_X86_48, row->variant, row);
}

static double predict_stat(const struct sim_model *model, const struct sim_row *row)
{
	return sim_call_on(model, SIM_X86_48, row->variant, row->workers, &model->constants.stat)
	        .rate;
}

/* Two of three calls are lock sections; each has the work of a stat. */
static double predict_relax(const struct sim_model *model, const struct sim_row *row)
{
	struct sim_call call = model->constants.stat;
	struct sim_outcome relaxed, eager;

	call.mixed = true;
	relaxed = sim_call_on(model, SIM_X86_80, "lockref_pause", row->workers, &call);
	eager = sim_call_on(model, SIM_X86_80, "lockref", row->workers, &call);
	return strstr(row->id, "share") ? relaxed.lock_share / eager.lock_share
	                                : relaxed.rate / eager.rate;
}

static double predict_limit(const struct sim_model *model, const struct sim_row *row)
{
	return rate(model, SIM_ARM_112, "lockref", row) /
	       rate(model, SIM_ARM_112, "lockref_unbounded", row);
}

static double predict_arm(const struct sim_model *model, const struct sim_row *row)
{
	return rate(model, SIM_ARM_112, "locked_mcs", row) /
	       rate(model, SIM_ARM_112, "lockref_unbounded", row);
}

static struct sim_outcome recovery(const struct sim_model *model, const struct sim_row *row,
                                   const struct sim_call *call)
{
	struct sim_cost cost;
	struct sim_setup setup = sim_setup_on(model, SIM_X86_96, row->variant, row->workers, &cost);

	return sim_measure_call_recovery(model->lab, &setup, call);
}

static double predict_spin(const struct sim_model *model, const struct sim_row *row)
{
	return recovery(model, row, &model->constants.open).after;
}

static double predict_degrade(const struct sim_model *model, const struct sim_row *row)
{
	struct sim_outcome outcome = recovery(model, row, &model->constants.stat);

	return strstr(row->id, "before") ? outcome.before : outcome.after;
}

static double each_reader(const struct sim_model *model, enum sim_machine_id machine,
                          const struct sim_row *row, uint64_t work)
{
	struct sim_call call = {.work = work, .pairs = 1};
	const char *mode = machine == SIM_ARM_96 ? row->variant : "rwsem_percpu";

	return sim_call_on(model, machine, mode, row->workers, &call).rate / row->workers;
}

static double predict_percpu(const struct sim_model *model, const struct sim_row *row)
{
	return each_reader(model, SIM_X86_36, row, model->constants.reader_x86);
}

static double predict_percpu_arm(const struct sim_model *model, const struct sim_row *row)
{
	bool safe = strstr(row->id, "safe") != NULL;

	return each_reader(model, SIM_ARM_96, row,
	                   safe ? model->constants.reader_arm_safe : model->constants.reader_arm);
}

static double predict_freebsd(const struct sim_model *model, const struct sim_row *row)
{
	struct sim_call call = {.work = model->constants.stat.work};

	call.times = FREEBSD_TIMES;
	if (strstr(row->id, "before"))
		call.rest = FREEBSD_DIRECTORIES;
	return sim_call_on(model, SIM_X86_52, "rcu", row->workers, &call).rate;
}

static double predict_reorder(const struct sim_model *model, const struct sim_row *row)
{
	struct sim_call call = model->constants.stat;

	call.name_beside = strstr(row->id, "before") != NULL;
	return sim_call_on(model, SIM_X86_20, "lockref", row->workers, &call).rate;
}

/* fstat of one descriptor walks nothing. */
static double predict_file_ref(const struct sim_model *model, const struct sim_row *row)
{
	struct sim_call call = model->constants.stat;

	call.name_beside = false;
	call.work /= 2;
	return sim_call_on(model, SIM_X86_128, "rcuref", row->workers, &call).rate /
	       sim_call_on(model, SIM_X86_128, "word_cas", row->workers, &call).rate;
}

static double predict_retries(const struct sim_model *model, const struct sim_row *row)
{
	struct sim_call call = model->constants.stat;

	call.name_beside = false;
	call.work /= 2;
	return sim_call_on(model, SIM_X86_56, "word_cas", row->workers, &call).repeats;
}

static double predict_hot(const struct sim_model *model, const struct sim_row *row)
{
	struct sim_call call = {.work = model->constants.hot_work, .pairs = 1};

	return sim_call_on(model, SIM_X86_HOT, "word", row->workers, &call).rate /
	       sim_call_on(model, SIM_X86_HOT, "locked_mutex", row->workers, &call).rate;
}

static double predict_prototype(const struct sim_model *model, const struct sim_row *row)
{
	struct sim_cost cost;
	struct sim_setup setup = sim_setup_on(model, SIM_VM, row->variant, row->workers, &cost);

	return sim_measure_scenario(model->lab, &setup, SIM_OPEN3).rate;
}

/* By the beginning of the row's id; the first that fits. of_mode: row->variant is one. */
static const struct {
	const char *prefix;
	double (*predict)(const struct sim_model *model, const struct sim_row *row);
	const char *reason;
	bool of_mode;
} rules[] = {
	{"open3/", predict_open, NULL, true},
	{"stat2/", predict_stat, NULL, true},
	{"relax/", predict_relax, "a stat's work around each; the mail has a mixed load", false},
	{"limit/", predict_limit, "with the transfer of x86-64", false},
	{"spin/", predict_spin, "after 5 sections of 1 us; an open and close of table open3", true},
	{"degrade/", predict_degrade, "after 5 sections of 1 us; a stat of table stat2", true},
	{"arm/", predict_arm, "with the transfer of x86-64", false},
	{"percpu/plain/18", predict_percpu, "for each reader: a total could not be flat", false},
	{"percpu/plain/36", predict_percpu, "for each reader", false},
	{"percpu/plain/72a", predict_percpu_arm, "for each reader", true},
	{"percpu/plain/72", predict_percpu, "for each reader", false},
	{"percpu/safe/18", predict_percpu, "for each reader; one instruction without a lock",
         false},
	{"percpu/safe/36", predict_percpu, "for each reader; one instruction without a lock",
         false},
	{"percpu/safe/72a", predict_percpu_arm, "for each reader", true},
	{"percpu/safe/72", predict_percpu, "for each reader; one instruction without a lock",
         false},
	{"percpu/", predict_percpu_arm, "for each reader", true},
	{"freebsd/", predict_freebsd, "two shared directories, with the work of a stat", false},
	{"reorder/freebsd", NULL, "another kernel's work; nothing of it with one worker is known",
         false},
	{"reorder/", predict_reorder, "with the work of a stat of table stat2", false},
	{"file_ref/", predict_file_ref, "half the work of a stat", false},
	{"inc_not_zero/", predict_retries, "half the work of a stat", false},
	{"hyperclock/", predict_hot, "one hot entry; one mutex", false},
	{"dircache/", NULL, "latency of a walk by depth; no line is contended", false},
	{"fallback/", NULL, "how often a walk meets a change, not what that costs", false},
	{"freeing/", NULL, "grace periods, not lines", false},
	{"prototype/lfht/", NULL, "misses of one thread's caches", false},
	{"prototype/walk/", NULL, "misses of one thread's caches", false},
	{"prototype/vector/", NULL, "misses of one thread's caches", false},
	{"prototype/epoch/", NULL, "misses of one thread's caches", false},
	{"prototype/many/", NULL, "misses of one thread's caches", false},
	{"prototype/stat", NULL, "work of the kernel", false},
	{"prototype/getppid/", NULL, "taken as the cost of sleeping or waking somebody", false},
	{"prototype/", predict_prototype, NULL, true},
};

struct sim_prediction sim_predict(const struct sim_model *model, const struct sim_row *row)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		if (strncmp(row->id, rules[i].prefix, strlen(rules[i].prefix)) != 0)
			continue;
		if (!rules[i].predict)
			return (struct sim_prediction){SIM_OUTSIDE, 0, rules[i].reason};
		if (rules[i].of_mode && !sim_mode_find(row->variant))
			return (struct sim_prediction){SIM_OUTSIDE, 0, "no such way to count"};
		return (struct sim_prediction){sim_is_fitted(row->id) ? SIM_FITTED : SIM_PREDICTED,
		                               rules[i].predict(model, row), rules[i].reason};
	}
	return (struct sim_prediction){SIM_OUTSIDE, 0, "no rule for it"};
}
