/*
 * filter.c
 *		The operation 'topk' for many queries.
 *
 * The memory for filtering is taken when the task starts and returned when the task ends.  Without
 * enough memory, the task runs as in topk.c.  The queries of a group are uploaded in separate
 * pieces.  The kernels of a piece need the k best rows of the earlier pieces, so they wait for the
 * kernels of the previous piece.  The piece's rows are uploaded during the wait.  The first rows of
 * a group are compared by the canonical kernels, because the filter needs k distances to compare
 * with.  After a piece in which many lists overflowed, the canonical kernels also compare the
 * group's remaining rows, because the filter does not work for such data.
 */
#include "cuda/filter.h"

#include <stdlib.h>
#include <string.h>

#include "cuda/filter_plan.h"
#include "cuda/sweep.h"
#include "cuda/topk.h"

/*
 * The matrix unit supports bfloat16 from compute capability 8 on.  Older devices use only the
 * canonical kernels.  The documentation does not say how the unit rounds sums.  Its rounding has
 * been measured for generations up to 9.  A later generation must pass gpucheck_filter before it is
 * admitted here.
 */
#define FIRST_CAPABILITY 8
#define LAST_CAPABILITY 9

/*
 * If the candidate lists of more than 1/MANY of the queries overflow in a piece, the rest of the
 * group is not filtered.
 */
#define MANY 8

struct HyCudaFilter
{
	HyCudaFilterPlan plan;
	HyCudaBlock *block;
	char *memory; /* memory of the block */
	HyCudaFilterPiece last;
	HyCudaFilterPiece piece[HY_CUDA_SLOTS];
	bool begun;         /* the initialization for the task is queued */
	bool useless;       /* the rest of the current group of queries is not filtered */
	uint32_t overflows; /* number of overflows so far, as last copied from the device */
};

static bool
make_plan(const HyDevice *device, const HyShape *shape, bool may_keep, HyCudaFilterPlan *plan);
static HyCudaNext filter_next(HyDevice *device, HyCudaSlot *slot);
static HyStatus filter_up(HyDevice *device, HyCudaSlot *slot);
static HyStatus queries_up(HyDevice *device, HyCudaSlot *slot);
static cudaError_t filter_launch(HyDevice *device, HyCudaSlot *slot);
static cudaError_t launch_canonical(HyDevice *device, HyCudaSlot *slot);
static cudaError_t begin_group(HyDevice *device, HyCudaSlot *slot, const HyCudaRows *rows);
static cudaError_t launch_filtered(HyDevice *device, HyCudaSlot *slot);
static HyCudaRows rows_of(const HyDevice *device, const HyCudaSlot *slot);
static HyStatus filter_down(HyDevice *device, HyCudaSlot *slot);
static void filter_collect(HyDevice *device, const HyCudaSlot *slot);
static void filter_end(HyDevice *device);

const HyCudaOperation hy_cuda_topk_filter = {.next = filter_next,
                                             .up = filter_up,
                                             .launch = filter_launch,
                                             .down = filter_down,
                                             .collect = filter_collect,
                                             .end = filter_end};

static inline void *
part_of(const HyCudaFilter *filter, HyCudaFilterPart part)
{
	return filter->memory + filter->plan.offset[part];
}

static inline HyCudaFilterPiece *
piece_of(const HyDevice *device, const HyCudaSlot *slot)
{
	return &device->task.filter->piece[slot - device->slots];
}

uint64_t
hy_cuda_filter_least(const HyHost *host)
{
	const char *text =
		host->setting != NULL ? host->setting(host->setting_arg, "cuda_filter_least") : NULL;

	return text != NULL ? strtoull(text, NULL, 10) : HY_CUDA_FILTER_LEAST;
}

bool
hy_cuda_filter_can(const HyDevice *device)
{
	return device->capability >= FIRST_CAPABILITY && device->capability <= LAST_CAPABILITY;
}

HyStatus
hy_cuda_filter_start(HyDevice *device, bool *filtered)
{
	HyShape shape = hy_task_shape(&device->task.task);
	HyCudaFilterPlan plan;
	HyCudaFilter *filter;
	HyStatus status;

	*filtered = false;
	if (!make_plan(device, &shape, true, &plan))
		return HY_OK;
	filter = hy_alloc_zero(device->host->allocator, sizeof(*filter));
	if (filter == NULL)
		return hy_cuda_refuse(device, HY_NOMEM, "out of host memory");
	status = hy_cuda_take(device, plan.bytes, &filter->block);
	/*
	 * other processes may have taken memory that the budget still counts as free; try again with a
	 * plan that keeps no rows and so needs less memory
	 */
	if ((status == HY_NOMEM || status == HY_QUOTA) && plan.keeps &&
	    make_plan(device, &shape, false, &plan))
		status = hy_cuda_take(device, plan.bytes, &filter->block);
	if (status != HY_OK)
	{
		hy_free(device->host->allocator, filter);
		/* without memory, the task runs unfiltered */
		return status == HY_NOMEM || status == HY_QUOTA ? HY_OK : status;
	}
	filter->memory = filter->block->memory;
	filter->plan = plan;
	if (plan.keeps)
		device->task.sweep.kept = part_of(filter, HY_CUDA_PART_KEPT);
	device->task.filter = filter;
	*filtered = true;
	return HY_OK;
}

void
hy_cuda_filter_estimate(const HyDevice *device, const HyShape *shape, HyEstimate *estimate)
{
	HyCudaFilterPlan plan;

	if (device != NULL && make_plan(device, shape, true, &plan))
		estimate->bytes_up = hy_cuda_filter_up_bytes(&plan);
}

/*
 * make_plan: return whether this device can filter tasks of this shape within its free memory.  If
 * so, fill in *plan.
 */
static bool
make_plan(const HyDevice *device, const HyShape *shape, bool may_keep, HyCudaFilterPlan *plan)
{
	HyCudaWork work = hy_cuda_sweep_work(shape, shape->k * (int32_t) sizeof(HyNeighbor), 0);

	return hy_cuda_filter_can(device) &&
	       hy_cuda_filter_suits(shape->metric, &work, shape->k, device->filter_least) &&
	       hy_cuda_filter_plan(&work, shape->k, &device->scratch, device->budget - device->used,
	                           may_keep, plan);
}

static HyCudaNext
filter_next(HyDevice *device, HyCudaSlot *slot)
{
	HyCudaFilter *filter = device->task.filter;
	HyCudaFilterPiece piece = filter->last;
	const HyCudaChunk *chunk = &piece.chunk;
	HyCudaPace *canonical = &device->pace[HY_OP_TOPK];

	if (!hy_cuda_filter_next(&filter->plan, &device->scratch, canonical, &device->filter_pace,
	                         filter->useless, &piece))
		return HY_CUDA_END;
	/* Pieces in flight still read the queries that the new group replaces. */
	if (chunk->first_query != device->task.sweep.group)
	{
		if (!hy_cuda_all_idle(device))
			return HY_CUDA_WAIT;
		device->task.sweep.group = chunk->first_query;
		filter->useless = false;
	}
	filter->last = piece;
	*piece_of(device, slot) = piece;
	slot->chunk = piece.chunk;
	slot->work = 0;
	if (piece.stage == HY_CUDA_QUERIES_UP)
		return HY_CUDA_PIECE;
	slot->work = hy_cuda_work(filter->plan.work.dims, chunk->query_count, chunk->row_count);
	slot->pace = piece.stage == HY_CUDA_FILTERED ? &device->filter_pace : canonical;
	return HY_CUDA_PIECE;
}

static HyStatus
filter_up(HyDevice *device, HyCudaSlot *slot)
{
	HyStatus status;

	if (piece_of(device, slot)->stage == HY_CUDA_QUERIES_UP)
		return queries_up(device, slot);
	status = HY_OK;
	if (hy_cuda_filter_uploads(&device->task.filter->plan, &slot->chunk))
		status = hy_cuda_sweep_up(device, slot);
	return status == HY_OK ? hy_cuda_topk_order(device, slot) : status;
}

/* queries_up: upload some queries of a group, and an empty list of the k best for each. */
static HyStatus
queries_up(HyDevice *device, HyCudaSlot *slot)
{
	HyCudaTask *task = &device->task;
	HyCudaFilter *filter = task->filter;
	const HyTopKTask *topk = &task->task.u.topk;
	const HyCudaFilterPiece *piece = piece_of(device, slot);
	size_t row_bytes = (size_t) topk->queries.dims * sizeof(float);
	size_t bytes = (size_t) piece->up_count * row_bytes;
	size_t best = (size_t) piece->up_count * (size_t) topk->k * sizeof(HyNeighbor);
	int64_t first = piece->chunk.first_query + piece->up_first;
	cudaError_t error = cudaSuccess;

	if (!filter->begun)
		error = cudaMemsetAsync(part_of(filter, HY_CUDA_PART_OVERFLOW), 0, sizeof(int32_t),
		                        slot->stream);
	filter->begun = true;
	hy_cuda_stage_rows(device, &topk->queries, first, piece->up_count, slot->pinned_up);
	hy_cuda_topk_stage_none(topk, first, piece->up_count, slot->pinned_down);
	if (error == cudaSuccess)
		error = cudaMemcpyAsync((char *) part_of(filter, HY_CUDA_PART_QUERIES) +
		                            (size_t) piece->up_first * row_bytes,
		                        slot->pinned_up, bytes, cudaMemcpyHostToDevice, slot->stream);
	if (error == cudaSuccess)
		error = cudaMemcpyAsync(device->device_best + (int64_t) piece->up_first * topk->k,
		                        slot->pinned_down, best, cudaMemcpyHostToDevice, slot->stream);
	if (error != cudaSuccess)
		return hy_cuda_fail(device, error, "copying queries up");
	task->bytes_up += bytes + best;
	return HY_OK;
}

static cudaError_t
filter_launch(HyDevice *device, HyCudaSlot *slot)
{
	const HyCudaFilter *filter = device->task.filter;
	const HyCudaFilterPiece *piece = piece_of(device, slot);
	const float *queries = part_of(filter, HY_CUDA_PART_QUERIES);

	if (piece->stage == HY_CUDA_FILTERED)
		return launch_filtered(device, slot);
	if (piece->stage == HY_CUDA_CANONICAL)
		return launch_canonical(device, slot);
	if (device->task.sweep.metric != HY_METRIC_COSINE)
		return cudaSuccess;
	return hy_cuda_launch_norms(queries + (int64_t) piece->up_first * filter->plan.work.dims,
	                            piece->up_count, filter->plan.work.dims,
	                            device->device_norms + piece->up_first, slot->stream);
}

static cudaError_t
launch_canonical(HyDevice *device, HyCudaSlot *slot)
{
	const HyCudaSweep *sweep = &device->task.sweep;
	HyCudaTopK args = {.rows = rows_of(device, slot),
	                   .first_row = slot->chunk.first_row,
	                   .k = device->task.filter->plan.k,
	                   .best = device->device_best,
	                   .lists = slot->device_down,
	                   .list_bytes = device->scratch.down};
	cudaError_t error = cudaSuccess;

	if (slot->chunk.first_row == 0)
		error = begin_group(device, slot, &args.rows);
	if (error != cudaSuccess)
		return error;
	return hy_cuda_launch_topk(sweep->metric, sweep->targets.dtype, &args, device->multiprocessors,
	                           slot->stream);
}

/*
 * begin_group: round the queries of a group and, for L2, compute the center vector `middle`.  The
 * mean is taken over rows of the group's first piece or, if the rows are resident, over rows of the
 * whole task.
 */
static cudaError_t
begin_group(HyDevice *device, HyCudaSlot *slot, const HyCudaRows *rows)
{
	const HyCudaSweep *sweep = &device->task.sweep;
	const HyCudaFilter *filter = device->task.filter;
	HyCudaRows some = *rows;
	HyCudaRound round = {.rows = rows->queries,
	                     .stride = (int64_t) rows->dims * (int64_t) sizeof(float),
	                     .count = rows->query_count,
	                     .room =
	                         (rows->query_count + HY_CUDA_TILE - 1) / HY_CUDA_TILE * HY_CUDA_TILE,
	                     .dims = rows->dims,
	                     .padded = filter->plan.padded,
	                     .rounded = part_of(filter, HY_CUDA_PART_ROUNDED_QUERIES),
	                     .aim = part_of(filter, HY_CUDA_PART_AIM)};
	float *middle = part_of(filter, HY_CUDA_PART_MIDDLE);
	cudaError_t error = cudaSuccess;

	if (sweep->metric == HY_METRIC_L2)
	{
		if (sweep->work.resident)
			some.rows = sweep->work.rows;
		error = hy_cuda_launch_middle(sweep->targets.dtype, &some, middle, slot->stream);
		round.middle = middle;
	}
	if (error != cudaSuccess)
		return error;
	return hy_cuda_launch_round(sweep->metric, HY_F32, &round, slot->stream);
}

static cudaError_t
launch_filtered(HyDevice *device, HyCudaSlot *slot)
{
	const HyCudaSweep *sweep = &device->task.sweep;
	const HyCudaFilter *filter = device->task.filter;
	const HyCudaFilterPlan *plan = &filter->plan;
	HyCudaFiltered args = {.rows = rows_of(device, slot),
	                       .first_row = slot->chunk.first_row,
	                       .k = plan->k,
	                       .padded = plan->padded,
	                       .queries = part_of(filter, HY_CUDA_PART_ROUNDED_QUERIES),
	                       .aim = part_of(filter, HY_CUDA_PART_AIM),
	                       .targets = part_of(filter, HY_CUDA_PART_ROUNDED_ROWS),
	                       .reach = part_of(filter, HY_CUDA_PART_REACH),
	                       .found = part_of(filter, HY_CUDA_PART_FOUND),
	                       .count = part_of(filter, HY_CUDA_PART_COUNT),
	                       .list_room = plan->list_room,
	                       .best = device->device_best,
	                       .overflow = part_of(filter, HY_CUDA_PART_OVERFLOW)};
	HyCudaRound round = {.rows = args.rows.targets,
	                     .stride = args.rows.stride,
	                     .count = args.rows.rows,
	                     .room = (args.rows.rows + HY_CUDA_TILE - 1) / HY_CUDA_TILE * HY_CUDA_TILE,
	                     .dims = args.rows.dims,
	                     .padded = plan->padded,
	                     .rounded = part_of(filter, HY_CUDA_PART_ROUNDED_ROWS),
	                     .reach = part_of(filter, HY_CUDA_PART_REACH)};
	cudaError_t error;

	if (sweep->metric == HY_METRIC_L2)
		round.middle = part_of(filter, HY_CUDA_PART_MIDDLE);
	error = hy_cuda_launch_round(sweep->metric, sweep->targets.dtype, &round, slot->stream);
	if (error == cudaSuccess)
		error = hy_cuda_launch_propose(sweep->metric, &args, slot->stream);
	if (error == cudaSuccess)
		error = hy_cuda_launch_settle(sweep->metric, sweep->targets.dtype, &args, slot->stream);
	return error;
}

/* rows_of: return the piece's rows with all queries of its group. */
static HyCudaRows
rows_of(const HyDevice *device, const HyCudaSlot *slot)
{
	HyCudaRows rows = hy_cuda_sweep_rows(device, slot);

	rows.queries = part_of(device->task.filter, HY_CUDA_PART_QUERIES);
	rows.query_norms = device->device_norms;
	return rows;
}

static HyStatus
filter_down(HyDevice *device, HyCudaSlot *slot)
{
	const HyCudaFilter *filter = device->task.filter;
	char *word = (char *) slot->pinned_down + device->scratch.down - HY_CUDA_FILTER_WORD;
	cudaError_t error;

	if (piece_of(device, slot)->stage == HY_CUDA_FILTERED)
	{
		error = cudaMemcpyAsync(word, part_of(filter, HY_CUDA_PART_OVERFLOW), sizeof(int32_t),
		                        cudaMemcpyDeviceToHost, slot->stream);
		if (error != cudaSuccess)
			return hy_cuda_fail(device, error, "copying a count down");
	}
	return hy_cuda_topk_down(device, slot);
}

static void
filter_collect(HyDevice *device, const HyCudaSlot *slot)
{
	HyCudaFilter *filter = device->task.filter;
	const char *word =
		(const char *) slot->pinned_down + device->scratch.down - HY_CUDA_FILTER_WORD;

	if (piece_of(device, slot)->stage == HY_CUDA_FILTERED)
	{
		uint32_t before = filter->overflows;

		memcpy(&filter->overflows, word, sizeof(uint32_t));
		/* unsigned, because the device's count may wrap around */
		if (slot->chunk.first_query == device->task.sweep.group &&
		    filter->overflows - before > (uint32_t) slot->chunk.query_count / MANY)
			filter->useless = true;
	}
	hy_cuda_topk_collect(device, slot);
}

static void
filter_end(HyDevice *device)
{
	HyCudaFilter *filter = device->task.filter;

	if (filter == NULL)
		return;
	hy_cuda_give(device, filter->block);
	/* the kept rows may have taken half of the budget, which the next task may not need */
	if (filter->plan.keeps)
		hy_cuda_trim(device);
	hy_free(device->host->allocator, filter);
	device->task.filter = NULL;
}
