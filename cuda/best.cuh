/*
 * best.cuh
 *		The k best candidates of a query among the rows that a block has seen.  A buffer in shared
 *		memory holds the candidates, and is sorted from time to time.
 *
 * Candidates are ordered as in hy_neighbor_compare.
 */
#ifndef HY_CUDA_BEST_CUH
#define HY_CUDA_BEST_CUH

#include "cuda/row_sums.cuh"

#define HY_CUDA_ROOM HY_CUDA_THREADS /* capacity of a buffer; sorting needs one thread per entry */

/* log2 of the threads that share the work for a candidate: at most 2^3 = 8 */
#define HY_CUDA_MOST_SHARED 3
#define HY_CUDA_SORT_EARLY 16 /* the buffer is sorted at 1.5 k candidates plus this */

/* HyBest: a block's candidates for one query, in shared memory. */
struct HyBest
{
	HyNeighbor found[HY_CUDA_ROOM];
	HyNeighbor worst; /* candidates that do not precede this neighbor are dropped */
	int count;
};

/*
 * hy_before: return whether a precedes b; false if a distance is NaN.  The code has no branch,
 * because the threads of a warp would take different branches.
 */
__device__ __forceinline__ bool
hy_before(const HyNeighbor &a, const HyNeighbor &b)
{
	const int nearer = a.distance < b.distance;
	const int equal = a.distance == b.distance;
	const int first = a.row < b.row;

	return (nearer | (equal & first)) != 0;
}

/*
 * hy_offer: keep a candidate if it precedes best->worst.  The caller has made room for it
 * (hy_make_room).
 */
__device__ __forceinline__ void
hy_offer(HyBest *best, const HyNeighbor &candidate)
{
	if (hy_before(candidate, best->worst))
		best->found[atomicAdd(&best->count, 1)] = candidate;
}

/*
 * hy_keep_best: keep the k best candidates in ascending order and drop the others.  All threads of
 * the block must call this after a barrier.  If there are enough threads, neighboring threads share
 * the work for a candidate.
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
#pragma unroll 4 /* most buffers hold few candidates, and longer code takes longer to load */
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
 * hy_make_room: make room for `more` candidates.  All threads of the block must call this.  The
 * buffer is sorted as soon as it holds somewhat more than k candidates, even if there is room left.
 * Sorting lowers the distance of best->worst, so that fewer later rows are kept.
 */
__device__ __forceinline__ void
hy_make_room(HyBest *best, int k, int more)
{
	int count;

	__syncthreads();
	count = best->count;
	/* no thread may add a candidate before all threads have read the count */
	__syncthreads();
	if (count + more > HY_CUDA_ROOM || count > k + k / 2 + HY_CUDA_SORT_EARLY)
		hy_keep_best(best, k);
}

#endif
