/*
 * filter_product_kernel.cuh
 *		Products of rounded queries and rows by the matrix unit; those that reach a threshold are
 *		candidates.
 *
 * A block takes HY_CUDA_TILE queries by as many rows, a warp 64 by 32 of them.  Tiles of
 * HY_CUDA_TILE_DIMS dims pass through shared memory, the next one on its way while one is multiplied.
 * A row of a tile is 20 words long instead of 16, so that the 8 rows by 4 words of a fragment lie in 32
 * different banks.
 */
#ifndef HY_CUDA_FILTER_PRODUCT_KERNEL_CUH
#define HY_CUDA_FILTER_PRODUCT_KERNEL_CUH

#ifdef __CUDACC__
#include <cuda_pipeline_primitives.h>
#endif

#include "cuda/filter_launch.h"
#include "cuda/matrix.cuh"
#include "cuda/row_sums.cuh"

#define HY_CUDA_STAGES 2
#define HY_CUDA_TILE_WORDS (HY_CUDA_TILE_DIMS / 2)
#define HY_CUDA_TILE_STRIDE (HY_CUDA_TILE_WORDS + 4)
#define HY_CUDA_STEP 16       /* dims of an instruction */
#define HY_CUDA_COPY_BYTES 16 /* of an asynchronous copy */
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

/* hy_load_tile: a step's dims of a tile of rows, on their way into shared memory. */
__device__ __forceinline__ void
hy_load_tile(const uint16_t *rows, int padded, int start, uint32_t (*tile)[HY_CUDA_TILE_STRIDE])
{
	const int parts = HY_CUDA_TILE_WORDS * 4 / HY_CUDA_COPY_BYTES;

#pragma unroll
	for (int i = 0; i < HY_CUDA_TILE * parts / HY_CUDA_THREADS; i++)
	{
		const int at = i * HY_CUDA_THREADS + threadIdx.x;
		const int row = at / parts;
		const int part = at % parts;

		__pipeline_memcpy_async(&tile[row][part * HY_CUDA_COPY_BYTES / 4],
		                        rows + (int64_t) row * padded + start +
		                            part * HY_CUDA_COPY_BYTES / 2,
		                        HY_CUDA_COPY_BYTES);
	}
}

/* hy_multiply_tiles: what a stage adds to a warp's sums. */
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
				hy_multiply(sum[i][j], a, b[j]);
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
			float bound =
				__fmaf_ru(reach.factor, sum[i / 2][j / 2][i % 2 * 2 + j % 2], reach.shift);

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
__device__ __forceinline__ void
hy_tile_products(const uint16_t *queries, const uint16_t *targets, int padded, HyTiles *tiles,
                 int warp_query, int warp_row, float (&sum)[HY_CUDA_LEFT][HY_CUDA_RIGHT][4])
{
	hy_load_tile(queries, padded, 0, tiles[0].queries);
	hy_load_tile(targets, padded, 0, tiles[0].targets);
	__pipeline_commit();
	for (int start = 0, stage = 0; start < padded; start += HY_CUDA_TILE_DIMS, stage ^= 1)
	{
		const int next = start + HY_CUDA_TILE_DIMS;

		if (next < padded)
		{
			hy_load_tile(queries, padded, next, tiles[stage ^ 1].queries);
			hy_load_tile(targets, padded, next, tiles[stage ^ 1].targets);
		}
		__pipeline_commit();
		__pipeline_wait_prior(1);
		__syncthreads();
		hy_multiply_tiles(tiles[stage], warp_query, warp_row, sum);
		/* nobody may fill a stage that is still read */
		__syncthreads();
	}
}

/* hy_product_kernel: the tile of queries number blockIdx.y and of rows number blockIdx.x. */
__global__ void
__launch_bounds__(HY_CUDA_THREADS, 2) hy_product_kernel(const HyCudaFiltered args)
{
	__shared__ __align__(16) HyTiles tiles[HY_CUDA_STAGES];
	const int lane = threadIdx.x % HY_CUDA_WARP;
	const int warp = threadIdx.x / HY_CUDA_WARP;
	const int wide = HY_CUDA_TILE / HY_CUDA_WARP_ROWS;
	const int warp_query = warp / wide * HY_CUDA_WARP_QUERIES;
	const int warp_row = warp % wide * HY_CUDA_WARP_ROWS;
	const uint16_t *queries = args.queries + (int64_t) blockIdx.y * HY_CUDA_TILE * args.padded;
	const uint16_t *targets = args.targets + (int64_t) blockIdx.x * HY_CUDA_TILE * args.padded;
	float sum[HY_CUDA_LEFT][HY_CUDA_RIGHT][4] = {};

	hy_tile_products(queries, targets, args.padded, tiles, warp_query, warp_row, sum);

	const int first_query = blockIdx.y * HY_CUDA_TILE + warp_query + lane / 4;
	const int first_row = blockIdx.x * HY_CUDA_TILE + warp_row + lane % 4 * 2;

	if (args.products == NULL)
	{
		hy_test(args, first_query, first_row, sum);
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
