/*
 * vector.h
 *		The on-disk layouts of the types vector and halfvec, which equal the layouts of
 *		pgvector's types.
 *
 * Other folders include this header. Functions on both types are in dense.h.
 */
#ifndef HYBRID_VECTOR_H
#define HYBRID_VECTOR_H

#include "postgres.h"
#include "fmgr.h"

#include "utils/array.h"

#include "core/batch.h"
#include "server/compat.h"

#define HYBRID_MAX_DIM HY_MAX_DIMS

typedef struct HybridVector
{
	int32 vl_len_; /* varlena header (do not touch directly!) */
	int16 dim;
	int16 unused; /* always zero */
	float x[FLEXIBLE_ARRAY_MEMBER];
} HybridVector;

StaticAssertDecl(offsetof(HybridVector, x) == 8, "vector on disk has an 8-byte header");

/* HybridDense: a value of either type. For a vector it has the same layout as HybridVector. */
typedef struct HybridDense
{
	int32 vl_len_; /* varlena header (do not touch directly!) */
	int16 dim;
	int16 unused;                  /* always zero */
	char x[FLEXIBLE_ARRAY_MEMBER]; /* dim elements of the type's dtype */
} HybridDense;

StaticAssertDecl(offsetof(HybridDense, x) == offsetof(HybridVector, x) &&
                     offsetof(HybridDense, dim) == offsetof(HybridVector, dim),
                 "a vector is a dense value");

/* hybrid_dense_refuse: raise the error of hybrid_dense_checked. */
pg_noreturn extern void hybrid_dense_refuse(const HybridDense *value, HyDtype dtype);

/*
 * hybrid_dense_checked: return a detoasted value of this element type. Raises ERRCODE_DATA_CORRUPTED
 * unless the number of elements in its header agrees with its length.
 */
static inline HybridDense *
hybrid_dense_checked(struct varlena *detoasted, HyDtype dtype)
{
	HybridDense *value = (HybridDense *) detoasted;
	Size size = VARSIZE(value), head = offsetof(HybridDense, x);

	if (unlikely(size <= head || size != head + (Size) value->dim * hy_dtype_size(dtype) ||
	             value->dim > HYBRID_MAX_DIM))
		hybrid_dense_refuse(value, dtype);
	return value;
}

#define DatumGetHybridDense(datum, dtype) hybrid_dense_checked(PG_DETOAST_DATUM(datum), dtype)
#define DatumGetHybridVector(datum) ((HybridVector *) DatumGetHybridDense(datum, HY_F32))
#define PG_GETARG_HYBRID_VECTOR(n) DatumGetHybridVector(PG_GETARG_DATUM(n))

/*
 * hybrid_dense_peek_dims: return the number of dimensions of a stored value without fetching all of its
 * elements. Raises ERRCODE_DATA_CORRUPTED if the length of the value does not agree with this number.
 */
extern int hybrid_dense_peek_dims(Datum datum);

/*
 * hybrid_vectors_of: return the elements of a detoasted array of vectors or halfvecs as the rows of a matrix,
 * in place. Values of the same dimensions have the same size, so they have a fixed stride. Raises unless the
 * array has at most one dimension, no NULL, and elements of the same dimensions.
 */
extern HyMatrix hybrid_vectors_of(ArrayType *array, HyDtype dtype);

/* hybrid_vector_check_dims: raise if two vectors differ in dimensions. */
extern void hybrid_vector_check_dims(const HybridVector *a, const HybridVector *b);

#endif
