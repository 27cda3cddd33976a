/*
 * bulk.c
 *		Runs one large task in pieces, on several devices and the CPU at once: see bulk.h.
 *
 * A step first polls the pieces in flight, and then submits new pieces to every device that can
 * take more.  At its end, the CPU computes a piece, so the devices have work while the CPU
 * computes.
 */
#include "dispatch/run/bulk_state.h"

#include <math.h>
#include <string.h>

#include "dispatch/route/budget.h"
#include "dispatch/run/attempt.h"

static HyStatus prepare(HyBulk *bulk);
static void add_lane(HyBulk *bulk, int32_t device);
static void next_poll(HyBulk *bulk, uint64_t *wait_ns, bool *may_skip);
static void finish(HyBulk *bulk);

HyStatus
hy_bulk_begin(HyExecutor *executor, const HyTask *task, const HyBulkPlan *plan, HyBulk **bulk)
{
	HyBulk *b = hy_alloc_zero(executor->allocator, sizeof(HyBulk));
	HyStatus st;

	*bulk = NULL;
	if (b == NULL)
		return HY_NOMEM;
	b->executor = executor;
	b->plan = *plan;
	hy_slicing_init(&b->slicing, task);
	b->report.begun = true;
	b->report.started_ns = hy_bulk_now(b);
	st = prepare(b);
	if (st != HY_OK)
	{
		hy_bulk_end(b);
		return st;
	}
	hy_slicing_begin(&b->slicing);
	*bulk = b;
	return HY_OK;
}

bool
hy_bulk_step(HyBulk *bulk, uint64_t *wait_ns, bool *may_skip)
{
	const HyCancel *cancel = bulk->slicing.task->cancel;
	bool progress;

	*wait_ns = 0;
	*may_skip = false;
	if (bulk->over)
		return true;
	progress = hy_bulk_poll(bulk);
	if (!bulk->over && hy_cancelled(cancel))
		hy_bulk_stop(bulk, HY_CANCELLED);
	if (!bulk->over && hy_bulk_feed_devices(bulk))
		progress = true;
	if (!bulk->over && hy_bulk_feed_cpu(bulk))
		progress = true;
	if (!bulk->over && hy_rows_none(&bulk->rows) && hy_bulk_tally(bulk).in_flight == 0)
		finish(bulk);
	if (bulk->over)
		return true;
	if (!progress)
		next_poll(bulk, wait_ns, may_skip);
	return false;
}

const HyBulkReport *
hy_bulk_report(const HyBulk *bulk)
{
	return &bulk->report;
}

void
hy_bulk_end(HyBulk *bulk)
{
	const HyAllocator *allocator;
	int32_t i;

	if (bulk == NULL)
		return;
	allocator = bulk->executor->allocator;
	if (!bulk->over)
		hy_bulk_stop(bulk, HY_CANCELLED);
	for (i = 0; i < bulk->pieces; i++)
		hy_free(allocator, bulk->piece[i].memory);
	hy_free(allocator, bulk->piece);
	hy_free(allocator, bulk->cpu_memory);
	hy_free(allocator, bulk->spare);
	hy_free(allocator, bulk);
}

HyStatus
hy_bulk_run(HyExecutor *executor, const HyTask *task, const HyBulkPlan *plan, HyBulkReport *report)
{
	HyBulk *bulk;
	uint64_t wait_ns;
	bool may_skip;
	HyStatus st = hy_bulk_begin(executor, task, plan, &bulk);

	memset(report, 0, sizeof(*report));
	report->status = st;
	report->started_ns = report->finished_ns = hy_now(executor);
	if (st != HY_OK)
		return st;
	while (!hy_bulk_step(bulk, &wait_ns, &may_skip))
	{
		if (wait_ns > 0)
			hy_wait(executor, wait_ns, may_skip);
	}
	*report = bulk->report;
	hy_bulk_end(bulk);
	return report->status;
}

HyBulkTally
hy_bulk_tally(const HyBulk *bulk)
{
	HyBulkTally tally = {0};
	int i;

	for (i = 0; i < bulk->lanes; i++)
	{
		const HyBulkLane *lane = &bulk->lane[i];

		tally.open += lane->open;
		tally.in_flight += lane->in_flight > 0;
		tally.room += lane->open && lane->in_flight < lane->depth;
	}
	return tally;
}

void
hy_bulk_stop(HyBulk *bulk, HyStatus status)
{
	int i;

	for (i = 0; i < bulk->lanes; i++)
	{
		HyBulkLane *lane = &bulk->lane[i];

		if (lane->in_flight > 0)
			hy_attempt_report(bulk->executor, lane->member, bulk->slicing.shape.op, HY_CANCELLED);
		hy_bulk_stop_lane(bulk, lane);
		hy_bulk_withdraw(bulk, lane);
	}
	bulk->report.status = status;
	bulk->report.finished_ns = hy_bulk_now(bulk);
	bulk->over = true;
}

/* prepare: set up the lanes, the memory, and the range of rows. */
static HyStatus
prepare(HyBulk *bulk)
{
	HyExecutor *executor = bulk->executor;
	const HyAllocator *allocator = executor->allocator;
	size_t bytes = (size_t) hy_slice_output_bytes(&bulk->slicing);
	int32_t d;

	bulk->rows.back = bulk->slicing.extent;
	bulk->rows.boundary = -1;
	bulk->cpu.member = &executor->member[0];
	bulk->cpu.open = bulk->plan.with_cpu;
	hy_bulk_learn_speed(bulk, &bulk->cpu);
	for (d = 1; d < executor->members; d++)
	{
		const HyMember *member = &executor->member[d];

		if ((bulk->plan.devices >> d & 1) && member->backend != NULL && !member->latched)
			add_lane(bulk, d);
	}
	if (bulk->lanes == 0 && !bulk->plan.with_cpu)
		return HY_UNSUPPORTED;
	if (bulk->plan.percent < 0)
		hy_bulk_drop_slow_lanes(bulk);
	else if (bulk->plan.with_cpu)
		bulk->rows.boundary =
			(int64_t) ((double) bulk->slicing.extent * bulk->plan.percent / 100 + 0.5);
	bulk->piece = hy_alloc_zero(allocator, (size_t) bulk->pieces * sizeof(HyBulkPiece));
	if (bulk->piece == NULL && bulk->pieces > 0)
	{
		bulk->pieces = 0;
		return HY_NOMEM;
	}
	if (!bulk->slicing.merges)
		return HY_OK;
	bulk->spare = hy_alloc_array(allocator, (size_t) bulk->slicing.shape.k, sizeof(HyNeighbor));
	bulk->cpu_memory = hy_alloc(allocator, bytes);
	return bulk->spare == NULL || (bulk->cpu_memory == NULL && bytes > 0) ? HY_NOMEM : HY_OK;
}

/*
 * add_lane: add a lane for a device, with a piece slot for each piece that it may have in flight.
 */
static void
add_lane(HyBulk *bulk, int32_t device)
{
	HyBulkLane *lane = &bulk->lane[bulk->lanes++];
	int32_t depth = bulk->executor->config.queue_depth;

	lane->device = device;
	lane->member = &bulk->executor->member[device];
	lane->open = true;
	lane->most_rows = -1;
	lane->depth = depth < 1 ? 1 : depth > HY_MAX_FLIGHTS ? HY_MAX_FLIGHTS : depth;
	if (lane->member->info.tasks > 0 && lane->depth > lane->member->info.tasks)
		lane->depth = lane->member->info.tasks;
	/* A breaker that is not closed allows one probe at a time. */
	if (lane->member->breakers[bulk->slicing.shape.op].state != HY_BREAKER_CLOSED)
		lane->depth = 1;
	bulk->pieces += lane->depth;
	hy_bulk_learn_speed(bulk, lane);
}

/*
 * next_poll: compute how long to wait before the next step, which is until a piece in flight may
 * have ended.
 */
static void
next_poll(HyBulk *bulk, uint64_t *wait_ns, bool *may_skip)
{
	int32_t i;

	*wait_ns = UINT64_MAX;
	for (i = 0; i < bulk->pieces; i++)
	{
		bool skips;
		uint64_t ns;

		if (bulk->piece[i].lane == NULL)
			continue;
		ns = hy_flight_poll_delay(bulk->executor, &bulk->piece[i].flight, &skips);
		if (ns < *wait_ns || (ns == *wait_ns && !skips))
		{
			*wait_ns = ns;
			*may_skip = skips;
		}
	}
	if (*wait_ns == UINT64_MAX)
		*wait_ns = HY_QUEUE_LOOK_NS;
}

/*
 * finish: end the job after all rows are done.  The items, pieces and bytes of each lane are added
 * to the counters of its device or of the CPU.  The caller counts the call itself.
 */
static void
finish(HyBulk *bulk)
{
	int i;

	bulk->report.status = HY_OK;
	/* the devices completed no row, and the CPU did them all */
	if (bulk->report.first != HY_OK && bulk->cpu.rows == bulk->slicing.extent)
		bulk->report.fallback = true;
	for (i = -1; i < bulk->lanes; i++)
	{
		HyBulkLane *lane = i < 0 ? &bulk->cpu : &bulk->lane[i];
		HyCounters *counters = &lane->member->counters[bulk->slicing.shape.op];
		HyShape shape = hy_shape_slice(&bulk->slicing.shape, lane->rows);

		if (i >= 0)
			hy_bulk_withdraw(bulk, lane);
		if (lane->rows == 0)
			continue;
		if (i >= 0)
			hy_member_fitted(lane->member, lane->largest * (uint64_t) lane->depth);
		if (__builtin_add_overflow(counters->items, hy_shape_items(&shape), &counters->items))
			counters->items = INT64_MAX;
		counters->pieces += lane->pieces;
		counters->bytes_up += lane->bytes_up;
		counters->bytes_down += lane->bytes_down;
		if (i >= 0)
			continue;
		/* pieces may have run on different numbers of threads, so record the mean over time */
		shape.threads = (int32_t) (lane->threads_ns / lane->busy_ns + 0.5);
		hy_tracker_record(bulk->executor->tracker, &shape, 0,
		                  (uint64_t) fmax(lane->busy_ns - lane->main_thread_work_ns, 1));
	}
	bulk->report.finished_ns = hy_bulk_now(bulk);
	bulk->over = true;
}
