/*
 * codes_scalar.c
 *		Codes in plain C.
 */
#include "core/codes_levels.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static void
code_sums(const uint8_t *tables, const uint8_t *codes, const uint8_t *next, int count,
          uint32_t *sums)
{
	int t;
	int i;

	(void) next;
	for (t = 0; t < count; t++, tables += 16, codes += 16)
	{
		for (i = 0; i < 16; i++)
		{
			sums[i] += tables[codes[i] & 15];
			sums[i + 16] += tables[codes[i] >> 4];
		}
	}
}

static uint32_t
code_bounds(const HyCodeBounds *bounds, const uint32_t *sums, const HyCodeFactors *factors,
            float *estimate, float *lower)
{
	uint32_t mask = 0;
	int i;

	for (i = 0; i < HY_CODE_ROWS; i++)
	{
		float bracket = bounds->scale * (float) (int32_t) sums[i] + bounds->offset;

		estimate[i] = (factors->add[i] + bounds->base) + factors->rescale[i] * bracket;
		lower[i] = (estimate[i] + factors->rescale[i] * bounds->slack) -
		           factors->error[i] * bounds->margin;
		mask |= (uint32_t) !(lower[i] > bounds->threshold) << i;
	}
	return mask;
}

static float
code_widest(const float *q, int count)
{
	uint32_t most = 0;
	float found;
	int t;

	for (t = 0; t < count; t++, q += 4)
	{
		float range = (fabsf(q[0]) + fabsf(q[1])) + (fabsf(q[2]) + fabsf(q[3]));
		uint32_t bits;

		memcpy(&bits, &range, sizeof(bits));
		bits &= INT32_MAX;
		most = bits > most ? bits : most;
	}
	memcpy(&found, &most, sizeof(found));
	return found;
}

static uint32_t
code_tables(const float *q, int count, float inverse, uint8_t *tables, float losses[16])
{
	uint32_t sum = 0;
	int t;
	int c;

	for (t = 0; t < count; t++, q += 4, tables += 16)
	{
		int signs = (q[0] >= 0) | (q[1] >= 0) << 1 | (q[2] >= 0) << 2 | (q[3] >= 0) << 3;

		for (c = 0; c < 16; c++)
		{
			int same = ~(c ^ signs);
			float a = same & 1 ? fabsf(q[0]) : 0.0f;
			float b = same & 2 ? fabsf(q[1]) : 0.0f;
			float d = same & 4 ? fabsf(q[2]) : 0.0f;
			float e = same & 8 ? fabsf(q[3]) : 0.0f;
			float exact = ((a + b) + (d + e)) * inverse;
			int entry = (int) (exact + 0.5f);
			float loss = exact - (float) entry;

			tables[c] = (uint8_t) entry;
			losses[c] += loss * loss;
			sum += (uint32_t) entry;
		}
	}
	return sum;
}

static void
code_encode(const float *residual, const float *centroid, int padded, uint8_t *bits,
            HyCodeSums *sums)
{
	int i;
	int j;

	memset(sums, 0, sizeof(*sums));
	for (i = 0; i < padded; i += HY_CODE_LANES)
	{
		unsigned int byte = 0;

		for (j = 0; j < HY_CODE_LANES; j++)
		{
			double r = residual[i + j];
			double c = centroid[i + j];
			bool positive = residual[i + j] >= 0.0f;

			byte |= (unsigned int) positive << j;
			sums->squares[j] += r * r;
			sums->magnitudes[j] += fabs(r);
			sums->signeds[j] += positive ? c : -c;
			sums->products[j] += r * c;
		}
		bits[i / HY_CODE_LANES] = (uint8_t) byte;
	}
}

static uint32_t
code_score(const HyCodeScorer *scorer, const uint8_t *codes, const uint8_t *next,
           const HyCodeFactors *factors, float *estimate, float *lower)
{
	return hy_code_score_block(&hy_code_kernels_scalar, scorer, codes, next, factors, estimate,
	                           lower);
}

const HyCodeKernels hy_code_kernels_scalar = {HY_SIMD_SCALAR, code_sums,   code_bounds, code_score,
                                              code_widest,    code_tables, code_encode};
