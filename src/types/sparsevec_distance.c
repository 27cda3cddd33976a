/*
 * sparsevec_distance.c
 *		Distances between two sparse vectors.
 */
#include "postgres.h"

#include "core/distance.h"
#include "types/call_site.h"
#include "types/sparsevec.h"

/*
 * bytes of the next row that are prefetched before the distance of this row is computed; the rest
 * is prefetched afterwards
 */
#define EARLY 1024

typedef enum Measure
{
	MEASURE_L2,
	MEASURE_L2_SQUARED,
	MEASURE_IP,
	MEASURE_COSINE,
	MEASURE_L1
} Measure;

static double measure_args(FunctionCallInfo fcinfo, Measure measure);
static double
measure_with(HybridCallSite *call, Measure measure, HybridSparsevec *a, HybridSparsevec *b);
static void look_up(HybridRecurringArgument *recurring, HybridSparsevec *value);
static double measure_known(HybridRecurringArgument *known, Measure measure, const HySparse *b);
static double measure_pair(Measure measure, const HySparse *a, const HySparse *b);

PG_FUNCTION_INFO_V1(hybrid_sparsevec_l2_distance);
PG_FUNCTION_INFO_V1(hybrid_sparsevec_l2_squared_distance);
PG_FUNCTION_INFO_V1(hybrid_sparsevec_inner_product);
PG_FUNCTION_INFO_V1(hybrid_sparsevec_negative_inner_product);
PG_FUNCTION_INFO_V1(hybrid_sparsevec_cosine_distance);
PG_FUNCTION_INFO_V1(hybrid_sparsevec_l1_distance);

Datum
hybrid_sparsevec_l2_distance(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(measure_args(fcinfo, MEASURE_L2));
}

Datum
hybrid_sparsevec_l2_squared_distance(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(measure_args(fcinfo, MEASURE_L2_SQUARED));
}

Datum
hybrid_sparsevec_inner_product(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(-measure_args(fcinfo, MEASURE_IP));
}

Datum
hybrid_sparsevec_negative_inner_product(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(measure_args(fcinfo, MEASURE_IP));
}

Datum
hybrid_sparsevec_cosine_distance(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(measure_args(fcinfo, MEASURE_COSINE));
}

Datum
hybrid_sparsevec_l1_distance(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(measure_args(fcinfo, MEASURE_L1));
}

/*
 * measure_args: compute the distance of the two arguments. Frees detoasted copies, because a sort
 * or an index scan may call this function many times before its memory context is reset.
 */
static double
measure_args(FunctionCallInfo fcinfo, Measure measure)
{
	HybridSparsevec *a = PG_GETARG_HYBRID_SPARSEVEC(0);
	HybridSparsevec *b = PG_GETARG_HYBRID_SPARSEVEC(1);
	Size size = Max(VARSIZE(a), VARSIZE(b));
	HybridCallSite *call = hybrid_call_site(fcinfo);
	double result;

	hybrid_sparsevec_check_dims(a, b);
	if (call != NULL)
	{
		hybrid_prefetch_predict(&call->row, fcinfo, a, b);
		hybrid_prefetch(&call->row, 0, Min(size, EARLY));
	}
	result = measure_with(call, measure, a, b);
	if (call != NULL && size > EARLY)
		hybrid_prefetch(&call->row, EARLY, size);
	PG_FREE_IF_COPY(a, 0);
	PG_FREE_IF_COPY(b, 1);
	return result;
}

/*
 * measure_with: compute the distance with the state of the call site. The arguments may be
 * exchanged, because a distance does not depend on their order.
 */
static double
measure_with(HybridCallSite *call, Measure measure, HybridSparsevec *a, HybridSparsevec *b)
{
	HySparse view[2] = {hybrid_sparsevec_view(a), hybrid_sparsevec_view(b)};
	int known = call == NULL ? -1 : hybrid_recurring_argument(&call->recurring, a, b);

	if (known < 0 || !hy_sparse_better_dense(&view[0], &view[1]))
		return measure_pair(measure, &view[0], &view[1]);
	look_up(&call->recurring, known == 0 ? a : b);
	return measure_known(&call->recurring, measure, &view[1 - known]);
}

static void
look_up(HybridRecurringArgument *recurring, HybridSparsevec *value)
{
	HySparse view = hybrid_sparsevec_view(value);

	if (!hybrid_recurring_known(recurring, value, view.dims))
		hy_sparse_make_dense(recurring->floats, &view);
}

/* measure_known: compute the distance between the known value and b, both as dense vectors. */
static double
measure_known(HybridRecurringArgument *known, Measure measure, const HySparse *b)
{
	float right[HY_SPARSE_DENSE_DIMS];

	hy_sparse_make_dense(right, b);
	switch (measure)
	{
		case MEASURE_L2:
			return hy_distance(HY_METRIC_L2, known->floats, right, b->dims);
		case MEASURE_L2_SQUARED:
			return hy_l2_squared(known->floats, HY_F32, right, b->dims);
		case MEASURE_IP:
			return hy_distance(HY_METRIC_IP, known->floats, right, b->dims);
		case MEASURE_L1:
			return hy_distance(HY_METRIC_L1, known->floats, right, b->dims);
		case MEASURE_COSINE:
			break;
	}
	if (!known->normed)
	{
		known->norm_sq = hy_norm_sq(HY_F32, known->floats, b->dims);
		known->normed = true;
	}
	return hy_cosine_to(known->floats, known->norm_sq, HY_F32, right, b->dims);
}

static double
measure_pair(Measure measure, const HySparse *a, const HySparse *b)
{
	switch (measure)
	{
		case MEASURE_L2:
			return hy_sparse_distance(HY_METRIC_L2, a, b);
		case MEASURE_L2_SQUARED:
			return hy_sparse_l2_squared(a, b);
		case MEASURE_IP:
			return hy_sparse_distance(HY_METRIC_IP, a, b);
		case MEASURE_COSINE:
			return hy_sparse_distance(HY_METRIC_COSINE, a, b);
		case MEASURE_L1:
			break;
	}
	return hy_sparse_distance(HY_METRIC_L1, a, b);
}
