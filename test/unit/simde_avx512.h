/*
 * simde_avx512.h
 *		AVX-512 intrinsics for processors without, from SIMDe and, where it lacks one, from here.
 *
 * immintrin.h declares them all, but for a target that this is not compiled for: hence macros.
 */
#ifndef HY_SIMDE_AVX512_H
#define HY_SIMDE_AVX512_H

#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>
#include <simde/x86/f16c.h>

#include <stddef.h>
#include <string.h>

#define _mm512_cvtph_ps emulated_cvtph_ps
#define _mm512_cvtps_pd emulated_cvtps_pd
#define _mm512_cvtps_ph emulated_cvtps_ph
#define _mm512_extractf32x8_ps emulated_extractf32x8_ps
#define _mm512_maskz_loadu_ps emulated_maskz_loadu_ps
#define _mm256_maskz_loadu_epi16 emulated_maskz_loadu_epi16
#undef _mm512_madd_epi16
#define _mm512_madd_epi16 simde_mm512_madd_epi16
#define _mm512_cvtepi32_ps emulated_cvtepi32_ps
#define _mm512_cvtps_epi32 emulated_cvtps_epi32
#define _mm512_cvtepi32_epi16 emulated_cvtepi32_epi16
#define _mm512_cvttps_epi32 emulated_cvttps_epi32
#define _mm512_cvtepi32_epi8 emulated_cvtepi32_epi8
#define _mm512_cvtepu16_epi32 emulated_cvtepu16_epi32

static inline simde__m512
emulated_cvtph_ps(__m256i halves)
{
	float lanes[16];

	_mm256_storeu_ps(lanes, _mm256_cvtph_ps(_mm256_castsi256_si128(halves)));
	_mm256_storeu_ps(lanes + 8, _mm256_cvtph_ps(_mm256_extracti128_si256(halves, 1)));
	return simde_mm512_loadu_ps(lanes);
}

static inline __m256i
emulated_cvtps_ph(simde__m512 v, int rounding)
{
	float lanes[16];
	short halves[16];

	(void) rounding;
	simde_mm512_storeu_ps(lanes, v);
	_mm_storeu_si128((__m128i *) halves, _mm256_cvtps_ph(_mm256_loadu_ps(lanes), 0));
	_mm_storeu_si128((__m128i *) (halves + 8), _mm256_cvtps_ph(_mm256_loadu_ps(lanes + 8), 0));
	return _mm256_loadu_si256((const __m256i *) halves);
}

static inline simde__m512i
emulated_cvtepu16_epi32(__m256i v)
{
	unsigned short words[16];
	unsigned int wide[16];
	int i;

	_mm256_storeu_si256((__m256i *) words, v);
	for (i = 0; i < 16; i++)
		wide[i] = words[i];
	return simde_mm512_loadu_si512(wide);
}

static inline __m256
emulated_extractf32x8_ps(simde__m512 v, int i)
{
	float lanes[16];

	simde_mm512_storeu_ps(lanes, v);
	return _mm256_loadu_ps(lanes + 8 * i);
}

static inline simde__m512d
emulated_cvtps_pd(__m256 v)
{
	double lanes[8];

	_mm256_storeu_pd(lanes, _mm256_cvtps_pd(_mm256_castps256_ps128(v)));
	_mm256_storeu_pd(lanes + 4, _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1)));
	return simde_mm512_loadu_pd(lanes);
}

static inline simde__m512
emulated_cvtepi32_ps(simde__m512i v)
{
	int words[16];
	float lanes[16];

	simde_mm512_storeu_si512(words, v);
	_mm256_storeu_ps(lanes, _mm256_cvtepi32_ps(_mm256_loadu_si256((const __m256i *) words)));
	_mm256_storeu_ps(lanes + 8,
	                 _mm256_cvtepi32_ps(_mm256_loadu_si256((const __m256i *) (words + 8))));
	return simde_mm512_loadu_ps(lanes);
}

static inline simde__m512i
emulated_cvtps_epi32(simde__m512 v)
{
	float lanes[16];
	int words[16];

	simde_mm512_storeu_ps(lanes, v);
	_mm256_storeu_si256((__m256i *) words, _mm256_cvtps_epi32(_mm256_loadu_ps(lanes)));
	_mm256_storeu_si256((__m256i *) (words + 8), _mm256_cvtps_epi32(_mm256_loadu_ps(lanes + 8)));
	return simde_mm512_loadu_si512(words);
}

static inline __m256i
emulated_cvtepi32_epi16(simde__m512i v)
{
	int words[16];
	short halves[16];
	int i;

	simde_mm512_storeu_si512(words, v);
	for (i = 0; i < 16; i++)
		halves[i] = (short) words[i];
	return _mm256_loadu_si256((const __m256i *) halves);
}

static inline simde__m512i
emulated_cvttps_epi32(simde__m512 v)
{
	float lanes[16];
	int words[16];

	simde_mm512_storeu_ps(lanes, v);
	_mm256_storeu_si256((__m256i *) words, _mm256_cvttps_epi32(_mm256_loadu_ps(lanes)));
	_mm256_storeu_si256((__m256i *) (words + 8), _mm256_cvttps_epi32(_mm256_loadu_ps(lanes + 8)));
	return simde_mm512_loadu_si512(words);
}

static inline __m128i
emulated_cvtepi32_epi8(simde__m512i v)
{
	int words[16];
	char bytes[16];
	int i;

	simde_mm512_storeu_si512(words, v);
	for (i = 0; i < 16; i++)
		bytes[i] = (char) words[i];
	return _mm_loadu_si128((const __m128i *) bytes);
}

/* Masked loads touch nothing that their mask leaves out. */
static inline simde__m512
emulated_maskz_loadu_ps(simde__mmask16 mask, const void *p)
{
	float lanes[16] = {0};
	int i;

	for (i = 0; i < 16; i++)
	{
		if (mask >> i & 1)
			memcpy(&lanes[i], (const float *) p + i, sizeof(float));
	}
	return simde_mm512_loadu_ps(lanes);
}

static inline __m256i
emulated_maskz_loadu_epi16(simde__mmask16 mask, const void *p)
{
	short lanes[16] = {0};
	int i;

	for (i = 0; i < 16; i++)
	{
		if (mask >> i & 1)
			memcpy(&lanes[i], (const short *) p + i, sizeof(short));
	}
	return _mm256_loadu_si256((const __m256i *) lanes);
}

#endif
