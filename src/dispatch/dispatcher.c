/*
 * dispatcher.c
 *		Implements hy_dispatch: decide, run, fall back, record.
 *
 * decide.c chooses the side, attempt.c tries a device, and pieces.c runs a task in pieces.
 *
 * The results of a failed attempt are discarded, and the CPU computes every output again.  If the
 * user forced a device (gpu or a name), its status is returned instead.
 *
 * The dispatcher never returns a device buffer to the caller, so a task with inputs in a buffer is
 * HY_INVALID here.  Tasks over rows that stay on a device are run by resident.c, which finds the
 * rows by key.
 *
 * A call on the CPU reads the clock twice and allocates nothing.  A call that repeats an earlier
 * decision costs a look-up and a write to one cache line (memo.h).
 */
#include "dispatch/executor_state.h"

#include <stdio.h>
#include <string.h>

#include "dispatch/slice.h"

static inline HyMemo *
recall(HyExecutor *executor, const HyTask *task, uint64_t now, int64_t *targets);
static void ended_on_cpu(HyDecision *decision, HyStatus status);
static HyStatus failed_here(HyExecutor *executor, const HyTask *task, const HyBrief *like,
                            uint64_t start, HyStatus st, HyDecision *decision);
static HyStatus
decide_and_run(HyExecutor *executor, const HyTask *task, uint64_t start, HyDecision *decision);
static HyStatus check(const HyTask *task, const HyShape *shape);
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
	HyMemo *memo = recall(executor, task, start, &targets);
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

		hy_memo_note(executor, memo, targets, start, finished, decision);
		hy_record_tick(executor, finished);
		return HY_OK;
	}
	hy_memo_brief(memo, targets, &like);
	return failed_here(executor, task, &like, start, st, decision);
}

/*
 * recall: return the memo (cached decision) for the task, or NULL if no valid memo exists.  Reads
 * only the fields that make up a shape (hy_task_shape) and the fields that check() examines.
 */
static inline HyMemo *
recall(HyExecutor *executor, const HyTask *task, uint64_t now, int64_t *targets)
{
	const HyMatrix *q;
	const HyMatrix *t;
	HyMetric metric;
	int32_t k = 0;
	HyMemo *memo;
	const HyBrief *like;

	if (task->op == HY_OP_DISTANCE)
	{
		q = &task->u.distance.queries;
		t = &task->u.distance.targets;
		metric = task->u.distance.metric;
	}
	else if (task->op == HY_OP_TOPK)
	{
		q = &task->u.topk.queries;
		t = &task->u.topk.targets;
		metric = task->u.topk.metric;
		k = task->u.topk.k;
	}
	else
		return NULL;
	memo = &executor->memos[hy_memo_slot(q->rows, t->rows, t->dims, k, (uint32_t) task->op)];
	like = &memo->like;
	*targets = t->rows;
	if (!hy_memo_holds(executor, memo, now, q->rows, t->rows) || like->dims != t->dims ||
	    like->k != k || like->op != task->op || like->dtype != t->dtype || like->metric != metric ||
	    like->numeric_class != task->numeric_class || q->buffer != NULL || t->buffer != NULL)
		return NULL;
	return memo;
}

/*
 * ended_on_cpu: set the status.  On failure, clear the driver's text, since it does not explain why
 * the CPU failed.
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

/* failed_here: record that the CPU failed on a call that a memo had decided. */
static HyStatus
failed_here(HyExecutor *executor, const HyTask *task, const HyBrief *like, uint64_t start,
            HyStatus st, HyDecision *decision)
{
	HyDecision local;
	HyDecision *d = decision != NULL ? decision : &local;
	HyCounters *counters = &executor->member[0].counters[task->op];

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
	hy_record_tick(executor, start + d->actual_ns);
	return st;
}

/* decide_and_run: decide by all rules, without a memo, and run the task. */
static HyStatus
decide_and_run(HyExecutor *executor, const HyTask *task, uint64_t start, HyDecision *decision)
{
	HyDecision local;
	HyDecision *d = decision != NULL ? decision : &local;
	HyShape shape = hy_task_shape(task);
	uint64_t finished;
	HyChoice choice;
	HyStatus st;

	if (executor->uncounted > 0)
		hy_memo_fold(executor, false);
	/* The decision is written directly to its final place; a copy costs as much as deciding. */
	if (executor->config.telemetry)
		d = hy_event_slot(executor);
	hy_decision_begin(executor, &shape, start, d);
	st = check(task, &shape);
	if (st == HY_OK)
	{
		hy_gauge_update(executor);
		hy_decide(executor, task, &shape, start, &choice);
		/* Reading the process id is a system call, so it is done only before a device is used. */
		if (choice.device != 0 && hy_executor_foreign(executor))
			hy_decide(executor, task, &shape, start, &choice);
		hy_decision_describe(&choice, d);
		if (choice.candidate != 0)
			d->queue = executor->member[choice.candidate].queue.tasks;
		st = choice.refusal;
		if (st != HY_OK && hy_task_check(task) != HY_OK)
			st = HY_INVALID;
	}
	if (st != HY_OK)
	{
		d->status = st;
		d->device = HY_NOWHERE;
		keep(executor, d, decision);
		return st;
	}

	if (choice.split)
		choice.device = choice.candidate;
	if (d->device == 0)
	{
		st = run_cpu(executor, task, d, start, &finished);
		ended_on_cpu(d, st);
		if (choice.reason == HY_REASON_NOT_OPEN && st == HY_OK)
			hy_open_credit_add(executor, choice.candidate, (double) (finished - start),
			                   choice.device_ns);
	}
	else
	{
		hy_turn_set_timeout(executor, &choice);
		st = run_away(executor, task, &choice, d, &finished);
		executor->turn_timeout_ns = 0;
	}
	/* Count only now, since a split may turn out to have run on one side only. */
	executor->member[d->device].counters[shape.op].by_reason[d->reason]++;
	if (st == HY_OK && choice.candidate != 0)
		hy_route_note(executor, &shape, d->device, d->reason, d->fallback);
	d->actual_ns = finished - start;
	executor->spent_ns += (double) d->actual_ns;
	executor->noted++;
	if (d->reason == HY_REASON_EXPLORATION && choice.instead_ns >= 0 &&
	    (double) d->actual_ns > choice.instead_ns)
		executor->regret_ns += (double) d->actual_ns - choice.instead_ns;
	if (st == HY_OK && d->device == 0 && (shape.op == HY_OP_DISTANCE || shape.op == HY_OP_TOPK))
		hy_memo_keep(executor, task, &shape, &choice, finished);
	keep(executor, d, decision);
	hy_generation_check(executor);
	hy_record_tick(executor, finished);
	return st;
}

/*
 * check: check the conditions that the decision relies on.  The full check of a task is the most
 * expensive step, so it is left to the first step that needs it: the rules of a device, or the CPU
 * backend.
 */
static HyStatus
check(const HyTask *task, const HyShape *shape)
{
	if ((int) task->op < 0 || (int) task->op >= HY_OP_COUNT || shape->resident ||
	    (task->op == HY_OP_DISTANCE && task->u.distance.queries.buffer != NULL) ||
	    (task->op == HY_OP_TOPK && task->u.topk.queries.buffer != NULL) ||
	    (task->op == HY_OP_ASSIGN && task->u.assign.rows.buffer != NULL))
		return HY_INVALID;
	return HY_OK;
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

void
hy_decision_begin(const HyExecutor *executor, const HyShape *shape, uint64_t now,
                  HyDecision *decision)
{
	decision->time_ns = now;
	decision->shape = *shape;
	decision->items = hy_shape_items(shape);
	decision->execution =
		executor->config.force_cpu ? HY_EXECUTION_CPU : executor->config.execution;
	if (decision->execution == HY_EXECUTION_NAMED)
		memcpy(decision->named, executor->config.backend_name, sizeof(decision->named));
	decision->device = 0;
	decision->reason = HY_REASON_USER;
	decision->fallback = false;
	decision->status = HY_OK;
	decision->failure.native_code = 0;
	decision->failure.text[0] = '\0';
	decision->predicted_cpu_ns = -1;
	decision->predicted_device_ns = -1;
	decision->actual_ns = 0;
	decision->virtual_time = false;
	decision->bytes_required = 0;
	decision->bytes_available = 0;
	decision->load = executor->load.runnable;
	decision->queue = -1;
	decision->split_share = -1;
	decision->pieces = 0;
}

void
hy_decision_describe(const HyChoice *choice, HyDecision *decision)
{
	decision->device = choice->device;
	decision->reason = choice->reason;
	decision->predicted_cpu_ns = choice->cpu_ns;
	decision->predicted_device_ns = choice->device_ns;
	decision->bytes_required = choice->bytes_required;
	decision->bytes_available = choice->bytes_available;
	if (choice->split)
	{
		decision->split_share = choice->share;
		decision->device = choice->candidate;
		decision->reason = HY_REASON_SPLIT;
	}
	decision->status = choice->refusal;
	if (choice->missed != NULL)
		hy_member_failure(choice->missed, &decision->failure);
	if (choice->refusal == HY_OK || choice->missed != NULL)
		return;
	/* no device has this name; otherwise the device would have given a reason */
	if (choice->why == NULL && decision->execution == HY_EXECUTION_NAMED)
		snprintf(decision->failure.text, sizeof(decision->failure.text),
		         "no backend is called \"%s\"", decision->named);
	else
		snprintf(decision->failure.text, sizeof(decision->failure.text), "%s",
		         choice->why != NULL ? choice->why : "there is none");
}

static HyStatus
run_cpu(HyExecutor *executor, const HyTask *task, HyDecision *decision, uint64_t started,
        uint64_t *finished)
{
	HyMember *cpu = &executor->member[0];
	HyCounters *counters = &cpu->counters[task->op];
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
		hy_count_call(counters, decision->items, *finished - started);
		hy_tracker_record(executor->tracker, &decision->shape, 0, *finished - started);
		hy_load_seen(executor, 1);
	}
	return st;
}

/*
 * run_away: run the task as decided: on one device, or in pieces.  If the device fails, the CPU
 * runs the task, unless the user forced the device.  If the task turns out to be too large for the
 * device, the task is run in pieces.
 */
static HyStatus
run_away(HyExecutor *executor, const HyTask *task, const HyChoice *choice, HyDecision *decision,
         uint64_t *finished)
{
	HyCounters *counters = &executor->member[decision->device].counters[task->op];
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

void
hy_open_credit_add(HyExecutor *executor, int32_t device, double cpu_ns, double device_ns)
{
	HyMember *member = &executor->member[device];
	double cost = (double) member->info.open_cost_ns;
	double saved = device_ns >= 0 ? cpu_ns - device_ns : cpu_ns;

	if (!(saved > 0))
		return;
	if (member->open_credit_ns < cost && member->open_credit_ns + saved >= cost)
		executor->generation++;
	member->open_credit_ns += saved;
}
