/*
 * sparsevec_casts.c
 *		Casts from arrays and dense types to sparsevec, from sparsevec to dense types, and of a
 *		sparsevec to its own type with a modifier.
 */
#include "postgres.h"

#include "types/array.h"
#include "types/dense.h"
#include "types/sparsevec.h"

static Datum from_dense(FunctionCallInfo fcinfo, const HybridDenseType *type);
static Datum to_dense(FunctionCallInfo fcinfo, const HybridDenseType *type);

PG_FUNCTION_INFO_V1(hybrid_sparsevec_to_sparsevec);
PG_FUNCTION_INFO_V1(hybrid_vector_to_sparsevec);
PG_FUNCTION_INFO_V1(hybrid_halfvec_to_sparsevec);
PG_FUNCTION_INFO_V1(hybrid_sparsevec_to_vector);
PG_FUNCTION_INFO_V1(hybrid_sparsevec_to_halfvec);
PG_FUNCTION_INFO_V1(hybrid_array_to_sparsevec);

/*
 * hybrid_sparsevec_to_sparsevec: check the dimensions against the modifier. Reads only the header
 * of a value, so a value stored out of line is not fetched as a whole.
 */
Datum
hybrid_sparsevec_to_sparsevec(PG_FUNCTION_ARGS)
{
	Datum vector = PG_GETARG_DATUM(0);
	int32 typmod = PG_GETARG_INT32(1);

	if (typmod != -1)
	{
		Size header = offsetof(HybridSparsevec, indices) - VARHDRSZ;
		HybridSparsevec *head = (HybridSparsevec *) PG_DETOAST_DATUM_SLICE(vector, 0, header);

		hybrid_dense_check_typmod(typmod, head->dim);
		PG_FREE_IF_COPY(head, 0);
	}
	PG_RETURN_DATUM(vector);
}

Datum
hybrid_vector_to_sparsevec(PG_FUNCTION_ARGS)
{
	return from_dense(fcinfo, &hybrid_vector_type);
}

Datum
hybrid_halfvec_to_sparsevec(PG_FUNCTION_ARGS)
{
	return from_dense(fcinfo, &hybrid_halfvec_type);
}

Datum
hybrid_sparsevec_to_vector(PG_FUNCTION_ARGS)
{
	return to_dense(fcinfo, &hybrid_vector_type);
}

Datum
hybrid_sparsevec_to_halfvec(PG_FUNCTION_ARGS)
{
	return to_dense(fcinfo, &hybrid_halfvec_type);
}

Datum
hybrid_array_to_sparsevec(PG_FUNCTION_ARGS)
{
	ArrayType *array = PG_GETARG_ARRAYTYPE_P(0);
	int32 typmod = PG_GETARG_INT32(1);
	int n = hybrid_array_length(array);
	HybridSparsevec *result;
	float *x;

	hybrid_sparsevec_check_dim(n);
	hybrid_dense_check_typmod(typmod, n);
	x = palloc(sizeof(float) * (Size) n);
	hybrid_array_floats(array, x, n);
	result = hybrid_sparsevec_of_floats(x, n);
	pfree(x);
	PG_RETURN_HYBRID_SPARSEVEC(result);
}

static Datum
from_dense(FunctionCallInfo fcinfo, const HybridDenseType *type)
{
	HybridDense *value = PG_GETARG_HYBRID_DENSE(0, type->dtype);
	int32 typmod = PG_GETARG_INT32(1);
	HybridSparsevec *result;
	float *x;

	hybrid_dense_check_typmod(typmod, value->dim);
	x = hybrid_dense_floats(type, value);
	result = hybrid_sparsevec_of_floats(x, value->dim);
	hybrid_dense_free_floats(value, x);
	PG_RETURN_HYBRID_SPARSEVEC(result);
}

static Datum
to_dense(FunctionCallInfo fcinfo, const HybridDenseType *type)
{
	HybridSparsevec *vector = PG_GETARG_HYBRID_SPARSEVEC(0);
	int32 typmod = PG_GETARG_INT32(1);
	const float *values = hybrid_sparsevec_values(vector);
	HybridDense *result;
	float *x;
	int i;

	hybrid_dense_check_dim(type, vector->dim);
	hybrid_dense_check_typmod(typmod, vector->dim);
	result = hybrid_dense_new(type, vector->dim);
	x = hybrid_dense_floats(type, result);
	for (i = 0; i < vector->nnz; i++)
		x[vector->indices[i]] = values[i];
	hybrid_dense_assign(type, result, x);
	hybrid_dense_free_floats(result, x);
	PG_RETURN_HYBRID_DENSE(result);
}
