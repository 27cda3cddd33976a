/*
 * tile_amx.c
 *		Tiles of 32 queries by 32 targets in Intel's matrix unit: AMX-TILE, AMX-BF16, AMX-INT8.
 *
 * The unit multiplies 16 rows of 64 bytes by 16 columns of 64 bytes, and adds the products to 16 by
 * 16 sums. 64 bytes are 32 elements of bfloat16 or 64 one-byte elements.  Four tiles of sums, two
 * of queries and two of targets use all eight tiles.  A column is spread over 16 rows of the tile,
 * four bytes in each, which is how a panel of targets is stored anyway.  Queries are stored in runs
 * of 64 bytes.
 *
 * There are two tables of kernels.  For bytes, the sums are exact: 127^2 times 16,000 is far below
 * 2^31.  For bfloat16, they are not.  The products are exact, but the unit adds in fp32 in its own
 * order, and treats subnormal inputs and results as 0 (Intel 64 and IA-32 Architectures Software
 * Developer's Manual, volume 2, TDPBF16PS).  SLACK assumes neither the order nor the rounding given
 * in the manual.  If n numbers are added in any order, and each sum is rounded to one of its two
 * neighbors, the error is at most (1 + 2^-23)^n - 1 of the sum of their magnitudes (Higham,
 * Accuracy and Stability of Numerical Algorithms, chapters 3 and 4).  By the Cauchy-Schwarz
 * inequality, that sum is at most |X||Y|.  Vectors are scaled to length 1 before they are rounded,
 * so values below 2^-126 are negligible.  Elements that the unit would treat as 0 are set to 0
 * during rounding, so they are part of the measured rounding error.
 *
 * The tiles hold data only between begin and end.  So the thread state that the kernel saves stays
 * small, and other code that uses tiles finds them unconfigured, as it left them.
 *
 * distance_avx512.c describes HY_SIMD_HEADER.
 */
#include "core/tile.h"

#if defined(__x86_64__)

#include <string.h>

#include "core/tile_avx512.h"

#if defined(HY_SIMD_HEADER)
#include HY_SIMD_HEADER
#define TARGET
#define TARGET_TILE
#else
#include <immintrin.h>
#define TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma")))
#define TARGET_TILE                                                                                \
	__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,"                           \
	                      "amx-tile,amx-bf16,amx-int8")))
#endif

#define QUERIES 32
#define TARGETS 32
#define RUN 32 /* two-byte units per row of a tile */

/*
 * 2^-23 (1 + 2^-8)^2, times 1.002, which covers the powers of 1 + 2^-23 up to 16,000.  The factor
 * (1 + 2^-8)^2 is needed because prefilter.c multiplies SLACK by the lengths of the vectors before
 * they are rounded.
 */
#define SLACK 1.25e-7

#define SMALLEST_NORMAL 0x00800000u

typedef struct TileConfig
{
	uint8_t palette;
	uint8_t start_row;
	uint8_t reserved[14];
	uint16_t row_bytes[16];
	uint8_t rows[16];
} TileConfig;

static const _Alignas(64) TileConfig config = {
	.palette = 1,
	.row_bytes = {64, 64, 64, 64, 64, 64, 64, 64},
	.rows = {16, 16, 16, 16, 16, 16, 16, 16},
};

TARGET_TILE static void
begin(void)
{
	_tile_loadconfig(&config);
}

TARGET_TILE static void
end(void)
{
	_tile_release();
}

/* Some compilers do not know that a tile load reads memory. */
#define MEMORY_BARRIER() __asm__ volatile("" ::: "memory")

/*
 * Adds the products of both halves of the queries with both halves of the targets.  Each iteration
 * takes 16 words of each vector.
 */
#define ADD_PRODUCTS(PRODUCT)                                                                      \
	do                                                                                             \
	{                                                                                              \
		int p;                                                                                     \
                                                                                                   \
		MEMORY_BARRIER();                                                                          \
		_tile_zero(0);                                                                             \
		_tile_zero(1);                                                                             \
		_tile_zero(2);                                                                             \
		_tile_zero(3);                                                                             \
		for (p = 0; p < pairs; p += RUN / 2)                                                       \
		{                                                                                          \
			_tile_loadd(4, queries, 64);                                                           \
			_tile_loadd(6, targets, 128);                                                          \
			_tile_loadd(7, targets + 32, 128);                                                     \
			PRODUCT(0, 4, 6);                                                                      \
			PRODUCT(1, 4, 7);                                                                      \
			_tile_loadd(5, queries + 16 * RUN, 64);                                                \
			PRODUCT(2, 5, 6);                                                                      \
			PRODUCT(3, 5, 7);                                                                      \
			queries += QUERIES * RUN;                                                              \
			targets += TARGETS * RUN;                                                              \
		}                                                                                          \
		_tile_stored(0, out, 128);                                                                 \
		_tile_stored(1, out + 16, 128);                                                            \
		_tile_stored(2, out + 16 * TARGETS, 128);                                                  \
		_tile_stored(3, out + 16 * TARGETS + 16, 128);                                             \
		MEMORY_BARRIER();                                                                          \
	} while (0)

TARGET_TILE static void
dot_products(const int16_t *queries, const int16_t *targets, int pairs, float *out)
{
	ADD_PRODUCTS(_tile_dpbf16ps);
}

TARGET_TILE static void
dot_products_int8(const int16_t *queries, const int16_t *targets, int pairs, float *out)
{
	int i;

	ADD_PRODUCTS(_tile_dpbssd);
	for (i = 0; i < QUERIES * TARGETS; i += 16)
		_mm512_storeu_ps(out + i, _mm512_cvtepi32_ps(_mm512_loadu_si512(out + i)));
}

static inline uint32_t
bits_of(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

static inline float
float_of(uint32_t bits)
{
	float x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

/*
 * Converts to bfloat16, the upper half of an fp32.  A carry from the lower half does the rounding,
 * to nearest even.
 */
TARGET static float
quantize(const float *x, int n, float inverse, float scale, int16_t *out)
{
	const __m512 by = _mm512_set1_ps(inverse);
	const __m512 back = _mm512_set1_ps(scale);
	const __m512i below_half = _mm512_set1_epi32(0x7fff);
	const __m512i one = _mm512_set1_epi32(1);
	const __m512i upper = _mm512_set1_epi32((int) 0xffff0000u);
	const __m512i exponent = _mm512_set1_epi32(0x7f800000);
	__m512 sums = _mm512_setzero_ps();
	float lanes[16];
	float sum = 0.0f;
	int i;

	for (i = 0; i + 16 <= n; i += 16)
	{
		__m512 given = _mm512_loadu_ps(x + i);
		__m512i bits = _mm512_castps_si512(_mm512_mul_ps(given, by));
		__m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), one);
		__m512 rest;

		bits = _mm512_add_epi32(bits, _mm512_add_epi32(below_half, odd));
		bits = _mm512_and_si512(bits, upper);
		bits = _mm512_maskz_mov_epi32(_mm512_test_epi32_mask(bits, exponent), bits);
		rest = _mm512_fnmadd_ps(back, _mm512_castsi512_ps(bits), given);
		sums = _mm512_fmadd_ps(rest, rest, sums);
		_mm256_storeu_si256((__m256i *) (out + i),
		                    _mm512_cvtepi32_epi16(_mm512_srli_epi32(bits, 16)));
	}
	_mm512_storeu_ps(lanes, sums);
	for (; i < n; i++)
	{
		uint32_t bits = bits_of(x[i] * inverse);
		float rest;

		bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u;
		if ((bits & 0x7fffffffu) < SMALLEST_NORMAL)
			bits = 0;
		out[i] = (int16_t) (uint16_t) (bits >> 16);
		rest = x[i] - scale * float_of(bits);
		sum += rest * rest;
	}
	for (i = 0; i < 16; i++)
		sum += lanes[i];
	return sum;
}

TARGET static float
quantise_int8(const float *x, int n, float inverse, float scale, int16_t *out)
{
	const __m512 by = _mm512_set1_ps(inverse);
	const __m512 back = _mm512_set1_ps(scale);
	__m512 sums = _mm512_setzero_ps();
	int8_t *bytes = (int8_t *) out;
	float lanes[16];
	float sum = 0.0f;
	int i;

	for (i = 0; i + 16 <= n; i += 16)
	{
		__m512 given = _mm512_loadu_ps(x + i);
		__m512i whole = _mm512_cvtps_epi32(_mm512_mul_ps(given, by));
		__m512 rest = _mm512_fnmadd_ps(back, _mm512_cvtepi32_ps(whole), given);

		sums = _mm512_fmadd_ps(rest, rest, sums);
		_mm_storeu_si128((__m128i *) (void *) (bytes + i), _mm512_cvtsepi32_epi8(whole));
	}
	_mm512_storeu_ps(lanes, sums);
	for (; i < n; i++)
	{
		int32_t whole = _mm_cvtss_si32(_mm_set_ss(x[i] * inverse));
		float rest = x[i] - scale * (float) whole;

		bytes[i] = (int8_t) whole;
		sum += rest * rest;
	}
	for (i = 0; i < 16; i++)
		sum += lanes[i];
	return sum;
}

const HyTileKernels hy_tile_amx = {.level = HY_SIMD_AMX,
                                   .name = "amx",
                                   .queries = QUERIES,
                                   .targets = TARGETS,
                                   .element = 2,
                                   .run = RUN,
                                   .length = 1.0,
                                   .largest_element = 1.0,
                                   .slack = SLACK,
                                   .begin = begin,
                                   .end = end,
                                   .dots = dot_products,
                                   .reaching = hy_tile_avx512_reaching,
                                   .largest = hy_tile_avx512_largest,
                                   .quantize = quantize,
                                   .interleave = hy_tile_avx512_interleave};

const HyTileKernels hy_tile_amx_int8 = {.level = HY_SIMD_AMX,
                                        .name = "amx_int8",
                                        .queries = QUERIES,
                                        .targets = TARGETS,
                                        .element = 1,
                                        .run = RUN,
                                        .length = HY_TILE_LENGTH,
                                        .largest_element = 127.0,
                                        .begin = begin,
                                        .end = end,
                                        .dots = dot_products_int8,
                                        .reaching = hy_tile_avx512_reaching,
                                        .largest = hy_tile_avx512_largest,
                                        .quantize = quantise_int8,
                                        .interleave = hy_tile_avx512_interleave};

#endif
