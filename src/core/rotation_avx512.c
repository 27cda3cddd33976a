/*
 * rotation_avx512.c
 *		The rounds of a rotation in 512-bit registers.
 *
 * distance_avx512.c describes HY_SIMD_HEADER.
 */
#include "core/rotation_levels.h"

#if defined(__x86_64__)

#if defined(HY_SIMD_HEADER)
#include HY_SIMD_HEADER
#define HY_TARGET
#else
#include <immintrin.h>
#define HY_TARGET __attribute__((target("avx512f")))
#endif

#define HY_ROTATE hy_rotate_avx512
#define HY_REG_FLOATS 16
#if defined(__clang__)
#define HY_UNROLL _Pragma("clang loop unroll(full)")
#else
#define HY_UNROLL _Pragma("GCC unroll 16")
#endif

#define PRIMITIVE static inline __attribute__((always_inline)) HY_TARGET

typedef __m512 HyReg;

PRIMITIVE __m512
reg_load(const float *p)
{
	return _mm512_loadu_ps(p);
}

PRIMITIVE void
reg_store(float *p, __m512 r)
{
	_mm512_storeu_ps(p, r);
}

PRIMITIVE __m512
reg_all(float f)
{
	return _mm512_set1_ps(f);
}

PRIMITIVE __m512
reg_add(__m512 a, __m512 b)
{
	return _mm512_add_ps(a, b);
}

PRIMITIVE __m512
reg_sub(__m512 a, __m512 b)
{
	return _mm512_sub_ps(a, b);
}

PRIMITIVE __m512
reg_mul(__m512 a, __m512 b)
{
	return _mm512_mul_ps(a, b);
}

/* swap_lanes: swap neighboring 128-bit lanes (0xb1) or halves (0x4e). */
#define swap_lanes(r, how)                                                                         \
	_mm512_castsi512_ps(_mm512_shuffle_i32x4(_mm512_castps_si512(r), _mm512_castps_si512(r), how))

/*
 * Multiplying by 1 or -1 is exact, so each fused operation equals the addition or the subtraction.
 */
PRIMITIVE __m512
reg_within(__m512 r)
{
	const __m512 odd = _mm512_setr_ps(1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1);
	const __m512 pairs = _mm512_setr_ps(1, 1, -1, -1, 1, 1, -1, -1, 1, 1, -1, -1, 1, 1, -1, -1);
	const __m512 fours = _mm512_setr_ps(1, 1, 1, 1, -1, -1, -1, -1, 1, 1, 1, 1, -1, -1, -1, -1);
	const __m512 halves = _mm512_setr_ps(1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1, -1);

	r = _mm512_fmadd_ps(r, odd, _mm512_shuffle_ps(r, r, 0xb1));
	r = _mm512_fmadd_ps(r, pairs, _mm512_shuffle_ps(r, r, 0x4e));
	r = _mm512_fmadd_ps(r, fours, swap_lanes(r, 0xb1));
	return _mm512_fmadd_ps(r, halves, swap_lanes(r, 0x4e));
}

#include "core/rotation_loops.h"

#endif
