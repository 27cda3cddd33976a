/*
 * calibration.c
 *		Priors from made-up tasks: see calibration.h.
 *
 * The grid is walked size by size, so that whatever the time allows, every kind gets its share of
 * it and the smallest tasks, of which a launch is learned, come first.
 */
#include "dispatch/calibration.h"

#include <string.h>

#include "dispatch/executor_state.h"
#include "dispatch/workload.h"

#define MEMORY UINT64_C(16777216)
#define TIME_NS UINT64_C(2000000000)
#define RUNS 3 /* of a task; the first of all on a side is set aside */
#define K 10

static const int32_t grid_dims[] = {64, 128, 384, 768, 1536, 3072, 4096};
static const int64_t grid_sizes[][2] = {{1, 16},    {1, 256},   {16, 64},  {1, 2048},
                                        {16, 1024}, {64, 2048}, {1, 65536}};

#define LENGTH(array) ((int) (sizeof(array) / sizeof((array)[0])))
#define VECTOR_KINDS (2 * HY_METRIC_COUNT * LENGTH(grid_dims))
#define KINDS (VECTOR_KINDS + 1)

_Static_assert(KINDS *HY_MAX_DEVICES <= HY_CALIBRATION_PRIORS, "a calibration has room");

static HyShape shape_of(int kind, int size);
static bool usable(HyExecutor *executor, int32_t device, const HyShape *shape);
static HyStatus
measure(HyExecutor *executor, int32_t device, const HyTask *task, HyModelState *model);

HyStatus
hy_calibrate(HyExecutor *executor, const HyCalibrationLimits *limits, HyPrior *priors,
             int32_t *count)
{
	uint64_t begun = hy_now(executor);
	uint64_t time = limits->time_ns > 0 ? limits->time_ns : TIME_NS;
	HyModelState *models;
	HyWorkload *workload;
	uint32_t failed = 0;
	HyStatus st;
	int size;
	int kind;
	int32_t d;

	*count = 0;
	models =
		hy_alloc_zero(limits->allocator, (size_t) KINDS * HY_MAX_DEVICES * sizeof(HyModelState));
	if (models == NULL)
		return HY_NOMEM;
	st = hy_workload_create(limits->allocator, limits->cancel,
	                        limits->memory > 0 ? limits->memory : MEMORY, &workload);
	if (st != HY_OK)
	{
		hy_free(limits->allocator, models);
		return st;
	}
	for (size = 0; size < LENGTH(grid_sizes) && st == HY_OK; size++)
	{
		for (kind = 0; kind < KINDS && st == HY_OK; kind++)
		{
			HyShape shape = shape_of(kind, size);
			HyTask task;

			if (!hy_workload_task(workload, &shape, &task))
				continue;
			for (d = 0; d < executor->members && st == HY_OK; d++)
			{
				if (hy_now(executor) - begun >= time)
					break;
				if (hy_cancelled(limits->cancel))
				{
					st = HY_CANCELLED;
					break;
				}
				if (failed >> d & 1 || !usable(executor, d, &shape))
					continue;
				st = measure(executor, d, &task, &models[kind * HY_MAX_DEVICES + d]);
				if (st != HY_OK && st != HY_CANCELLED && d > 0)
				{
					failed |= UINT32_C(1) << d;
					st = HY_OK;
				}
			}
		}
	}
	for (kind = 0; kind < KINDS && st == HY_OK; kind++)
	{
		for (d = 0; d < executor->members; d++)
		{
			HyPrior *prior = &priors[*count];

			if (!(models[kind * HY_MAX_DEVICES + d].weight > 0))
				continue;
			prior->device = d;
			prior->shape = shape_of(kind, 0);
			prior->model = models[kind * HY_MAX_DEVICES + d];
			(*count)++;
		}
	}
	hy_workload_destroy(workload);
	hy_free(limits->allocator, models);
	return st;
}

bool
hy_executor_import_prior(HyExecutor *executor, const HyPrior *prior)
{
	const HyShape *shape = &prior->shape;
	bool taken;

	if (prior->device < 0 || prior->device >= executor->members || (int) shape->op < 0 ||
	    (int) shape->op >= HY_OP_COUNT || (int) shape->dtype < 0 ||
	    (int) shape->dtype >= HY_DTYPE_COUNT || (int) shape->metric < 0 ||
	    (int) shape->metric >= HY_METRIC_COUNT || shape->dims < 0 || shape->dims > HY_MAX_DIMS)
		return false;
	taken = hy_tracker_import_prior(executor->tracker, shape, prior->device, &prior->model);
	hy_generation_check(executor);
	return taken;
}

/* shape_of: distance and topk by metric and dims, then spread. */
static HyShape
shape_of(int kind, int size)
{
	HyShape shape = {.dtype = HY_F32,
	                 .metric = HY_METRIC_L2,
	                 .queries = grid_sizes[size][0],
	                 .targets = grid_sizes[size][1]};

	if (kind == VECTOR_KINDS)
	{
		shape.op = HY_OP_SPREAD;
		return shape;
	}
	shape.op = kind % 2 == 0 ? HY_OP_DISTANCE : HY_OP_TOPK;
	shape.k = kind % 2 == 0 ? 0 : K;
	kind /= 2;
	shape.metric = (HyMetric) (kind % HY_METRIC_COUNT);
	shape.dims = grid_dims[kind / HY_METRIC_COUNT];
	return shape;
}

/* usable: the device is open, or can be opened, and able; a breaker has no say. */
static bool
usable(HyExecutor *executor, int32_t device, const HyShape *shape)
{
	HyMember *member = &executor->member[device];
	uint64_t now = hy_now(executor);

	if (device == 0)
		return true;
	if (hy_executor_foreign(executor) || !hy_side_can(executor, shape, device))
		return false;
	if (member->device != NULL)
		return true;
	return now >= member->open_after_ns && hy_member_open(executor, member, now) == HY_OK;
}

static HyStatus
measure(HyExecutor *executor, int32_t device, const HyTask *task, HyModelState *model)
{
	HyShape shape = hy_task_shape(task);
	int i;

	for (i = 0; i < RUNS; i++)
	{
		uint64_t ns;
		HyStatus st = hy_workload_run(executor, device, task, &ns);

		if (st != HY_OK)
			return st;
		(void) hy_model_learn(model, hy_cost_terms(&shape, device == 0), (double) ns, 1,
		                      HY_TRACKER_MAX_WINDOW);
	}
	return HY_OK;
}
