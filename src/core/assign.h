/*
 * assign.h
 *		The nearest centroid of each of many rows: for k-means, and for filling the lists of an index.
 *
 * By the canonical Euclidean distance (distance.h), so that whoever assigns finds the same.  What
 * is computed of nearly all pairs is an inner product in whatever order is fast, which bounds the
 * difference of two distances; canonical distances decide only between centroids that these
 * bounds leave undecided.  Where a row meets many centroids at once, the product is one of integers, and
 * all is left to prefilter.h.
 *
 * Thousands of centroids come in groups: a row meets the centroids of the groups whose centers are
 * nearest to it, and no others.  What it finds is then nearly always the nearest of all.
 */
#ifndef HY_ASSIGN_H
#define HY_ASSIGN_H

#include <stdint.h>

#include "core/allocator.h"
#include "core/batch.h"
#include "core/cancel.h"
#include "core/status.h"

#define HY_ASSIGN_PROBES 16 /* at most */

/* HyGroups: centroids begin[g] .. begin[g + 1] - 1 are group g; begin[0] is 0, the last their number. */
typedef struct HyGroups
{
	HyMatrix centers; /* fp32, host; no rows: one group of all centroids */
	const int32_t *begin;
	int32_t probes; /* groups that a row meets, 1 .. HY_ASSIGN_PROBES */
} HyGroups;

/*
 * hy_assign_check: HY_INVALID unless rows, centroids and centers are fp32, of the same dimensions, on
 * the host but for rows, which may lie in a buffer, centroids are there, and the groups are what is said
 * above.
 */
extern HyStatus
hy_assign_check(const HyMatrix *rows, const HyMatrix *centroids, const HyGroups *groups);

/*
 * hy_assign: nearest[i] is the nearest centroid to row i, the lower one of several, among those of
 * its `probes` nearest groups (of equally near ones the lower).  0 where none has a distance.  groups
 * may be NULL.  Takes up to about 16 MB, or what 1,024 rows of the largest dimensions make of it.
 * HY_INVALID, as of rows that are not
 * on the host, HY_NOMEM, HY_CANCELLED, or HY_OK.
 */
extern HyStatus hy_assign(const HyMatrix *rows, const HyMatrix *centroids, const HyGroups *groups,
                          const HyAllocator *allocator, int32_t *nearest, const HyCancel *cancel);

#endif
