/*
 * filter_settle_kernel.cuh
 *		Computes the canonical distances of candidates.  Only these distances decide which rows are
 *		the k best.
 */
#ifndef HY_CUDA_FILTER_SETTLE_KERNEL_CUH
#define HY_CUDA_FILTER_SETTLE_KERNEL_CUH

#include "cuda/best.cuh"
#include "cuda/filter_launch.h"
#include "cuda/matrix.cuh"
#include "cuda/single_sums.cuh"

/*
 * hy_settle_kernel: compare the rows on the list of query blockIdx.x with the query.  If the list
 * has overflowed, the missing rows are unknown, so all rows of the piece are compared.
 */
template <class Kind>
__global__ void
__launch_bounds__(HY_CUDA_THREADS, Kind::resident_blocks)
	hy_settle_kernel(const HyCudaFiltered args)
{
	hy_needs_bfloat16();

	__shared__ __align__(16) float query[Kind::queries][HY_CUDA_SEGMENT];
	__shared__ HyBest best;
	const int lane = threadIdx.x % HY_CUDA_WARP;
	const int warp = threadIdx.x / HY_CUDA_WARP;
	const int mine = lane * Kind::pairs / HY_CUDA_WARP;
	const int turn = HY_CUDA_WARPS * Kind::rows;
	const int q = blockIdx.x;
	const int32_t *found = args.found + (int64_t) q * args.list_room;
	HyNeighbor *result = args.best + (int64_t) q * args.k;
	const bool all = args.count[q] > args.list_room;
	const int64_t candidates = all ? args.rows.rows : args.count[q];

	if (candidates == 0)
		return;
	if (threadIdx.x == 0)
	{
		best.count = 0;
		best.worst = result[args.k - 1];
		if (all)
			atomicAdd(args.overflow, 1);
	}
	if (args.rows.dims <= HY_CUDA_SEGMENT)
		hy_load_queries<Kind>(args.rows, q, 0, query);
	__syncthreads();
	for (int i = threadIdx.x; i < args.k; i += HY_CUDA_THREADS)
	{
		const HyNeighbor before = result[i];

		if (before.row != HY_CUDA_NO_ROW)
			best.found[atomicAdd(&best.count, 1)] = before;
	}
	hy_make_room(&best, args.k, turn);

	/*
	 * all warps must run the same number of iterations, because all of them must reach the barriers
	 */
	for (int64_t start = 0; start < candidates; start += turn)
	{
		const int64_t at = start + warp * Kind::rows;
		const int64_t entry = at + mine < candidates ? at + mine : candidates - 1;
		const int64_t row = all ? entry : found[entry];
		HyNeighbor candidate;

		candidate.distance = hy_single_distance<Kind>(args.rows, q, at < candidates,
		                                              hy_row<Kind>(args.rows, row), query);
		candidate.row = args.first_row + row;
		/* several threads have the distance; only the first of them offers it */
		if (lane * Kind::pairs % HY_CUDA_WARP == 0 && at + mine < candidates)
			hy_offer(&best, candidate);
		hy_make_room(&best, args.k, turn);
	}

	hy_keep_best(&best, args.k);
	for (int i = threadIdx.x; i < best.count; i += HY_CUDA_THREADS)
		result[i] = best.found[i];
}

#endif
