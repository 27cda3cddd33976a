/*
 * resident.c
 *		Runs tasks over rows that stay on a device: see resident.h.
 */
#include "dispatch/run/resident.h"

#include "dispatch/route/able.h"
#include "dispatch/route/budget.h"
#include "dispatch/route/gauge.h"
#include "dispatch/route/memo.h"
#include "dispatch/run/attempt.h"
#include "dispatch/run/flush.h"
#include "dispatch/run/member.h"
#include "dispatch/run/record.h"

/* if the CPU is faster, one of this many requests for units on the device is a trial */
#define TRY_EVERY 64
#define SEND_AGAIN_NS UINT64_C(1000000000)
#define HOPELESS 4.0 /* no such trial if the device takes more than this many times as long */

/*
 * Number of units into which the available memory is divided if units of HY_UNIT_MOST are too
 * large. The size of units stays the same as long as between FEWEST_UNITS and MOST_UNITS of them
 * fit.
 */
#define UNITS 8
#define FEWEST_UNITS 4
#define MOST_UNITS 32

static int32_t home_of(HyExecutor *executor, const HyUnitKey *key);
static bool usable(const HyExecutor *executor, int32_t device);
static bool can_send(HyExecutor *executor, HyResident *resident);
static HyStatus sent(HyExecutor *executor, const HyResident *resident, uint64_t before,
                     const HyCancel *cancel, HyStatus st);
static uint64_t unit_bytes(HyExecutor *executor, HyMember *member);
static bool worth(HyExecutor *executor, const HyShape *shape, bool there, HyResident *resident);
static bool point_at(HyTask *task, HyBuffer *buffer);
static bool asked_for(const HyConfig *config);
static void
predict(HyExecutor *executor, const HyShape *shape, const HyResident *resident, HyChoice *choice);

bool
hy_resident_possible(HyExecutor *executor)
{
	const HyConfig *config = &executor->config;
	int32_t d;

	if (config->resident_limit == 0 || config->force_cpu || config->execution == HY_EXECUTION_CPU ||
	    config->execution == HY_EXECUTION_PREFER_CPU)
		return false;
	for (d = 1; d < executor->members; d++)
	{
		if (usable(executor, d))
			return !hy_executor_foreign(executor);
	}
	return false;
}

HyResidentAnswer
hy_resident_ask(HyExecutor *executor, const HyShape *shape, uint64_t bytes, const HyUnitKey *key,
                HyResident *resident)
{
	HyShape there = *shape;
	uint64_t now = hy_now(executor);
	uint64_t before;
	HyMember *member;

	*resident = (HyResident){.key = *key, .op = shape->op, .device = home_of(executor, key)};
	if (resident->device == 0 || hy_executor_foreign(executor))
		return HY_RESIDENT_NOT;
	member = &executor->member[resident->device];
	if (member->residency == NULL)
		member->residency = hy_residency_create(executor->allocator, member->backend,
		                                        member->device, &member->resident);
	/* free or send nothing while a canceled task may still read resident memory */
	if (member->residency == NULL || !hy_member_settle(executor, member))
		return HY_RESIDENT_NOT;
	hy_gauge_update(executor);
	before = member->resident.bytes;
	resident->unit = hy_residency_ask(member->residency, key, &resident->seen);
	hy_member_units_changed(member, before);
	resident->was_there = resident->unit != NULL;
	there.resident = true;
	if (member->breakers[shape->op].state != HY_BREAKER_CLOSED ||
	    !hy_side_able(executor, &there, now, resident->device) ||
	    !hy_side_fits(executor, &there, resident->device) ||
	    !worth(executor, &there, resident->was_there, resident))
		return HY_RESIDENT_NOT;
	if (resident->was_there)
		return hy_unit_rows(resident->unit) == shape->targets ? HY_RESIDENT_THERE : HY_RESIDENT_NOT;
	if (resident->seen == 0 || now < member->send_after_ns ||
	    !hy_residency_room(member->residency, bytes, resident->seen,
	                       hy_member_room(executor, member, now)))
		return HY_RESIDENT_NOT;
	return HY_RESIDENT_WANTED;
}

uint64_t
hy_resident_unit_bytes(HyExecutor *executor)
{
	uint64_t least = HY_UNIT_MOST;
	int32_t d;

	for (d = 1; d < executor->members; d++)
	{
		HyMember *member = &executor->member[d];

		if (usable(executor, d) && !hy_executor_foreign(executor) &&
		    unit_bytes(executor, member) < least)
			least = member->unit_bytes;
	}
	return least;
}

HyStatus
hy_resident_keep(HyExecutor *executor, const HyUnitRows *rows, HyResident *resident)
{
	HyStatus st = hy_resident_begin(executor, rows->bytes, rows->rows, resident);
	int i;

	for (i = 0; i < rows->parts && st == HY_OK; i++)
		st = hy_resident_send(executor, &rows->part[i], rows->cancel, resident);
	if (st == HY_OK)
		st = hy_resident_end(executor, rows->sender_data, rows->sender_data_bytes, resident);
	return st;
}

HyStatus
hy_resident_begin(HyExecutor *executor, uint64_t bytes, int64_t rows, HyResident *resident)
{
	HyMember *member = &executor->member[resident->device];
	uint64_t before = member->resident.bytes;
	HyStatus st;

	resident->unit = NULL;
	if (!can_send(executor, resident))
		return HY_BUSY;
	st = hy_residency_begin(member->residency, &resident->key, resident->seen, bytes, rows,
	                        hy_member_room(executor, member, hy_now(executor)), &resident->unit);
	return sent(executor, resident, before, NULL, st);
}

HyStatus
hy_resident_send(HyExecutor *executor, const HyUnitPart *part, const HyCancel *cancel,
                 HyResident *resident)
{
	HyMember *member = &executor->member[resident->device];
	uint64_t before = member->resident.bytes;
	HyStatus st;

	if (!can_send(executor, resident))
		return HY_BUSY;
	st = hy_residency_send(member->residency, &resident->unit, part, cancel);
	if (st == HY_OK)
		member->counters[resident->op].bytes_up += part->bytes;
	return sent(executor, resident, before, cancel, st);
}

HyStatus
hy_resident_end(HyExecutor *executor, const void *sender_data, size_t sender_data_bytes,
                HyResident *resident)
{
	HyMember *member = &executor->member[resident->device];
	uint64_t before = member->resident.bytes;
	HyStatus st;

	if (!can_send(executor, resident))
		return HY_BUSY;
	st = hy_residency_end(member->residency, &resident->unit, sender_data, sender_data_bytes);
	return sent(executor, resident, before, NULL, st);
}

HyStatus
hy_resident_run(HyExecutor *executor, const HyTask *task, HyResident *resident,
                HyDecision *decision)
{
	uint64_t start = hy_now(executor);
	HyMember *member = &executor->member[resident->device];
	HyTask there = *task;
	HyDecision local = {.device = 0};
	HyDecision *d = decision != NULL ? decision : &local;
	uint64_t finished;
	HyDeviceRun run;
	HyChoice choice;
	HyStatus st;

	if (resident->unit == NULL || member->residency == NULL ||
	    !point_at(&there, hy_unit_buffer(resident->unit)) || hy_task_check(&there) != HY_OK)
		return HY_INVALID;
	if (executor->uncounted > 0)
		hy_memo_fold(executor, false);
	if (executor->config.telemetry)
		d = hy_event_slot(executor);
	d->shape = hy_task_shape(&there);
	hy_decision_begin(executor, start, d);
	predict(executor, &d->shape, resident, &choice);
	hy_decision_describe(&choice, d);
	d->queue = member->queue.tasks;

	hy_residency_pin(member->residency, resident->unit);
	hy_turn_set_timeout(executor, choice.cpu_ns);
	st = hy_attempt_run(executor, &there, d, &run);
	executor->turn_timeout_ns = 0;
	/* the context may have been closed, and its cache of units with it */
	if (member->residency != NULL)
	{
		hy_residency_pin(member->residency, NULL);
		if (st == HY_OK && resident->was_there)
			hy_residency_used(resident->unit);
	}
	if (st == HY_OK)
		member->counters[d->shape.op].by_reason[d->reason]++;
	finished = st == HY_OK ? run.finished_ns : hy_now(executor);
	d->actual_ns = finished - start;
	executor->spent_ns += (double) d->actual_ns;
	executor->noted++;
	if (d == hy_event_slot(executor))
		hy_event_keep(executor);
	if (decision != NULL && decision != d)
		*decision = *d;
	hy_generation_check(executor);
	hy_flush_tick(executor, finished);
	return st;
}

void
hy_resident_forget(HyExecutor *executor, const HyUnitKey *key)
{
	int32_t d;

	for (d = 1; d < executor->members; d++)
	{
		if (executor->member[d].residency != NULL)
			hy_residency_forget(executor->member[d].residency, key);
	}
}

/* home_of: choose the device for this unit.  Returns 0 if no device is usable. */
static int32_t
home_of(HyExecutor *executor, const HyUnitKey *key)
{
	int32_t home[HY_MAX_DEVICES];
	int32_t count = 0;
	int32_t d;

	for (d = 1; d < executor->members; d++)
	{
		if (usable(executor, d))
			home[count++] = d;
	}
	if (count == 0)
		return 0;
	return home[(key->place[2] * UINT64_C(0x9e3779b97f4a7c15) >> 32) % (uint64_t) count];
}

/*
 * usable: return whether the device is open, with the current memory limit, and the settings allow
 * it.
 */
static bool
usable(const HyExecutor *executor, int32_t device)
{
	const HyMember *member = &executor->member[device];

	return member->device != NULL && !member->latched && !hy_member_idle(member) &&
	       member->opened_limit == executor->config.memory_limit &&
	       hy_device_meant(executor, device);
}

/* can_send: return whether the unit may still be sent; if not, set resident->unit to NULL. */
static bool
can_send(HyExecutor *executor, HyResident *resident)
{
	HyMember *member = &executor->member[resident->device];

	if (member->residency != NULL && usable(executor, resident->device) &&
	    hy_member_settle(executor, member))
		return true;
	resident->unit = NULL;
	return false;
}

/*
 * sent: process the status of a call that sends part of a unit, and return the status.  `before` is
 * the number of bytes of all units before the call.
 */
static HyStatus
sent(HyExecutor *executor, const HyResident *resident, uint64_t before, const HyCancel *cancel,
     HyStatus st)
{
	HyMember *member = &executor->member[resident->device];

	hy_member_units_changed(member, before);
	if (st == HY_OK || (st == HY_CANCELLED && hy_cancelled(cancel)))
		return st;
	if ((int) st < 0 || (int) st >= HY_STATUS_COUNT || st == HY_CANCELLED)
		st = HY_BUG;
	if (st == HY_CONTEXT_LOST && hy_member_idle(member))
	{
		hy_member_close(executor, member);
		return st;
	}
	member->send_after_ns = hy_now(executor) + SEND_AGAIN_NS;
	/* any error but a lack of memory or support counts as a failed attempt on the device */
	if (st != HY_NOMEM && st != HY_QUOTA && st != HY_UNSUPPORTED)
	{
		hy_count_attempt(&member->counters[resident->op], st);
		hy_attempt_report(executor, member, resident->op, st);
	}
	if (st == HY_CONTEXT_LOST)
		hy_member_close(executor, member);
	return st;
}

/*
 * unit_bytes: return the size of units on a device, a power of two.  If the size changes, all units
 * must be sent again.  So it stays the same while the memory for units varies a little, as happens
 * whenever another process starts or ends.
 */
static uint64_t
unit_bytes(HyExecutor *executor, HyMember *member)
{
	uint64_t room = hy_member_room(executor, member, hy_now(executor));
	uint64_t bytes = member->unit_bytes;

	if (bytes > room / FEWEST_UNITS || (bytes < HY_UNIT_MOST && bytes < room / MOST_UNITS) ||
	    bytes == 0)
	{
		bytes = HY_UNIT_MOST;
		while (bytes > 1 && bytes > room / UNITS)
			bytes /= 2;
		member->unit_bytes = bytes;
	}
	return member->unit_bytes;
}

/*
 * worth: return whether a task of this shape should run on the device.  `there`: the unit is
 * already on the device.
 */
static bool
worth(HyExecutor *executor, const HyShape *shape, bool there, HyResident *resident)
{
	HyMember *member = &executor->member[resident->device];
	HySide side = hy_gauge_side(executor, shape, resident->device);
	HyShape common = *shape;
	double cpu_ns;

	common.resident = false;
	cpu_ns = hy_side_ns(executor, &common, 0);
	if (asked_for(&executor->config))
		return true;
	if (cpu_ns < 0)
		return there;
	if (side.ns < 0 || side.forecast.cold)
	{
		resident->trial = true;
		return true;
	}
	if (cpu_ns >= (there ? 1.0 : executor->config.speedup_threshold) * side.ns)
		return true;
	if (!there || cpu_ns * HOPELESS < side.ns || ++member->left_alone % TRY_EVERY != 0)
		return false;
	resident->trial = true;
	return true;
}

/* point_at: make the buffer the task's targets or graph; return false if the task has neither. */
static bool
point_at(HyTask *task, HyBuffer *buffer)
{
	HyMatrix *targets;

	if (task->op == HY_OP_SPREAD)
	{
		task->u.spread.buffer = buffer;
		return true;
	}
	if (task->op != HY_OP_TOPK && task->op != HY_OP_DISTANCE)
		return false;
	targets = task->op == HY_OP_TOPK ? &task->u.topk.targets : &task->u.distance.targets;
	targets->data = NULL;
	targets->norms = NULL;
	targets->buffer = buffer;
	targets->offset = 0;
	return true;
}

/* asked_for: return whether the user wants a device, even if the CPU is faster. */
static bool
asked_for(const HyConfig *config)
{
	return config->execution == HY_EXECUTION_GPU || config->execution == HY_EXECUTION_PREFER_GPU ||
	       config->execution == HY_EXECUTION_NAMED;
}

static void
predict(HyExecutor *executor, const HyShape *shape, const HyResident *resident, HyChoice *choice)
{
	HyMember *member = &executor->member[resident->device];
	HyShape common = *shape;

	common.resident = false;
	*choice = (HyChoice){.device = resident->device,
	                     .candidate = resident->device,
	                     .cpu_ns = hy_side_ns(executor, &common, 0),
	                     .device_ns = hy_side_ns(executor, shape, resident->device),
	                     .instead_ns = -1,
	                     .split_ns = -1,
	                     .devices = UINT32_C(1) << resident->device};
	choice->reason = asked_for(&executor->config) ? HY_REASON_USER
	                 : resident->trial            ? HY_REASON_EXPLORATION
	                                              : HY_REASON_COST;
	choice->forced = executor->config.execution == HY_EXECUTION_GPU ||
	                 executor->config.execution == HY_EXECUTION_NAMED;
	choice->bytes_required = member->backend->estimate(member->device, shape).device_bytes;
	choice->bytes_available = hy_member_budget(executor, member, hy_now(executor));
}
