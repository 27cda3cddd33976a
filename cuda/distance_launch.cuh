/*
 * distance_launch.cuh
 *		Launches the kernels of distance_kernel.cuh.
 */
#ifndef HY_CUDA_DISTANCE_LAUNCH_CUH
#define HY_CUDA_DISTANCE_LAUNCH_CUH

#include "cuda/distance_kernel.cuh"
#include "cuda/launch.cuh"

/*
 * This many blocks occupy a multiprocessor.  If there are more rows, the blocks process them in a
 * loop.
 */
#define HY_CUDA_BLOCKS_PER_MULTIPROCESSOR 32

extern "C" cudaError_t
hy_cuda_launch_distance(HyMetric metric, HyDtype dtype, const HyCudaDistance *args,
                        int multiprocessors, cudaStream_t stream)
{
	return hy_choose(
		metric, dtype, args->rows.query_count,
		[&](auto kind)
		{
			typedef decltype(kind) Kind;
			const int64_t turn = HY_CUDA_WARPS * Kind::rows;
			const int64_t blocks = (args->rows.rows + turn - 1) / turn;
			const int64_t most = (int64_t) multiprocessors * HY_CUDA_BLOCKS_PER_MULTIPROCESSOR;
			dim3 grid;

			grid.x = (unsigned) (blocks < most ? blocks : most);
			grid.y = (unsigned) ((args->rows.query_count + Kind::queries - 1) / Kind::queries);
			grid.z = 1;
			return HY_CUDA_LAUNCH((hy_distance_kernel<Kind>), grid, HY_CUDA_THREADS, stream, *args);
		});
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
