/*
 * bits.h
 *		Distances between bit strings, from bit counts that are the same on every machine.
 *
 * A bit string occupies whole bytes.  Unused bits of its last byte are 0.  No pointer needs any
 * alignment.
 */
#ifndef HY_BITS_H
#define HY_BITS_H

#include <stddef.h>
#include <stdint.h>

#include "core/cpu_features.h"

typedef struct HyBitKernels
{
	HySimd level;
	/* number of bits in which a and b differ */
	uint64_t (*differing)(const uint8_t *a, const uint8_t *b, size_t bytes);
	/* number of bits set in both, and number of bits set in at least one */
	void (*common)(const uint8_t *a, const uint8_t *b, size_t bytes, uint64_t *both,
	               uint64_t *either);
} HyBitKernels;

/* hy_bit_kernels: return the kernels for the level that hy_kernels uses. */
extern const HyBitKernels *hy_bit_kernels(void);

/*
 * hy_bit_kernels_at: return the kernels for one level, or NULL when the level is not available
 * here.  The AVX-512 and AMX levels use VPOPCNTDQ if the processor has it, and otherwise the AVX2
 * kernels.
 */
extern const HyBitKernels *hy_bit_kernels_at(HySimd level);

/* hy_hamming: return the number of bits in which a and b differ. */
extern double hy_hamming(const uint8_t *a, const uint8_t *b, size_t bytes);

/*
 * hy_jaccard: return 1 - (bits set in both) / (bits set in either), or 1 when no bit is set in
 * both.
 */
extern double hy_jaccard(const uint8_t *a, const uint8_t *b, size_t bytes);

/*
 * hy_jaccard_square: take two bit strings at this Jaccard distance as vectors of zeros and ones, scaled
 * to length 1.  Return the largest squared distance that the two vectors can have.
 */
extern double hy_jaccard_square(double distance);

#endif
