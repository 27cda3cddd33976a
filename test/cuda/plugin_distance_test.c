/*
 * plugin_distance_test.c
 *		'distance' through the vtable, on the fake device: answers, pieces, buffers, limits, cancel
 *		and failures.
 */
#include "distances.h"

static UnitRandom randomness = {11};

static void
job_make(DistanceJob *job, HyMetric metric, HyDtype dtype, int32_t dims, int64_t queries,
         int64_t rows, size_t gap)
{
	distance_job(job, &randomness, metric, dtype, dims, queries, rows, gap);
}

static void
caps_and_estimates(void)
{
	HyShape shape = {HY_OP_DISTANCE, HY_F32, HY_METRIC_COSINE, 768, 10, 1000, 0, false, 0};
	HyEstimate estimate;
	HyCaps caps = cuda->caps(NULL, &shape);
	HyDevice *device;

	CHECK(caps.ok && caps.max_targets > 1000000000);
	CHECK_INT(caps.numeric_class, HY_CLASS_EXACT);
	estimate = cuda->estimate(NULL, &shape);
	CHECK_INT(estimate.bytes_up, 1010 * 768 * 4);
	CHECK_INT(estimate.bytes_down, 10 * 1000 * 8);
	shape.resident = true;
	estimate = cuda->estimate(NULL, &shape);
	CHECK_INT(estimate.bytes_up, 10 * 768 * 4);
	device = open_one(0);
	estimate = cuda->estimate(device, &shape);
	CHECK_INT(estimate.device_bytes, hy_fake_used());
	CHECK_INT(estimate.pinned_bytes, hy_fake_pinned());
	close_one(device);

	shape.op = (HyOp) HY_OP_COUNT;
	caps = cuda->caps(NULL, &shape);
	CHECK(!caps.ok && caps.reason != NULL);
	CHECK_INT(cuda->estimate(NULL, &shape).device_bytes, 0);
	shape.op = HY_OP_DISTANCE;
	shape.dims = HY_MAX_DIMS + 1;
	CHECK(!cuda->caps(NULL, &shape).ok);
	shape.dims = HY_MAX_DIMS;
	CHECK(cuda->caps(NULL, &shape).ok);
}

/* the bytes of the estimate are those that the task then reports */
static void
distances_from_host_memory(void)
{
	HyDevice *device = open_one(0);
	DistanceJob job;
	int metric;
	int dtype;

	for (metric = 0; metric < HY_METRIC_COUNT; metric++)
	{
		for (dtype = 0; dtype < HY_DTYPE_COUNT; dtype++)
		{
			Trial trial;

			job_make(&job, (HyMetric) metric, (HyDtype) dtype, 70, 3, 40, metric == 1 ? 8 : 0);
			trial = distance_trial(&job);
			(void) trial_counted(device, &trial);
			distance_free(&job);
		}
	}
	/* rows at odd addresses, as in the pages of an index */
	job_make(&job, HY_METRIC_L2, HY_F32, 9, 2, 30, 3);
	CHECK_INT(run(device, &job.task, NULL), HY_OK);
	distance_check(&job);
	distance_free(&job);
	close_one(device);
}

static void
empty_tasks(void)
{
	HyDevice *device = open_one(0);
	DistanceJob job;

	job_make(&job, HY_METRIC_L2, HY_F32, 5, 0, 10, 0);
	CHECK_INT(run(device, &job.task, NULL), HY_OK);
	distance_free(&job);
	job_make(&job, HY_METRIC_L2, HY_F32, 5, 10, 0, 0);
	CHECK_INT(run(device, &job.task, NULL), HY_OK);
	distance_free(&job);
	close_one(device);
}

/* a budget so small that there are several groups of queries and many pieces of rows */
static void
many_pieces(void)
{
	HyDevice *device = open_one(UINT64_C(600) << 10);
	DistanceJob job;
	int polls;
	int resident;

	CHECK(hy_fake_used() <= UINT64_C(600) << 10);
	for (resident = 0; resident < 2; resident++)
	{
		HyBuffer *buffer = NULL;

		job_make(&job, resident ? HY_METRIC_L1 : HY_METRIC_COSINE, HY_F32, 1200, 30, 60, 0);
		if (resident)
		{
			close_one(device);
			device = open_one(UINT64_C(1) << 20);
			CHECK_INT(cuda->buf_alloc(device, job.target_bytes, &buffer), HY_OK);
			CHECK_INT(cuda->upload(device, buffer, 0, job.targets, job.target_bytes), HY_OK);
			job.task.u.distance.targets.data = NULL;
			job.task.u.distance.targets.buffer = buffer;
		}
		CHECK_INT(run(device, &job.task, &polls), HY_OK);
		CHECK(polls > 10);
		distance_check(&job);
		distance_free(&job);
		cuda->buf_free(device, buffer);
	}
	close_one(device);
}

/*
 * the answer uses the norms of the task, as on the CPU; here they are larger than the actual norms
 */
static void
given_norms_are_used(void)
{
	HyDevice *device = open_one(0);
	float norms[300];
	DistanceJob job;
	HyDistanceTask *task = &job.task.u.distance;
	int i;

	job_make(&job, HY_METRIC_COSINE, HY_F32, 200, 83, 300, 0);
	for (i = 0; i < 300; i++)
		norms[i] = (float) (200 + i);
	task->targets.norms = norms;
	CHECK_INT(hy_distance_matrix(task->metric, &task->queries, &task->targets, job.expected, NULL),
	          HY_OK);
	CHECK_INT(run(device, &job.task, NULL), HY_OK);
	distance_check(&job);
	distance_free(&job);
	close_one(device);
}

static void
kernels_keep_to_the_pace(void)
{
	Trial trial;
	DistanceJob job;

	job_make(&job, HY_METRIC_IP, HY_F32, 16000, 4, 100, 0);
	trial = distance_trial(&job);
	/* a device that reads half a GB/s */
	trial_pace(&trial, 2);
	distance_free(&job);
}

/*
 * several kinds, in pieces, in scratch filled with other bytes than zero; rows in host memory take
 * one more copy
 */
static void
one_query(void)
{
	static const int32_t dims[] = {3, 1024, 1025};
	int i;

	for (i = 0; i < 3 * HY_METRIC_COUNT; i++)
	{
		HyDevice *device = open_one(i % 2 ? 0 : UINT64_C(600) << 10);
		HyMetric metric = (HyMetric) (i / 3);
		DistanceJob job;
		int launched;
		int calls;

		job_make(&job, metric, HY_F32, dims[i % 3], 1, 50, 0);
		hy_fake_scribble(i);
		if (i % 2 == 0)
			CHECK_INT(run(device, &job.task, NULL), HY_OK);
		else
		{
			bool norm = metric == HY_METRIC_COSINE && dims[i % 3] > 1024;

			calls = calls_of(device, &job.task, &launched);
			CHECK_MSG(calls == 11 + norm && launched == 1 + norm, "%d calls, %d kernels", calls,
			          launched);
		}
		distance_check(&job);
		distance_free(&job);
		hy_fake_scribble(0);
		close_one(device);
	}
}

static void
resident_rows(void)
{
	/* some of these rows are aligned to 16 bytes, others are not */
	static const struct
	{
		int32_t dims;
		int64_t queries;
		size_t gap; /* in elements, like the offset */
		size_t offset;
	} cases[] = {{33, 5, 2, 12}, {33, 1, 2, 12}, {40, 1, 8, 16}, {40, 1, 8, 13}, {40, 1, 1, 16}};
	const int count = (int) (sizeof(cases) / sizeof(cases[0]));
	HyDevice *device = open_one(0);
	HyBuffer *buffer = NULL;
	HyMatrix *targets;
	DistanceJob job;
	char *back;
	int i;

	for (i = 0; i < count * HY_DTYPE_COUNT; i++)
	{
		HyDtype dtype = (HyDtype) (i / count);
		size_t element = hy_dtype_size(dtype);
		size_t offset = cases[i % count].offset * element;

		job_make(&job, HY_METRIC_COSINE, dtype, cases[i % count].dims, cases[i % count].queries, 50,
		         cases[i % count].gap * element);
		CHECK_INT(cuda->buf_alloc(device, offset + job.target_bytes, &buffer), HY_OK);
		back = malloc(offset + job.target_bytes);
		CHECK_INT(cuda->download(device, buffer, 0, back, offset + job.target_bytes), HY_OK);
		/* a new buffer contains zeros */
		CHECK(back[0] == 0 && memcmp(back, back + 1, offset + job.target_bytes - 1) == 0);
		CHECK_INT(cuda->upload(device, buffer, offset, job.targets, job.target_bytes), HY_OK);
		CHECK_INT(cuda->download(device, buffer, offset, back, job.target_bytes), HY_OK);
		CHECK(memcmp(back, job.targets, job.target_bytes) == 0);
		free(back);

		targets = &job.task.u.distance.targets;
		targets->data = NULL;
		targets->buffer = buffer;
		targets->offset = offset;
		CHECK_INT(run(device, &job.task, NULL), HY_OK);
		distance_check(&job);

		/* rows beyond the buffer, rows between elements */
		targets->rows++;
		CHECK_INT(run(device, &job.task, NULL), HY_INVALID);
		targets->rows--;
		targets->offset = offset + 1;
		CHECK_INT(run(device, &job.task, NULL), HY_INVALID);
		targets->offset = UINT64_MAX - element + 1;
		CHECK_INT(run(device, &job.task, NULL), HY_INVALID);
		cuda->buf_free(device, buffer);
		distance_free(&job);
	}
	CHECK_INT(cuda->buf_alloc(device, 100, &buffer), HY_OK);
	CHECK_INT(cuda->upload(device, buffer, 90, "0123456789a", 11), HY_INVALID);
	CHECK_INT(cuda->upload(device, buffer, UINT64_MAX, "x", 2), HY_INVALID);
	CHECK_INT(cuda->upload(device, buffer, 100, "", 0), HY_OK);
	/* close frees the buffers that the caller has not freed */
	close_one(device);
}

static void
memory_has_a_budget(void)
{
	HyDevice *device = open_one(UINT64_C(64) << 20);
	HyBuffer *a;
	HyBuffer *b;
	HyFailure failure;
	uint64_t free_bytes;
	uint64_t total;
	uint64_t left;

	CHECK_INT(cuda->mem_info(device, &free_bytes, &total), HY_OK);
	CHECK_INT(total, hy_fake.memory);
	CHECK_INT(free_bytes, (UINT64_C(64) << 20) - hy_fake_used());
	left = free_bytes;
	CHECK_INT(cuda->buf_alloc(device, left + 1, &a), HY_QUOTA);
	CHECK(a == NULL);
	cuda->last_error(device, &failure);
	CHECK_INT(failure.native_code, 0);
	CHECK(strstr(failure.text, "bytes of device memory") != NULL);
	CHECK_INT(cuda->buf_alloc(device, left, &a), HY_OK);
	CHECK_INT(cuda->buf_alloc(device, 1, &b), HY_QUOTA);
	cuda->buf_free(device, a);
	CHECK_INT(cuda->mem_info(device, &free_bytes, &total), HY_OK);
	CHECK_INT(free_bytes, left);
	CHECK_INT(cuda->buf_alloc(device, 0, &a), HY_INVALID);
	close_one(device);

	/* without a limit, the budget is 80% of the free memory, and the error is a lack of memory */
	device = open_one(0);
	CHECK_INT(cuda->buf_alloc(device, hy_fake.memory / 10 * 8, &a), HY_NOMEM);
	close_one(device);
	CHECK_INT(cuda->open(0, &(HyLimits){.memory = 1000}, &device), HY_QUOTA);
	CHECK_INT(hy_fake_live(), 0);
}

static void
another_task_is_told_busy(void)
{
	HyDevice *device = open_one(0);
	HyTicket ticket;
	HyTicket second;
	HyTimings timings;
	bool done = false;
	DistanceJob job;

	job_make(&job, HY_METRIC_L2, HY_F32, 20, 1, 20, 0);
	CHECK_INT(cuda->submit(device, &job.task, &ticket), HY_OK);
	CHECK_INT(cuda->submit(device, &job.task, &second), HY_BUSY);
	CHECK_INT(cuda->poll(device, ticket + 1, &done, &timings), HY_INVALID);
	while (!done)
		CHECK_INT(cuda->poll(device, ticket, &done, &timings), HY_OK);
	distance_check(&job);
	job.task.op = (HyOp) HY_OP_COUNT;
	CHECK_INT(cuda->submit(device, &job.task, &ticket), HY_UNSUPPORTED);
	job.task.op = HY_OP_DISTANCE;
	job.task.u.distance.out = NULL;
	CHECK_INT(cuda->submit(device, &job.task, &ticket), HY_INVALID);
	/* close the device with a task in flight */
	job.task.u.distance.out = job.out;
	CHECK_INT(cuda->submit(device, &job.task, &ticket), HY_OK);
	close_one(device);
	distance_free(&job);
}

static void
a_cancel_stops_between_pieces(void)
{
	HyDevice *device = open_one(UINT64_C(600) << 10);
	Trial trial;
	DistanceJob job;

	job_make(&job, HY_METRIC_L2, HY_F32, 1200, 10, 300, 0);
	trial = distance_trial(&job);
	trial_cancel(device, &trial, 3);
	distance_free(&job);
	close_one(device);
}

/*
 * whichever call between open and close fails, there is a status, and no memory is left allocated
 */
static void
each_call_may_fail(void)
{
	int at;

	for (at = 1;; at++)
	{
		HyDevice *device = NULL;
		HyBuffer *buffer = NULL;
		HyStatus status;
		DistanceJob job;
		int calls;

		job_make(&job, HY_METRIC_COSINE, HY_F32, 40, 2, 9, 0);
		hy_fake_fail(NULL, at, cudaErrorMemoryAllocation);
		status = cuda->open(0, NULL, &device);
		if (status == HY_OK)
		{
			HyStatus other = cuda->buf_alloc(device, 1000, &buffer);

			CHECK(other == HY_OK || other == HY_NOMEM);
			if (other == HY_OK)
			{
				other = cuda->upload(device, buffer, 0, job.targets, 100);
				CHECK(other == HY_OK || other == HY_NOMEM);
			}
			status = run(device, &job.task, NULL);
			CHECK(status == HY_OK || status == HY_NOMEM);
			if (status == HY_OK)
				distance_check(&job);
			/* the device is usable as before */
			calls = hy_fake_calls();
			if (status != HY_OK)
			{
				CHECK_INT(run(device, &job.task, NULL), HY_OK);
				distance_check(&job);
			}
			cuda->close(device);
		}
		else
		{
			CHECK_INT(status, HY_NOMEM);
			CHECK(device == NULL);
			calls = 0;
		}
		distance_free(&job);
		CHECK_INT(memory.outstanding, 0);
		CHECK_MSG(hy_fake_live() == 0, "%d left after a failure of call %d", hy_fake_live(), at);
		CHECK_MSG(hy_fake_leaked() == 0, "bytes left after a failure of call %d", at);
		if (unit_failed_checks > 0 || (calls > 0 && calls < at))
			break;
	}
	printf("# %d places of failure\n", at);
	CHECK(at > 50);
	/* and the host's memory */
	for (at = 1; at <= 2; at++)
	{
		HyDevice *device = NULL;
		HyBuffer *buffer;

		memory.calls = 0;
		memory.fail_at = at;
		if (cuda->open(0, NULL, &device) == HY_OK)
		{
			CHECK_INT(cuda->buf_alloc(device, 10, &buffer), HY_NOMEM);
			cuda->close(device);
		}
		CHECK_INT(memory.failures, at);
		CHECK_INT(hy_fake_live(), 0);
	}
	memory.fail_at = 0;
}

int
main(void)
{
	if (!plug_in())
		return 1;
	RUN(caps_and_estimates);
	RUN(distances_from_host_memory);
	RUN(empty_tasks);
	RUN(many_pieces);
	RUN(given_norms_are_used);
	RUN(kernels_keep_to_the_pace);
	RUN(one_query);
	RUN(resident_rows);
	RUN(memory_has_a_budget);
	RUN(another_task_is_told_busy);
	RUN(a_cancel_stops_between_pieces);
	RUN(each_call_may_fail);
	return unit_finish();
}
