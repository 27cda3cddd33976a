/*
 * calibration.c
 *		Measures the CPU and each device with generated tasks: see calibration.h.
 *
 * The grid is processed size by size, and each size by kind of task.  So all kinds have run about
 * the same number of sizes when the time limit is reached.  The smallest size comes first, because
 * it shows the launch time.  Then come a size beyond the caches, one with many queries, and the
 * sizes in between.  A kind that ran only small tasks gets no prior, because its cost model would
 * be a guess.
 *
 * A side is a device, the CPU on one thread, or the CPU on as many threads as a task gets.  The CPU
 * is measured both ways, because the speedup by threads depends on the task and cannot be
 * predicted.  A single query, for example, mostly waits for memory, so more threads help little.
 * In the second measurement, small tasks still run on one thread, so its cost model covers all
 * sizes.  On two cores, hybrid_audit() rates 0.957 of the choices as right, and 0.81 if the CPU is
 * measured on one thread only.
 */
#include "dispatch/tools/calibration.h"

#include <math.h>
#include <string.h>

#include "core/codes.h"
#include "dispatch/model/kind.h"
#include "dispatch/route/able.h"
#include "dispatch/route/gauge.h"
#include "dispatch/route/memo.h"
#include "dispatch/run/backend_cpu.h"
#include "dispatch/run/member.h"
#include "dispatch/tools/workload.h"

#define MEMORY UINT64_C(67108864)
#define TIME_NS UINT64_C(10000000000)
#define RUNS 3       /* runs of a task; the first run of a kind on a side is set aside */
#define LARGE_RUNS 2 /* runs of a task that is long enough to be measured well */
#define LARGE_NS 2000000
#define LEAST_SPAN 64.0 /* for a cost model: least ratio of largest to smallest work */
#define K 10
#define MB (INT64_C(1) << 20)
#define EDGE_BYTES 64 /* memory per edge of a generated graph, including working memory */

static const int32_t grid_dims[] = {64, 128, 384, 768, 1536, 3072, 4096};

/*
 * GridSize: numbers of queries and targets.  If `targets` is 0, use as many targets as fit in
 * `bytes` or in 3/4 of the memory, whichever is less.
 */
typedef struct GridSize
{
	int64_t queries;
	int64_t targets;
	int64_t bytes;
} GridSize;

static const GridSize grid_sizes[] = {{1, 16, 0},      {1, 0, 48 * MB}, {64, 2048, 0},
                                      {1, 2048, 0},    {16, 1024, 0},   {1, 0, 8 * MB},
                                      {16, 0, 8 * MB}, {16, 64, 0},     {1, 256, 0}};

#define LENGTH(array) ((int) (sizeof(array) / sizeof((array)[0])))
#define DIMS LENGTH(grid_dims)
#define METRIC_KINDS (2 * HY_METRIC_COUNT * DIMS) /* distance and topk */
#define SPREAD_KIND (METRIC_KINDS + 2 * DIMS)     /* after assign and score_codes */
#define KINDS (SPREAD_KIND + 1)

/*
 * Side 0 is the CPU on one thread, SHARED_CPU is the CPU on a task's threads, and the others are
 * devices.
 */
#define SHARED_CPU HY_MAX_DEVICES
#define SIDES (HY_MAX_DEVICES + 1)

_Static_assert(KINDS *(HY_MAX_DEVICES + HY_THREAD_CLASSES) <= HY_CALIBRATION_PRIORS,
               "a calibration has room");
_Static_assert(LENGTH(grid_sizes) <= HY_PRIOR_SIZES, "a prior has room");

/* Calibration: a calibration in progress. */
typedef struct Calibration
{
	HyExecutor *executor;
	const HyCancel *cancel;
	uint64_t memory;
	uint64_t time; /* time limit of each side, in ns */
	HyWorkload *workload;
	HyPrior *prior; /* for each kind and side */
	uint64_t spent[SIDES];
	/* bit c: some task of the kind gets 2^c to 2^(c + 1) - 1 threads */
	uint32_t classes[KINDS];
	uint32_t failed;     /* bit d: device d has failed */
	uint32_t unfinished; /* bit d: the time limit was reached before device d had run all sizes */
} Calibration;

static HyShape shape_of(int kind, int size, uint64_t memory);
static int64_t code_bytes(int32_t dims);
static uint32_t classes_of(const Calibration *calibration, int kind);
static bool usable(HyExecutor *executor, int32_t device, const HyShape *shape);
static HyStatus measure_all(Calibration *calibration, int kind, int size);
static HyStatus
measure(HyExecutor *executor, int32_t side, const HyTask *task, HyPrior *prior, uint64_t *spent);
static bool sizes_suffice(const HyPrior *prior);
static void keep_priors(const Calibration *calibration, HyPrior *priors, int32_t *count);
static void keep_threads(const HyPrior *prior, uint32_t classes, HyPrior *priors, int32_t *count);
static bool import_sizes(HyExecutor *executor, const HyPrior *prior);

HyStatus
hy_calibrate(HyExecutor *executor, const HyCalibrationLimits *limits, HyPrior *priors,
             int32_t *count, uint32_t *unfinished)
{
	Calibration calibration = {.executor = executor,
	                           .cancel = limits->cancel,
	                           .memory = limits->memory > 0 ? limits->memory : MEMORY,
	                           .time = limits->time_ns > 0 ? limits->time_ns : TIME_NS};
	HyStatus st;
	int size;
	int kind;

	*count = 0;
	*unfinished = 0;
	calibration.prior = hy_alloc_zero(limits->allocator, (size_t) KINDS * SIDES * sizeof(HyPrior));
	if (calibration.prior == NULL)
		return HY_NOMEM;
	st = hy_workload_create(limits->allocator, limits->cancel, calibration.memory,
	                        &calibration.workload);
	if (st != HY_OK)
	{
		hy_free(limits->allocator, calibration.prior);
		return st;
	}
	for (kind = 0; kind < KINDS; kind++)
		calibration.classes[kind] = classes_of(&calibration, kind);
	for (size = 0; size < LENGTH(grid_sizes) && st == HY_OK; size++)
	{
		for (kind = 0; kind < KINDS && st == HY_OK; kind++)
			st = measure_all(&calibration, kind, size);
	}
	if (st == HY_OK)
		keep_priors(&calibration, priors, count);
	*unfinished = calibration.unfinished;
	hy_workload_destroy(calibration.workload);
	hy_free(limits->allocator, calibration.prior);
	return st;
}

bool
hy_executor_import_prior(HyExecutor *executor, const HyPrior *prior)
{
	const HyShape *shape = &prior->shape;
	HyCoefficients fit;
	bool taken;

	if (prior->device < 0 || prior->device >= executor->members || (int) shape->op < 0 ||
	    (int) shape->op >= HY_OP_COUNT || (int) shape->dtype < 0 ||
	    (int) shape->dtype >= HY_DTYPE_COUNT || (int) shape->metric < 0 ||
	    (int) shape->metric >= HY_METRIC_COUNT || shape->dims < 0 || shape->dims > HY_MAX_DIMS)
		return false;
	/* stored numbers may be invalid */
	if (hy_model_solve(&prior->model, HY_LAUNCH_UNKNOWN, &fit) &&
	    !isfinite(fit.launch_ns + fit.work_ns + fit.byte_ns + fit.serial_ns))
		return false;
	taken = hy_tracker_import_prior(executor->tracker, shape, prior->device, &prior->model);
	taken = import_sizes(executor, prior) || taken;
	hy_generation_check(executor);
	return taken;
}

static bool
import_sizes(HyExecutor *executor, const HyPrior *prior)
{
	bool taken = false;
	int32_t i;

	for (i = 0; i < prior->sizes && i < HY_PRIOR_SIZES; i++)
	{
		const HyPriorSize *size = &prior->size[i];
		HyShape shape = prior->shape;

		if (size->queries < 1 || size->targets < 1 || size->k < 0 ||
		    (size->k > 0) != hy_op_has_k(shape.op))
			continue;
		shape.queries = size->queries;
		shape.targets = size->targets;
		shape.k = size->k;
		if (hy_tracker_import_size(executor->tracker, &shape, prior->device, size->ns))
			taken = true;
	}
	return taken;
}

/*
 * shape_of: return the shape of a kind and size.  Kinds are numbered: distance and topk by metric
 * and dims, then assign and score_codes by dims, then spread.
 */
static HyShape
shape_of(int kind, int size, uint64_t memory)
{
	HyShape shape = {.dtype = HY_F32,
	                 .metric = HY_METRIC_L2,
	                 .queries = grid_sizes[size].queries,
	                 .targets = grid_sizes[size].targets};
	int64_t bytes = grid_sizes[size].bytes;
	int64_t row_bytes;

	if ((uint64_t) bytes > memory / 4 * 3)
		bytes = (int64_t) (memory / 4 * 3);

	if (kind == SPREAD_KIND)
		shape.op = HY_OP_SPREAD;
	else if (kind >= METRIC_KINDS)
	{
		shape.op = kind < METRIC_KINDS + DIMS ? HY_OP_ASSIGN : HY_OP_SCORE_CODES;
		shape.dims = grid_dims[(kind - METRIC_KINDS) % DIMS];
	}
	else
	{
		shape.op = kind % 2 == 0 ? HY_OP_DISTANCE : HY_OP_TOPK;
		shape.metric = (HyMetric) (kind / 2 % HY_METRIC_COUNT);
		shape.dims = grid_dims[kind / 2 / HY_METRIC_COUNT];
	}
	shape.k = hy_op_has_k(shape.op) ? K : 0;
	row_bytes = shape.op == HY_OP_SPREAD        ? EDGE_BYTES
	            : shape.op == HY_OP_SCORE_CODES ? code_bytes(shape.dims)
	                                            : shape.dims * (int64_t) hy_dtype_size(shape.dtype);
	if (shape.targets == 0)
		shape.targets = bytes / row_bytes;
	return shape;
}

/* code_bytes: return the bytes that the code of one row takes, with its factors. */
static int64_t
code_bytes(int32_t dims)
{
	return (int64_t) ((hy_code_block_size(dims) + sizeof(HyCodeFactors)) / HY_CODE_ROWS) + 1;
}

/*
 * usable: return whether the device supports the shape and is open.  Opens the device if necessary,
 * except soon after a failed attempt.  Ignores breakers.
 */
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

/*
 * classes_of: return a bitmap of the classes of thread counts that tasks of this kind get at the
 * sizes of the grid.
 */
static uint32_t
classes_of(const Calibration *calibration, int kind)
{
	uint32_t classes = 0;
	int size;

	for (size = 0; size < LENGTH(grid_sizes); size++)
	{
		HyShape shape = shape_of(kind, size, calibration->memory);
		int c = hy_log2_floor(hy_gauge_threads(calibration->executor, &shape));

		classes |= UINT32_C(1) << (c < HY_THREAD_CLASSES ? c : HY_THREAD_CLASSES);
	}
	return classes;
}

/*
 * measure_all: measure a size of a kind on all sides.  A device that fails is left out from then
 * on.
 */
static HyStatus
measure_all(Calibration *calibration, int kind, int size)
{
	HyExecutor *executor = calibration->executor;
	HyShape shape = shape_of(kind, size, calibration->memory);
	HyTask task;
	int32_t side;

	if (!hy_workload_task(calibration->workload, &shape, &task))
		return HY_OK;
	for (side = 0; side < SIDES; side++)
	{
		int32_t device = side == SHARED_CPU ? 0 : side;
		uint32_t bit = UINT32_C(1) << device;
		HyStatus st;

		if (side == SHARED_CPU ? calibration->classes[kind] < 2 : side >= executor->members)
			continue;
		if (hy_cancelled(calibration->cancel))
			return HY_CANCELLED;
		if ((calibration->failed & bit) != 0 || !usable(executor, device, &shape) ||
		    !hy_side_fits(executor, &shape, device))
			continue;
		if (calibration->spent[side] >= calibration->time)
		{
			calibration->unfinished |= bit;
			continue;
		}
		st = measure(executor, side, &task, &calibration->prior[kind * SIDES + side],
		             &calibration->spent[side]);
		if (st != HY_OK && (st == HY_CANCELLED || device == 0))
			return st;
		if (st != HY_OK)
			calibration->failed |= bit;
	}
	return HY_OK;
}

/*
 * measure: run a size of a kind on a side several times, and add the times to the prior's cost
 * model. Also store their mean as the time of the size, without the run that the model sets aside.
 */
static HyStatus
measure(HyExecutor *executor, int32_t side, const HyTask *task, HyPrior *prior, uint64_t *spent)
{
	int32_t device = side == SHARED_CPU ? 0 : side;
	HyShape shape = hy_task_shape(task);
	HyPriorSize size = {.queries = shape.queries, .targets = shape.targets, .k = shape.k};
	int runs = 0;
	int i;

	for (i = 0; i < RUNS && (i < LARGE_RUNS || size.ns < LARGE_NS); i++)
	{
		const HyLender *lender = side == 0 ? hy_backend_cpu_lend(NULL) : NULL;
		uint64_t ns;
		HyStatus st = hy_workload_run(executor, device, task, &ns);

		if (side == 0)
			(void) hy_backend_cpu_lend(lender);
		if (st != HY_OK)
			return st;
		*spent += ns;
		if (!hy_model_observe(&prior->model, hy_cost_terms(&shape, device == 0), (double) ns, 1,
		                      HY_TRACKER_MAX_WINDOW))
			continue;
		runs++;
		size.ns += ((double) ns - size.ns) / runs;
	}
	prior->size[prior->sizes++] = size;
	return HY_OK;
}

/* sizes_suffice: return whether the sizes differ enough to separate the launch time from the rest. */
static bool
sizes_suffice(const HyPrior *prior)
{
	double smallest = 0;
	double largest = 0;
	int32_t i;

	for (i = 0; i < prior->sizes; i++)
	{
		double work = (double) prior->size[i].queries * (double) prior->size[i].targets;

		if (smallest == 0 || work < smallest)
			smallest = work;
		if (work > largest)
			largest = work;
	}
	return prior->model.weight > 0 && largest >= LEAST_SPAN * smallest;
}

/*
 * keep_priors: copy to *priors the priors of kinds and sides whose sizes differ enough to fit a
 * cost model.
 */
static void
keep_priors(const Calibration *calibration, HyPrior *priors, int32_t *count)
{
	int kind;
	int32_t side;

	for (kind = 0; kind < KINDS; kind++)
	{
		for (side = 0; side < SIDES; side++)
		{
			HyPrior *prior = &calibration->prior[kind * SIDES + side];

			if (!sizes_suffice(prior))
				continue;
			prior->device = side == SHARED_CPU ? 0 : side;
			prior->shape = shape_of(kind, 0, calibration->memory);
			prior->shape.threads = 1;
			if (side == SHARED_CPU)
				keep_threads(prior, calibration->classes[kind], priors, count);
			else
				priors[(*count)++] = *prior;
		}
	}
}

/*
 * keep_threads: copy the prior to *priors once for each class of two or more threads in `classes`.
 */
static void
keep_threads(const HyPrior *prior, uint32_t classes, HyPrior *priors, int32_t *count)
{
	int c;

	for (c = 1; c <= HY_THREAD_CLASSES; c++)
	{
		if (!(classes >> c & 1))
			continue;
		priors[*count] = *prior;
		priors[(*count)++].shape.threads = INT32_C(1) << c;
	}
}
