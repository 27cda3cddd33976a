/*
 * sizes.h
 *		What the size classes of one kind of task on one device were seen to take.
 *
 * The law of real hardware is not of the regression's form (cost_model.h): caches end, the last wave
 * of a device is half empty.  So the mean time of every size class seen is kept, and what it is
 * against what the regression says of the class corrects predictions there and, fading, around it.
 *
 * A size class is the power of two that the work falls into, and roughly how many queries and
 * neighbours there are, on which transfers and merging depend.  The regression is linear, so what
 * it says of the means is the mean of what it says: their quotient corrects it whatever coefficients
 * are in force by then.
 *
 * Plain data of fixed size, all zero knows nothing; the least recently used class gives way.
 */
#ifndef HY_SIZES_H
#define HY_SIZES_H

#include "dispatch/cost_model.h"

#define HY_SIZES 32

typedef struct HySize
{
	uint32_t number; /* 0: free */
	uint32_t manner; /* how many queries and neighbours, roughly */
	uint64_t last;   /* when it was last claimed */
	double samples;  /* in the window */
	double ns;       /* means over them */
	HyCostTerms means;
} HySize;

typedef struct HySizes
{
	HySize size[HY_SIZES];
} HySizes;

/* hy_sizes_find: the class of a shape of so much work; NULL: not seen. */
extern const HySize *hy_sizes_find(const HySizes *sizes, const HyShape *shape, double work);

/* hy_sizes_claim: the same, made if need be; now ascends from call to call. */
extern HySize *hy_sizes_claim(HySizes *sizes, const HyShape *shape, double work, uint64_t now);

/* hy_size_observe: count tasks of the class, ns each; means follow the last window of them. */
extern void
hy_size_observe(HySize *size, HyCostTerms terms, double ns, int32_t count, int32_t window);

/*
 * hy_sizes_correction: what a shape of so much work is to be expected to take against what fit says:
 * by its own class and by those nearest below and above that are like it.  A class counts for its
 * observations, the neighbours together for half of one; beyond the sizes seen the last one's
 * correction fades, to half of it (as a logarithm) after seven doublings.  1 where nothing is known.
 */
extern double hy_sizes_correction(const HySizes *sizes, const HyCoefficients *fit,
                                  const HyShape *shape, double work);

/* hy_log2_floor: of n >= 1, 0 for anything less; at most 63. */
extern int hy_log2_floor(double n);

#endif
