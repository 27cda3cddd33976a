/*
 * taxicab.h
 *		The Euclidean distance of rows that are at a given taxicab distance.
 *
 * Let a be the taxicab and e the Euclidean distance of two vectors with d dimensions. Then
 *
 *		e <= a <= sqrt(d) e
 *
 * In many dimensions the ratio a / e is nearly the same for all rows near a query, whatever its
 * value. So a search computes log(a / e) for the rows whose vectors it reads, and fits a linear
 * function of log(a) to these values. This function predicts e from a, and the same rows show the
 * error of the prediction. (For rows of zeros and ones, a = e^2, so the slope is 1/2. For normally
 * distributed differences, the slope is about 0 and the standard deviation is 0.27 / sqrt(d).)
 */
#ifndef HY_TAXICAB_H
#define HY_TAXICAB_H

/*
 * HyTaxicab: sums over the rows that were added. x is log(a), and y is log(a / e), both relative to
 * the first row that differs from the query.
 */
typedef struct HyTaxicab
{
	int dims;
	int rows;     /* number of rows that were added */
	int distinct; /* number of these rows that differ from the query */
	double first_x;
	double first_y;
	double x;
	double y;
	double xx;
	double xy;
	double yy;
} HyTaxicab;

/* hy_taxicab_clear: forget all rows. */
extern void hy_taxicab_clear(HyTaxicab *taxicab, int dims);

/* hy_taxicab_add: add a row with these taxicab and squared Euclidean distances. */
extern void hy_taxicab_add(HyTaxicab *taxicab, double distance, double square);

/* hy_taxicab_known: test whether enough rows were added for a prediction. */
extern int hy_taxicab_known(const HyTaxicab *taxicab);

/*
 * hy_taxicab_square: predict the squared Euclidean distance of a row at this taxicab distance, plus
 * this number of standard deviations of the prediction's error. The result stays within the bounds
 * that hold for all vectors. If no added row differs from the query, the result is the upper bound.
 */
extern double hy_taxicab_square(const HyTaxicab *taxicab, double distance, double deviations);

#endif
