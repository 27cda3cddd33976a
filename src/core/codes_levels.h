/*
 * codes_levels.h
 *		Tables of code kernels, one per file.
 *
 * Select a table with hy_code_kernels_at, which returns only tables that this processor can run.
 */
#ifndef HY_CODES_LEVELS_H
#define HY_CODES_LEVELS_H

#include "core/codes.h"

#define HY_CODE_ENTRY 127 /* largest entry of a table */
#define HY_CODE_CHUNK 512 /* tables whose sum is sure to fit in 16 bits: 127 * 512 < 65,536 */

extern const HyCodeKernels hy_code_kernels_scalar;
extern const HyCodeKernels hy_code_kernels_avx2;   /* x86-64 */
extern const HyCodeKernels hy_code_kernels_avx512; /* x86-64 */
extern const HyCodeKernels hy_code_kernels_neon;   /* AArch64 */

/* hy_code_score_block: implement `score` by a level's sums and bounds, for any number of tables. */
static inline uint32_t
hy_code_score_block(const HyCodeKernels *level, const HyCodeScorer *scorer, const uint8_t *codes,
                    const uint8_t *next, const HyCodeFactors *factors, float *estimate,
                    float *lower)
{
	uint32_t sums[HY_CODE_ROWS] = {0};
	const HyCodeEarly *early = &scorer->early;
	int first = early->count, after = first * 16;

	level->sums(scorer->tables, codes, next, first, sums);
	if (first < scorer->count)
	{
		if (level->bounds(&early->bounds, sums, factors, estimate, lower) == 0)
			return 0;
		level->sums(scorer->tables + after, codes + after, next + after, scorer->count - first,
		            sums);
	}
	return level->bounds(&scorer->bounds, sums, factors, estimate, lower);
}

/* AVX2 functions that the AVX-512 level uses too, because AVX-512 offers no better way. */
extern float hy_code_widest_avx2(const float *q, int count);
extern void hy_code_encode_avx2(const float *residual, const float *centroid, int padded,
                                uint8_t *bits, HyCodeSums *sums);

#endif
