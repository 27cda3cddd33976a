/*
 * tail.h
 *		The upper tail of a distribution from a sample of it, and how many values of many groups lie beyond a limit.
 *
 * Peaks over a threshold: what a sample has above a threshold, less the threshold, is close to an exponential
 * distribution for many parents (J. Pickands, "Statistical inference using extreme order statistics", 1975; shape 0
 * of the generalised Pareto distribution).  So with a threshold b, the share s of the sample above it and its mean
 * excess m,
 *
 *		P(u > a) = min(1, s exp((b - a) / m)) = min(1, exp((top - a) / m)),		top = b + m log(s)
 *
 * The threshold lies HY_TAIL_BEGIN standard deviations above the mean.
 */
#ifndef HY_TAIL_H
#define HY_TAIL_H

#define HY_TAIL_BEGIN 1.2f
#define HY_TAIL_PRIOR 8
#define HY_TAIL_LANES 32

/* HyTail: P(u > a) = min(1, exp((top - a) * steepness)). */
typedef struct HyTail
{
	float top;
	float steepness; /* above 0, finite */
} HyTail;

/*
 * hy_tail_fit: the tail of what `count` numbers are a sample of.  Each of them has, besides, an error of mean 0 and
 * variance `noise`, which is taken out: deviations from the mean shrink by as much as they are noise.  `prior` is the
 * variance that is expected without any sample, of a normal distribution with mean 0; it counts as much as HY_TAIL_PRIOR
 * numbers do.  Numbers must be finite.
 */
extern void hy_tail_fit(HyTail *tail, const float *sample, int count, float noise, float prior);

/* HyTailGroups: groups of values; `count` is a multiple of HY_TAIL_LANES. */
typedef struct HyTailGroups
{
	const float *middle;  /* infinite: this group is not there */
	const float *inverse; /* 1 / width */
	const float *doubt;   /* standard deviation of the error of the middle, in widths */
	const float *size;    /* values */
	int count;
} HyTailGroups;

/*
 * hy_tail_beyond: how many values are expected below `limit`, where a value is
 * middle - u * width.  So it is below the limit if u > a = (middle - limit) / width.  Doubt makes exp(-a / m) greater on
 * average, by exp(doubt^2 / 2 m^2), which is taken out up to that of doubt = m.  keys[i] is a, less doubt: the lower, the more such values a group
 * may have; infinite for a group that is not there.  The sum is in HY_TAIL_LANES lanes, then these in order, with the same
 * bits on every machine.
 */
extern double
hy_tail_beyond(const HyTail *tail, const HyTailGroups *groups, float limit, float *keys);

/* hy_tail_at: P(u > a); relative error below 1e-4. */
extern float hy_tail_at(const HyTail *tail, float a);

#endif
