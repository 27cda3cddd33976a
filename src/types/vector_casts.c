/*
 * vector_casts.c
 *		Arrays to vectors and back, and a vector to vector(n).
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/array.h"

#include "types/array.h"
#include "types/vector.h"

PG_FUNCTION_INFO_V1(hybrid_vector_to_vector);
PG_FUNCTION_INFO_V1(hybrid_array_to_vector);
PG_FUNCTION_INFO_V1(hybrid_vector_to_float4);

/* Only the dimensions matter, so a vector stored out of line stays there. */
Datum
hybrid_vector_to_vector(PG_FUNCTION_ARGS)
{
	Datum vector = PG_GETARG_DATUM(0);
	int32 typmod = PG_GETARG_INT32(1);

	if (typmod != -1)
		hybrid_vector_check_typmod(typmod, hybrid_vector_peek_dims(vector));
	PG_RETURN_DATUM(vector);
}

Datum
hybrid_array_to_vector(PG_FUNCTION_ARGS)
{
	ArrayType *array = PG_GETARG_ARRAYTYPE_P(0);
	int32 typmod = PG_GETARG_INT32(1);
	int n = hybrid_array_length(array);
	HybridVector *result;

	hybrid_vector_check_dim(n);
	hybrid_vector_check_typmod(typmod, n);

	result = hybrid_vector_new(n);
	hybrid_array_floats(array, result->x, n);
	hybrid_vector_check_finite(result->x, n);
	PG_RETURN_HYBRID_VECTOR(result);
}

Datum
hybrid_vector_to_float4(PG_FUNCTION_ARGS)
{
	HybridVector *vector = PG_GETARG_HYBRID_VECTOR(0);
	Size data = sizeof(float) * vector->dim;
	Size size = ARR_OVERHEAD_NONULLS(1) + data;
	ArrayType *result = (ArrayType *) palloc0(size);

	SET_VARSIZE(result, size);
	result->ndim = 1;
	result->dataoffset = 0;
	result->elemtype = FLOAT4OID;
	ARR_DIMS(result)[0] = vector->dim;
	ARR_LBOUND(result)[0] = 1;
	memcpy(ARR_DATA_PTR(result), vector->x, data);
	PG_RETURN_ARRAYTYPE_P(result);
}
