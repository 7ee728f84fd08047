/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which experiment of the model stands for which published figure. */
#ifndef BENCH_SIM_PREDICT_H
#define BENCH_SIM_PREDICT_H

#include "model.h"

enum sim_standing {
	SIM_PREDICTED,
	SIM_FITTED,  /* the constants were solved from it */
	SIM_OUTSIDE, /* not a matter of who owns a line */
};

struct sim_prediction {
	enum sim_standing standing;
	double value;       /* in the unit of the row; 0 when it is outside */
	const char *reason; /* why it is outside, or how it is to be read; may be NULL */
};

struct sim_prediction sim_predict(const struct sim_model *model, const struct sim_row *row);

#endif
