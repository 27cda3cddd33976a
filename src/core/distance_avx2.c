/*
 * distance_avx2.c
 *		The canonical reduction in 256-bit registers: AVX2, FMA, F16C.
 */
#include "core/distance_levels.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <string.h>

#define HY_LEVEL HY_SIMD_AVX2
#define HY_TABLE hy_kernels_avx2
#define HY_TARGET __attribute__((target("avx2,fma,f16c")))
#if defined(__clang__)
#define HY_UNROLL _Pragma("clang loop unroll(full)")
#else
#define HY_UNROLL _Pragma("GCC unroll 16")
#endif
#define HY_WIDTH 8
#define HY_WIDE_WIDTH 4
#define HY_PAIR_STEPS 2

#define PRIMITIVE static inline __attribute__((always_inline)) HY_TARGET

typedef __m256 HyVec;
typedef __m256d HyWide;

PRIMITIVE __m256
vec_zero(void)
{
	return _mm256_setzero_ps();
}

PRIMITIVE __m256
vec_load(const float *p)
{
	return _mm256_loadu_ps(p);
}

PRIMITIVE __m256
vec_load_half(const uint16_t *p)
{
	return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *) p));
}

PRIMITIVE __m256
vec_load_part(const float *p, int n)
{
	__m256i mask =
		_mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));

	return _mm256_maskload_ps(p, mask);
}

PRIMITIVE __m256
vec_load_half_part(const uint16_t *p, int n)
{
	uint64_t words[2] = {0, 0};
	int i;

	/* AVX2 has no masked load of 16-bit elements.  The words stay in registers. */
	for (i = 0; i < n; i++)
		words[i / 4] |= (uint64_t) p[i] << (16 * (i % 4));
	return _mm256_cvtph_ps(_mm_set_epi64x((long long) words[1], (long long) words[0]));
}

PRIMITIVE void
vec_store(float *p, __m256 v)
{
	_mm256_storeu_ps(p, v);
}

PRIMITIVE void
vec_store_half(uint16_t *p, __m256 v)
{
	_mm_storeu_si128((__m128i *) p, _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}

PRIMITIVE __m256
vec_add(__m256 a, __m256 b)
{
	return _mm256_add_ps(a, b);
}

PRIMITIVE __m256
vec_sub(__m256 a, __m256 b)
{
	return _mm256_sub_ps(a, b);
}

/*
 * vec_sub_apart: compute a - b as a * 1 - b, which is equally exact.  It runs on the multiply unit
 * instead of the unit that adds and widens.
 */
PRIMITIVE __m256
vec_sub_apart(__m256 a, __m256 b)
{
	return _mm256_fmsub_ps(a, _mm256_set1_ps(1.0f), b);
}

PRIMITIVE __m256
vec_abs(__m256 a)
{
	return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a);
}

PRIMITIVE __m256
vec_fma(__m256 a, __m256 b, __m256 c)
{
	return _mm256_fmadd_ps(a, b, c);
}

PRIMITIVE __m256d
wide_from(const float *p)
{
	return _mm256_cvtps_pd(_mm_loadu_ps(p));
}

PRIMITIVE __m256d
wide_load(const double *p)
{
	return _mm256_loadu_pd(p);
}

PRIMITIVE void
wide_store(double *p, __m256d w)
{
	_mm256_storeu_pd(p, w);
}

PRIMITIVE __m256d
wide_add(__m256d a, __m256d b)
{
	return _mm256_add_pd(a, b);
}

PRIMITIVE double
wide_fold(__m256d w)
{
	__m128d half = _mm_add_pd(_mm256_castpd256_pd128(w), _mm256_extractf128_pd(w, 1));

	return _mm_cvtsd_f64(_mm_add_sd(half, _mm_unpackhi_pd(half, half)));
}

#include "core/distance_loops.h"

#endif
