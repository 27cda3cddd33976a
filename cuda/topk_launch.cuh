/*
 * topk_launch.cuh
 *		Launches the kernels of topk_kernel.cuh.
 */
#ifndef HY_CUDA_TOPK_LAUNCH_CUH
#define HY_CUDA_TOPK_LAUNCH_CUH

#include "cuda/launch.cuh"
#include "cuda/topk_kernel.cuh"

/*
 * hy_list_count: return the number of blocks for a batch of queries, which is the number of lists
 * per query.  The blocks of all batches together are at most as many as the device can run at a
 * time, because every block starts with an empty list.  The number is also limited by the memory
 * for lists and by the number of rows: a block processes turn_rows at once.  It is at least 1.
 */
static int64_t
hy_list_count(const HyCudaTopK *args, int64_t batches, int64_t resident, int64_t turn_rows)
{
	const int64_t turns = (args->rows.rows + turn_rows - 1) / turn_rows;
	const int64_t list_bytes =
		(int64_t) args->rows.query_count * args->k * (int64_t) sizeof(HyNeighbor);
	int64_t count = resident / batches;

	if (count > turns)
		count = turns;
	if (count > (int64_t) args->list_bytes / list_bytes)
		count = (int64_t) args->list_bytes / list_bytes;
	return count > 1 ? count : 1;
}

extern "C" cudaError_t
hy_cuda_launch_topk(HyMetric metric, HyDtype dtype, const HyCudaTopK *args, int multiprocessors,
                    cudaStream_t stream)
{
	cudaError_t error;
	dim3 grid;

	error = hy_choose(
		metric, dtype, args->rows.query_count,
		[&](auto kind)
		{
			typedef decltype(kind) Kind;
			const int64_t batches = (args->rows.query_count + Kind::queries - 1) / Kind::queries;

			grid.x = (unsigned) hy_list_count(args, batches,
		                                      (int64_t) multiprocessors * Kind::resident_blocks,
		                                      HY_CUDA_WARPS * Kind::rows);
			grid.y = (unsigned) batches;
			return HY_CUDA_LAUNCH((hy_topk_kernel<Kind>), grid, HY_CUDA_THREADS, stream, *args);
		});
	/* for one query, the last block has already merged the lists */
	if (error != cudaSuccess || (args->rows.query_count == 1 && args->arrived != NULL))
		return error;

	const int list_count = (int) grid.x;

	grid.x = 1;
	grid.y = (unsigned) args->rows.query_count;
	return HY_CUDA_LAUNCH(hy_topk_merge_kernel, grid, HY_CUDA_THREADS, stream, *args, list_count);
}

#endif
