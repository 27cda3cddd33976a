/*
 * plugin.c
 *		The table of functions of the backend 'cuda', and the only symbol that this library exports.
 *
 * hy_plugin_entry touches no device and loads no driver, so a server without a GPU pays only for a
 * dlopen.  All other calls also enter the plug-in here, and take the lock (idle.h).  Three calls
 * are exceptions: caps and estimate change nothing, and idle reads one word.  A new buffer, a copy,
 * a submit and a poll count as uses of the device, and record the time (used).
 */
#include "cuda/device.h"

#include <stddef.h>
#include <string.h>

#include "cuda/pipeline.h"

static HyHost host;

/*
 * used: record the time of a use of the device, which postpones its closing, and release the lock.
 * Returns `status`.
 */
static HyStatus
used(HyCudaHold hold, HyDevice *device, HyStatus status)
{
	if (hold == HY_CUDA_HELD)
		hy_cuda_timer_used(device);
	hy_cuda_let_go(hold);
	return status;
}

static HyStatus
device_count(int32_t *count)
{
	HyCudaHold hold = hy_cuda_hold();
	HyStatus status = HY_BUSY;

	*count = 0;
	if (hold != HY_CUDA_INSIDE)
		status = hy_cuda_device_count(count);
	hy_cuda_let_go(hold);
	return status;
}

static HyStatus
probe(int32_t number, HyDeviceInfo *info)
{
	HyCudaHold hold = hy_cuda_hold();
	HyStatus status = HY_BUSY;

	if (hold != HY_CUDA_INSIDE)
		status = hy_cuda_probe(number, info);
	hy_cuda_let_go(hold);
	return status;
}

static HyStatus
open_device(int32_t number, const HyLimits *limits, HyDevice **opened)
{
	HyCudaHold hold = hy_cuda_hold();
	HyStatus status = HY_BUSY;

	*opened = NULL;
	if (hold != HY_CUDA_INSIDE)
		status = hy_cuda_open(&host, number, limits, opened);
	hy_cuda_let_go(hold);
	return status;
}

/*
 * close_device: close the device.  If the caller is a signal handler that interrupted another call
 * of the plug-in, leave the device open: the process is about to end.
 */
static void
close_device(HyDevice *device)
{
	HyCudaHold hold = hy_cuda_hold();

	if (hold != HY_CUDA_INSIDE)
		hy_cuda_close(device);
	hy_cuda_let_go(hold);
}

/* mem_info: query the free memory.  This does not count as a use of the device. */
static HyStatus
mem_info(HyDevice *device, uint64_t *free_bytes, uint64_t *total_bytes)
{
	HyCudaHold hold = hy_cuda_hold();
	HyStatus status = HY_BUSY;

	if (hold != HY_CUDA_INSIDE)
		status = hy_cuda_mem_info(device, free_bytes, total_bytes);
	hy_cuda_let_go(hold);
	return status;
}

static HyStatus
buf_alloc(HyDevice *device, uint64_t bytes, HyBuffer **buffer)
{
	HyCudaHold hold = hy_cuda_hold();

	*buffer = NULL;
	if (hold == HY_CUDA_INSIDE)
		return HY_BUSY;
	return used(hold, device, hy_cuda_buf_alloc(device, bytes, buffer));
}

static void
buf_free(HyDevice *device, HyBuffer *buffer)
{
	HyCudaHold hold = hy_cuda_hold();

	if (hold != HY_CUDA_INSIDE)
		hy_cuda_buf_free(device, buffer);
	hy_cuda_let_go(hold);
}

static HyStatus
upload(HyDevice *device, HyBuffer *buffer, uint64_t offset, const void *data, uint64_t bytes)
{
	HyCudaHold hold = hy_cuda_hold();

	if (hold == HY_CUDA_INSIDE)
		return HY_BUSY;
	return used(hold, device, hy_cuda_upload(device, buffer, offset, data, bytes));
}

static HyStatus
download(HyDevice *device, const HyBuffer *buffer, uint64_t offset, void *data, uint64_t bytes)
{
	HyCudaHold hold = hy_cuda_hold();

	if (hold == HY_CUDA_INSIDE)
		return HY_BUSY;
	return used(hold, device, hy_cuda_download(device, buffer, offset, data, bytes));
}

static HyStatus
submit(HyDevice *device, const HyTask *task, HyTicket *ticket)
{
	HyCudaHold hold = hy_cuda_hold();

	*ticket = 0;
	if (hold == HY_CUDA_INSIDE)
		return HY_BUSY;
	return used(hold, device, hy_cuda_submit(device, task, ticket));
}

static HyStatus
poll(HyDevice *device, HyTicket ticket, bool *done, HyTimings *timings)
{
	HyCudaHold hold = hy_cuda_hold();

	*done = false;
	if (hold == HY_CUDA_INSIDE)
	{
		if (timings != NULL)
			memset(timings, 0, sizeof(*timings));
		return HY_OK;
	}
	return used(hold, device, hy_cuda_poll(device, ticket, done, timings));
}

static void
cancel(HyDevice *device, HyTicket ticket)
{
	HyCudaHold hold = hy_cuda_hold();

	if (hold != HY_CUDA_INSIDE)
		hy_cuda_cancel(device, ticket);
	hy_cuda_let_go(hold);
}

static void
last_error(const HyDevice *device, HyFailure *failure)
{
	HyCudaHold hold = hy_cuda_hold();

	hy_cuda_last_error(device, failure);
	hy_cuda_let_go(hold);
}

static const HyBackend backend = {
	.abi = HY_BACKEND_ABI,
	.size = sizeof(HyBackend),
	.name = "cuda",
	.device_count = device_count,
	.probe = probe,
	.open = open_device,
	.close = close_device,
	.idle = hy_cuda_closed_idle,
	.caps = hy_cuda_caps,
	.estimate = hy_cuda_estimate,
	.mem_info = mem_info,
	.buf_alloc = buf_alloc,
	.buf_free = buf_free,
	.upload = upload,
	.download = download,
	.submit = submit,
	.poll = poll,
	.cancel = cancel,
	.last_error = last_error,
};

extern const HyBackend *hy_plugin_entry(const HyHost *caller);

__attribute__((visibility("default"))) const HyBackend *
hy_plugin_entry(const HyHost *caller)
{
	if (caller == NULL || caller->abi != HY_BACKEND_ABI || caller->clock == NULL ||
	    caller->allocator == NULL)
		return NULL;
	host = *caller;
	return &backend;
}
