/*
 * distance_launch.cuh
 *		Which kernel, on which grid.
 *
 * Shared, like the kernels, with the host's tests, which define HY_CUDA_LAUNCH as a loop over the
 * blocks: so the choice of kernel and the geometry are tested too.
 */
#ifndef HY_CUDA_DISTANCE_LAUNCH_CUH
#define HY_CUDA_DISTANCE_LAUNCH_CUH

#include "cuda/distance_kernel.cuh"

#ifndef HY_CUDA_LAUNCH
#define HY_CUDA_LAUNCH(kernel, grid, threads, stream, ...)                                         \
	(kernel<<<grid, threads, 0, stream>>>(__VA_ARGS__), cudaGetLastError())
#endif

/* A block answers this many queries by one read of its rows; 1 has a kernel of its own. */
#define HY_CUDA_BATCH 4

/* Enough blocks that every multiprocessor holds all it can; more rows go round in a loop. */
#define HY_CUDA_BLOCKS_PER_MULTIPROCESSOR 32

template <int Metric, class Element, int Batch>
static cudaError_t
hy_launch(const HyCudaDistance *args, int multiprocessors, cudaStream_t stream)
{
	int64_t blocks = (args->rows.rows + HY_CUDA_WARPS - 1) / HY_CUDA_WARPS;
	int64_t most = (int64_t) multiprocessors * HY_CUDA_BLOCKS_PER_MULTIPROCESSOR;
	dim3 grid;

	grid.x = (unsigned) (blocks < most ? blocks : most);
	grid.y = (unsigned) ((args->rows.query_count + Batch - 1) / Batch);
	grid.z = 1;
	return HY_CUDA_LAUNCH((hy_distance_kernel<Metric, Element, Batch>), grid, HY_CUDA_THREADS,
	                      stream, *args);
}

template <int Metric, class Element>
static cudaError_t
hy_launch_batch(const HyCudaDistance *args, int multiprocessors, cudaStream_t stream)
{
	if (args->rows.query_count == 1)
		return hy_launch<Metric, Element, 1>(args, multiprocessors, stream);
	return hy_launch<Metric, Element, HY_CUDA_BATCH>(args, multiprocessors, stream);
}

template <int Metric>
static cudaError_t
hy_launch_element(HyDtype dtype, const HyCudaDistance *args, int multiprocessors,
                  cudaStream_t stream)
{
	if (dtype == HY_F32)
		return hy_launch_batch<Metric, float>(args, multiprocessors, stream);
	return hy_launch_batch<Metric, uint16_t>(args, multiprocessors, stream);
}

extern "C" cudaError_t
hy_cuda_launch_distance(HyMetric metric, HyDtype dtype, const HyCudaDistance *args,
                        int multiprocessors, cudaStream_t stream)
{
	switch (metric)
	{
		case HY_METRIC_L2:
			return hy_launch_element<HY_METRIC_L2>(dtype, args, multiprocessors, stream);
		case HY_METRIC_IP:
			return hy_launch_element<HY_METRIC_IP>(dtype, args, multiprocessors, stream);
		case HY_METRIC_COSINE:
			return hy_launch_element<HY_METRIC_COSINE>(dtype, args, multiprocessors, stream);
		case HY_METRIC_L1:
			return hy_launch_element<HY_METRIC_L1>(dtype, args, multiprocessors, stream);
	}
	return cudaErrorInvalidValue;
}

extern "C" cudaError_t
hy_cuda_launch_norms(const float *queries, int32_t count, int32_t dims, float *norms,
                     cudaStream_t stream)
{
	dim3 grid;

	grid.x = (unsigned) ((count + HY_CUDA_WARPS - 1) / HY_CUDA_WARPS);
	grid.y = 1;
	grid.z = 1;
	return HY_CUDA_LAUNCH(hy_norm_kernel, grid, HY_CUDA_THREADS, stream, queries, count, dims,
	                      norms);
}

#endif
