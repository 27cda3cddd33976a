/*
 * vector.c
 *		Making a vector, and the checks that every way into the type shares.
 *
 * A vector that exists has 1 to HYBRID_MAX_DIM elements, each of them finite: input, casts,
 * arithmetic and aggregates see to it, so that distances and indexes need not look again.
 *
 * The messages are those of pgvector, since clients compare them.
 */
#include "postgres.h"

#include <math.h>

#include "types/vector.h"

HybridVector *
hybrid_vector_new(int dim)
{
	Size size = HYBRID_VECTOR_SIZE(dim);
	HybridVector *result = (HybridVector *) palloc0(size);

	SET_VARSIZE(result, size);
	result->dim = (int16) dim;
	return result;
}

/*
 * A vector of any size is stored out of line, uncompressed: the slice reads one chunk of it
 * instead of all.
 */
int
hybrid_vector_peek_dims(Datum datum)
{
	Size header = offsetof(HybridVector, x) - VARHDRSZ;
	HybridVector *head = (HybridVector *) PG_DETOAST_DATUM_SLICE(datum, 0, header);
	int dim = head->dim;

	if ((Pointer) head != DatumGetPointer(datum))
		pfree(head);
	return dim;
}

void
hybrid_vector_check_dims(const HybridVector *a, const HybridVector *b)
{
	if (a->dim != b->dim)
		ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION),
		                errmsg("different vector dimensions %d and %d", a->dim, b->dim)));
}

void
hybrid_vector_check_dim(int dim)
{
	if (dim < 1)
		ereport(ERROR,
		        (errcode(ERRCODE_DATA_EXCEPTION), errmsg("vector must have at least 1 dimension")));
	if (dim > HYBRID_MAX_DIM)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
		                errmsg("vector cannot have more than %d dimensions", HYBRID_MAX_DIM)));
}

void
hybrid_vector_check_typmod(int32 typmod, int dim)
{
	if (typmod != -1 && typmod != dim)
		ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION),
		                errmsg("expected %d dimensions, not %d", typmod, dim)));
}

void
hybrid_vector_check_finite(const float *x, int n)
{
	int i;

	for (i = 0; i < n; i++)
	{
		if (isnan(x[i]))
			ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION), errmsg("NaN not allowed in vector")));
		if (isinf(x[i]))
			ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION),
			                errmsg("infinite value not allowed in vector")));
	}
}
