/*
 * rotation_avx2.c
 *		The rounds of a rotation in 256-bit registers.
 */
#include "core/rotation_levels.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define HY_ROTATE hy_rotate_avx2
#define HY_TARGET __attribute__((target("avx2,fma")))
#define HY_REG_FLOATS 8
#if defined(__clang__)
#define HY_UNROLL _Pragma("clang loop unroll(full)")
#else
#define HY_UNROLL _Pragma("GCC unroll 16")
#endif

#define PRIMITIVE static inline __attribute__((always_inline)) HY_TARGET

typedef __m256 HyReg;

PRIMITIVE __m256
reg_load(const float *p)
{
	return _mm256_loadu_ps(p);
}

PRIMITIVE void
reg_store(float *p, __m256 r)
{
	_mm256_storeu_ps(p, r);
}

PRIMITIVE __m256
reg_all(float f)
{
	return _mm256_set1_ps(f);
}

PRIMITIVE __m256
reg_add(__m256 a, __m256 b)
{
	return _mm256_add_ps(a, b);
}

PRIMITIVE __m256
reg_sub(__m256 a, __m256 b)
{
	return _mm256_sub_ps(a, b);
}

PRIMITIVE __m256
reg_mul(__m256 a, __m256 b)
{
	return _mm256_mul_ps(a, b);
}

/*
 * Multiplying by 1 or -1 is exact, so each fused operation equals the addition or the subtraction.
 */
PRIMITIVE __m256
reg_within(__m256 r)
{
	const __m256 odd = _mm256_setr_ps(1, -1, 1, -1, 1, -1, 1, -1);
	const __m256 pairs = _mm256_setr_ps(1, 1, -1, -1, 1, 1, -1, -1);
	const __m256 halves = _mm256_setr_ps(1, 1, 1, 1, -1, -1, -1, -1);

	r = _mm256_fmadd_ps(r, odd, _mm256_permute_ps(r, 0xb1));
	r = _mm256_fmadd_ps(r, pairs, _mm256_permute_ps(r, 0x4e));
	return _mm256_fmadd_ps(r, halves, _mm256_permute2f128_ps(r, r, 1));
}

#include "core/rotation_loops.h"

#endif
