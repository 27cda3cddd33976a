/*
 * precision.cuh
 *		What the filter's kernels are compiled for: bfloat16, or fp16 where there is no bfloat16.
 *
 * Both take 16 bits, so tiles, fragments and memory are the same.  bfloat16 has the range of fp32;
 * in fp16 each row, and each query, is divided by a power of two of its own, so that its largest
 * element lies in 2^14 .. 2^15: none becomes infinite, and what is 2^28 times smaller becomes 0, as
 * part of what rounding takes away.
 */
#ifndef HY_CUDA_PRECISION_CUH
#define HY_CUDA_PRECISION_CUH

#include "cuda/filter_launch.h"
#include "cuda/matrix.cuh"
#include "cuda/row_sums.cuh"

/* hy_bfloat16: value rounded to nearest even; what is subnormal becomes 0, whatever the unit thinks. */
__device__ __forceinline__ uint16_t
hy_bfloat16(float value)
{
	const unsigned bits = __float_as_uint(value);

	if (fabsf(value) < FLT_MIN)
		return 0;
	return (uint16_t) ((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

/* hy_half: the same in fp16, of a value below 2^15. */
__device__ __forceinline__ uint16_t
hy_half(float value)
{
	const unsigned bits = __float_as_uint(value);
	const unsigned size = bits & 0x7fffffffu;

	if (fabsf(value) < 0x1p-14f)
		return 0;
	/* exponents of fp16 begin 112 later */
	return (uint16_t) ((bits >> 16 & 0x8000u) |
	                   (size - (112u << 23) + 0xfffu + (size >> 13 & 1u)) >> 13);
}

/* HyScale: a power of two, and its inverse. */
struct HyScale
{
	float scale;
	float inverse;
};

/*
 * unit_slack: what the unit may err by, for each dim.  asynchronous: whether copies into shared memory
 * go on by themselves wherever this is multiplied.
 */
struct HyBfloat16
{
	static const bool scaled = false;
	static const bool asynchronous = true;
	static constexpr double unit_slack = HY_CUDA_UNIT_SLACK;
};

struct HyHalf
{
	static const bool scaled = true;
	static const bool asynchronous = false;
	static constexpr double unit_slack = HY_CUDA_HALF_SLACK;
};

/* hy_round_to: bits of a value, divided by the scale where there is one. */
__device__ __forceinline__ uint16_t
hy_round_to(HyBfloat16, float value, const HyScale &)
{
	return hy_bfloat16(value);
}

/* a product with a power of two is exact, but where it becomes 0 or the row has no bound */
__device__ __forceinline__ uint16_t
hy_round_to(HyHalf, float value, const HyScale &scale)
{
	return hy_half(__fmul_rn(value, scale.inverse));
}

/* hy_widen_from: what was rounded. */
__device__ __forceinline__ float
hy_widen_from(HyBfloat16, uint16_t bits, const HyScale &)
{
	return __uint_as_float((unsigned) bits << 16);
}

__device__ __forceinline__ float
hy_widen_from(HyHalf, uint16_t bits, const HyScale &scale)
{
	return __fmul_rn(hy_widen(bits), scale.scale);
}

/* hy_multiply_in: sum += a b, for 16 dims (matrix.cuh). */
__device__ __forceinline__ void
hy_multiply_in(HyBfloat16, float (&sum)[4], const uint32_t (&a)[4], const uint32_t (&b)[2])
{
	hy_multiply(sum, a, b);
}

__device__ __forceinline__ void
hy_multiply_in(HyHalf, float (&sum)[4], const uint32_t (&a)[4], const uint32_t (&b)[2])
{
	hy_multiply_half(sum, a, b);
}

/*
 * hy_scale: of a row whose largest element has these bits, without a sign.  Rows so short, or so long,
 * that the exponents end here have no bound (filter_round_kernel.cuh).
 */
__device__ __forceinline__ HyScale
hy_scale(unsigned largest)
{
	const unsigned exponent = largest >> 23 < 15 ? 15 : largest >> 23 > 254 ? 254 : largest >> 23;
	HyScale scale;

	scale.scale = __uint_as_float((exponent - 14) << 23);
	scale.inverse = __uint_as_float((268 - exponent) << 23);
	return scale;
}

#endif
