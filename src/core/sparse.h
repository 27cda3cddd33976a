/*
 * sparse.h
 *		Sparse vectors, which store only their nonzero elements, and their distances.
 *
 * A distance has exactly the bits of the distance of the dense vectors (distance.h).  Its cost
 * depends on the stored elements, not on the dimensions.
 *
 * The bits agree because an element that is absent from both vectors changes nothing.  It would add
 * +0 to its lane, and an untouched lane would add +0 to its twin.  The moment at which a lane is
 * added to its twin does matter.  As in the dense order, this happens after every 16 steps.  A lane
 * is therefore flushed between two elements whose indices are in different blocks of 1,024, however
 * few elements came before.
 */
#ifndef HY_SPARSE_H
#define HY_SPARSE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/batch.h"

#define HY_SPARSE_MAX_DIMS 1000000000
#define HY_SPARSE_MAX_ELEMENTS 16000
#define HY_SPARSE_DENSE_DIMS 4096

/*
 * HySparse: a view of a sparse vector.  Indices start at 0, ascend, and are below dims.  Values are
 * finite and not zero.
 */
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

/* hy_sparse_check_indices: return the first fault among count indices. */
extern HySparseFault hy_sparse_check_indices(const int32_t *indices, int32_t count, int32_t dims);

/*
 * hy_sparse_distance: return the distance of two vectors of equal dims, equal to hy_distance of the
 * dense vectors.
 */
extern double hy_sparse_distance(HyMetric metric, const HySparse *a, const HySparse *b);

/* hy_sparse_l2_squared: return the canonical sum of squared differences. */
extern double hy_sparse_l2_squared(const HySparse *a, const HySparse *b);

/*
 * hy_sparse_better_dense: test whether it is faster to make two vectors of equal dims dense and
 * then compute their distance.  True only if dims is at most HY_SPARSE_DENSE_DIMS.
 * hy_sparse_distance calls this test.  hy_sparse_make_dense: write all dims elements.
 */
extern bool hy_sparse_better_dense(const HySparse *a, const HySparse *b);
extern void hy_sparse_make_dense(float *dense, const HySparse *a);

/* hy_sparse_norm: return the Euclidean length, computed in fp64 throughout. */
extern double hy_sparse_norm(const HySparse *a);

/*
 * hy_sparse_compare: return -1, 0 or 1, by the order of the dense vectors.  The first element that
 * differs decides.  If one vector is a prefix of the other, the prefix is less.
 */
extern int hy_sparse_compare(const HySparse *a, const HySparse *b);

#endif
