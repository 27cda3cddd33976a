/*
 * plugin_assign_test.c
 *		'assign' through the vtable, on the fake device: answers, pieces, groups, limits, cancel and
 *		failures.
 */
#include "assigned.h"

static UnitRandom randomness = {13};

static void
job_make(AssignJob *job, int32_t dims, int64_t rows, int32_t centroids, int32_t groups,
         int32_t probes, size_t gap)
{
	AssignSizes sizes = {dims, rows, centroids, groups, probes, gap};

	assign_job(job, &randomness, sizes, VECTORS_FEW);
}

/* finds_all: check that the answer is the CPU's and that nothing is left of the task. */
static void
finds_all(HyDevice *device, AssignJob *job)
{
	Trial trial = assign_trial(job);

	trial_run(device, &trial);
	assign_free(job);
}

static void
caps_and_estimates(void)
{
	HyShape shape = {HY_OP_ASSIGN, HY_F32, HY_METRIC_L2, 768, 1000, 40, 0, false, 0};
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

/* with and without groups; the bytes of the estimate are those that the task then reports */
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
			HyEstimate estimate;
			uint64_t used;
			HyShape shape;
			Trial trial;
			AssignJob job;

			job_make(&job, 5, 300, 60, groups, groups / 2, (size_t) gap);
			trial = assign_trial(&job);
			/* with groups, the estimate does not know how many bytes are uploaded */
			trial.up_unknown = groups > 0;
			shape = hy_task_shape(&job.task);
			estimate = cuda->estimate(device, &shape);
			used = device->used + trial_counted(device, &trial);
			/* nor how much memory the task takes */
			CHECK(groups > 0 || used <= estimate.device_bytes);
			finds_all(device, &job);
		}
	}
	close_one(device);
}

/* as many groups as a row meets; met groups without any centroid */
static void
groups_of_every_kind(void)
{
	HyDevice *device = open_one(0);
	AssignJob job;

	job_make(&job, 4, 50, 30, 5, 5, 0);
	finds_all(device, &job);
	job_make(&job, 4, 50, 3, 40, 1, 0);
	finds_all(device, &job);
	job_make(&job, 4, 50, 1, 0, 0, 0);
	finds_all(device, &job);
	close_one(device);
}

static void
empty_tasks_and_nonsense(void)
{
	HyDevice *device = open_one(0);
	HyTicket ticket;
	AssignJob job;

	job_make(&job, 4, 0, 30, 0, 0, 0);
	CHECK_INT(run(device, &job.task, NULL), HY_OK);
	assign_free(&job);
	job_make(&job, 4, 20, 30, 3, 1, 0);
	job.task.u.assign.nearest = NULL;
	CHECK_INT(cuda->submit(device, &job.task, &ticket), HY_INVALID);
	job.task.u.assign.nearest = job.nearest;
	job.task.u.assign.groups.probes = 17;
	CHECK_INT(cuda->submit(device, &job.task, &ticket), HY_INVALID);
	job.task.u.assign.groups.probes = 1;
	/* close the device with a task in flight */
	CHECK_INT(cuda->submit(device, &job.task, &ticket), HY_OK);
	close_one(device);
	assign_free(&job);
}

/* a budget so small that centroids, centers and rows are uploaded in many pieces */
static void
many_pieces(void)
{
	int groups;

	for (groups = 0; groups < 90; groups += 80)
	{
		HyDevice *device = open_one(UINT64_C(2) << 20);
		int polls;
		AssignJob job;

		CHECK(hy_fake_used() <= UINT64_C(2) << 20);
		job_make(&job, 1200, 400, 150, groups, 3, 0);
		CHECK_INT(run(device, &job.task, &polls), HY_OK);
		CHECK(polls > 10);
		assign_check(&job);
		assign_free(&job);
		/* few dims: a row's list of groups takes more memory than the row */
		job_make(&job, 2, 5000, 100, groups, 16, 0);
		CHECK_INT(run(device, &job.task, NULL), HY_OK);
		assign_check(&job);
		assign_free(&job);
		close_one(device);
	}
}

/*
 * if the work limit allows fewer comparisons than a row needs, rows are compared with parts of the
 * centroids
 */
static void
parts_of_centroids(void)
{
	HyDevice *device = open_one(0);
	int paces;
	AssignJob job;

	for (paces = 0; paces < 12; paces += 3)
	{
		job_make(&job, 3, 70, 700, 0, 0, 0);
		device->pace[HY_OP_ASSIGN].work = UINT64_C(1) << (10 + paces);
		finds_all(device, &job);
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
	AssignJob job;

	/* centroids beyond the limit: HY_QUOTA, and no memory is taken */
	job_make(&job, 1000, 10, 300, 0, 0, 0);
	CHECK_INT(run(device, &job.task, NULL), HY_QUOTA);
	cuda->last_error(device, &failure);
	CHECK(strstr(failure.text, "bytes of device memory") != NULL);
	CHECK_INT(hy_fake_used(), used);
	assign_free(&job);
	job_make(&job, 1000, 10, 100, 0, 0, 0);
	trial = assign_trial(&job);
	trial_run(device, &trial);
	/* neither the device nor the pool has memory left */
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
	assign_free(&job);
	close_one(device);
}

/* earlier contents of the memory, perhaps of another role's task, never appear in an answer */
static void
no_task_reads_what_another_left(void)
{
	static const int bytes[] = {0x00, 0xff, 0x7f, 0x3c, 0x01};
	HyDevice *device = open_one(UINT64_C(2) << 20);
	size_t i;

	for (i = 0; i < 2 * sizeof(bytes) / sizeof(bytes[0]); i++)
	{
		AssignJob job;

		/* every second task has groups, some of them empty; some pieces are not full */
		job_make(&job, i % 4 < 2 ? 5 : 700, 203 + 10 * (int64_t) i, 61, i % 2 ? 40 : 0, 3, i % 3);
		hy_fake_scribble(bytes[i / 2]);
		finds_all(device, &job);
	}
	/* free blocks still have the scribbled bytes, which the fake reports as not zeroed */
	cuda->close(device);
	CHECK_INT(hy_fake_live(), 0);
	CHECK_INT(memory.outstanding, 0);
}

static void
kernels_keep_to_the_pace(void)
{
	Trial trial;
	AssignJob job;

	job_make(&job, 2000, 250, 60, 0, 0, 0);
	trial = assign_trial(&job);
	trial_pace(&trial, 2);
	assign_free(&job);
}

static void
a_cancel_stops_between_pieces(void)
{
	HyDevice *device = open_one(UINT64_C(2) << 20);
	Trial trial;
	AssignJob job;
	int groups;

	for (groups = 0; groups < 10; groups += 9)
	{
		job_make(&job, 1200, 600, 90, groups, 4, 0);
		trial = assign_trial(&job);
		trial_cancel(device, &trial, 24);
		assign_free(&job);
	}
	close_one(device);
}

static void
each_call_may_fail(void)
{
	Trial trial;
	AssignJob job;

	job_make(&job, 2000, 40, 20, 6, 2, 0);
	trial = assign_trial(&job);
	trial_failures(&trial, UINT64_C(900) << 10, 100);
	assign_free(&job);
	job_make(&job, 2000, 40, 20, 0, 0, 0);
	trial = assign_trial(&job);
	trial_failures(&trial, UINT64_C(900) << 10, 60);
	assign_free(&job);
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
	RUN(no_task_reads_what_another_left);
	RUN(kernels_keep_to_the_pace);
	RUN(a_cancel_stops_between_pieces);
	RUN(each_call_may_fail);
	return unit_finish();
}
