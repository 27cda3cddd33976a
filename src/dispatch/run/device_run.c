/*
 * device_run.c
 *		Runs tasks on devices: submit, poll, cancel.
 *
 * A flight is one task in flight on one device.  It is started and then polled until it is over.
 * Between polls the caller may do other work or poll other flights.  If a backend submits a task to
 * the device in parts, each poll may submit the next part.  So whenever a task has progressed, it
 * is polled again without a wait, as at the start.  As long as it does not progress, the waits
 * between polls grow.
 *
 * A device may need a moment to stop after a cancel.  The caller need not wait for that, because a
 * backend does not touch the task's memory after cancel (backend.h).  The ticket is kept as a
 * leftover (member.c).
 */
#include "dispatch/run/device_run.h"

#include <stdio.h>
#include <string.h>

#include "dispatch/route/gauge.h"
#include "dispatch/route/session.h"
#include "dispatch/run/member.h"

/* polls before the first wait; many tasks, or their parts, end within microseconds */
#define SPINS 64
#define FIRST_WAIT_NS 20000
#define LONGEST_WAIT_NS 1000000

static bool wait_for_turn(HyExecutor *executor, HyMember *member, const HyShape *shape,
                          const HyCancel *cancel, HyDeviceRun *run, int32_t *slot);
static bool still_running(HyExecutor *executor, HyFlight *flight, HyStatus *status);
static HyStatus give_up(HyExecutor *executor, HyFlight *flight, HyStatus status);
static bool conclude(HyExecutor *executor, HyFlight *flight, HyStatus status);
static uint64_t queue_now(const HyExecutor *executor);
static bool answer_in_range(const HyTask *task);
static bool scores_in_range(const HyScoreTask *score);

void
hy_device_run(HyExecutor *executor, HyMember *member, const HyTask *task, const HyShape *shape,
              HyDeviceRun *run)
{
	HyFlight flight;
	int32_t slot;

	if (!wait_for_turn(executor, member, shape, task->cancel, run, &slot))
		return;
	hy_flight_start(executor, member, task, shape->resident, &flight);
	while (!hy_flight_over(executor, &flight))
	{
		bool may_skip;
		uint64_t ns = hy_flight_poll_delay(executor, &flight, &may_skip);

		if (ns > 0)
			hy_wait(executor, ns, may_skip);
	}
	*run = flight.run;
	run->shared = hy_device_shared(executor, slot);
	hy_device_leave(executor, slot);
}

int32_t
hy_device_ask(HyExecutor *executor, const HyMember *member, double ns, bool whole)
{
	if (!executor->queued)
		return HY_NO_QUEUE;
	return hy_queue_ask(&executor->queue_client, (int32_t) (member - executor->member), ns, whole,
	                    queue_now(executor));
}

bool
hy_device_granted(HyExecutor *executor, int32_t slot)
{
	int32_t depth = executor->config.queue_depth;

	if (slot < 0)
		return slot == HY_NO_QUEUE;
	return hy_queue_granted(&executor->queue_client, slot, depth < 1 ? 1 : depth,
	                        queue_now(executor));
}

double
hy_device_quantum(const HyExecutor *executor, int32_t device)
{
	return executor->queued ? hy_queue_quantum(&executor->queue_client, device, queue_now(executor))
	                        : 0;
}

bool
hy_device_shared(const HyExecutor *executor, int32_t slot)
{
	return slot >= 0 && !hy_queue_alone(&executor->queue_client, slot);
}

void
hy_device_leave(HyExecutor *executor, int32_t slot)
{
	if (slot >= 0)
		hy_queue_leave(&executor->queue_client, slot);
}

void
hy_flight_start(HyExecutor *executor, HyMember *member, const HyTask *task, bool resident,
                HyFlight *flight)
{
	HyStatus st;

	memset(flight, 0, sizeof(*flight));
	flight->member = member;
	flight->task = task;
	flight->limit_ns = executor->config.timeout_ns > 0 ? executor->config.timeout_ns : UINT64_MAX;
	flight->step_ns = FIRST_WAIT_NS;
	flight->run.started_ns = hy_now(executor);
	st = member->backend->submit(member->device, task, &flight->ticket);
	/* the device may have closed itself while the task waited for a slot */
	if (st == HY_CONTEXT_LOST && hy_member_idle(member) && !resident)
	{
		hy_member_close(executor, member);
		st = hy_member_open(executor, member, hy_now(executor));
		/* the time to open the device does not count as the task's time */
		flight->run.started_ns = hy_now(executor);
		if (st == HY_OK)
			st = member->backend->submit(member->device, task, &flight->ticket);
		else
			flight->run.failure = member->open_failure;
	}
	if (st == HY_OK)
		flight->in_flight = true;
	else
		conclude(executor, flight, st);
}

bool
hy_flight_over(HyExecutor *executor, HyFlight *flight)
{
	HyStatus st;

	if (!flight->in_flight)
		return true;
	if (still_running(executor, flight, &st))
		return false;
	return conclude(executor, flight, st);
}

void
hy_flight_stop(HyExecutor *executor, HyFlight *flight)
{
	if (!flight->in_flight)
		return;
	flight->run.status = give_up(executor, flight, HY_CANCELLED);
	flight->in_flight = false;
}

uint64_t
hy_flight_poll_delay(HyExecutor *executor, HyFlight *flight, bool *may_skip)
{
	uint64_t ns = flight->run.timings.remaining_ns;
	uint64_t passed;

	*may_skip = false;
	if (!flight->in_flight || (ns == 0 && flight->spins < SPINS))
		return 0;
	*may_skip = flight->run.timings.may_skip && flight->member->info.virtual_time;
	if (ns == 0)
	{
		ns = flight->step_ns;
		if (flight->step_ns < LONGEST_WAIT_NS)
			flight->step_ns = ns * 2 < LONGEST_WAIT_NS ? ns * 2 : LONGEST_WAIT_NS;
	}
	passed = hy_now(executor) - flight->run.started_ns;
	if (passed >= flight->limit_ns)
		return 0;
	return ns < flight->limit_ns - passed ? ns : flight->limit_ns - passed;
}

void
hy_wait(HyExecutor *executor, uint64_t ns, bool may_skip)
{
	const HyClock *clock = executor->clock;

	if (may_skip && clock->skip != NULL)
		clock->skip(clock->arg, (int64_t) ns);
	else
		clock->wait(clock->arg, ns < LONGEST_WAIT_NS ? ns : LONGEST_WAIT_NS);
}

/*
 * wait_for_turn: wait for a slot in the device's queue.  If the task gets no slot, returns false,
 * and *run has the reason.
 */
static bool
wait_for_turn(HyExecutor *executor, HyMember *member, const HyShape *shape, const HyCancel *cancel,
              HyDeviceRun *run, int32_t *slot)
{
	uint64_t since;
	double ns;

	*slot = HY_NO_QUEUE;
	if (!executor->queued)
		return true;
	memset(run, 0, sizeof(*run));
	since = hy_now(executor);
	ns = hy_tracker_predict(executor->tracker, shape, (int32_t) (member - executor->member));
	*slot = hy_device_ask(executor, member, ns > 0 ? ns : 0, true);
	while (!hy_device_granted(executor, *slot))
	{
		if (hy_cancelled(cancel))
			run->status = HY_CANCELLED;
		else if (*slot < 0 || hy_now(executor) - since >= hy_turn_limit(executor))
		{
			run->status = HY_BUSY;
			snprintf(run->failure.text, sizeof(run->failure.text), "%s",
			         *slot < 0 ? "too many wait for it" : "others had it all the time");
		}
		if (run->status != HY_OK)
		{
			if (run->status == HY_BUSY)
				hy_turn_missed(executor, member, hy_now(executor) - since);
			hy_device_leave(executor, *slot);
			return false;
		}
		executor->clock->wait(executor->clock->arg, HY_QUEUE_LOOK_NS);
	}
	hy_turn_came(member);
	return true;
}

/*
 * still_running: poll the device, and return true while the task runs.  Otherwise, *status is the
 * outcome.  Cancels the task on request, or when its timeout has passed.
 */
static bool
still_running(HyExecutor *executor, HyFlight *flight, HyStatus *status)
{
	HyMember *member = flight->member;
	HyTimings *timings = &flight->run.timings;
	bool done = false;

	unsigned char truth;

	*status = member->backend->poll(member->device, flight->ticket, &done, timings);
	/* a byte other than 0 and 1 is not a valid bool and must not be read as one */
	memcpy(&truth, &timings->may_skip, 1);
	timings->may_skip = truth != 0;
	if (*status != HY_OK || done)
		return false;
	if (hy_cancelled(flight->task->cancel))
	{
		*status = give_up(executor, flight, HY_CANCELLED);
		return false;
	}
	if (timings->total_ns != flight->moved_ns)
	{
		flight->moved_ns = timings->total_ns;
		flight->step_ns = FIRST_WAIT_NS;
		flight->spins = 0;
	}
	else if (timings->remaining_ns == 0 && ++flight->spins < SPINS)
		return true;
	if (hy_now(executor) - flight->run.started_ns < flight->limit_ns)
		return true;
	snprintf(flight->run.failure.text, sizeof(flight->run.failure.text), "no answer within %llu ms",
	         (unsigned long long) (flight->limit_ns / 1000000));
	*status = give_up(executor, flight, HY_TIMEOUT);
	return false;
}

/*
 * give_up: cancel the task on the device, and poll once to see whether the task has stopped.
 * Returns `status`.  If a task timed out and the poll shows that the device is lost, returns the
 * status of the poll.  If the caller canceled the task, a loss is not reported here: a loss is
 * permanent, so the next task finds it at submit.
 */
static HyStatus
give_up(HyExecutor *executor, HyFlight *flight, HyStatus status)
{
	HyMember *member = flight->member;
	HyTimings ignored;
	bool done = false;
	HyStatus st;

	member->backend->cancel(member->device, flight->ticket);
	st = member->backend->poll(member->device, flight->ticket, &done, &ignored);
	if (st == HY_OK && !done)
	{
		if (member->leftovers == 0)
			member->left_ns = hy_now(executor);
		if (member->leftovers < HY_MAX_FLIGHTS)
			member->leftover[member->leftovers++] = flight->ticket;
		return status;
	}
	/* The timeout may be due to the loss of the device, and the loss matters more. */
	if (status != HY_CANCELLED &&
	    (st == HY_PROCESS_LOST || st == HY_DEVICE_GONE || st == HY_CONTEXT_LOST))
		return st;
	return status;
}

/* conclude: end the flight with this status; always returns true. */
static bool
conclude(HyExecutor *executor, HyFlight *flight, HyStatus status)
{
	HyDeviceRun *run = &flight->run;
	HyMember *member = flight->member;

	flight->in_flight = false;
	/*
	 * A status out of range, or HY_CANCELLED without a cancel by the caller, is a bug of the
	 * backend.
	 */
	if ((int) status < 0 || (int) status >= HY_STATUS_COUNT ||
	    (status == HY_CANCELLED && !hy_cancelled(flight->task->cancel)))
		status = HY_BUG;
	if (status == HY_OK && !answer_in_range(flight->task))
	{
		snprintf(run->failure.text, sizeof(run->failure.text),
		         "it named rows that it was not given");
		status = HY_BUG;
	}
	if (run->timings.bytes_up > INT64_MAX || run->timings.bytes_down > INT64_MAX)
		run->timings.bytes_up = run->timings.bytes_down = 0;
	run->status = status;
	if (status == HY_OK)
		run->finished_ns = hy_now(executor);
	else if (run->failure.text[0] == '\0')
	{
		member->backend->last_error(member->device, &run->failure);
		hy_clean_text(run->failure.text, sizeof(run->failure.text));
	}
	return true;
}

/*
 * answer_in_range: return whether all counts and row numbers in the answer are valid.  The caller
 * reads rows by these numbers, so it must not get invalid ones.  The distances cannot be checked.
 */
static bool
answer_in_range(const HyTask *task)
{
	const HyTopKTask *t = &task->u.topk;
	int64_t q;
	int32_t i;

	if (task->op == HY_OP_SCORE_CODES)
		return scores_in_range(&task->u.score);
	if (task->op == HY_OP_ASSIGN)
	{
		const HyAssignTask *a = &task->u.assign;

		for (q = 0; q < a->rows.rows; q++)
		{
			if (a->nearest[q] < 0 || a->nearest[q] >= a->centroids.rows)
				return false;
		}
		return true;
	}
	if (task->op != HY_OP_TOPK)
		return true;
	for (q = 0; q < t->queries.rows; q++)
	{
		if (t->counts[q] < 0 || t->counts[q] > t->k)
			return false;
		for (i = 0; i < t->counts[q]; i++)
		{
			int64_t row = t->out[q * t->k + i].row;

			if (row < 0 || row >= t->targets.rows)
				return false;
		}
	}
	return true;
}

/*
 * scores_in_range: return whether all counts and row numbers in the answer of a score_codes task
 * are valid.  The number of a dead row is invalid.
 */
static bool
scores_in_range(const HyScoreTask *score)
{
	const HyScoreRows *rows = &score->rows;
	int64_t low = (int64_t) rows->first * HY_CODE_ROWS;
	int64_t q;
	int32_t i;

	for (q = 0; q < score->queries.count; q++)
	{
		if (score->counts[q] < 0 || score->counts[q] > score->k)
			return false;
		for (i = 0; i < score->counts[q]; i++)
		{
			int64_t row = score->out[q * score->k + i].row;

			if (row < low || row >= low + hy_score_rows(rows) ||
			    (rows->live[row / HY_CODE_ROWS] >> row % HY_CODE_ROWS & 1) == 0)
				return false;
		}
	}
	return true;
}

/* queue_now: return the time by the clock that all clients of the queue share. */
static uint64_t
queue_now(const HyExecutor *executor)
{
	const HyClock *clock =
		executor->queue_client.clock != NULL ? executor->queue_client.clock : executor->clock;

	return clock->now(clock->arg);
}
