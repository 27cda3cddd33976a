/*
 * product_tile.cuh
 *		Computes a block's tile of products.  Rounded vectors are loaded into shared memory in
 *		stages of HY_CUDA_TILE_DIMS dims, and multiplied by the matrix unit.
 *
 * A tile is 128 queries by 256 rows, and each warp has 64 by 64 of it.  With half as many rows per
 * tile, shared memory and the second-level cache would be slower than the matrix unit.  The larger
 * tile reads a third less from shared memory per product, and a quarter less from the second-level
 * cache.  The sums take half of a thread's registers, so a multiprocessor holds only one block.
 * That block loads three stages while it multiplies a fourth.  One barrier per stage is enough:
 * after the barrier, no thread still reads the stage that is filled next.  If there are many tiles,
 * a block processes several, and loads the stages of the next tile while it examines the sums of
 * the current one.
 *
 * In a stage, a vector has 64 bytes, in four parts.  The order of the parts depends on the number
 * of the vector, so that the same part of eight neighboring vectors lies in 32 different banks.
 */
#ifndef HY_CUDA_PRODUCT_TILE_CUH
#define HY_CUDA_PRODUCT_TILE_CUH

#ifdef __CUDACC__
#include <cuda_pipeline_primitives.h>
#endif

#include "cuda/filter_launch.h"
#include "cuda/launch.cuh"
#include "cuda/matrix.cuh"
#include "cuda/row_sums.cuh"

#ifdef __CUDACC__
/* hy_dynamic_shared: return the shared memory that the launch requested. */
__device__ __forceinline__ void *
hy_dynamic_shared()
{
	extern __shared__ __align__(128) unsigned char hy_shared_bytes[];

	return hy_shared_bytes;
}
#endif

#define HY_CUDA_STEP 16       /* dims per instruction of the matrix unit */
#define HY_CUDA_PART_BYTES 16 /* bytes that a thread copies into shared memory at a time */
#define HY_CUDA_PART_ELEMENTS (HY_CUDA_PART_BYTES / 2)
/* parts of a vector in a stage */
#define HY_CUDA_PARTS_OF_VECTOR (HY_CUDA_TILE_DIMS / HY_CUDA_PART_ELEMENTS)
#define HY_CUDA_WARP_QUERIES 64
#define HY_CUDA_WIDE 4                           /* number of warps side by side along the rows */
#define HY_CUDA_LEFT (HY_CUDA_WARP_QUERIES / 16) /* fragments of a warp's queries */

/*
 * HyTile: the shape of a block's tile. `shared` is the number of bytes of shared memory that a
 * launch must request.
 */
struct HyTile
{
	static const int rows = 256;
	static const int warp_rows = rows / HY_CUDA_WIDE;
	static const int right = warp_rows / 8; /* fragments of a warp's rows */
	static const int stages = 4;
	static const int blocks = 1; /* resident blocks per multiprocessor */
	static const int stage_parts = (HY_CUDA_TILE + rows) * HY_CUDA_PARTS_OF_VECTOR;
	static const int copies = stage_parts / HY_CUDA_THREADS; /* parts per thread */
	static const int shared = stages * stage_parts * HY_CUDA_PART_BYTES;
};

/*
 * HyPart: the 16 bytes that a thread copies at a time, identified by the number of the vector and
 * the number of the part within the vector.
 */
struct HyPart
{
	int vector;
	int part;
};

__device__ __forceinline__ HyPart
hy_part(int i)
{
	const int at = i * HY_CUDA_THREADS + threadIdx.x;

	return HyPart{at / HY_CUDA_PARTS_OF_VECTOR, at % HY_CUDA_PARTS_OF_VECTOR};
}

/*
 * HyTileInput: the input of a tile: its first rounded query, its first rounded row, and its number
 * of rows.
 */
struct HyTileInput
{
	const uint16_t *queries;
	const uint16_t *targets;
	int rows; /* multiple of HY_CUDA_TILE, > 0; products of further rows are undefined */
	int padded;
};

/*
 * hy_tile_input: return the input of the tile of products whose queries are query tile number
 * query_tile and whose rows begin with first_row.  Queries and rows are padded to multiples of
 * HY_CUDA_TILE.
 */
__device__ __forceinline__ HyTileInput
hy_tile_input(const uint16_t *queries, int query_tile, const uint16_t *targets, int64_t first_row,
              int64_t row_count, int padded)
{
	const int64_t whole = (row_count + HY_CUDA_TILE - 1) / HY_CUDA_TILE * HY_CUDA_TILE;
	const int64_t left = whole - first_row;
	HyTileInput input;

	input.queries = queries + (int64_t) query_tile * HY_CUDA_TILE * padded;
	input.targets = targets + first_row * padded;
	input.rows = left < HyTile::rows ? (int) left : HyTile::rows;
	input.padded = padded;
	return input;
}

/*
 * HyTurns: the order of a launch's tiles, and the range of tiles that this block processes one
 * after another.  The queries take `across` tiles, and the rows take `along` tiles.  The across x
 * along tiles of products are numbered strip by strip.  A strip is `height` tiles of queries across
 * all tiles of rows.  So blocks that run at the same time read mostly the same data.
 */
struct HyTurns
{
	unsigned across;
	unsigned along;
	unsigned height;
	unsigned first;
	unsigned end;
};

struct HyStrip
{
	int across;
	int along;
};

/* hy_turns: return the order, and the range of a block that processes `each` tiles. */
__device__ __forceinline__ HyTurns
hy_turns(int64_t queries, int64_t rows, unsigned tile_rows, unsigned height, unsigned each)
{
	HyTurns turns;

	turns.across = (unsigned) ((queries + HY_CUDA_TILE - 1) / HY_CUDA_TILE);
	turns.along = (unsigned) ((rows + tile_rows - 1) / tile_rows);
	turns.height = height;
	turns.first = blockIdx.x * each;
	turns.end = turns.across * turns.along;
	if (turns.end > turns.first + each)
		turns.end = turns.first + each;
	return turns;
}

__device__ __forceinline__ HyStrip
hy_strip(const HyTurns &turns, unsigned tile)
{
	const unsigned first = tile / (turns.height * turns.along) * turns.height;
	const unsigned left = turns.across - first;
	const unsigned tall = left < turns.height ? left : turns.height;
	const unsigned within = tile - first * turns.along;

	return HyStrip{(int) (first + within % tall), (int) (within / tall)};
}

/* hy_place: return the position of a part in a stage, counted in parts. */
__device__ __forceinline__ int
hy_place(int vector, int part)
{
	return vector * HY_CUDA_PARTS_OF_VECTOR + (part ^ vector / 2 % HY_CUDA_PARTS_OF_VECTOR);
}

/* hy_copy_stage: start to copy the dims that begin with `start` into a stage. */
__device__ __forceinline__ void
hy_copy_stage(const HyTileInput &input, int start, uint4 *stage)
{
#pragma unroll
	for (int i = 0; i < HyTile::copies; i++)
	{
		const HyPart part = hy_part(i);
		const int offset = start + part.part * HY_CUDA_PART_ELEMENTS;
		const uint16_t *from;

		if (i < HY_CUDA_TILE * HY_CUDA_PARTS_OF_VECTOR / HY_CUDA_THREADS)
			from = input.queries + part.vector * input.padded;
		else
		{
			const int row = part.vector - HY_CUDA_TILE;

			from = input.targets + (row < input.rows ? row : 0) * input.padded;
		}
		__pipeline_memcpy_async(stage + hy_place(part.vector, part.part), from + offset,
		                        HY_CUDA_PART_BYTES);
	}
}

/* hy_multiply_stage: add the products of a stage's dims to a warp's sums. */
__device__ __forceinline__ void
hy_multiply_stage(const uint4 *stage, int warp_query, int warp_row,
                  float (&sum)[HY_CUDA_LEFT][HyTile::right][4])
{
	const int lane = threadIdx.x % HY_CUDA_WARP;
	const int matrix = lane / 8;
	/*
	 * matrices 0 .. 3 of the queries: both halves of 16 queries, then the same with the next 8
	 * dims; of the rows: both halves of 16 dims, then the same for the next 8 rows
	 */
	const int query = warp_query + lane % 8 + matrix % 2 * 8;
	const int row = HY_CUDA_TILE + warp_row + lane % 8 + matrix / 2 * 8;

#pragma unroll
	for (int step = 0; step < HY_CUDA_TILE_DIMS / HY_CUDA_STEP; step++)
	{
		uint32_t a[HY_CUDA_LEFT][4];
		uint32_t b[HyTile::right / 2][4];

#pragma unroll
		for (int j = 0; j < HyTile::right / 2; j++)
			hy_load_matrices(b[j], stage + hy_place(row + j * 16, step * 2 + matrix % 2));
#pragma unroll
		for (int i = 0; i < HY_CUDA_LEFT; i++)
			hy_load_matrices(a[i], stage + hy_place(query + i * 16, step * 2 + matrix / 2));
#pragma unroll
		for (int i = 0; i < HY_CUDA_LEFT; i++)
		{
#pragma unroll
			for (int j = 0; j < HyTile::right; j++)
			{
				const uint32_t right[2] = {b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]};

				hy_multiply(sum[i][j], a[i], right);
			}
		}
	}
}

/*
 * HyFeed: the loads into shared memory.  They run three stages ahead of the multiplication, also
 * across the tiles of a block. input_of returns the input of a tile.
 */
template <class InputOf> struct HyFeed
{
	InputOf input_of;
	HyTileInput input;
	unsigned tile;
	unsigned end;
	int start;
};

/* hy_feed: load the next stage, if there is one. */
template <class InputOf>
__device__ __forceinline__ void
hy_feed(HyFeed<InputOf> *feed, uint4 *stage)
{
	if (feed->tile < feed->end)
	{
		hy_copy_stage(feed->input, feed->start, stage);
		feed->start += HY_CUDA_TILE_DIMS;
		if (feed->start >= feed->input.padded)
		{
			feed->start = 0;
			if (++feed->tile < feed->end)
				feed->input = feed->input_of(feed->tile);
		}
	}
	__pipeline_commit();
}

template <class InputOf>
__device__ __forceinline__ HyFeed<InputOf>
hy_begin_feed(const HyTurns &turns, InputOf input_of)
{
	uint4 *const shared = (uint4 *) hy_dynamic_shared();
	HyFeed<InputOf> feed = {input_of, input_of(turns.first), turns.first, turns.end, 0};

#pragma unroll 1
	for (int i = 0; i < HyTile::stages - 1; i++)
		hy_feed(&feed, shared + i * HyTile::stage_parts);
	return feed;
}

/*
 * hy_tile_products: compute a warp's sums for the block's next tile, over all dims. *stage is the
 * stage with which the tile begins.  All threads of the block must call this.  Afterwards, all of
 * them see earlier writes to shared memory.
 */
template <class InputOf>
__device__ __forceinline__ void
hy_tile_products(HyFeed<InputOf> *feed, int padded, int *stage, int warp_query, int warp_row,
                 float (&sum)[HY_CUDA_LEFT][HyTile::right][4])
{
	uint4 *const shared = (uint4 *) hy_dynamic_shared();

	for (int start = 0; start < padded; start += HY_CUDA_TILE_DIMS)
	{
		/* the stage that no thread reads after the barrier below */
		const int free = (*stage + HyTile::stages - 1) % HyTile::stages;

		__pipeline_wait_prior(HyTile::stages - 2);
		__syncthreads();
		hy_feed(feed, shared + free * HyTile::stage_parts);
		hy_multiply_stage(shared + *stage * HyTile::stage_parts, warp_query, warp_row, sum);
		*stage = (*stage + 1) % HyTile::stages;
	}
}

/*
 * hy_column: return the row that column j of a thread's sums belongs to, relative to the thread's
 * first row.
 */
__device__ __forceinline__ int
hy_column(int j)
{
	return j / 2 * 8 + j % 2;
}

/* HyMost: the largest a and the largest b among the rows of a thread's products. */
struct HyMost
{
	float reach;
	float rough;
};

__device__ __forceinline__ HyMost
hy_most(const HyCudaReach *reach, int first_row, int rows)
{
	HyMost most = {};

#pragma unroll
	for (int j = 0; j < HyTile::right * 2; j++)
	{
		const int row = first_row + hy_column(j);

		if (row < rows)
		{
			most.reach = fmaxf(most.reach, reach[row].reach);
			most.rough = fmaxf(most.rough, reach[row].rough);
		}
	}
	return most;
}

/*
 * hy_most_bound: return value + |q| a + |q - q~| b (filter_launch.h), rounded up.  With the largest
 * a and b of the thread's rows, this is an upper bound for each of these rows.
 */
__device__ __forceinline__ float
hy_most_bound(float value, float length, float rest, const HyMost &most)
{
	return __fmaf_ru(rest, most.rough, __fmaf_ru(length, most.reach, value));
}

/*
 * hy_reaches: compute f D + v for column j of a thread's sums, in `value`.  Returns whether any
 * value is at least its threshold `least`, or is NaN.  A row whose value is NaN may belong to the
 * result.
 */
__device__ __forceinline__ bool
hy_reaches(const HyCudaReach &reach, const float (&sum)[HY_CUDA_LEFT][HyTile::right][4], int j,
           const float (&least)[HY_CUDA_LEFT * 2], float (&value)[HY_CUDA_LEFT * 2])
{
	bool any = false;

#pragma unroll
	for (int i = 0; i < HY_CUDA_LEFT * 2; i++)
	{
		value[i] = __fmaf_ru(reach.factor, sum[i / 2][j / 2][i % 2 * 2 + j % 2], reach.shift);
		any |= !(value[i] < least[i]);
	}
	return any;
}

#endif
