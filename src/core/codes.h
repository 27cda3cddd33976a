/*
 * codes.h
 *		One bit a dimension: distances estimated without bias, and bounded, from codes.
 *
 * RaBitQ (J. Gao and C. Long, arXiv 2405.12497; with more bits arXiv 2409.09913).  A row x belongs to
 * a list with centroid c.  All vectors are taken relative to one root, fixed for an index, and rotated
 * (rotation.h): r = P(x - c), c' = P(c - root), q' = P(q - root), each of D padded dimensions.  The
 * code of x is b, the signs of r (1: not negative); s = b - 1/2 points where r points, more or less,
 * and <r,y> is estimated, for any y, by |r|^2 <s,y> / <s,r>.  Since P is random, the error of that is
 * as good as normal, with mean 0 and a deviation of at most
 *
 *		|r| |y| sqrt((|r|^2 |s|^2 / <r,s>^2 - 1) / (D - 1)),		|s|^2 = D / 4
 *
 * (r is P(x - root) - c' as well: one rotation of a row serves every list.)
 *
 * With y = q' - c' the squared distance and the negative inner product are
 *
 *		|x - q|^2 = |r|^2 + |q - c|^2 - 2 <r,y>
 *		-<q,x>    = -<q,c> - <root, x - c> - <r,c'> - <r,y>
 *
 * and what belongs to the row is kept in three factors, so that for every query and list
 *
 *		estimate = (add + base) + rescale * <s,q'>			base = |q - c|^2 or -<q,c>
 *		lower = estimate - e * error * |q - c|				before tables, see below
 *
 * e is how many deviations the caller wants; none of it is stored.  Cosine: normalise first; half the
 * squared distance is the cosine distance.
 *
 * FastScan (F. Andre, A.-M. Kermarrec, N. Le Scouarnec, "Cache locality is not enough" and "Quick(er)
 * ADC", 2015 to 2019): the query's part <s,q'> is summed from tables of 16 entries, one for each four
 * dimensions, in bytes, looked up for 32 rows at once.  A block is what 32 rows have for table 0, 16
 * bytes, then for table 1, and so on: row i in the lower half of byte i, row i + 16 in the upper.
 *
 * Entries have seven bits, so that two of them are added as bytes: a fifth less work than with eight,
 * for a loss that hardly shows.  Each is rounded by at most half a unit (`scale`).  Over the tables
 * these errors add up like independent ones, for codes that know nothing of the query: their mean is
 * taken out (the offset makes the mean over all codes exact) and their deviation is measured while
 * the tables are made (`slack`, of <s,q'>).  It adds to that of the code in squares, and
 *
 *		sqrt(a^2 + b^2) = a cos t + b sin t			tan t = b / a
 *
 * where a = error * |q - c| and b = -rescale * slack.  After a random rotation b / a is nearly the same
 * for all rows, 3.3 slack / |q - c| (as for r of a normal law), so t is taken from that, once for a
 * list, and what this errs by is of second order:
 *
 *		lower = estimate - e (cos t error |q - c| - sin t rescale slack)
 *
 * Where q' is as long as q' - c', b is 2 or 3% of a, and lost in the square; in a tight list far from
 * the root it grows by |q - root| / |q - c|.
 *
 * Most blocks have no row that is near, and a third of their tables says so.  P is random, so what the first F of T
 * tables sum, times f = T / F, is <s,q'> with an error of mean 0: f - 1 times the one part of it less the
 * other, whose entries are as good as random signs, so that the square of its deviation is
 *
 *		((f - 1)^2 |q'_first|^2 + |q'_rest|^2) / 4
 *
 * It adds to slack^2, and the bound by these tables alone (`early`) is made like the other.  (ADSampling, J. Gao
 * and C. Long, arXiv 2303.09855, does so with the dimensions of vectors.)
 *
 * Integer sums are exact, and the fp32 operations after them are a fixed sequence without fused ones:
 * estimates, bounds and masks are the same bits on every instruction set, and on a device that keeps
 * to hy_code_bounds below.  Nothing here needs any alignment beyond that of a float.
 */
#ifndef HY_CODES_H
#define HY_CODES_H

#include <stddef.h>
#include <stdint.h>

#include "core/batch.h"
#include "core/cpu_features.h"

#define HY_CODE_ROWS 32

/*
 * b / a, see above, for slack = |q - c|: 2 sqrt(g / (g - 1)), g = |r|^2 |s|^2 / <r,s>^2, which is pi / 2
 * for a residual of a normal law.
 */
#define HY_CODE_TYPICAL_RATIO 3.3178

/* HyCode: the factors of one row. */
typedef struct HyCode
{
	float add;
	float rescale; /* never above 0 */
	float error;   /* never below 0; infinite where the rest cannot be had in fp32 */
} HyCode;

/* HyCodeFactors: those of a block. */
typedef struct HyCodeFactors
{
	float add[HY_CODE_ROWS];
	float rescale[HY_CODE_ROWS];
	float error[HY_CODE_ROWS];
} HyCodeFactors;

/* hy_code_bits_size: bytes of the bits of one row; dimension i is bit i % 8 of byte i / 8. */
static inline size_t
hy_code_bits_size(int padded)
{
	return (size_t) padded / 8;
}

/* hy_code_block_size: bytes of a block, its factors aside; and of the tables of a query. */
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
 * hy_code_encode: bits and factors of the row with that residual r = P(x - c), in the list with that
 * centroid c' = P(c - root), both of `padded` dimensions, a multiple of HY_ROTATION_STEP.  For
 * HY_METRIC_IP `along` is <root, x - c>, 0 where the root is the origin; otherwise it is not used.
 * Other metrics than HY_METRIC_IP are L2.  A residual of 0 has the factors 0 (-along for the inner
 * product), and so an exact estimate.
 */
extern void hy_code_encode(HyMetric metric, const float *residual, const float *centroid,
                           int padded, double along, uint8_t *bits, HyCode *code);

/* hy_code_put: writes row i, 0 .. HY_CODE_ROWS - 1, of a block; the other rows stay as they are. */
extern void hy_code_put(uint8_t *block, HyCodeFactors *factors, int padded, int i,
                        const uint8_t *bits, const HyCode *code);

/* hy_code_get: reads row i of a block. */
extern void hy_code_get(const uint8_t *block, const HyCodeFactors *factors, int padded, int i,
                        uint8_t *bits, HyCode *code);

/* HyCodeQuery: a query made ready for all lists.  <s,q'> is about scale * sum of entries + offset. */
typedef struct HyCodeQuery
{
	int padded;
	float scale;
	float offset;
	float slack;           /* deviation of what the rounding of the tables does to <s,q'> */
	const uint8_t *tables; /* the caller's */
	/* the same by the first of the tables, a multiple of 16; 0: there are too few to tell by some */
	int early_count;
	float early_scale;
	float early_offset;
	float early_slack;
} HyCodeQuery;

/*
 * hy_code_query_init: from q' = P(q - root).  tables: hy_code_tables_size bytes, which must live as
 * long as the query.  A query that is not finite gets bounds that exclude nothing.
 */
extern void
hy_code_query_init(HyCodeQuery *query, const float *rotated, int padded, uint8_t *tables);

/* HyCodeLimits: what the bounds of a list need to know of query and list. */
typedef struct HyCodeLimits
{
	float base;      /* |q - c|^2, or -<q,c> */
	float reach;     /* |q - c| */
	float eps;       /* deviations to allow for: 1.9 .. 4 */
	float threshold; /* in the unit of the estimates */
	float early; /* deviations to allow for by the first tables; 0: nothing is decided by them */
} HyCodeLimits;

/* HyCodeBlocks: `count` blocks of one list. */
typedef struct HyCodeBlocks
{
	const uint8_t *codes;
	size_t code_stride; /* bytes from one block's codes to the next */
	const HyCodeFactors *factors;
	size_t factor_stride; /* bytes, a multiple of 4 */
	int count;
	/* the codes of what is scored next, laid likewise, to be fetched meanwhile; or NULL */
	const uint8_t *next;
} HyCodeBlocks;

/* HyCodeBounds: the numbers that a level's `bounds` works with. */
typedef struct HyCodeBounds
{
	float scale;
	float offset;
	float base;
	float slack;  /* e sin t slack */
	float margin; /* e cos t |q - c| */
	float threshold;
} HyCodeBounds;

/* HyCodeEarly: the bounds by the first `count` tables, a multiple of 16; all: by none before the others. */
typedef struct HyCodeEarly
{
	int count;
	HyCodeBounds bounds;
} HyCodeEarly;

/* HyCodeMeeting: a query and a list. */
typedef struct HyCodeMeeting
{
	const struct HyCodeKernels *kernels;
	const uint8_t *tables;
	int count; /* of them */
	HyCodeBounds bounds;
	HyCodeEarly early;
} HyCodeMeeting;

/*
 * hy_code_score: estimate[i] and lower[i] of all rows, HY_CODE_ROWS a block, and in masks[block] bit i
 * where not lower > threshold, so that what is not a number is never lost.  Rows that a block does
 * not have are scored like the others: the caller knows which are there.  A block that is given up early has the
 * mask 0, and estimate and lower by the first tables.
 */
extern void
hy_code_score(const HyCodeQuery *query, const HyCodeBlocks *blocks, const HyCodeLimits *limits,
              float *estimate, float *lower, uint32_t *masks);

/* hy_code_meet: what hy_code_score needs, for many calls with the same query, limits and level. */
extern void
hy_code_meet(HyCodeMeeting *meeting, const HyCodeQuery *query, const HyCodeLimits *limits);

/* hy_code_score_met: hy_code_score by that. */
extern void hy_code_score_met(const HyCodeMeeting *meeting, const HyCodeBlocks *blocks,
                              float *estimate, float *lower, uint32_t *masks);

/*
 * The two halves of hy_code_score, for codes that do not lie in one piece.  hy_code_sums adds to
 * sums[0 .. 31] the entries of `count` tables from `first` on, both multiples of 16, by the codes of
 * just these tables.  hy_code_bounds makes the rest of it and returns the mask.
 */
extern void
hy_code_sums(const HyCodeQuery *query, const uint8_t *codes, int first, int count, uint32_t *sums);
extern uint32_t
hy_code_bounds(const HyCodeQuery *query, const uint32_t *sums, const HyCodeFactors *factors,
               const HyCodeLimits *limits, float *estimate, float *lower);

#define HY_CODE_LANES 8

/* HyCodeSums: in fp64, where a product of two floats is exact. */
typedef struct HyCodeSums
{
	double squares[HY_CODE_LANES];    /* of |r|^2 */
	double magnitudes[HY_CODE_LANES]; /* of 2 <r,s> */
	double signeds[HY_CODE_LANES];    /* of 2 <c',s> */
	double products[HY_CODE_LANES];   /* of <r,c'> */
} HyCodeSums;

typedef struct HyCodeKernels
{
	HySimd level;

	/* sums[i] += the entries of row i in `count` tables, a multiple of 16; fetches as much from next */
	void (*sums)(const uint8_t *tables, const uint8_t *codes, const uint8_t *next, int count,
	             uint32_t *sums);

	/*
	 * estimate = (add + base) + rescale * (scale * sum + offset), lower = (estimate + rescale * slack)
	 * - error * margin; each operation rounded to fp32
	 */
	uint32_t (*bounds)(const HyCodeBounds *bounds, const uint32_t *sums,
	                   const HyCodeFactors *factors, float *estimate, float *lower);

	/*
	 * both at once, of a whole block with at most HY_CODE_CHUNK tables; by the first tables alone, if these
	 * give the mask 0
	 */
	uint32_t (*score)(const uint8_t *tables, const uint8_t *codes, const uint8_t *next, int count,
	                  const HyCodeBounds *bounds, const HyCodeEarly *early,
	                  const HyCodeFactors *factors, float *estimate, float *lower);

	/*
	 * the most of (|q0| + |q1|) + (|q2| + |q3|) over `count` times four dimensions, a multiple of 16:
	 * as bits, so that an infinity is above all numbers, and what is not a number above that
	 */
	float (*widest)(const float *q, int count);

	/*
	 * tables of `count` times four dimensions, a multiple of 16: entry c of a table is the sum of
	 * those |q[i]| where bit i of c is the sign's of q[i] (1: not negative), in the order of
	 * widest, times inverse, plus 0.5, cut.  losses[c] += the square of what was cut or added, table
	 * by table.  Returns the sum of all entries.  No product is above 127.5.
	 */
	uint32_t (*tables)(const float *q, int count, float inverse, uint8_t *tables, float losses[16]);

	/* bits and, in eight lanes each (element i in lane i mod 8), the sums of a row */
	void (*encode)(const float *residual, const float *centroid, int padded, uint8_t *bits,
	               HyCodeSums *sums);
} HyCodeKernels;

/* hy_code_kernels: those of the level that hy_kernels uses. */
extern const HyCodeKernels *hy_code_kernels(void);

/* hy_code_kernels_at: those of one level, NULL when it is not available here. */
extern const HyCodeKernels *hy_code_kernels_at(HySimd level);

#endif
