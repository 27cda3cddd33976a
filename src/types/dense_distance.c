/*
 * dense_distance.c
 *		Distances of one pair of vectors or halfvecs, at once and on the CPU.
 *
 * One pair is too little work to send anywhere; batches go through the dispatcher and come back
 * with the same bits (core/distance.h).
 *
 * But a query computes many pairs, one after the other, mostly of a row and one value that is always
 * the same.  A Call remembers what that saves: where the next row will lie (core/look_ahead.h), and
 * the norm of a constant.
 */
#include "postgres.h"

#include <math.h>

#include "core/look_ahead.h"
#include "nodes/primnodes.h"
#include "types/dense.h"

/* Smaller values are with the processor before they are missed. */
#define LEAST_TO_FETCH 512
/* What comes before the value in its row, and is read first. */
#define ROW_HEAD HY_CACHE_LINE

typedef enum Measure
{
	MEASURE_L2,
	MEASURE_L2_SQUARED,
	MEASURE_L1,
	MEASURE_COSINE,
	MEASURE_INNER_PRODUCT,
	MEASURE_NEGATIVE_INNER_PRODUCT,
	MEASURE_SPHERICAL
} Measure;

/* Call: one place in a query where distances are computed, for as long as the query runs. */
typedef struct Call
{
	HyLookAhead ahead[2]; /* of each argument */
	int constant;         /* the argument that is a constant, or -1 */
	bool normed;          /* norm_sq is that of the constant */
	float norm_sq;
} Call;

static Datum measure_args(FunctionCallInfo fcinfo, const HybridDenseType *type, Measure measure);
static Call *call_of(FunctionCallInfo fcinfo);
static int constant_argument(const FmgrInfo *function);
static double measure_halves(Call *call, Measure measure, const void *a, const void *b, int dims);
static double
measure_pair(Call *call, Measure measure, const float *a, HyDtype dtype, const void *b, int dims);
static double cosine_distance(Call *call, const float *a, HyDtype dtype, const void *b, int dims);
static double spherical_distance(double inner_product);

PG_FUNCTION_INFO_V1(hybrid_vector_l2_distance);
PG_FUNCTION_INFO_V1(hybrid_halfvec_l2_distance);
PG_FUNCTION_INFO_V1(hybrid_vector_l2_squared_distance);
PG_FUNCTION_INFO_V1(hybrid_halfvec_l2_squared_distance);
PG_FUNCTION_INFO_V1(hybrid_vector_l1_distance);
PG_FUNCTION_INFO_V1(hybrid_halfvec_l1_distance);
PG_FUNCTION_INFO_V1(hybrid_vector_cosine_distance);
PG_FUNCTION_INFO_V1(hybrid_halfvec_cosine_distance);
PG_FUNCTION_INFO_V1(hybrid_vector_inner_product);
PG_FUNCTION_INFO_V1(hybrid_halfvec_inner_product);
PG_FUNCTION_INFO_V1(hybrid_vector_negative_inner_product);
PG_FUNCTION_INFO_V1(hybrid_halfvec_negative_inner_product);
PG_FUNCTION_INFO_V1(hybrid_vector_spherical_distance);
PG_FUNCTION_INFO_V1(hybrid_halfvec_spherical_distance);

HYBRID_DENSE_FUNCTION(l2_distance, measure_args(fcinfo, type, MEASURE_L2));
HYBRID_DENSE_FUNCTION(l2_squared_distance, measure_args(fcinfo, type, MEASURE_L2_SQUARED));
HYBRID_DENSE_FUNCTION(l1_distance, measure_args(fcinfo, type, MEASURE_L1));
HYBRID_DENSE_FUNCTION(cosine_distance, measure_args(fcinfo, type, MEASURE_COSINE));
HYBRID_DENSE_FUNCTION(inner_product, measure_args(fcinfo, type, MEASURE_INNER_PRODUCT));
HYBRID_DENSE_FUNCTION(negative_inner_product,
                      measure_args(fcinfo, type, MEASURE_NEGATIVE_INNER_PRODUCT));
HYBRID_DENSE_FUNCTION(spherical_distance, measure_args(fcinfo, type, MEASURE_SPHERICAL));

/*
 * Detoasted copies are freed: in a sort or an index scan these functions may run many times before
 * their memory context is reset.
 *
 * Some of the next row is asked for before the distance of this one and the rest after it: a processor
 * waits where it is asked for more than it can have on its way at a time.
 */
static Datum
measure_args(FunctionCallInfo fcinfo, const HybridDenseType *type, Measure measure)
{
	HybridDense *value[2] = {PG_GETARG_HYBRID_DENSE(0), PG_GETARG_HYBRID_DENSE(1)};
	Size size = VARSIZE(value[0]);
	Size early = size / 4;
	Call *call = size >= LEAST_TO_FETCH ? call_of(fcinfo) : NULL;
	uintptr_t next[2] = {0, 0};
	const HybridDense *a;
	const HybridDense *b;
	double distance;
	int first;
	int i;

	hybrid_dense_check_dims(type, value[0], value[1]);
	for (i = 0; call != NULL && i < 2; i++)
	{
		/* a detoasted copy lies anywhere */
		if ((Pointer) value[i] == PG_GETARG_POINTER(i))
			next[i] = hy_look_ahead(&call->ahead[i], value[i]);
		if (next[i] != 0)
			hy_fetch(next[i] - ROW_HEAD, early);
	}

	/* it does not matter to a distance which comes first */
	first = call != NULL && call->constant == 1 ? 1 : 0;
	a = value[first];
	b = value[1 - first];
	if (type->dtype == HY_F32)
		distance = measure_pair(call, measure, hybrid_dense_singles(a), HY_F32, b->x, a->dim);
	else
		distance = measure_halves(call, measure, a->x, b->x, a->dim);

	for (i = 0; i < 2; i++)
	{
		if (next[i] != 0)
			hy_fetch(next[i] - ROW_HEAD + early, size + ROW_HEAD - early);
	}
	PG_FREE_IF_COPY(value[0], 0);
	PG_FREE_IF_COPY(value[1], 1);
	PG_RETURN_FLOAT8(distance);
}

/* call_of: NULL where the function is called without a place of its own. */
static Call *
call_of(FunctionCallInfo fcinfo)
{
	FmgrInfo *function = fcinfo->flinfo;

	if (function == NULL)
		return NULL;
	if (function->fn_extra == NULL)
	{
		Call *call = MemoryContextAllocZero(function->fn_mcxt, sizeof(Call));

		call->constant = constant_argument(function);
		function->fn_extra = call;
	}
	return (Call *) function->fn_extra;
}

/*
 * Only a Const will do.  PostgreSQL calls parameters stable, too, but an expression of PL/pgSQL is
 * kept, with what it remembers, while its variables change.
 */
static int
constant_argument(const FmgrInfo *function)
{
	Node *expr = function->fn_expr;
	List *args = NIL;
	int i;

	if (expr != NULL && IsA(expr, OpExpr))
		args = ((OpExpr *) expr)->args;
	else if (expr != NULL && IsA(expr, FuncExpr))
		args = ((FuncExpr *) expr)->args;
	for (i = 0; i < list_length(args); i++)
	{
		if (IsA(list_nth(args, i), Const))
			return i;
	}
	return -1;
}

/* Kernels take one side as floats. */
static double
measure_halves(Call *call, Measure measure, const void *a, const void *b, int dims)
{
	float widened[HYBRID_MAX_DIM];

	hy_kernels()->widen_f16(widened, a, dims);
	return measure_pair(call, measure, widened, HY_F16, b, dims);
}

/* a is the constant, where there is one. */
static double
measure_pair(Call *call, Measure measure, const float *a, HyDtype dtype, const void *b, int dims)
{
	switch (measure)
	{
		case MEASURE_L2:
			return hy_distance_to(HY_METRIC_L2, a, dtype, b, dims);
		case MEASURE_L2_SQUARED:
			return hy_l2_squared(a, dtype, b, dims);
		case MEASURE_L1:
			return hy_distance_to(HY_METRIC_L1, a, dtype, b, dims);
		case MEASURE_COSINE:
			return cosine_distance(call, a, dtype, b, dims);
		case MEASURE_INNER_PRODUCT:
			return -hy_distance_to(HY_METRIC_IP, a, dtype, b, dims);
		case MEASURE_NEGATIVE_INNER_PRODUCT:
			return hy_distance_to(HY_METRIC_IP, a, dtype, b, dims);
		case MEASURE_SPHERICAL:
			return spherical_distance(-hy_distance_to(HY_METRIC_IP, a, dtype, b, dims));
	}
	elog(ERROR, "unrecognized measure: %d", (int) measure);
}

static double
cosine_distance(Call *call, const float *a, HyDtype dtype, const void *b, int dims)
{
	if (call == NULL || call->constant < 0)
		return hy_distance_to(HY_METRIC_COSINE, a, dtype, b, dims);
	if (!call->normed)
	{
		call->norm_sq = hy_norm_sq(HY_F32, a, dims);
		call->normed = true;
	}
	return hy_cosine_to(a, call->norm_sq, dtype, b, dims);
}

/* The angle between two vectors of length 1, of which rounding may have made a little more. */
static double
spherical_distance(double inner_product)
{
	return acos(Max(-1.0, Min(1.0, inner_product))) / M_PI;
}
