/*
 * bits_avx512.c
 *		Counting bits in 512-bit registers, with the VPOPCNTDQ instruction.
 *
 * HY_SIMD_HEADER may name a header that emulates the intrinsics, so that the tests can run this
 * file on a processor that lacks the instructions.
 */
#include "core/bits_levels.h"

#if defined(__x86_64__)

#if defined(HY_SIMD_HEADER)
#include HY_SIMD_HEADER
#define HY_TARGET
#else
#include <immintrin.h>
#define HY_TARGET __attribute__((target("avx512f,avx512vpopcntdq,popcnt")))
#endif

#define HY_LEVEL HY_SIMD_AVX512
#define HY_TABLE hy_bit_kernels_avx512
#define HY_REG_BYTES ((size_t) 64)

#define PRIMITIVE static inline __attribute__((always_inline)) HY_TARGET

typedef __m512i HyReg;
typedef __m512i HyCount; /* 64-bit counts */

PRIMITIVE uint64_t
count_word(uint64_t word)
{
	return (uint64_t) __builtin_popcountll(word);
}

PRIMITIVE __m512i
reg_load(const uint8_t *p)
{
	return _mm512_loadu_si512(p);
}

PRIMITIVE __m512i
reg_xor(__m512i a, __m512i b)
{
	return _mm512_xor_si512(a, b);
}

PRIMITIVE __m512i
reg_and(__m512i a, __m512i b)
{
	return _mm512_and_si512(a, b);
}

PRIMITIVE __m512i
reg_or(__m512i a, __m512i b)
{
	return _mm512_or_si512(a, b);
}

PRIMITIVE __m512i
count_zero(void)
{
	return _mm512_setzero_si512();
}

PRIMITIVE __m512i
count_one(__m512i count, __m512i r)
{
	return _mm512_add_epi64(count, _mm512_popcnt_epi64(r));
}

/*
 * count_four: add the four registers' counts as a tree.  Only one of the four additions waits for
 * the previous sum.
 */
PRIMITIVE __m512i
count_four(__m512i count, __m512i r, __m512i s, __m512i t, __m512i u)
{
	__m512i rs = _mm512_add_epi64(_mm512_popcnt_epi64(r), _mm512_popcnt_epi64(s));
	__m512i tu = _mm512_add_epi64(_mm512_popcnt_epi64(t), _mm512_popcnt_epi64(u));

	return _mm512_add_epi64(count, _mm512_add_epi64(rs, tu));
}

PRIMITIVE uint64_t
count_total(__m512i count)
{
	uint64_t lanes[8];
	uint64_t total = 0;
	int i;

	_mm512_storeu_si512(lanes, count);
	for (i = 0; i < 8; i++)
		total += lanes[i];
	return total;
}

#include "core/bits_loops.h"

#endif
