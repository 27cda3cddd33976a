/*
 * rotation.h
 *		A random rotation of vectors, from a seed: the same bits on every machine.
 *
 * Quantised codes (codes.h) need the error of their one-bit directions to be spread evenly over all
 * dimensions, whatever the data look like.  A vector is padded with zeros to HY_ROTATION_STEP
 * dimensions or a multiple, and then goes through HY_ROTATION_ROUNDS rounds of random signs and a
 * fast Hadamard transform, an orthogonal map each (N. Ailon and B. Chazelle, "Approximate nearest
 * neighbors and the fast Johnson-Lindenstrauss transform", 2006; A. Andoni et al., "Practical and
 * optimal LSH for angular distance", arXiv 1509.02897).  Where the padded dimensions are no power of
 * two, the transform goes over the first and the last such part in turn, and after each second round
 * what is only in the first part and what is only in the last one are mixed by one step of
 * butterflies.  With these two steps, and not one more, each coordinate gets 0.92 to 1.08 times its
 * share of every other's square, for all sizes.  (A step between the halves after each round would leave a
 * sixteenth of the square of some coordinates where it was.)
 *
 * Lengths and inner products stay as they are, up to the rounding of fp32 (about 1e-6 of the
 * lengths).  A transform scales before it adds, so nothing overflows where twice the length of a
 * vector does not.
 *
 * The same bits: each butterfly is one fp32 addition and one subtraction, in the order that
 * rotation_loops.h gives.
 */
#ifndef HY_ROTATION_H
#define HY_ROTATION_H

#include <stdbool.h>
#include <stdint.h>

#include "core/allocator.h"
#include "core/cpu_features.h"
#include "core/status.h"

/*
 * The more dimensions a vector is padded to, the more bits tell of it: with twice as many, what an estimate errs
 * by is less by the root of two.  Where dimensions are few, codes are small beside vectors, and err so much that
 * hundreds of vectors are read for ten (128 dimensions: 240, 106 with twice as many bits, and 54 with four times
 * as many): such vectors get HY_ROTATION_BITS a dimension, or as many as make HY_ROTATION_LEAST.
 *
 * Padded dimensions are a multiple of 64: 16 tables of codes.h, which every width of registers
 * divides, and the smallest part of a transform.  At most 63 dimensions more, where the next power
 * of two would nearly double the codes; and vectors of few dimensions, 1 even, get enough for the
 * law of large numbers.
 */
#define HY_ROTATION_STEP 64
#define HY_ROTATION_BITS 4
#define HY_ROTATION_LEAST 512
#define HY_ROTATION_ROUNDS 4

/* hy_rotation_padded: of dims, 1 .. HY_MAX_DIMS; 768 stay 768, and 16,000 stay 16,000. */
static inline int
hy_rotation_padded(int dims)
{
	int least = HY_ROTATION_BITS * dims;

	least = least < HY_ROTATION_LEAST ? least : HY_ROTATION_LEAST;
	dims = dims > least ? dims : least;
	return (dims + HY_ROTATION_STEP - 1) / HY_ROTATION_STEP * HY_ROTATION_STEP;
}

typedef struct HyRotation
{
	int dims;
	int padded;
	int part;       /* the largest power of two that is at most padded */
	float *factors; /* of each round, padded of them: signs and scale */
	void *memory;   /* what factors lie in */
	HyAllocator allocator;
} HyRotation;

/*
 * hy_rotation_init: the rotation of that seed for vectors of so many dims; 16 bytes a padded
 * dimension.  HY_INVALID for dims out of 1 .. HY_MAX_DIMS, HY_NOMEM.
 */
extern HyStatus
hy_rotation_init(HyRotation *rotation, int dims, uint64_t seed, const HyAllocator *allocator);

/* hy_rotation_free: after a failed hy_rotation_init too. */
extern void hy_rotation_free(HyRotation *rotation);

/* hy_rotation_apply: out[0 .. padded - 1] = the rotated x[0 .. dims - 1]; out may be x. */
extern void hy_rotation_apply(const HyRotation *rotation, const float *x, float *out);

/* hy_rotation_apply_at: the same by one level, for tests; false when it is not available here. */
extern bool
hy_rotation_apply_at(HySimd level, const HyRotation *rotation, const float *x, float *out);

#endif
