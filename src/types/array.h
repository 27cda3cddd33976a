/*
 * array.h
 *		Reads the elements of a numeric array, for the casts to the vector types.
 */
#ifndef HYBRID_ARRAY_H
#define HYBRID_ARRAY_H

#include "postgres.h"

#include "utils/array.h"

/*
 * hybrid_array_length: return the number of elements. Raises unless the array has one dimension (or
 * is empty) and no NULL.
 */
extern int hybrid_array_length(ArrayType *array);

/*
 * hybrid_array_floats: store the n elements in x, each rounded to the nearest float.
 * hybrid_array_length must have accepted the array. Raises unless its element type is integer,
 * real, double precision or numeric. Raises for a numeric beyond the range of float, but a double
 * precision beyond that range becomes infinite.
 */
extern void hybrid_array_floats(ArrayType *array, float *x, int n);

#endif
