/*
 * vector.h
 *		The vector type as it lies on disk: the layout of pgvector's vector.
 *
 * What other folders see of the types.  Within this folder vector is one of two types that differ
 * in their elements only: dense.h.
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

#define DatumGetHybridVector(datum) ((HybridVector *) PG_DETOAST_DATUM(datum))
#define PG_GETARG_HYBRID_VECTOR(n) DatumGetHybridVector(PG_GETARG_DATUM(n))

/* hybrid_vector_check_dims: raises when two vectors differ in dimensions. */
extern void hybrid_vector_check_dims(const HybridVector *a, const HybridVector *b);

#endif
