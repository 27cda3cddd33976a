/*
 * codes.h
 *		Codes with one bit per dimension, for unbiased distance estimates and distance bounds.
 *
 * The method is RaBitQ (J. Gao and C. Long, arXiv 2405.12497; arXiv 2409.09913 extends it to more
 * bits).  A row x belongs to a list with centroid c.  An index has one fixed point, its root.
 * Vectors are taken relative to the root or to a centroid, and are rotated by P (rotation.h):
 *
 *		r = P(x - c),		c' = P(c - root),		q' = P(q - root)
 *
 * Each of these has D padded dimensions.  The code of x is b, the signs of r (a bit is 1 if the
 * element is not negative).  The vector s = b - 1/2 points roughly in the direction of r.  For any
 * y, <r,y> is estimated by |r|^2 <s,y> / <s,r>.  Because P is random, the error of this estimate is
 * approximately normal, with mean 0 and a standard deviation of at most
 *
 *		|r| |y| sqrt((|r|^2 |s|^2 / <r,s>^2 - 1) / (D - 1)),		|s|^2 = D / 4
 *
 * (r is also P(x - root) - c', so one rotation of a row serves every list.)
 *
 * With y = q' - c', the squared distance and the negative inner product are
 *
 *		|x - q|^2 = |r|^2 + |q - c|^2 - 2 <r,y>
 *		-<q,x>    = -<q,c> - <root, x - c> - <r,c'> - <r,y>
 *
 * The parts that depend only on the row are stored as three factors: add, rescale and error.  For
 * every query and list,
 *
 *		estimate = (add + base) + rescale * <s,q'>
 *		base     = |q - c|^2 or -<q,c>
 *		lower    = estimate - e * error * |q - c|
 *
 * e is the number of standard deviations that the caller allows for.  It is not stored.  This lower
 * bound still ignores the rounding of tables, which is described below.  For cosine distance,
 * normalize the vectors first; the cosine distance is then half the squared distance.
 *
 * Scoring follows FastScan (F. Andre, A.-M. Kermarrec, N. Le Scouarnec, "Cache locality is not
 * enough" and "Quick(er) ADC", 2015 to 2019).  There is one table of 16 one-byte entries per four
 * dimensions.  <s,q'> is computed from the sum of one entry per table.  The entries of 32 rows are
 * looked up at once.  A block holds, for each table in turn, the 16 bytes that its 32 rows have for
 * that table.  Row i is in the lower half of byte i, and row i + 16 is in the upper half.
 *
 * Entries have seven bits, so that two of them can be added as bytes.  This saves a fifth of the
 * work compared with eight bits, with hardly any loss of accuracy.  Each entry is rounded by at
 * most half a unit (`scale`).  For codes that do not depend on the query, the rounding errors of
 * the tables add up like independent errors.  Their mean is removed: the offset makes the mean over
 * all codes exact.  Their standard deviation is measured while the tables are built (`slack`, the
 * deviation of <s,q'>).  The squares of this deviation and of the code's deviation add up, and
 *
 *		sqrt(a^2 + b^2) = a cos t + b sin t			tan t = b / a
 *
 * where a = error * |q - c| and b = -rescale * slack.  After a random rotation, b / a is nearly the
 * same for all rows: 3.3 slack / |q - c|, the value for a normally distributed r.  Therefore t is
 * computed from that ratio once per list, with an error of second order:
 *
 *		lower = estimate - e (cos t error |q - c| - sin t rescale slack)
 *
 * If q' is as long as q' - c', then b is only 2 or 3% of a, and b^2 is negligible.  In a tight list
 * far from the root, b grows by a factor of |q - root| / |q - c|.
 *
 * Most blocks have no row near the query, and a third of their tables is enough to show this.  Let
 * f = T / F, where the first F of T tables are summed.  Because P is random, f times that sum
 * estimates <s,q'> with an error of mean 0.  The error is f - 1 times the part of <s,q'> in the
 * first tables, minus the part in the rest.  The signs in both parts are practically random, so the
 * square of the deviation is
 *
 *		((f - 1)^2 |q'_first|^2 + |q'_rest|^2) / 4
 *
 * This square is added to slack^2.  The bound from the first tables only (`early`) is then computed
 * like the full bound. (ADSampling, J. Gao and C. Long, arXiv 2303.09855, applies the same idea to
 * the dimensions of vectors.)
 *
 * Integer sums are exact.  They are followed by a fixed sequence of fp32 operations, none of them
 * fused.  Estimates, bounds and masks therefore have the same bits on every instruction set, and on
 * any device that computes them like hy_code_bounds below.  Nothing here needs more alignment than
 * a float.
 */
#ifndef HY_CODES_H
#define HY_CODES_H

#include <stddef.h>
#include <stdint.h>

#include "core/batch.h"
#include "core/cpu_features.h"

#define HY_CODE_ROWS 32

/*
 * Ratio b / a (see above) for slack = |q - c|.  It is 2 sqrt(g / (g - 1)) with g = |r|^2 |s|^2 /
 * <r,s>^2.  For a normally distributed residual, g is pi / 2.
 */
#define HY_CODE_TYPICAL_RATIO 3.3178

/* HyCode: the factors of one row. */
typedef struct HyCode
{
	float add;
	float rescale; /* never above 0 */
	float error;   /* never below 0; infinite if the factors do not fit in fp32 */
} HyCode;

/* HyCodeFactors: the factors of the rows of one block. */
typedef struct HyCodeFactors
{
	float add[HY_CODE_ROWS];
	float rescale[HY_CODE_ROWS];
	float error[HY_CODE_ROWS];
} HyCodeFactors;

/*
 * hy_code_square: return |r|^2 of a row, computed from its factors.  Let t = -rescale / h and e =
 * error / h, where h is 1 for inner products, otherwise 2.  Then t = |r|^2 / <s,r>, and |r|^2 is
 * t^2 |s|^2 - e^2 (D - 1).  The result is not finite if the factors did not fit in fp32.
 */
static inline double
hy_code_square(HyMetric metric, const HyCodeFactors *factors, int i, int padded)
{
	double half = metric == HY_METRIC_IP ? 1 : 2;
	double ratio = factors->rescale[i] / half, error = factors->error[i] / half;

	return ratio * ratio * (0.25 * padded) - error * error * (padded - 1);
}

/*
 * hy_code_bits_size: return the number of bytes of one row's bits.  Dimension i is bit i % 8 of
 * byte i / 8.
 */
static inline size_t
hy_code_bits_size(int padded)
{
	return (size_t) padded / 8;
}

/*
 * hy_code_block_size: return the number of bytes of one block without its factors.
 * hy_code_tables_size: return the number of bytes of a query's tables.
 */
static inline size_t
hy_code_block_size(int padded)
{
	return (size_t) padded / 8 * HY_CODE_ROWS;
}

static inline size_t
hy_code_tables_size(int padded)
{
	return (size_t) padded / 4 * 16;
}

/*
 * hy_code_encode: compute the bits and factors of a row.  residual is r = P(x - c), and centroid is
 * c' = P(c - root) for the centroid of the row's list.  Both arrays have `padded` dimensions, a
 * multiple of HY_ROTATION_STEP.  For HY_METRIC_IP, `along` is <root, x - c>, which is 0 if the root
 * is the origin; other metrics ignore it.  Every metric other than HY_METRIC_IP is treated as L2.
 * A residual of 0 gets factors of 0 (add is -along for the inner product) and therefore an exact
 * estimate.
 */
extern void hy_code_encode(HyMetric metric, const float *residual, const float *centroid,
                           int padded, double along, uint8_t *bits, HyCode *code);

/* hy_code_put: write row i, 0 .. HY_CODE_ROWS - 1, of a block.  The other rows do not change. */
extern void hy_code_put(uint8_t *block, HyCodeFactors *factors, int padded, int i,
                        const uint8_t *bits, const HyCode *code);

/* hy_code_get: read row i of a block. */
extern void hy_code_get(const uint8_t *block, const HyCodeFactors *factors, int padded, int i,
                        uint8_t *bits, HyCode *code);

/*
 * HyCodeQuery: a query prepared for all lists.  <s,q'> is about scale * (sum of entries) + offset.
 */
typedef struct HyCodeQuery
{
	int padded;
	float scale;
	float offset;
	float slack;           /* standard deviation of the error in <s,q'> from rounding the tables */
	const uint8_t *tables; /* owned by the caller */
	/*
	 * Scale, offset and slack for the first early_count tables.  early_count is a multiple of 16.
	 * It is 0, and there is no early bound, if there are too few tables or the query is 0 or not
	 * finite.
	 */
	int early_count;
	float early_scale;
	float early_offset;
	float early_slack;
} HyCodeQuery;

/*
 * hy_code_query_init: prepare a query from q' = P(q - root).  tables has hy_code_tables_size bytes
 * and must live as long as the query.  A query that is not finite gets bounds that exclude nothing.
 */
extern void
hy_code_query_init(HyCodeQuery *query, const float *rotated, int padded, uint8_t *tables);

/* HyCodeLimits: values of one query and list that the bounds depend on. */
typedef struct HyCodeLimits
{
	float base;      /* |q - c|^2, or -<q,c> */
	float reach;     /* |q - c| */
	float eps;       /* standard deviations to allow for: 1.9 .. 4 */
	float threshold; /* a distance, in the unit of the estimates */
	float early;     /* standard deviations for the early bound; 0 disables the early decision */
} HyCodeLimits;

/* HyCodeBlocks: `count` blocks of one list. */
typedef struct HyCodeBlocks
{
	const uint8_t *codes;
	size_t code_stride; /* bytes from one block's codes to the next */
	const HyCodeFactors *factors;
	size_t factor_stride; /* bytes from one block's factors to the next, a multiple of 4 */
	int count;
	/*
	 * Codes that will be scored next, in the same layout, or NULL.  They are prefetched during
	 * scoring.
	 */
	const uint8_t *next;
} HyCodeBlocks;

/* HyCodeBounds: input of a level's `bounds` kernel. */
typedef struct HyCodeBounds
{
	float scale;
	float offset;
	float base;
	float slack;  /* e sin t slack */
	float margin; /* e cos t |q - c| */
	float threshold;
} HyCodeBounds;

/*
 * HyCodeEarly: the bounds from the first `count` tables.  count is a multiple of 16, or the number
 * of all tables.  If it is the number of all tables, no early decision is made.
 */
typedef struct HyCodeEarly
{
	int count;
	HyCodeBounds bounds;
} HyCodeEarly;

/* HyCodeScorer: state for scoring one list against one query. */
typedef struct HyCodeScorer
{
	const struct HyCodeKernels *kernels;
	const uint8_t *tables;
	int count; /* number of tables */
	HyCodeBounds bounds;
	HyCodeEarly early;
} HyCodeScorer;

/*
 * hy_code_score: compute estimate[i] and lower[i] of all rows, HY_CODE_ROWS per block.  Bit i of
 * masks[block] is set unless lower > threshold, so a row whose bound is NaN is never lost.  Unused
 * rows of a block are scored like the others; the caller must ignore them.  A block that is
 * abandoned early gets mask 0.  Its estimates and lower bounds come from the first tables only.
 */
extern void
hy_code_score(const HyCodeQuery *query, const HyCodeBlocks *blocks, const HyCodeLimits *limits,
              float *estimate, float *lower, uint32_t *masks);

/* hy_code_scorer_init: prepare hy_code_score for many calls with the same query, limits and level. */
extern void
hy_code_scorer_init(HyCodeScorer *scorer, const HyCodeQuery *query, const HyCodeLimits *limits);

/* hy_code_scorer_run: score as hy_code_score does, with a prepared HyCodeScorer. */
extern void hy_code_scorer_run(const HyCodeScorer *scorer, const HyCodeBlocks *blocks,
                               float *estimate, float *lower, uint32_t *masks);

/*
 * hy_code_sums, hy_code_bounds: compute the two halves of hy_code_score without its early decision,
 * for codes that are not contiguous.  hy_code_sums adds the entries of `count` tables, starting at
 * `first`, to sums[0 .. 31].  Both numbers are multiples of 16, and `codes` holds the codes for
 * these tables only.  hy_code_bounds computes the estimates and bounds from the sums, and returns
 * the mask.
 */
extern void
hy_code_sums(const HyCodeQuery *query, const uint8_t *codes, int first, int count, uint32_t *sums);
extern uint32_t
hy_code_bounds(const HyCodeQuery *query, const uint32_t *sums, const HyCodeFactors *factors,
               const HyCodeLimits *limits, float *estimate, float *lower);

#define HY_CODE_LANES 8

/* HyCodeSums: partial sums in fp64, where the product of two floats is exact. */
typedef struct HyCodeSums
{
	double squares[HY_CODE_LANES];    /* partial sums of |r|^2 */
	double magnitudes[HY_CODE_LANES]; /* partial sums of 2 <r,s> */
	double signeds[HY_CODE_LANES];    /* partial sums of 2 <c',s> */
	double products[HY_CODE_LANES];   /* partial sums of <r,c'> */
} HyCodeSums;

typedef struct HyCodeKernels
{
	HySimd level;

	/*
	 * Adds the entries of row i in `count` tables to sums[i].  count is a multiple of 16.
	 * Prefetches as many bytes from next as it reads from codes.
	 */
	void (*sums)(const uint8_t *tables, const uint8_t *codes, const uint8_t *next, int count,
	             uint32_t *sums);

	/*
	 * estimate = (add + base) + rescale * (scale * sum + offset), lower = (estimate + rescale *
	 * slack) - error * margin.  Each operation is rounded to fp32.
	 */
	uint32_t (*bounds)(const HyCodeBounds *bounds, const uint32_t *sums,
	                   const HyCodeFactors *factors, float *estimate, float *lower);

	/*
	 * Runs sums and bounds for a whole block.  The scorer has at most HY_CODE_CHUNK tables.  Stops
	 * after the early tables if they give mask 0.
	 */
	uint32_t (*score)(const HyCodeScorer *scorer, const uint8_t *codes, const uint8_t *next,
	                  const HyCodeFactors *factors, float *estimate, float *lower);

	/*
	 * Returns the maximum of (|q0| + |q1|) + (|q2| + |q3|) over `count` groups of four dimensions.
	 * count is a multiple of 16.  Values are compared as bits, so infinity ranks above all numbers
	 * and NaN ranks above infinity.
	 */
	float (*widest)(const float *q, int count);

	/*
	 * Builds the tables of `count` groups of four dimensions.  count is a multiple of 16.  Entry c
	 * of a table is the sum of |q[i]| over each i for which bit i of c equals the sign of q[i] (1
	 * if not negative).  The additions have the same order as in `widest`.  The sum is multiplied
	 * by inverse, increased by 0.5, and truncated.  Adds the squared rounding error to losses[c],
	 * table by table.  Returns the sum of all entries.  The caller chooses inverse so that no
	 * product exceeds 127.5.
	 */
	uint32_t (*tables)(const float *q, int count, float inverse, uint8_t *tables, float losses[16]);

	/*
	 * Computes the bits of a row, and the sums for its factors.  Each sum has eight lanes (element
	 * i in lane i mod 8).
	 */
	void (*encode)(const float *residual, const float *centroid, int padded, uint8_t *bits,
	               HyCodeSums *sums);
} HyCodeKernels;

/* hy_code_kernels: return the kernels for the level that hy_kernels uses. */
extern const HyCodeKernels *hy_code_kernels(void);

/*
 * hy_code_kernels_at: return the kernels for one level, or NULL when the level is not available
 * here.
 */
extern const HyCodeKernels *hy_code_kernels_at(HySimd level);

#endif
