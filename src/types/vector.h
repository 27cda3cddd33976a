/*
 * vector.h
 *		The types vector and halfvec as they lie on disk: the layouts of pgvector's types.
 *
 * What other folders see of the types.  The two differ in their elements only: dense.h.
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

/* HybridDense: a value of vector or halfvec; of vector, HybridVector is another view. */
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

/* hybrid_vector_check_dims: raises when two vectors differ in dimensions. */
extern void hybrid_vector_check_dims(const HybridVector *a, const HybridVector *b);

#endif
