/*
 * topk_kernel.cuh
 *		The kernels of the operation 'topk'.  A distance is compared with the k best so far as soon
 *		as it is computed, so no matrix of distances is stored.
 *
 * A block processes its share of the rows, tile by tile.  A row that precedes the worst of the
 * block's k best is added to a buffer in shared memory.  When the buffer holds somewhat more than k
 * rows, it is sorted.  Only the k best are kept, and the last of these is the new worst.  After n
 * rows, about one row in n / k is added.  Most blocks sort two or three times.
 *
 * Each block stores its k best as a list in ascending order.  Then the lists are merged into the k
 * best of the earlier pieces.  The last of these k best is the initial worst of the next piece's
 * blocks.  The merge reads the first entries of all lists, then the second entries, and so on.  It
 * ends when it has read one entry of each list and none of these precedes the worst: the lists are
 * sorted, so no later entry does either.  The entries are stored in the order of the merge, so if
 * there are few lists, one read of the block gets several entries of each list.  For one query, the
 * last block to finish merges the lists.  A second kernel would start only after the first has
 * ended, and the host would have to queue it.  For several queries, a second kernel merges, with
 * one block per query. (A block of the first kernel has four queries, so its last block would have
 * to merge four queries' lists one after another.  Besides, with many queries there are few lists
 * per query.)
 *
 * Candidates are ordered as in hy_neighbor_compare (best.cuh).  So the result does not depend on
 * the order in which they arrive, or on the division of rows into pieces, blocks and tiles.
 */
#ifndef HY_CUDA_TOPK_KERNEL_CUH
#define HY_CUDA_TOPK_KERNEL_CUH

#include "cuda/best.cuh"
#include "cuda/single_sums.cuh"

/*
 * Number of entries that a merge offers to the buffer at a time.  In the first piece, all of the
 * first HY_CUDA_MERGED entries may be added to the buffer, so the number should be small.
 */
#define HY_CUDA_MERGED 64

static_assert(HY_CUDA_MERGED <= HY_CUDA_ROOM - HY_CUDA_MAX_K, "they fit beside the k best");

/*
 * hy_tile_rows: return the number of rows in a tile.  The buffer has room for k rows, a tile and
 * somewhat more.  If there are few rows, a tile is a small multiple of the number of rows that the
 * warps process at once, so that all blocks get about the same number of rows.
 */
__device__ __forceinline__ int
hy_tile_rows(int k, int64_t rows, int turn)
{
	const int most = k <= HY_CUDA_MAX_K / 2 ? 128 : 64;
	const int64_t share = (rows + gridDim.x - 1) / gridDim.x;

	return share < most ? (int) (share + turn - 1) / turn * turn : most;
}

/* hy_no_limit: return infinity, which no distance exceeds. */
__device__ __forceinline__ double
hy_no_limit()
{
	return __longlong_as_double(0x7ff0000000000000LL);
}

/* hy_worst_so_far: return the neighbor that the next row of a query must precede. */
__device__ __forceinline__ HyNeighbor
hy_worst_so_far(const HyCudaTopK &args, int q)
{
	HyNeighbor worst;

	if (!args.empty)
		return args.best[(int64_t) q * args.k + args.k - 1];
	worst.distance = args.limits != NULL ? args.limits[q] : hy_no_limit();
	worst.row = HY_CUDA_NO_ROW;
	return worst;
}

/*
 * hy_arrives_last: return whether this block is the last to arrive here.  If it is, it sees
 * everything that the other blocks wrote, and it resets the counter.  All threads of the block must
 * call this.
 */
__device__ __forceinline__ bool
hy_arrives_last(unsigned *arrived)
{
	__shared__ bool last;

	__threadfence();
	__syncthreads();
	if (threadIdx.x == 0)
		last = atomicInc(arrived, gridDim.x - 1) == gridDim.x - 1;
	__syncthreads();
	if (last)
		__threadfence();
	return last;
}

/*
 * hy_list_entry: return entry number `at` of a query's lists.  Beyond the end of the lists, return
 * an entry that precedes no other.
 */
__device__ __forceinline__ HyNeighbor
hy_list_entry(const HyNeighbor *lists, int at, int count)
{
	HyNeighbor entry;

	entry.distance = hy_nan();
	entry.row = 0;
	if (at < count)
		entry = lists[at];
	return entry;
}

/*
 * hy_merge: merge the lists of query q into the query's k best.  All threads of the block must call
 * this.  Overwrites *best.
 */
__device__ __forceinline__ void
hy_merge(const HyCudaTopK &args, int q, int list_count, HyBest *best)
{
	const int count = args.k * list_count;
	const int64_t first = (int64_t) q * args.k;
	const HyNeighbor *lists = args.lists + first * list_count;
	HyNeighbor *answer = (args.answer != NULL ? args.answer : args.best) + first;
	HyNeighbor next = hy_list_entry(lists, (int) threadIdx.x, count);
	int skipped = 0; /* entries read since the last entry that preceded the worst */

	if (threadIdx.x == 0)
	{
		best->count = 0;
		best->worst = hy_worst_so_far(args, q);
	}
	__syncthreads();
	for (int i = threadIdx.x; i < args.k && !args.empty; i += HY_CUDA_THREADS)
	{
		const HyNeighbor found = args.best[first + i];

		if (found.row != HY_CUDA_NO_ROW)
			best->found[atomicAdd(&best->count, 1)] = found;
	}

	/*
	 * The first entries of all lists come first, then the second entries, and so on.  Once one
	 * entry of each list has been read without any that precedes the worst, no later entry precedes
	 * it.  One block runs this code once, when most of its instructions are not in a cache yet, so
	 * the code should be short.
	 */
#pragma unroll 1
	for (int start = 0; start < count && skipped < list_count; start += HY_CUDA_THREADS)
	{
		const HyNeighbor mine = next;

		next = hy_list_entry(lists, start + HY_CUDA_THREADS + (int) threadIdx.x, count);
		skipped += HY_CUDA_THREADS;
		if (!__syncthreads_or(hy_before(mine, best->worst)))
			continue;
		skipped = 0;
#pragma unroll 1
		for (int end = HY_CUDA_MERGED; end <= HY_CUDA_THREADS; end += HY_CUDA_MERGED)
		{
			if ((int) threadIdx.x < end && (int) threadIdx.x >= end - HY_CUDA_MERGED)
				hy_offer(best, mine);
			/* the last call sorts, so that the next entries are compared with the current worst */
			hy_make_room(best, args.k,
			             end < HY_CUDA_THREADS ? HY_CUDA_MERGED : HY_CUDA_ROOM - args.k);
		}
	}

	hy_keep_best(best, args.k);
	/* if fewer than k rows were found, the worst is still the initial value */
	for (int i = threadIdx.x; i < args.k; i += HY_CUDA_THREADS)
		answer[i] = i < best->count ? best->found[i] : best->worst;
}

/* hy_store_list: store the k best rows as a list.  Its entries are gridDim.x apart. */
__device__ __forceinline__ void
hy_store_list(const HyCudaTopK &args, const HyBest *best, HyNeighbor *list)
{
	for (int i = threadIdx.x; i < args.k; i += HY_CUDA_THREADS)
	{
		HyNeighbor none;

		none.distance = hy_nan();
		none.row = 0;
		list[(int64_t) i * gridDim.x] = i < best->count ? best->found[i] : none;
	}
}

/*
 * hy_topk_kernel: find the k best of a block's rows for each of the block's queries, and store them
 * as list number blockIdx.x of the query.  Entry i of list l of query q is lists[(q * k + i) *
 * list_count + l].  A short list is filled with entries that precede no other.  For one query, if
 * there is a counter of blocks, the last block also merges the lists.
 */
template <class Kind>
__global__ void
__launch_bounds__(HY_CUDA_THREADS, Kind::resident_blocks) hy_topk_kernel(const HyCudaTopK args)
{
	__shared__ __align__(16) float query[Kind::queries][HY_CUDA_SEGMENT];
	__shared__ HyBest best[Kind::queries];
	const int lane = threadIdx.x % HY_CUDA_WARP;
	const int warp = threadIdx.x / HY_CUDA_WARP;
	const int pair = lane * Kind::pairs / HY_CUDA_WARP;
	const int first_query = blockIdx.y * Kind::queries;
	const int turn_rows = HY_CUDA_WARPS * Kind::rows;
	const int tile_rows = hy_tile_rows(args.k, args.rows.rows, turn_rows);
	const int64_t first_tile = (int64_t) blockIdx.x * tile_rows;

	if (threadIdx.x < Kind::queries)
	{
		const int at = first_query + threadIdx.x;

		best[threadIdx.x].count = 0;
		if (at < args.rows.query_count)
			best[threadIdx.x].worst = hy_worst_so_far(args, at);
		else
		{
			/* no row precedes this one */
			best[threadIdx.x].worst.distance = hy_nan();
			best[threadIdx.x].worst.row = 0;
		}
	}
	if (args.rows.dims <= HY_CUDA_SEGMENT)
		hy_load_queries<Kind>(args.rows, first_query, 0, query);
	__syncthreads();

	const HyCudaRows rows = hy_with_norm<Kind>(args.rows, query);

	/*
	 * all warps of the block must run the same number of iterations, because all of them must reach
	 * the barriers
	 */
	for (int64_t tile = first_tile; tile < rows.rows; tile += (int64_t) gridDim.x * tile_rows)
	{
		for (int turn = 0; turn < tile_rows && tile + turn < rows.rows; turn += turn_rows)
		{
			const int64_t first_row = tile + turn + warp * Kind::rows;
			const int64_t row = first_row + pair / Kind::queries;
			HyNeighbor candidate;

			candidate.distance = hy_row_distance<Kind>(rows, first_query, first_row, query);
			candidate.row = args.first_row + row;
			/* several threads have the distance; only the first of them offers it */
			if (lane * Kind::pairs % HY_CUDA_WARP == 0 && row < rows.rows)
				hy_offer(&best[pair % Kind::queries], candidate);
			/*
			 * The buffers are checked after each tile, and also after the block's first turn,
			 * because nearly all rows of that turn are added.  Once these are sorted, fewer of the
			 * next rows are added.
			 */
			if (tile + turn > first_tile && turn + turn_rows < tile_rows &&
			    tile + turn + turn_rows < rows.rows)
				continue;
#pragma unroll
			for (int q = 0; q < Kind::queries; q++)
				hy_make_room(&best[q], args.k, tile_rows);
		}
	}

	for (int q = 0; q < Kind::queries && first_query + q < args.rows.query_count; q++)
	{
		HyNeighbor *list =
			args.lists + (int64_t) (first_query + q) * args.k * gridDim.x + blockIdx.x;

		hy_keep_best(&best[q], args.k);
		hy_store_list(args, &best[q], list);
	}

	if constexpr (Kind::queries == 1)
	{
		if (args.arrived != NULL && hy_arrives_last(args.arrived))
			hy_merge(args, 0, (int) gridDim.x, &best[0]);
	}
}

/*
 * hy_topk_merge_kernel: merge the lists of query blockIdx.y.  As in other kernels, the launch bound
 * of two blocks is needed: without it, the compiler spills registers, although some are free.
 */
__global__ void
__launch_bounds__(HY_CUDA_THREADS, 2) hy_topk_merge_kernel(const HyCudaTopK args, int list_count)
{
	__shared__ HyBest best;

	hy_merge(args, blockIdx.y, list_count, &best);
}

#endif
