/*
 * launch.cuh
 *		Which kernel over rows, for whatever an operation does with it.
 *
 * Shared, like the kernels, with the host's tests, which define HY_CUDA_LAUNCH as a loop over the
 * blocks: so the choice of kernel and the geometry are tested too.
 */
#ifndef HY_CUDA_LAUNCH_CUH
#define HY_CUDA_LAUNCH_CUH

#include "cuda/row_sums.cuh"

#ifndef HY_CUDA_LAUNCH
#define HY_CUDA_LAUNCH_SHARED(kernel, grid, threads, bytes, stream, ...)                           \
	(kernel<<<grid, threads, bytes, stream>>>(__VA_ARGS__), cudaGetLastError())
#define HY_CUDA_LAUNCH(kernel, grid, threads, stream, ...)                                         \
	HY_CUDA_LAUNCH_SHARED(kernel, grid, threads, 0, stream, __VA_ARGS__)
#endif

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
