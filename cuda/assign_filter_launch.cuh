/*
 * assign_filter_launch.cuh
 *		Launches the kernels of assign_filter_kernel.cuh.
 */
#ifndef HY_CUDA_ASSIGN_FILTER_LAUNCH_CUH
#define HY_CUDA_ASSIGN_FILTER_LAUNCH_CUH

#include "cuda/assign_filter_kernel.cuh"
#include "cuda/filter_launch.cuh"

extern "C" cudaError_t
hy_cuda_launch_assign_filtered(const HyCudaAssignFiltered *args, cudaStream_t stream)
{
	const HyCudaAssign &assign = args->assign;
	dim3 grid = hy_blocks(assign.row_count, HY_CUDA_TILE);
	HyCudaRound round = {};
	cudaError_t error;

	round.rows = assign.rows;
	round.stride = (int64_t) assign.row_stride * (int64_t) sizeof(float);
	round.count = assign.row_count;
	round.room = (int64_t) grid.x * HY_CUDA_TILE;
	round.dims = assign.dims;
	round.padded = args->padded;
	round.middle = args->middle;
	round.rounded = args->rows;
	round.aim = args->aim;
	error = hy_cuda_launch_round(HY_METRIC_L2, HY_F32, &round, stream);
	if (error == cudaSuccess)
		error = HY_CUDA_LAUNCH(hy_assign_aim_kernel, hy_blocks(assign.row_count, HY_CUDA_THREADS),
		                       HY_CUDA_THREADS, stream, *args);
	static_assert(HyTile::shared + sizeof(HyAssignRows) <= HY_CUDA_SHARED_MOST,
	              "more shared memory than devices have");
	if (error == cudaSuccess)
		error = hy_allow_shared(&hy_assign_product_kernel, HyTile::shared);
	if (error != cudaSuccess)
		return error;
	grid.y = hy_blocks(assign.end - assign.first, HyTile::rows).x;

	const int each = hy_tiles_each(grid);

	grid = hy_blocks((int64_t) grid.x * grid.y, each);
	error = HY_CUDA_LAUNCH_SHARED(hy_assign_product_kernel, grid, HY_CUDA_THREADS, HyTile::shared,
	                              stream, *args, each);
	if (error == cudaSuccess)
		error = HY_CUDA_LAUNCH(hy_assign_settle_kernel, hy_blocks(assign.row_count, HY_CUDA_WARPS),
		                       HY_CUDA_THREADS, stream, *args);
	return error;
}

#endif
