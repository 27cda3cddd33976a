/*
 * memory.c
 *		The device's memory and the pinned memory that feeds it, within the budget.
 *
 * The scratch is allocated once, at open: a task then allocates nothing, so it cannot fail half
 * way for want of memory, and what is pinned is bounded.  Buffers are zeroed when allocated: what
 * another role left there is gone before anybody can read it.
 */
#include "cuda/device.h"

#include <string.h>
#include <unistd.h>

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
}

/* A limit that somebody set is a quota; a share of what was free is just too little memory. */
HyStatus
hy_cuda_over_budget(HyDevice *device, uint64_t bytes)
{
	return hy_cuda_refuse(
		device, device->limited ? HY_QUOTA : HY_NOMEM,
		"%llu bytes of device memory asked for, %llu of %llu left", (unsigned long long) bytes,
		(unsigned long long) (device->budget - device->used), (unsigned long long) device->budget);
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
	cudaError_t error;

	*buffer = NULL;
	status = hy_cuda_enter(device);
	if (status != HY_OK)
		return status;
	if (bytes == 0)
		return hy_cuda_refuse(device, HY_INVALID, "a device buffer of no bytes was asked for");
	if (bytes > device->budget - device->used)
		return hy_cuda_over_budget(device, bytes);
	made = hy_alloc_zero(device->host->allocator, sizeof(*made));
	if (made == NULL)
		return hy_cuda_refuse(device, HY_NOMEM, "out of host memory");
	error = cudaMalloc((void **) &made->pointer, bytes);
	if (error != cudaSuccess)
	{
		hy_free(device->host->allocator, made);
		return hy_cuda_fail(device, error, "allocating a buffer");
	}
	error = cudaMemsetAsync(made->pointer, 0, bytes, device->slots[0].stream);
	if (error == cudaSuccess)
		error = cudaStreamSynchronize(device->slots[0].stream);
	if (error != cudaSuccess)
	{
		(void) cudaFree(made->pointer);
		hy_free(device->host->allocator, made);
		return hy_cuda_fail(device, error, "clearing a buffer");
	}
	made->device = device;
	made->bytes = bytes;
	made->next = device->buffers;
	if (made->next != NULL)
		made->next->previous = made;
	device->buffers = made;
	device->used += bytes;
	*buffer = made;
	return HY_OK;
}

void
hy_cuda_buf_free(HyDevice *device, HyBuffer *buffer)
{
	if (buffer == NULL)
		return;
	if (device->pid == getpid())
	{
		(void) cudaSetDevice(device->number);
		(void) cudaFree(buffer->pointer); /* waits for whoever still reads it */
	}
	if (buffer->previous != NULL)
		buffer->previous->next = buffer->next;
	else
		device->buffers = buffer->next;
	if (buffer->next != NULL)
		buffer->next->previous = buffer->previous;
	device->used -= buffer->bytes;
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
		error = cudaStreamSynchronize(stream);
	if (error != cudaSuccess)
		return hy_cuda_fail(device, error, "copying");
	return HY_OK;
}
