/*
 * tail.h
 *		Fits the upper tail of a distribution to a sample, and estimates how many values of many
 *		groups are beyond a limit.
 *
 * The method is peaks over a threshold.  For many distributions, the excess of a sample over a
 * threshold is close to an exponential distribution (J. Pickands, "Statistical inference using
 * extreme order statistics", 1975; shape 0 of the generalized Pareto distribution).  Let b be a
 * threshold, s the share of the sample above b, and m the mean excess over b.  Then
 *
 *		P(u > a) = min(1, s exp((b - a) / m)) = min(1, exp((top - a) / m)),		top = b + m log(s)
 *
 * There are two thresholds, HY_TAIL_BEGIN and HY_TAIL_FAR standard deviations above the mean, and
 * the greater probability counts.  With only the first threshold, a few values far above all others
 * would have almost no weight among the many values just above the threshold.  A value that
 * occurs once in 200 numbers would then be expected only once in a million.
 */
#ifndef HY_TAIL_H
#define HY_TAIL_H

#define HY_TAIL_BEGIN 1.2f
#define HY_TAIL_FAR 3.0f
#define HY_TAIL_PRIOR 8
#define HY_TAIL_LANES 32

/*
 * HyTail: P(u > a) = min(1, exp(max((top - a) * steepness, min(far_log, (far_top - a) * far_steepness)))).  Both
 * steepnesses are above 0 and finite.
 */
typedef struct HyTail
{
	float top;
	float steepness;
	float far_top;
	float far_steepness;
	float far_log; /* logarithm of the share beyond the far threshold: limit of the far term */
} HyTail;

/*
 * hy_tail_fit: fit the tail of a distribution to a sample of `count` numbers.  Each number also
 * contains an error of mean 0 and variance `noise`.  The fit removes this error by shrinking the
 * deviations from the mean: the more noise, the more it shrinks them.  `prior` is the variance
 * expected without any sample, for a normal distribution with mean 0; it has the weight of
 * HY_TAIL_PRIOR numbers.  Numbers must be finite.
 */
extern void hy_tail_fit(HyTail *tail, const float *sample, int count, float noise, float prior);

/* HyTailGroups: groups of values.  `count` is a multiple of HY_TAIL_LANES. */
typedef struct HyTailGroups
{
	const float *middle;  /* infinite: unused group */
	const float *inverse; /* 1 / width */
	const float *doubt;   /* standard deviation of the error of middle, in widths */
	const float *size;    /* number of values */
	int count;
} HyTailGroups;

/*
 * hy_tail_beyond: return the expected number of values below `limit`, where a value is middle - u *
 * width.  A value is below the limit if u > a = (middle - limit) / width.  The uncertainty `doubt`
 * increases exp(-a / m) on average, by a factor of exp(doubt^2 / 2 m^2).  The estimate divides by
 * this factor, but at most by the factor for doubt = m.  keys[i] is a minus doubt, and infinite for
 * an unused group.  A group with a small key may have many values below the limit.  The sum is kept
 * in HY_TAIL_LANES lanes, which are then added in order, with the same bits on every machine.
 */
extern double
hy_tail_beyond(const HyTail *tail, const HyTailGroups *groups, float limit, float *keys);

/* hy_tail_at: return P(u > a), with a relative error below 1e-4. */
extern float hy_tail_at(const HyTail *tail, float a);

#endif
