/*
 * maxsim.c
 *		MaxSim of two arrays of vectors or halfvecs.
 *
 * Vectors of the same dimensions have the same size, so they follow each other in an array at a fixed stride,
 * and the kernels read them in place. An SQL query usually compares one array with each row. So the call site
 * keeps a copy of that array, and rounds the copy when the array comes a second time (core/maxsim.h).
 */
#include "postgres.h"

#include "core/maxsim.h"
#include "server/memory.h"
#include "server/report.h"
#include "types/dense.h"
#include "types/recurring.h"

/* KnownQuery: the query array that a call site keeps. */
typedef struct KnownQuery
{
	HybridRecurringArgument recurring;
	HyMatrix matrix; /* of the copy in recurring, in single precision */
	HyAllocator allocator;
	bool came_again;
	HyMaxsim *rounded; /* NULL until the query comes again, or if rounding saves no time */
} KnownQuery;

static Datum
maxsim_of_args(FunctionCallInfo fcinfo, const HybridDenseType *type, int which, double sign);
static KnownQuery *know(FunctionCallInfo fcinfo, const HybridDenseType *type, int which,
                        ArrayType *array, const HyMatrix *matrix);

PG_FUNCTION_INFO_V1(hybrid_vector_maxsim);
PG_FUNCTION_INFO_V1(hybrid_halfvec_maxsim);
PG_FUNCTION_INFO_V1(hybrid_vector_maxsim_distance);
PG_FUNCTION_INFO_V1(hybrid_halfvec_maxsim_distance);

HYBRID_DENSE_FUNCTION(maxsim, maxsim_of_args(fcinfo, type, 0, 1.0));
HYBRID_DENSE_FUNCTION(maxsim_distance, maxsim_of_args(fcinfo, type, 1, -1.0));

/*
 * maxsim_of_args: compute sign * MaxSim. Argument number `which` is the query, and the other one is the
 * document.
 */
static Datum
maxsim_of_args(FunctionCallInfo fcinfo, const HybridDenseType *type, int which, double sign)
{
	ArrayType *array[2] = {PG_GETARG_ARRAYTYPE_P(which), PG_GETARG_ARRAYTYPE_P(1 - which)};
	HyMatrix query = hybrid_vectors_of(array[0], type->dtype);
	HyMatrix document = hybrid_vectors_of(array[1], type->dtype);
	bool empty = query.rows == 0 || document.rows == 0;
	double sum = 0;

	if (!empty)
	{
		KnownQuery *known;

		if (query.dims != document.dims)
			ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION),
			                errmsg("different %s dimensions %d and %d", type->name, query.dims,
			                       document.dims)));
		known = know(fcinfo, type, which, array[0], &query);
		hybrid_check(hy_maxsim(&known->matrix, known->rounded, &document, &sum, &hybrid_cancel),
		             "compute MaxSim");
	}
	PG_FREE_IF_COPY(array[0], which);
	PG_FREE_IF_COPY(array[1], 1 - which);
	if (empty)
		PG_RETURN_NULL();
	/* 0 - 0 is 0, not -0 */
	PG_RETURN_FLOAT8(sign < 0 ? 0 - sum : sum);
}

/*
 * know: return the query of this call site. Rounds the query when a call has the same query as the previous
 * call.
 */
static KnownQuery *
know(FunctionCallInfo fcinfo, const HybridDenseType *type, int which, ArrayType *array,
     const HyMatrix *matrix)
{
	FmgrInfo *function = fcinfo->flinfo;
	bool halves = type->dtype == HY_F16;
	KnownQuery *known = function->fn_extra;
	Size row = sizeof(float) * matrix->dims;
	int i;

	if (known == NULL)
	{
		known = MemoryContextAllocZero(function->fn_mcxt, sizeof(KnownQuery));
		hybrid_recurring_init(&known->recurring, function);
		if (known->recurring.constant != which)
			known->recurring.constant = -1;
		known->allocator = hybrid_allocator(function->fn_mcxt);
		function->fn_extra = known;
	}
	if (hybrid_recurring_known(&known->recurring, array,
	                           halves ? (int) matrix->rows * matrix->dims : 0))
	{
		if (!known->came_again)
			known->rounded = hy_maxsim_create(&known->matrix, &known->allocator);
		known->came_again = true;
		return known;
	}

	hy_maxsim_free(known->rounded, &known->allocator);
	known->rounded = NULL;
	known->came_again = false;
	known->matrix = hybrid_vectors_of((ArrayType *) known->recurring.copy, type->dtype);
	if (halves)
	{
		for (i = 0; i < matrix->rows; i++)
			hy_kernels()->widen_f16(known->recurring.floats + (Size) i * matrix->dims,
			                        hy_matrix_row(matrix, i), matrix->dims);
		known->matrix.dtype = HY_F32;
		known->matrix.stride = row;
		known->matrix.data = known->recurring.floats;
	}
	return known;
}
