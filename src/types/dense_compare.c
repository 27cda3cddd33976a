/*
 * dense_compare.c
 *		The sort order of vector and halfvec, for sorting, DISTINCT and btree.
 *
 * As with arrays, the first position at which two values differ decides. If one value is a prefix
 * of the other, the shorter value is less. -0 equals 0.
 */
#include "postgres.h"

#include "types/dense.h"

static int compare_args(FunctionCallInfo fcinfo, const HybridDenseType *type);
static pg_attribute_always_inline int
compare(HyDtype dtype, const HybridDense *a, const HybridDense *b);

PG_FUNCTION_INFO_V1(hybrid_vector_lt);
PG_FUNCTION_INFO_V1(hybrid_halfvec_lt);
PG_FUNCTION_INFO_V1(hybrid_vector_le);
PG_FUNCTION_INFO_V1(hybrid_halfvec_le);
PG_FUNCTION_INFO_V1(hybrid_vector_eq);
PG_FUNCTION_INFO_V1(hybrid_halfvec_eq);
PG_FUNCTION_INFO_V1(hybrid_vector_ne);
PG_FUNCTION_INFO_V1(hybrid_halfvec_ne);
PG_FUNCTION_INFO_V1(hybrid_vector_ge);
PG_FUNCTION_INFO_V1(hybrid_halfvec_ge);
PG_FUNCTION_INFO_V1(hybrid_vector_gt);
PG_FUNCTION_INFO_V1(hybrid_halfvec_gt);
PG_FUNCTION_INFO_V1(hybrid_vector_cmp);
PG_FUNCTION_INFO_V1(hybrid_halfvec_cmp);

HYBRID_DENSE_FUNCTION(lt, BoolGetDatum(compare_args(fcinfo, type) < 0));
HYBRID_DENSE_FUNCTION(le, BoolGetDatum(compare_args(fcinfo, type) <= 0));
HYBRID_DENSE_FUNCTION(eq, BoolGetDatum(compare_args(fcinfo, type) == 0));
HYBRID_DENSE_FUNCTION(ne, BoolGetDatum(compare_args(fcinfo, type) != 0));
HYBRID_DENSE_FUNCTION(ge, BoolGetDatum(compare_args(fcinfo, type) >= 0));
HYBRID_DENSE_FUNCTION(gt, BoolGetDatum(compare_args(fcinfo, type) > 0));
HYBRID_DENSE_FUNCTION(cmp, Int32GetDatum(compare_args(fcinfo, type)));

/*
 * compare_args: compare the two arguments. Frees detoasted copies, because the support functions of
 * a btree must not leak memory.
 */
static int
compare_args(FunctionCallInfo fcinfo, const HybridDenseType *type)
{
	HybridDense *a = PG_GETARG_HYBRID_DENSE(0, type->dtype);
	HybridDense *b = PG_GETARG_HYBRID_DENSE(1, type->dtype);
	/* compare is inlined for each type, so the loop contains no branch on the type */
	int order = type->dtype == HY_F32 ? compare(HY_F32, a, b) : compare(HY_F16, a, b);

	PG_FREE_IF_COPY(a, 0);
	PG_FREE_IF_COPY(b, 1);
	return order;
}

static pg_attribute_always_inline int
compare(HyDtype dtype, const HybridDense *a, const HybridDense *b)
{
	int common = Min(a->dim, b->dim);
	int i;

	for (i = 0; i < common; i++)
	{
		float x = hybrid_dense_element(dtype, a, i);
		float y = hybrid_dense_element(dtype, b, i);

		if (x != y)
			return x < y ? -1 : 1;
	}
	return (a->dim > b->dim) - (a->dim < b->dim);
}
