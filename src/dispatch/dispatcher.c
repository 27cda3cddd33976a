/*
 * dispatcher.c
 *		hy_dispatch: decide, run, fall back, remember.
 *
 * Deciding is decide.c's.  What a failing device leads to:
 *
 *	NOMEM, QUOTA, BUSY, UNSUPPORTED		the CPU for this call; says nothing of reliability
 *	TRANSIENT, TIMEOUT, BUG, INVALID	the CPU, counted by the breaker (the task was checked before)
 *	CONTEXT_LOST						counted; closed, reopened and retried once; then the CPU
 *	PROCESS_LOST						every device of that backend is latched off; the CPU
 *	DEVICE_GONE							that device is latched off; the CPU
 *	CANCELLED							returned
 *
 * A device that does not even answer a cancel is busy, then latched off (device_run.c).
 * Nothing is kept of a failed attempt: the CPU computes every output again.  With a forced device
 * (gpu or a name) the status is returned where "the CPU" stands above.
 *
 * Device memory: this version keeps no buffers between calls, so it cannot know whose a buffer is,
 * and a task with inputs in one is HY_INVALID here (backends take them when called directly).
 *
 * A call on the CPU reads the clock twice and allocates nothing; one like another before it costs a
 * look-up and a cache line (memo.h).
 */
#include "dispatch/executor_state.h"

#include <stdio.h>
#include <string.h>

#include "dispatch/bulk.h"
#include "dispatch/slice.h"

#define WHOLE_NS 4e6    /* a longer task runs in pieces: a failure then costs one of them */
#define ALL_FROM_NS 5e5 /* a task from so long on is cut over all devices */
#define OPEN_SHARE 0.5  /* of what it takes, that opening another device for it may take */

static inline HyMemo *recall(HyExecutor *executor, const HyTask *task, uint64_t now);
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
static bool in_pieces(const HyExecutor *executor, const HyShape *shape, const HyChoice *choice,
                      HyBulkPlan *plan);
static HyStatus run_pieces(HyExecutor *executor, const HyTask *task, const HyBulkPlan *plan,
                           HyDecision *decision, uint64_t *finished);
static HyStatus
run_device(HyExecutor *executor, const HyTask *task, HyDecision *decision, HyDeviceRun *run);
static HyStatus attempt(HyExecutor *executor, HyMember *member, const HyTask *task,
                        HyDecision *decision, HyDeviceRun *run);
static bool ready(HyExecutor *executor, HyMember *member, HyDeviceRun *run);
static void report(HyExecutor *executor, HyMember *member, HyOp op, bool success);
static void pay_rent(HyExecutor *executor, const HyChoice *choice, uint64_t cpu_ns);
static uint64_t now_ns(const HyExecutor *executor);

HyStatus
hy_dispatch(HyExecutor *executor, const HyTask *task, HyDecision *decision)
{
	uint64_t start = now_ns(executor);
	HyMemo *memo = recall(executor, task, start);
	HyMember *cpu = &executor->member[0];
	HyTicket ticket;
	HyTimings timings;
	bool done;
	HyStatus st;

	if (memo == NULL)
		return decide_and_run(executor, task, start, decision);
	st = cpu->backend->submit(cpu->device, task, &ticket);
	if (__builtin_expect(st == HY_OK, 1))
		st = cpu->backend->poll(cpu->device, ticket, &done, &timings);
	if (__builtin_expect(st == HY_OK, 1))
	{
		uint64_t finished = now_ns(executor);

		hy_memo_note(executor, memo, start, finished, decision);
		hy_record_tick(executor, finished);
		return HY_OK;
	}
	return failed_here(executor, task, &memo->like, start, st, decision);
}

/*
 * recall: the memo of a task of the very same shape, NULL where there is none that still holds.
 * What is read here is what a shape is made of (hy_task_shape) and what check asks for.
 */
static inline HyMemo *
recall(HyExecutor *executor, const HyTask *task, uint64_t now)
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
	if (memo->generation != executor->generation || memo->expires_ns <= now || memo->left <= 0 ||
	    like->queries != q->rows || like->targets != t->rows || like->dims != t->dims ||
	    like->k != k || like->op != task->op || like->dtype != t->dtype || like->metric != metric ||
	    like->numeric_class != task->numeric_class || q->buffer != NULL || t->buffer != NULL)
		return NULL;
	return memo;
}

/* failed_here: the CPU did not answer a call that a memo had sent there. */
static HyStatus
failed_here(HyExecutor *executor, const HyTask *task, const HyBrief *like, uint64_t start,
            HyStatus st, HyDecision *decision)
{
	HyDecision local;
	HyDecision *d = decision != NULL ? decision : &local;
	HyCounters *counters = &executor->member[0].counters[task->op];

	if (executor->config.telemetry)
		d = hy_event_slot(executor);
	hy_brief_expand(like, d);
	d->time_ns = start;
	d->actual_ns = now_ns(executor) - start;
	d->status = st;
	counters->by_reason[d->reason]++;
	hy_count_attempt(counters, st);
	executor->spent_ns += (double) d->actual_ns;
	keep(executor, d, decision);
	hy_record_tick(executor, start + d->actual_ns);
	return st;
}

/* decide_and_run: the long way, with nothing to go by but the rules. */
static HyStatus
decide_and_run(HyExecutor *executor, const HyTask *task, uint64_t start, HyDecision *decision)
{
	HyDecision local;
	HyDecision *d = decision != NULL ? decision : &local;
	HyShape shape = hy_task_shape(task);
	uint64_t finished;
	HyChoice choice;
	HyStatus st;

	if (executor->jotted > 0)
		hy_memo_fold(executor, false);
	/* The decision is written where it will stay; a copy costs as much as deciding. */
	if (executor->config.telemetry)
		d = hy_event_slot(executor);
	hy_decision_begin(executor, &shape, start, d);
	st = check(task, &shape);
	if (st == HY_OK)
	{
		hy_gauge_look(executor);
		hy_decide(executor, task, &shape, start, &choice);
		/* Asking for the process id is a system call: only when a device would be touched. */
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
		keep(executor, d, decision);
		return st;
	}

	if (choice.split)
	{
		choice.device = d->device = choice.candidate;
		d->reason = HY_REASON_SPLIT;
	}
	executor->member[d->device].counters[shape.op].by_reason[d->reason]++;
	if (d->device == 0)
	{
		st = run_cpu(executor, task, d, start, &finished);
		d->status = st;
		if (choice.reason == HY_REASON_NOT_OPEN && st == HY_OK)
			pay_rent(executor, &choice, finished - start);
	}
	else
		st = run_away(executor, task, &choice, d, &finished);
	if (st == HY_OK && choice.candidate != 0)
		hy_route_note(executor, &shape, d->device, d->reason, d->fallback);
	d->actual_ns = finished - start;
	executor->spent_ns += (double) d->actual_ns;
	if (d->reason == HY_REASON_EXPLORATION && choice.instead_ns >= 0 &&
	    (double) d->actual_ns > choice.instead_ns)
		executor->regret_ns += (double) d->actual_ns - choice.instead_ns;
	if (st == HY_OK && d->device == 0 && shape.op != HY_OP_SPREAD)
		hy_memo_keep(executor, &shape, task->numeric_class, &choice, finished);
	keep(executor, d, decision);
	hy_generation_check(executor);
	hy_record_tick(executor, finished);
	return st;
}

void
hy_dispatch_decide(HyExecutor *executor, const HyTask *task, HyDecision *decision)
{
	HyShape shape = hy_task_shape(task);
	uint64_t now = now_ns(executor);
	HyChoice choice;

	hy_decision_begin(executor, &shape, now, decision);
	decision->status = check(task, &shape);
	if (decision->status == HY_OK)
		decision->status = hy_task_check(task);
	if (decision->status != HY_OK)
		return;
	hy_executor_foreign(executor);
	hy_memo_fold(executor, true);
	hy_gauge_look(executor);
	hy_decide(executor, task, &shape, now, &choice);
	hy_decision_describe(&choice, decision);
	/* Nothing runs here, so a side that was not needed for the decision is looked up as well. */
	decision->predicted_cpu_ns = hy_tracker_predict(executor->tracker, &shape, 0);
	if (choice.candidate != 0)
		decision->predicted_device_ns =
			hy_tracker_predict(executor->tracker, &shape, choice.candidate);
}

/*
 * check: what must hold before deciding.  That the task makes sense otherwise is asked for by
 * whoever first needs it, a device's rules or the CPU backend: it is the dearest of all questions.
 */
static HyStatus
check(const HyTask *task, const HyShape *shape)
{
	if ((int) task->op < 0 || (int) task->op >= HY_OP_COUNT || shape->resident ||
	    (task->op == HY_OP_DISTANCE && task->u.distance.queries.buffer != NULL) ||
	    (task->op == HY_OP_TOPK && task->u.topk.queries.buffer != NULL))
		return HY_INVALID;
	return HY_OK;
}

/* keep: the decision d as an event, and as the caller's. */
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
		decision->split_share = choice->share;
	decision->status = choice->refusal;
	if (choice->refusal != HY_OK)
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
	*finished = now_ns(executor);
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
 * run_away: where the decision says: on one device, or in pieces.  What a device fails at the CPU
 * does, unless the user insists on the device; what is too much for it goes there in pieces.
 */
static HyStatus
run_away(HyExecutor *executor, const HyTask *task, const HyChoice *choice, HyDecision *decision,
         uint64_t *finished)
{
	HyCounters *counters = &executor->member[decision->device].counters[task->op];
	HyBulkPlan plan;
	HyDeviceRun run;
	HyStatus st;

	if (in_pieces(executor, &decision->shape, choice, &plan))
	{
		st = run_pieces(executor, task, &plan, decision, finished);
		/* where it could not even begin, it is one task again */
		if (decision->pieces > 0 || st == HY_CANCELLED || choice->forced)
			return st;
	}
	else
	{
		st = run_device(executor, task, decision, &run);
		*finished = run.finished_ns;
		if ((st == HY_NOMEM || st == HY_QUOTA) && hy_shape_extent(&decision->shape) > 1)
		{
			plan = (HyBulkPlan){.devices = UINT32_C(1) << decision->device,
			                    .rescue = !choice->forced,
			                    .percent = -1};
			st = run_pieces(executor, task, &plan, decision, finished);
			if (decision->pieces > 0)
				return st;
		}
	}
	if (st == HY_OK)
		return st;
	if (st != HY_CANCELLED && !choice->forced)
	{
		decision->fallback = true;
		hy_count_fallback(counters, st);
		return run_cpu(executor, task, decision, now_ns(executor), finished);
	}
	*finished = now_ns(executor);
	return st;
}

/* in_pieces: whether a task had better be cut, and over whom. */
static bool
in_pieces(const HyExecutor *executor, const HyShape *shape, const HyChoice *choice,
          HyBulkPlan *plan)
{
	double ns = choice->device_ns;
	int32_t others = 0;
	int32_t d;

	*plan = (HyBulkPlan){
		.devices = UINT32_C(1) << choice->device, .rescue = !choice->forced, .percent = -1};
	if (hy_shape_extent(shape) < 2)
		return false;
	if (ns < 0)
		ns = hy_tracker_predict(executor->tracker, shape, choice->device);
	if (choice->split)
	{
		plan->with_cpu = true;
		plan->percent = executor->config.split_percent;
	}
	for (d = 1; d < executor->members && (ns >= ALL_FROM_NS || choice->split); d++)
	{
		const HyMember *member = &executor->member[d];

		if (d == choice->device || !(choice->devices >> d & 1))
			continue;
		if (member->device == NULL && (double) member->info.open_cost_ns > OPEN_SHARE * ns)
			continue;
		plan->devices |= UINT32_C(1) << d;
		others++;
	}
	return choice->split || choice->chunked || others > 0 || (plan->rescue && ns > WHOLE_NS);
}

/* run_pieces: decision->pieces stays 0 when nothing came of it. */
static HyStatus
run_pieces(HyExecutor *executor, const HyTask *task, const HyBulkPlan *plan, HyDecision *decision,
           uint64_t *finished)
{
	HyCounters *counters = &executor->member[decision->device].counters[task->op];
	HyBulkReport report;
	HyStatus st = hy_bulk_run(executor, task, plan, &report);

	*finished = report.finished_ns;
	decision->pieces = report.pieces;
	decision->virtual_time = decision->virtual_time || report.virtual_time;
	if (decision->status == HY_OK && report.first != HY_OK)
	{
		decision->status = report.first;
		decision->failure = report.failure;
	}
	if (st != HY_OK && st != HY_CANCELLED)
	{
		decision->status = st;
		decision->failure = report.failure;
	}
	if (report.fallback)
	{
		decision->fallback = true;
		hy_count_fallback(counters, report.first);
		counters = &executor->member[0].counters[task->op];
	}
	if (st == HY_OK)
	{
		hy_count_attempt(counters, st);
		hy_count_call(counters, 0, report.finished_ns - report.started_ns);
	}
	return st;
}

/* run_device: on decision->device, with the one retry that a lost context is worth. */
static HyStatus
run_device(HyExecutor *executor, const HyTask *task, HyDecision *decision, HyDeviceRun *run)
{
	HyMember *member = &executor->member[decision->device];
	HyCounters *counters = &member->counters[task->op];
	HyStatus st = attempt(executor, member, task, decision, run);
	uint64_t ns;

	decision->status = st;
	decision->failure = run->failure;
	if (st == HY_CONTEXT_LOST && !member->latched)
	{
		hy_member_close(executor, member);
		if (hy_breaker_would_allow(&member->breakers[task->op], now_ns(executor)))
			st = attempt(executor, member, task, decision, run);
	}
	if (st == HY_NOMEM || st == HY_QUOTA)
		hy_member_refused(member, decision->bytes_required, now_ns(executor));
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

/* attempt: opens the device if need be, runs the task, and draws every conclusion but the retry. */
static HyStatus
attempt(HyExecutor *executor, HyMember *member, const HyTask *task, HyDecision *decision,
        HyDeviceRun *run)
{
	HyOp op = task->op;

	if (!hy_attempt_begin(executor, member, op, run))
		return run->status;
	decision->virtual_time = decision->virtual_time || member->info.virtual_time;
	hy_device_run(executor, member, task, run);
	hy_count_attempt(&member->counters[op], run->status);
	hy_attempt_judge(executor, member, op, run->status);
	return run->status;
}

bool
hy_attempt_begin(HyExecutor *executor, HyMember *member, HyOp op, HyDeviceRun *run)
{
	HyBreaker *breaker = &member->breakers[op];
	HyBreakerState before = breaker->state;

	memset(run, 0, sizeof(*run));
	if (!hy_share_allow(executor, member, op, now_ns(executor)))
	{
		/* Another process found it wanting since, or tries it just now: no attempt, no failure. */
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
		return true;
	hy_count_attempt(&member->counters[op], run->status);
	hy_attempt_judge(executor, member, op, run->status);
	return false;
}

/* ready: the device is open, under the memory limit now in force; else run says why not. */
static bool
ready(HyExecutor *executor, HyMember *member, HyDeviceRun *run)
{
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
	run->status = hy_member_open(executor, member, now_ns(executor));
	if ((int) run->status < 0 || (int) run->status >= HY_STATUS_COUNT ||
	    run->status == HY_CANCELLED)
		run->status = HY_BUG;
	if (run->status == HY_OK)
		return true;
	run->failure = member->open_failure;
	return false;
}

void
hy_attempt_judge(HyExecutor *executor, HyMember *member, HyOp op, HyStatus status)
{
	switch (status)
	{
		case HY_OK:
			report(executor, member, op, true);
			break;
		case HY_UNSUPPORTED:
		case HY_NOMEM:
		case HY_QUOTA:
		case HY_BUSY:
		case HY_CANCELLED:
			hy_share_abandon(executor, member, op);
			break;
		case HY_TRANSIENT:
		case HY_TIMEOUT:
		case HY_CONTEXT_LOST:
		case HY_INVALID:
		case HY_BUG:
			report(executor, member, op, false);
			break;
		case HY_PROCESS_LOST:
			hy_share_abandon(executor, member, op);
			hy_member_latch(executor, member, true, false, "lost this process its context");
			break;
		case HY_DEVICE_GONE:
			hy_share_abandon(executor, member, op);
			hy_member_latch(executor, member, false, false, "has left");
			break;
	}
}

/* report: an outcome for the breaker, with a line when its state changes. */
static void
report(HyExecutor *executor, HyMember *member, HyOp op, bool success)
{
	HyBreaker *breaker = &member->breakers[op];

	if (!hy_share_record(executor, member, op, now_ns(executor), success))
		return;
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

/*
 * pay_rent: what the CPU took while the device stayed closed.  Where the device's time is known
 * (it was open before), only the difference would have been saved.
 */
static void
pay_rent(HyExecutor *executor, const HyChoice *choice, uint64_t cpu_ns)
{
	double saved = (double) cpu_ns;

	if (choice->device_ns >= 0)
		saved -= choice->device_ns;
	if (saved > 0)
		executor->member[choice->candidate].rent_ns += saved;
}

static uint64_t
now_ns(const HyExecutor *executor)
{
	return executor->clock->now(executor->clock->arg);
}
