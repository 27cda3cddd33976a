/*
 * distance.c
 *		The operation 'distance' on a device: pieces through two slots.
 *
 * Submit queues the first pieces and returns.  Each poll collects the pieces that are done and
 * queues the next ones, so while one slot computes the other is filled and emptied.  Queries go up
 * in groups; rows in the host's memory follow piece by piece, packed on the way into pinned
 * memory, while resident rows are read where they lie.  One task is in flight on a device at a
 * time; another is told HY_BUSY.
 */
#include "cuda/device.h"

#include <string.h>

#include "cuda/launch.h"

/* One task has at most this many rows: products with a row's bytes stay far below 2^63. */
#define MAX_TARGETS ((int64_t) 1 << 40)

static HyStatus check_resident(HyDevice *device, const HyMatrix *targets);
static HyStatus fill_slots(HyDevice *device);
static HyStatus upload_group(HyDevice *device, const HyCudaChunk *chunk);
static HyStatus queue_piece(HyDevice *device, HyCudaSlot *slot);
static void stage_rows(const HyMatrix *matrix, int64_t first, int64_t count, char *to);
static HyStatus collect(HyDevice *device);
static bool all_idle(const HyDevice *device);

HyCaps
hy_cuda_caps(const HyDevice *device, const HyShape *shape)
{
	HyCaps caps = {0};

	(void) device;
	caps.numeric_class = HY_CLASS_EXACT;
	if (shape->op != HY_OP_DISTANCE)
		caps.reason = "the CUDA backend has no such operation";
	else if ((int) shape->dtype < 0 || (int) shape->dtype >= HY_DTYPE_COUNT)
		caps.reason = "the CUDA backend knows float32 and float16 only";
	else if ((int) shape->metric < 0 || (int) shape->metric >= HY_METRIC_COUNT)
		caps.reason = "the CUDA backend has no such metric";
	else if (shape->dims < 1 || shape->dims > HY_MAX_DIMS)
		caps.reason = "too many dimensions for the CUDA backend";
	else
	{
		caps.ok = true;
		caps.max_targets = MAX_TARGETS;
	}
	return caps;
}

HyEstimate
hy_cuda_estimate(const HyDevice *device, const HyShape *shape)
{
	HyEstimate estimate = {0};
	HyCudaScratch scratch;
	HyCudaWork work;
	uint64_t row_bytes;
	uint64_t groups;

	if (!hy_cuda_caps(device, shape).ok)
		return estimate;
	if (device != NULL)
		scratch = device->scratch;
	else
		(void) hy_cuda_scratch_plan(UINT64_MAX, &scratch);
	row_bytes = (uint64_t) shape->dims * hy_dtype_size(shape->dtype);
	work = (HyCudaWork){.queries = shape->queries,
	                    .rows = shape->targets,
	                    .dims = shape->dims,
	                    .element = (int32_t) hy_dtype_size(shape->dtype),
	                    .resident = shape->resident};
	groups = 0;
	if (shape->queries > 0)
	{
		uint64_t group = (uint64_t) hy_cuda_query_group(&work, &scratch);

		groups = ((uint64_t) shape->queries + group - 1) / group;
	}
	estimate.device_bytes = hy_cuda_scratch_bytes(&scratch);
	estimate.pinned_bytes = estimate.device_bytes;
	/* every group of queries needs the rows once more */
	estimate.bytes_up = (uint64_t) shape->queries * shape->dims * sizeof(float) +
	                    (shape->resident ? 0 : groups * (uint64_t) shape->targets * row_bytes);
	estimate.bytes_down = (uint64_t) shape->queries * (uint64_t) shape->targets * sizeof(double);
	return estimate;
}

HyStatus
hy_cuda_submit(HyDevice *device, const HyTask *task, HyTicket *ticket)
{
	HyCudaTask *current = &device->task;
	HyStatus status;
	HyShape shape;

	*ticket = 0;
	status = hy_cuda_enter(device);
	if (status != HY_OK)
		return status;
	if (task->op != HY_OP_DISTANCE)
		return hy_cuda_refuse(device, HY_UNSUPPORTED, "the CUDA backend does not run '%s'",
		                      hy_op_name(task->op));
	status = hy_task_check(task);
	if (status != HY_OK)
		return hy_cuda_refuse(device, status, "the task contradicts itself");
	shape = hy_task_shape(task);
	if (!hy_cuda_caps(device, &shape).ok || shape.targets > MAX_TARGETS)
		return hy_cuda_refuse(device, HY_UNSUPPORTED, "the task is beyond the CUDA backend");
	if (current->active)
		return hy_cuda_refuse(device, HY_BUSY, "the device already runs a task");
	if (shape.resident)
	{
		status = check_resident(device, &task->u.distance.targets);
		if (status != HY_OK)
			return status;
	}

	memset(current, 0, sizeof(*current));
	current->distance = task->u.distance;
	current->cancel = task->cancel;
	current->work = (HyCudaWork){.queries = shape.queries,
	                             .rows = shape.targets,
	                             .dims = shape.dims,
	                             .element = (int32_t) hy_dtype_size(shape.dtype),
	                             .resident = shape.resident};
	current->group = -1;
	current->started = device->host->clock->now(device->host->clock->arg);
	current->active = true;
	status = fill_slots(device);
	if (status != HY_OK)
	{
		hy_cuda_drain(device);
		return status;
	}
	current->ticket = ++device->last_ticket;
	*ticket = current->ticket;
	return HY_OK;
}

HyStatus
hy_cuda_poll(HyDevice *device, HyTicket ticket, bool *done, HyTimings *timings)
{
	HyCudaTask *current = &device->task;
	HyStatus status;

	*done = false;
	/* how long a queued piece will take is CUDA's secret */
	if (timings != NULL)
		memset(timings, 0, sizeof(*timings));
	if (!current->active || ticket != current->ticket)
		return hy_cuda_refuse(device, HY_INVALID, "no task has ticket %llu",
		                      (unsigned long long) ticket);
	status = hy_cuda_enter(device);
	if (status == HY_OK)
		status = collect(device);
	if (status == HY_OK && !current->stopping)
	{
		if (hy_cancelled(current->cancel))
			current->stopping = true;
		else
			status = fill_slots(device);
	}
	if (status != HY_OK)
	{
		hy_cuda_drain(device);
		*done = true;
		return status;
	}
	if (!all_idle(device) || !(current->exhausted || current->stopping))
		return HY_OK;

	*done = true;
	current->active = false;
	/* A stop that came when nothing was left to do stopped nothing. */
	if (current->stopping && (!current->exhausted || current->dropped))
		return hy_cuda_refuse(device, HY_CANCELLED, "cancelled");
	if (timings != NULL)
	{
		timings->total_ns = device->host->clock->now(device->host->clock->arg) - current->started;
		timings->bytes_up = current->bytes_up;
		timings->bytes_down = current->bytes_down;
	}
	return HY_OK;
}

void
hy_cuda_cancel(HyDevice *device, HyTicket ticket)
{
	if (device->task.active && ticket == device->task.ticket)
		device->task.stopping = true;
}

void
hy_cuda_drain(HyDevice *device)
{
	int i;

	for (i = 0; i < HY_CUDA_SLOTS; i++)
	{
		if (device->slots[i].stream != NULL && device->task.active)
			(void) cudaStreamSynchronize(device->slots[i].stream);
		device->slots[i].busy = false;
	}
	(void) cudaGetLastError();
	device->task.active = false;
}

/* Host memory may lie anyhow, it is packed on its way; a kernel needs its elements aligned. */
static HyStatus
check_resident(HyDevice *device, const HyMatrix *targets)
{
	uint64_t element = hy_dtype_size(targets->dtype);
	uint64_t row_bytes = (uint64_t) targets->dims * element;
	uint64_t left;

	if (targets->buffer->device != device)
		return hy_cuda_refuse(device, HY_INVALID, "the buffer belongs to another device");
	if (targets->offset % element != 0 || targets->stride % element != 0)
		return hy_cuda_refuse(device, HY_INVALID, "resident rows are not aligned");
	if (targets->rows == 0)
		return HY_OK;
	left = targets->offset <= targets->buffer->bytes ? targets->buffer->bytes - targets->offset : 0;
	if (row_bytes > left ||
	    (uint64_t) (targets->rows - 1) > (left - row_bytes) / (uint64_t) targets->stride)
		return hy_cuda_refuse(device, HY_INVALID, "resident rows do not lie in their buffer");
	return HY_OK;
}

/* fill_slots: queues pieces while there is a free slot and a piece left. */
static HyStatus
fill_slots(HyDevice *device)
{
	HyCudaTask *task = &device->task;
	HyStatus status;
	int i;

	for (i = 0; i < HY_CUDA_SLOTS && !task->exhausted; i++)
	{
		HyCudaSlot *slot = &device->slots[i];
		HyCudaChunk chunk = task->last;

		if (slot->busy)
			continue;
		if (!hy_cuda_next_chunk(&task->work, &device->scratch, &device->pace, &chunk))
		{
			task->exhausted = true;
			break;
		}
		if (chunk.first_query != task->group)
		{
			/* Pieces in flight still read the group that this one replaces. */
			if (!all_idle(device))
				break;
			status = upload_group(device, &chunk);
			if (status != HY_OK)
				return status;
		}
		slot->chunk = chunk;
		slot->busy = true;
		status = queue_piece(device, slot);
		if (status != HY_OK)
			return status;
		task->last = chunk;
	}
	return HY_OK;
}

static HyStatus
upload_group(HyDevice *device, const HyCudaChunk *chunk)
{
	HyCudaTask *task = &device->task;
	cudaStream_t stream = device->slots[0].stream;
	uint64_t bytes = (uint64_t) chunk->query_count * task->work.dims * sizeof(float);
	cudaError_t error;
	int i;

	stage_rows(&task->distance.queries, chunk->first_query, chunk->query_count,
	           (char *) device->pinned_queries);
	error = cudaMemcpyAsync(device->device_queries, device->pinned_queries, bytes,
	                        cudaMemcpyHostToDevice, stream);
	if (error != cudaSuccess)
		return hy_cuda_fail(device, error, "copying queries up");
	if (task->distance.metric == HY_METRIC_COSINE)
	{
		error = hy_cuda_launch_norms(device->device_queries, chunk->query_count, task->work.dims,
		                             device->device_norms, stream);
		if (error != cudaSuccess)
			return hy_cuda_fail(device, error, "starting the norms kernel");
	}
	error = cudaEventRecord(device->queries_ready, stream);
	for (i = 1; i < HY_CUDA_SLOTS && error == cudaSuccess; i++)
		error = cudaStreamWaitEvent(device->slots[i].stream, device->queries_ready, 0);
	if (error != cudaSuccess)
		return hy_cuda_fail(device, error, "ordering streams");
	task->group = chunk->first_query;
	task->bytes_up += bytes;
	return HY_OK;
}

/* queue_piece: rows up, kernel, distances down, all on the slot's stream. */
static HyStatus
queue_piece(HyDevice *device, HyCudaSlot *slot)
{
	HyCudaTask *task = &device->task;
	const HyCudaChunk *chunk = &slot->chunk;
	const HyMatrix *targets = &task->distance.targets;
	uint64_t row_bytes = (uint64_t) task->work.dims * (uint64_t) task->work.element;
	uint64_t bytes_down = (uint64_t) chunk->query_count * chunk->row_count * sizeof(double);
	HyCudaDistance args;
	cudaError_t error;

	args.rows = chunk->row_count;
	args.queries = device->device_queries;
	args.query_norms = device->device_norms;
	args.query_count = chunk->query_count;
	args.dims = task->work.dims;
	args.out = slot->device_down;
	args.out_stride = chunk->row_count;
	if (task->work.resident)
	{
		args.stride = (int64_t) targets->stride;
		args.targets = targets->buffer->pointer + targets->offset + chunk->first_row * args.stride;
	}
	else
	{
		uint64_t bytes_up = (uint64_t) chunk->row_count * row_bytes;

		stage_rows(targets, chunk->first_row, chunk->row_count, slot->pinned_up);
		error = cudaMemcpyAsync(slot->device_up, slot->pinned_up, bytes_up, cudaMemcpyHostToDevice,
		                        slot->stream);
		if (error != cudaSuccess)
			return hy_cuda_fail(device, error, "copying rows up");
		args.stride = (int64_t) row_bytes;
		args.targets = slot->device_up;
		task->bytes_up += bytes_up;
	}

	error = cudaEventRecord(slot->kernel_start, slot->stream);
	if (error == cudaSuccess)
		error = hy_cuda_launch_distance(task->distance.metric, targets->dtype, &args,
		                                device->multiprocessors, slot->stream);
	if (error == cudaSuccess)
		error = cudaEventRecord(slot->kernel_end, slot->stream);
	if (error != cudaSuccess)
		return hy_cuda_fail(device, error, "starting the distance kernel");
	error = cudaMemcpyAsync(slot->pinned_down, slot->device_down, bytes_down,
	                        cudaMemcpyDeviceToHost, slot->stream);
	if (error == cudaSuccess)
		error = cudaEventRecord(slot->done, slot->stream);
	if (error != cudaSuccess)
		return hy_cuda_fail(device, error, "copying distances down");
	task->bytes_down += bytes_down;
	return HY_OK;
}

/* stage_rows: rows first .. first + count - 1, packed. */
static void
stage_rows(const HyMatrix *matrix, int64_t first, int64_t count, char *to)
{
	size_t row_bytes = (size_t) matrix->dims * hy_dtype_size(matrix->dtype);
	int64_t i;

	if (matrix->stride == row_bytes)
	{
		memcpy(to, hy_matrix_row(matrix, first), (size_t) count * row_bytes);
		return;
	}
	for (i = 0; i < count; i++)
		memcpy(to + (size_t) i * row_bytes, hy_matrix_row(matrix, first + i), row_bytes);
}

/* collect: hands out the distances of the pieces that are done. */
static HyStatus
collect(HyDevice *device)
{
	HyCudaTask *task = &device->task;
	int i;

	for (i = 0; i < HY_CUDA_SLOTS; i++)
	{
		HyCudaSlot *slot = &device->slots[i];
		const HyCudaChunk *chunk = &slot->chunk;
		cudaError_t error;
		float milliseconds;
		int32_t q;

		if (!slot->busy)
			continue;
		error = cudaEventQuery(slot->done);
		if (error == cudaErrorNotReady)
		{
			(void) cudaGetLastError();
			continue;
		}
		if (error != cudaSuccess)
			return hy_cuda_fail(device, error, "running the distance kernel");
		/* Who has cancelled has his memory back. */
		task->dropped = task->dropped || task->stopping;
		for (q = 0; q < chunk->query_count && !task->stopping; q++)
			memcpy(task->distance.out +
			           (chunk->first_query + q) * hy_distance_stride(&task->distance) +
			           chunk->first_row,
			       slot->pinned_down + q * chunk->row_count,
			       (size_t) chunk->row_count * sizeof(double));
		slot->busy = false;
		error = cudaEventElapsedTime(&milliseconds, slot->kernel_start, slot->kernel_end);
		if (error != cudaSuccess)
			return hy_cuda_fail(device, error, "reading the kernel's time");
		hy_cuda_pace_learn(&device->pace,
		                   (uint64_t) chunk->query_count * chunk->row_count * task->work.dims,
		                   milliseconds * 1000.0);
	}
	return HY_OK;
}

static bool
all_idle(const HyDevice *device)
{
	int i;

	for (i = 0; i < HY_CUDA_SLOTS; i++)
	{
		if (device->slots[i].busy)
			return false;
	}
	return true;
}
