/*
 * memo.c
 *		Keeps decisions that stay valid for a while, and logs the calls that they decide: see
 *		memo.h.
 */
#include "dispatch/route/memo.h"

#include <string.h>

#include "core/threads.h"
#include "dispatch/route/gauge.h"

#define CLIP_FLOOR_NS 100 /* the same value as in tracker.c */

/*
 * if a device is slower than the CPU by this factor, only a large change of history makes it the
 * faster one
 */
#define FAR 2.0

/* End: the decision and the expected time at one end of a memo's range of targets. */
typedef struct End
{
	int64_t targets;
	HyChoice choice;
	double expected;
} End;

static uint64_t expiry(const HyExecutor *executor, const HyChoice *choice, uint64_t now);
static inline uint32_t
slot_of(int64_t queries, int64_t targets, int32_t dims, int32_t k, uint32_t kind);
static inline bool holds(const HyExecutor *executor, const HyMemo *memo, uint64_t now,
                         int64_t queries, int64_t targets);
static inline float line_at(HyLine line, int64_t above_low);
static bool reach(HyExecutor *executor, const HyShape *shape, HyClass numeric_class,
                  const HyChoice *choice, uint64_t now, int64_t targets, End *end);
static void half_power(const HyShape *shape, int64_t *low, int64_t *high);
static bool expect(HyExecutor *executor, const HyShape *shape, End *end);
static HyLine line(double low, double high, int64_t steps);
static int32_t
calls_left(const HyExecutor *executor, const End *low, const End *high, uint64_t now);
static HyWatch what_matters(const End *low, const End *high);
static void count_brief(HyExecutor *executor, const HyBrief *brief);
static void settle(HyExecutor *executor, HyMemo *memo);

HyMemo *
hy_memo_recall(HyExecutor *executor, const HyTask *task, uint64_t now, int64_t *targets)
{
	const HyMatrix *q;
	const HyMatrix *t;
	HyMetric metric;
	int32_t k = 0;
	HyMemo *memo;
	const HyBrief *like;

	/* Read only the fields that make up a shape, and those that a dispatch checks first. */
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
	memo = &executor->memos[slot_of(q->rows, t->rows, t->dims, k, (uint32_t) task->op)];
	like = &memo->like;
	*targets = t->rows;
	if (!holds(executor, memo, now, q->rows, t->rows) || like->dims != t->dims || like->k != k ||
	    like->op != task->op || like->dtype != t->dtype || like->metric != metric ||
	    like->numeric_class != task->numeric_class || q->buffer != NULL || t->buffer != NULL)
		return NULL;
	return memo;
}

void
hy_memo_keep(HyExecutor *executor, const HyShape *shape, HyClass numeric_class,
             const HyChoice *choice, uint64_t now)
{
	HyMemo *memo;
	bool dirty;
	uint64_t expires = expiry(executor, choice, now);
	End low = {.targets = shape->targets, .choice = *choice};
	End high;
	int64_t least;
	int64_t most;
	int32_t left;

	/* the time of a task that is worth several threads depends on their number, which may change */
	if (hy_threads_worth(hy_cost_terms(shape, true).work))
		return;
	/* The memory budget changes all the time, so a decision that depends on it is not kept. */
	if (choice->device != 0 || choice->reason == HY_REASON_MEMORY ||
	    choice->reason == HY_REASON_EXPLORATION || choice->refusal != HY_OK || shape->resident ||
	    choice->tasks_until_trial < 2 || !expect(executor, shape, &low))
		return;
	if (expires <= now)
		return;
	high = low;
	half_power(shape, &least, &most);
	/* The range stays within one size class, because another class has another correction. */
	(void) reach(executor, shape, numeric_class, choice, now, least, &low);
	(void) reach(executor, shape, numeric_class, choice, now, most, &high);
	left = calls_left(executor, &low, &high, now);
	if (left < 2)
		return;
	memo = &executor->memos[slot_of(shape->queries, shape->targets, shape->dims, shape->k,
	                                (uint32_t) shape->op)];
	settle(executor, memo);
	dirty = memo->dirty;
	memset(memo, 0, sizeof(*memo));
	memo->dirty = dirty;
	memo->low = low.targets;
	memo->high = high.targets;
	memo->like.queries = shape->queries;
	memo->like.targets = shape->targets;
	memo->like.dims = shape->dims;
	memo->like.k = shape->k;
	memo->like.bytes_available = (float) choice->bytes_available;
	memo->like.op = (uint8_t) shape->op;
	memo->like.dtype = (uint8_t) shape->dtype;
	memo->like.metric = (uint8_t) shape->metric;
	memo->like.numeric_class = (uint8_t) numeric_class;
	memo->like.reason = (uint8_t) choice->reason & 31;
	if (choice->missed != NULL)
		memo->like.missed = (uint8_t) (choice->missed - executor->member) & HY_BRIEF_DEVICE;
	memo->like.execution =
		(uint8_t) (executor->config.force_cpu ? HY_EXECUTION_CPU : executor->config.execution);
	memo->like.load =
		(uint8_t) (executor->load.runnable < 15.9 ? 16 * executor->load.runnable : 255);
	memo->like.memo = (uint8_t) (memo - executor->memos);
	memo->expires_ns = expires;
	memo->generation = executor->generation;
	memo->watch = (uint8_t) what_matters(&low, &high);
	memo->moved = executor->moved[memo->watch];
	memo->until = executor->noted + (uint64_t) left;
	if (choice->reason == HY_REASON_NOT_OPEN)
		memo->candidate = (uint8_t) choice->candidate;
	most = high.targets - low.targets;
	memo->cpu = line(low.choice.cpu_ns, high.choice.cpu_ns, most);
	memo->device = line(low.choice.device_ns, high.choice.device_ns, most);
	memo->bytes =
		line((double) low.choice.bytes_required, (double) high.choice.bytes_required, most);
	memo->expected = line(low.expected, high.expected, most);
}

/* expiry: return the time until which a decision may be repeated. */
static uint64_t
expiry(const HyExecutor *executor, const HyChoice *choice, uint64_t now)
{
	uint64_t expires = now + HY_MEMO_NS;
	int32_t d;

	if (choice->holds_ns < expires)
		expires = choice->holds_ns;
	for (d = 1; d < executor->members; d++)
	{
		const HyMember *member = &executor->member[d];

		if ((choice->devices >> d & 1) && member->device == NULL && member->open_after_ns > now &&
		    member->open_after_ns < expires)
			expires = member->open_after_ns;
	}
	return expires;
}

/*
 * slot_of: return the slot for a task's memo.  For the same queries, dims, k and operation,
 * consecutive ranges of work (half_power) get consecutive slots, so they do not replace each other.
 * If the work overflows, the slot is arbitrary.
 */
static inline uint32_t
slot_of(int64_t queries, int64_t targets, int32_t dims, int32_t k, uint32_t kind)
{
	uint64_t rows = (uint64_t) queries * (uint64_t) (int64_t) dims;
	uint64_t work = rows * (uint64_t) targets | 2;
	int power = 63 - __builtin_clzll(work);
	uint64_t mix;

	mix = ((uint64_t) queries + ((uint64_t) (uint32_t) dims << 32)) * UINT64_C(0xbf58476d1ce4e5b9);
	mix ^= ((uint64_t) (uint32_t) k << 8 | kind) * UINT64_C(0x94d049bb133111eb);
	return ((uint32_t) (mix >> 40) + 2 * (uint32_t) power + (uint32_t) (work >> (power - 1) & 1)) &
	       (HY_MEMOS - 1);
}

/* holds: return whether a memo covers this many queries and targets, and is still valid. */
static inline bool
holds(const HyExecutor *executor, const HyMemo *memo, uint64_t now, int64_t queries,
      int64_t targets)
{
	return memo->generation == executor->generation && memo->expires_ns > now &&
	       memo->until > executor->noted && memo->moved == executor->moved[memo->watch] &&
	       memo->like.queries == queries && memo->low <= targets && targets <= memo->high;
}

/*
 * reach: decide the same task with another number of targets.  If the decision is the same, set
 * *end and return true.  If `targets` is the task's own number, *end is set already.
 */
static bool
reach(HyExecutor *executor, const HyShape *shape, HyClass numeric_class, const HyChoice *choice,
      uint64_t now, int64_t targets, End *end)
{
	bool no_trials = executor->no_trials;
	HyShape other = *shape;
	End there = {.targets = targets};

	if (targets == shape->targets)
		return true;
	other.targets = targets;
	if (hy_threads_worth(hy_cost_terms(&other, true).work))
		return false;
	/*
	 * Trials are due per kind of task and not per size, so ignore them here.
	 * choice->tasks_until_trial says when a trial may be due.
	 */
	executor->no_trials = true;
	hy_decide(executor, &other, numeric_class, now, &there.choice);
	executor->no_trials = no_trials;
	if (there.choice.device != 0 || there.choice.reason != choice->reason ||
	    there.choice.refusal != HY_OK || there.choice.split ||
	    there.choice.candidate != choice->candidate || there.choice.devices != choice->devices ||
	    (there.choice.cpu_ns < 0) != (choice->cpu_ns < 0) ||
	    (there.choice.device_ns < 0) != (choice->device_ns < 0) ||
	    !expect(executor, &other, &there))
		return false;
	*end = there;
	return true;
}

/*
 * half_power: compute the range of targets for which the work lies in the same half of the range
 * between two powers of two.
 */
static void
half_power(const HyShape *shape, int64_t *low, int64_t *high)
{
	double unit = (double) shape->queries * shape->dims;
	double work = unit * (double) shape->targets;
	uint64_t row;
	uint64_t least;
	int power;

	*low = *high = shape->targets;
	if (!(unit >= 1) || !(work >= 2) || work >= 0x1p60)
		return;
	row = (uint64_t) shape->queries * (uint64_t) shape->dims;
	power = 63 - __builtin_clzll(row * (uint64_t) shape->targets);
	least = (row * (uint64_t) shape->targets) >> (power - 1);
	*low = (int64_t) (((least << (power - 1)) + row - 1) / row);
	*high = (int64_t) ((((least + 1) << (power - 1)) + row - 1) / row) - 1;
}

/*
 * expect: set the expected CPU time; observed times are clipped to a band around it.  If the
 * decision did not predict the CPU time, predict it now, and return false if there is no history,
 * or only a cold start.
 */
static bool
expect(HyExecutor *executor, const HyShape *shape, End *end)
{
	HyForecast forecast;

	end->expected = end->choice.cpu_ns;
	if (end->expected >= 0)
		return true;
	forecast = hy_gauge_forecast(executor, shape, 0);
	end->expected = forecast.ns;
	return forecast.ns >= 0 && !forecast.cold;
}

static HyLine
line(double low, double high, int64_t steps)
{
	HyLine line = {.low = (float) low};

	if (steps > 0)
		line.slope = (float) ((high - low) / (double) steps);
	return line;
}

/*
 * calls_left: return the number of calls until a trial may be due, or until the ski rental credit
 * may reach the open cost, so that the device opens.
 */
static int32_t
calls_left(const HyExecutor *executor, const End *low, const End *high, uint64_t now)
{
	int32_t left = low->choice.tasks_until_trial < high->choice.tasks_until_trial
	                   ? low->choice.tasks_until_trial
	                   : high->choice.tasks_until_trial;
	const HyMember *member = &executor->member[high->choice.candidate];
	double due;
	double paid;

	if (high->choice.reason != HY_REASON_NOT_OPEN)
		return left;
	due = (double) member->info.open_cost_ns - member->open_credit_ns;
	paid = high->expected - (high->choice.device_ns >= 0 ? high->choice.device_ns : 0);
	if (due <= 0)
		return member->open_after_ns > now ? left : 0;
	/* use half of the computed number, because the expected time is inexact, especially at first */
	if (paid > 0 && due / paid / 2 < left)
		left = (int32_t) (due / paid / 2);
	return left;
}

static HyWatch
what_matters(const End *low, const End *high)
{
	if (low->choice.reason == HY_REASON_NOT_OPEN)
		return HY_WATCH_LEAPS;
	if (low->choice.reason != HY_REASON_COST)
		return HY_WATCH_NOTHING;
	return low->choice.cpu_ns >= 0 && FAR * low->choice.cpu_ns < low->choice.device_ns &&
	               FAR * high->choice.cpu_ns < high->choice.device_ns
	           ? HY_WATCH_LEAPS
	           : HY_WATCH_MOVES;
}

/* line_at: return the value of a line at above_low targets more than the smallest number. */
static inline float
line_at(HyLine line, int64_t above_low)
{
	return line.low + line.slope * (float) above_low;
}

void
hy_memo_brief(const HyMemo *memo, int64_t targets, HyBrief *brief)
{
	*brief = memo->like;
	brief->targets = targets;
	targets -= memo->low;
	brief->cpu_ns = line_at(memo->cpu, targets);
	brief->device_ns = line_at(memo->device, targets);
	brief->bytes_required = line_at(memo->bytes, targets);
}

void
hy_memo_log(HyExecutor *executor, HyMemo *memo, int64_t targets, uint64_t started,
            uint64_t finished, HyDecision *decision)
{
	HyBrief *brief = &executor->briefs[executor->next_event];

	hy_memo_brief(memo, targets, brief);
	brief->time_ns = started;
	brief->actual_ns = finished - started;
	executor->noted++;
	if (decision != NULL)
		hy_brief_expand(executor, brief, decision);
	if (!executor->config.telemetry)
	{
		count_brief(executor, brief);
		if (executor->unsettled >= HY_MEMO_CALLS || finished >= executor->settled_ns + HY_MEMO_NS)
		{
			hy_memo_fold(executor, true);
			executor->settled_ns = finished;
		}
		return;
	}
	hy_event_step(executor);
	if (++executor->uncounted >= HY_MEMO_CALLS || finished >= executor->fold_at_ns)
		hy_memo_fold(executor, false);
}

void
hy_memo_fold(HyExecutor *executor, bool all)
{
	uint64_t now = executor->settled_ns;
	int32_t i;

	for (i = executor->uncounted; i > 0; i--)
	{
		int32_t slot = executor->next_event - i;
		const HyBrief *brief = &executor->briefs[slot < 0 ? slot + HY_EVENT_SLOTS : slot];

		/* a call without a memo was counted when it ended */
		if (brief->memo == HY_BRIEF_FULL)
			continue;
		count_brief(executor, brief);
		now = brief->time_ns;
	}
	if (executor->uncounted > 0)
		executor->fold_at_ns = now + HY_MEMO_NS;
	executor->uncounted = 0;
	/*
	 * Add the calls of all memos to history together.  A trial becomes due after a number of tasks
	 * of a kind, and these may be spread over many memos.
	 */
	if (!all && executor->unsettled < HY_MEMO_CALLS && now < executor->settled_ns + HY_MEMO_NS)
		return;
	for (i = 0; i < executor->dirty; i++)
	{
		HyMemo *memo = &executor->memos[executor->dirty_memo[i]];

		settle(executor, memo);
		memo->dirty = false;
	}
	executor->dirty = 0;
	executor->unsettled = 0;
	executor->settled_ns = now;
	hy_generation_check(executor);
}

HyMemo *
hy_memo_like(HyExecutor *executor, const HyShape *shape, HyClass numeric_class, uint64_t now)
{
	HyMemo *memo = &executor->memos[slot_of(shape->queries, shape->targets, shape->dims, shape->k,
	                                        (uint32_t) shape->op)];

	if (shape->resident || (shape->op != HY_OP_DISTANCE && shape->op != HY_OP_TOPK) ||
	    !holds(executor, memo, now, shape->queries, shape->targets) ||
	    memo->like.dims != shape->dims || memo->like.k != shape->k || memo->like.op != shape->op ||
	    memo->like.dtype != shape->dtype || memo->like.metric != shape->metric ||
	    memo->like.numeric_class != numeric_class)
		return NULL;
	return memo;
}

void
hy_generation_check(HyExecutor *executor)
{
	executor->moved[HY_WATCH_LEAPS] = hy_tracker_leaps(executor->tracker);
	executor->moved[HY_WATCH_MOVES] = hy_tracker_generation(executor->tracker);
}

void
hy_memo_forget(HyExecutor *executor)
{
	memset(executor->memos, 0, sizeof(executor->memos));
	memset(executor->briefs, 0, sizeof(executor->briefs));
	executor->uncounted = 0;
	executor->dirty = 0;
	executor->unsettled = 0;
}

void
hy_brief_expand(const HyExecutor *executor, const HyBrief *brief, HyDecision *decision)
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
	if (brief->missed != 0)
		hy_member_failure(&executor->member[brief->missed], &decision->failure);
	decision->predicted_cpu_ns = (double) brief->cpu_ns;
	decision->predicted_device_ns = (double) brief->device_ns;
	decision->actual_ns = brief->actual_ns;
	decision->virtual_time = false;
	decision->bytes_required = (uint64_t) brief->bytes_required;
	/* UINT64_MAX, for "unlimited", cannot be stored exactly in a float */
	decision->bytes_available =
		brief->bytes_available < 0x1p63f ? (uint64_t) brief->bytes_available : UINT64_MAX;
	decision->load = brief->load / 16.0;
	decision->queue = -1;
	decision->pieces = 0;
	decision->split_share = -1;
}

/*
 * count_brief: add a logged call to the counters, and to the sums in its memo, which later go to
 * history.
 */
static void
count_brief(HyExecutor *executor, const HyBrief *brief)
{
	HyCounters *counters = &executor->member[0].counters[brief->op];
	HyMemo *memo = &executor->memos[brief->memo];
	HyShape shape = {.queries = brief->queries, .targets = brief->targets};
	double ns = (double) brief->actual_ns;
	double expected;
	double band;

	counters->by_reason[brief->reason]++;
	counters->by_status[HY_OK]++;
	hy_count_call(counters, hy_shape_items(&shape), brief->actual_ns);
	executor->spent_ns += ns;
	if (memo->candidate != 0)
		hy_open_credit_add(executor, memo->candidate, ns, (double) brief->device_ns);
	if (!memo->dirty)
	{
		memo->dirty = true;
		executor->dirty_memo[executor->dirty++] = brief->memo;
	}
	expected = (double) line_at(memo->expected, brief->targets - memo->low);
	band = expected / 2 > CLIP_FLOOR_NS ? expected / 2 : CLIP_FLOOR_NS;
	executor->unsettled++;
	memo->count++;
	memo->sum_ns += ns > expected + band   ? expected + band
	                : ns < expected - band ? expected - band
	                                       : ns;
	memo->sum_targets += (double) brief->targets;
}

/* settle: add the calls of a memo to history, as an equal number of calls of their mean size. */
static void
settle(HyExecutor *executor, HyMemo *memo)
{
	HyShape shape = {.op = (HyOp) memo->like.op,
	                 .dtype = (HyDtype) memo->like.dtype,
	                 .metric = (HyMetric) memo->like.metric,
	                 .dims = memo->like.dims,
	                 .queries = memo->like.queries,
	                 .k = memo->like.k};

	if (memo->count > 0)
	{
		double mean = memo->sum_targets / memo->count;
		double ns = memo->sum_ns / memo->count;

		/*
		 * The number of targets must be an integer, so round the mean and adjust the time
		 * accordingly.
		 */
		shape.targets = (int64_t) (mean + 0.5);
		ns += (double) memo->expected.slope * ((double) shape.targets - mean);
		hy_tracker_record_many(executor->tracker, &shape, 0, ns, memo->count);
		hy_load_seen(executor, memo->count);
	}
	memo->count = 0;
	memo->sum_ns = 0;
	memo->sum_targets = 0;
}
