/*
 * attempt.c
 *		Tries a task on a device, and reports the outcome to the device's breaker.
 *
 * The effect of each status of an attempt:
 *
 *	NOMEM, QUOTA, BUSY, UNSUPPORTED		do not affect the breaker
 *	TRANSIENT, TIMEOUT, BUG, INVALID	counted by the breaker (the task was checked before)
 *	CONTEXT_LOST						counted; the context is closed, and the task is retried once
 *										in a new one if the breaker allows it and the task is not
 *										resident (its rows were lost with the context)
 *	PROCESS_LOST						every device of that backend is latched off
 *	DEVICE_GONE							that device is latched off
 *	CANCELLED							ignored
 *
 * A device that does not react to a cancel counts as busy and is later latched off (member.c).  If a
 * context closed itself because it was idle, a resident task that needed it counts neither as an
 * attempt nor as a failure.
 */
#include "dispatch/run/attempt.h"

#include <stdio.h>
#include <string.h>

#include "dispatch/route/budget.h"
#include "dispatch/route/session.h"
#include "dispatch/run/member.h"

static HyStatus attempt(HyExecutor *executor, HyMember *member, const HyTask *task,
                        HyDecision *decision, HyDeviceRun *run);
static HyStatus gone(HyDeviceRun *run);
static bool ready(HyExecutor *executor, HyMember *member, HyDeviceRun *run);
static HyOutcome outcome_of(HyStatus status);

HyStatus
hy_attempt_run(HyExecutor *executor, const HyTask *task, HyDecision *decision, HyDeviceRun *run)
{
	HyMember *member = &executor->member[decision->device];
	HyOp op = decision->shape.op;
	HyCounters *counters = &member->counters[op];
	HyStatus st = attempt(executor, member, task, decision, run);
	uint64_t ns;

	decision->status = st;
	decision->failure = run->failure;
	if (st == HY_CONTEXT_LOST && !member->latched)
	{
		/* a resident task is not retried, because its rows were lost with the context */
		if (!decision->shape.resident || member->residency != NULL)
			hy_member_close(executor, member);
		if (!decision->shape.resident &&
		    hy_breaker_would_allow(&member->breakers[op], hy_now(executor)))
			st = attempt(executor, member, task, decision, run);
	}
	/* if the context could not be opened, the size of the task is not the cause */
	if ((st == HY_NOMEM || st == HY_QUOTA) && member->device != NULL)
		hy_member_refused(member, decision->bytes_required, hy_now(executor));
	if (st != HY_OK)
		return st;
	hy_member_fitted(member, decision->bytes_required);
	ns = run->finished_ns - run->started_ns;
	hy_count_call(counters, decision->items, ns);
	counters->bytes_up += run->timings.bytes_up;
	counters->bytes_down += run->timings.bytes_down;
	if (!run->shared)
		hy_tracker_record(executor->tracker, &decision->shape, decision->device, ns);
	return HY_OK;
}

/*
 * attempt: open the device if necessary, run the task once, count the attempt and report its
 * outcome.
 */
static HyStatus
attempt(HyExecutor *executor, HyMember *member, const HyTask *task, HyDecision *decision,
        HyDeviceRun *run)
{
	HyOp op = decision->shape.op;
	bool resident = decision->shape.resident;

	if (resident && hy_member_idle(member))
		return gone(run);
	if (!hy_attempt_begin(executor, member, op, run))
	{
		if (run->status == HY_PROCESS_LOST)
			hy_attempt_report(executor, member, op, run->status);
		return run->status;
	}
	/* the device was reopened, so its resident rows are gone */
	if (resident && member->residency == NULL)
	{
		hy_attempt_report(executor, member, op, HY_CANCELLED);
		return gone(run);
	}
	decision->virtual_time = decision->virtual_time || member->info.virtual_time;
	hy_device_run(executor, member, task, &decision->shape, run);
	if (resident && run->status == HY_CONTEXT_LOST && hy_member_idle(member))
	{
		hy_attempt_report(executor, member, op, HY_CANCELLED);
		return gone(run);
	}
	hy_count_attempt(&member->counters[op], run->status);
	hy_attempt_report(executor, member, op, run->status);
	return run->status;
}

/*
 * gone: set the outcome of a resident task whose context has closed itself, so that its rows are
 * lost.  This counts neither as an attempt nor as a failure.  If the breaker has allowed a probe,
 * the caller has ended the probe.  An open probe would keep every session from probing the device
 * until it times out.
 */
static HyStatus
gone(HyDeviceRun *run)
{
	memset(run, 0, sizeof(*run));
	run->status = HY_CONTEXT_LOST;
	snprintf(run->failure.text, sizeof(run->failure.text), "%s",
	         "nobody had used it, and it closed itself");
	return HY_CONTEXT_LOST;
}

bool
hy_attempt_begin(HyExecutor *executor, HyMember *member, HyOp op, HyDeviceRun *run)
{
	int32_t device = (int32_t) (member - executor->member);
	HyBreaker *breaker = &member->breakers[op];
	HyBreakerState before = breaker->state;

	memset(run, 0, sizeof(*run));
	if (!hy_share_allow(&executor->share, device, op, breaker, hy_now(executor)))
	{
		/*
		 * In the meantime, the device has failed in another process, or another process is probing
		 * it. This counts neither as an attempt nor as a failure.
		 */
		run->status = HY_BUSY;
		snprintf(run->failure.text, sizeof(run->failure.text), "%s",
		         "another session found it failing, or is trying it");
		return false;
	}
	if (breaker->state != before)
		executor->generation++;
	if (breaker->state != before && breaker->state == HY_BREAKER_HALF_OPEN)
		hy_log(executor, "device %d (%s %d) is tried again for %s",
		       (int) (member - executor->member), member->name, (int) member->number,
		       hy_op_name(op));
	if (ready(executor, member, run))
	{
		hy_member_yield(executor, member);
		return true;
	}
	hy_count_attempt(&member->counters[op], run->status);
	if (run->status != HY_PROCESS_LOST)
		hy_attempt_report(executor, member, op, run->status);
	return false;
}

/*
 * ready: ensure that the device is open under the current memory limit.  On failure, *run has the
 * reason.
 */
static bool
ready(HyExecutor *executor, HyMember *member, HyDeviceRun *run)
{
	if (hy_member_idle(member))
		hy_member_close(executor, member);
	if (member->device != NULL && !hy_member_settle(executor, member))
	{
		run->status = HY_BUSY;
		snprintf(run->failure.text, sizeof(run->failure.text), "%s",
		         member->latched ? "it does not answer" : "an earlier task has not ended yet");
		return false;
	}
	if (member->device != NULL && member->opened_limit != executor->config.memory_limit)
		hy_member_close(executor, member);
	if (member->device != NULL)
		return true;
	run->status = hy_member_open(executor, member, hy_now(executor));
	if ((int) run->status < 0 || (int) run->status >= HY_STATUS_COUNT ||
	    run->status == HY_CANCELLED)
		run->status = HY_BUG;
	if (run->status == HY_OK)
		return true;
	run->failure = member->open_failure;
	return false;
}

void
hy_attempt_report(HyExecutor *executor, HyMember *member, HyOp op, HyStatus status)
{
	HyBreaker *breaker = &member->breakers[op];

	if (hy_share_report(&executor->share, (int32_t) (member - executor->member), op, breaker,
	                    hy_now(executor), outcome_of(status), executor->config.success_threshold))
	{
		executor->generation++;
		if (breaker->state == HY_BREAKER_OPEN)
			hy_log(executor, "device %d (%s %d) fails at %s and is left alone for %llu ms",
			       (int) (member - executor->member), member->name, (int) member->number,
			       hy_op_name(op), (unsigned long long) (breaker->open_for_ns / 1000000));
		else
			hy_log(executor, "device %d (%s %d) is trusted again with %s",
			       (int) (member - executor->member), member->name, (int) member->number,
			       hy_op_name(op));
	}
	if (status == HY_PROCESS_LOST)
		hy_member_latch(executor, member, true, false, "lost this process its context");
	else if (status == HY_DEVICE_GONE)
		hy_member_latch(executor, member, false, false, "has left");
}

/* outcome_of: return what a status shows about the device, as listed in the head of this file. */
static HyOutcome
outcome_of(HyStatus status)
{
	switch (status)
	{
		case HY_OK:
			return HY_OUTCOME_SUCCESS;
		case HY_TRANSIENT:
		case HY_TIMEOUT:
		case HY_CONTEXT_LOST:
		case HY_INVALID:
		case HY_BUG:
			return HY_OUTCOME_FAILURE;
		case HY_UNSUPPORTED:
		case HY_NOMEM:
		case HY_QUOTA:
		case HY_BUSY:
		case HY_CANCELLED:
		case HY_PROCESS_LOST:
		case HY_DEVICE_GONE:
			break;
	}
	return HY_OUTCOME_NONE;
}
