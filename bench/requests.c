/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "requests.h"

#include "harness.h"
#include "paths.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int begin(struct requests *requests, size_t count, uint32_t objects)
{
	*requests = (struct requests){
		.object = malloc((count ? count : 1) * sizeof(*requests->object)),
		.objects = objects,
		.watched = objects,
	};
	return requests->object ? 0 : -ENOMEM;
}

static void ask(struct requests *requests, uint32_t object)
{
	requests->object[requests->count++] = object;
}

/* ---- distributions ---- */

struct zipf {
	double *below; /* probability of an object up to this one */
	uint32_t objects;
};

static int zipf_init(struct zipf *zipf, uint32_t objects, double exponent)
{
	double sum = 0;

	*zipf = (struct zipf){malloc(objects * sizeof(*zipf->below)), objects};
	if (!zipf->below)
		return -ENOMEM;
	for (uint32_t i = 0; i < objects; i++)
		zipf->below[i] = sum += pow(i + 1, -exponent);
	for (uint32_t i = 0; i < objects; i++)
		zipf->below[i] /= sum;
	return 0;
}

static void zipf_fini(struct zipf *zipf)
{
	free(zipf->below);
}

static uint32_t zipf_next(const struct zipf *zipf, uint64_t *state)
{
	double at = (double)(bench_random(state) >> 11) * 0x1p-53;
	uint32_t low = 0, high = zipf->objects - 1;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (zipf->below[middle] < at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* ---- made up ---- */

int requests_hot(struct requests *requests, const struct requests_hot *hot, uint64_t seed)
{
	uint32_t turns = hot->one_shots / hot->ratio, next = hot->set;
	uint32_t beside = hot->alone ? 0 : hot->ratio;
	struct zipf zipf;
	int error = begin(requests, hot->warm + turns * ((size_t)beside + 1),
	                  hot->set + turns * beside);

	if (!error)
		error = zipf_init(&zipf, hot->set, hot->exponent);
	if (error)
		return error;
	for (uint32_t i = 0; i < hot->warm; i++)
		ask(requests, zipf_next(&zipf, &seed));
	for (uint32_t i = 0; i < turns; i++) {
		ask(requests, zipf_next(&zipf, &seed));
		for (uint32_t j = 0; j < beside; j++)
			ask(requests, next++);
	}
	zipf_fini(&zipf);
	requests->watched = hot->set;
	requests->from = hot->warm;
	snprintf(requests->name, sizeof(requests->name), "hot_%s_1:%u_%s%s",
	         hot->exponent > 0 ? "zipf" : "uniform", hot->ratio, hot->warm ? "warm" : "cold",
	         hot->alone ? "_alone" : "");
	return 0;
}

int requests_scan(struct requests *requests, uint32_t objects, size_t count)
{
	int error = begin(requests, count, objects);

	for (size_t i = 0; i < count && !error; i++)
		ask(requests, (uint32_t)(i % objects));
	return error;
}

int requests_zipf(struct requests *requests, uint32_t objects, double exponent, size_t count,
                  uint64_t seed)
{
	struct zipf zipf;
	int error = begin(requests, count, objects);

	if (!error)
		error = zipf_init(&zipf, objects, exponent);
	if (error)
		return error;
	for (size_t i = 0; i < count; i++)
		ask(requests, zipf_next(&zipf, &seed));
	zipf_fini(&zipf);
	snprintf(requests->name, sizeof(requests->name), "zipf_%.1f", exponent);
	return 0;
}

/* Which object of the set has which rank; the same one keeps its place when the set moves. */
static uint32_t *shuffled(uint32_t n, uint64_t *state)
{
	uint32_t *order = malloc(n * sizeof(*order));

	for (uint32_t i = 0; order && i < n; i++) {
		uint32_t j = (uint32_t)(bench_random(state) % (i + 1));

		order[i] = order[j];
		order[j] = i;
	}
	return order;
}

int requests_shift(struct requests *requests, const struct requests_shift *shift, size_t count,
                   uint64_t seed)
{
	uint32_t moves = (uint32_t)(count / shift->period);
	uint32_t *order = shuffled(shift->set, &seed);
	struct zipf zipf = {0};
	int error = begin(requests, count, shift->set + moves * shift->step);

	if (!error)
		error = order ? zipf_init(&zipf, shift->set, shift->exponent) : -ENOMEM;
	for (size_t i = 0; i < count && !error; i++)
		ask(requests,
		    (uint32_t)(i / shift->period) * shift->step + order[zipf_next(&zipf, &seed)]);
	zipf_fini(&zipf);
	free(order);
	snprintf(requests->name, sizeof(requests->name), "shift_%s_zipf_%.1f",
	         shift->step < shift->set ? "half" : "all", shift->exponent);
	return error;
}

/* ---- recorded ---- */

int requests_trace(struct requests *requests, const char *file)
{
	const char *base = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
	struct traces traces = {0};
	size_t count;
	int error = traces_read(&traces, file);

	count = traces.count;
	if (!error && !count)
		error = -ENODATA;
	if (!error)
		error = begin(requests, count, 0);
	if (error) {
		traces_fini(&traces);
		return error;
	}
	traces_distinct(&traces, requests->object);
	requests->traces = traces;
	requests->count = count;
	requests->objects = requests->watched = (uint32_t)traces.count;
	for (size_t i = 0; i < count; i++)
		requests->depth += bench_path_depth(traces.paths[requests->object[i]].path);
	requests->depth /= (double)count;
	snprintf(requests->name, sizeof(requests->name), "%.*s", (int)strcspn(base, ".,;\""), base);
	return 0;
}

void requests_fini(struct requests *requests)
{
	free(requests->object);
	free(requests->ends);
	traces_fini(&requests->traces);
	*requests = (struct requests){0};
}
