/*
 * centroids.h
 *		Computes centroids of lists, and finds the nearest centroid of each row.
 */
#ifndef HYBRID_INDEX_CENTROIDS_H
#define HYBRID_INDEX_CENTROIDS_H

#include "core/batch.h"

#define HYBRID_LISTS_A_LIST 1.6 /* lists of a new index per list_size rows */

/*
 * HybridCentroids: centroids of the planned lists. If there are many, neighboring centroids form
 * groups.
 */
typedef struct HybridCentroids
{
	int dims;
	int count;
	float *places; /* count * dims numbers, group by group */
	int groups;
	float *group_places; /* centroids of the groups; groups * dims numbers */
	int *group_begin;    /* first centroid of each group, and the end; groups + 1 numbers */
} HybridCentroids;

/* maximum number of centroids that are searched without groups */
#define HYBRID_FEW_CENTROIDS 2048

/*
 * hybrid_cut_rows: cut `count` rows into lists. A few times list_size rows still fit in one list. Sets
 * `order` to the numbers of the rows, list by list, and *sizes, allocated in the current memory
 * context, to the sizes of the lists, which may be 0. Returns the number of lists. Rows too alike to be
 * separated are distributed evenly over several lists, because a list that is too long would be split.
 */
extern int
hybrid_cut_rows(const float *places, int count, int dims, int list_size, int *order, int **sizes);

/* hybrid_group makes at most this many times the requested number of groups */
#define HYBRID_GROUPS_MOST 5

/*
 * hybrid_group: put centroids into about `groups` groups, at most HYBRID_GROUPS_MOST times as many, and
 * reorder them by group. No group has more than twice the mean number of centroids (count / groups). If
 * `order` is not NULL, order[i] is set to the old number of centroid i.
 */
extern void hybrid_group(HybridCentroids *centroids, int groups, int *order, MemoryContext context);

/* hybrid_mean: compute the mean of the vectors whose numbers are in `rows`. */
extern void hybrid_mean(const float *places, const int *rows, int count, int dims, float *mean);

/* build_assign.c */

extern HyMatrix hybrid_places_matrix(const float *places, int64_t rows, int dims);

/*
 * hybrid_assign: set nearest[i] to the number of the centroid nearest to vector i, for each of the
 * `rows` vectors in `places`. The center was subtracted from the vectors, as from the centroids.
 */
extern void
hybrid_assign(const HybridCentroids *centroids, const float *places, int64 rows, int *nearest);

#endif
