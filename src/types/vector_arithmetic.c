/*
 * vector_arithmetic.c
 *		Element by element: a + b, a - b, a * b; and end to end: a || b.
 *
 * Elements of vectors are finite, so an infinite element in the result is an overflow; and since
 * finite floats whose sum or difference is nonzero never give 0, only the product can underflow.
 * The loops that compute are kept apart from those that check, so that they vectorise.
 */
#include "postgres.h"

#include <math.h>

#include "utils/float.h"

#include "types/vector.h"

static void check_overflow(const HybridVector *vector);

PG_FUNCTION_INFO_V1(hybrid_vector_add);
PG_FUNCTION_INFO_V1(hybrid_vector_sub);
PG_FUNCTION_INFO_V1(hybrid_vector_mul);
PG_FUNCTION_INFO_V1(hybrid_vector_concat);

Datum
hybrid_vector_add(PG_FUNCTION_ARGS)
{
	HybridVector *a = PG_GETARG_HYBRID_VECTOR(0);
	HybridVector *b = PG_GETARG_HYBRID_VECTOR(1);
	HybridVector *result;
	int i;

	hybrid_vector_check_dims(a, b);
	result = hybrid_vector_new(a->dim);
	for (i = 0; i < a->dim; i++)
		result->x[i] = a->x[i] + b->x[i];
	check_overflow(result);
	PG_RETURN_HYBRID_VECTOR(result);
}

Datum
hybrid_vector_sub(PG_FUNCTION_ARGS)
{
	HybridVector *a = PG_GETARG_HYBRID_VECTOR(0);
	HybridVector *b = PG_GETARG_HYBRID_VECTOR(1);
	HybridVector *result;
	int i;

	hybrid_vector_check_dims(a, b);
	result = hybrid_vector_new(a->dim);
	for (i = 0; i < a->dim; i++)
		result->x[i] = a->x[i] - b->x[i];
	check_overflow(result);
	PG_RETURN_HYBRID_VECTOR(result);
}

Datum
hybrid_vector_mul(PG_FUNCTION_ARGS)
{
	HybridVector *a = PG_GETARG_HYBRID_VECTOR(0);
	HybridVector *b = PG_GETARG_HYBRID_VECTOR(1);
	HybridVector *result;
	int i;

	hybrid_vector_check_dims(a, b);
	result = hybrid_vector_new(a->dim);
	for (i = 0; i < a->dim; i++)
		result->x[i] = a->x[i] * b->x[i];
	check_overflow(result);
	for (i = 0; i < a->dim; i++)
	{
		if (result->x[i] == 0 && a->x[i] != 0 && b->x[i] != 0)
			float_underflow_error();
	}
	PG_RETURN_HYBRID_VECTOR(result);
}

/* Without an operator of its own, vector || vector would quietly be the text of both. */
Datum
hybrid_vector_concat(PG_FUNCTION_ARGS)
{
	HybridVector *a = PG_GETARG_HYBRID_VECTOR(0);
	HybridVector *b = PG_GETARG_HYBRID_VECTOR(1);
	HybridVector *result;

	hybrid_vector_check_dim(a->dim + b->dim);
	result = hybrid_vector_new(a->dim + b->dim);
	memcpy(result->x, a->x, sizeof(float) * a->dim);
	memcpy(result->x + a->dim, b->x, sizeof(float) * b->dim);
	PG_RETURN_HYBRID_VECTOR(result);
}

static void
check_overflow(const HybridVector *vector)
{
	int i;

	for (i = 0; i < vector->dim; i++)
	{
		if (isinf(vector->x[i]))
			float_overflow_error();
	}
}
