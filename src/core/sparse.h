/*
 * sparse.h
 *		Vectors of which only the elements that are not zero are kept, and their distances.
 *
 * A distance has the very bits of the distance of the dense vectors (distance.h), at a cost that
 * goes with the elements that are kept, not with the dimensions.
 *
 * That holds because an element that is absent from both changes nothing: what it would add to its
 * lane, and what an untouched lane would add to its twin, is +0.  But when a lane is added to its
 * twin does matter, and that is decided by the dense order: after every 16 steps, so between
 * two elements whose indices, divided by 1,024, differ, however few elements came before.
 */
#ifndef HY_SPARSE_H
#define HY_SPARSE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/batch.h"

#define HY_SPARSE_MAX_DIMS 1000000000
#define HY_SPARSE_MAX_ELEMENTS 16000
#define HY_SPARSE_DENSE_DIMS 4096

/* HySparse: a view; indices are from 0, ascending, below dims; values finite and not zero. */
typedef struct HySparse
{
	int32_t dims;
	int32_t count;
	const int32_t *indices;
	const float *values;
} HySparse;

typedef enum HySparseFault
{
	HY_SPARSE_OK = 0,
	HY_SPARSE_OUT_OF_BOUNDS,
	HY_SPARSE_UNORDERED,
	HY_SPARSE_DUPLICATE
} HySparseFault;

/* hy_sparse_check_indices: the first fault among count indices. */
extern HySparseFault hy_sparse_check_indices(const int32_t *indices, int32_t count, int32_t dims);

/* hy_sparse_distance: of two vectors of equal dims, as hy_distance of the dense ones. */
extern double hy_sparse_distance(HyMetric metric, const HySparse *a, const HySparse *b);

/* hy_sparse_l2_squared: the canonical sum of squared differences. */
extern double hy_sparse_l2_squared(const HySparse *a, const HySparse *b);

/*
 * hy_sparse_better_dense: whether the distance of two vectors of equal dims, at most
 * HY_SPARSE_DENSE_DIMS then, takes less time when they are made dense; hy_sparse_distance goes by it.
 * hy_sparse_make_dense: all dims elements.
 */
extern bool hy_sparse_better_dense(const HySparse *a, const HySparse *b);
extern void hy_sparse_make_dense(float *dense, const HySparse *a);

/* hy_sparse_norm: the Euclidean length, in fp64 throughout. */
extern double hy_sparse_norm(const HySparse *a);

/*
 * hy_sparse_compare: -1, 0 or 1: the order of the dense vectors, where the first element that
 * differs decides and, of two of which one begins the other, the one of fewer dims is less.
 */
extern int hy_sparse_compare(const HySparse *a, const HySparse *b);

#endif
