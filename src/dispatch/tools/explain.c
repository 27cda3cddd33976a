/*
 * explain.c
 *		Explains decisions without running a task, and reads the history behind them: see
 *		explain.h.
 */
#include "dispatch/tools/explain.h"

#include <string.h>

#include "dispatch/route/able.h"
#include "dispatch/route/gauge.h"
#include "dispatch/route/memo.h"

/* maximum size of one array; a process has no larger address space */
#define MOST_BYTES (INT64_C(1) << 47)
#define BREAK_EVEN_LIMIT INT64_C(1000000000)

static void compare(const HyTracker *tracker, HyHistory *history);
static bool is_sane(const HyShape *shape);
static bool is_addressable(int64_t rows, int64_t columns, int64_t size);

HyStatus
hy_explain(HyExecutor *executor, const HyShape *shape, HyDecision *decision, HySideCost *costs,
           int32_t *count)
{
	uint64_t now = hy_now(executor);
	const HyMemo *memo;
	HyChoice choice;
	int32_t d;

	decision->shape = *shape;
	hy_decision_begin(executor, now, decision);
	*count = 0;
	decision->status = HY_INVALID;
	if (!is_sane(shape))
		return HY_INVALID;
	hy_executor_foreign(executor);
	hy_memo_fold(executor, true);
	hy_gauge_update(executor);
	memo = hy_memo_like(executor, shape, HY_CLASS_EXACT, now);
	hy_decide(executor, shape, HY_CLASS_EXACT, now, &choice);
	hy_decision_describe(&choice, decision);
	if (memo != NULL)
	{
		decision->device = 0;
		decision->reason = (HyReason) memo->like.reason;
		decision->split_share = -1;
	}
	for (d = 0; d < executor->members; d++)
	{
		const HyMember *member = &executor->member[d];
		HySideCost *cost;
		HySide side;

		/* a missing backend has no costs, but is listed if the decision is about it */
		if (member->backend == NULL && d != decision->device)
			continue;
		cost = &costs[(*count)++];
		memset(cost, 0, sizeof(*cost));
		cost->device = d;
		cost->able = hy_side_able(executor, shape, now, d);
		cost->open = member->device != NULL;
		side = hy_gauge_side(executor, shape, d);
		if (d == 0)
			decision->predicted_cpu_ns = side.ns;
		else if (d == choice.candidate)
			decision->predicted_device_ns = side.ns;
		cost->ns = side.ns;
		cost->hint_ns = side.forecast.hint_ns;
		cost->in_flight_ns = member->queue.ns;
		cost->weight = side.forecast.weight;
		cost->samples = side.forecast.samples;
		cost->steps = side.forecast.steps;
		cost->cold = side.forecast.cold;
		if (member->backend != NULL && !executor->foreign)
			cost->needs = member->backend->estimate(member->device, shape);
	}
	return decision->status;
}

bool
hy_executor_history(HyExecutor *executor, int32_t i, HyHistory *history)
{
	HyTrackerRow *row = &history->row;
	const HyBreaker *breaker;

	hy_memo_fold(executor, true);
	if (!hy_tracker_history(executor->tracker, i, history))
		return false;
	if (row->device > 0)
	{
		/* compare with the CPU as it would run such a task now */
		row->shape.threads = hy_gauge_threads(executor, &row->shape);
		compare(executor->tracker, history);
	}
	breaker = &executor->member[row->device].breakers[row->shape.op];
	history->breaker = breaker->state;
	history->success_rate = hy_breaker_rate(breaker);
	return true;
}

const HyBreaker *
hy_executor_breaker(const HyExecutor *executor, int32_t device, HyOp op)
{
	return &executor->member[device].breakers[op];
}

bool
hy_tracker_history(const HyTracker *tracker, int32_t i, HyHistory *history)
{
	HyTrackerRow *row = &history->row;

	memset(history, 0, sizeof(*history));
	if (!hy_tracker_row(tracker, i, row))
		return false;
	history->predicted_ns = hy_tracker_predict(tracker, &row->shape, row->device);
	compare(tracker, history);
	history->breaker = HY_BREAKER_CLOSED;
	history->success_rate = 1;
	return true;
}

/* compare: set the speedup and the break-even point of the row's device, compared with the CPU. */
static void
compare(const HyTracker *tracker, HyHistory *history)
{
	const HyTrackerRow *row = &history->row;

	history->speedup = hy_tracker_speedup(tracker, &row->shape, row->device);
	history->break_even = -1;
	if (row->device > 0)
		history->break_even =
			hy_tracker_break_even(tracker, &row->shape, row->device, BREAK_EVEN_LIMIT);
}

/* is_sane: return whether a task can have this shape. */
static bool
is_sane(const HyShape *shape)
{
	if ((int) shape->op < 0 || (int) shape->op >= HY_OP_COUNT || (int) shape->dtype < 0 ||
	    (int) shape->dtype >= HY_DTYPE_COUNT || (int) shape->metric < 0 ||
	    (int) shape->metric >= HY_METRIC_COUNT || shape->queries < 0 || shape->targets < 0 ||
	    shape->resident)
		return false;
	if (shape->op == HY_OP_SPREAD)
		return shape->dims == 0 && is_addressable(shape->targets, 1, 8) &&
		       is_addressable(shape->queries, 1, 16);
	if (shape->dims < 1 || shape->dims > HY_MAX_DIMS ||
	    (hy_op_has_k(shape->op) ? shape->k < 1 : shape->k != 0) ||
	    !is_addressable(shape->queries, shape->dims, sizeof(float)) ||
	    !is_addressable(shape->targets, shape->dims, hy_dtype_size(shape->dtype)))
		return false;
	if (hy_op_has_k(shape->op))
		return is_addressable(shape->queries, shape->k, sizeof(HyNeighbor));
	return shape->op != HY_OP_DISTANCE ||
	       is_addressable(shape->queries, shape->targets, sizeof(double));
}

/* is_addressable: return whether an array of rows x columns elements of size bytes can exist. */
static bool
is_addressable(int64_t rows, int64_t columns, int64_t size)
{
	int64_t bytes;

	return !__builtin_mul_overflow(rows, columns, &bytes) &&
	       !__builtin_mul_overflow(bytes, size, &bytes) && bytes <= MOST_BYTES;
}
