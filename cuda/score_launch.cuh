/*
 * score_launch.cuh
 *		Launches the kernels of score_kernel.cuh.
 */
#ifndef HY_CUDA_SCORE_LAUNCH_CUH
#define HY_CUDA_SCORE_LAUNCH_CUH

#include "cuda/launch.cuh"
#include "cuda/score_kernel.cuh"

#define HY_CUDA_SCORE_RESIDENT 4 /* resident blocks per multiprocessor */

/*
 * hy_score_grid: return the grid, with at least one block per batch of queries.  Otherwise it has
 * at most twice as many blocks as the device can run at a time, because each block has to load
 * tables.
 */
static inline dim3
hy_score_grid(int64_t queries, int64_t blocks, int64_t multiprocessors)
{
	const int64_t batches = (queries + HY_CUDA_SCORE_QUERIES - 1) / HY_CUDA_SCORE_QUERIES;
	const int64_t turns = (blocks + HY_CUDA_WARPS - 1) / HY_CUDA_WARPS;
	const int64_t most = 2 * multiprocessors * HY_CUDA_SCORE_RESIDENT / batches;
	dim3 grid;

	grid.x = (unsigned) (turns < most ? turns : most > 1 ? most : 1);
	grid.y = (unsigned) batches;
	grid.z = 1;
	return grid;
}

extern "C" cudaError_t
hy_cuda_launch_score(const HyCudaScore *args, int multiprocessors, cudaStream_t stream)
{
	const int64_t pairs = (int64_t) args->lists * args->query_count;
	const int step = (int) (args->room / HY_CODE_ROWS);
	cudaError_t error;
	dim3 grid;

	grid.x = (unsigned) multiprocessors;
	error = HY_CUDA_LAUNCH(hy_score_reach_kernel, grid, HY_CUDA_THREADS, stream, *args, pairs);
	for (int first = 0; first < args->blocks && error == cudaSuccess; first += step)
	{
		const int left = args->blocks - first;
		const int blocks = left < step ? left : step;

		error = HY_CUDA_LAUNCH(hy_score_kernel,
		                       hy_score_grid(args->query_count, blocks, multiprocessors),
		                       HY_CUDA_THREADS, stream, *args, first, blocks);
		if (error != cudaSuccess)
			return error;
		grid.x = (unsigned) args->query_count;
		error = HY_CUDA_LAUNCH(hy_score_merge_kernel, grid, HY_CUDA_THREADS, stream, *args);
	}
	return error;
}

#endif
