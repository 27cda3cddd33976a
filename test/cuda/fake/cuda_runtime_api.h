/*
 * cuda_runtime_api.h
 *		The part of CUDA's runtime that the plug-in calls, for machines without a toolkit.
 *
 * Only declarations, written from the runtime's documentation. fake_runtime.cpp implements them on
 * the host.  If there is a toolkit, run.sh compares every number here with the real header's.
 */
#ifndef HY_FAKE_CUDA_RUNTIME_API_H
#define HY_FAKE_CUDA_RUNTIME_API_H

#include <stddef.h>

#ifdef __cplusplus
extern "C"
{
#endif

	typedef enum cudaError
	{
		cudaSuccess = 0,
		cudaErrorInvalidValue = 1,
		cudaErrorMemoryAllocation = 2,
		cudaErrorInitializationError = 3,
		cudaErrorCudartUnloading = 4,
		cudaErrorInvalidConfiguration = 9,
		cudaErrorInvalidDevicePointer = 17,
		cudaErrorInvalidMemcpyDirection = 21,
		cudaErrorStubLibrary = 34,
		cudaErrorInsufficientDriver = 35,
		cudaErrorCallRequiresNewerDriver = 36,
		cudaErrorDevicesUnavailable = 46,
		cudaErrorIncompatibleDriverContext = 49,
		cudaErrorInvalidDeviceFunction = 98,
		cudaErrorNoDevice = 100,
		cudaErrorInvalidDevice = 101,
		cudaErrorDeviceNotLicensed = 102,
		cudaErrorSoftwareValidityNotEstablished = 103,
		cudaErrorInvalidKernelImage = 200,
		cudaErrorDeviceUninitialized = 201,
		cudaErrorNoKernelImageForDevice = 209,
		cudaErrorECCUncorrectable = 214,
		cudaErrorDeviceAlreadyInUse = 216,
		cudaErrorInvalidPtx = 218,
		cudaErrorNvlinkUncorrectable = 220,
		cudaErrorJitCompilerNotFound = 221,
		cudaErrorUnsupportedPtxVersion = 222,
		cudaErrorJitCompilationDisabled = 223,
		cudaErrorContained = 226,
		cudaErrorOperatingSystem = 304,
		cudaErrorInvalidResourceHandle = 400,
		cudaErrorSymbolNotFound = 500,
		cudaErrorNotReady = 600,
		cudaErrorIllegalAddress = 700,
		cudaErrorLaunchOutOfResources = 701,
		cudaErrorLaunchTimeout = 702,
		cudaErrorContextIsDestroyed = 709,
		cudaErrorAssert = 710,
		cudaErrorHardwareStackError = 714,
		cudaErrorIllegalInstruction = 715,
		cudaErrorMisalignedAddress = 716,
		cudaErrorInvalidAddressSpace = 717,
		cudaErrorInvalidPc = 718,
		cudaErrorLaunchFailure = 719,
		cudaErrorTensorMemoryLeak = 721,
		cudaErrorNotPermitted = 800,
		cudaErrorNotSupported = 801,
		cudaErrorSystemNotReady = 802,
		cudaErrorSystemDriverMismatch = 803,
		cudaErrorCompatNotSupportedOnDevice = 804,
		cudaErrorMpsConnectionFailed = 805,
		cudaErrorMpsRpcFailure = 806,
		cudaErrorMpsServerNotReady = 807,
		cudaErrorMpsMaxClientsReached = 808,
		cudaErrorMpsMaxConnectionsReached = 809,
		cudaErrorMpsClientTerminated = 810,
		cudaErrorTimeout = 909,
		cudaErrorUnknown = 999
	} cudaError_t;

	enum cudaMemcpyKind
	{
		cudaMemcpyHostToDevice = 1,
		cudaMemcpyDeviceToHost = 2,
		cudaMemcpyDeviceToDevice = 3
	};

	enum cudaDeviceAttr
	{
		cudaDevAttrClockRate = 13,
		cudaDevAttrMultiProcessorCount = 16,
		cudaDevAttrL2CacheSize = 38,
		cudaDevAttrComputeCapabilityMajor = 75,
		cudaDevAttrComputeCapabilityMinor = 76
	};

	enum cudaFuncAttribute
	{
		cudaFuncAttributeMaxDynamicSharedMemorySize = 8
	};

	enum cudaDriverEntryPointQueryResult
	{
		cudaDriverEntryPointSuccess = 0,
		cudaDriverEntryPointSymbolNotFound = 1
	};

	enum
	{
		cudaHostAllocDefault = 0,
		cudaEventDefault = 0,
		cudaEventDisableTiming = 2,
		cudaStreamNonBlocking = 1,
		cudaDeviceScheduleBlockingSync = 4,
		cudaInitDeviceFlagsAreValid = 1,
		cudaEnableDefault = 0
	};

	struct cudaDeviceProp
	{
		char name[256];
		size_t totalGlobalMem;
		int major;
		int minor;
		int multiProcessorCount;
	};

	struct cudaFuncAttributes
	{
		int numRegs;
	};

	typedef struct CUstream_st *cudaStream_t;
	typedef struct CUevent_st *cudaEvent_t;

	extern cudaError_t cudaGetDeviceCount(int *count);
	extern cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device);
	extern cudaError_t
	cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device);
	extern cudaError_t cudaDeviceGetPCIBusId(char *bus, int length, int device);
	extern cudaError_t cudaDriverGetVersion(int *version);
	extern cudaError_t cudaRuntimeGetVersion(int *version);
	extern cudaError_t cudaInitDevice(int device, unsigned int device_flags, unsigned int flags);
	extern cudaError_t cudaSetDevice(int device);
	extern cudaError_t cudaDeviceReset(void);
	extern cudaError_t
	cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned int version,
	                                 unsigned long long flags,
	                                 enum cudaDriverEntryPointQueryResult *found);
	extern cudaError_t
	cudaFuncSetAttribute(const void *kernel, enum cudaFuncAttribute attribute, int value);
	extern cudaError_t
	cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *kernel);
	extern cudaError_t cudaGetLastError(void);
	extern const char *cudaGetErrorName(cudaError_t error);
	extern const char *cudaGetErrorString(cudaError_t error);
	extern cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes);
	extern cudaError_t cudaMalloc(void **pointer, size_t bytes);
	extern cudaError_t cudaFree(void *pointer);
	extern cudaError_t cudaHostAlloc(void **pointer, size_t bytes, unsigned int flags);
	extern cudaError_t cudaFreeHost(void *pointer);
	extern cudaError_t cudaMemsetAsync(void *pointer, int value, size_t bytes, cudaStream_t stream);
	extern cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
	                                   enum cudaMemcpyKind kind, cudaStream_t stream);
	extern cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags);
	extern cudaError_t cudaStreamDestroy(cudaStream_t stream);
	extern cudaError_t cudaStreamQuery(cudaStream_t stream);
	extern cudaError_t cudaStreamSynchronize(cudaStream_t stream);
	extern cudaError_t
	cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags);
	extern cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags);
	extern cudaError_t cudaEventDestroy(cudaEvent_t event);
	extern cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
	extern cudaError_t cudaEventQuery(cudaEvent_t event);
	extern cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t from, cudaEvent_t to);

#ifdef __cplusplus
}
#endif

#endif
