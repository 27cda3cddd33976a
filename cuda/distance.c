/*
 * distance.c
 *		The operation 'distance': each piece computes the distances between its queries and its
 *		rows.
 */
#include "cuda/sweep.h"

static HyCaps distance_caps(const HyShape *shape);
static void
distance_estimate(const HyCudaScratch *scratch, const HyShape *shape, HyEstimate *estimate);
static HyStatus distance_check(HyDevice *device, const HyTask *task);
static void distance_begin(HyDevice *device);
static cudaError_t distance_launch(HyDevice *device, HyCudaSlot *slot);
static HyStatus distance_down(HyDevice *device, HyCudaSlot *slot);
static void distance_collect(HyDevice *device, const HyCudaSlot *slot);

const HyCudaOperation hy_cuda_distance = {.caps = distance_caps,
                                          .estimate = distance_estimate,
                                          .check = distance_check,
                                          .begin = distance_begin,
                                          .next = hy_cuda_sweep_next,
                                          .up = hy_cuda_sweep_up,
                                          .launch = distance_launch,
                                          .down = distance_down,
                                          .collect = distance_collect};

static HyCaps
distance_caps(const HyShape *shape)
{
	return hy_cuda_sweep_caps(shape);
}

static void
distance_estimate(const HyCudaScratch *scratch, const HyShape *shape, HyEstimate *estimate)
{
	HyCudaWork work = hy_cuda_sweep_work(shape, 0, sizeof(double));

	estimate->bytes_up = hy_cuda_sweep_up_bytes(&work, scratch);
	estimate->bytes_down = (uint64_t) shape->queries * (uint64_t) shape->targets * sizeof(double);
}

static HyStatus
distance_check(HyDevice *device, const HyTask *task)
{
	return hy_cuda_sweep_check(device, &task->u.distance.targets);
}

static void
distance_begin(HyDevice *device)
{
	const HyDistanceTask *task = &device->task.task.u.distance;

	hy_cuda_sweep_begin(device, task->metric, &task->queries, &task->targets, 0, sizeof(double));
	hy_cuda_sweep_take_norms(device);
}

static cudaError_t
distance_launch(HyDevice *device, HyCudaSlot *slot)
{
	HyCudaDistance args = {.rows = hy_cuda_sweep_rows(device, slot),
	                       .out = slot->device_down,
	                       .out_stride = slot->chunk.row_count};
	const HyCudaSweep *sweep = &device->task.sweep;

	return hy_cuda_launch_distance(sweep->metric, sweep->targets.dtype, &args,
	                               device->multiprocessors, slot->stream);
}

static HyStatus
distance_down(HyDevice *device, HyCudaSlot *slot)
{
	uint64_t bytes =
		(uint64_t) slot->chunk.query_count * (uint64_t) slot->chunk.row_count * sizeof(double);
	cudaError_t error = cudaMemcpyAsync(slot->pinned_down, slot->device_down, bytes,
	                                    cudaMemcpyDeviceToHost, slot->stream);

	if (error != cudaSuccess)
		return hy_cuda_fail(device, error, "copying distances down");
	device->task.bytes_down += bytes;
	return HY_OK;
}

static void
distance_collect(HyDevice *device, const HyCudaSlot *slot)
{
	const HyDistanceTask *task = &device->task.task.u.distance;
	const HyCudaChunk *chunk = &slot->chunk;
	int64_t stride = hy_distance_stride(task);
	HyCudaCopy copy = {.kind = HY_CUDA_COPY_DOWN,
	                   .from = slot->pinned_down,
	                   .from_stride = (size_t) chunk->row_count * sizeof(double),
	                   .to = (char *) (task->out + chunk->first_query * stride + chunk->first_row),
	                   .to_stride = (size_t) stride * sizeof(double),
	                   .bytes = (size_t) chunk->row_count * sizeof(double),
	                   .rows = chunk->query_count};

	hy_cuda_copy(device->host, HY_OP_DISTANCE, &copy, 1);
}
