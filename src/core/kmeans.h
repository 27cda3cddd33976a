/*
 * kmeans.h
 *		Rows gathered around centroids: for the lists of an index, and for splitting one in two.
 *
 * Lloyd's iterations over fp32 rows and Euclidean distance.  Everything is a function of the rows,
 * their order and the seed: distances are canonical (distance.h), ties go to the lower centroid,
 * means are fp64 sums in the order of the rows, rounded once.  So the centroids are the same bits on
 * every machine, and whoever finds the nearest centroids, if he finds those of hy_kmeans_assign.
 *
 * Seeds are drawn by k-means++ (D. Arthur and S. Vassilvitskii, 2007) from some of the rows, evenly
 * spread: HY_KMEANS_POOL times k, since more of them would cost more than the iterations and gain
 * nothing that these do not mend.  A centroid that no row is nearest to moves to a row of the
 * largest cluster, drawn by its distance; what is still empty at the end is left out.
 */
#ifndef HY_KMEANS_H
#define HY_KMEANS_H

#include <stdint.h>

#include "core/allocator.h"
#include "core/batch.h"
#include "core/cancel.h"
#include "core/status.h"

#define HY_KMEANS_POOL 8
#define HY_KMEANS_ITERATIONS 10 /* what is gained later hardly shows in a search */

/*
 * HyKmeansAssign: nearest[i] = the centroid nearest to row i by the canonical Euclidean distance,
 * the lower one of several; 0 where none has a distance.  Any failure ends the clustering.
 */
typedef HyStatus (*HyKmeansAssign)(void *arg, const HyMatrix *rows, const HyMatrix *centroids,
                                   int32_t *nearest);

typedef struct HyKmeans
{
	const HyMatrix *rows; /* fp32, on the host */
	int32_t k;            /* 1 or more; also more than there are rows */
	int iterations;       /* at most; 0: the seeds stay */
	uint64_t seed;
	HyKmeansAssign assign; /* NULL: hy_kmeans_assign, here */
	void *assign_arg;
	const HyAllocator *allocator;
	const HyCancel *cancel;
} HyKmeans;

/*
 * hy_kmeans: centroids[0 .. *found - 1], of rows->dims floats each, and for each row the nearest of
 * them.  centroids has room for k; nearest and counts (of k: rows of each cluster) may be NULL.
 * *found is at most k and 1 at least, and less than k only where fewer rows differ or a cluster stayed
 * empty.  HY_INVALID for no rows, k < 1 or rows that are not fp32 on the host; HY_NOMEM, HY_CANCELLED,
 * or what assign returned.  Takes 8 bytes for each number of the centroids, and 4 to 12 a row.
 */
extern HyStatus hy_kmeans(const HyKmeans *task, float *centroids, int32_t *nearest, int64_t *counts,
                          int32_t *found);

/* HyKmeansHere: the argument of hy_kmeans_assign. */
typedef struct HyKmeansHere
{
	const HyAllocator *allocator;
	const HyCancel *cancel;
} HyKmeansHere;

/* hy_kmeans_assign: a HyKmeansAssign on this processor (assign.h). */
extern HyStatus
hy_kmeans_assign(void *here, const HyMatrix *rows, const HyMatrix *centroids, int32_t *nearest);

/* hy_kmeans_add: adds a row to the sums that a mean is made of. */
extern void hy_kmeans_add(double *sums, const float *row, int dims);

/*
 * hy_kmeans_grid: for hy_kmeans_add_on_grid, of so many rows at most whose numbers are no larger.
 *
 * hy_kmeans_add_on_grid: the same with numbers rounded to a grid so coarse that sums are exact: the same
 * bits in whatever order rows are added, and sums of sums.  It is 2^-(50 - log2 rows) of the largest.
 */
extern double hy_kmeans_grid(double largest, int64_t rows);
extern void hy_kmeans_add_on_grid(double *sums, const float *row, int dims, double grid);

/*
 * hy_kmeans_split: two halves of the rows, around two centroids: side[i] is 0 or 1.  Each side gets
 * at least `share` (0 .. 0.5) of the rows, rounded down, and one: those that care least change over,
 * in each iteration, so that the centroids are the means of what is on their sides.  Rows that are
 * all alike are halved.  HY_INVALID for less than two rows, or rows that are not fp32 on the host;
 * HY_NOMEM, HY_CANCELLED.
 */
extern HyStatus
hy_kmeans_split(const HyMatrix *rows, double share, uint64_t seed, const HyAllocator *allocator,
                const HyCancel *cancel, float *centroids, uint8_t *side);

#endif
