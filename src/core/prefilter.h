/*
 * prefilter.h
 *		The nearest rows for many queries at once: rounded products propose, canonical distances
 *		decide.
 *
 * Queries and targets are rounded to integers (tile.h), which multiply at a multiple of the rate of
 * fp32.  With x~ for x rounded, by Cauchy and Schwarz
 *
 *		|<q, x> - <q~, x~>| <= |q| |x - x~| + |x~| |q - q~|
 *
 * and the lengths of what rounding took away are measured, not estimated.  So every product bounds
 * the distance from below, and a row is looked at again, by the canonical kernels (distance.h), only
 * if that bound reaches the k-th best distance so far.  What is returned has the canonical bits, and
 * is what hy_topk_search returns; a bound is never right by luck.
 *
 * In units of a query's scale s, a row may be nearer than d only if
 *
 *		f D + u + v w >= t		D: product of the integers
 *
 *		inner product	f = scale of x					t = -d / s
 *		cosine			f = scale of x / |x|			t = (1 - d) |q| / s
 *		L2				f = scale of x - c				t = (|q - c|^2 - d^2) / 2 s
 *						v = -|x - c|^2 / 2, w = 1 / s	(c: the middle of some targets)
 *
 * u, the reach of a row, is the bound above in the same units, with the largest |q| / s and
 * |q - q~| / s of all queries (of which most are about equal, since lengths are what sets a scale),
 * and what the canonical sums and the fp32 arithmetic of the test itself may err by.
 */
#ifndef HY_PREFILTER_H
#define HY_PREFILTER_H

#include "core/allocator.h"
#include "core/batch.h"
#include "core/cancel.h"
#include "core/status.h"

/* hy_prefilter_allow, hy_prefilter_allowed: whether this way may be taken at all in this process. */
extern void hy_prefilter_allow(bool allowed);
extern bool hy_prefilter_allowed(void);

/*
 * hy_prefilter_suits: whether this way is allowed and pays: not for L1, nor for less than about five
 * queries, nor for few targets (by k 10: for 16 queries less than 128 to 256), nor where k is a good
 * part of them.
 */
extern bool
hy_prefilter_suits(HyMetric metric, int64_t queries, int64_t targets, int32_t dims, int32_t k);

/*
 * hy_prefilter_search: as hy_topk_search, of any shape but of metric L1 (HY_UNSUPPORTED).  limits, of
 * queries->rows, or NULL: rows at a greater distance than its query's need not be found.  Takes up
 * to about 16 MB besides what k makes of it.  HY_INVALID, HY_NOMEM, HY_CANCELLED, HY_UNSUPPORTED, or
 * HY_OK.
 */
extern HyStatus
hy_prefilter_search(HyMetric metric, const HyMatrix *queries, const HyMatrix *targets, int32_t k,
                    const double *limits, const HyAllocator *allocator, HyNeighbor *out,
                    int32_t *counts, const HyCancel *cancel);

/*
 * hy_nearest_search: hy_topk_search by whichever way suits, with the same bits: the filter takes its
 * memory from allocator, and where that is NULL or has none the canonical kernels go alone.
 */
extern HyStatus hy_nearest_search(HyMetric metric, const HyMatrix *queries, const HyMatrix *targets,
                                  int32_t k, const double *limits, const HyAllocator *allocator,
                                  HyNeighbor *out, int32_t *counts, const HyCancel *cancel);

#endif
