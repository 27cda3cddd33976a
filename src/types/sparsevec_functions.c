/*
 * sparsevec_functions.c
 *		Functions of one sparse vector: norm and normalization.
 */
#include "postgres.h"

#include "types/sparsevec.h"

PG_FUNCTION_INFO_V1(hybrid_sparsevec_l2_norm);
PG_FUNCTION_INFO_V1(hybrid_sparsevec_l2_normalize);

Datum
hybrid_sparsevec_l2_norm(PG_FUNCTION_ARGS)
{
	HybridSparsevec *vector = PG_GETARG_HYBRID_SPARSEVEC(0);
	HySparse view = hybrid_sparsevec_view(vector);

	PG_RETURN_FLOAT8(hy_sparse_norm(&view));
}

/*
 * hybrid_sparsevec_l2_normalize: divide the elements by the norm. A zero vector has no direction
 * and stays zero. No quotient exceeds 1, so no quotient overflows. Quotients that underflow to zero
 * are not stored.
 */
Datum
hybrid_sparsevec_l2_normalize(PG_FUNCTION_ARGS)
{
	HybridSparsevec *vector = PG_GETARG_HYBRID_SPARSEVEC(0);
	const float *values = hybrid_sparsevec_values(vector);
	HySparse view = hybrid_sparsevec_view(vector);
	double norm = hy_sparse_norm(&view);
	float *quotients = palloc(sizeof(float) * (Size) vector->nnz);
	HybridSparsevec *result;
	int nnz = 0;
	int n = 0;
	int i;

	for (i = 0; i < vector->nnz; i++)
	{
		quotients[i] = (float) (values[i] / norm);
		nnz += quotients[i] != 0;
	}
	result = hybrid_sparsevec_new(vector->dim, nnz);
	for (i = 0; i < vector->nnz; i++)
	{
		if (quotients[i] != 0)
		{
			result->indices[n] = vector->indices[i];
			hybrid_sparsevec_values(result)[n++] = quotients[i];
		}
	}
	pfree(quotients);
	PG_RETURN_HYBRID_SPARSEVEC(result);
}
