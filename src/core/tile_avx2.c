/*
 * tile_avx2.c
 *		Tiles of 6 queries by 16 targets in 256-bit registers: products of pairs by vpmaddwd, twice
 *		the rate of fp32.
 */
#include "core/tile.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <string.h>

#define TARGET __attribute__((target("avx2,fma,f16c")))
#define QUERIES 6
#define TARGETS 16

/* One pair of elements: 6 queries, each broadcast, times two registers of 8 targets. */
#define STEP(p)                                                                                    \
	do                                                                                             \
	{                                                                                              \
		__m256i t0 = _mm256_loadu_si256((const __m256i *) (targets + (p) *2 * TARGETS));           \
		__m256i t1 = _mm256_loadu_si256((const __m256i *) (targets + (p) *2 * TARGETS + 16));      \
                                                                                                   \
		ROW(p, 0, a0, b0);                                                                         \
		ROW(p, 1, a1, b1);                                                                         \
		ROW(p, 2, a2, b2);                                                                         \
		ROW(p, 3, a3, b3);                                                                         \
		ROW(p, 4, a4, b4);                                                                         \
		ROW(p, 5, a5, b5);                                                                         \
	} while (0)

#define ROW(p, i, a, b)                                                                            \
	do                                                                                             \
	{                                                                                              \
		__m256i q = _mm256_set1_epi32(pair_at(queries + ((p) *QUERIES + (i)) * 2));                \
                                                                                                   \
		/* in place: compilers that rename or gather the twelve sums run out of registers */       \
		__asm__("vpaddd %1, %0, %0" : "+x"(a) : "x"(_mm256_madd_epi16(q, t0)));                    \
		__asm__("vpaddd %1, %0, %0" : "+x"(b) : "x"(_mm256_madd_epi16(q, t1)));                    \
	} while (0)

static inline int32_t
pair_at(const int16_t *p)
{
	int32_t pair;

	memcpy(&pair, p, sizeof(pair));
	return pair;
}

TARGET static void
dot_products(const int16_t *queries, const int16_t *targets, int pairs, float *out)
{
	__m256i a0 = _mm256_setzero_si256(), b0 = a0, a1 = a0, b1 = a0, a2 = a0, b2 = a0;
	__m256i a3 = a0, b3 = a0, a4 = a0, b4 = a0, a5 = a0, b5 = a0;
	int p;

	for (p = 0; p < pairs; p++)
	{
		STEP(0);
		queries += 2 * QUERIES;
		targets += 2 * TARGETS;
	}
	_mm256_storeu_ps(out + 0, _mm256_cvtepi32_ps(a0));
	_mm256_storeu_ps(out + 8, _mm256_cvtepi32_ps(b0));
	_mm256_storeu_ps(out + 16, _mm256_cvtepi32_ps(a1));
	_mm256_storeu_ps(out + 24, _mm256_cvtepi32_ps(b1));
	_mm256_storeu_ps(out + 32, _mm256_cvtepi32_ps(a2));
	_mm256_storeu_ps(out + 40, _mm256_cvtepi32_ps(b2));
	_mm256_storeu_ps(out + 48, _mm256_cvtepi32_ps(a3));
	_mm256_storeu_ps(out + 56, _mm256_cvtepi32_ps(b3));
	_mm256_storeu_ps(out + 64, _mm256_cvtepi32_ps(a4));
	_mm256_storeu_ps(out + 72, _mm256_cvtepi32_ps(b4));
	_mm256_storeu_ps(out + 80, _mm256_cvtepi32_ps(a5));
	_mm256_storeu_ps(out + 88, _mm256_cvtepi32_ps(b5));
}

TARGET static uint32_t
reaching(const float *dots, const HyTileRows *rows, float weight, float threshold)
{
	uint32_t bits = 0;
	int i;

	for (i = 0; i < TARGETS; i += 8)
	{
		__m256 bound = _mm256_fmadd_ps(_mm256_loadu_ps(rows->factor + i), _mm256_loadu_ps(dots + i),
		                               _mm256_loadu_ps(rows->reach + i));

		bound = _mm256_fmadd_ps(_mm256_loadu_ps(rows->shift + i), _mm256_set1_ps(weight), bound);
		bits |= (uint32_t) _mm256_movemask_ps(
					_mm256_cmp_ps(bound, _mm256_set1_ps(threshold), _CMP_GE_OQ))
		        << i;
	}
	return bits;
}

TARGET static float
largest(const float *x, int n)
{
	const __m256 sign = _mm256_set1_ps(-0.0f);
	__m256 most = _mm256_setzero_ps();
	float lanes[8];
	float found = 0.0f;
	int i;

	for (i = 0; i + 8 <= n; i += 8)
		most = _mm256_max_ps(most, _mm256_andnot_ps(sign, _mm256_loadu_ps(x + i)));
	_mm256_storeu_ps(lanes, most);
	for (; i < n; i++)
		found = __builtin_fabsf(x[i]) > found ? __builtin_fabsf(x[i]) : found;
	for (i = 0; i < 8; i++)
		found = lanes[i] > found ? lanes[i] : found;
	return found;
}

TARGET static float
quantise(const float *x, int n, float inverse, float scale, int16_t *out)
{
	const __m256 by = _mm256_set1_ps(inverse);
	const __m256 back = _mm256_set1_ps(scale);
	__m256 sum0 = _mm256_setzero_ps();
	__m256 sum1 = sum0;
	float lanes[8];
	float sum = 0.0f;
	int i;

	for (i = 0; i + 16 <= n; i += 16)
	{
		__m256 x0 = _mm256_loadu_ps(x + i);
		__m256 x1 = _mm256_loadu_ps(x + i + 8);
		__m256i w0 = _mm256_cvtps_epi32(_mm256_mul_ps(x0, by));
		__m256i w1 = _mm256_cvtps_epi32(_mm256_mul_ps(x1, by));
		__m256 r0 = _mm256_fnmadd_ps(back, _mm256_cvtepi32_ps(w0), x0);
		__m256 r1 = _mm256_fnmadd_ps(back, _mm256_cvtepi32_ps(w1), x1);

		sum0 = _mm256_fmadd_ps(r0, r0, sum0);
		sum1 = _mm256_fmadd_ps(r1, r1, sum1);
		/* packing goes by 128-bit halves: put the quarters back in order */
		_mm256_storeu_si256((__m256i *) (out + i),
		                    _mm256_permute4x64_epi64(_mm256_packs_epi32(w0, w1), 0xd8));
	}
	_mm256_storeu_ps(lanes, _mm256_add_ps(sum0, sum1));
	for (; i < n; i++)
	{
		int32_t whole = _mm_cvtss_si32(_mm_set_ss(x[i] * inverse));
		float rest = x[i] - scale * (float) whole;

		out[i] = (int16_t) whole;
		sum += rest * rest;
	}
	for (i = 0; i < 8; i++)
		sum += lanes[i];
	return sum;
}

/* Eight rows of eight pairs, turned around in registers. */
TARGET static inline void
transpose(const int16_t *rows, size_t stride, int16_t *panel)
{
	__m256 r[8];
	__m256 s[8];
	int i;

#pragma GCC unroll 8
	for (i = 0; i < 8; i++)
		r[i] = _mm256_loadu_ps((const float *) (const void *) (rows + (size_t) i * stride));
#pragma GCC unroll 4
	for (i = 0; i < 4; i++)
	{
		s[2 * i] = _mm256_unpacklo_ps(r[2 * i], r[2 * i + 1]);
		s[2 * i + 1] = _mm256_unpackhi_ps(r[2 * i], r[2 * i + 1]);
	}
#pragma GCC unroll 2
	for (i = 0; i < 8; i += 4)
	{
		r[i] = _mm256_shuffle_ps(s[i], s[i + 2], 0x44);
		r[i + 1] = _mm256_shuffle_ps(s[i], s[i + 2], 0xee);
		r[i + 2] = _mm256_shuffle_ps(s[i + 1], s[i + 3], 0x44);
		r[i + 3] = _mm256_shuffle_ps(s[i + 1], s[i + 3], 0xee);
	}
#pragma GCC unroll 4
	for (i = 0; i < 4; i++)
	{
		_mm256_storeu_ps((float *) (void *) (panel + i * 2 * TARGETS),
		                 _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
		_mm256_storeu_ps((float *) (void *) (panel + (i + 4) * 2 * TARGETS),
		                 _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
	}
}

TARGET static void
interleave(const int16_t *rows, size_t stride, int length, int16_t *panel)
{
	int p;

	for (p = 0; p + 16 <= length; p += 16)
	{
		transpose(rows + p, stride, panel + p * TARGETS);
		transpose(rows + 8 * stride + p, stride, panel + p * TARGETS + 16);
	}
	hy_tile_pack(rows + p, stride, TARGETS, length - p, TARGETS, panel + p * TARGETS);
}

const HyTileKernels hy_tile_avx2 = {.level = HY_SIMD_AVX2,
                                    .name = "avx2",
                                    .queries = QUERIES,
                                    .targets = TARGETS,
                                    .element = 2,
                                    .run = 2,
                                    .length = HY_TILE_LENGTH,
                                    .largest_element = HY_TILE_ELEMENT,
                                    .dots = dot_products,
                                    .reaching = reaching,
                                    .largest = largest,
                                    .quantise = quantise,
                                    .interleave = interleave};

#endif
