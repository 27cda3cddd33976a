/*
 * calibration.c
 *		Measuring both sides on purpose: see calibration.h.
 *
 * The dims are those that models of text and images commonly give; a kind of task between them
 * leans on its neighbours (tracker.h).  Sizes go up in factors of 8 and from one query to eight, so
 * that launch, work and bytes can be told apart.
 */
#include "dispatch/calibration.h"

#include <string.h>

#include "dispatch/executor_state.h"
#include "dispatch/workload.h"

#define MEMORY (UINT64_C(64) << 20)
#define LONGEST_NS 10e6
#define REPEATS 3 /* of each size; the first one ever of a kind is set aside by the tracker */
#define LENGTH(list) ((int) (sizeof(list) / sizeof((list)[0])))

static const HyOp the_ops[] = {HY_OP_DISTANCE, HY_OP_TOPK, HY_OP_SPREAD};
static const HyMetric the_metrics[] = {HY_METRIC_L2, HY_METRIC_COSINE, HY_METRIC_IP};
static const int32_t the_dims[] = {64, 384, 768, 1536, 3072};
static const int64_t the_counts[] = {64, 512, 4096, 32768, 262144};
static const int64_t the_queries[] = {1, 8};

/* Work: what a calibration is made of. */
typedef struct Work
{
	HyExecutor *executor;
	HyWorkload *workload;
	const HyCancel *cancel;
	double longest;
	int64_t runs;
	bool out[HY_MAX_DEVICES]; /* it failed */
} Work;

static void open_devices(Work *work);
static HyStatus measure_kind(Work *work, HyShape kind);
static HyStatus measure(Work *work, int32_t device, const HyShape *shape);

HyStatus
hy_calibrate(HyExecutor *executor, const HyCalibrationLimits *limits, int64_t *runs)
{
	Work work = {.executor = executor,
	             .cancel = limits->cancel,
	             .longest = limits->longest_ns > 0 ? (double) limits->longest_ns : LONGEST_NS};
	HyStatus st;
	int o;

	*runs = 0;
	st = hy_workload_create(limits->allocator, limits->cancel,
	                        limits->memory > 0 ? limits->memory : MEMORY, &work.workload);
	if (st != HY_OK)
		return st;
	open_devices(&work);
	for (o = 0; o < LENGTH(the_ops) && st == HY_OK; o++)
	{
		HyShape kind = {.op = the_ops[o], .k = the_ops[o] == HY_OP_TOPK ? 10 : 0};
		bool plain = kind.op == HY_OP_SPREAD; /* neither dims nor metric */
		int m;
		int d;

		for (m = 0; m < (plain ? 1 : LENGTH(the_metrics)) && st == HY_OK; m++)
		{
			for (d = 0; d < (plain ? 1 : LENGTH(the_dims)) && st == HY_OK; d++)
			{
				kind.metric = plain ? HY_METRIC_L2 : the_metrics[m];
				kind.dims = plain ? 0 : the_dims[d];
				st = measure_kind(&work, kind);
			}
		}
	}
	hy_workload_destroy(work.workload);
	*runs = work.runs;
	return st;
}

static void
open_devices(Work *work)
{
	HyExecutor *executor = work->executor;
	bool foreign = hy_executor_foreign(executor);
	int32_t i;

	for (i = 1; i < executor->members; i++)
	{
		HyMember *member = &executor->member[i];

		if (member->backend == NULL || member->latched || foreign)
			work->out[i] = true;
		else if (member->device == NULL)
			work->out[i] = hy_member_open(executor, member,
			                              executor->clock->now(executor->clock->arg)) != HY_OK;
	}
}

/* measure_kind: sizes from small to large, so that the tracker can say how long the next one takes. */
static HyStatus
measure_kind(Work *work, HyShape kind)
{
	int n;
	int q;
	int repeat;
	int32_t device;

	for (n = 0; n < LENGTH(the_counts); n++)
	{
		for (q = 0; q < LENGTH(the_queries); q++)
		{
			kind.targets = the_counts[n];
			kind.queries = the_queries[q];
			for (repeat = 0; repeat < REPEATS; repeat++)
			{
				for (device = 0; device < work->executor->members; device++)
				{
					HyStatus st = measure(work, device, &kind);

					if (st != HY_OK)
						return st;
				}
			}
		}
	}
	return HY_OK;
}

/* measure: one task on one side, unless it is too much for it; what a device fails with is its own. */
static HyStatus
measure(Work *work, int32_t device, const HyShape *shape)
{
	HyTracker *tracker = work->executor->tracker;
	HyTask task;
	HyStatus st;
	uint64_t ns;

	if (hy_cancelled(work->cancel))
		return HY_CANCELLED;
	if (work->out[device] || (device != 0 && !hy_side_can(work->executor, shape, device)) ||
	    hy_tracker_predict(tracker, shape, device) > work->longest ||
	    !hy_workload_task(work->workload, shape, &task))
		return HY_OK;
	st = hy_workload_run(work->executor, device, &task, &ns);
	if (st == HY_OK)
	{
		hy_tracker_record(tracker, shape, device, ns);
		work->runs++;
		return HY_OK;
	}
	if (device == 0 || st == HY_CANCELLED)
		return st;
	if (st != HY_UNSUPPORTED && st != HY_NOMEM && st != HY_QUOTA && st != HY_BUSY)
		work->out[device] = true;
	return HY_OK;
}
