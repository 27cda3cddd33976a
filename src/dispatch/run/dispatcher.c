/*
 * dispatcher.c
 *		Implements hy_dispatch: decide, run, fall back, record.
 *
 * decide.c chooses the CPU or a device, attempt.c tries a device, and pieces.c runs a task in
 * pieces.
 *
 * The results of a failed attempt are discarded, and the CPU computes every output again.  If the
 * user forced a device (gpu or a name), its status is returned instead.
 *
 * The dispatcher never gives a device buffer to its caller, so a task with inputs in a buffer is
 * HY_INVALID here.  resident.c runs tasks over rows that stay on a device, and finds the rows by
 * key.
 *
 * For a call on the CPU, the dispatcher reads the clock twice and allocates nothing.  A call that
 * repeats an earlier decision costs a look-up and a write to one cache line (memo.h).
 */
#include "dispatch/run/dispatcher.h"

#include <stdio.h>
#include <string.h>

#include "dispatch/model/slice.h"
#include "dispatch/route/gauge.h"
#include "dispatch/route/memo.h"
#include "dispatch/run/attempt.h"
#include "dispatch/run/flush.h"
#include "dispatch/run/pieces.h"
#include "dispatch/run/record.h"

static void ended_on_cpu(HyDecision *decision, HyStatus status);
static HyStatus failed_here(HyExecutor *executor, const HyBrief *like, uint64_t start, HyStatus st,
                            HyDecision *decision);
static HyStatus
decide_and_run(HyExecutor *executor, const HyTask *task, uint64_t start, HyDecision *decision);
static HyStatus
decide(HyExecutor *executor, HyClass numeric_class, HyDecision *decision, HyChoice *choice);
static HyStatus run(HyExecutor *executor, const HyTask *task, const HyChoice *choice,
                    HyDecision *decision, uint64_t *finished);
static void learn(HyExecutor *executor, const HyChoice *choice, HyClass numeric_class,
                  const HyDecision *decision, HyStatus st);
static void keep(HyExecutor *executor, const HyDecision *d, HyDecision *decision);
static HyStatus run_cpu(HyExecutor *executor, const HyTask *task, HyDecision *decision,
                        uint64_t started, uint64_t *finished);
static HyStatus run_away(HyExecutor *executor, const HyTask *task, const HyChoice *choice,
                         HyDecision *decision, uint64_t *finished);

HyStatus
hy_dispatch(HyExecutor *executor, const HyTask *task, HyDecision *decision)
{
	uint64_t start = hy_now(executor);
	int64_t targets;
	HyMemo *memo = hy_memo_recall(executor, task, start, &targets);
	HyMember *cpu = &executor->member[0];
	HyTicket ticket;
	HyTimings timings;
	HyBrief like;
	bool done;
	HyStatus st;

	if (memo == NULL)
		return decide_and_run(executor, task, start, decision);
	st = cpu->backend->submit(cpu->device, task, &ticket);
	if (__builtin_expect(st == HY_OK, 1))
		st = cpu->backend->poll(cpu->device, ticket, &done, &timings);
	if (__builtin_expect(st == HY_OK, 1))
	{
		uint64_t finished = hy_now(executor);

		hy_memo_log(executor, memo, targets, start, finished, decision);
		hy_flush_tick(executor, finished);
		return HY_OK;
	}
	hy_memo_brief(memo, targets, &like);
	return failed_here(executor, &like, start, st, decision);
}

/*
 * ended_on_cpu: set the status of a decision for the CPU.  On failure, clear the text about an
 * unusable device, because it does not explain why the CPU failed.
 */
static void
ended_on_cpu(HyDecision *decision, HyStatus status)
{
	decision->status = status;
	if (status == HY_OK)
		return;
	decision->failure.native_code = 0;
	decision->failure.text[0] = '\0';
}

/* failed_here: record a call that a memo had decided and that failed on the CPU. */
static HyStatus
failed_here(HyExecutor *executor, const HyBrief *like, uint64_t start, HyStatus st,
            HyDecision *decision)
{
	HyDecision local;
	HyDecision *d = decision != NULL ? decision : &local;
	HyCounters *counters = &executor->member[0].counters[like->op];

	if (executor->config.telemetry)
		d = hy_event_slot(executor);
	hy_brief_expand(executor, like, d);
	d->time_ns = start;
	d->actual_ns = hy_now(executor) - start;
	ended_on_cpu(d, st);
	counters->by_reason[d->reason]++;
	hy_count_attempt(counters, st);
	executor->spent_ns += (double) d->actual_ns;
	keep(executor, d, decision);
	hy_flush_tick(executor, start + d->actual_ns);
	return st;
}

/* decide_and_run: decide by all rules, without a memo, and run the task. */
static HyStatus
decide_and_run(HyExecutor *executor, const HyTask *task, uint64_t start, HyDecision *decision)
{
	HyDecision local;
	HyDecision *d = decision != NULL ? decision : &local;
	uint64_t finished;
	HyChoice choice;
	HyStatus st;

	if (executor->uncounted > 0)
		hy_memo_fold(executor, false);
	/* Write the decision directly into its event, because a copy costs as much as deciding. */
	if (executor->config.telemetry)
		d = hy_event_slot(executor);
	d->shape = hy_task_shape(task);
	hy_decision_begin(executor, start, d);
	/* it is not known here which device owns a buffer */
	st = d->shape.resident ? HY_INVALID : hy_task_check(task);
	if (st == HY_OK)
		st = decide(executor, task->numeric_class, d, &choice);
	if (st != HY_OK)
	{
		d->status = st;
		d->device = HY_NOWHERE;
		keep(executor, d, decision);
		return st;
	}
	st = run(executor, task, &choice, d, &finished);
	d->actual_ns = finished - start;
	learn(executor, &choice, task->numeric_class, d, st);
	keep(executor, d, decision);
	hy_generation_check(executor);
	hy_flush_tick(executor, finished);
	return st;
}

/*
 * decide: choose where to run a valid task whose shape is in the decision.  Returns HY_OK, or the
 * status of the call if the task is refused.
 */
static HyStatus
decide(HyExecutor *executor, HyClass numeric_class, HyDecision *decision, HyChoice *choice)
{
	hy_gauge_update(executor);
	hy_decide(executor, &decision->shape, numeric_class, decision->time_ns, choice);
	/* Reading the process id is a system call, so it is done only before a device is used. */
	if (choice->device != 0 && hy_executor_foreign(executor))
		hy_decide(executor, &decision->shape, numeric_class, decision->time_ns, choice);
	hy_decision_describe(choice, decision);
	if (choice->candidate != 0)
		decision->queue = executor->member[choice->candidate].queue.tasks;
	if (choice->split)
		choice->device = choice->candidate;
	return choice->refusal;
}

/* run: run the task where the decision says. */
static HyStatus
run(HyExecutor *executor, const HyTask *task, const HyChoice *choice, HyDecision *decision,
    uint64_t *finished)
{
	HyStatus st;

	if (decision->device == 0)
	{
		st = run_cpu(executor, task, decision, decision->time_ns, finished);
		ended_on_cpu(decision, st);
		return st;
	}
	hy_turn_set_timeout(executor, choice->cpu_ns);
	st = run_away(executor, task, choice, decision, finished);
	executor->turn_timeout_ns = 0;
	return st;
}

/* learn: count the call after it has ended, and record what later decisions depend on. */
static void
learn(HyExecutor *executor, const HyChoice *choice, HyClass numeric_class,
      const HyDecision *decision, HyStatus st)
{
	HyOp op = decision->shape.op;
	double ns = (double) decision->actual_ns;

	/*
	 * Count only now, because a split may turn out to have run only on the CPU or only on devices.
	 */
	executor->member[decision->device].counters[op].by_reason[decision->reason]++;
	executor->spent_ns += ns;
	executor->noted++;
	if (decision->reason == HY_REASON_EXPLORATION && choice->instead_ns >= 0 &&
	    ns > choice->instead_ns)
		executor->regret_ns += ns - choice->instead_ns;
	if (st != HY_OK)
		return;
	if (choice->reason == HY_REASON_NOT_OPEN)
		hy_open_credit_add(executor, choice->candidate, ns, choice->device_ns);
	if (choice->candidate != 0)
		hy_route_note(executor, choice->number, decision->device, decision->reason,
		              decision->fallback);
	if (decision->device == 0 && (op == HY_OP_DISTANCE || op == HY_OP_TOPK))
		hy_memo_keep(executor, &decision->shape, numeric_class, choice,
		             decision->time_ns + decision->actual_ns);
}

/* keep: store decision d as an event and for the caller. */
static void
keep(HyExecutor *executor, const HyDecision *d, HyDecision *decision)
{
	if (d == hy_event_slot(executor))
		hy_event_keep(executor);
	if (decision != NULL && decision != d)
		*decision = *d;
}

static HyStatus
run_cpu(HyExecutor *executor, const HyTask *task, HyDecision *decision, uint64_t started,
        uint64_t *finished)
{
	HyMember *cpu = &executor->member[0];
	HyCounters *counters = &cpu->counters[decision->shape.op];
	HyTicket ticket;
	HyTimings timings;
	bool done;
	HyStatus st = cpu->backend->submit(cpu->device, task, &ticket);

	if (st == HY_OK)
		st = cpu->backend->poll(cpu->device, ticket, &done, &timings);
	*finished = hy_now(executor);
	hy_count_attempt(counters, st);
	if (st == HY_OK)
	{
		uint64_t spent = *finished - started;
		uint64_t other_ns =
			timings.threads > 1 ? timings.main_thread_work_ns / (uint64_t) timings.threads : 0;

		hy_count_call(counters, decision->items, spent);
		decision->shape.threads = timings.threads;
		/*
		 * Subtract the time that the task lost because the calling thread did other work in
		 * between.  Without that work, the thread would have done its share of the task.
		 */
		hy_tracker_record(executor->tracker, &decision->shape, 0,
		                  spent - (other_ns < spent ? other_ns : 0));
		hy_load_seen(executor, 1);
	}
	return st;
}

/*
 * run_away: run the task on one device or in pieces, as decided.  A task that turns out to be too
 * large for the device is run in pieces.  If the device fails, the CPU runs the task, unless the
 * user forced the device.
 */
static HyStatus
run_away(HyExecutor *executor, const HyTask *task, const HyChoice *choice, HyDecision *decision,
         uint64_t *finished)
{
	HyCounters *counters = &executor->member[decision->device].counters[decision->shape.op];
	HyBulkPlan plan;
	HyDeviceRun run;
	HyStatus st;
	bool begun;

	if (hy_pieces_plan(executor, &decision->shape, choice, &plan))
	{
		st = hy_pieces_run(executor, task, &plan, decision, finished, &begun);
		/* if the job could not begin, the whole task is run below */
		if (begun)
			return st;
		if (choice->forced)
			hy_count_attempt(counters, st);
	}
	else
	{
		st = hy_attempt_run(executor, task, decision, &run);
		*finished = run.finished_ns;
		if ((st == HY_NOMEM || st == HY_QUOTA) && hy_shape_extent(&decision->shape) > 1)
		{
			plan = (HyBulkPlan){.devices = UINT32_C(1) << decision->device,
			                    .rescue = !choice->forced,
			                    .percent = -1};
			st = hy_pieces_run(executor, task, &plan, decision, finished, &begun);
			if (begun)
				return st;
		}
	}
	if (st == HY_OK)
		return st;
	if (st != HY_CANCELLED && !choice->forced)
	{
		decision->fallback = true;
		hy_count_fallback(counters, st);
		return run_cpu(executor, task, decision, hy_now(executor), finished);
	}
	*finished = hy_now(executor);
	return st;
}
