/*
 * tile_avx512.c
 *		Tiles of 12 queries by 32 targets in 512-bit registers: AVX-512 F, BW, VL, DQ.
 *
 * There are two tables of kernels.  Products of pairs are added by vpdpwssd if the processor has
 * AVX512_VNNI, and by vpmaddwd and vpaddd otherwise.  distance_avx512.c describes HY_SIMD_HEADER.
 */
#include "core/tile.h"

#if defined(__x86_64__)

#include <string.h>

#include "core/tile_avx512.h"

#if defined(HY_SIMD_HEADER)
#include HY_SIMD_HEADER
#define TARGET
#define TARGET_VNNI
#else
#include <immintrin.h>
#define TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma")))
#define TARGET_VNNI                                                                                \
	__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx2,fma")))
#endif
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

#define QUERIES 12
#define TARGETS 32
#define HALF (TARGETS / 2)

/* Add in place.  Compilers that rename the 24 sums run out of registers. */
#if defined(HY_SIMD_HEADER)
#define ADD_VNNI(sum, q, t) ((sum) = _mm512_dpwssd_epi32(sum, q, t))
#define ADD_PLAIN(sum, q, t) ((sum) = _mm512_add_epi32(sum, _mm512_madd_epi16(q, t)))
#else
#define ADD_VNNI(sum, q, t) __asm__("vpdpwssd %2, %1, %0" : "+v"(sum) : "v"(q), "v"(t))
#define ADD_PLAIN(sum, q, t) __asm__("vpaddd %1, %0, %0" : "+v"(sum) : "v"(_mm512_madd_epi16(q, t)))
#endif

static inline int32_t
pair_at(const int16_t *p)
{
	int32_t pair;

	memcpy(&pair, p, sizeof(pair));
	return pair;
}

/*
 * Each iteration takes one pair of elements: it multiplies 12 broadcast queries by two registers of
 * 16 targets.
 */
#define DOT_PRODUCTS(name, target, ADD)                                                            \
	target static void name(const int16_t *queries, const int16_t *targets, int pairs, float *out) \
	{                                                                                              \
		__m512i a[QUERIES];                                                                        \
		__m512i b[QUERIES];                                                                        \
		int p;                                                                                     \
		int i;                                                                                     \
                                                                                                   \
		UNROLL                                                                                     \
		for (i = 0; i < QUERIES; i++)                                                              \
			a[i] = b[i] = _mm512_setzero_si512();                                                  \
		for (p = 0; p < pairs; p++)                                                                \
		{                                                                                          \
			__m512i t0 = _mm512_loadu_si512(targets);                                              \
			__m512i t1 = _mm512_loadu_si512(targets + 2 * HALF);                                   \
                                                                                                   \
			UNROLL                                                                                 \
			for (i = 0; i < QUERIES; i++)                                                          \
			{                                                                                      \
				__m512i q = _mm512_set1_epi32(pair_at(queries + 2 * i));                           \
                                                                                                   \
				ADD(a[i], q, t0);                                                                  \
				ADD(b[i], q, t1);                                                                  \
			}                                                                                      \
			queries += 2 * QUERIES;                                                                \
			targets += 2 * TARGETS;                                                                \
		}                                                                                          \
		UNROLL                                                                                     \
		for (i = 0; i < QUERIES; i++)                                                              \
		{                                                                                          \
			_mm512_storeu_ps(out + i * TARGETS, _mm512_cvtepi32_ps(a[i]));                         \
			_mm512_storeu_ps(out + i * TARGETS + HALF, _mm512_cvtepi32_ps(b[i]));                  \
		}                                                                                          \
	}

DOT_PRODUCTS(dot_products, TARGET, ADD_PLAIN)
DOT_PRODUCTS(dot_products_vnni, TARGET_VNNI, ADD_VNNI)

TARGET uint32_t
hy_tile_avx512_reaching(const float *dots, const HyTileTargets *rows, float weight, float threshold)
{
	const __m512 by = _mm512_set1_ps(weight);
	const __m512 least = _mm512_set1_ps(threshold);
	uint32_t bits = 0;
	int i;

	for (i = 0; i < TARGETS; i += HALF)
	{
		__m512 bound = _mm512_fmadd_ps(_mm512_loadu_ps(rows->factor + i), _mm512_loadu_ps(dots + i),
		                               _mm512_loadu_ps(rows->reach + i));

		bound = _mm512_fmadd_ps(_mm512_loadu_ps(rows->shift + i), by, bound);
		bits |= (uint32_t) _mm512_cmp_ps_mask(bound, least, _CMP_GE_OQ) << i;
	}
	return bits;
}

TARGET float
hy_tile_avx512_largest(const float *x, int n)
{
	__m512 most = _mm512_setzero_ps();
	float lanes[16];
	float found = 0.0f;
	int i;

	for (i = 0; i + 16 <= n; i += 16)
		most = _mm512_max_ps(most, _mm512_abs_ps(_mm512_loadu_ps(x + i)));
	_mm512_storeu_ps(lanes, most);
	for (; i < n; i++)
		found = __builtin_fabsf(x[i]) > found ? __builtin_fabsf(x[i]) : found;
	for (i = 0; i < 16; i++)
		found = lanes[i] > found ? lanes[i] : found;
	return found;
}

TARGET static float
quantize(const float *x, int n, float inverse, float scale, int16_t *out)
{
	const __m512 by = _mm512_set1_ps(inverse);
	const __m512 back = _mm512_set1_ps(scale);
	__m512 sums = _mm512_setzero_ps();
	float lanes[16];
	float sum = 0.0f;
	int i;

	for (i = 0; i + 16 <= n; i += 16)
	{
		__m512 given = _mm512_loadu_ps(x + i);
		__m512i whole = _mm512_cvtps_epi32(_mm512_mul_ps(given, by));
		__m512 rest = _mm512_fnmadd_ps(back, _mm512_cvtepi32_ps(whole), given);

		sums = _mm512_fmadd_ps(rest, rest, sums);
		_mm256_storeu_si256((__m256i *) (out + i), _mm512_cvtsepi32_epi16(whole));
	}
	_mm512_storeu_ps(lanes, sums);
	for (; i < n; i++)
	{
		int32_t whole = _mm_cvtss_si32(_mm_set_ss(x[i] * inverse));
		float rest = x[i] - scale * (float) whole;

		out[i] = (int16_t) whole;
		sum += rest * rest;
	}
	for (i = 0; i < 16; i++)
		sum += lanes[i];
	return sum;
}

/* Transposes sixteen rows of sixteen pairs in registers. */
TARGET static inline void
transpose(const int16_t *rows, size_t stride, int16_t *panel)
{
	__m512i r[16];
	__m512i s[16];
	int i;

	UNROLL
	for (i = 0; i < 16; i++)
		r[i] = _mm512_loadu_si512(rows + (size_t) i * stride);
	UNROLL
	for (i = 0; i < 16; i += 2)
	{
		s[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
		s[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
	}
	/* Afterwards, quarter l of r[4 i + c] holds the pairs 4 l + c of rows 4 i to 4 i + 3. */
	UNROLL
	for (i = 0; i < 16; i += 4)
	{
		r[i] = _mm512_unpacklo_epi64(s[i], s[i + 2]);
		r[i + 1] = _mm512_unpackhi_epi64(s[i], s[i + 2]);
		r[i + 2] = _mm512_unpacklo_epi64(s[i + 1], s[i + 3]);
		r[i + 3] = _mm512_unpackhi_epi64(s[i + 1], s[i + 3]);
	}
	UNROLL
	for (i = 0; i < 4; i++)
	{
		__m512i even0 = _mm512_shuffle_i32x4(r[i], r[i + 4], 0x88);
		__m512i odd0 = _mm512_shuffle_i32x4(r[i], r[i + 4], 0xdd);
		__m512i even1 = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0x88);
		__m512i odd1 = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0xdd);

		_mm512_storeu_si512(panel + i * 2 * TARGETS, _mm512_shuffle_i32x4(even0, even1, 0x88));
		_mm512_storeu_si512(panel + (i + 4) * 2 * TARGETS, _mm512_shuffle_i32x4(odd0, odd1, 0x88));
		_mm512_storeu_si512(panel + (i + 8) * 2 * TARGETS,
		                    _mm512_shuffle_i32x4(even0, even1, 0xdd));
		_mm512_storeu_si512(panel + (i + 12) * 2 * TARGETS, _mm512_shuffle_i32x4(odd0, odd1, 0xdd));
	}
}

TARGET void
hy_tile_avx512_interleave(const int16_t *rows, size_t stride, int length, int16_t *panel)
{
	int p;

	for (p = 0; p + 32 <= length; p += 32)
	{
		transpose(rows + p, stride, panel + p * TARGETS);
		transpose(rows + HALF * stride + p, stride, panel + p * TARGETS + 2 * HALF);
	}
	hy_tile_pack(rows + p, stride, TARGETS, length - p, TARGETS, panel + p * TARGETS);
}

const HyTileKernels hy_tile_avx512 = {.level = HY_SIMD_AVX512,
                                      .name = "avx512",
                                      .queries = QUERIES,
                                      .targets = TARGETS,
                                      .element = 2,
                                      .run = 2,
                                      .length = HY_TILE_LENGTH,
                                      .largest_element = HY_TILE_ELEMENT,
                                      .dots = dot_products,
                                      .reaching = hy_tile_avx512_reaching,
                                      .largest = hy_tile_avx512_largest,
                                      .quantize = quantize,
                                      .interleave = hy_tile_avx512_interleave};

const HyTileKernels hy_tile_avx512_vnni = {.level = HY_SIMD_AVX512,
                                           .name = "avx512_vnni",
                                           .queries = QUERIES,
                                           .targets = TARGETS,
                                           .element = 2,
                                           .run = 2,
                                           .length = HY_TILE_LENGTH,
                                           .largest_element = HY_TILE_ELEMENT,
                                           .dots = dot_products_vnni,
                                           .reaching = hy_tile_avx512_reaching,
                                           .largest = hy_tile_avx512_largest,
                                           .quantize = quantize,
                                           .interleave = hy_tile_avx512_interleave};

#endif
