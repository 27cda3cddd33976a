/*
 * topk.c
 *		The operation 'topk': while all rows are processed, the k best rows of a group of queries
 *		stay on the device.
 *
 * The k best rows of each query start empty.  Every piece updates them, and after the last piece
 * they are copied to the host.  The kernels of a piece need the k best rows of the earlier pieces,
 * so they wait for the previous piece.  The rows are uploaded during the wait.  If there are many
 * queries, filter.c takes over when the task starts.
 *
 * Apart from reading the rows, most of the time of a single query is communication between host and
 * device.  So everything except the rows is uploaded in one copy, each piece takes one kernel, and
 * the kernel of the last piece writes its results directly to host memory. (For cosine and a long
 * query, another kernel computes the query's norm.)
 */
#include "cuda/topk.h"

#include <math.h>
#include <string.h>

#include "cuda/filter.h"
#include "cuda/sweep.h"

static HyCaps topk_caps(const HyShape *shape);
static void topk_estimate(const HyCudaScratch *scratch, const HyShape *shape, HyEstimate *estimate);
static HyStatus topk_check(HyDevice *device, const HyTask *task);
static void topk_begin(HyDevice *device);
static HyStatus topk_start(HyDevice *device);
static HyStatus topk_up(HyDevice *device, HyCudaSlot *slot);
static void start_group(HyDevice *device, const HyCudaSlot *slot);
static cudaError_t topk_launch(HyDevice *device, HyCudaSlot *slot);
static HyStatus topk_down(HyDevice *device, HyCudaSlot *slot);
static bool answers_itself(const HyDevice *device, const HyCudaSlot *slot);
static double limit_of(const HyTopKTask *task, int64_t query);
static int32_t best_bytes(int32_t k);

const HyCudaOperation hy_cuda_topk = {.caps = topk_caps,
                                      .estimate = topk_estimate,
                                      .check = topk_check,
                                      .begin = topk_begin,
                                      .start = topk_start,
                                      .next = hy_cuda_sweep_next,
                                      .up = topk_up,
                                      .launch = topk_launch,
                                      .down = topk_down,
                                      .collect = hy_cuda_topk_collect};

static HyCaps
topk_caps(const HyShape *shape)
{
	HyCaps caps = hy_cuda_sweep_caps(shape);

	if (caps.ok)
		caps.max_k = HY_CUDA_MAX_K;
	return caps;
}

static void
topk_estimate(const HyCudaScratch *scratch, const HyShape *shape, HyEstimate *estimate)
{
	int32_t bytes = best_bytes(shape->k > 0 ? shape->k : 1);
	HyCudaWork work = hy_cuda_sweep_work(shape, bytes, 0);

	work.query_up = sizeof(double);
	estimate->bytes_down = shape->targets > 0 ? (uint64_t) shape->queries * (uint64_t) bytes : 0;
	estimate->bytes_up = hy_cuda_sweep_up_bytes(&work, scratch);
}

static HyStatus
topk_check(HyDevice *device, const HyTask *task)
{
	return hy_cuda_sweep_check(device, &task->u.topk.targets);
}

static void
topk_begin(HyDevice *device)
{
	const HyTopKTask *task = &device->task.task.u.topk;
	int64_t q;

	hy_cuda_sweep_begin(device, task->metric, &task->queries, &task->targets, best_bytes(task->k),
	                    0);
	/* memory for each query's distance limit */
	device->task.sweep.work.query_up = sizeof(double);
	/* without rows, no piece sets the counts */
	for (q = 0; q < task->queries.rows; q++)
		task->counts[q] = 0;
}

static HyStatus
topk_start(HyDevice *device)
{
	bool filtered;
	HyStatus status = hy_cuda_filter_start(device, &filtered);

	if (status == HY_OK && filtered)
		device->task.operation = &hy_cuda_topk_filter;
	else
		hy_cuda_sweep_take_norms(device);
	return status;
}

static HyStatus
topk_up(HyDevice *device, HyCudaSlot *slot)
{
	HyStatus status;

	if (hy_cuda_sweep_starts_group(device, slot))
		start_group(device, slot);
	status = hy_cuda_sweep_up(device, slot);
	return status == HY_OK ? hy_cuda_topk_order(device, slot) : status;
}

/*
 * start_group: stage the data that is uploaded after the group's queries: the distance limits of
 * the queries, if any, and for a single query the counter of finished blocks.
 */
static void
start_group(HyDevice *device, const HyCudaSlot *slot)
{
	const HyTopKTask *task = &device->task.task.u.topk;
	const HyCudaChunk *chunk = &slot->chunk;
	char *behind = (char *) device->pinned_queries + hy_cuda_sweep_behind(device, slot);
	double *limits = (double *) behind;
	int32_t count = task->limits != NULL ? chunk->query_count : 0;
	int32_t q;

	for (q = 0; q < count; q++)
		limits[q] = limit_of(task, chunk->first_query + q);
	device->task.sweep.behind = (uint64_t) count * sizeof(double);
	device->task.bytes_up += device->task.sweep.behind;
	if (chunk->query_count > 1)
		return;
	memset(limits + count, 0, sizeof(double));
	device->task.sweep.behind += sizeof(double);
}

void
hy_cuda_topk_stage_none(const HyTopKTask *task, int64_t first, int32_t count, HyNeighbor *staged)
{
	int32_t q;
	int32_t i;

	for (q = 0; q < count; q++)
	{
		double limit = limit_of(task, first + q);

		for (i = 0; i < task->k; i++)
			staged[(int64_t) q * task->k + i] =
				(HyNeighbor){.distance = limit, .row = HY_CUDA_NO_ROW};
	}
}

HyStatus
hy_cuda_topk_order(HyDevice *device, HyCudaSlot *slot)
{
	cudaError_t error = cudaSuccess;
	int i;

	for (i = 0; i < HY_CUDA_SLOTS && error == cudaSuccess; i++)
	{
		HyCudaSlot *other = &device->slots[i];

		if (other != slot && other->busy)
			error = cudaStreamWaitEvent(slot->stream, other->kernel_end, 0);
	}
	if (error != cudaSuccess)
		return hy_cuda_fail(device, error, "ordering pieces");
	return HY_OK;
}

static cudaError_t
topk_launch(HyDevice *device, HyCudaSlot *slot)
{
	const HyCudaSweep *sweep = &device->task.sweep;
	const HyTopKTask *task = &device->task.task.u.topk;
	char *behind = (char *) device->device_queries + hy_cuda_sweep_behind(device, slot);
	double *limits = task->limits != NULL ? (double *) behind : NULL;
	HyCudaTopK args = {.rows = hy_cuda_sweep_rows(device, slot),
	                   .first_row = slot->chunk.first_row,
	                   .k = task->k,
	                   .best = device->device_best,
	                   .empty = slot->chunk.first_row == 0,
	                   .limits = limits,
	                   .lists = slot->device_down,
	                   .list_bytes = device->scratch.down};

	if (slot->chunk.query_count == 1)
		args.arrived = (unsigned *) (limits != NULL ? behind + sizeof(double) : behind);
	/* pinned memory has the same address on the device */
	if (answers_itself(device, slot))
		args.answer = slot->pinned_down;
	return hy_cuda_launch_topk(sweep->metric, sweep->targets.dtype, &args, device->multiprocessors,
	                           slot->stream);
}

static HyStatus
topk_down(HyDevice *device, HyCudaSlot *slot)
{
	slot->nothing_down = answers_itself(device, slot) || !hy_cuda_sweep_ends_group(device, slot);
	if (!answers_itself(device, slot))
		return hy_cuda_topk_down(device, slot);
	device->task.bytes_down += (uint64_t) best_bytes(device->task.task.u.topk.k);
	return HY_OK;
}

/*
 * answers_itself: return whether the kernel of the slot's piece writes the k best directly to host
 * memory.
 */
static bool
answers_itself(const HyDevice *device, const HyCudaSlot *slot)
{
	return slot->chunk.query_count == 1 && hy_cuda_sweep_ends_group(device, slot);
}

HyStatus
hy_cuda_topk_down(HyDevice *device, HyCudaSlot *slot)
{
	uint64_t bytes =
		(uint64_t) slot->chunk.query_count * (uint64_t) best_bytes(device->task.task.u.topk.k);
	cudaError_t error;

	if (!hy_cuda_sweep_ends_group(device, slot))
		return HY_OK;
	error = cudaMemcpyAsync(slot->pinned_down, device->device_best, bytes, cudaMemcpyDeviceToHost,
	                        slot->stream);
	if (error != cudaSuccess)
		return hy_cuda_fail(device, error, "copying the nearest down");
	device->task.bytes_down += bytes;
	return HY_OK;
}

void
hy_cuda_topk_collect(HyDevice *device, const HyCudaSlot *slot)
{
	const HyTopKTask *task = &device->task.task.u.topk;
	const HyCudaChunk *chunk = &slot->chunk;
	int32_t q;

	if (!hy_cuda_sweep_ends_group(device, slot))
		return;
	for (q = 0; q < chunk->query_count; q++)
	{
		const HyNeighbor *best = (const HyNeighbor *) slot->pinned_down + (int64_t) q * task->k;
		int64_t query = chunk->first_query + q;
		int32_t count = 0;

		while (count < task->k && best[count].row != HY_CUDA_NO_ROW)
			count++;
		memcpy(task->out + query * task->k, best, (size_t) count * sizeof(HyNeighbor));
		task->counts[query] = count;
	}
}

/* limit_of: return the largest allowed distance of a query.  NaN means no limit. */
static double
limit_of(const HyTopKTask *task, int64_t query)
{
	double limit = task->limits != NULL ? task->limits[query] : INFINITY;

	return isnan(limit) ? INFINITY : limit;
}

/* best_bytes: return the bytes of the k best rows of one query. */
static int32_t
best_bytes(int32_t k)
{
	return k * (int32_t) sizeof(HyNeighbor);
}
