/*
 * prefilter.h
 *		Nearest rows for many queries at once: rounded products propose candidates, and canonical
 *		distances decide.
 *
 * Queries and targets are rounded to integers (tile.h).  Integer products are several times as fast
 * as fp32 products.  With x~ for the rounded x, the Cauchy-Schwarz inequality gives
 *
 *		|<q, x> - <q~, x~>| <= |q| |x - x~| + |x~| |q - q~|
 *
 * The lengths of the rounding errors are measured, not estimated.  Every product therefore gives a
 * lower bound of the distance.  The canonical kernels (distance.h) examine a row only if its bound
 * is not above the k-th best distance so far.  Results have the canonical bits and equal the
 * results of hy_topk_search.  A bound always holds.  It does not depend on probability.
 *
 * In units of a query's scale s, a row can be nearer than d only if
 *
 *		f D + u + v w >= t		where D is the product of the integers
 *
 *		inner product	f = scale of x					t = -d / s
 *		cosine			f = scale of x / |x|			t = (1 - d) |q| / s
 *		L2				f = scale of x - c				t = (|q - c|^2 - d^2) / 2 s
 *						v = -|x - c|^2 / 2, w = 1 / s	(c: the center of some targets)
 *
 * The reach u of a row is the error bound above in the same units.  It uses the largest values of
 * |q| / s and |q - q~| / s among the queries of a group.  Each ratio is about the same for most
 * queries, because a query's length determines its scale.  u also covers the errors of the
 * canonical sums and of the fp32 arithmetic in the test itself.
 */
#ifndef HY_PREFILTER_H
#define HY_PREFILTER_H

#include "core/allocator.h"
#include "core/batch.h"
#include "core/cancel.h"
#include "core/status.h"

/*
 * hy_prefilter_allow, hy_prefilter_allowed: set or get whether this process may use the prefilter.
 */
extern void hy_prefilter_allow(bool allowed);
extern bool hy_prefilter_allowed(void);

/*
 * hy_prefilter_pays: test whether the prefilter is allowed and saves time.  It saves no time for
 * L1, for fewer than 8 dimensions, for few queries (fewer than 5 for cosine, 6 for inner products,
 * 8 for L2), for few targets (with k = 10 and 16 queries, fewer than about 100 to 160), or when k
 * is a large part of the targets.
 */
extern bool
hy_prefilter_pays(HyMetric metric, int64_t queries, int64_t targets, int32_t dims, int32_t k);

/* HyNearest: a search for the k nearest targets of each query, and the arrays for its results. */
typedef struct HyNearest
{
	HyMetric metric;
	int32_t k;
	const HyMatrix *queries;
	const HyMatrix *targets;
	/* queries->rows entries, or NULL; rows farther than their query's limit may be missing */
	const double *limits;
	HyNeighbor *out; /* out and counts: as for hy_topk_search */
	int32_t *counts;
} HyNearest;

/*
 * hy_prefilter_search: find the same rows as hy_topk_search, except rows beyond the limits.  Accepts
 * any shape, but not L1 (HY_UNSUPPORTED).  Needs up to about 16 MB, plus memory that grows with k,
 * and about 1 MB for each additional thread that hy_threads_allow allows.  Returns HY_INVALID,
 * HY_NOMEM, HY_CANCELLED, HY_UNSUPPORTED, or HY_OK.
 */
extern HyStatus
hy_prefilter_search(const HyNearest *nearest, const HyAllocator *allocator, const HyCancel *cancel);

/*
 * hy_nearest_search: run hy_topk_search or the prefilter, whichever is faster.  The results have
 * the same bits.  The prefilter allocates its memory from allocator.  If allocator is NULL or out
 * of memory, only the canonical kernels are used.
 */
extern HyStatus
hy_nearest_search(const HyNearest *nearest, const HyAllocator *allocator, const HyCancel *cancel);

#endif
