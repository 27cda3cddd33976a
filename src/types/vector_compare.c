/*
 * vector_compare.c
 *		The order of vectors, for sorting, DISTINCT and btree.
 *
 * As for arrays: the first element that differs decides, and of two vectors of which one begins
 * the other, the shorter is less.  -0 equals 0.
 */
#include "postgres.h"

#include "types/vector.h"

static int compare_args(FunctionCallInfo fcinfo);

PG_FUNCTION_INFO_V1(hybrid_vector_lt);
PG_FUNCTION_INFO_V1(hybrid_vector_le);
PG_FUNCTION_INFO_V1(hybrid_vector_eq);
PG_FUNCTION_INFO_V1(hybrid_vector_ne);
PG_FUNCTION_INFO_V1(hybrid_vector_ge);
PG_FUNCTION_INFO_V1(hybrid_vector_gt);
PG_FUNCTION_INFO_V1(hybrid_vector_cmp);

Datum
hybrid_vector_lt(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare_args(fcinfo) < 0);
}

Datum
hybrid_vector_le(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare_args(fcinfo) <= 0);
}

Datum
hybrid_vector_eq(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare_args(fcinfo) == 0);
}

Datum
hybrid_vector_ne(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare_args(fcinfo) != 0);
}

Datum
hybrid_vector_ge(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare_args(fcinfo) >= 0);
}

Datum
hybrid_vector_gt(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare_args(fcinfo) > 0);
}

Datum
hybrid_vector_cmp(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(compare_args(fcinfo));
}

/* A btree wants its support functions not to leak: detoasted copies are freed. */
static int
compare_args(FunctionCallInfo fcinfo)
{
	HybridVector *a = PG_GETARG_HYBRID_VECTOR(0);
	HybridVector *b = PG_GETARG_HYBRID_VECTOR(1);
	int common = Min(a->dim, b->dim);
	int order = (a->dim > b->dim) - (a->dim < b->dim);
	int i;

	for (i = 0; i < common; i++)
	{
		if (a->x[i] != b->x[i])
		{
			order = a->x[i] < b->x[i] ? -1 : 1;
			break;
		}
	}
	PG_FREE_IF_COPY(a, 0);
	PG_FREE_IF_COPY(b, 1);
	return order;
}
