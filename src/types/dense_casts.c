/*
 * dense_casts.c
 *		Arrays to vectors and halfvecs and back, one of the two types to the other, and a value to
 *		its own type with a modifier.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/fmgrprotos.h"

#include "types/dense.h"

static Datum check_modifier(FunctionCallInfo fcinfo);
static Datum from_array(FunctionCallInfo fcinfo, const HybridDenseType *type);
static Datum to_array(FunctionCallInfo fcinfo, const HybridDenseType *type);
static Datum
convert(FunctionCallInfo fcinfo, const HybridDenseType *from, const HybridDenseType *to);
static void floats_of_array(ArrayType *array, float *x, int n);
static void floats_of_numerics(ArrayType *array, float *x, int n);

PG_FUNCTION_INFO_V1(hybrid_vector_to_vector);
PG_FUNCTION_INFO_V1(hybrid_halfvec_to_halfvec);
PG_FUNCTION_INFO_V1(hybrid_vector_to_halfvec);
PG_FUNCTION_INFO_V1(hybrid_halfvec_to_vector);
PG_FUNCTION_INFO_V1(hybrid_vector_from_array);
PG_FUNCTION_INFO_V1(hybrid_halfvec_from_array);
PG_FUNCTION_INFO_V1(hybrid_vector_to_float4);
PG_FUNCTION_INFO_V1(hybrid_halfvec_to_float4);

HYBRID_DENSE_FUNCTION(from_array, from_array(fcinfo, type));
HYBRID_DENSE_FUNCTION(to_float4, to_array(fcinfo, type));

Datum
hybrid_vector_to_vector(PG_FUNCTION_ARGS)
{
	return check_modifier(fcinfo);
}

Datum
hybrid_halfvec_to_halfvec(PG_FUNCTION_ARGS)
{
	return check_modifier(fcinfo);
}

Datum
hybrid_vector_to_halfvec(PG_FUNCTION_ARGS)
{
	return convert(fcinfo, &hybrid_vector_type, &hybrid_halfvec_type);
}

Datum
hybrid_halfvec_to_vector(PG_FUNCTION_ARGS)
{
	return convert(fcinfo, &hybrid_halfvec_type, &hybrid_vector_type);
}

/* Only the dimensions matter, so a value stored out of line stays there. */
static Datum
check_modifier(FunctionCallInfo fcinfo)
{
	Datum value = PG_GETARG_DATUM(0);
	int32 typmod = PG_GETARG_INT32(1);

	if (typmod != -1)
		hybrid_dense_check_typmod(typmod, hybrid_dense_peek_dims(value));
	PG_RETURN_DATUM(value);
}

static Datum
from_array(FunctionCallInfo fcinfo, const HybridDenseType *type)
{
	ArrayType *array = PG_GETARG_ARRAYTYPE_P(0);
	int32 typmod = PG_GETARG_INT32(1);
	int n = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	HybridDense *result;
	float *x;

	if (ARR_NDIM(array) > 1)
		ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION), errmsg("array must be 1-D")));
	if (array_contains_nulls(array))
		ereport(ERROR,
		        (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("array must not contain nulls")));
	hybrid_dense_check_dim(type, n);
	hybrid_dense_check_typmod(typmod, n);

	result = hybrid_dense_new(type, n);
	x = hybrid_dense_floats(type, result);
	floats_of_array(array, x, n);
	hybrid_dense_assign(type, result, x);
	hybrid_dense_free_floats(result, x);
	PG_RETURN_HYBRID_DENSE(result);
}

static Datum
to_array(FunctionCallInfo fcinfo, const HybridDenseType *type)
{
	HybridDense *value = PG_GETARG_HYBRID_DENSE(0);
	float *x = hybrid_dense_floats(type, value);
	Size data = sizeof(float) * (Size) value->dim;
	Size size = ARR_OVERHEAD_NONULLS(1) + data;
	ArrayType *result = (ArrayType *) palloc0(size);

	SET_VARSIZE(result, size);
	result->ndim = 1;
	result->dataoffset = 0;
	result->elemtype = FLOAT4OID;
	ARR_DIMS(result)[0] = value->dim;
	ARR_LBOUND(result)[0] = 1;
	memcpy(ARR_DATA_PTR(result), x, data);
	hybrid_dense_free_floats(value, x);
	PG_RETURN_ARRAYTYPE_P(result);
}

static Datum
convert(FunctionCallInfo fcinfo, const HybridDenseType *from, const HybridDenseType *to)
{
	HybridDense *value = PG_GETARG_HYBRID_DENSE(0);
	int32 typmod = PG_GETARG_INT32(1);
	HybridDense *result;
	float *x;

	hybrid_dense_check_typmod(typmod, value->dim);
	result = hybrid_dense_new(to, value->dim);
	x = hybrid_dense_floats(from, value);
	hybrid_dense_assign(to, result, x);
	hybrid_dense_free_floats(value, x);
	PG_RETURN_HYBRID_DENSE(result);
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
