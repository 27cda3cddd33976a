/*
 * rotation.h
 *		A random rotation of vectors, from a seed, with the same bits on every machine.
 *
 * Quantized codes (codes.h) need the error of their one-bit directions to be spread evenly over all
 * dimensions, whatever the data look like.  A vector is padded with zeros to a multiple of
 * HY_ROTATION_STEP dimensions.  It then goes through HY_ROTATION_ROUNDS rounds, each of which
 * applies random signs and a fast Hadamard transform.  Both are orthogonal (N. Ailon and B.
 * Chazelle, "Approximate nearest neighbors and the fast Johnson-Lindenstrauss transform", 2006; A.
 * Andoni et al., "Practical and optimal LSH for angular distance", arXiv 1509.02897).
 *
 * If the padded dimensions are not a power of two, the transform covers the largest power of two
 * that fits.  Rounds alternate between the first and the last such part.  After every second round,
 * one butterfly step mixes the elements that are only in the first part with the elements that are
 * only in the last part.  With exactly these two mixing steps, the square of each input coordinate
 * is spread evenly over the output: each output coordinate gets 0.92 to 1.08 times an equal share,
 * for all sizes.  (With such a step after each round, a sixteenth of the square of some coordinates
 * would stay in place.)
 *
 * Lengths and inner products are preserved, up to fp32 rounding (about 1e-6 of the lengths).  A
 * transform scales before it adds, so nothing overflows unless twice the length of a vector does.
 *
 * Bits are the same on every machine, because each butterfly is one fp32 addition and one
 * subtraction, in the order given in rotation_loops.h.
 */
#ifndef HY_ROTATION_H
#define HY_ROTATION_H

#include <stdbool.h>
#include <stdint.h>

#include "core/allocator.h"
#include "core/cpu_features.h"
#include "core/status.h"

/*
 * A vector that is padded to more dimensions gets a code with more bits.  Twice as many bits reduce
 * the error of an estimate by a factor of the square root of two.  If a vector has few dimensions,
 * its code is small compared with the vector, but the error of the estimates is large.  A search
 * may then read hundreds of vectors to find ten (240 vectors at 128 dimensions; 106 with twice as
 * many bits; 54 with four times as many).  Such vectors get HY_ROTATION_BITS bits per dimension,
 * but at most HY_ROTATION_LEAST bits.
 *
 * Padded dimensions are a multiple of 64.  64 dimensions are 16 tables of codes.h, a multiple of
 * every register width, and also the smallest part of a transform.  Rounding up to a multiple of 64
 * adds at most 63 dimensions, while rounding up to a power of two would nearly double some codes.
 * Even a vector of one dimension is padded to enough dimensions for the law of large numbers.
 */
#define HY_ROTATION_STEP 64
#define HY_ROTATION_BITS 4
#define HY_ROTATION_LEAST 512
#define HY_ROTATION_ROUNDS 4

/*
 * hy_rotation_padded: return the padded dimensions for dims, 1 .. HY_MAX_DIMS.  768 stays 768, and
 * 16,000 stays 16,000.
 */
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
	int part;       /* largest power of two that is at most `padded` */
	float *factors; /* `padded` factors per round, each a sign times a scale */
	void *memory;   /* allocation that contains factors */
	HyAllocator allocator;
} HyRotation;

/*
 * hy_rotation_init: create the rotation with this seed for vectors with this many dims.  Needs 16
 * bytes per padded dimension.  Returns HY_INVALID if dims is outside 1 .. HY_MAX_DIMS, or HY_NOMEM.
 */
extern HyStatus
hy_rotation_init(HyRotation *rotation, int dims, uint64_t seed, const HyAllocator *allocator);

/* hy_rotation_free: free the memory.  May be called after hy_rotation_init has failed. */
extern void hy_rotation_free(HyRotation *rotation);

/* hy_rotation_apply: set out[0 .. padded - 1] = the rotated x[0 .. dims - 1].  out may be x. */
extern void hy_rotation_apply(const HyRotation *rotation, const float *x, float *out);

/*
 * hy_rotation_apply_at: do the same as hy_rotation_apply, on a given level, for tests.  Returns
 * false if the level is not available here.
 */
extern bool
hy_rotation_apply_at(HySimd level, const HyRotation *rotation, const float *x, float *out);

#endif
