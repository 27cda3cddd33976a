/*
 * array.h
 *		The elements of an array of numbers, for the casts to the types.
 */
#ifndef HYBRID_ARRAY_H
#define HYBRID_ARRAY_H

#include "postgres.h"

#include "utils/array.h"

/* hybrid_array_length: elements of an array; raises unless it has one dimension and no NULL. */
extern int hybrid_array_length(ArrayType *array);

/*
 * hybrid_array_floats: the n elements of such an array of integer, real, double precision or
 * numeric, each as the nearest float; raises on arrays of other types.
 */
extern void hybrid_array_floats(ArrayType *array, float *x, int n);

#endif
