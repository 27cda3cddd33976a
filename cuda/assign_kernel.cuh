/*
 * assign_kernel.cuh
 *		The kernels of the operation 'assign': they compare tiles of rows with centroids, and keep
 *		the nearest centroid of each row.
 *
 * A block keeps a tile of eight rows in shared memory.  Its warps read the centroids, two per warp
 * at a time, so one read of an element serves eight pairs.  A thread keeps its result in a
 * register, because it always has the same row.  Results are combined only when the block has
 * processed its share of the centroids.  Blocks that run at the same time read the same centroids,
 * so these centroids stay in the caches.
 *
 * With groups, the kernels of 'topk' first find the groups that each row is compared with.  Then
 * the rows are sorted by group.  A tile has rows of one group, and is compared only with that
 * group's centroids.  The order of rows within a group varies, but the results do not depend on it.
 */
#ifndef HY_CUDA_ASSIGN_KERNEL_CUH
#define HY_CUDA_ASSIGN_KERNEL_CUH

#include "cuda/assign_launch.h"
#include "cuda/row_sums.cuh"

/*
 * HyAssignKind: the parameters for which the kernel is compiled.  With more pairs per warp, the
 * compiler would spill registers.
 */
typedef HyKind<HY_METRIC_L2, float, 2, HY_CUDA_ASSIGN_TILE> HyAssignKind;

/* HyAssignTile: a block's rows, and the centroids to compare them with. */
struct HyAssignTile
{
	const int32_t *members; /* rows of the group; NULL: rows in their original order */
	int first;
	int count; /* number of rows in the tile; 0: none */
	int64_t begin;
	int64_t end;
	const float *row[HY_CUDA_ASSIGN_TILE];
};

__device__ __forceinline__ int
hy_query_at(const HyAssignTile &tile, int q)
{
	if (q >= tile.count)
		return -1;
	return tile.members != NULL ? tile.members[tile.first + q] : tile.first + q;
}

/*
 * hy_load_queries: load a segment of the tile's rows.  In this kernel, the rows have the role of
 * queries, and the centroids that of rows.  Reads the rows' addresses from shared memory, because
 * the kernel has no free registers.
 */
template <class Kind>
__device__ __forceinline__ void
hy_load_queries(const HyCudaRows &args, const HyAssignTile &tile, int start,
                float (*query)[HY_CUDA_SEGMENT])
{
#pragma unroll 2 /* with more unrolling, the compiler would spill registers */
	for (int q = 0; q < HY_CUDA_ASSIGN_TILE; q++)
	{
		for (int i = threadIdx.x; i < HY_CUDA_SEGMENT; i += HY_CUDA_THREADS)
			query[q][i] = q < tile.count && start + i < args.dims ? tile.row[q][start + i] : 0.0f;
	}
}

/*
 * hy_assign_tile: return tile number `at`, with part number `part` of its centroids.  Each part has
 * `share` centroids.
 */
__device__ __forceinline__ HyAssignTile
hy_assign_tile(const HyCudaAssign &args, int at, int64_t part, int64_t share)
{
	const HyCudaAssignGroups &groups = args.groups;
	HyAssignTile tile;
	int rows = args.row_count;

	tile.members = NULL;
	tile.first = at * HY_CUDA_ASSIGN_TILE;
	tile.begin = args.first;
	tile.end = args.end;
	if (groups.groups > 0)
	{
		int low = 0;
		int high = groups.groups;

		/* tiles[low] <= at; also at < tiles[high], except in a surplus block of the launch */
		while (high - low > 1)
		{
			const int middle = low + (high - low) / 2;

			if (groups.tiles[middle] <= at)
				low = middle;
			else
				high = middle;
		}
		tile.members = groups.members;
		tile.first = groups.firsts[low] + (at - groups.tiles[low]) * HY_CUDA_ASSIGN_TILE;
		tile.begin = groups.begin[low];
		tile.end = groups.begin[low + 1];
		rows = at < groups.tiles[groups.groups] ? groups.firsts[low + 1] : tile.first;
	}
	tile.count = rows - tile.first < HY_CUDA_ASSIGN_TILE ? rows - tile.first : HY_CUDA_ASSIGN_TILE;
	tile.begin += part * share;
	if (tile.begin >= tile.end)
		tile.count = 0;
	else if (tile.end - tile.begin > share)
		tile.end = tile.begin + share;
	return tile;
}

/*
 * hy_assign_kernel: compare tile blockIdx.x with part blockIdx.y of its centroids.  A part has
 * `share` centroids.
 */
__global__ void
__launch_bounds__(HY_CUDA_THREADS, HyAssignKind::resident_blocks)
	hy_assign_kernel(const HyCudaAssign args, int64_t share)
{
	__shared__ float rows[HY_CUDA_ASSIGN_TILE][HY_CUDA_SEGMENT];
	__shared__ unsigned long long found[HY_CUDA_ASSIGN_TILE];
	__shared__ HyAssignTile tile;
	const int lane = threadIdx.x % HY_CUDA_WARP;
	const int warp = threadIdx.x / HY_CUDA_WARP;
	const int pair = lane * HyAssignKind::pairs / HY_CUDA_WARP;
	const int mine = pair % HyAssignKind::queries;
	unsigned long long least = HY_CUDA_ASSIGN_NONE;
	HyCudaRows sums = {};

	if (threadIdx.x == 0)
		tile = hy_assign_tile(args, blockIdx.x, blockIdx.y, share);
	if (threadIdx.x < HY_CUDA_ASSIGN_TILE)
		found[threadIdx.x] = HY_CUDA_ASSIGN_NONE;
	__syncthreads();
	if (tile.count <= 0)
		return;
	if ((int) threadIdx.x < tile.count)
		tile.row[threadIdx.x] =
			args.rows + (int64_t) hy_query_at(tile, threadIdx.x) * args.row_stride;
	__syncthreads();
	sums.targets = args.centroids;
	sums.stride = (int64_t) args.dims * sizeof(float);
	sums.rows = tile.end;
	sums.dims = args.dims;
	if (args.dims <= HY_CUDA_SEGMENT)
		hy_load_queries<HyAssignKind>(sums, tile, 0, rows);
	__syncthreads();

	/*
	 * all warps of the block must run the same number of iterations, because all of them must reach
	 * the barriers
	 */
	for (int64_t at = tile.begin; at < tile.end; at += HY_CUDA_WARPS * HyAssignKind::rows)
	{
		const int64_t first = at + warp * HyAssignKind::rows;
		const int64_t centroid = first + pair / HyAssignKind::queries;
		const float sum = hy_row_sums<HyAssignKind>(sums, tile, first, rows, NULL);

		/* NaN is never the nearest */
		if (centroid < tile.end && sum == sum)
		{
			const unsigned long long candidate =
				(unsigned long long) __float_as_uint(sum) << 32 | (unsigned long long) centroid;

			least = candidate < least ? candidate : least;
		}
	}

	if (mine < tile.count && least != HY_CUDA_ASSIGN_NONE)
		atomicMin(&found[mine], least);
	__syncthreads();
	if ((int) threadIdx.x < tile.count && found[threadIdx.x] != HY_CUDA_ASSIGN_NONE)
		atomicMin(&args.found[hy_query_at(tile, threadIdx.x)], found[threadIdx.x]);
}

/* hy_assign_begin_kernel: initialize the results and the groups of rows. */
__global__ void
__launch_bounds__(HY_CUDA_THREADS) hy_assign_begin_kernel(const HyCudaAssignGroups groups,
                                                          int row_count, unsigned long long *found)
{
	const int threads = gridDim.x * HY_CUDA_THREADS;
	const int at = blockIdx.x * HY_CUDA_THREADS + threadIdx.x;

	for (int i = at; i < row_count; i += threads)
		found[i] = HY_CUDA_ASSIGN_NONE;
	if (groups.groups == 0)
		return;
	for (int i = at; i < row_count * groups.probes; i += threads)
	{
		groups.met[i].distance = HUGE_VAL;
		groups.met[i].row = HY_CUDA_NO_ROW;
	}
	for (int i = at; i < groups.groups; i += threads)
		groups.counts[i] = 0;
}

/* hy_assign_count_kernel: count the rows that are compared with each group. */
__global__ void
__launch_bounds__(HY_CUDA_THREADS)
	hy_assign_count_kernel(const HyCudaAssignGroups groups, int row_count)
{
	for (int i = blockIdx.x * HY_CUDA_THREADS + threadIdx.x; i < row_count * groups.probes;
	     i += gridDim.x * HY_CUDA_THREADS)
	{
		if (groups.met[i].row != HY_CUDA_NO_ROW)
			atomicAdd(&groups.counts[groups.met[i].row], 1);
	}
}

/*
 * hy_assign_scan_kernel: compute the first member and the first tile of each group.  Runs as one
 * block.
 */
__global__ void
__launch_bounds__(HY_CUDA_THREADS) hy_assign_scan_kernel(const HyCudaAssignGroups groups)
{
	__shared__ int members[HY_CUDA_THREADS + 1];
	__shared__ int tiles[HY_CUDA_THREADS + 1];
	const int at = threadIdx.x;
	const int share = (groups.groups + HY_CUDA_THREADS - 1) / HY_CUDA_THREADS;
	const int first = at * share < groups.groups ? at * share : groups.groups;
	const int end = first + share < groups.groups ? first + share : groups.groups;
	int member = 0;
	int tile = 0;

	for (int g = first; g < end; g++)
	{
		member += groups.counts[g];
		tile += (groups.counts[g] + HY_CUDA_ASSIGN_TILE - 1) / HY_CUDA_ASSIGN_TILE;
	}
	members[at + 1] = member;
	tiles[at + 1] = tile;
	__syncthreads();
	if (at == 0)
	{
		members[0] = 0;
		tiles[0] = 0;
		for (int i = 1; i <= HY_CUDA_THREADS; i++)
		{
			members[i] += members[i - 1];
			tiles[i] += tiles[i - 1];
		}
		groups.firsts[groups.groups] = members[HY_CUDA_THREADS];
		groups.tiles[groups.groups] = tiles[HY_CUDA_THREADS];
	}
	__syncthreads();
	member = members[at];
	tile = tiles[at];
	for (int g = first; g < end; g++)
	{
		const int count = groups.counts[g];

		groups.firsts[g] = member;
		groups.tiles[g] = tile;
		groups.counts[g] = 0;
		member += count;
		tile += (count + HY_CUDA_ASSIGN_TILE - 1) / HY_CUDA_ASSIGN_TILE;
	}
}

/* hy_assign_sort_kernel: store each row as a member of the groups that it is compared with. */
__global__ void
__launch_bounds__(HY_CUDA_THREADS)
	hy_assign_sort_kernel(const HyCudaAssignGroups groups, int row_count)
{
	for (int i = blockIdx.x * HY_CUDA_THREADS + threadIdx.x; i < row_count * groups.probes;
	     i += gridDim.x * HY_CUDA_THREADS)
	{
		const int64_t group = groups.met[i].row;

		if (group != HY_CUDA_NO_ROW)
			groups.members[groups.firsts[group] + atomicAdd(&groups.counts[group], 1)] =
				i / groups.probes;
	}
}

#endif
