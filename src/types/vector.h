/*
 * vector.h
 *		The vector type as it lies on disk: the layout of pgvector's vector.
 */
#ifndef HYBRID_VECTOR_H
#define HYBRID_VECTOR_H

#include "postgres.h"
#include "fmgr.h"

#include "core/batch.h"

#define HYBRID_MAX_DIM HY_MAX_DIMS

typedef struct HybridVector
{
	int32 vl_len_; /* varlena header (do not touch directly!) */
	int16 dim;
	int16 unused; /* always zero */
	float x[FLEXIBLE_ARRAY_MEMBER];
} HybridVector;

StaticAssertDecl(offsetof(HybridVector, x) == 8, "vector on disk has an 8-byte header");

#define HYBRID_VECTOR_SIZE(dim) (offsetof(HybridVector, x) + sizeof(float) * (dim))
#define DatumGetHybridVector(datum) ((HybridVector *) PG_DETOAST_DATUM(datum))
#define PG_GETARG_HYBRID_VECTOR(n) DatumGetHybridVector(PG_GETARG_DATUM(n))
#define PG_RETURN_HYBRID_VECTOR(v) PG_RETURN_POINTER(v)

/* hybrid_vector_new: dim elements, all zero, in the current memory context; dim is not checked. */
extern HybridVector *hybrid_vector_new(int dim);

/* hybrid_vector_peek_dims: the dimensions of a stored vector, without fetching its elements. */
extern int hybrid_vector_peek_dims(Datum datum);

/* hybrid_vector_check_dims: raises when two vectors differ in dimensions. */
extern void hybrid_vector_check_dims(const HybridVector *a, const HybridVector *b);

/* hybrid_vector_check_dim: raises unless 1 <= dim <= HYBRID_MAX_DIM. */
extern void hybrid_vector_check_dim(int dim);

/* hybrid_vector_check_typmod: raises when a type modifier asks for another number of dimensions. */
extern void hybrid_vector_check_typmod(int32 typmod, int dim);

/* hybrid_vector_check_finite: raises on a NaN or an infinity among n elements. */
extern void hybrid_vector_check_finite(const float *x, int n);

#endif
