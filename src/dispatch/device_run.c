/*
 * device_run.c
 *		One task on one device: submit, wait, give up.
 *
 * A task's memory is touched only inside the backend's calls, so a ticket that is never polled
 * again can no longer write into it: that is what makes it safe to walk away from a device that
 * does not even answer a cancel.
 */
#include "dispatch/executor_state.h"

#include <stdio.h>
#include <string.h>

#define SPINS 64 /* polls before the first wait: many tasks end in microseconds */
#define FIRST_WAIT_NS 20000
#define LONGEST_WAIT_NS 1000000
#define GRACE_NS UINT64_C(50000000) /* for a cancelled task to end */

static HyStatus wait_for(HyExecutor *executor, HyMember *member, const HyTask *task,
                         HyTicket ticket, HyDeviceRun *run);
static void
wait_a_little(HyExecutor *executor, const HyTimings *timings, uint64_t left, uint64_t *step);
static HyStatus
give_up(HyExecutor *executor, HyMember *member, HyTicket ticket, HyStatus status, HyDeviceRun *run);
static uint64_t now_ns(const HyExecutor *executor);

void
hy_device_run(HyExecutor *executor, HyMember *member, const HyTask *task, HyDeviceRun *run)
{
	HyTicket ticket;
	HyStatus st;

	memset(run, 0, sizeof(*run));
	run->started_ns = now_ns(executor);
	st = member->backend->submit(member->device, task, &ticket);
	if (st == HY_OK)
		st = wait_for(executor, member, task, ticket, run);
	/* A number out of range, or a cancel that nobody asked for, is the backend's mistake. */
	if ((int) st < 0 || (int) st >= HY_STATUS_COUNT ||
	    (st == HY_CANCELLED && !hy_cancelled(task->cancel)))
		st = HY_BUG;
	run->status = st;
	if (st == HY_OK)
		run->finished_ns = now_ns(executor);
	else if (run->failure.text[0] == '\0' && !run->hung)
	{
		member->backend->last_error(member->device, &run->failure);
		run->failure.text[HY_TEXT_LENGTH - 1] = '\0';
	}
}

static HyStatus
wait_for(HyExecutor *executor, HyMember *member, const HyTask *task, HyTicket ticket,
         HyDeviceRun *run)
{
	uint64_t limit = executor->config.timeout_ns > 0 ? executor->config.timeout_ns : UINT64_MAX;
	uint64_t step = FIRST_WAIT_NS;
	int spins = 0;

	for (;;)
	{
		bool done = false;
		HyStatus st = member->backend->poll(member->device, ticket, &done, &run->timings);
		uint64_t passed;

		if (st != HY_OK || done)
			return st;
		if (hy_cancelled(task->cancel))
			return give_up(executor, member, ticket, HY_CANCELLED, run);
		if (run->timings.remaining_ns == 0 && ++spins < SPINS)
			continue;
		passed = now_ns(executor) - run->started_ns;
		if (passed >= limit)
		{
			snprintf(run->failure.text, sizeof(run->failure.text), "no answer within %llu ms",
			         (unsigned long long) (limit / 1000000));
			return give_up(executor, member, ticket, HY_TIMEOUT, run);
		}
		wait_a_little(executor, &run->timings, limit - passed, &step);
	}
}

/* wait_a_little: as long as the device said, or a step that grows; at most what is left. */
static void
wait_a_little(HyExecutor *executor, const HyTimings *timings, uint64_t left, uint64_t *step)
{
	const HyClock *clock = executor->clock;
	uint64_t ns = timings->remaining_ns > 0 ? timings->remaining_ns : *step;

	if (ns > left)
		ns = left;
	if (timings->may_skip && clock->skip != NULL)
	{
		clock->skip(clock->arg, (int64_t) ns);
		return;
	}
	clock->wait(clock->arg, ns < LONGEST_WAIT_NS ? ns : LONGEST_WAIT_NS);
	if (timings->remaining_ns == 0 && *step < LONGEST_WAIT_NS)
		*step = *step * 2 < LONGEST_WAIT_NS ? *step * 2 : LONGEST_WAIT_NS;
}

/* give_up: asks the device to stop and waits a little for it to do so; returns status. */
static HyStatus
give_up(HyExecutor *executor, HyMember *member, HyTicket ticket, HyStatus status, HyDeviceRun *run)
{
	uint64_t since = now_ns(executor);

	member->backend->cancel(member->device, ticket);
	for (;;)
	{
		bool done = false;
		HyStatus st = member->backend->poll(member->device, ticket, &done, &run->timings);

		/* It may have died of it; that is worth more than a timeout. */
		if (st == HY_PROCESS_LOST || st == HY_DEVICE_GONE || st == HY_CONTEXT_LOST)
			return status == HY_CANCELLED ? status : st;
		if (st != HY_OK || done)
			return status;
		if (now_ns(executor) - since >= GRACE_NS)
		{
			run->hung = true;
			return status;
		}
		executor->clock->wait(executor->clock->arg, LONGEST_WAIT_NS);
	}
}

static uint64_t
now_ns(const HyExecutor *executor)
{
	return executor->clock->now(executor->clock->arg);
}
