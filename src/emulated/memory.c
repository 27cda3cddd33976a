/*
 * memory.c
 *		Manages the memory of an emulated device: the bytes in use, and the buffers of a context.
 */
#include "emulated/device.h"

#include <string.h>

static HyStatus reach(HyDevice *device, const HyBuffer *buffer, uint64_t offset, uint64_t bytes);

HyStatus
emulated_mem_info(HyDevice *device, uint64_t *free_bytes, uint64_t *total_bytes)
{
	EmulatedSettings settings;

	emulated_settings(emulated_host, &settings);
	*total_bytes = settings.memory;
	*free_bytes = settings.memory > device->used ? settings.memory - device->used : 0;
	return HY_OK;
}

HyStatus
emulated_reserve(HyDevice *device, uint64_t bytes)
{
	EmulatedSettings settings;

	emulated_settings(emulated_host, &settings);
	if (device->limit > 0 && (device->used > device->limit || bytes > device->limit - device->used))
		return emulated_fail(&device->failure, HY_QUOTA, NATIVE_LIMIT,
		                     "the limit of the context is reached");
	if (device->used > settings.memory || bytes > settings.memory - device->used)
		return emulated_fail(&device->failure, HY_NOMEM, NATIVE_MEMORY, "out of device memory");
	device->used += bytes;
	return HY_OK;
}

HyStatus
emulated_buf_alloc(HyDevice *device, uint64_t bytes, HyBuffer **buffer)
{
	const HyAllocator *allocator = emulated_host->allocator;
	HyStatus st = emulated_check_not_idle(device);
	HyBuffer *new;

	*buffer = NULL;
	if (st == HY_OK)
		st = emulated_lost(device, device->number, &device->failure);
	if (st == HY_OK)
		st = emulated_reserve(device, bytes);
	if (st != HY_OK)
		return st;
	new = hy_alloc_zero(allocator, sizeof(HyBuffer));
	if (new != NULL)
		new->data = hy_alloc_zero(allocator, bytes);
	if (new == NULL || (bytes > 0 && new->data == NULL))
	{
		hy_free(allocator, new);
		device->used -= bytes;
		return emulated_fail(&device->failure, HY_NOMEM, NATIVE_MEMORY, "out of host memory");
	}
	new->device = device;
	new->bytes = bytes;
	new->next = device->buffers;
	if (new->next != NULL)
		new->next->previous = new;
	device->buffers = new;
	*buffer = new;
	return HY_OK;
}

void
emulated_buf_free(HyDevice *device, HyBuffer *buffer)
{
	if (buffer == NULL)
		return;
	if (buffer->previous != NULL)
		buffer->previous->next = buffer->next;
	else
		device->buffers = buffer->next;
	if (buffer->next != NULL)
		buffer->next->previous = buffer->previous;
	device->used -= buffer->bytes;
	/* clear the memory, as a real backend must, because another context may get it next */
	if (buffer->data != NULL)
		memset(buffer->data, 0, buffer->bytes);
	hy_free(emulated_host->allocator, buffer->data);
	hy_free(emulated_host->allocator, buffer);
}

void
emulated_free_data(HyDevice *device)
{
	HyBuffer *buffer;

	for (buffer = device->buffers; buffer != NULL; buffer = buffer->next)
	{
		if (buffer->data != NULL)
			memset(buffer->data, 0, buffer->bytes);
		hy_free(emulated_host->allocator, buffer->data);
		buffer->data = NULL;
	}
}

HyStatus
emulated_upload(HyDevice *device, HyBuffer *buffer, uint64_t offset, const void *data,
                uint64_t bytes)
{
	HyStatus st = reach(device, buffer, offset, bytes);
	EmulatedSettings settings;
	FaultVerdict fault;

	if (st == HY_OK)
		st = emulated_look_up_fault(device, device->number, FAULT_UPLOAD, HY_OP_DISTANCE, bytes,
		                            &fault, &device->failure);
	if (st != HY_OK)
		return st;
	if (fault.kind != FAULT_NONE)
		return emulated_apply_fault(device, device->number, &fault, &device->failure);
	emulated_settings(emulated_host, &settings);
	if (bytes > 0)
		memcpy(buffer->data + offset, data, bytes);
	emulated_pass_time((uint64_t) emulated_copy_ns(&settings, bytes), settings.wait);
	return HY_OK;
}

HyStatus
emulated_download(HyDevice *device, const HyBuffer *buffer, uint64_t offset, void *data,
                  uint64_t bytes)
{
	HyStatus st = reach(device, buffer, offset, bytes);

	if (st == HY_OK && bytes > 0)
		memcpy(data, buffer->data + offset, bytes);
	return st;
}

/*
 * reach: return HY_OK if the context is usable and these bytes lie within the buffer, else the
 * error.
 */
static HyStatus
reach(HyDevice *device, const HyBuffer *buffer, uint64_t offset, uint64_t bytes)
{
	HyStatus st = emulated_check_not_idle(device);

	if (st == HY_OK)
		st = emulated_lost(device, device->number, &device->failure);
	if (st == HY_OK && (offset > buffer->bytes || bytes > buffer->bytes - offset))
		st = emulated_fail(&device->failure, HY_INVALID, NATIVE_ARGUMENT, "outside of the buffer");
	return st;
}

HyStatus
emulated_on_host(const HyDevice *device, const HyMatrix *matrix, HyMatrix *host_matrix)
{
	size_t row = (size_t) matrix->dims * hy_dtype_size(matrix->dtype);
	uint64_t room;

	*host_matrix = *matrix;
	if (matrix->buffer == NULL || matrix->rows == 0)
		return HY_OK;
	if (matrix->buffer->device != device || matrix->offset > matrix->buffer->bytes)
		return HY_INVALID;
	room = matrix->buffer->bytes - matrix->offset;
	if (row > room || (uint64_t) (matrix->rows - 1) > (room - row) / matrix->stride)
		return HY_INVALID;
	host_matrix->data = matrix->buffer->data + matrix->offset;
	host_matrix->buffer = NULL;
	host_matrix->offset = 0;
	return HY_OK;
}
