/*
 * filter_product_kernel.cuh
 *		Multiplies rounded queries by rounded rows on the matrix unit.  A row becomes a candidate of
 *		a query if the bound from their product reaches the query's threshold.
 *
 * A block takes a tile of queries and a tile of rows (product_tile.cuh).  A warp examines its
 * products in its registers.
 */
#ifndef HY_CUDA_FILTER_PRODUCT_KERNEL_CUH
#define HY_CUDA_FILTER_PRODUCT_KERNEL_CUH

#include "cuda/product_tile.cuh"

#define HY_CUDA_FILTER_STRIP 8 /* tiles of queries in a strip (HyTurns) */

/*
 * hy_append: append the candidates among a thread's rows to a query's list.  Bit j of `near` stands
 * for row first + hy_column(j).
 */
__device__ __forceinline__ void
hy_append(const HyCudaFiltered &args, int q, int first, unsigned near)
{
	int at;

	/* once a list has overflowed, its exact count does not matter */
	if (near == 0 || args.count[q] > args.list_room)
		return;
	at = atomicAdd(&args.count[q], __popc(near));
	for (; near != 0; near &= near - 1)
	{
		const int bit = __ffs((int) near) - 1;

		if (at < args.list_room)
			args.found[(int64_t) q * args.list_room + at] = first + hy_column(bit);
		at++;
	}
}

/*
 * hy_test: find the products of a thread whose bounds reach the threshold of their query, and
 * append their rows to the lists.  First, each threshold is reduced by the most that the error
 * terms of any of the thread's rows can add (`least`).  This rejects most products after one
 * operation and one comparison.  The other products are tested with the error terms of their own
 * row.
 */
__device__ __forceinline__ void
hy_test(const HyCudaFiltered &args, int first_query, int first_row,
        const float (&sum)[HY_CUDA_LEFT][HyTile::right][4])
{
	const int rows = (int) args.rows.rows;
	const HyMost most = hy_most(args.reach, first_row, rows);
	float least[HY_CUDA_LEFT * 2];
	unsigned near[HY_CUDA_LEFT * 2] = {};

#pragma unroll
	for (int i = 0; i < HY_CUDA_LEFT * 2; i++)
	{
		const HyCudaAim &aim = args.aim[first_query + i * 8];

		least[i] = -hy_most_bound(-aim.threshold, aim.length, aim.rest, most);
	}
#pragma unroll
	for (int j = 0; j < HyTile::right * 2; j++)
	{
		const int row = first_row + hy_column(j);

		if (row >= rows)
			continue;

		const HyCudaReach reach = args.reach[row];
		float value[HY_CUDA_LEFT * 2];

		if (!hy_reaches(reach, sum, j, least, value))
			continue;
#pragma unroll
		for (int i = 0; i < HY_CUDA_LEFT * 2; i++)
		{
			const HyCudaAim &aim = args.aim[first_query + i * 8];
			const HyMost own = {reach.reach, reach.rough};

			if (!(hy_most_bound(value[i], aim.length, aim.rest, own) < aim.threshold))
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
 * hy_look: examine a warp's sums.  Appends candidates to the lists or, if args.products is set,
 * stores the products.
 */
__device__ __forceinline__ void
hy_look(const HyCudaFiltered &args, int first_query, int first_row, int row_room,
        const float (&sum)[HY_CUDA_LEFT][HyTile::right][4])
{
	if (args.products == NULL)
	{
		hy_test(args, first_query, first_row, sum);
		return;
	}
#pragma unroll
	for (int i = 0; i < HY_CUDA_LEFT * 2; i++)
	{
#pragma unroll
		for (int j = 0; j < HyTile::right * 2; j++)
		{
			const int row = first_row + hy_column(j);

			if (row < row_room)
				args.products[(first_query + i * 8) * args.product_stride + row] =
					sum[i / 2][j / 2][i % 2 * 2 + j % 2];
		}
	}
}

/* hy_product_kernel: process the tiles of a block, at most `each` (hy_turns). */
__global__ void
__launch_bounds__(HY_CUDA_THREADS, HyTile::blocks)
	hy_product_kernel(const HyCudaFiltered args, int each)
{
	hy_needs_bfloat16();

	const int lane = threadIdx.x % HY_CUDA_WARP;
	const int warp = threadIdx.x / HY_CUDA_WARP;
	const int warp_query = warp / HY_CUDA_WIDE * HY_CUDA_WARP_QUERIES;
	const int warp_row = warp % HY_CUDA_WIDE * HyTile::warp_rows;
	const int row_room = (int) (args.rows.rows + HY_CUDA_TILE - 1) / HY_CUDA_TILE * HY_CUDA_TILE;
	const HyTurns turns =
		hy_turns(args.rows.query_count, args.rows.rows, HyTile::rows, HY_CUDA_FILTER_STRIP, each);
	auto input_of = [&](unsigned tile)
	{
		const HyStrip at = hy_strip(turns, tile);

		return hy_tile_input(args.queries, at.across, args.targets,
		                     (int64_t) at.along * HyTile::rows, args.rows.rows, args.padded);
	};
	auto feed = hy_begin_feed(turns, input_of);
	int stage = 0;

	for (unsigned tile = turns.first; tile < turns.end; tile++)
	{
		const HyStrip at = hy_strip(turns, tile);
		float sum[HY_CUDA_LEFT][HyTile::right][4] = {};

		hy_tile_products(&feed, args.padded, &stage, warp_query, warp_row, sum);
		hy_look(args, at.across * HY_CUDA_TILE + warp_query + lane / 4,
		        at.along * HyTile::rows + warp_row + lane % 4 * 2, row_room, sum);
	}
}

#endif
