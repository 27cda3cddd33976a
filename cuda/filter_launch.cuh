/*
 * filter_launch.cuh
 *		Launches the kernels of the filter.
 */
#ifndef HY_CUDA_FILTER_LAUNCH_CUH
#define HY_CUDA_FILTER_LAUNCH_CUH

#include "cuda/filter_product_kernel.cuh"
#include "cuda/filter_round_kernel.cuh"
#include "cuda/filter_settle_kernel.cuh"
#include "cuda/launch.cuh"

/*
 * A block processes several tiles if there are still at least this many blocks: about eight per
 * multiprocessor of a large device.  The tests use a smaller number.
 */
#ifndef HY_CUDA_MANY_BLOCKS
#define HY_CUDA_MANY_BLOCKS 1024
#endif
#define HY_CUDA_MOST_EACH 4 /* most tiles per block */

/*
 * hy_choose_filtered: call launch(kind) with the HyKind for a single query and the metric.  Returns
 * an error for L1, which is never filtered.
 */
template <class Element, class Launch>
static cudaError_t
hy_choose_filtered(HyMetric metric, Launch launch)
{
	switch (metric)
	{
		case HY_METRIC_L2:
			return launch(HyKind<HY_METRIC_L2, Element, 4, 1>());
		case HY_METRIC_IP:
			return launch(HyKind<HY_METRIC_IP, Element, 4, 1>());
		case HY_METRIC_COSINE:
			return launch(HyKind<HY_METRIC_COSINE, Element, 4, 1>());
		default:
			return cudaErrorInvalidValue;
	}
}

/* hy_blocks: return a one-dimensional grid with a block per `of` items, for `count` items. */
static dim3
hy_blocks(int64_t count, int64_t of)
{
	dim3 grid;

	grid.x = (unsigned) ((count + of - 1) / of);
	grid.y = 1;
	grid.z = 1;
	return grid;
}

extern "C" cudaError_t
hy_cuda_launch_middle(HyDtype dtype, const HyCudaRows *rows, float *middle, cudaStream_t stream)
{
	const dim3 grid = hy_blocks(rows->dims, HY_CUDA_THREADS);

	if (dtype == HY_F32)
		return HY_CUDA_LAUNCH(hy_middle_kernel<float>, grid, HY_CUDA_THREADS, stream, *rows,
		                      middle);
	return HY_CUDA_LAUNCH(hy_middle_kernel<uint16_t>, grid, HY_CUDA_THREADS, stream, *rows, middle);
}

template <class Element>
static cudaError_t
hy_launch_round(HyMetric metric, const HyCudaRound *args, cudaStream_t stream)
{
	const dim3 grid = hy_blocks(args->room, HY_CUDA_ROUNDED_ROWS);

	return hy_choose_filtered<Element>(metric,
	                                   [&](auto kind)
	                                   {
										   typedef decltype(kind) Kind;

										   return HY_CUDA_LAUNCH(
											   (hy_round_kernel<Kind::metric, Element>), grid,
											   HY_CUDA_THREADS, stream, *args);
									   });
}

extern "C" cudaError_t
hy_cuda_launch_round(HyMetric metric, HyDtype dtype, const HyCudaRound *args, cudaStream_t stream)
{
	if (dtype == HY_F32)
		return hy_launch_round<float>(metric, args, stream);
	return hy_launch_round<uint16_t>(metric, args, stream);
}

/*
 * hy_tiles_each: return the number of tiles per block.  With several tiles, a block waits less for
 * loads (HyFeed), but there must be enough blocks.
 */
static int
hy_tiles_each(const dim3 &tiles)
{
	const int64_t each = (int64_t) tiles.x * tiles.y / HY_CUDA_MANY_BLOCKS;

	return (int) (each < 1 ? 1 : each < HY_CUDA_MOST_EACH ? each : HY_CUDA_MOST_EACH);
}

extern "C" cudaError_t
hy_cuda_launch_propose(HyMetric metric, const HyCudaFiltered *args, cudaStream_t stream)
{
	dim3 grid = hy_blocks(args->rows.query_count, HY_CUDA_THREADS);
	cudaError_t error =
		hy_choose_filtered<float>(metric,
	                              [&](auto kind)
	                              {
									  typedef decltype(kind) Kind;

									  return HY_CUDA_LAUNCH(hy_aim_kernel<Kind::metric>, grid,
		                                                    HY_CUDA_THREADS, stream, *args);
								  });

	static_assert(HyTile::shared <= HY_CUDA_SHARED_MOST, "more shared memory than devices have");
	if (error == cudaSuccess)
		error = hy_allow_shared(&hy_product_kernel, HyTile::shared);
	if (error != cudaSuccess)
		return error;
	grid = hy_blocks(args->rows.rows, HyTile::rows);
	grid.y = hy_blocks(args->rows.query_count, HY_CUDA_TILE).x;

	const int each = hy_tiles_each(grid);

	grid = hy_blocks((int64_t) grid.x * grid.y, each);
	return HY_CUDA_LAUNCH_SHARED(hy_product_kernel, grid, HY_CUDA_THREADS, HyTile::shared, stream,
	                             *args, each);
}

template <class Element>
static cudaError_t
hy_launch_settle(HyMetric metric, const HyCudaFiltered *args, cudaStream_t stream)
{
	const dim3 grid = hy_blocks(args->rows.query_count, 1);

	return hy_choose_filtered<Element>(metric,
	                                   [&](auto kind)
	                                   {
										   typedef decltype(kind) Kind;

										   return HY_CUDA_LAUNCH(hy_settle_kernel<Kind>, grid,
		                                                         HY_CUDA_THREADS, stream, *args);
									   });
}

extern "C" cudaError_t
hy_cuda_launch_settle(HyMetric metric, HyDtype dtype, const HyCudaFiltered *args,
                      cudaStream_t stream)
{
	if (dtype == HY_F32)
		return hy_launch_settle<float>(metric, args, stream);
	return hy_launch_settle<uint16_t>(metric, args, stream);
}

#endif
