/*
 * rotation_neon.c
 *		The rounds of a rotation in the 128-bit registers of AArch64.
 */
#include "core/rotation_levels.h"

#if defined(__aarch64__)

#include <arm_neon.h>

#define HY_ROTATE hy_rotate_neon
#define HY_TARGET
#define HY_REG_FLOATS 4
#if defined(__clang__)
#define HY_UNROLL _Pragma("clang loop unroll(full)")
#else
#define HY_UNROLL _Pragma("GCC unroll 16")
#endif

#define PRIMITIVE static inline __attribute__((always_inline))

typedef float32x4_t HyReg;

PRIMITIVE float32x4_t
reg_load(const float *p)
{
	return vld1q_f32(p);
}

PRIMITIVE void
reg_store(float *p, float32x4_t r)
{
	vst1q_f32(p, r);
}

PRIMITIVE float32x4_t
reg_all(float f)
{
	return vdupq_n_f32(f);
}

PRIMITIVE float32x4_t
reg_add(float32x4_t a, float32x4_t b)
{
	return vaddq_f32(a, b);
}

PRIMITIVE float32x4_t
reg_sub(float32x4_t a, float32x4_t b)
{
	return vsubq_f32(a, b);
}

PRIMITIVE float32x4_t
reg_mul(float32x4_t a, float32x4_t b)
{
	return vmulq_f32(a, b);
}

/*
 * Multiplying by 1 or -1 is exact, so each fused operation equals the addition or the subtraction.
 */
PRIMITIVE float32x4_t
reg_within(float32x4_t r)
{
	static const float odd[4] = {1, -1, 1, -1};
	static const float pairs[4] = {1, 1, -1, -1};

	r = vfmaq_f32(vrev64q_f32(r), r, vld1q_f32(odd));
	return vfmaq_f32(vextq_f32(r, r, 2), r, vld1q_f32(pairs));
}

#include "core/rotation_loops.h"

#endif
