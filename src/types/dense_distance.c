/*
 * dense_distance.c
 *		Distances between two vectors or two halfvecs, computed immediately on the CPU.
 *
 * One pair is too little work to send to a device. Batches go through the dispatcher and give
 * results with the same bits (core/distance.h).
 *
 * A query usually computes many distances in sequence, between one fixed value and each row. A
 * HybridCallSite keeps state that saves time. It holds the address where the next row is expected
 * and the norm of the fixed value. If the fixed value is a halfvec, it also holds the elements as
 * floats.
 */
#include "postgres.h"

#include <math.h>

#include "types/call_site.h"
#include "types/dense.h"

/*
 * smallest size in bytes at which the next value is prefetched; the processor reads smaller values
 * in time by itself
 */
#define LEAST_TO_FETCH 512

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

static Datum measure_args(FunctionCallInfo fcinfo, const HybridDenseType *type, Measure measure);
static HybridRecurringArgument *
look_up(HybridRecurringArgument *recurring, const HybridDenseType *type, const HybridDense *value);
static double measure_pair(HybridRecurringArgument *known, Measure measure, const float *a,
                           HyDtype dtype, const void *b, int dims);
static double cosine_distance(HybridRecurringArgument *known, const float *a, HyDtype dtype,
                              const void *b, int dims);
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
 * measure_args: compute the distance of the two arguments. Frees detoasted copies, because a sort
 * or an index scan may call this function many times before its memory context is reset.
 *
 * The first quarter of the next row is prefetched before the distance of this row is computed, and
 * the rest afterwards. The processor would stall if more reads were requested than it can have in
 * flight at a time.
 */
static Datum
measure_args(FunctionCallInfo fcinfo, const HybridDenseType *type, Measure measure)
{
	HybridDense *value[2] = {PG_GETARG_HYBRID_DENSE(0, type->dtype),
	                         PG_GETARG_HYBRID_DENSE(1, type->dtype)};
	Size size = VARSIZE(value[0]);
	Size early = size / 4;
	HybridCallSite *call = size >= LEAST_TO_FETCH ? hybrid_call_site(fcinfo) : NULL;
	const HybridDense *a;
	const HybridDense *b;
	HybridRecurringArgument *known = NULL;
	double distance;
	int first = -1;

	hybrid_dense_check_dims(type, value[0], value[1]);
	/* a and b may be exchanged below, because a distance does not depend on their order */
	if (call != NULL)
	{
		hybrid_prefetch_predict(&call->row, fcinfo, value[0], value[1]);
		hybrid_prefetch(&call->row, 0, early);
		first = hybrid_recurring_argument(&call->recurring, value[0], value[1]);
	}
	a = value[Max(first, 0)];
	b = value[1 - Max(first, 0)];
	if (first >= 0)
		known = look_up(&call->recurring, type, a);
	if (type->dtype == HY_F32)
		distance = measure_pair(known, measure, hybrid_dense_singles(a), HY_F32, b->x, a->dim);
	else if (known != NULL)
		distance = measure_pair(known, measure, known->floats, HY_F16, b->x, a->dim);
	else
	{
		/* the kernels need one of the two values as floats */
		float widened[HYBRID_MAX_DIM];

		hy_kernels()->widen_f16(widened, hybrid_dense_halves(a), a->dim);
		distance = measure_pair(NULL, measure, widened, HY_F16, b->x, a->dim);
	}

	if (call != NULL)
		hybrid_prefetch(&call->row, early, size);
	PG_FREE_IF_COPY(value[0], 0);
	PG_FREE_IF_COPY(value[1], 1);
	PG_RETURN_FLOAT8(distance);
}

/*
 * look_up: return the results kept for a recurring value, or NULL if a lookup saves no time. A
 * value that is not a constant must be compared with its copy. Comparing a vector takes as long as
 * summing the squares of its elements, so a vector is looked up only if it is a constant. A halfvec
 * is always looked up, because converting halves to floats takes longer than comparing them.
 */
static HybridRecurringArgument *
look_up(HybridRecurringArgument *recurring, const HybridDenseType *type, const HybridDense *value)
{
	if (type->dtype == HY_F32)
		return recurring->constant >= 0 ? recurring : NULL;
	if (!hybrid_recurring_known(recurring, value, value->dim))
		hy_kernels()->widen_f16(recurring->floats, hybrid_dense_halves(value), value->dim);
	return recurring;
}

/* measure_pair: compute one distance. `known` holds results computed from `a`, or is NULL. */
static double
measure_pair(HybridRecurringArgument *known, Measure measure, const float *a, HyDtype dtype,
             const void *b, int dims)
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
			return cosine_distance(known, a, dtype, b, dims);
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
cosine_distance(HybridRecurringArgument *known, const float *a, HyDtype dtype, const void *b,
                int dims)
{
	if (known == NULL)
		return hy_distance_to(HY_METRIC_COSINE, a, dtype, b, dims);
	if (!known->normed)
	{
		known->norm_sq = hy_norm_sq(HY_F32, a, dims);
		known->normed = true;
	}
	return hy_cosine_to(a, known->norm_sq, dtype, b, dims);
}

/*
 * spherical_distance: return the angle between two vectors of length 1, divided by pi. Rounding may
 * have moved their inner product slightly outside -1 .. 1.
 */
static double
spherical_distance(double inner_product)
{
	return acos(Max(-1.0, Min(1.0, inner_product))) / M_PI;
}
