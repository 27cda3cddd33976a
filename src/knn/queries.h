/*
 * queries.h
 *		What rows are searched for: vectors of one length, packed.
 */
#ifndef HYBRID_QUERIES_H
#define HYBRID_QUERIES_H

#include "postgres.h"

#include "utils/array.h"

typedef struct HybridQueries
{
	int count;
	int dims; /* 0 where there are none */
	float *x; /* count * dims */
} HybridQueries;

/*
 * hybrid_queries_unpack: the elements of an array of vectors, in the current memory context.
 * Raises on a second dimension, a NULL and vectors of different lengths.
 */
extern void hybrid_queries_unpack(ArrayType *array, HybridQueries *queries);

/* hybrid_query: one of them. */
static inline const float *
hybrid_query(const HybridQueries *queries, int i)
{
	return queries->x + (Size) i * queries->dims;
}

#endif
