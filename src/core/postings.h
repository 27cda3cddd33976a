/*
 * postings.h
 *		Inverted lists of sparse vectors: sums over the elements that rows share with a query, and bounds of
 *		distances.
 *
 * A posting is an element of a row: the row's number, and the value. The list of a dimension has the postings of all
 * rows with an element in this dimension. Let q be the query and v a row. For each metric, the distance follows from
 * one number of the row (its measure), and from a sum over the dimensions in which both have an element:
 *
 *		inner product	-sum of q v
 *		L2				square root of |q|^2 + |v|^2 - 2 * (sum of q v)
 *		cosine			1 - (sum of q v) / (|q| |v|)
 *		L1				|q| + |v| + sum of (|q - v| - |q| - |v|), with the taxicab lengths |q| and |v|
 *
 * So one pass over the lists of the query's dimensions estimates the distance of every row (Zobel and Moffat,
 * "Inverted files for text search engines", 2006: term-at-a-time evaluation with accumulators). Values are rounded to
 * 16 bits, and sums to fp32. The errors of both are bounded, and so is the error of the SQL operator's own sum. The
 * bounds of a distance therefore hold for every row, and searches that use them find exactly the nearest rows.
 */
#ifndef HY_POSTINGS_H
#define HY_POSTINGS_H

#include <stdint.h>

#include "core/sparse.h"

/* number of rows that share inverted lists; the row numbers in postings are below it */
#define HY_POSTING_ROWS 65536

/*
 * hy_postings_round: round finite values to multiples of *step. Each multiple is from -32,767 to 32,767. *loss is
 * set to the greatest error.
 */
extern void
hy_postings_round(const float *values, int count, int16_t *multiples, float *step, float *loss);

/*
 * hy_postings_clear: set HY_POSTING_ROWS sums to -0. A sum that is still -0 at the end shows that
 * its row got no term.
 */
extern void hy_postings_clear(float *sums);

/*
 * hy_postings_add: add the terms of postings in one dimension to the sums of their rows. `element` is the query's
 * value. sums has HY_POSTING_ROWS numbers.
 */
extern void hy_postings_add(HyMetric metric, float element, float step, const uint16_t *rows,
                            const int16_t *multiples, int count, float *sums);

/*
 * hy_postings_measure: return the measure of a row: for L2 its squared length, for cosine its
 * length, for L1 its taxicab length, for the inner product 0. The measure may be infinite.
 */
extern float hy_postings_measure(HyMetric metric, const HySparse *row);

/* HyPostingsBounds: bounds of the errors of one query's estimates. */
typedef struct HyPostingsBounds
{
	HyMetric metric;
	double measure; /* measure of the query */
	int dims;       /* number of dimensions whose postings were added */
	double loss;    /* bound of the error caused by rounding the values */
	double terms;   /* bound of the sum of the magnitudes of a row's terms */
} HyPostingsBounds;

/* hy_postings_begin: prepare the bounds for a query, before any postings are added. */
extern void hy_postings_begin(HyPostingsBounds *bounds, HyMetric metric, const HySparse *query);

/*
 * hy_postings_dimension: account for the postings added in one dimension. `step` and `loss` are the
 * greatest values for any of these postings.
 */
extern void hy_postings_dimension(HyPostingsBounds *bounds, float element, float step, float loss);

/*
 * hy_postings_bound: compute bounds of the distance between the query and a row with this sum and
 * measure, as the operator computes it. If nothing is known, in particular if the distance may be
 * NaN, the bounds are infinite. If the row has no dimension of the query, its two bounds are equal
 * for the inner product and cosine. So such rows are known to be ties.
 */
extern void hy_postings_bound(const HyPostingsBounds *bounds, float sum, float measure,
                              double *lower, double *upper);

/*
 * HyPostingsTest: a test that excludes most rows at little cost. The distance of a row with sum s
 * and measure m exceeds the limit if sign * s < least + slope * m.
 */
typedef struct HyPostingsTest
{
	double limit;
	double sign;
	double least;
	double slope;
	float shortest; /* only rows whose measures lie between these two can be excluded */
	float longest;
} HyPostingsTest;

/* hy_postings_test_init: prepare a test of whether a row's lower bound exceeds `limit`. */
extern void
hy_postings_test_init(HyPostingsTest *test, const HyPostingsBounds *bounds, double limit);

/* hy_postings_near: test 32 rows, and return the mask of the rows that are not excluded. */
extern uint32_t
hy_postings_near(const HyPostingsTest *test, const float *sums, const float *measures);

#endif
