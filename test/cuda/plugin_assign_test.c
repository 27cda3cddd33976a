/*
 * plugin_assign_test.c
 *		'assign' through the vtable, on the fake device: answers, pieces, groups, limits, cancel,
 *		failures.
 */
#include "plugged.h"

#include "core/assign.h"
#include "cuda/device.h"

static UnitRandom randomness = {13};

/* One assignment with its own data. */
typedef struct Job
{
	HyTask task;
	float *data[3]; /* rows, centroids, centers */
	int32_t *begin;
	int32_t *nearest;
	int32_t *expected;
	int64_t rows;
} Job;

static HyMatrix
random_matrix(int32_t dims, int64_t rows, size_t gap, float **data)
{
	size_t stride = (size_t) dims + gap;
	int64_t i;

	*data = calloc((size_t) rows * stride + 1, sizeof(float));
	/* of few values, so that some distances are equal */
	for (i = 0; i < rows * dims; i++)
		(*data)[(size_t) (i / dims) * stride + (size_t) (i % dims)] =
			(float) unit_random_below(&randomness, 7) - 3;
	return (HyMatrix){.dims = dims, .rows = rows, .stride = stride * sizeof(float), .data = *data};
}

static void
job_make(Job *job, int32_t dims, int64_t rows, int32_t centroids, int32_t groups, int32_t probes,
         size_t gap)
{
	HyAssignTask *a = &job->task.u.assign;
	int32_t g;
	int32_t i;

	memset(job, 0, sizeof(*job));
	job->rows = rows;
	job->task.op = HY_OP_ASSIGN;
	job->task.allocator = &memory.allocator;
	a->rows = random_matrix(dims, rows, gap, &job->data[0]);
	a->centroids = random_matrix(dims, centroids, gap * 2, &job->data[1]);
	a->groups.centers = random_matrix(dims, groups, gap * 3, &job->data[2]);
	job->begin = calloc((size_t) groups + 1, sizeof(int32_t));
	for (i = 0; i < centroids && groups > 0; i++)
		job->begin[1 + unit_random_below(&randomness, (uint64_t) groups)]++;
	for (g = 0; g < groups; g++)
		job->begin[g + 1] += job->begin[g];
	a->groups.begin = job->begin;
	a->groups.probes = probes;
	job->nearest = malloc((size_t) (rows + 1) * sizeof(int32_t));
	job->expected = malloc((size_t) (rows + 1) * sizeof(int32_t));
	memset(job->nearest, 0x5a, (size_t) (rows + 1) * sizeof(int32_t));
	a->nearest = job->nearest;
	CHECK_INT(hy_assign(&a->rows, &a->centroids, groups > 0 ? &a->groups : NULL,
	                    &hy_malloc_allocator, job->expected, NULL),
	          HY_OK);
}

static void
job_free(Job *job)
{
	int i;

	for (i = 0; i < 3; i++)
		free(job->data[i]);
	free(job->begin);
	free(job->nearest);
	free(job->expected);
}

static void
job_check(const void *of)
{
	const Job *job = of;
	int64_t i;

	for (i = 0; i < job->rows; i++)
		CHECK_MSG(job->nearest[i] == job->expected[i], "row %lld goes to %d, expected %d",
		          (long long) i, (int) job->nearest[i], (int) job->expected[i]);
	/* nothing behind the answers was touched */
	CHECK_INT(job->nearest[job->rows], 0x5a5a5a5a);
}

static Trial
trial_of(Job *job)
{
	return (Trial){.task = &job->task,
	               .check = job_check,
	               .job = job,
	               .answer = {{job->nearest, (size_t) job->rows * sizeof(int32_t)}}};
}

static void
caps_and_estimates(void)
{
	HyShape shape = {HY_OP_ASSIGN, HY_F32, HY_METRIC_L2, 768, 1000, 40, 0, false};
	HyEstimate estimate;
	HyEstimate none;
	HyCaps caps = cuda->caps(NULL, &shape);

	CHECK(caps.ok);
	CHECK_INT(caps.max_targets, INT32_MAX);
	CHECK_INT(caps.numeric_class, HY_CLASS_EXACT);
	estimate = cuda->estimate(NULL, &shape);
	CHECK_INT(estimate.bytes_up, 1040 * 768 * 4);
	CHECK_INT(estimate.bytes_down, 1000 * 8);
	shape.queries = 0;
	none = cuda->estimate(NULL, &shape);
	CHECK(none.device_bytes + 40 * 768 * 4 <= estimate.device_bytes);
	shape.dtype = HY_F16;
	CHECK(!cuda->caps(NULL, &shape).ok);
	shape.dtype = HY_F32;
	shape.metric = HY_METRIC_COSINE;
	CHECK(!cuda->caps(NULL, &shape).ok && cuda->caps(NULL, &shape).reason != NULL);
	shape.metric = HY_METRIC_L2;
	shape.dims = HY_MAX_DIMS + 1;
	CHECK(!cuda->caps(NULL, &shape).ok);
}

/* with and without groups; what the estimate says of bytes is what a task then reports */
static void
rows_anywhere(void)
{
	HyDevice *device = open_one(0);
	int groups;
	int gap;

	for (groups = 0; groups < 10; groups += 3)
	{
		for (gap = 0; gap < 3; gap += 2)
		{
			HyTimings timings = {0};
			HyEstimate estimate;
			HyTicket ticket;
			HyShape shape;
			HyStatus status;
			bool done = false;
			Trial trial;
			Job job;

			job_make(&job, 5, 300, 60, groups, groups / 2, (size_t) gap);
			trial = trial_of(&job);
			shape = hy_task_shape(&job.task);
			estimate = cuda->estimate(device, &shape);
			status = cuda->submit(device, &job.task, &ticket);
			CHECK_INT(status, HY_OK);
			/* asynchronous: no answer yet */
			CHECK(trial_untouched(&trial));
			/* what the task takes was foreseen, but for groups that a row does not meet */
			if (groups == 0)
				CHECK(device->used <= estimate.device_bytes);
			while (status == HY_OK && !done)
				status = cuda->poll(device, ticket, &done, &timings);
			CHECK_INT(status, HY_OK);
			job_check(&job);
			if (groups == 0)
				CHECK_INT(timings.bytes_up, estimate.bytes_up);
			CHECK_INT(timings.bytes_down, estimate.bytes_down);
			CHECK(timings.total_ns > 0);
			trial_run(device, &trial);
			job_free(&job);
		}
	}
	close_one(device);
}

/* groups that are as many as a row meets, or none that has a centroid among those it meets */
static void
groups_of_every_kind(void)
{
	HyDevice *device = open_one(0);
	Trial trial;
	Job job;

	job_make(&job, 4, 50, 30, 5, 5, 0);
	trial = trial_of(&job);
	trial_run(device, &trial);
	job_free(&job);
	job_make(&job, 4, 50, 3, 40, 1, 0);
	trial = trial_of(&job);
	trial_run(device, &trial);
	job_free(&job);
	job_make(&job, 4, 50, 1, 0, 0, 0);
	trial = trial_of(&job);
	trial_run(device, &trial);
	job_free(&job);
	close_one(device);
}

static void
empty_tasks_and_nonsense(void)
{
	HyDevice *device = open_one(0);
	HyTicket ticket;
	Job job;

	job_make(&job, 4, 0, 30, 0, 0, 0);
	CHECK_INT(run(device, &job.task, NULL), HY_OK);
	job_free(&job);
	job_make(&job, 4, 20, 30, 3, 1, 0);
	job.task.u.assign.nearest = NULL;
	CHECK_INT(cuda->submit(device, &job.task, &ticket), HY_INVALID);
	job.task.u.assign.nearest = job.nearest;
	job.task.u.assign.groups.probes = 17;
	CHECK_INT(cuda->submit(device, &job.task, &ticket), HY_INVALID);
	job.task.u.assign.groups.probes = 1;
	/* closed with a task in flight */
	CHECK_INT(cuda->submit(device, &job.task, &ticket), HY_OK);
	close_one(device);
	job_free(&job);
}

/* a budget so small that centroids, centers and rows go in many pieces */
static void
many_pieces(void)
{
	int groups;

	for (groups = 0; groups < 90; groups += 80)
	{
		HyDevice *device = open_one(UINT64_C(2) << 20);
		int polls;
		Job job;

		CHECK(hy_fake_used() <= UINT64_C(2) << 20);
		job_make(&job, 1200, 400, 150, groups, 3, 0);
		CHECK_INT(run(device, &job.task, &polls), HY_OK);
		CHECK(polls > 10);
		job_check(&job);
		job_free(&job);
		/* few dims: what a row meets is more than the row */
		job_make(&job, 2, 5000, 100, groups, 16, 0);
		CHECK_INT(run(device, &job.task, NULL), HY_OK);
		job_check(&job);
		job_free(&job);
		close_one(device);
	}
}

/* rows that meet more than the pace allows meet it part by part */
static void
parts_of_centroids(void)
{
	HyDevice *device = open_one(0);
	Trial trial;
	int paces;
	Job job;

	for (paces = 0; paces < 12; paces += 3)
	{
		job_make(&job, 3, 70, 700, 0, 0, 0);
		trial = trial_of(&job);
		device->pace[HY_OP_ASSIGN].work = UINT64_C(1) << (10 + paces);
		trial_run(device, &trial);
		job_free(&job);
	}
	close_one(device);
}

static void
little_memory(void)
{
	HyDevice *device = open_one(UINT64_C(1) << 20);
	uint64_t used = hy_fake_used();
	HyFailure failure;
	Trial trial;
	Job job;

	/* centroids beyond the limit: a quota, and nothing is taken */
	job_make(&job, 1000, 10, 300, 0, 0, 0);
	CHECK_INT(run(device, &job.task, NULL), HY_QUOTA);
	cuda->last_error(device, &failure);
	CHECK(strstr(failure.text, "bytes of device memory") != NULL);
	CHECK_INT(hy_fake_used(), used);
	job_free(&job);
	job_make(&job, 1000, 10, 100, 0, 0, 0);
	trial = trial_of(&job);
	trial_run(device, &trial);
	/* the device has none left, nor has the pool */
	close_one(device);
	device = open_one(UINT64_C(1) << 20);
	hy_fake.memory = used + 1000;
	CHECK_INT(run(device, &job.task, NULL), HY_NOMEM);
	CHECK_INT(hy_fake_used(), used);
	hy_fake.memory = UINT64_C(1) << 30;
	/* nor the host */
	memory.calls = 0;
	memory.fail_at = 1;
	CHECK_INT(run(device, &job.task, NULL), HY_NOMEM);
	memory.fail_at = 0;
	trial_run(device, &trial);
	job_free(&job);
	close_one(device);
}

static void
kernels_keep_to_the_pace(void)
{
	Trial trial;
	Job job;

	job_make(&job, 2000, 250, 60, 0, 0, 0);
	trial = trial_of(&job);
	trial_pace(&trial, 2);
	job_free(&job);
}

static void
a_cancel_stops_between_pieces(void)
{
	HyDevice *device = open_one(UINT64_C(2) << 20);
	Trial trial;
	Job job;
	int groups;

	for (groups = 0; groups < 10; groups += 9)
	{
		job_make(&job, 1200, 600, 90, groups, 4, 0);
		trial = trial_of(&job);
		trial_cancel(device, &trial, 24);
		job_free(&job);
	}
	close_one(device);
}

static void
each_call_may_fail(void)
{
	Trial trial;
	Job job;

	job_make(&job, 2000, 40, 20, 6, 2, 0);
	trial = trial_of(&job);
	trial_failures(&trial, UINT64_C(900) << 10, 100);
	job_free(&job);
	job_make(&job, 2000, 40, 20, 0, 0, 0);
	trial = trial_of(&job);
	trial_failures(&trial, UINT64_C(900) << 10, 60);
	job_free(&job);
}

int
main(void)
{
	if (!plug_in())
		return 1;
	RUN(caps_and_estimates);
	RUN(rows_anywhere);
	RUN(groups_of_every_kind);
	RUN(empty_tasks_and_nonsense);
	RUN(many_pieces);
	RUN(parts_of_centroids);
	RUN(little_memory);
	RUN(kernels_keep_to_the_pace);
	RUN(a_cancel_stops_between_pieces);
	RUN(each_call_may_fail);
	return unit_finish();
}
