/*
 * prefilter_stage.h
 *		Queries and targets that try the bounds of rounded products: for prefilter_test.c and maxsim_test.c.
 */
#ifndef HY_PREFILTER_STAGE_H
#define HY_PREFILTER_STAGE_H

#include "unit.h"

#include "core/batch.h"
#include "core/distance.h"

typedef enum Filling
{
	PLAIN,
	TINY,   /* squares that underflow */
	HUGE_,  /* squares near the end of fp32 */
	OFFSET, /* far from the origin */
	TIES,   /* small integers */
	SORTED, /* each row nearer than the one before */
	ENDS,   /* rows at the ends of the range */
	FILLINGS
} Filling;

static const float ends[] = {0.0f,     1e-45f, 1.2e-38f, 1e-15f, 1.0f,
                             65504.0f, 1e15f,  1.8e19f,  3.4e38f};

/* Stage: queries and targets of one shape. */
typedef struct Stage
{
	int dims;
	float *q;
	float *t;
	uint16_t *half;
	HyMatrix queries;
	HyMatrix targets;
} Stage;

/* element: return an element of a filling. */
static UNIT_UNUSED float
element(UnitRandom *random, Filling filling)
{
	float size = filling == TINY ? 1e-18f : filling == HUGE_ ? 1e18f : 1.0f;
	float from = filling == OFFSET ? 100.0f : 0.0f;

	if (filling == TIES)
		return (float) ((int) unit_random_below(random, 3) - 1);
	return unit_random_float(random) * size + from;
}

static UNIT_UNUSED void
make_stage(Stage *stage, UnitRandom *random, HyDtype dtype, int dims, int queries, int targets,
           Filling filling)
{
	int i;
	int r;

	stage->dims = dims;
	stage->q = malloc((size_t) (queries * dims) * sizeof(float));
	stage->t = malloc((size_t) (targets * dims) * sizeof(float));
	stage->half = malloc((size_t) (targets * dims) * sizeof(uint16_t));
	for (i = 0; i < queries * dims; i++)
		stage->q[i] = element(random, filling);
	for (i = 0; i < targets * dims; i++)
		stage->t[i] = element(random, filling);
	for (r = 0; filling == SORTED && r < targets; r++)
	{
		for (i = 0; i < dims; i++)
			stage->t[r * dims + i] = stage->q[i] * (float) r / (float) targets;
	}
	for (r = 0; filling == ENDS && r < queries + targets; r++)
	{
		float *row = r < queries ? stage->q + r * dims : stage->t + (r - queries) * dims;
		float by = ends[unit_random_below(random, sizeof(ends) / sizeof(ends[0]))];

		for (i = 0; i < dims; i++)
			row[i] *= by;
	}
	/* zero rows, copies of a row, rows of quite another length, a query that is a row */
	for (r = 0; r < targets; r += 7)
	{
		float by = powf(10.0f, (float) ((int) unit_random_below(random, 38) - 19));

		switch (unit_random_below(random, 4))
		{
			case 0:
				memset(stage->t + r * dims, 0, (size_t) dims * sizeof(float));
				break;
			case 1:
				memmove(stage->t + r * dims, stage->t, (size_t) dims * sizeof(float));
				break;
			case 2:
				for (i = 0; i < dims; i++)
					stage->t[r * dims + i] *= by;
				break;
			default:
				break;
		}
	}
	if (unit_random_below(random, 4) == 0)
		memset(stage->q, 0, (size_t) dims * sizeof(float));
	if (unit_random_below(random, 4) == 0)
		memcpy(stage->q + (queries - 1) * dims, stage->t, (size_t) dims * sizeof(float));
	for (i = 0; i < targets * dims; i++)
		stage->half[i] = hy_float_to_half(fabsf(stage->t[i]) > 60000.0f ? 1.0f : stage->t[i]);
	stage->queries = (HyMatrix){.dtype = HY_F32,
	                            .dims = dims,
	                            .rows = queries,
	                            .stride = (size_t) dims * sizeof(float),
	                            .data = stage->q};
	stage->targets =
		(HyMatrix){.dtype = dtype,
	               .dims = dims,
	               .rows = targets,
	               .stride = (size_t) dims * hy_dtype_size(dtype),
	               .data = dtype == HY_F32 ? (const void *) stage->t : (const void *) stage->half};
}

static UNIT_UNUSED void
free_stage(Stage *stage)
{
	free(stage->q);
	free(stage->t);
	free(stage->half);
}

#endif
