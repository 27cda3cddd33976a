/*
 * emulated.c
 *		The plug-in hybrid_emulated.so: a backend for devices that do not exist.
 *
 * This file has the entry symbol and the HyBackend: devices, their capabilities, and contexts on
 * the devices. Every device is reported with virtual_time set.
 */
#include "emulated/device.h"

#include <stdio.h>
#include <string.h>

static HyStatus emulated_device_count(int32_t *count);
static HyStatus emulated_probe(int32_t number, HyDeviceInfo *info);
static HyStatus emulated_open(int32_t number, const HyLimits *limits, HyDevice **opened);
static void emulated_close(HyDevice *device);
static HyEstimate emulated_estimate(const HyDevice *device, const HyShape *shape);
static void emulated_last_error(const HyDevice *device, HyFailure *failure);

const HyHost *emulated_host;
static HyFailure open_failure;

static HyBackend backend = {.abi = HY_BACKEND_ABI,
                            .size = sizeof(HyBackend),
                            .name = "emulated",
                            .device_count = emulated_device_count,
                            .probe = emulated_probe,
                            .open = emulated_open,
                            .close = emulated_close,
                            .idle = emulated_idle,
                            .caps = emulated_caps,
                            .estimate = emulated_estimate,
                            .mem_info = emulated_mem_info,
                            .buf_alloc = emulated_buf_alloc,
                            .buf_free = emulated_buf_free,
                            .upload = emulated_upload,
                            .download = emulated_download,
                            .submit = emulated_submit,
                            .poll = emulated_poll,
                            .cancel = emulated_cancel,
                            .last_error = emulated_last_error};

/* the entry symbol, which is the only exported symbol */
extern __attribute__((visibility("default"))) const HyBackend *hy_plugin_entry(const HyHost *of);

const HyBackend *
hy_plugin_entry(const HyHost *of)
{
	if (of->abi != HY_BACKEND_ABI)
		return NULL;
	emulated_host = of;
	backend.abi = emulated_wrong_abi(of) ? HY_BACKEND_ABI + 1 : HY_BACKEND_ABI;
	emulated_loss_reset();
	emulated_engine_reset();
	return &backend;
}

static HyStatus
emulated_device_count(int32_t *count)
{
	EmulatedSettings settings;

	emulated_settings(emulated_host, &settings);
	*count = settings.devices < EMULATED_DEVICES ? settings.devices : EMULATED_DEVICES;
	return HY_OK;
}

static HyStatus
emulated_probe(int32_t number, HyDeviceInfo *info)
{
	EmulatedSettings settings;

	emulated_settings(emulated_host, &settings);
	if (number < 0 || number >= settings.devices || number >= EMULATED_DEVICES)
		return HY_INVALID;
	memset(info, 0, sizeof(*info));
	snprintf(info->name, sizeof(info->name), "emulated device %d", (int) number);
	snprintf(info->architecture, sizeof(info->architecture), "virtual");
	info->cores = EMULATED_CORES;
	info->memory_total = settings.memory;
	info->memory_free = settings.memory;
	info->open_cost_ns = settings.open_ns;
	info->virtual_time = true;
	return HY_OK;
}

static HyStatus
emulated_open(int32_t number, const HyLimits *limits, HyDevice **opened)
{
	EmulatedSettings settings;
	FaultVerdict fault;
	HyDevice *device;
	HyStatus st;

	*opened = NULL;
	memset(&open_failure, 0, sizeof(open_failure));
	emulated_settings(emulated_host, &settings);
	if (number < 0 || number >= settings.devices || number >= EMULATED_DEVICES)
		return emulated_fail(&open_failure, HY_INVALID, NATIVE_ARGUMENT, "there is no such device");
	st = emulated_look_up_fault(NULL, number, FAULT_OPEN, HY_OP_DISTANCE, 0, &fault, &open_failure);
	if (st != HY_OK)
		return st;
	if (fault.kind != FAULT_NONE)
		return emulated_apply_fault(NULL, number, &fault, &open_failure);
	device = hy_alloc_zero(emulated_host->allocator, sizeof(HyDevice));
	if (device == NULL)
		return emulated_fail(&open_failure, HY_NOMEM, NATIVE_MEMORY, "out of host memory");
	device->number = number;
	device->limit = limits->memory;
	device->place = limits->place;
	device->place_value = limits->place != NULL ? *limits->place : 0;
	emulated_pass_time(settings.open_ns, settings.wait);
	*opened = device;
	return HY_OK;
}

static void
emulated_close(HyDevice *device)
{
	while (device->buffers != NULL)
		emulated_buf_free(device, device->buffers);
	hy_free(emulated_host->allocator, device);
}

HyCaps
emulated_caps(const HyDevice *device, const HyShape *shape)
{
	HyCaps caps = {.ok = true,
	               .max_targets = INT64_MAX,
	               .max_k = EMULATED_MAX_K,
	               .numeric_class = HY_CLASS_EXACT};

	(void) device;
	if (shape->op == HY_OP_ASSIGN && (shape->dtype != HY_F32 || shape->metric != HY_METRIC_L2))
		caps = (HyCaps){.reason = "rows are assigned in float32, by Euclidean distance"};
	if (shape->op == HY_OP_SCORE_CODES && (shape->dtype != HY_F32 || shape->metric != HY_METRIC_L2))
		caps = (HyCaps){.reason = "codes are scored in float32, alike for all metrics"};
	return caps;
}

static HyEstimate
emulated_estimate(const HyDevice *device, const HyShape *shape)
{
	HyEstimate estimate = {0};
	EmulatedSettings settings;
	EmulatedLoad load;

	(void) device;
	emulated_settings(emulated_host, &settings);
	emulated_load(shape, &load);
	estimate.device_bytes = load.device_bytes;
	estimate.bytes_up = load.bytes_up;
	estimate.bytes_down = load.bytes_down;
	estimate.virtual_ns = (uint64_t) emulated_expected(&settings, &load);
	return estimate;
}

static void
emulated_last_error(const HyDevice *device, HyFailure *failure)
{
	*failure = device != NULL ? device->failure : open_failure;
}
