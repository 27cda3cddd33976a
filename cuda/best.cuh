/*
 * best.cuh
 *		The k best of what a block has seen for a query: a buffer in shared memory, sorted when it is
 *		full.
 *
 * Candidates are compared as hy_neighbor_compare does it.
 */
#ifndef HY_CUDA_BEST_CUH
#define HY_CUDA_BEST_CUH

#include "cuda/row_sums.cuh"

#define HY_CUDA_ROOM HY_CUDA_THREADS /* candidates of a buffer: sorting gives each a thread */

/* HyBest: a block's candidates for one query; all of it is shared memory. */
struct HyBest
{
	HyNeighbor found[HY_CUDA_ROOM];
	HyNeighbor worst; /* what a candidate has to be before */
	int count;
};

/* hy_before: whether a is the nearer; never where its distance is NaN. */
__device__ __forceinline__ bool
hy_before(const HyNeighbor &a, const HyNeighbor &b)
{
	return a.distance < b.distance || (a.distance == b.distance && a.row < b.row);
}

/* hy_offer: keeps a candidate if it is near enough; there must be room. */
__device__ __forceinline__ void
hy_offer(HyBest *best, const HyNeighbor &candidate)
{
	if (hy_before(candidate, best->worst))
		best->found[atomicAdd(&best->count, 1)] = candidate;
}

/*
 * hy_keep_best: the k best candidates in ascending order, the others dropped.  The whole block
 * comes, after a barrier.
 */
__device__ __forceinline__ void
hy_keep_best(HyBest *best, int k)
{
	const int at = threadIdx.x;
	const int count = best->count;
	HyNeighbor mine = {};
	int rank = 0;

	if (at < count)
	{
		mine = best->found[at];
		for (int i = 0; i < count; i++)
			rank += hy_before(best->found[i], mine);
	}
	__syncthreads();
	if (at < count && rank < k)
	{
		best->found[rank] = mine;
		if (rank == k - 1)
			best->worst = mine;
	}
	if (at == 0 && count > k)
		best->count = k;
	__syncthreads();
}

/* hy_make_room: for so many more candidates.  The whole block comes. */
__device__ __forceinline__ void
hy_make_room(HyBest *best, int k, int more)
{
	int count;

	__syncthreads();
	count = best->count;
	/* nobody may add to it before all have read it */
	__syncthreads();
	if (count + more > HY_CUDA_ROOM)
		hy_keep_best(best, k);
}

#endif
