/*
 * sparsevec.c
 *		Constructors of sparse vectors, and the checks shared by all inputs.
 *
 * Every existing sparse vector has 1 to HY_SPARSE_MAX_DIMS dimensions and at most
 * HY_SPARSE_MAX_ELEMENTS elements. Its indices ascend, and its values are finite and nonzero.
 *
 * The messages equal those of pgvector, because clients compare them.
 */
#include "postgres.h"

#include <math.h>

#include "core/byte_order.h"
#include "types/input.h"
#include "types/sparsevec.h"

void
hybrid_sparsevec_refuse(const HybridSparsevec *value)
{
	if (VARSIZE(value) < offsetof(HybridSparsevec, indices))
		ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED),
		                errmsg("damaged sparsevec of %zu bytes", (Size) VARSIZE(value))));
	if (hybrid_sparsevec_fits(value))
		ereport(ERROR,
		        (errcode(ERRCODE_DATA_CORRUPTED),
		         errmsg("damaged sparsevec: an index beyond its %d dimensions", value->dim)));
	ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED),
	                errmsg("damaged sparsevec: %d elements of %d dimensions in %zu bytes",
	                       value->nnz, value->dim, (Size) VARSIZE(value))));
}

HybridSparsevec *
hybrid_sparsevec_new(int32 dim, int32 nnz)
{
	Size size = offsetof(HybridSparsevec, indices) + (sizeof(int32) + sizeof(float)) * (Size) nnz;
	HybridSparsevec *result = (HybridSparsevec *) palloc0(size);

	SET_VARSIZE(result, size);
	result->dim = dim;
	result->nnz = nnz;
	return result;
}

HybridSparsevec *
hybrid_sparsevec_of_floats(const float *x, int n)
{
	HybridSparsevec *result;
	float *values;
	int nnz = 0;
	int i;

	hybrid_sparsevec_check_dim(n);
	/* A NaN counts as nonzero, and hybrid_sparsevec_check_finite refuses it below. */
	for (i = 0; i < n; i++)
		nnz += x[i] != 0;
	hybrid_sparsevec_check_nnz(nnz, n);

	result = hybrid_sparsevec_new(n, nnz);
	values = hybrid_sparsevec_values(result);
	nnz = 0;
	for (i = 0; i < n; i++)
	{
		if (x[i] != 0)
		{
			result->indices[nnz] = i;
			values[nnz++] = x[i];
		}
	}
	hybrid_sparsevec_check_finite(values, nnz);
	return result;
}

void
hybrid_sparsevec_check_dims(const HybridSparsevec *a, const HybridSparsevec *b)
{
	if (a->dim != b->dim)
		ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION),
		                errmsg("different sparsevec dimensions %d and %d", a->dim, b->dim)));
}

void
hybrid_sparsevec_check_dim(int32 dim)
{
	if (dim < 1)
		ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION),
		                errmsg("sparsevec must have at least 1 dimension")));
	if (dim > HY_SPARSE_MAX_DIMS)
		ereport(ERROR,
		        (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
		         errmsg("sparsevec cannot have more than %d dimensions", HY_SPARSE_MAX_DIMS)));
}

void
hybrid_sparsevec_check_nnz(int32 nnz, int32 dim)
{
	if (nnz < 0)
		ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION),
		                errmsg("sparsevec cannot have negative number of elements")));
	if (nnz > HY_SPARSE_MAX_ELEMENTS)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
		                errmsg("sparsevec cannot have more than %d non-zero elements",
		                       HY_SPARSE_MAX_ELEMENTS)));
	if (nnz > dim)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
		                errmsg("sparsevec cannot have more elements than dimensions")));
}

void
hybrid_sparsevec_check_indices(const HybridSparsevec *vector)
{
	switch (hy_sparse_check_indices(vector->indices, vector->nnz, vector->dim))
	{
		case HY_SPARSE_OK:
			return;
		case HY_SPARSE_OUT_OF_BOUNDS:
			ereport(ERROR,
			        (errcode(ERRCODE_DATA_EXCEPTION), errmsg("sparsevec index out of bounds")));
			break;
		case HY_SPARSE_UNORDERED:
			ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION),
			                errmsg("sparsevec indices must be in ascending order")));
			break;
		case HY_SPARSE_DUPLICATE:
			ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION),
			                errmsg("sparsevec indices must not contain duplicates")));
			break;
	}
}

void
hybrid_sparsevec_check_finite(const float *x, int n)
{
	int i = hy_first_not_finite(HY_F32, x, n);

	if (i < n)
		hybrid_refuse_not_finite("sparsevec", isnan(x[i]));
}
