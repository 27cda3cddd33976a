/*
 * sizes.h
 *		Keeps the observed times of the size classes of one kind of task on one device.
 *
 * Real hardware does not follow the form of the regression (cost_model.h): caches have limits, and
 * the last wave of a device is half empty.  So the mean time of every observed size class is kept.
 * The ratio of this mean to the regression's prediction corrects predictions for the class and, to
 * a smaller degree, for nearby sizes.
 *
 * A size class is the power of two that the work falls into, together with the approximate number
 * of queries and neighbors, on which transfers and merging depend.  Since the regression is linear,
 * its prediction for the mean terms equals the mean of its predictions.  So the ratio can be
 * computed with the current coefficients, even if they have changed since the observations.
 *
 * The structures are plain data of fixed size.  All bytes are zero in the empty state.  A new class
 * replaces the least recently used class.
 */
#ifndef HY_SIZES_H
#define HY_SIZES_H

#include "dispatch/model/cost_model.h"

#define HY_SIZES 32

typedef struct HySize
{
	uint32_t number; /* hy_shape_size; 0: free */
	uint64_t last;   /* value of now at the last hy_sizes_claim */
	double samples;  /* observations in the window */
	double ns;       /* means over these observations */
	HyCostTerms means;
} HySize;

typedef struct HySizes
{
	HySize size[HY_SIZES];
} HySizes;

/*
 * hy_sizes_find: return the class with a number from hy_shape_size, or NULL if no task had this
 * size.
 */
extern const HySize *hy_sizes_find(const HySizes *sizes, uint32_t number);

/*
 * hy_sizes_claim: return the class with this number.  A new class replaces the least recently
 * claimed one.  `now` must grow from call to call.
 */
extern HySize *hy_sizes_claim(HySizes *sizes, uint32_t number, uint64_t now);

/*
 * hy_size_observe: add count tasks of the class that took ns each; the means follow the last window
 * tasks.
 */
extern void
hy_size_observe(HySize *size, HyCostTerms terms, double ns, int32_t count, int32_t window);

/*
 * hy_sizes_correction: return the factor by which the time of a task of this class differs from the
 * fit, or 1 when nothing is known.  The factor comes from the task's own class, and from the next
 * smaller and next larger classes with about as many queries and neighbors.  The own class weighs
 * as much as its number of observations, the other two together as much as half an observation.
 * Beyond the observed sizes, the correction of the outermost class fades: its logarithm is halved
 * after seven doublings.
 */
extern double hy_sizes_correction(const HySizes *sizes, const HyCoefficients *fit, uint32_t number);

#endif
