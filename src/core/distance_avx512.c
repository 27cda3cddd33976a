/*
 * distance_avx512.c
 *		The canonical reduction in 512-bit registers: AVX-512 F, BW, VL, DQ.
 *
 * HY_SIMD_HEADER may name a header that emulates the intrinsics, so that the tests can run this
 * file on a processor that lacks the instructions.
 */
#include "core/distance_levels.h"

#if defined(__x86_64__)

#if defined(HY_SIMD_HEADER)
#include HY_SIMD_HEADER
#define HY_TARGET
#else
#include <immintrin.h>
#define HY_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")))
#endif

#define HY_LEVEL HY_SIMD_AVX512
#define HY_TABLE hy_kernels_avx512
#if defined(__clang__)
#define HY_UNROLL _Pragma("clang loop unroll(full)")
#else
#define HY_UNROLL _Pragma("GCC unroll 16")
#endif
#define HY_WIDTH 16
#define HY_WIDE_WIDTH 8
#define HY_PAIR_STEPS 1

#define PRIMITIVE static inline __attribute__((always_inline)) HY_TARGET

#define vec_sub_apart vec_sub

typedef __m512 HyVec;
typedef __m512d HyWide;

PRIMITIVE __m512
vec_zero(void)
{
	return _mm512_setzero_ps();
}

PRIMITIVE __m512
vec_load(const float *p)
{
	return _mm512_loadu_ps(p);
}

PRIMITIVE __m512
vec_load_half(const uint16_t *p)
{
	return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *) p));
}

PRIMITIVE __m512
vec_load_part(const float *p, int n)
{
	return _mm512_maskz_loadu_ps((__mmask16) ((1u << n) - 1), p);
}

PRIMITIVE __m512
vec_load_half_part(const uint16_t *p, int n)
{
	return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16((__mmask16) ((1u << n) - 1), p));
}

PRIMITIVE void
vec_store(float *p, __m512 v)
{
	_mm512_storeu_ps(p, v);
}

PRIMITIVE void
vec_store_half(uint16_t *p, __m512 v)
{
	_mm256_storeu_si256((__m256i *) p, _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}

PRIMITIVE __m512
vec_add(__m512 a, __m512 b)
{
	return _mm512_add_ps(a, b);
}

PRIMITIVE __m512
vec_sub(__m512 a, __m512 b)
{
	return _mm512_sub_ps(a, b);
}

PRIMITIVE __m512
vec_abs(__m512 a)
{
	return _mm512_abs_ps(a);
}

PRIMITIVE __m512
vec_fma(__m512 a, __m512 b, __m512 c)
{
	return _mm512_fmadd_ps(a, b, c);
}

PRIMITIVE __m512d
wide_from(const float *p)
{
	return _mm512_cvtps_pd(_mm256_loadu_ps(p));
}

PRIMITIVE __m512d
wide_load(const double *p)
{
	return _mm512_loadu_pd(p);
}

PRIMITIVE void
wide_store(double *p, __m512d w)
{
	_mm512_storeu_pd(p, w);
}

PRIMITIVE __m512d
wide_add(__m512d a, __m512d b)
{
	return _mm512_add_pd(a, b);
}

PRIMITIVE double
wide_fold(__m512d w)
{
	__m256d half = _mm256_add_pd(_mm512_castpd512_pd256(w), _mm512_extractf64x4_pd(w, 1));
	__m128d quarter = _mm_add_pd(_mm256_castpd256_pd128(half), _mm256_extractf128_pd(half, 1));

	return _mm_cvtsd_f64(_mm_add_sd(quarter, _mm_unpackhi_pd(quarter, quarter)));
}

#include "core/distance_loops.h"

/* The matrix unit does not help with these sums, so the AMX level uses the AVX-512 functions. */
const HyKernels hy_kernels_amx = HY_KERNELS_OF(HY_SIMD_AMX);

#endif
