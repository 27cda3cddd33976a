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

#define DatumGetHybridDense(datum) ((HybridDense *) PG_DETOAST_DATUM(datum))
#define DatumGetHybridVector(datum) ((HybridVector *) PG_DETOAST_DATUM(datum))
#define PG_GETARG_HYBRID_VECTOR(n) DatumGetHybridVector(PG_GETARG_DATUM(n))

/* hybrid_vector_check_dims: raise if two vectors differ in dimensions. */
extern void hybrid_vector_check_dims(const HybridVector *a, const HybridVector *b);

#endif
