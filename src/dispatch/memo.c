/*
 * memo.c
 *		Decisions that hold for a while, and the calls they decided: see memo.h.
 */
#include "dispatch/memo.h"

#include <string.h>

#include "dispatch/executor_state.h"

#define CLIP_FLOOR_NS 100 /* as in tracker.c */

static void count_brief(HyExecutor *executor, const HyBrief *brief);
static void settle(HyExecutor *executor, HyMemo *memo);

void
hy_memo_keep(HyExecutor *executor, const HyShape *shape, HyClass numeric_class,
             const HyChoice *choice, uint64_t now)
{
	HyMemo *memo;
	bool dirty;
	uint64_t expires = now + HY_MEMO_NS;
	int32_t left = choice->calm;
	double expected = choice->cpu_ns;

	/* An unopened device earns its opening call by call; memory is asked for time and again. */
	if (choice->device != 0 || choice->reason == HY_REASON_NOT_OPEN ||
	    choice->reason == HY_REASON_MEMORY || choice->reason == HY_REASON_EXPLORATION ||
	    choice->refusal != HY_OK || shape->resident || left < 2)
		return;
	/* What nobody needed to know for the decision, the band does; a cold start has none. */
	if (expected < 0)
	{
		HyForecast forecast = hy_tracker_forecast(executor->tracker, shape, 0);

		if (forecast.ns < 0 || forecast.cold)
			return;
		expected = forecast.ns;
	}
	if (choice->holds_ns < expires)
		expires = choice->holds_ns;
	if (expires <= now)
		return;
	memo = &executor->memos[hy_memo_slot(shape->queries, shape->targets, shape->dims, shape->k,
	                                     (uint32_t) shape->op)];
	settle(executor, memo);
	dirty = memo->dirty;
	memset(memo, 0, sizeof(*memo));
	memo->dirty = dirty;
	memo->since_ns = now;
	memo->like.queries = shape->queries;
	memo->like.targets = shape->targets;
	memo->like.dims = shape->dims;
	memo->like.k = shape->k;
	memo->like.cpu_ns = (float) choice->cpu_ns;
	memo->like.device_ns = (float) choice->device_ns;
	memo->like.bytes_required = (float) choice->bytes_required;
	memo->like.bytes_available = (float) choice->bytes_available;
	memo->like.op = (uint8_t) shape->op;
	memo->like.dtype = (uint8_t) shape->dtype;
	memo->like.metric = (uint8_t) shape->metric;
	memo->like.numeric_class = (uint8_t) numeric_class;
	memo->like.reason = (uint8_t) choice->reason;
	memo->like.execution =
		(uint8_t) (executor->config.force_cpu ? HY_EXECUTION_CPU : executor->config.execution);
	memo->like.load =
		(uint8_t) (executor->load.runnable < 15.9 ? 16 * executor->load.runnable : 255);
	memo->like.memo = (uint8_t) (memo - executor->memos);
	memo->expires_ns = expires;
	memo->generation = executor->generation;
	memo->left = left;
	memo->low_ns = (float) (expected / 2 > CLIP_FLOOR_NS ? expected / 2 : expected - CLIP_FLOOR_NS);
	memo->high_ns =
		(float) (expected / 2 > CLIP_FLOOR_NS ? expected * 3 / 2 : expected + CLIP_FLOOR_NS);
}

void
hy_memo_note(HyExecutor *executor, HyMemo *memo, uint64_t started, uint64_t finished,
             HyDecision *decision)
{
	HyBrief *brief = &executor->briefs[executor->next_event];

	*brief = memo->like;
	brief->time_ns = started;
	brief->actual_ns = finished - started;
	memo->left--;
	if (decision != NULL)
		hy_brief_expand(brief, decision);
	if (!executor->config.telemetry)
	{
		count_brief(executor, brief);
		return;
	}
	hy_event_step(executor);
	if (++executor->jotted >= HY_MEMO_CALLS || finished >= executor->fold_at_ns)
		hy_memo_fold(executor, false);
}

void
hy_memo_fold(HyExecutor *executor, bool all)
{
	uint64_t now = executor->fold_at_ns;
	int32_t i;

	for (i = executor->jotted; i > 0; i--)
	{
		int32_t slot = executor->next_event - i;
		const HyBrief *brief = &executor->briefs[slot < 0 ? slot + HY_EVENT_SLOTS : slot];

		/* calls that took the long way are among them, and are counted */
		if (brief->memo == HY_BRIEF_FULL)
			continue;
		count_brief(executor, brief);
		now = brief->time_ns;
	}
	if (executor->jotted > 0)
		executor->fold_at_ns = now + HY_MEMO_NS;
	executor->jotted = 0;
	for (i = 0; i < executor->dirty; i++)
	{
		HyMemo *memo = &executor->memos[executor->dirty_memo[i]];

		if (!all && memo->count < HY_MEMO_CALLS && now - memo->since_ns < HY_MEMO_NS)
			continue;
		settle(executor, memo);
		memo->dirty = false;
		executor->dirty_memo[i--] = executor->dirty_memo[--executor->dirty];
	}
	hy_generation_check(executor);
}

HyMemo *
hy_memo_like(HyExecutor *executor, const HyShape *shape, HyClass numeric_class, uint64_t now)
{
	HyMemo *memo = &executor->memos[hy_memo_slot(shape->queries, shape->targets, shape->dims,
	                                             shape->k, (uint32_t) shape->op)];
	const HyBrief *like = &memo->like;

	if (memo->generation != executor->generation || memo->expires_ns <= now || memo->left <= 0 ||
	    like->queries != shape->queries || like->targets != shape->targets ||
	    like->dims != shape->dims || like->k != shape->k || like->op != shape->op ||
	    like->dtype != shape->dtype || like->metric != shape->metric ||
	    like->numeric_class != numeric_class || shape->resident || shape->op == HY_OP_SPREAD)
		return NULL;
	return memo;
}

void
hy_memo_forget(HyExecutor *executor)
{
	memset(executor->memos, 0, sizeof(executor->memos));
	memset(executor->briefs, 0, sizeof(executor->briefs));
	executor->jotted = 0;
	executor->dirty = 0;
}

void
hy_brief_expand(const HyBrief *brief, HyDecision *decision)
{
	decision->time_ns = brief->time_ns;
	decision->shape = (HyShape){.op = (HyOp) brief->op,
	                            .dtype = (HyDtype) brief->dtype,
	                            .metric = (HyMetric) brief->metric,
	                            .dims = brief->dims,
	                            .queries = brief->queries,
	                            .targets = brief->targets,
	                            .k = brief->k};
	decision->items = hy_shape_items(&decision->shape);
	decision->execution = (HyExecution) brief->execution;
	decision->device = 0;
	decision->reason = (HyReason) brief->reason;
	decision->fallback = false;
	decision->status = HY_OK;
	decision->failure.native_code = 0;
	decision->failure.text[0] = '\0';
	decision->predicted_cpu_ns = (double) brief->cpu_ns;
	decision->predicted_device_ns = (double) brief->device_ns;
	decision->actual_ns = brief->actual_ns;
	decision->virtual_time = false;
	decision->bytes_required = (uint64_t) brief->bytes_required;
	/* what is not limited is more than a float can say exactly */
	decision->bytes_available =
		brief->bytes_available < 0x1p63f ? (uint64_t) brief->bytes_available : UINT64_MAX;
	decision->load = brief->load / 16.0;
	decision->queue = -1;
	decision->pieces = 0;
	decision->split_share = -1;
}

/* count_brief: into the counters, and into what its memo has for history. */
static void
count_brief(HyExecutor *executor, const HyBrief *brief)
{
	HyCounters *counters = &executor->member[0].counters[brief->op];
	HyMemo *memo = &executor->memos[brief->memo];
	HyShape shape = {.queries = brief->queries, .targets = brief->targets};
	double ns = (double) brief->actual_ns;

	counters->by_reason[brief->reason]++;
	counters->by_status[HY_OK]++;
	hy_count_call(counters, hy_shape_items(&shape), brief->actual_ns);
	executor->spent_ns += ns;
	if (!memo->dirty)
	{
		memo->dirty = true;
		memo->since_ns = brief->time_ns;
		executor->dirty_memo[executor->dirty++] = brief->memo;
	}
	memo->count++;
	memo->sum_ns += ns > (double) memo->high_ns  ? (double) memo->high_ns
	                : ns < (double) memo->low_ns ? (double) memo->low_ns
	                                             : ns;
}

/* settle: history takes in what a memo has for it. */
static void
settle(HyExecutor *executor, HyMemo *memo)
{
	HyShape shape = {.op = (HyOp) memo->like.op,
	                 .dtype = (HyDtype) memo->like.dtype,
	                 .metric = (HyMetric) memo->like.metric,
	                 .dims = memo->like.dims,
	                 .queries = memo->like.queries,
	                 .targets = memo->like.targets,
	                 .k = memo->like.k};

	if (memo->count > 0)
	{
		hy_tracker_record_many(executor->tracker, &shape, 0, memo->sum_ns / memo->count,
		                       memo->count);
		hy_load_seen(executor, memo->count);
	}
	memo->count = 0;
	memo->sum_ns = 0;
}
