/*
 * launch.cuh
 *		Chooses the kernel over rows for an operation, and loads all kernels.
 *
 * The host's tests compile this code, as they compile the kernels.  They define HY_CUDA_START as a
 * loop over the blocks.  So they also test the choice of the kernel and the grid sizes.
 *
 * CUDA would load a kernel at its first launch, and the load time would count as time of the piece.
 * So every kernel that the code can launch is registered in a list, before main() or when the
 * library is loaded.  Opening a device loads all kernels in the list.
 */
#ifndef HY_CUDA_LAUNCH_CUH
#define HY_CUDA_LAUNCH_CUH

#include "cuda/row_sums.cuh"

/* HyKernel: an entry in the list of all kernels that the code can launch. */
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

/*
 * HyLaunched: the list entry of a kernel.  Naming HyLaunched<kernel>::entry anywhere creates the
 * entry.
 */
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

/*
 * HY_CUDA_SHARED_UNASKED is the number of bytes of shared memory that a launch may use without a
 * request.  HY_CUDA_SHARED_MOST is the number that every device with asynchronous copies grants on
 * request.
 */
#define HY_CUDA_SHARED_UNASKED (48 * 1024)
#define HY_CUDA_SHARED_MOST (99 * 1024)

/*
 * hy_allow_shared: request this many bytes of shared memory for a kernel.  The setting belongs to
 * the context, so the request is repeated before each launch.
 */
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
 * hy_choose_rows, hy_choose_element, hy_choose: call launch(kind) with the HyKind for a metric, an
 * element type and a number of queries.  Memory bandwidth limits a single query, so a warp reads
 * four rows at a time.  Several queries share each read of a row.
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
