/*
 * assign_launch.cuh
 *		Launches the kernels of assign_kernel.cuh.
 */
#ifndef HY_CUDA_ASSIGN_LAUNCH_CUH
#define HY_CUDA_ASSIGN_LAUNCH_CUH

#include "cuda/assign_kernel.cuh"
#include "cuda/launch.cuh"

#define HY_CUDA_ASSIGN_TURNS 4   /* blocks launched per resident block, because some end early */
#define HY_CUDA_LEAST_SHARE 128  /* fewest centroids for which loading a tile is worthwhile */
#define HY_CUDA_MAX_SHARES 65535 /* limit of the grid's second dimension */

static inline dim3
hy_assign_grid(int64_t blocks)
{
	dim3 grid;

	grid.x = (unsigned) blocks;
	grid.y = 1;
	grid.z = 1;
	return grid;
}

/*
 * hy_assign_share: return the number of centroids per block: so few that there are about `wanted`
 * blocks, but at least HY_CUDA_LEAST_SHARE.
 */
static inline int64_t
hy_assign_share(int64_t tiles, int64_t centroids, int64_t wanted)
{
	int64_t shares = (wanted + tiles - 1) / tiles;
	int64_t share;

	if (shares > HY_CUDA_MAX_SHARES)
		shares = HY_CUDA_MAX_SHARES;
	share = (centroids + shares - 1) / shares;
	return share > HY_CUDA_LEAST_SHARE ? share : HY_CUDA_LEAST_SHARE;
}

/*
 * hy_assign_launch_groups: launch the kernels that find the groups of each row, then the rows of
 * each group.
 */
static cudaError_t
hy_assign_launch_groups(const HyCudaAssign &args, int multiprocessors, cudaStream_t stream)
{
	const HyCudaAssignGroups &groups = args.groups;
	const int64_t met = (int64_t) args.row_count * groups.probes;
	const dim3 grid = hy_assign_grid((met + HY_CUDA_THREADS - 1) / HY_CUDA_THREADS);
	HyCudaTopK nearest = {};
	cudaError_t error;

	nearest.rows.targets = groups.centers;
	nearest.rows.stride = (int64_t) args.dims * (int64_t) sizeof(float);
	nearest.rows.rows = groups.groups;
	nearest.rows.queries = args.rows;
	nearest.rows.query_stride = args.row_stride;
	nearest.rows.query_count = args.row_count;
	nearest.rows.dims = args.dims;
	nearest.k = groups.probes;
	nearest.best = groups.met;
	nearest.lists = groups.lists;
	nearest.list_bytes = groups.list_bytes;
	error = hy_cuda_launch_topk(HY_METRIC_L2, HY_F32, &nearest, multiprocessors, stream);
	if (error == cudaSuccess)
		error = HY_CUDA_LAUNCH(hy_assign_count_kernel, grid, HY_CUDA_THREADS, stream, groups,
		                       (int) args.row_count);
	if (error == cudaSuccess)
		error = HY_CUDA_LAUNCH(hy_assign_scan_kernel, hy_assign_grid(1), HY_CUDA_THREADS, stream,
		                       groups);
	if (error == cudaSuccess)
		error = HY_CUDA_LAUNCH(hy_assign_sort_kernel, grid, HY_CUDA_THREADS, stream, groups,
		                       (int) args.row_count);
	return error;
}

/*
 * hy_assign_launch_tiles: launch the kernel for at most `tiles` tiles, each with at most
 * `centroids` centroids.
 */
static cudaError_t
hy_assign_launch_tiles(const HyCudaAssign &args, int64_t tiles, int64_t centroids,
                       int multiprocessors, cudaStream_t stream)
{
	const int64_t wanted =
		(int64_t) multiprocessors * HyAssignKind::resident_blocks * HY_CUDA_ASSIGN_TURNS;
	const int64_t share = hy_assign_share(tiles, centroids, wanted);
	dim3 grid = hy_assign_grid(tiles);

	grid.y = (unsigned) ((centroids + share - 1) / share);
	if (grid.y == 0)
		return cudaSuccess;
	return HY_CUDA_LAUNCH(hy_assign_kernel, grid, HY_CUDA_THREADS, stream, args, share);
}

extern "C" cudaError_t
hy_cuda_launch_assign(const HyCudaAssign *args, int multiprocessors, cudaStream_t stream)
{
	const int64_t whole = (args->row_count + HY_CUDA_ASSIGN_TILE - 1) / HY_CUDA_ASSIGN_TILE;
	const int64_t met = (int64_t) args->row_count * args->groups.probes;
	const int64_t ends = met < args->groups.groups ? met : args->groups.groups;
	cudaError_t error =
		HY_CUDA_LAUNCH(hy_assign_begin_kernel, hy_assign_grid(multiprocessors), HY_CUDA_THREADS,
	                   stream, args->groups, (int) args->row_count, args->found);

	if (error != cudaSuccess)
		return error;
	if (args->groups.groups == 0)
		return hy_assign_launch_tiles(*args, whole, args->end - args->first, multiprocessors,
		                              stream);
	error = hy_assign_launch_groups(*args, multiprocessors, stream);
	if (error != cudaSuccess)
		return error;
	/* each group may end with an incomplete tile; surplus blocks end immediately */
	return hy_assign_launch_tiles(*args, met / HY_CUDA_ASSIGN_TILE + ends, args->groups.largest,
	                              multiprocessors, stream);
}

extern "C" cudaError_t
hy_cuda_launch_assign_rest(const HyCudaAssign *args, int multiprocessors, cudaStream_t stream)
{
	const int64_t tiles = (args->row_count + HY_CUDA_ASSIGN_TILE - 1) / HY_CUDA_ASSIGN_TILE;

	return hy_assign_launch_tiles(*args, tiles, args->groups.largest, multiprocessors, stream);
}

#endif
