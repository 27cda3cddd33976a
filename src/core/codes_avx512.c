/*
 * codes_avx512.c
 *		Codes in 512-bit registers: vpshufb looks up four tables for 16 rows each.
 *
 * distance_avx512.c describes HY_SIMD_HEADER.
 */
#include "core/codes_levels.h"

#if defined(__x86_64__)

#if defined(HY_SIMD_HEADER)
#include HY_SIMD_HEADER
#define TARGET
#else
#include <immintrin.h>
#define TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma")))
#endif

#define PRIMITIVE static inline __attribute__((always_inline)) TARGET

/* quarters: add the four 128-bit quarters of r as 16-bit words. */
PRIMITIVE __m128i
quarters(__m512i r)
{
	__m256i half = _mm256_add_epi16(_mm512_castsi512_si256(r), _mm512_extracti64x4_epi64(r, 1));

	return _mm_add_epi16(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
}

/* Sixteen: the sums of the 32 rows of a block, sixteen per register. */
typedef struct Sixteen
{
	__m512i rows0;
	__m512i rows16;
} Sixteen;

/*
 * rows_of: compute the sums of sixteen rows from the accumulated words and the separate odd sums.
 */
PRIMITIVE __m512i
rows_of(__m512i words, __m512i odds)
{
	__m128i odd = quarters(odds);
	__m128i even = _mm_sub_epi16(quarters(words), _mm_slli_epi16(odd, 8));

	return _mm512_cvtepu16_epi32(_mm256_inserti128_si256(
		_mm256_castsi128_si256(_mm_unpacklo_epi16(even, odd)), _mm_unpackhi_epi16(even, odd), 1));
}

/*
 * sum_chunk: sum at most HY_CODE_CHUNK tables.  As in codes_avx2.c, entries of two tables are added
 * as bytes.  A word holds the sum of an even row plus 256 times the sum of an odd row.
 */
PRIMITIVE Sixteen
sum_chunk(const uint8_t *tables, const uint8_t *codes, const uint8_t *next, int count)
{
	const __m512i low = _mm512_set1_epi8(15);
	__m512i words0 = _mm512_setzero_si512();
	__m512i odds0 = words0;
	__m512i words1 = words0;
	__m512i odds1 = words0;
	Sixteen sums;
	int t;

	for (t = 0; t < count; t += 8, tables += 128, codes += 128, next += 128)
	{
		__m512i a = _mm512_loadu_si512(codes);
		__m512i b = _mm512_loadu_si512(codes + 64);
		__m512i table_a = _mm512_loadu_si512(tables);
		__m512i table_b = _mm512_loadu_si512(tables + 64);
		__m512i entry0 = _mm512_add_epi8(_mm512_shuffle_epi8(table_a, _mm512_and_si512(a, low)),
		                                 _mm512_shuffle_epi8(table_b, _mm512_and_si512(b, low)));
		__m512i entry1;

		__builtin_prefetch(next);
		__builtin_prefetch(next + 64);
		a = _mm512_and_si512(_mm512_srli_epi16(a, 4), low);
		b = _mm512_and_si512(_mm512_srli_epi16(b, 4), low);
		entry1 = _mm512_add_epi8(_mm512_shuffle_epi8(table_a, a), _mm512_shuffle_epi8(table_b, b));
		words0 = _mm512_add_epi16(words0, entry0);
		odds0 = _mm512_add_epi16(odds0, _mm512_srli_epi16(entry0, 8));
		words1 = _mm512_add_epi16(words1, entry1);
		odds1 = _mm512_add_epi16(odds1, _mm512_srli_epi16(entry1, 8));
	}
	sums.rows0 = rows_of(words0, odds0);
	sums.rows16 = rows_of(words1, odds1);
	return sums;
}

TARGET static void
code_sums(const uint8_t *tables, const uint8_t *codes, const uint8_t *next, int count,
          uint32_t *sums)
{
	while (count > 0)
	{
		int chunk = count < HY_CODE_CHUNK ? count : HY_CODE_CHUNK;
		Sixteen more = sum_chunk(tables, codes, next, chunk);

		_mm512_storeu_si512(sums, _mm512_add_epi32(_mm512_loadu_si512(sums), more.rows0));
		_mm512_storeu_si512(sums + 16,
		                    _mm512_add_epi32(_mm512_loadu_si512(sums + 16), more.rows16));
		tables += chunk * 16;
		codes += chunk * 16;
		next += chunk * 16;
		count -= chunk;
	}
}

/*
 * bounds_of_16: compute the bounds of 16 rows of a block, starting at row i.  Return their bits of
 * the mask.
 */
PRIMITIVE uint32_t
bounds_of_16(const HyCodeBounds *bounds, __m512i sums, const HyCodeFactors *factors, int i,
             float *estimate, float *lower)
{
	__m512 bracket =
		_mm512_add_ps(_mm512_mul_ps(_mm512_set1_ps(bounds->scale), _mm512_cvtepi32_ps(sums)),
	                  _mm512_set1_ps(bounds->offset));
	__m512 rescale = _mm512_loadu_ps(factors->rescale + i);
	__m512 about = _mm512_add_ps(
		_mm512_add_ps(_mm512_loadu_ps(factors->add + i), _mm512_set1_ps(bounds->base)),
		_mm512_mul_ps(rescale, bracket));
	__m512 least = _mm512_sub_ps(
		_mm512_add_ps(about, _mm512_mul_ps(rescale, _mm512_set1_ps(bounds->slack))),
		_mm512_mul_ps(_mm512_loadu_ps(factors->error + i), _mm512_set1_ps(bounds->margin)));

	_mm512_storeu_ps(estimate + i, about);
	_mm512_storeu_ps(lower + i, least);
	return (uint32_t) _mm512_cmp_ps_mask(least, _mm512_set1_ps(bounds->threshold), _CMP_NGT_UQ)
	       << i;
}

TARGET static uint32_t
code_bounds(const HyCodeBounds *bounds, const uint32_t *sums, const HyCodeFactors *factors,
            float *estimate, float *lower)
{
	return bounds_of_16(bounds, _mm512_loadu_si512(sums), factors, 0, estimate, lower) |
	       bounds_of_16(bounds, _mm512_loadu_si512(sums + 16), factors, 16, estimate, lower);
}

TARGET static uint32_t
code_score(const HyCodeScorer *scorer, const uint8_t *codes, const uint8_t *next,
           const HyCodeFactors *factors, float *estimate, float *lower)
{
	const uint8_t *tables = scorer->tables;
	const HyCodeBounds *bounds = &scorer->bounds;
	const HyCodeBounds *early = &scorer->early.bounds;
	int first = scorer->early.count, after = first * 16;
	Sixteen sums = sum_chunk(tables, codes, next, first);

	if (first < scorer->count)
	{
		Sixteen more;

		if ((bounds_of_16(early, sums.rows0, factors, 0, estimate, lower) |
		     bounds_of_16(early, sums.rows16, factors, 16, estimate, lower)) == 0)
			return 0;
		more = sum_chunk(tables + after, codes + after, next + after, scorer->count - first);
		sums.rows0 = _mm512_add_epi32(sums.rows0, more.rows0);
		sums.rows16 = _mm512_add_epi32(sums.rows16, more.rows16);
	}
	return bounds_of_16(bounds, sums.rows0, factors, 0, estimate, lower) |
	       bounds_of_16(bounds, sums.rows16, factors, 16, estimate, lower);
}

/*
 * part: return |x| in each of the 16 entries whose index bit agrees with the sign of x, and 0 in
 * the other entries.
 */
PRIMITIVE __m512
part(float x, __mmask16 bit)
{
	return _mm512_maskz_mov_ps((__mmask16) (x < 0 ? ~bit : bit),
	                           _mm512_set1_ps(__builtin_fabsf(x)));
}

TARGET static uint32_t
code_tables(const float *q, int count, float inverse, uint8_t *tables, float losses[16])
{
	const __m512 by = _mm512_set1_ps(inverse);
	const __m512 half = _mm512_set1_ps(0.5f);
	__m512 lost = _mm512_loadu_ps(losses);
	__m128i sum = _mm_setzero_si128();
	int t;

	for (t = 0; t < count; t++, q += 4, tables += 16)
	{
		__m512 ab = _mm512_add_ps(part(q[0], 0xaaaa), part(q[1], 0xcccc));
		__m512 cd = _mm512_add_ps(part(q[2], 0xf0f0), part(q[3], 0xff00));
		__m512 exact = _mm512_mul_ps(_mm512_add_ps(ab, cd), by);
		__m512i entry = _mm512_cvttps_epi32(_mm512_add_ps(exact, half));
		__m512 loss = _mm512_sub_ps(exact, _mm512_cvtepi32_ps(entry));
		__m128i bytes;

		lost = _mm512_add_ps(lost, _mm512_mul_ps(loss, loss));
		bytes = _mm512_cvtepi32_epi8(entry);
		_mm_storeu_si128((__m128i *) (void *) tables, bytes);
		sum = _mm_add_epi64(sum, _mm_sad_epu8(bytes, _mm_setzero_si128()));
	}
	_mm512_storeu_ps(losses, lost);
	return (uint32_t) (_mm_cvtsi128_si64(sum) + _mm_extract_epi64(sum, 1));
}

const HyCodeKernels hy_code_kernels_avx512 = {HY_SIMD_AVX512,     code_sums,           code_bounds,
                                              code_score,         hy_code_widest_avx2, code_tables,
                                              hy_code_encode_avx2};

#endif
