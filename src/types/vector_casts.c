/*
 * vector_casts.c
 *		Arrays to vectors and back, and a vector to vector(n).
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/fmgrprotos.h"

#include "types/vector.h"

static void floats_of_array(ArrayType *array, float *x, int n);
static void floats_of_numerics(ArrayType *array, float *x, int n);

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
	int n = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	HybridVector *result;

	if (ARR_NDIM(array) > 1)
		ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION), errmsg("array must be 1-D")));
	if (array_contains_nulls(array))
		ereport(ERROR,
		        (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("array must not contain nulls")));
	hybrid_vector_check_dim(n);
	hybrid_vector_check_typmod(typmod, n);

	result = hybrid_vector_new(n);
	floats_of_array(array, result->x, n);
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

/* Without nulls, the elements of a fixed-length type lie one after the other. */
static void
floats_of_array(ArrayType *array, float *x, int n)
{
	int i;

	switch (ARR_ELEMTYPE(array))
	{
		case FLOAT4OID:
			memcpy(x, ARR_DATA_PTR(array), sizeof(float) * n);
			break;
		case FLOAT8OID:
			for (i = 0; i < n; i++)
				x[i] = (float) ((const float8 *) ARR_DATA_PTR(array))[i];
			break;
		case INT4OID:
			for (i = 0; i < n; i++)
				x[i] = (float) ((const int32 *) ARR_DATA_PTR(array))[i];
			break;
		case NUMERICOID:
			floats_of_numerics(array, x, n);
			break;
		default:
			ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION), errmsg("unsupported array type")));
	}
}

static void
floats_of_numerics(ArrayType *array, float *x, int n)
{
	Datum *elements;
	int i;

	deconstruct_array(array, NUMERICOID, -1, false, TYPALIGN_INT, &elements, NULL, &n);
	for (i = 0; i < n; i++)
		x[i] = DatumGetFloat4(DirectFunctionCall1(numeric_float4, elements[i]));
	pfree(elements);
}
