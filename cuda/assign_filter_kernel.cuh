/*
 * assign_filter_kernel.cuh
 *		The kernels that filter 'assign': they find the centroids that may be the nearest to a row,
 *		and then choose the nearest of these centroids.
 *
 * A block multiplies a tile of rows by a tile of centroids (product_tile.cuh).  Then it examines
 * its products twice.  First it finds the greatest lower bound of each row.  Threads of a warp
 * combine their bounds by shuffles, warps in shared memory, and blocks by an atomic minimum of the
 * negated bounds.  The atomic minimum also returns the best bound of earlier blocks.  The better of
 * this bound and the block's own becomes the threshold.  A centroid whose upper bound reaches the
 * threshold is added to the row's list.  Blocks run in an arbitrary order, and the n-th block has
 * the greatest value so far with probability 1 / n, so lists stay short.  When all blocks have
 * finished, each list is filtered again by the final bound.  Few centroids besides the nearest
 * remain.
 */
#ifndef HY_CUDA_ASSIGN_FILTER_KERNEL_CUH
#define HY_CUDA_ASSIGN_FILTER_KERNEL_CUH

#include "cuda/assign_filter_launch.h"
#include "cuda/filter_round_kernel.cuh"
#include "cuda/product_tile.cuh"

#define HY_CUDA_SETTLED 4 /* canonical sums that a warp computes at a time */
/*
 * Number of tiles of rows in a strip.  All of these tiles are multiplied by one tile of centroids,
 * then by the next tile of centroids, and so on.
 */
#define HY_CUDA_ASSIGN_STRIP 128

/*
 * Value of `least` for "no lower bound".  Values of `least` are the bits of floats, transformed so
 * that they sort like the floats (hy_ascending).  This value is greater than the transformed bits
 * of infinity.
 */
#define HY_CUDA_NO_VALUE UINT32_MAX
#define HY_CUDA_SIGN 0x80000000u

__device__ __forceinline__ uint32_t
hy_ascending(float value)
{
	const uint32_t bits = __float_as_uint(value);

	return bits & HY_CUDA_SIGN ? ~bits : bits | HY_CUDA_SIGN;
}

__device__ __forceinline__ float
hy_ascended(uint32_t bits)
{
	return __uint_as_float(bits & HY_CUDA_SIGN ? bits & ~HY_CUDA_SIGN : ~bits);
}

/* HyAssignRows: a block's data about its rows, in shared memory. */
struct HyAssignRows
{
	float length[HY_CUDA_TILE];
	float rest[HY_CUDA_TILE];
	float threshold[HY_CUDA_TILE];
	uint32_t least[HY_CUDA_TILE];
};

/*
 * hy_assign_threshold: return a threshold, rounded down.  A centroid whose value <q, x> - |x|^2 / 2
 * is below the threshold cannot be the nearest. `least` is the row's greatest lower bound, negated
 * and transformed (hy_ascending).  Some centroid reaches this bound, so its canonical squared
 * distance is at most `square`.  A centroid below the threshold has a greater squared distance (t
 * in filter_launch.h).
 */
__device__ __forceinline__ float
hy_assign_threshold(const HyCudaAim &aim, uint32_t least)
{
	const double length = aim.size * aim.size;
	double square;
	double t;

	if (least >= hy_ascending(FLT_MAX))
		return -hy_infinity();
	square = length * (1 + HY_CUDA_SQUARE_SLACK) + 2 * (double) hy_ascended(least);
	if (square < 0)
		square = 0;
	square *= 1 + HY_CUDA_SQUARE_SLACK;
	t = (length * (1 - HY_CUDA_SQUARE_SLACK) - square * (1 + HY_CUDA_SQUARE_SLACK)) / 2;
	return __double2float_rd(t - fabs(t) * 1e-6);
}

/*
 * hy_assign_aim_kernel: reset the results and lists of all rows, and `rest`.  The list of a row
 * without a bound is marked as overflowed.
 */
__global__ void
__launch_bounds__(HY_CUDA_THREADS) hy_assign_aim_kernel(const HyCudaAssignFiltered args)
{
	hy_needs_bfloat16();

	const int row = blockIdx.x * HY_CUDA_THREADS + threadIdx.x;

	if (row == 0)
	{
		args.rest->begin[0] = args.assign.first;
		args.rest->begin[1] = args.assign.end;
		args.rest->firsts[0] = args.rest->firsts[1] = 0;
		args.rest->tiles[0] = args.rest->tiles[1] = 0;
	}
	if (row >= args.assign.row_count)
		return;
	args.assign.found[row] = HY_CUDA_ASSIGN_NONE;
	args.least[row] = HY_CUDA_NO_VALUE;
	args.count[row] = args.aim[row].kind == HY_CUDA_BOUNDED ? 0 : HY_CUDA_ASSIGN_LIST + 1;
}

/*
 * hy_assign_lift: compute a lower bound for each row of the thread's products: the greatest value
 * minus the largest error term of the thread's centroids.  Combine the bounds of all threads in
 * rows->least.
 */
__device__ __forceinline__ void
hy_assign_lift(const HyCudaAssignFiltered &args, int first_row, int first_centroid,
               const HyMost &most, const float (&sum)[HY_CUDA_LEFT][HyTile::right][4],
               HyAssignRows *rows)
{
	float least[HY_CUDA_LEFT * 2];

#pragma unroll
	for (int i = 0; i < HY_CUDA_LEFT * 2; i++)
		least[i] = hy_infinity();
#pragma unroll
	for (int j = 0; j < HyTile::right * 2; j++)
	{
		const int centroid = first_centroid + hy_column(j);

		if (centroid >= args.assign.end)
			continue;

		const HyCudaReach reach = args.reach[centroid];

		/* `shift` is v in the upper bound; it is not finite if the centroid has no bound */
		if (!(fabsf(reach.shift) <= FLT_MAX))
			continue;
		const float half = __fmaf_ru(-reach.shift, 3 * (float) HY_CUDA_SQUARE_SLACK, -reach.shift);

#pragma unroll
		for (int i = 0; i < HY_CUDA_LEFT * 2; i++)
			least[i] = fminf(least[i],
			                 __fmaf_ru(-reach.factor, sum[i / 2][j / 2][i % 2 * 2 + j % 2], half));
	}
#pragma unroll
	for (int i = 0; i < HY_CUDA_LEFT * 2; i++)
	{
		const int row = first_row + i * 8;
		uint32_t bits =
			hy_ascending(hy_most_bound(least[i], rows->length[row], rows->rest[row], most));

		/* four threads have products of this row */
#pragma unroll
		for (int other = 1; other < 4; other *= 2)
		{
			const uint32_t theirs = __shfl_xor_sync(HY_CUDA_ALL_THREADS, bits, other);

			bits = theirs < bits ? theirs : bits;
		}
		if (threadIdx.x % 4 == 0)
			atomicMin(&rows->least[row], bits);
	}
}

/*
 * hy_assign_open: find the centroids of a thread's products that may be the nearest, and append
 * them to the lists of their rows.  Tests the products in two steps, as hy_test does.
 */
__device__ __forceinline__ void
hy_assign_open(const HyCudaAssignFiltered &args, int tile, int first_row, int first_centroid,
               const HyMost &most, const float (&sum)[HY_CUDA_LEFT][HyTile::right][4],
               const HyAssignRows &rows)
{
	float least[HY_CUDA_LEFT * 2];

#pragma unroll
	for (int i = 0; i < HY_CUDA_LEFT * 2; i++)
	{
		const int row = first_row + i * 8;

		least[i] = -hy_most_bound(-rows.threshold[row], rows.length[row], rows.rest[row], most);
	}
#pragma unroll
	for (int j = 0; j < HyTile::right * 2; j++)
	{
		const int centroid = first_centroid + hy_column(j);

		if (centroid >= args.assign.end)
			continue;

		const HyCudaReach reach = args.reach[centroid];
		float value[HY_CUDA_LEFT * 2];

		if (!hy_reaches(reach, sum, j, least, value))
			continue;
#pragma unroll
		for (int i = 0; i < HY_CUDA_LEFT * 2; i++)
		{
			const int row = first_row + i * 8;
			const HyMost own = {reach.reach, reach.rough};
			const float bound = hy_most_bound(value[i], rows.length[row], rows.rest[row], own);

			if (!(bound < rows.threshold[row]) && tile + row < args.assign.row_count)
			{
				const int at = atomicAdd(&args.count[tile + row], 1);

				if (at < HY_CUDA_ASSIGN_LIST)
				{
					HyCudaOpen *open =
						&args.open[(int64_t) (tile + row) * HY_CUDA_ASSIGN_LIST + at];

					open->value = bound;
					open->centroid = centroid;
				}
			}
		}
	}
}

/*
 * hy_assign_look: examine a warp's sums for the tile of rows that begins with row `tile`.  All
 * threads of the block must call this.  When it returns, no thread reads *rows any more.
 */
__device__ __forceinline__ void
hy_assign_look(const HyCudaAssignFiltered &args, int tile, int first_row, int first_centroid,
               const float (&sum)[HY_CUDA_LEFT][HyTile::right][4], HyAssignRows *rows)
{
	const HyMost most = hy_most(args.reach, first_centroid, args.assign.end);

	hy_assign_lift(args, first_row, first_centroid, most, sum, rows);
	__syncthreads();
	if (threadIdx.x < HY_CUDA_TILE)
	{
		const int row = tile + threadIdx.x;
		float threshold = hy_infinity();

		/* a list that has overflowed needs no more entries */
		if (row < args.assign.row_count && args.count[row] <= HY_CUDA_ASSIGN_LIST)
		{
			const uint32_t mine = rows->least[threadIdx.x];
			const uint32_t before = atomicMin(&args.least[row], mine);

			threshold = hy_assign_threshold(args.aim[row], before < mine ? before : mine);
		}
		rows->threshold[threadIdx.x] = threshold;
	}
	__syncthreads();
	hy_assign_open(args, tile, first_row, first_centroid, most, sum, *rows);
	__syncthreads();
}

/*
 * hy_assign_known: load the data of the block's rows into *rows.  A barrier must follow before
 * other threads read *rows.
 */
__device__ __forceinline__ void
hy_assign_known(const HyCudaAssignFiltered &args, int tile, HyAssignRows *rows)
{
	if (threadIdx.x >= HY_CUDA_TILE)
		return;
	rows->length[threadIdx.x] = args.aim[tile + threadIdx.x].length;
	rows->rest[threadIdx.x] = args.aim[tile + threadIdx.x].rest;
	rows->least[threadIdx.x] = HY_CUDA_NO_VALUE;
}

/* hy_assign_product_kernel: process the tiles of a block, at most `each` (hy_turns). */
__global__ void
__launch_bounds__(HY_CUDA_THREADS, HyTile::blocks)
	hy_assign_product_kernel(const HyCudaAssignFiltered args, int each)
{
	hy_needs_bfloat16();

	__shared__ HyAssignRows rows;
	const int lane = threadIdx.x % HY_CUDA_WARP;
	const int warp = threadIdx.x / HY_CUDA_WARP;
	const int warp_row = warp / HY_CUDA_WIDE * HY_CUDA_WARP_QUERIES;
	const int warp_centroid = warp % HY_CUDA_WIDE * HyTile::warp_rows;
	const int first_row = warp_row + lane / 4;
	/* blocks that run at the same time have mostly different rows, but the same few centroids */
	const HyTurns turns = hy_turns(args.assign.row_count, args.assign.end - args.assign.first,
	                               HyTile::rows, HY_CUDA_ASSIGN_STRIP, each);
	auto input_of = [&](unsigned tile)
	{
		const HyStrip at = hy_strip(turns, tile);

		return hy_tile_input(args.rows, at.across, args.centroids,
		                     args.assign.first + (int64_t) at.along * HyTile::rows, args.assign.end,
		                     args.padded);
	};
	auto feed = hy_begin_feed(turns, input_of);
	int stage = 0;

	for (unsigned number = turns.first; number < turns.end; number++)
	{
		const HyStrip at = hy_strip(turns, number);
		const int tile = at.across * HY_CUDA_TILE;
		float sum[HY_CUDA_LEFT][HyTile::right][4] = {};

		hy_assign_known(args, tile, &rows);
		hy_tile_products(&feed, args.padded, &stage, warp_row, warp_centroid, sum);
		hy_assign_look(args, tile, first_row,
		               args.assign.first + at.along * HyTile::rows + warp_centroid + lane % 4 * 2,
		               sum, &rows);
	}
}

/*
 * hy_assign_squares: compute the canonical squared distances between a row and some centroids, with
 * all threads of a warp. hy_fold defines which thread gets which distance.
 */
__device__ __forceinline__ float
hy_assign_squares(const float *row, const float *const (&centroid)[HY_CUDA_SETTLED], int dims,
                  int lane)
{
	HyTwins twins[HY_CUDA_SETTLED] = {};

	for (int start = 0; start < dims; start += HY_CUDA_SEGMENT)
	{
		const int end = dims - start < HY_CUDA_SEGMENT ? dims : start + HY_CUDA_SEGMENT;
		HyLanes lanes[HY_CUDA_SETTLED] = {};

#pragma unroll 2
		for (int i = start + lane; i < end; i += HY_LANES)
		{
			const bool both = i + HY_CUDA_WARP < end;
			const float low = row[i];
			const float high = both ? row[i + HY_CUDA_WARP] : 0.0f;

#pragma unroll
			for (int c = 0; c < HY_CUDA_SETTLED; c++)
			{
				const float other = both ? centroid[c][i + HY_CUDA_WARP] : 0.0f;

				lanes[c].low = hy_step<HY_METRIC_L2>(lanes[c].low, low, centroid[c][i]);
				lanes[c].high = hy_step<HY_METRIC_L2>(lanes[c].high, high, other);
			}
		}
#pragma unroll
		for (int c = 0; c < HY_CUDA_SETTLED; c++)
			hy_flush(&lanes[c], &twins[c]);
	}
	return hy_fold(twins, lane);
}

/*
 * hy_assign_settle_kernel: choose the nearest centroid from each row's list, with one warp per row.
 * A block begins with row blockIdx.x * HY_CUDA_WARPS.  If a list has overflowed, the missing
 * centroids are unknown, so the row is added to `left`, for the canonical kernel.
 */
__global__ void
__launch_bounds__(HY_CUDA_THREADS, 2) hy_assign_settle_kernel(const HyCudaAssignFiltered args)
{
	hy_needs_bfloat16();

	__shared__ int32_t kept[HY_CUDA_WARPS][HY_CUDA_ASSIGN_LIST];
	__shared__ int kept_count[HY_CUDA_WARPS];
	const int lane = threadIdx.x % HY_CUDA_WARP;
	const int warp = threadIdx.x / HY_CUDA_WARP;
	const int row = blockIdx.x * HY_CUDA_WARPS + warp;
	const int mine = lane * HY_CUDA_SETTLED / HY_CUDA_WARP;
	int32_t *own = kept[warp];

	/* all threads of a warp take the same branch */
	if (row >= args.assign.row_count)
		return;
	if (args.count[row] > HY_CUDA_ASSIGN_LIST)
	{
		if (lane == 0)
		{
			const int at = atomicAdd(&args.rest->firsts[1], 1);

			args.left[at] = row;
			if (at % HY_CUDA_ASSIGN_TILE == 0)
				atomicAdd(&args.rest->tiles[1], 1);
		}
		return;
	}

	const HyCudaOpen *open = args.open + (int64_t) row * HY_CUDA_ASSIGN_LIST;
	const float *x = args.assign.rows + (int64_t) row * args.assign.row_stride;
	const float threshold = hy_assign_threshold(args.aim[row], args.least[row]);

	if (lane == 0)
		kept_count[warp] = 0;
	__syncwarp();
	for (int i = lane; i < args.count[row]; i += HY_CUDA_WARP)
	{
		if (!(open[i].value < threshold))
			own[atomicAdd(&kept_count[warp], 1)] = open[i].centroid;
	}
	__syncwarp();

	const int count = kept_count[warp];

	for (int at = 0; at < count; at += HY_CUDA_SETTLED)
	{
		const float *centroid[HY_CUDA_SETTLED];

#pragma unroll
		for (int c = 0; c < HY_CUDA_SETTLED; c++)
			centroid[c] = args.assign.centroids +
			              (int64_t) own[at + c < count ? at + c : at] * args.assign.dims;

		const float square = hy_assign_squares(x, centroid, args.assign.dims, lane);

		/*
		 * Several threads hold the same squared distance, and only the first of them stores it.
		 * NaN is not stored, because it is never the nearest.
		 */
		if (lane * HY_CUDA_SETTLED % HY_CUDA_WARP == 0 && at + mine < count && square == square)
			atomicMin(&args.assign.found[row], (unsigned long long) __float_as_uint(square) << 32 |
			                                       (unsigned long long) own[at + mine]);
	}
}

#endif
