/*
 * nearest.h
 *		Tasks of 'topk' with random rows for the tests of the plug-in, and the CPU's answers.
 */
#ifndef HY_TEST_NEAREST_H
#define HY_TEST_NEAREST_H

#include "answers.h"
#include "plugged.h"

#include "core/distance.h"
#include "core/topk.h"

/* How rows are made. */
typedef enum RowKind
{
	ROWS_PLAIN,
	ROWS_FEW,   /* few different values: some distances are equal */
	ROWS_EQUAL, /* all the same: all rows are equally near */
	ROWS_ZEROS  /* some rows are zero vectors, which have no angle */
} RowKind;

/* NearestJob: a task with its own data. */
typedef struct NearestJob
{
	HyTask task;
	char *targets;
	size_t target_bytes;
	float *queries;
	HyNeighbor *out;
	HyNeighbor *expected;
	int32_t *counts;
	int32_t *expected_counts;
	float *norms; /* of nearest_norms */
	int64_t entries;
	HyBuffer *buffer; /* holds the rows if they are resident */
} NearestJob;

static float
nearest_draw(UnitRandom *random, RowKind kind, int64_t row, int32_t dim)
{
	if (kind == ROWS_FEW)
		return (float) unit_random_below(random, 5) - 2;
	if (kind == ROWS_EQUAL)
		return (float) dim / 8 - 1;
	if (kind == ROWS_ZEROS && row % 3 == 0)
		return 0;
	return unit_random_float(random);
}

/* nearest_job: make a task with `gap` unused elements between two rows. */
static UNIT_UNUSED void
nearest_job(NearestJob *job, UnitRandom *random, HyMetric metric, HyDtype dtype, int32_t dims,
            int64_t queries, int64_t rows, int32_t k, size_t gap, RowKind kind)
{
	size_t element = hy_dtype_size(dtype);
	size_t stride = ((size_t) dims + gap) * element;
	HyTopKTask *t = &job->task.u.topk;
	int64_t i;
	int32_t d;

	memset(job, 0, sizeof(*job));
	job->entries = queries * k;
	job->target_bytes = (size_t) rows * stride + 1;
	job->targets = calloc(job->target_bytes, 1);
	job->queries = malloc((size_t) (queries * dims + 1) * sizeof(float));
	job->out = malloc((size_t) (job->entries + 1) * sizeof(HyNeighbor));
	job->expected = malloc((size_t) (job->entries + 1) * sizeof(HyNeighbor));
	job->counts = malloc((size_t) (queries + 1) * sizeof(int32_t));
	job->expected_counts = malloc((size_t) (queries + 1) * sizeof(int32_t));
	for (i = 0; i < rows; i++)
	{
		for (d = 0; d < dims; d++)
		{
			float value = nearest_draw(random, kind, i, d);
			uint16_t half = hy_float_to_half(value);

			memcpy(job->targets + (size_t) i * stride + (size_t) d * element,
			       dtype == HY_F32 ? (void *) &value : (void *) &half, element);
		}
	}
	for (i = 0; i < queries * dims; i++)
		job->queries[i] = nearest_draw(random, kind == ROWS_FEW ? ROWS_FEW : ROWS_PLAIN, i, 0);
	memset(job->out, 0x5a, (size_t) (job->entries + 1) * sizeof(HyNeighbor));
	memset(job->counts, 0x5a, (size_t) (queries + 1) * sizeof(int32_t));

	job->task.op = HY_OP_TOPK;
	job->task.allocator = &memory.allocator;
	t->metric = metric;
	t->queries = (HyMatrix){.dims = dims,
	                        .rows = queries,
	                        .stride = (size_t) dims * sizeof(float),
	                        .data = job->queries};
	t->targets = (HyMatrix){
		.dtype = dtype, .dims = dims, .rows = rows, .stride = stride, .data = job->targets};
	t->k = k;
	t->out = job->out;
	t->counts = job->counts;
	CHECK_INT(hy_topk_search(metric, &t->queries, &t->targets, k, job->expected,
	                         job->expected_counts, NULL),
	          HY_OK);
}

/*
 * nearest_resident: upload the job's rows to a buffer of the device, after `offset` bytes of other
 * data.
 */
static UNIT_UNUSED void
nearest_resident(HyDevice *device, NearestJob *job, size_t offset)
{
	HyMatrix *targets = &job->task.u.topk.targets;
	size_t bytes = job->target_bytes;

	CHECK_INT(cuda->buf_alloc(device, offset + bytes, &job->buffer), HY_OK);
	CHECK_INT(cuda->upload(device, job->buffer, offset, job->targets, bytes), HY_OK);
	targets->data = NULL;
	targets->buffer = job->buffer;
	targets->offset = offset;
}

/*
 * nearest_limits: give the job distance limits.  Rows beyond the limit of a query are no answers.
 */
static UNIT_UNUSED void
nearest_limits(NearestJob *job, const double *limits)
{
	HyTopKTask *t = &job->task.u.topk;
	int64_t q;

	t->limits = limits;
	for (q = 0; q < t->queries.rows; q++)
	{
		int32_t *count = &job->expected_counts[q];

		while (*count > 0 && job->expected[q * t->k + *count - 1].distance > limits[q])
			(*count)--;
	}
}

/*
 * nearest_norms: give the job norms that are larger than the actual ones, so that the answers show
 * whether they were used.
 */
static UNIT_UNUSED void
nearest_norms(NearestJob *job)
{
	HyTopKTask *t = &job->task.u.topk;
	int64_t i;

	job->norms = malloc((size_t) t->targets.rows * sizeof(float));
	for (i = 0; i < t->targets.rows; i++)
		job->norms[i] =
			hy_norm_sq(t->targets.dtype, hy_matrix_row(&t->targets, i), t->targets.dims) *
			(float) (2 + i % 3);
	t->targets.norms = job->norms;
	CHECK_INT(hy_topk_search(t->metric, &t->queries, &t->targets, t->k, job->expected,
	                         job->expected_counts, NULL),
	          HY_OK);
}

static UNIT_UNUSED void
nearest_check(const void *of)
{
	const NearestJob *job = of;
	const HyTopKTask *t = &job->task.u.topk;
	Answers answers = {t->queries.rows, t->k,        job->out,
	                   job->expected,   job->counts, job->expected_counts};

	check_answers(&answers, hy_metric_name(t->metric));
}

static UNIT_UNUSED Trial
nearest_trial(NearestJob *job)
{
	return (Trial){
		.task = &job->task,
		.check = nearest_check,
		.job = job,
		.answer = {{job->out, (size_t) job->entries * sizeof(HyNeighbor)},
	               {job->counts, (size_t) job->task.u.topk.queries.rows * sizeof(int32_t)}}};
}

/*
 * nearest_free: free a job. `device` is the device with its resident rows, or NULL if no open
 * device has them.
 */
static UNIT_UNUSED void
nearest_free(NearestJob *job, HyDevice *device)
{
	if (device != NULL)
		cuda->buf_free(device, job->buffer);
	free(job->targets);
	free(job->queries);
	free(job->out);
	free(job->expected);
	free(job->counts);
	free(job->expected_counts);
	free(job->norms);
}

#endif
