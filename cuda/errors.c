/*
 * errors.c
 *		Maps CUDA's error numbers to HyStatus, with the reason for each choice.
 *
 * The status tells the caller how to recover.  After some errors, CUDA answers every later call of
 * this process with the same error, and only a new process helps.  These errors map to
 * HY_PROCESS_LOST.  CUDA documents this for most of them.  For the others, a comment gives the
 * reason.  HY_NOMEM means that more memory or a smaller piece may help.  HY_CONTEXT_LOST means that
 * a new context may help.
 */
#include "cuda/errors.h"

#include <stddef.h>

typedef struct HyCudaErrorClass
{
	cudaError_t error;
	HyStatus status;
} HyCudaErrorClass;

static const HyCudaErrorClass classes[] = {
	{cudaSuccess, HY_OK},

	/* too little memory, or too few resources for a kernel: a smaller piece may fit */
	{cudaErrorMemoryAllocation, HY_NOMEM},
	{cudaErrorLaunchOutOfResources, HY_NOMEM},

	/* the process cannot use CUDA again, for good */
	{cudaErrorIllegalAddress, HY_PROCESS_LOST},
	{cudaErrorLaunchTimeout, HY_PROCESS_LOST}, /* the driver's watchdog, not hybrid.gpu_timeout */
	{cudaErrorAssert, HY_PROCESS_LOST},
	{cudaErrorHardwareStackError, HY_PROCESS_LOST},
	{cudaErrorIllegalInstruction, HY_PROCESS_LOST},
	{cudaErrorMisalignedAddress, HY_PROCESS_LOST},
	{cudaErrorInvalidAddressSpace, HY_PROCESS_LOST},
	{cudaErrorInvalidPc, HY_PROCESS_LOST},
	{cudaErrorLaunchFailure, HY_PROCESS_LOST},
	{cudaErrorTensorMemoryLeak, HY_PROCESS_LOST},
	{cudaErrorMpsClientTerminated, HY_PROCESS_LOST},
	/* not documented as permanent, but data in device memory has been lost */
	{cudaErrorECCUncorrectable, HY_PROCESS_LOST},
	{cudaErrorNvlinkUncorrectable, HY_PROCESS_LOST},
	{cudaErrorContained, HY_PROCESS_LOST},
	/* what CUDA reports in a fork if the parent had initialized the driver */
	{cudaErrorInitializationError, HY_PROCESS_LOST},
	/* the process is exiting */
	{cudaErrorCudartUnloading, HY_PROCESS_LOST},

	/* the context was reset or destroyed, possibly by another library in this process */
	{cudaErrorContextIsDestroyed, HY_CONTEXT_LOST},
	{cudaErrorDeviceUninitialized, HY_CONTEXT_LOST},
	{cudaErrorIncompatibleDriverContext, HY_CONTEXT_LOST},
	{cudaErrorMpsRpcFailure, HY_CONTEXT_LOST},
	{cudaErrorInvalidResourceHandle, HY_CONTEXT_LOST}, /* stream or event of a lost context */

	/* no device that this build and this driver can use: retrying does not help */
	{cudaErrorNoDevice, HY_DEVICE_GONE},
	{cudaErrorInvalidDevice, HY_DEVICE_GONE},
	{cudaErrorInsufficientDriver, HY_DEVICE_GONE},
	{cudaErrorStubLibrary, HY_DEVICE_GONE},
	{cudaErrorCallRequiresNewerDriver, HY_DEVICE_GONE},
	{cudaErrorSystemDriverMismatch, HY_DEVICE_GONE},
	{cudaErrorCompatNotSupportedOnDevice, HY_DEVICE_GONE},
	{cudaErrorDeviceNotLicensed, HY_DEVICE_GONE},
	{cudaErrorSoftwareValidityNotEstablished, HY_DEVICE_GONE}, /* the driver's self-test failed */
	{cudaErrorSymbolNotFound, HY_DEVICE_GONE}, /* the driver lacks a required function */
	{cudaErrorNoKernelImageForDevice, HY_DEVICE_GONE},
	{cudaErrorInvalidDeviceFunction, HY_DEVICE_GONE}, /* no kernel image, reported at launch */
	{cudaErrorInvalidKernelImage, HY_DEVICE_GONE},
	{cudaErrorInvalidPtx, HY_DEVICE_GONE},
	{cudaErrorUnsupportedPtxVersion, HY_DEVICE_GONE},
	{cudaErrorJitCompilerNotFound, HY_DEVICE_GONE},
	{cudaErrorJitCompilationDisabled, HY_DEVICE_GONE},
	{cudaErrorNotPermitted, HY_DEVICE_GONE},
	{cudaErrorOperatingSystem, HY_DEVICE_GONE}, /* a device file is missing or cannot be opened */

	/* other processes hold the device: exclusive compute mode, or the MPS server is full */
	{cudaErrorDevicesUnavailable, HY_BUSY},
	{cudaErrorDeviceAlreadyInUse, HY_BUSY},
	{cudaErrorMpsMaxClientsReached, HY_BUSY},
	{cudaErrorMpsMaxConnectionsReached, HY_BUSY},

	/* services that may still be starting */
	{cudaErrorSystemNotReady, HY_TRANSIENT},
	{cudaErrorMpsConnectionFailed, HY_TRANSIENT},
	{cudaErrorMpsServerNotReady, HY_TRANSIENT},
	{cudaErrorUnknown, HY_TRANSIENT},

	{cudaErrorTimeout, HY_TIMEOUT},

	{cudaErrorNotSupported, HY_UNSUPPORTED},

	/* this library chooses the arguments, so these errors are bugs in it */
	{cudaErrorInvalidValue, HY_BUG},
	{cudaErrorInvalidConfiguration, HY_BUG},
	{cudaErrorInvalidDevicePointer, HY_BUG},
	{cudaErrorInvalidMemcpyDirection, HY_BUG},
	{cudaErrorNotReady, HY_BUG}, /* not a failure; callers handle it first */
};

HyStatus
hy_cuda_status(cudaError_t error)
{
	size_t i;

	for (i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
	{
		if (classes[i].error == error)
			return classes[i].status;
	}
	return HY_TRANSIENT;
}
