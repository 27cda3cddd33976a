/*
 * plugin_test.c
 *		The whole plug-in, through its vtable, on the fake device: distances, pieces, limits, failures.
 *
 * An error that is for good latches the process, so those tests run in a child each.
 */
#include "plugged.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/distance.h"

static UnitRandom randomness = {11};

/* One distance task with its own data. */
typedef struct Job
{
	HyTask task;
	char *targets;
	size_t target_bytes;
	float *queries;
	double *out;
	double *expected;
	int64_t count;
} Job;

static void
job_make(Job *job, HyMetric metric, HyDtype dtype, int32_t dims, int64_t queries, int64_t rows,
         size_t gap)
{
	size_t element = hy_dtype_size(dtype);
	size_t stride = (size_t) dims * element + gap;
	HyDistanceTask *d = &job->task.u.distance;
	int64_t i;

	memset(job, 0, sizeof(*job));
	job->count = queries * rows;
	job->target_bytes = (size_t) rows * stride + 1;
	job->targets = malloc(job->target_bytes);
	job->queries = malloc((size_t) (queries * dims + 1) * sizeof(float));
	job->out = malloc((size_t) (job->count + 1) * sizeof(double));
	job->expected = malloc((size_t) (job->count + 1) * sizeof(double));
	for (i = 0; i < rows * dims; i++)
	{
		float value = unit_random_float(&randomness);
		uint16_t half = hy_float_to_half(value);

		memcpy(job->targets + (size_t) (i / dims) * stride + (size_t) (i % dims) * element,
		       dtype == HY_F32 ? (void *) &value : (void *) &half, element);
	}
	for (i = 0; i < queries * dims; i++)
		job->queries[i] = unit_random_float(&randomness);
	for (i = 0; i < job->count + 1; i++)
		job->out[i] = -77.0;

	job->task.op = HY_OP_DISTANCE;
	job->task.allocator = &memory.allocator;
	d->metric = metric;
	d->queries.dtype = HY_F32;
	d->queries.dims = dims;
	d->queries.rows = queries;
	d->queries.stride = (size_t) dims * sizeof(float);
	d->queries.data = job->queries;
	d->targets = d->queries;
	d->targets.dtype = dtype;
	d->targets.rows = rows;
	d->targets.stride = stride;
	d->targets.data = job->targets;
	d->out = job->out;
	/* the CPU wants its rows aligned: compute from a packed copy where they are not */
	if (gap % element == 0)
		CHECK_INT(hy_distance_matrix(metric, &d->queries, &d->targets, job->expected, NULL), HY_OK);
	else
	{
		HyMatrix packed = d->targets;
		char *copy = malloc((size_t) (rows * dims) * element);

		for (i = 0; i < rows; i++)
			memcpy(copy + (size_t) (i * dims) * element, job->targets + (size_t) i * stride,
			       (size_t) dims * element);
		packed.data = copy;
		packed.stride = (size_t) dims * element;
		CHECK_INT(hy_distance_matrix(metric, &d->queries, &packed, job->expected, NULL), HY_OK);
		free(copy);
	}
}

static void
job_free(Job *job)
{
	free(job->targets);
	free(job->queries);
	free(job->out);
	free(job->expected);
}

static void
job_check(const void *of)
{
	const Job *job = of;
	int64_t i;

	for (i = 0; i < job->count; i++)
		CHECK_MSG(unit_same_f64(job->out[i], job->expected[i]), "[%lld] is %a, expected %a",
		          (long long) i, job->out[i], job->expected[i]);
	CHECK_SAME_F64(job->out[job->count], -77.0);
}

static Trial
trial_of(Job *job)
{
	return (Trial){.task = &job->task,
	               .check = job_check,
	               .job = job,
	               .answer = {{job->out, (size_t) job->count * sizeof(double)}}};
}

static void
entry_checks_its_host(void)
{
	HyHost other = host;

	hy_fake_fail(NULL, 0, cudaSuccess);
	other.abi = HY_BACKEND_ABI + 1;
	CHECK(hy_plugin_entry(&other) == NULL);
	CHECK(hy_plugin_entry(NULL) == NULL);
	CHECK(hy_plugin_entry(&host) == cuda);
	CHECK_INT(cuda->abi, HY_BACKEND_ABI);
	CHECK_INT(cuda->size, sizeof(HyBackend));
	CHECK_STR(cuda->name, "cuda");
	/* it touched no device */
	CHECK_INT(hy_fake_calls(), 0);
}

static void
counts_and_probes_without_a_context(void)
{
	HyDeviceInfo info;
	HyFailure failure;
	int32_t count = -1;

	hy_fake.devices = 3;
	CHECK_INT(cuda->device_count(&count), HY_OK);
	CHECK_INT(count, 3);
	CHECK_INT(cuda->probe(2, &info), HY_OK);
	CHECK_INT(strlen(info.name), HY_NAME_LENGTH - 1);
	CHECK(strncmp(info.name, "Fake device", 11) == 0);
	CHECK_STR(info.architecture, "sm_90");
	CHECK_INT(info.cores, 4);
	CHECK_INT(info.memory_total, hy_fake.memory);
	CHECK(info.open_cost_ns > 0);
	CHECK(!info.virtual_time);
	CHECK_INT(cuda->probe(3, &info), HY_DEVICE_GONE);
	cuda->last_error(NULL, &failure);
	CHECK_INT(failure.native_code, cudaErrorInvalidDevice);
	CHECK_INT(hy_fake_live(), 0);
}

static void
absence_is_no_failure(void)
{
	HyDevice *device;
	HyFailure failure;
	int32_t count = -1;

	hy_fake.absent = cudaErrorNoDevice;
	CHECK_INT(cuda->device_count(&count), HY_OK);
	CHECK_INT(count, 0);
	cuda->last_error(NULL, &failure);
	CHECK_INT(failure.native_code, cudaErrorNoDevice);
	CHECK_INT(cuda->open(0, NULL, &device), HY_DEVICE_GONE);

	hy_fake.absent = cudaErrorInsufficientDriver;
	hy_fake.driver = 12020;
	CHECK_INT(cuda->device_count(&count), HY_OK);
	CHECK_INT(count, 0);
	cuda->last_error(NULL, &failure);
	CHECK_STR(failure.text, "the driver is for CUDA 12.2 at most, this build needs 13.0");
	hy_fake.driver = 0;
	CHECK_INT(cuda->device_count(&count), HY_OK);
	cuda->last_error(NULL, &failure);
	CHECK_STR(failure.text, "no CUDA driver: libcuda.so.1 was not found or does not work");

	hy_fake.absent = cudaErrorSystemNotReady;
	CHECK_INT(cuda->device_count(&count), HY_TRANSIENT);
	CHECK_INT(count, 0);
	CHECK_INT(memory.outstanding, 0);
}

static void
caps_and_estimates(void)
{
	HyShape shape = {HY_OP_DISTANCE, HY_F32, HY_METRIC_COSINE, 768, 10, 1000, 0, false};
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

/* what the estimate says of bytes is what a task then reports */
static void
distances_from_host_memory(void)
{
	HyDevice *device = open_one(0);
	Job job;
	int metric;
	int dtype;

	for (metric = 0; metric < HY_METRIC_COUNT; metric++)
	{
		for (dtype = 0; dtype < HY_DTYPE_COUNT; dtype++)
		{
			HyTicket ticket;
			HyTimings timings = {0};
			HyEstimate estimate;
			HyShape shape;
			bool done = false;
			HyStatus status;

			job_make(&job, (HyMetric) metric, (HyDtype) dtype, 70, 3, 40, metric == 1 ? 8 : 0);
			shape = hy_task_shape(&job.task);
			estimate = cuda->estimate(device, &shape);
			status = cuda->submit(device, &job.task, &ticket);
			CHECK_INT(status, HY_OK);
			/* asynchronous: nothing has happened yet */
			CHECK_SAME_F64(job.out[0], -77.0);
			while (status == HY_OK && !done)
				status = cuda->poll(device, ticket, &done, &timings);
			CHECK_INT(status, HY_OK);
			job_check(&job);
			CHECK_INT(timings.bytes_up, estimate.bytes_up);
			CHECK_INT(timings.bytes_down, estimate.bytes_down);
			CHECK(timings.total_ns > 0);
			/* the ticket is gone */
			CHECK_INT(cuda->poll(device, ticket, &done, &timings), HY_INVALID);
			job_free(&job);
		}
	}
	/* rows at odd addresses, as in the pages of an index */
	job_make(&job, HY_METRIC_L2, HY_F32, 9, 2, 30, 3);
	CHECK_INT(run(device, &job.task, NULL), HY_OK);
	job_check(&job);
	job_free(&job);
	close_one(device);
}

static void
empty_tasks(void)
{
	HyDevice *device = open_one(0);
	Job job;

	job_make(&job, HY_METRIC_L2, HY_F32, 5, 0, 10, 0);
	CHECK_INT(run(device, &job.task, NULL), HY_OK);
	job_free(&job);
	job_make(&job, HY_METRIC_L2, HY_F32, 5, 10, 0, 0);
	CHECK_INT(run(device, &job.task, NULL), HY_OK);
	job_free(&job);
	close_one(device);
}

/* a budget so small that queries go in groups and rows in many pieces */
static void
many_pieces(void)
{
	HyDevice *device = open_one(UINT64_C(600) << 10);
	Job job;
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
		job_check(&job);
		job_free(&job);
		cuda->buf_free(device, buffer);
	}
	close_one(device);
}

static void
kernels_keep_to_the_pace(void)
{
	Trial trial;
	Job job;

	job_make(&job, HY_METRIC_IP, HY_F32, 16000, 4, 100, 0);
	trial = trial_of(&job);
	/* a device of half a GB/s */
	trial_pace(&trial, 2);
	job_free(&job);
}

static void
resident_rows(void)
{
	HyDevice *device = open_one(0);
	HyBuffer *buffer = NULL;
	HyMatrix *targets;
	Job job;
	char *back;
	int dtype;

	for (dtype = 0; dtype < HY_DTYPE_COUNT; dtype++)
	{
		size_t element = hy_dtype_size((HyDtype) dtype);
		size_t offset = 12 * element;

		job_make(&job, HY_METRIC_COSINE, (HyDtype) dtype, 33, 5, 50, 2 * element);
		CHECK_INT(cuda->buf_alloc(device, offset + job.target_bytes, &buffer), HY_OK);
		back = malloc(offset + job.target_bytes);
		CHECK_INT(cuda->download(device, buffer, 0, back, offset + job.target_bytes), HY_OK);
		/* it reads as zero, whatever was there */
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
		job_check(&job);

		/* rows beyond the buffer, rows between elements */
		targets->rows++;
		CHECK_INT(run(device, &job.task, NULL), HY_INVALID);
		targets->rows--;
		targets->offset = offset + 1;
		CHECK_INT(run(device, &job.task, NULL), HY_INVALID);
		targets->offset = UINT64_MAX - element + 1;
		CHECK_INT(run(device, &job.task, NULL), HY_INVALID);
		cuda->buf_free(device, buffer);
		job_free(&job);
	}
	CHECK_INT(cuda->buf_alloc(device, 100, &buffer), HY_OK);
	CHECK_INT(cuda->upload(device, buffer, 90, "0123456789a", 11), HY_INVALID);
	CHECK_INT(cuda->upload(device, buffer, UINT64_MAX, "x", 2), HY_INVALID);
	CHECK_INT(cuda->upload(device, buffer, 100, "", 0), HY_OK);
	/* close gives back what the caller forgot */
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

	/* without a limit: 80% of what is free, and what is missing is memory */
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
	Job job;

	job_make(&job, HY_METRIC_L2, HY_F32, 20, 1, 20, 0);
	CHECK_INT(cuda->submit(device, &job.task, &ticket), HY_OK);
	CHECK_INT(cuda->submit(device, &job.task, &second), HY_BUSY);
	CHECK_INT(cuda->poll(device, ticket + 1, &done, &timings), HY_INVALID);
	while (!done)
		CHECK_INT(cuda->poll(device, ticket, &done, &timings), HY_OK);
	job_check(&job);
	job.task.op = (HyOp) HY_OP_COUNT;
	CHECK_INT(cuda->submit(device, &job.task, &ticket), HY_UNSUPPORTED);
	job.task.op = HY_OP_DISTANCE;
	job.task.u.distance.out = NULL;
	CHECK_INT(cuda->submit(device, &job.task, &ticket), HY_INVALID);
	/* closed with a task in flight */
	job.task.u.distance.out = job.out;
	CHECK_INT(cuda->submit(device, &job.task, &ticket), HY_OK);
	close_one(device);
	job_free(&job);
}

static void
a_cancel_stops_between_pieces(void)
{
	HyDevice *device = open_one(UINT64_C(600) << 10);
	Trial trial;
	Job job;

	job_make(&job, HY_METRIC_L2, HY_F32, 1200, 10, 300, 0);
	trial = trial_of(&job);
	trial_cancel(device, &trial, 3);
	job_free(&job);
	close_one(device);
}

static void
open_twice_is_busy(void)
{
	HyDevice *device = open_one(0);
	HyDevice *second;

	CHECK_INT(cuda->open(0, NULL, &second), HY_BUSY);
	CHECK(second == NULL);
	close_one(device);
	CHECK_INT(hy_fake_resets(), 1);
	CHECK_INT(cuda->open(-1, NULL, &second), HY_DEVICE_GONE);
	CHECK_INT(cuda->open(1, NULL, &second), HY_DEVICE_GONE);
	/* a context that was there before is left alone */
	hy_fake.foreign_context = 1;
	device = open_one(0);
	close_one(device);
	CHECK_INT(hy_fake_resets(), 1);
}

/* whichever call fails, of a life from open to close: a status, and nothing left behind */
static void
each_call_may_fail(void)
{
	int at;

	for (at = 1;; at++)
	{
		HyDevice *device = NULL;
		HyBuffer *buffer = NULL;
		HyStatus status;
		Job job;
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
				job_check(&job);
			/* the device is as good as before */
			calls = hy_fake_calls();
			if (status != HY_OK)
			{
				CHECK_INT(run(device, &job.task, NULL), HY_OK);
				job_check(&job);
			}
			cuda->close(device);
		}
		else
		{
			CHECK_INT(status, HY_NOMEM);
			CHECK(device == NULL);
			calls = 0;
		}
		job_free(&job);
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

/* in_child: runs a test where it may spoil the process. */
static void
in_child(void (*function)(void))
{
	pid_t child;
	int status = 0;

	fflush(stdout);
	signal(SIGCHLD, SIG_DFL); /* where it is ignored, no status is kept */
	child = fork();
	if (child == 0)
	{
		unit_failed_checks = 0;
		function();
		fflush(stdout);
		_exit(unit_failed_checks == 0 ? 0 : 1);
	}
	CHECK(waitpid(child, &status, 0) == child);
	CHECK_MSG(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with %d", status);
}

static void
sticky_error(void)
{
	HyDevice *device = open_one(0);
	HyDevice *second;
	HyFailure failure;
	HyBuffer *buffer;
	uint64_t bytes;
	Job job;

	job_make(&job, HY_METRIC_L2, HY_F32, 40, 2, 9, 0);
	hy_fake_fail("kernel", 1, cudaErrorIllegalAddress);
	CHECK_INT(run(device, &job.task, NULL), HY_PROCESS_LOST);
	cuda->last_error(device, &failure);
	CHECK_INT(failure.native_code, cudaErrorIllegalAddress);
	CHECK(strlen(failure.text) > 10);
	CHECK_INT(run(device, &job.task, NULL), HY_PROCESS_LOST);
	CHECK_INT(cuda->buf_alloc(device, 10, &buffer), HY_PROCESS_LOST);
	CHECK_INT(cuda->mem_info(device, &bytes, &bytes), HY_PROCESS_LOST);
	cuda->close(device);
	CHECK_INT(memory.outstanding, 0);
	/* for good, though this fake is healthy again */
	hy_fake_reset();
	CHECK_INT(cuda->open(0, NULL, &second), HY_PROCESS_LOST);
	cuda->last_error(NULL, &failure);
	CHECK_INT(failure.native_code, cudaErrorIllegalAddress);
	job_free(&job);
}

static void
a_sticky_error_is_for_good(void)
{
	/* the children are forks of a process that has used the device: they get a plug-in that
	 * thinks it is fresh only if the fork happens first, which main sees to */
	in_child(sticky_error);
}

static HyDevice *inherited;

static void
child_of_an_open_device(void)
{
	HyTicket ticket;
	HyFailure failure;
	HyDevice *device;
	HyBuffer *buffer;
	int32_t count;
	uint64_t bytes;
	Job job;

	job_make(&job, HY_METRIC_L2, HY_F32, 40, 2, 9, 0);
	hy_fake_fail(NULL, 0, cudaSuccess);
	CHECK_INT(cuda->submit(inherited, &job.task, &ticket), HY_PROCESS_LOST);
	cuda->last_error(inherited, &failure);
	CHECK(strstr(failure.text, "fork") != NULL);
	CHECK_INT(cuda->buf_alloc(inherited, 10, &buffer), HY_PROCESS_LOST);
	CHECK_INT(cuda->mem_info(inherited, &bytes, &bytes), HY_PROCESS_LOST);
	CHECK_INT(cuda->device_count(&count), HY_PROCESS_LOST);
	CHECK_INT(cuda->open(0, NULL, &device), HY_PROCESS_LOST);
	cuda->close(inherited);
	/* the driver was not asked once */
	CHECK_INT(hy_fake_calls(), 0);
	job_free(&job);
}

static void
a_fork_is_refused(void)
{
	HyBuffer *buffer;
	Job job;

	inherited = open_one(0);
	CHECK_INT(cuda->buf_alloc(inherited, 10, &buffer), HY_OK);
	in_child(child_of_an_open_device);
	/* and the parent goes on */
	job_make(&job, HY_METRIC_L2, HY_F32, 40, 2, 9, 0);
	CHECK_INT(run(inherited, &job.task, NULL), HY_OK);
	job_check(&job);
	job_free(&job);
	close_one(inherited);
}

static void
opening_leaves_signals_alone(void)
{
	HyDevice *device;
	sigset_t before;
	sigset_t after;
	int32_t count;

	sigemptyset(&before);
	sigaddset(&before, SIGUSR2);
	sigprocmask(SIG_SETMASK, &before, NULL);
	CHECK_INT(cuda->device_count(&count), HY_OK);
	device = open_one(0);
	sigprocmask(SIG_SETMASK, NULL, &after);
	CHECK(sigismember(&after, SIGUSR2) == 1);
	CHECK(sigismember(&after, SIGINT) == 0 && sigismember(&after, SIGTERM) == 0);
	hy_fake_fail("cudaMalloc", 2, cudaErrorMemoryAllocation);
	close_one(device);
	CHECK_INT(cuda->open(0, NULL, &device), HY_NOMEM);
	sigprocmask(SIG_SETMASK, NULL, &after);
	CHECK(sigismember(&after, SIGINT) == 0);
	sigemptyset(&before);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

int
main(void)
{
	if (!plug_in())
		return 1;
	RUN(a_sticky_error_is_for_good);
	RUN(entry_checks_its_host);
	RUN(counts_and_probes_without_a_context);
	RUN(absence_is_no_failure);
	RUN(caps_and_estimates);
	RUN(distances_from_host_memory);
	RUN(empty_tasks);
	RUN(many_pieces);
	RUN(kernels_keep_to_the_pace);
	RUN(resident_rows);
	RUN(memory_has_a_budget);
	RUN(another_task_is_told_busy);
	RUN(a_cancel_stops_between_pieces);
	RUN(open_twice_is_busy);
	RUN(each_call_may_fail);
	RUN(a_fork_is_refused);
	RUN(opening_leaves_signals_alone);
	return unit_finish();
}
