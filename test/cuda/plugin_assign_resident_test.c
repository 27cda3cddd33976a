/*
 * plugin_assign_resident_test.c
 *		'assign' of resident rows through the vtable, on the fake device.  The answers must be the
 *		CPU's, and only centroids may be uploaded.
 */
#include "assigned.h"

static UnitRandom randomness = {61};

/* value of the setting cuda_filter_least; NULL: not set */
static const char *filter_least;

static const char *
setting(void *arg, const char *name)
{
	(void) arg;
	return strcmp(name, "cuda_filter_least") == 0 ? filter_least : NULL;
}

/*
 * resident: move the job's rows to a buffer, at an offset in bytes, and remove them from the host.
 */
static HyBuffer *
resident(HyDevice *device, AssignJob *job, uint64_t offset)
{
	HyMatrix *rows = &job->task.u.assign.rows;
	uint64_t bytes = (uint64_t) (rows->rows - 1) * rows->stride + (uint64_t) rows->dims * 4;
	HyBuffer *buffer = NULL;

	/* exactly the bytes of the rows, so that the fake detects a read beyond them */
	CHECK_INT(cuda->buf_alloc(device, offset + bytes, &buffer), HY_OK);
	CHECK_INT(cuda->upload(device, buffer, offset, rows->data, bytes), HY_OK);
	rows->data = NULL;
	rows->buffer = buffer;
	rows->offset = offset;
	return buffer;
}

static void
caps_and_estimates(void)
{
	HyShape shape = {HY_OP_ASSIGN, HY_F32, HY_METRIC_L2, 768, 1000, 40, 0, true, 0};
	HyEstimate estimate = cuda->estimate(NULL, &shape);

	CHECK(cuda->caps(NULL, &shape).ok);
	CHECK_INT(estimate.bytes_up, 40 * 768 * 4);
	CHECK_INT(estimate.bytes_down, 1000 * 8);
}

/* finds_all: check a job on a new device, with rows at an offset. */
static void
finds_all(AssignSizes sizes, VectorKind kind, uint64_t offset, uint64_t pace)
{
	HyDevice *device = open_one(0);
	HyShape shape;
	HyBuffer *buffer;
	Trial trial;
	AssignJob job;

	assign_job(&job, &randomness, sizes, kind);
	buffer = resident(device, &job, offset);
	trial = assign_trial(&job);
	if (pace > 0)
		device->pace[HY_OP_ASSIGN].work = pace;
	/* without groups, the estimate tells how many bytes are uploaded */
	trial.up_unknown = sizes.groups > 0;
	(void) trial_counted(device, &trial);
	shape = hy_task_shape(&job.task);
	CHECK(shape.resident);
	if (sizes.groups == 0)
		CHECK_INT(cuda->estimate(device, &shape).bytes_up, sizes.centroids * sizes.dims * 4);
	/* once more, over the same rows */
	trial_run(device, &trial);
	cuda->buf_free(device, buffer);
	assign_free(&job);
	close_one(device);
}

/* filtered and not, with groups and without, packed and with gaps, at any offset */
static void
rows_where_they_lie(void)
{
	static const int32_t dims[] = {1, 33, 100, 1030};
	int filters;
	int data;
	size_t i;

	for (filters = 0; filters < 2; filters++)
	{
		filter_least = filters ? "1" : NULL;
		for (data = VECTORS_PLAIN; data < VECTOR_KINDS; data++)
		{
			for (i = 0; i < sizeof(dims) / sizeof(dims[0]); i++)
			{
				AssignSizes sizes = {.dims = dims[i],
				                     .rows = i == 3 ? 130 : 270,
				                     .centroids = filters ? 290 : 60,
				                     .gap = (size_t) (data + (int) i) % 3};

				finds_all(sizes, (VectorKind) data, i * 4, 0);
				if (filters)
					continue;
				/* a work limit so low that rows are compared with parts of the centroids */
				finds_all(sizes, (VectorKind) data, 4, UINT64_C(1) << 11);
				sizes.groups = 7;
				sizes.probes = 3;
				finds_all(sizes, (VectorKind) data, i * 4, 0);
			}
		}
	}
	filter_least = NULL;
}

/*
 * kernels_of: return the number of kernels of a job on a device whose work limit allows everything
 * at once.
 */
static int
kernels_of(HyDevice *device, AssignJob *job)
{
	Trial trial = assign_trial(job);
	int kernels;

	device->pace[HY_OP_ASSIGN].work = UINT64_C(1) << 40;
	device->assign_filter_pace.work = UINT64_C(1) << 40;
	kernels = hy_fake_kernels();
	trial_run(device, &trial);
	return hy_fake_kernels() - kernels;
}

/* the size of a slot's upload does not limit pieces of resident rows */
static void
pieces_go_by_the_pace(void)
{
	/*
	 * With the memory limit below, a slot uploads at most 4 MiB.  The first case has 9 MB of rows,
	 * more than two slots upload.  The second has more rows than a kernel may have queries.
	 */
	static const AssignSizes sizes[] = {{.dims = 1500, .rows = 1500, .centroids = 9},
	                                    {.dims = 3, .rows = 50000, .centroids = 9}};
	size_t i;

	for (i = 0; i < 2; i++)
	{
		HyDevice *device = open_one(UINT64_C(64) << 20);
		HyBuffer *buffer;
		AssignJob job;
		int from_host;

		assign_job(&job, &randomness, sizes[i], VECTORS_FEW);
		from_host = kernels_of(device, &job);
		buffer = resident(device, &job, 0);
		/* one kernel that initializes and one that assigns */
		CHECK_INT(kernels_of(device, &job), 2);
		CHECK(i == 1 || from_host > 4);
		cuda->buf_free(device, buffer);
		assign_free(&job);
		close_one(device);
	}
}

/* the memory of the filter depends on the number of rows, and its pieces fit the memory */
static void
filtered_pieces(void)
{
	const AssignSizes sizes = {.dims = 1500, .rows = 800, .centroids = 130};
	HyDevice *device;
	HyBuffer *buffer;
	AssignJob job;
	int from_host;
	int whole;

	filter_least = "1";
	device = open_one(UINT64_C(64) << 20);
	assign_job(&job, &randomness, sizes, VECTORS_PLAIN);
	from_host = kernels_of(device, &job);
	buffer = resident(device, &job, 0);
	whole = kernels_of(device, &job);
	printf("# %d kernels, %d from the host\n", whole, from_host);
	CHECK(whole < from_host);
	cuda->buf_free(device, buffer);
	assign_free(&job);
	close_one(device);

	/* 5 MB of rows, and little more */
	device = open_one(UINT64_C(24) << 20);
	assign_job(&job, &randomness, sizes, VECTORS_PLAIN);
	buffer = resident(device, &job, 0);
	CHECK(kernels_of(device, &job) > whole);
	cuda->buf_free(device, buffer);
	assign_free(&job);
	close_one(device);
	filter_least = NULL;
}

static void
wrong_buffers(void)
{
	const AssignSizes sizes = {.dims = 6, .rows = 20, .centroids = 5, .gap = 1};
	HyDevice *device = open_one(0);
	AssignJob job;
	HyMatrix *rows = &job.task.u.assign.rows;
	HyTicket ticket;
	HyBuffer *buffer;
	HyBuffer other;
	HyFailure failure;

	assign_job(&job, &randomness, sizes, VECTORS_FEW);
	buffer = resident(device, &job, 8);
	rows->offset = 12;
	CHECK_INT(cuda->submit(device, &job.task, &ticket), HY_INVALID);
	cuda->last_error(device, &failure);
	CHECK(strstr(failure.text, "do not lie in their buffer") != NULL);
	rows->offset = 6;
	CHECK_INT(cuda->submit(device, &job.task, &ticket), HY_INVALID);
	rows->offset = SIZE_MAX - 3;
	CHECK_INT(cuda->submit(device, &job.task, &ticket), HY_INVALID);
	rows->offset = 8;
	rows->stride += 2;
	CHECK_INT(cuda->submit(device, &job.task, &ticket), HY_INVALID);
	rows->stride += 2;
	CHECK_INT(cuda->submit(device, &job.task, &ticket), HY_INVALID);
	rows->stride -= 4;
	rows->rows++;
	CHECK_INT(cuda->submit(device, &job.task, &ticket), HY_INVALID);
	rows->rows--;
	rows->rows = 1;
	rows->stride = (size_t) 1 << 33;
	CHECK_INT(cuda->submit(device, &job.task, &ticket), HY_UNSUPPORTED);
	rows->rows = sizes.rows;
	rows->stride = 7 * 4;
	other = *buffer;
	other.device = NULL;
	rows->buffer = &other;
	CHECK_INT(cuda->submit(device, &job.task, &ticket), HY_INVALID);
	cuda->last_error(device, &failure);
	CHECK(strstr(failure.text, "another device") != NULL);
	/* neither here nor there */
	rows->buffer = NULL;
	CHECK_INT(cuda->submit(device, &job.task, &ticket), HY_INVALID);
	/* other matrices of the task must not be resident */
	rows->buffer = buffer;
	job.task.u.assign.centroids.data = NULL;
	job.task.u.assign.centroids.buffer = buffer;
	CHECK_INT(cuda->submit(device, &job.task, &ticket), HY_INVALID);
	job.task.u.assign.centroids.data = job.data[1];
	job.task.u.assign.centroids.buffer = NULL;
	CHECK_INT(run(device, &job.task, NULL), HY_OK);
	assign_check(&job);
	cuda->buf_free(device, buffer);
	assign_free(&job);
	close_one(device);
}

static void
kernels_keep_to_the_pace(void)
{
	const AssignSizes sizes[] = {{.dims = 400, .rows = 900, .centroids = 60},
	                             {.dims = 200, .rows = 1000, .centroids = 640}};
	int filters;

	for (filters = 0; filters < 2; filters++)
	{
		HyDevice *device;
		HyBuffer *buffer;
		Trial trial;
		AssignJob job;
		double us;
		int i;

		filter_least = filters ? "1" : NULL;
		hy_fake.ns_an_element = filters ? 8 : 2;
		device = open_one(0);
		assign_job(&job, &randomness, sizes[filters], VECTORS_PLAIN);
		buffer = resident(device, &job, 0);
		trial = assign_trial(&job);
		for (i = 0; i < 9; i++)
		{
			if (i == 8)
				(void) hy_fake_longest_kernel_us();
			trial_run(device, &trial);
		}
		us = hy_fake_longest_kernel_us();
		CHECK_MSG(us > 500 && us <= 5000, "%g us", us);
		cuda->buf_free(device, buffer);
		assign_free(&job);
		close_one(device);
	}
	filter_least = NULL;
	hy_fake.ns_an_element = 0;
}

static void
a_cancel_stops_between_pieces(void)
{
	const AssignSizes sizes = {.dims = 600, .rows = 900, .centroids = 90};
	HyDevice *device = open_one(0);
	HyBuffer *buffer;
	Trial trial;
	AssignJob job;

	assign_job(&job, &randomness, sizes, VECTORS_FEW);
	buffer = resident(device, &job, 0);
	trial = assign_trial(&job);
	device->pace[HY_OP_ASSIGN].work = UINT64_C(1) << 20;
	trial_cancel(device, &trial, 8);
	cuda->buf_free(device, buffer);
	assign_free(&job);
	close_one(device);
}

/*
 * Whichever CUDA call of a task fails, the task returns a status, the rows stay on the device, and
 * the next task is right.  On a late device, only every tenth call fails.
 */
static void
each_call_may_fail(void)
{
	const AssignSizes sizes = {.dims = 64, .rows = 140, .centroids = 130, .gap = 1};
	int at;

	filter_least = "1";
	for (at = 1; unit_failed_checks == 0; at += hy_fake.late ? 10 : 1)
	{
		HyDevice *device = open_one(0);
		HyBuffer *buffer;
		HyStatus status;
		Trial trial;
		AssignJob job;

		assign_job(&job, &randomness, sizes, VECTORS_PLAIN);
		buffer = resident(device, &job, 4);
		trial = assign_trial(&job);
		hy_fake_fail(NULL, at, cudaErrorMemoryAllocation);
		status = run(device, &job.task, NULL);
		CHECK(status == HY_OK || status == HY_NOMEM);
		/* after the last call, no call fails */
		at = hy_fake_calls() < at ? INT32_MAX - 1 : at;
		hy_fake_fail(NULL, 0, cudaSuccess);
		trial_run(device, &trial);
		cuda->buf_free(device, buffer);
		assign_free(&job);
		close_one(device);
		if (at == INT32_MAX - 1)
			break;
	}
	filter_least = NULL;
}

int
main(void)
{
	host.setting = setting;
	if (!plug_in())
		return 1;
	RUN(caps_and_estimates);
	RUN(rows_where_they_lie);
	RUN(pieces_go_by_the_pace);
	RUN(filtered_pieces);
	RUN(wrong_buffers);
	RUN(kernels_keep_to_the_pace);
	RUN(a_cancel_stops_between_pieces);
	RUN(each_call_may_fail);
	return unit_finish();
}
