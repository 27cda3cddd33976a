/*
 * limits.h
 *		What the distance kernels are measured by: bare loops that load and fuse, or only read.
 */
#ifndef BENCH_LIMITS_H
#define BENCH_LIMITS_H

#include <string.h>

#include "core/distance.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define DIMS 768
#define BIT_BYTES 1024

#if defined(__x86_64__)
#define TARGET_AVX2 __attribute__((target("avx2,fma,f16c")))
#define TARGET_AVX512 __attribute__((target("avx512f")))

/* The bare loops keep their eight accumulators over all rows, so that nothing but the limit shows. */
TARGET_AVX2 static float
bare_pairs_avx2(HyDtype dtype, const float *query, const char *rows, int64_t n)
{
	__m256 acc[8];
	int64_t row;
	int i;
	int j;

	for (j = 0; j < 8; j++)
		acc[j] = _mm256_setzero_ps();
	for (row = 0; row < n; row++)
	{
		const char *b = rows + (size_t) row * DIMS * hy_dtype_size(dtype);

		for (i = 0; i < DIMS; i += 64)
		{
#pragma GCC unroll 8
			for (j = 0; j < 8; j++)
			{
				__m256 right = dtype == HY_F32
				                   ? _mm256_loadu_ps((const float *) b + i + j * 8)
				                   : _mm256_cvtph_ps(_mm_loadu_si128(
										 (const __m128i *) ((const uint16_t *) b + i + j * 8)));

				acc[j] = _mm256_fmadd_ps(_mm256_loadu_ps(query + i + j * 8), right, acc[j]);
			}
		}
	}
	for (j = 1; j < 8; j++)
		acc[0] = _mm256_add_ps(acc[0], acc[j]);
	return _mm256_cvtss_f32(acc[0]);
}

TARGET_AVX512 static float
bare_pairs_avx512(HyDtype dtype, const float *query, const char *rows, int64_t n)
{
	__m512 acc[8];
	int64_t row;
	int i;
	int j;

	for (j = 0; j < 8; j++)
		acc[j] = _mm512_setzero_ps();
	for (row = 0; row < n; row++)
	{
		const char *b = rows + (size_t) row * DIMS * hy_dtype_size(dtype);

		for (i = 0; i < DIMS; i += 128)
		{
#pragma GCC unroll 8
			for (j = 0; j < 8; j++)
			{
				__m512 right = dtype == HY_F32
				                   ? _mm512_loadu_ps((const float *) b + i + j * 16)
				                   : _mm512_cvtph_ps(_mm256_loadu_si256(
										 (const __m256i *) ((const uint16_t *) b + i + j * 16)));

				acc[j] = _mm512_fmadd_ps(_mm512_loadu_ps(query + i + j * 16), right, acc[j]);
			}
		}
	}
	for (j = 1; j < 8; j++)
		acc[0] = _mm512_add_ps(acc[0], acc[j]);
	return _mm512_cvtss_f32(acc[0]);
}

/* A bare read of n rows as 64-bit words, several streams of one pass. */
TARGET_AVX2 static float
bare_read_avx2(const char *rows, size_t bytes)
{
	__m256i acc[4];
	size_t i;
	int j;

	for (j = 0; j < 4; j++)
		acc[j] = _mm256_setzero_si256();
	for (i = 0; i + 256 <= bytes; i += 256)
	{
#pragma GCC unroll 8
		for (j = 0; j < 8; j++)
			acc[j % 4] = _mm256_xor_si256(
				acc[j % 4], _mm256_loadu_si256((const __m256i *) (rows + i + 32 * (size_t) j)));
	}
	acc[0] = _mm256_xor_si256(_mm256_xor_si256(acc[0], acc[1]), _mm256_xor_si256(acc[2], acc[3]));
	return (float) _mm256_extract_epi32(acc[0], 0);
}
#endif

#if defined(__x86_64__)
/* Two bit strings loaded and combined. */
TARGET_AVX2 static float
bare_bits_avx2(const char *query, const char *rows, int64_t n)
{
	__m256i acc[4];
	int64_t row;
	int i;
	int j;

	for (j = 0; j < 4; j++)
		acc[j] = _mm256_setzero_si256();
	for (row = 0; row < n; row++)
	{
		const char *b = rows + row * BIT_BYTES;

		for (i = 0; i < BIT_BYTES; i += 128)
		{
#pragma GCC unroll 4
			for (j = 0; j < 4; j++)
			{
				__m256i left = _mm256_loadu_si256((const __m256i *) (query + i + 32 * j));
				__m256i right = _mm256_loadu_si256((const __m256i *) (b + i + 32 * j));

				acc[j] = _mm256_or_si256(acc[j], _mm256_xor_si256(left, right));
			}
		}
	}
	acc[0] = _mm256_xor_si256(_mm256_xor_si256(acc[0], acc[1]), _mm256_xor_si256(acc[2], acc[3]));
	return (float) _mm256_extract_epi32(acc[0], 0);
}

TARGET_AVX512 static float
bare_bits_avx512(const char *query, const char *rows, int64_t n)
{
	__m512i acc[4];
	int64_t row;
	int i;
	int j;

	for (j = 0; j < 4; j++)
		acc[j] = _mm512_setzero_si512();
	for (row = 0; row < n; row++)
	{
		const char *b = rows + row * BIT_BYTES;

		for (i = 0; i < BIT_BYTES; i += 256)
		{
#pragma GCC unroll 4
			for (j = 0; j < 4; j++)
			{
				__m512i left = _mm512_loadu_si512(query + i + 64 * j);
				__m512i right = _mm512_loadu_si512(b + i + 64 * j);

				acc[j] = _mm512_or_si512(acc[j], _mm512_xor_si512(left, right));
			}
		}
	}
	acc[0] = _mm512_or_si512(_mm512_or_si512(acc[0], acc[1]), _mm512_or_si512(acc[2], acc[3]));
	return (float) _mm_cvtsi128_si32(_mm512_castsi512_si128(acc[0]));
}
#endif

/* Without an instruction set of ours, the bare loops are the compiler's. */
static float
bare_bits_plain(const char *query, const char *rows, int64_t n)
{
	uint64_t acc[4] = {0};
	int64_t row;
	int i;
	int j;

	for (row = 0; row < n; row++)
	{
		const char *b = rows + row * BIT_BYTES;

		for (i = 0; i < BIT_BYTES; i += 32)
		{
			for (j = 0; j < 4; j++)
			{
				uint64_t left;
				uint64_t right;

				memcpy(&left, query + i + 8 * j, sizeof(left));
				memcpy(&right, b + i + 8 * j, sizeof(right));
				acc[j] |= left ^ right;
			}
		}
	}
	return (float) (acc[0] ^ acc[1] ^ acc[2] ^ acc[3]);
}

static float
bare_pairs_plain(HyDtype dtype, const float *query, const char *rows, int64_t n)
{
	float acc[16] = {0};
	int64_t row;
	int i;
	int j;

	for (row = 0; row < n; row++)
	{
		const char *b = rows + (size_t) row * DIMS * hy_dtype_size(dtype);

		for (i = 0; i < DIMS; i += 16)
		{
			for (j = 0; j < 16; j++)
				acc[j] += query[i + j] * (dtype == HY_F32 ? ((const float *) b)[i + j]
				                                          : (float) ((const uint16_t *) b)[i + j]);
		}
	}
	for (j = 1; j < 16; j++)
		acc[0] += acc[j];
	return acc[0];
}

static float
bare_read_plain(const char *rows, size_t bytes)
{
	uint64_t acc[8] = {0};
	size_t i;
	int j;

	for (i = 0; i + 64 <= bytes; i += 64)
	{
		for (j = 0; j < 8; j++)
		{
			uint64_t word;

			memcpy(&word, rows + i + 8 * (size_t) j, sizeof(word));
			acc[j] ^= word;
		}
	}
	for (j = 1; j < 8; j++)
		acc[0] ^= acc[j];
	return (float) acc[0];
}

static float
bare_pairs(HySimd level, HyDtype dtype, const float *query, const char *rows, int64_t n)
{
#if defined(__x86_64__)
	if (level == HY_SIMD_AVX512 || level == HY_SIMD_AMX)
		return bare_pairs_avx512(dtype, query, rows, n);
	if (level == HY_SIMD_AVX2)
		return bare_pairs_avx2(dtype, query, rows, n);
#endif
	(void) level;
	return bare_pairs_plain(dtype, query, rows, n);
}

static float
bare_bits(HySimd level, const char *query, const char *rows, int64_t n)
{
#if defined(__x86_64__)
	if (level == HY_SIMD_AVX512 || level == HY_SIMD_AMX)
		return bare_bits_avx512(query, rows, n);
	if (level == HY_SIMD_AVX2)
		return bare_bits_avx2(query, rows, n);
#endif
	(void) level;
	return bare_bits_plain(query, rows, n);
}

static float
bare_read(const char *rows, size_t bytes)
{
#if defined(__x86_64__)
	if (hy_simd_available(HY_SIMD_AVX2))
		return bare_read_avx2(rows, bytes);
#endif
	return bare_read_plain(rows, bytes);
}

#endif
