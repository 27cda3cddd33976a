/*
 * plugin_filter_test.c
 *		'topk' for many queries through the vtable, on the fake device: it is filtered where it should
 *		be, and the answers are the CPU's whatever the filter does.
 */
#include "plugged.h"

#include "core/distance.h"
#include "core/topk.h"

static UnitRandom randomness = {31};

/* How rows are made. */
typedef enum Data
{
	PLAIN,
	EQUAL, /* all rows the same: every one is a candidate */
	ZEROS  /* some of them without an angle */
} Data;

/* One topk task with its own data. */
typedef struct Job
{
	HyTask task;
	char *targets;
	size_t target_bytes;
	float *queries;
	HyNeighbor *out;
	HyNeighbor *expected;
	int32_t *counts;
	int32_t *expected_counts;
	int64_t entries;
	HyBuffer *buffer;
} Job;

/* the least work that is filtered, as the device is told */
static const char *filter_least = "1";
static const char *filter_precision;

static const char *
setting(void *arg, const char *name)
{
	(void) arg;
	if (strcmp(name, "cuda_filter_precision") == 0)
		return filter_precision;
	return strcmp(name, "cuda_filter_least") == 0 ? filter_least : NULL;
}

static void
job_make(Job *job, HyMetric metric, HyDtype dtype, int32_t dims, int64_t queries, int64_t rows,
         int32_t k, Data data)
{
	size_t element = hy_dtype_size(dtype);
	HyTopKTask *t = &job->task.u.topk;
	int64_t i;

	memset(job, 0, sizeof(*job));
	job->entries = queries * k;
	job->target_bytes = (size_t) (rows * dims) * element;
	job->targets = malloc(job->target_bytes);
	job->queries = malloc((size_t) (queries * dims) * sizeof(float));
	job->out = malloc((size_t) (job->entries + 1) * sizeof(HyNeighbor));
	job->expected = malloc((size_t) job->entries * sizeof(HyNeighbor));
	job->counts = malloc((size_t) (queries + 1) * sizeof(int32_t));
	job->expected_counts = malloc((size_t) queries * sizeof(int32_t));
	for (i = 0; i < rows * dims; i++)
	{
		float value = data == EQUAL ? (float) (i % dims) / 8 - 1 : unit_random_float(&randomness);
		uint16_t half;

		if (data == ZEROS && i / dims % 3 == 0)
			value = 0;
		half = hy_float_to_half(value);
		memcpy(job->targets + (size_t) i * element, dtype == HY_F32 ? (void *) &value : &half,
		       element);
	}
	for (i = 0; i < queries * dims; i++)
		job->queries[i] = unit_random_float(&randomness);
	memset(job->out, 0x5a, (size_t) (job->entries + 1) * sizeof(HyNeighbor));
	memset(job->counts, 0x5a, (size_t) (queries + 1) * sizeof(int32_t));

	job->task.op = HY_OP_TOPK;
	job->task.allocator = &memory.allocator;
	t->metric = metric;
	t->queries = (HyMatrix){.dims = dims,
	                        .rows = queries,
	                        .stride = (size_t) dims * sizeof(float),
	                        .data = job->queries};
	t->targets = (HyMatrix){.dtype = dtype,
	                        .dims = dims,
	                        .rows = rows,
	                        .stride = (size_t) dims * element,
	                        .data = job->targets};
	t->k = k;
	t->out = job->out;
	t->counts = job->counts;
	CHECK_INT(hy_topk_search(metric, &t->queries, &t->targets, k, job->expected,
	                         job->expected_counts, NULL),
	          HY_OK);
}

static void
job_free(Job *job, HyDevice *device)
{
	if (job->buffer != NULL)
		cuda->buf_free(device, job->buffer);
	free(job->targets);
	free(job->queries);
	free(job->out);
	free(job->expected);
	free(job->counts);
	free(job->expected_counts);
}

static void
job_check(const Job *job)
{
	const HyTopKTask *t = &job->task.u.topk;
	int64_t q;
	int32_t i;

	for (q = 0; q < t->queries.rows; q++)
	{
		CHECK_MSG(job->counts[q] == job->expected_counts[q], "%s: query %lld has %d, expected %d",
		          hy_metric_name(t->metric), (long long) q, (int) job->counts[q],
		          (int) job->expected_counts[q]);
		for (i = 0; i < job->expected_counts[q] && i < job->counts[q]; i++)
		{
			const HyNeighbor *is = &job->out[q * t->k + i];
			const HyNeighbor *should = &job->expected[q * t->k + i];

			CHECK_MSG(is->row == should->row && unit_same_f64(is->distance, should->distance),
			          "%s: query %lld [%d] is %lld at %a, expected %lld at %a",
			          hy_metric_name(t->metric), (long long) q, (int) i, (long long) is->row,
			          is->distance, (long long) should->row, should->distance);
		}
	}
	/* nothing behind the answers was touched */
	CHECK_INT(job->out[job->entries].row, INT64_C(0x5a5a5a5a5a5a5a5a));
	CHECK_INT(job->counts[t->queries.rows], 0x5a5a5a5a);
}

static void
make_resident(HyDevice *device, Job *job)
{
	HyMatrix *targets = &job->task.u.topk.targets;

	CHECK_INT(cuda->buf_alloc(device, job->target_bytes, &job->buffer), HY_OK);
	CHECK_INT(cuda->upload(device, job->buffer, 0, job->targets, job->target_bytes), HY_OK);
	targets->data = NULL;
	targets->buffer = job->buffer;
}

/* finish: polls to the end; bytes that went up and down are what was estimated. */
static HyStatus
finish(HyDevice *device, const Job *job, bool *filtered)
{
	HyShape shape = hy_task_shape(&job->task);
	HyEstimate estimate = cuda->estimate(device, &shape);
	uint64_t before = device->used;
	HyTimings timings = {0};
	bool done = false;
	HyTicket ticket;
	HyStatus status = cuda->submit(device, &job->task, &ticket);

	/* only a filter takes more memory than what is there */
	*filtered = device->used > before;
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
finds_all(uint64_t limit, Job *job, bool resident)
{
	HyDevice *device = open_one(limit);
	bool filtered;

	if (resident)
		make_resident(device, job);
	CHECK_INT(finish(device, job, &filtered), HY_OK);
	job_check(job);
	job_free(job, device);
	close_one(device);
	return filtered;
}

/* every_kind: on a device that multiplies them so. */
static void
every_kind(void)
{
	int n = 0;
	int metric;
	int dtype;
	int resident;

	for (metric = 0; metric < HY_METRIC_COUNT; metric++)
	{
		for (dtype = 0; dtype < HY_DTYPE_COUNT; dtype++)
		{
			for (resident = 0; resident < 2; resident++)
			{
				Job job;

				hy_fake.cut_off = n++ % 2;
				job_make(&job, (HyMetric) metric, (HyDtype) dtype, 33, 90, 1100, 5,
				         metric == HY_METRIC_COSINE ? ZEROS : PLAIN);
				CHECK_INT(finds_all(0, &job, resident != 0), metric != HY_METRIC_L1);
			}
		}
	}
}

static void
every_kind_is_filtered(void)
{
	uint64_t halves = hy_fake_halves();

	every_kind();
	CHECK(hy_fake_halves() == halves);
}

/* before 8.0 there is no bfloat16: one of its products, or an asynchronous copy, would be a fault */
static void
every_kind_is_filtered_in_fp16(void)
{
	uint64_t halves = hy_fake_halves();
	Job job;

	hy_fake.capability = 7;
	hy_fake.capability_minor = 5;
	every_kind();
	CHECK(hy_fake_halves() > halves);
	/* and where there is, for those who want to try the other on it */
	hy_fake.capability = 8;
	hy_fake.capability_minor = 6;
	halves = hy_fake_halves();
	filter_precision = "half";
	job_make(&job, HY_METRIC_L2, HY_F32, 33, 90, 600, 5, PLAIN);
	CHECK(finds_all(0, &job, true));
	filter_precision = NULL;
	CHECK(hy_fake_halves() > halves);
}

/* so little memory that queries go in groups, and rows in many pieces */
static void
groups_and_pieces(void)
{
	int resident;

	for (resident = 0; resident < 2; resident++)
	{
		Job job;

		job_make(&job, resident ? HY_METRIC_L2 : HY_METRIC_COSINE, HY_F32, 300, 290, 800, 20,
		         PLAIN);
		CHECK(finds_all(UINT64_C(5) << 20, &job, resident != 0));
		/* long lists, of few queries at a time */
		job_make(&job, HY_METRIC_IP, HY_F16, 32, 150, 3000, 128, PLAIN);
		CHECK(finds_all(UINT64_C(11) << 20, &job, resident != 0));
	}
}

/* where there is no memory, or no unit, or too little to do, the kernels of topk.c answer */
static void
others_go_the_canonical_way(void)
{
	HyDevice *device;
	bool filtered;
	Job job;

	job_make(&job, HY_METRIC_L2, HY_F32, 64, 90, 700, 5, PLAIN);
	CHECK(!finds_all(UINT64_C(700) << 10, &job, false));

	/* fp16, but not in these steps, and no code of ours */
	hy_fake.capability = 7;
	hy_fake.capability_minor = 2;
	job_make(&job, HY_METRIC_L2, HY_F32, 64, 90, 700, 5, PLAIN);
	CHECK(!finds_all(0, &job, false));
	/* nobody knows yet how exact it is there */
	hy_fake.capability = 10;
	job_make(&job, HY_METRIC_L2, HY_F32, 64, 90, 700, 5, PLAIN);
	CHECK(!finds_all(0, &job, false));
	hy_fake.capability = 7;
	hy_fake.capability_minor = 5;
	job_make(&job, HY_METRIC_L2, HY_F32, 64, 90, 700, 5, PLAIN);
	CHECK(finds_all(0, &job, false));
	hy_fake.capability = 8;
	hy_fake.capability_minor = 0;
	job_make(&job, HY_METRIC_L2, HY_F32, 64, 90, 700, 5, PLAIN);
	CHECK(finds_all(0, &job, false));

	filter_least = NULL;
	job_make(&job, HY_METRIC_L2, HY_F32, 64, 90, 700, 5, PLAIN);
	CHECK(!finds_all(0, &job, false));
	filter_least = "1";

	/* the budget says that there is memory, and CUDA that there is none */
	device = open_one(0);
	job_make(&job, HY_METRIC_L2, HY_F32, 64, 90, 700, 5, PLAIN);
	hy_fake_fail("cudaMalloc", 1, cudaErrorMemoryAllocation);
	CHECK_INT(run(device, &job.task, NULL), HY_OK);
	job_check(&job);
	/* and the next one has it */
	CHECK_INT(finish(device, &job, &filtered), HY_OK);
	CHECK(filtered);
	job_check(&job);
	job_free(&job, device);
	close_one(device);
}

/* every row is a candidate: lists overflow, and then the filter is left alone */
static void
useless_filters_are_given_up(void)
{
	HyDevice *device = open_one(0);
	bool filtered;
	int kernels;
	Job job;

	job_make(&job, HY_METRIC_L2, HY_F32, 40, 90, 2500, 5, PLAIN);
	kernels = hy_fake_kernels();
	CHECK_INT(finish(device, &job, &filtered), HY_OK);
	CHECK(filtered);
	job_check(&job);
	kernels = hy_fake_kernels() - kernels;
	printf("# %d kernels\n", kernels);
	job_free(&job, device);
	job_make(&job, HY_METRIC_L2, HY_F32, 40, 90, 2500, 5, EQUAL);
	{
		int before = hy_fake_kernels();

		CHECK_INT(finish(device, &job, &filtered), HY_OK);
		job_check(&job);
		printf("# %d kernels where the filter is useless\n", hy_fake_kernels() - before);
		CHECK(hy_fake_kernels() - before < kernels);
	}
	job_free(&job, device);
	close_one(device);
}

static void
rows_beyond_a_limit_are_left_out(void)
{
	double limits[70];
	Job job;
	int q;

	job_make(&job, HY_METRIC_COSINE, HY_F32, 32, 70, 900, 12, PLAIN);
	for (q = 0; q < 70; q++)
	{
		int32_t *count = &job.expected_counts[q];

		limits[q] = q % 10 == 0 ? NAN : job.expected[q * 12 + q % 12].distance;
		while (*count > 0 && job.expected[q * 12 + *count - 1].distance > limits[q])
			(*count)--;
		if (q % 10 != 0)
			CHECK(*count >= q % 12 + 1);
	}
	job.task.u.topk.limits = limits;
	CHECK(finds_all(0, &job, false));
}

/* other tasks before and after it, whose scratch is the same */
static void
tasks_take_turns(void)
{
	HyDevice *device = open_one(0);
	int i;

	for (i = 0; i < 4; i++)
	{
		bool filtered;
		Job job;

		job_make(&job, HY_METRIC_L2, HY_F32, 33, i % 2 ? 3 : 70, 600, 7, PLAIN);
		CHECK_INT(finish(device, &job, &filtered), HY_OK);
		job_check(&job);
		job_free(&job, device);
	}
	close_one(device);
}

static void
a_cancel_stops_between_pieces(void)
{
	HyDevice *device = open_one(UINT64_C(5) << 20);
	HyTicket ticket;
	HyTimings timings;
	size_t touched = 0;
	size_t bytes;
	bool done;
	int polls;
	int after;
	Job job;

	job_make(&job, HY_METRIC_L2, HY_F32, 300, 130, 900, 5, PLAIN);
	bytes = (size_t) job.entries * sizeof(HyNeighbor);
	for (after = 0; after < 20; after += 3)
	{
		done = false;
		CHECK_INT(cuda->submit(device, &job.task, &ticket), HY_OK);
		for (polls = 0; polls < after && !done; polls++)
			CHECK_INT(cuda->poll(device, ticket, &done, &timings), HY_OK);
		CHECK(!done);
		cuda->cancel(device, ticket);
		memset(job.out, 0x5a, bytes);
		for (polls = 0; !done && polls < 100; polls++)
		{
			HyStatus status = cuda->poll(device, ticket, &done, &timings);

			CHECK_INT(status, done ? HY_CANCELLED : HY_OK);
		}
		CHECK(done);
		for (touched = 0; touched < bytes && ((const char *) job.out)[touched] == 0x5a; touched++)
			;
		CHECK_INT(touched, bytes);
	}
	CHECK_INT(run(device, &job.task, NULL), HY_OK);
	job_check(&job);
	job_free(&job, device);
	close_one(device);
}

static void
check_job(const void *job)
{
	job_check(job);
}

/* whichever call fails: a status, nothing left behind, and the next task is right */
static void
each_call_may_fail(void)
{
	Trial trial;
	Job job;

	job_make(&job, HY_METRIC_COSINE, HY_F32, 30, 20, 300, 2, PLAIN);
	trial = (Trial){.task = &job.task,
	                .check = check_job,
	                .job = &job,
	                .answer = {{job.out, (size_t) job.entries * sizeof(HyNeighbor)},
	                           {job.counts, 20 * sizeof(int32_t)}}};
	trial_failures(&trial, UINT64_C(5) << 20, 60);
	job_free(&job, NULL);
}

int
main(void)
{
	host.setting = setting;
	if (!plug_in())
		return 1;
	RUN(every_kind_is_filtered);
	RUN(every_kind_is_filtered_in_fp16);
	RUN(groups_and_pieces);
	RUN(others_go_the_canonical_way);
	RUN(useless_filters_are_given_up);
	RUN(rows_beyond_a_limit_are_left_out);
	RUN(tasks_take_turns);
	RUN(a_cancel_stops_between_pieces);
	RUN(each_call_may_fail);
	return unit_finish();
}
