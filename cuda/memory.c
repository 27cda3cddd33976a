/*
 * memory.c
 *		Device memory, and the pinned host memory for transfers, within the device's budget.
 *
 * The scratch memory is allocated once, when the device is opened.  Later, a task takes memory only
 * when it starts.  So a task cannot run out of memory halfway, and the amount of pinned memory is
 * bounded.  The memory of tasks and buffers comes from the pool (pool.h).
 *
 * A new block from CUDA is zeroed, because its previous user is unknown.  A block that is returned
 * is zeroed before another user can get it.  The scratch and the pinned memory are zeroed before
 * they return to the driver.
 */
#include "cuda/device.h"

#include <string.h>
#include <unistd.h>

/*
 * Number of times that wait_for queries a stream before the process sleeps.  These queries take
 * about 0.1 ms.
 */
#define SPINS 256

static HyStatus make_block(HyDevice *device, uint64_t bytes, HyCudaBlock **made);
static void let_go(HyDevice *device, HyCudaBlock *block);
static void clean_again(HyDevice *device);
static void wait_for_pieces(HyDevice *device);
static cudaError_t clear(const HyDevice *device, void *memory, uint64_t bytes);
static cudaError_t wait_for(cudaStream_t stream);
static void wipe_scratch(HyDevice *device);
static HyStatus open_slot(HyDevice *device, HyCudaSlot *slot);
static void close_slot(HyCudaSlot *slot);
static HyStatus
check_range(HyDevice *device, const HyBuffer *buffer, uint64_t offset, uint64_t bytes);
static HyStatus
copy(HyDevice *device, void *to, const void *from, uint64_t bytes, enum cudaMemcpyKind kind);

HyStatus
hy_cuda_scratch_open(HyDevice *device)
{
	uint64_t bytes;
	HyStatus status;
	cudaError_t error;
	int i;

	if (!hy_cuda_scratch_plan(device->budget, &device->scratch))
		return hy_cuda_over_budget(device, hy_cuda_scratch_bytes(&device->scratch));
	bytes = hy_cuda_scratch_bytes(&device->scratch);
	for (i = 0; i < HY_CUDA_SLOTS; i++)
	{
		status = open_slot(device, &device->slots[i]);
		if (status != HY_OK)
			return status;
	}
	error = cudaEventCreateWithFlags(&device->queries_ready, cudaEventDisableTiming);
	if (error == cudaSuccess)
		error = cudaHostAlloc((void **) &device->pinned_queries, device->scratch.queries,
		                      cudaHostAllocDefault);
	if (error == cudaSuccess)
		error = cudaMalloc((void **) &device->device_queries, device->scratch.queries);
	if (error == cudaSuccess)
		error = cudaMalloc((void **) &device->device_norms, HY_CUDA_MAX_QUERIES * sizeof(float));
	if (error == cudaSuccess)
		error = cudaMalloc((void **) &device->device_best, device->scratch.best);
	if (error != cudaSuccess)
		return hy_cuda_fail(device, error, "allocating working memory");
	device->used = bytes;
	return HY_OK;
}

void
hy_cuda_scratch_close(HyDevice *device)
{
	int i;

	wipe_scratch(device);
	for (i = 0; i < HY_CUDA_SLOTS; i++)
		close_slot(&device->slots[i]);
	if (device->queries_ready != NULL)
		(void) cudaEventDestroy(device->queries_ready);
	if (device->pinned_queries != NULL)
		(void) cudaFreeHost(device->pinned_queries);
	if (device->device_queries != NULL)
		(void) cudaFree(device->device_queries);
	if (device->device_best != NULL)
		(void) cudaFree(device->device_best);
	if (device->device_norms != NULL)
		(void) cudaFree(device->device_norms);
	/* prevents the freed pointers from being used or freed again */
	memset(device->slots, 0, sizeof(device->slots));
	device->queries_ready = NULL;
	device->pinned_queries = device->device_queries = device->device_norms = NULL;
	device->device_best = NULL;
}

HyStatus
hy_cuda_over_budget(HyDevice *device, uint64_t bytes)
{
	return hy_cuda_refuse(
		device, device->limited ? HY_QUOTA : HY_NOMEM,
		"%llu bytes of device memory asked for, %llu of %llu left", (unsigned long long) bytes,
		(unsigned long long) (device->budget - device->used), (unsigned long long) device->budget);
}

HyStatus
hy_cuda_take(HyDevice *device, uint64_t bytes, HyCudaBlock **block)
{
	HyCudaPool *pool = &device->pool;

	clean_again(device);
	*block = hy_cuda_pool_take(pool, bytes);
	if (*block == NULL)
	{
		HyStatus status;

		if (bytes > device->budget - device->used)
			return hy_cuda_over_budget(device, bytes);
		status = make_block(device, bytes, block);
		if (status != HY_OK)
			return status;
	}
	device->used += (*block)->bytes;
	return HY_OK;
}

void
hy_cuda_give(HyDevice *device, HyCudaBlock *block)
{
	bool clean = false;

	device->used -= block->bytes;
	if (device->pid == getpid() && block->memory != NULL)
	{
		(void) cudaSetDevice(device->number);
		wait_for_pieces(device);
		clean = clear(device, block->memory, block->payload) == cudaSuccess;
		(void) cudaGetLastError();
	}
	hy_cuda_pool_give(&device->pool, block, clean);
}

void
hy_cuda_trim(HyDevice *device)
{
	HyCudaBlock *block;

	while (hy_cuda_pool_wasteful(&device->pool) &&
	       (block = hy_cuda_pool_oldest(&device->pool)) != NULL)
		let_go(device, block);
}

void
hy_cuda_blocks_release(HyDevice *device)
{
	HyCudaBlock *block;

	for (block = device->pool.blocks; block != NULL; block = block->next)
	{
		if (block->memory == NULL)
			continue;
		if (block->payload != 0 || block->unclean)
			(void) clear(device, block->memory, block->bytes);
		(void) cudaFree(block->memory);
		block->memory = NULL;
	}
}

void
hy_cuda_blocks_forget(HyDevice *device)
{
	HyCudaBlock *block;

	while ((block = device->pool.blocks) != NULL)
	{
		hy_cuda_pool_remove(&device->pool, block);
		hy_free(device->host->allocator, block);
	}
}

HyStatus
hy_cuda_mem_info(HyDevice *device, uint64_t *free_bytes, uint64_t *total_bytes)
{
	size_t device_free;
	size_t device_total;
	cudaError_t error;
	HyStatus status = hy_cuda_enter(device);

	if (status != HY_OK)
		return status;
	error = cudaMemGetInfo(&device_free, &device_total);
	if (error != cudaSuccess)
		return hy_cuda_fail(device, error, "asking for free memory");
	*free_bytes = device->budget - device->used;
	/* the next request can use the free blocks of the pool */
	device_free += device->pool.held - device->pool.taken;
	if (*free_bytes > device_free)
		*free_bytes = device_free;
	*total_bytes = device_total;
	return HY_OK;
}

HyStatus
hy_cuda_buf_alloc(HyDevice *device, uint64_t bytes, HyBuffer **buffer)
{
	HyBuffer *made;
	HyStatus status;

	*buffer = NULL;
	status = hy_cuda_enter(device);
	if (status != HY_OK)
		return status;
	if (bytes == 0)
		return hy_cuda_refuse(device, HY_INVALID, "a device buffer of no bytes was asked for");
	made = hy_alloc_zero(device->host->allocator, sizeof(*made));
	if (made == NULL)
		return hy_cuda_refuse(device, HY_NOMEM, "out of host memory");
	status = hy_cuda_take(device, bytes, &made->block);
	if (status != HY_OK)
	{
		hy_free(device->host->allocator, made);
		return status;
	}
	hy_cuda_trim(device);
	made->pointer = made->block->memory;
	made->device = device;
	made->bytes = bytes;
	made->next = device->buffers;
	if (made->next != NULL)
		made->next->previous = made;
	device->buffers = made;
	*buffer = made;
	return HY_OK;
}

void
hy_cuda_buf_free(HyDevice *device, HyBuffer *buffer)
{
	if (buffer == NULL)
		return;
	hy_cuda_give(device, buffer->block);
	if (buffer->previous != NULL)
		buffer->previous->next = buffer->next;
	else
		device->buffers = buffer->next;
	if (buffer->next != NULL)
		buffer->next->previous = buffer->previous;
	hy_free(device->host->allocator, buffer);
}

HyStatus
hy_cuda_upload(HyDevice *device, HyBuffer *buffer, uint64_t offset, const void *data,
               uint64_t bytes)
{
	HyStatus status = check_range(device, buffer, offset, bytes);

	if (status != HY_OK)
		return status;
	return copy(device, buffer->pointer + offset, data, bytes, cudaMemcpyHostToDevice);
}

HyStatus
hy_cuda_download(HyDevice *device, const HyBuffer *buffer, uint64_t offset, void *data,
                 uint64_t bytes)
{
	HyStatus status = check_range(device, buffer, offset, bytes);

	if (status != HY_OK)
		return status;
	return copy(device, data, buffer->pointer + offset, bytes, cudaMemcpyDeviceToHost);
}

/*
 * make_block: allocate a zeroed block from CUDA.  If the budget has no room, first release free
 * blocks, the oldest first, until the block fits.  If CUDA then reports that there is no memory,
 * release all free blocks and try once more.
 */
static HyStatus
make_block(HyDevice *device, uint64_t bytes, HyCudaBlock **made)
{
	HyCudaPool *pool = &device->pool;
	HyCudaBlock *block;
	HyCudaBlock *spare;
	cudaError_t error;

	/* `used` counts the scratch and the blocks in use; free blocks also count against the budget */
	while (bytes > device->budget - device->used - (pool->held - pool->taken))
	{
		spare = hy_cuda_pool_oldest(pool);
		if (spare == NULL)
			return hy_cuda_over_budget(device, bytes);
		let_go(device, spare);
	}
	block = hy_alloc_zero(device->host->allocator, sizeof(*block));
	if (block == NULL)
		return hy_cuda_refuse(device, HY_NOMEM, "out of host memory");
	error = cudaMalloc((void **) &block->memory, bytes);
	if (error == cudaErrorMemoryAllocation && hy_cuda_pool_oldest(pool) != NULL)
	{
		(void) cudaGetLastError();
		while ((spare = hy_cuda_pool_oldest(pool)) != NULL)
			let_go(device, spare);
		error = cudaMalloc((void **) &block->memory, bytes);
	}
	if (error != cudaSuccess)
	{
		hy_free(device->host->allocator, block);
		return hy_cuda_fail(device, error, "allocating memory");
	}
	error = clear(device, block->memory, bytes);
	if (error != cudaSuccess)
	{
		(void) cudaFree(block->memory);
		hy_free(device->host->allocator, block);
		return hy_cuda_fail(device, error, "clearing memory");
	}
	block->bytes = bytes;
	hy_cuda_pool_add(pool, block);
	*made = block;
	return HY_OK;
}

/* let_go: return a free block of the pool to CUDA. */
static void
let_go(HyDevice *device, HyCudaBlock *block)
{
	hy_cuda_pool_remove(&device->pool, block);
	(void) cudaFree(block->memory);
	(void) cudaGetLastError();
	hy_free(device->host->allocator, block);
}

/* clean_again: try again to zero blocks that could not be zeroed when they were returned. */
static void
clean_again(HyDevice *device)
{
	HyCudaBlock *block;

	for (block = device->pool.blocks; block != NULL; block = block->next)
	{
		if (block->unclean && clear(device, block->memory, block->bytes) == cudaSuccess)
			block->unclean = false;
	}
}

/*
 * wait_for_pieces: wait for the pieces in flight, because they may still read the memory that the
 * caller will zero.
 */
static void
wait_for_pieces(HyDevice *device)
{
	int i;

	for (i = 0; i < HY_CUDA_SLOTS; i++)
	{
		if (device->slots[i].busy)
			(void) cudaStreamSynchronize(device->slots[i].stream);
	}
}

/*
 * clear: zero device memory and wait until that is done.  If the first attempt fails, try once
 * more.
 */
static cudaError_t
clear(const HyDevice *device, void *memory, uint64_t bytes)
{
	cudaStream_t stream = device->slots[0].stream;
	cudaError_t error = cudaErrorUnknown;
	int i;

	for (i = 0; i < 2 && error != cudaSuccess; i++)
	{
		error = cudaMemsetAsync(memory, 0, bytes, stream);
		if (error == cudaSuccess)
			error = wait_for(stream);
	}
	return error;
}

/*
 * wait_for: wait for a stream.  Polls first, because being woken from a blocking wait (see
 * open_context) takes longer than a small task or copy.
 */
static cudaError_t
wait_for(cudaStream_t stream)
{
	cudaError_t error = cudaErrorNotReady;
	int i;

	for (i = 0; i < SPINS && error == cudaErrorNotReady; i++)
		error = cudaStreamQuery(stream);
	if (i > 1)
		(void) cudaGetLastError(); /* clears cudaErrorNotReady, which is not a failure */
	if (error != cudaSuccess && error != cudaErrorNotReady)
		return error;
	return cudaStreamSynchronize(stream);
}

/*
 * wipe_scratch: zero the scratch memory, on the device and in pinned memory.  This memory still has
 * queries, rows and results of the last tasks.
 */
static void
wipe_scratch(HyDevice *device)
{
	const HyCudaScratch *scratch = &device->scratch;
	int i;

	for (i = 0; i < HY_CUDA_SLOTS; i++)
	{
		HyCudaSlot *slot = &device->slots[i];

		if (slot->device_up != NULL)
			(void) clear(device, slot->device_up, scratch->up);
		if (slot->device_down != NULL)
			(void) clear(device, slot->device_down, scratch->down);
		if (slot->pinned_up != NULL)
			memset(slot->pinned_up, 0, scratch->up);
		if (slot->pinned_down != NULL)
			memset(slot->pinned_down, 0, scratch->down);
	}
	if (device->device_queries != NULL)
		(void) clear(device, device->device_queries, scratch->queries);
	if (device->device_norms != NULL)
		(void) clear(device, device->device_norms, HY_CUDA_MAX_QUERIES * sizeof(float));
	if (device->device_best != NULL)
		(void) clear(device, device->device_best, scratch->best);
	if (device->pinned_queries != NULL)
		memset(device->pinned_queries, 0, scratch->queries);
}

static HyStatus
open_slot(HyDevice *device, HyCudaSlot *slot)
{
	const HyCudaScratch *scratch = &device->scratch;
	cudaError_t error;

	error = cudaStreamCreateWithFlags(&slot->stream, cudaStreamNonBlocking);
	if (error == cudaSuccess)
		error = cudaEventCreateWithFlags(&slot->kernel_start, cudaEventDefault);
	if (error == cudaSuccess)
		error = cudaEventCreateWithFlags(&slot->kernel_end, cudaEventDefault);
	if (error == cudaSuccess)
		error = cudaEventCreateWithFlags(&slot->done, cudaEventDisableTiming);
	if (error == cudaSuccess)
		error = cudaHostAlloc((void **) &slot->pinned_up, scratch->up, cudaHostAllocDefault);
	if (error == cudaSuccess)
		error = cudaHostAlloc(&slot->pinned_down, scratch->down, cudaHostAllocDefault);
	if (error == cudaSuccess)
		error = cudaMalloc((void **) &slot->device_up, scratch->up);
	if (error == cudaSuccess)
		error = cudaMalloc(&slot->device_down, scratch->down);
	if (error != cudaSuccess)
		return hy_cuda_fail(device, error, "allocating working memory");
	return HY_OK;
}

static void
close_slot(HyCudaSlot *slot)
{
	if (slot->device_down != NULL)
		(void) cudaFree(slot->device_down);
	if (slot->device_up != NULL)
		(void) cudaFree(slot->device_up);
	if (slot->pinned_down != NULL)
		(void) cudaFreeHost(slot->pinned_down);
	if (slot->pinned_up != NULL)
		(void) cudaFreeHost(slot->pinned_up);
	if (slot->done != NULL)
		(void) cudaEventDestroy(slot->done);
	if (slot->kernel_end != NULL)
		(void) cudaEventDestroy(slot->kernel_end);
	if (slot->kernel_start != NULL)
		(void) cudaEventDestroy(slot->kernel_start);
	if (slot->stream != NULL)
		(void) cudaStreamDestroy(slot->stream);
}

static HyStatus
check_range(HyDevice *device, const HyBuffer *buffer, uint64_t offset, uint64_t bytes)
{
	if (buffer->device != device)
		return hy_cuda_refuse(device, HY_INVALID, "the buffer belongs to another device");
	if (offset > buffer->bytes || bytes > buffer->bytes - offset)
		return hy_cuda_refuse(device, HY_INVALID,
		                      "%llu bytes at %llu do not lie in a buffer of %llu",
		                      (unsigned long long) bytes, (unsigned long long) offset,
		                      (unsigned long long) buffer->bytes);
	return HY_OK;
}

static HyStatus
copy(HyDevice *device, void *to, const void *from, uint64_t bytes, enum cudaMemcpyKind kind)
{
	cudaStream_t stream = device->slots[0].stream;
	cudaError_t error;
	HyStatus status = hy_cuda_enter(device);

	if (status != HY_OK)
		return status;
	if (bytes == 0)
		return HY_OK;
	error = cudaMemcpyAsync(to, from, bytes, kind, stream);
	if (error == cudaSuccess)
		error = wait_for(stream);
	if (error != cudaSuccess)
		return hy_cuda_fail(device, error, "copying");
	return HY_OK;
}
