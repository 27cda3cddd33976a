/*
 * plugged.h
 *		Code shared by the tests of the whole plug-in: its host, a device, running a task to its
 *		end, and checks that every operation must pass (work limit, cancel, failures).
 */
#ifndef HY_TEST_PLUGGED_H
#define HY_TEST_PLUGGED_H

#include "unit.h"

#include "cuda/device.h"
#include "dispatch/backend.h"
#include "fake.h"

extern const HyBackend *hy_plugin_entry(const HyHost *host);

static UnitMemory memory;
static HyHost host;
static int host_threads = 3; /* number of threads on which the host runs parts */
static int64_t host_parts;   /* parts that the host has run so far */
static const HyBackend *cuda;

typedef struct Stop
{
	int after; /* number of queries before the stop */
	int asked; /* number of queries so far */
} Stop;

static UNIT_UNUSED bool
stop_requested(void *arg)
{
	Stop *stop = arg;

	return ++stop->asked > stop->after;
}

/*
 * run: submit a task and poll it to its end.  Stores the number of polls in *polls unless that is
 * NULL.
 */
static UNIT_UNUSED HyStatus
run(HyDevice *device, const HyTask *task, int *polls)
{
	HyTicket ticket;
	HyTimings timings = {0};
	HyStatus status = cuda->submit(device, task, &ticket);
	bool done = false;
	int n = 0;

	while (status == HY_OK && !done)
	{
		status = cuda->poll(device, ticket, &done, &timings);
		n++;
		CHECK(n < 1000000);
	}
	if (polls != NULL)
		*polls = n;
	return status;
}

static UNIT_UNUSED HyDevice *
open_one(uint64_t limit)
{
	HyLimits limits = {.memory = limit};
	HyDevice *device = NULL;

	CHECK_INT(cuda->open(0, &limits, &device), HY_OK);
	CHECK(device != NULL);
	return device;
}

static UNIT_UNUSED void
close_one(HyDevice *device)
{
	cuda->close(device);
	CHECK_INT(hy_fake_live(), 0);
	CHECK_INT(hy_fake_leaked(), 0);
	CHECK_INT(memory.outstanding, 0);
	/* all kernels were loaded when the device was opened */
	CHECK_INT(hy_fake_late_loads(), 0);
	CHECK_MSG(hy_fake_fault() == NULL, "a kernel went wrong");
}

/* run_parts: implement HyHost.run on host_threads threads, even for little work. */
static HyStatus
run_parts(void *arg, HyOp op, double work, int64_t parts, HyPart part, void *part_arg)
{
	(void) arg;
	CHECK((int) op >= 0 && op < HY_OP_COUNT);
	CHECK(work > 0 && parts > 1);
	host_parts += parts;
	return hy_threads_run_soon(host_threads, parts, part, part_arg, NULL);
}

/* plug_in: return whether the plug-in accepts this host. */
static bool
plug_in(void)
{
	unit_memory_init(&memory, 0);
	host.abi = HY_BACKEND_ABI;
	host.clock = &hy_monotonic_clock;
	host.allocator = &memory.allocator;
	host.run = run_parts;
	cuda = hy_plugin_entry(&host);
	return cuda != NULL;
}

/* Trial: a task, the memory of its answers, and a function that checks the answers. */
typedef struct Trial
{
	HyTask *task;
	void (*check)(const void *job);
	const void *job;
	struct
	{
		void *at;
		size_t bytes;
	} answer[3];
	bool up_unknown; /* no estimate tells how many bytes are uploaded */
} Trial;

static UNIT_UNUSED void
trial_forget(const Trial *trial)
{
	size_t i;

	for (i = 0; i < sizeof(trial->answer) / sizeof(trial->answer[0]); i++)
	{
		if (trial->answer[i].bytes > 0)
			memset(trial->answer[i].at, 0x5a, trial->answer[i].bytes);
	}
}

static bool
untouched(const void *at, size_t bytes)
{
	size_t byte;

	for (byte = 0; byte < bytes; byte++)
	{
		if (((const char *) at)[byte] != 0x5a)
			return false;
	}
	return true;
}

/* trial_untouched: return whether the answers are unchanged since trial_forget. */
static UNIT_UNUSED bool
trial_untouched(const Trial *trial)
{
	return untouched(trial->answer[0].at, trial->answer[0].bytes) &&
	       untouched(trial->answer[1].at, trial->answer[1].bytes) &&
	       untouched(trial->answer[2].at, trial->answer[2].bytes);
}

/*
 * of_tasks: return the number of host allocations, without the structs of the pool's blocks, which
 * stay.
 */
static UNIT_UNUSED int64_t
of_tasks(const HyDevice *device)
{
	int64_t outstanding = memory.outstanding;
	const HyCudaBlock *block;

	for (block = device->pool.blocks; block != NULL; block = block->next)
		outstanding--;
	return outstanding;
}

/*
 * trial_run: run a task.  The answers must be right, and only the pool may keep memory of the task.
 */
static UNIT_UNUSED void
trial_run(HyDevice *device, const Trial *trial)
{
	uint64_t used = device->used;
	int64_t outstanding = of_tasks(device);

	trial_forget(trial);
	CHECK_INT(run(device, trial->task, NULL), HY_OK);
	trial->check(trial->job);
	CHECK_INT(device->used, used);
	CHECK_INT(hy_fake_used(), used + device->pool.held - device->pool.taken);
	CHECK_INT(of_tasks(device), outstanding);
}

/*
 * trial_counted: run a task and check its figures: the answers must be right, and the bytes that
 * were transferred must be those of the estimate.  Returns the device memory that the task took.
 */
static UNIT_UNUSED uint64_t
trial_counted(HyDevice *device, const Trial *trial)
{
	HyShape shape = hy_task_shape(trial->task);
	HyEstimate estimate = cuda->estimate(device, &shape);
	uint64_t used = device->used;
	HyTimings timings = {0};
	HyTicket ticket;
	HyStatus status;
	uint64_t taken;
	bool done = false;

	trial_forget(trial);
	status = cuda->submit(device, trial->task, &ticket);
	taken = device->used - used;
	/* submit is asynchronous: no answer yet */
	CHECK(untouched(trial->answer[0].at, trial->answer[0].bytes));
	while (status == HY_OK && !done)
	{
		uint64_t ended = device->task.ended;
		uint64_t moved = timings.total_ns;

		status = cuda->poll(device, ticket, &done, &timings);
		/* total_ns advances exactly if a piece was collected */
		CHECK(done || (timings.total_ns > moved) == (device->task.ended > ended));
	}
	CHECK_INT(status, HY_OK);
	trial->check(trial->job);
	CHECK(trial->up_unknown || timings.bytes_up == estimate.bytes_up);
	CHECK_INT(timings.bytes_down, estimate.bytes_down);
	CHECK(timings.total_ns > 0);
	/* the ticket is no longer valid */
	CHECK_INT(cuda->poll(device, ticket, &done, &timings), HY_INVALID);
	return taken;
}

/*
 * calls_of: return the number of CUDA calls in submit and the last poll of a task of one piece.
 * Sets *launched to the number of kernels.
 */
static UNIT_UNUSED int
calls_of(HyDevice *device, const HyTask *task, int *launched)
{
	HyTimings timings;
	HyTicket ticket;
	bool done = false;
	int calls = 0;

	*launched = hy_fake_kernels();
	hy_fake_fail(NULL, 0, cudaSuccess);
	CHECK_INT(cuda->submit(device, task, &ticket), HY_OK);
	calls += hy_fake_calls();
	while (!done)
	{
		hy_fake_fail(NULL, 0, cudaSuccess);
		CHECK_INT(cuda->poll(device, ticket, &done, &timings), HY_OK);
	}
	*launched = hy_fake_kernels() - *launched;
	return calls + hy_fake_calls();
}

/*
 * trial_pace: check that the work limit adapts: on a slow device, the first kernels take too long,
 * and later ones do not.
 */
static UNIT_UNUSED void
trial_pace(const Trial *trial, double ns_an_element)
{
	HyDevice *device;
	double us;
	int i;

	hy_fake.ns_an_element = ns_an_element;
	device = open_one(0);
	for (i = 0; i < 9; i++)
	{
		if (i == 8)
			(void) hy_fake_longest_kernel_us();
		trial_run(device, trial);
		if (i == 0)
			CHECK(hy_fake_longest_kernel_us() > 6000);
	}
	us = hy_fake_longest_kernel_us();
	CHECK_MSG(us > 500 && us <= 5000, "%g us", us);
	close_one(device);
}

/*
 * trial_stop: cancel a task after `after` polls.  From then on, the plug-in must not write to the
 * task's memory.
 */
static UNIT_UNUSED void
trial_stop(HyDevice *device, const Trial *trial, int after, int most_kernels)
{
	uint64_t used = device->used;
	HyTicket ticket;
	HyTimings timings;
	bool done = false;
	int kernels;
	int polls;

	CHECK_INT(cuda->submit(device, trial->task, &ticket), HY_OK);
	for (polls = 0; polls < after; polls++)
		CHECK_INT(cuda->poll(device, ticket, &done, &timings), HY_OK);
	CHECK(!done);
	cuda->cancel(device, ticket + 1); /* of another task: has no effect */
	cuda->cancel(device, ticket);
	kernels = hy_fake_kernels();
	trial_forget(trial);
	for (polls = 0; !done && polls < 100; polls++)
	{
		HyStatus status = cuda->poll(device, ticket, &done, &timings);

		CHECK_INT(status, done ? HY_CANCELLED : HY_OK);
	}
	CHECK(done);
	CHECK(trial_untouched(trial));
	CHECK(hy_fake_kernels() - kernels <= most_kernels);
	CHECK_INT(device->used, used);
}

/*
 * trial_cancel: cancel a task of many pieces through its HyCancel and through the vtable.  The next
 * task must be right.
 */
static UNIT_UNUSED void
trial_cancel(HyDevice *device, const Trial *trial, int most_kernels)
{
	Stop stop = {3, 0};
	HyCancel cancel = {stop_requested, &stop};
	int after;
	int polls;

	trial->task->cancel = &cancel;
	CHECK_INT(run(device, trial->task, &polls), HY_CANCELLED);
	CHECK(polls < 40);
	trial->task->cancel = NULL;
	for (after = 0; after < 4; after++)
		trial_stop(device, trial, after, most_kernels);
	trial_run(device, trial);
}

/*
 * trial_failures: let each CUDA call fail in turn, from open to close.  Each failure must give a
 * status and leave nothing behind, and the next task must be right.  On a late device, only every
 * tenth call fails.
 */
static UNIT_UNUSED void
trial_failures(const Trial *trial, uint64_t limit, int least_places)
{
	int at;

	for (at = 1;; at += hy_fake.late ? 10 : 1)
	{
		HyDevice *device = NULL;
		HyLimits limits = {.memory = limit};
		HyStatus status;
		int calls = 0;

		trial_forget(trial);
		hy_fake_fail(NULL, at, cudaErrorMemoryAllocation);
		status = cuda->open(0, &limits, &device);
		CHECK(status == HY_OK || (status == HY_NOMEM && device == NULL));
		if (status == HY_OK)
		{
			status = run(device, trial->task, NULL);
			CHECK(status == HY_OK || status == HY_NOMEM);
			calls = hy_fake_calls();
			if (status != HY_OK)
				trial_run(device, trial);
			trial->check(trial->job);
			cuda->close(device);
		}
		CHECK_INT(memory.outstanding, 0);
		CHECK_MSG(hy_fake_live() == 0, "%d left after a failure of call %d", hy_fake_live(), at);
		if (unit_failed_checks > 0 || (calls > 0 && calls < at))
			break;
	}
	printf("# %d places of failure\n", at);
	CHECK(at > least_places);
}

static void
fresh(void (*function)(void), const char *name)
{
	hy_fake_reset();
	unit_run(name, function);
}

#define RUN(function) fresh(function, #function)

#endif
