/*
 * sweep.c
 *		Plans the pieces of operations that compare queries with rows, and uploads groups of queries
 *		and pieces of rows.
 */
#include "cuda/sweep.h"

/* Largest number of rows of a task.  The bytes of this many rows are far below 2^63. */
#define MAX_TARGETS ((int64_t) 1 << 40)

/*
 * For cosine, the norms of rows in host memory are uploaded if all queries together have at least
 * this many elements.  A norm saves one multiplication for every four that compare its row with
 * queries.  From this many elements on, that saves more time than the transfer of the norm's 4
 * bytes takes.
 */
#define NORMS_PAY 16384

static char *kept_row(const HyCudaSweep *sweep, int64_t row);
static uint64_t norms_offset(const HyCudaWork *work, const HyCudaChunk *chunk);
static HyStatus upload_group(HyDevice *device, HyCudaSlot *slot);
static bool needs_norms(const HyDevice *device, const HyCudaSlot *slot);
static HyStatus tell_others(HyDevice *device, const HyCudaSlot *slot);

HyCaps
hy_cuda_sweep_caps(const HyShape *shape)
{
	HyCaps caps = {.numeric_class = HY_CLASS_EXACT};

	if ((int) shape->dtype < 0 || (int) shape->dtype >= HY_DTYPE_COUNT)
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

HyCudaWork
hy_cuda_sweep_work(const HyShape *shape, int32_t query_down, int32_t pair_down)
{
	return (HyCudaWork){.queries = shape->queries,
	                    .rows = shape->targets,
	                    .dims = shape->dims,
	                    .element = (int32_t) hy_dtype_size(shape->dtype),
	                    .resident = shape->resident,
	                    .query_down = query_down,
	                    .pair_down = pair_down};
}

uint64_t
hy_cuda_sweep_up_bytes(const HyCudaWork *work, const HyCudaScratch *scratch)
{
	uint64_t queries = (uint64_t) work->queries;
	uint64_t row_bytes = (uint64_t) work->dims * (uint64_t) work->element;
	uint64_t groups = 0;

	if (queries > 0)
	{
		uint64_t group = (uint64_t) hy_cuda_query_group(work, scratch);

		groups = (queries + group - 1) / group;
	}
	/* the rows are uploaded again for every group of queries */
	return queries * (uint64_t) work->dims * sizeof(float) +
	       (work->resident ? 0 : groups * (uint64_t) work->rows * row_bytes);
}

/*
 * Rows in host memory need no alignment, because they are packed into pinned memory.  Kernels read
 * resident rows in place, and need aligned elements.
 */
HyStatus
hy_cuda_sweep_check(HyDevice *device, const HyMatrix *targets)
{
	uint64_t element = hy_dtype_size(targets->dtype);
	uint64_t row_bytes = (uint64_t) targets->dims * element;
	uint64_t left;

	if (targets->buffer == NULL)
		return HY_OK;
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

void
hy_cuda_sweep_begin(HyDevice *device, HyMetric metric, const HyMatrix *queries,
                    const HyMatrix *targets, int32_t query_down, int32_t pair_down)
{
	HyShape shape = hy_task_shape(&device->task.task);

	device->task.sweep = (HyCudaSweep){.metric = metric,
	                                   .queries = *queries,
	                                   .targets = *targets,
	                                   .work = hy_cuda_sweep_work(&shape, query_down, pair_down),
	                                   .group = -1};
}

void
hy_cuda_sweep_take_norms(HyDevice *device)
{
	HyCudaSweep *sweep = &device->task.sweep;

	if (sweep->metric == HY_METRIC_COSINE && sweep->targets.norms != NULL &&
	    !sweep->work.resident && sweep->work.queries * sweep->work.dims >= NORMS_PAY)
		sweep->work.row_up = sizeof(float);
}

HyCudaNext
hy_cuda_sweep_next(HyDevice *device, HyCudaSlot *slot)
{
	HyCudaSweep *sweep = &device->task.sweep;
	HyCudaChunk chunk = sweep->last;

	if (!hy_cuda_next_chunk(&sweep->work, &device->scratch, &device->pace[device->task.task.op],
	                        &chunk))
		return HY_CUDA_END;
	/* Pieces in flight still read the queries that the new group replaces. */
	if (chunk.first_query != sweep->group && !hy_cuda_all_idle(device))
		return HY_CUDA_WAIT;
	sweep->last = chunk;
	slot->chunk = chunk;
	slot->work = hy_cuda_work(sweep->work.dims, chunk.query_count, chunk.row_count);
	return HY_CUDA_PIECE;
}

HyStatus
hy_cuda_sweep_up(HyDevice *device, HyCudaSlot *slot)
{
	HyCudaTask *task = &device->task;
	const HyCudaWork *work = &task->sweep.work;
	const HyCudaChunk *chunk = &slot->chunk;
	HyCudaCopy copies[2];
	char *to = slot->device_up;
	uint64_t bytes;
	cudaError_t error;
	HyStatus status;

	if (hy_cuda_sweep_starts_group(device, slot))
	{
		status = upload_group(device, slot);
		if (status != HY_OK)
			return status;
	}
	if (work->resident)
		return HY_OK;
	bytes = (uint64_t) chunk->row_count * (uint64_t) work->dims * (uint64_t) work->element;
	copies[0] = hy_cuda_rows_copy(&task->sweep.targets, chunk->first_row, chunk->row_count,
	                              slot->pinned_up);
	if (work->row_up > 0)
	{
		uint64_t offset = norms_offset(work, chunk);

		bytes = offset + (uint64_t) chunk->row_count * sizeof(float);
		copies[1] = hy_cuda_copy_of(HY_CUDA_COPY_UP, slot->pinned_up + offset,
		                            task->sweep.targets.norms + chunk->first_row, bytes - offset);
	}
	hy_cuda_copy(device->host, task->task.op, copies, work->row_up > 0 ? 2 : 1);
	if (task->sweep.kept != NULL)
		to = kept_row(&task->sweep, chunk->first_row);
	error = cudaMemcpyAsync(to, slot->pinned_up, bytes, cudaMemcpyHostToDevice, slot->stream);
	if (error != cudaSuccess)
		return hy_cuda_fail(device, error, "copying rows up");
	task->bytes_up += bytes;
	return HY_OK;
}

HyCudaRows
hy_cuda_sweep_rows(const HyDevice *device, const HyCudaSlot *slot)
{
	const HyCudaSweep *sweep = &device->task.sweep;
	const HyMatrix *targets = &sweep->targets;
	HyCudaRows rows = {.targets = slot->device_up,
	                   .stride = (int64_t) sweep->work.dims * sweep->work.element,
	                   .rows = slot->chunk.row_count,
	                   .queries = device->device_queries,
	                   .query_norms = needs_norms(device, slot) ? device->device_norms : NULL,
	                   .query_count = slot->chunk.query_count,
	                   .dims = sweep->work.dims};

	if (sweep->work.row_up > 0)
		rows.target_norms =
			(const float *) (const void *) (slot->device_up +
		                                    norms_offset(&sweep->work, &slot->chunk));
	if (sweep->kept != NULL)
		rows.targets = kept_row(sweep, slot->chunk.first_row);
	if (sweep->work.resident)
	{
		rows.stride = (int64_t) targets->stride;
		rows.targets =
			targets->buffer->pointer + targets->offset + slot->chunk.first_row * rows.stride;
	}
	return rows;
}

bool
hy_cuda_sweep_starts_group(const HyDevice *device, const HyCudaSlot *slot)
{
	return slot->chunk.first_query != device->task.sweep.group;
}

bool
hy_cuda_sweep_ends_group(const HyDevice *device, const HyCudaSlot *slot)
{
	return slot->chunk.first_row + slot->chunk.row_count == device->task.sweep.work.rows;
}

uint64_t
hy_cuda_sweep_behind(const HyDevice *device, const HyCudaSlot *slot)
{
	uint64_t bytes = (uint64_t) slot->chunk.query_count * (uint64_t) device->task.sweep.work.dims *
	                 sizeof(float);

	return (bytes + sizeof(double) - 1) / sizeof(double) * sizeof(double);
}

/*
 * needs_norms: return whether a separate kernel computes the queries' norms (for cosine).  For a
 * single query that fits into shared memory, the main kernel computes the norm itself.
 */
static bool
needs_norms(const HyDevice *device, const HyCudaSlot *slot)
{
	const HyCudaSweep *sweep = &device->task.sweep;

	return sweep->metric == HY_METRIC_COSINE &&
	       (slot->chunk.query_count > 1 || sweep->work.dims > HY_CUDA_OWN_NORM);
}

/* kept_row: return the device address of a row that is kept for later groups of queries. */
static char *
kept_row(const HyCudaSweep *sweep, int64_t row)
{
	return sweep->kept + row * sweep->work.dims * sweep->work.element;
}

/* norms_offset: return the byte offset of the norms, which follow the rows of a piece. */
static uint64_t
norms_offset(const HyCudaWork *work, const HyCudaChunk *chunk)
{
	uint64_t bytes = (uint64_t) chunk->row_count * (uint64_t) work->dims * (uint64_t) work->element;

	return (bytes + sizeof(float) - 1) / sizeof(float) * sizeof(float);
}

static HyStatus
upload_group(HyDevice *device, HyCudaSlot *slot)
{
	HyCudaTask *task = &device->task;
	HyCudaSweep *sweep = &task->sweep;
	const HyCudaChunk *chunk = &slot->chunk;
	uint64_t bytes = (uint64_t) chunk->query_count * (uint64_t) sweep->work.dims * sizeof(float);
	uint64_t all = sweep->behind > 0 ? hy_cuda_sweep_behind(device, slot) + sweep->behind : bytes;
	cudaError_t error;

	hy_cuda_stage_rows(device, &sweep->queries, chunk->first_query, chunk->query_count,
	                   (char *) device->pinned_queries);
	error = cudaMemcpyAsync(device->device_queries, device->pinned_queries, all,
	                        cudaMemcpyHostToDevice, slot->stream);
	if (error != cudaSuccess)
		return hy_cuda_fail(device, error, "copying queries up");
	if (needs_norms(device, slot))
	{
		error = hy_cuda_launch_norms(device->device_queries, chunk->query_count, sweep->work.dims,
		                             device->device_norms, slot->stream);
		if (error != cudaSuccess)
			return hy_cuda_fail(device, error, "starting the norms kernel");
	}
	sweep->group = chunk->first_query;
	task->bytes_up += bytes;
	return tell_others(device, slot);
}

/*
 * tell_others: make the other slots wait for the upload of the group's queries, if more pieces of
 * the group follow.
 */
static HyStatus
tell_others(HyDevice *device, const HyCudaSlot *slot)
{
	cudaError_t error;
	int i;

	if (hy_cuda_sweep_ends_group(device, slot))
		return HY_OK;
	error = cudaEventRecord(device->queries_ready, slot->stream);
	for (i = 0; i < HY_CUDA_SLOTS && error == cudaSuccess; i++)
	{
		if (&device->slots[i] != slot)
			error = cudaStreamWaitEvent(device->slots[i].stream, device->queries_ready, 0);
	}
	return error == cudaSuccess ? HY_OK : hy_cuda_fail(device, error, "ordering streams");
}

HyCudaCopy
hy_cuda_rows_copy(const HyMatrix *matrix, int64_t first, int64_t count, char *to)
{
	size_t row_bytes = (size_t) matrix->dims * hy_dtype_size(matrix->dtype);

	return (HyCudaCopy){.kind = HY_CUDA_COPY_UP,
	                    .from = hy_matrix_row(matrix, first),
	                    .from_stride = matrix->stride,
	                    .to = to,
	                    .to_stride = row_bytes,
	                    .bytes = row_bytes,
	                    .rows = count};
}

void
hy_cuda_stage_rows(const HyDevice *device, const HyMatrix *matrix, int64_t first, int64_t count,
                   char *to)
{
	HyCudaCopy copy = hy_cuda_rows_copy(matrix, first, count, to);

	hy_cuda_copy(device->host, device->task.task.op, &copy, 1);
}
