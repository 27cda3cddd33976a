/*
 * codes_avx2.c
 *		Codes in 256-bit registers: vpshufb looks up two tables for 16 rows each.
 */
#include "core/codes_levels.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <string.h>

#define TARGET __attribute__((target("avx2,fma")))
#if defined(__clang__)
#define UNROLL_TWICE _Pragma("clang loop unroll_count(2)")
#else
#define UNROLL_TWICE _Pragma("GCC unroll 2")
#endif
#define PRIMITIVE static inline __attribute__((always_inline)) TARGET

/* halves: add the two 128-bit halves of r as 16-bit words. */
PRIMITIVE __m128i
halves(__m256i r)
{
	return _mm_add_epi16(_mm256_castsi256_si128(r), _mm256_extracti128_si256(r, 1));
}

PRIMITIVE void
add_eight(uint32_t *sums, __m128i words)
{
	__m256i *at = (__m256i *) (void *) sums;

	_mm256_storeu_si256(at, _mm256_add_epi32(_mm256_loadu_si256(at), _mm256_cvtepu16_epi32(words)));
}

PRIMITIVE __m256i
load(const uint8_t *p)
{
	return _mm256_loadu_si256((const __m256i *) (const void *) p);
}

/*
 * The entries of two tables are added as bytes, and the results are accumulated as 16-bit words.  A
 * word holds an even row in its low byte and an odd row in its high byte.  The sum of a word is the
 * even sum plus 256 times the odd sum, modulo 2^16.  The odd sums are also accumulated separately.
 * At the end, 256 times the odd sum is subtracted from the word.  The result is the even sum, even
 * if the word overflowed.
 */
TARGET static void
code_sums(const uint8_t *tables, const uint8_t *codes, const uint8_t *next, int count,
          uint32_t *sums)
{
	const __m256i low = _mm256_set1_epi8(15);

	while (count > 0)
	{
		int chunk = count < HY_CODE_CHUNK ? count : HY_CODE_CHUNK;
		__m256i words0 = _mm256_setzero_si256();
		__m256i odds0 = words0;
		__m256i words1 = words0;
		__m256i odds1 = words0;
		__m128i even;
		__m128i odd;
		int t;

		UNROLL_TWICE
		for (t = 0; t < chunk; t += 4, tables += 64, codes += 64, next += 64)
		{
			__m256i a = load(codes);
			__m256i b = load(codes + 32);
			__m256i table_a = load(tables);
			__m256i table_b = load(tables + 32);
			__m256i entry0 =
				_mm256_add_epi8(_mm256_shuffle_epi8(table_a, _mm256_and_si256(a, low)),
			                    _mm256_shuffle_epi8(table_b, _mm256_and_si256(b, low)));
			__m256i entry1;

			__builtin_prefetch(next);
			a = _mm256_and_si256(_mm256_srli_epi16(a, 4), low);
			b = _mm256_and_si256(_mm256_srli_epi16(b, 4), low);
			entry1 =
				_mm256_add_epi8(_mm256_shuffle_epi8(table_a, a), _mm256_shuffle_epi8(table_b, b));
			words0 = _mm256_add_epi16(words0, entry0);
			odds0 = _mm256_add_epi16(odds0, _mm256_srli_epi16(entry0, 8));
			words1 = _mm256_add_epi16(words1, entry1);
			odds1 = _mm256_add_epi16(odds1, _mm256_srli_epi16(entry1, 8));
		}
		odd = halves(odds0);
		even = _mm_sub_epi16(halves(words0), _mm_slli_epi16(odd, 8));
		add_eight(sums, _mm_unpacklo_epi16(even, odd));
		add_eight(sums + 8, _mm_unpackhi_epi16(even, odd));
		odd = halves(odds1);
		even = _mm_sub_epi16(halves(words1), _mm_slli_epi16(odd, 8));
		add_eight(sums + 16, _mm_unpacklo_epi16(even, odd));
		add_eight(sums + 24, _mm_unpackhi_epi16(even, odd));
		count -= chunk;
	}
}

TARGET static uint32_t
code_bounds(const HyCodeBounds *bounds, const uint32_t *sums, const HyCodeFactors *factors,
            float *estimate, float *lower)
{
	const __m256 scale = _mm256_set1_ps(bounds->scale);
	const __m256 offset = _mm256_set1_ps(bounds->offset);
	const __m256 base = _mm256_set1_ps(bounds->base);
	const __m256 slack = _mm256_set1_ps(bounds->slack);
	const __m256 margin = _mm256_set1_ps(bounds->margin);
	const __m256 threshold = _mm256_set1_ps(bounds->threshold);
	uint32_t mask = 0;
	int i;

	for (i = 0; i < HY_CODE_ROWS; i += 8)
	{
		__m256 sum =
			_mm256_cvtepi32_ps(_mm256_loadu_si256((const __m256i *) (const void *) (sums + i)));
		__m256 bracket = _mm256_add_ps(_mm256_mul_ps(scale, sum), offset);
		__m256 rescale = _mm256_loadu_ps(factors->rescale + i);
		__m256 about = _mm256_add_ps(_mm256_add_ps(_mm256_loadu_ps(factors->add + i), base),
		                             _mm256_mul_ps(rescale, bracket));
		__m256 least = _mm256_sub_ps(_mm256_add_ps(about, _mm256_mul_ps(rescale, slack)),
		                             _mm256_mul_ps(_mm256_loadu_ps(factors->error + i), margin));

		_mm256_storeu_ps(estimate + i, about);
		_mm256_storeu_ps(lower + i, least);
		mask |= (uint32_t) _mm256_movemask_ps(_mm256_cmp_ps(least, threshold, _CMP_NGT_UQ)) << i;
	}
	return mask;
}

/*
 * entries_of: compute eight entries of a table from their exact sums.  Adds the squared rounding
 * errors to *lost.
 */
PRIMITIVE __m256i
entries_of(__m256 sums, __m256 inverse, __m256 *lost)
{
	__m256 exact = _mm256_mul_ps(sums, inverse);
	__m256i entry = _mm256_cvttps_epi32(_mm256_add_ps(exact, _mm256_set1_ps(0.5f)));
	__m256 loss = _mm256_sub_ps(exact, _mm256_cvtepi32_ps(entry));

	*lost = _mm256_add_ps(*lost, _mm256_mul_ps(loss, loss));
	return entry;
}

TARGET float
hy_code_widest_avx2(const float *q, int count)
{
	const __m256 sign = _mm256_set1_ps(-0.0f);
	__m256i most = _mm256_setzero_si256();
	uint32_t lanes[8];
	uint32_t found = 0;
	float widest;
	int t;
	int i;

	for (t = 0; t < count; t += 8, q += 32)
	{
		__m256 ab = _mm256_hadd_ps(_mm256_andnot_ps(sign, _mm256_loadu_ps(q)),
		                           _mm256_andnot_ps(sign, _mm256_loadu_ps(q + 8)));
		__m256 cd = _mm256_hadd_ps(_mm256_andnot_ps(sign, _mm256_loadu_ps(q + 16)),
		                           _mm256_andnot_ps(sign, _mm256_loadu_ps(q + 24)));
		__m256 range = _mm256_andnot_ps(sign, _mm256_hadd_ps(ab, cd));

		most = _mm256_max_epu32(most, _mm256_castps_si256(range));
	}
	_mm256_storeu_si256((__m256i *) (void *) lanes, most);
	for (i = 0; i < 8; i++)
		found = lanes[i] > found ? lanes[i] : found;
	memcpy(&widest, &found, sizeof(widest));
	return widest;
}

/*
 * An entry contains |x| if its index bit agrees with the sign of x.  The element x therefore
 * contributes max(0, x) if the bit is set, and max(0, -x) if it is not.  The indexes of the two
 * halves of a table differ in the fourth bit only.
 */
TARGET static uint32_t
code_tables(const float *q, int count, float inverse, uint8_t *tables, float losses[16])
{
	const __m256 zero = _mm256_setzero_ps();
	const __m256 sign = _mm256_set1_ps(-0.0f);
	const __m256 first = _mm256_setr_ps(-0.0f, 0, -0.0f, 0, -0.0f, 0, -0.0f, 0);
	const __m256 second = _mm256_setr_ps(-0.0f, -0.0f, 0, 0, -0.0f, -0.0f, 0, 0);
	const __m256 third = _mm256_setr_ps(-0.0f, -0.0f, -0.0f, -0.0f, 0, 0, 0, 0);
	const __m256 by = _mm256_set1_ps(inverse);
	__m256 lost0 = _mm256_loadu_ps(losses);
	__m256 lost1 = _mm256_loadu_ps(losses + 8);
	__m128i sum = _mm_setzero_si128();
	int t;

	for (t = 0; t < count; t++, q += 4, tables += 16)
	{
		__m256 a = _mm256_max_ps(_mm256_xor_ps(_mm256_broadcast_ss(q), first), zero);
		__m256 b = _mm256_max_ps(_mm256_xor_ps(_mm256_broadcast_ss(q + 1), second), zero);
		__m256 c = _mm256_max_ps(_mm256_xor_ps(_mm256_broadcast_ss(q + 2), third), zero);
		__m256 d = _mm256_broadcast_ss(q + 3);
		__m256 ab = _mm256_add_ps(a, b);
		__m256 without = _mm256_add_ps(c, _mm256_max_ps(_mm256_xor_ps(d, sign), zero));
		__m256 with = _mm256_add_ps(c, _mm256_max_ps(d, zero));
		__m256i lower = entries_of(_mm256_add_ps(ab, without), by, &lost0);
		__m256i upper = entries_of(_mm256_add_ps(ab, with), by, &lost1);
		__m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(lower, upper), 0xd8);
		__m128i bytes =
			_mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));

		_mm_storeu_si128((__m128i *) (void *) tables, bytes);
		sum = _mm_add_epi64(sum, _mm_sad_epu8(bytes, _mm_setzero_si128()));
	}
	_mm256_storeu_ps(losses, lost0);
	_mm256_storeu_ps(losses + 8, lost1);
	return (uint32_t) (_mm_cvtsi128_si64(sum) + _mm_extract_epi64(sum, 1));
}

TARGET void
hy_code_encode_avx2(const float *residual, const float *centroid, int padded, uint8_t *bits,
                    HyCodeSums *sums)
{
	const __m256 sign = _mm256_set1_ps(-0.0f);
	__m256d square0 = _mm256_setzero_pd();
	__m256d square1 = square0;
	__m256d magnitude0 = square0;
	__m256d magnitude1 = square0;
	__m256d signed0 = square0;
	__m256d signed1 = square0;
	__m256d product0 = square0;
	__m256d product1 = square0;
	int i;

	for (i = 0; i < padded; i += HY_CODE_LANES)
	{
		__m256 r = _mm256_loadu_ps(residual + i);
		__m256 c = _mm256_loadu_ps(centroid + i);
		__m256 positive = _mm256_cmp_ps(r, _mm256_setzero_ps(), _CMP_GE_OQ);
		__m256 turned = _mm256_xor_ps(c, _mm256_andnot_ps(positive, sign));
		__m256 size = _mm256_andnot_ps(sign, r);
		__m256d r0 = _mm256_cvtps_pd(_mm256_castps256_ps128(r));
		__m256d r1 = _mm256_cvtps_pd(_mm256_extractf128_ps(r, 1));

		bits[i / HY_CODE_LANES] = (uint8_t) _mm256_movemask_ps(positive);
		/* The products are exact, so a fused operation rounds like a separate product and sum. */
		square0 = _mm256_fmadd_pd(r0, r0, square0);
		square1 = _mm256_fmadd_pd(r1, r1, square1);
		product0 = _mm256_fmadd_pd(r0, _mm256_cvtps_pd(_mm256_castps256_ps128(c)), product0);
		product1 = _mm256_fmadd_pd(r1, _mm256_cvtps_pd(_mm256_extractf128_ps(c, 1)), product1);
		magnitude0 = _mm256_add_pd(magnitude0, _mm256_cvtps_pd(_mm256_castps256_ps128(size)));
		magnitude1 = _mm256_add_pd(magnitude1, _mm256_cvtps_pd(_mm256_extractf128_ps(size, 1)));
		signed0 = _mm256_add_pd(signed0, _mm256_cvtps_pd(_mm256_castps256_ps128(turned)));
		signed1 = _mm256_add_pd(signed1, _mm256_cvtps_pd(_mm256_extractf128_ps(turned, 1)));
	}
	_mm256_storeu_pd(sums->squares, square0);
	_mm256_storeu_pd(sums->squares + 4, square1);
	_mm256_storeu_pd(sums->magnitudes, magnitude0);
	_mm256_storeu_pd(sums->magnitudes + 4, magnitude1);
	_mm256_storeu_pd(sums->signeds, signed0);
	_mm256_storeu_pd(sums->signeds + 4, signed1);
	_mm256_storeu_pd(sums->products, product0);
	_mm256_storeu_pd(sums->products + 4, product1);
}

TARGET static uint32_t
code_score(const HyCodeScorer *scorer, const uint8_t *codes, const uint8_t *next,
           const HyCodeFactors *factors, float *estimate, float *lower)
{
	uint32_t sums[HY_CODE_ROWS];
	const uint8_t *tables = scorer->tables;
	int first = scorer->early.count, after = first * 16;
	int i;

	/* These stores have the width of the loads that follow, so the processor can forward them. */
	for (i = 0; i < HY_CODE_ROWS; i += 8)
		_mm256_storeu_si256((__m256i *) (void *) (sums + i), _mm256_setzero_si256());
	code_sums(tables, codes, next, first, sums);
	if (first < scorer->count)
	{
		if (code_bounds(&scorer->early.bounds, sums, factors, estimate, lower) == 0)
			return 0;
		code_sums(tables + after, codes + after, next + after, scorer->count - first, sums);
	}
	return code_bounds(&scorer->bounds, sums, factors, estimate, lower);
}

const HyCodeKernels hy_code_kernels_avx2 = {HY_SIMD_AVX2,       code_sums,           code_bounds,
                                            code_score,         hy_code_widest_avx2, code_tables,
                                            hy_code_encode_avx2};

#endif
