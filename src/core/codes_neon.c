/*
 * codes_neon.c
 *		Codes in the 128-bit registers of AArch64: tbl looks up one table for 16 rows.
 */
#include "core/codes_levels.h"

#if defined(__aarch64__)

#include <arm_neon.h>

#include <math.h>
#include <string.h>

static inline void
add_eight(uint32_t *sums, uint16x8_t words)
{
	vst1q_u32(sums, vaddw_u16(vld1q_u32(sums), vget_low_u16(words)));
	vst1q_u32(sums + 4, vaddw_u16(vld1q_u32(sums + 4), vget_high_u16(words)));
}

static void
code_sums(const uint8_t *tables, const uint8_t *codes, const uint8_t *next, int count,
          uint32_t *sums)
{
	const uint8x16_t low = vdupq_n_u8(15);

	while (count > 0)
	{
		int chunk = count < HY_CODE_CHUNK ? count : HY_CODE_CHUNK;
		uint16x8_t rows0 = vdupq_n_u16(0);
		uint16x8_t rows8 = rows0;
		uint16x8_t rows16 = rows0;
		uint16x8_t rows24 = rows0;
		int t;

		for (t = 0; t < chunk; t += 2, tables += 32, codes += 32, next += 32)
		{
			uint8x16_t a = vld1q_u8(codes);
			uint8x16_t b = vld1q_u8(codes + 16);
			uint8x16_t table_a = vld1q_u8(tables);
			uint8x16_t table_b = vld1q_u8(tables + 16);
			uint8x16_t entry0 = vaddq_u8(vqtbl1q_u8(table_a, vandq_u8(a, low)),
			                             vqtbl1q_u8(table_b, vandq_u8(b, low)));
			uint8x16_t entry1 = vaddq_u8(vqtbl1q_u8(table_a, vshrq_n_u8(a, 4)),
			                             vqtbl1q_u8(table_b, vshrq_n_u8(b, 4)));

			__builtin_prefetch(next);
			rows0 = vaddw_u8(rows0, vget_low_u8(entry0));
			rows8 = vaddw_high_u8(rows8, entry0);
			rows16 = vaddw_u8(rows16, vget_low_u8(entry1));
			rows24 = vaddw_high_u8(rows24, entry1);
		}
		add_eight(sums, rows0);
		add_eight(sums + 8, rows8);
		add_eight(sums + 16, rows16);
		add_eight(sums + 24, rows24);
		count -= chunk;
	}
}

static uint32_t
code_bounds(const HyCodeBounds *bounds, const uint32_t *sums, const HyCodeFactors *factors,
            float *estimate, float *lower)
{
	static const uint32_t bit[4] = {1, 2, 4, 8};
	const float32x4_t scale = vdupq_n_f32(bounds->scale);
	const float32x4_t offset = vdupq_n_f32(bounds->offset);
	const float32x4_t base = vdupq_n_f32(bounds->base);
	const float32x4_t slack = vdupq_n_f32(bounds->slack);
	const float32x4_t margin = vdupq_n_f32(bounds->margin);
	const float32x4_t threshold = vdupq_n_f32(bounds->threshold);
	uint32_t mask = 0;
	int i;

	for (i = 0; i < HY_CODE_ROWS; i += 4)
	{
		float32x4_t sum = vcvtq_f32_u32(vld1q_u32(sums + i));
		float32x4_t bracket = vaddq_f32(vmulq_f32(scale, sum), offset);
		float32x4_t rescale = vld1q_f32(factors->rescale + i);
		float32x4_t about =
			vaddq_f32(vaddq_f32(vld1q_f32(factors->add + i), base), vmulq_f32(rescale, bracket));
		float32x4_t least = vsubq_f32(vaddq_f32(about, vmulq_f32(rescale, slack)),
		                              vmulq_f32(vld1q_f32(factors->error + i), margin));
		uint32x4_t excluded = vandq_u32(vcgtq_f32(least, threshold), vld1q_u32(bit));

		vst1q_f32(estimate + i, about);
		vst1q_f32(lower + i, least);
		mask |= (~vaddvq_u32(excluded) & 15u) << i;
	}
	return mask;
}

/*
 * part: return |x| in each of the four entries whose index bit agrees with the sign of x, and 0 in
 * the other entries.
 */
static inline float32x4_t
part(float x, uint32x4_t bit)
{
	uint32x4_t negative = vdupq_n_u32(x < 0 ? UINT32_MAX : 0);

	return vreinterpretq_f32_u32(
		vandq_u32(vreinterpretq_u32_f32(vdupq_n_f32(fabsf(x))), veorq_u32(bit, negative)));
}

static float
code_widest(const float *q, int count)
{
	const uint32x4_t no_sign = vdupq_n_u32(INT32_MAX);
	uint32x4_t most = vdupq_n_u32(0);
	uint32_t found;
	float widest;
	int t;

	for (t = 0; t < count; t += 4, q += 16)
	{
		float32x4_t ab = vpaddq_f32(vabsq_f32(vld1q_f32(q)), vabsq_f32(vld1q_f32(q + 4)));
		float32x4_t cd = vpaddq_f32(vabsq_f32(vld1q_f32(q + 8)), vabsq_f32(vld1q_f32(q + 12)));

		most = vmaxq_u32(most, vandq_u32(vreinterpretq_u32_f32(vpaddq_f32(ab, cd)), no_sign));
	}
	found = vmaxvq_u32(most);
	memcpy(&widest, &found, sizeof(widest));
	return widest;
}

static uint32_t
code_tables(const float *q, int count, float inverse, uint8_t *tables, float losses[16])
{
	static const uint32_t numbers[4] = {0, 1, 2, 3};
	const float32x4_t half = vdupq_n_f32(0.5f);
	const uint32x4_t first = vtstq_u32(vld1q_u32(numbers), vdupq_n_u32(1));
	const uint32x4_t second = vtstq_u32(vld1q_u32(numbers), vdupq_n_u32(2));
	uint32_t sum = 0;
	int t;
	int c;

	for (t = 0; t < count; t++, q += 4, tables += 16)
	{
		float32x4_t ab = vaddq_f32(part(q[0], first), part(q[1], second));
		uint16x4_t words[4];

		for (c = 0; c < 4; c++)
		{
			uint32x4_t third = vdupq_n_u32(c & 1 ? UINT32_MAX : 0);
			uint32x4_t fourth = vdupq_n_u32(c & 2 ? UINT32_MAX : 0);
			float32x4_t cd = vaddq_f32(part(q[2], third), part(q[3], fourth));
			float32x4_t exact = vmulq_n_f32(vaddq_f32(ab, cd), inverse);
			uint32x4_t entry = vcvtq_u32_f32(vaddq_f32(exact, half));
			float32x4_t loss = vsubq_f32(exact, vcvtq_f32_u32(entry));

			vst1q_f32(losses + 4 * c, vaddq_f32(vld1q_f32(losses + 4 * c), vmulq_f32(loss, loss)));
			words[c] = vmovn_u32(entry);
			sum += vaddvq_u32(entry);
		}
		vst1_u8(tables, vmovn_u16(vcombine_u16(words[0], words[1])));
		vst1_u8(tables + 8, vmovn_u16(vcombine_u16(words[2], words[3])));
	}
	return sum;
}

static void
code_encode(const float *residual, const float *centroid, int padded, uint8_t *bits,
            HyCodeSums *sums)
{
	static const uint32_t weights[4] = {1, 2, 4, 8};
	const uint32x4_t sign = vdupq_n_u32(UINT32_C(1) << 31);
	const uint32x4_t weight = vld1q_u32(weights);
	float64x2_t square[4];
	float64x2_t magnitude[4];
	float64x2_t turned[4];
	float64x2_t product[4];
	int i;
	int j;

	for (j = 0; j < 4; j++)
		square[j] = magnitude[j] = turned[j] = product[j] = vdupq_n_f64(0.0);
	for (i = 0; i < padded; i += HY_CODE_LANES)
	{
		uint32_t byte = 0;

		for (j = 0; j < 4; j += 2)
		{
			float32x4_t r = vld1q_f32(residual + i + 2 * j);
			float32x4_t c = vld1q_f32(centroid + i + 2 * j);
			uint32x4_t positive = vcgezq_f32(r);
			float32x4_t s = vreinterpretq_f32_u32(
				veorq_u32(vreinterpretq_u32_f32(c), vbicq_u32(sign, positive)));
			float64x2_t r0 = vcvt_f64_f32(vget_low_f32(r));
			float64x2_t r1 = vcvt_high_f64_f32(r);

			byte |= vaddvq_u32(vandq_u32(positive, weight)) << 2 * j;
			/*
			 * The products are exact, so a fused operation rounds like a separate product and sum.
			 */
			square[j] = vfmaq_f64(square[j], r0, r0);
			square[j + 1] = vfmaq_f64(square[j + 1], r1, r1);
			product[j] = vfmaq_f64(product[j], r0, vcvt_f64_f32(vget_low_f32(c)));
			product[j + 1] = vfmaq_f64(product[j + 1], r1, vcvt_high_f64_f32(c));
			magnitude[j] = vaddq_f64(magnitude[j], vabsq_f64(r0));
			magnitude[j + 1] = vaddq_f64(magnitude[j + 1], vabsq_f64(r1));
			turned[j] = vaddq_f64(turned[j], vcvt_f64_f32(vget_low_f32(s)));
			turned[j + 1] = vaddq_f64(turned[j + 1], vcvt_high_f64_f32(s));
		}
		bits[i / HY_CODE_LANES] = (uint8_t) byte;
	}
	for (j = 0; j < 4; j++)
	{
		vst1q_f64(sums->squares + 2 * j, square[j]);
		vst1q_f64(sums->magnitudes + 2 * j, magnitude[j]);
		vst1q_f64(sums->signeds + 2 * j, turned[j]);
		vst1q_f64(sums->products + 2 * j, product[j]);
	}
}

static uint32_t
code_score(const HyCodeScorer *scorer, const uint8_t *codes, const uint8_t *next,
           const HyCodeFactors *factors, float *estimate, float *lower)
{
	return hy_code_score_block(&hy_code_kernels_neon, scorer, codes, next, factors, estimate,
	                           lower);
}

const HyCodeKernels hy_code_kernels_neon = {HY_SIMD_NEON, code_sums,   code_bounds, code_score,
                                            code_widest,  code_tables, code_encode};

#endif
