/*
 * topk.c
 *		The operation 'topk': the k best of a group of queries stay on the device while all rows pass.
 *
 * They go up empty with the group, every piece brings them up to date, and the last one brings them
 * down.  A piece starts from what the one before it left, so it waits for that; its rows come up
 * meanwhile.  Where there are many queries filter.c takes over when the task starts.
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
static HyStatus start_group(HyDevice *device, HyCudaSlot *slot);
static cudaError_t topk_launch(HyDevice *device, HyCudaSlot *slot);
static int32_t best_bytes(int32_t k);

const HyCudaOperation hy_cuda_topk = {.caps = topk_caps,
                                      .estimate = topk_estimate,
                                      .check = topk_check,
                                      .begin = topk_begin,
                                      .start = topk_start,
                                      .next = hy_cuda_sweep_next,
                                      .up = topk_up,
                                      .launch = topk_launch,
                                      .down = hy_cuda_topk_down,
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

	estimate->bytes_down = shape->targets > 0 ? (uint64_t) shape->queries * (uint64_t) bytes : 0;
	estimate->bytes_up = estimate->bytes_down + hy_cuda_sweep_up_bytes(&work, scratch);
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
	/* where there are no rows, no piece will say so */
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
	return status;
}

static HyStatus
topk_up(HyDevice *device, HyCudaSlot *slot)
{
	HyStatus status = HY_OK;

	if (hy_cuda_sweep_starts_group(device, slot))
		status = start_group(device, slot);
	if (status == HY_OK)
		status = hy_cuda_sweep_up(device, slot);
	return status == HY_OK ? hy_cuda_topk_order(device, slot) : status;
}

static HyStatus
start_group(HyDevice *device, HyCudaSlot *slot)
{
	const HyTopKTask *task = &device->task.task.u.topk;
	const HyCudaChunk *chunk = &slot->chunk;
	/* of a slot that is idle, as all are here; the stream is that of the group's queries */
	HyNeighbor *staged = device->slots[0].pinned_down;
	uint64_t bytes = (uint64_t) chunk->query_count * (uint64_t) best_bytes(task->k);
	cudaError_t error;

	hy_cuda_topk_stage_none(task, chunk->first_query, chunk->query_count, staged);
	error = cudaMemcpyAsync(device->device_best, staged, bytes, cudaMemcpyHostToDevice,
	                        device->slots[0].stream);
	if (error != cudaSuccess)
		return hy_cuda_fail(device, error, "copying limits up");
	device->task.bytes_up += bytes;
	return HY_OK;
}

void
hy_cuda_topk_stage_none(const HyTopKTask *task, int64_t first, int32_t count, HyNeighbor *staged)
{
	int32_t q;
	int32_t i;

	for (q = 0; q < count; q++)
	{
		double limit = task->limits != NULL ? task->limits[first + q] : INFINITY;

		if (isnan(limit))
			limit = INFINITY;
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
	HyCudaTopK args = {.rows = hy_cuda_sweep_rows(device, slot),
	                   .first_row = slot->chunk.first_row,
	                   .k = device->task.task.u.topk.k,
	                   .best = device->device_best,
	                   .lists = slot->device_down,
	                   .list_bytes = device->scratch.down};

	return hy_cuda_launch_topk(sweep->metric, sweep->targets.dtype, &args, device->multiprocessors,
	                           slot->stream);
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

/* best_bytes: of the k best of a query. */
static int32_t
best_bytes(int32_t k)
{
	return k * (int32_t) sizeof(HyNeighbor);
}
