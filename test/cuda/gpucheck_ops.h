/*
 * gpucheck_ops.h
 *		The part of gpucheck that assigns rows and scores codes.  The answers must have the CPU's
 *		bits.
 */
#ifndef HY_TEST_GPUCHECK_OPS_H
#define HY_TEST_GPUCHECK_OPS_H

#include "gpucheck.h"

#include "core/assign.h"
#include "scores.h"

static int64_t assigned;
static int64_t scored;

/* Assigned: an assignment with its own data. */
typedef struct Assigned
{
	HyTask task;
	float *data[3]; /* rows, centroids, centers */
	int32_t *begin;
	int32_t *nearest;
} Assigned;

/*
 * assigned_matrix: make a random matrix.  If `few` is true, it has so few different values that
 * many distances are equal.
 */
static HyMatrix
assigned_matrix(int32_t dims, int64_t rows, bool few, float **data)
{
	int64_t i;

	*data = malloc((size_t) (rows * dims + 1) * sizeof(float));
	for (i = 0; i < rows * dims; i++)
		(*data)[i] =
			few ? (float) unit_random_below(&randomness, 4) - 1 : unit_random_float(&randomness);
	return (HyMatrix){
		.dims = dims, .rows = rows, .stride = (size_t) dims * sizeof(float), .data = *data};
}

static void
assigned_make(Assigned *job, int32_t dims, int64_t rows, int32_t centroids, int32_t groups,
              int32_t probes, bool few)
{
	HyAssignTask *a = &job->task.u.assign;
	int32_t g;
	int32_t i;

	memset(job, 0, sizeof(*job));
	job->task.op = HY_OP_ASSIGN;
	job->task.allocator = &hy_malloc_allocator;
	a->rows = assigned_matrix(dims, rows, few, &job->data[0]);
	a->centroids = assigned_matrix(dims, centroids, few, &job->data[1]);
	a->groups.centers = assigned_matrix(dims, groups, few, &job->data[2]);
	job->begin = calloc((size_t) groups + 1, sizeof(int32_t));
	for (i = 0; i < centroids && groups > 0; i++)
		job->begin[1 + unit_random_below(&randomness, (uint64_t) groups)]++;
	for (g = 0; g < groups; g++)
		job->begin[g + 1] += job->begin[g];
	a->groups.begin = job->begin;
	a->groups.probes = probes;
	job->nearest = malloc((size_t) rows * sizeof(int32_t));
	memset(job->nearest, 0x5a, (size_t) rows * sizeof(int32_t));
	a->nearest = job->nearest;
}

static void
assigned_free(Assigned *job)
{
	int i;

	for (i = 0; i < 3; i++)
		free(job->data[i]);
	free(job->begin);
	free(job->nearest);
}

/* submit_and_finish: run a task to its end.  Prints an error if it fails. */
static HyStatus
submit_and_finish(const HyTask *task, const char *what)
{
	HyTimings timings = {0};
	HyTicket ticket;
	HyStatus status = cuda->submit(device, task, &ticket);

	if (status == HY_OK)
		status = finish(ticket, &timings);
	if (status != HY_OK)
		say_failure(device, what, status);
	return status;
}

/* assign_check: check the answers of a job. `where` names the place of its rows in messages. */
static void
assign_check(const Assigned *job, const int32_t *expected, const char *where)
{
	const HyAssignTask *a = &job->task.u.assign;
	int64_t i;

	for (i = 0; i < a->rows.rows; i++)
		CHECK_MSG(job->nearest[i] == expected[i],
		          "dims %d, %lld rows%s to %d centroids, %d groups, %d probes: row %lld goes to "
		          "%d, expected %d",
		          (int) a->rows.dims, (long long) a->rows.rows, where, (int) a->centroids.rows,
		          (int) a->groups.centers.rows, (int) a->groups.probes, (long long) i,
		          (int) job->nearest[i], (int) expected[i]);
	assigned += a->rows.rows;
}

/*
 * assign_resident: run a job with its rows in a buffer of the device, with a gap before each row.
 */
static void
assign_resident(Assigned *job, const int32_t *expected)
{
	HyMatrix *rows = &job->task.u.assign.rows;
	const size_t before = 3 * sizeof(float);
	const size_t stride = rows->stride + before;
	const size_t bytes = stride * (size_t) rows->rows;
	char *apart = calloc(1, bytes);
	HyBuffer *buffer = NULL;
	HyStatus status;
	int64_t i;

	for (i = 0; i < rows->rows; i++)
		memcpy(apart + (size_t) i * stride + before, hy_matrix_row(rows, i), rows->stride);
	status = cuda->buf_alloc(device, bytes, &buffer);
	if (status == HY_OK)
		status = cuda->upload(device, buffer, 0, apart, bytes);
	if (status != HY_OK)
		say_failure(device, "rows to assign", status);
	rows->data = NULL;
	rows->buffer = buffer;
	rows->offset = before;
	rows->stride = stride;
	memset(job->nearest, 0x5a, (size_t) rows->rows * sizeof(int32_t));
	if (status == HY_OK && submit_and_finish(&job->task, "assign resident rows") == HY_OK)
		assign_check(job, expected, " that lie there");
	cuda->buf_free(device, buffer);
	free(apart);
}

static void
assign_shape(int32_t dims, int64_t rows, int32_t centroids, int32_t groups, int32_t probes,
             bool few)
{
	int32_t *expected = malloc((size_t) rows * sizeof(int32_t));
	Assigned job;

	assigned_make(&job, dims, rows, centroids, groups, probes, few);
	CHECK_INT(hy_assign(&job.task.u.assign.rows, &job.task.u.assign.centroids,
	                    groups > 0 ? &job.task.u.assign.groups : NULL, &hy_malloc_allocator,
	                    expected, NULL),
	          HY_OK);
	if (submit_and_finish(&job.task, "assign") == HY_OK)
		assign_check(&job, expected, "");
	assign_resident(&job, expected);
	assigned_free(&job);
	free(expected);
}

static void
small_assignments(void)
{
	assign_shape(33, 40, 20, 0, 0, false);
	assign_shape(3, 60, 90, 0, 0, true);
	assign_shape(200, 50, 60, 7, 3, false);
	assign_shape(1100, 9, 30, 4, 2, true);
}

/*
 * dims around lanes and segments; rows that do not fill a tile; many groups, empty groups, one
 * large group
 */
static void
assignments(void)
{
	static const int32_t dims[] = {1,   2,   31,   32,   33,   63,   64,   65,
	                               127, 768, 1023, 1024, 1025, 2049, 8193, 16000};
	size_t i;

	for (i = 0; i < sizeof(dims) / sizeof(dims[0]); i++)
	{
		assign_shape(dims[i], 100, 150, 0, 0, i % 2 == 0);
		assign_shape(dims[i], 100, 150, 11, 4, i % 2 == 1);
	}
	for (i = 0; i < 60; i++)
	{
		int32_t groups = 2 + (int32_t) unit_random_below(&randomness, 60);
		int32_t probes = 1 + (int32_t) unit_random_below(&randomness, HY_ASSIGN_PROBES);

		assign_shape(1 + (int32_t) unit_random_below(&randomness, 300),
		             1 + (int64_t) unit_random_below(&randomness, 5000),
		             1 + (int32_t) unit_random_below(&randomness, 2000), i % 2 == 0 ? 0 : groups,
		             probes < groups ? probes : groups - 1, i % 3 == 0);
	}
	assign_shape(768, 20000, 4096, 0, 0, false);
	assign_shape(96, 100000, 9000, 95, 8, false);
	assign_shape(4, 200000, 70000, 300, 16, true);
}

static void
score_shape(int32_t padded, int32_t blocks, int32_t lists, int32_t queries, int32_t k,
            ScoreKind kind)
{
	ScoreJob job;

	score_job(&job, &randomness, padded, blocks, lists, queries, k, kind,
	          unit_random_below(&randomness, 2) * 8);
	if (submit_and_finish(&job.task, "score_codes") == HY_OK)
		score_job_check(&job);
	scored += job.entries;
	score_job_free(&job);
}

static void
small_scores(void)
{
	score_shape(64, 20, 3, 5, 10, SCORE_PLAIN);
	score_shape(192, 9, 4, 2, 300, SCORE_FEW);
	score_shape(2112, 3, 2, 3, 7, SCORE_ODD);
}

/* tables in one part and in several, k up to the most, pieces and groups of queries */
static void
scores(void)
{
	static const int32_t padded[] = {64, 128, 768, 2048, 2112, 4160, 16000};
	static const int32_t ks[] = {1, 2, 10, 100, 1000, HY_SCORE_MOST};
	size_t i;
	size_t j;

	for (i = 0; i < sizeof(padded) / sizeof(padded[0]); i++)
	{
		for (j = 0; j < sizeof(ks) / sizeof(ks[0]); j++)
			score_shape(padded[i], padded[i] > 1000 ? 60 : 2000, 1 + (int32_t) j * 7,
			            1 + (int32_t) (i * 5 + j) % 23, ks[j], (ScoreKind) ((i + j) % SCORE_KINDS));
	}
	for (i = 0; i < 40; i++)
		score_shape(64 * (1 + (int32_t) unit_random_below(&randomness, 12)),
		            1 + (int32_t) unit_random_below(&randomness, 400),
		            1 + (int32_t) unit_random_below(&randomness, 40),
		            1 + (int32_t) unit_random_below(&randomness, 40),
		            1 + (int32_t) unit_random_below(&randomness, HY_SCORE_MOST),
		            (ScoreKind) unit_random_below(&randomness, SCORE_KINDS));
	score_shape(768, 30000, 1000, 9, 100, SCORE_PLAIN);
	score_shape(128, 2000, 50, 1300, 20, SCORE_FEW);
}

/*
 * cancel_scores: cancel a task of this many queries.  The CPU's answers are known for only two of
 * them.
 */
static void
cancel_scores(int32_t count)
{
	ScoreJob job;
	HyScoreTask *s = &job.task.u.score;
	HyCodeQuery *query = malloc((size_t) count * sizeof(HyCodeQuery));
	HyScoreReach *reach;
	int32_t q;

	score_job(&job, &randomness, 768, 20000, 100, 2, 10, SCORE_PLAIN, 0);
	reach = calloc((size_t) count * (size_t) s->queries.reach_stride, sizeof(HyScoreReach));
	for (q = 0; q < count; q++)
		query[q] = job.query[q % 2];
	s->queries.query = query;
	s->queries.reach = reach;
	s->queries.count = count;
	s->out = malloc((size_t) count * (size_t) s->k * sizeof(HyNeighbor));
	s->counts = malloc((size_t) count * sizeof(int32_t));
	expect_cancel(&job.task, 20);
	free(s->out);
	free(s->counts);
	free(query);
	free(reach);
	score_job_free(&job);
}

/*
 * cancel_topk: cancel a task of many queries.  The metric and the sizes determine whether it is
 * filtered.
 */
static void
cancel_topk(HyMetric metric, int32_t dims, int64_t queries, int64_t rows)
{
	HyTask task = {.op = HY_OP_TOPK, .allocator = &hy_malloc_allocator};
	HyTopKTask *t = &task.u.topk;
	size_t vector = (size_t) dims * sizeof(float);
	int64_t some = queries < 1000 ? queries : 1000;
	float *few;
	float *x;
	char *q = malloc((size_t) queries * vector);
	int64_t i;

	t->metric = metric;
	t->k = 10;
	t->targets = assigned_matrix(dims, rows, false, &x);
	t->queries = assigned_matrix(dims, some, false, &few);
	for (i = 0; i < queries; i += some)
		memcpy(q + (size_t) i * vector, few,
		       (size_t) (queries - i < some ? queries - i : some) * vector);
	t->queries.rows = queries;
	t->queries.data = q;
	t->out = malloc((size_t) queries * (size_t) t->k * sizeof(HyNeighbor));
	t->counts = malloc((size_t) queries * sizeof(int32_t));
	expect_cancel(&task, 20);
	free(few);
	free(x);
	free(q);
	free(t->out);
	free(t->counts);
}

static void
a_small_topk_is_cancelled(void)
{
	cancel_topk(HY_METRIC_L1, 200, 500, 4000);
}

static void
long_operations_are_cancelled(void)
{
	Assigned job;

	cancel_topk(HY_METRIC_L1, 1024, 4096, 30000);
	cancel_topk(HY_METRIC_L2, 768, 200000, 60000);

	assigned_make(&job, 1024, 200000, 8000, 0, 0, true);
	expect_cancel(&job.task, 20);
	assigned_free(&job);
	cancel_scores(20000);
	/* the next tasks must be right */
	small_assignments();
	small_scores();
}

#endif
