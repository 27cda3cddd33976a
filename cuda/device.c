/*
 * device.c
 *		Counts, probes, opens and closes devices; decides which process may call CUDA; records
 *		failures.
 *
 * Counting and probing load the driver but create no context.  The driver starts threads of its
 * own.  A signal for PostgreSQL must never be delivered to one of them.  So all signals are blocked
 * during calls that may start threads, because a new thread inherits the signal mask.
 */
#include "cuda/device.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cuda/errors.h"
#include "cuda/filter.h"
#include "cuda/launch.h"
#include "cuda/pipeline.h"

/*
 * Type of cuDevicePrimaryCtxGetState, which returns the state of a device's primary context.  The
 * runtime has no such function, so the driver's is called.
 */
typedef int (*PrimaryContextState)(int device, unsigned int *flags, int *active);

/* State of the process. */
static struct
{
	pid_t pid;               /* process that first called CUDA; 0: none yet */
	bool lost;               /* a permanent error has occurred */
	uint64_t open;           /* one bit for each open device */
	uint64_t open_ns;        /* duration of the last successful open; 0: none yet */
	HyFailure failure;       /* last failure that belongs to no open device */
	HyFailure first_failure; /* the permanent error, if lost is set */
} process;

/*
 * Assumed time to open a device, until an open has been measured: the order of magnitude for a
 * context on a server.
 */
#define EXPECTED_OPEN_NS ((uint64_t) 250 * 1000 * 1000)

static bool context_is_active(int32_t number);
static bool loads_all(const HyHost *host);
static HyStatus open_context(HyDevice *device, const HyLimits *limits);
static HyFailure *failure_of(HyDevice *device);
static HyStatus count_failed(cudaError_t error);

HyStatus
hy_cuda_device_count(int32_t *count)
{
	sigset_t signals;
	cudaError_t error;
	HyStatus status;
	int found = 0;

	*count = 0;
	status = hy_cuda_enter(NULL);
	if (status != HY_OK)
		return status;
	hy_cuda_block_signals(&signals);
	error = cudaGetDeviceCount(&found);
	hy_cuda_restore_signals(&signals);
	if (error == cudaSuccess)
	{
		*count = found;
		return HY_OK;
	}
	(void) cudaGetLastError();
	return count_failed(error);
}

HyStatus
hy_cuda_probe(int32_t number, HyDeviceInfo *info)
{
	struct cudaDeviceProp properties;
	cudaError_t error;
	sigset_t signals;
	HyStatus status;

	memset(info, 0, sizeof(*info));
	status = hy_cuda_enter(NULL);
	if (status != HY_OK)
		return status;
	hy_cuda_block_signals(&signals);
	error = cudaGetDeviceProperties(&properties, number);
	hy_cuda_restore_signals(&signals);
	if (error != cudaSuccess)
		return hy_cuda_fail(NULL, error, "asking a device for its properties");
	snprintf(info->name, sizeof(info->name), "%.*s", HY_NAME_LENGTH - 1, properties.name);
	snprintf(info->architecture, sizeof(info->architecture), "sm_%d%d", properties.major,
	         properties.minor);
	info->cores = properties.multiProcessorCount;
	info->memory_total = properties.totalGlobalMem;
	info->tasks = 1;
	info->open_cost_ns = process.open_ns != 0 ? process.open_ns : EXPECTED_OPEN_NS;
	return HY_OK;
}

HyStatus
hy_cuda_open(const HyHost *host, int32_t number, const HyLimits *limits, HyDevice **opened)
{
	HyDevice *device;
	sigset_t signals;
	HyStatus status;
	uint64_t before;
	int op;

	*opened = NULL;
	status = hy_cuda_enter(NULL);
	if (status != HY_OK)
		return status;
	if (number < 0 || number >= HY_BACKEND_DEVICES)
		return hy_cuda_refuse(NULL, HY_DEVICE_GONE, "there is no CUDA device %d", (int) number);
	if (process.open >> number & 1)
		return hy_cuda_refuse(NULL, HY_BUSY, "CUDA device %d is already open here", (int) number);
	device = hy_alloc_zero(host->allocator, sizeof(*device));
	if (device == NULL)
		return hy_cuda_refuse(NULL, HY_NOMEM, "out of host memory");
	device->number = number;
	device->pid = getpid();
	device->host = host;
	for (op = 0; op < HY_OP_COUNT; op++)
		hy_cuda_pace_init(&device->pace[op]);
	hy_cuda_pace_init(&device->filter_pace);
	device->filter_pace.work *= HY_CUDA_FILTER_PACE;
	device->assign_filter_pace = device->filter_pace;
	device->filter_least = hy_cuda_filter_least(host);
	hy_cuda_timer_begin(device, limits);

	before = host->clock->now(host->clock->arg);
	hy_cuda_block_signals(&signals);
	status = open_context(device, limits);
	if (status != HY_OK)
	{
		/*
		 * If the open failed early, there may be no context.  Closing then creates one, which may
		 * start threads.  So signals are still blocked here.
		 */
		process.failure = device->failure;
		hy_cuda_close(device);
	}
	hy_cuda_restore_signals(&signals);
	if (status != HY_OK)
		return status;
	process.open_ns = host->clock->now(host->clock->arg) - before;
	process.open |= (uint64_t) 1 << number;
	device->counted = true;
	hy_cuda_timer_opened(device);
	hy_cuda_timer_set(device);
	*opened = device;
	return HY_OK;
}

void
hy_cuda_close(HyDevice *device)
{
	/* In a fork, the driver's state belongs to the parent.  Only host memory may be freed. */
	bool ours = device->pid == getpid();

	hy_cuda_timer_end(device);
	ours = ours && !hy_cuda_closed_idle(device);
	if (ours)
		(void) cudaSetDevice(device->number);
	hy_cuda_drain(device);
	while (device->buffers != NULL)
		hy_cuda_buf_free(device, device->buffers);
	if (ours)
		hy_cuda_release(device);
	hy_cuda_blocks_forget(device);
	if (device->counted)
		process.open &= ~((uint64_t) 1 << device->number);
	hy_free(device->host->allocator, device);
}

void
hy_cuda_release(HyDevice *device)
{
	(void) cudaSetDevice(device->number);
	hy_cuda_blocks_release(device);
	hy_cuda_scratch_close(device);

	/*
	 * The reset frees the context, which takes a few hundred MB of device memory.  A context that
	 * another library created is kept.
	 */
	if (device->owns_context)
		(void) cudaDeviceReset();
	(void) cudaGetLastError();
}

void
hy_cuda_last_error(const HyDevice *device, HyFailure *failure)
{
	*failure = device != NULL ? device->failure : process.failure;
}

HyStatus
hy_cuda_enter(HyDevice *device)
{
	pid_t self = getpid();

	if (process.pid == 0)
		process.pid = self;
	if (process.pid != self || (device != NULL && device->pid != self))
		return hy_cuda_refuse(device, HY_PROCESS_LOST,
		                      "CUDA was started by process %d, of which this one is a fork",
		                      (int) process.pid);
	if (process.lost)
	{
		*failure_of(device) = process.first_failure;
		return HY_PROCESS_LOST;
	}
	if (device != NULL && hy_cuda_closed_idle(device))
		return hy_cuda_refuse(device, HY_CONTEXT_LOST, "nobody used it, and it closed itself");
	/* Other code in this process may have selected another device. */
	if (device != NULL)
	{
		cudaError_t error = cudaSetDevice(device->number);

		if (error != cudaSuccess)
			return hy_cuda_fail(device, error, "selecting the device");
	}
	return HY_OK;
}

bool
hy_cuda_forked(void)
{
	return process.pid != 0 && process.pid != getpid();
}

bool
hy_cuda_lost(void)
{
	return process.lost;
}

void
hy_cuda_block_signals(sigset_t *before)
{
	sigset_t all;

	sigfillset(&all);
	(void) pthread_sigmask(SIG_SETMASK, &all, before);
}

void
hy_cuda_restore_signals(const sigset_t *before)
{
	(void) pthread_sigmask(SIG_SETMASK, before, NULL);
}

HyStatus
hy_cuda_fail(HyDevice *device, cudaError_t error, const char *doing)
{
	HyFailure *failure = failure_of(device);
	HyStatus status = hy_cuda_status(error);

	failure->native_code = (int32_t) error;
	snprintf(failure->text, sizeof(failure->text), "CUDA reported: %s (%s) while %s",
	         cudaGetErrorString(error), cudaGetErrorName(error), doing);
	/* Reset the error, which the next launch would report again.  A permanent error stays. */
	(void) cudaGetLastError();
	if (status == HY_PROCESS_LOST && !process.lost)
	{
		process.lost = true;
		process.first_failure = *failure;
	}
	return status;
}

HyStatus
hy_cuda_refuse(HyDevice *device, HyStatus status, const char *format, ...)
{
	HyFailure *failure = failure_of(device);
	va_list arguments;

	failure->native_code = 0;
	va_start(arguments, format);
	vsnprintf(failure->text, sizeof(failure->text), format, arguments);
	va_end(arguments);
	return status;
}

static HyStatus
open_context(HyDevice *device, const HyLimits *limits)
{
	size_t free_bytes;
	size_t total_bytes;
	cudaError_t error;
	int found = 0;

	error = cudaGetDeviceCount(&found);
	if (error != cudaSuccess)
		return hy_cuda_fail(device, error, "counting devices");
	if (device->number >= found)
		return hy_cuda_refuse(device, HY_DEVICE_GONE, "there is no CUDA device %d of %d",
		                      (int) device->number, found);
	device->owns_context = !context_is_active(device->number);

	/*
	 * Waiting for the device must not spin, because a spinning backend would take a CPU core from
	 * other processes.
	 */
	error =
		cudaInitDevice(device->number, cudaDeviceScheduleBlockingSync, cudaInitDeviceFlagsAreValid);
	if (error == cudaSuccess)
		error = cudaSetDevice(device->number);
	if (error == cudaSuccess)
		error = cudaFree(NULL);
	if (error != cudaSuccess)
		return hy_cuda_fail(device, error, "opening a context");
	error = loads_all(device->host) ? hy_cuda_load_kernels() : cudaSuccess;
	if (error != cudaSuccess)
		return hy_cuda_fail(device, error, "loading kernels");

	error = cudaDeviceGetAttribute(&device->multiprocessors, cudaDevAttrMultiProcessorCount,
	                               device->number);
	if (error != cudaSuccess)
		return hy_cuda_fail(device, error, "asking for the number of multiprocessors");
	error = cudaDeviceGetAttribute(&device->capability, cudaDevAttrComputeCapabilityMajor,
	                               device->number);
	if (error != cudaSuccess)
		return hy_cuda_fail(device, error, "asking for the compute capability");
	error = cudaDeviceGetAttribute(&device->cache, cudaDevAttrL2CacheSize, device->number);
	if (error != cudaSuccess)
		return hy_cuda_fail(device, error, "asking for the size of the cache");
	error = cudaMemGetInfo(&free_bytes, &total_bytes);
	if (error != cudaSuccess)
		return hy_cuda_fail(device, error, "asking for free memory");

	device->budget = (uint64_t) free_bytes / 10 * 8;
	if (limits != NULL && limits->memory != 0 && limits->memory < device->budget)
	{
		device->budget = limits->memory;
		device->limited = true;
	}
	return hy_cuda_scratch_open(device);
}

/*
 * loads_all: return whether opening a device loads all kernels.  Tests may set cuda_loading to
 * 'lazy', because loading every kernel takes long under a sanitizer.
 */
static bool
loads_all(const HyHost *host)
{
	const char *text =
		host->setting != NULL ? host->setting(host->setting_arg, "cuda_loading") : NULL;

	return text == NULL || strcmp(text, "lazy") != 0;
}

static bool
context_is_active(int32_t number)
{
	enum cudaDriverEntryPointQueryResult found;
	unsigned int flags;
	void *state = NULL;
	int active = 0;

	if (cudaGetDriverEntryPointByVersion("cuDevicePrimaryCtxGetState", &state, 7000,
	                                     cudaEnableDefault, &found) != cudaSuccess ||
	    found != cudaDriverEntryPointSuccess || state == NULL)
	{
		/*
		 * If the state is unknown, assume that another library created the context.  Then the
		 * context is never reset.
		 */
		(void) cudaGetLastError();
		return true;
	}
	if (((PrimaryContextState) (uintptr_t) state)(number, &flags, &active) != 0)
		return true;
	return active != 0;
}

static HyFailure *
failure_of(HyDevice *device)
{
	return device != NULL ? &device->failure : &process.failure;
}

/*
 * count_failed: convert the error of a failed device count to a status.  The absence of a device or
 * of a driver is not a failure: returns HY_OK.  If the driver is missing or too old, the message
 * says so, because CUDA's error number would not help an operator.
 */
static HyStatus
count_failed(cudaError_t error)
{
	HyStatus status = hy_cuda_fail(NULL, error, "counting devices");
	int driver = 0;
	int runtime = 0;

	if (error == cudaErrorNoDevice)
		return HY_OK;
	if (error != cudaErrorInsufficientDriver)
		return status;
	(void) cudaDriverGetVersion(&driver);
	(void) cudaRuntimeGetVersion(&runtime);
	if (driver == 0)
		snprintf(process.failure.text, sizeof(process.failure.text),
		         "no CUDA driver: libcuda.so.1 was not found or does not work");
	else if (driver < runtime)
		snprintf(process.failure.text, sizeof(process.failure.text),
		         "the driver is for CUDA %d.%d at most, this build needs %d.%d", driver / 1000,
		         driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
	return driver == 0 ? HY_OK : status;
}
