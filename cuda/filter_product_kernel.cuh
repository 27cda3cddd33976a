/*
 * filter_product_kernel.cuh
 *		Products of rounded queries and rows by the matrix unit; those that reach a threshold are
 *		candidates.
 *
 * A block takes HY_CUDA_TILE queries by as many rows, a warp 64 by 32 of them.  Tiles of
 * HY_CUDA_TILE_DIMS dims pass through shared memory, the next one on its way while one is multiplied:
 * to a second stage, or where nothing copies by itself, into registers, so that two blocks fit the
 * 64 KiB of a multiprocessor.  A row of a tile is 20 words long instead of 16, so that the 8 rows by
 * 4 words of a fragment lie in 32 different banks.
 */
#ifndef HY_CUDA_FILTER_PRODUCT_KERNEL_CUH
#define HY_CUDA_FILTER_PRODUCT_KERNEL_CUH

#ifdef __CUDACC__
#include <cuda_pipeline_primitives.h>
#endif

#include "cuda/filter_launch.h"
#include "cuda/precision.cuh"
#include "cuda/row_sums.cuh"

#define HY_CUDA_TILE_WORDS (HY_CUDA_TILE_DIMS / 2)
#define HY_CUDA_TILE_STRIDE (HY_CUDA_TILE_WORDS + 4)
#define HY_CUDA_STEP 16       /* dims of an instruction */
#define HY_CUDA_COPY_BYTES 16 /* into shared memory, of a thread at a time */
#define HY_CUDA_COPIES                                                                             \
	(HY_CUDA_TILE * HY_CUDA_TILE_WORDS * 4 / HY_CUDA_COPY_BYTES / HY_CUDA_THREADS)
#define HY_CUDA_WARP_QUERIES 64
#define HY_CUDA_WARP_ROWS 32
#define HY_CUDA_LEFT (HY_CUDA_WARP_QUERIES / 16) /* fragments of a warp's queries */
#define HY_CUDA_RIGHT (HY_CUDA_WARP_ROWS / 8)    /* and rows */

/* HyTiles: a stage of shared memory. */
struct HyTiles
{
	uint32_t queries[HY_CUDA_TILE][HY_CUDA_TILE_STRIDE];
	uint32_t targets[HY_CUDA_TILE][HY_CUDA_TILE_STRIDE];
};

/* HyPart: where of a tile a thread's copy number i belongs, and where it lies in rounded rows. */
struct HyPart
{
	int row;
	int word;
	int64_t element;
};

__device__ __forceinline__ HyPart
hy_part(int i, int padded, int start)
{
	const int parts = HY_CUDA_TILE_WORDS * 4 / HY_CUDA_COPY_BYTES;
	const int at = i * HY_CUDA_THREADS + threadIdx.x;
	HyPart part;

	part.row = at / parts;
	part.word = at % parts * HY_CUDA_COPY_BYTES / 4;
	part.element = (int64_t) part.row * padded + start + part.word * 2;
	return part;
}

/* HyLoads: a stage on its way into shared memory.  This one copies by itself. */
template <bool Asynchronous> struct HyLoads
{
	static const int stages = 2;
};

/* hy_begin_loads: the dims from start on, if there are any. */
__device__ __forceinline__ void
hy_begin_loads(HyLoads<true> &, const uint16_t *queries, const uint16_t *targets, int padded,
               int start, HyTiles *stage)
{
	if (start < padded)
	{
#pragma unroll
		for (int i = 0; i < HY_CUDA_COPIES; i++)
		{
			const HyPart part = hy_part(i, padded, start);

			__pipeline_memcpy_async(&stage->queries[part.row][part.word], queries + part.element,
			                        HY_CUDA_COPY_BYTES);
			__pipeline_memcpy_async(&stage->targets[part.row][part.word], targets + part.element,
			                        HY_CUDA_COPY_BYTES);
		}
	}
	__pipeline_commit();
}

/* hy_await_loads: of the stage before the one begun last; a barrier follows. */
__device__ __forceinline__ void
hy_await_loads(HyLoads<true> &)
{
	__pipeline_wait_prior(1);
}

/* hy_end_loads: nobody reads the stage any more. */
__device__ __forceinline__ void
hy_end_loads(HyLoads<true> &, int, int, HyTiles *)
{
}

/* The other one goes through registers, into the stage that was multiplied meanwhile. */
template <> struct HyLoads<false>
{
	static const int stages = 1;

	uint4 queries[HY_CUDA_COPIES];
	uint4 targets[HY_CUDA_COPIES];
};

__device__ __forceinline__ void
hy_begin_loads(HyLoads<false> &loads, const uint16_t *queries, const uint16_t *targets, int padded,
               int start, HyTiles *)
{
	if (start >= padded)
		return;
#pragma unroll
	for (int i = 0; i < HY_CUDA_COPIES; i++)
	{
		const HyPart part = hy_part(i, padded, start);

		loads.queries[i] = *(const uint4 *) (queries + part.element);
		loads.targets[i] = *(const uint4 *) (targets + part.element);
	}
}

__device__ __forceinline__ void
hy_await_loads(HyLoads<false> &)
{
}

__device__ __forceinline__ void
hy_end_loads(HyLoads<false> &loads, int padded, int start, HyTiles *stage)
{
	if (start >= padded)
		return;
#pragma unroll
	for (int i = 0; i < HY_CUDA_COPIES; i++)
	{
		const HyPart part = hy_part(i, padded, start);

		*(uint4 *) &stage->queries[part.row][part.word] = loads.queries[i];
		*(uint4 *) &stage->targets[part.row][part.word] = loads.targets[i];
	}
}

/* hy_multiply_tiles: what a stage adds to a warp's sums. */
template <class Precision>
__device__ __forceinline__ void
hy_multiply_tiles(const HyTiles &tiles, int first_query, int first_row,
                  float (&sum)[HY_CUDA_LEFT][HY_CUDA_RIGHT][4])
{
	const int lane = threadIdx.x % HY_CUDA_WARP;

#pragma unroll
	for (int step = 0; step < HY_CUDA_TILE_DIMS / HY_CUDA_STEP; step++)
	{
		const int word = step * HY_CUDA_STEP / 2 + lane % 4;
		uint32_t b[HY_CUDA_RIGHT][2];

#pragma unroll
		for (int j = 0; j < HY_CUDA_RIGHT; j++)
		{
			const int row = first_row + j * 8 + lane / 4;

			b[j][0] = tiles.targets[row][word];
			b[j][1] = tiles.targets[row][word + 4];
		}
#pragma unroll
		for (int i = 0; i < HY_CUDA_LEFT; i++)
		{
			const int row = first_query + i * 16 + lane / 4;
			const uint32_t a[4] = {tiles.queries[row][word], tiles.queries[row + 8][word],
			                       tiles.queries[row][word + 4], tiles.queries[row + 8][word + 4]};

#pragma unroll
			for (int j = 0; j < HY_CUDA_RIGHT; j++)
				hy_multiply_in(Precision(), sum[i][j], a, b[j]);
		}
	}
}

/* hy_append: rows of a thread that may be near to a query: bit 2 j + i is first + 8 j + i. */
__device__ __forceinline__ void
hy_append(const HyCudaFiltered &args, int q, int first, unsigned near)
{
	int at;

	/* how many more there are than the list can hold is of no interest */
	if (near == 0 || args.count[q] > args.list_room)
		return;
	at = atomicAdd(&args.count[q], __popc(near));
	for (; near != 0; near &= near - 1)
	{
		const int bit = __ffs((int) near) - 1;

		if (at < args.list_room)
			args.found[(int64_t) q * args.list_room + at] = first + bit / 2 * 8 + bit % 2;
		at++;
	}
}

/* hy_test: which of a thread's products reach a threshold. */
template <class Precision>
__device__ __forceinline__ void
hy_test(const HyCudaFiltered &args, int first_query, int first_row,
        const float (&sum)[HY_CUDA_LEFT][HY_CUDA_RIGHT][4])
{
	unsigned near[HY_CUDA_LEFT * 2] = {};

#pragma unroll
	for (int j = 0; j < HY_CUDA_RIGHT * 2; j++)
	{
		const int row = first_row + j / 2 * 8 + j % 2;
		const HyCudaReach reach = args.reach[row];

		if (row >= args.rows.rows)
			continue;
#pragma unroll
		for (int i = 0; i < HY_CUDA_LEFT * 2; i++)
		{
			const int q = first_query + i * 8;
			float product = sum[i / 2][j / 2][i % 2 * 2 + j % 2];
			float bound;

			/* exact: nothing that has a bound leaves the range */
			if (Precision::scaled)
				product = __fmul_rn(product, args.aim[q].scale);
			bound = __fmaf_ru(reach.factor, product, reach.shift);
			bound = __fmaf_ru(args.aim[q].length, reach.reach, bound);
			bound = __fmaf_ru(args.aim[q].rest, reach.rough, bound);
			/* what is not a number may be near */
			if (!(bound < args.aim[q].threshold))
				near[i] |= 1u << j;
		}
	}
#pragma unroll
	for (int i = 0; i < HY_CUDA_LEFT * 2; i++)
	{
		if (first_query + i * 8 < args.rows.query_count)
			hy_append(args, first_query + i * 8, first_row, near[i]);
	}
}

/*
 * hy_tile_products: a warp's sums of the block's tile, over all dims.  The whole block comes; what it
 * did with shared memory before is seen by all.
 */
template <class Precision>
__device__ __forceinline__ void
hy_tile_products(const uint16_t *queries, const uint16_t *targets, int padded, HyTiles *tiles,
                 int warp_query, int warp_row, float (&sum)[HY_CUDA_LEFT][HY_CUDA_RIGHT][4])
{
	typedef HyLoads<Precision::asynchronous> Loads;
	Loads loads;

	hy_begin_loads(loads, queries, targets, padded, 0, &tiles[0]);
	hy_end_loads(loads, padded, 0, &tiles[0]);
	for (int start = 0, stage = 0; start < padded; start += HY_CUDA_TILE_DIMS)
	{
		const int next = start + HY_CUDA_TILE_DIMS;
		const int other = stage ^ (Loads::stages - 1);

		hy_begin_loads(loads, queries, targets, padded, next, &tiles[other]);
		hy_await_loads(loads);
		__syncthreads();
		hy_multiply_tiles<Precision>(tiles[stage], warp_query, warp_row, sum);
		/* nobody may fill a stage that is still read */
		__syncthreads();
		hy_end_loads(loads, padded, next, &tiles[other]);
		stage = other;
	}
}

/* hy_product_kernel: the tile of queries number blockIdx.y and of rows number blockIdx.x. */
template <class Precision>
__global__ void
__launch_bounds__(HY_CUDA_THREADS, 2) hy_product_kernel(const HyCudaFiltered args)
{
	__shared__ __align__(16) HyTiles tiles[HyLoads<Precision::asynchronous>::stages];
	const int lane = threadIdx.x % HY_CUDA_WARP;
	const int warp = threadIdx.x / HY_CUDA_WARP;
	const int wide = HY_CUDA_TILE / HY_CUDA_WARP_ROWS;
	const int warp_query = warp / wide * HY_CUDA_WARP_QUERIES;
	const int warp_row = warp % wide * HY_CUDA_WARP_ROWS;
	const uint16_t *queries = args.queries + (int64_t) blockIdx.y * HY_CUDA_TILE * args.padded;
	const uint16_t *targets = args.targets + (int64_t) blockIdx.x * HY_CUDA_TILE * args.padded;
	float sum[HY_CUDA_LEFT][HY_CUDA_RIGHT][4] = {};

	hy_tile_products<Precision>(queries, targets, args.padded, tiles, warp_query, warp_row, sum);

	const int first_query = blockIdx.y * HY_CUDA_TILE + warp_query + lane / 4;
	const int first_row = blockIdx.x * HY_CUDA_TILE + warp_row + lane % 4 * 2;

	if (args.products == NULL)
	{
		hy_test<Precision>(args, first_query, first_row, sum);
		return;
	}
#pragma unroll
	for (int i = 0; i < HY_CUDA_LEFT * 2; i++)
	{
#pragma unroll
		for (int j = 0; j < HY_CUDA_RIGHT * 2; j++)
			args.products[(first_query + i * 8) * args.product_stride + first_row + j / 2 * 8 +
			              j % 2] = sum[i / 2][j / 2][i % 2 * 2 + j % 2];
	}
}

#endif
