/*
 * distance_kernel.cuh
 *		The kernels of the operation 'distance': canonical sums, one warp a row.
 *
 * The order of every addition is that of core/distance.h, so the bits are those of the CPU.  Thread
 * t of a warp keeps the canonical lanes t and t + 32: a warp reads 32 neighbouring elements at a
 * time, the fold's first level (h = 32) needs no other thread, and the others (16 .. 1) are one
 * shuffle each.  A segment is what lies between two flushes of the lanes to their fp64 twins,
 * 1,024 elements; the block keeps one segment of its queries in shared memory.
 *
 * Several queries are answered by one read of a row (the template's Batch).  Float32 and float16
 * rows differ by hy_widen only.
 *
 * The file is compiled twice: by nvcc for the device, and by the host's C++ compiler under
 * test/cuda/simt.h, which runs a block's threads as fibers.  So it uses no more of CUDA than that
 * header offers, and every rounding is spelled out.
 */
#ifndef HY_CUDA_DISTANCE_KERNEL_CUH
#define HY_CUDA_DISTANCE_KERNEL_CUH

#include <float.h>
#include <stdint.h>

#include "core/distance.h"
#include "cuda/launch.h"

#define HY_CUDA_WARP 32
#define HY_CUDA_WARPS 8 /* of a block */
#define HY_CUDA_THREADS (HY_CUDA_WARP * HY_CUDA_WARPS)
#define HY_CUDA_SEGMENT (HY_LANES * HY_FLUSH_STEPS)

/*
 * Blocks a multiprocessor should hold: many where memory is the limit, fewer where several queries
 * keep their sums in registers (with more the compiler would spill).
 */
#define HY_CUDA_RESIDENT_BLOCKS(batch) ((batch) == 1 ? 4 : 3)

#define HY_CUDA_ALL_THREADS 0xffffffffu

/* HyLanes, HyTwins: a thread's share of the 64 lanes: t and t + 32. */
struct HyLanes
{
	float low;
	float high;
};

struct HyTwins
{
	double low;
	double high;
};

__device__ __forceinline__ float
hy_widen(float value)
{
	return value;
}

__device__ __forceinline__ float
hy_widen(uint16_t half)
{
#ifdef __CUDA_ARCH__
	float value;

	asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(half));
	return value;
#else
	return hy_half_to_float(half);
#endif
}

/* hy_step: one element into its lane. */
template <int Metric>
__device__ __forceinline__ float
hy_step(float lane, float a, float b)
{
	if (Metric == HY_METRIC_L2)
	{
		float d = __fsub_rn(a, b);

		return __fmaf_rn(d, d, lane);
	}
	if (Metric == HY_METRIC_L1)
		return __fadd_rn(lane, fabsf(__fsub_rn(a, b)));
	return __fmaf_rn(a, b, lane);
}

/* hy_flush: the lanes go to their twins and start again from +0. */
__device__ __forceinline__ void
hy_flush(HyLanes *lanes, HyTwins *twins)
{
	twins->low = __dadd_rn(twins->low, (double) lanes->low);
	twins->high = __dadd_rn(twins->high, (double) lanes->high);
	lanes->low = 0.0f;
	lanes->high = 0.0f;
}

/*
 * hy_fold: the tree h = 32 .. 1 and the one rounding.  Every thread gets the result: with xor each
 * adds the same pairs, some the other way round, and a sum of two does not mind.
 */
__device__ __forceinline__ float
hy_fold(const HyTwins *twins)
{
	double sum = __dadd_rn(twins->low, twins->high);

#pragma unroll
	for (int h = 16; h > 0; h >>= 1)
		sum = __dadd_rn(sum, __shfl_xor_sync(HY_CUDA_ALL_THREADS, sum, h));
	return __double2float_rn(sum);
}

__device__ __forceinline__ double
hy_nan()
{
	return __longlong_as_double(0x7ff8000000000000LL);
}

/* hy_norm_has_cosine: hy_has_cosine on the device. */
__device__ __forceinline__ bool
hy_norm_has_cosine(float norm_sq)
{
	return norm_sq > 0.0f && norm_sq <= FLT_MAX;
}

/* hy_cosine: hy_cosine_from_sums on the device; comparisons, since fmin would lose a NaN. */
__device__ __forceinline__ double
hy_cosine(float dot, float aa, float bb)
{
	double similarity;

	if (!hy_norm_has_cosine(aa) || !hy_norm_has_cosine(bb) || dot != dot)
		return hy_nan();
	similarity = __ddiv_rn((double) dot, __dsqrt_rn(__dmul_rn((double) aa, (double) bb)));
	if (similarity > 1.0)
		similarity = 1.0;
	else if (similarity < -1.0)
		similarity = -1.0;
	return __dsub_rn(1.0, similarity);
}

/* hy_finish: hy_distance_from_sums on the device. */
template <int Metric>
__device__ __forceinline__ double
hy_finish(float sum, float aa, float bb)
{
	if (Metric == HY_METRIC_L2)
		return __dsqrt_rn((double) sum);
	if (Metric == HY_METRIC_IP)
		return sum != sum ? hy_nan() : -(double) sum;
	if (Metric == HY_METRIC_COSINE)
		return hy_cosine(sum, aa, bb);
	return (double) sum;
}

/*
 * hy_accumulate: one step of 64 elements, of which count (at most 64) are there, against Batch
 * queries.  Absent elements count as +0, which changes no bit (core/distance.h).
 */
template <int Metric, class Element, int Batch, bool Whole>
__device__ __forceinline__ void
hy_accumulate(const Element *target, const float (*query)[HY_CUDA_SEGMENT], int start, int count,
              int lane, HyLanes *lanes, HyLanes *norm)
{
	float low = 0.0f;
	float high = 0.0f;

	if (Whole || lane < count)
		low = hy_widen(target[start + lane]);
	if (Whole || lane + HY_CUDA_WARP < count)
		high = hy_widen(target[start + lane + HY_CUDA_WARP]);
#pragma unroll
	for (int q = 0; q < Batch; q++)
	{
		lanes[q].low = hy_step<Metric>(lanes[q].low, query[q][start + lane], low);
		lanes[q].high = hy_step<Metric>(lanes[q].high, query[q][start + lane + HY_CUDA_WARP], high);
	}
	if (Metric == HY_METRIC_COSINE)
	{
		norm->low = __fmaf_rn(low, low, norm->low);
		norm->high = __fmaf_rn(high, high, norm->high);
	}
}

/*
 * hy_load_queries: one segment of the block's queries into shared memory, padded with +0 both
 * past dims and past the last query.
 */
template <int Batch>
__device__ __forceinline__ void
hy_load_queries(const HyCudaDistance &args, int first_query, int start,
                float (*query)[HY_CUDA_SEGMENT])
{
#pragma unroll
	for (int q = 0; q < Batch; q++)
	{
		const float *source =
			args.rows.queries + (int64_t) (first_query + q) * args.rows.dims + start;
		bool there = first_query + q < args.rows.query_count;

		for (int i = threadIdx.x; i < HY_CUDA_SEGMENT; i += HY_CUDA_THREADS)
			query[q][i] = there && start + i < args.rows.dims ? source[i] : 0.0f;
	}
}

/*
 * hy_distance_kernel: out[q * out_stride + t] for every row t and every query q.  A block takes
 * Batch queries (blockIdx.y) and HY_CUDA_WARPS rows at a time.
 */
template <int Metric, class Element, int Batch>
__global__ void
__launch_bounds__(HY_CUDA_THREADS, HY_CUDA_RESIDENT_BLOCKS(Batch))
	hy_distance_kernel(const HyCudaDistance args)
{
	__shared__ float query[Batch][HY_CUDA_SEGMENT];
	const int lane = threadIdx.x % HY_CUDA_WARP;
	const int warp = threadIdx.x / HY_CUDA_WARP;
	const int first_query = blockIdx.y * Batch;
	const bool one_segment = args.rows.dims <= HY_CUDA_SEGMENT;

	if (one_segment)
	{
		hy_load_queries<Batch>(args, first_query, 0, query);
		__syncthreads();
	}

	/* every warp of the block goes round the same number of times: the barriers need them all */
	for (int64_t first_row = (int64_t) blockIdx.x * HY_CUDA_WARPS; first_row < args.rows.rows;
	     first_row += (int64_t) gridDim.x * HY_CUDA_WARPS)
	{
		const int64_t row = first_row + warp;
		const bool there = row < args.rows.rows;
		const Element *target = (const Element *) ((const char *) args.rows.targets +
		                                           (there ? row : 0) * args.rows.stride);
		HyTwins twins[Batch] = {};
		HyTwins norm_twins = {};
		float sum = 0.0f;
		float bb = 0.0f;

		for (int start = 0; start < args.rows.dims; start += HY_CUDA_SEGMENT)
		{
			const int left = args.rows.dims - start;
			const int length = left < HY_CUDA_SEGMENT ? left : HY_CUDA_SEGMENT;

			if (!one_segment)
			{
				__syncthreads();
				hy_load_queries<Batch>(args, first_query, start, query);
				__syncthreads();
			}
			if (there)
			{
				const int whole = length - length % HY_LANES;
				HyLanes lanes[Batch] = {};
				HyLanes norm = {};

#pragma unroll 4
				for (int i = 0; i < whole; i += HY_LANES)
					hy_accumulate<Metric, Element, Batch, true>(target + start, query, i, HY_LANES,
					                                            lane, lanes, &norm);
				if (whole < length)
					hy_accumulate<Metric, Element, Batch, false>(
						target + start, query, whole, length - whole, lane, lanes, &norm);
#pragma unroll
				for (int q = 0; q < Batch; q++)
					hy_flush(&lanes[q], &twins[q]);
				if (Metric == HY_METRIC_COSINE)
					hy_flush(&norm, &norm_twins);
			}
		}

		if (!there)
			continue;
		if (Metric == HY_METRIC_COSINE)
			bb = hy_fold(&norm_twins);
			/* thread q finishes query q */
#pragma unroll
		for (int q = 0; q < Batch; q++)
		{
			const float folded = hy_fold(&twins[q]);

			if (lane == q)
				sum = folded;
		}
		if (lane < Batch && first_query + lane < args.rows.query_count)
		{
			const int at = first_query + lane;

			args.out[at * args.out_stride + row] = hy_finish<Metric>(
				sum, Metric == HY_METRIC_COSINE ? args.rows.query_norms[at] : 0.0f, bb);
		}
	}
}

/* hy_norm_kernel: norms[q] = canonical sum of squares of query q, one warp a query. */
__global__ void
__launch_bounds__(HY_CUDA_THREADS)
	hy_norm_kernel(const float *queries, int query_count, int dims, float *norms)
{
	const int lane = threadIdx.x % HY_CUDA_WARP;
	const int at = blockIdx.x * HY_CUDA_WARPS + threadIdx.x / HY_CUDA_WARP;
	HyTwins twins = {};

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
		hy_flush(&lanes, &twins);
	}

	const float sum = hy_fold(&twins);

	if (lane == 0)
		norms[at] = sum;
}

#endif
