/*
 * dense_casts.c
 *		Casts between arrays and vector or halfvec, between vector and halfvec, and of a value
 *		to its own type with a modifier.
 */
#include "postgres.h"

#include "catalog/pg_type.h"

#include "types/array.h"
#include "types/dense.h"

static Datum check_modifier(FunctionCallInfo fcinfo);
static Datum from_array(FunctionCallInfo fcinfo, const HybridDenseType *type);
static Datum to_array(FunctionCallInfo fcinfo, const HybridDenseType *type);
static Datum
convert(FunctionCallInfo fcinfo, const HybridDenseType *from, const HybridDenseType *to);

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

/*
 * check_modifier: check the dimensions against the modifier. Reads only the header of a value, so a
 * value stored out of line is not fetched as a whole.
 */
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
	int n = hybrid_array_length(array);
	HybridDense *result;
	float *x;

	hybrid_dense_check_dim(type, n);
	hybrid_dense_check_typmod(typmod, n);

	result = hybrid_dense_new(type, n);
	x = hybrid_dense_floats(type, result);
	hybrid_array_floats(array, x, n);
	hybrid_dense_assign(type, result, x);
	hybrid_dense_free_floats(result, x);
	PG_RETURN_HYBRID_DENSE(result);
}

static Datum
to_array(FunctionCallInfo fcinfo, const HybridDenseType *type)
{
	HybridDense *value = PG_GETARG_HYBRID_DENSE(0, type->dtype);
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
	HybridDense *value = PG_GETARG_HYBRID_DENSE(0, from->dtype);
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
