/*
 * assign_filter.c
 *		The filter of the operation 'assign'.
 *
 * The filter's memory is taken when the task starts, in addition to the memory for the centroids.
 * Without enough memory, only the canonical kernel (assign_kernel.cuh) runs.  With the filter, the
 * canonical kernel processes the rows that the filter leaves undecided.  Until a finished piece
 * shows that these rows are few, pieces are so small that the canonical kernel could process all of
 * their rows within the time limit.  After a piece with too many undecided rows, the rest of the
 * task is not filtered, because the filter does not work for such data.
 */
#include "cuda/assign_filter.h"

#include "cuda/filter.h"

/*
 * A piece in which the filter leaves more than 1/MANY of the rows undecided ends filtering for the
 * task.
 */
#define MANY 8

static inline void *
part_of(const HyCudaAssignFilter *filter, HyCudaAssignPart part, int slot)
{
	return filter->memory + hy_cuda_assign_offset(&filter->plan, part, slot);
}

HyStatus
hy_cuda_assign_filter_start(HyDevice *device, int64_t most_rows, HyCudaAssignFilter **filter)
{
	const HyAssignTask *task = &device->task.task.u.assign;
	HyCudaAssignPlan plan;
	HyStatus status;

	*filter = NULL;
	if (!hy_cuda_filter_can(device) ||
	    !hy_cuda_assign_filter_suits(task->rows.rows, task->centroids.rows, task->rows.dims,
	                                 device->filter_least) ||
	    !hy_cuda_assign_filter_plan(most_rows, task->centroids.rows, task->rows.dims,
	                                device->budget - device->used, &plan))
		return HY_OK;
	*filter = hy_alloc_zero(device->host->allocator, sizeof(**filter));
	if (*filter == NULL)
		return hy_cuda_refuse(device, HY_NOMEM, "out of host memory");
	(*filter)->plan = plan;
	status = hy_cuda_take(device, plan.bytes, &(*filter)->block);
	if (status == HY_OK)
	{
		(*filter)->memory = (*filter)->block->memory;
		return HY_OK;
	}
	hy_free(device->host->allocator, *filter);
	*filter = NULL;
	/* without memory, the task runs unfiltered */
	return status == HY_NOMEM || status == HY_QUOTA ? HY_OK : status;
}

void
hy_cuda_assign_filter_end(HyDevice *device, HyCudaAssignFilter *filter)
{
	if (filter == NULL)
		return;
	hy_cuda_give(device, filter->block);
	hy_free(device->host->allocator, filter);
}

cudaError_t
hy_cuda_assign_filter_round(HyCudaAssignFilter *filter, const float *centroids, cudaStream_t stream)
{
	const HyCudaAssignPlan *plan = &filter->plan;
	int64_t first = filter->rounded;
	int64_t left = plan->centroids - first;
	int64_t count = left < plan->round ? left : plan->round;
	float *middle = part_of(filter, HY_CUDA_ASSIGN_MIDDLE, 0);
	HyCudaRows all = {.targets = centroids,
	                  .stride = (int64_t) plan->dims * (int64_t) sizeof(float),
	                  .rows = plan->centroids,
	                  .dims = plan->dims};
	HyCudaRound round = {.rows = centroids + first * plan->dims,
	                     .stride = all.stride,
	                     .count = count,
	                     .room = hy_cuda_assign_whole(count),
	                     .dims = plan->dims,
	                     .padded = plan->padded,
	                     .middle = middle};
	cudaError_t error = cudaSuccess;

	round.rounded =
		(uint16_t *) part_of(filter, HY_CUDA_ASSIGN_CENTROIDS, 0) + first * plan->padded;
	round.reach = (HyCudaReach *) part_of(filter, HY_CUDA_ASSIGN_REACH, 0) + first;
	filter->rounded += count;
	if (first == 0)
		error = hy_cuda_launch_middle(HY_F32, &all, middle, stream);
	if (error != cudaSuccess)
		return error;
	return hy_cuda_launch_round(HY_METRIC_L2, HY_F32, &round, stream);
}

bool
hy_cuda_assign_filter_on(const HyCudaAssignFilter *filter)
{
	return filter != NULL && !filter->useless;
}

uint64_t
hy_cuda_assign_filter_paced(const HyDevice *device, const HyCudaAssignFilter *filter)
{
	uint64_t filtered = device->assign_filter_pace.work;
	uint64_t canonical = device->pace[HY_OP_ASSIGN].work;

	return filter->proven || filtered < canonical ? filtered : canonical;
}

cudaError_t
hy_cuda_assign_filter_launch(const HyDevice *device, HyCudaAssignFilter *filter,
                             const HyCudaSlot *slot, const HyCudaAssign *assign,
                             HyCudaAssignRest *rest)
{
	int number = (int) (slot - device->slots);
	HyCudaAssignFiltered args = {.assign = *assign,
	                             .padded = filter->plan.padded,
	                             .middle = part_of(filter, HY_CUDA_ASSIGN_MIDDLE, 0),
	                             .centroids = part_of(filter, HY_CUDA_ASSIGN_CENTROIDS, 0),
	                             .reach = part_of(filter, HY_CUDA_ASSIGN_REACH, 0),
	                             .rows = part_of(filter, HY_CUDA_ASSIGN_ROWS, number),
	                             .aim = part_of(filter, HY_CUDA_ASSIGN_AIM, number),
	                             .least = part_of(filter, HY_CUDA_ASSIGN_LEAST, number),
	                             .count = part_of(filter, HY_CUDA_ASSIGN_COUNT, number),
	                             .open = part_of(filter, HY_CUDA_ASSIGN_OPEN, number),
	                             .left = part_of(filter, HY_CUDA_ASSIGN_LEFT, number),
	                             .rest = rest};
	HyCudaAssign whole = *assign;
	cudaError_t error = hy_cuda_launch_assign_filtered(&args, slot->stream);

	if (error != cudaSuccess)
		return error;
	whole.groups = (HyCudaAssignGroups){.groups = 1,
	                                    .largest = assign->end - assign->first,
	                                    .begin = rest->begin,
	                                    .members = args.left,
	                                    .firsts = rest->firsts,
	                                    .tiles = rest->tiles};
	return hy_cuda_launch_assign_rest(&whole, device->multiprocessors, slot->stream);
}

void
hy_cuda_assign_filter_record(HyCudaAssignFilter *filter, const HyCudaAssignRest *rest, int64_t rows)
{
	if (rest->firsts[1] > rows / MANY)
		filter->useless = true;
	else
		filter->proven = true;
}
