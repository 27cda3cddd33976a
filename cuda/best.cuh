/*
 * best.cuh
 *		The k best of what a block has seen for a query: a buffer in shared memory, sorted when some
 *		have come.
 *
 * Candidates are compared as hy_neighbor_compare does it.
 */
#ifndef HY_CUDA_BEST_CUH
#define HY_CUDA_BEST_CUH

#include "cuda/row_sums.cuh"

#define HY_CUDA_ROOM HY_CUDA_THREADS /* candidates of a buffer: sorting gives each a thread */

#define HY_CUDA_MOST_SHARED 3 /* 8 threads, by a power of two, share a candidate at most */
#define HY_CUDA_SORT_EARLY 16 /* candidates beyond half again of k that are sorted */

/* HyBest: a block's candidates for one query; all of it is shared memory. */
struct HyBest
{
	HyNeighbor found[HY_CUDA_ROOM];
	HyNeighbor worst; /* what a candidate has to be before */
	int count;
};

/*
 * hy_before: whether a is the nearer; never where its distance is NaN.  Without a branch: the threads of
 * a warp would go either way for each candidate.
 */
__device__ __forceinline__ bool
hy_before(const HyNeighbor &a, const HyNeighbor &b)
{
	const int nearer = a.distance < b.distance;
	const int equal = a.distance == b.distance;
	const int first = a.row < b.row;

	return (nearer | (equal & first)) != 0;
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
 * comes, after a barrier.  Neighbouring threads share a candidate where there are more of them.
 */
__device__ __forceinline__ void
hy_keep_best(HyBest *best, int k)
{
	const int count = best->count;
	HyNeighbor mine = {};
	unsigned rank = 0;
	int shift = 0;

	while (shift < HY_CUDA_MOST_SHARED && count << (shift + 1) <= HY_CUDA_THREADS)
		shift++;

	const int at = (int) threadIdx.x >> shift;
	const int part = (int) threadIdx.x - (at << shift);

	if (at < count)
	{
		mine = best->found[at];
		for (int i = part; i < count; i += 1 << shift)
			rank += hy_before(best->found[i], mine);
	}
	for (int i = 0; i < shift; i++)
		rank += __shfl_xor_sync(HY_CUDA_ALL_THREADS, rank, 1 << i);
	__syncthreads();
	if (at < count && part == 0 && rank < (unsigned) k)
	{
		best->found[rank] = mine;
		if (rank == (unsigned) k - 1)
			best->worst = mine;
	}
	if (threadIdx.x == 0 && count > k)
		best->count = k;
	__syncthreads();
}

/*
 * hy_make_room: for so many more candidates.  The whole block comes.  With some more than k it does not
 * wait until they are many: a nearer worst lets fewer in.
 */
__device__ __forceinline__ void
hy_make_room(HyBest *best, int k, int more)
{
	int count;

	__syncthreads();
	count = best->count;
	/* nobody may add to it before all have read it */
	__syncthreads();
	if (count + more > HY_CUDA_ROOM || count > k + k / 2 + HY_CUDA_SORT_EARLY)
		hy_keep_best(best, k);
}

#endif
