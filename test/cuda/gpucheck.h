/*
 * gpucheck.h
 *		Code shared by the parts of gpucheck: the device, the random numbers, and running a task to
 *		its end.
 */
#ifndef HY_TEST_GPUCHECK_H
#define HY_TEST_GPUCHECK_H

#include "unit.h"

#include "dispatch/backend.h"

static const HyBackend *cuda;
static HyDevice *device;
static UnitRandom randomness = {2024};
static int32_t number;
static bool small; /* run under a sanitizer or on the fake device */

static uint64_t
now(void)
{
	return hy_monotonic_clock.now(hy_monotonic_clock.arg);
}

static void
say_failure(HyDevice *of, const char *doing, HyStatus status)
{
	HyFailure failure;

	cuda->last_error(of, &failure);
	unit_fail(__FILE__, __LINE__, "%s: %s (%d: %s)", doing, hy_status_name(status),
	          (int) failure.native_code, failure.text);
}

static HyStatus
finish(HyTicket ticket, HyTimings *timings)
{
	uint64_t start = now();
	bool done = false;
	HyStatus status = HY_OK;

	while (status == HY_OK && !done)
	{
		status = cuda->poll(device, ticket, &done, timings);
		if (now() - start > UINT64_C(60) * 1000 * 1000 * 1000)
		{
			unit_fail(__FILE__, __LINE__, "no end after 60 s");
			cuda->cancel(device, ticket);
			start = now();
		}
	}
	return status;
}

typedef struct Stop
{
	uint64_t at;
} Stop;

static bool
stop_requested(void *arg)
{
	return now() >= ((Stop *) arg)->at;
}

/*
 * expect_cancel: check that a long task ends within 100 ms after a cancel.  The cancel is requested
 * `after` milliseconds after the start.  If `small` is set, a large device would finish the task at
 * once.  Then the cancel is requested immediately, and the task may take 30 s to end.
 */
static UNIT_UNUSED void
expect_cancel(HyTask *task, int64_t after)
{
	uint64_t room = UINT64_C(1000) * 1000 * (small ? 30000 : 100);
	Stop stop;
	HyCancel cancel = {stop_requested, &stop};
	HyTimings timings;
	HyTicket ticket;
	HyStatus status;
	uint64_t late;

	task->cancel = &cancel;
	stop.at = now() + (uint64_t) (small ? 0 : after * 1000 * 1000);
	status = cuda->submit(device, task, &ticket);
	if (status == HY_OK)
		status = finish(ticket, &timings);
	late = now() - stop.at;
	CHECK_INT(status, HY_CANCELLED);
	CHECK_MSG(late < room, "%llu us late", (unsigned long long) late / 1000);
	printf("# cancelled %llu us after it was asked\n", (unsigned long long) late / 1000);
	task->cancel = NULL;
}

#endif
