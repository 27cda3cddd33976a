/*
 * fake_runtime.cpp
 *		A CUDA runtime without a device.  Its streams run queued work lazily, and simulate the time
 *		that it takes.
 */
#include "fake.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "fake_device.h"
#include "fake_launch.h"
#include "fake_memory.h"
#include "simt.h"

/* Operation: an operation on a stream.  Returns false if it has to wait for another stream. */
typedef std::function<bool()> Operation;

using hy_device::enter;
using hy_device::fatal;
using hy_device::lost;

struct CUstream_st
{
	int device;
	std::deque<Operation> queue;
};

struct CUevent_st
{
	int device;
	bool timed;
	int recorded; /* number of records queued; `happened` counts those that were reached */
	int happened;
	int untold; /* number of queries that must pass before completion is reported */
	double at_us;
};

static std::vector<cudaStream_t> streams;
static std::vector<cudaEvent_t> events;
static std::map<const void *, int> allowed; /* bytes of shared memory that each kernel may use */
static std::set<const void *> loaded;       /* kernels loaded into the context */
/* number of kernels that were launched before they were loaded */
static int late_loads;
static thread_local int current; /* current device of the thread */
static int resets;
static int reset_device;
static int kernels;
static uint64_t contexts; /* one bit for each device with a context */
static double now_us;
static double longest_us;
static uint32_t dice;

/* chance: return a random number from 0 to n - 1 if the device is late, else 0. */
static int
chance(int n)
{
	dice = dice * 1664525 + 1013904223;
	return hy_fake.late ? (int) ((dice >> 16) % (uint32_t) n) : 0;
}

/*
 * step: run the next operation of a stream, if possible.  The caller must then close the device's
 * memory (hy_memory::close).
 */
static bool
step(cudaStream_t stream)
{
	if (stream->queue.empty() || lost != cudaSuccess)
		return false;
	if (!stream->queue.front()())
		return false;
	stream->queue.pop_front();
	return true;
}

static void
run_all(cudaStream_t stream)
{
	while (!stream->queue.empty() && lost == cudaSuccess)
	{
		if (step(stream))
			continue;
		bool moved = false;

		for (cudaStream_t other : streams)
			moved |= other != stream && step(other);
		if (!moved && lost == cudaSuccess)
			fatal("streams wait for each other");
	}
	hy_memory::close();
}

/*
 * needs_context: create a context of the device if there is none, as a real driver does in such a
 * call.
 */
static void
needs_context(const char *function, int device)
{
	if ((contexts >> device & 1) == 0)
		hy_device::starts(function);
	contexts |= (uint64_t) 1 << device;
}

/*
 * taken_by_another: return whether a living process holds all memory of the device.  The process is
 * named in the file HY_FAKE_TAKEN (test/cuda/fake/hog).
 */
static bool
taken_by_another()
{
	const char *path = getenv("HY_FAKE_TAKEN");
	FILE *file = path != nullptr ? fopen(path, "r") : nullptr;
	int pid = 0;

	if (file == nullptr)
		return false;
	bool named = fscanf(file, "%d", &pid) == 1 && pid > 0;

	fclose(file);
	return named && kill(pid, 0) == 0;
}

static void
queue(cudaStream_t stream, Operation operation)
{
	if (std::find(streams.begin(), streams.end(), stream) == streams.end())
		fatal("a stream that does not exist");
	stream->queue.push_back(operation);
}

extern "C"
{
	int
	hy_fake_live(void)
	{
		return (int) (hy_memory::blocks() + streams.size() + events.size());
	}

	int
	hy_fake_resets(void)
	{
		return resets;
	}

	int
	hy_fake_reset_device(void)
	{
		return reset_device;
	}

	double
	hy_fake_longest_kernel_us(void)
	{
		double us = longest_us;

		longest_us = 0;
		return us;
	}

	int
	hy_fake_kernels(void)
	{
		return kernels;
	}

	int
	hy_fake_late_loads(void)
	{
		return late_loads;
	}

	void
	hy_fake_reset(void)
	{
		hy_device::reset();
		resets = 0;
		kernels = 0;
		longest_us = 0;
		dice = 0;
		contexts = 0;
		current = 0;
		allowed.clear();
		loaded.clear();
		late_loads = 0;
		(void) hy_simt::fault();
		hy_memory::reset();
	}

	const char *
	hy_fake_fault(void)
	{
		return hy_simt::fault();
	}

	cudaError_t
	hy_fake_queue_kernel(const void *kernel, cudaStream_t stream, double elements,
	                     const std::function<bool()> &run)
	{
		cudaError_t error = enter("launch");
		double loading_us = 0;

		if (error != cudaSuccess)
			return error;
		/* the stream belongs to another device than the thread's current one */
		if (stream->device != current)
			return cudaErrorInvalidResourceHandle;
		if (kernel != NULL && loaded.insert(kernel).second)
		{
			late_loads++;
			loading_us = HY_FAKE_LOADING_US;
		}
		queue(stream,
		      [elements, loading_us, run]()
		      {
				  double us = elements * hy_fake.ns_an_element / 1000 + loading_us;

				  kernels++;
				  lost = hy_device::kernel();
				  if (lost != cudaSuccess)
					  return true;
				  hy_simt::cut_off(hy_fake.cut_off != 0);
				  hy_simt::capability(hy_fake.capability * 10 + hy_fake.capability_minor);
				  hy_memory::open();
				  if (!run())
					  lost = cudaErrorLaunchFailure;
				  now_us += us;
				  longest_us = std::max(longest_us, us);
				  return true;
			  });
		return cudaSuccess;
	}

	/* most_shared: return the largest amount of shared memory that a block may request. */
	static size_t
	most_shared(void)
	{
		const int version = hy_fake.capability * 10 + hy_fake.capability_minor;

		if (version < 80)
			return 64 * 1024;
		if (version == 80 || version == 87)
			return 163 * 1024;
		return (version < 90 ? 99 : 227) * (size_t) 1024;
	}

	cudaError_t
	hy_fake_launches(const void *kernel, unsigned x, unsigned y, unsigned z, int threads,
	                 size_t shared)
	{
		auto found = allowed.find(kernel);

		if (x == 0 || y == 0 || z == 0 || x > 2147483647u || y > 65535u || z > 65535u ||
		    threads < 1 || threads > 1024)
			return cudaErrorInvalidConfiguration;
		if (shared > 48 * 1024 && (found == allowed.end() || (size_t) found->second < shared))
			return cudaErrorInvalidValue;
		return cudaSuccess;
	}

	cudaError_t
	cudaFuncSetAttribute(const void *kernel, enum cudaFuncAttribute attribute, int value)
	{
		cudaError_t error = enter("cudaFuncSetAttribute");

		if (error != cudaSuccess)
			return error;
		if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 ||
		    (size_t) value > most_shared())
			return cudaErrorInvalidValue;
		allowed[kernel] = value;
		return cudaSuccess;
	}

	cudaError_t
	cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *kernel)
	{
		cudaError_t error = enter("cudaFuncGetAttributes");

		hy_device::starts("cudaFuncGetAttributes");
		if (error != cudaSuccess)
			return error;
		memset(attributes, 0, sizeof(*attributes));
		loaded.insert(kernel);
		return cudaSuccess;
	}

	cudaError_t
	cudaInitDevice(int device, unsigned int, unsigned int)
	{
		cudaError_t error = enter("cudaInitDevice");

		hy_device::starts("cudaInitDevice");
		if (error == cudaSuccess && device >= hy_fake.devices)
			return cudaErrorInvalidDevice;
		if (error == cudaSuccess)
			contexts |= (uint64_t) 1 << device;
		return error;
	}

	cudaError_t
	cudaSetDevice(int device)
	{
		cudaError_t error = enter("cudaSetDevice");

		if (error != cudaSuccess)
			return error;
		if (device < 0 || device >= hy_fake.devices)
			return cudaErrorInvalidDevice;
		needs_context("cudaSetDevice", device);
		current = device;
		return cudaSuccess;
	}

	cudaError_t
	cudaDeviceReset(void)
	{
		cudaError_t error = enter("cudaDeviceReset");

		hy_memory::lose(current);
		contexts &= ~((uint64_t) 1 << current);
		allowed.clear();
		loaded.clear();
		reset_device = current;
		resets++;
		return error;
	}

	static int
	primary_context_state(int device, unsigned int *flags, int *active)
	{
		*flags = 0;
		*active = (contexts >> device & 1) != 0 || hy_fake.foreign_context;
		return 0;
	}

	cudaError_t
	cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned int,
	                                 unsigned long long,
	                                 enum cudaDriverEntryPointQueryResult *found)
	{
		cudaError_t error = enter("cudaGetDriverEntryPointByVersion");

		if (error != cudaSuccess)
			return error;
		*found = cudaDriverEntryPointSymbolNotFound;
		if (strcmp(symbol, "cuDevicePrimaryCtxGetState") == 0)
		{
			*function = (void *) primary_context_state;
			*found = cudaDriverEntryPointSuccess;
		}
		return cudaSuccess;
	}

	cudaError_t
	cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
	{
		cudaError_t error = enter("cudaMemGetInfo");

		if (error != cudaSuccess)
			return error;
		*free_bytes = taken_by_another() ? 0 : hy_fake.memory - hy_fake_used();
		*total_bytes = hy_fake.memory;
		return cudaSuccess;
	}

	cudaError_t
	cudaMalloc(void **pointer, size_t bytes)
	{
		cudaError_t error = enter("cudaMalloc");

		*pointer = nullptr;
		if (error != cudaSuccess)
			return error;
		if (hy_fake_used() + bytes > hy_fake.memory || taken_by_another())
			return cudaErrorMemoryAllocation;
		*pointer = hy_memory::allocate(bytes, current);
		return cudaSuccess;
	}

	cudaError_t
	cudaFree(void *pointer)
	{
		cudaError_t error = enter("cudaFree");

		if (error == cudaSuccess)
			needs_context("cudaFree", current);
		if (pointer == nullptr)
			return error;
		if (error == cudaSuccess)
		{
			for (cudaStream_t stream : streams)
				run_all(stream);
		}
		if (!hy_memory::release(pointer))
			fatal("free of what was not allocated");
		return error;
	}

	cudaError_t
	cudaHostAlloc(void **pointer, size_t bytes, unsigned int)
	{
		cudaError_t error = enter("cudaHostAlloc");

		*pointer = error == cudaSuccess ? hy_memory::pin(bytes) : nullptr;
		return error;
	}

	cudaError_t
	cudaFreeHost(void *pointer)
	{
		cudaError_t error = enter("cudaFreeHost");

		if (!hy_memory::unpin(pointer))
			fatal("free of what was not pinned");
		return error;
	}

	cudaError_t
	cudaMemsetAsync(void *pointer, int value, size_t bytes, cudaStream_t stream)
	{
		cudaError_t error = enter("cudaMemsetAsync");

		if (error != cudaSuccess)
			return error;
		if (stream->device != current)
			return cudaErrorInvalidResourceHandle;
		if (!hy_memory::holds(pointer, bytes))
			fatal("memset beyond an allocation");
		queue(stream,
		      [pointer, value, bytes]()
		      {
				  hy_memory::open();
				  memset(pointer, value, bytes);
				  return true;
			  });
		return cudaSuccess;
	}

	cudaError_t
	cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
	                cudaStream_t stream)
	{
		cudaError_t error = enter("cudaMemcpyAsync");
		bool up = kind == cudaMemcpyHostToDevice;
		const void *host = up ? from : to;

		if (error != cudaSuccess)
			return error;
		if (!hy_memory::holds(up ? to : from, bytes))
			fatal("copy beyond an allocation of the device");
		if (kind == cudaMemcpyDeviceToDevice && !hy_memory::holds(to, bytes))
			fatal("copy beyond an allocation of the device");
		for (int i = 0; i <= hy_fake.late; i++)
		{
			const size_t first = hy_fake.late && i == 1 ? bytes / 2 : 0;
			const size_t end = hy_fake.late && i == 0 ? bytes / 2 : bytes;

			queue(stream,
			      [to, from, first, end]()
			      {
					  hy_memory::open();
					  memcpy((char *) to + first, (const char *) from + first, end - first);
					  now_us += 1;
					  return true;
				  });
		}
		/* pageable memory: the copy is finished before the call returns */
		if (kind != cudaMemcpyDeviceToDevice && !hy_memory::pins(host, bytes))
			run_all(stream);
		return lost;
	}

	cudaError_t
	cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int)
	{
		cudaError_t error = enter("cudaStreamCreateWithFlags");

		if (error != cudaSuccess)
			return error;
		*stream = new CUstream_st();
		(*stream)->device = current;
		streams.push_back(*stream);
		return cudaSuccess;
	}

	cudaError_t
	cudaStreamDestroy(cudaStream_t stream)
	{
		cudaError_t error = enter("cudaStreamDestroy");

		if (error == cudaSuccess)
			run_all(stream);
		streams.erase(std::find(streams.begin(), streams.end(), stream));
		delete stream;
		return error;
	}

	cudaError_t
	cudaStreamQuery(cudaStream_t stream)
	{
		cudaError_t error = enter("cudaStreamQuery");

		if (error != cudaSuccess)
			return error;
		step(stream);
		hy_memory::close();
		if (lost != cudaSuccess)
			return lost;
		return stream->queue.empty() && chance(4) == 0 ? cudaSuccess : cudaErrorNotReady;
	}

	cudaError_t
	cudaStreamSynchronize(cudaStream_t stream)
	{
		cudaError_t error = enter("cudaStreamSynchronize");

		if (error != cudaSuccess)
			return error;
		run_all(stream);
		return lost;
	}

	cudaError_t
	cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int)
	{
		cudaError_t error = enter("cudaStreamWaitEvent");

		if (error == cudaSuccess)
		{
			/*
			 * wait for the latest record so far, because the event may be recorded again meanwhile
			 */
			int number = event->recorded;

			queue(stream, [event, number]() { return event->happened >= number; });
		}
		return error;
	}

	cudaError_t
	cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
	{
		cudaError_t error = enter("cudaEventCreateWithFlags");

		if (error != cudaSuccess)
			return error;
		*event = new CUevent_st();
		(*event)->device = current;
		(*event)->timed = (flags & cudaEventDisableTiming) == 0;
		events.push_back(*event);
		return cudaSuccess;
	}

	cudaError_t
	cudaEventDestroy(cudaEvent_t event)
	{
		cudaError_t error = enter("cudaEventDestroy");

		events.erase(std::find(events.begin(), events.end(), event));
		if (event->happened == event->recorded)
			delete event;
		return error;
	}

	cudaError_t
	cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
	{
		cudaError_t error = enter("cudaEventRecord");

		if (error != cudaSuccess)
			return error;
		if (event->device != stream->device)
			return cudaErrorInvalidResourceHandle;
		event->recorded++;
		event->untold = chance(6);
		queue(stream,
		      [event]()
		      {
				  event->happened++;
				  event->at_us = now_us;
				  return true;
			  });
		return cudaSuccess;
	}

	cudaError_t
	cudaEventQuery(cudaEvent_t event)
	{
		cudaError_t error = enter("cudaEventQuery");

		if (error != cudaSuccess)
			return error;
		if (event->happened == event->recorded && event->untold <= 0)
			return cudaSuccess;
		/*
		 * each query advances all streams, the newer ones by more steps: no test may rely on the
		 * speed of a stream
		 */
		for (size_t i = streams.size(); i-- > 0;)
		{
			const size_t turns = hy_fake.late ? (size_t) chance(6) : 2 * i + 1;

			for (size_t turn = 0; turn < turns; turn++)
				step(streams[i]);
		}
		hy_memory::close();
		if (lost != cudaSuccess)
			return lost;
		return event->happened == event->recorded && event->untold-- <= 0 ? cudaSuccess
		                                                                  : cudaErrorNotReady;
	}

	cudaError_t
	cudaEventElapsedTime(float *milliseconds, cudaEvent_t from, cudaEvent_t to)
	{
		cudaError_t error = enter("cudaEventElapsedTime");

		if (error != cudaSuccess)
			return error;
		if (!from->timed || !to->timed)
			return cudaErrorInvalidResourceHandle;
		if (from->happened != from->recorded || to->happened != to->recorded)
			return cudaErrorNotReady;
		*milliseconds = (float) ((to->at_us - from->at_us) / 1000);
		return cudaSuccess;
	}

} /* extern "C" */
