/*
 * distance_kernel.cuh
 *		The kernel of the operation 'distance', and the kernel that computes the norms for cosine.
 */
#ifndef HY_CUDA_DISTANCE_KERNEL_CUH
#define HY_CUDA_DISTANCE_KERNEL_CUH

#include "cuda/single_sums.cuh"

/*
 * hy_distance_kernel: compute out[q * out_stride + t] for every row t and every query q.  A block
 * processes Kind::queries queries (blockIdx.y) and HY_CUDA_WARPS x Kind::rows rows at a time.
 */
template <class Kind>
__global__ void
__launch_bounds__(HY_CUDA_THREADS, Kind::resident_blocks)
	hy_distance_kernel(const HyCudaDistance args)
{
	__shared__ __align__(16) float query[Kind::queries][HY_CUDA_SEGMENT];
	const int lane = threadIdx.x % HY_CUDA_WARP;
	const int warp = threadIdx.x / HY_CUDA_WARP;
	const int pair = lane * Kind::pairs / HY_CUDA_WARP;
	const int first_query = blockIdx.y * Kind::queries;
	const int at = first_query + pair % Kind::queries;
	const int64_t turn = HY_CUDA_WARPS * Kind::rows;

	if (args.rows.dims <= HY_CUDA_SEGMENT)
	{
		hy_load_queries<Kind>(args.rows, first_query, 0, query);
		__syncthreads();
	}

	const HyCudaRows rows = hy_with_norm<Kind>(args.rows, query);

	/*
	 * all warps of the block must run the same number of iterations, because all of them must reach
	 * the barriers
	 */
	for (int64_t first_row = blockIdx.x * turn; first_row < rows.rows;
	     first_row += gridDim.x * turn)
	{
		const int64_t mine = first_row + warp * Kind::rows;
		const int64_t row = mine + pair / Kind::queries;
		const double distance = hy_row_distance<Kind>(rows, first_query, mine, query);

		/* several threads have the distance; only the first of them stores it */
		if (lane * Kind::pairs % HY_CUDA_WARP == 0 && row < rows.rows && at < rows.query_count)
			args.out[at * args.out_stride + row] = distance;
	}
}

/*
 * hy_norm_kernel: compute norms[q], the canonical sum of squares of query q.  One warp per query.
 */
__global__ void
__launch_bounds__(HY_CUDA_THREADS)
	hy_norm_kernel(const float *queries, int query_count, int dims, float *norms)
{
	const int lane = threadIdx.x % HY_CUDA_WARP;
	const int at = blockIdx.x * HY_CUDA_WARPS + threadIdx.x / HY_CUDA_WARP;
	HyTwins twins[1] = {};

	if (at >= query_count)
		return;
	for (int start = 0; start < dims; start += HY_CUDA_SEGMENT)
	{
		const float *query = queries + (int64_t) at * dims + start;
		const int length = dims - start < HY_CUDA_SEGMENT ? dims - start : HY_CUDA_SEGMENT;
		HyLanes lanes = {};

		for (int i = lane; i < length; i += HY_LANES)
		{
			lanes.low = __fmaf_rn(query[i], query[i], lanes.low);
			if (i + HY_CUDA_WARP < length)
				lanes.high =
					__fmaf_rn(query[i + HY_CUDA_WARP], query[i + HY_CUDA_WARP], lanes.high);
		}
		hy_flush(&lanes, &twins[0]);
	}

	const float sum = hy_fold(twins, lane);

	if (lane == 0)
		norms[at] = sum;
}

#endif
