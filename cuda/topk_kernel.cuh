/*
 * topk_kernel.cuh
 *		The kernels of the operation 'topk': distances that meet the k best so far at once, so that
 *		there is never a matrix of them.
 *
 * A block passes over its share of the rows, a tile after the other.  A row nearer than the worst of
 * the k best that the block knows goes into a buffer in shared memory; when there are some more than k,
 * the buffer is sorted, all but the k best are dropped, and the last of those is the worst from now
 * on.  After n rows one in n / k gets so far, and most blocks sort two or three times.
 *
 * Each block leaves its k best as a list in ascending order.  Then the lists are merged into the k
 * best of the pieces before this one, where the next piece's blocks find the worst to begin with: the
 * first of all lists, then the second of all, until no list has any that is near enough, mostly after
 * few.  Of one query the block that is done last does it, for another kernel would begin when that has
 * ended, and the host would have to queue it.  Of several a second kernel does, with a block for each
 * query: the last block would merge those of four queries one after another, and of many queries there
 * are few lists each.
 *
 * Candidates are compared as hy_neighbor_compare does it (best.cuh), so what is found depends neither on
 * the order in which they come nor on how rows are cut into pieces, blocks and tiles.
 */
#ifndef HY_CUDA_TOPK_KERNEL_CUH
#define HY_CUDA_TOPK_KERNEL_CUH

#include "cuda/best.cuh"
#include "cuda/row_sums.cuh"

#define HY_CUDA_MERGED 128 /* entries of lists that a merge offers at a time */

/*
 * hy_tile_rows: rows of a tile; k and a tile have room together, and some of the buffer is left.  Where
 * there are few rows, a tile is what the warps take at once, or some times that, so that all blocks have
 * as many.
 */
__device__ __forceinline__ int
hy_tile_rows(int k, int64_t rows, int turn)
{
	const int most = k <= HY_CUDA_MAX_K / 2 ? 128 : 64;
	const int64_t share = (rows + gridDim.x - 1) / gridDim.x;

	return share < most ? (int) (share + turn - 1) / turn * turn : most;
}

/* hy_no_limit: infinity, which no distance passes. */
__device__ __forceinline__ double
hy_no_limit()
{
	return __longlong_as_double(0x7ff0000000000000LL);
}

/* hy_worst_so_far: what a query's next row has to be before. */
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
 * hy_arrives_last: whether all other blocks have come here before; then what they wrote is there to be
 * read.  The whole block comes, and the counter begins anew.
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
 * hy_merge: the lists of query q into its k best.  The whole block comes; what was in best is of no
 * use any more.
 */
__device__ __forceinline__ void
hy_merge(const HyCudaTopK &args, int q, int list_count, HyBest *best)
{
	const int parts = HY_CUDA_THREADS / HY_CUDA_MERGED;
	const int64_t first = (int64_t) q * args.k;
	HyNeighbor *answer = (args.answer != NULL ? args.answer : args.best) + first;

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
	hy_make_room(best, args.k, HY_CUDA_MERGED);

	for (int i = 0; i < args.k; i++)
	{
		const HyNeighbor *entry = args.lists + (first + i) * list_count;
		int offered = 0;

		/* two entries a thread are asked for at once, then offered part by part */
		for (int start = 0; start < list_count; start += 2 * HY_CUDA_THREADS)
		{
			HyNeighbor mine[2];

#pragma unroll
			for (int j = 0; j < 2; j++)
			{
				const int at = start + j * HY_CUDA_THREADS + (int) threadIdx.x;

				mine[j].distance = hy_nan();
				mine[j].row = 0;
				if (at < list_count)
					mine[j] = entry[at];
			}
#pragma unroll
			for (int part = 0; part < 2 * parts; part++)
			{
				const HyNeighbor &candidate = mine[part / parts];

				if ((int) threadIdx.x / HY_CUDA_MERGED == part % parts &&
				    hy_before(candidate, best->worst))
				{
					hy_offer(best, candidate);
					offered = 1;
				}
				hy_make_room(best, args.k, HY_CUDA_MERGED);
			}
		}

		/* What is behind an entry that was too far is farther. */
		if (!__syncthreads_or(offered))
			break;
		/* of the next ones none that only an older worst would let in */
		hy_make_room(best, args.k, HY_CUDA_ROOM - args.k);
	}

	hy_keep_best(best, args.k);
	/* where fewer were found, the worst is still that of the beginning */
	for (int i = threadIdx.x; i < args.k; i += HY_CUDA_THREADS)
		answer[i] = i < best->count ? best->found[i] : best->worst;
}

/*
 * hy_topk_kernel: the k best of a block's rows for each of its queries, into list number blockIdx.x
 * of the query.  Entry i of list l of query q is lists[(q * k + i) * list_count + l]; a list that is
 * short ends in entries that are before nothing.  Of one query they are merged, too, where there is a
 * counter of blocks.
 */
template <class Kind>
__global__ void
__launch_bounds__(HY_CUDA_THREADS, Kind::resident_blocks) hy_topk_kernel(const HyCudaTopK args)
{
	__shared__ float query[Kind::queries][HY_CUDA_SEGMENT];
	__shared__ HyBest best[Kind::queries];
	const int lane = threadIdx.x % HY_CUDA_WARP;
	const int warp = threadIdx.x / HY_CUDA_WARP;
	const int pair = lane * Kind::pairs / HY_CUDA_WARP;
	const int first_query = blockIdx.y * Kind::queries;
	const int turn_rows = HY_CUDA_WARPS * Kind::rows;
	const int tile_rows = hy_tile_rows(args.k, args.rows.rows, turn_rows);

	if (threadIdx.x < Kind::queries)
	{
		const int at = first_query + threadIdx.x;

		best[threadIdx.x].count = 0;
		if (at < args.rows.query_count)
			best[threadIdx.x].worst = hy_worst_so_far(args, at);
		else
		{
			/* nothing is before it */
			best[threadIdx.x].worst.distance = hy_nan();
			best[threadIdx.x].worst.row = 0;
		}
	}
	if (args.rows.dims <= HY_CUDA_SEGMENT)
		hy_load_queries<Kind>(args.rows, first_query, 0, query);
	__syncthreads();

	const HyCudaRows rows = hy_with_norm<Kind>(args.rows, query);

	/* every warp of the block goes round the same number of times: the barriers need them all */
	for (int64_t tile = (int64_t) blockIdx.x * tile_rows; tile < rows.rows;
	     tile += (int64_t) gridDim.x * tile_rows)
	{
		for (int turn = 0; turn < tile_rows && tile + turn < rows.rows; turn += turn_rows)
		{
			const int64_t first_row = tile + turn + warp * Kind::rows;
			const int64_t row = first_row + pair / Kind::queries;
			HyNeighbor candidate;

			candidate.distance = hy_row_distance<Kind>(rows, first_query, first_row, query);
			candidate.row = args.first_row + row;
			/* of the threads that have it, the first offers */
			if (lane * Kind::pairs % HY_CUDA_WARP == 0 && row < rows.rows)
				hy_offer(&best[pair % Kind::queries], candidate);
		}
#pragma unroll
		for (int q = 0; q < Kind::queries; q++)
			hy_make_room(&best[q], args.k, tile_rows);
	}

	for (int q = 0; q < Kind::queries && first_query + q < args.rows.query_count; q++)
	{
		HyNeighbor *list =
			args.lists + (int64_t) (first_query + q) * args.k * gridDim.x + blockIdx.x;

		hy_keep_best(&best[q], args.k);
		for (int i = threadIdx.x; i < args.k; i += HY_CUDA_THREADS)
		{
			HyNeighbor none;

			none.distance = hy_nan();
			none.row = 0;
			list[(int64_t) i * gridDim.x] = i < best[q].count ? best[q].found[i] : none;
		}
	}

	if constexpr (Kind::queries == 1)
	{
		if (args.arrived != NULL && hy_arrives_last(args.arrived))
			hy_merge(args, 0, (int) gridDim.x, &best[0]);
	}
}

/*
 * hy_topk_merge_kernel: the lists of query blockIdx.y.  Two blocks, as elsewhere: where no number is
 * said the compiler spills rather than use registers that nobody else needs.
 */
__global__ void
__launch_bounds__(HY_CUDA_THREADS, 2) hy_topk_merge_kernel(const HyCudaTopK args, int list_count)
{
	__shared__ HyBest best;

	hy_merge(args, blockIdx.y, list_count, &best);
}

#endif
