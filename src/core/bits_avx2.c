/*
 * bits_avx2.c
 *		Counting bits in 256-bit registers.
 *
 * A shuffle looks up each half of a byte in a table of 16 counts (W. Mula, N. Kurz, D. Lemire,
 * "Faster population counts using AVX2 instructions", 2018).
 */
#include "core/bits_levels.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define HY_LEVEL HY_SIMD_AVX2
#define HY_TABLE hy_bit_kernels_avx2
#define HY_TARGET __attribute__((target("avx2,popcnt")))
#define HY_REG_BYTES ((size_t) 32)

#define PRIMITIVE static inline __attribute__((always_inline)) HY_TARGET

typedef __m256i HyReg;
typedef __m256i HyCount; /* 64-bit counts */

PRIMITIVE uint64_t
count_word(uint64_t word)
{
	return (uint64_t) __builtin_popcountll(word);
}

PRIMITIVE __m256i
reg_load(const uint8_t *p)
{
	return _mm256_loadu_si256((const __m256i *) p);
}

PRIMITIVE __m256i
reg_xor(__m256i a, __m256i b)
{
	return _mm256_xor_si256(a, b);
}

PRIMITIVE __m256i
reg_and(__m256i a, __m256i b)
{
	return _mm256_and_si256(a, b);
}

PRIMITIVE __m256i
reg_or(__m256i a, __m256i b)
{
	return _mm256_or_si256(a, b);
}

PRIMITIVE __m256i
count_zero(void)
{
	return _mm256_setzero_si256();
}

/* count_bytes: count the bits set in each byte, at most 8. */
PRIMITIVE __m256i
count_bytes(__m256i r)
{
	const __m256i table = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1,
	                                       2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
	const __m256i low = _mm256_set1_epi8(0x0f);

	return _mm256_add_epi8(
		_mm256_shuffle_epi8(table, _mm256_and_si256(r, low)),
		_mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(r, 4), low)));
}

/* widen: add byte counts to 64-bit counts. */
PRIMITIVE __m256i
widen(__m256i count, __m256i bytes)
{
	return _mm256_add_epi64(count, _mm256_sad_epu8(bytes, _mm256_setzero_si256()));
}

PRIMITIVE __m256i
count_one(__m256i count, __m256i r)
{
	return widen(count, count_bytes(r));
}

PRIMITIVE __m256i
count_four(__m256i count, __m256i r, __m256i s, __m256i t, __m256i u)
{
	__m256i rs = _mm256_add_epi8(count_bytes(r), count_bytes(s));
	__m256i tu = _mm256_add_epi8(count_bytes(t), count_bytes(u));

	return widen(count, _mm256_add_epi8(rs, tu));
}

PRIMITIVE uint64_t
count_total(__m256i count)
{
	__m128i half = _mm_add_epi64(_mm256_castsi256_si128(count), _mm256_extracti128_si256(count, 1));

	return (uint64_t) _mm_cvtsi128_si64(half) + (uint64_t) _mm_extract_epi64(half, 1);
}

#include "core/bits_loops.h"

#endif
