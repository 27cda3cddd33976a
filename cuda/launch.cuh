/*
 * launch.cuh
 *		Which kernel over rows, for whatever an operation does with it.
 *
 * Shared, like the kernels, with the host's tests, which define HY_CUDA_START as a loop over the
 * blocks: so the choice of kernel and the geometry are tested too.
 *
 * CUDA loads a kernel when it is launched first, which would count as the time of its piece.  So every
 * launch enters its kernel in a list, before main or when the library is loaded, and opening a device
 * loads all of them.
 */
#ifndef HY_CUDA_LAUNCH_CUH
#define HY_CUDA_LAUNCH_CUH

#include "cuda/row_sums.cuh"

/* HyKernel: one of the kernels that are launched somewhere. */
struct HyKernel
{
	static inline HyKernel *first;

	const void *address;
	HyKernel *next;

	explicit HyKernel(const void *kernel) : address(kernel), next(first)
	{
		first = this;
	}
};

/* HyLaunched: to name the entry of a kernel is to make it. */
template <auto Kernel> struct HyLaunched
{
	static HyKernel entry;
};

template <auto Kernel> HyKernel HyLaunched<Kernel>::entry((const void *) Kernel);

extern "C" inline __attribute__((used)) cudaError_t
hy_cuda_load_kernels(void)
{
	struct cudaFuncAttributes attributes;
	cudaError_t error = cudaSuccess;

	for (const HyKernel *kernel = HyKernel::first; kernel != NULL && error == cudaSuccess;
	     kernel = kernel->next)
		error = cudaFuncGetAttributes(&attributes, kernel->address);
	return error;
}

#ifndef HY_CUDA_START
#define HY_CUDA_START(kernel, grid, threads, bytes, stream, ...)                                   \
	(kernel<<<grid, threads, bytes, stream>>>(__VA_ARGS__), cudaGetLastError())
#endif
#define HY_CUDA_LAUNCH_SHARED(kernel, grid, threads, bytes, stream, ...)                           \
	((void) &HyLaunched<kernel>::entry,                                                            \
	 HY_CUDA_START(kernel, grid, threads, bytes, stream, __VA_ARGS__))
#define HY_CUDA_LAUNCH(kernel, grid, threads, stream, ...)                                         \
	HY_CUDA_LAUNCH_SHARED(kernel, grid, threads, 0, stream, __VA_ARGS__)

/* What a launch may ask for unasked, and what every device that has asynchronous copies grants. */
#define HY_CUDA_SHARED_UNASKED (48 * 1024)
#define HY_CUDA_SHARED_MOST (99 * 1024)

/* hy_allow_shared: before a launch with so many bytes; of a context, so it is said each time. */
template <class Kernel>
static cudaError_t
hy_allow_shared(Kernel *kernel, int bytes)
{
	if (bytes <= HY_CUDA_SHARED_UNASKED)
		return cudaSuccess;
	return cudaFuncSetAttribute((const void *) kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
	                            bytes);
}

/*
 * hy_choose: launch(kind) with the HyKind for a metric, an element type and a number of queries:
 * one is bound by memory and wants many rows on their way, several share what is read.
 */
template <int Metric, class Element, class Launch>
static cudaError_t
hy_choose_rows(int32_t query_count, Launch launch)
{
	if (query_count == 1)
		return launch(HyKind<Metric, Element, 4, 1>());
	return launch(HyKind<Metric, Element, 2, 4>());
}

template <int Metric, class Launch>
static cudaError_t
hy_choose_element(HyDtype dtype, int32_t query_count, Launch launch)
{
	if (dtype == HY_F32)
		return hy_choose_rows<Metric, float>(query_count, launch);
	return hy_choose_rows<Metric, uint16_t>(query_count, launch);
}

template <class Launch>
static cudaError_t
hy_choose(HyMetric metric, HyDtype dtype, int32_t query_count, Launch launch)
{
	switch (metric)
	{
		case HY_METRIC_L2:
			return hy_choose_element<HY_METRIC_L2>(dtype, query_count, launch);
		case HY_METRIC_IP:
			return hy_choose_element<HY_METRIC_IP>(dtype, query_count, launch);
		case HY_METRIC_COSINE:
			return hy_choose_element<HY_METRIC_COSINE>(dtype, query_count, launch);
		case HY_METRIC_L1:
			return hy_choose_element<HY_METRIC_L1>(dtype, query_count, launch);
	}
	return cudaErrorInvalidValue;
}

#endif
