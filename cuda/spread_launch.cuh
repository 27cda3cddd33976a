/*
 * spread_launch.cuh
 *		Launches the kernels of spread_kernel.cuh.
 */
#ifndef HY_CUDA_SPREAD_LAUNCH_CUH
#define HY_CUDA_SPREAD_LAUNCH_CUH

#include "cuda/launch.cuh"
#include "cuda/spread_kernel.cuh"

/*
 * This many blocks occupy a multiprocessor.  If there are more rows, the blocks process them in a
 * loop.
 */
#define HY_CUDA_SPREAD_BLOCKS 32

static inline dim3
hy_spread_grid(int64_t blocks, int64_t most)
{
	dim3 grid;

	grid.x = (unsigned) (blocks < most ? blocks : most);
	grid.y = 1;
	grid.z = 1;
	return grid;
}

/*
 * hy_spread_launch_pull: launch the kernel of a hop for some rows. `Kind` tells how entries are
 * combined.
 */
template <class Kind>
static cudaError_t
hy_spread_launch_pull(const HyCudaSpreadState &state, const HyCudaSpreadStep &step, int64_t most,
                      cudaStream_t stream)
{
	const int64_t shorts = HY_CUDA_THREADS / HY_PACKED_SHORT;
	const int64_t rows = HY_CUDA_THREADS / Kind::row_threads;

	switch (step.kind)
	{
		case HY_CUDA_SPREAD_SHORTS:
			return HY_CUDA_LAUNCH((hy_spread_rows_kernel<Kind, HY_PACKED_SHORT, HY_PACKED_SHORT>),
			                      hy_spread_grid((step.count + shorts - 1) / shorts, most),
			                      HY_CUDA_THREADS, stream, state, step);
		case HY_CUDA_SPREAD_ROWS:
			return HY_CUDA_LAUNCH((hy_spread_rows_kernel<Kind, Kind::row_threads, HY_SPREAD_LANES>),
			                      hy_spread_grid((step.count + rows - 1) / rows, most),
			                      HY_CUDA_THREADS, stream, state, step);
		default:
			return HY_CUDA_LAUNCH((hy_spread_long_kernel<Kind>),
			                      hy_spread_grid(step.count, INT32_MAX), HY_CUDA_THREADS, stream,
			                      state, step);
	}
}

template <int Sets>
static cudaError_t
hy_spread_launch_sets(const HyCudaSpreadState &state, const HyCudaSpreadStep &step,
                      int multiprocessors, cudaStream_t stream)
{
	typedef HySpreadKind<HY_COMBINE_SUM, Sets> Kind;
	const int64_t most = (int64_t) multiprocessors * HY_CUDA_SPREAD_BLOCKS;
	const int64_t threads = HY_CUDA_THREADS;

	switch (step.kind)
	{
		case HY_CUDA_SPREAD_SHORTS:
		case HY_CUDA_SPREAD_ROWS:
		case HY_CUDA_SPREAD_LONG:
			if (state.combine == HY_COMBINE_MAX)
				return hy_spread_launch_pull<HySpreadKind<HY_COMBINE_MAX, Sets>>(state, step, most,
				                                                                 stream);
			return hy_spread_launch_pull<Kind>(state, step, most, stream);
		case HY_CUDA_SPREAD_SEEDS:
			return HY_CUDA_LAUNCH((hy_spread_seeds_kernel<Kind>),
			                      hy_spread_grid((step.count + threads - 1) / threads, INT32_MAX),
			                      HY_CUDA_THREADS, stream, state, step);
		case HY_CUDA_SPREAD_SUM:
			return HY_CUDA_LAUNCH((hy_spread_sum_kernel<Kind>), hy_spread_grid(1, 1),
			                      HY_CUDA_THREADS, stream, state, step);
		case HY_CUDA_SPREAD_TURN:
			return HY_CUDA_LAUNCH((hy_spread_turn_kernel<Kind>), hy_spread_grid(1, 1),
			                      HY_CUDA_THREADS, stream, state, step);
		case HY_CUDA_SPREAD_DOWN:
			return HY_CUDA_LAUNCH(
				(hy_spread_down_kernel<Kind>),
				hy_spread_grid((step.count * state.sets + threads - 1) / threads, most),
				HY_CUDA_THREADS, stream, state, step);
		default:
			return cudaErrorInvalidValue;
	}
}

extern "C" cudaError_t
hy_cuda_launch_spread(const HyCudaSpreadState *state, const HyCudaSpreadStep *step,
                      int multiprocessors, cudaStream_t stream)
{
	switch (state->width)
	{
		case 1:
			return hy_spread_launch_sets<1>(*state, *step, multiprocessors, stream);
		case 2:
			return hy_spread_launch_sets<2>(*state, *step, multiprocessors, stream);
		case 4:
			return hy_spread_launch_sets<4>(*state, *step, multiprocessors, stream);
		case 8:
			return hy_spread_launch_sets<8>(*state, *step, multiprocessors, stream);
		default:
			return cudaErrorInvalidValue;
	}
}

#endif
