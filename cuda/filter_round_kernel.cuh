/*
 * filter_round_kernel.cuh
 *		Rounds rows and queries, and computes the terms of their bounds (filter_launch.h).
 *
 * A warp processes one row.  Lengths are computed from the canonical sum of squares, whose error is
 * known.  The part of an element that rounding removes is exact in fp32.  The squares of these
 * parts are added, rounding up.
 */
#ifndef HY_CUDA_FILTER_ROUND_KERNEL_CUH
#define HY_CUDA_FILTER_ROUND_KERNEL_CUH

#include "cuda/filter_launch.h"
#include "cuda/matrix.cuh"
#include "cuda/row_sums.cuh"

/*
 * Range of squared lengths that have a bound.  Outside of it, fp32 arithmetic on rows or products
 * may overflow or underflow.  A zero vector also has a bound, except for cosine.
 */
#define HY_CUDA_SHORTEST 1e-30f
#define HY_CUDA_LONGEST 1e30f

/*
 * Allowed errors of canonical sums, including the subtraction of `middle`.  HY_CUDA_SUM_SLACK is
 * relative to the product of the lengths.  HY_CUDA_SQUARE_SLACK is relative to squared lengths, for
 * differences of squared lengths (core/prefilter.c).
 */
#define HY_CUDA_SUM_SLACK 4e-6
#define HY_CUDA_SQUARE_SLACK 4e-6
#define HY_CUDA_ROUND_UP 1.00001

#define HY_CUDA_ROUNDED_ROWS HY_CUDA_WARPS /* rows rounded per block */
/* steps of 64 elements that a warp reads before it uses them */
#define HY_CUDA_ROUND_AHEAD 4

static_assert(HY_CUDA_SEGMENT % (HY_CUDA_ROUND_AHEAD * HY_LANES) == 0,
              "steps end where a segment does");

/*
 * hy_bfloat16: round a value to the nearest bfloat16, ties to even.  Subnormal values become 0, so
 * that the result does not depend on how the matrix unit treats them.
 */
__device__ __forceinline__ uint16_t
hy_bfloat16(float value)
{
	const unsigned bits = __float_as_uint(value);

	if (fabsf(value) < FLT_MIN)
		return 0;
	return (uint16_t) ((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

__device__ __forceinline__ float
hy_infinity()
{
	return __uint_as_float(0x7f800000u);
}

/* hy_middle_kernel: compute the mean of some rows.  Each thread computes one dim. */
template <class Element>
__global__ void
__launch_bounds__(HY_CUDA_THREADS) hy_middle_kernel(const HyCudaRows args, float *middle)
{
	hy_needs_bfloat16();

	const int i = blockIdx.x * HY_CUDA_THREADS + threadIdx.x;
	const int64_t step = (args.rows + HY_CUDA_MIDDLE_ROWS - 1) / HY_CUDA_MIDDLE_ROWS;
	float sum = 0.0f;
	int taken = 0;

	if (i >= args.dims)
		return;
	for (int64_t row = 0; row < args.rows; row += step)
	{
		const Element *x = (const Element *) ((const char *) args.targets + row * args.stride);

		sum += hy_widen(x[i]);
		taken++;
	}
	sum /= (float) taken;
	middle[i] = fabsf(sum) <= FLT_MAX ? sum : 0.0f;
}

/* HyMeasured: what a warp has computed about a row. */
struct HyMeasured
{
	HyCudaAimKind kind;
	double length;
	double rest;
};

/* hy_element: return an element of a row, minus the element of args.middle if there is one. */
template <class Element>
__device__ __forceinline__ float
hy_element(const HyCudaRound &args, const Element *x, int at)
{
	const float value = hy_widen(x[at]);

	return args.middle != NULL ? __fsub_rn(value, args.middle[at]) : value;
}

/*
 * hy_round_row: round one row with all threads of a warp.  The elements of a row without a bound
 * become 0, so that no product overflows.
 */
template <class Element>
__device__ __forceinline__ HyMeasured
hy_round_row(const HyCudaRound &args, bool cosine, const Element *x, uint16_t *rounded, int lane)
{
	HyTwins square[1] = {};
	HyTwins rest[1] = {};
	HyTwins others[1] = {};
	float rest_sum = 0.0f;
	HyMeasured measured = {};

	for (int start = 0; start < args.padded; start += HY_CUDA_SEGMENT)
	{
		const int left = args.padded - start;
		const int length = left < HY_CUDA_SEGMENT ? left : HY_CUDA_SEGMENT;
		HyLanes lanes = {};

		for (int i = start + lane; i < start + length; i += HY_CUDA_ROUND_AHEAD * HY_LANES)
		{
			float value[HY_CUDA_ROUND_AHEAD * 2];

			/* read all elements before the first write */
#pragma unroll
			for (int half = 0; half < HY_CUDA_ROUND_AHEAD * 2; half++)
			{
				const int at = i + half * HY_CUDA_WARP;

				value[half] = at < args.dims ? hy_element(args, x, at) : 0.0f;
			}
#pragma unroll
			for (int half = 0; half < HY_CUDA_ROUND_AHEAD * 2; half++)
			{
				const int at = i + half * HY_CUDA_WARP;
				float *sum = half % 2 == 0 ? &lanes.low : &lanes.high;

				if (at >= args.padded)
					continue;

				const uint16_t bits = hy_bfloat16(value[half]);
				const float lost = __fsub_rn(value[half], __uint_as_float((unsigned) bits << 16));

				rounded[at] = bits;
				*sum = __fmaf_rn(value[half], value[half], *sum);
				rest_sum = __fmaf_ru(lost, lost, rest_sum);
				if (value[half] != 0.0f)
					others[0].low = 1;
			}
		}
		hy_flush(&lanes, &square[0]);
	}
	rest[0].low = (double) rest_sum;

	const float square_sum = hy_fold(square, lane);
	const float lost_sum = hy_fold(rest, lane);
	const bool zero = hy_fold(others, lane) == 0.0f;
	const bool bounded = square_sum >= HY_CUDA_SHORTEST && square_sum <= HY_CUDA_LONGEST;

	if (bounded)
	{
		measured.length = sqrt((double) square_sum);
		measured.rest = sqrt((double) lost_sum) * HY_CUDA_ROUND_UP;
		return measured;
	}
	if (!zero)
		measured.kind = HY_CUDA_UNBOUNDED;
	else if (cosine)
		measured.kind = HY_CUDA_NEVER;
	for (int i = lane; i < args.padded; i += HY_CUDA_WARP)
		rounded[i] = 0;
	return measured;
}

/* hy_reach: return f, a, b and v of a row. */
template <int Metric>
__device__ __forceinline__ HyCudaReach
hy_reach(const HyMeasured &row, int padded)
{
	const double whole = row.length + row.rest;
	const double slack = HY_CUDA_SUM_SLACK + HY_CUDA_UNIT_SLACK * padded;
	const double scale = Metric == HY_METRIC_COSINE && row.length > 0 ? 1 / row.length : 1;
	HyCudaReach reach = {};

	if (row.kind != HY_CUDA_BOUNDED)
	{
		reach.shift = row.kind == HY_CUDA_NEVER ? -hy_infinity() : hy_infinity();
		return reach;
	}
	reach.factor = __double2float_rn(scale);
	reach.reach = __double2float_ru((row.rest + slack * whole) * scale * HY_CUDA_ROUND_UP);
	reach.rough = __double2float_ru(whole * (1 + slack) * scale * HY_CUDA_ROUND_UP);
	if (Metric == HY_METRIC_L2)
		reach.shift = __double2float_ru(-row.length * row.length / 2 * (1 - HY_CUDA_SQUARE_SLACK));
	return reach;
}

/*
 * hy_round_kernel: round rows or queries, one per warp.  A block begins with row or query number
 * blockIdx.x * HY_CUDA_ROUNDED_ROWS.
 */
template <int Metric, class Element>
__global__ void
__launch_bounds__(HY_CUDA_THREADS) hy_round_kernel(const HyCudaRound args)
{
	hy_needs_bfloat16();

	const int lane = threadIdx.x % HY_CUDA_WARP;
	const int64_t row = (int64_t) blockIdx.x * HY_CUDA_ROUNDED_ROWS + threadIdx.x / HY_CUDA_WARP;
	uint16_t *rounded = args.rounded + row * args.padded;
	HyMeasured measured = {};

	if (row >= args.room)
		return;
	if (row < args.count)
	{
		const Element *x = (const Element *) ((const char *) args.rows + row * args.stride);

		measured = hy_round_row(args, Metric == HY_METRIC_COSINE, x, rounded, lane);
	}
	else
	{
		measured.kind = HY_CUDA_NEVER;
		for (int i = lane; i < args.padded; i += HY_CUDA_WARP)
			rounded[i] = 0;
	}
	if (lane != 0)
		return;
	if (args.reach != NULL)
	{
		args.reach[row] = hy_reach<Metric>(measured, args.padded);
		return;
	}
	args.aim[row].kind = measured.kind;
	args.aim[row].size = measured.length;
	args.aim[row].length = __double2float_ru(measured.length * HY_CUDA_ROUND_UP);
	args.aim[row].rest = __double2float_ru(measured.rest);
}

/*
 * hy_threshold: return t for a distance limit, rounded down.  An infinite t is not lowered. (It is
 * infinite if the k-th inner product is.  A row with the same product still reaches t, and may
 * precede the k-th row by its number.)
 */
template <int Metric>
__device__ __forceinline__ float
hy_threshold(const HyCudaAim &aim, double limit)
{
	double t;

	if (aim.kind == HY_CUDA_NEVER)
		return hy_infinity();
	if (aim.kind == HY_CUDA_UNBOUNDED || !(limit <= DBL_MAX))
		return -hy_infinity();
	if (Metric == HY_METRIC_IP)
		t = -limit;
	else if (Metric == HY_METRIC_COSINE)
		t = (1 - limit) * aim.size;
	else if (limit < 0)
		return hy_infinity();
	else
		t = (aim.size * aim.size * (1 - HY_CUDA_SQUARE_SLACK) -
		     limit * limit * (1 + HY_CUDA_SQUARE_SLACK)) /
		    2;
	if (fabs(t) <= DBL_MAX)
		t -= fabs(t) * 1e-6;
	return __double2float_rd(t);
}

/* hy_aim_kernel: compute the thresholds of all queries and clear their lists. */
template <int Metric>
__global__ void
__launch_bounds__(HY_CUDA_THREADS) hy_aim_kernel(const HyCudaFiltered args)
{
	hy_needs_bfloat16();

	const int q = blockIdx.x * HY_CUDA_THREADS + threadIdx.x;

	if (q >= args.rows.query_count)
		return;
	args.aim[q].threshold =
		hy_threshold<Metric>(args.aim[q], args.best[(int64_t) q * args.k + args.k - 1].distance);
	args.count[q] = 0;
}

#endif
