/*
 * fake_device.cpp
 *		The properties of the fake device, and the failures that tests request.
 */
#include "fake.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <string>

#include "fake_device.h"

using hy_device::enter;
using hy_device::lost;

/*
 * absent: return the error that HY_FAKE_ABSENT sets for the sessions of a server. 100 means that
 * there is no card.
 */
static cudaError_t
absent()
{
	const char *number = getenv("HY_FAKE_ABSENT");

	return number != nullptr ? (cudaError_t) atoi(number) : cudaSuccess;
}

static const HyFakeDevice healthy = {1,
                                     13000,
                                     (uint64_t) 1 << 30,
                                     0.01,
                                     absent(),
                                     0,
                                     0,
                                     9,
                                     0,
                                     50 << 20,
                                     getenv("HY_FAKE_LATE") != nullptr};
HyFakeDevice hy_fake = healthy;
cudaError_t hy_device::lost;

static std::string fail_function;
static int fail_countdown;
static bool fail_always;
static cudaError_t fail_error;
static int calls;
static int started;
static const char *unmasked;

cudaError_t
hy_device::enter(const char *function)
{
	calls++;
	if (lost != cudaSuccess)
		return lost;
	if (hy_fake.absent != cudaSuccess)
		return hy_fake.absent;
	if (fail_always && fail_function == function)
		return fail_error;
	if (fail_countdown > 0 && (fail_function.empty() || fail_function == function) &&
	    --fail_countdown == 0)
		return fail_error;
	return cudaSuccess;
}

cudaError_t
hy_device::kernel()
{
	if (fail_countdown > 0 && fail_function == "kernel" && --fail_countdown == 0)
		return fail_error;
	return cudaSuccess;
}

void
hy_device::starts(const char *function)
{
	sigset_t all;
	sigset_t mask;

	/* all signals except those that nobody can block and those of the C library */
	sigfillset(&all);
	sigdelset(&all, SIGKILL);
	sigdelset(&all, SIGSTOP);
	pthread_sigmask(SIG_SETMASK, nullptr, &mask);
	started++;
	for (int signal = 1; signal < NSIG; signal++)
	{
		if (unmasked == nullptr && sigismember(&all, signal) == 1 &&
		    sigismember(&mask, signal) != 1)
			unmasked = function;
	}
}

void
hy_device::fatal(const char *text)
{
	printf("# fake device: %s\n", text);
	fflush(stdout);
	abort();
}

void
hy_device::reset()
{
	hy_fake = healthy;
	fail_countdown = 0;
	fail_always = false;
	lost = cudaSuccess;
	calls = 0;
	started = 0;
	unmasked = nullptr;
}

extern "C"
{
	void
	hy_fake_fail(const char *function, int call, cudaError_t error)
	{
		fail_function = function != nullptr ? function : "";
		fail_countdown = call;
		fail_error = error;
		fail_always = false;
		calls = 0;
	}

	void
	hy_fake_fail_always(const char *function, cudaError_t error)
	{
		fail_function = function;
		fail_countdown = 0;
		fail_error = error;
		fail_always = true;
	}

	int
	hy_fake_calls(void)
	{
		return calls;
	}

	int
	hy_fake_starts(void)
	{
		return started;
	}

	const char *
	hy_fake_unmasked(void)
	{
		return unmasked;
	}

	cudaError_t
	cudaGetDeviceCount(int *count)
	{
		cudaError_t error = enter("cudaGetDeviceCount");

		hy_device::starts("cudaGetDeviceCount");
		if (error == cudaSuccess)
			*count = hy_fake.devices;
		return error;
	}

	cudaError_t
	cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
	{
		cudaError_t error = enter("cudaGetDeviceProperties");

		hy_device::starts("cudaGetDeviceProperties");
		if (error != cudaSuccess)
			return error;
		if (device < 0 || device >= hy_fake.devices)
			return cudaErrorInvalidDevice;
		memset(properties, 0, sizeof(*properties));
		/* as long as the field, but the plug-in's field is shorter */
		memset(properties->name, 'x', sizeof(properties->name) - 1);
		memcpy(properties->name, "Fake device", 11);
		properties->totalGlobalMem = hy_fake.memory;
		properties->major = hy_fake.capability;
		properties->minor = hy_fake.capability_minor;
		properties->multiProcessorCount = 4;
		return cudaSuccess;
	}

	cudaError_t
	cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
	{
		cudaError_t error = enter("cudaDeviceGetAttribute");

		if (error != cudaSuccess)
			return error;
		if (device >= hy_fake.devices)
			return cudaErrorInvalidValue;
		if (attribute == cudaDevAttrMultiProcessorCount)
			*value = 4;
		else if (attribute == cudaDevAttrComputeCapabilityMajor)
			*value = hy_fake.capability;
		else if (attribute == cudaDevAttrComputeCapabilityMinor)
			*value = hy_fake.capability_minor;
		else if (attribute == cudaDevAttrL2CacheSize)
			*value = hy_fake.cache;
		else if (attribute == cudaDevAttrClockRate)
			*value = 1000000;
		else
			return cudaErrorInvalidValue;
		return cudaSuccess;
	}

	cudaError_t
	cudaDeviceGetPCIBusId(char *bus, int length, int device)
	{
		cudaError_t error = enter("cudaDeviceGetPCIBusId");

		if (error == cudaSuccess)
			snprintf(bus, (size_t) length, "0000:%02x:00.0", device);
		return error;
	}

	cudaError_t
	cudaDriverGetVersion(int *version)
	{
		calls++;
		*version = hy_fake.driver;
		return cudaSuccess;
	}

	cudaError_t
	cudaRuntimeGetVersion(int *version)
	{
		calls++;
		*version = 13000;
		return cudaSuccess;
	}

	cudaError_t
	cudaGetLastError(void)
	{
		calls++;
		return lost;
	}

	const char *
	cudaGetErrorName(cudaError_t)
	{
		return "cudaErrorOfTheFake";
	}

	const char *
	cudaGetErrorString(cudaError_t)
	{
		return "an error of the fake device";
	}

} /* extern "C" */
