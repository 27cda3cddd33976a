/*
 * kmeans.h
 *		k-means clustering, for building the lists of an index and for splitting one list in two.
 *
 * The algorithm is Lloyd's iteration over fp32 rows with Euclidean distance.  The result is a
 * function of the rows, their order and the seed: distances are canonical (distance.h), ties go to
 * the lower centroid, and means are fp64 sums in row order, rounded once.  The centroids therefore
 * have the same bits on every machine, and with every assignment function that returns the same
 * assignments as hy_kmeans_assign.
 *
 * Seeds are drawn by k-means++ (D. Arthur and S. Vassilvitskii, 2007) from an evenly spaced sample
 * of at least HY_KMEANS_POOL times k rows, or from all rows if there are fewer.  Drawing from a
 * larger sample would cost more than the iterations, and the iterations would make up for the
 * difference anyway.  A centroid without rows moves to a row of the largest cluster.  The row is
 * drawn with a probability proportional to its squared distance from that cluster's centroid.
 * Clusters that are still empty at the end are left out.
 */
#ifndef HY_KMEANS_H
#define HY_KMEANS_H

#include <stdint.h>

#include "core/allocator.h"
#include "core/batch.h"
#include "core/cancel.h"
#include "core/status.h"

#define HY_KMEANS_POOL 8
#define HY_KMEANS_ITERATIONS 10 /* more iterations hardly improve a search */

/*
 * HyKmeansAssign: set nearest[i] to the centroid nearest to row i by the canonical Euclidean
 * distance.  Ties go to the lower centroid.  nearest[i] is 0 if the distances to all centroids are
 * NaN.  Any failure ends the clustering.
 */
typedef HyStatus (*HyKmeansAssign)(void *arg, const HyMatrix *rows, const HyMatrix *centroids,
                                   int32_t *nearest);

typedef struct HyKmeans
{
	const HyMatrix *rows; /* fp32, on the host */
	int32_t k;            /* 1 or more; may exceed the number of rows */
	int iterations;       /* maximum number of iterations; 0 keeps the seeds */
	uint64_t seed;
	HyKmeansAssign assign; /* NULL selects hy_kmeans_assign on this CPU */
	void *assign_arg;
	const HyAllocator *allocator;
	const HyCancel *cancel;
} HyKmeans;

/*
 * hy_kmeans: compute centroids[0 .. *found - 1], of rows->dims floats each, and the nearest
 * centroid of each row.  `centroids` has space for k.  `nearest` and `counts` may be NULL.  counts
 * has space for k entries; the first *found are set to the number of rows of each cluster.  *found
 * is 1 .. k.  It is less than k only if the sample has fewer distinct rows or a cluster stayed
 * empty.  Returns HY_INVALID for no rows, for k < 1, or for rows that are not fp32 on the host;
 * HY_BUG if assign sets a centroid that does not exist; HY_NOMEM, HY_CANCELLED, HY_OK, or the
 * status of assign.  In addition to the memory that assign needs, allocates 8 bytes per centroid
 * element, 8 bytes per cluster, and 8 bytes per row (12 if nearest is NULL).
 */
extern HyStatus hy_kmeans(const HyKmeans *task, float *centroids, int32_t *nearest, int64_t *counts,
                          int32_t *found);

/* HyKmeansHere: the argument of hy_kmeans_assign. */
typedef struct HyKmeansHere
{
	const HyAllocator *allocator;
	const HyCancel *cancel;
} HyKmeansHere;

/* hy_kmeans_assign: implement HyKmeansAssign on this CPU (assign.h). */
extern HyStatus
hy_kmeans_assign(void *here, const HyMatrix *rows, const HyMatrix *centroids, int32_t *nearest);

/* hy_kmeans_add: add a row to the sums from which a mean is computed. */
extern void hy_kmeans_add(double *sums, const float *row, int dims);

/*
 * hy_kmeans_grid: return the grid for hy_kmeans_add_on_grid, for at most `rows` rows whose elements
 * do not exceed `largest` in magnitude.
 *
 * hy_kmeans_add_on_grid: do the same as hy_kmeans_add, but round each element to a grid so coarse
 * that sums are exact.  The result has the same bits whatever the order in which rows and partial
 * sums are added.  The grid spacing is about largest * rows * 2^-50.
 */
extern double hy_kmeans_grid(double largest, int64_t rows);
extern void hy_kmeans_add_on_grid(double *sums, const float *row, int dims, double grid);

/*
 * hy_kmeans_split: split the rows into two halves around two centroids.  side[i] is 0 or 1.  Each
 * side gets at least `share` (0 .. 0.5) of the rows, rounded down, and at least one row.  To
 * enforce this, each iteration moves rows to the smaller side, beginning with the row whose two
 * distances differ least.  The centroids are therefore the means of the rows on their sides.
 * Identical rows are split into halves of equal size, or of sizes that differ by one.  Returns
 * HY_INVALID for fewer than two rows, for rows that are not fp32 on the host, or for a share out of
 * range; HY_NOMEM, HY_CANCELLED, or HY_OK.
 */
extern HyStatus
hy_kmeans_split(const HyMatrix *rows, double share, uint64_t seed, const HyAllocator *allocator,
                const HyCancel *cancel, float *centroids, uint8_t *side);

#endif
