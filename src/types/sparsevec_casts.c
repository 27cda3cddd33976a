/*
 * sparsevec_casts.c
 *		Arrays and vectors to sparse vectors and back, and a sparse vector to sparsevec(n).
 */
#include "postgres.h"

#include "types/array.h"
#include "types/sparsevec.h"
#include "types/vector.h"

PG_FUNCTION_INFO_V1(hybrid_sparsevec_to_sparsevec);
PG_FUNCTION_INFO_V1(hybrid_vector_to_sparsevec);
PG_FUNCTION_INFO_V1(hybrid_sparsevec_to_vector);
PG_FUNCTION_INFO_V1(hybrid_array_to_sparsevec);

/* Only the dimensions matter, so a vector stored out of line stays there. */
Datum
hybrid_sparsevec_to_sparsevec(PG_FUNCTION_ARGS)
{
	Datum vector = PG_GETARG_DATUM(0);
	int32 typmod = PG_GETARG_INT32(1);

	if (typmod != -1)
	{
		Size header = offsetof(HybridSparsevec, indices) - VARHDRSZ;
		HybridSparsevec *head = (HybridSparsevec *) PG_DETOAST_DATUM_SLICE(vector, 0, header);

		hybrid_vector_check_typmod(typmod, head->dim);
		PG_FREE_IF_COPY(head, 0);
	}
	PG_RETURN_DATUM(vector);
}

Datum
hybrid_vector_to_sparsevec(PG_FUNCTION_ARGS)
{
	HybridVector *vector = PG_GETARG_HYBRID_VECTOR(0);
	int32 typmod = PG_GETARG_INT32(1);

	hybrid_vector_check_typmod(typmod, vector->dim);
	PG_RETURN_HYBRID_SPARSEVEC(hybrid_sparsevec_of_floats(vector->x, vector->dim));
}

Datum
hybrid_sparsevec_to_vector(PG_FUNCTION_ARGS)
{
	HybridSparsevec *vector = PG_GETARG_HYBRID_SPARSEVEC(0);
	int32 typmod = PG_GETARG_INT32(1);
	const float *values = hybrid_sparsevec_values(vector);
	HybridVector *result;
	int i;

	hybrid_vector_check_dim(vector->dim);
	hybrid_vector_check_typmod(typmod, vector->dim);
	result = hybrid_vector_new(vector->dim);
	for (i = 0; i < vector->nnz; i++)
		result->x[vector->indices[i]] = values[i];
	PG_RETURN_HYBRID_VECTOR(result);
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
	hybrid_vector_check_typmod(typmod, n);
	x = palloc(sizeof(float) * (Size) n);
	hybrid_array_floats(array, x, n);
	result = hybrid_sparsevec_of_floats(x, n);
	pfree(x);
	PG_RETURN_HYBRID_SPARSEVEC(result);
}
