/*
 * tile_avx2.c
 *		Tiles of 4 queries by 24 targets in 256-bit registers.
 *
 * vpmaddwd multiplies pairs at twice the rate of fp32.
 */
#include "core/tile.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <string.h>

#define TARGET __attribute__((target("avx2,fma,f16c")))
#define QUERIES 4
#define VECTORS 3 /* registers of 8 targets */
#define TARGETS (8 * VECTORS)
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

TARGET static void
dot_products(const int16_t *queries, const int16_t *targets, int pairs, float *out)
{
	__m256i sums[QUERIES][VECTORS];
	int p;
	int i;
	int j;

	UNROLL
	for (i = 0; i < QUERIES; i++)
	{
		UNROLL
		for (j = 0; j < VECTORS; j++)
			sums[i][j] = _mm256_setzero_si256();
	}
	for (p = 0; p < pairs; p++, queries += 2 * QUERIES, targets += 2 * TARGETS)
	{
		__m256i target[VECTORS];

		UNROLL
		for (j = 0; j < VECTORS; j++)
			target[j] = _mm256_loadu_si256((const __m256i *) (targets + 16 * j));
		UNROLL
		for (i = 0; i < QUERIES; i++)
		{
			__m256i query;
			int32_t pair;

			memcpy(&pair, queries + 2 * i, sizeof(pair));
			query = _mm256_set1_epi32(pair);
			UNROLL
			for (j = 0; j < VECTORS; j++)
			{
				__m256i product = _mm256_madd_epi16(query, target[j]);

				/* Add in place.  Compilers that rename or gather the sums run out of registers. */
				__asm__("vpaddd %1, %0, %0" : "+x"(sums[i][j]) : "x"(product));
			}
		}
	}
	UNROLL
	for (i = 0; i < QUERIES; i++)
	{
		UNROLL
		for (j = 0; j < VECTORS; j++)
			_mm256_storeu_ps(out + i * TARGETS + 8 * j, _mm256_cvtepi32_ps(sums[i][j]));
	}
}

TARGET static uint32_t
reaching(const float *dots, const HyTileTargets *rows, float weight, float threshold)
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
quantize(const float *x, int n, float inverse, float scale, int16_t *out)
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
		/* Packing works within 128-bit halves.  Put the quarters back in order. */
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

/* Transposes eight rows of eight pairs in registers. */
TARGET static inline void
transpose(const int16_t *rows, size_t stride, int16_t *panel)
{
	__m256 r[8];
	__m256 s[8];
	int i;

	UNROLL
	for (i = 0; i < 8; i++)
		r[i] = _mm256_loadu_ps((const float *) (const void *) (rows + (size_t) i * stride));
	UNROLL
	for (i = 0; i < 4; i++)
	{
		s[2 * i] = _mm256_unpacklo_ps(r[2 * i], r[2 * i + 1]);
		s[2 * i + 1] = _mm256_unpackhi_ps(r[2 * i], r[2 * i + 1]);
	}
	UNROLL
	for (i = 0; i < 8; i += 4)
	{
		r[i] = _mm256_shuffle_ps(s[i], s[i + 2], 0x44);
		r[i + 1] = _mm256_shuffle_ps(s[i], s[i + 2], 0xee);
		r[i + 2] = _mm256_shuffle_ps(s[i + 1], s[i + 3], 0x44);
		r[i + 3] = _mm256_shuffle_ps(s[i + 1], s[i + 3], 0xee);
	}
	UNROLL
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
	int i;

	for (p = 0; p + 16 <= length; p += 16)
	{
		for (i = 0; i < VECTORS; i++)
			transpose(rows + 8 * (size_t) i * stride + p, stride, panel + p * TARGETS + 16 * i);
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
                                    .quantize = quantize,
                                    .interleave = interleave};

#endif
