/*
 * plugin.c
 *		The vtable of the backend 'cuda' and the one symbol this library exports.
 *
 * The entry touches no device and loads no driver: a server without a GPU pays for a dlopen.
 */
#include "cuda/device.h"

#include <stddef.h>

#include "cuda/pipeline.h"

static HyHost host;

static HyStatus
open_device(int32_t number, const HyLimits *limits, HyDevice **opened)
{
	return hy_cuda_open(&host, number, limits, opened);
}

static const HyBackend backend = {
	.abi = HY_BACKEND_ABI,
	.size = sizeof(HyBackend),
	.name = "cuda",
	.device_count = hy_cuda_device_count,
	.probe = hy_cuda_probe,
	.open = open_device,
	.close = hy_cuda_close,
	.caps = hy_cuda_caps,
	.estimate = hy_cuda_estimate,
	.mem_info = hy_cuda_mem_info,
	.buf_alloc = hy_cuda_buf_alloc,
	.buf_free = hy_cuda_buf_free,
	.upload = hy_cuda_upload,
	.download = hy_cuda_download,
	.submit = hy_cuda_submit,
	.poll = hy_cuda_poll,
	.cancel = hy_cuda_cancel,
	.last_error = hy_cuda_last_error,
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
