/*
 * pieces.c
 *		Decides whether a task runs in pieces (bulk.h) and on which devices, and records the
 *		outcome.
 */
#include "dispatch/run/pieces.h"

#include "dispatch/model/slice.h"
#include "dispatch/model/tracker_forecast.h"
#include "dispatch/route/session.h"

/*
 * unless the user forced the device, a longer task runs in pieces, so that a failure costs only one
 * piece
 */
#define WHOLE_NS 4e6
#define ALL_FROM_NS 5e5 /* a task at least this long may be divided among several devices */
#define OPEN_SHARE 0.5  /* maximum time to open another device, as a fraction of the task's time */

static void record_split(const HyBulkPlan *plan, const HyBulkReport *report, HyDecision *decision);

bool
hy_pieces_plan(const HyExecutor *executor, const HyShape *shape, const HyChoice *choice,
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

HyStatus
hy_pieces_run(HyExecutor *executor, const HyTask *task, const HyBulkPlan *plan,
              HyDecision *decision, uint64_t *finished, bool *begun)
{
	HyBulkReport report;
	HyStatus st = hy_bulk_run(executor, task, plan, &report);
	HyCounters *counters;

	*begun = report.begun;
	if (st == HY_OK && decision->reason == HY_REASON_SPLIT)
		record_split(plan, &report, decision);
	counters = &executor->member[decision->device].counters[decision->shape.op];
	*finished = report.finished_ns;
	decision->pieces = report.pieces;
	decision->virtual_time = decision->virtual_time || report.virtual_time;
	if (decision->status == HY_OK && report.first != HY_OK)
	{
		decision->status = report.first;
		decision->failure = report.failure;
	}
	if (st != HY_OK)
		decision->status = st;
	/* a canceled job counts as one canceled call, whichever piece noticed the cancel */
	if (st == HY_CANCELLED)
		hy_count_attempt(counters, st);
	/* if no piece has failed, keep the failure of the attempt with the whole task */
	else if (st != HY_OK && (report.failure.text[0] != '\0' || report.failure.native_code != 0))
		decision->failure = report.failure;
	if (report.fallback)
	{
		decision->fallback = true;
		hy_count_fallback(counters, report.first);
		counters = &executor->member[0].counters[decision->shape.op];
	}
	if (st == HY_OK)
	{
		hy_count_attempt(counters, st);
		hy_count_call(counters, 0, report.finished_ns - report.started_ns);
	}
	return st;
}

/*
 * record_split: record the shares of a split.  If nothing failed and the CPU computed all rows, the
 * task counts as a task of the CPU.  If the CPU or the devices computed all rows, the task does not
 * count as a split, unless the user fixed the shares.
 */
static void
record_split(const HyBulkPlan *plan, const HyBulkReport *report, HyDecision *decision)
{
	int64_t extent = hy_shape_extent(&decision->shape);

	decision->split_share = (double) (extent - report->rows[0]) / (double) extent;
	if (report->fallback || report->first != HY_OK ||
	    (report->rows[0] > 0 && report->rows[0] < extent))
		return;
	if (report->rows[0] > 0)
		decision->device = 0;
	if (plan->percent >= 0)
		return;
	decision->reason = HY_REASON_COST;
	decision->split_share = -1;
}
