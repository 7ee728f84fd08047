/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "passes.h"

#include <errno.h>
#include <stdlib.h>

/* One turn of rival i, which has done operations behind it. */
static int take_turn(const struct bench_passes *plan, size_t i, size_t done, uint64_t *ns)
{
	const struct bench_pass *pass = &plan->passes[i];
	size_t first = (plan->ops * i / plan->npasses + done) % plan->ops;
	size_t count = plan->turn < plan->ops - done ? plan->turn : plan->ops - done;
	size_t head = count < plan->ops - first ? count : plan->ops - first;
	uint64_t start = bench_now_ns();
	int error = pass->step(pass->arg, first, head);

	if (!error && head < count)
		error = pass->step(pass->arg, 0, count - head);
	*ns += bench_now_ns() - start;
	return error;
}

static int take_turns(const struct bench_passes *plan, size_t round, uint64_t *ns)
{
	int error = 0;

	for (size_t done = 0; done < plan->ops && !error; done += plan->turn) {
		for (size_t i = 0; i < plan->npasses && !error; i++) {
			size_t v = (round + done / plan->turn + i) % plan->npasses;

			error = take_turn(plan, v, done, &ns[v]);
		}
	}
	return error;
}

static int run_round(const struct bench_passes *plan, size_t round, uint64_t *ns)
{
	size_t begun = 0;
	int error = 0;

	while (!error && begun < plan->npasses) {
		const struct bench_pass *pass = &plan->passes[begun];

		ns[begun] = 0;
		error = pass->begin ? pass->begin(pass->arg) : 0;
		begun += !error;
	}
	if (!error)
		error = take_turns(plan, round, ns);
	while (begun--) {
		const struct bench_pass *pass = &plan->passes[begun];
		int ended = pass->end ? pass->end(pass->arg) : 0;

		if (!error)
			error = ended;
	}
	return error;
}

static void summarise(const struct bench_passes *plan, double *figures,
                      struct bench_result *results)
{
	for (size_t i = 0; i < plan->npasses; i++, figures += plan->rounds) {
		double median = bench_median(figures, plan->rounds);

		results[i] = (struct bench_result){
			.ns_per_op = median,
			.min = figures[0],
			.max = figures[plan->rounds - 1],
			.mops = 1000.0 / median,
		};
	}
}

int bench_passes_run(const struct bench_passes *plan, struct bench_result *results)
{
	double *figures;
	uint64_t *ns;
	int error = 0;

	if (!plan->npasses || !plan->ops || !plan->turn || !plan->rounds)
		return -EINVAL;
	figures = calloc(plan->npasses * plan->rounds, sizeof(*figures));
	ns = calloc(plan->npasses, sizeof(*ns));
	if (!figures || !ns)
		error = -ENOMEM;
	for (size_t round = 0; round <= plan->rounds && !error; round++) {
		error = run_round(plan, round, ns);
		/* Round 0 warms up. */
		for (size_t i = 0; i < plan->npasses && round && !error; i++)
			figures[i * plan->rounds + round - 1] = (double)ns[i] / (double)plan->ops;
	}
	if (!error)
		summarise(plan, figures, results);
	free(figures);
	free(ns);
	return error;
}
