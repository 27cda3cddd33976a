/*
 * distance.h
 *		Distances between vectors, with the same bits on every machine.
 *
 * Sums use the canonical reduction.  It has 64 fp32 lanes that start from +0.  Element i belongs to
 * lane i mod 64, and elements are taken in ascending order:
 *
 *		L2				d = fl(a - b), lane = fma(d, d, lane)
 *		inner product	lane = fma(a, b, lane)
 *		L1				lane = fl(lane + |fl(a - b)|)
 *
 * After every 16 steps (1,024 elements) and at the end, each lane is added to an fp64 sum of its
 * own, called its twin, and then cleared.  For up to 16,000 dims, this keeps the error of the sum
 * below 5e-7 of the sum of the terms' magnitudes.  Twins fold as a tree: twin[i] += twin[i + h],
 * for h = 32, 16, 8, 4, 2, 1.  The result is rounded to fp32 once.  All later arithmetic is IEEE
 * double on those fp32 sums.  Because twins start from +0, the sign of a zero lane is lost at the
 * flush, so a tail may be padded with +0.
 *
 * A sum that leaves the range of fp32 is an infinity, and so is the distance.  Cosine distances are
 * the exception: they are NaN if a norm is infinite, and clamped otherwise.  A sum that contains
 * infinities of both signs is NaN.  Every NaN is the positive quiet NaN without payload.
 *
 * Every instruction set (and the GPU) follows this definition exactly.  The unit tests compare
 * bits.
 */
#ifndef HY_DISTANCE_H
#define HY_DISTANCE_H

#include "core/batch.h"
#include "core/cancel.h"
#include "core/cpu_features.h"
#include "core/status.h"

#define HY_LANES 64
#define HY_FLUSH_STEPS 16

/*
 * HyPairKernels: sums over one pair of vectors.  a is fp32; b has the element type of the table.
 * No pointer needs more alignment than its element.
 */
typedef struct HyPairKernels
{
	float (*l2sq)(const float *a, const void *b, int dims);
	float (*ip)(const float *a, const void *b, int dims);
	float (*l1)(const float *a, const void *b, int dims);
	void (*ip_norm)(const float *a, const void *b, int dims, float out[2]); /* a.b, b.b */
} HyPairKernels;

typedef struct HyKernels
{
	HySimd level;
	HyPairKernels pair[HY_DTYPE_COUNT];
	/* dst = src widened exactly to fp32, n elements of binary16 */
	void (*widen_f16)(float *dst, const uint16_t *src, int n);
	/* dst = src rounded like hy_float_to_half */
	void (*narrow_f16)(uint16_t *dst, const float *src, int n);
} HyKernels;

/*
 * hy_kernels: return the kernels in use.  They belong to the highest level available, unless
 * hy_kernels_force chose another.
 */
extern const HyKernels *hy_kernels(void);

/* hy_kernels_at: return the kernels for one level, or NULL when the level is not available here. */
extern const HyKernels *hy_kernels_at(HySimd level);

/*
 * hy_kernels_force: use this level from now on.  Returns HY_UNSUPPORTED when it is not available.
 */
extern HyStatus hy_kernels_force(HySimd level);

/* hy_widen: write a vector of either type as fp32, which is exact. */
extern void hy_widen(HyDtype dtype, const void *x, int dims, float *out);

/*
 * hy_norm_sq: return the canonical fp32 sum of squares of one vector (the inner product with
 * itself).
 */
extern float hy_norm_sq(HyDtype dtype, const void *vector, int dims);

/* hy_distance: return the distance between two fp32 vectors. */
extern double hy_distance(HyMetric metric, const float *a, const float *b, int dims);

/*
 * hy_distance_to: return the distance as hy_distance does, for b of any element type.  For a pair
 * of halfvecs, the caller widens a to fp32.
 */
extern double
hy_distance_to(HyMetric metric, const float *a, HyDtype dtype, const void *b, int dims);

/* hy_cosine_to: return the cosine distance when the canonical sum aa = a.a is already known. */
extern double hy_cosine_to(const float *a, float aa, HyDtype dtype, const void *b, int dims);

/* hy_l2_squared: return the canonical sum of squared differences. */
extern double hy_l2_squared(const float *a, HyDtype dtype, const void *b, int dims);

/*
 * hy_has_cosine: test whether a vector with this canonical squared norm has an angle to other
 * vectors.  Returns false for a norm of 0, as of a zero vector, and for an infinite or NaN norm.
 */
extern bool hy_has_cosine(float norm_sq);

/*
 * hy_cosine_from_sums: return 1 - clamp(dot / sqrt(aa * bb), -1, 1) in double.  Returns NaN if
 * hy_has_cosine is false for aa or bb, or if dot is NaN.
 */
extern double hy_cosine_from_sums(float dot, float aa, float bb);

/*
 * hy_distance_from_sums: return the distance from the canonical sums of two vectors.  sum is l2sq,
 * ip or l1.  For cosine, sum is ip, aa = a.a and bb = b.b; other metrics ignore aa and bb.  Every
 * backend must finish this way.
 */
extern double hy_distance_from_sums(HyMetric metric, float sum, float aa, float bb);

/*
 * hy_distance_matrix: set out[q * targets->rows + t] = distance(queries[q], targets[t]).  Queries
 * are fp32.  Both matrices are on the host and have equal dims.  Polls cancel about once a
 * millisecond.  Returns HY_INVALID if the shapes do not match, HY_CANCELLED, or HY_OK.
 */
extern HyStatus hy_distance_matrix(HyMetric metric, const HyMatrix *queries,
                                   const HyMatrix *targets, double *out, const HyCancel *cancel);

/*
 * hy_distance_window: compute as hy_distance_matrix does, but write to out[q * stride + t], stride
 * >= targets->rows.
 */
extern HyStatus
hy_distance_window(HyMetric metric, const HyMatrix *queries, const HyMatrix *targets, double *out,
                   int64_t stride, const HyCancel *cancel);

/*
 * hy_half_to_float widens exactly.  hy_float_to_half rounds to nearest even.  Magnitudes of 65,520
 * and above become infinity.
 */
extern float hy_half_to_float(uint16_t half);
extern uint16_t hy_float_to_half(float value);

#endif
