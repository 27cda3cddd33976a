/*
 * assign.h
 *		Finds the nearest centroid of each row, for k-means and for filling the lists of an index.
 *
 * Assignments use the canonical Euclidean distance (distance.h), so every backend returns the same
 * result.  For nearly all pairs, only an inner product is computed, in the fastest order of
 * additions.  Inner products bound the difference between a row's distances to two centroids.
 * Canonical distances are computed only for centroids that these bounds leave undecided.  With at
 * least 128 centroids and no groups, prefilter.h does this work with integer products if they are
 * faster.  With very few rows or centroids, only canonical distances are computed.
 *
 * Thousands of centroids are arranged in groups, and each group has a center.  A row is then
 * compared only with the centroids of the groups whose centers are nearest to the row.  The
 * centroid found is nearly always the nearest of all centroids.
 */
#ifndef HY_ASSIGN_H
#define HY_ASSIGN_H

#include <stdint.h>

#include "core/allocator.h"
#include "core/batch.h"
#include "core/cancel.h"
#include "core/status.h"

#define HY_ASSIGN_PROBES 16 /* upper limit of HyGroups.probes */

/*
 * HyGroups: group g holds centroids begin[g] .. begin[g + 1] - 1.  begin[0] is 0, and the last
 * entry of begin is the number of centroids.
 */
typedef struct HyGroups
{
	HyMatrix centers; /* one per group, fp32, on the host; 0 rows: one group holds all centroids */
	const int32_t *begin;
	int32_t probes; /* groups examined per row, 1 .. HY_ASSIGN_PROBES */
} HyGroups;

/*
 * hy_assign_check: return HY_INVALID unless the arguments are consistent.  Rows, centroids and
 * centers must be fp32 with the same dimensions.  Centroids and centers must be on the host; rows
 * may also lie in a device buffer.  There must be at least one centroid, and the groups must be as
 * described above.
 */
extern HyStatus
hy_assign_check(const HyMatrix *rows, const HyMatrix *centroids, const HyGroups *groups);

/*
 * hy_assign: set nearest[i] to the nearest centroid of row i among the centroids of the row's
 * `probes` nearest groups.  Ties between centroids or between groups go to the lower number.
 * nearest[i] is 0 if all distances computed for row i are NaN.  If groups is NULL, all centroids
 * are examined.  Needs up to about 16 MB of memory, and up to about 4 MB for each additional
 * thread.  Uses the threads that hy_threads_allow allows.  Returns HY_INVALID (also when rows are
 * not on the host), HY_NOMEM, HY_CANCELLED, or HY_OK.
 */
extern HyStatus hy_assign(const HyMatrix *rows, const HyMatrix *centroids, const HyGroups *groups,
                          const HyAllocator *allocator, int32_t *nearest, const HyCancel *cancel);

#endif
