/*
 * bits.h
 *		Distances between strings of bits: counts, so the same on every machine.
 *
 * Strings are whole bytes; the bits of the last byte that do not belong to a string are 0.
 * No pointer needs any alignment.
 */
#ifndef HY_BITS_H
#define HY_BITS_H

#include <stddef.h>
#include <stdint.h>

#include "core/cpu_features.h"

typedef struct HyBitKernels
{
	HySimd level;
	/* bits in which a and b differ */
	uint64_t (*differing)(const uint8_t *a, const uint8_t *b, size_t bytes);
	/* bits that are set in both, and in at least one */
	void (*common)(const uint8_t *a, const uint8_t *b, size_t bytes, uint64_t *both,
	               uint64_t *either);
} HyBitKernels;

/* hy_bit_kernels: those of the level that hy_kernels uses. */
extern const HyBitKernels *hy_bit_kernels(void);

/*
 * hy_bit_kernels_at: those of one level, NULL when it is not available here.  AVX-512 comes with
 * VPOPCNTDQ or, on a processor without, as AVX2.
 */
extern const HyBitKernels *hy_bit_kernels_at(HySimd level);

/* hy_hamming: the number of bits in which a and b differ. */
extern double hy_hamming(const uint8_t *a, const uint8_t *b, size_t bytes);

/* hy_jaccard: 1 - bits set in both / bits set in either; 1 when none is set in both. */
extern double hy_jaccard(const uint8_t *a, const uint8_t *b, size_t bytes);

#endif
