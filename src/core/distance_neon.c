/*
 * distance_neon.c
 *		The canonical reduction in 128-bit registers: AArch64 Advanced SIMD.
 */
#include "core/distance_levels.h"

#if defined(__aarch64__)

#include <arm_neon.h>
#include <string.h>

#define HY_LEVEL HY_SIMD_NEON
#define HY_TABLE hy_kernels_neon
#define HY_TARGET
#if defined(__clang__)
#define HY_UNROLL _Pragma("clang loop unroll(full)")
#else
#define HY_UNROLL _Pragma("GCC unroll 32")
#endif
#define HY_WIDTH 4
#define HY_WIDE_WIDTH 2
#define HY_PAIR_STEPS 2

#define PRIMITIVE static inline __attribute__((always_inline))

#define vec_sub_apart vec_sub

typedef float32x4_t HyVec;
typedef float64x2_t HyWide;

PRIMITIVE float32x4_t
vec_zero(void)
{
	return vdupq_n_f32(0.0f);
}

PRIMITIVE float32x4_t
vec_load(const float *p)
{
	return vld1q_f32(p);
}

PRIMITIVE float32x4_t
vec_load_half(const uint16_t *p)
{
	return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}

PRIMITIVE float32x4_t
vec_load_part(const float *p, int n)
{
	float32x4_t v = vdupq_n_f32(0.0f);

	v = vld1q_lane_f32(p, v, 0);
	if (n > 1)
		v = vld1q_lane_f32(p + 1, v, 1);
	if (n > 2)
		v = vld1q_lane_f32(p + 2, v, 2);
	return v;
}

PRIMITIVE float32x4_t
vec_load_half_part(const uint16_t *p, int n)
{
	uint16x4_t v = vdup_n_u16(0);

	v = vld1_lane_u16(p, v, 0);
	if (n > 1)
		v = vld1_lane_u16(p + 1, v, 1);
	if (n > 2)
		v = vld1_lane_u16(p + 2, v, 2);
	return vcvt_f32_f16(vreinterpret_f16_u16(v));
}

PRIMITIVE void
vec_store(float *p, float32x4_t v)
{
	vst1q_f32(p, v);
}

PRIMITIVE void
vec_store_half(uint16_t *p, float32x4_t v)
{
	vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(v)));
}

PRIMITIVE float32x4_t
vec_add(float32x4_t a, float32x4_t b)
{
	return vaddq_f32(a, b);
}

PRIMITIVE float32x4_t
vec_sub(float32x4_t a, float32x4_t b)
{
	return vsubq_f32(a, b);
}

PRIMITIVE float32x4_t
vec_abs(float32x4_t a)
{
	return vabsq_f32(a);
}

PRIMITIVE float32x4_t
vec_fma(float32x4_t a, float32x4_t b, float32x4_t c)
{
	return vfmaq_f32(c, a, b);
}

PRIMITIVE float64x2_t
wide_from(const float *p)
{
	return vcvt_f64_f32(vld1_f32(p));
}

PRIMITIVE float64x2_t
wide_load(const double *p)
{
	return vld1q_f64(p);
}

PRIMITIVE void
wide_store(double *p, float64x2_t w)
{
	vst1q_f64(p, w);
}

PRIMITIVE float64x2_t
wide_add(float64x2_t a, float64x2_t b)
{
	return vaddq_f64(a, b);
}

PRIMITIVE double
wide_fold(float64x2_t w)
{
	return vgetq_lane_f64(w, 0) + vgetq_lane_f64(w, 1);
}

#include "core/distance_loops.h"

#endif
