/*
 * queries.h
 *		The query vectors of a search, all of one length, packed.
 */
#ifndef HYBRID_QUERIES_H
#define HYBRID_QUERIES_H

#include "postgres.h"

#include "utils/array.h"

typedef struct HybridQueries
{
	int count;
	int dims; /* length of each vector; 0 if count is 0 */
	float *x; /* count * dims elements */
} HybridQueries;

/*
 * hybrid_queries_unpack: copy the elements of an array of vectors, in the current memory context.
 * Raises if the array has a second dimension, a NULL, or vectors of different lengths.
 */
extern void hybrid_queries_unpack(ArrayType *array, HybridQueries *queries);

/* hybrid_query: return query i. */
static inline const float *
hybrid_query(const HybridQueries *queries, int i)
{
	return queries->x + (Size) i * queries->dims;
}

#endif
