/*
 * plugin_assign_filter_test.c
 *		'assign' to many centroids through the vtable, on the fake device.  The task must be
 *		filtered if that is expected, and the answers must be the CPU's, whatever the filter does.
 */
#include "assigned.h"

static UnitRandom randomness = {97};

/* value of the setting cuda_filter_least */
static const char *filter_least = "1";

static const char *
setting(void *arg, const char *name)
{
	(void) arg;
	return strcmp(name, "cuda_filter_least") == 0 ? filter_least : NULL;
}

static void
job_make(AssignJob *job, int32_t dims, int64_t rows, int32_t centroids, VectorKind kind)
{
	AssignSizes sizes = {.dims = dims, .rows = rows, .centroids = centroids};

	sizes.gap = (size_t) dims % 3;
	assign_job(job, &randomness, sizes, kind);
}

/*
 * filtered: run a job and return whether it was filtered.  Only a filter takes more memory than
 * centroids need.
 */
static bool
filtered(HyDevice *device, AssignJob *job)
{
	const HyMatrix *centroids = &job->task.u.assign.centroids;
	uint64_t bytes = (uint64_t) centroids->rows * (uint64_t) centroids->dims * sizeof(float);
	Trial trial = assign_trial(job);

	return trial_counted(device, &trial) > bytes + bytes / 8 + 1024;
}

/* finds_all: check a job on a new device.  Returns whether it was filtered. */
static bool
finds_all(uint64_t limit, AssignJob *job)
{
	HyDevice *device = open_one(limit);
	bool was_filtered = filtered(device, job);

	assign_free(job);
	close_one(device);
	return was_filtered;
}

/* every_kind: run every kind of job with the current settings of the device. */
static void
every_kind(void)
{
	static const int32_t dims[] = {31, 33, 100, 700};
	int data;
	size_t i;

	for (data = VECTORS_PLAIN; data < VECTOR_KINDS; data++)
	{
		for (i = 0; i < sizeof(dims) / sizeof(dims[0]); i++)
		{
			AssignJob job;

			hy_fake.cut_off = (int) i % 2;
			job_make(&job, dims[i], i == 3 ? 150 : 400, 300, (VectorKind) data);
			CHECK(finds_all(0, &job));
		}
	}
}

static void
every_kind_is_filtered(void)
{
	every_kind();
}

/* so little memory that centroids and rows are uploaded in many pieces */
static void
pieces(void)
{
	int data;

	for (data = VECTORS_PLAIN; data < VECTOR_KINDS; data++)
	{
		AssignJob job;

		job_make(&job, 300, 500, 290, (VectorKind) data);
		CHECK(finds_all(UINT64_C(5) << 20, &job));
	}
}

/*
 * a work limit so low that a tile of rows is compared with parts of the centroids, always or only
 * at first
 */
static void
parts_of_centroids(void)
{
	int slow;
	int data;

	for (slow = 0; slow < 4; slow++)
	{
		for (data = VECTORS_PLAIN; data < VECTOR_KINDS; data++)
		{
			HyDevice *device = open_one(0);
			Trial trial;
			AssignJob job;

			job_make(&job, 60, 300, 700, (VectorKind) data);
			trial = assign_trial(&job);
			device->pace[HY_OP_ASSIGN].work = UINT64_C(1) << (18 + slow);
			if (slow % 2)
				device->assign_filter_pace.work = UINT64_C(1) << 20;
			trial_run(device, &trial);
			assign_free(&job);
			close_one(device);
		}
	}
}

/* the task is not filtered if there is no memory, no suitable matrix unit, or too little work */
static void
others_go_the_canonical_way(void)
{
	static const int capabilities[] = {75, 80, 90, 100};
	HyDevice *device;
	size_t i;
	AssignJob job;

	job_make(&job, 600, 200, 120, VECTORS_PLAIN);
	CHECK(!finds_all(UINT64_C(1) << 20, &job));
	job_make(&job, 600, 200, 120, VECTORS_PLAIN);
	CHECK(finds_all(UINT64_C(6) << 20, &job));
	for (i = 0; i < sizeof(capabilities) / sizeof(capabilities[0]); i++)
	{
		hy_fake.capability = capabilities[i] / 10;
		hy_fake.capability_minor = capabilities[i] % 10;
		job_make(&job, 64, 200, 300, VECTORS_PLAIN);
		CHECK_INT(finds_all(0, &job), capabilities[i] >= 80 && capabilities[i] < 100);
	}
	hy_fake.capability = 9;
	filter_least = NULL;
	job_make(&job, 64, 200, 300, VECTORS_PLAIN);
	CHECK(!finds_all(0, &job));
	filter_least = "1";

	/* the budget has memory, but CUDA has enough only for the centroids */
	device = open_one(0);
	job_make(&job, 64, 200, 300, VECTORS_PLAIN);
	hy_fake_fail("cudaMalloc", 2, cudaErrorMemoryAllocation);
	CHECK(!filtered(device, &job));
	/* the next task gets it */
	CHECK(filtered(device, &job));
	/* the host has no memory either */
	memory.calls = 0;
	memory.fail_at = 2;
	CHECK_INT(run(device, &job.task, NULL), HY_NOMEM);
	memory.fail_at = 0;
	assign_free(&job);
	close_one(device);
}

/* with groups, a row is compared with few centroids, so the task is not filtered */
static void
groups_are_not_filtered(void)
{
	const AssignSizes sizes = {64, 200, 300, 3, 2, 0};
	HyDevice *device = open_one(0);
	Trial trial;
	AssignJob job;

	assign_job(&job, &randomness, sizes, VECTORS_PLAIN);
	trial = assign_trial(&job);
	trial.up_unknown = true;
	CHECK(trial_counted(device, &trial) < UINT64_C(64) * 300 * 5);
	/* without groups, because a row is compared with all of them anyway */
	job.task.u.assign.groups.probes = 3;
	assign_expect(&job);
	CHECK(filtered(device, &job));
	assign_free(&job);
	close_one(device);
}

/* all centroids are candidates: after the first piece, the filter is no longer used */
static void
useless_filters_are_given_up(void)
{
	int kernels[2];
	int data;

	for (data = 0; data < 2; data++)
	{
		HyDevice *device = open_one(UINT64_C(5) << 20);
		AssignJob job;

		job_make(&job, 300, 2000, 290, data ? VECTORS_EQUAL : VECTORS_PLAIN);
		kernels[data] = hy_fake_kernels();
		CHECK(filtered(device, &job));
		kernels[data] = hy_fake_kernels() - kernels[data];
		assign_free(&job);
		close_one(device);
	}
	printf("# %d kernels, %d where the filter is useless\n", kernels[0], kernels[1]);
	CHECK(kernels[1] < kernels[0] * 2 / 3);
}

/* other tasks run before and after it in the same memory */
static void
tasks_take_turns(void)
{
	HyDevice *device = open_one(0);
	int i;

	for (i = 0; i < 6; i++)
	{
		Trial trial;
		AssignJob job;

		job_make(&job, 33, 200 + 50 * i, i % 2 ? 20 : 300, i % 3 ? VECTORS_PLAIN : VECTORS_FEW);
		trial = assign_trial(&job);
		hy_fake_scribble(0x3f + i);
		trial_run(device, &trial);
		assign_free(&job);
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

	job_make(&job, 200, 500, 640, VECTORS_PLAIN);
	trial = assign_trial(&job);
	trial_pace(&trial, 8);
	assign_free(&job);
}

static void
a_cancel_stops_between_pieces(void)
{
	HyDevice *device = open_one(UINT64_C(5) << 20);
	Trial trial;
	AssignJob job;

	job_make(&job, 600, 2600, 140, VECTORS_PLAIN);
	trial = assign_trial(&job);
	trial_cancel(device, &trial, 14);
	assign_free(&job);
	close_one(device);
}

/* whichever call fails, there is a status, nothing is left behind, and the next task is right */
static void
each_call_may_fail(void)
{
	Trial trial;
	AssignJob job;

	job_make(&job, 64, 140, 130, VECTORS_PLAIN);
	trial = assign_trial(&job);
	trial_failures(&trial, UINT64_C(5) << 20, 50);
	assign_free(&job);
}

int
main(void)
{
	host.setting = setting;
	if (!plug_in())
		return 1;
	RUN(every_kind_is_filtered);
	RUN(pieces);
	RUN(parts_of_centroids);
	RUN(others_go_the_canonical_way);
	RUN(groups_are_not_filtered);
	RUN(useless_filters_are_given_up);
	RUN(tasks_take_turns);
	RUN(kernels_keep_to_the_pace);
	RUN(a_cancel_stops_between_pieces);
	RUN(each_call_may_fail);
	return unit_finish();
}
