/*
 * plugin_assign_filter_test.c
 *		'assign' to many centroids through the vtable, on the fake device: it is filtered where it should
 *		be, and the answers are the CPU's whatever the filter does.
 */
#include "plugged.h"

#include "core/assign.h"

static UnitRandom randomness = {97};

/* How vectors are made. */
typedef enum Data
{
	PLAIN,
	FEW,   /* of few values: many equal distances */
	EQUAL, /* all centroids the same: every one is open */
	LATE   /* the same, and rows of which nothing is known, after a good beginning */
} Data;

/* One assignment with its own data. */
typedef struct Job
{
	HyTask task;
	float *rows;
	float *centroids;
	int32_t *nearest;
	int32_t *expected;
	int64_t count;
} Job;

/* the least work that is filtered, as the device is told */
static const char *filter_least = "1";

static const char *
setting(void *arg, const char *name)
{
	(void) arg;
	return strcmp(name, "cuda_filter_least") == 0 ? filter_least : NULL;
}

static HyMatrix
random_matrix(int32_t dims, int64_t rows, size_t gap, Data data, float **at)
{
	size_t stride = (size_t) dims + gap;
	int64_t i;
	int32_t d;

	*at = calloc((size_t) rows * stride + 1, sizeof(float));
	for (i = 0; i < rows; i++)
	{
		float *x = *at + (size_t) i * stride;

		for (d = 0; d < dims; d++)
		{
			if (data == FEW)
				x[d] = (float) unit_random_below(&randomness, 7) - 3;
			else if (data == EQUAL)
				x[d] = (float) (d % 5) / 4;
			else
				x[d] = unit_random_float(&randomness);
		}
		if (data == LATE && i > rows / 2)
			x[0] = i % 2 ? NAN : INFINITY;
	}
	return (HyMatrix){.dims = dims, .rows = rows, .stride = stride * sizeof(float), .data = *at};
}

static void
job_make(Job *job, int32_t dims, int64_t rows, int32_t centroids, Data data)
{
	HyAssignTask *a = &job->task.u.assign;

	memset(job, 0, sizeof(*job));
	job->count = rows;
	job->task.op = HY_OP_ASSIGN;
	job->task.allocator = &memory.allocator;
	a->rows =
		random_matrix(dims, rows, (size_t) dims % 3, data == EQUAL ? PLAIN : data, &job->rows);
	a->centroids = random_matrix(dims, centroids, (size_t) dims % 2, data == LATE ? PLAIN : data,
	                             &job->centroids);
	a->groups.centers = (HyMatrix){.dims = dims};
	job->nearest = malloc((size_t) (rows + 1) * sizeof(int32_t));
	job->expected = malloc((size_t) (rows + 1) * sizeof(int32_t));
	memset(job->nearest, 0x5a, (size_t) (rows + 1) * sizeof(int32_t));
	a->nearest = job->nearest;
	CHECK_INT(hy_assign(&a->rows, &a->centroids, NULL, &hy_malloc_allocator, job->expected, NULL),
	          HY_OK);
}

static void
job_free(Job *job)
{
	free(job->rows);
	free(job->centroids);
	free(job->nearest);
	free(job->expected);
}

static void
job_check(const void *of)
{
	const Job *job = of;
	int64_t i;

	for (i = 0; i < job->count; i++)
		CHECK_MSG(job->nearest[i] == job->expected[i], "row %lld goes to %d, expected %d",
		          (long long) i, (int) job->nearest[i], (int) job->expected[i]);
	/* nothing behind the answers was touched */
	CHECK_INT(job->nearest[job->count], 0x5a5a5a5a);
}

static Trial
trial_of(Job *job)
{
	return (Trial){.task = &job->task,
	               .check = job_check,
	               .job = job,
	               .answer = {{job->nearest, (size_t) job->count * sizeof(int32_t)}}};
}

/* finish: polls to the end; bytes that went up and down are what was estimated. */
static HyStatus
finish(HyDevice *device, const Job *job, bool *filtered)
{
	const HyMatrix *centroids = &job->task.u.assign.centroids;
	uint64_t bytes = (uint64_t) centroids->rows * (uint64_t) centroids->dims * sizeof(float);
	HyShape shape = hy_task_shape(&job->task);
	HyEstimate estimate = cuda->estimate(device, &shape);
	uint64_t before = device->used;
	HyTimings timings = {0};
	bool done = false;
	HyTicket ticket;
	HyStatus status = cuda->submit(device, &job->task, &ticket);

	/* only a filter takes more memory than centroids need */
	*filtered = device->used > before + bytes + bytes / 8 + 1024;
	while (status == HY_OK && !done)
		status = cuda->poll(device, ticket, &done, &timings);
	if (status == HY_OK)
	{
		CHECK_INT(timings.bytes_up, estimate.bytes_up);
		CHECK_INT(timings.bytes_down, estimate.bytes_down);
	}
	return status;
}

/* finds_all: on a device of its own; whether it was filtered. */
static bool
finds_all(uint64_t limit, Job *job)
{
	HyDevice *device = open_one(limit);
	bool filtered;

	CHECK_INT(finish(device, job, &filtered), HY_OK);
	job_check(job);
	job_free(job);
	close_one(device);
	return filtered;
}

/* every_kind: on the device as it is set. */
static void
every_kind(void)
{
	static const int32_t dims[] = {31, 33, 100, 700};
	int data;
	size_t i;

	for (data = PLAIN; data <= LATE; data++)
	{
		for (i = 0; i < sizeof(dims) / sizeof(dims[0]); i++)
		{
			Job job;

			hy_fake.cut_off = (int) i % 2;
			job_make(&job, dims[i], i == 3 ? 150 : 400, 300, (Data) data);
			CHECK(finds_all(0, &job));
		}
	}
}

static void
every_kind_is_filtered(void)
{
	uint64_t halves = hy_fake_halves();

	every_kind();
	CHECK(hy_fake_halves() == halves);
	/* before 8.0 there is no bfloat16 */
	hy_fake.capability = 7;
	hy_fake.capability_minor = 5;
	every_kind();
	CHECK(hy_fake_halves() > halves);
}

/* so little memory that centroids and rows go in many pieces */
static void
pieces(void)
{
	int data;

	for (data = PLAIN; data <= LATE; data++)
	{
		Job job;

		job_make(&job, 300, 500, 290, (Data) data);
		CHECK(finds_all(UINT64_C(5) << 20, &job));
	}
}

/* a pace so slow that a tile of rows meets centroids part by part, or that it does so at first */
static void
parts_of_centroids(void)
{
	int slow;
	int data;

	for (slow = 0; slow < 4; slow++)
	{
		for (data = PLAIN; data <= LATE; data++)
		{
			HyDevice *device = open_one(0);
			Trial trial;
			Job job;

			job_make(&job, 60, 300, 700, (Data) data);
			trial = trial_of(&job);
			device->pace[HY_OP_ASSIGN].work = UINT64_C(1) << (18 + slow);
			if (slow % 2)
				device->assign_filter_pace.work = UINT64_C(1) << 20;
			trial_run(device, &trial);
			job_free(&job);
			close_one(device);
		}
	}
}

/* where there is no memory, or no unit, or too little to do, the canonical kernel answers */
static void
others_go_the_canonical_way(void)
{
	static const int capabilities[] = {72, 75, 80, 90, 100};
	HyDevice *device;
	bool filtered;
	size_t i;
	Job job;

	job_make(&job, 600, 200, 120, PLAIN);
	CHECK(!finds_all(UINT64_C(1) << 20, &job));
	job_make(&job, 600, 200, 120, PLAIN);
	CHECK(finds_all(UINT64_C(6) << 20, &job));
	for (i = 0; i < sizeof(capabilities) / sizeof(capabilities[0]); i++)
	{
		hy_fake.capability = capabilities[i] / 10;
		hy_fake.capability_minor = capabilities[i] % 10;
		job_make(&job, 64, 200, 300, PLAIN);
		CHECK_INT(finds_all(0, &job), capabilities[i] >= 75 && capabilities[i] < 100);
	}
	hy_fake.capability = 9;
	filter_least = NULL;
	job_make(&job, 64, 200, 300, PLAIN);
	CHECK(!finds_all(0, &job));
	filter_least = "1";

	/* the budget says that there is memory, and CUDA that there is none but for centroids */
	device = open_one(0);
	job_make(&job, 64, 200, 300, PLAIN);
	hy_fake_fail("cudaMalloc", 2, cudaErrorMemoryAllocation);
	CHECK_INT(finish(device, &job, &filtered), HY_OK);
	CHECK(!filtered);
	job_check(&job);
	/* and the next one has it */
	CHECK_INT(finish(device, &job, &filtered), HY_OK);
	CHECK(filtered);
	job_check(&job);
	/* nor has the host any */
	memory.calls = 0;
	memory.fail_at = 2;
	CHECK_INT(run(device, &job.task, NULL), HY_NOMEM);
	memory.fail_at = 0;
	job_free(&job);
	close_one(device);
}

/* groups say which centroids a row meets: that is not for the filter */
static void
groups_are_not_filtered(void)
{
	static const int32_t begin[] = {0, 100, 200, 300};
	HyDevice *device = open_one(0);
	float *centers;
	HyAssignTask *a;
	bool filtered;
	Job job;

	job_make(&job, 64, 200, 300, PLAIN);
	a = &job.task.u.assign;
	a->groups.centers = random_matrix(64, 3, 0, PLAIN, &centers);
	a->groups.begin = begin;
	a->groups.probes = 2;
	CHECK_INT(
		hy_assign(&a->rows, &a->centroids, &a->groups, &hy_malloc_allocator, job.expected, NULL),
		HY_OK);
	CHECK_INT(run(device, &job.task, NULL), HY_OK);
	job_check(&job);
	/* but where a row meets all groups there are none */
	a->groups.probes = 3;
	CHECK_INT(
		hy_assign(&a->rows, &a->centroids, &a->groups, &hy_malloc_allocator, job.expected, NULL),
		HY_OK);
	CHECK_INT(finish(device, &job, &filtered), HY_OK);
	CHECK(filtered);
	job_check(&job);
	free(centers);
	job_free(&job);
	close_one(device);
}

/* all is open: the first piece tells, and then the filter is left alone */
static void
useless_filters_are_given_up(void)
{
	int kernels[2];
	int data;

	for (data = 0; data < 2; data++)
	{
		HyDevice *device = open_one(UINT64_C(5) << 20);
		bool filtered;
		Job job;

		job_make(&job, 300, 2000, 290, data ? EQUAL : PLAIN);
		kernels[data] = hy_fake_kernels();
		CHECK_INT(finish(device, &job, &filtered), HY_OK);
		CHECK(filtered);
		job_check(&job);
		kernels[data] = hy_fake_kernels() - kernels[data];
		job_free(&job);
		close_one(device);
	}
	printf("# %d kernels, %d where the filter is useless\n", kernels[0], kernels[1]);
	CHECK(kernels[1] < kernels[0] * 2 / 3);
}

/* other tasks before and after it, whose memory is the same */
static void
tasks_take_turns(void)
{
	HyDevice *device = open_one(0);
	int i;

	for (i = 0; i < 6; i++)
	{
		Trial trial;
		Job job;

		job_make(&job, 33, 200 + 50 * i, i % 2 ? 20 : 300, i % 3 ? PLAIN : FEW);
		trial = trial_of(&job);
		hy_fake_scribble(0x3f + i);
		trial_run(device, &trial);
		job_free(&job);
	}
	/* what the scribbling left in free blocks is there to be found */
	cuda->close(device);
	CHECK_INT(hy_fake_live(), 0);
	CHECK_INT(memory.outstanding, 0);
}

static void
kernels_keep_to_the_pace(void)
{
	Trial trial;
	Job job;

	job_make(&job, 200, 500, 640, PLAIN);
	trial = trial_of(&job);
	trial_pace(&trial, 8);
	job_free(&job);
}

static void
a_cancel_stops_between_pieces(void)
{
	HyDevice *device = open_one(UINT64_C(5) << 20);
	Trial trial;
	Job job;

	job_make(&job, 600, 2600, 140, PLAIN);
	trial = trial_of(&job);
	trial_cancel(device, &trial, 14);
	job_free(&job);
	close_one(device);
}

/* whichever call fails: a status, nothing left behind, and the next task is right */
static void
each_call_may_fail(void)
{
	Trial trial;
	Job job;

	job_make(&job, 64, 140, 130, PLAIN);
	trial = trial_of(&job);
	trial_failures(&trial, UINT64_C(5) << 20, 50);
	job_free(&job);
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
