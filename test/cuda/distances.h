/*
 * distances.h
 *		Tasks of 'distance' with random rows for the tests of the plug-in, and the CPU's answers.
 */
#ifndef HY_TEST_DISTANCES_H
#define HY_TEST_DISTANCES_H

#include "plugged.h"

#include "core/distance.h"

/* DistanceJob: a task with its own data. */
typedef struct DistanceJob
{
	HyTask task;
	char *targets;
	size_t target_bytes;
	float *queries;
	double *out;
	double *expected;
	int64_t count;
} DistanceJob;

/* distance_job: make a task with `gap` unused bytes between two rows. */
static UNIT_UNUSED void
distance_job(DistanceJob *job, UnitRandom *random, HyMetric metric, HyDtype dtype, int32_t dims,
             int64_t queries, int64_t rows, size_t gap)
{
	size_t element = hy_dtype_size(dtype);
	size_t stride = (size_t) dims * element + gap;
	HyDistanceTask *d = &job->task.u.distance;
	int64_t i;

	memset(job, 0, sizeof(*job));
	job->count = queries * rows;
	job->target_bytes = (size_t) rows * stride + 1;
	job->targets = malloc(job->target_bytes);
	job->queries = malloc((size_t) (queries * dims + 1) * sizeof(float));
	job->out = malloc((size_t) (job->count + 1) * sizeof(double));
	job->expected = malloc((size_t) (job->count + 1) * sizeof(double));
	for (i = 0; i < rows * dims; i++)
	{
		float value = unit_random_float(random);
		uint16_t half = hy_float_to_half(value);

		memcpy(job->targets + (size_t) (i / dims) * stride + (size_t) (i % dims) * element,
		       dtype == HY_F32 ? (void *) &value : (void *) &half, element);
	}
	for (i = 0; i < queries * dims; i++)
		job->queries[i] = unit_random_float(random);
	for (i = 0; i < job->count + 1; i++)
		job->out[i] = -77.0;

	job->task.op = HY_OP_DISTANCE;
	job->task.allocator = &memory.allocator;
	d->metric = metric;
	d->queries.dtype = HY_F32;
	d->queries.dims = dims;
	d->queries.rows = queries;
	d->queries.stride = (size_t) dims * sizeof(float);
	d->queries.data = job->queries;
	d->targets = d->queries;
	d->targets.dtype = dtype;
	d->targets.rows = rows;
	d->targets.stride = stride;
	d->targets.data = job->targets;
	d->out = job->out;
	/* the CPU needs aligned rows: if they are not aligned, compute from a packed copy */
	if (gap % element == 0)
		CHECK_INT(hy_distance_matrix(metric, &d->queries, &d->targets, job->expected, NULL), HY_OK);
	else
	{
		HyMatrix packed = d->targets;
		char *copy = malloc((size_t) (rows * dims) * element);

		for (i = 0; i < rows; i++)
			memcpy(copy + (size_t) (i * dims) * element, job->targets + (size_t) i * stride,
			       (size_t) dims * element);
		packed.data = copy;
		packed.stride = (size_t) dims * element;
		CHECK_INT(hy_distance_matrix(metric, &d->queries, &packed, job->expected, NULL), HY_OK);
		free(copy);
	}
}

static UNIT_UNUSED void
distance_free(DistanceJob *job)
{
	free(job->targets);
	free(job->queries);
	free(job->out);
	free(job->expected);
}

static UNIT_UNUSED void
distance_check(const void *of)
{
	const DistanceJob *job = of;
	int64_t i;

	for (i = 0; i < job->count; i++)
		CHECK_MSG(unit_same_f64(job->out[i], job->expected[i]), "[%lld] is %a, expected %a",
		          (long long) i, job->out[i], job->expected[i]);
	CHECK_SAME_F64(job->out[job->count], -77.0);
}

static UNIT_UNUSED Trial
distance_trial(DistanceJob *job)
{
	return (Trial){.task = &job->task,
	               .check = distance_check,
	               .job = job,
	               .answer = {{job->out, (size_t) job->count * sizeof(double)}}};
}

#endif
