/*
 * tile_neon.c
 *		Tiles of 8 queries by 8 targets in 128-bit registers: AArch64 Advanced SIMD.
 *
 * Loading separates the first and second elements of each pair of the targets.  smlal then
 * multiplies four targets by one lane, which contains an element of a query.
 */
#include "core/tile.h"

#if defined(__aarch64__)

#include <arm_neon.h>
#include <math.h>

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif

#define QUERIES 8
#define TARGETS 8

/*
 * Adds to the sums of query i the products of both elements of a pair.  The elements of the query
 * are the lanes 2 n and 2 n + 1 of q.
 */
#define ROW(i, q, n)                                                                               \
	do                                                                                             \
	{                                                                                              \
		a[i] = vmlal_laneq_s16(a[i], vget_low_s16(t.val[0]), q, 2 * (n));                          \
		b[i] = vmlal_high_laneq_s16(b[i], t.val[0], q, 2 * (n));                                   \
		a[i] = vmlal_laneq_s16(a[i], vget_low_s16(t.val[1]), q, 2 * (n) + 1);                      \
		b[i] = vmlal_high_laneq_s16(b[i], t.val[1], q, 2 * (n) + 1);                               \
	} while (0)

static void
dot_products(const int16_t *queries, const int16_t *targets, int pairs, float *out)
{
	int32x4_t a[QUERIES];
	int32x4_t b[QUERIES];
	int p;
	int i;

	UNROLL
	for (i = 0; i < QUERIES; i++)
		a[i] = b[i] = vdupq_n_s32(0);
	for (p = 0; p < pairs; p++)
	{
		int16x8x2_t t = vld2q_s16(targets);
		int16x8_t q0 = vld1q_s16(queries);
		int16x8_t q1 = vld1q_s16(queries + 8);

		ROW(0, q0, 0);
		ROW(1, q0, 1);
		ROW(2, q0, 2);
		ROW(3, q0, 3);
		ROW(4, q1, 0);
		ROW(5, q1, 1);
		ROW(6, q1, 2);
		ROW(7, q1, 3);
		queries += 2 * QUERIES;
		targets += 2 * TARGETS;
	}
	UNROLL
	for (i = 0; i < QUERIES; i++)
	{
		vst1q_f32(out + i * TARGETS, vcvtq_f32_s32(a[i]));
		vst1q_f32(out + i * TARGETS + 4, vcvtq_f32_s32(b[i]));
	}
}

static uint32_t
reaching(const float *dots, const HyTileTargets *rows, float weight, float threshold)
{
	const uint32_t bit[4] = {1, 2, 4, 8};
	const uint32x4_t bits = vld1q_u32(bit);
	const float32x4_t least = vdupq_n_f32(threshold);
	uint32_t found = 0;
	int i;

	for (i = 0; i < TARGETS; i += 4)
	{
		float32x4_t bound =
			vfmaq_f32(vld1q_f32(rows->reach + i), vld1q_f32(rows->factor + i), vld1q_f32(dots + i));

		bound = vfmaq_n_f32(bound, vld1q_f32(rows->shift + i), weight);
		found |= vaddvq_u32(vandq_u32(vcgeq_f32(bound, least), bits)) << i;
	}
	return found;
}

static float
largest(const float *x, int n)
{
	float32x4_t most = vdupq_n_f32(0.0f);
	float found;
	int i;

	/* maxnm ignores a NaN, like the comparison below */
	for (i = 0; i + 4 <= n; i += 4)
		most = vmaxnmq_f32(most, vabsq_f32(vld1q_f32(x + i)));
	found = vmaxnmvq_f32(most);
	for (; i < n; i++)
		found = fabsf(x[i]) > found ? fabsf(x[i]) : found;
	return found;
}

static float
quantize(const float *x, int n, float inverse, float scale, int16_t *out)
{
	float32x4_t sum0 = vdupq_n_f32(0.0f);
	float32x4_t sum1 = sum0;
	float sum;
	int i;

	for (i = 0; i + 8 <= n; i += 8)
	{
		float32x4_t x0 = vld1q_f32(x + i);
		float32x4_t x1 = vld1q_f32(x + i + 4);
		int32x4_t w0 = vcvtnq_s32_f32(vmulq_n_f32(x0, inverse));
		int32x4_t w1 = vcvtnq_s32_f32(vmulq_n_f32(x1, inverse));
		float32x4_t r0 = vfmsq_n_f32(x0, vcvtq_f32_s32(w0), scale);
		float32x4_t r1 = vfmsq_n_f32(x1, vcvtq_f32_s32(w1), scale);

		sum0 = vfmaq_f32(sum0, r0, r0);
		sum1 = vfmaq_f32(sum1, r1, r1);
		vst1q_s16(out + i, vcombine_s16(vmovn_s32(w0), vmovn_s32(w1)));
	}
	sum = vaddvq_f32(vaddq_f32(sum0, sum1));
	for (; i < n; i++)
	{
		int32_t whole = vcvtns_s32_f32(x[i] * inverse);
		float rest = x[i] - scale * (float) whole;

		out[i] = (int16_t) whole;
		sum += rest * rest;
	}
	return sum;
}

/* Transposes four rows of four pairs in registers. */
static inline void
transpose(const int16_t *rows, size_t stride, int16_t *panel)
{
	int32x4_t r0 = vreinterpretq_s32_s16(vld1q_s16(rows));
	int32x4_t r1 = vreinterpretq_s32_s16(vld1q_s16(rows + stride));
	int32x4_t r2 = vreinterpretq_s32_s16(vld1q_s16(rows + 2 * stride));
	int32x4_t r3 = vreinterpretq_s32_s16(vld1q_s16(rows + 3 * stride));
	int64x2_t s0 = vreinterpretq_s64_s32(vtrn1q_s32(r0, r1));
	int64x2_t s1 = vreinterpretq_s64_s32(vtrn2q_s32(r0, r1));
	int64x2_t s2 = vreinterpretq_s64_s32(vtrn1q_s32(r2, r3));
	int64x2_t s3 = vreinterpretq_s64_s32(vtrn2q_s32(r2, r3));

	vst1q_s16(panel, vreinterpretq_s16_s64(vtrn1q_s64(s0, s2)));
	vst1q_s16(panel + 2 * TARGETS, vreinterpretq_s16_s64(vtrn1q_s64(s1, s3)));
	vst1q_s16(panel + 4 * TARGETS, vreinterpretq_s16_s64(vtrn2q_s64(s0, s2)));
	vst1q_s16(panel + 6 * TARGETS, vreinterpretq_s16_s64(vtrn2q_s64(s1, s3)));
}

static void
interleave(const int16_t *rows, size_t stride, int length, int16_t *panel)
{
	int p;

	for (p = 0; p + 8 <= length; p += 8)
	{
		transpose(rows + p, stride, panel + p * TARGETS);
		transpose(rows + 4 * stride + p, stride, panel + p * TARGETS + 8);
	}
	hy_tile_pack(rows + p, stride, TARGETS, length - p, TARGETS, panel + p * TARGETS);
}

const HyTileKernels hy_tile_neon = {.level = HY_SIMD_NEON,
                                    .name = "neon",
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
