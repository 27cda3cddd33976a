/*
 * plugin_topk_test.c
 *		'topk' through the vtable, on the fake device: answers, pieces, limits, cancel, failures.
 */
#include "plugged.h"

#include "core/distance.h"
#include "core/topk.h"

static UnitRandom randomness = {12};

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
} Job;

static void
job_make(Job *job, HyMetric metric, HyDtype dtype, int32_t dims, int64_t queries, int64_t rows,
         int32_t k, size_t gap)
{
	size_t element = hy_dtype_size(dtype);
	size_t stride = ((size_t) dims + gap) * element;
	HyTopKTask *t = &job->task.u.topk;
	int64_t i;

	memset(job, 0, sizeof(*job));
	job->entries = queries * k;
	job->target_bytes = (size_t) rows * stride + 1;
	job->targets = calloc(job->target_bytes, 1);
	job->queries = malloc((size_t) (queries * dims + 1) * sizeof(float));
	job->out = malloc((size_t) (job->entries + 1) * sizeof(HyNeighbor));
	job->expected = malloc((size_t) (job->entries + 1) * sizeof(HyNeighbor));
	job->counts = malloc((size_t) (queries + 1) * sizeof(int32_t));
	job->expected_counts = malloc((size_t) (queries + 1) * sizeof(int32_t));
	for (i = 0; i < rows * dims; i++)
	{
		/* of few values, so that some distances are equal */
		float value = (float) unit_random_below(&randomness, 5) - 2;
		uint16_t half = hy_float_to_half(value);

		memcpy(job->targets + (size_t) (i / dims) * stride + (size_t) (i % dims) * element,
		       dtype == HY_F32 ? (void *) &value : (void *) &half, element);
	}
	for (i = 0; i < queries * dims; i++)
		job->queries[i] = (float) unit_random_below(&randomness, 5) - 2;
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

static void
job_free(Job *job)
{
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
		CHECK_MSG(job->counts[q] == job->expected_counts[q], "query %lld has %d, expected %d",
		          (long long) q, (int) job->counts[q], (int) job->expected_counts[q]);
		for (i = 0; i < job->expected_counts[q] && i < job->counts[q]; i++)
		{
			const HyNeighbor *is = &job->out[q * t->k + i];
			const HyNeighbor *should = &job->expected[q * t->k + i];

			CHECK_MSG(is->row == should->row && unit_same_f64(is->distance, should->distance),
			          "query %lld [%d] is %lld at %a, expected %lld at %a", (long long) q, (int) i,
			          (long long) is->row, is->distance, (long long) should->row, should->distance);
		}
	}
	/* nothing behind the answers was touched */
	CHECK_INT(job->out[job->entries].row, INT64_C(0x5a5a5a5a5a5a5a5a));
	CHECK_INT(job->counts[t->queries.rows], 0x5a5a5a5a);
}

/* make_resident: the job's rows into a buffer of the device, behind offset bytes of others. */
static void
make_resident(HyDevice *device, Job *job, size_t offset, HyBuffer **buffer)
{
	HyMatrix *targets = &job->task.u.topk.targets;

	CHECK_INT(cuda->buf_alloc(device, offset + job->target_bytes, buffer), HY_OK);
	CHECK_INT(cuda->upload(device, *buffer, offset, job->targets, job->target_bytes), HY_OK);
	targets->data = NULL;
	targets->buffer = *buffer;
	targets->offset = offset;
}

static void
caps_and_estimates(void)
{
	HyShape shape = {HY_OP_TOPK, HY_F16, HY_METRIC_IP, 768, 10, 1000, 20, false};
	HyEstimate estimate;
	HyCaps caps = cuda->caps(NULL, &shape);
	HyDevice *device;
	HyTicket ticket;
	Job job;

	CHECK(caps.ok && caps.max_targets > 1000000000);
	CHECK_INT(caps.max_k, 128);
	CHECK_INT(caps.numeric_class, HY_CLASS_EXACT);
	estimate = cuda->estimate(NULL, &shape);
	CHECK_INT(estimate.bytes_up, 10 * 768 * 4 + 1000 * 768 * 2 + 10 * 20 * 16);
	CHECK_INT(estimate.bytes_down, 10 * 20 * 16);
	shape.resident = true;
	CHECK_INT(cuda->estimate(NULL, &shape).bytes_up, 10 * 768 * 4 + 10 * 20 * 16);
	/* k as views ask for it, and beyond what there is */
	shape.k = 0;
	CHECK(cuda->estimate(NULL, &shape).device_bytes > 0);
	shape.k = INT32_MAX;
	CHECK_INT(cuda->caps(NULL, &shape).max_k, 128);
	CHECK_INT(cuda->estimate(NULL, &shape).device_bytes, 0);

	device = open_one(0);
	job_make(&job, HY_METRIC_L2, HY_F32, 5, 1, 200, 129, 0);
	CHECK_INT(cuda->submit(device, &job.task, &ticket), HY_UNSUPPORTED);
	job_free(&job);
	job_make(&job, HY_METRIC_L2, HY_F32, 5, 1, 200, 128, 0);
	job.task.u.topk.counts = NULL;
	CHECK_INT(cuda->submit(device, &job.task, &ticket), HY_INVALID);
	job.task.u.topk.counts = job.counts;
	CHECK_INT(run(device, &job.task, NULL), HY_OK);
	job_check(&job);
	job_free(&job);
	close_one(device);
}

/* every kind; what the estimate says of bytes is what a task then reports */
static void
nearest_of_rows_anywhere(void)
{
	HyDevice *device = open_one(0);
	int metric;
	int dtype;
	int resident;

	for (metric = 0; metric < HY_METRIC_COUNT; metric++)
	{
		for (dtype = 0; dtype < HY_DTYPE_COUNT; dtype++)
		{
			for (resident = 0; resident < 2; resident++)
			{
				HyBuffer *buffer = NULL;
				HyTimings timings = {0};
				HyEstimate estimate;
				HyTicket ticket;
				HyShape shape;
				HyStatus status;
				bool done = false;
				Job job;

				job_make(&job, (HyMetric) metric, (HyDtype) dtype, 7, 3, 400, 20, metric % 2 * 3);
				if (resident)
					make_resident(device, &job, 24, &buffer);
				shape = hy_task_shape(&job.task);
				estimate = cuda->estimate(device, &shape);
				status = cuda->submit(device, &job.task, &ticket);
				CHECK_INT(status, HY_OK);
				/* asynchronous: no answer yet */
				CHECK_INT(job.out[0].row, INT64_C(0x5a5a5a5a5a5a5a5a));
				while (status == HY_OK && !done)
					status = cuda->poll(device, ticket, &done, &timings);
				CHECK_INT(status, HY_OK);
				job_check(&job);
				CHECK_INT(timings.bytes_up, estimate.bytes_up);
				CHECK_INT(timings.bytes_down, estimate.bytes_down);
				if (resident)
				{
					/* rows beyond the buffer */
					job.task.u.topk.targets.rows++;
					CHECK_INT(run(device, &job.task, NULL), HY_INVALID);
				}
				cuda->buf_free(device, buffer);
				job_free(&job);
			}
		}
	}
	close_one(device);
}

static void
fewer_rows_than_asked_for(void)
{
	HyDevice *device = open_one(0);
	Job job;

	job_make(&job, HY_METRIC_L2, HY_F32, 5, 3, 4, 10, 0);
	CHECK_INT(run(device, &job.task, NULL), HY_OK);
	job_check(&job);
	CHECK_INT(job.counts[0], 4);
	job_free(&job);
	/* rows without an angle are no answers */
	job_make(&job, HY_METRIC_COSINE, HY_F32, 1, 2, 50, 45, 0);
	job.queries[1] = 0;
	CHECK_INT(hy_topk_search(HY_METRIC_COSINE, &job.task.u.topk.queries, &job.task.u.topk.targets,
	                         45, job.expected, job.expected_counts, NULL),
	          HY_OK);
	CHECK_INT(run(device, &job.task, NULL), HY_OK);
	job_check(&job);
	CHECK_INT(job.counts[1], 0);
	job_free(&job);
	job_make(&job, HY_METRIC_L2, HY_F32, 5, 3, 0, 10, 0);
	CHECK_INT(run(device, &job.task, NULL), HY_OK);
	CHECK_INT(job.counts[0] + job.counts[1] + job.counts[2], 0);
	job_check(&job);
	job_free(&job);
	job_make(&job, HY_METRIC_L2, HY_F32, 5, 0, 10, 10, 0);
	CHECK_INT(run(device, &job.task, NULL), HY_OK);
	job_check(&job);
	job_free(&job);
	close_one(device);
}

/* a budget so small that queries go in groups and rows in many pieces */
static void
many_pieces(void)
{
	int resident;

	for (resident = 0; resident < 2; resident++)
	{
		HyDevice *device = open_one(UINT64_C(1) << 20);
		HyBuffer *buffer = NULL;
		int polls;
		Job job;

		CHECK(hy_fake_used() <= UINT64_C(1) << 20);
		job_make(&job, resident ? HY_METRIC_L1 : HY_METRIC_COSINE, HY_F32, 1200, 50, 90, 60, 0);
		if (resident)
			make_resident(device, &job, 0, &buffer);
		CHECK_INT(run(device, &job.task, &polls), HY_OK);
		CHECK(polls > 2);
		job_check(&job);
		job_free(&job);
		/* few dims: groups end where their k best no longer fit */
		job_make(&job, HY_METRIC_IP, HY_F16, 3, 200, 150, 128, 0);
		CHECK_INT(run(device, &job.task, NULL), HY_OK);
		job_check(&job);
		job_free(&job);
		close_one(device);
	}
}

static void
kernels_keep_to_the_pace(void)
{
	HyDevice *device;
	Job job;
	int i;

	hy_fake.ns_an_element = 2;
	device = open_one(0);
	for (i = 0; i < 9; i++)
	{
		if (i == 8)
			(void) hy_fake_longest_kernel_us();
		job_make(&job, HY_METRIC_IP, HY_F32, 16000, 4, 100, 10, 0);
		CHECK_INT(run(device, &job.task, NULL), HY_OK);
		job_check(&job);
		job_free(&job);
		if (i == 0)
			CHECK(hy_fake_longest_kernel_us() > 6000);
	}
	CHECK(hy_fake_longest_kernel_us() <= 5000);
	close_one(device);
}

static void
rows_beyond_a_limit_are_left_out(void)
{
	static const double limits[] = {1, 0, -1, INFINITY, -INFINITY, NAN};
	HyDevice *device = open_one(0);
	Job job;
	int q;

	job_make(&job, HY_METRIC_L1, HY_F32, 3, 6, 120, 25, 0);
	job.task.u.topk.limits = limits;
	for (q = 0; q < 6; q++)
	{
		int32_t *count = &job.expected_counts[q];

		while (*count > 0 && job.expected[q * 25 + *count - 1].distance > limits[q])
			(*count)--;
	}
	CHECK(job.expected_counts[0] > 0 && job.expected_counts[0] < 25);
	CHECK_INT(job.expected_counts[2], 0);
	CHECK_INT(job.expected_counts[5], 25);
	CHECK_INT(run(device, &job.task, NULL), HY_OK);
	job_check(&job);
	job_free(&job);
	close_one(device);
}

/* other operations between, whose scratch is the same */
static void
operations_take_turns(void)
{
	HyDevice *device = open_one(0);
	HyTask distances = {.op = HY_OP_DISTANCE, .allocator = &memory.allocator};
	double *out;
	Job job;
	int i;

	for (i = 0; i < 3; i++)
	{
		job_make(&job, HY_METRIC_L2, HY_F32, 6, 4, 500, 10, 0);
		CHECK_INT(run(device, &job.task, NULL), HY_OK);
		job_check(&job);
		out = malloc(4 * 500 * sizeof(double));
		distances.u.distance = (HyDistanceTask){.metric = HY_METRIC_L2,
		                                        .queries = job.task.u.topk.queries,
		                                        .targets = job.task.u.topk.targets,
		                                        .out = out};
		CHECK_INT(run(device, &distances, NULL), HY_OK);
		CHECK_SAME_F64(out[job.expected[0].row], job.expected[0].distance);
		free(out);
		job_free(&job);
	}
	close_one(device);
}

static void
a_cancel_stops_between_pieces(void)
{
	HyDevice *device = open_one(UINT64_C(700) << 10);
	Stop stop = {3, 0};
	HyCancel cancel = {stop_requested, &stop};
	HyTicket ticket;
	HyTimings timings;
	bool done = false;
	int polls;
	int kernels;
	size_t bytes;
	size_t touched = 0;
	Job job;

	job_make(&job, HY_METRIC_L2, HY_F32, 1200, 10, 300, 10, 0);
	bytes = (size_t) job.entries * sizeof(HyNeighbor);
	job.task.cancel = &cancel;
	CHECK_INT(run(device, &job.task, &polls), HY_CANCELLED);
	CHECK(polls < 40);
	/* by the vtable's own function */
	job.task.cancel = NULL;
	CHECK_INT(cuda->submit(device, &job.task, &ticket), HY_OK);
	kernels = hy_fake_kernels();
	CHECK_INT(cuda->poll(device, ticket, &done, &timings), HY_OK);
	cuda->cancel(device, ticket);
	/* from now on the memory is the caller's */
	memset(job.out, 0x5a, bytes);
	for (polls = 0; !done && polls < 100; polls++)
	{
		HyStatus status = cuda->poll(device, ticket, &done, &timings);

		CHECK_INT(status, done ? HY_CANCELLED : HY_OK);
	}
	CHECK(done);
	while (touched < bytes && ((const char *) job.out)[touched] == 0x5a)
		touched++;
	CHECK_INT(touched, bytes);
	CHECK(hy_fake_kernels() - kernels <= 5);

	/* when all is queued but nothing was handed out */
	job.task.u.topk.targets.rows = 1;
	CHECK_INT(cuda->submit(device, &job.task, &ticket), HY_OK);
	cuda->cancel(device, ticket);
	for (done = false, polls = 0; !done && polls < 100; polls++)
	{
		HyStatus status = cuda->poll(device, ticket, &done, &timings);

		CHECK_INT(status, done ? HY_CANCELLED : HY_OK);
	}
	CHECK(done);

	/* and the next one is not touched by it */
	job.task.u.topk.targets.rows = 300;
	CHECK_INT(run(device, &job.task, NULL), HY_OK);
	job_check(&job);
	job_free(&job);
	close_one(device);
}

/* whichever call fails, in several pieces and groups: a status, nothing left behind, and the next
 * task is right */
static void
each_call_may_fail(void)
{
	int at;

	for (at = 1;; at++)
	{
		HyDevice *device = NULL;
		HyLimits limits = {.memory = UINT64_C(600) << 10};
		HyStatus status;
		Job job;
		int calls = 0;

		job_make(&job, HY_METRIC_COSINE, HY_F32, 4000, 5, 9, 20, 0);
		hy_fake_fail(NULL, at, cudaErrorMemoryAllocation);
		status = cuda->open(0, &limits, &device);
		CHECK(status == HY_OK || (status == HY_NOMEM && device == NULL));
		if (status == HY_OK)
		{
			status = run(device, &job.task, NULL);
			CHECK(status == HY_OK || status == HY_NOMEM);
			calls = hy_fake_calls();
			if (status != HY_OK)
				CHECK_INT(run(device, &job.task, NULL), HY_OK);
			job_check(&job);
			cuda->close(device);
		}
		job_free(&job);
		CHECK_INT(memory.outstanding, 0);
		CHECK_MSG(hy_fake_live() == 0, "%d left after a failure of call %d", hy_fake_live(), at);
		if (unit_failed_checks > 0 || (calls > 0 && calls < at))
			break;
	}
	printf("# %d places of failure\n", at);
	CHECK(at > 60);
}

int
main(void)
{
	if (!plug_in())
		return 1;
	RUN(caps_and_estimates);
	RUN(nearest_of_rows_anywhere);
	RUN(fewer_rows_than_asked_for);
	RUN(many_pieces);
	RUN(kernels_keep_to_the_pace);
	RUN(rows_beyond_a_limit_are_left_out);
	RUN(operations_take_turns);
	RUN(a_cancel_stops_between_pieces);
	RUN(each_call_may_fail);
	return unit_finish();
}
