/*
 * vector_functions.c
 *		Of one vector: its dimensions, its norm, itself at length one.
 *
 * Norms are computed in fp64 throughout: the sum of 16,000 squares of the largest float is far
 * from overflow, that of the smallest far from underflow, so no scaling is needed.
 */
#include "postgres.h"

#include <math.h>

#include "types/vector.h"

static double norm_of(const HybridVector *vector);

PG_FUNCTION_INFO_V1(hybrid_vector_dims);
PG_FUNCTION_INFO_V1(hybrid_vector_norm);
PG_FUNCTION_INFO_V1(hybrid_l2_normalize);

Datum
hybrid_vector_dims(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(hybrid_vector_peek_dims(PG_GETARG_DATUM(0)));
}

Datum
hybrid_vector_norm(PG_FUNCTION_ARGS)
{
	HybridVector *vector = PG_GETARG_HYBRID_VECTOR(0);

	PG_RETURN_FLOAT8(norm_of(vector));
}

/* A zero vector has no direction and stays zero.  No quotient exceeds 1, so none overflows. */
Datum
hybrid_l2_normalize(PG_FUNCTION_ARGS)
{
	HybridVector *vector = PG_GETARG_HYBRID_VECTOR(0);
	HybridVector *result = hybrid_vector_new(vector->dim);
	double norm = norm_of(vector);
	int i;

	if (norm > 0)
	{
		for (i = 0; i < vector->dim; i++)
			result->x[i] = (float) (vector->x[i] / norm);
	}
	PG_RETURN_HYBRID_VECTOR(result);
}

static double
norm_of(const HybridVector *vector)
{
	double sum = 0;
	int i;

	for (i = 0; i < vector->dim; i++)
		sum += (double) vector->x[i] * (double) vector->x[i];
	return sqrt(sum);
}
