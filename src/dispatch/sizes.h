/*
 * sizes.h
 *		The times seen for the size classes of one kind of task on one device.
 *
 * Real hardware does not follow the form of the regression (cost_model.h): caches have limits, and
 * the last wave of a device is half empty.  So the mean time of every size class seen is kept.  Its
 * ratio to the regression's prediction for the class corrects predictions there and, fading, at
 * sizes around it.
 *
 * A size class is the power of two that the work falls into, together with the approximate number
 * of queries and neighbors, on which transfers and merging depend.  Since the regression is linear,
 * its prediction for the mean terms equals the mean of its predictions.  So the ratio corrects it
 * whatever coefficients are in force by then.
 *
 * Plain data of fixed size; all zero is the empty state.  A new class replaces the least recently
 * used.
 */
#ifndef HY_SIZES_H
#define HY_SIZES_H

#include "dispatch/cost_model.h"

#define HY_SIZES 32

typedef struct HySize
{
	uint32_t number; /* 0: free */
	uint32_t manner; /* approximate number of queries and neighbors */
	uint64_t last;   /* when it was last claimed */
	double samples;  /* observations in the window */
	double ns;       /* means over these observations */
	HyCostTerms means;
} HySize;

typedef struct HySizes
{
	HySize size[HY_SIZES];
} HySizes;

/* hy_sizes_find: the class of a shape of this much work; NULL: not seen. */
extern const HySize *hy_sizes_find(const HySizes *sizes, const HyShape *shape, double work);

/* hy_sizes_claim: the same, created if necessary; now must grow from call to call. */
extern HySize *hy_sizes_claim(HySizes *sizes, const HyShape *shape, double work, uint64_t now);

/*
 * hy_size_observe: add count tasks of the class that took ns each; the means follow the last window
 * tasks.
 */
extern void
hy_size_observe(HySize *size, HyCostTerms terms, double ns, int32_t count, int32_t window);

/*
 * hy_sizes_correction: factor by which the time of a shape of this much work differs from the fit.
 * It is derived from its own class, and from the nearest classes below and above with about as many
 * queries and neighbors.  The weight of its own class is the number of its observations.  The
 * nearest classes together weigh half an observation.  Beyond the sizes seen, the last one's
 * correction fades, to half (as a logarithm) after seven doublings.  1 when nothing is known.
 */
extern double hy_sizes_correction(const HySizes *sizes, const HyCoefficients *fit,
                                  const HyShape *shape, double work);

/* hy_log2_floor: floor of log2 n for n >= 1, 0 for smaller n; at most 63. */
extern int hy_log2_floor(double n);

#endif
