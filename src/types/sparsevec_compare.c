/*
 * sparsevec_compare.c
 *		The sort order of sparse vectors, for sorting, DISTINCT and btree. Sparse vectors sort
 *		like dense vectors with the same elements.
 */
#include "postgres.h"

#include "types/sparsevec.h"

static int compare_args(FunctionCallInfo fcinfo);

PG_FUNCTION_INFO_V1(hybrid_sparsevec_lt);
PG_FUNCTION_INFO_V1(hybrid_sparsevec_le);
PG_FUNCTION_INFO_V1(hybrid_sparsevec_eq);
PG_FUNCTION_INFO_V1(hybrid_sparsevec_ne);
PG_FUNCTION_INFO_V1(hybrid_sparsevec_ge);
PG_FUNCTION_INFO_V1(hybrid_sparsevec_gt);
PG_FUNCTION_INFO_V1(hybrid_sparsevec_cmp);

Datum
hybrid_sparsevec_lt(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare_args(fcinfo) < 0);
}

Datum
hybrid_sparsevec_le(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare_args(fcinfo) <= 0);
}

Datum
hybrid_sparsevec_eq(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare_args(fcinfo) == 0);
}

Datum
hybrid_sparsevec_ne(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare_args(fcinfo) != 0);
}

Datum
hybrid_sparsevec_ge(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare_args(fcinfo) >= 0);
}

Datum
hybrid_sparsevec_gt(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare_args(fcinfo) > 0);
}

Datum
hybrid_sparsevec_cmp(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(compare_args(fcinfo));
}

/*
 * compare_args: compare the two arguments. Frees detoasted copies, because the support functions of
 * a btree must not leak memory.
 */
static int
compare_args(FunctionCallInfo fcinfo)
{
	HybridSparsevec *a = PG_GETARG_HYBRID_SPARSEVEC(0);
	HybridSparsevec *b = PG_GETARG_HYBRID_SPARSEVEC(1);
	HySparse left = hybrid_sparsevec_view(a);
	HySparse right = hybrid_sparsevec_view(b);
	int order = hy_sparse_compare(&left, &right);

	PG_FREE_IF_COPY(a, 0);
	PG_FREE_IF_COPY(b, 1);
	return order;
}
